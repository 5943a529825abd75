"""The tree walk: nothing happens but what one of the methods below does for its kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions import operators
from bioeval_tui.evaluate.assertions.expressions.comparison import key_of, to_text
from bioeval_tui.evaluate.assertions.expressions.limits import Budget, Limits
from bioeval_tui.evaluate.assertions.expressions.signatures import (
    FUNCTIONS,
    METHODS,
    PROPERTIES,
    Signature,
    bind,
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
    Pattern,
    Template,
    Unary,
)
from bioeval_tui.evaluate.assertions.expressions.values import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    Char,
    Entry,
    Indexed,
    Long,
    Pair,
    Record,
    RegexOption,
    Value,
    type_name,
)

Environment = Mapping[str, Value]
Candidate = tuple[Signature, list[int]]


CONSTANTS: dict[str, Value] = {
    "Int.MAX_VALUE": INT_MAX,
    "Int.MIN_VALUE": INT_MIN,
    "Long.MAX_VALUE": Long(LONG_MAX),
    "Long.MIN_VALUE": Long(LONG_MIN),
    "Double.NaN": float("nan"),
    "Double.POSITIVE_INFINITY": float("inf"),
    "Double.NEGATIVE_INFINITY": float("-inf"),
    **{f"RegexOption.{name}": RegexOption(name) for name in ("IGNORE_CASE", "MULTILINE", "DOT_MATCHES_ALL")},
}
"""What can be written of a type, such as `Int.MAX_VALUE`."""


class Closure:
    """A lambda with the names around it. Calling it evaluates its body."""

    __slots__ = ("_environment", "_evaluation", "_node")

    def __init__(self, evaluation: Evaluation, node: Lambda, environment: Environment) -> None:
        self._evaluation = evaluation
        self._node = node
        self._environment = environment

    def __call__(self, *values: Value) -> Value:
        """Return the body's value with `values` for the parameters."""
        node, budget = self._node, self._evaluation.budget
        names = dict(self._environment)
        parameters: tuple[Pattern, ...] = node.parameters or ("it",)
        for pattern, value in zip(parameters, values, strict=False):
            if isinstance(pattern, str):
                names[pattern] = value
            else:
                names.update(zip(pattern, _components(value, len(pattern), node.column), strict=True))
        held = budget.memory
        result = self._evaluation.walk(node.body, names)
        if result is None or type(result) in (bool, int, float):
            budget.memory = held  # nothing that the body built can still be reached
        return result

    def test(self, *values: Value) -> bool:
        """Return the body's value, which must be a Boolean."""
        result = self(*values)
        if type(result) is not bool:
            raise ExpressionError(
                f"this lambda must give a Boolean, not {type_name(result)}", column=self._node.body.column
            )
        return result


