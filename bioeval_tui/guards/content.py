"""Guards for content: disclosed facts, inventions, contradictions; and the ledger of facts, which
says what is disclosed.

The ledger compares words and does not understand them. A fact is recognised by its specifics (a
time, a dose, a name, a rare word) that were not mentioned before. A bare "yes" to the agent's own
guess gives nothing away that can be recognised, and is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache, partial

from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.guards.common import (
    WORD,
    can_be_read,
    content_stems,
    is_in_english,
    job_texts,
    language_of_facts,
    last_agent_message,
    said_by_agent,
    sentences,
    so_far,
    stems,
    tasks_told,
    told_language,
    told_text,
    without_signoff,
    word_count,
)
from bioeval_tui.guards.specific import Specific, among
from bioeval_tui.guards.specifics import (
    SMALL,
    Known,
    KnownNumbers,
    clock_times,
    is_drug,
    is_same_time,
    made_up_numbers,
    pattern,
    specifics,
    unknown_quantities,
    unknown_times,
)
from bioeval_tui.languages import Language, folded, language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.languages.segments import LETTERS_OF_WORD, Run, runs, text_weight
from bioeval_tui.languages.speech import offers_help, questions_are_read, says
from bioeval_tui.peers.seams import EvaluatorView, TranscriptMessage, Violation
from bioeval_tui.record.persona_facts import value_pattern

PREFIX = 5
"""Words of a task count as equal if they share this many first letters: `reminder` and `remind`."""
VERBATIM = 6 * LETTERS_OF_WORD
"""A run of six words of a fact (twelve letters in scripts without spaces), or all of a shorter one,
count as the fact word for word.
"""
SHORTEST_VERBATIM = 2 * LETTERS_OF_WORD

_LIMIT = r"\b(?:before|after|until|(?:earlier|later) than)"
"""Before a clock time, it says what the person wants, whatever times the agent has named."""
_SIDE = re.compile(r"\b(?P<side>left|right)(?:[- ]sided)? (?P<part>[a-z]{3,})\b")
_OTHER_SIDE = {"left": "right", "right": "left"}
_NAMED_SIDE = re.compile(r"(?=((?:left|right) [a-z]+))")
_ASKING_WORDS = frozenset(
    [
        "ask",
        "reque",
        "tell",
        "find",
        "get",
        "let",
        "see",
        "assis",
        "agent",
        "chatb",
        "bot",
        "user",
        "wheth",
    ]
)
_LENGTHS_OF_TIME = ("minute", "hour", "day", "week", "month", "year")


class _KnownSides:
    """The left or right parts of the body that the job and the conversation name, in lower case."""

    def __init__(self, view: EvaluatorView) -> None:
        self._named: set[str] = set()
        for text in job_texts(view):
            self._read(text)

    def _read(self, text: str) -> None:
        self._named.update(_NAMED_SIDE.findall(text.lower()))

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        self._read(message.content)

    def has(self, part: str) -> bool:
        """Return whether a part is named, such as `left arm`."""
        return any(named.startswith(part) for named in self._named)


class _TaskWords:
    """The words of the user's messages, as tasks are compared."""

    def __init__(self, view: EvaluatorView) -> None:
        self.words: set[str] = set()

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        if message.role == "user":
            self.words |= _task_words(message.content)


class _KnownRuns:
    """Every run of words in what the user was told and what was said, as long as those that give a
    fact away.
    """

    def __init__(self, view: EvaluatorView) -> None:
        self._weights = {min(VERBATIM, text_weight(fact)) for fact in view.job.facts} - {0}
        self.keys: set[str] = set()
        self._read("\n".join([told_text(view), *view.facts, *tasks_told(view).values()]))

    def _read(self, text: str) -> None:
        for weight in self._weights:
            self.keys.update(run.key for run in runs(text, weight))

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        self._read(message.content)


def _known_to_user(view: EvaluatorView) -> Known:
    return Known(*tasks_told(view).values(), language=language_of_facts(view))


def _known_without_hidden(view: EvaluatorView) -> Known:
    return Known(
        told_text(view), *view.facts, *tasks_told(view).values(), language=language_of_facts(view)
    )


def _known_to_anybody(view: EvaluatorView) -> Known:
    tasks = "\n".join(tasks_told(view).values())
    return Known(tasks, *view.job.greetings, language=language_of_facts(view))


