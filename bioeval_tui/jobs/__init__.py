"""Evaluation jobs: models, loading with positions, JSON Schema."""
