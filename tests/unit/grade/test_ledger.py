"""The ledger loses no entry and shows tampering, and the Ladder score resists many attempts."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from bioeval_tui.errors import InputError
from bioeval_tui.grade.ledger import HEAD, LADDER_STEP, NAME, Ledger, ladder, ordinal, verify
from bioeval_tui.grade.metrics import roc_auc


def look(ledger: Ledger, number: int, agent: str | None = None) -> str:
    return ledger.look("lab/numbers", f"submission {number}", "answers", agent, number / 100).words


def test_every_grading_of_a_new_file_is_counted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    assert look(ledger, 1) == "graded once"
    for number in range(2, 37):
        look(ledger, number)
    assert look(ledger, 37) == "37th submission scored against these answers"
    assert look(ledger, 99, "ada") == "38th submission scored against these answers, 1st by this agent"
    assert ledger.look("lab/numbers", "x", "other answers", None, 0.0).words == "graded once"


def test_grading_the_same_file_again_is_not_counted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    for _ in range(3):
        assert look(ledger, 1) == "graded once"
    assert verify(ledger.path).lines == 3, "that it was graded three times is on record all the same"


def test_a_ledger_continued_by_another_process_is_read_on(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / NAME), Ledger(tmp_path / NAME)
    look(one, 1)
    look(other, 2)
    assert look(one, 3) == "3rd submission scored against these answers"
    assert verify(one.path).problems == ()


def _write(path: Path, first: int, count: int) -> None:
    ledger = Ledger(path)
    for number in range(first, first + count):
        look(ledger, number)


def test_parallel_graders_lose_no_ledger_entry(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(_write, path, 1000 * part, 50) for part in range(4)]:
            done.result()
    found = verify(path)
    assert (found.lines, found.problems) == (200, ())
    assert look(Ledger(path), 0) == "200th submission scored against these answers"


def edited(lines: list[str]) -> list[str]:
    return [line.replace('"score":0.02', '"score":0.92') for line in lines]


CHANGES: dict[str, tuple[Callable[[list[str]], list[str]], list[str]]] = {
    "edited": (edited, ["entry 2 was changed after entry 3 was written"]),
    "missing": (
        lambda lines: lines[:1] + lines[2:],
        ["line 2 has the number 3 where 2 is expected: lines are missing or were moved"],
    ),
    "moved": (
        lambda lines: [lines[0], lines[2], lines[1], lines[3]],
        [
            "line 2 has the number 3 where 2 is expected: lines are missing or were moved",
            "line 3 has the number 2 where 4 is expected: lines are missing or were moved",
        ],
    ),
    "cut": (lambda lines: lines[:-2], ["the last 2 of 4 entries are missing"]),
    "last edited": (lambda lines: [*lines[:-1], lines[-1].replace("0.04", "0.94")], ["entry 4 was changed"]),
    "no entry": (lambda lines: [*lines, "good\n"], ["line 5 is not an entry of a ledger"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_verify_detects_changes_to_a_ledger(tmp_path: Path, name: str) -> None:
    ledger = Ledger(tmp_path / NAME)
    for number in range(1, 5):
        look(ledger, number)
    change, expected = CHANGES[name]
    lines = ledger.path.read_text().splitlines(keepends=True)
    ledger.path.write_text("".join(change(lines)))
    assert list(verify(ledger.path).problems) == expected, "what was done, and no other line is accused"


def test_a_ledger_without_its_head_cannot_be_verified(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    look(ledger, 1)
    (tmp_path / HEAD).unlink()
    assert "is unknown" in verify(ledger.path).problems[0]
    with pytest.raises(InputError, match="there is no ledger"):
        verify(tmp_path / "other.jsonl")


def test_a_line_cut_by_a_crash_loses_no_later_line(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    look(ledger, 1)
    with ledger.path.open("a") as file:
        file.write('{"number":2,"at":"2026')
    look(Ledger(ledger.path), 3)
    *_, last = ledger.path.read_text().splitlines()
    assert json.loads(last)["number"] == 3
    assert verify(ledger.path).problems == ("line 2 is not an entry of a ledger",)


def test_the_ladder_score_improves_only_in_steps() -> None:
    assert ladder([0.5, 0.54, 0.61, 0.4, 0.75], 0.1, lower_is_better=False) == pytest.approx(
        [0.5, 0.5, 0.6, 0.6, 0.8]
    )
    assert ladder([0.5, 0.45, 0.3], 0.1, lower_is_better=True) == pytest.approx([0.5, 0.5, 0.3])


def test_the_best_of_37_random_submissions_is_inflated_and_the_ladder_score_is_not() -> None:
    """100 test rows, 37 tries that know nothing: the truth is 0.5, the standard error 0.058."""
    random = np.random.default_rng(7)
    true = np.repeat([0.0, 1.0], 50)
    error = np.sqrt(101 / (12 * 50 * 50))
    best, counted = [], []
    for _ in range(200):
        scores = [roc_auc(true, random.random(100)) for _ in range(37)]
        best.append(max(scores))
        counted.append(ladder(scores, LADDER_STEP * error, lower_is_better=False)[-1])
    assert np.mean(best) > 0.5 + 1.9 * error
    assert abs(np.mean(counted) - 0.5) < 0.7 * error


@pytest.mark.parametrize(
    ("number", "words"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (112, "112th"), (1021, "1,021st")]
)
def test_an_ordinal_has_its_english_ending(number: int, words: str) -> None:
    assert ordinal(number) == words
