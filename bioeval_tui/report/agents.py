"""Comparison of agents over tasks: medals and ranks, with intervals over tasks, however many
submissions each has.

Invalid and not graded submissions count as no medal and percentile 0. A second figure is over
graded submissions only; it is not used for ranking, because an agent could gain by submitting only
safe results.

Reports of MLE-bench have no percentile. An agent of whose valid submissions none has one has no
mean percentile, however many of its others would count as 0, and no rank by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Annotated, Any

from pydantic import Field

from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import plural
from bioeval_tui.base.units import number1
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.submissions import UNKNOWN_AGENT
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.report.findings import AgentRanksBasis, BehindNext
from bioeval_tui.report.sentences import sentence
from bioeval_tui.statistics.estimates import Sample, grouped
from bioeval_tui.statistics.intervals import FEWEST_UNITS, UNIT, Interval, Measured, ends, mean_of
from bioeval_tui.statistics.means import average, average_if_any
from bioeval_tui.statistics.paired_differences import Difference, difference
from bioeval_tui.statistics.ranks import AgentRank, rank


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """One submission of an agent."""

    agent: str
    task_id: str
    percentile: float | None
    """None where it is unknown, because the task has no leaderboard, or the submission no valid
    score.
    """
    medal: bool
    partial: bool = False
    """Whether it was scored on only a part of the rows."""
    doubts: str = ""
    """Why its score is in doubt; empty if it is not."""
    graded: bool = True
    """Whether it was graded and valid."""


@dataclass(frozen=True, slots=True)
class AgentStanding:
    """An agent over its tasks.

    Shares and percentiles count submissions that were not graded as 0; those named `_graded`
    exclude them.

    Each is the mean over tasks of the mean over a task's submissions. Percentiles are None where
    none is known; `percentiles` is the number of valid submissions that have one. `rank` is among
    the agents with percentiles, on the tasks that all of them have; None for other agents, and with
    fewer than ten such tasks. `behind` is the paired difference in percentile between the next
    better agent and this one, on the tasks that both have. `in_doubt` has the task and the reason
    of each score in doubt. The fields are the keys of `medals --agents --json`.
    """

    agent: str
    submissions: int
    graded: int
    scored_on_part_of_rows: int
    in_doubt: tuple[str, ...]
    tasks: int
    passes: int
    percentiles: int
    any_medal_share: float
    any_medal_interval: Interval | None
    any_medal_share_graded: float | None
    percentile: float | None
    percentile_graded: float | None
    rank: AgentRank | None
    rank_graded: AgentRank | None
    behind: Difference | None

    @property
    def graded_words(self) -> str:
        """Such as `4 of 5 graded`, or `4 of 5 graded, 2 on a part of the rows`."""
        parts = [f"{self.graded:,} of {self.submissions:,} graded"]
        if self.scored_on_part_of_rows:
            parts.append(f"{self.scored_on_part_of_rows:,} on a part of the rows")
        if self.in_doubt:
            parts.append(f"{len(self.in_doubt):,} in doubt")
        return ", ".join(parts)

    @property
    def basis_words(self) -> str:
        """What the figures are over, such as `3 tasks; percentile of 2 of 4 valid submissions`."""
        known = f"percentile of {self.percentiles:,} of {plural(self.graded, 'valid submission')}"
        return f"{plural(self.tasks, 'task')}; {known}"

    @property
    def medal_words(self) -> str:
        """For example `41.7 % [15.2, 72.3]`; fewer than ten tasks have no interval."""
        share = f"{number1(100 * self.any_medal_share)} %"
        if found := self.any_medal_interval:
            return f"{share} [{number1(100 * found.low)}, {number1(100 * found.high)}]"
        return share

    @property
    def behind_words(self) -> str:
        """Such as `−4.2 percentiles, 95 % interval −7.0 to −1.4: worse`; empty for the first."""
        if self.behind:
            return sentence(BehindNext(self.behind))
        return ""

    def to_dict(self) -> PrintedStanding:
        """Return the fields, ready for JSON: ranks and intervals as [low, high], `behind` as its
        mean and interval.
        """
        figures = {
            item.name: getattr(self, item.name) for item in fields(self) if item.name != "behind"
        }
        behind_next, behind_next_interval = None, None
        if self.behind is not None:
            behind_next = self.behind.mean
            behind_next_interval = ends(self.behind.estimate.interval)
        return {
            **figures,
            "in_doubt": list(self.in_doubt),
            "any_medal_interval": ends(self.any_medal_interval),
            "rank": _places(self.rank),
            "rank_graded": _places(self.rank_graded),
            "behind_next": behind_next,
            "behind_next_interval": behind_next_interval,
        }


PrintedStanding = Annotated[
    dict[str, Any],
    Fields(
        AgentStanding,
        without=("behind",),
        in_doubt=list[str],
        any_medal_interval=list[float] | None,
        rank=list[int] | None,
        rank_graded=list[int] | None,
        behind_next=float | None,
        behind_next_interval=list[float] | None,
    ),
    Field(
        description=(
            "An agent over its tasks, as `medals --agents --json` prints it. Ranks and intervals"
            " are [low, high], ranks None where no percentile is known, or with fewer than ten"
            " tasks that all agents have."
        )
    ),
]


def _places(rank: AgentRank | None) -> list[int] | None:
    if rank is None:
        return None
    return [rank.best, rank.worst]


@dataclass(frozen=True, slots=True)
class Standings:
    """All agents, the highest percentile first, then those without one, the largest share of medals
    first.

    `basis` is what the ranks rest on; with too few tasks that all have, no agent has one.
    """

    agents: tuple[AgentStanding, ...]
    basis: AgentRanksBasis

    @property
    def words(self) -> str:
        """The basis of the ranks."""
        return sentence(self.basis)


def agent_entry(agent: str, task_id: str, report: TaskReport | None) -> AgentEntry:
    """Return a submission of an agent; `report` is None if it was not graded."""
    if report is None or not report.valid_submission:
        return AgentEntry(agent, task_id, None, medal=False, graded=False)
    return AgentEntry(
        agent, task_id, report.percentile, report.medal is not None,
        report.rows_missing > 0,
        report.doubt_words,
    )  # fmt: skip


def entries_of(reports: Sequence[TaskReport], not_graded: Sequence[NotGraded]) -> list[AgentEntry]:
    """Return the submissions of agents that are known by name, in their order."""
    entries = [agent_entry(report.agent, report.task_id, report) for report in reports]
    entries += [
        agent_entry(item.known_agent or UNKNOWN_AGENT, item.task_id, None) for item in not_graded
    ]
    return of_known_agents(entries)


def of_known_agents(entries: Iterable[AgentEntry]) -> list[AgentEntry]:
    """Return the submissions whose agent is known by name.

    Those of nobody in particular are no agent: with few tasks, they would take the ranks of all.
    """
    return [entry for entry in entries if entry.agent != UNKNOWN_AGENT]


def _by_agent(entries: Iterable[AgentEntry]) -> dict[str, dict[str, list[AgentEntry]]]:
    """Return the submissions by agent, then by task."""
    by_agent: dict[str, dict[str, list[AgentEntry]]] = {}
    for entry in entries:
        by_agent.setdefault(entry.agent, {}).setdefault(entry.task_id, []).append(entry)
    return by_agent


def _everything(entries: Sequence[AgentEntry]) -> dict[str, Mapping[str, Sequence[float]]]:
    """Return each agent's percentiles by task, 0 of what was not graded; empty of all agents if
    percentiles mean nothing.
    """
    known = percentiles_known(entries)
    return {
        agent: _percentiles(tasks, others_as_zero=True) if known else {}
        for agent, tasks in _by_agent(entries).items()
    }


def agents_in_order(entries: Sequence[AgentEntry]) -> list[str]:
    """Return the agents, the highest percentile first, then those without one, the largest share
    of medals first: the order of every table of agents.
    """
    by_agent, everything = _by_agent(entries), _everything(entries)

    def standing_order(agent: str) -> tuple[bool, float, bool, float, str]:
        tasks = by_agent[agent]
        mean = mean_of_all_tasks(everything[agent])
        graded = _percentiles(tasks, others_as_zero=False)
        medals = {task: [one.medal for one in of_task] for task, of_task in tasks.items()}
        # Of equal means, an agent with a valid submission comes before one without.
        return mean is None, -(mean or 0.0), not graded, -(mean_of_all_tasks(medals) or 0.0), agent

    return sorted(by_agent, key=standing_order)


def standings(entries: Sequence[AgentEntry]) -> Standings:
    """Return the comparison of agents; the same submissions give the same figures."""
    by_agent, everything = _by_agent(entries), _everything(entries)
    graded = {agent: _percentiles(tasks, others_as_zero=False) for agent, tasks in by_agent.items()}
    ranks, ranks_graded = _ranks(everything), _ranks(graded)
    order = agents_in_order(entries)
    ranked = []
    for place, agent in enumerate(order):
        before = everything[order[place - 1]] if place else None
        ranked.append(
            _standing(
                agent, by_agent[agent], everything[agent], graded[agent],
                (ranks.get(agent), ranks_graded.get(agent)), before,
            )
        )  # fmt: skip
    return Standings(tuple(ranked), ranks_basis(entries))


def _ranks(percentiles: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, AgentRank]:
    """Return the ranks of the agents with percentiles; none with too few tasks that all of them
    have.
    """
    ranking = rank({agent: values for agent, values in percentiles.items() if values})
    if ranking.cases < FEWEST_UNITS:
        return {}
    return {one.name: one for one in ranking.ranks}


def ranks_basis(entries: Sequence[AgentEntry]) -> AgentRanksBasis:
    """Return what the ranks of several agents rest on, without computing them."""
    tasks = {agent: set(own) for agent, own in _everything(entries).items()}
    ranked = [own for own in tasks.values() if own]
    unranked = tuple(agent for agent, own in tasks.items() if not own)
    return AgentRanksBasis(
        len(set.intersection(*ranked)) if ranked else 0, FEWEST_UNITS, unranked, len(tasks)
    )


def first_agents(entries: Sequence[AgentEntry]) -> tuple[str, ...]:
    """Return the agent that ranks first, or those of which any may, by the intervals of their
    ranks; empty without ranks.
    """
    everything = _everything(entries)
    if len(everything) < 2:
        return ()
    return tuple(agent for agent, rank in _ranks(everything).items() if rank.best == 1)


def means_on_shared_tasks(entries: Iterable[AgentEntry]) -> tuple[tuple[str, float], ...]:
    """Return each agent's mean percentile on the tasks that all agents with percentiles have, the
    highest first; empty without such a task.

    Those that were not graded count as 0.
    """
    entries = list(entries)
    if not percentiles_known(entries):
        return ()
    by_agent = grouped((entry.agent, entry) for entry in entries)
    percentiles = {
        agent: _percentiles(grouped((entry.task_id, entry) for entry in own), others_as_zero=True)
        for agent, own in by_agent.items()
    }
    ranked = {agent: values for agent, values in percentiles.items() if values}
    shared = set.intersection(*map(set, ranked.values())) if ranked else set()
    if not shared:
        return ()
    means = {
        agent: average(average(values[task]) for task in sorted(shared))
        for agent, values in ranked.items()
    }

    def mean_order(agent: str) -> tuple[float, bool, str]:
        # As in the table: of equal means, an agent with a valid submission comes first.
        return -means[agent], not any(entry.graded for entry in by_agent[agent]), agent

    return tuple((agent, means[agent]) for agent in sorted(means, key=mean_order))


def percentiles_known(entries: Iterable[AgentEntry]) -> bool:
    """Return whether percentiles mean anything: not if no valid submission has one, as in reports
    of MLE-bench.
    """
    valid = [entry for entry in entries if entry.graded]
    return not valid or any(entry.percentile is not None for entry in valid)


def _medals(tasks: Mapping[str, Sequence[AgentEntry]]) -> Measured:
    medals = mean_of(
        {task: [average(entry.medal for entry in of_task)] for task, of_task in tasks.items()},
        UNIT,
        unit="task",
    )
    assert medals is not None
    return medals


def _standing(
    agent: str,
    tasks: Mapping[str, Sequence[AgentEntry]],
    everything: Mapping[str, Sequence[float]],
    graded: Mapping[str, Sequence[float]],
    ranks: tuple[AgentRank | None, AgentRank | None],
    before: Mapping[str, Sequence[float]] | None,
) -> AgentStanding:
    entries = list(chain.from_iterable(tasks.values()))
    valid = {task: [one.medal for one in of_task if one.graded] for task, of_task in tasks.items()}
    medals = _medals(tasks)
    behind = None
    if before and (shared := sorted(everything.keys() & before.keys())):
        behind = difference(
            [Sample(task, average(everything[task]) - average(before[task])) for task in shared],
            unit=False,
        )
    return AgentStanding(
        agent=agent,
        submissions=len(entries),
        graded=sum(entry.graded for entry in entries),
        scored_on_part_of_rows=sum(entry.partial for entry in entries),
        in_doubt=tuple(f"{entry.task_id}: {entry.doubts}" for entry in entries if entry.doubts),
        tasks=len(tasks),
        passes=max(map(len, tasks.values())),
        percentiles=sum(entry.percentile is not None for entry in entries),
        any_medal_share=medals.value,
        any_medal_interval=medals.interval,
        any_medal_share_graded=mean_of_all_tasks({task: won for task, won in valid.items() if won}),
        percentile=mean_of_all_tasks(everything),
        percentile_graded=mean_of_all_tasks(graded),
        rank=ranks[0],
        rank_graded=ranks[1],
        behind=behind,
    )


def mean_of_all_tasks(values: Mapping[str, Sequence[float]]) -> float | None:
    """Return the mean over tasks of the mean over each task's submissions; None without any."""
    return average_if_any([average(of_task) for of_task in values.values()])


def mean_percentile(entries: Iterable[AgentEntry], *, others_as_zero: bool) -> float | None:
    """Return the mean percentile over tasks; None where none is known.

    Others are those that were not graded.
    """
    by_task = grouped((entry.task_id, entry) for entry in entries)
    return mean_of_all_tasks(_percentiles(by_task, others_as_zero=others_as_zero))


def _percentiles(
    tasks: Mapping[str, Sequence[AgentEntry]], *, others_as_zero: bool
) -> dict[str, list[float]]:
    """Return the percentiles of each task that has any; that of a graded submission may be unknown.

    None has any if no valid submission has one: the others as 0 would be a percentile of failures
    alone.
    """
    if not percentiles_known(chain.from_iterable(tasks.values())):
        return {}
    percentiles = {}
    for task, entries in tasks.items():
        values = [entry.percentile for entry in entries if entry.percentile is not None]
        if others_as_zero:
            values += [0.0 for entry in entries if not entry.graded]
        if values:
            percentiles[task] = values
    return percentiles
