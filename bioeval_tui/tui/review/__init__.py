"""The screen on which people review scores and submissions."""
