"""Recordings: written by one thread, followed, replayed and catalogued."""
