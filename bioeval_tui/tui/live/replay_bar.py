"""The controls of a replay: its bar with position and turns (a click goes to a turn, as do arrows,
home and end), and the dialog for its speed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from bioeval_tui.base.units import clock
from bioeval_tui.record.turn_marks import TurnMark
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell, Tone, eighth, joined, paint
from bioeval_tui.tui.shared.dialogs import Dialog
from bioeval_tui.tui.shared.rows_widget import RowList

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.state import RunState
    from bioeval_tui.tui.live.feed import Watched
    from bioeval_tui.tui.shared.base import BaseScreen
    from bioeval_tui.tui.shared.program import Program

BEGINNING = TurnMark(None, 1, 0, 0, 0.0)
NARROW, ROOMY_WIDTH = 50, 100
"""Minimum widths for the turn, and for the condition."""
PLAYED, AHEAD, TURN_PLAYED, TURN_AHEAD, FAILED = "━", "─", "●", "○", "✗"


class _Places:
    """What is asked of all positions of a replay each time the bar is drawn, found once: a large
    recording has tens of thousands.
    """

    def __init__(self, marks: Sequence[TurnMark]) -> None:
        self.marks = marks
        self.given = [mark.given for mark in marks]
        self.turns = [mark for mark in marks if mark.condition is not None]
        self.failed = [mark for mark in self.turns if mark.failed]
        self.checked = [mark for mark in marks if mark.passed is not None]
        self.last_turns: dict[tuple[Condition | None, int], int] = {}
        """The last turn of each conversation."""
        for mark in self.turns:
            talk = (mark.condition, mark.trial)
            self.last_turns[talk] = max(mark.turn, self.last_turns.get(talk, 0))
        conditions = {condition for condition, _ in self.last_turns}
        self.has_trials = len(self.last_turns) > len(conditions)
        self._shares: tuple[int, list[float | None]] = (0, [])

    def shares(self, width: int) -> list[float | None]:
        """Return the share of assertions that held, for each cell of a bar; None without any."""
        if self._shares[0] != width:
            self._shares = width, self._found_shares(width)
        return self._shares[1]

    def _found_shares(self, width: int) -> list[float | None]:
        whole = self.marks[-1].at_s or 1.0
        shares: list[float | None] = [None] * width
        for mark, follows in zip(self.checked, [*self.checked[1:], None], strict=True):
            first = round(mark.at_s / whole * (width - 1))
            end, talk = first + 1, (mark.condition, mark.trial)
            if follows is not None and (follows.condition, follows.trial) == talk:
                end = max(end, round(follows.at_s / whole * (width - 1)))
            for x in range(first, min(width, end)):
                shares[x] = mark.passed or 0.0
        return shares


_last_places = _Places(())


def _places(marks: Sequence[TurnMark]) -> _Places:
    global _last_places
    if _last_places.marks is not marks:
        _last_places = _Places(marks)
    return _last_places


def reached_mark(marks: Sequence[TurnMark], given: int) -> int:
    """Return the index of the last position that was reached; -1 before the first."""
    return bisect_right(_places(marks).given, given) - 1


def step(marks: Sequence[TurnMark], given: int, by: int) -> TurnMark | None:
    """Return the position after the shown one (`by` above 0) or before it; None at the ends.

    In the middle of a turn, going back leads to the end of the previous turn.
    """
    at = reached_mark(marks, given)
    wanted = at
    if by > 0:
        wanted = at + 1
    elif at >= 0 and marks[at].given == given:
        wanted = at - 1
    if 0 <= wanted < len(marks):
        return marks[wanted]
    return None


def nearest(marks: Sequence[TurnMark], share: float) -> TurnMark | None:
    """Return the place nearest to a share of the recorded time."""
    if not marks:
        return None
    at_s = max(0.0, min(1.0, share)) * marks[-1].at_s
    return min(marks, key=lambda mark: abs(mark.at_s - at_s))


def label(
    marks: Sequence[TurnMark],
    given: int,
    now_s: float,
    width: int,
    state: RunState | None,
    *,
    demo: bool = False,
) -> str:
    """Return the position of the replay, in as many words as fit.

    A `demo` does not say how many turns follow.
    """
    if not marks:
        return ""
    at = reached_mark(marks, given)
    mark = marks[max(0, at)]
    # a turn's mark is at its end, and the turn may have begun
    for following in marks[at + 1 : at + 2]:
        if following.condition and _begun(state, following) >= following.turn:
            mark = following
    if mark.condition is None:
        where = "end" if at == len(marks) - 1 and at else "start"
    else:
        last = _places(marks).last_turns[mark.condition, mark.trial]
        turn = min(_begun(state, mark) or mark.turn, last)
        which = []
        if state and width >= ROOMY_WIDTH:
            which.append(state.condition_title(mark.condition))
        if _places(marks).has_trials:
            which.append(f"trial {mark.trial}")
        which.append(f"turn {turn}" if demo else f"turn {turn} of {last}")
        where = ", ".join(which)
    playing = "demo" if demo else "playback"
    time = f"{playing} {clock(now_s)} / {clock(marks[-1].at_s)}"
    if width >= NARROW:
        return f"{where}   {time}"
    return time


def _begun(state: RunState | None, mark: TurnMark) -> int:
    """Return how many turns of a position's conversation have begun, as its heading does."""
    if state is None or mark.condition is None:
        return 0
    talk = state.conversation(mark.condition, mark.trial)
    if talk is None:
        return 0
    return talk.turns


