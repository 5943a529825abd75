"""Results of τ-bench and τ²-bench (sierra-research)."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
tau_bench_reader = ImportFormat(
    "tau-bench",
    "τ-bench's results",
    _READING + "fits_tau_bench",
    _READING + "read_tau_bench",
    place=1,
)
tau2_reader = ImportFormat(
    "tau2", "τ²-bench's results", _READING + "fits_tau2", _READING + "read_tau2", place=2
)
