"""Frames of a screen as an asciicast, version 3: https://docs.asciinema.org/manual/asciicast/v3/

The first line is a header, every other one an event: seconds since the previous event, a code, and its data. Only lines
that changed are written again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.color import ColorSystem
from rich.style import Style

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
