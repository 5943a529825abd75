"""Prepare the task from the extract of ACTG 175 beside it."""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.grade.files.tables import read_exactly
from bioeval_tui.sample.tasks.common import publish_csv_task

DATA = Path(__file__).parent / "actg175.csv"


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; 30 % of those with and without an event are held out. `raw` is not used."""
    frame = read_exactly(DATA).rename(columns={"cens": "event"})
    columns = [name for name in frame.columns if name not in ("days", "event")]
    return publish_csv_task(
        frame[[*columns, "days", "event"]],
        answers=["days", "event"],
        placeholder={"survival_score": 0.0},
        seed="actg175-1",
        test_share=0.3,
        strata=frame["event"].tolist(),
        public=public,
        private=private,
    )
