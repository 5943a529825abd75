"""Logs of Inspect (UKGovernmentBEIS/inspect_ai)."""

from bioeval_tui.protocols import Format, ImportFormat

_WRITING = "bioeval_tui.bundled.inspect.writing:"
writer = Format(
    "inspect",
    (".eval",),
    "an Inspect log, for `inspect view` and `read_eval_log`",
    {"run": _WRITING + "write_run"},
    name_of=_WRITING + "file_name",
    name_note=_WRITING + "name_note",
    place=10,
)
reader = ImportFormat(
    "inspect",
    "Inspect's logs, .eval and .json",
    "bioeval_tui.bundled.inspect.reading:fits",
    "bioeval_tui.bundled.inspect.reading:read",
    place=3,
)
