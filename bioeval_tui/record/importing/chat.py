"""Reads messages as OpenAI, Anthropic and others write them, which many files use, and writes them
in OpenAI's chat format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import objects, text_or_json
from bioeval_tui.record.condition_names import is_name
from bioeval_tui.record.conditions import SUPPLIED
from bioeval_tui.record.events import EndReason
from bioeval_tui.record.importing.conversations import (
    ChatRole,
    GivenScore,
    Header,
    ImportedCall,
    ImportedConversation,
    ImportedMessage,
    ImportedPart,
    Output,
    in_unit,
    messages_of,
    note,
    object_at,
    text_of,
)
from bioeval_tui.record.importing.file_look import FileLook, entries
from bioeval_tui.record.importing.given import scores_beside
from bioeval_tui.record.importing.said import messages_in
from bioeval_tui.record.tool_calls import paired

ROLES: dict[str, ChatRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def chat_pieces(messages: Any) -> Iterable[ImportedPart]:
    """Yield the messages of a list.

    Raises:
        InputError: a message has no known role; the sentence names it.
    """
    if not isinstance(messages, list):
        raise InputError("`messages` must be a list")
    for place, message in enumerate(messages, start=1):
        role = object_at(message).get("role")
        if not isinstance(role, str) or role not in ROLES:
            raise InputError(f"message {place}: `role` must be one of {', '.join(ROLES)}")
        yield from _pieces(ROLES[role], message)


_KNOWN = frozenset(
    {"role", "content", "name", "id", "type", "tool_calls", "tool_call_id", "function_call",
        "refusal", "annotations", "usage",
     "metadata", "logprobs", "raw_data", "tool_messages"}
)  # fmt: skip
"""The keys of a message that are read, or that say nothing of what was said."""


def _pieces(role: ChatRole, message: Mapping[str, Any]) -> Iterator[ImportedPart]:
    """Yield a message: of a user's with results of tools, which is how Anthropic writes them, these
    come first.
    """
    for key in message.keys() - _KNOWN:
        if isinstance(message[key], dict | list) and message[key]:
            note(f"keys of messages that are not read: {key}")
    blocks = _Blocks(message.get("content"))
    outputs = [_result(block) for block in blocks.results]
    if role == "tool" and not outputs:
        # Only the newer format names the call of a result.
        outputs = [Output(text_of(message.get("content")), str(message.get("tool_call_id") or ""))]
    if role == "tool":
        yield ImportedPart(role, "", message, outputs=outputs)
        return
    text = text_of(blocks.rest) or text_of(message.get("refusal"))
    if role == "user" and outputs:
        yield ImportedPart("tool", "", None if text else message, outputs=outputs)
        if text:
            yield ImportedPart(role, text, message)
        return
    calls = [_call(each) for each in (*_listed(message, "tool_calls"), *blocks.calls)]
    if isinstance(message.get("function_call"), dict):
        calls.append(_call({"function": message["function_call"]}))
    thoughts = [text_of(message.get(key)) for key in ("reasoning_content", "reasoning")]
    thoughts += [_first(block, "thinking", "reasoning", "text") or "" for block in blocks.reasoning]
    more = [{"reasoning": thought} for thought in thoughts if thought]
    yield ImportedPart(role, text, message, calls=calls, outputs=outputs, more=more)


class _Blocks:
    """The parts of a message's content: Anthropic's blocks, and those of the AI SDK and Bedrock,
    which mean the same.
    """

    def __init__(self, content: Any) -> None:
        self.rest: Any = content
        self.calls: list[Mapping[str, Any]] = []
        self.results: list[Mapping[str, Any]] = []
        self.reasoning: list[Mapping[str, Any]] = []
        if not isinstance(content, list):
            return
        self.rest = []
        for part in content:
            block = _typed(part) if isinstance(part, dict) else {}
            kind = str(block.get("type") or "").replace("-", "_")
            if kind == "tool_call" or kind.endswith("tool_use"):
                self.calls.append(block)
            elif kind.endswith("tool_result"):
                self.results.append(block)
            elif kind in ("thinking", "redacted_thinking", "reasoning"):
                self.reasoning.append(block)
            else:
                self.rest.append(part)


def _typed(part: dict[str, Any]) -> dict[str, Any]:
    """Return a block with its type, which Bedrock writes as the block's only key."""
    for key, kind in (("toolUse", "tool_use"), ("toolResult", "tool_result")):
        if isinstance(part.get(key), dict):
            return {**part[key], "type": kind}
    return part


