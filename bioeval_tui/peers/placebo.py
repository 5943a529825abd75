"""The user of the condition placebo: it tells as much as one with the facts, and nothing to the
point.

Supplied facts also mean more words from the user. The placebo is *yoked* to them: where the user
with facts would answer with one, this user says that it does not know, and adds something of the
same length. Who plays the user by rule is asked what it would say with the facts
(`YokedEvaluator`); a model gets the texts in its prompt (`Placebo.texts`), and no fact.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bioeval_tui.languages.segments import word_count
from bioeval_tui.peers.seams import Delta, Evaluator, EvaluatorView, Utterance
from bioeval_tui.record.condition_names import Condition

UNKNOWING = {
    "en": "I don't know.", "de": "Das weiß ich nicht.", "fr": "Je ne sais pas.",
    "es": "No lo sé.", "pt": "Não sei.", "zh": "我不知道。", "ja": "わかりません。",
    "ar": "لا أعرف.", "hi": "मुझे नहीं पता।",
}  # fmt: skip
"""How a scripted user of the placebo says that it does not know, by the code of the language."""

ALLOWED = 4
"""The words told with the placebo may differ from those with the facts by one in so many."""

Tells = Callable[[EvaluatorView, Utterance], bool]
"""Returns whether a message tells what only the user with the facts knows."""


@cache
def shipped_texts() -> tuple[str, ...]:
    """Return what is told in the place of facts if a job does not say what: English sentences of 2
    to 24 words about nothing that a job is about.
    """
    file = Path(__file__).parent / "placebo_facts.txt"
    return tuple(file.read_text(encoding="utf-8").split("\n")[:-1])


def differ_too_much(with_facts: float, placebo: float) -> bool:
    """Return whether the words told with the placebo differ from those with the facts by more than
    a quarter of these.
    """
    return ALLOWED * abs(placebo - with_facts) > with_facts


@dataclass(frozen=True, slots=True)
class Placebo:
    """What the user of the placebo says in one trial.

    `among` are the texts to draw from, `seed` makes the drawing repeatable, and `unknowing` says
    that the user does not know.
    """

    among: tuple[str, ...]
    seed: str
    unknowing: str = UNKNOWING["en"]

    def texts(self, facts: Sequence[str]) -> tuple[str, ...]:
        """Return a text for each fact, with which, after “I don't know”, as much is said."""
        said: list[str] = []
        used: list[str] = []
        for fact in facts:
            drawn = self._drawn(word_count(fact) - word_count(self.unknowing), used)
            used += drawn
            said.append(" ".join(drawn))
        return tuple(said)

    def answer(self, instead_of: str, used: list[str]) -> str:
        """Return an answer as long as one that tells facts; what it says is added to `used`, which
        is said again only if nothing else is left.
        """
        drawn = self._drawn(word_count(instead_of) - word_count(self.unknowing), used)
        used += drawn
        return " ".join([self.unknowing, *drawn])

    def _drawn(self, words: int, used: Sequence[str]) -> list[str]:
        """Return texts that together have about so many words, and at least one: each time the
        longest for which there is room and, at the end, one that comes closest, or nearly so, since
        otherwise a length would have the same text in every trial.
        """
        left = [text for text in self._shuffled() if text not in used] or self._shuffled()
        drawn: list[str] = []
        missing = words
        while left:
            closest = min(_distance(word_count(text), missing) for text in left)
            best = next(
                text
                for text in left
                if _distance(word_count(text), missing) <= (closest[0], max(closest[1], 1))
            )
            after = missing - word_count(best)
            if drawn and abs(after) >= abs(missing):
                break
            drawn.append(best)
            left.remove(best)
            missing = after
        return drawn

    def _shuffled(self) -> list[str]:
        texts = list(self.among)
        random.Random(self.seed).shuffle(texts)  # noqa: S311
        return texts


def _distance(words: int, missing: int) -> tuple[bool, int]:
    """Return how well a text of so many words fits where so many are missing: one that fits exactly
    or nearly before one that is too long by more than a few.
    """
    return words > missing + 2, abs(missing - words)


class YokedEvaluator:
    """A user without facts that speaks where another one does, which has them: it says the same,
    but where that gives a fact, as many words to no purpose.
    """

    def __init__(
        self,
        with_facts: Evaluator,
        facts: Sequence[str],
        condition: Condition,
        placebo: Placebo,
        tells: Tells,
    ) -> None:
        """`condition` is that in which the user with the facts is told to be."""
        self.identity = with_facts.identity
        self._with_facts = with_facts
        self._facts = tuple(facts)
        self._condition = condition
        self._placebo = placebo
        self._tells = tells
        self._meant: dict[int, tuple[str, str]] = {}
        """What was said in place of a message, and that message, by its number."""
        self._used: list[str] = []

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield the message; its pieces only once it is known that none of them gives a fact."""
        number = len(view.transcript) + 1
        pieces: list[Delta] = []
        async for piece in self._with_facts.speak(self._view_with_facts(view)):
            if isinstance(piece, Delta):
                pieces.append(piece)
                continue
            if self._tells(view, piece):
                yield self._instead(piece, number)
                return
            for each in pieces:
                yield each
            yield replace(piece, facts=(), no_other_facts=False)

    async def aclose(self) -> None:
        """Close the user with the facts."""
        await self._with_facts.aclose()

    def _view_with_facts(self, view: EvaluatorView) -> EvaluatorView:
        """Return what the user with the facts would know: also that it said what it meant to say.

        Without that, a script would say the same line again.
        """
        heard = tuple(
            replace(message, content=meant[1])
            if (meant := self._meant.get(message.message)) and meant[0] == message.content
            else message
            for message in view.transcript
        )
        return replace(
            view,
            job=view.job.model_copy(update={"facts": self._facts}),
            condition=self._condition,
            facts=self._facts,
            transcript=heard,
        )

    def _instead(self, utterance: Utterance, number: int) -> Utterance:
        said = self._placebo.answer(utterance.content, self._used)
        self._meant[number] = said, utterance.content
        return replace(utterance, content=said, facts=(), no_other_facts=False)
