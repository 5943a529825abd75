"""A recording to import, for the tests of recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.record.test_versions import GOLDEN


@pytest.fixture
def mailed(tmp_path: Path) -> Path:
    path = tmp_path / "from a colleague.jsonl"
    path.write_bytes((GOLDEN / "version-1.jsonl").read_bytes())
    return path
