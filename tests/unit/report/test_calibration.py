"""A judge that people reviewed in one run is corrected in the next by the same errors, unless
judge, prompt or criteria are others.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bioeval_tui.record import events
from bioeval_tui.record.overlay import append_reviews
from bioeval_tui.report.correction import draw
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.unit.report.recorded import Recorded, Talk

BEFORE, NEXT = "20260101-000000-aaaa", "20260102-000000-bbbb"
PROMPT = {"eval/score": "cafe" * 16}


def truth(run: str, trial: int) -> bool:
    return Random(f"{run} {trial}").random() < (0.5 if run == BEFORE else 0.7)


def judged(run: str, trial: int) -> float:
    """A judge that passes everything that is good, and a third of what is not."""
    return float(truth(run, trial) or Random(f"judge {run} {trial}").random() < 0.33)


def write(folder: Path, run: str, trials: int = 60, **changes: Any) -> Path:
    talks = [Talk((judged(run, trial),), holds=()) for trial in range(1, trials + 1)]
    job = {
        "tasks": [
            {
                "task": changes.get("task", "find it"),
                "acceptanceCriteria": "it is found",
                "passAbove": changes.get("pass_above", 0.6),
            }
        ],
        "scorer": {"kind": "llm", "prompt": "eval/score", **changes.get("scorer", {})},
    }
    prompts = changes.get("prompts", PROMPT)
    started = {
        "job": job,
        "prompts": prompts,
        "judge": changes.get("judge", "judge"),
        "options": {"judge_host": changes.get("host", "a:1")},
    }
    supplied = talks if changes.get("both") else ()
    path = Recorded(withheld=talks, supplied=supplied, run_id=run, started=started).write(folder)
    if "judge" in changes:
        text = path.read_text("utf-8").replace('"judge":"judge"', f'"judge":"{changes["judge"]}"')
        path.write_text(text, "utf-8")
    return path


def review(path: Path, count: int) -> None:
    """Review so many drawn tasks without seeing the judge's score."""
    entries = [
        events.Reviewed(
            run_id=path.stem, seq=0, at=datetime.now(UTC), condition=drawn.condition,
            trial=drawn.trial, attempt=1, author="ada", review=f"ada {drawn.trial}",
            action="override", task=drawn.task, after=float(truth(path.stem, drawn.trial)),
            blind=True,
        )
        for _, drawn in draw([load_run(path)], count, 7)
    ]  # fmt: skip
    append_reviews(path, entries)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def test_the_next_run_is_corrected_in_every_view_and_only_when_it_is_asked_for(
    runs: Path, tmp_path: Path
) -> None:
    review(write(runs, BEFORE), 40)
    write(runs, NEXT, 100)
    shown = call("runs", "show", NEXT)
    assert "corrected by" not in shown.stdout
    assert f"people reviewed this judge in run {BEFORE}: --calibrated-by {BEFORE}" in shown.stderr
    printed = json.loads(call("runs", "show", NEXT, "--json", "--calibrated-by", "aaaa").stdout)
    (found,) = printed["calibrated"]
    people = sum(truth(NEXT, trial) for trial in range(1, 101)) / 100
    assert found["low"] <= people <= found["high"] < found["judge"] + 0.2
    assert found["estimate"] < found["judge"]
    assert (found["sensitivity"], found["reviews"]) == (1.0, 40)
    said = (
        f"tasks passed: the judge's {found['judge']:.2f}, corrected by the 40 reviews of run"
        f" {BEFORE}: {found['estimate']:.2f} [{found['low']:.2f}, {found['high']:.2f}]; not"
        " reviewed here"
    )
    assert said in call("runs", "show", NEXT, "--calibrated-by", BEFORE).stdout
    page = tmp_path / "run.md"
    asked = ("runs", "report", NEXT, "--calibrated-by", BEFORE, "--output")
    assert call(*asked, str(page)).exit_code == 0
    assert said in page.read_text("utf-8").replace("\\", "")
    assert call(*asked, str(tmp_path / "run.html")).exit_code == 0
    html = (tmp_path / "run.html").read_text("utf-8").replace("&#x27;", "'").replace("&#39;", "'")
    assert said in html


