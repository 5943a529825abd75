"""The machine-learning tasks: what they ask for, their leaderboards; prepare, validate and grade
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.theme import Theme
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.base.units import duration
from bioeval_tui.base.widths import padded
from bioeval_tui.statistics.means import median
from bioeval_tui.tui.grading_items import BenchmarkDetail, BenchmarkItem, Board, MedalRow
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live.transcript.markdown import TranscriptMarkdown
from bioeval_tui.tui.live.transcript.paint import markdown_styles
from bioeval_tui.tui.medals import histogram_view
from bioeval_tui.tui.medals.medal_card import MedalDetail, examine
from bioeval_tui.tui.medals.medals_view import MEDALS, column_number, number
from bioeval_tui.tui.shared.base import switch_focus
from bioeval_tui.tui.shared.cells import Cell, Line
from bioeval_tui.tui.shared.dialogs import Dialog, PathDialog, Tell, WorkDialog
from bioeval_tui.tui.shared.keys_footer import action_key
from bioeval_tui.tui.shared.list_screen import ListScreen
from bioeval_tui.tui.shared.list_table import Column, Key, Listing, number_key, text_key
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport


MAX_TEXT = 20_000
"""Longer descriptions are cut, because laying out a longer page takes noticeable time."""


class _Page(TranscriptMarkdown):
    """Markdown in which a line break counts as a space, because text files wrap their lines."""

    def __init__(self, source: str, theme: Theme) -> None:
        super().__init__(source)
        self._theme = theme
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "hardbreak":
                    child.type = "softbreak"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(self._theme):
            # A list: styles are looked up while this runs, and the theme goes when it ends.
            segments: list[Segment] = []
            for part in super().__rich_console__(console, options):
                segments += [part] if isinstance(part, Segment) else console.render(part, options)
        yield from segments


_PROSE = ("prose--heading", "prose--code", "prose--rule", "prose--link")


class Prose(Static):
    """Shows one text."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*_PROSE}
    DEFAULT_CSS = """
    Prose {
        height: auto;
        & > .prose--heading { text-style: bold; }
        & > .prose--code { color: $text-accent; }
        & > .prose--rule { color: $quiet; }
        & > .prose--link { color: $text-primary; text-style: underline; }
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._text = ""

    def on_mount(self) -> None:
        """Follow the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._draw())

    def show(self, text: str) -> None:
        """Show a text."""
        if text != self._text:
            self._text = text
            self._draw()

    def _draw(self) -> None:
        text = self._text
        if len(text) > MAX_TEXT:
            text = (
                text[:MAX_TEXT].rpartition("\n\n")[0]
                + f"\n\n*Truncated: {len(self._text):,} characters in total.*"
            )
        if text:
            self.update(_Page(text, Theme(self._styles_by_name(), inherit=False)))
        else:
            self.update("")

    def _styles_by_name(self) -> dict[str, Style]:
        heading, code, rule, link = (
            Style(color=style.color, bold=style.bold, underline=style.underline)
            for style in map(self.get_component_rich_style, _PROSE)
        )
        quoted = Style(italic=True)
        return markdown_styles(
            {
                "heading": heading,
                "link": link,
                "inline-code": code,
                "code": code,
                "note": quoted,
                "rule": rule,
            }
        )


COLUMNS: tuple[Column, ...] = (
    Column("task", 0),
    Column("ready", 14),
    Column("type", 14, False, 3),
    Column("level", 8, False, 4),
    Column("source", 9, False, 5),
    Column("entries", 7, True, 1),
    Column("better", 6, False, 2),
)
_HARD = {"easy": 1.0, "medium": 2.0, "hard": 3.0, "very hard": 4.0}


def listing(boards: Mapping[str, BenchmarkDetail]) -> Listing[BenchmarkItem]:
    """Return an empty table of tasks, sorted by domain and name; `boards` is read when sort keys
    are computed.
    """

    def entries_key(item: BenchmarkItem) -> Key:
        board = find_board(boards, item)
        return number_key(float(len(board.scores)) if board is not None else None)

    def better_key(item: BenchmarkItem) -> Key:
        board = find_board(boards, item)
        return text_key(_better(board) if board is not None else "")

    keys: dict[str, Callable[[BenchmarkItem], Key]] = {
        "task": lambda item: text_key(item.task_id),
        "ready": lambda item: (
            0,
            2.0 if item.problem else float(not item.prepared),
            item.task_id,
        ),
        "type": lambda item: text_key(item.task_type),
        "level": lambda item: (
            0,
            _HARD.get(item.difficulty.lower(), 9.0),
            item.difficulty.lower(),
        ),
        "source": lambda item: text_key(item.source),
        "entries": entries_key,
        "better": better_key,
    }
    return Listing(COLUMNS, keys, _words, lambda item: item.task_id)


