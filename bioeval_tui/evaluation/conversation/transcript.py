"""The transcript of one conversation, its form in assertions, and how the simulated user ends it: the sign-off, or goodbyes in
other words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from bioeval_tui.evaluation.conversation.traces import ConversationTraces
from bioeval_tui.evaluation.job.loading import job_snapshot
from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.seams import JudgeView, TranscriptMessage
from bioeval_tui.record.names import Condition
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.record.tool_calls import request_of


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

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that the evaluator may know."""
        return self.job.facts if self.condition == "supplied" else ()

    @property
    def latencies_ms(self) -> list[float]:
        """The agent's latencies, in order."""
        return [m.latency_ms for m in self.messages if m.role == "assistant" and m.latency_ms is not None]

    @property
    def answers(self) -> int:
        """How many answers the agent gave; without a latency if this program did not run meanwhile."""
        return sum(m.role == "assistant" for m in self.messages)

    @property
    def empty_answers(self) -> int:
        """How many of the agent's answers have no word."""
        return sum(m.role == "assistant" and not m.content.strip() for m in self.messages)

    @property
    def last_agent_message(self) -> str:
        """The agent's last message; empty at the start."""
        return next((m.content for m in reversed(self.messages) if m.role == "assistant"), "")

    def heard(self) -> list[TranscriptMessage]:
        """Return the messages with the tool calls that spans have reported so far."""
        traces = self.traces
        if traces is None:
            return self.messages
        return [
            replace(m, generation=(*m.generation, *calls))
            if m.role == "assistant" and (calls := traces.calls(m.message, m.generation))
            else m
            for m in self.messages
        ]

    def settle(self) -> list[tuple[int, Sequence[Mapping[str, Any]]]]:
        """Add the tool calls of spans to the messages; return the additions by message."""
        heard = self.heard()
        added = [
            (now.message, now.generation[len(before.generation) :])
            for before, now in zip(self.messages, heard, strict=True)
            if before is not now
        ]
        self._untraced, self.messages, self.traces = self.untraced_turns, heard, None
        return added

    @property
    def untraced_turns(self) -> tuple[int, ...]:
        """The turns (numbered as for tool calls) with missing spans; empty if no spans are received.

        If no span arrived at all but the protocol reported calls, those calls count.
        """
        if self.traces is None:
            return self._untraced
        missing = set(self.traces.incomplete())
        told = any(request_of(event) is not None for m in self.messages for event in m.generation)
        if not self.traces.told_anything and told:
            return ()
        turns, turn = [], 0
        for message in self.messages:
            turn += message.role == "user"
            if message.message in missing:
                turns.append(turn)
        return tuple(turns)

    def as_evaluation(self) -> dict[str, Any]:
        """Return `evaluation` as assertions see it; seeds are not in it.

        As published, the transcript ends with the sign-off and user messages have the evaluator's time. A job
        with `compat: v0.1` gets neither.
        """
        published = self.job.compat != "v0.1"
        heard = self.heard()
        messages = [*heard, self.signoff] if published and self.signoff else heard
        if not self._job:
            self._job = job_snapshot(self.job)
        events = [dict(event) for message in heard for event in message.generation]
        return {
            "transcript": [
                {
                    "content": message.content,
                    "role": message.role,
                    "timeTakenMillis": round(message.latency_ms or 0.0)
                    if published or message.role == "assistant"
                    else 0,
                    "events": [dict(event) for event in message.generation],
                }
                for message in messages
            ],
            "functionCalls": [call for event in events if (call := _function_call(event)) is not None],
            "events": events,
            "failureCount": self.failures,
            "done": self.done,
            "model": self.model or "",
            "sessionId": self.session_id,
            "job": self._job,
        }


