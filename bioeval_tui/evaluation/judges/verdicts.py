"""Parses and validates a judge model's answer."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bioeval_tui.evaluation.job.models import JobTask
from bioeval_tui.evaluation.models.happened import as_shown
from bioeval_tui.evaluation.seams import Evidence, TaskVerdict, TranscriptMessage
from bioeval_tui.text import clean, clean_line, shorten

MAX_EVIDENCE = 10
MAX_REASON = 2000
WHOLE_WORDS = 12
"""Characters. Quotations shorter than this must be whole words."""
_FENCE = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)
_THINKING = re.compile(r"^\s*<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_ELLIPSIS = re.compile(r"\s*(?:\.{3}|…|\[\s*(?:\.{3}|…)\s*\])\s*")
_QUOTES = str.maketrans(
    dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‘’‚`´", "'")
    | dict.fromkeys("–—‑−", "-")
    | dict.fromkeys("*_\u200b\u200c\u200d\u2060\ufeff\u00ad", None)  # emphasis and invisible characters
)
_SPEAKER = re.compile(r"^(?:user|assistant|agent|chatbot): ")


class MalformedAnswerError(Exception):
    """The answer is not a usable verdict; the message says what is wrong, for the judge and for the user."""


def answer_schema() -> dict[str, Any]:
    """Return the JSON Schema of an answer, in the strict subset that providers support."""
    task = {
        "task": {"type": "integer", "description": "The task's number."},
        "scored": {"type": "string", "description": "The task, in its own words."},
        "score": {"type": "number", "description": "From 0 to 1."},
        "reason": {"type": "string"},
        "evidence": {"type": "array", "items": {"type": "string"}},
    }
    return _object(
        {
            "tone": {"type": "number", "description": "From 0 to 1."},
            "tasks": {"type": "array", "items": _object(task)},
        }
    )


def read_verdict(
    text: str,
    tasks: Sequence[JobTask],
    transcript: Sequence[TranscriptMessage],
    states: Sequence[str] = (),
    *,
    published: bool = False,
) -> tuple[tuple[TaskVerdict, ...], float | None]:
    """Return the verdict of each task, in order, and the tone.

    Raises `MalformedAnswerError` unless every task is scored exactly once, with a score in [0, 1], a reason,
    and quotations if the score is above 0. With `published`, the answer may have the published shape: `scored`
    and `score` alone, in the tasks' order unless `scored` repeats their words.
    """
    answer = _json_object(text)
    given = answer.get("tasks")
    if not isinstance(given, list):
        raise MalformedAnswerError("`tasks` is not a list")
    verdicts: dict[int, TaskVerdict] = {}
    in_order = published and len(given) == len(tasks) and not any(_names_task(item, tasks) for item in given)
    for place, entry in enumerate(given, start=1):
        number = place if in_order and isinstance(entry, dict) else _task_number(entry, tasks)
        if number in verdicts:
            raise MalformedAnswerError(f"task {number} is scored twice")
        verdicts[number] = _task_verdict(
            number, entry, partial(locate, transcript=transcript, states=states), published
        )
    missing = [str(number) for number in range(1, len(tasks) + 1) if number not in verdicts]
    if missing:
        raise MalformedAnswerError(f"no score for task {', '.join(missing)} (of {len(tasks)})")
    tone = answer.get("tone")
    return tuple(verdicts[n] for n in sorted(verdicts)), None if tone is None else _unit("tone", tone)


def quoted_from_nowhere(verdicts: Sequence[TaskVerdict]) -> str:
    """Return a sentence for the judge that names the quotations that are not in the transcript; empty if none is missing."""
    missing = [
        f"the evidence of task {verdict.task} is not in the conversation: {shorten(clean_line(item.quote), 200)!r}"
        for verdict in verdicts
        for item in verdict.evidence
        if item.message is None
    ]
    return f"{'; '.join(missing)}. Quote word for word" if missing else ""


def locate(quote: str, transcript: Sequence[TranscriptMessage], states: Sequence[str] = ()) -> int | None:
    """Return the message that contains a quotation, ignoring case, spaces and kinds of dashes.

    The agent's messages are searched first, then the user's, then everything else that the judge saw: tool calls, and in
    `states` the object contexts, which count as the last message.
    """
    whole = _SPEAKER.sub("", _plain(" ".join(quote.split())))
    parts = [part for part in (_plain(part).rstrip(".,;:!? \"'") for part in _ELLIPSIS.split(whole)) if part]
    if not parts:
        return None
    for role in ("assistant", "user"):
        for message in transcript:
            if message.role == role and _stands_in(parts, _plain(message.content)):
                return message.message
    for number, calls in as_shown(transcript).items():
        if _stands_in(parts, _plain(calls)):
            return number
    if transcript and any(_stands_in(parts, _plain(state)) for state in states):
        return transcript[-1].message
    return None


def _stands_in(parts: Sequence[str], text: str) -> bool:
    """Return whether `text` contains the parts in order, short ones as whole words, because any text contains an `a`."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        while found >= 0 and len(part) < WHOLE_WORDS and _cuts_word(text, found, found + len(part)):
            found = text.find(part, found + 1)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _cuts_word(text: str, start: int, end: int) -> bool:
    """Return whether a slice of `text` begins or ends inside a word of ASCII letters; not every script separates words."""
    edges = (text[max(0, at - 1) : at + 1] for at in (start, end))
    return any(len(edge) == 2 and edge.isascii() and edge.isalnum() for edge in edges)


