"""The summary of one agent's runs, by condition, never pooled, with the uplift paired by trial; and
the ranks of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from bioeval_tui.base import units
from bioeval_tui.base.printed import Fields
from bioeval_tui.record.condition_names import (
    PLACEBO_NAME,
    Condition,
    published_title,
    without_placebo,
)
from bioeval_tui.record.conditions import condition_names
from bioeval_tui.record.participants import asked_and_served
from bioeval_tui.record.score import rubric_score
from bioeval_tui.report import findings as of
from bioeval_tui.report.control import Control, find_control
from bioeval_tui.report.costs import Spent, spent
from bioeval_tui.report.findings import Finding, RanksBasis, Shared
from bioeval_tui.report.run import (
    ConversationResult,
    RecordedRun,
    each_conversation,
    shared_scoring,
)
from bioeval_tui.report.sentences import effect_words, rank_words, sentence
from bioeval_tui.statistics.estimates import (
    Counted,
    Estimate,
    LatencySummary,
    PassK,
    Proportion,
    Sample,
    Tries,
    count,
    estimate,
    grouped,
    pass_series,
    proportion,
    summarise,
)
from bioeval_tui.statistics.intervals import FEWEST_UNITS
from bioeval_tui.statistics.means import exact_mean
from bioeval_tui.statistics.paired_differences import Difference, corrected, difference, differences
from bioeval_tui.statistics.ranks import AgentRank, AgentRanking, rank

MOST_EXCLUDED = 0.10
"""The largest share of planned conversations that may not count: with more, a gate that passes
would say little of the run.
"""
ALL_ITEMS = "all items"
"""The tag of all items of a rubric: the rubric's own score, without timing and assertions."""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task of one job under one condition: its score, and how often it was passed."""

    job: str
    number: int
    title: str
    score: Estimate
    passed: Proportion


@dataclass(frozen=True, slots=True)
class AssertionSummary:
    """One assertion of one job in one condition: how often it passed at the end."""

    job: str
    index: int
    title: str
    weight: float
    held: Proportion
    not_measured: int


@dataclass(frozen=True, slots=True)
class TagSummary:
    """The rubric items with one tag, in one condition: earned points divided by possible points."""

    tag: str
    score: Estimate


class Asking(BaseModel):
    """What the agent did to learn the facts, over all conversations of a condition."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    conversations: int
    questions: int | None
    """The agent's answers with a question, apart from offers of help; null if it asks in a language
    that is not read.
    """
    obtained: int
    """The facts that the user gave when asked."""
    facts: int
    """The facts that there were."""
    unread: int
    """Those of which it cannot be told whether the user gave them, or was asked."""


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """Everything about one condition."""

    condition: Condition
    title: str
    """What the jobs call it, else `without the facts`."""
    score: Estimate
    tasks: tuple[TaskSummary, ...]
    assertions: tuple[AssertionSummary, ...]
    tags: tuple[TagSummary, ...]
    tries: tuple[Tries, ...]
    pass_k: tuple[PassK, ...]
    asking: Asking | None
    """None without facts, or if the recording does not say which were given."""
    latency: LatencySummary
    failures: int
    spent: Spent
    verdicts: int
    unproved: int
    """How many of the verdicts quote words that are not in the transcript, or only the user's."""
    words_told: float | None
    """How many words the user told in a conversation, on average, without the greeting; None
    without conversations.
    """

    @property
    def is_placebo(self) -> bool:
        """Whether it is the placebo, which is no use of the agent to be scored."""
        return self.condition == PLACEBO_NAME


@dataclass(frozen=True, slots=True)
class TaskUplift:
    """Supplied − withheld of one task, paired by trial."""

    job: str
    title: str
    difference: Difference


@dataclass(frozen=True, slots=True)
class Summary:
    """The runs of one agent and model. The uplift is None unless a run has both conditions."""

    label: str
    runs: tuple[RecordedRun, ...]
    conditions: tuple[ConditionSummary, ...]
    uplift: Difference | None
    task_uplifts: tuple[TaskUplift, ...]
    """Of the tasks that both conditions judge alike."""
    spent: Spent
    """Both conditions together: the cost of the evaluation."""
    shared: Shared | None = None
    """What the uplift rests on; None if the conditions share everything that is scored."""
    control: Control | None = None
    """What of the uplift is the longer talk's; None of runs without a placebo."""

    @property
    def uplift_words(self) -> str:
        """The uplift with what it rests on, in words; empty unless a run has both conditions."""
        if self.uplift is None:
            return ""
        return effect_words(self.uplift, self.shared)

    def of(self, condition: Condition) -> ConditionSummary | None:
        """Return one condition's summary."""
        return next((one for one in self.conditions if one.condition == condition), None)


