"""Prepare the task from the two cohorts beside it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bioeval_tui.grade.tables import read_exactly
from bioeval_tui.sample.task_files import publish_csv_task

FOLDER = Path(__file__).parent


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split: one hospital's patients are known, another study's are held out.

    `raw` is not used.
    """
    known, held_out = (
        read_exactly(FOLDER / name) for name in ("rotterdam.csv", "german-trial.csv")
    )
    covariates = [name for name in known.columns if name not in ("months", "event")]
    alike = pd.MultiIndex.from_frame(known[covariates]).isin(
        pd.MultiIndex.from_frame(held_out[covariates])
    )
    known = known[~alike]  # five who equal a held-out patient by chance
    frame = pd.concat([known, held_out], ignore_index=True)
    return publish_csv_task(
        frame,
        answers=["months", "event"],
        placeholder={"survival_score": 0.0},
        seed="recurrence-1",
        test_share=len(held_out) / len(frame),
        groups=[0] * len(known) + [1] * len(held_out),
        public=public,
        private=private,
    )
