"""What a kind of case is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.watch import Watch

ROOT = Path(__file__).resolve().parents[3]


class Kind(ABC):
    """Cases of one kind, tried in one process."""

    def __init__(self, folder: Path, watch: Watch) -> None:
        self.folder = folder
        self.watch = watch

    @abstractmethod
    def cases(self) -> st.SearchStrategy[bytes]:
        """Return the strategy that makes cases."""

    def always(self) -> Sequence[bytes]:
        """Return cases that are tried every time: what no mutation would come upon."""
        return ()

    def prepare(self, case: bytes) -> None:  # noqa: B027 (most have nothing to do)
        """Put the case where it will be read; not watched."""

    @abstractmethod
    def run(self, case: bytes) -> str:
        """Try one case as a user's program would meet it; return what came of it.

        Whatever is raised is a finding.
        """

    @abstractmethod
    def close(self) -> None:
        """End what was started."""
