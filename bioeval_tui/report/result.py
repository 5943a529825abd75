"""A run's result: everything that anybody shows of a run.

It is made from the recording once. Screens, reports, the command line and the Python API lay out
its values, and read no state themselves, so that a value is the same wherever it is shown. Values
are computed when first asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

from bioeval_tui.base.text import clean_line, listed, plural
from bioeval_tui.base.units import DASH, date, latency
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.peers.prices import Prices, shipped_prices
from bioeval_tui.record import score as composite
from bioeval_tui.record.attachments import file_words
from bioeval_tui.record.condition_names import PLACEBO_NAME, Condition, without_placebo
from bioeval_tui.record.conditions import scored_conditions
from bioeval_tui.record.effect import trial_difference
from bioeval_tui.record.events import (
    JudgeExamined,
    ReviewsDrawn,
    RunStarted,
    SubmissionGraded,
    Warned,
)
from bioeval_tui.record.masking import current, masking
from bioeval_tui.record.model_families import family_note
from bioeval_tui.record.overlay import read_overlay, state_in_force
from bioeval_tui.record.participants import Peer, Role
from bioeval_tui.record.reading import started_run
from bioeval_tui.record.reviews import (
    ReviewedScores,
    apply_reviews,
    fold_reviews,
    reviewed_scores,
)
from bioeval_tui.record.runs import is_large
from bioeval_tui.record.score import Needed, needed
from bioeval_tui.record.state import ConversationState, MessageState, RunState
from bioeval_tui.record.stored import StoredRun, stored_run
from bioeval_tui.record.tool_calls import injected_words
from bioeval_tui.report import findings as of, rows
from bioeval_tui.report.answer import Answer, answer_run, answer_trial
from bioeval_tui.report.answer_notes import answer_notes
from bioeval_tui.report.calibration import calibrated
from bioeval_tui.report.correction import people_say
from bioeval_tui.report.findings import (
    NewerEvents,
    NotScored,
    NoUplift,
    SameStart,
    SeedNotApplied,
    SetupFailed,
    TrialsAdded,
    UncleanStart,
    UserErred,
    WasResumed,
)
from bioeval_tui.report.formats.registry import TARGET
from bioeval_tui.report.judge_checks import sentinel_checks, sentinel_finding
from bioeval_tui.report.manner import RunManner, manners
from bioeval_tui.report.reviews import judged_again, listed_reviews, verdicts_replaced
from bioeval_tui.report.rows import counted_shared
from bioeval_tui.report.run import ConversationResult, RecordedRun
from bioeval_tui.report.sentences import concurrency_words, seen_in, sentence
from bioeval_tui.report.summary import Summary, summarise_runs


@dataclass(frozen=True, slots=True)
class Quotation:
    """What the judge quoted from a message, as evidence for a task."""

    text: str
    task: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened at a message."""

    kind: Literal["fact", "failure", "violation", "operator", "check", "unsent", "file"]
    words: str


