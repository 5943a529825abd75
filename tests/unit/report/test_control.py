"""What of a difference is the facts': where it may be told, and in simulation."""

from __future__ import annotations

import pytest

from bioeval_tui.peers.placebo import differ_too_much
from bioeval_tui.report.findings import FactsOrTalk, NoControl, TalkDiffers
from tests.simulations.controlled import EFFECTS, Design, coverage
from tests.unit.report.recorded import Recorded, Talk


@pytest.mark.parametrize(
    ("with_facts", "placebo", "differs"),
    [(40, 50, False), (40, 51, True), (40, 30, False), (40, 29, True), (0, 0, False), (0, 1, True)],
)
def test_a_quarter_is_allowed_and_no_more(with_facts: int, placebo: int, differs: bool) -> None:
    assert differ_too_much(with_facts, placebo) is differs


@pytest.mark.parametrize("effect", list(EFFECTS))
@pytest.mark.parametrize("passes", [False, True])
def test_intervals_hold_the_truth(effect: str, passes: bool) -> None:
    found = coverage(200, Design(20, passes), EFFECTS[effect])
    # two standard errors below 93 %; docs/validation.md has the long run
    assert min(found.facts, found.talk, found.total) >= 0.93 - 0.036
    wrong = {"facts only": "talk", "longer talk only": "facts"}.get(effect)
    assert wrong is None or found.verdicts[wrong] <= 4


def test_only_trials_with_all_three_scores_are_told_apart() -> None:
    low, high = Talk(tasks=(0.0,)), Talk(tasks=(1.0,), fact=True)
    lost = Talk(reason="evaluator_failed", fault="evaluator")
    run = Recorded([low] * 6, [high] * 6, placebo=[low] * 5 + [lost]).loaded()
    control = run.summary.control
    assert control is not None
    assert isinstance(control.finding, FactsOrTalk)
    assert (control.finding.used, control.finding.planned) == (5, 6)
    assert run.answer.control.endswith("in 5 of 6 trials")
    assert run.mean is not None
    assert run.summary.uplift is not None
    assert len(run.summary.uplift.estimate.points) == 6


def test_a_part_of_the_longer_talk_is_not_attributed_to_the_facts() -> None:
    low, half = Talk(tasks=(0.0,)), Talk(tasks=(0.5,))
    run = Recorded([low] * 6, [Talk(fact=True)] * 6, placebo=[half] * 6).loaded()
    assert run.answer.control.startswith("both the facts and the longer talk")
    assert run.answer.outcome == "facts_help"
    assert run.answer.attributed is None
    plain = Recorded([low] * 6, [Talk(fact=True)] * 6).loaded()
    assert plain.answer.attributed == 0.29


def test_what_cannot_be_told_says_why() -> None:
    low, high = Talk(), Talk(fact=True)
    nothing = Recorded([low], [high], placebo=[Talk(tasks=None)]).loaded().summary.control
    assert nothing is not None
    assert isinstance(nothing.finding, NoControl)
    long = Talk(latencies_ms=(500.0, 500.0), told="one two three four five")
    run = Recorded([low], [high], placebo=[long]).loaded()
    assert run.summary.control is not None
    assert isinstance(run.summary.control.finding, TalkDiffers)
    assert Recorded([low], [high]).loaded().summary.control is None


def test_no_part_is_clearer_than_the_difference_of_a_batch_that_could_stop() -> None:
    """The interval of 8 rounds excludes 0, but the tasks share the 5 % with the difference."""
    low, high = Talk(tasks=(0.0,), holds=()), Talk(tasks=(1.0,), fact=True, holds=())
    stopping = {"options": {"until_decided": "supplied:0.5"}}
    run = Recorded([low] * 8, [high] * 8, placebo=[high] * 8, started=stopping).loaded()
    assert run.could_stop
    assert run.summary.uplift is not None
    assert run.summary.uplift.direction == "not distinguishable"
    assert run.answer.control.startswith("not yet told apart from the longer talk")


def test_a_run_that_is_not_clean_says_nothing_of_it() -> None:
    run = Recorded([Talk()] * 5, [Talk(fact=True)] * 5, placebo=[Talk()] * 5, clean=False).loaded()
    assert run.answer.outcome == "not_clean"
    assert run.answer.control == ""
