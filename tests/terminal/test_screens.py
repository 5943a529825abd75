"""Each command opens its screen, keys open and close each dialog, and quitting gives the right exit
code.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.record.runs import process_start
from tests.integration.program import recording_in, sample_agent, wait_for

from .screen import Screen
from .test_crash import breaking
from .world import ANOTHER_RUN, REPOSITORY, RUN, graded, no_engine_left, recorded

ESC, ENTER, TAB, CTRL_P, END = "\x1b", "\r", "\t", "\x10", "\x1b[F"


@pytest.mark.long
def test_app_opens_every_screen_and_every_dialog(tmp_path: Path) -> None:
    with Screen("app", str(REPOSITORY / "sample_jobs"), data_dir=recorded(tmp_path)) as screen:
        screen.sees("› Jobs    8 jobs", "medication_reminder", "enter run")
        screen.opens_box("?", "Evaluation jobs", "esc close")
        screen.closes_box()
        screen.opens_box(CTRL_P, "Search for commands")
        screen.closes_box()
        screen.types(END, "variant_triage.yml")
        screen.opens_box(ENTER, "Run variant_triage", "enter start")
        screen.closes_box()
        screen.clicks_until("0…5 screens", "Search for commands")
        screen.opens_box("", "Search for commands")
        screen.closes_box()
        screen.types("3", "› Runs    2 runs", "■ rehearsal", "space replay")
        screen.opens_box(" ", "as recorded", "enter play")
        screen.closes_box()
        screen.opens_box("mm=", "B compared with A", "it takes models")
        screen.closes_box()
        screen.opens_box(ENTER, "WHAT  ", "change", "more ▸")
        screen.closes_box()
        screen.types("4", "› Benchmarks", "oncology/breast-cancer", "M grade")
        screen.opens_box(ENTER, "esc close")
        screen.closes_box()
        screen.opens_box("M", "enter continue")
        screen.closes_box()
        screen.types("5", "› Medals")
        screen.types("1", "› Jobs    8 jobs")
        screen.press(b"q")
        assert screen.left() == ExitCode.OK


@pytest.mark.long
def test_a_job_can_be_run_from_the_dialog(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    with (
        no_engine_left(tmp_path),
        # A token each ten seconds: the conversation cannot end before the key is pressed, however
        # busy the machine.
        sample_agent(tmp_path, "--tokens-per-second", "0.1") as url,
        Screen("app", str(jobs), data_dir=tmp_path) as screen,
    ):
        job = (REPOSITORY / "sample_jobs" / "cohort_question.yml").read_text(encoding="utf-8")
        (jobs / "slow.yml").write_text(
            job.replace("target:", f"target:\n  url: {url}"), encoding="utf-8"
        )
        screen.sees("› Jobs    1 job", "✓ ready", "enter run")
        screen.types(ENTER, "Run slow", "enter start")
        screen.types(ENTER, "› Live › slow", "▌user")
        screen.types(" ", "PAUSED")
        screen.opens_box("q", "leave it running", "stop it")
        screen.press(b"X")
        assert screen.left() == ExitCode.OK
        recording = recording_in(tmp_path)
        assert recording is not None
        assert '"status":"cancelled"' in recording.read_text(encoding="utf-8").splitlines()[-1]


HELD = """
import os, sys
if "engine" in sys.orig_argv:
    with open(os.environ["BIOEVAL_DATA_DIR"] + "/engine", "w") as file:
        file.write(str(os.getpid()))
    os.mkfifo(os.environ["BIOEVAL_DATA_DIR"] + "/never")
    open(os.environ["BIOEVAL_DATA_DIR"] + "/never")
"""
"""An engine that never gets beyond its start."""


def engine_in(data_dir: Path) -> int:
    """Return the id of the engine's process, once it has started."""
    return int(
        wait_for(
            lambda: (data_dir / "engine").exists() and (data_dir / "engine").read_text(),
            "an engine",
        )
    )


