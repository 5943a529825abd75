"""Doubt: why a published grader's score may not be what the predictions deserve.

The score itself stays as published.

Importing it loads nothing that is slow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from bioeval_tui.base.units import score_text

DoubtKind = Literal["order", "columns", "answers"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is doubtful about a score.

    `order`: the grader takes rows by their place, so the same predictions in another order have
    another score. `columns`: the file has other columns than the sample submission, or in another
    order, and the grader may take columns by their place. `answers`: the file equals the answers
    byte for byte, which perfect predictions of few rows may, too.

    Args:
        kind: which of these.
        as_handed_in: the score of the file.
        rearranged: the score of a copy in the expected form; None without a copy, or of a copy
            without a score.
        form: the form of the copy, such as `in the answers' order`; empty without a copy.
        difference: how the columns differ; empty for the others.
        rows_too: the copy of a doubt about columns has other rows, too: which of both changed the
            score is unknown.
    """

    kind: DoubtKind
    as_handed_in: float
    rearranged: float | None = None
    form: str = ""
    difference: str = ""
    rows_too: bool = False

    @property
    def sentence(self) -> str:
        """What is wrong, with both scores."""
        if self.kind == "answers":
            return "equal to the answers in every value: perfect predictions, or a copy of them"
        if self.kind == "order":
            return f"this grader depends on the order of rows: {self._scores}"
        if self.form:
            what = "rows or columns" if self.rows_too else "columns"
            return f"this grader takes {what} by their place: {self._scores}; {self.difference}"
        return (
            f"{self.difference}; a grader that takes columns by their place scores the wrong ones"
        )

    @property
    def _scores(self) -> str:
        copy = "no score" if self.rearranged is None else score_text(self.rearranged)
        return f"{score_text(self.as_handed_in)} as handed in, {copy} {self.form}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the sentence, ready for JSON."""
        return {**asdict(self), "sentence": self.sentence}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Build from `to_dict`'s result.

        Raises:
            ValueError: the data does not have that form.
        """
        wrong = ValueError(
            "`extra.doubts` must be a list of objects with `kind` and `as_handed_in`"
        )
        if not isinstance(data, Mapping) or data.get("kind") not in get_args(DoubtKind):
            raise wrong
        copy = data.get("rearranged")
        try:
            scores = float(data["as_handed_in"]), None if copy is None else float(copy)
        except (KeyError, TypeError, ValueError):
            raise wrong from None
        form, difference = (str(data.get(name) or "") for name in ("form", "difference"))
        return cls(data["kind"], *scores, form, difference, data.get("rows_too") is True)