def _words(item: BenchmarkItem) -> str:
    parts = (item.task_id, item.name, item.domain, item.task_type, item.difficulty, item.source)
    return " ".join((*parts, item.metric, ready(item).text))


def find_board(boards: Mapping[str, BenchmarkDetail], item: BenchmarkItem) -> Board | None:
    """Return a task's leaderboard as far as it has been read."""
    detail = boards.get(item.task_id)
    if detail:
        return detail.board
    return None


def ready(item: BenchmarkItem) -> Cell:
    """Return the task's state in a few words: prepared, not prepared or broken."""
    if item.problem:
        return Cell("! broken", "bad")
    if item.prepared:
        return Cell("✓ prepared", "good")
    return Cell("– not prepared", "quiet")


def _better(board: Board) -> str:
    """Return which scores are better: lower or higher ones."""
    if board.lower_is_better:
        return "lower"
    return "higher"


def _word(text: str) -> Cell:
    """Return a word of a task, or a quiet dash where it has none."""
    if text:
        return Cell(text)
    return Cell("–", "quiet")


def row(item: BenchmarkItem, detail: BenchmarkDetail | None) -> dict[str, Cell]:
    """Return a task's cells by column name; what is still being read is `…`."""
    entries = better = Cell("…" if detail is None and not item.problem else "–", "quiet")
    if detail and (board := detail.board):
        entries, better = Cell(f"{len(board.scores):,}"), Cell(_better(board), "quiet")
    return {
        "task": Cell(item.task_id, "quiet" if item.problem else "plain"),
        "ready": ready(item),
        "type": _word(item.task_type),
        "level": _word(item.difficulty),
        "source": Cell(item.source or "–", "quiet"),
        "entries": entries,
        "better": better,
    }


def card(
    item: BenchmarkItem, detail: BenchmarkDetail | None, width: int, prepare: str = ""
) -> list[Line]:
    """Return the lines above a task's description: properties, how to prepare it, leaderboard.

    `prepare` is the key that prepares the task, where there is one.
    """
    lines: list[Line] = [
        [ready(item)],
        [Cell(item.name, "strong")],
        [Cell(item.task_id, "quiet")],
        [],
    ]
    if item.problem:
        return [*lines, [Cell(item.problem, "bad")], []]
    lines += _facts(item)
    if not item.prepared:
        lines.append([Cell(item.how)])
        if prepare:
            lines.append([Cell(f"{prepare} prepares it", "busy")])
    lines.append([])
    if detail is None:
        return [*lines, [Cell("reading the leaderboard…", "quiet")]]
    if detail.board is None:
        return [*lines, [Cell("! ", "warn"), Cell(detail.no_board, "warn")], []]
    return [*lines, *_board_lines(detail.board, detail.graded, width)]


def _facts(item: BenchmarkItem) -> list[Line]:
    limit = ""
    if item.time_limit_s:
        limit = f"{duration(item.time_limit_s)} for an agent"
    named = (
        ("domain", item.domain),
        ("type", " · ".join(part for part in (item.task_type, item.difficulty) if part)),
        ("metric", item.metric),
        ("source", item.source),
        ("file", f"{item.file_kind}, one for each submission"),
        ("time limit", limit),
        ("medals", "awarded" if item.awards_medals else "not awarded"),
    )
    return [[Cell(padded(name, 12), "quiet"), Cell(value)] for name, value in named if value]


HEIGHT = 6
"""Height of a leaderboard's columns."""


def _marks(board: Board) -> dict[str, float]:
    """Return the scores of a leaderboard's marks; `human` is the median of the human baselines, if
    there are any.
    """
    marks = {
        "median": board.median,
        "bronze": board.bronze,
        "silver": board.silver,
        "gold": board.gold,
    }
    if board.humans:
        marks["human"] = median(board.humans)
    return marks


