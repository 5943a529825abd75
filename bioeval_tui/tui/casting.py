"""The frames of a replay, from which asciicasts and the HTML player are made.

The real application runs without a terminal and steps from message to message; each frame is what it drew. Masking
(`--redact`) happens before, when the recording is read, and in the application's line filters, as on any screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.style import Style
from textual.pilot import Pilot
from textual.strip import Strip

from bioeval_tui.evaluation.engine.attach import ReplayedRun
from bioeval_tui.evaluation.engine.run_view import RunView
from bioeval_tui.record.events import MessageCompleted, RunEvent
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.replay import Timeline, Timing, reading_times
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.services import AppServices

LAST_S = 6.0
"""How long the score card is shown."""
MOST_WAITS = 200
"""Maximum number of waits for the screen to settle before a frame is taken."""

Piece = tuple[str, Style]


@dataclass(frozen=True, slots=True)
class Frame:
    """The screen from `at_s` on. `marker` is the name of a position to which one can jump."""

    at_s: float
    marker: str
    lines: tuple[tuple[Piece, ...], ...]


class _Filmed(ReplayedRun):
    """A replay that jumps between positions but looks as if it were playing."""

    @property
    def paused(self) -> bool:
        """Viewers of the result see it as playing."""
        return False


class _FilmedApp(BioevalApp):
    """The application in full colour, even if the terminal in which it runs has none; without keys, as nobody can press them."""

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
    path: Path, services: AppServices, size: tuple[int, int], theme: str, timing: Timing = reading_times
) -> list[Frame]:
    """Return the frames of a recording: one after each message, with a marker for each turn, and the score card at the end.

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
            await _go_to(app, pilot, shown, stop)
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
        trial = f", trial {place.trial}" if several else ""
        named = "" if place.condition is None else state.condition_name(place.condition)
        if named:
            markers[place.given] = f"{named}{trial}, turn {place.turn}"
    markers[len(events)] = "end"
    messages = {number + 1 for number, event in enumerate(events) if isinstance(event, MessageCompleted)}
    stops = sorted(messages | set(markers))
    begins = stops[0]  # an audience need not wait for the first message
    markers.setdefault(begins, "start")
    return [
        _Stop(given, events[given - 1].seq, times[given - 1] - times[begins - 1], markers.get(given, ""))
        for given in stops
    ]


async def _go_to(app: BioevalApp, pilot: Pilot[None], shown: ReplayedRun, stop: _Stop) -> None:
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
    """Wait until the screen is drawn; `pause` alone takes a machine that is busy elsewhere for one with nothing to do."""
    for _ in range(4):
        drawn = asyncio.Event()
        app.screen.call_after_refresh(drawn.set)
        with suppress(TimeoutError):  # another screen came on top of this one
            await asyncio.wait_for(drawn.wait(), 1.0)
        await pilot.pause()


def screen_lines(app: BioevalApp) -> tuple[tuple[Piece, ...], ...]:
    """Return the content of the screen, including dialogs: the styled pieces of text of each line."""
    compositor = app.screen._compositor
    update = compositor.render_update(full=True, screen_stack=app._background_screens, simplify=True)
    strips: list[list[Strip]] = [list(line) for line in getattr(update, "strips", ())]
    return tuple(
        tuple(
            (segment.text, segment.style or Style.null())
            for strip in line
            for segment in strip
            if not segment.control and segment.text
        )
        for line in strips
    )
