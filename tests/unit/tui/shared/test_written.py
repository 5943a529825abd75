"""What is written to a terminal: as little as makes it show what it would show after all of it."""

from __future__ import annotations

from collections.abc import Iterable

import pyte
import pytest
from hypothesis import given, strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from bioeval_tui.tui.shared.written import LEAST_GAP, Ink, Written, change

WIDTH, HEIGHT = 24, 3
TRUE = ColorSystem.TRUECOLOR
CONSOLE = Console(color_system="truecolor", force_terminal=True, legacy_windows=False)
STYLES = [
    None,
    *map(
        Style.parse,
        (
            "red",
            "red on #102030",
            "bold red on #102030",
            "on #102030",
            "underline",
            "reverse #00ff00",
            "dim italic on blue",
        ),
    ),
]
LETTERS = ["a", "b", " ", "    ", "─", "é", "日", "य"]
PARTS = st.lists(st.tuples(st.sampled_from(LETTERS), st.sampled_from(STYLES)), max_size=8)
LINES = st.lists(PARTS, min_size=1, max_size=4)
FRAMES = st.lists(st.lists(LINES, min_size=HEIGHT, max_size=HEIGHT), min_size=1, max_size=4)


def pieces(line: Iterable[Iterable[tuple[str, Style | None]]]) -> list[Strip]:
    """Return a line as wide as the terminal."""
    parts = [Strip([Segment(text, style) for text, style in part]) for part in line]
    left, kept = WIDTH, []
    for part in parts:
        kept.append(part.crop(0, left))
        left -= kept[-1].cell_length
    return [each for each in [*kept, Strip.blank(left)] if each.cell_length]


def whole(lines: list[list[Strip]]) -> LayoutUpdate:
    return LayoutUpdate(list(lines), Region(0, 0, WIDTH, HEIGHT))


def chops(lines: list[list[Strip]], shown: Iterable[int]) -> ChopsUpdate:
    """Return an update of these lines of the screen alone."""
    placed, ends = [], []
    for line in lines:
        starts = [sum(each.cell_length for each in line[:at]) for at in range(len(line) + 1)]
        placed.append(dict(zip(starts, line, strict=False)))
        ends.append(starts[1:])
    return ChopsUpdate(placed, [(y, 0, WIDTH) for y in shown], ends)


