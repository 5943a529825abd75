"""Comparison of two runs by condition, paired by trial, with conclusions, and how the runs differ besides
their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any, Literal

from bioeval_tui.exact import exact_mean
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.record.state import MessageState
from bioeval_tui.report import findings as of
from bioeval_tui.report.costs import Spent
from bioeval_tui.report.findings import Finding
from bioeval_tui.report.plans import advice
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.reviews import verdicts_replaced
from bioeval_tui.report.run import ConversationResult
from bioeval_tui.report.sentences import PARTS, part_title, sentence, under
from bioeval_tui.report.statistics.differences import (
    FOUND_AT,
    Difference,
    corrected,
    difference,
    differences,
)
from bioeval_tui.report.statistics.estimates import Estimate, Proportion, Sample, estimate, grouped
from bioeval_tui.report.summary import condition_title
from bioeval_tui.score import Composite, contributions, reweighted
from bioeval_tui.text import clean_line
from bioeval_tui.units import date, day

_LISTED, _LONGEST = 3, 40
"""How many differences between two jobs a note lists, and the most characters of each path and value."""


def times_not_compared(a: RunResult, b: RunResult) -> of.TimesNotCompared | None:
    """Return why response times of the two runs are not compared; None if they are."""
    one, two = a.started.concurrency, b.started.concurrency
    return None if one == two else of.TimesNotCompared(one, two)


def targets_differ(a: RunResult, b: RunResult) -> bool:
    """Return whether the runs score the same response times differently, so that their timing parts are not comparable."""
    return a.target_ms != b.target_ms


def run_notes(a: RunResult, b: RunResult) -> tuple[Finding, ...]:
    """Return what differs between the runs besides their results, and what is missing from either."""
    return (*_setup_notes(a, b), *_notes_on("A", a, b), *_notes_on("B", b, a), *_trial_notes(a, b))


def _setup_notes(a: RunResult, b: RunResult) -> Iterator[Finding]:
    one, two = a.started, b.started
    criteria = ("tasks", "rubric")
    judged_by_others = bool(a.judged_again or b.judged_again) and any(
        one.job.get(key) != two.job.get(key) for key in criteria
    )
    if one.job_sha256 != two.job_sha256 or judged_by_others:
        yield _jobs_differ(one.job, two.job)
    other = _identity(b)
    changed = [(what, value, other[what]) for what, value in _identity(a).items() if value != other[what]]
    drawn = one.job.get("seed") is None and two.job.get("seed") is None
    if [what for what, _, _ in changed] != (["seed"] if drawn else []) and changed:
        short = (tuple(clean_line(text, _LONGEST) for text in row) for row in changed)
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


def _notes_on(name: str, run: RunResult, other: RunResult) -> Iterator[Finding]:
    if again := verdicts_replaced(run.judged_again, len(run.conversations), run=name):
        yield again
    only = run.only_condition
    if only and set(run.started.conditions) != set(other.started.conditions):
        yield of.RunOfOneCondition(name, run.condition_title(only))
    if not run.clean:
        yield of.UncleanRun(name, run.cleanness, run.why_not_clean)
    if run.status != "completed":
        yield of.RunUnfinished(name)


def _trial_notes(a: RunResult, b: RunResult) -> Iterator[Finding]:
    if len(a.trials) != len(b.trials):
        yield of.TrialsDiffer(len(a.trials), len(b.trials))


def _jobs_differ(a: Mapping[str, Any], b: Mapping[str, Any]) -> of.JobsDiffer:
    one, two = _leaves(a), _leaves(b)
    changed = [path for path in dict.fromkeys((*one, *two)) if one.get(path) != two.get(path)]
    listed = tuple(
        (clean_line(path, _LONGEST), _leaf_text(one.get(path)), _leaf_text(two.get(path)))
        for path in changed[:_LISTED]
    )
    return of.JobsDiffer(listed, len(changed) - len(listed))


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return every text, number and truth value in a job, by its path."""
    if isinstance(value, Mapping):
        parts = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{at}]", item) for at, item in enumerate(value)]
    else:
        return {} if value is None else {path: value}
    return {at: leaf for name, item in parts for at, leaf in _leaves(item, name).items()}


