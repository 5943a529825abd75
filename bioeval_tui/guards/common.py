"""What guards share: words in the form that they compare, the language that is spoken, what was
said so far, each message read once, and tables of phrases, one short rule a line, for sentences in
plain words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from itertools import takewhile
from typing import Protocol, TypeVar

from bioeval_tui.base.text import reading_form, visible_text
from bioeval_tui.languages import Language, folded, language_of, segments
from bioeval_tui.languages.detection import OTHER
from bioeval_tui.languages.english import ENGLISH, english_words
from bioeval_tui.languages.numerals import SIGNS
from bioeval_tui.languages.segments import compared
from bioeval_tui.languages.speech import split_sentences
from bioeval_tui.peers import goodbyes
from bioeval_tui.peers.seams import EvaluatorView, TranscriptMessage


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text`, which are separated by spaces."""
    return frozenset(text.split())


WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ing", ""),
    ("ed", ""),
    ("es", ""),
    ("ly", ""),
    ("s", ""),
)
_SHORTEST_STEM = 4

GENERIC = word_set(
    """
    user patient person want like take have make need please would give could time set use name know
    thing
    """
)
"""Words that do not identify a fact."""


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return `word` folded, without possessive and without a plain English ending."""
    word = folded(word).removesuffix("'s").strip("'")
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and not word.endswith("ss"):
            cut = word[: -len(ending)] + instead
            if len(cut) >= _SHORTEST_STEM:
                if len(cut) > _SHORTEST_STEM:
                    return cut.removesuffix("e")
                return cut
    if len(word) > _SHORTEST_STEM:
        return word.removesuffix("e")
    return word


def stems(text: str, language: Language) -> frozenset[str]:
    """Return the stems of all words of `text`, which is compared with others in `language`."""
    return frozenset().union(*(_line_stems(line, language) for line in text.split("\n")))


def _line_stems(line: str, language: Language) -> frozenset[str]:
    if len(line) <= MAX_KEPT:
        return _kept_stems(line, language)
    return _kept_stems.__wrapped__(line, language)


# Several guards read the same message, and facts are compared with every one.
@lru_cache(maxsize=1024)
def _kept_stems(line: str, language: Language) -> frozenset[str]:
    if language.rules is not None:
        return language.keys(line)
    return frozenset(stem(word) for word in WORD.findall(reading_form(line)))


@lru_cache(maxsize=16384)  # most words are said again
def is_common(word: str) -> bool:
    """Return whether a word is too common to disclose a fact."""
    plain = word.lower().replace("’", "'")
    return plain in _common()[0] or stem(word) in _common()[1]


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say what `text` is about."""
    return frozenset(
        stem(word)
        for word in WORD.findall(text)
        if len(word) > 2 and stem(word) not in _generic() and not is_function_word(word)
    )


def is_function_word(word: str) -> bool:
    """Return whether a word is a function word."""
    return word.lower().replace("’", "'") in _FUNCTION


@cache
def _common() -> tuple[frozenset[str], frozenset[str]]:
    words = english_words()
    return words, frozenset(stem(word) for word in words)


@cache
def _generic() -> frozenset[str]:
    return frozenset(stem(word) for word in GENERIC)


_FUNCTION = word_set(
    """
    a about after all also am an and any are as at be because been before being but by can can't did
    do does doing don't done for from get go got had has have he her here hers him his how i i'd
    i'll i'm i've if in into is isn't it it's its just let me more most my no not now of off ok on
    once only or other our out over own she so some such than that that's the their them then there
    these they this those through to too under until up us very was we were what when where which
    while who whom whose why will with you you'd you'll you're your yours should shall may might
    must each every both few same again further yes
    """
)


ENOUGH = 6
"""Minimum number of words to tell prose."""
LONGEST_READ = 10_000
"""Number of characters that are looked at to tell prose."""
SHARE = 0.15
"""English prose has a share of about 0.4 of these words, German, Dutch, French, Spanish and Italian
below 0.05.
"""
FEW_WORDS = 12
"""Of fewer words it is not said that they are in a language that is not known."""
MOST_TO_TELL = 600
"""Number of characters of a side's messages that tell its language; more would change nothing."""

