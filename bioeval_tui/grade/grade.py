"""Grade one submission: run the grader, rank the score, compare with people, write the report; or
find all that is wrong.

To examine a file, a declared metric knows what it needs. For a grader with code, the file is
compared with the task's sample submission, which shows the expected form; the grader itself
decides.
"""

from __future__ import annotations

import math
import os
import platform
import time
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bioeval_tui.base.errors import (
    BioevalError,
    InputError,
    InvalidSubmissionError,
    NotMeasuredError,
    Problem,
)
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.grade import alignment, order
from bioeval_tui.grade.alignment import Coverage, invalid
from bioeval_tui.grade.answers import read_part
from bioeval_tui.grade.doubts import Doubt
from bioeval_tui.grade.grader import is_invalid_submission
from bioeval_tui.grade.leaderboard import Leaderboard, build_leaderboard, load_leaderboard
from bioeval_tui.grade.ledger import file_hash
from bioeval_tui.grade.outcomes import Invalid, NotGraded, NotGradedError, Outcome
from bioeval_tui.grade.published_tables import read_as_published
from bioeval_tui.grade.score_numbers import ROUNDING, numpy_round, rounding_words, to_score
from bioeval_tui.grade.scorers import CSV, H5AD, CodeScorer, CsvScorer, Scorer
from bioeval_tui.grade.submission_files import is_equal_file, is_same_file, why_not_a_file
from bioeval_tui.grade.submissions import agent_in
from bioeval_tui.grade.tables import read_frame
from bioeval_tui.grade.task_report import ReportExtra, TaskReport, now
from bioeval_tui.grade.tasks.task import Task
from bioeval_tui.grade.tasks.task_code import NEEDS_NUMPY, MissingPackageError, import_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray


def calculate_human_performance_metrics(
    agent_score: float, human_df: pd.DataFrame, is_lower_better: bool
) -> tuple[bool | None, float | None]:
    """Return `(beats_human, human_percentile)` of a score against a table with a `score` column.

    beats_human: strictly better than the median human. human_percentile: share of humans that the
    score equals or beats × 100, one decimal; rows without a score count as not beaten. Both None
    for no rows.

    Raises:
        KeyError: the table has no column `score`.
        ValueError: the column has what is no number.
    """
    return compare_with_humans(
        agent_score, human_df["score"].to_numpy(dtype=np.float64), is_lower_better
    )


def compare_with_humans(
    score: float, humans: NDArray[np.float64], is_lower_better: bool
) -> tuple[bool | None, float | None]:
    """Compare with human scores of shape (people,); see `calculate_human_performance_metrics`."""
    if not len(humans):
        return None, None
    known = humans[~np.isnan(humans)]
    median = float(np.median(known)) if len(known) else float("nan")
    if is_lower_better:
        beats, reached = score < median, humans >= score
    else:
        beats, reached = score > median, humans <= score
    return bool(beats), numpy_round(float(reached.mean()) * 100, 1)


def load_humans(path: Path) -> NDArray[np.float64]:
    """Read the `score` column, shape (people,); empty if there is no such file, or nothing in it.

    Raises:
        ValueError, OSError: the file exists but cannot be used.
    """
    if not path.is_file():
        return np.empty(0)

    try:
        frame = read_as_published(path)
    except pd.errors.EmptyDataError:
        return np.empty(0)
    if "score" not in frame.columns:
        has = ", ".join(clean_line(str(name), 40) for name in frame.columns[:10])
        raise ValueError(f"it has no column `score`; it has {has}")
    values: NDArray[np.float64] = frame["score"].to_numpy(dtype=np.float64)
    return values


def humans_of(task: Task) -> tuple[NDArray[np.float64], str]:
    """Return the scores of a task's human baselines, shape (people,), and why they cannot be used;
    the second is empty if they can, or if there are none.
    """
    path = task.public_dir / "human_baselines.csv"
    try:
        return load_humans(path), ""
    except (ValueError, OSError) as error:
        why = clean_line(str(error), 160)
        return np.empty(0), f"human baselines ({path.name}) cannot be read: {why}"


