"""The judge's verdicts and the composite score of one conversation."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.base.text import clean, clean_line, shorten
from bioeval_tui.evaluation.conversation.blame import blame_for_score
from bioeval_tui.jobs.models import ConversationSeed, EvaluationJob, RubricItem
from bioeval_tui.peers.goodbyes import agent_hung_up
from bioeval_tui.peers.models.quotations import locate, only_of_the_user
from bioeval_tui.peers.models.shown import states_shown
from bioeval_tui.peers.models.verdicts import MAX_QUOTE
from bioeval_tui.peers.seams import (
    CheckResult,
    Evidence,
    Judge,
    JudgeView,
    ListedFaults,
    PeerError,
    TaskVerdict,
    TranscriptMessage,
    Verdict,
)
from bioeval_tui.peers.transcript import SpokenTranscript
from bioeval_tui.record import score
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.conditions import SUPPLIED
from bioeval_tui.record.events import (
    EndReason,
    EvidenceQuoted,
    Fault,
    KeptBy,
    ScorePart,
    TaskScored,
)
from bioeval_tui.statistics.means import average_if_any, exact_difference, exact_mean, median

LONGEST_QUOTE = 2_000
"""Maximum number of characters of a quotation in the recording."""


@dataclass(frozen=True, slots=True)
class JudgedTranscript:
    """The result of asking a judge: the fields of `TranscriptScored`, the tasks' scores, and
    warnings.

    `tasks` is None without a verdict; `error` and `fault` say why. `warnings` are codes with a
    sentence.
    """

    fields: Mapping[str, Any]
    tasks: tuple[TaskScored, ...] | None
    error: str = ""
    fault: Fault = "none"
    warnings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """How a conversation was held and ended, which a later judge, with whatever criteria, does not
    change.

    `job` is the one that it was held with; None for a log of another program, whose user no script
    of ours played and no message limit of ours stopped.
    """

    job: EvaluationJob | None
    ended: EndReason


async def judge_transcript(
    judge: Judge, view: JudgeView, limit_s: float, held: Held | None = None
) -> JudgedTranscript:
    """Ask the judge within `limit_s` seconds for each request of a verdict, and check its verdicts
    and their evidence.

    With how the conversation was `held`, each task says whether the user asked for it and, if not,
    why.
    """
    job = view.job
    whole_s = limit_s * max(1, len(job.scorer.split(tuple(job.judged_in(view.condition)))))
    try:
        async with asyncio.timeout(whole_s):
            answers = await judge.score(view)
    except TimeoutError:
        return _not_judged(
            judge, f"the judge gave no verdict within {whole_s:g} s", "infrastructure"
        )
    except PeerError as error:
        return _not_judged(judge, clean_line(str(error)), error.fault)
    except NotMeasuredError as error:
        return _not_judged(judge, clean_line(str(error)), "judge")
    verdicts = usable_verdicts(answers)
    if (wrong := verdicts_problem(job, verdicts, view.condition)) is not None:
        return _not_judged(judge, wrong, "judge")
    tasks = combine_verdicts(job, verdicts, view.transcript, states_shown(view), view.condition)
    if held is not None:
        tasks = tuple(_mark_asking(task, verdicts, view, held) for task in tasks)
    tones = [verdict.tone for verdict in verdicts if verdict.tone is not None]
    fields: dict[str, Any] = {
        "judge": judge.identity,
        "tone": exact_mean(tones) if tones else None,
        "tasks": tasks,
        "verdicts": tuple(verdict_dict(verdict) for verdict in verdicts),
        "tokens_in": sum(verdict.tokens_in or 0 for verdict in answers) or None,
        "tokens_out": sum(verdict.tokens_out or 0 for verdict in answers) or None,
    }
    # Asked for only now: without verdicts the conversation has no score, and the request would be
    # paid for nothing.
    listed, problem = await _user_faults(judge, view, limit_s)
    fields |= {"user_faults": listed.faults, "user_faults_refused": listed.refused}
    for key, more in (("tokens_in", listed.tokens_in), ("tokens_out", listed.tokens_out)):
        if more:
            fields[key] = (fields[key] or 0) + more
    warnings: list[tuple[str, str]] = []
    if problem:
        warnings.append(("user_faults", problem))
    warnings += [("verdict_missing", message) for message in missing_verdicts(answers)]
    warnings += [
        ("record_shortened", verdict.shortened) for verdict in verdicts if verdict.shortened
    ]
    warnings += [("tone_left_out", verdict.note) for verdict in verdicts if verdict.note]
    unproved = [
        f"the verdict on task {task.task} is unproved: {_why_unproved(task)}"
        for task in tasks
        if task.unproved
    ]
    if unproved and job.scorer.evidence == "require":
        why = f"{'; '.join(unproved)} (scorer.evidence: require)"
        return not_counted(JudgedTranscript(fields, tasks, warnings=tuple(warnings)), why)
    warnings += [("unproved", message) for message in unproved]
    return JudgedTranscript(fields, tasks, warnings=tuple(warnings))


def not_counted(judged: JudgedTranscript, why: str) -> JudgedTranscript:
    """Return the result of a judge whose verdicts are kept and do not count, with the reason."""
    refused = {**judged.fields, "tone": None, "tasks": (), "error": why}
    return JudgedTranscript(refused, None, why, "judge", judged.warnings)


def _why_unproved(task: TaskScored) -> str:
    if not task.fabricated:
        return "the judge names only what the user said, which does not show what the agent did"
    quote = shorten(clean_line(task.fabricated[0]), 120)
    return f"the judge quotes words that are not in the transcript: “{quote}”"


async def _user_faults(judge: Judge, view: JudgeView, limit_s: float) -> tuple[ListedFaults, str]:
    """Return the judge's list of the simulated user's faults and, if it has none, why; no score
    depends on it.
    """
    ask = getattr(judge, "user_faults", None)
    if not view.job.scorer.user_faults or view.job.evaluator.kind != "llm" or ask is None:
        return ListedFaults(), ""
    try:
        async with asyncio.timeout(limit_s):
            listed: ListedFaults = await ask(view)
    except TimeoutError:
        return ListedFaults(), f"the judge gave no list of the user's faults within {limit_s:g} s"
    except (PeerError, NotMeasuredError) as error:
        return (
            ListedFaults(),
            f"the judge's list of the user's faults is missing: {clean_line(str(error), 300)}",
        )
    return listed, ""


def _not_judged(judge: Judge, reason: str, fault: Fault) -> JudgedTranscript:
    return JudgedTranscript({"judge": judge.identity, "error": reason}, None, reason, fault)


def usable_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the usable verdicts, which count."""
    return [verdict for verdict in verdicts if not verdict.error]


