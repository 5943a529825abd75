"""Results of τ-bench and τ²-bench (sierra-research)."""

from bioeval_tui.protocols import ImportFormat

_ONE, _TWO = f"{__name__}.tau_bench:", f"{__name__}.tau2:"
tau_bench_reader = ImportFormat("tau-bench", "τ-bench's results", _ONE + "fits", _ONE + "read", place=1)
tau2_reader = ImportFormat("tau2", "τ²-bench's results", _TWO + "fits", _TWO + "read", place=2)
