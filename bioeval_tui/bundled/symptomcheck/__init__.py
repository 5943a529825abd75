"""SymptomCheck Bench (medaks, MIT): a job, its 400 vignettes, and the reader of its published
conversations.
"""

from pathlib import Path

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
job = Path(__file__).with_name("symptomcheck.yml")
reader = ImportFormat(
    "symptomcheck", "SymptomCheck Bench's results", _READING + "fits", _READING + "read", place=2
)
