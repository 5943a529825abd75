"""The budget of a batch: its calls and cost so far, and whether another call may be made."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from bioeval_tui.evaluation.prices import Price
from bioeval_tui.evaluation.spending import LimitReachedError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import plural


@dataclass(frozen=True, slots=True)
class Rates:
    """The cost of one run's calls. None for a role that is not a model, or that the user does not pay for."""

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

    def stop_reason(self) -> str | None:
        """Return why no further call may be made; None if one may."""
        made = sum(self.calls.values())
        if self.max_calls is not None and made >= self.max_calls:
            return f"the limit is reached: {plural(made, 'call')} made, the limit is {self.max_calls:,}"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the limit is reached: about ${self.cost:.4f} spent, the limit is ${self.max_cost:g}"
        return None


@dataclass(frozen=True)
class RunBudget:
    """A batch's budget for one of its runs, at the prices of the run's models."""

    whole: CallBudget
    rates: Rates

    def begin(self, peer: Peer) -> None:
        """Count a call that is about to be made. Raises `LimitReachedError` instead if the limit is reached."""
        if why := self.whole.stop_reason():
            raise LimitReachedError(why)
        self.whole.calls[peer] += 1

    def charge(self, peer: Peer, tokens_in: int, tokens_out: int) -> None:
        """Add the cost of an answer; a model without a price costs nothing."""
        price = {"agent": self.rates.agent, "evaluator": self.rates.evaluator, "judge": self.rates.judge}.get(
            peer
        )
        if price is not None:
            self.whole.cost += price.cost(tokens_in, tokens_out)
