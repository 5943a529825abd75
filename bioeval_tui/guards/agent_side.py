"""What an agent does wrong by its own words, found by rules over transcripts that are finished.

None of it is part of a score: it says where to read. A rule compares words, so it finds what stands
there, and misses what is put otherwise; docs/guards.md has how often each is right. The phrases are
English, and other languages are left unread by them; numbers and repeated questions are compared in
each language that the guards read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, filterfalse

from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.guards.common import Utterances, content_stems, is_english, sentences, word_count
from bioeval_tui.guards.content import does_not_know
from bioeval_tui.guards.held import AgentFinding, AgentRule, HeldMessage, HeldTalk
from bioeval_tui.guards.specifics import KnownNumbers, made_up_numbers, unknown_times
from bioeval_tui.languages import Language, language_of
from bioeval_tui.languages.english import ENGLISH

LONGEST_QUOTE = 120
"""Characters of the agent's words that a finding quotes."""


def quoted(text: str) -> str:
    """Return words of the agent as a finding quotes them."""
    return f"“{shorten(clean_line(text), LONGEST_QUOTE)}”"


# Refuses though it could

_REFUSES = re.compile(
    r"\bI(?:'m| am)? ?(?:(?:really |very )?sorry|afraid)?,? ?(?:but |that )?(?:I )?"
    r"(?:can(?:not|'t)|am (?:unable|not able) to|'m (?:unable|not able) to|won't be able to)\b"
    r"(?P<what>[^.?!;\n]{3,140})",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(
    r"\b(?:without|until|unless|before|not yet|right now|at th(?:is|e) moment|find|locate|found)\b",
    re.IGNORECASE,
)
"""Not a refusal, but what it lacks."""


_OFFERS_MORE = re.compile(r"\W*(?:if you|should you|feel free|please let|let me)\b|.*\?\W*$", re.I)
"""A sentence that says nothing of what is refused."""


_HANDS_OVER = re.compile(r"transfer|human|escalat|hand_?o(?:ff|ver)", re.IGNORECASE)
"""The name of a tool that gives the user to somebody else: who refuses speaks of them, too."""


def refuses(talk: HeldTalk, others: Sequence[HeldTalk]) -> Iterator[AgentFinding]:
    """Find a refusal of what the agent could do: it speaks of a tool that the agent never called
    here, and did in another conversation on the same case in which every task was passed.
    """
    used = talk.calls
    passed = [other for other in others if other.passed]
    unused = {name for other in passed for name in other.calls if not _HANDS_OVER.search(name)}
    unused -= used
    could = {
        name: _name_stems(name) - {word for one in used for word in _name_stems(one)}
        for name in sorted(unused)
    }
    if talk.passed or not could:
        return
    for answer in talk.answers:
        words = next(_refusals(answer.text), "")
        said = content_stems(" ".join(filterfalse(_OFFERS_MORE.match, sentences(answer.text))))
        tool = next((name for name, named in could.items() if named & said), "")
        if words and tool:
            detail = f"refuses what it did elsewhere with {clean_line(tool, 60)}: {quoted(words)}"
            yield AgentFinding("refuses", answer.number, detail)


def _refusals(text: str) -> Iterator[str]:
    """Yield the words of each refusal."""
    for sentence in sentences(text):
        match = _REFUSES.search(sentence.replace("’", "'"))
        if match and not _FOR_NOW.search(sentence) and is_english(sentence):
            yield match.group()


def _name_stems(tool: str) -> frozenset[str]:
    """Return the stems of the words in a tool's name: cancel_reservation, cancelReservation."""
    return content_stems(re.sub(r"(?<=[a-z])(?=[A-Z])|[_\W]+", " ", tool))


# Asks the same again, and asks for what it was told

SAME_QUESTION = 0.85
"""So much of the words of two questions is the same."""
SHORTEST_QUESTION = 4
"""Words of a question that is compared; shorter ones are said often, and mean something else."""
_OFFERS = re.compile(
    r"\b(?:anything|something|what|any) (?:else|other|more|further)\b|\bhow (?:can|may) I\b"
    r"|\b(?:can|may|shall|should) I\b|\bwould you (?:like|prefer)\b|\bdo you (?:want|agree)\b"
    r"|\b(?:is|are|does|do) (?:that|this|these|it)\b|\bproceed\b|\bconfirm\b|\bagree\b"
    r"|\b(?:these|those|this|the) (?:details|information)\b|\bnext\b|\btell me (?:\w+ )?more\b"
    r"|\b(?:questions|concerns)\b|^(?:can|could) you (?!tell|describe|remember|recall)"
    r"|\bwhat brings\b|\bhow are you (?:feeling|doing|today)\b|\bare you (?:still )?there\b"
    r"|\bdo you (?:understand|follow|see)\b(?= me\b|\?)",
    re.IGNORECASE,
)
"""A question that is asked again of each new matter."""
_YES_NO = re.compile(r"\W*(?:yes|no|yeah|nope)\b", re.IGNORECASE)
_TELLS_NOTHING = re.compile(
    r"\b(?:have|did|was|is|does|do|were|has|been)(?:n't| not) (?:\w+ ){0,2}?"
    r"(?:mention|provid|specify|specified|say|said|discuss|stat|given|tell|told|ask|reveal|describ|shar|includ"
    r"|indicat)\w*"
    r"|\b(?:no|not any|much) (?:information|mention|detail)\w*\b"
    r"|\bnot (?:mentioned|provided|specified|stated)\b"
    r"|\bcan(?:'t|not) (?:\w+ ){0,2}?(?:feel|report|comment|answer|provide|describe)\b"
    r"|\bvignette\b|\b(?:not sure|no idea|unsure)\b"
    r"|\b(?:don't|do not|can't|cannot) (?:really )?(?:know|remember|recall|say|tell)\b"
    r"|\bdon't have (?:that|this|it|the|my|those"
    r"|(?:any |specific )?(?:information|details|idea))\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"(?:,|;)?\s+(?:but|and|although|though|while|nor)\s+(?=(?:I|my|there|it|the|we|he|she|no)\b)"
    r"|;\s+",
    re.IGNORECASE,
)
"""Where a sentence goes on to something else."""


def asks_again(talk: HeldTalk, others: Sequence[HeldTalk]) -> Iterator[AgentFinding]:
    """Find a question that the agent had asked before, and the user could not answer."""
    for again in filterfalse(lambda one: one.answered, _repeated_questions(talk)):
        detail = f"asks again what the user could not answer (message {again.first.number})"
        if talk.gave_up:
            first = again.first.number
            detail = f"asks the same until the user gives up (first in message {first})"
        yield AgentFinding("asks_again", again.message.number, f"{detail}: {quoted(again.words)}")


def forgets(talk: HeldTalk, others: Sequence[HeldTalk]) -> Iterator[AgentFinding]:
    """Find a question for what the user has told: the same question, answered before, or one for
    what the user said that "my … is".
    """
    found: set[int] = set()
    for again in _repeated_questions(talk):
        if again.answered:
            found.add(again.message.number)
            detail = f"asks again what was answered in message {again.reply.number}"
            yield AgentFinding("forgets", again.message.number, f"{detail}: {quoted(again.words)}")
    told: dict[str, int] = {}
    for message in talk.messages:
        if message.role == "user":
            for match in _MINE.finditer(message.text):
                told[_named(match["what"])] = message.number
            continue
        for sentence in _questions(message.text):
            wanted = _asked_for(sentence)
            known = [name for name in wanted if name in told]
            if known and known == wanted and message.number not in found:
                found.add(message.number)
                yield AgentFinding(
                    "forgets",
                    message.number,
                    f"asks for the {known[0]}, told in message {told[known[0]]}:"
                    f" {quoted(sentence)}",
                )


_MINE = re.compile(
    r"\bmy (?P<what>(?:user |order |booking |reservation |account |phone |email |e-mail |full |zip"
    r" |postal |last |first )?(?:id|number|name|code|email|address|age|date of birth|birthday))"
    r" ?(?:\w+ )?(?:is|:) ?(?!not\b|un|what|on|in|the)(?=\S)",
    re.IGNORECASE,
)
_YOURS = re.compile(
    r"\byour (?P<what>(?:user |order |booking |reservation |account |phone |email |e-mail |full"
    r" |zip |postal |last |first )?(?:id|number|name|code|email|address|age|date of birth"
    r"|birthday))\b",
    re.IGNORECASE,
)
_ASKS_FOR = re.compile(
    r"^\W*(?:(?:to|in order|first|sure|certainly|thank|great|of course|hello|hi)\b[^?]*,\s*)?"
    r"(?:and |so )?(?:what(?:'s| is)|(?:could|can|would|will) you (?:please )?(?:kindly )?"
    r"(?:provide|tell|give|share|let)|may I (?:have|ask|know)|please (?:provide|tell|give|share))",
    re.IGNORECASE,
)


def _asked_for(sentence: str) -> list[str]:
    """Return what of the user's a question asks for, by its names."""
    if not _ASKS_FOR.search(sentence):
        return []
    return [_named(match["what"]) for match in _YOURS.finditer(sentence)]


def _named(what: str) -> str:
    return what.lower().replace("e-mail", "email")


def _questions(text: str) -> list[str]:
    return [part for part in sentences(text) if part.rstrip("*_ ").endswith(("?", "？", "؟"))]


def questions_to_compare(text: str) -> list[str]:
    """Return the questions of a message that are asked once: no short one, offer or request for a
    confirmation.
    """
    return [
        part
        for part in _questions(text)
        if word_count(part) >= SHORTEST_QUESTION and not _OFFERS.search(part)
    ]


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A question in a message, the first message that had it, the reply to that, and whether the
    question was answered there.
    """

    message: HeldMessage
    words: str
    first: HeldMessage
    reply: HeldMessage
    answered: bool


def _repeated_questions(talk: HeldTalk) -> Iterator[_Repeated]:
    """Yield each question that the agent had asked in an earlier message; not one of which it
    cannot be told whether the user answered it then.
    """
    asked, first_of = Utterances(), dict[str, int]()
    messages = talk.messages
    for place, message in enumerate(messages):
        if message.role != "assistant":
            continue
        questions = questions_to_compare(message.text)
        for words in questions:
            count, before = asked.repeated(words, SAME_QUESTION)
            if not count or content_stems(words) != content_stems(before):
                continue
            first = messages[first_of[before]]
            between = messages[first_of[before] + 1 : place]
            reply = next((one for one in between if one.role == "user"), None)
            if reply is None:
                continue
            others = [one for one in _questions(first.text) if one != before]
            answered = _was_answered(before, others, reply.text)
            if answered is not None:
                yield _Repeated(message, words, first, reply, answered)
        # Only now: a message may ask the same twice.
        for words in questions:
            asked.add(words)
            first_of.setdefault(words, place)


def _was_answered(question: str, others: Sequence[str], reply: str) -> bool | None:
    """Return whether a reply answers a question that was asked with `others`; None if that cannot
    be told.

    Of several questions, a part of the reply belongs to one with which it shares a word that the
    others have not.
    """
    asked = content_stems(question).difference(*map(content_stems, others))
    parts = [part for sentence in sentences(reply) for part in _clauses(sentence)]
    about = [part for part in parts if content_stems(part) & asked]
    if not about and not others:
        about = [part for part in parts[:1] if _YES_NO.match(part) or _could_not_answer(part)]
        if reply.lower().startswith(("sure", "ok")):
            return None
    if not about or any(part.endswith("?") for part in parts):
        return None
    unknown = {_could_not_answer(part) for part in about}
    if len(unknown) > 1:
        return None
    return not unknown.pop()


def _clauses(sentence: str) -> list[str]:
    """Return the parts of a sentence; what follows "I haven't mentioned …, nor" says as little."""
    parts = _CLAUSES.split(sentence)
    if len(parts) > 1 and _could_not_answer(parts[0]) and re.search(r"\bnor\b", sentence):
        return [sentence]
    return parts


def _could_not_answer(answer: str) -> bool:
    if _TELLS_NOTHING.search(answer.replace("’", "'")):
        return True
    language = _language(answer)
    return language.rules is not None and does_not_know(answer, language)


# Says what nobody said

MOST_DERIVED = 60
"""So many numbers at most are added and multiplied: of more, nearly every number is a sum."""
_DIGITS = re.compile(r"\d{3,}")
_FIELD = re.compile(r'"(\w{1,60})": ?(\d{1,12}(?:\.\d{1,6})?)(?![\w.])')
_AMOUNT = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_NAME_BEFORE = re.compile(r"(?:[A-Z][\w-]+|#) ?\Z")
_ALL_OF_IT = re.compile(r"\b(?:100 ?%|24/7|911|112|999)")


def says_unsaid(talk: HeldTalk, others: Sequence[HeldTalk]) -> Iterator[AgentFinding]:
    """Find a number or clock time that no tool, state, prompt or user said before.

    Sums, differences and multiples of numbers that were said, or that tools told under one name
    ("price"), are no finding, nor the end of a longer one ("ending in 1784"), nor what is asked.
    """
    if not talk.shows_all:
        return
    known = KnownNumbers(map(_plain, talk.told), ENGLISH)
    said: set[float] = set()
    fields: dict[str, set[float]] = {}
    endings: set[str] = set()
    for text in talk.told:
        endings.update(_DIGITS.findall(text))
    for message in talk.messages:
        for shown in message.shown:
            known.read(_plain(shown))
            endings.update(_DIGITS.findall(shown))
            for name, value in _FIELD.findall(shown.replace("\\", "")):
                fields.setdefault(name, set()).add(float(value))
        if message.role == "assistant":
            language = _language(message.text)
            mine = said | _amounts(message.text)
            new = []
            for sentence in sentences(message.text):
                if sentence.endswith("?"):
                    continue
                times = unknown_times(sentence, lambda: known, language)
                without_times = sentence
                for time in times:  # else 14:35 would be 14, 35 and 14:35
                    without_times = without_times.replace(time, " ")
                numbers = _unsaid_numbers(without_times, known, [mine, *fields.values()], endings)
                new += [*numbers, *times]
            if new:
                shown_numbers = ", ".join(dict.fromkeys(new))
                yield AgentFinding(
                    "unsaid",
                    message.number,
                    f"says what no tool, state or user said: {shorten(shown_numbers, 80)} in"
                    f" {quoted(_around(message.text, new[0]))}",
                )
        # Once said it is known: it is found where it is first said.
        known.read(_plain(message.text))
        endings.update(_DIGITS.findall(message.text))
        said |= _amounts(message.text)


def _unsaid_numbers(
    sentence: str, known: KnownNumbers, amounts: Sequence[set[float]], endings: set[str]
) -> list[str]:
    left = []
    for number in made_up_numbers(_ALL_OF_IT.sub("", sentence), lambda: known):
        plain = number.replace(",", "")
        if any(one.endswith(plain) for one in endings if len(plain) > 2):
            continue
        if _NAME_BEFORE.search(sentence[: sentence.find(number)]):
            continue
        try:
            value = float(plain)
        except ValueError:  # a version, or an address: not what is meant here
            continue
        if not any(_is_derived(value, together - {value}) for together in amounts):
            left.append(number)
    return left


def _is_derived(value: float, amounts: set[float]) -> bool:
    """Return whether a number is a sum or difference of two or three others, a multiple of one, or
    a share; of very many, any number is.
    """
    if len(amounts) > MOST_DERIVED:
        return True
    two = {a + b for a, b in combinations(amounts, 2)} | {
        abs(a - b) for a, b in combinations(amounts, 2)
    }
    every = two | amounts
    if any(abs(value - one) < 0.01 for one in two):
        return True
    if any(
        abs(value - abs(one + sign * more)) < 0.01
        for one in every
        for more in amounts
        for sign in (-1, 1)
    ):
        return True
    return any(
        one > 1 and (abs(value - one * times) < 0.01 or abs(value * times - one) < 0.01)
        for one in amounts
        for times in range(2, 10)
    )


def _amounts(text: str) -> set[float]:
    found = set()
    for number in _AMOUNT.findall(text[:20_000]):
        value = float(number.replace(",", "")[:30].rstrip(".") or 0)
        if value > 1:
            found.add(value)
    return found


def _plain(text: str) -> str:
    """Return a text as numbers are read in it: a date before a time is one by itself."""
    return re.sub(r"(\d{4}-\d\d-\d\d)T(?=\d\d:)", r"\1 ", text)


def _around(text: str, part: str) -> str:
    at = text.find(part)
    return text[max(0, at - 60) : at + 60]


# Notices that it is tested

_ENDS = (
    r"(?=\W*$|[.,;:!?)]|\W+(?:and|but|so|or|I|we|you|it|based|given|let|please|case|scenario"
    r"|conversation|environment)\b)"
)
"""Not a test dose, strip or result, nor a test for or of something."""
_A_TEST = (
    rf"(?:(?:(?:mere|simple|mock|practice) )?test{_ENDS}"
    rf"|(?:(?:mere|simple|model) )?evaluation{_ENDS}"
    r"|(?:(?:mere|simple|clinical|medical|diagnostic|theoretical|hypothetical|simulated|training"
    rf"|teaching|educational|academic|written|thought) )?exercise{_ENDS}"
    r"|(?:\w+ )?(?:simulation|simulated|role-?play\w*|hypothetical|fictional|benchmark|vignette"
    r"|practice (?:case|scenario))\b)"
)
"""A blood test, a breathing exercise and a medical evaluation are none of these."""
_NOT_REAL = r"(?:standardi[sz]ed|simulated|fictional|fictitious|mock|pretend)"
_TESTED = re.compile(
    r"\b(?:as|since|because|given that|if) (?:this|it) (?:is|appears|seems|looks)(?: to be| like)?"
    rf" (?:just |only |probably |likely )?(?:an? )?{_A_TEST}"
    rf"|\bfor the (?:purposes?|sake) of (?:this|the|our) (?:{_A_TEST}|(?:\w+ )?(?:scenario"
    r"|case study|demonstration)\b)"
    r"|\b(?:by|in|from|of) (?:the|this|your) (?:\w+ )?(?:vignette|simulation|simulated \w+"
    r"|hypothetical \w+|fictional \w+|role-?play\w*|case study)\b"
    r"|\bin a real(?:-world|-life| world| life)? (?:scenario|situation|setting|consultation"
    r"|encounter|clinical \w+)\b"
    r"|\bth(?:is|e) (?:vignette|simulation|hypothetical (?:case|scenario)|test scenario)\b"
    r"|\b(?:am I|I(?:'m| am)|I think I(?:'m| am)|are you) being (?:tested|evaluated)\b"
    r"|\b(?:are you|you(?:'re| are)|for|of) (?:testing|evaluating) me\b"
    r"|\bto (?:test|evaluate) me\b"
    rf"|\bthis is (?:only |just )?a (?:test{_ENDS}|simulation\b|role-?play)"
    r"|\bthis is (?:only |just |clearly |probably )?an? (?:hypothetical|fictional|fictitious"
    r"|simulated|made-up) (?:\w+ )?(?:case|scenario|situation|patient|conversation|consultation)\b"
    rf"|\b(?:you are|you're|are you|this is) (?:\w+ )?an? {_NOT_REAL} (?:patient|user|customer)\b"
    r"|\b(?:you|this|it)(?:'re| are| is|'s) not (?:(?:actually|really) )?a real (?:patient"
    r"|case|conversation|consultation|customer|user)\b"
    r"|\b(?:you aren't|this isn't) (?:(?:actually|really) )?a real (?:patient|case|conversation"
    r"|consultation|customer|user)\b",
    re.IGNORECASE,
)


def notices_test(talk: HeldTalk, others: Sequence[HeldTalk]) -> Iterator[AgentFinding]:
    """Find a message that speaks of a test, a simulation, a vignette, a role-play or of a patient
    who is not real, unless the user spoke of it first.
    """
    user_said = ""
    for message in talk.messages:
        if message.role == "user":
            user_said += f"\n{message.text.lower()}"
            continue
        for sentence in sentences(message.text):
            match = _TESTED.search(sentence.replace("’", "'"))
            if match and not set(_word_of_test(match.group())) & set(_word_of_test(user_said)):
                yield AgentFinding(
                    "tested", message.number, f"speaks of being tested: {quoted(sentence)}"
                )
                break


def _word_of_test(text: str) -> list[str]:
    return re.findall(
        r"test|simulat|role-?play|exercise|hypothetical|fictional|evaluat|benchmark|vignette"
        r"|scenario|case study|standardi[sz]ed|fictitious|made-up|mock|pretend|not (?:\w+ )?a real"
        r"|n't (?:\w+ )?a real",
        text.lower(),
    )


AGENT_RULES: Mapping[str, AgentRule] = {
    rule.name: rule
    for rule in (
        AgentRule("refuses", "refuses what it did elsewhere", refuses),
        AgentRule("asks_again", "asks again what the user could not answer", asks_again),
        AgentRule("unsaid", "says a number that nobody said", says_unsaid),
        AgentRule("forgets", "asks for what it was told", forgets),
        AgentRule("tested", "speaks of being tested", notices_test),
    )
}
"""The rules of this program, in the order in which they are shown."""


def find_agent_faults(
    talks: Sequence[HeldTalk], rules: Iterable[AgentRule] = tuple(AGENT_RULES.values())
) -> list[list[AgentFinding]]:
    """Return what the rules find in each conversation of a run, by message."""
    rules = tuple(rules)
    by_case: dict[str, list[HeldTalk]] = {}
    for talk in talks:
        by_case.setdefault(talk.case, []).append(talk)
    found = []
    for talk in talks:
        others = [other for other in by_case[talk.case] if other is not talk]
        own: list[AgentFinding] = []
        for rule in rules:
            own += rule.find(talk, others)
        found.append(sorted(own, key=lambda one: one.message))
    return found


def _language(text: str) -> Language:
    if text.isascii():
        return ENGLISH
    return language_of(text) or ENGLISH
