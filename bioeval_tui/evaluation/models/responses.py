"""Converts between the Responses API and chat completions: requests and responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_FINISH: dict[Any, str] = {"max_output_tokens": "length", "content_filter": "content_filter"}
_ELSEWHERE = ("messages", "response_format", "stream_options", "tools")
"""Parameters of chat completions that have another name or shape here."""


def as_request(body: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion's request for the Responses API; it asks the provider to store nothing."""
    asked: dict[str, Any] = {"store": False}
    asked |= {name: value for name, value in body.items() if name not in _ELSEWHERE}
    if shape := body.get("response_format"):
        asked["text"] = {"format": {"type": shape["type"], **shape.get("json_schema", {})}}
    if tools := body.get("tools"):
        asked["tools"] = [
            {"type": "function", **tool["function"]} if isinstance(tool.get("function"), Mapping) else tool
            for tool in tools
        ]
    return {**asked, "input": list(_items(body["messages"]))}


def _items(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield messages as items of the Responses API, where tool calls and their results are separate items."""
    for message in messages:
        if message["role"] == "tool":
            yield {
                "type": "function_call_output",
                "call_id": message["tool_call_id"],
                "output": message["content"],
            }
            continue
        if message.get("content") or not message.get("tool_calls"):
            yield {"type": "message", "role": message["role"], "content": message.get("content") or ""}
        for call in message.get("tool_calls") or ():
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def as_chunk(event: Any) -> Any:
    """Return an event of a streamed response as a chunk of a chat completion."""
    kind = event.get("type") if isinstance(event, Mapping) else None
    match kind:
        case "response.output_text.delta":
            return {"choices": [{"delta": {"content": event.get("delta")}}]}
        case "response.refusal.delta":
            return {"choices": [{"delta": {"refusal": event.get("delta")}}]}
        case "response.completed" | "response.incomplete" | "response.failed":
            whole = as_completion(event.get("response"))
            for choice in whole.get("choices") or ():
                choice["message"].update(content=None, refusal=None)  # it came in pieces
            return whole
        case "error":
            return {"error": event}
    return {}


def as_completion(response: Any) -> Any:
    """Return a whole response as a chat completion; unknown items stay unchanged."""
    if not isinstance(response, Mapping) or not isinstance(response.get("output"), list):
        return response
    items = [item for item in response["output"] if isinstance(item, Mapping)]
    parts = [
        part
        for item in items
        if item.get("type") == "message"
        for part in item.get("content") or ()
        if isinstance(part, Mapping)
    ]
    message = {
        "content": "".join(str(part.get("text") or "") for part in parts),
        "refusal": "".join(str(part.get("refusal") or "") for part in parts),
        "tool_calls": [
            {"id": item.get("call_id"), "function": item}
            for item in items
            if item.get("type") == "function_call"
        ],
        "items": [item for item in items if item.get("type") not in ("message", "function_call")],
    }
    reason = (response.get("incomplete_details") or {}).get("reason")
    usage = response.get("usage") or {}
    return {
        "choices": [{"message": message, "finish_reason": _FINISH.get(reason, "stop")}],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
        },
        "model": response.get("model"),
        "error": response.get("error"),
    }
