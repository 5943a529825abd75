"""Prepare the task from the molecules beside it."""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.grade.files.tables import read_exactly
from bioeval_tui.sample.tasks.common import publish_csv_task

DATA = Path(__file__).parent / "nci_tpsa.csv"


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; 30 % of the molecules are held out, each SMILES once. `raw` is not used."""
    frame = read_exactly(DATA).drop_duplicates("smiles")
    return publish_csv_task(
        frame,
        answers=["tpsa"],
        placeholder={"tpsa": 45.0},
        seed="nci-tpsa-1",
        test_share=0.3,
        public=public,
        private=private,
    )
