"""`biomlbench.data_sources` for graders and preparers that import it: the base class, its errors and the factory.

Sources that a task defines itself work. The published ones are asked for by their type through this program's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from bioeval_tui.errors import InputError
from bioeval_tui.grade.tasks.sources import get_source, source_types

__all__ = [
    "DataSource",
    "DataSourceConfigError",
    "DataSourceError",
    "DataSourceFactory",
    "DataSourceNotFoundError",
    "create_data_source",
    "list_available_sources",
    "register_data_source",
]


class DataSourceError(Exception):
    """Data could not be obtained."""

    def __init__(self, message: str, source_type: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.source_type = source_type


class DataSourceNotFoundError(DataSourceError):
    """No source has this type."""


class DataSourceConfigError(DataSourceError):
    """A source's config is wrong."""


class DataSource(ABC):
    """A source of tasks' data, as published."""

    @abstractmethod
    def download(self, source_config: dict[str, Any], data_dir: Path) -> Path | None:
        """Put the raw files into `data_dir`; return the archive if one was downloaded."""

    @abstractmethod
    def get_leaderboard(self, source_config: dict[str, Any]) -> pd.DataFrame:
        """Return the leaderboard."""


class _OwnSource(DataSource):
    """One of this program's sources under the published names."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def download(self, source_config: dict[str, Any], data_dir: Path) -> Path | None:
        return get_source({**source_config, "type": self._kind}).download(source_config, data_dir)

    def get_leaderboard(self, source_config: dict[str, Any]) -> pd.DataFrame:
        rows = get_source({**source_config, "type": self._kind}).leaderboard(source_config)
        values = [(row.team_name, row.score, row.submission_date) for row in rows]
        return pd.DataFrame(values, columns=["teamName", "score", "submissionDate"])


class DataSourceFactory:
    """Creates sources by their type."""

    _sources: dict[str, type[DataSource]] = {}  # noqa: RUF012 (shared, as published)

    @classmethod
    def register(cls, source_type: str, source_class: type[DataSource]) -> None:
        """Register a source of a task's own."""
        cls._sources[source_type] = source_class

    @classmethod
    def create(cls, source_type: str) -> DataSource:
        """Return a source.

        Raises:
            DataSourceNotFoundError: no source has this type.
        """
        if source_type in cls._sources:
            return cls._sources[source_type]()
        try:
            get_source({"type": source_type})
        except InputError as error:
            raise DataSourceNotFoundError(str(error), source_type) from None
        return _OwnSource(source_type)

    @classmethod
    def list_available(cls) -> list[str]:
        """Return all types."""
        return list(dict.fromkeys([*cls._sources, *source_types()]))

    @classmethod
    def is_available(cls, source_type: str) -> bool:
        """Whether a source has this type."""
        return source_type in cls.list_available()


def register_data_source(source_type: str) -> Callable[[type[DataSource]], type[DataSource]]:
    """Return a decorator that registers a source of a task's own."""

    def register(kind: type[DataSource]) -> type[DataSource]:
        DataSourceFactory.register(source_type, kind)
        return kind

    return register


create_data_source = DataSourceFactory.create
list_available_sources = DataSourceFactory.list_available
