"""The grammar of FHIRPath, with nothing recovered, and the functions that there are.

It needs `fhirpathpy`: see `paths`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from antlr4 import CommonTokenStream, InputStream
from antlr4.error.ErrorListener import ErrorListener
from fhirpathpy.engine.invocations import invocation_registry
from fhirpathpy.models import models
from fhirpathpy.parser.generated.FHIRPathLexer import FHIRPathLexer
from fhirpathpy.parser.generated.FHIRPathParser import FHIRPathParser

from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.text import clean_line

MAX_PATH, MAX_TOKENS = 2_000, 400
"""Maximum number of characters and of tokens of a path: the parser takes quadratic time."""
_TOO_LONG = f"it has more than {MAX_PATH:,} characters or {MAX_TOKENS} words and marks"
_TOO_DEEP = "it is nested too deeply"
_FUNCTIONS: dict[str, Any] = {
    name: call
    for name, call in invocation_registry.items()
    # The rest are operators, which are in the same table, and `trace`, which prints.
    if name.isalpha() and not name.endswith("Op") and name != "trace"
}
_CONSTANTS = ("%context", "%ucum")
"""The names with % that the library knows."""
_SYSTEM_TYPES = frozenset({
    "Any", "Boolean", "Date", "DateTime", "Decimal", "Integer", "Long", "Quantity", "String",
    "Time",
})  # fmt: skip
_ASK_TYPE = ("as", "is", "ofType")
"""The functions whose argument is a type."""


def parse(text: str, given: str = "") -> Any:
    """Return the parsed path, in which every function is known and has its arguments.

    Args:
        text: the path.
        given: the type of what it looks through; empty if that is not known.

    Raises:
        QueryError: it is no path, too long, names a function, a constant or a type that there is
            not, gives a function too many or too few arguments, or begins with another type.
    """
    tree = _tree(text)
    pending = [tree]
    while pending:
        node = pending.pop()
        parts = list(getattr(node, "children", None) or ())
        match type(node).__name__:
            case "FunctnContext":
                _check_function(node)
                if node.identifier().getText() in _ASK_TYPE:
                    (asked,) = node.paramList().expression()
                    _check_type(asked)
                    parts = []  # a type is no element
            case "ExternalConstantContext":
                _check_constant(node)
            case "TypeSpecifierContext":
                _check_type(node)
            case "InvocationTermContext" if given:
                _check_beginning(node, given)
        pending += reversed(parts)
    return tree


def _check_beginning(node: Any, given: str) -> None:
    """Raise `QueryError` if a part of a path begins with another type than it looks through, where
    it finds nothing whatever there is.
    """
    name = node.getText().strip("`")
    if type(node.invocation()).__name__ != "MemberInvocationContext" or not name[:1].isupper():
        return
    if name == given:
        return
    if given == "Bundle" and not _meant(name, [given]):
        meant = "; its resources are `Bundle.entry.resource`"
    else:
        meant = f"; did you mean {given}?"
    where = "the path begins" if node.start.start == 0 else "this part of the path begins"
    article = "an" if given[0] in "AEIO" else "a"
    raise QueryError(
        f"{where} with `{clean_line(name, 60)}`, and the query gives {article} {given}{meant}",
        _column(node),
    )


def _check_type(node: Any) -> None:
    """Raise `QueryError` unless there is the type in any version of FHIR, or in FHIRPath itself."""
    name = node.getText().replace("`", "")
    space, _, bare = name.rpartition(".")
    known = {"": _fhir_types() | _SYSTEM_TYPES, "FHIR": _fhir_types(), "System": _SYSTEM_TYPES}
    if bare in known.get(space, ()):
        return
    meant = _meant(bare, sorted(known.get(space, known[""])))
    raise QueryError(f"there is no type `{clean_line(name, 60)}`{meant}", _column(node))


@cache
def _fhir_types() -> frozenset[str]:
    names: set[str] = set()
    for model in models.values():
        parents = model["type2Parent"]
        names.update(parents, parents.values())
    return frozenset(names)


def _check_function(node: Any) -> None:
    """Raise `QueryError` unless there is the function, with so many arguments."""
    name = node.identifier().getText()
    if name == "trace":
        raise QueryError("`trace` prints what it is given: leave it out", _column(node))
    if name not in _FUNCTIONS:
        meant = _meant(name, _FUNCTIONS)
        shown = clean_line(name.strip("`"), 60)
        raise QueryError(f"there is no function `{shown}`{meant}", _column(node))
    if "variadic" in _FUNCTIONS[name]:
        return
    listed = node.paramList()
    given = len(listed.expression()) if listed is not None else 0
    taken = sorted(_FUNCTIONS[name].get("arity", {0: []}))
    if given not in taken:
        raise QueryError(f"`{name}` takes {_arguments(taken)}, not {given}", _column(node))


def _arguments(numbers: list[int]) -> str:
    if numbers == [0]:
        return "no argument"
    words = " or ".join(map(str, numbers))
    return f"{words} argument" if numbers[-1] == 1 else f"{words} arguments"


def _check_constant(node: Any) -> None:
    """Raise `QueryError` unless the library knows a name with %."""
    name = node.getText()
    if name.replace("`", "") in _CONSTANTS:
        return
    raise QueryError(
        f"there is no `{clean_line(name.replace('`', ''), 60)}`: only %context, what the query"
        " returned, and %ucum are known",
        _column(node),
    )


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, known, 1, 0.6)
    return f"; did you mean {close[0]}?" if close else ""


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
