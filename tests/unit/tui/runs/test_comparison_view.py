"""Two runs compared: the largest change comes first, and differences are drawn around zero."""

from dataclasses import replace

import history
import pytest

from bioeval_tui.report.compared import Compared
from bioeval_tui.tui.runs.comparison_view import forest, table
from bioeval_tui.tui.shared.cells_view import Cell


def plain(cells: list[Cell]) -> str:
    return "".join(cell.text for cell in cells)


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        (Compared("t", 0.2, 0.6, verdict="better"), "     │   ● "),
        (Compared("t", 0.6, 0.2, verdict="worse"), " ●   │     "),
        (Compared("t", 0.5, 0.7, verdict="better", interval=(0.1, 0.3)), "     │├●┤  "),
        (Compared("t", 0.5, 0.5, verdict="not distinguishable", interval=(-0.1, 0.1)), "    ├●┤    "),
        (Compared("t", None, 0.5), "     │     "),
    ],
)
def test_a_difference_is_drawn_at_its_value_with_its_interval(value: Compared, drawn: str) -> None:
    assert plain(forest(value, 0.5, 11)) == drawn


def test_the_largest_change_comes_first_and_equal_rows_can_be_hidden() -> None:
    found = history.compared()
    rows = [row for row in table(found, 120) if row.condition == "withheld"]
    assert [row.title for row in rows[:3]] == [
        "score",
        "failures of the agent",  # explains the part that moved: from penalty
        "Set a reminder to take warfarin tomorrow at 9",
    ]
    assert "from penalty" in plain(rows[1].line)
    assert "from timing" in plain(rows[-2].line)  # which did not move
    task, check = found.conditions[0].tasks[0], found.conditions[0].assertions[1]
    condition = replace(found.conditions[0], parts=(), tasks=(replace(task, b=task.a),), assertions=(check,))
    found = replace(found, conditions=(condition,))
    assert [row.title for row in table(found, 120)][1:4] == ["score", check.title, task.name]
    fewer = table(found, 120, only_differences=True)
    assert [row.title for row in fewer if row.title] == ["score", check.title, "average answer"]
    assert any("1 row without a difference" in plain(row.line) for row in fewer)
