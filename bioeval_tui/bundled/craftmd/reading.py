"""Results of CRAFT-MD (rajpurkarlab/craft-md): a folder for each model, with a JSON file for each
case and its five trials.

Each trial asked the model for the diagnosis four times: on the whole vignette, after a conversation
with a simulated patient, after the patient's first message, and on a summary of what the patient
said.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bioeval_tui.formats import (
    LARGEST,
    ConditionConfig,
    FileLook,
    GivenScore,
    Header,
    ImportedConversation,
    ImportedMessage,
    ImportedPart,
    InputError,
    chat,
    json_value,
    messages_of,
    note,
)

SCORE = "diagnosis"
"""The name of the one verdict of each conversation."""
DATASET = Path("data", "usmle_and_derm_dataset.csv")
COLUMNS = ("case_id", "category", "dataset")
PICTURES = "gpt4v"
"""The folder of the model that was also shown pictures of other cases."""
_CASE_FILE = re.compile(r"case_(\d+)\.json")
_TRIAL = re.compile(r"trial_\d+")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One of the four ways in which the model was asked, under its keys in the files and as a
    condition.
    """

    key: str
    condition: str
    words: str
    facts: Literal["all", "none"]
    """Whether the model had the facts before it was asked: what only a patient says, it had to ask
    for.
    """


EXPERIMENTS = (
    Experiment("vignette", "vignette", "vignette", "all"),
    Experiment("multiturn", "multiturn", "multi-turn", "none"),
    Experiment("singleturn", "singleturn", "single turn", "none"),
    Experiment("summarized", "summary", "summary", "none"),
)


def fits(look: FileLook) -> bool:
    """Return whether a folder has a file for each of CRAFT-MD's cases."""
    return look.shape == "folder" and any(map(_CASE_FILE.fullmatch, look.names))


