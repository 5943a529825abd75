"""Which words are keywords and which are names.

In Cypher, a label, property, map key or variable may have the name of a keyword. Words are read from
left to right: where an operand is expected, a word is a name; after an operand, it is a keyword.
"""

from __future__ import annotations

from dataclasses import dataclass

from bioeval_tui.errors import ForbiddenQueryError, QueryError
from bioeval_tui.evaluation.graphs.cypher.lexer import CypherToken, tokens

# After these, an operand, a pattern or another keyword follows.
_BEFORE_OPERAND = frozenset([
    "MATCH", "RETURN", "WITH", "WHERE", "UNWIND", "AND", "OR", "XOR", "NOT", "AS", "BY", "IN", "DISTINCT", "CASE",
    "WHEN", "THEN", "ELSE", "CONTAINS", "SKIP", "LIMIT", "OFFSET", "YIELD", "CALL", "CREATE", "MERGE", "SET",
    "DELETE", "DETACH", "REMOVE", "FOREACH", "OPTIONAL", "ORDER", "STARTS", "ENDS", "IS", "ON", "UNION", "ALL",
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
    "CREATE": frozenset(("SET", "INDEX", "CONSTRAINT", "OR", "DATABASE", "USER", "ROLE", "ALIAS", "UNIQUE")),
    "MATCH": frozenset(("SET", "SHORTEST", "ALL", "ANY")),
    "DETACH": frozenset(("DELETE",)),
    "LOAD": frozenset(("CSV",)),
}
_OPERAND_KEYWORDS = frozenset([
    "NOT", "CASE", "DISTINCT", "EXISTS", "COUNT", "COLLECT", "NULL", "TRUE", "FALSE", "ALL", "ANY", "NONE",
    "SINGLE",
])  # fmt: skip
_ENDS_OPERAND = frozenset(["NULL", "TRUE", "FALSE", "END", "ASC", "DESC", "ASCENDING", "DESCENDING"])
STATEMENT_WORDS = frozenset([
    "MATCH", "OPTIONAL", "RETURN", "WITH", "UNWIND", "CALL", "CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE",
    "FOREACH", "LOAD", "USE", "DROP", "SHOW", "TERMINATE", "START", "STOP", "ALTER", "GRANT", "DENY", "REVOKE",
    "RENAME", "ENABLE", "DEALLOCATE", "DRYRUN", "REALLOCATE", "INSERT", "FINISH", "EXPLAIN", "PROFILE", "CYPHER",
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
        return 0 <= index < len(self.tokens) and self.keyword[index] and self.tokens[index].upper in words

    def upper(self, index: int) -> str:
        """Return a word in capitals, or a symbol; an empty text for everything else and outside the query."""
        return self.tokens[index].upper if 0 <= index < len(self.tokens) else ""

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
    found = tokens(text)
    while len(found) > 1 and found[-2].upper == ";":
        del found[-2]
    if len(found) == 1:
        raise QueryError("the query is empty", 1)
    for token in found:
        if token.upper == ";":
            raise ForbiddenQueryError("only one statement is allowed here", token.column)
    return _Roles(found).query()


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
        if before in (".", ":") or (before in ("|", "&", "!") and self.in_label(index)):
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
        self.clause = upper in ("UNION", "EXPLAIN", "PROFILE") or (upper == "ALL" and before == "UNION")
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
        return upper in STATEMENT_WORDS and self.starts_operand(index + 1) and before not in ("(", "[")

    def starts_operand(self, index: int) -> bool:
        token = self.found[index]
        if token.kind == "word":
            infix = token.upper in (
                "AS", "IN", "IS", "AND", "OR", "XOR", "STARTS", "ENDS", "CONTAINS", "ASC", "DESC",
            )  # fmt: skip
            clause = token.upper in STATEMENT_WORDS | {"WHERE", "THEN", "ELSE", "WHEN", "END", "UNION"}
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
        elif upper == "|" and self.in_foreach():
            self.due = self.clause = True
        else:
            self.due = True

    def opens_subquery(self, index: int) -> bool:
        before = index - 1
        if before >= 0 and self.found[before].upper == ")":  # CALL (n) { … }
            before = self.found[before].partner - 1
        return before >= 0 and self.keyword[before] and self.found[before].upper in _SUBQUERY

    def in_label(self, index: int) -> bool:
        """Return whether the `|`, `&` or `!` before token `index` joins labels or types: (n:A|B), [:R|S]."""
        place = index - 1
        while place >= 0:
            token = self.found[place]
            if token.upper == ":" or place in self.labels:
                return True
            if not (token.upper in ("|", "&", "!", "(", ")") or token.kind in ("name", "word")):
                return False
            if token.upper in ("(", ")") and self.found[place - 1].upper not in ("&", "|", "!", ":", ")"):
                return False
            if token.kind == "word" and self.keyword[place]:
                return False
            place -= 1
        return False

    def in_foreach(self) -> bool:
        """Return whether the innermost open bracket is that of FOREACH ( … )."""
        start = self.open[-1] if self.open else 0
        return start > 0 and self.found[start].upper == "(" and self.found[start - 1].upper == "FOREACH"
