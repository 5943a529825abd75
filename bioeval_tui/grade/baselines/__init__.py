"""Baseline submissions of a task: constant, folds and simple models."""
