"""The parts of the transcript that need no screen: splitting and heights."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from bioeval_tui.tui.live.transcript.document import Heights
from bioeval_tui.tui.live.transcript.markdown import (
    MAX_CHARS,
    MAX_LINES,
    Chunk,
    TranscriptMarkdown,
    cut,
    pieces,
)

PARAGRAPH = "words that go on " * 25

PIECES = st.sampled_from(
    [
        *(
            "a",
            " ",
            "\n",
            "\n\n",
            "```",
            "```py\n",
            "\n```\n",
            "~~~\n",
            "| a | b |\n",
            "|---|---|\n",
            "- x\n",
        ),
        *("  more\n", "# h\n", "\t", PARAGRAPH, "> q\n", "`c`"),
    ]
)


def plain(chunks: list[Chunk]) -> list[tuple[str, str, int, bool, str, str]]:
    return [(c.kind, c.text, c.start, c.gap, c.heading, c.language) for c in chunks]


def letters(chunks: list[Chunk]) -> str:
    return "".join("".join(c.text for c in chunks).split())


@given(st.lists(PIECES, max_size=60), st.integers(0, 1000))
def test_a_growing_text_is_split_like_the_whole_text(parts: list[str], seed: int) -> None:
    text, chunks, at = "".join(parts), None, 0
    pick = random.Random(seed)
    while at < len(text):
        at = min(len(text), at + pick.randint(1, 400))
        chunks = cut(text[:at], chunks)
    # A half line ("```" before "```a```") may have been cut otherwise than the whole line, so
    # chunks may begin elsewhere; no text is lost or said twice.
    assert letters(chunks or []) == letters(cut(text))


@given(st.lists(PIECES, max_size=60))
def test_every_chunk_is_small(parts: list[str]) -> None:
    for chunk in cut("".join(parts)):
        assert len(chunk.text) <= MAX_CHARS
        assert chunk.text.count("\n") <= MAX_LINES


def test_only_the_last_chunk_changes_as_text_arrives() -> None:
    text = "\n\n".join([PARAGRAPH] * 5)
    before = cut(text)
    after = cut(text + " and more", before)
    assert after[:-1] == before[:-1]
    assert after[-1].text.endswith("and more")


def test_a_code_block_is_one_chunk_including_blank_lines() -> None:
    chunks = cut("before\n```py\nx = 1\n\ny = 2\n```\nafter")
    assert [(c.kind, c.text, c.language) for c in chunks] == [
        ("markdown", "before", ""),
        ("code", "x = 1\n\ny = 2", "py"),
        ("markdown", "after", ""),
    ]


def test_an_indented_line_stays_with_its_list() -> None:
    text = f"- {PARAGRAPH}\n\n  {PARAGRAPH}"
    assert len(cut(text)) == 1


def test_a_long_table_is_split_with_its_heading_repeated() -> None:
    heading = "| a | b |\n|---|---|\n"
    chunks = cut(heading + "| 1 | 2 |\n" * 100)
    assert len(chunks) > 2
    assert all(chunk.markdown.startswith(heading) for chunk in chunks)
    assert sum(chunk.text.count("| 1 | 2 |") for chunk in chunks) == 100


@pytest.mark.parametrize("width", range(14, 64, 4))
def test_a_table_breaks_no_word(width: int) -> None:
    console = Console(width=width, file=io.StringIO())
    rows = (
        "| simvastatin | lowers cholesterol |\n| clarithromycin | slows the breakdown of"
        " simvastatin |\n"
    )
    console.print(TranscriptMarkdown(f"| drug | what it does |\n|---|---|\n{rows}"))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(lines).replace(":", " ").split()
    assert {"drug", "does", "simvastatin", "cholesterol", "clarithromycin", "breakdown"} <= set(
        shown
    )


def test_splitting_a_text_loses_nothing() -> None:
    text = "line\n" * 500 + "w" * 10_000
    assert "".join(pieces(text)).replace("\n", "") == text.replace("\n", "")


@given(st.lists(st.integers(0, 9), max_size=50), st.data())
def test_every_line_belongs_to_the_right_item(heights: list[int], data: st.DataObject) -> None:
    half = len(heights) // 2
    tree = Heights(heights[:half])
    for height in heights[half:]:
        tree.append(height)
    if heights:
        index = data.draw(st.integers(0, len(heights) - 1))
        heights[index] = data.draw(st.integers(0, 9))
        tree.set(index, heights[index])
    assert tree.total == sum(heights)
    expected = [(item, line) for item, height in enumerate(heights) for line in range(height)]
    assert [tree.find(line) for line in range(tree.total)] == expected
    assert [tree.height_above(item) for item in range(len(heights) + 1)] == [
        sum(heights[:item]) for item in range(len(heights) + 1)
    ]
