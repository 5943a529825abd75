"""The blocks of a message on screen, in order, built from its state.

Plain Python without widths or colours. A block caches its painted lines and its height; `built` reuses
blocks that did not change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bioeval_tui.record.state import MessageState
from bioeval_tui.tui.live.transcript.chunks import Chunk, cut

if TYPE_CHECKING:
    from textual.strip import Strip

BlockKind = Literal[
    "markdown", "code", "plain-code", "note", "detail", "detail-code", "waiting", "parting", "gap"
]


class Fold(NamedTuple):
    """What can be opened: the kind of thing, the message it belongs to (0 is the conversation), and which."""

    kind: str
    message: int
    which: int


class Mark(NamedTuple):
    """A short text at the right edge, and the style that it is drawn in."""

    text: str
    style: str
    optional: bool = False
    """Whether it is omitted if it does not fit beside the text; other marks get their own line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One painted line. `strip` is as wide as the widget; `text` the words in it, which start after `before` characters."""

    strip: Strip
    text: str
    before: int
    timer: bool = False
    parts: tuple[object, ...] = ()
    """What it was made of: equal parts make the same line."""


@dataclass(eq=False, slots=True)
class Block:
    """A group of lines that is painted together.

    `role` is set on the first block of a message and gives its speaker a colour; `side`, on every block of it, tints the gutter. `style` and `sign` are
    of notes. `marks` stand at the right; `timer` says that a running time stands there. `live` text is
    still being written. `fold` is what enter opens; `opened` whether it is.
    """

    kind: BlockKind
    text: str = ""
    language: str = ""
    speaker: str = ""
    role: str = ""
    side: str = ""
    sign: str = ""
    style: str = ""
    marks: tuple[Mark, ...] = ()
    timer: bool = False
    live: bool = False
    fold: Fold | None = None
    opened: bool = False
    chunk: Chunk | None = None
    height: int = 1
    lines: list[Line] | None = field(default=None, repr=False)
    before: list[Line] | None = field(default=None, repr=False)
    """The previously painted lines, which are reused if they did not change."""
    found: Any = field(default=None, repr=False)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Equal signatures paint the same lines."""
        return (
            self.kind,
            self.chunk or self.text,
            self.language,
            self.speaker,
            self.role,
            self.side,
            self.sign,
            self.style,
            self.marks,
            self.timer,
            self.live,
            self.fold,
            self.opened,
        )


class Item:
    """One message, or what comes before or after the messages, with its blocks once they are needed."""

    __slots__ = ("blocks", "chunks", "count", "message", "text")

    def __init__(self, message: MessageState | None) -> None:
        self.message = message
        self.blocks: list[Block] | None = None
        self.chunks: list[Chunk] = []
        self.text = ""
        self.count = 0

    @property
    def height(self) -> int:
        """Lines, as known so far. Only of an item with blocks."""
        return sum(block.height for block in self.blocks or ())

    def recut(self, text: str) -> list[Chunk]:
        """Return the chunks of the message's text, cutting only what is new since the last time."""
        if text != self.text or not self.chunks:
            grows = bool(self.text) and text.startswith(self.text)
            self.chunks = cut(text, self.chunks if grows else None)
            self.text = text
        return self.chunks

    def rebuild(self, fresh: list[Block]) -> int | None:
        """Replace the blocks, but keep old ones that would look the same; return the first changed one, if any."""
        before = self.blocks or []
        old = {block.signature: block for block in before}
        self.blocks = [old.get(block.signature, block) for block in fresh]
        for was, block in zip(before, self.blocks, strict=False):
            if was is not block and block.lines is None:
                block.before = was.lines or was.before
        pairs = enumerate(zip_longest(before, self.blocks))
        return next((number for number, (one, other) in pairs if one is not other), None)
