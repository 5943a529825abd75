"""Prepare the task from the extract of NHEFS beside it."""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.grade.files.tables import read_exactly
from bioeval_tui.sample.tasks.common import publish_csv_task

DATA = Path(__file__).parents[1] / "nhefs.csv"
LATER = ["death", "yrdth", "modth", "sbp", "dbp"]
"""Seen in 1982 or after: no predictors of the weight in 1982."""


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; 30 % of those weighed twice are held out. `raw` is not used."""
    frame = read_exactly(DATA).drop(columns=LATER).dropna(subset=["wt82_71"])
    frame["wt82"] = (frame["wt71"] + frame["wt82_71"]).round(2)
    return publish_csv_task(
        frame.drop(columns="wt82_71"),
        answers=["wt82"],
        placeholder={"wt82": 73.5},
        seed="nhefs-weight-1",
        test_share=0.3,
        public=public,
        private=private,
    )
