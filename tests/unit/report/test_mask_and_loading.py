"""Recordings are found, read, cleaned and masked in one place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.base.errors import RecordingError, UsageError
from bioeval_tui.record.catalogue import find_recording
from bioeval_tui.report.result import load_run
from tests.unit.report.recorded import GOLDEN, Recorded, Talk, scoring

HOSTILE = "hi \x1b]52;c;eA==\x07 there\u202e"


def test_a_run_can_be_named_by_file_or_by_part_of_its_id(tmp_path: Path) -> None:
    path = Recorded([scoring(1.0)]).write(tmp_path)
    assert find_recording(str(path), tmp_path / "elsewhere") == path
    assert find_recording("abcd", tmp_path) == path
    with pytest.raises(UsageError, match="no such run"):
        find_recording("ffff", tmp_path)


def test_a_golden_recording_loads() -> None:
    run = load_run(GOLDEN)
    assert run.state.scores() == {"withheld": 0.44, "supplied": 1.0}
    assert (run.trials, run.problems, run.reviews) == ([1], (), ())


def test_a_recording_without_its_first_event_says_so(tmp_path: Path) -> None:
    path = tmp_path / "20260102-030405-abcd.jsonl"
    path.write_bytes(b"".join(GOLDEN.read_bytes().splitlines(keepends=True)[1:]))
    with pytest.raises(RecordingError, match="the first event, which contains the job, is missing"):
        load_run(path)


@pytest.mark.parametrize("part", ["tasks", "facts", "rubric", "assertions"])
def test_a_job_with_something_else_in_place_of_a_list_is_a_damaged_line(
    tmp_path: Path, part: str
) -> None:
    first, *others = GOLDEN.read_text(encoding="utf-8").splitlines()
    started = json.loads(first)
    started["job"][part] = 5
    path = tmp_path / "20260102-030405-abcd.jsonl"
    path.write_text("\n".join([json.dumps(started), *others]), encoding="utf-8")
    with pytest.raises(RecordingError, match="the first event, which contains the job, is missing"):
        load_run(path)


def test_text_of_an_imported_recording_is_cleaned_again(tmp_path: Path) -> None:
    run = load_run(Recorded([Talk(says=HOSTILE)], started={"agent": HOSTILE}).write(tmp_path))
    talk = run.state.conversation("withheld")
    assert talk is not None
    for text in (talk.messages[1].text, run.started.agent):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert text.startswith("hi ␛ there")


def test_reviews_are_read_from_the_overlay_and_damaged_lines_reported(tmp_path: Path) -> None:
    path = Recorded([scoring(0.5)]).write(tmp_path)
    base = {"run_id": path.stem, "seq": 1, "author": "ada\x1b[2J", "at": "2026-02-03T04:05:06Z"}
    rows = [
        json.dumps({**base, "kind": "reviewed", "review": "1", "action": "override",
                "condition": "withheld",
                    "trial": 1, "task": 1, "before": 0.5, "after": 0.9, "why": "it did",
                    "blind": True}),
        "{broken",
        json.dumps({**base, "kind": "of_a_newer_version", "task": "x"}),
        json.dumps({"kind": 3, "task": "x", "before": True}),
    ]  # fmt: skip
    path.with_suffix(".overlay.jsonl").write_text("\n".join(rows) + "\n")
    run = load_run(path)
    first, odd = run.reviews
    assert (first.kind, first.about, first.before, first.after, first.why) == (
        "override, blind", "withheld, trial 1, task 1", 0.5, 0.9, "it did",
    )  # fmt: skip
    assert first.author == "ada␛"
    assert (odd.kind, odd.author, odd.about, odd.before) == (
        "of a newer version",
        "ada␛",
        "the run",
        None,
    )
    assert [problem.line for problem in run.problems] == [2, 4]
