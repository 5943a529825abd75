"""The syntax tree of expressions. Columns count from 1 in the whole text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Pattern = str | tuple[str, ...]
"""A lambda's parameter: a name, or the names of `(k, v) ->`. `_` takes a value and names nothing."""


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of the text that has a value."""

    column: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, text without templates, `true`, `false` or `null`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Template(Node):
    """A text with `$name` or `${…}` in it."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name in scope: `objectContext`, `evaluation`, a lambda's parameter, or a type such as `Int`."""

    name: str


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`target.name`, or `target?.name` when `safe`."""

    target: Node
    name: str
    safe: bool


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`target[place]`."""

    target: Node
    place: Node


@dataclass(frozen=True, slots=True)
class Argument:
    """A value given to a call: by place, by name, or as the lambda after the parentheses."""

    value: Node
    name: str = ""
    trailing: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`name(…)`, `target.name(…)`, or `target?.name(…)` when `safe`; infix `a name b` as well."""

    target: Node | None
    name: str
    arguments: tuple[Argument, ...]
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """`{ it … }` (no parameters) or `{ a, (b, c) -> … }`."""

    parameters: tuple[Pattern, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x`, `+x`, `!x`, `x!!`."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two operands and what stands between them, `&&`, `||` and `?:` included."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Condition(Node):
    """`if (condition) then else otherwise`."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: its text and its tree. `parse` makes it, `evaluate` takes it."""

    text: str
    root: Node