@dataclass(frozen=True, slots=True)
class ShownMessage:
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
    sides: tuple[tuple[ShownMessage, ...], ...]


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
class TrialResult:
    """One trial: its conversations in the order of `conditions`, and everything laid out by row,
    where a `Case` has it as given.
    """

    trial: int
    heading: str
    """What it is called in a document: `Trial 2`, with its case."""
    name: str
    """What it is called where there is little room: `trial 2 of 3`, or its case; empty for the only
    trial.
    """
    conditions: tuple[Condition, ...]
    is_whole: bool
    """Whether they are all conditions of the job, so that there is a mean."""
    titles: tuple[str, ...]
    """What the job calls them, else `without the facts` and `with the facts`."""
    conversations: tuple[ConversationResult | None, ...]
    """None for one that has not started."""
    uplift: float | None
    """Supplied − withheld on what both conditions share; None if they are not compared."""
    shared: of.Shared | None
    """How much they share; None if that is everything."""
    tasks: tuple[rows.TaskRow, ...]
    tones: tuple[float | None, ...]
    """The judge's rating of the agent's tone, 0 to 1, which is not part of any score; empty without
    one.
    """
    assertions: tuple[rows.AssertionRow, ...]
    facts: tuple[FactRow, ...]
    facts_kept: tuple[str, ...]
    """What the user's persona did to the facts, a sentence for each condition in which it has any;
    empty without such a persona.
    """
    words_told: tuple[str, ...]
    """How many words the user told, by condition; empty of a run without a placebo, which compares
    no talk.
    """
    medals: tuple[Graded, ...]
    turns: tuple[Turn, ...]
    needed: tuple[tuple[Needed, ...], ...]
    """What would reach the target score, by condition."""

    @property
    def talks_by_condition(self) -> dict[Condition, ConversationResult | None]:
        """The conversations by condition."""
        return dict(zip(self.conditions, self.conversations, strict=True))

    @property
    def mean(self) -> float | None:
        """The mean of the job's conditions by the published formula; None if one has no score, or
        was not run.
        """
        talks = self.talks_by_condition
        scored = (talks[condition] for condition in without_placebo(self.conditions))
        scores = (talk.score if talk else None for talk in scored)
        if self.is_whole:
            return composite.published_mean(scores)
        return None

    @property
    def held(self) -> list[ConversationResult]:
        """The conversations that were started."""
        return [talk for talk in self.conversations if talk is not None]


@dataclass(frozen=True, slots=True)
class AgentSideRow:
    """Something that a rule found in a message of the agent; no score contains it."""

    condition: Condition
    title: str
    """What the condition is called."""
    trial: int
    trial_words: str
    message: int
    rule: str
    about: str
    """What the rule finds."""
    detail: str

    @property
    def where(self) -> str:
        """Such as `without the facts, trial 1, message 4`."""
        return f"{self.title}, {self.trial_words}, message {self.message}"