def _first(data: Mapping[str, Any], *keys: str) -> Any:
    return next((data[key] for key in keys if data.get(key) is not None), None)


def _listed(message: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects of a message's list."""
    given = message.get(key)
    found = objects(given)
    if given and (not isinstance(given, list) or len(found) < len(given)):
        note(f"values under `{key}` of messages that are no objects, and not read")
    return found


def _result(block: Mapping[str, Any]) -> Output:
    value = _first(block, "content", "result", "output")
    if isinstance(value, dict) and value.keys() == {"type", "value"}:
        value = value["value"]
    if isinstance(value, list) or value is None:
        value = text_of(value)
    identity = _first(block, "tool_use_id", "toolUseId", "toolCallId", "tool_call_id", "id")
    failed = bool(block.get("is_error") or block.get("isError")) or block.get("status") == "error"
    return Output(value, str(identity or ""), failed)


def _call(call: Mapping[str, Any]) -> ImportedCall:
    function = _first(call, "function", "custom")
    if not isinstance(function, dict):
        function = call  # tau2 writes name and arguments side by side
    name = _first(function, "name", "toolName")
    if name is None:
        note("tool calls without a name, which are called unknown")
    arguments = _arguments(_first(function, "arguments", "input", "args", "parameters"))
    identity = _first(call, "id", "toolUseId", "toolCallId")
    return ImportedCall(str(name or "unknown"), arguments, str(identity or ""))


def _arguments(given: Any) -> Any:
    """Return arguments as the object in their JSON text; any other text stays text."""
    if not isinstance(given, str):
        if given is None:
            return {}
        return given
    try:
        arguments = json.loads(given)
    except (ValueError, RecursionError):
        return given
    if isinstance(arguments, dict):
        return arguments
    return given


def chat_messages(message: ImportedMessage, number: int = 0) -> list[dict[str, Any]]:
    """Return a message in the chat format: each call with its result, and the text last.

    `number` makes ids for calls that have none.
    """
    messages: list[dict[str, Any]] = []
    for place, (call, output) in enumerate(calls_of(message.generation), start=1):
        identity = call.id or f"call_{number}_{place}"
        function = {"name": call.name, "arguments": text_or_json(call.arguments)}
        messages.append(
            {
                "role": message.role,
                "content": None,
                "tool_calls": [{"id": identity, "type": "function", "function": function}],
            }
        )
        if output is not None:
            text = text_or_json(output.value)
            messages.append({"role": "tool", "tool_call_id": identity, "content": text})
    if message.text or not messages:
        messages.append({"role": message.role, "content": message.text})
    return messages


def calls_of(generation: Sequence[Mapping[str, Any]]) -> list[tuple[ImportedCall, Output | None]]:
    """Return the calls among generation events, each with its result."""
    calls = []
    for request, result in paired(generation):
        if request is None:
            continue
        name = str(request["function"].get("name") or "unknown")
        identity = str(request.get("id") or "")
        arguments, output = request.get("arguments"), None
        if arguments is None:
            arguments = {}
        if result is not None:
            output = Output(result[0], identity)
        calls.append((ImportedCall(name, arguments, identity), output))
    return calls


def chat(messages: Any) -> list[ImportedMessage]:
    """Return the messages of user and agent of a list in the chat format.

    Raises:
        InputError: it is not a list of messages.
    """
    found = messages_of(chat_pieces(messages))
    for number, message in enumerate(found, start=1):
        message.keep_raw_unless(lambda each, n=number: chat_messages(each, n))  # type: ignore[misc]
    return found


_TOLD = ("vignette", "facts", "tasks", "condition")
_MODELLED = ("messages",)
_ANSWERS = (
    "response",
    "output",
    "completion",
    "choices",
    "answer",
    "chosen",
    "rejected",
    "generations",
)
"""Keys beside `messages` that may have a further answer."""
_PREFERRED = ("chosen", "rejected")
"""Those that have what people liked more or less, and that nobody was answered."""


def fits_transcripts(look: FileLook) -> bool:
    """Return whether a file contains transcripts with the user's facts."""
    return fits(look) and any(key in look.first for key in _TOLD)


def fits(look: FileLook) -> bool:
    """Return whether a file contains conversations in the chat format."""
    return isinstance(look.first.get("messages"), list) and "info" not in look.first


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a file: JSON Lines, a list, or a single object.

    Raises:
        InputError: a conversation cannot be read; the message has its line or number.
    """
    header = Header()
    for place, data in entries(file, what="conversation"):
        if not isinstance(data, dict):
            raise InputError(f"{place}: must be a JSON object with `messages`")
        try:
            yield _conversation(data, header)
        except InputError as problem:
            raise InputError(f"{place}: {problem}") from None
    yield header


def _conversation(data: dict[str, Any], header: Header) -> ImportedConversation:
    messages, answer = data.get("messages"), _answer_key(data)
    for key in _ANSWERS:
        if data.get(key) and key != answer:
            note(f"keys beside `messages` that are not read: {key}")
    if answer:
        note(f"so it was read: the last answer from `{answer}`, which is beside `messages`")
        messages = [*data["messages"], *messages_in(data[answer], "assistant")]
    metadata = object_at(data, "metadata")
    condition = metadata.get("condition", data.get("condition"))
    named = data.get("id") or data.get("custom_id")
    reason, score = "unknown", None
    if "run_id" in metadata and "trial" in metadata:  # an export of this program
        header.name = header.name or str(metadata.get("job", ""))
        header.model = header.model or str(metadata.get("model", ""))
        named = metadata.get("case") or named
        reason = str(metadata.get("end_reason", "unknown"))
        score = _number(metadata.get("score"))
    vignette = data.get("vignette")
    facts = _texts(data, "facts") or (sentences(vignette) if isinstance(vignette, str) else ())
    if not is_name(str(condition)):
        condition = SUPPLIED.name if facts else None
    if reason not in get_args(EndReason):
        reason = "unknown"
    scores, author = [], ""
    if score is not None:
        scores = [GivenScore("score", in_unit(score), score)]
    else:
        scores, author = scores_beside(data)
    tasks = _texts(data, "tasks")
    return ImportedConversation(
        name=str(named) if named is not None else "",
        messages=chat(messages),
        condition=condition,
        tasks=tuple((task, "") for task in tasks),
        request=("; ".join(tasks), "") if scores and tasks else None,
        facts=facts,
        reason=reason,  # type: ignore[arg-type]
        scores=scores,
        scored_by=author,
        record={key: value for key, value in data.items() if key not in _MODELLED} or None,
    )


def _answer_key(data: Mapping[str, Any]) -> str:
    """Return the key beside messages that end with the user's, as a log of requests has the answer;
    empty without one.
    """
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages:
        return ""
    last = messages[-1]
    if not isinstance(last, dict) or last.get("role") not in ("user", "tool", "function"):
        return ""
    keys = [
        key for key in _ANSWERS if key not in _PREFERRED and messages_in(data.get(key), "assistant")
    ]
    if len(keys) == 1:
        return keys[0]
    return ""


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = data.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"`{key}` must be a list of texts")
    return tuple(text for text in texts if text.strip())


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a vignette, which are the user's facts."""
    return tuple(
        part.strip() for part in re.split(r"(?<=[.!?])\s+(?=[A-Z0-9\"“])", text) if part.strip()
    )
