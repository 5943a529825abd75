"""What may be asked of a FHIR server, and written to it: paths below its base URL, and no others.

Nothing here sends anything. What a query says is taken apart and put together anew, so that what is
sent is what was checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, unquote

from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.text import clean_line

Method = Literal["PUT", "POST", "DELETE"]
MAX_QUERY = 4_000
"""Maximum number of characters of a query; HTTP servers have limits of their own."""
_TYPE = re.compile(r"[A-Z][A-Za-z]{1,63}")
_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_OURS = frozenset({"_format", "_pretty"})
_OF_PATIENT = ("patient", "subject")
"""The search parameters that say whose record it is."""
FORMS = "Type?name=value, Type/_search?name=value or Type/id"


@dataclass(frozen=True, slots=True)
class Query:
    """A query, taken apart: `segments` of its path, and its search parameters, decoded."""

    segments: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]

    @property
    def type(self) -> str:
        """The type of the resources that it returns; of `$everything`, that of the patient."""
        if len(self.segments) == 3 and not self.segments[2].startswith(("_", "$")):
            return self.segments[2]
        return self.segments[0]

    @property
    def is_read(self) -> bool:
        """Whether it reads one resource, which may not be there, instead of a search."""
        return (len(self.segments) == 2 and not self.is_form) or len(self.segments) == 4

    @property
    def given(self) -> str:
        """The type of what a path looks through: the resource that it reads, or a Bundle."""
        return self.segments[0] if self.is_read else "Bundle"

    @property
    def is_form(self) -> bool:
        """Whether its parameters are posted to `_search`, so that they are in no server's log."""
        return self.segments[-1] == "_search"

    @property
    def path(self) -> str:
        """The path below the base URL."""
        return "/".join(self.segments)

    @property
    def encoded(self) -> str:
        """Its parameters, as a URL or a form has them."""
        pairs = (
            f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in self.parameters
        )
        return "&".join(pairs)

    def __str__(self) -> str:
        listed = "&".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.path}?{listed}" if listed else self.path


def parse_query(text: str) -> Query:
    """Return a query, taken apart.

    Raises:
        QueryError: it is not a query, leads away from the server, or might write.
    """
    query = _taken_apart(text)
    first, *rest = query.segments
    match rest:
        case [] | ["_search"]:
            pass
        case ["$everything"]:
            raise QueryError("name the patient: Patient/id/$everything", len(first) + 2)
        case [_, "$everything"] if first == "Patient":
            pass
        case [_] | [_, "_history"] | [_, "_history", _]:
            pass
        case [_, other] if _TYPE.fullmatch(other):
            pass
        case _:
            raise QueryError(f"not a query: it must be {FORMS}", 1)
    return query


def _taken_apart(text: str) -> Query:
    """Return the parts of a relative path with parameters, of any form.

    Raises `QueryError`.
    """
    if len(text) > MAX_QUERY:
        raise QueryError(f"it has more than {MAX_QUERY:,} characters")
    for column, character in enumerate(text, start=1):
        if not character.isprintable() or character in "\\#":
            what = "a line break, a backslash, # or an invisible character is not allowed"
            raise QueryError(what, column)
    path, mark, search = text.partition("?")
    if "://" in path or path.startswith("//") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        raise QueryError(f"a path below `fhir.url` is needed, not an address: {FORMS}", 1)
    if path.startswith("/"):
        raise QueryError("leave out the / at the beginning: it is a path below `fhir.url`", 1)
    segments = tuple(path.split("/"))
    column = 1
    for place, segment in enumerate(segments):
        _check_segment(segment, column, is_first=place == 0)
        column += len(segment) + 1
    return Query(segments, tuple(_parameters(search, len(path) + 2)) if mark else ())


def _check_segment(segment: str, column: int, *, is_first: bool) -> None:
    """Raise `QueryError` if a query cannot have this segment in its path."""
    if segment in ("", ".", ".."):
        what = "a path does not leave the server's own: `..`, `.` and // are not allowed"
        raise QueryError(what if segment or not is_first else f"a query is needed: {FORMS}", column)
    if is_first and not _TYPE.fullmatch(segment):
        shown = clean_line(segment, 60)
        raise QueryError(f"`{shown}` is not a resource type, such as MedicationRequest", column)
    if segment.startswith("$") and segment != "$everything":
        raise QueryError("an operation may write: only Patient/id/$everything is allowed", column)
    if segment in ("_search", "_history", "$everything") and not is_first:
        return
    if not _ID.fullmatch(segment):
        raise QueryError(
            f"`{clean_line(segment, 60)}` is not a valid id: at most 64 letters, digits, - and .",
            column,
        )


def _parameters(search: str, column: int) -> Iterable[tuple[str, str]]:
    """Yield the parameters of a search; `column` is where they begin."""
    for part in search.split("&"):
        name, mark, value = part.partition("=")
        if not mark or not _PARAMETER.fullmatch(name):
            raise QueryError("a search needs name=value, joined by &", column)
        if name in _OURS:
            raise QueryError(f"leave out `{name}`: answers are read as JSON", column)
        try:
            decoded = unquote(value, errors="strict")
        except UnicodeDecodeError:
            raise QueryError("% must be followed by UTF-8 in hexadecimal", column) from None
        if not decoded.isprintable():
            raise QueryError("an invisible character is not allowed", column)
        yield name, decoded
        column += len(part) + 1


def check_write(method: Method, path: str, resource: Mapping[str, Any] | None) -> Query:
    """Return where a setup writes.

    Raises:
        QueryError: it writes to no single resource, deletes without saying which, or its path and
            its resource contradict each other.
    """
    place = _taken_apart(path)
    forms = {"PUT": "Type/id", "POST": "Type", "DELETE": "Type/id or Type?name=value"}
    named = len(place.segments) == 2 and not place.segments[1].startswith(("_", "$"))
    found = len(place.segments) == 1 and any(value for _, value in place.parameters)
    fits = {
        "PUT": named and not place.parameters,
        "POST": len(place.segments) == 1 and not place.parameters,
        "DELETE": (named and not place.parameters) or found,
    }
    if not fits[method]:
        raise QueryError(f"{method} needs {forms[method]}", 1)
    if method == "DELETE":
        return place
    told = (resource or {}).get("resourceType")
    if told != place.type:
        shown = clean_line(str(told), 60)
        raise QueryError(f"the resource is a `{shown}`, the path names {place.type}", 1)
    if method == "PUT" and (resource or {}).get("id") != place.segments[1]:
        raise QueryError(f"the resource needs `id: {place.segments[1]}`, as its path says", 1)
    return place


def resource_path(kind: str, key: object) -> str:
    """Return the path of a resource. Raises `QueryError` if its id, which the server chose, is not
    valid.
    """
    if not isinstance(key, str) or not _ID.fullmatch(key) or key in (".", ".."):
        shown = clean_line(str(key), 80)
        raise QueryError(f"the server gave a {kind} an invalid id: {shown}")
    return f"{kind}/{key}"


def record_of(queries: Iterable[Query]) -> tuple[Query, ...]:
    """Return the queries of the record that is compared at the start of conversations: of each type
    that is asked for, everything of that patient.

    A search that names no patient stays as it is.
    """
    wide: dict[Query, None] = {}
    for query in queries:
        whose = tuple(
            (name, value)
            for name, value in query.parameters
            if name.partition(":")[0] in _OF_PATIENT
        )
        if whose and not query.is_read:
            query = Query(query.segments, whose)
        wide[query] = None
    return tuple(wide)
