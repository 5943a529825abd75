"""Which conversations a page shows of a large run: nobody reads thousands, and no browser opens
them well.

Figures are never of these alone: they are of all conversations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bioeval_tui.record.condition_names import Condition
from bioeval_tui.report.findings import TrialsChosen, WorstShown
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult
from bioeval_tui.report.sentences import sentence
from bioeval_tui.statistics.means import exact_mean

MOST_CONVERSATIONS = 200
"""How many conversations of a run a page shows, unless somebody chose trials."""


@dataclass(frozen=True, slots=True)
class ShownTrials:
    """The trials whose conversations are shown, in the order in which they are."""

    trials: tuple[int, ...]
    words: str = ""
    """Which these are, and how to see the others; empty where they are all."""


def shown_trials(run: RunResult, chosen: Sequence[range]) -> ShownTrials:
    """Return which trials are shown: those that were chosen, or all. Of a run with more than
    `MOST_CONVERSATIONS`, only those that went worst are, the worst first.
    """
    sizes = Counter(key.trial for key in run.state.conversations)
    held = sizes.total()
    if chosen:
        trials = [trial for trial in run.trials if any(trial in some for some in chosen)]
        shown = sum(sizes[trial] for trial in trials)
        return ShownTrials(tuple(trials), sentence(TrialsChosen(shown, held)))
    if held <= MOST_CONVERSATIONS:
        return ShownTrials(tuple(run.trials))
    trials = _worst(run, sizes)
    shown = sum(sizes[trial] for trial in trials)
    return ShownTrials(tuple(trials), sentence(WorstShown(shown, held, run.run_id)))


def _worst(run: RunResult, sizes: Mapping[int, int]) -> list[int]:
    """Return the worst trials with as many conversations as may be shown: a trial stays whole."""
    # The placebo is no use of the agent: nobody has to read first where it went badly.
    conditions = run.scored_conditions
    worst: list[int] = []
    room = MOST_CONVERSATIONS
    for trial in sorted(run.trials, key=lambda trial: _rank(run, trial, conditions)):
        room -= sizes[trial]
        if room < 0:
            break
        worst.append(trial)
    return worst


def _rank(
    run: RunResult, trial: int, conditions: Sequence[Condition]
) -> tuple[bool, bool, float, int]:
    """Return the place of a trial: first those in which the judge failed a task, then by their mean
    score; last those without a score, of which the warnings tell.
    """
    found = (run.conversation(condition, trial) for condition in conditions)
    talks = [talk for talk in found if talk is not None and talk.score is not None]
    failed = any(_has_failed_task(talk) for talk in talks)
    scores = [talk.score for talk in talks if talk.score is not None]
    mean = exact_mean(scores) if scores else 0.0
    return not scores, not failed, mean, trial


def _has_failed_task(talk: ConversationResult) -> bool:
    return any(task.passed is False for task in talk.tasks)
