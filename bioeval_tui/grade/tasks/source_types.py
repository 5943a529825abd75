"""The types that `data_source.type` of a task may have, and the source of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.tasks.sources import BoardRow, TaskSource


class BuiltinSource:
    """The preparer finds the data; one that needs a missing file fails with its name."""

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Download nothing."""
        return None

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return nothing: the leaderboard ships with the task."""
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


def get_source(data_source: Mapping[str, Any] | None) -> TaskSource:
    """Return the source that a task's `data_source` names; without one, the data is put there by
    hand.

    Raises:
        InputError: the type is unknown; the sentence lists those there are.
    """
    kind = str((data_source or {}).get("type") or "manual")
    if kind in _BY_HAND:
        return BuiltinSource()
    if kind not in _DOWNLOADED:
        known = ", ".join(source_types())
        raise InputError(
            f"data_source.type `{clean_line(kind, 60)}` is unknown; use one of {known}"
        )
    # brings an HTTP client, which most tasks do without
    from bioeval_tui.grade.tasks import (
        downloads,
    )

    source: TaskSource = getattr(downloads, _DOWNLOADED[kind])()
    return source
