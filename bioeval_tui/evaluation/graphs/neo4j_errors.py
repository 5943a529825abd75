"""Converts exceptions of Neo4j's driver to this program's errors."""

from __future__ import annotations

import re

from neo4j import exceptions

from bioeval_tui.errors import BioevalError, QueryError
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.text import clean_line

_COLUMN = re.compile(r"\(line (\d+), column (\d+) \(offset: (\d+)\)\)")
_TIMED_OUT = re.compile(r"Transaction(?:TimedOut|Terminated)|LockClientStopped")
_WRITES = "Neo.ClientError.Statement.AccessMode"


def graph_error(error: Exception, place: str, timeout_s: float) -> BioevalError:
    """Convert an exception of the driver.

    `QueryError` if the query is at fault; otherwise `PeerError`, retryable if the server is unreachable or busy,
    but not if it rejects the password or stopped a slow query.
    """
    match error:
        case exceptions.AuthError():
            return PeerError(
                "graph",
                f"Neo4j at {place} refuses the user name or password; set NEO_USERNAME and NEO_PASSWORD to its own",
            )
        case exceptions.Neo4jError():
            return _server_error(error, place, timeout_s)
        case exceptions.UnsupportedServerProduct():
            return PeerError("graph", f"{place} is not a Neo4j server that this driver supports")
        case exceptions.ConfigurationError() | ValueError():
            return PeerError("graph", f"NEO_URI cannot be used: {_line(error)}")
        case exceptions.DriverError() | OSError():
            return PeerError(
                "graph", f"Neo4j at {place} cannot be reached; start it, or set NEO_URI", retryable=True
            )
        case _:
            what = f"{type(error).__name__}: {_line(error)}"
            return PeerError("graph", f"Neo4j at {place} gave an unexpected answer: {what}")


def _server_error(error: exceptions.Neo4jError, place: str, timeout_s: float) -> BioevalError:
    code = str(error.code or "")
    message = str(error.message or error)
    if _TIMED_OUT.search(code):
        return PeerError("graph", f"the query ran longer than {timeout_s:g} s and was stopped")
    if code == _WRITES or isinstance(error, exceptions.ForbiddenOnReadOnlyDatabase):
        return QueryError("the query writes; only reading is allowed here")
    if code.startswith("Neo.ClientError.Security"):
        return PeerError("graph", f"Neo4j at {place} does not allow this: {_line(message)}")
    if code.startswith("Neo.ClientError.Database"):
        return PeerError("graph", f"Neo4j at {place} does not have the database: {_line(message)}")
    if code.startswith(("Neo.ClientError.Statement", "Neo.ClientError.Procedure", "Neo.ClientError.Schema")):
        where = _COLUMN.search(message)
        return QueryError(_line(_COLUMN.sub("", message)), int(where[3]) + 1 if where else 0)
    if "MemoryPool" in code or "MemoryLimit" in code:
        return QueryError("the query needs more memory than Neo4j gives it: ask for less")
    return PeerError("graph", f"Neo4j at {place}: {_line(message)}", retryable=error.is_retryable())


def _line(error: object) -> str:
    """Return the first line with text; below it, the driver repeats the query with a caret."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return clean_line(lines[0] if lines else type(error).__name__, 300).strip()
