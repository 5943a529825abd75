"""Checks of Cypher queries: that they only read, or read and write data.

This is the first of two lines of defence. The second is the graph's own: a read-only transaction in
Neo4j, `PRAGMA query_only` in the embedded one. Here a query is split into tokens (comments and
white space are dropped, unknown characters are an error), every word is classified as a keyword or
a name, and anything unknown is rejected. The clauses of a query, and the paths, nodes and
relationships of its patterns, are for `graphqlite`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps
from itertools import pairwise
from typing import TypeVarTuple, Unpack

from bioeval_tui.base.errors import ForbiddenQueryError, QueryError
from bioeval_tui.base.text import clean_line

MAX_LENGTH = 100_000
MAX_NESTING = 100

_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*)?\.[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?"
    r"|[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?"
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

    `upper` is a word in capitals, a symbol itself, and empty for all else. `column` counts from 1
    in the whole query. `partner` is, for a bracket, the index of the other one.
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
        return (
            CypherToken("parameter", match[1] or (match[2] or "").replace("``", "`"), "", column),
            match.end(),
        )
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
        raise QueryError(
            f"this {token.upper} is not closed with {_CLOSING[token.upper]}", token.column
        )
    return result


# After these, an operand, a pattern or another keyword follows.
_BEFORE_OPERAND = frozenset([
    "MATCH", "RETURN", "WITH", "WHERE", "UNWIND", "AND", "OR", "XOR", "NOT", "AS", "BY", "IN",
    "DISTINCT", "CASE",
    "WHEN", "THEN", "ELSE", "CONTAINS", "SKIP", "LIMIT", "OFFSET", "YIELD", "CALL", "CREATE",
    "MERGE", "SET",
    "DELETE", "DETACH", "REMOVE", "FOREACH", "OPTIONAL", "ORDER", "STARTS", "ENDS", "IS", "ON",
    "UNION", "ALL",
    "USE", "LOAD", "CSV", "FROM", "DROP", "INSERT",
])  # fmt: skip
# Words that are keywords even where an operand is expected, after the given word or symbol.
_FOLLOWERS: dict[str, frozenset[str]] = {
    "OPTIONAL": frozenset(("MATCH", "CALL")),
    "ORDER": frozenset(("BY",)),
    "STARTS": frozenset(("WITH",)),
    "ENDS": frozenset(("WITH",)),
    "IS": frozenset(("NOT", "NULL", "NORMALIZED", "TYPED")),
    "ON": frozenset(("CREATE", "MATCH")),
    "CREATE": frozenset(
        ("SET", "INDEX", "CONSTRAINT", "OR", "DATABASE", "USER", "ROLE", "ALIAS", "UNIQUE")
    ),
    "MATCH": frozenset(("SET", "SHORTEST", "ALL", "ANY")),
    "DETACH": frozenset(("DELETE",)),
    "LOAD": frozenset(("CSV",)),
}
_OPERAND_KEYWORDS = frozenset([
    "NOT", "CASE", "DISTINCT", "EXISTS", "COUNT", "COLLECT", "NULL", "TRUE", "FALSE", "ALL", "ANY",
    "NONE",
    "SINGLE",
])  # fmt: skip
_ENDS_OPERAND = frozenset(
    ["NULL", "TRUE", "FALSE", "END", "ASC", "DESC", "ASCENDING", "DESCENDING"]
)
STATEMENT_WORDS = frozenset([
    "MATCH", "OPTIONAL", "RETURN", "WITH", "UNWIND", "CALL", "CREATE", "MERGE", "SET", "DELETE",
    "DETACH", "REMOVE",
    "FOREACH", "LOAD", "USE", "DROP", "SHOW", "TERMINATE", "START", "STOP", "ALTER", "GRANT",
    "DENY", "REVOKE",
    "RENAME", "ENABLE", "DEALLOCATE", "DRYRUN", "REALLOCATE", "INSERT", "FINISH", "EXPLAIN",
    "PROFILE", "CYPHER",
    "USING", "NODETACH", "FILTER", "LET", "FOR", "ORDER", "SKIP", "LIMIT", "OFFSET",
])  # fmt: skip
_SUBQUERY = frozenset(("CALL", "EXISTS", "COUNT", "COLLECT"))


@dataclass(frozen=True, slots=True)
class Query:
    """A query's tokens; `keyword[i]` says that token i is a keyword (in `upper`) and not a name."""

    tokens: tuple[CypherToken, ...]
    keyword: tuple[bool, ...]
    subqueries: frozenset[int]

    def is_keyword(self, index: int, *words: str) -> bool:
        """Return whether token `index` is one of these keywords."""
        return (
            0 <= index < len(self.tokens)
            and self.keyword[index]
            and self.tokens[index].upper in words
        )

    def upper(self, index: int) -> str:
        """Return a word in capitals, or a symbol; an empty text for everything else and outside the
        query.
        """
        if 0 <= index < len(self.tokens):
            return self.tokens[index].upper
        return ""

    def is_name(self, index: int) -> bool:
        """Return whether token `index` is a name, quoted or not."""
        if not 0 <= index < len(self.tokens):
            return False
        return self.tokens[index].kind == "name" or (
            self.tokens[index].kind == "word" and not self.keyword[index]
        )


