"""Imports a file at the command line, for the tests of importers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.base.settings import Settings
from bioeval_tui.formats import RunResult, calls_of
from bioeval_tui.report.result import load_run
from tests.command import call


@dataclass(frozen=True, slots=True)
class Read:
    """A file as `runs import` read it: the run, and what was printed on stderr."""

    run: RunResult
    said: str

    @property
    def talks(self) -> list[list[tuple[str, str]]]:
        """Who said what, in each conversation."""
        return [[(m.role, m.text) for m in talk.messages] for talk in self.run.conversations]

    def calls(self, talk: int = 0) -> list[tuple[str, Any, Any]]:
        """The tool calls of a conversation: name, arguments, result."""
        messages = self.run.conversations[talk].messages
        pairs = (pair for message in messages for pair in calls_of(message.generation))
        return [(one.name, one.arguments, None if out is None else out.value) for one, out in pairs]


def import_of(file: Path, *options: object) -> Read:
    """Import a file that can be read."""
    done = call("runs", "import", file, *options)
    assert done.return_value == 0, (done.stderr, done.exception)
    return Read(
        load_run(Settings.from_environment().runs_dir / f"{done.stdout.strip()}.jsonl"), done.stderr
    )


def refusal_of(file: Path, *options: object) -> str:
    """Import a file that cannot be read; return why not. No run is left behind."""
    done = call("runs", "import", file, *options)
    assert done.exception is not None
    runs = Settings.from_environment().runs_dir
    assert not runs.exists() or not [*runs.glob("*.jsonl")]
    return str(done.exception)


def written(file: Path, value: Any) -> Path:
    """Write a JSON document, or JSON Lines of a list if the file is called so."""
    if file.suffix == ".jsonl":
        text = "".join(json.dumps(line) + "\n" for line in value)
    else:
        text = json.dumps(value, indent=1)
    file.write_text(text, encoding="utf-8")
    return file