def groups(runs: Sequence[RecordedRun]) -> list[tuple[RecordedRun, ...]]:
    """Split runs by what must not be pooled: agent, the chatbot at its server, model (as the server
    names it, if it does), and whether it was a rehearsal.
    """
    by_agent: dict[tuple[str, str, str, bool, str], list[RecordedRun]] = {}
    for run in runs:
        started = run.started
        # Two imported files without an agent's name may be from different agents.
        own = started.run_id if _is_nameless(run) else ""
        model = run.brief.served_model or started.model or ""
        key = (started.agent, run.chatbot, model, started.rehearsal, own)
        by_agent.setdefault(key, []).append(run)
    return [tuple(group) for group in by_agent.values()]


def _is_nameless(run: RecordedRun) -> bool:
    started = run.started
    return started.source is not None and started.agent == "unknown" and not started.model


def summarise_runs(runs: Sequence[RecordedRun]) -> list[Summary]:
    """Return one summary for each agent and model among the runs."""
    summaries = [_summary(group) for group in groups(runs)]
    # Groups that would read the same differ in the chatbot, or in the model that was asked for.
    summaries = _told_apart(summaries, lambda run: run.chatbot)
    return _told_apart(summaries, lambda run: f"asked for {run.started.model or 'no model'}")


def _told_apart(summaries: Sequence[Summary], more: Callable[[RecordedRun], str]) -> list[Summary]:
    """Return the summaries with `more` in those labels that are the same, where it tells them
    apart.
    """
    known = grouped((summary.label, more(summary.runs[0])) for summary in summaries)
    return [
        replace(summary, label=f"{summary.label} · {more(summary.runs[0])}")
        if len(set(known[summary.label])) > 1
        else summary
        for summary in summaries
    ]


def _summary(runs: tuple[RecordedRun, ...]) -> Summary:
    first = runs[0].started
    asked = " and ".join(dict.fromkeys(run.started.model for run in runs if run.started.model))
    served = runs[0].brief.served_model
    # A rehearsal requests a model that is not used, so naming it would mislead.
    model = None
    if served:
        model = asked_and_served(asked, [served])
    elif not first.rehearsal:
        model = first.model
    agent = first.job_name if _is_nameless(runs[0]) else first.agent
    label = " · ".join(filter(None, (agent, model)))
    names = held_conditions(runs)
    conditions = tuple(_condition(runs, name) for name in names)
    cost = spent(runs)
    paired = [run for run in runs if run.only_condition is None]
    if not paired:
        return Summary(label, runs, conditions, None, (), cost)
    pairs = _pairs(paired, lambda talk: talk.shared_sample)
    tasks = _task_uplifts(paired)
    corrected_by_name = corrected({(): difference(differences(pairs))}, tasks)
    uplifts = tuple(
        TaskUplift(job, title, corrected_by_name[job, number, title])
        for job, number, title in tasks
    )
    return Summary(
        label,
        runs,
        conditions,
        corrected_by_name[()],
        uplifts,
        cost,
        shared_scoring(paired),
        find_control(paired, tasks),
    )


def _condition(runs: tuple[RecordedRun, ...], condition: Condition) -> ConditionSummary:
    talks = [talk for _, talk in each_conversation(runs, condition)]
    tries = tuple(task_tries(runs, condition))
    return ConditionSummary(
        condition=condition,
        title=condition_title(runs, condition),
        score=estimate([talk.sample for talk in talks]),
        tasks=tuple(_tasks(runs, condition)),
        assertions=tuple(_assertions(runs, condition)),
        tags=tuple(
            TagSummary(tag, estimate(samples))
            for tag, samples in tag_samples(runs, condition).items()
        ),
        tries=tries,
        pass_k=pass_series(tries),
        asking=asking(runs, condition),
        latency=summarise(
            list(chain.from_iterable(talk.latencies_ms for talk in talks)),
            list(chain.from_iterable(talk.first_tokens_ms for talk in talks)),
            [run.started.concurrency for run in runs],
        ),
        failures=sum(talk.failures for talk in talks),
        spent=spent(runs, condition),
        verdicts=sum(len(talk.tasks) for talk in talks),
        unproved=sum(talk.unproved for talk in talks),
        words_told=exact_mean([talk.words_told for talk in talks]) if talks else None,
    )