LARGE_BYTES = 300_000_000
"""Maximum size of a submission in bytes, unless a hundred times the size of the answers is larger.
"""


NOTHING_HANDED_IN = "nothing was submitted"
OTHER_ROWS = (
    "the leaderboard's entries were scored on all rows: place and medal on a part are only a hint"
)
NO_SCORE_FOR_ANSWERS = (
    "the task's own answers have no score (one class, constant values?), so no file can have one"
)
NUMPY_SCALARS = "only 0-dimensional arrays can be converted to Python scalars"


@dataclass(frozen=True, slots=True)
class Proof:
    """Which of a task's own files its grader scored; None, with its exception or message, if it
    scored none.
    """

    scored: str | None
    failed: Exception | None = None
    refused: str = ""


def _wrong_type(path: Path, task: Task, suffixes: tuple[str, ...]) -> str:
    name, wanted = clean_line(path.name, 200), " or ".join(suffixes)
    return f"{name} has the wrong file type for {task.id}: {wanted} is expected"


class TaskGrading:
    """A task that is ready to grade many files: leaderboard, human baselines and answers are loaded
    once.

    Raises:
        NotGradedError: the task is not prepared, or its leaderboard cannot be used.
    """

    def __init__(self, task: Task) -> None:
        reason = task.why_not_prepared()
        if reason is not None:
            raise NotGradedError(reason)
        self.task = task
        try:
            self.board = leaderboard_of(task)
            part = read_part(task.private_dir)
        except InputError as error:
            raise NotGradedError(str(error)) from None
        self.part = None if part is None else part.name
        self.warnings = [*task.warnings, *self.board.warnings]
        if part is not None:
            if task.leaderboard.parent == task.folder:
                self.warnings.insert(0, OTHER_ROWS)
            self.warnings.insert(0, part.words)
        self.environment = environment()
        self.humans, unread = humans_of(task)
        if unread:
            self.warnings.append(unread)
        self.time_limit_s: float | None = None
        """How long grading one file may take, in seconds, if somebody watches it."""
        self.rivals: object = None
        """What `rivals.load_rivals` has loaded."""

    @cached_property
    def scorer(self) -> Scorer:
        """The task's scorer, with the answers; loaded when first used."""
        return build_scorer(self.task)

    def grade(
        self,
        path: Path | None,
        shown: str | None = None,
        *,
        handed_in: bool = False,
        agent: str | None = None,
        refused: str | None = None,
    ) -> Outcome:
        """Grade the file at `path` (None: nothing was submitted), which the report calls `shown`.

        The answers file itself is invalid as a submission. If the grader fails, it is tried on the
        task's sample submission and answers. The submission is invalid if the grader scores one of
        them, or if nobody can read the file; a grader that fails on them, too, is at fault.

        Args:
            path: the file.
            shown: what the report calls it; the path as given if None.
            handed_in: whether the file comes from somebody else.
            agent: who submitted it; if None, taken from `shown`.
            refused: why the file is invalid without being read, if it is.

        Problems with the file or the grader's code never raise.
        """
        if shown is None:
            shown = str(path or "")
        agent = agent or agent_in(shown)
        started = time.perf_counter()
        reason = refused or self._refusal(path, shown, handed_in)
        problems: tuple[Problem, ...] = ()
        raw: Any = None
        score: float | None = None
        if path is not None and reason is None:
            try:
                raw = self.scorer.score(path)
                score, reason = checked_score(raw)
                if (
                    raw is not None
                    and reason
                    and (difference := self._difference(path)) is not None
                ):
                    reason = "; ".join(filter(None, (reason, difference.words)))
                if score is None and self.undefined is not None:
                    return NotGraded(self.task.id, shown, self.undefined, agent=agent)
            except MemoryError:
                return NotGraded(self.task.id, shown, "out of memory while grading", agent=agent)
            except Exception as error:
                # A grader is other people's code and may raise anything, which becomes an outcome
                # with its reason, so that it costs this submission and no other.
                if not is_invalid_submission(error):
                    error = self._blame(path, error)
                if not is_invalid_submission(error):
                    missing = isinstance(error, MissingPackageError)
                    return NotGraded(
                        self.task.id,
                        shown,
                        failure(error, self.task.id),
                        agent=agent,
                        elsewhere=missing,
                    )
                reason = (
                    clean_line(str(error), 2000)
                    or "the grader calls the submission invalid without a reason"
                )
                problems = tuple(getattr(error, "problems", ()))
        seconds = round(time.perf_counter() - started, 6)
        report = self._report(path, shown, agent, score, reason, seconds)
        if reason is None:
            assert path is not None
            assert report.extra is not None
            rows, found = self.coverage(path), self._doubts(path, raw, seconds)
            extra = replace(report.extra, warnings=(*report.extra.warnings, *self.hints(path)))
            if words := rounding_words(self._medal_with_all_decimals(raw), report.medal):
                extra = replace(extra, warnings=(*extra.warnings, words))
            if rows is not None:
                extra = replace(extra, rows_scored=rows.scored, rows_expected=rows.expected)
            if found is not None:
                sentences = (*(doubt.sentence for doubt in found.doubts), *found.notes)
                extra = replace(extra, doubts=found.doubts, warnings=(*extra.warnings, *sentences))
            return replace(report, extra=extra)
        return Invalid(report, reason, problems or (Problem(reason),))

    def _medal_with_all_decimals(self, raw: Any) -> str | None:
        """Return the medal that a grader's result would earn if it were not rounded."""
        score = float(np.ravel(raw)[0])
        # Equal scores may differ in their last digit, by the order in which a sum was taken.
        margin = 1e-9 * max(1.0, abs(score))
        if self.board.is_lower_better:
            margin = -margin
        return self.board.rank(score + margin).medal

    def coverage(self, path: Path) -> Coverage | None:
        """Return on how many rows of the answers a scored file was scored; None if that is
        unknown.
        """
        try:
            return self.scorer.coverage(path)
        except (InvalidSubmissionError, NotMeasuredError, TypeError, ValueError, OSError):
            return None  # ids of types that do not compare, or a file that is gone

    def hints(self, path: Path) -> list[str]:
        """Return what is strange about a file that was scored, a sentence each; none if nothing
        is.
        """
        try:
            return self.scorer.hints(path)
        except (InvalidSubmissionError, NotMeasuredError, TypeError, ValueError, OSError):
            return []  # as for `coverage`

    def _doubts(self, path: Path, raw: Any, seconds: float) -> order.Findings | None:
        """Return what the values of a scored file and its form mean for its score; None if
        nothing.
        """
        found = self._doubts_of_form(path, raw, seconds)
        if not is_equal_file(path, self.task.answers):
            return found
        copied = Doubt("answers", float(np.ravel(raw)[0]))
        doubts, notes = found or ((), ())
        return order.Findings((copied, *doubts), notes)

    def _doubts_of_form(self, path: Path, raw: Any, seconds: float) -> order.Findings | None:
        """Return what the form of a scored file means for its score; None if it has the expected
        form.

        It costs one more call of a grader with code.
        """
        scorer, difference = self.scorer, self._difference(path)
        if difference is None or not isinstance(scorer, CodeScorer):
            return None
        if self.time_limit_s is not None and seconds > self.time_limit_s / 3 and difference.form:
            return order.not_tried(difference, seconds, self.time_limit_s)
        return order.findings(difference, raw, lambda: scorer.score_rearranged(path, difference))

    def _difference(self, path: Path) -> order.Difference | None:
        """Return how a file that was just scored differs from the expected form; None if it does
        not.
        """
        if isinstance(self.scorer, CodeScorer):
            return self.scorer.difference(path)
        return None

    def file_warnings(self, report: TaskReport) -> list[Problem]:
        """Return the warnings of a report that are about its file, not about the task or the
        medal, which a check of the file must not tell.
        """
        warnings = report.extra.warnings if report.extra else ()
        return [
            Problem(words)
            for words in warnings
            if words not in self.warnings and not words.startswith(ROUNDING)
        ]

    def examine(self, path: Path) -> list[Problem]:
        """Return everything that is wrong with a file, without running a grader's code; empty if
        nothing is.
        """
        return examine(self.task, self.scorer, path)

    def diagnose(self, path: Path, shown: str, agent: str | None, reason: str) -> Outcome:
        """Return the outcome of a submission whose grader failed: invalid if validation finds an
        error in the file.

        An error by comparison with the sample submission counts only if the grader works on a file
        that is known to be good.
        """
        agent = agent or agent_in(shown)
        problems = faults_of_file(self.task, self.scorer, path)
        if not problems:
            problems = self.examine(path)
            if not problems or self.proof.scored is None:
                return NotGraded(self.task.id, shown, reason, agent=agent)
        reasons = str(invalid(problems))
        return Invalid(
            self._report(path, shown, agent, None, reasons, 0.0), reasons, tuple(problems)
        )

    @cached_property
    def answers_hash(self) -> str:
        """The SHA-256 of the answers, as hexadecimal text."""
        return file_hash(self.task.answers)

    @cached_property
    def undefined(self) -> str | None:
        """Why no file can have a score; None if one can.

        A grader's code that gives NaN for the answers themselves would give it for the right file.
        Answers that are no submission say nothing.
        """
        try:
            raw = self.scorer.score(self.task.gold_submission)
            is_undefined = raw is None or math.isnan(to_score(raw))
        except Exception:  # a grader may raise anything
            return None
        if is_undefined:
            return f"{NO_SCORE_FOR_ANSWERS} ({raw})"
        return None

    @cached_property
    def proof(self) -> Proof:
        """Whether the grader works: it is tested once on the task's sample submission, then on its
        answers.
        """
        failed: Exception | None = None
        refused = ""
        for name, file in (
            ("the sample submission", self.task.sample_submission),
            ("the answers", self.task.gold_submission),
        ):
            if not file.is_file():
                continue
            try:
                score, reason = checked_score(self.scorer.score(file))
                if score is None:  # which says nothing against a file that has none either
                    refused = refused or f"the grader has no score for {name}: {reason}"
                    continue
            except Exception as error:  # a grader may raise anything
                if is_invalid_submission(error):
                    refused = refused or f"the grader refuses {name}: {clean_line(str(error), 300)}"
                else:
                    failed = failed or error
            else:
                return Proof(name)
        return Proof(None, failed, refused)

    def _blame(self, path: Path, error: Exception) -> Exception:
        """Return an InvalidSubmissionError if the file caused the grader's exception, otherwise the
        exception.
        """
        explanation = explained(error, self.task.id)
        if isinstance(explanation, BioevalError):
            return explanation
        message = raised(error)
        try:
            problems = faults_of_file(self.task, self.scorer, path)
            if not problems and self.proof.failed is not None and self.proof.scored is None:
                return error  # it fails on files that are known to be good, too
            problems = problems or self.examine(path)
        except Exception:  # pandas and HDF5 may raise anything on a damaged file
            problems = []
        if problems:
            return InvalidSubmissionError(
                f"{invalid(problems)}; the grader failed on it: {message}", tuple(problems)
            )
        if self.proof.scored is not None:
            return InvalidSubmissionError(
                f"the grader scores {self.proof.scored} but not this file: {message}"
            )
        return error

    def _refusal(self, path: Path | None, shown: str, handed_in: bool) -> str | None:
        """Return why a file is invalid without reading it; None if it may be valid."""
        if path is None:
            return NOTHING_HANDED_IN
        reason = why_not_a_file(path, shown) or self._too_large(path)
        if reason is None and handed_in and is_same_file(path, self.task.answers):
            return "the file is the task's own answers"
        if reason is None and path.suffix.lower() not in self._suffixes:
            return _wrong_type(path, self.task, self._suffixes)
        return reason

    @property
    def _suffixes(self) -> tuple[str, ...]:
        spec = self.task.grader.spec
        if spec is None:
            return CSV, H5AD
        if spec.h5ad is None:
            return (CSV,)
        return (H5AD,)

    def _too_large(self, path: Path) -> str | None:
        try:
            most = max(LARGE_BYTES, 100 * self.task.answers.stat().st_size)
            size = path.stat().st_size
        except OSError:
            return None  # reading it says why
        if size <= most:
            return None
        return (
            f"submission file {clean_line(path.name, 200)} has {size:,} bytes; the limit is"
            f" {most:,} for this task"
        )

    def _report(
        self,
        path: Path | None,
        shown: str,
        agent: str | None,
        score: float | None,
        error: str | None,
        seconds: float,
    ) -> TaskReport:
        ranking = self.board.rank(score)
        beats_human, human_percentile = (None, None)
        if score is not None:
            beats_human, human_percentile = compare_with_humans(
                score, self.humans, self.board.is_lower_better
            )
        extra = ReportExtra(
            agent=agent,
            metric=clean_line(str(self.task.grader.name), 60),
            leaderboard_position=ranking.position,
            entries_beaten=ranking.beaten,
            error=error,
            grader_seconds=seconds,
            score_needed=ranking.score_needed,
            next_medal=ranking.next_medal,
            warnings=tuple(self.warnings),
            self_trained_leaderboard=self.board.self_trained or None,
            environment=self.environment,
            leaderboard=self.board.origin,
            part=self.part,
        )
        return TaskReport(
            task_id=self.task.id,
            score=score,
            gold_threshold=ranking.gold_threshold,
            silver_threshold=ranking.silver_threshold,
            bronze_threshold=ranking.bronze_threshold,
            median_threshold=ranking.median_threshold,
            any_medal=ranking.medal is not None,
            gold_medal=ranking.medal == "gold",
            silver_medal=ranking.medal == "silver",
            bronze_medal=ranking.medal == "bronze",
            above_median=ranking.above_median,
            # three times as fast as pathlib
            submission_exists=path is not None and os.path.isfile(path),  # noqa: PTH113
            valid_submission=score is not None,
            is_lower_better=ranking.is_lower_better,
            created_at=now(),
            submission_path=shown,
            # NumPy's own type, as published, because averages are rounded by NumPy's rule.
            leaderboard_percentile=(
                None if ranking.percentile is None else np.float64(ranking.percentile)
            ),
            leaderboard_size=ranking.size,
            beats_human=beats_human,
            human_percentile=human_percentile,
            extra=extra,
        )