# tests/tui/test_app.py has both
@pytest.mark.parametrize("answer", ["X", pytest.param("l", marks=pytest.mark.long)])
def test_a_run_is_asked_about_before_its_engine_has_begun(tmp_path: Path, answer: str) -> None:
    job = str(REPOSITORY / "sample_jobs" / "medication_reminder.yml")
    path = breaking(tmp_path, HELD)
    command = ["run", job, "--rehearsal", "--agent-url", "http://127.0.0.1:9"]
    with Screen(*command, data_dir=tmp_path, PYTHONPATH=path) as screen:
        screen.sees("WAITING", "q quit")
        engine = engine_in(tmp_path)
        screen.opens_box("q", "leave it running", "stop it")
        screen.press(answer.encode())
        assert screen.left() == (ExitCode.INTERRUPTED if answer == "X" else ExitCode.OK)
        assert ("bioeval-tui watch" in screen.printed) == (answer == "l")
    if answer == "l":
        os.kill(engine, signal.SIGKILL)
    wait_for(lambda: not process_start(engine), "the engine to end")


def test_ctrl_c_before_the_screen_is_there_stops_the_engine(tmp_path: Path) -> None:
    job = str(REPOSITORY / "sample_jobs" / "medication_reminder.yml")
    path = breaking(tmp_path, HELD)
    command = ["run", job, "--rehearsal", "--agent-url", "http://127.0.0.1:9"]
    with Screen(*command, data_dir=tmp_path, PYTHONPATH=path) as screen:
        engine = engine_in(tmp_path)
        screen.press(b"\x03")
        if screen.read(1) and "leave it running" in screen.text:  # the screen was quicker
            screen.press(b"X")
        # Python itself ends by SIGINT where the key met an `exec` of a module that loads; a shell's
        # $? is 130 for both.
        assert screen.left() in (ExitCode.INTERRUPTED, -signal.SIGINT)
    wait_for(lambda: not process_start(engine), "the engine to end")


@pytest.mark.long
def test_space_pauses_a_demo_and_quitting_it_ends_its_engine(tmp_path: Path) -> None:
    with no_engine_left(tmp_path), Screen("demo", data_dir=tmp_path) as screen:
        screen.sees("Does an agent do what is right")
        screen.types(" ", "")  # also before the first message
        screen.types(
            " ", "› Live › medication_reminder", "the user knows no facts, and cannot answer"
        )
        screen.types(" ", "‖ DEMO", "paused, space continues")
        screen.opens_box("?", "Both conversations", "esc close")
        screen.closes_box()
        screen.types("5", "› Medals", "Nothing is graded yet")
        screen.types("2", "› Live", "‖ DEMO")
        screen.press(b"q")
        # The engine runs at its own pace, whatever the screen shows: it may have ended by now.
        assert screen.left() in (ExitCode.OK, ExitCode.INTERRUPTED)
        recording = recording_in(tmp_path)
        assert recording is not None
        assert recording.stem in screen.printed


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("batch", "no: only a rehearsal: a script speaks and rules judge"),
        ("failure", "the agent failed at turn 5 in the conversation with the facts"),
    ],
)
@pytest.mark.long
def test_a_recorded_demo_plays_offline_and_ends_with_its_conclusion(
    name: str, told: str, tmp_path: Path
) -> None:
    with Screen("demo", "--show", name, "--pace", "fast", data_dir=tmp_path, columns=160) as screen:
        screen.sees("of 20 conversations ended" if name == "batch" else "the user knows no facts")
        if name == "batch":
            screen.sees("agents  sample agent and sample agent that guesses")
        if name == "failure":
            screen.press(b"E")  # a key hands the screens over: to the end of the recording
        screen.sees(told[:40])
        screen.press(b"q")
        assert screen.left() == ExitCode.OK
    assert not [*tmp_path.glob("runs/*.jsonl")], "what is only shown leaves nothing behind"


