"""Why an expression has its value: the conditions in it with the values that they compared, and the
element of a list that decided.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import tree
from bioeval_tui.expressions.evaluator import Environment, ExpressionEvaluation, Returned
from bioeval_tui.expressions.results import to_json
from bioeval_tui.expressions.scopes import shaped
from bioeval_tui.expressions.values import LimitError, Limits, Value

COMPARISONS = frozenset({"==", "!=", "===", "!==", "<", "<=", ">", ">=", "in", "!in"})
"""Operators whose two sides are given with their values."""
JOINED = frozenset({"&&", "||"})
"""Operators whose two sides are conditions of their own."""
MOST_PARTS = 20
"""Maximum number of conditions in an explanation."""
LONGEST_S = 1.0
"""The time for all values of an explanation."""
MOST_ELEMENTS = 200
"""Of longer lists, no element is looked for."""


@dataclass(frozen=True, slots=True)
class Part:
    """One condition of an expression: its text, its value, and its operands' values by their text.

    Literals such as `3` are not listed. If an operand has no value (for example, because `&&`
    skipped it), a sentence says why.
    """

    text: str
    value: Any
    sides: tuple[tuple[str, Any], ...]
    deciding: Deciding | None = None


@dataclass(frozen=True, slots=True)
class Deciding:
    """The element of a list that explains the value of `any`, `all` or `none`.

    `how` it does:

    - "matches": the first that matches `any` or `none`; `parts` are the conditions that it meets.
    - "does not match": the first that does not match `all`; `parts` are the conditions that it does
      not meet.
    - "comes nearest": none matches `any`, and this one meets most conditions; `parts` are the
      others.
    - "none": no element meets any condition of `any`; `parts` are the conditions, with the values
      of the first.

    `number` counts from 1.
    """

    number: int
    how: str
    parts: tuple[Part, ...]


def explain(
    expression: tree.Expression, names: Mapping[str, Any], limits: Limits | None = None
) -> list[Part]:
    """Return the conditions joined by `&&` and `||`, in order, each with the values that it
    compared.

    A comparison gives both sides' values; a call such as `list.any { … }` gives its receiver's
    value, and the element that decided. Each value has the `limits` of an expression, all together
    `LONGEST_S`.
    """
    explanation = _Explanation(expression, limits or Limits())
    return explanation.parts(expression.root, 0, len(expression.text), shaped(names))


class _Explanation:
    """Explains one expression; names differ within its lambdas."""

    def __init__(self, expression: tree.Expression, limits: Limits) -> None:
        self._expression = expression
        self._limits = limits
        self._until = time.monotonic() + LONGEST_S

    def parts(
        self, node: tree.Node, start: int, end: int, names: Environment, *, inner: bool = False
    ) -> list[Part]:
        """Explain a node whose text is from `start` to `end`; `inner` conditions without
        elements.
        """
        text = self._expression.text
        parts = []
        for condition, first, last in _conditions(node, start, end)[:MOST_PARTS]:
            sides = tuple(
                (_tidy(text[a:b]), self._value(side, names))
                for side, a, b in _sides(condition, first, last, text)
                if not _is_constant(side)
            )
            deciding = None if inner else self._deciding(condition, last, names)
            parts.append(
                Part(_tidy(text[first:last]), self._value(condition, names), sides, deciding)
            )
        return parts

    def _evaluation(self, node: tree.Node, names: Environment) -> ExpressionEvaluation:
        left = max(0.0, self._until - time.monotonic())
        limits = replace(self._limits, seconds=min(self._limits.seconds, left))
        return ExpressionEvaluation(replace(self._expression, root=node), names, limits)

    def _value(self, node: tree.Node, names: Environment) -> Any:
        """Return the JSON value of one node, or the sentence that says why it has none."""
        evaluation = self._evaluation(node, names)

        def finish(value: Value) -> Value:
            return to_json(value, evaluation.budget)

        try:
            return evaluation.run(finish)
        except ExpressionError as error:
            return error.message
        except Returned as returned:  # by a condition in the lambda that it returns from
            return returned.value is True

    def _deciding(self, node: tree.Node, end: int, names: Environment) -> Deciding | None:
        """Return the element that decides `list.any { … }`, `all` or `none`, whose text ends at
        `end`.

        None for other nodes, for lists of more than `MOST_ELEMENTS`, and if the elements take more
        than the limits.
        """
        while isinstance(node, tree.Unary) and node.operator == "!":
            node = node.operand
        if (
            not isinstance(node, tree.Call)
            or node.target is None
            or node.name not in ("any", "all", "none")
        ):
            return None
        if len(node.arguments) != 1:
            return None
        function = node.arguments[0].value
        if (
            not isinstance(function, tree.Lambda)
            or any(function.types)
            or len(function.parameters) > 1
        ):
            return None
        name = function.parameters[0] if function.parameters else "it"
        evaluation = self._evaluation(node, names)
        try:
            elements = evaluation.walk(node.target, names)
            if (
                not isinstance(name, str)
                or not isinstance(elements, list)
                or len(elements) > MOST_ELEMENTS
            ):
                return None
            places = [{**names, name: element} for element in elements]
            matching = [_is_true(evaluation, function.body, place) for place in places]
            if node.name == "all" and False in matching:
                at, how = matching.index(False), "does not match"
            elif node.name != "all" and True in matching:
                at, how = matching.index(True), "matches"
            elif node.name == "any" and places:
                conditions = [condition for condition, _, _ in _conditions(function.body, 0, 0)]
                met = [
                    sum(_is_true(evaluation, each, place) for each in conditions)
                    for place in places
                ]
                at, how = met.index(max(met)), "comes nearest"
                if not any(met):
                    how = "none"
            else:
                return None
        except (ExpressionError, RecursionError):
            return None
        text = self._expression.text
        start = function.column
        if function.parameters:
            start = text.index("->", start) + 2
        parts = self.parts(function.body, start, text.rindex("}", 0, end), places[at], inner=True)
        shown = tuple(part for part in parts if (part.value is True) == (how == "matches"))
        return Deciding(at + 1, how, shown)


def _is_true(evaluation: ExpressionEvaluation, node: tree.Node, names: Environment) -> bool:
    """Return whether a condition holds; one that has no value does not.

    Raises:
        LimitError: the limits of the evaluation are used up.
    """
    try:
        return evaluation.walk(node, names) is True
    except Returned as returned:
        return returned.value is True
    except LimitError:
        raise
    except ExpressionError:
        return False


def _conditions(node: tree.Node, start: int, end: int) -> list[tuple[tree.Node, int, int]]:
    """Return the joined conditions, each with where its text begins and ends."""
    parts: list[tuple[tree.Node, int, int]] = []
    pending = [(node, start, end)]
    while pending:
        node, start, end = pending.pop()
        if isinstance(node, tree.Binary) and node.operator in JOINED:
            at = node.column - 1
            pending += [(node.left, start, at), (node.right, at + len(node.operator), end)]
        else:
            parts.append((node, start, end))
    return sorted(parts, key=lambda part: part[1])


def _sides(node: tree.Node, start: int, end: int, text: str) -> list[tuple[tree.Node, int, int]]:
    while isinstance(node, tree.Unary) and node.operator == "!":
        node, start = node.operand, node.column
    if isinstance(node, tree.Binary) and node.operator in COMPARISONS:
        at = node.column - 1
        return [(node.left, start, at), (node.right, at + len(node.operator), end)]
    if isinstance(node, tree.Call) and node.target is not None:
        return [(node.target, start, len(text[: node.column - 1].rstrip(" .?")))]
    return []


def _is_constant(node: tree.Node) -> bool:
    pending = [node]
    while pending:
        match pending.pop():
            case tree.Literal():
                pass
            case tree.Unary(operand=operand):
                pending.append(operand)
            case tree.Binary(left=left, right=right):
                pending += [left, right]
            case _:
                return False
    return True


def _tidy(text: str) -> str:
    """Return a piece of an expression on one line, without the parentheses whose partners are
    outside.
    """
    text = " ".join(text.split())
    while text.startswith("(") and text.count("(") > text.count(")"):
        text = text[1:].lstrip()
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    return text
