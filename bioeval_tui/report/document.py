"""A run's result as one JSON object, as in `--json`, reports and gates.

The models are its documented schema (`bioeval-tui schema result`). Times are in milliseconds,
scores in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict

from bioeval_tui.base.printed import Fields
from bioeval_tui.record import events, score
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import Control, EndReason, Fault, PartName, RunStatus
from bioeval_tui.record.participants import Peer
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.reviews import REVIEWED
from bioeval_tui.record.state import MessageState
from bioeval_tui.record.tool_calls import FailedCall, injected_failures
from bioeval_tui.report.answer import NEVER_STARTED, Answer
from bioeval_tui.report.costs import PrintedCost, cost_dict
from bioeval_tui.report.findings import CalibratedElsewhere, NoMean, Outcome, Shared, StepAction
from bioeval_tui.report.manner import manner_dicts
from bioeval_tui.report.result import AgentSideRow, RunResult
from bioeval_tui.report.reviews import PrintedJudging, judged_again_dicts
from bioeval_tui.report.run import ConversationResult
from bioeval_tui.report.sentences import sentence
from bioeval_tui.report.summary import Asking, Summary
from bioeval_tui.statistics.estimates import PassK
from bioeval_tui.statistics.intervals import ends
from bioeval_tui.statistics.paired_differences import Difference, Direction

Score = float | None


class _Published(BaseModel):
    """A part of the result, whose form is published and stays.

    What is printed of an event is made of its class by `Fields`, which names the keys: events get
    others with time, and these must not come out here by themselves.
    """

    model_config = ConfigDict(extra="forbid", from_attributes=True, defer_build=True)


PART = Fields(
    events.ScorePart,
    "weight", "value", "left_out", "reason",
    called="PartResult",
    about="One part of a composite.",
)  # fmt: skip
PartResult = Annotated[dict[str, Any], PART]

MESSAGE = Fields(
    MessageState,
    "message", "role", "speaker", "content", "operator", "sent", "cut_off", "empty",
    named={"content": "text", "empty": "is_empty"},
    called="MessageResult",
    about="One message. The evaluator is the `user`, the agent the `assistant`.",
    texts={
        "message": "Its number in the conversation, from 1.",
        "sent": "Whether it was sent to the other side. "
        "The sign-off and messages that a guard stopped are not.",
        "cut_off": "Whether the agent's model ended it at its length limit.",
        "empty": "Whether the agent answered without a word.",
    },
    sent=bool,
)  # fmt: skip
MessageResult = Annotated[dict[str, Any], MESSAGE]

LATENCY = Fields(
    MessageState,
    "message", "latency_ms", "blocked_ms", "first_token_ms", "waited_ms",
    called="LatencyResult",
    about="The response time of one of the agent's messages, in ms.",
)  # fmt: skip
LatencyResult = Annotated[dict[str, Any], LATENCY]

FACT = Fields(
    events.FactDisclosed,
    "fact", "text", "message", "asked",
    called="FactResult",
    about="A fact that the evaluator gave to the agent.",
)  # fmt: skip
FactResult = Annotated[dict[str, Any], FACT]

GUARD = Fields(
    events.EvaluatorViolated,
    "message", "rule", "effect", "mended", "detail",
    called="GuardResult",
    about="A guard's finding about a message of the evaluator.",
)  # fmt: skip
GuardResult = Annotated[dict[str, Any], GUARD]

AGENT_SIDE = Fields(
    AgentSideRow,
    "condition", "trial", "message", "rule", "detail",
    called="AgentSideResult",
    about="Something that a rule found in a message of the agent; no score contains it.",
)  # fmt: skip
AgentSideResult = Annotated[dict[str, Any], AGENT_SIDE]

USER_FAULT = Fields(
    events.UserFault,
    "kind", "message", "quote", "found_by", "reason",
    called="UserFaultResult",
    about="What the simulated user did wrong in a message.",
)  # fmt: skip
UserFaultResult = Annotated[dict[str, Any], USER_FAULT]

TOOL_FAILURE = Fields(
    FailedCall,
    "message", "call", "tool", "how",
    called="ToolFailureResult",
    about="A tool call that the job made fail. `call` is its number in the message, from 1.",
    message=int,
    how=str,
)  # fmt: skip
ToolFailureResult = Annotated[dict[str, Any], TOOL_FAILURE]

QUOTE = Fields(
    events.EvidenceQuoted,
    "quote", "message",
    called="QuoteResult",
    about="A passage that the judge quotes.",
)  # fmt: skip
QuoteResult = Annotated[dict[str, Any], QUOTE]

TASK = Fields(
    events.TaskScored,
    "task", "title", "score", "passed", "asked", "kept_by", "reason", "evidence", "unproved",
    "spread",
    "points", "tags",
    called="TaskResult",
    about="The judge's verdict on one task: the median if there are several.",
    texts={
        "score": "Null if the user never asked for the task and could have.",
        "passed": "Whether the score is above the task's `passAbove`; null without one.",
        "unproved": "The judge quoted words that are not in the transcript, or only the user's, "
        "even after it was asked again.",
    },
    score=Score,
    passed=bool | None,
    evidence=list[QuoteResult],
)  # fmt: skip
TaskResult = Annotated[dict[str, Any], TASK]

ASSERTION = Fields(
    events.AssertionChecked,
    "title", "weight", "status", "observed", "expected", "error", "warning", "why", "from_start",
    called="AssertionResult",
    about="The last check of one assertion.",
)  # fmt: skip
AssertionResult = Annotated[dict[str, Any], ASSERTION]


# A `Case` says what is planned under some of these names; `ConversationScored` what is recorded,
# none before the end.
class ConversationDocument(_Published):
    """One conversation: one trial under one condition."""

    trial: int
    case: str | None
    """The case, for a set of cases; otherwise null."""
    persona: str | None
    """The name of the persona of the simulated user; null if the job has none."""
    user_model: str | None
    """The model that plays the user, where the run has several; null otherwise."""
    score: Score
    """The composite score of this conversation; null if it could not be measured."""
    shared_score: Score
    """The same of what both conditions share, of which the difference is made; null if there is
    none.
    """
    given_scores: dict[str, Any] | None
    """The scores from the file of an imported conversation."""
    reason: str
    """Why there is no score, or a note on the score."""
    parts: dict[PartName, PartResult]
    penalty: float | None
    failures: int
    """The number of failed requests that count against the agent."""
    end_reason: EndReason | None
    """`cancelled` with a fault means that nobody cancelled it: a setup, a seed, the graph, this
    machine, what came from the agent (`unclear`) or a defect (`program`) prevented it.
    """
    end_detail: str
    fault: Fault | None
    messages: list[MessageResult]
    latencies: list[LatencyResult]
    average_latency_ms: float | None
    words_told: int
    """How many words the user told the agent, without the greeting and the sign-off."""
    facts: list[FactResult]
    persona_facts: PersonaFacts | None
    """Which facts the user's persona held back or got wrong, of those that the user had; null if it
    told them as they are.
    """
    guards: list[GuardResult]
    user_faults: list[UserFaultResult]
    """What the simulated user did wrong, as guards and, with `scorer.userFaults`, the judge found.
    """
    tool_failures: list[ToolFailureResult]
    """The tool calls that the job made fail (`target.tools[].fails`)."""
    tone: Score
    """The judge's rating of the agent's tone; not part of the score."""
    tasks: list[TaskResult]
    unproved: int
    """The number of `tasks` that are unproved."""
    judge_error: str | None
    assertions: list[AssertionResult]


class PassKResult(_Published):
    """pass^k: the probability that k trials of a task all succeed."""

    value: float | None
    low: float | None
    """The limits of the 95 % interval, clustered by case, or by conversation of one case; null for
    fewer than ten.
    """
    high: float | None
    tasks: int


class ConditionResult(BaseModel):
    """All trials of one condition.

    If there is only one trial, its fields (see ConversationDocument) are here, too.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)

    score: Score
    """The mean over all trials; null if one of them could not be measured."""
    pass_k: dict[str, PassKResult]
    """pass^k over the tasks, by k; of more than 200 trials, for 1 to 200 and for all of them."""
    tags: dict[str, float]
    """The mean score of the rubric (`all items`) and of the items with each tag; empty without a
    rubric.
    """
    trials_held: int
    """The number of trials that were run."""
    trials_used: int
    """The number of trials with a score."""
    mean_of_used: Score
    """The mean over the trials with a score."""
    mean_at_least: Score
    """The same with 0 for each other trial, and with the time of requests that were sent again: a
    gate wants this to reach its threshold, too.
    """
    words_told: float | None
    """How many words the user told in a conversation, on average, without the greeting."""
    asking: Asking | None
    """How often the agent asked, and what it obtained; null without facts."""
    trials: list[ConversationDocument]
    """The trials, in order."""


