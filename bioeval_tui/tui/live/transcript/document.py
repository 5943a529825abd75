"""A conversation as one tall page, of which only the visible lines are painted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bioeval_tui.record.events import AssertionChecked
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.tui.live.transcript.blocks import (
    Block,
    Choices,
    Fold,
    Item,
    Line,
    head_blocks,
    message_blocks,
    message_folds,
    tail_blocks,
    turned_checks,
)
from bioeval_tui.tui.live.transcript.paint import Painter


class Heights:
    """Heights in lines, one an item. Setting, appending, summing and finding take O(log n)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._values = list(heights)
        self._tree = [0, *self._values]
        for index in range(1, len(self._tree)):
            parent = index + (index & -index)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[index]

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    @property
    def total(self) -> int:
        """The sum of all heights."""
        return self.height_above(len(self._values))

    def append(self, height: int) -> None:
        """Add one item at the end."""
        self._values.append(height)
        index = len(self._values)
        low = index & -index
        self._tree.append(self.height_above(index - 1) - self.height_above(index - low) + height)

    def set(self, index: int, height: int) -> None:
        """Change the height of one item."""
        change = height - self._values[index]
        if not change:
            return
        self._values[index] = height
        index += 1
        while index < len(self._tree):
            self._tree[index] += change
            index += index & -index

    def height_above(self, index: int) -> int:
        """Return the sum of the heights of the items before `index`."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    def find(self, line: int) -> tuple[int, int]:
        """Return the item that contains `line` (from 0), and the line within it; past the end, the
        last item's last line.
        """
        if not self._values:
            return 0, 0
        if line >= self.total:
            return len(self._values) - 1, max(0, self._values[-1] - 1)
        index, step = 0, 1 << (len(self._values).bit_length())
        rest = max(0, line)
        while step:
            beyond = index + step
            if beyond < len(self._tree) and self._tree[beyond] <= rest:
                index = beyond
                rest -= self._tree[beyond]
            step >>= 1
        return index, rest


MAX_PAINTED = 400
"""Blocks whose painted lines are kept."""


class Spot(NamedTuple):
    """A line of the page: the item, the block in it and the line in that.

    Stays good while other items change.
    """

    item: int
    block: int
    line: int


class Document:
    """The items of a conversation (0 is everything before the messages) and their heights.

    Heights of items that were never looked at are estimates; `measure_*` paint and correct them.
    """

    def __init__(self) -> None:
        self.conversation: ConversationState | None = None
        self.choices = Choices()
        self.painter: Painter | None = None
        self.items: list[Item] = []
        self.numbers: dict[int, int] = {}
        self._heights = Heights()
        self._painted: OrderedDict[Block, None] = OrderedDict()
        self._ends = False

    @property
    def height(self) -> int:
        """Lines in all, as known so far."""
        return self._heights.total

    @property
    def pending(self) -> MessageState | None:
        """The message that is awaited or being written, if any."""
        conversation = self.conversation
        if (
            conversation is None
            or not conversation.messages
            or conversation.messages[-1].done
            or conversation.ended is not None
        ):
            return None
        return conversation.messages[-1]

    def show(self, conversation: ConversationState | None) -> None:
        """Show another conversation, or the same one from the start."""
        if conversation is not self.conversation:
            self.choices.opened.clear()
        self.conversation = conversation
        messages = conversation.messages if conversation is not None else []
        self.items = [Item(None), *[Item(message) for message in messages]]
        self._ends = conversation is not None and conversation.ended is not None
        if self._ends:
            self.items.append(Item(None))
        self.numbers = {message.message: index for index, message in enumerate(messages, 1)}
        self._painted.clear()
        self._heights = Heights([1] * len(self.items))

    def lay_out(self, painter: Painter) -> None:
        """Use another width or other colours; lines are painted again when next visible."""
        self.painter = painter
        self._painted.clear()
        heights = []
        for item in self.items:
            for block in item.blocks or ():
                block.lines = block.before = None
                block.height = self._estimate_block(block)
            heights.append(self._estimate(item))
        self._heights = Heights(heights)

    def take(self, numbers: Iterable[int]) -> Spot | None:
        """Read messages that changed or were added; return the first block that changed.

        None means that `show` must be called, because messages are gone.
        """
        conversation = self.conversation
        if conversation is None:
            return Spot(0, 0, 0)
        known = len(self.items) - 1 - self._ends
        if len(conversation.messages) < known or (
            self._ends and len(conversation.messages) != known
        ):
            return None
        for message in conversation.messages[known:]:
            self.items.append(Item(message))
            self.numbers[message.message] = len(self.items) - 1
            self._heights.append(self._estimate(self.items[-1]))
        first = Spot(known + 1, 0, 0)
        before = []
        if known < len(conversation.messages):  # it is no longer the last
            before.append(known)
        for index in [
            0,
            *before,
            *[self.numbers[number] for number in numbers if number in self.numbers],
        ]:
            block = self.rebuild(index)
            if block is not None:
                first = min(first, Spot(index, block, 0))
        if conversation.ended is not None and not self._ends:
            self._ends = True
            self.items.append(Item(None))
            self._heights.append(1)
        if self._ends:
            self.rebuild(len(self.items) - 1)
        return first

    def rebuild(self, index: int) -> int | None:
        """Build an item's blocks again, if they were built before; return the first block that
        changed, if any.
        """
        item = self.items[index]
        if item.blocks is not None:
            return self._build(index)
        self._heights.set(index, self._estimate(item))
        return None

    def blocks(self, index: int) -> list[Block]:
        """Return an item's blocks, building them when they are needed for the first time."""
        item = self.items[index]
        if item.blocks is None:
            self._build(index)
        assert item.blocks is not None
        return item.blocks

    def lines(self, index: int, block: Block) -> list[Line]:
        """Return the painted lines of a block of item `index`."""
        assert self.painter is not None
        if block.lines is None:
            block.lines = self.painter.paint(block)
            block.highlights = None
            if block.height != len(block.lines):
                block.height = len(block.lines)
                self._heights.set(index, self.items[index].height)
            self._painted[block] = None
            while len(self._painted) > MAX_PAINTED:
                self._painted.popitem(last=False)[0].lines = None
        else:
            self._painted.move_to_end(block, last=True)
        return block.lines

    def locate(self, line: int) -> Spot:
        """Return the content at a line of the page.

        An item that nobody had looked at may turn out to have none: then that of its neighbour.
        """
        index, rest = self._heights.find(line)
        if index >= len(self.items):
            return Spot(0, 0, 0)
        blocks = self.blocks(index)
        while not blocks and index + 1 < len(self.items):
            index, rest = index + 1, 0
            blocks = self.blocks(index)
        while not blocks and index > 0:
            index -= 1
            blocks = self.blocks(index)
            rest = self._heights[index]
        # Building an item may have put its height right.
        rest = min(rest, max(0, self._heights[index] - 1))
        for number, block in enumerate(blocks):
            if rest < block.height:
                return Spot(index, number, rest)
            rest -= block.height
        if not blocks:
            return Spot(index, 0, 0)
        return Spot(index, len(blocks) - 1, max(0, blocks[-1].height - 1))

    def top(self, spot: Spot) -> int:
        """Return the current line of the page at `spot`."""
        if not self.items:
            return 0
        index = min(spot.item, len(self.items) - 1)
        # Nothing is built here: it would move what was just measured.
        blocks = self.items[index].blocks or []
        before = sum(block.height for block in blocks[: spot.block])
        line = min(spot.line, blocks[spot.block].height - 1) if spot.block < len(blocks) else 0
        return self._heights.height_above(index) + before + line

    def measure_down(self, spot: Spot, lines: int) -> None:
        """Paint from the block of `spot` on until `lines` lines below it are known."""
        known = -spot.line
        for index, block in self._walk_down(spot):
            known += len(self.lines(index, block))
            if known >= lines:
                return

    def measure_up(self, spot: Spot, lines: int) -> None:
        """Paint the blocks before `spot` until `lines` lines above it are known."""
        known = spot.line
        for index, block in self._walk_up(spot):
            if known >= lines:
                return
            known += len(self.lines(index, block))

    def end(self) -> Spot:
        """Return the spot behind the last line."""
        last = max(0, len(self.items) - 1)
        return Spot(last, len(self.blocks(last)) if self.items else 0, 0)

    def folds(self, index: int) -> list[Fold]:
        """Return the folds of an item, in order."""
        message = self.items[index].message
        if message is not None:
            return message_folds(message, self.choices)
        return [block.fold for block in self.blocks(index) if block.fold is not None]

    def fold_spot(self, fold: Fold) -> Spot | None:
        """Return the position of an expandable line; None if it does not exist."""
        index = self.numbers.get(fold.message, 0)
        for number, block in enumerate(self.blocks(index)):
            if block.fold == fold:
                return Spot(index, number, 0)
        return None

    def _walk_down(self, spot: Spot) -> Iterator[tuple[int, Block]]:
        number = spot.block
        for index in range(spot.item, len(self.items)):
            for block in self.blocks(index)[number:]:
                yield index, block
            number = 0

    def _walk_up(self, spot: Spot) -> Iterator[tuple[int, Block]]:
        if spot.item >= len(self.items):
            return
        for block in reversed(self.blocks(spot.item)[: spot.block]):
            yield spot.item, block
        for index in range(spot.item - 1, -1, -1):
            for block in reversed(self.blocks(index)):
                yield index, block

    def _build(self, index: int) -> int | None:
        item = self.items[index]
        if item.message is not None:
            assert self.conversation is not None
            bare = item.message.done and not self.conversation.sent(item.message)
            turned: Iterable[AssertionChecked] = ()
            if self.choices.show_checks:
                turned = turned_checks(self.conversation, item.message)
            fresh = message_blocks(
                item, item.message, self.choices, bare_sign_off=bare, turned=turned
            )
        elif index == 0:
            fresh = head_blocks(self.conversation, self.choices)
        else:
            assert self.conversation is not None
            fresh = tail_blocks(self.conversation)
        changed = item.rebuild(fresh)
        for block in item.blocks or ():
            if block.lines is None:
                block.height = self._estimate_block(block)
        self._heights.set(index, item.height)
        return changed

    def _estimate(self, item: Item) -> int:
        if item.blocks is not None:
            return item.height
        if self.painter is None:
            return 1
        message = item.message
        if message is None:
            return 1
        extra = len(message.failures) + len(message.violations) + (message.role == "user")
        events = len(message_folds(message, self.choices)) - len(message.violations)
        return self.painter.estimate(message.text) + extra + events

    def _estimate_block(self, block: Block) -> int:
        if self.painter is None or block.kind in ("gap", "note", "waiting"):
            return 1
        return self.painter.estimate(block.text)