def build_scorer(task: Task) -> Scorer:
    """Return the scorer of a task, with its answers loaded.

    Raises:
        NotMeasuredError: the answers cannot be read or used, or the grader's code cannot be
            imported.
    """
    spec, part = task.grader.spec, read_part(task.private_dir)
    if spec is None:
        return CodeScorer(task.grader.grade_fn, task.answers, task.sample_submission, part)
    if spec.h5ad is not None:
        from bioeval_tui.grade.h5ad import H5adScorer  # a CSV waits for no HDF5

        return H5adScorer(spec, task.answers)
    try:
        frame = read_frame(task.answers, spec.id)
    except (InvalidSubmissionError, OSError) as error:
        raise NotMeasuredError(f"the answers of {task.id} cannot be read: {error}") from None
    return CsvScorer(spec, frame, part)


def checked_score(raw: Any) -> tuple[float | None, str | None]:
    """Return `(score, None)`, or `(None, why there is no valid score)` for None, NaN and
    infinities.

    Raises:
        TypeError: the grader returned something that is not a number.
    """
    if raw is None:
        return None, "the grader returned no score"
    score = to_score(raw)
    if math.isnan(score):
        return (
            None,
            (
                "the score is NaN: the metric is undefined for these predictions, as it may be for"
                " constant values, one class, or values out of its range"
            ),
        )
    if math.isinf(score):
        return None, f"the score is infinite ({score})"
    return score, None


