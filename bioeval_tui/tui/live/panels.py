"""Tasks, assertions and response times of the live screen: one line, or three panels, side by side
or behind tabs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message

from bioeval_tui.base.units import latency_short
from bioeval_tui.base.widths import fitted, padded
from bioeval_tui.record.effect import shared_criteria, trial_difference
from bioeval_tui.record.score import NO_ASSERTIONS, NO_TASKS
from bioeval_tui.report import rows
from bioeval_tui.report.sentences import shared_words
from bioeval_tui.tui.shared.cells import (
    Cell,
    Tone,
    cut,
    joined,
    left,
    paint,
    right,
    spread,
    uplift as uplift_cell,
)
from bioeval_tui.tui.shared.line_widgets import SHORTEST_NAME, TabLine
from bioeval_tui.tui.shared.rows_widget import RowList, RowPainter
from bioeval_tui.tui.shared.wrapped_lines import DrawnPanel, LinePainter, title_lines

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.events import AssertionChecked, TaskScored
    from bioeval_tui.record.state import ConversationState, RunState
    from bioeval_tui.report.findings import Shared
    from bioeval_tui.tui.live.feed import Watched


def task_cell(
    row: rows.TaskRow, condition: Condition, conversation: ConversationState | None
) -> Cell:
    """Return the judge's verdict on a task, or its state."""
    if conversation is None:
        return Cell("·", "quiet")
    verdict = row.verdicts[condition]
    if verdict is not None:
        return verdict_cell(verdict)
    if not row.counts_in(condition):
        return Cell("–", "quiet")
    if conversation.verdict is not None:
        return Cell("? –", "warn")
    if conversation.ended is not None and conversation.ended.reason == "cancelled":
        return Cell("–", "quiet")
    if conversation.phase == "judging":
        return Cell("◐", "busy")
    return Cell("·", "quiet")


def verdict_cell(task: TaskScored) -> Cell:
    """Return the judge's verdict on a task."""
    if task.unproved or not task.measured:
        return Cell(f"? {task.words}", "warn")
    if task.passed:
        return Cell(f"✓ {task.words}", "good")
    return Cell(f"✗ {task.words}", "bad")


WAIT, STREAM, TARGET, CROSSED = "─", "━", "│", "┿"


@dataclass(frozen=True, slots=True)
class Bar:
    """One answer's time: whole and to the first token, ms. `running` while it is still pending."""

    ms: float
    first_ms: float | None
    message: int
    running: bool = False


def full_width_ms(bars: Iterable[Bar], target_ms: float) -> float:
    """Return the time in ms of a full-width bar: slightly more than the longest answer or the
    target.
    """
    return max(target_ms, 1.0, *(bar.ms for bar in bars)) * 1.05


def latency_bar(bar: Bar | None, scale_ms: float, target_ms: float, width: int) -> list[Cell]:
    """Return an answer's bar: thin until the first token, thick while it streamed, the target
    crossing it.

    Nothing depends on colour: `─` is waiting, `━` streaming, `│` the target, `┿` the target passed.
    """
    if width <= 0:
        return []
    cells: list[tuple[str, Tone]] = [(" ", "quiet")] * width
    target = min(width - 1, round(target_ms / scale_ms * width))
    mark: tuple[str, Tone] = (TARGET, "quiet")
    if bar is not None:
        length = max(1, min(width, round(bar.ms / scale_ms * width)))
        streamed: Tone = "busy"
        passed: Tone = "plain"
        if 0 < target_ms < bar.ms:
            streamed = passed = "warn"
        cells[:length] = [(STREAM, streamed)] * length
        if bar.running:
            cells[:length] = [(WAIT, "busy")] * length
        elif bar.first_ms is not None:
            first = min(length - 1, round(bar.first_ms / scale_ms * width))
            cells[:first] = [(WAIT, "quiet")] * first
        if target < length:
            mark = (CROSSED, passed)
    if target_ms > 0:
        cells[target] = mark
    return joined(cells)


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """One turn, with a bar for each condition that has reached it."""

    turn: int
    bars: dict[Condition, Bar]


