"""What requests take and cost: they are counted where they are sent, whatever becomes of the
answer; how many a run can make; prices, and the limits of a batch.

A call is a message to the agent, or a request to a model, each time that it is sent. Of an agent,
opening a session and reading its state are none.

A table of prices is in the package, overridden by the user's own in the data folder. A missing
price is unknown, never 0. The included prices apply to the provider's own host only, because the
same model on another server may cost something else, or nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from bioeval_tui.base.errors import BioevalError, InputError, Problem
from bioeval_tui.base.peer_limits import MAX_ROUNDS
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.base.units import dollars
from bioeval_tui.jobs.models import Api, ConversationSeed, EvaluationJob, ModelOptions
from bioeval_tui.peers.retry import RetryRule
from bioeval_tui.record.names import Peer
from bioeval_tui.record.spans import known_sum

CHARACTERS_PER_TOKEN = 4
"""Approximate length of a token, for answers without a token count."""


class LimitReachedError(BioevalError):
    """The batch may make no further call: its calls or cost have reached their limit, or a model's
    quota is used up.
    """


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


TIMES_HELD = 2
"""How often a conversation is held: once more if the connection to the agent breaks."""
TRIES_OF_A_MESSAGE = 2
"""How often the user's model is asked for a message of another form (`Dialogue._try_to_speak`)."""
TRIES_IN_ROLE = 2
"""How often it is asked for a message that no guard objects to (`Dialogue._evaluator_speaks`)."""


@dataclass(frozen=True, slots=True)
class Calls:
    """How many calls are made if nothing is sent twice, and at most."""

    usual: int = 0
    most: int = 0

    def times(self, number: int) -> Calls:
        """Return that many times these calls."""
        return Calls(self.usual * number, self.most * number)


NO_CALLS = Calls()


def total_calls(calls: Iterable[Calls]) -> Calls:
    """Return all calls together."""
    listed = list(calls)
    return Calls(sum(each.usual for each in listed), sum(each.most for each in listed))


def most_refusals(options: ModelOptions, api: Api, *, instructed: bool, schema: bool) -> int:
    """Return how many requests a server can refuse for an option before it takes one without them
    (`ChatModel`).

    `instructed`: the messages have a system message.
    """
    asked = [
        options.temperature is not None,
        options.max_tokens is not None,
        options.streaming,
        options.streaming and api == "chat",  # its `stream_options`
        instructed,
    ]
    return sum(asked) + 2 * schema  # a schema, then JSON alone


def agent_calls(
    job: EvaluationJob, rule: RetryRule, ours_for_s: float, *, is_model: bool, takes_history: bool
) -> Calls:
    """Return the calls of the agent in one conversation: every second message, and seeds that it
    has to be told.
    """
    messages = job.max_messages // 2
    if not takes_history:
        for seed in job.seeds:
            if isinstance(seed, ConversationSeed):
                messages += sum(message.role == "user" for message in seed.messages)
    each, refused = rule.most_requests(ours_for_s), 0
    if is_model:
        # A model is asked again after each round of tool calls, and only what failed of a round is
        # repeated.
        if job.target.tools:
            each += MAX_ROUNDS - 1
        refused = most_refusals(
            job.target, job.target.api, instructed=bool(job.target.system_prompt), schema=False
        )
    return Calls(messages, TIMES_HELD * (messages * each + refused))


def evaluator_calls(job: EvaluationJob, rule: RetryRule, ours_for_s: float) -> Calls:
    """Return the calls of the user's model in one conversation: for each of its messages but the
    greeting.
    """
    messages = job.max_messages // 2 - 1
    tries = TRIES_OF_A_MESSAGE
    if job.evaluator.guards != "off":
        tries *= TRIES_IN_ROLE
    refused = most_refusals(job.evaluator, job.evaluator.api, instructed=True, schema=True)
    each = tries * rule.most_requests(ours_for_s)
    return Calls(messages, TIMES_HELD * (messages * each + refused))


