"""Rank intervals: leaders are separated from the rest, ties stay ties, and true ranks are
covered.
"""

from __future__ import annotations

from random import Random

import pytest

from bioeval_tui.report.sentences import rank_words
from bioeval_tui.statistics.p_values import holm
from bioeval_tui.statistics.ranks import AgentRank, rank
from tests.simulations.ranking import AGENTS, rank_coverage, scores_of


def test_leaders_are_separated_from_the_rest_and_ties_stay_ties() -> None:
    found = rank_coverage(60, draws=400)
    assert found.covered >= 0.93
    assert found.leaders_told >= 0.9
    assert found.ties_told_apart <= 0.05


def test_when_all_are_tied_all_ranks_stay_possible() -> None:
    # nominally 0.95
    assert rank_coverage(60, dict.fromkeys(AGENTS, 0.5), draws=400).covered >= 0.87


def test_ranks_that_overlap_are_written_as_a_range() -> None:
    found = rank(scores_of(AGENTS, Random(3)))
    assert found.cases == 50
    assert {one.name for one in found.ranks[:2]} == {"A", "B"}
    assert [rank_words(one) for one in found.ranks[:2]] == ["rank 1–2", "rank 1–2"]
    assert rank_words(found.ranks[-1]) == "rank 7"
    assert [one.place for one in found.ranks] == [1, 2, 3, 4, 5, 6, 7]


def test_the_same_scores_give_the_same_ranks() -> None:
    table = scores_of(AGENTS, Random(3))
    assert rank(table) == rank(table)


def test_fewer_draws_make_no_rank_more_certain() -> None:
    """A hundred draws know the critical value only roughly; what they do not know must count
    against a verdict.
    """
    for seed in range(50):
        table = close_scores(Random(seed))
        known = {one.name: one for one in rank(table, draws=5_000).ranks}
        for one in rank(table, draws=100).ranks:
            assert one.best <= known[one.name].best, seed
            assert one.worst >= known[one.name].worst, seed


def close_scores(random: Random) -> dict[str, dict[str, list[float]]]:
    """Return four agents on twelve cases, each a little better than the one before it."""
    cases = [random.random() / 2 for _ in range(12)]
    return {
        name: {str(case): [hard + ahead + random.gauss(0, 0.1)] for case, hard in enumerate(cases)}
        for name, ahead in {"a": 0.25, "b": 0.31, "c": 0.37, "d": 0.43}.items()
    }


def test_incomplete_cases_are_left_out_and_few_cases_give_no_ranking() -> None:
    table = {"a": {str(i): [1.0] for i in range(12)}, "b": {str(i): [0.0] for i in range(3, 15)}}
    found = rank(table)
    assert (found.cases, found.left_out) == (9, 6)
    assert [rank_words(one) for one in found.ranks] == ["rank 1–2", "rank 1–2"]


def test_a_difference_that_is_equal_in_every_case_is_significant() -> None:
    table = {
        "a": {str(i): [i / 20 + 0.1] for i in range(12)},
        "b": {str(i): [i / 20] for i in range(12)},
    }
    assert rank(table).ranks[0] == AgentRank("a", pytest.approx(0.375), 1, 1, 1)
    assert [rank_words(one) for one in rank({"a": table["a"], "b": table["a"]}).ranks] == [
        "rank 1–2"
    ] * 2
    assert [one.place for one in rank({"a": table["a"], "b": table["a"]}).ranks] == [1, 1]


def test_one_agent_is_first_and_no_agents_have_no_ranking() -> None:
    assert rank_words(rank({"a": {"1": [0.5]}}).ranks[0]) == "rank 1"
    assert rank({}).ranks == ()


def test_holms_correction_equals_the_published_example() -> None:
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives 0.03 0.06 0.06 0.02
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert list(found) == ["a", "b", "c", "d"]
    assert list(found.values()) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}
    with pytest.raises(ValueError, match="p-value of a"):
        holm({"a": 1.1})
