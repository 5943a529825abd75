"""The transcript and its scrollbar paint the same lines as Textual would."""

from __future__ import annotations

import pytest
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from bioeval_tui.tui.live.transcript import Transcript
from tests.tui.test_transcript import conversation, long_conversation, say, seen, shown

TABLE = "| drug | dose |\n|---|---|\n"


def cells(strips: list[Strip]) -> list[list[tuple[object, ...]]]:
    """Return each line's cells as they are seen: letter, its colour, what is behind it, and what a
    press there does.
    """
    found = []
    for strip in strips:
        line: list[tuple[object, ...]] = []
        for text, style, _ in strip:
            assert style is not None
            front, back = (
                (style.bgcolor, style.color) if style.reverse else (style.color, style.bgcolor)
            )
            press = style.meta.get("@mouse.down")
            line += [(letter, None if letter == " " else front, back, press) for letter in text]
        found.append(line)
    return found


@pytest.mark.parametrize("width", [30, 80, 160])
async def test_painted_lines_are_the_ones_that_textual_would_draw(width: int) -> None:
    async with shown(long_conversation(), (width, 24)) as (transcript, pilot):
        for keys in (("j",), ("home",), ("pagedown", "j")):
            await pilot.press(*keys)
            transcript.find("words")
            region = transcript.outer_size.region
            assert cells(transcript.render_lines(region)) == cells(
                Widget.render_lines(transcript, region)
            )
            part = region.shrink((3, 5, 4, 7))
            assert cells(transcript.render_lines(part)) == cells(
                Widget.render_lines(transcript, part)
            )


@pytest.mark.parametrize("place", ["home", "pagedown", "end"])
async def test_the_scrollbar_looks_and_behaves_like_textuals(place: str) -> None:
    async with shown(long_conversation()) as (transcript, pilot):
        await pilot.press("home", place)
        bar = transcript.vertical_scrollbar
        region = bar.size.region
        assert bar.show_vertical_scrollbar is False
        assert cells(bar.render_lines(region)) == cells(ScrollBar.render_lines(bar, region))


async def test_unchanged_lines_are_kept_while_a_table_grows() -> None:
    talk = conversation("Hello")
    answer = say(talk, TABLE + "| warfarin | 5 mg |\n| aspirin | 1 mg |\n", done=False)
    async with shown(talk) as (transcript, _):
        before = drawn(transcript)
        answer.add("| digoxin | 2 mg |\n")
        answer.done = True
        transcript.update({2})
        after = drawn(transcript)
        assert "digoxin" in seen(transcript)
        # The first line loses its running time, the last its caret.
        assert [line is was for line, was in zip(after, before, strict=False)] == [
            False,
            True,
            True,
            False,
        ]


def drawn(transcript: Transcript) -> list[object]:
    page = transcript._page
    return [line for block in page.blocks(2) for line in page.lines(2, block)]


async def test_streamed_text_is_painted_when_its_pause_is_over() -> None:
    talk = conversation("Hello")
    answer = say(talk, "First", done=False)
    async with shown(talk) as (transcript, _):
        transcript.update({2})
        answer.add(" and second")
        transcript._streamed_at += 100  # nothing is due by itself
        transcript.update({2})
        transcript.tick()  # a clock is one line: it paints no text that waits
        assert "second" not in seen(transcript)
        transcript._streamed_at -= 200
        transcript.update({2})
        assert "First and second" in seen(transcript)
