"""CSV files are read fast, with the same values."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from bioeval_tui.base.errors import InvalidSubmissionError
from bioeval_tui.grade import expected_tables, plain_tables, tables
from bioeval_tui.grade.grade import TaskGrading
from bioeval_tui.grade.published_tables import float_of_pandas_2
from bioeval_tui.grade.tables import read_exactly, read_frame

CELLS = [
    "1",
    "2.5",
    "-3",
    "abc",
    "NA",
    "nan",
    "None",
    "True",
    "false",
    "1e5",
    "2024-01-01",
    "12:30",
    "0x1",
    "+4",
    "inf",
    "-0",
    "00012",
    "99999999999999999999",
    "é",
    "null",
    "1.0",
    "#N/A",
    "1e400",
    "1_000",
    "9007199254740993",
    "-inf",
    "0.1",
    ".5",
    "5.",
    "",
    " 7",
    "7 ",
    '"q"',
    '"1"',
    '""',
    '"a,b"',
    '"a\nb"',
    "\t1",
]


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_frame_is_what_pandas_reads(tmp_path: Path, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 3))
    rows = data.draw(
        st.lists(
            st.lists(st.sampled_from(CELLS), min_size=width, max_size=width), min_size=1, max_size=5
        )
    )
    end = data.draw(st.sampled_from(["", "\n", "\r\n", "\n\n"]))
    path = tmp_path / "table.csv"
    path.write_text(
        "\n".join([",".join("abc"[:width]), *(",".join(row) for row in rows)]) + end,
        encoding="utf-8",
    )
    try:
        expected = read_exactly(path)
    except (pd.errors.ParserError, ValueError):
        with pytest.raises(InvalidSubmissionError):
            read_frame(path)
        return
    pd.testing.assert_frame_equal(read_frame(path), expected, check_exact=True)


@pytest.mark.skipif(int(pd.__version__.split(".")[0]) > 2, reason="pandas 3 has another parser")
@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.from_regex(r"[+-]?[0-9]{0,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    )
)
# one power of ten more or less than can be scaled by at once; as many digits as are read, and more
@example("1e308")
@example("1e309")
@example("10e307")
@example("1e-308")
@example("1e-309")
@example("1e-616")
@example("1e-617")
@example("9" * 17)
@example("9" * 18)
@example("0." + "9" * 18)
def test_a_leaderboard_is_read_as_by_pandas_2(text: str) -> None:
    with io.StringIO(f"score\n{text}\n0.5\n") as file:
        column = pd.read_csv(file, skip_blank_lines=False)["score"]
    if column.dtype.kind == "f" and not np.isnan(column[0]):
        assert float_of_pandas_2(text) == column[0]


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("a,b,c,d,e,f", "1,2,3,4,5,6", ""),
        ("a,b,c,d,e,f,g", "1,2,3,4,5,6,7", "a row of 7 columns; the limit is 6"),
        ("a,a,a,b", "1,2,3,4", ""),
        ("a,a,a,a,b", "1,2,3,4,5", "3 columns that repeat the name of another; the limit is 2"),
        ("a,a,b,b,b", "1,2,3,4,5", "3 columns that repeat the name of another; the limit is 2"),
        ("a,,,,b", "1,2,3,4,5", ""),  # without a name they repeat none
        ("a,b", "1,2,3", ""), ("a,b", "1,2,3,4", "a row of 4 columns; the limit is 3"),
        # two at once: the header comes first
        ("a,a,a,a,b,c,d", "1,2", "a row of 7 columns; the limit is 6"),
    ],
)  # fmt: skip
def test_each_limit_of_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, row: str, said: str
) -> None:
    for name, most in (("MAX_COLUMNS", 6), ("MAX_REPEATED", 2), ("MAX_SURPLUS", 1)):
        monkeypatch.setattr(tables, name, most)
    path = tmp_path / "s.csv"
    path.write_text(f"{header}\n{row}\n")
    if not said:
        assert len(read_frame(path)) == 1
        return
    with pytest.raises(InvalidSubmissionError, match=said):
        read_frame(path)


TRUTH = pd.DataFrame({"id": [f"p{n}" for n in range(6)], "y": np.arange(6) / 7})
GOOD = "id,y,note\n" + "".join(f"p{n},{n / 9!r},fine\n" for n in range(6))


def ready_for(tasks: Any, truth: pd.DataFrame) -> TaskGrading:
    """Return the grading of a task with these answers, whose metric is the mean absolute error."""
    return TaskGrading(tasks.registry.get_task(tasks.add(answers=truth.to_csv(index=False))))


@pytest.fixture
def ready(tasks: Any) -> TaskGrading:
    return ready_for(tasks, TRUTH)


@given(
    st.integers(0, len(GOOD) - 1),
    st.integers(0, 3),
    st.sampled_from(
        [
            "",
            ",",
            "\n",
            '"',
            "1",
            "x",
            " ",
            "e",
            ".",
            "_",
            "-",
            "\r",
            "\r\n",
            "\n\n",
            ",,",
            "é",
            "\0",
            "nan",
        ]
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_fast_reader_agrees_with_pandas_or_declines(
    tmp_path: Path, ready: TaskGrading, place: int, cut: int, put: str
) -> None:
    path = tmp_path / "submission.csv"
    path.write_bytes((GOOD[:place] + put + GOOD[place + cut :]).encode())
    expected = expected_tables.expectation(ready.task.grader.spec, TRUTH)
    assert expected is not None
    quick = expected_tables.read_expected(path.read_bytes(), expected)
    if quick is None:
        return
    assert ready.examine(path) == []
    assert np.array_equal(quick[0], read_frame(path)["y"].to_numpy(dtype=float))


@pytest.mark.parametrize("rows", [10, 20_000])
@pytest.mark.parametrize("ids", ["number", "text"])
def test_an_ordinary_file_is_read_fast_with_the_same_score(
    tasks: Any, tmp_path: Path, rows: int, ids: str
) -> None:
    random = np.random.default_rng(rows)
    truth = pd.DataFrame({"id": np.arange(rows), "y": random.normal(size=rows)})
    if ids == "text":
        truth["id"] = "row" + truth["id"].astype(str)
    guess = truth.assign(y=truth["y"] + random.normal(size=rows))
    path = tmp_path / "submission.csv"
    guess.to_csv(path, index=False)
    ready = ready_for(tasks, truth)
    scorer = ready.scorer
    expected = expected_tables.expectation(ready.task.grader.spec, truth)
    assert expected is not None
    assert expected_tables.read_expected(path.read_bytes(), expected) is not None
    assert (
        scorer.score(path)
        == scorer.score_frame(read_frame(path))
        == float((truth["y"] - guess["y"]).abs().mean())
    )
    guess.sample(frac=1, random_state=1).to_csv(path, index=False)
    assert expected_tables.read_expected(path.read_bytes(), expected) is None
    assert scorer.score(path) == pytest.approx(
        float((truth["y"] - guess["y"]).abs().mean()), rel=1e-14
    )


@pytest.mark.parametrize(
    "data",
    [
        b"id,y\na, NaN\nb,\n",
        b"id,y\na,1\0\nb,2\n",
        b'id,y\na,"1\nb,2\n',
        b"y,y\r1,2\r3,4\r",
        b"y,z\n-9223372036854775808,1\n,2\n",
        b"y\n9007199254740993\n\n1\n",
        b"id,y\na,NAN\nb,1\n",
        b"id,y\na,1\x0c\nb,2\n",
    ],
)
def test_values_that_arrow_and_pandas_read_differently_are_read_as_by_pandas(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    try:
        expected = read_exactly(io.BytesIO(data))
    except (pd.errors.ParserError, ValueError):
        with pytest.raises(InvalidSubmissionError):
            read_frame(path)
        return
    pd.testing.assert_frame_equal(read_frame(path), expected, check_exact=True)


@pytest.mark.parametrize(
    "text",
    [
        "id,y\nr1,0.5\nr2,-1.25e-3\n",
        "id,y\n1,2\n007,-0\n",
        "id,y\n1,.5\n2,12.\n",
        "id,y\n1,-0.045678901234567891\n2,1.00000000000000011102230246251565404\n",
        "id,y\ncell_1,1e5\ncell_2,3\n",
        "id,y\nr1,9007199254740993\nr2,1\n",
        "id,y\nNA_1,1\ntrue1,2\n",
        "id,y\n1,\n2,3\n",
        "id,y\n1,True\n2,False\n",
        "id,y\n1,nan\n2,inf\n",
        "id,y\n1,1_000\n2,2\n",
        "id,y\n1,2,3\n",
        "id,y\n1,0x1F\n2,+5\n",
        "id,y\n\n1,2\n",
    ],
)
def test_a_small_file_is_read_as_by_pandas(tmp_path: Path, text: str) -> None:
    path = tmp_path / "small.csv"
    path.write_text(text)
    pd.testing.assert_frame_equal(
        read_frame(path), pd.read_csv(path, float_precision="round_trip"), check_exact=True
    )


@pytest.mark.parametrize(
    "at", [0, 1, plain_tables._WINDOW - 1, plain_tables._WINDOW, plain_tables._WINDOW + 1]
)
@pytest.mark.parametrize("what", [b"\n\n", b"\t", b"\x00", b'"', b"\x7f"])
def test_what_is_not_plain_is_found_at_each_place(at: int, what: bytes) -> None:
    row = b"1,2\n"
    data = row * (plain_tables._WINDOW // 2 // len(row)) * 4
    assert plain_tables.is_plain(data)
    assert not plain_tables.is_plain(data[:at] + what + data[at:])
