"""The values of expressions, their type names in messages, and the limits on what one evaluation
builds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bioeval_tui.base.errors import ExpressionError

CELL = 96
"""Bytes counted for each element of a collection."""

_CHARACTERS_PER_STEP = 512
_STEPS_PER_LOOK_AT_THE_CLOCK = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one expression. Lengths in characters, time in seconds, memory in bytes."""

    text_length: int = 10_000
    depth: int = 60
    steps: int = 150_000
    seconds: float = 0.4
    memory: int = 12_000_000


class LimitError(ExpressionError):
    """An expression exceeds its limit of steps, time, memory or nesting."""


@dataclass(slots=True)
class Budget:
    """The remaining part of `limits` during one evaluation.

    Every method raises `LimitError` when it is used up.
    """

    limits: Limits = field(default_factory=Limits)
    steps: int = 0
    memory: int = 0
    _deadline: float = 0.0
    _until_clock: int = _STEPS_PER_LOOK_AT_THE_CLOCK

    def __post_init__(self) -> None:
        self._deadline = time.thread_time() + self.limits.seconds

    def step(self, count: int = 1) -> None:
        """Count `count` steps of work.

        Raises:
            LimitError: the steps or the time are used up.
        """
        self.steps += count
        if self.steps > self.limits.steps:
            raise LimitError(f"takes more than {self.limits.steps:,} steps")
        self._until_clock -= count
        if self._until_clock < 0:
            self._until_clock = _STEPS_PER_LOOK_AT_THE_CLOCK
            if time.thread_time() > self._deadline:
                raise LimitError(f"takes longer than {self.limits.seconds:g} s")

    def seconds_left(self) -> float:
        """Return the remaining time, for work with its own deadline."""
        return max(0.001, self._deadline - time.thread_time())

    def hold(self, size: int) -> None:
        """Count `size` bytes that are about to be built.

        Raises:
            LimitError: the memory is used up.
        """
        self.memory += size
        if self.memory > self.limits.memory:
            raise LimitError(f"builds more than {self.limits.memory // 1_000_000} MB of values")

    def read_text(self, length: int) -> None:
        """Count the work of one pass over `length` characters."""
        self.step(1 + length // _CHARACTERS_PER_STEP)

    def build_text(self, length: int) -> None:
        """Count a text of `length` characters that is about to be built."""
        self.hold(2 * length)
        self.read_text(length)

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield from `values`, one step each."""
        for value in values:
            self.step()
            yield value

    def collect(self, values: Iterable[Any]) -> list[Any]:
        """Return `values` as a list, counting steps and memory while it grows."""
        result = []
        for value in values:
            self.step()
            self.hold(CELL)
            result.append(value)
        return result


Value = Any
"""One of the types of the table above."""

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


class Long(int):
    """A 64-bit whole number."""

    __slots__ = ()


NUMBERS = (int, Long, float)


class Char(str):
    """One UTF-16 code unit."""

    __slots__ = ()


class EnumValue(str):
    """A value of an enum: its name, the enum's name and its ordinal.

    Texts with that name are equal to it.
    """

    kind: str
    ordinal: int

    def __new__(cls, kind: str, name: str, ordinal: int) -> EnumValue:
        value = super().__new__(cls, name)
        value.kind, value.ordinal = kind, ordinal
        return value


class Record(dict[str, Value]):
    """An object with named properties, such as a resource; unlike a map it is read with a dot.

    `components` are the properties that its text, its equality and `(a, b) ->` use, in order.
    """

    __slots__ = ("components", "kind")

    def __init__(
        self, kind: str, fields: dict[str, Value], components: tuple[str, ...] | None = None
    ) -> None:
        super().__init__(fields)
        self.kind = kind
        self.components = tuple(fields) if components is None else components


class Unit:
    """The value of an expression without one, such as an empty lambda."""

    __slots__ = ()


UNIT = Unit()


@dataclass(frozen=True, slots=True)
class MapKey:
    """A map key or set element that is not a text: equal when `frozen` is, shown as `value`."""

    frozen: tuple[Any, ...]
    value: Value

    def __hash__(self) -> int:
        return hash(self.frozen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapKey) and self.frozen == other.frozen


@dataclass(frozen=True, slots=True)
class OrderedSet:
    """A set that keeps the order of insertion. `keys` are made by `operators.map_key`."""

    keys: dict[str | MapKey, None]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Value]:
        return (original_value(key) for key in self.keys)


@dataclass(frozen=True, slots=True)
class ClosedRange:
    """A range of Longs, doubles, texts or characters, both ends included."""

    start: Value
    end: Value


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values."""

    first: Value
    second: Value


@dataclass(frozen=True, slots=True)
class Triple:
    """Three values."""

    first: Value
    second: Value
    third: Value


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A key of a map with its value."""

    key: Value
    value: Value


@dataclass(frozen=True, slots=True)
class Indexed:
    """An element with its index."""

    index: int
    value: Value


@dataclass(frozen=True, slots=True)
class RegexMatch:
    """A match of a regular expression: the matched text, the texts of all groups (the whole first),
    their names.
    """

    value: str
    group_values: list[str]
    start: int
    names: dict[str, int]

    @property
    def end(self) -> int:
        """Where the match ends in the text."""
        return self.start + len(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """Elements that are computed lazily."""

    elements: Callable[[], Iterable[Value]]


@dataclass(frozen=True, slots=True, eq=False)
class Comparator:
    """A comparator of two values: returns a negative number, 0 or a positive number."""

    compare: Callable[[Value, Value], int]


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Elements and their grouping key."""

    elements: Value
    key: Callable[[Value], Value]


TYPE_NAMES: dict[type, str] = {
    int: "Int",
    Long: "Long",
    float: "Double",
    bool: "Boolean",
    type(None): "null",
    str: "String",
    Char: "Char",
    list: "List",
    OrderedSet: "Set",
    dict: "Map",
    range: "IntRange",
    ClosedRange: "ClosedRange",
    Pair: "Pair",
    MapEntry: "Map.Entry",
    Indexed: "IndexedValue",
    Triple: "Triple",
    RegexMatch: "MatchResult",
    Sequence: "Sequence",
    Comparator: "Comparator",
    Grouping: "Grouping",
    Unit: "Unit",
}


def type_name(value: Value) -> str:
    """Return Kotlin's name of the type of `value`; for a record, its kind."""
    if type(value) in (Record, EnumValue):
        return str(value.kind)
    return TYPE_NAMES.get(type(value)) or type(value).__name__


def encode_units(text: str) -> str:
    """Return `text` with characters beyond U+FFFF as pairs of surrogates, as Kotlin stores them."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    units = []
    for char in text:
        if char > "\uffff":
            high, low = divmod(ord(char) - 0x10000, 0x400)
            units.append(chr(0xD800 + high))
            units.append(chr(0xDC00 + low))
        else:
            units.append(char)
    return "".join(units)


def decode_units(text: str) -> str:
    """Return `text` with pairs of surrogates joined; a lone surrogate becomes `�`."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def integer(value: int, *, long: bool) -> int:
    """Return `value` wrapped around to 64 (`Long`) or 32 (`int`) bits, as Kotlin's arithmetic
    does.
    """
    if long:
        return Long((value - LONG_MIN) % 2**64 + LONG_MIN)
    return (value - INT_MIN) % 2**32 + INT_MIN


def whole(value: int) -> int:
    """Return a JSON number as an Int if it fits, otherwise as a Long."""
    if INT_MIN <= value <= INT_MAX:
        return int(value)
    return integer(value, long=True)


def whole_range(start: int, stop: int, step: int = 1) -> range:
    """Return whole numbers from `start` to before `stop`; at most 2^62 of them.

    Raises:
        ExpressionError: the range is wider than that.
    """
    if abs(int(stop) - int(start)) > 2**62:
        raise ExpressionError("this range is too wide")
    return range(start, stop, step)


def original_value(key: str | MapKey) -> Value:
    """Return the value that a key was made of."""
    if isinstance(key, MapKey):
        return key.value
    return key


PARTS: dict[type, tuple[str, ...]] = {
    Pair: ("first", "second"),
    Triple: ("first", "second", "third"),
    MapEntry: ("key", "value"),
    Indexed: ("index", "value"),
    ClosedRange: ("start", "end"),
}
"""The attributes of the values that are made of others, to go through all of them."""
