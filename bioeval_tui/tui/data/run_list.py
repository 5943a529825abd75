"""The list of runs for the screens, and a trash from which deleted runs can be restored."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import private_dir
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import plural
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.deleting import deletions, folder_name
from bioeval_tui.record.runs import CataloguedRun, is_live, is_run_id, only_here, recording_path


class RunList:
    """Lists runs; a run that has not changed is the same object as the last time.

    Its methods block.
    """

    def __init__(self, settings: Settings, *, writes: bool = True) -> None:
        self._data_dir = settings.data_dir
        self._runs_dir = settings.runs_dir
        self._trash = settings.trash_dir
        self._catalogue = Catalogue(settings.runs_dir, writes=writes)
        self._lock = threading.Lock()
        self._known: dict[str, CataloguedRun] = {}

    def runs(self) -> list[CataloguedRun]:
        """Return every run, newest first."""
        with self._lock:
            fresh = {run.run_id: run for run in self._catalogue.runs()}
            same = {name: run for name, run in self._known.items() if fresh.get(name) == run}
            self._known = fresh | same
            return [self._known[name] for name in fresh]

    def find(self, run_id: str) -> Path:
        """Return a run's recording."""
        return self._catalogue.find(run_id)

    def write_report(self, run_ids: Sequence[str]) -> Path:
        """Write one HTML report of these runs into the current folder and return its path.

        Raises:
            StorageError: the disk is full, or the folder cannot be written.
        """
        # All statistics: the list of runs needs none.
        from bioeval_tui.peers.prices import load_prices
        from bioeval_tui.report.formats.html import write_report

        prices = load_prices(self._data_dir)
        return write_report([self.find(run_id) for run_id in run_ids], Path.cwd(), prices)

    def delete(self, run_ids: Sequence[str]) -> None:
        """Move recordings and all files beside them into a new folder of the trash.

        Raises:
            UsageError: a run is in progress or does not exist; nothing is moved.
            RecordingError: another process is writing a recording; nothing is moved.
        """
        unknown = [run_id for run_id in run_ids if not is_run_id(run_id)]
        paths = [
            recording_path(self._runs_dir, run_id) for run_id in run_ids if run_id not in unknown
        ]
        if unknown or any(not path.is_file() for path in paths):
            raise UsageError("a run no longer exists; the list is up to date again")
        live = [path.stem for path in paths if is_live(path)]
        if live:
            raise UsageError(f"{plural(len(live), 'run')} still in progress; cancel first")
        with contextlib.ExitStack() as held:
            for (
                path
            ) in paths:  # all of them before the first is moved: nobody resumes one meanwhile
                held.enter_context(only_here(path))
            folder = private_dir(self._trash / folder_name(datetime.now(UTC)))
            for run_id in run_ids:
                # The recording first: without the mark of an import, it would count as the user's
                # own.
                recording = recording_path(self._runs_dir, run_id)
                beside = [path for path in self._runs_dir.glob(f"{run_id}.*") if path != recording]
                for path in (recording, *beside):
                    path.rename(folder / path.name)

    def undo(self) -> int:
        """Restore the runs deleted last; return their number.

        A run that exists again by now (imported, for example) is left as it is.
        """
        trashed = deletions(self._trash)
        if not trashed:
            return 0
        folder, count = trashed[-1].path, 0
        there = {path.name.partition(".")[0] for path in self._runs_dir.glob("*.jsonl")}
        for path in sorted(folder.iterdir()):
            target = self._runs_dir / path.name
            if path.name.partition(".")[0] not in there:
                path.rename(target)
                count += is_run_id(path.stem) and path.suffix == ".jsonl"
        with contextlib.suppress(OSError):
            folder.rmdir()
        return count
