"""A run's result: everything that anybody shows of a run.

It is made from the recording once. Screens, reports, the command line and the Python API lay out its values, and read
no state themselves, so that a value is the same wherever it is shown. Values are computed when first asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from bioeval_tui import score as composite
from bioeval_tui.errors import Problem
from bioeval_tui.evaluation.prices import Prices
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.cases import judged
from bioeval_tui.record.events import (
    AssertionChecked,
    EndReason,
    FactDisclosed,
    Fault,
    ImportedFrom,
    RequestFailed,
    RunStarted,
    ScorePart,
    SubmissionGraded,
    TaskScored,
    UserFault,
)
from bioeval_tui.record.names import Condition, Role
from bioeval_tui.record.reviews import ReviewedScores
from bioeval_tui.record.state import ConversationKey, ConversationState, MessageState, RunState
from bioeval_tui.report import findings as of
from bioeval_tui.report import rows
from bioeval_tui.report.conclusion import Conclusion, conclude, no_mean, same_start
from bioeval_tui.report.correction import people_say
from bioeval_tui.report.findings import (
    ConditionLead,
    Gain,
    NewerEvents,
    NotScored,
    NoUplift,
    RunLead,
    SameStart,
    SeedNotApplied,
    SetupFailed,
    Side,
    SideScore,
    UserErred,
    WasResumed,
)
from bioeval_tui.report.formats.registry import TARGET
from bioeval_tui.report.gains import gains
from bioeval_tui.report.judged_again import JudgedAgain, verdicts_replaced
from bioeval_tui.report.loading import LoadedRun, from_state
from bioeval_tui.report.manner import RunManner, manners
from bioeval_tui.report.reviews import Review
from bioeval_tui.report.sentences import concurrency_words, seen_in, sentence
from bioeval_tui.report.statistics.latency import LatencySummary
from bioeval_tui.report.summary import ConditionSummary, Summary, summarise_runs
from bioeval_tui.report.words import (
    answer_notes,
    cause,
    ending,
    reviewed_words,
    ways_out,
    why_no_score,
)
from bioeval_tui.score import Needed, needed
from bioeval_tui.text import clean_line, plural
from bioeval_tui.units import date, latency


@dataclass(frozen=True, slots=True)
class Brief:
    """Who was tested by whom, and on what."""

    job: str
    agent: str
    """What the job or its address calls the agent."""
    agent_identity: str
    """The name and version that the agent gave itself; empty if it gave none."""
    model: str | None
    """The agent's model, if somebody asked for one or its server named one: `asked for X, served Y` where they differ."""
    served_model: str | None
    """The agent's model by the name that its server gave it; None if it gave none."""
    evaluator: str
    """Who played the user: `scripted`, `human`, or a model."""
    judge: str
    judge_prompt: str
    """The judge's prompt and its version; empty if no model judged."""
    rehearsal: bool
    """Whether a script played the user and rules judged."""
    graph: str | None
    """The knowledge graph, with a note if it is unknown whether the agent uses it; None without one."""
    facts: tuple[str, ...]
    """What the simulated user knows, where the facts are supplied."""
    tasks: tuple[tuple[str, str], ...]
    """What the agent is asked for, with the acceptance criteria."""
    source: ImportedFrom | None
    """Where an imported run comes from; None for one that was held here."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """What the judge quoted from a message, as evidence for a task."""

    text: str
    task: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened at a message."""

    kind: Literal["fact", "failure", "violation", "operator", "check", "unsent"]
    words: str


