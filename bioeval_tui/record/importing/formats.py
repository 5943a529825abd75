"""The table of import formats. To add one, add a file in this folder and a line here; those of other systems are plug-ins.

A format has `fits(look)`, which recognises it by content, and `read(file)`, which yields a `Header` (once or more, the last one
counts) and the `ToldConversation`s. The first format that fits is used, of this program's by `place`, then of other packages'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui import plugins

if TYPE_CHECKING:  # the command line lists the formats; what reads them takes a while to load
    from bioeval_tui.record.importing.conversations import Header, ToldConversation
    from bioeval_tui.record.importing.looking import FileLook

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

    def read(self, file: Path) -> Iterator[Header | ToldConversation]:
        """Yield the content of a file.

        Raises:
            InputError: the file does not follow the format.
            UsageError: another package's plug-in failed.
        """
        with plugins.blamed("importers", self.name):
            yield from plugins.called("importers", self.name, self.reads, file)


_HERE = "bioeval_tui.record.importing.chat_lines:"
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
        *(found.name for found in known()),
        *(found.name for found in plugins.of_others("importers")),
    ]
