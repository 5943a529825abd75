"""The tree-walking interpreter: one method for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.base.text import plural
from bioeval_tui.expressions import operators, tree
from bioeval_tui.expressions.comparing import map_key
from bioeval_tui.expressions.kotlin_types import PUBLISHED, Type
from bioeval_tui.expressions.scopes import CONSTANTS
from bioeval_tui.expressions.signatures import (
    FUNCTIONS,
    METHODS,
    PROPERTIES,
    Signature,
    bind,
    nearest,
    runtime_types,
)
from bioeval_tui.expressions.text_forms import to_text
from bioeval_tui.expressions.values import (
    NUMBERS,
    Budget,
    Char,
    EnumValue,
    Indexed,
    Limits,
    MapEntry,
    Pair,
    Record,
    Triple,
    Value,
    type_name,
)

Environment = Mapping[str, Value]
Candidate = tuple[Signature, list[int]]
"""A signature that a call may mean, and for each argument of the call the index of its
parameter.
"""

_RECEIVERS = "<receivers>"
"""The name under which the values of `this` are stored, innermost first."""


class Closure:
    """A lambda with the names around it. Calling it evaluates its body."""

    __slots__ = ("_environment", "_evaluation", "_label", "_node", "_receiver")

    def __init__(
        self,
        evaluation: ExpressionEvaluation,
        node: tree.Lambda | tree.Reference,
        environment: Environment,
        label: str,
    ) -> None:
        self._evaluation = evaluation
        self._node = node
        self._environment = environment
        self._label = label
        self._receiver = False

    def __call__(self, *values: Value) -> Value:
        """Return the body's value with `values` for the parameters."""
        budget = self._evaluation.budget
        held = budget.memory
        try:
            result = self._result(values)
        except Returned as returned:
            if returned.label != self._label:
                raise
            result = returned.value
        if result is None or type(result) in (bool, int, float):
            budget.memory = held  # nothing that the body built can still be reached
        return result

    def test(self, *values: Value) -> bool:
        """Return the body's value, which must be a Boolean.

        Raises:
            ExpressionError: the value is not a Boolean.
        """
        return boolean(self(*values), self._node)

    def receiving(self) -> Closure:
        """Return the lambda as one whose first value is `this`."""
        self._receiver = True
        return self

    def _result(self, values: tuple[Value, ...]) -> Value:
        node = self._node
        if isinstance(node, tree.Reference):
            return self._evaluation.refer(node, values)
        names = dict(self._environment)
        if self._receiver:
            names["this"] = values[0]
            names[_RECEIVERS] = (values[0], *names.get(_RECEIVERS, ()))
        elif not node.parameters and values:
            names["it"] = values[0]
        for pattern, value in zip(node.parameters, values, strict=False):
            names.update(_named(pattern, value, node.column))
        return self._evaluation.walk(node.body, names)


class Returned(Exception):
    """`return@label value` on its way to the lambda of that label."""

    def __init__(self, label: str, value: Value) -> None:
        super().__init__(label)
        self.label = label
        self.value = value