def for_judge(
    job: EvaluationJob,
    condition: Condition,
    messages: Sequence[TranscriptMessage],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> JudgeView:
    """Return what the judge may see of a finished conversation, with the object contexts at its start and end."""
    seen = job.scorer.context
    if seen == "none":
        messages = [replace(message, generation=()) for message in messages]
    states = (before, after) if seen == "all" else (None, None)
    return JudgeView(job, condition, tuple(messages), *states)


def sent_messages(talk: ConversationState, signoff: str) -> tuple[TranscriptMessage, ...]:
    """Return a recorded conversation as the judge sees it: what was sent, never the sign-off."""
    messages = []
    for m in talk.messages:
        words = without_signoff(m.text, signoff) if m.signs_off else m.text
        if m.done and words:
            messages.append(_transcript_message(m, words))
    return tuple(messages)


def recorded_signoff(talk: ConversationState) -> TranscriptMessage | None:
    """Return the whole message with which a recorded conversation ended, or None."""
    return next(
        (_transcript_message(m, m.text) for m in reversed(talk.messages) if m.done and m.signs_off), None
    )


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
    """Return the words around the sign-off (may be empty), or None if `content` does not contain it.

    Only its words and their order count, because models change its punctuation, emphasis, case and line breaks.
    """
    parts = _pattern(signoff).split(content)
    if len(parts) == 1:
        return None
    parts[:-1] = [part.rstrip(_MARKS) for part in parts[:-1]]
    parts[1:] = [part.lstrip(_MARKS + _ENDS) for part in parts[1:]]
    rest = " ".join(parts).strip()
    return rest if re.search(r"[^\W_]", rest) else ""


# Without a repeat that can begin anywhere, because models may write 100,000 marks: that would take minutes.
@lru_cache(maxsize=64)
def _pattern(signoff: str) -> re.Pattern[str]:
    words = re.findall(rf"[^\W_]+(?:[{_APOSTROPHES}][^\W_]+)*", signoff)
    if not words:  # a sign-off of signs alone, such as a waving hand
        return re.compile(re.escape(signoff.strip()))
    spelled = (re.sub(f"[{_APOSTROPHES}]", f"[{_APOSTROPHES}]?", re.escape(word)) for word in words)
    between = r"[\W_]+"
    return re.compile(rf"(?<![^\W_]){between.join(spelled)}(?![^\W_])", re.IGNORECASE)


_SENTENCES = re.compile(r"(?<=[.!?…])\s+|\n+")
_FAREWELL = re.compile(
    r"\b(?:good\s?-?bye|bye(?:[- ]bye)?|farewell|cheerio|so long(?! as)|take care(?! of)|see (?:you|ya)|good night|until next time"
    r"|(?:talk|speak) (?:to you )?(?:soon|later)|all the best|best wishes"
    r"|au revoir|auf wiedersehen|tsch(?:ü|ue)ss|hasta luego|adi[oó]s|arrivederci|ciao|tot ziens)(?!\w)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\b(?:you too|same to you|(?:i'm|i am|we're) all set|i'll (?:definitely |certainly )?(?:reach out|be in touch|get back)"
    r"|that(?:'s| is|'ll be| will be| would be| should be| was) (?:really )?(?:all|everything)(?: (?:i|for)\b|\W*$)"
    # compliments and wishes, which an agent may say at the end of a task
    r"|(?<!i )(?<!to )have an? (?:\w+ ){0,2}(?:day|one|evening|night|weekend|week|afternoon|morning|trip|flight)"
    r"|you(?:'re| are|'ve been| have been| were) (?:so |very |really |truly |all |the |an? |most |just )*"
    r"(?:help\w*|kind|great|wonderful|best|amazing|awesome|patient|excellent|lenient|friendly|lifesaver|star)"
    r"|i (?:hope|wish) (?:it|this|that|you|all|everything))(?!\w)",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\b(?:thank(?:s| you)?|thx|appreciate[ds]?|grateful|cheers|merci|danke|gracias|grazie)\b", re.IGNORECASE
)
_ASKS = re.compile(
    r"[?]|\b(?:please|(?:could|can|would) you|(?<!if )(?<!all )(?<!everything )(?<!what )i(?:'d like| would like| need(?!ed)| want(?!ed))(?! (?:nothing|to thank))|but|also)\b|\d",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
FILLER = 5
"""A sentence of at most this many words beside a goodbye says nothing: "Great, I will."."""
LONGEST_GOODBYE = 40
"""Longer messages, in words, say more than goodbye."""


def bids_farewell(text: str) -> bool:
    """Return whether a message has a word of farewell: in English, or one of a few other languages."""
    return _FAREWELL.search(text.replace("’", "'")) is not None


def says_goodbye(text: str) -> bool:
    """Return whether a message says goodbye in whatever words, such as "That's all, thank you"."""
    return bids_farewell(text) or _CLOSING.search(text.replace("’", "'")) is not None


def only_goodbye(text: str) -> bool:
    """Return whether a message says nothing but thanks and goodbye."""
    plain = text.replace("’", "'")
    if _ASKS.search(plain) or not (says_goodbye(plain) or _THANKS.search(plain)):
        return False
    if len(_WORD.findall(plain[:1000])) > LONGEST_GOODBYE:
        return False
    return all(
        says_goodbye(part) or _THANKS.search(part) or len(_WORD.findall(part)) <= FILLER
        for part in _SENTENCES.split(plain)
    )
