"""Conversations of a large recording as rows: the numbers of each, and where in the file it stands.

Views of a run ask a few numbers of each of its conversations, and read the texts of a few. So a
`StoredConversation` has the numbers, and reads the conversation again when it is asked for anything
else: what it says is always what the recording says, and memory does not grow with the texts.

`read_stored` makes the rows from a recording, which takes as long as reading it. They can be kept
(`pack`) and taken up again (`unpack`) for as long as the recording has the same bytes. What is kept
has no text: a name that many conversations share, such as a task's title or a case's name, stands
as its place in the recording.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from bioeval_tui.base.errors import Problem, RecordingError
from bioeval_tui.base.settings import Settings
from bioeval_tui.record import events
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.events import RunEvent, with_fields
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.reading import CHUNK, LineReader, pause_collector
from bioeval_tui.record.runs import is_run_id
from bioeval_tui.record.state import (
    NOT_CLEAN,
    ConversationKey,
    ConversationState,
    MessageState,
    RunState,
    TokenCounts,
    WorkClock,
    apply,
)

LARGE = 4 << 20
"""The size in bytes from which a recording is read as rows: a smaller one is read in less than a
second.
"""
MOST_WHOLE = 64
"""The number of conversations whose texts stay in memory once they were read."""
MOST_BYTES = 1 << 29
"""The most bytes of rows that are read: those of a million conversations."""
HASH = "sha256"
ROWS = "rows"
"""The part of what is kept of a recording."""

Place = tuple[int, int]
"""Where something stands in the recording: its first byte, and how many bytes it has."""


class _Partial(BaseModel):
    """A part of a conversation, of which only some fields are known; the others are read from the
    recording when they are asked for.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    _plain: ClassVar[dict[str, Any]] = {}
    """The values that most of its kind have, which take no memory in each."""

    @classmethod
    def of(cls, talk: StoredConversation, at: int = 0, /, **known: Any) -> Any:
        """Return it with the fields that are known; `at` is its place among those of its kind."""
        plain = cls._plain
        known = {
            name: value for name, value in known.items() if value != plain.get(name, _NO_VALUE)
        }
        known["_talk"] = talk
        if at:
            known["_at"] = at
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
        if name in self._plain and name not in self.__dict__.get("_unknown", ()):
            return self._plain[name]
        return getattr(self._in_whole(), name)

    def _in_whole(self) -> Any:
        known = self.__dict__
        return self._find(known["_talk"].whole, known.get("_at", 0))

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        raise NotImplementedError

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return all fields, those that are read from the recording, too."""
        known = {name: value for name, value in self.__dict__.items() if name[0] != "_"}
        dumped: dict[str, Any] = self._in_whole().model_copy(update=known).model_dump(**options)
        return dumped


_NOT_NOTED: set[str] = set()
_NO_VALUE = object()


class _Task(_Partial, events.TaskScored):
    model_config = ConfigDict(defer_build=True)
    _plain: ClassVar[dict[str, Any]] = {
        "reason": "",
        "evidence": (),
        "spread": 0.0,
        "weight": 1.0,
        "asked": None,
        "only_of_user": False,
    }

    @property
    def unproved(self) -> bool:
        """As of `TaskScored`."""
        return "unproved" in self.__dict__.get("_unknown", ())

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        assert whole.verdict is not None
        return whole.verdict.tasks[at]


class _Verdict(_Partial, events.TranscriptScored):
    model_config = ConfigDict(defer_build=True)
    _plain: ClassVar[dict[str, Any]] = {
        "judging": "",
        "prompts": {},
        "tone": None,
        "tokens_in": None,
        "tokens_out": None,
    }

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return whole.verdict


class _Score(_Partial, events.ConversationScored):
    model_config = ConfigDict(defer_build=True)
    _plain: ClassVar[dict[str, Any]] = {
        "penalty": 0.0,
        "failures": 0,
        "average_latency_ms": None,
        "cancelled": False,
    }

    @staticmethod
    def _find(whole: ConversationState, at: int) -> Any:
        return whole.score


class _Ended(_Partial, events.ConversationEnded):
    model_config = ConfigDict(defer_build=True)
    _plain: ClassVar[dict[str, Any]] = {"ways": (), "received": ""}

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
    `whole`, by `__getattr__`.
    """

    __slots__ = ("_facts", "_numbers", "_source")

    def __init__(self, source: StoredRun, key: ConversationKey, numbers: _Numbers) -> None:
        self._source, self._numbers = source, numbers
        self.key, self.attempt, self.phase = key, numbers.attempt, numbers.phase  # type: ignore[assignment]
        self.case = source.case(key.trial, numbers.case)
        self._facts = [
            _Fact.of(self, at, fact=fact, asked=asked, message=message, turn=turn)
            for at, (fact, asked, message, turn) in enumerate(numbers.facts)
        ]
        for name in _OFTEN_ASKED:
            if name not in numbers.has:
                setattr(self, name, _NOTHING[name])
        if "warnings" in numbers.has:
            self.warnings = [
                _Warning.of(self, at, code=source.text(code))
                for at, code in enumerate(numbers.warnings)
            ]
        self.final_checks = {one.index: one for one in map(self._check, numbers.checks)}
        self.ended = self._made_end(numbers.ended)
        self.score = self._made_score(numbers.score)
        self.verdict = self._made_verdict(numbers.verdict)
        self._numbers = source.shared(
            numbers._replace(case=None, ended=None, score=None, verdict=None, checks=(), facts=())
        )

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
        return self._source.whole(self.key)

    def _check(self, row: Sequence[Any]) -> events.AssertionChecked:
        index, title, weight, status, from_start, after_turn = row
        made: events.AssertionChecked = _Check.of(
            self,
            index,
            index=index,
            title=self._source.text(title),
            weight=weight,
            status=status,
            final=True,
            from_start=from_start,
            after_turn=after_turn,
        )
        return made

    def _made_end(self, row: Sequence[Any] | None) -> events.ConversationEnded | None:
        if row is None:
            return None
        reason, fault, is_plain = row
        known: dict[str, Any] = {}
        if is_plain:
            known["detail"] = ""
        else:
            known["_unknown"] = ("ways", "received")
        made: events.ConversationEnded = _Ended.of(self, reason=reason, fault=fault, **known)
        return made

    def _made_score(self, row: Sequence[Any] | None) -> events.ConversationScored | None:
        if row is None:
            return None
        score, parts, penalty, failures, average_ms, reason, fault, cancelled = row
        made: events.ConversationScored = _Score.of(
            self,
            score=score,
            parts=tuple(self._source.part(*part) for part in parts),
            penalty=penalty,
            failures=failures,
            average_latency_ms=average_ms,
            reason=self._source.text(reason),
            fault=fault,
            cancelled=cancelled,
        )
        return made

    def _made_verdict(self, row: Sequence[Any] | None) -> events.TranscriptScored | None:
        if row is None:
            return None
        judge, author, judging, prompts, has_error, tone, tokens_in, tokens_out, tasks = row
        text = self._source.text
        known: dict[str, Any] = {} if has_error else {"error": None}
        made: events.TranscriptScored = _Verdict.of(
            self,
            judge=text(judge),
            author=None if author is None else text(author),
            judging=text(judging),
            prompts={text(name): text(digest) for name, digest in prompts},
            tone=tone,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            tasks=tuple(self._task(at, task) for at, task in enumerate(tasks)),
            **known,
        )
        return made

    def _task(self, at: int, row: Sequence[Any]) -> events.TaskScored:
        number, title, score, passed, spread, points, tags, weight, asked, kept, of_user, more = row
        made: events.TaskScored = _Task.of(
            self,
            at,
            task=number,
            title=self._source.text(title),
            score=score,
            passed=passed,
            spread=spread,
            points=points,
            tags=tuple(map(self._source.text, tags)),
            weight=weight,
            asked=asked,
            kept_by=kept,
            only_of_user=of_user,
            _unknown=_UNKNOWN_OF_TASK[more],
        )
        return made

    @property
    def agents_graph(self) -> events.AgentsGraph | None:
        """As of `ConversationState`; so are those that follow."""
        return self._numbers.agents_graph  # type: ignore[return-value]

    @property
    def agent_identity(self) -> str:
        return self._source.text(self._numbers.agent_identity)

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
    def facts(self) -> list[events.FactDisclosed]:
        return self._facts

    @property
    def violations(self) -> list[events.EvaluatorViolated]:
        return self.whole.violations if "violations" in self._numbers.has else []

    @property
    def user_faults(self) -> list[events.UserFault]:
        return self.whole.user_faults if "user_faults" in self._numbers.has else []

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
        if "checks" in self._numbers.has:
            return self.whole.latest_checks()
        return [self.final_checks[index] for index in sorted(self.final_checks)]


