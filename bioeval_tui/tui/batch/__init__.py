"""The screen of a batch: every conversation as a tile."""
