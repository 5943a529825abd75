"""Prepare the task from the molecules beside it."""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.grade.tables import read_exactly
from bioeval_tui.sample.task_files import publish_csv_task

DATA = Path(__file__).parent / "molecules.csv"


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; isomers, which have the same weight, are on one side of it.

    `raw` is not used.
    """
    frame = read_exactly(DATA)
    return publish_csv_task(
        frame,
        answers=["log_solubility"],
        placeholder={"log_solubility": -3.0},
        seed="solubility-1",
        test_share=0.3,
        groups=frame["weight"].round(1).tolist(),
        public=public,
        private=private,
    )
