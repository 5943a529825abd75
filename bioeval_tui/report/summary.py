"""Summary of one agent's runs: by condition, never pooled; the uplift is paired by trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from bioeval_tui.evaluation.guards.ledger import asks_for_anything
from bioeval_tui.record.names import CONDITIONS, Condition, asked_and_served
from bioeval_tui.report import rows
from bioeval_tui.report.costs import Spent, spent
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.statistics.differences import Difference, corrected, difference, differences
from bioeval_tui.report.statistics.estimates import (
    Estimate,
    PassK,
    Proportion,
    Sample,
    Tries,
    estimate,
    grouped,
    pass_series,
    proportion,
)
from bioeval_tui.report.statistics.latency import LatencySummary, summarise

NO_PAIR = "without facts to withhold"
"""Why a case has no difference between the conditions."""


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


@dataclass(frozen=True, slots=True)
class Asking:
    """What the agent did to learn the facts of its cases, over all conversations of a condition."""

    conversations: int
    questions: int
    """The agent's messages that ask for something."""
    obtained: int
    """The facts that the user gave when asked."""
    facts: int
    """The facts that there were."""


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """Everything about one condition."""

    condition: Condition
    title: str
    """What the jobs call it, else `facts withheld`."""
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
    """How many of the verdicts quote words that are not in the transcript."""


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
    runs: tuple[LoadedRun, ...]
    conditions: tuple[ConditionSummary, ...]
    uplift: Difference | None
    task_uplifts: tuple[TaskUplift, ...]
    spent: Spent
    """Both conditions together: the cost of the evaluation."""

    @property
    def difference_name(self) -> Literal["uplift", "difference"]:
        """What supplied − withheld is called."""
        return rows.difference_name(run.state for run in self.runs)

    @property
    def difference_label(self) -> str:
        """How supplied − withheld is introduced."""
        return rows.difference_label(run.state for run in self.runs)

    def of(self, condition: Condition) -> ConditionSummary | None:
        """Return one condition's summary."""
        return next((found for found in self.conditions if found.condition == condition), None)


Run = TypeVar("Run", bound=LoadedRun)


