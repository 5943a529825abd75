"""The board above a batch's grid: progress, each model with its interval, and a heat map by job or
task.
"""

import pytest
from batches import glances

from bioeval_tui.tui.runs.batch_view import Glance, GlanceKey, Rank, distinct
from bioeval_tui.tui.runs.board_view import board
from bioeval_tui.tui.shared.cells import Cell
from tests.unit.tui.lines import texts


def ended(model: str, condition: str, trial: int, value: float) -> Glance:
    key = GlanceKey(f"run-{model}", condition, trial)  # type: ignore[arg-type]
    return Glance(
        key, Rank.DONE, Cell("■ signed off"), Cell(f"{value:.2f}"), value, "job", model,
        (400.0, 900.0),
        tasks=(("set a reminder", value), ("ask", 1.0)),
        difference={"small": 0.4, "large": 0.5}[model],
    )  # fmt: skip


def batch(trials: int) -> list[Glance]:
    return [
        ended(model, condition, trial, value + trial / 100)
        for model, values in (("small", (0.2, 0.6)), ("large", (0.4, 0.9)))
        for condition, value in zip(("withheld", "supplied"), values, strict=True)
        for trial in range(1, trials + 1)
    ]


def test_the_best_model_comes_first_with_means_uplift_and_latency() -> None:
    head, large, small, legend, *_ = texts(board(batch(2), 120, 40, None))
    assert "on shared" in head
    assert large.startswith("large")
    assert all(words in large for words in ("0.42", "0.92", "+0.50", "0.9 s"))
    assert "+0.40" in small
    assert "range, where there are too few" in legend


def test_bars_show_intervals_from_ten_values_on() -> None:
    lines = texts(board(batch(10), 120, 40, None))
    assert "├" in lines[1]
    assert "range" not in lines[3]
    assert "±0.02" in lines[7]  # the heat map's fields


def test_columns_are_jobs_or_tasks_shaded_in_five_steps() -> None:
    lines = board(batch(1), 120, 40, None)
    assert "set a reminder" in texts(lines)[5]
    fields = [cell for cell in lines[7] if cell.tone.startswith("heat")]
    assert [(cell.text.strip(), cell.tone) for cell in fields[:2]] == [
        ("0.41", "heat2"),
        ("0.91", "heat4"),
    ]
    heading = texts(board(glances(40), 120, 40, None))[6]
    assert all(
        job in heading for job in ("medication_reminder", "drug_interaction", "cohort_question")
    )


def test_a_row_shows_its_uplift_only_when_complete() -> None:
    lines = texts(board(glances(40), 120, 40, 75.0))
    assert "about 01:15 left" in lines[0]
    assert not any("+" in line for line in lines[2:4])


def test_low_terminals_show_the_bars_first() -> None:
    assert len(board(glances(40), 120, 8, None)) == 5


def test_no_line_exceeds_its_width() -> None:
    for width in (60, 80, 116, 200):
        assert all(len(line) <= width for line in texts(board(glances(40), width, 40, None)))


@pytest.mark.parametrize(
    ("names", "cut"),
    [
        (["small", "large"], ["small", "large"]),
        (["openai/gpt-oss-120b", "openai/gpt-oss-20b"], ["…-oss-120b", "…t-oss-20b"]),
        (["gpt-4.1-mini-2025", "gpt-4.1-nano-2025"], ["gpt-4.1-m…", "gpt-4.1-n…"]),
        (["a" * 20 + "x" + "b" * 20, "a" * 20 + "y" + "b" * 20], ["…xbbbbbbb…", "…ybbbbbbb…"]),
        (["same-same-same"] * 2, ["same-same…"] * 2),
    ],
)
def test_long_names_are_cut_where_they_are_alike(names: list[str], cut: list[str]) -> None:
    found = distinct(names, 10)
    assert [found[name] for name in names] == cut
