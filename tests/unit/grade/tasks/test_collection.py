"""The shipped tasks as a whole: every kind of task, and little data."""

from __future__ import annotations

from bioeval_tui.grading import Registry

from .conftest import SHIPPED, SHIPPED_IDS, lower_is_better


def test_there_are_tasks_of_every_kind(shipped: Registry) -> None:
    assert len(SHIPPED_IDS) >= 7
    tasks = [shipped.get_task(task_id) for task_id in SHIPPED_IDS]
    assert {task.task_type for task in tasks} == {"classification", "regression", "survival"}
    assert {task.answers.suffix for task in tasks} == {".csv", ".h5ad"}
    assert {lower_is_better(task) for task in tasks} == {True, False}


def test_the_shipped_data_stays_small() -> None:
    total = sum(
        path.stat().st_size
        for path in SHIPPED.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    assert total < 2_500_000


def test_the_licences_named_in_the_notice_are_there() -> None:
    notice = (SHIPPED / "NOTICE.md").read_text(encoding="utf-8")
    texts = {
        path.stem: path.read_text(encoding="utf-8") for path in (SHIPPED / "licences").glob("*.txt")
    }
    assert set(texts) == {"deepchem", "deepsurv", "scanpy", "modlamp"}
    for package, text in texts.items():
        assert f"| {package}" in notice.lower()
        assert "Copyright" in text
