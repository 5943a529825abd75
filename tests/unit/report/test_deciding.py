"""A batch stops when a confidence sequence over its rounds decides, and reports its decision."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.evaluation.engine.interface import RunSpec
from bioeval_tui.protocols import Condition
from bioeval_tui.record.conditions import PUBLISHED, ConditionConfig
from bioeval_tui.record.events import ConversationScored
from bioeval_tui.report.deciding import Decider

BOTH: tuple[Condition, ...] = ("withheld", "supplied")
ONE = (RunSpec("r1", "a.yml", "small"), RunSpec("r2", "b.yml", "small"))
TWO = (RunSpec("r1", "a.yml", "small"), RunSpec("r2", "a.yml", "large"))


def scored(
    run_id: str, trial: int, score: float | None, condition: Condition = "supplied"
) -> ConversationScored:
    return ConversationScored(
        run_id=run_id, seq=1, at=datetime.now(UTC), condition=condition, trial=trial, attempt=1,
        score=score,
        parts=(), penalty=0, failures=0,
    )  # fmt: skip


def test_a_threshold_is_decided_from_complete_rounds_only() -> None:
    decider = Decider("supplied:0.5", ONE, PUBLISHED, PUBLISHED)
    for trial in range(1, 40):
        decider.take(scored("r1", trial, 0.9))
        decider.take(scored("r1", trial, 0.9, "withheld"))
    assert not decider.decided, "the second job has not been held once"
    for trial in range(1, 40):
        decider.take(scored("r2", trial, 0.95))
        if decider.decided:
            break
    assert decider.decided
    assert decider.words.startswith(
        f"decided after {trial} rounds: with the facts over 2 jobs is above 0.5; it lies in ["
    )


def test_two_models_are_compared_round_by_round() -> None:
    decider, random, trial = Decider("difference", TWO, PUBLISHED, PUBLISHED), Random(1), 0
    while not decider.decided and trial < 200:
        trial += 1
        decider.take(scored("r1", trial, 0.3 + random.uniform(-0.1, 0.1)))
        decider.take(scored("r2", trial, 0.8 + random.uniform(-0.1, 0.1)))
    assert decider.decided
    assert "large is better than small" in decider.words


def test_an_open_decision_says_how_far_it_is_and_what_was_left_out() -> None:
    decider = Decider("mean:0.5", ONE[:1], PUBLISHED, PUBLISHED)
    for trial, score in enumerate((0.4, None, 0.6), start=1):
        decider.take(scored("r1", trial, score))
        decider.take(scored("r1", trial, 0.5, "withheld"))
    assert decider.words.startswith(
        "undecided after 2 rounds: the mean of both conditions of a lies in ["
    )
    assert decider.words.endswith("1 round left out, since a conversation could not be measured")


@pytest.mark.parametrize(
    ("until", "conditions", "words"),
    [
        ("difference", PUBLISHED, "give --model twice"),
        ("supplied:1", PUBLISHED, "a threshold between 0 and 1, not 1"),
        ("supplied:0.5", PUBLISHED[:1], "the run has no condition “with the facts”"),
    ],
)
def test_an_impossible_stopping_rule_is_refused(
    until: str, conditions: tuple[ConditionConfig, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        Decider(until, ONE, conditions, PUBLISHED)
