"""Runs commands of the program in processes that are forked from one that has loaded it: a tenth of
the CPU time.

`completed` stands for `subprocess.run([sys.executable, "-m", "bioeval_tui", …])` where a test looks
at what a command says, writes and returns, and `Program` for `subprocess.Popen` where it looks at
what runs meanwhile, also in a terminal. What is about the start itself (import paths, encodings, a
shell) starts a Python of its own: `integration/test_working_folder.py` starts screens as users do.
`each` starts one Python for several commands that need the same environment, say a plug-in on its
path. `fork_templates` does the same for the processes that fork grading workers.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

EACH = """
import gc, json, os, runpy, sys, tempfile
commands, before, here = json.loads(sys.argv[1])
gc.set_threshold(200_000, 20, 20)  # as in __main__
exec(before)
from bioeval_tui.base import isolation
from bioeval_tui.cli import main
isolation.is_program = True
BUILD_SCHEMAS
build_schemas()
gc.freeze()
done = []
for words in commands:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if child := os.fork():
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0), err.seek(0)
            done.append([code, out.read().decode(), err.read().decode()])
        else:
            os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
            sys.argv[1:] = words
            main.main()
print(json.dumps(done))
"""


ASK = """
import json, os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
asked = {"arguments": sys.argv[2:], "env": dict(os.environ), "cwd": os.getcwd(), "session": True,
    "tied": True}
