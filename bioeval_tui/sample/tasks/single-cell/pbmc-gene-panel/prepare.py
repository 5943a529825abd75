"""Prepare the task from the blood cells beside it."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
from scipy.sparse import csr_matrix

from bioeval_tui.grade.h5ad import write_h5ad
from bioeval_tui.sample.task_files import cells, split, stable_order

DATA = Path(__file__).parents[1] / "pbmc68k.h5ad"
HIDDEN_GENES = 150
SEEN_IN = 0.1
"""Genes are hidden only if at least this share of all cells shows them."""


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split: 40 % of the cells are held out, 150 genes hidden in them.

    `raw` is not used.
    """
    full = anndata.read_h5ad(DATA)
    seen = np.asarray((full.X > 0).mean(axis=0)).ravel() >= SEEN_IN
    order = [i for i in stable_order(full.n_vars, "pbmc-gene-panel-genes-1") if seen[i]]
    hidden = set(order[:HIDDEN_GENES])
    names = list(full.var_names)
    panel = [name for i, name in enumerate(names) if i not in hidden]
    targets = [name for i, name in enumerate(names) if i in hidden]
    train, test = split(full.n_obs, seed="pbmc-gene-panel-1", test_share=0.4)
    write_h5ad(cells(full, train, names), public / "train.h5ad")
    write_h5ad(cells(full, test, panel), public / "test.h5ad")
    answers = cells(full, test, targets)
    write_h5ad(answers, private / "answers.h5ad")
    blank = answers.copy()
    blank.X = csr_matrix(blank.shape, dtype=np.float32)
    write_h5ad(blank, public / "sample_submission.h5ad")
    return public
