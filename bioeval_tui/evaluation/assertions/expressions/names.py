"""The scope at one place of an expression: names with their types, `this`, and smart casts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bioeval_tui.evaluation.assertions.expressions.scope import ENUMS, enum_value
from bioeval_tui.evaluation.assertions.expressions.tree import Member, Name, Node, Unary
from bioeval_tui.evaluation.assertions.expressions.types import DOUBLE, INT, LONG, Type
from bioeval_tui.evaluation.assertions.expressions.values import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    Long,
    Value,
)

Facts = dict[str, Type]
"""Smart casts: the known type, by the text of a name or `name.property`."""

CONSTANTS: dict[str, tuple[Type, Value]] = {
    "Int.MAX_VALUE": (INT, INT_MAX),
    "Int.MIN_VALUE": (INT, INT_MIN),
    "Long.MAX_VALUE": (LONG, Long(LONG_MAX)),
    "Long.MIN_VALUE": (LONG, Long(LONG_MIN)),
    "Double.MAX_VALUE": (DOUBLE, 1.7976931348623157e308),
    "Double.NaN": (DOUBLE, float("nan")),
    "Double.POSITIVE_INFINITY": (DOUBLE, float("inf")),
    "Double.NEGATIVE_INFINITY": (DOUBLE, float("-inf")),
    **{
        f"{kind}.{name}": (Type(kind), enum_value(kind, name))
        for kind, names in ENUMS.items()
        for name in names
    },
}
"""Constants of a type, such as `Int.MAX_VALUE` or `MessageRole.user`."""

OWNERS = frozenset(name.partition(".")[0] for name in CONSTANTS)


@dataclass(frozen=True, slots=True)
class Names:
    """The names in scope, the receivers of `run`, `with` and `apply` (innermost first), the labels of lambdas."""

    types: Mapping[str, Type]
    receivers: tuple[Type, ...] = ()
    facts: Facts = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)

    def bind(self, added: Mapping[str, Type]) -> Names:
        """Return these names with new ones; smart casts of shadowed names are dropped."""
        facts = {key: kind for key, kind in self.facts.items() if key.partition(".")[0] not in added}
        return Names({**self.types, **added}, self.receivers, facts, self.labels)

    def within(self, receiver: Type) -> Names:
        """Return these names with `this`."""
        facts = {key: kind for key, kind in self.facts.items() if key.partition(".")[0] != "this"}
        return Names({**self.types, "this": receiver}, (receiver, *self.receivers), facts, self.labels)

    def labelled(self, label: str, number: int) -> Names:
        """Return the names inside the lambda that is passed to the function `label`."""
        return Names(self.types, self.receivers, self.facts, {**self.labels, label: number})

    def learn(self, facts: Facts) -> Names:
        """Return these names with the smart casts of a condition."""
        return Names(self.types, self.receivers, {**self.facts, **facts}, self.labels) if facts else self


def key_of(node: Node) -> str:
    """Return the text of `name` or `name.property.…`, which cannot change; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, Member) or (isinstance(node, Unary) and node.operator == "!!"):
        if isinstance(node, Member):
            parts.append(node.name)
            node = node.target
        else:
            node = node.operand
    if not isinstance(node, Name):
        return ""
    return ".".join([node.name, *reversed(parts)])


def merged(found: Iterable[Facts]) -> Facts:
    """Return the smart casts of several conditions that are all true."""
    return {key: kind for facts in found for key, kind in facts.items()}
