"""The machine-learning tasks: what they ask for, their leaderboards; prepare, validate and grade here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from bioeval_tui.errors import BioevalError
from bioeval_tui.text import plural
from bioeval_tui.tui.benchmarks import benchmarks_view
from bioeval_tui.tui.items import BenchmarkDetail, BenchmarkItem, MedalRow
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals.medal_card import MedalDetail, examine
from bioeval_tui.tui.shared.base import key_for
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.dialogs import Dialog, PathDialog, Tell, WorkDialog
from bioeval_tui.tui.shared.list_screen import ListScreen
from bioeval_tui.tui.shared.prose_widget import Prose
from bioeval_tui.tui.shared.rows_widget import Labelled, RowList

SETTLE_S = 0.06
"""The card follows the cursor after it has rested this long, because laying out a description takes a moment."""


class BenchmarkCard(VerticalScroll, can_focus=True):
    """Shows one task at a time."""

    DEFAULT_CSS = """
    BenchmarkCard { padding: 0 2; scrollbar-gutter: stable; & > Labelled { padding-right: 1; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~card")

    def __init__(self, item: BenchmarkItem | None = None, detail: BenchmarkDetail | None = None) -> None:
        super().__init__()
        self._item = item
        self._detail = detail
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """Facts and leaderboard above the description."""
        yield Labelled()
        yield Prose()

    def show(self, item: BenchmarkItem | None, detail: BenchmarkDetail | None) -> None:
        """Show another task, or more of it; another one begins at its top."""
        if item is not None and (self._item is None or item.task_id != self._item.task_id):
            self.scroll_home(animate=False)
        self._item, self._detail = item, detail
        self._draw()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width - 1
        if not self.is_mounted or width < 1 or self._drawn == (self._item, self._detail, width):
            return
        self._drawn = (self._item, self._detail, width)
        item = self._item
        prepare = key_for(self.screen, "prepare")
        lines = benchmarks_view.card(item, self._detail, width, prepare) if item else []
        self.query_one(Labelled).show(lines)
        self.query_one(Prose).show(benchmarks_view.description(item, self._detail) if item else "")


class BenchmarkDialog(Dialog[None]):
    """The details of one task."""

    NAME: ClassVar[str] = "Benchmark"
    ABOUT: ClassVar[str] = "The task's description and the scores on its leaderboard."
    DEFAULT_CSS = """
    BenchmarkDialog > .dialog--box { height: 90%; }
    BenchmarkDialog BenchmarkCard { height: 1fr; padding: 0; }
    BenchmarkDialog.-narrow > .dialog--box { height: 100%; }
    """

    def __init__(self, item: BenchmarkItem, detail: BenchmarkDetail | None) -> None:
        super().__init__()
        self._item = item
        self._detail = detail

    def compose_body(self) -> Iterable[Widget]:
        """The card."""
        yield BenchmarkCard(self._item, self._detail)

    def on_mount(self) -> None:
        """Focus the card."""
        self.query_one(BenchmarkCard).focus()


class BenchmarkRows(RowList):
    """The table's rows; enter opens the task."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~benchmark-rows")


class BenchmarksScreen(ListScreen[BenchmarkItem]):
    """Tasks on the left, the selected one on the right."""

    NAME = "Benchmarks"
    ABOUT = (
        "Biomedical machine-learning tasks with leaderboards. Once a task is prepared, grade a file to get a "
        "medal card, or validate it to see everything that is wrong with it."
    )
    REFRESH_S = 0.0
    LEAST = 32
    NEEDS_ROWS = ListScreen.NEEDS_ROWS | {"prepare", "validate", "grade", "card"}
    BINDINGS: ClassVar[list[BindingType]] = bindings("benchmarks")
    DEFAULT_CSS = """
    BenchmarksScreen {
        & BenchmarkCard { height: 1fr; }
    }
    """

    def __init__(self) -> None:
        self.details: dict[str, BenchmarkDetail] = {}
        super().__init__(benchmarks_view.listing(self.details), BenchmarkRows())
        self._timer: Timer | None = None

    def compose_side(self) -> Iterable[Widget]:
        """The card."""
        yield BenchmarkCard()

    async def load(self) -> Sequence[BenchmarkItem]:
        """Return the tasks; their leaderboards are read afterwards, one by one."""
        items = await self.bioeval.services.benchmarks()
        self._read_all(items)
        return items

    @work(group="boards", exclusive=True)
    async def _read_all(self, items: Sequence[BenchmarkItem]) -> None:
        for item in items:
            if item.task_id not in self.details and not item.problem:
                await self._read(item)
        if self.listing.sorting.column >= len(benchmarks_view.COLUMNS) - 2:
            self.listing.fill([*items])
        self.redraw()

    async def _read(self, item: BenchmarkItem) -> None:
        try:
            detail = await self.bioeval.services.benchmark(item.task_id)
        except (BioevalError, OSError) as error:
            detail = BenchmarkDetail(no_board=str(error) or type(error).__name__)
        self.details[item.task_id] = detail
        self.table.rows.refresh()
        shown = self.looked_at
        if shown is not None and shown.task_id == item.task_id:
            for card in {
                *self.query(BenchmarkCard),
                *self.app.screen.query(BenchmarkCard),
            }:  # a box may be open over it
                card.show(shown, detail)

    def cells(self, item: BenchmarkItem) -> Mapping[str, Cell | Content]:
        """Return a task's cells."""
        return benchmarks_view.row(item, self.details.get(item.task_id))

    def notes(self) -> list[Cell]:
        """The numbers of tasks, domains and prepared tasks."""
        items = self.listing.items
        domains = {item.domain for item in items if item.domain}
        prepared = sum(1 for item in items if item.prepared)
        return [
            Cell(plural(len(items), "task"), "quiet"),
            Cell(plural(len(domains), "domain"), "quiet"),
            Cell(f"{prepared:,} prepared", "quiet"),
        ]

    def empty(self) -> list[Cell]:
        """Explain where tasks come from."""
        return [
            Cell("No tasks found", "strong"),
            Cell(""),
            Cell("Set BIOEVAL_TASKS_DIR to a folder of tasks or a checkout of BioML-bench.", "quiet"),
        ]

    def loading_words(self) -> str:
        """Reading configs takes a moment."""
        return "Reading the tasks…"

    def look(self, item: BenchmarkItem | None) -> None:
        """Follow the cursor once it rests."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(SETTLE_S, self._show)

    def _show(self) -> None:
        item = self.looked_at
        self.query_one(BenchmarkCard).show(item, self.details.get(item.task_id) if item else None)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide preparing for a prepared task, and all actions for a broken one."""
        item = self.looked_at
        if action == "prepare":
            return item is not None and not item.prepared and not item.problem
        if action in ("validate", "grade"):
            return item is not None and not item.problem
        if action == "card":
            return self.wide and item is not None
        return super().check_action(action, parameters)

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        item, card = self.looked_at, self.query_one(BenchmarkCard)
        if item is None:
            return
        if card.size and not card.max_scroll_y and not item.problem:  # everything is beside the table already
            self.action_grade()
        else:
            self.app.push_screen(BenchmarkDialog(item, self.details.get(item.task_id)))

    def action_card(self) -> None:
        """Go from the table to the description, or back."""
        card = self.query_one(BenchmarkCard)
        (self.table.rows if card.has_focus else card).focus()

    def name_of(self, item: BenchmarkItem) -> tuple[str, str]:
        """A task's id."""
        return "the task's id", item.task_id

    def caption(self) -> str:
        """The task and its leaderboard."""
        item = self.looked_at
        return benchmarks_view.sentence(item, self.details.get(item.task_id)) if item else ""

    def action_prepare(self) -> None:
        """Prepare the task, showing its progress."""
        item = self.looked_at
        if item is None:
            return

        async def work(tell: Tell) -> str:
            steps = self.bioeval.services.prepare(item.task_id)
            async with aclosing(cast("AsyncGenerator[str]", steps)) as sentences:
                async for sentence in sentences:
                    tell(sentence)
            return item.task_id

        self.app.push_screen(WorkDialog(f"Preparing {item.task_id}", work), self._prepared)

    def _prepared(self, task_id: str | None) -> None:
        if task_id is not None:
            self.tell(f"{task_id} is prepared")
            self.details.pop(task_id, None)
        self.refresh_items()

    def action_validate(self) -> None:
        """Ask for a file and list everything that is wrong with it."""
        self._ask("Validate a file for", self._validate)

    def action_grade(self) -> None:
        """Ask for a file and grade it."""
        self._ask("Grade a file for", self._grade)

    def _ask(self, words: str, then: Callable[[BenchmarkItem, str | None], None]) -> None:
        item = self.looked_at
        if item is None:
            return
        kept = self.bioeval.services.preferences.get("benchmarks.files")
        last = kept.get(item.task_id) if isinstance(kept, Mapping) else None
        hint = f"{item.file_kind} in the format that the task's description asks for."
        if not item.prepared:
            own = item.source == "builtin"
            hint += " The task is prepared first." if own else f" The task is not prepared yet: {item.how}"
        dialog = PathDialog(f"{words} {item.task_id}", hint, last if isinstance(last, str) else "")
        self.app.push_screen(dialog, partial(then, item))

    def _keep_file(self, item: BenchmarkItem, file: str) -> None:
        kept = self.bioeval.services.preferences.get("benchmarks.files")
        files = dict(kept) if isinstance(kept, Mapping) else {}
        self.keep("files", {**files, item.task_id: file})

    def _validate(self, item: BenchmarkItem, file: str | None) -> None:
        if file is None:
            return
        self._keep_file(item, file)
        examine(self.bioeval, MedalRow(item.task_id, "", file), self.refresh_items)

    def _grade(self, item: BenchmarkItem, file: str | None) -> None:
        if file is None:
            return
        self._keep_file(item, file)

        async def work(tell: Tell) -> MedalRow:
            return await self.bioeval.services.grade(item.task_id, file)

        def done(row: MedalRow | None) -> None:
            if row is not None:
                self.app.push_screen(MedalDetail(row))
                detail = self.details.get(item.task_id)
                if detail is not None and row.report is not None:
                    self.details[item.task_id] = replace(detail, graded=row.report)
                    self._show()
                self.refresh_items()

        self.app.push_screen(WorkDialog(f"Grading for {item.task_id}", work), done)
