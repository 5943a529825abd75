"""The side panel of a presentation: scores in large digits, and response times."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Digits, Static

from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report import rows
from bioeval_tui.report.brief import brief_of
from bioeval_tui.tui.live import heads_view, panels
from bioeval_tui.tui.live.panels import wrapped_row
from bioeval_tui.tui.shared import bars_view
from bioeval_tui.tui.shared.brief_view import facts_lines
from bioeval_tui.tui.shared.cells_view import Cell, score_tone
from bioeval_tui.tui.shared.rows_widget import hanging
from bioeval_tui.tui.shared.tones import left, paint, right
from bioeval_tui.units import latency_short, number

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import RunState
    from bioeval_tui.tui.live.feed import Watched
    from bioeval_tui.tui.shared.program import Program

STAGE_CSS = """
LiveScreen.-presenting {
    & PanelDeck, &.-narrow.-running #tabs, & #banner { display: none; }
    &.-running PanelDeck { display: none; }
    & Stage { display: block; }
    & ConversationFrame { display: none; padding: 1 2; border: none; }
    & ConversationFrame.-active { display: block; border: none; }
    &.-wide { layout: horizontal; }
    &.-wide Conversations { width: 1fr; }
    &.-wide #frames { padding: 1 3; }
    &.-wide Stage { width: 48; height: 1fr; padding: 2 4; border-left: solid $line; }
    &.-wide ReplayControls { dock: bottom; margin-bottom: 1; }
    &.-narrow Stage { height: auto; padding: 0 2; border-top: solid $line; }
    &.-narrow Talk { padding: 1 2 0 2; }
    &.-narrow #stage-assertions { display: none; }
    &.-narrow StageChart { display: none; }
}
"""
"""The live screen while it presents."""


MOST_ASSERTIONS, STAGE_WIDTH = 8, 39


class StageScore(Vertical):
    """One condition's score in large figures."""

    DEFAULT_CSS = """
    StageScore {
        height: auto; width: 1fr;
        & > Digits { width: auto; height: 3; text-style: bold; }
        & > StageLine { height: 1; }
        &.-active > Digits { color: $text-accent; }
        &.-good > Digits { color: $text-success; }
        &.-warn > Digits { color: $text-warning; }
        &.-bad > Digits { color: $text-error; }
    }
    """

    def __init__(self, condition: Condition) -> None:
        super().__init__(id=f"stage-{condition}")
        self.condition = condition
        self._title, self._digits, self._note = StageLine(), Digits(""), StageLine()

    def compose(self) -> ComposeResult:
        """The condition, its score, and its state."""
        yield self._title
        yield self._digits
        yield self._note

    def show(self, state: RunState, trial: int, active: bool) -> None:
        """Draw from the run."""
        conversation = state.conversation(self.condition, trial)
        scored = conversation is not None and conversation.score is not None
        value = (
            conversation.score.score if conversation is not None and conversation.score is not None else None
        )
        mark = "▌" if active else " "
        self.set_class(active, "-active")
        for tone in ("good", "warn", "bad"):
            self.set_class(score_tone(value) == tone, f"-{tone}")
        self._title.say(
            Cell(f"{mark}{state.condition_title(self.condition)}", "strong" if active else "quiet")
        )
        self._digits.update("-" if value is None else number(value))
        so_far = heads_view.score_cell(conversation) if conversation is not None else Cell("–")
        self._note.say(Cell(f" {'score' if scored else so_far.text}", "quiet"))


class StageLine(Widget):
    """One line of text."""

    def __init__(self) -> None:
        super().__init__()
        self._cell = Cell("")

    def say(self, cell: Cell) -> None:
        """Show it."""
        if cell != self._cell:
            self._cell = cell
            self.refresh()

    def render(self) -> Content:
        """Draw the line."""
        return left(self._cell, self.size.width)


