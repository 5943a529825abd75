"""What of a difference is the facts', and what the longer talk's that they bring.

A run with a placebo has three conditions. The difference of the conditions with and without the
facts is the sum of two: with the facts − with the placebo (the facts), and with the placebo −
without the facts (the longer talk). All three are of the same trials, and on the criteria that the
conditions share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from bioeval_tui.peers.placebo import differ_too_much
from bioeval_tui.record.condition_names import PLACEBO_NAME
from bioeval_tui.report.findings import ControlFinding, FactsOrTalk, NoControl, TalkDiffers
from bioeval_tui.report.run import ConversationResult, RecordedRun
from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.means import exact_mean
from bioeval_tui.statistics.paired_differences import Difference, corrected, difference, differences

_FACTS, _TALK = ("facts",), ("talk",)


class Words(NamedTuple):
    """How many words the user told in a conversation, on average, without the greeting."""

    without: float
    with_facts: float
    placebo: float


@dataclass(frozen=True)
class Control:
    """The parts of a difference, of the trials that have all three scores."""

    total: Difference
    """With the facts − without."""
    facts: Difference
    """With the facts − with the placebo."""
    talk: Difference
    """With the placebo − without the facts."""
    words: Words | None
    """None if no trial has all three scores."""
    words_differ: bool
    """Whether the placebo's user told so many words more or fewer than the one with the facts that
    nothing can be said.
    """
    planned: int
    """The trials in which all three were to be held."""

    @property
    def is_told_apart(self) -> bool:
        """Whether the parts may be told: there are some, and both users talked as long."""
        return self.total.mean is not None and not self.words_differ

    @cached_property
    def finding(self) -> ControlFinding:
        """What is said of it."""
        used = len(self.total.estimate.points)
        if self.words is None or self.total.mean is None:
            return NoControl()
        if self.words_differ:
            return TalkDiffers(self.words.with_facts, self.words.placebo)
        return FactsOrTalk(self.total, self.facts, self.talk, used, self.planned)


class ThreeValues(NamedTuple):
    """A trial's values in the three conditions: all of them, or none and why not."""

    without: Sample
    with_facts: Sample
    placebo: Sample
    words: Words | None


def find_control(
    runs: Sequence[RecordedRun], beside: Mapping[tuple[Any, ...], Difference]
) -> Control | None:
    """Return the parts of the difference of some runs; None if none was run with a placebo.

    `beside` are the tests that share the 5 % with that of the difference: with more than its share,
    a part of it could be told from chance where the whole is not.
    """
    held = [run for run in runs if run.contrast and PLACEBO_NAME in run.started.conditions]
    if not held:
        return None
    trials: list[ThreeValues] = []
    for run in held:
        trials += [_three(run, trial) for trial in run.trials]
    return tell_apart(trials, sum(run.planned_trials for run in held), beside)


def tell_apart(
    trials: Sequence[ThreeValues],
    planned: int,
    beside: Mapping[tuple[Any, ...], Difference] | None = None,
) -> Control:
    """Return the parts of the difference of these trials, with p-values corrected for each other
    and for the tests `beside` them.
    """
    parts: dict[tuple[Any, ...], Difference] = {
        _FACTS: _difference([(each.placebo, each.with_facts) for each in trials]),
        _TALK: _difference([(each.without, each.placebo) for each in trials]),
    }
    both = corrected(parts, beside or {})
    counts = [each.words for each in trials if each.words is not None]
    return Control(
        total=_difference([(each.without, each.with_facts) for each in trials]),
        facts=both[_FACTS],
        talk=both[_TALK],
        words=_mean_words(counts),
        words_differ=differ_too_much(
            sum(each.with_facts for each in counts), sum(each.placebo for each in counts)
        ),
        planned=planned,
    )


def _difference(pairs: Sequence[tuple[Sample, Sample]]) -> Difference:
    return difference(differences(pairs))


def _three(run: RecordedRun, trial: int) -> ThreeValues:
    assert run.contrast is not None
    without, with_facts = run.contrast
    talks = [run.conversation(name, trial) for name in (without, with_facts, PLACEBO_NAME)]
    missing = _why_missing(run, trial, talks)
    if missing is not None:
        return ThreeValues(missing, missing, missing, None)
    held = [talk for talk in talks if talk is not None]
    one, two, three = (talk.shared_sample for talk in held)
    return ThreeValues(one, two, three, Words(*(talk.words_told for talk in held)))


def _why_missing(
    run: RecordedRun, trial: int, talks: Sequence[ConversationResult | None]
) -> Sample | None:
    """Return a sample with the reason why a trial has not all three values; None if it has."""
    if why := run.why_not_compared(trial):
        return Sample(run.started.job_name, None, why)
    for talk in talks:
        if talk is None:
            return Sample(run.started.job_name, None, "not run in all conditions")
        if talk.shared_sample.value is None:
            return replace(talk.shared_sample, value=None)
    return None


def _mean_words(counts: Sequence[Words]) -> Words | None:
    if not counts:
        return None
    return Words(*(exact_mean(column) for column in zip(*counts, strict=True)))
