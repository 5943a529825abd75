"""The mask of this process, set by `--redact`. Everything that shows or writes a recording uses it.

Without rules, masking is loaded only when a text is cleaned, so that the first screen does not wait for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from bioeval_tui.record.masking.mask import Mask


Shown = TypeVar("Shown")


class _Chosen(NamedTuple):
    mask: Mask | None
    path: Path | None


_chosen = _Chosen(None, None)


def masking() -> bool:
    """Return whether this process masks."""
    return _chosen.mask is not None and _chosen.mask.active


def current() -> Mask:
    """Return the current mask; without rules, it only cleans."""
    if _chosen.mask is None:
        from bioeval_tui.record.masking.mask import Mask  # who masks nothing waits for no mask

        return Mask()
    return _chosen.mask


def masked(value: Shown) -> Shown:
    """Return a value as this process may show it: every text in it masked, if it masks."""
    result: Shown = current().value(value) if masking() else value
    return result


def rules_path() -> Path | None:
    """Return the rules file that was given, for processes that are started from here."""
    return _chosen.path


def use(mask: Mask, path: Path | None = None) -> None:
    """Set the current mask; `path` is its rules file."""
    global _chosen
    _chosen = _Chosen(mask, path)
