"""What validation says of a file: whether it can be graded, and everything that is wrong with it.

`bioeval-tui validate` and the medals screen make a `Validation` by `validation_of`, from how a file
is graded and what was found in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bioeval_tui.base.errors import Problem
from bioeval_tui.base.text import plural
from bioeval_tui.grade.outcomes import Invalid, NotGraded, Outcome

Diagnosis = Literal["valid", "invalid", "not_graded"]


@dataclass(frozen=True, slots=True)
class Validation:
    """What validation says of a file: `valid`, `invalid` or `not_graded`, in words, and the
    findings.

    `missing` is how many rows of the answers the score of a valid file leaves out. `in_doubt`: its
    score may not be what it deserves.
    """

    status: Diagnosis
    findings: tuple[str, ...] = ()
    missing: int = 0
    in_doubt: bool = False

    @property
    def words(self) -> str:
        """Such as `invalid`, or `valid for the task's grader; it does not score 1,998 rows`."""
        notes = []
        if self.missing:
            # A row may lack in the file or have no value there: the findings say which.
            notes.append(f"it does not score {plural(self.missing, 'row')}")
        if self.in_doubt:
            notes.append("its score is in doubt")
        if not notes:
            return self.status.replace("_", " ")
        return f"valid for the task's grader; {'; '.join(notes)}"

    @property
    def is_only_for_grader(self) -> bool:
        """Whether the task's grader takes the file, but something about it is wrong."""
        return bool(self.missing or self.in_doubt)


def validation_of(outcome: Outcome, findings: Iterable[Problem]) -> Validation:
    """Return what validation says of a file, from how it is graded and what is wrong with it."""
    messages = [item.message for item in findings]
    if isinstance(outcome, NotGraded):
        return Validation("not_graded", (*messages, outcome.reason))
    if isinstance(outcome, Invalid):
        own = [item.message for item in outcome.problems] or [outcome.reason]
        return Validation("invalid", tuple(dict.fromkeys([*own, *messages])))
    return Validation("valid", tuple(messages), outcome.rows_missing, bool(outcome.doubts))
