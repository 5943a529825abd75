"""OpenTelemetry traces in OTLP's JSON."""

from bioeval_tui.protocols import Format

writer = Format(
    "otlp",
    (".otlp.jsonl",),
    "OpenTelemetry traces, one per conversation, as OTLP JSON",
    {"runs": "bioeval_tui.bundled.otlp.writing:write_runs"},
    place=8,
)
