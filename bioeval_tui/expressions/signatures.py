"""The functions and properties of the language, each declared by its Kotlin signature.

`@kotlin("Iterable<T>.first(predicate: (T) -> Boolean = _): T")` puts a Python function under that
name; a table for `library` does so for single expressions. The declaration is what calls are
checked against when an expression is loaded (names, arguments, types of lambdas and results) and
again when it runs (types of the receiver and the arguments), and what the documentation lists.
`types` says which types there are.

- `A|B.first|last(…)` declares two functions of two types: four signatures;
- `(text: String / char: Char)` declares two signatures as well, which differ in that parameter;
- a parameter with `=` may be left out, one after `vararg` may be given any number of times;
- as a result, `Same<T>` has the receiver's type (a list, a sequence or a text), and `Many<R>` is a
  list, or a sequence if the receiver is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from bioeval_tui.expressions.kotlin_types import Type, read_type
from bioeval_tui.expressions.regex import Regex
from bioeval_tui.expressions.tree import Argument, Lambda, Reference
from bioeval_tui.expressions.values import (
    NUMBERS,
    TYPE_NAMES,
    Char,
    ClosedRange,
    EnumValue,
    MapEntry,
    OrderedSet,
    Record,
    Sequence,
    Value,
)

_NULL = type(None)
_TEXT = (str, EnumValue)
_ORDERED = (*NUMBERS, *_TEXT, Char, bool)
_ITERABLE = (list, OrderedSet, range, ClosedRange)
_ANYTHING = (*(kind for kind in TYPE_NAMES if kind is not _NULL), Regex, EnumValue, Record)
RUNTIME: dict[str, tuple[type, ...]] = {
    **{name: (kind,) for kind, name in TYPE_NAMES.items()},
    "Entry": (MapEntry,),
    "Any": _ANYTHING,
    **dict.fromkeys(("Number", "N"), NUMBERS),
    **dict.fromkeys(("Comparable", "C"), _ORDERED),
    **dict.fromkeys(("String", "CharSequence"), _TEXT),
    "Collection": (list, OrderedSet),
    "Iterable": _ITERABLE,
    "Flow": (*_ITERABLE, Sequence),
    "Items": (*_ITERABLE, Sequence, *_TEXT),
    "Each": (*_ITERABLE, Sequence, *_TEXT, dict),
    "IntProgression": (range,),
    **dict.fromkeys(("LongRange", "CharRange"), (ClosedRange,)),
    "ClosedRange": (range, ClosedRange),
    "Regex": (Regex,),
    **dict.fromkeys(("MessageRole", "TaskType", "RegexOption"), (EnumValue,)),
    **dict.fromkeys(("Float", "Short", "Byte", "Nothing"), ()),
}
"""The Python types of each class's values; the classes of the state are records and are not listed.
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `lambda_size` is the number of the lambda's parameters, -1 if it takes a
    value.
    """

    name: str
    kind: Type
    types: frozenset[type]
    optional: bool
    repeated: bool

    @property
    def lambda_size(self) -> int:
        """The number of parameters of the expected lambda; -1 if a value is expected."""
        if self.kind.is_function:
            return len(self.kind.args) - 1
        return -1


@dataclass(frozen=True, slots=True)
class Signature:
    """A function or (without `parameters`) a property, and the Python function that computes it."""

    name: str
    receiver: Type | None
    receivers: frozenset[type]
    parameters: tuple[Parameter, ...] | None
    result: Type
    compute: Callable[..., Value]


METHODS: dict[str, list[Signature]] = {}
PROPERTIES: dict[str, list[Signature]] = {}
FUNCTIONS: dict[str, list[Signature]] = {}

Compute = TypeVar("Compute", bound=Callable[..., Any])


_DECLARATION = re.compile(r"(?:(.+?)\.)?([\w|]+)(?:(\()(.*)\))?: (.+)")


def kotlin(*declarations: str) -> Callable[[Compute], Compute]:
    """Declare the decorated function under each of the Kotlin signatures.

    It is called with the evaluation's `Budget`, the receiver (if the signature has one) and the
    arguments in the order of the parameters; those left out take the Python default.
    """

    def declare(compute: Compute) -> Compute:
        for declaration in declarations:
            for signature in _read(declaration, compute):
                known = FUNCTIONS if signature.receiver is None else METHODS
                if signature.parameters is None:
                    known = PROPERTIES
                known.setdefault(signature.name, []).append(signature)
        return compute

    return declare


def library(table: Mapping[str, Callable[..., Any]]) -> None:
    """Declare what a single expression computes; see `kotlin`."""
    for declaration, compute in table.items():
        kotlin(declaration)(compute)


def bind(signature: Signature, arguments: tuple[Argument, ...]) -> list[int] | None:
    """Return for each argument the index of its parameter, or None if the call does not fit."""
    parameters = signature.parameters or ()
    places: list[int] = []
    for position, argument in enumerate(arguments):
        place = _place(parameters, argument, position, places)
        if place is None or (place in places and not parameters[place].repeated):
            return None
        if not fits(argument, parameters[place].lambda_size):
            return None
        places.append(place)
    missing = (index for index, parameter in enumerate(parameters) if not parameter.optional)
    if all(index in places for index in missing):
        return places
    return None


def fits(argument: Argument, wanted: int) -> bool:
    """Return whether an argument fits a lambda of `wanted` parameters (or, with -1, a value)."""
    node = argument.value
    if isinstance(node, Reference):
        return wanted > 0
    if not isinstance(node, Lambda):
        return wanted < 0
    size = len(node.parameters)
    return size == wanted or (wanted == 1 and size == 0)


def describe(signature: Signature) -> str:
    """Return the call as a user would write it, such as `take(n)`."""
    if signature.parameters is None:
        return signature.name
    shown = ", ".join(
        "{ … }" if part.lambda_size >= 0 else part.name + "…" * part.repeated
        for part in signature.parameters
        if not part.optional or part.repeated
    )
    return f"{signature.name}({shown})"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `, did you mean x?` for the known name nearest to `name`, or nothing."""
    names = sorted(known)
    match = get_close_matches(name[:60], names, 1, 0.6)
    if not match:
        match = [other for other in names if other.lower() == name.lower()][:1]
    if match:
        return f", did you mean {match[0]}?"
    return ""


