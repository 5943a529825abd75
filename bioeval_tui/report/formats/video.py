"""Frames of a screen as a GIF or an MP4, made with the user's ffmpeg.

ffmpeg draws each character once, in a font of the machine; the frames are put together from these here, cell by cell, so that
columns stay columns whatever the font, and ffmpeg makes the film of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from rich.cells import cell_len
from rich.style import Style

from bioeval_tui.errors import UsageError
from bioeval_tui.report.files import write_private
from bioeval_tui.report.formats.asciicast import Line, TimedFrame
from bioeval_tui.text import clean_line

Kind = Literal["gif", "mp4"]
FONTS = {"darwin": "Menlo", "win32": "Consolas"}
FONT_PX, CANVAS = 22, 80
"""The height of a line, and the side of the square on which a character is drawn, from `MARGIN` on."""
MARGIN = 20
FULL_BLOCK = "█"
"""Fills its cell: where it ends, the cell does."""
FRONT, BACK = (213, 217, 230), (21, 23, 30)
"""Where a style names no colour."""
_FILM: dict[Kind, str] = {
    "gif": "split[a][b];[a]palettegen=stats_mode=diff[p];[b][p]paletteuse=dither=none:diff_mode=rectangle",
    "mp4": "fps=10,pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p",
}
_ESCAPED = {"{": r"\{", "}": r"\}", "\\": "\\\u200b"}
_SCRIPT = """[Script Info]
ScriptType: v4.00+
PlayResX: {canvas}
PlayResY: {canvas}
WrapStyle: 2
[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, OutlineColour, BackColour, Bold, Italic, BorderStyle, Outline, Shadow, Alignment
Style: D,{font},{size},&H00FFFFFF,&H00000000,&H00000000,0,0,1,0,0,7
[Events]
Format: Layer, Start, End, Style, Text
{events}
"""
Colour = tuple[int, int, int]
Rows = list[bytes]
"""A picture as its lines of pixels."""


class Glyph(NamedTuple):
    """A character in one of the font's cuts."""

    text: str
    bold: bool = False
    italic: bool = False


class Alphabet(NamedTuple):
    """Every glyph as lines of shades from 0 to 255, and a cell's size in pixels."""

    width: int
    height: int
    shades: dict[Glyph, Rows]


def require_ffmpeg() -> str:
    """Return the path of ffmpeg.

    Raises:
        UsageError: it is not installed.
    """
    found = shutil.which("ffmpeg")
    if found is None:
        raise UsageError(
            "--gif and --mp4 need ffmpeg, which is not installed; --html and --cast don't need it"
        )
    return found


def write_video(path: Path, kind: Kind, frames: Sequence[TimedFrame], ends_after_s: float) -> None:
    """Write the frames as a film.

    Raises:
        UsageError: ffmpeg is missing, lacks libass, or fails.
        StorageError: the file cannot be written.
    """
    ffmpeg = require_ffmpeg()
    wanted = {glyph for _, _, lines in frames for line in lines for glyph, _ in _cells(line)}
    with tempfile.TemporaryDirectory(prefix="bioeval-video-") as name:
        folder = Path(name)
        alphabet = _alphabet(ffmpeg, sorted(wanted), folder)
        drawn = _Frames(alphabet)
        ends = [*(at_s for at_s, _, _ in frames[1:]), frames[-1][0] + ends_after_s]
        entries = []
        for number, ((at_s, _, lines), end) in enumerate(zip(frames, ends, strict=True)):
            (folder / f"{number}.ppm").write_bytes(drawn.picture(lines))
            entries.append(f"file {number}.ppm\nduration {max(0.04, end - at_s):.3f}\n")
        # The last picture is named twice: ffmpeg takes a duration as the time until the next one.
        (folder / "frames.txt").write_text("".join([*entries, f"file {len(frames) - 1}.ppm\n"]), "utf-8")
        film = folder / f"film.{kind}"
        _run(
            [ffmpeg, "-f", "concat", "-i", "frames.txt", "-vf", _FILM[kind], "-fps_mode", "vfr", film.name],
            folder,
        )
        write_private(path, film.read_bytes())


def _run(command: Sequence[str], folder: Path) -> bytes:
    quiet = [command[0], "-hide_banner", "-loglevel", "error", "-nostdin", "-y", *command[1:]]
    done = subprocess.run(quiet, cwd=folder, capture_output=True, check=False)  # noqa: S603 - the user's own ffmpeg
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip() or "no reason given"
        why = clean_line(said.splitlines()[-1], 300)
        raise UsageError(f"ffmpeg could not make the video ({why}); it needs libass, and libx264 for MP4")
    return done.stdout


def _cells(line: Line) -> Iterable[tuple[Glyph, Style]]:
    """Yield the text of each cell; a wide character is followed by an empty cell, and one without width is skipped."""
    for text, style in line:
        for character in text:
            width = cell_len(character)
            if width:
                yield Glyph(character, bool(style.bold), bool(style.italic)), style
            for _ in range(width - 1):
                yield Glyph(" "), style


def _alphabet(ffmpeg: str, glyphs: Sequence[Glyph], folder: Path) -> Alphabet:
    """Draw each glyph once: a film that shows each for a second, on a black square."""
    drawn = [Glyph(FULL_BLOCK), *glyphs]
    events = "\n".join(
        f"Dialogue: 0,{_clock(second)},{_clock(second + 1)},D,"
        f"{{\\pos({MARGIN},{MARGIN})\\b{glyph.bold:d}\\i{glyph.italic:d}}}{_ESCAPED.get(glyph.text, glyph.text)}"
        for second, glyph in enumerate(drawn)
    )
    font = FONTS.get(sys.platform, "monospace")
    script = _SCRIPT.format(canvas=CANVAS, font=font, size=FONT_PX, events=events)
    (folder / "glyphs.ass").write_text(script, encoding="utf-8")
    source = f"color=c=black:s={CANVAS}x{CANVAS}:r=1:d={len(drawn)}"
    pixels = _run(
        [
            ffmpeg,
            "-f",
            "lavfi",
            "-i",
            source,
            "-vf",
            "format=rgb24,ass=glyphs.ass,format=gray",
            "-f",
            "rawvideo",
            "-",
        ],
        folder,
    )
    squares = [pixels[at : at + CANVAS**2] for at in range(0, len(pixels), CANVAS**2)]
    block = [squares[0][y * CANVAS : (y + 1) * CANVAS] for y in range(CANVAS)]
    width = max((sum(shade > 127 for shade in row) for row in block), default=0)
    height = sum(any(shade > 127 for shade in row) for row in block)
    if not width or not height or len(squares) < len(drawn):
        raise UsageError(f"ffmpeg could not draw the font {font}: is a monospaced font installed?")
    rows = range(MARGIN, MARGIN + height)
    shades = {
        glyph: [square[y * CANVAS + MARGIN : y * CANVAS + MARGIN + width] for y in rows]
        for glyph, square in zip(drawn, squares, strict=False)
    }
    return Alphabet(width, height, shades)


def _clock(second: int) -> str:
    return f"{second // 3600}:{second // 60 % 60:02}:{second % 60:02}.00"


class _Frames:
    """Puts frames together; a glyph in its two colours, and a line, are drawn once."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self._cells: dict[tuple[Glyph, Colour, Colour], Rows] = {}
        self._lines: dict[Line, bytes] = {}

    def picture(self, lines: Sequence[Line]) -> bytes:
        """Return a frame as a PPM file."""
        body = b"".join(self._line(line) for line in lines)
        columns = len(body) // (3 * self._alphabet.height * len(lines))
        return f"P6 {columns} {self._alphabet.height * len(lines)} 255\n".encode() + body

    def _line(self, line: Line) -> bytes:
        drawn = self._lines.get(line)
        if drawn is None:
            cells = [self._cell(glyph, *_colours(style)) for glyph, style in _cells(line)]
            rows = (b"".join(cell[y] for cell in cells) for y in range(self._alphabet.height))
            drawn = self._lines[line] = b"".join(rows)
        return drawn

    def _cell(self, glyph: Glyph, front: Colour, back: Colour) -> Rows:
        key = (glyph, front, back)
        cell = self._cells.get(key)
        if cell is None:
            mixed = [
                bytes((b * (255 - shade) + f * shade) // 255 for f, b in zip(front, back, strict=True))
                for shade in range(256)
            ]
            shades = self._alphabet.shades[glyph]
            cell = self._cells[key] = [b"".join(mixed[shade] for shade in row) for row in shades]
        return cell


def _colours(style: Style) -> tuple[Colour, Colour]:
    """Return the colours of text and background."""
    front = _triplet(style.color.get_truecolor()) if style.color and not style.color.is_default else FRONT
    back = _triplet(style.bgcolor.get_truecolor()) if style.bgcolor and not style.bgcolor.is_default else BACK
    if style.reverse:
        front, back = back, front
    if style.dim:
        front = _triplet((f + b) // 2 for f, b in zip(front, back, strict=True))
    return front, back


def _triplet(values: Iterable[int]) -> Colour:
    red, green, blue = values
    return red, green, blue
