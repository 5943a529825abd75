"""Results of CRAFT-MD (rajpurkarlab): a folder for each model, with a file for each case."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
reader = ImportFormat(
    "craft-md", "CRAFT-MD's results", _READING + "fits", _READING + "read", place=3
)
