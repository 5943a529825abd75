"""The outcome of grading one submission: a report, an invalid file with reasons, or not graded.

`grade.py` makes outcomes, and everything that shows gradings takes them. `outcome_json.py` writes
them, `validation.py` says what one means for who hands the file in, and `tally.py` counts them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from bioeval_tui.base.errors import UNKNOWN_TASK, NotMeasuredError, Problem
from bioeval_tui.grade.submissions import UNKNOWN_AGENT, agent_in
from bioeval_tui.grade.task_report import TaskReport


@dataclass(frozen=True, slots=True)
class Invalid:
    """The file's fault: it has no score.

    `report` is its published report; `problems` are the findings.
    """

    report: TaskReport
    reason: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class NotGraded:
    """Not the submission's fault: the grader crashed or hung, the task is unknown or unprepared, or
    a leaderboard is missing.

    `final` is true where trying again cannot help (an unknown task). `elsewhere` is true where the
    grader needs packages that its Python does not have, so that the Python of
    `BIOEVAL_WORKER_PYTHON` may be able to run it.
    """

    task_id: str
    submission_path: str
    reason: str
    attempts: int = 1
    final: bool = field(default=False, compare=False)
    agent: str | None = None
    elsewhere: bool = field(default=False, compare=False)

    @property
    def known_agent(self) -> str | None:
        """The agent that handed it in: given, or named by its path; None without either."""
        if self.agent not in (None, "", UNKNOWN_AGENT):
            return self.agent
        return agent_in(self.submission_path)

    @property
    def has_unknown_task(self) -> bool:
        """Whether no task has the id that the list gives, so that it counts as none."""
        return self.reason.startswith(UNKNOWN_TASK)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry under `not_graded` in a grading report, with `agent` if known."""
        entry: dict[str, Any] = {
            "task_id": self.task_id,
            "submission_path": self.submission_path,
            "reason": self.reason,
            "attempts": self.attempts,
        }
        if self.agent is not None:
            entry["agent"] = self.agent
        return entry

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from an entry under `not_graded` in a grading report.

        Raises:
            ValueError: it is not of that form.
        """
        try:
            task_id, path, reason = (
                data["task_id"],
                data.get("submission_path") or "",
                data["reason"],
            )
            agent, attempts = data.get("agent"), data.get("attempts", 1)
        except (KeyError, AttributeError, TypeError):
            raise ValueError("an entry of `not_graded` needs `task_id` and `reason`") from None
        if not all(isinstance(text, str) for text in (task_id, path, reason, agent or "")):
            raise ValueError("an entry of `not_graded` has a value that is not text")
        if not isinstance(attempts, int):
            raise ValueError("`attempts` of an entry of `not_graded` must be a whole number")
        return cls(task_id, path, reason, attempts, agent=agent)


class NotGradedError(NotMeasuredError, ValueError):
    """A submission could not be graded, through no fault of its file; the message is the reason."""


Outcome = TaskReport | Invalid | NotGraded
"""A TaskReport is a graded, valid submission."""


def reported(outcome: Outcome) -> TaskReport | NotGraded:
    """Return what a grading report says of an outcome: of an invalid file its report alone."""
    if isinstance(outcome, Invalid):
        return outcome.report
    return outcome
