"""An agent's function that ends this program, or cancels its work, passes no gate."""

import json

import pytest

from tests.integration.program import run
from tests.integration.test_busy_engine import JOB

AGENT = """
import asyncio, os, sys

async def end():
    sys.exit(0)

async def answer(message):
    if "appointment" in message:
        {ends}
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "I made a note."
    return "Hello."
"""
ENDS = {
    "asyncio.create_task(end())": (3, "ended it (SystemExit), before its work was done"),
    "asyncio.get_running_loop().call_soon(sys.exit, 0)": (3, "ended it (SystemExit)"),
    "[task.cancel() for task in asyncio.all_tasks()]": (3, "ended it (CancelledError)"),
    "os._exit(0)": (1, "threshold is 0.5"),
    "raise asyncio.CancelledError": (1, "threshold is 0.5"),
}


@pytest.mark.parametrize("ends", ENDS)
def test_no_function_ends_the_program_as_one_whose_gate_is_passed(ends, tmp_path):
    job = tmp_path / "job.yml"
    job.write_text(json.dumps({**JOB, "target": {**JOB["target"], "function": "ends:answer"}}))
    (tmp_path / "ends.py").write_text(AGENT.format(ends=ends))
    done = run(
        *("run", str(job), "--code", str(tmp_path), "--graph", "none", "--headless"),
        *("--fail-under", "0.5"),
        data_dir=tmp_path / "data",
    )
    code, says = ENDS[ends]
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