class StepResult(_Published):
    """What can be done next."""

    action: StepAction
    words: str
    command: str
    """The same in a shell; empty where there is none."""


class AnswerResult(_Published):
    """What came out of a run, how sure, why and what next, found by rules."""

    outcome: Outcome
    """A stable code for the kind of answer."""
    what: str
    """The scores, and what fails in every trial; or why there are none."""
    sure: str
    """Whether it is sure, and what it takes."""
    control: str
    """What of the difference is the facts', and what the longer talk's; empty without a placebo."""
    users: str
    """What comes out with each of several users, and whether it is the same with all of them; empty
    with one.
    """
    tools: str
    """Which tools the job made fail; empty if none."""
    why: str
    """The turn that decided, quoted, and who says so; empty if nothing was lost."""
    next: list[StepResult]
    attributed: float | None
    """The difference that it attributes to the facts (supplied − withheld); null if it attributes
    none, or none can be told.
    """


def answer_dict(answer: Answer) -> dict[str, Any]:
    """Return an answer for JSON."""
    return AnswerResult.model_validate(answer).model_dump()


class DifferenceResult(_Published):
    """Supplied − withheld, paired by trial, on what both conditions share."""

    mean: float | None
    """Null if no trial has both scores, or no difference is claimed; `words` says why."""
    verdict: Direction
    words: str
    rests_on: Shared | None
    """What the difference rests on; null if the conditions share everything that is scored."""


