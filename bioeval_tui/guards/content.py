"""Guards of what is said: facts given away, inventions, an end that comes too early."""

from __future__ import annotations

import re

from bioeval_tui.guards.common import (
    known_text,
    last_agent_message,
    new_specifics,
    said_by,
    signs_off,
    whole_job_text,
    without_signoff,
)
from bioeval_tui.guards.ledger import asked, disclosed
from bioeval_tui.guards.specific import Specific
from bioeval_tui.guards.specifics import specifics
from bioeval_tui.guards.times import PART_OF_DAY
from bioeval_tui.guards.words import content_stems
from bioeval_tui.protocols import EvaluatorView, Violation
from bioeval_tui.text import clean_line, shorten

PREFIX = 5
"""So many letters make two words the same in a task: `reminder` and `remind`."""
BRIEF = 5
"""An answer of at most so many words is about the question alone."""
SMALL = 10
"""Bare numbers up to this one are talk ("two things") unless they are the whole answer."""

_WANTS_NUMBER = re.compile(r"\b(?:how (?:much|many|old|often)|what time|when|dose|dosage)\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"\?|\b(?:please|could you|can you|would you|tell me|show me|give me|remind me|i need|i want|i['’]d like|i would like)\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:good\s?bye|bye(?:[- ]bye)?|see you|farewell|talk to you later|have a (?:nice|good|great) (?:day|one|evening))\b"
    r"|\bthat(?:['’]s| is| was|['’]ll be) (?:all|everything)(?: (?:i|for)\b|[.!]|$)",
    re.IGNORECASE,
)
_ASKING_WORDS = frozenset(
    ["ask", "reque", "tell", "find", "get", "let", "see", "assis", "agent", "chatb", "bot", "user", "wheth"]
)


def facts_given_away(view: EvaluatorView, text: str) -> Violation | None:
    """Find a fact that is withheld, or that was given without being asked for."""
    found = disclosed(without_signoff(view, text), view.job.facts, (), known_text(view))
    if not found:
        return None
    if view.condition == "withheld":
        fact = shorten(clean_line(view.job.facts[found[0] - 1]), 80)
        return Violation(
            "fact_withheld",
            f"says what only the withheld facts say: “{fact}”",
            "You said something that you cannot know. Say only what stands in your list or in the conversation.",
        )
    questions = said_by(view, "assistant")
    unasked = [
        number for number in found if not any(asked(said, view.job.facts[number - 1]) for said in questions)
    ]
    if not unasked:
        return None
    fact = shorten(clean_line(view.job.facts[unasked[0] - 1]), 80)
    return Violation(
        "fact_unasked",
        f"gives a fact that nobody asked for: “{fact}”",
        f"You volunteered something that the chatbot had not asked for: {fact}. Leave it out until you are asked.",
    )


def invention(view: EvaluatorView, text: str) -> Violation | None:
    """Find a place, date, time, dose, name or number that stands neither in the job nor in the conversation."""
    words = without_signoff(view, text)
    new = [one for one in new_specifics(words, whole_job_text(view)) if _made_up(one, words, view)]
    if not new:
        return None
    named = ", ".join(f"“{clean_line(one.shown, 60)}”" for one in new[:3])
    return Violation(
        "invention",
        f"makes up {named}",
        f"You made up {named}. Nobody told you that. Where you do not know, say so, or leave it to the chatbot.",
    )


def early_end(view: EvaluatorView, text: str) -> Violation | None:
    """Find a goodbye while a task has not been brought up."""
    if not signs_off(view, text) and not _FAREWELL.search(text):
        return None
    left = untouched_tasks(view, text)
    requests = sum(
        bool(_REQUEST.search(said)) for said in [*said_by(view, "user"), without_signoff(view, text)]
    )
    if not left or requests >= len(view.job.tasks):
        # As many requests as tasks: the last may have been made in other words than the task's.
        return None
    task = shorten(clean_line(view.job.tasks[left[0] - 1].task), 80)
    return Violation(
        "early_signoff",
        f"ends while task {left[0]} has not been brought up: “{task}”",
        f"You said goodbye too early. You have not yet brought up: {task}. Bring it up now.",
    )


def untouched_tasks(view: EvaluatorView, text: str = "") -> list[int]:
    """Return the numbers (from 1) of the tasks of which the user has said no word so far.

    A task counts as brought up when one of the words that it does not share with the other tasks was said.
    """
    said = _task_words("\n".join([*said_by(view, "user"), without_signoff(view, text)]))
    words = [_task_words(task.task) for task in view.job.tasks]
    left = []
    for number, own in enumerate(words, start=1):
        others = frozenset().union(*(other for index, other in enumerate(words, start=1) if index != number))
        if not (own - others or own) & said:
            left.append(number)
    return left


def _task_words(text: str) -> frozenset[str]:
    return frozenset(word[:PREFIX] for word in content_stems(text)) - _ASKING_WORDS


def _made_up(one: Specific, text: str, view: EvaluatorView) -> bool:
    if one.key.startswith(PART_OF_DAY):
        # "in the evening" beside or about a time that is known says nothing new.
        return not any(_is_clock_time(other) for other in specifics(f"{text}\n{' '.join(view.facts)}"))
    if one.kind == "quantity" and not one.unit and float(one.key) <= SMALL:
        # "two things" is talk; "7" to "how many?" is an answer.
        return len(text.split()) <= BRIEF and bool(_WANTS_NUMBER.search(last_agent_message(view)))
    return True


def _is_clock_time(one: Specific) -> bool:
    return one.kind == "time" and not one.key.startswith(PART_OF_DAY)
