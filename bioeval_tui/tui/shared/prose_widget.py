"""A Markdown description: HTML is literal, and links show their address but are not clickable."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.theme import Theme
from textual.widgets import Static

from bioeval_tui.tui.live.transcript.markdown import TranscriptMarkdown

MAX_TEXT = 20_000
"""Longer descriptions are cut, because laying out a longer page takes noticeable time."""

_PLAIN = ("paragraph", "text", "list", "item")


class _Page(TranscriptMarkdown):
    """Markdown in which a line break counts as a space, because text files wrap their lines."""

    def __init__(self, source: str, theme: Theme) -> None:
        super().__init__(source)
        self._theme = theme
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "hardbreak":
                    child.type = "softbreak"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(self._theme):
            # A list: styles are looked up while this runs, and the theme goes when it ends.
            segments: list[Segment] = []
            for part in super().__rich_console__(console, options):
                segments += [part] if isinstance(part, Segment) else console.render(part, options)
        yield from segments


class Prose(Static):
    """Shows one text."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prose--heading", "prose--code", "prose--rule", "prose--link"}
    DEFAULT_CSS = """
    Prose {
        height: auto;
        & > .prose--heading { text-style: bold; }
        & > .prose--code { color: $text-accent; }
        & > .prose--rule { color: $quiet; }
        & > .prose--link { color: $text-primary; text-style: underline; }
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._text = ""

    def on_mount(self) -> None:
        """Follow the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._draw())

    def show(self, text: str) -> None:
        """Show a text."""
        if text != self._text:
            self._text = text
            self._draw()

    def _draw(self) -> None:
        text = self._text
        if len(text) > MAX_TEXT:
            text = (
                text[:MAX_TEXT].rpartition("\n\n")[0]
                + f"\n\n*Truncated: {len(self._text):,} characters in total.*"
            )
        self.update(_Page(text, Theme(self._styles_by_name(), inherit=False)) if text else "")

    def _styles_by_name(self) -> dict[str, Style]:
        heading, code, rule, link = (
            Style(color=style.color, bold=style.bold, underline=style.underline)
            for style in map(
                self.get_component_rich_style, ("prose--heading", "prose--code", "prose--rule", "prose--link")
            )
        )
        bold = Style(bold=True)
        return {
            "none": Style(),
            "rule.line": rule,
            **{f"markdown.{name}": Style() for name in _PLAIN},
            "markdown.em": Style(italic=True),
            "markdown.strong": bold,
            "markdown.s": Style(strike=True),
            "markdown.a": link,
            "markdown.link": link,
            "markdown.link_url": link,
            "markdown.code": code,
            "markdown.code_block": code,
            "markdown.block_quote": Style(italic=True),
            "markdown.item.bullet": rule,
            "markdown.item.number": rule,
            "markdown.hr": rule,
            "markdown.table.border": rule,
            "markdown.table.header": bold,
            **{f"markdown.h{level}": heading for level in range(1, 7)},
        }
