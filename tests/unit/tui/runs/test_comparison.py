"""Two runs compared on screen: the largest change comes first, and differences are drawn around
zero.
"""

from __future__ import annotations

from dataclasses import replace

import history
import pytest
from driving import is_a, loaded, opened, screen_text, until

from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.paired_differences import Difference, difference, differences
from bioeval_tui.tui.runs.comparison import _verdict
from tests.tui.test_runs_screen import given


def differing(*pairs: tuple[float, float]) -> Difference:
    """Return the difference of pairs of one job."""
    return difference(differences([(Sample("job", a, ""), Sample("job", b, "")) for a, b in pairs]))


TASKS = {
    "it is the same": differing((0.5, 0.5)),
    "it is not known": differing(),
    "it surely rises": differing(*((0.5, 0.5 + by) for by in (0.1, 0.15, 0.2, 0.25, 0.3) * 2)),
    "it may rise": differing(*((0.5, 0.5 + by) for by in (-0.1, -0.05, 0.0, 0.05, 0.1) * 2)),
    "it rises": differing((0.2, 0.6)),
    "it falls": differing((0.6, 0.2)),
}


async def test_the_largest_change_comes_first_and_is_drawn_and_equal_rows_can_be_hidden() -> None:
    found = history.compared()
    withheld, supplied = found.conditions
    tasks = [replace(withheld.tasks[0], title=title, difference=by) for title, by in TASKS.items()]
    checks = (withheld.assertions[1],)
    supplied = replace(supplied, parts=(), tasks=tuple(tasks), assertions=checks)
    services = given(comparison=replace(found, conditions=(withheld, supplied)))
    async with opened(None, (120, 100), services=services, start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await loaded(app, pilot)
        before, _, after = screen_text(app).partition("WITH THE FACTS")
        parts = [
            before.index(f"  {name} ")
            for name in ("score", "from penalty", "from assertions", "from tasks")
        ]
        assert parts == sorted(parts)
        rows = [line.strip(" │") for line in after.splitlines()]
        drawn = {
            "failed requests": "−6                           ↓ fewer",
            "it rises": "+0.40             │         ●   ↑ higher",
            "it falls": "−0.40   ●         │             ↓ lower",
            "it surely rises": "+0.20             │   ├●─┤      ▲ better",
            "it may rise": "±0.00            ├●┤            · not yet distinguishable",
            "1× nothing was deleted": "◐ changed",
            "it is the same": "±0.00             ●             = same",
            "it is not known": "–             │             ? not measured",
        }
        assert rows[1].startswith("score")
        order = [row for row in rows[2:] if row][: len(drawn)]
        assert all(
            row.startswith(name) and row.endswith(end)
            for row, (name, end) in zip(order, drawn.items(), strict=True)
        ), order
        await pilot.press("enter")  # what explains the part that moved most: from penalty
        await until(pilot, lambda: is_a(app.screen, "PassagesDialog"))
        await loaded(app, pilot)
        assert "failures of the agent" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await pilot.press("O")
        await loaded(app, pilot)
        fewer = screen_text(app).partition("WITH THE FACTS")[2]
        assert "2 rows without a difference" in fewer
        assert "it is" not in fewer


@pytest.mark.parametrize(
    ("change", "is_time", "says"),
    [
        (-0.4, True, "= same"),
        (-0.6, True, "↓ faster"),
        (0.6, True, "↑ slower"),
        (0.004, False, "= same"),
        (0.006, False, "↑ higher"),
    ],
)
def test_a_change_that_is_shown_as_none_has_no_direction(
    change: float, is_time: bool, says: str
) -> None:
    found = difference([Sample("job", change)], unit=not is_time)
    assert _verdict(found, is_time=is_time).text == says


async def test_the_row_that_the_answer_speaks_of_is_selected_so_that_enter_shows_its_passages() -> (
    None
):
    found = history.compared()
    withheld, supplied = found.conditions
    found = replace(found, conditions=(replace(withheld, parts=()), supplied))
    most = found.most_apart
    assert most is not None
    assert most.side.condition == "supplied"
    async with opened(None, services=given(comparison=found), start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await loaded(app, pilot)
        here = app.screen.here
        assert (most.part, most.title) == ("penalty", "")
        assert (here.condition, here.title) == ("supplied", "failures of the agent")
