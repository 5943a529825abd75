"""The sessions of the running agent, and the dialogue of each: which rule answers a message."""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from bioeval_tui.sample.agent import cohort, manners, medications, pharmacology, reminders, variants
from bioeval_tui.sample.agent.chaos import Chaos, Trouble
from bioeval_tui.sample.agent.facts import Knowledge
from bioeval_tui.sample.agent.language import read
from bioeval_tui.sample.agent.records import Records
from bioeval_tui.sample.agent.turn import FUNCTIONS, DialogueTurn, State


class _Topic(Protocol):
    """One subject with its rules: a module of this package."""

    def opens(self, turn: DialogueTurn) -> bool: ...
    async def start(self, turn: DialogueTurn) -> str: ...
    async def go_on(self, turn: DialogueTurn) -> str: ...


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
    events: Sequence[Mapping[str, Any]] = ()


class Dialogue:
    """A conversation with one user. Answers one message at a time."""

    def __init__(
        self,
        user: str,
        knowledge: Knowledge,
        records: Records,
        clock: Callable[[], datetime],
        *,
        guesses: bool = False,
    ) -> None:
        self.user = user
        self._guesses = guesses
        self._knowledge = knowledge
        self._records = records
        self._clock = clock
        self._state = State()
        self._said_anything = False

    async def answer(self, text: str) -> Answer:
        """Return the answer to one message. Raises what the records raise."""
        turn = DialogueTurn(
            read(text, self._knowledge), self.user, self._state, self._knowledge, self._records, self._clock,
            self._guesses,
        )  # fmt: skip
        if not self._said_anything:
            turn.events.append({"systemPrompt": manners.SYSTEM_PROMPT})
        content = await self._respond(turn)
        self._said_anything = True
        return Answer(content, tuple(turn.events))

    async def _respond(self, turn: DialogueTurn) -> str:
        if refusal := manners.refuse(turn):
            return refusal
        awaiting = self._state.awaiting
        topic = next((topic for topic in _TOPICS if topic.opens(turn)), None)
        asked = _BY_QUESTION[awaiting.partition(".")[0]] if awaiting else None
        if asked and (topic is None or (topic is not asked and _answers(turn, asked))):
            return await asked.go_on(turn)
        if topic:
            self._state.awaiting = None
            return await topic.start(turn)
        if reminders.continues(turn):
            return await reminders.go_on(turn)
        return manners.small_talk(turn) or manners.not_understood()

    async def object_context(self, session: str) -> dict[str, Any]:
        """Return the session's object context: the user's records, the facts looked up, and the functions."""
        resources = [
            _resource(r.id, r.what, ["DomainNode", "Reminder"],
                      {"date": r.date, "timeZone": r.time_zone, "drug": r.drug, "dose": r.dose, "repeats": r.repeats})
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
    if "?" in turn.said.text:
        return False
    names_a_drug = asked is pharmacology and bool(turn.said.drugs)
    return names_a_drug or len(turn.said.text.split()) <= 4


def _resource(
    key: str, name: str, labels: list[str], properties: Mapping[str, str], aliases: Sequence[str] = ()
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
    dialogue: Dialogue
    chaos: Chaos | None = None
    history: list[dict[str, str]] = field(default_factory=list)
    latencies: list[dict[str, float | int | bool | None]] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    undelivered: tuple[str, Answer] | None = None
    """An answer that did not reach its client. Sending the same message again returns it without acting twice."""

    def trouble(self) -> Trouble:
        """Return the fault, if any, of the next request."""
        return self.chaos.draw() if self.chaos else Trouble()

    async def answer(self, content: str) -> Answer:
        """Return the answer to a message and note both in the history."""
        if self.undelivered and self.undelivered[0] == content:
            return self.undelivered[1]
        answer = await self.dialogue.answer(content)
        self.history += [
            {"content": content, "role": "user"},
            {"content": answer.content, "role": "assistant"},
        ]
        del self.history[:-MAX_HISTORY]
        self.undelivered = (content, answer)
        return answer


class Sessions:
    """All sessions by id."""

    def __init__(
        self,
        records: Records,
        clock: Callable[[], datetime],
        chaos_seed: int | None = None,
        *,
        guesses: bool = False,
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
        """Open a session; the knowledge is read from the records again. Raises what the records raise."""
        knowledge = await self.records.knowledge()
        chaos = None if self._chaos_seed is None else Chaos(self._chaos_seed, self._opened)
        self._opened += 1
        dialogue = Dialogue(user, knowledge, self.records, self._clock, guesses=self._guesses)
        session = ChatSession(str(uuid.uuid4()), user, chatbot, dialogue, chaos)
        self._sessions[session.id] = session
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session
