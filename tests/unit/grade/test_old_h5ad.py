"""h5ad files of anndata 0.7 and older are scored as the anndata of today reads them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import sparse

from bioeval_tui.grade import h5ad
from tests.command import call
from tests.old_h5ad import LAYOUTS, write_old

CELLS = [f"cell{n}" for n in range(40)]
GENES = [f"gene{n}" for n in range(5)]
RANDOM = np.random.default_rng(11)
NUMBERS = RANDOM.integers(0, 11, 40)
MATRIX = RANDOM.random((40, 5)).astype(np.float32) * (RANDOM.random((40, 5)) > 0.5)
EMBEDDING = RANDOM.random((40, 3))
OBS = pd.DataFrame(
    {
        "kind": pd.Categorical(np.array(["T cell", "B", "NK", "10", "2"], object)[NUMBERS % 5]),
        "cluster": pd.Categorical([str(number) for number in NUMBERS]),
        "ordered": pd.Categorical(list("zyx") * 13 + ["z"], categories=list("zyxw"), ordered=True),
        "one": pd.Categorical(["only"] * 40),
        "whole_class": pd.Categorical(NUMBERS),
        "half_class": pd.Categorical(NUMBERS / 2),
        "text": [f"x{number}" for number in NUMBERS],
        "whole": NUMBERS,
        "real": RANDOM.random(40),
        "flag": NUMBERS > 5,
    },
    index=CELLS,
)


def old_file(path: Path, layout: str, obs: pd.DataFrame = OBS, **parts: Any) -> Path:
    return write_old(path, layout, obs, GENES, **parts)


def as_anndata_reads(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return anndata.read_h5ad(path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns_names_and_matrices_of_old_files_are_as_anndata_reads_them(
    tmp_path: Path, layout: str
) -> None:
    layers = {"dense": MATRIX, "csr": sparse.csr_matrix(MATRIX), "csc": sparse.csc_matrix(MATRIX)}
    path = old_file(
        tmp_path / "old.h5ad",
        layout,
        x=sparse.csr_matrix(MATRIX),
        layers=layers,
        obsm={"X_pca": EMBEDDING, "X_umap": EMBEDDING[:, :2]},
        var={"marker": pd.Categorical(list("ababa"))},
    )
    expected = as_anndata_reads(path)
    for name in OBS:
        element, _ = h5ad.read_element(path, "obs", name)
        assert element is not None
        assert list(element.cells) == list(expected.obs_names) == CELLS
        assert list(element.values) == list(expected.obs[name]) == list(OBS[name]), name
    for kind, name, values in (
        *(("layers", name, expected.layers[name].copy()) for name in layers),
        ("X", "X", expected.X),
        ("obsm", "X_umap", expected.obsm["X_umap"]),
    ):
        element, _ = h5ad.read_element(path, kind, name)
        assert element is not None
        assert kind == "obsm" or list(element.genes) == GENES
        pair = [
            part.toarray() if sparse.issparse(part) else part for part in (element.values, values)
        ]
        np.testing.assert_array_equal(*pair)
    assert list(h5ad.cell_names(path)) == CELLS


def add_task(folder: Path, answers: str | None) -> list[object]:
    """Write a task on the cells' clusters, its answers in that layout; return the options that find
    it.
    """
    private = folder / "data/cells/task/prepared/private"
    private.mkdir(parents=True)
    task = folder / "tasks/cells/task"
    task.mkdir(parents=True)
    if answers is None:
        anndata.AnnData(obs=OBS[["cluster"]].copy()).write_h5ad(private / "answers.h5ad")
    else:
        old_file(private / "answers.h5ad", answers, OBS[["cluster"]])
    names = {
        "answers": "private/answers.h5ad",
        "sample_submission": "public/sample_submission.h5ad",
    }
    dataset = {key: f"cells/task/prepared/{name}" for key, name in names.items()}
    grader = {"name": "accuracy", "metric": "accuracy", "h5ad": {"obs": "cluster"}}
    config = {"id": "cells/task", "name": "Cells", "dataset": dataset, "grader": grader}
    (task / "config.yaml").write_text(yaml.safe_dump(config))
    board = "teamName,score\n" + "".join(f"t{n},{n / 10}\n" for n in range(11))
    (task / "leaderboard.csv").write_text(board)
    return ["--tasks-dir", folder / "tasks", "--data-dir", folder / "data"]


@pytest.mark.parametrize("answers", [None, "0.7"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_labels_of_an_old_file_are_scored_and_not_their_codes(
    tmp_path: Path, layout: str, answers: str | None
) -> None:
    options = add_task(tmp_path, answers)
    wrong = OBS["cluster"].astype(str)
    wrong.iloc[:10] = "none"
    path = old_file(
        tmp_path / "guess.h5ad", layout, pd.DataFrame({"cluster": wrong.astype("category")})
    )
    result = call("grade-sample", path, "cells/task", *options, "--json", catch_exceptions=False)
    report = json.loads(result.stdout)
    assert (report["score"], report["valid_submission"]) == (0.75, True)


def test_labels_that_an_old_file_lost_to_a_column_of_genes_are_not_guessed(tmp_path: Path) -> None:
    options = add_task(tmp_path, None)
    var = {"cluster": pd.Categorical(list("ababa"))}
    path = old_file(tmp_path / "guess.h5ad", "0.6", OBS[["cluster"]], var=var)
    result = call("validate", path, "cells/task", *options)
    assert "the labels of `obs` column `cluster` are not in the file" in result.output
    assert "write it with a newer anndata" in result.output


def test_a_large_old_file_is_read_for_its_column_of_labels_alone(tmp_path: Path) -> None:
    options = add_task(tmp_path, None)
    path = old_file(tmp_path / "guess.h5ad", "0.6", OBS[["cluster"]])
    import h5py

    with h5py.File(path, "r+") as file:  # 400 MB, none of which is stored
        file.create_dataset("X", (40, 2_500_000), "f4", chunks=(40, 2_500))
    result = call("grade-sample", path, "cells/task", *options, "--json", catch_exceptions=False)
    assert json.loads(result.stdout)["score"] == 1.0


def test_classes_of_whole_numbers_halves_and_flags_are_the_same_categorical_or_not() -> None:
    for values in (NUMBERS, NUMBERS / 2, NUMBERS.astype(float), NUMBERS > 5):
        column = pd.Series(values)
        plain, categorical = (
            h5ad.alignment.labels(each, "kind")[0] for each in (column, column.astype("category"))
        )
        assert list(plain) == list(categorical)
