"""`new` where nobody can answer its questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from tests.command import call


@pytest.mark.parametrize("given", ["", "ada\n"])
def test_questions_that_nobody_answers_name_the_option_for_the_usual_answers(
    given: str, tmp_path: Path
) -> None:
    done = call("new", tmp_path / "job.yml", input=given)
    assert isinstance(done.exception, UsageError), done.exception
    assert "pass --yes for the usual answers" in str(done.exception)
    assert not (tmp_path / "job.yml").exists()


def test_the_address_that_the_environment_gives_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_AGENT_URL", "http://127.0.0.1:9000")
    call("new", tmp_path / "job.yml", "--yes", "--offline")
    assert 'url: "http://127.0.0.1:9000"' in (tmp_path / "job.yml").read_text()
