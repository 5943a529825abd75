"""Baselines: valid files for every task, the same for the same seed, and ridge better than
guessing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bioeval_tui.base.errors import ExitCode, InputError
from bioeval_tui.grading import Registry, Task, grade_submission, prepare_task
from tests.command import call

from .conftest import SHIPPED_IDS, Toy, lower_is_better

KINDS = ("simple", "majority", "random", "ridge")


def baselines(task: Task, folder: Path, kind: str, seed: int = 42) -> dict[str, Path]:
    """Run `baseline` for the task; return the files of a kind, or of all, by their kind."""
    asked = ["baseline", task.id, "--kind", kind, "--seed", seed, "--output-dir", folder, "--json"]
    folders = ["--data-dir", task.data_dir, "--tasks-dir", task.root]
    found: dict[str, Any] = json.loads(call(*asked, *folders, catch_exceptions=False).stdout)
    return {item["kind"]: Path(item["submission_path"]) for item in found["submissions"]}


def baseline(task: Task, folder: Path, kind: str, seed: int = 42) -> Path:
    return baselines(task, folder, kind, seed)[kind]


@pytest.mark.parametrize("task_id", SHIPPED_IDS)
@pytest.mark.long
def test_every_baseline_is_valid_and_ridge_is_best(
    shipped: Registry, task_id: str, tmp_path: Path
) -> None:
    task = shipped.get_task(task_id)
    scores = {}
    for kind, path in baselines(task, tmp_path, "all", 1).items():
        report = grade_submission(path, task)
        assert report.valid_submission, report.extra
        assert report.extra is not None
        assert report.extra.agent == f"baseline-{kind}"
        scores[kind] = report.score or 0.0
    assert tuple(scores) == KINDS
    best = min if lower_is_better(task) else max
    assert best(scores, key=lambda kind: scores[kind]) == "ridge"
    listing = tmp_path / f"{task_id.replace('/', '-')}_baselines.jsonl"
    lines = [json.loads(line) for line in listing.read_text().splitlines()]
    assert [line["task_id"] for line in lines] == [task_id] * len(KINDS)
    assert all((tmp_path / line["submission_path"]).is_file() for line in lines)


def test_the_seed_decides_a_random_baseline(shipped: Registry, tmp_path: Path) -> None:
    task = shipped.get_task("chemistry/solubility")
    texts = [
        baseline(task, tmp_path / str(number), "random", seed).read_text()
        for number, seed in enumerate((1, 1, 2))
    ]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


@pytest.mark.parametrize(
    ("grader", "expected"),
    [
        ("{name: mae, metric: mae, target: y}", {"simple": 2.5, "majority": 1.0}),
        ("{name: roc, metric: roc_auc, target: y}", {"simple": 0.75, "majority": 1.0}),
        ("{name: f1, metric: f1_macro, target: y}", {"simple": 1.0, "majority": 1.0}),
        (
            "{name: c, metric: concordance_index, target: y, event: event}",
            {"simple": 1.0, "majority": 1.0},
        ),
    ],
)
def test_constant_baselines_predict_the_documented_values(
    toy: Toy, tmp_path: Path, grader: str, expected: dict[str, float]
) -> None:
    prepare_task(toy.task)
    toy.config(grader=grader)
    train = "id,x,y,event\n1,1,0,1\n2,2,1,1\n3,3,1,0\n4,4,8,1\n"
    (toy.task.public_dir / "train.csv").write_text(train)
    for kind, value in expected.items():
        path = baseline(toy.task, tmp_path, kind)
        assert pd.read_csv(path).to_dict("list") == {"id": [3, 4], "y": [value] * 2}


def test_random_baselines_predict_existing_labels(toy: Toy, tmp_path: Path) -> None:
    prepare_task(toy.task)
    toy.config(grader="{name: f1, metric: f1_macro, target: y}")
    (toy.task.public_dir / "train.csv").write_text("id,x,y\n1,1,T cell\n2,2,B cell\n")
    rows = "".join(f"{number},0\n" for number in range(50))
    toy.task.sample_submission.write_text(f"id,y\n{rows}")
    assert set(pd.read_csv(baseline(toy.task, tmp_path, "random"))["y"]) == {"T cell", "B cell"}


def test_a_published_task_with_its_own_grader_works(toy: Toy, tmp_path: Path) -> None:
    # The sample submission's column may have another name than the target, which is the last of
    # train.csv.
    toy.config(grader="{name: own, grade_fn: 'grade:grade'}")
    grade = (
        "def grade(submission, answers):\n    return float((submission['guess'] -"
        " answers['y']).abs().mean())\n"
    )
    (toy.folder / "grade.py").write_text(grade)
    prepare_task(toy.task)
    toy.task.sample_submission.write_text("id,guess\n3,0\n4,0\n")
    path = baseline(toy.task, tmp_path, "simple")
    assert path.read_text() == "id,guess\n3,2.5\n4,2.5\n"
    report = grade_submission(baseline(toy.task, tmp_path, "ridge"), toy.task)
    assert report.valid_submission


def test_text_columns_are_encoded_as_numbers(toy: Toy, tmp_path: Path) -> None:
    toy.task.raw_dir.mkdir(parents=True)
    (toy.task.raw_dir / "all.csv").write_text("id,x,y\n1,red,1\n2,blue,4\n3,red,1\n4,green,4\n")
    prepare_task(toy.task)
    assert grade_submission(baseline(toy.task, tmp_path, "ridge"), toy.task).valid_submission


def test_test_features_csv_is_accepted_as_in_published_tasks(toy: Toy, tmp_path: Path) -> None:
    prepare_task(toy.task)
    (toy.task.public_dir / "test.csv").rename(toy.task.public_dir / "test_features.csv")
    assert grade_submission(baseline(toy.task, tmp_path, "ridge"), toy.task).valid_submission


FOLDS = """\
id,sequence,fitness,fold_random_5,fold_modulo_5
WT,MKV,,-1,-1
0,AAV,1,0,0
1,AAC,2,0,1
2,KKV,9,1,0
3,KKC,10,1,1
"""


def test_cross_validated_tasks_are_predicted_from_other_folds(toy: Toy, tmp_path: Path) -> None:
    prepare_task(toy.task)
    (toy.task.public_dir / "train.csv").unlink()
    (toy.task.public_dir / "data.csv").write_text(FOLDS)
    columns = "id,fitness_fold_random_5,fitness_fold_modulo_5"
    toy.task.sample_submission.write_text(columns + "".join(f"\n{i},0,0" for i in range(4)) + "\n")
    text = baseline(toy.task, tmp_path, "simple").read_text()
    assert text == columns + "\n0,9.5,6.0\n1,9.5,5.0\n2,1.5,6.0\n3,1.5,5.0\n"
    ridge = np.genfromtxt(baseline(toy.task, tmp_path, "ridge"), delimiter=",", skip_header=1)
    assert np.isfinite(ridge).all()
    assert ridge[0, 2] < ridge[2, 2], "AA… is known to be less fit than KK…"


def test_a_missing_fold_column_is_reported(toy: Toy, tmp_path: Path) -> None:
    prepare_task(toy.task)
    (toy.task.public_dir / "train.csv").unlink()
    (toy.task.public_dir / "data.csv").write_text("id,x\n3,1\n4,1\n")
    with pytest.raises(InputError, match=r"data\.csv has no target and folds for the column y"):
        baseline(toy.task, tmp_path, "simple")


def test_missing_files_for_a_baseline_are_reported(toy: Toy, tmp_path: Path) -> None:
    toy.config(source="{type: polaris, benchmark_id: a/b}")
    with pytest.raises(
        InputError, match=r"not prepared: run `bioeval-tui tasks prepare toys/squares --tasks-dir "
    ):
        baseline(toy.task, tmp_path, "simple")
    toy.config()
    prepare_task(toy.task)
    (toy.task.public_dir / "train.csv").write_text("id,x\n1,2\n")
    with pytest.raises(
        InputError, match=r"train\.csv of toys/squares has no column y to learn from; it has id, x"
    ):
        baseline(toy.task, tmp_path, "simple")
    (toy.task.public_dir / "train.csv").unlink()
    with pytest.raises(
        InputError, match=r"baselines learn from train\.csv, which task toys/squares does not have"
    ):
        baseline(toy.task, tmp_path, "simple")


def run(*arguments: str) -> tuple[int, str, str]:
    result = call("baseline", *arguments, catch_exceptions=False)
    return int(result.return_value), result.stdout, result.stderr


def test_baseline_prepares_the_task_writes_files_and_prints_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    code, out, err = run(
        *[
            "oncology/breast-cancer",
            "--kind",
            "all",
            "--seed",
            "7",
            "--output-dir",
            str(tmp_path / "out"),
        ]
    )
    assert code == ExitCode.OK
    listing = Path(out.strip())
    assert listing == tmp_path / "out" / "oncology-breast-cancer_baselines.jsonl"
    assert len(listing.read_text().splitlines()) == len(KINDS)
    assert "preparing oncology/breast-cancer" in err


def test_baseline_can_print_json(toy: Toy, tmp_path: Path) -> None:
    prepare_task(toy.task)
    code, out, _ = run(
        *["squares", "--json", "--output-dir", str(tmp_path / "out")],
        *["--tasks-dir", str(toy.tasks_dir), "--data-dir", str(toy.data_dir)],
    )
    assert code == ExitCode.OK
    found = json.loads(out)
    assert found["task_id"] == "toys/squares"
    assert [item["kind"] for item in found["submissions"]] == ["simple"]
