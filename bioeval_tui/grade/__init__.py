"""Grading as in BioML-bench, as a library. Importing it does not load pandas.

    from bioeval_tui.grading import registry, grade_submission
    report = grade_submission(Path("submission.csv"), registry.get_task("oncology/breast-cancer"))

Library functions grade in this process. `GraderPool` grades in worker processes with limits, which
is what the command line, the screens and medal assertions use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bioeval_tui.base.errors import InvalidSubmissionError
from bioeval_tui.grade.task_report import TaskReport

if TYPE_CHECKING:
    from bioeval_tui.grade.batch.pool import GraderPool
    from bioeval_tui.grade.batch.run import grade_jsonl
    from bioeval_tui.grade.grade import (
        calculate_human_performance_metrics,
        grade_csv,
        grade_submission,
        validate_submission,
    )
    from bioeval_tui.grade.grader import Grader
    from bioeval_tui.grade.intervals import score_uncertainty
    from bioeval_tui.grade.leaderboard import (
        Leaderboard,
        Ranking,
        load_leaderboard,
        medal_places,
        rank,
    )
    from bioeval_tui.grade.outcomes import Invalid, NotGraded, NotGradedError, Outcome
    from bioeval_tui.grade.published_totals import aggregate_reports
    from bioeval_tui.grade.report_files import load_outcomes, load_reports
    from bioeval_tui.grade.submissions import extract_agent_from_submission_path
    from bioeval_tui.grade.tasks.prepare import prepare_task
    from bioeval_tui.grade.tasks.registry import Registry, registry
    from bioeval_tui.grade.tasks.task import Task, TaskEntry
    from bioeval_tui.grade.uncertainty import Uncertainty

_NAMES = {
    "batch.pool": "GraderPool",
    "batch.run": "grade_jsonl",
    "grade": "calculate_human_performance_metrics grade_csv grade_submission validate_submission",
    "grader": "Grader",
    "intervals": "score_uncertainty",
    "leaderboard": "Leaderboard Ranking load_leaderboard medal_places rank",
    "outcomes": "Invalid NotGraded NotGradedError Outcome",
    "published_totals": "aggregate_reports",
    "report_files": "load_outcomes load_reports",
    "submissions": "extract_agent_from_submission_path",
    "uncertainty": "Uncertainty",
    "tasks.prepare": "prepare_task",
    "tasks.registry": "Registry registry",
    "tasks.task": "Task TaskEntry",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Grader",
    "GraderPool",
    "Invalid",
    "InvalidSubmissionError",
    "Leaderboard",
    "NotGraded",
    "NotGradedError",
    "Outcome",
    "Ranking",
    "Registry",
    "Task",
    "TaskEntry",
    "TaskReport",
    "Uncertainty",
    "aggregate_reports",
    "calculate_human_performance_metrics",
    "extract_agent_from_submission_path",
    "grade_csv",
    "grade_jsonl",
    "grade_submission",
    "load_leaderboard",
    "load_outcomes",
    "load_reports",
    "medal_places",
    "prepare_task",
    "rank",
    "registry",
    "score_uncertainty",
    "validate_submission",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"bioeval_tui.grade.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
