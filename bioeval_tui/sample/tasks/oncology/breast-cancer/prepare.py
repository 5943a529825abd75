"""Prepare the task from scikit-learn's copy of the Breast Cancer Wisconsin (Diagnostic) data."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer

from bioeval_tui.sample.task_files import publish_csv_task

SHAPE = [
    *[
        "mean_texture",
        "mean_smoothness",
        "mean_compactness",
        "mean_concavity",
        "mean_concave_points",
    ],
    *["mean_symmetry", "mean_fractal_dimension"],
]
"""What a pathologist sees without measuring: with the sizes, a straight line tells nearly all
masses apart.
"""


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; 30 % of each diagnosis is held out.

    `raw` is not used: scikit-learn has the data.
    """
    data = load_breast_cancer(as_frame=True)
    frame = data.data.rename(columns=lambda name: name.replace(" ", "_"))[SHAPE]
    frame["malignant"] = (data.target == 0).astype(int)  # scikit-learn codes malignant as 0
    return publish_csv_task(
        frame,
        answers=["malignant"],
        placeholder={"malignant": 0.5},
        seed="breast-cancer-1",
        test_share=0.3,
        strata=frame["malignant"].tolist(),
        public=public,
        private=private,
    )
