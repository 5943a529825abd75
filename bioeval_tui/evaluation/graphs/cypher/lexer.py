"""Cypher text → tokens. Comments and white space are dropped; unknown characters are an error."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bioeval_tui.errors import QueryError
from bioeval_tui.text import clean_line

MAX_LENGTH = 100_000
MAX_NESTING = 100

_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*)?\.[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?|[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?"
)
_WORD = re.compile(r"[^\W\d]\w*")
_PARAMETER = re.compile(r"\$(?:(\w+)|`((?:[^`]|``)*)`)")
_SYMBOL = re.compile(r"<>|<=|>=|=~|\+=|\.\.|\|\||::|[-+*/%^=<>!()\[\]{},.:;|&@]")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_DANGEROUS = frozenset("'\"`\\\n\r*/")


@dataclass(frozen=True, slots=True)
class CypherToken:
    """`kind` is `word`, `name` (in backticks), `text`, `number`, `parameter`, `symbol` or `end`.

    `upper` is a word in capitals, a symbol itself, and empty for all else. `column` counts from 1 in the
    whole query. `partner` is, for a bracket, the index of the other one.
    """

    kind: str
    value: str
    upper: str
    column: int
    partner: int = -1


def tokens(query: str) -> list[CypherToken]:
    """Return the tokens of `query`, ending with an `end` token, with brackets matched.

    Raises:
        QueryError: an unclosed quote, comment or bracket, or a character that Cypher does not have.
    """
    if len(query) > MAX_LENGTH:
        raise QueryError(f"the query is longer than {MAX_LENGTH:,} characters")
    read: list[CypherToken] = []
    place = 0
    while place < len(query):
        if query[place].isspace():
            place += 1
        elif query.startswith(("//", "/*"), place):
            place = _comment(query, place)
        else:
            token, place = _token(query, place)
            read.append(token)
    read.append(CypherToken("end", "", "", len(query) + 1))
    return _paired(read)


def _token(query: str, place: int) -> tuple[CypherToken, int]:
    char, column = query[place], place + 1
    if char in "'\"":
        end = _text_end(query, place, char)
        return CypherToken("text", query[place + 1 : end - 1], "", column), end
    if char == "`":
        end = _name_end(query, place)
        return CypherToken("name", query[place + 1 : end - 1].replace("``", "`"), "", column), end
    if match := _PARAMETER.match(query, place):
        _refuse_escapes(match.group(), place, "a name")
        return CypherToken(
            "parameter", match[1] or (match[2] or "").replace("``", "`"), "", column
        ), match.end()
    if match := _NUMBER.match(query, place):
        return CypherToken("number", match.group(), "", column), match.end()
    if match := _WORD.match(query, place):
        return CypherToken("word", match.group(), match.group().upper(), column), match.end()
    if match := _SYMBOL.match(query, place):
        return CypherToken("symbol", match.group(), match.group(), column), match.end()
    raise QueryError(f"unexpected character {clean_line(char)!r}", column)


def _text_end(query: str, start: int, quote: str) -> int:
    place = start + 1
    while place < len(query):
        char = query[place]
        if char == quote:
            return place + 1
        if char == "\\":
            # Neo4j turns \u0027 into a quote before it reads the text, which would end it there.
            escaped = _ESCAPED.match(query, place)
            if escaped and chr(int(escaped[1], 16)) in _DANGEROUS:
                raise QueryError(
                    "write quotes and backslashes as \\' and \\\\, not as \\u escapes", place + 1
                )
            place += 1
        place += 1
    raise QueryError(f"this text is not closed with {quote}", start + 1)


def _name_end(query: str, start: int) -> int:
    place = start + 1
    while place < len(query):
        if query.startswith("``", place):
            place += 2
        elif query[place] == "`":
            _refuse_escapes(query[start:place], start, "a quoted name")
            return place + 1
        else:
            place += 1
    raise QueryError("this quoted name is not closed with `", start + 1)


def _comment(query: str, start: int) -> int:
    closing = "\n" if query.startswith("//", start) else "*/"
    end = query.find(closing, start + 2)
    if end < 0 and closing == "*/":
        raise QueryError("this comment is not closed with */", start + 1)
    end = len(query) if end < 0 else end + len(closing)
    _refuse_escapes(query[start:end], start, "a comment")
    return end


def _refuse_escapes(text: str, start: int, where: str) -> None:
    """Reject `\\u0041` where Neo4j would decode it, because a reader would overlook it."""
    if match := _ESCAPED.search(text):
        raise QueryError(f"\\u escapes are not allowed in {where}", start + match.start() + 1)


def _paired(read: list[CypherToken]) -> list[CypherToken]:
    open_at: list[int] = []
    result = list(read)
    for index, token in enumerate(read):
        if token.upper in _CLOSING:
            open_at.append(index)
            if len(open_at) > MAX_NESTING:
                raise QueryError("brackets are nested too deeply", token.column)
        elif token.upper in _CLOSING.values():
            if not open_at or _CLOSING[read[open_at[-1]].upper] != token.upper:
                raise QueryError(f"this {token.upper} has no opening bracket", token.column)
            start = open_at.pop()
            first = read[start]
            result[start] = CypherToken(first.kind, first.value, first.upper, first.column, index)
            result[index] = CypherToken(token.kind, token.value, token.upper, token.column, start)
    if open_at:
        token = read[open_at[-1]]
        raise QueryError(f"this {token.upper} is not closed with {_CLOSING[token.upper]}", token.column)
    return result