def asking(runs: Sequence[RecordedRun], condition: Condition) -> Asking | None:
    """Return how often the agent asked and what it obtained; None without facts, and of imported
    conversations.
    """
    recorded = [run for run in runs if run.started.source is None]
    talks = [talk for _, talk in each_conversation(recorded, condition)]
    facts = sum(map(_facts_to_obtain, talks))
    if not facts:
        return None
    asks = list(chain.from_iterable(talk.answers_ask for talk in talks))
    questions = None if None in asks else asks.count(True)
    given = chain.from_iterable(talk.facts for talk in talks)
    obtained = sum(fact.asked is True for fact in given)
    unread = sum(_unread(talk) for talk in talks)
    return Asking(
        conversations=len(talks), questions=questions, obtained=obtained, facts=facts, unread=unread
    )


def _facts_to_obtain(talk: ConversationResult) -> int:
    """Return of how many facts an agent could obtain some, without those that nobody tells."""
    return len(talk.job.get("facts") or ()) - talk.facts_never_told


def _unread(talk: ConversationResult) -> int:
    """Return of how many facts it cannot be told whether the user gave them, or was asked."""
    given = {fact.fact: fact.asked for fact in talk.facts}
    not_found = _facts_to_obtain(talk) - len(given) if talk.facts_unread else 0
    return max(0, not_found) + sum(asked is None for asked in given.values())


def runs_by_job(runs: Sequence[RecordedRun]) -> dict[str, list[RecordedRun]]:
    """Return the runs by the name of their job; if that says other things in some of them, also by
    the first run of each.
    """
    same = grouped(((run.started.job_name, run.job_digest), run) for run in runs)
    names = [name for name, _ in same]
    return {
        name if names.count(name) == 1 else f"{name} · run {group[0].run_id}": group
        for (name, _), group in same.items()
    }


def held_conditions(runs: Sequence[RecordedRun]) -> list[Condition]:
    """Return the conditions that any of the runs has, in the order of their jobs."""
    places: dict[Condition, int] = {}
    for run in runs:
        for place, name in enumerate(condition_names(run.state.job)):
            places[name] = min(place, places.get(name, place))
    held = dict.fromkeys(chain.from_iterable(run.conditions for run in runs))
    return sorted(held, key=lambda condition: places.get(condition, len(places)))


def scored_conditions(runs: Sequence[RecordedRun]) -> tuple[Condition, ...]:
    """Return the same without the placebo, unless it was run alone."""
    held = held_conditions(runs)
    return without_placebo(held) or tuple(held)


def condition_title(runs: Sequence[RecordedRun], condition: Condition) -> str:
    """Return what all runs call a condition; what it is called by default if their jobs name it
    differently.
    """
    titles = {run.condition_title(condition) for run in runs}
    if len(titles) == 1:
        return titles.pop()
    return published_title(condition)


def assertion_share(
    runs: Sequence[RecordedRun], condition: Condition, index: int
) -> tuple[Proportion, int]:
    """Return how often an assertion passed at the end, and in how many conversations it was not
    measured.
    """
    finals = [
        (talk.sample, check.status)
        for _, talk in each_conversation(runs, condition)
        if (check := talk.final_checks.get(index)) is not None
    ]
    known = [
        ((of.job, of.case), status == "passed") for of, status in finals if status != "not_measured"
    ]
    return proportion(known, stopped=any(run.could_stop for run in runs)), len(finals) - len(known)


def tag_samples(runs: Sequence[RecordedRun], condition: Condition) -> dict[str, list[Sample]]:
    """Return each conversation's scores over the items with each tag, by tag; `ALL_ITEMS` is
    first.
    """
    by_tag: dict[str, list[Sample]] = {}
    for _, talk in each_conversation(runs, condition):
        if talk.excluded:
            continue
        items = [(item, {ALL_ITEMS, *item.tags}) for item in talk.tasks if item.points is not None]
        for tag in set(chain.from_iterable(tags for _, tags in items)):
            value = rubric_score([item for item, tags in items if tag in tags])
            if value is not None:  # only what must not be done has this tag here
                by_tag.setdefault(tag, []).append(replace(talk.sample, value=value))
    return dict(sorted(by_tag.items(), key=lambda pair: (pair[0] != ALL_ITEMS, pair[0])))