def assertions(
    marks: Sequence[TurnMark], now_s: float, width: int, height: int, *, demo: bool = False
) -> list[list[Cell]]:
    """Return the share of assertions that held over the turns as an area above the bar, `height`
    lines; empty without assertions.

    A step begins where its turn ends. Turns not yet played are dimmed; a `demo` leaves them out.
    """
    if not marks or width <= 0 or not _places(marks).checked:
        return []
    whole = marks[-1].at_s or 1.0
    now = round(min(1.0, now_s / whole) * (width - 1))
    levels: list[tuple[int, Tone]] = [(0, "quiet")] * width
    seen = now + 1 if demo else width
    for x, value in enumerate(_places(marks).shares(width)[:seen]):
        if value is not None:
            levels[x] = (max(1, round(value * height * 8)), "busy" if x <= now else "quiet")
    return [
        joined((eighth(level, row), tone) for level, tone in levels)
        for row in reversed(range(height))
    ]


def bar(
    marks: Sequence[TurnMark], given: int, now_s: float, width: int, *, demo: bool = False
) -> list[Cell]:
    """Return the bar as cells of one line, after `given` events and `now_s` recorded seconds.

    A turn is `●` once played, `○` before, `✗` where an assertion failed. A `demo` does not say
    ahead where an assertion will fail.
    """
    if width <= 0 or not marks:
        return []
    whole = marks[-1].at_s or 1.0
    now = round(min(1.0, now_s / whole) * (width - 1))
    cells: list[tuple[str, Tone]] = [
        (PLAYED, "busy") if x <= now else (AHEAD, "quiet") for x in range(width)
    ]
    turns = _places(marks).turns
    # Without a cell between the turns, the bar would be all dots: only failures are marked.
    crowded = len(turns) > width // 2
    for mark in _places(marks).failed if crowded else turns:
        x = round(mark.at_s / whole * (width - 1))
        played = mark.given <= given
        if mark.failed and (played or not demo):
            cells[x] = (FAILED, "bad" if played else "quiet")
        elif not crowded and cells[x][0] != FAILED:  # a failure in the same cell stays visible
            cells[x] = (TURN_PLAYED, "busy") if played else (TURN_AHEAD, "quiet")
    return joined(cells)


def legend(drawn: Sequence[Cell]) -> str:
    """Return what the signs in a drawn bar mean: `● turn  ○ ahead  ✗ assertion failed`."""
    signs = set("".join(cell.text for cell in drawn))
    ahead = "ahead" if TURN_PLAYED in signs else "turn"
    meanings = {TURN_PLAYED: "turn", TURN_AHEAD: ahead, FAILED: "assertion failed"}
    return "  ".join(f"{sign} {meaning}" for sign, meaning in meanings.items() if sign in signs)