@dataclass(frozen=True, eq=False)
class RunResult(RecordedRun):
    """The result of one run: everything that anybody shows of it."""

    target: float = TARGET
    """The score for which `TrialResult.needed` says what is missing."""
    calibrated_by: tuple[RecordedRun, ...] = ()
    """The runs that were named because people reviewed the same judge there."""
    agent_side: tuple[AgentSideRow, ...] = ()
    """What rules found about the agent, if somebody asked for it (`report.agent_side`)."""
    agent_looked: of.AgentSideLooked | None = None
    """In how many messages they found it; None if nobody asked."""

    @property
    def agent_side_words(self) -> str:
        """In how many of the agent's messages something was found, and what was not looked for;
        empty if nobody asked.
        """
        return sentence(self.agent_looked) if self.agent_looked is not None else ""

    @cached_property
    def reviewed(self) -> ReviewedScores | None:
        """The scores after people's reviews; None without any."""
        found = reviewed_scores(self.state, self.people)
        return found and replace(found, drawn=self.sampled)

    def apply_reviews(self) -> Self:
        """Return the run with people's scores and faults instead of the judge's, if there are
        any.
        """
        return replace(self, state=apply_reviews(self.state, self.people))

    @property
    def warned(self) -> list[Warned]:
        """The warnings about the run as a whole, as recorded."""
        return self.state.warnings

    @property
    def served(self) -> Mapping[Peer, Mapping[str, list[str]]]:
        """Which models answered, by the names that the servers gave them, for each peer by the name
        that was asked for.
        """
        return self.state.served

    @property
    def started_at(self) -> datetime:
        """When the run began, in UTC."""
        return self.started.at

    @property
    def ended_at(self) -> datetime | None:
        """When the run ended, in UTC; None before."""
        if self.state.ended:
            return self.state.ended.at
        return None

    @property
    def last_at(self) -> datetime | None:
        """When its last event was recorded, in UTC."""
        return self.state.last_at

    @property
    def duration_s(self) -> float:
        """How long the run took, without pauses; 0 if unknown."""
        return self.state.seconds() or 0.0

    @property
    def status(self) -> str:
        """`completed`, `cancelled`, `failed` or `interrupted`."""
        if self.state.ended:
            return self.state.ended.status
        return "interrupted"

    @property
    def detail(self) -> str:
        """Why the run ended as it did; empty if nothing is to be said."""
        if self.state.ended:
            return self.state.ended.detail
        return ""

    @property
    def measured(self) -> bool:
        """Whether the run ended with its main score."""
        return self.state.ended is not None and self.state.ended.measured

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended."""
        return self.state.ended is not None

    @property
    def worked_s(self) -> float | None:
        """How long the run has worked, in seconds; None for an import, whose times may be its
        own.
        """
        if self.started.source is not None:
            return None
        return self.state.seconds()

    @property
    def asked_model(self) -> str | None:
        """The model that was asked for; recordings hold the usual one also if nobody named one."""
        return self.started.model

    def reviewed_scores_words(self, reviewed: ReviewedScores) -> list[str]:
        """Return each condition's score and the mean before and after reviews."""
        return reviewed.condition_scores(self.state)

    @cached_property
    def summary(self) -> Summary:
        """The figures over all trials, by condition."""
        return summarise_runs([self])[0]

    @cached_property
    def scores(self) -> dict[str, float | None]:
        """Each condition's mean over its trials; None if one of them could not be measured."""
        return self.state.scores()

    @property
    def mean(self) -> float | None:
        """The mean of both conditions (the published formula); None if the run did not end with
        one.
        """
        if self.state.ended:
            return self.state.ended.mean
        return None

    @property
    def why_no_mean(self) -> str:
        """Why there is no mean, as a sentence; empty if there is one."""
        if self.mean is not None:
            return ""
        held = without_placebo(self.conditions)
        every = len(scored_conditions(self.state.job))
        only = ""
        if 0 < len(held) < every:
            only = listed(map(self.condition_title, held))
        return sentence(of.NoMean(only, self.has_ended, every))

    @cached_property
    def answer(self) -> Answer:
        """What came out, how sure, why and what next, found by rules."""
        return answer_run(self, self.summary)

    def answer_in(self, trial: int) -> Answer:
        """Return the answer of one trial; of a run's only trial, that of the run."""
        if self.planned_trials == 1:
            return self.answer
        return answer_trial(self, trial)

    @property
    def no_uplift(self) -> str:
        """Why a run is not known to be clean, and that no uplift is shown, unless the answer says
        that; empty of a clean one.
        """
        if self.clean:
            return ""
        said = isinstance(self.answer.finding, UncleanStart)
        missed = not (said or self.only_condition)
        return sentence(NoUplift(self.cleanness, self.state.unclean_details, missed))

    @property
    def known_clean(self) -> bool | None:
        """Whether the run is clean; None if that is unknown, or if only one condition was run and
        nothing made it unclean.
        """
        state = self.state
        alone = state.only_condition is not None and state.clean
        if state.clean_unknown or alone or not state.conversations:
            return None
        return state.clean

    @property
    def same_start(self) -> SameStart | None:
        """What a clean run's conditions were found to share at the start; None of any other run."""
        if self.ended is None or not self.clean or not self.ended.compared:
            return None
        return SameStart(tuple(self.ended.compared))

    @property
    def compared(self) -> str:
        """The same in words; empty where it is None."""
        if self.same_start:
            return sentence(self.same_start)
        return ""

    @property
    def concurrency(self) -> str:
        """How many conversations ran at a time, in words; unknown for an imported run."""
        if self.started.source is not None:
            return "The number of concurrent conversations is unknown"
        if self.summary.conditions:
            return concurrency_words(self.summary.conditions[0].latency)
        return ""

    def trial_name(self, number: int) -> str:
        """Return what a trial is called where there is little room: `trial 2 of 3`, or its case;
        empty for the only trial.
        """
        case, trials = self.state.case(number), self.started.trials
        if case is not None:
            return case.title
        if trials > 1:
            return f"trial {number} of {trials}"
        return ""

    def trial_uplift(self, number: int) -> float | None:
        """Return supplied − withheld of a trial on what both conditions share; None if they are not
        compared.
        """
        return trial_difference(self.state, number)

    def trial_shared(self, number: int) -> of.Shared | None:
        """Return how much a trial's conditions share; None if that is everything."""
        return counted_shared([self.criteria_shared(number)])

    def trial(self, number: int) -> TrialResult:
        """Return one trial, which may not have started."""
        return _trial_result(self, number)

    @cached_property
    def user_faults_words(self) -> str:
        """How often the simulated user did something wrong, by kind; empty if nothing was found."""
        errors = user_errors(self)
        if errors:
            return sentence(errors)
        return ""

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the result should know, once each."""
        return tuple(_warnings(self))

    @cached_property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """Labels and values that are needed to understand and repeat the run."""
        return tuple(_versions(self))

    @cached_property
    def manners(self) -> tuple[RunManner, ...]:
        """How the simulated user speaks compared with people, by condition."""
        return tuple(manners([self]))

    @property
    def changed_criteria(self) -> list[str]:
        """The criteria by which transcripts were judged again beside the recorded ones, a line for
        each task where they differ.
        """
        new = chain.from_iterable(again.new_criteria for again in self.judged_again.values())
        changed = dict.fromkeys(map(sentence, new))
        shown = list(changed)[:MOST_CRITERIA]
        more = len(changed) - len(shown)
        if more:
            return [*shown, f"and {plural(more, 'more change')} of the criteria"]
        return shown

    @property
    def changed_assertions(self) -> list[str]:
        """A line for each assertion that was checked again with another outcome, in each
        conversation.
        """
        judged = self.judged_again.values()
        changed = chain.from_iterable(again.changed_assertions for again in judged)
        return list(map(sentence, changed))

    @property
    def judged_again_words(self) -> str:
        """How many conversations were judged again, and which verdicts count; empty if none
        were.
        """
        replaced = verdicts_replaced(self.judged_again, len(self.state.conversations))
        if replaced:
            return sentence(replaced)
        return ""

    @cached_property
    def people_would_say(self) -> tuple[of.PeopleWouldSay, ...]:
        """What people would say about the judge's verdicts; empty unless they reviewed a sample."""
        if self.sampled:
            return people_say(self)
        return ()

    @cached_property
    def calibrated(self) -> tuple[of.CalibratedElsewhere, ...]:
        """The share of passed tasks, corrected by the reviews of the runs that were named; empty
        unless some were.
        """
        if self.calibrated_by:
            return calibrated(self, self.calibrated_by)
        return ()

    @cached_property
    def judge_unreviewed(self) -> bool:
        """Whether a model judged, and people reviewed no sample of its verdicts."""
        by_model = self.started.source is None and self.kind_of("scorer") != "rules"
        return self._was_judged and by_model and not self.sampled

    @property
    def _was_judged(self) -> bool:
        return any(talk.verdict and not talk.verdict.error for talk in self.talks)

    @property
    def _judged_by_llm(self) -> bool:
        """Whether the recorded verdicts are those of a model that this program asked."""
        return self.started.source is None and self.kind_of("scorer") == "llm"

    @cached_property
    def people_say(self) -> tuple[str, ...]:
        """What people would say about the judge's verdicts, or that they have not looked, and what
        it gets wrong about sentinels.
        """
        lines = [*map(sentence, self.people_would_say)]
        if self.judge_unreviewed:
            lines = [sentence(of.JudgeNotCalibrated())]
        lines += map(sentence, self.calibrated)
        if checks := sentinel_checks(self.state.sentinels):
            lines.append(sentence(sentinel_finding(checks)))
        if self.examined is not None:
            lines.append(sentence(self.examined))
        if self.judge_family is not None:
            lines.append(sentence(self.judge_family))
        return tuple(lines)

    @cached_property
    def judge_family(self) -> of.JudgeOfFamily | None:
        """That a judge whose verdicts count is of the agent's or the simulated user's model family;
        None if none is.
        """
        verdicts = (verdict for talk in self.talks if (verdict := talk.verdict))
        # A later judge that is a model has a prompt.
        if not any(
            verdict.prompts or (self._judged_by_llm and not verdict.author)
            for verdict in verdicts
            if not verdict.error
        ):
            return None
        agent = "" if self.started.had_sample_agent else self.state.agent_model or ""
        notes = [family_note(judge, agent, self.state.user_model) for judge in self.state.judges]
        if note := next(filter(None, notes), ""):
            return of.JudgeOfFamily(note)
        return None

    @cached_property
    def exam(self) -> JudgeExamined | None:
        """The exam of the judge whose verdicts count, the last one by its criteria; None if there
        was none.
        """
        by, judges = set(), set()
        for talk in self.state.conversations.values():
            if (verdict := talk.verdict) is not None:
                by.add(verdict.judging)
                # A verdict that could not be had may name the model that was asked for, and not
                # the one that is served.
                if not verdict.error:
                    judges.add(verdict.judge)
        found = [
            one for one in self.state.exams if one.judging in by or (not by and not one.judging)
        ]
        if not found or len(by) > 1:
            return None
        was_held = not found[-1].why_not
        if was_held and judges - {one.judge for one in found}:
            return None
        return found[-1]

    @cached_property
    def examined(self) -> of.JudgeExam | of.JudgeNotExamined | None:
        """What the judge gave controls, or that it was not asked about them; None where no model
        judged.
        """
        exam = self.exam
        if exam is None:
            if self._judged_by_llm and self._was_judged:
                return of.JudgeNotExamined()
            return None
        if exam.why_not and not exam.refusal:
            return of.JudgeNotExamined(exam.why_not)
        best = max(each.score or 0.0 for each in exam.controls)
        return of.JudgeExam(
            len(exam.controls), best, exam.refusal, exam.remembered, len(exam.left_out)
        )

    @property
    def reviewed_words(self) -> str:
        """The reviewed scores in one line; empty without reviews."""
        reviewed = self.reviewed
        if reviewed is None:
            return ""
        corrections, who = (
            ", ".join(reviewed.condition_scores(self.state)),
            ", ".join(reviewed.reviewers),
        )
        by = f"by {who}, {reviewed.tasks} of {plural(reviewed.of_tasks, 'task')}"
        if reviewed.disputed:
            by += f"; reviewers differ on {reviewed.disputed}"
        if corrections:
            return f"{corrections}; {by}"
        return by

    def trial_anchor(self, trial: int) -> str:
        """Return the id of a trial in a document."""
        return f"r{self.run_id}-{trial}"

    def anchor(self, condition: Condition, trial: int, message: int) -> str:
        """Return the id of a message in a document."""
        return f"r{self.run_id}-{condition}-{trial}-m{message}"


