"""The mask of this process: what `--redact` asked for, or none. Everything that shows or writes a recording asks here."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bioeval_tui.masking.mask import Mask


class _Chosen(NamedTuple):
    mask: Mask
    path: Path | None


_chosen = _Chosen(Mask(), None)


def current() -> Mask:
    """Return the mask that holds now."""
    return _chosen.mask


def rules_path() -> Path | None:
    """Return the rules file that was given, for processes that are started from here."""
    return _chosen.path


def use(mask: Mask, path: Path | None = None) -> None:
    """Let a mask hold from here on; `path` is its rules file."""
    global _chosen
    _chosen = _Chosen(mask, path)
