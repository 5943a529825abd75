"""Make the files of sample_submissions/ by training on the shipped tasks; run again, it writes the
same files.

    uv run python scripts/make-sample-submissions.py

Three agents hand in work: `careful` trains a sound model, `hasty` a poor one, `broken` writes files
that cannot be scored, each in a way of its own. The files of `broken` start from `careful`'s
predictions.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "train-leaderboards"))

import anndata
import numpy as np
import pandas as pd
from boards import prepare
from features import molecule_features
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

FOLDER = Path(__file__).parents[1] / "sample_submissions"
STAMP = "2026-11-20T09-00-00-GMT_run-group"


def place(agent: str, name: str) -> Path:
    """Return the path of a file that an agent hands in, its folder made."""
    path = FOLDER / f"{STAMP}_{agent}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_jsonl(name: str, lines: list[tuple[str, Path | None]]) -> None:
    """Write the list of submissions of several tasks; paths are relative to the list's folder."""
    entries: list[dict[str, Any]] = [
        {"task_id": task, "submission_path": path and path.relative_to(FOLDER).as_posix()}
        for task, path in lines
    ]
    text = "".join(json.dumps(entry) + "\n" for entry in entries)
    (FOLDER / name).write_text(text, encoding="utf-8")


def save(frame: pd.DataFrame, path: Path) -> Path:
    """Write a CSV submission with LF line ends on every platform."""
    frame.to_csv(path, index=False, lineterminator="\n")
    return path


def breast_cancer() -> list[tuple[str, Path | None]]:
    """The three files of the tour: a sound model, a poor one, and a file with several faults at
    once.
    """
    task = "oncology/breast-cancer"
    with tempfile.TemporaryDirectory() as folder:
        public, _ = prepare(task, Path(folder))
        train, test = pd.read_csv(public / "train.csv"), pd.read_csv(public / "test.csv")
    features = [name for name in test.columns if name != "id"]

    def predictions(model: Any, columns: list[str]) -> pd.DataFrame:
        fitted = make_pipeline(StandardScaler(), model).fit(train[columns], train["malignant"])
        return test[["id"]].assign(malignant=fitted.predict_proba(test[columns])[:, 1].round(4))

    good = predictions(SVC(C=3.0, probability=True, random_state=0), features)
    poor = predictions(KNeighborsClassifier(5), ["mean_symmetry", "mean_fractal_dimension"])
    rows = [[str(row.id), str(row.malignant)] for row in good.itertuples()]
    rows[20][1] = ""
    rows[33][1] = "malignant"
    # seven ids missing, one twice, one unknown
    faulty = [
        *rows[:3],
        *rows[10:],
        rows[40],
        ["9999", "0.5"],
    ]
    broken = pd.DataFrame(faulty, columns=good.columns)
    return [
        (task, save(good, place("careful", "breast-cancer.csv"))),
        (task, save(poor, place("hasty", "breast-cancer.csv"))),
        (task, save(broken, place("broken", "breast-cancer.csv"))),
    ]


def solubility() -> list[tuple[str, Path | None]]:
    """A task where lower is better: boosted trees, and the number of rings alone from 20
    molecules.
    """
    task = "chemistry/solubility"
    with tempfile.TemporaryDirectory() as folder:
        public, _ = prepare(task, Path(folder))
        train, test = pd.read_csv(public / "train.csv"), pd.read_csv(public / "test.csv")

    parts = molecule_features(pd.concat([train, test]).drop(columns=["id", "log_solubility"]))

    def predictions(model: Any, columns: list[str], rows: int) -> pd.DataFrame:
        model.fit(parts[columns].iloc[:rows], train["log_solubility"].iloc[:rows])
        return test[["id"]].assign(
            log_solubility=model.predict(parts[columns].iloc[len(train) :]).round(3)
        )

    boosting = GradientBoostingRegressor(n_estimators=300, max_depth=4, random_state=0)
    return [
        (
            task,
            save(
                predictions(boosting, list(parts), len(train)), place("careful", "solubility.csv")
            ),
        ),
        (task, save(predictions(Ridge(1.0), ["rings"], 20), place("hasty", "solubility.csv"))),
    ]


