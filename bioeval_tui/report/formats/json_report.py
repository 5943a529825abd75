"""The report of runs as a JSON object, also with a gate's outcome.

Its classes say its shape, from which `bioeval-tui schema report` is made; the functions below fill
it. Two runs compared are in `json_comparison.py`, an explanation in `report/explanation.py`.

Times are milliseconds, scores lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from bioeval_tui.base.printed import Fields
from bioeval_tui.base.terminal import json_pieces
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.report.comparison import (
    pair_comparison,
)
from bioeval_tui.report.costs import PrintedCost, cost_dict
from bioeval_tui.report.document import RunDocument, piecewise_document, run_document
from bioeval_tui.report.findings import Shared
from bioeval_tui.report.formats.json_comparison import PrintedComparison, comparison_dict
from bioeval_tui.report.formats.json_parts import (
    PrintedDifference,
    PrintedMean,
    PrintedProportion,
    estimate_dict,
    given_difference_dict,
    proportion_dict,
)
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.gate import (
    GateResult,
    GateRules,
    PrintedGate,
)
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.sentences import sentence
from bioeval_tui.report.summary import (
    AssertionSummary,
    ConditionSummary,
    PrintedRanking,
    Summary,
    TaskSummary,
    count_planned,
    ranking_dicts,
    rankings,
    summarise_runs,
    why_unmeasured,
)
from bioeval_tui.statistics.estimates import LatencySummary

VERSION = 1

SHARED = Fields(Shared)


class PrintedEffect(PrintedDifference):
    """Supplied − withheld on what both conditions share; `rests_on` is null if they share
    everything.
    """

    rests_on: Annotated[dict[str, Any], SHARED] | None


class PrintedControl(TypedDict):
    """What of the difference is the facts' (supplied − placebo), and what the longer talk's
    (placebo − withheld); null if the users told too different numbers of words.
    """

    total: PrintedDifference | None
    facts: PrintedDifference | None
    longer_talk: PrintedDifference | None
    words: str


class PrintedTaskDifference(PrintedDifference):
    """What the facts changed in one task."""

    job: str
    title: str


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
    "score", "pass_k", "pass_k_intervals", "tasks", "tags", "assertions", "words_told", "asking",
    "latency",
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
    placebo: PrintedControl | None
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


def write_runs(runs: Sequence[RunResult], asked: Asked) -> Iterator[str]:
    """Yield the report as text, piece by piece: no two conversations are in memory."""
    yield from json_pieces(_report(runs, map(piecewise_document, runs)))
    yield "\n"


def write_gate(runs: Sequence[RunResult], rules: GateRules, result: GateResult) -> Iterator[str]:
    """Yield the report with the gate's outcome in the same way."""
    report = _report(runs, map(piecewise_document, runs))
    yield from json_pieces({**report, "gate": result.to_dict()})
    yield "\n"


def json_report(runs: Sequence[RunResult]) -> PrintedReport:
    """Return every run's result, its versions and reviews, and the statistics over the runs."""
    return cast(PrintedReport, _report(runs, [run_document(run) for run in runs]))


def _report(runs: Sequence[RunResult], documents: Iterable[dict[str, Any]]) -> dict[str, Any]:
    summaries, comparison = summarise_runs(runs), pair_comparison(runs)
    return {
        "format": "bioeval-tui report",
        "version": VERSION,
        "runs": documents,
        "summary": [summary_dict(summary) for summary in summaries],
        "comparison": comparison_dict(comparison, turns=False) if comparison else None,
        "ranks": [] if comparison else ranking_dicts(rankings(summaries)),
        "not_measured": [*map(sentence, why_unmeasured(count_planned(runs)))],
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
        "placebo": _control(summary),
        "task_differences": [
            {
                "job": condition.job,
                "title": condition.title,
                **given_difference_dict(condition.difference),
            }
            for condition in summary.task_uplifts
        ],
    }


def _effect(summary: Summary) -> PrintedEffect | None:
    if summary.uplift is None:
        return None
    rests_on = SHARED.of(summary.shared) if summary.shared else None
    return {
        **given_difference_dict(summary.uplift),
        "words": summary.uplift_words,
        "rests_on": rests_on,
    }


def _control(summary: Summary) -> PrintedControl | None:
    control = summary.control
    if control is None:
        return None
    parts = [
        given_difference_dict(part) if control.is_told_apart else None
        for part in (control.total, control.facts, control.talk)
    ]
    total, facts, talk = parts
    return {
        "total": total,
        "facts": facts,
        "longer_talk": talk,
        "words": sentence(control.finding),
    }


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
            TASK.of(task, score=estimate_dict(task.score), passed=proportion_dict(task.passed))
            for task in summary.tasks
        ],
        tags={tag.tag: estimate_dict(tag.score) for tag in summary.tags},
        assertions=[
            ASSERTION.of(check, held=proportion_dict(check.held)) for check in summary.assertions
        ],
        asking=summary.asking and summary.asking.model_dump(),
        latency=LATENCY.of(summary.latency),
        tokens={
            each.peer: {"in": each.tokens_in, "out": each.tokens_out, "uncounted": each.uncounted}
            for each in summary.spent.peers
        },
        cost=cost_dict(summary.spent),
    )
