"""The conditions of assertions before anything is checked: read, and whether one is the same for
every agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.base.patterns import is_always_found
from bioeval_tui.expressions import Expression, Limits, evaluate, parse, scope
from bioeval_tui.expressions.tree import (
    Argument,
    Binary,
    Branch,
    Call,
    If,
    Lambda,
    Literal,
    Member,
    Name,
    Node,
    Unary,
)

_WHERE = "evaluation.functionCalls.all { "
_LIMITS = Limits(steps=10_000, seconds=0.05)
"""Limits for one condition; beyond them the question stays open, so that any job is checked
quickly.
"""


def constant(condition: Expression) -> bool | None:
    """Return the value of a condition that is the same for every agent; None if it depends on what
    the agent does.

    Only what its form says is found: no state or conversation, a comparison with itself or of a
    number of things with 0, a text that every text contains, a transcript that has messages, and
    what such parts decide.
    """
    return _folded(condition, condition.root)


def _folded(condition: Expression, node: Node) -> bool | None:
    """Return the value of a part of a condition if nothing that the agent does can change it."""
    names = [part.name for part in _nodes(node) if isinstance(part, Name)]
    if not any(name in _OF_THE_AGENT for name in names):
        value = _value_alone(condition, node)
        if value is not None or not names:
            return value
    match node:
        case Binary(operator="&&" | "||" as operator, left=left, right=right):
            return _joined(condition, left, right, decides=operator == "||")
        case Call(
            name="and" | "or" as name, target=Node() as left, arguments=(Argument(value=right),)
        ):
            return _joined(condition, left, right, decides=name == "or")
        case Binary(operator=operator, left=left, right=right) if _form(left) == _form(right):
            return {"==": True, "<=": True, ">=": True, "!=": False, "<": False, ">": False}.get(
                operator
            )
        case Binary(operator=">=" | "<", left=left, right=Literal(value=0)) if _counts(left):
            return node.operator == ">="
        case Binary(operator="<=" | ">", left=Literal(value=0), right=right) if _counts(right):
            return node.operator == "<="
        case Unary(operator="!", operand=operand):
            value = _folded(condition, operand)
            if value is None:
                return None
            return not value
        case If(condition=asked, then=then, otherwise=otherwise):
            branches = [_folded(condition, branch) for branch in (then, otherwise)]
            decided = _folded(condition, asked)
            if decided is not None:
                if decided:
                    return branches[0]
                return branches[1]
            if branches[0] == branches[1]:
                return branches[0]
            return None
        case Call(
            name="all" | "none" | "any" as name,
            target=listed,
            arguments=(Argument(value=Lambda(body=body)),),
        ):
            # Of nothing, all and none hold, and any does not; a transcript has messages.
            of_each = _folded(condition, body)
            if of_each is not None and name == "none":
                of_each = not of_each
            of_nothing = name != "any"
            if of_each == of_nothing or _is_transcript(listed):
                return of_each
            return None
    return _textual_constant(node)


def _textual_constant(node: Node) -> bool | None:
    """Return the value of a condition about a text or the transcript that no message can change: ""
    is in each text.
    """
    match node:
        case Binary(
            operator=operator, left=Member(name="size", target=listed), right=Literal(value=least)
        ):
            if _is_transcript(listed):
                return _HAS_MESSAGES.get((operator, least))
            return None
        case Call(
            name="isNotEmpty" | "isEmpty" | "any" | "none" as name, target=listed, arguments=()
        ):
            if _is_transcript(listed):
                return name in ("isNotEmpty", "any")
            return None
        case Binary(operator="in" | "!in" as operator, left=part, right=text):
            if _is_text(text) and _is_in_any(part):
                return operator == "in"
            return None
        case Call(name="contains", target=text, arguments=(Argument(value=part), *_)):
            if _is_text(text) and _is_in_any(part):
                return True
            return None
        case Call(
            name="startsWith" | "endsWith", arguments=(Argument(value=Literal(value="")), *_)
        ):
            return True
        case Call(name="containsMatchIn", target=Node() as pattern):
            if _is_in_any(pattern):
                return True
            return None
    return None


def _joined(condition: Expression, left: Node, right: Node, *, decides: bool) -> bool | None:
    """Return the value of two conditions of which one with the value `decides` is enough."""
    if _are_opposite(left, right):
        return decides
    values = [_folded(condition, side) for side in (left, right)]
    if decides in values:
        return decides
    if None in values:
        return None
    return not decides


_OF_THE_AGENT = ("objectContext", "evaluation", "it", "this")
"""Names of what an agent leaves behind; a lambda's parameter is one of its parts."""
_COUNTS = ("size", "count", "length", "failureCount", "timeTakenMillis")


