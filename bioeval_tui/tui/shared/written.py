"""What a terminal shows already, and the fewest bytes that make it show something else.

Textual writes whole pieces of lines, each part of a piece with all of its colours. At the end of a
slow line, that is most of the time between a key and its effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress, pairwise
from operator import is_not, ne, or_
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

LEAST_GAP = 8
"""So many cells that stay between two that change are not written again: going to another cell
takes as many bytes.
"""


class Ink(NamedTuple):
    """How a text is drawn: the codes of its attributes, of its colour and of its background, and
    where it links to.
    """

    attributes: str = ""
    colour: str = ""
    ground: str = ""
    link: str = ""


PLAIN = Ink()


@lru_cache(maxsize=16384)
def make_ink(style: Style | None, system: ColorSystem) -> Ink:
    """Return how a style is drawn with these colours."""
    if style is None:
        return PLAIN
    colour, ground = (
        ";".join(part.downgrade(system).get_ansi_codes(foreground)) if part is not None else ""
        for part, foreground in ((style.color, True), (style.bgcolor, False))
    )
    codes = Strip.render_ansi(style, system).split(";") if style else []
    of_colours = sum(len(part.split(";")) for part in (colour, ground) if part)
    link = f"\x1b]8;id={style.link_id};{style.link}\x1b\\" if style.link else ""
    attributes = ";".join(filter(None, codes[: len(codes) - of_colours]))
    return Ink(attributes, colour, ground, link)


@lru_cache(maxsize=16384)
def space_ink(ink: Ink) -> Ink:
    """Return how spaces are drawn in an ink: without lines, they show the background alone."""
    if ink.attributes or ink.link:
        return ink
    return ink._replace(colour="")


@lru_cache(maxsize=16384)
def change(now: Ink, wanted: Ink) -> str:
    """Return what makes a terminal that draws in one ink draw in another."""
    if now[:3] == wanted[:3]:
        return ""
    if now.attributes != wanted.attributes or any(
        had and not has for had, has in zip(now, wanted, strict=True)
    ):
        return f"\x1b[{';'.join(filter(None, ('0', *wanted[:3])))}m"
    parts = (has for had, has in zip(now[1:3], wanted[1:3], strict=True) if had != has)
    return f"\x1b[{';'.join(parts)}m"


Part = tuple[str, Ink]


class Piece(NamedTuple):
    """A piece of a line: the cell and the line where it begins, and its texts with their inks."""

    x: int
    y: int
    parts: Sequence[Part]


class Pieces(CompositorUpdate):
    """Pieces of lines, to be written."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self.render_segments(console))

    def render_segments(self, console: Console) -> str:
        """Return the bytes for a terminal that draws in no ink, and then does so again."""
        now, written = PLAIN, list[str]()
        for x, y, parts in self.pieces:
            written.append(_cursor_move(x, y))
            for text, ink in parts:
                if ink is not now:
                    spaces = space_ink(ink)
                    if text.isspace() and spaces is not ink and not now.attributes:
                        ink = spaces._replace(colour=now.colour)  # which no space shows
                    written.append(change(now, ink))
                    now = ink
                written.append(f"{ink.link}{text}\x1b]8;;\x1b\\" if ink.link else text)
                x += cell_len(text)
                if _is_joined(text):
                    # A terminal may have taken other cells for it: what follows stands where it
                    # would.
                    written.append(_cursor_move(x, y))
        return "".join([*written, change(now, PLAIN)])


def _cursor_move(x: int, y: int) -> str:
    return f"\x1b[{y + 1};{x + 1}H"


