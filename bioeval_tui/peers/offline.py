"""Who takes part in a conversation without a model: a script or a person as the user, and rules as
the judge.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from bioeval_tui.base import units
from bioeval_tui.base.errors import InputError, NotMeasuredError
from bioeval_tui.base.patterns import PatternMatch, TooMuchTextError, search
from bioeval_tui.base.text import clean, clean_line, reading_form, shorten
from bioeval_tui.jobs.models import EvaluationJob, JobTask, RuleConfig, ScriptLine
from bioeval_tui.peers.seams import (
    Delta,
    EvaluatorView,
    Evidence,
    JudgeView,
    PeerError,
    TaskVerdict,
    TranscriptMessage,
    Utterance,
    Verdict,
)

HUMAN = "human"
"""What jobs (`evaluator.kind`) and `--evaluator-model` call a person who plays the user."""


class HumanEvaluator:
    """Sends what a person types, and waits for as long as they need."""

    identity = "a person"

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str] = asyncio.Queue()

    def say(self, text: str) -> None:
        """Take a typed message."""
        self._lines.put_nowait(text)

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield the person's message; blank ones are none."""
        content = ""
        while not content:
            content = clean(await self._lines.get()).strip()
        yield Delta(content)
        yield Utterance(content)

    async def aclose(self) -> None:
        """Nothing to close."""


WORDS_PER_DELTA = 3


class ScriptedEvaluator:
    """Says the lines of `job.evaluator.lines`, then the sign-off.

    In each turn it says the first unused line whose `when` matches the agent's last message,
    otherwise the next unused line without `when`, otherwise the sign-off. A line with `fact` is
    skipped where that fact is withheld, one with `only` in the other condition, and one with `task`
    where that task does not count. In the placebo it says what it would with the facts, of which
    `YokedEvaluator` replaces what tells any. Which lines are used is read from the transcript, so
    that a second attempt, a resumed run, and a conversation that a person gave back all continue
    with the right line.
    """

    identity = "scripted"

    def __init__(self, job: EvaluationJob, *, typing_delay_s: float = 0.0) -> None:
        """`typing_delay_s` is the pause in seconds after every few words; 0 says everything
        immediately.
        """
        self._lines = job.evaluator.lines
        self._job = job
        self._left_out: dict[str, set[int]] = {}
        """The numbers (from 1) of the tasks that do not count, by condition."""
        for condition in job.held_in:
            self._left_out[condition.name] = {
                number
                for number, task in enumerate(job.tasks, start=1)
                if not task.applies(condition.name)
            }
        self._signoff = job.evaluator.signoff
        self._delay = typing_delay_s

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield the next line a few words at a time and, last, the complete message."""
        line = self._choose(view)
        say, given = self._signoff, list[int]()
        if line:
            say, given = line.say, list(filter(None, (line.fact,)))
        content, told = clean(say), self._job.facts_told_in(view.condition)
        for piece in _pieces(content):
            yield Delta(piece)
            if self._delay:
                await asyncio.sleep(self._delay)
        yield Utterance(content, facts=tuple(told.index(fact) + 1 for fact in given))

    async def aclose(self) -> None:
        """Nothing to close."""

    def _is_said(self, line: ScriptLine, view: EvaluatorView) -> bool:
        """Return whether a line is for the condition, whether or not its turn has come."""
        if line.task in self._left_out[view.condition]:
            return False
        known = self._job.facts_told_in(view.condition)
        if not self._job.condition(view.condition).is_placebo:
            return line.applies(view.condition) and line.fact in (None, *known)
        if line.task is not None:
            # The tasks are those without the facts, and so is how they are asked for.
            return line.applies(view.condition) and line.fact is None
        return line.applies(self._job.condition_with_facts or "") and line.fact in (None, *known)

    def _choose(self, view: EvaluatorView) -> ScriptLine | None:
        # Only these can have been said: the other condition may have a line of the same words.
        own = [line for line in self._lines if self._is_said(line, view)]
        lines = _unused_lines(own, view.transcript)
        heard = reading_form(
            next((m.content for m in reversed(view.transcript) if m.role == "assistant"), "")
        )
        try:
            answering = (
                line
                for line in lines
                if line.when is not None and search(reading_form(line.when), heard)
            )
            chosen = next(answering, None)
        except (InputError, NotMeasuredError) as problem:
            at_text = isinstance(problem, TooMuchTextError)
            raise PeerError(
                "evaluator", f"evaluator.lines: {problem}", too_long=at_text
            ) from problem
        return chosen or next((line for line in lines if line.when is None), None)


def _unused_lines(
    lines: Sequence[ScriptLine], transcript: Sequence[TranscriptMessage]
) -> list[ScriptLine]:
    times_sent = Counter(" ".join(m.content.split()) for m in transcript if m.role == "user")
    left = []
    for line in lines:
        text = " ".join(clean(line.say).split())
        if times_sent[text] > 0:
            times_sent[text] -= 1
        else:
            left.append(line)
    return left


def _pieces(text: str) -> list[str]:
    words = text.split(" ")
    *groups, last = (
        " ".join(words[i : i + WORDS_PER_DELTA]) for i in range(0, len(words), WORDS_PER_DELTA)
    )
    return [*(f"{group} " for group in groups), last]


QUOTE_WIDTH = 240
"""Longest quotation, in characters."""

_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")


class RulesJudge:
    """Scores each task by its `rules`: one that is met gives its weight in points, and the score is
    the share of all points.
    """

    identity = "rules"

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Return one verdict.

        Raises `NotMeasuredError` if a task has no rules or a pattern fails.
        """
        tasks = tuple(
            _judge_task(number, task, view)
            for number, task in view.job.judged_in(view.condition).items()
        )
        return (Verdict(judge=self.identity, tasks=tasks),)

    async def aclose(self) -> None:
        """Nothing to close."""


