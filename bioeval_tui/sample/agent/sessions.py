"""The sessions of the running agent: history, dialogue, latencies."""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from bioeval_tui.sample.agent.chaos import Chaos, Trouble
from bioeval_tui.sample.agent.dialogue import Answer, Dialogue
from bioeval_tui.sample.agent.records import Records

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
        self, records: Records, clock: Callable[[], datetime], chaos_seed: int | None = None
    ) -> None:
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
        dialogue = Dialogue(user, knowledge, self.records, self._clock)
        session = ChatSession(str(uuid.uuid4()), user, chatbot, dialogue, chaos)
        self._sessions[session.id] = session
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session
