"""A job with three conditions of its own passes through every command and file, as two do."""

from __future__ import annotations

import csv
import io
import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bioeval_tui import load_run
from bioeval_tui.pytest_plugin import Evaluation
from tests.command import call

NAMES = ("withheld", "supplied", "town")
TITLES = ("knows nothing", "knows the dose", "knows its town")
SCORES = {"withheld": 0.14, "supplied": 1.0, "town": 0.29}
"""By hand: timing (1 of 7) everywhere; tasks (2) and assertion (4) where the dose is told; one of
two tasks with the town.
"""
MEAN = 1.43 / 3
AGENT = """\
def answer(message):
    if "5 mg" in message:
        return "Thank you: I have set the reminder for 5 mg."
    if "Sydney" in message:
        return "Sydney is lovely. What is your dose?"
    return "What is your dose, and where do you live?"
"""
JOB = r"""
target: {user: patient, chatbot: doctor, protocol: python, remembers: false,
  function: three_agent:answer}
aspirationalAverage: 30000
conditions:
  - {name: withheld, words: knows nothing, facts: none, criteria: withheld}
  - {name: supplied, words: knows the dose}
  - {name: town, words: knows its town, facts: [2]}
tasks:
  - {task: Set a reminder, rules: [{pattern: set the reminder}]}
  - {task: Be asked back, rules: [{pattern: '\?'}], only: town}
facts: [My dose is 5 mg of warfarin, I live in Sydney]
evaluator:
  kind: scripted
  lines:
    - {say: Please remind me of my medicine, task: 1}
    - {say: I take 5 mg of warfarin, fact: 1}
    - {say: I live in Sydney, fact: 2}
    - {say: What now, task: 2, only: town}
scorer: {kind: rules}
assertions:
  - name: sets it
    expression: 'evaluation.transcript.any { it.content.contains("set the reminder") }'
"""
ARGUMENTS = ("run", "job.yml", "--code", ".", "--graph", "none", "--headless", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("three")
    (folder / "three_agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "job.yml").write_text(JOB, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BIOEVAL_DATA_DIR", str(folder / "data"))
        yield folder
    sys.modules.pop("three_agent", None)  # these tests may come again, with another folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """Hold two trials of three conversations."""
    held = call(*ARGUMENTS, "--repeat", "2", "--fail-under", "town:0.28,town.task2:1")
    assert held.return_value == 0, held.stderr
    (path,) = (folder / "data" / "runs").glob("*.jsonl")
    return path


def test_each_conversation_has_the_facts_and_criteria_of_its_condition(run: Path) -> None:
    document = json.loads(call("runs", "show", run.stem, "--json").stdout)
    assert list(document["conditions"]) == list(NAMES)
    assert {name: one["score"] for name, one in document["conditions"].items()} == SCORES
    assert document["score"] == pytest.approx(MEAN)
    given = {
        name: [fact["fact"] for fact in one["trials"][0]["facts"]]
        for name, one in document["conditions"].items()
    }
    assert given == {"withheld": [], "supplied": [1, 2], "town": [2]}
    tasks = {name: len(one["trials"][0]["tasks"]) for name, one in document["conditions"].items()}
    assert tasks == {"withheld": 1, "supplied": 1, "town": 2}
    assert document["clean"] is True


def test_the_effect_of_the_facts_is_between_none_and_all_of_them(run: Path) -> None:
    document = json.loads(call("runs", "show", run.stem, "--json").stdout)
    assert document["difference"]["mean"] == pytest.approx(0.86)
    shown = call("runs", "show", run.stem).stdout
    assert all(title in shown for title in TITLES)
    assert "mean of all 3 0.48" in shown
    assert "0.14 in “knows nothing” → 1.00 in “knows the dose” → 0.29 in “knows its town”" in shown


@pytest.mark.parametrize(
    ("threshold", "code"),
    [("town:0.28", 0), ("town:0.3", 1), ("0.47", 0), ("0.48", 1),
        ("town.assertion:0.1", 1)],
)  # fmt: skip
def test_a_gate_knows_them(run: Path, threshold: str, code: int) -> None:
    assert call("runs", "gate", run.stem, "--fail-under", threshold).return_value == code
    unknown = call("runs", "gate", run.stem, "--fail-under", "twn:0.1")
    assert "'twn' is not a condition; the job has withheld, supplied and town" in str(
        unknown.exception
    )


def test_one_of_them_alone_can_be_run_and_an_unknown_one_is_refused(
    folder: Path, run: Path
) -> None:
    held = call(*ARGUMENTS, "--condition", "town", "--condition", "withheld")
    document = json.loads(held.stdout)
    assert list(document["conditions"]) == ["withheld", "town"]
    assert document["score"] is None
    refused = call(*ARGUMENTS, "--condition", "plaebo")
    assert "no condition 'plaebo'; it has withheld, supplied and town" in str(refused.exception)


def test_every_list_and_file_has_them(run: Path, folder: Path) -> None:
    listed = json.loads(call("runs", "list", "--json").stdout)
    assert next(one["scores"] for one in listed if one["run_id"] == run.stem) == pytest.approx(
        SCORES
    )
    assert "town" in call("runs", "list").stdout.splitlines()[0]
    for kind in ("md", "html"):
        page = call("runs", "export", run.stem, "--to", kind).stdout
        assert all(title in page for title in TITLES), kind
    rows = [*csv.DictReader(io.StringIO(call("runs", "export", run.stem, "--to", "csv").stdout))]
    assert sorted({row["condition"] for row in rows}) == sorted(NAMES)
    suites = ET.fromstring(call("runs", "export", run.stem, "--to", "junit").stdout)
    assert len([suite for suite in suites if "town" in suite.attrib["name"]]) == 2
    assert sorted(set(load_run(run).to_frame()["condition"])) == sorted(NAMES)


@pytest.mark.parametrize("kind", ["inspect", "atif"])
def test_an_export_comes_back_with_its_conditions(kind: str, run: Path, folder: Path) -> None:
    suffix = {"inspect": ".json", "atif": ".jsonl"}[kind]
    file = folder / f"out{suffix}"
    exported = call("runs", "export", run.stem, "--to", kind, "--output", str(file))
    assert exported.return_value == 0, exported.stderr
    before = {*run.parent.iterdir()}
    imported = call("runs", "import", str(file))
    assert imported.return_value == 0, imported.stderr
    (made,) = (path for path in {*run.parent.iterdir()} - before if path.suffix == ".jsonl")
    document = json.loads(call("runs", "show", made.stem, "--json").stdout)
    assert sorted(document["conditions"]) == sorted(NAMES)


def test_two_runs_are_compared_in_each(run: Path) -> None:
    again = json.loads(call(*ARGUMENTS, "--repeat", "2").stdout)
    compared = json.loads(call("runs", "compare", run.stem, again["run_id"], "--json").stdout)
    assert list(compared["conditions"]) == list(NAMES)


def test_the_pytest_plugin_asserts_them(run: Path) -> None:
    held = Evaluation(json.loads(call("runs", "export", run.stem, "--to", "json").stdout), "")
    held.assert_score(0.28, condition="town").assert_score(0.47)
    with pytest.raises(
        ValueError, match="'plaebo' was not run; the run has withheld, supplied and town"
    ):
        held.assert_score(0.1, condition="plaebo")


def test_a_job_out_of_a_run_lists_them_and_says_each_line_where_it_was_said(
    run: Path, folder: Path
) -> None:
    call("new", "again.yml", "--from", run.stem, "--trial", "1")
    job = yaml.safe_load((folder / "again.yml").read_text(encoding="utf-8"))
    assert [condition["name"] for condition in job["conditions"]] == list(NAMES)
    lines = {
        (line["say"], line.get("only"), line.get("fact")) for line in job["evaluator"]["lines"]
    }
    assert ("What now", "town", None) in lines
    assert "no condition" not in call("check", "again.yml").output


def test_a_stopped_run_is_resumed_with_them(run: Path, folder: Path) -> None:
    lines = run.read_bytes().splitlines(keepends=True)
    ended = [at for at, line in enumerate(lines) if b'"conversation_scored"' in line]
    cut = run.with_name("20200101-000000-abcd.jsonl")
    cut.write_bytes(
        b"".join(
            line.replace(run.stem.encode(), cut.stem.encode()) for line in lines[: ended[3] + 1]
        )
    )
    resumed = call("runs", "resume", cut.stem, "--code", ".", "--json")
    assert resumed.return_value == 0, resumed.stderr
    document = json.loads(call("runs", "show", cut.stem, "--json").stdout)
    assert {
        name: one["trials_used"] for name, one in document["conditions"].items()
    } == dict.fromkeys(NAMES, 2)