def _leaf_text(value: Any) -> str:
    return "none" if value is None else clean_line(str(value), _LONGEST)


TINY = 1e-9
NOTHING_IN_COMMON = "The runs have no condition in common."
PENALTY = "penalty"
GATED = ("task", "assertion")
"""The parts that the gate looks at beside the score: with few trials, a fall of all tasks shows sooner than that of one."""

Change = Literal["fixed", "broken", "changed", "same", "not comparable"]
"""What became of an assertion from A to B."""


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """A value in both runs: the score, what a part adds to it, or a task. An estimate is None where a run has no such task.

    The parts, the negative penalty among them, add up to the score, and so do their differences.
    """

    name: str
    """`score`, a part's name (`timing`, `task`, `assertion`, `penalty`), or the task's title."""
    title: str
    """What it is called, such as `from timing`."""
    a: Estimate | None
    b: Estimate | None
    difference: Difference | None

    @property
    def change(self) -> float | None:
        """B − A, over the pairs that both have; None without one."""
        return self.difference.mean if self.difference else None


@dataclass(frozen=True, slots=True)
class AssertionComparison:
    """One assertion in both runs: how often it passed at the end."""

    title: str
    weight: float
    a: Proportion | None
    b: Proportion | None
    difference: Difference | None = None
    """Of the share of trials in which it passed; None where the run's job does not have the assertion."""

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
    parts: tuple[ValueComparison, ...]
    """Those that either run has, the largest change first."""
    tasks: tuple[ValueComparison, ...]
    assertions: tuple[AssertionComparison, ...]
    latency: Difference | None
    averages_ms: tuple[float | None, float | None]
    turns: tuple[TurnComparison, ...]
    cost_a: Spent
    cost_b: Spent

    @property
    def whole(self) -> ValueComparison:
        """The score, as a row beside its parts and the tasks."""
        return ValueComparison("score", "score", self.a, self.b, self.score)

    @property
    def summary(self) -> of.TasksCompared:
        """How many tasks moved, what of it comes from which part, and the difference of the scores."""
        known = [task.difference.mean for task in self.tasks if task.difference is not None]
        means = [mean for mean in known if mean is not None]
        better, worse = sum(mean > TINY for mean in means), sum(mean < -TINY for mean in means)
        moved = tuple(
            (part.name, part.change)
            for part in self.parts
            if part.change is not None and round(part.change, 2)
        )
        return of.TasksCompared(self.title, len(means), better, worse, self.score, moved)

    @property
    def sentence(self) -> str:
        """The conclusion of the comparison, in one sentence."""
        return sentence(self.summary)

    @property
    def advice(self) -> str:
        """What the difference of the scores leaves open, and how many trials would tell; empty if it is beyond chance."""
        finding = advice(self.score)
        return sentence(finding) if finding else ""

    @property
    def corrected(self) -> str:
        """Which tasks and assertions differ; empty unless two or more could be told from chance."""
        tested = [
            (what, difference)
            for what, difference in self._details
            if difference.verdict not in ("too few", "not measured")
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
            if difference.verdict == "worse"
        )

    @property
    def _details(self) -> list[tuple[of.Checked, Difference]]:
        named = [(of.Checked("task", one.title), one.difference) for one in self.tasks]
        named += [(of.Checked("assertion", one.title), one.difference) for one in self.assertions]
        return [(what, difference) for what, difference in named if difference is not None]


