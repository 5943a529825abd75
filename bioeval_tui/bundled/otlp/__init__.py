"""OpenTelemetry traces in OTLP's JSON."""

from bioeval_tui.protocols import Format

_ABOUT = "OpenTelemetry traces, one per conversation, as OTLP JSON"
writer = Format("otlp", (".otlp.jsonl",), _ABOUT, {"runs": f"{__name__}.writing:write_runs"}, place=8)
