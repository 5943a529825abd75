"""Guards of whose voice it is: role swap, leaked reasoning or prompt text, repetition."""

from __future__ import annotations

import re
from functools import cache

from bioeval_tui.guards.common import (
    are_alike,
    first_alike,
    last_agent_message,
    said_by,
    sentences,
    without_signoff,
    word_count,
)
from bioeval_tui.guards.words import WORD
from bioeval_tui.prompting import find_prompt
from bioeval_tui.protocols import EvaluatorView, Violation
from bioeval_tui.text import shorten

ECHO = 0.8
"""From this likeness on a message echoes the agent's."""
REPEATED = 0.9
"""From this likeness on a message repeats an earlier one."""
SHORTEST = 5
"""Shorter messages, in words, may be said again: "yes please" is no repetition."""
VOICE_SHINGLE = 4
SHINGLE = 8
"""So many words in a row that also stand in the voice, or in the prompt, are no coincidence."""

_DONE = "set|created|scheduled|added|updated|saved|booked|cancell?ed|logged|recorded|noted|registered|sent|prepared"
_AS_ASSISTANT = re.compile(
    r"\bhow (?:can|may|could) i (?:help|assist|be of)\b"
    r"|\b(?:is there |do you need )?anything else (?:that )?i can (?:help|do|assist)\b"
    r"|\bas an? (?:ai|artificial|virtual|large|language|assistant|chatbot)\b"
    r"|\bi(?:['’]m| am) (?:an? (?:ai|virtual|language|assistant|chatbot)|here to (?:help|assist))"
    r"|\bi(?:['’]d| would) be (?:happy|glad) to (?:help|assist)\b"
    r"|\b(?:i can|let me|i['’]ll) (?:help|assist) you\b"
    rf"|\bi(?:['’]ve| have)(?: just| now)? (?:{_DONE}) (?:your|it for you|that for you|(?:a|the) \w+(?: \w+)? for you)"
    rf"|\byour \w+(?: \w+)? (?:has been|have been|is now|are now) (?:{_DONE})"
    r"|\bfeel free to (?:ask|reach)\b"
    r"|\bthank(?:s| you) for (?:reaching out|contacting|your (?:question|message|patience|inquiry))"
    rf"|\bi(?:['’]ve| have)(?: just| now)? (?:{_DONE})\b.{{0,60}}\bfor you\b"
    r"|\bi(?:['’]ll| will) (?:classify|set (?:it|that|this|up|the|your)|schedule|remind you|create|prepare)\b"
    r"|\bi(?:['’]d| would)? (?:strongly )?(?:recommend|advise)\b|\bsorry to hear\b"
    r"|\bwhat (?:would|do) you (?:like|want) (?:me )?to\b|\bplease (?:provide|specify) (?:the|your|me)\b"
    r"|\byou should (?:not take|avoid|take|stop|consult|talk|speak|see)\b"
    r"|\b(?:which|what) \w+ (?:are|do) you (?:take|taking|use|using|live|prefer)\b|\b(?:may|can|could) i have your\b"
    r"|\bi(?:['’]ve| have)? (?:just )?(?:counted|calculated|computed|looked (?:it|that|this) up)\b"
    r"|\b(?:talk to|speak with|check with|ask|see) your (?:doctor|physician|pharmacist)"
    r"|\b(?:please )?consult (?:your|a) (?:doctor|physician|pharmacist|healthcare)"
    r"|\bwould you like me to\b|\bhere(?:['’]s| is| are) (?:the|your) (?:\w+ )?(?:summary|information|details|results?)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"^\W{0,3}(assistant|chatbot|bot|ai|agent|system)\W{0,3}:", re.IGNORECASE | re.MULTILINE
)
_LEAK = re.compile(
    r"</?(?:think|thinking|reasoning|scratchpad)>"
    r"|^\W{0,3}(?:reasoning|thoughts?|thinking|analysis|plan|internal(?: note)?|next message|response|user['’]s (?:next )?message)\W{0,3}:"
    r"|\b(?:the|this) (?:chatbot|assistant|bot|agent) (?:has|is|asked|asks|did|didn['’]t|should|wants|answered|seems|just|now)\b"
    r"|\b(?:the|my) user (?:has|is|wants|should|would|asked)\b"
    r"|\b(?:as|play(?:ing)?) the (?:user|person|role)\b"
    r"|\bi (?:should|need to|must|will) (?:now )?(?:ask|respond|reply|bring up|move on|continue)\b.{0,60}\b(?:task|next|list|chatbot|user)\b"
    r"|\b(?:my|these|the) (?:instructions?|system prompt|prompt|guidelines) (?:say|says|tell|are|is|state)\b"
    r"|\b(?:i was|i['’]ve been|i am|i['’]m) (?:told|instructed|asked|supposed) to (?:play|act|pretend|not (?:reveal|volunteer|mention))\b"
    r"|\b(?:acceptance criteri|ground truth|sign[- ]?off (?:phrase|text|words)|system prompt)"
    r"|\b(?:next|first|second|third|last|remaining|current) task\b|\btask (?:#\s?)?\d\b"
    r"|\bRECORD-[0-9a-f]{8,}|^\s*[{\[]\s*\"(?:role|content|message)\""
    r"|\bmy list\b|\b(?:simulat(?:e|ed|ing)|role-?play(?:ing)?|impersonat\w+) (?:a |an |the )?(?:user|person|patient|human)?"
    r"|\b(?:withheld|undisclosed)\b|\b(?:the|these|those|my) facts (?:were|are|say|i)\b|\bnot (?:allowed|permitted|supposed) to (?:say|tell|reveal|share|volunteer)\b"
    r"|\buser['’]s (?:next )?(?:message|turn|reply)\b|\b(?:this|that|a|the) fact\b|\b(?:can|may|should) (?:now )?(?:reveal|disclose)\b"
    r"|\b(?:first|second|third|next|last) (?:goal|item|objective)\b"
    r"|^\s*\[[^\]\n]{1,60}\]"
    r"|^\s*[*(\[](?:[a-z]+s|waits|pauses|thinking|pause)\b[^)\]*]{0,60}[*)\]]",
    re.IGNORECASE | re.MULTILINE,
)