@dataclass(frozen=True, slots=True)
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
        jobs = dict.fromkeys((run.brief.job, run.brief.about_words) for _, run in sides)
        facts = dict.fromkeys(run.brief.facts_words for _, run in sides)
        others = dict.fromkeys(
            f"{run.brief.others_words}{' · rehearsal' if run.brief.rehearsal else ''}" for _, run in sides
        )
        lines = [f"{job}: {about}" for job, about in jobs]
        for (name, run), played in zip(sides, (*others, ""), strict=False):
            parts = [f"agent {run.brief.agent_words}"]
            if len(jobs) > 1:
                parts.append(run.brief.job)
            if len(others) > 1:
                parts.append(played)
            lines.append(f"{name}  {' · '.join([*parts, date(run.started_at), f'run {run.run_id}'])}")
        if len(others) == 1:
            lines += others
        return (*lines, *(f"facts  {each}" for each in facts))

    @property
    def timing_refused(self) -> str:
        """Why response times are not compared, in words; empty if they are."""
        return sentence(self.times) if self.times else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """How the runs differ besides their results, in words."""
        return tuple(map(sentence, self.differences))

    @property
    def identity(self) -> tuple[str, ...]:
        """In what the runs differ besides their job and results, in words."""
        return tuple(sentence(note) for note in self.differences if isinstance(note, of.IdentityDiffers))

    @property
    def regressions(self) -> tuple[str, ...]:
        """What is worse in B than in A beyond chance, by condition, in words."""
        return tuple(sentence(fall) for condition in self.conditions for fall in condition.falls)

    @property
    def undecided(self) -> str:
        """Why the runs cannot show a regression, and how many trials or cases would do; empty if they can."""
        few = [condition.score for condition in self.conditions if condition.score.verdict == "too few"]
        if not few:
            return ""
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
        """What the comparison concludes, what it leaves open, and how the runs differ besides their results."""
        told = [line for side in self.conditions for line in (side.sentence, side.corrected) if line]
        if not self.conditions:
            told.append(NOTHING_IN_COMMON)
        notes = filter(None, (*self.notes, self.timing_refused))
        return (*told, *self.advice, *(f"note: {note}" for note in notes))

    @property
    def measured(self) -> bool:
        """Whether every condition has at least one pair of composites."""
        return bool(self.conditions) and all(
            condition.score.mean is not None for condition in self.conditions
        )


def comparison_of(runs: Sequence[RunResult]) -> Comparison | None:
    """Return the comparison of two runs of one job, which their report begins with; None of any others, whose agents are ranked."""
    if len(runs) != 2 or runs[0].started.job_name != runs[1].started.job_name:
        return None
    return compare(*runs)


def compare(a: RunResult, b: RunResult) -> Comparison:
    """Compare two runs: conditions that both have, tasks and assertions matched by title, trials by number."""
    times = times_not_compared(a, b)
    shared = [c for c in CONDITIONS if c in a.started.conditions and c in b.started.conditions]
    conditions = _corrected([_condition(a, b, condition, times is not None) for condition in shared])
    notes = (*run_notes(a, b), *_by_people("A", a), *_by_people("B", b), *_by_person(a, b, conditions))
    return Comparison(a, b, conditions, times, notes)


def _by_people(name: str, run: RunResult) -> Iterator[of.PeopleWouldSay]:
    """Yield what people would say about a run's verdicts, if they reviewed a sample."""
    for finding in run.people_would_say:
        yield replace(finding, title=f"{name}, {finding.title}" if finding.title else name)


def _by_person(
    a: RunResult, b: RunResult, conditions: Iterable[ConditionComparison]
) -> Iterator[of.SimulatedUsers]:
    """Yield how far simulated users' scores lie from a person's, if a person played the user of one of the runs."""
    people = [(run.started.job.get("evaluator") or {}).get("kind") == "human" for run in (a, b)]
    if people[0] != people[1]:
        person, simulated = (a, b) if people[0] else (b, a)
        for one in conditions:
            pairs = _pairs(person, simulated, one.condition, _score)
            yield of.SimulatedUsers(one.title, difference(differences(pairs)))


def _condition(a: RunResult, b: RunResult, condition: Condition, without_times: bool) -> ConditionComparison:
    without_timing = without_times or targets_differ(a, b)

    def score(talk: ConversationResult) -> Sample:
        if talk.score is None or not without_timing:
            return talk.sample
        composite = _composite(talk, without_timing)
        value = composite.score if composite else None
        return replace(
            talk.sample, value=value, reason="" if value is not None else "only timing was measured"
        )

    latency = None
    averages: tuple[float | None, float | None] = (None, None)
    if not without_times:
        pairs = _pairs(a, b, condition, _average)
        latency = difference(differences(pairs), higher_is_better=False, unit=False)
        averages = _means(pairs)
    return ConditionComparison(
        condition=condition,
        title=condition_title([a, b], condition),
        a=estimate([score(talk) for talk in a.conversations_in(condition)]),
        b=estimate([score(talk) for talk in b.conversations_in(condition)]),
        score=difference(differences(_pairs(a, b, condition, score))),
        parts=_compare_parts(a, b, condition, without_timing),
        tasks=tuple(_compare_tasks(a, b, condition)),
        assertions=tuple(_compare_assertions(a, b, condition)),
        latency=latency,
        averages_ms=averages,
        turns=tuple(_turns(a, b, condition, without_times)),
        cost_a=_cost(a, condition),
        cost_b=_cost(b, condition),
    )


