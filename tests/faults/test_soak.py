"""A small soak test: sixty conversations, twenty at once, a tenth of them with a failing peer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.soak import SLOW, soak

from .program import TIMEOUT_S


def test_many_conversations_lose_no_event_and_leave_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    for name in (
        "BIOEVAL_DATA_DIR",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "BIOEVAL_MODEL_TIMEOUT_S",
        "NO_PROXY",
    ):
        monkeypatch.setenv(name, "")  # put back what the soak sets
    found = soak(60, 20, 0.1, tmp_path, timeout_s=TIMEOUT_S, without=SLOW)
    record_property("soak, before", found.before)
    record_property("soak, after", {**found.after, "task": found.tasks_left})
    assert found.wrong == []
    assert found.left_behind == {}
    assert found.tasks_left == 0
    assert sum(found.ended.values()) == found.conversations == len(found.memory_mb) == 60
    assert found.faulty >= 3, "the draw is the same in every run"
