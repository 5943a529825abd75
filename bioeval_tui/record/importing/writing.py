"""Converts files of other tools to a recording in two passes, without loading them into memory as a
whole.

The first pass surveys them: the conversations, conditions, tasks and names of scores in them. The
second writes the events: the run with a job made of what was found (or the job that was given), the
conversations with their cases, messages and scores, and what was left out. Beside these, the digest
by which a file that was imported before is known.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, cast

from bioeval_tui import __version__, plugins
from bioeval_tui.base.errors import InputError, RecordingError
from bioeval_tui.base.peer_limits import MAX_LINE
from bioeval_tui.base.text import (
    clean,
    clean_line,
    clean_value,
    compact_json,
    join_names,
    plural,
    shorten,
)
from bioeval_tui.base.typed import as_type
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.cases import MOST_TRIALS, Case
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.conditions import (
    PUBLISHED,
    SUPPLIED,
    ConditionConfig,
    job_conditions,
    sort_conditions,
)
from bioeval_tui.record.events import RunEvent, ScorePart
from bioeval_tui.record.importing.conversations import (
    GivenScore,
    Header,
    ImportedConversation,
    ImportedMessage,
    noting,
)
from bioeval_tui.record.importing.formats import ImportFormat
from bioeval_tui.record.reading import CHUNK

UNKNOWN = "unknown"
NO_SCORES = "the file has no scores"
MOST_MISFITS = 3
"""So many scores that do not count are named with what is wrong."""
MOST_AUTHORS = 5
"""So many authors of scores are named as the judge of a run."""
MAX_RECORD = MAX_LINE // 4
"""Maximum number of characters of extra data kept for a message or conversation."""
_HEAVY = ("events", "attachments", "store", "raw_data", "ticks", "output")
"""The data to drop first if there is too much."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import.

    `job` is a job's snapshot whose tasks, facts and judge replace the file's.
    """

    licence: str = ""
    origin: str = ""
    job: Mapping[str, Any] | None = None


UNTOLD = SUPPLIED.name
"""The condition of a conversation of which nothing says what the user knew."""


@dataclass(slots=True)
class Survey:
    """The content of a file, before the import."""

    header: Header = field(default_factory=Header)
    held: Counter[Condition] = field(default_factory=Counter)
    named: dict[str, str] = field(default_factory=dict)
    """The scores by name, and what is wrong with the first value that is not in [0, 1], as a task's
    must be; empty if all are.
    """
    nan: Counter[str] = field(default_factory=Counter)
    """How many values of each score are not a number."""
    measured: Counter[str] = field(default_factory=Counter)
    """How many conversations of each case have a score."""
    tasks: tuple[tuple[str, str], ...] | None = None
    """The tasks, if they are the same in every conversation."""
    most_tasks: int = 0
    unknown_condition: int = 0
    began: datetime | None = None
    timed: int = 0
    conversations: int = 0
    notes: tuple[str, ...] = ()
    """What was taken over without being understood."""
    authors: dict[str, None] = field(default_factory=dict)
    """Who gave scores, of the conversations that say so."""

    @property
    def conditions(self) -> tuple[ConditionConfig, ...]:
        """The conditions of the file: those that it describes, or embabel's, or whatever its
        conversations name.
        """
        known = self.header.conditions or PUBLISHED
        names = [condition.name for condition in known]
        others = tuple(ConditionConfig(name=name) for name in self.held if name not in names)
        if self.header.conditions or not others:
            return (*known, *others)
        return (*(condition for condition in known if self.held[condition.name]), *others)

    def take(self, found: Header | ImportedConversation) -> None:
        """Process one item of the content."""
        if isinstance(found, Header):
            self.header = found
            return
        self.tasks = found.tasks if not self.conversations or found.tasks == self.tasks else None
        self.conversations += 1
        self.held[found.condition or UNTOLD] += 1
        self.unknown_condition += found.condition is None
        self.most_tasks = max(self.most_tasks, len(found.tasks))
        if found.scored_by:
            self.authors[found.scored_by] = None
        for score in found.scores:
            fits = score.value is not None or score.told is None or score.is_nan
            self.nan[score.name] += score.is_nan
            misfit = "" if fits else _misfit(score, found.name or str(self.conversations))
            self.named[score.name] = self.named.get(score.name) or misfit
        if found.name:
            self.measured[found.name] += any(score.value is not None for score in found.scores)
        if found.started_at is not None:
            self.timed += 1
            self.began = min(self.began or found.started_at, found.started_at)

    @property
    def judge(self) -> str:
        """Who gave the scores: the file's judge, or those that its conversations name."""
        return self.header.judge or join_names([*self.authors], most=MOST_AUTHORS)

    @property
    def scores(self) -> list[str]:
        """The names of the scores that count, in the order of the file."""
        return [name for name, misfit in self.named.items() if not misfit]

    @property
    def not_used(self) -> str:
        """Which scores do not count and why, in words; empty if all count."""
        misfits = [
            f"score {clean_line(name, 80)}: {misfit}"
            for name, misfit in self.named.items()
            if misfit
        ]
        if not misfits:
            return ""
        return f"not used: {join_names(misfits, '; ', MOST_MISFITS)}"


