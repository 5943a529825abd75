"""Whether a grader with code scores a file by the place of its rows and columns: its copy in the
expected form is graded, too.

The expected form has the sample submission's columns, and the answers' order of rows. The score
stays as published. A file in the expected form costs a comparison of its ids; any other one more
call of the grader.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.alignment import as_index
from bioeval_tui.grade.doubts import Doubt, DoubtKind
from bioeval_tui.grade.score_numbers import to_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NAMES = 5
"""How many columns a sentence names."""
SHIFTED = (
    "rows have more values than the header has columns: their first values are read as names of"
    " rows, so that each column has the values of the next one"
)


class Findings(NamedTuple):
    """The doubts about a score, and sentences about the file that cast none."""

    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """How a file differs from the expected form; empty or None where it does not.

    `words` say how the columns differ. `columns` are those of the copy: the sample submission's; if
    the file lacks one of them, its own in reverse order, which tells whether their place matters;
    none if the columns are not known. `rows` are the file's rows in the order of `reference`, shape
    (rows,).
    """

    words: str = ""
    columns: tuple[str, ...] = ()
    are_reversed: bool = False
    rows: NDArray[np.int64] | None = None
    reference: str = ""

    @property
    def form(self) -> str:
        """The form of the copy, in words; empty if there is nothing to rearrange."""
        columns = "with the sample submission's columns"
        if self.are_reversed:
            columns = "with its columns in reverse order"
        rows = f"in {self.reference} order"
        if self.rows is None:
            if self.columns:
                return columns
            return ""
        if self.columns:
            return f"{columns} and its rows {rows}"
        return rows

    def rearranged(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a copy in that form, as if it had been read from a file."""
        if self.columns:
            frame = frame[list(self.columns)]
        if self.rows is not None:
            frame = frame.iloc[self.rows].reset_index(drop=True)
        return frame.copy()


class ExpectedForm:
    """The form that files for one task should have.

    Args:
        answers: the answers; anything but a table has no order.
        sample: the sample submission; None of a task without one.
    """

    def __init__(self, answers: Any, sample: pd.DataFrame | None) -> None:
        self._sample = sample
        self._references: list[tuple[str, _Keys]] = []
        if isinstance(answers, pd.DataFrame) and answers.columns.is_unique:
            self._references.append(("the answers'", _Keys(answers, sample)))
        if sample is not None:
            self._references.append(("the sample submission's", _Keys(sample, None)))

    def difference(self, frame: pd.DataFrame) -> Difference | None:
        """Return how a file differs from the expected form; None if it does not, or if that is
        unknown.
        """
        if not isinstance(frame.index, pd.RangeIndex):
            return Difference(SHIFTED)
        given = list(map(str, frame.columns))
        wanted = given if self._sample is None else list(map(str, self._sample.columns))
        reference, rows = self._order(frame) if frame.columns.is_unique else ("", None)
        if given != wanted:
            lacks = not set(wanted) <= set(given)
            columns = tuple(reversed(given)) if lacks else tuple(wanted)
            return Difference(_columns_words(given, wanted), columns, lacks, rows, reference)
        if rows is None:
            return None
        return Difference(rows=rows, reference=reference)

    def _order(self, frame: pd.DataFrame) -> tuple[str, NDArray[np.int64] | None]:
        """Return the file's rows in the order of the first table that shares ids with it; None if
        they are already.
        """
        for reference, keys in self._references:
            places = keys.places(frame)
            if places is not None:
                order = np.argsort(places, kind="stable").astype(np.int64)
                in_order = np.array_equal(order, np.arange(len(order)))
                return reference, None if in_order else order
        return "", None


class _Keys:
    """What identifies the rows of a table: a column, or the first columns together."""

    def __init__(self, table: pd.DataFrame, sample: pd.DataFrame | None) -> None:
        self._table = table
        self._sample = sample
        self._known: dict[Any, pd.Index | None] = {}

    def places(self, frame: pd.DataFrame) -> NDArray[np.int64] | None:
        """Return the place of each row of a file in the table, shape (rows,); None if no ids tell
        it, or they repeat.
        """
        shared = [
            name
            for name in self._table.columns
            if name in frame.columns and self._ids(name) is not None
        ]
        for name in shared:
            ids = self._ids(name)
            assert ids is not None
            if ids.is_unique:
                if np.array_equal(frame[name].to_numpy(), ids.to_numpy()):
                    return np.arange(len(ids))
                given = as_index(frame[name], ids)
                places = None if frame[name].isna().any() else _places(given, as_index(ids, given))
                if places is not None:
                    return places
        return self._places_of_several(frame, shared)

    def _places_of_several(
        self, frame: pd.DataFrame, shared: Sequence[Any]
    ) -> NDArray[np.int64] | None:
        """Return the places by the fewest columns that identify rows together, such as an image and
        a class.
        """
        if len(frame) != len(self._table):
            return None
        # A column of predictions has other values than the answers: it does not identify rows.
        names = [name for name in shared if _same_values(frame[name], self._table[name])]
        for count in range(2, len(names) + 1):
            given, expected = (
                pd.MultiIndex.from_frame(each[names[:count]].astype(str))
                for each in (frame, self._table)
            )
            if expected.is_unique:
                return _places(given, expected)
        return None

    def _ids(self, name: Any) -> pd.Index | None:
        """Return a column that can identify rows, alone or with others; None if it cannot.

        Numbers with decimals are no ids, and neither is a column for which the sample submission
        has other values: those are predictions.
        """
        if name not in self._known:
            values = self._table[name]
            ids = None if values.dtype.kind == "f" or values.isna().any() else as_index(values)
            if ids is not None and self._sample is not None and name in self._sample.columns:
                shown = as_index(self._sample[name].dropna().unique(), ids)
                if not _nested(shown, as_index(ids.unique(), shown)):
                    ids = None
            self._known[name] = ids
        return self._known[name]


