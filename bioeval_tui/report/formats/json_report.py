"""Reports, also with a gate's outcome, and comparisons as JSON objects. (Explanations are in
`report/explanation.py`.)

Times are milliseconds, scores lie in [0, 1].
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from bioeval_tui.base.printed import Fields
from bioeval_tui.record.names import Condition
from bioeval_tui.record.state import MessageState
from bioeval_tui.report.comparison import (
    Change,
    Comparison,
    ConditionComparison,
    TurnComparison,
    ValueComparison,
    pair_comparison,
)
from bioeval_tui.report.costs import PrintedCost, cost_dict
from bioeval_tui.report.document import AnswerResult, RunDocument, answer_dict, run_document
from bioeval_tui.report.findings import Shared
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.gate import (
    GateResult,
    GateRules,
    PrintedGate,
    count_planned,
    why_unmeasured,
)
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.sentences import difference_words, sentence, spread_words
from bioeval_tui.report.summary import (
    AssertionSummary,
    ConditionSummary,
    PrintedRanking,
    Summary,
    TaskSummary,
    ranking_dicts,
    rankings,
    summarise_runs,
)
from bioeval_tui.statistics.estimates import Estimate, LatencySummary, Proportion
from bioeval_tui.statistics.intervals import LEVEL, Interval
from bioeval_tui.statistics.paired_differences import Difference, Direction

VERSION = 1


class PrintedInterval(TypedDict):
    """An interval, its level, and what it rests on."""

    low: float
    high: float
    level: float
    scope: str


SHARED = Fields(Shared)


class PrintedMean(TypedDict):
    """A mean with its interval. `held` conversations were run, `used` have a score.

    `held_again` of them broke by their connection to the agent and were repeated.
    """

    mean: float | None
    standard_error: float | None
    interval: PrintedInterval | None
    points: list[float]
    range: list[float] | None
    used: int
    held: int
    held_again: int
    excluded: dict[str, int]
    mean_with_excluded_as_0: float | None
    words: str


class PrintedDifference(PrintedMean):
    """A paired difference, B − A or supplied − withheld."""

    verdict: Direction


class PrintedEffect(PrintedDifference):
    """Supplied − withheld on what both conditions share; `rests_on` is null if they share
    everything.
    """

    rests_on: Annotated[dict[str, Any], SHARED] | None


class PrintedTaskDifference(PrintedDifference):
    """What the facts changed in one task."""

    job: str
    title: str


PROPORTION = Fields(
    Proportion,
    called="PrintedProportion",
    about="A share with its interval.",
    interval=PrintedInterval | None,
)
PrintedProportion = Annotated[dict[str, Any], PROPORTION]

TASK = Fields(
    TaskSummary,
    called="PrintedTask",
    about="One task over all conversations.",
    named={"task": "number"},
    score=PrintedMean | None,
    passed=PrintedProportion | None,
)
ASSERTION = Fields(
    AssertionSummary,
    called="PrintedAssertion",
    about="One assertion over all conversations.",
    without=("index",),
    held=PrintedProportion | None,
)
LATENCY = Fields(LatencySummary)

PrintedTokens = TypedDict("PrintedTokens", {"in": int | None, "out": int | None, "uncounted": int})


CONDITION = Fields(
    ConditionSummary,
    "score", "pass_k", "pass_k_intervals", "tasks", "tags", "assertions", "asking", "latency",
    "failures", "tokens", "cost",
    called="PrintedCondition",
    about="One condition over all conversations.",
    score=PrintedMean | None,
    pass_k=dict[str, float | None],
    pass_k_intervals=dict[str, list[float]],
    tasks=list[Annotated[dict[str, Any], TASK]],
    tags=dict[str, PrintedMean | None],
    assertions=list[Annotated[dict[str, Any], ASSERTION]],
    tokens=dict[str, PrintedTokens],
    cost=PrintedCost,
)  # fmt: skip


# Of several runs, where `RunDocument` is of one: their common names stand for other values.
class PrintedSummary(TypedDict):
    """One agent and model over all its runs."""

    agent: str
    model: str | None
    rehearsal: bool
    runs: list[str]
    conditions: dict[Condition, Annotated[dict[str, Any], CONDITION]]
    cost: PrintedCost
    difference: PrintedEffect | None
    task_differences: list[PrintedTaskDifference]


class PrintedReport(TypedDict):
    """A report of runs, as `run --json FILE` and `runs report --format json` write it; with a gate,
    its result, too.

    Two runs of one job have a `comparison` without `turns`, others `ranks`.
    """

    format: Literal["bioeval-tui report"]
    version: int
    runs: list[Annotated[dict[str, Any], Fields(RunDocument)]]
    summary: list[PrintedSummary]
    comparison: PrintedComparison | None
    ranks: list[PrintedRanking]
    not_measured: list[str]
    """Why no threshold can be met, as sentences: too few conversations count, or one was left out
    over what the agent sent.
    """
    gate: NotRequired[PrintedGate]


class PrintedSides(TypedDict):
    """A value in both runs."""

    a: PrintedMean | None
    b: PrintedMean | None
    difference: PrintedDifference | None


class PrintedPart(PrintedSides):
    """One part of the composite score in both runs."""

    name: str


class PrintedTaskPair(PrintedSides):
    """One task in both runs; `p_holm` is corrected for the number of tasks."""

    title: str
    p_holm: float | None


class PrintedAssertionPair(TypedDict):
    """One assertion in both runs."""

    title: str
    weight: float
    a: PrintedProportion | None
    b: PrintedProportion | None
    change: Change
    p_holm: float | None


class PrintedMessage(TypedDict):
    """One message."""

    role: str
    content: str


class PrintedSide(TypedDict):
    """What one of the runs said in a turn."""

    messages: list[PrintedMessage]
    latency_ms: float | None


TURN = Fields(
    TurnComparison,
    called="PrintedTurn",
    about="One turn in both runs.",
    without=("a_ms", "b_ms"),
    named={"latency_difference_ms": "difference_ms"},
    a=PrintedSide,
    b=PrintedSide,
)


class PrintedComparedCondition(PrintedSides):
    """One condition in both runs."""

    corrected: str | None
    parts: list[PrintedPart]
    average_latency_ms: dict[str, float | None]
    average_latency_difference_ms: PrintedDifference | None
    cost: dict[str, PrintedCost]
    tasks: list[PrintedTaskPair]
    assertions: list[PrintedAssertionPair]
    turns: list[Annotated[dict[str, Any], TURN]]


class PrintedComparison(TypedDict):
    """Two runs compared, as `runs compare --json` prints them."""

    a: str
    b: str
    jobs: dict[str, str]
    models: dict[str, str | None]
    answer: Annotated[dict[str, Any], Fields(AnswerResult)]
    measured: bool
    timing_refused: str | None
    notes: list[str]
    regressions: list[str]
    undecided: str | None
    conditions: dict[Condition, PrintedComparedCondition]


def json_report(runs: Sequence[RunResult]) -> PrintedReport:
    """Return every run's result, its versions and reviews, and the statistics over the runs."""
    summaries, comparison = summarise_runs(runs), pair_comparison(runs)
    return {
        "format": "bioeval-tui report",
        "version": VERSION,
        "runs": [run_document(run) for run in runs],
        "summary": [summary_dict(summary) for summary in summaries],
        "comparison": comparison_dict(comparison, turns=False) if comparison else None,
        "ranks": [] if comparison else ranking_dicts(rankings(summaries)),
        "not_measured": [*map(sentence, why_unmeasured(count_planned(runs)))],
    }


