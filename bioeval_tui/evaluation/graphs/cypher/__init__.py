"""Checks of Cypher queries: that they only read, and that the embedded graph answers them correctly.

This is the first of two lines of defence. The second is the graph's own: a read-only transaction in
Neo4j, `PRAGMA query_only` in the embedded one. Here a query is split into tokens, every word is classified
as a keyword or a name (`roles`), and anything unknown is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from bioeval_tui.errors import QueryError
from bioeval_tui.evaluation.graphs.cypher import graphqlite, permitted
from bioeval_tui.evaluation.graphs.cypher.clauses import read
from bioeval_tui.evaluation.graphs.cypher.lexer import tokens

__all__ = [
    "check_embedded",
    "check_query",
    "check_read_only",
    "check_setup",
    "check_statement",
    "split_statements",
]

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
    permitted.check_reading(read(query))


def check_setup(query: str) -> None:
    """Raise `QueryError`, with its column, unless `query` is one statement that reads or writes data.

    Setups may create and delete nodes and relationships; schema and administration commands, LOAD CSV,
    USE, subqueries IN TRANSACTIONS and procedures (but the reading ones) are refused.
    """
    permitted.check_writing(read(query))


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
