"""Comparison of two runs by condition, paired by trial, with conclusions, and how the runs differ
besides their results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, Generic, Literal, TypeVar, overload

from bioeval_tui.base.text import clean_line, plural, shorten
from bioeval_tui.base.units import date, day, number
from bioeval_tui.record.condition_names import PLACEBO_NAME, Condition
from bioeval_tui.record.events import ConversationScored, ScorePart
from bioeval_tui.record.score import (
    NEVER_ANSWERED,
    Composite,
    assertion_part,
    contributions,
    judged_part,
    reweighted,
)
from bioeval_tui.record.state import PASSED, MessageState
from bioeval_tui.report import findings as of
from bioeval_tui.report.answer import Answer, how_sure
from bioeval_tui.report.contents import NOTHING, Contents, InCommon, common_contents
from bioeval_tui.report.costs import Spent, spent
from bioeval_tui.report.findings import Finding
from bioeval_tui.report.plans import advice
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.reviews import verdicts_replaced
from bioeval_tui.report.run import ConversationResult
from bioeval_tui.report.sentences import PARTS, part_title, sentence, under
from bioeval_tui.report.summary import condition_title
from bioeval_tui.statistics.estimates import (
    Estimate,
    Proportion,
    Sample,
    estimate,
    grouped,
    proportion,
)
from bioeval_tui.statistics.means import average, exact_mean
from bioeval_tui.statistics.paired_differences import (
    FOUND_AT,
    Difference,
    corrected,
    difference,
    differences,
)

_LISTED, _LONGEST = 3, 40
"""How many differences between two jobs a note lists, and the most characters of each path and
value.
"""
_LONGEST_ERROR = 60
"""The most characters of an agent's error."""
_BEFORE, _READ = 15, 20_000
"""How many characters a note shows before two values differ, and how far it looks for that."""


def times_not_compared(a: RunResult, b: RunResult) -> of.TimesNotCompared | None:
    """Return why response times of the two runs are not compared; None if they are."""
    one, two = a.started.concurrency, b.started.concurrency
    if one == two:
        return None
    return of.TimesNotCompared(one, two)


def targets_differ(a: RunResult, b: RunResult) -> bool:
    """Return whether the runs score the same response times differently, so that their timing parts
    are not comparable.
    """
    return a.target_ms != b.target_ms


def _others_words(run: RunResult) -> str:
    if run.brief.rehearsal:
        return f"{run.brief.others_words} · rehearsal"
    return run.brief.others_words


def run_notes(a: RunResult, b: RunResult, pairs: Sequence[TalkPair] = ()) -> tuple[Finding, ...]:
    """Return what differs between the runs besides their results, and what is missing from
    either.
    """
    sides = (*_side_notes("A", a, b), *_side_notes("B", b, a))
    return (*_setup_notes(a, b), *sides, *_trial_notes(a, b, pairs), *_content_notes(pairs))


def _setup_notes(a: RunResult, b: RunResult) -> Iterator[Finding]:
    one, two = a.started, b.started
    criteria = ("tasks", "rubric")
    judged_by_others = bool(a.judged_again or b.judged_again) and any(
        one.job.get(key) != two.job.get(key) for key in criteria
    )
    if one.job_sha256 != two.job_sha256 or judged_by_others:
        yield _jobs_differ(one.job, two.job)
    other = _identity(b)
    changed = [
        (what, value, other[what]) for what, value in _identity(a).items() if value != other[what]
    ]
    drawn = one.job.get("seed") is None and two.job.get("seed") is None
    only_seeds_drawn = drawn and [what for what, _, _ in changed] == ["seed"]
    if changed and not only_seeds_drawn:
        short = (tuple(map(_short, row)) for row in changed)
        yield of.IdentityDiffers(tuple((what, mine, yours) for what, mine, yours in short))
    if one.rehearsal != two.rehearsal:
        yield of.RehearsalCompared()
    if times_not_compared(a, b) or targets_differ(a, b):
        yield of.TimingLeftOut(targets_differ(a, b))


def _identity(run: RunResult) -> dict[str, str]:
    """Return who was tested by whom, with what, and when."""
    started = run.started
    return started.identity | {
        "agent's own name": run.brief.agent_identity,
        "agent's model": run.brief.model or "",
        "evaluator": run.brief.evaluator,
        "judge": run.brief.judge,
        "seed": str(started.seed),
        "day": day(started.at),
    }


def _side_notes(name: str, run: RunResult, other: RunResult) -> Iterator[Finding]:
    if again := verdicts_replaced(run.judged_again, len(run.conversations), run=name):
        yield again
    only = run.only_condition
    if only and set(run.started.conditions) != set(other.started.conditions):
        yield of.RunOfOneCondition(name, run.condition_title(only))
    if not run.clean:
        yield of.UncleanRun(name, run.cleanness, run.why_not_clean)
    if run.status != "completed":
        yield of.RunUnfinished(name)


def _trial_notes(a: RunResult, b: RunResult, pairs: Sequence[TalkPair]) -> Iterator[Finding]:
    """Yield which cases only one run has or, if both have the same, that they have different
    numbers of trials.
    """
    cases = [_cases(pair.a for pair in pairs), _cases(pair.b for pair in pairs)]
    if not all(cases) or cases[0] == cases[1]:
        if len(a.trials) != len(b.trials):
            yield of.TrialsDiffer(len(a.trials), len(b.trials))
        return
    for name, own, other in zip("AB", cases, reversed(cases), strict=True):
        if alone := [case for case in own if case not in other]:
            yield of.CasesOfOneRun(name, len(alone), _listed(alone))


def _cases(talks: Iterable[ConversationResult | None]) -> list[str]:
    """Return the names of the conversations' cases, each once."""
    return list(dict.fromkeys(talk.case.words for talk in talks if talk is not None and talk.case))