class _Numbers(NamedTuple):
    """What is kept of a conversation; a text is its number among those of the run."""

    attempt: int
    phase: str
    case: list[int] | int | None
    """Which of the run's cases it is, and the case's trial; -1 for that of its place in the run."""
    has: list[str]
    """Of `_EMPTY` and of what checks find, what is not empty."""
    agents_graph: str | None
    agent_identity: int
    turns: int
    answers: int
    """The number of the agent's complete messages."""
    latencies_ms: list[float]
    first_tokens_ms: list[float]
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
_OFTEN_ASKED = ("warnings", "request_failures", "unused", "abandoned")
_NOTHING: dict[str, Any] = {name: _EMPTY[name]() for name in _OFTEN_ASKED}
_HAS_REASON, _HAS_EVIDENCE, _IS_UNPROVED = 1, 2, 4
_UNKNOWN_OF_TASK = [
    tuple(
        name
        for flag, name in (
            (_HAS_REASON, "reason"),
            (_HAS_EVIDENCE, "evidence"),
            (_IS_UNPROVED, "unproved"),
        )
        if flag & flags
    )
    for flags in range(8)
]


class _UnknownTextError(Exception):
    """A text does not stand in the recording as it was read."""


_Line = tuple[int, bytes]
"""A line and the number of bytes before it, as `LineReader.feed_placed` returns them."""


