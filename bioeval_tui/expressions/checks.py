"""The type checker of expressions: names, calls and types, as in Kotlin's compiler.

A misspelt name or an unlike type should be an error when the job is loaded, not a false at the end
of a run. Where a type cannot be known (`?`), nothing is refused, and the values decide when the
expression runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NoReturn

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.base.text import plural, shorten
from bioeval_tui.expressions import tree
from bioeval_tui.expressions.kotlin_types import (
    ANY,
    BOOLEAN,
    CHAR,
    CLASSES,
    INT,
    LITERAL,
    NOTHING,
    NUMBERS,
    PUBLISHED,
    STRING,
    UNKNOWN,
    Type,
    substitute,
    variables,
)
from bioeval_tui.expressions.lexer import KEYWORDS_NOT_SUPPORTED
from bioeval_tui.expressions.scopes import (
    CLOSED,
    CONSTANTS,
    RECORDS,
    ROOTS,
    TEXT_ENUMS,
    find_property,
)
from bioeval_tui.expressions.signatures import (
    FUNCTIONS,
    METHODS,
    PROPERTIES,
    Signature,
    bind,
    describe,
    nearest,
)
from bioeval_tui.expressions.values import UNIT, Limits, Long, type_name

MOST_STEPS = 60_000
_SPECIFIER = re.compile(r"%[-0+ ,#(\d.$]*([a-zA-Z%])")
INSTEAD = {
    **dict.fromkeys(("println", "print"), "printing is not supported; an assertion is its value"),
    **dict.fromkeys(("shuffled", "random"), "an assertion must not depend on chance"),
    **dict.fromkeys(("arrayOf", "intArrayOf"), "arrays are not supported; write listOf(…)"),
    **{
        name: f"leave {name} out: the condition itself is the assertion"
        for name in ("assert", "require", "check")
    },
    **{
        name: f"{name} is written after a value: value.{name} {{ … }}"
        for name in ("let", "also", "apply")
    },
    "forEach": "forEach has no value; use any, all, map or count",
    "onEach": "onEach changes nothing; leave it out",
    "buildString": "buildString is not supported; write a text with ${…} or joinToString",
    "buildList": "buildList is not supported; write listOf(…) + …",
    "buildSet": "buildSet is not supported; write setOf(…) + …",
    "buildMap": "buildMap is not supported; write mapOf(…) + …",
    "runCatching": KEYWORDS_NOT_SUPPORTED["try"],
    "hashCode": "hash codes are not supported; compare the values",
    "toFloat": "Float is not supported; use toDouble()",
    "toBigDecimal": "BigDecimal is not supported; use toDouble()",
    "javaClass": "classes are tested with `is`, such as it is FunctionCallEvent",
    "groups": "groups is not supported; write groupValues[1]",
    "copy": "objects cannot be copied; compare their properties",
    "component1": "write the property's name, or take the value apart with (a, b)",
    "add": "values cannot change; write list + value",
    "put": "values cannot change; write map + (key to value)",
    "remove": "values cannot change; write list - value",
    "append": "values cannot change; write text + value",
    "toTypedArray": "arrays are not supported; leave this out and use the list",
    "hashSetOf": "a set without order is not supported; write setOf(…)",
    "hashMapOf": "a map without order is not supported; write mapOf(…)",
    "firstKey": "write keys.first()",
    "lastKey": "write keys.last()",
    "CASE_INSENSITIVE_ORDER": "write compareBy { it.lowercase() }",
    "repeat": "loops are not supported; use (1..n).map { … }",
    "iterator": "iterators are not supported; use any, all, map and their like",
}
"""Names that authors try, with what to write instead."""

_OWNERS = frozenset(name.partition(".")[0] for name in CONSTANTS)

Facts = dict[str, Type]
"""Smart casts: the known type, by the text of a name or `name.property`."""

_COMPARISONS = frozenset(("<", ">", "<=", ">="))
_RANGES = {"Literal": "IntRange", "Int": "IntRange", "Long": "LongRange", "Char": "CharRange"}


@dataclass(frozen=True, slots=True)
class Names:
    """The names in scope, the receivers of `run`, `with` and `apply` (innermost first), the labels
    of lambdas.
    """

    types: Mapping[str, Type]
    receivers: tuple[Type, ...] = ()
    facts: Facts = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    closed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The only values of a name, where they are known."""

    def bind(self, added: Mapping[str, Type]) -> Names:
        """Return these names with new ones; smart casts of shadowed names are dropped."""
        facts = {
            key: kind for key, kind in self.facts.items() if key.partition(".")[0] not in added
        }
        closed = {name: values for name, values in self.closed.items() if name not in added}
        return replace(self, types={**self.types, **added}, facts=facts, closed=closed)

    def close(self, name: str, values: tuple[str, ...]) -> Names:
        """Return these names with the only values of one; nothing is known without any."""
        if values and name:
            return replace(self, closed={**self.closed, name: values})
        return self

    def receiving(self, receiver: Type) -> Names:
        """Return these names with `this`."""
        facts = {key: kind for key, kind in self.facts.items() if key.partition(".")[0] != "this"}
        return replace(
            self,
            types={**self.types, "this": receiver},
            receivers=(receiver, *self.receivers),
            facts=facts,
        )

    def labelled(self, label: str, number: int) -> Names:
        """Return the names inside the lambda that is passed to the function `label`."""
        return replace(self, labels={**self.labels, label: number})

    def learn(self, facts: Facts) -> Names:
        """Return these names with the smart casts of a condition."""
        if facts:
            return replace(self, facts={**self.facts, **facts})
        return self


def stable_text(node: tree.Node) -> str:
    """Return the text of `name` or `name.property.…`, which cannot change; empty for anything
    else.
    """
    parts: list[str] = []
    while isinstance(node, tree.Member) or (isinstance(node, tree.Unary) and node.operator == "!!"):
        if isinstance(node, tree.Member):
            parts.append(node.name)
            node = node.target
        else:
            node = node.operand
    if not isinstance(node, tree.Name):
        return ""
    return ".".join([node.name, *reversed(parts)])


def merged(several: Iterable[Facts]) -> Facts:
    """Return the smart casts of several conditions that are all true."""
    return dict(chain.from_iterable(facts.items() for facts in several))