SPEEDS: tuple[float, ...] = (0.5, 1, 2, 4, 8, 16, 32)
WORDS = {0.5: "half as fast", 1: "as recorded"}


class ReplayDialog(Dialog[float]):
    """The result is the chosen speed, or None if the dialog was closed."""

    NAME: ClassVar[str] = "Replay"
    ABOUT: ClassVar[str] = (
        "Replays a recording on the live screen, at the recorded speed, slower or faster."
    )
    DEFAULT_CSS = """
    ReplayDialog > .dialog--box { width: 60; }
    ReplayDialog RowList { height: 7; }
    """

    def __init__(self, job: str, speed: float) -> None:
        super().__init__(f"Replay {job}")
        self._at = SPEEDS.index(speed) if speed in SPEEDS else 1

    def compose_body(self) -> Iterable[Widget]:
        """The speeds."""
        yield RowList("~speed-rows")

    def on_mount(self) -> None:
        """Select the speed of the last time."""
        rows = self.query_one(RowList)
        rows.set_rows(len(SPEEDS), self._row)
        rows.move_to(self._at)
        rows.focus()

    def _row(self, index: int, width: int) -> Content:
        speed = SPEEDS[index]
        return paint(Cell(f"{speed:4g}×"), Cell(f"  {WORDS.get(speed, '')}", "quiet"))

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        self.dismiss(float(SPEEDS[event.index]))


ASSERTION_ROWS, ROOMY = 2, 32
"""Number of lines for the assertions, and the minimum terminal height at which they are drawn."""


