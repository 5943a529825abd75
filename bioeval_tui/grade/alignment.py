"""Align a submission's rows with the answers, and report every problem."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from bioeval_tui.base.errors import InvalidSubmissionError, NotMeasuredError, Problem
from bioeval_tui.base.text import clean, clean_line, plural
from bioeval_tui.grade.published_tables import HUGE_EXPONENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bioeval_tui.grade.metrics import Metric

FIRST = 5
"""Number of examples in a sentence."""


def examples(values: Iterable[Any], total: int | None = None) -> str:
    """Return the first five values as text: `7, 12, 31, … (3 more)`."""
    listed = list(values)
    if total is None:
        total = len(listed)
    shown = ", ".join(clean_line(str(value), 40) for value in listed[:FIRST])
    if total <= FIRST:
        return shown
    return f"{shown}, … ({total - FIRST:,} more)"


def _problem(message: str, field: str, line: int = 0) -> Problem:
    return Problem(message, line=line, field=field)


def missing_columns(columns: Sequence[str], needed: Sequence[str]) -> list[Problem]:
    """Return a problem for each missing column, with the existing ones and the one that may be
    meant.
    """
    has = ", ".join(clean_line(str(name), 40) for name in list(columns)[:10]) or "no columns"
    if len(columns) > 10:
        has += f", … ({len(columns) - 10} more)"
    missing = [name for name in dict.fromkeys(needed) if name not in columns]
    hint = ""
    if len(missing) == len(set(needed)) and any(map(_is_number, columns)):
        # once, and not for each column
        hint = "; its first line has values: is the header line missing?"
    problems = []
    for name in missing:
        sentence = f"column `{name}` is missing; the file has {has}{meant(name, columns)}{hint}"
        problems.append(_problem(sentence, name))
        hint = ""
    return problems


def _is_number(name: Any) -> bool:
    try:
        float(name)
    except (TypeError, ValueError):
        return False
    return True


_AROUND = " \t\r\n\xa0\ufeff\u200b\"'`“”‘’"
"""Characters around a name that a reader does not see, or takes for no part of it."""
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def meant(name: str, columns: Sequence[str]) -> str:
    """Return which of the columns `name` may be, as the rest of a sentence; empty if none is like
    it.
    """
    if len(columns) == 1:
        used = next((words for sign, words in _SEPARATORS.items() if sign in str(columns[0])), None)
        if used is not None:
            return f"; its fields are separated by {used}, and commas are expected"
    wanted = name.strip(_AROUND)
    for column in map(str, columns):
        bare = column.strip(_AROUND)
        if bare != column and bare.casefold() == wanted.casefold():
            return f"; the column is `{_show_blanks(column)}`, with a blank or a quote too many"
    return ""


def _show_blanks(name: str) -> str:
    """Return a name for one line, on which blanks around it stay: `clean_line` takes them away."""
    for sign, picture in (("\n", "␊"), ("\t", "␉"), ("\xa0", "␣"), ("\u200b", "␣")):
        name = name.replace(sign, picture)
    return clean(name, 60).replace("\n", " ")


def compare_names(
    given: pd.Index, expected: pd.Index, noun: str, field: str = ""
) -> tuple[NDArray[np.int64] | None, list[Problem]]:
    """Compare ids, cells or genes.

    Returns the position in `given` of each expected name, shape (expected,), or None where that is
    impossible; and a problem for each of: missing, unexpected, duplicate.
    """
    problems = []
    duplicated = given.duplicated()
    if duplicated.any():
        names = given[duplicated].unique()
        occur = plural(len(names), f"{noun} occurs", f"{noun}s occur")
        problems.append(_problem(f"{occur} more than once: {examples(names)}", field))
        return None, [*_difference(given.unique(), expected, noun, field), *problems]
    where = given.get_indexer(expected)
    if (where < 0).any() or len(given) != len(expected):
        problems += _difference(given, expected, noun, field)
        return None, problems
    return where.astype(np.int64), []


def _difference(given: pd.Index, expected: pd.Index, noun: str, field: str) -> list[Problem]:
    missing = expected[~expected.isin(given)]
    extra = given[~given.isin(expected)]
    problems = []
    if len(missing):
        are = plural(len(missing), f"{noun} is", f"{noun}s are")
        problems.append(_problem(f"{are} missing: {examples(missing)}", field))
    if len(extra):
        are = plural(len(extra), f"{noun} is", f"{noun}s are")
        words = f"{are} not expected: {examples(extra)}"
        if around := _around_words(extra, missing):
            words += f"; {around}"
        problems.append(_problem(words, field))
    return problems


def _around_words(extra: pd.Index, missing: pd.Index) -> str:
    """Return how many names differ from a missing one by what a reader does not see, and one of
    them; empty if none does.

    Without it, names that look the same would be called missing and not expected.
    """
    bare = {str(name).strip(_AROUND) for name in missing}
    alike = [str(name) for name in extra if str(name).strip(_AROUND) in bare]
    if not alike:
        return ""
    differ = "it differs from a missing one" if len(extra) == 1 else "they differ from missing ones"
    if len(alike) < len(extra):
        differ = f"{plural(len(alike), 'of them differs', 'of them differ')} from missing ones"
    return f"{differ} only by a blank or a quote, such as `{_show_blanks(alike[0])}`"


def as_index(values: Any, like: pd.Index | None = None) -> pd.Index:
    """Return ids as an Index; where one side is text and the other numbers, both become text.

    One text makes a column of numbers texts: `007` among them is the number 7, as it is without
    that one.
    """
    index = pd.Index(values)
    if (
        like is None
        or index.dtype.kind == like.dtype.kind
        or "O" not in (index.dtype.kind, like.dtype.kind)
    ):
        return index
    texts = index.astype(str)
    if like.dtype.kind not in "iu":
        return texts
    return pd.Index([_WHOLE.sub(lambda found: str(int(found[0])), text) for text in texts])


_WHOLE = re.compile(r"\A[+-]?[0-9]{1,18}\Z")


class RowNames(NamedTuple):
    """How a sentence names the rows of a file: `noun` and the number of the first row.

    `given` has the number of each row where they do not follow each other.
    """

    noun: str
    first: int
    note: str = ""
    given: tuple[int, ...] = ()

    def number(self, row: int) -> int:
        """Return the number of a row, which is counted from 0."""
        if self.given:
            return self.given[row]
        return int(row) + self.first

    def where(self, rows: Sequence[int] | NDArray[Any]) -> str:
        """Return where `rows`, counted from 0, are: `line 3` or `lines 3, 7`."""
        numbers = examples([self.number(row) for row in rows[:FIRST]], len(rows))
        noun = self.noun
        if len(rows) > 1:
            noun += "s"
        return f"{noun} {numbers}{self.note}"


LINES = RowNames("line", 2)
"""The lines of a CSV file, whose header is line 1."""
CELLS = RowNames("cell", 1, " (counted from 1)")
"""The cells of an h5ad file, which has no lines."""


def numbers(
    column: pd.Series, name: str, *, in_unit: bool = False, names: RowNames = LINES
) -> tuple[NDArray[np.float64] | None, list[Problem]]:
    """Return a column as floats, shape (rows,), or None and what is wrong: text, NaN, infinity,
    range.
    """
    problems = []
    values, blank = column, column.isna().to_numpy()
    if values.dtype.kind not in "iufb":
        readable = column.mask(column.astype(str).str.contains(HUGE_EXPONENT))
        values = pd.to_numeric(readable, errors="coerce").astype(np.float64)
        # What is too large for a number is NaN or infinite, depending on pandas' version.
        odd = np.flatnonzero(~np.isfinite(values.to_numpy()) & ~blank)
        is_huge = np.array([_is_huge(column.iloc[row]) for row in odd], bool)
        values = values.mask(np.isin(np.arange(len(values)), odd[is_huge]))
        unread = odd[~is_huge & values.isna().to_numpy()[odd]]
        for rows, what in (
            (unread, "must contain numbers, found"),
            (odd[is_huge], f"has a number beyond {sys.float_info.max:.1e}, the greatest,"),
        ):
            if not len(rows):
                continue
            shown = clean_line(str(column.iloc[int(rows[0])]), 40)
            sentence = f"column `{name}` {what} `{shown}` in {names.where(rows[:1])}"
            if len(rows) > 1:
                sentence += f"; {names.where(rows)}"
            problems.append(_problem(sentence, name, names.number(rows[0])))
    floats = values.to_numpy(dtype=np.float64)
    faults = {"has no value (NaN)": blank, "is infinite": np.isinf(floats)}
    if in_unit:
        faults["is outside 0 to 1"] = (floats < 0) | (floats > 1)
    for what, mask in faults.items():
        rows = np.flatnonzero(mask)
        if len(rows):
            sentence = f"column `{name}` {what} in {names.where(rows)}"
            problems.append(_problem(sentence, name, names.number(rows[0])))
    if problems:
        return None, problems
    return floats, []


def _is_huge(cell: Any) -> bool:
    """Whether a cell is a number that is too large for one, such as `1e999`."""
    try:
        return math.isinf(float(cell)) and any(map(str.isdigit, str(cell)))
    except (TypeError, ValueError):
        return False


class Coverage(NamedTuple):
    """How many rows of the answers a submission was scored on, and how many there are."""

    scored: int
    expected: int


class AnswerRows:
    """The rows of a table of answers by their ids, to count those that submissions have.

    Rows are identified by the first column of the answers that a submission has, too, if all its
    values differ; numbers with decimals are no ids. If ids repeat, by another column or by several
    (a slice and a class), but only if the submission's values all occur in the answers: a predicted
    text that happens to be unique is no id.

    Args:
        answers: the answers.
        sample: the sample submission, which names the columns with predictions. Without one, or if
            a submission has none of these columns, all columns but the ids are predictions.
    """

    def __init__(self, answers: pd.DataFrame, sample: pd.DataFrame | None) -> None:
        self._answers = answers if answers.columns.is_unique else pd.DataFrame()
        self._predictions: list[Any] = []
        if sample is not None:
            self._predictions = list(sample.columns)
        self._known: dict[tuple[Any, ...], pd.Index | None] = {}

    def _ids(self, key: tuple[Any, ...]) -> pd.Index | None:
        """Return the ids that these columns make up; None if they make up none."""
        if key not in self._known:
            values = self._answers[list(key)]
            is_id = (
                not any(kind.kind == "f" for kind in values.dtypes)
                and not values.isna().any(axis=None)
                and not values.duplicated().any()
            )
            self._known[key] = _key_index(values) if is_id else None
        return self._known[key]

    def coverage(self, submission: pd.DataFrame) -> Coverage | None:
        """Return for how many rows a submission has a prediction; None if no columns identify them.

        A row without a value in any of the columns with predictions has none, unless answers have
        none there, either.
        """
        if not submission.columns.is_unique:
            return None
        shared = [name for name in self._answers.columns if name in submission.columns]
        several = [tuple(shared[:width]) for width in range(2, len(shared))]
        for key in [*((name,) for name in shared), *several]:
            ids = self._ids(key)
            if ids is None:
                continue
            has_all = len(key) == 1 and np.array_equal(
                submission[key[0]].to_numpy(), ids.to_numpy()
            )
            if has_all and self._predicted(submission, key).all():
                return Coverage(len(ids), len(ids))
            handed_in = _key_index(submission[list(key)].dropna(), ids)
            expected = as_index(ids, handed_in)
            if key != (shared[0],) and not handed_in.isin(expected).all():
                continue
            predicted = submission.loc[self._predicted(submission, key), list(key)]
            handed_in = _key_index(predicted.dropna(), ids)
            return Coverage(int(as_index(ids, handed_in).isin(handed_in).sum()), len(ids))
        return None

    def _predicted(self, submission: pd.DataFrame, key: tuple[Any, ...]) -> NDArray[np.bool_]:
        """Return whether each row of a submission has a prediction, shape (rows,)."""
        others = [name for name in submission.columns if name not in key]
        columns = [name for name in others if name in self._predictions] or others
        may_lack = [
            name
            for name in columns
            if name in self._answers.columns and self._answers[name].isna().any()
        ]
        if may_lack or not columns:
            return np.ones(len(submission), bool)
        predicted: NDArray[np.bool_] = submission[columns].notna().any(axis=1).to_numpy()
        return predicted


def _key_index(columns: pd.DataFrame, like: pd.Index | None = None) -> pd.Index:
    """Return one column as `as_index`, several as texts of all."""
    if columns.shape[1] == 1:
        return as_index(columns.iloc[:, 0], like)
    return pd.MultiIndex.from_frame(columns.astype(str))


def labels(
    column: pd.Series, name: str, names: RowNames = LINES
) -> tuple[pd.Series | None, list[Problem]]:
    """Return a column of labels as text, or None and what is wrong: missing or infinite values.

    A label is the same text however its column is stored: whole numbers have no decimal point, and
    True and False are 1 and 0, so that 1, 1.0 and True in two files are one label.
    """
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        sentence = f"column `{name}` has no value in {names.where(missing)}"
        return None, [_problem(sentence, name, names.number(missing[0]))]
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.dtype.kind in "fb":
        column = column.astype(column.cat.categories.dtype)
    if column.dtype.kind == "f" and len(infinite := np.flatnonzero(np.isinf(column.to_numpy()))):
        sentence = f"column `{name}` is infinite in {names.where(infinite)}"
        return None, [_problem(sentence, name, names.number(infinite[0]))]
    if column.dtype.kind == "f" and (column == column.round()).all():
        column = column.astype("int64")
    if column.dtype.kind == "b":
        column = column.astype("int64")
    return column.astype(str), []


def unknown_labels(known: Set[str], predicted: Sequence[str], name: str) -> list[str]:
    """Return a sentence on predicted labels that are not `known` from the answers; none if there
    are none.
    """
    guesses = np.asarray(predicted, object)
    unknown = [label for label in pd.unique(guesses) if label not in known]
    if not unknown:
        return []
    rows = int(pd.Series(guesses).isin(unknown).sum())
    verb = plural(len(unknown), "label that never occurs", "labels that never occur")
    return [
        f"`{clean_line(name, 60)}` has {verb} in the answers, in {rows:,} of {len(guesses):,} rows:"
        f" {examples(unknown)}"
    ]


def label_codes(
    true: Sequence[str], predicted: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return both sides as codes of one list of classes, each of shape (rows,)."""
    codes, _ = pd.factorize(
        np.concatenate([np.asarray(true, object), np.asarray(predicted, object)])
    )
    return codes[: len(true)].astype(np.int64), codes[len(true) :].astype(np.int64)


def refuse_undefined(metric: Metric, score_of_answers: Callable[[], Any], where: str) -> None:
    """Raise NotMeasuredError if a metric is NaN for answers as their own prediction.

    Then no file can have a score that means anything: the answers have one class or one value, or
    no two rows that a concordance could compare.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # that the input is constant, which is said below
        try:
            is_undefined = math.isnan(score_of_answers())
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return  # a plug-in's metric, whose predictions are of another kind than its truths
    if is_undefined:
        raise mismatch(
            f"{metric.title or metric.name} is undefined for their {where}, even for a perfect"
            " prediction (one class, constant values or nothing to compare), so no file can have a"
            " score"
        )


def mismatch(why: str) -> NotMeasuredError:
    """Return the error of answers that do not have what the task's grader needs."""
    return NotMeasuredError(f"the answers don't match the grader: {why}")


def invalid(problems: list[Problem]) -> InvalidSubmissionError:
    """Return the error for `problems`, with the first three in full."""
    sentences = [problem.message for problem in problems[:3]]
    if len(problems) > 3:
        sentences.append(f"and {len(problems) - 3} more")
    return InvalidSubmissionError("; ".join(sentences), tuple(problems))
