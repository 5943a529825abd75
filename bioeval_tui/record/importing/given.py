"""Scores that a file gives: those beside a conversation, with their author, and tables of scores
without any conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, starmap
from math import isfinite
from typing import Any

from bioeval_tui.base.text import clean_line
from bioeval_tui.record.importing.conversations import GivenScore, in_unit, note
from bioeval_tui.record.importing.file_look import FileLook
from bioeval_tui.record.score import LABEL_WORDS

UNITS = (
    "unit", "task", "task_id", "case", "case_id", "item", "item_id", "question_id", "question",
    "prompt_id", "example_id",
    "conversation_id", "conversation", "id",
)  # fmt: skip
AGENTS = ("agent", "backend", "system", "method", "submission", "model", "model_name", "condition")
RATERS = (
    "rater", "judge", "annotator", "reviewer", "grader", "labeler", "labeller", "evaluator",
    "scored_by", "rated_by",
    "graded_by", "labeled_by", "labelled_by", "annotated_by", "judged_by",
)  # fmt: skip
SCORES = ("score", "rating", "label", "verdict", "grade", "value", "passed")
"""What the columns of a table of scores are usually called, the likeliest first."""
BESIDE = ("score", "label", "verdict", "rating", "grade")
"""Keys beside a conversation that have a score of it."""
SEVERAL = "scores"
LARGEST_SCORE = 1e15
"""Larger ones are no scores, and their sums would have no end."""
_WHY = ("reason", "explanation", "rationale", "justification", "comment", "feedback")


def usual(name: str) -> str:
    """Return a column's name as the usual ones are written."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def score_value(told: Any) -> float | None:
    """Return a score as a number: a number, a text of one, or a word such as passed; None for
    anything else.
    """
    if isinstance(told, str):
        word = told.strip().lower()
        if word in LABEL_WORDS:
            return LABEL_WORDS[word]
        try:
            told = float(word)
        except ValueError:
            return None
    if isinstance(told, bool | int | float) and isfinite(told) and abs(told) <= LARGEST_SCORE:
        return float(told)
    return None


def scores_beside(row: Mapping[str, Any]) -> tuple[list[GivenScore], str]:
    """Return the scores beside a conversation, and who gave them; empty without any.

    A score is a number or a word, or an object with `score` (or `value`), `reason` and its author;
    `scores` has several by name, or as a list of such objects. One that several people gave is
    named after each.
    """
    beside = [(name, told, _author(row), _first(row, _WHY)) for name, told in _told(row)]
    found = [*chain.from_iterable(starmap(_parts, beside))]
    if not found:
        return [], ""
    authors = list(dict.fromkeys(author for _, _, author, _ in found if author))
    names = [name for name, _, _, _ in found]
    scores = []
    for name, told, author, why in found:
        own = f"{name} by {author}" if names.count(name) > 1 and author else name
        scores.append(GivenScore(own, in_unit(score_value(told)), told, why))
    keys = " and ".join(f"`{name}`" for name, _ in _told(row))
    by = f", given by `{key}`" if (key := _key(row, RATERS)) else ""
    note(f"so it was read: a score of each conversation from {keys}{by}")
    return scores, ", ".join(authors)


def _told(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the keys of a row that have scores, with what they have."""
    keys = {usual(key): key for key in row if isinstance(key, str)}
    return [
        (keys[name], row[keys[name]])
        for name in (*BESIDE, SEVERAL)
        if name in keys and row[keys[name]] not in (None, "", [], {})
    ]


def _parts(name: str, told: Any, author: str, why: str) -> Iterator[tuple[str, Any, str, str]]:
    """Yield each single score of a value, with its name, author and reason."""
    if isinstance(told, list):
        for each in told:
            yield from _parts(name, each, author, why)
        return
    if not isinstance(told, dict):
        yield name, told, author, why
        return
    value = next((told[key] for key in (*BESIDE, "value") if key in told), None)
    if value is None:
        for key, each in told.items():
            if isinstance(each, dict) or score_value(each) is not None:
                yield from _parts(clean_line(str(key), 80), each, author, why)
        return
    yield (
        clean_line(str(told.get("name") or told.get("criterion") or name), 80),
        value,
        _author(told) or author,
        _first(told, _WHY) or why,
    )


def _key(row: Mapping[str, Any], names: Sequence[str]) -> str:
    keys = {usual(key): key for key in row if isinstance(key, str)}
    return next((keys[name] for name in names if name in keys), "")


def _first(row: Mapping[str, Any], names: Sequence[str]) -> str:
    key = _key(row, names)
    if key and isinstance(row[key], str):
        return str(row[key])
    return ""


def _author(row: Mapping[str, Any]) -> str:
    return clean_line(_first(row, (*RATERS, "author")), 100)


def is_score_table(look: FileLook) -> bool:
    """Return whether the rows of a file have scores of units and agents, and nothing that was
    said.
    """
    if look.shape not in ("table", "lines", "list") or look.listed:
        return False
    numbers = [name for name, cell in look.first.items() if score_value(cell) is not None]
    return bool(_key(look.first, UNITS) and _key(look.first, AGENTS) and numbers)
