"""A replay as a file: the frames of its screen, as an asciicast
(https://docs.asciinema.org/manual/asciicast/v3/) or as an HTML page with a player that works
offline.

The real application runs without a terminal and steps from message to message; each frame is what
it drew. Masking (`--redact`) happens before, when the recording is read, and in the application's
line filters, as on any screen.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.color_triplet import ColorTriplet
from rich.style import Style
from textual.pilot import Pilot
from textual.strip import Strip

from bioeval_tui import __version__
from bioeval_tui.evaluation.engine.attach import ReplayedRun
from bioeval_tui.evaluation.engine.interface import RunView
from bioeval_tui.record.events import MessageCompleted, RunEvent
from bioeval_tui.record.masking import masking
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.replay import Timeline, Timing
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.services import AppServices

LAST_S = 6.0
"""How long the score card is shown."""
MOST_WAITS = 200
"""Maximum number of waits for the screen to settle before a frame is taken."""

Line = tuple[tuple[str, Style], ...]


class Frame(NamedTuple):
    """The screen from `at_s` on. `marker` is the name of a position to which one can jump."""

    at_s: float
    marker: str
    lines: tuple[Line, ...]


class _Filmed(ReplayedRun):
    """A replay that jumps between positions but looks as if it were playing."""

    @property
    def paused(self) -> bool:
        """Viewers of the result see it as playing."""
        return False


class _FilmedApp(BioevalApp):
    """The application in full colour, even if the terminal in which it runs has none; without keys,
    as nobody can press them.
    """

    CSS = "KeysFooter { display: none; }"

    @property
    def few_colours(self) -> bool:
        """Independent of the terminal in which this starts."""
        return False


@dataclass(frozen=True, slots=True)
class _Stop:
    given: int
    seq: int
    at_s: float
    marker: str


async def replay_frames(
    path: Path,
    services: AppServices,
    size: tuple[int, int],
    theme: str,
    timing: Timing,
) -> list[Frame]:
    """Return the frames of a recording: one after each message, with a marker for each turn, and
    the score card at the end.

    Raises:
        RecordingError: the recording cannot be read.
    """
    events = read_recording(path).events
    shown = _Filmed(path, 1.0, timing=timing)
    shown.set_paused(True)

    async def opened() -> RunView:
        return shown

    app = _FilmedApp(services, opened, on_quit="leave", theme=theme, clock=lambda: 0.0)
    frames: list[Frame] = []
    async with app.run_test(size=size) as pilot:
        for stop in _stops(events, timing):
            await _show_stop(app, pilot, shown, stop)
            frames.append(Frame(stop.at_s, stop.marker, screen_lines(app)))
        await _settle(app, pilot)
        frames.append(Frame(frames[-1].at_s + 1.0, "score card", screen_lines(app)))
    return frames


def _stops(events: Sequence[RunEvent], timing: Timing) -> list[_Stop]:
    timeline, state = Timeline(events, timing), apply_all(RunState(), events[:1])
    times = timeline.times
    several = max((event.trial or 1 for event in events), default=1) > 1
    markers: dict[int, str] = {}
    for place in timeline.marks():
        if place.condition is None or not (named := state.condition_title(place.condition)):
            continue
        trial = f", trial {place.trial}" if several else ""
        markers[place.given] = f"{named}{trial}, turn {place.turn}"
    markers[len(events)] = "end"
    messages = {
        number + 1 for number, event in enumerate(events) if isinstance(event, MessageCompleted)
    }
    stops = sorted(messages | set(markers))
    begins = stops[0]  # an audience need not wait for the first message
    markers.setdefault(begins, "start")
    return [
        _Stop(
            given,
            events[given - 1].seq,
            times[given - 1] - times[begins - 1],
            markers.get(given, ""),
        )
        for given in stops
    ]


async def _show_stop(app: BioevalApp, pilot: Pilot[None], shown: ReplayedRun, stop: _Stop) -> None:
    for _ in range(MOST_WAITS):
        if app.has_live and app.live.conversations.frames and shown.marks:
            break
        await pilot.pause()
    shown.seek(stop.given)
    for _ in range(MOST_WAITS):
        await pilot.pause()
        if app.live.link.has_posted(stop.seq):
            break
    handled = asyncio.Event()
    app.live.call_later(handled.set)  # behind the change, in the queue of the screen
    await handled.wait()
    await _settle(app, pilot)


async def _settle(app: BioevalApp, pilot: Pilot[None]) -> None:
    """Wait until the screen is drawn; `pause` alone takes a machine that is busy elsewhere for one
    with nothing to do.
    """
    for _ in range(4):
        drawn = asyncio.Event()
        app.screen.call_after_refresh(drawn.set)
        with suppress(TimeoutError):  # another screen came on top of this one
            await asyncio.wait_for(drawn.wait(), 1.0)
        await pilot.pause()


def screen_lines(app: BioevalApp) -> tuple[Line, ...]:
    """Return the content of the screen, including dialogs: the styled pieces of text of each
    line.
    """
    compositor = app.screen._compositor
    update = compositor.render_update(
        full=True, screen_stack=app._background_screens, simplify=True
    )
    strips: list[list[Strip]] = [list(line) for line in getattr(update, "strips", ())]
    return tuple(
        tuple(
            (segment.text, segment.style or Style.null())
            for segment in chain.from_iterable(line)
            if not segment.control and segment.text
        )
        for line in strips
    )


def asciicast(frames: Sequence[Frame], size: tuple[int, int], title: str) -> str:
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
    lines.append(_event(LAST_S, "o", "\x1b[?25h"))
    return "\n".join(lines) + "\n"


def ansi(line: Line) -> str:
    """Return a line with escape sequences for its styles; texts contain none of their own."""
    return (
        "".join(style.render(text, color_system=ColorSystem.TRUECOLOR) for text, style in line)
        + "\x1b[0m"
    )


def _event(wait_s: float, code: str, data: str) -> str:
    return json.dumps([round(wait_s, 3), code, data], ensure_ascii=False)


PAGE_STYLE = """
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; }
main { width: fit-content; max-width: 100%; margin: 0 auto; padding: 20px; box-sizing: border-box; }
h1, #sentence, #sideways, #keys { width: 0; min-width: 100%; }
h1 { font-size: 17px; margin: 0; }
#sentence { margin: 4px 0 14px; font-weight: 600; }
#screen { line-height: 1.17; \
font-family: "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; \
margin: 0; overflow-x: auto; border-radius: 6px; outline: none; }
#screen div { white-space: pre; height: 1.17em; }
#screen span { display: inline-block; height: 100%; }
#bar { display: flex; flex-wrap: wrap; gap: 10px; align-items: center; margin: 12px 0; }
#place { flex: 1; min-width: 8em; }
#bar button, #bar select { font: inherit; color: inherit; \
background: color-mix(in srgb, currentColor 15%, transparent); \
border: 0; border-radius: 4px; padding: 4px 10px; }
#sideways, #keys { opacity: 0.7; font-size: 13px; }
#sideways { display: none; margin: 0 0 8px; }
@media (orientation: portrait) and (max-width: 600px) { #sideways { display: block; } }
"""
CELL = 0.603
"""Width of a character in a monospaced font, as a share of its size."""


def player(frames: Sequence[Frame], title: str, sentence: str) -> str:
    """Return the document: the frames, the player and the run's sentence."""
    environment = Environment(
        loader=PackageLoader("bioeval_tui.report.formats", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    script = environment.get_template("player.js").render()
    names: dict[Style, str] = {}
    data = json.dumps(_changes(frames, names), ensure_ascii=False, separators=(",", ":"))
    harmless = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    style = (
        PAGE_STYLE
        + _fitted(frames[0][2])
        + "".join(f".{name} {{ {_css(one)} }}\n" for one, name in names.items())
    )
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri"
        " 'none'; form-action 'none'"
    )
    return environment.get_template("player.html.jinja").render(
        policy=policy,
        title=title,
        sentence=sentence,
        program_version=__version__,
        masked=masking(),
        # Our own style and script, and JSON that cannot close its element.
        style=Markup(style),  # noqa: S704  # nosec B704
        script=Markup(script),  # noqa: S704  # nosec B704
        frames=Markup(harmless),  # noqa: S704  # nosec B704
    )


def _changes(frames: Sequence[Frame], names: dict[Style, str]) -> list[list[object]]:
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
    """Return the rules that give the page the screen's colours, and fit the screen into the
    window.
    """
    backs: Counter[ColorTriplet] = Counter()
    fronts: set[ColorTriplet] = set()
    for text, style in chain.from_iterable(lines):
        backs[_truecolor(style.bgcolor)] += len(text)
        fronts.add(_truecolor(style.color))
    back = backs.most_common(1)[0][0]
    front = max(fronts, key=lambda colour: abs(sum(colour) - sum(back)))  # the plainest to read
    columns = sum(cell_len(text) for text, _ in lines[0])
    # The whole width is always in sight. In a low window the page scrolls rather than shrink to
    # what nobody can read. 40px are the padding on both sides, 230px what is above and below the
    # screen: title, sentence, bar and keys.
    high = f"max(9px, (100vh - 230px) / {len(lines) * 1.17:.1f})"
    size = f"min(18px, (100vw - 40px) / {columns * CELL:.1f}, {high})"
    scheme = "light" if sum(back) > sum(front) else "dark"
    return (
        f"body {{ color: {front.hex}; background: {back.hex}; color-scheme: {scheme}; }}\n"
        f"#screen {{ font-size: {size}; }}\n"
    )


def _truecolor(colour: Color | None) -> ColorTriplet:
    if colour and not colour.is_default:
        return colour.get_truecolor()
    return ColorTriplet(128, 128, 128)


def _hex(colour: Color | None) -> str:
    """Return a colour as `#rrggbb`; empty for that of the page."""
    if colour is None or colour.is_default:
        return ""
    return colour.get_truecolor().hex


def _css(style: Style) -> str:
    front, back = _hex(style.color), _hex(style.bgcolor)
    if style.reverse:
        front, back = back, front
    rules = {
        f"color: {front}": front,
        f"background: {back}": back,
        "font-weight: bold": style.bold,
        "font-style: italic": style.italic,
        "text-decoration: underline": style.underline,
        "opacity: 0.6": style.dim,
    }
    return "; ".join(rule for rule, holds in rules.items() if holds)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
