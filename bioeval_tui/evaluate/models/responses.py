"""The Responses API in the words of chat completions: what goes out, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FINISH: dict[Any, str] = {"max_output_tokens": "length", "content_filter": "content_filter"}


def as_request(body: dict[str, Any]) -> dict[str, Any]:
    """Return the request of a chat completion as one of the Responses API; the provider is asked to keep nothing."""
    asked: dict[str, Any] = {name: body[name] for name in ("model", "stream", "temperature") if name in body}
    if shape := body.get("response_format"):
        asked["text"] = {"format": {"type": shape["type"], **shape.get("json_schema", {})}}
    return {**asked, "input": body["messages"], "store": False}


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
    """Return a whole response as a chat completion. What is of another shape stays as it is."""
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
        "tool_calls": [{"function": item} for item in items if item.get("type") == "function_call"],
    }
    reason = (response.get("incomplete_details") or {}).get("reason")
    usage = response.get("usage") or {}
    return {
        "choices": [{"message": message, "finish_reason": _FINISH.get(reason, "stop")}],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
        },
        "model": response.get("model"),
        "error": response.get("error"),
    }
