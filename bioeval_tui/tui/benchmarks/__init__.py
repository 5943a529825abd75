"""The screen of machine-learning tasks."""
