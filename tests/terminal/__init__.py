"""Every command that opens a screen, started in a real pseudo-terminal and driven by keys."""
