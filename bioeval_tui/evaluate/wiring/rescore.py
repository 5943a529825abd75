"""Recorded transcripts judged again, without a word to the agent; the verdicts go to the run's overlay."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bioeval_tui import score as composite
from bioeval_tui.errors import RecordingError, UsageError
from bioeval_tui.evaluate.conversation.plan import Limits
from bioeval_tui.evaluate.conversation.transcript import sent_messages
from bioeval_tui.evaluate.conversation.verdicts import judge_transcript
from bioeval_tui.evaluate.engine.resume import is_finished
from bioeval_tui.evaluate.engine.spec import EngineSpec
from bioeval_tui.evaluate.hosts import is_loopback
from bioeval_tui.evaluate.job.loading import job_from_data
from bioeval_tui.evaluate.job.models import EvaluationJob
from bioeval_tui.evaluate.seams import Judge, JudgeView
from bioeval_tui.evaluate.wiring.makers import Makers
from bioeval_tui.record import events
from bioeval_tui.record.overlay import append_overlay, last_seq, read_overlay
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState, apply_all
from bioeval_tui.settings import Settings

AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """One conversation: the new verdict and score, or why there is none."""

    key: ConversationKey
    verdict: events.TranscriptScored | None = None
    score: events.ConversationScored | None = None
    error: str = ""
    warnings: tuple[str, ...] = ()


class Rescorer:
    """Judges one recording again."""

    def __init__(
        self,
        path: Path,
        settings: Settings,
        *,
        judge_models: tuple[str, ...] = (),
        allow_hosts: tuple[str, ...] = (),
        rules: bool = False,
    ) -> None:
        """Without `judge_models` or `rules` the job's own judge is asked once more.

        Raises:
            RecordingError: the recording cannot be read.
            UsageError: the judge cannot be made, or would take a sensitive job's transcripts elsewhere.
        """
        self.path = path
        self.state = apply_all(RunState(), read_recording(path, as_written=True).events)
        started = self.state.started
        if started is None:
            raise RecordingError(f"{path.name}: the first event is missing; a judge needs the job")
        self.run_id = started.run_id
        self.job = _with_judge(job_from_data(started.job), judge_models, rules)
        folder = Path(started.options.get("job_file") or started.job_path).parent
        spec = EngineSpec(runs=(), judge_model=judge_models or None, allow_hosts=allow_hosts)
        self._makers = Makers(self.job, folder, spec, started.model, settings)
        self.hosts = self._makers.judge_hosts()
        if self.job.sensitive and not all(map(is_loopback, self.hosts)):
            raise UsageError(
                f"the job is sensitive, and its transcripts would go to {', '.join(self.hosts)}; "
                "only loopback is allowed"
            )

    async def judge_again(self, author: str) -> list[JudgedAgain]:
        """Judge every conversation that counts as a result, and append what came out to the overlay.

        Raises:
            UsageError: the judge cannot be made.
            RecordingError: the overlay cannot be written.
        """
        judge = self._makers.judge()
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(talk: ConversationState) -> JudgedAgain:
            async with slots:
                return await self._judge(judge, talk, author)

        try:
            talks = [talk for talk in self.state.conversations.values() if _can_be_judged(talk)]
            found = list(await asyncio.gather(*map(one, talks)))
        finally:
            await judge.aclose()
        self._keep(found)
        return found

    async def _judge(self, judge: Judge, talk: ConversationState, author: str) -> JudgedAgain:
        messages = sent_messages(talk, self.job.evaluator.signoff)
        view = JudgeView(self.job, talk.key.condition, messages)
        found = await judge_transcript(judge, view, Limits().judge_s)
        warnings = tuple(message for _, message in found.warnings)
        if found.tasks is None:
            return JudgedAgain(talk.key, error=found.error, warnings=warnings)
        verdict = events.TranscriptScored(**self._where(talk, author), **found.fields, prompts=self._prompt())
        return JudgedAgain(talk.key, verdict, self._score(talk, verdict, author), warnings=warnings)

    def _prompt(self) -> dict[str, str]:
        """Return the hash of the judge's prompt, by name; none where rules judge."""
        if self.job.scorer.kind != "llm":
            return {}
        name = self.job.scorer.prompt
        return {name: self._makers.prompt_hashes()[name]}

    def _score(
        self, talk: ConversationState, verdict: events.TranscriptScored, author: str
    ) -> events.ConversationScored:
        """Return the composite with the new task part; timing, assertions and failures are as recorded."""
        assert talk.score is not None
        new = composite.task_part([task.score for task in verdict.tasks], len(self.job.tasks))
        parts = [new if part.name == "task" else part for part in talk.score.parts]
        whole = composite.compose(parts, talk.score.failures)
        return events.ConversationScored(
            **self._where(talk, author),
            score=whole.score,
            parts=whole.parts,
            penalty=whole.penalty,
            failures=talk.score.failures,
            average_latency_ms=talk.score.average_latency_ms,
            reason=whole.reason,
            fault="none" if whole.score is not None else "infrastructure",
        )

    def _where(self, talk: ConversationState, author: str) -> Mapping[str, Any]:
        return {
            "run_id": self.run_id,
            "seq": 0,
            "at": datetime.now(UTC),
            "condition": talk.key.condition,
            "trial": talk.key.trial,
            "attempt": talk.attempt,
            "author": author,
        }

    def _keep(self, found: list[JudgedAgain]) -> None:
        seq = max(last_seq(read_overlay(self.path)), self.state.last_seq)
        new: list[events.RunEvent] = []
        for judged in found:
            for event in (judged.verdict, judged.score):
                if event is not None:
                    seq += 1
                    new.append(event.model_copy(update={"seq": seq}))
        if new:
            append_overlay(self.path, new)


def _can_be_judged(talk: ConversationState) -> bool:
    """Say whether a conversation counts as a result and has answers to judge."""
    ended = talk.ended is not None and talk.ended.reason in events.RESULT_REASONS and is_finished(talk)
    return (
        ended
        and talk.score is not None
        and any(part.name == "task" and not part.left_out for part in talk.score.parts)
        and any(message.role == "assistant" and message.done for message in talk.messages)
    )


def _with_judge(job: EvaluationJob, models: tuple[str, ...], rules: bool) -> EvaluationJob:
    if models and rules:
        raise UsageError("give --judge-model or --rules, not both")
    kind = "rules" if rules else "llm" if models else job.scorer.kind
    if kind == "rules" and not all(task.rules for task in job.tasks):
        raise UsageError("the rules judge needs rules for every task of the recorded job")
    return job.model_copy(update={"scorer": job.scorer.model_copy(update={"kind": kind})})
