"""Recordings opened for reports: found by id or path, masked, folded, with their reviews."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bioeval_tui.errors import Problem, RecordingError
from bioeval_tui.events import RunStarted
from bioeval_tui.recordings.catalogue import Catalogue
from bioeval_tui.recordings.paths import SUFFIX
from bioeval_tui.recordings.reading import read_recording
from bioeval_tui.reports.mask import Mask
from bioeval_tui.reports.reviews import Review, read_reviews
from bioeval_tui.run_state import RunState, apply_all


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """One run, folded from its masked events. `problems` lists damaged lines."""

    path: Path
    state: RunState
    started: RunStarted
    problems: tuple[Problem, ...] = ()
    reviews: tuple[Review, ...] = ()

    @property
    def run_id(self) -> str:
        """The run's id as the recording says it."""
        return self.started.run_id

    @property
    def trials(self) -> list[int]:
        """The trials of which at least one conversation has begun."""
        return sorted({key.trial for key in self.state.conversations})


def find_recording(text: str, runs_dir: Path) -> Path:
    """Return the recording that `text` names: a file that was mailed, or a run id or part of one.

    Raises:
        UsageError: no run or several match.
    """
    path = Path(text)
    if text.endswith(SUFFIX) and path.is_file():
        return path
    return Catalogue(runs_dir).find(text)


def load_run(path: Path, mask: Mask | None = None) -> LoadedRun:
    """Read, mask and fold a recording and its overlay.

    Raises:
        RecordingError: the file cannot be read, or its first event is missing.
    """
    mask = mask or Mask()
    recording = read_recording(path)
    state = mask.finish(apply_all(RunState(), mask.events(recording.events)))
    if state.started is None:
        raise RecordingError(
            f"{path.name}: the first event is missing; a report needs it to know the job", recording.problems
        )
    reviews, damaged = read_reviews(path, mask)
    return LoadedRun(path, state, state.started, (*recording.problems, *damaged), reviews)