class DifferencePart(_Published):
    """One part of the difference, paired by trial."""

    mean: float | None
    verdict: Direction
    low: float | None
    high: float | None
    """The ends of its 95 % interval; null if there are too few trials or cases for one."""


class PlaceboResult(_Published):
    """What of the difference is the facts', and what the longer talk's that they bring."""

    total: DifferencePart | None
    """Supplied − withheld, in the trials with all three scores; null, as its parts, if the user
    told more than a quarter more or fewer words with the placebo.
    """
    facts: DifferencePart | None
    """Supplied − placebo."""
    longer_talk: DifferencePart | None
    """Placebo − withheld."""
    trials: int
    """The trials with all three scores."""
    words: str


class ControlResult(_Published):
    """One conversation of the judge's exam, which deserves nothing."""

    control: Control
    in_condition: Condition
    """The condition whose criteria were asked about."""
    score: Score
    pass_mark: float
    """The score that it must not reach."""
    is_believed: bool
    error: str


class ExamResult(_Published):
    """The exam of the judge whose verdicts count."""

    judge: str
    believed: Control | None
    """The control that the judge believed, so that its verdicts do not count."""
    words: str
    controls: list[ControlResult]
    left_out: list[int]
    """The tasks that an agent meets by saying nothing."""
    case: str
    remembered: bool
    """Whether the scores are those of an earlier run."""
    why_not: str
    """Why there was no exam, or why it was not finished."""


class CalibratedResult(_Published):
    """The share of passed tasks, corrected by the reviews of other runs of the same judge."""

    title: str | None
    """What the condition is called; null of all together."""
    runs: list[str]
    judge: float | None
    """The share that the judge passed here."""
    estimate: float | None
    """The share that people would pass; null where it is `refused`."""
    low: float | None
    high: float | None
    reviews: int
    sensitivity: float | None
    specificity: float | None
    refused: str | None


class RunDocument(_Published):
    """One run: one job with one agent and model."""

    model_config = ConfigDict(title="RunResult")

    answer: AnswerResult
    """What came out, how sure, why and what next."""
    run_id: str | None
    batch_id: str | None
    """The id of the batch's first run."""
    job: str | None
    agent: str | None
    model: str | None
    """The model requested from the agent; null if none was named."""
    evaluator: str | None
    judge: str | None
    served: dict[Peer, dict[str, list[str]]]
    """The names that servers gave the models in their answers, by role and by the name that was
    asked for.
    """
    judge_prompt: str | None
    """The judge's prompt and the start of its hash; null if the judge is not a model."""
    started_at: str | None
    status: RunStatus | Literal["interrupted"]
    detail: str
    score: Score
    """The mean of both conditions (the published formula); if null, `why_no_score` says why."""
    why_no_score: str | None
    difference: DifferenceResult | None
    """What the facts change; null if only one condition was run."""
    placebo: PlaceboResult | None
    """What of it is the facts'; null without the condition placebo."""
    clean: bool | None
    """Whether both conditions started from the same state and no person took over; null if unknown,
    or if only one was run.
    """
    compared: list[str]
    """The parts of the starting states that were compared."""
    rehearsal: bool
    """Whether a script played the user and rules judged."""
    warnings: list[str]
    unproved: int
    """The number of verdicts that quote words which are not in the transcript, or only the user's.
    """
    conditions: dict[Condition, ConditionResult | None]
    """Null for a condition without a conversation."""
    versions: dict[str, str]
    """Versions and settings that you need to repeat the run."""
    cost: PrintedCost | None
    """Tokens and cost of each model."""
    judged_again: list[PrintedJudging]
    """Every verdict on conversations that were judged again, the recorded one first; `counts` marks
    the one in use.
    """
    people_say: list[str]
    """What people would say about the judge's verdicts, by a sample of reviews, or that there is
    none.
    """
    calibrated: list[CalibratedResult]
    """The judge corrected by reviews of the runs that were named with `--calibrated-by`; empty
    without any.
    """
    agent_side: list[AgentSideResult]
    """What rules found about the agent, in no score; empty unless `--agent-side` asked for it."""
    agent_side_words: str | None
    """In how many of its messages, and what was not looked for; null unless that was asked for."""
    judge_exam: ExamResult | None
    """What the judge gave conversations that deserve nothing; null if it was not examined."""
    reviewed: Annotated[dict[str, Any], REVIEWED] | None
    """The scores with people's reviews."""
    reviews: list[dict[str, Any]]
    realism: dict[str, Any]
    """How the simulated user speaks compared with people, by condition; empty for a scripted user.
    """
    problems: list[str]
    """Damaged lines of the recording."""