def test_a_run_that_is_named_twice_counts_once(runs: Path, tmp_path: Path) -> None:
    reviewed = write(runs, BEFORE)
    review(reviewed, 40)
    write(runs, NEXT, 100)
    copied = tmp_path / "copied" / reviewed.name
    copied.parent.mkdir()
    for file in runs.glob(f"{BEFORE}*"):
        copied.with_name(file.name).write_bytes(file.read_bytes())

    def corrected(*names: object) -> Any:
        named = [part for name in names for part in ("--calibrated-by", name)]
        return json.loads(call("runs", "show", NEXT, "--json", *named).stdout)["calibrated"]

    once = corrected(BEFORE)
    assert once[0]["reviews"] == 40
    assert corrected(BEFORE, "aaaa", reviewed, copied) == once

    reported = ("runs", "report", "--format", "json")
    assert call(*reported, NEXT, "bbbb").stdout == call(*reported, NEXT).stdout
    drawn = call("review", BEFORE, reviewed, "--sample", "9").stdout.splitlines()
    assert len(set(drawn)) == len(drawn) == 9
    agreed = ("runs", "agreement", "--json")
    assert call(*agreed, BEFORE, reviewed).stdout == call(*agreed, BEFORE).stdout


OTHERWISE: tuple[tuple[dict[str, Any], str], ...] = (
    ({"judge": "judge; asked for a, served b"}, "the judge is another (judge there, judge; asked"),
    (
        {"scorer": {"temperature": 0.7}},
        "the judge has other settings (temperature: none there, 0.7 here)",
    ),
    (
        {"scorer": {"extraBody": {"top_k": 5}}},
        "the judge has other settings (extraBody.top_k: none there, 5 here)",
    ),
    (
        {"host": "b:2"},
        "the judge's server is another (a:1 there, b:2 here)",
    ),
    (
        {"pass_above": 0.5},
        "the pass mark of a criterion is another (without the facts: above 0.6 there, above 0.5"
        " here)",
    ),
    (
        {"prompts": {"eval/score": "beef" * 16}},
        "the prompt is another (eval/score cafecafe there, eval/score beefbeef here)",
    ),
    (
        {"task": "find them"},
        "the criteria are others (without the facts: 1 of 1 here was not asked about there,"
        " and 1 of 1 there was not asked about here)",
    ),
)


def test_another_judge_prompt_or_criteria_correct_nothing_and_the_change_is_named(
    runs: Path,
) -> None:
    review(write(runs, BEFORE), 40)
    for changes, why in OTHERWISE:
        write(runs, NEXT, **changes)
        shown = call("runs", "show", NEXT, "--calibrated-by", BEFORE).stdout
        assert f"not corrected by the reviews of run {BEFORE}: {why}" in shown
        assert "judge not calibrated" in shown


def test_a_condition_that_nobody_reviewed_is_not_corrected_and_the_other_is(runs: Path) -> None:
    review(write(runs, BEFORE), 40)
    write(runs, NEXT, 100, both=True)
    shown = call("runs", "show", NEXT, "--calibrated-by", BEFORE).stdout
    assert "without the facts: tasks passed: the judge's" in shown
    assert (
        f"with the facts: not corrected by the reviews of run {BEFORE}: nobody reviewed this"
        " condition there"
    ) in shown


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (lambda path: None, "the reviews are not a random sample"),
        (lambda path: review(path, 12), "of the reviewed verdicts, in"),
    ],
)
def test_reviews_that_say_too_little_correct_nothing(
    runs: Path, prepare: Callable[[Path], None], why: str
) -> None:
    prepare(write(runs, BEFORE))
    write(runs, NEXT)
    shown = call("runs", "show", NEXT, "--calibrated-by", BEFORE).stdout
    assert f"not corrected by the reviews of run {BEFORE}: " in shown
    assert why in shown


def test_a_run_is_not_calibrated_by_itself_nor_beside_its_own_reviews(runs: Path) -> None:
    review(write(runs, BEFORE), 40)
    write(runs, NEXT)
    itself = call("runs", "show", NEXT, "--calibrated-by", NEXT)
    assert "a run is not calibrated by itself" in str(itself.exception)
    own = call("runs", "show", BEFORE, "--calibrated-by", NEXT)
    assert "has a reviewed sample of its own" in str(own.exception)


def test_of_several_reviewed_runs_none_is_chosen(runs: Path) -> None:
    review(write(runs, BEFORE), 40)
    review(write(runs, "20260101-000001-aaab"), 40)
    write(runs, NEXT)
    shown = call("runs", "show", NEXT)
    assert "people reviewed this judge in 2 runs of this job; name one" in shown.stderr
