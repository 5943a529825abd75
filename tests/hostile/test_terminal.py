"""Hostile files in the real program in a real terminal: no escape sequence of theirs is printed,
nothing runs.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.forked import completed, each
from tests.hostile.terminal import typed
from tests.hostile.world import HARMLESS, HOSTILE, LONG, RUN_ID, make_world, program
from tests.terminals import SEQUENCE, shapes

ESC, ENTER, TAB, DOWN = b"\x1b", b"\r", b"\t", b"\x1b[B"
CLICKS = [b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm" % (x, y, x, y) for y in (6, 20) for x in (20, 100)]
TOUR = (
    # jobs and their text; runs, a score card, what the judge quotes
    DOWN, TAB, b"3", ENTER, *CLICKS, TAB, ENTER, ESC,
    b"3", b"p", ENTER, b"e", b"i", ESC,  # a replay
    b"4", b"/", b"l", b"a", b"b", ENTER, ENTER, CLICKS[1], ESC, ESC, b"?", ESC,  # benchmarks, help
)  # fmt: skip
MEDALS = (ENTER, CLICKS[1], ESC, b"d", ESC)
ESCAPE_SHOWN = "␛".encode()
UNSAFE = {
    *range(0x0A),
    0x0B,
    0x0C,
    *range(0x0E, 0x20),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    0x200B,
    0xFEFF,
}
FORMATTING = {*range(0x2066, 0x206A), 0x200B, 0xFEFF}
NEVER = (
    b"]52;",
    b"77;88H",
    b"evil.example\x07",
    b"]0;owned",
    b"\x1bP",
    b"\x1b_",
    b"\x1b^",
    b"\x1bc",
    b"\x1b#8",
    b"\x1b(0",
    b"SE9TVElMRQ==\x07",
)


def toured(root: Path, text: str, long: str) -> tuple[bytes, bytes]:
    """Return what the program wrote while somebody went about in it, and in its medal table."""
    environment = make_world(root, text, long)
    whole, code = typed(program("app", "jobs"), TOUR, environment, root)
    assert code == 0, (code, whole[-3000:])
    medals, code = typed(program("medals", "reports/one.json"), MEDALS, environment, root)
    assert code == 0, (code, medals[-3000:])
    return whole, medals


def test_no_escape_sequence_in_a_file_reaches_the_terminal(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        harmless = threads.submit(toured, tmp_path / "harmless", HARMLESS, HARMLESS * 100)
        hostile = threads.submit(toured, tmp_path / "hostile", HOSTILE, LONG)
        pairs = list(zip(hostile.result(), harmless.result(), strict=True))
    for written, known in pairs:
        assert shapes(written) <= shapes(known)
        rest = SEQUENCE.sub(b"", written)
        assert not {ord(letter) for letter in set(rest.decode("utf-8"))} & UNSAFE
        assert not [never for never in NEVER if never in written]
        assert len(written) > 50_000 or written is pairs[1][0]
    # What was an escape is shown as its picture; the medal table of a foreign report is also driven
    # in tests/tui/test_hostile.py.
    assert ESCAPE_SHOWN in pairs[0][0], "the hostile text was never shown"
    assert not list(tmp_path.rglob("OWNED"))


LOADED = """
import pandas
import bioeval_tui.grade.metrics
from bioeval_tui.cli import grade, jobs, medals, runs, runs_report, tasks
"""
"""What the commands need, imported once: loading it is most of what each of them does, else."""
COMMANDS = (
    ("check", "jobs/good.yml", "jobs/broken.yml"),
    ("runs", "show", RUN_ID),
    ("runs", "report", RUN_ID, "--format", "md"),
    *(
        ("runs", "export", RUN_ID, "--to", kind)
        for kind in ("csv", "junit", "atif", "otlp", "openai-jsonl")
    ),
    ("runs", "show", RUN_ID, "--json"),
    ("runs", "report", RUN_ID, "--format", "html"),
    ("medals", "reports", "--table"),
    ("tasks", "show", "lab/hostile"),
    ("validate", "{submission}", "lab/hostile"),
    ("assert", HOSTILE.replace("\x00", ""), "--context", RUN_ID),
    (HOSTILE,),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    root = tmp_path_factory.mktemp("world")
    return root, make_world(root, HOSTILE, LONG)


@pytest.mark.parametrize("encoding", ["", "ascii"], ids=["utf-8", "ascii"])
def test_no_command_prints_what_a_terminal_or_a_ci_runner_obeys_from_a_file(
    encoding: str, world: tuple[Path, dict[str, str]]
) -> None:
    root, environment = world
    environment = {**environment, "TF_BUILD": "True"}
    submission = next(path for path in (root / "reports").iterdir() if path.suffix == ".csv")

    commands = [
        [word.replace("{submission}", str(submission)) for word in command] for command in COMMANDS
    ]
    if encoding:  # another than that of the process that forks, which only a Python of its own has
        environment["PYTHONIOENCODING"] = encoding
        ended = each(commands, env=environment, cwd=root, before=LOADED)
    else:
        ended = [completed(*words, env=environment, cwd=root) for words in commands]
    for command, done in zip(COMMANDS, ended, strict=True):
        said = done.stdout + done.stderr
        assert "Traceback" not in said, (command, said[-2000:])
        assert "bug in bioeval-tui" not in said, (command, said[-2000:])
        # A document that goes to a file or a pipe has the direction marks that Arabic is written
        # with.
        allowed = {9, *FORMATTING} if command[0] == "runs" and command[1] != "show" else {9}
        found = {hex(ord(letter)) for letter in set(said) if ord(letter) in UNSAFE - allowed}
        assert not found, (command[:2], found)
        assert said, command
        assert not re.search(r"##(vso|teamcity)?\[|^\s*::\w", said, re.MULTILINE), command[:2]
    assert not list(root.rglob("OWNED"))


KINDS = ("json", "openai-jsonl", "csv")


@pytest.fixture(scope="module")
def exported(
    world: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str, str]]:
    """What is written of each kind: in a runner's log, in a file there, and outside of a runner."""
    root, environment = world
    folder = tmp_path_factory.mktemp("exported")
    printed = [["runs", "export", RUN_ID, "--to", kind] for kind in KINDS]
    written = [[*words, "--output", str(folder / words[-1])] for words in printed]
    on_a_runner = {**environment, "GITHUB_ACTIONS": "true"}
    in_log = [completed(*words, env=on_a_runner, cwd=root) for words in (*printed, *written)]
    outside = [completed(*words, env=environment, cwd=root) for words in printed]
    return {
        kind: (log.stdout, (folder / kind).read_text(encoding="utf-8"), other.stdout)
        for kind, log, other in zip(KINDS, in_log[: len(KINDS)], outside, strict=True)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_data_stays_valid_in_a_runners_log_and_unchanged_in_a_file(
    kind: str, exported: dict[str, tuple[str, str, str]]
) -> None:
    in_log, in_file, outside = exported[kind]
    assert "##vso[" in in_file
    assert "##vso[" not in in_log
    if kind == "csv":
        assert in_log.replace(" ", "") == outside.replace(" ", ""), "only spaces were added"
    else:
        lines = (
            [in_log, in_file] if kind == "json" else [*in_log.splitlines(), *in_file.splitlines()]
        )
        half = len(lines) // 2
        assert list(map(json.loads, lines[:half])) == list(map(json.loads, lines[half:]))
