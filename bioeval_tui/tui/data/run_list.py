"""The list of runs for the screens, and a trash from which deleted runs can be restored."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bioeval_tui.errors import UsageError
from bioeval_tui.record.catalogue import Catalogue, CataloguedRun
from bioeval_tui.record.live import is_live, only_here
from bioeval_tui.record.paths import is_run_id, recording_path
from bioeval_tui.record.transfer import FOLDER, folder_name
from bioeval_tui.report.run_summary import RunSummary
from bioeval_tui.settings import Settings, private_dir
from bioeval_tui.text import clean_line, plural


class RunList:
    """Lists runs; a run that has not changed is the same object as the last time. Its methods block."""

    def __init__(self, settings: Settings, *, writes: bool = True) -> None:
        self._runs_dir = settings.runs_dir
        self._trash = settings.data_dir / FOLDER
        self._catalogue = Catalogue(settings.runs_dir, writes=writes)
        self._lock = threading.Lock()
        self._known: dict[str, tuple[CataloguedRun, RunSummary]] = {}

    def runs(self) -> list[RunSummary]:
        """Return every run, newest first."""
        with self._lock:
            known: dict[str, tuple[CataloguedRun, RunSummary]] = {}
            for run in self._catalogue.runs():
                before = self._known.get(run.run_id)
                same = before is not None and before[0] == run
                known[run.run_id] = before if same and before else (run, summary_of(run))
            self._known = known
            return [summary for _, summary in known.values()]

    def find(self, run_id: str) -> Path:
        """Return a run's recording."""
        return self._catalogue.find(run_id)

    def delete(self, run_ids: Sequence[str]) -> None:
        """Move recordings and all files beside them into a new folder of the trash.

        Raises:
            UsageError: a run is in progress or does not exist; nothing is moved.
            RecordingError: another process is writing a recording; nothing is moved.
        """
        unknown = [run_id for run_id in run_ids if not is_run_id(run_id)]
        paths = [recording_path(self._runs_dir, run_id) for run_id in run_ids if run_id not in unknown]
        if unknown or any(not path.is_file() for path in paths):
            raise UsageError("a run no longer exists; the list is up to date again")
        live = [path.stem for path in paths if is_live(path)]
        if live:
            raise UsageError(f"{plural(len(live), 'run')} still in progress; cancel first")
        with contextlib.ExitStack() as held:
            for path in paths:  # all of them before the first is moved: nobody resumes one meanwhile
                held.enter_context(only_here(path))
            private_dir(self._trash)
            folder = private_dir(self._trash / folder_name(datetime.now(UTC)))
            for run_id in run_ids:
                # The recording first: without the mark of an import, it would count as the user's own.
                recording = recording_path(self._runs_dir, run_id)
                beside = [path for path in self._runs_dir.glob(f"{run_id}.*") if path != recording]
                for path in (recording, *beside):
                    path.rename(folder / path.name)

    def undo(self) -> int:
        """Restore the runs deleted last; return their number.

        A run that exists again by now (imported, for example) is left as it is.
        """
        folders = (
            sorted(path for path in self._trash.glob("*") if path.is_dir()) if self._trash.is_dir() else []
        )
        if not folders:
            return 0
        count = 0
        there = {path.name.partition(".")[0] for path in self._runs_dir.glob("*.jsonl")}
        for path in sorted(folders[-1].iterdir()):
            target = self._runs_dir / path.name
            if path.name.partition(".")[0] not in there:
                path.rename(target)
                count += is_run_id(path.stem) and path.suffix == ".jsonl"
        with contextlib.suppress(OSError):
            folders[-1].rmdir()
        return count


def summary_of(run: CataloguedRun) -> RunSummary:
    """Return what the screens show of a catalogued run."""
    return RunSummary(
        run_id=run.run_id,
        job=run.job,
        status=run.status,
        started_at=datetime.fromisoformat(run.started_at),
        score=run.score,
        fault=run.fault,
        scores=run.scores,
        messages=run.messages,
        path=run.path,
        model=run.model,
        rehearsal=run.rehearsal,
        reviewed=run.reviewed["score"] if run.reviewed else None,
        reviewers=tuple(clean_line(name, 80) for name in run.reviewed["reviewers"]) if run.reviewed else (),
        batch_id=run.batch_id,
        clean=run.clean,
        imported=run.imported,
        identity=dict(run.identity),
    )
