"""The medal table's order, totals and scale."""

import csv
from dataclasses import replace
from io import StringIO

import pytest
from medal_rows import board, graded, invalid, sample_rows

from bioeval_tui.grade.task_report import Uncertainty
from bioeval_tui.report.formats.tables import table_csv, table_markdown
from bioeval_tui.tui.items import MedalRow
from bioeval_tui.tui.medals import medal_card, medals_view
from bioeval_tui.tui.medals.agents_widget import group_cells, groups
from bioeval_tui.tui.medals.medals_view import MedalTable
from bioeval_tui.tui.shared.list_table import fit


@pytest.fixture
def table() -> MedalTable:
    table = MedalTable()
    for row in sample_rows():
        table.add(row)
    table.arrange()
    return table


def standings(table: MedalTable) -> list[str]:
    return [entry.standing for entry in table.visible]


def test_the_best_medals_come_first_and_submissions_without_a_score_last(table: MedalTable) -> None:
    assert standings(table) == ["gold", "silver", "silver", "bronze", "none", "none", "invalid", "not_graded"]


def test_sorting_by_score_keeps_invalid_ones_last(table: MedalTable) -> None:
    table.sort_by([column.name for column in medals_view.COLUMNS].index("score"))
    assert standings(table)[-2:] == ["invalid", "not_graded"]
    scores = [entry.row.report.score for entry in table.visible[:-2]]
    assert scores == sorted(scores, reverse=True)


def test_reversing_the_sort_reverses_the_rows(table: MedalTable) -> None:
    before = [
        (entry.standing, entry.row.report and entry.row.report.leaderboard_percentile)
        for entry in table.visible
    ]
    table.reverse()
    after = [
        (entry.standing, entry.row.report and entry.row.report.leaderboard_percentile)
        for entry in table.visible
    ]
    assert after == before[::-1]


@pytest.mark.parametrize("column", range(len(medals_view.COLUMNS)))
def test_every_column_sorts_and_choosing_it_again_reverses(table: MedalTable, column: int) -> None:
    best, second = (entry.row for entry in table.visible[:2])
    for row, high in ((best, 0.9), (second, 0.8)):
        sure = replace(row.report, uncertainty=Uncertainty(low=0.7, high=high))
        table.put({id(row): replace(row, report=sure)})
    table.sort_by(0 if column else 1)
    table.sort_by(column)
    first = table.visible
    assert len(first) == 8
    table.sort_by(column)
    assert table.sorting.reverse
    assert table.visible != first


def test_rows_that_arrive_later_are_sorted_in(table: MedalTable) -> None:
    table.sort_by(0)
    table.add(graded("aaa", "zoe", 0.7, board(50, 0.1, 0.9)))
    table.search("aaa")
    table.search("")
    assert table.visible[0].row.task_id == "aaa"
    table.search("zoe")
    assert [entry.row.agent for entry in table.visible] == ["zoe"]


def test_groups_count_medals_by_agent_and_domain(table: MedalTable) -> None:
    found = groups(table.visible)
    heads = [group.agent for group in found if group.domain is None]
    assert heads == ["aide", "stella", "biomni"]
    assert sum(group.totals.rows for group in found if group.domain is None) == 8
    assert sum(group.totals.rows for group in found if group.domain is not None) == 8
    aide = found[0]
    assert group_cells(aide)["● gold"].text == str(aide.totals.by["gold"])
    assert [group.domain for group in found[1:3]] == ["metabolic", "oncology"]


def test_exports_contain_every_value_and_no_formula() -> None:
    rows = [medals_view.exported(row) for row in sample_rows()]
    text = table_csv(medals_view.EXPORTED, rows)
    assert text.splitlines()[0] == ",".join(medals_view.EXPORTED)
    assert "0.9912" in text
    assert "17 ids of the answers are missing" in text
    assert "grader ran longer than 60 s" in table_markdown(medals_view.EXPORTED, rows)
    assert table_csv(["a"], [["=HYPERLINK(1)"], [-1.5], [None]]) == 'a\n\'=HYPERLINK(1)\n-1.5\n""\n'
    assert table_markdown(["a"], [["x|y [b](c) <i>"]]).splitlines()[2] == "| x\\|y \\[b\\](c) &lt;i&gt; |"


def test_every_word_of_the_filter_must_be_found(table: MedalTable) -> None:
    table.search("diabetes AIDE")
    assert [(e.row.task_id, e.row.agent) for e in table.visible] == [
        ("metabolic/diabetes-progression", "aide")
    ]
    table.search("invalid")
    assert standings(table) == ["invalid"]
    table.search("")
    assert len(table.visible) == 8


