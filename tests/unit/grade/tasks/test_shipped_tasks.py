"""What a user relies on in the tasks that ship: they prepare offline, hide their answers, and say
what they are.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import anndata
import pandas as pd
import pytest

from bioeval_tui.grading import Registry, Task, grade_submission, load_leaderboard, prepare_task

from .conftest import SHIPPED, SHIPPED_IDS, lower_is_better

pytestmark = pytest.mark.parametrize("task_id", SHIPPED_IDS)


def is_h5ad(task: Task) -> bool:
    return task.answers.suffix == ".h5ad"


def test_a_shipped_task_can_be_prepared_again_and_matches_its_checksums(
    shipped: Registry, task_id: str
) -> None:
    again = prepare_task(shipped.get_task(task_id))
    assert again.was_ready
    assert again.verified


def test_preparing_gives_the_same_files_every_time(
    shipped: Registry, task_id: str, tmp_path: Path
) -> None:
    # Checksums are compared inside; a split that varies, or a new NumPy that shuffles otherwise,
    # fails here.
    result = prepare_task(Registry([], tmp_path).get_task(task_id))
    assert not result.was_ready
    assert result.verified


def test_a_changed_answer_is_detected(shipped: Registry, task_id: str, tmp_path: Path) -> None:
    task = Registry([], tmp_path).get_task(task_id)
    shutil.copytree(shipped.get_task(task_id).public_dir.parent, task.public_dir.parent)
    (task.public_dir.parent / ".verified").unlink()
    task.answers.write_bytes(task.sample_submission.read_bytes())
    with pytest.raises(Exception, match=re.escape(f"private/{task.answers.name} differs")):
        prepare_task(task)


def test_answers_are_not_public(shipped: Registry, task_id: str) -> None:
    task = shipped.get_task(task_id)
    if is_h5ad(task):
        answers, test = (
            anndata.read_h5ad(task.answers),
            anndata.read_h5ad(task.public_dir / "test.h5ad"),
        )
        train = anndata.read_h5ad(task.public_dir / "train.h5ad")
        assert not set(answers.obs.columns) & set(test.obs.columns)
        assert not set(answers.var_names) & set(test.var_names)
        assert set(answers.obs_names) == set(test.obs_names)
        assert not set(train.obs_names) & set(test.obs_names)
        return
    answers, test = pd.read_csv(task.answers), pd.read_csv(task.public_dir / "test.csv")
    train = pd.read_csv(task.public_dir / "train.csv")
    assert set(answers.columns) & set(test.columns) == {"id"}
    assert list(answers["id"]) == list(test["id"])
    assert not set(train["id"]) & set(test["id"])
    assert test["id"].is_unique
    sample = pd.read_csv(task.sample_submission)
    assert list(sample["id"]) == list(answers["id"])
    assert sample.drop(columns="id").nunique().max() == 1, (
        "the sample submission says nothing about the answers"
    )


def test_no_row_is_in_both_sets(shipped: Registry, task_id: str) -> None:
    task = shipped.get_task(task_id)
    if is_h5ad(task):
        test = anndata.read_h5ad(task.public_dir / "test.h5ad")
        train = anndata.read_h5ad(task.public_dir / "train.h5ad")[:, test.var_names]
        rows = [{tuple(row.tolist()) for row in data.X.toarray()} for data in (train, test)]
        assert not rows[0] & rows[1]
        return
    test = pd.read_csv(task.public_dir / "test.csv").drop(columns="id")
    train = pd.read_csv(task.public_dir / "train.csv")[test.columns]
    assert test.merge(train.drop_duplicates(), how="inner").empty


def test_the_sample_submission_is_valid_and_the_answers_score_best(
    shipped: Registry, task_id: str
) -> None:
    task = shipped.get_task(task_id)
    sample = grade_submission(task.sample_submission, task)
    assert sample.valid_submission, sample.extra
    assert not sample.any_medal
    if task.grader.spec is not None and task.grader.spec.event is None:
        perfect = grade_submission(task.answers, task)
        assert perfect.score == (0.0 if perfect.is_lower_better else 1.0)
        assert perfect.gold_medal


def test_the_leaderboard_is_sorted_named_and_labelled(shipped: Registry, task_id: str) -> None:
    task = shipped.get_task(task_id)
    board = pd.read_csv(task.leaderboard)
    assert list(board.columns) == ["teamName", "score", "submissionDate"]
    assert board["teamName"].is_unique
    ordered = board["score"].sort_values(ascending=lower_is_better(task), ignore_index=True)
    pd.testing.assert_series_equal(board["score"], ordered)
    assert (board["score"] == board["score"].round(5)).all()
    assert task.self_trained
    loaded = load_leaderboard(task.leaderboard, task.id, lower_is_better(task), self_trained=True)
    assert any("self-trained" in warning for warning in loaded.warnings)


def test_a_tasks_description_is_complete(shipped: Registry, task_id: str) -> None:
    task = shipped.get_task(task_id)
    text = task.description
    for heading in ("Data", "Submission", "Metric", "Leaderboard", "Source, licence, citation"):
        assert f"\n## {heading}\n" in text
    assert f"Self-trained: {len(pd.read_csv(task.leaderboard)):,} entries" in text
    (reference,) = pd.read_csv(task.folder / "reference.csv").itertuples()
    assert task.reference is not None
    assert (task.reference.team, float(task.reference.score)) == (
        reference.teamName,
        reference.score,
    )
    assert reference.teamName not in set(pd.read_csv(task.leaderboard)["teamName"])
    assert f"`{task.config['grader']['metric']}`" in text
    assert re.search(r"(BSD-3-Clause|MIT|Apache-2\.0)", text)
    assert "labels are public" in text.replace("\n", " ")
    assert task.config["id"] == task.id
    assert not task.warnings


def test_a_tasks_size_is_as_described(shipped: Registry, task_id: str) -> None:
    task = shipped.get_task(task_id)
    for part in ("train", "test"):
        if is_h5ad(task):
            data = anndata.read_h5ad(task.public_dir / f"{part}.h5ad")
            assert f"`{part}.h5ad` | {data.n_obs} × {data.n_vars} |" in task.description
        else:
            rows = len(pd.read_csv(task.public_dir / f"{part}.csv"))
            assert f"`{part}.csv` | {rows:,} |" in task.description


def test_a_tasks_data_is_listed_in_the_notice(task_id: str) -> None:
    notice = (SHIPPED / "NOTICE.md").read_text(encoding="utf-8")
    own = {"leaderboard.csv", "reference.csv"}
    for path in (SHIPPED / task_id).glob("*"):
        if path.suffix in (".csv", ".h5ad") and path.name not in own:
            assert f"`{path.relative_to(SHIPPED).as_posix()}`" in notice
