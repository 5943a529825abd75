"""Check a job's `target`: the agent, its protocol and its tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateSyntaxError
from pydantic.alias_generators import to_camel

from bioeval_tui import agent_protocols, plugins
from bioeval_tui.agent_protocols import AgentProtocol
from bioeval_tui.errors import Problem, UsageError
from bioeval_tui.evaluation import python_code
from bioeval_tui.evaluation.job.models import ModelOptions
from bioeval_tui.evaluation.models.templates import Sandbox
from bioeval_tui.evaluation.wiring.job_source import JobSource, items_of

_RESERVED = ("model", "messages", "input", "stream")
"""Keys of a request's body that the program itself sets."""


def target_problems(source: JobSource, code: Sequence[Path]) -> list[Problem]:
    """Return what is wrong with the job's agent, seeds and tools."""
    target = source.part("target")
    try:
        protocol = plugins.agent_protocol(str(target.get("protocol", "rest")))
    except UsageError as error:
        return [source.problem(("target", "protocol"), str(error))]
    return [
        *(_seed_problems(source, protocol) if protocol else ()),
        *(_unused(source, target, protocol) if protocol else ()),
        *(_unseen(source, target, protocol) if protocol else ()),
        *_function_problems(source, target, protocol, code),
        *_interpreter_problems(source, target, protocol, code),
        *_template_problems(source, target),
        *_option_problems(source, protocol),
    ]


def given_agent_problems(source: JobSource) -> list[Problem]:
    """Return which parts of the job don't work with a function as the agent."""
    protocol = agent_protocols.find("python")
    return list(_seed_problems(source, protocol)) if protocol else []


def _seed_problems(source: JobSource, protocol: AgentProtocol) -> Iterator[Problem]:
    """Yield problems with text seeds for an agent that has no knowledge service."""
    if "texts" in protocol.takes:
        return
    where = "in `target.systemPrompt`, or " if protocol.has("systemPrompt") else ""
    message = (
        f"an agent that speaks {protocol.name} does not accept texts; tell it {where}in a `conversation` seed"
    )
    for index, seed in items_of(source.data.get("seeds")):
        if "text" in seed:
            yield source.problem(("seeds", index, "text"), message)


def _unused(source: JobSource, target: dict[str, Any], protocol: AgentProtocol) -> Iterator[Problem]:
    """Yield a warning for each key that an agent of this protocol does not know."""
    if protocol.uses is None:
        return
    own = plugins.own_agent_protocols()
    for key in target:
        used = ", ".join(known.name for known in own if known.has(key))
        if used and not protocol.has(key):
            message = f"an agent that speaks {protocol.name} does not use this key; it is for {used}"
            yield source.warning(("target", key), message)


def _unseen(source: JobSource, target: dict[str, Any], protocol: AgentProtocol) -> Iterator[Problem]:
    """Yield a warning for each expression that needs a state which this agent cannot provide."""
    if protocol.tells.get("state") != agent_protocols.BY_URL or target.get("objectContextUrl"):
        return
    message = f"objectContext is null: the state of an agent that speaks {protocol.name} is read at target.objectContextUrl"
    for index, item in items_of(source.data.get("assertions")):
        if "objectContext" in str(item.get("expression")):
            yield source.warning(("assertions", index, "expression"), message)


def model_option_problems(source: JobSource, part: str) -> Iterator[Problem]:
    """Yield what is wrong with the options of the part's model."""
    options = source.part(part)
    body, responses = options.get("extraBody"), options.get("api") == "responses"
    taken = (*_RESERVED, "tools") if options.get("tools") else _RESERVED
    for key in body if isinstance(body, dict) else ():
        if key in taken:
            yield source.problem((part, "extraBody", key), "the program itself fills this in")
        elif key in ModelOptions.model_fields and to_camel(key) in options:
            yield source.problem((part, "extraBody", key), f"{part}.{to_camel(key)} sets this already")
    for key in ("seed", "stop"):
        if responses and key in options:
            message = f"OpenAI's Responses API has no {key}; servers that do not know it refuse every request"
            yield source.warning((part, key), message)


def _function_problems(
    source: JobSource, target: dict[str, Any], protocol: AgentProtocol | None, code: Sequence[Path]
) -> Iterator[Problem]:
    """Yield the Python functions that are missing or cannot be found. Nothing is imported."""
    named: list[tuple[tuple[str | int, ...], Any]] = [(("target", "function"), target.get("function"))]
    if protocol is not None and protocol.is_function and not target.get("function"):
        message = "an agent in Python needs the key `function`: its function, as module:function"
        yield source.problem(("target", "protocol"), message)
    named += [
        (("target", "tools", index, "function"), tool.get("function"))
        for index, tool in items_of(target.get("tools"))
    ]
    for path, reference in named:
        if isinstance(reference, str) and ":" in reference:
            elsewhere = path == ("target", "function") and bool(target.get("python"))
            try:
                python_code.locate(reference, code, elsewhere=elsewhere)
            except UsageError as error:
                yield source.problem(path, str(error))


def _interpreter_problems(
    source: JobSource, target: dict[str, Any], protocol: AgentProtocol | None, code: Sequence[Path]
) -> Iterator[Problem]:
    """Yield what is wrong with the interpreter for the agent's function. It is not started."""
    named = target.get("python")
    if isinstance(named, str) and protocol is not None and protocol.is_function:
        try:
            python_code.interpreter(named, source.path.parent, code)
        except UsageError as error:
            yield source.problem(("target", "python"), str(error))


def _template_problems(source: JobSource, target: dict[str, Any]) -> Iterator[Problem]:
    for index, tool in items_of(target.get("tools")):
        template = tool.get("template")
        try:
            if isinstance(template, str):
                Sandbox().parse(template)
        except (TemplateSyntaxError, RecursionError) as error:
            what = "too deep"
            if isinstance(error, TemplateSyntaxError):
                what = f"line {error.lineno}: {error.message}"
            yield source.problem(("target", "tools", index, "template"), f"no template: {what}")


def _option_problems(source: JobSource, protocol: AgentProtocol | None) -> Iterator[Problem]:
    """Yield the options that have no effect, because their part is not a plug-in."""
    without = protocol is not None and protocol.uses is not None and not protocol.has("options")
    for part, key, usual, own in (
        (
            "target",
            "protocol",
            "rest",
            [protocol.name] if protocol is not None and without else [],
        ),
        ("evaluator", "kind", "llm", plugins.BUILT_IN["evaluators"]),
        ("scorer", "kind", "llm", plugins.BUILT_IN["judges"]),
    ):
        name = source.part(part).get(key, usual)
        if source.part(part).get("options") and name in own:
            message = f"options are for plug-ins; {part}.{key} {name} takes none"
            yield source.problem((part, "options"), message)