@dataclass(frozen=True, slots=True)
class MessageResult:
    """One message as reports show it."""

    number: int
    turn: int
    role: Role
    text: str
    """Empty for a sign-off that was not sent: its words are agreed between programs."""
    done: bool
    latency_ms: float | None
    quotations: tuple[Quotation, ...]
    notes: tuple[Note, ...]
    anchor: str
    """Its id in a document."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the messages of each condition, side by side."""

    number: int
    sides: tuple[tuple[MessageResult, ...], ...]


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact of the job, and how it was given in each condition."""

    number: int
    text: str
    given: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graded:
    """A graded submission of one condition; `error` when it could not be graded."""

    title: str
    report: TaskReport | None
    error: str


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """One conversation: one trial under one condition."""

    condition: Condition
    trial: int
    title: str
    """What its condition is called: `facts withheld`, or as the job names it."""
    name: str
    """What its condition is called where there is little room."""
    score: float | None
    """Its composite score; None if it could not be measured, or is not scored yet."""
    is_scored: bool
    """Whether it was scored, though perhaps without a value."""
    reason: str
    """A note on the score, or why it has no value."""
    why_no_score: str
    """Why it has no score, the cause first; empty if it has one."""
    ways: tuple[str, ...]
    """What to do about it, if it never took place."""
    parts: tuple[ScorePart, ...]
    penalty: float
    average_ms: float | None
    """The agent's mean response time."""
    ending: str
    """How it ended and whose fault that was; empty before its end."""
    end_reason: EndReason | None
    tone: float | None
    """The judge's rating of the agent's tone, 0 to 1, which is not part of any score."""
    judge_error: str | None
    tasks: tuple[TaskScored, ...]
    """The judge's verdicts."""
    checks: tuple[AssertionChecked, ...]
    """The last check of each assertion."""
    checks_missing: tuple[str, ...]
    """Warnings that the judge left a verdict out."""
    turns: Mapping[int, int]
    """The turn of each message."""
    fault: Fault | None
    """Who caused it to end early or, if nobody did, to have no score; None before its end."""
    ended_early: str
    """How it ended before its time and whose fault that was, in words; empty if it ran to its end."""
    cause: str
    """Why it has no score, without what to do about it and what came instead of an answer."""
    received: str
    """What the agent sent instead of an answer; empty if that is unknown."""
    request_failures: tuple[RequestFailed, ...]
    failures: int
    """How many of them count against the agent."""
    facts: tuple[FactDisclosed, ...]
    """The facts that the user gave, in order."""
    latency: LatencySummary
    """The agent's response times."""
    answers: tuple[tuple[int, int, float | None], ...]
    """Number, turn and response time in ms of each of the agent's messages."""
    user_faults: tuple[UserFault, ...]
    """What the simulated user did wrong."""
    gains: tuple[Gain, ...]
    """What would raise its score, the largest gain first."""
    steps: tuple[tuple[int, float], ...]
    """The share of assertions, by weight, that held after each turn; empty without assertions."""

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to show of it but why it has no score."""
        return bool(self.turns or self.parts)

    def answer_in(self, turn: int | None) -> int | None:
        """Return the number of the agent's message of a turn."""
        return next((message for message, at, _ in self.answers if at == turn), None)

    @property
    def slowest(self) -> int | None:
        """The number of the agent's message that took longest."""
        timed = [(latency_ms, message) for message, _, latency_ms in self.answers if latency_ms is not None]
        return max(timed, key=lambda pair: pair[0])[1] if timed else None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial: its conversations in the order of `conditions`, and everything laid out by row."""

    trial: int
    heading: str
    """What it is called in a document: `Trial 2`, with its case."""
    name: str
    """What it is called where there is little room: `trial 2 of 3`, or its case; empty for the only trial."""
    conditions: tuple[Condition, ...]
    titles: tuple[str, ...]
    """What the job calls them, else `facts withheld` and `facts supplied`."""
    conversations: tuple[ConversationResult | None, ...]
    """None for one that has not started."""
    uplift: float | None
    tasks: tuple[rows.TaskRow, ...]
    tones: tuple[float | None, ...]
    """The judge's rating of the agent's tone, 0 to 1, which is not part of any score; empty without one."""
    assertions: tuple[rows.AssertionRow, ...]
    facts: tuple[FactRow, ...]
    medals: tuple[Graded, ...]
    turns: tuple[Turn, ...]
    needed: tuple[tuple[Needed, ...], ...]
    """What would reach the target score, by condition."""

    @property
    def by_condition(self) -> dict[Condition, ConversationResult | None]:
        """The conversations by condition."""
        return dict(zip(self.conditions, self.conversations, strict=True))

    @property
    def mean(self) -> float | None:
        """The mean of both conditions by the published formula; None if either has no score."""
        return composite.published_mean(
            {name: held.score if held else None for name, held in self.by_condition.items()}
        )

    @property
    def held(self) -> list[ConversationResult]:
        """The conversations that were started."""
        return [held for held in self.conversations if held is not None]


class RunResult:
    """The result of one run.

    Args:
        run: the recording, with reviews and later verdicts.
        target: the score for which `TrialResult.needed` says what is missing.
    """

    def __init__(self, run: LoadedRun, target: float = TARGET) -> None:
        self._run = run
        self._state, self._started = run.state, run.started
        self.target = target

    @property
    def run_id(self) -> str:
        """The run's id as the recording says it."""
        return self._run.run_id

    @cached_property
    def brief(self) -> Brief:
        """Who was tested by whom, and on what."""
        state, started = self._state, self._started
        return Brief(
            job=started.job_name,
            agent=started.agent,
            agent_identity=state.agent_identity,
            model=state.agent_model,
            served_model=state.served_model,
            evaluator=state.evaluator,
            judge=state.judge,
            judge_prompt=state.judge_prompt,
            rehearsal=started.rehearsal,
            graph=_graph_words(state, started),
            facts=tuple(str(fact) for fact in state.job.get("facts") or ()),
            tasks=tuple((str(item.get("task", "")), rows.criteria_words(item)) for item in judged(state.job)),
            source=started.source,
        )

    @property
    def started_at(self) -> datetime:
        """When the run began, in UTC."""
        return self._started.at

    @property
    def duration_s(self) -> float:
        """How long the run took, without pauses; 0 if unknown."""
        return self._state.seconds() or 0.0

    @property
    def status(self) -> str:
        """`completed`, `cancelled`, `failed` or `interrupted`."""
        return self._state.ended.status if self._state.ended else "interrupted"

    @property
    def detail(self) -> str:
        """Why the run ended as it did; empty if nothing is to be said."""
        return self._state.ended.detail if self._state.ended else ""

    @property
    def measured(self) -> bool:
        """Whether the run ended with its main score."""
        return self._state.ended is not None and self._state.ended.measured

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended."""
        return self._state.ended is not None

    @property
    def worked_s(self) -> float | None:
        """How long the run has worked, in seconds; None for an import, whose times may be its own."""
        return None if self._started.source is not None else self._state.seconds()

    @property
    def asked_model(self) -> str | None:
        """The model that was asked for; recordings hold the usual one also if nobody named one."""
        return self._started.model

    def reviewed_scores_words(self, reviewed: ReviewedScores) -> list[str]:
        """Return each condition's score and the mean before and after reviews."""
        return reviewed.told(self._state)

    @property
    def has_cases(self) -> bool:
        """Whether each trial is a case of its own."""
        return bool(self._started.cases)

    @property
    def planned_trials(self) -> int:
        """The number of trials that the run was to have."""
        return self._started.trials

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The run's conditions, withheld before supplied."""
        return rows.run_conditions(self._state)

    @property
    def only_condition(self) -> Condition | None:
        """The run's only condition; None if it has both, and with them a mean and an uplift."""
        return self._state.only_condition

    def condition_title(self, condition: str) -> str:
        """Return what a condition is called: as the job names it, else `facts withheld`."""
        return self._state.condition_title(condition)

    def condition_name(self, condition: str) -> str:
        """Return what a condition is called where there is little room."""
        return self._state.condition_name(condition)

    @cached_property
    def summary(self) -> Summary:
        """The figures over all trials, by condition."""
        return summarise_runs([self._run])[0]

    @cached_property
    def scores(self) -> dict[str, float | None]:
        """Each condition's mean over its trials; None if one of them could not be measured."""
        return self._state.scores()

    @property
    def mean(self) -> float | None:
        """The mean of both conditions (the published formula); None if the run did not end with one."""
        return self._state.ended.mean if self._state.ended else None

    @property
    def why_no_mean(self) -> str:
        """Why there is no mean, as a sentence; empty if there is one."""
        return "" if self.mean is not None else sentence(no_mean(self._state))

    @cached_property
    def conclusion(self) -> Conclusion:
        """The conclusion in one sentence, made by rules."""
        return conclude(self._state)

    @property
    def clean(self) -> bool:
        """Whether both conditions are known to have started from the same state."""
        return self._state.clean

    @property
    def cleanness(self) -> str:
        """`clean`, `not clean` or `cleanliness unknown`."""
        return self._state.cleanness

    @property
    def why_not_clean(self) -> str:
        """Why the run is not clean; empty if it is."""
        return self._state.why_not_clean

    @property
    def no_uplift(self) -> str:
        """Why no uplift is shown of a run that is not known to be clean; empty of a clean one."""
        if self.clean:
            return ""
        return sentence(NoUplift(self.cleanness, self.why_not_clean, not self.only_condition))

    @property
    def same_start(self) -> SameStart | None:
        """What a clean run's conditions were found to share at the start; None of any other run."""
        return same_start(self._state)

    @property
    def compared(self) -> str:
        """The same in words; empty where it is None."""
        return sentence(self.same_start) if self.same_start else ""

    @cached_property
    def lead(self) -> str:
        """The scores, their difference, and what makes the conditions comparable, in up to three sentences."""
        return sentence(_lead(self))

    @property
    def gave_facts(self) -> bool:
        """Whether the user gave the agent a fact where facts were supplied."""
        held = self._state.conversations.items()
        return any(talk.facts for key, talk in held if key.condition == "supplied")

    @property
    def target_ms(self) -> float:
        """The job's target for the average response time; 0 if it has none."""
        return rows.target_ms(self._state)

    @property
    def concurrency(self) -> str:
        """How many conversations ran at a time, in words; unknown for an imported run."""
        if self._started.source is not None:
            return "The number of concurrent conversations is unknown"
        return concurrency_words(self.summary.conditions[0].latency) if self.summary.conditions else ""

    @property
    def trial_numbers(self) -> list[int]:
        """The trials with at least one conversation that has started."""
        return self._run.trials

    @cached_property
    def trials(self) -> tuple[TrialResult, ...]:
        """Every trial that has started."""
        return tuple(self.trial(number) for number in self.trial_numbers)

    def trial(self, number: int) -> TrialResult:
        """Return one trial, which may not have started."""
        return _trial_result(self._run, number, self.target)

    @cached_property
    def conversations(self) -> tuple[ConversationResult, ...]:
        """Every conversation, trial by trial, withheld before supplied."""
        return tuple(_conversation(self._state, talk) for talk in self._run.talks)

    def case_words(self, trial: int) -> str:
        """Return the name of a trial's case; empty without cases."""
        case = self._state.case(trial)
        return case.words if case else ""

    @cached_property
    def uplift_label(self) -> str:
        """What the difference between both conditions is called: not the facts' doing where each has its own criteria."""
        return "difference" if rows.has_own_criteria(self._run) else "uplift by facts"

    @cached_property
    def user_faults_words(self) -> str:
        """How often the simulated user did something wrong, by kind; empty if nothing was found."""
        found = user_errors(self._run.talks)
        return sentence(found) if found else ""

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the result should know, once each."""
        return tuple(_warnings(self._run))

    @cached_property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """Labels and values that are needed to understand and repeat the run."""
        return tuple(_versions(self))

    @cached_property
    def manners(self) -> tuple[RunManner, ...]:
        """How the simulated user speaks compared with people, by condition."""
        return tuple(manners([self._run]))

    @property
    def judged_again(self) -> Mapping[ConversationKey, JudgedAgain]:
        """Every verdict on the conversations that were judged again."""
        return self._run.judged_again

    @property
    def judged_again_words(self) -> str:
        """How many conversations were judged again, and which verdicts count; empty if none were."""
        found = verdicts_replaced(self.judged_again, len(self._state.conversations))
        return sentence(found) if found else ""

    @property
    def reviews(self) -> tuple[Review, ...]:
        """People's reviews and later scores, as rows."""
        return self._run.reviews

    @cached_property
    def reviewed(self) -> ReviewedScores | None:
        """The scores after people's reviews; None without any."""
        return self._run.reviewed

    @cached_property
    def people_say(self) -> tuple[str, ...]:
        """What people would say about the judge's verdicts, or that they have not looked; empty unless a model judged."""
        run = self._run
        if run.sampled:
            return tuple(map(sentence, people_say(run)))
        judged = any(talk.verdict and not talk.verdict.error for talk in run.talks)
        by_model = run.started.source is None and run.kind_of("scorer") != "rules"
        return (sentence(of.JudgeNotCalibrated()),) if judged and by_model else ()

    @property
    def reviewed_words(self) -> str:
        """The reviewed scores in one line; empty without reviews."""
        return reviewed_words(self._run)

    def people_score(self, condition: Condition, trial: int, task: int) -> float | None:
        """Return people's score of a task; None without one."""
        return self._run.people_score(condition, trial, task)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Damaged lines of the recording."""
        return self._run.problems

    def anchor(self, condition: Condition, trial: int, message: int) -> str:
        """Return the id of a message in a document."""
        return _anchor(self.run_id, condition, trial, message)


def reviewed(run: LoadedRun) -> tuple[ReviewedScores | None, tuple[str, ...]]:
    """Return a run's scores after reviews, if there are any, and what people would say about its verdicts."""
    return run.reviewed, RunResult(run).people_say


