"""All guards over one message of the simulated user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from bioeval_tui.evaluation.guards.content import contradiction, facts_given_away, invention
from bioeval_tui.evaluation.guards.ending import early_end, gave_up, never_ended
from bioeval_tui.evaluation.guards.voice import leak, non_answer, out_of_role, repetition, role_swap
from bioeval_tui.evaluation.models.prompting import Prompt
from bioeval_tui.evaluation.seams import EvaluatorView, Violation

MAX_CHECKED = 10_000
"""Maximum number of characters of a message that are checked; people type fewer."""

RULES: Mapping[str, str] = {
    "leak": "shows its reasoning or words of its prompt",
    "out_of_role": "speaks of the vignette, the prompt or its instructions",
    "role_swap": "speaks as the assistant",
    "fact_withheld": "says a fact that was withheld from it",
    "fact_unasked": "gives a fact that the agent had not asked for",
    "early_signoff": "ends while a task has not been brought up, or instead of an answer",
    "never_ended": "says goodbye again and again",
    "gave_up": "gives up what it wanted",
    "contradiction": "contradicts a fact that it was told",
    "invention": "makes up a number or a quantity",
    "non_answer": "answers what it has mentioned, not what it was asked",
    "repetition": "says again what it said before",
}
"""Every rule, and what breaks it."""

# The most serious first: the evaluator's second attempt is told only the first finding.
_GUARDS: tuple[Callable[[EvaluatorView, str], Violation | None], ...] = (
    out_of_role,
    role_swap,
    facts_given_away,
    early_end,
    never_ended,
    gave_up,
    contradiction,
    invention,
    non_answer,
    repetition,
)


def check(view: EvaluatorView, text: str, prompt: Prompt | None = None) -> list[Violation]:
    """Return the violations in the evaluator's message `text`, the most serious first.

    `prompt` is the evaluator's prompt, whose words must not appear. The job's
    `evaluator.guards` decides the effect of a finding: with `strict`, every finding voids the message.
    """
    mode = view.job.evaluator.guards
    if mode == "off":
        return []
    text = text[:MAX_CHECKED]
    verdicts = [leak(view, text, prompt), *(guard(view, text) for guard in _GUARDS)]
    violations = [violation for violation in verdicts if violation is not None]
    if mode == "strict":
        violations = [replace(violation, effect="void") for violation in violations]
    return sorted(violations, key=lambda violation: violation.effect != "void")
