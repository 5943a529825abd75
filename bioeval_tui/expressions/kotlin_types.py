"""The static types of expressions: the Kotlin classes that conditions use, subtyping, and generics.

`stdlib` declares with them what can be called (`read_type`), and `checks` asks whether a value of
one type may stand where another is expected (`CLASSES`, or `PUBLISHED` for a job that has to work
with the published classes).

Type variables are single capital letters. `N` is Int, Long or Double, `C` is anything with an
order, `E` is bound by the receiver and takes only arguments that could be equal to it. Three types
exist only in declarations: `Each<T>` is anything with elements, `Items<T>` the same without maps,
and `Flow<T>` without maps and texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Type:
    """A class with its arguments.

    The last argument of `fun` (and `fun.`, whose first parameter is `this`) is the result.
    """

    name: str
    args: tuple[Type, ...] = ()
    nullable: bool = False

    @property
    def required(self) -> Type:
        """The same type without null."""
        if self.nullable:
            return replace(self, nullable=False)
        return self

    @property
    def optional(self) -> Type:
        """The same type with null."""
        if self.nullable or self.name == "?":
            return self
        return replace(self, nullable=True)

    @property
    def is_variable(self) -> bool:
        """Whether this is a type variable of a declaration."""
        return len(self.name) == 1 and self.name.isupper()

    @property
    def is_function(self) -> bool:
        """Whether this is the type of a lambda."""
        return self.name in ("fun", "fun.")

    def __str__(self) -> str:
        if self.is_function:
            return "{ … }"
        name = {"Literal": "Int", "?": "Any?", "Entry": "Map.Entry"}.get(self.name, self.name)
        if self.args:
            name += f"<{', '.join(map(str, self.args))}>"
        if self.nullable:
            name += "?"
        return name


UNKNOWN = Type("?")
ANY, BOOLEAN, CHAR, DOUBLE, INT = (
    Type(name) for name in ("Any", "Boolean", "Char", "Double", "Int")
)
LONG, NOTHING, NUMBER, STRING, UNIT = (
    Type(name) for name in ("Long", "Nothing", "Number", "String", "Unit")
)
LITERAL = Type("Literal")
"""The type of an integer literal, which becomes a Long where one is expected."""

NUMBERS = ("Int", "Long", "Double")
_TOKEN = re.compile(r"\s*(\w+(?:\.\w+)*|->|[<>(),?*.])")


def read_type(text: str) -> Type:
    """Return the type that a declaration writes, such as `Map<K, V?>`, `(T) -> R` or `T.() ->
    R`.
    """
    tokens = _TOKEN.findall(text)
    kind = _read(tokens)
    assert not tokens, text
    return kind


def _read(tokens: list[str]) -> Type:
    word = tokens.pop(0)
    if word == "(":
        args = _until(tokens, ")")
        tokens.pop(0)
        return Type("fun", (*args, _read(tokens)))
    if word in "?*":
        return UNKNOWN
    args = ()
    if tokens[:1] == ["<"]:
        tokens.pop(0)
        args = _until(tokens, ">")
    if tokens[:1] == ["."]:  # T.() -> R
        del tokens[:4]
        return Type("fun.", (Type(word), _read(tokens)))
    nullable = tokens[:1] == ["?"]
    if nullable:
        tokens.pop(0)
    return Type(word, args, nullable)


def _until(tokens: list[str], end: str) -> tuple[Type, ...]:
    kinds = []
    while tokens[0] != end:
        kinds.append(_read(tokens))
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return tuple(kinds)


class Classes:
    """The known classes, with their type parameters and supertypes."""

    def __init__(self) -> None:
        self._supers: dict[str, tuple[tuple[str, ...], tuple[Type, ...]]] = {}
        self.final: set[str] = set()

    def declare(self, text: str, *, final: bool = False) -> None:
        """Add a class, such as `List<T>: Collection<T>`."""
        head, _, supers = text.partition(": ")
        given = read_type(head)
        parents = [read_type(part) for part in _split(supers)] if supers else []
        self._supers[given.name] = (tuple(arg.name for arg in given.args), tuple(parents))
        if final:
            self.final.add(given.name)

    def __contains__(self, name: str) -> bool:
        return name in self._supers

    def names(self) -> Iterable[str]:
        """Return the names of all classes."""
        return self._supers

    def parameters(self, name: str) -> int:
        """Return how many type arguments a class takes."""
        return len(self._supers[name][0])

    def above(self, given: Type) -> Iterator[Type]:
        """Yield a type and all of its supertypes, nearest first."""
        pending = [INT if given.name == "Literal" else given.required]
        while pending:
            kind = pending.pop(0)
            yield kind
            names, parents = self._supers.get(kind.name, ((), ()))
            arguments = dict(zip(names, kind.args, strict=False))
            pending += [substitute(parent, arguments) for parent in parents]

    def supertype(self, given: Type, name: str) -> Type | None:
        """Return `given` as its supertype `name`; None if it is not a subtype."""
        return next((kind for kind in self.above(given) if kind.name == name), None)

    def fits(self, given: Type, wanted: Type) -> bool:
        """Return whether a value of type `given` is assignable to `wanted`."""
        if "?" in (given.name, wanted.name):
            return True
        if given.nullable and not wanted.nullable:
            return False
        if wanted.name == "Any" or given.name == "Nothing":
            return True
        if given.name == "Literal" and wanted.name in ("Long", "Short", "Byte"):
            return True
        seen = self.supertype(given, wanted.name)
        return seen is not None and all(map(self.fits, seen.args, wanted.args))

    def join(self, left: Type, right: Type) -> Type:
        """Return the nearest common supertype."""
        if "?" in (left.name, right.name):
            return UNKNOWN
        nullable = left.nullable or right.nullable
        if left.name == "Nothing":
            return replace(right, nullable=nullable)
        if right.name == "Nothing":
            return replace(left, nullable=nullable)
        if left.name == right.name:
            return Type(left.name, tuple(map(self.join, left.args, right.args)), nullable)
        for one, other in ((left, right), (right, left)):
            if one.name == "Literal" and other.name in ("Int", "Long"):
                return replace(other, nullable=nullable)
        for above in self.above(left):
            other_view = self.supertype(right, above.name)
            if other_view is not None and above.name not in ("Each", "Items", "Flow", "Comparable"):
                return Type(
                    above.name, tuple(map(self.join, above.args, other_view.args)), nullable
                )
        return Type("Any", (), nullable)

    def may_be_equal(self, left: Type, right: Type) -> bool:
        """Return whether Kotlin allows `==` between two types: a value can be of both."""
        one, other = (INT if part.name == "Literal" else part for part in (left, right))
        if {"?", "Any", "Nothing"} & {one.name, other.name}:
            return True
        if self.supertype(one, other.name) or self.supertype(other, one.name):
            return True
        return one.name not in self.final and other.name not in self.final

    def unify(
        self, wanted: Type, given: Type, bound: dict[str, Type], fixed: Iterable[str] = ()
    ) -> bool:
        """Match `given` with a declared type, binding its variables; return whether it matches."""
        if wanted.is_variable:
            return self._bind(wanted, given, bound, fixed)
        if "?" in (wanted.name, given.name) or (
            given.name == "Nothing" and given.nullable <= wanted.nullable
        ):
            return True
        if not wanted.args or wanted.is_function:
            return self.fits(given, wanted)
        seen = self.supertype(given, wanted.name)
        if seen is None or (given.nullable and not wanted.nullable):
            return False
        return all(
            self.unify(one, other, bound, fixed)
            for one, other in zip(wanted.args, seen.args, strict=True)
        )

    def _bind(
        self, wanted: Type, given: Type, bound: dict[str, Type], fixed: Iterable[str]
    ) -> bool:
        name = wanted.name
        if wanted.nullable:
            given = given.required
        if name == "N" and given.name != "?" and given.name not in (*NUMBERS, "Literal"):
            return False
        if name in "NC" and given.nullable:
            return False
        if name == "C" and given.name != "?" and self.supertype(given, "Comparable") is None:
            return False
        before = bound.get(name)
        if before is None:
            bound[name] = given
            return True
        if name in fixed:
            return self.fits(given, before)
        if name == "E":
            if given.name == "Nothing" and not before.nullable:
                return False
            alike = self.fits(given.required, before.required) or self.fits(
                before.required, given.required
            )
            if before.name == "Nothing":
                bound[name] = given
            return alike
        joined = self.join(before, given)
        bound[name] = joined
        if name == "N":
            return joined.name in (*NUMBERS, "Literal", "?")
        return name != "C" or joined.name == "?" or self.supertype(joined, "Comparable") is not None


def substitute(given: Type, bound: dict[str, Type], *, final: bool = False) -> Type:
    """Return a type with its variables replaced; with `final`, remaining ones become unknown, and
    literals Int.
    """
    if given.is_variable:
        kind = bound.get(given.name)
        if kind is None:
            if final:
                return UNKNOWN
            return given
        if final and kind.name == "Literal":
            kind = replace(kind, name="Int")
        if given.nullable:
            return kind.optional
        return kind
    if not given.args:
        return given
    return replace(given, args=tuple(substitute(arg, bound, final=final) for arg in given.args))


def variables(given: Type) -> set[str]:
    """Return the names of the type variables in a type."""
    if given.is_variable:
        return {given.name}
    return set().union(*(variables(arg) for arg in given.args))


def _split(text: str) -> list[str]:
    """Split a list of types at its outer commas."""
    return [part.strip() for part in re.split(r",(?![^<]*>)", text)]


CLASSES = Classes()
"""The classes as jobs of this program see them."""

PUBLISHED = Classes()
"""The published classes, whose enums are not strings."""


def declare(text: str, *, final: bool = False, also: str = "") -> None:
    """Add a class to both; `also` are supertypes in this program only."""
    PUBLISHED.declare(text, final=final)
    CLASSES.declare(", ".join(filter(None, (text, also))), final=final)


for _name in ("Int", "Long", "Double", "Float", "Short", "Byte"):
    declare(f"{_name}: Number, Comparable<{_name}>", final=True)
for _name in ("Boolean", "Char", "RegexOption"):
    declare(f"{_name}: Comparable<{_name}>", final=True)
for _name in ("Regex", "Unit", "Pair<A, B>", "Triple<A, B, D>", "IndexedValue<T>"):
    declare(_name, final=True)
declare("String: CharSequence, Comparable<String>, Items<Char>", final=True)
declare("IntRange: IntProgression, ClosedRange<Int>", final=True)
declare("LongRange: Iterable<Long>, ClosedRange<Long>", final=True)
declare("CharRange: Iterable<Char>, ClosedRange<Char>", final=True)
for _text in (
    "Any", "Nothing", "Number", "CharSequence", "MatchResult", "Comparable<T>", "ClosedRange<T>",
    "Comparator<T>", "Grouping<T, K>", "Entry<K, V>", "Map<K, V>: Each<Entry<K, V>>", "Each<T>",
    "Items<T>: Each<T>", "Flow<T>: Items<T>", "Sequence<T>: Flow<T>", "Iterable<T>: Flow<T>",
    "IntProgression: Iterable<Int>", "Collection<T>: Iterable<T>", "List<T>: Collection<T>",
    "Set<T>: Collection<T>",
):  # fmt: skip
    declare(_text)
