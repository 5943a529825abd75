"""The table of import formats. To add one, add a file in this folder and a line here.

A format's module has `fits(look)`, which recognises it by content, and `read(file)`, which yields a `Header` (once or more,
the last one counts) and the `ToldConversation`s. The first format that fits is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # the command line lists the formats; what reads them takes a while to load
    from bioeval_tui.record.importing.conversations import Header, ToldConversation
    from bioeval_tui.record.importing.looking import FileLook

OWN = "bioeval-tui"


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """One format. `fits` and `reads` are `module:function` of this package."""

    name: str
    about: str
    fits: str
    reads: str

    def holds(self, look: FileLook) -> bool:
        """Return whether a file is of this format."""
        return cast(bool, _function(self.fits)(look))

    def read(self, file: Path) -> Iterator[Header | ToldConversation]:
        """Yield the content of a file.

        Raises:
            InputError: the file does not follow the format.
        """
        return cast("Iterator[Header | ToldConversation]", _function(self.reads)(file))


FORMATS = (
    ImportFormat("tau-bench", "τ-bench's results", "tau_bench:fits", "tau_bench:read"),
    ImportFormat("tau2", "τ²-bench's results", "tau2:fits", "tau2:read"),
    ImportFormat("inspect", "Inspect's logs, .eval and .json", "inspect:fits", "inspect:read"),
    ImportFormat("atif", "ATIF trajectories (Harbor)", "atif:fits", "atif:read"),
    ImportFormat("transcripts", "conversations with what the user was told, as `bioeval-tui guards` reads them",
                 "chat_lines:fits_transcripts", "chat_lines:read"),
    ImportFormat("openai-jsonl", "conversations in OpenAI's chat format", "chat_lines:fits", "chat_lines:read"),
)  # fmt: skip


def names() -> list[str]:
    """Return the names for `--format`, this program's own first."""
    return [OWN, *(found.name for found in FORMATS)]


def _function(where: str) -> Callable[..., object]:
    module, _, name = where.partition(":")
    return cast(
        "Callable[..., object]", getattr(import_module(f"bioeval_tui.record.importing.{module}"), name)
    )
