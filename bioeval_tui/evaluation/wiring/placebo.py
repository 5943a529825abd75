"""The placebo of a run (`controls: true`, `--control`): what a job needs for it, what its user
tells, and who plays it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.yaml_positions import Path as FieldPath, show_path
from bioeval_tui.guards import find_shared_word, job_language, newly_disclosed_facts, unrelated
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.languages.segments import word_count
from bioeval_tui.peers.models.prompting import find_prompt, tells_placebo
from bioeval_tui.peers.offline import HUMAN
from bioeval_tui.peers.placebo import (
    UNKNOWING,
    Placebo,
    YokedEvaluator,
    differ_too_much,
    shipped_texts,
)
from bioeval_tui.peers.seams import Evaluator, EvaluatorView, Utterance
from bioeval_tui.record.condition_names import PLACEBO_NAME, PUBLISHED_NAMES, Condition

_TEXTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tasks", ("task", "acceptanceCriteria", "withheldCriteria")),
    ("rubric", ("criterion",)),
)
"""The texts of a job with which a placebo text must have nothing to do, besides its facts."""


def job_texts(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the tasks, criteria and facts of a job's data, by their places as `check` names
    them.
    """
    found: dict[str, str] = {}
    for part, keys in _TEXTS:
        for index, item in enumerate(_listed(data, part)):
            if isinstance(item, dict):
                found |= {
                    show_path((part, index, key)): text
                    for key in keys
                    if isinstance(text := item.get(key), str)
                }
    for index, fact in enumerate(_listed(data, "facts")):
        found[show_path(("facts", index))] = str(fact)
    return found


def _listed(data: Mapping[str, Any], key: str) -> Sequence[Any]:
    listed = data.get(key)
    if isinstance(listed, list):
        return listed
    return ()


def text_problems(data: Mapping[str, Any]) -> Iterator[tuple[FieldPath, str]]:
    """Yield each placebo text of a job's data that has to do with what the job is about."""
    texts = job_texts(data)
    for index, told in enumerate(_listed(data, "placeboFacts")):
        shared = find_shared_word(str(told), texts)
        if shared is not None:
            yield (
                ("placeboFacts", index),
                f"shares “{clean_line(shared.word, 60)}” with {shared.where}: a placebo must have"
                " nothing to do with tasks, facts and criteria",
            )


def control_problem(job: EvaluationJob) -> str:
    """Return why a job cannot have a placebo; empty if it can."""
    listed = [condition.name for condition in job.conditions or ()]
    without = job.condition(PUBLISHED_NAMES[0])
    has_both = without.facts == "none" and job.condition_with_facts is not None
    if job.conditions is not None and not (has_both and PUBLISHED_NAMES[0] in listed):
        return (
            f"the placebo stands beside a condition {PUBLISHED_NAMES[0]}, in which the user has no"
            " fact, and one with all"
        )
    if not job.facts:
        return "without facts, a placebo controls nothing"
    if job.evaluator.kind == HUMAN:
        return "a person who plays the user can be no placebo"
    language = job_language(job)
    if not job.placebo_facts and language != ENGLISH:
        return f"the tasks are in {language.name}: write what the user tells in `placeboFacts`"
    if job.evaluator.kind != "llm" and language.code not in UNKNOWING:
        return f"a script does not know how to say “I don't know” in {language.name}"
    if not job.cases and not _among(job):
        return "every text of the program's own has to do with the job: write `placeboFacts`"
    return ""


def unused_placebo(job: EvaluationJob, job_dir: Path) -> str:
    """Return that a job's own prompt does not say what the placebo's user tells; empty if it
    does, or no model plays the user.
    """
    if job.evaluator.kind != "llm":
        return ""
    try:
        prompt = find_prompt(job.evaluator.prompt, job_dir)
    except UsageError:
        return ""  # said of the prompt itself
    if tells_placebo(prompt):
        return ""
    return (
        f"the prompt {clean_line(prompt.name, 100)} does not use `placebo`: this user is told"
        " nothing to say in the place of facts"
    )


TRIALS_DRAWN = 5
"""Texts are drawn anew for each trial: words are counted in so many."""


