"""The screen of one run, live or replayed."""
