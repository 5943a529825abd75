"""Scorers: load a task's answers once, and score one submission file after another.

`Scorer.score` returns the grader's raw number, or raises InvalidSubmissionError with all problems
of the file; `Scorer.examine` returns only the problems.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from bioeval_tui.base.errors import InvalidSubmissionError, NotMeasuredError, Problem
from bioeval_tui.base.text import plural
from bioeval_tui.grade import alignment, expected_tables, tables
from bioeval_tui.grade.answers import AnswersPart, MetricSpec
from bioeval_tui.grade.csv_lines import lines_of_rows
from bioeval_tui.grade.order import Difference, ExpectedForm
from bioeval_tui.grade.resampling import Draws, draws
from bioeval_tui.grade.tables import read_answers, read_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

CSV, H5AD = ".csv", ".h5ad"
GRADER_READS_H5AD = "its grader is code that reads h5ad files itself"


class Scorer(Protocol):
    """Grades the files of one task."""

    suffixes: tuple[str, ...]

    def score(self, path: Path) -> Any:
        """Return the raw score of the file. Raises InvalidSubmissionError if it cannot have one."""

    def coverage(self, path: Path) -> alignment.Coverage | None:
        """Return on how many rows of the answers a file is scored; None if that is unknown."""

    def hints(self, path: Path) -> list[str]:
        """Return what is strange about a file that was scored, a sentence each."""

    def examine(self, path: Path) -> list[Problem]:
        """Return everything that is wrong with the file, as far as can be checked without the
        grader's code.
        """


class CodeScorer:
    """Calls a grader's own function: DataFrames for CSV, two paths for h5ad, as published.

    Every call gets its own copy of the answers, because some graders change them. `sample` is the
    task's sample submission, whose columns are those with predictions.
    """

    suffixes: tuple[str, ...] = (CSV, H5AD)

    def __init__(
        self,
        function: Callable[..., Any],
        answers: Path,
        sample: Path,
        part: AnswersPart | None,
    ) -> None:
        self._function = function
        self._answers_path = answers
        self._sample_path = sample
        self._part = part
        self._covered: tuple[Path, alignment.Coverage | None] | None = None
        self._different: tuple[Path, Difference | None] | None = None

    def score(self, path: Path) -> Any:
        """Call the function on the file; whatever it raises passes through."""
        if path.suffix.lower() == H5AD:
            from bioeval_tui.grade.h5ad import refuse_file_links  # a CSV waits for no HDF5

            refuse_file_links(path)
            return self._function(path, self._answers_path)
        submission, answers = self.frames(path)
        self._covered = path, self._table_coverage(submission)
        self._different = (
            path,
            self._find_difference(submission),
        )  # the function may change the table
        return self._function(submission, answers)

    def difference(self, path: Path) -> Difference | None:
        """Return how the CSV that was scored last differs from the expected form; None if it does
        not.
        """
        if self._different is not None and self._different[0] == path:
            return self._different[1]
        return None

    def _find_difference(self, submission: pd.DataFrame) -> Difference | None:
        try:
            return self._form.difference(submission)
        except (TypeError, ValueError):
            return None  # ids of types that do not compare

    def score_rearranged(self, path: Path, difference: Difference) -> Any:
        """Call the function on a copy of the CSV in the expected form; whatever it raises passes
        through.
        """
        submission, answers = self.frames(path)
        return self._function(difference.rearranged(submission), answers)

    def coverage(self, path: Path) -> alignment.Coverage | None:
        """Return how many rows of the answers are in the file, by their ids; None where there are
        none.
        """
        if path.suffix.lower() == H5AD:
            return self._coverage_of_cells(path)
        if self._covered is None or self._covered[0] != path:
            self._covered = path, self._table_coverage(self.frames(path)[0])
        return self._covered[1]

    def _table_coverage(self, submission: pd.DataFrame) -> alignment.Coverage | None:
        if self._rows is None:
            return None
        return self._rows.coverage(submission)

    def _coverage_of_cells(self, path: Path) -> alignment.Coverage | None:
        from bioeval_tui.grade.h5ad import cell_names

        expected, handed_in = self._cells, cell_names(path)
        if expected is None or handed_in is None or not expected.is_unique:
            return None
        return alignment.Coverage(int(expected.isin(handed_in).sum()), len(expected))

    @cached_property
    def _cells(self) -> pd.Index | None:
        """The names of the answers' cells; None if they cannot be read."""
        from bioeval_tui.grade.h5ad import cell_names

        return cell_names(self._answers_path)

    @cached_property
    def _rows(self) -> alignment.AnswerRows | None:
        """The rows of the answers; None if those are no table."""
        is_table = hasattr(self._answers, "dtypes")
        if is_table:
            return alignment.AnswerRows(self._answers, self._sample)
        return None

    @cached_property
    def _form(self) -> ExpectedForm:
        return ExpectedForm(self._answers, self._sample)

    @cached_property
    def _sample(self) -> pd.DataFrame | None:
        """The sample submission; None if it is no table."""
        if self._sample_path.suffix.lower() != CSV:
            return None
        try:
            return read_frame(self._sample_path)
        except (InvalidSubmissionError, OSError):
            return None

    @cached_property
    def _answers(self) -> Any:
        try:
            return read_answers(self._answers_path)
        except (InvalidSubmissionError, ValueError) as error:
            raise NotMeasuredError(str(error)) from None

    def frames(self, path: Path) -> tuple[pd.DataFrame, Any]:
        """Return copies of a CSV and the answers for the function, which may change them.

        Raises:
            InvalidSubmissionError: the file is not a CSV file.
            NotMeasuredError: the answers cannot be read.
        """
        submission = read_frame(path)
        if self._part is not None and self._part.id in submission.columns:
            ids = submission[self._part.id].astype(str)
            submission = submission[~ids.isin(self._others)].reset_index(drop=True)
        return submission, copy.deepcopy(self._answers)

    @cached_property
    def _others(self) -> set[str]:
        """The ids of the other part of the answers. Rows of neither part stay, for the grader."""
        assert self._part is not None
        return set(map(str, self._part.ids)) - set(map(str, self._answers[self._part.id]))

    def call(self, submission: pd.DataFrame, answers: Any) -> Any:
        """Call the function on tables in memory."""
        return self._function(submission, answers)

    def hints(self, path: Path) -> list[str]:
        """Return which columns are there more than once."""
        if path.suffix.lower() == H5AD:
            return []
        return tables.repeated_columns(path)

    def examine(self, path: Path) -> list[Problem]:
        """Return whether the file can be read at all; the code's own checks come with grading."""
        try:
            if path.suffix.lower() == H5AD:
                from bioeval_tui.grade.h5ad import refuse_unreadable

                refuse_unreadable(path)
            else:
                read_frame(path)
        except InvalidSubmissionError as error:
            return [Problem(str(error))]
        return []


