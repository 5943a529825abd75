"""Spans on the live screen: a line for each below its answer, and the waterfall of a turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.text import compact_json, plural, shorten
from bioeval_tui.base.units import latency
from bioeval_tui.base.widths import fitted, padded
from bioeval_tui.record.spans import absent_parents, meaning_of, ordered
from bioeval_tui.record.tool_calls import call_text
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import heads_view
from bioeval_tui.tui.shared.cells import Cell, Tone, cut, paint_lines
from bioeval_tui.tui.shared.dialogs import Dialog, DialogText
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.agent_span import AgentSpan
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.state import ConversationState, MessageState, RunState

SIGN = "∿"
FAILED = "from a failed attempt"
MOST_ROWS = 500
"""Maximum number of spans in a waterfall."""
LEAST_BAR = 16
_TIME = 9
"""Width of the column of durations, in cells."""
_TONES: dict[str, Tone] = {"tool": "good", "model": "busy", "retrieval": "warn"}


def title(span: AgentSpan, message: MessageState, *, headed: bool = False) -> str:
    """Return a span's summary in a line, and its problems; `headed` if a heading says that its
    attempt failed.
    """
    meaning = meaning_of(span)
    said = meaning.title
    if meaning.kind == "tool":
        said = meaning.tool
        if meaning.arguments is not None:
            said = call_text(meaning.tool, meaning.arguments)
    if meaning.result is not None and not meaning.error:
        result = meaning.result
        if not isinstance(result, str):
            result = compact_json(result)
        said += f" → {shorten(result, 80)}"
    if meaning.tokens_in is not None or meaning.tokens_out is not None:
        counts = ("–" if n is None else f"{n:,}" for n in (meaning.tokens_in, meaning.tokens_out))
        said += f", {' → '.join(counts)} tokens"
    if meaning.model and meaning.model not in said:
        said += f", {meaning.model}"
    if meaning.error:
        said += ", failed"
        if meaning.error != "failed":
            said += f": {meaning.error}"
    return ", ".join(
        [
            said,
            *(trouble for trouble in _problems(span, message) if not headed or trouble != FAILED),
        ]
    )


def detail(span: AgentSpan) -> dict[str, object]:
    """Return all attributes of a span."""
    return span.model_dump(mode="json", exclude_defaults=True)


def _problems(span: AgentSpan, message: MessageState) -> list[str]:
    problems = []
    if span.span_id in message.late_spans:
        problems.append("late")
    if span.span_id in message.doubled_spans:
        problems.append("received twice")
    if not _belongs_to_answer(span, message):
        problems.append(FAILED)
    return problems


def _belongs_to_answer(span: AgentSpan, message: MessageState) -> bool:
    return span.trace_id in (message.traceparent or "")


def turns_with_spans(conversation: ConversationState | None) -> list[int]:
    """Return the turns that have spans."""
    if conversation is None:
        return []
    return [message.turn for message in conversation.messages if message.spans]


def waterfall_heading(conversation: ConversationState | None, turn: int | None) -> str:
    """Return the turn, the time of the answer, and the number of spans received."""
    message = _answer(conversation, turn)
    if message is None:
        return "No spans"
    took = f", answered in {latency(message.latency_ms)}" if message.latency_ms is not None else ""
    return f"Turn {message.turn}{took}, {plural(len(message.spans), 'span')}"


def waterfall(
    conversation: ConversationState | None, turn: int | None, width: int
) -> list[list[Cell]]:
    """Return a line for each span of a turn, `width` cells wide: what it is, when it was, and how
    long it took.

    Times are the agent's, on one axis from the first span of the first attempt. Several attempts
    have headings.
    """
    message = _answer(conversation, turn)
    if message is None or not message.spans:
        return [[Cell("No spans of this turn have arrived.", "quiet")]]
    bars = max(LEAST_BAR, (width - _TIME) // 2 - 1)
    names = max(10, width - _TIME - bars - 1)
    lines: list[list[Cell]] = []
    traces: dict[str, list[AgentSpan]] = {}
    for span in message.spans:
        traces.setdefault(span.trace_id, []).append(span)
    first = min(span.start_ns for span in message.spans)
    scale = bars / max(1, max(span.end_ns for span in message.spans) - first)
    for spans in sorted(traces.values(), key=lambda trace: min(span.start_ns for span in trace)):
        of_the_answer = _belongs_to_answer(spans[0], message)
        root = ""
        if of_the_answer and message.traceparent:
            root = message.traceparent.split("-")[2]
        if not of_the_answer:
            lines.append([Cell("a failed attempt", "warn")])
        elif len(traces) > 1:
            lines.append([Cell("the answer", "quiet")])
        lines += _rows(spans, root, message, names, bars, first, scale)
        absent = absent_parents(spans, root)
        if absent and of_the_answer:
            lines.append(
                [Cell(f"? {plural(len(absent), 'span')} missing that others refer to", "warn")]
            )
    return lines


def _rows(
    spans: list[AgentSpan],
    root: str,
    message: MessageState,
    names: int,
    bars: int,
    first: int,
    scale: float,
) -> list[list[Cell]]:
    """Return the lines of one attempt, on an axis of `bars` cells that begins at `first` ns and has
    `scale` cells per ns.
    """
    lines = []
    tree = ordered(spans, root)
    for span, depth in tree[:MOST_ROWS]:
        tone: Tone = "warn" if _problems(span, message) else "plain"
        bar: Tone = _TONES.get(meaning_of(span).kind, "quiet")
        if span.status == "error":
            tone = bar = "bad"
        indent = " " * min(depth, names // 3)
        begins = min(bars - 1, int((span.start_ns - first) * scale))
        length = max(1, min(bars - begins, round((span.end_ns - span.start_ns) * scale)))
        lines.append(
            [
                Cell(
                    fitted(
                        indent + cut(title(span, message, headed=True), names - len(indent)), names
                    )
                    + " ",
                    tone,
                ),
                Cell(" " * begins),
                Cell("━" * length, bar),
                Cell(" " * (bars - begins - length)),
                Cell(padded(latency(span.duration_ms), _TIME, "right"), "quiet"),
            ]
        )
    if len(tree) > MOST_ROWS:
        lines.append([Cell(f"and {plural(len(tree) - MOST_ROWS, 'span')} more", "quiet")])
    return lines


def _answer(conversation: ConversationState | None, turn: int | None) -> MessageState | None:
    """Return the answer of a turn; if the turn is None, of the newest turn with spans."""
    if conversation is None:
        return None
    answers = [
        m
        for m in conversation.messages
        if m.role == "assistant" and (m.spans if turn is None else m.turn == turn)
    ]
    if answers:
        return answers[-1]
    return None


class Waterfall(Dialog[None]):
    """Opened from a conversation; arrows switch turns, `tab` switches the condition."""

    NAME: ClassVar[str] = "Waterfall"
    ABOUT: ClassVar[str] = (
        "The spans that the agent reported for a turn through OpenTelemetry. Times are by the"
        " agent's clock."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("waterfall")
    DEFAULT_CSS = """
    Waterfall {
        & > .dialog--box { max-width: 150; }
        &.-narrow > .dialog--box { height: 100%; }
        &.-narrow .dialog--body { height: 1fr; }
    }
    """

    def __init__(self, state: RunState, trial: int, condition: Condition, turn: int) -> None:
        super().__init__(waterfall_heading(state.conversation(condition, trial), turn))
        self._state = state
        self._trial = trial
        self._condition = condition
        self._turn: int | None = turn
        self._shown: object = None

    @property
    def _conversation(self) -> ConversationState | None:
        return self._state.conversation(self._condition, self._trial)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a second condition, or another turn with spans, there is nothing to switch to."""
        if action == "turn":
            return len(turns_with_spans(self._conversation)) > 1
        return action != "other" or self._state.only_condition is None

    def compose_body(self) -> Iterable[Widget]:
        """One line a span, scrollable."""
        with DialogText():
            yield Static(id="spans", markup=False)

    def on_mount(self) -> None:
        """Show the turn."""
        self.show_new()

    def on_resize(self) -> None:
        """Fit the new width."""
        self.call_after_refresh(self.show_new)

    def action_turn(self, by: int) -> None:
        """Go to another turn with spans."""
        turns = turns_with_spans(self._conversation)
        if turns:
            at = turns.index(self._turn) if self._turn in turns else len(turns) - 1
            self._turn = turns[max(0, min(len(turns) - 1, at + by))]
            self.show_new()

    def action_other(self) -> None:
        """Go to the other condition, at the same turn where spans of that came."""
        self._condition = heads_view.other_condition(self._state.conditions, self._condition)
        if self._turn not in turns_with_spans(self._conversation):
            self._turn = None
        self.show_new()

    def show_new(self) -> None:
        """Redraw if anything changed."""
        if not self.is_mounted:
            return
        body = self.query_one("#spans", Static)
        conversation = self._conversation
        counts = []
        if conversation is not None:
            counts = [len(message.spans) for message in conversation.messages]
        seen = (self._condition, self._turn, counts, body.size.width)
        if seen == self._shown or not body.size.width:
            return
        self._shown = seen
        which = ""
        if self._state.only_condition is None:
            which = self._state.condition_title(self._condition)
        heading = "   ".join(filter(None, (waterfall_heading(conversation, self._turn), which)))
        self.query_one(".dialog--heading", Labelled).show([[Cell(heading)]])
        lines = waterfall(conversation, self._turn, body.size.width)
        body.update(paint_lines(lines))
        self.refresh_bindings()
