"""A task's answers in a public and a private part: who has no seed cannot tell which rows are
which.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.grade import OTHER_ROWS, TaskGrading
from bioeval_tui.grading import Invalid, Registry, Task, TaskReport
from tests.command import call
from tests.unit.grade.conftest import TaskFolder

SEED = b"0123456789abcdef"
ROWS = 40
CODE = """
def grade(submission, answers):
    assert list(submission["id"]) == list(answers["id"])
    return float((submission["y"] - answers["y"]).abs().mean())
"""


@pytest.fixture
def tasks(tmp_path: Path) -> TaskFolder:
    return TaskFolder(tmp_path)


def answers(rows: int = ROWS) -> str:
    return "id,y\n" + "".join(f"p{n},{n}.0\n" for n in range(rows))


def off_by(public_ids: set[str], public: float, private: float) -> str:
    """A submission that is wrong by one amount on the public rows and by another on the private
    ones.
    """
    rows = ((f"p{n}", n + (public if f"p{n}" in public_ids else private)) for n in range(ROWS))
    return "id,y\n" + "".join(f"{name},{value}\n" for name, value in rows)


def split(
    tasks: TaskFolder, seed: bytes, share: float, output: Path, data: Path | None = None
) -> dict[str, Any]:
    """Split the answers; return what the command prints."""
    file = output.parent / "seed"
    file.write_bytes(seed)
    done = call(
        *(
            "tasks",
            "split",
            "lab/numbers",
            "--seed-file",
            file,
            "--output-dir",
            output,
            "--public",
            share,
        ),
        *("--tasks-dir", tasks.root, "--data-dir", data or tasks.data, "--json"),
        catch_exceptions=False,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def part_of(tasks: TaskFolder, found: dict[str, Any], name: str) -> Task:
    return Registry([tasks.root], Path(found[name]["data_dir"])).get_task("lab/numbers")


@pytest.mark.parametrize("code", [None, CODE])
def test_each_part_has_its_own_score_for_the_same_file(
    tasks, tmp_path: Path, code: str | None
) -> None:
    tasks.add(code=code, answers=answers())
    found = split(tasks, SEED, 0.25, tmp_path / "parts")
    assert (found["public"]["rows"], found["private"]["rows"]) == (10, 30)
    public, private = (part_of(tasks, found, name) for name in ("public", "private"))
    ids = set(pd.read_csv(public.answers)["id"])
    assert ids.isdisjoint(pd.read_csv(private.answers)["id"])
    file = tasks.submit(off_by(ids, 0.2, 0.7))
    reports = [
        TaskGrading(each).grade(file)
        for each in (public, private, tasks.registry.get_task("lab/numbers"))
    ]
    assert all(isinstance(report, TaskReport) for report in reports)
    assert [report.score for report in reports] == [0.2, 0.7, 0.575]  # type: ignore[union-attr]
    seen = reports[0].extra.warnings[0]  # type: ignore[union-attr]
    assert (
        seen == "scored on the public part of the answers (10 of 40 rows); the final board uses the"
        " private part"
    )
    shown = [report.rows_note for report in reports]  # type: ignore[union-attr]
    assert shown == [
        "scored on all 10 rows of the public part",
        "scored on all 30 rows of the private part",
        "",
    ]
    assert isinstance(reports[0], TaskReport)
    assert TaskReport.from_dict(reports[0].to_dict()).rows_note == shown[0]
    file_of_reports = tmp_path / "reports.json"
    file_of_reports.write_text(
        json.dumps({"task_reports": [report.to_dict() for report in reports]})
    )  # type: ignore[union-attr]
    assert shown[0] in call("medals", file_of_reports, catch_exceptions=False).stdout


def test_a_leaderboard_of_all_rows_is_no_measure_for_a_part_and_the_report_says_so(
    tasks, tmp_path: Path
) -> None:
    name = tasks.add(answers=answers())
    folder = Path(split(tasks, SEED, 0.25, tmp_path / "parts")["public"]["data_dir"])
    said = [
        OTHER_ROWS in TaskGrading(Registry([tasks.root], folder, board).get_task(name)).warnings
        for board in (None, str(tasks.submit("score\n0.1\n0.2\n", "board-of-the-part.csv")))
    ]
    assert said == [True, False]


def test_a_file_must_have_the_rows_of_both_parts(tasks, tmp_path: Path) -> None:
    tasks.add(answers=answers())
    found = split(tasks, SEED, 0.25, tmp_path / "parts")
    public = part_of(tasks, found, "public")
    outcome = TaskGrading(public).grade(tasks.submit(public.answers.read_text()))
    assert isinstance(outcome, Invalid)
    assert "30 ids are missing" in outcome.reason


def test_the_same_seed_gives_the_same_parts_and_another_seed_others(tasks, tmp_path: Path) -> None:
    tasks.add(answers=answers())
    texts = []
    for number, seed in enumerate((SEED, SEED, SEED[::-1])):
        found = split(tasks, seed, 0.5, tmp_path / str(number))
        texts.append(part_of(tasks, found, "public").answers.read_text())
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_both_parts_have_every_class(tasks, tmp_path: Path) -> None:
    labels = "id,y\n" + "".join(f"p{n},{int(n < 4)}\n" for n in range(ROWS))
    grader = {"metric": "roc_auc", "id": "id", "target": "y"}
    tasks.add(grader=grader, answers=labels, scores=[0.9, 0.5])
    found = split(tasks, SEED, 0.5, tmp_path / "parts")
    for name in ("public", "private"):
        assert pd.read_csv(part_of(tasks, found, name).answers)["y"].sum() == 2


@pytest.mark.parametrize(
    ("seed", "share", "text", "said"),
    [
        (b"short", 0.5, answers(), "the seed has 5 bytes"),
        (SEED, 0.001, answers(), "the public part of lab/numbers would have no rows"),
        (SEED, 0.5, "id,y\n1.5,1\n2.5,2\n", "no column of ids"),
    ],
)
def test_what_cannot_be_split_is_said(
    tasks, tmp_path: Path, seed: bytes, share: float, text: str, said: str
) -> None:
    tasks.add(answers=text)
    with pytest.raises(InputError, match=said):
        split(tasks, seed, share, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


def test_a_part_is_neither_split_again_nor_overwritten(tasks, tmp_path: Path) -> None:
    tasks.add(answers=answers())
    found = split(tasks, SEED, 0.5, tmp_path / "parts")
    with pytest.raises(InputError, match="exists already"):
        split(tasks, SEED, 0.5, tmp_path / "parts")
    with pytest.raises(InputError, match="are a part already"):
        split(tasks, SEED, 0.5, tmp_path / "again", Path(found["public"]["data_dir"]))


def test_the_commands_split_and_grade_a_part(
    tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_TASKS_DIR", str(tasks.root))
    tasks.add(answers=answers())
    seed = tmp_path / "seed"
    seed.write_bytes(SEED)

    done = call(
        *("tasks", "split", "lab/numbers", "--seed-file", seed, "--output-dir", tmp_path / "parts"),
        *("--data-dir", tasks.data, "--json"),
        catch_exceptions=False,
    )
    value = json.loads(done.stdout)
    assert value["public"]["rows"] == 12
    assert len(value["seed_sha256"]) == 64
    file = tasks.submit(answers())
    card = call("grade-sample", file, "lab/numbers", "--data-dir", value["public"]["data_dir"])
    assert "warning: scored on the public part of the answers (12 of 40 rows)" in card.stdout
