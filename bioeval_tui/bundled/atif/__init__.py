"""ATIF trajectories (Harbor's Agent Trajectory Interchange Format)."""

from bioeval_tui.protocols import Format, ImportFormat

_ABOUT = "one ATIF trajectory per line; a single conversation is one document"
writer = Format(
    "atif", (".atif.jsonl",), _ABOUT, {"runs": f"{__name__}.trajectories:write_runs"}, place=7
)
_READING = f"{__name__}.trajectories:"
reader = ImportFormat(
    "atif", "ATIF trajectories (Harbor)", _READING + "fits", _READING + "read", place=4
)
