"""Transcripts that were judged again: old and new side by side, and which one counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict

from bioeval_tui.record.events import ConversationScored, TaskScored, TranscriptScored
from bioeval_tui.record.names import Condition
from bioeval_tui.record.overlay import Overlay, judgings
from bioeval_tui.record.state import ConversationKey, RunState
from bioeval_tui.report.findings import VerdictsReplaced
from bioeval_tui.text import clean_line


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """One verdict on one conversation. `author` and `at` are empty for the recorded one."""

    judge: str
    prompts: tuple[tuple[str, str], ...]
    author: str
    at: str
    tasks: tuple[TaskScored, ...]
    tone: float | None
    score: float | None
    counts: bool

    @property
    def prompt_words(self) -> str:
        """The prompts by name with the beginning of their hashes."""
        return ", ".join(f"{name} {digest[:8]}" for name, digest in self.prompts) or "no prompt"

    @property
    def task_words(self) -> str:
        """Such as `1: 0.20, 2: 0.90`."""
        return ", ".join(f"{task.task}: {task.words}" for task in self.tasks) or "no verdict"


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """One conversation: its recorded verdict, then each later one in order."""

    key: ConversationKey
    where: str
    """Which conversation, such as `facts withheld, trial 1`."""
    recorded_verdict: TranscriptScored | None
    rows: tuple[JudgingRow, ...]


def judged_again(state: RunState, overlay: Overlay, *, counts: bool) -> dict[ConversationKey, JudgedAgain]:
    """Return what was judged again; when it `counts`, the latest verdict of each conversation does."""
    found: dict[ConversationKey, JudgedAgain] = {}
    for key, same in judgings(state, overlay).items():
        talk = state.conversations[key]
        rows = (
            [_row(talk.verdict, talk.score, _prompts(state), "", "", counts=not counts)]
            if talk.verdict
            else []
        )
        rows += [
            _row(one.verdict, one.score, one.verdict.prompts, one.author, one.at, counts=counts and one is same[-1])
            for one in same
        ]  # fmt: skip
        where = f"{state.condition_title(key.condition)}, {talk.trial_words}"
        found[key] = JudgedAgain(key, where, talk.verdict, tuple(rows))
    return found


def _row(
    verdict: TranscriptScored,
    score: ConversationScored | None,
    prompts: Mapping[str, str],
    author: str,
    at: str,
    *,
    counts: bool,
) -> JudgingRow:
    return JudgingRow(
        judge=clean_line(verdict.judge, 200),
        prompts=tuple(sorted(prompts.items())),
        author=clean_line(author, 100),
        at=at,
        tasks=verdict.tasks,
        tone=verdict.tone,
        score=score.score if score else None,
        counts=counts,
    )


def _prompts(state: RunState) -> dict[str, str]:
    """Return the judge's recorded prompt, by name."""
    scorer = state.job.get("scorer")
    name = scorer.get("prompt") if isinstance(scorer, dict) else None
    recorded = state.started.prompts if state.started else {}
    return {name: recorded[name]} if name in recorded else {}


def verdicts_replaced(
    found: Mapping[ConversationKey, JudgedAgain], held: int, *, run: str = ""
) -> VerdictsReplaced | None:
    """Return which verdicts count of `held` conversations; None if nothing was judged again."""
    if not found:
        return None
    latest = [again.rows[-1] for again in found.values()]
    judges = tuple(sorted({row.judge for row in latest}))
    return VerdictsReplaced(len(found), held, latest[0].counts, judges, run)


class PrintedJudging(TypedDict):
    """One verdict on a conversation; `counts` marks the one in use."""

    condition: Condition
    trial: int
    judge: str
    prompts: dict[str, str]
    author: str | None
    at: str | None
    recorded: bool
    tasks: list[dict[str, Any]]
    tone: float | None
    score: float | None
    counts: bool


def judged_again_dicts(found: Mapping[ConversationKey, JudgedAgain]) -> list[PrintedJudging]:
    """Return one object for each verdict on a conversation that was judged again, the recorded one first."""
    return [
        {
            "condition": again.key.condition,
            "trial": again.key.trial,
            "judge": row.judge,
            "prompts": dict(row.prompts),
            "author": row.author or None,
            "at": row.at or None,
            "recorded": not row.at,
            "tasks": [{**task.model_dump(mode="json"), "unproved": task.unproved} for task in row.tasks],
            "tone": row.tone,
            "score": row.score,
            "counts": row.counts,
        }
        for again in found.values()
        for row in again.rows
    ]
