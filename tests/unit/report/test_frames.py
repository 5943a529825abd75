"""Recorded runs as data frames: every value is where docs/python.md says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pyarrow import parquet

from bioeval_tui import Results, load_run
from bioeval_tui.base.errors import UsageError
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.frames import OF_EVERY_TABLE, TABLES, FrameColumn, TableName
from bioeval_tui.report.sentences import difference_words
from tests.command import call
from tests.unit.report.recorded import GOLDEN, Recorded, Talk

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
FOREIGN = GOLDEN.parent / "foreign"


def table_of_columns() -> Iterator[str]:
    """Yield the rows of the table in docs/python.md; what each column means stands in the metadata
    of `to_arrow`.
    """

    def row(name: str, about: str, columns: tuple[FrameColumn, ...]) -> str:
        return f"| {name} | {about} | {', '.join(f'`{column.name}`' for column in columns)} |"

    yield row("all", "", OF_EVERY_TABLE)
    for name, table in TABLES.items():
        about = table.row.removeprefix("one row for ")
        yield row(f"`{name}`", about, table.columns[len(OF_EVERY_TABLE) :])


def test_the_documentation_lists_every_column() -> None:
    assert tuple(TABLES) == get_args(TableName)
    assert "\n".join(table_of_columns()) in PAGE.read_text(encoding="utf-8")


def test_the_frames_of_the_golden_run_have_its_values() -> None:
    found = load_run(GOLDEN)
    talks = found.to_frame().set_index("condition")
    assert talks.score.to_dict() == {"withheld": 0.44, "supplied": 1.0} == found.scores
    assert talks.started_at.dt.tz is not None
    tasks = found.to_frame("tasks")
    assert (tasks.score > 0.6).equals(tasks.passed.astype(bool))
    assert found.to_frame("assertions").groupby("condition").passed.sum()["supplied"] == 4
    turns, tools = found.to_frame("turns"), found.to_frame("tools")
    assert turns.latency_ms.notna().equals(turns.user_sent.astype(bool)), "the sign-off is not sent"
    assert {"createReminder"} <= {*tools.tool}
    assert found.to_arrow("turns")["latency_ms"].null_count == turns.latency_ms.isna().sum()


def test_a_value_that_was_not_measured_is_missing_with_its_reason() -> None:
    found = Results((Recorded([Talk(tasks=None, holds=(None,))], [Talk()]).loaded(),))
    talks = found.to_frame()
    assert talks.score.isna().tolist() == [True, False]
    assert talks.not_measured.isna().tolist() == [False, True]
    assert found.to_frame("tasks").not_measured[0] == "the judge was away"
    assert found.to_frame("assertions").passed.isna()[0]
    assert [(gap.condition, gap.what) for gap in found.not_measured] == [
        ("withheld", "score"),
        ("withheld", "task 1"),
        ("withheld", "assertion 1"),
    ]


def test_frames_of_imported_runs_have_cases_tool_calls_and_own_scores(tmp_path: Path) -> None:
    found = load_run(import_file(FOREIGN / "tau-bench-excerpt.json", tmp_path).path)
    talks, tools = found.to_frame(), found.to_frame("tools")
    assert {*talks.imported_from} == {"tau-bench"}
    assert talks.case.notna().all()
    assert talks.started_at.isna().all(), "the file has no times"
    assert "reward" in talks.given_scores[0]
    assert {*tools.case} <= {*talks.case}
    assert tools.arguments.str.startswith("{").all()


def test_turns_can_be_exported_as_parquet(tmp_path: Path) -> None:
    file = tmp_path / "turns.parquet"
    call("runs", "export", GOLDEN, "--output", file, catch_exceptions=False)
    assert parquet.read_table(file).equals(load_run(GOLDEN).to_arrow("turns"), check_metadata=True)


def test_an_unknown_table_names_the_available_ones() -> None:
    with pytest.raises(UsageError, match="no table 'turn'; the tables are conversations, tasks"):
        load_run(GOLDEN).to_frame("turn")  # type: ignore[arg-type]


def test_an_uplift_has_its_words_as_the_documentation_of_python_shows() -> None:
    both = Results((Recorded([Talk()] * 5, [Talk()] * 5).loaded(),))
    assert both.difference is not None
    assert both.difference.words == difference_words(both.difference)
    assert "0.00" in both.difference.words
