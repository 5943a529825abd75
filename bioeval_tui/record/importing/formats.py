"""The table of formats that can be imported: adding one is one file beside this one and one line here.

A format's module has `fits(look)`, which tells it by content, and `read(file)`, which yields a `Header` (once or more,
the last one counts) and the `ToldConversation`s. The first format that fits is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bioeval_tui.errors import InputError, RecordingError, UsageError
from bioeval_tui.record.importing.looking import FileLook

if TYPE_CHECKING:  # the command line lists the formats; the event model takes a while to load
    from bioeval_tui.record.importing.conversations import Header, ToldConversation

OWN = "bioeval-tui"


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """One format. `fits` and `reads` are `module:function` of this package."""

    name: str
    about: str
    fits: str
    reads: str

    def holds(self, look: FileLook) -> bool:
        """Say whether a file is of this format."""
        return cast(bool, _function(self.fits)(look))

    def read(self, file: Path) -> Iterator[Header | ToldConversation]:
        """Yield what a file holds.

        Raises:
            InputError: the file is not as the format has it.
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


def format_of(file: Path, name: str | None = None) -> ImportFormat | None:
    """Return a file's format, by content unless `name` says it; None for a recording of this program.

    Raises:
        RecordingError: the file cannot be read, or is of none of the formats.
    """
    if name is not None:
        if name not in names():
            raise UsageError(f"no such format: {name}; known are {', '.join(names())}")
        return next((found for found in FORMATS if found.name == name), None)
    try:
        look = FileLook.at(file, lambda seen: _found(seen) is not None)
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from None
    except InputError:
        return None  # damaged: a recording of this program may be, and then says so itself
    if look.shape == "lines" and {"kind", "run_id", "seq"} <= look.first.keys():
        return None
    found = _found(look)
    if found is None and look.shape in ("zip", "list"):
        raise RecordingError(f"{file}: in no format that is known: {', '.join(names())}; --format names one")
    return found


def _found(look: FileLook) -> ImportFormat | None:
    return next((each for each in FORMATS if each.holds(look)), None)


def _function(where: str) -> Callable[..., object]:
    module, _, name = where.partition(":")
    return cast(
        "Callable[..., object]", getattr(import_module(f"bioeval_tui.record.importing.{module}"), name)
    )
