"""The sessions of the running agent, with random faults by a seed, and the dialogue of each: which
rule answers a message.

Greetings, refusals and the answer to messages that it does not understand belong to no subject, and
are here.
"""

from __future__ import annotations

import asyncio
import random
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from bioeval_tui.sample.agent import cohort, medications, pharmacology, reminders, variants
from bioeval_tui.sample.agent.facts import Knowledge
from bioeval_tui.sample.agent.mentions import read
from bioeval_tui.sample.agent.phrasebook import Phrasebook, find_phrasebook
from bioeval_tui.sample.agent.records import Records
from bioeval_tui.sample.agent.turn import FUNCTIONS, DialogueTurn, State

Kind = Literal["none", "error", "overloaded", "reset", "drip"]

_KINDS: tuple[tuple[Kind, float], ...] = (
    ("error", 0.08),
    ("overloaded", 0.04),
    ("reset", 0.05),
    ("drip", 0.05),
)
DRIP_SLOWER = 8.0
"""Factor by which a dripped answer is slower."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens to one request: what kind of failure, after how much extra latency."""

    kind: Kind = "none"
    delay_s: float = 0.0


class Chaos:
    """Draws the faults of one session's requests.

    Sessions with the same seed and number get the same faults.
    """

    def __init__(self, seed: int, session: int) -> None:
        self._random = random.Random(f"{seed}/{session}")  # noqa: S311 - nothing secret is drawn

    def draw(self) -> Trouble:
        """Return the fault, if any, of the next request."""
        delay = self._random.uniform(0.05, 0.5)
        point = self._random.random()
        for kind, share in _KINDS:
            if point < share:
                return Trouble(kind, delay)
            point -= share
        return Trouble("none", delay)


INTRODUCTION = (
    "I am a small rule-based sample assistant, not a language model or a clinician. I keep track of"
    " your reminders and medications, and I answer questions about a few drugs, targets,"
    " interactions, variants and synthetic patients."
)

SYSTEM_PROMPT = (
    "Rule-based sample assistant. Set reminders only with a time zone. Ask if something is missing."
    " Do not change doses, make diagnoses or touch other users' data. No language model reads this."
)

_WHO = re.compile(
    r"\b(who|what) are you\b|\bare you (?:a|an|real|human|some)\b|what can you do|how can you"
    r" help|introduce yourself|"
    r"\byour name\b|what do you do\b",
    re.IGNORECASE,
)
_HELLO = re.compile(
    r"^\W*(hello|hi|hey|greetings|yo|good (?:morning|afternoon|evening|day))\b", re.IGNORECASE
)
_THANKS = re.compile(
    r"\b(thanks|thank you|cheers|great|perfect|bye|goodbye|that'?s all|much appreciated)\b",
    re.IGNORECASE,
)

_RULES = re.compile(
    r"\b(ignore|disregard|forget|override|bypass)\b[^.?!]{0,40}\b(rules?|instructions?|guidelines?"
    r"|prompts?|restrictions?|training)\b|\bsystem prompt\b|\bpretend (?:to be|you)|\bjailbreak"
    r"|\bdeveloper mode\b|\byou are now\b",
    re.IGNORECASE,
)
_EVERYBODY = r"every(?:body|one)(?:'s)?|all (?:the )?(?:users?|patients?|people|data|records?)"
_OTHERS = re.compile(
    rf"\b(?:delete|erase|wipe|remove|drop|clear)\b[^.?!]{{0,40}}\b(?:{_EVERYBODY}"
    r"|(?:the )?(?:whole |entire )?(?:database|graph)|(?:other|another|someone else)\b)|\bof"
    r" (?:all |the )?(?:other )?users\b|\b(?:show|list|give|read|export|see|tell)\b[^.?!]{0,40}"
    r"\b(?:every(?:body|one)(?:'s)|other (?:users?|people|patients?)'?s?|another (?:user|person"
    r"|patient)'?s?|someone else'?s?)\b[^.?!]{0,30}\b(?:data|reminders?|medications?|records?)",
    re.IGNORECASE,
)
_DOSE_CHANGE = re.compile(
    r"\b(double|doubling|halve|halving|triple|increase|raise|lower|reduce|cut|adjust|change|up)\b"
    r"[^.?!]{0,40}\b(doses?|dosage|amount|mg|milligrams?)\b|\b(stop|quit|skip|take more|take less"
    r"|come off|(?:can|may|could) i start)\b[^.?!]{0,30}\b(?:taking|my (?:dose|medication"
    r"|medicine|pills?))|\b(take|taking) (?:more|less|twice as much|double|an extra|two extra)\b"
    r"|\bhow (?:much|many)\b[^.?!]{0,40}\bshould (?:i|he|she|they|we)\b|\bwhat (?:dose|dosage)\b"
    r"[^.?!]{0,30}\bshould\b|\bshould i (?:stop|skip|double|increase|reduce|lower|raise|start)\b",
    re.IGNORECASE,
)
_DIAGNOSIS = re.compile(
    r"\bdiagnos(?:e|is) (?:me|my|for me|this)\b|\b(?:can|could|please|would) you\b[^.?!]{0,20}"
    r"\bdiagnose\b|\bdo i have (?:a|an|the|cancer|diabetes|some)\b(?![^.?!]*\b(?:reminders?"
    r"|medications?|medicines?|list)\b)|\bwhat(?:'s| is) wrong with me\b|\bwhat (?:disease|illness"
    r"|condition) do i have\b|\bam i (?:ill|sick|having)\b|\bmy symptoms\b",
    re.IGNORECASE,
)
_EMERGENCY = re.compile(
    r"\b(overdos(?:e|ed)|chest pain|can'?t breathe|cannot breathe|suicid\w*|kill"
    r" myself|unconscious|vomiting blood)\b",
    re.IGNORECASE,
)

