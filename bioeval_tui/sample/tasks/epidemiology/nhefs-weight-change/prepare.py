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
    frame = read_exactly(DATA).drop(columns=LATER)
    frame = frame.dropna(subset=["wt82_71"]).rename(columns={"wt82_71": "weight_change"})
    columns = [name for name in frame.columns if name != "weight_change"]
    return publish_csv_task(
        frame[[*columns, "weight_change"]],
        answers=["weight_change"],
        placeholder={"weight_change": 2.6},
        seed="nhefs-weight-change-1",
        test_share=0.3,
        public=public,
        private=private,
    )