def results_of(runs: Sequence[LoadedRun], target: float = TARGET) -> list[RunResult]:
    """Return the result of each run."""
    return [RunResult(run, target) for run in runs]


def result_of(state: RunState, path: Path | None = None, prices: Prices | None = None) -> RunResult | None:
    """Return the result of a run that is held in memory; None if it never started."""
    run = from_state(state, path, prices)
    return RunResult(run) if run is not None else None


def title_of(results: Sequence[RunResult]) -> str:
    """Return the title of a document on some runs."""
    if len(results) == 1:
        return f"{results[0].brief.job}: evaluation report"
    jobs = {result.brief.job for result in results}
    return f"{plural(len(results), 'run')} of {plural(len(jobs), 'job')}"


# One trial

Talks = Sequence[ConversationState | None]


def _trial_result(run: LoadedRun, trial: int, target: float) -> TrialResult:
    state = run.state
    conditions = rows.run_conditions(state)
    talks = tuple(rows.trial_talks(state, trial).values())
    case = state.case(trial)
    return TrialResult(
        trial=trial,
        heading=f"Trial {trial}" + (f": case {case.words}, its trial {case.trial}" if case else ""),
        name=_trial_name(run, trial),
        conditions=conditions,
        titles=tuple(map(state.condition_title, conditions)),
        conversations=tuple(_conversation(state, talk) if talk else None for talk in talks),
        uplift=rows.composite_uplift(state, trial),
        tasks=tuple(rows.task_rows(state, trial)),
        tones=_tones(talks),
        assertions=tuple(rows.assertion_rows(state, trial)),
        facts=tuple(_fact_rows(state, trial, talks)),
        medals=tuple(_medals(state, talks)),
        turns=tuple(_turns(run, talks)),
        needed=tuple(_needed(talk, target) for talk in talks),
    )