def read(text: str) -> Query:
    """Return `text` cut into tokens with their roles.

    Raises:
        QueryError: the text is empty, is more than one statement, or cannot be cut.
    """
    read_tokens = tokens(text)
    while len(read_tokens) > 1 and read_tokens[-2].upper == ";":
        del read_tokens[-2]
    if len(read_tokens) == 1:
        raise QueryError("the query is empty", 1)
    for token in read_tokens:
        if token.upper == ";":
            raise ForbiddenQueryError("only one statement is allowed here", token.column)
    return _Roles(read_tokens).query()


class _Roles:
    def __init__(self, found: list[CypherToken]) -> None:
        self.found = found
        self.keyword = [False] * len(found)
        self.subqueries: set[int] = set()
        self.labels: set[int] = set()
        self.open: list[int] = []
        self.due = True  # an operand or a clause is due
        self.clause = True  # what is due is a clause: the start of the query or of a subquery

    def query(self) -> Query:
        for index, token in enumerate(self.found):
            if token.kind == "word":
                self.word(index, token.upper)
            elif token.kind == "symbol":
                self.symbol(index, token.upper)
            else:
                self.due = self.clause = False
        return Query(tuple(self.found), tuple(self.keyword), frozenset(self.subqueries))

    def word(self, index: int, upper: str) -> None:
        before = self.found[index - 1].upper if index else ""
        after = self.found[index + 1].upper
        was_clause, self.clause = self.clause, False
        if before in (".", ":") or (before in ("|", "&", "!") and self.joins_labels(index)):
            self.labels.add(index)
            self.due = False
            return
        if before in ("{", ",") and after == ":" and not was_clause:
            self.due = False
            return
        if self.due and not was_clause and not self.stays_keyword(index, upper, before):
            self.due = False
            return
        self.keyword[index] = True
        self.due = upper in _BEFORE_OPERAND and upper not in _ENDS_OPERAND
        self.clause = upper in ("UNION", "EXPLAIN", "PROFILE") or (
            upper == "ALL" and before == "UNION"
        )
        if upper not in _BEFORE_OPERAND and upper not in STATEMENT_WORDS and was_clause:
            self.due = False

    def stays_keyword(self, index: int, upper: str, before: str) -> bool:
        """Return whether a word is a keyword although an operand is expected here."""
        if self.keyword[index - 1] and upper in _FOLLOWERS.get(before, ()):
            return True
        if upper in _OPERAND_KEYWORDS:
            after = self.found[index + 1].upper
            if upper in ("EXISTS", "COUNT", "COLLECT"):
                return after == "{"
            if upper in ("ALL", "ANY", "NONE", "SINGLE"):
                return False
            return after not in (".", ":", "=") or upper in ("NULL", "TRUE", "FALSE")
        # A writing keyword before something that it could write is never treated as a name.
        return (
            upper in STATEMENT_WORDS and self.starts_operand(index + 1) and before not in ("(", "[")
        )

    def starts_operand(self, index: int) -> bool:
        token = self.found[index]
        if token.kind == "word":
            infix = token.upper in (
                "AS", "IN", "IS", "AND", "OR", "XOR", "STARTS", "ENDS", "CONTAINS", "ASC", "DESC",
            )  # fmt: skip
            clause = token.upper in STATEMENT_WORDS | {
                "WHERE",
                "THEN",
                "ELSE",
                "WHEN",
                "END",
                "UNION",
            }
            return not (infix or clause) or self.found[index + 1].upper in (".", ":", "=", "+=")
        return token.kind in ("name", "parameter", "text", "number") or token.upper in ("(", "{")

    def symbol(self, index: int, upper: str) -> None:
        was_clause, self.clause = self.clause, False
        if self.found[index].partner > index:
            self.open.append(index)
        if upper in (")", "]", "}"):
            self.open.pop()
            self.due = False
        elif upper == "{" and self.opens_subquery(index):
            self.subqueries.add(index)
            self.due = self.clause = True
        elif upper == "*" and self.due and not was_clause:
            self.due = False  # RETURN *, WITH *, count(*), [*]
        elif upper == "|" and self.opens_foreach():
            self.due = self.clause = True
        else:
            self.due = True

    def opens_subquery(self, index: int) -> bool:
        before = index - 1
        if before >= 0 and self.found[before].upper == ")":  # CALL (n) { … }
            before = self.found[before].partner - 1
        return before >= 0 and self.keyword[before] and self.found[before].upper in _SUBQUERY

    def joins_labels(self, index: int) -> bool:
        """Return whether the `|`, `&` or `!` before token `index` joins labels or types: (n:A|B),
        [:R|S].
        """
        place = index - 1
        while place >= 0:
            token = self.found[place]
            if token.upper == ":" or place in self.labels:
                return True
            if not (token.upper in ("|", "&", "!", "(", ")") or token.kind in ("name", "word")):
                return False
            if token.upper in ("(", ")") and self.found[place - 1].upper not in (
                "&",
                "|",
                "!",
                ":",
                ")",
            ):
                return False
            if token.kind == "word" and self.keyword[place]:
                return False
            place -= 1
        return False

    def opens_foreach(self) -> bool:
        """Return whether the innermost open bracket is that of FOREACH ( … )."""
        if not self.open:
            return False
        start = self.open[-1]
        return (
            start > 0
            and self.found[start].upper == "("
            and self.found[start - 1].upper == "FOREACH"
        )


