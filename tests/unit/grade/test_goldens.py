"""The published grading's numbers, bit for bit.

`tests/golden/*.json` says in `about` what each file holds.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bioeval_tui.grade.published_tables import read_as_published
from bioeval_tui.grade.score_numbers import to_score
from bioeval_tui.grade.tables import read_frame
from bioeval_tui.grading import (
    Grader,
    TaskReport,
    aggregate_reports,
    calculate_human_performance_metrics,
    extract_agent_from_submission_path,
)

GOLDEN = Path(__file__).parents[2] / "golden"


def load(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def cases(name: str) -> list[dict[str, Any]]:
    return load(name)["cases"]


def same(a: float | None, b: float | None) -> bool:
    """Equal to the bit, so that -0.0 and 0.0 differ."""
    if a is None or b is None:
        return a is b
    return a == b and math.copysign(1, a) == math.copysign(1, b)


MEDALS = load("medals")


def board(spec: dict[str, Any]) -> pd.DataFrame:
    if "scores" in spec:
        return pd.DataFrame({"score": spec["scores"]})
    r = spec["recipe"]
    groups = [i // r["T"] for i in range(r["n"])]
    scores = [
        (r["B"] + r["sign"] * (r["S"] * g + ((r["A"] * g + r["C"]) % r["M"]))) / r["D"]
        for g in groups
    ]
    assert scores[0] == spec["check"]["first"]
    assert scores[-1] == spec["check"]["last"]
    assert scores[r["n"] // 3] == spec["check"]["at_n_div_3"]
    return pd.DataFrame({"score": scores})


@pytest.fixture(scope="module")
def boards() -> dict[str, pd.DataFrame]:
    return {name: board(spec) for name, spec in MEDALS["leaderboards"].items()}


def test_medals_thresholds_and_percentiles_are_the_published_ones(
    subtests: pytest.Subtests, boards: dict[str, pd.DataFrame]
) -> None:
    for case in cases("medals"):
        with subtests.test(case["id"]):
            grader = Grader("any", lambda submission, answers: 0.0)
            score = case["score"]
            if score is not None:
                score = {"int": int, "float": float}[case["score_type"]](score)
            frame = boards[case["leaderboard"]]
            got = {
                **grader.rank_score(score, frame),
                "is_lower_better": grader.is_lower_better(frame),
            }
            assert got == case["expect"]
            for key, value in case["expect"].items():
                assert type(got[key]) is type(value)


AGGREGATE = load("aggregate")


def test_aggregates_are_the_published_ones(subtests: pytest.Subtests) -> None:
    for case in cases("aggregate"):
        with subtests.test(case["id"]):
            read_back = [TaskReport.from_dict(report) for report in case["task_reports"]]
            fresh = [
                replace(report, leaderboard_percentile=np.float64(report.leaderboard_percentile))
                if report.leaderboard_percentile is not None
                else report
                for report in read_back
            ]
            changes = case.get("expect_if_percentiles_are_python_floats", {})
            for reports, expected in (
                (fresh, case["expect"]),
                (read_back, {**case["expect"], **changes}),
            ):
                got = aggregate_reports(reports)
                assert list(got) == AGGREGATE["key_order"]
                assert got.pop("task_reports") == case["task_reports"]
                assert got == expected


def test_comparison_with_people_is_the_published_one(subtests: pytest.Subtests) -> None:
    for case in cases("human"):
        with subtests.test(case["id"]):
            if "human_recipe" in case:
                scores = [i / 1000 for i in range(case["human_recipe"]["n"])]
            else:
                scores = [math.nan if score is None else score for score in case["human_scores"]]
            got = calculate_human_performance_metrics(
                case["agent_score"], pd.DataFrame({"score": scores}), case["is_lower_better"]
            )
            assert got == (case["expect"]["beats_human"], case["expect"]["human_percentile"])


def test_the_agent_is_taken_from_the_path_as_published(subtests: pytest.Subtests) -> None:
    for case in cases("paths"):
        with subtests.test(case["id"]):
            assert extract_agent_from_submission_path(case["submission_path"]) == case["expect"]


def test_a_score_rounds_by_the_type_that_the_grader_returned(subtests: pytest.Subtests) -> None:
    for case in cases("rounding"):
        with subtests.test(case["id"]):
            value = case["grader_returns"]
            assert same(to_score(float(value)), case["expect"]["python_float"])
            assert same(to_score(np.float64(value)), case["expect"]["numpy_float64"])


def test_a_whole_number_is_a_score() -> None:
    assert [to_score(value) for value in (3, True, np.int64(3))] == [3.0, 1.0, 3.0]


def parsed(column: pd.Series) -> Any:
    if column.dtype.kind == "O":
        return f"text:{column.iloc[0]}"
    value = column.iloc[0]
    if isinstance(value, np.integer):
        return int(value)
    return value


def test_numbers_in_csv_files_are_parsed_as_published(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for case in cases("csv_floats"):
        with subtests.test(case["id"]):
            file = tmp_path / "table.csv"
            file.write_text(f"score,other\n{case['text']},x\n0.5,y\n", encoding="utf-8")
            for frame, key in (
                (read_as_published(file), "leaderboard_value"),
                (read_frame(file), "submission_value"),
            ):
                expected = case[key]
                got = parsed(frame["score"])
                if isinstance(expected, str) and expected.startswith("text:"):
                    # What is too large for a float is text to pandas 2 and infinite to pandas 3:
                    # invalid to both.
                    assert got == expected or (key == "submission_value" and got == math.inf)
                elif expected is None:
                    assert math.isnan(got)
                else:
                    assert same(float(got), float(expected))
