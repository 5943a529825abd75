"""TaskReport: what grading one submission says, in the published shape. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class ReportExtra:
    """What this program adds to a published report, in one nested object.

    `score_needed` is the score at which the next better medal begins; `error` says why a submission
    is invalid; `leaderboard_position` is the place the score would take, counting from 1.
    """

    agent: str | None = None
    leaderboard_position: int | None = None
    error: str | None = None
    grader_seconds: float | None = None
    score_needed: float | None = None
    next_medal: str | None = None
    warnings: tuple[str, ...] = ()
    self_trained_leaderboard: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, ready for JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        values["warnings"] = list(self.warnings)
        return {key: value for key, value in values.items() if value is not None and value != []}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from `to_dict`'s result; unknown keys are ignored."""
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        values["warnings"] = tuple(values.get("warnings", ()))
        return cls(**values)


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The grading of one submission. Field names and order are those of BioML-bench's report.

    `leaderboard_percentile` and `human_percentile` are 0–100 with one decimal; `score` has five
    decimals and is None for an invalid or missing submission.
    """

    task_id: str
    score: float | None
    gold_threshold: float
    silver_threshold: float
    bronze_threshold: float
    median_threshold: float
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: datetime
    submission_path: str
    leaderboard_percentile: float | None = None
    leaderboard_size: int | None = None
    beats_human: bool | None = None
    human_percentile: float | None = None
    extra: ReportExtra | None = field(default=None, compare=True)

    @property
    def medal(self) -> str | None:
        """`gold`, `silver`, `bronze` or None."""
        if self.gold_medal:
            return "gold"
        if self.silver_medal:
            return "silver"
        return "bronze" if self.bronze_medal else None

    def to_dict(self) -> dict[str, Any]:
        """Return the published keys in the published order, `created_at` as ISO text; then `extra` if any."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "extra"}
        values["created_at"] = self.created_at.isoformat()
        if self.extra is not None:
            values["extra"] = self.extra.to_dict()
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from a report of this program, BioML-bench or MLE-bench (`competition_id`, no percentile).

        Raises:
            ValueError: a required key is missing or `created_at` is not an ISO time.
        """
        values = dict(data)
        if "task_id" not in values and "competition_id" in values:
            values["task_id"] = values.pop("competition_id")
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in values.items() if key in known}
        missing = [
            item.name for item in fields(cls) if item.name not in values and item.name not in _OPTIONAL
        ]
        if missing:
            raise ValueError(f"not a task report: {', '.join(missing)} missing")
        created = values["created_at"]
        if isinstance(created, str):
            values["created_at"] = datetime.fromisoformat(created)
        if isinstance(values.get("extra"), dict):
            values["extra"] = ReportExtra.from_dict(values["extra"])
        return cls(**values)


_OPTIONAL = {"leaderboard_percentile", "leaderboard_size", "beats_human", "human_percentile", "extra"}


def now() -> datetime:
    """Return the current time as reports record it: naive, UTC, as published."""
    return datetime.now(UTC).replace(tzinfo=None)
