"""How sure a submission's score is: its interval, its places, and its chances of a medal on other
test rows.

A grading worker calls `measure_uncertainty` (`batch/item_grader.py`), Python `score_uncertainty`.
The draws of a declared metric are made by its scorer (`resampling.py`), those of a grader with code
by `code_draws.py`; `chances.py` turns draws into chances, with the board's entries on the same
draws where `rivals.py` has their predictions.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bioeval_tui.base.errors import InvalidSubmissionError
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import SCORE_DECIMALS
from bioeval_tui.grade.chances import medal_chances
from bioeval_tui.grade.code_draws import CODE_LIMIT_S, code_draws
from bioeval_tui.grade.grade import TaskGrading, grading_of
from bioeval_tui.grade.leaderboard import Leaderboard
from bioeval_tui.grade.resampling import CannotResampleError, Draws
from bioeval_tui.grade.rivals import load_rivals
from bioeval_tui.grade.score_numbers import rows_words
from bioeval_tui.grade.scorers import CodeScorer
from bioeval_tui.grade.tasks.task import Task
from bioeval_tui.grade.uncertainty import Uncertainty


def measure_uncertainty(
    ready: TaskGrading, path: Path, *, call_code: bool = False, time_limit_s: float = CODE_LIMIT_S
) -> Uncertainty:
    """Return the uncertainty of a valid submission's score; if it has none, `why_not` says why.

    Args:
        ready: the task, ready to grade.
        path: the submission.
        call_code: also call a grader with code, 2,000 times or for `time_limit_s`.
        time_limit_s: how long resampling may take.
    """
    rows = ready.coverage(path)
    if rows is not None and rows.scored < rows.expected:
        words = rows_words(*rows)
        return Uncertainty(why_not=f"{words}: rows that a file picks say nothing about the others")
    try:
        drawn = _draws(ready, path, call_code, time_limit_s)
    except FileNotFoundError:
        return Uncertainty(why_not="the file was moved, or its name is not UTF-8")
    except (CannotResampleError, InvalidSubmissionError, OSError) as error:
        return Uncertainty(why_not=clean_line(str(error), 300))
    except Exception as error:  # a grader with code may raise anything
        return Uncertainty(
            why_not=f"resampling failed: {type(error).__name__}: {clean_line(str(error), 200)}"
        )
    return replace(_drawn_uncertainty(drawn, ready.board), **_chances(ready, path, drawn))


def score_uncertainty(submission: Path, task: Task, *, call_code: bool = False) -> Uncertainty:
    """Return the uncertainty of a valid submission's score, computed in this process; see
    `measure_uncertainty`.

    Raises:
        NotGradedError: (a ValueError) the task is not prepared, or its leaderboard cannot be used.
    """
    return measure_uncertainty(grading_of(task), Path(submission), call_code=call_code)


def _draws(ready: TaskGrading, path: Path, call_code: bool, time_limit_s: float) -> Draws:
    scorer: Any = ready.scorer
    if isinstance(scorer, CodeScorer):
        return code_draws(ready, scorer, path, call_code, time_limit_s)
    drawn: Draws = scorer.draws(path)
    return drawn


def _drawn_uncertainty(drawn: Draws, board: Leaderboard) -> Uncertainty:
    """Return the interval of resampled scores and its places."""
    low, high = drawn.ends
    places = [board.rank(end).position for end in (low, high)]
    best, worst = places if board.is_lower_better else reversed(places)
    return Uncertainty(
        low=round(low, SCORE_DECIMALS),
        high=round(high, SCORE_DECIMALS),
        place_best=best,
        place_worst=worst,
        rows=drawn.rows,
        method=drawn.method,
    )


def _chances(ready: TaskGrading, path: Path, found: Draws) -> dict[str, Any]:
    """Return the chances of medals, and whether the board's entries were scored on the same
    resampled rows.
    """
    board = ready.board
    sign = -1.0 if board.is_lower_better else 1.0
    rivals = None if isinstance(ready.scorer, CodeScorer) else load_rivals(ready)
    if rivals is not None:
        drawn = np.column_stack([rivals.score(path), rivals.drawn])
        defined = np.asarray(np.isfinite(drawn).all(axis=1))
        known = drawn[1:][defined[1:]]
        if len(known) > len(drawn) / 2:
            chances = medal_chances(drawn[0], known, len(board.ascending))
            return {**_named(chances), "board_scored_anew": True}
    own = float(ready.scorer.score(path))
    scores = sign * np.concatenate([[own], board.ascending])
    return _named(medal_chances(scores, sign * found.scores[:, None], len(board.ascending)))


def _named(chances: tuple[float, float, float]) -> dict[str, Any]:
    return {
        name: round(chance, 4)
        for name, chance in zip(("gold", "silver", "bronze"), chances, strict=True)
    }