def _known_numbers(view: EvaluatorView) -> KnownNumbers:
    return KnownNumbers(job_texts(view), language_of_facts(view))


def why_unread(view: EvaluatorView, text: str = "") -> str:
    """Return why the ledger cannot tell that a fact was not given, or given by chance; empty if it
    can.

    Words are compared within a language, and only within one whose rules are known.
    """
    facts = language_of_facts(view)
    spoken = told_language(view, text) or facts
    if not can_be_read(facts):
        return f"the facts are in {facts.name}"
    if not can_be_read(spoken):
        return f"the user speaks {spoken.name}"
    if facts != spoken:
        return f"the facts are in {facts.name}, and the user speaks {spoken.name}"
    return ""


def facts_given_away(view: EvaluatorView, text: str) -> Violation | None:
    """Find a withheld fact (certain if word for word), or a fact that the agent had not asked
    for.
    """
    words = without_signoff(view, text)
    if not view.job.facts or why_unread(view, words):
        return None
    condition = view.job.condition(view.condition)
    known = [
        number
        for number, _ in enumerate(view.job.facts, start=1)
        if condition.knows(number) and number not in view.held_back
    ]
    if len(known) < len(view.job.facts) and (found := _withheld(view, words, known)) is not None:
        return found
    if condition.tells != "asked":
        return None
    if len(view.job.personas) == 1 and view.job.personas[0].tells != "asked":
        return None
    given = disclosed_facts(words, view.job.facts, (), so_far(view, _known_to_user))
    questions = said_by_agent(view).texts
    own = [number for number in given if number in known]
    unasked = [
        number for number in own if not _was_asked(view, questions, view.job.facts[number - 1])
    ]
    if not unasked:
        return None
    fact = shorten(clean_line(view.job.facts[unasked[0] - 1]), 80)
    return Violation(
        "fact_unasked",
        f"gives a fact that nobody asked for: “{fact}”",
        f"You volunteered something that the chatbot had not asked for: {fact}. Leave it out until"
        " you are asked.",
        "mark",
    )


def invention(view: EvaluatorView, text: str) -> Violation | None:
    """Find a number, a clock time, or a quantity with its unit, that is neither in the job nor in
    the conversation.

    Without tasks and facts, inventions cannot be recognised.
    """
    if not view.job.tasks and not view.job.facts:
        return None
    words, known = without_signoff(view, text), partial(so_far, view, _known_numbers)
    language = so_far(view, _known_numbers).language
    unknown, meant = unknown_quantities(words, known, language)
    numbers = [
        one for one in made_up_numbers(words, known) if one not in {each.key for each in meant}
    ]
    named = [*(one.shown for one in unknown), *unknown_times(words, known, language)]
    new = [*(one for one in numbers if not any(one in shown for shown in named)), *named]
    if not new or right_value(view, text) or contradiction(view, text):
        return None
    made_up = ", ".join(f"“{clean_line(one, 60)}”" for one in new[:3])
    return Violation(
        "invention",
        f"makes up {made_up}",
        f"You made up {made_up}. Nobody told you that. Where you do not know, say so, or leave it"
        " to the chatbot.",
        "mark",
        new[0],
    )


def contradiction(view: EvaluatorView, text: str) -> Violation | None:
    """Find a quantity, a limit in time, or a left or right side, that differs from what a fact says
    about the same thing.
    """
    if not view.facts or right_value(view, text) or not is_in_english(view, text):
        return None
    words = without_signoff(view, text)
    about = content_stems(f"{words}\n{last_agent_message(view)}")
    for one in unknown_quantities(words, partial(so_far, view, _known_numbers))[0]:
        for fact in view.facts:
            theirs = [
                other
                for other in specifics(fact)
                if other.kind == "quantity" and other.unit == one.unit
            ]
            if theirs and content_stems(fact) & about:
                return _contradicts(one.shown, fact)
    limits: dict[Specific, str] = {}
    for fact in view.facts:
        limits.update(dict.fromkeys(_time_limits(fact), fact))
    if limits:
        for one in _time_limits(words):
            if not any(is_same_time(one, other) for other in limits):
                return _contradicts(one.shown, next(iter(limits.values())))
    for match in _SIDE.finditer(words.lower()):
        side, part = match["side"], match["part"]
        other = f"{_OTHER_SIDE[side]} {part}"
        if not so_far(view, _KnownSides).has(f"{side} {part}"):
            for fact in view.facts:
                if other in fact.lower():
                    return _contradicts(match.group(), fact)
    return None