def failure(error: BaseException, task_id: str) -> str:
    """Return one sentence on why grading failed through no fault of the file."""
    if isinstance(error, BioevalError):
        return clean_line(str(error), 1000)
    return f"the grader of {task_id} failed: {raised(error)}"


def explained(error: BaseException, task_id: str) -> BaseException:
    """Return an error that says what to install, if a grader's package or version is missing."""
    if isinstance(error, ImportError):
        return import_problem(error, task_id)
    if isinstance(error, TypeError) and NUMPY_SCALARS in str(error):
        return MissingPackageError(
            f"the grader of {task_id} needs numpy before 2.4: {raised(error)}; {NEEDS_NUMPY}"
        )
    return error


def raised(error: BaseException) -> str:
    """Return the exception and its place: `KeyError: 'y' (grade.py, line 5)`."""
    shown = type(error).__name__
    if message := clean_line(str(error), 500):
        shown += f": {message}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        file = clean_line(Path(trace.tb_frame.f_code.co_filename).name, 100)
        shown += f" ({file}, line {trace.tb_lineno})"
    return shown


@cache
def environment() -> str:
    """Return the Python and the packages that grade here: `Python 3.12.1, numpy 2.3.5, pandas
    2.3.3`.
    """
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas"))
    return f"Python {platform.python_version()}, {packages}"


