"""Shipped tasks prepared once for all tests of this folder, and a small task to break in many
ways.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from bioeval_tui.grade.tasks import prepare
from bioeval_tui.grading import Registry, Task, prepare_task

ROOT = Path(__file__).parents[4]
SHIPPED = ROOT / "bioeval_tui" / "sample" / "tasks"
SHIPPED_IDS = sorted(
    path.parent.relative_to(SHIPPED).as_posix() for path in SHIPPED.glob("*/*/config.yaml")
)


def lower_is_better(task: Task) -> bool:
    """The direction that config.yaml says."""
    direction = task.config["grader"]["is_lower_better"]
    assert isinstance(direction, bool)
    return direction


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """All shipped tasks, prepared."""
    registry = Registry([], tmp_path_factory.mktemp("data"))
    for task_id in SHIPPED_IDS:
        prepare_task(registry.get_task(task_id))
    return registry


PREPARER = """
def prepare(raw, public, private):
    text = "id,x,y\\n1,1,1\\n2,2,4\\n3,3,9\\n4,4,16\\n"
    if (raw / "all.csv").exists():
        text = (raw / "all.csv").read_text()
    rows = [line.split(",") for line in text.splitlines()]

    def write(path, head, lines):
        path.write_text("\\n".join(",".join(cells) for cells in [head, *lines]) + "\\n")

    write(public / "train.csv", rows[0], rows[1:3])
    write(public / "test.csv", ["id", "x"], [row[:-1] for row in rows[3:]])
    write(public / "sample_submission.csv", ["id", "y"], [[row[0], "0"] for row in rows[3:]])
    write(private / "answers.csv", ["id", "y"], [[row[0], row[2]] for row in rows[3:]])
"""


class Toy:
    """A task of four rows in folders of its own; attributes are paths of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tasks" / "toys" / "squares"
        self.folder.mkdir(parents=True)
        self.tasks_dir, self.data_dir = folder / "tasks", folder / "data"
        self.config()
        (self.folder / "description.md").write_text("# Squares\n")
        (self.folder / "prepare.py").write_text(PREPARER)
        (self.folder / "leaderboard.csv").write_text(
            "teamName,score,submissionDate\na,1.0,\nb,2.0,\n"
        )

    def config(
        self, source: str = "{type: builtin}", grader: str = "{name: mae, metric: mae, target: y}"
    ) -> None:
        """Write config.yaml with this data source and grader."""
        text = f"""\
            id: toys/squares
            name: Squares
            data_source: {source}
            dataset:
              answers: toys/squares/prepared/private/answers.csv
              sample_submission: toys/squares/prepared/public/sample_submission.csv
            grader: {grader}
            """
        (self.folder / "config.yaml").write_text(dedent(text))

    @property
    def task(self) -> Task:
        """The task, read anew."""
        return Registry([self.tasks_dir], self.data_dir).get_task("toys/squares")


@pytest.fixture
def foreign(tmp_path: Path) -> Toy:
    """A task of four rows as a user's: its preparer runs in a process of its own."""
    return Toy(tmp_path)


@pytest.fixture
def toy(foreign: Toy, monkeypatch: pytest.MonkeyPatch) -> Toy:
    """A task of four rows as if it were shipped: its preparer runs in this process, which is
    quicker.
    """
    monkeypatch.setattr(prepare, "SHIPPED_TASKS", foreign.task.root)
    return foreign
