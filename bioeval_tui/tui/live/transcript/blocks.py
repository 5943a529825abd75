"""The blocks of a message on screen, in order, built from its state: content, order and wording."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bioeval_tui.base.text import clean_line, compact_json, plural, text_or_json
from bioeval_tui.base.units import duration, latency
from bioeval_tui.record import events
from bioeval_tui.record.attachments import file_words
from bioeval_tui.record.participants import SPEAKERS
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.record.tool_calls import call_text, injected_words
from bioeval_tui.report.answer_notes import CUT_OFF, EMPTY
from bioeval_tui.tui.live import heads_view, spans
from bioeval_tui.tui.live.transcript.markdown import Chunk, cut, pieces

if TYPE_CHECKING:
    from textual.strip import Strip

BlockKind = Literal[
    "markdown", "code", "plain-code", "note", "detail", "detail-code", "waiting", "parting", "gap"
]


class Fold(NamedTuple):
    """What can be opened: the kind of thing, the message it belongs to (0 is the conversation), and
    which.
    """

    kind: str
    message: int
    which: int


class Mark(NamedTuple):
    """A short text at the right edge, and the style that it is drawn in."""

    text: str
    style: str
    optional: bool = False
    """Whether it is omitted if it does not fit beside the text; other marks get their own line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One painted line.

    `strip` is as wide as the widget; `text` the words in it, which start after `before` characters.
    """

    strip: Strip
    text: str
    before: int
    timer: bool = False
    parts: tuple[object, ...] = ()
    """What it was made of: equal parts make the same line."""


@dataclass(eq=False, slots=True)
class Block:
    """A group of lines that is painted together.

    `role` is set on the first block of a message and gives its speaker a colour; `side`, on every
    block of it, tints the gutter. `style` and `sign` are of notes. `marks` stand at the right;
    `timer` says that a running time stands there. `live` text is still being written. `fold` is
    what enter opens; `opened` whether it is.
    """

    kind: BlockKind
    text: str = ""
    language: str = ""
    speaker: str = ""
    role: str = ""
    side: str = ""
    sign: str = ""
    style: str = ""
    marks: tuple[Mark, ...] = ()
    timer: bool = False
    live: bool = False
    fold: Fold | None = None
    opened: bool = False
    chunk: Chunk | None = None
    height: int = 1
    lines: list[Line] | None = field(default=None, repr=False)
    before: list[Line] | None = field(default=None, repr=False)
    """The previously painted lines, which are reused if they did not change."""
    highlights: Any = field(default=None, repr=False)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Equal signatures paint the same lines."""
        return (
            self.kind,
            self.chunk or self.text,
            self.language,
            self.speaker,
            self.role,
            self.side,
            self.sign,
            self.style,
            self.marks,
            self.timer,
            self.live,
            self.fold,
            self.opened,
        )


class Item:
    """One message, or what comes before or after the messages, with its blocks once they are
    needed.
    """

    __slots__ = ("blocks", "chunks", "count", "message", "text")

    def __init__(self, message: MessageState | None) -> None:
        self.message = message
        self.blocks: list[Block] | None = None
        self.chunks: list[Chunk] = []
        self.text = ""
        self.count = 0

    @property
    def height(self) -> int:
        """Lines, as known so far. Only of an item with blocks."""
        return sum(block.height for block in self.blocks or ())

    def recut(self, text: str) -> list[Chunk]:
        """Return the chunks of the message's text, cutting only what is new since the last time."""
        if text != self.text or not self.chunks:
            known = None
            if self.text and text.startswith(self.text):  # it grows
                known = self.chunks
            self.chunks = cut(text, known)
            self.text = text
        return self.chunks

    def rebuild(self, fresh: list[Block]) -> int | None:
        """Replace the blocks, but keep old ones that would look the same; return the first changed
        one, if any.
        """
        before = self.blocks or []
        old = {block.signature: block for block in before}
        self.blocks = [old.get(block.signature, block) for block in fresh]
        for was, block in zip(before, self.blocks, strict=False):
            if was is not block and block.lines is None:
                block.before = was.lines or was.before
        pairs = enumerate(zip_longest(before, self.blocks))
        return next((number for number, (one, other) in pairs if one is not other), None)


MOST_SPANS = 12
"""Maximum number of spans below an answer, the latest ones; its waterfall shows all."""


