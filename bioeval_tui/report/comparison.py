"""Comparison of two runs by condition, paired by trial, with conclusions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.report import rows, samples
from bioeval_tui.report.advice import advice
from bioeval_tui.report.compared import Change
from bioeval_tui.report.costs import Spent, spent
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.numbers import FEWEST
from bioeval_tui.report.run_differences import difference_notes, targets_differ, timing_refused
from bioeval_tui.report.statistics.estimates import Estimate, Proportion, estimate
from bioeval_tui.report.statistics.explained import reweighted
from bioeval_tui.report.statistics.multiple import holm
from bioeval_tui.report.statistics.paired import Difference, difference, differences
from bioeval_tui.report.statistics.samples import Sample, grouped
from bioeval_tui.report.statistics.signed_rank import signed_rank_p
from bioeval_tui.report.words import PARTS, signed
from bioeval_tui.score import Composite, contributions
from bioeval_tui.text import plural, upper_first

TINY = 1e-9
FOUND_AT = 0.05
PENALTY = "penalty"


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One task in both runs; an estimate is None where the run's job does not have the task."""

    title: str
    a: Estimate | None
    b: Estimate | None
    difference: Difference | None
    p: float | None = None
    """The p-value of the difference, corrected for all tasks and assertions (Holm); None without one."""


@dataclass(frozen=True, slots=True)
class AssertionComparison:
    """One assertion in both runs: how often it passed at the end."""

    title: str
    weight: float
    a: Proportion | None
    b: Proportion | None
    p: float | None = None
    """That of a change (exact signed-rank test over trials, or cases), corrected in the same way."""

    @property
    def change(self) -> Change:
        """What became of it from A to B."""
        if self.a is None or self.b is None or self.a.share is None or self.b.share is None:
            return "not comparable"
        if self.a.share == self.b.share:
            return "same"
        if self.a.share == 1 and self.b.share == 0:
            return "broken"
        return "fixed" if self.a.share == 0 and self.b.share == 1 else "changed"


@dataclass(frozen=True, slots=True)
class PartComparison:
    """What a part adds to the score in both runs, in points of the score; the penalty is negative.

    The parts add up to the score, and so do their differences.
    """

    name: str
    """`timing`, `task`, `assertion` or `penalty`."""
    a: Estimate
    b: Estimate
    difference: Difference

    @property
    def title(self) -> str:
        """Such as `from timing`."""
        return f"from {PARTS.get(self.name, self.name)}"


@dataclass(frozen=True, slots=True)
class TurnComparison:
    """One turn of one trial in both runs; times in ms. `difference_ms` is None when timing is not comparable."""

    trial: int
    turn: int
    a: tuple[MessageState, ...]
    b: tuple[MessageState, ...]
    a_ms: float | None
    b_ms: float | None
    difference_ms: float | None


@dataclass(frozen=True, slots=True)
class ConditionComparison:
    """One condition of both runs. `latency` (ms) is None when timing is not comparable.

    `averages_ms` are A's and B's mean of the conversations' averages, over the trials that both answered.
    """

    condition: Condition
    title: str
    """What both jobs call it, else `facts withheld`."""
    a: Estimate
    b: Estimate
    score: Difference
    parts: tuple[PartComparison, ...]
    """Those that either run has, the largest change first."""
    tasks: tuple[TaskComparison, ...]
    assertions: tuple[AssertionComparison, ...]
    latency: Difference | None
    averages_ms: tuple[float | None, float | None]
    turns: tuple[TurnComparison, ...]
    cost_a: Spent
    cost_b: Spent

    @property
    def sentence(self) -> str:
        """The conclusion of the comparison, in one sentence."""
        known = [task.difference.mean for task in self.tasks if task.difference is not None]
        means = [mean for mean in known if mean is not None]
        better = sum(mean > TINY for mean in means)
        worse = sum(mean < -TINY for mean in means)
        if not means:
            tasks = "no task can be compared"
        elif not better and not worse:
            tasks = f"B scores the same on {plural(len(means), 'task')}"
        else:
            tasks = f"B is better on {better} of {plural(len(means), 'task')}"
            tasks += f" and worse on {worse}" if worse else ""
        moved = [
            f"{PARTS.get(part.name, part.name)} {signed(part.difference.mean)}"
            for part in self.parts
            if part.difference.mean is not None and round(part.difference.mean, 2)
        ]
        by_part = f" By part: {', '.join(moved)}." if moved else ""
        return f"{upper_first(self.title)}: {tasks}; overall {self.score.words}.{by_part}"

    @property
    def advice(self) -> str:
        """What the difference of the scores leaves open, and how many trials would tell; empty if it is beyond chance."""
        return advice(self.score)

    @property
    def corrected(self) -> str:
        """The corrected conclusion on single tasks and assertions; empty if there is only one."""
        tested = [(f"task “{one.title}”", one.p) for one in self.tasks]
        tested += [(f"assertion “{one.title}”", one.p) for one in self.assertions]
        known = [(name, p) for name, p in tested if p is not None]
        if len(known) < 2:
            return ""
        told = [f"{name} (p {_p_words(p)})" for name, p in known if p <= FOUND_AT]
        what = f"significantly different: {', '.join(told)}" if told else "none is significantly different"
        return f"{upper_first(self.title)}: of {len(known)} tasks and assertions, corrected for looking at all (Holm), {what}."


