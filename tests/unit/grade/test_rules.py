"""Boards, medals, doubts about a file's form, run groups and which grading counts: each rule at its
threshold, and two at once.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.units import score_text
from bioeval_tui.grade import run_groups
from bioeval_tui.grade.doubts import Doubt
from bioeval_tui.grade.leaderboard import build_leaderboard, guess_direction, rank
from bioeval_tui.grade.order import Difference, ExpectedForm, findings, not_tried
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.report_files import (
    Graded,
    Loaded,
    moment,
    newest,
    read_outcomes,
    report_files,
    short,
    submission_key,
    supersedes,
    unread_sentence,
)
from bioeval_tui.grade.run_groups import (
    folder_agent,
    group_agent,
    is_run_folder,
    listed_runs,
    read_metadata,
    run_folders,
)
from bioeval_tui.grade.tally import Tally
from bioeval_tui.grading import TaskReport

# Boards and medals


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("place", "medal", "next_medal", "needs", "above"),
    [
        # of ten scores, gold is the first place, silver the second, bronze the fourth; the median
        # lies between 5 and 6
        (0.5, "gold", None, None, True), (1, "gold", None, None, True),
        (1.5, "silver", "gold", 1, True), (2, "silver", "gold", 1, True),
        (2.5, "bronze", "silver", 2, True), (4, "bronze", "silver", 2, True),
        (4.5, None, "bronze", 4, True), (5, None, "bronze", 4, True),
        (5.5, None, "bronze", 4, False), (6, None, "bronze", 4, False),
        (10, None, "bronze", 4, False), (11, None, "bronze", 4, False),
    ],
)  # fmt: skip
def test_reaching_a_place_earns_its_medal(
    lower: bool,
    place: float,
    medal: str | None,
    next_medal: str | None,
    needs: int | None,
    above: bool,
) -> None:
    sign = 1.0 if lower else -1.0
    board = np.sort(sign * np.arange(1.0, 11.0))
    found = rank(sign * place, board, lower)
    assert (found.medal, found.next_medal, found.above_median) == (medal, next_medal, above)
    assert found.score_needed == (None if needs is None else sign * needs)
    assert (found.gold_threshold, found.silver_threshold, found.bronze_threshold) == (
        sign * 1,
        sign * 2,
        sign * 4,
    )
    assert found.median_threshold == sign * 5.5
    assert found.position == len([n for n in range(1, 11) if n < place]) + 1
    assert found.percentile == 10.0 * len([n for n in range(1, 11) if n > place])
    published = found.to_dict()
    assert [name for name in ("gold", "silver", "bronze") if published[f"{name}_medal"]] == (
        [medal] if medal else []
    )


@pytest.mark.parametrize(
    ("entries", "next_medal"),
    [(1, "gold"), (4, "gold"), (5, "bronze"), (9, "bronze"), (10, "bronze")],
)
def test_where_medals_share_a_place_the_best_of_them_is_next(entries: int, next_medal: str) -> None:
    """Of four entries all medals are the first place; of five, bronze is the second."""
    found = rank(-1.0, np.arange(float(entries)), False)
    assert (found.medal, found.next_medal) == (None, next_medal)
    tied = rank(-1.0, np.zeros(20), False)
    assert (tied.next_medal, tied.score_needed) == ("gold", 0.0)
    # gold is the 2nd place, silver the 4th, bronze the 8th
    two = rank(0.5, np.array([0.0] * 16 + [1.0] * 4), False)
    assert (two.medal, two.next_medal, two.score_needed) == ("bronze", "gold", 1.0)


def test_without_a_score_there_are_thresholds_only() -> None:
    found = rank(None, np.arange(10.0), False)
    assert (found.medal, found.percentile, found.position, found.above_median) == (
        None,
        None,
        None,
        False,
    )
    assert (found.gold_threshold, found.median_threshold, found.size) == (9.0, 4.5, 10)


@pytest.mark.parametrize(
    ("worse", "size", "percentile"),
    [(1, 3, 33.3), (2, 3, 66.7), (1, 16, 6.2), (3, 16, 18.8), (1, 2000, 0.0), (3, 2000, 0.2)],
)
def test_a_percentile_has_one_decimal_half_even(worse: int, size: int, percentile: float) -> None:
    board = np.array([0.0] * worse + [2.0] * (size - worse))
    assert rank(1.0, board, False).percentile == percentile
    assert rank(-1.0, -board[::-1], True).percentile == percentile


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40), st.integers(-9, 9), st.booleans())
def test_a_better_score_never_has_a_worse_place_and_directions_mirror(
    scores: list[int], score: int, lower: bool
) -> None:
    board = np.sort(np.array(scores, dtype=float))
    here, better = (
        rank(float(score), board, lower),
        rank(float(score - 1 if lower else score + 1), board, lower),
    )
    medals = [None, "bronze", "silver", "gold"]
    assert better.position is not None
    assert here.position is not None
    assert better.position <= here.position
    assert medals.index(better.medal) >= medals.index(here.medal)
    assert better.above_median >= here.above_median
    mirrored = rank(-float(score), np.sort(-board), not lower)
    assert (mirrored.position, mirrored.medal, mirrored.percentile) == (
        here.position,
        here.medal,
        here.percentile,
    )


@pytest.mark.parametrize(
    ("order", "given_", "lower", "warning"),
    [
        ([1, 2], None, True, ""), ([2, 1], None, False, ""),
        ([1, 1], None, False, "tied throughout"), ([1], None, False, "has one entry"),
        ([1, 3, 2], None, True,
            "was not sorted and has been sorted; direction guessed as lower is better"),
        ([3, 1, 2], None, False,
            "was not sorted and has been sorted; direction guessed as higher is better"),
        ([2, 3, 1], True, True, "was not sorted and has been sorted"),
        ([2, 1], True, True, "was worst first and has been reversed"),
        ([1, 2], True, True, ""), ([1, 2], False, False, "was worst first and has been reversed"),
        ([2, 1], False, False, ""),
        ([1, 1], True, True, ""),
        ([1, float("nan"), 2], None, True, "1 leaderboard row without a score left out"),
    ],
)  # fmt: skip
def test_the_order_of_a_board_is_guessed_or_given(
    order: list[float], given_: bool | None, lower: bool, warning: str
) -> None:
    found = build_leaderboard(np.array(order, dtype=float), given_)
    assert found.is_lower_better == lower
    about_order = [
        one
        for one in found.warnings
        if "sort" in one or "worst" in one or "guess" in one or "left out" in one
    ]
    assert (warning in about_order[0]) if warning else not about_order, found.warnings
    assert len(about_order) <= 1
    assert ("guessed" in " ".join(about_order)) == (
        "guessed" in warning or "tied" in warning or "one entry" in warning
    )
    best = list(found.best_first())
    assert best == sorted(best, reverse=not lower)
    assert guess_direction(np.array([1.0, 1.0])) is False


# The expected form of a file


IDS = [f"v{n}" for n in range(6)]
ANSWERS = pd.DataFrame({"id": IDS, "y": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]})
SAMPLE = pd.DataFrame({"id": IDS, "y": [0.0] * 6})


def table(ids: list[Any], **columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"id": ids, **(columns or {"y": [0.5] * len(ids)})})


def order_of(
    frame: pd.DataFrame, answers: Any = ANSWERS, sample: pd.DataFrame | None = SAMPLE
) -> list[int] | None:
    found = ExpectedForm(answers, sample).difference(frame)
    return None if found is None or found.rows is None else found.rows.tolist()


@pytest.mark.parametrize(
    ("ids", "rows"),
    [
        (IDS, None), (IDS[::-1], [5, 4, 3, 2, 1, 0]), (IDS[1:] + IDS[:1], [5, 0, 1, 2, 3, 4]),
        (IDS[:3], None), (IDS[2::-1], [2, 1, 0]),
        ([*IDS, "w"], None), (["w", *IDS], [1, 2, 3, 4, 5, 6, 0]),
        (["w", "u", *IDS], [2, 3, 4, 5, 6, 7, 0, 1]),
        (["w", *IDS[1:]], None),  # neither has all of the other: other rows
        ([*IDS[:5], "v0"], None),  # an id that repeats
        ([*IDS[::-1][:5], None], None), ([], None),
    ],
)  # fmt: skip
def test_rows_are_in_the_answers_order_unknown_ones_last(
    ids: list[Any], rows: list[int] | None
) -> None:
    assert order_of(table(ids)) == rows


def test_the_first_table_that_shares_ids_says_the_order() -> None:
    turned = SAMPLE.iloc[::-1].reset_index(drop=True)
    both = ExpectedForm(ANSWERS, turned).difference(table(IDS[::-1]))
    assert both is not None
    assert both.reference == "the answers'"
    only = ExpectedForm(ANSWERS[["y"]], turned).difference(table(IDS))
    assert only is not None
    assert (only.reference, only.form) == (
        "the sample submission's",
        "in the sample submission's order",
    )
    assert ExpectedForm(ANSWERS, turned).difference(table(IDS)) is None
    for nothing in (ExpectedForm({"a": 1}, None), ExpectedForm(None, None)):
        assert nothing.difference(table(IDS[::-1])) is None
    assert order_of(table(IDS[::-1]), sample=None) == [5, 4, 3, 2, 1, 0]
    assert order_of(table(IDS[::-1]), ANSWERS, SAMPLE.iloc[:1]) == [
        5,
        4,
        3,
        2,
        1,
        0,
    ], "a sample of one row"
    twice = ANSWERS.set_axis(["id", "id"], axis=1)
    assert order_of(table(IDS[::-1]), twice, None) is None


def test_what_is_a_prediction_or_a_decimal_number_is_no_id() -> None:
    numbers = pd.DataFrame({"id": [0.5, 1.5, 2.5], "y": [1, 2, 3]})
    swapped = pd.DataFrame({"id": [2.5, 1.5, 0.5], "y": [1, 2, 3]})
    assert order_of(swapped, numbers, None) is None, "numbers with decimals are no ids"
    classes = pd.DataFrame({"y": [1, 2, 3]})
    assert order_of(pd.DataFrame({"y": [3, 2, 1]}), classes, None) == [2, 1, 0]
    assert (
        order_of(pd.DataFrame({"y": [3, 2, 1]}), classes, pd.DataFrame({"y": [0, 0, 9]})) is None
    ), "predictions"
    missing = pd.DataFrame({"id": ["a", None, "c"]})
    assert order_of(pd.DataFrame({"id": ["c", "b", "a"]}), missing, None) is None


def test_columns_together_tell_rows_apart_if_one_does_not() -> None:
    known = pd.DataFrame({"id": list("aabb"), "kind": list("xyxy"), "more": list("pppp")})
    turned = known.iloc[[3, 2, 1, 0]].reset_index(drop=True)
    assert order_of(turned, known, None) == [3, 2, 1, 0]
    assert order_of(turned.iloc[:3], known, None) is None, (
        "of other rows, several columns say nothing"
    )
    assert order_of(turned.assign(kind=list("xyxz")), known, None) is None
    three = pd.DataFrame({"id": list("aabb"), "kind": list("xxyy"), "more": list("pqpq")})
    assert order_of(three.iloc[[1, 0, 3, 2]].reset_index(drop=True), three, None) == [1, 0, 3, 2]
    same = pd.DataFrame({"id": list("aabb"), "kind": list("xxyy")})
    assert order_of(same.iloc[::-1].reset_index(drop=True), same, None) is None


@pytest.mark.parametrize(
    ("columns", "copy", "is_reversed", "words"),
    [
        (["id", "y"], None, False, ""),
        (["y", "id"], ("id", "y"), False,
            "the file has the columns `y`, `id` where the sample submission has `id`, `y`"),
        (["id", "y", "z"], ("id", "y"), False,
            "the file has `z`, which the sample submission does not have"),
        (["id"], ("id",), True, "the file lacks the sample submission's `y`"),
        (["id", "z"], ("z", "id"), True,
            "the file has `z`, which the sample submission does not have, and lacks the sample"
            " submission's `y`"),
        (["id", "y", *"abcde"], ("id", "y"), False,
            "the file has `a`, `b`, `c`, `d`, `e`, which the sample submission does not have"),
        (["id", "y", *"abcdef"], ("id", "y"), False,
            "the file has `a`, `b`, `c`, `d`, `e`, … (1 more), which the sample submission does not"
            " have"),
    ],
)  # fmt: skip
def test_other_columns_are_named_and_rearranged(
    columns: list[str], copy: tuple[str, ...] | None, is_reversed: bool, words: str
) -> None:
    frame = pd.DataFrame({name: IDS if name == "id" else [1.0] * 6 for name in columns})
    found = ExpectedForm(ANSWERS, SAMPLE).difference(frame)
    if copy is None:
        assert found is None
        return
    assert found is not None
    assert (found.words, found.columns, found.are_reversed, found.rows) == (
        words,
        copy,
        is_reversed,
        None,
    )
    assert list(found.rearranged(frame).columns) == list(copy)
    reverse = "with its columns in reverse order"
    assert found.form == (reverse if is_reversed else "with the sample submission's columns")
    turned = ExpectedForm(ANSWERS, SAMPLE).difference(frame.iloc[::-1].reset_index(drop=True))
    assert turned is not None
    assert turned.form == f"{found.form} and its rows in the answers' order"
    copied = turned.rearranged(frame.iloc[::-1].reset_index(drop=True))
    assert copied["id"].tolist() == IDS
    assert isinstance(copied.index, pd.RangeIndex)


def test_rows_longer_than_the_header_are_said_first() -> None:
    shifted = pd.DataFrame({"id": IDS, "y": IDS}, index=IDS)
    found = ExpectedForm(ANSWERS, SAMPLE).difference(shifted)
    assert found is not None
    assert (found.form, found.words[:21]) == ("", "rows have more values")


ROWS = Difference(rows=np.array([1, 0]), reference="the answers'")
COLUMNS = Difference("other columns", ("id", "y"))
REVERSED = Difference("lacks one", ("y", "id"), True)
BOTH = Difference("other columns", ("id", "y"), rows=np.array([1, 0]), reference="the answers'")


@pytest.mark.parametrize(
    ("difference", "copy", "kind", "rearranged", "rows_too", "notes"),
    [
        (ROWS, 0.5, None, None, False, 0), (ROWS, 0.6, "order", 0.6, False, 0),
        (ROWS, None, "order", None, False, 0),
        (COLUMNS, 0.5, None, None, False, 1), (COLUMNS, 0.6, "columns", 0.6, False, 0),
        (COLUMNS, None, None, None, False, 1),
        (REVERSED, 0.5, None, None, False, 1), (REVERSED, 0.6, "columns", 0.6, False, 0),
        (REVERSED, None, "columns", None, False, 0),
        (BOTH, 0.6, "columns", 0.6, True, 0), (BOTH, 0.5, None, None, False, 1),
        (BOTH, None, None, None, False, 1),
        (ROWS, 0.5 + 1e-13, None, None, False, 0), (ROWS, 0.50001, "order", 0.50001, False, 0),
        (ROWS, 0.500001, None, None, False, 0),
        (ROWS, float("nan"), "order", None, False, 0),
        (ROWS, float("inf"), "order", None, False, 0),
        (Difference("shifted"), 0.6, "columns", None, False, 0),
        (ROWS, np.array([[0.5]]), None, None, False, 0),
    ],
)  # fmt: skip
def test_a_copy_with_another_score_is_a_doubt(
    difference: Difference,
    copy: Any,
    kind: str | None,
    rearranged: float | None,
    rows_too: bool,
    notes: int,
) -> None:
    found = findings(difference, 0.5, lambda: copy)
    assert len(found.notes) == notes
    assert [doubt.kind for doubt in found.doubts] == ([kind] if kind else [])
    for doubt in found.doubts:
        assert (doubt.as_handed_in, doubt.rearranged, doubt.rows_too) == (0.5, rearranged, rows_too)

    def fails() -> Any:
        raise SystemExit(3)

    assert findings(difference, 0.5, fails) == findings(difference, 0.5, lambda: None)


def test_what_was_not_tried_is_said() -> None:
    (rows,) = not_tried(ROWS, 31.4, 60.0).notes
    assert rows.startswith(
        "the file's rows are in another order: what that means for the score was not tested"
    )
    assert "took 31 s of the 60 s" in rows
    (columns,) = not_tried(COLUMNS, 31.4, 60.0).notes
    assert columns.startswith("other columns: ")
    (both,) = not_tried(BOTH, 31.4, 60.0).notes
    assert both.startswith("other columns; the file's rows are in another order: ")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (-0.000001, "0"), (-0.00001, "-0.00001"), (-0.000004, "0"),
        (0.000004, "0"), (0.123456, "0.12346"), (0.5, "0.5"), (10.0, "10"),
        (100.00001, "100.00001"), (-1.5, "-1.5")],
)  # fmt: skip
def test_a_score_has_up_to_five_decimals(value: float, text: str) -> None:
    assert score_text(value) == text


@pytest.mark.parametrize(
    ("doubt", "sentence"),
    [
        (Doubt("order", 0.2, 0.3, "in X order"),
            "this grader depends on the order of rows: 0.2 as handed in, 0.3 in X order"),
        (Doubt("order", 0.2, None, "in X order"),
            "this grader depends on the order of rows: 0.2 as handed in, no score in X order"),
        (Doubt("columns", 0.2, 0.0, "so", "other"),
            "this grader takes columns by their place: 0.2 as handed in, 0 so; other"),
        (Doubt("columns", 0.2, 0.3, "so", "other", True),
            "this grader takes rows or columns by their place: 0.2 as handed in, 0.3 so; other"),
        (Doubt("columns", 0.2, difference="other"),
            "other; a grader that takes columns by their place scores the wrong ones"),
    ],
)  # fmt: skip
def test_a_doubt_is_one_sentence(doubt: Doubt, sentence: str) -> None:
    assert doubt.sentence == sentence
    assert Doubt.from_dict(doubt.to_dict()) == doubt


@pytest.mark.parametrize(
    "wrong", [None, [], {"kind": "x", "as_handed_in": 1}, {"kind": "order"},
        {"kind": "order", "as_handed_in": "x"},
        {"kind": "order", "as_handed_in": 1, "rearranged": []}],
)  # fmt: skip
def test_another_form_is_no_doubt(wrong: Any) -> None:
    with pytest.raises(ValueError, match="must be a list of objects"):
        Doubt.from_dict(wrong)


# Run groups


RUN = f"lab/one_{UUID(int=1)}"
GROUP = "2025-07-01T10-00-00-GMT_run-group_careful"


@pytest.mark.parametrize(
    ("name", "submission", "is_run"),
    [(f"one_{UUID(int=1)}", False, True), ("one", False, False), ("one", True, True),
        (GROUP, True, False), (f"_{UUID(int=1)}", False, False),
     (f"one_{UUID(int=1)}x", False, False)],
)  # fmt: skip
def test_a_run_folder_has_a_uuid_or_a_submission_and_is_no_group(
    tmp_path: Path, name: str, submission: bool, is_run: bool
) -> None:
    folder = tmp_path / name
    (folder / ("submission" if submission else "other")).mkdir(parents=True)
    assert is_run_folder(folder) == is_run


@pytest.mark.parametrize(
    ("entry", "name", "task"),
    [
        ({"task_id": "a"}, RUN, "a"), ({"competition_id": "b"}, RUN, "b"),
        ({"task_id": "a", "competition_id": "b"}, RUN, "a"),
        ({"task_id": "", "competition_id": "b"}, RUN, "b"), ({"task_id": " a "}, RUN, "a"),
        ({"task_id": "  "}, RUN, "lab/one"),
        ({"task_id": 5}, RUN, "lab/one"), ({}, RUN, "lab/one"), (None, RUN, "lab/one"),
        ({}, "named", None), ({"task_id": "a"}, "named", "a"),
    ],
)  # fmt: skip
def test_a_run_has_the_task_that_its_entry_or_its_name_says(
    tmp_path: Path, entry: Any, name: str, task: str | None
) -> None:
    (tmp_path / "metadata.json").write_text(json.dumps({"runs": {name: entry}}))
    if task is None:
        with pytest.raises(InputError, match="`named` needs one, or a name such as"):
            listed_runs(tmp_path)
        return
    assert listed_runs(tmp_path) == [(task, tmp_path / name)]


@pytest.mark.parametrize(
    ("name", "kept"),
    [("../out", 0), ("in/../in", 1), (".", 1), ("/etc", 0), ("a\0b", 0), ("x" * 5000, 0)],
)
def test_a_run_lies_in_its_group(tmp_path: Path, name: str, kept: int) -> None:
    (tmp_path / "metadata.json").write_text(json.dumps({"runs": {name: {"task_id": "a"}}}))
    found = listed_runs(tmp_path)
    assert found is not None
    assert len(found) == kept or name == "x" * 5000


@pytest.mark.parametrize("text", ["[]", "{}", '{"runs": []}', "no", '{"runs": '])
def test_a_list_without_runs_is_refused(tmp_path: Path, text: str) -> None:
    assert read_metadata(tmp_path) is None
    assert listed_runs(tmp_path) is None
    (tmp_path / "metadata.json").write_text(text)
    with pytest.raises(InputError, match=r"metadata\.json"):
        read_metadata(tmp_path)
    (tmp_path / "metadata.json").write_text('{"runs": {}}', encoding="utf-8-sig")
    assert listed_runs(tmp_path) == []


def test_a_list_of_runs_that_is_too_large_is_not_called_broken_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_groups, "_MOST_BYTES", 12)
    (tmp_path / "metadata.json").write_text('{"runs": {}}')
    assert read_metadata(tmp_path) == {"runs": {}}
    (tmp_path / "metadata.json").write_text('{"runs": {} }')
    with pytest.raises(InputError, match=r"metadata\.json is larger than "):
        read_metadata(tmp_path)


def test_runs_lie_in_their_group_or_one_folder_down_and_not_in_each_other(tmp_path: Path) -> None:
    inner = f"two_{UUID(int=2)}"
    for folder in (
        RUN,
        inner,
        f"{inner}/three_{UUID(int=3)}",
        f"lab/deep/four_{UUID(int=4)}",
        "plain",
    ):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / f"five_{UUID(int=6)}").write_text("")
    found = [
        (task, folder.relative_to(tmp_path).as_posix()) for task, folder in run_folders(tmp_path)
    ]
    assert found == [("lab/one", RUN), ("two", inner)]


@pytest.mark.parametrize(
    ("folder", "data", "agent"),
    [
        (GROUP, {}, "careful"), (GROUP, {"agent": "other"}, "careful"),
        ("x", {"run_group": GROUP}, "careful"), ("x", {"agent": "plain"}, "plain"),
        ("x", {"run_group": "first", "agent": "last"}, "last"),
        ("x", {"run_group": "first", "agent": ""}, "first"),
        ("x", {"run_group": "first", "agent": 5}, "first"),
        ("x", {"agent": GROUP, "run_group": "first"}, "careful"), ("x", {}, None),
        ("x", None, None),
    ],
)  # fmt: skip
def test_a_groups_agent_is_in_its_path_or_in_its_metadata(
    tmp_path: Path, folder: str, data: Any, agent: str | None
) -> None:
    group = tmp_path / folder
    group.mkdir()
    (group / "metadata.json").write_text(
        "broken" if data is None else json.dumps({"runs": {}, **data})
    )
    assert group_agent(group) == agent


@pytest.mark.parametrize(
    ("path", "agent"),
    [
        ("runs/ada", "ada"), ("runs/ada_seed_1", "ada"), ("runs/ada-group-12", "ada"),
        ("runs/ada_run_group_3", "ada"), ("runs/ada_SEED", "ada"),
        ("runs/seed_1", "seed_1"), ("runs/ada/hourly", "ada"), ("runs/ada/x/y", None),
        ("other/ada", None), ("runs/adaseed1", "ada"),
    ],
)  # fmt: skip
def test_a_folder_of_runs_is_named_after_its_agent(path: str, agent: str | None) -> None:
    assert folder_agent(Path("/base") / path) == agent


# Which grading counts


DAY = datetime(2026, 1, 1)


def report(task: str = "t", agent: str = "ada", **more: Any) -> TaskReport:
    data = {
        "task_id": task, "score": 0.5, "is_lower_better": False, "submission_exists": True,
        "valid_submission": True, "gold_medal": False,
        "silver_medal": False, "bronze_medal": False, "any_medal": False, "above_median": False,
        "gold_threshold": 1.0, "silver_threshold": 1.0,
        "bronze_threshold": 1.0, "median_threshold": 1.0, "created_at": "2026-01-01T00:00:00",
        "submission_path": "s.csv",
        "extra": {"agent": agent}, **more,
    }  # fmt: skip
    return TaskReport.from_dict(data)


def graded(
    day: int = 0,
    key: str | None = "k",
    batch: str = "b",
    *,
    agent: str = "ada",
    fails: bool = False,
    task: str = "t",
) -> Graded:
    outcome: Any = report(task, agent)
    if fails:
        outcome = NotGraded.from_dict(
            {"task_id": task, "submission_path": "s.csv", "reason": "hung", "agent": agent}
        )
    return Graded(
        outcome, Path(batch), batch, DAY + timedelta(days=day), None if key is None else (key,)
    )


@pytest.mark.parametrize(
    ("percentiles", "invalid", "not_graded", "mean", "with_zeros", "words", "others"),
    [
        ([], 0, 0, None, None, "no percentile yet", ""),
        ([], 1, 0, None, 0.0, "no percentile yet", "1 invalid"),
        ([], 0, 1, None, 0.0, "no percentile yet", "1 not graded"),
        ([80.0], 0, 0, 80.0, 80.0, "over 1 valid", ""),
        ([80.0], 1, 0, 80.0, 40.0, "over 1 valid", "1 invalid"),
        ([80.0], 0, 1, 80.0, 40.0, "over 1 valid", "1 not graded"),
        ([80.0, 40.0], 1, 1, 60.0, 30.0, "over 2 valid", "2 without a score"),
        ([0.0, None], 0, 0, 0.0, 0.0, "over 1 of 2 valid", ""),
        ([None], 0, 1, None, 0.0, "percentile unknown for all 1 valid", "1 not graded"),
    ],
)  # fmt: skip
def test_what_has_no_score_counts_as_0_in_the_second_mean_percentile(
    percentiles: list[float | None],
    invalid: int,
    not_graded: int,
    mean: float | None,
    with_zeros: float | None,
    words: str,
    others: str,
) -> None:
    reports = [report(leaderboard_percentile=one) for one in percentiles]
    reports += [report(valid_submission=False, score=None)] * invalid
    tally = Tally.of(reports, not_graded)
    assert (tally.percentile, tally.percentile_with_zeros) == (mean, with_zeros)
    assert (tally.percentile_words, tally.others_words) == (words, others)
    assert tally.valid == len(percentiles)


@pytest.mark.parametrize(
    ("new", "at", "held", "before", "replaces"),
    [
        (True, 1, True, 0, True), (True, 1, True, 1, False), (True, 0, True, 1, False),
        (True, None, True, 0, False), (True, 0, True, None, True),
        (True, None, True, None, False), (True, 0, False, 1, True), (True, None, False, 1, True),
        (False, 1, True, 0, False), (False, 1, True, None, False),
        (False, 1, False, 0, True), (False, 0, False, 0, False),
    ],
)  # fmt: skip
def test_a_newer_grading_replaces_an_older_one_and_a_failed_one_no_report(
    new: bool, at: int | None, held: bool, before: int | None, replaces: bool
) -> None:
    one, other = (None if day is None else DAY + timedelta(days=day) for day in (at, before))
    assert supersedes(report() if new else None, one, report() if held else None, other) == replaces


@pytest.mark.parametrize(
    ("results", "counted", "earlier"),
    [
        ([], [], []),
        ([graded(0), graded(1)], [1], [[0]]),
        ([graded(1), graded(0)], [0], [[1]]),
        ([graded(0), graded(0, batch="c")], [0], [[]]),  # a copy
        ([graded(0), graded(2), graded(1)], [1], [[2, 0]]),
        ([graded(0), graded(1, fails=True)], [0], [[]]),
        ([graded(1, fails=True), graded(0)], [1], [[]]),
        ([graded(0, fails=True), graded(1, fails=True)], [1], [[0]]),
        ([graded(0), graded(1, "other")], [0, 1], [[], []]),
        ([graded(0), graded(1, agent="bob")], [0, 1], [[], []]),
        # without a key: one for each of the batch with the most
        ([graded(0, None), graded(1, None)], [0, 1], [[], []]),
        ([graded(0, None, "b"), graded(1, None, "c")], [0, 1], [[], []]),
        ([graded(0, "k", "b"), graded(0, None, "b"), graded(1, "k", "c"), graded(1, None, "c")],
            [2, 3], [[0], []]),
        ([graded(0, "k", "b"), graded(0, None, "b"), graded(0, None, "b"), graded(1, "k", "c"),
                graded(1, None, "c")], [2, 3, 4], [[], [0], []]),
        ([graded(0, "k", "b"), graded(0, None, "b"), graded(1, "k", "c"), graded(1, "l", "c")],
            [2, 3], [[0], []]),
        ([graded(0, "k", "b"), graded(0, None, "b", task="u"), graded(1, "k", "c"),
                graded(1, None, "c")], [1, 2, 3], [[], [0], []]),
    ],
)  # fmt: skip
def test_each_submission_counts_once_by_its_newest_grading(
    results: list[Graded], counted: list[int], earlier: list[list[int]]
) -> None:
    found = newest(results)
    assert [one.outcome for one in found] == [results[n].outcome for n in counted]
    assert [one.at for one in found] == [results[n].at for n in counted]
    assert [[before.at for before in one.earlier] for one in found] == [
        [results[n].at for n in own] for own in earlier
    ]


@given(
    st.permutations(
        [
            graded(0),
            graded(2),
            graded(1),
            graded(5, "l"),
            graded(4, "l", fails=True),
            graded(9, fails=True),
        ]
    )
)
def test_which_grading_counts_does_not_depend_on_the_order_of_files(results: list[Graded]) -> None:
    found = newest(results)
    assert sorted((one.key or (), one.at) for one in found) == [
        (("k",), DAY + timedelta(days=2)),
        (("l",), DAY + timedelta(days=5)),
    ]
    assert all(
        list(one.earlier) == sorted(one.earlier, key=lambda each: each.at, reverse=True)
        for one in found
    )


HERE = Path("/base/reports")


@pytest.mark.parametrize(
    ("task", "path", "run", "key"),
    [
        ("t", None, "", None), ("t", "", "", None),
        ("lab/t", f"/a/{GROUP}/r/submission/submission.csv", "", ("t", f"{GROUP}/r")),
        ("t", f"/other/{GROUP}/r/submission/submission.h5ad", "", ("t", f"{GROUP}/r")),
        ("t", f"/a/{GROUP}/r/submission/other.csv", "", ("t", f"{GROUP}/r/submission/other.csv")),
        ("t", f"/a/{GROUP}/r/other/submission.csv", "", ("t", f"{GROUP}/r/other/submission.csv")),
        ("t", None, f"/a/{GROUP}/r", ("t", f"{GROUP}/r")),
        ("t", None, "r", ("t", f"{HERE}/r")),
        ("t", "x.csv", "", ("t", f"{HERE}/x.csv")),
        ("t", "x.csv", f"/a/{GROUP}/r", ("t", f"{HERE}/x.csv")),
        ("t", "/abs/../x.csv", "", ("t", "/x.csv")),
        ("t", "a\0b", "", ("t", f"{HERE}/a\0b")),
        ("t", "submission/submission.csv", "", ("t", str(HERE))),
    ],
)  # fmt: skip
def test_a_submission_is_known_by_its_run_or_its_file(
    task: str, path: str | None, run: str, key: tuple[str, ...] | None
) -> None:
    assert submission_key(task, path, run, HERE) == key


def test_a_run_without_a_path_is_of_the_group_that_the_report_lies_in() -> None:
    assert submission_key("t", None, "r", Path("/x") / GROUP / "hourly") == ("t", f"{GROUP}/r")
    assert submission_key("t", None, "r", Path("/x") / GROUP) == ("t", f"{GROUP}/r")
    assert (short("a/b/t"), short("t")) == ("t", "t")


def test_a_relative_file_that_is_here_is_one_file_for_every_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").symlink_to("nowhere")
    assert submission_key("t", "x.csv", "", HERE) == ("t", os.fspath(tmp_path / "x.csv"))


def test_times_are_utc_without_a_zone() -> None:
    assert moment(DAY) == DAY
    assert moment(datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == DAY
    assert moment(DAY.replace(tzinfo=UTC)) == DAY


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["a_grading_report.json", "x.json"], ["a_grading_report.json"]),
        (["x.json", "metadata.json"], ["x.json"]),
        (["a_grading.jsonl"], ["a_grading.jsonl"]),
        (["a_grading.jsonl", "a_grading_report.json"], ["a_grading_report.json"]),
        (["a_grading.jsonl", "b_grading_report.json"],
            ["a_grading.jsonl", "b_grading_report.json"]),
        (["grading_report_3.json", "grading_summary.json", "x.jsonl"],
            ["grading_report_3.json", "grading_summary.json"]),
        (["a_individual_reports/t.json"], ["a_individual_reports/t.json"]),
        (["a_individual_reports/t.json", "a_grading_report.json"], ["a_grading_report.json"]),
        (["a_individual_reports/t.json", "a_grading.jsonl"], ["a_grading.jsonl"]),
        (["1/2/3/4/a_grading_report.json"], ["1/2/3/4/a_grading_report.json"]),
        (["1/2/3/4/5/a_grading_report.json"], []),
        ([".hidden/a_grading_report.json", "node_modules/a_grading_report.json"], []),
        (["sub/x.json", "hourly/x.json", f"{GROUP}/x.json"], [f"{GROUP}/x.json", "hourly/x.json"]),
        ([f"one_{UUID(int=1)}/a_grading_report.json", "own/submission/x",
                "own/a_grading_report.json"], []),
    ],
)  # fmt: skip
def test_reports_are_found_by_name_and_place(
    tmp_path: Path, files: list[str], found: list[str]
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert [path.relative_to(tmp_path).as_posix() for path in report_files(tmp_path)] == found
    unnamed = [name for name in found if name not in ("x.json",)]
    assert [
        path.relative_to(tmp_path).as_posix() for path in report_files(tmp_path, named=False)
    ] == unnamed


def test_reports_of_single_tasks_are_one_batch_of_the_folder_that_they_are_for(
    tmp_path: Path,
) -> None:
    """The file that a task's report names lies beside the folder of reports, as the whole report
    says it.
    """
    written = {"a_grading_report.json": [report("t").to_dict()],
        "b_individual_reports/t.json": report("t").to_dict(),
               "b_individual_reports/u.json": report("u").to_dict()}  # fmt: skip
    for name, data in written.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(data))
    found = read_outcomes([tmp_path])
    assert [one.outcome.task_id for one in found.results] == ["t", "u"]
    assert found.superseded == 1
    alone = read_outcomes([tmp_path / name for name in written if name.startswith("b")])
    assert {one.batch for one in alone.results} == {str(tmp_path / "b_individual_reports")}


@pytest.mark.parametrize(
    ("first", "second", "results"),
    [
        ({"run": "r1"}, {"run": "r1"}, 1), ({"run": "r1"}, {"run": "r2"}, 2),
        ({"run": "r1"}, {"run_id": "r1"}, 1),
        ({"run_id": "r1"}, {"run_id": "r2"}, 2),
        ({"run": "r1", "run_id": "x"}, {"run": "r1", "run_id": "y"}, 1),
        ({"run": 5}, {"run": "r1"}, 2), ({}, {"run": "r1"}, 2),
    ],
)  # fmt: skip
def test_a_run_that_left_no_file_is_known_by_its_name(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], results: int
) -> None:
    nothing = {
        "submission_path": None,
        "submission_exists": False,
        "valid_submission": False,
        "score": None,
    }
    for number, run in enumerate((first, second)):
        one = report(**nothing).to_dict() | run | {"created_at": f"2026-01-0{number + 1}T00:00:00"}
        (tmp_path / f"{number}_grading_report.json").write_text(json.dumps([one]))
    found = read_outcomes([tmp_path])
    assert (len(found.results), found.superseded) == (results, 2 - results)


def test_what_cannot_be_read_is_named_five_at_most() -> None:
    def loaded(count: int) -> Loaded:
        return Loaded((), tuple(f"{n} is bad" for n in range(count)))

    assert loaded(0).unread_words == ""
    assert loaded(5).unread_words.endswith("4 is bad")
    assert loaded(6).unread_words.endswith("4 is bad; and 1 more")
    assert loaded(1).unread_words.startswith("1 file with no report")
    assert Loaded((), superseded=0).superseded_words == ""
    assert Loaded((), superseded=1).superseded_words.startswith(
        "1 other grading of the same submissions is left out"
    )
    assert Loaded((), superseded=2).superseded_words.startswith(
        "2 other gradings of the same submissions are left out"
    )
    assert unread_sentence(loaded(1), [HERE]) == "0 is bad"
    assert unread_sentence(loaded(2), [HERE]).startswith(f"no grading report in {HERE}: 2 files")
    assert unread_sentence(loaded(0), [HERE]).startswith(f"no submission in {HERE}, neither")
