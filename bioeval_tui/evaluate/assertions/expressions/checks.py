"""What can be known about an expression before it runs: names, calls, obvious types.

A misspelt name should be an error when the job is loaded, not a false at the end of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.evaluator import CONSTANTS, candidates_of
from bioeval_tui.evaluate.assertions.expressions.limits import Limits
from bioeval_tui.evaluate.assertions.expressions.scope import PROPERTIES_OF_RECORDS, ROOTS
from bioeval_tui.evaluate.assertions.expressions.signatures import (
    FUNCTIONS,
    METHODS,
    PROPERTIES,
    describe,
    nearest,
)
from bioeval_tui.evaluate.assertions.expressions.tree import (
    Binary,
    Call,
    Condition,
    Expression,
    Index,
    Lambda,
    Literal,
    Member,
    Name,
    Node,
    Template,
    Unary,
)
from bioeval_tui.evaluate.assertions.expressions.values import TYPE_NAMES, type_name
from bioeval_tui.text import shorten

_TYPES = {constant.partition(".")[0] for constant in CONSTANTS}
_SCALARS = frozenset(("Int", "Long", "Double", "String", "Char", "Boolean"))
_NUMBERS = frozenset(("Int", "Long", "Double"))
_COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">=", "in", "!in", "&&", "||"))


def check(expression: Expression, limits: Limits) -> None:
    """Raise `ExpressionError` for the first name, call or comparison that cannot work."""
    if isinstance(expression.root, Lambda):
        raise ExpressionError(
            "a lambda can only be given to a function", expression.text, expression.root.column
        )
    _Check(expression.text, limits).visit(expression.root, frozenset(ROOTS), 1)


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below `node`."""
    match node:
        case Template(parts=parts):
            yield from parts
        case Member(target=target):
            yield target
        case Index(target=target, place=place):
            yield from (target, place)
        case Call(target=target, arguments=arguments):
            if target is not None:
                yield target
            yield from (argument.value for argument in arguments)
        case Unary(operand=operand):
            yield operand
        case Binary(left=left, right=right):
            yield from (left, right)
        case Condition(condition=condition, then=then, otherwise=otherwise):
            yield from (condition, then, otherwise)
        case Lambda(body=body):
            yield body


def static_type(node: Node) -> str:
    """Return the type of a node where it is plain from the text alone, else an empty text."""
    match node:
        case Literal(value=value):
            return "" if value is None else type_name(value)
        case Template():
            return "String"
        case Unary(operator="!"):
            return "Boolean"
        case Unary(operand=operand):
            return static_type(operand)
        case Binary(operator=operator, left=left, right=right):
            return "Boolean" if operator in _COMPARISONS else _arithmetic_type(operator, left, right)
        case Condition(then=then, otherwise=otherwise):
            return static_type(then) if static_type(then) == static_type(otherwise) else ""
        case Call(safe=False) | Member(safe=False):
            return _result_type(node)
    return ""