def placebo_hints(job: EvaluationJob) -> Iterator[tuple[FieldPath, str]]:
    """Yield what a valid job's placebo texts will not do, and where to mend it, as far as that is
    known before a run: not of cases, nor of lines that wait for what the agent says.
    """
    if not job.controls:
        if job.placebo_facts:
            yield (
                ("placeboFacts",),
                "nobody says them: only `controls: true` or --control adds a placebo",
            )
        return
    if "placebo_facts" in job.model_fields_set and not job.placebo_facts:
        yield (
            ("placeboFacts",),
            "an empty list is as none: what is told is drawn from the program's own table",
        )
    if job.cases or control_problem(job):
        return
    counts = [_words_told(job, trial) for trial in range(1, TRIALS_DRAWN + 1)]
    with_facts, placebo = (sum(column) / TRIALS_DRAWN for column in zip(*counts, strict=True))
    if with_facts and differ_too_much(with_facts, placebo):
        place: FieldPath = ("placeboFacts",) if job.placebo_facts else ("controls",)
        yield (
            place,
            f"the user would tell about {round(with_facts)} words with the facts and"
            f" {round(placebo)} with the placebo: where these differ by more than a quarter,"
            " nothing is told apart from the longer talk; write `placeboFacts` of other lengths,"
            " or more of them",
        )


def _words_told(job: EvaluationJob, trial: int) -> tuple[int, int]:
    """Return how many words are told with the facts and with the placebo: by a script's lines; of
    a user who finds words of its own, only in the place of facts.
    """
    placebo = draw_placebo(job, job.seed or 0, trial)
    lines = [line for line in job.evaluator.lines if line.when is None]
    if job.evaluator.kind == "scripted" and any(line.fact for line in lines):
        said = [line for line in lines if line.only in (None, job.condition_with_facts)]
        instead_of = [line.say for line in said if line.fact or line.only is not None]
        others = sum(word_count(line.say) for line in said if line.say not in instead_of)
    else:
        instead_of, others = list(job.facts), 0
    used: list[str] = []
    answers = [placebo.answer(text, used) for text in instead_of]
    return (
        others + sum(map(word_count, instead_of)),
        others + sum(map(word_count, answers)),
    )


def _among(job: EvaluationJob) -> tuple[str, ...]:
    """Return what may be told in the place of facts."""
    data = job.model_dump(mode="json", by_alias=True)
    return job.placebo_facts or unrelated(shipped_texts(), job_texts(data))


def draw_placebo(job: EvaluationJob, seed: int, trial: int) -> Placebo:
    """Return what the placebo's user says in a trial of a job, filled in from its case.

    Raises:
        UsageError: every text has to do with the case.
    """
    among = _among(job)
    if not among:
        raise UsageError("every placebo text has to do with this case: write `placeboFacts`")
    return Placebo(among, f"{seed}/{trial}/placebo", unknowing(job))


def unknowing(job: EvaluationJob) -> str:
    """Return how a script says, in the language of its job, that it does not know."""
    return UNKNOWING.get(job_language(job).code, UNKNOWING["en"])


def yoked_script(script: Evaluator, job: EvaluationJob, placebo: Placebo) -> Evaluator:
    """Return the placebo's user where lines are said: in place of those that give a fact, or are
    said only with the facts.
    """
    only_with_facts = {
        " ".join(line.say.split())
        for line in job.evaluator.lines
        if line.only is not None and line.only == job.condition_with_facts
    }

    def tells(view: EvaluatorView, said: Utterance) -> bool:
        return bool(said.facts) or " ".join(said.content.split()) in only_with_facts

    return YokedEvaluator(script, job.facts, PLACEBO_NAME, placebo, tells)


def yoked_plugin(plugin: Evaluator, job: EvaluationJob, placebo: Placebo) -> Evaluator:
    """Return the placebo's user where a plug-in speaks, which is given the facts."""

    def tells(view: EvaluatorView, said: Utterance) -> bool:
        if said.facts or said.no_other_facts:
            return bool(said.facts)
        known = EvaluatorView(job, view.condition, view.trial, (), view.transcript)
        return bool(newly_disclosed_facts(known, said.content, ()))

    condition: Condition = job.condition_with_facts or PUBLISHED_NAMES[1]
    return YokedEvaluator(plugin, job.facts, condition, placebo, tells)
