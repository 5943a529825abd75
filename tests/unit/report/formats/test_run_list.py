"""The list of runs in the terminal: which columns are always shown, and which only if there is room."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from bioeval_tui.record.catalogue import CataloguedRun
from bioeval_tui.report.formats.run_list import print_runs

RUN = CataloguedRun(
    run_id="20260102-030405-abcd", job="job", status="completed", started_at="2026-01-02T03:04:05+00:00", score=0.6,
    fault="none", scores={"withheld": 0.5, "supplied": 0.7}, messages=20, model="[b]a[/b]", rehearsal=False, batch_id=None,
    folder=Path(),
)  # fmt: skip
REVIEWED = {"score": 0.8, "scores": {}, "reviewers": ["ada"], "tasks": 1, "of_tasks": 1, "disputed": 0}


def listed(width: int, *runs: CataloguedRun) -> list[list[str]]:
    file = io.StringIO()
    print_runs(runs, Console(file=file, width=width))
    return [line.split() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 120, 160])
def test_columns_with_one_value_are_left_out(width: int) -> None:
    assert not {"model", "reviewed"} & set(listed(width, RUN, RUN)[0])


def test_differing_models_and_reviews_are_shown_if_there_is_room() -> None:
    other = RUN._replace(model="b", reviewed=REVIEWED)
    assert not {"model", "reviewed"} & set(listed(90, RUN, other)[0])
    head, first, second = listed(160, RUN, other)
    assert head == [
        "run",
        "job",
        "agent",
        "status",
        "started",
        "withheld",
        "supplied",
        "mean",
        "reviewed",
        "messages",
        "fault",
    ]
    assert (first[2], second[2]) == ("[b]a[/b]", "b")
    assert first[7:] == ["0.50", "0.70", "0.60", "20", "none"]
    assert second[7:] == ["0.50", "0.70", "0.60", "0.60", "→", "0.80", "20", "none"]


def test_a_hostile_name_is_shown_literally() -> None:
    odd = RUN._replace(job="\x1b[31mred\u202e " + "x" * 30, model=None)
    file = io.StringIO()
    print_runs([odd, RUN], Console(file=file, width=78))
    assert all(line.isprintable() for line in file.getvalue().splitlines())
    assert "x" * 30 in file.getvalue()
