"""ProteinGym's deep mutational scanning assays (https://proteingym.org), supervised splits.

A few archives contain all assays; a task needs one file of one of them. They are downloaded once, into the
parent of the tasks' folders, where the published preparers also look for the table of assays.
"""

from __future__ import annotations

import csv
import io
import math
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from bioeval_tui.errors import InputError
from bioeval_tui.files import writing_whole
from bioeval_tui.grade.tasks.sources.base import BoardRow, HumanRow, SourceError, required
from bioeval_tui.grade.tasks.sources.http import download, fetch_text
from bioeval_tui.text import clean_line

_ARCHIVES = "https://marks.hms.harvard.edu/proteingym/ProteinGym_v1.3"
_TABLES = "https://zenodo.org/records/15293562/files"
_BOARDS = (
    "https://raw.githubusercontent.com/OATML-Markslab/ProteinGym/refs/heads/main/benchmarks/DMS_supervised"
)
DATE = "2024-01-01"
"""The date of the published leaderboards, because ProteinGym gives none."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where ProteinGym's files are: folders of archives and of tables of assays, and the root of leaderboards."""

    archives: str = _ARCHIVES
    tables: str = _TABLES
    boards: str = _BOARDS


class ProteinGymSource:
    """Assays and supervised Spearman correlations of ProteinGym; `benchmark_id` is the assay."""

    def __init__(self, addresses: Addresses | None = None) -> None:
        self.addresses = addresses or Addresses()

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Put the assay's CSV file into `raw`, and the table of assays into the folder above the task's.

        Raises:
            InputError: the archives have no such assay.
            SourceError: an archive cannot be downloaded or is incomplete.
        """
        assay = required(config, "benchmark_id", "proteingym-dms")
        shared = raw.parent.parent  # raw is <data>/<folder>/<task>/raw
        family, archives = _family(assay)
        self._once(f"{self.addresses.tables}/DMS_{family}.csv", shared)
        for name in archives:
            archive = self._once(f"{self.addresses.archives}/{name}.zip", shared)
            if _extract(archive, assay, raw / f"{assay}.csv"):
                return None
        looked = " and ".join(f"{name}.zip" for name in archives)
        raise InputError(
            f"{looked} in {shared} have no assay {clean_line(assay)}, which data_source.benchmark_id names"
        )

    def _once(self, url: str, folder: Path) -> Path:
        target = folder / PurePosixPath(url).name
        if not target.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            download(url, target, f"put the file at {target}")
        return target

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return the models' correlations on the assay, best first; models without one are left out.

        Raises:
            InputError: the published leaderboard has no such assay.
            SourceError: the leaderboard cannot be downloaded.
        """
        assay = required(config, "benchmark_id", "proteingym-dms")
        family, _ = _family(assay)
        url = f"{self.addresses.boards}/{family}/Spearman/DMS_{family}_Spearman_DMS_level.csv"
        hint = "put the leaderboard of the task beside its config.yaml as leaderboard.csv"
        rows = list(csv.reader(io.StringIO(fetch_text(url, hint))))
        line = next((row for row in rows[1:] if row and row[0] == assay), None)
        if line is None:
            raise InputError(f"ProteinGym's leaderboard has no assay {clean_line(assay)}")
        scores = [
            (clean_line(team), _number(value)) for team, value in zip(rows[0][1:], line[1:], strict=False)
        ]
        board = [BoardRow(team, score, DATE) for team, score in scores if score is not None]
        return sorted(board, key=lambda row: -row.score)

    def human_baselines(self, config: Mapping[str, Any]) -> list[HumanRow]:
        """Return nothing: ProteinGym has no scores of people."""
        return []


def _family(assay: str) -> tuple[str, list[str]]:
    if "indels" in assay.lower():
        return "indels", ["cv_folds_indels"]
    return "substitutions", ["cv_folds_singles_substitutions", "cv_folds_multiples_substitutions"]


def _extract(archive: Path, assay: str, target: Path) -> bool:
    """Copy the assay's file out of the archive; return False if it is not there."""
    try:
        with zipfile.ZipFile(archive) as file:
            member = next(
                (item for item in file.namelist() if PurePosixPath(item).name == f"{assay}.csv"), None
            )
            if member is None:
                return False
            with file.open(member) as source, writing_whole(target) as out:
                shutil.copyfileobj(source, out)
    except zipfile.BadZipFile:
        raise SourceError(f"{archive} is an incomplete zip file; delete it and prepare again") from None
    return True


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
