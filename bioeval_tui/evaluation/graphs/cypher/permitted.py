"""Classifies statements: reading, writing data, or anything else, which is rejected."""

from __future__ import annotations

from bioeval_tui.errors import ForbiddenQueryError, QueryError
from bioeval_tui.evaluation.graphs.cypher.clauses import Query
from bioeval_tui.evaluation.graphs.cypher.lexer import CypherToken
from bioeval_tui.text import clean_line

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


def check_reading(query: Query) -> None:
    """Raise `QueryError` unless the statement only reads and returns something."""
    _check_everything(query)
    for index, token in enumerate(query.tokens):
        if query.keyword[index] and token.upper in _WRITING:
            raise QueryError(f"{token.upper} writes; only reading is allowed here", token.column)
    _check_beginning(query, _BEGINNINGS)
    returns = any(query.is_keyword(index, "RETURN") for index in _top_level(query))
    if not returns and not query.is_keyword(0, "CALL"):
        raise QueryError("the query returns nothing; end it with RETURN", query.tokens[-1].column)


def check_writing(query: Query) -> None:
    """Raise `QueryError` unless the statement only reads and writes data."""
    _check_everything(query)
    _check_beginning(query, _BEGINNINGS | _WRITING)


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


def _top_level(query: Query) -> list[int]:
    """Return the indexes of tokens outside every bracket."""
    places, index = [], 0
    while index < len(query.tokens):
        places.append(index)
        partner = query.tokens[index].partner
        index = partner if partner > index else index + 1
    return places
