"""The details of one assertion, turn by turn: query, expected and observed values, and what changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import assertion_view, heads_view
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialog import Dialog, DialogText
from bioeval_tui.tui.shared.labelled_widget import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import RunState


LABEL = 12
"""Width of the column of labels, in cells."""


class AssertionDetail(Dialog[None]):
    """Opened from the timeline; arrows switch turns, `tab` switches the condition."""

    NAME: ClassVar[str] = "Assertion"
    ABOUT: ClassVar[str] = "What was checked, expected and observed after a turn, and what that turn changed."
    BINDINGS: ClassVar[list[BindingType]] = bindings("assertion")
    DEFAULT_CSS = """
    AssertionDetail.-narrow > .dialog--box { height: 100%; }
    AssertionDetail.-narrow .dialog--body { height: 1fr; }
    """

    def __init__(self, state: RunState, trial: int, index: int, condition: Condition) -> None:
        super().__init__()
        self._state = state
        self._trial = trial
        self._index = index
        self._condition = condition
        self._turn: int | None = None

    @property
    def heading(self) -> str:
        """The assertion's name and weight."""
        return assertion_view.heading(self._state, self._trial, self._index)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a second condition there is nothing to switch to."""
        return action != "other" or self._state.only_condition is None

    def compose_body(self) -> Iterable[Widget]:
        """One text, scrollable."""
        with DialogText():
            yield Labelled(id="detail")

    def on_mount(self) -> None:
        """Show the newest check."""
        self._show()

    def action_turn(self, by: int) -> None:
        """Go to another turn."""
        turns = assertion_view.turns(self._state, self._condition, self._trial, self._index)
        if not turns:
            return
        at = turns.index(self._turn) if self._turn in turns else len(turns) - 1
        self._turn = turns[max(0, min(len(turns) - 1, at + by))]
        self._show()

    def action_other(self) -> None:
        """Go to the other condition."""
        both = heads_view.conditions(self._state)
        at = both.index(self._condition) if self._condition in both else -1
        self._condition = both[(at + 1) % len(both)]
        self._turn = None
        self._show()

    def _show(self) -> None:
        facts = assertion_view.detail(self._state, self._condition, self._trial, self._index, self._turn)
        lines: list[list[Cell]] = []
        for label, cells in facts:
            names = (label, *[""] * len(cells))
            lines += [
                [Cell(name.ljust(LABEL), "quiet"), cell] for name, cell in zip(names, cells, strict=False)
            ]
            lines.append([])
        self.query_one(Labelled).show(lines)
