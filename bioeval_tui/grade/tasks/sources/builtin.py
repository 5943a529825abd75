"""Data that needs no download: in this package or a required one, fetched by the preparer, or put into the raw folder by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bioeval_tui.grade.tasks.sources.base import BoardRow, HumanRow


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
