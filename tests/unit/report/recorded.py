"""Runs made of plain numbers, so that a test says what it means about scores in one line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bioeval_tui.formats import RunResult
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.cases import Case, JobCase
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.record.conditions import PUBLISHED
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.record.warning_codes import FACTS_UNREAD
from bioeval_tui.report.result import TrialResult, result_of

GOLDEN = Path(__file__).parents[2] / "golden" / "demo-run.jsonl"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Talk:
    """One conversation: a score for each task (None: no verdict), whether each assertion holds,
    latencies in ms.
    """

    tasks: Sequence[float] | None = (1.0,)
    holds: Sequence[bool | None] = (True,)
    latencies_ms: Sequence[float] = (500.0,)
    failures: int = 0
    unreachable: bool = False
    fault: events.Fault = "none"
    reason: events.EndReason = "signed_off"
    detail: str = ""
    says: str = "hello"
    told: str = "Hello"
    """What the user says in each message, of which the first is the greeting."""
    does: Sequence[dict[str, Any]] = ()
    """The events of its answers."""
    cut_off: bool = False
    ends: bool = True
    tone: float | None = None
    fact: bool = False
    """Whether the user gave the job's fact, in the first message."""
    unread: bool = False
    """Whether the ledger cannot tell if the user gave the job's fact."""
    unsent: str = ""
    """What the evaluator said last and a guard did not let pass."""
    unmeasured: events.Fault = "infrastructure"
    """Whose fault it is that an assertion could not be measured."""
    weight: float = 1.0
    """Of each assertion."""
    refused_ms: float = 0.0
    """How long each answer's request was refused, among others of this program."""
    again: bool = False
    """Whether it was held again, because the connection to the agent broke."""
    unanswered: bool = False
    """Whether the agent failed at its last answer."""


