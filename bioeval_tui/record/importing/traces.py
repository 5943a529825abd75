"""Makes conversations of traces: of the steps that tracing recorded, whichever program wrote them
down.

A reader turns each span into a `Step`. The traces of one session, one after another, are a
conversation; each is the answer to what the user said last. What the user said is in the input of
the outermost step, else in that of one below it, else in that of the first call of a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import compact_json, plural
from bioeval_tui.record.importing.chat import chat_pieces
from bioeval_tui.record.importing.conversations import (
    ChatRole,
    GivenScore,
    Header,
    ImportedCall,
    ImportedConversation,
    ImportedPart,
    Output,
    messages_of,
    note,
    text_of,
)
from bioeval_tui.record.importing.said import Message, messages_in
from bioeval_tui.record.spans import SpanKind, known_sum

_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Step:
    """One span of a trace.

    `input` and `output` may be any JSON: of a tool its arguments and its result.

    `told` says which field each of `session`, `input` and `output` came from, for the sentence on
    how the file was read. `raw` is the whole span.
    """

    trace: str
    id: str
    raw: Any
    parent: str = ""
    kind: SpanKind = "other"
    name: str = ""
    session: str = ""
    start: datetime | None = None
    end: datetime | None = None
    first_token: datetime | None = None
    input: Any = None
    output: Any = None
    call_id: str = ""
    agent: str = ""
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    error: str = ""
    told: dict[str, str] = field(default_factory=dict)
    scores: list[GivenScore] = field(default_factory=list)


def conversations_of(
    steps: Iterable[Step], needed: str = ""
) -> Iterator[Header | ImportedConversation]:
    """Yield a conversation for each session, and how the file was read.

    A trace without a session is one of its own.

    Raises:
        InputError: nothing was said in any trace; the message says with `needed` what a file of
            this format must have.
    """
    traces: dict[str, list[Step]] = {}
    seen: set[tuple[str, str]] = set()
    reading = _Reading()
    for step in steps:
        key = (step.trace, step.id)
        if step.id and key in seen:  # exporters try again, and files are joined
            reading.doubled += 1
            continue
        seen.add(key)
        traces.setdefault(step.trace, []).append(step)
    sessions: dict[tuple[bool, str], list[_Trace]] = {}
    for name, spans in traces.items():
        trace = _Trace(name, spans)
        reading.take(trace)
        sessions.setdefault((bool(trace.session), trace.session or name), []).append(trace)
    for (_, session), held in sessions.items():
        talk = _conversation(
            session, sorted(held, key=lambda trace: trace.start or _EARLIEST), reading
        )
        if talk is None:
            reading.silent += 1
        else:
            yield talk
    if needed and reading.silent == len(sessions):
        raise InputError(f"nothing was said in its {plural(len(traces), 'trace')}: {needed}")
    yield reading.header()


class _Reading:
    """What is told of how a file was read."""

    def __init__(self) -> None:
        self.fields: dict[str, Counter[str]] = {
            "session": Counter(),
            "input": Counter(),
            "output": Counter(),
        }
        self.agents: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.tools = self.orphans = self.alone = self.silent = self.doubled = 0

    def take(self, trace: _Trace) -> None:
        known = {step.id for step in trace.steps}
        self.orphans += sum(bool(step.parent) and step.parent not in known for step in trace.steps)
        self.tools += len(trace.tools)
        self.alone += not trace.session
        self.agents.update(step.agent for step in trace.roots if step.agent)
        self.models.update(step.model for step in trace.models if step.model)
        if trace.session:
            self.fields["session"][trace.session_field] += 1

    def header(self) -> Header:
        """Return what all conversations share, noting how they were read."""
        sessions = [f"`{name}`" for name in self.fields["session"]]
        if self.alone or not sessions:
            sessions.append("trace")
        note(
            f"so it was read: conversations by {' or '.join(sessions)};"
            f" {plural(self.tools, 'step')} as tool calls"
        )
        for key, what in (("input", "what the user said"), ("output", "the answers")):
            if counted := self.fields[key]:
                words = ", ".join(f"{name} ({many})" for name, many in counted.most_common(4))
                note(f"so it was read: {what}, from {words}")
        if self.doubled:
            note(f"{plural(self.doubled, 'step')} that came twice, counted once")
        if self.orphans:
            note(
                f"{plural(self.orphans, 'step')} whose parent is not in the file, which may be"
                " cut off"
            )
        if self.silent:
            note(
                f"{plural(self.silent, 'trace')} in which nothing was said, left out: their inputs"
                " and outputs were not recorded, or are no messages"
            )
        return Header(agent=_names(self.agents), model=_names(self.models))


def _names(counted: Counter[str]) -> str:
    return ", ".join(name for name, _ in counted.most_common(3))


class _Trace:
    """The steps of one trace, in time.

    Steps inside one of the same kind say the same again: the outer one counts.
    """

    def __init__(self, name: str, steps: Sequence[Step]) -> None:
        self.name = name
        self.steps = sorted(steps, key=lambda step: step.start or _EARLIEST)
        by_id = {step.id: step for step in self.steps}
        self.roots = [
            step for step in self.steps if step.parent not in by_id or step.parent == step.id
        ]
        self.roots = self.roots or self.steps[:1]  # spans that name each other as parents
        self.models = [
            step for step in self.steps if step.kind == "model" and not _inside(step, by_id)
        ]
        self.tools = [
            step for step in self.steps if step.kind == "tool" and not _inside(step, by_id)
        ]
        owner = next((step for step in (*self.roots, *self.steps) if step.session), None)
        self.session = self.session_field = ""
        if owner is not None:
            self.session, self.session_field = owner.session, owner.told.get("session", "session")
        self.start = min((step.start for step in self.steps if step.start), default=None)
        self.end = max((step.end for step in self.roots if step.end), default=None)

    def said(self, reading: _Reading) -> list[Message]:
        """Return the messages of the trace: those of its outermost step, else of the first call of
        a model and the last one's answer.
        """
        asked = self._first_said(reading, "input", [*self.roots, *self._below, *self.models])
        answers = (*self.roots, *reversed(self._below), *reversed(self.models))
        answered = self._first_said(reading, "output", answers)
        if any(message["role"] == "user" for message in answered):
            return answered  # a state that repeats the whole conversation
        return asked + answered

    @property
    def _below(self) -> list[Step]:
        """The steps below the outermost ones, of which these may say nothing themselves."""
        roots = {step.id for step in self.roots}
        return [
            step for step in self.steps if step.parent in roots and step.kind in ("agent", "other")
        ]

    @staticmethod
    def _first_said(reading: _Reading, key: str, steps: Iterable[Step]) -> list[Message]:
        role: ChatRole = "user" if key == "input" else "assistant"
        for step in steps:
            found = messages_in({"input": step.input, "output": step.output}[key], role)
            if step.kind != "tool" and any(
                message["role"] in ("user", "assistant") for message in found
            ):
                reading.fields[key][f"`{step.told.get(key, key)}` of {step.kind} steps"] += 1
                return found
        return []

    def calls_of_steps(self) -> Iterator[tuple[ImportedCall, Output | None]]:
        """Yield the tool calls that are steps of their own, each with its result."""
        for step in self.tools:
            identity = step.call_id or step.id
            output = None
            if step.output is not None:
                output = Output(step.output, identity, bool(step.error))
            elif step.error:
                output = Output(step.error, identity, True)
            arguments = {} if step.input is None else step.input
            yield ImportedCall(step.name or "unknown", arguments, identity), output

    def calls_of_models(self) -> Iterator[tuple[ImportedCall, Output | None]]:
        """Yield the tool calls that models ask for, with the results that a model was given
        later.
        """
        results: dict[str, Output] = {}
        for step in self.models:
            for piece in chat_pieces(messages_in(step.input, "user")):
                results |= {output.call: output for output in piece.outputs if output.call}
        for step in self.models:
            for piece in chat_pieces(messages_in(step.output, "assistant")):
                for call in piece.calls:
                    yield call, results.get(call.id)


def _inside(step: Step, by_id: Mapping[str, Step]) -> bool:
    """Return whether a step is inside another of its kind."""
    seen = {step.id}
    parent = by_id.get(step.parent)
    while parent is not None and parent.id not in seen:
        if parent.kind == step.kind:
            return True
        seen.add(parent.id)
        parent = by_id.get(parent.parent)
    return False


def _conversation(
    session: str, traces: Sequence[_Trace], reading: _Reading
) -> ImportedConversation | None:
    pieces: list[ImportedPart] = []
    said: list[tuple[str, str]] = []
    for trace in traces:
        messages = _new(trace.said(reading), said)
        said += [key for message in messages if (key := _key(message)) is not None]
        pieces += _turn(trace, messages)
    if not said:
        return None
    failed = next((root.error for root in traces[-1].roots if root.error), "")
    talk = ImportedConversation(
        name="",
        messages=messages_of(pieces),
        session=session,
        scores=_scores(traces),
        started_at=traces[0].start,
        ended_at=max((trace.end for trace in traces if trace.end), default=None),
        failures=sum(any(root.error for root in trace.roots) for trace in traces),
        record={"traces": {trace.name: [step.raw for step in trace.steps] for trace in traces}},
    )
    if failed and said[-1][0] == "user":
        talk.reason, talk.fault, talk.detail = "agent_failed", "agent", failed
    return talk


def _scores(traces: Sequence[_Trace]) -> list[GivenScore]:
    scores: dict[str, GivenScore] = {}
    steps = chain.from_iterable(trace.steps for trace in traces)
    for score in chain.from_iterable(step.scores for step in steps):
        if score.name in scores:
            note(
                "given several times in a conversation, of which the last counts: score"
                f" {score.name}"
            )
        scores[score.name] = score
    return list(scores.values())


def _key(message: Message) -> tuple[str, str] | None:
    """Return who says what; None of a message without words."""
    if not _has_text(message):
        return None
    role, text = message["role"], text_of(message.get("content"))
    if role in ("user", "assistant") and text:
        return (role, text)
    return None


def _has_text(message: Message) -> bool:
    content = message.get("content")
    if isinstance(content, list):
        return any(
            isinstance(part, str) or (isinstance(part, dict) and "text" in part) for part in content
        )
    return content is not None


def _new(messages: list[Message], said: Sequence[tuple[str, str]]) -> list[Message]:
    """Return the messages of a trace that were not said before: agents are often given the whole
    conversation again.
    """
    spoken = [
        (at, key) for at, message in enumerate(messages) if (key := _key(message)) is not None
    ]
    keys = [key for _, key in spoken]
    for many in range(min(len(said), len(keys)), 0, -1):
        if list(said[-many:]) == keys[:many]:
            return messages[spoken[many - 1][0] + 1 :]
    asked = [at for at, message in enumerate(messages) if message["role"] == "user"]
    if said and len(asked) > 1:
        note(
            "traces that repeat another conversation than the one before: only their last question"
            " and answer are taken"
        )
        return messages[asked[-1] :]
    return messages


def _turn(trace: _Trace, messages: Sequence[Message]) -> list[ImportedPart]:
    """Return the pieces of a trace: its last answer has the trace's times, tokens and calls."""
    last = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
    before = list(chat_pieces(list(messages[: last + 1])))
    for piece in before[-1:]:
        piece.at = trace.start
    after = _gathered(chat_pieces(list(messages[last + 1 :])))
    calls = _calls(trace, after)
    if not after and not calls:
        return before
    if not after:
        after = [ImportedPart("assistant", "", None)]
    answer = after[-1]
    answer.calls = [call for call, _ in calls] + answer.calls
    answer.outputs = [output for _, output in calls if output is not None] + answer.outputs
    answer.at, answer.of_whole_answer = trace.end, True
    if trace.start and trace.end and trace.end >= trace.start:
        answer.latency_ms = (trace.end - trace.start).total_seconds() * 1000
    answer.first_token_ms = _first_token_ms(trace)
    answer.tokens_in = known_sum(step.tokens_in for step in trace.models)
    answer.tokens_out = known_sum(step.tokens_out for step in trace.models)
    return before + after


