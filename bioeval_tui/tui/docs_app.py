"""The documentation in the terminal: the Markdown pages that come with the program, with their links."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path, PurePath
from typing import Any, ClassVar

from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, MarkdownViewer

from bioeval_tui.tui.shared.themes import THEMES


class Pages(MarkdownViewer):
    """Shows the pages of one folder, and opens every other address in the browser."""

    def __init__(self, folder: Path) -> None:
        super().__init__(open_links=False)
        self.folder = folder

    async def go(self, location: str | PurePath) -> None:
        """Go to a page, to a heading (`#heading`, `page.md#heading`), or to an address on the web."""
        target = str(location)
        if target.startswith(("https://", "http://")):
            self.app.open_url(target)
            return
        page, _, heading = target.partition("#")
        if page:
            await super().go(self.folder / page)
        if heading:
            self.call_after_refresh(self._go_to_heading, heading)  # the page must be laid out first
        self.document.focus(scroll_visible=False)

    def _go_to_heading(self, heading: str) -> None:
        # Textual computes the table of contents when it is read, and `goto_anchor` does not read it.
        if self.document.table_of_contents:
            self.document.goto_anchor(heading)


class DocsApp(App[None]):
    """Reads the documentation: `folder` has the pages, `page` is the first one to show."""

    TITLE = "bioeval-tui docs"
    CSS = "MarkdownTableOfContents { max-width: 33%; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "command_palette", "go to a page"),
        Binding("backspace", "back", "back"),
        Binding("f", "forward", "forward"),
        Binding("h", "home", "home"),
        Binding("t", "contents", "contents"),
        Binding("q,escape", "quit", "quit", key_display="q"),
    ]

    def __init__(self, folder: Path, page: str = "index.md") -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = "dark"
        self.folder, self.page = folder, page

    def compose(self) -> ComposeResult:
        """One page with its table of contents, above the keys."""
        yield Pages(self.folder)
        yield Footer(show_command_palette=False)

    async def on_mount(self) -> None:
        """Show the first page."""
        await self.pages.go(self.page)

    @property
    def pages(self) -> Pages:
        """The viewer."""
        return self.query_one(Pages)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The pages, for the command palette, because links need a mouse."""
        for path in sorted(self.folder.glob("*.md")):
            title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            yield SystemCommand(title, path.name, partial(self.pages.go, path.name))

    async def action_back(self) -> None:
        """Go back to the previous page."""
        await self.pages.back()

    async def action_forward(self) -> None:
        """Go forward again."""
        await self.pages.forward()

    async def action_home(self) -> None:
        """Go to the page that lists all others."""
        await self.pages.go("index.md")

    def action_contents(self) -> None:
        """Show or hide the table of contents."""
        self.pages.show_table_of_contents = not self.pages.show_table_of_contents
