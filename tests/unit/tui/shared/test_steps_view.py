"""A score over the turns, drawn with lines."""

from bioeval_tui.tui.shared.bars_view import Steps, step_plot
from tests.unit.tui.lines import texts


def test_a_step_line_rises_where_the_value_rises() -> None:
    assert texts(step_plot([Steps("b", [(1, 0.5), (2, 0.5), (3, 1.0)])], 18, 3)) == [
        "1.0         ┌─── b",
        "0.5 ────────┘",
        "  0",
        "      1   2   3",
    ]


def test_lines_that_end_together_keep_both_labels() -> None:
    drawn = "\n".join(
        texts(step_plot([Steps("one", [(1, 1.0)]), Steps("two", [(1, 1.0)], heavy=True)], 30, 5))
    )
    assert "one" in drawn
    assert "two" in drawn
    assert "━" in drawn


def test_nothing_is_drawn_without_room_or_values() -> None:
    assert step_plot([], 40, 5) == []
    assert step_plot([Steps("b", [(1, 0.5)])], 6, 5) == []
