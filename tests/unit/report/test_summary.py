"""Runs summarized per condition, never pooled; excluded ones counted; uplift paired by trial."""

from __future__ import annotations

import pytest

from bioeval_tui.report.sentences import counted_words, difference_words
from bioeval_tui.report.summary import Summary, summarise_runs
from bioeval_tui.report.words import token_words
from tests.unit.report.recorded import Recorded, Talk, scoring

AWAY = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)


def one(*runs: Recorded) -> Summary:
    found = summarise_runs([run.loaded() for run in runs])
    assert len(found) == 1
    return found[0]


def test_conditions_are_never_pooled() -> None:
    summary = one(Recorded([scoring(0.2), scoring(0.4)], [scoring(0.9), scoring(0.7)]))
    assert [c.condition for c in summary.conditions] == ["withheld", "supplied"]
    assert [c.score.mean for c in summary.conditions] == pytest.approx([0.3, 0.8])


def test_uplift_is_paired_by_trial() -> None:
    summary = one(
        Recorded([scoring(0.2), AWAY, scoring(0.4)], [scoring(0.9), scoring(0.1), scoring(0.5)])
    )
    assert summary.uplift is not None
    assert summary.uplift.mean == pytest.approx((0.7 + 0.1) / 2)  # the second trial has no pair
    assert (
        counted_words(summary.uplift.estimate.counted)
        == "2 of 3 used (the measurement failed in 1)"
    )
    assert [found.difference.mean for found in summary.task_uplifts] == [pytest.approx(0.4)]


def test_a_run_that_is_not_clean_shows_no_uplift() -> None:
    summary = one(Recorded([scoring(0.2)], [scoring(0.9)], clean=False))
    assert summary.uplift is not None
    assert summary.uplift.mean is None
    assert "not clean" in difference_words(summary.uplift)


def test_one_condition_alone_has_no_uplift() -> None:
    assert one(Recorded([scoring(0.2)])).uplift is None


def test_a_run_of_one_condition_is_not_counted_as_an_incomplete_pair() -> None:
    summary = one(
        Recorded([scoring(0.2)], [scoring(0.9)]),
        Recorded([scoring(0.4)], run_id="20260102-030405-bbbb"),
    )
    assert summary.uplift is not None
    assert counted_words(summary.uplift.estimate.counted) == "1 of 1 used"


def test_excluded_conversations_are_counted_with_their_reasons() -> None:
    talks = [
        scoring(0.8),
        AWAY,
        Talk(reason="cancelled", tasks=None),
        Talk(tasks=None),
        Talk(ends=False),
    ]
    found = one(Recorded(talks)).conditions[0]
    assert found.score.mean == 0.8
    assert found.score.counted.used == 1
    assert dict(found.score.counted.reasons) == {
        "infrastructure": 1, "cancelled": 1, "judge": 1, "not finished": 1,
    }  # fmt: skip
    assert found.score.with_excluded_as_zero == pytest.approx(0.16)


def test_pass_k_counts_only_measured_trials() -> None:
    talks = [Talk(tasks=(1.0, 0.3)), Talk(tasks=(0.9, 0.9)), Talk(tasks=(0.6, 0.7)), AWAY]
    found = one(Recorded(talks)).conditions[0]
    assert [(t.name, t.successes, t.trials) for t in found.tries] == [
        ("task 1", 2, 3),
        ("task 2", 2, 3),
    ]
    assert [each.value for each in found.pass_k] == pytest.approx([2 / 3, 1 / 3, 0.0])


def test_agents_models_and_rehearsals_are_kept_apart() -> None:
    runs = [
        Recorded([scoring(0.1)], started={"model": "small"}),
        Recorded([scoring(0.9)], started={"model": "large"}),
        Recorded([scoring(0.5)], started={"model": "small", "rehearsal": True}),
    ]
    found = summarise_runs([run.loaded() for run in runs])
    assert [summary.label for summary in found] == ["agent · small", "agent · large", "agent"]


def test_several_jobs_are_clustered_by_job() -> None:
    summary = one(
        *(Recorded([scoring(value)] * 3, job=f"job {value}", run_id=f"20260102-030405-00{n:02}")
          for n, value in enumerate((0.3, 0.9, 0.5, 0.6, 0.4, 0.8, 0.7, 0.35, 0.55, 0.65)))
    )  # fmt: skip
    score = summary.conditions[0].score
    assert score.interval is not None
    assert "clustered by job, 10 jobs" in score.interval.scope


def test_latencies_failures_and_assertions_are_summarized() -> None:
    talks = [
        Talk(latencies_ms=(100, 300), failures=1, holds=(True, None)),
        Talk(latencies_ms=(500,), holds=(False, True)),
    ]
    found = one(Recorded(talks, concurrency=3)).conditions[0]
    assert (found.latency.answers, found.latency.average_ms, found.latency.max_ms) == (3, 300, 500)
    assert found.latency.concurrency == (3,)
    assert found.failures == 1
    assert [(a.held.successes, a.held.total, a.not_measured) for a in found.assertions] == [
        (1, 2, 0),
        (1, 1, 1),
    ]
    # unknown, not 0
    assert {(each.tokens_in, each.tokens_out) for each in found.spent.peers} == {(None, None)}


def test_tokens_are_counted_separately_for_agent_evaluator_and_judge() -> None:
    run = Recorded([Talk(), Talk()]).loaded()
    for talk in run.state.conversations.values():
        talk.messages[0].tokens_in, talk.messages[0].tokens_out = 1000, 20
    found = summarise_runs([run])[0].conditions[0].spent
    assert [(each.peer, each.tokens_in, each.tokens_out) for each in found.peers] == [
        ("agent", None, None), ("evaluator", 2000, 40), ("judge", None, None),
    ]  # fmt: skip
    assert token_words(found) == "agent unknown; evaluator 2,000 in, 40 out; judge unknown"
