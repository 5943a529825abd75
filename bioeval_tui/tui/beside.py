"""Two agents beside each other with the same job: what came out, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import BindingType
from textual.widget import Widget

from bioeval_tui.base.units import number
from bioeval_tui.base.widths import fitted, padded
from bioeval_tui.report.beside import AgentSaid, BesideEachOther, pair_outcomes
from bioeval_tui.report.comparison import Comparison
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs.comparison import CompareDialog
from bioeval_tui.tui.shared.answer_block import answer_lines
from bioeval_tui.tui.shared.cells import Cell, Line, score_tone
from bioeval_tui.tui.shared.dialogs import Dialog, DialogText
from bioeval_tui.tui.shared.wrapped_lines import Labelled


class BesideDialog(Dialog[None]):
    """The scene after the score card: a second agent with the same job."""

    NAME: ClassVar[str] = "Beside it"
    ABOUT: ClassVar[str] = (
        "A recording of another agent with the same job. Here are both agents' scores, where they"
        " differ and what they said there, and how sure that is. Enter compares the two runs in"
        " detail."
    )
    HEADING: ClassVar[str] = "The same job, and a careful agent beside it (recorded)"
    BINDINGS: ClassVar[list[BindingType]] = bindings("beside")
    DEFAULT_CSS = """
    BesideDialog > .dialog--box { max-width: 120; }
    """

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self._comparison = comparison

    def compose_body(self) -> Iterable[Widget]:
        """What came out and how sure that is; then the scores, and where they come apart."""
        shown = Labelled()
        answer = replace(self._comparison.answer, why="")  # it is shown with both answers in full
        shown.show([*answer_lines(answer), [], *lines(pair_outcomes(self._comparison))])
        yield DialogText(shown)

    def action_whole(self) -> None:
        """Compare the runs in detail."""
        self.app.push_screen(CompareDialog(self._comparison))


def lines(pair: BesideEachOther) -> list[Line]:
    """Return the scores, and where the agents come apart."""
    width = max(cell_len(label) for label in ("the user", *(name for name, _ in pair.scores))) + 2

    def label(text: str) -> Cell:
        return Cell(fitted(text, width), "quiet")

    titles = [padded(f"  {name}", 18, "right") for name in pair.conditions]
    found: list[Line] = [[label(""), *(Cell(title, "quiet") for title in titles)]]
    for name, values in pair.scores:
        cells = zip(values, titles, strict=True)
        scores = (
            Cell(padded(number(value), cell_len(title), "right"), score_tone(value))
            for value, title in cells
        )
        found.append([label(name), *scores])
    if pair.assertion:
        found += [[], [label("differs"), Cell(f"{pair.condition}: “{pair.assertion}”")]]
        found.append([label("the user"), Cell(f"“{pair.user}”")])
        found += [[label(said.agent), *_said(said)] for said in pair.said]
    return found


def _said(said: AgentSaid) -> Line:
    sign = Cell("✓ ", "good") if said.passed else Cell("✗ ", "bad")
    return [sign, Cell(f"“{said.words}”"), Cell(f"  turn {said.turn}", "quiet")]