MOST_CRITERIA = 10
"""So many changed criteria are listed; those of cases may be thousands."""


def reviewed(run: RunResult) -> tuple[ReviewedScores | None, tuple[str, ...]]:
    """Return a run's scores after reviews, if there are any, and what people would say about its
    verdicts.
    """
    return run.reviewed, run.people_say


def load_run(
    path: Path,
    *,
    prices: Prices | None = None,
    as_recorded: bool = False,
    keeps: bool = True,
    whole: bool = False,
    begins: Callable[[StoredRun], object] = lambda run: None,
) -> RunResult:
    """Return the result of a recording and its overlay; without `prices`, the included prices are
    used.

    Of a large recording in the data folder, what all views need is kept in the list of runs, unless
    told otherwise (`keeps`). With `whole`, all texts are in memory, for who reads most of them.
    `begins` is called with a large recording that is about to be read (`stored_run`).

    The latest verdict on a transcript counts; with `as_recorded`, the recorded one does, and the
    latest is only listed.

    Raises:
        RecordingError: the file cannot be read, or its first event is missing.
    """
    overlay = read_overlay(path)
    stored = None
    if not whole and is_large(path):
        mask = current() if masking() else None
        stored = stored_run(path, keeps=keeps, mask=mask, begins=begins)
    if stored is not None and stored.state.started is not None:
        state, started, problems = stored.state, stored.state.started, tuple(stored.problems)
    else:
        state, started, problems = started_run(path)
    again = judged_again(state, overlay, counts=not as_recorded)
    now = state if as_recorded else state_in_force(state, overlay)
    return RunResult(
        path,
        now,
        now.started or started,
        (*problems, *overlay.problems),
        listed_reviews(overlay),
        again,
        prices or shipped_prices(),
        fold_reviews(overlay.events, state, now),
        any(isinstance(event, ReviewsDrawn) for event in overlay.events),
        stored,
    )


