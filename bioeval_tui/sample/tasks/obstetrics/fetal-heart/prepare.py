"""Prepare the task from the cardiotocograms beside it."""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.grade.tables import read_exactly
from bioeval_tui.sample.task_files import publish_csv_task

DATA = Path(__file__).parent / "cardiotocograms.csv"


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; the segments of one recording are on one side of it. `raw` is not used."""
    frame = read_exactly(DATA)
    frame = frame.drop_duplicates(
        [name for name in frame.columns if name not in ("recording", "state")]
    )
    frame["abnormal"] = (frame["state"] > 1).astype(int)
    return publish_csv_task(
        frame.drop(columns=["recording", "state"]),
        answers=["abnormal"],
        placeholder={"abnormal": 0.5},
        seed="fetal-heart-1",
        test_share=0.3,
        groups=frame["recording"].tolist(),
        public=public,
        private=private,
    )
