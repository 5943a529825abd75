"""Where the sample jobs, submissions and recordings are: in a checkout, or inside the installed
package. `named` finds them by name.
"""

from __future__ import annotations

from pathlib import Path

import bioeval_tui

DEMO_JOB = "medication_reminder.yml"
LOCAL_MODEL_JOB = "missed_dose.yml"
GUESSING = "guessing"
"""The model with which the sample agent guesses what the user does not say, as all do with `agent
--guess`.
"""


def sample_jobs() -> Path:
    """Return the folder of the sample jobs."""
    return _folder("sample_jobs")


def sample_recordings(name: str) -> list[Path]:
    """Return the recordings of a demo that is shown from them: `batch` or `failure`."""
    return sorted((Path(__file__).parent / "recordings" / name).glob("*.jsonl"))


def careful_recording() -> Path:
    """Return the recording of the demo's job with an agent that does not guess."""
    return sample_recordings("batch")[0]


def sample_submissions() -> Path:
    """Return the folder of the sample submissions."""
    return _folder("sample_submissions")


def _folder(name: str) -> Path:
    package = Path(bioeval_tui.__file__).parent
    inside = package / name
    if inside.is_dir():
        return inside
    return package.parent / name