class Evaluation:
    """One evaluation of one expression."""

    def __init__(self, expression: Expression, scope: Environment, limits: Limits) -> None:
        self.expression = expression
        self.scope = scope
        self.budget = Budget(limits)
        self._candidates: dict[int, list[Candidate]] = {}
        self._walks: dict[type, Callable[[Any, Environment], Value]] = {
            Literal: self.literal,
            Template: self.template,
            Name: self.name,
            Member: self.member,
            Index: self.index,
            Call: self.call,
            Unary: self.unary,
            Binary: self.binary,
            Condition: self.condition,
            Lambda: self.function,
        }

    def run(self, finish: Callable[[Value], Value]) -> Value:
        """Return the value of the expression, put through `finish` within the same bounds.

        Raises:
            ExpressionError: with the expression's text, and the column of what failed.
        """
        try:
            return finish(self.walk(self.expression.root, self.scope))
        except ExpressionError as error:
            error.text = self.expression.text
            error.column = error.column or self.expression.root.column
            raise
        except RecursionError:
            raise ExpressionError("nested too deeply", self.expression.text, 1) from None

    def walk(self, node: Node, names: Environment) -> Value:
        """Return the value of one node; an error without a column gets the node's."""
        self.budget.step()
        try:
            return self._walks[type(node)](node, names)
        except ExpressionError as error:
            error.column = error.column or node.column
            raise

    def literal(self, node: Literal, _: Environment) -> Value:
        return node.value

    def template(self, node: Template, names: Environment) -> str:
        parts = [to_text(self.walk(part, names), self.budget) for part in node.parts]
        self.budget.build_text(sum(map(len, parts)))
        return "".join(parts)

    def name(self, node: Name, names: Environment) -> Value:
        if node.name in names:
            return names[node.name]
        raise ExpressionError(f"unknown name {node.name}{nearest(node.name, names)}")

    def function(self, node: Lambda, names: Environment) -> Closure:
        return Closure(self, node, names)

    def condition(self, node: Condition, names: Environment) -> Value:
        chosen = node.then if self.truth(node.condition, names) else node.otherwise
        return self.walk(chosen, names)

    def index(self, node: Index, names: Environment) -> Value:
        return element(self.walk(node.target, names), self.walk(node.place, names), self.budget)

    def unary(self, node: Unary, names: Environment) -> Value:
        if node.operator == "!":
            return not self.truth(node.operand, names)
        value = self.walk(node.operand, names)
        if node.operator == "!!":
            if value is None:
                raise ExpressionError("!! found null")
            return value
        if node.operator == "-":
            return operators.negate(value)
        if type(value) not in operators.NUMBERS:
            raise ExpressionError(f"+ works on numbers, not on {type_name(value)}")
        return value

    def binary(self, node: Binary, names: Environment) -> Value:
        symbol = node.operator
        if symbol == "&&":
            return self.truth(node.left, names) and self.truth(node.right, names)
        if symbol == "||":
            return self.truth(node.left, names) or self.truth(node.right, names)
        left = self.walk(node.left, names)
        if symbol == "?:":
            return self.walk(node.right, names) if left is None else left
        right = self.walk(node.right, names)
        if symbol in ("==", "!="):
            return operators.equals(left, right, self.budget) == (symbol == "==")
        if symbol in ("<", ">", "<=", ">="):
            return operators.compare(symbol, left, right, self.budget)
        if symbol in ("in", "!in"):
            return operators.contains(right, left, self.budget) == (symbol == "in")
        if symbol in ("..", "..<"):
            return operators.span(symbol, left, right)
        return operators.arithmetic(symbol, left, right, self.budget)

    def truth(self, node: Node, names: Environment) -> bool:
        """Return the value of a node that must be a Boolean."""
        value = self.walk(node, names)
        if type(value) is not bool:
            raise ExpressionError(f"a Boolean is needed here, not {type_name(value)}", column=node.column)
        return value

    def member(self, node: Member, names: Environment) -> Value:
        if isinstance(node.target, Name) and node.target.name not in names:
            return self.constant(node, node.target.name)
        target = self.walk(node.target, names)
        if target is None and node.safe:
            return None
        if type(target) is Record and node.name in target:
            return target[node.name]
        for signature in PROPERTIES.get(node.name, ()):
            if type(target) in signature.receiver:
                return signature.compute(self.budget, target)
        raise _no_member(target, node.name)

    def constant(self, node: Member, owner: str) -> Value:
        """Return `Int.MAX_VALUE` and its like."""
        if (constant := f"{owner}.{node.name}") in CONSTANTS:
            return CONSTANTS[constant]
        raise ExpressionError(f"unknown name {constant}")

    def call(self, node: Call, names: Environment) -> Value:
        candidates = self._candidates.get(id(node))
        if candidates is None:
            candidates = self._candidates[id(node)] = list(candidates_of(node))
        receiver: tuple[Value, ...] = ()
        if node.target is not None:
            target = self.walk(node.target, names)
            if target is None and node.safe:
                return None
            candidates = [pair for pair in candidates if type(target) in pair[0].receiver]
            if not candidates:
                raise _no_method(target, node.name)
            receiver = (target,)
        given = [self.walk(argument.value, names) for argument in node.arguments]
        for signature, places in candidates:
            if _accepts(signature, places, given):
                return signature.compute(self.budget, *receiver, *_in_order(signature, places, given))
        shown = ", ".join(type_name(value) for value in given if type(value) is not Closure)
        wanted = " or ".join(dict.fromkeys(describe(signature, types=True) for signature, _ in candidates))
        raise ExpressionError(f"{node.name} was given {shown or 'nothing'}; it is written {wanted}")


