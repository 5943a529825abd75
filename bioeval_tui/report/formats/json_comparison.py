"""Two runs compared as a JSON object, as `runs compare --json` prints it; without its turns it is a
part of the report of two runs (`json_report.py`).

Times are milliseconds, scores lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from typing_extensions import TypedDict

from bioeval_tui.base.printed import Fields
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.state import MessageState
from bioeval_tui.report.comparison import (
    Change,
    Comparison,
    ConditionComparison,
    TurnComparison,
    ValueComparison,
)
from bioeval_tui.report.costs import PrintedCost, cost_dict
from bioeval_tui.report.document import AnswerResult, answer_dict
from bioeval_tui.report.formats.json_parts import (
    PrintedDifference,
    PrintedMean,
    PrintedProportion,
    difference_dict,
    estimate_dict,
    json_text,
    proportion_dict,
)


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


def write_comparison(comparison: Comparison) -> str:
    """Return a comparison as text."""
    return json_text(comparison_dict(comparison))


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
                "a": proportion_dict(check.a),
                "b": proportion_dict(check.b),
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
