"""Checks of Cypher queries: that they only read, and that the embedded graph answers them correctly.

This is the first of two lines of defence. The second is the graph's own: a read-only transaction in
Neo4j, `PRAGMA query_only` in the embedded one. Here a query is split into tokens, every word is classified
as a keyword or a name (`roles`), and anything unknown is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from bioeval_tui.errors import ForbiddenQueryError, QueryError
from bioeval_tui.evaluation.graphs.cypher import graphqlite
from bioeval_tui.evaluation.graphs.cypher.clauses import CypherToken, Query, read, tokens, top_level
from bioeval_tui.text import clean_line

_REMEMBERED = 1024
_LONGEST_REMEMBERED = 20_000
"""Checks look only at the text and the parameters' names, so results are cached: a check takes milliseconds on the event
loop on which answers are timed, and an assertion asks the same query after every turn."""


def check_query(cypher: str, parameters: Iterable[str] | None = None, *, embedded: bool = False) -> None:
    """Raise `QueryError` unless `cypher` only reads, and its graph can answer it correctly."""
    _check(cypher, parameters, False, embedded)


def check_statement(cypher: str, parameters: Iterable[str] | None = None, *, embedded: bool = False) -> None:
    """Raise `QueryError` unless `cypher` is one statement that a setup may run."""
    _check(cypher, parameters, True, embedded)


def _check(cypher: str, parameters: Iterable[str] | None, writes: bool, embedded: bool) -> None:
    passes = _passes if len(cypher) <= _LONGEST_REMEMBERED else _passes.__wrapped__
    passes(cypher, frozenset(parameters or ()), writes, embedded)


@lru_cache(_REMEMBERED)
def _passes(cypher: str, names: frozenset[str], writes: bool, embedded: bool) -> None:
    if writes:
        check_setup(cypher)
    else:
        check_read_only(cypher)
    if embedded:
        check_embedded(cypher, dict.fromkeys(names))


def check_read_only(query: str) -> None:
    """Raise `QueryError` with its column unless `query` is one statement that only reads.

    Refused: writing clauses, schema and administration commands, LOAD CSV, USE, FOREACH, subqueries IN
    TRANSACTIONS, procedures that are not on a short list of reading ones, several statements, empty text,
    brackets and quotes that are not closed. Keywords in texts, comments, quoted names, labels, property
    names, map keys and variables are left alone.
    """
    cypher = read(query)
    _check_everything(cypher)
    for index, token in enumerate(cypher.tokens):
        if cypher.keyword[index] and token.upper in _WRITING:
            raise QueryError(f"{token.upper} writes; only reading is allowed here", token.column)
    _check_beginning(cypher, _BEGINNINGS)
    returns = any(cypher.is_keyword(index, "RETURN") for index in top_level(cypher, 0, len(cypher.tokens)))
    if not returns and not cypher.is_keyword(0, "CALL"):
        raise QueryError("the query returns nothing; end it with RETURN", cypher.tokens[-1].column)


def check_setup(query: str) -> None:
    """Raise `QueryError`, with its column, unless `query` is one statement that reads or writes data.

    Setups may create and delete nodes and relationships; schema and administration commands, LOAD CSV,
    USE, subqueries IN TRANSACTIONS and procedures (but the reading ones) are refused.
    """
    cypher = read(query)
    _check_everything(cypher)
    _check_beginning(cypher, _BEGINNINGS | _WRITING)


def split_statements(text: str) -> list[str]:
    """Return the statements, separated by semicolons, without empty ones; unreadable text counts as one statement."""
    try:
        ends = [token.column - 1 for token in tokens(text) if token.upper == ";"]
    except QueryError:
        return [text]
    begins = [0, *(end + 1 for end in ends)]
    parts = [text[begin:end] for begin, end in zip(begins, [*ends, len(text)], strict=True)]
    return [part.strip() for part in parts if part.strip()]


def check_embedded(query: str, parameters: Mapping[str, Any] | None = None) -> None:
    """Raise `QueryError`, with the column, for a query that the embedded graph would answer wrongly without an error.

    Each rule of `graphqlite` was found by running queries in graphqlite 0.12 and comparing with Neo4j's documentation.
    Queries that graphqlite rejects itself are not repeated here. This does not check whether
    the query writes.
    """
    graphqlite.check(read(query), parameters or {})


READING_PROCEDURES = frozenset((
    "db.labels", "db.relationshiptypes", "db.propertykeys", "db.schema.visualization",
    "db.schema.nodetypeproperties", "db.schema.reltypeproperties", "db.index.fulltext.querynodes",
    "db.index.fulltext.queryrelationships", "db.index.vector.querynodes", "db.index.vector.queryrelationships",
))  # fmt: skip
"""Procedures that a query may call, in small letters."""

_BEGINNINGS = frozenset(["MATCH", "OPTIONAL", "RETURN", "WITH", "UNWIND", "CALL"])
_WRITING = frozenset(
    ["CREATE", "MERGE", "SET", "DELETE", "DETACH", "NODETACH", "REMOVE", "FOREACH", "INSERT"]
)
_ADMINISTRATION = frozenset([
    "DROP", "ALTER", "GRANT", "DENY", "REVOKE", "RENAME", "ENABLE", "DEALLOCATE", "REALLOCATE", "DRYRUN", "SHOW",
    "TERMINATE", "START", "STOP",
])  # fmt: skip
_SCHEMA_OBJECTS = frozenset([
    "INDEX", "CONSTRAINT", "DATABASE", "ALIAS", "USER", "ROLE", "LOOKUP", "TEXT", "RANGE", "POINT", "FULLTEXT",
    "VECTOR", "BTREE", "COMPOSITE", "OR", "SERVER",
])  # fmt: skip


def _check_everything(query: Query) -> None:
    for index, token in enumerate(query.tokens):
        if token.kind != "word" or not query.keyword[index]:
            continue
        _check_keyword(query, index, token)
        if token.upper == "CALL":
            _check_call(query, index)


def _check_keyword(query: Query, index: int, token: CypherToken) -> None:
    upper, after = token.upper, query.upper(index + 1)
    if upper in _ADMINISTRATION and not (upper == "START" and after != "("):
        raise ForbiddenQueryError(
            f"{upper} is a command for the database, which is not allowed here", token.column
        )
    if upper == "CREATE" and after in _SCHEMA_OBJECTS and query.upper(index + 2) != "=":
        raise ForbiddenQueryError(
            f"CREATE {after} changes the schema, which is not allowed here", token.column
        )
    if upper == "LOAD" or upper == "CSV":
        raise ForbiddenQueryError("LOAD CSV reads files, which is not allowed here", token.column)
    if upper == "USE":
        raise ForbiddenQueryError("USE names another graph, which is not allowed here", token.column)
    if upper in ("EXPLAIN", "PROFILE", "CYPHER"):
        raise ForbiddenQueryError(
            f"{upper} is not allowed here: only the query's result can be checked", token.column
        )
    if upper == "USING" and after == "PERIODIC":
        raise ForbiddenQueryError("USING PERIODIC COMMIT is not allowed here", token.column)
    if upper == "IN" and _transactions(query, index):
        raise ForbiddenQueryError(
            "IN TRANSACTIONS is not allowed here: the query is one transaction", token.column
        )


def _transactions(query: Query, index: int) -> bool:
    """Return whether `IN [n] [CONCURRENT] TRANSACTIONS` begins at token `index`, after a subquery."""
    before = query.tokens[index - 1]
    if before.upper != "}" or before.partner not in query.subqueries:
        return False
    return "TRANSACTIONS" in (query.upper(place) for place in range(index + 1, index + 5))


def _check_call(query: Query, index: int) -> None:
    place = index + 1
    if query.upper(place) in ("{", "("):
        return
    parts: list[str] = []
    while query.tokens[place].kind in ("word", "name"):
        parts.append(query.tokens[place].value)
        if query.upper(place + 1) != ".":
            break
        place += 2
    name = ".".join(parts)
    if name.lower() not in READING_PROCEDURES:
        shown = clean_line(name, 60) or "this"
        raise ForbiddenQueryError(
            f"the procedure {shown} is not on the list of allowed procedures",
            query.tokens[index + 1].column,
        )


def _check_beginning(query: Query, known: frozenset[str]) -> None:
    first = query.tokens[0]
    if not query.is_keyword(0, *known):
        shown = clean_line(first.value, 40)
        raise QueryError(f"a query cannot start with {shown}", first.column)
