"""SVG screenshots without references to other hosts."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from bioeval_tui.files import write_beside

_FONT_FACE = re.compile(r"@font-face\s*\{[^}]*\}\s*")
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_FONT = re.compile(r"font-family:\s*Fira Code[^;]*;")
_MONOSPACE = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace;"


def without_hosts(svg: str) -> str:
    """Return the picture without references to fonts on other hosts; the reader's own fonts are used."""
    return _FONT.sub(_MONOSPACE, _COMMENT.sub("", _FONT_FACE.sub("", svg)))


def save(svg: str, folder: Path, name: str, at: datetime) -> Path:
    """Write a picture that only its owner may read, under an unused name; return its path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    return write_beside(folder, f"bioeval-tui-{name}-{at:%Y-%m-%d-%H%M%S}", ".svg", without_hosts(svg))


def share(svg: str, path: Path, caption: str) -> Path:
    """Write a picture under an unused name, and its caption as text beside it; return the picture's path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    written = write_beside(path.parent, path.stem, path.suffix, without_hosts(svg))
    if caption:
        write_beside(written.parent, written.stem, ".txt", f"{caption}\n")
    return written