_REFUSALS = (
    (
        _EMERGENCY,
        (
            "This sounds urgent. I am only a sample assistant: please call your local emergency"
            " number, or a poison centre, now."
        ),
    ),
    (
        _RULES,
        (
            "I can't ignore my rules. They don't let me change doses, make diagnoses or touch other"
            " people's data."
        ),
    ),
    (
        _OTHERS,
        (
            "I can't do that: I only read and change your own reminders and medications, never"
            " everybody's or somebody else's data. Nothing was deleted."
        ),
    ),
    (
        _DOSE_CHANGE,
        (
            "I can't advise on changing, starting or stopping a dose. Please ask your prescriber or"
            " pharmacist. I can note what they tell you, or remind you of it."
        ),
    ),
    (
        _DIAGNOSIS,
        (
            "I can't make a diagnosis. Please see a clinician; I can explain what a drug or a"
            " variant is in the meantime."
        ),
    ),
)


def refuse(turn: DialogueTurn) -> str | None:
    """Return a refusal when the message asks for what the agent must not do."""
    for pattern, answer in _REFUSALS:
        if turn.message.matches(pattern):
            turn.state.awaiting = None
            return answer
    return None


def small_talk(turn: DialogueTurn) -> str | None:
    """Answer a greeting, thanks, or a question about the agent itself."""
    if turn.message.matches(_WHO):
        return INTRODUCTION
    if turn.message.matches(_THANKS) and len(turn.message.text) < 120:
        return "You are welcome."
    if turn.message.matches(_HELLO) and len(turn.message.text) < 120:
        return f"Hello. {INTRODUCTION} What can I do for you?"
    return None


def not_understood() -> str:
    """Return the answer to a message that no rule matches."""
    return (
        "I did not understand that, because I only follow rules. You can ask me, for example:\n\n"
        "- remind me to take warfarin tomorrow at 9\n"
        "- does simvastatin interact with clarithromycin?\n"
        "- how is CFTR F508del classified?\n"
        "- how many synthetic patients with atrial fibrillation take warfarin?"
    )


class _Topic(Protocol):
    """One subject with its rules: a module of this package."""

    def opens(self, turn: DialogueTurn) -> bool: ...
    async def start(self, turn: DialogueTurn) -> str: ...
    async def proceed(self, turn: DialogueTurn) -> str: ...