def groups(runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    """Split runs by what must not be pooled: agent, model (as the server names it, if it does), and whether it was a
    rehearsal."""
    found: dict[tuple[str, str, bool, str], list[Run]] = {}
    for run in runs:
        started = run.started
        # Two imported files without an agent's name may be from different agents.
        own = started.run_id if _is_nameless(run) else ""
        model = run.state.served_model or started.model or ""
        found.setdefault((started.agent, model, started.rehearsal, own), []).append(run)
    return [tuple(group) for group in found.values()]


def _is_nameless(run: LoadedRun) -> bool:
    started = run.started
    return started.source is not None and started.agent == "unknown" and not started.model


def summarise_runs(runs: Sequence[LoadedRun]) -> list[Summary]:
    """Return one summary for each agent and model among the runs."""
    found = [_summary(group) for group in groups(runs)]
    labels = [summary.label for summary in found]
    return [
        # Two groups that would read the same differ in the model that was asked for.
        replace(summary, label=f"{summary.label} · asked for {summary.runs[0].started.model or 'no model'}")
        if labels.count(summary.label) > 1
        else summary
        for summary in found
    ]


def _summary(runs: tuple[LoadedRun, ...]) -> Summary:
    first = runs[0].started
    asked = " and ".join(dict.fromkeys(run.started.model for run in runs if run.started.model))
    served = runs[0].state.served_model
    # A rehearsal requests a model that is not used, so naming it would mislead.
    model = asked_and_served(asked, [served]) if served else None if first.rehearsal else first.model
    agent = first.job_name if _is_nameless(runs[0]) else first.agent
    label = " · ".join(part for part in (agent, model) if part)
    held = rows.conditions(runs)
    conditions = tuple(_condition(runs, name) for name in held)
    cost = spent(runs)
    paired = [run for run in runs if run.state.only_condition is None]
    if not paired:
        return Summary(label, runs, conditions, None, (), cost)
    pairs = [pair for run in paired for pair in _score_pairs(run)]
    uplifts = tuple(_task_uplifts(paired))
    return Summary(label, runs, conditions, difference(differences(pairs)), uplifts, cost)


def _condition(runs: tuple[LoadedRun, ...], condition: Condition) -> ConditionSummary:
    held = list(rows.talks(runs, condition))
    scores = [sample for run, talk in held if (sample := rows.score_sample(run, talk)) is not None]
    answers = [m for _, talk in held for m in talk.messages if m.role == "assistant"]
    tries = tuple(rows.task_tries(runs, condition))
    verdicts = [task for _, talk in held if talk.verdict for task in talk.verdict.tasks]
    return ConditionSummary(
        condition=condition,
        title=rows.condition_title(runs, condition),
        score=estimate(scores),
        tasks=tuple(_tasks(runs, condition)),
        assertions=tuple(_assertions(runs, condition)),
        tags=tuple(
            TagSummary(tag, estimate(found)) for tag, found in rows.tag_samples(runs, condition).items()
        ),
        tries=tries,
        pass_k=pass_series(tries),
        asking=asking(runs, condition),
        latency=summarise(
            [m.latency_ms for m in answers if m.latency_ms is not None],
            [m.first_token_ms for m in answers if m.first_token_ms is not None],
            [run.started.concurrency for run in runs],
        ),
        failures=sum(talk.failures for _, talk in held),
        spent=spent(runs, condition),
        verdicts=len(verdicts),
        unproved=sum(task.unproved for task in verdicts),
    )


def asking(runs: Sequence[LoadedRun], condition: Condition) -> Asking | None:
    """Return how often the agent asked and what it obtained; None without facts, and of imported conversations."""
    held = [(run, talk) for run, talk in rows.talks(runs, condition) if run.started.source is None]
    facts = sum(len(run.state.job_of(talk.key.trial).get("facts") or ()) for run, talk in held)
    if not facts:
        return None
    answers = [message.text for _, talk in held for message in talk.messages if message.role == "assistant"]
    obtained = sum(fact.asked for _, talk in held for fact in talk.facts)
    return Asking(len(held), sum(map(asks_for_anything, answers)), obtained, facts)


def by_job(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs by the name of their job."""
    return grouped((run.started.job_name, run) for run in runs)


def _tasks(runs: Sequence[LoadedRun], condition: Condition) -> list[TaskSummary]:
    found = []
    for job, same in by_job(runs).items():
        for number, title in rows.task_titles(same[-1].state, condition=condition).items():
            scored: list[Sample] = []
            passed: list[tuple[str, bool]] = []
            for run, talk in rows.talks(same, condition):
                sample = rows.task_sample(run, talk, number)
                task = rows.task_of(talk, number)
                if sample is not None:
                    scored.append(sample)
                if task is not None and task.measured:
                    passed.append((rows.case_of(talk), task.passed))
            found.append(
                TaskSummary(
                    job,
                    number,
                    title,
                    estimate(scored),
                    proportion(passed, stopped=any(map(rows.could_stop, same))),
                )
            )
    return found


def _assertions(runs: Sequence[LoadedRun], condition: Condition) -> list[AssertionSummary]:
    found = []
    for job, same in by_job(runs).items():
        for index, (title, weight) in rows.assertion_titles(same[-1].state, condition=condition).items():
            share, unknown = rows.assertion_share(same, condition, index)
            found.append(AssertionSummary(job, index, title, weight, share, unknown))
    return found


def _score_pairs(run: LoadedRun) -> list[tuple[Sample | None, Sample | None]]:
    return [
        _pair(run, trial, *(rows.score_sample(run, run.state.conversation(c, trial)) for c in CONDITIONS))
        for trial in run.trials
    ]


def _task_uplifts(runs: Sequence[LoadedRun]) -> list[TaskUplift]:
    found: dict[tuple[str, int, str], Difference] = {}
    for job, same in by_job(runs).items():
        in_both = [rows.task_titles(same[-1].state, condition=name) for name in CONDITIONS]
        for number, title in in_both[0].items():
            if number not in in_both[1]:
                continue
            pairs = [
                _pair(
                    run,
                    trial,
                    *(rows.task_sample(run, run.state.conversation(c, trial), number) for c in CONDITIONS),
                )
                for run in same
                for trial in run.trials
            ]
            found[job, number, title] = difference(differences(pairs))
    return [TaskUplift(job, title, one) for (job, _, title), one in corrected(found).items()]


def _pair(
    run: LoadedRun, trial: int, withheld: Sample | None, supplied: Sample | None
) -> tuple[Sample | None, Sample | None]:
    """A run that is not known to be clean has no uplift, because its second condition may have inherited state from the first.

    Nor has a case without facts, whose conditions are the same.
    """
    if not run.state.clean:
        left_out = Sample(run.started.job_name, None, run.state.cleanness)
    elif not rows.has_pair(run, trial):
        left_out = Sample(run.started.job_name, None, NO_PAIR)
    else:
        return withheld, supplied
    return left_out, left_out
