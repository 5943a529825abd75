"""Whose session a conversation is in: the ids that agents give, and what their answers repeat of
the conversation.

An agent that gives two conversations one session, or whose history holds what another one said,
knows more than it was told in this one. Its observable state need not show that.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.base.text import clean, clean_line, shorten
from bioeval_tui.peers.seams import Agent, Delta, Generation, Reply
from bioeval_tui.record.participants import Role

APART = (
    "run the conversations one after another, without --concurrency and `order: parallel`",
    "let the agent open a session of its own for each conversation",
)
"""What you can do if conversations that were held at the same time were in one session."""
LONGEST = 500
"""The most characters of a message that are compared."""
MOST_TOLD = 400
"""The most messages of a history that are compared, the last ones."""
ALIKE = 0.6
"""A user's message in a history that is so similar to a sent one is that one, which the agent
changed: masked, perhaps.
"""
MOST_EXTRA = 50
"""How many messages of the user more than were sent are compared one by one."""
SHORTEST_ANSWER = 20
"""Characters. The agent may say shorter ones in any conversation, also between its answers."""
_WORD = re.compile(r"\w+")

Told = tuple[Role, str]
"""A message of a history: who said it, and its text."""


@dataclass(slots=True)
class _Sent:
    """A message of the user, and how often it was sent: an agent may note failed attempts, too."""

    key: str
    times: int = 1


class PastSession(NamedTuple):
    """What is kept of a session whose conversation is over, to tell whose id comes again: a run may
    have 100,000.
    """

    run: str
    title: str


@dataclass(eq=False, repr=False, slots=True)
class Session:
    """What one conversation told its agent, and in which session."""

    run: str
    title: str
    """What the conversation is called in sentences about its run."""
    agent: str
    shared: Sessions
    not_clean: Callable[[str, str], None]
    """Is told what of the agent is shared with other conversations, and a sentence about it."""
    parallel: bool = False
    """Whether the conversations of its trial are held at the same time."""
    id_counts: bool = True
    """Whether the agent keeps something by the id, as far as the job and the protocol say."""
    id: str = ""
    is_open: bool = True
    mixed: str = ""
    """Why the conversation cannot be measured: another one was held in its session at the same
    time.
    """
    _sent: list[_Sent] = field(default_factory=list)
    _own: set[str] = field(default_factory=set)
    _seeds: set[str] = field(default_factory=set)

    def named(self, identity: str) -> None:
        """Take the id that the agent gives the session; empty if it gives none."""
        if not identity or identity == self.id:
            return
        self.id = identity
        earlier = self.shared.take(self)
        if not earlier or not self.id_counts:
            return
        message = (
            f"the agent has one session, {self._shown}, for several conversations: "
            f"{self._called(earlier[0])}, and {self.title}"
        )
        self.not_clean(f"session {identity}", message)
        self._mix(earlier, message)

    def told(self, text: str) -> None:
        """Take a text that the agent was told otherwise, such as a seed, and may have in its
        history.
        """
        self._seeds.add(_key(text))

    def sends(self, content: str) -> None:
        """Take a message of the user, each time that it is sent."""
        key = _key(content)
        self._own.add(key)
        if self._sent and self._sent[-1].key == key:
            self._sent[-1].times += 1
        elif key:
            self._sent.append(_Sent(key))

    def answered(self, reply: Reply) -> None:
        """Take an answer, with what it says of its session and repeats of the conversation."""
        self._own.add(_key(reply.content))
        self.named(reply.session)
        if not reply.history:
            return
        self.shared.note(self, self._own)
        found = self._foreign(reply.history[-MOST_TOLD:])
        if found is None:
            return
        text, other = found
        where = f"{self.title} (session {self._shown})" if self.id else self.title
        quote = shorten(clean_line(text), 100)
        message = f"the agent's history holds “{quote}”, which was not said in {where}"
        others: list[Session] = []
        if other is not None:
            message += f", but in {self._called(other)}"
            others.append(other)
        self.not_clean("history", message)
        self._mix(others, message)

    def end(self) -> None:
        """Note that the conversation is over: what is said in its session from now on does not
        reach it.
        """
        self.is_open = False
        self.shared.end(self)
        # Those whose agents repeat the conversation are kept by what was said in them.
        for kept in (self._sent, self._own, self._seeds):
            kept.clear()

    def require_apart(self) -> None:
        """Raise `NotMeasuredError` if another conversation is held in this session."""
        if self.mixed:
            raise NotMeasuredError(self.mixed, ways=APART)

    @property
    def _shown(self) -> str:
        return f"“{shorten(clean_line(self.id), 100)}”"

    def _called(self, other: Session | PastSession) -> str:
        if other.run == self.run:
            return other.title
        return f"{other.title} of run {other.run}"

    def _mix(self, others: Sequence[Session | PastSession], message: str) -> None:
        """Mark this conversation, and the others that are still held, if they are held at the same
        time.
        """
        meanwhile = [other for other in others if isinstance(other, Session) and other.is_open]
        if meanwhile or self.parallel:
            for each in (self, *meanwhile):
                each.mixed = each.mixed or message

    def _foreign(self, history: Sequence[Told]) -> tuple[str, Session | None] | None:
        """Return a message of a history that does not belong to this conversation, and the
        conversation in which it was said (None if that is not known); None if all belong to it.

        A user's message before the first one of this conversation was said in another one. Later
        ones, and answers, may be the agent's own notes, such as results of tools: they count only
        if another conversation is known to have them.
        """
        # Seeds are left out: the agent was told them otherwise, and may have them in its history.
        told = [
            (role, key, text)
            for role, text in history
            if (key := _key(text)) not in ("", *self._seeds)
        ]
        users = [(key, text) for role, key, text in told if role == "user"]
        first, matched = self._place_of_own([key for key, _ in users])
        if first:
            # What this conversation never said shows better than what it said once, and the history
            # holds twice.
            key, text = min(users[:first], key=lambda told: told[0] in self._own)
            return text, self.shared.who_said(self, key)
        later = [users[at] for at in range(first, len(users)) if at not in matched]
        answers = [(key, text) for role, key, text in told if role == "assistant"]
        for key, text in (*later, *(one for one in answers if len(one[0]) >= SHORTEST_ANSWER)):
            if key in self._own:
                continue
            other = self.shared.who_said(self, key)
            if other is not None:
                return text, other
        return None

    def _place_of_own(self, keys: Sequence[str]) -> tuple[int, set[int]]:
        """Return where this conversation begins among the user's messages of a history, and the
        places of its messages.

        It begins with the first of all if the history, which may be cut, does not hold its first
        message.
        """
        start = max(0, len(keys) - len(self._sent) * 2 - MOST_EXTRA)
        place, matched, found = len(keys), set[int](), False
        for sent in reversed(self._sent):
            at = _last_like(sent.key, keys, start, place)
            found = at is not None
            if at is None:
                continue
            place = at
            matched.add(at)
            for _ in range(sent.times - 1):  # attempts that failed
                if place == start or not _is_message(sent.key, keys[place - 1]):
                    break
                place -= 1
                matched.add(place)
        if found or len(self._sent) == 1:
            return place, matched
        return 0, matched


class Sessions:
    """The sessions of all conversations of a batch, by agent."""

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str], list[Session | PastSession]] = {}
        self._by_words: dict[tuple[str, int], Session] = {}

    def take(self, session: Session) -> list[Session | PastSession]:
        """Note the id of a session; return the sessions that had it before."""
        known = self._by_id.setdefault((session.agent, session.id), [])
        earlier = list(known)
        known.append(session)
        return earlier

    def end(self, session: Session) -> None:
        """Keep of a session only what sentences call it."""
        known = self._by_id.get((session.agent, session.id), [])
        known[:] = [
            PastSession(session.run, session.title) if each is session else each for each in known
        ]

    def note(self, session: Session, keys: set[str]) -> None:
        """Note what was said in a conversation whose agent repeats it."""
        for key in keys:
            self._by_words.setdefault((session.agent, hash(key)), session)

    def who_said(self, other_than: Session, key: str) -> Session | None:
        """Return another conversation in which something was said; None if none is known."""
        session = self._by_words.get((other_than.agent, hash(key)))
        if session is other_than:
            return None
        return session

    def recall(self, run: str, agent: str, ids: Mapping[str, str]) -> None:
        """Note the ids of a resumed run's sessions, which are over, with the titles of their
        conversations.
        """
        for identity, title in ids.items():
            self._by_id.setdefault((agent, identity), []).append(PastSession(run, title))


class OverheardAgent:
    """An agent of whose calls its session is told. What else it has stays as it is."""

    def __init__(self, agent: Agent, session: Session) -> None:
        self._agent = agent
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    async def open(self) -> str:
        """Create a session and return its id."""
        identity = await self._agent.open()
        self._session.named(identity)
        return identity

    async def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
        """Send one user message; yield what the agent does.

        Raises `NotMeasuredError` if another conversation is in the session.
        """
        self._session.require_apart()
        self._session.sends(content)
        async with aclosing(self._agent.send(content)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                if isinstance(piece, Reply):
                    self._session.answered(piece)
                yield piece

    async def seed_text(self, text: str) -> None:
        """Send a text to the agent's knowledge service."""
        self._session.told(text)
        await self._agent.seed_text(text)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Record a message as history, without an answer."""
        recorded = await self._agent.seed_history(role, content)
        if recorded and role == "user":
            self._session.sends(content)
        elif recorded:
            self._session.told(content)
        return recorded


def _key(text: str) -> str:
    """Return a text as it is compared: its words, because agents change spaces, signs and letters'
    case.
    """
    plain = unicodedata.normalize("NFKC", clean(text[: 2 * LONGEST])).casefold()
    return " ".join(_WORD.findall(plain))[:LONGEST]


def _is_message(sent: str, theirs: str) -> bool:
    """Return whether a message is the one that was sent, perhaps with something around it."""
    return sent == theirs or f" {sent} " in f" {theirs} "


def _is_like(sent: str, theirs: str) -> bool:
    both = SequenceMatcher(None, sent, theirs, autojunk=False)
    return (
        both.real_quick_ratio() >= ALIKE and both.quick_ratio() >= ALIKE and both.ratio() >= ALIKE
    )


def _last_like(sent: str, keys: Sequence[str], start: int, end: int) -> int | None:
    """Return the last place between `start` and `end` of a message that is the sent one: equal,
    with more, or similar.
    """
    for same in (str.__eq__, _is_message, _is_like):
        for at in range(end - 1, start - 1, -1):
            if same(sent, keys[at]):
                return at
    return None
