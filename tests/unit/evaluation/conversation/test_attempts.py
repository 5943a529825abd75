"""What comes from a peer: joined, refused or counted, each rule at its edge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bioeval_tui.base.peer_limits import MAX_VALUES
from bioeval_tui.evaluation.conversation import attempts
from bioeval_tui.evaluation.conversation.attempts import (
    DeltaJoiner,
    record_unused,
    require_usable,
    stream_whole,
)
from bioeval_tui.evaluation.conversation.plan import ConversationEmitter, Emitter
from bioeval_tui.peers.arrivals import MOST_S
from bioeval_tui.peers.spending import Used
from bioeval_tui.protocols import Delta, Generation, PeerError, Reply, Utterance
from bioeval_tui.record.events import MAX_TOKENS
from tests.unit.evaluation.conversation.fakes import ListSink


class Clock:
    """A clock that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(attempts.time, "monotonic", lambda: self.now)


@pytest.fixture
def sink() -> ListSink:
    return ListSink()


@pytest.fixture
def emitter(sink: ListSink) -> ConversationEmitter:
    return ConversationEmitter(Emitter("r", sink), "withheld", 1, 1)


def pieces_of(sink: ListSink) -> list[tuple[str, int]]:
    """Return the text of each recorded piece, and how many events it has."""
    return [(each.text, len(each.generation)) for each in sink.of("message_delta")]


