"""Why an expression has the value it has: the values of both sides of its comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.evaluator import ExpressionEvaluation
from bioeval_tui.evaluation.assertions.expressions.limits import Limits
from bioeval_tui.evaluation.assertions.expressions.results import to_json
from bioeval_tui.evaluation.assertions.expressions.scope import shaped
from bioeval_tui.evaluation.assertions.expressions.tree import Binary, Call, Expression, Literal, Node, Unary
from bioeval_tui.evaluation.assertions.expressions.values import Value

COMPARISONS = frozenset({"==", "!=", "===", "!==", "<", "<=", ">", ">=", "in", "!in"})
JOINED = frozenset({"&&", "||"})
MOST_PARTS = 20


@dataclass(frozen=True, slots=True)
class Part:
    """One condition of an expression: its text, its value, and its operands' values by their text.

    Literals such as `3` are not listed. If an operand has no value (for example, because `&&` skipped it), a sentence says why.
    """

    text: str
    value: Any
    sides: tuple[tuple[str, Any], ...]


def explain(expression: Expression, names: Mapping[str, Any], limits: Limits | None = None) -> list[Part]:
    """Return the conditions joined by `&&` and `||`, in order, each with the values that it compared.

    A comparison gives both sides' values; a call such as `list.any { … }` gives its receiver's value.
    """

    def value_of(node: Node) -> Any:
        evaluation = ExpressionEvaluation(replace(expression, root=node), known, limits or Limits())

        def finish(value: Value) -> Value:
            return to_json(value, evaluation.budget)

        try:
            return evaluation.run(finish)
        except ExpressionError as error:
            return error.message

    known = shaped(names)
    text = expression.text
    parts = []
    for node, start, end in _conditions(expression.root, 0, len(text)):
        sides = tuple(
            (_tidy(text[a:b]), value_of(side))
            for side, a, b in _sides(node, start, end, text)
            if not _is_constant(side)
        )
        parts.append(Part(_tidy(text[start:end]), value_of(node), sides))
        if len(parts) == MOST_PARTS:
            break
    return parts


def _conditions(node: Node, start: int, end: int) -> list[tuple[Node, int, int]]:
    """Return the joined conditions, each with where its text begins and ends."""
    found: list[tuple[Node, int, int]] = []
    pending = [(node, start, end)]
    while pending:
        node, start, end = pending.pop()
        if isinstance(node, Binary) and node.operator in JOINED:
            at = node.column - 1
            pending += [(node.left, start, at), (node.right, at + len(node.operator), end)]
        else:
            found.append((node, start, end))
    return sorted(found, key=lambda part: part[1])


def _sides(node: Node, start: int, end: int, text: str) -> list[tuple[Node, int, int]]:
    while isinstance(node, Unary) and node.operator == "!":
        node, start = node.operand, node.column
    if isinstance(node, Binary) and node.operator in COMPARISONS:
        at = node.column - 1
        return [(node.left, start, at), (node.right, at + len(node.operator), end)]
    if isinstance(node, Call) and node.target is not None:
        return [(node.target, start, len(text[: node.column - 1].rstrip(" .?")))]
    return []


def _is_constant(node: Node) -> bool:
    pending = [node]
    while pending:
        match pending.pop():
            case Literal():
                pass
            case Unary(operand=operand):
                pending.append(operand)
            case Binary(left=left, right=right):
                pending += [left, right]
            case _:
                return False
    return True


def _tidy(text: str) -> str:
    """Return a piece of an expression on one line, without the parentheses whose partners are outside."""
    text = " ".join(text.split())
    while text.startswith("(") and text.count("(") > text.count(")"):
        text = text[1:].lstrip()
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    return text