def missing_verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one sentence for each member of a panel that gave no verdict."""
    of = len(verdicts)
    return [
        f"one of the {of} verdicts is missing, so the median is of the others:"
        f" {clean_line(verdict.error, 300)}"
        for verdict in verdicts
        if verdict.error
    ]


def verdicts_problem(
    job: EvaluationJob, verdicts: Sequence[Verdict], condition: Condition
) -> str | None:
    """Return what is wrong with the verdicts, or None: each must score every task, or item of the
    rubric, of the condition once, in [0, 1].
    """
    if not verdicts:
        return "the judge gave no verdict"
    for verdict in verdicts:
        numbers = sorted(task.task for task in verdict.tasks)
        if numbers != (wanted := list(job.judged_in(condition))):
            return f"the judge scored tasks {numbers}, the job has {wanted}"
        if not all(0 <= task.score <= 1 for task in verdict.tasks):
            return "a score is not between 0 and 1"
    return None


def combine_verdicts(
    job: EvaluationJob,
    verdicts: Sequence[Verdict],
    transcript: Sequence[TranscriptMessage],
    states: Sequence[str] = (),
    condition: Condition = SUPPLIED.name,
) -> tuple[TaskScored, ...]:
    """Return the median per task over the verdicts, with the reason and evidence nearest to it, of
    two as near the first.

    Quotations are located in the transcript and the shown states, whatever the judge claimed.
    """
    combined = []
    items = [item for item in job.rubric if isinstance(item, RubricItem)]
    for number, task in job.judged_in(condition).items():
        of_item: dict[str, Any] = {}
        wanted = True
        if items:
            item = items[number - 1]
            of_item = {"points": item.points, "tags": item.tags}
            wanted = item.points > 0  # one with negative points is passed if it is not met
        every = chain.from_iterable(answer.tasks for answer in verdicts)
        given = [verdict for verdict in every if verdict.task == number]
        scores = [verdict.score for verdict in given]
        middle = median(scores)
        # As written: of 0.1 and 0.3, binary fractions would make the second the nearer one to 0.2.
        nearest = min(given, key=lambda verdict: abs(exact_difference(verdict.score, middle)))
        evidence = _evidence(nearest, transcript, states)
        located = replace(
            nearest, evidence=tuple(Evidence(one.quote, one.message) for one in evidence)
        )
        # A rule may ask for what the user said.
        by_user = job.scorer.kind != "rules" and bool(only_of_the_user(located, transcript, states))
        combined.append(
            TaskScored(
                task=number,
                title=task.task,
                score=middle,
                reason=clean(nearest.reason),
                evidence=evidence,
                only_of_user=by_user,
                passed=(middle > task.pass_above) == wanted,
                spread=exact_difference(max(scores), min(scores)),
                weight=task.weight,
                **of_item,
            )
        )
    return tuple(combined)


def _mark_asking(
    task: TaskScored, verdicts: Sequence[Verdict], view: JudgeView, held: Held
) -> TaskScored:
    """Return a task's score with the message that asks for it or, if none does, with what kept the
    user from it; unchanged if that is unknown.

    This is the only place that decides it, for transcripts of any origin.
    """
    # Of a rubric's items, the judge is not asked which message asks for them.
    if task.points is not None:
        return task
    asked = _message_that_asks(task.task, verdicts, view, held)
    if asked is None:
        return task
    if asked == 0:
        return task.model_copy(update={"asked": asked, "kept_by": _obstacle(view, held)})
    words = next((message.content for message in view.transcript if message.message == asked), "")
    update = {"asked": asked, "asked_words": shorten(clean_line(words), MAX_QUOTE)}
    return task.model_copy(update=update)


def _message_that_asks(
    number: int, verdicts: Sequence[Verdict], view: JudgeView, held: Held
) -> int | None:
    """Return the user's message that asks for a task: the script's own, else the one that most
    verdicts name.
    """
    users = [message for message in view.transcript if message.role == "user"]
    if (
        held.job is not None
        and held.job.evaluator.kind == "scripted"
        and not any(message.operator for message in users)
    ):
        script = held.job.evaluator.lines
        lines = [_one_line(line.say) for line in script if line.task == number]
        if lines:
            return next((each.message for each in users if _one_line(each.content) in lines), 0)
    known = {0, *(message.message for message in users)}
    every = chain.from_iterable(verdict.tasks for verdict in verdicts)
    named = [task.asked for task in every if task.task == number and task.asked in known]
    if not named:
        return None
    # Whether it was asked for comes first: those who say so may name different messages. Split
    # evenly, it was.
    messages = Counter(each for each in named if each)
    if messages.total() < len(named) / 2:
        # It may have been asked for in the earlier conversation, which the judge of tasks is not
        # shown.
        if held.job is not None and any(
            isinstance(seed, ConversationSeed) for seed in held.job.seeds
        ):
            return None
        return 0
    return min(messages, key=lambda each: (-messages[each], each))


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _obstacle(view: JudgeView, held: Held) -> KeptBy | None:
    """Return why a task was never asked for; None if its score counts all the same, as
    published.
    """
    if held.ended in ("agent_failed", "timed_out"):
        return "agent"
    signoff = (held.job or view.job).evaluator.signoff
    if held.ended != "max_turns" and agent_hung_up(view.transcript, signoff):
        return "agent"
    if held.ended == "max_turns":
        return "turns"
    if held.job is not None and len(view.transcript) + 2 > held.job.max_messages:
        return "turns"
    if view.job.compat == "embabel":
        return None
    return "user"


def score_fields(
    transcript: SpokenTranscript,
    tasks: Sequence[TaskScored] | None,
    judge_error: str,
    checks: Mapping[int, CheckResult],
    judge_fault: Fault,
    *,
    agent_failed: bool = False,
) -> dict[str, object]:
    """Return the fields of `ConversationScored` for a conversation that counts as a result."""
    job = transcript.job
    results = [
        (job.assertions[index].weight, check.passed) for index, check in sorted(checks.items())
    ]
    judged = job.judged_in(transcript.condition)
    # One without weight counts for nothing, also where it could not be measured.
    unchecked = [
        check
        for index, check in checks.items()
        if check.passed is None and job.assertions[index].weight
    ]
    # What failed explains a missing score better than what nobody could have measured.
    unchecked.sort(key=lambda check: check.fault == "none")
    why_unchecked = next((check.error or "" for check in unchecked), "")
    parts = (
        score.timing_part(
            job.aspirational_average,
            transcript.latencies_ms,
            ended=True,
            answers=transcript.answers,
            agent_failed=agent_failed,
        ),
        score.judged_part(tasks, len(judged), judge_error),
        score.assertion_part(results, why_unchecked),
    )
    whole = score.compose([counts_elsewhere(part, job) for part in parts], transcript.failures)
    fault: Fault = "none"
    if whole.score is None:
        faults = [check.fault for check in unchecked]
        if tasks is None and judged:
            faults.insert(0, judge_fault)
        fault = blame_for_score(faults, tasks)
    return {
        **unscored_fields(transcript, whole.reason, fault),
        "score": whole.score,
        "parts": whole.parts,
    }


def counts_elsewhere(part: ScorePart, job: EvaluationJob) -> ScorePart:
    """Return a part that is left out with the reason that all of it counts in the other condition,
    if the job has it.
    """
    weighed = tuple(assertion for assertion in job.assertions if assertion.weight)
    listed = {"task": job.judged, "assertion": weighed}.get(part.name)
    if not part.left_out or not listed:
        return part
    return part.model_copy(update={"reason": f"every {part.name} is for the other condition only"})


def unscored_fields(transcript: SpokenTranscript, reason: str, fault: Fault) -> dict[str, object]:
    """Return the fields of `ConversationScored` for a conversation that does not count as a
    result.
    """
    return {
        "score": None,
        "parts": (),
        "penalty": score.failure_penalty(transcript.failures),
        "failures": transcript.failures,
        "average_latency_ms": average_if_any(transcript.latencies_ms),
        "reason": reason,
        "fault": fault,
    }


def verdict_dict(verdict: Verdict) -> dict[str, object]:
    """Return the verdict of one judging, as the event lists it beside the median of all of them:
    the judge, its `tone`, and each task's score with the reason and the evidence.

    A model's reasons and quotations were cut where its answer was read; those of a plug-in may be
    whole messages, so quotations are cut here, too.
    """
    return {
        "judge": clean_line(verdict.judge),
        "tone": verdict.tone,
        "tasks": [
            {
                "task": task.task,
                "score": task.score,
                "reason": clean(task.reason),
                "asked": task.asked,
                "evidence": [
                    {"quote": clean(item.quote, LONGEST_QUOTE), "message": item.message}
                    for item in task.evidence
                ],
            }
            for task in verdict.tasks
        ],
    }


def _evidence(
    verdict: TaskVerdict, transcript: Sequence[TranscriptMessage], states: Sequence[str]
) -> tuple[EvidenceQuoted, ...]:
    return tuple(
        EvidenceQuoted(
            quote=clean(item.quote, LONGEST_QUOTE), message=_place(item, transcript, states)
        )
        for item in verdict.evidence
    )


def _place(
    item: Evidence, transcript: Sequence[TranscriptMessage], states: Sequence[str]
) -> int | None:
    """Return the message that contains a quotation: the one the judge named if possible, else the
    first.
    """
    named = [message for message in transcript if message.message == item.message]
    return locate(item.quote, named) or locate(item.quote, transcript, states)
