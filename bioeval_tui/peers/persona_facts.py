"""The facts of a persona (`personas[].facts`): which are held back or told wrongly in a trial, and
the script that does so.

What is drawn depends on the seed, the trial and the fact's number alone, so that the conditions of
a trial stay comparable. A model or plug-in is given the facts as its persona has them
(`conversation/turns.py`), and nothing else; a script, whose lines are written, says that it does
not know in the place of a line (`KeepingScript`).
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from bioeval_tui.jobs.models import EvaluationJob, PersonaFactsConfig
from bioeval_tui.peers.offline import HUMAN
from bioeval_tui.peers.seams import Delta, Evaluator, EvaluatorView, Utterance
from bioeval_tui.record.persona_facts import PersonaFacts, WrongValue, value_pattern


def draw_persona_facts(
    job: EvaluationJob, seed: int, trial: int, known: Sequence[int]
) -> PersonaFacts | None:
    """Return which of the facts with these numbers (from 1) the job's persona holds back or gets
    wrong in a trial; None if the job, filled in from its case, has no persona that does, the user
    has no fact, or a person plays it.
    """
    if len(job.personas) != 1 or not known or job.evaluator.kind == HUMAN:
        return None
    [persona] = job.personas
    if persona.facts is None:
        return None
    held_back = tuple(number for number in known if _holds_back(persona.facts, seed, trial, number))
    wrong = [
        WrongValue(fact=number, right=right, wrong=instead)
        for right, instead in persona.facts.wrong.items()
        for number in _that_say(right, job.facts, known)
        if number not in held_back or persona.facts.until != "never"
    ]
    return PersonaFacts(
        persona=persona.name,
        facts=len(known),
        held_back=held_back,
        until=persona.facts.until,
        wrong=tuple(wrong),
    )


def _holds_back(config: PersonaFactsConfig, seed: int, trial: int, number: int) -> bool:
    if isinstance(config.holds_back, tuple):
        return number in config.holds_back
    drawn = random.Random(f"{seed}/{trial}/held back/{number}").random()  # noqa: S311
    return drawn < config.holds_back


def _that_say(value: str, facts: Sequence[str], known: Sequence[int]) -> list[int]:
    """Return the numbers of the known facts in which a value stands."""
    return [number for number in known if value_pattern(value).search(facts[number - 1])]


class KeepingScript:
    """A script whose persona holds facts back or gets them wrong.

    Where a line tells a fact that is held back, it says that it does not know instead; one that is
    told late is told when its line's turn comes again. In a line that tells a fact, a wrong value
    takes the place of the right one.
    """

    def __init__(
        self, script: Evaluator, job: EvaluationJob, drawn: PersonaFacts, unknowing: str
    ) -> None:
        """`drawn` is of all facts of the job."""
        self.identity = script.identity
        self._script = script
        self._job = job
        self._drawn = drawn
        self._unknowing = unknowing
        self._meant: dict[int, tuple[str, str]] = {}
        """What was said in the place of a line, and that line, by the message's number."""
        self._asked: dict[int, int] = {}
        """The message in which a fact that is told late would first have been told, by its number.
        """

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield the message, in pieces only if it is the script's own line."""
        pieces: list[Delta] = []
        async for piece in self._script.speak(self._as_it_was_meant(view)):
            if isinstance(piece, Delta):
                pieces.append(piece)
                continue
            told = self._told(view, piece, len(view.transcript) + 1)
            if told.content == piece.content:
                for each in pieces:
                    yield each
            yield told

    async def aclose(self) -> None:
        """Close the script."""
        await self._script.aclose()

    def _as_it_was_meant(self, view: EvaluatorView) -> EvaluatorView:
        """Return the view of a script that has said its own lines: else it would say them again."""
        heard = []
        for message in view.transcript:
            said, line = self._meant.get(message.message, ("", ""))
            is_meant = bool(line) and message.content == said
            heard.append(replace(message, content=line) if is_meant else message)
        return replace(view, transcript=heard)

    def _told(self, view: EvaluatorView, line: Utterance, number: int) -> Utterance:
        """Return what is said where a line's turn has come."""
        known = self._job.facts_told_in(view.condition)
        facts = [known[place - 1] for place in line.facts]
        if any(fact in self._drawn.never_told for fact in facts):
            self._meant[number] = self._unknowing, line.content
            return Utterance(self._unknowing)
        late = [fact for fact in facts if fact in self._drawn.told_late]
        if any(self._asked.setdefault(fact, number) == number for fact in late):
            return Utterance(self._unknowing)
        content = line.content
        for fact in facts:
            content = self._drawn.reworded(fact, content)
        if content != line.content:
            self._meant[number] = content, line.content
        still_known = [fact for fact in known if fact not in self._drawn.never_told]
        places = tuple(still_known.index(fact) + 1 for fact in facts)
        return replace(line, content=content, facts=places)