@dataclass
class Recorded:
    """A run: by condition one `Talk` a trial."""

    withheld: Sequence[Talk] = ()
    supplied: Sequence[Talk] = ()
    job: str = "job"
    run_id: str = "20260102-030405-abcd"
    concurrency: int = 1
    trials: int | None = None
    clean: bool = True
    started: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, str] | None = None
    """What the job calls its conditions."""
    cases: int = 0
    """The number of cases that the trials are of, in turn; 0 for a job without cases."""
    placebo: Sequence[Talk] = ()

    def events(self) -> list[RunEvent]:
        """Return the run's events, in order."""
        self._seq = 0
        sides = {
            "withheld": self.withheld,
            "supplied": self.supplied,
            "placebo": self.placebo,
        }
        held = [name for name, talks in sides.items() if talks]
        found: list[RunEvent] = [self._event(events.RunStarted, **self._started_fields(held))]
        scores: dict[str, list[float | None]] = {name: [] for name in held}
        for name in held:
            for trial, talk in enumerate(sides[name], start=1):
                found += self._talk(name, trial, talk)
                last = found[-1]
                scores[name].append(
                    last.score if isinstance(last, events.ConversationScored) else None
                )
        means = {name: composite.mean_of(values) for name, values in scores.items()}
        found.append(
            self._event(events.RunEnded, status="completed", scores=means,
                        mean=composite.published_mean(map(means.get, PUBLISHED_NAMES)),
                        clean=self.clean)
        )  # fmt: skip
        return found

    def loaded(self) -> RunResult:
        """Return the run as reports take it."""
        state = apply_all(RunState(), self.events())
        assert state.started is not None
        return RunResult(Path(f"{self.run_id}.jsonl"), state, state.started)

    def write(self, folder: Path) -> Path:
        """Write the recording and return its path."""
        path = folder / f"{self.run_id}.jsonl"
        path.write_bytes(b"".join(write_event(event) for event in self.events()))
        return path

    def _started_fields(self, held: list[str]) -> dict[str, Any]:
        talks = [*self.withheld, *self.supplied]
        first = next((talk for talk in talks if talk.tasks is not None), Talk())
        return {
            "job_name": self.job,
            "job_path": f"{self.job}.yml",
            "job": {
                "aspirationalAverage": 1000.0,
                "tasks": [
                    {"task": f"task {n}", "passAbove": 0.6}
                    for n in range(1, len(first.tasks or ()) + 1)
                ],
                "assertions": [
                    {"expression": "true", "name": f"check {n}", "weight": first.weight}
                    for n in range(1, len(first.holds) + 1)
                ],
                "facts": ["a fact"],
                "conditions": self._conditions(),
                **({"controls": True} if self.placebo else {}),
            },
            "job_sha256": "0" * 64,
            "program_version": "0.1.0",
            "agent": "agent",
            "evaluator": "evaluator",
            "judge": "judge",
            "seed": 1,
            "trials": self.trials or max(len(self.withheld), len(self.supplied)),
            "conditions": tuple(held),
            "concurrency": self.concurrency,
            "cases": tuple(JobCase(name=f"case {n}") for n in range(self.cases)),
        } | self.started

    def _conditions(self) -> list[dict[str, Any]] | None:
        if self.names is None:
            return None
        return [
            {**each.model_dump(mode="json"), "words": words}
            for each, words in zip(PUBLISHED, self.names, strict=True)
        ]

    def _event(self, kind: type[Any], **fields: Any) -> Any:
        self._seq += 1
        at = START + timedelta(milliseconds=100 * self._seq)
        return kind(run_id=self.run_id, seq=self._seq, at=at, **fields)

    def _talk(self, condition: str, trial: int, talk: Talk) -> list[RunEvent]:
        where = {"condition": condition, "trial": trial, "attempt": 1}

        def emit(kind: type[Any], **fields: Any) -> Any:
            return self._event(kind, **where, **fields)

        case = None
        if self.cases:
            turn, place = divmod(trial - 1, self.cases)
            case = Case(name=f"case {place}", trial=turn + 1)
        found = [
            emit(
                events.ConversationStarted,
                session_id="s",
                greeting="Hello",
                max_messages=20,
                case=case,
            )
        ]
        for turn, latency in enumerate(talk.latencies_ms, start=1):
            for number, role, text, ms in (
                (2 * turn - 1, "user", talk.told, None),
                (2 * turn, "assistant", talk.says, latency),
            ):
                base = {"message": number, "turn": turn, "role": role, "speaker": role}
                found.append(emit(events.MessageStarted, **base))
                refused = talk.refused_ms and role == "assistant"
                if refused:
                    found.append(
                        emit(events.RequestFailed, peer="agent", request_attempt=1, error="429",
                            status=429, counted=False, message=number)
                    )  # fmt: skip
                found.append(
                    emit(
                        events.MessageCompleted,
                        **base,
                        content=text,
                        latency_ms=ms,
                        first_token_ms=ms,
                        waited_ms=talk.refused_ms if refused else 0.0,
                        generation=tuple(talk.does) if role == "assistant" else (),
                        cut_off=talk.cut_off and role == "assistant",
                    )
                )
        if talk.again:
            found.append(emit(events.Warned, code="held_again", message="the connection broke"))
        if talk.unanswered:
            last = 2 * len(talk.latencies_ms)
            base = {"message": last + 2, "turn": last // 2 + 1, "role": "assistant",
                "speaker": "agent"}  # fmt: skip
            found += [
                emit(events.MessageStarted, **base),
                emit(events.RequestFailed, peer="agent", request_attempt=1, error="late",
                    counted=True, message=last + 2),
            ]  # fmt: skip
        found += [
            emit(
                events.RequestFailed,
                peer="agent",
                request_attempt=1,
                error="503",
                counted=True,
                message=2,
                unreachable=talk.unreachable,
            )
            for _ in range(talk.failures)
        ]
        if talk.fact:
            found.append(
                emit(events.FactDisclosed, fact=1, text="a fact", message=1, turn=1, asked=True)
            )
        if talk.unread:
            found.append(
                emit(
                    events.Warned,
                    code=FACTS_UNREAD,
                    message="whether it was given cannot be told",
                )
            )
        if talk.unsent:
            number, turn = 2 * len(talk.latencies_ms) + 1, len(talk.latencies_ms) + 1
            found += [
                emit(events.MessageStarted, message=number, turn=turn, role="user",
                    speaker="Socrates"),
                emit(events.MessageDelta, message=number, text=talk.unsent),
                emit(events.EvaluatorViolated, rule="leak", detail="shows reasoning",
                    message=number, content=talk.unsent),
            ]  # fmt: skip
        if not talk.ends:
            return found
        found.append(
            emit(
                events.ConversationEnded,
                reason=talk.reason,
                fault=talk.fault,
                detail=talk.detail,
                duration_ms=1000.0,
            )
        )
        return found + self._scored(emit, talk)

    def _scored(self, emit: Any, talk: Talk) -> list[RunEvent]:
        found: list[RunEvent] = []
        if talk.reason in ("evaluator_failed", "cancelled"):
            penalty = composite.failure_penalty(talk.failures)
            return [
                emit(events.ConversationScored, parts=(), penalty=penalty, failures=talk.failures,
                     reason=talk.reason, fault=talk.fault)
            ]  # fmt: skip
        for index, passed in enumerate(talk.holds):
            status = {True: "passed", False: "failed", None: "not_measured"}[passed]
            found.append(
                emit(events.AssertionChecked, index=index, title=f"check {index + 1}",
                    weight=talk.weight,
                     after_turn=len(talk.latencies_ms), final=True, status=status, observed=passed,
                     expected=True)
            )  # fmt: skip
        if talk.tasks is None:
            found.append(emit(events.TranscriptScored, judge="judge", error="the judge was away"))
        else:
            scored = [
                events.TaskScored(task=n, title=f"task {n}", score=score, passed=score > 0.6)
                for n, score in enumerate(talk.tasks, start=1)
            ]
            found.append(
                emit(events.TranscriptScored, judge="judge", tone=talk.tone, tasks=tuple(scored))
            )
        parts = (
            composite.timing_part(1000.0, talk.latencies_ms, ended=True),
            composite.task_part(talk.tasks, 1 if talk.tasks is None else len(talk.tasks), "away"),
            composite.assertion_part([(talk.weight, passed) for passed in talk.holds]),
        )
        whole = composite.compose(parts, talk.failures)
        if talk.tasks is None:
            fault = "judge"
        elif whole.score is None:
            fault = talk.unmeasured
        else:
            fault = "none"
        found.append(
            emit(
                events.ConversationScored,
                score=whole.score,
                parts=whole.parts,
                penalty=whole.penalty,
                failures=talk.failures,
                reason=whole.reason,
                fault=fault,
            )
        )
        return found


