"""FHIRPath: its grammar is checked here, and a path is evaluated in a process of its own.

The library evaluates anything: it goes on after what is no FHIRPath at all, prints what `trace`
names, and has no limits. So a path is parsed here first, with its own grammar and nothing
recovered, and what evaluates it can be stopped.

This file is also the program of the process: `main` and what follows it run only there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from bioeval_tui.base.confined import Allowance, Confined, ConfinedError, serve
from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.installation import install_command, missing
from bioeval_tui.base.text import clean_line, compact_json

EXTRA, PACKAGE = "fhir", "fhirpathpy"
MAX_PATH, MAX_TOKENS = 2_000, 400
"""Maximum number of characters and of tokens of a path: the parser takes quadratic time."""
MAX_RESULT, MAX_RESULT_CHARACTERS = 1_000, 100_000
CPU_S = 2
"""Maximum processor time of one path, in seconds; a usual one takes some milliseconds."""
WALL_S = 30.0
"""Timeout of one path, in seconds, if the system cannot limit processor time or the machine is very
busy.
"""
MODELS = {"1.0": "dstu2", "3.0": "stu3", "4.0": "r4", "4.3": "r4", "5.0": "r5"}
"""What the library calls each version of FHIR; its models know the types of fields such as
`value[x]`.
"""
_TOO_LONG = f"it has more than {MAX_PATH:,} characters or {MAX_TOKENS} words and marks"
_TOO_DEEP = "it is nested too deeply"


def lacks_library() -> str:
    """Return which package is missing to read FHIRPath, and what installs it; empty if it is
    here.
    """
    if not missing([PACKAGE]):
        return ""
    return f"FHIRPath needs {PACKAGE}: `{install_command([PACKAGE], EXTRA)}` installs it"


@lru_cache(maxsize=512)
def check_path(text: str) -> None:
    """Check the grammar of a path, and that its functions exist.

    Raises:
        QueryError: it is wrong, too long, or the library is missing.
    """
    tree = _tree(text)
    from fhirpathpy.engine.invocations import invocation_registry

    for node in _nodes(tree):
        name = node.identifier().getText() if type(node).__name__ == "FunctnContext" else ""
        if name == "trace":
            raise QueryError("`trace` prints what it is given: leave it out", _column(node))
        if name and name.strip("`") not in invocation_registry:
            close = get_close_matches(name, invocation_registry, 1, 0.6)
            more = f"; did you mean {close[0]}?" if close else ""
            shown = clean_line(name, 60)
            raise QueryError(f"there is no function `{shown}`{more}", _column(node))


def asks_nothing(text: str) -> bool:
    """Return whether a valid path names nothing of what it looks through, such as `true`."""
    asking = ("MemberInvocationContext", "FunctnContext", "ThisInvocationContext")
    kinds = {type(node).__name__ for node in _nodes(_tree(text))}
    return kinds.isdisjoint((*asking, "ExternalConstantTermContext"))


def _tree(text: str) -> Any:
    """Return the parsed path. Raises `QueryError`."""
    if why := lacks_library():
        raise QueryError(why)
    if len(text) > MAX_PATH:
        raise QueryError(_TOO_LONG)
    # Half a second to load, and only where a job has a path.
    from antlr4 import CommonTokenStream, InputStream
    from antlr4.error.ErrorListener import ErrorListener
    from fhirpathpy.parser.generated.FHIRPathLexer import FHIRPathLexer
    from fhirpathpy.parser.generated.FHIRPathParser import FHIRPathParser

    class Strict(ErrorListener):  # type: ignore[misc]  # the library has no types
        def syntaxError(
            self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any
        ) -> None:
            raise QueryError(_syntax_words(symbol, text), _offset(text, line, column) + 1)

    lexer = FHIRPathLexer(InputStream(text))
    lexer.removeErrorListeners()
    lexer.addErrorListener(Strict())
    tokens = CommonTokenStream(lexer)
    tokens.fill()
    if len(tokens.tokens) > MAX_TOKENS:
        raise QueryError(_TOO_LONG)
    parser = FHIRPathParser(tokens)
    parser.removeErrorListeners()
    parser.addErrorListener(Strict())
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


class Paths:
    """Evaluates paths, one after another.

    Belongs to one event loop; the process starts with the first path.
    """

    def __init__(self) -> None:
        self._confined = Confined("bioeval_tui.fhir.paths")

    async def evaluate(self, text: str, resources: Any, version: str) -> tuple[Any, ...]:
        """Return the values that a path finds, as JSON-like values.

        Args:
            text: the path.
            resources: the resource, Bundle or list of resources that it looks through.
            version: the version of FHIR, such as 4.0.1.

        Raises:
            QueryError: the path is wrong, does not fit what it finds, or takes too much time or
                memory.
        """
        check_path(text)
        model = MODELS.get(".".join(version.split(".")[:2]), "r4")
        asked = {"path": text, "resources": resources, "model": model}
        try:
            answer = await self._confined.ask(asked, Allowance(CPU_S, WALL_S, "evaluate"))
        except ConfinedError as error:
            raise QueryError(f"the path: {error}") from None
        if "error" in answer:
            raise QueryError(f"the path cannot be evaluated: {clean_line(str(answer['error']))}")
        return tuple(answer["values"])

    async def aclose(self) -> None:
        """End the process, if one was started."""
        await self._confined.aclose()


# In the process.


def main() -> None:
    """Evaluate the requests on stdin until it ends."""
    # Before access to files ends: some modules and models are loaded only when needed.
    for model in dict.fromkeys(MODELS.values()):
        _answer({"path": "name.where($this = 'a' or now() > @2020).count() * 1.5", "model": model})
    _answer({"path": "1 'mg' + 'a'.matches('b')", "model": "r4"})
    serve(_answer)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    from fhirpathpy import evaluate
    from fhirpathpy.models import models

    try:
        found = evaluate(asked.get("resources", {}), asked["path"], {}, models[asked["model"]])
        values = [_plain(value) for value in found]
    except MemoryError:
        return {"error": "it takes too much memory"}
    except RecursionError:
        return {"error": "what it looks through is nested too deeply"}
    except KeyError as error:  # such as $this outside of where()
        return {"error": f"{error} has no meaning here"}
    except Exception as error:  # the library raises any, without a type of its own
        return {"error": str(error) or type(error).__name__}
    if len(values) > MAX_RESULT or len(compact_json(values)) > MAX_RESULT_CHARACTERS:
        most = f"{MAX_RESULT:,} values or {MAX_RESULT_CHARACTERS:,} characters"
        return {"error": f"it gives more than {most}: reduce it, for example with count()"}
    return {"values": values}


def _plain(value: Any) -> Any:
    """Return a value of the library as JSON has it: dates, times and quantities as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return str(value)


if __name__ == "__main__":
    main()