def judge_calls(job: EvaluationJob, tasks: int, rule: RetryRule, *, lists_faults: bool) -> Calls:
    """Return the calls of one of the judge's models for one transcript with so many tasks to score.

    All tasks are asked for at once, then what is missing, then task by task (`LLMJudge`). A model
    that also `lists_faults` of the user is asked for them once.
    """
    if not tasks:
        return NO_CALLS
    refused = most_refusals(job.scorer, job.scorer.api, instructed=True, schema=True)
    questions = 2
    if tasks > 1:
        questions += tasks
    verdict = Calls(1, questions * rule.attempts + refused).times(job.scorer.repeats)
    # What the server refused for the verdict is left out by now.
    faults = Calls(1, rule.attempts) if lists_faults else NO_CALLS
    return total_calls((verdict, faults))


FILE_NAME = "prices.yml"
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model, in dollars per million tokens in and out."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """Return the cost of that many tokens, in dollars."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1_000_000


class Prices:
    """Prices by model; the user's own override the included ones."""

    def __init__(
        self, shipped: Mapping[str, Mapping[str, Price]], own: Mapping[str, Price]
    ) -> None:
        """`shipped` is by host, then by model."""
        self._shipped = shipped
        self._own = own

    def of(self, model: str | None, host: str) -> Price | None:
        """Return the price of a model at `host`; None if it is unknown.

        A dated name (`gpt-4.1-mini-2025-04-14`) has the price of the undated one unless it has its
        own.
        """
        if model is None:
            return None
        for name in (model, _DATED.sub("", model)):
            price = self._own.get(name) or self._shipped.get(host.partition(":")[0], {}).get(name)
            if price is not None:
                return price
        return None


def load_prices(own_file: Path | None) -> Prices:
    """Read the included table and, if it exists, the user's own file.

    Raises:
        InputError: the user's file is wrong, with every problem in it.
    """
    text = resources.files("bioeval_tui.evaluation").joinpath(FILE_NAME).read_text(encoding="utf-8")
    shipped = {host: _table(models, FILE_NAME) for host, models in _yaml(text, FILE_NAME).items()}
    own: Mapping[str, Price] = {}
    if own_file is not None and own_file.is_file():
        name = clean_line(str(own_file))
        try:
            own = _table(_yaml(own_file.read_text(encoding="utf-8-sig"), name), name)
        except (OSError, UnicodeDecodeError):
            raise InputError("prices", (Problem("cannot be read as UTF-8 text", name),)) from None
    return Prices(shipped, own)


@lru_cache(maxsize=1)
def shipped_prices() -> Prices:
    """Return the included prices."""
    return load_prices(None)


def _yaml(text: str, file: str) -> dict[str, Any]:
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # Numbers and dates that do not exist are a ValueError.
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise InputError("prices", (Problem("not valid YAML", file, line, column),)) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InputError("prices", (Problem("must be a mapping of models to {in, out}", file),))
    return {str(key): value for key, value in data.items()}


def _table(models: Any, file: str) -> dict[str, Price]:
    prices: dict[str, Price] = {}
    problems = []
    if not isinstance(models, dict):
        return prices
    for model, entry in models.items():
        numbers = [entry.get(key) for key in ("in", "out")] if isinstance(entry, dict) else []
        known = [float(number) for number in numbers if _is_price(number)]
        if len(known) == 2:
            prices[str(model)] = Price(*known)
        else:
            message = "write {in: …, out: …}, dollars for a million tokens, neither below 0"
            problems.append(Problem(message, file, field=clean_line(str(model), 100)))
    if problems:
        raise InputError("prices", tuple(problems))
    return prices


def _is_price(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6


@dataclass(frozen=True, slots=True)
class Rates:
    """The cost of one run's calls.

    None for a role that is not a model, or that the user does not pay for.
    """

    agent: Price | None = None
    evaluator: Price | None = None
    judge: Price | None = None
    judge_calls: int = 0
    """Calls for one transcript: judges times repeats; 0 if the judge is not a model."""
    evaluator_is_model: bool = False


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


@dataclass(frozen=True)
class RunBudget(SpendingBudget):
    """A batch's budget for one of its runs, at the prices of the run's models."""

    whole: CallBudget
    rates: Rates

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
