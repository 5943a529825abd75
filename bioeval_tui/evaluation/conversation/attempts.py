"""One request to a peer, with retries, and with its pieces joined into few events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tenacity import AsyncRetrying

from bioeval_tui.base.peer_limits import MAX_EVENT_TEXT, MAX_VALUES
from bioeval_tui.base.text import clean, clean_line, clean_value, excess_of, shorten
from bioeval_tui.evaluation.conversation.plan import ConversationEmitter, RunLimits
from bioeval_tui.peers.retry import RetryRule, attempts
from bioeval_tui.peers.seams import Delta, Generation, PeerError, Reply, Utterance
from bioeval_tui.peers.spending import SpendingBudget, Used, counting
from bioeval_tui.record import events
from bioeval_tui.record.events import MAX_TOKENS
from bioeval_tui.record.participants import Peer
from bioeval_tui.record.tool_calls import INJECTED

JOIN_S = 0.033
MAX_RECEIVED = 500


class DeltaJoiner:
    """Joins streamed pieces: the first is emitted immediately, then one event per 33 ms."""

    def __init__(
        self, emitter: ConversationEmitter, message: int, *, injects: bool = False
    ) -> None:
        """`injects` says whether the job makes tools fail (see `recorded_event`)."""
        self._emitter = emitter
        self._injects = injects
        self._message = message
        self._text: list[str] = []
        self._generation: list[dict[str, Any]] = []
        self._next = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, piece: Delta | Generation) -> None:
        """Add a piece; it is emitted now, or together with the pieces of the next 33 ms."""
        if isinstance(piece, Delta):
            self._text.append(piece.text)
        else:
            self._generation.append(recorded_event(piece.data, injects=self._injects))
        now = time.monotonic()
        if now >= self._next:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._next - now, self.flush)

    def flush(self) -> None:
        """Emit the pending pieces."""
        self._cancel_timer()
        if not self._text and not self._generation:
            return
        self._emitter.emit(
            events.MessageDelta,
            message=self._message,
            text=clean("".join(self._text)),
            generation=tuple(self._generation),
        )
        self._text.clear()
        self._generation.clear()
        self._next = time.monotonic() + JOIN_S

    def drop(self) -> None:
        """Discard the pending pieces, because the attempt failed."""
        self._cancel_timer()
        self._text.clear()
        self._generation.clear()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def recorded_event(event: Mapping[str, Any], *, injects: bool) -> dict[str, Any]:
    """Return an agent's event as it is recorded.

    Only where the job `injects` failures may a result be called one: no agent excuses its own.
    """
    kept: dict[str, Any] = clean_value(dict(event), MAX_EVENT_TEXT)
    if not injects:
        kept.pop(INJECTED, None)
    return kept


async def stream_whole(
    pieces: AsyncIterator[Delta | Generation | Reply] | AsyncIterator[Delta | Utterance],
    joiner: DeltaJoiner | None,
    peer: Peer = "agent",
) -> Reply | Utterance:
    """Read a stream to its end marker; hand its pieces to `joiner`.

    Closes the stream however it ends.

    Raises:
        PeerError: `peer`'s stream ended without its end marker: it was cut off.
    """
    last: Reply | Utterance | None = None
    try:
        async for piece in pieces:
            require_usable(piece, peer)
            if isinstance(piece, Reply | Utterance):
                last = piece
                break
            if joiner is not None:
                joiner.add(piece)
    except BaseException:
        if joiner is not None:
            joiner.drop()
        raise
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()
    if last is None:
        raise PeerError(peer, "the answer ended without its end marker")
    if joiner is not None:
        joiner.flush()
    return last


def require_usable(piece: object, peer: Peer) -> None:
    """Raise `PeerError` for a piece that cannot be recorded: whichever protocol or plug-in it comes
    from.

    The last gate between a peer and this program: without it, one odd number would end the
    conversation as a bug of ours.
    """
    wrong = ""
    match piece:
        case Delta(text=str()):
            pass
        case Generation(data=Mapping() as data):
            wrong = excess_of(dict(data)) and f"an event {excess_of(dict(data))}"
        case Reply() if piece.is_early:  # it cannot be one to this message
            wrong = "an answer before it was asked"
        case Reply(content=str(), generation=generation):
            wrong = _events_problem(generation) or _tokens_problem(
                piece.tokens_in, piece.tokens_out
            )
        case Utterance(content=str()):
            wrong = _tokens_problem(piece.tokens_in, piece.tokens_out)
        case _:
            wrong = f"a {type(piece).__name__} that is no message"
    if wrong:
        raise PeerError(peer, f"the {peer} sent {wrong}", unusable=True)


def _events_problem(events: object) -> str:
    if not isinstance(events, list | tuple) or not all(
        isinstance(event, Mapping) for event in events
    ):
        return "events that are not a list of objects"
    if len(events) > MAX_VALUES:
        return f"more than {MAX_VALUES:,} events"
    # The values in each event are the agent's: it may have sent a value alone, which is `{"event":
    # value}` here.
    excess = excess_of(list(events), own_levels=1)
    if excess:
        return f"events {excess}"
    return ""


def _tokens_problem(*counts: object) -> str:
    """Return what is wrong with numbers of tokens; empty for whole numbers, and where they are not
    told.
    """
    for count in counts:
        if count is not None and not (type(count) is int and 0 <= count <= MAX_TOKENS):
            return (
                f"a token count that is not a whole number up to {MAX_TOKENS:,}:"
                f" {shorten(str(count), 40)}"
            )
    return ""


@contextmanager
def count_attempt(
    emitter: ConversationEmitter, budget: SpendingBudget, peer: Peer, message: int | None = None
) -> Iterator[Used]:
    """Count what an attempt uses; what a failed or cancelled one used is recorded."""
    with counting(budget) as used:
        try:
            yield used
        except BaseException:
            record_unused(emitter, peer, used, message)
            raise
        finally:
            for note in used.notes:
                emitter.emit(events.Warned, code="options", message=clean_line(note))
            for asked, names in used.served.items():
                for served in names:
                    emitter.of_run.model_served(peer, asked, served)


def record_unused(
    emitter: ConversationEmitter, peer: Peer, used: Used, message: int | None = None
) -> None:
    """Record answers that are paid for although they were not used, if there are any."""
    if used.answers:
        emitter.emit(
            events.AnswersUnused,
            peer=peer,
            answers=used.answers,
            uncounted=used.uncounted,
            tokens_in=used.tokens_in,
            tokens_out=used.tokens_out,
            message=message,
        )


def recorded_attempts(
    emitter: ConversationEmitter,
    limits: RunLimits,
    rule: RetryRule,
    *,
    message: Callable[[], int | None] = lambda: None,
    counts: Callable[[PeerError], bool],
    ours: Callable[[PeerError], bool] = lambda error: False,
) -> AsyncRetrying:
    """Return the attempts at a request (`retry.attempts`); each failure is an event.

    `message` returns the number of the message that the request is for; None if it is for none.
    `counts` selects failures that count against the agent. Those that are `ours` (too many requests
    of our own at once) use no attempt; they are retried for `limits.throttled_s` in total.
    """

    def failed(error: PeerError, number: int, wait_s: float | None) -> None:
        emitter.emit(
            events.RequestFailed,
            peer=error.peer,
            request_attempt=number,
            error=clean_line(str(error)),
            received=clean(error.received, MAX_RECEIVED) or None,
            status=error.status,
            wait_ms=None if wait_s is None else wait_s * 1000,
            counted=counts(error),
            unreachable=error.unreachable,
            crowded=error.crowded,
            message=message(),
        )

    return attempts(rule, on_failure=failed, ours=ours, ours_for_s=limits.throttled_s)
