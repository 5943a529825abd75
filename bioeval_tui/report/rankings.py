"""Ranks of several agents by condition, as ranges such as "rank 2–3"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.report.findings import RanksBasis
from bioeval_tui.report.sentences import rank_words, sentence
from bioeval_tui.report.statistics.ranks import FEWEST_CASES, AgentRank, AgentRanking, rank
from bioeval_tui.report.summary import Summary, condition_title
from bioeval_tui.units import number


@dataclass(frozen=True, slots=True)
class ConditionRanking:
    """The agents in one condition, the best mean first, compared on jobs or on cases."""

    condition: Condition
    title: str
    """What the jobs call it, else `facts withheld`."""
    ranking: AgentRanking

    @property
    def note(self) -> str:
        """The basis of the ranks, in one sentence."""
        return sentence(RanksBasis(self.ranking.cases, self.ranking.left_out, FEWEST_CASES))

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Agent, mean over the common cases, and its ranks as text."""
        return [
            (one.name, number(one.mean if self.ranking.cases else None), rank_words(one))
            for one in self.ranking.ranks
        ]

    def of(self, name: str) -> AgentRank:
        """Return an agent's rank."""
        return next(one for one in self.ranking.ranks if one.name == name)


def rankings(summaries: Sequence[Summary]) -> list[ConditionRanking]:
    """Return the ranks of the agents in each condition that all of them ran; none for a single agent."""
    if len(summaries) < 2:
        return []
    runs = [run for summary in summaries for run in summary.runs]
    return [
        ConditionRanking(
            condition,
            condition_title(runs, condition),
            rank({summary.label: _scores(summary, condition) for summary in summaries}),
        )
        for condition in CONDITIONS
        if all(summary.of(condition) is not None for summary in summaries)
    ]


def _scores(summary: Summary, condition: Condition) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for talk in (talk for run in summary.runs for talk in run.conversations_in(condition)):
        if talk.score is not None:
            found.setdefault(talk.common_case, []).append(talk.score)
    return found


class PrintedRank(TypedDict):
    """One agent's place, and the best and worst that it may have."""

    agent: str
    mean: float | None
    place: int
    best: int
    worst: int


class PrintedRanking(TypedDict):
    """The agents in one condition, the best mean first."""

    condition: Condition
    cases: int
    left_out: int
    note: str
    agents: list[PrintedRank]


def ranking_dicts(found: Sequence[ConditionRanking]) -> list[PrintedRanking]:
    """Return rankings for JSON."""
    return [
        {
            "condition": one.condition,
            "cases": one.ranking.cases,
            "left_out": one.ranking.left_out,
            "note": one.note,
            "agents": [
                {
                    "agent": each.name,
                    "mean": each.mean,
                    "place": each.place,
                    "best": each.best,
                    "worst": each.worst,
                }
                for each in one.ranking.ranks
            ],
        }
        for one in found
    ]