_ready: dict[tuple[str, str], tuple[tuple[int, ...], TaskGrading]] = {}
_KEPT = 64


def grading_of(task: Task) -> TaskGrading:
    """Return the task ready to grade, cached as long as its files do not change.

    Raises:
        NotGradedError: the task cannot be graded.
    """
    key = (str(task.folder), str(task.answers))
    signature = _signature(task)
    kept = _ready.get(key)
    if kept is not None and kept[0] == signature and kept[1].task is task:
        return kept[1]
    made = TaskGrading(task)
    if len(_ready) >= _KEPT:
        del _ready[next(iter(_ready))]
    _ready[key] = (signature, made)
    return made


def _signature(task: Task) -> tuple[int, ...]:
    values: list[int] = []
    for path in (task.answers, task.leaderboard, task.public_dir / "human_baselines.csv"):
        try:
            stat = path.stat()
            values += (stat.st_mtime_ns, stat.st_size)
        except OSError:
            values += (0, 0)
    return tuple(values)


def grade_submission(path_to_submission: Path, task: Task) -> TaskReport:
    """Grade a CSV or h5ad file, in this process, and return its report.

    A missing or invalid file gives a report with `valid_submission` false and the reason in
    `extra.error`.

    Raises:
        NotGradedError: (a ValueError) the task is not prepared, its leaderboard cannot be used, or
            its grader failed for a reason that is not the file's.
    """
    outcome = grading_of(task).grade(Path(path_to_submission))
    if isinstance(outcome, NotGraded):
        raise NotGradedError(outcome.reason)
    if isinstance(outcome, Invalid):
        return outcome.report
    return outcome


