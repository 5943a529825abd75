"""Compare a screen with its snapshot, by lines of text and their colours.

The files in tests/snapshots hold what an SVG screenshot is made of, in a form whose differences can
be read. `UPDATE_SNAPSHOTS=1 pytest tests/tui/test_snapshots.py` writes them anew; look at the
pictures first.
"""

from __future__ import annotations

import os
import re
from difflib import unified_diff
from html import unescape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "snapshots"
_TEXT = re.compile(r'<text class="[^"]*-(r\d+)" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>')
_RULE = re.compile(r"\.[\w-]+-(r\d+) \{ ([^}]*) \}")
_RECT = re.compile(r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"')


def readable(svg: str) -> str:
    """Return every piece of text with its place and style, and every background, one a line, in
    order.
    """
    styles = dict(_RULE.findall(svg))
    lines = [
        f"{float(y):8.1f} {float(x):8.1f}  {unescape(text).replace(chr(0xA0), ' ').rstrip()} "
        f" {{{styles[name]}}}"
        for name, x, y, text in _TEXT.findall(svg)
        if unescape(text).strip(" \xa0")
    ]
    lines += [
        f"{float(y):8.1f} {float(x):8.1f}  background {fill} {float(width):.1f}"
        for fill, x, y, width in _RECT.findall(svg)
    ]
    return "\n".join(sorted(lines)) + "\n"


def same_as_snapshot(svg: str, name: str) -> str:
    """Return how the picture differs from the one kept under `name`; nothing when it does not."""
    path = FOLDER / f"{name}.txt"
    found = readable(svg)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(unified_diff(kept, found.splitlines(), "kept", "now", lineterm="", n=0))