async def test_pieces_are_joined_until_the_next_is_due(
    sink: ListSink, emitter: ConversationEmitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    joiner = DeltaJoiner(emitter, 2)
    joiner.add(Delta("a"))
    assert pieces_of(sink) == [("a", 0)], "the first at once"
    joiner.add(Delta("b"))
    joiner.add(Generation({"x": 1}))
    clock.now += attempts.JOIN_S - 0.001
    joiner.add(Delta("c"))
    assert len(sink.events) == 1
    clock.now += 0.001
    joiner.add(Delta("d"))
    assert pieces_of(sink) == [("a", 0), ("bcd", 1)]
    assert {each.message for each in sink.of("message_delta")} == {2}
    joiner.flush()
    assert len(sink.events) == 2, "nothing is no piece"
    joiner.add(Delta("e"))
    joiner.drop()
    joiner.flush()
    assert len(sink.events) == 2, "what was dropped is gone"


async def test_a_piece_that_nothing_follows_is_recorded_all_the_same(
    sink: ListSink, emitter: ConversationEmitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "JOIN_S", 0.01)
    joiner = DeltaJoiner(emitter, 2)
    for text in "abc":
        joiner.add(Delta(text))
    await asyncio.sleep(0.1)
    assert pieces_of(sink) == [("a", 0), ("bc", 0)]
    joiner.add(Generation({"x": 1}))
    joiner.add(Delta("lost"))
    joiner.drop()
    await asyncio.sleep(0.1)
    assert pieces_of(sink) == [("a", 0), ("bc", 0), ("", 1)]


def reply(**more: Any) -> Reply:
    return Reply("x", 1.0, 2.0, **more)


NOT_A_LIST = "events that are not a list of objects"


@pytest.mark.parametrize(
    ("piece", "wrong"),
    [
        (Delta("x"), ""), (Delta(""), ""), (Delta(5), "a Delta that is no message"),  # type: ignore[arg-type]
        (Utterance("x"), ""), (Utterance(None), "a Utterance that is no message"),  # type: ignore[arg-type]
        (object(), "a object that is no message"), (Generation({"x": 1}), ""),
        (Generation([]), "a Generation that is no message"),  # type: ignore[arg-type]
        (reply(), ""), (reply(generation=[]), ""), (reply(generation=({"x": 1},)), ""),
        (reply(generation="xy"), NOT_A_LIST), (reply(generation=[1]), NOT_A_LIST),
        (reply(generation=[{"x": 1}, "y"]), NOT_A_LIST), (reply(generation={"x": 1}), NOT_A_LIST),
        (reply(generation=[{}] * (MAX_VALUES + 1)), f"more than {MAX_VALUES:,} events"),
        (reply(generation=[{}] * MAX_VALUES), ""),
        # tokens are whole numbers
        (reply(tokens_in=0, tokens_out=MAX_TOKENS), ""), (reply(tokens_in=None, tokens_out=1), ""),
        (reply(tokens_in=-1), "a token count"), (reply(tokens_out=MAX_TOKENS + 1), "a token count"),
        (reply(tokens_in=1, tokens_out=-1), "a token count"),
        (reply(tokens_in=True), "a token count"), (reply(tokens_out=1.0), "a token count"),
        # a clock that was set meanwhile makes an honest answer seem early
        (Reply("x", 2.0, 2.0 - MOST_S), ""),
        (Reply("x", 2.0, 1.9 - MOST_S), "an answer before it was asked"),
        (Utterance("x", tokens_in=0, tokens_out=MAX_TOKENS), ""),
        (Utterance("x", tokens_in=MAX_TOKENS + 1), "a token count"),
        (Utterance("x", tokens_out=-1), "a token count"),
    ],
)  # fmt: skip
def test_what_cannot_be_recorded_is_refused(piece: Any, wrong: str) -> None:
    if not wrong:
        require_usable(piece, "agent")
        return
    with pytest.raises(PeerError) as caught:
        require_usable(piece, "agent")
    assert str(caught.value).startswith(f"the agent sent {wrong}")
    assert (caught.value.peer, caught.value.unusable) == ("agent", True)


def test_no_answer_has_a_latency_below_zero() -> None:
    assert Reply("x", 2.0, 1.9).latency_ms == 0.0
    assert Reply("x", 2.0, 2.25).latency_ms == 250.0


class Stream:
    """Yields pieces, and knows whether it was closed."""

    def __init__(self, *pieces: Any) -> None:
        self.closed = False
        self._pieces = list(pieces)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if not self._pieces:
            raise StopAsyncIteration
        piece = self._pieces.pop(0)
        if isinstance(piece, BaseException):
            raise piece
        return piece

    async def aclose(self) -> None:
        self.closed = True


async def test_a_stream_is_read_to_its_end_marker_and_closed(
    sink: ListSink, emitter: ConversationEmitter
) -> None:
    whole = Stream(Delta("a"), Delta("b"), reply(), Delta("behind the end"))
    assert await stream_whole(whole, DeltaJoiner(emitter, 2)) == reply()
    assert pieces_of(sink) == [("a", 0), ("b", 0)]
    unheard = Stream(Delta("a"), Utterance("a"))
    assert await stream_whole(unheard, None, "evaluator") == Utterance("a")
    assert whole.closed
    assert unheard.closed


@pytest.mark.parametrize(
    ("ends", "error"),
    [((), PeerError), ((ValueError("x"),), ValueError), ((object(),), PeerError)],
)
async def test_a_stream_that_breaks_leaves_no_piece_behind(
    sink: ListSink, emitter: ConversationEmitter, ends: tuple[Any, ...], error: type[Exception]
) -> None:
    for joiner in (DeltaJoiner(emitter, 2), None):
        broken = Stream(Delta("a"), Delta("b"), *ends)
        with pytest.raises(error) as caught:
            await stream_whole(broken, joiner, "evaluator")
        assert broken.closed
        if isinstance(caught.value, PeerError):
            assert caught.value.peer == "evaluator"
        if joiner is not None and ends:
            joiner.flush()
            assert pieces_of(sink) == [("a", 0)]


@pytest.mark.parametrize(("answers", "recorded"), [(0, 0), (1, 1), (2, 1)])
def test_only_answers_that_were_not_used_are_recorded_as_such(
    sink: ListSink, emitter: ConversationEmitter, answers: int, recorded: int
) -> None:
    used = Used()
    for _ in range(answers):
        used.add(3, 4)
    record_unused(emitter, "judge", used, 5)
    found = sink.of("answers_unused")
    assert len(found) == recorded
    for each in found:
        assert (each.peer, each.answers, each.message) == ("judge", answers, 5)
        assert (each.tokens_in, each.tokens_out, each.uncounted) == (3 * answers, 4 * answers, 0)
