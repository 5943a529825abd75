"""Numbers out of sequences: what the models of peptides and molecules see."""

from __future__ import annotations

import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
CHARGE = {"K": 1.0, "R": 1.0, "H": 0.1, "D": -1.0, "E": -1.0}
# J. Kyte, R. F. Doolittle. A simple method for displaying the hydropathic character of a protein.
# 1982.
HYDROPATHY = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        [
            1.8,
            -4.5,
            -3.5,
            -3.5,
            2.5,
            -3.5,
            -3.5,
            -0.4,
            -3.2,
            4.5,
            3.8,
            -3.9,
            1.9,
            2.8,
            -1.6,
            -0.8,
            -0.7,
            -0.9,
            -1.3,
            4.2,
        ],
        strict=True,
    )
)


def peptide_features(frame: pd.DataFrame) -> pd.DataFrame:
    """Shares of residues (`residue_`), counts of pairs (`pair_`), and length, charge, hydropathy
    (`bulk_`).
    """
    sequence = frame["sequence"]
    length = sequence.str.len()
    columns = {f"residue_{letter}": sequence.str.count(letter) / length for letter in RESIDUES}
    columns["bulk_length"] = length
    columns["bulk_charge"] = sequence.map(
        lambda text: sum(CHARGE.get(letter, 0.0) for letter in text)
    )
    columns["bulk_hydropathy"] = sequence.map(
        lambda text: sum(HYDROPATHY.get(letter, 0.0) for letter in text) / len(text)
    )
    columns["bulk_cysteines"] = sequence.str.count("C")
    counter = CountVectorizer(analyzer="char", ngram_range=(2, 2), lowercase=False, min_df=60)
    pairs = counter.fit_transform(sequence).toarray()
    names = [f"pair_{term}" for term in counter.get_feature_names_out()]
    return pd.concat(
        [
            pd.DataFrame(columns, index=frame.index),
            pd.DataFrame(pairs, columns=names, index=frame.index),
        ],
        axis=1,
    )


def molecule_features(frame: pd.DataFrame) -> pd.DataFrame:
    """The descriptors, and counts of the SMILES' characters and pairs (`part_`)."""
    counter = CountVectorizer(analyzer="char", ngram_range=(1, 2), lowercase=False, min_df=40)
    parts = counter.fit_transform(frame["smiles"]).toarray()
    names = [f"part_{term}" for term in counter.get_feature_names_out()]
    return pd.concat(
        [frame.drop(columns="smiles"), pd.DataFrame(parts, columns=names, index=frame.index)],
        axis=1,
    )
