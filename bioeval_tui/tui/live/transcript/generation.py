"""A line and a page for each generation event of an agent.

Events are told apart by shape: `systemPrompt`, `request` with a function, `output`, and `content` with
`summaryDirection` (a request for knowledge). An unknown shape is shown as it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bioeval_tui.text import clean_line, compact_json, shorten

MAX_TITLE = 400


@dataclass(frozen=True, slots=True)
class GenerationLine:
    """A generation event folded: a sign, one line, and the page that opening it shows."""

    sign: str
    title: str
    detail: str
    language: str = ""


def generation_line(event: dict[str, Any]) -> GenerationLine:
    """Return how to show a generation event. The texts are foreign and cleaned where they are drawn."""
    match event:
        case {"systemPrompt": prompt}:
            return GenerationLine("⚙", f"system prompt, {_size(_as_text(prompt))}", _as_text(prompt))
        case {"request": {"function": {"name": str(name)}} as request}:
            return _function(name, request)
        case {"output": output}:
            text = _as_text(output)
            return GenerationLine("←", _title(text or "(nothing)"), _pretty(output), _language(output))
        case {"content": content, "summaryDirection": _}:
            return GenerationLine(
                "◇", f"knowledge request: {_title(_as_text(content))}", _pretty(event), "json"
            )
        case _:
            return GenerationLine("·", _title(compact_json(event)), _pretty(event), "json")


def _function(name: str, request: dict[str, Any]) -> GenerationLine:
    arguments = request.get("arguments")
    if isinstance(arguments, dict):
        shown = ", ".join(f"{key}={_argument(value)}" for key, value in list(arguments.items())[:20])
    else:
        shown = "" if arguments in (None, "") else _as_text(arguments)
    page = {"function": name, "arguments": arguments}
    if request.get("context"):
        page["context"] = request["context"]
    return GenerationLine("ƒ", f"{clean_line(name, 80)}({_title(shown)})", _pretty(page), "json")


def _argument(value: Any) -> str:
    return shorten(compact_json(value), 80)


def _title(text: str) -> str:
    return clean_line(text, MAX_TITLE)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _pretty(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _language(value: Any) -> str:
    return "" if isinstance(value, str) else "json"


def _size(text: str) -> str:
    words = len(text.split())
    return f"{words:,} word{'' if words == 1 else 's'}"