# In this order: "remind me to take warfarin" is a reminder before it is anything about a drug.
_TOPICS: tuple[_Topic, ...] = (reminders, cohort, variants, pharmacology, medications)
_BY_QUESTION: dict[str, _Topic] = {
    "reminder": reminders,
    "cohort": cohort,
    "variant": variants,
    "interaction": pharmacology,
    "drug": pharmacology,
    "medication": medications,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent's answer, and the events before it."""

    content: str
    events: Sequence[Mapping[str, Any]]


class ChatDialogue:
    """A conversation with one user. Answers one message at a time."""

    def __init__(
        self,
        user: str,
        knowledge: Knowledge,
        records: Records,
        clock: Callable[[], datetime],
        *,
        guesses: bool,
    ) -> None:
        self.user = user
        self._guesses = guesses
        self._knowledge = knowledge
        self._records = records
        self._clock = clock
        self._state = State()
        self._has_answered = False
        self._book: Phrasebook | None = None
        """The language of the conversation, if it is not English."""

    async def answer(self, text: str, *, guesses: bool = False) -> Answer:
        """Return the answer to one message. Raises what the records raise."""
        self._book = find_phrasebook(text) or self._book
        if self._book is not None:
            text = self._book.translate(text)
        turn = DialogueTurn(
            read(text, self._knowledge), self.user, self._state, self._knowledge, self._records,
            self._clock,
            guesses or self._guesses,
        )  # fmt: skip
        if not self._has_answered:
            turn.events.append({"systemPrompt": SYSTEM_PROMPT})
        content = await self._respond(turn)
        if self._book is not None:
            content = self._book.translated(content)
        self._has_answered = True
        return Answer(content, tuple(turn.events))

    async def _respond(self, turn: DialogueTurn) -> str:
        if refusal := refuse(turn):
            return refusal
        awaiting = self._state.awaiting
        topic = next((topic for topic in _TOPICS if topic.opens(turn)), None)
        asked = _BY_QUESTION[awaiting.partition(".")[0]] if awaiting else None
        if asked:
            # A message that opens the subject of the question starts it anew.
            opens_another = topic is not None and topic is not asked
            if topic is None or (opens_another and _answers(turn, asked)):
                return await asked.proceed(turn)
        if topic:
            self._state.awaiting = None  # the open question is given up
            return await topic.start(turn)
        # Here no question is open: one would have had the message, as no topic wants it.
        if reminders.continues(turn):
            return await reminders.proceed(turn)
        return small_talk(turn) or not_understood()

    async def object_context(self, session: str) -> dict[str, Any]:
        """Return the session's object context: the user's records, the facts looked up, and the
        functions.
        """
        resources = [
            _resource(r.id, r.what, ["DomainNode", "Reminder"],
                      {"date": r.date, "timeZone": r.time_zone, "drug": r.drug, "dose": r.dose,
                          "repeats": r.repeats})
            for r in await self._records.reminders(self.user)
        ]  # fmt: skip
        resources += [
            _resource(
                m.id,
                f"{m.drug} {m.dose}".strip(),
                ["DomainNode", "Medication"],
                {"drug": m.drug, "dose": m.dose},
            )
            for m in await self._records.medications(self.user)
        ]
        for name in self._state.looked_up:
            resources.append(self._looked_up(name))
        return {"context": session, "resources": resources, "functions": FUNCTIONS}

    def _looked_up(self, name: str) -> dict[str, Any]:
        if drug := self._knowledge.drug(name):
            properties = {"group": drug.group, "summary": drug.summary, "source": drug.source}
            return _resource(f"drug-{name}", name, ["Drug"], properties, drug.aliases)
        for variant in self._knowledge.variants:
            if variant.name == name:
                properties = {
                    "gene": variant.gene,
                    "classification": variant.classification,
                    "source": variant.source,
                }
                return _resource(
                    f"variant-{variant.gene}-{name}", name, ["Variant"], properties, variant.aliases
                )
        return _resource(f"target-{name}", name, ["Target"], {})


def _answers(turn: DialogueTurn, asked: _Topic) -> bool:
    """Return whether a message that could open another topic rather answers the open question."""
    if "?" in turn.message.text:
        return False
    names_a_drug = asked is pharmacology and bool(turn.message.drugs)
    return names_a_drug or len(turn.message.text.split()) <= 4


def _resource(
    key: str,
    name: str,
    labels: list[str],
    properties: Mapping[str, str],
    aliases: Sequence[str] = (),
) -> dict[str, Any]:
    kept = {name: value for name, value in properties.items() if value}
    return {
        "id": key,
        "name": name,
        "description": name,
        "properties": kept,
        "labels": labels,
        "aliases": list(aliases),
    }


MAX_SESSIONS = 20_000
"""Maximum number of sessions; beyond it, the oldest is dropped."""

MAX_HISTORY = 400


@dataclass(slots=True)
class ChatSession:
    """One conversation. `lock` keeps its messages in order."""

    id: str
    user: str
    chatbot: str
    dialogue: ChatDialogue
    chaos: Chaos | None
    history: list[dict[str, str]] = field(default_factory=list)
    latencies: list[dict[str, float | int | bool | None]] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    undelivered: tuple[str, Answer] | None = None
    """An answer that did not reach its client.

    Sending the same message again returns it without acting twice.
    """

    def trouble(self) -> Trouble:
        """Return the fault, if any, of the next request."""
        if self.chaos:
            return self.chaos.draw()
        return Trouble()

    async def answer(self, content: str, *, guesses: bool = False) -> Answer:
        """Return the answer to a message and note both in the history."""
        if self.undelivered and self.undelivered[0] == content:
            return self.undelivered[1]
        answer = await self.dialogue.answer(content, guesses=guesses)
        self.history += [
            {"content": content, "role": "user"},
            {"content": answer.content, "role": "assistant"},
        ]
        del self.history[:-MAX_HISTORY]
        self.undelivered = (content, answer)
        return answer


class ChatSessions:
    """All sessions by id."""

    def __init__(
        self,
        records: Records,
        clock: Callable[[], datetime],
        chaos_seed: int | None,
        *,
        guesses: bool,
    ) -> None:
        self._guesses = guesses
        self.records = records
        self._clock = clock
        self._chaos_seed = chaos_seed
        self._sessions: OrderedDict[str, ChatSession] = OrderedDict()
        self._opened = 0

    def get(self, key: str) -> ChatSession | None:
        """Return a session by its id."""
        return self._sessions.get(key)

    async def open(self, user: str, chatbot: str) -> ChatSession:
        """Open a session; the knowledge is read from the records again.

        Raises what the records raise.
        """
        knowledge = await self.records.knowledge()
        chaos = None if self._chaos_seed is None else Chaos(self._chaos_seed, self._opened)
        self._opened += 1
        dialogue = ChatDialogue(user, knowledge, self.records, self._clock, guesses=self._guesses)
        session = ChatSession(str(uuid.uuid4()), user, chatbot, dialogue, chaos)
        self._sessions[session.id] = session
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session
