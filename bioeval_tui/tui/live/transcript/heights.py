"""Heights of many items with prefix sums in O(log n): a Fenwick tree that can grow."""

from __future__ import annotations

from collections.abc import Iterable


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
        return self.before(len(self._values))

    def append(self, height: int) -> None:
        """Add one item at the end."""
        self._values.append(height)
        index = len(self._values)
        low = index & -index
        self._tree.append(self.before(index - 1) - self.before(index - low) + height)

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

    def before(self, index: int) -> int:
        """Return the sum of the heights of the items before `index`."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    def find(self, line: int) -> tuple[int, int]:
        """Return the item that contains `line` (from 0), and the line within it; past the end, the last item's last line."""
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