def _places(given: pd.Index, expected: pd.Index) -> NDArray[np.int64] | None:
    """Return the place of each id; unknown ones come last.

    None where ids repeat or are those of other rows.
    """
    if not given.is_unique or not _nested(given, expected):
        return None
    places = expected.get_indexer(given)
    return np.where(places < 0, len(expected), places).astype(np.int64)


def _nested(one: pd.Index, other: pd.Index) -> bool:
    """Whether one side has all values of the other."""
    return len(one) > 0 and bool(one.isin(other).all() or other.isin(one).all())


def _same_values(one: pd.Series, other: pd.Series) -> bool:
    return np.array_equal(
        np.sort(one.astype(str).to_numpy(str)), np.sort(other.astype(str).to_numpy(str))
    )


def _columns_words(given: Sequence[str], wanted: Sequence[str]) -> str:
    """Return how columns differ from the sample submission's: missing ones, others, or only their
    order.
    """
    missing = [name for name in wanted if name not in given]
    others = [name for name in given if name not in wanted]
    if not missing and not others:
        return (
            f"the file has the columns {_names(given)} where the sample submission has"
            f" {_names(wanted)}"
        )
    parts = []
    if others:
        parts.append(f"has {_names(others)}, which the sample submission does not have")
    if missing:
        parts.append(f"lacks the sample submission's {_names(missing)}")
    return f"the file {', and '.join(parts)}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{clean_line(name, 40)}`" for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    if more > 0:
        return f"{shown}, … ({more:,} more)"
    return shown


def findings(difference: Difference, raw: Any, grade_copy: Callable[[], Any]) -> Findings:
    """Return what a file's difference from the expected form means for its score.

    It is a doubt where the copy has another score, or has none although its columns are the file's
    own; otherwise a note, or nothing.

    Args:
        difference: how the file differs.
        raw: what the grader returned for the file.
        grade_copy: calls the grader on the file's copy in the expected form; it may raise anything.
    """
    words, both = difference.words, bool(difference.words) and difference.rows is not None
    if not difference.form:  # there is no copy to compare with
        return Findings((Doubt("columns", to_score(raw), difference=words),))
    copy = _copy_score(grade_copy)
    if copy is not None and not _differ(raw, copy):
        if not words:
            return Findings()
        return Findings((), (f"{words}; {difference.form} the score is the same",))
    if copy is None and words and not difference.are_reversed:
        # The grader cannot score the sample submission's columns: they say nothing about this file.
        # If it cannot score the file's own ones in reverse order, their place matters.
        return Findings((), (words,))
    kind: DoubtKind = "columns" if words else "order"
    score = None if copy is None else to_score(copy)
    return Findings((Doubt(kind, to_score(raw), score, difference.form, words, rows_too=both),))


def not_tried(difference: Difference, seconds: float, limit_s: float) -> Findings:
    """Return what to say where a second call could exceed the time of a submission, and lose the
    score.
    """
    about = "; ".join(filter(None, (difference.words, _ORDER * (difference.rows is not None))))
    said = (
        f"{about}: what that means for the score was not tested, because the grader took"
        f" {seconds:.0f} s of the {limit_s:.0f} s that a submission may take"
    )
    return Findings((), (said,))


_ORDER = "the file's rows are in another order"


def _copy_score(grade_copy: Callable[[], Any]) -> Any:
    """Return the copy's raw score; None if it has none."""
    try:
        raw = grade_copy()
        if raw is not None and math.isfinite(to_score(raw)):
            return raw
        return None
    except (Exception, SystemExit):  # the grader's own code; the file itself has its score
        return None


def _differ(one: Any, other: Any) -> bool:
    """Whether scores differ by more than sums in another order do."""
    # an array of one number is a score, too
    numbers = (float(np.asarray(each).reshape(-1)[0]) for each in (one, other))
    close = math.isclose(*numbers, rel_tol=1e-9, abs_tol=1e-12)
    return not close and to_score(one) != to_score(other)
