"""Two runs compared: the largest change comes first, and differences are drawn around zero."""

from dataclasses import replace

import history
import pytest

from bioeval_tui.report.statistics.differences import Difference, difference, differences
from bioeval_tui.report.statistics.estimates import Sample
from bioeval_tui.tui.runs.comparison import forest, table
from bioeval_tui.tui.shared.cells import Cell


def plain(cells: list[Cell]) -> str:
    return "".join(cell.text for cell in cells)


def differing(*pairs: tuple[float, float]) -> Difference:
    """Return the difference of pairs of one job."""
    return difference(differences([(Sample("job", a, ""), Sample("job", b, "")) for a, b in pairs]))


@pytest.mark.parametrize(
    ("found", "drawn"),
    [
        (differing((0.2, 0.6)), "     │   ● "),
        (differing((0.6, 0.2)), " ●   │     "),
        (differing(*((0.5, 0.5 + by) for by in (0.1, 0.15, 0.2, 0.25, 0.3) * 2)), "     │├●┤  "),
        (differing(*((0.5, 0.5 + by) for by in (-0.1, -0.05, 0.0, 0.05, 0.1) * 2)), "    ├●┤    "),
        (differing(), "     │     "),
        (None, "     │     "),
    ],
)
def test_a_difference_is_drawn_at_its_value_with_its_interval(found: Difference | None, drawn: str) -> None:
    assert plain(forest(found, 0.5, 11)) == drawn


def test_the_largest_change_comes_first_and_equal_rows_can_be_hidden() -> None:
    found = history.compared()
    rows = [row for row in table(found, 120) if row.condition == "withheld"]
    assert [row.title for row in rows[:3]] == [
        "score",
        "failures of the agent",  # explains the part that moved: from penalty
        "reminder exists",  # from assertions
    ]
    assert "from penalty" in plain(rows[1].line)
    task, check = found.conditions[0].tasks[0], found.conditions[0].assertions[1]
    condition = replace(
        found.conditions[0],
        parts=(),
        tasks=(replace(task, difference=differing((0.5, 0.5))),),
        assertions=(check,),
    )
    found = replace(found, conditions=(condition,))
    assert [row.title for row in table(found, 120)][1:4] == ["score", check.title, task.title]
    fewer = table(found, 120, only_differences=True)
    assert [row.title for row in fewer if row.title] == ["score", check.title, "average answer"]
    assert any("1 row without a difference" in plain(row.line) for row in fewer)
