"""A run of one condition with a real agent over HTTP: run, resumed, reported, and refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.pytest_plugin import Evaluation
from tests.integration.program import events_of, recording_in, run, sample_agent
from tests.integration.test_first_light import JOBS

JOB = str(JOBS / "medication_reminder.yml")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The agent's URL, and the data folder whose graph it shares with the runs."""
    data_dir = tmp_path_factory.mktemp("data")
    with sample_agent(data_dir, "--tokens-per-second", "0") as url:
        yield url, data_dir


def evaluate(agent: str, data_dir: Path, *options: str) -> Any:
    given = ("--rehearsal", "--headless", "--agent-url", agent)
    return run("run", JOB, *given, *options, data_dir=data_dir)


def begun(path: Path) -> list[tuple[str, int]]:
    return [
        (e["condition"], e["trial"]) for e in events_of(path) if e["kind"] == "conversation_started"
    ]


def test_one_condition_is_run_scored_and_reported_without_a_mean(
    place: tuple[str, Path], tmp_path: Path
) -> None:
    agent, data_dir = place
    files = {name: tmp_path / f"out.{name}" for name in ("json", "xml", "md")}
    done = evaluate(
        agent, data_dir, "--condition", "supplied", "--fail-under", "supplied:0.5",
        "--json", str(files["json"]), "--junit", str(files["xml"]), "--md", str(files["md"]),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mean of both needs both conditions" in done.stdout
    path = recording_in(data_dir)
    assert path is not None
    found = events_of(path)
    assert found[0]["conditions"] == ["supplied"]
    assert begun(path) == [("supplied", 1)]
    assert {event.get("condition") for event in found} == {None, "supplied"}
    assert (found[-1]["scores"].keys(), found[-1].get("mean")) == ({"supplied"}, None)
    report = json.loads(files["json"].read_text("utf-8"))
    result = report["runs"][0]
    assert (list(result["conditions"]), result["score"]) == (["supplied"], None)
    assert (
        result["why_no_score"]
        == "The mean needs both conditions, and this run has with the facts only."
    )
    assert report["summary"][0]["difference"] is None
    assert "needs both conditions" in files["md"].read_text("utf-8")
    suites = [suite.get("name") or "" for suite in ET.parse(files["xml"]).getroot()]
    assert len(suites) == 1
    assert "with the facts" in suites[0]
    listed = run("runs", "list", data_dir=data_dir).stdout
    assert "■ rehearsal" in listed
    gated = run("runs", "gate", path.stem, "--fail-under", "0.5", data_dir=data_dir)
    assert gated.returncode == 2
    assert f"{path.stem} has with the facts only; give supplied:0.5" in gated.stderr
    Evaluation(report, "").assert_score(0.5, condition="supplied")
    with pytest.raises(pytest.fail.Exception, match="needs both conditions"):
        Evaluation(report, "").assert_score(0.5)


def test_a_run_of_one_condition_resumes_with_that_condition_only(place: tuple[str, Path]) -> None:
    agent, data_dir = place
    before = {*(data_dir / "runs").glob("*.jsonl")}
    stopped = evaluate(
        agent, data_dir, "--condition", "withheld", "--repeat", "2", "--max-calls", "1"
    )
    assert stopped.returncode == 3, stopped.stderr
    # Not the one with the latest time: a clock may be set back meanwhile.
    (path,) = {*(data_dir / "runs").glob("*.jsonl")} - before
    assert begun(path) == [("withheld", 1)]
    done = run("runs", "resume", path.stem, "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    assert begun(path) == [("withheld", 1), ("withheld", 1), ("withheld", 2)], (
        "the first was cut off"
    )
    result = json.loads(done.stdout)
    assert (result["status"], list(result["conditions"])) == ("completed", ["withheld"])
    assert len(result["conditions"]["withheld"]["trials"]) == 2
    again = run("runs", "resume", path.stem, data_dir=data_dir)
    assert "already complete" in again.stderr


@pytest.mark.parametrize(
    ("bar", "sentence"),
    [
        (
            "withheld:0.5",
            "withheld:0.5 needs without the facts, but the run has with the facts only",
        ),
        ("0.5", "0.5 asks for the mean of both, which needs both conditions"),
    ],
)
def test_a_threshold_for_a_condition_that_is_not_run_is_refused_before_anything_is_sent(
    bar: str, sentence: str, tmp_path: Path
) -> None:
    nobody = "http://127.0.0.1:9"
    done = evaluate(nobody, tmp_path, "--condition", "supplied", "--fail-under", bar)
    assert done.returncode == 2
    assert f"--fail-under {sentence}" in done.stderr
    assert "give supplied:0.5, or run both" in done.stderr
    assert recording_in(tmp_path) is None


def test_a_threshold_of_a_task_that_the_job_lacks_is_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    done = evaluate("http://127.0.0.1:9", tmp_path, "--fail-under", "task3:0.5,supplied.task9:0.5")
    assert done.returncode == 2
    assert "--fail-under supplied.task 9:0.5: medication_reminder has 3 tasks" in done.stderr
    assert recording_in(tmp_path) is None
