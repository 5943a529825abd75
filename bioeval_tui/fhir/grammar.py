"""The grammar of FHIRPath, with nothing recovered, and the functions that there are.

It needs `fhirpathpy`: see `paths`.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from antlr4 import CommonTokenStream, InputStream
from antlr4.error.ErrorListener import ErrorListener
from fhirpathpy.engine.invocations import invocation_registry
from fhirpathpy.parser.generated.FHIRPathLexer import FHIRPathLexer
from fhirpathpy.parser.generated.FHIRPathParser import FHIRPathParser

from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.text import clean_line

MAX_PATH, MAX_TOKENS = 2_000, 400
"""Maximum number of characters and of tokens of a path: the parser takes quadratic time."""
_TOO_LONG = f"it has more than {MAX_PATH:,} characters or {MAX_TOKENS} words and marks"
_TOO_DEEP = "it is nested too deeply"


def parse(text: str) -> Any:
    """Return the parsed path, in which every function is known.

    Raises:
        QueryError: it is no path, too long, or names a function that there is not.
    """
    tree = _tree(text)
    for node in _nodes(tree):
        name = node.identifier().getText() if type(node).__name__ == "FunctnContext" else ""
        if name == "trace":
            raise QueryError("`trace` prints what it is given: leave it out", _column(node))
        if name and name.strip("`") not in invocation_registry:
            close = get_close_matches(name, invocation_registry, 1, 0.6)
            more = f"; did you mean {close[0]}?" if close else ""
            shown = clean_line(name, 60)
            raise QueryError(f"there is no function `{shown}`{more}", _column(node))
    return tree


def names_nothing(text: str) -> bool:
    """Return whether a valid path names nothing of what it looks through, such as `true`."""
    asking = ("MemberInvocationContext", "FunctnContext", "ThisInvocationContext")
    kinds = {type(node).__name__ for node in _nodes(_tree(text))}
    return kinds.isdisjoint((*asking, "ExternalConstantTermContext"))


class _Strict(ErrorListener):  # type: ignore[misc]  # the library has no types
    """Raises the first error, where the library would go on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def syntaxError(
        self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any
    ) -> None:
        where = _offset(self._text, line, column) + 1
        raise QueryError(_syntax_words(symbol, self._text), where)


def _tree(text: str) -> Any:
    """Return the parsed path. Raises `QueryError`."""
    if len(text) > MAX_PATH:
        raise QueryError(_TOO_LONG)
    strict = _Strict(text)
    lexer = FHIRPathLexer(InputStream(text))
    lexer.removeErrorListeners()
    lexer.addErrorListener(strict)
    tokens = CommonTokenStream(lexer)
    tokens.fill()
    if len(tokens.tokens) > MAX_TOKENS:
        raise QueryError(_TOO_LONG)
    parser = FHIRPathParser(tokens)
    parser.removeErrorListeners()
    parser.addErrorListener(strict)
    try:
        return parser.entireExpression()  # type: ignore[no-untyped-call]
    except RecursionError:
        raise QueryError(_TOO_DEEP) from None


def _syntax_words(symbol: Any, text: str) -> str:
    if symbol is None:
        return "not FHIRPath: this character has no meaning here, or a text has no end"
    if symbol.type == -1:
        return "not FHIRPath: it ends too early" if text.strip() else "a path is needed"
    return f"not FHIRPath: `{clean_line(symbol.text, 60)}` is not expected here"


def _offset(text: str, line: int, column: int) -> int:
    before = text.split("\n")[: line - 1]
    return sum(len(each) + 1 for each in before) + column


def _column(node: Any) -> int:
    return int(node.start.start) + 1


def _nodes(tree: Any) -> Iterator[Any]:
    """Yield a parsed path's parts."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += list(getattr(node, "children", None) or ())
