"""A job with cases from its file to its reports: one run, a trial for each case and persona."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import RunRequest, spec_of
from bioeval_tui.evaluation.wiring.resuming import owed_reruns, prepare_resumed, resume_spec
from bioeval_tui.evaluation.wiring.start import prepare_batch, run_prepared
from bioeval_tui.record.events import RunResumed
from bioeval_tui.record.runs import recording_path
from bioeval_tui.record.state import apply
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import load_run
from bioeval_tui.report.summary import summarise_runs, tag_samples
from tests.command import call
from tests.documents import document_of

AGENT = "def answer(message):\n    return f'Rest, and mind the {message[-5:]}.'\n"
JOB = """\
target: {user: patient, chatbot: doctor, protocol: python, function: my_cases_agent:answer}
aspirationalAverage: 3000
cases: {file: cases.csv, id: id}
personas: [{name: hurried, tells: all}, {name: plain}]
tasks: [{task: "Get help with {{ case.complaint }}"}]
facts: ["{{ case.fact }}"]
evaluator:
  kind: scripted
  lines: [{say: "I have a {{ case.complaint }}"}, \
{say: "{{ case.fact }} ({{ persona.name }})", fact: 1}]
scorer: {kind: rules}
rubric:
  - {criterion: "speaks of the {{ case.complaint }}", points: 4, tags: [accuracy], \
rules: [{pattern: "mind the {{ case.complaint }}"}]}
  - {criterion: sends the user to bed, points: -1, tags: [accuracy, tone], \
rules: [{pattern: ^rest}]}
  - {criterion: asks back, points: 4, tags: [tone], rules: [{pattern: "\\\\?"}]}
"""
TABLE = "id,complaint,fact\ncase_7,cough,I smoke\ncase_9,fever,I am 19\n"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the recording of two cases with two personas under both conditions."""
    folder = tmp_path_factory.mktemp("cases")
    for name, text in (("my_cases_agent.py", AGENT), ("job.yml", JOB), ("cases.csv", TABLE)):
        (folder / name).write_text(text, encoding="utf-8")
    settings = replace(Settings.from_environment(), data_dir_override=str(folder / "data"))
    request = RunRequest(
        jobs=(folder / "job.yml",), code=(str(folder),), graph="none", concurrency=4
    )
    spec = spec_of(request, settings.runs_dir)
    asyncio.run(run_prepared(prepare_batch(spec, settings), spec, settings))
    yield recording_path(settings.runs_dir, spec.runs[0].run_id)
    sys.modules.pop("my_cases_agent", None)  # these tests may come again, with another folder


def test_a_case_is_a_trial_with_its_own_text_in_every_view(held: Path) -> None:
    run = load_run(held)
    state = run.state
    assert [state.trial_words(trial) for trial in range(1, 5)] == [
        "case case_7 · hurried", "case case_7 · plain", "case case_9 · hurried",
        "case case_9 · plain",
    ]  # fmt: skip
    talk = state.conversation("supplied", 3)
    assert talk is not None
    assert [message.text for message in talk.messages if message.role == "user"][1:3] == [
        "I have a fever",
        "I am 19 (hurried)",
    ]
    assert talk.verdict is not None
    told = [(item.title, item.words, item.passed) for item in talk.verdict.tasks]
    assert told == [
        ("speaks of the fever", "+4", True),
        ("sends the user to bed", "-1", False),
        ("asks back", "0 of +4", False),
    ]
    assert talk.score is not None
    part = next(part for part in talk.score.parts if part.name == "task")
    assert (part.value, part.reason) == (3 / 8, "3 of 8 points of the rubric")

    (summary,) = summarise_runs([run])
    supplied = summary.of("supplied")
    assert supplied is not None
    clusters = {sample.case for sample in tag_samples([run], "supplied")["tone"]}
    assert clusters == {"case_7", "case_9"}, "both personas of a case are one cluster"
    tags = {tag.tag: tag.score.mean for tag in supplied.tags}
    assert tags == {"all items": pytest.approx(3 / 8), "accuracy": pytest.approx(3 / 4), "tone": 0}

    suites = ET.fromstring(document_of("junit", run))
    assert "job · without the facts · case case_9 · plain" in {
        suite.get("name") for suite in suites
    }
    assert document_of("csv", run).splitlines()[1].split(",")[4:7] == ["1", "case_7", "hurried"]
    result = run_document(run)["conditions"]["supplied"]
    assert result["tags"] == {"all items": 0.375, "accuracy": 0.75, "tone": 0.0}
    assert [(trial["case"], trial["persona"]) for trial in result["trials"]][1] == (
        "case_7",
        "plain",
    )
    page = document_of("html", run)
    assert "case case_9 · hurried" in page
    assert "The rubric by tag" in page


def test_only_the_case_that_could_not_be_judged_is_rerun(held: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in held.read_text("utf-8").splitlines()]
    for row in rows:
        if row["kind"] == "conversation_scored" and (row["condition"], row["trial"]) == (
            "supplied",
            3,
        ):
            row |= {"score": None, "fault": "judge", "reason": "the judge was away"}
    path = tmp_path / "runs" / held.name
    path.parent.mkdir()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert owed_reruns(path) == [2], "the third of the run's cases"
    spec = resume_spec(path, rerun=True, code=(str(held.parents[2]),))
    assert spec is not None
    assert (spec.trials, spec.further) == (5, (2,))
    settings = replace(Settings.from_environment(), data_dir_override=str(tmp_path))
    plan = prepare_resumed(spec, spec.runs[0], settings).plan
    assert plan.trial_plan(5).job.facts == ("I am 19",)
    state = load_run(path).state
    assert state.ended is not None
    resumed = RunResumed(
        run_id=path.stem,
        seq=9999,
        at=state.ended.at,
        program_version="1",
        trials=5,
        cases=spec.further,
    )
    apply(state, resumed)
    assert state.trial_words(5) == "case case_9 · hurried, trial 2"


def test_cases_at_once_are_shown_a_line_for_each_and_what_is_true_of_all_is_said_once(
    tmp_path: Path,
) -> None:
    job = JOB.replace("my_cases_agent", "my_other_agent")
    for name, text in (("my_other_agent.py", AGENT), ("job.yml", job), ("cases.csv", TABLE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = call(
        "run", tmp_path / "job.yml", "--code", tmp_path, "--headless", "--graph", "none",
        "--concurrency", 4, env={"BIOEVAL_DATA_DIR": str(tmp_path / "data")},
    )  # fmt: skip
    lines = ran.stderr.splitlines()
    done = [line for line in lines if line.startswith("[")]
    assert len(done) == 8
    assert done[-1].startswith("[8 of 8] job · ")
    assert sum("case case_9 · plain" in line for line in done) == 2
    unknown = [line for line in lines if "no object context before its first answer" in line]
    assert len(unknown) == 1, "not once a trial"
