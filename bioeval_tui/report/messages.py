"""The Markdown of messages, parsed in the same way for screens and reports, and as blocks of text
in a few styles.

Nothing in it acts: no HTML, links or attributes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bioeval_tui.base.peer_limits import MAX_TEXT
from bioeval_tui.base.text import clean, clean_line

if TYPE_CHECKING:
    from bioeval_tui.report.result import Quotation  # screens need no result for it

MAX_NESTING = 12
"""The parser leaves out what is nested deeper; a text with deeper quotations or lists is shown as
it was written.
"""

MAX_MARKDOWN = 10_000
"""The parser needs up to 20 µs a character: what stands beyond these is shown as it was written."""

MAX_BRACKETS = 1_000
"""For each opening bracket the parser looks through the rest: a text with more is shown as it was
written.
"""

MAX_PATTERN = 500
"""The most characters that are searched for, unless a caller gives another limit."""

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

    Lines break where the text breaks, as people write in chats. Links and images are their text,
    address and title.
    """
    read = len(source)
    if read > MAX_MARKDOWN:
        read = source.rfind("\n", 0, MAX_MARKDOWN) + 1 or MAX_MARKDOWN
    marked, rest = source[:read], source[read:]
    tokens = [] if marked.count("[") > MAX_BRACKETS else _PARSER.parse(marked)
    if not tokens or any(
        token.level >= MAX_NESTING - 1 and token.type in _CONTAINERS for token in tokens
    ):
        tokens = _paragraph(marked)
    _add_cells(tokens, _LINE_END.split(marked))
    tokens += _paragraph(rest)
    for token in tokens:
        if token.children:
            token.children = list(_literal(token.children))
    return tokens


def _paragraph(source: str) -> list[Token]:
    """Return one paragraph that shows each character of a text."""
    if not source.strip():
        return []
    inline = Token("inline", "", 0, content=source, children=[_text(clean(source.strip("\r\n")))])
    return [Token("paragraph_open", "p", 1), inline, Token("paragraph_close", "p", -1)]


_CONTAINERS = ("blockquote_open", "list_item_open")


def _add_cells(tokens: Iterable[Token], lines: Sequence[str]) -> None:
    """Add to the last cell of a row those beyond the table's heading, which the parser leaves
    out.
    """
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
                last.children += [
                    _text(f" | {cell.strip()}") for cell in cells[columns:] if cell.strip()
                ]


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
                yield _text(
                    f"[image: {clean_line(token.content) or 'no text'}] ({_address(token, 'src')})"
                )
            case _:
                # An entity such as &#x202e; becomes a character only here, after the source was
                # cleaned.
                token.content = clean(token.content)
                shown += token.content
                yield token


def _address(token: Token, name: str) -> str:
    return clean_line(
        " ".join(str(token.attrs[key]) for key in (name, "title") if token.attrs.get(key))
    )


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def passage_pattern(words: str, limit: int = MAX_PATTERN) -> re.Pattern[str] | None:
    """Return a pattern for `words`, ignoring case, or None if they contain nothing to search for.

    Any white space, line end or Markdown mark may stand between two words, so that the same pattern
    finds a passage in the source and in its rendered, wrapped form. The words themselves are taken
    literally.
    """
    words = words[:limit].strip()
    parts = _GAP.split(words.strip(f"{_MARKS} \t\n"))
    if parts == [""]:
        if words:
            return re.compile(re.escape(words))
        return None
    # Of marks without white space, as in `(major)**:`, nothing is shown.
    repeats = ("+" if _SPACE.search(gap) else "*" for gap in parts[1::2])
    gaps = [rf"[\s{_MARKS}]{repeat}" for repeat in repeats]
    pieces = zip_longest(map(re.escape, parts[::2]), gaps, fillvalue="")
    return re.compile("".join(chain.from_iterable(pieces)), re.IGNORECASE)


TextStyle = Literal["strong", "em", "s", "code"]
Align = Literal["left", "center", "right"]
BlockName = Literal[
    "paragraph",
    "heading",
    "code",
    "rule",
    "quote",
    "list",
    "numbers",
    "item",
    "table",
    "row",
    "head",
    "cell",
]

_EMPHASIS: dict[str, TextStyle] = {"strong": "strong", "em": "em", "s": "s"}
_LEAVES: dict[str, BlockName] = {
    "paragraph_open": "paragraph", "heading_open": "heading", "th_open": "head", "td_open": "cell",
}  # fmt: skip
_GROUPS: dict[str, BlockName] = {
    "blockquote": "quote", "bullet_list": "list", "ordered_list": "numbers", "list_item": "item",
    "table": "table",
    "tr": "row",
}  # fmt: skip


_ALIGNED: dict[object, Align] = {"text-align:center": "center", "text-align:right": "right"}


