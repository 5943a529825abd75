"""Converts errors of graphqlite and SQLite to this program's errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bioeval_tui.errors import QueryError
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.text import clean_line

_PREFIX = re.compile(r"^(?:SyntaxError|TypeError|ArgumentError): (?:\w+: )?(?:Line \d+, Col \d+: )?")
_TOO_BIG = "string or blob too big"


def query_error(message: str, cypher: str) -> QueryError:
    """Return the error for a message of the extension: JSON `{error, code, line, column}`, or plain text."""
    line = column = 0
    try:
        said = json.loads(message)
        message = str(said["error"])
        line, column = int(said.get("line") or 0), int(said.get("column") or 0)
    except (ValueError, TypeError, KeyError):
        pass
    if _TOO_BIG in message:
        return QueryError("a value or the result is larger than 5,000,000 bytes: reduce it")
    text = clean_line(_PREFIX.sub("", message))
    return QueryError(text, _column_in_text(cypher, line, column))


def _column_in_text(cypher: str, line: int, column: int) -> int:
    if not line or not column:
        return 0
    before = cypher.split("\n")[: line - 1]
    return sum(len(text) + 1 for text in before) + column


def peer_error(error: Exception, path: Path) -> PeerError:
    """Return the error for trouble with the file itself; `error` is one of apsw's."""
    kind = type(error).__name__.removesuffix("Error")
    match kind:
        case "Busy" | "Locked":
            return PeerError("graph", f"{path} is locked by another process", retryable=True)
        case "NotADB":
            return PeerError("graph", f"{path} is not a graph file")
        case "Corrupt":
            return PeerError("graph", f"{path} is damaged")
        case "Full":
            return PeerError("graph", f"no space is left for {path}")
        case "CantOpen" | "ReadOnly" | "Perm" | "IO":
            return PeerError("graph", f"{path} cannot be opened for writing")
        case _:
            return PeerError("graph", f"{path}: {clean_line(str(error))}")
