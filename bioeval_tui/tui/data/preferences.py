"""Saved preferences: a small JSON file in the data folder."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

from bioeval_tui.errors import StorageError
from bioeval_tui.files import write_whole
from bioeval_tui.settings import private_dir

FILE = "preferences.json"
MAX_BYTES = 1_000_000


class Preferences:
    """Values by name. If the file is missing, damaged or read-only, values last only for the session."""

    def __init__(self, data_dir: Path, *, writes: bool = True) -> None:
        """Without `writes`, changes last only for the session."""
        self._writes = writes
        self._path = data_dir / FILE
        self._lock = threading.Lock()
        self.values: dict[str, Any] = self._read()

    def keep(self, name: str, value: Any) -> None:
        """Save a JSON-like value; None deletes it. Values that another process wrote are kept."""
        with self._lock:
            known = self._read()
            for values in (known, self.values):
                values.pop(name, None)
                if value is not None:
                    values[name] = value
            if not self._writes:
                return
            with contextlib.suppress(OSError, StorageError, TypeError, ValueError):
                self._write(known)

    def _read(self) -> dict[str, Any]:
        try:
            if self._path.stat().st_size > MAX_BYTES:
                return {}
            found = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, values: dict[str, Any]) -> None:
        text = json.dumps(values, ensure_ascii=False, indent=1)
        private_dir(self._path.parent)
        write_whole(self._path, text, mode=0o600)
