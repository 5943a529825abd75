"""Finds what was said in whatever frameworks pass to models and functions, as messages in OpenAI's
chat format.

It knows the messages of LangChain, of the Responses API, Gemini, OpenInference and OpenTelemetry's
GenAI conventions, and the keys under which inputs and outputs usually have a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bioeval_tui.base.text import json_or_text, text_or_json
from bioeval_tui.record.importing.conversations import (
    ChatRole,
    note,
    object_at,
    text_of,
)

Message = dict[str, Any]

_SPEAKERS: dict[str, ChatRole] = {
    "system": "system", "developer": "system",
    "user": "user", "human": "user", "customer": "user", "patient": "user", "visitor": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant",
    "agent": "assistant",
    "gpt": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant",
    "chatbot": "assistant",
    "tool": "tool", "function": "tool", "observation": "tool", "function_response": "tool",
}  # fmt: skip
_LANGCHAIN: dict[str, ChatRole] = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool",
    "HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool", "HumanMessageChunk": "user", "AIMessageChunk": "assistant",
}  # fmt: skip
_LISTS = ("messages", "input_messages", "contents")
_BEFORE = ("chat_history", "history")
_ASKED = (
    "input",
    "inputs",
    "question",
    "query",
    "prompt",
    "user_input",
    "user_message",
    "request",
    "message",
    "text",
    "content",
)
_ANSWERED = (
    "output", "outputs", "answer", "response", "message", "choices", "generations", "result",
    "text", "content",
    "completion", "reply", "final_output", "return_values", "candidates",
)  # fmt: skip
_DEEPEST = 8


def speaker(name: Any) -> ChatRole | None:
    """Return the role that a source calls so, such as `human`, `gpt` or `model`; None if it is
    unknown.
    """
    if isinstance(name, str):
        return _SPEAKERS.get(name.strip().lower())
    return None


def messages_in(value: Any, role: ChatRole) -> list[Message]:
    """Return the messages in an input or output; a text alone is said by `role`.

    Empty if nothing can be told.
    """
    return _found(json_or_text(value), role, _ASKED if role == "user" else _ANSWERED, 0)


def _found(value: Any, role: ChatRole, keys: Sequence[str], depth: int) -> list[Message]:
    if depth > _DEEPEST:
        return []
    if isinstance(value, str):
        if value.strip():
            return [{"role": role, "content": value}]
        return []
    if isinstance(value, list):
        return _list_messages(value, role, keys, depth)
    if not isinstance(value, dict):
        return []
    if (one := as_chat(value)) is not None:
        return one
    for key in _LISTS:
        if found := _found(value.get(key), role, keys, depth + 1):
            return found
    for key in keys:
        if found := _found(json_or_text(value.get(key)), role, keys, depth + 1):
            before: list[Message] = []
            for name in _BEFORE:
                before += _found(value.get(name), "user", keys, depth + 1)
            return before + found
    texts = [key for key, each in value.items() if isinstance(each, str) and each.strip()]
    if len(value) == 1 and texts:
        note(f"inputs and outputs whose only text is taken for what was said: `{texts[0]}`")
        return [{"role": role, "content": value[texts[0]]}]
    return []


def _list_messages(
    values: list[Any], role: ChatRole, keys: Sequence[str], depth: int
) -> list[Message]:
    if len(values) == 1:  # LangChain has a list of messages for each prompt of a batch
        return _found(values[0], role, keys, depth + 1)
    messages: list[Message] = []
    for each in values:
        found = as_chat(each)
        if found is None:
            break
        messages += found
    else:
        return messages
    if all(isinstance(each, dict) and isinstance(each.get("text"), str) for each in values):
        return [{"role": role, "content": text_of(values)}]
    return []


def as_chat(message: Any) -> list[Message] | None:
    """Return a message of any of the known frameworks in OpenAI's chat format, results of tools
    apart; None for anything else.
    """
    if (
        isinstance(message, (list, tuple))
        and len(message) == 2
        and all(isinstance(e, str) for e in message)
    ):
        role = speaker(message[0])
        if role is None:
            return None
        return [{"role": role, "content": message[1]}]
    if not isinstance(message, dict):
        return None
    if (wrapped := message.get("message")) and isinstance(wrapped, dict):
        return as_chat(wrapped)
    kind = message.get("type")
    if not isinstance(kind, str):
        kind = None
    if kind == "constructor" and isinstance(message.get("kwargs"), dict):
        names = message.get("id")
        named = names[-1] if isinstance(names, list) and names else ""
        return _langchain(
            message["kwargs"], _LANGCHAIN.get(str(message["kwargs"].get("type") or named))
        )
    if kind in _LANGCHAIN and "role" not in message:
        data = message["data"] if isinstance(message.get("data"), dict) else message
        if "content" in data:
            return _langchain(data, _LANGCHAIN[kind])
        return None
    if kind == "function_call" and "name" in message:
        function = {"name": message["name"], "arguments": message.get("arguments")}
        call = {"id": message.get("call_id") or message.get("id"), "function": function}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}]
    if kind == "function_call_output":
        return [
            {
                "role": "tool",
                "tool_call_id": message.get("call_id"),
                "content": message.get("output"),
            }
        ]
    role = speaker(message.get("role"))
    if role is None:
        return None
    if isinstance(message.get("parts"), list):
        return list(_part_messages(message["parts"], role))
    if not any(key in message for key in ("content", "tool_calls", "function_call", "refusal")):
        return None
    return [{**message, "role": role}]


def _langchain(data: Mapping[str, Any], role: ChatRole | None) -> list[Message] | None:
    if role is None:
        return None
    calls = data.get("tool_calls") or object_at(data, "additional_kwargs").get("tool_calls")
    content = data.get("content")
    if calls and isinstance(content, list):  # Anthropic's blocks say the same calls again
        kinds = ("tool_use", "input_json_delta", "function_call")
        content = [
            part for part in content if not (isinstance(part, dict) and part.get("type") in kinds)
        ]
    message: Message = {"role": role, "content": content}
    if calls:
        message["tool_calls"] = calls
    if role == "tool":
        message["tool_call_id"] = data.get("tool_call_id")
    return [message]


def _part_messages(parts: Sequence[Any], role: ChatRole) -> Iterator[Message]:
    """Yield a message of the GenAI conventions or of Gemini: what tools gave is a message of its
    own.
    """
    content: list[Any] = []
    calls: list[dict[str, Any]] = []
    results: list[Message] = []
    for part in parts:
        if not isinstance(part, dict):
            content.append(part)
            continue
        kind = part.get("type")
        call, response = part.get("functionCall"), part.get("functionResponse")
        if kind == "text" or (kind is None and isinstance(part.get("text"), str)):
            content.append({"type": "text", "text": part.get("content", part.get("text"))})
        elif kind == "reasoning":
            content.append({"type": "reasoning", "text": part.get("content")})
        elif kind == "tool_call" or isinstance(call, dict):
            told = call if isinstance(call, dict) else part
            arguments = told.get("arguments", told.get("args"))
            calls.append(
                {
                    "id": told.get("id"),
                    "function": {"name": told.get("name"), "arguments": arguments},
                }
            )
        elif kind == "tool_call_response" or isinstance(response, dict):
            told = response if isinstance(response, dict) else part
            result = told.get("response", told.get("result"))
            results.append(
                {
                    "role": "tool",
                    "tool_call_id": told.get("id"),
                    "content": text_or_json(result),
                }
            )
        else:
            content.append(part)
    yield from results
    if content or calls or not results:
        message: Message = {"role": role, "content": content}
        if calls:
            message |= {"role": "assistant", "tool_calls": calls}
        yield message
