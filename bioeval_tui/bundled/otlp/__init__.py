"""OpenTelemetry traces: written as OTLP's JSON, and read as JSON or protobuf."""

from bioeval_tui.protocols import Format, ImportFormat

_ABOUT = "OpenTelemetry traces, one per conversation, as OTLP JSON"
writer = Format(
    "otlp", (".otlp.jsonl",), _ABOUT, {"runs": f"{__name__}.writing:write_runs"}, place=8
)
reader = ImportFormat(
    "otlp",
    "OpenTelemetry traces (OTLP, JSON or protobuf)",
    f"{__name__}.recognise:fits",
    f"{__name__}.reading:read",
    place=8,
    shape=(
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId", "spanId", "name",'
        ' "attributes"}]}]}]}'
    ),
)
