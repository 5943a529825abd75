"""Reports of runs: console output, JSON and documents."""
