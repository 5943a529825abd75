"""The outcome of grading one submission: a report, an invalid file with reasons, or not graded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from bioeval_tui.errors import NotMeasuredError, Problem
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.text import plural


class NotGradedError(NotMeasuredError, ValueError):
    """A submission could not be graded, through no fault of its file; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """The file's fault: it has no score. `report` is its published report; `problems` are the findings."""

    report: TaskReport
    reason: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class NotGraded:
    """Not the submission's fault: the grader crashed or hung, the task is unknown or unprepared, or a leaderboard
    is missing.

    `final` is true where trying again cannot help (an unknown task). `elsewhere` is true where the grader needs packages
    that its Python does not have, so that the Python of `BIOEVAL_WORKER_PYTHON` may be able to run it.
    """

    task_id: str
    submission_path: str
    reason: str
    attempts: int = 1
    final: bool = field(default=False, compare=False)
    agent: str | None = None
    elsewhere: bool = field(default=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry under `not_graded` in a grading report, with `agent` if known."""
        return {
            "task_id": self.task_id,
            "submission_path": self.submission_path,
            "reason": self.reason,
            "attempts": self.attempts,
            **({} if self.agent is None else {"agent": self.agent}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from an entry under `not_graded` in a grading report.

        Raises:
            ValueError: it is not of that form.
        """
        try:
            task_id, path, reason = data["task_id"], data.get("submission_path") or "", data["reason"]
            agent, attempts = data.get("agent"), data.get("attempts", 1)
        except (KeyError, AttributeError, TypeError):
            raise ValueError("an entry of `not_graded` needs `task_id` and `reason`") from None
        if not all(isinstance(text, str) for text in (task_id, path, reason, agent or "")):
            raise ValueError("an entry of `not_graded` has a value that is not text")
        if not isinstance(attempts, int):
            raise ValueError("`attempts` of an entry of `not_graded` must be a whole number")
        return cls(task_id, path, reason, attempts, agent=agent)


Outcome = TaskReport | Invalid | NotGraded
"""A TaskReport is a graded, valid submission."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What validation says of a file: `valid`, `invalid` or `not_graded`, in words, and the findings.

    `missing` is how many rows of the answers a valid file lacks.
    """

    status: Literal["valid", "invalid", "not_graded"]
    findings: tuple[str, ...] = ()
    missing: int = 0

    @property
    def words(self) -> str:
        """Such as `invalid`, or `valid for the published grader; 1,998 rows are missing`."""
        if not self.missing:
            return self.status.replace("_", " ")
        return f"valid for the published grader; {plural(self.missing, 'row is', 'rows are')} missing"


def verdict_of(outcome: Outcome, findings: Iterable[Problem]) -> Verdict:
    """Return what validation says of a file, from how it is graded and what is wrong with it."""
    messages = [item.message for item in findings]
    if isinstance(outcome, NotGraded):
        return Verdict("not_graded", (*messages, outcome.reason))
    if isinstance(outcome, Invalid):
        own = [item.message for item in outcome.problems] or [outcome.reason]
        return Verdict("invalid", tuple(dict.fromkeys([*own, *messages])))
    return Verdict("valid", tuple(messages), outcome.rows_missing)


def outcome_to_dict(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a JSON-ready object, whose single key is its kind."""
    match outcome:
        case Invalid():
            problems = [problem_to_dict(item) for item in outcome.problems]
            report = outcome.report.to_dict()
            return {"invalid": {"reason": outcome.reason, "problems": problems, "report": report}}
        case NotGraded():
            return {
                "not_graded": {**outcome.to_dict(), "elsewhere": outcome.elsewhere, "final": outcome.final}
            }
        case _:
            return {"report": outcome.to_dict()}


def to_text(answer: dict[str, Any]) -> str:
    """Return `outcome_to_dict`'s result as JSON on one line.

    A carriage return follows each comma between values, and occurs nowhere else (JSON escapes those in
    text), so replacing it gives one line per value.
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


def outcome_from_dict(data: dict[str, Any]) -> Outcome:
    """Return the outcome that `outcome_to_dict` wrote.

    Raises:
        ValueError, KeyError, TypeError: `data` does not have that form.
    """
    if "report" in data:
        return TaskReport.from_dict(data["report"])
    if "not_graded" in data:
        value = data["not_graded"]
        return replace(NotGraded.from_dict(value), final=value["final"], elsewhere=value["elsewhere"])
    value = data["invalid"]
    problems = tuple(problem_from_dict(item) for item in value["problems"])
    return Invalid(TaskReport.from_dict(value["report"]), value["reason"], problems)


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """Return a finding about a submission, ready for JSON."""
    return {"message": problem.message, "line": problem.line, "field": problem.field}


def problem_from_dict(data: dict[str, Any]) -> Problem:
    """Return the finding that `problem_to_dict` wrote."""
    return Problem(data["message"], line=data["line"], field=data["field"])
