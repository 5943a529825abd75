"""Prepare the task from scikit-learn's copy of the diabetes data."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_diabetes

from bioeval_tui.sample.tasks.common import publish_csv_task

NAMES = {
    **{"s1": "total_cholesterol", "s2": "ldl", "s3": "hdl", "s4": "cholesterol_ratio"},
    **{"s5": "log_triglycerides", "s6": "glucose", "bp": "blood_pressure"},
}


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; 30 % of the patients are held out. `raw` is not used: scikit-learn has the data."""
    data = load_diabetes(as_frame=True, scaled=False)
    # Its source has four decimals; scikit-learn before 1.8 parses some of them to a neighbouring float.
    frame = data.data.round(4).rename(columns=NAMES).assign(progression=data.target)
    return publish_csv_task(
        frame,
        answers=["progression"],
        placeholder={"progression": 150.0},
        seed="diabetes-progression-1",
        test_share=0.3,
        public=public,
        private=private,
    )
