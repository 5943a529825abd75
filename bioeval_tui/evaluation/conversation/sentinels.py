"""Sentinels: conversations with known verdicts, about which a judge is asked to see whether it errs or drifts."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from bioeval_tui.evaluation.conversation.scoring import judge_transcript
from bioeval_tui.evaluation.job.models import EvaluationJob, JobTask
from bioeval_tui.evaluation.seams import Judge, JudgeView, TranscriptMessage
from bioeval_tui.record.events import SentinelScored

AT_ONCE = 4
"""So many are asked at the same time."""


@cache
def _written_sentinels() -> list[dict[str, Any]]:
    text = files("bioeval_tui.evaluation.judges").joinpath("sentinels.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)  # type: ignore[no-any-return]


def sentinels(job: EvaluationJob) -> list[tuple[str, JudgeView, tuple[bool, ...]]]:
    """Return the conversations with known verdicts: their names, what a judge of `job` sees, and whether each task is met."""
    views = []
    for one in _written_sentinels():
        tasks = [JobTask(task=task["task"], acceptance_criteria=task["criteria"]) for task in one["tasks"]]
        nothing: dict[str, Any] = dict.fromkeys(("facts", "rubric", "assertions"), ())
        scorer = job.scorer.model_copy(update={"evidence": "mark"})
        own = job.model_copy(update={**nothing, "tasks": tuple(tasks), "scorer": scorer})
        said = tuple(
            TranscriptMessage(number, "user" if number % 2 else "assistant", words)
            for number, words in enumerate(one["messages"], start=1)
        )
        views.append(
            (one["name"], JudgeView(own, "supplied", said), tuple(task["met"] for task in one["tasks"]))
        )
    return views


async def judge_sentinels(judge: Judge, job: EvaluationJob, limit_s: float, *, after: bool) -> dict[str, Any]:
    """Return the fields of `SentinelsJudged`; nothing is asked of a rules judge, which has no rules for them."""
    slots = asyncio.Semaphore(AT_ONCE)
    scored: list[SentinelScored] = []
    errors: list[str] = []

    async def ask(name: str, view: JudgeView, met: tuple[bool, ...]) -> None:
        async with slots:
            judged = await judge_transcript(judge, view, limit_s)
        if judged.tasks is None:
            errors.append(f"sentinel {name}: {judged.error}")
        for one in judged.tasks or ():
            right, invented = met[one.task - 1], one.unproved
            scored.append(
                SentinelScored(sentinel=name, task=one.task, met=right, score=one.score, invented=invented)
            )

    if job.scorer.kind != "rules":
        await asyncio.gather(*(ask(*sentinel) for sentinel in sentinels(job)))
    return {"after": after, "judge": judge.identity, "tasks": tuple(scored), "errors": tuple(errors)}