def write_runs(runs: Sequence[RunResult], asked: Asked) -> str:
    """Return the report as text."""
    return _text(json_report(runs))


def write_gate(runs: Sequence[RunResult], rules: GateRules, result: GateResult) -> str:
    """Return the report with the gate's outcome as text."""
    return _text({**json_report(runs), "gate": result.to_dict()})


def write_comparison(comparison: Comparison) -> str:
    """Return a comparison as text."""
    return _text(comparison_dict(comparison))


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def estimate_dict(estimate: Estimate | None) -> PrintedMean | None:
    """Return an estimate: mean, error, interval with its scope, and the number of used and run
    conversations.
    """
    if estimate is None:
        return None
    return _estimate(estimate)


def _estimate(estimate: Estimate) -> PrintedMean:
    return {
        "mean": estimate.mean,
        "standard_error": estimate.standard_error,
        "interval": _interval(estimate.interval),
        "points": list(estimate.points),
        "range": [min(estimate.points), max(estimate.points)] if estimate.points else None,
        "used": estimate.counted.used,
        "held": estimate.counted.held,
        "held_again": estimate.counted.again,
        "excluded": dict(estimate.counted.reasons),
        "mean_with_excluded_as_0": estimate.with_excluded_as_zero,
        "words": spread_words(estimate),
    }


def difference_dict(difference: Difference | None) -> PrintedDifference | None:
    """Return a paired difference with its verdict and text."""
    if difference is None:
        return None
    return _difference(difference)


def _difference(difference: Difference) -> PrintedDifference:
    return {
        **_estimate(difference.estimate),
        "verdict": difference.direction,
        "words": difference_words(difference),
    }


