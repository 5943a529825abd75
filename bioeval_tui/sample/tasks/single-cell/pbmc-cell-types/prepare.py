"""Prepare the task from the blood cells beside it."""

from __future__ import annotations

from pathlib import Path

import anndata
import pandas as pd

from bioeval_tui.grade.files.h5ad_reading import write_h5ad
from bioeval_tui.sample.tasks.common import cells, split

DATA = Path(__file__).parents[1] / "pbmc68k.h5ad"


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split; 40 % of the cells of each type are held out. `raw` is not used."""
    full = anndata.read_h5ad(DATA)
    labels = full.obs["cell_type"].astype(str)
    train, test = split(full.n_obs, seed="pbmc-cell-types-1", test_share=0.4, strata=labels.tolist())
    genes = list(full.var_names)
    write_h5ad(cells(full, train, genes, ["cell_type"]), public / "train.h5ad")
    write_h5ad(cells(full, test, genes), public / "test.h5ad")
    names = full.obs_names[test]
    known = sorted(labels.unique())
    guess = pd.Categorical([labels.mode()[0]] * len(test), categories=known)
    truth = pd.Categorical(labels.iloc[test], categories=known)
    for column, path in ((guess, public / "sample_submission.h5ad"), (truth, private / "answers.h5ad")):
        write_h5ad(anndata.AnnData(obs=pd.DataFrame({"cell_type": column}, index=names)), path)
    return public
