"""Tools that a job declares (`target.tools`): their declarations and their answers."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import NotMeasuredError, UsageError
from bioeval_tui.base.text import clean_line, compact_json
from bioeval_tui.jobs.models import ToolConfig
from bioeval_tui.jobs.rendering import Templates
from bioeval_tui.peers import python_code
from bioeval_tui.peers.function_calls import in_thread
from bioeval_tui.record.tool_calls import call_event, result_event

NO_RESULT = "the result of this call is not known: the evaluation has no tool of this name"
"""What a model is told of a call that nobody answers."""
FUNCTION_S = 60.0
"""Timeout of a tool's function, in seconds."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer, as the text sent to the agent, or its `error`."""

    content: str
    error: str = ""

    def events(
        self, name: str, arguments: Any, call_id: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the call and its result as the recording keeps them."""
        return call_event(name, arguments, call_id), result_event(
            self.error or self.content, call_id, failed=bool(self.error)
        )


class DeclaredTools:
    """The tools of one conversation; false if the job declares none."""

    def __init__(self, tools: Sequence[ToolConfig], code: Sequence[Path] = ()) -> None:
        """Import the tools' functions. Raises `UsageError` if one cannot be imported."""
        self._tools = {tool.name: tool for tool in tools}
        self._functions: dict[str, Callable[..., Any]] = {
            tool.name: python_code.load(tool.function, code, "arguments")
            for tool in tools
            if tool.function
        }
        self._templates = Templates()

    def __bool__(self) -> bool:
        return bool(self._tools)

    def described(self) -> list[dict[str, Any]]:
        """Return each tool's `name`, `description` and `parameters`."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self._tools.values()
        ]

    async def answer(self, name: str, arguments: Any) -> ToolAnswer:
        """Return a tool's answer. An invalid call gets an error, as in any tool runtime.

        Raises:
            NotMeasuredError: the job's own template is wrong.
        """
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools)
            return ToolAnswer("", f"there is no tool {clean_line(name, 100)}; there are: {known}")
        if not isinstance(arguments, Mapping):
            return ToolAnswer("", f"the arguments of {name} are not a JSON object")
        if tool.error is not None:
            return ToolAnswer("", tool.error)
        if tool.template is not None:
            return ToolAnswer(await self._rendered(tool, arguments))
        if tool.function is None:
            return ToolAnswer(_text(tool.answer))
        try:
            with python_code.printing_elsewhere():
                value = await self._called(name, arguments)
        except Exception as error:  # a tool that fails is something that agents have to deal with
            why = clean_line(f"{type(error).__name__}: {error}", 500)
            return ToolAnswer("", why)
        return ToolAnswer(_text(value))

    async def aclose(self) -> None:
        """End the process that rendered templates, if one was started."""
        await self._templates.aclose()

    async def _rendered(self, tool: ToolConfig, arguments: Mapping[str, Any]) -> str:
        given = {name: arguments.get(name) for name in tool.parameters.get("properties") or {}}
        context = {**given, **arguments, "arguments": dict(arguments)}
        assert tool.template is not None
        try:
            return await self._templates.render(f"tool {tool.name}", tool.template, context)
        except UsageError as error:
            why = str(error).partition(": ")[2]
            raise NotMeasuredError(f"the template of the tool {tool.name}: {why}") from error

    async def _called(self, name: str, arguments: Mapping[str, Any]) -> Any:
        function = self._functions[name]
        async with asyncio.timeout(FUNCTION_S):
            if inspect.iscoroutinefunction(function):
                return await function(dict(arguments))
            value = await in_thread(function, dict(arguments))
            if inspect.isawaitable(value):
                return await value
            return value


def _text(value: Any) -> str:
    """Return what is sent to the agent: text unchanged, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return compact_json(value)
