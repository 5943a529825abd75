"""The facts ledger: which facts a user's message discloses, and whether the agent had asked for them.

Both functions compare words and do not understand them. A fact is recognised by its specifics (a time, a dose, a
name, a rare word) that were not mentioned before. A bare "yes" to the agent's own guess gives
nothing away that can be recognised, and is not in the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from bioeval_tui.evaluation.guards.specifics import Specific, among, is_drug, pattern, specifics
from bioeval_tui.evaluation.guards.words import WORD, content_stems, stems
from bioeval_tui.text import offers_help

BRIEF_WORDS = 4
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_NO_ANSWER = re.compile(
    r"\b(?:not sure|no idea|don['’]?t (?:know|remember|recall|have)|do not (?:know|have)|can(?:['’]?t|not) (?:say|tell|recall)"
    r"|haven['’]?t (?:got|any)|unsure|you (?:decide|choose|pick))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？؟]|\b(?:please|could you|can you|would you|may i|let me know|tell me|provide|share|specify|confirm|clarify"
    r"|i(?:['’]ll| will)? need|i (?:would|['’]d) like to know|i['’]d like to know|which|what|when|where|who)\b",
    re.IGNORECASE,
)
_ASKS_FOR_KIND: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("time", pattern(r"\bwhen\b|\b(?:what|which) (?:time|hour)(?!\s?zone)|\bhow (?:early|late)\b")),
    ("date", pattern(r"\bwhen\b|\b(?:what|which) (?:day|date|month|year)|\bdate of\b|\bhow soon\b")),
    ("quantity", pattern(r"\bhow (?:much|many|old|often|long|far|tall|heavy)\b|\bdos(?:e|es|age)\b|\b(?:strength|age)\b")),
    (
        "name",
        pattern(
            r"\b(?:where|who|whose)\b|\b(?:what|which) (?:city|country|place|region)\b|\blocation\b|\btime ?zone\b"
        ),
    ),
    ("code", pattern(r"\b(?:gene|variant|mutation|notation|hgvs|identifier|accession|code|cohort|data ?set)\b")),
    (
        "drug",
        pattern(r"\b(?:medicines?|medications?|drugs?|tablets?|pills?|prescriptions?|painkillers?|what else do you take)\b"),
    ),
)  # fmt: skip
"""The kinds of information in a fact, and the questions that ask for them."""
_OPEN_QUESTION = re.compile(
    r"\b(?:more|further|additional|any|other|some|the) (?:details?|information|context|specifics)\b"
    r"|\btell me (?:more|about)\b|\banything else (?:i|you) should\b|\belaborate\b",
    re.IGNORECASE,
)


def disclosed(text: str, facts: Sequence[str], already: Collection[int], known: str) -> tuple[int, ...]:
    """Return the numbers (from 1) of the facts that a user's message discloses for the first time.

    `already` contains the numbers of facts given away before; `known` is all text of the tasks
    and earlier messages, whose repetition gives nothing away.
    """
    if not facts or not text.strip():
        return ()
    known_specifics, known_stems = specifics(known), stems(known)
    said, said_stems = _said(text)
    numbers = []
    for number, fact in enumerate(facts, start=1):
        if number in already:
            continue
        new = [
            one
            for one in specifics(fact)
            if not among(one, known_specifics)
            and not (one.kind in ("name", "word") and one.key in known_stems)
        ]
        if _gives_away(new, said, said_stems):
            numbers.append(number)
    return tuple(numbers)


def asked(agent_message: str, fact: str) -> bool:
    """Return whether an agent's message asked for `fact`.

    Any question may ask for it, such as "What brings you in?". An offer ("How can I help?") asks for no
    fact, and a question for one kind of information (when, how many, where, who) asks only for facts of that
    kind, or facts that share a word with it.
    """
    kinds: set[str] = {one.kind for one in specifics(fact)}
    kinds |= {"drug" for word in WORD.findall(fact) if is_drug(word)}
    for sentence in _SENTENCES.split(agent_message):
        if not _ASKS.search(sentence) or offers_help(sentence):
            continue
        wanted = {kind for kind, question in _ASKS_FOR_KIND if question.search(sentence)}
        if not wanted or wanted & kinds or _OPEN_QUESTION.search(sentence):
            return True
        if content_stems(fact) & content_stems(sentence):
            return True
    return False


def asks_for_anything(agent_message: str) -> bool:
    """Return whether an agent's message asks for anything at all; an offer of help does, too."""
    return _ASKS.search(agent_message) is not None


def _said(text: str) -> tuple[tuple[Specific, ...], frozenset[str]]:
    """Return a message's specifics and stems, without sentences such as "I don't know".

    A bare small number counts only in a short answer: "5" may be a dose, "5 questions" is not.
    """
    brief = len(text.split()) <= BRIEF_WORDS
    given = tuple(one for one in specifics(text) if one.kind != "quantity" or brief or _telling(one))
    telling = " ".join(part for part in _SENTENCES.split(text) if not _NO_ANSWER.search(part))
    return given, stems(telling)


def _gives_away(new: Sequence[Specific], said: Sequence[Specific], said_stems: frozenset[str]) -> bool:
    """Any new time, date, dose, code or name discloses a fact; of rare words, half are required."""
    for one in new:
        if not one.strong:
            continue
        if one.kind == "name" and one.key in said_stems:
            return True
        if one.kind == "quantity" and not _telling(one):
            continue
        if among(one, said):
            return True
    rare = [one.key for one in new if one.kind in ("word", "name")]
    small = [one for one in new if one.kind == "quantity" and not _telling(one)]
    hits = sum(key in said_stems for key in rare) + sum(among(one, said) for one in small)
    total = len(rare) + len(small)
    return hits > 0 and hits * 2 >= total and (hits > 1 or total <= 2)


def _telling(quantity: Specific) -> bool:
    return bool(quantity.unit) or len(quantity.key) > 1
