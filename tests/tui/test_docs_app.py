"""`bioeval-tui docs`: the included documentation, read in the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driving import until
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.widgets import Markdown

from bioeval_tui.tui.docs_app import DocsApp
from tests.command import call

DOCS = Path(__file__).parents[2] / "docs"


def titles(app: DocsApp) -> list[str]:
    return [str(heading.render()) for heading in app.query("MarkdownH1")]


async def test_a_link_opens_its_page_and_backspace_returns() -> None:
    app = DocsApp(DOCS)
    async with app.run_test(size=(120, 40)) as pilot:
        assert titles(app) == ["bioeval-tui"]
        document = app.query_one(Markdown)
        document.post_message(Markdown.LinkClicked(document, "agents.md#keys-headers-streaming"))
        await until(pilot, lambda: titles(app) == ["Agents and protocols"])

        def sees_the_heading() -> bool:
            heading = next(one for one in app.query("MarkdownH2") if "Keys" in str(one.render()))
            return bool(app.pages.scroll_y) and app.screen.region.contains_region(heading.region)

        await until(pilot, sees_the_heading)
        await pilot.press("backspace")
        await until(pilot, lambda: titles(app) == ["bioeval-tui"])


@pytest.mark.long
async def test_a_page_can_be_opened_with_keys_alone() -> None:
    app = DocsApp(DOCS)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("slash", *"glossary")
        await pilot.press("enter")
        await until(pilot, lambda: titles(app) == ["Glossary"])


async def test_a_web_link_opens_in_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    app = DocsApp(DOCS)
    monkeypatch.setattr(app, "open_url", opened.append)
    async with app.run_test() as pilot:
        document = app.query_one(Markdown)
        document.post_message(
            Markdown.LinkClicked(document, "https://github.com/sierra-research/tau-bench")
        )
        await until(pilot, lambda: bool(opened))
    assert opened == ["https://github.com/sierra-research/tau-bench"]


def test_without_a_terminal_a_page_is_printed_as_markdown() -> None:
    printed = call("docs", "scoring")
    assert printed.output == (DOCS / "scoring.md").read_text(encoding="utf-8")


def test_a_misspelt_page_suggests_the_nearest() -> None:
    refused = call("docs", "scorng")
    assert str(refused.exception) == "there is no page called scorng; did you mean scoring?"


def test_the_home_page_links_to_every_page() -> None:
    linked = set(re.findall(r"\(([\w-]+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert linked == {path.name for path in DOCS.glob("*.md")} - {"index.md"}


def test_every_link_in_the_readme_has_a_target() -> None:
    root = Path(__file__).parents[2]
    links = re.findall(
        r"\]\(([^)#:]+)(?:#[\w-]*)?\)", (root / "README.md").read_text(encoding="utf-8")
    )
    assert [link for link in links if not (root / link).exists()] == []


async def test_words_are_found_in_the_text_of_pages_and_the_section_is_shown() -> None:
    app = DocsApp(DOCS)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("slash", *"if nothing else")
        hits = await palette_hits(app, pilot)
        assert hits, "these words are in no title"
    app = DocsApp(DOCS)
    async with app.run_test(size=(120, 40)) as pilot:
        await app.pages.go_to_section("screens.md", 4)
        await until(pilot, lambda: titles(app) == ["Screens and keys"])
        await until(pilot, lambda: app.pages.scroll_y > 0)


async def test_links_are_followed_by_keys() -> None:
    app = DocsApp(DOCS)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"screens.md")
        await palette_hits(app, pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: titles(app) == ["Screens and keys"])


async def test_ctrl_c_leaves_the_docs_and_g_goes_to_the_top() -> None:
    app = DocsApp(DOCS)
    async with app.run_test(size=(120, 40)) as pilot:
        await app.pages.go("screens.md")
        await pilot.press("G")
        await until(pilot, lambda: app.pages.scroll_y > 0)
        await pilot.press("g", "g")
        await until(pilot, lambda: app.pages.scroll_y == 0)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app._exit)


async def palette_hits(app: DocsApp, pilot: Pilot[None]) -> int:
    """Wait until the palette lists something; return how much."""
    await until(pilot, lambda: bool(app.screen.query_one(CommandList).option_count))
    return app.screen.query_one(CommandList).option_count
