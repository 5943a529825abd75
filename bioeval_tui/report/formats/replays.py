"""Frames of a screen as a file: an asciicast (https://docs.asciinema.org/manual/asciicast/v3/), or an HTML page
with a player that works offline."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.color_triplet import ColorTriplet
from rich.style import Style

from bioeval_tui import __version__
from bioeval_tui.record.masking import masking

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
    changes: list[list[object]] = []
    shown: tuple[Line, ...] = ()
    for at_s, marker, lines in frames:
        changed = [
            [row, [[names.setdefault(style, f"s{len(names)}"), text] for text, style in line]]
            for row, line in enumerate(lines)
            if row >= len(shown) or shown[row] != line
        ]
        changes.append([round(at_s, 2), marker, changed])
        shown = lines
    return changes


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