def _place(
    parameters: tuple[Parameter, ...], argument: Argument, position: int, taken: list[int]
) -> int | None:
    if argument.name:
        names = [parameter.name for parameter in parameters]
        if argument.name in names:
            return names.index(argument.name)
        return None
    if argument.trailing:
        if parameters:
            return len(parameters) - 1
        return None
    if taken and parameters[taken[-1]].repeated:
        return taken[-1]
    if position < len(parameters):
        return position
    return None


def _read(declaration: str, compute: Callable[..., Any]) -> Iterator[Signature]:
    match = _DECLARATION.fullmatch(declaration)
    assert match, declaration
    receivers, names, call, inner, result = match.groups()
    parts: list[list[str]] = []
    if inner:
        parts = [part.split(" / ") for part in re.split(r", (?=(?:vararg )?\w+: )", inner)]
    for form in range(max(map(len, parts), default=1)):
        given = None
        if call:
            given = tuple(_parameter(part[min(form, len(part) - 1)]) for part in parts)
        for receiver in receivers.split("|") if receivers else [""]:
            kind = read_type(receiver) if receiver else None
            accepted = runtime_types(kind) if kind else frozenset[type]()
            for name in names.split("|"):
                yield Signature(name, kind, accepted, given, read_type(result), compute)


def _parameter(text: str) -> Parameter:
    text, optional, _ = text.partition(" = ")
    repeated = text.startswith("vararg ")
    name, _, kind = text.removeprefix("vararg ").partition(": ")
    given = read_type(kind)
    return Parameter(name, given, runtime_types(given), bool(optional) or repeated, repeated)


def runtime_types(given: Type) -> frozenset[type]:
    """Return the Python types of a type's values."""
    if given.is_function:
        return frozenset()
    if given.name in RUNTIME:
        types = frozenset(RUNTIME[given.name])
    elif given.is_variable or given.name == "?":
        types = frozenset((*_ANYTHING, _NULL))
    else:
        types = frozenset((Record,))
    if given.nullable:
        return types | {_NULL}
    return types
