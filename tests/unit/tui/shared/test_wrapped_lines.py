"""Lines that do not fit end with an ellipsis after a word."""

from __future__ import annotations

from textual.content import Content

from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.wrapped_lines import clipped, hanging


def shown(text: str, most: int, width: int, label: str = "") -> list[str]:
    line = [Cell(label), Cell(text)] if label else [Cell(text)]
    return [part.plain.rstrip() for part in clipped(hanging(line, width), most, width)]


def test_what_fits_is_not_cut() -> None:
    assert shown("a user who gives facts", 2, 30) == ["a user who gives facts"]
    assert clipped([Content("a"), Content("b")], 0, 30) == [Content("a"), Content("b")]


def test_the_last_line_that_is_shown_says_that_there_are_more() -> None:
    words = "the user lives in Sydney and takes 5 mg of warfarin"
    assert shown(words, 1, 30) == ["the user lives in Sydney and…"]
    assert shown(words, 1, 30, "facts  ") == ["facts  the user lives in…"]
    assert shown(words + " every day", 2, 30, "facts  ")[1] == "       Sydney and takes 5 mg…"


def test_a_long_word_is_cut_rather_than_left_out() -> None:
    assert shown("Run a_very_long_name_of_a_job_that_goes_on", 1, 24) == [
        "Run a_very_long_name_of…"
    ]
    assert shown("运行 患者用药提醒患者用药提醒患者用药提醒", 1, 20) == ["运行 患者用药提醒患…"]
