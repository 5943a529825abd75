"""An agent's function that ends this program, cancels its work, changes its folder or removes its
recording passes no gate, and hides no result.
"""

import json

import pytest

from tests.forked import completed
from tests.integration.program import environment
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
    "raise KeyboardInterrupt": (130, "interrupted"),
    "raise asyncio.CancelledError": (1, "threshold is 0.5"),
}


def hold(folder, ends, *options):
    """Run the job in a folder, with a function that does this at one message."""
    (folder / "other").mkdir()
    job = {**JOB, "target": {**JOB["target"], "function": "ends:answer"}}
    (folder / "job.yml").write_text(json.dumps(job))
    (folder / "ends.py").write_text(AGENT.format(ends=ends))
    command = ("run", "job.yml", "--code", ".", "--graph", "none", "--headless")
    env = environment(folder / "data")
    return completed(*command, "--fail-under", "0.5", *options, cwd=folder, env=env)


@pytest.mark.parametrize("ends", ENDS)
def test_no_function_ends_the_program_as_one_whose_gate_is_passed(ends, tmp_path):
    done = hold(tmp_path, ends)
    code, says = ENDS[ends]
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_results_are_where_they_were_asked_for_though_a_function_changes_the_folder(tmp_path):
    done = hold(tmp_path, f"os.chdir({str(tmp_path / 'other')!r})", "--junit", "out.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out.xml").is_file()
    assert not any((tmp_path / "other").iterdir())


def test_a_run_whose_recording_a_function_removed_has_no_result(tmp_path):
    removes = f"import pathlib; [one.unlink() for one in pathlib.Path({str(tmp_path)!r})"
    done = hold(tmp_path, f"{removes}.glob('data/runs/*.jsonl')]")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "There is no recording: the run never started, or its file was removed" in done.stdout
