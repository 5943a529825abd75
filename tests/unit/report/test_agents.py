"""Agents over tasks: shares of medals with their interval, ranks, paired differences, and both ways
to count failures.
"""

from __future__ import annotations

import random

import pytest

from bioeval_tui.report.agents import (
    AgentEntry,
    AgentStanding,
    first_agents,
    means_on_shared_tasks,
    standings,
)
from bioeval_tui.report.formats.medal_pages import agent_rows
from bioeval_tui.report.sentences import rank_words


def drawn(
    levels: dict[str, float], tasks: int, passes: int = 1, fails: str = ""
) -> list[AgentEntry]:
    """Percentiles about each agent's level; tasks are easy or hard for all alike."""
    chance = random.Random(3)
    found = []
    for task in range(tasks):
        ease = chance.gauss(0, 15)
        for agent, level in levels.items():
            for _ in range(passes):
                value = min(100.0, max(0.0, level + ease + chance.gauss(0, 4)))
                failed = agent == fails and task % 2
                found.append(
                    AgentEntry(
                        agent,
                        f"lab/{task}",
                        None if failed else value,
                        not failed and value > 60,
                        graded=not failed,
                    )
                )
    return found


def by_name(entries: list[AgentEntry]) -> dict[str, AgentStanding]:
    return {one.agent: one for one in standings(entries).agents}


def test_agents_that_differ_on_every_task_have_ranks_of_their_own() -> None:
    found = standings(drawn({"low": 40, "high": 60, "middle": 50}, 40))
    assert [(one.agent, rank_words(one.rank)) for one in found.agents] == [
        ("high", "rank 1"), ("middle", "rank 2"), ("low", "rank 3"),
    ]  # fmt: skip
    first, second, _ = found.agents
    assert first.behind_words == ""
    assert second.behind_words.startswith("−")
    assert second.behind_words.endswith(": worse")
    assert "on 40 shared tasks" in second.behind_words
    assert found.words.startswith("ranks on 40 tasks")


def test_agents_that_are_alike_share_their_ranks() -> None:
    found = standings(drawn({"one": 50, "other": 50, "third": 50}, 30))
    assert {rank_words(one.rank) for one in found.agents} == {"rank 1–3"}


def test_who_ranks_first_is_who_may_by_the_intervals_of_ranks() -> None:
    assert first_agents(drawn({"low": 40, "high": 60}, 40)) == ("high",)
    assert set(first_agents(drawn({"one": 50, "other": 50, "low": 5}, 30))) == {"one", "other"}
    assert first_agents(drawn({"low": 40, "high": 60}, 9)) == ()
    assert first_agents(drawn({"alone": 40}, 40)) == ()


def test_agents_are_compared_by_the_tasks_that_all_of_them_have() -> None:
    def entry(agent: str, task: str, percentile: float | None) -> AgentEntry:
        return AgentEntry(agent, task, percentile, False, graded=percentile is not None)

    entries = [entry("ada", "easy", 99.0), entry("ada", "hard", 40.0), entry("bob", "hard", 60.0)]
    assert means_on_shared_tasks(entries) == (("bob", 60.0), ("ada", 40.0))
    entries.append(entry("eve", "hard", None))
    assert means_on_shared_tasks(entries)[-1] == ("eve", 0.0), "invalid, which counts as 0"
    assert means_on_shared_tasks([entry("ada", "easy", 99.0), entry("bob", "hard", 60.0)]) == ()


def test_with_few_tasks_no_rank_is_claimed() -> None:
    found = standings(drawn({"low": 20, "high": 80}, 9))
    assert {(one.rank, one.rank_graded) for one in found.agents} == {(None, None)}
    assert {row[6:8] for row in map(tuple, agent_rows(found))} == {("–", "–")}
    assert found.agents[0].to_dict()["rank"] is None
    assert found.words == "ranks need 10 tasks that all agents have; there are 9"


def test_the_share_of_medals_has_an_interval_from_ten_tasks_on_and_never_one_of_passes_alone() -> (
    None
):
    """Two tasks in fifty passes are two tasks, and equal passes are not certain."""

    def share_of(tasks: int, won: list[bool]) -> AgentStanding:
        entries = [
            AgentEntry("ada", f"lab/{task}", 50.0, medal) for task in range(tasks) for medal in won
        ]
        return by_name(entries)["ada"]

    few, many = share_of(2, [True, False] * 25), share_of(10, [True, True])
    assert (few.passes, few.any_medal_share, few.medal_words) == (50, 0.5, "50.0 %")
    assert few.to_dict()["any_medal_interval"] is None
    assert many.medal_words == "100.0 % [69.2, 100.0]"
    assert many.to_dict()["any_medal_interval"] == pytest.approx([0.025**0.1, 1.0])


def test_ungraded_submissions_count_as_no_medal_and_the_share_of_graded_ones_is_shown_too() -> None:
    """An agent that fails on every other task is first only among what was graded."""
    found = by_name(drawn({"steady": 50, "brittle": 60}, 40, fails="brittle"))
    assert found["brittle"].percentile < found["steady"].percentile
    assert (found["brittle"].percentile_graded or 0) > (found["steady"].percentile_graded or 0)
    assert (rank_words(found["steady"].rank), rank_words(found["steady"].rank_graded)) == (
        "rank 1",
        "rank 2",
    )
    assert (found["brittle"].graded, found["brittle"].submissions) == (20, 40)
    assert (found["brittle"].any_medal_share_graded or 0) == pytest.approx(
        2 * found["brittle"].any_medal_share
    )


def test_an_agent_without_graded_submissions_has_no_percentile() -> None:
    found = by_name([AgentEntry("ada", "lab/a", None, False, graded=False)])["ada"]
    assert (found.percentile, found.percentile_graded, found.any_medal_share_graded) == (
        0.0,
        None,
        None,
    )


def test_of_agents_with_the_same_percentile_one_with_a_valid_submission_comes_first() -> None:
    found = standings(
        [
            AgentEntry("broken", "lab/1", None, False, graded=False),
            AgentEntry("hasty", "lab/1", 0.0, False),
        ]
    )
    assert [one.agent for one in found.agents] == ["hasty", "broken"]
    assert found.agents[1].behind_words.startswith("±0.0 percentiles on 1 shared task")


def test_a_percentile_that_is_unknown_is_no_zero_and_its_submission_is_graded() -> None:
    """On a task without a leaderboard; two agents of which none has a percentile are not "the same"
    either.
    """
    entries = [
        AgentEntry(agent, f"lab/{task}", None, medal=task < won) for agent,
        won in (("ada", 8), ("bob", 3)) for task in range(12)
    ]  # fmt: skip
    ada, bob = standings(entries).agents
    assert (ada.graded_words, bob.graded_words) == ("12 of 12 graded", "12 of 12 graded")
    assert (ada.percentile, ada.percentile_graded, bob.behind) == (None, None, None)
    known = standings([*entries, AgentEntry("ada", "lab/20", 40.0, medal=False)]).agents[0]
    assert (known.agent, known.percentile) == ("ada", 40.0)