def _cost(run: RunResult, condition: Condition) -> Spent:
    summary = run.summary.of(condition)
    assert summary is not None
    return summary.spent


Value = Callable[[ConversationResult], Sample | None]


def _pairs(
    a: RunResult, b: RunResult, condition: Condition, value: Value, value_b: Value | None = None
) -> list[tuple[Sample | None, Sample | None]]:
    pairs = []
    for one, two in _matched(a, b, condition):
        pairs.append((value(one) if one else None, (value_b or value)(two) if two else None))
    return pairs


def _matched(
    a: RunResult, b: RunResult, condition: Condition
) -> list[tuple[ConversationResult | None, ConversationResult | None]]:
    """Return the conversations that belong together: of the same trial, or of the same case and its trial."""
    first, second = _by_place(a, condition), _by_place(b, condition)
    return [(first.get(place), second.get(place)) for place in dict.fromkeys([*first, *second])]


def _by_place(run: RunResult, condition: Condition) -> dict[tuple[str, int], ConversationResult]:
    talks = {}
    for talk in run.conversations_in(condition):
        place = (talk.case.words, talk.case.trial) if talk.case is not None else ("", talk.trial)
        talks[place] = talk
    return talks


def _score(talk: ConversationResult) -> Sample:
    return talk.sample


def _means(pairs: Sequence[tuple[Sample | None, Sample | None]]) -> tuple[float | None, float | None]:
    """Return the mean of each side over the pairs in which both have a value."""
    both = [(x.value, y.value) for x, y in pairs if x and y and x.value is not None and y.value is not None]
    if not both:
        return None, None
    first, second = zip(*both, strict=True)
    return exact_mean(first), exact_mean(second)


def _average(talk: ConversationResult) -> Sample:
    job, case = talk.sample.job, talk.sample.case
    if not talk.latencies_ms:
        return Sample(job, None, "the agent never answered", case)
    return Sample(job, fmean(talk.latencies_ms), case=case)


def _composite(talk: ConversationResult, without_timing: bool) -> Composite | None:
    """Return a conversation's score with its parts, without timing if times cannot be compared; None without a score."""
    if talk.scored is None or talk.score is None:
        return None
    if without_timing:
        return reweighted(talk.parts, talk.scored.failures, {"timing": 0.0})
    return Composite(talk.score, talk.parts, talk.penalty)


def _compare_parts(
    a: RunResult, b: RunResult, condition: Condition, without_timing: bool
) -> tuple[ValueComparison, ...]:
    def added(talk: ConversationResult, name: str) -> Sample:
        compared = _composite(talk, without_timing)
        if compared is None or not compared.parts:
            return replace(talk.sample, value=None)
        return replace(talk.sample, value=contributions(compared.parts, compared.penalty).get(name, 0.0))

    compared = []
    for name in (*PARTS, PENALTY):
        of = partial(added, name=name)
        sides = [[of(talk) for talk in run.conversations_in(condition)] for run in (a, b)]
        if any(sample.value for side in sides for sample in side):
            both = difference(differences(_pairs(a, b, condition, of)))
            one, two = (estimate(side, (-1.0, 1.0)) for side in sides)
            compared.append(ValueComparison(name, part_title(name), one, two, both))
    return tuple(sorted(compared, key=lambda part: -abs(part.change or 0.0)))


