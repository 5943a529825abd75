"""Rejects patterns that graphqlite 0.12 matches wrongly; the second half of `embedded`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

from bioeval_tui.errors import QueryError
from bioeval_tui.evaluation.graphs.cypher.clauses import (
    PATTERN_FUNCTIONS,
    Clause,
    PatternPart,
    path_at,
    paths,
    top_level,
)
from bioeval_tui.evaluation.graphs.cypher.roles import Query

_READING = ("MATCH", "OPTIONAL MATCH")
_MAX_RELATIONSHIPS = 50
_PATTERN_CLAUSES = (*_READING, "CREATE", "MERGE")


def _refuse(query: Query, index: int, what: str) -> NoReturn:
    raise QueryError(f"the embedded graph {what}", query.tokens[index].column)


def _optional(query: Query, found: list[Clause]) -> None:
    for clause in found:
        if clause.word != "OPTIONAL MATCH":
            continue
        all_paths = list(paths(query, clause.start, clause.end))
        if len(all_paths) > 1:
            _refuse(
                query, clause.keyword, "joins OPTIONAL MATCH a, b wrongly; write one OPTIONAL MATCH for each"
            )
        known = _bound(query, found, clause)
        for path in all_paths:
            for part in path:
                alone = len(path) == 1 and clause.keyword == 1
                if part.node and part.map_at >= 0 and not alone:
                    _refuse(
                        query,
                        part.map_at,
                        "ignores a node's properties in OPTIONAL MATCH; write OPTIONAL MATCH … WHERE x.name = …",
                    )
            if len(path) > 1 and not any(part.node and part.variable in known for part in path):
                _refuse(
                    query, clause.keyword, "needs a node that is matched before in OPTIONAL MATCH (a)-[]-(b)"
                )


def _writing_after_optional(query: Query, found: list[Clause]) -> None:
    optional = [clause.keyword for clause in found if clause.word == "OPTIONAL MATCH"]
    for clause in found:
        if optional and clause.word in ("CREATE", "MERGE") and clause.keyword > optional[0]:
            _refuse(query, clause.keyword, "writes nothing when an OPTIONAL MATCH before found nothing")


def _shared_relationships(query: Query, found: list[Clause]) -> None:
    """In Neo4j, a MATCH uses each relationship once; graphqlite ensures this only within one path."""
    apart = _told_apart(query)
    for clause in found:
        if clause.word not in _READING:
            continue
        relations = [
            (number, part)
            for number, path in enumerate(paths(query, clause.start, clause.end))
            for part in _relationships(query, path)
        ]
        if len(relations) > _MAX_RELATIONSHIPS:
            _refuse(
                query,
                clause.keyword,
                f"is asked for more than {_MAX_RELATIONSHIPS} relationships in one MATCH",
            )
        for place, (number, part) in enumerate(relations):
            for other_number, other in relations[place + 1 :]:
                overlap = not part.kinds or not other.kinds or part.kinds & other.kinds
                if frozenset((part.variable, other.variable)) in apart:
                    continue
                if overlap and number != other_number:
                    _refuse(
                        query,
                        other.start,
                        "lets two parts of one MATCH use the same relationship; write them as one path, give them "
                        "different types, or say WHERE r1 <> r2",
                    )
                if overlap and part.star_at >= 0 and other.star_at >= 0:
                    _refuse(query, other.start, "lets two patterns with * use the same relationship")


def _told_apart(query: Query) -> set[frozenset[str]]:
    """Return the pairs of variables that the query compares as `first <> second`."""
    return {
        frozenset((query.tokens[index - 1].value, query.tokens[index + 1].value))
        for index, token in enumerate(query.tokens)
        if token.upper == "<>"
        and query.is_name(index - 1)
        and query.is_name(index + 1)
        and "." not in (query.upper(index - 2), query.upper(index + 2))
    }


def _labels_of_bound(query: Query, found: list[Clause]) -> None:
    seen: dict[tuple[int, str], frozenset[str]] = {}
    for clause in found:
        if clause.word in ("WITH", "UNION"):
            seen = {key: kinds for key, kinds in seen.items() if key[0] != clause.level}
        if clause.word not in _READING:
            continue
        for path in paths(query, clause.start, clause.end):
            for part in path:
                if not part.node or not part.variable:
                    continue
                key = (clause.level, part.variable)
                if key in seen and part.kinds - seen[key]:
                    _refuse(
                        query,
                        part.start,
                        f"ignores a label that is added to {part.variable} later; write WHERE "
                        f"{part.variable}:{min(part.kinds)}",
                    )
                seen[key] = seen.get(key, frozenset()) | part.kinds


def _values_in_patterns(query: Query, found: list[Clause]) -> None:
    unwound = {
        query.tokens[clause.end - 1].value
        for clause in found
        if clause.word == "UNWIND" and clause.end > clause.start
    }
    maps = _map_names(query)
    for clause in found:
        if clause.word not in _READING:
            continue
        for path in paths(query, clause.start, clause.end):
            for part in path:
                if part.map_at >= 0:
                    _check_map(query, part.map_at, unwound | maps)


def _check_map(query: Query, start: int, known: set[str]) -> None:
    for index in range(start + 1, query.tokens[start].partner):
        token = query.tokens[index]
        if token.kind == "number" and _whole_double(token.value):
            _refuse(
                query,
                index,
                f"does not find {token.value} stored as a whole number in a pattern; use WHERE … =",
            )
        if query.is_name(index) and query.upper(index + 1) == "." and token.value not in known:
            if query.upper(index - 1) == ".":
                continue
            _refuse(
                query, index, "finds nothing by another node's property in a pattern; use WHERE a.x = b.x"
            )


def _patterns_in_conditions(query: Query, found: list[Clause]) -> None:
    inside = [clause for clause in found if clause.word in _PATTERN_CLAUSES]
    for start in _condition_paths(query, inside):
        path = path_at(query, start)
        if len(path) < 2 and not _is_relation(query, query.tokens[start].partner):
            continue
        comprehension = query.upper(start - 1) == "[" or query.upper(start - 1) == "="
        for part in path:
            if part.map_at >= 0:
                _refuse(
                    query,
                    part.map_at,
                    "ignores properties in a pattern of a condition; write EXISTS { MATCH … WHERE x.name = … }",
                )
            if part.star_at >= 0 and comprehension:
                _refuse(
                    query, part.star_at, "takes * for one step in […]; match the path in a MATCH of its own"
                )


def _condition_paths(query: Query, pattern_clauses: list[Clause]) -> Iterator[int]:
    """Yield where a path opens that belongs to no MATCH, CREATE or MERGE."""
    after = -1
    for index, token in enumerate(query.tokens):
        if index <= after or token.upper != "(" or not _is_relation(query, token.partner):
            continue
        if any(index in top_level(query, clause.start, clause.end) for clause in pattern_clauses):
            continue
        if query.is_name(index - 1) and query.upper(index - 1) not in ("EXISTS", "SIZE"):
            continue
        if query.upper(index - 1) == "(" and query.upper(index - 2) in PATTERN_FUNCTIONS:
            continue
        path = path_at(query, index)
        after = path[-1].end if path else index
        yield index


def _is_relation(query: Query, index: int) -> bool:
    """Return whether a relationship follows the `)` at token `index`: -[, --, <-, ->."""
    first, second = query.upper(index + 1), query.upper(index + 2)
    if first == "<" and second == "-":
        return query.upper(index + 3) in ("[", "-")
    return first == "-" and (second in ("[", "-"))


def _properties_of_properties(query: Query, found: list[Clause]) -> None:
    variables = {
        part.variable
        for clause in found
        if clause.word in _PATTERN_CLAUSES
        for path in paths(query, clause.start, clause.end)
        for part in path
        if part.variable
    }
    for index, token in enumerate(query.tokens):
        if (
            query.is_name(index)
            and token.value in variables
            and query.upper(index - 1) != "."
            and query.upper(index + 1) == "."
            and query.upper(index + 3) == "."
        ):
            field = query.tokens[index + 4].value
            _refuse(query, index, f"keeps dates as texts, so that .{field} of a property is null")


def _bound(query: Query, found: list[Clause], clause: Clause) -> set[str]:
    """Return every name that occurs before the clause."""
    return {query.tokens[index].value for index in range(clause.keyword) if query.is_name(index) and found}


def _relationships(query: Query, path: list[PatternPart]) -> Iterator[PatternPart]:
    """Yield the relationships of a path, including those without brackets."""
    for place, part in enumerate(path):
        if not part.node:
            yield part
        elif place + 1 < len(path) and path[place + 1].node:
            yield PatternPart(False, part.end, part.end, "", frozenset(), -1, -1)


def _map_names(query: Query) -> set[str]:
    """Return the aliases of map literals: `WITH {k: 1} AS m`."""
    return {
        query.tokens[token.partner + 2].value
        for index, token in enumerate(query.tokens)
        if token.upper == "{" and token.partner > index and query.is_keyword(token.partner + 1, "AS")
    }


def _whole_double(number: str) -> bool:
    if not set(number.lower()) <= set("0123456789.e+-_") or not set(number.lower()) & set(".e"):
        return False
    return float(number.replace("_", "")).is_integer()


RULES: tuple[Callable[[Query, list[Clause]], None], ...] = (
    _optional,
    _writing_after_optional,
    _shared_relationships,
    _labels_of_bound,
    _values_in_patterns,
    _patterns_in_conditions,
    _properties_of_properties,
)