def planned_samples(run: RecordedRun, only: Condition | None = None) -> list[Sample]:
    """Return all planned conversations of the run's scored conditions, or of one; one that never
    started is excluded as `not run`.
    """
    not_run = Sample(run.brief.job, None, "not run")
    asked = run.scored_conditions if only is None else (only,)
    planned = [run.conversation(*place) for place in run.planned if place[0] in asked]
    return [not_run if talk is None else talk.sample for talk in planned]


def count_planned(runs: Sequence[RecordedRun]) -> Counted:
    """Return how many of all planned conversations count, and why the others don't."""
    return count(list(chain.from_iterable(map(planned_samples, runs))))


def why_unmeasured(counted: Counted, *, gated: bool = True) -> tuple[Finding, ...]:
    """Return why no threshold can be met, whatever the scores: too few conversations count, or one
    must not be left out.

    Where there are thresholds (`gated`), also if one was held again: else an agent had a second try
    at whatever went badly.
    """
    if not counted.held:
        return (of.NothingRun(),)
    found: list[Finding] = []
    if counted.excluded_share > MOST_EXCLUDED:
        found.append(of.ManyExcluded(counted, MOST_EXCLUDED))
    if counted.unexcused:
        found.append(of.NotExcused(counted))
    if gated and counted.again:
        found.append(of.HeldAgain(counted))
    return tuple(found)


def task_tries(
    runs: Sequence[RecordedRun], condition: Condition, *, left_out: bool | None = None
) -> list[Tries]:
    """Return how often each task of each job (and case) was passed (score > `passAbove`) in trials
    that count.

    A conversation without a composite does not count as a trial, even if its tasks were judged (for
    example without the graph), unless `left_out` says whether such a trial is to have passed.
    """
    counts: dict[tuple[str, str, str, str], dict[int, bool]] = {}
    for number, (run, talk) in enumerate(each_conversation(runs, condition)):
        case = talk.case.words if talk.case is not None else ""
        for place, title in run.task_titles(condition, talk.trial).items():
            # A case whose contents were changed is another one.
            digest = talk.content_digest
            tries = counts.setdefault((run.started.job_name, case, title, digest), {})
            task = talk.task(place)
            if task is not None and task.measured and not talk.excluded:
                tries[number] = task.passed
            elif left_out is not None:
                tries[number] = left_out
    return [
        Tries(f"{case}: {title}" if case else title, passed, f"{job} {case}")
        for (job, case, title, _), passed in counts.items()
    ]


def _tasks(runs: Sequence[RecordedRun], condition: Condition) -> list[TaskSummary]:
    tasks = []
    for job, same in runs_by_job(runs).items():
        talks = [talk for _, talk in each_conversation(same, condition)]
        stopped = any(run.could_stop for run in same)
        for number, title in same[-1].task_titles(condition).items():
            scored = [sample for talk in talks if (sample := talk.task_sample(number)) is not None]
            passed = [
                (talk.sample.case, task.passed)
                for talk in talks
                if (task := talk.task(number)) is not None and task.measured
            ]
            share = proportion(passed, stopped=stopped)
            tasks.append(TaskSummary(job, number, title, estimate(scored), share))
    return tasks


def _assertions(runs: Sequence[RecordedRun], condition: Condition) -> list[AssertionSummary]:
    assertions = []
    for job, same in runs_by_job(runs).items():
        for index, (title, weight) in same[-1].assertion_titles(condition).items():
            share, unknown = assertion_share(same, condition, index)
            assertions.append(AssertionSummary(job, index, title, weight, share, unknown))
    return assertions


def _task_uplifts(runs: Sequence[RecordedRun]) -> dict[tuple[Any, ...], Difference]:
    """Return the uplift of each task that both conditions judge alike, by its job, number and
    title.
    """
    by_task: dict[tuple[Any, ...], Difference] = {}
    for job, same in runs_by_job(runs).items():
        alike: set[int] = set()
        for run in same:
            alike.update(*(run.criteria_shared(trial).tasks.numbers for trial in run.trials))
        for number, title in same[-1].task_titles().items():
            if number in alike:
                scores = partial(ConversationResult.shared_task_sample, number=number)
                by_task[job, number, title] = difference(differences(_pairs(same, scores)))
    return by_task


SampleOf = Callable[[ConversationResult], Sample | None]


def _pairs(
    runs: Sequence[RecordedRun], sample_of: SampleOf
) -> Iterator[tuple[Sample | None, Sample | None]]:
    """Yield each trial's values of both conditions, run by run."""
    for run in runs:
        for trial in run.trials:
            yield _pair(run, trial, sample_of)


