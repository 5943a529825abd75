"""What a run's models cost, from the recorded tokens and the price table.

An unknown price is unknown, never 0.

An answer that a server may charge for without saying its tokens (a stream that was cut off or
cancelled) makes the sums of its peer lower bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

from typing_extensions import TypedDict

from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import plural
from bioeval_tui.peers.prices import Price, why_no_price
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import AnswersUnused, TranscriptScored, place_of
from bioeval_tui.record.participants import Peer, name_parts
from bioeval_tui.record.spans import known_sum
from bioeval_tui.record.state import ConversationState, TokenCounts
from bioeval_tui.report.run import RecordedRun

NO_MODEL = {"evaluator": ("scripted", "human"), "scorer": ("rules",)}
"""The kinds of evaluator and judge that call no model and cost nothing."""

Asked = Sequence[TokenCounts | AnswersUnused]


_NOT_TOLD: TokenCounts = (None, None)


@dataclass(frozen=True, slots=True)
class PeerCost:
    """One peer's models: tokens as reported (None: not reported) and dollars, None with the reason
    when unknown.

    `known` are the dollars of the answers whose cost is known: all of `dollars`, or a lower bound.
    `uncounted` is the number of answers without a token count.
    """

    peer: Peer
    tokens_in: int | None
    tokens_out: int | None
    dollars: float | None
    why_unknown: str = ""
    known: float = 0.0
    uncounted: int = 0

    @property
    def is_partly_known(self) -> bool:
        """Whether `known` is a lower bound of the cost, and not nothing."""
        return self.dollars is None and self.known > 0


@dataclass(frozen=True, slots=True)
class Spent:
    """All peers of some conversations. `held` is the number of conversations."""

    peers: tuple[PeerCost, ...]
    held: int

    @property
    def dollars(self) -> float | None:
        """The total cost in dollars; None if a peer's is unknown."""
        if self.unknown:
            return None
        return self.known

    @property
    def known(self) -> float:
        """The total cost of the answers whose cost is known, in dollars."""
        return round(sum(peer.known for peer in self.peers), 9)

    @property
    def unknown(self) -> tuple[PeerCost, ...]:
        """The peers whose cost is not, or not completely, known."""
        return tuple(peer for peer in self.peers if peer.dollars is None)

    def of(self, peer: Peer) -> PeerCost:
        """Return one peer's share."""
        return next(cost for cost in self.peers if cost.peer == peer)


def spent(
    runs: Iterable[RecordedRun],
    condition: Condition | None = None,
    trials: Collection[int] | None = None,
) -> Spent:
    """Add up the tokens and cost of the conversations, with the recorded verdicts but not later
    ones.

    With `condition` or `trials`, only those of this condition, or of these trials.
    """

    def counts(talk: ConversationState) -> bool:
        return condition in (None, talk.key.condition) and (
            trials is None or talk.key.trial in trials
        )

    by_run = [(run, [talk for talk in run.talks if counts(talk)]) for run in runs]
    each = [_peer_costs(run, talks) for run, talks in by_run if talks]
    held = sum(len(talks) for _, talks in by_run)
    return Spent(tuple(_sum(peer, each) for peer in ("agent", "evaluator", "judge")), held)


def _sum(peer: Peer, each: Sequence[dict[Peer, PeerCost]]) -> PeerCost:
    costs_of_peer = [costs[peer] for costs in each]
    why = next((cost.why_unknown for cost in costs_of_peer if cost.dollars is None), "")
    if not costs_of_peer:
        why = "no conversation was run"
    dollars: float | None = None
    if not why:
        dollars = sum(cost.dollars for cost in costs_of_peer if cost.dollars is not None)
    return PeerCost(
        peer,
        known_sum(cost.tokens_in for cost in costs_of_peer),
        known_sum(cost.tokens_out for cost in costs_of_peer),
        dollars,
        why,
        sum(cost.known for cost in costs_of_peer),
        sum(cost.uncounted for cost in costs_of_peer),
    )


def _peer_costs(run: RecordedRun, talks: Sequence[ConversationState]) -> dict[Peer, PeerCost]:
    abandoned: list[ConversationState] = []
    for talk in talks:
        abandoned += [attempt for attempt in talk.attempts if attempt is not talk]
    conversations = [*talks, *abandoned]
    answers = chain.from_iterable(talk.tokens_of("agent") for talk in conversations)
    lines = chain.from_iterable(talk.tokens_of("evaluator") for talk in conversations)
    # not a list of verdicts: those of a large run are made one by one
    given = chain(
        (run.recorded_verdict(talk.key) for talk in talks), (talk.verdict for talk in abandoned)
    )
    verdicts = [
        _tokens_of(verdict) for verdict in given
        if verdict is not None and (verdict.error is None or _tokens_of(verdict) != _NOT_TOLD)
    ]  # fmt: skip

    def unused_by(peer: Peer) -> list[AnswersUnused]:
        return list(chain.from_iterable(_unused_answers(talk, peer) for talk in conversations))

    return {
        "agent": _agent(run, [*answers, *unused_by("agent")]),
        "evaluator": _evaluator(run, [*lines, *unused_by("evaluator")]),
        "judge": _judge(run, [*verdicts, *unused_by("judge")]),
    }


def _unused_answers(talk: ConversationState, peer: Peer) -> list[AnswersUnused]:
    """Return the answers that were paid for and not used; in a recording that lists none, those
    that failed.
    """
    listed = [each for each in talk.unused if each.peer == peer]
    failed = [
        failure
        for failure in talk.request_failures
        if failure.peer == peer and failure.status is None and not failure.unreachable
    ]
    if listed or not failed:
        return listed
    last, count = failed[-1], len(failed)
    return [AnswersUnused(**place_of(last), peer=peer, answers=count, uncounted=count)]