class ExpressionEvaluation:
    """One evaluation of one expression."""

    def __init__(self, expression: tree.Expression, scope: Environment, limits: Limits) -> None:
        self.expression = expression
        self.scope = scope
        self.budget = Budget(limits)
        self._candidates: dict[tuple[int, bool], list[Candidate]] = {}
        self._references: dict[tuple[int, int], tree.Call] = {}
        self._walks: dict[type, Callable[[Any, Environment], Value]] = {
            tree.Literal: lambda node, _: node.value,
            tree.Template: self.template,
            tree.Name: self.name,
            tree.Member: self.member,
            tree.Index: self.index,
            tree.Call: self.call,
            tree.Unary: self.unary,
            tree.Binary: self.binary,
            tree.TypeOperation: self.type_operation,
            tree.If: self.condition,
            tree.When: self.when,
            tree.Declarations: self.block,
            tree.Return: self.return_value,
        }

    def run(self, finish: Callable[[Value], Value]) -> Value:
        """Return the value of the expression, converted by `finish` within the same limits.

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

    def walk(self, node: tree.Node, names: Environment) -> Value:
        """Return the value of one node; an error without a column gets the node's."""
        self.budget.step()
        try:
            value = self._walks[type(node)](node, names)
        except ExpressionError as error:
            error.column = error.column or node.column
            raise
        number = self.expression.numbers.get(id(node))
        if number is not None and type(value) in NUMBERS:
            return number(value)
        return value

    def template(self, node: tree.Template, names: Environment) -> str:
        parts = [to_text(self.walk(part, names), self.budget) for part in node.parts]
        self.budget.build_text(sum(map(len, parts)))
        return "".join(parts)

    def name(self, node: tree.Name, names: Environment) -> Value:
        if node.name in names:
            return names[node.name]
        for receiver in names.get(_RECEIVERS, ()):
            if (property_ := self.property(receiver, node.name)) is not None:
                return property_[0]
        raise ExpressionError(f"unknown name {node.name}{nearest(node.name, names)}")

    def condition(self, node: tree.If, names: Environment) -> Value:
        if self.truth(node.condition, names):
            return self.walk(node.then, names)
        return self.walk(node.otherwise, names)

    def when(self, node: tree.When, names: Environment) -> Value:
        if node.subject is not None:
            subject = self.walk(node.subject, names)
            names = {**names, tree.SUBJECT: subject}
            if node.name:
                names[node.name] = subject
        for branch in node.branches:
            if not branch.conditions or any(self.truth(test, names) for test in branch.conditions):
                return self.walk(branch.value, names)
        raise ExpressionError("no branch of this `when` matches")

    def block(self, node: tree.Declarations, names: Environment) -> Value:
        for pattern, _, part in node.statements:
            value = self.walk(part, names)
            if pattern is not None:
                names = {**names, **_named(pattern, value, part.column)}
        return self.walk(node.result, names)

    def return_value(self, node: tree.Return, names: Environment) -> Value:
        raise Returned(node.label, self.walk(node.value, names))

    def type_operation(self, node: tree.TypeOperation, names: Environment) -> Value:
        value = self.walk(node.operand, names)
        fits = is_a(value, node.type)
        if node.operator in ("is", "!is"):
            return fits == (node.operator == "is")
        if fits:
            return value
        if node.operator == "as?":
            return None
        raise ExpressionError(f"{type_name(value)} is not a {node.type}; `as?` gives null instead")

    def index(self, node: tree.Index, names: Environment) -> Value:
        return element(self.walk(node.target, names), self.walk(node.place, names), self.budget)

    def unary(self, node: tree.Unary, names: Environment) -> Value:
        if node.operator == "!":
            return not self.truth(node.operand, names)
        value = self.walk(node.operand, names)
        if node.operator == "!!":
            if value is None:
                raise ExpressionError("!! found null")
            return value
        if node.operator == "-":
            return operators.negate(value)
        if type(value) not in NUMBERS:
            raise ExpressionError(f"+ works on numbers, not on {type_name(value)}")
        return value

    def binary(self, node: tree.Binary, names: Environment) -> Value:
        spine = [node]
        while isinstance(spine[-1].left, tree.Binary):
            spine.append(spine[-1].left)
        left = self.walk(spine[-1].left, names)
        for step in reversed(spine):  # a chain of any length, without recursion
            self.budget.step()
            try:
                left = self.combine(step, left, names)
            except ExpressionError as error:
                error.column = error.column or step.column
                raise
        return left

    def combine(self, node: tree.Binary, left: Value, names: Environment) -> Value:
        symbol = node.operator
        if symbol in ("&&", "||"):
            decided = boolean(left, node.left) == (symbol == "||")
            if decided:
                return left
            return self.truth(node.right, names)
        if symbol == "?:":
            if left is None:
                return self.walk(node.right, names)
            return left
        right = self.walk(node.right, names)
        if symbol in ("==", "!="):
            return operators.equals(left, right, self.budget) == (symbol == "==")
        if symbol in ("===", "!=="):
            return operators.same(left, right, self.budget) == (symbol == "===")
        if symbol in ("<", ">", "<=", ">="):
            return operators.compare(symbol, left, right, self.budget)
        if symbol in ("in", "!in"):
            return operators.contains(right, left, self.budget) == (symbol == "in")
        if symbol in ("..", "..<"):
            return operators.span(symbol, left, right)
        return operators.arithmetic(symbol, left, right, self.budget)

    def truth(self, node: tree.Node, names: Environment) -> bool:
        """Return the value of a node that must be a Boolean.

        Raises:
            ExpressionError: the value is not a Boolean.
        """
        return boolean(self.walk(node, names), node)

    def member(self, node: tree.Member, names: Environment) -> Value:
        target = node.target
        if isinstance(target, tree.Name) and target.name not in names:
            constant = CONSTANTS.get(f"{target.name}.{node.name}")
            if constant is not None:
                return constant[1]
        value = self.walk(target, names)
        if value is None and node.safe:
            return None
        property_ = self.property(value, node.name)
        if property_ is None:
            raise _missing(value, node.name)
        return property_[0]

    def property(self, target: Value, name: str) -> tuple[Value] | None:
        """Return the value of a property; None if it does not exist."""
        if type(target) is Record and name in target:
            return (target[name],)
        for signature in PROPERTIES.get(name, ()):
            if type(target) in signature.receivers:
                return (signature.compute(self.budget, target),)
        return None

    def call(self, node: tree.Call, names: Environment) -> Value:
        if node.target is None:
            return self.plain_call(node, names)
        target = self.walk(node.target, names)
        if target is None and node.safe:
            return None
        if node.types and node.name == "filterIsInstance":
            kind = node.types[0]
            return METHODS[node.name][0].compute(
                self.budget, target, lambda value: is_a(value, kind)
            )
        candidates = self.candidates(node, METHODS, target)
        if target is None and (meant := self.expression.of_null.get(id(node))) is not None:
            candidates = [pair for pair in candidates if pair[0] is meant]
        if not candidates:
            raise _missing(target, node.name)
        return self.choose(node, candidates, (target,), names)

    def plain_call(self, node: tree.Call, names: Environment) -> Value:
        for receiver in names.get(_RECEIVERS, ()):
            if candidates := self.candidates(node, METHODS, receiver):
                return self.choose(node, candidates, (receiver,), names)
        return self.choose(node, self.candidates(node, FUNCTIONS, None), (), names)

    def candidates(
        self, node: tree.Call, known: Mapping[str, list[Signature]], target: Value
    ) -> list[Candidate]:
        """Return the signatures that a call fits by name, number and kind of arguments, and its
        receiver.
        """
        key = (id(node), known is METHODS)
        pairs = self._candidates.get(key)
        if pairs is None:
            bound = (
                (signature, bind(signature, node.arguments))
                for signature in known.get(node.name, ())
            )
            pairs = self._candidates[key] = [
                (part, places) for part, places in bound if places is not None
            ]
        if known is FUNCTIONS:
            return pairs
        return [pair for pair in pairs if type(target) in pair[0].receivers]

    def choose(
        self,
        node: tree.Call,
        candidates: list[Candidate],
        receiver: tuple[Value, ...],
        names: Environment,
    ) -> Value:
        """Return the result of the first signature that takes the arguments' values.

        Args:
            node: the call.
            candidates: the signatures that it fits by name, number and kind of arguments.
            receiver: the value before the dot of a method; nothing for a function.
            names: the values of the names at the call.

        Raises:
            ExpressionError: no signature takes the arguments.
        """
        given = [self.argument(node, argument, names) for argument in node.arguments]
        for signature, places in candidates:
            if _accepts(signature, places, given):
                return signature.compute(
                    self.budget, *receiver, *_ordered_values(signature, places, given)
                )
        # Every candidate takes a lambda wherever the call has one, so another argument is wrong.
        shown = ", ".join(type_name(value) for value in given if type(value) is not Closure)
        raise ExpressionError(f"{node.name} does not take {shown}")

    def argument(self, node: tree.Call, argument: tree.Argument, names: Environment) -> Value:
        value = argument.value
        if isinstance(value, tree.Lambda | tree.Reference):
            return Closure(self, value, names, getattr(value, "label", "") or node.name)
        return self.walk(value, names)

    def refer(self, node: tree.Reference, values: tuple[Value, ...]) -> Value:
        """Return the value of `Owner::name` for these values."""
        if (
            node.owner
            and len(values) == 1
            and (property_ := self.property(values[0], node.name)) is not None
        ):
            return property_[0]
        names = {f"<{place}>": value for place, value in enumerate(values)}
        call = self._references.get((id(node), len(values)))
        if call is None:
            places = [tree.Name(node.column, name) for name in names]
            target = places.pop(0) if node.owner else None
            call = tree.Call(node.column, target, node.name, tuple(map(tree.Argument, places)))
            self._references[id(node), len(values)] = call
        return self.walk(call, names)


