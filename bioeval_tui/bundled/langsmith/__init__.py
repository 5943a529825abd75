"""Exports of LangSmith: runs, which are what it calls spans."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
reader = ImportFormat(
    "langsmith",
    "LangSmith's runs",
    _READING + "fits",
    _READING + "read",
    place=12,
    shape=(
        '{"id", "trace_id", "parent_run_id", "run_type": "llm", "inputs", "outputs", "start_time",'
        ' "end_time"} a line'
    ),
)
