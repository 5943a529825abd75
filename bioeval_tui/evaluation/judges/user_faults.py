"""The judge's list of what the simulated user did wrong: asked for in a request of its own, because together with the
verdicts a small model leaves some of those out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bioeval_tui.evaluation.judges.verdicts import MAX_QUOTE, locate
from bioeval_tui.evaluation.models.prompting import object_schema
from bioeval_tui.evaluation.seams import ListedFaults, TranscriptMessage
from bioeval_tui.record.events import UserFault
from bioeval_tui.text import clean_line, shorten

PROMPT = "eval/user_faults"
LIST_ALL = "List the user's faults. Answer with the JSON object alone."
KINDS = (
    "invented_fact",
    "contradicted_fact",
    "out_of_role",
    "gave_up",
    "early_signoff",
    "never_ended",
    "repetition",
    "non_answer",
)
MOST = 20
"""At most so many faults of one conversation are kept; more of a list are a model that does not stop."""
MOST_NUMBERS = 500
"""A schema with more numbers of messages is refused by providers; then any number is allowed, and checked afterwards."""


def faults_schema(users: Sequence[int]) -> dict[str, Any]:
    """Return the JSON Schema of the list, in the strict subset that providers support, for these messages of the user."""
    number: dict[str, Any] = {"type": "integer"}
    if 0 < len(users) < MOST_NUMBERS:
        number["enum"] = list(users)
    fault = {
        "message": number,
        "kind": {"type": "string", "enum": list(KINDS)},
        "quote": {"type": "string"},
    }
    return object_schema({"faults": {"type": "array", "items": object_schema(fault), "maxItems": MOST}})


def read_faults(text: str, transcript: Sequence[TranscriptMessage], judge: str) -> ListedFaults:
    """Return the listed faults whose quotation is in a message of the user, and how many others were listed.

    A quotation that is in another message of the user than the judge named counts for that one.

    Raises:
        ValueError: the text contains no JSON object with the list `faults`.
    """
    start = text.find("{")
    if start < 0:
        raise ValueError("the answer contains no JSON")
    value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    listed = value.get("faults") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise ValueError("the answer has no list `faults`")
    users = [message for message in transcript if message.role == "user"]
    faults: dict[tuple[str, int], UserFault] = {}
    refused = max(0, len(listed) - MOST)
    for given in listed[:MOST]:
        entry = given if isinstance(given, dict) else {}
        kind, quote = str(entry.get("kind")), str(entry.get("quote") or "")
        named = [message for message in users if message.message == entry.get("message")]
        place = (locate(quote, named) or locate(quote, users)) if kind in KINDS and quote.strip() else None
        if place is None:
            refused += 1
            continue
        words = shorten(clean_line(quote), MAX_QUOTE)
        faults.setdefault((kind, place), UserFault(kind=kind, message=place, quote=words, found_by=judge))
    return ListedFaults(tuple(faults.values()), refused)
