"""`.env` is read only where the user asks for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import read_env_file
from tests.forked import completed
from tests.integration.program import environment, sample_agent

JOB = Path(__file__).resolve().parents[3] / "sample_jobs" / "medication_reminder.yml"
NEEDS_A_KEY = ("demo", "--llm", "--headless")


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return completed(*arguments, env={**environment(folder / "data"), **variables}, cwd=folder)


def test_an_env_file_in_the_working_folder_is_mentioned_but_not_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=k\nBIOEVAL_DATA_DIR=elsewhere\n")
    done = run(tmp_path, *NEEDS_A_KEY)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("there is a .env here: pass --env-file .env to use it")
    assert "OPENAI_API_KEY is not set" in done.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_a_missing_or_loaded_env_file_is_not_mentioned(tmp_path: Path) -> None:
    assert ".env" not in run(tmp_path, *NEEDS_A_KEY).stderr
    (tmp_path / ".env").write_text("UNRELATED=1\n")
    done = run(tmp_path, "--env-file", ".env", *NEEDS_A_KEY)
    assert "OPENAI_API_KEY is not set" in done.stderr
    assert "--env-file" not in done.stderr


def test_the_requested_env_file_reaches_child_processes(tmp_path: Path) -> None:
    with sample_agent(tmp_path / "data", "--tokens-per-second", "0") as url:
        (tmp_path / "mine.env").write_text(f"# the agent\nexport BIOEVAL_AGENT_URL='{url}'\n")
        job = ("run", str(JOB), "--rehearsal", "--headless")
        for words in (("--env-file", "mine.env", *job), (*job, "--env-file", "mine.env")):
            done = run(tmp_path, *words)
            assert done.returncode == 0, done.stderr
    done = run(tmp_path, "--env-file", "mine.env", *job, BIOEVAL_AGENT_URL="http://127.0.0.1:9")
    assert done.returncode == 3, "the environment wins"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"A=1\nnonsense\n", "line 2: must be NAME=value"),
        (b"A=1\n\nB='x\n", "line 3: must be NAME=value"),
        (b"A=x\0y\n", "line 1: must be NAME=value"),
        (b"\xff\n", "it is not UTF-8 text"),
    ],
)
def test_an_invalid_env_file_sets_nothing_and_names_the_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "bad.env").write_bytes(content)
    before = dict(os.environ)
    with pytest.raises(UsageError, match=said):
        read_env_file(tmp_path / "bad.env")
    assert dict(os.environ) == before


def test_a_missing_env_file_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "--env-file", "none.env", "schema")
    assert done.returncode == 2
    assert "none.env" in done.stderr


def test_an_endless_env_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / ".env").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="larger than 1,000,000 bytes"):
        read_env_file(tmp_path / ".env")
