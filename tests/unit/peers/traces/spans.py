"""Spans for tests."""

from __future__ import annotations

import json
from typing import Any

from bioeval_tui.formats import AgentSpan

TRACE = "11" * 16


def span(
    number: int,
    parent: int | str = "",
    *,
    trace: str = TRACE,
    name: str = "work",
    **attributes: Any,
) -> AgentSpan:
    """Return span `number`, which begins at that second and takes one; `a__b` among the attributes
    is `a.b`.
    """
    above = parent if isinstance(parent, str) else f"{parent:016x}"
    said = {key.replace("__", "."): value for key, value in attributes.items()}
    return AgentSpan(
        trace_id=trace, span_id=f"{number:016x}", parent_id=above, name=name,
        start_ns=number * 10**9, end_ns=(number + 1) * 10**9, attributes=said,
    )  # fmt: skip


def tool(
    number: int,
    name: str,
    arguments: Any = None,
    result: Any = None,
    parent: int | str = "",
    **more: Any,
) -> AgentSpan:
    """Return the span of a tool call, as the GenAI conventions have it."""
    said: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": name}
    if arguments is not None:
        said["gen_ai__tool__call__arguments"] = json.dumps(arguments)
    if result is not None:
        said["gen_ai__tool__call__result"] = json.dumps(result)
    return span(number, parent, name=f"execute_tool {name}", **said, **more)
