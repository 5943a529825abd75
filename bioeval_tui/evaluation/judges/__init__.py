"""Judges, which score a finished transcript: rules or language models."""