class ReplayControls(Widget, can_focus=True):
    """Shows the position of a replay and changes it; posts `Moved`."""

    KEYS: ClassVar[str] = "live/replay"
    BINDINGS: ClassVar[list[BindingType]] = bindings("~bar")
    DEFAULT_CSS = """
    ReplayControls { height: 1; padding: 0 1; background: $surface; display: none; }
    ReplayControls:focus { background: $boost; }
    """

    class Moved(Message):
        """The replay's position changed, or it paused or continued.

        `mark` is the turn to show. With `back`, the run must be shown again from its start to the
        new position, because events cannot be unfolded.
        """

        def __init__(self, mark: TurnMark | None = None, *, back: bool = False) -> None:
            super().__init__()
            self.mark = mark
            self.back = back

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched
        self._shown: tuple[tuple[TurnMark, ...], int, float] = ((), 0, 0.0)

    # The bar

    def show(self) -> None:
        """Update the bar; a live run has no bar."""
        playback = self.watched.playback
        if playback is None:
            # a replay that goes back is opened anew: the bar stays
            if self.watched.link.status != "waiting":
                self.display = False
            return
        shown = (tuple(playback.marks), playback.given, round(playback.now_s, 1))
        self.display = bool(playback.marks)
        if shown != self._shown:
            grows = len(self._assertions(shown[0], 0.0, 80)) != len(
                self._assertions(self._shown[0], 0.0, 80)
            )
            self._shown = shown
            self.refresh(layout=grows)

    def render(self) -> Content:
        """Draw the bar, its position and what its signs mean, and above it how many assertions
        held.
        """
        marks, given, now_s = self._shown
        words = self._label()
        room = self._bar_width(words)
        cells = bar(marks, given, now_s, room, demo=self._demo)
        beside = ("assertions that hold", legend(cells))
        lines = [
            paint(*row, Cell(f"  {said}", "quiet")).truncate(self.size.width)
            for row, said in zip(self._assertions(marks, now_s, room), beside, strict=False)
        ]
        return Content("\n").join([*lines, paint(*cells, Cell(f"  {words}", "quiet"))])

    def _label(self) -> str:
        return label(*self._shown, self.size.width, self.watched.state, demo=self._demo)

    @property
    def _demo(self) -> bool:
        """Whether the run is told as if it were live, so that the bar gives nothing away."""
        return cast("Program", self.app).captions

    def _assertions(self, marks: Sequence[TurnMark], now_s: float, width: int) -> list[list[Cell]]:
        """Return the share of assertions that held, if there is room; a click on it also goes to
        the turn.
        """
        high = self.app.size.height >= ROOMY
        drawn = assertions(marks, now_s, width, ASSERTION_ROWS, demo=self._demo)
        if high:
            return drawn
        return []

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One line, and those of the assertions."""
        return 1 + len(self._assertions(self._shown[0], 0.0, max(1, width - 1)))

    def _bar_width(self, words: str) -> int:
        return max(0, self.size.width - len(words) - 2)

    def on_click(self, event: events.Click) -> None:
        """Go to the turn nearest to the pointer."""
        marks, width = self._shown[0], self._bar_width(self._label())
        x = event.x - self.gutter.left
        if width > 1 and x < width and (mark := nearest(marks, x / (width - 1))) is not None:
            self.seek(mark)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide actions that a live run, or the position of a replay, does not allow."""
        playback, state = self.watched.playback, self.watched.state
        if playback is None:
            return False
        if (whole := self.watched.link.whole) is not None:  # it has no places yet to go to
            ended = state is not None and state.ended is not None
            return action == "play" and ended and whole.has_times
        match action:
            case "turn":
                by = cast("int", parameters[0])
                return step(playback.marks, playback.heading, by) is not None
            case "edge":
                return bool(playback.marks)
            case "play_back":
                return state is None or any(
                    conversation.messages for conversation in state.conversations.values()
                )
            case "play" if state is not None and state.ended is not None:
                return True
            case _ if state is not None and state.ended is not None:
                return False
            case "hold" | "play":
                return playback.paused == (action == "play")
        return True

    def seek(self, mark: TurnMark) -> None:
        """Show the run as it was at a turn, and pause there."""
        if self.watched.playback is not None:
            back = not self.watched.playback.seek(mark.given)
            self.post_message(self.Moved(mark, back=back))

    def action_turn(self, by: int) -> None:
        """Go to the previous or next turn."""
        playback = self.watched.playback
        if playback is not None:
            # Relative to the last requested position, which it may not have reached yet.
            mark = step(playback.marks, playback.heading, by)
            if mark is not None:
                self.seek(mark)

    def action_edge(self, place: int) -> None:
        """Go to the beginning (0) or the end (-1)."""
        playback = self.watched.playback
        if playback is not None and playback.marks:
            self.seek(playback.marks[place])

    def action_hold(self) -> None:
        """Pause."""
        self._set_paused(True)

    def action_play(self) -> None:
        """Continue; at the end, play once more from the beginning."""
        playback, state = self.watched.playback, self.watched.state
        if playback is not None and state is not None and state.ended is not None:
            playback.speed = playback.speed or 1.0
            self.seek(playback.marks[0] if playback.marks else BEGINNING)
            playback.set_paused(False)
            return
        self._set_paused(False)

    def _set_paused(self, paused: bool) -> None:
        if self.watched.playback is not None:
            self.watched.playback.set_paused(paused)
            self.post_message(self.Moved())

    def action_play_step(self) -> None:
        """Play one message."""
        if self.watched.playback is not None and not self.watched.playback.step():
            key = cast("BaseScreen", self.screen).key("play")
            self._tell(f"No more messages; {key} plays to the end.")
        self.post_message(self.Moved())

    def action_play_back(self) -> None:
        """Go one message back."""
        if self.watched.playback is not None:
            self.post_message(self.Moved(back=not self.watched.playback.begin_before_last()))

    def action_next_failure(self) -> None:
        """Play to the next assertion that fails."""
        if self.watched.playback is not None and not self.watched.playback.play_to_failure():
            self._tell("No more failed assertions.")
        self.post_message(self.Moved())

    def action_speed(self, by: int) -> None:
        """Play faster or slower."""
        playback = self.watched.playback
        if playback is not None:
            now = playback.speed or SPEEDS[-1]
            at = min(range(len(SPEEDS)), key=lambda index: abs(SPEEDS[index] - now))
            playback.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, at + by))]
            self._tell(f"{playback.speed:g}× the recorded speed")
            self.post_message(self.Moved())

    def _tell(self, sentence: str) -> None:
        self.app.notify(sentence, markup=False)
