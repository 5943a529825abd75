"""Recordings of older versions open, and those of newer ones as far as they are understood."""

from __future__ import annotations

import json
from pathlib import Path

from bioeval_tui.record.events import SCHEMA_VERSION, StateObserved
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import RunState, apply_all

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "recordings"


def test_a_recording_of_version_1_opens_completely() -> None:
    recording = read_recording(GOLDEN / "version-1.jsonl")
    assert recording.problems == ()
    state = apply_all(RunState(), recording.events)
    assert state.started is not None
    assert state.started.schema_version == 1 < SCHEMA_VERSION
    assert state.started.options == {}
    assert state.scores() == {"withheld": 0.44, "supplied": 1.0}
    assert state.unknown == []


def test_a_recording_of_a_newer_version_opens_with_what_is_known(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (GOLDEN / "version-1.jsonl").read_bytes().splitlines()]
    rows[0]["schema_version"] = 99
    rows[0]["mood"] = {"of": "tomorrow"}
    rows.insert(5, {**rows[1], "kind": "mind_read", "thought": 1})
    path = tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    recording = read_recording(path)
    assert recording.problems == ()
    state = apply_all(RunState(), recording.events)
    assert len(state.unknown) == 1
    assert state.scores() == {"withheld": 0.44, "supplied": 1.0}


def test_states_that_repeat_are_in_memory_once_and_read_as_they_were_written(
    tmp_path: Path,
) -> None:
    tail = {"kind": "state_observed", "after_turn": 1, "condition": "withheld", "trial": 1}
    contexts = [
        {"resources": [{"name": "pill", "at": [8, 15]}], "dose": 1},
        {"resources": [{"name": "pill", "at": [8, 15]}, {"name": "cream"}], "dose": 1.0},
        {"dose": True, "resources": [{"at": [8, 15], "name": "pill"}, {"name": "cream"}]},
        None,
    ]
    rows = [json.loads((GOLDEN / "version-1.jsonl").read_bytes().splitlines()[0])]
    rows += [
        {**tail, "run_id": "r", "seq": n, "at": rows[0]["at"], "object_context": one}
        for n, one in enumerate(contexts, start=2)
    ]
    path = tmp_path / "states.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    events = [event for event in read_recording(path).events if isinstance(event, StateObserved)]
    assert [json.dumps(event.object_context) for event in events] == list(map(json.dumps, contexts))
    first, second = (event.object_context or {} for event in events[:2])
    assert first["resources"][0] is second["resources"][0]