def _trial_name(run: LoadedRun, trial: int) -> str:
    case, trials = run.state.case(trial), run.started.trials
    if case is not None:
        return case.title
    return f"trial {trial} of {trials}" if trials > 1 else ""


def _conversation(state: RunState, talk: ConversationState) -> ConversationResult:
    condition, trial = talk.key
    scored, ended, verdict = talk.score, talk.ended, talk.verdict
    return ConversationResult(
        condition=condition,
        trial=trial,
        title=state.condition_title(condition),
        name=state.condition_name(condition),
        score=scored.score if scored else None,
        is_scored=scored is not None,
        reason=scored.reason if scored else "",
        why_no_score=why_no_score(talk) if scored is None or scored.score is None else "",
        ways=ways_out(talk),
        parts=tuple(scored.parts) if scored else (),
        penalty=scored.penalty if scored else 0.0,
        average_ms=scored.average_latency_ms if scored else None,
        ending=ending(ended) if ended else "",
        end_reason=ended.reason if ended else None,
        tone=verdict.tone if verdict else None,
        judge_error=verdict.error if verdict else None,
        tasks=tuple(verdict.tasks) if verdict else (),
        checks=tuple(talk.latest_checks()),
        checks_missing=tuple(warned.message for warned in talk.warnings if warned.code == "verdict_missing"),
        turns={message.message: message.turn for message in talk.messages},
        fault=talk.fault,
        ended_early=_ended_early(talk),
        cause=cause(talk) if scored else "",
        received=ended.received if ended else "",
        request_failures=tuple(talk.request_failures),
        failures=talk.failures,
        facts=tuple(talk.facts),
        user_faults=tuple(talk.user_faults),
        latency=rows.latency(state, condition, trial),
        answers=tuple((m.message, m.turn, m.latency_ms) for m in talk.messages if m.role == "assistant"),
        gains=tuple(gains(state, talk)),
        steps=tuple(rows.assertion_steps(state, condition, trial)),
    )


