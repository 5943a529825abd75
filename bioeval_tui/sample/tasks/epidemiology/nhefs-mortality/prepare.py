"""Prepare the task from the extract of NHEFS beside it."""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.grade.files.tables import read_exactly
from bioeval_tui.sample.tasks.common import publish_csv_task

DATA = Path(__file__).parents[1] / "nhefs.csv"
FOLLOW_UP_MONTHS = 120
"""January 1983 to December 1992: the dead have a year of death from 83 to 92."""


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; 30 % of the living and of the dead are held out. `raw` is not used."""
    frame = read_exactly(DATA)
    died = frame["death"] == 1
    months = (frame["yrdth"] - 83) * 12 + frame["modth"]
    frame["months"] = months.where(died, FOLLOW_UP_MONTHS).astype(int)
    columns = [name for name in frame.columns if name not in ("yrdth", "modth", "death", "months")]
    return publish_csv_task(
        frame[[*columns, "months", "death"]],
        answers=["months", "death"],
        placeholder={"survival_score": 0.0},
        seed="nhefs-mortality-1",
        test_share=0.3,
        strata=frame["death"].tolist(),
        public=public,
        private=private,
    )