def result_of(
    state: RunState,
    path: Path | None = None,
    prices: Prices | None = None,
    *,
    is_replayed: bool = False,
) -> RunResult | None:
    """Return the result of a run that is held in memory; None if it never started."""
    if state.started is None:
        return None
    return RunResult(
        path or Path(),
        state,
        state.started,
        prices=prices or shipped_prices(),
        is_replayed=is_replayed,
    )


def report_title(results: Sequence[RunResult]) -> str:
    """Return the title of a document on some runs."""
    if len(results) == 1:
        return f"{results[0].brief.job}: evaluation report"
    jobs = {result.brief.job for result in results}
    return f"{plural(len(results), 'run')} of {plural(len(jobs), 'job')}"


# One trial

Talks = Sequence[ConversationResult | None]


def _trial_result(run: RunResult, trial: int) -> TrialResult:
    state, conditions = run.state, run.conditions
    talks = tuple(run.conversation(condition, trial) for condition in conditions)
    heading = f"Trial {trial}"
    if case := state.case(trial):
        heading += f": case {case.words}, its trial {case.trial}"
    return TrialResult(
        trial=trial,
        heading=heading,
        name=run.trial_name(trial),
        conditions=conditions,
        is_whole=set(scored_conditions(state.job)).issubset(conditions),
        titles=tuple(map(state.condition_title, conditions)),
        conversations=talks,
        uplift=run.trial_uplift(trial),
        shared=run.trial_shared(trial),
        tasks=tuple(rows.task_rows(state, trial)),
        tones=_tones(talks),
        assertions=tuple(rows.assertion_rows(state, trial, run.checked_titles())),
        facts=tuple(_fact_rows(state, trial, talks)),
        facts_kept=tuple(_facts_kept(talks)),
        words_told=_words_told(run, talks),
        medals=tuple(_medals(talks)),
        turns=tuple(_turns(run, talks)),
        needed=tuple(_needed(talk, run.target) for talk in talks),
    )


