"""Prepare the task from the blood cells beside it."""

from __future__ import annotations

from pathlib import Path

import anndata
import pandas as pd

from bioeval_tui.grade.h5ad import write_h5ad
from bioeval_tui.sample.task_files import cells, split

DATA = Path(__file__).parents[1] / "pbmc68k.h5ad"


LINEAGES = {
    "CD4+/CD25 T Reg": "CD4+ T",
    "CD4+/CD45RO+ Memory": "CD4+ T",
    "CD4+/CD45RA+/CD25- Naive T": "CD4+ T",
}
"""The subsets of CD4 T cells are one type: they overlap in expression, and of two there are too few
to be tested.
"""
LEFT_OUT = "CD34+"
"""Of 13 progenitor cells, a test set would have too few for an F1 that means anything."""


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; half of the cells of each type are held out. `raw` is not used."""
    whole = anndata.read_h5ad(DATA)
    full = whole[(whole.obs["cell_type"] != LEFT_OUT).to_numpy()].copy()
    labels = full.obs["cell_type"].astype(str).replace(LINEAGES)
    full.obs["cell_type"] = pd.Categorical(labels)
    train, test = split(
        full.n_obs, seed="pbmc-cell-types-2", test_share=0.5, strata=labels.tolist()
    )
    genes = list(full.var_names)
    write_h5ad(cells(full, train, genes, ["cell_type"]), public / "train.h5ad")
    write_h5ad(cells(full, test, genes), public / "test.h5ad")
    names = full.obs_names[test]
    known = sorted(labels.unique())
    guess = pd.Categorical([labels.mode()[0]] * len(test), categories=known)
    truth = pd.Categorical(labels.iloc[test], categories=known)
    for column, path in (
        (guess, public / "sample_submission.h5ad"),
        (truth, private / "answers.h5ad"),
    ):
        write_h5ad(anndata.AnnData(obs=pd.DataFrame({"cell_type": column}, index=names)), path)
    return public
