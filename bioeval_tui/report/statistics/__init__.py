"""Statistical functions: estimates, intervals, pass^k, latencies, comparisons. No I/O, no state."""
