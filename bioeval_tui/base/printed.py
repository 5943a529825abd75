"""Describes what commands print as JSON: `bioeval-tui schema` reads it from the code that prints.

A printed object is either a `TypedDict` beside the function that returns it, whose keys mypy
checks, or made of a value (`Fields`), whose class then says what is printed.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from functools import cache, cached_property
from types import GenericAlias, ModuleType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict  # pydantic takes typing's own from Python 3.12 on


class Fields:
    """The keys of a dict that is made of a value: `Annotated[dict[str, Any], Fields(Plan)]` says
    so, `Fields(Plan).of(plan)` makes it.
    """

    def __init__(
        self,
        made_from: type,
        *keys: str,
        without: Collection[str] = (),
        named: Mapping[str, str] | None = None,
        called: str = "",
        about: str = "",
        texts: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        """Say which keys the dict has; their types are those of the class, so that neither is
        written twice.

        Args:
            made_from: the class of the value.
            keys: all of them in their order, fields or properties; by default each field, then
                those of `more`.
            without: fields that the dict does not have.
            named: fields that are called otherwise, by their keys.
            called: the name of the dict in the schema, by default the class's.
            about: what the dict is, for the schema.
            texts: what keys are, for the schema of a named one, where the class does not say it
                below the field.
            more: the types of keys that the class has no field for, or one of another type.
        """
        self.made_from = made_from
        self._given_keys = keys
        self._without = without
        self._named = named or {}
        self._called = called or made_from.__name__
        self._about = about
        self.texts = dict(texts or {})
        self._more = more

    def of(self, value: Any, /, **given: Any) -> dict[str, Any]:
        """Return the dict of a value, a key from `given` or else as the value has it, without
        copying what it holds.
        """
        keys = self._given_keys or self._keys(field.name for field in fields(self.made_from))
        assert given.keys() <= set(keys)
        return {
            key: given[key] if key in given else getattr(value, self._named.get(key, key))
            for key in keys
        }

    def _keys(self, names: Iterable[str]) -> tuple[str, ...]:
        key_of = {name: key for key, name in self._named.items()}
        own = (key_of.get(name, name) for name in names if name not in self._without)
        return tuple(dict.fromkeys((*own, *self._more)))

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of the dict."""
        if not (self._given_keys or self._without or self._named or self._more):
            return handler.generate_schema(self.made_from)
        return handler.generate_schema(self._type)

    @cached_property
    def _type(self) -> Any:
        hints = get_type_hints(self.made_from, include_extras=True)
        types = {
            key: self._more[key]
            if key in self._more
            else self._field_type(self._named.get(key, key), hints)
            for key in self._given_keys or self._keys(hints)
        }
        make: Any = TypedDict  # its keys are known only now
        made = make(self._called, types)
        made.__doc__ = self._about or None
        return made

    def _field_type(self, name: str, hints: Mapping[str, Any]) -> Any:
        if name in hints:
            return _unbounded(hints[name])
        return get_type_hints(getattr(self.made_from, name).fget, include_extras=True)["return"]


def _unbounded(hint: Any) -> Any:
    """Return a type without the bounds that values from foreign files are held to when they are
    read.
    """
    if get_origin(hint) is Annotated:
        own, *about = get_args(hint)
        if any(isinstance(one, Fields) for one in about):
            return hint
        return _unbounded(own)
    if get_origin(hint) in (Union, UnionType):
        kinds = tuple(map(_unbounded, get_args(hint)))
        return Union[kinds]  # noqa: UP007 (they are known only now)
    if get_origin(hint) in (list, tuple):
        return GenericAlias(get_origin(hint), tuple(map(_unbounded, get_args(hint))))
    return hint


def describe(
    schema: dict[str, Any], module: ModuleType, whole: str, key_of: Callable[[str], str] = str
) -> dict[str, Any]:
    """Give the keys of a schema the text below the fields of the classes that a module has or
    imports; return it.

    `whole` is the class that the schema itself is of, `key_of` makes a field's name a key. The
    texts are read from the source only here: pydantic would read them whenever the module is
    imported, which would slow down every command.
    """
    for name, part in {whole: schema, **schema.get("$defs", {})}.items():
        keys = part.get("properties", {})
        described = vars(module).get(name)
        class_name = name
        made = next((one for one in get_args(described)[1:] if isinstance(one, Fields)), None)
        if made:
            described = made.made_from
            class_name = described.__name__
        origin = getattr(described, "__module__", module.__name__)
        texts = _descriptions(sys.modules[origin]).get(class_name, {})
        if made:  # the class may have more fields than the dict has keys
            texts = {field: text for field, text in (texts | made.texts).items() if field in keys}
        texts = {key_of(field): text for field, text in texts.items()}
        if texts.keys() <= keys.keys():  # otherwise it is of another class of that name
            for key, text in texts.items():
                keys[key]["description"] = text
    return schema


@cache  # `schema --output-dir` asks for most modules once for each command
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
