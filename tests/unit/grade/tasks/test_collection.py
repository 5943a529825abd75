"""The shipped tasks as a whole: every kind of task and every medal rule is there, and the data stays small."""

from __future__ import annotations

import csv

from bioeval_tui.grade import Registry

from .conftest import SHIPPED, SHIPPED_IDS, lower_is_better


def board_size(task_id: str) -> int:
    with (SHIPPED / task_id / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
        return len(list(csv.reader(file))) - 1


def test_there_are_tasks_of_every_kind(shipped: Registry) -> None:
    assert len(SHIPPED_IDS) >= 8
    tasks = [shipped.get_task(task_id) for task_id in SHIPPED_IDS]
    assert {task.task_type for task in tasks} == {"classification", "regression", "survival"}
    assert {task.answers.suffix for task in tasks} == {".csv", ".h5ad"}
    assert {lower_is_better(task) for task in tasks} == {True, False}


def test_every_medal_rule_is_met() -> None:
    sizes = [board_size(task_id) for task_id in SHIPPED_IDS]
    for low, high in ((60, 99), (100, 249), (250, 999), (1000, 10_000)):
        assert any(low <= size <= high for size in sizes), (
            f"no leaderboard of {low}–{high} entries in {sizes}"
        )


def test_the_shipped_data_stays_small() -> None:
    total = sum(
        path.stat().st_size
        for path in SHIPPED.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    assert total < 2_500_000


def test_the_licences_named_in_the_notice_are_there() -> None:
    notice = (SHIPPED / "NOTICE.md").read_text(encoding="utf-8")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (SHIPPED / "licences").glob("*.txt")}
    assert set(texts) == {"lifelines", "causallib", "rdkit", "scanpy", "modlamp"}
    for package, text in texts.items():
        assert f"| {package} " in notice
        assert "Copyright" in text