def grade_csv(path_to_submission: Path, task: Task) -> TaskReport:
    """Grade a submission; the older name of `grade_submission`, which says what it raises."""
    return grade_submission(path_to_submission, task)


def validate_submission(submission: Path, task: Task) -> tuple[bool, str]:
    """Run the grader on a file and return whether it is valid, and a sentence.

    Raises:
        NotGradedError: (a ValueError) the task is not prepared.
    """
    submission = Path(submission)
    reason = why_not_a_file(submission)
    if reason is not None:
        return False, f"Submission invalid! {reason}"
    outcome = grading_of(task).grade(submission)
    match outcome:
        case Invalid():
            return False, f"Submission invalid! {outcome.reason}"
        case NotGraded():
            return False, f"Submission invalid! The attempt to grade it failed: {outcome.reason}"
        case _:
            doubts = f" But its score is in doubt: {outcome.doubt_words}." if outcome.doubts else ""
            return True, f"Submission is valid.{doubts}"


def leaderboard_of(task: Task) -> Leaderboard:
    """Return the leaderboard that ranks a task's scores: its own, or a published one.

    Raises:
        InputError: as `load_leaderboard` does; also when a published one does not fit the task.
    """
    chosen = task.board_in_use()
    if isinstance(chosen, Path):
        board = load_leaderboard(
            chosen,
            task.id,
            task.grader.lower_is_better,
            self_trained=task.self_trained,
            partial=task.partial_leaderboard,
        )
    else:
        scores = np.array([float(entry.score) for entry in chosen.entries])
        board = build_leaderboard(scores, chosen.is_lower_better)
    return replace(board, origin=task.board_origin())