def read(folder: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a model's folder: for each case and trial one of each experiment.

    A file is in memory at a time.

    Raises:
        InputError: it is no folder, or that of the model with pictures, the table of the cases is
            missing, or a file does not follow the format; the message has its name.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        raise InputError("must be a model's folder, with case_0.json, …")
    if folder.name == PICTURES:
        raise InputError(
            "its cases are others, with pictures that neither the files nor a recording have; "
            "import a model that only reads, such as gpt4_1106"
        )
    yield _header(folder)
    cases = _cases(folder.parent.parent / DATASET)
    unjudged: Counter[str] = Counter()
    for file in case_files(folder):
        for talk in _conversations(file, cases):
            if not talk.scores and talk.condition is not None:
                unjudged[talk.condition] += 1
            yield talk
    if unjudged:
        where = ", ".join(
            f"{each.words} {unjudged[each.condition]}"
            for each in EXPERIMENTS
            if unjudged[each.condition]
        )
        note(
            f"not judged, because the grader's code is below 0: {unjudged.total()} ({where}); they"
            " count in no score, and pass^k leaves them out"
        )


def case_files(folder: Path) -> list[Path]:
    """Return the files of the cases, by number."""
    numbered = [
        (int(found[1]), file)
        for file in folder.iterdir()
        if (found := _CASE_FILE.fullmatch(file.name))
    ]
    return [file for _, file in sorted(numbered)]


def _header(folder: Path) -> Header:
    return Header(
        name=f"CRAFT-MD {folder.name}",
        agent=folder.name,
        model=folder.name,
        evaluator="gpt4_1106",  # the patient of every model
        judge="CRAFT-MD's grader (gpt4_1106)",
        licence="MIT",
        origin="rajpurkarlab/craft-md",
        conditions=tuple(
            ConditionConfig(name=each.condition, words=each.words, facts=each.facts)
            for each in EXPERIMENTS
        ),
    )


def _cases(table: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the study's table by case.

    Without it, a case would have no category and no data set.
    """
    try:
        with table.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.DictReader(opened)
            if missing := [column for column in COLUMNS if column not in (rows.fieldnames or ())]:
                raise InputError(f"{table}, line 1: must have the column {missing[0]}")
            return {
                row["case_id"]: {column: row[column] or "" for column in COLUMNS} for row in rows
            }
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        raise InputError(
            f"{table}, which says each case's category and data set, cannot be read: {why}; import"
            " the folder from where it stands in a copy of rajpurkarlab/craft-md"
        ) from None


def _conversations(
    file: Path, cases: Mapping[str, Mapping[str, str]]
) -> Iterator[ImportedConversation]:
    try:
        if file.stat().st_size > LARGEST:
            raise InputError(f"larger than {LARGEST:,} bytes")
        case = json_value(file.read_bytes())
        if not isinstance(case, dict) or not isinstance(case.get("case_vignette"), str):
            raise InputError("must be a JSON object with `case_id`, `case_vignette` and `trial_0`")
        if (known := cases.get(str(case.get("case_id")))) is None:
            raise InputError(f"`case_id`: {case.get('case_id')} is no case of {DATASET}")
        if not (trials := sorted(filter(_TRIAL.fullmatch, case))):
            raise InputError("must have trials: `trial_0`, …")
        for name in trials:
            if not isinstance(case[name], dict):
                raise InputError(f"`{name}` must be a JSON object")
            for experiment in EXPERIMENTS:
                yield _conversation(case, name, experiment, known)
    except InputError as problem:
        raise InputError(f"{file.name}: {problem}") from None


def _conversation(
    case: dict[str, Any], trial: str, experiment: Experiment, known: Mapping[str, str]
) -> ImportedConversation:
    given: dict[str, Any] = case[trial]
    key = f"evaluation_{experiment.key}_frq"
    verdict = given.get(key)
    if isinstance(verdict, bool) or not isinstance(verdict, int) or verdict > 1:
        raise InputError(f"`{trial}`, `{key}`: must be 1, 0, or below 0 if it was not judged")
    answer, named = (
        _text(given.get(f"{experiment.key}_frq")),
        given.get(f"extracted_ans_{experiment.key}_frq"),
    )
    expected = str(case.get("correct_ans") or "")
    reason = f"answered {answer!r}, read as {named!r}; expected {expected!r}"
    talk = ImportedConversation(
        name=str(case["case_id"]),
        messages=_messages(case, given, trial, experiment, answer),
        session=f"{case['case_id']} {trial} {experiment.key}",
        condition=experiment.condition,
        request=(str(case.get("question") or ""), expected),
        record={
            "category": known["category"],
            "dataset": known["dataset"],
            "trial": trial,
            "verdict": verdict,
            "answer": answer,
            "extracted": named,
        },
    )
    if verdict >= 0:
        talk.scores = [GivenScore(SCORE, float(verdict), verdict, reason)]
    if answer:
        talk.reason = "signed_off"
    else:
        talk.detail = "the file has no answer"
    return talk


def _messages(
    case: dict[str, Any], given: dict[str, Any], trial: str, experiment: Experiment, answer: str
) -> list[ImportedMessage]:
    """Return what was said; of a paper that the model was given, the paper and its answer."""
    answered = [ImportedPart("assistant", answer, None)] if answer else []
    question = str(case.get("question") or "")
    if experiment.key == "vignette":
        return messages_of(
            [ImportedPart("user", f"{case['case_vignette']} {question}", None), *answered]
        )
    if experiment.key == "summarized":
        summary = _text(given.get("summarized_conversation"))
        if summary:
            answered.insert(0, ImportedPart("user", f"{summary} {question}", None))
        return messages_of(answered)
    said = given.get("multiturn_conversation")
    if not isinstance(said, list):
        raise InputError(f"`{trial}`, `multiturn_conversation`: must be a list of messages")
    # The first message has the doctor's instructions, in files of models without a system message
    # as the user's.
    try:
        if experiment.key == "singleturn":
            return [*chat(said[1:3]), *messages_of(answered)]
        return chat(said[1:])
    except InputError as problem:
        where = f"`{trial}`, `multiturn_conversation`, after its first message"
        raise InputError(f"{where}: {problem}") from None


def _text(value: Any) -> str:
    """Return a model's answer, which some files have in a list with its price."""
    if isinstance(value, list):
        value = next(iter(value), None)
    if isinstance(value, str):
        return value
    return ""