def _listed(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_short, names[:_LISTED]))


def _short(text: str) -> str:
    """Return a text on one line; where it is cut, an ellipsis says so."""
    return shorten(clean_line(text), _LONGEST)


def _content_notes(pairs: Sequence[TalkPair]) -> Iterator[Finding]:
    """Yield which cases, or whether the jobs, have other contents: those that are not compared,
    then those that are in part.
    """
    both = [pair for pair in pairs if pair.a is not None and pair.b is not None]
    kept = {pair.name for pair in both if pair.shared.same_topic}
    other = [pair for pair in both if pair.name not in kept]
    changed = [pair for pair in both if pair.name in kept and not pair.shared.whole]
    for found, in_part in ((other, False), (changed, True)):
        names = list(dict.fromkeys(pair.name for pair in found))
        if names:
            what = of.ContentsDiffer(
                _listed(list(filter(None, names))), len(names), len({pair.name for pair in both}),
                _changes(*found[0].contents), in_part,
            )  # fmt: skip
            yield what


def _changes(a: Contents, b: Contents) -> tuple[tuple[str, str, str], ...]:
    """Return the first values that differ between two contents, by path."""
    return _changed(a.named, b.named)[0]


def _changed(
    a: Mapping[str, Any], b: Mapping[str, Any]
) -> tuple[tuple[tuple[str, str, str], ...], int]:
    """Return the first values that differ, by path, and the number of all."""
    one, two = _leaves(a), _leaves(b)
    changed = [path for path in dict.fromkeys((*one, *two)) if one.get(path) != two.get(path)]
    listed = tuple(
        (_short(path), *_differing_passages(_leaf_text(one.get(path)), _leaf_text(two.get(path))))
        for path in changed[:_LISTED]
    )
    return listed, len(changed)