@dataclass(frozen=True, slots=True)
class StyledText:
    """Text in one style, its lines separated by newlines; `evidence` names the tasks for which the
    judge quoted it.
    """

    text: str
    styles: tuple[TextStyle, ...] = ()
    """The outermost first."""
    evidence: tuple[int, ...] = ()


Texts = tuple[StyledText, ...]


@dataclass(frozen=True, slots=True)
class MessageBlock:
    """A block with texts, or with other blocks."""

    name: BlockName
    texts: Texts = ()
    blocks: tuple[MessageBlock, ...] = ()
    start: int = 1
    """The number of the first item of a numbered list."""
    align: Align = "left"
    """Of a cell of a table."""
    language: str = ""
    """What code says that it is written in."""


def message_blocks(text: str, quotations: Sequence[Quotation] = ()) -> tuple[MessageBlock, ...]:
    """Return the blocks of a message; of each quotation, the first place where it is shown is
    marked as evidence.
    """
    tokens = parsed(text)
    texts = _evidence_marked(list(_all_texts(tokens)), quotations)
    return tuple(_blocks(iter(tokens), iter(texts)))


def plain(text: str) -> str:
    """Return a text as it reads without its Markdown, on one line."""
    return " ".join(" ".join(map(_joined, _all_texts(parsed(text)))).split())


def _blocks(tokens: Iterator[Token], texts: Iterator[Texts]) -> Iterator[MessageBlock]:
    """Yield the blocks up to the end of the one that they are in; the parser limits how deep they
    are.
    """
    for token in tokens:
        kind, _, edge = token.type.rpartition("_")
        if token.type in _LEAVES:
            align = _ALIGNED.get(token.attrs.get("style"), "left")
            yield MessageBlock(_LEAVES[token.type], next(texts), align=align)
        elif token.type in ("fence", "code_block"):
            yield MessageBlock("code", next(texts), language=clean_line(token.info))
        elif token.type == "hr":
            yield MessageBlock("rule")
        elif kind in _GROUPS and edge == "close":
            return
        elif kind in _GROUPS:
            inner = tuple(_blocks(tokens, texts))
            if kind == "tr":  # the parser adds up to 65,536 cells that nobody wrote
                inner = inner[
                    : max((n for n, cell in enumerate(inner, 1) if cell.texts), default=1)
                ]
            yield MessageBlock(_GROUPS[kind], blocks=inner, start=int(token.attrs.get("start", 1)))


def _all_texts(tokens: Iterable[Token]) -> Iterator[Texts]:
    """Yield the texts of each block that has any, in order."""
    for token in tokens:
        if token.type == "inline":
            yield _texts(token.children or ())
        elif token.type in ("fence", "code_block"):
            yield (StyledText(clean(token.content.removesuffix("\n"))),)


def _texts(tokens: Iterable[Token]) -> Texts:
    """Return one text for each change of style.

    Emphasis within the same emphasis changes nothing.
    """
    texts: list[StyledText] = []
    depth: dict[TextStyle, int] = {}
    for token in tokens:
        if style := _EMPHASIS.get(token.tag):
            depth[style] = depth.get(style, 0) + token.nesting
            if not depth[style]:
                del depth[style]
        styles: tuple[TextStyle, ...] = (
            (*depth, "code") if token.type == "code_inline" else tuple(depth)
        )
        texts.append(StyledText("\n" if token.type == "hardbreak" else token.content, styles))
    groups = groupby((one for one in texts if one.text), attrgetter("styles"))
    return tuple(StyledText(_joined(alike), styles) for styles, alike in groups)


def _joined(texts: Iterable[StyledText]) -> str:
    return "".join(one.text for one in texts)


def _evidence_marked(blocks: list[Texts], quotations: Sequence[Quotation]) -> Iterable[Texts]:
    """Yield the blocks with their texts cut where quotations begin and end; each piece has the
    numbers of the tasks whose quotations it is part of as `evidence`.
    """
    whole = "\n".join(map(_joined, blocks))
    quoted: list[tuple[int, int, int]] = []
    """Where each quotation that is found begins and ends in the whole text, and its task."""
    for quotation in quotations:
        pattern = passage_pattern(plain(quotation.text), MAX_TEXT)
        if pattern and (match := pattern.search(whole)):
            quoted.append((match.start(), match.end(), quotation.task))
    cuts = sorted({*(first for first, _, _ in quoted), *(last for _, last, _ in quoted)})
    at = 0
    for texts in blocks:
        found: list[StyledText] = []
        for one in texts:
            end = at + len(one.text)
            between = cuts[bisect_right(cuts, at) : bisect_left(cuts, end)]
            for start, stop in pairwise([at, *between, end]):
                tasks = {task for first, last, task in quoted if first <= start and stop <= last}
                text = one.text[start - at : stop - at]
                found.append(replace(one, text=text, evidence=tuple(sorted(tasks))))
            at = end
        yield tuple(found)
        at += 1  # the newline between two blocks