@dataclass(slots=True)
class _Piece:
    """Where the lines of one conversation stand, and what they were when they were read."""

    places: list[int] = field(default_factory=list)
    """First byte and length of each run of lines, one after another."""
    checksum: int = 0

    def add(self, line: _Line) -> None:
        offset, data = line
        length = len(data) + 1
        if self.places and self.places[-2] + self.places[-1] == offset:
            self.places[-1] += length
        else:
            self.places += (offset, length)
        self.checksum = zlib.crc32(b"\n", zlib.crc32(data, self.checksum))


class StoredRun:
    """A recording whose conversations are rows."""

    def __init__(self, path: Path) -> None:
        self.path, self.state = path, RunState()
        self.problems: list[Problem] = []
        self.digest = ""
        """The hash of all bytes that were read."""
        self.kept_in: Catalogue | None = None
        """Where what is made of it is kept; None if nothing is."""
        self._pieces: dict[ConversationKey, _Piece] = {}
        self._rows: dict[ConversationKey, str | None] = {}
        """As JSON; None for a conversation that is no row: it is read whole."""
        self._loose = _Piece()
        """The lines of which the run itself is made."""
        self._texts: list[str] = []
        self._text_places: list[Place] = []
        self._text_numbers: dict[str, int] = {}
        self._cases: list[events.Case] = []
        self._case_places: list[Place] = []
        self._case_numbers: dict[Any, int] = {}
        self._trial_cases: dict[tuple[int, int], events.Case] = {}
        self._parts: dict[tuple[Any, ...], events.ScorePart] = {}
        self._whole: dict[ConversationKey, ConversationState] = {}
        self._alike: dict[str, Any] = {}

    def text(self, number: int) -> str:
        """Return a text by its number."""
        return self._texts[number] if number >= 0 else ""

    def case(self, trial: int, number: list[int] | int | None) -> events.Case | None:
        """Return a case by its number and the case's trial."""
        if number is None:
            return None
        if isinstance(number, int):
            return self.state.cases[trial - 1]
        which, of_case = number
        known = self._trial_cases.get((which, of_case))
        if known is None:
            known = self._cases[which]
            if known.trial != of_case:
                known = with_fields(known, trial=of_case)
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

    def shared(self, numbers: _Numbers) -> _Numbers:
        """Return the same, with equal parts shared by all conversations: most are alike."""
        alike = self._alike
        return _Numbers._make(
            alike.setdefault(repr(each), each) if isinstance(each, list) else each
            for each in numbers
        )

    def whole(self, key: ConversationKey) -> ConversationState:
        """Return a conversation with its texts; the last ones stay in memory.

        Raises:
            RecordingError: the recording is no longer what it was.
        """
        if key not in self._whole:
            if len(self._whole) >= MOST_WHOLE:
                self._whole.pop(next(iter(self._whole)), None)  # another thread may have, too
            self._whole[key] = self._read_whole(key)
        return self._whole[key]

    def _read_whole(self, key: ConversationKey) -> ConversationState:
        folded = RunState(self.state.started, cases=self.state.cases, _parts=self.state._parts)
        for event in self._events(self._pieces[key]):
            apply(folded, event)
        talk = folded.conversations.get(key)
        if talk is None:
            raise self._changed()
        return talk

    def _events(self, piece: _Piece) -> Iterator[RunEvent]:
        data = b""
        try:
            with self.path.open("rb") as file:
                for offset, length in zip(piece.places[::2], piece.places[1::2], strict=True):
                    file.seek(offset)
                    data += file.read(length)
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be read: {error.strerror}") from None
        if zlib.crc32(data) != piece.checksum:
            raise self._changed()
        yield from LineReader(self.path.name).feed(data)

    def _changed(self) -> RecordingError:
        return RecordingError(f"{self.path}: changed while it was shown")

    # From the recording

    def read(self) -> None:
        """Read the recording, conversation by conversation.

        Raises:
            RecordingError: it cannot be read.
        """
        state, reader = self.state, LineReader(self.path.name)
        lines: dict[ConversationKey, list[_Line]] = {}
        begun: dict[ConversationKey, _Line] = {}
        digest = hashlib.new(HASH)
        with pause_collector(reader):
            for line, event in self._lines(reader, digest):
                self._reopen(event)
                change = apply(state, event)
                key = change.key
                if key is None:
                    self._loose.add(line)
                    continue
                lines.setdefault(key, []).append(line)
                if change.kind == "abandoned":
                    continue
                if _is_of_run(event):
                    self._loose.add(line)
                elif isinstance(event, events.ConversationStarted):
                    begun[key] = line
                elif isinstance(event, events.ConversationScored):
                    self._store(key, lines.pop(key), begun)
            for key in [*lines]:
                self._store(key, lines.pop(key), begun)
        reader.finish()
        self.problems, self.digest = reader.problems, digest.hexdigest()

    def _lines(self, reader: LineReader, digest: Any) -> Iterator[tuple[_Line, RunEvent]]:
        try:
            with self.path.open("rb") as file:
                while data := file.read(CHUNK):
                    digest.update(data)
                    for offset, line, event in reader.feed_placed(data):
                        yield (offset, line), event
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be read: {error.strerror}") from None

    def _reopen(self, event: RunEvent) -> None:
        """Make a row a conversation again if an event comes after its score, such as another
        attempt's.
        """
        talks, key = self.state.conversations, (event.condition, event.trial)
        known = talks.get(key)  # type: ignore[call-overload]  # equal to its `ConversationKey`
        if isinstance(known, StoredConversation):
            talks[known.key] = self._read_whole(known.key)
            del self._rows[known.key]

    def _store(
        self, key: ConversationKey, lines: list[_Line], begun: dict[ConversationKey, _Line]
    ) -> None:
        """Replace a folded conversation by its row; one that cannot be a row stays whole."""
        piece = self._pieces.setdefault(key, _Piece())
        for line in lines:
            piece.add(line)
        talk = self.state.conversations[key]
        self._rows[key] = None
        with suppress(_UnknownTextError):
            row = self._numbers(talk, lines, begun.get(key))
            self._rows[key] = _json(row)
            self.state.conversations[key] = StoredConversation(self, key, row)

    def _numbers(
        self, talk: ConversationState, lines: list[_Line], begun: _Line | None
    ) -> _Numbers:
        def number(text: str) -> int:
            return self._text_number(text, lines)

        has = [name for name in _EMPTY if getattr(talk, name) not in ([], {}, None)]
        derived = ("violations", "user_faults", "persona_facts")
        has += [name for name in derived if getattr(talk, name)]
        started = self.state.started
        is_imported = started is None or started.source is not None
        answers = [message for message in talk.messages if message.role == "assistant"]
        return _Numbers(
            talk.attempt,
            talk.phase,
            self._case_number(talk, begun),
            has,
            talk.agents_graph,
            number(talk.agent_identity),
            talk.turns,
            sum(message.done for message in answers),
            talk.latencies_ms,
            talk.first_tokens_ms,
            talk.blocked_answers,
            talk.failures,
            talk.user_replies,
            [talk.words_told(without_greeting=without) for without in (False, True)],
            None if is_imported else talk.answers_ask,
            [_packed_counts(talk.tokens_of(peer)) for peer in ("agent", "evaluator")],
            [number(warning.code) for warning in talk.warnings],
            [[fact.fact, fact.asked, fact.message, fact.turn] for fact in talk.facts],
            [
                [one.index, number(one.title), one.weight, one.status, one.from_start,
                 one.after_turn]
                for one in talk.final_checks.values()
            ],
            _end_row(talk.ended),
            _score_row(talk.score, number),
            _verdict_row(talk.verdict, number),
        )  # fmt: skip

    def _text_number(self, text: str, lines: Iterable[_Line]) -> int:
        if not text:
            return -1
        if text not in self._text_numbers:
            encoded = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
            for offset, line in lines:
                found = line.find(encoded)
                if found >= 0:
                    self._text_numbers[text] = len(self._texts)
                    self._texts.append(text)
                    self._text_places.append((offset + found, len(encoded)))
                    break
            else:
                raise _UnknownTextError
        return self._text_numbers[text]

    # What is kept of it

    def recall(self, part: str) -> Any:
        """Return the figures that `remember` kept of a recording with the same bytes; None without
        any.
        """
        if self.kept_in is None:
            return None
        content = self.kept_in.kept(self.path.stem, part, self.digest)
        try:
            return None if content is None else json.loads(content)
        except ValueError:
            return None

    def remember(self, part: str, figures: Any) -> None:
        """Keep figures, as JSON and without any text of the recording, for the next look."""
        if self.kept_in is not None:
            content = _json(figures).encode("ascii")
            self.kept_in.keep(self.path.stem, part, self.digest, content)

    def kept(self) -> dict[str, Any]:
        """Return everything but texts and conversations, as `take` takes it."""
        state, clock = self.state, self.state._clock
        return {
            "digest": self.digest,
            "problems": [[problem.message, problem.line] for problem in self.problems],
            "loose": [self._loose.places, self._loose.checksum],
            "texts": self._text_places,
            "cases": self._case_places,
            "seq": state.last_seq,
            "at": _time(state.last_at),
            "newest": state.newest,
            "conversations": len(state.conversations),
            "times": [[_time(since), _time(until)] for since, until in clock._times],
            "since": _time(clock._since),
        }

    def rows(self) -> Iterator[str]:
        """Yield the row of each conversation, as JSON."""
        for key in self.state.conversations:
            piece = self._pieces[key]
            place = _json([*key, piece.places, piece.checksum])
            yield f"[{place},{self._rows[key] or 'null'}]"

    def forget_rows(self) -> None:
        """Forget what only `pack` needs."""
        self._rows.clear()

    def take(self, kept: dict[str, Any], rows: Iterable[list[Any]], digest: str) -> None:
        """Take up what `kept` and `rows` returned.

        Raises:
            Exception: one of `_UNUSABLE`, if it is of other bytes, or damaged.
        """
        if kept["digest"] != digest:
            raise ValueError("of other bytes")
        self.digest = digest
        self.problems = [
            Problem(message, self.path.name, line) for message, line in kept["problems"]
        ]
        state = self.state
        for event in self._events(_Piece(*kept["loose"])):
            apply(state, event)
        # Only the lines that change the run were applied to its conversations.
        state.conversations.clear()
        state.last_seq, state.last_at = kept["seq"], _read_time(kept["at"])
        state.newest = kept["newest"] and ConversationKey(*kept["newest"])
        state._clock = WorkClock(
            [(_known_time(since), _known_time(until)) for since, until in kept["times"]],
            _read_time(kept["since"]),
        )
        self._read_texts(kept)
        for (condition, trial, places, checksum), row in rows:
            key = ConversationKey(condition, trial)
            self._pieces[key] = _Piece(places, checksum)
            if row is None:
                state.conversations[key] = self._read_whole(key)
            else:
                state.conversations[key] = StoredConversation(self, key, _Numbers(*row))
        if len(state.conversations) != kept["conversations"]:
            raise ValueError("fewer rows than there were")

    def _read_texts(self, kept: dict[str, Any]) -> None:
        with self.path.open("rb") as file:

            def there(place: Sequence[int]) -> bytes:
                file.seek(place[0])
                return file.read(place[1])

            self._texts = [json.loads(there(place)) for place in kept["texts"]]
            reader = LineReader(self.path.name)
            for place in kept["cases"]:
                (begun,) = reader.feed(there(place))
                assert isinstance(begun, events.ConversationStarted)
                assert begun.case is not None
                self._cases.append(begun.case)
        if not all(isinstance(text, str) for text in self._texts):
            raise TypeError("not a text")

    def _case_number(self, talk: ConversationState, begun: _Line | None) -> list[int] | int | None:
        case, of_run = talk.case, self.state.cases
        if case is None:
            return None
        if talk.begun is None or talk.begun.case is None or begun is None:
            if talk.key.trial <= len(of_run) and of_run[talk.key.trial - 1] == case:
                return -1
            raise _UnknownTextError
        key = (*case.key, case.facts, tuple(tuple(task.items()) for task in case.tasks))
        if key not in self._case_numbers:
            self._case_numbers[key] = len(self._cases)
            self._cases.append(case)
            offset, line = begun
            self._case_places.append((offset, len(line) + 1))
        return [self._case_numbers[key], case.trial]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _known_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _is_of_run(event: RunEvent) -> bool:
    """Return whether an event of a conversation changes the run, too."""
    match event:
        case events.Warned():
            return event.code in NOT_CLEAN
        case events.OperatorActed() | events.UnknownEvent():
            return True
    return False


