"""The checks that a query passes before it reaches a graph.

They use only the text and the parameters' names, so the result is cached: a check takes
milliseconds on the event loop on which answers are timed, and an assertion asks the same after every turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from bioeval_tui.evaluate.graphs import cypher as cypher_guard

_REMEMBERED = 1024
_LONGEST_REMEMBERED = 20_000


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
        cypher_guard.check_setup(cypher)
    else:
        cypher_guard.check_read_only(cypher)
    if embedded:
        cypher_guard.check_embedded(cypher, dict.fromkeys(names))