def _needed(talk: ConversationResult | None, target: float) -> tuple[Needed, ...]:
    if talk is None or talk.scored is None or talk.score is None or talk.score >= target:
        return ()
    return needed(talk.parts, talk.scored.failures, target)


def _tones(talks: Talks) -> tuple[float | None, ...]:
    tones = tuple(talk.tone if talk else None for talk in talks)
    if any(tone is not None for tone in tones):
        return tones
    return ()


def _fact_rows(state: RunState, trial: int, talks: Talks) -> list[FactRow]:
    found_rows = []
    for number_, text in enumerate(state.trial_job(trial).get("facts") or [], start=1):
        given = tuple(_given_words(talk, number_) for talk in talks)
        found_rows.append(FactRow(number_, str(text), given))
    return found_rows


def _words_told(run: RunResult, talks: Talks) -> tuple[str, ...]:
    if PLACEBO_NAME not in run.conditions:
        return ()
    return tuple(str(talk.words_told) if talk else DASH for talk in talks)


def _facts_kept(talks: Talks) -> Iterator[str]:
    """Yield what the user's persona did to the facts, the condition first if several have any."""
    kept = [(talk.title, talk.facts_kept) for talk in filter(None, talks) if talk.facts_kept]
    for title, finding in kept:
        place = f"{title}: " if len(kept) > 1 else ""
        yield f"{place}{sentence(finding)}"


