"""Where the data of tasks comes from, by the `type` of `data_source` in config.yaml.

Each source answers the same three questions (see `DataSource`): download the raw files, give the leaderboard, give the
human baselines. Those that download are in `downloads`, which is imported when such a task is prepared.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bioeval_tui.errors import InputError, UnavailableError
from bioeval_tui.text import clean_line


class SourceError(UnavailableError):
    """Data could not be obtained; the message says what to install, or where to put which file."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row of a leaderboard."""

    team_name: str
    score: float
    submission_date: str = ""


@dataclass(frozen=True, slots=True)
class HumanRow:
    """One score of a person or a group of people."""

    team_name: str
    score: float
    human_type: str
    source: str


class DataSource(Protocol):
    """A source of tasks' data. `config` is `data_source` of the task's config.yaml."""

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Put the raw files into the existing folder `raw`; return the archive if one was downloaded.

        An archive is unpacked by the caller, its checksum verified before.

        Raises:
            SourceError: no network, a package or credentials are missing, or the other side refused.
        """
        ...

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return the leaderboard, best first; empty if the source has none.

        Raises:
            SourceError: as for `download`.
        """
        ...

    def human_baselines(self, config: Mapping[str, Any]) -> list[HumanRow]:
        """Return scores of people; empty if the source has none."""
        ...


def required(config: Mapping[str, Any], key: str, kind: str) -> str:
    """Return the text under `key` of a data source's config.

    Raises:
        InputError: it is missing or no text.
    """
    value = config.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"data_source.{key} is missing: a task of type {kind} needs it in its config.yaml")
    return value.strip()


class BuiltinSource:
    """The preparer finds the data; one that needs a missing file fails with its name."""

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Download nothing."""
        return None

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return nothing: the leaderboard ships with the task."""
        return []

    def human_baselines(self, config: Mapping[str, Any]) -> list[HumanRow]:
        """Return nothing, because human baselines are included with the task."""
        return []


_BY_HAND = ("builtin", "manual")
_DOWNLOADED = {
    "kaggle": "KaggleSource",
    "polaris": "PolarisSource",
    "proteingym": "ProteinGymSource",
    "proteingym-dms": "ProteinGymSource",
}


def source_types() -> list[str]:
    """Return the types that `data_source.type` may have."""
    return sorted([*_BY_HAND, *_DOWNLOADED])


def get_source(data_source: Mapping[str, Any] | None) -> DataSource:
    """Return the source that a task's `data_source` names; without one, the data is put there by hand.

    Raises:
        InputError: the type is unknown; the sentence lists those there are.
    """
    kind = str((data_source or {}).get("type") or "manual")
    if kind in _BY_HAND:
        return BuiltinSource()
    if kind not in _DOWNLOADED:
        known = ", ".join(source_types())
        raise InputError(f"data_source.type `{clean_line(kind, 60)}` is unknown; use one of {known}")
    downloads = importlib.import_module("bioeval_tui.grade.tasks.downloads")  # brings an HTTP client
    source: DataSource = getattr(downloads, _DOWNLOADED[kind])()
    return source