_CLAUSE_WORDS = frozenset([
    "MATCH", "RETURN", "WITH", "UNWIND", "CALL", "CREATE", "MERGE", "SET", "DELETE", "DETACH",
    "REMOVE", "FOREACH",
    "UNION", "WHERE", "ORDER", "SKIP", "LIMIT", "OFFSET", "ON", "YIELD", "OPTIONAL",
])  # fmt: skip
PATTERN_FUNCTIONS = frozenset(("SHORTESTPATH", "ALLSHORTESTPATHS"))


@dataclass(frozen=True, slots=True)
class Clause:
    """`word` with the tokens from `start` to before `end`.

    `level` is the index of the enclosing bracket, or -1.
    """

    word: str
    keyword: int
    start: int
    end: int
    level: int


@dataclass(frozen=True, slots=True)
class PatternPart:
    """A node or a relationship: the tokens between its brackets, its variable, labels or types."""

    node: bool
    start: int
    end: int
    variable: str
    kinds: frozenset[str]
    map_at: int  # the `{` of its properties, or -1
    star_at: int  # the `*` of a variable length, or -1


def clauses(query: Query) -> list[Clause]:
    """Return all clauses in the order of their keywords, those of subqueries included."""
    starts: list[tuple[int, int]] = []
    stack = [-1]
    ends: dict[int, int] = {-1: len(query.tokens) - 1}
    for index, token in enumerate(query.tokens):
        while stack[-1] >= 0 and query.tokens[stack[-1]].partner == index:
            stack.pop()
        if token.partner > index:
            stack.append(index)
            ends[index] = token.partner
        elif query.keyword[index] and token.upper in _CLAUSE_WORDS and _begins(query, index):
            starts.append((index, stack[-1]))
    backwards: list[Clause] = []
    next_start = dict(ends)
    for index, level in reversed(starts):
        word, end = query.upper(index), next_start[level]
        next_start[level] = index
        if word == "MATCH" and query.is_keyword(index - 1, "OPTIONAL"):
            word = "OPTIONAL MATCH"
        if word != "OPTIONAL":
            backwards.append(Clause(word, index, index + 1, end, level))
    return backwards[::-1]