class StageChart(Widget):
    """The response times of one conversation, a bar a turn, the newest ones where there is no room for all."""

    DEFAULT_CSS = """
    StageChart { height: 1fr; padding-top: 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[int, bars_view.Bar]] = []
        self._target = 0.0

    def show(self, state: RunState, trial: int, condition: Condition, now: datetime | None) -> None:
        """Draw from the run."""
        turns = panels.latency_rows(state, trial, now)
        shown = [(row.turn, row.bars[condition]) for row in turns if condition in row.bars]
        target = rows.target_ms(state)
        if (shown, target) != (self._rows, self._target):
            self._rows, self._target = shown, target
            self.refresh()

    def render(self) -> Content:
        """Draw a heading and the bars, with empty lines between them where there is room."""
        width, height = self.size
        goal = f"   {bars_view.TARGET} target {latency_short(self._target)}" if self._target else ""
        lines = [paint(Cell("response time by turn", "plain"), Cell(goal, "quiet"))]
        roomy = height >= 2 * len(self._rows) + 1
        rows = self._rows[-max(0, height - 1) :] if height > 1 else []
        scale = bars_view.scale_of([bar for _, bar in self._rows], self._target)
        for turn, bar in rows:
            if roomy:
                lines.append(Content(""))
            drawn = bars_view.latency_bar(bar, scale, self._target, width - 12)
            time = right(Cell(latency_short(bar.ms), "quiet" if bar.running else "plain"), 7)
            lines.append(Content.assemble(right(Cell(str(turn), "quiet"), 3), " ", paint(*drawn), " ", time))
        return Content("\n").join(lines)


def _checks(state: RunState, trial: int, width: int) -> Content:
    """Return the brief, then a line for each task and each of the first assertions, with its mark in each condition."""
    names = [state.condition_name(condition) for condition in heads_view.conditions(state)]
    columns = [panels.column_for(names)] * len(names)
    head = [
        Content.assemble(" " * (width - sum(columns)), line) for line in panels.names_head(names, columns)
    ]
    talks = rows.trial_talks(state, trial)
    lines = []
    if state.started is not None:
        brief = brief_of(state, state.started, trial)
        about = [[Cell(brief.about_words, "strong")], [Cell("agent  ", "quiet"), Cell(brief.agent_words)], []]
        lines = [part for line in (*about, *facts_lines(brief)) for part in hanging(line, width)]
    listed = [
        (Cell(row.title), [panels.task_cell(row, name, talk) for name, talk in talks.items()])
        for row in rows.task_rows(state, trial)
    ]
    checked = [
        (Cell(row.title, "quiet"), [panels.latest_mark(row, name) for name in talks])
        for row in rows.assertion_rows(state, trial)[:MOST_ASSERTIONS]
    ]
    lines += [Content(""), *head] if listed or checked else []
    for title, marks in (*listed, *checked):
        cells = [right(mark, column) for mark, column in zip(marks, columns, strict=True)]
        lines.append(wrapped_row(Content(""), title, cells, width, 2))
    return Content("\n").join(lines)


class Stage(Vertical):
    """Scores above, chart below, and the keys that begin and end a presentation.

    Posts `Changed` when a presentation begins or ends.
    """

    KEYS: ClassVar[str] = "live/stage"
    DEFAULT_CSS = """
    Stage {
        display: none;
        & > Horizontal { height: auto; }
        & > #stage-conclusion { height: auto; padding-top: 1; text-style: bold; display: none; }
        & > #stage-assertions { height: auto; padding-top: 1; }
    }
    """

    class Changed(Message):
        """A presentation started or ended."""

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched
        self._scores = [StageScore(condition) for condition in CONDITIONS]
        self._conclusion = Static(id="stage-conclusion", markup=False)
        self._assertions = Static(id="stage-assertions", markup=False)
        self._chart = StageChart()

    def compose(self) -> ComposeResult:
        """Lay out both."""
        with Horizontal():
            yield from self._scores
        yield self._conclusion
        yield self._assertions
        yield self._chart

    def show(self) -> None:
        """Refresh the scores, the assertions, and the chart of the active condition."""
        watched = self.watched
        state, active = watched.state, watched.condition
        if state is None or not watched.presenting:
            return
        held = heads_view.conditions(state)
        for score in self._scores:
            score.display = score.condition in held
            score.show(state, watched.trial, score.condition == active)
        self._chart.show(state, watched.trial, active, watched.link.now)
        self._assertions.update(_checks(state, watched.trial, self.size.width or STAGE_WIDTH))
        self._conclusion.display = state.ended is not None
        if state.ended is not None:
            self._conclusion.update(Content(cast("Program", self.app).caption(state, watched.trial)))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A run that has not started cannot be presented."""
        if action not in ("present", "stop_presenting"):
            return True
        return self.watched.has_begun and self.watched.presenting == (action == "stop_presenting")

    def action_present(self) -> None:
        """Show only the conversation, scores and chart."""
        self._present(True)

    def action_stop_presenting(self) -> None:
        """Show the whole screen again."""
        self._present(False)

    def _present(self, presenting: bool) -> None:
        self.watched.presenting = presenting
        self.post_message(self.Changed())
