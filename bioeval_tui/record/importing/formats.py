"""The formats of other tools: what one is, those there are, and which of them a file has.

`runs import` calls `import_format` through `into_runs.py`; a plug-in describes its own by an
`ImportFormat` (docs/plugins.md).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui import plugins
from bioeval_tui.base.archives import ArchiveError
from bioeval_tui.base.errors import InputError, RecordingError, UsageError
from bioeval_tui.base.text import join_names
from bioeval_tui.record.importing.file_look import FileLook
from bioeval_tui.record.importing.given import is_score_table

if TYPE_CHECKING:
    from bioeval_tui.record.importing.conversations import Header, ImportedConversation


OWN = "bioeval-tui"

Function = str | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """One format: a line of the table below, or the entry point of a plug-in.

    `fits` and `reads` are functions; as `module:function` they are imported only when they are
    called. `shape` shows in a few words, with every key in quotes, what such a file has: who has a
    file that fits nothing is shown the nearest. One that `is_general`, which fits whatever has
    usual keys, is tried after those of other packages.
    """

    name: str
    about: str
    fits: Function
    reads: Function
    place: int = 100
    shape: str = ""
    is_general: bool = False

    def holds(self, look: FileLook) -> bool:
        """Return whether a file is of this format.

        Raises:
            UsageError: another package's plug-in failed.
        """
        return bool(plugins.call("importers", self.name, self.fits, look))

    def read(self, file: Path) -> Iterator[Header | ImportedConversation]:
        """Yield the content of a file.

        Raises:
            InputError: the file does not follow the format.
            UsageError: another package's plug-in failed.
        """
        with plugins.blamed("importers", self.name):
            yield from plugins.call("importers", self.name, self.reads, file)


_HERE = "bioeval_tui.record.importing.chat:"

FORMATS = (
    ImportFormat(
        "transcripts",
        "conversations with what the user was told, as `bioeval-tui guards` reads them",
        _HERE + "fits_transcripts",
        _HERE + "read",
        place=5,
        shape='{"messages": [{"role": "user", "content": "…"}],'
        ' "facts": ["…"], "tasks": ["…"]} a line',
    ),
    ImportFormat(
        "openai-jsonl",
        "conversations in OpenAI's chat format, or with Anthropic's blocks",
        _HERE + "fits",
        _HERE + "read",
        place=6,
        shape='{"messages": [{"role": "user", "content": "…"}]} a line',
    ),
)


def known() -> list[ImportFormat]:
    """Return this program's formats, the bundled ones too, in the order in which they are tried."""
    return plugins.sorted_descriptions(ImportFormat, "importers", FORMATS)


def names() -> list[str]:
    """Return the names for `--format`, this program's own first."""
    return [
        OWN,
        *(importer.name for importer in known()),
        *(importer.name for importer in plugins.other_plugins("importers")),
    ]


def import_format(file: Path, name: str | None = None) -> ImportFormat | None:
    """Return a file's format, `name` or by content; None for a recording of this program.

    Raises:
        RecordingError: the file cannot be read, or is of none of the formats.
    """
    if name is not None:
        if name not in names():
            raise UsageError(f"unknown format {name}; use one of {join_names(names())}")
        if name == OWN:
            return None
        return plugins.find(ImportFormat, "importers", FORMATS, name)
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise RecordingError(
            f"{file}: cannot be read twice, as an import has to: save it as a file first"
        )
    own = [each for each in known() if not each.is_general]
    try:
        look = FileLook.at(file, lambda seen: any(each.holds(seen) for each in own))
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from None
    except ArchiveError as problem:
        raise RecordingError(f"{file}: {problem}") from None
    except InputError:
        return None  # damaged: a recording of this program may be, and then says so itself
    if look.shape == "lines" and {"kind", "run_id", "seq"} <= look.first.keys():
        return None
    general = (each for each in known() if each.is_general)
    formats = chain(own, plugins.usable(ImportFormat, "importers"), general)
    fitting = next((each for each in formats if each.holds(look)), None)
    if fitting is None and look.shape == "folder":
        raise RecordingError(
            f"{file}: a folder, of none of the formats that are one (craft-md: a model's results,"
            " with case_0.json, …); name the files in it"
        )
    if fitting is None and look.shape in ("zip", "list"):
        raise RecordingError(
            f"{file}: unknown format; known are {join_names(names())}; set it with --format."
            f" {nearest_words(look)}"
        )
    return fitting


def no_recording(file: Path) -> RecordingError:
    """Return the error for a file that is of no format, and has no event of a recording."""
    look = FileLook("other")
    with contextlib.suppress(OSError, InputError, ArchiveError):
        look = FileLook.at(file)
    return RecordingError(
        f"{file}: not a recording (the .jsonl file of a run, whose first line says how the run"
        " began), nor recognised as"
        f" {join_names([name for name in names() if name != OWN], most=30)}; if it is one of them,"
        f" name it with --format. {nearest_words(look)}"
    )


def nearest_words(look: FileLook) -> str:
    """Return a sentence on what else to do with a file, or on the format that is nearest to it."""
    if is_score_table(look):
        return (
            "Its scores have no conversations: `bioeval-tui scores FILE` ranks the agents, and"
            " compares the raters"
        )
    format_ = _nearest(look)
    return f"The nearest is {format_.name}: {format_.shape}"


def _nearest(look: FileLook) -> ImportFormat:
    """Return the format that has most of the names in a file's beginning; of several, one that may
    be a table as it is.
    """
    words, is_table = _words(look), look.shape == "table"

    def nearness(format_: ImportFormat) -> tuple[int, bool, bool]:
        names_in_it = set(re.findall(r'"([^"…]+)"', format_.shape))
        return (
            len(words & names_in_it),
            is_table == ("CSV" in format_.shape),
            format_.name == FORMATS[-1].name,
        )

    return max((each for each in known() if each.shape), key=nearness)


def _words(look: FileLook) -> set[str]:
    """Return the names of a file's beginning: of keys and of the keys below them, or of columns."""
    head = look.head.split(b"\n", 1)[0].decode("utf-8", "replace")
    words = {word.strip().strip('"').lower() for word in re.split("[,;\t]", head)}
    waiting: list[tuple[Any, int]] = [(look.first, 0), (look.listed, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict):
            words |= value.keys()
            waiting += [(each, depth + 1) for each in value.values() if depth < 6]
        elif isinstance(value, list) and value:
            waiting.append((value[0], depth))
    return words
