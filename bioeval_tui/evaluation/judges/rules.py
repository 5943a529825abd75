"""The rules judge: patterns instead of a model, for rehearsals and offline work."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bioeval_tui import units
from bioeval_tui.errors import InputError, NotMeasuredError
from bioeval_tui.evaluation.job.models import JobTask, RuleConfig
from bioeval_tui.evaluation.seams import Evidence, JudgeView, TaskVerdict, TranscriptMessage, Verdict
from bioeval_tui.patterns import PatternMatch, search
from bioeval_tui.text import clean_line, shorten

QUOTE_WIDTH = 240
"""Longest quotation, in characters."""

_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")


class RulesJudge:
    """Scores each task by its `rules`: one that is met gives its weight in points, and the score is the share of all points."""

    identity = "rules"

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Return one verdict. Raises `NotMeasuredError` if a task has no rules or a pattern fails."""
        tasks = tuple(
            _judge_task(number, task, view) for number, task in view.job.judged_in(view.condition).items()
        )
        return (Verdict(judge=self.identity, tasks=tasks),)

    async def aclose(self) -> None:
        """Nothing to close."""


def _judge_task(number: int, task: JobTask, view: JudgeView) -> TaskVerdict:
    rules = [rule for rule in task.rules if rule.applies(view.condition)]
    if not rules:
        raise NotMeasuredError(
            f"task {number} ({shorten(clean_line(task.task), 60)}) has no rules; add `rules` with a `pattern`"
            " to the task, or set `scorer.kind: llm`"
        )
    met: list[RuleConfig] = []
    missed: list[RuleConfig] = []
    evidence: list[Evidence] = []
    against: list[Evidence] = []
    for rule in rules:
        try:
            place = _find(rule, view.transcript)
        except (InputError, NotMeasuredError) as problem:
            raise NotMeasuredError(f"task {number}: {problem}") from problem
        holds = (place is None) == rule.absent
        (met if holds else missed).append(rule)
        if place:
            (evidence if holds else against).append(_quote(*place))
    points, most = (sum(rule.weight for rule in one) for one in (met, rules))
    reason = f"{points:g} of {most:g} points = {units.number(points / most)}"
    reason += f": {'; '.join(_weighted(_named(rule), rule) for rule in met)}" if met else ""
    # In quotation marks, as "no points for did not …" would be read as two negatives.
    lost = ", ".join(_weighted(f"“{_named(rule)}”", rule) for rule in missed)
    reason += f". No points for {lost}" if lost else ""
    return TaskVerdict(number, points / most, f"{reason}.", tuple(dict.fromkeys([*against, *evidence])))


def _find(
    rule: RuleConfig, transcript: Sequence[TranscriptMessage]
) -> tuple[TranscriptMessage, PatternMatch] | None:
    role = "assistant" if rule.who == "agent" else "user"
    for message in transcript:
        if message.role == role and (match := search(rule.pattern, message.content)):
            return message, match
    return None


def _named(rule: RuleConfig) -> str:
    if rule.reason:
        return clean_line(rule.reason)
    did = "avoided" if rule.absent else "said"
    return f"the {rule.who} {did} `{shorten(clean_line(rule.pattern), 60)}`"


def _weighted(words: str, rule: RuleConfig) -> str:
    return f"{words} ({rule.weight:g})"


def _quote(message: TranscriptMessage, match: PatternMatch) -> Evidence:
    """Quote the sentence around a match; a long one is shortened around the match."""
    text = message.content
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, match.start)), default=0)
    close = _SENTENCE_END.search(text, max(match.start, match.end - 1))
    end = close.end() if close else len(text)
    if end - start > QUOTE_WIDTH:
        start = max(start, match.start - QUOTE_WIDTH // 4)
        end = min(end, start + QUOTE_WIDTH)
    return Evidence(text[start:end].strip(), message.message)
