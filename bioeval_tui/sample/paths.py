"""Where the sample jobs and submissions are: in a checkout, or inside the installed package."""

from __future__ import annotations

from pathlib import Path

import bioeval_tui

DEMO_JOB = "medication_reminder.yml"


def sample_jobs() -> Path:
    """Return the folder of the sample jobs."""
    return _folder("sample_jobs")


def sample_submissions() -> Path:
    """Return the folder of the sample submissions."""
    return _folder("sample_submissions")


def _folder(name: str) -> Path:
    package = Path(bioeval_tui.__file__).parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
