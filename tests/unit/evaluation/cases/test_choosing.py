"""Which rows of a table are run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bioeval_tui.base.errors import JobError, UsageError
from bioeval_tui.base.peer_limits import MAX_BLANK_LINES
from bioeval_tui.evaluation.wiring import cases
from bioeval_tui.evaluation.wiring.case_table import read_cases
from tests.unit.evaluation.cases.tables import HEALTHBENCH, checked, lines

JOB = "cases: {file: cases.csv, id: id}\ntasks: []\nfacts: []\n"
TABLE = "id\n" + "".join(f"c{number}\n" for number in range(1, 101))


def names(folder: Path, **choice: object) -> list[str]:
    return [case.name for case in checked(folder, JOB, TABLE, **choice).cases]


def test_rows_are_selected_by_number_or_id_or_drawn_with_a_seed(tmp_path: Path) -> None:
    assert names(tmp_path, only="2-4,c9") == ["c2", "c3", "c4", "c9"]
    drawn = names(tmp_path, sample=5, seed=7)
    assert len(set(drawn)) == 5
    assert drawn == names(tmp_path, sample=5, seed=7)
    assert drawn != names(tmp_path, sample=5, seed=8)
    assert set(names(tmp_path, only="1-6", sample=5)) < set(names(tmp_path, only="1-6"))
    assert names(tmp_path, only="sample:5", seed=7) == drawn
    assert names(tmp_path, only="1-6, sample:5", seed=7) == names(
        tmp_path, only="1-6", sample=5, seed=7
    )


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [
        ("MOST_CASES", 100, ""),
        ("MOST_CASES", 99, "a run has at most 99 cases, and these are 100"),
        (
            "MOST_BYTES",
            3_000,
            "these 100 cases fill in 0.0 MB of the job",
        ),
    ],
)
def test_more_cases_than_a_run_has_are_pointed_out_before_it(
    limit: str, most: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, limit, most)
    found = checked(tmp_path, JOB, TABLE)
    hints = [hint.message for hint in found.hints if hint.field == "cases"]
    assert [says in hint for hint in hints] == [True] * bool(says)
    assert found.loaded is not None
    if says:
        with pytest.raises(UsageError, match=rf"{says}.*; select fewer with --cases"):
            cases.recorded_cases(found.cases, found.loaded.job)
    else:
        assert len(cases.recorded_cases(found.cases, found.loaded.job)) == 100


@pytest.mark.parametrize("name", ["cases.csv", "cases.jsonl"])
def test_a_table_of_blank_lines_is_one_sentence(name: str, tmp_path: Path) -> None:
    first, row = ("id\n", "c{}\n") if name.endswith("csv") else ("", '{{"id": "c{}"}}\n')
    for blank, refused in ((MAX_BLANK_LINES, False), (MAX_BLANK_LINES + 1, True)):
        text = first + row.format(1) + row.format(2) + "\n" * blank + row.format(3)
        (tmp_path / name).write_text(text, encoding="utf-8")
        if refused:
            with pytest.raises(JobError, match="more than 1,000,000 lines are blank"):
                read_cases(tmp_path / name, "id")
        else:
            assert [case.id for case in read_cases(tmp_path / name, "id").rows] == [
                "c1",
                "c2",
                "c3",
            ]


@pytest.mark.parametrize("only", ["sample:", "sample:0", "sample:x", "sample:2,sample:3"])
def test_a_sample_has_one_size(tmp_path: Path, only: str) -> None:
    with pytest.raises(UsageError, match="give the size of the sample once, such as sample:50"):
        names(tmp_path, only=only)
    with pytest.raises(UsageError, match="there are 100 cases, fewer than 101"):
        names(tmp_path, only="sample:101")


@pytest.mark.parametrize("only", ["0", "4-2", "99-101", "c101", "x", "9" * 5000])
def test_missing_rows_are_reported_in_one_sentence(tmp_path: Path, only: str) -> None:
    with pytest.raises(
        UsageError, match=r"neither an id nor a range of rows; cases\.csv has 100 rows"
    ):
        names(tmp_path, only=only)
    with pytest.raises(UsageError, match="--cases: give rows or ids, such as 1-20,case_7"):
        names(tmp_path, only=" , ")


def test_a_screen_reads_the_first_cases_and_counts_all(tmp_path: Path) -> None:
    found = checked(tmp_path, JOB + "personas: [{name: a}, {name: b}]\n", TABLE, first=3)
    assert (len(found.cases), found.case_count) == (6, 200)


def test_each_persona_is_combined_with_each_case(tmp_path: Path) -> None:
    job = JOB + "personas: [{name: hurried, patience: low, tells: all}, {name: plain}]\n"
    found = checked(tmp_path, job, "id\na\nb\n")
    assert [(case.name, case.persona) for case in found.cases] == [
        ("a", "hurried"), ("a", "plain"), ("b", "hurried"), ("b", "plain"),
    ]  # fmt: skip
    assert "little patience" in found.cases[0].job.evaluator.voice
    assert "little patience" not in found.cases[1].job.evaluator.voice


def test_a_parquet_file_gives_the_same_cases_as_jsonl(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{key: row[key] for key in ("prompt_id", "prompt", "rubrics")} for row in HEALTHBENCH]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "cases.parquet")
    (tmp_path / "cases.jsonl").write_text(lines(rows), encoding="utf-8")
    found = [
        read_cases(tmp_path / name, "prompt_id").rows for name in ("cases.parquet", "cases.jsonl")
    ]
    assert [row.values for row in found[0]] == [row.values for row in found[1]]


def test_a_table_with_a_hundred_thousand_columns_is_read_in_linear_time(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(100_000)]
    (tmp_path / "wide.csv").write_text(
        f"{','.join(names)}\n{',' * (len(names) - 1)}\n", encoding="utf-8"
    )
    before = time.process_time()
    assert len(read_cases(tmp_path / "wide.csv", None).columns) == len(names)
    assert time.process_time() - before < 10, (
        "each name was looked for among all before it: a minute"
    )
