"""Types of calls: the matching signature, its type variables, and the parameters of its lambdas."""

from __future__ import annotations

import re
from typing import NoReturn

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.limits import Limits
from bioeval_tui.evaluation.assertions.expressions.names import Names
from bioeval_tui.evaluation.assertions.expressions.scope import RECORDS, TEXT_ENUMS
from bioeval_tui.evaluation.assertions.expressions.signatures import (
    FUNCTIONS,
    METHODS,
    PROPERTIES,
    Signature,
    bind,
    describe,
    nearest,
)
from bioeval_tui.evaluation.assertions.expressions.tree import (
    Argument,
    Call,
    Declarations,
    If,
    Lambda,
    Literal,
    Name,
    Node,
    Pattern,
    Reference,
    Unary,
    When,
)
from bioeval_tui.evaluation.assertions.expressions.types import (
    ANY,
    BOOLEAN,
    CLASSES,
    INT,
    PUBLISHED,
    UNKNOWN,
    Type,
    substitute,
    variables,
)
from bioeval_tui.evaluation.assertions.expressions.values import Long
from bioeval_tui.text import shorten

MOST_STEPS = 60_000
_SPECIFIER = re.compile(r"%[-0+ ,#(\d.$]*([a-zA-Z%])")
INSTEAD = {
    "forEach": "forEach has no value; use any, all, map or count",
    "onEach": "onEach changes nothing; leave it out",
    "println": "printing is not supported; an assertion is its value",
    "print": "printing is not supported; an assertion is its value",
    "assert": "leave assert out: the condition itself is the assertion",
    "require": "leave require out: the condition itself is the assertion",
    "check": "leave check out: the condition itself is the assertion",
    "buildString": "buildString is not supported; write a text with ${…} or joinToString",
    "buildList": "buildList is not supported; write listOf(…) + …",
    "runCatching": "exceptions are not supported; use toIntOrNull, firstOrNull, as? and their like",
    "hashCode": "hash codes are not supported; compare the values",
    "toFloat": "Float is not supported; use toDouble()",
    "toBigDecimal": "BigDecimal is not supported; use toDouble()",
    "javaClass": "classes are tested with `is`, such as it is FunctionCallEvent",
    "groups": "groups is not supported; write groupValues[1]",
    "copy": "objects cannot be copied; compare their properties",
    "component1": "write the property's name, or take the value apart with (a, b)",
    "shuffled": "an assertion must not depend on chance",
    "random": "an assertion must not depend on chance",
    "add": "values cannot change; write list + value",
    "put": "values cannot change; write map + (key to value)",
    "remove": "values cannot change; write list - value",
    "append": "values cannot change; write text + value",
    "arrayOf": "arrays are not supported; write listOf(…)",
    "intArrayOf": "arrays are not supported; write listOf(…)",
    "toTypedArray": "arrays are not supported; leave this out and use the list",
    "hashSetOf": "a set without order is not supported; write setOf(…)",
    "hashMapOf": "a map without order is not supported; write mapOf(…)",
    "buildSet": "buildSet is not supported; write setOf(…) + …",
    "buildMap": "buildMap is not supported; write mapOf(…) + …",
    "firstKey": "write keys.first()",
    "lastKey": "write keys.last()",
    "let": "let is written after a value: value.let { … }",
    "also": "also is written after a value: value.also { … }",
    "apply": "apply is written after a value: value.apply { … }",
    "CASE_INSENSITIVE_ORDER": "write compareBy { it.lowercase() }",
    "repeat": "loops are not supported; use (1..n).map { … }",
    "iterator": "iterators are not supported; use any, all, map and their like",
}


