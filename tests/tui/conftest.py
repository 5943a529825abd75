"""Screens are drawn in full colour, whatever terminal the tests run in; a process parses each style sheet once."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet


@pytest.fixture(autouse=True)
def all_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that the terminal has them."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True, scope="session")
def parsed_once() -> Iterator[None]:
    """Keep what was parsed with the same variables for the next application: a fifth of the time of a test."""
    kept: dict[frozenset[tuple[str, str]], LRUCache[Any, Any]] = defaultdict(lambda: LRUCache(1024))
    make, change = Stylesheet.__init__, Stylesheet.set_variables

    def made(self: Stylesheet, *, variables: dict[str, str] | None = None) -> None:
        make(self, variables=variables)
        self._parse_cache = kept[frozenset(self._variables.items())]

    def changed(self: Stylesheet, variables: dict[str, str]) -> None:
        self._parse_cache = LRUCache(1)  # which is emptied
        change(self, variables)
        self._parse_cache = kept[frozenset(variables.items())]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "__init__", made)
        patch.setattr(Stylesheet, "set_variables", changed)
        yield
