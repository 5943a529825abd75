"""An outcome as JSON: what a worker answers, and what the journal of a batch keeps.

`batch/` reads and writes these. `report_text` and `is_not_graded` look into the text without
parsing it, since a batch may have hundreds of thousands.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from bioeval_tui.base.errors import Problem
from bioeval_tui.grade.outcomes import Invalid, NotGraded, Outcome
from bioeval_tui.grade.task_report import TaskReport


def outcome_to_dict(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a JSON-ready object, whose single key is its kind."""
    match outcome:
        case Invalid():
            problems = [problem_to_dict(item) for item in outcome.problems]
            report = outcome.report.to_dict()
            return {"invalid": {"reason": outcome.reason, "problems": problems, "report": report}}
        case NotGraded():
            return {
                "not_graded": {
                    **outcome.to_dict(),
                    "elsewhere": outcome.elsewhere,
                    "final": outcome.final,
                }
            }
        case _:
            return {"report": outcome.to_dict()}


def outcome_from_dict(data: dict[str, Any]) -> Outcome:
    """Return the outcome that `outcome_to_dict` wrote.

    Raises:
        ValueError, KeyError, TypeError: `data` does not have that form.
    """
    if "report" in data:
        return TaskReport.from_dict(data["report"])
    if "not_graded" in data:
        value = data["not_graded"]
        return replace(
            NotGraded.from_dict(value), final=value["final"], elsewhere=value["elsewhere"]
        )
    value = data["invalid"]
    problems = tuple(problem_from_dict(item) for item in value["problems"])
    return Invalid(TaskReport.from_dict(value["report"]), value["reason"], problems)


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """Return a finding about a submission, ready for JSON."""
    return {"message": problem.message, "line": problem.line, "field": problem.field}


def problem_from_dict(data: dict[str, Any]) -> Problem:
    """Return the finding that `problem_to_dict` wrote."""
    return Problem(data["message"], line=data["line"], field=data["field"])


def to_text(answer: dict[str, Any]) -> str:
    """Return `outcome_to_dict`'s result as JSON on one line.

    A carriage return follows each comma between values, and occurs nowhere else (JSON escapes those
    in text), so replacing it gives one line per value.
    """
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",\r", ": "))


def report_text(outcome_text: str) -> str:
    """Return the report's part of the text of a graded or invalid outcome, without parsing it."""
    # Quotes in text are escaped, so this can only be the key; the report is the last value.
    start = outcome_text.index('"report": ') + len('"report": ')
    return outcome_text[start : -1 if outcome_text.startswith('{"report"') else -2]


def is_not_graded(outcome_text: str) -> bool:
    """Whether the text is that of a submission that was not graded, without parsing it."""
    return outcome_text.startswith('{"not_graded"')
