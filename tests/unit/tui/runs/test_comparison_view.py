"""Two runs beside each other: what changed most stands first, and differences are drawn around zero."""

import history
import pytest

from bioeval_tui.report.compared import Compared
from bioeval_tui.tui.runs.comparison_view import forest, lines
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
def test_a_difference_stands_at_its_place_with_its_interval(value: Compared, drawn: str) -> None:
    assert plain(forest(value, 0.5, 11)) == drawn


def test_what_changed_most_stands_first_and_what_is_the_same_can_be_left_out() -> None:
    found = history.compared()
    whole = [plain(line) for line in lines(found, 120)]
    changes = [abs(task.change or 0.0) for task in found.conditions[0].tasks]
    first = max(zip(changes, found.conditions[0].tasks, strict=True), key=lambda pair: pair[0])[1]
    assert whole[
        whole.index(next(line for line in whole if line.startswith("FACTS WITHHELD"))) + 2
    ].startswith(first.name[:20])
    assert len(lines(found, 120, only_differences=True)) <= len(whole)
