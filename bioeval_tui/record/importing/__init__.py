"""Recordings of other tools taken in: one file for each format, and one line in the table of `formats`."""