class Written:
    """What a terminal shows, by line: the letter of each cell, and its ink."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[list[object], list[Ink]]] = {}

    def forget(self) -> None:
        """Know nothing: something else may have used the terminal."""
        self._lines.clear()

    def unwritten(self, update: ChopsUpdate | LayoutUpdate, system: ColorSystem) -> Pieces | None:
        """Return what the terminal does not show yet, and take it as shown; None if it shows
        all.
        """
        found = [
            *chain.from_iterable(
                self._changed(x, y, strip, system) for x, y, strip in _pieces(update)
            )
        ]
        if found:
            return Pieces(found)
        return None

    def _changed(self, x: int, y: int, strip: Strip, system: ColorSystem) -> Iterator[Piece]:
        parts = [(text, make_ink(style, system)) for text, style, _ in strip]
        letters, inks = _cells(parts)
        line, of_line = self._lines.setdefault(y, ([], []))
        end = x + len(letters)
        if (missing := end - len(line)) > 0:
            line += [None] * missing
            of_line += [PLAIN] * missing
        shown, drawn = line[x:end], of_line[x:end]
        if shown == letters and drawn == inks:
            return
        line[x:end], of_line[x:end] = letters, inks
        if isinstance(letters[0], tuple):
            if any(_is_joined(text) for text, _ in parts):
                # A terminal that takes less cells for it would leave what stood in the last ones.
                yield Piece(x, y, [(" " * len(letters), Ink(ground=parts[-1][1].ground))])
            yield Piece(x, y, parts)
            return
        differ = map(or_, map(ne, letters, shown), map(is_not, inks, drawn))
        for first, last in _runs([*compress(range(len(letters)), differ)]):
            yield Piece(x + first, y, _cut_parts(parts, first, last + 1))


def _pieces(update: ChopsUpdate | LayoutUpdate) -> Iterator[tuple[int, int, Strip]]:
    """Return the pieces that an update would write, which are the same as in its
    `render_segments`.
    """
    if isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in line:
                yield x, y, strip
                x += strip.cell_length
        return
    for y, x1, x2 in update.spans:
        for end, (x, piece) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            # it also writes from `x` where that is before `x1`
            if piece is not None and x <= x2 and end > x1:
                yield x, y, piece.crop(0, min(end, x2) - x)


def _cells(parts: Sequence[Part]) -> tuple[list[object], list[Ink]]:
    """Return the letter of each cell and its ink; instead of a letter, the whole piece where one is
    not one cell wide.

    Terminals disagree about the width of emoji, so a piece with one is written whole or not at all.
    """
    if not all(_is_narrow(text) for text, _ in parts):
        length = sum(cell_len(text) for text, _ in parts)
        content = tuple(parts)
        return [(content, at) for at in range(length)], [PLAIN] * length
    inks: list[Ink] = []
    for text, ink in parts:
        spaces = space_ink(ink)
        if spaces is ink or " " not in text:
            inks += [ink] * len(text)
        else:
            inks += [spaces if letter == " " else ink for letter in text]
    return list("".join(text for text, _ in parts)), inks


def _cut_parts(parts: Sequence[Part], start: int, end: int) -> Sequence[Part]:
    """Return these cells of parts whose letters are one cell wide."""
    kept, at = list[Part](), 0
    for text, ink in parts:
        if part := text[max(0, start - at) : max(0, end - at)]:
            kept.append((part, ink))
        at += len(text)
    return kept


@lru_cache(maxsize=16384)
def _is_narrow(text: str) -> bool:
    return text.isascii() or all(get_character_cell_size(character) == 1 for character in text)


@lru_cache(maxsize=16384)
def _is_joined(text: str) -> bool:
    """Return whether signs without a width stand in it, which join others or are drawn over
    them.
    """
    return not text.isascii() and any(get_character_cell_size(character) == 0 for character in text)


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the first and the last of each run of places in their order, which may have short
    gaps.
    """
    if not places:
        return
    if places[-1] - places[0] + 1 - len(places) < LEAST_GAP:  # so that no gap can be longer
        yield places[0], places[-1]
        return
    ends = [at for at, (here, after) in enumerate(pairwise(places), 1) if after - here > LEAST_GAP]
    for start, end in pairwise([0, *ends, len(places)]):
        yield places[start], places[end - 1]
