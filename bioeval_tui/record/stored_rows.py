"""One conversation of a large recording as a row, both ways: from the conversation to its numbers
(`numbers_of`), and from the numbers to what looks like the conversation (`StoredConversation`).

A number that views ask of each conversation is a field of `Numbers`, which `numbers_of` fills in
and `StoredConversation` returns. Whatever is no field is right, too, but slow to ask of thousands:
the conversation is read again for it. A row has no text, but the number of one (`RowSource.text`).
"""

from __future__ import annotations

import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.record import events
from bioeval_tui.record.cases import Case
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.reading import LineReader, changed_while_shown
from bioeval_tui.record.state import (
    ConversationKey,
    ConversationState,
    MessageState,
    RunState,
    TokenCounts,
    apply,
)

if TYPE_CHECKING:
    from bioeval_tui.record.masking.mask import Mask


MOST_WHOLE = 64
"""The number of conversations whose texts stay in memory once they were read."""
MOST_KEEPING, LAST_KEEPING = 12_000, 4
"""Up to how many conversations of a run keep the parts that were made of them; of a larger run, the
last ones: kept by all, parts would take half of its memory."""
MOST_ALIKE = 5_000
"""The number of different parts of rows that are remembered, so that equal ones are one."""
Line = tuple[int, bytes]
"""A line and the number of bytes before it, as `LineReader.feed_placed` returns them."""


@dataclass(slots=True)
class Piece:
    """Where the lines of one conversation stand, and what they were when they were read."""

    places: array[int] = field(default_factory=lambda: array("Q"))
    """First byte and length of each run of lines, one after another."""
    checksum: int = 0

    def add(self, line: Line) -> None:
        offset, data = line
        length = len(data) + 1
        if self.places and self.places[-2] + self.places[-1] == offset:
            self.places[-1] += length
        else:
            self.places.extend((offset, length))
        self.checksum = zlib.crc32(b"\n", zlib.crc32(data, self.checksum))