def right_value(view: EvaluatorView, text: str) -> Violation | None:
    """Find the right value of a fact that the persona gets wrong, before the agent named it."""
    if view.persona_facts is None:
        return None
    words = without_signoff(view, text)
    for each in view.persona_facts.wrong:
        found = value_pattern(each.right).search(words)
        if found is None or _is_told_elsewhere(view, each.right):
            continue
        said, wrong = clean_line(found.group(), 60), clean_line(each.wrong, 60)
        return Violation(
            "right_value",
            f"says “{said}”, but its persona says “{wrong}”",
            f"You said “{said}”. As far as you know, it is {wrong}.",
            "mark",
            said,
        )
    return None


def _is_told_elsewhere(view: EvaluatorView, value: str) -> bool:
    """Return whether a value is in a task, or the agent said it, so that the user may say it."""
    known = [*tasks_told(view).values(), *said_by_agent(view).texts]
    return any(value_pattern(value).search(text) for text in known)


def _time_limits(text: str) -> list[Specific]:
    """Return the clock times before or after which something should be."""
    return [
        one
        for one in clock_times(text)
        if re.search(rf"{_LIMIT} {re.escape(one.shown)}", text, re.IGNORECASE)
    ]


def _contradicts(said: str, fact: str) -> Violation:
    said, fact = clean_line(said, 60), shorten(clean_line(fact), 80)
    return Violation(
        "contradiction",
        f"says “{said}”, but was told: “{fact}”",
        f"You said “{said}”, but you know this: {fact}. Say only what you know.",
        "mark",
        said,
    )


def untouched_tasks(view: EvaluatorView, text: str) -> list[int]:
    """Return the numbers (from 1) of the tasks that the user has not mentioned so far.

    A task counts as mentioned once the user has used a word that only this task contains. `text`
    is a message that the user is about to send.
    """
    said = so_far(view, _TaskWords).words | _task_words(without_signoff(view, text))
    words_of = {number: _task_words(told) for number, told in tasks_told(view).items()}
    untouched = []
    for number, words in words_of.items():
        others = (other for index, other in words_of.items() if index != number)
        only_here = words.difference(*others)
        # A task that shares every word with others is mentioned by any of them.
        if said.isdisjoint(only_here or words):
            untouched.append(number)
    return untouched


def brings_up_nothing(view: EvaluatorView) -> bool:
    """Return whether the user's messages have no word of any task or fact, so that nothing can be
    said about the agent.

    Only English conversations are checked, and none in which a person typed.
    """
    job, said = view.job, [message for message in view.transcript if message.role == "user"]
    tasks = tasks_told(view).values()
    if not tasks or not said or any(message.operator for message in said):
        return False
    asked_for = _task_words("\n".join([*tasks, *job.facts]))
    return (
        bool(asked_for) and not asked_for & so_far(view, _TaskWords).words and is_in_english(view)
    )


def _task_words(text: str) -> frozenset[str]:
    return frozenset(word[:PREFIX] for word in content_stems(text)) - _ASKING_WORDS


def _withheld(view: EvaluatorView, words: str, told: Collection[int]) -> Violation | None:
    """Find a fact whose number is not among those that the user was told."""
    facts = view.job.facts
    hidden = {number: fact for number, fact in enumerate(facts, start=1) if number not in told}
    note = (
        "You said something that you cannot know. Say only what stands in your list or in the"
        " conversation."
    )
    kept = view.persona_facts.held_back if view.persona_facts is not None else ()
    # What only a persona keeps back, the condition does not withhold.
    manner = "held-back" if set(hidden) <= set(kept) else "withheld"
    # Few messages have a run of a fact's words.
    said = []
    for fact in hidden.values():
        said += _word_for_word(words, fact, language_of_facts(view))
    if said and (
        run := next((run for run in said if run.key not in so_far(view, _KnownRuns).keys), None)
    ):
        quoted = shorten(words[run.start : run.end], 80)
        detail = f"says a {manner} fact word for word: “{quoted}”"
        return Violation("fact_withheld", detail, note)
    known = so_far(view, _known_without_hidden)
    disclosed = disclosed_facts(words, facts, (), known)
    if given := [
        number
        for number in disclosed
        if number in hidden and not _only_a_length_of_time(words, facts[number - 1], known)
    ]:
        fact = shorten(clean_line(facts[given[0] - 1]), 80)
        detail = f"says what only the {manner} facts say: “{fact}”"
        return Violation("fact_withheld", detail, note, "mark")
    return None