def _packed_counts(counts: Sequence[TokenCounts]) -> list[TokenCounts] | int:
    if all(count == (None, None) for count in counts):
        return len(counts)
    return list(counts)


def _end_row(ended: events.ConversationEnded | None) -> list[Any] | None:
    if ended is None:
        return None
    return [ended.reason, ended.fault, not (ended.detail or ended.ways or ended.received)]


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
        score.score, parts, score.penalty, score.failures, score.average_latency_ms,
        number(score.reason), score.fault, score.cancelled,
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
        number(verdict.judge), author, number(verdict.judging), prompts, verdict.error is not None,
        verdict.tone, verdict.tokens_in, verdict.tokens_out, tasks,
    ]  # fmt: skip


# What is kept


def pack(run: StoredRun) -> bytes | None:
    """Return the rows of a recording that was read, without any text; None if most of its
    conversations are no rows.
    """
    whole = sum(row is None for row in run._rows.values())
    if whole > len(run._rows) // 10:
        return None
    lines = "\n".join([_json(run.kept()), *run.rows()])
    return zlib.compress(lines.encode("ascii"), 1)


def unpack(path: Path, kept: bytes, digest: str) -> StoredRun | None:
    """Return a recording from its rows, given the hash of its bytes now; None if they cannot be
    used: damaged, or of other bytes.
    """
    run = StoredRun(path)
    try:
        # Read one by one: all of them at once would take more memory than the views.
        first, *rows = _lines_of(kept)
        run.take(json.loads(first), map(json.loads, rows), digest)
    except _UNUSABLE:
        return None
    return run


