"""MLflow's traces."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
reader = ImportFormat(
    "mlflow",
    "MLflow's traces",
    _READING + "fits",
    _READING + "read",
    place=13,
    shape=(
        '{"info": {"trace_id", "request_time", "trace_metadata"}, "data": {"spans": [{"span_id",'
        ' "attributes"}]}}'
    ),
)
