"""The transcript of one conversation, its form in assertions, and how the simulated user ends it:
the sign-off, or goodbyes in other words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import repeat
from typing import Any

from bioeval_tui.jobs.loading import job_snapshot
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.languages import Language, folded
from bioeval_tui.languages.segments import word_count
from bioeval_tui.languages.speech import possible_languages, says, split_sentences
from bioeval_tui.peers.seams import JudgeView, TranscriptMessage
from bioeval_tui.peers.traces import ConversationTraces
from bioeval_tui.record.attachments import has_contents
from bioeval_tui.record.names import Condition
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.record.tool_calls import readable_event, request_of


@dataclass
class _Read:
    """The messages that were read so far, as assertions see them, so that each is read once."""

    transcript: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    begins: list[tuple[int, int]] = field(default_factory=list)
    """How many events and calls there are before each message."""
    turns: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    """The places of the messages in these lists, by their numbers."""

    def forget(self, first: int) -> None:
        """Forget the messages from this place on."""
        if first < len(self.begins):
            events, calls = self.begins[first]
            del self.events[events:], self.calls[calls:]
            del self.transcript[first:], self.begins[first:], self.turns[first:]

    def take(self, message: TranscriptMessage, entry: dict[str, Any]) -> None:
        """Add a message; `entry` is what assertions see of it."""
        self.places[message.message] = len(self.transcript)
        self.begins.append((len(self.events), len(self.calls)))
        self.turns.append((self.turns[-1] if self.turns else 0) + (message.role == "user"))
        self.transcript.append(entry)
        self.events += entry["events"]
        self.calls += (
            call for event in entry["events"] if (call := _function_call(event)) is not None
        )


@dataclass
class SpokenTranscript:
    """The messages of one conversation, and counts over them."""

    job: EvaluationJob
    condition: Condition
    trial: int
    model: str | None
    session_id: str = ""
    messages: list[TranscriptMessage] = field(default_factory=list)
    signoff: TranscriptMessage | None = None
    disclosed: set[int] = field(default_factory=set)
    failures: int = 0
    done: bool = False
    traces: ConversationTraces | None = None
    """Pending spans; their tool calls are added to `messages` once they arrive."""
    _untraced: tuple[int, ...] = ()
    _job: dict[str, Any] = field(default_factory=dict)
    _read: _Read = field(default_factory=_Read)
    _calls_told: bool = False
    """Whether the protocol has reported a tool call."""

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that the evaluator may know."""
        return self.job.condition(self.condition).known(self.job.facts)

    @property
    def fact_numbers(self) -> tuple[int, ...]:
        """The numbers (from 1) of these facts in the job."""
        condition = self.job.condition(self.condition)
        return tuple(
            number for number in range(1, len(self.job.facts) + 1) if condition.knows(number)
        )

    @property
    def latencies_ms(self) -> list[float]:
        """The agent's latencies, in order."""
        return [
            m.latency_ms
            for m in self.messages
            if m.role == "assistant" and m.latency_ms is not None
        ]

    @property
    def answers(self) -> int:
        """How many answers the agent gave; without a latency if this program did not run
        meanwhile.
        """
        return sum(m.role == "assistant" for m in self.messages)

    @property
    def empty_answers(self) -> int:
        """How many of the agent's answers have no word, and no file."""
        return sum(
            m.role == "assistant" and not m.content.strip() and not has_contents(m.generation)
            for m in self.messages
        )

    @property
    def last_agent_message(self) -> str:
        """The agent's last message; empty at the start."""
        return next((m.content for m in reversed(self.messages) if m.role == "assistant"), "")

    def settle(self) -> list[tuple[int, Sequence[dict[str, Any]]]]:
        """Add the tool calls of spans to the messages; return the additions by message."""
        self._untraced = self.untraced_turns
        added = [(m.message, calls) for m in self.messages if (calls := self._traced(m))]
        self.messages = [
            replace(m, generation=(*m.generation, *self._traced(m))) for m in self.messages
        ]
        self.traces = None
        return added

    def _traced(self, message: TranscriptMessage) -> Sequence[dict[str, Any]]:
        """Return the tool calls of a message that only spans have reported so far."""
        if self.traces is None or message.role != "assistant":
            return ()
        return self.traces.calls(message.message, message.generation)

    def _catch_up(self) -> _Read:
        """Read the messages that are new, and again from the first on of whose answer more spans
        arrived.
        """
        read = self._read
        if self.traces is not None:
            changed = (read.places.get(number) for number in self.traces.changed())
            read.forget(
                min((place for place in changed if place is not None), default=len(read.begins))
            )
        for message in self.messages[len(read.begins) :]:
            self._calls_told |= any(request_of(event) is not None for event in message.generation)
            read.take(message, self._entry(message, (*message.generation, *self._traced(message))))
        return read

    def _entry(
        self, message: TranscriptMessage, generation: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        return {
            "content": message.content,
            "role": message.role,
            "timeTakenMillis": round(message.latency_ms or 0.0),
            "events": [readable_event(event) for event in generation],
        }

    @property
    def untraced_turns(self) -> tuple[int, ...]:
        """The turns (numbered as for tool calls) with missing spans; empty if no spans are
        received.

        If no span arrived at all but the protocol reported calls, those calls count.
        """
        if self.traces is None:
            return self._untraced
        read = self._catch_up()
        if not self.traces.told_anything and self._calls_told:
            return ()
        return tuple(
            read.turns[read.places[number]]
            for number in self.traces.incomplete()
            if number in read.places
        )

    def as_evaluation(self) -> dict[str, Any]:
        """Return `evaluation` as assertions see it, until the next message; seeds are not in it.

        As published, the transcript ends with the sign-off and user messages have the evaluator's
        time.
        """
        read = self._catch_up()
        signoff = self.signoff
        if not self._job:
            self._job = job_snapshot(self.job)
        transcript = read.transcript
        if signoff:
            transcript = [*transcript, self._entry(signoff, signoff.generation)]
        return {
            "transcript": transcript,
            "functionCalls": read.calls,
            "events": read.events,
            "failureCount": self.failures,
            "done": self.done,
            "model": self.model or "",
            "sessionId": self.session_id,
            "job": self._job,
        }


def judge_view(
    job: EvaluationJob,
    condition: Condition,
    messages: Sequence[TranscriptMessage],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> JudgeView:
    """Return what the judge may see of a finished conversation, with the object contexts at its
    start and end.
    """
    seen = job.scorer.context
    if seen == "none":
        messages = [
            replace(m, generation=tuple(e for e in m.generation if has_contents([e])))
            for m in messages
        ]
    if seen != "all":
        before = after = None
    return JudgeView(job, condition, tuple(messages), before, after)


def sent_messages(talk: ConversationState, signoff: str) -> tuple[TranscriptMessage, ...]:
    """Return a recorded conversation as the judge sees it: what was sent, never the sign-off."""
    messages = []
    for m in talk.messages:
        words = without_signoff(m.text, signoff) if m.signs_off else m.text
        if words is None:  # if it was sent, the job has another sign-off meanwhile
            words = m.text if talk.sent(m) else ""
        if m.done and (words or m.role == "assistant"):
            messages.append(_transcript_message(m, words))
    return tuple(messages)


def recorded_signoff(talk: ConversationState) -> TranscriptMessage | None:
    """Return the whole message with which a recorded conversation ended, or None."""
    return next(
        (_transcript_message(m, m.text) for m in reversed(talk.messages) if m.done and m.signs_off),
        None,
    )


def recorded_transcript(
    job: EvaluationJob, talk: ConversationState, model: str | None, until_turn: int | None = None
) -> SpokenTranscript:
    """Return a recorded conversation as the assertions of `job` see it: whole, or until the end of
    a turn.
    """
    transcript = SpokenTranscript(job, talk.key.condition, talk.key.trial, model)
    transcript.session_id = talk.session_id or ""
    transcript.failures = talk.failures
    transcript.done = (
        until_turn is None and talk.ended is not None and talk.ended.reason == "signed_off"
    )
    turns = {m.message: m.turn for m in talk.messages}
    transcript.messages = [
        message
        for message in sent_messages(talk, job.evaluator.signoff)
        if until_turn is None or turns[message.message] <= until_turn
    ]
    if transcript.done:
        transcript.signoff = recorded_signoff(talk)
    return transcript


def _transcript_message(m: MessageState, words: str) -> TranscriptMessage:
    took = m.latency_ms if m.role == "assistant" else m.thought_ms
    return TranscriptMessage(m.message, m.role, words, took, m.operator, tuple(m.generation))


def _function_call(event: dict[str, Any]) -> dict[str, Any] | None:
    request = request_of(event)
    if request is None:
        return None
    return {"function": request["function"].get("name", ""), "args": request.get("arguments") or {}}


_APOSTROPHES = "'’ʼ"
_MARKS = '*_"“”'
"""Emphasis and quotation marks."""
_ENDS = ".!?…"


def without_signoff(content: str, signoff: str) -> str | None:
    """Return the words around the sign-off (may be empty), or None if `content` does not contain
    it.

    Only its words and their order count, because models change its punctuation, emphasis, case and
    line breaks.
    """
    parts = _pattern(signoff).split(content)
    if len(parts) == 1:
        return None
    parts[:-1] = [part.rstrip(_MARKS) for part in parts[:-1]]
    parts[1:] = [part.lstrip(_MARKS + _ENDS) for part in parts[1:]]
    rest = " ".join(parts).strip()
    if re.search(r"[^\W_]", rest):
        return rest
    return ""


# Without a repeat that can begin anywhere, because models may write 100,000 marks: that would take
# minutes.
@lru_cache(maxsize=64)
def _pattern(signoff: str) -> re.Pattern[str]:
    words = re.findall(rf"[^\W_]+(?:[{_APOSTROPHES}][^\W_]+)*", signoff)
    if not words:  # a sign-off of signs alone, such as a waving hand
        return re.compile(re.escape(signoff.strip()))
    spelled = (re.sub(f"[{_APOSTROPHES}]", f"[{_APOSTROPHES}]?", re.escape(word)) for word in words)
    between = r"[\W_]+"
    return re.compile(rf"(?<![^\W_]){between.join(spelled)}(?![^\W_])", re.IGNORECASE)


_FAREWELL = re.compile(
    r"\b(?:good\s?-?bye|bye(?:[- ]bye)?|farewell|cheerio|so long(?! as)|take care(?! of)|see"
    r" (?:you|ya)|good night|until next time"
    r"|(?:talk|speak) (?:to you )?(?:soon|later)|all the best|best wishes"
    r"|au revoir|auf wiedersehen|tsch(?:ü|ue)ss|hasta luego|adi[oó]s|arrivederci|ciao|tot"
    r" ziens)(?!\w)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\b(?:you too|same to you|(?:i'm|i am|we're) all set|i'll (?:definitely |certainly )?(?:reach"
    r" out|be in touch|get back)"
    r"|that(?:'s| is|'ll be| will be| would be| should be| was) (?:really )?(?:all|everything)(?:"
    r" (?:i|for)\b|\W*$)"
    # compliments and wishes, which an agent may say at the end of a task
    r"|(?<!i )(?<!to )have an? (?:\w+"
    r" ){0,2}(?:day|one|evening|night|weekend|week|afternoon|morning|trip|flight)"
    r"|you(?:'re| are|'ve been| have been| were) (?:so |very |really |truly |all |the |an? |most"
    r" |just )*"
    r"(?:help\w*|kind|great|wonderful|best|amazing|awesome|patient|excellent|lenient|friendly"
    r"|lifesaver|star)"
    r"|i (?:hope|wish) (?:it|this|that|you|all|everything))(?!\w)",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\b(?:thank(?:s| you)?|thx|appreciate[ds]?|grateful|cheers|merci|danke|gracias|grazie)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？؟]|\b(?:please|(?:could|can|would) you|(?<!if )(?<!all )(?<!everything )(?<!what )i(?:'d"
    r" like| would like| need(?!ed)| want(?!ed))(?! (?:nothing|to thank))|but|also)\b|\d",
    re.IGNORECASE,
)
# These two decide `only_goodbye`, which "goodbye instead of an answer" and "goodbye three times" of
# docs/guards.md measure (scripts/seed-faults.py).
FILLER = 5
"""A sentence of at most this many words beside a goodbye says nothing: "Great, I will."."""
LONGEST_GOODBYE = 40
"""Longer messages, in words, say more than goodbye."""


def bids_farewell(text: str) -> bool:
    """Return whether a message has a word of farewell, in one of `LANGUAGES`."""
    return _FAREWELL.search(text.replace("’", "'")) is not None or says(text, "farewells")


def says_goodbye(text: str) -> bool:
    """Return whether a message says goodbye in whatever words, such as "That's all, thank you"."""
    return (
        bids_farewell(text)
        or _CLOSING.search(text.replace("’", "'")) is not None
        or says(text, "closings")
    )


def only_goodbye(text: str) -> bool:
    """Return whether a message says nothing but thanks and goodbye."""
    plain = text.replace("’", "'")
    if _ASKS.search(plain) or not _closes(plain):
        return False
    if word_count(plain[:1000]) > LONGEST_GOODBYE or any(
        map(_asks_for_more, possible_languages(plain), repeat(plain))
    ):
        return False
    return all(_closes(part) or word_count(part) <= FILLER for part in split_sentences(plain))


def _closes(text: str) -> bool:
    return says_goodbye(text) or _THANKS.search(text) is not None or says(text, "thanks")


def _asks_for_more(language: Language, text: str) -> bool:
    """Return whether a text asks for something in `language`, besides what it says as a goodbye."""
    said = folded(text)
    for table in ("closings", "thanks", "farewells"):
        said = language.phrases(table).remove(said)
    return any(language.phrases(table).find(said) for table in ("requests", "further"))
