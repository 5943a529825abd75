"""The placebo's user: which texts have nothing to do with a job, and whether it says
anything else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.guards.common import (
    WORD,
    content_stems,
    is_in_english,
    sentences,
    so_far,
    stem,
    tasks_told,
    without_signoff,
    word_set,
)
from bioeval_tui.guards.content import asks_for_anything, does_not_know
from bioeval_tui.guards.specifics import specifics
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.languages import Language, language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.peers.goodbyes import says_goodbye
from bioeval_tui.peers.seams import EvaluatorView, TranscriptMessage, Violation

MOST_NEW = 0.5
"""A sentence says something of its own if more than this share of its content words is new."""
LONGEST_SHORT = 4
"""The most letters of a stem of which a plural's ending may be left."""
FEWEST_CONTENT = 3
"""A sentence with fewer content words says too little to be told from small talk."""


class SharedWord(NamedTuple):
    """A content word of a placebo text that is also in a job, and where, such as
    `tasks[0].acceptanceCriteria`.
    """

    word: str
    where: str


def job_language(job: EvaluationJob) -> Language:
    """Return the language of a job's tasks and facts; English if that cannot be told."""
    return language_of("\n".join([*(task.task for task in job.tasks), *job.facts])) or ENGLISH


def find_shared_word(text: str, job_texts: Mapping[str, str]) -> SharedWord | None:
    """Return the first content word that a text shares with a job's, given by their places; None
    if it has nothing to do with them.
    """
    for where, other in job_texts.items():
        language = language_of(f"{other}\n{text}") or ENGLISH
        shared = _content(text, language) & _content(other, language)
        if shared:
            words = WORD.findall(text)
            word = next((one for one in words if _singular(stem(one)) in shared), min(shared))
            return SharedWord(word, where)
    return None


def unrelated(texts: Sequence[str], job_texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return those of some English texts that share no content word with a job's."""
    every = frozenset().union(*(_content(other, ENGLISH) for other in job_texts.values()))
    return tuple(text for text in texts if not _content(text, ENGLISH) & every)


def _content(text: str, language: Language) -> frozenset[str]:
    if language.rules is None:
        return frozenset(map(_singular, content_stems(text)))
    return frozenset(one.key for one in specifics(text, language) if one.kind in ("word", "name"))


_NO_PLURALS = word_set("news lens")
_PLURALS = (
    (re.compile(r"(.{2,}[^isu])s"), r"\1"),  # cats, not bus, lass and axis
    (re.compile(r"(..(?:s|x|z))e"), r"\1"),  # boxe, of which `stem` has cut off an s
    (re.compile(r"(..)ie"), r"\1y"),  # flie
)


def _singular(short: str) -> str:
    """Return the stem of a short word without a plural's ending, which `stem` leaves: guards count
    what a user says, where too little cut off is better than too much. Here it is the reverse.
    """
    if len(short) > LONGEST_SHORT or short in _NO_PLURALS:
        return short
    for ending, instead in _PLURALS:
        if match := ending.fullmatch(short):
            return match.expand(instead)
    return short


class _Heard:
    """The content words of everything that this user was told, said and heard."""

    def __init__(self, view: EvaluatorView) -> None:
        told = [*tasks_told(view).values(), *view.placebo, *view.job.greetings]
        self.content = set(content_stems("\n".join(told)))

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        self.content |= content_stems(message.content)


def off_placebo(view: EvaluatorView, text: str) -> Violation | None:
    """Find a statement of the placebo's user that is neither its placebo text nor anything that was
    mentioned before.
    """
    if not view.placebo or not is_in_english(view, text):
        return None
    known = so_far(view, _Heard).content
    for part in sentences(without_signoff(view, text)):
        # What it asks for is its task, in words of its own.
        if asks_for_anything(part) or says_goodbye(part) or does_not_know(part, ENGLISH):
            continue
        content = content_stems(part)
        new = content - known
        if len(content) >= FEWEST_CONTENT and len(new) > MOST_NEW * len(content):
            said = shorten(clean_line(part), 80)
            return Violation(
                "off_placebo",
                f"says something else than its placebo text: “{said}”",
                "You said something that is not on your page. Where you do not know, say so, and"
                " add only one of the remarks on your page, word for word.",
                "mark",
                said,
            )
    return None
