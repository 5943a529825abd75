"""Transcripts that were judged again: old and new side by side, and which one counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bioeval_tui import score as composite
from bioeval_tui.record.events import ConversationScored, RunEvent, TranscriptScored
from bioeval_tui.record.overlay import Overlay, judgings
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState
from bioeval_tui.text import clean_line, plural

KINDS = frozenset({"transcript_scored", "conversation_scored"})
"""The events of an overlay that are told here, not among the reviews."""


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """One verdict on one conversation. `author` and `at` are empty for the recorded one."""

    judge: str
    prompts: tuple[tuple[str, str], ...]
    author: str
    at: str
    tasks: tuple[tuple[int, float], ...]
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
        return ", ".join(f"{number}: {score:.2f}" for number, score in self.tasks) or "no verdict"


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """One conversation: its recorded verdict, then each later one in order."""

    key: ConversationKey
    recorded_verdict: TranscriptScored | None
    rows: tuple[JudgingRow, ...]

    @property
    def where(self) -> str:
        """Which conversation."""
        return f"facts {self.key.condition}, trial {self.key.trial}"


def judge_again(
    state: RunState, overlay: Iterable[RunEvent], *, counts: bool
) -> Mapping[ConversationKey, JudgedAgain]:
    """Return what was judged again; when it `counts`, put the latest verdicts and scores into `state`."""
    attempts = {key: talk.attempt for key, talk in state.conversations.items()}

    def fits(event: RunEvent) -> bool:
        if event.kind not in KINDS or event.condition is None or event.trial is None:
            return False
        # A verdict on an attempt that was abandoned since says nothing about the one that took its place.
        return attempts.get(ConversationKey(event.condition, event.trial)) == (event.attempt or 1)

    found: dict[ConversationKey, JudgedAgain] = {}
    for key, same in judgings(Overlay(tuple(filter(fits, overlay)))).by_conversation.items():
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
        found[key] = JudgedAgain(key, talk.verdict, tuple(rows))
        if counts:
            _take(talk, same[-1].verdict, same[-1].score)
    if found and counts and state.ended is not None:
        scores = state.scores()
        mean = composite.published_mean(scores)
        state.ended = state.ended.model_copy(update={"scores": scores, "mean": mean})
    return found


def _take(talk: ConversationState, verdict: TranscriptScored, score: ConversationScored | None) -> None:
    talk.verdict = verdict
    if score is not None:
        talk.score = score


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
        tasks=tuple((task.task, task.score) for task in verdict.tasks),
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


def words(found: Mapping[ConversationKey, JudgedAgain], held: int) -> str:
    """Return which verdicts count, in one sentence; empty when nothing was judged again."""
    if not found:
        return ""
    what = f"{len(found)} of {plural(held, 'conversation')} judged again"
    latest = [again.rows[-1] for again in found.values()]
    if not latest[0].counts:
        return f"{what}: the recorded verdicts count, the later ones stand beside them"
    judges = ", ".join(sorted({row.judge for row in latest}))
    return f"{what}: the latest verdict of each counts ({judges}), the recorded one stands beside it"


def judged_again_dicts(found: Mapping[ConversationKey, JudgedAgain]) -> list[dict[str, Any]]:
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
            "tasks": {str(number): score for number, score in row.tasks},
            "tone": row.tone,
            "score": row.score,
            "counts": row.counts,
        }
        for again in found.values()
        for row in again.rows
    ]
