"""What is printed when a run's screen has closed, and the exit code."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from run_script import scripted_run

from bioeval_tui.record.events import RunEnded
from bioeval_tui.report.formats.console import say_goodbye


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ({}, 0, ["mean of both 0.", "runs replay"]),
        ({"status": "cancelled", "mean": None}, 130,
            ["interrupted;", "have stopped", "runs replay", "runs resume", "130"]),
        ({"status": "cancelled", "mean": None, "detail": "cancelled before it started"}, 130,
            ["interrupted;", "130"]),
        ({"status": "cancelled", "mean": None, "detail": "100 calls are spent"}, 3,
            ["mean of both –", "3"]),
        ({"status": "completed", "mean": None}, 3, ["mean of both –", "runs replay", "3"]),
    ],
)  # fmt: skip
def test_the_last_lines_show_scores_next_commands_and_exit_code(
    end: dict[str, Any],
    code: int,
    said: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    *events, ended = scripted_run()
    assert isinstance(ended, RunEnded)
    events.append(ended.model_copy(update=end))
    path = tmp_path / f"{ended.run_id}.jsonl"
    path.write_text("".join(f"{event.model_dump_json()}\n" for event in events))
    assert say_goodbye([path], 0) == code
    lines = capsys.readouterr().out
    assert not [words for words in said if words not in lines], lines
    assert ended.run_id in lines


@pytest.mark.parametrize(
    ("engine", "code", "said"),
    [
        (None, 0, "bioeval-tui watch 20261123-090000-beef"),
        (-signal.SIGTERM, 130, "stopped before it began"),
        (2, 3, ""),
    ],
)
def test_a_run_without_a_recording_continues_was_stopped_or_never_began(
    engine: int | None, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say_goodbye([tmp_path / "20261123-090000-beef.jsonl"], engine) == code
    printed = capsys.readouterr().out
    assert said in printed
    assert bool(said) == bool(printed)
