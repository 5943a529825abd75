"""Data that the task's own preparer fetches, or that the user puts into the raw folder."""

from __future__ import annotations

from bioeval_tui.grade.tasks.sources.builtin import BuiltinSource


class ManualSource(BuiltinSource):
    """Download nothing; a preparer that needs a file fails with its name."""