data = json.dumps(asked).encode()
socket.send_fds(connection, [len(data).to_bytes(4, "big")], [0, 1, 2])
connection.sendall(data)
connection.recv(16, socket.MSG_WAITALL)
sys.exit(int(connection.recv(16) or b"-9"))
"""
"""What a command starts in place of another: it asks for a fork with its own files, and ends as
that does.
"""


def run_to_end(main: Callable[[], object]) -> None:
    """Run `main` and end this process as Python would, but leave its memory as it is.

    Taking two thousand modules apart is most of what a short command costs, and copies what all
    forks share.
    """
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "tests.forked":
    import functools
    import inspect
    import shlex

    from tests import leftovers

    FORKS = "BIOEVAL_FORKS_OF_TESTS"
    """The variable with the folder of the servers' sockets."""
    CONNECTED_S = 300.0
    PROGRAM, TEMPLATES = "program", "templates"
    """What a server has loaded: the commands, or what grading workers need."""
    GRADING = ("grade", "grade-sample", "validate")
    """Commands that start a template of workers."""
    OF_A_TEST = (
        "BIOEVAL_DATA_DIR",
        "BIOEVAL_TASKS_DIR",
        "HOME",
        "PATH",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
    )
    """Variables that are read when they are needed, so that a fork may get its own."""

    def share() -> None:
        """Let all processes of the tests ask the same servers, which end with this one.

        They inherit where these are.
        """
        if FORKS in os.environ:
            return
        folder = tempfile.TemporaryDirectory(prefix="bioeval-forks-")
        os.environ[FORKS] = folder.name
        (Path(folder.name) / leftovers.MARK).write_text(os.environ.get(leftovers.MARK, ""))

        def end() -> None:
            for file in Path(folder.name).glob("*.pid"):
                with suppress(OSError):
                    os.kill(int(file.read_text()), signal.SIGKILL)
            folder.cleanup()

        atexit.register(end)

    @functools.cache
    def _server(loaded: str) -> str:
        """Return the address of the process that forks, which the first that asks for it starts."""
        share()
        folder = Path(os.environ[FORKS])
        address, claim = folder / loaded, folder / f"{loaded}.claimed"
        deadline = time.monotonic() + CONNECTED_S
        while not address.exists():
            with suppress(FileExistsError):
                claim.touch(exist_ok=False)
                _start(folder, loaded)
            assert time.monotonic() < deadline, "no process that forks"
            time.sleep(0.01)
        return str(address)

    def _start(folder: Path, loaded: str) -> None:
        """Start a process that forks."""
        # it may outlive this process
        mark = {leftovers.MARK: (folder / leftovers.MARK).read_text()}
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(folder / loaded), loaded],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
            env={**os.environ, **_variables(loaded), **mark},
        )  # fmt: skip
        (folder / f"{loaded}.pid").write_text(str(process.pid))
        process.returncode = 0  # nobody waits for it, and Python need not warn of that at the end

    @functools.cache
    def _variables(loaded: str) -> dict[str, str]:
        """Return the variables that a server is given besides those of the tests."""
        from bioeval_tui.grade.batch.worker_launch import worker_environment

        if loaded == TEMPLATES:
            return worker_environment()
        # none but the one that forks
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        return {**one_thread, "TEXTUAL_ANIMATIONS": "none"}  # which Textual reads as it is loaded

    class Program(subprocess.Popen[str]):
        """A command that runs in a fork, in a session of its own, with this environment and nothing
        on stdin.
        """

        def __init__(
            self,
            arguments: Sequence[str],
            env: Mapping[str, str],
            cwd: Path | str | None = None,
            *,
            loaded: str = PROGRAM,
            descriptors: Sequence[int] | None = None,
            terminal: bool = False,
            before: str = "",
        ) -> None:
            """`terminal`: what is on stdin controls it; `before`: code that it runs first."""
            self.args, self.returncode = [*arguments], None
            self.stdin = self.stdout = self.stderr = None
            self._connection = socket.socket(socket.AF_UNIX)
            nothing = os.open(os.devnull, os.O_RDWR)
            opened = [nothing]
            if descriptors is None:
                (out, its_out), (err, its_err) = os.pipe(), os.pipe()
                self.stdout, self.stderr = (
                    os.fdopen(out, encoding="utf-8"),
                    os.fdopen(err, encoding="utf-8"),
                )
                opened += [its_out, its_err]
                descriptors = opened
            asked = {
                "arguments": arguments,
                "env": dict(env),
                "cwd": str(cwd or Path.cwd()),
                "session": True,
                "terminal": terminal,
                "before": before,
            }
            try:
                self.pid = _ask(
                    self._connection, loaded, asked, [*descriptors, nothing, nothing][:3]
                )
            finally:
                for descriptor in opened:
                    os.close(descriptor)

        def wait(self, timeout: float | None = None) -> int:
            if self.returncode is None:
                self._connection.settimeout(timeout)
                try:
                    self.returncode = int(self._connection.recv(16) or b"-9")
                except (BlockingIOError, TimeoutError):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
                self._connection.close()
            return self.returncode

        def poll(self) -> int | None:
            with suppress(subprocess.TimeoutExpired):
                self.wait(0)
            return self.returncode

        def communicate(
            self, input: str | None = None, timeout: float | None = None
        ) -> tuple[str, str]:
            said = ["", ""]
            for number, stream in enumerate((self.stdout, self.stderr)):
                if stream is not None and not stream.closed:  # it was read before, else
                    with stream:
                        said[number] = stream.read()
            self.wait(timeout)
            return said[0], said[1]

    def _ask(
        connection: socket.socket, loaded: str, asked: dict[str, Any], descriptors: Sequence[int]
    ) -> int:
        """Ask for a fork; return its process id.

        What follows on the connection is its exit code.
        """
        if (
            loaded == PROGRAM
            and sys.platform == "linux"
            and any(word in GRADING for word in asked["arguments"][:1])
        ):
            _server(TEMPLATES)
        connection.settimeout(CONNECTED_S)
        connection.connect(_server(loaded))
        data = json.dumps(asked).encode()
        socket.send_fds(connection, [len(data).to_bytes(4, "big")], descriptors)
        connection.sendall(data)
        return int(connection.recv(16, socket.MSG_WAITALL))

    def stand_in() -> str:
        """Return a shell script that stands for the program on a path: a fork, ended with it."""
        words = [sys.executable, "-I", "-S", "-c", ASK, _server(PROGRAM)]
        return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'

    def can_fork(env: Mapping[str, str]) -> bool:
        """Whether a fork may have this environment: a Python that runs already would not read some
        variables.
        """
        given = {name for name, value in env.items() if os.environ.get(name) != value}
        return hasattr(os, "fork") and not any(name.startswith("PYTHON") for name in given)

    def completed(
        *arguments: str, env: dict[str, str], cwd: Path | None = None, timeout: float = 300.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the program to its end, with nothing on stdin.

        Raises:
            TimeoutError: it has not ended in time.
        """
        if not can_fork(env):
            return subprocess.run(
                [sys.executable, "-m", "bioeval_tui", *arguments], capture_output=True, text=True,
                timeout=timeout, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        asked = {"arguments": arguments, "env": env, "cwd": str(cwd or Path.cwd())}
        with (
            tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
            Path(os.devnull).open("rb") as nothing,
            socket.socket(socket.AF_UNIX) as server,
        ):  # fmt: skip
            _ask(server, PROGRAM, asked, [file.fileno() for file in (nothing, out, err)])
            server.settimeout(timeout)
            code = int(server.recv(16) or b"-9")
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(
                list(arguments), code, out.read().decode(), err.read().decode()
            )

    def fork_templates(patch: pytest.MonkeyPatch) -> None:
        """Fork what forks grading workers (`worker_template.WorkerTemplate`), too: loading the
        libraries is most of a test.
        """
        from bioeval_tui.grade.batch import worker_launch

        command = worker_launch.module_command("bioeval_tui.grade.batch.worker", "template")

        def started(words: list[str], **options: Any) -> subprocess.Popen[Any]:
            if words == command and _of_a_fork(options["env"]) == _of_a_fork(_variables(TEMPLATES)):
                descriptors = [options["stdin"]]
                return Program(
                    (), options["env"], options["cwd"], loaded=TEMPLATES, descriptors=descriptors
                )
            return subprocess.Popen(words, **options)

        if sys.platform == "linux":
            patch.setattr(
                worker_launch,
                "subprocess",
                SimpleNamespace(**{**vars(subprocess), "Popen": started}),
            )

    def _of_a_fork(env: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in env.items() if name not in OF_A_TEST}

    def each(
        commands: Sequence[Sequence[str]],
        *,
        env: dict[str, str],
        cwd: Path,
        before: str = "",
        timeout: float = 300.0,
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run each command in a fork of one Python, which starts with this environment and runs the
        code `before`.

        What several commands need is best imported there: each fork would import it by itself.
        """
        code = EACH.replace("BUILD_SCHEMAS", inspect.getsource(build_schemas))
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, json.dumps([commands, before, __file__])],
            capture_output=True, text=True, timeout=timeout, env=env, cwd=cwd,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [
            subprocess.CompletedProcess(list(words), code, out, err)
            for words, (code, out, err) in zip(commands, json.loads(done.stdout), strict=True)
        ]