def _given_words(talk: ConversationResult | None, number: int) -> str:
    """Return in which turns the user gave a fact, and what its persona did to it."""
    if talk is None:
        return "–"
    drawn = talk.persona_facts
    disclosures = [fact for fact in talk.facts if fact.fact == number]
    if disclosures:
        turns = "; ".join(f"turn {fact.turn}{fact.asked_words}" for fact in disclosures)
        said = [f"“{each.wrong}”" for each in (drawn.wrong_of(number) if drawn else ())]
        return f"{turns}: {', '.join(said)}" if said else turns
    if drawn is not None and number in drawn.held_back:
        return "held back"
    if talk.facts_unread:
        return "not known"
    return "–"


def _medals(talks: Talks) -> list[Graded]:
    medals: list[Graded] = []
    for talk in filter(None, talks):
        medals += [_medal(talk.title, graded) for graded in talk.submissions]
    return medals


def _medal(title: str, graded: SubmissionGraded) -> Graded:
    if graded.report is None:
        return Graded(title, None, graded.error or "not graded")
    try:
        return Graded(title, TaskReport.from_dict(graded.report), graded.error or "")
    except (ValueError, TypeError) as error:
        return Graded(title, None, f"the report cannot be read: {error}")


def _turns(run: RunResult, talks: Talks) -> list[Turn]:
    def shown(talk: ConversationResult | None, turn: int) -> tuple[ShownMessage, ...]:
        if talk is None:
            return ()
        return tuple(_message(run, talk, m) for m in talk.messages if m.turn == turn)

    messages = chain.from_iterable(talk.messages for talk in filter(None, talks))
    numbers = sorted({message.turn for message in messages})
    return [Turn(turn, tuple(shown(talk, turn) for talk in talks)) for turn in numbers]


def _message(run: RunResult, talk: ConversationResult, message: MessageState) -> ShownMessage:
    notes = [
        Note("failure", f"attempt {f.request_attempt} failed: {clean_line(f.error, 200)}")
        for f in message.failures
    ]
    notes += [Note("fact", f"fact {fact.fact} given{fact.asked_words}") for fact in message.facts]
    notes += [
        Note("violation", f"{slip.rule.replace('_', ' ')}: {slip.detail} ({slip.outcome})")
        for slip in message.violations
    ]
    unsent = message.role == "user" and talk.ended is not None and not talk.sent(message)
    text = message.text
    if unsent and message.done:
        notes.insert(0, Note("unsent", "the sign-off, not sent"))
        text = ""
    elif unsent:
        notes.insert(0, Note("unsent", "not sent"))
    if message.operator:
        notes.append(Note("operator", "typed by a person"))
    notes += [Note("file", words) for words in file_words(message.generation)]
    notes += [Note("failure", words) for words in injected_words(message.generation)]
    notes += [Note("failure", note) for note in answer_notes(message)]
    if message.blocked_ms is not None:
        notes.append(
            Note(
                "failure",
                f"latency not counted: this program did not run for {latency(message.blocked_ms)}"
                " of it",
            )
        )
    if message.waited_ms >= 50:
        notes.append(Note("failure", f"waited {latency(message.waited_ms)} besides"))
    if message.role == "assistant":
        notes += _new_checks(talk, message.turn)
    return ShownMessage(
        number=message.message,
        turn=message.turn,
        role=message.role,
        text=text,
        done=message.done,
        latency_ms=message.latency_ms,
        quotations=_quotations(talk, message),
        notes=tuple(notes),
        anchor=run.anchor(talk.condition, talk.trial, message.message),
    )


def _new_checks(talk: ConversationResult, turn: int) -> list[Note]:
    """Return which assertions changed with this turn."""
    notes = []
    for checks in talk.timelines.values():
        before = next((c.status for c in reversed(checks) if c.after_turn < turn), None)
        now = next((c for c in checks if c.after_turn == turn), None)
        if now is None or before is None or now.status == before:
            continue  # what passes from the start says nothing about this turn
        match now.status:
            case "passed":
                notes.append(Note("check", f"“{now.title}” now holds"))
            case "failed":
                notes.append(Note("failure", f"“{now.title}” no longer holds"))
            case "not_measured":
                notes.append(Note("failure", f"“{now.title}” could not be measured"))
    return notes


