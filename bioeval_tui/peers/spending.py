"""Requests are counted where they are sent, whatever becomes of the answer, and forbidden once the
batch has reached its limit.

Whoever holds a conversation opens `counting` around it, with the run's budget. What sends requests
meanwhile (`models/model.py`, agents) calls `request`, `stop` or `note`, which find both in the
context of the task, so that nobody has to pass them on. `engine/batch.py` makes one `CallBudget`
for a batch, and a `RunBudget` of it for each run.

A call is a message to the agent, or a request to a model, each time that it is sent. Of an agent,
opening a session and reading its state are none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.base.units import dollars
from bioeval_tui.peers.prices import Price
from bioeval_tui.record.participants import Peer
from bioeval_tui.record.spans import known_sum

CHARACTERS_PER_TOKEN = 4
"""Approximate length of a token, for answers without a token count."""


class LimitReachedError(BioevalError):
    """The batch may make no further call: its calls or cost have reached their limit, or a model's
    quota is used up.
    """


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls that were made, by peer, and their cost in dollars."""

    calls: Mapping[Peer, int] = field(default_factory=dict)
    cost: float = 0.0


class SpendingBudget:
    """Counts calls and cost, and may forbid further ones; this one is without a limit."""

    def begin(self, peer: Peer) -> None:
        """Count a call that is about to be made.

        Raises `LimitReachedError` instead if the limit is reached.
        """

    def charge(self, peer: Peer, tokens_in: int, tokens_out: int) -> None:
        """Add the cost of an answer."""

    def stop(self, why: str) -> None:
        """Allow no further call. Raises `LimitReachedError` if there is a batch to stop."""

    @property
    def spent(self) -> Spent:
        """What the whole batch has spent so far."""
        return Spent()

    def add(self, spent: Spent) -> None:
        """Add what was spent elsewhere."""

    def place(self, peer: Peer) -> AbstractAsyncContextManager[None]:
        """Return what is entered while a peer is asked something, which may wait for its turn."""
        return nullcontext()


UNLIMITED = SpendingBudget()


@dataclass
class Used:
    """Answers that a server may charge for, and their tokens; None if no answer had a count.

    `uncounted`: how many of the answers lack one. A request that got no complete answer, but may
    have been answered, is such an answer.
    """

    budget: SpendingBudget = UNLIMITED
    answers: int = 0
    uncounted: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    notes: list[str] = field(default_factory=list)
    """What was asked in another way than usual, as sentences."""
    served: dict[str, list[str]] = field(default_factory=dict)
    """The names that servers gave the models that answered, by the names that were asked for."""

    def add(self, tokens_in: int | None, tokens_out: int | None) -> None:
        """Add one answer."""
        self.answers += 1
        self.uncounted += None in (tokens_in, tokens_out)
        self.tokens_in = known_sum((self.tokens_in, tokens_in))
        self.tokens_out = known_sum((self.tokens_out, tokens_out))


_current: ContextVar[Used | None] = ContextVar("used", default=None)


@contextmanager
def counting(budget: SpendingBudget) -> Iterator[Used]:
    """Count the requests of this task, and of the tasks that it starts, until the context ends."""
    used = Used(budget)
    token = _current.set(used)
    try:
        yield used
    finally:
        _current.reset(token)


@dataclass
class Request:
    """One request to a model.

    Whoever reads the answer sets its tokens, and its length, from which they are guessed.
    """

    characters: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    is_free: bool = False
    """Whether nothing was answered that could be charged for: it was refused, or never arrived."""


@contextmanager
def request(peer: Peer, messages: Sequence[Mapping[str, Any]]) -> Iterator[Request]:
    """Count a request and, at the end of the context, its answer.

    Raises `LimitReachedError` instead of sending it.
    """
    used, sent = _current.get(), Request()
    if used is not None:
        used.budget.begin(peer)
    try:
        yield sent
    finally:
        if used is not None and not sent.is_free:
            used.add(sent.tokens_in, sent.tokens_out)
            tokens_in, tokens_out = sent.tokens_in, sent.tokens_out
            if tokens_in is None:
                tokens_in = (
                    sum(len(str(message.get("content"))) for message in messages)
                    // CHARACTERS_PER_TOKEN
                    + 1
                )
            if tokens_out is None:
                tokens_out = sent.characters // CHARACTERS_PER_TOKEN + 1
            used.budget.charge(peer, tokens_in, tokens_out)


