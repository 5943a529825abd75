"""Reports, comparisons and explanations as JSON objects. Times are milliseconds, scores lie in [0, 1]."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bioeval_tui.record.state import MessageState
from bioeval_tui.report.comparison import Comparison, TurnComparison
from bioeval_tui.report.costs import cost_dict
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.gate import GateResult, GateRules
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.rankings import ranking_dicts, rankings
from bioeval_tui.report.result import run_result
from bioeval_tui.report.statistics.estimates import Estimate, Interval, Proportion
from bioeval_tui.report.statistics.latency import LatencySummary
from bioeval_tui.report.statistics.paired import Difference
from bioeval_tui.report.summary import ConditionSummary, Summary, summarise_runs

VERSION = 1


def json_report(runs: Sequence[LoadedRun]) -> dict[str, Any]:
    """Return every run's result, its versions and reviews, and the statistics over the runs."""
    summaries = summarise_runs(runs)
    return {
        "format": "bioeval-tui report",
        "version": VERSION,
        "runs": [run_result(run) for run in runs],
        "summary": [summary_dict(summary) for summary in summaries],
        "ranks": ranking_dicts(rankings(summaries)),
    }


def write_runs(runs: Sequence[LoadedRun], asked: Asked) -> str:
    """Return the report as text."""
    return _text(json_report(runs))


def write_gate(runs: Sequence[LoadedRun], rules: GateRules, result: GateResult) -> str:
    """Return the report with the gate's outcome as text."""
    return _text({**json_report(runs), "gate": result.to_dict()})


def write_comparison(found: Comparison) -> str:
    """Return a comparison as text."""
    return _text(comparison_dict(found))


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def estimate_dict(found: Estimate | None) -> dict[str, Any] | None:
    """Return an estimate: mean, error, interval with its scope, and the number of used and run conversations."""
    if found is None:
        return None
    return {
        "mean": found.mean,
        "standard_error": found.standard_error,
        "interval": _interval(found.interval),
        "points": list(found.points),
        "range": [min(found.points), max(found.points)] if found.points else None,
        "used": found.counted.used,
        "held": found.counted.held,
        "excluded": dict(found.counted.reasons),
        "mean_with_excluded_as_0": found.with_excluded_as_zero,
        "words": found.spread_words,
    }


def difference_dict(found: Difference | None) -> dict[str, Any] | None:
    """Return a paired difference with its verdict and text."""
    if found is None:
        return None
    return {**(estimate_dict(found.estimate) or {}), "verdict": found.verdict, "words": found.words}


def summary_dict(summary: Summary) -> dict[str, Any]:
    """Return the statistics of one agent and model."""
    return {
        "agent": summary.label,
        "model": summary.runs[0].started.model,
        "rehearsal": summary.runs[0].started.rehearsal,
        "runs": [run.run_id for run in summary.runs],
        "conditions": {found.condition: _condition(found) for found in summary.conditions},
        "cost": cost_dict(summary.spent),
        "uplift": difference_dict(summary.uplift),
        "task_uplifts": [
            {"job": found.job, "title": found.title, **(difference_dict(found.difference) or {})}
            for found in summary.task_uplifts
        ],
    }


def comparison_dict(found: Comparison) -> dict[str, Any]:
    """Return a comparison of two runs."""
    return {
        "a": found.a.run_id,
        "b": found.b.run_id,
        "jobs": {"a": found.a.started.job_name, "b": found.b.started.job_name},
        "models": {"a": found.a.started.model, "b": found.b.started.model},
        "measured": found.measured,
        "timing_refused": found.timing_refused or None,
        "notes": list(found.notes),
        "regressions": list(found.regressions),
        "conditions": {
            side.condition: {
                "sentence": side.sentence,
                "corrected": side.corrected or None,
                "a": estimate_dict(side.a),
                "b": estimate_dict(side.b),
                "difference": difference_dict(side.score),
                "average_latency_ms": dict(zip("ab", side.averages_ms, strict=True)),
                "average_latency_difference_ms": difference_dict(side.latency),
                "cost": {"a": cost_dict(side.cost_a), "b": cost_dict(side.cost_b)},
                "tasks": [
                    {
                        "title": task.title,
                        "a": estimate_dict(task.a),
                        "b": estimate_dict(task.b),
                        "difference": difference_dict(task.difference),
                        "p_holm": task.p,
                    }
                    for task in side.tasks
                ],
                "assertions": [
                    {
                        "title": check.title,
                        "weight": check.weight,
                        "a": _proportion(check.a),
                        "b": _proportion(check.b),
                        "change": check.change,
                        "p_holm": check.p,
                    }
                    for check in side.assertions
                ],
                "turns": [_turn(turn) for turn in side.turns],
            }
            for side in found.conditions
        },
    }


def _turn(turn: TurnComparison) -> dict[str, Any]:
    def said(messages: Sequence[MessageState], latency_ms: float | None) -> dict[str, Any]:
        return {
            "messages": [{"role": m.role, "content": m.text} for m in messages],
            "latency_ms": latency_ms,
        }

    return {
        "trial": turn.trial,
        "turn": turn.turn,
        "a": said(turn.a, turn.a_ms),
        "b": said(turn.b, turn.b_ms),
        "latency_difference_ms": turn.difference_ms,
    }


def _condition(found: ConditionSummary) -> dict[str, Any]:
    return {
        "score": estimate_dict(found.score),
        "pass_k": {str(each.k): each.value for each in found.pass_k},
        "pass_k_intervals": {
            str(each.k): [each.interval.low, each.interval.high] for each in found.pass_k if each.interval
        },
        "tasks": [
            {
                "job": task.job,
                "task": task.number,
                "title": task.title,
                "score": estimate_dict(task.score),
                "passed": _proportion(task.passed),
            }
            for task in found.tasks
        ],
        "tags": {tag.tag: estimate_dict(tag.score) for tag in found.tags},
        "assertions": [
            {
                "job": check.job,
                "title": check.title,
                "weight": check.weight,
                "held": _proportion(check.held),
                "not_measured": check.not_measured,
            }
            for check in found.assertions
        ],
        "latency": _latency(found.latency),
        "failures": found.failures,
        "tokens": {each.peer: {"in": each.tokens_in, "out": each.tokens_out} for each in found.spent.peers},
        "cost": cost_dict(found.spent),
    }


def _latency(found: LatencySummary) -> dict[str, Any]:
    return {**asdict(found), "concurrency": list(found.concurrency)}


def _proportion(found: Proportion | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "successes": found.successes,
        "total": found.total,
        "share": found.share,
        "interval": _interval(found.interval),
    }


def _interval(found: Interval | None) -> dict[str, Any] | None:
    return (
        None if found is None else {"low": found.low, "high": found.high, "level": 0.95, "scope": found.scope}
    )
