"""The application as screens and dialogs see it.

`BioevalApp` implements it; nothing here imports a screen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual.screen import Screen

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.interface import Opener
    from bioeval_tui.record.state import RunState
    from bioeval_tui.report.findings import Gain
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.review_items import ReviewSource
    from bioeval_tui.tui.runs.batch_view import Glance
    from bioeval_tui.tui.shared.cells import Cell


class Program(Protocol):
    """The application as screens see it."""

    services: AppServices
    clock: Callable[[], float]
    READ_ONLY: ClassVar[bool]
    """Nothing can be run, changed or written here."""
    drafts: dict[str, dict[str, str]]
    """What was typed into dialogs that were closed, by what it is a draft of."""
    captions: ClassVar[bool]
    """Whether the live screen shows captions."""

    @property
    def opener(self) -> Opener | None:
        """Opens the run that the application was started with; None when it was started on another
        screen.
        """

    @property
    def folder(self) -> Path:
        """Where pictures and tables are saved."""

    @property
    def leaving(self) -> bool:
        """Whether the app is closing."""

    def spare_collector(self) -> None:
        """Exclude all objects loaded so far from garbage collection."""

    async def action_go(self, mode: str) -> None:
        """Go to a screen."""

    async def action_go_back(self) -> None:
        """Go to the screen before this one."""

    def caption(self, state: RunState, trial: int) -> str:
        """Return what a run shows at the moment, or its conclusion, in one sentence."""

    def introduction(self) -> list[Cell]:
        """Return the introduction, if `captions` are on."""

    @property
    def theme_names(self) -> list[str]:
        """Every theme that can be chosen."""

    def preferences_changed(self) -> None:
        """Apply changed display settings to the live screen."""

    def use_theme(self, name: str) -> None:
        """Change the theme and save it."""

    def copy_text(self, text: str, what: str) -> None:
        """Copy a text to the clipboard, and confirm it in a toast."""

    def notify(self, message: str, **options: Any) -> None:
        """Show a toast."""

    def push_screen(self, screen: Any, callback: Any = None) -> Any:
        """Show a screen over this one."""

    def review(self, source: ReviewSource) -> None:
        """Open what is to be reviewed."""

    def compare(self, a: str, b: str) -> None:
        """Compare run B with run A."""

    async def new_job(self) -> None:
        """Go to the jobs, and ask for what a new one needs."""

    async def show_job(self, path: str, *, repeats: int) -> None:
        """Go to a job file in the list of jobs; with `repeats`, open its run dialog with so
        many.
        """

    async def show_runs(self, words: str) -> None:
        """Go to the history, showing only runs in which every word is found."""

    def open_run(self, opener: Opener | None) -> None:
        """Show another run on the live screen; boxes over it are closed."""

    def run_again(self) -> None:
        """Start the run of the live screen, or its replay, again."""

    def edit_file(self, path: Path, line: int = 0) -> None:
        """Open a file in the user's editor at a line; the screen waits."""

    def edit_job(self, run_id: str, decided: Gain | None) -> object:
        """Open a run's job in the editor, at the task or assertion that decided."""

    def repeat_run(
        self, *run_ids: str, total: int = 0, otherwise: Callable[[], None] | None = None
    ) -> object:
        """Ask how to run the job of recorded runs again; `otherwise` is called if it cannot be
        asked.
        """

    def open_conversation(self, glance: Glance, batch_id: str | None) -> None:
        """Show a conversation on the live screen; from there, `esc` goes back to the grid."""

    def batch_grid(self, batch_id: str) -> Screen[None]:
        """Return the grid of every conversation of a batch."""
