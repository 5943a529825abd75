"""A quotation is looked for in what the judge was shown: messages, tool calls and states.

The judge's evidence counts only if it is found (`verdicts.py`, and `scoring.py` for several judges
together). Differences that a model makes in copying do not matter: case, spaces, kinds of quotes
and dashes, emphasis, and words left out with `…`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from bioeval_tui.base.text import visible_text
from bioeval_tui.peers.models.shown import FOR_JUDGES, shown_calls, shown_text
from bioeval_tui.peers.seams import TaskVerdict, TranscriptMessage

WHOLE_WORDS = 12
"""Characters. Quotations shorter than this must be whole words."""
MOST_GROWTH, MOST_GROWN = 2, 1000
"""A text that grows further when ligatures are written out (one sign becomes up to 18) keeps them.
"""
_ELLIPSIS = re.compile(r"\s*(?:\.{3}|…|\[\s*(?:\.{3}|…)\s*\])\s*")
_QUOTES = str.maketrans(
    dict.fromkeys('“”„«»‘’‚`´"', "'")
    | dict.fromkeys("–—‑−", "-")
    | dict.fromkeys("*_\u200c\u200d", None)  # emphasis and joiners
)
_LETTER = "[0-9A-Za-z]"
_SPEAKER = re.compile(r"^(?:user|assistant|agent|chatbot): ")


def locate(
    quote: str, transcript: Sequence[TranscriptMessage], states: Sequence[str] = ()
) -> int | None:
    """Return the message that contains a quotation, ignoring case, spaces and kinds of dashes.

    The agent's messages are searched first, then the user's, then everything else that the judge
    saw: tool calls, and in `states` the object contexts, which count as the last message.
    """
    parts = _quoted_parts(quote)
    if not parts:
        return None
    for role in ("assistant", "user"):
        for message in transcript:
            texts = {message.content, told_message(message)}
            if message.role == role and any(
                holds_parts(parts, plain_message(text)) for text in texts
            ):
                return message.message
    for number, calls in shown_calls(transcript).items():
        if holds_parts(parts, plain_message(calls)):
            return number
    if transcript and any(holds_parts(parts, plain_message(state)) for state in states):
        return transcript[-1].message
    return None


def only_of_the_user(
    verdict: TaskVerdict, transcript: Sequence[TranscriptMessage], states: Sequence[str] = ()
) -> str:
    """Return a sentence for the judge if a verdict gives something for what only the user said;
    else an empty text.

    What the agent did is shown by its own messages, tool calls and state.
    """
    users = {message.message for message in transcript if message.role == "user"}
    done = [shown for number, shown in shown_calls(transcript).items() if number not in users]
    done += states
    of_agent = any(
        item.message not in users or _stands_in_any(item.quote, done) for item in verdict.evidence
    )
    if of_agent or not verdict.evidence or not verdict.score:
        return ""
    return (
        f"the evidence of task {verdict.task} is only what the user said: name a message of the"
        " chatbot, which shows what it did"
    )


def _stands_in_any(quote: str, texts: Sequence[str]) -> bool:
    parts = _quoted_parts(quote)
    return bool(parts) and any(holds_parts(parts, plain_message(text)) for text in texts)


def told_message(message: TranscriptMessage) -> str:
    """Return a message as the judge is shown it, with words for a file and for data."""
    return shown_text(message, FOR_JUDGES[0].message)


def _quoted_parts(quote: str) -> list[str]:
    """Return the parts of a quotation between its omissions, in the form in which they are looked
    for.
    """
    whole = _SPEAKER.sub("", plain_form(quote))
    stripped = (part.lstrip("\"' ").rstrip(".,;:!? \"'") for part in _ELLIPSIS.split(whole))
    return [part for part in stripped if part]


def holds_parts(parts: Sequence[str], text: str) -> bool:
    """Return whether `text` contains the parts in order, short ones as whole words, because any
    text contains an `a`.
    """
    at = 0
    for part in parts:
        at = _end_of(part, text, at)
        if at < 0:
            return False
    return True


def _end_of(part: str, text: str, at: int) -> int:
    """Return where a part ends that stands in `text` from `at` on; -1 if it does not."""
    start = text.find(part, at)
    if start < 0:
        return -1
    if len(part) >= WHOLE_WORDS:
        return start + len(part)
    match = _whole_words(part).search(text, start)
    return match.end() if match else -1


@lru_cache(maxsize=64)
def _whole_words(part: str) -> re.Pattern[str]:
    """Return a pattern for a part that may not begin or end inside a word of ASCII letters (not
    every script separates words).
    """
    begins = rf"(?<!{_LETTER})" if re.match(_LETTER, part) else ""
    ends = rf"(?!{_LETTER})" if re.match(_LETTER, part[-1]) else ""
    return re.compile(f"{begins}{re.escape(part)}{ends}")


def plain_form(text: str) -> str:
    """Return a text without the differences allowed in a quotation: case, spaces, kinds of quotes
    and dashes, emphasis, and characters that nobody sees.
    """
    composed = unicodedata.normalize("NFKC", text)
    if len(composed) > MOST_GROWTH * len(text) + MOST_GROWN:
        composed = unicodedata.normalize("NFC", text)
    return " ".join(visible_text(composed).translate(_QUOTES).casefold().split()).strip("\"' ")


plain_message = lru_cache(maxsize=64)(plain_form)
"""The same for a conversation's long texts, in which each quotation is looked for."""
