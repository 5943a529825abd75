"""Every command writes what it has to say, whatever the encoding of stdout is, and whatever becomes
of stdout.

The commands come from the program's own tables. They run in this process: 60 of them in each
encoding take seconds so, and minutes as child processes, which the last tests use.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click
import pytest

from bioeval_tui.base import streams
from bioeval_tui.cli.main import app, main
from bioeval_tui.tui.shared.line_widgets import BigNumber
from tests.forked import Program, each, fork_templates
from tests.integration.program import environment, sample_agent
from tests.terminal.world import GOLDEN, RUN, recorded
from tests.terminals import Terminal

JOB = """
target: {user: ada, chatbot: sample}
aspirationalAverage: 1
facts: []
tasks: [{task: Ask – “what?”, rules: [{pattern: warfarin}]}]
evaluator: {kind: scripted, lines: [{say: What is warfarin – “please”?}]}
scorer: {kind: rules}
"""
ENCODINGS = ("cp1252", "ascii")
"""What a terminal or a pipe may have instead of UTF-8; between them, Latin-1 has nothing of its
own.
"""
TASK = "oncology/breast-cancer"
MEDALS = {
    "task_reports": [
        {
            "task_id": TASK, "score": 0.5, "submission_exists": True, "valid_submission": False,
            "is_lower_better": False,
            "submission_path": "…/ünïcode–“file”.csv", "gold_medal": False, "silver_medal": False,
            "bronze_medal": False,
            "any_medal": False, "above_median": False, "gold_threshold": 1, "silver_threshold": 1,
            "bronze_threshold": 1,
            "median_threshold": 1, "beats_human": None, "human_percentile": None,
            "leaderboard_percentile": None,
            "created_at": "2026-11-20T00:00:00",
        }
    ]
}  # fmt: skip

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "demo": ("--headless", "--llm"), "serve-tab": ("--nothing–",),
    "agent": ("--port", "0", "--exit-with-stdin"), "assert": ("1 == 2", "--context", "state.json"),
    "check": ("job.yml",),
    "docs": ("trust",), "engine": ("nothing",), "grade": ("lines.jsonl", "--output-dir", "out"),
    "guards": (RUN,),
    "grade-sample": ("nothing.csv", TASK), "judge-test": (RUN, "--rules"),
    "medals": ("report.json",), "new": ("–.yml",),
    "plan": (RUN,), "review": (RUN,), "run": ("job.yml", "--dry-run"), "samples": ("copied–",),
    "serve": ("--port", "x"),
    "tasks show": (TASK,), "tasks prepare": ("nothing–",), "tasks check": ("nothing–",),
    "tasks leaderboard": (TASK,),
    "validate": ("broken", TASK), "watch": ("…",), "baseline": ("nothing–",),
    "runs compare": (RUN, RUN), "runs delete": (RUN,), "runs explain": (RUN,),
    "runs export": (RUN, "--to", "openai-jsonl"),
    "runs gate": (RUN, "--fail-under", "0.1"), "runs import": ("–.json",),
    "runs prune": ("--older-than", "9000d", "--dry-run"),
    "runs record-to": (RUN, "–"), "runs replay": (RUN,), "runs report": (RUN, "--format", "md"),
    "runs rescore": (RUN, "--rules"),
    "runs resume": (RUN,), "runs show": (RUN,), "schema": ("result",),
}  # fmt: skip
"""Something to do for each command; one that is not listed is called without arguments."""
JSON = {
    "agent": (), "check": ("--json",), "medals": ("--json",), "run": ("--json",),
    "runs compare": ("--json",), "runs explain": ("--json",), "runs list": ("--json",),
    "runs show": ("--json",), "schema": (), "tasks list": ("--json",),
    "tasks show": ("--json",), "validate": ("--json",),
}  # fmt: skip
DOCUMENTS = {"runs report"}
"""These print a file, which is always in UTF-8."""
PLACES = ["file", pytest.param("terminal", marks=pytest.mark.long)]
"""A pipe is written to by the children below."""


def commands() -> list[str]:
    """Return every command that has no commands below it, the hidden ones too."""
    found: list[str] = []

    def look(path: str, command: click.Command) -> None:
        if not isinstance(command, click.Group):
            found.append(path)
            return
        context = click.Context(command)
        names = [
            *command.list_commands(context),
            *(name for name, (_, about) in app.table.items() if command is app and not about),
        ]
        for name in names:
            inner = command.get_command(context, name)
            assert inner is not None, name
            look(f"{path} {name}".strip(), inner)

    look("", app)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a job, runs and reports in which texts and names are in no other encoding than
    UTF-8.
    """
    folder = recorded(tmp_path_factory.mktemp("encodings"))
    text = (GOLDEN.parents[2] / "sample_jobs" / "medication_reminder.yml").read_text(
        encoding="utf-8"
    )
    (folder / "job.yml").write_text(
        text.replace("name: ", "name: Ünïcode – “日本” ", 1), encoding="utf-8"
    )
    (folder / "report.json").write_text(json.dumps(MEDALS), encoding="utf-8")
    (folder / "state.json").write_text("{}", encoding="utf-8")
    for recording in (folder / "runs").glob("*.jsonl"):
        told = recording.read_text(encoding="utf-8")
        recording.write_text(
            told.replace("medication_reminder", "medication – ≥ ünïcode “日本”"), encoding="utf-8"
        )
    return folder


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, bytes, str]]:
    """Run a command line to its end: its exit code, its stdout and its stderr."""
    fork_templates(monkeypatch)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(folder))
    for name in ("NEO_URI", "NEO_PASSWORD", "BIOEVAL_AGENT_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, encoding: str, place: str = "file") -> tuple[int, bytes, str]:
        with contextlib.ExitStack() as stack:
            out, read = stack.enter_context(places(place))
            err = stack.enter_context((folder / "err.txt").open("wb"))
            nothing = stack.enter_context(Path(os.devnull).open(encoding="utf-8"))
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            given: list[io.TextIOWrapper] = []
            for name, file, errors in (
                ("stdout", out, "strict"),
                ("stderr", err, "backslashreplace"),
            ):
                stream = io.TextIOWrapper(file, encoding, errors)
                given.append(stream)
                patch.setattr(sys, name, stream)
                patch.setattr(sys, f"__{name}__", stream)
            patch.setattr(sys, "stdin", nothing)
            patch.setattr(sys, "argv", ["bioeval-tui", *arguments])
            patch.setattr(streams, "_needs_stdout", True)
            with pytest.raises(SystemExit) as ended:
                main()
            sys.stderr.flush()
            for stream in given:
                stream.detach()  # its file is closed by whoever opened it
            code = ended.value.code
            assert isinstance(code, int)
            return int(code), read(), (folder / "err.txt").read_bytes().decode(encoding)

    return run


@contextlib.contextmanager
def places(kind: str) -> Iterator[tuple[IO[bytes], Callable[[], bytes]]]:
    """Give somewhere to write, and how to read what was written: a file or a terminal."""
    if kind == "file":
        with tempfile.TemporaryFile() as file:
            yield file, lambda: os.pread(file.fileno(), 1 << 30, 0)
        return
    read, write = pty.openpty()
    written = bytearray()

    def take() -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(read, 65536):
                written.extend(piece)

    reader = threading.Thread(target=take)
    reader.start()
    file = os.fdopen(write, "wb")

    def whole() -> bytes:
        with contextlib.suppress(ValueError):
            file.close()
        reader.join()
        return bytes(written)

    try:
        yield file, whole
    finally:
        whole()
        os.close(read)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", commands())
def test_every_command_can_write_in_every_encoding(call: Any, command: str, place: str) -> None:
    for options in ((), ("--help",)):
        words = [*command.split(), *(options or ARGUMENTS.get(command, ()))]
        wanted, whole, _ = call(*words, encoding="utf-8", place=place)
        for encoding in ENCODINGS:
            code, out, err = call(*words, encoding=encoding, place=place)
            assert "this is a bug" not in err
            assert code == wanted, err
            told = out.decode("utf-8" if command in DOCUMENTS and place != "terminal" else encoding)
            assert bool(told) == bool(whole)


@pytest.mark.long
@pytest.mark.parametrize("command", JSON)
def test_json_says_the_same_in_every_encoding(call: Any, command: str) -> None:
    words = [*command.split(), *ARGUMENTS.get(command, ()), *JSON[command]]
    _, whole, _ = call(*words, encoding="utf-8")
    expected = json.loads(whole) if command != "agent" else None
    for encoding in ENCODINGS:
        found = json.loads(call(*words, encoding=encoding)[1].decode(encoding))
        assert expected is None or found == expected


CHILDREN = [("runs", "show", RUN), ("--help",)]
MORE_CHILDREN = [("doctor", "--json"), ("schema", "job"), ("docs", "trust")]
"""These write through the same streams; what they write is tried above, in this process."""
ALL_CHILDREN = [*CHILDREN, *MORE_CHILDREN]


def child(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    variables = {**environment(folder), **options.pop("variables", {})}
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "stdin": subprocess.DEVNULL,
        **options,
    }
    return subprocess.run(
        [*options.pop("before", ()), sys.executable, "-m", "bioeval_tui", *arguments],
        env=variables,
        cwd=folder,
        timeout=300,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    "encoding",
    ["ascii", pytest.param("cp1252", marks=pytest.mark.long)],  # all other gates have UTF-8
)
def test_a_passed_gate_exits_0_in_every_encoding(folder: Path, encoding: str) -> None:
    (folder / "gate.yml").write_text(JOB, encoding="utf-8")
    with sample_agent(folder, "--tokens-per-second", "0") as url:
        arguments = (
            "run",
            "gate.yml",
            "--agent-url",
            url,
            "--graph",
            "none",
            "--fail-under",
            "0.1",
            "--md",
            "gate.md",
        )
        done = child(folder, *arguments, variables={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode(encoding)
    assert "✓" in (folder / "gate.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_child_writes_what_its_encoding_has(folder: Path) -> None:
    ascii_only = {**environment(folder), "PYTHONIOENCODING": "ascii"}
    for done in each(ALL_CHILDREN, env=ascii_only, cwd=folder):
        assert done.returncode == 0, (done.args, done.stderr)
        assert done.stdout, done.args
        assert done.stdout.isascii(), done.args


LOST = {"closed": "it is closed", "full": "the disk is full or over its quota; free some space"}


@pytest.mark.parametrize(
    ("arguments", "how"),
    [
        (CHILDREN[0], "closed"),
        (CHILDREN[0], "full"),
        pytest.param(CHILDREN[1], "closed", marks=pytest.mark.long),
        # What is closed is replaced when the program starts, before any command: two are enough.
        *(pytest.param(words, "full", marks=pytest.mark.long) for words in ALL_CHILDREN[1:]),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_a_lost_stdout_is_one_sentence(folder: Path, arguments: tuple[str, ...], how: str) -> None:
    done = lost(folder, *arguments, how=how)
    assert done.stderr.decode().splitlines()[-1] == f"error: stdout cannot be written: {LOST[how]}"
    assert done.returncode == 3


@pytest.mark.long
@pytest.mark.parametrize("how", ["closed", "full"])
def test_a_gate_whose_stdout_is_lost_exits_by_its_result_and_writes_its_files(
    folder: Path, how: str
) -> None:
    (folder / "gate.yml").write_text(JOB, encoding="utf-8")
    with sample_agent(folder, "--tokens-per-second", "0") as url:
        arguments = ("--agent-url", url, "--graph", "none", "--junit", "lost.xml")
        passed = lost(folder, "run", "gate.yml", *arguments, "--fail-under", "0.1", how=how)
        data = lost(folder, "run", "gate.yml", *arguments, "--fail-under", "0.1", "--json", how=how)
    assert (passed.returncode, data.returncode) == (0, 3), passed.stderr
    assert (folder / "lost.xml").is_file()
    again = [
        lost(folder, "runs", "gate", RUN, "--fail-under", f"withheld:{bar}", how=how)
        for bar in (0.01, 1)
    ]
    assert [done.returncode for done in again] == [0, 1], again[0].stderr


@pytest.mark.long  # the gate of `runs gate` above is the same
@pytest.mark.parametrize("how", LOST)
def test_a_run_below_its_gate_exits_1_whatever_becomes_of_stdout(folder: Path, how: str) -> None:
    failing = JOB.replace("pattern: warfarin", "pattern: heparin")
    (folder / "failing.yml").write_text(failing, encoding="utf-8")
    with sample_agent(folder, "--tokens-per-second", "0") as url:
        arguments = ("--agent-url", url, "--graph", "none", "--fail-under", "0.9", "--json")
        assert lost(folder, "run", "failing.yml", *arguments, how=how).returncode == 1


@pytest.mark.long
def test_a_closed_stderr_or_stdin_changes_nothing(folder: Path) -> None:
    before = ("sh", "-c", '"$@" 2>&- <&-', "sh")
    assert child(folder, "runs", "show", "nothing", before=before).returncode == 2
    assert child(folder, "guards", "-", before=before).returncode == 0


def test_a_reader_that_has_read_enough_changes_no_exit_code(folder: Path) -> None:
    before = ("bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "bash")
    done = child(folder, "docs", "trust", before=before)
    assert (done.returncode, done.stderr) == (0, b"")


def lost(folder: Path, *arguments: str, how: str) -> subprocess.CompletedProcess[bytes]:
    if how == "closed":
        return child(folder, *arguments, before=("sh", "-c", '"$@" >&-', "sh"))
    with (
        Path(os.devnull).open("rb") as nothing,
        Path("/dev/full").open("wb") as full,
        tempfile.TemporaryFile() as err,
    ):
        descriptors = [file.fileno() for file in (nothing, full, err)]
        code = Program(arguments, environment(folder), folder, descriptors=descriptors).wait(300)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, b"", err.read())


@pytest.mark.long
def test_a_screen_keeps_its_shape_where_a_character_is_not_in_the_encoding(folder: Path) -> None:
    variables = {**environment(folder), "PYTHONIOENCODING": "ascii", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "bioeval_tui", "runs", "replay", RUN]
    with Terminal(command, variables, folder=folder) as terminal:
        terminal.shows(b"without the facts")
        terminal.until_quiet(longest_s=5)
        terminal.press(b"q")
    assert terminal.written.isascii()


def test_every_character_has_a_plain_form() -> None:
    streams.register_plain_forms()
    text = "score ≥ 0.5 ± 0.1 → “passed” ✓ · Zoë’s naïve café – 3 × ½ … ┌─┐│ 日本"
    assert (
        text.encode("ascii", "plain").decode()
        == 'score >= 0.5 +/- 0.1 -> "passed" v * Zoe\'s naive cafe - 3 x 1/2 ... +-+| ??'
    )
    assert len("…│→日".encode("ascii", "plain-cells")) == 5


def test_parts_of_a_bar_differ_and_a_range_is_no_number_in_a_terminal_of_ascii() -> None:
    streams.register_plain_forms()
    assert "0…5 screens, and so on…".encode("ascii", "plain-cells") == b"0-5 screens, and so on."
    parts = {sign.encode("ascii", "plain-cells") for sign in "─═━╌·"}
    assert len(parts) == 5


async def test_big_digits_are_small_ones_where_their_signs_cannot_be_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "__stderr__", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert str(BigNumber("0.82").render()).split() == ["0.82"]
