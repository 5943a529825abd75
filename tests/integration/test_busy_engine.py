"""A run ends at SIGTERM and Ctrl-C even if an agent never gives the event loop a turn; what it
recorded remains.
"""

import json
import os
import signal
import sys
from contextlib import suppress

import pytest

from tests.integration.program import (
    PATIENCE_S,
    children_of,
    events_of,
    recording_in,
    run,
    started,
    wait_for,
)

JOB = {
    "target": {
        "user": "Ann",
        "chatbot": "Bernie",
        "protocol": "python",
        "function": "busy_agent:answer",
    },
    "aspirationalAverage": 10_000,
    "evaluator": {"kind": "scripted", "lines": [{"say": "Please note my appointment."}]},
    "scorer": {"kind": "rules"},
    "facts": ["The appointment is on Monday."],
    "tasks": [
        {
            "task": "Have the appointment noted",
            "acceptanceCriteria": "It says that it made a note",
            "rules": [{"pattern": "made a note"}],
        }
    ],
}
AGENT = """
import itertools
from pathlib import Path

async def answer(message):
    if "appointment" in message and Path({busy!r}).exists():
        Path({busy!r}).write_text("now")
        {work}
    return "I made a note."
"""
WORK = {
    "python": "while True: pass",
    "c": "all(itertools.repeat(True))",  # keeps the interpreter's lock and looks at no signal
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("work", "name"), [("c", "SIGTERM"), pytest.param("python", "SIGINT", marks=pytest.mark.long)]
)
def test_a_run_that_is_busy_for_ever_ends_at_a_signal_and_can_be_resumed(work, name, tmp_path):
    busy, job, data_dir = tmp_path / "busy", tmp_path / "job.yml", tmp_path / "data"
    busy.touch()
    job.write_text(json.dumps(JOB))
    (tmp_path / "busy_agent.py").write_text(AGENT.format(busy=str(busy), work=WORK[work]))
    options = ("--code", str(tmp_path), "--graph", "none", "--headless", "--json")
    with started("run", str(job), *options, data_dir=data_dir) as process:
        wait_for(busy.read_text, "the agent to be busy", process)
        children = children_of(process.pid)
        process.send_signal(getattr(signal, name))
        code = process.wait(PATIENCE_S)
        said = process.stderr.read()
    recording = recording_in(data_dir)
    assert code == -signal.SIGKILL
    assert f"continue with `bioeval-tui runs resume {recording.stem}`" in said
    wait_for(lambda: not any(map(_lives, children)), "the end of its child processes")
    assert [e["content"] for e in events_of(recording) if e["kind"] == "message_completed"][
        -1:
    ] == [JOB["evaluator"]["lines"][0]["say"]]
    busy.unlink()
    resumed = run(
        "runs", "resume", recording.stem, "--code", str(tmp_path), "--json", data_dir=data_dir
    )
    assert (resumed.returncode, json.loads(resumed.stdout)["score"]) == (0, 1.0)


def _lives(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
