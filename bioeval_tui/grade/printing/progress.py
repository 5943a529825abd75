"""Progress of grading and of checking tasks: a bar with rate and time left, on stderr.

`bioeval-tui grade`, `medals` and `tasks check` show one around what takes long. Without a terminal
there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task as ProgressTask,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.streams import is_plain

if TYPE_CHECKING:
    from bioeval_tui.grade.batch.run import GradingProgress


@contextmanager
def long_work(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a progress bar with rate and time left on stderr; yield a function to call after each
    item.
    """
    with _bar() as bar:
        row = bar.add_task(what, total=total)
        yield lambda: bar.advance(row)


@contextmanager
def batch_progress() -> Iterator[Callable[[GradingProgress], None]]:
    """Show the progress of a batch on stderr; yields the object that `grade_batch` reports to."""
    with _bar() as bar:
        row = bar.add_task("grading", total=None)

        def show(progress: GradingProgress) -> None:
            notes = []
            if progress.invalid:
                notes.append(f"{progress.invalid:,} invalid")
            if progress.not_graded:
                notes.append(f"{progress.not_graded:,} not graded")
            if progress.resumed:
                notes.append(f"{progress.resumed:,} from before")
            what = "grading"
            if notes:
                what += f" ({', '.join(notes)})"
            bar.update(row, description=what, total=progress.total, completed=progress.done)

        yield show


def _bar() -> Progress:
    console = plain_console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal or is_plain())


class _Rate(ProgressColumn):
    """Items per second."""

    def render(self, task: ProgressTask) -> Text:
        """Return the rate of a progress row."""
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:,.0f}/s", style="dim")
