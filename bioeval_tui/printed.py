"""Describes what commands print as JSON, so that `bioeval-tui schema` makes its schema of the code that prints it.

An object is a `TypedDict` beside the function that returns it, whose keys mypy checks, or the fields of a class (`Fields`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection
from types import ModuleType
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


def describe(
    schema: dict[str, Any], module: ModuleType, whole: str, key_of: Callable[[str], str] = str
) -> dict[str, Any]:
    """Give the keys of a schema the text below the fields of a module's classes, their own or inherited; return it.

    `whole` is the class that the schema itself is of, `key_of` makes a field's name a key. The texts are read from the source only
    here: pydantic would read them whenever the module is imported, which would slow down every command.
    """
    described = _descriptions(module)
    for name, part in {whole: schema, **schema.get("$defs", {})}.items():
        texts = {key_of(field): text for field, text in described.get(name, {}).items()}
        keys = part.get("properties", {})
        if texts.keys() <= keys.keys():  # otherwise it is of another class of that name
            for key, text in texts.items():
                keys[key]["description"] = text
    return schema


def _descriptions(module: ModuleType) -> dict[str, dict[str, str]]:
    descriptions: dict[str, dict[str, str]] = {}
    for part in ast.parse(inspect.getsource(module)).body:
        if not isinstance(part, ast.ClassDef):
            continue
        own: dict[str, str] = {}
        for base in part.bases:
            own |= descriptions.get(base.id, {}) if isinstance(base, ast.Name) else {}
        for field, text in zip(part.body, part.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match text:
                    case ast.Expr(ast.Constant(str(description))):
                        own[field.target.id] = " ".join(description.split())
        descriptions[part.name] = own
    return descriptions
