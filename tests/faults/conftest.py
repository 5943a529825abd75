from __future__ import annotations

from pathlib import Path

import pytest

from .program import Program


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Program:
    """The command line with a data folder of its own."""
    return Program(tmp_path, monkeypatch, capfd)
