"""Messages name what a file is, what is meant by a name, and what is strange about a file that is
valid.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.command import call
from tests.unit.grade.test_old_h5ad import OBS, add_task

TABLE = "id,y\na,1.0\nb,2.0\nc,3.0\n"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
LABELS = {"name": "acc", "metric": "accuracy", "id": "id", "target": "y"}


def called(tasks: Any, command: str, file: Path, *options: object) -> Any:
    where = ("--tasks-dir", tasks.root, "--data-dir", tasks.data)
    return call(command, file, "lab/numbers", *where, *options)


def findings(tasks: Any, data: str | bytes) -> list[str]:
    path = tasks.submissions / "submission.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return json.loads(called(tasks, "validate", path, "--json").stdout)["findings"]


def parquet() -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"id": ["a"], "y": [1.0]}), sink)
    return sink.getvalue()


def in_zip(names: dict[str, str]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, text in names.items():
            archive.writestr(name, text)
    return sink.getvalue()


OTHERS = {
    "gzip": (gzip.compress(TABLE.encode()), "packed with gzip; unpack it first (gunzip)"),
    "zip": (in_zip({"submission.csv": TABLE}), "a ZIP archive; unpack it first (unzip)"),
    "xlsx": (
        in_zip({"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<x/>"}),
        "an Excel workbook; save the sheet as CSV",
    ),
    "parquet": (parquet(), "a Parquet file; write it with `to_csv(path, index=False)`"),
    "UTF-16": (
        TABLE.encode("utf-16"),
        "text in UTF-16, as Excel's “Unicode text”; save it as UTF-8",
    ),
    "UTF-16 without a mark": (TABLE.encode("utf-16-le"), "text in UTF-16"),
    "LFS": (LFS.encode(), "a Git LFS pointer, not the file itself; get that with `git lfs pull`"),
    "HTML": (b"\n<!DOCTYPE html>\n<html><body>log in</body></html>", "a web page (HTML)"),
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("code", [None, "def grade(s, a):\n    return 0.5\n"])
def test_a_file_of_another_format_is_named_for_what_it_is(
    tasks: Any, what: str, code: str | None
) -> None:
    tasks.add(code=code)
    data, words = OTHERS[what]
    (finding,) = findings(tasks, data)
    assert f"submission.csv is not a CSV file: it is {words}" in finding


@pytest.mark.parametrize("what", OTHERS)
def test_a_board_of_another_format_is_named_for_what_it_is(
    tasks: Any, what: str, good: Any
) -> None:
    task_id = tasks.add()
    data, words = OTHERS[what]
    (tasks.root / task_id / "leaderboard.csv").write_bytes(data)
    result = called(tasks, "grade-sample", good())
    assert f"cannot be read: it is {words}" in " ".join(
        f"{result.output} {result.exception}".split()
    )


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("id, y", "the file has id, y; the column is ` y`, with a blank or a quote too many"),
        ("id,y ", "the column is `y `, with a blank or a quote too many"),
        ("id,\xa0y", "the column is `␣y`, with a blank or a quote too many"),
        (" ID,y", "the column is ` ID`, with a blank or a quote too many"),
        ("id;y", "its fields are separated by semicolons, and commas are expected"),
        ("id\ty", "its fields are separated by tabs, and commas are expected"),
    ],
)
def test_a_column_that_may_be_meant_is_named(tasks: Any, header: str, words: str) -> None:
    tasks.add()
    text = TABLE.replace("id,y", header)
    if "," not in header:
        text = text.replace(",", header[2])
    assert any(words in finding for finding in findings(tasks, text))


def test_one_text_among_padded_ids_is_one_id(tasks: Any) -> None:
    ids = [f"{n:05}" for n in range(88)]
    tasks.add(answers="id,y\n" + "".join(f"{name},1\n" for name in ids))
    text = "id,y\n" + "".join(f"{name},1\n" for name in [*ids[:-1], "BraTS_00087"])
    assert findings(tasks, text) == ["1 id is missing: 87", "1 id is not expected: BraTS_00087"]


def test_one_text_among_the_answers_padded_ids_is_one_id(tasks: Any) -> None:
    tasks.add(answers="id,y\n01,1\n02,2\nNA,3\n")
    assert findings(tasks, "id,y\n01,1\n02,2\n") == [
        "1 id is missing: NA",
        "the file has 2 rows where 3 are expected",
    ]


@pytest.mark.parametrize("code", [None, "def grade(s, a):\n    return 0.5\n"])
def test_a_column_that_is_there_twice_is_a_warning(tasks: Any, code: str | None) -> None:
    tasks.add(code=code)
    file = tasks.submit("id,y,y\na,1,9\nb,2,9\nc,3,9\n")
    words = "the header has the column `y` 2 times: the first is used"
    report = json.loads(called(tasks, "grade-sample", file, "--json").stdout)
    assert words in report["extra"]["warnings"]
    assert f"warning: {words}" in called(tasks, "grade-sample", file).stdout
    result = called(tasks, "validate", file)
    assert result.return_value == 0
    assert words in result.stdout


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        (["T", "B", "B"], None),
        (["T", "b", "B"], "1 label that never occurs in the answers, in 1 of 3 rows: b"),
        (
            ["0.9", "0.2", "0.2"],
            "2 labels that never occur in the answers, in 3 of 3 rows: 0.9, 0.2",
        ),
    ],
)
def test_labels_that_no_answer_has_are_a_warning(
    tasks: Any, guess: list[str], words: str | None
) -> None:
    tasks.add(grader=LABELS, answers="id,y\na,T\nb,B\nc,B\n")
    file = tasks.submit("id,y\n" + "".join(f"{i},{g}\n" for i, g in zip("abc", guess, strict=True)))
    report = json.loads(called(tasks, "grade-sample", file, "--json").stdout)
    assert report["valid_submission"] is True
    shown = [each for each in report["extra"]["warnings"] if "never occur" in each]
    assert shown == ([] if words is None else [f"`y` has {words}"])
    assert ("never occur" in called(tasks, "validate", file).stdout) == (words is not None)


def test_labels_that_no_cell_has_are_a_warning(tmp_path: Path) -> None:
    options = add_task(tmp_path, None)
    guess = OBS[["cluster"]].astype(str)
    guess.iloc[:4] = "monocyte"
    anndata.AnnData(obs=guess).write_h5ad(tmp_path / "s.h5ad")
    report = json.loads(
        call("grade-sample", tmp_path / "s.h5ad", "cells/task", *options, "--json").stdout
    )
    words = "`cluster` has 1 label that never occurs in the answers, in 4 of 40 rows: monocyte"
    assert words in report["extra"]["warnings"]


def test_a_filter_that_is_missing_is_named(tmp_path: Path) -> None:
    options = add_task(tmp_path, None)
    path = tmp_path / "s.h5ad"
    anndata.AnnData(obs=OBS[["cluster"]].copy()).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        codes = file["obs/cluster/codes"]
        values, attributes = codes[()], dict(codes.attrs)
        del file["obs/cluster/codes"]
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((len(values),))
        plan.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)  # Zstandard, which h5py does not have
        space = h5py.h5s.create_simple(values.shape)
        kind = h5py.h5t.py_create(np.dtype(values.dtype))
        made = h5py.h5d.create(file["obs/cluster"].id, b"codes", kind, space, plan)
        made.write_direct_chunk((0,), b"packed", 0)
        file["obs/cluster/codes"].attrs.update(attributes)
    result = call("validate", path, "cells/task", *options)
    assert (
        "`obs/cluster/codes` is compressed with a filter that is missing here: number 32015"
        in result.stdout
    )


def test_an_h5ad_of_another_format_is_named_for_what_it_is(tmp_path: Path) -> None:
    options = add_task(tmp_path, None)
    path = tmp_path / "s.h5ad"
    for data, words in (
        OTHERS["gzip"],
        OTHERS["LFS"],
        (in_zip({".zgroup": "{}"}), "a packed Zarr store"),
    ):
        path.write_bytes(data)
        assert f"it is {words}" in call("validate", path, "cells/task", *options).stdout


def test_a_board_as_kaggle_s_names_its_column(tasks: Any, good: Any) -> None:
    tasks.add(board="TeamId,TeamName,Score\n1,a,0.5\n")
    result = called(tasks, "grade-sample", good())
    shown = " ".join(f"{result.output} {result.exception}".split())
    assert (
        "has no column `score`; it has TeamId, TeamName, Score; call the column of scores `score`"
        in shown
    )


def test_a_list_as_mle_bench_s_names_its_key(tasks: Any, tmp_path: Path) -> None:
    tasks.add()
    listed = tasks.submit(
        '{"competition_id": "x", "submission_path": "s.csv"}\n', "submission.jsonl"
    )
    result = call("grade", listed, "--output-dir", tmp_path / "out", "--tasks-dir", tasks.root)
    assert (
        "MLE-bench's `competition_id` is called `task_id` here"
        in f"{result.output} {result.exception}"
    )


def test_a_baseline_that_fails_leaves_nothing(tasks: Any, tmp_path: Path) -> None:
    tasks.add()
    out = tmp_path / "out"
    where = ("--tasks-dir", tasks.root, "--data-dir", tasks.data, "--output-dir", out)
    result = call("baseline", "lab/numbers", "--kind", "all", *where)
    assert "baselines learn from train.csv" in str(result.exception)
    assert not out.exists()
    public = tasks.data / "lab/numbers/prepared/public"
    pd.DataFrame({"id": ["d"], "y": [1.0]}).to_csv(public / "train.csv", index=False)
    assert call("baseline", "lab/numbers", *where).return_value == 0
    assert len(list(out.glob("*/lab-numbers.csv"))) == 1
    again = tmp_path / "again"
    call("baseline", "lab/numbers", "--kind", "all", *where[:-1], again)
    assert not again.exists(), "ridge has no test.csv; the kinds before it are not left, either"
