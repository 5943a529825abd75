"""How many values an interval needs. Imports nothing, so that the list of runs starts fast."""

FEWEST = 5
"""Fewest values for an interval; with fewer, the values themselves are shown."""
