"""The syntax tree of expressions: `parser` makes it, `checks` and `evaluator` go through it.

Columns count from 1 in the whole text, for the sentence about what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bioeval_tui.expressions.kotlin_types import Type

Pattern = str | tuple[str, ...]
"""A lambda's parameter or a `val`: a name, or the names of `(k, v)`. `_` discards a value."""


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
    """A name in scope: `objectContext`, `evaluation`, a lambda's parameter, or a type such as
    `Int`.
    """

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
    """An argument of a call: positional, named, or the lambda after the parentheses."""

    value: Node
    name: str = ""
    trailing: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`name<types>(…)`, `target.name(…)`, or `target?.name(…)` when `safe`; infix `a name b` as
    well.
    """

    target: Node | None
    name: str
    arguments: tuple[Argument, ...]
    safe: bool = False
    types: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """`{ it … }` (no parameters) or `{ a, (b, c) -> … }`, with the types that are written."""

    parameters: tuple[Pattern, ...]
    body: Node
    types: tuple[Type | None, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Reference(Node):
    """`Owner::name`, or `::name` with an empty owner."""

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Declarations(Node):
    """`val` declarations and the value after them.

    A pattern of None is an expression whose value is not used.
    """

    statements: tuple[tuple[Pattern | None, Type | None, Node], ...]
    result: Node


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`return@label value`: returns from the lambda that was passed to the function `label`."""

    label: str
    value: Node


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x`, `+x`, `!x`, `x!!`."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two operands and their operator, `&&`, `||` and `?:` included."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class TypeOperation(Node):
    """`operand is T`, `!is`, `as`, `as?`."""

    operator: str
    operand: Node
    type: Type


@dataclass(frozen=True, slots=True)
class If(Node):
    """`if (condition) then else otherwise`."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of `when`, taken if one of its conditions is true; `else` has none."""

    conditions: tuple[Node, ...]
    value: Node


SUBJECT = "<subject>"
"""The name under which the branches of a `when` see its subject."""


@dataclass(frozen=True, slots=True)
class When(Node):
    """`when (subject) { … }`; its branches' conditions compare the name `SUBJECT`.

    `name` is that of `val`.
    """

    subject: Node | None
    name: str
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: `parse` creates it, `evaluate` runs it.

    The static types say, by the `id` of a node, in `numbers` which whole numbers are a Long or a
    Double, and in `of_null` which function a call on null means.
    """

    text: str
    root: Node
    numbers: Mapping[int, type] = field(default_factory=dict, compare=False, repr=False)
    of_null: Mapping[int, Any] = field(default_factory=dict, compare=False, repr=False)