def _agent(run: RecordedRun, answers: Asked) -> PeerCost:
    if not run.state.agent_is_model:
        return _unpriced("agent", answers, "the agent does not report its cost")
    host = next(iter(run.started.hosts), "")
    return _priced(run, "agent", answers, [run.started.model], host)


def _evaluator(run: RecordedRun, lines: Asked) -> PeerCost:
    kind = run.kind_of("evaluator")
    if kind in NO_MODEL["evaluator"]:
        return PeerCost("evaluator", None, None, 0.0)
    if kind != "llm":
        return _unpriced("evaluator", lines, f"the cost of an evaluator of kind {kind} is unknown")
    models = run.started.options.get("evaluator_model") or run.started.evaluator
    if isinstance(models, str):
        models = [models]
    return _priced(run, "evaluator", lines, models, _models_host(run, "evaluator"))


def _judge(run: RecordedRun, verdicts: Asked) -> PeerCost:
    kind = run.kind_of("scorer")
    if kind in NO_MODEL["scorer"]:
        return PeerCost("judge", None, None, 0.0)
    if kind != "llm":
        return _unpriced("judge", verdicts, f"the cost of a judge of kind {kind} is unknown")
    models = run.started.options.get("judge_model")
    if not isinstance(models, list | tuple) or not models:
        models = [name_parts(run.started.judge)[0]]
    return _priced(run, "judge", verdicts, models, _models_host(run, "judge"))


def _models_host(run: RecordedRun, role: str) -> str:
    """Return the host of a role's model."""
    named = run.started.options.get(f"{role}_host")
    hosts = run.started.hosts
    if isinstance(named, str):
        return named
    if hosts:
        return hosts[min(1, len(hosts) - 1)]
    return ""


def _priced(
    run: RecordedRun, peer: Peer, asked: Asked, models: Sequence[Any], host: str
) -> PeerCost:
    prices: list[Price] = []
    for model in models:
        price = run.prices.of(str(model) if model else None, host)
        if price is None:
            return _unpriced(peer, asked, why_no_price(model, host))
        prices.append(price)
    counts = [_counts(each) for each in asked]
    # A panel's tokens are recorded as one sum, so use its highest price, which is never too low.
    price = max(prices, key=lambda each: each.tokens_out)
    dollars = sum(price.cost(tokens_in or 0, tokens_out or 0) for tokens_in, tokens_out in counts)
    if without := _answers_without_tokens(asked):
        made = sum(each.answers if isinstance(each, AnswersUnused) else 1 for each in asked)
        why = f"no token count in {without} of {plural(made, 'answer')}"
        return _unpriced(peer, asked, why, dollars)
    return PeerCost(peer, *_tokens(asked), dollars, known=dollars)


def _unpriced(peer: Peer, asked: Asked, why: str, known: float = 0.0) -> PeerCost:
    """Return the cost of a peer some of whose answers have no known price; 0 if it gave none."""
    if not asked:
        return PeerCost(peer, None, None, 0.0)
    return PeerCost(peer, *_tokens(asked), None, why, known, _answers_without_tokens(asked))


def _answers_without_tokens(asked: Asked) -> int:
    told = _told(asked)
    return (
        len(asked)
        - len(told)
        + sum(
            each.uncounted if isinstance(each, AnswersUnused) else None in _counts(each)
            for each in told
        )
    )


def _told(asked: Asked) -> Asked:
    """Return those that are not two unknown numbers, as all answers are of an imported file."""
    return [each for each in asked if each != _NOT_TOLD]


def _tokens(asked: Asked) -> TokenCounts:
    counts = [_counts(each) for each in _told(asked)]
    return known_sum(tokens_in for tokens_in, _ in counts), known_sum(
        tokens_out for _, tokens_out in counts
    )


def _counts(asked: TokenCounts | AnswersUnused) -> TokenCounts:
    if isinstance(asked, tuple):
        return asked
    return _tokens_of(asked)


def _tokens_of(answered: TranscriptScored | AnswersUnused) -> TokenCounts:
    counts = answered.tokens_in, answered.tokens_out
    return _NOT_TOLD if counts == _NOT_TOLD else counts


PEER = Fields(
    PeerCost,
    "tokens_in", "tokens_out", "uncounted", "dollars", "known_dollars", "why_unknown",
    called="PrintedPeerCost", about="What one role cost.",
    known_dollars=float | None,
    why_unknown=str | None,
)  # fmt: skip


class PrintedCost(TypedDict):
    """Tokens and cost of each model."""

    dollars: float | None
    known_dollars: float | None
    conversations: int
    peers: dict[str, Annotated[dict[str, Any], PEER]]


def cost_dict(total: Spent) -> PrintedCost:
    """Return the cost for JSON, in dollars: `dollars` is null when a peer's cost is unknown,
    `known_dollars` a lower bound.
    """
    return {
        "dollars": _rounded(total.dollars),
        "known_dollars": _rounded(total.known),
        "conversations": total.held,
        "peers": {
            peer.peer: PEER.of(
                peer,
                dollars=_rounded(peer.dollars),
                known_dollars=_rounded(peer.known),
                why_unknown=peer.why_unknown or None,
            )
            for peer in total.peers
        },
    }


def _rounded(dollars: float | None) -> float | None:
    """Return dollars without rounding errors of floating-point sums."""
    if dollars is None:
        return None
    return round(dollars, 9)
