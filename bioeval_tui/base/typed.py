"""Values of other people's code, made to be of the types that were asked for."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from bioeval_tui.base.text import clean_line


def as_type(kind: Any, value: Any, source: str) -> Any:
    """Return a value as its type says, such as a tuple for a list; of dataclasses, their fields.

    Without it, a text in the place of a number fails far from whoever gave it, as a bug of ours.

    Raises:
        TypeError: it is of another type; the message says where, and that `source` gave it.
    """
    try:
        (typed,) = _adapter(kind).validate_python((value,))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"][1:])) or "a value"
        given = type(first["input"]).__name__
        raise TypeError(
            clean_line(f"{source} gave {place} of the type {given}: {first['msg']}", 300)
        ) from None
    return typed


@cache
def _adapter(kind: Any) -> TypeAdapter[tuple[Any]]:
    # A tuple, because pydantic takes no configuration for a dataclass itself.
    return TypeAdapter(tuple[kind], config=ConfigDict(revalidate_instances="always"))