def check(
    expression: tree.Expression, limits: Limits, *, published: bool = False
) -> tree.Expression:
    """Return the expression with the static types of its numbers.

    With `published`, extensions of this program (a role as text, `type` of a resource) are
    rejected.

    Raises:
        ExpressionError: for the first name, call or type that cannot work.
    """
    checker = _Check(expression.text, limits, published)
    lost = _lost(expression.root)
    if lost is not None:
        checker.fail(
            "Kotlin's scripts lose the value of a last if or when with { }; leave the braces out",
            lost,
        )
    try:
        checker.infer(expression.root, Names(ROOTS))
    except RecursionError:
        raise ExpressionError("nested too deeply", expression.text, 1) from None
    return replace(expression, numbers=checker.numbers, of_null=checker.of_null)


class _Check:
    """Infers the type of every node, and rejects what Kotlin's compiler would reject."""

    def __init__(self, text: str, limits: Limits, published: bool) -> None:
        self.text = text
        self.limits = limits
        self.published = published
        self.classes = PUBLISHED if published else CLASSES
        self.numbers: dict[int, type] = {}
        self.returns: dict[int, list[tuple[tree.Node, Type]]] = {}
        self.known_facts: dict[tuple[int, bool], dict[str, Type]] = {}
        self.of_null: dict[int, Signature] = {}
        self.closed: dict[int, tuple[str, ...]] = {}
        """The only values of a property that has been read, by the node."""
        self._steps = 0

    def infer(self, node: tree.Node, names: Names, expected: Type | None = None) -> Type:
        """Return the type of `node`; integer literals take the `expected` type."""
        self.step(node)
        match node:
            case tree.Literal():
                return self.literal(node, expected)
            case tree.Template(parts=parts):
                for part in parts:
                    self.infer(part, names)
                return STRING
            case tree.Name():
                return self.name(node, names)
            case tree.Member():
                return self.member(node, names)
            case tree.Index():
                return self.index(node, names)
            case tree.Call():
                return self.call(node, names, expected)
            case tree.Unary():
                return self.unary(node, names, expected)
            case tree.Binary():
                return self.binary(node, names, expected)
            case tree.TypeOperation():
                return self.type_operation(node, names)
            case tree.If():
                return self.condition(node, names, expected)
            case tree.When():
                return self.when(node, names, expected)
            case tree.Declarations():
                return self.block(node, names, expected)
            case tree.Return():
                return self.return_value(node, names)
            case tree.Lambda():
                self.fail("a lambda can only be given to a function", node)
            case tree.Reference():
                self.fail("a reference can only be given to a function that takes a lambda", node)
        raise AssertionError(node)

    def literal(self, node: tree.Literal, expected: Type | None) -> Type:
        if node.value is UNIT:
            return Type("Unit")
        if type(node.value) is int:
            return self.number(node, LITERAL, expected)
        if node.value is None:
            return NOTHING.optional
        return Type(type_name(node.value))

    def name(self, node: tree.Name, names: Names) -> Type:
        if node.name in names.facts:
            return names.facts[node.name]
        if node.name in names.types:
            return names.types[node.name]
        for receiver in names.receivers:
            kind = self.property(receiver, node.name)
            if kind is not None:
                return kind
        if node.name == "it":
            self.fail("`it` has a meaning only in a lambda without named parameters", node)
        if node.name == "this":
            self.fail("`this` has a meaning only inside run, with and apply", node)
        if node.name in _OWNERS:
            values = ", ".join(key for key in CONSTANTS if key.partition(".")[0] == node.name)
            self.fail(f"{node.name} alone is not a value; write one of {values}", node)
        if node.name in FUNCTIONS:
            self.fail(f"{node.name} is a function: write {node.name}(…)", node)
        known = {
            *names.types,
            *FUNCTIONS,
            *chain.from_iterable(map(_properties, names.receivers)),
        }
        self.fail(
            f"unknown name {shorten(node.name, 40)}{nearest(node.name, known - {tree.SUBJECT})}",
            node,
        )

    def member(self, node: tree.Member, names: Names) -> Type:
        target = node.target
        if (
            isinstance(target, tree.Name)
            and target.name in _OWNERS
            and target.name not in names.types
        ):
            constant = CONSTANTS.get(f"{target.name}.{node.name}")
            if constant is None:
                known = [
                    name.partition(".")[2]
                    for name in CONSTANTS
                    if name.startswith(target.name + ".")
                ]
                hint = nearest(node.name, known) or f"; it has {', '.join(known)}"
                self.fail(f"{target.name} has no {shorten(node.name, 40)}{hint}", node)
            return constant[0]
        if (
            isinstance(target, tree.Name)
            and target.name in self.classes
            and target.name not in names.types
        ):
            self.fail(
                INSTEAD.get(
                    node.name,
                    f"{target.name} is a class, which has no {shorten(node.name, 40)} here",
                ),
                node,
            )
        receiver = self.infer(target, names)
        if (receiver.name, node.name) in CLOSED:
            self.closed[id(node)] = CLOSED[receiver.name, node.name]
        key = stable_text(node)
        if key in names.facts:
            return names.facts[key]
        kind = self.property(receiver.required if node.safe else receiver, node.name)
        if kind is None:
            self.no_property(receiver, node)
        if node.safe and receiver.nullable:
            return kind.optional
        return kind

    def property(self, receiver: Type, name: str) -> Type | None:
        """Return the type of a property; None if it does not exist."""
        if receiver.name == "?":
            known = name in PROPERTIES or any(name in fields for fields in RECORDS.values())
            if known or find_property("EvaluationJob", name):
                return UNKNOWN
            return None
        if not receiver.nullable and receiver.name in RECORDS:
            prop = find_property(receiver.name, name)
            if prop is not None and not (prop.ours and self.published):
                return prop.type
        for signature in PROPERTIES.get(name, ()):
            bound: dict[str, Type] = {}
            assert signature.receiver is not None
            if self.classes.unify(signature.receiver, receiver, bound):
                return substitute(signature.result, bound, final=True)
        return None

    def no_property(self, receiver: Type, node: tree.Member) -> NoReturn:
        name = shorten(node.name, 40)
        if receiver.nullable and self.property(receiver.required, node.name) is not None:
            self.fail(f"this may be null here; write ?.{name}, or test for null first", node)
        if self.classes.supertype(receiver, "Map"):
            self.fail(f'a map has no property {name}; write ["{name}"] instead of .{name}', node)
        if node.name in INSTEAD:
            self.fail(INSTEAD[node.name], node)
        if node.name in METHODS:
            self.fail(f"{name} is a function: write {describe(METHODS[node.name][0])}", node)
        prop = find_property(receiver.name, node.name)
        if prop is not None and prop.ours:
            self.fail(f"the published {receiver.name} has no {name}", node)
        if receiver.required == ANY:
            self.fail(
                f"a value of any type has no {name}; write (… as Type).{name}, or as? with"
                f" ?.{name}",
                node,
            )
        known = list(_properties(receiver))
        self.fail(
            f"unknown property {name} of {receiver.required}{nearest(node.name, known)}", node
        )

    def index(self, node: tree.Index, names: Names) -> Type:
        target = self.infer(node.target, names)
        if target.nullable:
            self.fail("this may be null here; write ?.get(…), or test for null first", node)
        keys = self.classes.supertype(target, "Map")
        if keys:
            bound = {"E": keys.args[0]}
            place = self.infer(node.place, names, keys.args[0])
            if not self.classes.unify(Type("E"), place, bound):
                self.fail(f"the keys of this map are {keys.args[0]}, not {place}", node)
            return keys.args[1].optional
        place = self.infer(node.place, names, INT)
        as_list = self.classes.supertype(target, "List")
        if target.name == "?" or as_list or target.name == "String":
            if not self.classes.fits(place, INT):
                self.fail(f"an index is an Int, not {place}", node)
            if target.name == "?":
                return UNKNOWN
            if as_list:
                return as_list.args[0]
            return CHAR
        hint = ""
        if target.name in RECORDS:
            hint = "; its properties are read with a dot"
        if self.classes.supertype(target, "Set"):
            hint = "; write elementAt(…)"
        self.fail(f"{target} has no elements by index{hint}", node)

    def unary(self, node: tree.Unary, names: Names, expected: Type | None) -> Type:
        if node.operator == "!":
            self.boolean(node.operand, names)
            return BOOLEAN
        if node.operator == "!!":
            return self.infer(node.operand, names).required
        operand = self.infer(node.operand, names, expected)
        if (
            node.operator == "-"
            and isinstance(node.operand, tree.Literal)
            and node.operand.value == 2**31
        ):
            return INT  # the smallest Int, whose digits alone are a Long
        if operand.name in ("?", "Literal", *NUMBERS) and not operand.nullable:
            return self.number(node, operand, expected)
        self.fail(f"{node.operator} works on numbers, not on {operand}", node)

    def binary(self, node: tree.Binary, names: Names, expected: Type | None) -> Type:
        spine = [node]
        while isinstance(spine[-1].left, tree.Binary):
            spine.append(spine[-1].left)
        left = self.infer(spine[-1].left, names, expected if spine[-1].operator == "?:" else None)
        for step in reversed(spine):  # a chain of any length, without recursion
            self.step(step)
            left = self.combine(step, left, names, expected if step is node else None)
        return left

    def combine(self, node: tree.Binary, left: Type, names: Names, expected: Type | None) -> Type:
        symbol = node.operator
        if symbol in ("&&", "||"):
            self.is_boolean(left, node.left)
            self.boolean(node.right, names.learn(self.facts(node.left, symbol == "&&", names)))
            return BOOLEAN
        if symbol == "?:":
            right = self.infer(node.right, names, expected or left.required)
            joined = self.classes.join(left.required, right)
            self.settle(node.right, right, joined)
            return joined
        right = self.infer(node.right, names)
        if symbol in ("==", "!=", "===", "!=="):
            self.equality(node, left, right)
            self.may_be(node.left, left, [node.right], names)
            self.may_be(node.right, right, [node.left], names)
        elif symbol in _COMPARISONS:
            self.order(node, left, right)
        elif symbol in ("in", "!in"):
            self.contains(node, left, right)
            self.may_be(node.left, left, _elements(node.right), names)
        elif symbol in ("..", "..<"):
            return self.range(node, left, right)
        else:
            return self.arithmetic(node, left, right)
        return BOOLEAN

    def equality(self, node: tree.Node, left: Type, right: Type) -> None:
        if "Collection" in (left.name, right.name) and "Nothing" not in (left.name, right.name):
            self.fail(
                "the values of a map are equal to nothing but themselves; write .values.toList()",
                node,
            )
        text_enum = {left.name, right.name} & set(TEXT_ENUMS) and "String" in (
            left.name,
            right.name,
        )
        if not self.classes.may_be_equal(left, right):
            hint = ""
            if {left.name, right.name} <= {*NUMBERS, "Literal"}:
                hint = (
                    "; write 5L for a Long, 5.0 for a Double, or convert with .toLong() or"
                    " .toDouble()"
                )
            elif {left.name, right.name} == {"String", "Char"}:
                hint = "; write .toString() after the Char"
            elif text_enum:
                hint = "; write .name before =="
            self.fail(f"cannot compare {left} with {right}{hint}", node)
        if not self.published and _hides_role(left, right):
            self.fail(
                f"{left} is never equal to {right}; take the texts of the roles with .name first",
                node,
            )

    def may_be(
        self, node: tree.Node, kind: Type, compared: Iterable[tree.Node], names: Names
    ) -> None:
        """Raise if a value that can only be one of a few texts is compared with another text: a
        typo would fail every agent, or pass every agent.
        """
        values = self.values(node, names) or CLOSED.get((kind.name, "name"), ())
        if not values:
            return
        for other in compared:
            text = other.value if isinstance(other, tree.Literal) else None
            if not isinstance(text, str) or text in values:
                continue
            what = node.name if isinstance(node, tree.Member) else "this value"
            hint = nearest(text, values) or f"; it is {', '.join(values[:-1])} or {values[-1]}"
            self.fail(f'{what} is never "{shorten(text, 40)}"{hint}', other)

    def values(self, node: tree.Node, names: Names) -> tuple[str, ...]:
        """Return the only values of an expression, apart from null; nothing if they are not
        known.
        """
        while isinstance(node, tree.Unary) and node.operator == "!!":
            node = node.operand
        if isinstance(node, tree.Name):
            return names.closed.get(node.name, ())
        return self.closed.get(id(node), ())

    def order(self, node: tree.Node, left: Type, right: Type) -> None:
        for one, other in ((left, right), (right, left)):
            if one.required == ANY:
                self.fail(
                    "a value of any type has no order; write (… as Number).toDouble(), (… as Int)"
                    " or (… as String)",
                    node,
                )
            if one.nullable:
                self.fail(
                    f"{one} has no order because it may be null; give a default with ?:", node
                )
            numbers = (*NUMBERS, "Literal")
            if one.name in numbers and other.name in numbers:
                return
        comparable = self.classes.supertype(left, "Comparable")
        if "?" not in (left.name, right.name) and (
            comparable is None or not self.classes.fits(right, comparable.args[0])
        ):
            self.fail(f"cannot compare {left} with {right}", node)

    def contains(self, node: tree.Node, value: Type, container: Type) -> None:
        if container.required == ANY:
            self.fail("a value of any type contains nothing; write in (… as List<*>)", node)
        if container.nullable:
            self.fail(
                "the value after `in` may be null here; give a default with ?: or write contains",
                node,
            )
        ends = self.classes.supertype(container, "ClosedRange")
        elements = self.classes.supertype(container, "Flow") or self.classes.supertype(
            container, "Map"
        )
        if "?" in (value.name, container.name):
            return
        if ends:
            whole = {value.name, ends.args[0].name} <= {"Int", "Long", "Literal"}
            whole = whole or (container.name in ("IntRange", "CharRange") and value.required == ANY)
            if not (whole or self.classes.fits(value.required, ends.args[0])):
                self.fail(f"{container} does not contain {value}", node)
        elif container.name == "String" or container.name in TEXT_ENUMS:
            if value.nullable or value.name not in ("String", "Char", "Regex", *TEXT_ENUMS):
                self.fail(f"a String contains strings, not {value}", node)
        elif elements is None:
            self.fail(
                f"`in` works on collections, maps, ranges and strings, not on {container}", node
            )
        elif not self.classes.unify(Type("E"), value, {"E": elements.args[0]}):
            self.fail(f"{container} cannot contain {value}", node)
        else:
            sought = node.left if isinstance(node, tree.Binary) else node
            self.settle(sought, value, elements.args[0])

    def range(self, node: tree.Node, left: Type, right: Type) -> Type:
        if "?" in (left.name, right.name):
            return UNKNOWN
        joined = self.classes.join(left, right)
        whole = {left.name, right.name} <= {"Int", "Long", "Literal"}
        if (
            joined.nullable
            or not (whole or self.classes.supertype(joined, "Comparable"))
            or joined.name == "Boolean"
        ):
            self.fail(f".. does not work on {left} and {right}", node)
        if whole and "Long" in (left.name, right.name):
            return Type("LongRange")
        if whole:
            return Type("IntRange")
        if joined.name in _RANGES:
            return Type(_RANGES[joined.name])
        return Type("ClosedRange", (joined,))

    def arithmetic(self, node: tree.Binary, left: Type, right: Type) -> Type:
        numbers = (*NUMBERS, "Literal")
        if left.name in numbers and right.name in numbers and not (left.nullable or right.nullable):
            names = [INT.name if part.name == "Literal" else part.name for part in (left, right)]
            return Type(max(names, key=NUMBERS.index))
        if "?" in (left.name, right.name):
            if left.name == "String" and node.operator == "+":
                return STRING
            return UNKNOWN
        if node.operator == "+":
            if left.name in ("String", *TEXT_ENUMS) or (
                left.name == "Nothing" and right.name == "String"
            ):
                return STRING
            if left == CHAR and right.name in ("String", "Int", "Literal"):
                if right.name == "String":
                    return STRING
                return CHAR
        if node.operator == "-" and left == CHAR and right.name in ("Char", "Int", "Literal"):
            if right == CHAR:
                return INT
            return CHAR
        if node.operator in "+-" and not left.nullable:
            kind = self.collection(node.operator, left, right)
            if kind is not None:
                return kind
        if ANY in (left.required, right.required):
            self.fail(
                f"{node.operator} does not work on a value of any type; write (… as Int) or (… as"
                " String)",
                node,
            )
        problem = f"{node.operator} does not work on {left} and {right}"
        if left.nullable or right.nullable:
            problem += "; null is not allowed here, give a default with ?:"
        self.fail(problem, node)

    def collection(self, operator: str, left: Type, right: Type) -> Type | None:
        """Return the type of a collection or map after `+` or `-`."""
        keys = self.classes.supertype(left, "Map")
        if keys and operator == "+":
            pair = self.classes.supertype(right, "Pair") or self.classes.supertype(right, "Map")
            pairs = self.classes.supertype(right, "Iterable")
            if pair is None and pairs:
                pair = self.classes.supertype(pairs.args[0], "Pair")
            if pair is None:
                return None
            return self.classes.join(keys, Type("Map", pair.args))
        items = self.classes.supertype(left, "Flow")
        if keys or items is None:
            return keys
        kind = next(
            name for name in ("Set", "Sequence", "Flow") if self.classes.supertype(left, name)
        )
        if kind == "Flow":
            kind = "List"
        if operator == "-":
            return Type(kind, items.args)
        more = self.classes.supertype(right, "Flow")
        added = right
        if more:
            added = more.args[0]
        elif right.name == "Literal":
            added = INT
        return Type(kind, (self.classes.join(items.args[0], added),))

    def type_operation(self, node: tree.TypeOperation, names: Names) -> Type:
        given = self.infer(node.operand, names)
        wanted = node.type
        if node.operator in ("is", "!is"):
            if any(arg.name != "?" for arg in wanted.args):
                self.fail(
                    f"only {wanted.name}<{', '.join('*' for _ in wanted.args)}> can be tested", node
                )
            if not self.classes.may_be_equal(given, wanted):
                self.fail(f"{given} is never {wanted}", node)
            return BOOLEAN
        if node.operator == "as?":
            return wanted.optional
        return wanted

    def condition(self, node: tree.If, names: Names, expected: Type | None) -> Type:
        self.boolean(node.condition, names)
        if isinstance(node.otherwise, tree.Literal) and node.otherwise.value is UNIT:
            self.fail("`if` needs an `else` to have a value", node)
        branches = [
            (
                part,
                self.infer(part, names.learn(self.facts(node.condition, truth, names)), expected),
            )
            for part, truth in ((node.then, True), (node.otherwise, False))
        ]
        return self.either(branches)

    def either(self, branches: Iterable[tuple[tree.Node, Type]]) -> Type:
        """Return the common type of the branches."""
        joined = NOTHING
        branches = list(branches)
        for _, kind in branches:
            joined = self.classes.join(joined, kind)
        for node, kind in branches:
            self.settle(node, kind, joined)
        return joined

    def when(self, node: tree.When, names: Names, expected: Type | None) -> Type:
        key = ""
        if node.subject is not None:
            subject = self.infer(node.subject, names)
            key = node.name or stable_text(node.subject)
            values = self.values(node.subject, names)
            names = names.bind({tree.SUBJECT: subject}).close(tree.SUBJECT, values)
            if node.name:
                names = names.bind({node.name: subject}).close(node.name, values)
        branches = []
        complete = False
        for branch in node.branches:
            if complete:
                self.fail("`else` must be the last branch", branch.value)
            complete = not branch.conditions
            shown: Facts = {}
            for test in branch.conditions:
                self.boolean(test, names)
                if len(branch.conditions) == 1:  # of several, nobody knows which one holds
                    shown = self.facts(test, True, names)
            known = names.learn(_subject_facts(shown, key))
            branches.append((branch.value, self.infer(branch.value, known, expected)))
            for test in branch.conditions:
                names = names.learn(_subject_facts(self.facts(test, False, names), key))
        conditions = chain.from_iterable(branch.conditions for branch in node.branches)
        tests = [test.right for test in conditions if isinstance(test, tree.Binary)]
        both = {True, False} <= {
            test.value
            for test in tests
            if isinstance(test, tree.Literal) and type(test.value) is bool
        }
        if not complete and not (both and node.subject is not None):
            self.fail("`when` needs an `else` to have a value", node)
        return self.either(branches)

    def block(self, node: tree.Declarations, names: Names, expected: Type | None) -> Type:
        for pattern, written, value in node.statements:
            if pattern is None:
                names = self.statement(value, names)
                continue
            kind = self.infer(value, names, written)
            if written is not None and not self.classes.fits(kind, written):
                self.fail(f"this is {kind}, not {written}", value)
            self.settle(value, kind, written or kind)
            kind = written or substitute(Type("T"), {"T": kind}, final=True)
            values = self.values(value, names)
            names = names.bind(self.destructure(pattern, kind, value))
            if isinstance(pattern, str):
                names = names.close(pattern, values)
        return self.infer(node.result, names, expected)

    def statement(self, node: tree.Node, names: Names) -> Names:
        """Check an expression whose value is not used; return the names in scope after it."""
        if not isinstance(node, tree.If) or not isinstance(node.otherwise, tree.Literal):
            self.infer(node, names)
            return names
        self.boolean(node.condition, names)
        then = self.infer(node.then, names.learn(self.facts(node.condition, True, names)))
        if then == NOTHING:
            return names.learn(self.facts(node.condition, False, names))
        return names

    def return_value(self, node: tree.Return, names: Names) -> Type:
        kind = self.infer(node.value, names)
        if node.label not in names.labels:
            self.fail(f"this is not inside a lambda labelled {shorten(node.label, 40)}", node)
        self.returns.setdefault(names.labels[node.label], []).append((node.value, kind))
        return NOTHING

    def facts(self, node: tree.Node, truth: bool, names: Names) -> Facts:
        """Return the smart casts of names that follow from `node` being true or false."""
        known = self.known_facts.get((id(node), truth))
        if known is None:
            known = self.known_facts[id(node), truth] = self.infer_facts(node, truth, names)
        return known

    def infer_facts(self, node: tree.Node, truth: bool, names: Names) -> Facts:
        match node:
            case tree.Unary(operator="!", operand=operand):
                return self.facts(operand, not truth, names)
            case tree.Binary(operator="&&" | "||" as symbol, left=left, right=right):
                if (symbol == "&&") != truth:
                    return {}
                return merged((self.facts(left, truth, names), self.facts(right, truth, names)))
            case tree.Binary(
                operator="==" | "!=" | "===" | "!==" as symbol, left=left, right=right
            ):
                if (symbol in ("==", "===")) == truth and not _is_null(right):
                    if self.infer(right, names).nullable:
                        return {}
                    return self.non_null(left, names)
                if (symbol in ("!=", "!==")) == truth and _is_null(right):
                    return self.non_null(left, names)
                return {}
            case tree.TypeOperation(operator="is" | "!is" as symbol, operand=operand, type=wanted):
                if (symbol == "is") != truth or not (key := stable_text(operand)):
                    return {}
                given = self.infer(operand, names)
                if self.classes.fits(given.required, wanted):
                    return {key: given.required}
                return {key: wanted}
            case tree.Call(name="isNullOrEmpty" | "isNullOrBlank", target=target) if (
                not truth and target is not None
            ):
                return self.non_null(target, names)
        return {}

    def non_null(self, node: tree.Node, names: Names) -> Facts:
        """Return the smart casts that say that `a`, or each part of `a?.b?.c`, is not null."""
        known: Facts = {}
        while True:
            if key := stable_text(node):
                kind = self.infer(node, names.learn(known))
                if kind.nullable:
                    known[key] = kind.required
            if isinstance(node, tree.Member | tree.Call) and node.safe and node.target is not None:
                node = node.target
            elif isinstance(node, tree.TypeOperation) and node.operator == "as?":
                node = node.operand
            else:
                return known

    def fail(self, message: str, node: tree.Node) -> NoReturn:
        raise ExpressionError(shorten(message, 280), self.text, node.column)

    def step(self, node: tree.Node) -> None:
        """Count one step of the check, because nested overloads could make it take very long."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            self.fail("this is too complicated to check; split it into several assertions", node)

    def boolean(self, node: tree.Node, names: Names) -> None:
        """Raise unless `node` is a Boolean."""
        self.is_boolean(self.infer(node, names), node)

    def is_boolean(self, kind: Type, node: tree.Node) -> None:
        if kind.name == "Boolean" and kind.nullable:
            self.fail("this may be null here; compare it with == true", node)
        if kind.name not in ("Boolean", "?", "Nothing") or kind.nullable:
            self.fail(f"a Boolean is required here, not {kind}", node)

    def number(self, node: tree.Node, kind: Type, expected: Type | None) -> Type:
        """Return the type of a whole number: a Long if one is expected."""
        if kind.name == "Literal" and expected is not None and expected.name == "Long":
            self.numbers[id(node)] = Long
            return expected.required
        return kind

    def settle(self, node: tree.Node, kind: Type, wanted: Type) -> None:
        """Turn an integer literal into a Long if its context requires one."""
        if kind.name != "Literal" or wanted.name != "Long":
            return
        match node:
            case tree.Literal() | tree.Unary():
                self.numbers[id(node)] = Long
            case tree.If(then=then, otherwise=otherwise):
                self.settle(then, kind, wanted)
                self.settle(otherwise, kind, wanted)
            case tree.When(branches=branches):
                for branch in branches:
                    self.settle(branch.value, kind, wanted)
            case tree.Declarations(result=result):
                self.settle(result, kind, wanted)

    def call(self, node: tree.Call, names: Names, expected: Type | None) -> Type:
        """Return the type of a call, by the first signature that fits."""
        if node.target is None:
            return self.plain_call(node, names, expected)
        if (
            node.name == "format"
            and isinstance(node.target, tree.Literal)
            and type(node.target.value) is str
        ):
            odd = sorted(set(_SPECIFIER.findall(node.target.value)) - set("sSdxXofcCbBn%"))
            if odd:
                self.fail(
                    f"%{odd[0]} is not supported in a format; %s, %d, %x, %o, %f, %c and %b are",
                    node,
                )
        receiver = self.infer(node.target, names)
        self.exists(node, METHODS, receiver)
        result = self.method(node, receiver.required if node.safe else receiver, names, expected)
        if result is None:
            self.no_method(node, receiver)
        given = [argument.value for argument in node.arguments]
        if node.name == "equals":
            self.may_be(node.target, receiver, given, names)
        elif node.name == "contains" and len(given) == 1:
            self.may_be(given[0], UNKNOWN, _elements(node.target), names)
        if node.safe and receiver.nullable:
            return result.optional
        return result

    def plain_call(self, node: tree.Call, names: Names, expected: Type | None) -> Type:
        if node.name in METHODS:
            for receiver in names.receivers:
                kind = self.method(node, receiver, names, expected)
                if kind is not None:
                    return kind
        self.exists(node, FUNCTIONS, None)
        return self.choose(node, [(part, {}) for part in FUNCTIONS[node.name]], names, expected)

    def exists(
        self, node: tree.Call, known: dict[str, list[Signature]], receiver: Type | None
    ) -> None:
        """Raise if nothing can be called by this name."""
        if node.name in known:
            return
        if node.name in INSTEAD:
            self.fail(INSTEAD[node.name], node)
        if receiver is not None and (
            node.name in PROPERTIES or self.property(receiver.required, node.name)
        ):
            self.fail(f"{node.name} is a property: write it without parentheses", node)
        self.fail(f"unknown function {shorten(node.name, 40)}{nearest(node.name, known)}", node)

    def method(
        self, node: tree.Call, receiver: Type, names: Names, expected: Type | None
    ) -> Type | None:
        """Return the type of a call on `receiver`, or None if it has no such function."""
        fitting = []
        for signature in METHODS[node.name]:
            bound: dict[str, Type] = {}
            assert signature.receiver is not None
            if self.classes.unify(signature.receiver, receiver, bound):
                bound["<receiver>"] = receiver
                fitting.append((signature, bound))
        if not fitting:
            return None
        if receiver.name == "?":
            return self.unknown(node, fitting, names)
        return self.choose(node, fitting, names, expected)

    def unknown(
        self, node: tree.Call, fitting: list[tuple[Signature, dict[str, Type]]], names: Names
    ) -> Type:
        """Check the arguments of a call on a value of a type that is not known."""
        if not any(bind(signature, node.arguments) is not None for signature, _ in fitting):
            self.wrong_arguments(node, [signature for signature, _ in fitting])
        for argument in node.arguments:
            if isinstance(argument.value, tree.Lambda):
                given = (UNKNOWN,) * max(1, len(argument.value.parameters))
                self.lambda_(argument.value, given, names, node.name)
            elif not isinstance(argument.value, tree.Reference):
                self.infer(argument.value, names)
        return UNKNOWN

    def choose(
        self,
        node: tree.Call,
        fitting: list[tuple[Signature, dict[str, Type]]],
        names: Names,
        expected: Type | None,
    ) -> Type:
        """Return the result of the first signature that accepts the arguments.

        Raises:
            ExpressionError: no signature takes the arguments.
        """
        placed = [
            (signature, bound, places)
            for signature, bound in fitting
            if (places := bind(signature, node.arguments)) is not None
        ]
        if not placed:
            self.wrong_arguments(node, [signature for signature, _ in fitting])
        first: ExpressionError | None = None
        for signature, bound, places in placed:
            before = dict(self.numbers)
            try:
                return self.apply(node, signature, bound, places, names, expected)
            except ExpressionError as error:
                self.numbers = before
                if first is None or error.column > first.column:
                    first = error
        assert first is not None
        raise first

    def wrong_arguments(self, node: tree.Call, fitting: list[Signature]) -> NoReturn:
        forms = dict.fromkeys(describe(signature) for signature in fitting)
        self.fail(f"{node.name} is written {' or '.join(forms)}", node)

    def apply(
        self,
        node: tree.Call,
        signature: Signature,
        bound: dict[str, Type],
        places: list[int],
        names: Names,
        expected: Type | None,
    ) -> Type:
        """Return the result type of `signature` for these arguments; raise if they do not fit."""
        if node.types:
            order = sorted(_own_variables(signature))
            if len(order) < len(node.types):
                self.fail(f"{node.name} has {len(order) or 'no'} type arguments", node)
            bound.update(zip(order, node.types, strict=False))
        parameters = signature.parameters or ()
        given: list[tuple[tree.Node, Type, Type]] = []
        # As in Kotlin, the types of lambdas are inferred after those of all other arguments, which
        # may bind `it`.
        lambdas: list[tuple[tree.Argument, Type]] = []
        # What the expected result says about type variables is only a hint: an argument may bind
        # them otherwise.
        hoped: dict[str, Type] = {}
        if expected is not None and not self.classes.unify(signature.result, expected, hoped):
            hoped = {}
        for argument, place in zip(node.arguments, places, strict=True):
            wanted = parameters[place].kind
            if wanted.is_function:
                lambdas.append((argument, wanted))
                continue
            kind = self.infer(argument.value, names, substitute(wanted, {**hoped, **bound}))
            if not self.classes.unify(wanted, kind, bound):
                shown = substitute(wanted, bound, final=True)
                self.fail(f"{node.name} takes {shown} here, not {kind}", argument.value)
            receiver = bound.get("<receiver>", UNKNOWN)
            if node.name == "format" and kind.name == "Nothing" and len(places) == 1:
                self.fail(
                    "null alone is not a list of values; write format(listOf(null).first())",
                    argument.value,
                )
            if (
                node.name == "equals"
                and receiver.name in TEXT_ENUMS
                and kind.name == "String"
                and len(places) == 1
            ):
                self.fail("a role never equals a text by equals(); write == or .name", node)
            given.append((argument.value, wanted, kind))
        if expected is not None and lambdas:
            hoped = dict(bound)
            if self.classes.unify(signature.result, expected, hoped):
                bound.update({name: kind for name, kind in hoped.items() if name not in bound})
        for argument, wanted in lambdas:
            self.function(node, argument.value, wanted, bound, names)
        # Whether an integer literal must be a `Long` is known only now, when every variable is
        # bound.
        for value, wanted, kind in given:
            self.settle(value, kind, substitute(wanted, bound))
        return self.result(node, signature, bound, expected)

    def function(
        self, node: tree.Call, value: tree.Node, wanted: Type, bound: dict[str, Type], names: Names
    ) -> None:
        """Check a lambda or reference, and bind the type variables that its result determines."""
        *takes, gives = wanted.args
        fixed = set().union(*(variables(kind) for kind in takes))
        for name in fixed & bound.keys():
            bound[name] = substitute(Type(name), bound, final=True)
        if isinstance(value, tree.Lambda) and any(value.types):
            for kind, written in zip(takes, value.types, strict=False):
                if written is None:
                    continue
                known = substitute(kind, bound)
                fits = bool(variables(known)) or self.classes.fits(known, written)
                if not fits or not self.classes.unify(kind, written, bound):
                    self.fail(
                        f"{node.name} gives its lambda {substitute(kind, bound, final=True)}", value
                    )
        if any(name not in bound for name in fixed):
            self.fail(
                f"the types that {node.name} works on are not known here; write"
                f" {node.name}<Type> …",
                value,
            )
        inner = tuple(substitute(kind, bound, final=True) for kind in takes)
        if isinstance(value, tree.Reference):
            kind = self.refer(value, inner, names)
        else:
            assert isinstance(value, tree.Lambda)
            kind = self.lambda_(
                value, inner, names, value.label or node.name, receiver=wanted.name == "fun."
            )
        if gives.name == "Unit":
            return
        if gives.name == "N" and kind.name == "Literal":
            self.fail(
                "Kotlin cannot tell which number this is; use count { … }, or write 1L or 1.0", node
            )
        body = value.body if isinstance(value, tree.Lambda) else value
        if gives == BOOLEAN:
            self.is_boolean(kind, body)
        elif not self.classes.unify(gives, kind, bound, fixed):
            shown = substitute(gives, bound, final=True)
            what = {
                "C": "something with an order",
                "N": "a number",
                "Comparable": "something with an order",
            }
            self.fail(f"this lambda must give {what.get(gives.name, shown)}, not {kind}", body)
        self.settle(body, kind, substitute(gives, bound))

    def lambda_(
        self,
        node: tree.Lambda,
        given: tuple[Type, ...],
        names: Names,
        label: str,
        *,
        receiver: bool = False,
    ) -> Type:
        """Return the type of a lambda's value, its parameters being of the types `given`."""
        inner = names
        if receiver:
            inner = names.receiving(given[0])
        elif not node.parameters and given:
            inner = names.bind({"it": given[0]})
        flat: list[str] = []
        for part in node.parameters:
            flat += [part] if isinstance(part, str) else part
        named = [name for name in flat if name != "_"]
        if len(set(named)) < len(named):
            self.fail("two parameters have the same name", node)
        for pattern, kind in zip(node.parameters, given, strict=False):
            inner = inner.bind(self.destructure(pattern, kind, node))
        self.returns.pop(id(node), None)
        known, self.known_facts = self.known_facts, {}
        kind = self.infer(node.body, inner.labelled(label, id(node)))
        self.known_facts = known
        for _, other in self.returns.get(id(node), ()):
            kind = self.classes.join(kind, other)
        return kind

    def destructure(self, pattern: tree.Pattern, kind: Type, node: tree.Node) -> dict[str, Type]:
        """Return the names of a pattern with their types."""
        if isinstance(pattern, str):
            if pattern == "_":
                return {}
            return {pattern: kind}
        parts: tuple[Type, ...] = ()
        if kind.name == "?":
            parts = (UNKNOWN,) * len(pattern)
        elif kind.name in ("Pair", "Triple", "Entry") and not kind.nullable:
            parts = kind.args
        elif kind.name == "IndexedValue":
            parts = (INT, kind.args[0])
        elif kind.name in RECORDS and not kind.nullable:
            parts = tuple(prop.type for prop in RECORDS[kind.name].values() if prop.component)
        elif as_list := self.classes.supertype(kind, "List"):
            parts = (as_list.args[0],) * min(5, len(pattern))
        if len(parts) < len(pattern):
            self.fail(f"{kind} cannot be destructured into {plural(len(pattern), 'value')}", node)
        return {name: part for name, part in zip(pattern, parts, strict=False) if name != "_"}

    def refer(self, node: tree.Reference, given: tuple[Type, ...], names: Names) -> Type:
        """Return the type of the value of `Owner::name` for values of the types `given`."""
        before = dict(self.numbers)  # by `id`, which a node made here does not keep
        try:
            return self.call_reference(node, given, names)
        finally:
            self.numbers = before

    def call_reference(self, node: tree.Reference, given: tuple[Type, ...], names: Names) -> Type:
        arguments = [tree.Name(node.column, f"<{place}>") for place in range(len(given))]
        inner = names.bind({part.name: kind for part, kind in zip(arguments, given, strict=True)})
        if not node.owner:
            call = tree.Call(node.column, None, node.name, tuple(map(tree.Argument, arguments)))
            return self.plain_call(call, inner, None)
        if node.owner not in self.classes:
            self.fail(
                "unknown type"
                f" {shorten(node.owner, 40)}{nearest(node.owner, self.classes.names())}",
                node,
            )
        if not given or (
            given[0].name != "?" and self.classes.supertype(given[0], node.owner) is None
        ):
            self.fail(
                f"{node.owner}::{shorten(node.name, 40)} takes {node.owner}, not"
                f" {', '.join(map(str, given))}",
                node,
            )
        if len(given) == 1:
            found = self.property(given[0], node.name)
            if found is not None:
                return found
        return self.call(
            tree.Call(
                node.column, arguments[0], node.name, tuple(map(tree.Argument, arguments[1:]))
            ),
            inner,
            None,
        )

    def result(
        self, node: tree.Call, signature: Signature, bound: dict[str, Type], expected: Type | None
    ) -> Type:
        """Return the type of a call's result, and note which integer literals become a Long or a
        Double.
        """
        if expected is not None and signature.receiver is None:
            hoped = dict(bound)
            if self.classes.unify(signature.result, expected, hoped):
                bound = {**hoped, **bound}
        receiver = bound.get("<receiver>", UNKNOWN)
        given = substitute(signature.result, bound, final=True)
        if given.name in ("Same", "Many"):
            is_text = receiver.name == "String" or receiver.name in TEXT_ENUMS
            if is_text and given.name == "Same":
                given = STRING
            elif self.classes.supertype(receiver, "Sequence"):
                given = Type("Sequence", given.args)
            else:
                given = Type("List", given.args)
        if signature.receiver is not None and signature.receiver.nullable:
            self.of_null[id(node)] = signature
        if signature.result.name == "N" and given.name in ("Long", "Double"):
            self.numbers[id(node)] = Long if given.name == "Long" else float
        return given

    def no_method(self, node: tree.Call, receiver: Type) -> NoReturn:
        name = node.name
        if receiver.nullable and self.method_exists(node, receiver.required):
            self.fail(f"this may be null here; write ?.{name}(…), or give a default with ?:", node)
        if receiver.required == ANY:
            shown = METHODS[name][0].receiver
            self.fail(
                f"a value of any type has no {name}; write (… as {_plain(shown)}).{name}, or as?"
                " with ?.",
                node,
            )
        if name == "size" or self.property(receiver.required, name) is not None:
            self.fail(f"{name} is a property: write it without parentheses", node)
        owners = sorted({_plain(signature.receiver) for signature in METHODS[name]})
        self.fail(f"{receiver.required} has no {name}; it works on {' and '.join(owners)}", node)

    def method_exists(self, node: tree.Call, receiver: Type) -> bool:
        """Return whether a type has a function of the call's name."""
        return any(
            self.classes.unify(signature.receiver, receiver, {})
            for signature in METHODS[node.name]
            if signature.receiver is not None
        )