def boolean(value: Value, node: tree.Node) -> bool:
    """Return the node's value, which must be a Boolean.

    Raises:
        ExpressionError: it is not.
    """
    if type(value) is not bool:
        raise ExpressionError(
            f"a Boolean is required here, not {type_name(value)}", column=node.column
        )
    return value


def is_a(value: Value, kind: Type) -> bool:
    """Return whether `value` is of a type; elements of collections are not checked, as in
    Kotlin.
    """
    if value is None:
        return kind.nullable
    if kind.name == "Any":
        return True
    if type(value) in (Record, EnumValue):
        return PUBLISHED.supertype(Type(value.kind), kind.name) is not None
    return type(value) in runtime_types(kind)


def element(target: Value, place: Value, budget: Budget) -> Value:
    """Return `target[place]` of a list, map or text.

    Raises:
        ExpressionError: the value has no elements, or the index is out of bounds.
    """
    if type(target) is dict:
        return target.get(map_key(place, budget))
    if type(target) in (list, str):
        if type(place) is not int:
            raise ExpressionError(f"an index is an Int, not {type_name(place)}")
        if not 0 <= place < len(target):
            raise ExpressionError(f"index {place} is out of bounds for length {len(target)}")
        if type(target) is str:
            return Char(target[place])
        return target[place]
    raise _missing(target, "get")


