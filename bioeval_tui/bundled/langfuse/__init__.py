"""Exports of Langfuse: traces, sessions and observations."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
reader = ImportFormat(
    "langfuse",
    "Langfuse's exports of traces, sessions or observations",
    _READING + "fits",
    _READING + "read",
    place=11,
    shape=(
        '{"id", "timestamp", "sessionId", "input", "output", "observations": [{"traceId", "type",'
        ' "startTime"}]}'
    ),
)
