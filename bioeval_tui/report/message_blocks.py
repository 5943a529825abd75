"""A message as blocks of text in a few styles, for documents: without markup, links or attributes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Literal

from markdown_it.token import Token

from bioeval_tui.markdown import parsed, pattern_of
from bioeval_tui.peer_limits import MAX_TEXT
from bioeval_tui.report.result import Quotation
from bioeval_tui.text import clean, clean_line

TextStyle = Literal["strong", "em", "s", "code"]
Align = Literal["left", "center", "right"]
BlockName = Literal[
    "paragraph", "heading", "code", "rule", "quote", "list", "numbers", "item", "table", "row", "head", "cell"
]

_EMPHASIS: dict[str, TextStyle] = {"strong": "strong", "em": "em", "s": "s"}
_LEAVES: dict[str, BlockName] = {
    "paragraph_open": "paragraph", "heading_open": "heading", "th_open": "head", "td_open": "cell",
}  # fmt: skip
_GROUPS: dict[str, BlockName] = {
    "blockquote": "quote", "bullet_list": "list", "ordered_list": "numbers", "list_item": "item", "table": "table",
    "tr": "row",
}  # fmt: skip


_ALIGNED: dict[object, Align] = {"text-align:center": "center", "text-align:right": "right"}


@dataclass(frozen=True, slots=True)
class StyledText:
    """Text in one style, its lines separated by newlines; `evidence` names the tasks for which the judge quoted it."""

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
    """Return the blocks of a message; of each quotation, the first place where it is shown is marked as evidence."""
    tokens = parsed(text)
    texts = _with_evidence(list(_all_texts(tokens)), quotations)
    return tuple(_blocks(iter(tokens), iter(texts)))


def plain(text: str) -> str:
    """Return a text as it reads without its Markdown, on one line."""
    return " ".join(" ".join(map(_joined, _all_texts(parsed(text)))).split())


def _blocks(tokens: Iterator[Token], texts: Iterator[Texts]) -> Iterator[MessageBlock]:
    """Yield the blocks up to the end of the one that they are in; the parser limits how deep they are."""
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
                inner = inner[: max((n for n, cell in enumerate(inner, 1) if cell.texts), default=1)]
            yield MessageBlock(_GROUPS[kind], blocks=inner, start=int(token.attrs.get("start", 1)))


def _all_texts(tokens: Iterable[Token]) -> Iterator[Texts]:
    """Yield the texts of each block that has any, in order."""
    for token in tokens:
        if token.type == "inline":
            yield _texts(token.children or ())
        elif token.type in ("fence", "code_block"):
            yield (StyledText(clean(token.content.removesuffix("\n"))),)


def _texts(tokens: Iterable[Token]) -> Texts:
    """Return one text for each change of style. Emphasis within the same emphasis changes nothing."""
    texts: list[StyledText] = []
    depth: dict[TextStyle, int] = {}
    for token in tokens:
        if style := _EMPHASIS.get(token.tag):
            depth[style] = depth.get(style, 0) + token.nesting
            if not depth[style]:
                del depth[style]
        styles: tuple[TextStyle, ...] = (*depth, "code") if token.type == "code_inline" else tuple(depth)
        texts.append(StyledText("\n" if token.type == "hardbreak" else token.content, styles))
    groups = groupby((one for one in texts if one.text), attrgetter("styles"))
    return tuple(StyledText(_joined(alike), styles) for styles, alike in groups)


def _joined(texts: Iterable[StyledText]) -> str:
    return "".join(one.text for one in texts)


def _with_evidence(blocks: list[Texts], quotations: Sequence[Quotation]) -> Iterable[Texts]:
    """Cut the texts where quotations begin and end."""
    whole = "\n".join(map(_joined, blocks))
    marks = [
        (*match.span(), quotation.task)
        for quotation in quotations
        if (pattern := pattern_of(plain(quotation.text), MAX_TEXT)) and (match := pattern.search(whole))
    ]
    cuts = sorted({at for mark in marks for at in mark[:2]})
    at = 0
    for texts in blocks:
        found: list[StyledText] = []
        for one in texts:
            end = at + len(one.text)
            between = cuts[bisect_right(cuts, at) : bisect_left(cuts, end)]
            for start, stop in pairwise([at, *between, end]):
                tasks = {task for first, last, task in marks if first <= start and stop <= last}
                text = one.text[start - at : stop - at]
                found.append(replace(one, text=text, evidence=tuple(sorted(tasks))))
            at = end
        yield tuple(found)
        at += 1  # the newline between two blocks
