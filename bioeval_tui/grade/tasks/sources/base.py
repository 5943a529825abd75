"""The protocol of data sources, and the rows that they return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bioeval_tui.errors import InputError, UnavailableError


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
