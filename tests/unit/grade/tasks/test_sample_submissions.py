"""The sample submissions: careful beats hasty, and each broken file is refused for its own
error.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.grading import Registry, TaskReport, grade_submission

from .conftest import ROOT, lower_is_better

FOLDER = ROOT / "sample_submissions"

FAULTS = {
    "breast-cancer.csv": "7 ids are missing: 402, 403, 404, 405, 406",
    "pbmc-cell-types-cells-missing.h5ad": "25 cells are missing",
    "pbmc-cell-types-cell-twice.h5ad": "1 cell occurs more than once: cell031",
    "pbmc-cell-types-no-such-column.h5ad": "`cell_type` is missing",
    "pbmc-cell-types-cut-in-half.h5ad": "not a readable h5ad file",
    "pbmc-gene-panel-nan.h5ad": "X has 2 values that are NaN or infinite",
    "pbmc-gene-panel-wrong-genes.h5ad": "40 genes are missing",
}


def listed(name: str) -> list[tuple[str, Path]]:
    lines = [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    return [(line["task_id"], FOLDER / line["submission_path"]) for line in lines]


@pytest.fixture(scope="module")
def reports(shipped: Registry) -> dict[tuple[str, str], TaskReport]:
    """Reports by agent and file name."""
    graded = {}
    for task_id, path in listed("all_submissions.jsonl"):
        report = grade_submission(path, shipped.get_task(task_id))
        assert report.extra is not None
        graded[str(report.extra.agent), path.name] = report
    return graded


def test_the_short_list_is_one_file_of_each_agent() -> None:
    names = [path.parent.name.rpartition("_")[2] for _, path in listed("submissions.jsonl")]
    assert names == ["careful", "hasty", "broken"]
    assert set(listed("submissions.jsonl")) <= set(listed("all_submissions.jsonl"))


def test_the_careful_agent_beats_every_median_and_the_hasty_one_none(
    reports: dict[tuple[str, str], TaskReport], shipped: Registry
) -> None:
    careful = {name: report for (agent, name), report in reports.items() if agent == "careful"}
    assert len(careful) == 4
    assert sum(good.any_medal for good in careful.values()) >= 2
    for name, good in careful.items():
        poor = reports["hasty", name]
        assert good.above_median
        assert poor.valid_submission
        assert not poor.above_median
        lower = lower_is_better(shipped.get_task(good.task_id))
        assert good.score is not None
        assert poor.score is not None
        assert (good.score < poor.score) == lower


def test_every_broken_file_is_refused_for_its_own_fault(
    reports: dict[tuple[str, str], TaskReport],
) -> None:
    broken = {name: report for (agent, name), report in reports.items() if agent == "broken"}
    assert set(broken) == set(FAULTS)
    for name, report in broken.items():
        assert not report.valid_submission
        assert report.extra is not None
        assert FAULTS[name] in str(report.extra.error)


def test_every_sample_submission_is_listed() -> None:
    files = {path for path in FOLDER.glob("*/*") if path.is_file()}
    assert files == {path for _, path in listed("all_submissions.jsonl")}
