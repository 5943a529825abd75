"""Settings from the environment, and their documentation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base import settings
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
OURS = re.compile(r"\b(?:BIOEVAL|NEO|OPENAI)_[A-Z_]+\b")
INTERNAL = {"BIOEVAL_WORKER"}
OF_THE_OPENAI_PACKAGE = {
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_API_VERSION",
}


class Asked(dict[str, str]):
    """An empty environment that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the default."""
        self.names.add(name)
        return default


"""What the program tells a process that it starts."""


def test_the_documentation_lists_exactly_the_environment_variables() -> None:
    asked = Asked()
    Settings.from_environment(asked)
    read = asked.names | OF_THE_OPENAI_PACKAGE
    package = Path(settings.__file__).parents[1]
    for file in package.rglob("*.py"):
        read |= set(
            re.findall(r'= "(BIOEVAL_[A-Z_]+)"$', file.read_text(encoding="utf-8"), re.MULTILINE)
        )
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    listed = set(OURS.findall("\n".join(re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE))))
    assert listed == read - INTERNAL


def test_the_documentation_gives_the_defaults() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    usual = Settings.from_environment({})
    rows = {
        name: line
        for line in page.splitlines()
        for name in OURS.findall(line.split("|")[1] if "|" in line else "")
    }
    for name, value in (
        ("BIOEVAL_AGENT_URL", usual.agent_url),
        ("BIOEVAL_KNOWLEDGE_URL", usual.knowledge_url),
        ("BIOEVAL_EVALUATOR_MODEL", usual.evaluator_model),
        ("BIOEVAL_JUDGE_MODEL", usual.judge_model),
        ("BIOEVAL_MODEL_TIMEOUT_S", f"{usual.model_timeout_s:g}"),
        ("BIOEVAL_LONGEST_WAIT_S", f"{usual.longest_wait_s:g}"),
        ("NEO_URI", usual.neo_uri),
        ("NEO_USERNAME", usual.neo_username),
    ):
        assert value in rows[name], name


@pytest.mark.parametrize("below", ["", "/runs"])
def test_a_data_folder_that_is_a_file_is_reported(below: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match=r"BIOEVAL_DATA_DIR=.*: .*file is not a folder"):
        _ = Settings.from_environment({"BIOEVAL_DATA_DIR": f"{file}{below}"}).data_dir


def test_listing_runs_of_a_data_folder_that_is_a_file_exits_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(file))
    monkeypatch.setattr(sys, "argv", ["bioeval-tui", "runs", "list"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "is not a folder" in capsys.readouterr().err
