"""Rejects queries that graphqlite 0.12 answers wrongly, with a suggestion.

Every rule comes from queries that were run and compared with Neo4j's documentation; the tests name them.
A rule may reject a query that would be answered correctly: an error is better than a silent wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NoReturn

from bioeval_tui.errors import QueryError
from bioeval_tui.evaluation.graphs.cypher import graphqlite_patterns
from bioeval_tui.evaluation.graphs.cypher.clauses import Clause, clauses, top_level
from bioeval_tui.evaluation.graphs.cypher.roles import Query
from bioeval_tui.text import clean_line

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
"""Maximum number of characters of a text, name or space: graphqlite's lexer crashes at about 10,000 bytes."""

Rule = Callable[[Query, list[Clause]], None]


def check(query: Query, parameters: Mapping[str, Any]) -> None:
    """Raise `QueryError` for the first construct that the embedded graph would answer wrongly."""
    _lengths(query)
    _parameters(query, parameters)
    found = clauses(query)
    for rule in (*_RULES, *graphqlite_patterns.RULES):
        rule(query, found)


def refuse(query: Query, index: int, what: str) -> NoReturn:
    """Raise the error for token `index`."""
    raise QueryError(f"the embedded graph {what}", query.tokens[index].column)


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


def _parameters(query: Query, parameters: Mapping[str, Any]) -> None:
    for index, token in enumerate(query.tokens):
        if token.kind == "parameter" and token.value not in parameters:
            shown = clean_line(token.value, 40)
            raise QueryError(f"the parameter ${shown} is not given", query.tokens[index].column)


def _operators(query: Query, _: list[Clause]) -> None:
    for index, token in enumerate(query.tokens):
        following = query.tokens[index + 1] if index + 1 < len(query.tokens) else token
        if token.upper == "=~":
            refuse(query, index, "finds a pattern of =~ anywhere in the text; use =, STARTS WITH or CONTAINS")
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
        if upper == "SUM" and not (query.upper(index - 1) == "(" and query.upper(index - 2) == "COALESCE"):
            refuse(query, index, "answers null to sum() of nothing; write coalesce(sum(…), 0)")
        if upper in ("MIN", "MAX") and _is_property(
            [part for part in inside if part.upper not in ("(", ")", "DISTINCT")]
        ):
            name = upper.lower()
            refuse(
                query,
                index,
                f"answers 0.0 to {name}() of a property that holds texts; write {name}(toString(…)), "
                f"{name}(toInteger(…)) or {name}(toFloat(…))",
            )
        if upper in _CASES and foreign:
            refuse(query, index, f"changes only a to z in {token.value}(), and the query has other letters")
        if upper in _REFUSED:
            refuse(query, index, _REFUSED[upper])
        if upper == "REVERSE" and not (inside and (inside[0].upper in _LISTS or inside[0].upper == "[")):
            refuse(query, index, "breaks letters beyond ASCII in reverse() of a text")
        if (
            upper == "COLLECT"
            and query.upper(query.tokens[index + 1].partner + 1) == "["
            and len(inside) == 1
        ):
            refuse(query, index, "loses the node in collect(…)[…]; write WITH collect(…) AS all, then all[…]")


def _counts(query: Query, found: list[Clause]) -> None:
    for clause in found:
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
                "takes a list that is missing for an empty one here; write IN coalesce(…, []) to mean it",
            )


def _lost_order(query: Query, found: list[Clause]) -> None:
    for place, clause in enumerate(found):
        if clause.word != "ORDER" or place == 0 or found[place - 1].word not in ("WITH",):
            continue
        before = found[place - 1]
        after = found[place + 1] if place + 1 < len(found) else clause
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
            if query.is_name(index) and query.tokens[index].value in aliases and query.upper(index + 1) != "."
        ]
        collected = any(
            query.upper(index) == "COLLECT" and query.upper(index + 1) == "("
            for index in range(clause.end, len(query.tokens))
        )
        if keys and collected:
            refuse(
                query, keys[0], "loses the order of an alias before collect(); order by the property itself"
            )


def _subqueries(query: Query, found: list[Clause]) -> None:
    calls = [clause for clause in found if clause.word == "CALL" and query.upper(clause.start) == "{"]
    for place, clause in enumerate(calls):
        inner = [other for other in found if other.level == clause.start]
        if inner and inner[0].word == "WITH":
            refuse(
                query, clause.keyword, "does not pass WITH … into CALL { … }; write OPTIONAL MATCH or EXISTS"
            )
        if place or clause.keyword > 0:
            refuse(query, clause.keyword, "answers CALL { … } rightly only once and at the very start")


def _sizes(query: Query, found: list[Clause]) -> None:
    """`WITH size(n.x) AS s WHERE s …` frees memory twice, which ends the process."""
    for clause, after in pairwise(found):
        if clause.word != "WITH" or after.word != "WHERE":
            continue
        for index in range(clause.start, clause.end):
            if (
                query.upper(index) == "SIZE"
                and query.upper(index + 1) == "("
                and query.upper(index + 3) == "."
            ):
                refuse(query, index, "breaks on WITH size(a.b) … WHERE; put the size into the WHERE instead")


def _unwound_paths(query: Query, found: list[Clause]) -> None:
    lists = {"NODES", "RELATIONSHIPS"}
    aliases = {
        query.tokens[query.tokens[index + 1].partner + 2].value
        for index, token in enumerate(query.tokens)
        if token.upper in lists
        and query.upper(index + 1) == "("
        and query.is_keyword(query.tokens[index + 1].partner + 1, "AS")
    }
    for clause in found:
        if clause.word == "UNWIND":
            first = query.tokens[clause.start]
            if first.upper in lists or (query.is_name(clause.start) and first.value in aliases):
                refuse(
                    query,
                    clause.keyword,
                    "loses the properties in UNWIND nodes(…) or relationships(…); use [x IN nodes(…) | x.name]",
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


_RULES: tuple[Rule, ...] = (
    _operators,
    _functions,
    _counts,
    _missing_lists,
    _lost_order,
    _subqueries,
    _sizes,
    _unwound_paths,
)