@dataclass(slots=True)
class Choices:
    """The reader's display settings."""

    opened: set[Fold] = field(default_factory=set)
    show_events: bool = True
    show_checks: bool = True
    """Whether the assertions that an answer turned stand below it: not for a blind review."""
    dense: bool = False
    """No empty line between turns."""
    parting: int | None = None
    """The first message that the other condition does not share."""
    roomy: bool = False
    """Whether there is an empty line between all messages, for an audience at a distance."""


def message_blocks(
    item: Item,
    message: MessageState,
    choices: Choices,
    *,
    bare_sign_off: bool = False,
    turned: Iterable[events.AssertionChecked] = (),
) -> list[Block]:
    """Return the blocks of a message: failed attempts, text, events, given facts, and the
    assertions that it `turned`.

    The agreed words of a bare sign-off mean nothing to a reader, so only that it signs off is
    shown.
    """
    blocks = []
    if _has_gap(message, choices):
        blocks.append(Block("gap"))
    if message.message == choices.parting:
        blocks.append(Block("parting", "the conversations differ from here"))
    first = len(blocks)
    blocks.extend(_failures(message))
    if bare_sign_off:
        blocks.append(Block("note", "signs off", sign="■", style="note"))
    else:
        blocks.extend(_text(item, message))
    if choices.show_events:
        for index, event in _shown_events(message):
            fold = Fold("event", message.message, index)
            blocks.extend(_generation(generation_line(event), fold, fold in choices.opened))
        blocks.extend(_spans(message, choices))
    for words in injected_words(message.generation):
        blocks.append(Block("note", words, sign="✗", style="warn"))
    blocks.extend(_violations(message, choices))
    for check in turned:
        title = clean_line(check.title)
        if check.status == "passed":
            blocks.append(Block("note", f"now true: {title}", sign="✓", style="good"))
        else:
            blocks.append(Block("note", f"no longer true: {title}", sign="✗", style="bad"))
    opening = blocks[first]
    opening.speaker = SPEAKERS[message.role]
    opening.role = "operator" if message.operator else message.role
    for block in blocks[first:]:
        block.side = opening.role
    return blocks


def turned_checks(
    conversation: ConversationState, message: MessageState
) -> Iterator[events.AssertionChecked]:
    """Yield the checks after an answer that found the opposite of what was found a turn before."""
    if message.role != "assistant":
        return
    for _, checks in sorted(conversation.checks.items()):
        after = bisect_right(checks, message.turn, key=attrgetter("after_turn"))
        before, here = checks[after - 2 : after - 1], checks[after - 1 : after]
        statuses = {check.status for check in (*before, *here)}
        if statuses == {"passed", "failed"} and here[0].after_turn == message.turn:
            yield here[0]