def element(target: Value, place: Value, budget: Budget) -> Value:
    """Return `target[place]` of a list, map or text."""
    if type(target) is dict:
        return target.get(key_of(place, budget))
    if type(target) in (list, str):
        if type(place) is not int:
            raise ExpressionError(f"an index is an Int, not {type_name(place)}")
        if not 0 <= place < len(target):
            raise ExpressionError(f"index {place} is out of bounds for length {len(target)}")
        return Char(target[place]) if type(target) is str else target[place]
    if target is None:
        raise ExpressionError("null has no elements; use ?.get(…)")
    hint = "; its properties are read with a dot" if type(target) is Record else ""
    raise ExpressionError(f"{type_name(target)} has no elements by index{hint}")


def candidates_of(node: Call) -> list[Candidate]:
    """Return the signatures that a call fits by name, number and kind of arguments."""
    known = METHODS if node.target is not None else FUNCTIONS
    bound = ((signature, bind(signature, node.arguments)) for signature in known.get(node.name, ()))
    return [(signature, places) for signature, places in bound if places is not None]


def _accepts(signature: Signature, places: list[int], given: list[Value]) -> bool:
    parameters = signature.parameters or ()
    return all(
        type(value) is Closure
        if parameters[place].lambda_size >= 0
        else type(value) in parameters[place].types
        for place, value in zip(places, given, strict=True)
    )


def _in_order(signature: Signature, places: list[int], given: list[Value]) -> list[Value]:
    """Return one value per parameter: the argument, a tuple for `vararg`, or the Python default."""
    parameters = signature.parameters or ()
    defaults = signature.compute.__defaults__ or ()
    values: list[Value] = []
    for place, parameter in enumerate(parameters):
        found = [value for at, value in zip(places, given, strict=True) if at == place]
        if parameter.repeated:
            values.append(tuple(found))
        else:
            values.append(found[0] if found else defaults[place - len(parameters)])
    return values


def _components(value: Value, count: int, column: int) -> list[Value]:
    """Take a value apart for `(a, b) ->`."""
    parts: list[Value] = []
    match value:
        case Pair(first, second):
            parts = [first, second]
        case Entry(key, item) | Indexed(key, item):
            parts = [key, item]
        case list():
            parts = value
    if len(parts) < count:
        raise ExpressionError(f"{type_name(value)} cannot be taken apart into {count} values", column=column)
    return parts[:count]


def _no_member(target: Value, name: str) -> ExpressionError:
    if target is None:
        return ExpressionError(f"null has no {name}; use ?.{name} or test for null first")
    if type(target) is dict:
        return ExpressionError(f'a map has no property {name}; write ["{name}"] instead of .{name}')
    if type(target) is Record:
        return ExpressionError(f"{target.kind} has no property {name}{nearest(name, target)}")
    owners = sorted({signature.shown_receiver for signature in PROPERTIES.get(name, ())})
    hint = f" (it is one of {' and '.join(owners)})" if owners else ""
    return ExpressionError(f"{type_name(target)} has no property {name}{hint}")


def _no_method(target: Value, name: str) -> ExpressionError:
    if target is None:
        return ExpressionError(f"null has no {name}; use ?.{name} or test for null first")
    owners = sorted({signature.shown_receiver for signature in METHODS.get(name, ())})
    shown = " and ".join(owners).replace("|", ", ")
    return ExpressionError(f"{type_name(target)} has no {name}; it works on {shown}")
