"""A simulated user without a model: asked, it gives the facts whose words fit the question best.

It stands in for a model offline, the same every time, and its name says so wherever a run names who
played the user.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import regex
from sklearn.feature_extraction.text import TfidfVectorizer

from bioeval_tui.protocols import Delta, EvaluatorView, Utterance

LEAST = 0.18
"""The least cosine between a question and a fact that answers it."""
FILLERS = frozenset(
    regex.findall(
        r"\w+",
        """a an and any are at be been by can could did do does for from had has have having how
        i in is it its me my of on or patient please so tell than that the their there these this
        to was were what when where which who why will with would you your yours""",
    )
)
"""Words that say nothing about what is asked for; `not` and `no` do."""
TIE = 1e-9
LONGEST = 4_000
"""Most characters of an agent's message that are read."""
PATTERN_S = 0.5


class StandIn:
    """Answers each question with the fact that fits it best, by the cosine of TF-IDF vectors of
    letter sequences.

    Two equally good facts are both given. It ends the conversation after a message of the agent
    that contains the pattern of `evaluator.options.until`, and says `evaluator.options.unknown` if
    no fact fits.
    """

    identity = "stand-in for a model (TF-IDF)"

    def __init__(self, job: Any) -> None:
        """Raises `ValueError` for another option."""
        options = dict(job.evaluator.options)
        self._until = regex.compile(str(options.pop("until")), regex.IGNORECASE)
        self._unknown = str(options.pop("unknown", "I don't know."))
        if options:
            raise ValueError(f"evaluator.options has until and unknown, not {', '.join(options)}")
        self._signoff = job.evaluator.signoff

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield the answer to the agent's last message."""
        asked = next((m.content for m in reversed(view.transcript) if m.role == "assistant"), "")[
            :LONGEST
        ]
        if self._until.search(asked, timeout=PATTERN_S):
            yield Utterance(self._signoff)
            return
        given = fitting(asked, view.facts)
        words = " ".join(view.facts[number - 1] for number in given) or self._unknown
        yield Utterance(words, facts=given, no_other_facts=True)

    async def aclose(self) -> None:
        """Nothing to close."""


def fitting(message: str, facts: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers (from 1) of the facts that answer the questions of a message; none if no
    fact fits.
    """
    questions = [part for part in regex.split(r"(?<=\?)\s+", message) if regex.search(r"\w", part)]
    if not facts or not questions:
        return ()
    weigh = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, preprocessor=_drop_fillers
    )
    vectors = weigh.fit_transform([*facts, *questions])
    likeness = (vectors[len(facts) :] @ vectors[: len(facts)].T).toarray()
    numbers = {
        at + 1
        for row in likeness
        if row.max() >= LEAST
        for at in (row >= row.max() - TIE).nonzero()[0].tolist()
    }
    return tuple(sorted(numbers))


def _drop_fillers(text: str) -> str:
    words = regex.findall(r"[\w.%/-]+", text.lower())
    return " ".join(word for word in words if word not in FILLERS) or text.lower()