class CsvScorer:
    """Scores a CSV by a declared metric: rows matched by id, targets averaged.

    Raises:
        NotMeasuredError: the answers do not have what `spec` names.
    """

    suffixes: tuple[str, ...] = (CSV,)

    def __init__(
        self, spec: MetricSpec, answers: pd.DataFrame, part: AnswersPart | None = None
    ) -> None:
        self.spec = spec
        needed = [spec.id, *spec.targets]
        if spec.event:
            needed.append(spec.event)
        problems = alignment.missing_columns(list(answers.columns), needed)
        if not problems and not len(answers):
            problems = [Problem("the answers have no rows")]
        if not problems:
            problems = _problems_of_ids(answers[spec.id], spec.id)
        if problems:
            raise alignment.mismatch(problems[0].message)
        self.ids = alignment.as_index(answers[spec.id])
        self.truths = [self._truth(answers[name], name) for name in spec.targets]
        self.true = [spec.metric.ready(truth) for truth in self.truths]
        self.event = self._numbers(answers[spec.event], spec.event) if spec.event else None
        for pair, name in zip(self.true, spec.targets, strict=True):
            self._refuse_undefined(*pair, name)
        self._expected = self.ids if part is None else alignment.as_index(list(part.ids))
        """The ids that a submission has: of a part of the answers, those of both parts."""
        self._scored: tuple[Path | None, list[Any]] = None, []
        self._quick = expected_tables.expectation(spec, answers) if part is None else None

    def _numbers(self, column: pd.Series, name: str) -> NDArray[np.float64]:
        values, problems = alignment.numbers(column, name)
        if values is None:
            raise alignment.mismatch(problems[0].message)
        return values

    def _refuse_undefined(self, function: Callable[..., Any], true: Any, name: str) -> None:
        """Raise NotMeasuredError if the answers themselves have no score as a submission."""
        metric = self.spec.metric
        if metric.kind == "label":
            truth, guess = alignment.label_codes(true, true)
        else:
            truth, guess = true, self.truths[self.spec.targets.index(name)]
        events = []
        if metric.kind == "survival" and self.event is not None:
            events.append(self.event)
        alignment.refuse_undefined(
            metric, lambda: function(truth, guess, *events), f"column `{name}`"
        )

    def _truth(self, column: pd.Series, name: str) -> Any:
        kind = self.spec.metric.kind
        if kind == "label":
            values, problems = alignment.labels(column, name)
            if values is None:
                raise alignment.mismatch(problems[0].message)
            return values.to_numpy()
        floats = self._numbers(column, name)
        if kind == "probability" and not np.isin(floats, (0.0, 1.0)).all():
            raise NotMeasuredError(
                f"the answers' column `{name}` must contain only 0 and 1 for"
                f" {self.spec.metric.name}"
            )
        return floats

    def score(self, path: Path) -> Any:
        """Return the metric, averaged over the targets; InvalidSubmissionError carries all
        findings.
        """
        predicted = self.predictions(path)
        self._scored = path, predicted
        return self._metric(predicted)

    def hints(self, path: Path) -> list[str]:
        """Return which columns are there more than once, and which labels no row of the answers
        has.
        """
        sentences = tables.repeated_columns(path)
        if self.spec.metric.kind == "label":
            scored, predicted = self._scored
            if scored != path:
                predicted = self.predictions(path)
            for known, guess, name in zip(
                self._classes, predicted, self.spec.predictions, strict=True
            ):
                sentences += alignment.unknown_labels(known, guess, name)
        return sentences

    @cached_property
    def _classes(self) -> list[set[str]]:
        """The labels of each target."""
        return [set(truth) for truth in self.truths]

    def coverage(self, path: Path) -> alignment.Coverage:
        """Return that all rows are scored: a file that lacks one has no score."""
        return alignment.Coverage(len(self.ids), len(self.ids))

    def predictions(self, path: Path) -> list[Any]:
        """Return the predictions for each target, shape (rows,), in the answers' order.

        Raises:
            InvalidSubmissionError: with all findings.
        """
        if self._quick is not None:
            columns = expected_tables.read_expected(path.read_bytes(), self._quick)
            if columns is not None:
                return columns
        predicted, problems = self._aligned_file(path)
        if problems:
            raise alignment.invalid(problems)
        return predicted

    def pairs(self, path: Path) -> list[tuple[Any, Any]]:
        """Return truth and prediction of each target; classes as codes, other truths as the metric
        prepares them.

        Raises:
            InvalidSubmissionError: as `predictions`.
        """
        pairs = [
            (true, guess)
            for (_, true), guess in zip(self.true, self.predictions(path), strict=True)
        ]
        if self.spec.metric.kind == "label":
            return [alignment.label_codes(*pair) for pair in pairs]
        return pairs

    def column_pairs(self, predictions: pd.DataFrame, name: str) -> tuple[Any, Any]:
        """Return truth and prediction of the first target, as `pairs`, for a column of a table of
        predictions.
        """
        frame = predictions.rename(
            columns={predictions.columns[0]: self.spec.id, name: self.spec.predictions[0]}
        )
        guess = self._aligned(frame)[0][0]
        true = self.true[0][1]
        if self.spec.metric.kind == "label":
            return alignment.label_codes(true, guess)
        return (true, guess)

    def draws(self, path: Path) -> Draws:
        """Return the distribution of the score over resampled rows.

        Raises:
            CannotResampleError: there is no distribution.
            InvalidSubmissionError: as `predictions`.
        """
        event = self.event if self.spec.metric.kind == "survival" else None
        return draws(self.spec.metric, self.pairs(path), event)

    def score_frame(self, frame: pd.DataFrame) -> Any:
        """Return the metric for a submission's DataFrame; see `score`.

        Raises:
            InvalidSubmissionError: the submission does not match the answers; it lists every
                finding.
        """
        predicted, problems = self._aligned(frame)
        if problems:
            raise alignment.invalid(problems)
        return self._metric(predicted)

    def examine(self, path: Path) -> list[Problem]:
        """Return every finding about columns, ids and values."""
        try:
            return self._aligned_file(path)[1]
        except InvalidSubmissionError as error:
            return list(error.problems) or [Problem(str(error))]

    def _metric(self, predicted: list[Any]) -> Any:
        scores = []
        for (function, true), guess in zip(self.true, predicted, strict=True):
            if self.spec.metric.kind == "label":
                scores.append(function(*alignment.label_codes(true, guess)))
            elif self.event is not None and self.spec.metric.kind == "survival":
                scores.append(function(true, guess, self.event))
            else:
                scores.append(function(true, guess))
        if len(scores) == 1:
            return scores[0]
        return np.float64(np.mean(scores))

    def _aligned_file(self, path: Path) -> tuple[list[Any], list[Problem]]:
        frame = read_frame(path, self.spec.id)
        predicted, problems = self._aligned(frame)
        if any(problem.line for problem in problems):
            lines = lines_of_rows(path.read_bytes(), len(frame))
            if lines:
                return self._aligned(frame, alignment.LINES._replace(given=lines))
        return predicted, problems

    def _aligned(
        self, frame: pd.DataFrame, names: alignment.RowNames = alignment.LINES
    ) -> tuple[list[Any], list[Problem]]:
        spec = self.spec
        frame = frame.rename(columns=str)
        if not len(frame.columns):
            return [], [Problem("the file is empty")]
        problems = alignment.missing_columns(list(frame.columns), [spec.id, *spec.predictions])
        if frame.index.dtype.kind != "i" or (len(frame) and frame.index[-1] != len(frame) - 1):
            # pandas reads the surplus as row names and shifts every column by one.
            line = names.number(0)
            problems.insert(
                0, Problem(f"line {line} has more fields than the header has columns", line=line)
            )
        where = None
        if spec.id in frame.columns:
            ids = frame[spec.id]
            blank = np.flatnonzero(ids.isna().to_numpy())
            if len(blank):
                sentence = f"column `{spec.id}` has no id in {names.where(blank)}"
                problems.append(Problem(sentence, line=names.number(blank[0])))
            handed_in = alignment.as_index(ids.dropna(), self._expected)
            expected = alignment.as_index(self._expected, pd.Index(ids.dropna()))
            where, differences = alignment.compare_names(handed_in, expected, "id", spec.id)
            problems += differences
            if len(frame) != len(expected):
                problems.append(
                    Problem(
                        f"the file has {plural(len(frame), 'row')} where"
                        f" {len(expected):,} are expected"
                    )
                )
            if where is not None and self._expected is not self.ids:
                where = handed_in.get_indexer(alignment.as_index(self.ids, handed_in)).astype(
                    np.int64
                )
        columns: list[Any] = []
        for name in spec.predictions:
            if name not in frame.columns:
                continue
            values, found_problems = self._predictions(frame[name], name, names)
            problems += found_problems
            if values is not None and where is not None and not problems:
                columns.append(np.asarray(values)[where])
        return columns, problems

    def _predictions(
        self, column: pd.Series, name: str, names: alignment.RowNames
    ) -> tuple[Any, list[Problem]]:
        if self.spec.metric.kind == "label":
            return alignment.labels(column, name, names)
        return alignment.numbers(column, name, in_unit=self.spec.metric.in_unit, names=names)


def _problems_of_ids(ids: pd.Series, name: str) -> list[Problem]:
    blank = np.flatnonzero(ids.isna().to_numpy())
    if len(blank):
        lines = alignment.examples([int(row) + 2 for row in blank])
        return [Problem(f"the answers' column `{name}` has no id in line {lines}")]
    repeated = ids[ids.duplicated()].unique()
    if len(repeated):
        return [
            Problem(
                f"the answers hold an id twice, in column `{name}`: {alignment.examples(repeated)}"
            )
        ]
    return []


def score_declared(spec: MetricSpec, submission: Any, answers: Any) -> Any:
    """Return the declared metric of a submission: DataFrames for CSV tasks, paths for h5ad
    tasks.
    """
    if spec.h5ad is not None:
        from bioeval_tui.grade.h5ad import H5adScorer

        return H5adScorer(spec, Path(answers)).score(Path(submission))
    return CsvScorer(spec, answers).score_frame(submission)