def _pair(run: RecordedRun, trial: int, sample_of: SampleOf) -> tuple[Sample | None, Sample | None]:
    """Return both conditions' samples of a trial, or why they have no difference."""
    if why := run.why_not_compared(trial):
        left_out = Sample(run.started.job_name, None, why)
        return left_out, left_out
    assert run.contrast is not None  # otherwise they are not compared
    without, with_facts = (run.conversation(name, trial) for name in run.contrast)
    return sample_of(without) if without else None, sample_of(with_facts) if with_facts else None


# Ranks of several agents


@dataclass(frozen=True, slots=True)
class ConditionRanking:
    """The agents in one condition, the best mean first, compared on jobs or on cases."""

    condition: Condition
    title: str
    """What the jobs call it, else `without the facts`."""
    ranking: AgentRanking

    @property
    def note(self) -> str:
        """The basis of the ranks, in one sentence."""
        return sentence(RanksBasis(self.ranking.cases, self.ranking.left_out, FEWEST_UNITS))

    @property
    def enough(self) -> bool:
        """Whether there are enough common cases for ranks."""
        return self.ranking.cases >= FEWEST_UNITS

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Agent, mean over the common cases, and its ranks as text; a dash where these are too few
        for ranks.
        """
        some = self.ranking.cases > 0
        return [
            (
                one.name,
                units.number(one.mean if some else None),
                rank_words(one) if self.enough else units.DASH,
            )
            for one in self.ranking.ranks
        ]

    def of(self, name: str) -> AgentRank:
        """Return an agent's rank."""
        return next(one for one in self.ranking.ranks if one.name == name)


def rankings(summaries: Sequence[Summary]) -> list[ConditionRanking]:
    """Return the ranks of the agents in each condition that all of them ran; none for a single
    agent.
    """
    if len(summaries) < 2:
        return []
    runs = list(chain.from_iterable(summary.runs for summary in summaries))
    return [
        ConditionRanking(
            condition,
            condition_title(runs, condition),
            rank(scores_by_case({one.label: one.runs for one in summaries}, condition)),
        )
        for condition in scored_conditions(runs)
        if all(summary.of(condition) is not None for summary in summaries)
    ]


def scores_by_case(
    runs: Mapping[str, Sequence[RecordedRun]], condition: Condition
) -> dict[str, dict[str, list[float]]]:
    """Return the scores of each agent's runs by case, or by job if that has no cases.

    Only scores on what all agents were tested with count: a case of which an agent lacks some has
    the others', and one of which nothing is common has none. It stays one case with several
    personas, and whatever the job file is called.
    """
    scored = {
        agent: [talk for _, talk in each_conversation(own, condition) if talk.score is not None]
        for agent, own in runs.items()
    }
    contents = [{talk.common_content for talk in talks} for talks in scored.values()]
    common = set.intersection(*contents) if contents else set()
    case_of: dict[str, str] = {}
    for talk in chain.from_iterable(scored.values()):
        case_of.setdefault(talk.common_content, f"{talk.sample.job} {talk.sample.case}")
    by_agent: dict[str, dict[str, list[float]]] = {}
    for agent, talks in scored.items():
        by_case = by_agent[agent] = {}
        for talk in talks:
            scores = by_case.setdefault(case_of[talk.common_content], [])
            if talk.common_content in common and talk.score is not None:
                scores.append(talk.score)
    return by_agent


RANK = Fields(
    AgentRank,
    called="PrintedRank",
    about=(
        "One agent's place, and the best and worst that it may have; None with fewer than ten cases"
        " that all agents have."
    ),
    named={"agent": "name"},
    mean=float | None,
    place=int | None,
    best=int | None,
    worst=int | None,
)


class PrintedRanking(TypedDict):
    """The agents in one condition, the best mean first."""

    condition: Condition
    cases: int
    left_out: int
    note: str
    agents: list[Annotated[dict[str, Any], RANK]]


def no_ranks(enough: bool) -> dict[str, None]:
    """Return what JSON says in place of an agent's ranks where there are too few cases for any."""
    if enough:
        return {}
    return dict.fromkeys(("place", "best", "worst"))


def ranking_dicts(rankings: Sequence[ConditionRanking]) -> list[PrintedRanking]:
    """Return rankings for JSON."""
    return [
        {
            "condition": one.condition,
            "cases": one.ranking.cases,
            "left_out": one.ranking.left_out,
            "note": one.note,
            "agents": [RANK.of(each, **no_ranks(one.enough)) for each in one.ranking.ranks],
        }
        for one in rankings
    ]
