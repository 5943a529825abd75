"""Frames of a screen as one HTML file with a player that works offline in any browser.

The script builds the screen from text alone (`textContent`); a Content-Security-Policy allows it and the stylesheet by
their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.style import Style

from bioeval_tui import __version__
from bioeval_tui.record.masking.current import masking
from bioeval_tui.report.formats.asciicast import Line, TimedFrame

PAGE_STYLE = """
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; background: #15171e; color: #d5d9e6; }
main { width: max-content; max-width: 100%; margin: 0 auto; padding: 20px; box-sizing: border-box; }
h1 { font-size: 17px; margin: 0; }
#sentence { margin: 4px 0 14px; max-width: 60em; font-weight: 600; }
#screen { font: 14px/1.25 "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; margin: 0; overflow-x: auto; border-radius: 6px; outline: none; }
#screen div { white-space: pre; height: 1.25em; }
#bar { display: flex; gap: 10px; align-items: center; margin: 12px 0; }
#place { flex: 1; }
#bar button, #bar select { font: inherit; color: inherit; background: #2f3544; border: 0; border-radius: 4px; padding: 4px 10px; }
#time { font-variant-numeric: tabular-nums; }
#keys { color: #8a91a5; font-size: 13px; }
"""


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
    style = PAGE_STYLE + "".join(f".{name} {{ {_css(one)} }}\n" for one, name in names.items())
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