def latency_rows(state: RunState, trial: int, now: datetime | None) -> list[LatencyRow]:
    """Return one row per turn, oldest first."""
    turns: dict[int, dict[Condition, Bar]] = {}
    for condition in state.conditions:
        conversation = state.conversation(condition, trial)
        if conversation is None:
            continue
        for message in conversation.messages:
            if message.role != "assistant":
                continue
            bar = None
            if message.latency_ms is not None:
                bar = Bar(message.latency_ms, message.first_token_ms, message.message)
            elif not message.done and now is not None and state.ended is None:
                so_far = max(0.0, (now - message.started_at).total_seconds() * 1000)
                bar = Bar(so_far, None, message.message, running=True)
            if bar is not None:
                turns.setdefault(message.turn, {})[condition] = bar
    return [LatencyRow(turn, turns[turn]) for turn in sorted(turns)]


def assertion_marks(checks: Sequence[AssertionChecked]) -> dict[int, Cell]:
    """Return the mark of each turn's last check, by the turn: `✓` for true, `·` for not true yet,
    `✗` for no longer true, `!` for an error, `?` for not measured.

    Checks at the end have a mark of their own: `final_mark`.
    """
    marks: dict[int, Cell] = {}
    held = False
    for check in checks:
        mark = Cell("·", "quiet")
        if check.status == "passed":
            held = True
            mark = Cell("✓", "good")
        elif check.status == "not_measured":
            mark = Cell("?", "warn")
        elif check.error:
            mark = Cell("!", "bad")
        elif held:
            mark = Cell("✗", "bad")
        marks[check.after_turn] = mark
    return marks


def latest_mark(row: rows.AssertionRow, condition: Condition) -> Cell:
    """Return the mark of the newest check, the final one first; `·` before any, `–` for one of the
    other condition.
    """
    if row.outcome(condition) == "elsewhere":
        return Cell("–", "quiet")
    final = final_mark(row.finals[condition])
    if final is not None:
        return final
    marks = assertion_marks(row.timelines[condition])
    if not marks:
        return Cell("·", "quiet")
    return marks[max(marks)]


def final_mark(check: AssertionChecked | None) -> Cell | None:
    """Return the mark of the final check; None before it."""
    if check is None:
        return None
    if check.status == "not_measured":
        return Cell("?", "warn")
    if check.error:
        return Cell("!", "bad")
    if check.status == "passed":
        return Cell("✓", "good")
    return Cell("✗", "bad")


def uplift_cells(state: RunState, trial: int) -> list[Cell]:
    """Return supplied − withheld once both have their scores, or why it is missing; empty for a
    single condition.

    Before that, a difference would only show which conversation has progressed further.
    """
    if state.only_condition:
        return []
    if not state.clean:
        return [Cell(f"not shown: {state.cleanness}", "warn")]
    criteria_of_trial = shared_criteria(state.trial_job(trial))
    shared = rows.counted_shared([criteria_of_trial])
    conversations = [state.conversation(condition, trial) for condition in state.contrast or ()]
    is_waiting = any(talk is None or talk.score is None for talk in conversations)
    # Without shared criteria no difference will come, so there is nothing to wait for.
    if is_waiting and not criteria_of_trial.is_nothing:
        return [Cell("once both ended", "quiet")]
    return difference_cells(trial_difference(state, trial), shared, brief=True)


def difference_cells(
    difference: float | None, shared: Shared | None, *, brief: bool = False
) -> list[Cell]:
    """Return supplied − withheld, and what it rests on if not on everything that is scored."""
    if shared is None:
        return [uplift_cell(difference)]
    if shared.is_nothing:
        return [Cell("none claimed: own criteria", "quiet")]
    basis = shared_words(shared)
    if brief:
        basis = "shared"
    return [uplift_cell(difference), Cell(f"  on {basis}", "quiet")]


