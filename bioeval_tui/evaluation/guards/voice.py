"""Guards for the user's voice: leaked reasoning or prompt text, out of role, role swap, repetition."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from bioeval_tui.evaluation.guards.common import (
    alike,
    last_agent_message,
    said_by,
    sentences,
    told_text,
    without_signoff,
    word_count,
)
from bioeval_tui.evaluation.guards.helper_talk import speaks_as_assistant
from bioeval_tui.evaluation.guards.out_of_role import speaks_of_prompt
from bioeval_tui.evaluation.guards.words import WORD
from bioeval_tui.evaluation.models.prompting import Prompt
from bioeval_tui.evaluation.models.reasoning import REASONING_TAGS
from bioeval_tui.evaluation.seams import EvaluatorView, Violation
from bioeval_tui.text import shorten

REPEATED = 0.9
"""Minimum similarity at which a message counts as repeating an earlier one."""
TOO_OFTEN = 3
"""From this many times on, saying the same message is certainly no person's doing."""
SHORTEST = 6
"""Messages with fewer words may be repeated: "yes please" is not a repetition."""
SHORTEST_QUESTION = 4
"""Questions with fewer words may be asked about one thing after another: "Is it safe?"."""
ECHOED = 8
"""From this many words on, repeating the agent's message exactly counts as speaking as the agent."""
SHINGLE = 8
"""This many consecutive words of the prompt are not a coincidence."""
_NUMBERS = re.compile(r"\d+")
_SPEAKER = re.compile(r"^\W{0,3}(?:assistant|chatbot|bot|ai|system)\W{0,3}:", re.IGNORECASE)
_REASONING = re.compile(
    rf"</?(?:{REASONING_TAGS})>"
    r"|^\W{0,3}(?:reasoning|thoughts?|thinking|chain of thought|internal note|(?:user['’]s )?next message|user['’]s message)\W{0,3}:"
    r"|\bhere(?:['’]s| is) (?:the|my|your|a) (?:(?:next|possible|short|user['’]s|patient['’]s) ){1,2}(?:message|reply|response)\b"
    r"|\bthe user['’]s next message\b|\bfacts (?:are|were) withheld\b|\bRECORD-[0-9a-f]{8,}|^[ \t]*[{\[]\s*\"(?:role|content|message)\"",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT_BOTH = re.compile(
    r"\b(?:the|this) (?:chatbot|assistant) (?:has|asked|asks|did|didn['’]t|answered|wants|seems|should)\b"
    r"|\bthe user(?: (?:wants|needs|should|would|asked|hasn['’]t|has|had|is|was|seems|feels|says)\b|['’]s (?:request|question|message|symptoms)\b)"
    r"|\bi (?:should|need to|must|will) (?:now )?(?:ask|respond|reply|bring up|move on|continue)\b.{0,60}\b(?:task|chatbot|user)\b",
    re.IGNORECASE,
)
_UNKNOWING = re.compile(
    r"\b(?:(?:do|did|have|can|could)(?:n['’]t| not)|cannot|not sure|no idea|rather not|unsure)\b",
    re.IGNORECASE,
)
_SAID = r"(?:mention(?:ed)?|report(?:ed)?|describ(?:ed?|ing)|specif(?:y|ied)|stat(?:ed?|ing)|indicat(?:ed?|ing)|provid(?:ed?|ing)|given?|discuss(?:ed)?|list(?:ed)?|bring up|brought up|disclosed?)"
_NOT_MENTIONED = re.compile(
    # "I haven't mentioned any", "I didn't specify that"
    rf"\bi(?: have|'ve| did| had| do)?(?:n't| not| never)(?: \w+ly| yet| actually| really| ever| yet| even){{0,2}} {_SAID}\b"
    # "No fever has been mentioned", "there is no mention of"
    rf"|\b(?:no|any|not|n't|nothing|none|never)\b[^.!?]{{0,80}}\b(?:(?:is|are|was|were|been|being) (?:\w+ly )?(?:mentioned|reported|specified|stated|documented)|mention of)\b"
    r"|\bnot (?:specifically )?(?:mentioned|specified|stated|documented)\b",
    re.IGNORECASE,
)
_MENTIONED_TO_SOMEBODY = re.compile(
    rf"\b{_SAID}\b[^.!?]{{0,60}}\b(?:to|with|by) (?:my|a|an|the|him|her|them|anyone|anybody|any|you|our|his|their|me)\b(?! (?:details|information))"
    r"|\b(?:before|earlier|until now|because|embarrass\w*|asham\w*|afraid)\b",
    re.IGNORECASE,
)
_NOTHING_ABOUT_IT = "Write only the words that the person types, nothing about them."


def leak(view: EvaluatorView, text: str, prompt: Prompt | None = None) -> Violation | None:
    """Find reasoning or the words of the prompt.

    Both are certain, except reasoning without tags, and words of the job's own prompt, which may contain words
    that the person should say.
    """
    words = without_signoff(view, text)
    note = f"You showed your reasoning or your instructions. {_NOTHING_ABOUT_IT}"
    if match := _REASONING.search(words):
        return Violation(
            "leak", f"shows reasoning: “{shorten(match.group().strip(), 80)}”", note, quote=match.group()
        )
    if shared := _prompt_words(view, words, prompt):
        detail = f"says words of the prompt: “{shorten(shared, 80)}”"
        effect: Literal["mark", "void"] = "mark" if prompt and prompt.origin == "job" else "void"
        return Violation("leak", detail, note, effect, shared)
    match = _ABOUT_BOTH.search(words)
    if match and match.group().casefold() not in _others_words(view):
        return Violation(
            "leak", f"sounds like reasoning: “{shorten(match.group(), 80)}”", note, "mark", match.group()
        )
    return None


def out_of_role(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that mentions the vignette, the prompt or its instructions.

    Information that "is not provided", without a source, may be the patient's own; that is only marked.
    """
    words, certain = speaks_of_prompt(view, without_signoff(view, text))
    if not words:
        return None
    return Violation(
        "out_of_role",
        f"speaks of what it was told: “{shorten(words.strip(), 80)}”",
        "You spoke of your instructions, not as the person. What you were not told, the person does not know, has not "
        f"noticed or would rather not say. {_NOTHING_ABOUT_IT}",
        "void" if certain else "mark",
        words.strip(),
    )


def role_swap(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that speaks as the assistant: certain if most of it plainly does."""
    note = "You spoke as the chatbot. You are the person who asks: say only what this person would type next."
    words = without_signoff(view, text)
    if label := _SPEAKER.search(words):
        return Violation(
            "role_swap", f"speaks as the assistant: “{label.group().strip()}”", note, quote=label.group()
        )
    quote, certain = speaks_as_assistant(view, words)
    if certain:
        return Violation("role_swap", f"speaks as the assistant: “{shorten(quote, 80)}”", note, quote=quote)
    count = word_count(words)
    theirs = [said for said in said_by(view, "assistant") if word_count(said) >= ECHOED]
    if count >= ECHOED and any(alike(words, theirs, 1.0)):
        return Violation("role_swap", "says a whole message of the agent again", note)
    if quote:
        return Violation("role_swap", f"speaks as the assistant: “{shorten(quote, 80)}”", note, "mark", quote)
    name = re.escape(view.job.target.chatbot)
    if re.search(rf"^\W{{0,3}}{name}\W{{0,3}}:", words, re.IGNORECASE | re.MULTILINE):
        return Violation(
            "role_swap", f"has the agent's name before its words: “{shorten(words, 80)}”", note, "mark"
        )
    return None


def non_answer(view: EvaluatorView, text: str) -> Violation | None:
    """Find an answer that says what has been mentioned, as a record does, where the agent asked what is so."""
    if "?" not in last_agent_message(view):
        return None
    for part in sentences(without_signoff(view, text).replace("’", "'")):
        if (match := _NOT_MENTIONED.search(part)) and not _MENTIONED_TO_SOMEBODY.search(part):
            if speaks_of_prompt(view, text)[0]:
                return None  # which says more
            return Violation(
                "non_answer",
                f"says what has been mentioned, not what is so: “{shorten(match.group().strip(), 80)}”",
                "You said what you have mentioned, not what is so. Answer as the person: yes, no, or that you do not know. "
                f"{_NOTHING_ABOUT_IT}",
                "mark",
                match.group().strip(),
            )
    return None


def repetition(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that almost repeats an earlier one, or that repeats itself.

    If the agent repeats a question, the answer may be repeated once. The third time is certain, whatever the agent says:
    people put it differently, or give up. Only that one does not know may be said to one question after another.
    """
    note = "You repeated yourself. Say something new: put it differently, or go on to what has not been brought up."
    words = without_signoff(view, text)
    long = word_count(words) >= SHORTEST
    if long or ("?" in words and word_count(words) >= SHORTEST_QUESTION):
        numbers = _NUMBERS.findall(words)  # "Yes, cancel order 17" and "Yes, cancel order 18" say two things
        before = alike(words, said_by(view, "user"), REPEATED)
        earlier = [said for said in before if _NUMBERS.findall(said) == numbers]
        if len(earlier) >= TOO_OFTEN - 1 and not (
            "?" in last_agent_message(view) and _UNKNOWING.search(words)
        ):
            return Violation(
                "repetition", f"says it {len(earlier) + 1} times: “{shorten(earlier[0], 80)}”", note
            )
        if long and earlier and not _asked_again(view):
            return Violation("repetition", f"said before: “{shorten(earlier[0], 80)}”", note, "mark")
    parts = [part.casefold() for part in sentences(words) if word_count(part) >= 3]
    often = next((part for part in parts if parts.count(part) >= 3), None)
    detail = f"says one sentence over and over: “{shorten(often or '', 80)}”"
    return Violation("repetition", detail, note, "mark") if often else None


def _asked_again(view: EvaluatorView) -> bool:
    *before, last = ["", *said_by(view, "assistant")]
    return any(alike(last, before, REPEATED))


def _others_words(view: EvaluatorView) -> str:
    return "\n".join([told_text(view), last_agent_message(view)]).casefold()


def _prompt_words(view: EvaluatorView, text: str, prompt: Prompt | None) -> str:
    """Return consecutive words that are in the prompt and not in the allowed texts; empty if there are none."""
    if prompt is None:
        return ""
    told = _shingles(prompt.text)
    plain = _plain(text)
    for start in range(len(plain) - SHINGLE + 1):
        run = " ".join(plain[start : start + SHINGLE])
        if run in told and run not in " ".join(_plain(_others_words(view))):
            return run
    return ""


@lru_cache(maxsize=32)
def _shingles(text: str) -> frozenset[str]:
    words = _plain(text)
    return frozenset(" ".join(words[start : start + SHINGLE]) for start in range(len(words) - SHINGLE + 1))


def _plain(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]