def _ended_early(talk: ConversationState) -> str:
    ended = talk.ended
    if ended is None or ended.reason in ("signed_off", "max_turns", "unknown"):
        return ""
    fault = "" if ended.fault == "none" else f", fault of the {ended.fault}"
    detail = f": {ended.explained}" if ended.detail else ""
    return f"ended early ({ended.reason.replace('_', ' ')}{fault}){detail}"


def _needed(talk: ConversationState | None, target: float) -> tuple[Needed, ...]:
    if talk is None or talk.score is None or talk.score.score is None or talk.score.score >= target:
        return ()
    return needed(talk.score.parts, talk.score.failures, target)


def _tones(talks: Talks) -> tuple[float | None, ...]:
    tones = tuple(talk.verdict.tone if talk and talk.verdict else None for talk in talks)
    return tones if any(tone is not None for tone in tones) else ()


def _fact_rows(state: RunState, trial: int, talks: Talks) -> list[FactRow]:
    found_rows = []
    for number_, text in enumerate(state.job_of(trial).get("facts") or [], start=1):
        given = []
        for talk in talks:
            found = [fact for fact in talk.facts if fact.fact == number_] if talk else []
            words = [f"turn {fact.turn}, {'asked' if fact.asked else 'not asked'}" for fact in found]
            given.append("; ".join(words) or "–")
        found_rows.append(FactRow(number_, str(text), tuple(given)))
    return found_rows


