"""Splits: the same on every machine, disjoint, by stratum or by family."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st

from bioeval_tui.sample.task_files import split, stable_order


def test_a_split_depends_only_on_its_seed() -> None:
    assert stable_order(8, "seed") == [7, 5, 0, 6, 3, 1, 2, 4]
    assert stable_order(8, "other") != stable_order(8, "seed")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.floats(0.1, 0.9), st.text(max_size=5))
def test_a_split_keeps_groups_together(groups: list[int], share: float, seed: str) -> None:
    train, test = split(len(groups), seed=seed, test_share=share, groups=groups)
    assert sorted(train + test) == list(range(len(groups)))
    assert not {groups[i] for i in train} & {groups[i] for i in test}
    assert len(test) <= round(len(groups) * share)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=80), st.text(max_size=5))
def test_a_split_keeps_the_proportions_of_strata(strata: list[str], seed: str) -> None:
    train, test = split(len(strata), seed=seed, test_share=0.3, strata=strata)
    assert sorted(train + test) == list(range(len(strata)))
    whole, held_out = Counter(strata), Counter(strata[i] for i in test)
    assert all(held_out[name] == round(count * 0.3) for name, count in whole.items())