def _judge_task(number: int, task: JobTask, view: JudgeView) -> TaskVerdict:
    rules = [rule for rule in task.rules if rule.applies(view.condition)]
    if not rules:
        raise NotMeasuredError(
            f"task {number} ({shorten(clean_line(task.task), 60)}) has no rules; add `rules` with a"
            " `pattern` to the task, or set `scorer.kind: llm`"
        )
    met: list[RuleConfig] = []
    missed: list[RuleConfig] = []
    evidence: list[Evidence] = []
    against: list[Evidence] = []
    for rule in rules:
        try:
            place = _find(rule, view.transcript)
        except TooMuchTextError as problem:
            # What the agent said may be behind it, so that no gate leaves the conversation out.
            raise PeerError("judge", f"task {number}: {problem}", too_long=True) from problem
        except (InputError, NotMeasuredError) as problem:
            raise NotMeasuredError(f"task {number}: {problem}") from problem
        quotes = [_quote(*place)] if place else []
        if (place is None) == rule.absent:
            met.append(rule)
            evidence += quotes
        else:
            missed.append(rule)
            against += quotes
    points, most = (sum(rule.weight for rule in one) for one in (met, rules))
    reason = f"{points:g} of {most:g} points = {units.number(points / most)}"
    if met:
        reason += f": {'; '.join(_weighted(_describe(rule), rule) for rule in met)}"
    if missed:
        # In quotation marks, as "no points for did not …" would be read as two negatives.
        lost = ", ".join(_weighted(f"“{_describe(rule)}”", rule) for rule in missed)
        reason += f". No points for {lost}"
    return TaskVerdict(
        number, points / most, f"{reason}.", tuple(dict.fromkeys([*against, *evidence]))
    )


def _find(
    rule: RuleConfig, transcript: Sequence[TranscriptMessage]
) -> tuple[TranscriptMessage, PatternMatch] | None:
    role = "assistant" if rule.who == "agent" else "user"
    for message in transcript:
        if message.role != role:
            continue
        # A pattern says what is to be read: "Blutverdünner" also where a soft hyphen is in it.
        read = replace(message, content=reading_form(message.content))
        if match := search(reading_form(rule.pattern), read.content):
            return read, match
    return None


def _describe(rule: RuleConfig) -> str:
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