def _medals(state: RunState, talks: Talks) -> list[Graded]:
    return [
        _medal(state.condition_title(talk.key.condition), graded)
        for talk in talks
        if talk is not None
        for graded in talk.submissions
    ]


def _medal(title: str, graded: SubmissionGraded) -> Graded:
    if graded.report is None:
        return Graded(title, None, graded.error or "not graded")
    try:
        return Graded(title, TaskReport.from_dict(graded.report), graded.error or "")
    except (ValueError, TypeError) as error:
        return Graded(title, None, f"the report cannot be read: {error}")


def _turns(run: LoadedRun, talks: Talks) -> list[Turn]:
    numbers = sorted({m.turn for talk in talks if talk for m in talk.messages})
    return [
        Turn(
            turn,
            tuple(
                tuple(_message(run, talk, m) for m in talk.messages if m.turn == turn) if talk else ()
                for talk in talks
            ),
        )
        for turn in numbers
    ]


def _anchor(run_id: str, condition: str, trial: int, message: int) -> str:
    return f"r{run_id}-{condition}-{trial}-m{message}"


def _message(run: LoadedRun, talk: ConversationState, message: MessageState) -> MessageResult:
    notes = [
        Note("failure", f"attempt {f.request_attempt} failed: {clean_line(f.error, 200)}")
        for f in message.failures
    ]
    notes += [
        Note("fact", f"fact {fact.fact} given, {'asked' if fact.asked else 'not asked'}")
        for fact in message.facts
    ]
    notes += [
        Note("violation", f"{slip.rule.replace('_', ' ')}: {slip.detail} ({slip.outcome})")
        for slip in message.violations
    ]
    unsent = message.role == "user" and talk.ended is not None and not talk.sent(message)
    if unsent:
        notes.insert(0, Note("unsent", "the sign-off, not sent" if message.done else "not sent"))
    if message.operator:
        notes.append(Note("operator", "typed by a person"))
    notes += [Note("failure", note) for note in answer_notes(message)]
    if message.waited_ms >= 50:
        notes.append(Note("failure", f"waited {latency(message.waited_ms)} besides"))
    if message.role == "assistant":
        notes += _new_checks(talk, message.turn)
    return MessageResult(
        number=message.message,
        turn=message.turn,
        role=message.role,
        text="" if unsent and message.done else message.text,
        done=message.done,
        latency_ms=message.latency_ms,
        quotations=_quotations(talk, message),
        notes=tuple(notes),
        anchor=_anchor(run.run_id, *talk.key, message.message),
    )


