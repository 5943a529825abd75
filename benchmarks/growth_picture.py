"""Draws what `growth.py` measured: one small picture for each kind of work, both axes logarithmic,
as one SVG file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

COLUMNS = 3
PANEL = (320, 230)
PLOT = (62, 46, 240, 132)
"""Left, top, width and height of the plot in its panel."""
HEAD = 58

STYLE = """
  .back { fill: #ffffff } .title { fill: #1f2328; font-weight: 600 } .words { fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .linear { stroke: #818b98; stroke-width: 1.5; stroke-dasharray: 5 4 }
  .line { stroke: #0969da; stroke-width: 2.5; fill: none }
  .dot { fill: #0969da } .value { fill: #0550ae }
  text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .title { fill: #f0f6fc } .words { fill: #9198a1 }
    .grid { stroke: #3d444d } .linear { stroke: #9198a1 } .line { stroke: #4493f8 }
    .dot { fill: #4493f8 } .value { fill: #79c0ff }
  }
"""


class Panel(NamedTuple):
    """One kind of work: its title, what there is more of, the sizes, the seconds, and whether none
    may be added.
    """

    title: str
    of: str
    sizes: Sequence[int]
    costs: Sequence[float]
    flat: bool = False


def draw(panels: Sequence[Panel], values: Sequence[Sequence[str]]) -> str:
    """Return the picture; `values` are the seconds in words, one for each point."""
    width = COLUMNS * PANEL[0]
    height = HEAD + -(-len(panels) // COLUMNS) * PANEL[1]
    body = [
        _text(20, 26, "What work costs as it grows ×10 and ×100", "title", size=16),
        '<line class="linear" x1="20" y1="42" x2="52" y2="42"/>',
        _text(60, 46, "as much again for each more (for a stream: no more)", "words"),
        (
            '<line class="line" x1="400" y1="42" x2="432" y2="42"/><circle class="dot" cx="416"'
            ' cy="42" r="4"/>'
        ),
        _text(440, 46, "measured, medians of runs; both axes logarithmic", "words"),
    ]
    for number, (panel, words) in enumerate(zip(panels, values, strict=True)):
        row, column = divmod(number, COLUMNS)
        body.append(f'<g transform="translate({column * PANEL[0]} {HEAD + row * PANEL[1]})">')
        body += _panel(panel, words)
        body.append("</g>")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="What work costs as it grows">\n<style>{STYLE}</style>\n'
        f'<rect class="back" width="{width}" height="{height}"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _panel(panel: Panel, values: Sequence[str]) -> list[str]:
    left, top, width, height = PLOT
    reference = [
        panel.costs[1] * (1 if panel.flat else size / panel.sizes[1]) for size in panel.sizes
    ]
    # A factor of ten is as long on both axes wherever that leaves room: then linear is the
    # diagonal.
    shown = [*panel.costs, *([] if panel.flat else [reference[-1]])]
    low, high = math.floor(math.log10(min(shown)) - 0.1), math.ceil(math.log10(max(shown)) + 0.1)
    begin, end = math.log10(panel.sizes[0]) - 0.2, math.log10(panel.sizes[-1]) + 0.2

    def at(size: float, cost: float) -> tuple[float, float]:
        x = left + (math.log10(size) - begin) / (end - begin) * width
        y = top + height - (math.log10(cost) - low) / (high - low) * height
        return x, y

    body = [_text(16, 24, panel.title, "title", size=13)]
    for power in range(low, high + 1):
        y = at(panel.sizes[0], 10**power)[1]
        body.append(
            f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}"/>'
        )
        body.append(_text(left - 8, y + 4, _tick(power), "words", "end"))
    points = [at(size, cost) for size, cost in zip(panel.sizes, panel.costs, strict=True)]
    dashes = [
        at(size, cost) for size, cost in zip(panel.sizes, reference, strict=True) if cost >= 10**low
    ]
    (x1, y1), (x2, y2) = dashes[0], dashes[-1]
    body.append(f'<line class="linear" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    body.append(
        f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
    )
    for (x, y), size, value in zip(points, panel.sizes, values, strict=True):
        body.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
        # A line that rises leaves room above on its left.
        first = size == panel.sizes[0]
        body.append(
            _text(x - 6, y - (16 if first else 9), value, "value", "start" if first else "end")
        )
        body.append(_text(x, top + height + 18, f"{size:,}", "words", "middle"))
    body.append(_text(left + width / 2, top + height + 36, panel.of, "words", "middle"))
    return body


def _tick(power: int) -> str:
    if power >= 0:
        return f"{10**power} s"
    return f"{10 ** (power + 3)} ms" if power >= -3 else f"{10 ** (power + 6)} µs"


def _text(
    x: float, y: float, words: str, kind: str, anchor: str = "start", *, size: int = 0
) -> str:
    font = f' style="font-size:{size}px"' if size else ""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{font}>{words}</text>'
    )