@pytest.mark.long
def test_a_run_that_was_left_can_be_watched_and_cancelled(tmp_path: Path) -> None:
    job = str(REPOSITORY / "sample_jobs" / "medication_reminder.yml")
    with no_engine_left(tmp_path), sample_agent(tmp_path) as url:
        with Screen("run", job, "--rehearsal", "--agent-url", url, data_dir=tmp_path) as screen:
            screen.sees("› Live › medication_reminder", "▌user")
            screen.types(" ", "PAUSED")
            screen.opens_box("q", "leave it running", "stop it")
            screen.closes_box()
            screen.opens_box("q", "leave it running", "stop it")
            screen.press(b"l")
            assert screen.left() == ExitCode.OK
            recording = recording_in(tmp_path)
            assert recording is not None
            assert f"bioeval-tui watch {recording.stem}" in screen.printed
        with Screen("watch", recording.stem, data_dir=tmp_path) as watching:
            watching.sees("› Live › medication_reminder", "▌user", "PAUSED")
            watching.types("C", "The run was cancelled")
            wait_for(lambda: not recording.with_suffix(".live").exists(), "the engine to end")
            watching.press(b"q")
            assert watching.left() == ExitCode.OK


@pytest.mark.long
def test_a_replay_can_be_stepped_to_its_evidence_and_score_card(tmp_path: Path) -> None:
    with Screen("runs", "replay", RUN, data_dir=recorded(tmp_path)) as screen:
        screen.sees("› Live › medication_reminder", "REPLAY", "▌user")
        screen.opens_box("E", "0.44 → 1.00 with the facts", "more ▸")
        screen.types(".", "mean of both", "less ▾")
        screen.types(".", "more ▸")
        screen.closes_box()
        screen.types("i", "─ Assertions")
        screen.clicks_until("1× nothing was", "enter open")
        screen.clicks("3× a reminder exists")
        screen.opens_box(ENTER, "weight 3", "← → turn")
        screen.closes_box()
        screen.types("/", "text in all conversations")
        screen.types("warfarin", "find warfarin", "13 found")
        screen.types(ENTER, " of 13, with the facts")
        screen.closes_box()
        screen.types("p")
        screen.sees("▌user", without="─ Assertions")
        screen.types(ESC, "─ Assertions")
        screen.press(b"q")
        assert screen.left() == ExitCode.OK


# the screen opens below, too, and tests/tui/test_review_screen.py presses its keys
@pytest.mark.long
def test_a_run_can_be_reviewed(tmp_path: Path) -> None:
    with Screen("review", RUN, ANOTHER_RUN, "--as", "ada", data_dir=recorded(tmp_path)) as screen:
        screen.sees("› Review", "0 of 12 reviewed", "S override")
        for key in "SFN":
            screen.opens_box(key, "enter save")
            screen.closes_box()
        screen.types("a", "1 of 12 reviewed")
        screen.types("u", "0 of 12 reviewed")
        screen.press(b"q")
        assert screen.left() == ExitCode.OK


@pytest.mark.long
def test_graded_submissions_are_shown_as_a_table_with_cards_and_can_be_exported(
    tmp_path: Path,
) -> None:
    with Screen("medals", str(graded(tmp_path)), data_dir=tmp_path) as screen:
        screen.sees("› Medals    3 reports", "silver", "enter explain")
        screen.opens_box(ENTER, "esc close")
        screen.closes_box()
        screen.types("v", "› Review", "0 of 3 reviewed", "S mark")
        screen.opens_box("S", "enter save")
        screen.closes_box()
        screen.types(ESC, "› Medals    3 reports")
        screen.types(TAB, "by agent")
        screen.types(TAB, "enter explain")
        screen.opens_box("x", "3 rows as shown")
        screen.types("c", "Saved")
        assert list(tmp_path.glob("*.csv"))
        screen.press(b"q")
        assert screen.left() == ExitCode.OK
