"""What a grading came to, in words and in JSON: each rule at its edge."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.leaderboard import guess_direction, scores_of
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.published_totals import ReportTotals
from bioeval_tui.grade.tally import Tally, percentile_with_zeros
from bioeval_tui.grade.uncertainty import Uncertainty

WHOLE = Uncertainty(
    low=0.5, high=0.75, gold=0.7, silver=0.2, bronze=0.05, place_best=1, place_worst=1_004,
    rows=1_234, method="m",
)  # fmt: skip


@pytest.mark.parametrize(
    ("found", "interval", "places", "medals", "none"),
    [
        (WHOLE, "0.5000 to 0.7500", "1 to 1,004", "gold 70 %, silver 20 %, bronze 5 %", 0.05),
        (Uncertainty(low=-0.0, high=0.0, place_best=2, place_worst=2),
            "0.0000 to 0.0000", "2", "", None),
        (Uncertainty(low=0.5), "no interval", "", "", None),
        (Uncertainty(high=0.5, place_best=1), "no interval", "", "", None),
        (Uncertainty(why_not="few rows", place_worst=1), "no interval: few rows", "", "", None),
        (Uncertainty(low=0.0, high=1.0, gold=0.0, silver=0.0, bronze=0.0),
            "0.0000 to 1.0000", "", "gold 0 %, silver 0 %, bronze 0 %", 1.0),
        (Uncertainty(gold=0.6, silver=0.4, bronze=0.1), "no interval", "",
            "gold 60 %, silver 40 %, bronze 10 %", 0.0),
        (Uncertainty(silver=0.4), "no interval", "", "silver 40 %", 0.6),
    ],
)  # fmt: skip
def test_an_interval_its_places_and_its_medals_in_words(
    found: Uncertainty, interval: str, places: str, medals: str, none: float | None
) -> None:
    assert (found.interval_words, found.place_words, found.medal_words) == (
        interval,
        places,
        medals,
    )
    assert bool(found.medals) == (none is not None)
    if none is not None:
        assert found.medals[-1][1] == pytest.approx(none)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (WHOLE, "if only this file had 1,234 other rows like these"),
        (Uncertainty(board_scored_anew=True), "with the whole board scored on 0 other rows"),
        (Uncertainty(rows=1), "if only this file had 1 other rows like these"),
    ],
)
def test_a_chance_says_what_it_supposes(found: Uncertainty, words: str) -> None:
    assert found.chance_words.startswith(words)


@pytest.mark.parametrize(
    "found",
    [WHOLE, Uncertainty(), Uncertainty(low=0.0, high=0.0, gold=0.0, place_best=1, rows=0),
        Uncertainty(why_not="x"), Uncertainty(board_scored_anew=True)],
)  # fmt: skip
def test_an_uncertainty_is_read_as_it_was_written(found: Uncertainty) -> None:
    written = found.to_dict()
    assert Uncertainty.from_dict({**written, "unknown": 1}) == found
    for value in written.values():
        assert value is not None
        assert value != ""
        assert value is not False
    assert ("gold" in written) == (found.gold is not None), "0 is a chance"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"low": "0.5"}, "`uncertainty.low` must be a number"),
        ({"gold": True}, "`uncertainty.gold` must be a number"),
        ({"rows": [1]}, "`uncertainty.rows` must be a number"),
        ({"method": 5}, "`uncertainty.method` must be text"),
        ({"why_not": ["x"]}, "`uncertainty.why_not` must be text"),
    ],
)
def test_an_uncertainty_of_another_form_is_refused(data: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Uncertainty.from_dict(data)


def test_places_are_whole_numbers_and_only_a_true_board_was_scored_anew() -> None:
    found = Uncertainty.from_dict({"place_best": 1.0, "rows": 3.0, "low": 1})
    assert (repr(found.place_best), repr(found.rows), repr(found.low)) == ("1", "3", "1")
    assert not Uncertainty.from_dict({"board_scored_anew": 1}).board_scored_anew


ENTRY = {"task_id": "t", "submission_path": "p", "reason": "r", "attempts": 2}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, ""), ({"agent": "a"}, ""), ({"agent": None}, ""), ({"submission_path": None}, ""),
        ({"task_id": 5}, "has a value that is not text"), ({"agent": 5}, "is not text"),
        ({"reason": None}, "is not text"), ({"submission_path": 5}, "is not text"),
        ({"attempts": "2"}, "must be a whole number"),
        ({"attempts": 2.0}, "must be a whole number"),
    ],
)  # fmt: skip
def test_what_was_not_graded_is_read_as_it_was_written(change: dict[str, Any], says: str) -> None:
    data = ENTRY | change
    if says:
        with pytest.raises(ValueError, match=says):
            NotGraded.from_dict(data)
        return
    read = NotGraded.from_dict(data)
    assert read == NotGraded("t", data["submission_path"] or "", "r", 2, agent=change.get("agent"))
    assert NotGraded.from_dict(read.to_dict()) == read
    assert ("agent" in read.to_dict()) == (change.get("agent") is not None)


@pytest.mark.parametrize("data", [{"task_id": "t"}, {"reason": "r"}, None, 5])
def test_an_entry_without_its_task_or_reason_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="needs `task_id` and `reason`"):
        NotGraded.from_dict(data)
    assert NotGraded.from_dict({"task_id": "t", "reason": "r"}).attempts == 1


@pytest.mark.parametrize(
    ("percentiles", "others", "mean"),
    [([], 0, None), ([], 1, 0.0), ([50.0], 0, 50.0), ([50.0], 1, 25.0), ([0.0], 0, 0.0),
        ([20.0, 40.0], 2, 15.0)],
)  # fmt: skip
def test_others_count_as_0(percentiles: list[float], others: int, mean: float | None) -> None:
    assert percentile_with_zeros(percentiles, others) == mean


@pytest.mark.parametrize(
    ("valid", "known", "invalid", "not_graded", "mean_words", "others"),
    [
        (0, 0, 0, 0, "no percentile yet", ""),
        (1, 0, 0, 0, "percentile unknown for all 1 valid", ""),
        (1, 1, 1, 0, "over 1 valid", "1 invalid"),
        (2, 1, 0, 1, "over 1 of 2 valid", "1 not graded"),
        (2, 2, 1, 2, "over 2 valid", "3 without a score"),
    ],
)
def test_what_a_mean_percentile_is_over(
    valid: int, known: int, invalid: int, not_graded: int, mean_words: str, others: str
) -> None:
    tally = Tally(submissions=valid + invalid + not_graded, percentiles=[50.0] * known)
    tally.by |= {"none": valid, "invalid": invalid, "not_graded": not_graded}
    assert tally.valid == valid
    assert (tally.percentile_words, tally.others_words) == (mean_words, others)
    assert tally.percentile == (50.0 if known else None)


def test_published_totals_count_each_report_once() -> None:
    nothing = dict.fromkeys(
        ("submission_exists", "valid_submission", "gold_medal", "silver_medal", "bronze_medal",
            "above_median"), False,
    )  # fmt: skip
    totals = ReportTotals()
    totals.count({**nothing, "beats_human": None})
    seen = {"submission_exists": True, "valid_submission": True}
    for medal in ("gold_medal", "gold_medal", "silver_medal", "bronze_medal"):
        totals.count({**nothing, **seen, medal: True, "above_median": True, "beats_human": True})
    assert (totals.runs, totals.valid) == (5, 4)
    assert totals.to_dict([10.0, 30.04, 20.0]) == {
        "total_runs": 5, "total_runs_with_submissions": 4, "total_valid_submissions": 4,
        "total_medals": 4, "total_gold_medals": 2, "total_silver_medals": 1,
        "total_bronze_medals": 1, "total_above_median": 4, "total_beats_human": 4,
        "avg_leaderboard_percentile": 20.0, "best_leaderboard_percentile": 30.0,
        "worst_leaderboard_percentile": 10.0,
    }  # fmt: skip
    assert totals.to_dict([])["avg_leaderboard_percentile"] is None


@pytest.mark.parametrize(
    ("scores", "lower"), [([1, 2], True), ([2, 1], False), ([1, 1], False), ([1, 9, 1], False)]
)
def test_a_board_whose_first_row_is_smaller_is_of_errors(scores: list[float], lower: bool) -> None:
    assert guess_direction(pd.Series(scores, dtype=float).to_numpy()) == lower


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"other": [1]}, "has no column `score`; it has other"),
        ({"score": []}, "is empty: it needs at least one row"),
        ({"score": [float("nan")]}, "is empty: no row has a score"),
        ({"score": ["0.5", "x"]}, "line 3: score `x` is not a number"),
        ({"score": ["x", "y"]}, "line 2: score `x` is not a number"),
    ],
)
def test_a_board_without_scores_is_named_with_its_line(column: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        scores_of(pd.DataFrame(column), "board.csv", "lab/task")
    assert "the leaderboard of lab/task (board.csv)" in str(caught.value)
    assert says in str(caught.value)
