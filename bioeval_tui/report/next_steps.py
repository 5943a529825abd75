"""What the first screen suggests to do next, and its words.

These stand beside `findings` and `sentences`, not in them: the first paint waits for this module,
and needs none of their hundreds of kinds.
"""

from __future__ import annotations

from typing import NamedTuple

from bioeval_tui.base.text import plural
from bioeval_tui.base.units import number


class WatchNext(NamedTuple):
    """A run in progress."""

    job: str


class RepeatNext(NamedTuple):
    """A job whose last run had too few trials for an interval."""

    job: str
    trials: int
    needed: int


class CompareNext(NamedTuple):
    """A job whose last two runs have different scores.

    `agents` are the names of their agents and models, where they differ.
    """

    job: str
    before: float | None
    after: float | None
    agents: tuple[str, str] = ("", "")


class ReviewNext(NamedTuple):
    """A job whose judge nobody has reviewed."""

    job: str


class RunNext(NamedTuple):
    """A job that was never run; `path` is empty of a sample.

    Of its row in a list, it holds what the sentence says.
    """

    job: str
    path: str
    tasks: int
    facts: int
    assertions: int


NextFinding = WatchNext | RepeatNext | CompareNext | ReviewNext | RunNext
"""What to do next, which has several texts: `next_step` writes them."""


class StepWords(NamedTuple):
    """A suggestion: what to do, a few words beside it, and what it is good for."""

    what: str
    more: str
    about: str


def next_step(finding: NextFinding) -> StepWords:
    """Return a suggestion in words."""
    match finding:
        case WatchNext(job):
            return StepWords(f"Watch {job}", "in progress", "Follow the run live.")
        case RepeatNext(job, trials, needed):
            return StepWords(
                f"Run {job} with {needed} trials",
                f"its last run had {trials}",
                f"{plural(trials, 'trial')} cannot show how much of a score is chance. {needed}"
                " give a 95 % interval for each score, and for what the facts add.",
            )
        case CompareNext(job, before, after, (first, second)):
            return StepWords(
                f"Compare the last two runs of {job}",
                " → ".join(
                    " ".join(filter(None, (name, number(score))))
                    for name, score in ((first, before), (second, after))
                ),
                "Compare tasks, assertions and response times, see which differences are"
                " statistically supported, and read the passages behind each of them side by side.",
            )
        case ReviewNext(job):
            return StepWords(
                f"Review the judge of {job}",
                "not reviewed yet",
                "Read each judged task with the passages that the judge quotes, then accept the"
                " score, or give another and say why.",
            )
        case RunNext(job, path, tasks, facts, assertions):
            has = ", ".join(
                (plural(tasks, "task"), plural(facts, "fact"), plural(assertions, "assertion"))
            )
            return StepWords(
                f"Run {job}",
                "never run yet",
                f"{path or 'A sample'}: {has}. A dialog lets you choose how to run it.",
            )