def _board_lines(board: Board, graded: TaskReport | None, width: int) -> list[Line]:
    reach, strict = ("≤", "<") if board.lower_is_better else ("≥", ">")
    marks = _marks(board)
    own = graded.score if graded is not None else None
    histogram = histogram_view.histogram(
        board.scores, marks, lower_is_better=board.lower_is_better, own=own
    )
    lines: list[Line] = [
        [
            Cell("LEADERBOARD", "strong"),
            Cell(
                f"   {plural(len(board.scores), 'entry', 'entries')}, {_better(board)} is better",
                "quiet",
            ),
        ],
        *histogram_view.lines(histogram, width, HEIGHT),
        [],
    ]
    if graded is not None and own is not None:
        lines.append(_unofficial(graded, own))
    for name in ("gold", "silver", "bronze"):
        lines.append(
            [
                Cell(padded(name, 14), histogram_view.TONES[name]),
                Cell(f"{reach} {column_number(marks[name])}"),
            ]
        )

    lines.append(
        [Cell(padded("above median", 14)), Cell(f"{strict} {column_number(marks['median'])}")]
    )
    if board.reference is not None:
        name, score = board.reference
        lines.append(
            [
                Cell(padded("reference", 14)),
                Cell(f"  {column_number(score)}"),
                Cell(f" what {name} scores, for comparison", "quiet"),
            ]
        )
    if board.humans:
        count = plural(len(board.humans), "human baseline")
        lines.append(
            [
                Cell(padded("human", 14), "busy"),
                Cell(f"  {number(marks['human'])}"),
                Cell(f" median of {count}", "quiet"),
            ]
        )
    else:
        lines.append([Cell("no human baseline", "quiet")])
    if board.origin:
        lines.append([Cell(board.origin, "quiet")])
    lines += [[Cell(f"! {warning}", "warn")] for warning in board.warnings]
    return [*lines, []]


def _unofficial(graded: TaskReport, score: float) -> Line:
    """Return where the file that was graded last would stand."""
    medal = MEDALS[graded.medal or "none"]  # type: ignore[index]
    partial = graded.note and f", {graded.note}"
    where = f"{partial} "
    if graded.place_words:
        where = f" would place {graded.place_words}{partial}: "
    file = clean_line(Path(graded.submission_path).name, 60)
    return [
        Cell(padded("▶ unofficial", 14), "strong"),
        Cell(f"  {column_number(score)}", "strong"),
        Cell(where),
        medal,
        Cell(f" · {file}", "quiet"),
    ]


def sentence(item: BenchmarkItem, detail: BenchmarkDetail | None) -> str:
    """Return the task, the size of its leaderboard, and the score that wins gold, in one
    sentence.
    """
    if detail is None or (board := detail.board) is None:
        return item.name
    entries = plural(len(board.scores), "entry", "entries")
    reach = "at most" if board.lower_is_better else "at least"
    return (
        f"{item.name} ({item.task_id}): gold needs a {item.metric} of {reach} {number(board.gold)},"
        f" among {entries}."
    )


def description(item: BenchmarkItem, detail: BenchmarkDetail | None) -> str:
    """Return the description without a heading that only repeats the task's name."""
    if detail is None:
        return ""
    first, _, rest = detail.description.lstrip().partition("\n")
    if first.startswith("# ") and first.removeprefix("# ").strip() == item.name:
        return rest.lstrip("\n")
    return detail.description


SETTLE_S = 0.06
"""The card follows the cursor after it has rested this long, because laying out a description takes
a moment.
"""