def _accepts(signature: Signature, places: list[int], given: list[Value]) -> bool:
    parameters = signature.parameters or ()
    for place, value in zip(places, given, strict=True):
        fitting = (Closure,) if parameters[place].lambda_size >= 0 else parameters[place].types
        if type(value) not in fitting:
            return False
    return True


def _ordered_values(signature: Signature, places: list[int], given: list[Value]) -> list[Value]:
    """Return one value per parameter: the argument, a tuple for `vararg`, or the Python default if
    more follow.
    """
    parameters = signature.parameters or ()
    defaults = getattr(signature.compute, "__defaults__", None) or ()
    last = max(places, default=-1)
    values: list[Value] = []
    for place, parameter in enumerate(parameters):
        here = [value for at, value in zip(places, given, strict=True) if at == place]
        if parameter.kind.name == "fun.":
            here = [closure.receiving() for closure in here]
        if parameter.repeated:
            values.append(tuple(here))
        elif here or place < last:
            values.append(here[0] if here else defaults[place - len(parameters)])
    return values


def _named(pattern: tree.Pattern, value: Value, column: int) -> dict[str, Value]:
    """Return the names of a pattern with their values."""
    if isinstance(pattern, str):
        return {pattern: value}
    parts: tuple[Value, ...] | list[Value] = ()
    match value:
        case Pair(first, second):
            parts = (first, second)
        case Triple(first, second, third):
            parts = (first, second, third)
        case MapEntry(key, item) | Indexed(key, item):
            parts = (key, item)
        case Record():
            parts = [value[name] for name in value.components]
        case list():
            parts = value
    if len(parts) < len(pattern):
        raise ExpressionError(
            f"{type_name(value)} cannot be destructured into {plural(len(pattern), 'value')}",
            column=column,
        )
    return dict(zip(pattern, parts, strict=False))


def _missing(target: Value, name: str) -> ExpressionError:
    """Return what is wrong with a value whose type is not known when the job is loaded."""
    problem = f"{type_name(target)} has no {name}"
    if target is None:
        problem += f"; use ?.{name} or test for null first"
    return ExpressionError(problem)