def _p_words(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run B against run A. `timing_refused` says why response times are not compared; empty if they are."""

    a: LoadedRun
    b: LoadedRun
    conditions: tuple[ConditionComparison, ...]
    timing_refused: str
    notes: tuple[str, ...]
    regressions: tuple[str, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """What the differences leave open, by condition; one sentence where all leave the same."""
        told = [found.advice for found in self.conditions]
        if len(set(told)) == 1:
            return tuple(filter(None, told[:1]))
        pairs = zip(self.conditions, told, strict=True)
        return tuple(
            f"{upper_first(found.title)}: {text[:1].lower()}{text[1:]}" for found, text in pairs if text
        )

    @property
    def measured(self) -> bool:
        """Whether every condition has at least one pair of composites."""
        return bool(self.conditions) and all(found.score.mean is not None for found in self.conditions)


def compare(a: LoadedRun, b: LoadedRun) -> Comparison:
    """Compare two runs: conditions that both have, tasks and assertions matched by title, trials by number."""
    refused = timing_refused(a, b)
    shared = [c for c in CONDITIONS if c in a.started.conditions and c in b.started.conditions]
    conditions = tuple(_condition(a, b, condition, bool(refused)) for condition in shared)
    regressions = tuple(line for found in conditions for line in _regressions(found))
    return Comparison(a, b, conditions, refused, tuple(difference_notes(a, b)), regressions)


def _condition(a: LoadedRun, b: LoadedRun, condition: Condition, without_times: bool) -> ConditionComparison:
    without_timing = without_times or targets_differ(a, b)

    def score(run: LoadedRun, talk: ConversationState | None) -> Sample | None:
        sample = samples.score_sample(run, talk)
        if sample is None or sample.value is None or not without_timing:
            return sample
        found = _composite(talk, without_timing)
        value = found.score if found else None
        return replace(sample, value=value, reason="" if value is not None else "only timing was measured")

    latency = None
    averages: tuple[float | None, float | None] = (None, None)
    if not without_times:
        pairs = _pairs(a, b, condition, _average)
        latency = difference(differences(pairs), higher_is_better=False, unit=False)
        averages = _means(pairs)
    tasks, assertions = _corrected(
        _compare_tasks(a, b, condition), _compare_assertions(a, b, condition), _assertion_ps(a, b, condition)
    )
    return ConditionComparison(
        condition=condition,
        title=samples.condition_title([a, b], condition),
        a=estimate([s for run, talk in samples.talks([a], condition) if (s := score(run, talk))]),
        b=estimate([s for run, talk in samples.talks([b], condition) if (s := score(run, talk))]),
        score=difference(differences(_pairs(a, b, condition, score))),
        parts=_compare_parts(a, b, condition, without_timing),
        tasks=tasks,
        assertions=assertions,
        latency=latency,
        averages_ms=averages,
        turns=tuple(_turns(a, b, condition, without_times)),
        cost_a=spent(samples.talks([a], condition)),
        cost_b=spent(samples.talks([b], condition)),
    )


Value = Callable[[LoadedRun, ConversationState | None], Sample | None]


def _pairs(
    a: LoadedRun, b: LoadedRun, condition: Condition, value: Value, value_b: Value | None = None
) -> list[tuple[Sample | None, Sample | None]]:
    return [(value(a, one), (value_b or value)(b, two)) for one, two in _matched(a, b, condition)]


Talk = ConversationState | None


def _matched(a: LoadedRun, b: LoadedRun, condition: Condition) -> list[tuple[Talk, Talk]]:
    """Return the conversations that belong together: of the same trial, or of the same case and its trial."""
    first, second = _by_place(a, condition), _by_place(b, condition)
    return [(first.get(place), second.get(place)) for place in dict.fromkeys([*first, *second])]


def _by_place(run: LoadedRun, condition: Condition) -> dict[tuple[str, int], ConversationState]:
    found = {}
    for _, talk in samples.talks([run], condition):
        place = (talk.case.words, talk.case.trial) if talk.case is not None else ("", talk.key.trial)
        found[place] = talk
    return found


def _means(pairs: Sequence[tuple[Sample | None, Sample | None]]) -> tuple[float | None, float | None]:
    """Return the mean of each side over the pairs in which both have a value."""
    both = [(x.value, y.value) for x, y in pairs if x and y and x.value is not None and y.value is not None]
    return (fmean(x for x, _ in both), fmean(y for _, y in both)) if both else (None, None)


def _average(run: LoadedRun, talk: ConversationState | None) -> Sample | None:
    if talk is None:
        return None
    value, job, case = talk.latencies_ms, run.started.job_name, samples.case_of(talk)
    return (
        Sample(job, fmean(value), case=case) if value else Sample(job, None, "the agent never answered", case)
    )


def _composite(talk: ConversationState | None, without_timing: bool) -> Composite | None:
    """Return a conversation's score with its parts, without timing if times cannot be compared; None without a score."""
    scored = talk.score if talk is not None else None
    if scored is None or scored.score is None:
        return None
    if without_timing:
        return reweighted(scored.parts, scored.failures, {"timing": 0.0})
    return Composite(scored.score, scored.parts, scored.penalty)


def _compare_parts(
    a: LoadedRun, b: LoadedRun, condition: Condition, without_timing: bool
) -> tuple[PartComparison, ...]:
    def added(run: LoadedRun, talk: ConversationState | None, name: str) -> Sample | None:
        sample = samples.score_sample(run, talk)
        found = _composite(talk, without_timing)
        if sample is None or found is None or not found.parts:
            return sample and replace(sample, value=None)
        return replace(sample, value=contributions(found.parts, found.penalty).get(name, 0.0))

    found = []
    for name in (*PARTS, PENALTY):
        of = partial(added, name=name)
        sides = [[s for _, talk in samples.talks([run], condition) if (s := of(run, talk))] for run in (a, b)]
        if any(sample.value for side in sides for sample in side):
            both = difference(differences(_pairs(a, b, condition, of)))
            one, two = (estimate(side, (-1.0, 1.0)) for side in sides)
            found.append(PartComparison(name, one, two, both))
    return tuple(sorted(found, key=lambda part: -abs(part.difference.mean or 0.0)))


def _compare_tasks(a: LoadedRun, b: LoadedRun, condition: Condition) -> list[TaskComparison]:
    numbers_a = {title: number for number, title in rows.task_titles(a.state).items()}
    numbers_b = {title: number for number, title in rows.task_titles(b.state).items()}

    def of(number: int) -> Value:
        return lambda run, talk: samples.task_sample(run, talk, number)

    def summed(run: LoadedRun, number: int | None) -> Estimate | None:
        if number is None:
            return None
        held = (samples.task_sample(run, talk, number) for _, talk in samples.talks([run], condition))
        return estimate([sample for sample in held if sample is not None])

    found = []
    for title in dict.fromkeys([*numbers_a, *numbers_b]):
        one, two = numbers_a.get(title), numbers_b.get(title)
        both = None
        if one is not None and two is not None:
            both = difference(differences(_pairs(a, b, condition, of(one), of(two))))
        found.append(TaskComparison(title, summed(a, one), summed(b, two), both))
    return found


def _corrected(
    tasks: Sequence[TaskComparison], assertions: Sequence[AssertionComparison], raw: Mapping[str, float]
) -> tuple[tuple[TaskComparison, ...], tuple[AssertionComparison, ...]]:
    """Return them with p-values corrected for multiple testing."""
    p_values = {f"assertion {title}": p for title, p in raw.items()}
    for one in tasks:
        p = one.difference.estimate.p_value if one.difference is not None else None
        if p is not None:
            p_values[f"task {one.title}"] = p
    found = holm(p_values)
    return (
        tuple(replace(one, p=found.get(f"task {one.title}")) for one in tasks),
        tuple(replace(one, p=found.get(f"assertion {one.title}")) for one in assertions),
    )


def _assertion_ps(a: LoadedRun, b: LoadedRun, condition: Condition) -> dict[str, float]:
    """Return by title how likely a change of each assertion is by chance, where it was checked in five pairs or more."""
    titles = {title: index for index, (title, _) in rows.assertion_titles(b.state).items()}
    pairs = _matched(a, b, condition)
    found = {}
    for index, (title, _) in rows.assertion_titles(a.state).items():
        changes: dict[str, float] = {}
        count = 0
        for one, two in pairs:
            before, after = _holds(one, index), _holds(two, titles.get(title))
            if one is not None and before is not None and after is not None:
                cluster = one.case.name if one.case is not None else str(one.key.trial)
                changes[cluster] = changes.get(cluster, 0.0) + after - before
                count += 1
        if count >= FEWEST:
            found[title] = signed_rank_p(list(changes.values()))
    return found


def _holds(talk: ConversationState | None, index: int | None) -> float | None:
    check = talk.final_checks.get(index) if talk is not None and index is not None else None
    return None if check is None or check.status == "not_measured" else float(check.status == "passed")


def _compare_assertions(a: LoadedRun, b: LoadedRun, condition: Condition) -> list[AssertionComparison]:
    sides = []
    weights: dict[str, float] = {}
    for run in (a, b):
        side: dict[str, Proportion] = {}
        for index, (title, weight) in rows.assertion_titles(run.state).items():
            weights[title] = weight
            side[title], _ = samples.assertion_share([run], condition, index)
        sides.append(side)
    return [
        AssertionComparison(title, weight, sides[0].get(title), sides[1].get(title))
        for title, weight in weights.items()
    ]


def _turns(a: LoadedRun, b: LoadedRun, condition: Condition, without_timing: bool) -> list[TurnComparison]:
    found = []
    for talks in _matched(a, b, condition):
        sides = [
            grouped((m.turn, m) for m in talk.messages if talk.sent(m)) if talk else {} for talk in talks
        ]
        trial = next(talk.key.trial for talk in talks if talk is not None)
        for turn in sorted({*sides[0], *sides[1]}):
            one, two = (tuple(side.get(turn, ())) for side in sides)
            a_ms, b_ms = _latency(one), _latency(two)
            both = a_ms is not None and b_ms is not None and not without_timing
            change = b_ms - a_ms if both and a_ms is not None and b_ms is not None else None
            found.append(TurnComparison(trial, turn, one, two, a_ms, b_ms, change))
    return found


def _latency(messages: tuple[MessageState, ...]) -> float | None:
    return next((m.latency_ms for m in messages if m.role == "assistant" and m.latency_ms is not None), None)


def _regressions(found: ConditionComparison) -> list[str]:
    """The regressions: by the interval or, with fewer than five pairs, in every pair."""
    lines = []
    if _worse(found.score):
        where = " in every pair" if found.score.verdict == "too few" else ""
        lines.append(f"{found.title}: the score fell{where}, {found.score.words}")
    for task in found.tasks:
        # One of many tasks may fall by chance, so the test is corrected for the number of tasks.
        if task.difference is not None and _worse(task.difference) and (task.p is None or task.p <= FOUND_AT):
            lines.append(f"{found.title}: task “{task.title}” fell, {task.difference.words}")
    lines += [
        f"{found.title}: assertion “{check.title}” passed in A and fails in B"
        for check in found.assertions
        if check.change == "broken"
    ]
    return lines


def _worse(found: Difference) -> bool:
    if found.verdict == "too few":
        return bool(found.estimate.points) and max(found.estimate.points) < -TINY
    return found.verdict == "worse"
