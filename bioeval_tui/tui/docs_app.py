"""The documentation in the terminal: the Markdown pages that come with the program, with their
links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise, takewhile
from pathlib import Path, PurePath
from typing import ClassVar, NamedTuple, cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import Footer, MarkdownViewer

from bioeval_tui.tui.shared.terminal_app import TerminalApp
from bioeval_tui.tui.shared.themes import THEMES

IN_PAGE_TITLE, IN_HEADING, IN_TEXT = 3.0, 2.0, 1.0
"""The scores by which what is found is sorted: a page about the words before a section about them,
and this before one that only has them.
"""


class Pages(MarkdownViewer):
    """Shows the pages of one folder, and opens every other address in the browser."""

    def __init__(self, folder: Path) -> None:
        super().__init__(open_links=False)
        self.folder = folder

    @property
    def page(self) -> Path | None:
        """The page that is shown."""
        if self.navigator.location.suffix == ".md":
            return self.navigator.location
        return None

    async def go_to_section(self, page: str, at: int) -> None:
        """Go to a page, and there to one of its headings, counted from 0."""
        await self.go(page)
        if at:
            self.call_after_refresh(self._go_to_section, at)

    def _go_to_section(self, at: int) -> None:
        headings = self.document.table_of_contents
        if at < len(headings):
            self.scroll_to_widget(
                self.document.query_one(f"#{headings[at][2]}"), top=True, animate=False
            )

    async def go(self, location: str | PurePath) -> None:
        """Go to a page, to a heading (`#heading`, `page.md#heading`), or to an address on the
        web.
        """
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
        # Textual computes the table of contents when it is read, and `goto_anchor` does not read
        # it.
        if self.document.table_of_contents:
            self.document.goto_anchor(heading)


class Section(NamedTuple):
    """A heading of a page, and what stands below it; `at` counts the page's headings from 0."""

    page: str
    at: int
    title: str
    lines: Sequence[str]


@cache
def sections(path: Path) -> Sequence[Section]:
    """Return the sections of a page; the first one has its title."""
    text = path.read_text(encoding="utf-8")
    lines, tokens = text.splitlines(), MarkdownIt("gfm-like").parse(text)
    heads = [
        ((token.map or (0,))[0], words.content.replace("`", ""))
        for token, words in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    ends = [*(start for start, _ in heads[1:]), len(lines)]
    return [
        Section(path.name, at, title, lines[start:end])
        for at, ((start, title), end) in enumerate(zip(heads, ends, strict=True))
    ]


def links(path: Path) -> Sequence[tuple[str, str]]:
    """Return the links of a page in their order, each once: its words and where it goes."""
    found: dict[str, str] = {}
    for token in MarkdownIt("gfm-like").parse(path.read_text(encoding="utf-8")):
        inside = token.children or ()
        for at, one in enumerate(inside):
            if one.type == "link_open":
                words = "".join(
                    child.content for child in takewhile(_is_inside_link, inside[at + 1 :])
                )
                found.setdefault(str(one.attrs.get("href", "")), words)
    return [(words or address, address) for address, words in found.items()]


def _is_inside_link(token: Token) -> bool:
    return token.type != "link_close"


class FindInPages(Provider):
    """Finds a page by its title, then every section with all the words."""

    async def discover(self) -> Hits:
        """Offer every page."""
        for path in self._docs.paths:
            first = sections(path)[0]
            yield DiscoveryHit(first.title, partial(self._docs.pages.go, path.name), help=path.name)

    async def search(self, query: str) -> Hits:
        """Find the words in titles, then in the text; case does not matter."""
        words = query.casefold().split()
        for path in self._docs.paths:
            title = sections(path)[0].title
            for section in sections(path):
                in_title = all(word in section.title.casefold() for word in words)
                line = _best_line(section.lines, words)
                if not (in_title or line):
                    continue
                is_page_title = section.at == 0
                name = title if is_page_title else f"{title} › {section.title}"
                if not in_title:
                    score = IN_TEXT
                elif is_page_title:
                    score = IN_PAGE_TITLE
                else:
                    score = IN_HEADING
                go = partial(self._docs.pages.go_to_section, path.name, section.at)
                yield Hit(score, Content(name), go, text=name, help=line or path.name)

    @property
    def _docs(self) -> DocsApp:
        return cast("DocsApp", self.app)


def _best_line(lines: Sequence[str], words: Sequence[str]) -> str:
    """Return the line with most of the words if the lines have all of them, else nothing."""
    text = "\n".join(lines).casefold()
    if not all(word in text for word in words):
        return ""
    return max(lines, key=lambda line: sum(word in line.casefold() for word in words)).strip()


class LinksOfPage(Provider):
    """The links of the page that is shown."""

    async def discover(self) -> Hits:
        """Offer all, in their order."""
        for words, address in self._links:
            yield DiscoveryHit(words, partial(self._docs.pages.go, address), help=address)

    async def search(self, query: str) -> Hits:
        """Find those with these letters in their words or their address."""
        wanted = query.casefold()
        for words, address in self._links:
            if wanted in f"{words} {address}".casefold():
                go = partial(self._docs.pages.go, address)
                yield Hit(1.0, Content(words), go, text=words, help=address)

    @property
    def _links(self) -> Sequence[tuple[str, str]]:
        page = self._docs.pages.page
        if page is None:
            return ()
        return links(page)

    @property
    def _docs(self) -> DocsApp:
        return cast("DocsApp", self.app)


class DocsApp(TerminalApp[None]):
    """Reads the documentation: `folder` has the pages, `page` is the first one to show."""

    TITLE = "bioeval-tui docs"
    CSS = "MarkdownTableOfContents { max-width: 33%; }"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {FindInPages}
    COMMAND_PALETTE_BINDING = "slash"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "command_palette", "find"),
        Binding("l", "links", "links"),
        Binding("backspace", "back", "back"),
        Binding("f", "forward", "forward"),
        Binding("h", "home", "home"),
        Binding("t", "contents", "contents"),
        Binding("g", "top", "top", show=False),
        Binding("G", "bottom", "bottom", show=False),
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
        return self.screen_stack[0].query_one(Pages)

    @property
    def paths(self) -> Sequence[Path]:
        """Every page."""
        return sorted(self.folder.glob("*.md"))

    def action_command_palette(self) -> None:
        """Find words in all pages."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(
                CommandPalette(placeholder="Find words in all pages", id="--command-palette")
            )

    def action_links(self) -> None:
        """List the links of this page; enter follows one."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(
                CommandPalette(
                    [LinksOfPage], placeholder="Follow a link of this page", id="--command-palette"
                )
            )

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

    def action_top(self) -> None:
        """Go to the beginning of the page."""
        self.pages.scroll_home(animate=False)

    def action_bottom(self) -> None:
        """Go to the end of the page."""
        self.pages.scroll_end(animate=False)

    async def action_interrupt(self) -> None:
        """Send the selected text to the terminal; without a selection, leave."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.notify("Sent the selected text to the terminal")
        else:
            self.exit()