def _gathered(pieces: Iterable[ImportedPart]) -> list[ImportedPart]:
    """Return the pieces with words, each with the calls and results before it."""
    gathered: list[ImportedPart] = []
    calls: list[ImportedCall] = []
    outputs: list[Output] = []
    more: list[dict[str, Any]] = []
    for piece in pieces:
        calls += piece.calls
        outputs += piece.outputs
        more += piece.more
        if piece.role == "assistant" and piece.text:
            gathered.append(ImportedPart("assistant", piece.text, piece.raw, calls, outputs, more))
            calls, outputs, more = [], [], []
    if calls or outputs:
        gathered.append(ImportedPart("assistant", "", None, calls, outputs, more))
    return gathered


Call = tuple[ImportedCall, Output | None]


def _calls(trace: _Trace, pieces: Sequence[ImportedPart]) -> list[Call]:
    """Return the calls of a trace that its messages do not name; a result that these lack is put
    there.

    One call may be told three times: in the messages, as a step of its own, and in what a model
    asked for.
    """
    named: list[tuple[ImportedCall, ImportedPart]] = []
    for each in pieces:
        named += [(call, each) for call in each.calls]
    open_calls = [call for call, _ in named]
    known = list(open_calls)
    calls: list[Call] = []
    for call, output in trace.calls_of_steps():
        match = _take_same(open_calls, call)
        if match is None:
            calls.append((call, output))
            known.append(call)
        elif output is not None:
            piece = next(piece for one, piece in named if one is match)
            if not any(given.call == match.id for given in piece.outputs):
                piece.outputs.append(Output(output.value, match.id, output.failed))
    steps = {id(call): at for at, (call, _) in enumerate(calls)}
    for call, output in trace.calls_of_models():
        match = _take_same(known, call)
        if match is None:
            calls.append((call, output))
        elif id(match) in steps:
            at = steps[id(match)]
            calls[at] = _completed(calls[at], call, output)
    return calls


