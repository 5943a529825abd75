"""A screen that crashes leaves one sentence and exit code 3, and the details in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bioeval_tui.base.errors import ExitCode
from tests.integration.program import recording_in, sample_agent

from .screen import Screen
from .world import REPOSITORY, RUN, graded, no_engine_left, recorded

BROKEN = """
from bioeval_tui.tui.shared.line_widgets import TitleBar
def render(self):
    secrets = "what a traceback with local variables would show"
    raise BrokenPipeError("the title is broken\\nfor a test")
TitleBar.render = render
"""
BROKEN_WORKER = """
from textual import work
from bioeval_tui.tui.live.live import LiveScreen
@work
async def mount_frames(self):
    raise ZeroDivisionError("the title is broken\\nfor a test")
LiveScreen._mount_frames = mount_frames
"""
COMMANDS = {
    "demo": ["demo"],
    "review": ["review", RUN],
    "app": ["app"],
    "watch": ["watch", RUN],
    "replay": ["runs", "replay", RUN],
}
"""All but `demo` open their screens in the way that a worker's crash below shows, so they are tried
with `--all`.
"""


def breaking(folder: Path, code: str = BROKEN) -> str:
    """Make a folder whose `sitecustomize` breaks every Python; return what PYTHONPATH must be."""
    (folder / "broken").mkdir()
    (folder / "broken" / "sitecustomize.py").write_text(code, encoding="utf-8")
    return os.pathsep.join(filter(None, [str(folder / "broken"), os.environ.get("PYTHONPATH")]))


def crash_of(screen: Screen, data_dir: Path, error: str) -> str:
    """Wait for the end, check what every crash leaves, and return the sentence."""
    assert screen.left() == ExitCode.NOT_MEASURED
    assert b"Traceback" not in screen.written
    sentence, end, after = screen.printed.partition("error: ")[2].partition("\n")
    assert end
    assert "error" not in after
    assert sentence.startswith(
        f"the screen crashed, a bug in bioeval-tui ({error}: the title is broken"
    )
    assert "~/logs/errors.log" in sentence
    assert "bioeval-tui doctor" in sentence
    log = (data_dir / "logs" / "errors.log").read_text(encoding="utf-8")
    assert log.count(f"{error}: the title is broken") == 2, (
        "the error itself, and what was made of it"
    )
    return sentence


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name != "review")) for name in COMMANDS],
)
def test_a_crashed_screen_leaves_one_sentence_and_exit_code_3(tmp_path: Path, name: str) -> None:
    with (
        no_engine_left(recorded(tmp_path)),
        Screen(*COMMANDS[name], data_dir=tmp_path, before=BROKEN) as screen,
    ):
        crash_of(screen, tmp_path, "BrokenPipeError")
        assert not [*tmp_path.glob("runs/*.live")], "a demo ends with its screen"


@pytest.mark.long
def test_a_crashed_medal_table_leaves_one_sentence_and_exit_code_3(tmp_path: Path) -> None:
    reports = graded(tmp_path)
    with Screen("medals", str(reports), data_dir=tmp_path, before=BROKEN) as screen:
        crash_of(screen, tmp_path, "BrokenPipeError")


def test_a_background_worker_that_crashes_leaves_one_sentence_and_exit_code_3(
    tmp_path: Path,
) -> None:
    data_dir = recorded(tmp_path)
    with Screen("runs", "replay", RUN, data_dir=data_dir, before=BROKEN_WORKER) as screen:
        crash_of(screen, tmp_path, "ZeroDivisionError")


@pytest.mark.long
def test_a_run_continues_when_its_screen_crashes_and_the_message_names_it(tmp_path: Path) -> None:
    job = str(REPOSITORY / "sample_jobs" / "medication_reminder.yml")
    with (
        no_engine_left(tmp_path),
        sample_agent(tmp_path) as url,
        Screen(
            "run", job, "--rehearsal", "--agent-url", url, data_dir=tmp_path, before=BROKEN
        ) as screen,
    ):
        sentence = crash_of(screen, tmp_path, "BrokenPipeError")
        recording = recording_in(tmp_path)
        assert recording is not None
        assert f"bioeval-tui watch {recording.stem}" in sentence
