"""All guards over one message of the simulated user."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bioeval_tui.guards.content import early_end, facts_given_away, invention
from bioeval_tui.guards.voice import leak, repetition, role_swap
from bioeval_tui.protocols import EvaluatorView, Violation

MAX_CHECKED = 10_000
"""Most characters of a message that are checked; a person types no more."""

Guard = Callable[[EvaluatorView, str], Violation | None]

# The gravest first: the evaluator's second try is told of the first that is found.
_GUARDS: tuple[Guard, ...] = (leak, role_swap, facts_given_away, early_end, invention, repetition)

RULES: Mapping[str, str] = {
    "leak": "shows its reasoning or words of its prompt",
    "role_swap": "speaks as the assistant",
    "fact_withheld": "says a fact that was withheld from it",
    "fact_unasked": "gives a fact that the agent had not asked for",
    "early_signoff": "ends while a task has not been brought up",
    "invention": "makes up a place, date, time, dose, name or number",
    "repetition": "says again what it said before",
}
"""Every rule, and what breaks it."""


def check(view: EvaluatorView, text: str) -> list[Violation]:
    """Return what is wrong with the evaluator's message `text`, the gravest first; empty if nothing is."""
    text = text[:MAX_CHECKED]
    return [violation for guard in _GUARDS if (violation := guard(view, text)) is not None]