def piecewise_document(run: RunResult | None) -> dict[str, Any]:
    """Return the same as `run_document` with an iterator over each condition's trials, made when
    they are asked for.
    """
    document = run_document(run, trials=False)
    if run is not None:
        for condition, part in document["conditions"].items():
            if part is not None:
                part["trials"] = map(_printed, run.conversations_in(condition))
    return document


def _printed(talk: ConversationResult) -> dict[str, Any]:
    return _conversation(talk).model_dump(mode="json")


def run_document(run: RunResult | None, *, trials: bool = True) -> dict[str, Any]:
    """Return the run's result; None is a run that never started.

    Without `trials`, the lists of these are empty.
    """
    if run is None:
        return _document(**_never_started())
    brief, ended, talks = run.brief, run.ended, run.conversations_begun
    return _document(
        answer=run.answer,
        run_id=run.run_id,
        batch_id=run.started.batch_id,
        job=brief.job,
        agent=brief.agent,
        model=run.started.model,
        evaluator=brief.evaluator or None,
        judge=brief.judge or None,
        served=run.served,
        judge_prompt=brief.judge_prompt or None,
        started_at=run.started_at.isoformat(),
        status=run.status,
        detail=run.detail,
        score=run.mean,
        why_no_score=run.why_no_mean or None,
        difference=_difference(run.summary),
        placebo=_placebo(run.summary),
        clean=run.known_clean,
        compared=ended.compared if ended else (),
        rehearsal=brief.rehearsal,
        warnings=list(
            dict.fromkeys(
                warned.message for warned in chain(run.warned, *(talk.warned for talk in talks))
            )
        ),
        unproved=sum(talk.unproved for talk in talks),
        conditions={
            condition: _condition(run, condition, trials=trials) for condition in run.conditions
        },
        versions=dict(run.versions),
        cost=cost_dict(run.summary.spent),
        judged_again=judged_again_dicts(run.judged_again),
        people_say=run.people_say,
        calibrated=list(map(_calibrated, run.calibrated)),
        agent_side=list(map(AGENT_SIDE.of, run.agent_side)),
        agent_side_words=run.agent_side_words or None,
        judge_exam=_exam(run),
        reviewed=run.reviewed and run.reviewed.to_dict(),
        reviews=[asdict(review) for review in run.reviews],
        realism=manner_dicts(run.manners),
        problems=[str(problem) for problem in run.problems],
    )


def _difference(summary: Summary) -> dict[str, Any] | None:
    if summary.uplift is None:
        return None
    return {
        "mean": summary.uplift.mean,
        "verdict": summary.uplift.direction,
        "words": summary.uplift_words,
        "rests_on": summary.shared,
    }


def _placebo(summary: Summary) -> dict[str, Any] | None:
    control = summary.control
    if control is None:
        return None
    parts: dict[str, Any] = {"total": None, "facts": None, "longer_talk": None}
    if control.is_told_apart:
        parts = {
            "total": _part(control.total),
            "facts": _part(control.facts),
            "longer_talk": _part(control.talk),
        }
    return {
        **parts,
        "trials": len(control.total.estimate.points),
        "words": sentence(control.finding),
    }


def _part(part: Difference) -> dict[str, Any]:
    low, high = ends(part.estimate.interval) or (None, None)
    return {"mean": part.mean, "verdict": part.direction, "low": low, "high": high}


