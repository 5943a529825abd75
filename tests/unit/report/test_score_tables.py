"""Which columns of a table are taken for what, and which scores count: each rule at its edge."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.report import scores
from bioeval_tui.report.scores import Board, ScoreColumns, board, board_dict, read_scores
from bioeval_tui.statistics.intervals import FEWEST_UNITS

Row = dict[str, Any]


def written(folder: Path, rows: list[Row]) -> Path:
    file = folder / "table.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def of(folder: Path, rows: list[Row], **given: Any) -> Board:
    return board(read_scores(written(folder, rows), ScoreColumns(**given)))


def row(unit: str = "u1", agent: str = "a", **more: Any) -> Row:
    return {"unit": unit, "agent": agent, **more}


def units(count: int, **more: Any) -> list[Row]:
    """Return rows of two agents, the second a little better in every second unit."""
    return [
        row(f"u{n}", agent, ada=0.5 + 0.1 * (n % 3) + better * 0.2 * (n % 2), **more)
        for n in range(count)
        for better, agent in enumerate("ab")
    ]


FULL = row(ada=0.25, ben=0.75)


@pytest.mark.parametrize(
    ("rows", "given", "columns"),
    [
        # found by name
        ([FULL], {}, ScoreColumns("unit", ("agent",), "", ("ada", "ben"))),
        ([row(rater="x", score=1)], {}, ScoreColumns("unit", ("agent",), "rater", ("score",))),
        ([row(score=1)], {}, ScoreColumns("unit", ("agent",), "", ("score",))),
        # given
        ([FULL], {"scores": ("ben",)}, ScoreColumns("unit", ("agent",), "", ("ben",))),
        ([FULL], {"unit": "agent", "agents": ("unit",)},
            ScoreColumns("agent", ("unit",), "", ("ada", "ben"))),
        ([row(score=1, mark=1)], {"scores": ("mark",)},
            ScoreColumns("unit", ("agent",), "", ("mark",))),
        ([row(rater="x", by="y", score=1)], {"rater": "by"},
            ScoreColumns("unit", ("agent",), "by", ("score",))),
        # a condition makes two agents of one, unless the agents are given
        ([row(condition="c", score=1)], {},
            ScoreColumns("unit", ("agent", "condition"), "", ("score",))),
        ([row(condition="c", score=1)], {"agents": ("agent",)},
            ScoreColumns("unit", ("agent",), "", ("score",))),
        # a column of scores of its own, one of two, and none of a name that says it is no score
        ([row(ada=1)], {}, ScoreColumns("unit", ("agent",), "", ("ada",))),
        ([row(ada=1, trial=1)], {}, ScoreColumns("unit", ("agent",), "", ("ada",))),
        # the mean of one other column is that column again, and a rater; of two it is their mean
        ([row(ada=0.5, ben=0.5)], {}, ScoreColumns("unit", ("agent",), "", ("ada", "ben"))),
        ([row(ada=0.4, ben=0.6, carl=0.5)], {},
            ScoreColumns("unit", ("agent",), "", ("ada", "ben"))),
        ([row(ada=0.4, ben=0.6, carl=0.5, dora=0.5)], {},
            ScoreColumns("unit", ("agent",), "", ("ada", "ben"))),
        # within its rounding, exactly
        ([row(ada=0, ben=0, carl=0.0005)], {},
            ScoreColumns("unit", ("agent",), "", ("ada", "ben"))),
        ([row(ada=0, ben=0, carl=0.0011)], {},
            ScoreColumns("unit", ("agent",), "", ("ada", "ben", "carl"))),
        # a mean of nothing is none
        ([row(ada=0.4, ben=0.6, carl=0.5), row("u2", ada="", ben="", carl=0.5)], {},
            ScoreColumns("unit", ("agent",), "", ("ada", "ben", "carl"))),
        ([row(ada=0.4, ben=0.6, carl=0.5), row("u2", ada="", ben=0.7, carl=0.7)], {},
            ScoreColumns("unit", ("agent",), "", ("ada", "ben"))),
        ([row(ada=0.4, ben=0.6, carl=0.5), row("u2", ada=0.1, ben=0.7, carl="")], {},
            ScoreColumns("unit", ("agent",), "", ("ada", "ben"))),
    ],
)  # fmt: skip
def test_columns_are_found_by_name_unless_they_are_given(
    tmp_path: Path, rows: list[Row], given: Row, columns: ScoreColumns
) -> None:
    assert read_scores(written(tmp_path, rows), ScoreColumns(**given)).columns == columns


@pytest.mark.parametrize(
    ("rows", "given", "says"),
    [
        ([FULL], {"unit": "x"}, "has no column 'x'; it has unit, agent, ada, ben"),
        ([FULL], {"agents": ("agent", "y")}, "has no column 'y'"),
        ([FULL], {"rater": "z"}, "has no column 'z'"),
        ([FULL], {"scores": ("ada", "w")}, "has no column 'w'"),
        ([row(rater="x", ada=1, ben=1)], {"rater": "rater", "scores": ("ada", "ben")},
            "'rater' names the rater of each row, so there is one column of scores"),
        ([row(ada="")], {"scores": ("ada",)}, "all scores are empty"),
        ([row(rater=" ", score=1)], {}, "line 2: rater is empty"),
        ([row(agent="", score=1)], {}, "line 2: agent is empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, rows: list[Row], given: Row, says: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_scores(written(tmp_path, rows), ScoreColumns(**given))
    assert says in str(caught.value)


@pytest.mark.parametrize(("most", "fine"), [(1, False), (2, True), (3, True)])
def test_a_table_has_so_many_rows_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, fine: bool
) -> None:
    monkeypatch.setattr(scores, "MOST_SCORES", most)
    file = written(tmp_path, [row(score=1), row("u2", score=1)])
    if fine:
        assert len(read_scores(file).scores["a"]) == 2
        return
    with pytest.raises(InputError, match=r"line 3: more than 1 rows; split the file"):
        read_scores(file)


def test_a_file_without_rows_or_that_is_not_there_is_named(tmp_path: Path) -> None:
    header = tmp_path / "header.csv"
    header.write_text("unit,agent,score\n")
    with pytest.raises(InputError, match=r"header\.csv: has no row of scores"):
        read_scores(header)
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: No such file"):
        read_scores(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("rows", "notes"),
    [
        ([FULL], ()),
        ([row(ada=1, ben=1), row("u2", ada=1, ben="")],
            ("empty: 1 score", "left out: 1 unit of an agent that not every rater scored")),
        # twice by one rater is one unit, and its mean counts
        ([FULL, row(ada=0.75, ben="")],
            ("empty: 1 score",
                "scored several times: 1 unit of an agent; the mean of a rater's scores counts")),
        ([FULL, FULL, FULL],
            ("scored several times: 2 units of an agent; the mean of a rater's scores counts",)),
        ([row(ada=1, trial=1, words="x")], ("not read: trial, words",)),
    ],
)  # fmt: skip
def test_what_was_left_out_or_averaged_is_noted(
    tmp_path: Path, rows: list[Row], notes: tuple[str, ...]
) -> None:
    assert of(tmp_path, rows).notes == notes


def test_the_mean_of_a_raters_scores_counts_once_beside_the_other_rater(tmp_path: Path) -> None:
    found = of(tmp_path, [FULL, row(ada=0.75, ben=""), row("u2", ada=0.0, ben=0.5)])
    # ada gave (0.25 + 0.75) / 2 and 0, ben 0.75 and 0.5
    assert found.means["a"].value == pytest.approx((0.5 + 0.0 + 0.75 + 0.5) / 4)
    assert {name: ranks.ranks[0].mean for name, ranks in found.by_rater.items()} == {
        "ada": 0.25,
        "ben": 0.625,
    }


def test_raters_are_compared_on_what_both_scored(tmp_path: Path) -> None:
    rows = [
        row("u1", ada=0.5, ben=0.25, carl=""),
        row("u2", ada=0.5, ben=1.0, carl=""),
        row("u3", ada="", ben=0.5, carl=0.75),
    ]
    found = of(tmp_path, rows)
    assert [
        (pair.a, pair.b, pair.n, pair.mean_absolute_difference, pair.bias) for pair in found.pairs
    ] == [("ada", "ben", 2, 0.375, -0.125), ("ben", "carl", 1, 0.25, -0.25)]
    assert found.alpha is not None
    alone = of(tmp_path, [row("u1", ada=0.5), row("u2", ada=1.0)])
    assert (alone.pairs, alone.alpha, alone.by_rater) == ((), None, {})


@pytest.mark.parametrize(
    ("values", "within"),
    [((0.0, 1.0), True), ((0.0, 1.000001), False), ((-0.000001, 1.0), False)],
)
def test_scores_from_0_to_1_have_an_interval_within(
    tmp_path: Path, values: tuple[float, float], within: bool
) -> None:
    rows = [row(f"u{n}", ada=values[min(n, 1)]) for n in range(2 * FEWEST_UNITS)]
    interval = of(tmp_path, rows).means["a"].interval
    assert interval is not None
    assert (interval.low >= 0 and interval.high <= 1) == within


@pytest.mark.parametrize(
    ("count", "has_ranks"),
    [(FEWEST_UNITS - 1, False), (FEWEST_UNITS, True), (FEWEST_UNITS + 1, True)],
)
def test_ranks_need_enough_common_units_and_two_agents(
    tmp_path: Path, count: int, has_ranks: bool
) -> None:
    rows = [each | {"ben": each["ada"]} for each in units(count)]
    found = of(tmp_path, rows)
    assert found.has_ranks == has_ranks
    printed = board_dict(found)
    assert printed["units"] == count
    assert bool(printed["ranks"]) == bool(printed["ranks_by_rater"]) == has_ranks
    assert [one["units"] for one in printed["means"]] == [count] * 2
    assert not of(tmp_path, [each for each in rows if each["agent"] == "a"]).has_ranks


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([FULL], "agents from `agent`, scores from `ada` and `ben`, a rater each"),
        ([row(ada=1)], "agents from `agent`, scores from `ada`, of one rater"),
        ([row(rater="x", score=1)],
            "agents from `agent`, the rater from `rater`, scores from `score`"),
    ],
)  # fmt: skip
def test_how_a_table_was_read_is_told(tmp_path: Path, rows: list[Row], says: str) -> None:
    told = of(tmp_path, rows).columns_words
    assert told == f"so it was read: units from `unit`, {says}"