def write(data: anndata.AnnData, path: Path) -> Path:
    """Write an h5ad submission, compressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are there twice are meant
        data.write_h5ad(path, compression="gzip")
    return path


def cell_types() -> list[tuple[str, Path | None]]:
    """Labels of cells in obs: good, poor, cells missing, a cell twice, the column misspelt, cut in
    half.
    """
    task = "single-cell/pbmc-cell-types"
    with tempfile.TemporaryDirectory() as folder:
        public, _ = prepare(task, Path(folder))
        train, test = (
            anndata.read_h5ad(public / "train.h5ad"),
            anndata.read_h5ad(public / "test.h5ad"),
        )
    known, unknown, labels = train.X.toarray(), test.X.toarray(), train.obs["cell_type"].astype(str)
    best = np.argsort(-known.var(axis=0), kind="stable")

    def predictions(model: Any, genes: int) -> anndata.AnnData:
        model.fit(known[:, best[:genes]], labels)
        guess = pd.Categorical(model.predict(unknown[:, best[:genes]]))
        return anndata.AnnData(obs=pd.DataFrame({"cell_type": guess}, index=test.obs_names))

    balanced = LogisticRegression(C=0.01, class_weight="balanced", max_iter=2000)
    good = predictions(make_pipeline(StandardScaler(), balanced), 400)
    poor = predictions(KNeighborsClassifier(1), 5)
    missing = good[25:].copy()
    twice = good.copy()
    twice.obs_names = [*good.obs_names[:-1], good.obs_names[0]]
    misspelt = anndata.AnnData(obs=good.obs.rename(columns={"cell_type": "celltype"}))
    files = [
        (task, write(good, place("careful", "pbmc-cell-types.h5ad"))),
        (task, write(poor, place("hasty", "pbmc-cell-types.h5ad"))),
        (task, write(missing, place("broken", "pbmc-cell-types-cells-missing.h5ad"))),
        (task, write(twice, place("broken", "pbmc-cell-types-cell-twice.h5ad"))),
        (task, write(misspelt, place("broken", "pbmc-cell-types-no-such-column.h5ad"))),
    ]
    whole = files[0][1].read_bytes()
    cut = place("broken", "pbmc-cell-types-cut-in-half.h5ad")
    cut.write_bytes(whole[: len(whole) // 2])
    return [*files, (task, cut)]


def gene_panel() -> list[tuple[str, Path | None]]:
    """A matrix of cells and genes: good (its genes in another order), poor, NaN, wrong gene
    names.
    """
    task = "single-cell/pbmc-gene-panel"
    with tempfile.TemporaryDirectory() as folder:
        public, _ = prepare(task, Path(folder))
        train, test = (
            anndata.read_h5ad(public / "train.h5ad"),
            anndata.read_h5ad(public / "test.h5ad"),
        )
    hidden = [gene for gene in train.var_names if gene not in set(test.var_names)]
    known, unknown = train[:, test.var_names].X.toarray(), test.X.toarray()
    truth = train[:, hidden].X.toarray()

    def submission(values: np.ndarray, genes: list[str]) -> anndata.AnnData:
        small = np.where(np.abs(values) < 0.02, 0.0, values).round(2).astype("float32")
        frame = pd.DataFrame(index=genes)
        return anndata.AnnData(
            X=csr_matrix(small), obs=pd.DataFrame(index=test.obs_names), var=frame
        )

    components = make_pipeline(StandardScaler(), PCA(10, random_state=0), Ridge(1.0))
    predicted = components.fit(known, truth).predict(unknown)
    good = submission(predicted[:, ::-1], hidden[::-1])
    poor = submission(np.repeat(truth.max(axis=0)[None, :] / 2, len(unknown), axis=0), hidden)
    with_nan = predicted.copy()
    with_nan[7, 3] = with_nan[90, 11] = np.nan
    renamed = [f"gene_{number}" for number in range(40)]
    return [
        (task, write(good, place("careful", "pbmc-gene-panel.h5ad"))),
        (task, write(poor, place("hasty", "pbmc-gene-panel.h5ad"))),
        (task, write(submission(with_nan, hidden), place("broken", "pbmc-gene-panel-nan.h5ad"))),
        (
            task,
            write(
                submission(predicted, [*renamed, *hidden[40:]]),
                place("broken", "pbmc-gene-panel-wrong-genes.h5ad"),
            ),
        ),
    ]


if __name__ == "__main__":
    first = breast_cancer()
    write_jsonl("submissions.jsonl", first)
    write_jsonl("all_submissions.jsonl", [*first, *solubility(), *cell_types(), *gene_panel()])