def _exam(run: RunResult) -> dict[str, Any] | None:
    exam = run.exam
    if exam is None:
        return None
    return {
        **{
            name: getattr(exam, name)
            for name in ("judge", "controls", "left_out", "case", "remembered", "why_not")
        },
        "believed": exam.believed and exam.believed.control,
        "words": sentence(run.examined) if run.examined else "",
    }


def _calibrated(found: CalibratedElsewhere) -> dict[str, Any]:
    low, high = ends(found.interval) or (None, None)
    return {
        "title": found.title or None,
        "runs": found.runs,
        "judge": found.judge,
        "estimate": found.estimate,
        "low": low,
        "high": high,
        "reviews": found.reviews,
        "sensitivity": found.sensitivity,
        "specificity": found.specificity,
        "refused": found.refused or None,
    }


def _never_started() -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(RunDocument.model_fields)
    empty |= dict.fromkeys(
        (
            "compared",
            "warnings",
            "judged_again",
            "people_say",
            "calibrated",
            "agent_side",
            "reviews",
            "problems",
        ),
        (),
    )
    empty |= {name: {} for name in ("served", "conditions", "versions", "realism")}
    empty |= {"status": "interrupted", "detail": "", "rehearsal": False, "unproved": 0}
    empty |= {"answer": NEVER_STARTED, "why_no_score": sentence(NoMean("", ended=False))}
    return empty


def _document(**fields: Any) -> dict[str, Any]:
    return RunDocument.model_validate(fields).model_dump(mode="json")


def _condition(run: RunResult, condition: Condition, *, trials: bool) -> dict[str, Any] | None:
    talks = run.conversations_in(condition)
    summary = run.summary.of(condition)
    if not talks or summary is None:
        return None
    used = [talk.score for talk in talks if talk.score is not None]
    only: dict[str, Any] = {}
    if len(talks) == 1:
        only = dict(_conversation(talks[0]))
    return {
        **only,
        "score": run.scores[condition],
        "pass_k": {str(each.k): _pass_share(each) for each in summary.pass_k},
        "tags": {tag.tag: tag.score.mean for tag in summary.tags},
        "trials_held": len(talks),
        "trials_used": len(used),
        "mean_of_used": score.mean_of(used) if used else None,
        "mean_at_least": score.mean_of(talk.sample.lowest or 0.0 for talk in talks),
        "words_told": summary.words_told,
        "asking": summary.asking,
        "trials": [_conversation(talk) for talk in talks] if trials else [],
    }


def _pass_share(found: PassK) -> dict[str, Any]:
    low, high = ends(found.interval) or (None, None)
    return {"value": found.value, "low": low, "high": high, "tasks": found.tasks}


def _task(task: events.TaskScored) -> dict[str, Any]:
    fields = TASK.of(task, evidence=list(map(QUOTE.of, task.evidence)))
    if task.measured:
        return fields
    return fields | {"score": None, "passed": None}


def _tool_failures(talk: ConversationResult) -> Iterator[dict[str, Any]]:
    for message in talk.messages:
        for failed in injected_failures(message.generation):
            yield TOOL_FAILURE.of(failed, message=message.message)


def _conversation(talk: ConversationResult) -> ConversationDocument:
    scored, ended, case = talk.scored, talk.ended, talk.case
    return ConversationDocument.model_validate(
        {
            "trial": talk.trial,
            "case": case and (case.name or None),
            "persona": case and (case.persona or None),
            "user_model": case and (case.user or None),
            "given_scores": scored and scored.given,
            "score": talk.score,
            "shared_score": talk.shared_score,
            "reason": talk.reason if talk.score is not None else talk.why_no_score,
            "parts": {part.name: PART.of(part) for part in talk.parts},
            "penalty": scored and scored.penalty,
            "failures": talk.failures,
            "end_reason": talk.end_reason,
            "end_detail": ended.explained if ended else "",
            "fault": talk.fault,
            "messages": [MESSAGE.of(message, sent=talk.sent(message)) for message in talk.messages],
            "latencies": list(map(LATENCY.of, talk.answers)),
            "average_latency_ms": talk.average_ms,
            "words_told": talk.words_told,
            "facts": list(map(FACT.of, talk.facts)),
            "persona_facts": talk.persona_facts,
            "guards": list(map(GUARD.of, talk.violations)),
            "user_faults": list(map(USER_FAULT.of, talk.user_faults)),
            "tool_failures": list(_tool_failures(talk)),
            "tone": talk.tone,
            "tasks": list(map(_task, talk.tasks)),
            "unproved": talk.unproved,
            "judge_error": talk.judge_error,
            "assertions": list(map(ASSERTION.of, talk.checks)),
        }
    )
