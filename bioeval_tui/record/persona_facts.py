"""What a persona does to the facts of one conversation: it holds some back, and gets some wrong.

It is drawn before the conversation (`peers/persona_facts.py`), and recorded with its start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

HeldUntil = Literal["never", "asked_twice"]
"""When a fact is told that is held back: never, or once the agent has asked for it twice."""
TIMES_ASKED = 2
FactNumber = Annotated[int, Field(ge=1, le=1_000_000)]


class WrongValue(BaseModel):
    """A value of a fact, by its number from 1, and what the user says in its place."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    fact: FactNumber
    right: str
    wrong: str


class PersonaFacts(BaseModel):
    """The facts, by their numbers from 1, that a persona holds back or gets wrong, of those that
    the user has in the condition.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    persona: str
    facts: int
    """How many facts the user has."""
    held_back: tuple[FactNumber, ...] = ()
    until: HeldUntil = "never"
    wrong: tuple[WrongValue, ...] = ()

    @property
    def never_told(self) -> tuple[int, ...]:
        """The facts that are not told, whatever the agent asks."""
        if self.until == "never":
            return self.held_back
        return ()

    @property
    def told_late(self) -> tuple[int, ...]:
        """The facts that are told only if the agent asks for them twice."""
        if self.until == "never":
            return ()
        return self.held_back

    @property
    def wrong_facts(self) -> tuple[int, ...]:
        """The facts that are told with a wrong value."""
        return tuple(dict.fromkeys(each.fact for each in self.wrong))

    def wrong_of(self, number: int) -> tuple[WrongValue, ...]:
        """Return the wrong values of a fact."""
        return tuple(each for each in self.wrong if each.fact == number)

    def reworded(self, number: int, text: str) -> str:
        """Return a fact, or a line that tells it, as this user says it."""
        for each in self.wrong_of(number):
            text = value_pattern(each.right).sub(each.wrong.replace("\\", r"\\"), text)
        return text

    def reworded_facts(self, facts: Sequence[str]) -> tuple[str, ...]:
        """Return all facts of the job as this user says them."""
        return tuple(self.reworded(number, fact) for number, fact in enumerate(facts, start=1))

    def known_facts(self, facts: Sequence[str], numbers: Iterable[int]) -> tuple[str, ...]:
        """Return those of the job's facts with these numbers that this user may tell, as it says
        them.
        """
        told = [number for number in numbers if number not in self.never_told]
        return tuple(self.reworded(number, facts[number - 1]) for number in told)

    def explained(self, number: int, fact: str) -> str:
        """Return a fact with what this user does to it, for a judge."""
        notes = [f"this user says “{each.wrong}” instead" for each in self.wrong_of(number)]
        if number in self.never_told:
            notes = ["this user does not tell it"]
        elif number in self.told_late:
            notes.append("this user tells it only if asked twice")
        if not notes:
            return fact
        return f"{fact} ({'; '.join(notes)})"

    def known_to_user(self, facts: Sequence[str]) -> tuple[str, ...]:
        """Return the job's facts as this user knows them, without those that it never tells, for a
        judge of the user.
        """
        known = []
        for number, fact in enumerate(self.reworded_facts(facts), start=1):
            if number in self.told_late:
                known.append(f"{fact} (to be told only when asked for it twice)")
            elif number not in self.never_told:
                known.append(fact)
        return tuple(known)


def value_pattern(value: str) -> re.Pattern[str]:
    """Return what finds a value in a text as a whole: “5 mg” is neither in “15 mg” nor in “2.5
    mg”, nor “5” in “5.5”.
    """
    return re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(value)}(?!\w)(?![.,]\d)", re.IGNORECASE)