def role_swap(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that speaks as the assistant, or says the agent's words again."""
    last = last_agent_message(view)
    name = re.escape(view.job.target.chatbot)
    found = (
        _AS_ASSISTANT.search(text)
        or _SPEAKER.search(text)
        or re.search(rf"^\W{{0,3}}{name}\W{{0,3}}:", text, re.IGNORECASE | re.MULTILINE)
    )
    if found:
        detail = f"speaks as the assistant: “{shorten(found.group().strip(), 80)}”"
    elif word_count(text) >= SHORTEST and are_alike(text, last, ECHO):
        detail = "says the agent's words again"
    elif echo := _echoed_sentence(view, text):
        detail = f"says the agent's words again: “{shorten(echo, 80)}”"
    else:
        return None
    return Violation(
        "role_swap",
        detail,
        "You spoke as the chatbot. You are the person who asks: say only what this person would type next.",
    )


def leak(view: EvaluatorView, text: str) -> Violation | None:
    """Find reasoning, stage directions or the words of the prompt."""
    words = without_signoff(view, text)
    found = _LEAK.search(words)
    if found:
        detail = f"shows reasoning or the prompt: “{shorten(found.group().strip(), 80)}”"
    elif shared := _prompt_words(view, words):
        detail = f"says words of the prompt: “{shorten(shared, 80)}”"
    else:
        return None
    return Violation(
        "leak",
        detail,
        "You showed your reasoning or your instructions. Write only the words that the person types, nothing about them.",
    )


def repetition(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that was said before, almost word for word, or that goes round in circles."""
    note = "You repeated yourself. Say something new: put it differently, or go on to what has not been brought up."
    words = without_signoff(view, text)
    if word_count(words) >= SHORTEST:
        earlier = first_alike(words, said_by(view, "user"), REPEATED)
        if earlier is not None:
            return Violation("repetition", f"said before: “{shorten(earlier, 80)}”", note)
    parts = [part.casefold() for part in sentences(words) if word_count(part) >= 3]
    often = next((part for part in parts if parts.count(part) >= 3), None)
    return (
        Violation("repetition", f"says one sentence over and over: “{shorten(often, 80)}”", note)
        if often
        else None
    )


def _echoed_sentence(view: EvaluatorView, text: str) -> str:
    """Return a sentence that the agent, and not the user, said before; empty if there is none."""
    theirs = {part for message in said_by(view, "assistant") for part in sentences(message)}
    for part in sentences(text):
        if word_count(part) < SHORTEST or first_alike(part, theirs, REPEATED) is None:
            continue
        own = (part for message in said_by(view, "user") for part in sentences(message))
        if first_alike(part, own, ECHO) is None:
            return part
    return ""


def _prompt_words(view: EvaluatorView, text: str) -> str:
    """Return a run of words that also stands in the prompt, empty if there is none."""
    told = _shingles(view.job.evaluator.voice, VOICE_SHINGLE) | _packaged_prompt()
    plain = [word.lower() for word in WORD.findall(text)]
    for size in (VOICE_SHINGLE, SHINGLE):
        for start in range(len(plain) - size + 1):
            run = " ".join(plain[start : start + size])
            if run in told:
                return run
    return ""


@cache
def _packaged_prompt() -> frozenset[str]:
    return _shingles(find_prompt("eval/socrates", None).text, SHINGLE)


def _shingles(text: str, size: int) -> frozenset[str]:
    words = [word.lower() for word in WORD.findall(text)]
    return frozenset(" ".join(words[start : start + size]) for start in range(len(words) - size + 1))