# Only words that no other large language writes the same way: no "in", "was", "am", "an", "so",
# "on", "me".
_ONLY_ENGLISH = word_set(
    """
    the and of to is it that you for with this have has had are were been not they them their there
    i i'm i've i'd i'll it's don't doesn't didn't haven't isn't can't my your our its we he she his
    what which who when where how why would could should can does did be from by at about but if or
    as any some just only than then because please yes no thanks hello hi
    """
)


def is_english(text: str) -> bool:
    """Return whether `text` is English prose.

    One of fewer than `ENOUGH` words counts as such, because it is too short to tell.
    """
    words = [word.lower().replace("’", "'") for word in WORD.findall(text[:LONGEST_READ])]
    return len(words) < ENOUGH or sum(word in _ONLY_ENGLISH for word in words) >= SHARE * len(words)


MAX_WORDS = 400
"""Number of words of a text that are compared with another's."""
MAX_KEPT = 10_000
"""Longer texts, in characters, are not kept for the next message; no more of one is compared."""

_NUMBERS = re.compile(f"\\d+|[{''.join(SIGNS)}十百千]+")


class Reader(Protocol):
    """Collects what a guard needs to know of a conversation, message by message."""

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        ...


AnyReader = TypeVar("AnyReader", bound=Reader)


def so_far(view: EvaluatorView, begin: Callable[[EvaluatorView], AnyReader]) -> AnyReader:
    """Return the reader that `begin` makes once it has taken all messages so far.

    It is made once for each conversation and takes each message once, so that a long conversation
    is not read again for every message.
    """
    reader, taken = view.readers.get(begin) or (begin(view), 0)
    for message in view.transcript[taken:]:
        shown = visible_text(message.content)
        reader.take(message if shown == message.content else replace(message, content=shown))
    view.readers[begin] = reader, len(view.transcript)
    return reader


class Utterances:
    """The messages of one side, which are found again by their words."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
        """The places of the texts, by their words and then by their numbers."""
        self._with_word: dict[str, list[tuple[str, ...]]] = {}

    def add(self, text: str) -> None:
        """Add a message."""
        words = _words(text[:MAX_KEPT])
        if words not in self._places:
            self._places[words] = {}
            for word in set(words):
                self._with_word.setdefault(word, []).append(words)
        self._places[words].setdefault(_numbers(text), []).append(len(self.texts))
        self.texts.append(text)

    def has(self, text: str) -> bool:
        """Return whether a message has the same words."""
        return _words(text[:MAX_KEPT]) in self._places

    def count_newest(self, text: str) -> int:
        """Return how many of the newest messages, up to the first other one, have these words and
        numbers.
        """
        plain = folded(text).strip()
        same = takewhile(lambda said: folded(said).strip() == plain, reversed(self.texts))
        return sum(1 for _ in same)

    def newest_differ(self, count: int) -> bool:
        """Return whether the newest messages all differ from one another."""
        newest = [folded(said).strip() for said in self.texts[-count:]]
        return len(set(newest)) == len(newest)

    def like(self, text: str, share: float) -> Iterator[dict[tuple[str, ...], list[int]]]:
        """Yield the places of the messages of whose words at least `share` (0 to 1) agree with
        those of `text`, by their numbers.
        """
        words = _words(text[:MAX_KEPT])
        ours = frozenset(words)
        for theirs in self._candidates(words, share):
            wanted = share * (len(words) + len(theirs))
            # Cheap upper bounds: the shorter message's length, and the number of words that the
            # other one has.
            matches = min(len(words), sum(map(ours.__contains__, theirs)))
            if 2 * matches < wanted:
                continue
            if SequenceMatcher(None, words, theirs, autojunk=False).ratio() >= share:
                yield self._places[theirs]

    def repeated(self, text: str, share: float) -> tuple[int, str]:
        """Return how many messages say almost the same with the same numbers, and the first of them
        (or '').
        """
        numbers = _numbers(text)  # "Yes, cancel order 17" and "Yes, cancel order 18" say two things
        found = [
            places for by_numbers in self.like(text, share) if (places := by_numbers.get(numbers))
        ]
        first = min((places[0] for places in found), default=None)
        return sum(map(len, found)), "" if first is None else self.texts[first]

    def _candidates(self, words: tuple[str, ...], share: float) -> set[tuple[str, ...]]:
        """Return the words of every message that may agree by `share`, and of few others: they have
        one of the rarest words.
        """
        # Of messages that agree, one has at most so many words that the other has not.
        missing = len(words) * (2 - 2 * share) / (2 - share)
        found: set[tuple[str, ...]] = set()
        for word in sorted(set(words), key=lambda word: len(self._with_word.get(word, ()))):
            found.update(self._with_word.get(word, ()))
            missing -= words.count(word)
            if missing < -1e-9:
                break
        return found


class Sides:
    """What each side said."""

    def __init__(self, view: EvaluatorView) -> None:
        self.user, self.agent = Utterances(), Utterances()

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        side = self.user if message.role == "user" else self.agent
        side.add(message.content)


def said_by_user(view: EvaluatorView) -> Utterances:
    """Return all messages of the user."""
    return so_far(view, Sides).user


def said_by_agent(view: EvaluatorView) -> Utterances:
    """Return all messages of the agent."""
    return so_far(view, Sides).agent


def last_agent_message(view: EvaluatorView) -> str:
    """Return the agent's last message; empty at the start."""
    said = (m.content for m in reversed(view.transcript) if m.role == "assistant")
    return visible_text(next(said, ""))