def _misfit(score: GivenScore, conversation: str) -> str:
    told = shorten(clean_line(compact_json(score.told)), 40)
    return (
        f"{told} of conversation {clean_line(conversation, 80)} is neither a number from 0 to 1 nor"
        " a word such as passed"
    )


def survey(files: Sequence[Path], kind: ImportFormat) -> Survey:
    """Read files once, for the first events of the recording.

    Raises:
        RecordingError: a file does not follow its format, or contains no conversation.
    """
    surveyed = Survey()
    with noting() as notes:
        for file in files:
            before = surveyed.conversations
            for each in _read(file, kind):
                surveyed.take(each)
            if surveyed.conversations == before:
                raise RecordingError(f"{file}: contains no conversation")
    surveyed.notes = tuple(notes)
    if surveyed.conversations > MOST_TRIALS:
        raise RecordingError(f"{files[0]}: more than {MOST_TRIALS:,} conversations; split the file")
    return surveyed


def digest(files: Sequence[Path]) -> str:
    """Return the SHA-256 of a file, or of several one after another; of a folder, of the files in
    it by name.

    Raises:
        RecordingError: a file cannot be read.
    """
    hashed = hashlib.sha256()
    for file in chain.from_iterable(map(_listed_files, files)):
        try:
            with file.open("rb") as opened:
                while data := opened.read(CHUNK):
                    hashed.update(data)
        except OSError as error:
            raise RecordingError(f"{file}: cannot be read: {error.strerror}") from None
    return hashed.hexdigest()


def _listed_files(path: Path) -> list[Path]:
    """Return a file, or the files that a folder has, in the order of their names."""
    if path.is_dir():
        return sorted(each for each in path.iterdir() if each.is_file())
    return [path]


def imported_events(
    files: Sequence[Path],
    kind: ImportFormat,
    surveyed: Survey,
    sha256: str,
    run_id: str,
    options: ImportOptions,
) -> Iterator[RunEvent]:
    """Yield the events of the one run that files become, with every text cleaned.

    A case of several has a trial in each.

    Raises: RecordingError: a file does not fit its format.
    """
    writer = _Writer(surveyed, run_id, options, datetime.now(UTC))
    yield from writer.begin(files, kind, sha256)
    for file in files:
        for each in _read(file, kind):
            if isinstance(each, ImportedConversation):
                yield from writer.conversation(each)
    yield writer.end()


def _read(file: Path, kind: ImportFormat) -> Iterator[Header | ImportedConversation]:
    is_own = plugins.is_own("importers", kind.name)
    try:
        for each in kind.read(file):
            yield each if is_own else _typed(kind, each)
    except InputError as problem:
        raise RecordingError(f"{file}: {problem}") from None
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from None


def _typed(kind: ImportFormat, given: object) -> Header | ImportedConversation:
    """Return what another package's importer gave, with fields of their types."""
    with plugins.blamed("importers", kind.name):
        if isinstance(given, Header):
            return cast(Header, as_type(Header, given, "the Header"))
        if isinstance(given, ImportedConversation):
            typed = as_type(ImportedConversation, given, "an ImportedConversation")
            return cast(ImportedConversation, typed)
        raise TypeError(f"it yielded a value of the type {type(given).__name__}")


