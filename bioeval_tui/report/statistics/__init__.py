"""Plain formulas over plain numbers: estimates, intervals, pass^k, latencies, comparisons. No I/O, no state."""