def place(peer: Peer) -> AbstractAsyncContextManager[None]:
    """Return what is entered while a peer is asked something: with the batch's limits, it waits for
    a free place.
    """
    if (used := _current.get()) is not None:
        return used.budget.place(peer)
    return nullcontext()


def report(tokens_in: int | None, tokens_out: int | None) -> None:
    """Add an answer that this program did not request itself."""
    if (used := _current.get()) is not None:
        used.add(tokens_in, tokens_out)


def stop(why: str) -> None:
    """End the batch, because no later request could be answered.

    Raises `LimitReachedError` within a batch.
    """
    if (used := _current.get()) is not None:
        used.budget.stop(why)


def note(sentence: str) -> None:
    """Note how a request differs from what this program usually asks for."""
    if (used := _current.get()) is not None:
        used.notes.append(sentence)


def note_model(asked: str, name: str) -> None:
    """Note which model an answer names as its own."""
    used = _current.get()
    if used is not None and name not in (
        names := used.served.setdefault(clean_line(asked, 100), [])
    ):
        names.append(name)


@dataclass
class CallBudget:
    """Calls and cost of a whole batch. The agent's calls count like the models'."""

    max_calls: int | None = None
    max_cost: float | None = None
    calls: dict[Peer, int] = field(default_factory=lambda: defaultdict(int))
    cost: float = 0.0
    stopped: str = ""
    """Why a model will answer no further call."""

    def stop_reason(self) -> str | None:
        """Return why no further call may be made; None if one may."""
        if self.stopped:
            return self.stopped
        made = sum(self.calls.values())
        if self.max_calls is not None and made >= self.max_calls:
            return (
                f"the limit is reached: {plural(made, 'call')} made, the limit is"
                f" {self.max_calls:,}"
            )
        if self.max_cost is not None and self.cost >= self.max_cost:
            return (
                f"the limit is reached: about {dollars(self.cost)} spent, the limit is"
                f" ${self.max_cost:g}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Rates:
    """The cost of one run's calls.

    None for a role that is not a model, or that the user does not pay for.
    """

    agent: Price | None = None
    evaluator: Price | None = None
    judge: Price | None = None
    evaluator_is_model: bool = False


@dataclass(frozen=True)
class RunBudget(SpendingBudget):
    """A batch's budget for one of its runs, at the prices of the run's models.

    `places` has what limits how many requests to a peer are under way at once.
    """

    whole: CallBudget
    rates: Rates
    places: Mapping[Peer, Callable[[], AbstractAsyncContextManager[None]]] = field(
        default_factory=dict
    )

    def begin(self, peer: Peer) -> None:
        """Count a call that is about to be made.

        Raises `LimitReachedError` instead if the limit is reached.
        """
        if why := self.whole.stop_reason():
            raise LimitReachedError(why)
        self.whole.calls[peer] += 1

    def charge(self, peer: Peer, tokens_in: int, tokens_out: int) -> None:
        """Add the cost of an answer; a model without a price costs nothing."""
        price = {
            "agent": self.rates.agent,
            "evaluator": self.rates.evaluator,
            "judge": self.rates.judge,
        }.get(peer)
        if price is not None:
            self.whole.cost += price.cost(tokens_in, tokens_out)

    def stop(self, why: str) -> None:
        """Allow the batch no further call. Raises `LimitReachedError`."""
        self.whole.stopped = why
        raise LimitReachedError(why)

    @property
    def spent(self) -> Spent:
        """What the whole batch has spent so far."""
        return Spent(dict(self.whole.calls), self.whole.cost)

    def add(self, spent: Spent) -> None:
        """Add what was spent elsewhere."""
        for peer, calls in spent.calls.items():
            self.whole.calls[peer] += calls
        self.whole.cost += spent.cost

    def place(self, peer: Peer) -> AbstractAsyncContextManager[None]:
        """Return what is entered while a peer is asked something: a place, if they are limited."""
        if peer in self.places:
            return self.places[peer]()
        return nullcontext()
