"""A list of submissions that is none, or lists nothing, is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.submissions import read_submissions, row_names
from tests.command import call

ONE = {"task_id": "lab/a", "submission_path": None}
ROWS = "id,y\n" + "".join(f"{n},0.5\n" for n in range(171))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ok.csv", ROWS, "ok.csv is a CSV file and no list of submissions"),
        ("ok.txt", ROWS, "ok.txt is a CSV file and no list of submissions"),
        ("cells.h5ad", "\x89HDF", "cells.h5ad is an h5ad file and no list of submissions"),
        ("notes.md", "one\ntwo\n", "notes.md is plain text and no list of submissions"),
        (
            "all.json",
            json.dumps([ONE, ONE], indent=1),
            "all.json is one JSON value over 10 lines; a list of submissions has an object in each",
        ),
    ],
)
def test_a_file_of_another_form_is_named_once(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="latin-1")
    with pytest.raises(InputError) as refused:
        read_submissions(file)
    assert said in str(refused.value)
    assert not refused.value.problems
    assert ("grade-sample FILE TASK" in str(refused.value)) == (name != "all.json")


def test_wrong_lines_of_a_list_are_each_named(tmp_path: Path) -> None:
    file = tmp_path / "list.jsonl"
    file.write_text(f"{json.dumps(ONE)}\n{{}}\nx,y\n")
    with pytest.raises(InputError) as refused:
        read_submissions(file)
    assert [problem.line for problem in refused.value.problems] == [2, 3]


@pytest.mark.parametrize("text", ["", "\n# nothing yet\n"])
def test_a_batch_of_nothing_is_no_success(tmp_path: Path, text: str) -> None:
    file = tmp_path / "list.jsonl"
    file.write_text(text)
    assert read_submissions(file).submissions == ()
    done = call("grade", file, "--output-dir", tmp_path / "out")
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    assert "list.jsonl lists no submission; give each a line such as {" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_list_may_name_the_agent_of_each_submission(tmp_path: Path) -> None:
    file = tmp_path / "2026_run-group_grouped" / "list.jsonl"
    file.parent.mkdir()
    lines = [{**ONE, "agent": agent} for agent in ("alpha\x1b", " ", "智能体", None, 3)]
    file.write_text("\n".join(map(json.dumps, [lines[0], lines[2], lines[3], ONE])))
    agents = [one.agent for one in read_submissions(file).submissions]
    assert agents == ["alpha␛", "智能体", "grouped", "grouped"]
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match="`agent` must be a name or null") as refused:
        read_submissions(file)
    assert [problem.line for problem in refused.value.problems] == [2, 5]


def test_files_of_the_same_name_are_called_by_what_tells_their_paths_apart() -> None:
    def names(*paths: str) -> list[str]:
        return row_names([("lab/a", None, path) for path in paths])

    assert names("own/a/1/s.csv", "own/b/1/s.csv") == ["a", "b"]
    assert names("own/a/s.csv", "own/a/x/s.csv", "own/t.csv") == ["s.csv", "x", "t.csv"]
    assert names("own/s.csv", "own/s.csv", "") == ["s.csv", "s.csv", ""]
    same_file_of_two_tasks = [("lab/a", None, "a/s.csv"), ("lab/b", None, "b/s.csv")]
    assert row_names(same_file_of_two_tasks) == ["s.csv", "s.csv"]
    assert row_names([("lab/a", "one", "a/s.csv"), ("lab/a", "unknown", "b/s.csv")]) == [
        "one",
        "s.csv",
    ]