class RowSource:
    """What the rows of a recording are read with: the texts, cases and numbers that conversations
    share.

    It knows no row but those that keep their parts, so that nothing of a run stays in memory that
    nobody shows any more.
    """

    def __init__(self, path: Path, mask: Mask | None) -> None:
        self.path, self.mask = path, mask
        self.texts: list[str] = []
        self.cases: list[Case] = []
        self._keepers: deque[StoredConversation] = deque()
        self._most_keeping = MOST_KEEPING
        self._run = RunState()
        self._trial_cases: dict[tuple[int, int], Case] = {}
        self._parts: dict[tuple[Any, ...], events.ScorePart] = {}
        self._whole: dict[ConversationKey, ConversationState] = {}
        self._keeping = Lock()
        """A screen shows a conversation while a thread reads others."""
        self._alike: dict[str, Any] = {}

    def take_run(self, state: RunState) -> None:
        """Note what a conversation is folded with: the job and the cases of the run."""
        self._run = RunState(state.started, cases=state.cases, _parts=state._parts)

    def keep_parts(self, talk: StoredConversation) -> None:
        """Let a conversation keep its parts, as long as there are not too many that do."""
        self._keepers.append(talk)
        if len(self._keepers) > self._most_keeping:
            self._most_keeping = LAST_KEEPING
        while len(self._keepers) > self._most_keeping:
            self._keepers.popleft().forget_parts()

    def text(self, number: int) -> str:
        """Return a text by its number."""
        return self.texts[number] if number >= 0 else ""

    def case(self, trial: int, number: list[int] | int | None) -> Case | None:
        """Return a case by its number and the case's trial."""
        if number is None:
            return None
        if isinstance(number, int):
            return self._run.cases[trial - 1]
        which, of_case = number
        known = self._trial_cases.get((which, of_case))
        if known is None:
            known = self.cases[which].in_trial(of_case)
            self._trial_cases[which, of_case] = known
        return known

    def part(
        self, name: Any, weight: float, value: float | None, left_out: bool, reason: int
    ) -> events.ScorePart:
        """Return a part of a score; equal ones are one."""
        key = (name, weight, value, left_out, reason)
        if key not in self._parts:
            self._parts[key] = events.ScorePart(
                name=name, weight=weight, value=value, left_out=left_out, reason=self.text(reason)
            )
        return self._parts[key]

    def shared(self, numbers: Numbers) -> Numbers:
        """Return the same, with equal parts shared by all conversations: most are alike."""
        alike = self._alike
        if len(alike) > MOST_ALIKE:
            alike.clear()
        others = [
            each if each is None or isinstance(each, int) else alike.setdefault(repr(each), each)
            for each in numbers[_OWN:]
        ]
        return Numbers._make([*numbers[:_OWN], *others])

    def whole(self, key: ConversationKey, piece: Piece) -> ConversationState:
        """Return a conversation with its texts; the last ones stay in memory.

        Raises:
            RecordingError: the recording is no longer what it was.
        """
        talk = self._whole.get(key)
        if talk is None:
            talk = self.read_whole(key, piece)
            with self._keeping:
                if len(self._whole) >= MOST_WHOLE:
                    del self._whole[next(iter(self._whole))]
                self._whole[key] = talk
        return talk

    def read_whole(self, key: ConversationKey, piece: Piece) -> ConversationState:
        """Return a conversation, read from the recording.

        Raises:
            RecordingError: the recording is no longer what it was.
        """
        run = self._run
        folded = RunState(run.started, cases=run.cases, _parts=run._parts)
        for event in self.events(piece):
            apply(folded, event)
        talk = folded.conversations.get(key)
        if talk is None:
            raise changed_while_shown(self.path)
        return talk

    def events(self, piece: Piece) -> Iterator[RunEvent]:
        """Yield the events of some lines, all of them of a conversation or none, masked.

        Raises:
            RecordingError: the recording is no longer what it was.
        """
        data = b""
        try:
            with self.path.open("rb") as file:
                for offset, length in zip(piece.places[::2], piece.places[1::2], strict=True):
                    file.seek(offset)
                    data += file.read(length)
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be read: {error.strerror}") from None
        if zlib.crc32(data) != piece.checksum:
            raise changed_while_shown(self.path)
        written = LineReader(self.path.name).feed(data)
        yield from written if self.mask is None else self.mask.events(written)


class _Partial(BaseModel):
    """A part of a conversation, of which only some fields are known; the others are read from the
    recording when they are asked for.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def of(cls, talk: StoredConversation, known: dict[str, Any], at: int = 0) -> Any:
        """Return it with the fields that are known; `at` is its place among those of its kind."""
        known["_talk"], known["_at"] = talk, at
        made = cls.__new__(cls)
        for name, value in (
            ("__dict__", known),
            ("__pydantic_fields_set__", _NOT_NOTED),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            object.__setattr__(made, name, value)
        return made

    def __getattr__(self, name: str) -> Any:
        # pydantic and copy look for names with underscores that no event has
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._in_whole(), name)

    def _in_whole(self) -> Any:
        return self._find(self.__dict__["_talk"].recorded, self.__dict__["_at"])

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        raise NotImplementedError

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return all fields, those that are read from the recording, too."""
        known = {name: value for name, value in self.__dict__.items() if name[0] != "_"}
        dumped: dict[str, Any] = self._in_whole().model_copy(update=known).model_dump(**options)
        return dumped


_NOT_NOTED: set[str] = set()


class _Task(_Partial, events.TaskScored):
    model_config = ConfigDict(defer_build=True)

    @property
    def unproved(self) -> bool:
        """As of `TaskScored`."""
        return bool(self.__dict__["_is_unproved"])

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        assert whole.verdict is not None
        return whole.verdict.tasks[at]


class _Verdict(_Partial, events.TranscriptScored):
    model_config = ConfigDict(defer_build=True)

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return whole.verdict


class _Score(_Partial, events.ConversationScored):
    model_config = ConfigDict(defer_build=True)

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return whole.score


class _Ended(_Partial, events.ConversationEnded):
    model_config = ConfigDict(defer_build=True)

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return whole.ended


