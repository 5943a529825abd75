"""Counts over the synthetic patients."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bioeval_tui.sample.agent.facts import Patient
from bioeval_tui.sample.agent.turn import DialogueTurn

_COHORT = re.compile(
    r"\b(?:patients?|cohort|participants?|how many (?:people|women|men))\b", re.IGNORECASE
)
_OLD = re.compile(r"\b(?:elderly|older|old|senior|geriatric|younger|young)\b", re.IGNORECASE)
GUESSED_AGE = 65
"""What an agent that guesses takes for old."""

_OVER = re.compile(r"\b(?:over|above|older than|more than)\s+(\d{2})\b", re.IGNORECASE)
_FROM = re.compile(
    r"\b(?:at least|from|aged|>=|≥)\s*(\d{2})\b(?:\s+(?:or|and|years and)"
    r" (?:older|over|above))?|\b(\d{2})\s*(?:\+|(?:years )?(?:or|and) (?:older|over|above))",
    re.IGNORECASE,
)
_UNDER = re.compile(r"\b(?:under|below|younger than|less than)\s+(\d{2})\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b(\d{2})\b")
_SEXES = {
    "female": re.compile(r"\b(?:women|woman|female)\b", re.IGNORECASE),
    "male": re.compile(r"\b(?:men|man|male)\b", re.IGNORECASE),
}
_CONDITIONS = {
    "atrial fibrillation": r"atrial fibrillation|afib|\baf\b",
    "hypertension": r"hypertension|hypertensive|high blood pressure",
    "type 2 diabetes": r"diabet\w+",
    "hypercholesterolaemia": r"hypercholesterol\w+|high cholesterol",
    "chronic myeloid leukaemia": r"chronic myeloid leuk\w+|\bcml\b",
}
_EVERYBODY = re.compile(
    r"\b(?:how many (?:synthetic )?patients (?:are|do you|exist|in)|all (?:the )?(?:synthetic"
    r" )?patients|size of)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One condition that patients are counted by, and the words for it."""

    words: str
    holds: Callable[[Patient], bool]


def opens(turn: DialogueTurn) -> bool:
    """Return whether the message asks about patients."""
    return turn.message.matches(_COHORT)


async def start(turn: DialogueTurn) -> str:
    """Answer a question about the synthetic patients."""
    text = turn.message.text
    criteria = _criteria(text, turn.message.drugs)
    aged = any(pattern.search(text) for pattern in (_OVER, _FROM, _UNDER))
    if _OLD.search(text) and not aged:
        turn.state.cohort = (text,)
        return turn.ask("cohort.age", "From which age? Studies define this differently.")
    if not criteria and not _EVERYBODY.search(text):
        turn.state.cohort = (text,)
        return turn.ask("cohort.what", "Which condition, drug, sex or age should I count by?")
    return _count(turn, criteria)


async def proceed(turn: DialogueTurn) -> str:
    """Answer a message that says what to count by."""
    awaiting, turn.state.awaiting = turn.state.awaiting, None
    asked = " ".join(turn.state.cohort)
    drugs = tuple(
        drug
        for drug in (d.name for d in turn.knowledge.drugs)
        if re.search(rf"\b{drug}\b", asked, re.IGNORECASE)
    )
    criteria = _criteria(f"{asked} . {turn.message.text}", (*drugs, *turn.message.drugs))
    if awaiting == "cohort.age":
        number = _NUMBER.search(turn.message.text)
        if not number and turn.guesses:
            criteria.append(_minimum_age(GUESSED_AGE))
        elif not number:
            return "I can't count them without an age, because the number depends on it."
        elif not any(criterion.words.startswith("aged") for criterion in criteria):
            criteria.append(_minimum_age(int(number[1])))
    if not criteria:
        return "Without a criterion I can only count all patients; ask me how many there are."
    return _count(turn, criteria)


def _criteria(text: str, drugs: tuple[str, ...]) -> list[Criterion]:
    criteria = [Criterion(f"taking {drug}", _takes(drug)) for drug in dict.fromkeys(drugs)]
    for name, pattern in _CONDITIONS.items():
        if re.search(pattern, text, re.IGNORECASE):
            criteria.append(Criterion(f"with {name}", _has(name)))
    for sex, words in _SEXES.items():
        if words.search(text):
            criteria.append(Criterion(sex, _is(sex)))
    if over := _OVER.search(text):
        criteria.append(_minimum_age(int(over[1]) + 1, f"aged over {over[1]}"))
    elif start := _FROM.search(text):
        criteria.append(_minimum_age(int(start[1] or start[2])))
    if under := _UNDER.search(text):
        limit = int(under[1])
        criteria.append(Criterion(f"aged under {limit}", lambda patient: patient.age < limit))
    return criteria


def _takes(drug: str) -> Callable[[Patient], bool]:
    return lambda patient: drug in patient.drugs


def _has(condition: str) -> Callable[[Patient], bool]:
    return lambda patient: condition in patient.conditions


def _is(sex: str) -> Callable[[Patient], bool]:
    return lambda patient: patient.sex == sex


def _minimum_age(age: int, words: str = "") -> Criterion:
    return Criterion(words or f"aged {age} or older", lambda patient: patient.age >= age)


def _count(turn: DialogueTurn, criteria: list[Criterion]) -> str:
    turn.state.awaiting, turn.state.cohort = None, ()
    everybody = turn.knowledge.patients
    matching = [
        patient for patient in everybody if all(criterion.holds(patient) for criterion in criteria)
    ]
    words = ", ".join(criterion.words for criterion in criteria) or "all"
    turn.called(
        "countPatients",
        {"criteria": words},
        {"count": len(matching), "of": len(everybody)},
        "a count over the cohort",
    )
    verb = "matches" if len(matching) == 1 else "match"
    answer = (
        f"**{len(matching)} of {len(everybody)} synthetic patients** {verb}: {words}. These"
        " patients are invented."
    )
    if not matching or not criteria:
        return answer
    rows = "\n".join(
        f"| {p.id} | {p.age} | {p.sex} | {', '.join(p.conditions)} | {', '.join(p.drugs)} |"
        for p in matching[:8]
    )
    more = f"\n\n… and {len(matching) - 8} more." if len(matching) > 8 else ""
    return (
        f"{answer}\n\n| id | age | sex | conditions | drugs |\n|---|---|---|---|---|\n{rows}{more}"
    )