def test_averages_show_their_count_and_the_figure_with_zeros(table: MedalTable) -> None:
    totals = table.totals()
    assert (totals.rows, totals.valid) == (8, 6)
    assert totals.average_with_zeros == pytest.approx(totals.average * 6 / 8)
    words = "".join(cell.text for line in medals_view.totals_lines(totals) for cell in line)
    assert "over 6 valid of 8" in words


def test_submissions_without_a_score_count_as_zero_also_if_there_are_no_others(table: MedalTable) -> None:
    alone = MedalTable()
    for entry in table.entries:
        if entry.standing == "invalid":
            alone.add(entry.row)
    assert alone.totals().average is None
    assert alone.totals().average_with_zeros == 0.0


def test_columns_disappear_one_by_one_in_narrow_terminals() -> None:
    assert [c.name for c in fit(medals_view.COLUMNS, 200, medals_view.MIN_TASK)] == [
        column.name for column in medals_view.COLUMNS
    ]
    assert [c.name for c in fit(medals_view.COLUMNS, 56, medals_view.MIN_TASK)] == [
        "task",
        "agent",
        "medal",
        "score",
    ]
    for width in range(53, 200):
        assert (
            sum(column.width + 1 for column in fit(medals_view.COLUMNS, width, medals_view.MIN_TASK)) - 1
            == width
        )


def test_what_the_task_does_not_need_goes_to_the_column_that_says_what_is_wrong() -> None:
    columns = fit(medals_view.COLUMNS, 160, medals_view.MIN_TASK, medals_view.TASK_WIDTH)
    assert columns[0].width == medals_view.TASK_WIDTH
    assert columns[-1].width > 40


def lines(row: MedalRow, width: int = 46) -> str:
    shown = [*medal_card.head(row, width), *medal_card.card(row, width, 3)]
    return "\n".join("".join(cell.text for cell in line) for line in shown)


def test_the_card_says_first_how_far_the_next_medal_is_and_what_to_beware_of() -> None:
    row = graded("t", "a", 0.5, board(50, 0.1, 0.9), warnings=("the direction is guessed",))
    row = replace(row, report=replace(row.report, extra=replace(row.report.extra, metric="roc_auc")))
    shown = lines(row, 100).splitlines()
    assert shown[0] == "– none   t · a"
    assert (
        shown[1] == "No medal on t: roc_auc 0.5, place 14 of 51, above the median, 0.17143 short of bronze."
    )
    assert shown[2] == "! the direction is guessed"
    assert shown[5] == (
        "roc_auc 0.5 · scored on all 171 rows · higher is better · would place 14 of 51 · percentile 74.0"
    )


def test_the_chances_of_medals_are_the_parts_of_one_bar() -> None:
    row = sample_rows()[0]
    sure = Uncertainty(low=0.98, high=0.99, gold=0.5, silver=0.25, bronze=0.0, rows=171)
    shown = lines(replace(row, report=replace(row.report, uncertainty=sure)), 40)
    assert "█" * 20 + "▓" * 10 + "░" * 10 in shown
    assert "█ gold 50 %  ▓ silver 25 %  ▒ bronze 0 %\n░ no medal 25 %" in shown


def test_the_card_shows_the_place_and_labels_a_self_trained_leaderboard() -> None:
    text = lines(sample_rows()[1])
    assert "would place 34 of 1,044" in text
    assert "short of gold" in text
    assert "! leaderboard of models trained for" in text
    assert "▶" in text


def test_a_self_trained_leaderboard_is_labelled_once() -> None:
    row = graded("t", "a", 0.5, board(50, 0.1, 0.9), warnings=("the leaderboard is self-trained",))
    assert lines(row).count("self-trained") == 1


def test_the_card_of_a_lower_is_better_task_says_so_and_counts_down() -> None:
    text = lines(sample_rows()[4])
    assert "lower is better" in text
    assert "2.7 short of gold" in text


def test_the_card_says_why_a_file_is_invalid_and_whose_fault_it_is_not() -> None:
    assert "invalid: 17 ids" in lines(invalid("t", "a", "17 ids of the answers are missing"))
    assert "not graded: grader ran longer than 60 s" in lines(sample_rows()[-1])


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "＝", "＠", "\n=", " =", "\t"])
def test_a_cell_that_looks_like_a_formula_gets_an_apostrophe(begin: str) -> None:
    (_, (cell,)) = csv.reader(StringIO(table_csv(["a"], [[f"{begin}1+1"]])))
    assert cell == f"'{begin}1+1"
