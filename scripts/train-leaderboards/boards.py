"""Train the entries of a plan, score them, write and compare leaderboards."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from plans import is_reference
from scoring import score

TASKS = Path(__file__).parents[2] / "bioeval_tui" / "sample" / "tasks"
TRAINED_ON = "2026-11-26"
TOLERANCE = 0.005


def train(plan: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train all entries of a plan; return the board, best first (ties by name), and the reference, to five decimals."""
    config = yaml.safe_load((TASKS / plan.task / "config.yaml").read_text(encoding="utf-8"))
    grader = config["grader"]
    assert grader["metric"] == plan.metric, (plan.task, grader["metric"])
    with tempfile.TemporaryDirectory() as folder:
        public, private = prepare(plan.task, Path(folder))
        answers = plan.answers(private)
        found = [
            (name, (team, round(score(grader, submission, answers), 5), TRAINED_ON))
            for name, team, submission in plan.submissions(public)
        ]
    columns = ["teamName", "score", "submissionDate"]
    families = list(dict.fromkeys(name for name, _ in found))
    board = pd.DataFrame([row for name, row in found if not is_reference(name, families)], columns=columns)
    reference = pd.DataFrame([row for name, row in found if is_reference(name, families)], columns=columns)
    board = board.sort_values(
        ["score", "teamName"], ascending=[grader["is_lower_better"], True], ignore_index=True
    )
    return board, reference


def write(task: str, board: pd.DataFrame, reference: pd.DataFrame) -> None:
    """Write a board and its reference beside the task's config.yaml."""
    board.to_csv(TASKS / task / "leaderboard.csv", index=False, lineterminator="\n")
    reference.to_csv(TASKS / task / "reference.csv", index=False, lineterminator="\n")


def check(task: str, board: pd.DataFrame, reference: pd.DataFrame) -> bool:
    """Say on stderr how a newly trained board differs from the one in place; True if it does not."""
    held = pd.concat([pd.read_csv(TASKS / task / name) for name in ("leaderboard.csv", "reference.csv")])
    board = pd.concat([board, reference])
    both = held.merge(board, on="teamName", how="outer", suffixes=("_held", "_new"))
    gap = (both.score_held - both.score_new).abs()
    wrong = both[~(gap <= TOLERANCE)]
    for row in wrong.itertuples():
        print(f"{task}: {row.teamName}: {row.score_held} on the board, {row.score_new} now", file=sys.stderr)
    print(f"{task}: {len(wrong)} of {len(both)} entries differ; largest gap {gap.max():.6f}", file=sys.stderr)
    return wrong.empty


def prepare(task: str, folder: Path) -> tuple[Path, Path]:
    """Run the task's own preparer into `folder` and return the public and the private folder."""
    path = TASKS / task / "prepare.py"
    spec = importlib.util.spec_from_file_location("task_prepare", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    public, private = folder / "public", folder / "private"
    public.mkdir()
    private.mkdir()
    module.prepare(TASKS / task, public, private)
    return public, private
