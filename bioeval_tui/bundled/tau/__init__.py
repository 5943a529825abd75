"""Results of τ-bench and τ²-bench (sierra-research)."""

from bioeval_tui.protocols import ImportFormat

_FOLDER = "bioeval_tui.bundled.tau."
tau_bench_reader = ImportFormat(
    "tau-bench", "τ-bench's results", _FOLDER + "tau_bench:fits", _FOLDER + "tau_bench:read", place=1
)
tau2_reader = ImportFormat(
    "tau2", "τ²-bench's results", _FOLDER + "tau2:fits", _FOLDER + "tau2:read", place=2
)
