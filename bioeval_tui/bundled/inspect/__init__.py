"""Logs of Inspect (UKGovernmentBEIS/inspect_ai)."""

from bioeval_tui.protocols import Format

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
