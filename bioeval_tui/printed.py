"""Describes what commands print as JSON, so that `bioeval-tui schema` makes its schema of the code that prints it.

An object is a `TypedDict` beside the function that returns it, whose keys mypy checks, or the fields of a class (`Fields`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, get_type_hints

from typing_extensions import TypedDict  # pydantic takes typing's own from Python 3.12 on


class Fields:
    """Marks a dict that has the fields of a class as its keys: `Annotated[dict[str, Any], Fields(Plan)]`."""

    def __init__(self, made_from: type, *, without: Collection[str] = (), **more: Any) -> None:
        """`without` are fields that the dict does not have, `more` its other keys with their types."""
        self._made_from = made_from
        self._without = without
        self._more = more

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of the dict."""
        if not self._without and not self._more:
            return handler.generate_schema(self._made_from)
        hints = get_type_hints(self._made_from, include_extras=True)
        keys = {name: kind for name, kind in hints.items() if name not in self._without}
        # Its keys are known only now.
        return handler.generate_schema(TypedDict(self._made_from.__name__, {**keys, **self._more}))  # type: ignore[operator]