class BenchmarkCard(VerticalScroll, can_focus=True):
    """Shows one task at a time."""

    DEFAULT_CSS = """
    BenchmarkCard { padding: 0 2; scrollbar-gutter: stable; & > Labelled { padding-right: 1; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~card")

    def __init__(
        self, item: BenchmarkItem | None = None, detail: BenchmarkDetail | None = None
    ) -> None:
        super().__init__()
        self.item = item
        self._detail = detail
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """Facts and leaderboard above the description."""
        yield Labelled()
        yield Prose()

    def show(self, item: BenchmarkItem | None, detail: BenchmarkDetail | None) -> None:
        """Show another task, or more of it; another one begins at its top."""
        if item is not None and (self.item is None or item.task_id != self.item.task_id):
            self.scroll_home(animate=False)
        self.item, self._detail = item, detail
        self._draw()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width - 1
        if not self.is_mounted or width < 1 or self._drawn == (self.item, self._detail, width):
            return
        self._drawn = (self.item, self._detail, width)
        lines, prose = [], ""
        if self.item is not None:
            lines = card(self.item, self._detail, width, action_key(self.screen, "prepare"))
            prose = description(self.item, self._detail)
        self.query_one(Labelled).show(lines)
        self.query_one(Prose).show(prose)


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


class BenchmarksScreen(ListScreen[BenchmarkItem]):
    """Tasks on the left, the selected one on the right."""

    NAME = "Benchmarks"
    ABOUT = (
        "Biomedical machine-learning tasks with leaderboards. Once a task is prepared, grade a file"
        " to get a medal card, or validate it to see everything that is wrong with it."
    )
    REFRESH_S = 0.0
    LOADING = "Reading the tasks…"
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
        super().__init__(listing(self.details), RowList("~benchmark-rows"))
        self._timer: Timer | None = None

    def compose_side(self) -> Iterable[Widget]:
        """The card."""
        yield BenchmarkCard()

    async def load(self) -> Sequence[BenchmarkItem]:
        """Return the tasks; their leaderboards are read afterwards, one by one."""
        services = self.bioeval.services
        items = await services.in_thread(lambda: services.benchmarks.items())
        self._read_all(items)
        return items

    @work(group="boards", exclusive=True)
    async def _read_all(self, items: Sequence[BenchmarkItem]) -> None:
        for item in items:
            if item.task_id not in self.details and not item.problem:
                await self._read(item)
        self.listing.forget_keys()
        self.redraw()

    async def _read(self, item: BenchmarkItem) -> None:
        services = self.bioeval.services
        try:
            detail = await services.in_thread(lambda: services.benchmarks.detail(item.task_id))
        except (BioevalError, OSError) as error:
            detail = BenchmarkDetail(no_board=str(error) or type(error).__name__)
        self.details[item.task_id] = detail
        self.table.rows.refresh()
        shown = self.looked_at
        if shown is not None and shown.task_id == item.task_id:
            # a box may be open over it
            for card in {
                *self.query(BenchmarkCard),
                *self.app.screen.query(BenchmarkCard),
            }:
                card.show(shown, detail)

    def cells(self, item: BenchmarkItem) -> Mapping[str, Cell | Content]:
        """Return a task's cells."""
        return row(item, self.details.get(item.task_id))

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
            Cell(
                "Set BIOEVAL_TASKS_DIR to a folder of tasks or a checkout of BioML-bench.", "quiet"
            ),
        ]

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
        # Everything is beside the table already; until the card has followed the cursor, nobody
        # knows.
        if card.item == item and card.size and not card.max_scroll_y and not item.problem:
            self.action_grade()
        else:
            self.app.push_screen(BenchmarkDialog(item, self.details.get(item.task_id)))

    def action_card(self) -> None:
        """Go from the table to the description, or back."""
        card = self.query_one(BenchmarkCard)
        switch_focus(self.table.rows, card)

    def item_name(self, item: BenchmarkItem) -> tuple[str, str]:
        """A task's id."""
        return "the task's id", item.task_id

    def caption(self) -> str:
        """The task and its leaderboard."""
        item = self.looked_at
        if item:
            return sentence(item, self.details.get(item.task_id))
        return ""

    def action_prepare(self) -> None:
        """Prepare the task, showing its progress."""
        item = self.looked_at
        if item is None:
            return

        async def work(tell: Tell) -> str:
            async with aclosing(self.bioeval.services.benchmarks.prepare(item.task_id)) as steps:
                async for sentence in steps:
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

    def _ask(self, words: str, then: Callable[[BenchmarkItem, str], None]) -> None:
        item = self.looked_at
        if item is None:
            return
        kept = self.bioeval.services.preferences.get("benchmarks.files")
        files = dict(kept) if isinstance(kept, Mapping) else {}
        last = files.get(item.task_id)
        hint = f"{item.file_kind} in the format that the task's description asks for."
        if not item.prepared:
            if item.source == "builtin":
                hint += " The task is prepared first."
            else:
                hint += f" The task is not prepared yet: {item.how}"
        if not isinstance(last, str):
            last = ""
        dialog = PathDialog(f"{words} {item.task_id}", hint, last)

        def chosen(file: str | None) -> None:
            if file is not None:
                self.keep("files", {**files, item.task_id: file})
                then(item, file)

        self.app.push_screen(dialog, chosen)

    def _validate(self, item: BenchmarkItem, file: str) -> None:
        examine(self.bioeval, MedalRow(item.task_id, "", file), self.refresh_items)

    def _grade(self, item: BenchmarkItem, file: str) -> None:
        async def work(tell: Tell) -> MedalRow:
            services = self.bioeval.services
            return await services.in_worker(lambda: services.benchmarks.grade(item.task_id, file))

        def done(row: MedalRow | None) -> None:
            if row is not None:
                self.app.push_screen(MedalDetail(row))
                detail = self.details.get(item.task_id)
                if detail is not None and row.report is not None:
                    self.details[item.task_id] = replace(detail, graded=row.report)
                    self._show()
                self.refresh_items()

        self.app.push_screen(WorkDialog(f"Grading for {item.task_id}", work), done)
