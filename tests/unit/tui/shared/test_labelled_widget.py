"""Long texts wrap below themselves, beside their labels."""

from textual.content import Content

from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.wrapped_lines import clipped, hanging

TEXT = "Count the elderly patients who take warfarin"


def lines(*texts: str, width: int) -> list[str]:
    return [line.plain.rstrip() for line in hanging([Cell(text) for text in texts], width)]


def test_a_text_wraps_below_itself_and_not_below_its_label() -> None:
    assert lines("tasks     – ", TEXT, width=40) == [
        "tasks     – Count the elderly patients",
        "            who take warfarin",
    ]


def test_a_line_that_fits_stays_as_it_is() -> None:
    assert lines("a ", "b", "  c", width=6) == ["a b  c"]
    assert lines(width=6) == [""]


def test_where_a_text_would_have_too_little_room_it_continues_at_the_edge() -> None:
    assert lines("tasks     – ", TEXT, width=31)[1] == "patients who take warfarin"


def test_a_first_cell_that_is_no_label_wraps_with_the_rest() -> None:
    assert lines(TEXT, " and apixaban", width=40) == [
        "Count the elderly patients who take",
        "warfarin and apixaban",
    ]


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
