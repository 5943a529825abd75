"""The table of machine-learning tasks, their leaderboards' distribution, and pasted paths."""

from __future__ import annotations

from dataclasses import replace

import history
import pytest

from bioeval_tui.tui.benchmarks import benchmarks_view
from bioeval_tui.tui.items import Board
from bioeval_tui.tui.shared import histogram_view
from tests.unit.tui.lines import text

DETAILS = history.details()
ITEMS = {item.task_id: item for item in history.benchmarks()}
CANCER = DETAILS["oncology/breast-cancer"].board
DIABETES = DETAILS["metabolism/diabetes-progression"].board
assert CANCER is not None
assert DIABETES is not None


def card(task_id: str, width: int = 60) -> str:
    return text(benchmarks_view.card(ITEMS[task_id], DETAILS.get(task_id), width))


def test_every_entry_is_counted_once() -> None:
    for board in (CANCER, DIABETES):
        for bins in (1, 7, 60):
            found = histogram_view.histogram(board, bins)
            assert sum(found.counts) + found.below == len(board.scores)


def test_the_scale_runs_from_worst_to_best_in_both_directions() -> None:
    higher, lower = histogram_view.histogram(CANCER, 20), histogram_view.histogram(DIABETES, 20)
    assert higher.worst < higher.best
    assert lower.worst > lower.best
    for found in (higher, lower):
        places = {mark.name: mark.at for mark in found.marks}
        assert places["median"] < places["bronze"] <= places["silver"] <= places["gold"] <= 1
        assert 0 <= places["human"] <= 1


def test_outliers_do_not_squeeze_the_other_entries_but_are_counted() -> None:
    scores = (*CANCER.scores, -50.0, -900.0)
    found = histogram_view.histogram(replace(CANCER, scores=scores), 40)
    assert found.below == 2
    assert sum(1 for count in found.counts if count) > 10
    assert "2 entries lie further out" in text(histogram_view.lines(replace(CANCER, scores=scores), 50))


@pytest.mark.parametrize("scores", [(0.5,), (0.5, 0.5, 0.5), (0.9, 0.1)])
def test_leaderboards_of_few_or_tied_entries_are_drawn(scores: tuple[float, ...]) -> None:
    board = Board(scores, False, scores[0], scores[0], scores[0], scores[-1])
    assert "gold" in text(histogram_view.lines(board, 40))


@pytest.mark.parametrize("width", [8, 30, 70])
def test_a_histogram_fits_its_width(width: int) -> None:
    for board in (CANCER, DIABETES):
        for line in text(histogram_view.lines(board, width)).splitlines()[1:8]:
            assert len(line) <= width


def test_a_card_names_thresholds_in_the_direction_of_the_score() -> None:
    assert "gold          ≥" in card("oncology/breast-cancer")
    assert "median of 3 human baselines" in card("oncology/breast-cancer")
    assert "gold          ≤" in card("metabolism/diabetes-progression")
    assert "lower is better" in card("metabolism/diabetes-progression")


def test_a_card_says_how_to_prepare_a_task_and_what_is_wrong_with_a_broken_one() -> None:
    assert "downloaded from the Polaris hub" in card("polarishub/tdcommons-caco2-wang")
    assert "the leaderboard is missing" in card("polarishub/tdcommons-caco2-wang")
    assert "`dataset` is missing" in card("proteins/unfinished")
    assert "reading the leaderboard" in text(benchmarks_view.card(ITEMS["oncology/breast-cancer"], None, 60))


def test_rows_show_what_was_read_so_far() -> None:
    item = ITEMS["oncology/breast-cancer"]
    assert benchmarks_view.row(item, None)["entries"].text == "…"
    assert benchmarks_view.row(item, DETAILS[item.task_id])["entries"].text == "1,043"
    assert benchmarks_view.row(ITEMS["proteins/unfinished"], None)["entries"].text == "–"


def test_tasks_can_be_found_by_any_of_their_words() -> None:
    table = benchmarks_view.listing(DETAILS)
    table.fill(history.benchmarks())
    for words, count in (
        ("oncology", 1),
        ("classification", 2),
        ("prepared easy", 2),
        ("broken", 1),
        ("polaris", 1),
    ):
        table.search(words)
        assert len(table.visible) == count, words


def test_a_description_does_not_repeat_the_name() -> None:
    item = ITEMS["oncology/breast-cancer"]
    assert benchmarks_view.description(item, DETAILS[item.task_id]).startswith("Tell malignant")
    other = replace(item, name="Another name")
    assert benchmarks_view.description(other, DETAILS[item.task_id]).startswith("# Breast cancer")


@pytest.mark.parametrize(
    ("pasted", "path"),
    [
        ("/data/a.csv", "/data/a.csv"),
        ("  /data/a.csv\n", "/data/a.csv"),
        ("'/data/my file.csv'", "/data/my file.csv"),
        ('"/data/my file.csv"', "/data/my file.csv"),
        ("/data/my\\ file\\ (1).csv", "/data/my file (1).csv"),
        ("file:///data/my%20file.csv", "/data/my file.csv"),
        ("file:///C:/data/a.csv", "C:/data/a.csv"),
        ("'/data/it'\\''s.csv'", "/data/it's.csv"),
        ("C:\\data\\a.csv", "C:\\data\\a.csv"),
        ("results/my file.csv", "results/my file.csv"),
        ("", ""),
    ],
)
def test_a_file_dropped_on_the_terminal_becomes_its_path(pasted: str, path: str) -> None:
    assert benchmarks_view.pasted_path(pasted) == path