def _new_checks(talk: ConversationState, turn: int) -> list[Note]:
    """Return which assertions changed with this turn."""
    notes = []
    for checks in talk.checks.values():
        before = next((c.status for c in reversed(checks) if c.after_turn < turn), None)
        now = next((c for c in checks if c.after_turn == turn), None)
        if now is None or before is None or now.status == before:
            continue  # what passes from the start says nothing about this turn
        words = {"passed": "now holds", "failed": "no longer holds", "not_measured": "could not be measured"}
        notes.append(
            Note("check" if now.status == "passed" else "failure", f"“{now.title}” {words[now.status]}")
        )
    return notes


def _quotations(talk: ConversationState, message: MessageState) -> tuple[Quotation, ...]:
    return tuple(
        Quotation(item.quote, task.task)
        for task in (talk.verdict.tasks if talk.verdict else ())
        for item in task.evidence
        if item.message == message.message
    )


# The lead


def _lead(result: RunResult) -> RunLead:
    uplift = result.summary.uplift.mean if result.summary.uplift else None
    return RunLead(
        tuple(map(_condition_lead, result.summary.conditions)),
        uplift,
        result.gave_facts,
        result.cleanness,
        result.why_not_clean,
        result.same_start,
    )


def _condition_lead(condition: ConditionSummary) -> ConditionLead:
    return ConditionLead(
        SideScore(Side(condition.condition, condition.title), condition.score.mean),
        tuple(reason for reason, _ in condition.score.counted.reasons),
        sum(tries.successes for tries in condition.tries),
        sum(tries.trials for tries in condition.tries),
        all(tries.trials == 1 for tries in condition.tries),
    )


# About the run