def _lost(root: tree.Node) -> tree.Node | None:
    """Return a branch in braces of the `if` or `when` that is the last expression: Kotlin 1.9
    scripts give false.
    """
    if isinstance(root, tree.Declarations):
        return _lost(root.result)
    branches: list[tree.Node] = []
    if isinstance(root, tree.If):
        branches = [root.then, root.otherwise]
    elif isinstance(root, tree.When):
        branches = [branch.value for branch in root.branches]
    for branch in branches:
        lost = branch if isinstance(branch, tree.Declarations) else _lost(branch)
        if lost is not None:
            return lost
    return None


def _subject_facts(facts: Facts, key: str) -> Facts:
    """Return the smart casts of a `when`'s subject, also for its name."""
    if key and tree.SUBJECT in facts:
        return {**facts, key: facts[tree.SUBJECT]}
    return facts


def _properties(kind: Type) -> Iterable[str]:
    return RECORDS.get(kind.name, ())


def _elements(node: tree.Node) -> Iterable[tree.Node]:
    """Return the elements of a list or set that is written out."""
    if isinstance(node, tree.Call) and node.target is None and node.name in ("listOf", "setOf"):
        return [argument.value for argument in node.arguments]
    return ()


def _is_null(node: tree.Node) -> bool:
    return isinstance(node, tree.Literal) and node.value is None


def _hides_role(left: Type, right: Type) -> bool:
    """Return whether lists or maps of roles are compared with lists or maps of texts, which are
    never equal.
    """
    if len(left.args) != len(right.args):
        return False
    return any(
        ({one.name, other.name} & set(TEXT_ENUMS) and "String" in (one.name, other.name))
        or _hides_role(one, other)
        for one, other in zip(left.args, right.args, strict=True)
    )


def _plain(kind: Type | None) -> str:
    """Return what to call the receiver of a declaration in a message."""
    if kind is None or kind.is_variable:
        return {"N": "numbers", "C": "what has an order"}.get(kind.name if kind else "", "anything")
    return {"Each": "List", "Items": "List", "Flow": "List", "Iterable": "List"}.get(
        kind.name, kind.name
    )


def _own_variables(signature: Signature) -> set[str]:
    """Return the type variables that `name<…>` sets: those that the receiver does not determine."""
    names = variables(signature.result)
    for parameter in signature.parameters or ():
        names |= variables(parameter.kind)
    if signature.receiver:
        names -= variables(signature.receiver)
    return names
