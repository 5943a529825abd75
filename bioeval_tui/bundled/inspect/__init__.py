"""Logs of Inspect (UKGovernmentBEIS/inspect_ai)."""

from bioeval_tui.protocols import Format, ImportFormat

_READING, _WRITING = f"{__name__}.reading:", f"{__name__}.writing:"
writer = Format(
    "inspect", (".eval", ".json"), "an Inspect log, for `inspect view` and `read_eval_log`",
    {"run": _WRITING + "write_run"},
    name_of=_WRITING + "file_name", name_note=_WRITING + "name_note", place=10,
)  # fmt: skip
reader = ImportFormat(
    "inspect", "Inspect's logs, .eval and .json", _READING + "fits", _READING + "read", place=3
)