class Calls:
    """The part of the type checker for calls; `infer` and `property` are the checker's."""

    def __init__(self, text: str, limits: Limits, published: bool) -> None:
        self.text = text
        self.limits = limits
        self.published = published
        self.classes = PUBLISHED if published else CLASSES
        self.numbers: dict[int, type] = {}
        self.returns: dict[int, list[tuple[Node, Type]]] = {}
        self.known_facts: dict[tuple[int, bool], dict[str, Type]] = {}
        self.of_null: dict[int, Signature] = {}
        self._steps = 0

    def infer(self, node: Node, names: Names, expected: Type | None = None) -> Type:
        """Return the type of a node."""
        raise NotImplementedError

    def property(self, receiver: Type, name: str) -> Type | None:
        """Return the type of a property, or None."""
        raise NotImplementedError

    def fail(self, message: str, node: Node) -> NoReturn:
        raise ExpressionError(shorten(message, 280), self.text, node.column)

    def step(self, node: Node) -> None:
        """Count one step of the check, because nested overloads could make it take very long."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            self.fail("this is too complicated to check; split it into several assertions", node)

    def boolean(self, node: Node, names: Names) -> None:
        """Raise unless `node` is a Boolean."""
        self.is_boolean(self.infer(node, names), node)

    def is_boolean(self, kind: Type, node: Node) -> None:
        if kind.name == "Boolean" and kind.nullable:
            self.fail("this may be null here; compare it with == true", node)
        if kind.name not in ("Boolean", "?", "Nothing") or kind.nullable:
            self.fail(f"a Boolean is required here, not {kind}", node)

    def number(self, node: Node, kind: Type, expected: Type | None) -> Type:
        """Return the type of a whole number: a Long if one is expected."""
        if kind.name == "Literal" and expected is not None and expected.name == "Long":
            self.numbers[id(node)] = Long
            return expected.required
        return kind

    def settle(self, node: Node, kind: Type, wanted: Type) -> None:
        """Turn an integer literal into a Long if its context requires one."""
        if kind.name != "Literal" or wanted.name != "Long":
            return
        match node:
            case Literal() | Unary():
                self.numbers[id(node)] = Long
            case If(then=then, otherwise=otherwise):
                self.settle(then, kind, wanted)
                self.settle(otherwise, kind, wanted)
            case When(branches=branches):
                for branch in branches:
                    self.settle(branch.value, kind, wanted)
            case Declarations(result=result):
                self.settle(result, kind, wanted)

    def call(self, node: Call, names: Names, expected: Type | None) -> Type:
        """Return the type of a call, by the first signature that fits."""
        if node.target is None:
            return self.plain_call(node, names, expected)
        if node.name == "format" and isinstance(node.target, Literal) and type(node.target.value) is str:
            odd = sorted(set(_SPECIFIER.findall(node.target.value)) - set("sSdxXofcCbBn%"))
            if odd:
                self.fail(f"%{odd[0]} is not supported in a format; %s, %d, %x, %o, %f, %c and %b are", node)
        receiver = self.infer(node.target, names)
        self.exists(node, METHODS, receiver)
        result = self.method(node, receiver.required if node.safe else receiver, names, expected)
        if result is None:
            self.no_method(node, receiver)
        return result.optional if node.safe and receiver.nullable else result

    def plain_call(self, node: Call, names: Names, expected: Type | None) -> Type:
        for receiver in names.receivers:
            found = self.method(node, receiver, names, expected) if node.name in METHODS else None
            if found is not None:
                return found
        self.exists(node, FUNCTIONS, None)
        return self.chosen(node, [(part, {}) for part in FUNCTIONS[node.name]], names, expected)

    def exists(self, node: Call, known: dict[str, list[Signature]], receiver: Type | None) -> None:
        """Raise if nothing can be called by this name."""
        if node.name in known:
            return
        if node.name in INSTEAD:
            self.fail(INSTEAD[node.name], node)
        if receiver is not None and (node.name in PROPERTIES or self.property(receiver.required, node.name)):
            self.fail(f"{node.name} is a property: write it without parentheses", node)
        self.fail(f"unknown function {shorten(node.name, 40)}{nearest(node.name, known)}", node)

    def method(self, node: Call, receiver: Type, names: Names, expected: Type | None) -> Type | None:
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
        return self.chosen(node, fitting, names, expected)

    def unknown(self, node: Call, fitting: list[tuple[Signature, dict[str, Type]]], names: Names) -> Type:
        """Check the arguments of a call on a value of a type that is not known."""
        if not any(bind(signature, node.arguments) is not None for signature, _ in fitting):
            self.wrong_arguments(node, [signature for signature, _ in fitting])
        for argument in node.arguments:
            if isinstance(argument.value, Lambda):
                given = (UNKNOWN,) * max(1, len(argument.value.parameters))
                self.lambda_(argument.value, given, names, node.name)
            elif not isinstance(argument.value, Reference):
                self.infer(argument.value, names)
        return UNKNOWN

    def chosen(
        self,
        node: Call,
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
                return self.applied(node, signature, bound, places, names, expected)
            except ExpressionError as error:
                self.numbers = before
                if first is None or error.column > first.column:
                    first = error
        assert first is not None
        raise first

    def wrong_arguments(self, node: Call, fitting: list[Signature]) -> NoReturn:
        forms = dict.fromkeys(describe(signature) for signature in fitting)
        self.fail(f"{node.name} is written {' or '.join(forms)}", node)

    def applied(
        self,
        node: Call,
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
        given: list[tuple[Node, Type, Type]] = []
        lambdas: list[tuple[Argument, Type]] = []
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
                    "null alone is not a list of values; write format(listOf(null).first())", argument.value
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
        for value, wanted, kind in given:
            self.settle(value, kind, substitute(wanted, bound))
        return self.result(node, signature, bound, expected)

    def function(self, node: Call, value: Node, wanted: Type, bound: dict[str, Type], names: Names) -> None:
        """Check a lambda or reference, and bind the type variables that its result determines."""
        *takes, gives = wanted.args
        fixed = set().union(*(variables(kind) for kind in takes))
        for name in fixed & bound.keys():
            bound[name] = substitute(Type(name), bound, final=True)
        if isinstance(value, Lambda) and any(value.types):
            for kind, written in zip(takes, value.types, strict=False):
                known = substitute(kind, bound)
                fits = (
                    self.classes.fits(known, written)
                    if written is not None and not variables(known)
                    else True
                )
                if not fits or (written is not None and not self.classes.unify(kind, written, bound)):
                    self.fail(f"{node.name} gives its lambda {substitute(kind, bound, final=True)}", value)
        if any(name not in bound for name in fixed):
            self.fail(
                f"the types that {node.name} works on are not known here; write {node.name}<Type> …", value
            )
        inner = tuple(substitute(kind, bound, final=True) for kind in takes)
        if isinstance(value, Reference):
            kind = self.referred(value, inner, names)
        else:
            assert isinstance(value, Lambda)
            kind = self.lambda_(value, inner, names, value.label or node.name, receiver=wanted.name == "fun.")
        if gives.name == "Unit":
            return
        if gives.name == "N" and kind.name == "Literal":
            self.fail("Kotlin cannot tell which number this is; use count { … }, or write 1L or 1.0", node)
        body = value.body if isinstance(value, Lambda) else value
        if gives == BOOLEAN:
            self.is_boolean(kind, body)
        elif not self.classes.unify(gives, kind, bound, fixed):
            shown = substitute(gives, bound, final=True)
            what = {"C": "something with an order", "N": "a number", "Comparable": "something with an order"}
            self.fail(f"this lambda must give {what.get(gives.name, shown)}, not {kind}", body)
        self.settle(body, kind, substitute(gives, bound))

    def lambda_(
        self, node: Lambda, given: tuple[Type, ...], names: Names, label: str, *, receiver: bool = False
    ) -> Type:
        """Return the type of a lambda's value, its parameters being of the types `given`."""
        inner = names.within(given[0]) if receiver else names
        if not receiver and not node.parameters and given:
            inner = inner.bind({"it": given[0]})
        flat = [name for part in node.parameters for name in ([part] if isinstance(part, str) else part)]
        named = [name for name in flat if name != "_"]
        if len(set(named)) < len(named):
            self.fail("two parameters have the same name", node)
        for pattern, kind in zip(node.parameters, given, strict=False):
            inner = inner.bind(self.taken_apart(pattern, kind, node))
        self.returns.pop(id(node), None)
        known, self.known_facts = self.known_facts, {}
        kind = self.infer(node.body, inner.labelled(label, id(node)))
        self.known_facts = known
        for _, other in self.returns.get(id(node), ()):
            kind = self.classes.join(kind, other)
        return kind

    def taken_apart(self, pattern: Pattern, kind: Type, node: Node) -> dict[str, Type]:
        """Return the names of a pattern with their types."""
        if isinstance(pattern, str):
            return {} if pattern == "_" else {pattern: kind}
        parts: tuple[Type, ...] = ()
        if kind.name == "?":
            parts = (UNKNOWN,) * len(pattern)
        elif kind.name in ("Pair", "Triple", "Entry") and not kind.nullable:
            parts = kind.args
        elif kind.name == "IndexedValue":
            parts = (INT, kind.args[0])
        elif kind.name in RECORDS and not kind.nullable:
            parts = tuple(prop.type for prop in RECORDS[kind.name].values() if prop.component)
        elif found := self.classes.as_a(kind, "List"):
            parts = (found.args[0],) * min(5, len(pattern))
        if len(parts) < len(pattern):
            self.fail(f"{kind} cannot be destructured into {len(pattern)} values", node)
        return {name: part for name, part in zip(pattern, parts, strict=False) if name != "_"}

    def referred(self, node: Reference, given: tuple[Type, ...], names: Names) -> Type:
        """Return the type of the value of `Owner::name` for values of the types `given`."""
        before = dict(self.numbers)  # by `id`, which a node made here does not keep
        try:
            return self.called(node, given, names)
        finally:
            self.numbers = before

    def called(self, node: Reference, given: tuple[Type, ...], names: Names) -> Type:
        arguments = [Name(node.column, f"<{place}>") for place in range(len(given))]
        inner = names.bind({part.name: kind for part, kind in zip(arguments, given, strict=True)})
        if not node.owner:
            call = Call(node.column, None, node.name, tuple(map(Argument, arguments)))
            return self.plain_call(call, inner, None)
        if node.owner not in self.classes:
            self.fail(
                f"unknown type {shorten(node.owner, 40)}{nearest(node.owner, self.classes.names())}", node
            )
        if not given or (given[0].name != "?" and self.classes.as_a(given[0], node.owner) is None):
            self.fail(
                f"{node.owner}::{shorten(node.name, 40)} takes {node.owner}, not {', '.join(map(str, given))}",
                node,
            )
        found = self.property(given[0], node.name) if len(given) == 1 else None
        if found is not None:
            return found
        return self.call(
            Call(node.column, arguments[0], node.name, tuple(map(Argument, arguments[1:]))), inner, None
        )

    def result(self, node: Call, signature: Signature, bound: dict[str, Type], expected: Type | None) -> Type:
        """Return the type of a call's result, and note which integer literals become a Long or a Double."""
        if expected is not None and signature.receiver is None:
            hoped = dict(bound)
            if self.classes.unify(signature.result, expected, hoped):
                bound = {**hoped, **bound}
        receiver = bound.get("<receiver>", UNKNOWN)
        given = substitute(signature.result, bound, final=True)
        if given.name in ("Same", "Many"):
            text = receiver.name == "String" or receiver.name in TEXT_ENUMS
            kind = "Sequence" if self.classes.as_a(receiver, "Sequence") else "List"
            given = Type("String") if text and given.name == "Same" else Type(kind, given.args)
        if signature.receiver is not None and signature.receiver.nullable:
            self.of_null[id(node)] = signature
        if signature.result.name == "N" and given.name in ("Long", "Double"):
            self.numbers[id(node)] = Long if given.name == "Long" else float
        return given

    def no_method(self, node: Call, receiver: Type) -> NoReturn:
        name = node.name
        if receiver.nullable and self.method_exists(node, receiver.required):
            self.fail(f"this may be null here; write ?.{name}(…), or give a default with ?:", node)
        if receiver.required == ANY:
            shown = METHODS[name][0].receiver
            self.fail(
                f"a value of any type has no {name}; write (… as {_plain(shown)}).{name}, or as? with ?.",
                node,
            )
        if name == "size" or self.property(receiver.required, name) is not None:
            self.fail(f"{name} is a property: write it without parentheses", node)
        owners = sorted({_plain(signature.receiver) for signature in METHODS[name]})
        self.fail(f"{receiver.required} has no {name}; it works on {' and '.join(owners)}", node)

    def method_exists(self, node: Call, receiver: Type) -> bool:
        """Return whether a type has a function of the call's name."""
        return any(
            self.classes.unify(signature.receiver, receiver, {})
            for signature in METHODS[node.name]
            if signature.receiver is not None
        )


def _plain(kind: Type | None) -> str:
    """Return what to call the receiver of a declaration in a message."""
    if kind is None or kind.is_variable:
        return {"N": "numbers", "C": "what has an order"}.get(kind.name if kind else "", "anything")
    return {"Each": "List", "Items": "List", "Flow": "List", "Iterable": "List"}.get(kind.name, kind.name)


def _own_variables(signature: Signature) -> set[str]:
    """Return the type variables that `name<…>` sets: those that the receiver does not determine."""
    found = variables(signature.result)
    for parameter in signature.parameters or ():
        found |= variables(parameter.kind)
    return found - (variables(signature.receiver) if signature.receiver else set())