class _Check(_Partial, events.AssertionChecked):
    model_config = ConfigDict(defer_build=True)

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return next(check for check in whole.latest_checks() if check.index == at)


class _Fact(_Partial, events.FactDisclosed):
    model_config = ConfigDict(defer_build=True)

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return whole.facts[at]


class _Warning(_Partial, events.Warned):
    model_config = ConfigDict(defer_build=True)

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return whole.warnings[at]


class StoredConversation(ConversationState):
    """A conversation of which the numbers are known, and which is read again for anything else.

    It looks like any other to who reads it; nobody may change it. What is not set here comes from
    `whole`, by `__getattr__`. Later verdicts and reviews make copies of it (`changed`).
    """

    __slots__ = ("_changes", "_kept", "_numbers", "_piece", "_source")

    def __init__(
        self, source: RowSource, key: ConversationKey, piece: Piece, numbers: Numbers
    ) -> None:
        self._source, self._piece, self._numbers = source, piece, source.shared(numbers)
        self._changes = _UNCHANGED
        """The fields that are not as recorded."""
        self._kept = _NOTHING_KEPT
        self.key, self.attempt, self.phase = key, numbers.attempt, self._numbers.phase  # type: ignore[assignment]
        self.case = source.case(key.trial, numbers.case)
        for name in _OFTEN_ASKED:
            if name not in numbers.has:
                setattr(self, name, _NOTHING[name])

    def __getattr__(self, name: str) -> Any:
        if (
            name.startswith("__") or name in self.__slots__
        ):  # copy asks for these before there are any
            raise AttributeError(name)
        if name in _EMPTY and name not in self._numbers.has:
            return _EMPTY[name]()
        return getattr(self.whole, name)

    @property
    def whole(self) -> ConversationState:
        """The conversation as the recording has it.

        Raises:
            RecordingError: the recording is no longer what it was.
        """
        return replace(self.recorded, **self._changes) if self._changes else self.recorded

    @property
    def recorded(self) -> ConversationState:
        """The same without later verdicts and reviews.

        Raises:
            RecordingError: the recording is no longer what it was.
        """
        return self._source.whole(self.key, self._piece)

    @property
    def row(self) -> tuple[Piece, Numbers]:
        """Where it stands in the recording, and its numbers there."""
        return self._piece, self._numbers

    def changed(self, **fields: Any) -> StoredConversation:
        other = StoredConversation.__new__(StoredConversation)
        for name in _SLOTS:
            # `getattr` would read the whole conversation for what is not set
            with suppress(AttributeError):
                setattr(other, name, object.__getattribute__(self, name))
        for name in fields.keys() - _MADE:
            setattr(other, name, fields[name])
        other._changes = self._changes | fields
        other.forget_parts()
        return other

    def forget_parts(self) -> None:
        """Let go of the parts that were made; they are made again when they are asked for."""
        self._kept = _NOTHING_KEPT

    def _made(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a part, made when it is first asked for."""
        if name in self._changes:
            return self._changes[name]
        kept = self._kept
        if name in kept:
            return kept[name]
        if kept is _NOTHING_KEPT:
            kept = self._kept = {}
            self._source.keep_parts(self)
        made = kept[name] = make()
        return made

    @property
    def ended(self) -> events.ConversationEnded | None:  # type: ignore[override]
        """As of `ConversationState`; so are those that follow."""
        return self._made("ended", self._made_end)  # type: ignore[no-any-return]

    def _made_end(self) -> events.ConversationEnded | None:
        if self._numbers.ended is None:
            return None
        reason, fault, is_plain = self._numbers.ended
        known = {"reason": reason, "fault": fault, "duration_ms": self._numbers.duration_ms}
        if is_plain:
            known |= {"detail": "", "ways": (), "received": ""}
        made: events.ConversationEnded = _Ended.of(self, known)
        return made

    @property
    def score(self) -> events.ConversationScored | None:  # type: ignore[override]
        return self._made("score", self._made_score)  # type: ignore[no-any-return]

    def _made_score(self) -> events.ConversationScored | None:
        if self._numbers.score is None:
            return None
        score, parts, penalty, failures, reason, fault, cancelled = self._numbers.score
        known = {
            "score": score,
            "parts": tuple([self._source.part(*part) for part in parts]),
            "penalty": penalty,
            "failures": failures,
            "average_latency_ms": self._numbers.average_ms,
            "reason": self._source.text(reason),
            "fault": fault,
            "cancelled": cancelled,
        }
        made: events.ConversationScored = _Score.of(self, known)
        return made

    @property
    def verdict(self) -> events.TranscriptScored | None:  # type: ignore[override]
        return self._made("verdict", self._made_verdict)  # type: ignore[no-any-return]

    def _made_verdict(self) -> events.TranscriptScored | None:
        if self._numbers.verdict is None:
            return None
        (
            judge, author, judging, question, kept, prompts, has_error, tone, tokens_in, tokens_out,
            tasks,
        ) = self._numbers.verdict  # fmt: skip
        text = self._source.text
        known = {
            "judge": text(judge),
            "author": None if author is None else text(author),
            "judging": text(judging),
            "question": text(question),
            "kept": kept,
            "prompts": {text(name): text(digest) for name, digest in prompts},
            "tone": tone,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "tasks": tuple([self._task(at, task) for at, task in enumerate(tasks)]),
        }
        if not has_error:
            known["error"] = None
        made: events.TranscriptScored = _Verdict.of(self, known)
        return made

    def _task(self, at: int, row: Sequence[Any]) -> events.TaskScored:
        number, title, score, passed, spread, points, tags, weight, asked, kept, of_user, more = row
        known = {
            "task": number,
            "title": self._source.text(title),
            "score": score,
            "passed": passed,
            "spread": spread,
            "points": points,
            "tags": tuple([self._source.text(tag) for tag in tags]),
            "weight": weight,
            "asked": asked,
            "kept_by": kept,
            "only_of_user": of_user,
            "_is_unproved": more & _IS_UNPROVED,
        }
        if not more & _HAS_REASON:
            known["reason"] = ""
        if not more & _HAS_EVIDENCE:
            known["evidence"] = ()
        made: events.TaskScored = _Task.of(self, known, at)
        return made

    @property
    def final_checks(self) -> dict[int, events.AssertionChecked]:  # type: ignore[override]
        return self._made("final_checks", self._made_checks)  # type: ignore[no-any-return]

    def _made_checks(self) -> dict[int, events.AssertionChecked]:
        return {check.index: check for check in map(self._check, self._numbers.checks)}

    def _check(self, row: Sequence[Any]) -> events.AssertionChecked:
        index, title, weight, status, from_start, after_turn = row
        known = {
            "index": index,
            "title": self._source.text(title),
            "weight": weight,
            "status": status,
            "final": True,
            "from_start": from_start,
            "after_turn": after_turn,
        }
        made: events.AssertionChecked = _Check.of(self, known, index)
        return made

    @property
    def warnings(self) -> list[events.Warned]:  # type: ignore[override]
        return [
            _Warning.of(self, {"code": self._source.text(code)}, at)
            for at, code in enumerate(self._numbers.warnings)
        ]

    @property
    def facts(self) -> list[events.FactDisclosed]:
        return [
            _Fact.of(self, {"fact": fact, "asked": asked, "message": message, "turn": turn}, at)
            for at, (fact, asked, message, turn) in enumerate(self._numbers.facts)
        ]

    @property
    def agents_graph(self) -> events.AgentsGraph | None:
        return self._numbers.agents_graph  # type: ignore[return-value]

    @property
    def agent_identity(self) -> str:
        return self._source.text(self._numbers.agent_identity)

    @property
    def start_parts(self) -> frozenset[str] | None:
        parts = self._numbers.start_parts
        return None if parts is None else frozenset(map(self._source.text, parts))

    @property
    def turns(self) -> int:
        return self._numbers.turns

    @property
    def latencies_ms(self) -> list[float]:
        return self._numbers.latencies_ms

    @property
    def first_tokens_ms(self) -> list[float]:
        return self._numbers.first_tokens_ms

    @property
    def blocked_answers(self) -> int:
        return self._numbers.blocked_answers

    @property
    def failures(self) -> int:
        return self._numbers.failures

    @property
    def violations(self) -> list[events.EvaluatorViolated]:
        return self.whole.violations if "violations" in self._numbers.has else []

    @property
    def user_faults(self) -> list[events.UserFault]:
        is_later = self.verdict is not None and not isinstance(self.verdict, _Verdict)
        if is_later or "user_faults" in self._numbers.has:
            return super().user_faults
        return []

    @property
    def persona_facts(self) -> PersonaFacts | None:
        return self.whole.persona_facts if "persona_facts" in self._numbers.has else None

    @property
    def can_be_judged(self) -> bool:
        return self.is_result and self._numbers.answers > 0

    @property
    def user_replies(self) -> bool:
        return self._numbers.user_replies

    @property
    def answers_ask(self) -> list[bool | None]:
        # the run's source is what tells whether anybody counts them
        return self.whole.answers_ask if self._numbers.asks is None else self._numbers.asks

    def words_told(self, *, without_greeting: bool) -> int:
        return self._numbers.words_told[without_greeting]

    def tokens_of(self, peer: Literal["agent", "evaluator"]) -> list[TokenCounts]:
        counts = self._numbers.tokens[peer == "evaluator"]
        if isinstance(counts, int):  # that many answers without any
            return [(None, None)] * counts
        return [(tokens_in, tokens_out) for tokens_in, tokens_out in counts]

    def message(self, number: int) -> MessageState | None:
        return self.whole.message(number)

    def sent(self, message: MessageState) -> bool:
        return self.whole.sent(message)

    def latest_checks(self) -> list[events.AssertionChecked]:
        if "unfinished_checks" in self._numbers.has and "checks" not in self._changes:
            return self.whole.latest_checks()
        return [self.final_checks[index] for index in sorted(self.final_checks)]


class Numbers(NamedTuple):
    """What is kept of a conversation; a text is its number among those of the run."""

    latencies_ms: list[float]
    first_tokens_ms: list[float]
    duration_ms: float | None
    average_ms: float | None
    """The agent's mean response time, as it was scored. These four are like no other's."""
    attempt: int
    phase: str
    case: list[int] | int | None
    """Which of the run's cases it is, and the case's trial; -1 for that of its place in the run."""
    has: list[str]
    """Of `_EMPTY` and of what checks find, what is not empty; and `unfinished_checks` if an
    assertion that was checked by turn was not checked at the end.
    """
    start_parts: Sequence[int] | None
    agents_graph: str | None
    agent_identity: int
    turns: int
    answers: int
    """The number of the agent's complete messages."""
    blocked_answers: int
    failures: int
    user_replies: bool
    words_told: list[int]
    """With the first message, and without it."""
    asks: list[bool | None] | None
    tokens: list[Any]
    """Of the agent and of the user: a pair for each answer, or the number of answers without any.
    """
    warnings: Sequence[int]
    facts: Sequence[Sequence[Any]]
    checks: Sequence[Sequence[Any]]
    ended: Sequence[Any] | None
    score: Sequence[Any] | None
    verdict: Sequence[Any] | None


_EMPTY: dict[str, Any] = {
    "messages": list,
    "checks": dict,
    "observations": list,
    "setups": list,
    "seeds": list,
    "warnings": list,
    "submissions": list,
    "request_failures": list,
    "unused": list,
    "abandoned": lambda: None,
}
_OFTEN_ASKED = ("request_failures", "unused", "abandoned")
_NOTHING: dict[str, Any] = {name: _EMPTY[name]() for name in _OFTEN_ASKED}
_UNCHANGED: dict[str, Any] = {}
_NOTHING_KEPT: dict[str, Any] = {}
_OWN = 4
_MADE = frozenset({"ended", "score", "verdict", "final_checks"})
"""The parts that are made when they are asked for, and of which later ones may count."""
_SLOTS = (*ConversationState.__slots__, *StoredConversation.__slots__)
_HAS_REASON, _HAS_EVIDENCE, _IS_UNPROVED = 1, 2, 4


# From a conversation to its numbers


def numbers_of(
    talk: ConversationState,
    case: list[int] | int | None,
    number: Callable[[str], int],
    *,
    is_imported: bool,
) -> Numbers:
    """Return the numbers of a conversation, given its case's; `number` returns that of a text."""
    has = [name for name in _EMPTY if getattr(talk, name) not in ([], {}, None)]
    derived = ("violations", "user_faults", "persona_facts")
    has += [name for name in derived if getattr(talk, name)]
    if not talk.checks.keys() <= talk.final_checks.keys():
        has.append("unfinished_checks")
    answers = [message for message in talk.messages if message.role == "assistant"]
    return Numbers(
        attempt=talk.attempt,
        phase=talk.phase,
        case=case,
        has=has,
        start_parts=None if talk.start_parts is None else [*map(number, sorted(talk.start_parts))],
        agents_graph=talk.agents_graph,
        agent_identity=number(talk.agent_identity),
        turns=talk.turns,
        answers=sum(message.done for message in answers),
        latencies_ms=talk.latencies_ms,
        first_tokens_ms=talk.first_tokens_ms,
        blocked_answers=talk.blocked_answers,
        failures=talk.failures,
        user_replies=talk.user_replies,
        words_told=[talk.words_told(without_greeting=without) for without in (False, True)],
        asks=None if is_imported else talk.answers_ask,
        tokens=[_packed_counts(talk.tokens_of(peer)) for peer in ("agent", "evaluator")],
        warnings=[number(warning.code) for warning in talk.warnings],
        facts=[[fact.fact, fact.asked, fact.message, fact.turn] for fact in talk.facts],
        checks=[_check_row(check, number) for check in talk.final_checks.values()],
        duration_ms=talk.ended.duration_ms if talk.ended else None,
        average_ms=talk.score.average_latency_ms if talk.score else None,
        ended=_end_row(talk.ended),
        score=_score_row(talk.score, number),
        verdict=_verdict_row(talk.verdict, number),
    )


def _check_row(check: events.AssertionChecked, number: Callable[[str], int]) -> list[Any]:
    return [
        check.index, number(check.title), check.weight, check.status, check.from_start,
        check.after_turn,
    ]  # fmt: skip


def _packed_counts(counts: Sequence[TokenCounts]) -> list[TokenCounts] | int:
    if all(count == (None, None) for count in counts):
        return len(counts)
    return list(counts)


def _end_row(ended: events.ConversationEnded | None) -> list[Any] | None:
    if ended is None:
        return None
    is_plain = not (ended.detail or ended.ways or ended.received)
    return [ended.reason, ended.fault, is_plain]


def _score_row(
    score: events.ConversationScored | None, number: Callable[[str], int]
) -> list[Any] | None:
    if score is None:
        return None
    parts = [
        [part.name, part.weight, part.value, part.left_out, number(part.reason)]
        for part in score.parts
    ]
    return [
        score.score, parts, score.penalty, score.failures, number(score.reason), score.fault,
        score.cancelled,
    ]  # fmt: skip


def _verdict_row(
    verdict: events.TranscriptScored | None, number: Callable[[str], int]
) -> list[Any] | None:
    if verdict is None:
        return None
    tasks = [
        [
            task.task, number(task.title), task.score, task.passed, task.spread, task.points,
            list(map(number, task.tags)), task.weight, task.asked, task.kept_by, task.only_of_user,
            (_HAS_REASON * bool(task.reason))
            | (_HAS_EVIDENCE * bool(task.evidence))
            | (_IS_UNPROVED * task.unproved),
        ]
        for task in verdict.tasks
    ]  # fmt: skip
    author = None if verdict.author is None else number(verdict.author)
    prompts = [[number(name), number(digest)] for name, digest in verdict.prompts.items()]
    return [
        number(verdict.judge), author, number(verdict.judging), number(verdict.question),
        verdict.kept, prompts, verdict.error is not None, verdict.tone, verdict.tokens_in,
        verdict.tokens_out, tasks,
    ]  # fmt: skip
