"""Assertion expressions: a safe subset of Kotlin over the state of an evaluation.

    expression = parse('objectContext.entities.any { it.type == "Reminder" }')
    evaluate(expression, scope(object_context, evaluation))  # True or False, or any JSON value

The text is split into tokens (`lexer`), parsed into a small tree (`parser`, `tree`), checked for
names and calls that do not exist (`checks`), and evaluated (`evaluator`) within limits on steps,
time, memory and depth (`limits`). What can be called is declared in `stdlib`, by Kotlin signatures.
There is no `eval`, no attribute of a Python object can be reached, and values never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import stdlib
from bioeval_tui.expressions.checks import check
from bioeval_tui.expressions.error_lines import caret
from bioeval_tui.expressions.evaluator import ExpressionEvaluation
from bioeval_tui.expressions.explanations import Part, explain
from bioeval_tui.expressions.parser import parse_tree
from bioeval_tui.expressions.results import to_json
from bioeval_tui.expressions.scopes import Scope, scope, shaped
from bioeval_tui.expressions.tree import Expression
from bioeval_tui.expressions.values import LimitError, Limits

__all__ = [
    "Expression",
    "LimitError",
    "Limits",
    "Part",
    "Scope",
    "caret",
    "evaluate",
    "explain",
    "parse",
    "scope",
    "stdlib",
]


def parse(text: str, limits: Limits | None = None, *, published: bool = False) -> Expression:
    """Return `text` parsed and checked. With `published`, extensions of this program are rejected.

    Raises:
        ExpressionError: the text is not an expression, or uses an unknown name; `column` counts
            from 1.
    """
    if limits is not None:
        return check(parse_tree(text, limits), limits, published=published)
    return _parsed(text, published)


@lru_cache(maxsize=1024)
def _parsed(text: str, published: bool) -> Expression:
    """Parse and check a text once: it is read to load a job, to check it, and after each turn."""
    limits = Limits()
    return check(parse_tree(text, limits), limits, published=published)


def evaluate(expression: Expression, names: Mapping[str, Any], limits: Limits | None = None) -> Any:
    """Return the value of `expression` as JSON.

    Args:
        expression: the result of `parse`.
        names: the result of `scope`, or `{"objectContext": …, "evaluation": …}` as JSON.
        limits: limits on steps, time, memory and depth.

    Raises:
        ExpressionError: with the column of what failed: null where a value is needed, values of
            unlike types, an index out of bounds. `LimitError` if it is the work that went out of
            bounds.
    """
    try:
        known = shaped(names)
    except ExpressionError as error:
        error.text = expression.text
        raise
    evaluation = ExpressionEvaluation(expression, known, limits or Limits())
    return evaluation.run(lambda value: to_json(value, evaluation.budget))
