"""The budget of a batch: calls and cost counted from its events, and whether to start another conversation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from bioeval_tui.evaluation.prices import Price
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.text import plural

CHARACTERS_PER_TOKEN = 4
PROMPT_TOKENS = 1500
"""Approximate tokens that a prompt adds to the transcript, before a run, or if the endpoint reports no tokens."""
VERDICT_TOKENS = 200
"""Approximate length of a judge's reason for one task, in tokens."""


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
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    cost: float = 0.0
    _said: dict[tuple[str, str | None, int | None, int | None], int] = field(
        default_factory=lambda: defaultdict(int)
    )

    def stop_reason(self) -> str | None:
        """Return why no further conversation may begin; None if one may."""
        made = sum(self.calls.values())
        if self.max_calls is not None and made >= self.max_calls:
            return f"no more conversations were started: {plural(made, 'call')} made, the limit is {self.max_calls:,}"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return (
                f"no more conversations were started: about ${self.cost:.4f} spent, the limit is "
                f"${self.max_cost:g}"
            )
        return None

    def take(self, event: RunEvent, rates: Rates) -> None:
        """Count the calls and tokens of an event."""
        match event:
            case events.MessageStarted(role="assistant"):
                self.calls["agent"] += 1
            case events.MessageStarted(role="user") if rates.evaluator_is_model and event.message > 1:
                self.calls["evaluator"] += event.speaker != "operator"
            case events.MessageCompleted():
                self._completed(event, rates)
            case events.TranscriptScored() if rates.judge_calls:
                self.calls["judge"] += rates.judge_calls
                guess = VERDICT_TOKENS * max(1, len(event.tasks))
                # Reported counts are sums over all calls; estimates are for one call.
                for _ in range(rates.judge_calls if event.tokens_in is None else 1):
                    self._add(rates.judge, event, event.tokens_in, event.tokens_out, guess)
            case _:
                pass

    def _completed(self, event: events.MessageCompleted, rates: Rates) -> None:
        price = rates.agent if event.role == "assistant" else rates.evaluator
        asked_a_model = event.role == "assistant" or (event.message > 1 and not event.operator)
        out = len(event.content) // CHARACTERS_PER_TOKEN + 1
        if asked_a_model:
            # A chat agent receives the messages, but none of our prompts.
            prompt = 0 if event.role == "assistant" else PROMPT_TOKENS
            self._add(price, event, event.tokens_in, event.tokens_out, out, prompt)
        self._said[_key(event)] += out

    def _add(
        self,
        price: Price | None,
        event: RunEvent,
        tokens_in: int | None,
        tokens_out: int | None,
        guess: int,
        prompt: int = PROMPT_TOKENS,
    ) -> None:
        if price is not None:
            known_in = prompt + self._said[_key(event)] if tokens_in is None else tokens_in
            self.cost += price.cost(known_in, guess if tokens_out is None else tokens_out)


def _key(event: RunEvent) -> tuple[str, str | None, int | None, int | None]:
    return event.run_id, event.condition, event.trial, event.attempt
