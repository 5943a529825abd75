"""The block that every result begins with, where there is little room for it."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from bioeval_tui.report.answer import NEVER_STARTED
from bioeval_tui.tui.shared.answer_block import AnswerBlock
from bioeval_tui.tui.shared.cells import Cell, Line

LONG = "it was said at length, 华法林, " * 5
LABELS = ("WHAT  ", "SURE  ", "FACTS ", "USERS ", "WHY   ")
LINES: list[Line] = [
    *([Cell(label, "quiet"), Cell(LONG)] for label in LABELS),
    [Cell("NEXT  ", "quiet"), Cell("enter read the passage")],
]


class Shown(App[None]):
    """An application of one block."""

    CSS = "AnswerBlock { max-height: 11; } .-low AnswerBlock { max-height: 8; }"

    def compose(self) -> ComposeResult:
        """Compose the block."""
        yield AnswerBlock()


@pytest.mark.parametrize(
    ("is_low", "heights"), [(False, (2, 2, 2, 2, 2, 1)), (True, (2, 2, 1, 1, 1, 1))]
)
async def test_the_next_step_is_in_sight_however_much_there_is_to_say(
    is_low: bool, heights: tuple[int, ...]
) -> None:
    app = Shown()
    async with app.run_test(size=(80, 24)) as pilot:
        block = app.query_one(AnswerBlock)
        block.show(LINES)
        app.screen.set_class(is_low, "-low")
        await pilot.pause()
        assert block.size.height == sum(heights)
        shown = [block.render_line(y).text for y in range(block.size.height)]
    assert shown[-1].startswith("NEXT  enter read the passage")
    at = [index for index, line in enumerate(shown) if line[:6].strip()]
    ends = [*at[1:], len(shown)]
    assert tuple(end - begin for begin, end in zip(at, ends, strict=True)) == heights
    assert all(shown[end - 1].rstrip().endswith("…") for end in ends[:-1])


async def test_an_answer_is_shown_with_its_own_labels() -> None:
    app = Shown()
    async with app.run_test(size=(80, 24)) as pilot:
        block = app.query_one(AnswerBlock)
        block.show_answer(NEVER_STARTED)
        await pilot.pause()
        shown = [block.render_line(y).text.rstrip() for y in range(block.size.height)]
    assert shown[0].startswith(f"WHAT  {NEVER_STARTED.what[:40]}")
