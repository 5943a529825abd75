"""Rejects queries and patterns that graphqlite 0.12 answers wrongly, with a suggestion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NoReturn

from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.text import clean_line
from bioeval_tui.graphs.cypher import (
    PATTERN_FUNCTIONS,
    Clause,
    PatternPart,
    Query,
    clauses,
    paths,
    read,
    read_path,
    remembered,
    top_level,
)

_READING = ("MATCH", "OPTIONAL MATCH")
_MAX_RELATIONSHIPS = 50
_PATTERN_CLAUSES = (*_READING, "CREATE", "MERGE")


def refuse(query: Query, index: int, what: str) -> NoReturn:
    """Raise the error for token `index`."""
    raise QueryError(f"the embedded graph {what}", query.tokens[index].column)


def _optional(query: Query, parts: list[Clause]) -> None:
    for clause in parts:
        if clause.word != "OPTIONAL MATCH":
            continue
        all_paths = list(paths(query, clause.start, clause.end))
        if len(all_paths) > 1:
            refuse(
                query,
                clause.keyword,
                "joins OPTIONAL MATCH a, b wrongly; write one OPTIONAL MATCH for each",
            )
        known = _bound(query, parts, clause)
        for path in all_paths:
            for part in path:
                alone = len(path) == 1 and clause.keyword == 1
                if part.node and part.map_at >= 0 and not alone:
                    refuse(
                        query,
                        part.map_at,
                        "ignores a node's properties in OPTIONAL MATCH; write OPTIONAL MATCH …"
                        " WHERE x.name = …",
                    )
            if len(path) > 1 and not any(part.node and part.variable in known for part in path):
                refuse(
                    query,
                    clause.keyword,
                    "needs a node that is matched before in OPTIONAL MATCH (a)-[]-(b)",
                )


def _writing_after_optional(query: Query, parts: list[Clause]) -> None:
    optional = [clause.keyword for clause in parts if clause.word == "OPTIONAL MATCH"]
    for clause in parts:
        if optional and clause.word in ("CREATE", "MERGE") and clause.keyword > optional[0]:
            refuse(
                query, clause.keyword, "writes nothing when an OPTIONAL MATCH before found nothing"
            )


def _shared_relationships(query: Query, parts: list[Clause]) -> None:
    """In Neo4j, a MATCH uses each relationship once; graphqlite ensures this only within one
    path.
    """
    apart = _distinguished(query)
    for clause in parts:
        if clause.word not in _READING:
            continue
        relations: list[tuple[int, PatternPart]] = []
        for number, path in enumerate(paths(query, clause.start, clause.end)):
            relations += [(number, part) for part in _relationships(path)]
        if len(relations) > _MAX_RELATIONSHIPS:
            refuse(
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
                    refuse(
                        query,
                        other.start,
                        "lets two parts of one MATCH use the same relationship; write them as one"
                        " path, give them different types, or say WHERE r1 <> r2",
                    )
                if overlap and part.star_at >= 0 and other.star_at >= 0:
                    refuse(query, other.start, "lets two patterns with * use the same relationship")


def _distinguished(query: Query) -> set[frozenset[str]]:
    """Return the pairs of variables that the query compares as `first <> second`."""
    return {
        frozenset((query.tokens[index - 1].value, query.tokens[index + 1].value))
        for index, token in enumerate(query.tokens)
        if token.upper == "<>"
        and query.is_name(index - 1)
        and query.is_name(index + 1)
        and "." not in (query.upper(index - 2), query.upper(index + 2))
    }


def _labels_of_bound(query: Query, parts: list[Clause]) -> None:
    seen: dict[tuple[int, str], frozenset[str]] = {}
    for clause in parts:
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
                    refuse(
                        query,
                        part.start,
                        f"ignores a label that is added to {part.variable} later; write WHERE "
                        f"{part.variable}:{min(part.kinds)}",
                    )
                seen[key] = seen.get(key, frozenset()) | part.kinds


def _values_in_patterns(query: Query, parts: list[Clause]) -> None:
    unwound = {
        query.tokens[clause.end - 1].value
        for clause in parts
        if clause.word == "UNWIND" and clause.end > clause.start
    }
    maps = _map_names(query)
    for clause in parts:
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
            refuse(
                query,
                index,
                f"does not find {token.value} stored as a whole number in a pattern; use WHERE … =",
            )
        if query.is_name(index) and query.upper(index + 1) == "." and token.value not in known:
            if query.upper(index - 1) == ".":
                continue
            refuse(
                query,
                index,
                "finds nothing by another node's property in a pattern; use WHERE a.x = b.x",
            )


def _patterns_in_conditions(query: Query, parts: list[Clause]) -> None:
    inside = [clause for clause in parts if clause.word in _PATTERN_CLAUSES]
    for start in _condition_paths(query, inside):
        path = read_path(query, start)
        if len(path) < 2 and not _is_relation(query, query.tokens[start].partner):
            continue
        comprehension = query.upper(start - 1) == "[" or query.upper(start - 1) == "="
        for part in path:
            if part.map_at >= 0:
                refuse(
                    query,
                    part.map_at,
                    "ignores properties in a pattern of a condition; write EXISTS { MATCH … WHERE"
                    " x.name = … }",
                )
            if part.star_at >= 0 and comprehension:
                refuse(
                    query,
                    part.star_at,
                    "takes * for one step in […]; match the path in a MATCH of its own",
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
        path = read_path(query, index)
        after = path[-1].end if path else index
        yield index


def _is_relation(query: Query, index: int) -> bool:
    """Return whether a relationship follows the `)` at token `index`: -[, --, <-, ->."""
    first, second = query.upper(index + 1), query.upper(index + 2)
    if first == "<" and second == "-":
        return query.upper(index + 3) in ("[", "-")
    return first == "-" and (second in ("[", "-"))


def _properties_of_properties(query: Query, parts: list[Clause]) -> None:
    variables: set[str] = set()
    for clause in parts:
        if clause.word in _PATTERN_CLAUSES:
            for path in paths(query, clause.start, clause.end):
                variables.update(part.variable for part in path if part.variable)
    for index, token in enumerate(query.tokens):
        if (
            query.is_name(index)
            and token.value in variables
            and query.upper(index - 1) != "."
            and query.upper(index + 1) == "."
            and query.upper(index + 3) == "."
        ):
            field = query.tokens[index + 4].value
            refuse(query, index, f"keeps dates as texts, so that .{field} of a property is null")


def _bound(query: Query, parts: list[Clause], clause: Clause) -> set[str]:
    """Return every name that occurs before the clause."""
    return {
        query.tokens[index].value
        for index in range(clause.keyword)
        if query.is_name(index) and parts
    }


def _relationships(path: list[PatternPart]) -> Iterator[PatternPart]:
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
        if token.upper == "{"
        and token.partner > index
        and query.is_keyword(token.partner + 1, "AS")
    }


def _whole_double(number: str) -> bool:
    if not set(number.lower()) <= set("0123456789.e+-_") or not set(number.lower()) & set(".e"):
        return False
    return float(number.replace("_", "")).is_integer()


_CASES = frozenset(("TOLOWER", "TOUPPER", "LOWER", "UPPER"))
_REFUSED = {
    "SPLIT": "drops empty parts in split(), and never ends when the separator is empty",
    "VALUETYPE": "names types differently in valueType()",
    "ISNAN": "answers null where Neo4j has NaN, so that isNaN() is never true",
}
_LOOKED_AT = frozenset(("SUM", "MIN", "MAX", "REVERSE", "COLLECT", *_CASES, *_REFUSED))
_LISTS = frozenset(["COLLECT", "NODES", "RELATIONSHIPS", "RANGE", "KEYS", "LABELS", "TAIL"])
_QUANTIFIERS = frozenset(("ALL", "ANY", "NONE", "SINGLE"))
_COUNTS = ("SKIP", "LIMIT", "OFFSET")
MAX_TOKEN = 2_000
"""Maximum number of characters of a text, name or space: graphqlite's lexer crashes at about 10,000
bytes.
"""


def check_embedded(query: str, parameters: Iterable[str] | None = None) -> None:
    """Raise `QueryError`, with the column, for a query that the embedded graph would answer wrongly
    without an error.

    Each rule was found by running queries in graphqlite 0.12 and comparing with Neo4j's
    documentation. Queries that graphqlite rejects itself are not repeated here. This does not check
    whether the query writes.
    """
    _check(query, frozenset(parameters or ()))


@remembered
def _check(text: str, parameters: frozenset[str]) -> None:
    query = read(text)
    _lengths(query)
    _parameters(query, parameters)
    parts = clauses(query)
    for rule in _RULES:
        rule(query, parts)


def _lengths(query: Query) -> None:
    last = 1
    for index, token in enumerate(query.tokens):
        if token.column - last > MAX_TOKEN:
            refuse(
                query,
                max(0, index - 1),
                f"reads no text, name, comment or space of more than {MAX_TOKEN:,} characters",
            )
        last = token.column


def _parameters(query: Query, parameters: frozenset[str]) -> None:
    for index, token in enumerate(query.tokens):
        if token.kind == "parameter" and token.value not in parameters:
            shown = clean_line(token.value, 40)
            raise QueryError(f"the parameter ${shown} is not given", query.tokens[index].column)


def _operators(query: Query, _: list[Clause]) -> None:
    for index, token in enumerate(query.tokens):
        following = query.tokens[index + 1] if index + 1 < len(query.tokens) else token
        if token.upper == "=~":
            refuse(
                query,
                index,
                "finds a pattern of =~ anywhere in the text; use =, STARTS WITH or CONTAINS",
            )
        if token.upper in ("/", "%") and following.kind == "number" and _is_zero(following.value):
            refuse(query, index, "answers null to a division by zero, which is an error in Neo4j")
        if token.upper == "%" and "." in (following.value + query.tokens[index - 1].value):
            refuse(query, index, "cuts fractions before %, so that 5.5 % 2 is 1.0")


def _functions(query: Query, _: list[Clause]) -> None:
    foreign = any(token.kind == "text" and not token.value.isascii() for token in query.tokens)
    for index, token in enumerate(query.tokens):
        if query.upper(index + 1) != "(" or query.upper(index - 1) == ".":
            continue
        upper = token.upper
        if upper not in _LOOKED_AT:
            continue
        inside = query.tokens[index + 2 : query.tokens[index + 1].partner]
        if upper == "SUM" and not (
            query.upper(index - 1) == "(" and query.upper(index - 2) == "COALESCE"
        ):
            refuse(query, index, "answers null to sum() of nothing; write coalesce(sum(…), 0)")
        if upper in ("MIN", "MAX") and _is_property(
            [part for part in inside if part.upper not in ("(", ")", "DISTINCT")]
        ):
            name = upper.lower()
            refuse(
                query,
                index,
                f"answers 0.0 to {name}() of a property that holds texts; write"
                f" {name}(toString(…)), {name}(toInteger(…)) or {name}(toFloat(…))",
            )
        if upper in _CASES and foreign:
            refuse(
                query,
                index,
                f"changes only a to z in {token.value}(), and the query has other letters",
            )
        if upper in _REFUSED:
            refuse(query, index, _REFUSED[upper])
        if upper == "REVERSE" and not (
            inside and (inside[0].upper in _LISTS or inside[0].upper == "[")
        ):
            refuse(query, index, "breaks letters beyond ASCII in reverse() of a text")
        if (
            upper == "COLLECT"
            and query.upper(query.tokens[index + 1].partner + 1) == "["
            and len(inside) == 1
        ):
            refuse(
                query,
                index,
                "loses the node in collect(…)[…]; write WITH collect(…) AS all, then all[…]",
            )


def _counts(query: Query, parts: list[Clause]) -> None:
    for clause in parts:
        if clause.word in _COUNTS and clause.end - clause.start > 1:
            refuse(query, clause.keyword, f"ignores {clause.word} of anything but a number")


def _missing_lists(query: Query, _: list[Clause]) -> None:
    for index, token in enumerate(query.tokens):
        if token.upper not in ("(", "[") or not query.is_name(index + 1):
            continue
        if not query.is_keyword(index + 2, "IN") or not _property_then(query, index + 3):
            continue
        word = query.upper(index - 1) if token.upper == "(" else "["
        negated = query.is_keyword(index - 2, "NOT")
        if word in ("ALL", "NONE", "[") or (word in _QUANTIFIERS and negated):
            refuse(
                query,
                index + 3,
                "takes a list that is missing for an empty one here; write IN coalesce(…, []) to"
                " mean it",
            )


def _lost_order(query: Query, parts: list[Clause]) -> None:
    for place, clause in enumerate(parts):
        if clause.word != "ORDER" or place == 0 or parts[place - 1].word not in ("WITH",):
            continue
        before = parts[place - 1]
        after = parts[place + 1] if place + 1 < len(parts) else clause
        if after.word in _COUNTS:
            continue
        aliases = {
            query.tokens[index + 1].value
            for index in range(before.start, before.end)
            if query.is_keyword(index, "AS")
        }
        keys = [
            index
            for index in top_level(query, clause.start, clause.end)
            if query.is_name(index)
            and query.tokens[index].value in aliases
            and query.upper(index + 1) != "."
        ]
        collected = any(
            query.upper(index) == "COLLECT" and query.upper(index + 1) == "("
            for index in range(clause.end, len(query.tokens))
        )
        if keys and collected:
            refuse(
                query,
                keys[0],
                "loses the order of an alias before collect(); order by the property itself",
            )


def _subqueries(query: Query, parts: list[Clause]) -> None:
    calls = [
        clause for clause in parts if clause.word == "CALL" and query.upper(clause.start) == "{"
    ]
    for place, clause in enumerate(calls):
        inner = [other for other in parts if other.level == clause.start]
        if inner and inner[0].word == "WITH":
            refuse(
                query,
                clause.keyword,
                "does not pass WITH … into CALL { … }; write OPTIONAL MATCH or EXISTS",
            )
        if place or clause.keyword > 0:
            refuse(
                query, clause.keyword, "answers CALL { … } rightly only once and at the very start"
            )


def _sizes(query: Query, parts: list[Clause]) -> None:
    """`WITH size(n.x) AS s WHERE s …` frees memory twice, which ends the process."""
    for clause, after in pairwise(parts):
        if clause.word != "WITH" or after.word != "WHERE":
            continue
        for index in range(clause.start, clause.end):
            if (
                query.upper(index) == "SIZE"
                and query.upper(index + 1) == "("
                and query.upper(index + 3) == "."
            ):
                refuse(
                    query,
                    index,
                    "breaks on WITH size(a.b) … WHERE; put the size into the WHERE instead",
                )


def _unwound_paths(query: Query, parts: list[Clause]) -> None:
    """`UNWIND nodes(p) AS x` gives nodes without properties, also if the list has a name before."""
    lists = {"NODES", "RELATIONSHIPS"}
    names: set[str] = set()
    for index, token in enumerate(query.tokens):
        if token.upper not in lists or query.upper(index + 1) != "(":
            continue
        after = query.tokens[index + 1].partner + 1
        if query.is_keyword(after, "AS"):
            # A token always follows: the last one of every query is its end.
            names.add(query.tokens[after + 1].value)
    for clause in parts:
        if clause.word == "UNWIND":
            first = query.tokens[clause.start]
            if first.upper in lists or (query.is_name(clause.start) and first.value in names):
                refuse(
                    query,
                    clause.keyword,
                    "loses the properties in UNWIND nodes(…) or relationships(…); use [x IN"
                    " nodes(…) | x.name]",
                )


def _is_zero(number: str) -> bool:
    return not number.lower().partition("e")[0].strip("0._xo")


def _is_property(tokens: list[Any]) -> bool:
    return len(tokens) == 3 and tokens[1].upper == "."


def _property_then(query: Query, index: int) -> bool:
    """Return whether the token at `index` starts a bare `a.b`."""
    return (
        query.is_name(index)
        and query.upper(index + 1) == "."
        and (query.upper(index + 3) in ("|", "]", ")") or query.is_keyword(index + 3, "WHERE"))
    )


_RULES: tuple[Callable[[Query, list[Clause]], None], ...] = (
    _operators,
    _functions,
    _counts,
    _missing_lists,
    _lost_order,
    _subqueries,
    _sizes,
    _unwound_paths,
    _optional,
    _writing_after_optional,
    _shared_relationships,
    _labels_of_bound,
    _values_in_patterns,
    _patterns_in_conditions,
    _properties_of_properties,
)