def _word_for_word(text: str, fact: str, language: Language) -> list[Run]:
    """Return the runs of words of a message that are also in a fact: all of a short fact, or of a
    longer one as many as `VERBATIM` says, with a word that identifies something ("I don't know my
    own" may be of anything).
    """
    whole = text_weight(fact)
    weight = min(VERBATIM, whole)
    if weight < SHORTEST_VERBATIM:
        return []
    theirs = {run.key for run in _runs(fact, weight)}
    shared = [run for run in _runs(text, weight) if run.key in theirs]
    if whole <= VERBATIM:
        return shared
    return [
        run
        for run in shared
        if any(map(_identifies, specifics(text[run.start : run.end], language)))
    ]


# Each fact is compared with every message.
@lru_cache(maxsize=256)
def _runs(text: str, weight: int) -> tuple[Run, ...]:
    return tuple(runs(text, weight))


def _identifies(one: Specific) -> bool:
    """Return whether a specific is more than a small number, or a short length of time."""
    small = one.key.isdigit() and int(one.key) <= SMALL
    return one.kind != "quantity" or not small or one.unit not in (*_LENGTHS_OF_TIME, "")


def _only_a_length_of_time(text: str, fact: str, known: Known) -> bool:
    """Return whether a message shares only a length of time with a fact of something else, such as
    "for three months".
    """
    language = known.language
    new = [one for one in specifics(fact, language) if not known.has(one)]
    rare = [one for one in new if one.kind != "quantity" and one.key not in known.stems]
    said = specifics(text, language)
    shared = [
        one for one in new if among(one, said) or (one in rare and one.key in stems(text, language))
    ]
    return bool(rare) and not any(map(_identifies, shared))


def _was_asked(view: EvaluatorView, questions: list[str], fact: str) -> bool:
    """Return whether a fact was asked for so far.

    Without tasks, the user's request is among the facts, and "How can I help?" asks for it.
    """
    if not view.job.tasks:
        return not questions or any(asks_for_anything(said) for said in questions)
    return any(asks_for(said, fact) is not False for said in questions)