_READING_WORDS = frozenset(("CALL", "LOAD", "MATCH", "SHOW", "USE"))
_PATTERN_PAIRS = frozenset(
    (("-", "["), ("-", "-"), ("]", "-"), ("COUNT", "{"), ("COLLECT", "{"), ("EXISTS", "{"))
)
"""Tokens side by side of patterns and subqueries outside of `MATCH`."""
_ARROW_SIGNS = frozenset("-<>")
"""What stands between the bracketed nodes and relationships of a path: any other token, such as a
comma, comes after it.
"""


def asks_nothing(text: str) -> bool:
    """Return whether a query looks at no node or relationship, so that its result is the same with
    any graph.

    Raises:
        QueryError: it cannot be cut into tokens.
    """
    words = [token.upper for token in tokens(text)]
    neighbours = pairwise(words)
    return _READING_WORDS.isdisjoint(words) and _PATTERN_PAIRS.isdisjoint(neighbours)


def paths(query: Query, start: int, end: int) -> Iterator[list[PatternPart]]:
    """Yield the nodes and relationships of each path of a pattern, in their order."""
    for first, last in _split(query, start, end):
        for index in range(first, last):
            if query.upper(index) in PATTERN_FUNCTIONS and query.upper(index + 1) == "(":
                yield from paths(query, index + 2, query.tokens[index + 1].partner)
                break
        else:
            if path := list(_parts(query, first, last)):
                yield path


def read_path(query: Query, index: int) -> list[PatternPart]:
    """Return the path whose first node opens at token `index`."""
    end = index
    while end < len(query.tokens):
        closing = query.tokens[end].partner
        opens_bracket = closing > end
        if opens_bracket:
            end = closing + 1
        elif query.upper(end) in _ARROW_SIGNS:
            end += 1
        else:
            break
    return list(_parts(query, index, end))


def top_level(query: Query, start: int, end: int) -> Iterator[int]:
    """Yield the indexes from `start` to before `end` that are in no bracket opened there."""
    index = start
    while index < end:
        yield index
        partner = query.tokens[index].partner
        index = partner if partner > index else index + 1


def _begins(query: Query, index: int) -> bool:
    before = query.upper(index - 1)
    if query.upper(index) == "WITH" and query.keyword[index - 1] and before in ("STARTS", "ENDS"):
        return False
    return not (query.upper(index) in ("CREATE", "MATCH") and query.is_keyword(index - 1, "ON"))


def _split(query: Query, start: int, end: int) -> list[tuple[int, int]]:
    commas = [index for index in top_level(query, start, end) if query.upper(index) == ","]
    edges = [start - 1, *commas, end]
    return [(first + 1, last) for first, last in pairwise(edges)]


def _parts(query: Query, start: int, end: int) -> Iterator[PatternPart]:
    for index in top_level(query, start, end):
        token = query.tokens[index]
        if token.partner < index or token.upper not in ("(", "["):
            continue
        if token.upper == "(" and (query.is_name(index - 1) and index - 1 >= start):
            continue  # a function
        yield _part(query, index, token.partner)


def _part(query: Query, start: int, end: int) -> PatternPart:
    inside = list(top_level(query, start + 1, end))
    variable = query.tokens[start + 1].value if query.is_name(start + 1) else ""
    maps = [index for index in inside if query.upper(index) == "{"]
    stars = [index for index in inside if query.upper(index) == "*"]
    last = min([*maps, *stars, end])
    colons = [index for index in inside if query.upper(index) == ":" and index < last]
    kinds = {
        query.tokens[index].value
        for index in inside
        if colons and colons[0] < index < last and query.tokens[index].kind in ("word", "name")
    }
    return PatternPart(
        query.upper(start) == "(",
        start,
        end,
        variable,
        frozenset(kinds),
        maps[0] if maps else -1,
        stars[0] if stars else -1,
    )


