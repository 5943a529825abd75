"""Graders find what the published program gives them: its helpers, its registry, joblib, and old
h5ad files.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from bioeval_tui.grade.batch.containment import LINUX
from bioeval_tui.grading import GraderPool, NotGraded, TaskReport, grade_submission

HELPERS = """
import zipfile
from pathlib import Path
import tempfile
from biomlbench.data_sources import DataSource, DataSourceError, DataSourceFactory
from biomlbench.data_sources import register_data_source
from biomlbench.data_sources.base import DataSourceNotFoundError
from biomlbench.registry import registry
from biomlbench.utils import compress, get_module_dir, get_repo_dir, get_runs_dir, extract

@register_data_source("mine")
class Mine(DataSource):
    def download(self, source_config, data_dir): return None
    def get_leaderboard(self, source_config): return None

def grade(submission, answers):
    assert get_module_dir().name == "biomlbench", get_module_dir()
    assert get_runs_dir() == get_repo_dir() / "runs" == get_module_dir().parent / "runs"
    assert isinstance(DataSourceFactory.create("mine"), Mine)
    assert DataSourceFactory.is_available("kaggle")
    try:
        DataSourceFactory.create("nothing")
    except DataSourceNotFoundError as error:
        assert isinstance(error, DataSourceError) and error.source_type == "nothing"
    task = registry.get_task("lab/helpers")
    assert task.answers.is_file()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a"
        source.mkdir()
        (source / "x.txt").write_text("x")
        compress(source, Path(folder) / "a.zip")
        extract(Path(folder) / "a.zip", Path(folder) / "b")
        assert (Path(folder) / "b" / "x.txt").read_text() == "x"
    return 0.5
"""
JOBLIB = """
from joblib import Parallel, delayed

def own(value):
    return value * 2.0

def grade(submission, answers):
    return float(sum(Parallel(n_jobs=2)(delayed(own)(value) for value in submission["y"])))
"""
FILE = "id,y\na,1\nb,2\nc,3\n"


def test_a_grader_finds_the_published_helpers_in_a_worker(tasks) -> None:
    task = tasks.add("lab/helpers", code=HELPERS)
    with GraderPool(tasks.registry, workers=1) as pool:
        outcome = pool.grade(tasks.submit(FILE), task)
    assert not isinstance(outcome, NotGraded), outcome.reason
    assert isinstance(outcome, TaskReport)
    assert outcome.score == 0.5


@pytest.mark.long
@pytest.mark.skipif(not LINUX, reason="joblib's processes are tried on Linux")
def test_joblib_calls_a_function_of_the_graders_own_module(tasks) -> None:
    task = tasks.add(code=JOBLIB)
    with GraderPool(tasks.registry, workers=1) as pool:
        outcome = pool.grade(tasks.submit(FILE), task)
    assert not isinstance(outcome, NotGraded), outcome.reason
    assert isinstance(outcome, TaskReport)
    assert outcome.score == 12.0


def write_as_anndata_0_6(path: Path, labels: list[int]) -> Path:
    """Write cells with a categorical label in the format before anndata 0.7: one structured array
    for `obs`.
    """
    rows = [(f"c{n}".encode(), label) for n, label in enumerate(labels)]
    with h5py.File(path, "w") as file:
        file["obs"] = np.array(rows, dtype=[("index", "S8"), ("label", "i1")])
        file["var"] = np.array([(b"g1",)], dtype=[("index", "S2")])
        file["X"] = np.zeros((len(labels), 1), "f4")
        file["uns/label_categories"] = np.array([b"A", b"B"])
    return path


def test_an_h5ad_file_of_anndata_0_6_is_read(tasks) -> None:
    grader = {"metric": "accuracy", "h5ad": {"obs": "label"}}
    task_id = tasks.add(grader=grader, scores=[1.0, 0.5])
    config = tasks.root / task_id / "config.yaml"
    config.write_text(config.read_text().replace("answers.csv", "answers.h5ad"))
    task = tasks.registry.get_task(task_id)
    write_as_anndata_0_6(task.answers, [0, 1, 0, 1])
    file = write_as_anndata_0_6(tasks.submissions / "s.h5ad", [0, 1, 1, 1])
    report = grade_submission(file, task)
    assert report.score == 0.75
    assert report.rows_words == "scored on all 4 rows"
    short = grade_submission(write_as_anndata_0_6(tasks.submissions / "t.h5ad", [0]), task)
    assert short.extra is not None
    assert "3 cells are missing" in str(short.extra.error)