def _differing_passages(a: str, b: str) -> tuple[str, str]:
    """Return two long values from shortly before their first difference on, cut after a while."""
    same = next(
        (at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    if max(len(a), len(b)) > _LONGEST and same > _BEFORE:
        a, b = (f"…{text[same - _BEFORE :]}" for text in (a, b))
    return shorten(a, _LONGEST), shorten(b, _LONGEST)


def _jobs_differ(a: Mapping[str, Any], b: Mapping[str, Any]) -> of.JobsDiffer:
    listed, count = _changed(a, b)
    return of.JobsDiffer(listed, count - len(listed))


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return every text, number and truth value in a job, by its path."""
    if isinstance(value, Mapping):
        start = f"{path}." if path else ""
        parts = [(f"{start}{key}", item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{at}]", item) for at, item in enumerate(value)]
    else:
        if value is None:
            return {}
        return {path: value}
    leaves: dict[str, Any] = {}
    for name, item in parts:
        leaves |= _leaves(item, name)
    return leaves


def _leaf_text(value: Any) -> str:
    if value is None:
        return "none"
    return clean_line(str(value), _READ)


TINY = 1e-9
NOTHING_IN_COMMON = "The runs have no condition in common."
OTHER_CONTENTS = "with other contents"
"""Why two conversations of one case or trial have no difference."""


@dataclass(frozen=True, slots=True)
class TalkPair:
    """The conversations of one trial, or of one trial of a case, in both runs; None where a run has
    none.
    """

    name: str
    """The case's name; empty for a job without cases."""
    a: ConversationResult | None
    b: ConversationResult | None
    shared: InCommon

    @property
    def contents(self) -> tuple[Contents, Contents]:
        """What both are about."""
        assert self.a is not None
        assert self.b is not None
        return self.a.contents, self.b.contents

    @property
    def compared(self) -> tuple[ConversationResult, ConversationResult] | None:
        """Both conversations, if they are about the same."""
        if self.a is not None and self.b is not None and self.shared.same_topic:
            return (self.a, self.b)
        return None


PENALTY = "penalty"
GATED = ("task", "assertion")
"""The parts that the gate looks at beside the score: with few trials, a fall of all tasks shows
sooner than that of one.
"""

Figure = TypeVar("Figure", Estimate, Proportion)
Change = Literal["fixed", "broken", "changed", "same", "not comparable"]
"""What became of an assertion from A to B."""


@dataclass(frozen=True, slots=True)
class _InBothRuns(Generic[Figure]):
    """A figure in both runs."""

    title: str
    """What it is called, such as `from timing`."""
    a: Figure | None
    b: Figure | None
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class ValueComparison(_InBothRuns[Estimate]):
    """A value in both runs: the score, what a part adds to it, or a task.

    An estimate is None where a run has no such task.

    The parts, the negative penalty among them, add up to the score, and so do their differences.
    """

    name: str
    """`score`, a part's name (`timing`, `task`, `assertion`, `penalty`), or the task's title."""

    @property
    def means(self) -> tuple[float | None, float | None]:
        """The mean in A and in B; None where a run has no such task."""
        in_a, in_b = (side.mean if side else None for side in (self.a, self.b))
        return in_a, in_b

    @property
    def change(self) -> float | None:
        """B − A, over the pairs that both have; None without one."""
        if self.difference:
            return self.difference.mean
        return None


@dataclass(frozen=True, slots=True)
class AssertionComparison(_InBothRuns[Proportion]):
    """One assertion in both runs: how often it passed at the end.

    `difference` is of the share of trials in which it passed; None where the run's job does not
    have the assertion.
    """

    weight: float

    @property
    def change(self) -> Change:
        """What became of it from A to B."""
        if self.a is None or self.b is None or self.a.share is None or self.b.share is None:
            return "not comparable"
        if self.a.share == self.b.share:
            return "same"
        if self.a.share == 1 and self.b.share == 0:
            return "broken"
        if self.a.share == 0 and self.b.share == 1:
            return "fixed"
        return "changed"


@dataclass(frozen=True, slots=True)
class TurnComparison:
    """One turn of one trial in both runs; times in ms.

    `difference_ms` is None when timing is not comparable.
    """

    trial: int
    turn: int
    a: tuple[MessageState, ...]
    b: tuple[MessageState, ...]
    a_ms: float | None
    b_ms: float | None
    difference_ms: float | None


class ComparedTurns(Sequence[TurnComparison]):
    """The turns of conversations that are compared, made when they are first asked for: that reads
    the texts of all of them.
    """

    def __init__(
        self,
        both: Sequence[tuple[ConversationResult, ConversationResult]],
        *,
        without_times: bool,
    ) -> None:
        """Take the conversations of A and B; with `without_times`, times are not comparable."""
        self._both, self._without_times = both, without_times

    @property
    def have_times(self) -> bool:
        """Whether the time of any answer is known."""
        return any(talk.latencies_ms for talks in self._both for talk in talks)

    @overload
    def __getitem__(self, place: int) -> TurnComparison: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[TurnComparison, ...]: ...
    def __getitem__(self, place: int | slice) -> TurnComparison | tuple[TurnComparison, ...]:
        return self._made[place]

    def __len__(self) -> int:
        return len(self._made)

    @cached_property
    def _made(self) -> tuple[TurnComparison, ...]:
        return tuple(self._turns())

    def _turns(self) -> Iterator[TurnComparison]:
        for talks in self._both:
            sides = [grouped((m.turn, m) for m in talk.messages if talk.sent(m)) for talk in talks]
            for turn in sorted({*sides[0], *sides[1]}):
                one, two = (tuple(side.get(turn, ())) for side in sides)
                a_ms, b_ms = _latency(one), _latency(two)
                change = None
                if a_ms is not None and b_ms is not None and not self._without_times:
                    change = b_ms - a_ms
                yield TurnComparison(talks[0].trial, turn, one, two, a_ms, b_ms, change)


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests to the agent in some conversations: how many were sent, and how many of them
    failed by its fault.
    """

    sent: int
    failed: int
    first_error: str
    """What happened first; empty if none failed."""


def count_requests(talks: Iterable[ConversationResult]) -> Requests:
    """Count the requests to the agent; each attempt is one."""
    answered, failed, tried = 0, 0, []
    for talk in talks:
        tried += [failure for failure in talk.request_failures if failure.peer == "agent"]
        answered += len(talk.latencies_ms)
        failed += talk.failures
    first = next((failure.error for failure in tried if failure.counted), "")
    return Requests(answered + max(len(tried), failed), failed, clean_line(first))


@dataclass(frozen=True, slots=True)
class ConditionComparison:
    """One condition of both runs: figures of A and B are over the conversations that are compared,
    and that both have.

    `latency` (ms) is None when timing is not comparable. `averages_ms` are A's and B's mean of the
    conversations' averages, over the trials that both answered.
    """

    condition: Condition
    title: str
    """What both jobs call it, else `without the facts`."""
    a: Estimate
    b: Estimate
    score: Difference
    lowest: Difference
    """The same if each conversation of B that has no score counts 0: an agent can bring about that
    one has none.
    """
    highest: Difference
    """The same if each conversation of A that has no score counts 0."""
    parts: tuple[ValueComparison, ...]
    """Those that either run has, the largest change first."""
    tasks: tuple[ValueComparison, ...]
    assertions: tuple[AssertionComparison, ...]
    latency: Difference | None
    averages_ms: tuple[float | None, float | None]
    turns: ComparedTurns
    requests: tuple[Requests, Requests]
    """The requests to the agent in A and B, in the conversations that are compared."""
    cost_a: Spent
    cost_b: Spent
    trials: tuple[tuple[int, int], ...]
    """The trials that are compared, each as A and B number it."""

    @property
    def is_sure(self) -> bool:
        """Whether one run is better beyond chance, whatever the conversations without a score would
        have had.
        """
        match self.score.direction:
            case "better":
                return self.lowest.direction == "better"
            case "worse":
                return self.highest.direction == "worse"
        return False

    @property
    def lost_that_matter(self) -> int:
        """How many conversations without a score would make one run better beyond chance, or not
        so, if they count 0.
        """
        known = len(self.score.estimate.points)
        return sum(
            len(one.estimate.points) - known
            for one in (self.lowest, self.highest)
            if one.direction != self.score.direction
            and (one.is_beyond_chance or self.score.is_beyond_chance)
        )

    @property
    def whole(self) -> ValueComparison:
        """The score, as a row beside its parts and the tasks."""
        return ValueComparison("score", self.a, self.b, self.score, "score")

    @property
    def compared(self) -> of.ConditionCompared:
        """Which run scored higher, and in how many pairs."""
        points = self.score.estimate.points
        lower, higher = (sum(sign * point > TINY for point in points) for sign in (-1, 1))
        return of.ConditionCompared(of.Side(self.condition, self.title), self.score, lower, higher)

    @property
    def most_apart(self) -> of.WhyApart | None:
        """The part of the score that differs most, and what in it changed most; None if no part
        differs.
        """
        moved = [part for part in self.parts if part.change is not None and round(part.change, 2)]
        if not moved:
            return None
        part = max(moved, key=lambda one: abs(one.change or 0.0))
        assert part.change is not None
        title, words = self._changed_most(part.name)
        side = of.Side(self.condition, self.title)
        return of.WhyApart(
            side, part.name, part.change, title, words, part.name == PENALTY and self._else_equal
        )

    @property
    def _else_equal(self) -> bool:
        """Whether every task and assertion that both have came out the same."""
        compared = [one.change for one in self.tasks if one.change is not None]
        changed = [
            one.change for one in self.assertions if one.change not in ("same", "not comparable")
        ]
        return bool(compared or self.assertions) and not any(compared) and not changed

    def _changed_most(self, part: str) -> tuple[str, str]:
        """Return the task or assertion that changed most, and what became of it; of the penalty,
        how many requests failed.
        """
        if part == PENALTY:
            most_failed = max(self.requests, key=lambda one: one.failed)
            if not most_failed.failed:
                return "", ""
            words = [
                f"{one.failed} of {plural(one.sent, 'request')} failed in {name}"
                for name, one in zip("AB", self.requests, strict=True)
            ]
            if most_failed.first_error:
                words.append(f"first “{shorten(most_failed.first_error, _LONGEST_ERROR)}”")
            return "", ", ".join(words)
        if part == "task":
            tasks = [one for one in self.tasks if one.change]
            if tasks:
                most = max(tasks, key=lambda one: abs(one.change or 0.0))
                in_a, in_b = map(number, most.means)
                return most.title, f"{in_a} in A, {in_b} in B"
        if part == "assertion":
            checks = [
                one for one in self.assertions if one.change not in ("same", "not comparable")
            ]
            if checks:
                check = max(checks, key=lambda one: one.weight)
                return check.title, check.change
        return "", ""

    @property
    def advice(self) -> str:
        """What the difference of the scores leaves open, and how many trials would tell; empty if
        it is beyond chance.
        """
        finding = advice(self.score)
        if finding:
            return sentence(finding)
        return ""

    @property
    def corrected(self) -> str:
        """Which tasks and assertions differ; empty unless two or more could be told from chance."""
        tested = [
            (what, difference)
            for what, difference in self._details
            if difference.direction not in ("too few", "not measured")
        ]
        if len(tested) < 2:
            return ""
        different = tuple(
            (what, difference.p)
            for what, difference in tested
            if difference.p is not None and difference.p <= FOUND_AT
        )
        return sentence(of.ChecksCorrected(self.title, len(tested), different))

    @property
    def falls(self) -> tuple[of.FellBeyondChance, ...]:
        """Whatever is worse in B beyond chance."""
        parts = [
            (of.Checked("part", part.name), part.difference)
            for part in self.parts
            if part.name in GATED and part.difference is not None
        ]
        return tuple(
            of.FellBeyondChance(self.title, what, difference)
            for what, difference in ((of.Checked("score"), self.score), *parts, *self._details)
            if difference.direction == "worse"
        )

    @property
    def _details(self) -> list[tuple[of.Checked, Difference]]:
        named = [(of.Checked("task", one.title), one.difference) for one in self.tasks]
        named += [(of.Checked("assertion", one.title), one.difference) for one in self.assertions]
        return [(what, difference) for what, difference in named if difference is not None]


@dataclass(frozen=True)
class Comparison:
    """Run B against run A. `times` says why response times are not compared; None if they are."""

    a: RunResult
    b: RunResult
    conditions: tuple[ConditionComparison, ...]
    times: of.TimesNotCompared | None
    differences: tuple[of.Finding, ...]
    """How the runs differ besides their results."""

    @property
    def brief_words(self) -> tuple[str, ...]:
        """What the runs are about, who was tested by whom in each, and the facts: a line each."""
        sides = (("A", self.a), ("B", self.b))
        jobs = dict.fromkeys((run.brief.job, run.brief.topic_words) for _, run in sides)
        facts = dict.fromkeys(run.brief.facts_words for _, run in sides)
        others = dict.fromkeys(_others_words(run) for _, run in sides)
        lines = [f"{job}: {about}" for job, about in jobs]
        for (name, run), played in zip(sides, (*others, ""), strict=False):
            parts = [f"agent {run.brief.agent_words}"]
            if len(jobs) > 1:
                parts.append(run.brief.job)
            if len(others) > 1:
                parts.append(played)
            parts += [date(run.started_at), f"run {run.run_id}"]
            lines.append(f"{name}  {' · '.join(parts)}")
        if len(others) == 1:
            lines += others
        if len(facts) == 1:
            return (*lines, *(f"facts  {each}" for each in facts))
        return (*lines, *(f"{name} facts  {run.brief.facts_words}" for name, run in sides))

    @property
    def timing_refused(self) -> str:
        """Why response times are not compared, in words; empty if they are."""
        if self.times:
            return sentence(self.times)
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """How the runs differ besides their results, in words."""
        return tuple(map(sentence, self.differences))

    @property
    def other_notes(self) -> tuple[str, ...]:
        """Those that the answer does not give as its reason; of jobs that share nothing, not every
        value that differs.
        """
        why = self._not_shared
        notes = (
            note
            for note in self.differences
            if note is not why and not (why and isinstance(note, of.JobsDiffer | of.TimingLeftOut))
        )
        return tuple(map(sentence, notes))

    @property
    def identity(self) -> tuple[str, ...]:
        """In what the runs differ besides their job and results, in words."""
        return tuple(
            sentence(note) for note in self.differences if isinstance(note, of.IdentityDiffers)
        )

    @property
    def regressions(self) -> tuple[str, ...]:
        """What is worse in B than in A beyond chance, by condition, in words."""
        falls = chain.from_iterable(condition.falls for condition in self.conditions)
        return tuple(map(sentence, falls))

    @property
    def incomparable(self) -> str:
        """Why there is nothing to compare, in words; empty if there is something in each
        condition.
        """
        if self.measured:
            return ""
        return sentence(of.NothingCompared(tuple(map(sentence, self._other_contents))))

    @property
    def undecided(self) -> str:
        """Why the runs cannot show a regression: how many trials or cases are needed, what is left
        out of B, or what it had a second try at; empty if they can.
        """
        few = self._too_few
        if not few:
            for one in self.conditions:
                lost = len(one.lowest.estimate.points) - len(one.score.estimate.points)
                # Of the same points, `score` alone has a corrected p-value.
                if lost and one.lowest.direction == "worse" and one.score.direction != "worse":
                    return sentence(of.RegressionHidden(one.title, lost, one.lowest))
            again = sum(talk.sample.again for talk in self.b.conversations)
            return sentence(of.RegressionHeldAgain(again)) if again else ""
        least = min(few, key=lambda condition: condition.units)
        units = of.Units(least.units, least.unit)
        return sentence(of.RegressionUndecided(units, least.needed, least.of_trials))

    @property
    def advice(self) -> tuple[str, ...]:
        """What the differences leave open, by condition; one sentence where all leave the same."""
        advice = [(condition.title, condition.advice) for condition in self.conditions]
        if len({text for _, text in advice}) == 1:
            return tuple(filter(None, (advice[0][1],)))
        return tuple(under(title, text) for title, text in advice if text)

    @property
    def told(self) -> tuple[str, ...]:
        """What differs of many tasks and assertions, and how the runs differ besides their
        results.
        """
        told = [side.corrected for side in self.conditions if side.corrected]
        notes = filter(None, (*self.other_notes, self.timing_refused))
        return (*told, *(f"note: {note}" for note in notes))

    @cached_property
    def answer(self) -> Answer:
        """Which run scored higher, how sure that is, what sets them apart most, and what next."""
        if found := self._not_shared:
            different = of.NothingShared(self.a.brief.job, self.b.brief.job)
            return Answer.from_finding(different, sentence(found), (of.Step("one_job"),))
        sure = any(side.is_sure for side in self.conditions)
        few = self._too_few
        needed = max((score.needed for score in few), default=0)
        in_part = any(
            isinstance(note, of.ContentsDiffer) and note.in_part for note in self.differences
        )
        sides = tuple(side.compared for side in self.conditions)
        lost = 0 if sure else sum(side.lost_that_matter for side in self.conditions)
        names = distinct_names(self.a, self.b)
        finding = of.RunsCompared(sides, sure, needed, names, in_part, lost)
        what = NOTHING_IN_COMMON
        steps: list[of.Step] = []
        measured = any(side.difference.mean is not None for side in sides)
        if self.conditions:
            what = sentence(finding)
        if measured:
            steps.append(of.Step("passages"))
        rehearsal = self.a.started.rehearsal and self.b.started.rehearsal
        if few and not rehearsal:
            more = needed - min(score.units for score in few)
            steps.append(of.Step("trials", trials=more, total=needed, each=True))
        why = ""
        if measured:
            why = sentence(self.most_apart or of.NothingApart(self._failing_in_both))
        by_rules = self.a.brief.judged_by_rules and self.b.brief.judged_by_rules
        how = how_sure([self.a, self.b], finding, rehearsal=rehearsal, by_rules=by_rules)
        return Answer(finding, what, how, why, tuple(steps))

    @cached_property
    def most_apart(self) -> of.WhyApart | None:
        """What sets the runs apart most, in all conditions; None if nothing does."""
        apart = filter(None, (side.most_apart for side in self.conditions))
        return max(apart, key=lambda one: abs(one.by), default=None)

    @property
    def _too_few(self) -> list[Difference]:
        """The differences of the scores that rest on too few pairs."""
        return [side.score for side in self.conditions if side.score.direction == "too few"]

    @property
    def _failing_in_both(self) -> tuple[str, ...]:
        """The assertions that fail in every trial of both runs."""
        every = chain.from_iterable(side.assertions for side in self.conditions)
        failing = [
            one.title for one in every if one.a and one.b and one.a.share == one.b.share == 0
        ]
        return tuple(dict.fromkeys(failing))

    @property
    def compared(self) -> tuple[ConditionComparison, ...]:
        """The conditions to show; none where no conversation of A is compared with one of B."""
        if self._not_shared:
            return ()
        return self.conditions

    @property
    def _not_shared(self) -> of.ContentsDiffer | of.CasesOfOneRun | None:
        """Why no conversation of A is compared with one of B; None if one is, or if no condition is
        in both runs.
        """
        if any(side.trials for side in self.conditions):
            return None
        return next(iter(self._other_contents), None)

    @property
    def _other_contents(self) -> list[of.ContentsDiffer | of.CasesOfOneRun]:
        """What cases, or what of the jobs, the runs do not share."""
        return [
            note
            for note in self.differences
            if isinstance(note, of.ContentsDiffer | of.CasesOfOneRun)
        ]

    @property
    def measured(self) -> bool:
        """Whether every condition has at least one pair of composites."""
        return bool(self.conditions) and all(
            condition.score.mean is not None for condition in self.conditions
        )


_WITHIN_NAMES = re.compile(r"[ /:·]+")


def distinct_names(a: RunResult, b: RunResult) -> tuple[str, str]:
    """Return what tells the agents of two runs apart, such as their models or ports; empty if they
    are called the same.
    """
    one, two = a.brief.agent_words, b.brief.agent_words
    if one == two:
        return "", ""
    ends = [
        match.end() for match in _WITHIN_NAMES.finditer(one) if two.startswith(one[: match.end()])
    ]
    start = max(ends, default=0)
    first, second = (clean_line(name[start:]) or clean_line(name) for name in (one, two))
    return shorten(first, _LONGEST), shorten(second, _LONGEST)


def are_compared(runs: Sequence[RunResult]) -> bool:
    """Return whether these are two runs of one job, which are compared; agents of any others are
    ranked.

    A job stays one if its file has another name for another agent.
    """
    if len(runs) != 2:
        return False
    one, other = runs
    imported = one.started.source is not None or other.started.source is not None
    same_contents = not imported and one.job_digest == other.job_digest
    return one.started.job_name == other.started.job_name or same_contents


def pair_comparison(runs: Sequence[RunResult]) -> Comparison | None:
    """Return the comparison of two runs of one job, which their report begins with; None of any
    others.
    """
    if are_compared(runs):
        return compare(*runs)
    return None


def compare(a: RunResult, b: RunResult) -> Comparison:
    """Compare two runs: conditions that both have, trials by number, cases by name, and of these
    what is the same in both.
    """
    times = times_not_compared(a, b)
    shared = [condition for condition in a.scored_conditions if condition in b.scored_conditions]
    pairs = {condition: _pairs(a, b, condition) for condition in shared}
    conditions = _corrected(
        [
            _Compared(a, b, condition, pairs[condition], times is not None).result()
            for condition in shared
        ]
    )
    notes = (
        *run_notes(a, b, list(chain.from_iterable(pairs.values()))),
        *_placebo_notes(a, b, shared),
        *_people_findings("A", a),
        *_people_findings("B", b),
    )
    return Comparison(a, b, conditions, times, (*notes, *_user_findings(a, b, conditions, pairs)))


def _pairs(a: RunResult, b: RunResult, condition: Condition) -> list[TalkPair]:
    """Return the conversations that belong together: of the same trial, or of the same case and its
    trial.
    """
    users = any(case.user for run in (a, b) for case in run.started.cases)
    first = _talks_by_place(a, condition, by_user=users)
    second = _talks_by_place(b, condition, by_user=users)
    pairs = []
    for place in dict.fromkeys([*first, *second]):
        one, two = first.get(place), second.get(place)
        both = (
            NOTHING if one is None or two is None else common_contents(one.contents, two.contents)
        )
        pairs.append(TalkPair(place[0], one, two, both))
    return pairs


def _talks_by_place(
    run: RunResult, condition: Condition, *, by_user: bool
) -> dict[tuple[str, int], ConversationResult]:
    """Return the conversations by what they are paired by: case and trial, and where one of the
    runs has several users, who played the user.
    """
    only = _only_user(run) if by_user else ""
    talks = {}
    for talk in run.conversations_in(condition):
        if talk.case is None:
            talks[only, talk.trial] = talk
        elif talk.case.user:
            talks[talk.case.words, talk.case.trial] = talk
        else:
            words = " · ".join(filter(None, (talk.case.words, only)))
            talks[words, talk.case.trial] = talk
    return talks


def _only_user(run: RunResult) -> str:
    """Return the model that plays the user of a whole run; empty without one."""
    models = run.started.options.get("evaluator_model")
    if isinstance(models, str):
        return models
    if isinstance(models, list | tuple) and len(models) == 1:
        return str(models[0])
    return ""


def _placebo_notes(
    a: RunResult, b: RunResult, shared: Sequence[Condition]
) -> Iterator[of.PlaceboLeftOut]:
    """Yield the scores with a placebo, if any run has it and it is not compared."""
    # Only of such a run: its summary takes as long as the comparison.
    with_placebo = [
        (name, run) for name, run in (("A", a), ("B", b)) if PLACEBO_NAME in run.conditions
    ]
    held = [(name, run.summary.of(PLACEBO_NAME)) for name, run in with_placebo]
    scores = tuple((name, found.score.mean) for name, found in held if found is not None)
    if scores and PLACEBO_NAME not in shared:
        yield of.PlaceboLeftOut(scores)


def _people_findings(name: str, run: RunResult) -> Iterator[of.PeopleWouldSay]:
    """Yield what people would say about a run's verdicts, if they reviewed a sample."""
    for finding in run.people_would_say:
        yield replace(finding, title=", ".join(filter(None, (name, finding.title))))


def _user_findings(
    a: RunResult,
    b: RunResult,
    conditions: Iterable[ConditionComparison],
    pairs: Mapping[Condition, Sequence[TalkPair]],
) -> Iterator[of.SimulatedUsers]:
    """Yield how far simulated users' scores lie from a person's, if a person played the user of one
    of the runs.
    """
    people = [run.kind_of("evaluator") == "human" for run in (a, b)]
    if people[0] != people[1]:
        for one in conditions:
            samples = [_pair_samples(pair, _score, _score) for pair in pairs[one.condition]]
            if people[1]:  # the difference is from the person's to the simulated user's
                samples = [(second, first) for first, second in samples]
            yield of.SimulatedUsers(one.title, difference(differences(samples)))


Value = Callable[[ConversationResult], Sample | None]
Samples = tuple[Sample | None, Sample | None]
Scored = Composite | ConversationScored
"""A score with its parts: over what is the same, or as recorded."""


def _pair_samples(pair: TalkPair, value_a: Value, value_b: Value, *, same: bool = True) -> Samples:
    """Return the values of a pair; without a value if they are about different things, or not of
    the `same` task or assertion.
    """
    if pair.a is not None and pair.b is not None and not (same and pair.shared.same_topic):
        left_out = replace(pair.a.sample, value=None, reason=OTHER_CONTENTS)
        return left_out, left_out
    return value_a(pair.a) if pair.a else None, value_b(pair.b) if pair.b else None


def _with_lost_as_zero(pair: TalkPair, scores: Samples, *, of_b: bool) -> Samples:
    """Return a pair's scores, with 0 for the conversation of B, or of A, if it has none."""
    one, two = scores
    talk = pair.b if of_b else pair.a
    if talk is None or talk.score is not None or not pair.shared.same_topic:
        return scores
    if of_b:
        return one, None if two is None else replace(two, value=0.0)
    return None if one is None else replace(one, value=0.0), two


def _columns(samples: Iterable[Samples]) -> tuple[list[Sample], list[Sample]]:
    """Return both runs' values of the pairs that both have, so that each column is about the same
    conversations.
    """
    columns: tuple[list[Sample], list[Sample]] = ([], [])
    for one, two in samples:
        if one is None or two is None or OTHER_CONTENTS in (one.reason, two.reason):
            continue
        reason = next((each.reason for each in (one, two) if each.value is None), "")
        for column, each in zip(columns, (one, two), strict=True):
            if reason:
                column.append(replace(each, value=None, reason=each.reason or reason))
            else:
                column.append(each)
    return columns


def _mean(samples: Iterable[Sample]) -> float | None:
    known = [sample.value for sample in samples if sample.value is not None]
    if known:
        return exact_mean(known)
    return None


def _score(talk: ConversationResult) -> Sample:
    return talk.sample


def _average(talk: ConversationResult) -> Sample:
    job, case = talk.sample.job, talk.sample.case
    if not talk.latencies_ms:
        return Sample(job, None, NEVER_ANSWERED, case)
    return Sample(job, average(talk.latencies_ms), case=case)


class _Compared:
    """One condition of two runs, compared over what its pairs have in common."""

    def __init__(
        self,
        a: RunResult,
        b: RunResult,
        condition: Condition,
        pairs: Sequence[TalkPair],
        without_times: bool,
    ) -> None:
        self.a, self.b, self.condition, self.pairs = a, b, condition, pairs
        self.without_times = without_times
        self.without_timing = without_times or targets_differ(a, b)
        self.composites = [self._composites(pair) for pair in pairs]
        self.both = [each for pair in pairs if (each := pair.compared) is not None]

    def result(self) -> ConditionComparison:
        """Return the comparison, whose p-values are not corrected yet."""
        scores = [
            self._scores(pair, both) for pair, both in zip(self.pairs, self.composites, strict=True)
        ]
        a, b = _columns(scores)
        lowest, highest = [], []
        for pair, both in zip(self.pairs, scores, strict=True):
            lowest.append(_with_lost_as_zero(pair, both, of_b=True))
            highest.append(_with_lost_as_zero(pair, both, of_b=False))
        latency = None
        averages: tuple[float | None, float | None] = (None, None)
        if not self.without_times:
            samples = [_pair_samples(pair, _average, _average) for pair in self.pairs]
            latency = difference(differences(samples), higher_is_better=False, unit=False)
            one, two = map(_mean, _columns(samples))
            averages = (one, two)
        trials = tuple((one.trial, two.trial) for one, two in self.both)
        return ConditionComparison(
            condition=self.condition,
            title=condition_title([self.a, self.b], self.condition),
            a=estimate(a),
            b=estimate(b),
            score=difference(differences(scores)),
            lowest=difference(differences(lowest)),
            highest=difference(differences(highest)),
            parts=self._parts(),
            tasks=tuple(self._tasks()),
            assertions=tuple(self._assertions()),
            latency=latency,
            averages_ms=averages,
            turns=ComparedTurns(self.both, without_times=self.without_times),
            requests=(
                count_requests(one for one, _ in self.both),
                count_requests(two for _, two in self.both),
            ),
            cost_a=spent([self.a], self.condition, {trial for trial, _ in trials}),
            cost_b=spent([self.b], self.condition, {trial for _, trial in trials}),
            trials=trials,
        )

    def _composites(self, pair: TalkPair) -> tuple[Scored | None, Scored | None]:
        """Return both scores over what is the same, with their parts, without timing if times
        cannot be compared.

        A conversation without a score has none.
        """
        if pair.compared is None:
            return None, None
        one, two = pair.compared
        if pair.shared.whole:
            return self._composite(one), self._composite(two)
        weights = one.contents.weights
        judged = {
            number: (other, weights["judged"][number])
            for number, other in pair.shared.judged.items()
        }
        checked = {
            index: (other, weights["checked"][index])
            for index, other in pair.shared.checked.items()
        }
        return (
            self._composite(
                one, {n: w for n, (_, w) in judged.items()}, {n: w for n, (_, w) in checked.items()}
            ),
            self._composite(two, dict(judged.values()), dict(checked.values())),
        )

    def _composite(
        self,
        talk: ConversationResult,
        judged: Mapping[int, float] | None = None,
        checked: Mapping[int, float] | None = None,
    ) -> Scored | None:
        """Return a conversation's score with its parts; with `judged` and `checked`, over these
        alone with these weights.
        """
        if talk.scored is None or talk.score is None:
            return None
        if judged is None or checked is None:
            if not self.without_timing:
                return talk.scored
            parts = talk.parts
        else:
            parts = _parts_in_common(talk, judged, checked)
        weights = {"timing": 0.0} if self.without_timing else {}
        return reweighted(parts, talk.scored.failures, weights)

    def _scores(self, pair: TalkPair, both: tuple[Scored | None, Scored | None]) -> Samples:
        def score(talk: ConversationResult, composite: Scored | None) -> Sample:
            if talk.score is None:
                return talk.sample
            scored = composite is not None and any(
                part.name != "timing" and not part.left_out for part in composite.parts
            )
            if composite is None or (not scored and not pair.shared.whole):
                return replace(talk.sample, value=None, reason="with nothing scored in common")
            reason = "" if composite.score is not None else "only timing was measured"
            return replace(talk.sample, value=composite.score, reason=reason)

        if pair.compared is None:
            return _pair_samples(pair, _score, _score)
        one, two = pair.compared
        return score(one, both[0]), score(two, both[1])

    def _parts(self) -> tuple[ValueComparison, ...]:
        def added(talk: ConversationResult, composite: Scored | None, name: str) -> Sample:
            if composite is None or not composite.parts:
                return replace(talk.sample, value=None)
            # A part that is left out adds no zero: there is nothing to compare.
            return replace(
                talk.sample, value=contributions(composite.parts, composite.penalty).get(name)
            )

        compared = []
        for name in (*PARTS, PENALTY):
            samples: list[Samples] = []
            for pair, (one, two) in zip(self.pairs, self.composites, strict=True):
                samples.append(
                    _pair_samples(
                        pair,
                        partial(added, composite=one, name=name),
                        partial(added, composite=two, name=name),
                    )
                )
            sides = _columns(samples)
            if any(sample.value for sample in chain(*sides)):
                both = difference(differences(samples))
                first, second = (estimate(side, (-1.0, 1.0)) for side in sides)
                compared.append(ValueComparison(part_title(name), first, second, both, name))
        return tuple(sorted(compared, key=lambda part: -abs(part.change or 0.0)))

    def _tasks(self) -> Iterator[ValueComparison]:
        numbers = [
            {title: number for number, title in run.task_titles(self.condition).items()}
            for run in (self.a, self.b)
        ]
        for title in dict.fromkeys(chain(*numbers)):
            one, two = (side.get(title) for side in numbers)
            found = self._in_both(one, two, _scored, lambda shared: shared.judged, _estimate)
            yield ValueComparison(title, *found, title)

    def _assertions(self) -> Iterator[AssertionComparison]:
        listed = [run.assertion_titles(self.condition) for run in (self.a, self.b)]
        indices = [{title: index for index, (title, _) in each.items()} for each in listed]
        weights = dict(chain.from_iterable(each.values() for each in listed))
        for title, weight in weights.items():
            one, two = (side.get(title) for side in indices)
            found = self._in_both(one, two, _passed, lambda shared: shared.checked, _share)
            yield AssertionComparison(title, *found, weight)

    def _in_both(
        self,
        one: int | None,
        two: int | None,
        value: Callable[[int], Value],
        same_in: Callable[[InCommon], Mapping[int, int]],
        figure: Callable[[Iterable[Sample | None]], Figure],
    ) -> tuple[Figure | None, Figure | None, Difference | None]:
        """Return the figure of a task or assertion in A and in B, which number it `one` and `two`,
        and the difference.

        Of what only one run has, it is over its conversations that are compared.
        """
        if one is None or two is None:
            in_a, in_b = (
                None if number is None else figure([value(number)(pair[at]) for pair in self.both])
                for at, number in enumerate((one, two))
            )
            return in_a, in_b, None
        samples = [
            _pair_samples(pair, value(one), value(two), same=same_in(pair.shared).get(one) == two)
            for pair in self.pairs
        ]
        first, second = map(figure, _columns(samples))
        return first, second, difference(differences(samples))


def _scored(number: int) -> Value:
    return lambda talk: talk.task_sample(number)


def _passed(index: int) -> Value:
    def value(talk: ConversationResult) -> Sample | None:
        check = talk.final_checks.get(index)
        if check is None:
            return None
        known = None if check.status == "not_measured" else float(check.status == "passed")
        return Sample(
            talk.sample.job, known, "not measured", talk.sample.case, stopped=talk.sample.stopped
        )

    return value


def _estimate(samples: Iterable[Sample | None]) -> Estimate:
    return estimate([sample for sample in samples if sample is not None])


def _share(samples: Iterable[Sample | None]) -> Proportion:
    """Return how often an assertion passed, of the conversations in which that is known."""
    known = [sample for sample in samples if sample is not None and sample.value is not None]
    outcomes = [((sample.job, sample.case), sample.value == 1) for sample in known]
    return proportion(outcomes, stopped=any(sample.stopped for sample in known))


def _parts_in_common(
    talk: ConversationResult, judged: Mapping[int, float], checked: Mapping[int, float]
) -> tuple[ScorePart, ...]:
    """Return a conversation's parts over some tasks and assertions, with these weights."""
    tasks = [
        task.model_copy(update={"weight": judged[task.task] or 1.0})
        for task in talk.tasks
        if task.task in judged
    ]
    results = [
        (weight, PASSED[check.status])
        for index, weight in checked.items()
        if (check := talk.final_checks.get(index)) is not None
    ]
    over = {
        "task": judged_part(None if talk.judge_error else tasks, len(judged)),
        "assertion": assertion_part(results),
    }
    return tuple(over.get(part.name, part) for part in talk.parts)


def _corrected(conditions: Sequence[ConditionComparison]) -> tuple[ConditionComparison, ...]:
    """Return the conditions with p-values corrected over all of them: scores and gated parts, then
    everything else.
    """
    gated: dict[tuple[str, str, str], Difference] = {}
    others: dict[tuple[str, str, str], Difference] = {}
    for condition in conditions:
        for kind, title, tested in _differences(condition):
            if tested is not None:
                is_gated = kind == "score" or (kind == "part" and title in GATED)
                tests = gated if is_gated else others
                tests[condition.condition, kind, title] = tested
    by_test = corrected(gated, others)

    def with_corrected(condition: ConditionComparison) -> ConditionComparison:
        # None where there was no difference to correct; of the score there always is one.
        def difference_of(kind: str, title: str = "") -> Difference | None:
            return by_test.get((condition.condition, kind, title))

        return replace(
            condition,
            score=by_test[condition.condition, "score", ""],
            tasks=tuple(
                replace(task, difference=difference_of("task", task.title))
                for task in condition.tasks
            ),
            assertions=tuple(
                replace(check, difference=difference_of("assertion", check.title))
                for check in condition.assertions
            ),
            parts=tuple(
                replace(part, difference=difference_of("part", part.name))
                for part in condition.parts
            ),
            latency=difference_of("latency"),
        )

    return tuple(map(with_corrected, conditions))


def _differences(condition: ConditionComparison) -> list[tuple[str, str, Difference | None]]:
    return [
        ("score", "", condition.score),
        *(("task", task.title, task.difference) for task in condition.tasks),
        *(("assertion", check.title, check.difference) for check in condition.assertions),
        *(("part", part.name, part.difference) for part in condition.parts),
        ("latency", "", condition.latency),
    ]


def _latency(messages: tuple[MessageState, ...]) -> float | None:
    return next(
        (m.latency_ms for m in messages if m.role == "assistant" and m.latency_ms is not None), None
    )
