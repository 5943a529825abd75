"""The table of machine-learning tasks, and the details of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bioeval_tui.text import clean_line, plural
from bioeval_tui.tui.items import BenchmarkDetail, BenchmarkItem, Board
from bioeval_tui.tui.medals.medals_view import MEDALS, column_number, number
from bioeval_tui.tui.shared import histogram_view
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.list_table import Column, Key, Listing, number_key, text_key
from bioeval_tui.units import duration

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport

Line = list[Cell]
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
    """Return an empty table of tasks, sorted by domain and name; `boards` is read when sort keys are computed."""

    def keys(item: BenchmarkItem) -> tuple[Key, ...]:
        board = board_of(boards, item)
        return (
            text_key(item.task_id),
            (0, 2.0 if item.problem else 0.0 if item.prepared else 1.0, item.task_id),
            text_key(item.task_type),
            (0, _HARD.get(item.difficulty.lower(), 9.0), item.difficulty.lower()),
            text_key(item.source),
            number_key(float(len(board.scores)) if board else None),
            text_key("" if board is None else "lower" if board.lower_is_better else "higher"),
        )

    return Listing(COLUMNS, keys, _words, lambda item: item.task_id)


def _words(item: BenchmarkItem) -> str:
    parts = (item.task_id, item.name, item.domain, item.task_type, item.difficulty, item.source)
    return " ".join((*parts, item.metric, ready(item).text))


def board_of(boards: Mapping[str, BenchmarkDetail], item: BenchmarkItem) -> Board | None:
    """Return a task's leaderboard as far as it has been read."""
    detail = boards.get(item.task_id)
    return detail.board if detail else None


def ready(item: BenchmarkItem) -> Cell:
    """Return the task's state in a few words: prepared, not prepared or broken."""
    if item.problem:
        return Cell("! broken", "bad")
    return Cell("✓ prepared", "good") if item.prepared else Cell("– not prepared", "quiet")


def row(item: BenchmarkItem, detail: BenchmarkDetail | None) -> dict[str, Cell]:
    """Return a task's cells by column name; what is still being read is `…`."""
    board = detail.board if detail else None
    waiting = Cell("…" if detail is None and not item.problem else "–", "quiet")
    return {
        "task": Cell(item.task_id, "quiet" if item.problem else "plain"),
        "ready": ready(item),
        "type": Cell(item.task_type or "–", "quiet" if not item.task_type else "plain"),
        "level": Cell(item.difficulty or "–", "quiet" if not item.difficulty else "plain"),
        "source": Cell(item.source or "–", "quiet"),
        "entries": Cell(f"{len(board.scores):,}") if board else waiting,
        "better": Cell("lower" if board.lower_is_better else "higher", "quiet") if board else waiting,
    }


def card(item: BenchmarkItem, detail: BenchmarkDetail | None, width: int, prepare: str = "") -> list[Line]:
    """Return the lines above a task's description: properties, how to prepare it, leaderboard.

    `prepare` is the key that prepares the task, where there is one.
    """
    lines: list[Line] = [[ready(item)], [Cell(item.name, "strong")], [Cell(item.task_id, "quiet")], []]
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
    limit = duration(item.time_limit_s) if item.time_limit_s else ""
    named = (
        ("domain", item.domain),
        ("type", " · ".join(part for part in (item.task_type, item.difficulty) if part)),
        ("metric", item.metric),
        ("source", item.source),
        ("file", f"{item.file_kind}, one for each submission"),
        ("time limit", limit and f"{limit} for an agent"),
        ("medals", "awarded" if item.awards_medals else "not awarded"),
    )
    return [[Cell(f"{name:<12}", "quiet"), Cell(value)] for name, value in named if value]


HEIGHT = 6
"""Height of a leaderboard's columns."""


def _marks(board: Board) -> dict[str, float]:
    """Return the scores of a leaderboard's marks; `human` is the median of the human baselines, if there are any."""
    marks = {"median": board.median, "bronze": board.bronze, "silver": board.silver, "gold": board.gold}
    return marks | ({"human": median(board.humans)} if board.humans else {})


def _board_lines(board: Board, graded: TaskReport | None, width: int) -> list[Line]:
    better = "lower is better" if board.lower_is_better else "higher is better"
    marks = _marks(board)
    own = graded.score if graded is not None else None
    histogram = histogram_view.histogram(board.scores, marks, lower_is_better=board.lower_is_better, own=own)
    lines: list[Line] = [
        [
            Cell("LEADERBOARD", "strong"),
            Cell(f"   {plural(len(board.scores), 'entry', 'entries')}, {better}", "quiet"),
        ],
        *histogram_view.lines(histogram, width, HEIGHT),
        [],
    ]
    if graded is not None and own is not None:
        lines.append(_unofficial(graded, own))
    reach = "≤" if board.lower_is_better else "≥"
    for name in ("gold", "silver", "bronze"):
        lines.append(
            [Cell(f"{name:<14}", histogram_view.TONES[name]), Cell(f"{reach} {column_number(marks[name])}")]
        )
    strict = "<" if board.lower_is_better else ">"
    lines.append([Cell(f"{'above median':<14}"), Cell(f"{strict} {column_number(marks['median'])}")])
    if board.reference is not None:
        name, score = board.reference
        lines.append(
            [
                Cell(f"{'reference':<14}"),
                Cell(f"  {column_number(score)}"),
                Cell(f" what {name} scores, for comparison", "quiet"),
            ]
        )
    if board.humans:
        count = plural(len(board.humans), "human baseline")
        lines.append(
            [
                Cell(f"{'human':<14}", "busy"),
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
    partial = f", {graded.rows_note}" if graded.rows_note else ""
    where = f" would place {graded.place_words}{partial}: " if graded.place_words else f"{partial} "
    file = clean_line(Path(graded.submission_path).name, 60)
    return [
        Cell(f"{'▶ unofficial':<14}", "strong"),
        Cell(f"  {column_number(score)}", "strong"),
        Cell(where),
        medal,
        Cell(f" · {file}", "quiet"),
    ]


def sentence(item: BenchmarkItem, detail: BenchmarkDetail | None) -> str:
    """Return the task, the size of its leaderboard, and the score that wins gold, in one sentence."""
    board = detail.board if detail else None
    if board is None:
        return item.name
    entries = plural(len(board.scores), "entry", "entries")
    reach = "at most" if board.lower_is_better else "at least"
    return f"{item.name} ({item.task_id}): gold needs a {item.metric} of {reach} {number(board.gold)}, among {entries}."


def description(item: BenchmarkItem, detail: BenchmarkDetail | None) -> str:
    """Return the description without a heading that only repeats the task's name."""
    text = detail.description if detail else ""
    first, _, rest = text.lstrip().partition("\n")
    said = first.removeprefix("# ").strip()
    return rest.lstrip("\n") if first.startswith("# ") and said == item.name else text