_HAS_MESSAGES = {
    (">", 0): True, ("!=", 0): True, (">=", 1): True, ("==", 0): False, ("<=", 0): False,
    ("<", 1): False,
}  # fmt: skip
"""What a comparison of a transcript's length says, which is never 0."""
_TEXTS = ("content", "lowercase", "uppercase", "trim", "toString", "joinToString")
"""Properties and functions whose value is a text, in which "" is; it is not in every list of texts.
"""


def _is_transcript(node: Node | None) -> bool:
    return isinstance(node, Member) and node.name == "transcript" and isinstance(node.target, Name)


def _is_text(node: Node | None) -> bool:
    return isinstance(node, Member | Call) and node.name in _TEXTS


def _is_in_any(part: Node) -> bool:
    """Return whether any text contains this text, or any message has a match of this pattern."""
    match part:
        case Literal(value=""):
            return True
        case Call(name="Regex", arguments=(Argument(value=Literal(value=str() as pattern)), *_)):
            return is_always_found(pattern)
        case Call(name="toRegex", target=Literal(value=str() as pattern)):
            return is_always_found(pattern)
    return False


def _counts(node: Node) -> bool:
    """Return whether a part of a condition is a number that is never below 0."""
    return isinstance(node, Member | Call) and node.name in _COUNTS


def _are_opposite(left: Node, right: Node) -> bool:
    """Return whether one of two conditions holds exactly where the other does not."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Unary) and one.operator == "!" and _form(one.operand) == _form(other):
            return True
    if not (isinstance(left, Binary) and isinstance(right, Binary)):
        return False
    if {left.operator, right.operator} not in ({"==", "!="}, {"<", ">="}, {">", "<="}):
        return False
    return _form(left.left) == _form(right.left) and _form(left.right) == _form(right.right)


def _form(part: object) -> object:
    """Return a part of a condition without its place in the text, to compare it with others."""
    if isinstance(part, tuple):
        return tuple(map(_form, part))
    if isinstance(part, Node | Argument | Branch):
        inside = (getattr(part, each.name) for each in fields(part) if each.name != "column")
        return (type(part).__name__, *map(_form, inside))
    return part


def _nodes(node: Node) -> Iterator[Node]:
    """Yield a node and everything in it."""
    pending: list[object] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Node):
            yield part
        if isinstance(part, tuple):
            pending += part
        elif isinstance(part, Node | Argument | Branch):
            pending += [getattr(part, each.name) for each in fields(part)]


def _value_alone(condition: Expression, node: Node) -> bool | None:
    """Return the value of a part of a condition that names nothing outside; None if it has none."""
    try:
        value = evaluate(replace(condition, root=node), scope(None, {}), _LIMITS)
    except ExpressionError:
        return None
    if isinstance(value, bool):
        return value
    return None


def parse_where(text: str) -> Expression:
    """Return the condition on one call. Raises `ExpressionError`, whose column counts in `text`."""
    try:
        return parse(_WHERE + text + " }")
    except ExpressionError as error:
        column = max(1, min(error.column - len(_WHERE), len(text))) if error.column else 0
        raise ExpressionError(error.message, text, column) from None
