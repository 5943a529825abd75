"""`runs list`: which columns are always shown, and which only if there is room."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from bioeval_tui.record.events import Fault
from bioeval_tui.record.overlay import append_reviews
from tests.command import call
from tests.unit.report.recorded import Recorded, reviewed, scoring

HEAD = [
    "run",
    "job",
    "agent",
    "status",
    "started",
    *("without", "the", "facts"),
    *("with", "the", "facts"),
    "mean",
    "reviewed",
    "messages",
    "fault",
]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    folder = tmp_path / "runs"
    folder.mkdir(mode=0o700)
    return folder


def record(runs: Path, end: str, job: str = "job", model: str | None = "[b]a[/b]") -> Path:
    made = Recorded([scoring(0.5)], [scoring(0.7)], job=job, started={"model": model})
    made.run_id = f"20260102-030405-{end}"
    return made.write(runs)


def listed(width: int) -> list[list[str]]:
    return [line.split() for line in call("runs", "list", width=width).stdout.splitlines()]


@pytest.mark.parametrize("width", [80, 120, 160])
def test_without_reviews_there_is_no_column_of_reviewed_means(runs: Path, width: int) -> None:
    record(runs, "aaaa")
    record(runs, "bbbb")
    assert "reviewed" not in listed(width)[0]


def test_reviews_are_shown_if_there_is_room(runs: Path) -> None:
    record(runs, "aaaa")
    other = record(runs, "bbbb", model="b")
    append_reviews(
        other,
        [
            reviewed(1, condition=name, task=1, before=0.5, after=1.0)
            for name in ("withheld", "supplied")
        ],
    )
    assert "reviewed" not in listed(90)[0]
    head, first, second = listed(200)
    assert head == HEAD
    assert {"[b]a[/b]", "b"} <= {*first, *second}
    (with_review,) = (row for row in (first, second) if "→" in row)
    assert with_review[with_review.index("→") - 1] == "0.60"


def test_a_hostile_name_is_shown_literally(runs: Path) -> None:
    record(runs, "aaaa", job="\x1b[31mred\u202e " + "x" * 30, model=None)
    record(runs, "bbbb")
    shown = call("runs", "list", width=78).stdout
    assert all(line.isprintable() for line in shown.splitlines())
    assert "x" * 30 in shown


def test_runs_of_every_fault_that_recordings_have_can_be_listed(runs: Path) -> None:
    record(runs, "aaaa")
    assert "aaaa" in call("runs", "list", "--fault", "none").stdout
    for fault in get_args(Fault):
        done = call("runs", "list", "--fault", fault)
        assert done.exit_code == 0, done.output
        assert ("aaaa" in done.stdout) == (fault == "none")


def test_the_limit_of_response_times_stands_in_the_help() -> None:
    for command in (("run",), ("runs", "gate")):
        assert "--fail-slower PERCENTILE:TIME" in call(*command, "--help").stdout
