"""The board above a batch's grid: progress, and each model by condition on one scale."""

from batches import glances

from bioeval_tui.tui.batch.batch_view import Glance, GlanceKey, Rank
from bioeval_tui.tui.batch.board_view import board
from bioeval_tui.tui.shared.cells_view import Cell


def text(lines: list[list[Cell]]) -> list[str]:
    return ["".join(cell.text for cell in line) for line in lines]


def ended(model: str, condition: str, trial: int, value: float) -> Glance:
    key = GlanceKey(f"run-{model}", condition, trial)  # type: ignore[arg-type]
    return Glance(
        key, Rank.DONE, Cell("■ signed off"), Cell(f"{value:.2f}"), value, "job", model, (400.0, 900.0)
    )


def test_means_ranges_and_the_uplift_stand_beside_each_model() -> None:
    held = [
        ended(model, condition, trial, value)
        for model, values in (("large", (0.4, 1.0)), ("small", (0.2, 0.6)))
        for condition, value in zip(("withheld", "supplied"), values, strict=True)
        for trial in (1, 2)
    ]
    progress, head, large, small = text(board(held, 120, None))
    assert progress.startswith("8 of 8 conversations ended")
    assert progress.endswith("100 %")
    assert "uplift" in head
    assert (large.split()[0], "0.40" in large, "1.00" in large, "+0.60" in large) == (
        "large",
        True,
        True,
        True,
    )
    assert "+0.40" in small
    assert "0.9 s" in small


def test_no_uplift_is_shown_before_everything_of_a_row_has_ended() -> None:
    lines = text(board(glances(40), 120, 75.0))
    assert "about 01:15 left" in lines[0]
    assert len(lines) == 2 + 6
    assert not any("+" in line for line in lines if "cohort_question" in line)


def test_one_job_with_one_model_has_no_table() -> None:
    assert len(board([ended("large", "withheld", 1, 0.5)], 120, None)) == 1


def test_no_line_is_wider_than_its_place() -> None:
    for width in (60, 80, 116, 200):
        assert all(len(line) <= width for line in text(board(glances(40), width, None)))
