"""TaskReport: the report on one submission, in the published shape and rounding, with its
uncertainty and explanation.

Importing it loads only the standard library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from numbers import Integral, Real
from typing import Any, Literal, Self

from rich.cells import cell_len

from bioeval_tui.base.widths import fitted
from bioeval_tui.grade.doubts import Doubt, score_text
from bioeval_tui.grade.ledger import Looks
from bioeval_tui.grade.submissions import extract_agent_from_submission_path

BAR_WIDTH = 24
_EIGHTHS: tuple[str, ...] = ("", *"▏▎▍▌▋▊▉")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T_ ](\d\d)-(\d\d)-(\d\d)(?:-?(?:GMT|UTC)|Z)?")
"""A time as folders of runs are named: in UTC, without colons."""
_NUMBER = re.compile(r"–|-?\d[\d,]*(\.\d+)?(e[-+]\d+)?( ?%)?")


@dataclass(frozen=True, slots=True)
class Section:
    """One view: a table, with a bar from 0 to 1 for each row if `bars` are given."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bars: tuple[float, ...] = ()
    note: str = ""

    def lines(self) -> list[str]:
        """Return the view as lines of text, columns aligned, numbers to the right."""
        cells = []
        if self.columns:
            cells = [self.columns, *self.rows]
        widths = [max(cell_len(row[place]) for row in cells) for place in range(len(self.columns))]
        sides = [self._side(place) for place in range(len(self.columns))]
        shown = [self.title]
        for number, row in enumerate(cells):
            parts = list(map(fitted, row, widths, sides))
            if self.bars and number:
                parts.append(bar_text(self.bars[number - 1]))
            shown.append(f"  {'  '.join(parts).rstrip()}")
        if self.note:
            shown.append(f"  {self.note}")
        return shown

    def _side(self, place: int) -> Literal["left", "right"]:
        """Return the side to which a column is aligned."""
        if all(_NUMBER.fullmatch(row[place]) for row in self.rows):
            return "right"
        return "left"

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Build from `to_dict`'s result.

        Raises:
            ValueError: the data does not have that form.
        """
        try:
            columns = tuple(map(str, data["columns"]))
            rows = tuple(tuple(map(str, row)) for row in data["rows"])
            bars = tuple(min(1.0, max(0.0, float(bar))) for bar in data.get("bars") or ())
            section = cls(str(data["title"]), columns, rows, bars, str(data.get("note") or ""))
        except (KeyError, TypeError, AttributeError):
            raise ValueError("`explanation` must be a list of tables") from None
        if any(len(row) != len(columns) for row in rows) or (bars and len(bars) != len(rows)):
            raise ValueError(
                f"`explanation`: the table `{section.title[:60]}` has rows of different lengths"
            )
        return section

    def to_dict(self) -> dict[str, Any]:
        """Return the view, ready for JSON."""
        return asdict(self)


PRIVATE = Section(
    "the task keeps its answers private",
    (),
    (),
    note=(
        "Made-up predictions could read answers out of error views, so none is shown."
        " --show-answers (on the screen: A) shows them all, and the ledger records it."
    ),
)
"""What is shown in place of the views of private answers."""


def bar_text(share: float) -> str:
    """Return a bar of block characters for 0 to 1; anything above 0 is visible."""
    eighths = max(round(min(1.0, max(0.0, share)) * BAR_WIDTH * 8), int(share > 0))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + _EIGHTHS[rest]


def number_text(value: float | None) -> str:
    """Return a number in five significant digits; a dash for what is not finite."""
    if value is None or value != value or abs(value) == float("inf"):
        return "–"
    return f"{value + 0.0:.5g}"


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    bar: int | None = None,
    note: str = "",
) -> Section:
    """Return a section of numbers and texts; `bar` names the column that is drawn; its largest
    value is a full bar.
    """
    bars: tuple[float, ...] = ()
    if bar is not None and rows:
        values = [_length(row[bar]) for row in rows]
        most = max(values) or 1.0
        bars = tuple(round(value / most, 4) for value in values)
    texts = tuple(tuple(_cell_text(value) for value in row) for row in rows)
    return Section(title, tuple(columns), texts, bars, note)


def _length(value: Any) -> float:
    """Return how long the bar of a value is, before it is scaled; 0 for what is no number."""
    if not isinstance(value, int | float) or math.isnan(value):
        return 0.0
    return abs(float(value))


def _cell_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number_text(value)
    return str(value)


NO_MEDAL = "no medal"


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The uncertainty from the finite number of test rows; or `why_not`, the reason if it is
    unknown.

    `low` and `high` are the 95 % interval of the score. `gold`, `silver` and `bronze` are the
    chances of that medal on other test rows: of all entries if the `board_scored_anew`, else of
    this file alone. `place_best` and `place_worst` are the places of the interval's ends, counting
    from 1.
    """

    low: float | None = None
    high: float | None = None
    gold: float | None = None
    silver: float | None = None
    bronze: float | None = None
    place_best: int | None = None
    place_worst: int | None = None
    rows: int | None = None
    method: str = ""
    why_not: str = ""
    board_scored_anew: bool = False

    @property
    def chance_words(self) -> str:
        """What the chances of medals suppose, in words: `with the whole board scored on 171 other
        rows like these`, or `if only this file had 171 other rows like these`.
        """
        others = f"{self.rows or 0:,} other rows like these"
        if self.board_scored_anew:
            return f"with the whole board scored on {others}"
        return f"if only this file had {others}"

    @property
    def interval_words(self) -> str:
        """Such as `0.9906 to 1.0000`, or `no interval` with the reason."""
        if self.low is None or self.high is None:
            if self.why_not:
                return f"no interval: {self.why_not}"
            return "no interval"
        return f"{self.low + 0.0:.4f} to {self.high + 0.0:.4f}"

    @property
    def medal_words(self) -> str:
        """Such as `gold 70 %, silver 27 %, bronze 2 %`; empty without an interval."""
        return ", ".join(f"{name} {percent(share)}" for name, share in self.medals[:-1])

    @property
    def medals(self) -> tuple[tuple[str, float], ...]:
        """The share of resampled scores for each medal, and for none; empty without an interval."""
        shares = {"gold": self.gold, "silver": self.silver, "bronze": self.bronze}
        known = [(name, share) for name, share in shares.items() if share is not None]
        if known:
            return (*known, (NO_MEDAL, max(0.0, 1 - sum(share for _, share in known))))
        return ()

    @property
    def place_words(self) -> str:
        """Such as `1 to 4`, or `3`; empty without an interval."""
        if self.place_best is None or self.place_worst is None:
            return ""
        best, worst = f"{self.place_best:,}", f"{self.place_worst:,}"
        if best == worst:
            return best
        return f"{best} to {worst}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, ready for JSON."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value not in (None, "") and value is not False
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from `to_dict`'s result; unknown keys are ignored.

        Raises:
            ValueError: a value is of the wrong type; the field is named.
        """
        values: dict[str, Any] = {}
        for name in (
            "low",
            "high",
            "gold",
            "silver",
            "bronze",
            "place_best",
            "place_worst",
            "rows",
        ):
            value = data.get(name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                raise ValueError(f"`uncertainty.{name}` must be a number, found {value!r:.60}")
            whole = name in ("place_best", "place_worst", "rows")
            values[name] = int(value) if whole and value is not None else value
        for name in ("method", "why_not"):
            values[name] = data.get(name) or ""
            if not isinstance(values[name], str):
                raise ValueError(f"`uncertainty.{name}` must be text")
        return cls(**values, board_scored_anew=data.get("board_scored_anew") is True)


def rows_words(scored: int, expected: int) -> str:
    """Return such as `scored on 2 of 2,000 rows`, or `scored on all 171 rows`."""
    if scored < expected:
        return f"scored on {scored:,} of {expected:,} rows"
    return f"scored on all {expected:,} rows"


def threshold_words(value: float) -> str:
    """Return a threshold in the decimals that scores have."""
    return f"{value:.5f}".rstrip("0").rstrip(".")


def better_words(is_lower_better: bool) -> str:
    """Return which scores are better, as the rest of a sentence."""
    if is_lower_better:
        return "lower is better"
    return "higher is better"


def percent(share: float) -> str:
    """Return a share such as `70 %`; if it only rounds to 100 % or 0 %, `> 99 %` or `< 1 %`."""
    if 0 < share < 0.005:
        return "< 1 %"
    if 0.995 < share < 1:
        return "> 99 %"
    return f"{share:.0%}".replace("%", " %")


@dataclass(frozen=True, slots=True)
class ReportExtra:
    """What this program adds to a published report, in one nested object.

    `metric` names the score; `score_needed` is the score at which the next better medal begins;
    `error` says why a submission is invalid; `leaderboard_position` is the place the score would
    take, counting from 1; `environment` names the Python and the packages that graded;
    `leaderboard` says where the board comes from. `looks` is how many different submissions have
    been scored with these answers by now, `agent_looks` how many of this agent. The score is over
    `rows_scored` of the answers' `rows_expected` rows; None if that is unknown. `part` is `public`
    or `private` if the answers are a part of a task's. `doubts` say why the score of a grader with
    code may not be what the predictions deserve; their sentences are among the `warnings`, too.
    """

    agent: str | None = None
    metric: str | None = None
    leaderboard_position: int | None = None
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
        """`graded once`, or such as `37th submission scored against these answers`; empty if
        unknown.
        """
        if self.extra is None or not self.extra.looks:
            return ""
        return Looks(self.extra.looks, self.extra.agent_looks or self.extra.looks).words

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
        return (self.extra and self.extra.error) or "no reason was recorded"

    @property
    def needed_words(self) -> str:
        """The threshold of the next medal with five decimals, rounded towards better; empty if
        there is no next medal.
        """
        needed = self._needed
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
        if needed := self._needed:
            return f"{score_text(abs(needed[1] - self.score))} short of {needed[0]}"
        beyond = abs(self.score - self.gold_threshold)
        if not self.gold_medal or not math.isfinite(beyond):
            return ""
        if round(beyond, 5):
            return f"{score_text(beyond)} better than gold needs"
        return "just what gold needs"

    @property
    def _needed(self) -> tuple[str, float] | None:
        if self.extra is None or self.extra.score_needed is None or not self.extra.next_medal:
            return None
        whole = self.extra.score_needed * 100_000
        steps = math.floor(whole + 1e-6) if self.is_lower_better else math.ceil(whole - 1e-6)
        return self.extra.next_medal, steps / 100_000

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


def _finite(value: Any) -> Any:
    """Return a value ready for JSON: NumPy's numbers as Python's, None for what is not finite."""
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return None
    return value


def _text(name: str, value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"`{name}` must be text, found {value!r:.60}")
    return value or ""


def _text_or_none(name: str, value: Any) -> str | None:
    if value is None:
        return None
    return _text(name, value)


def _number_or_none(name: str, value: Any) -> float | None:
    try:
        if value is None:
            return None
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"`{name}` must be a number, found {value!r:.60}") from None


def _number(name: str, value: Any) -> float:
    number = _number_or_none(name, value)
    if number is None:
        return math.nan
    return number


def _count(name: str, value: Any) -> int | None:
    number = _number_or_none(name, value)
    if number is not None and not number.is_integer():
        raise ValueError(f"`{name}` must be a whole number, found {value!r:.60}")
    if number is None:
        return None
    return int(number)


def _yes_or_none(name: str, value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    try:
        if not isinstance(value, str) and value in (0, 1):
            return bool(value)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"`{name}` must be true or false, found {value!r:.60}")


def _yes(name: str, value: Any) -> bool:
    return bool(_yes_or_none(name, value))


def _time(name: str, value: Any) -> datetime | None:
    """Return a time; None for what is none: a report in another form of time costs only that."""
    if isinstance(value, datetime):
        return value
    return read_time(value)


def read_time(value: Any) -> datetime | None:
    """Return the time of an ISO text, or of `2026-01-26T18-58-19-GMT`, as folders of runs are
    named; None if it is none.
    """
    if not isinstance(value, str):
        return None
    if stamp := _STAMP.fullmatch(value.strip()):
        value = f"{stamp[1]}T{stamp[2]}:{stamp[3]}:{stamp[4]}"
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


_EXTRA_KINDS: dict[str, Callable[[str, Any], Any]] = {
    "agent": _text_or_none,
    "metric": _text_or_none,
    "leaderboard_position": _count,
    "error": _text_or_none,
    "grader_seconds": _number_or_none,
    "score_needed": _number_or_none,
    "next_medal": _text_or_none,
    "self_trained_leaderboard": _yes_or_none,
    "environment": _text_or_none,
    "leaderboard": _text_or_none,
    "looks": _count,
    "agent_looks": _count,
    "rows_scored": _count,
    "rows_expected": _count,
    "part": _text_or_none,
}
_KINDS: dict[str, Callable[[str, Any], Any]] = {
    "task_id": _text,
    "score": _number_or_none,
    **dict.fromkeys(
        ("gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold"), _number
    ),
    **dict.fromkeys(
        ("any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median"), _yes
    ),
    **dict.fromkeys(("submission_exists", "valid_submission", "is_lower_better"), _yes),
    "created_at": _time,
    "submission_path": _text,
    "leaderboard_percentile": _number_or_none,
    "leaderboard_size": _count,
    "beats_human": _yes_or_none,
    "human_percentile": _number_or_none,
}
_ADDED = {"extra", "uncertainty", "explanation"}
_OPTIONAL = {
    "created_at",
    "leaderboard_percentile",
    "leaderboard_size",
    "beats_human",
    "human_percentile",
}


def now() -> datetime:
    """Return the current time as reports record it: naive, UTC, as published."""
    return datetime.now(UTC).replace(tzinfo=None)


def numpy_round(value: float, decimals: int) -> float:
    """Return `value` rounded by numpy's rule, rint(x·10ᵈ)/10ᵈ, which makes 0.15 to 0.2 where Python
    says 0.1.
    """
    factor = 10.0**decimals
    product = value * factor
    if math.isfinite(product):
        return math.copysign(round(product), product) / factor
    return product


def to_score(value: Any, decimals: int = 5) -> float:
    """Return a grader's result as a score with five decimals.

    A Python float rounds correctly (half-even on its exact value), a numpy number by numpy's rule,
    as `round()` does for each.

    Raises:
        TypeError: `value` is not one number.
    """
    import numpy as np  # graders bring it; a batch's own process never does

    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, np.generic) and isinstance(value, (np.floating, np.integer, np.bool_)):
        return numpy_round(float(value), decimals)
    if isinstance(value, (bool, Integral)):
        return float(value)
    if isinstance(value, Real):
        return round(float(value), decimals)
    raise TypeError(f"the grader returned {type(value).__name__} where a number was expected")