_REMEMBERED = 1024
_LONGEST_REMEMBERED = 20_000
"""Checks look only at the text and the parameters' names, so what passes is remembered: a check
takes milliseconds on the event loop on which answers are timed, and an assertion asks the same
query after every turn.
"""


Rest = TypeVarTuple("Rest")


def remembered(check: Callable[[str, Unpack[Rest]], None]) -> Callable[[str, Unpack[Rest]], None]:
    """Return a check that looks only once at a query that it passes."""
    passes: Callable[..., None] = lru_cache(_REMEMBERED)(check)

    @wraps(check)
    def remembering(query: str, *rest: *Rest) -> None:
        (passes if len(query) <= _LONGEST_REMEMBERED else check)(query, *rest)

    return remembering


@remembered
def check_read_only(query: str) -> None:
    """Raise `QueryError` with its column unless `query` is one statement that only reads.

    Refused: writing clauses, schema and administration commands, LOAD CSV, USE, FOREACH, subqueries
    IN TRANSACTIONS, procedures that are not on a short list of reading ones, several statements,
    empty text, brackets and quotes that are not closed. Keywords in texts, comments, quoted names,
    labels, property names, map keys and variables are left alone.
    """
    cypher = read(query)
    _check_everything(cypher)
    for index, token in enumerate(cypher.tokens):
        if cypher.keyword[index] and token.upper in _WRITING:
            raise QueryError(f"{token.upper} writes; only reading is allowed here", token.column)
    _check_beginning(cypher, _BEGINNINGS)
    returns = any(
        cypher.is_keyword(index, "RETURN") for index in top_level(cypher, 0, len(cypher.tokens))
    )
    if not returns and not cypher.is_keyword(0, "CALL"):
        raise QueryError("the query returns nothing; end it with RETURN", cypher.tokens[-1].column)


@remembered
def check_setup(query: str) -> None:
    """Raise `QueryError`, with its column, unless `query` is one statement that reads or writes
    data.

    Setups may create and delete nodes and relationships; schema and administration commands, LOAD
    CSV, USE, subqueries IN TRANSACTIONS and procedures (but the reading ones) are refused.
    """
    cypher = read(query)
    _check_everything(cypher)
    _check_beginning(cypher, _BEGINNINGS | _WRITING)


def split_statements(text: str) -> list[str]:
    """Return the statements, separated by semicolons, without empty ones; unreadable text counts as
    one statement.
    """
    try:
        ends = [token.column - 1 for token in tokens(text) if token.upper == ";"]
    except QueryError:
        return [text]
    begins = [0, *(end + 1 for end in ends)]
    parts = [text[begin:end] for begin, end in zip(begins, [*ends, len(text)], strict=True)]
    return [part.strip() for part in parts if part.strip()]


READING_PROCEDURES = frozenset((
    "db.labels", "db.relationshiptypes", "db.propertykeys", "db.schema.visualization",
    "db.schema.nodetypeproperties", "db.schema.reltypeproperties", "db.index.fulltext.querynodes",
    "db.index.fulltext.queryrelationships", "db.index.vector.querynodes",
    "db.index.vector.queryrelationships",
))  # fmt: skip
"""Procedures that a query may call, in small letters."""

_BEGINNINGS = frozenset(["MATCH", "OPTIONAL", "RETURN", "WITH", "UNWIND", "CALL"])
_WRITING = frozenset(
    ["CREATE", "MERGE", "SET", "DELETE", "DETACH", "NODETACH", "REMOVE", "FOREACH", "INSERT"]
)
_ADMINISTRATION = frozenset([
    "DROP", "ALTER", "GRANT", "DENY", "REVOKE", "RENAME", "ENABLE", "DEALLOCATE", "REALLOCATE",
    "DRYRUN", "SHOW",
    "TERMINATE", "START", "STOP",
])  # fmt: skip
_SCHEMA_OBJECTS = frozenset([
    "INDEX", "CONSTRAINT", "DATABASE", "ALIAS", "USER", "ROLE", "LOOKUP", "TEXT", "RANGE", "POINT",
    "FULLTEXT",
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
        raise ForbiddenQueryError(
            "USE names another graph, which is not allowed here", token.column
        )
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
    """Return whether `IN [n] [CONCURRENT] TRANSACTIONS` begins at token `index`, after a
    subquery.
    """
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