def build_schemas() -> None:
    """Build what checks the data of each model, which Pydantic puts off until a model is used: half
    of what a fork that runs a short job would do.
    """
    import gc

    from pydantic import BaseModel, TypeAdapter

    for found in gc.get_objects():
        is_model = isinstance(found, type) and issubclass(found, BaseModel)
        if is_model and found.__module__.startswith("bioeval_tui."):
            found.model_rebuild(raise_errors=False)
        elif isinstance(found, TypeAdapter):
            found.rebuild(raise_errors=False)


def hold_one(evaluate: Callable[..., object], job: str) -> None:
    """Hold a job's conversations: the patterns and tables of words that are made when they are
    first used are a third of what a fork that runs a short job would do.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "job.yml")
        file.write_text(job, encoding="utf-8")
        before = os.environ.get("BIOEVAL_DATA_DIR")
        os.environ["BIOEVAL_DATA_DIR"] = folder
        evaluate(file, agent=_answer, graph="none", progress=False)
        os.environ["BIOEVAL_DATA_DIR"] = before or ""
    assert threading.active_count() == 1, "a fork has none of the threads"


def _answer(message: str) -> str:
    """Answer as an agent that knows nothing, but asks."""
    return "In which time zone are you?" if "remind" in message.lower() else "Done."


def ask_in_place() -> None:
    """Have forks ask for a fork, too, where commands start the sample agent or a template of
    grading workers.
    """
    from bioeval_tui.evaluation.engine import processes
    from bioeval_tui.grade.batch import worker_launch

    address, ask = Path(sys.argv[1]), [sys.executable, "-I", "-S", "-c", ASK]
    command, template = processes.program_command, worker_launch.module_command

    def program_command(*words: str) -> list[str]:
        return [*ask, str(address), *words] if words[0] == "agent" else command(*words)

    def module_command(name: str, *words: str, python: str | None = None) -> list[str]:
        templates = address.with_name("templates")
        if words == ("template",) and python is None and templates.exists():
            return [*ask, str(templates)]
        return template(name, *words, python=python)

    vars(processes)["program_command"] = program_command
    vars(worker_launch)["module_command"] = module_command


def _serve(address: str) -> list[str]:
    """Fork for each connection; return the arguments in the process that is to work, with its files
    and environment.

    One fork for each: it copies the tables of all of this process's memory, which takes as long as
    many a command.
    """
    ready = address + "-ready"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(ready)
    listening.listen(64)
    Path(ready).rename(address)
    ended, has_ended = os.pipe()
    for descriptor in (ended, has_ended):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(has_ended, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    told: dict[int, socket.socket] = {}  # who waits for which child
    tied: dict[socket.socket, int] = {}  # who takes a child along when it ends
    while True:
        watched: list[Any] = [listening, ended, *tied]
        readable = select.select(watched, [], [])[0]
        for connection in tied.keys() & {*readable}:
            os.kill(tied.pop(connection), signal.SIGTERM)
        if ended in readable:
            os.read(ended, 4096)
            for child, code in _ended_children():
                connection = told.pop(child)
                tied.pop(connection, None)
                with connection, suppress(OSError):  # nobody waits for it any more
                    connection.sendall(str(code).encode())
        if listening not in readable:
            continue
        connection, _ = listening.accept()
        descriptors: list[int] = []
        try:
            size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
            with connection.makefile("rb") as file:
                asked: dict[str, Any] = json.loads(file.read(int.from_bytes(size, "big")))
        except (OSError, ValueError):  # it ended before it had asked
            for descriptor in descriptors:
                os.close(descriptor)
            connection.close()
            continue
        if child := os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            told[child] = connection
            if asked.get("tied"):
                tied[connection] = child
            with suppress(OSError):
                connection.sendall(f"{child:16}".encode())
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in (listening, connection, *told.values()):
            one.close()
        os.close(ended)
        os.close(has_ended)
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        if asked.get("session"):
            os.setsid()
        if asked.get("terminal"):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            _open_streams()
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["cwd"])
        exec(asked.get("before", ""), {})
        return list(asked["arguments"])


def _ended_children() -> Iterator[tuple[int, int]]:
    """Give each child that has ended, with its exit code."""
    with suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            yield child, os.waitstatus_to_exitcode(status)


def _open_streams() -> None:
    """Open the standard streams anew, as Python does when it starts: those on a terminal have lines
    and cannot be sought in.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        mode = "w" if number else "r"
        stream = open(number, mode, 1, before.encoding, before.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    import fcntl
    import gc
    import importlib
    import select
    import termios

    gc.set_threshold(200_000, 20, 20)  # as in __main__
    if sys.argv[2] == "templates":
        import io

        import pandas
        import pyarrow

        from bioeval_tui.grade.batch import worker

        for name in (
            "bioeval_tui.grade.batch.item_grader",
            "bioeval_tui.grade.metrics",
            "sklearn.metrics",
        ):
            importlib.import_module(name)
        pyarrow.set_cpu_count(1)  # no thread may run in what forks; as in ItemGrader
        pyarrow.set_io_thread_count(1)
        pandas.read_csv(io.BytesIO(b"a\n0.5\n")).merge(pandas.DataFrame({"a": [0.0]}), on="a")
        pyarrow.table({"a": [0.5]}).to_pandas(use_threads=False)
        gc.freeze()  # no fork looks for garbage among what all of them share
        _serve(sys.argv[1])
        sys.argv[1:] = ["template"]
        run_to_end(worker.main)
    else:
        from bioeval_tui import library, plugins
        from bioeval_tui.base import isolation
        from bioeval_tui.cli import main
        from bioeval_tui.jobs import template

        isolation.is_program = True
        for name in (
            "agent", "demo", "engine", "grade", "headless", "installed", "jobs", "medals", "run",
            "runs_report", "runs_again", "serve",
        ):  # fmt: skip
            importlib.import_module(f"bioeval_tui.cli.{name}")
        # What most of them would load as soon as they begin.
        for name in (
            "apsw", "bioeval_tui.cli.runs", "bioeval_tui.bundled.a2a", "bioeval_tui.bundled.ag_ui",
            "bioeval_tui.peers.agents.openai_chat", "bioeval_tui.peers.agents.rest",
            "bioeval_tui.peers.models.judge", "bioeval_tui.evaluation.wiring.doctor",
            "bioeval_tui.grade.metrics",
            "bioeval_tui.tui.app",
            "httpcore2", "pandas", "sklearn.datasets", "sklearn.metrics",
        ):  # fmt: skip
            importlib.import_module(name)
        ask_in_place()
        build_schemas()
        plugins.names("agents")  # reads the metadata of all packages
        hold_one(library.evaluate, template.job_text(template.Answers(offline=True)))
        gc.freeze()
        sys.argv[1:] = _serve(sys.argv[1])
        run_to_end(main.main)