def _completed(step: Call, asked: ImportedCall, given: Output | None) -> Call:
    """Return the call of a step with what the model that asked for it tells besides: its id, and
    content that the step lacks.
    """
    call, output = step
    identity = asked.id or call.id
    made = ImportedCall(call.name, call.arguments or asked.arguments, identity)
    output = output or given
    if output is not None:
        output = Output(output.value, identity, output.failed)
    return made, output


def _take_same(waiting: list[ImportedCall], call: ImportedCall) -> ImportedCall | None:
    """Remove from `waiting` the call that is the same as `call`, which another span reports, and
    return it; None if there is none.

    It is the first with the same id, else with the same name and arguments, else with the same
    name.
    """
    for is_same in (_has_its_id, _has_its_arguments, _has_its_name):
        for at, each in enumerate(waiting):
            if is_same(each, call):
                return waiting.pop(at)
    return None


def _has_its_id(one: ImportedCall, other: ImportedCall) -> bool:
    return bool(one.id) and one.id == other.id


def _has_its_arguments(one: ImportedCall, other: ImportedCall) -> bool:
    return _has_its_name(one, other) and compact_json(one.arguments) == compact_json(
        other.arguments
    )


def _has_its_name(one: ImportedCall, other: ImportedCall) -> bool:
    return one.name == other.name


def _first_token_ms(trace: _Trace) -> float | None:
    firsts = [step.first_token for step in (*trace.roots, *trace.models[:1]) if step.first_token]
    if not firsts or trace.start is None or len(trace.models) > 1:
        return None
    waited = (firsts[0] - trace.start).total_seconds() * 1000
    if waited >= 0:
        return waited
    return None
