"""Two agents beside each other with the same job, for somebody who sees a result for the first
time.

Below the answer of their comparison: the scores by condition, and the assertion on which they
differ most with what each agent said there. `comparison` has everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bioeval_tui.base.text import clean_line, quotation
from bioeval_tui.report import rows
from bioeval_tui.report.comparison import Comparison, ConditionComparison
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult

LONGEST = 160
"""The most characters of what somebody said."""
DIFFERS = ("fixed", "broken")
"""What becomes of an assertion on which two agents wholly differ."""


@dataclass(frozen=True, slots=True)
class AgentSaid:
    """What an agent said where the two differ, and whether the assertion passed."""

    agent: str
    turn: int
    words: str
    passed: bool


@dataclass(frozen=True, slots=True)
class BesideEachOther:
    """Two agents with the same job."""

    conditions: tuple[str, ...]
    """What the conditions are called."""
    scores: tuple[tuple[str, tuple[float | None, ...]], ...]
    """Each agent's scores, by its name."""
    condition: str
    assertion: str
    """On which assertion they differ, and where; empty if there is none."""
    user: str
    """What the user said before their answers part."""
    said: tuple[AgentSaid, ...]


def pair_outcomes(comparison: Comparison) -> BesideEachOther:
    """Return what two runs of the same job came to."""
    a, b, shared = comparison.a, comparison.b, comparison.conditions
    condition, assertion, user = "", "", ""
    said: tuple[AgentSaid, ...] = ()
    if (found := _differing(shared)) is not None:
        differing, assertion = found
        condition = differing.title
        user, said = _parting(a, b, differing, assertion)
    return BesideEachOther(
        conditions=tuple(one.title for one in shared),
        scores=(
            (agent_name(a), tuple(one.a.mean for one in shared)),
            (agent_name(b), tuple(one.b.mean for one in shared)),
        ),
        condition=condition,
        assertion=assertion,
        user=user,
        said=said,
    )


def agent_name(run: RunResult) -> str:
    """Return what tells an agent from the other: the model that was asked for, or its name."""
    return clean_line(run.asked_model or run.brief.agent_words, 40)


def _differing(conditions: Sequence[ConditionComparison]) -> tuple[ConditionComparison, str] | None:
    """Return the assertion with the most weight on which the runs wholly differ, with its
    condition; None without one.
    """
    found: list[tuple[float, ConditionComparison, str]] = []
    for one in conditions:
        found += [
            (check.weight, one, check.title)
            for check in one.assertions
            if check.change in DIFFERS and check.weight
        ]
    if found:
        return max(found, key=lambda each: each[0])[1:]
    return None


def _parting(
    a: RunResult, b: RunResult, compared: ConditionComparison, title: str
) -> tuple[str, tuple[AgentSaid, ...]]:
    """Return what the user said before the answers of both first conversations part, and what each
    agent said.
    """
    one, other = (run.conversation(compared.condition, 1) for run in (a, b))
    if one is None or other is None:
        return "", ()
    states = (run.state.conversation(compared.condition, 1) for run in (a, b))
    answer = rows.first_difference(*states, answers=True) or 1
    before = one.message(answer - 1)
    said = tuple(_said(run, talk, title, answer) for run, talk in ((a, one), (b, other)))
    return _short(before.text if before else ""), said


def _said(run: RunResult, talk: ConversationResult, title: str, otherwise: int) -> AgentSaid:
    """Return the answer with which an assertion got its final status; if it always had it, the one
    in which the agents part.
    """
    check = next(check for check in talk.checks if check.title == title)
    decided = talk.answer_in(rows.decided_in(talk.timelines.get(check.index, [])))
    message = talk.message(decided or otherwise)
    turn, words = (message.turn, message.text) if message is not None else (0, "")
    return AgentSaid(agent_name(run), turn, _short(words), check.status == "passed")


def _short(text: str) -> str:
    return quotation(text, LONGEST)
