"""Pieces of text with a tone, the lines that screens make of them, and their colours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len, chop_cells
from textual.content import Content

from bioeval_tui.base.units import signed
from bioeval_tui.base.widths import fitted, padded

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.report.brief import Brief


Tone = Literal[
    "plain",
    "strong",
    "quiet",
    "good",
    "bad",
    "warn",
    "busy",
    "gold",
    "silver",
    "bronze",
    "entries",
    "heat0",
    "heat1",
    "heat2",
    "heat3",
    "heat4",
]


HIGH, LOW = 0.8, 0.5
"""Scores from `HIGH` are drawn as good, below `LOW` as bad.

These are display colours, not thresholds of a gate.
"""


class Cell(NamedTuple):
    """A text and its tone. A tone only adds to what the text already says."""

    text: str
    tone: Tone = "plain"


Line = list[Cell]


def joined(pieces: Iterable[tuple[str, Tone]]) -> list[Cell]:
    """Return texts with their tones as cells; neighbours of the same tone are one."""
    cells: list[Cell] = []
    for text, tone in pieces:
        if cells and cells[-1].tone == tone:
            cells[-1] = Cell(cells[-1].text + text, tone)
        else:
            cells.append(Cell(text, tone))
    return cells


def packed(entries: Iterable[Sequence[Cell]], width: int, between: str = "  ") -> list[list[Cell]]:
    """Return entries beside each other; one that does not fit into `width` begins the next line."""
    lines: list[list[Cell]] = []
    room = 0
    for entry in entries:
        length = sum(cell_len(cell.text) for cell in entry)
        if lines and length + len(between) <= room:
            lines[-1] += [Cell(between, "quiet"), *entry]
            room -= length + len(between)
        else:
            lines.append(list(entry))
            room = width - length
    return lines


_WIDE = r"\u2e80-\u3000\u3003-\u3007\u3012-\u9fff\uf900-\ufaff"
_WORDS = re.compile(
    rf"[{_WIDE}][\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01-\uff1f]*\s*"
    rf"|[^\s{_WIDE}-]*(?:-+|\s+)|[^\s{_WIDE}-]+"
)
"""A word with the hyphens or the space after it; a letter of Chinese or Japanese, between which a
line may end, with what closes after it.
"""


def cut(text: str, width: int) -> str:
    """Return a text on one line and at most `width` cells wide, an ellipsis marking the cut, after
    a word unless that would cost more than a third.
    """
    line = " ".join(text.split())
    if cell_len(line) <= width:
        return line
    shown = fitted(line, width).removesuffix("…")
    if not line.startswith(shown):  # half of a wide letter is a space
        shown = shown[:-1]
    last_space = line.rfind(" ", 0, len(shown) + 1)
    if last_space > 2 * len(shown) // 3:
        shown = line[:last_space]
    return shown.rstrip(" ,;:.") + "…" if width > 0 else ""


def fitted_condition(title: str, width: int) -> str:
    """Return what a condition is called in so many cells: `without` where `without the facts` has
    no room.
    """
    if cell_len(title) <= width:
        return title
    return cut(title.removesuffix(" the facts"), max(1, width))


def wrapped(text: str, width: int, *, keeps_spaces: bool = False) -> list[str]:
    """Return the lines of a text, each at most `width` cells wide; they end after a word or a
    hyphen where they can. Without `keeps_spaces`, several spaces are one.
    """
    if not keeps_spaces:
        text = " ".join(text.split())
    lines = [""]
    for word in _WORDS.findall(text):
        if cell_len(lines[-1] + word.rstrip()) <= width:
            lines[-1] += word
        elif cell_len(word.rstrip()) <= width and lines[-1].strip():
            lines.append(word)
        elif lines[-1].strip():
            lines += chop_cells(word, max(1, width))
        else:
            lines[-1:] = chop_cells(lines[-1] + word, max(1, width))
    return [line.rstrip() for line in lines if line] or [""]


def bulleted(rows: Iterable[tuple[str, str]], tone: Tone = "plain") -> list[list[Cell]]:
    """Return a line with a bullet for each text; a text without a name belongs to the name above
    it.
    """
    return [[Cell(padded(name, 12) + "– ", "quiet"), Cell(text, tone)] for name, text in rows]


def score_tone(value: float | None) -> Tone:
    """Return the tone of a score: good from `HIGH`, bad below `LOW`, else in between; quiet without
    one.
    """
    if value is None:
        return "quiet"
    if value >= HIGH:
        return "good"
    if value < LOW:
        return "bad"
    return "warn"


def uplift(difference: float | None) -> Cell:
    """Return supplied − withheld as a cell; a dash when it is not known."""
    if difference is None:
        return Cell("–", "quiet")
    difference = round(difference, 2)
    if not difference:
        return Cell(signed(difference), "quiet")
    return Cell(signed(difference), "good" if difference > 0 else "bad")


LEVELS = "▁▂▃▄▅▆▇█"
FEWEST_DRAWN = 3
"""Minimum number of values that are drawn: one or two are read faster as numbers."""
GAP = "·"
"""The sign for a run that could not be measured."""


def spark(values: Sequence[float | None], width: int, low: float = 0.0, high: float = 1.0) -> str:
    """Return the last `width` values as bars between `low` and `high`, oldest first; `·` for
    None.
    """
    if width <= 0:
        return ""
    span = high - low or 1.0
    shown = values[-width:]
    return "".join(GAP if value is None else _level((value - low) / span) for value in shown)


def eighth(level: int, row: int) -> str:
    """Return what a row, counted from the bottom, has of a column that is `level` eighths of a line
    high.
    """
    return f" {LEVELS}"[max(0, min(8, level - 8 * row))]


def _level(share: float) -> str:
    return LEVELS[max(0, min(len(LEVELS) - 1, int(share * len(LEVELS))))]


STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "quiet": "$quiet",
    "good": "$text-success",
    "bad": "$text-error",
    "warn": "$text-warning",
    "busy": "$text-accent",
    "gold": "bold $gold",
    "silver": "bold $silver",
    "bronze": "bold $bronze",
    "entries": "$entries",
    # Backgrounds of a heat map, the lowest fifth first.
    "heat0": "on $error 45%",
    "heat1": "on $error 22%",
    "heat2": "on $warning 25%",
    "heat3": "on $success 22%",
    "heat4": "on $success 45%",
}


def paint(*cells: Cell | Content | str) -> Content:
    """Return the cells one after another; foreign text stays literal, never markup."""
    return Content.assemble(
        *((cell.text, STYLES[cell.tone]) if isinstance(cell, Cell) else cell for cell in cells)
    )


def paint_lines(lines: Iterable[Cell | Sequence[Cell]]) -> Content:
    """Return the lines, of a cell or several, one below the other."""
    return Content("\n").join(
        [paint(line) if isinstance(line, Cell) else paint(*line) for line in lines]
    )


def left(cell: Cell | Content | str, width: int) -> Content:
    """Return the cell cut or padded to `width`, text on the left."""
    return paint(cell).truncate(max(0, width), ellipsis=True, pad=True)


def right(cell: Cell | Content | str, width: int) -> Content:
    """Return the cell cut or padded to `width`, text on the right."""
    content = paint(cell)
    missing = width - content.cell_length
    if missing > 0:
        return content.pad_left(missing)
    return content.truncate(max(0, width), ellipsis=True)


def spread(start: Content, end: Content, width: int) -> Content:
    """Return `start` on the left and `end` on the right of a line of `width`; `start` is cut
    first.
    """
    room = width - end.cell_length
    if room < 2:
        return end.truncate(max(0, width), ellipsis=True, pad=True)
    return Content.assemble(left(start, room - 2), "  ", end)


def brief_head(brief: Brief) -> list[Line]:
    """Return what it is about, who was tested by whom, and the facts: a line each."""
    return [[Cell(brief.topic_words, "strong")], *who_and_what(brief)]


def who_and_what(brief: Brief) -> list[Line]:
    """Return who was tested by whom, and the facts in words."""
    return [
        [
            Cell("agent  ", "quiet"),
            Cell(brief.agent_words),
            Cell(f"   {brief.others_words}", "quiet"),
        ],
        [Cell("facts  ", "quiet"), Cell(brief.facts_words)],
    ]


def asked_lines(brief: Brief, condition: Condition) -> list[Line]:
    """Return the tasks with the criteria of a condition, for the pane of a conversation that has
    not started.
    """
    own = f"{brief.conditions.get(condition, condition)}: "
    others = tuple(f"{title}: " for name, title in brief.conditions.items() if name != condition)
    lines: list[Line] = [[Cell("What the agent is asked for", "quiet")]]
    for at, (title, criteria) in enumerate(brief.tasks, start=1):
        lines.append([Cell(f"{at:2d} ", "busy"), Cell(title)])
        kept = [part for part in criteria.split("\n") if part and not part.startswith(others)]
        lines += [[Cell("   "), Cell(part.removeprefix(own), "quiet")] for part in kept]
    return lines
