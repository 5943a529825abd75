"""TaskReport: the report on one submission, in the published shape and rounding, with its
uncertainty and explanation.

`grade.py` makes reports, `report_files.py` reads them back, and everything that shows gradings
takes them. Importing it loads only the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Self

from bioeval_tui.base.units import NO_REASON, SCORE_DECIMALS, score_text
from bioeval_tui.grade.doubts import Doubt
from bioeval_tui.grade.explaining.sections import Section
from bioeval_tui.grade.ledger import Looks
from bioeval_tui.grade.report_fields import (
    count_or_none,
    number_or_nan,
    number_or_none,
    percentile_or_none,
    text_or_empty,
    text_or_none,
    time_or_none,
    yes_or_no,
    yes_or_none,
)
from bioeval_tui.grade.score_numbers import (
    exact_percentile,
    rows_words,
    score_that_reaches,
)
from bioeval_tui.grade.submissions import UNKNOWN_AGENT, extract_agent_from_submission_path
from bioeval_tui.grade.uncertainty import Uncertainty


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The grading of one submission. Field names and order are those of BioML-bench's report.

    `leaderboard_percentile` and `human_percentile` are 0–100 with one decimal; `score` has five
    decimals and is None for an invalid or missing submission. `created_at` is None if a report that
    was read has no time in a form that is known.
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
    created_at: datetime | None
    submission_path: str
    leaderboard_percentile: float | None = None
    leaderboard_size: int | None = None
    beats_human: bool | None = None
    human_percentile: float | None = None
    extra: ReportExtra | None = field(default=None, compare=True)
    uncertainty: Uncertainty | None = None
    explanation: tuple[Section, ...] = ()

    @property
    def medal(self) -> str | None:
        """`gold`, `silver`, `bronze` or None."""
        if self.gold_medal:
            return "gold"
        if self.silver_medal:
            return "silver"
        if self.bronze_medal:
            return "bronze"
        return None

    @property
    def agent(self) -> str:
        """The agent that handed it in: given, or named by its path; `unknown` without either."""
        return (self.extra and self.extra.agent) or extract_agent_from_submission_path(
            self.submission_path
        )

    @property
    def created_words(self) -> str:
        """When it was graded, as ISO text; empty if unknown."""
        if self.created_at is None:
            return ""
        return self.created_at.isoformat()

    @property
    def percentile(self) -> float | None:
        """The percentile (0 to 100) before its published rounding, which means are taken of; None
        without one.
        """
        beaten = None
        if self.extra is not None:
            beaten = self.extra.entries_beaten
        return exact_percentile(self.leaderboard_percentile, self.leaderboard_size, beaten)

    @property
    def place_words(self) -> str:
        """The place of the score, including the submission itself: `3 of 1,044` on a board of
        1,043; empty if unknown.
        """
        if self.extra is None or not self.extra.leaderboard_position:
            return ""
        place = f"{self.extra.leaderboard_position:,}"
        if self.leaderboard_size:
            return f"{place} of {self.leaderboard_size + 1:,}"
        return place

    @property
    def interval_words(self) -> str:
        """The score's 95 % interval, such as `0.9906 to 1.0000`; empty without one."""
        if self.uncertainty is None or self.uncertainty.low is None:
            return ""
        return self.uncertainty.interval_words

    @property
    def looks_words(self) -> str:
        """Such as `37 different files scored against these answers`; empty if unknown."""
        if self.looks is None:
            return ""
        return self.looks.words

    @property
    def looks(self) -> Looks | None:
        """How many files were scored against the answers; None if unknown."""
        if self.extra is None or not self.extra.looks:
            return None
        if self.agent == UNKNOWN_AGENT:
            # Earlier versions counted the files of no known agent as those of one.
            return Looks(self.extra.looks)
        return Looks(self.extra.looks, self.extra.agent_looks)

    @property
    def rows_missing(self) -> int:
        """How many rows of the answers the score leaves out; 0 if none, or if that is unknown."""
        extra = self.extra
        if (
            self.score is None
            or extra is None
            or extra.rows_scored is None
            or extra.rows_expected is None
        ):
            return 0
        return max(0, extra.rows_expected - extra.rows_scored)

    @property
    def rows_words(self) -> str:
        """Such as `scored on 2 of 2,000 rows`, `scored on all 51 rows of the public part`; empty
        without a score.
        """
        extra = self.extra
        if self.score is None or extra is None:
            return ""
        if extra.rows_scored is None or extra.rows_expected is None:
            return "rows scored: not known"
        words = rows_words(extra.rows_scored, extra.rows_expected)
        if extra.part:
            return f"{words} of the {extra.part} part"
        return words

    @property
    def rows_note(self) -> str:
        """`rows_words` beside a score that is not comparable: rows are missing, or it is on a part;
        empty otherwise.
        """
        if self.rows_missing or (self.extra and self.extra.part):
            return self.rows_words
        return ""

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Why the score may not be what the predictions deserve; empty where nothing is known
        against it.
        """
        if self.extra:
            return self.extra.doubts
        return ()

    @property
    def doubt_words(self) -> str:
        """The sentences of the doubts, to stand beside the score and whatever follows from it;
        empty without any.
        """
        return "; ".join(doubt.sentence for doubt in self.doubts)

    @property
    def note(self) -> str:
        """What must stand beside a medal: on which rows, if not all, and the doubts; empty if
        nothing must.
        """
        notes = [self.rows_note]
        if self.doubts:
            notes.append(f"in doubt: {self.doubt_words}")
        return "; ".join(filter(None, notes))

    @property
    def score_words(self) -> str:
        """The score with the name of its metric: `roc_auc 0.99562`; `score 0.99562` if the report
        does not name it.
        """
        if self.score is None:
            return ""
        return f"{(self.extra and self.extra.metric) or 'score'} {score_text(self.score)}"

    @property
    def why_invalid(self) -> str:
        """Why the submission is invalid; where its report says nothing, that."""
        if self.extra and self.extra.error:
            return self.extra.error
        if not self.submission_exists:
            return "nothing was submitted"
        return NO_REASON

    @property
    def needed_words(self) -> str:
        """The threshold of the next medal with five decimals, rounded towards better; empty if
        there is no next medal.
        """
        needed = self.needed
        if needed:
            return f"{needed[0]} begins at {score_text(needed[1])}"
        return ""

    @property
    def away_words(self) -> str:
        """The distance to the next medal, `0.00015 short of silver`, or from gold's threshold;
        empty if unknown.
        """
        if self.score is None:
            return ""
        if needed := self.needed:
            return f"{score_text(abs(needed[1] - self.score))} short of {needed[0]}"
        beyond = abs(self.score - self.medal_scores["gold"])
        if not self.gold_medal or not math.isfinite(beyond):
            return ""
        if round(beyond, SCORE_DECIMALS):
            return f"{score_text(beyond)} better than gold needs"
        return "just what gold needs"

    @property
    def needed(self) -> tuple[str, float] | None:
        """The next medal and the score that reaches it; None if there is none, or that is
        unknown.
        """
        if self.extra is None or self.extra.score_needed is None or not self.extra.next_medal:
            return None
        needed = score_that_reaches(self.extra.score_needed, self.is_lower_better)
        return self.extra.next_medal, needed

    @property
    def medal_scores(self) -> dict[str, float]:
        """The score that reaches each medal, as everything shows where it begins."""
        thresholds = {
            "bronze": self.bronze_threshold,
            "silver": self.silver_threshold,
            "gold": self.gold_threshold,
        }
        return {
            medal: score_that_reaches(threshold, self.is_lower_better)
            for medal, threshold in thresholds.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the published keys in the published order, `created_at` as ISO text; then `extra`,
        `uncertainty` and `explanation` if any.

        A number that is not finite becomes None: JSON has no NaN.
        """
        values = {
            item.name: _finite(getattr(self, item.name))
            for item in fields(self)
            if item.name not in _ADDED
        }
        values["created_at"] = self.created_words or None
        if self.extra is not None:
            values["extra"] = self.extra.to_dict()
        if self.uncertainty is not None:
            values["uncertainty"] = self.uncertainty.to_dict()
        if self.explanation:
            values["explanation"] = [section.to_dict() for section in self.explanation]
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from a report of this program, BioML-bench or MLE-bench (`competition_id`, no
        percentile).

        Values get the published types, from numbers of NumPy and numbers in text, too. A score of
        NaN or infinity, which the published program counts as valid, makes the submission invalid.

        Raises:
            ValueError: a required key is missing or a value is of the wrong type; the field is
                named.
        """
        values = dict(data)
        if "task_id" not in values and "competition_id" in values:
            values["task_id"] = values.pop("competition_id")
        missing = [name for name in _KINDS if name not in values and name not in _OPTIONAL]
        if missing:
            raise ValueError(f"not a task report: {', '.join(missing)} missing")
        extra = values.get("extra")
        if extra is not None and not isinstance(extra, dict):
            raise ValueError("`extra` must be an object")
        read = None
        if extra is not None:
            read = ReportExtra.from_dict(extra)
        sure = values.get("uncertainty")
        if sure is not None and not isinstance(sure, dict):
            raise ValueError("`uncertainty` must be an object")
        typed = {name: kind(name, values.get(name)) for name, kind in _KINDS.items()}
        score = typed["score"]
        if score is not None and not math.isfinite(score):
            typed |= {"score": None, "valid_submission": False, "leaderboard_percentile": None}
            read = replace(
                read or ReportExtra(), error=f"the score is not a finite number ({score})"
            )
        views = values.get("explanation") or ()
        if not isinstance(views, list | tuple):
            raise ValueError("`explanation` must be a list of tables")
        uncertainty = None
        if sure:
            uncertainty = Uncertainty.from_dict(sure)
        return cls(
            **typed,
            extra=read,
            uncertainty=uncertainty,
            explanation=tuple(Section.from_dict(view) for view in views),
        )


@dataclass(frozen=True, slots=True)
class ReportExtra:
    """What this program adds to a published report, in one nested object.

    `metric` names the score; `score_needed` is the score at which the next better medal begins;
    `error` says why a submission is invalid; `leaderboard_position` is the place the score would
    take, counting from 1, and `entries_beaten` how many of the board are worse. `environment` names
    the Python and the packages that graded; `leaderboard` says where the board comes from. `looks`
    is how many different files have been scored with these answers by now, `agent_looks` how many
    of this agent, None if no agent is known. The score is over `rows_scored` of the answers'
    `rows_expected` rows; None if that is unknown. `part` is `public` or `private` if the answers
    are a part of a task's. `doubts` say why the score of a grader with code may not be what the
    predictions deserve; their sentences are among the `warnings`, too.
    """

    agent: str | None = None
    metric: str | None = None
    leaderboard_position: int | None = None
    entries_beaten: int | None = None
    error: str | None = None
    grader_seconds: float | None = None
    score_needed: float | None = None
    next_medal: str | None = None
    warnings: tuple[str, ...] = ()
    self_trained_leaderboard: bool | None = None
    environment: str | None = None
    leaderboard: str | None = None
    looks: int | None = None
    agent_looks: int | None = None
    rows_scored: int | None = None
    rows_expected: int | None = None
    part: str | None = None
    doubts: tuple[Doubt, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, ready for JSON."""
        values = {item.name: _finite(getattr(self, item.name)) for item in fields(self)}
        values["warnings"] = list(self.warnings)
        values["doubts"] = [doubt.to_dict() for doubt in self.doubts]
        return {key: value for key, value in values.items() if value is not None and value != []}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from `to_dict`'s result; unknown keys are ignored.

        Raises:
            ValueError: a value is of the wrong type; the field is named.
        """
        warnings = data.get("warnings") or ()
        if not isinstance(warnings, list | tuple):
            raise ValueError("`extra.warnings` must be a list")
        doubts = data.get("doubts") or ()
        if not isinstance(doubts, list | tuple):
            raise ValueError("`extra.doubts` must be a list")
        values = {key: kind(f"extra.{key}", data.get(key)) for key, kind in _EXTRA_KINDS.items()}
        known = tuple(map(Doubt.from_dict, doubts))
        return cls(warnings=tuple(map(str, warnings)), doubts=known, **values)


def now() -> datetime:
    """Return the current time as reports record it: naive, UTC, as published."""
    return datetime.now(UTC).replace(tzinfo=None)


def _finite(value: Any) -> Any:
    """Return a value ready for JSON: NumPy's numbers as Python's, None for what is not finite."""
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return None
    return value


_KINDS: dict[str, Callable[[str, Any], Any]] = {
    "task_id": text_or_empty,
    "score": number_or_none,
    "gold_threshold": number_or_nan,
    "silver_threshold": number_or_nan,
    "bronze_threshold": number_or_nan,
    "median_threshold": number_or_nan,
    **dict.fromkeys(
        ("any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median"), yes_or_no
    ),
    **dict.fromkeys(("submission_exists", "valid_submission", "is_lower_better"), yes_or_no),
    "created_at": time_or_none,
    "submission_path": text_or_empty,
    "leaderboard_percentile": percentile_or_none,
    "leaderboard_size": count_or_none,
    "beats_human": yes_or_none,
    "human_percentile": percentile_or_none,
}
"""The published fields, and by what each is read."""

_EXTRA_KINDS: dict[str, Callable[[str, Any], Any]] = {
    "agent": text_or_none,
    "metric": text_or_none,
    "leaderboard_position": count_or_none,
    "entries_beaten": count_or_none,
    "error": text_or_none,
    "grader_seconds": number_or_none,
    "score_needed": number_or_none,
    "next_medal": text_or_none,
    "self_trained_leaderboard": yes_or_none,
    "environment": text_or_none,
    "leaderboard": text_or_none,
    "looks": count_or_none,
    "agent_looks": count_or_none,
    "rows_scored": count_or_none,
    "rows_expected": count_or_none,
    "part": text_or_none,
}
"""The fields of `extra`, but for its lists."""

_ADDED = {"extra", "uncertainty", "explanation"}

_OPTIONAL = {
    "created_at",
    "leaderboard_percentile",
    "leaderboard_size",
    "beats_human",
    "human_percentile",
}