def stored_run(path: Path, *, keeps: bool) -> StoredRun:
    """Return a recording with its conversations as rows: those that are kept, if they are of these
    bytes, else read now and, if it `keeps` them, kept in the list of the data folder's runs.

    Raises:
        RecordingError: it cannot be read.
    """
    kept_in = _list_of_runs(path, writes=keeps)
    if kept_in is not None:
        digest = file_digest(path)
        kept = kept_in.kept(path.stem, ROWS, digest)
        if kept is not None and (run := unpack(path, kept, digest)) is not None:
            run.kept_in = kept_in
            return run
    run = StoredRun(path)
    run.read()
    # One that is still written would be kept again at each look.
    if kept_in is not None and run.state.ended is not None:
        run.kept_in = kept_in
        rows = pack(run)
        if rows is not None:
            kept_in.keep(path.stem, ROWS, run.digest, rows)
    run.forget_rows()
    return run


def _list_of_runs(path: Path, *, writes: bool) -> Catalogue | None:
    """Return the list of runs that a recording is in; None for one that is not in the data folder,
    beside which nothing is written.
    """
    runs_dir = Settings.from_environment().runs_dir
    if not is_run_id(path.stem) or path.parent.absolute() != runs_dir.absolute():
        return None
    return Catalogue(runs_dir, writes=writes)


def is_large(path: Path) -> bool:
    """Return whether a recording is read as rows."""
    try:
        return path.stat().st_size >= LARGE
    except OSError:
        return False  # who reads it says why


def _lines_of(kept: bytes) -> list[bytes]:
    opened = zlib.decompressobj()
    lines = opened.decompress(kept, MOST_BYTES).split(b"\n")
    if opened.unconsumed_tail or not opened.eof:
        raise ValueError("torn, or larger than any rows")
    return lines


_UNUSABLE = (
    zlib.error, OSError, RecordingError, ValueError, TypeError, LookupError, AttributeError,
    AssertionError, RecursionError,
)  # fmt: skip
"""What rows raise that are not what this module writes."""


def file_digest(path: Path) -> str:
    """Return the hash of a file's bytes.

    Raises:
        RecordingError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, HASH).hexdigest()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
