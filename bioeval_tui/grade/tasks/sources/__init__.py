"""Where the data of tasks comes from, by the `type` of `data_source` in config.yaml.

Each source answers the same three questions (see `base.DataSource`): download the raw files, give the
leaderboard, give the human baselines. Nothing here is imported until a task is prepared.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from bioeval_tui.errors import InputError
from bioeval_tui.grade.tasks.sources.base import DataSource
from bioeval_tui.text import clean_line

_MODULES = {
    "builtin": "builtin:BuiltinSource",
    "kaggle": "kaggle:KaggleSource",
    "manual": "builtin:BuiltinSource",
    "polaris": "polaris:PolarisSource",
    "proteingym": "proteingym:ProteinGymSource",
    "proteingym-dms": "proteingym:ProteinGymSource",
}


def source_types() -> list[str]:
    """Return the types that `data_source.type` may have."""
    return sorted(_MODULES)


def get_source(data_source: Mapping[str, Any] | None) -> DataSource:
    """Return the source that a task's `data_source` names; without one, the data is put there by hand.

    Raises:
        InputError: the type is unknown; the sentence lists those there are.
    """
    kind = str((data_source or {}).get("type") or "manual")
    if kind not in _MODULES:
        known = ", ".join(source_types())
        raise InputError(f"data_source.type `{clean_line(kind, 60)}` is unknown; use one of {known}")
    module, _, name = _MODULES[kind].partition(":")
    source: DataSource = getattr(importlib.import_module(f"{__name__}.{module}"), name)()
    return source
