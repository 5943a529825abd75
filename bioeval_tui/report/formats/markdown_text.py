"""Untrusted text in Markdown documents: escaped, or, of messages, with their own lists, tables, code and emphasis."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from bioeval_tui.report.message_blocks import MessageBlock, StyledText, message_blocks

_ESCAPED = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]|~$#!"}
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "<span>@</span>"}
)
_STARTS = re.compile(r"^([-+=](?!\d)|\d+(?=[.)](?:\s|$)))")
_EMPHASIS = {"strong": "**", "em": "*", "s": "~~", "": ""}
_TICKS = re.compile("`+")
_RULES = {"left": "---", "center": ":-:", "right": "--:"}


def escape(text: object) -> str:
    """Return `text` on one line with everything that Markdown or HTML would act on made literal.

    Addresses stay text too: a slash of `//` and the dot after `www` are written as entities. An `@` becomes an HTML
    element, because GitHub links addresses and notifies people even after entities and backslashes.
    """
    return _escaped_start(_literal(" ".join(str(text).split())))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], rules: Iterable[str] = ()) -> list[str]:
    """Return the lines of a table; the cells are escaped already."""
    return [
        "| " + " | ".join(head) + " |",
        "|" + "|".join(rules or ["---"] * len(head)) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def message_lines(label: str, text: str) -> list[str]:
    """Return the lines of a message: one with its label, or the label and a quotation, so that it never looks like two."""
    blocks = message_blocks(text)
    lines = list(_lines(blocks))
    if len(lines) < 2 and all(block.name in ("paragraph", "heading") for block in blocks):
        return [" ".join([label, *lines])]
    return [label, "", *(f"> {line}".rstrip() for line in lines)]


def _lines(blocks: Sequence[MessageBlock], *, dense: bool = False) -> Iterator[str]:
    """Yield the lines of blocks, with an empty one between two; none before a list if they are `dense`."""
    for number, block in enumerate(blocks):
        if number and not (
            dense and (block.name == "list" or (block.name == "numbers" and block.start == 1))
        ):
            yield ""
        yield from _block_lines(block)


def _block_lines(block: MessageBlock) -> Iterator[str]:
    match block.name:
        case "heading":
            yield from _text_lines([replace(text, styles=("strong", *text.styles)) for text in block.texts])
        case "code":
            code = "".join(text.text for text in block.texts)
            fence = _fence(code, 3)
            # No language: GitHub draws pictures of some.
            yield from (fence, *code.split("\n"), fence)
        case "rule":
            yield "***"
        case "quote":
            yield from (f"> {line}".rstrip() for line in _lines(block.blocks))
        case "list" | "numbers":
            for number, item in enumerate(block.blocks, block.start):
                mark = f"{number}. " if block.name == "numbers" else "- "
                for place, line in enumerate(_lines(item.blocks, dense=True)):
                    yield f"{' ' * len(mark) if place else mark}{line}".rstrip()
        case "table":
            head, *rows = block.blocks
            rules = [_RULES[cell.align] for cell in head.blocks]
            yield from table(_cells(head), map(_cells, rows), rules)
        case _:
            yield from _text_lines(block.texts)


def _cells(row: MessageBlock) -> list[str]:
    return [_styled(cell.texts, in_table=True) for cell in row.blocks]


def _text_lines(texts: Sequence[StyledText]) -> Iterator[str]:
    lines = [_escaped_start(line.strip()) for line in _styled(texts).split("\n") if line.strip()]
    yield from (f"{line}\\" for line in lines[:-1])
    yield from lines[-1:]


def _styled(texts: Sequence[StyledText], *, in_table: bool = False) -> str:
    """Return texts on their lines. Of emphasis within other emphasis, only the outer is kept."""
    found = ""
    for outer, group in groupby(texts, lambda text: next((s for s in text.styles if s != "code"), "")):
        inner = "".join(
            _code(text.text, in_table) if "code" in text.styles else _literal(text.text) for text in group
        )
        kept, mark = inner.strip(), _EMPHASIS[outer]
        found += inner.replace(kept, f"{mark}{kept}{mark}", 1) if kept else inner
    return found


def _code(text: str, in_table: bool) -> str:
    ticks = _fence(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return ticks + pad + (text.replace("|", "\\|") if in_table else text) + pad + ticks


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(text)), default=0))


def _literal(text: str) -> str:
    return text.translate(_ESCAPED).replace("//", "&#47;/").replace("www.", "www&#46;")


def _escaped_start(line: str) -> str:
    """Return an escaped line so that it does not start a list, nor underlines a heading."""
    return _STARTS.sub(lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", line)
