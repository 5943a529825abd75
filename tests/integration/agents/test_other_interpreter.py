"""Jobs whose agent is a function in another interpreter (`target.python`), run by the real
program.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any
from venv import EnvBuilder

import pytest

from tests.integration.program import PATIENCE_S, run, run_job, started

JOB: dict[str, Any] = {
    "target": {
        "user": "ada",
        "chatbot": "bot",
        "protocol": "python",
        "function": "my_agent:answer",
    },
    "aspirationalAverage": 60_000,
    "facts": [],
    "tasks": [{"task": "x", "rules": [{"pattern": "only here"}]}],
    "evaluator": {"kind": "scripted", "lines": [{"say": "one"}, {"say": "two"}]},
    "scorer": {"kind": "rules"},
    "assertions": [
        {"toolCalls": {"calls": [{"name": "look", "arguments": {"n": n}}], "turn": n}}
        for n in (1, 2)
    ],
}
AGENT = """
import only_here  # a package that is installed in the other interpreter

class Agent:
    def start(self, conversation):
        conversation.state["n"] = 0

    async def __call__(self, message, conversation):
        conversation.state["n"] += 1
        conversation.tool_called("look", {"n": conversation.state["n"]}, "found")
        for word in ("It is ", only_here.WORDS, f" ({message})."):
            yield word

answer = Agent()

def hangs(message):
    import socket
    with open(__file__ + ".port") as file:
        held = socket.create_connection(("127.0.0.1", int(file.read())))
    held.sendall(b"x")
    import threading
    threading.Event().wait()

def ends(message):
    import os, sys
    print("no memory left", file=sys.stderr, flush=True)
    os._exit(9)
"""


def job(folder: Path, function: str = "answer", python: str = "venv/bin/python") -> dict[str, Any]:
    """Write the agent and a virtual environment with its package into the folder; return a job for
    it.
    """
    (folder / "my_agent.py").write_text(AGENT)
    EnvBuilder(symlinks=sys.platform != "win32").create(folder / "venv")
    packages = next(folder.glob("venv/lib/python*/site-packages"))
    (packages / "only_here.py").write_text("WORDS = 'only here'\n")
    return {
        **JOB,
        "target": {**JOB["target"], "function": f"my_agent:{function}", "python": python},
    }


async def test_a_function_answers_from_another_interpreter(tmp_path: Path) -> None:
    done = await run_job(tmp_path, job(tmp_path), "--code", ".")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["conditions"]["withheld"]
    assert found["score"] == pytest.approx(1.0)


async def test_a_process_that_ends_is_the_agents_failure(tmp_path: Path) -> None:
    done = await run_job(tmp_path, job(tmp_path, "ends"), "--code", ".")
    assert (
        "my_agent:ends: its process ended (exit code 9): no memory left"
        in done.stderr + done.stdout
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("function", "python", "code", "says"),
    [
        ("answer", "venv/bin/python", (),
            "venv/bin/python is in no folder that was given with --code DIR"),
        ("answer", "venv/bin/python", ("--code", "venv/lib"), "venv/bin/python is in no folder"),
        ("answer", sys.executable, ("--code", "."),
            "is in no folder that was given with --code DIR"),
        ("nowhere", "venv/bin/python", ("--code", "."), "has no function nowhere"),
        ("answer", "old", ("--code", "."),
            "my_agent:answer: its process ended (exit code 2): not Python"),
        ("answer", "link", ("--code", "."),
            "my_agent:answer cannot be loaded: ModuleNotFoundError: No module named 'only_here'"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_an_interpreter_is_said_before_the_run(
    tmp_path: Path, function: str, python: str, code: tuple[str, ...], says: str
) -> None:
    asked = job(tmp_path, function, python)
    (tmp_path / "old").write_text("#!/bin/sh\necho not Python >&2\nexit 2\n")
    (tmp_path / "old").chmod(0o755)
    (tmp_path / "link").symlink_to(sys.executable)
    done = await run_job(tmp_path, asked, *code)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_check_does_not_start_the_interpreter(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(json.dumps(job(tmp_path, python="trap")))
    (tmp_path / "trap").write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    (tmp_path / "trap").chmod(0o755)
    done = run("check", str(tmp_path / "job.yml"), "--code", str(tmp_path), data_dir=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("SIGTERM", marks=pytest.mark.long),
        pytest.param("SIGINT", marks=pytest.mark.long),
        "SIGKILL",
    ],
)
def test_the_process_ends_with_the_engine(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.yml").write_text(json.dumps(job(tmp_path, "hangs")))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)
        (tmp_path / "my_agent.py.port").write_text(str(server.getsockname()[1]))
        options = (
            "--headless",
            "--graph",
            "none",
            "--condition",
            "withheld",
            "--code",
            str(tmp_path),
        )
        with started("run", str(tmp_path / "job.yml"), *options, data_dir=tmp_path) as process:
            held, _ = server.accept()
            with held:
                held.settimeout(PATIENCE_S)
                assert held.recv(1) == b"x"
                os.kill(process.pid, getattr(signal, name))
                with contextlib.suppress(ConnectionResetError):
                    assert held.recv(1) == b"", "it holds the connection as long as it lives"
                process.wait(PATIENCE_S)