def _compare_tasks(a: RunResult, b: RunResult, condition: Condition) -> list[ValueComparison]:
    numbers_a, numbers_b = (
        {title: number for number, title in run.task_titles(condition).items()} for run in (a, b)
    )

    def of(number: int) -> Value:
        return lambda talk: talk.task_sample(number)

    def summed(run: RunResult, number: int | None) -> Estimate | None:
        if number is None:
            return None
        samples = (talk.task_sample(number) for talk in run.conversations_in(condition))
        return estimate([sample for sample in samples if sample is not None])

    compared = []
    for title in dict.fromkeys([*numbers_a, *numbers_b]):
        one, two = numbers_a.get(title), numbers_b.get(title)
        both = None
        if one is not None and two is not None:
            both = difference(differences(_pairs(a, b, condition, of(one), of(two))))
        compared.append(ValueComparison(title, title, summed(a, one), summed(b, two), both))
    return compared


def _corrected(conditions: Sequence[ConditionComparison]) -> tuple[ConditionComparison, ...]:
    """Return the conditions with p-values corrected over all of them: scores and gated parts, then everything else."""
    first: dict[tuple[str, str, str], Difference] = {}
    beside: dict[tuple[str, str, str], Difference] = {}
    for one in conditions:
        for kind, title, tested in _tested(one):
            if tested is not None:
                is_first = kind == "score" or (kind == "part" and title in GATED)
                (first if is_first else beside)[one.condition, kind, title] = tested
    differences = corrected(first, beside)

    def of(one: ConditionComparison, kind: str, title: str = "") -> Difference | None:
        return differences.get((one.condition, kind, title))

    return tuple(
        replace(
            one,
            score=of(one, "score") or one.score,
            tasks=tuple(replace(task, difference=of(one, "task", task.title)) for task in one.tasks),
            assertions=tuple(
                replace(check, difference=of(one, "assertion", check.title)) for check in one.assertions
            ),
            parts=tuple(replace(part, difference=of(one, "part", part.name)) for part in one.parts),
            latency=of(one, "latency"),
        )
        for one in conditions
    )


def _tested(condition: ConditionComparison) -> list[tuple[str, str, Difference | None]]:
    return [
        ("score", "", condition.score),
        *(("task", task.title, task.difference) for task in condition.tasks),
        *(("assertion", check.title, check.difference) for check in condition.assertions),
        *(("part", part.name, part.difference) for part in condition.parts),
        ("latency", "", condition.latency),
    ]


def _compare_assertions(a: RunResult, b: RunResult, condition: Condition) -> list[AssertionComparison]:
    listed = [run.assertion_titles(condition) for run in (a, b)]
    indices = [{title: index for index, (title, _) in each.items()} for each in listed]
    weights = dict(pair for each in listed for pair in each.values())

    def passed(index: int) -> Value:
        def value(talk: ConversationResult) -> Sample | None:
            check = talk.final_checks.get(index)
            if check is None:
                return None
            known = None if check.status == "not_measured" else float(check.status == "passed")
            return Sample(talk.sample.job, known, "not measured", talk.sample.case)

        return value

    compared = []
    for title, weight in weights.items():
        one, two = (side.get(title) for side in indices)
        shares = [
            None if index is None else run.assertion_share(condition, index)
            for run, index in ((a, one), (b, two))
        ]
        both = None
        if one is not None and two is not None:
            both = difference(differences(_pairs(a, b, condition, passed(one), passed(two))))
        compared.append(AssertionComparison(title, weight, shares[0], shares[1], both))
    return compared


def _turns(a: RunResult, b: RunResult, condition: Condition, without_timing: bool) -> list[TurnComparison]:
    turns = []
    for talks in _matched(a, b, condition):
        sides = [
            grouped((m.turn, m) for m in talk.messages if talk.sent(m)) if talk else {} for talk in talks
        ]
        trial = next(talk.trial for talk in talks if talk is not None)
        for turn in sorted({*sides[0], *sides[1]}):
            one, two = (tuple(side.get(turn, ())) for side in sides)
            a_ms, b_ms = _latency(one), _latency(two)
            both = a_ms is not None and b_ms is not None and not without_timing
            change = b_ms - a_ms if both and a_ms is not None and b_ms is not None else None
            turns.append(TurnComparison(trial, turn, one, two, a_ms, b_ms, change))
    return turns


def _latency(messages: tuple[MessageState, ...]) -> float | None:
    return next((m.latency_ms for m in messages if m.role == "assistant" and m.latency_ms is not None), None)
