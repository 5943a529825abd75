"""Fifty cases of each kind, the same in every run, and every earlier finding (`found/`).

`scripts/long-fuzz` tries thousands. Each kind has a process of its own, because HDF5 and others can
take theirs down.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.parent import tried

KINDS = ("jobs", "csv", "h5ad", "recordings", "expressions", "cypher", "answers")


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_input_is_one_sentence_and_never_a_crash(kind: str, tmp_path: Path) -> None:
    found = tried(kind, tmp_path, cases=50)
    assert found.findings == []
    assert found.cases >= 50
    assert len(found.outcomes) > 1, "all came to the same: nothing was tried"