class Panel(Vertical):
    """Heading, rows on demand, summary."""

    DEFAULT_CSS = """
    Panel {
        padding: 0 1;
        & > RowList { height: 1fr; }
    }
    """

    def __init__(self, name: str, *, id: str) -> None:
        super().__init__(id=id)
        self.border_title = name
        self.rows = RowList()
        self._head = DrawnPanel()
        self._foot = DrawnPanel()

    def compose(self) -> ComposeResult:
        """Lay out the three parts."""
        yield self._head
        yield self.rows
        yield self._foot

    def lines_a_row(self, titles: Sequence[str], start: int, cells: int, others: int) -> int:
        """Return how many lines a row needs for these titles between `start` and `cells`, as far as
        all rows stay visible.

        `others` are the lines above and below the rows.
        """
        under = self.size.width - start
        most = max(1, (self.size.height - others) // max(1, len(titles)))
        # What no row has room for is not wrapped: an agent's title of a megabyte took seconds.
        longest = most * (max(1, under) + 1)
        needed = (len(title_lines(title[:longest], under - cells, under)) for title in titles)
        return min(most, max(needed, default=1))

    def set_panel(
        self,
        head: Sequence[Content],
        count: int,
        painter: RowPainter,
        foot: LinePainter,
        foot_lines: int = 1,
        *,
        row_lines: int = 1,
    ) -> None:
        """Show rows of `row_lines` below the lines of `head`, which are aligned at the right."""
        self._head.styles.height = len(head)
        self._head.draw(lambda width: Content("\n").join([right(line, width) for line in head]))
        self._foot.styles.height = foot_lines
        self._foot.draw(foot)
        self.rows.set_rows(count, painter, lines=row_lines)


def column_width(names: Iterable[str]) -> int:
    """Return how wide the columns below these names are: narrow, unless a name needs more than one
    line.
    """
    if all(cell_len(name) < 9 for name in names):
        return 9
    return 11


def names_head(names: Sequence[str], columns: Sequence[int]) -> list[Content]:
    """Return a heading with each name at the right of its column, over as many lines as the longest
    needs.
    """
    wrapped = [Content(name).wrap(column - 1) for name, column in zip(names, columns, strict=True)]
    height = max(map(len, wrapped), default=1)
    filled = [[Content("")] * (height - len(lines)) + lines for lines in wrapped]
    drawn = (
        Content.assemble(
            *(
                right(lines[at].rstrip(), column)
                for lines, column in zip(filled, columns, strict=True)
            )
        )
        for at in range(height)
    )
    return [line.stylize("$quiet") for line in drawn]


def wrapped_row(
    start: Content, label: Cell | str, cells: Sequence[Content], width: int, lines: int
) -> Content:
    """Return a row: `start`, the label over up to so many `lines`, and the cells at the end of the
    first.
    """
    if isinstance(label, str):
        label = Cell(label)
    title, tone = label
    under = width - start.cell_length
    room = under - sum(cell.cell_length for cell in cells)
    first = title
    others: list[str] = []
    if lines > 1:
        first, *others = title_lines(title, room, under)
    if len(others) >= lines:
        others = [*others[: lines - 2], " ".join(others[lines - 2 :])]
    below = [
        Content.assemble(" " * start.cell_length, left(Cell(part, tone), under)) for part in others
    ]
    return Content("\n").join(
        [Content.assemble(start, left(Cell(first, tone), room), *cells), *below]
    )


NAME_WIDTH = 10
FIGURES = ("avg", "p90", "max")
"""The latency statistics of one condition, in this order, in seconds."""


def _brief_side(state: RunState, condition: Condition, room: int) -> str:
    """Return what a condition is called; `without` where `without the facts` has no room."""
    name = state.condition_title(condition)
    if cell_len(name) <= room:
        return name
    return name.removesuffix(" the facts")


class Look(NamedTuple):
    """Which part of the run is shown: the trial, the visible conditions and the time."""

    trial: int
    conditions: tuple[Condition, ...]
    now: datetime | None


class TasksPanel(Panel):
    """The checklist of tasks, with a column for each condition."""

    def show(self, state: RunState, look: Look) -> None:
        """Draw from the run."""
        tasks = rows.task_rows(state, look.trial)
        conversations = rows.trial_talks(state, look.trial)
        names = [state.condition_title(condition) for condition in state.conditions]
        column = column_width(names)
        lines = self.lines_a_row([row.title for row in tasks], 3, column * len(conversations), 3)

        def paint_row(index: int, width: int) -> Content:
            row = tasks[index]
            cells = [
                right(task_cell(row, c, conversation), column)
                for c, conversation in conversations.items()
            ]
            number = Content.assemble(right(Cell(str(row.number), "quiet"), 2), " ")
            return wrapped_row(number, row.title, cells, width, lines)

        note = Content("")
        if not tasks:
            note = Content(NO_TASKS)
        self.set_panel(
            names_head(names, [column] * len(names)),
            len(tasks),
            paint_row,
            lambda _: note,
            row_lines=lines,
        )


class LatencyPanel(Panel):
    """One row per turn: the agent's latency compared with the target."""

    _title = ""

    def show(self, state: RunState, look: Look) -> None:
        """Draw from the run."""
        self.rows.tail = True
        turns = latency_rows(state, look.trial, look.now)
        target = rows.target_ms(state)
        scale = full_width_ms(chain.from_iterable(row.bars.values() for row in turns), target)

        def paint_row(index: int, width: int) -> Content:
            row = turns[index]
            share = (width - 2) // len(look.conditions)
            pieces: list[Content] = [right(Cell(str(row.turn), "quiet"), 2)]
            for condition in look.conditions:
                bar = row.bars.get(condition)
                time = Cell("")
                if bar is not None:
                    time = Cell(latency_short(bar.ms), "quiet" if bar.running else "plain")
                drawn = latency_bar(bar, scale, target, share - 9)
                pieces += [
                    Content(" "),
                    *(paint(cell) for cell in drawn),
                    right(time, 7),
                    Content(" "),
                ]
            return Content.assemble(*pieces)

        summaries = [(c, rows.latency(state, c, look.trial)) for c in look.conditions]
        wanted = [f"target {TARGET} {latency_short(target)}"] if target else []
        goal = paint(Cell("   ".join(("by turn", *wanted)), "quiet"))
        share = max(2, (self.size.width - 2) // len(look.conditions))
        names = [
            paint(" ", left(Cell(_brief_side(state, c, share - 1), "quiet"), share - 1))
            for c in look.conditions
        ]
        title = "Latency"
        if len(look.conditions) > 1:
            title = ", ".join(("Latency by turn", *wanted))
            goal = paint("  ", *names)
        if title != self._title:
            self._title = title
            self.border_title = title

        def foot(width: int) -> Content:
            column = max(7, min(8, (width - NAME_WIDTH) // len(FIGURES)))
            room = max(NAME_WIDTH, width - column * len(FIGURES) - 1)
            titles = " " * room + "".join(fitted(name, column, "right") for name in FIGURES)
            lines = [paint(Cell(titles, "quiet")).truncate(width)]
            for name, times in summaries:
                figures = (
                    _figure(ms, column) for ms in (times.average_ms, times.p90_ms, times.max_ms)
                )
                title = left(Cell(_brief_side(state, name, room - 1), "quiet"), room - 1)
                lines.append(paint(title, " ", *figures).truncate(width))
            return Content("\n").join(lines)

        self.set_panel([goal], len(turns), paint_row, foot, 1 + len(summaries))

    def message_number(self, state: RunState, look: Look, index: int) -> int | None:
        """Return the number of the message that row `index` is about."""
        turns = latency_rows(state, look.trial, look.now)
        if index >= len(turns):
            return None
        return next((bar.message for bar in turns[index].bars.values()), None)


def _figure(ms: float | None, width: int) -> Cell:
    text = padded(latency_short(ms), width, "right")
    if ms is None:
        return Cell(text, "quiet")
    return Cell(text)


class AssertionsPanel(Panel):
    """Rows are assertions, columns turns; the last mark is the final check."""

    def show(self, state: RunState, look: Look) -> None:
        """Draw from the run."""
        checked = rows.assertion_rows(state, look.trial)
        timelines = chain.from_iterable(row.timelines.values() for row in checked)
        turns = max((check.after_turn for check in chain.from_iterable(timelines)), default=0)
        titles = [row.title for row in checked]
        names = [state.condition_title(condition) for condition in look.conditions]
        longest = max(map(cell_len, titles), default=0)

        def shown(width: int) -> tuple[int, str]:
            """Return how many turns fit, and the separator between them."""
            room = (width - 4 - min(longest, width // 2)) // len(look.conditions) - 2
            between = " " if 2 * turns <= room else ""
            return max(1, min(turns, room)), between

        def column(width: int) -> int:
            count, between = shown(width)
            return max(column_width(names), count * (1 + len(between)) + 2)

        width = self.size.width
        head = names_head(names, [column(width)] * len(names))
        lines = self.lines_a_row(titles, 4, column(width) * len(look.conditions), len(head) + 1)

        def paint_row(index: int, width: int) -> Content:
            row = checked[index]
            marks = [
                right(_marks(row, c, turns, *shown(width)), column(width)) for c in look.conditions
            ]
            weight = Content.assemble(right(Cell(f"{row.weight:g}×", "quiet"), 3), " ")
            return wrapped_row(weight, row.title, marks, width, lines)

        summary = Content("")
        if not checked:
            summary = Content(NO_ASSERTIONS)
        elif uplift := uplift_cells(state, look.trial):
            summary = paint(Cell("difference  ", "quiet"), *uplift)
        count, _ = shown(width)
        if count < turns:
            head[-1] = spread(
                paint(Cell(f"turns {turns - count + 1} to {turns}", "quiet")), head[-1], width
            )
        self.set_panel(head, len(checked), paint_row, lambda _: summary, row_lines=lines)


def _marks(
    row: rows.AssertionRow, condition: Condition, turns: int, shown: int, between: str
) -> Content:
    """Return the marks of the newest turns, the final check in place of the last one."""
    marks = assertion_marks(row.timelines[condition])
    final = final_mark(row.finals[condition])
    if final is not None:
        marks[max(marks, default=1)] = final
    first = max(1, turns - shown + 1)
    return Content(between).join(
        [paint(marks.get(turn, Cell(" "))) for turn in range(first, turns + 1)]
    )


NAMES = ("tasks", "latency", "assertions")


def status_line(state: RunState, condition: Condition, trial: int, width: int) -> Content:
    """Return one conversation's tasks, average response time and assertions: `tasks ✓✗ │ 3.6 s slow
    │ assertions ✗✓ ✗ saves a reminder`. The first that fails is named, last, since it may be long:
    it is cut at `width`, and what has no room is left out.
    """
    talk = state.conversation(condition, trial)
    judged = [task_cell(row, condition, talk) for row in rows.task_rows(state, trial)]
    assertions = rows.assertion_rows(state, trial)
    checked = [latest_mark(row, condition) for row in assertions]
    goes_on = state.ended is None and (talk is None or talk.ended is None)
    failing = next(
        (
            Cell(f"{mark.text[:1]} {row.title}", mark.tone)
            for row, mark in zip(assertions, checked, strict=True)
            if mark.tone == "bad"
        ),
        None,
    )
    parts = []
    if judged and not goes_on:
        parts.append(paint(Cell("tasks ", "quiet"), *map(_first_sign, judged)))
    average, target = rows.latency(state, condition, trial).average_ms, rows.target_ms(state)
    if average is not None:
        said = Cell(latency_short(average), "quiet")
        if 0 < target < average:
            said = Cell(f"{said.text} slow", "warn")
        parts.append(paint(said))
    if checked:
        name = "assertions so far " if goes_on else "assertions "
        parts.append(paint(Cell(name, "quiet"), *map(_first_sign, checked)))
    between = Content.styled(" │ ", "$quiet")
    if judged and goes_on:
        whole = [paint(Cell("tasks not judged yet", "quiet")), *parts]
        room = width - between.join(whole).cell_length
        # What is not known yet makes room for what just failed.
        if room >= (0 if failing is None else 2 + cell_len(failing.text)):
            parts = whole
    line = between.join(parts)
    if failing is None and any(mark.tone == "good" for mark in checked):
        failing = Cell("none fails", "quiet")
    room = width - line.cell_length - 2
    if failing is not None and room >= min(SHORTEST_NAME, cell_len(failing.text)):
        line += paint("  ", failing._replace(text=cut(failing.text, room)))
    return line.truncate(width, ellipsis=True, pad=True)


def _first_sign(mark: Cell) -> Cell:
    return mark._replace(text=mark.text[:1])


class PanelDeck(Vertical):
    """Tasks, assertions and latency of the run on one line; opened, as panels.

    `enter` on a row posts what to show of it.
    """

    KEYS: ClassVar[str] = "live/panels"
    DEFAULT_CSS = """
    PanelDeck {
        height: 1;
        & > .panels--status { height: 1; margin: 0 2; }
        & > TabLine, & > Horizontal { display: none; }
        &.-open { height: 12; }
        &.-open > .panels--status { display: none; }
        &.-open > Horizontal { display: block; height: 1fr; }
        & Panel { width: 1fr; border: round $line; border-title-color: $quiet; }
        & Panel:focus-within { border: round $primary; border-title-color: $foreground; }
    }
    """

    class TaskChosen(Message):
        """A task was opened."""

    class AssertionChosen(Message):
        """An assertion was opened."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class MessageChosen(Message):
        """A message was opened."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched
        self.shown = NAMES[0]
        self._status = DrawnPanel(classes="panels--status")
        self._tabs = TabLine()
        self._latency = LatencyPanel("Latency", id="latency")
        self._panels: dict[str, TasksPanel | LatencyPanel | AssertionsPanel] = {
            "tasks": TasksPanel("Tasks", id="tasks"),
            "latency": self._latency,
            "assertions": AssertionsPanel("Assertions", id="assertions"),
        }

    def compose(self) -> ComposeResult:
        """The line, or tabs and the panels."""
        yield self._status
        yield self._tabs
        with Horizontal():
            yield from self._panels.values()

    def on_mount(self) -> None:
        """Mark the first panel."""
        self._mark()

    def on_resize(self) -> None:
        """Draw again once the panels have their size: names are wrapped where there is room."""
        self.call_after_refresh(self.show)

    @property
    def look(self) -> Look:
        """The conditions to draw: both if there is room, otherwise the active one."""
        watched = self.watched
        shown: tuple[Condition, ...] = (watched.condition,)
        if watched.state is not None and self.app.size.width >= 120:
            shown = watched.state.conditions
        return Look(watched.trial, shown, watched.link.now)

    def show(self) -> None:
        """Draw the line, and every panel."""
        if self.watched.state is not None:
            self._show_status(self.watched.state)
            for panel in self._panels.values():
                panel.show(self.watched.state, self.look)

    def _show_status(self, state: RunState) -> None:
        look = self.look

        def drawn(width: int) -> Content:
            share = width // len(look.conditions)
            parts = []
            for each in look.conditions:
                # A gap: the last words of a line may fill it.
                parts += [status_line(state, each, look.trial, share - 2), Content("  ")]
            return paint(*parts)

        self._status.draw(drawn)

    def show_latency(self) -> None:
        """Redraw the panel with running times."""
        if self.watched.state is not None and self.is_open:
            self._latency.show(self.watched.state, self.look)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Panels are empty before a conversation has started."""
        if action != "next_panel":
            return True
        return self.watched.has_begun and not self.watched.waits_for_presentation(action)

    def action_next_panel(self) -> None:
        """Open the panels and focus one; then focus the next."""
        if self.has_focus_within:
            self.shown = NAMES[(NAMES.index(self.shown) + 1) % len(NAMES)]
        self._mark()
        if self.is_open:
            self._panels[self.shown].rows.focus()
        else:
            self.add_class("-open")
            # hidden, it takes no focus
            self.call_after_refresh(self._panels[self.shown].rows.focus)

    @property
    def is_open(self) -> bool:
        """Whether the panels are shown in place of the line."""
        return self.has_class("-open")

    def close(self) -> None:
        """Show the line in place of the panels."""
        self.remove_class("-open")

    def bring_up(self, name: str) -> None:
        """Show a panel where there is room for one, without the focus."""
        self.shown = name
        self._mark()

    def _mark(self) -> None:
        for name, panel in self._panels.items():
            panel.set_class(name == self.shown, "-shown")
        self._tabs.set_tabs([(name, Content(name.capitalize())) for name in NAMES], self.shown)

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        name = next(name for name, panel in self._panels.items() if panel.rows is event.rows)
        if name == "tasks":
            self.post_message(self.TaskChosen())
        elif name == "assertions":
            self.post_message(self.AssertionChosen(event.index))
        elif self.watched.state is not None:
            number = self._latency.message_number(self.watched.state, self.look, event.index)
            if number is not None:
                self.post_message(self.MessageChosen(number))

    @on(TabLine.Picked)
    def _picked(self, event: TabLine.Picked) -> None:
        event.stop()
        self.bring_up(event.name)
        self._panels[self.shown].rows.focus()

    def on_descendant_focus(self) -> None:
        """Select the focused panel's tab."""
        for name, panel in self._panels.items():
            if panel.has_focus_within and name != self.shown:
                self.bring_up(name)
