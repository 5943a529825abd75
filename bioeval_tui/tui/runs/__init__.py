"""The screen of recorded runs, and their comparison."""
