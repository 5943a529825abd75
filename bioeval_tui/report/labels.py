"""People's labels from a table: CSV with a heading, one row for each judged task or conversation."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bioeval_tui.errors import InputError
from bioeval_tui.record.events import Reviewed
from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report.agreement import RatedTask
from bioeval_tui.text import clean_line

COLUMNS = ("people_score", "label", "score", "passed", "people")
"""Default names of the label column."""
_WORDS = dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0) | dict.fromkeys(
    ("false", "no", "fail", "failed", "incorrect"), 0.0
)

_NUMBER = re.compile(r"[0-9]{1,9}")
_RIGHT: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("case_trial", "a whole number", _NUMBER.fullmatch),
    ("trial", "a whole number", _NUMBER.fullmatch),
    ("condition", " or ".join(CONDITIONS), CONDITIONS.__contains__),
)
"""The columns that identify a conversation: what is right in them, and how to tell."""


def with_labels(items: Sequence[RatedTask], file: Path, column: str = "") -> list[RatedTask]:
    """Return the tasks with the labels of a table instead of reviews.

    A row identifies its conversation by `case` (and `case_trial`, default 1) or by `trial` (and `condition`), its
    run by `run_id` and its task by `task`, a number or title, if there are several. A label is a number from 0 to 1,
    or a word such as `true` or `failed`; rows with an empty label are left out.

    Raises:
        InputError: the table cannot be read, lacks a column, or a row fits no task or several.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise InputError(f"{file}: cannot be read: {problem}") from None
    heading = list(rows[0][1]) if rows else []
    wanted = column or next((name for name in COLUMNS if name in heading), "")
    if wanted not in heading:
        missing = (
            f"column {wanted!r}"
            if wanted
            else f"a column of labels ({', '.join(COLUMNS)}; --column names another)"
        )
        raise InputError(f"{file}: {missing} is missing")
    if not {"case", "trial"} & set(heading):
        raise InputError(f"{file}: a column `case` or `trial` is required, to identify the conversation")
    found = {place: dict[str, Reviewed]() for place in range(len(items))}
    for number, row in rows:
        if not (row.get(wanted) or "").strip():
            continue
        _check(row, file, number)
        fitting = [place for place, item in enumerate(items) if _fits(item, row)]
        if len(fitting) != 1:
            what = (
                f"{len(fitting)} judged tasks fit; name run_id, condition or task"
                if fitting
                else "no judged task fits"
            )
            raise InputError(f"{file}, line {number}: {what}")
        author = clean_line(row.get("reviewer") or wanted, 80)
        value = _value(row[wanted], file, number, wanted)
        found[fitting[0]][author] = _review(items[fitting[0]], author, value)
    return [replace(item, people=found[place]) for place, item in enumerate(items)]


def _check(row: Mapping[str, str | None], file: Path, number: int) -> None:
    for column, right, fits in _RIGHT:
        told = (row.get(column) or "").strip()
        if told and not fits(told):
            raise InputError(f"{file}, line {number}: {column} is {clean_line(told, 40)!r}, not {right}")


def _fits(item: RatedTask, row: Mapping[str, str | None]) -> bool:
    def told(name: str) -> str:
        return (row.get(name) or "").strip()

    if told("case"):
        if told("case") != item.case or int(told("case_trial") or 1) != item.case_trial:
            return False
    elif int(told("trial") or 0) != item.key.trial:
        return False
    return (
        (not told("run_id") or told("run_id") == item.run_id)
        and (not told("condition") or told("condition") == item.key.condition)
        and (not told("task") or told("task") in (str(item.task), item.title))
    )


def _value(text: str, file: Path, number: int, column: str) -> float:
    said = text.strip().lower()
    try:
        value = _WORDS[said] if said in _WORDS else float(said)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(
            f"{file}, line {number}: {column} is {clean_line(text, 40)!r}, not a number from 0 to 1"
        )
    return value


def _review(item: RatedTask, author: str, value: float) -> Reviewed:
    return Reviewed(
        run_id=item.run_id,
        seq=0,
        at=datetime.now(UTC),
        condition=item.key.condition,
        trial=item.key.trial,
        author=author,
        review="label",
        action="override",
        task=item.task,
        after=value,
        blind=True,
    )
