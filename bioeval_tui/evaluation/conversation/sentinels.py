"""Sentinels: conversations with known verdicts (`sentinels.yml`), about which a judge is asked to
see whether it errs or drifts.

A run whose job wants it asks before its first conversation and at the end (`run_job.py`), and `runs
judge-test` before and after everything else.
"""

from __future__ import annotations

import asyncio
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from bioeval_tui.base.text import compact_json
from bioeval_tui.evaluation.conversation.scoring import judge_transcript
from bioeval_tui.jobs.models import EvaluationJob, JobTask
from bioeval_tui.peers.seams import (
    Judge,
    JudgeView,
    TranscriptMessage,
)
from bioeval_tui.record.conditions import SUPPLIED
from bioeval_tui.record.events import (
    SentinelScored,
)

SENTINELS_AT_ONCE = 4
"""The maximum number of sentinels about which the judge is asked at the same time."""


async def judge_sentinels(
    judge: Judge, job: EvaluationJob, limit_s: float, *, after: bool
) -> dict[str, Any]:
    """Return the fields of `events.SentinelsJudged` that are not those of every event.

    Nothing is asked of a rules judge, which has no rules for the sentinels.
    """
    slots = asyncio.Semaphore(SENTINELS_AT_ONCE)
    scored: list[SentinelScored] = []
    errors: list[str] = []

    async def ask(sentinel: Sentinel) -> None:
        async with slots:
            judged = await judge_transcript(judge, sentinel.view, limit_s)
        if judged.tasks is None:
            errors.append(f"sentinel {sentinel.name}: {judged.error}")
        for one in judged.tasks or ():
            scored.append(
                SentinelScored(
                    sentinel=sentinel.name,
                    task=one.task,
                    met=sentinel.met[one.task - 1],  # tasks have numbers from 1
                    score=one.score,
                    invented=bool(one.fabricated),
                )
            )

    if job.scorer.kind != "rules":
        await asyncio.gather(*map(ask, sentinels(job)))
    return {
        "after": after,
        "judge": judge.identity,
        "tasks": tuple(scored),
        "errors": tuple(errors),
    }


class Sentinel(NamedTuple):
    """A conversation with known verdicts: what a judge sees of it, and whether each task is met."""

    name: str
    view: JudgeView
    met: tuple[bool, ...]


def sentinels(job: EvaluationJob) -> list[Sentinel]:
    """Return the conversations with known verdicts for a judge of `job`."""
    views = []
    for one in _written_sentinels():
        tasks = [
            JobTask(task=task["task"], acceptance_criteria=task["criteria"])
            for task in one["tasks"]
        ]
        nothing: dict[str, Any] = dict.fromkeys(("facts", "rubric", "assertions"), ())
        scorer = job.scorer.model_copy(update={"evidence": "mark"})
        update = {**nothing, "tasks": tuple(tasks), "scorer": scorer, "conditions": None}
        own = job.model_copy(update=update)
        said = tuple(
            TranscriptMessage(number, "user" if number % 2 else "assistant", words)
            for number, words in enumerate(one["messages"], start=1)
        )
        views.append(
            Sentinel(
                one["name"],
                JudgeView(own, SUPPLIED.name, said),
                tuple(task["met"] for task in one["tasks"]),
            )
        )
    return views


def sentinel_contents() -> dict[str, str]:
    """Return a hash of what each sentinel says and asks, by its name, so that scores are compared
    of the same only.
    """
    written = ((one["name"], compact_json(one)) for one in _written_sentinels())
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in written}


@cache
def _written_sentinels() -> list[dict[str, Any]]:
    text = (
        files("bioeval_tui.evaluation.conversation")
        .joinpath("sentinels.yml")
        .read_text(encoding="utf-8")
    )
    return yaml.safe_load(text)  # type: ignore[no-any-return]
