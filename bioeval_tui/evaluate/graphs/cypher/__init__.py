"""Checks of Cypher queries: that they only read, and that the embedded graph answers them correctly.

This is the first of two lines of defence. The second is the graph's own: a read-only transaction in
Neo4j, `PRAGMA query_only` in the embedded one. Here a query is split into tokens, every word is classified
as a keyword or a name (`roles`), and anything unknown is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bioeval_tui.errors import QueryError
from bioeval_tui.evaluate.graphs.cypher import embedded, statements
from bioeval_tui.evaluate.graphs.cypher.lexer import tokens
from bioeval_tui.evaluate.graphs.cypher.roles import read

__all__ = ["check_embedded", "check_read_only", "check_setup", "split_statements"]


def check_read_only(query: str) -> None:
    """Raise `QueryError` with its column unless `query` is one statement that only reads.

    Refused: writing clauses, schema and administration commands, LOAD CSV, USE, FOREACH, subqueries IN
    TRANSACTIONS, procedures that are not on a short list of reading ones, several statements, empty text,
    brackets and quotes that are not closed. Keywords in texts, comments, quoted names, labels, property
    names, map keys and variables are left alone.
    """
    statements.check_reading(read(query))


def check_setup(query: str) -> None:
    """Raise `QueryError`, with its column, unless `query` is one statement that reads or writes data.

    Setups may create and delete nodes and relationships; schema and administration commands, LOAD CSV,
    USE, subqueries IN TRANSACTIONS and procedures (but the reading ones) are refused.
    """
    statements.check_writing(read(query))


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

    Each rule of `embedded` was found by running queries in graphqlite 0.12 and comparing with Neo4j's documentation.
    Queries that graphqlite rejects itself are not repeated here. This does not check whether
    the query writes.
    """
    embedded.check(read(query), parameters or {})