def scoring(value: float) -> Talk:
    """Return a conversation whose composite is `value`: no assertions, timing and its only task at
    `value`.
    """
    return Talk(tasks=(value,), holds=(), latencies_ms=(1000.0 / value if value else 1e12,))


def import_scores(folder: Path, name: str, cases: Iterable[Sequence[float]]) -> Path:
    """Import a score for each trial of each case, from a file as tau-bench writes it; return the
    recording.
    """
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    rows = [
        {"task_id": case, "reward": score, "info": {}, "traj": talk, "trial": trial}
        for case, scores in enumerate(cases)
        for trial, score in enumerate(scores)
    ]
    file = folder / f"{name}.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    return import_file(file, folder / "runs").path


def reviewed(number: int, author: str = "ada", **fields: Any) -> events.Reviewed:
    """Return a review that overrides a score; `fields` replace its own."""
    base: dict[str, Any] = {
        "run_id": "r", "seq": number, "at": START, "condition": "withheld", "trial": 1,
        "attempt": 1,
        "author": author, "review": str(number), "action": "override", "why": "I read it",
    }  # fmt: skip
    return events.Reviewed(**{**base, **fields})


def shown(state: RunState, trial: int = 1) -> tuple[RunResult, TrialResult]:
    """Return what screens lay out: the run's result, and that of one trial."""
    result = result_of(state)
    assert result is not None
    return result, result.trial(trial)
