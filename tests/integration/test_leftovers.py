"""What tests have started ends with them: this program's own, and an evaluation in a user's
tests.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bioeval_tui.record.runs import read_live
from tests.integration.program import (
    environment,
    events_of,
    kinds_of,
    of_kind,
    recording_in,
    sample_agent,
    wait_for,
)

ROOT = Path(__file__).parents[2]
LINUX = Path("/proc/self/environ").exists()
OUR_CONFTEST = "from tests import leftovers\n\ndef pytest_configure():\n    leftovers.watch()\n"
OURS = """
from pathlib import Path
import time
import pytest
from tests.integration.program import started

@pytest.mark.parametrize("number", range(2))
def test_that_never_ends(number):
    here = Path(__file__).parent
    options = ("--port", "0", "--graph", str(here / f"{number}.db"))
    with started("agent", *options, data_dir=here, \
PYTHONHASHSEED="0") as process:  # a Python of its own: it starts one
        process.stdout.readline()
        (here / "pid.part").write_text(str(process.pid))
        (here / "pid.part").rename(here / "pid")
        process.wait()
"""
JOB = """
target: {user: ada, chatbot: sample}
aspirationalAverage: 1
facts: []
tasks: [{task: x, rules: [{pattern: x}]}]
evaluator: {kind: scripted, lines: [{say: What is warfarin?}]}
scorer: {kind: rules}
"""
USERS = """
def test_agent(bioeval_session):
    bioeval_session.run("job.yml", agent_url="{url}", graph="none").assert_score(0)
"""


@contextmanager
def pytest_running(folder: Path, *options: str, plugins: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the tests of a folder with these plug-ins of pytest alone, which saves most of its start;
    kill it at the end.
    """
    alone = {
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": plugins,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder),
            *options, str(folder)],
        cwd=folder, env={**environment(folder / "data"), **alone}, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def is_gone(pid: int) -> bool:
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout
    return not shown.strip() or shown.startswith("Z")


@pytest.mark.skipif(not LINUX, reason="the environment of other processes is read in /proc")
@pytest.mark.parametrize(
    ("workers", "number"),
    [
        ("0", signal.SIGTERM),
        ("0", signal.SIGKILL),
        pytest.param("0", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("2", signal.SIGTERM, marks=pytest.mark.long),  # which becomes SIGINT
        pytest.param("2", signal.SIGKILL, marks=pytest.mark.long),
    ],
)
def test_no_agent_outlives_our_tests(tmp_path: Path, number: signal.Signals, workers: str) -> None:
    (tmp_path / "conftest.py").write_text(OUR_CONFTEST, encoding="utf-8")
    (tmp_path / "test_ours.py").write_text(OURS, encoding="utf-8")
    with pytest_running(tmp_path, "-n", workers, plugins="xdist.plugin") as process:
        started = tmp_path / "pid"
        wait_for(started.exists, "an agent")
        agent = int(started.read_text(encoding="utf-8"))
        os.kill(process.pid, number)
        process.wait()
        wait_for(lambda: is_gone(agent), "the end of the agent")


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL]
)
def test_an_evaluation_in_a_users_tests_ends_with_them(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "job.yml").write_text(JOB, encoding="utf-8")
    served = tmp_path / "served"
    served.mkdir()
    with sample_agent(served, "--tokens-per-second", "0.1") as url:
        (tmp_path / "test_users.py").write_text(USERS.format(url=url), encoding="utf-8")
        with pytest_running(tmp_path, plugins="bioeval_tui.pytest_plugin") as process:
            recording = wait_for(lambda: recording_in(tmp_path / "data"), "a recording")
            run = wait_for(lambda: read_live(recording), "the run")
            wait_for(lambda: "message_started" in kinds_of(recording), "a message")
            os.kill(process.pid, number)
            process.wait()
            wait_for(lambda: is_gone(run.pid), "the end of the run")
            (ended,) = of_kind(events_of(recording), "run_ended")
            assert ended["status"] == "cancelled"
