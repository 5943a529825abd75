"""One conversation of a large recording as a row, both ways: from the conversation to its numbers
(`numbers_of`), and from the numbers to what looks like the conversation (`StoredConversation`).

A number that views ask of each conversation is a field of `Numbers`, which `numbers_of` fills in
and `StoredConversation` returns. Whatever is no field is right, too, but slow to ask of thousands:
the conversation is read again for it. A row has no text, but the number of one (`Source.text`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from bioeval_tui.record import events
from bioeval_tui.record.cases import Case
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.state import (
    ConversationKey,
    ConversationState,
    MessageState,
    TokenCounts,
)


class Source(Protocol):
    """The recording of a row, of which `record.stored.RowSource` says what each does."""

    def text(self, number: int) -> str: ...

    def case(self, trial: int, number: list[int] | int | None) -> Case | None: ...

    def part(
        self, name: Any, weight: float, value: float | None, left_out: bool, reason: int
    ) -> events.ScorePart: ...

    def shared(self, numbers: Numbers) -> Numbers: ...

    def whole(self, key: ConversationKey) -> ConversationState: ...


_Place = tuple[Source, ConversationKey]
"""Where a conversation is read."""


class _Partial(BaseModel):
    """A part of a conversation, of which only some fields are known; the others are read from the
    recording when they are asked for.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    _plain: ClassVar[dict[str, Any]] = {}
    """The values that most of its kind have, which take no memory in each."""

    @classmethod
    def of(cls, place: _Place, at: int = 0, /, **known: Any) -> Any:
        """Return it with the fields that are known; `at` is its place among those of its kind."""
        plain = cls._plain
        known = {
            name: value for name, value in known.items() if value != plain.get(name, _NO_VALUE)
        }
        known["_place"] = place
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
        source, key = self.__dict__["_place"]
        return self._find(source.whole(key), self.__dict__.get("_at", 0))

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
        "kept": None,
        "question": "",
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
    `whole`, by `__getattr__`. Later verdicts and reviews make copies of it (`changed`).
    """

    __slots__ = ("_changes", "_facts", "_numbers", "_place", "_source")

    def __init__(self, source: Source, key: ConversationKey, numbers: Numbers) -> None:
        self._source, self._numbers = source, numbers
        self._place = source, key
        """One for all parts of it, which refer to it, and not to this: thousands of cycles would be
        freed late.
        """
        self.session_id = source.text(numbers.session) or None
        self._changes = _UNCHANGED
        """The fields that are not as recorded."""
        self.key, self.attempt, self.phase = key, numbers.attempt, numbers.phase  # type: ignore[assignment]
        self.case = source.case(key.trial, numbers.case)
        self._facts = [
            _Fact.of(self._place, at, fact=fact, asked=asked, message=message, turn=turn)
            for at, (fact, asked, message, turn) in enumerate(numbers.facts)
        ]
        for name in _OFTEN_ASKED:
            if name not in numbers.has:
                setattr(self, name, _NOTHING[name])
        if "warnings" in numbers.has:
            self.warnings = [
                _Warning.of(self._place, at, code=source.text(code))
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
        recorded = self._source.whole(self.key)
        return replace(recorded, **self._changes) if self._changes else recorded

    def changed(self, **fields: Any) -> StoredConversation:
        other = StoredConversation.__new__(StoredConversation)
        for name in _SLOTS:
            # `getattr` would read the whole conversation for what is not set
            with suppress(AttributeError):
                setattr(other, name, object.__getattribute__(self, name))
        for name, value in fields.items():
            setattr(other, name, value)
        other._changes = self._changes | fields
        return other

    def _check(self, row: Sequence[Any]) -> events.AssertionChecked:
        index, title, weight, status, from_start, after_turn = row
        made: events.AssertionChecked = _Check.of(
            self._place,
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
        reason, fault, duration_ms, is_plain = row
        known: dict[str, Any] = {}
        if is_plain:
            known["detail"] = ""
        else:
            known["_unknown"] = ("ways", "received")
        made: events.ConversationEnded = _Ended.of(
            self._place, reason=reason, fault=fault, duration_ms=duration_ms, **known
        )
        return made

    def _made_score(self, row: Sequence[Any] | None) -> events.ConversationScored | None:
        if row is None:
            return None
        score, parts, penalty, failures, average_ms, reason, fault, cancelled = row
        made: events.ConversationScored = _Score.of(
            self._place,
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
        (
            judge, author, judging, question, kept, prompts, has_error, tone, tokens_in, tokens_out,
            tasks,
        ) = row  # fmt: skip
        text = self._source.text
        known: dict[str, Any] = {} if has_error else {"error": None}
        made: events.TranscriptScored = _Verdict.of(
            self._place,
            judge=text(judge),
            author=None if author is None else text(author),
            judging=text(judging),
            question=text(question),
            kept=kept,
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
            self._place,
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
    def facts(self) -> list[events.FactDisclosed]:
        return self._facts

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

    attempt: int
    phase: str
    case: list[int] | int | None
    """Which of the run's cases it is, and the case's trial; -1 for that of its place in the run."""
    has: list[str]
    """Of `_EMPTY` and of what checks find, what is not empty; and `unfinished_checks` if an
    assertion that was checked by turn was not checked at the end.
    """
    session: int
    start_parts: Sequence[int] | None
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
_UNCHANGED: dict[str, Any] = {}
_SLOTS = (*ConversationState.__slots__, *StoredConversation.__slots__)
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
        session=number(talk.session_id or ""),
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
    return [ended.reason, ended.fault, ended.duration_ms, is_plain]


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
        number(verdict.judge), author, number(verdict.judging), number(verdict.question),
        verdict.kept, prompts, verdict.error is not None, verdict.tone, verdict.tokens_in,
        verdict.tokens_out, tasks,
    ]  # fmt: skip
