"""A temporary tasks folder: `make_task(...)` writes one task, its answers and its leaderboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bioeval_tui.grading import Registry
from tests.forked import fork_templates


class TaskFolder:
    """Writes tasks below one root and keeps their data beside it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tasks"
        self.data = folder / "data"
        self.submissions = folder / "submissions"
        self.submissions.mkdir()

    @property
    def registry(self) -> Registry:
        return Registry([self.root], self.data)

    def add(
        self,
        task_id: str = "lab/numbers",
        *,
        grader: dict[str, Any] | None = None,
        code: str | None = None,
        answers: str = "id,y\na,1.0\nb,2.0\nc,3.0\n",
        board: str | None = None,
        scores: list[float] | None = None,
        config: dict[str, Any] | None = None,
        humans: str | None = None,
        sample: str | None = None,
    ) -> str:
        folder = self.root / task_id
        folder.mkdir(parents=True)
        public = self.data / task_id / "prepared" / "public"
        private = self.data / task_id / "prepared" / "private"
        public.mkdir(parents=True)
        private.mkdir(parents=True)
        if code is not None:
            (folder / "grade.py").write_text(code)
            grader = grader or {"name": "code", "grade_fn": "grade:grade"}
        if board is None:
            listed = (
                scores
                if scores is not None
                else [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
            )
            rows = "".join(f"team{n},{score},2025-01-01\n" for n, score in enumerate(listed))
            board = "teamName,score,submissionDate\n" + rows
        values = {
            "id": task_id,
            "name": "Numbers",
            "description": "description.md",
            "dataset": {
                "answers": f"{task_id}/prepared/private/answers.csv",
                "sample_submission": f"{task_id}/prepared/public/sample_submission.csv",
            },
            "grader": grader
            or {"name": "mae", "metric": "mean_absolute_error", "id": "id", "target": "y"},
            **(config or {}),
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(values))
        (folder / "leaderboard.csv").write_text(board)
        (private / "answers.csv").write_text(answers)
        (public / "sample_submission.csv").write_text(answers if sample is None else sample)
        if humans is not None:
            (public / "human_baselines.csv").write_text(humans)
        return task_id

    def submit(self, text: str, name: str = "submission.csv") -> Path:
        path = self.submissions / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def starts_templates() -> None:
    """Start what forks grading workers as the program does."""


@pytest.fixture(autouse=True)
def forks_templates(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Fork what forks grading workers: loading the libraries is most of a test."""
    if "starts_templates" not in request.fixturenames:
        fork_templates(monkeypatch)


@pytest.fixture
def tasks(tmp_path: Path) -> TaskFolder:
    return TaskFolder(tmp_path)


@pytest.fixture
def good(tasks: TaskFolder) -> Callable[[], Path]:
    """A submission that the default task scores 0.5."""
    return lambda: tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n")