def _shown_events(message: MessageState) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the events that the agent reported through its protocol, numbered; calls reported as
    spans are shown there.
    """
    return ((index, event) for index, event in enumerate(message.generation) if "span" not in event)


def _shown_spans(message: MessageState) -> range:
    return range(max(0, len(message.spans) - MOST_SPANS), len(message.spans))


def _spans(message: MessageState, choices: Choices) -> Iterator[Block]:
    """Yield a line for each of the last spans, in the order in which they came."""
    shown = _shown_spans(message)
    if shown.start:
        yield Block(
            "note", f"{plural(shown.start, 'span')} before these", sign=spans.SIGN, style="event"
        )
    for index in shown:
        span = message.spans[index]
        fold = Fold("span", message.message, index)
        took = (Mark(latency(span.duration_ms), "note"),)
        style = "bad" if span.status == "error" else "event"
        title = clean_line(spans.title(span, message), 400)
        yield Block(
            "note",
            title,
            sign=spans.SIGN,
            style=style,
            marks=took,
            fold=fold,
            opened=fold in choices.opened,
        )
        if fold in choices.opened:
            yield from _detail(json.dumps(spans.detail(span), ensure_ascii=False, indent=2), "json")


def _has_gap(message: MessageState, choices: Choices) -> bool:
    if message.message <= 1:
        return False
    return choices.roomy or (message.role == "user" and not choices.dense)


def message_folds(message: MessageState, choices: Choices) -> list[Fold]:
    """Return the folds of a message, in order, without building its blocks."""
    folds: list[Fold] = []
    if choices.show_events:
        folds = [Fold("event", message.message, index) for index, _ in _shown_events(message)]
        folds += [Fold("span", message.message, index) for index in _shown_spans(message)]
    return folds + [
        Fold("violation", message.message, index) for index in range(len(message.violations))
    ]


def head_blocks(conversation: ConversationState | None, choices: Choices) -> list[Block]:
    """Return what comes before the first message: setups, seeds, warnings, or a note that there is
    no message yet.
    """
    if conversation is None:
        return [Block("note", "no conversation yet", style="note")]
    blocks = list(_preparation(conversation, choices))
    blocks.extend(
        Block("note", clean_line(w.message), sign="!", style="warn") for w in conversation.warnings
    )
    if not conversation.messages:
        waiting = (
            "preparing…" if conversation.phase in ("waiting", "preparing") else "no message yet"
        )
        blocks.append(Block("note", waiting, style="note"))
    elif blocks:
        blocks.append(Block("gap"))
    return blocks


def tail_blocks(conversation: ConversationState) -> list[Block]:
    """Return what comes after the last message of an ended conversation."""
    ended = conversation.ended
    if ended is None:
        return []
    ending = heads_view.ENDINGS[ended.how]
    sign, _, sentence = ending.text.partition(" ")
    style = ending.tone if ending.tone in ("warn", "bad") else "note"
    if ended.fault not in ("none", "agent") and ended.fault not in sentence:
        sentence += f", fault: {ended.fault}"
    counts = f"{plural(conversation.turns, 'turn')} · took {duration(ended.duration_ms / 1000)}"
    blocks = [Block("gap"), Block("note", f"{sentence} · {counts}", sign=sign, style=style)]
    if ended.detail:
        blocks.append(Block("note", clean_line(ended.explained), style="note"))
    return blocks


def _text(item: Item, message: MessageState) -> Iterator[Block]:
    text = message.text
    marks = _marks(message)
    files = [Block("note", words, style="note") for words in file_words(message.generation)]
    if not text.strip():
        if any(failure.wait_ms is None for failure in message.failures):
            return  # the side gave up: nothing more will come
        if files:
            files[0].marks = marks
            yield from files
        elif message.done and message.is_empty:
            yield Block("note", f"({EMPTY})", style="warn", marks=marks)
        elif message.done:
            yield Block("note", "(empty message)", style="note", marks=marks)
        else:
            word = "thinking…" if message.role == "user" else "answering…"
            yield Block("waiting", word, style="note", marks=marks, timer=True)
        return
    chunks = item.recut(text)
    kind_before = ""
    for index, chunk in enumerate(chunks):
        if index and (chunk.gap or chunk.kind != kind_before):
            yield Block("gap")
        last = index == len(chunks) - 1
        live = last and not message.done
        # Colouring code is the most expensive step, so it waits until the fence is closed.
        kind: BlockKind = "plain-code" if live and chunk.kind == "code" else chunk.kind
        block = Block(kind, chunk.markdown, chunk.language, live=live, chunk=chunk)
        if index == 0:
            block.marks, block.timer = marks, not message.done
        kind_before = chunk.kind
        yield block
    if message.done:
        yield from files


def _marks(message: MessageState) -> tuple[Mark, ...]:
    marks = []
    if message.latency_ms is not None:
        style = "latency" if message.role == "assistant" else "note"
        marks.append(Mark(latency(message.latency_ms), style))
        if message.first_token_ms is not None:
            marks.append(Mark(f"▸{latency(message.first_token_ms)}", "note", optional=True))
    for fact in message.facts:
        style = "warn" if fact.asked is False else "fact"
        marks.append(Mark(f"◆ fact {fact.fact}{fact.asked_words}", style))
    if message.operator:
        marks.append(Mark("✎ typed by the operator", "speaker-operator"))
    if message.signs_off:
        marks.append(Mark("■ signs off", "note"))
    if message.cut_off:
        marks.append(Mark(f"✂ {CUT_OFF}", "warn"))
    return tuple(marks)


def _failures(message: MessageState) -> Iterator[Block]:
    for index, failure in enumerate(message.failures):
        last = index == len(message.failures) - 1
        sign = "✗" if failure.wait_ms is None else "↻"
        yield Block("note", _failure(failure, message.role), sign=sign, style="warn")
        if last and message.waited_ms >= 1000:
            yield Block(
                "note",
                f"waited {latency(message.waited_ms)} in total, not part of the latency",
                style="note",
            )


def _failure(failure: events.RequestFailed, role: str) -> str:
    own = {"assistant": "agent", "user": "evaluator"}.get(role)
    who = "" if failure.peer == own else f"{failure.peer} "
    why = str(failure.status or clean_line(failure.error, 300))
    if failure.wait_ms is None:
        said = f"{who}gave up: {why}"
    else:
        said = f"{who}retried after {latency(failure.wait_ms)}: {why}"
    if failure.peer == "agent" and not failure.counted:
        return f"{said}, not counted"
    return said


def _generation(line: GenerationLine, fold: Fold, opened: bool) -> Iterator[Block]:
    yield Block("note", line.title, sign=line.sign, style="event", fold=fold, opened=opened)
    if opened:
        yield from _detail(line.detail, line.language)


def _violations(message: MessageState, choices: Choices) -> Iterator[Block]:
    for index, violation in enumerate(message.violations):
        fold = Fold("violation", message.message, index)
        rule = clean_line(violation.rule, 80).replace("_", " ")
        text = f"evaluator, {violation.outcome}: {rule}"
        opened = fold in choices.opened
        style = "bad" if violation.outcome == "not sent" else "warn"
        yield Block("note", text, sign="!", style=style, fold=fold, opened=opened)
        if opened:
            content = "" if violation.effect == "mark" else violation.content  # it stands above
            yield from _detail(f"{violation.detail}\n\n{content}".strip(), "")


def _preparation(conversation: ConversationState, choices: Choices) -> Iterator[Block]:
    setups, seeds = conversation.setups, conversation.seeds
    if setups or seeds:
        counts = []
        if setups:
            counts.append(plural(len(setups), "setup"))
        if seeds:
            counts.append(plural(len(seeds), "seed"))
        fold = Fold("preparation", 0, 0)
        opened = fold in choices.opened
        yield Block(
            "note",
            f"{' and '.join(counts)} applied before the start",
            sign="⚙",
            style="event",
            fold=fold,
            opened=opened,
        )
        if opened:
            lines = [
                f"setup {s.index + 1}, {latency(s.elapsed_ms)}\n{s.cypher or s.fhir}"
                for s in setups
            ]
            for seed in seeds:
                line = f"seed {seed.index + 1}, {seed.what}"
                if seed.detail:
                    line += f": {seed.detail}"
                lines.append(line)
            yield from _detail("\n\n".join(lines), "")
    for setup in setups:
        if setup.error:
            text = f"setup {setup.index + 1} failed: {clean_line(setup.error)}"
            yield Block("note", text, sign="✗", style="bad")
    for seed in seeds:
        if not seed.applied:
            yield Block(
                "note",
                f"seed {seed.index + 1} not applied: {clean_line(seed.detail)}",
                sign="✗",
                style="bad",
            )


def _detail(text: str, language: str) -> Iterator[Block]:
    kind: BlockKind = "detail-code" if language else "detail"
    for piece in pieces(text) or ["(empty)"]:
        yield Block(kind, piece, language)


# What the agent did besides answering

MAX_TITLE = 400


@dataclass(frozen=True, slots=True)
class GenerationLine:
    """A generation event folded: a sign, one line, and the page that opening it shows."""

    sign: str
    title: str
    detail: str
    language: str = ""


def generation_line(event: dict[str, Any]) -> GenerationLine:
    """Return how to show a generation event.

    The texts are foreign and cleaned where they are drawn.

    Events are told apart by shape: `systemPrompt`, `request` with a function, `output`, and
    `content` with `summaryDirection` (a request for knowledge). An unknown shape is shown as it is.
    """
    match event:
        case {"systemPrompt": prompt}:
            text = text_or_json(prompt)
            return GenerationLine("⚙", f"system prompt, {plural(len(text.split()), 'word')}", text)
        case {"request": {"function": {"name": str(name)}} as request}:
            return _function(name, request)
        case {"output": output}:
            text, language = text_or_json(output), "" if isinstance(output, str) else "json"
            return GenerationLine("←", _title(text or "(nothing)"), _pretty(output), language)
        case {"content": content, "summaryDirection": _}:
            return GenerationLine(
                "◇", f"knowledge request: {_title(text_or_json(content))}", _pretty(event), "json"
            )
        case _:
            return GenerationLine("·", _title(compact_json(event)), _pretty(event), "json")


def _function(name: str, request: dict[str, Any]) -> GenerationLine:
    arguments = request.get("arguments")
    called = call_text(name, {} if arguments in (None, "") else arguments)
    page = {"function": name, "arguments": arguments}
    if request.get("context"):
        page["context"] = request["context"]
    return GenerationLine("ƒ", called, _pretty(page), "json")


def _title(text: str) -> str:
    return clean_line(text, MAX_TITLE)


def _pretty(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