def summary_dict(summary: Summary) -> PrintedSummary:
    """Return the statistics of one agent and model."""
    return {
        "agent": summary.label,
        "model": summary.runs[0].started.model,
        "rehearsal": summary.runs[0].started.rehearsal,
        "runs": [run.run_id for run in summary.runs],
        "conditions": {
            condition.condition: _condition(condition) for condition in summary.conditions
        },
        "cost": cost_dict(summary.spent),
        "difference": _effect(summary),
        "task_differences": [
            {"job": condition.job, "title": condition.title, **_difference(condition.difference)}
            for condition in summary.task_uplifts
        ],
    }


def _effect(summary: Summary) -> PrintedEffect | None:
    if summary.uplift is None:
        return None
    rests_on = SHARED.of(summary.shared) if summary.shared else None
    return {**_difference(summary.uplift), "words": summary.uplift_words, "rests_on": rests_on}


def comparison_dict(comparison: Comparison, *, turns: bool = True) -> PrintedComparison:
    """Return a comparison of two runs. Without `turns`, their lists are empty."""
    return {
        "a": comparison.a.run_id,
        "b": comparison.b.run_id,
        "jobs": {"a": comparison.a.brief.job, "b": comparison.b.brief.job},
        "models": {"a": comparison.a.asked_model, "b": comparison.b.asked_model},
        "answer": answer_dict(comparison.answer),
        "measured": comparison.measured,
        "timing_refused": comparison.timing_refused or None,
        "notes": list(comparison.notes),
        "regressions": list(comparison.regressions),
        "undecided": comparison.undecided or None,
        "conditions": {
            compared.condition: _compared_condition(compared, turns=turns)
            for compared in comparison.conditions
        },
    }


def _compared_condition(compared: ConditionComparison, *, turns: bool) -> PrintedComparedCondition:
    """Return two runs under one condition; without `turns`, their list is empty."""
    return {
        "corrected": compared.corrected or None,
        **_sides(compared.whole),
        "parts": [{"name": part.name, **_sides(part)} for part in compared.parts],
        "average_latency_ms": dict(zip("ab", compared.averages_ms, strict=True)),
        "average_latency_difference_ms": difference_dict(compared.latency),
        "cost": {"a": cost_dict(compared.cost_a), "b": cost_dict(compared.cost_b)},
        "tasks": [
            {
                "title": task.title,
                **_sides(task),
                "p_holm": task.difference.p if task.difference else None,
            }
            for task in compared.tasks
        ],
        "assertions": [
            {
                "title": check.title,
                "weight": check.weight,
                "a": _proportion(check.a),
                "b": _proportion(check.b),
                "change": check.change,
                "p_holm": check.difference.p if check.difference else None,
            }
            for check in compared.assertions
        ],
        "turns": [_turn(turn) for turn in compared.turns] if turns else [],
    }


def _sides(value: ValueComparison) -> PrintedSides:
    return {
        "a": estimate_dict(value.a),
        "b": estimate_dict(value.b),
        "difference": difference_dict(value.difference),
    }


def _turn(turn: TurnComparison) -> dict[str, Any]:
    def side(messages: Sequence[MessageState], latency_ms: float | None) -> PrintedSide:
        return {
            "messages": [{"role": m.role, "content": m.text} for m in messages],
            "latency_ms": latency_ms,
        }

    return TURN.of(turn, a=side(turn.a, turn.a_ms), b=side(turn.b, turn.b_ms))


def _condition(summary: ConditionSummary) -> dict[str, Any]:
    return CONDITION.of(
        summary,
        score=estimate_dict(summary.score),
        pass_k={str(each.k): each.value for each in summary.pass_k},
        pass_k_intervals={
            str(each.k): [each.interval.low, each.interval.high]
            for each in summary.pass_k
            if each.interval
        },
        tasks=[
            TASK.of(task, score=estimate_dict(task.score), passed=_proportion(task.passed))
            for task in summary.tasks
        ],
        tags={tag.tag: estimate_dict(tag.score) for tag in summary.tags},
        assertions=[
            ASSERTION.of(check, held=_proportion(check.held)) for check in summary.assertions
        ],
        asking=summary.asking and summary.asking.model_dump(),
        latency=LATENCY.of(summary.latency),
        tokens={
            each.peer: {"in": each.tokens_in, "out": each.tokens_out, "uncounted": each.uncounted}
            for each in summary.spent.peers
        },
        cost=cost_dict(summary.spent),
    )


def _proportion(proportion: Proportion | None) -> PrintedProportion | None:
    if proportion is None:
        return None
    return PROPORTION.of(proportion, interval=_interval(proportion.interval))


def _interval(interval: Interval | None) -> PrintedInterval | None:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "level": LEVEL, "scope": interval.scope}