class _Check:
    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits

    def fail(self, message: str, node: Node) -> ExpressionError:
        return ExpressionError(message, self.text, node.column)

    def visit(self, node: Node, names: frozenset[str], depth: int) -> None:
        if depth > self.limits.tree_depth:
            raise self.fail(f"nested more than {self.limits.tree_depth} deep", node)
        target = self.target_of(node, names)
        if target is not None:  # what stands first is said first
            self.visit(target, names, depth + 1)
        match node:
            case Name():
                self.name(node, names)
            case Member():
                self.member(node, names)
            case Call():
                self.call(node)
            case Binary():
                self.binary(node)
            case Unary(operator=operator, operand=operand) if operator == "!":
                self.boolean(operand)
            case Condition(condition=condition):
                self.boolean(condition)
            case Lambda():
                names = names | self.parameters(node)
        if isinstance(node, Member) and isinstance(node.target, Name) and node.target.name in _TYPES - names:
            return
        given = {id(argument.value) for argument in node.arguments} if isinstance(node, Call) else set()
        for child in children(node):
            if child is target:
                continue
            if isinstance(child, Lambda) and id(child) not in given:
                raise self.fail("a lambda can only be given to a function", child)
            self.visit(child, names, depth + 1)

    def target_of(self, node: Node, names: frozenset[str]) -> Node | None:
        """Return what a property or function is asked of, where that is an expression of its own."""
        target = node.target if isinstance(node, Member | Call) else None
        if isinstance(target, Lambda):
            return None
        is_type = isinstance(node, Member) and isinstance(target, Name) and target.name in _TYPES - names
        return None if is_type else target

    def name(self, node: Name, names: frozenset[str]) -> None:
        if node.name in names:
            return
        if node.name == "it":
            raise self.fail("`it` has a meaning only in a lambda without named parameters", node)
        if node.name in FUNCTIONS:
            raise self.fail(f"{node.name} is a function: write {node.name}(…)", node)
        raise self.fail(
            f"unknown name {shorten(node.name, 40)}{nearest(node.name, names | set(FUNCTIONS))}", node
        )

    def member(self, node: Member, names: frozenset[str]) -> None:
        known = PROPERTIES_OF_RECORDS | set(PROPERTIES)
        if isinstance(node.target, Name) and node.target.name in _TYPES - names:
            owner = node.target.name + "."
            known = frozenset(name.removeprefix(owner) for name in CONSTANTS if name.startswith(owner))
        elif isinstance(node.target, Name) and node.target.name in ROOTS:
            known = ROOTS[node.target.name]
        if node.name in known:
            return
        if node.name in METHODS:
            raise self.fail(f"{node.name} is a function: write {describe(METHODS[node.name][0])}", node)
        raise self.fail(f"unknown property {shorten(node.name, 40)}{nearest(node.name, known)}", node)

    def call(self, node: Call) -> None:
        known = METHODS if node.target is not None else FUNCTIONS
        if node.name not in known:
            if node.target is not None and node.name in PROPERTIES:
                raise self.fail(f"{node.name} is a property: write it without parentheses", node)
            raise self.fail(f"unknown function {shorten(node.name, 40)}{nearest(node.name, known)}", node)
        found = candidates_of(node)
        if not found:
            forms = dict.fromkeys(describe(signature) for signature in known[node.name])
            raise self.fail(f"{node.name} is written {' or '.join(forms)}", node)
        if node.target is None or node.safe:
            return
        kind = static_type(node.target)
        if kind and not any(_type_of(kind) in signature.receiver for signature, _ in found):
            raise self.fail(f"{kind} has no {node.name}", node)

    def binary(self, node: Binary) -> None:
        left, right = static_type(node.left), static_type(node.right)
        symbol = node.operator
        if symbol in ("&&", "||"):
            self.boolean(node.left)
            self.boolean(node.right)
        if not (left in _SCALARS and right in _SCALARS):
            return
        unlike = left != right and not (symbol not in ("==", "!=") and {left, right} <= _NUMBERS)
        if symbol in ("==", "!=", "<", ">", "<=", ">=") and unlike:
            raise self.fail(f"cannot compare {left} with {right}", node)
        fits = {left, right} <= _NUMBERS or (symbol == "+" and left == "String")
        if symbol in ("-", "*", "/", "%") and not fits:
            raise self.fail(f"{symbol} does not work on {left} and {right}", node)

    def boolean(self, node: Node) -> None:
        kind = static_type(node)
        if kind and kind != "Boolean":
            raise self.fail(f"a Boolean is needed here, not {kind}", node)

    def parameters(self, node: Lambda) -> frozenset[str]:
        if not node.parameters:
            return frozenset(("it",))
        flat: list[str] = []
        for pattern in node.parameters:
            flat += [pattern] if isinstance(pattern, str) else pattern
        named = [name for name in flat if name != "_"]
        if len(set(named)) < len(named):
            raise self.fail("two parameters have the same name", node)
        return frozenset(named)


def _result_type(node: Call | Member) -> str:
    if isinstance(node, Call):
        signatures = [signature for signature, _ in candidates_of(node)]
    else:
        signatures = PROPERTIES.get(node.name, [])
        if node.name in PROPERTIES_OF_RECORDS:
            return ""
    results = {signature.result for signature in signatures}
    result = results.pop() if len(results) == 1 else ""
    return result if result in _SCALARS else ""


def _arithmetic_type(operator: str, left: Node, right: Node) -> str:
    first, second = static_type(left), static_type(right)
    if operator == "?:":
        return first if first == second else ""
    if operator == "+" and first == "String":
        return "String"
    if operator in ("+", "-", "*", "/", "%") and {first, second} <= _NUMBERS:
        return max(first, second, key=("Int", "Long", "Double").index)
    return ""


def _type_of(name: str) -> type:
    return next(kind for kind, shown in TYPE_NAMES.items() if shown == name)
