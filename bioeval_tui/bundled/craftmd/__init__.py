"""CRAFT-MD (rajpurkarlab): a job, a hundred of its cases and their source, and the reader of its
published conversations, a folder for each model with a file for each case.
"""

from pathlib import Path

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
job = Path(__file__).with_name("craftmd.yml")
reader = ImportFormat(
    "craft-md", "CRAFT-MD's results", _READING + "fits", _READING + "read", place=3
)
