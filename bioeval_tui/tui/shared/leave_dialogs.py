"""The questions before the program is left: with something typed that is not used yet
(`LeaveScreen`), or with a run in progress (`QuitScreen`). The application asks them (`app.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.dialogs import Dialog


class LeaveScreen(Dialog[bool]):
    """True to leave the program, None to stay. `drafts` says what was typed and not used."""

    NAME: ClassVar[str] = "Leave"
    HEADING: ClassVar[str] = "Leave bioeval-tui?"
    BINDINGS: ClassVar[list[BindingType]] = bindings("leave")
    DEFAULT_CSS = """
    LeaveScreen > .dialog--box { width: 64; border: round $line; }
    """

    def __init__(self, drafts: Sequence[str]) -> None:
        super().__init__()
        self._drafts = drafts

    def compose_body(self) -> Iterable[Widget]:
        """Say what would be lost."""
        yield Static(
            Content("\n".join(drafts_words(self._drafts)) or "Nothing is lost."), markup=False
        )

    def action_leave(self) -> None:
        """Close with the answer."""
        self.dismiss(True)


class QuitScreen(Dialog[bool]):
    """True to stop the runs, False to leave them running, None to stay.

    The id of a run that is being started is "".
    """

    NAME: ClassVar[str] = "Quit"
    HEADING: ClassVar[str] = "A run is in progress"
    BINDINGS: ClassVar[list[BindingType]] = bindings("quit")

    def __init__(self, run_ids: Sequence[str], drafts: Sequence[str]) -> None:
        super().__init__()
        self._run_ids = run_ids
        self._drafts = drafts

    def compose_body(self) -> Iterable[Widget]:
        """Explain each answer."""
        again, several = "bioeval-tui runs list names it", ""
        if len(self._run_ids) == 1 and self._run_ids[0]:  # one that is being started has no id yet
            again = f"bioeval-tui watch {self._run_ids[0]} shows it again"
        elif len(self._run_ids) > 1:
            several = f"There are {len(self._run_ids)}; the answer is for all.\n"
        yield Static(
            Content(
                f"{several}The engine runs by itself. Left alone, it continues and is recorded;\n"
                f"{again}.\n"
                "Stopped, it keeps what was said so far.\n" + "\n".join(drafts_words(self._drafts))
            ),
            markup=False,
        )

    def action_answer(self, stop: bool) -> None:
        """Close with the answer."""
        self.dismiss(stop)


def drafts_words(drafts: Sequence[str]) -> list[str]:
    """Return a line for each draft, which leaving would lose."""
    return [f"! {name}: what you typed is not used yet, and would be lost." for name in drafts]