def examine(task: Task, scorer: Scorer, path: Path) -> list[Problem]:
    """Return all findings about the file at `path`; empty if nothing is wrong with it."""
    return faults_of_file(task, scorer, path) or _compare_with_sample(task, scorer, path)


def faults_of_file(task: Task, scorer: Scorer, path: Path) -> list[Problem]:
    """Return what is wrong with a file by itself or for a declared metric, whatever the sample
    submission looks like.
    """
    reason = why_not_a_file(path)
    if reason is not None:
        return [Problem(reason)]
    suffix = path.suffix.lower()
    if suffix not in scorer.suffixes:
        return [Problem(_wrong_type(path, task, scorer.suffixes))]
    if task.grader.spec is not None or suffix == ".h5ad":
        return scorer.examine(path)
    try:
        frame = read_frame(path)
    except InvalidSubmissionError as error:
        return [Problem(str(error))]
    if not len(frame.columns):
        return [Problem("the file is empty")]
    if len(frame):
        return []
    return [Problem("the file has a header and no rows")]


def _compare_with_sample(task: Task, scorer: Scorer, path: Path) -> list[Problem]:
    """Return how a file for a grader with code differs from the task's sample submission."""
    sample_path, suffix = task.sample_submission, path.suffix.lower()
    wanted = sample_path.suffix.lower()
    if task.grader.spec is not None or not sample_path.is_file():
        return []
    if wanted in scorer.suffixes and wanted != suffix:
        return [Problem(f"the file is {suffix} where the sample submission is {wanted}")]
    if suffix == ".h5ad":
        return []
    try:
        first = str(read_frame(sample_path).columns[0])
        frame, sample = (
            read_frame(each, first).rename(columns=str) for each in (path, sample_path)
        )
    except (InvalidSubmissionError, OSError, IndexError):
        return []  # an empty sample has no first column
    problems = alignment.missing_columns(list(frame.columns), list(sample.columns))
    if len(frame) != len(sample):
        problems.append(
            Problem(
                f"the file has {plural(len(frame), 'row')} where"
                f" the sample submission has {len(sample):,}"
            )
        )
    if first in frame.columns and sample[first].is_unique:
        expected = alignment.as_index(sample[first])
        ids = alignment.as_index(frame[first].dropna(), expected)
        problems += alignment.compare_names(ids, alignment.as_index(expected, ids), "id", first)[1]
    for name in sample.columns[1:]:
        if name in frame.columns and not sample[name].isna().any():
            check = alignment.numbers if sample[name].dtype.kind in "iuf" else alignment.labels
            problems += check(frame[name], str(name))[1]
    return problems