def _quotations(talk: ConversationResult, message: MessageState) -> tuple[Quotation, ...]:
    quotations: list[Quotation] = []
    for task in talk.tasks:
        quoted = [item for item in task.evidence if item.message == message.message]
        quotations += [Quotation(item.quote, task.task) for item in quoted]
    return tuple(quotations)


# The lead


def _versions(result: RunResult) -> list[tuple[str, str]]:
    started, brief = result.started, result.brief
    seed: int | None = started.seed
    concurrency: str | None = f"{plural(started.concurrency, 'conversation')} at a time"
    if started.source is not None:
        seed, concurrency = None, None
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
        ("FHIR server", brief.fhir),
        ("hosts that received transcripts", ", ".join(started.hosts)),
        ("seed", seed),
        ("concurrency", concurrency),
        ("git revision", started.git_revision),
        *((f"prompt {name}", _hash(digest)) for name, digest in sorted(started.prompts.items())),
    ]
    return [(label, str(value)) for label, value in listed if value not in (None, "")]


def _hash(digest: str) -> str | None:
    """Return a hash to print; None if this process masks, because it would confirm a guess."""
    return None if masking() else digest


def _with_hash(file: str, digest: str) -> str:
    if _hash(digest) is None:
        return file
    return f"{file}, SHA-256 {digest}"


def _provenance(started: RunStarted) -> list[tuple[str, Any]]:
    """Return the origin of a run: its time and job, or the imported file."""
    source, at = started.source, f"{date(started.at, seconds=True, zone=UTC)} UTC"
    if source is None:
        return [("recorded", at), ("job file", _with_hash(started.job_path, started.job_sha256))]
    return [
        ("recorded", at if source.times == "told" else "unknown"),
        ("imported from", _with_hash(f"{source.file} ({source.format})", source.sha256)),
        ("origin", source.origin),
        ("licence", source.licence),
    ]


def _warnings(run: RunResult) -> list[str]:
    """Return the warnings, once each; the same warning of several conversations is one line."""
    warnings = [warning.message for warning in run.state.warnings]
    if again := verdicts_replaced(run.judged_again, len(run.state.conversations)):
        warnings.append(sentence(again))
    shared: dict[str, list[str]] = {}
    for talk in run.talks:
        for line in dict.fromkeys(_troubles(talk)):
            shared.setdefault(line, []).append(
                f"{run.state.condition_title(talk.key.condition)}, {talk.trial_words}"
            )
    warnings += [seen_in(where, line) for line, where in shared.items()]
    if erred := user_errors(run):
        warnings.append(sentence(erred))
    warnings += map(str, run.problems)
    if run.state.resumed:
        warnings.append(sentence(WasResumed(run.state.resumed)))
    if run.state.added:
        warnings.append(sentence(TrialsAdded(run.state.added)))
    if run.state.unknown:
        warnings.append(
            sentence(NewerEvents(tuple(sorted({event.kind for event in run.state.unknown}))))
        )
    return list(dict.fromkeys(warnings))


def user_errors(run: RecordedRun) -> UserErred | None:
    """Return how often the user did something wrong, the most frequent kind first; None if nothing
    was found.
    """
    faults = []
    for talk in run.talks:
        faults += [(talk.key, fault) for fault in talk.user_faults]
    if not faults:
        return None
    kinds = Counter(fault.kind for _, fault in faults)
    judged = sum(fault.found_by != "check" for _, fault in faults)
    return UserErred(
        len({key for key, _ in faults}),
        len(run.talks),
        tuple(kinds.most_common()),
        judged,
        run.user_name,
    )


def _troubles(talk: ConversationState) -> list[str]:
    lines = [warning.message for warning in talk.warnings]
    lines += [sentence(SeedNotApplied(s.index + 1, s.detail)) for s in talk.seeds if not s.applied]
    lines += [sentence(SetupFailed(s.index + 1, s.error)) for s in talk.setups if s.error]
    if talk.score is not None and talk.score.score is None and talk.score.reason:
        lines.append(sentence(NotScored(talk.score.reason)))
    return lines
