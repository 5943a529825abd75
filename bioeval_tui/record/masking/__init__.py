"""Masking: the names and identifiers of a rules file are replaced in everything that is shown or
written.

`rules` reads the rules and finds their matches in a text, `mask` applies them to events, values and
streamed text; here is the mask of this process, set by `--redact`. Whatever reads something from
outside masks it there, once. This is masking, never de-identification: it only replaces matches of
its rules.

Without rules, `mask` is loaded only when a text is cleaned, so that the first screen does not wait
for it.
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
NO_REVIEWS = "names are masked; to review, start without --redact"
"""Reviews are recorded, and what is recorded is not masked."""


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
