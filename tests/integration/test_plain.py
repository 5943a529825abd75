"""With `--plain` or BIOEVAL_PLAIN=1, results are lines of text: no boxes, no signs that draw, and
no screen in a terminal.
"""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path

import pytest

from tests.forked import Program
from tests.integration.program import environment, run
from tests.terminal.world import ANOTHER_RUN, RUN, graded, recorded

SUBMISSIONS = Path(__file__).parents[2] / "sample_submissions"
DRAWN = re.compile("[\u2190-\u21ff\u2500-\u25ff\u2700-\u27bf\u2800-\u28ff]|\x1b")
"""Arrows, boxes, blocks, geometric signs, check marks, dots, and control sequences."""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two recorded runs and graded reports."""
    folder = recorded(tmp_path_factory.mktemp("data"))
    graded(folder)
    return folder


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            ("runs", "show", RUN),
            "1 Get a reminder to take warfarin tomorrow at 9: without the facts failed",
        ),
        (("runs", "compare", RUN, ANOTHER_RUN), "score: A 0.44, B 0.44, difference"),
        (
            ("review", RUN),
            "without the facts, task 1 Get a reminder to take warfarin tomorrow at 9: ",
        ),
        (("medals", "reports"), "oncology/breast-cancer"),
        (("demo",), "without the facts failed 0.25"),
    ],
)
def test_results_are_lines_of_text(command: tuple[str, ...], says: str, data_dir: Path) -> None:
    given = [str(data_dir / "reports") if word == "reports" else word for word in command]
    done = run(*given, "--plain", data_dir=data_dir)
    assert says in done.stdout, done.stdout + done.stderr
    assert not DRAWN.search(done.stdout), DRAWN.findall(done.stdout)
    if command != ("demo",):
        assert run(*given, data_dir=data_dir, BIOEVAL_PLAIN="1").stdout == done.stdout


@pytest.mark.parametrize("command", [pytest.param("medals", marks=pytest.mark.long), "grade"])
def test_neither_a_screen_nor_a_bar_is_drawn_in_a_terminal(command: str, data_dir: Path) -> None:
    given = [str(data_dir / "reports")]
    if command == "grade":
        given = [str(SUBMISSIONS / "submissions.jsonl"), "--output-dir", str(data_dir / "results")]
    master, slave = pty.openpty()
    env = environment(data_dir) | {"TERM": "xterm-256color"}
    done = Program([command, *given, "--plain"], env, descriptors=[slave, slave, slave])
    os.close(slave)
    said = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # the terminal was closed
            break
        if not piece:
            break
        said += piece
    os.close(master)
    assert done.wait(300) == (command == "grade"), "one of the submissions is invalid"
    assert b"oncology/breast-cancer" in said
    assert b"\x1b" not in said
    assert not DRAWN.search(said.decode())
