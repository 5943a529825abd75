"""A query's clauses, and the paths, nodes and relationships of its patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from bioeval_tui.evaluation.graphs.cypher.roles import Query

_CLAUSE_WORDS = frozenset([
    "MATCH", "RETURN", "WITH", "UNWIND", "CALL", "CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE", "FOREACH",
    "UNION", "WHERE", "ORDER", "SKIP", "LIMIT", "OFFSET", "ON", "YIELD", "OPTIONAL",
])  # fmt: skip
PATTERN_FUNCTIONS = frozenset(("SHORTESTPATH", "ALLSHORTESTPATHS"))


@dataclass(frozen=True, slots=True)
class Clause:
    """`word` with the tokens from `start` to before `end`. `level` is the index of the enclosing bracket, or -1."""

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
    found: list[Clause] = []
    next_start = dict(ends)
    for index, level in reversed(starts):
        word, end = query.upper(index), next_start[level]
        next_start[level] = index
        if word == "MATCH" and query.is_keyword(index - 1, "OPTIONAL"):
            word = "OPTIONAL MATCH"
        if word != "OPTIONAL":
            found.append(Clause(word, index, index + 1, end, level))
    return found[::-1]


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


def path_at(query: Query, index: int) -> list[PatternPart]:
    """Return the path whose first node opens at token `index`."""
    end = index
    while end < len(query.tokens) and (
        query.tokens[end].partner > end or query.upper(end) in ("-", "<", ">")
    ):
        end = query.tokens[end].partner + 1 if query.tokens[end].partner > end else end + 1
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
