"""Prepare the task from the peptides beside it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bioeval_tui.sample.task_files import publish_csv_task

DATA = Path(__file__).parent / "peptides.csv"
SHARED = 8
"""Peptides that share this many residues in a row are on the same side of the split."""


def prepare(raw: Path, public: Path, private: Path) -> Path:
    """Write the split by families of related peptides; 30 % are held out. `raw` is not used."""
    frame = pd.read_csv(DATA)
    clash = frame.groupby("sequence")["antimicrobial"].transform("nunique") > 1
    frame = frame[~clash].drop_duplicates("sequence").reset_index(drop=True)
    return publish_csv_task(
        frame,
        answers=["antimicrobial"],
        placeholder={"antimicrobial": 0.5},
        seed="antimicrobial-peptides-1",
        test_share=0.3,
        groups=families(frame["sequence"].tolist()),
        public=public,
        private=private,
    )


def families(sequences: list[str]) -> list[int]:
    """Return a family number per sequence: the transitive closure of sharing `SHARED` residues in a
    row.
    """
    parent = list(range(len(sequences)))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    first_with: dict[str, int] = {}
    for index, sequence in enumerate(sequences):
        for start in range(len(sequence) - SHARED + 1):
            other = first_with.setdefault(sequence[start : start + SHARED], index)
            parent[root(index)] = root(other)
    return [root(index) for index in range(len(sequences))]
