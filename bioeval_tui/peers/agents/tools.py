"""Tools that a job declares (`target.tools`): their declarations, their answers, and the calls in
which they are to fail.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bioeval_tui.base.errors import NotMeasuredError, UsageError
from bioeval_tui.base.text import clean_line, compact_json
from bioeval_tui.jobs.models import ToolConfig, ToolFailure
from bioeval_tui.jobs.rendering import Templates
from bioeval_tui.peers import python_code
from bioeval_tui.peers.function_calls import in_thread
from bioeval_tui.record.tool_calls import InjectedFailure, call_event, result_event

NO_RESULT = "the result of this call is not known: the evaluation has no tool of this name"
"""What a model is told of a call that nobody answers."""
FUNCTION_S = 60.0
"""Timeout of a tool's function, in seconds."""
TIMED_OUT = "the tool {} did not answer in time"
"""What a model is told of a call that is to time out."""
LATE = "the result is not ready yet; make the same call again to get it"
"""What a model is told of a call whose answer is to be late."""
NO_NUMBER, NO_TEXT = "n/a", -1
"""What is answered in place of a number or a yes or no, and in place of anything else."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer, as the text sent to the agent, or its `error`."""

    content: str
    error: str = ""
    injected: InjectedFailure | Literal[""] = ""
    """How the job made the call fail; empty if it did not."""

    def events(
        self, name: str, arguments: Any, call_id: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the call and its result as the recording keeps them."""
        return call_event(name, arguments, call_id), self.result(call_id)

    def result(self, call_id: str) -> dict[str, Any]:
        """Return the result of a call as the recording keeps it."""
        return result_event(
            self.error or self.content,
            call_id,
            failed=bool(self.error),
            injected=self.injected,
        )


class DeclaredTools:
    """The tools of one conversation; false if the job declares none."""

    def __init__(
        self, tools: Sequence[ToolConfig], code: Sequence[Path] = (), drawn_by: str = ""
    ) -> None:
        """Import the tools' functions. Raises `UsageError` if one cannot be imported.

        `drawn_by` (`AgentTerms.drawn_by`) decides which calls fail, by their numbers alone: the
        same ones in every condition of a trial, and when it is held again.
        """
        self._tools = {tool.name: tool for tool in tools}
        self._functions: dict[str, Callable[..., Any]] = {
            tool.name: python_code.load(tool.function, code, "arguments")
            for tool in tools
            if tool.function
        }
        self._templates = Templates()
        self._drawn_by = drawn_by
        self._called_so_far: Counter[str] = Counter()
        self._late: dict[tuple[str, str], ToolAnswer] = {}
        """The answers that were late, by the tool and its arguments, until they are given."""

    def __bool__(self) -> bool:
        return bool(self._tools)

    def described(self) -> list[dict[str, Any]]:
        """Return each tool's `name`, `description` and `parameters`."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self._tools.values()
        ]

    async def answer(self, name: str, arguments: Any) -> ToolAnswer:
        """Return a tool's answer, or how it fails in this call. An invalid call gets an error, as
        in any tool runtime.

        Raises:
            NotMeasuredError: the job's own template is wrong.
        """
        self._called_so_far[name] += 1
        call = (name, compact_json(arguments))
        if (late := self._late.pop(call, None)) is not None:
            return late
        tool = self._tools.get(name)
        failure = self._failure(tool)
        if failure == "timeout":
            # Nothing is run: what a tool changes before it times out, a job cannot say.
            return ToolAnswer("", TIMED_OUT.format(name), failure)
        answer = await self._own_answer(name, tool, arguments)
        if failure is None or answer.error:
            return answer
        if failure == "delayed":
            self._late[call] = answer
        return ToolAnswer(_spoilt(answer.content, failure), injected=failure)

    def _failure(self, tool: ToolConfig | None) -> InjectedFailure | None:
        """Return how the tool fails in its present call; None if it does not."""
        if tool is None:
            return None
        number = self._called_so_far[tool.name]
        for place, failure in enumerate(tool.failures):
            if self._fails(failure, f"{self._drawn_by}/{tool.name}/{place}/{number}", number):
                return failure.how
        return None

    @staticmethod
    def _fails(failure: ToolFailure, draw: str, number: int) -> bool:
        if failure.share is None:
            return number in failure.calls
        return random.Random(draw).random() < failure.share  # noqa: S311

    async def _own_answer(self, name: str, tool: ToolConfig | None, arguments: Any) -> ToolAnswer:
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


def _spoilt(content: str, failure: InjectedFailure) -> str:
    """Return what is answered in place of a tool's answer."""
    match failure:
        case "truncated":
            return content[: len(content) // 2]
        case "wrong_type":
            return _of_wrong_type(content)
        case _:
            return LATE


def _of_wrong_type(content: str) -> str:
    """Return a value that no tool gives which answers this: a text for a number, else a number."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = content
    if isinstance(value, int | float):
        return _text(NO_NUMBER)
    return _text(NO_TEXT)


def _text(value: Any) -> str:
    """Return what is sent to the agent: text unchanged, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return compact_json(value)
