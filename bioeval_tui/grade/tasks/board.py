"""The leaderboard that ranks a task's submissions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from bioeval_tui.grade.leaderboard import Leaderboard, build_leaderboard, load_leaderboard
from bioeval_tui.grade.tasks.task import Task


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