def _versions(result: RunResult) -> list[tuple[str, str]]:
    started, brief = result._started, result.brief
    imported = started.source is not None
    listed: list[tuple[str, Any]] = [
        ("run", started.run_id),
        ("batch", started.batch_id),
        *_provenance(started),
        ("program", f"bioeval-tui {started.program_version}"),
        ("recording schema", started.schema_version),
        ("agent", brief.agent),
        ("agent's own name", brief.agent_identity),
        ("model", brief.model),
        ("evaluator", brief.evaluator),
        ("judge", brief.judge),
        ("knowledge graph", brief.graph),
        ("hosts that received transcripts", ", ".join(started.hosts)),
        ("seed", None if imported else started.seed),
        ("concurrency", None if imported else f"{plural(started.concurrency, 'conversation')} at a time"),
        ("git revision", started.git_revision),
        *((f"prompt {name}", digest) for name, digest in sorted(started.prompts.items())),
    ]
    return [(label, str(value)) for label, value in listed if value not in (None, "")]


def _graph_words(state: RunState, started: RunStarted) -> str | None:
    unknown = any(talk.agents_graph == "unknown" for talk in state.conversations.values())
    note = " (unknown whether it is the agent's, which does not say which graph it uses)" if unknown else ""
    return (started.graph or "") + note if started.graph or unknown else None


def _provenance(started: RunStarted) -> list[tuple[str, Any]]:
    """Return the origin of a run: its time and job, or the imported file."""
    source, at = started.source, f"{date(started.at, seconds=True, zone=UTC)} UTC"
    if source is None:
        return [("recorded", at), ("job file", f"{started.job_path}, SHA-256 {started.job_sha256}")]
    return [
        ("recorded", at if source.times == "told" else "unknown"),
        ("imported from", f"{source.file} ({source.format}), SHA-256 {source.sha256}"),
        ("origin", source.origin),
        ("licence", source.licence),
    ]


def _warnings(run: LoadedRun) -> list[str]:
    """Return the warnings, once each; the same warning of several conversations is one line."""
    found = [warning.message for warning in run.state.warnings]
    if again := verdicts_replaced(run.judged_again, len(run.state.conversations)):
        found.append(sentence(again))
    shared: dict[str, list[str]] = {}
    for talk in run.talks:
        for line in dict.fromkeys(_troubles(talk)):
            shared.setdefault(line, []).append(
                f"{run.state.condition_title(talk.key.condition)}, {talk.trial_words}"
            )
    found += [seen_in(where, line) for line, where in shared.items()]
    if erred := user_errors(run.talks):
        found.append(sentence(erred))
    found += map(str, run.problems)
    if run.state.resumed:
        found.append(sentence(WasResumed(run.state.resumed)))
    if run.state.unknown:
        found.append(sentence(NewerEvents(tuple(sorted({event.kind for event in run.state.unknown})))))
    return list(dict.fromkeys(found))


def user_errors(talks: Sequence[ConversationState]) -> UserErred | None:
    """Return how often the simulated user did something wrong, the most frequent kind first; None if nothing was found."""
    faults = [(talk.key, fault) for talk in talks for fault in talk.user_faults]
    if not faults:
        return None
    kinds = Counter(fault.kind for _, fault in faults)
    judged = sum(fault.found_by != "check" for _, fault in faults)
    return UserErred(len({key for key, _ in faults}), len(talks), tuple(kinds.most_common()), judged)


def _troubles(talk: ConversationState) -> list[str]:
    lines = [warning.message for warning in talk.warnings]
    lines += [sentence(SeedNotApplied(s.index + 1, s.detail)) for s in talk.seeds if not s.applied]
    lines += [sentence(SetupFailed(s.index + 1, s.error)) for s in talk.setups if s.error]
    if talk.score is not None and talk.score.score is None and talk.score.reason:
        lines.append(sentence(NotScored(talk.score.reason)))
    return lines
