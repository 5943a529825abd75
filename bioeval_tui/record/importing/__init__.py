"""Imports recordings of other tools: one module per format, and one line in the table of `formats`."""