def _plain(text: str) -> str:
    """Return a text without the differences allowed in a quotation: case, spaces, kinds of quotes and dashes, emphasis."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split()).strip("\"' ")


def _json_object(text: str) -> Mapping[str, Any]:
    text = _THINKING.sub("", text)  # a reasoning block may contain braces, even a verdict
    fenced = _FENCE.search(text)
    body = fenced.group(1) if fenced else text[text.find("{") : text.rfind("}") + 1] or text
    try:
        answer = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise MalformedAnswerError(f"it is not JSON: {shorten(clean_line(text), 80)}") from None
    if not isinstance(answer, dict):
        raise MalformedAnswerError("it is not a JSON object")
    return answer


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _task_number(entry: Any, tasks: Sequence[JobTask]) -> int:
    if not isinstance(entry, dict):
        raise MalformedAnswerError("an entry of `tasks` is not an object")
    number = entry.get("task")
    if isinstance(number, int) and not isinstance(number, bool):
        if not 1 <= number <= len(tasks):
            raise MalformedAnswerError(
                f"there is no task {number}; tasks are numbered from 1 to {len(tasks)}"
            )
        return number
    scored = _plain(str(entry.get("scored", "")))
    named = [n for n, task in enumerate(tasks, start=1) if scored and _plain(task.task) == scored]
    if len(named) != 1:
        raise MalformedAnswerError(
            "an entry of `tasks` does not say which task it scores: `task` must be its number"
        )
    return named[0]


def _names_task(entry: Any, tasks: Sequence[JobTask]) -> bool:
    """Return whether an entry identifies its task, by number or by the task's text."""
    if not isinstance(entry, dict):
        return True  # for `_task_number` to refuse
    scored = _plain(str(entry.get("scored", "")))
    return entry.get("task") is not None or any(_plain(task.task) == scored for task in tasks)


def _task_verdict(
    number: int, entry: Mapping[str, Any], place: Callable[[str], int | None], published: bool
) -> TaskVerdict:
    score = _unit(f"the score of task {number}", entry.get("score"))
    reason = entry.get("reason", "" if published else None)
    if not isinstance(reason, str) or not (published or reason.strip()):
        raise MalformedAnswerError(f"task {number} has no reason")
    evidence = entry.get("evidence", [] if published else None)
    quotes = [evidence] if isinstance(evidence, str) else evidence
    if not isinstance(quotes, list) or not all(isinstance(quote, str) for quote in quotes):
        raise MalformedAnswerError(f"the evidence of task {number} is not a list of quotations")
    quotes = [clean(quote.strip(), MAX_REASON) for quote in quotes if quote.strip()][:MAX_EVIDENCE]
    if score > 0 and not quotes and not published:
        raise MalformedAnswerError(f"task {number} has a score above 0 and no evidence")
    found = tuple(Evidence(quote, place(quote)) for quote in quotes)
    return TaskVerdict(number, score, clean(reason.strip(), MAX_REASON), found)


def _unit(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise MalformedAnswerError(f"{what} is not a number")
    if not 0 <= value <= 1:
        raise MalformedAnswerError(f"{what} is {value:g}; it must be from 0 to 1")
    return float(value)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
