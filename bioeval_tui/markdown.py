"""The Markdown of messages, parsed in the same way for screens and reports. Nothing in it acts: no HTML, no links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bioeval_tui.text import clean, clean_line

MAX_NESTING = 12
"""The parser leaves out what is nested deeper; a text with deeper quotations or lists is shown as it was written."""

MAX_MARKDOWN = 10_000
"""The parser needs up to 20 µs a character: what stands beyond these is shown as it was written."""

MAX_BRACKETS = 1_000
"""For each opening bracket the parser looks through the rest: a text with more is shown as it was written."""

MAX_PATTERN = 500

# Without "reference", which takes lines such as `[1]: https://…` out of the text.
_PARSER = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    .enable(["strikethrough", "table"])
    .disable("reference")
)

_MARKS = "*_`~#>|▌│•"
_GAP = re.compile(rf"([\s{_MARKS}]+)")
_PIPE = re.compile(r"(?<!\\)\|")
_SPACE = re.compile(r"\s")
_LINE_END = re.compile(r"\r\n?|\n")


def parsed(source: str) -> list[Token]:
    """Return the tokens of a text.

    Lines break where the text breaks, as people write in chats. Links and images are their text, address and title.
    """
    read = len(source)
    if read > MAX_MARKDOWN:
        read = source.rfind("\n", 0, MAX_MARKDOWN) + 1 or MAX_MARKDOWN
    marked, rest = source[:read], source[read:]
    tokens = [] if marked.count("[") > MAX_BRACKETS else _PARSER.parse(marked)
    if not tokens or any(token.level >= MAX_NESTING - 1 and token.type in _CONTAINERS for token in tokens):
        tokens = _as_written(marked)
    _add_cells(tokens, _LINE_END.split(marked))
    tokens += _as_written(rest)
    for token in tokens:
        if token.children:
            token.children = list(_literal(token.children))
    return tokens


def _as_written(source: str) -> list[Token]:
    """Return one paragraph that shows each character of a text."""
    if not source.strip():
        return []
    inline = Token("inline", "", 0, content=source, children=[_text(clean(source.strip("\r\n")))])
    return [Token("paragraph_open", "p", 1), inline, Token("paragraph_close", "p", -1)]


_CONTAINERS = ("blockquote_open", "list_item_open")


def _add_cells(tokens: Iterable[Token], lines: Sequence[str]) -> None:
    """Add to the last cell of a row those beyond the table's heading, which the parser leaves out."""
    columns, line, last = 0, "", None
    for token in tokens:
        match token.type:
            case "thead_open":
                columns = 0
            case "th_open":
                columns += 1
            case "tr_open" if token.map:
                line = lines[token.map[0]]
            case "inline":
                last = token
            case "tr_close" if last is not None and last.children is not None:
                cells = _PIPE.split(line.strip("> \t").removeprefix("|").removesuffix("|"))
                last.children += [_text(f" | {cell.strip()}") for cell in cells[columns:] if cell.strip()]


def _literal(tokens: Iterable[Token]) -> Iterable[Token]:
    """Rewrite inline tokens: soft breaks to breaks, links and images to their text and address."""
    target = ""
    shown = ""
    for token in tokens:
        match token.type:
            case "softbreak":
                yield Token("hardbreak", "br", 0)
            case "link_open":
                target, shown = _address(token, "href"), ""
                yield Token("address_open", "a", 1)
            case "link_close":
                yield Token("address_close", "a", -1)
                if target and target not in (shown, f"mailto:{shown}"):
                    yield _text(f" ({target})")
            case "image":
                yield _text(f"[image: {clean_line(token.content) or 'no text'}] ({_address(token, 'src')})")
            case _:
                # An entity such as &#x202e; becomes a character only here, after the source was cleaned.
                token.content = clean(token.content)
                shown += token.content
                yield token


def _address(token: Token, name: str) -> str:
    return clean_line(" ".join(str(token.attrs[key]) for key in (name, "title") if token.attrs.get(key)))


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def pattern_of(words: str, limit: int = MAX_PATTERN) -> re.Pattern[str] | None:
    """Return a pattern for `words`, ignoring case, or None if they contain nothing to search for.

    Any white space, line end or Markdown mark may stand between two words, so that the same pattern finds
    a passage in the source and in its rendered, wrapped form. The words themselves are taken literally.
    """
    words = words[:limit].strip()
    parts = _GAP.split(words.strip(f"{_MARKS} \t\n"))
    if parts == [""]:
        return re.compile(re.escape(words)) if words else None
    # Of marks without white space, as in `(major)**:`, nothing is shown.
    gaps = [rf"[\s{_MARKS}]{'+' if _SPACE.search(gap) else '*'}" for gap in parts[1::2]]
    pieces = zip_longest(map(re.escape, parts[::2]), gaps, fillvalue="")
    return re.compile("".join(chain.from_iterable(pieces)), re.IGNORECASE)
