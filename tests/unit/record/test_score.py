"""The composite score compared with an independent one-line formula, and its optional parts."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.evaluation.conversation.blame import blame_for_score
from bioeval_tui.record import score as composite
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.record.events import AssertionChecked, CheckStatus, Fault, TaskScored
from bioeval_tui.record.score import assertion_part, compose, judged_part, task_part, timing_part
from tests.unit.evaluation.conversation.fakes import where

DOCS = Path(__file__).parents[3] / "docs" / "scoring.md"
unit = st.floats(0, 1)


@given(
    aspirational=st.floats(1, 1e6),
    latencies=st.lists(st.floats(0.1, 1e6), min_size=1, max_size=20),
    tasks=st.lists(unit, max_size=8),
    assertions=st.lists(st.tuples(st.floats(0.1, 10), st.booleans()), max_size=8),
    failures=st.integers(0, 5),
)
def test_the_formula_agrees_with_its_one_line_oracle(
    aspirational: float,
    latencies: list[float],
    tasks: list[float],
    assertions: list[tuple[float, bool]],
    failures: int,
) -> None:
    parts = [
        timing_part(aspirational, latencies),
        task_part(tasks, len(tasks)),
        assertion_part(assertions),
    ]
    oracle = max(
        0,
        (
            min(1, aspirational / (sum(latencies) / len(latencies)))
            + (2 * sum(tasks) / len(tasks) if tasks else 0)
            + (
                4 * sum(w for w, ok in assertions if ok) / sum(w for w, _ in assertions)
                if assertions
                else 0
            )
        )
        / (1 + 2 * bool(tasks) + 4 * bool(assertions))
        - min(0.3 * failures, 0.5),
    )
    score = compose(parts, failures).score
    # Rounding to cents amplifies a last-bit difference of the two summations to 0.01 at a tie.
    assert score == pytest.approx(oracle, abs=0.005 + 1e-9)


def worked_examples() -> list[tuple[str, ...]]:
    """Return the rows of the table in docs/scoring.md."""
    text = DOCS.read_text(encoding="utf-8")
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines()
    ]
    head = rows.index(("timing", "tasks", "assertions (weight: passes)", "failures", "score"))
    return list(itertools.takewhile(lambda row: len(row) == 5, rows[head + 2 :]))


@pytest.mark.parametrize("row", worked_examples(), ids=" | ".join)
def test_the_worked_examples_in_the_documentation_are_right(row: tuple[str, ...]) -> None:
    timing, tasks, assertions, failures, result = row
    scores = [float(score) for score in re.findall(r"[\d.]+", tasks)]
    checks = [
        (float(w), holds == "yes") for w, holds in re.findall(r"([\d.]+): (yes|no)", assertions)
    ]
    parts = [
        timing_part(float(timing), [1.0]),
        task_part(scores, len(scores)),
        assertion_part(checks),
    ]
    sum_, _, score = result.partition(" (")[0].rpartition("= ")
    assert compose(parts, int(failures)).score == float(score)
    if sum_:
        worked = eval(sum_.rstrip("= ").replace("−", "-"))  # the docs' own arithmetic
        assert round(worked, 2) == pytest.approx(float(score), abs=0.0051)


def test_the_documentation_has_worked_examples() -> None:
    assert len(worked_examples()) >= 8


def test_tasks_count_by_their_weight() -> None:
    tasks = [
        TaskScored(task=1, title="a", score=1.0, weight=3.0),
        TaskScored(task=2, title="b", score=0.0),
    ]
    assert judged_part(tasks, 2).value == 0.75
    assert judged_part([task.model_copy(update={"weight": 1.0}) for task in tasks], 2).value == 0.5


def test_a_part_that_the_job_does_not_have_is_left_out_with_its_weight() -> None:
    whole = compose([timing_part(1, [1]), task_part([0.4], 1), assertion_part([])], 0)
    assert whole.score == 0.6
    assert whole.reason == "the job has no assertions"


def test_response_times_without_a_target_and_assertions_without_weight_count_for_nothing() -> None:
    whole = compose(
        [timing_part(None, [900]), task_part([0.4], 1), assertion_part([(0, False), (0, None)])], 0
    )
    assert whole.score == 0.4
    assert whole.reason == "the job has no target for response times; no assertion has a weight"
    assert assertion_part([(2, True), (0, False)]).value == 1.0


def test_a_part_that_could_not_be_measured_leaves_the_score_not_measured() -> None:
    whole = compose(
        [timing_part(1, [1]), task_part(None, 2, "judge timed out"), assertion_part([(1, True)])], 0
    )
    assert whole.score is None
    assert whole.reason == "task not measured: judge timed out"


def test_assertions_that_could_not_be_measured_are_counted() -> None:
    part = assertion_part([(1, True), (2, None), (1, None)])
    assert (part.value, part.reason) == (None, "2 of 3 assertions could not be measured")


def test_an_agent_that_never_answered_has_a_timing_of_zero_at_the_end() -> None:
    assert timing_part(1000, []).value is None
    assert timing_part(1000, [], ended=True).value == 0.0


@pytest.mark.parametrize("ended", [False, True])
def test_an_agent_of_whose_answers_no_latency_counts_has_not_been_silent(ended: bool) -> None:
    part = timing_part(1000, [], ended=ended, answers=2)
    assert (part.value, part.left_out, part.reason) == (None, False, composite.DID_NOT_RUN)


@pytest.mark.parametrize("latencies", [[], [500.0]])
def test_without_a_latency_that_counts_a_failure_of_the_agent_is_scored_by_the_rest(
    latencies: list[float],
) -> None:
    part = timing_part(1000, latencies, ended=True, answers=1, agent_failed=True)
    assert (part.value, part.left_out) == ((1.0, False) if latencies else (None, True))
    whole = compose([part, task_part([0.4], 1), assertion_part([])], failures=1)
    assert whole.score is not None


UNASKED = TaskScored(task=1, title="ask", score=0.0, kept_by="user")
ASKED = TaskScored(task=2, title="remind", score=0.0)


@pytest.mark.parametrize(
    ("faults", "judged", "at_fault"),
    [
        (["judge", "unclear"], [ASKED], "unclear"),
        (["program"], [UNASKED], "program"),
        (["judge"], [UNASKED, ASKED], "evaluator"),
        (["none"], [ASKED, UNASKED], "evaluator"),
        (["none", "judge"], [ASKED], "judge"),
        (["none", "none"], [ASKED], "none"),
        (["none"], None, "none"),
        ([], None, "infrastructure"),
    ],
)
def test_of_two_that_are_at_fault_the_one_that_no_gate_allows_for_is_named(
    faults: list[Fault], judged: list[TaskScored] | None, at_fault: Fault
) -> None:
    """What an agent may have caused comes before a task that was not asked for, and both before
    what nobody reports.
    """
    assert blame_for_score(faults, judged) == at_fault


@pytest.mark.parametrize(
    ("checks", "share"),
    [
        ([("passed", 1), ("not_measured", 5)], 1.0),
        ([("failed", 1), ("not_measured", 5)], 0.0),
        ([("passed", 3), ("failed", 1), ("not_measured", 5)], 0.75),
        ([("not_measured", 1)], None),
        ([("passed", 0)], None),
    ],
)
def test_the_share_that_passed_is_of_what_was_measured_by_weight(
    checks: list[tuple[CheckStatus, float]], share: float | None
) -> None:
    given = [
        AssertionChecked(
            **where(index=n),
            title="t",
            weight=weight,
            after_turn=1,
            status=status,
            observed=1,
            expected=1,
        )
        for n, (status, weight) in enumerate(checks)
    ]
    assert composite.passed_share(given) == share


def test_a_part_that_reaches_a_target_only_if_it_is_perfect_needs_exactly_1() -> None:
    parts = [timing_part(1, [1.0]), task_part([0.5], 1), assertion_part([(1, True)])]
    found = {one.part: (one.now, one.value) for one in composite.needed(parts, 0, 1.0)}
    assert found == {"timing": (1.0, None), "task": (0.5, 1.0), "assertion": (1.0, None)}


def test_the_mean_needs_both_scores() -> None:
    assert composite.mean_of([0.41, 0.76]) == 0.585
    assert composite.mean_of([0.41, None]) is None
    assert composite.mean_of([]) is None


def test_the_published_mean_needs_both_conditions() -> None:
    assert composite.published_mean([0.41, 0.76]) == 0.58
    lacking: list[float | None]
    for lacking in ([0.76, None], [None], []):
        assert composite.published_mean(lacking) is None


@pytest.mark.parametrize(
    ("withheld", "supplied", "mean"),
    [
        ([0.41], [0.76], 0.58), ([0.41] * 2, [0.76] * 2, 0.585), ([0.41], [0.76] * 2, 0.585),
        ([0.1, 0.2], [0.2, 0.1], 0.15),
        ([0.41, None], [0.76] * 2, None), ([], [0.76], None),
    ],
)  # fmt: skip
def test_the_mean_of_both_conditions_is_rounded_only_of_one_conversation_each(
    withheld: list[float | None], supplied: list[float | None], mean: float | None
) -> None:
    assert (
        composite.mean_of_conditions({"withheld": withheld, "supplied": supplied}, PUBLISHED_NAMES)
        == mean
    )


@pytest.mark.parametrize(
    ("items", "score"),
    [
        # The example of openai/simple-evals' own test of calculate_score: 7 + 10 - 6 of 22 points.
        ([(7, True), (5, False), (10, True), (-6, True)], 0.5),
        ([(4, True), (-6, True)], 0.0),
        ([(4, True), (-6, False)], 1.0),
    ],
)
def test_a_rubric_score_is_points_earned_over_possible_points(
    items: list[tuple[float, bool]], score: float
) -> None:
    judged = [
        TaskScored(task=number, title="", score=float(met), points=points)
        for number, (points, met) in enumerate(items, start=1)
    ]
    assert judged_part(judged, len(judged)).value == pytest.approx(score)
