"""Long texts wrap below themselves, beside their labels."""

from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.wrapped_lines import hanging

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
