"""The mask of this process: what `--redact` asked for, or none. Everything that shows or writes a recording asks here."""

from __future__ import annotations

from bioeval_tui.masking.mask import Mask

_current = Mask()


def current() -> Mask:
    """Return the mask that holds now."""
    return _current


def use(mask: Mask) -> None:
    """Let a mask hold from here on."""
    global _current
    _current = mask