def signs_off(view: EvaluatorView, text: str) -> bool:
    """Return whether `text` contains the sign-off."""
    return _rest_of(text, view.job.evaluator.signoff) is not None


def without_signoff(view: EvaluatorView, text: str) -> str:
    """Return `text` without the sign-off."""
    rest = _rest_of(text, view.job.evaluator.signoff)
    if rest is None:
        return text
    return rest


@lru_cache(maxsize=64)  # each guard looks for the sign-off in the same message
def _rest_of(text: str, signoff: str) -> str | None:
    return goodbyes.without_signoff(text, signoff)


def tasks_told(view: EvaluatorView) -> dict[int, str]:
    """Return the tasks that the simulated user is given in the condition, by number from 1."""
    listed = enumerate(view.job.tasks, start=1)
    return {number: task.task for number, task in listed if task.applies(view.condition)}


class _Voices:
    """The beginning of what the user said, without a short greeting, and of the whole conversation.

    A short greeting is the job's, and does not tell what the user speaks: "Hola!" begins English
    conversations, too.
    """

    def __init__(self, view: EvaluatorView) -> None:
        self.user = self.both = ""
        self._greetings = {
            each for each in view.job.greetings if segments.word_count(each) < FEW_WORDS
        }

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        if len(self.both) < MOST_TO_TELL:
            self.both += f"{message.content}\n"
        is_greeting = message.content in self._greetings
        if message.role == "user" and not is_greeting and len(self.user) < MOST_TO_TELL:
            self.user += f"{message.content}\n"


def is_in_english(view: EvaluatorView, text: str = "") -> bool:
    """Return whether the tasks, the conversation and what the user says are in English, by their
    beginning, or too short to tell.

    In a job in English, a user may speak another language, although the agent does not.
    """
    whole = f"{_tasks_text(view)}\n{so_far(view, _Voices).both}"
    return all(language_of(each) in (None, ENGLISH) for each in (whole, _said(view, text)))


def spoken_language(view: EvaluatorView, text: str = "") -> Language:
    """Return the language that the user speaks, up to and with `text`; English if that cannot be
    told.

    One without rules cannot be read.
    """
    if (told := told_language(view, text)) is not None:
        return told
    tasks_and_said = f"{_tasks_text(view)}\n{_said(view, text)}"
    rest = "\n".join([*view.job.facts, *view.job.greetings])
    return language_of(tasks_and_said) or language_of(rest) or ENGLISH


def told_language(view: EvaluatorView, text: str) -> Language | None:
    """Return the language that the user speaks, up to and with `text`; None if so few words do not
    tell it.
    """
    said = _said(view, text)
    language = language_of(said)
    if language == OTHER and segments.word_count(said) < FEW_WORDS:
        return None
    return language


def _said(view: EvaluatorView, text: str) -> str:
    said = so_far(view, _Voices).user
    if len(said) >= MOST_TO_TELL:
        return said
    return said + text


def can_be_read(language: Language) -> bool:
    """Return whether rules for a language are known; English has its own in the guards."""
    return language.rules is not None or language is ENGLISH