WORDS_NEEDED, PAIRS_NEEDED = 0.5, 0.4
"""Share of a fact's rare words, or pairs of letters in scripts without spaces, that give it away.
"""
BRIEF_WORDS = 4
_NO_ANSWER = re.compile(
    r"\b(?:not sure|no idea|don['’]?t (?:know|remember|recall|have)|do not"
    r" (?:know|have)|can(?:['’]?t|not) (?:say|tell|recall)"
    r"|haven['’]?t (?:got|any)|unsure|you (?:decide|choose|pick))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？؟]|\b(?:please|could you|can you|would you|may i|let me know|tell"
    r" me|provide|share|specify|confirm|clarify"
    r"|i(?:['’]ll| will)? need|i (?:would|['’]d) like to know|i['’]d like to"
    r" know|which|what|when|where|who)\b",
    re.IGNORECASE,
)
_ASKS_FOR_KIND: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("time", pattern(r"\bwhen\b|\b(?:what|which) (?:time|hour)(?!\s?zone)|\bhow (?:early|late)\b")),
    (
        "date",
        pattern(r"\bwhen\b|\b(?:what|which) (?:day|date|month|year)|\bdate of\b|\bhow soon\b"),
    ),
    (
        "quantity",
        pattern(
            r"\bhow (?:much|many|old|often|long|far|tall|heavy)\b"
            r"|\bdos(?:e|es|age)\b|\b(?:strength|age)\b"
        ),
    ),
    (
        "name",
        pattern(
            r"\b(?:where|who|whose)\b"
            r"|\b(?:what|which) (?:city|country|place|region)\b|\blocation\b|\btime ?zone\b"
        ),
    ),
    (
        "code",
        pattern(
            r"\b(?:gene|variant|mutation|notation|hgvs|identifier|accession|code|cohort"
            r"|data ?set)\b"
        ),
    ),
    (
        "drug",
        pattern(
            r"\b(?:medicines?|medications?|drugs?|tablets?|pills?|prescriptions?|painkillers?"
            r"|what else do you take)\b"
        ),
    ),
)
"""The kinds of information in a fact, and the questions that ask for them."""
_KINDS_OF_THINGS = frozenset({"drug", "code"})
"""The kinds that a question asks for by a noun, beside which it may name other things."""
_BROAD = (
    r"\b(?:conditions?|illness(?:es)?|diseases?|disorders?|diagnos[ie]s|allerg(?:y|ies)|symptoms?"
    r"|(?:medical|health|family|past) (?:history|problems?|issues?|concerns?)"
    r"|surger(?:y|ies)|operations?)\b"
)
_AND = r"(?:,\s{0,2}(?:(?:and|or)\s{1,2})?|/\s{0,2}|\s(?:and|or|and/or|as well as|nor)\s{1,2})"
_LISTS_MORE = re.compile(
    rf"{_AND}(?:(?!(?:how|when|where|for|to|before|after|since|about|with|these|this)\b)"
    rf"[\w'’-]+ ){{0,4}}?{_BROAD}"
    rf"|{_BROAD}{_AND}(?!how\b|when\b|where\b|since\b)\w",
    re.IGNORECASE,
)
"""A list with something of which no kind is known: `medicines or conditions`."""
_PURPOSE = re.compile(r"\bfor\b", re.IGNORECASE)
"""What follows says what something is for, and is not asked for."""
_OTHER_QUESTION = re.compile(
    r"[\s,;]{1,3}(?:and|or|but|also|plus)(?: also)?[\s,]{1,3}(?="
    r"(?:do|did|have|had|are|were) you (?!sure|certain|ok|okay|ready|aware|happy|agree|understand"
    r"|know|mind|mean|want|able)"
    r"|(?:has|does|is|are|was|were|do) (?:your|any|anyone|there (?:any|other))\b"
    r"|(?:what|which) (?:[a-z]+ ){0,3}(?:do|did|have|are|were) you\b)",
    re.IGNORECASE,
)
"""Where another question begins in the same sentence: `…, or do you have other conditions?`"""
_OPEN_QUESTION = re.compile(
    r"\b(?:more|further|additional|any|other|some|the) (?:details?|information|context|specifics)\b"
    r"|\btell me (?:more|about)\b|\banything else (?:i|you) should\b|\belaborate\b",
    re.IGNORECASE,
)


def newly_disclosed_facts(
    view: EvaluatorView, text: str, already: Collection[int]
) -> tuple[int, ...]:
    """Return the numbers (from 1) of the job's facts that a user's message discloses for the first
    time.
    """
    facts = view.job.facts
    if facts:
        return disclosed_facts(text, facts, already, so_far(view, _known_to_anybody))
    return ()


def disclosed_facts(
    text: str, facts: Sequence[str], already: Collection[int], known: Known
) -> tuple[int, ...]:
    """Return the numbers (from 1) of the facts that a user's message discloses for the first time.

    `already` contains the numbers of facts given away before; `known` has the tasks and earlier
    messages, whose repetition gives nothing away.
    """
    if not facts or not text.strip():
        return ()
    said, said_stems = _read_message(text, known.language)
    numbers = []
    for number, fact in enumerate(facts, start=1):
        if number in already:
            continue
        new = [
            one
            for one in specifics(fact, known.language)
            if not known.has(one) and not (one.kind in ("name", "word") and one.key in known.stems)
        ]
        if _gives_away(new, said, said_stems, known.language):
            numbers.append(number)
    return tuple(numbers)


def asks_for(agent_message: str, fact: str) -> bool | None:
    """Return whether an agent's message asked for `fact`; None if its questions are in a language
    that is not read.

    Any question may ask for it, such as "What brings you in?". An offer ("How can I help?") asks
    for no fact, and a question for one kind of information (when, how many, where, who) asks only
    for facts of that kind, or facts that share a word with it.
    """
    language = language_of(agent_message)
    # The words of kinds are English ones, such as "dose", which is also French.
    names_kinds = language is None or language.rules is None
    for sentence in _questions(agent_message):
        if not names_kinds:
            return True
        if any(_may_ask_for(part, fact) for part in _OTHER_QUESTION.split(sentence)):
            return True
    if questions_are_read(agent_message):
        return False
    return None


