"""Shared by the preparers of the included tasks: splits that never change, and the files of a CSV
task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.base.files import below, write_whole


def stable_order(count: int, seed: str) -> list[int]:
    """Return 0 … count-1 shuffled by SHA-256 of seed and index.

    Unlike a library's generator it gives the same order on every platform and with every version,
    so that prepared files can be checked against checksums.
    """
    return sorted(
        range(count), key=lambda index: hashlib.sha256(f"{seed}:{index}".encode()).digest()
    )


def split(
    count: int,
    *,
    seed: str,
    test_share: float,
    strata: Sequence[Hashable] | None = None,
    groups: Sequence[Hashable] | None = None,
) -> tuple[list[int], list[int]]:
    """Return the shuffled row indices of the training and of the test set.

    `test_share` of the rows (0–1) is held out, of each stratum if `strata` names one per row. Rows
    of one group are never in both sets: whole groups, in shuffled order, go to the test set until
    it is full.
    """
    order = stable_order(count, seed)
    if groups is not None:
        return _split_groups(order, groups, round(count * test_share))
    by_stratum: dict[Hashable, list[int]] = {}
    for index in order:
        by_stratum.setdefault(strata[index] if strata is not None else None, []).append(index)
    test: set[int] = set()
    for rows in by_stratum.values():
        test.update(rows[: round(len(rows) * test_share)])
    return [i for i in order if i not in test], [i for i in order if i in test]


def _split_groups(
    order: list[int], groups: Sequence[Hashable], wanted: int
) -> tuple[list[int], list[int]]:
    members: dict[Hashable, list[int]] = {}
    for index in order:
        members.setdefault(groups[index], []).append(index)
    test: set[int] = set()
    for rows in members.values():
        if len(test) + len(rows) <= wanted:
            test.update(rows)
    return [i for i in order if i not in test], [i for i in order if i in test]


def write_csv(frame: Any, path: Path) -> None:
    """Write a pandas DataFrame the same way on every platform: UTF-8, LF, shortest exact
    numbers.
    """
    write_whole(below(path.parent, path.name), frame.to_csv(index=False, lineterminator="\n"))


def publish_csv_task(
    frame: Any,
    *,
    answers: Sequence[str],
    placeholder: dict[str, Any],
    seed: str,
    test_share: float,
    public: Path,
    private: Path,
    strata: Sequence[Hashable] | None = None,
    groups: Sequence[Hashable] | None = None,
) -> Path:
    """Split `frame` (one row per case, no id column) and write the four files of a CSV task.

    `public` gets train.csv, test.csv (without the columns `answers`) and sample_submission.csv
    (`id` and the `placeholder` values); `private` gets answers.csv (`id` and `answers`). Ids count
    from 1 in shuffled order, the training rows first, and don't reveal the original order. Returns
    `public`.
    """
    train_rows, test_rows = split(
        len(frame), seed=seed, test_share=test_share, strata=strata, groups=groups
    )
    train = frame.iloc[train_rows].reset_index(drop=True)
    test = frame.iloc[test_rows].reset_index(drop=True)
    train.insert(0, "id", range(1, len(train) + 1))
    test.insert(0, "id", range(len(train) + 1, len(train) + len(test) + 1))
    sample = test[["id"]].assign(**placeholder)
    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns=list(answers)), public / "test.csv")
    write_csv(sample, public / "sample_submission.csv")
    write_csv(test[["id", *answers]], private / "answers.csv")
    return public


def cells(full: Any, rows: list[int], genes: list[str], obs: Sequence[str] = ()) -> Any:
    """Return some cells and genes of an AnnData, with only X and the columns `obs`."""
    import anndata  # for single-cell tasks alone

    part = full[rows, genes]
    return anndata.AnnData(X=part.X.copy(), obs=part.obs[list(obs)].copy(), var=part.var[[]].copy())
