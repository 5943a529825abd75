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


def train(plan: Any) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
    """Train all entries of a plan; return the board, best first (ties by name), and the reference,
    to five decimals.

    The third is a table of `id` and the entries' predictions, a column each; None where an entry
    predicts a matrix.
    """
    config = yaml.safe_load((TASKS / plan.task / "config.yaml").read_text(encoding="utf-8"))
    grader = config["grader"]
    assert grader["metric"] == plan.metric, (plan.task, grader["metric"])
    with tempfile.TemporaryDirectory() as folder:
        public, private = prepare(plan.task, Path(folder))
        answers = plan.answers(private)
        found, predictions = [], {}
        for name, team, submission in plan.submissions(public):
            found.append((name, (team, round(score(grader, submission, answers), 5), TRAINED_ON)))
            if isinstance(submission, pd.DataFrame):
                predictions["id"] = submission["id"]
                predictions[team] = submission.iloc[:, 1].map(lambda value: float(f"{value:.6g}"))
            elif submission.ndim == 1:
                predictions["id"] = plan.ids(private)
                predictions[team] = submission
    columns = ["teamName", "score", "submissionDate"]
    families = list(dict.fromkeys(name for name, _ in found))
    board = pd.DataFrame(
        [row for name, row in found if not is_reference(name, families)], columns=columns
    )
    reference = pd.DataFrame(
        [row for name, row in found if is_reference(name, families)], columns=columns
    )
    board = board.sort_values(
        ["score", "teamName"], ascending=[grader["is_lower_better"], True], ignore_index=True
    )
    kept = ["id", *board["teamName"]]
    return board, reference, pd.DataFrame(predictions)[kept] if predictions else None


def write(
    task: str, board: pd.DataFrame, reference: pd.DataFrame, predictions: pd.DataFrame | None
) -> None:
    """Write a board, its reference, its entries' predictions and what the description says of
    them.
    """
    write_predictions(task, predictions)
    describe(task, board, reference)
    board.to_csv(TASKS / task / "leaderboard.csv", index=False, lineterminator="\n")
    reference.to_csv(TASKS / task / "reference.csv", index=False, lineterminator="\n")


def describe(task: str, board: pd.DataFrame, reference: pd.DataFrame) -> None:
    """Write the section on the leaderboard in the task's description.md."""
    path = TASKS / task / "description.md"
    before, _, rest = path.read_text(encoding="utf-8").partition("## Leaderboard\n")
    after = rest[rest.index("## Source") :]
    text = f"""## Leaderboard

Self-trained: {len(board)} entries, each a method of its own (METHODS.md has their sources). \
`scripts/train-leaderboards`
chose each method's settings by three-fold cross-validation on the training data, and fitted it \
to all training data.
Only methods that were better there than the plain linear model have a place; that one is the \
reference, without a place:
`{reference.teamName.iloc[0]}`, {reference.score.iloc[0]}. No entry is by a person or another \
group. The test set is
small, and many entries differ by less than the noise, so look at the interval and the chance of \
the medal on the card.

"""
    path.write_text(before + text + after, encoding="utf-8")


def write_predictions(task: str, predictions: pd.DataFrame | None) -> None:
    """Write the predictions of a board's entries, from which the chance of a medal is computed."""
    if predictions is not None:
        packed = {"method": "gzip", "mtime": 0}
        predictions.to_csv(
            TASKS / task / "predictions.csv.gz",
            index=False,
            lineterminator="\n",
            compression=packed,
        )


def check(task: str, board: pd.DataFrame, reference: pd.DataFrame) -> bool:
    """Say on stderr how a newly trained board differs from the one in place; True if it does
    not.
    """
    held = pd.concat(
        [pd.read_csv(TASKS / task / name) for name in ("leaderboard.csv", "reference.csv")]
    )
    board = pd.concat([board, reference])
    both = held.merge(board, on="teamName", how="outer", suffixes=("_held", "_new"))
    gap = (both.score_held - both.score_new).abs()
    wrong = both[~(gap <= TOLERANCE)]
    for row in wrong.itertuples():
        print(
            f"{task}: {row.teamName}: {row.score_held} on the board, {row.score_new} now",
            file=sys.stderr,
        )
    print(
        f"{task}: {len(wrong)} of {len(both)} entries differ; largest gap {gap.max():.6f}",
        file=sys.stderr,
    )
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
