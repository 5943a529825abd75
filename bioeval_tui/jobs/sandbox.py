"""Renders a template in a sandbox, which rejects escapes and most templates that run long or grow
large.

What it cannot stop is stopped by a process of its own, which `rendering.py` has for prompts that
are not this program's.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line

MAX_PROMPT = 2_000_000
"""Maximum length of what a template gives, in characters."""
MAX_STEPS = 100_000
"""Maximum number of steps of `range` in one rendering."""
MAX_KEPT = 2_000
"""Maximum length of a text in the cache for the next prompt, in characters."""
_UNSAFE_STRING_METHODS = frozenset(
    {"center", "ljust", "rjust", "zfill", "format", "format_map", "expandtabs", "translate"}
)
_UNSAFE_FILTERS = ("center", "format", "indent")


def render(name: str, text: str, context: Mapping[str, Any]) -> str:
    """Render the template `text`, called `name`, with `context`.

    Raises:
        UsageError: the template is wrong, or is rejected by the sandbox.
    """
    parts: list[str] = []
    length = 0
    where = f"prompt `{clean_line(name, 100)}`"
    try:
        for part in _compile_anew(text).generate(context):
            length += len(part)
            if length > MAX_PROMPT:
                raise UsageError(f"{where}: the result is longer than {MAX_PROMPT:,} characters")
            parts.append(part)
    except TemplateSyntaxError as problem:
        raise UsageError(
            f"{where}, line {problem.lineno}: {clean_line(problem.message or 'wrong syntax')}"
        ) from None
    except SecurityError as problem:
        raise UsageError(f"{where}: not allowed: {clean_line(str(problem))}") from None
    except TemplateError as problem:
        raise UsageError(f"{where}: {clean_line(problem.message or str(problem))}") from None
    except MemoryError:
        raise UsageError(f"{where}: it takes too much memory") from None
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
        AttributeError,
    ) as problem:
        raise UsageError(f"{where}: {clean_line(str(problem))}") from None
    return "".join(parts).strip()


@functools.lru_cache(maxsize=32)
def _compile(text: str) -> tuple[Sandbox, Template]:
    """Compile a template once, because that takes ten times as long as rendering it."""
    environment = Sandbox()
    return environment, environment.from_string(text)


def _compile_anew(text: str) -> Template:
    """Return the template, with all its steps before it. Raises what Jinja raises."""
    environment, template = _compile(text)
    environment.steps = 0
    return template


def _readable_json(value: Any) -> str:
    if isinstance(value, str) and len(value) <= MAX_KEPT:
        return _text_as_json(value)
    if isinstance(value, dict) and list(value) == ["role", "content"]:
        role, content = value.values()
        if isinstance(role, str) and isinstance(content, str) and len(content) <= MAX_KEPT:
            return _message_as_json(role, content)
    return json.dumps(value, ensure_ascii=False)


# Each prompt contains every previous message of the conversation again.
@functools.lru_cache(maxsize=4096)
def _text_as_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


@functools.lru_cache(maxsize=4096)
def _message_as_json(role: str, content: str) -> str:
    return json.dumps({"role": role, "content": content}, ensure_ascii=False)


class Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox in which a template can neither run long nor grow large."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self, finalize: Callable[[Any], Any] | None = None) -> None:
        """`finalize` converts the value of an expression to text."""
        super().__init__(
            undefined=StrictUndefined, trim_blocks=False, lstrip_blocks=False,
            keep_trailing_newline=False,
            finalize=finalize,
        )  # fmt: skip
        self.steps = 0
        self.globals["range"] = self._range
        self.filters["as_json"] = _readable_json
        for name in _UNSAFE_FILTERS:
            self.filters.pop(name, None)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Reject string methods that create large results from small arguments."""
        if isinstance(obj, str) and attr in _UNSAFE_STRING_METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Allow only arithmetic on numbers of ordinary size.

        Raises:
            SecurityError: an operand is too large, or not a number.
        """
        for operand in (left, right):
            if not isinstance(operand, int | float) or abs(operand) > 1e6:
                raise SecurityError(f"`{operator}` works on numbers up to 1,000,000")
        if operator == "**" and abs(right) > 16:
            raise SecurityError("`**` works up to 16")
        return super().call_binop(context, operator, left, right)

    def _range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        self.steps += len(numbers)
        if self.steps > MAX_STEPS:
            raise SecurityError(f"more than {MAX_STEPS:,} steps of range")
        return numbers
