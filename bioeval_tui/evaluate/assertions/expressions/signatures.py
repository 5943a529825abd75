"""The functions and properties of the language, each declared by its Kotlin signature.

`@kotlin("String.take(n: Int): String")` puts a Python function under that name. The declaration is what
calls are checked against when an expression is loaded (names, number of arguments, lambdas) and again
when it runs (types of the receiver and the arguments), and what the documentation lists.

Types in declarations: those of `TYPES`, joined with `|`; `?` after one lets null in; `Fn0`, `Fn1`,
`Fn2` are lambdas by their number of parameters; `T` and other unknown words in results promise nothing.
A parameter with `=` may be left out, one after `vararg` may be given any number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from bioeval_tui.evaluate.assertions.expressions.regex import Regex
from bioeval_tui.evaluate.assertions.expressions.tree import Argument, Lambda
from bioeval_tui.evaluate.assertions.expressions.values import (
    Char,
    Entry,
    Found,
    Indexed,
    Interval,
    Long,
    OrderedSet,
    Pair,
    Record,
    RegexOption,
    Value,
)

TYPES: dict[str, tuple[type, ...]] = {
    "Int": (int,),
    "Long": (Long,),
    "Integer": (int, Long),
    "Double": (float,),
    "Number": (int, Long, float),
    "String": (str,),
    "Char": (Char,),
    "Boolean": (bool,),
    "List": (list,),
    "Set": (OrderedSet,),
    "Map": (dict,),
    "Collection": (list, OrderedSet),
    "Iterable": (list, OrderedSet, range, Interval),
    "Range": (range,),
    "ClosedRange": (Interval,),
    "Pair": (Pair,),
    "Entry": (Entry,),
    "IndexedValue": (Indexed,),
    "MatchResult": (Found,),
    "Regex": (Regex,),
    "RegexOption": (RegexOption,),
    "Any": (
        *(int, Long, float, str, Char, bool, list, OrderedSet, dict, range, Interval, Pair, Entry),
        *(Indexed, Found, Regex, RegexOption, Record),
    ),
}
NOTHING = type(None)

_SIGNATURE = re.compile(
    r"(?:(?P<receiver>[\w|?]+)\.)?(?P<name>\w+)(?P<list>\((?P<parameters>.*)\))?: (?P<result>.+)"
)
_PARAMETER = re.compile(r"(?P<vararg>vararg )?(?P<name>\w+): (?P<type>[\w|?]+)(?P<default> = \S+)?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `lambda_size` is the number of the lambda's parameters, -1 if it takes a value."""

    name: str
    types: frozenset[type]
    shown: str
    optional: bool
    repeated: bool
    lambda_size: int


@dataclass(frozen=True, slots=True)
class Signature:
    """A function or (without `parameters`) a property, and the Python function that computes it."""

    declaration: str
    name: str
    receiver: frozenset[type]
    shown_receiver: str
    parameters: tuple[Parameter, ...] | None
    result: str
    compute: Callable[..., Value]


METHODS: dict[str, list[Signature]] = {}
PROPERTIES: dict[str, list[Signature]] = {}
FUNCTIONS: dict[str, list[Signature]] = {}

Compute = TypeVar("Compute", bound=Callable[..., Any])


def kotlin(*declarations: str) -> Callable[[Compute], Compute]:
    """Declare the decorated function under each of the Kotlin signatures.

    It is called with the evaluation's `Budget`, the receiver (if the signature has one) and the
    arguments in the order of the parameters; those left out take the Python default.
    """

    def declare(compute: Compute) -> Compute:
        for declaration in declarations:
            signature = _read(declaration, compute)
            if signature.parameters is None:
                PROPERTIES.setdefault(signature.name, []).append(signature)
            elif signature.shown_receiver:
                METHODS.setdefault(signature.name, []).append(signature)
            else:
                FUNCTIONS.setdefault(signature.name, []).append(signature)
        return compute

    return declare


def bind(signature: Signature, arguments: tuple[Argument, ...]) -> list[int] | None:
    """Return for each argument the index of its parameter, or None if the call does not fit."""
    parameters = signature.parameters or ()
    places: list[int] = []
    for position, argument in enumerate(arguments):
        place = _place(parameters, argument, position, places)
        if place is None or (place in places and not parameters[place].repeated):
            return None
        wanted = parameters[place].lambda_size
        node = argument.value
        if isinstance(node, Lambda):
            if not fits(node, wanted):
                return None
        elif wanted >= 0:
            return None
        places.append(place)
    missing = (index for index, parameter in enumerate(parameters) if not parameter.optional)
    return places if all(index in places for index in missing) else None


def fits(node: Lambda, wanted: int) -> bool:
    """Say whether a lambda can be given where `wanted` values will be passed; one can be `it`."""
    size = len(node.parameters)
    return size == wanted or (wanted == 1 and size == 0)


def describe(signature: Signature, *, types: bool = False) -> str:
    """Return the call as a user would write it, such as `take(n)` or, with `types`, `take(Int)`."""
    if signature.parameters is None:
        return signature.name
    shown = ", ".join(
        "{ … }" if part.lambda_size >= 0 else (part.shown if types else part.name) + "…" * part.repeated
        for part in signature.parameters
        if types or not part.optional or part.repeated
    )
    return f"{signature.name}({shown})"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `, did you mean x?` for the known name nearest to `name`, or nothing."""
    names = sorted(known)
    match = get_close_matches(name[:60], names, 1, 0.6)
    if not match:
        match = [other for other in names if other.lower() == name.lower()][:1]
    return f", did you mean {match[0]}?" if match else ""


def _place(
    parameters: tuple[Parameter, ...], argument: Argument, position: int, taken: list[int]
) -> int | None:
    if argument.name:
        names = [parameter.name for parameter in parameters]
        return names.index(argument.name) if argument.name in names else None
    if argument.trailing:
        return len(parameters) - 1 if parameters else None
    if taken and parameters[taken[-1]].repeated:
        return taken[-1]
    return position if position < len(parameters) else None


def _read(declaration: str, compute: Callable[..., Any]) -> Signature:
    match = _SIGNATURE.fullmatch(declaration)
    assert match is not None, declaration
    parameters = None
    if match["list"] is not None:
        parameters = tuple(_parameter(part) for part in match["parameters"].split(", ") if part)
    receiver = match["receiver"] or ""
    return Signature(
        declaration, match["name"], _types(receiver), receiver, parameters, match["result"], compute
    )


def _parameter(text: str) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    assert match is not None, text
    repeated = bool(match["vararg"])
    size = int(match["type"][2:3]) if match["type"].startswith("Fn") else -1
    optional = repeated or bool(match["default"])
    return Parameter(match["name"], _types(match["type"]), match["type"], optional, repeated, size)


def _types(text: str) -> frozenset[type]:
    found: set[type] = set()
    for word in text.split("|") if text else ():
        if word.endswith("?"):
            found.add(NOTHING)
        if not word.startswith("Fn"):
            found.update(TYPES[word.rstrip("?")])
    return frozenset(found)
