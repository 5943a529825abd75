"""Masks every value that a service returns to the screens."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bioeval_tui.record.masking.current import current, masking

if TYPE_CHECKING:
    from bioeval_tui.record.masking.mask import Mask

Given = TypeVar("Given")

UNTOUCHED = frozenset({"preferences", "keep", "close"})
"""Methods whose values are chosen by a person or identify files."""

COME_BACK = frozenset({"medals", "grade"})
"""Methods whose values are passed to other services, which could not find anything by a masked name."""

REFUSED = {"edit": "names are masked, and an editor would show the file as it is"}


class MaskedServices:
    """Returns the values of `inner`, masked. Unchanged values are the same objects as the last time."""

    def __init__(self, inner: Any, mask: Mask) -> None:
        self._inner = inner
        self._mask = mask
        self._known: dict[str, dict[int, tuple[Any, Any]]] = {}
        self._given: dict[int, tuple[Any, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in UNTOUCHED or name.startswith("_"):
            return found
        if name in REFUSED:
            return lambda *_, **__: REFUSED[name]
        return self._wrapped(name, found) if callable(found) else self._masked(name, found)

    def _wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def masked(*arguments: Any, **options: Any) -> Any:
            result = call(
                *map(self._original, arguments), **{key: self._original(one) for key, one in options.items()}
            )
            if inspect.isawaitable(result):
                return self._awaited(name, result)
            if hasattr(result, "__aiter__"):
                return self._iterated(name, result)
            return self._masked(name, result)

        return masked

    async def _awaited(self, name: str, result: Awaitable[Any]) -> Any:
        return self._masked(name, await result)

    async def _iterated(self, name: str, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for item in result:
                yield self._masked(name, item)
        finally:
            if (close := getattr(result, "aclose", None)) is not None:
                await close()

    def _original(self, value: Any) -> Any:
        """Return the original of a masked value that a screen passes back."""
        if isinstance(value, list | tuple):
            items = map(self._original, value)
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        shown, original = self._given.get(id(value), (None, None))
        return original if shown is value and value is not None else value

    def _masked(self, name: str, result: Any) -> Any:
        if not isinstance(result, list | tuple) or hasattr(result, "_fields"):
            shown = self._mask.value(result)
            if name in COME_BACK:
                self._given[id(shown)] = (shown, result)
            return shown
        before, now = self._known.get(name, {}), {}
        for item in result:
            known = before.get(id(item))
            now[id(item)] = known if known and known[0] is item else (item, self._mask.value(item))
        self._known[name] = now
        return type(result)(now[id(item)][1] for item in result)


def masked(services: Given) -> Given:
    """Return the services for screens: masked, if this process masks."""
    return cast(Given, MaskedServices(services, current())) if masking() else services
