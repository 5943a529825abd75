"""Frames of a screen as a file: an asciicast (https://docs.asciinema.org/manual/asciicast/v3/), an HTML page
with a player that works offline, a GIF or an MP4."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.color_triplet import ColorTriplet
from rich.style import Style

from bioeval_tui import __version__
from bioeval_tui.errors import UsageError
from bioeval_tui.record.masking.current import masking
from bioeval_tui.report.files import write_private
from bioeval_tui.text import clean_line

Line = tuple[tuple[str, Style], ...]
TimedFrame = tuple[float, str, tuple[Line, ...]]
"""When it begins, in s; the name of its marker, or nothing; its lines."""


def asciicast(frames: Sequence[TimedFrame], size: tuple[int, int], title: str, ends_after_s: float) -> str:
    """Return the recording. A marker follows its frame: jumping to it shows that frame."""
    header = {
        "version": 3,
        "term": {"cols": size[0], "rows": size[1], "type": "xterm-256color"},
        "title": title,
    }
    lines, now = [json.dumps(header, ensure_ascii=False)], 0.0
    shown: tuple[Line, ...] = ()
    for at_s, marker, frame in frames:
        wait, now = max(0.0, at_s - now), max(now, at_s)
        drawn = "".join(
            f"\x1b[{row};1H{ansi(line)}"
            for row, line in enumerate(frame, start=1)
            if row > len(shown) or shown[row - 1] != line
        )
        if not shown:
            drawn = f"\x1b[?25l\x1b[2J{drawn}"
        lines.append(_event(wait, "o", drawn))
        if marker:
            lines.append(_event(0.0, "m", marker))
        shown = frame
    lines.append(_event(ends_after_s, "o", "\x1b[?25h"))
    return "\n".join(lines) + "\n"


def ansi(line: Line) -> str:
    """Return a line with escape sequences for its styles; texts contain none of their own."""
    return "".join(style.render(text, color_system=ColorSystem.TRUECOLOR) for text, style in line) + "\x1b[0m"


def _event(wait_s: float, code: str, data: str) -> str:
    return json.dumps([round(wait_s, 3), code, data], ensure_ascii=False)


PAGE_STYLE = """
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; }
main { width: fit-content; max-width: 100%; margin: 0 auto; padding: 20px; box-sizing: border-box; }
h1, #sentence, #sideways, #keys { width: 0; min-width: 100%; }
h1 { font-size: 17px; margin: 0; }
#sentence { margin: 4px 0 14px; font-weight: 600; }
#screen { line-height: 1.17; font-family: "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; margin: 0; overflow-x: auto; border-radius: 6px; outline: none; }
#screen div { white-space: pre; height: 1.17em; }
#screen span { display: inline-block; height: 100%; }
#bar { display: flex; flex-wrap: wrap; gap: 10px; align-items: center; margin: 12px 0; }
#place { flex: 1; min-width: 8em; }
#bar button, #bar select { font: inherit; color: inherit; background: color-mix(in srgb, currentColor 15%, transparent); border: 0; border-radius: 4px; padding: 4px 10px; }
#sideways, #keys { opacity: 0.7; font-size: 13px; }
#sideways { display: none; margin: 0 0 8px; }
@media (orientation: portrait) and (max-width: 600px) { #sideways { display: block; } }
"""
CELL = 0.603
"""Width of a character in a monospaced font, as a share of its size."""


def player(frames: Sequence[TimedFrame], title: str, sentence: str) -> str:
    """Return the document: the frames, the player and the run's sentence."""
    environment = Environment(
        loader=PackageLoader("bioeval_tui.report.formats", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    script = environment.get_template("player.js").render()
    names: dict[Style, str] = {}
    data = json.dumps(_changes(frames, names), ensure_ascii=False, separators=(",", ":"))
    style = (
        PAGE_STYLE
        + _fitted(frames[0][2])
        + "".join(f".{name} {{ {_css(one)} }}\n" for one, name in names.items())
    )
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    return environment.get_template("player.html.jinja").render(
        policy=policy,
        title=title,
        sentence=sentence,
        program_version=__version__,
        masked=masking(),
        # Our own script, and JSON that cannot close its element.
        style=Markup(style),  # noqa: S704  # nosec B704
        script=Markup(script),  # noqa: S704  # nosec B704
        frames=Markup(data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")),  # noqa: S704  # nosec B704
    )


def _changes(frames: Sequence[TimedFrame], names: dict[Style, str]) -> list[list[object]]:
    found: list[list[object]] = []
    shown: tuple[Line, ...] = ()
    for at_s, marker, lines in frames:
        changed = [
            [row, [[names.setdefault(style, f"s{len(names)}"), text] for text, style in line]]
            for row, line in enumerate(lines)
            if row >= len(shown) or shown[row] != line
        ]
        found.append([round(at_s, 2), marker, changed])
        shown = lines
    return found


def _fitted(lines: Sequence[Line]) -> str:
    """Return the rules that give the page the screen's colours, and fit the screen into the window."""
    backs: Counter[ColorTriplet] = Counter()
    fronts: set[ColorTriplet] = set()
    for text, style in chain.from_iterable(lines):
        backs[_truecolor(style.bgcolor)] += len(text)
        fronts.add(_truecolor(style.color))
    back = backs.most_common(1)[0][0]
    front = max(fronts, key=lambda colour: abs(sum(colour) - sum(back)))  # the plainest to read
    columns = sum(cell_len(text) for text, _ in lines[0])
    # The whole width is always in sight. In a low window the page scrolls rather than shrink to what nobody can read.
    high = f"max(9px, (100vh - 230px) / {len(lines) * 1.17:.1f})"
    size = f"min(18px, (100vw - 40px) / {columns * CELL:.1f}, {high})"
    scheme = "light" if sum(back) > sum(front) else "dark"
    return (
        f"body {{ color: {front.hex}; background: {back.hex}; color-scheme: {scheme}; }}\n"
        f"#screen {{ font-size: {size}; }}\n"
    )


def _truecolor(colour: Color | None) -> ColorTriplet:
    return colour.get_truecolor() if colour and not colour.is_default else ColorTriplet(128, 128, 128)


def _css(style: Style) -> str:
    front = style.color.get_truecolor().hex if style.color and not style.color.is_default else ""
    back = style.bgcolor.get_truecolor().hex if style.bgcolor and not style.bgcolor.is_default else ""
    if style.reverse:
        front, back = back, front
    rules = [f"color: {front}" if front else "", f"background: {back}" if back else ""]
    rules += ["font-weight: bold" if style.bold else "", "font-style: italic" if style.italic else ""]
    rules += ["text-decoration: underline" if style.underline else "", "opacity: 0.6" if style.dim else ""]
    return "; ".join(filter(None, rules))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


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