class Emulator:
    """A terminal."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.Stream(self.screen)

    def draws(self, text: str) -> Emulator:
        self._stream.feed(text)
        return self

    @property
    def seen(self) -> list[tuple[object, ...]]:
        """What each cell shows: of a space, its background, and lines through it."""
        cells = [self.screen.buffer[y][x] for y in range(HEIGHT) for x in range(WIDTH)]
        return [
            ("", cell.bg, cell.underscore, cell.reverse and cell.fg)
            if cell.data == " "
            else (
                cell.data,
                cell.fg,
                cell.bg,
                cell.bold,
                cell.italics,
                cell.underscore,
                cell.reverse,
            )
            for cell in cells
        ]


@given(FRAMES, st.lists(st.sets(st.integers(0, HEIGHT - 1)), max_size=4))
def test_a_terminal_shows_what_it_would_after_every_byte(
    frames: list[list[list[list[tuple[str, Style | None]]]]], parts: list[set[int]]
) -> None:
    written, ours, textuals = Written(), Emulator(), Emulator()
    lines: list[list[Strip]] = []
    for at, frame in enumerate(frames):
        new = [*map(pieces, frame)]
        shown = sorted(parts[at]) if lines and at < len(parts) else [*range(HEIGHT)]
        lines = [new[y] if y in shown else lines[y] for y in range(HEIGHT)]
        update = chops(lines, shown) if at % 2 and shown else whole(lines)
        found = written.unwritten(update, TRUE)
        text = "" if found is None else found.render_segments(CONSOLE)
        everything = whole(lines).render_segments(CONSOLE)
        assert len(text) <= len(everything) + 9 * WIDTH
        assert ours.draws(text).seen == textuals.draws(everything).seen
        assert written.unwritten(whole(lines), TRUE) is None or any(
            "日" in str(each) for line in lines for each in line
        )


def strip(*parts: tuple[str, str]) -> Strip:
    return Strip([Segment(text, Style.parse(style)) for text, style in parts])


def told(written: Written, *parts: tuple[str, str], x: int = 0) -> list[tuple[int, str]]:
    """Return where what is written of a piece begins, and its text."""
    piece = strip(*parts)
    found = written.unwritten(
        ChopsUpdate([{x: piece}], [(0, x, x + piece.cell_length)], [[x + piece.cell_length]]), TRUE
    )
    return (
        []
        if found is None
        else [(x, "".join(text for text, _ in parts)) for x, _, parts in found.pieces]
    )


def test_only_cells_that_changed_are_written() -> None:
    written = Written()
    far = "." * (LEAST_GAP + 2)
    assert told(written, (f"1 s{far}x", "red")) == [(0, f"1 s{far}x")]
    assert told(written, (f"1 s{far}x", "red")) == []
    assert told(written, (f"2 s{far}y", "red")) == [(0, "2"), (4 + len(far) - 1, "y")]
    assert told(written, ("2 s..", "red"), ("." * (LEAST_GAP - 3) + "y", "blue")) == [
        (5, "." * (LEAST_GAP - 3) + "y")
    ]
    written.forget()
    assert told(written, ("2 s", "red")) == [(0, "2 s")]


def test_the_colour_of_a_space_is_not_seen() -> None:
    written = Written()
    assert told(written, ("a   ", "red on blue"))
    assert told(written, ("a", "red on blue"), ("   ", "green on blue")) == []
    assert told(written, ("a", "red on blue"), ("   ", "underline green on blue")) == [(1, "   ")]


@pytest.mark.parametrize(
    ("name", "blank"), [("日本", False), ("👩\u200d⚕\ufe0f", True), ("e\u0301", True)]
)
def test_a_piece_whose_width_terminals_disagree_about_is_written_whole(
    name: str, blank: bool
) -> None:
    """Over blanks, if a terminal may need less cells for it."""
    written = Written()
    width = strip((f"{name} 1 s", "red")).cell_length

    def whole_piece(text: str) -> list[tuple[int, str]]:
        return [*([(0, " " * width)] if blank else []), (0, text)]

    assert told(written, (f"{name} 1 s", "red")) == whole_piece(f"{name} 1 s")
    assert told(written, (f"{name} 1 s", "red")) == []
    assert told(written, (f"{name} 2 s", "red")) == whole_piece(f"{name} 2 s")
    assert told(written, ("x", "red"), x=1) == [(1, "x")]
    assert told(written, (f"{name} 2 s", "red")) == whole_piece(f"{name} 2 s"), (
        "another piece stood over its end"
    )


@pytest.mark.parametrize(
    ("now", "wanted", "codes"),
    [
        (Ink(), Ink(), ""),
        (Ink("", "31", "44"), Ink("", "32", "44"), "\x1b[32m"),
        (Ink("", "31", "44"), Ink("", "31", "45"), "\x1b[45m"),
        (Ink("", "31", "44"), Ink("", "32", "45"), "\x1b[32;45m"),
        (Ink("", "31", "44"), Ink("1", "31", "44"), "\x1b[0;1;31;44m"),
        (Ink("1", "31", "44"), Ink("", "31", "44"), "\x1b[0;31;44m"),
        (Ink("", "31", "44"), Ink("", "", "44"), "\x1b[0;44m"),
        (Ink("", "31", "44"), Ink(), "\x1b[0m"),
        (Ink("", "31"), Ink("", "31", "", "link"), ""),
    ],
)
def test_only_the_change_of_an_ink_is_written(now: Ink, wanted: Ink, codes: str) -> None:
    assert change(now, wanted) == codes


@pytest.mark.parametrize("name", ["👩\u200d⚕\ufe0f", "e\u0301"])
def test_what_follows_joined_signs_stands_in_its_cell(name: str) -> None:
    piece = strip((f"{name} ", "red"), ("1 s", "blue"))
    found = Written().unwritten(whole([[piece], [piece], [piece]]), TRUE)
    assert found is not None
    text = found.render_segments(CONSOLE)
    for y in range(HEIGHT):
        assert f"\x1b[{y + 1};{piece.cell_length - 3 + 1}H\x1b[34m1 s" in text


def test_links_are_written_around_their_text() -> None:
    found = Written().unwritten(
        whole([[Strip([Segment("a", Style(link="https://example.org", bold=True))])]] * HEIGHT),
        TRUE,
    )
    assert found is not None
    text = found.render_segments(CONSOLE)
    assert text.count("https://example.org\x1b\\a\x1b]8;;\x1b\\") == HEIGHT
