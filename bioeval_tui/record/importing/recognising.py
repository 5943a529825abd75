"""Detects the format of a file."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from bioeval_tui import plugins
from bioeval_tui.errors import InputError, RecordingError, UsageError
from bioeval_tui.record.importing.formats import FORMATS, OWN, ImportFormat, known, names
from bioeval_tui.record.importing.looking import FileLook


def format_of(file: Path, name: str | None = None) -> ImportFormat | None:
    """Return a file's format, `name` or by content; None for a recording of this program.

    Raises:
        RecordingError: the file cannot be read, or is of none of the formats.
    """
    if name is not None:
        if name not in names():
            raise UsageError(f"unknown format {name}; use one of {', '.join(names())}")
        return None if name == OWN else plugins.find(ImportFormat, "importers", FORMATS, name)
    if file.exists() and not file.is_file():
        raise RecordingError(f"{file}: cannot be read twice, as an import has to: save it as a file first")
    own = known()
    try:
        look = FileLook.at(file, lambda seen: any(each.holds(seen) for each in own))
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from None
    except InputError:
        return None  # damaged: a recording of this program may be, and then says so itself
    if look.shape == "lines" and {"kind", "run_id", "seq"} <= look.first.keys():
        return None
    found = next(
        (each for each in chain(own, plugins.usable(ImportFormat, "importers")) if each.holds(look)), None
    )
    if found is None and look.shape in ("zip", "list"):
        raise RecordingError(f"{file}: unknown format; known are {', '.join(names())}; set it with --format")
    return found
