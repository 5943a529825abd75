"""What guards share: the view of a conversation, and tables of phrases, one short rule a line, for sentences in plain words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from bioeval_tui.evaluation.guards.words import WORD
from bioeval_tui.evaluation.job import signoff
from bioeval_tui.evaluation.seams import EvaluatorView

MAX_WORDS = 400
"""Number of words of a text that are compared with another's."""
MAX_KEPT = 10_000
"""Longer texts, in characters, are not kept for the next message; no more of a text is compared."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")


def last_agent_message(view: EvaluatorView) -> str:
    """Return the agent's last message; empty at the start."""
    return next((m.content for m in reversed(view.transcript) if m.role == "assistant"), "")


def said_by(view: EvaluatorView, role: str) -> list[str]:
    """Return all messages of one side."""
    return [message.content for message in view.transcript if message.role == role]


def signs_off(view: EvaluatorView, text: str) -> bool:
    """Return whether `text` contains the sign-off."""
    return signoff.without_signoff(text, view.job.evaluator.signoff) is not None


def without_signoff(view: EvaluatorView, text: str) -> str:
    """Return `text` without the sign-off."""
    rest = signoff.without_signoff(text, view.job.evaluator.signoff)
    return text if rest is None else rest


def tasks_told(view: EvaluatorView) -> dict[int, str]:
    """Return the tasks that the simulated user is given in the condition, by number from 1."""
    listed = enumerate(view.job.tasks, start=1)
    return {number: task.task for number, task in listed if task.applies(view.condition)}


def known_text(view: EvaluatorView) -> str:
    """Return the tasks and everything that was said."""
    return "\n".join([*tasks_told(view).values(), *(message.content for message in view.transcript)])


def told_text(view: EvaluatorView) -> str:
    """Return the texts that the job gives the simulated user in the condition: everything except facts."""
    job = view.job
    return "\n".join(
        [
            job.target.user,
            job.target.chatbot,
            job.evaluator.name,
            job.evaluator.voice,
            job.evaluator.signoff,
            *job.greetings,
            *(line.say for line in job.evaluator.lines),
            *tasks_told(view).values(),
        ]
    )


def whole_job_text(view: EvaluatorView) -> str:
    """Return all texts from which the user could know a number: the job's and all messages."""
    return "\n".join(
        [
            told_text(view),
            *view.job.facts,
            *(text for task in view.job.tasks for text in (task.acceptance_criteria, task.withheld_criteria)),
            *_seed_texts(view),
            *(message.content for message in view.transcript),
        ]
    )


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of `text`."""
    return _sentences(text) if len(text) <= MAX_KEPT else _sentences.__wrapped__(text)


# The whole conversation is read again for every message, here and below.
@functools.lru_cache(maxsize=1024)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _SENTENCES.split(text) if part.strip())


def alike(text: str, others: Iterable[str], share: float) -> Iterator[str]:
    """Yield those of `others` of whose words at least `share` (0 to 1) agree with those of `text`, in order."""
    text = text[:MAX_KEPT]
    words, ours = _words(text), _different(text)
    count = len(words)
    if not count:
        return
    for other in others:
        kept = other[:MAX_KEPT]
        second = _words(kept)
        wanted = share * (count + len(second))
        # Two cheap upper bounds: the shorter text's length, and the number of words that both have.
        if not second or 2 * min(count, len(second)) < wanted:
            continue
        theirs = _different(kept)
        matches = min(count - len(ours - theirs), len(second) - len(theirs - ours))
        if 2 * matches < wanted:
            continue
        if SequenceMatcher(None, words, second, autojunk=False).ratio() >= share:
            yield other


def word_count(text: str) -> int:
    """Return the number of words."""
    return len(_words(text[:MAX_KEPT]))


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in WORD.findall(text))[:MAX_WORDS]


@functools.lru_cache(maxsize=4096)
def _different(text: str) -> frozenset[str]:
    return frozenset(_words(text))


def _seed_texts(view: EvaluatorView) -> list[str]:
    texts: list[str] = []
    for seed in view.job.seeds:
        text = getattr(seed, "text", None)
        texts += [text] if text else [message.content for message in getattr(seed, "conversation", ())]
    return texts


LONGEST = 80
"""Longer sentences, in words, are compared in pieces of this many words, so that no rule takes long."""
SHORT_WORDS = 2_000
"""Longer runs of letters, in characters, are cut: no language has such words."""

# "'d" is "had" as well, which no rule needs.
_CONTRACTIONS = (
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"\b(he|here|how|it|she|that|there|what|where|who)'s\b"), r"\1 is"),
)
# Words that change no rule's meaning: "I can certainly also help you" is "I can help you".
_ADVERBS = re.compile(
    r"\b(?:just|also|always|still|already|even|ever|now|very|quite|too|"
    r"(?!(?:app|bel|dai|ear|fami|f|ho|hour|ju|like|month|mul|on|re|rep|sup|ug|week)ly\b)\w+ly) "
)
_NAME = re.compile(r"[A-Z][A-Z_]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it was written, and in `plain` words: lower case, without contractions and adverbs."""

    written: str
    plain: str

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.plain.endswith("?")


def plain_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a message."""
    for written in sentences(text):
        words = [word[:SHORT_WORDS] for word in written.replace("’", "'").lower().split()]
        for start in range(0, len(words), LONGEST):
            plain = " ".join(words[start : start + LONGEST])
            for contraction, spelled in _CONTRACTIONS:
                plain = contraction.sub(spelled, plain)
            yield Sentence(written, _ADVERBS.sub("", plain).rstrip(" \"'”*)"))


class Phrases:
    """A table of rules, of which one must match a sentence.

    Each line is one rule; a line that ends with `|` continues on the next, and a line that begins with `#` is a comment.
    A rule matches whole words. In it, a word in capitals stands for its entry in `words`, `…` for up to three words, and
    `*` at the end of a word for any ending.
    """

    def __init__(self, table: str, words: Mapping[str, str]) -> None:
        lines = (line.strip() for line in re.sub(r"\|\n\s*", "|", table).splitlines())
        rules = [self._compiled(line, words) for line in lines if line and not line.startswith("#")]
        self._pattern = re.compile("|".join(rules))

    @staticmethod
    def _compiled(rule: str, words: Mapping[str, str]) -> str:
        while _NAME.search(rule):
            rule = _NAME.sub(lambda name: f"(?:{words[name.group()]})", rule)
        rule = re.sub(r"(?<=[a-z])(?<!\\w)\*", r"\\w*", rule.replace("… ", r"(?:\w+ ){0,3}"))
        rule = re.sub(r"\((?!\?)", "(?:", rule)
        return rf"(?<!\w)(?:{rule})(?!\w)"

    def find(self, sentence: Sentence) -> str:
        """Return the plain words that a rule matches, or ''."""
        match = self._pattern.search(sentence.plain)
        return match.group() if match else ""
