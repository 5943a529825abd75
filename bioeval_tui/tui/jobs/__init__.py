"""The screen of job files."""