def _may_ask_for(question: str, fact: str) -> bool:
    """Return whether one question may ask for a fact."""
    wanted = _kinds_wanted(question)
    if not wanted or _OPEN_QUESTION.search(question) or _is_about(question, wanted, fact):
        return True
    # "Medicines or conditions" asks for both; "when did pain and other symptoms begin" does not.
    things, *_ = _PURPOSE.split(question)
    return wanted <= _KINDS_OF_THINGS and _LISTS_MORE.search(things) is not None


def asks_for_just(agent_message: str, fact: str) -> bool | None:
    """Return whether an agent's message asked for `fact` by its own kind or words; None if its
    questions are in a language that is not read.

    A question about something else ("What is your name?") or nothing in particular ("Can you tell
    me more?") may lead to a fact, but does not insist on it. Kinds of information are known by
    English words only: in other languages any question counts that may ask for the fact.
    """
    if language_of(agent_message) not in (None, ENGLISH):
        return asks_for(agent_message, fact)
    return any(
        _is_about(sentence, _kinds_wanted(sentence), fact) for sentence in _questions(agent_message)
    )


def _questions(agent_message: str) -> Iterator[str]:
    """Yield the sentences of a message that ask for something, without offers of help."""
    for sentence in sentences(agent_message):
        if (_ASKS.search(sentence) or says(sentence, "requests")) and not offers_help(sentence):
            yield sentence


def _kinds_wanted(question: str) -> set[str]:
    """Return the kinds of information that a question asks for, as far as it names any."""
    return {kind for kind, asks in _ASKS_FOR_KIND if asks.search(question)}


def _is_about(question: str, wanted: set[str], fact: str) -> bool:
    """Return whether a question asks for a kind of information that a fact has, or shares a word
    with it.
    """
    kinds: set[str] = {one.kind for one in specifics(fact)}
    kinds |= {"drug" for word in WORD.findall(fact) if is_drug(word)}
    return bool(wanted & kinds or content_stems(fact) & content_stems(question))


def asks_for_anything(agent_message: str) -> bool:
    """Return whether an agent's message asks for anything at all; an offer of help does, too."""
    return _ASKS.search(agent_message) is not None or says(agent_message, "requests")


def does_not_know(text: str, language: Language) -> bool:
    """Return whether a text says in a language that one does not know, or will not tell."""
    if language.rules is None:
        return _NO_ANSWER.search(text) is not None
    return bool(language.phrases("unknowing").find(folded(text)))


def _read_message(text: str, language: Language) -> tuple[tuple[Specific, ...], frozenset[str]]:
    """Return a message's specifics and stems, without sentences such as "I don't know".

    A bare small number counts only in a short answer: "5" may be a dose, "5 questions" is not.
    """
    brief = (len(text.split()) if text.isascii() else word_count(text)) <= BRIEF_WORDS
    said = specifics(text, language)
    given = tuple(
        one
        for one in said
        if one.kind != "quantity" or brief or one.unit or _telling(one, language)
    )
    telling = " ".join(part for part in sentences(text) if not does_not_know(part, language))
    return given, stems(telling, language)


def _gives_away(
    new: Sequence[Specific],
    said: Sequence[Specific],
    said_stems: frozenset[str],
    language: Language,
) -> bool:
    """Any new time, date, dose, code or name discloses a fact; of rare words, half are required."""
    for one in new:
        if not one.strong:
            continue
        if one.kind == "name" and one.key in said_stems:
            return True
        if one.kind == "quantity" and not _telling(one, language):
            continue
        if among(one, said):
            return True
    rare = [one.key for one in new if one.kind in ("word", "name")]
    small = [one for one in new if one.kind == "quantity" and not _telling(one, language)]
    hits = sum(key in said_stems for key in rare) + sum(among(one, said) for one in small)
    total = len(rare) + len(small)
    # Of pairs of letters, every second one stands between two words and is of neither.
    needed = (
        PAIRS_NEEDED if language.rules is not None and not language.rules.spaced else WORDS_NEEDED
    )
    return hits > 0 and hits >= needed * total and (hits > 1 or total <= 2)


def _telling(quantity: Specific, language: Language) -> bool:
    """Return whether a quantity alone tells which fact it is of; elsewhere than in English, no
    short length of time does.
    """
    if language.rules is not None and not _identifies(quantity):
        return False
    return bool(quantity.unit) or len(quantity.key) > 1