def _named(files: Sequence[Path]) -> str:
    return clean_line(", ".join(file.name for file in files), 1_000)


class _Writer:
    """Writes one recording: numbers its events, its trials, and the conversations of each case."""

    def __init__(
        self, surveyed: Survey, run_id: str, options: ImportOptions, now: datetime
    ) -> None:
        self._found, self._options, self._now = surveyed, options, now
        self._common: dict[str, Any] = {"run_id": run_id}
        self._seq = 0
        self._trials: Counter[Condition] = Counter()
        self._cases: Counter[tuple[Condition, str]] = Counter()
        self._scores: dict[Condition, list[float | None]] = {}
        self._last = self._start = surveyed.began or surveyed.header.at or now
        self._judged = options.job is not None
        self._conditions = surveyed.conditions
        if options.job is not None:
            self._conditions = job_conditions(options.job)
        self.tasks = self._tasks()

    def _make(
        self, kind: type[events.EventBase], at: datetime | None = None, **fields: Any
    ) -> RunEvent:
        self._seq += 1
        made = kind(**self._common, seq=self._seq, at=at or self._last, **fields)
        return made  # type: ignore[return-value]

    def _tasks(self) -> list[dict[str, Any]]:
        """Return the job's tasks: one for each score of the file, or those without a score."""
        if self._options.job is not None:
            return list(self._options.job.get("tasks") or [])
        surveyed = self._found
        if surveyed.scores:
            titles = [(name, "") for name in surveyed.scores]
        elif surveyed.tasks is not None:
            titles = list(surveyed.tasks)
        else:
            titles = [(f"task {number}", "") for number in range(1, surveyed.most_tasks + 1)]
        passes = surveyed.header.pass_above
        return [
            {"task": clean(title), "acceptanceCriteria": clean(criteria), "passAbove": passes}
            for title, criteria in titles
        ]

    def _job(self) -> dict[str, Any]:
        """Return what is known of the job that the conversations were held with."""
        job: dict[str, Any] = {"tasks": self.tasks, "facts": []}
        if self._conditions != PUBLISHED:
            job["conditions"] = [each.model_dump(mode="json") for each in self._conditions]
        return job

    def begin(self, files: Sequence[Path], kind: ImportFormat, sha256: str) -> Iterator[RunEvent]:
        """Yield the first event of the run, and its warnings."""
        surveyed, header, options = self._found, self._found.header, self._options
        job = {**options.job} if options.job is not None else self._job()
        name = clean_line(header.name or files[0].stem, 200)
        held = sort_conditions(self._conditions, surveyed.held)
        record = clean_value(_record_kept(header.record))
        yield self._make(
            events.RunStarted,
            at=self._start,
            job_name=name,
            job_path="",
            job=job,
            job_sha256=hashlib.sha256(compact_json(job).encode("utf-8", "replace")).hexdigest(),
            program_version=__version__,
            agent=clean_line(header.agent or UNKNOWN),
            evaluator=clean_line(header.evaluator or UNKNOWN),
            judge=clean_line(surveyed.judge or UNKNOWN),
            model=clean_line(header.model) or None,
            seed=0,
            trials=max(surveyed.held.values()),
            conditions=held,
            source=events.ImportedFrom(
                format=kind.name,
                file=_named(files),
                sha256=sha256,
                licence=clean_line(options.licence or header.licence or UNKNOWN),
                origin=clean_line(options.origin or header.origin or UNKNOWN),
                times="told" if surveyed.timed == surveyed.conversations else "unknown",
                record=record,
            ),
        )
        for code, message in self._warnings(files):
            yield self._make(events.Warned, at=self._start, code=code, message=message)

    def _warnings(self, files: Sequence[Path]) -> Iterator[tuple[str, str]]:
        surveyed = self._found
        note = ""
        if not surveyed.timed:
            note = "; its conversations have no times, so those of the import are used"
        yield "imported", f"imported from {_named(files)}{note}"
        for sentence in surveyed.notes:
            yield "so_it_was_read", sentence
        if surveyed.not_used:
            yield "score_not_counted", surveyed.not_used
        if left := [
            f"{clean_line(name, 80)} ({count})" for name, count in surveyed.nan.items() if count
        ]:
            yield (
                "score_not_counted",
                f"values left out, because not a number: score {', '.join(left)}",
            )
        if len(set(surveyed.measured.values())) > 1 and max(surveyed.measured.values()) > 1:
            yield (
                "uneven_cases",
                (
                    "the cases have different numbers of scored conversations; means here are over"
                    " conversations, so the mean over cases that the other tool reports may differ"
                ),
            )
        if surveyed.unknown_condition:
            yield (
                "condition_unknown",
                (
                    f"what the user knew in {plural(surveyed.unknown_condition, 'conversation')} is"
                    " unknown; they count as with the facts"
                ),
            )

    def conversation(self, talk: ImportedConversation) -> Iterator[RunEvent]:
        """Yield one conversation's events."""
        condition = talk.condition or UNTOLD
        self._trials[condition] += 1
        trial = self._trials[condition]
        self._common |= {"condition": condition, "trial": trial, "attempt": 1}
        self._last = talk.started_at or self._last
        case = self._case(talk, condition)
        kept = _bounded(talk.record)
        yield self._make(
            events.ConversationStarted,
            session_id=clean_line(talk.session) or UNKNOWN,
            greeting=clean(next((m.text for m in talk.messages if m.role == "user"), "")),
            max_messages=len(talk.messages),
            case=case,
            record=clean_value(kept) or None,
        )
        if left := sorted(map(str, (talk.record or {}).keys() - (kept or {}).keys())):
            warning = f"too large to store: {clean_line(', '.join(left))}"
            yield self._make(events.Warned, code="left_out", message=warning)
        turn = 0
        for number, message in enumerate(talk.messages, start=1):
            turn += message.role == "user" or number == 1
            yield from self._message(message, number, turn)
        yield from self._outcome(talk)
        self._common = {"run_id": self._common["run_id"]}

    def _case(self, talk: ImportedConversation, condition: Condition) -> Case | None:
        own = self._own_tasks(talk) if self._options.job is None else ()
        name = clean_line(talk.name, 200)
        if not (name or own or talk.facts):
            return None
        name = name or f"conversation {self._trials[condition]}"
        self._cases[condition, name] += 1
        # A score is about the whole case, so the case's description is used for each of the job's
        # tasks.
        tasks = tuple(
            {"task": clean(task), "acceptanceCriteria": clean(criteria)} for task, criteria in own
        )
        return Case(
            name=name,
            trial=self._cases[condition, name],
            tasks=tasks,
            facts=tuple(map(clean, talk.facts)),
        )

    def _own_tasks(self, talk: ImportedConversation) -> tuple[tuple[str, str], ...]:
        """Return the tasks of a case that differ from the job's; of several scores of one request,
        each has its name.
        """
        if talk.request is None or not self._found.scores:
            if talk.tasks == self._found.tasks:
                return ()
            return talk.tasks
        asked, wanted = talk.request
        if len(names := self._found.scores) == 1:
            return ((asked or names[0], wanted),)
        return tuple((name, "\n".join(filter(None, (asked, wanted)))) for name in names)

    def _message(self, message: ImportedMessage, number: int, turn: int) -> Iterator[RunEvent]:
        self._last = message.at or self._last
        if (
            message.latency_ms is not None
            and message.at is not None
            and message.latency_ms < 86_400_000
        ):
            began = message.at - timedelta(milliseconds=message.latency_ms)
            yield self._make(
                events.MessageStarted,
                at=began,
                message=number,
                turn=turn,
                role=message.role,
                speaker=_speaker(message),
            )
        record = _record_kept(message.record)
        made = self._make(
            events.MessageCompleted,
            message=number,
            turn=turn,
            role=message.role,
            speaker=_speaker(message),
            content=clean(message.text),
            latency_ms=message.latency_ms,
            first_token_ms=message.first_token_ms,
            tokens_in=message.tokens_in,
            tokens_out=message.tokens_out,
            generation=tuple(clean_value(event) for event in message.generation),
            record=clean_value(record),
        )
        yield made
        if message.record and record is None:
            yield self._make(
                events.Warned,
                code="left_out",
                message=f"message {number} is too large to be kept as the file has it",
            )

    def _outcome(self, talk: ImportedConversation) -> Iterator[RunEvent]:
        lasted = 0.0
        if talk.ended_at and talk.started_at:
            lasted = (talk.ended_at - talk.started_at).total_seconds()
        self._last = talk.ended_at or self._last
        yield self._make(
            events.ConversationEnded,
            reason=talk.reason,
            fault=talk.fault,
            detail=clean_line(talk.detail),
            duration_ms=max(0.0, lasted * 1000),
        )
        given = {} if self._judged else {score.name: score for score in talk.scores}
        numbers = {name: number for number, name in enumerate(self._found.scores, start=1)}
        passes = self._found.header.pass_above
        scored = tuple(
            events.TaskScored(
                task=numbers[name],
                title=clean(name),
                score=score.value,
                reason=clean(score.reason),
                passed=score.value > passes,
            )
            for name, score in given.items()
            if score.value is not None and name in numbers
        )
        if scored:
            judge = clean_line(talk.scored_by or self._found.header.judge or UNKNOWN)
            yield self._make(events.TranscriptScored, judge=judge, tasks=scored)
        yield self._scored(talk, [task.score for task in scored])

    def _scored(self, talk: ImportedConversation, scores: list[float]) -> RunEvent:
        left_out = sum(each.is_nan for each in talk.scores) if scores else 0
        missing = len(self.tasks) - left_out - len(scores)
        judged: list[float] | None = scores
        why = ""
        if missing:
            judged = None
            why = f"the file has no score for {missing} of {plural(len(self.tasks), 'task')}"
            if not self._found.scores and self._found.not_used:
                why = self._found.not_used
        task = composite.task_part(judged, len(self.tasks) - left_out, why)
        if not self.tasks:
            task = task.model_copy(update={"reason": self._found.not_used or NO_SCORES})
        parts = (
            ScorePart(
                name="timing",
                weight=1,
                left_out=True,
                reason="imported: the file has no target latency",
            ),
            task,
            ScorePart(name="assertion", weight=4, left_out=True, reason="imported: no assertions"),
        )
        whole = composite.compose(parts, talk.failures)
        score = talk.whole if talk.whole is not None else whole.score
        if talk.fault == "infrastructure":
            score = None
        self._scores.setdefault(self._common["condition"], []).append(score)
        reason, fault = "", "none"
        if score is None:
            reason, fault = task.reason or whole.reason or UNKNOWN, talk.fault
        return self._make(
            events.ConversationScored,
            score=score,
            parts=whole.parts,
            penalty=whole.penalty,
            failures=talk.failures,
            reason=reason,
            fault=fault,
            given={clean_line(each.name): clean_value(each.told) for each in talk.scores} or None,
        )

    def end(self) -> RunEvent:
        """Return how the run ended."""
        trials = max(self._found.held.values())
        missing = {condition: trials - len(scores) for condition, scores in self._scores.items()}
        scores = {
            condition: [*known, *[None] * missing[condition]]
            for condition, known in self._scores.items()
        }
        return self._make(
            events.RunEnded,
            status="completed",
            scores={condition: composite.mean_of(values) for condition, values in scores.items()},
            mean=composite.mean_of_conditions(
                scores, [condition.name for condition in self._conditions]
            ),
            clean=True,
        )


def _speaker(message: ImportedMessage) -> str:
    if message.role == "user":
        return "user"
    return "agent"


def _too_large(value: Any) -> bool:
    try:
        return len(json.dumps(value, ensure_ascii=True, default=str)) > MAX_RECORD
    except (ValueError, RecursionError):
        return True


def _record_kept(record: Any) -> Any:
    """Return what a recording keeps of the source's own object; None if there is none, or a too
    large one.
    """
    if record and not _too_large(record):
        return record
    return None


def _bounded(record: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a record without its largest members, if it exceeds the limit."""
    if record is None or not _too_large(record):
        return record
    kept = {key: value for key, value in record.items() if key not in _HEAVY}
    if not _too_large(kept):
        return kept
    return {
        key: value
        for key, value in kept.items()
        if isinstance(value, str | int | float | bool) and not _too_large(value)
    }
