"""ATIF trajectories (Harbor's Agent Trajectory Interchange Format)."""

from bioeval_tui.protocols import Format, ImportFormat

writer = Format(
    "atif",
    (".atif.jsonl",),
    "one ATIF trajectory per line; a single conversation is one document",
    {"runs": "bioeval_tui.bundled.atif.writing:write_runs"},
    place=7,
)
reader = ImportFormat(
    "atif",
    "ATIF trajectories (Harbor)",
    "bioeval_tui.bundled.atif.reading:fits",
    "bioeval_tui.bundled.atif.reading:read",
    place=4,
)
