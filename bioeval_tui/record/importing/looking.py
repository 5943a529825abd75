"""Reads the start of a file to detect its format from the content."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from bioeval_tui import plugins
from bioeval_tui.peer_limits import MAX_LINE
from bioeval_tui.record.importing.json_reading import CHUNK, members

if TYPE_CHECKING:
    from bioeval_tui.record.importing.conversations import Header, ImportedConversation


if sys.version_info >= (3, 14):  # which read members compressed with Zstandard, as in newer Inspect logs
    from zipfile import BadZipFile, ZipFile, is_zipfile
else:
    from backports.zstd.zipfile import BadZipFile, ZipFile, is_zipfile

__all__ = ["BadZipFile", "FileLook", "ZipFile", "is_zipfile"]

Shape = Literal["zip", "lines", "list", "object", "other"]
STREAMED = ("samples", "simulations", "tasks", "steps", "traj", "messages")
"""Long lists in the formats, of which only the first item is read."""


@dataclass(slots=True)
class FileLook:
    """The start of a file.

    `first` is the first line or list item, or as much of an object as was read; `names` are a zip's members.
    """

    shape: Shape
    first: dict[str, Any] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    @classmethod
    def at(cls, file: Path, enough: Callable[[FileLook], bool] = lambda look: False) -> FileLook:
        """Read the start of a file. A large object is read only until `enough`.

        Raises:
            InputError: it is empty or no JSON.
            OSError: it cannot be read.
        """
        if is_zipfile(file):
            with ZipFile(file) as archive:
                return cls("zip", names=frozenset(archive.namelist()))
        with file.open("rb") as opened:
            begin = opened.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
            opened.seek(0)
            if begin.startswith(b"["):
                _, first = next(iter(members(opened)), ("", None))
                return cls("list", first if isinstance(first, dict) else {})
            if not begin.startswith(b"{"):
                return cls("other")
            if (line := _first_line(opened)) is not None:
                return cls("lines", line)
            opened.seek(0)
            look = cls("object")
            for key, value in members(opened, STREAMED):
                if key in STREAMED and not isinstance(look.first.get(key), list):
                    look.first[key] = [value]
                elif key not in STREAMED:
                    look.first[key] = value
                if enough(look):
                    break
            return look


def _first_line(opened: BinaryIO) -> dict[str, Any] | None:
    """Return the object on the first of several lines; None if the line has only a part of it, or is the only one."""
    line = opened.readline(MAX_LINE)
    if not line.endswith(b"\n") or not opened.read(CHUNK).strip():
        return None
    try:
        first = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return first if isinstance(first, dict) else None


OWN = "bioeval-tui"
Function = str | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """One format: a line of the table below, or the entry point of a plug-in.

    `fits` and `reads` are functions; as `module:function` they are imported only when they are called.
    """

    name: str
    about: str
    fits: Function
    reads: Function
    place: int = 100

    def holds(self, look: FileLook) -> bool:
        """Return whether a file is of this format.

        Raises:
            UsageError: another package's plug-in failed.
        """
        return bool(plugins.called("importers", self.name, self.fits, look))

    def read(self, file: Path) -> Iterator[Header | ImportedConversation]:
        """Yield the content of a file.

        Raises:
            InputError: the file does not follow the format.
            UsageError: another package's plug-in failed.
        """
        with plugins.blamed("importers", self.name):
            yield from plugins.called("importers", self.name, self.reads, file)


_HERE = "bioeval_tui.record.importing.chat:"
FORMATS = (
    ImportFormat("transcripts", "conversations with what the user was told, as `bioeval-tui guards` reads them",
                 _HERE + "fits_transcripts", _HERE + "read", place=5),
    ImportFormat("openai-jsonl", "conversations in OpenAI's chat format", _HERE + "fits", _HERE + "read", place=6),
)  # fmt: skip


def known() -> list[ImportFormat]:
    """Return this program's formats, the bundled ones too, in the order in which they are tried."""
    return plugins.in_order(ImportFormat, "importers", FORMATS)


def names() -> list[str]:
    """Return the names for `--format`, this program's own first."""
    return [
        OWN,
        *(importer.name for importer in known()),
        *(importer.name for importer in plugins.of_others("importers")),
    ]