def language_of_facts(view: EvaluatorView) -> Language:
    """Return the language in which facts are compared with messages: their own, if they have enough
    words.
    """
    facts = "\n".join(view.job.facts)
    return (
        language_of(facts) or language_of(f"{facts}\n{_tasks_text(view)}") or spoken_language(view)
    )


def _tasks_text(view: EvaluatorView) -> str:
    return "\n".join(tasks_told(view).values())


def told_text(view: EvaluatorView) -> str:
    """Return the texts that the job gives the simulated user in the condition: everything except
    facts.
    """
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


def job_texts(view: EvaluatorView) -> list[str]:
    """Return all texts of the job from which the user could know a number."""
    texts = [told_text(view), *view.job.facts]
    for task in view.job.tasks:
        texts += (task.acceptance_criteria, task.withheld_criteria)
    return [*texts, *_seed_texts(view)]


def _seed_texts(view: EvaluatorView) -> list[str]:
    texts: list[str] = []
    for seed in view.job.seeds:
        if text := getattr(seed, "text", None):
            texts.append(text)
        else:
            texts += [message.content for message in getattr(seed, "conversation", ())]
    return texts


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of `text`."""
    if len(text) <= MAX_KEPT:
        return _sentences(text)
    return _sentences.__wrapped__(text)


# Several guards read the same message.
@functools.lru_cache(maxsize=64)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(split_sentences(text))


@functools.lru_cache(maxsize=256)
def word_count(text: str) -> int:
    """Return the number of words; in scripts without spaces, every second letter counts as one."""
    return segments.word_count(text[:MAX_KEPT])


@functools.lru_cache(maxsize=256)
def _words(text: str) -> tuple[str, ...]:
    return compared(text)[:MAX_WORDS]


def _numbers(text: str) -> tuple[str, ...]:
    return tuple(_NUMBERS.findall(folded(text)))


LONGEST = 80
"""Longer sentences, in words, are compared in pieces of this many words, so that no rule takes
long.
"""
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
    """A sentence as it was written, and in `plain` words: lower case, without contractions and
    adverbs.
    """

    written: str
    plain: str

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.plain.endswith("?")


@lru_cache(maxsize=64)  # several guards read one message
def plain_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a message."""
    return tuple(_plain_sentences(text))


def _plain_sentences(text: str) -> Iterator[Sentence]:
    for written in sentences(text):
        words = [word[:SHORT_WORDS] for word in written.replace("’", "'").lower().split()]
        for start in range(0, len(words), LONGEST):
            plain = " ".join(words[start : start + LONGEST])
            if "'" in plain or "cannot" in plain:  # each contraction has one of them
                for contraction, spelled in _CONTRACTIONS:
                    plain = contraction.sub(spelled, plain)
            yield Sentence(written, _ADVERBS.sub("", plain).rstrip(" \"'”*)"))


class Phrases:
    """A table of rules, of which one must match a sentence.

    Each line is one rule; a line that ends with `|` continues on the next, and a line that begins
    with `#` is a comment. A rule matches whole words. In it, a word in capitals stands for its
    entry in `words`, `…` for up to three words, and `*` at the end of a word for any ending.
    """

    def __init__(self, table: str, words: Mapping[str, str]) -> None:
        self._table, self._words = table, words

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The pattern of all rules, compiled when it is first looked for: most commands need
        none.
        """
        lines = (line.strip() for line in re.sub(r"\|\n\s*", "|", self._table).splitlines())
        rules = [self._rule(line) for line in lines if line and not line.startswith("#")]
        # The lookbehind stands before all rules, not in each: within a word, none is tried.
        return re.compile(rf"(?<!\w)(?:{'|'.join(rules)})")

    def _rule(self, rule: str) -> str:
        """Return a line of the table as a pattern."""
        while _NAME.search(rule):
            rule = _NAME.sub(lambda name: f"(?:{self._words[name.group()]})", rule)
        rule = re.sub(r"(?<=[a-z])(?<!\\w)\*", r"\\w*", rule.replace("… ", r"(?:\w+ ){0,3}"))
        rule = re.sub(r"\((?!\?)", "(?:", rule)
        return rf"(?:{rule})(?!\w)"

    def find(self, sentence: Sentence) -> str:
        """Return the plain words that a rule matches, or ''."""
        match = self._pattern.search(sentence.plain)
        if match:
            return match.group()
        return ""
