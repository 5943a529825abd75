"""The table of machine-learning tasks, their leaderboards' distribution, and pasted paths."""

from __future__ import annotations

from dataclasses import replace

import history
import pytest

from bioeval_tui.tui.benchmarks import benchmarks_view
from bioeval_tui.tui.shared.dialogs import pasted_path
from tests.unit.tui.lines import text

DETAILS = history.details()
ITEMS = {item.task_id: item for item in history.benchmarks()}


def card(task_id: str, width: int = 60) -> str:
    return text(benchmarks_view.card(ITEMS[task_id], DETAILS.get(task_id), width))


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


def test_a_picture_of_a_task_says_what_gold_needs() -> None:
    item = ITEMS["oncology/breast-cancer"]
    assert benchmarks_view.sentence(item, None) == item.name
    said = benchmarks_view.sentence(item, DETAILS[item.task_id])
    assert said.startswith(
        f"{item.name} (oncology/breast-cancer): gold needs a {item.metric} of at least 0.9"
    )
    assert said.endswith(", among 1,043 entries.")


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
    assert pasted_path(pasted) == path
