"""The dialog that compares how the simulated user speaks with people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.report.manner import RunManner
from bioeval_tui.report.result import result_of
from bioeval_tui.text import plural
from bioeval_tui.tui.shared.cells import Cell, Tone, paint
from bioeval_tui.tui.shared.dialogs import Dialog, DialogText

if TYPE_CHECKING:
    from bioeval_tui.record.state import RunState

LABEL, FOUND = 32, 28


class MannerDialog(Dialog[None]):
    """Statistics by condition, beside those of people who played patients."""

    NAME: ClassVar[str] = "How the user speaks"
    HEADING: ClassVar[str] = "How the simulated user speaks"
    ABOUT: ClassVar[str] = (
        "Counted from the simulated user's messages, without a model. A value is marked when its 95 % "
        "interval lies outside the range of the middle 90 % of conversations with people: the user is then "
        "unlike these people."
    )

    def __init__(self, state: RunState) -> None:
        super().__init__()
        run = result_of(state)
        self._found = run.manners if run is not None else ()
        self._scripted = run is not None and run.kind_of("evaluator") == "scripted"

    def compose_body(self) -> Iterable[Widget]:
        """The table."""
        with DialogText():
            yield Static(
                Content("\n").join([paint(*line) for line in manner_lines(self._found, self._scripted)]),
                markup=False,
            )


def manner_lines(manners: Sequence[RunManner], scripted: bool = False) -> list[list[Cell]]:
    """Return a row for each statistic and condition, with the values of people beside it."""
    if scripted:
        return [[Cell("Not measured: a script plays the user, and says the job's lines.", "quiet")]]
    if not manners:
        return [[Cell("no messages from the simulated user yet", "quiet")]]
    lines: list[list[Cell]] = []
    for one in manners:
        conversations = plural(one.conversations, "conversation")
        interval = any(row.measure.interval for row in one.rows)
        heads = f"{'value (95 % interval)' if interval else 'value':<{FOUND}}people (middle 90 %)"
        lines.append([Cell(f"{f'{one.title}, {conversations}':<{LABEL}}", "strong"), Cell(heads, "quiet")])
        for row in one.rows:
            said = f"{row.found} !" if row.unlike else row.found
            tone: Tone = "warn" if row.unlike else "plain"
            lines.append(
                [Cell(f"{row.label:<{LABEL}}"), Cell(f"{said:<{FOUND}}", tone), Cell(row.people, "quiet")]
            )
        lines.append([])
    if any(row.unlike for one in manners for row in one.rows):
        lines.append([Cell("! unlike these people: the whole interval is outside their middle 90 %", "warn")])
    return [*lines, [Cell(manners[0].note, "quiet")]]
