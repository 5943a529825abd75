"""A recorded run and its conversations as values: what was said, checked, scored and judged, and
what would raise a score.

Nothing here is a figure over several conversations: `summary` makes those, and `result` has
everything that is shown.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

from bioeval_tui.base.errors import Problem
from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.peers.goodbyes import without_signoff
from bioeval_tui.peers.prices import Prices, shipped_prices
from bioeval_tui.record import score as composite
from bioeval_tui.record.cases import Case, job_part
from bioeval_tui.record.condition_names import Condition, of_mean_words, without_placebo
from bioeval_tui.record.conditions import (
    Contrast,
    condition_names,
    find_condition,
    scored_conditions,
)
from bioeval_tui.record.effect import (
    NOT_RECORDED,
    NOTHING_SHARED,
    SharedCriteria,
    shared_criteria,
    shared_score,
    why_not_compared,
)
from bioeval_tui.record.events import (
    EXCUSED,
    AssertionChecked,
    ConversationEnded,
    ConversationScored,
    EndReason,
    EvaluatorViolated,
    FactDisclosed,
    Fault,
    RequestFailed,
    RunEnded,
    RunStarted,
    ScorePart,
    SubmissionGraded,
    TaskScored,
    TranscriptScored,
    UserFault,
    Warned,
)
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.reviews import (
    Reviews,
    TaskKey,
    reviewed_score,
)
from bioeval_tui.record.state import ConversationKey, ConversationState, MessageState, RunState
from bioeval_tui.record.stored import StoredRun
from bioeval_tui.record.warning_codes import FACTS_UNREAD
from bioeval_tui.report import rows
from bioeval_tui.report.brief import Brief, make_brief
from bioeval_tui.report.contents import Contents, job_contents
from bioeval_tui.report.findings import (
    AssertionFails,
    FactsKept,
    Finding,
    Gain,
    NeverAsked,
    RequestsFailed,
    Shared,
    SlowAnswers,
    TaskFellShort,
)
from bioeval_tui.report.reviews import JudgedAgain, Review
from bioeval_tui.report.sentences import FAILED, LONGEST_LOSS, needs_all, sentence
from bioeval_tui.statistics.estimates import LatencySummary, Sample
from bioeval_tui.statistics.means import exact_mean

MOST_CONTENTS = 1_000
"""What so many conversations are about is kept in memory; that of others is made again."""
USUAL_ENDS: frozenset[EndReason] = frozenset({"signed_off", "max_turns", "unknown"})
"""Ends that explain no missing score."""


class ConversationResult:
    """One conversation: one trial under one condition.

    What was recorded of it is here as it was recorded, and read only when it is asked for: of a
    large recording, most conversations are rows (`record/stored.py`). A run may have 100,000, so it
    has no dictionary, which would be four times as large.
    """

    __slots__ = (
        "_run", "_sample", "_shared_sample", "_talk", "condition", "excluded", "score", "trial",
    )  # fmt: skip

    def __init__(self, run: RecordedRun, talk: ConversationState) -> None:
        """Take over what was recorded; what follows from it is computed when it is first asked
        for.
        """
        self._run, self._talk = run, talk
        self.condition, self.trial = talk.key
        self.score: float | None = talk.score.score if talk.score else None
        """Its composite score; None if it could not be measured, or is not scored yet."""
        self.excluded = _why_excluded(talk)
        """Why it does not count, in one or two words: whose fault, cancelled, or not finished;
        empty if it counts.
        """
        self._sample: Sample | None = None
        self._shared_sample: Sample | None = None

    @property
    def title(self) -> str:
        """What its condition is called: `without the facts`, or as the job names it."""
        return self._run.state.condition_title(self.condition)

    @property
    def trial_words(self) -> str:
        """How the trial is called: `trial 3`, `case 17`, or `case 17, trial 2`."""
        return self._talk.trial_words

    @property
    def case(self) -> Case | None:
        """Its case, and what the user wants and knows in it; None without cases."""
        return self._talk.case

    @property
    def session_id(self) -> str | None:
        """The id of its session with the agent."""
        return self._talk.session_id

    @property
    def attempt(self) -> int:
        """Which attempt at it this is, from 1."""
        return self._talk.attempt

    @property
    def record(self) -> dict[str, Any] | None:
        """What no other field has of a conversation from an imported file."""
        return self._talk.record

    @property
    def started_at(self) -> datetime | None:
        """When it began."""
        return self._talk.started_at

    @property
    def ended_at(self) -> datetime | None:
        """When it ended; None before."""
        return self._talk.ended_at

    @property
    def scored(self) -> ConversationScored | None:
        """The event that scored it; None before."""
        return self._talk.score

    @property
    def ended(self) -> ConversationEnded | None:
        """The event that ended it; None before."""
        return self._talk.ended

    @property
    def verdict(self) -> TranscriptScored | None:
        """The event with the judge's verdicts; None if none came."""
        return self._talk.verdict

    @property
    def messages(self) -> list[MessageState]:
        """All of its messages."""
        return self._talk.messages

    @property
    def warned(self) -> list[Warned]:
        """The warnings about it."""
        return self._talk.warnings

    @property
    def checks(self) -> list[AssertionChecked]:
        """The last check of each assertion."""
        return self._talk.latest_checks()

    @property
    def final_checks(self) -> dict[int, AssertionChecked]:
        """The checks at the end, by index."""
        return self._talk.final_checks

    @property
    def timelines(self) -> dict[int, list[AssertionChecked]]:
        """The checks of every turn, by index."""
        return self._talk.checks

    @property
    def persona_facts(self) -> PersonaFacts | None:
        """Which facts the user's persona holds back or gets wrong; None if it does neither."""
        return self._talk.persona_facts

    @property
    def facts(self) -> list[FactDisclosed]:
        """The facts that the user gave."""
        return self._talk.facts

    @property
    def violations(self) -> list[EvaluatorViolated]:
        """How the user broke its rules."""
        return self._talk.violations

    @property
    def user_faults(self) -> list[UserFault]:
        """What the user did wrong."""
        return self._talk.user_faults

    @property
    def submissions(self) -> list[SubmissionGraded]:
        """The files that were graded for medals."""
        return self._talk.submissions

    @property
    def request_failures(self) -> list[RequestFailed]:
        """The requests that failed."""
        return self._talk.request_failures

    @property
    def failures(self) -> int:
        """How many of them count against the agent."""
        return self._talk.failures

    @property
    def latencies_ms(self) -> list[float]:
        """The agent's response times, one per turn, in ms."""
        return self._talk.latencies_ms

    def latencies_with_waits_ms(self, *, excused: bool = False) -> list[float]:
        """Return its response times with the time of requests that failed before the answer came,
        because an agent may refuse what it works on; of the `excused` failures only, or of all, and
        then without end where no answer came.
        """
        if not self.request_failures:
            return self.latencies_ms
        found = []
        for message in self._talk.answers:
            failed = [one for one in message.failures if one.peer == "agent"]
            waited = not all(one.counted for one in failed) if excused else bool(failed)
            if message.latency_ms is not None:
                found.append(message.latency_ms + waited * message.waited_ms)
            elif waited and not excused and not message.done:
                found.append(inf)
        return found

    @property
    def first_tokens_ms(self) -> list[float]:
        """The times until the first text of its answers, in ms, where they were streamed."""
        return self._talk.first_tokens_ms

    @property
    def answers_ask(self) -> list[bool | None]:
        """Whether each of the agent's messages asks something; None if its language is not read."""
        return self._talk.answers_ask

    @property
    def user_replies(self) -> bool:
        """Whether the user says anything after the agent did."""
        return self._talk.user_replies

    @property
    def answered(self) -> bool:
        """Whether the agent has answered at all, with a time that counts or not."""
        return bool(self.latencies_ms or self._talk.blocked_answers)

    @property
    def fault(self) -> Fault | None:
        """Who caused it to end early or, if nobody did, to have no score; None before its end."""
        return self._talk.fault

    @property
    def is_scored(self) -> bool:
        """Whether it was scored, though perhaps without a value."""
        return self._talk.score is not None

    @property
    def answers(self) -> list[MessageState]:
        """The agent's messages."""
        return self._talk.answers

    @property
    def turns(self) -> Mapping[int, int]:
        """The turn of each message."""
        return {message.message: message.turn for message in self.messages}

    @property
    def turn_count(self) -> int:
        """The number of its newest turn; a sign-off begins none."""
        return self._talk.turns

    @property
    def reason(self) -> str:
        """A note on the score, or why it has no value."""
        return self.scored.reason if self.scored else ""

    @property
    def parts(self) -> tuple[ScorePart, ...]:
        """The parts of its score."""
        return self.scored.parts if self.scored else ()

    @property
    def penalty(self) -> float:
        """What failed requests take from its score."""
        return self.scored.penalty if self.scored else 0.0

    @property
    def average_ms(self) -> float | None:
        """The agent's mean response time, in ms."""
        return self.scored.average_latency_ms if self.scored else None

    @property
    def end_reason(self) -> EndReason | None:
        """The kind of its end; None before."""
        return self.ended.reason if self.ended else None

    @property
    def ending(self) -> str:
        """How it ended and whose fault that was; empty before its end."""
        return ending(self.ended) if self.ended else ""

    @property
    def received(self) -> str:
        """What the agent sent instead of an answer; empty if that is unknown."""
        return self.ended.received if self.ended else ""

    @property
    def tasks(self) -> tuple[TaskScored, ...]:
        """The judge's verdicts."""
        verdict = self.verdict
        return verdict.tasks if verdict else ()

    @property
    def unproved(self) -> int:
        """How many of them quote words that are not in the transcript, or only the user's."""
        verdict = self.verdict
        return verdict.unproved if verdict else 0

    @property
    def tone(self) -> float | None:
        """The judge's rating of the agent's tone, 0 to 1, which is not part of any score."""
        return self.verdict.tone if self.verdict else None

    @property
    def judge_error(self) -> str | None:
        """Why the judge gave no verdict; None if it did, or was not asked."""
        return self.verdict.error if self.verdict else None

    @property
    def why_no_score(self) -> str:
        """Why it has no score, the cause first; empty if it has one."""
        if self.score is None:
            return self._why_missing
        return ""

    @property
    def _why_missing(self) -> str:
        if self.scored is None:
            return "not scored"
        reason, ended = self.scored.reason, self.ended
        if (
            ended is None
            or ended.reason in USUAL_ENDS
            or (ended.detail and ended.explained in reason)
        ):
            return reason
        return "; ".join(filter(None, (ending(ended), reason)))

    @property
    def ways(self) -> tuple[str, ...]:
        """What to do about it, if it never took place."""
        never = self.scored is not None and self.score is None and not self.answered
        if never and self.ended is not None:
            return self.ended.ways
        return ()

    @property
    def ended_early(self) -> str:
        """How it ended before its time and whose fault that was, in words; empty if it ran to its
        end.
        """
        ended = self.ended
        if ended is None or ended.reason in USUAL_ENDS:
            return ""
        why = ended.reason.replace("_", " ")
        if ended.fault != "none":
            why += f", fault of the {ended.fault}"
        if ended.detail:
            return f"ended early ({why}): {ended.explained}"
        return f"ended early ({why})"

    @property
    def cause(self) -> str:
        """Why it has no score, without what to do about it and what came instead of an answer."""
        cause = self.reason.removeprefix("not measured: ")
        if self.ended:
            return cause.removesuffix(self.ended.advice)
        return cause

    @property
    def checks_missing(self) -> tuple[str, ...]:
        """Warnings that the judge left a verdict out, or was not shown the whole conversation."""
        codes = ("verdict_missing", "record_shortened")
        return tuple(warned.message for warned in self.warned if warned.code in codes)

    @property
    def facts_unread(self) -> str:
        """Why it cannot be told whether the user gave the facts that the ledger does not have;
        empty if it can.
        """
        return next((warned.message for warned in self.warned if warned.code == FACTS_UNREAD), "")

    @property
    def latency(self) -> LatencySummary:
        """The agent's response times."""
        return rows.latency(self._run.state, self.condition, self.trial)

    @property
    def gains(self) -> tuple[Gain, ...]:
        """What would raise its score, the largest gain first."""
        return tuple(gains(self))

    @property
    def sample(self) -> Sample:
        """Its composite score as statistics take it."""
        if self._sample is None:
            self._sample = self._made_sample()
        return self._sample

    def _made_sample(self) -> Sample:
        job, case = self._run.started.job_name, ""
        if self.case is not None and not self._run.has_personas_alone:
            case = self.case.name
        again = any(warning.code == "held_again" for warning in self._talk.warnings)
        return Sample(
            job,
            self.score,
            self.excluded,
            case,
            stopped=self._run.could_stop,
            again=again,
            excused=self.excluded in MAY_BE_EXCLUDED,
            cause=shorten(self.cause, LONGEST_CAUSE) if self.excluded and self.is_scored else "",
            least=self.least,
        )

    @property
    def least(self) -> float | None:
        """Its score if the time of excused requests was the agent's: of a 429, say, that is this
        program's doing unless the agent answers it to everything. None if that changes nothing.
        """
        longest_ms = self.latencies_with_waits_ms(excused=True)
        if self.score is None or longest_ms == self.latencies_ms:
            return None
        part = composite.timing_part(self.target_ms, longest_ms)
        parts = [part if one.name == "timing" and one.value else one for one in self.parts]
        least = composite.compose(parts, self.failures).score
        return None if least is None or least >= self.score else least

    @property
    def contents(self) -> Contents:
        """What it was about, by which it is compared with conversations of other runs."""
        return self._run.conversation_contents(self.trial, self.condition)

    @property
    def shared_sample(self) -> Sample:
        """Its score on what both conditions share, of which their difference is made, as statistics
        take it.
        """
        if self._shared_sample is None:
            self._shared_sample = self._made_shared_sample()
        return self._shared_sample

    def _made_shared_sample(self) -> Sample:
        value = shared_score(self._talk, self._run.criteria_shared(self.trial))
        if value is not None and value == self.score:
            return self.sample
        return replace(self.sample, value=value, reason=self.excluded or NOT_RECORDED)

    @property
    def shared_score(self) -> float | None:
        """The same, for who computes differences: None if the conditions of its trial are not
        compared.
        """
        if self._run.only_condition or self._run.why_not_compared(self.trial):
            return None
        return self.shared_sample.value

    @property
    def common_content(self) -> str:
        """What agents are compared on: a hash of what it was about, or the name of a case of an
        imported set.
        """
        if self._run.started.source is not None:
            return self.sample.case or self.sample.job
        return self.content_digest

    @property
    def content_digest(self) -> str:
        """A hash of `contents`, which is kept where these are not."""
        return self._run.content_digest(self.trial, self.condition)

    def task(self, number: int) -> TaskScored | None:
        """Return the judge's verdict on a task, if the conversation counts as a result."""
        return rows.task_verdict(self._talk, number)

    def task_sample(self, number: int) -> Sample | None:
        """Return the score of a task as statistics take it; None if the task does not count in its
        condition.

        A task of a conversation without a composite does not count either, even if it was judged
        (for example without the graph).
        """
        if number not in self._run.task_titles(self.condition, self.trial):
            return None
        task = self.task(number)
        value, reason = None, self.excluded or "judge"
        if task is not None and task.measured and not self.excluded:
            value, reason = task.score, self.sample.reason
        # No time is in the score of a task.
        return replace(self.sample, value=value, reason=reason, least=None)

    def shared_task_sample(self, number: int) -> Sample | None:
        """Return the score of a task in the same way, without a value unless both conditions judge
        it alike.
        """
        sample = self.task_sample(number)
        if sample is None or number in self._run.criteria_shared(self.trial).tasks.numbers:
            return sample
        return replace(sample, value=None, reason=NOTHING_SHARED)

    @property
    def target_ms(self) -> float:
        """The job's target for the average response time; 0 if it has none."""
        return self._run.target_ms

    @property
    def facts_kept(self) -> FactsKept | None:
        """What the user's persona did to the facts; None if it told them as they are."""
        drawn = self.persona_facts
        if drawn is None:
            return None
        return FactsKept(
            drawn.persona,
            len(drawn.held_back),
            drawn.facts,
            drawn.until,
            tuple(dict.fromkeys((each.right, each.wrong) for each in drawn.wrong)),
            len(drawn.wrong_facts),
        )

    @property
    def facts_known(self) -> int:
        """How many of the job's facts the user has and, if asked, tells."""
        known = find_condition(self.job, self.condition).known(self.job.get("facts") or ())
        return len(known) - self.facts_never_told

    @property
    def facts_never_told(self) -> int:
        """How many facts the user's persona holds back, whatever the agent asks."""
        if self.persona_facts is None:
            return 0
        return len(self.persona_facts.never_told)

    @property
    def job(self) -> Mapping[str, Any]:
        """The job's snapshot, filled in from its case."""
        return self._run.state.trial_job(self.trial)

    @property
    def why_lost(self) -> tuple[Loss, ...]:
        """Why it lost points, for somebody who reads no expressions: what the judge says of the two
        tasks that lost most.

        Where no task lost any, its largest loss; empty without one.
        """
        judged = [gain for gain in self.gains if gain.kind == "task"]
        return lost_points(self, judged[:2] or self.gains[:1])

    @property
    def why_no_verdict(self) -> str:
        """Why a task of it has no verdict."""
        return self.judge_error or self._why_missing

    def message(self, number: int) -> MessageState | None:
        """Return the message of that number; None without one."""
        return self._talk.message(number)

    def sent(self, message: MessageState) -> bool:
        """Return whether a message was sent to the other side; a bare sign-off and cut-off or void
        messages were not.
        """
        return self._talk.sent(message)

    @property
    def sent_messages(self) -> list[MessageState]:
        """What reached the other side: complete messages, without the sign-off, which is never
        sent.
        """
        return [self._sent_form(message) for message in self.messages if self.sent(message)]

    @property
    def words_told(self) -> int:
        """How many words the user told the agent, without the greeting, which the job says, and the
        message with the sign-off.
        """
        return self._talk.words_told(without_greeting=self._run.started.source is None)

    def _sent_form(self, message: MessageState) -> MessageState:
        if not message.signs_off:
            return message
        text = message.text
        if signoff := str(job_part(self.job, "evaluator").get("signoff") or ""):
            words = without_signoff(text, signoff)
            if words is not None:
                text = words
        return replace(message, _pieces=[text])

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to show of it but why it has no score."""
        return bool(self.answered or self.parts or (self.messages and not self.ended))

    def answer_in(self, turn: int | None) -> int | None:
        """Return the number of the agent's message of a turn."""
        return next((message.message for message in self.answers if message.turn == turn), None)

    @property
    def slowest_answer(self) -> MessageState | None:
        """The agent's message that took longest."""
        return rows.slowest(self._talk)


MAY_BE_EXCLUDED = frozenset({"", "not finished", "cancelled", *EXCUSED})
"""Why a conversation may be excluded although a gate is passed, if there are few of them: neither
the agent nor a defect of this program can be behind it. What an agent does not report, so that it
is not measured, is not in here.
"""
LONGEST_CAUSE = 160
"""The most characters of what happened in a conversation that does not count."""


def _why_excluded(talk: ConversationState) -> str:
    if talk.ended is None or talk.score is None:
        return "not finished"
    if talk.score.score is not None:
        return ""
    if talk.fault not in (None, "none"):
        return talk.fault
    if talk.ended.reason == "cancelled":
        return "cancelled"
    return "not measured"


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """A recording, folded from its masked events, with its reviews and later verdicts.

    If transcripts were judged again (`judged_again`), `state` has the latest verdicts, unless the
    run was loaded as recorded.
    """

    path: Path
    state: RunState
    started: RunStarted
    problems: tuple[Problem, ...] = ()
    """Damaged lines."""
    reviews: tuple[Review, ...] = ()
    judged_again: Mapping[ConversationKey, JudgedAgain] = field(default_factory=dict)
    prices: Prices = field(default_factory=shipped_prices)
    people: Reviews = field(default_factory=Reviews)
    """People's current reviews. `state` has the judge's scores; `apply_reviews` replaces them."""
    sampled: bool = False
    """Whether a random sample of its verdicts was drawn for people to review."""
    stored: StoredRun | None = None
    """The recording as rows, with which figures can be kept; None of a small one."""
    is_replayed: bool = False
    """Whether a replay shows it, perhaps not to its end."""

    @property
    def run_id(self) -> str:
        """The run's id as the recording says it."""
        return self.started.run_id

    @property
    def chatbot(self) -> str:
        """Which of its server's agents was tested; empty in protocols that do not ask for one."""
        return self.started.chatbot

    @cached_property
    def trials(self) -> list[int]:
        """The trials with at least one conversation that has started."""
        return sorted({key.trial for key in self.state.conversations})

    @cached_property
    def talks(self) -> list[ConversationState]:
        """The folded conversations, trial by trial, in the order of the conditions."""
        order = {name: place for place, name in enumerate(self.conditions)}
        talks = self.state.conversations.values()
        return sorted(
            talks, key=lambda talk: (talk.key.trial, order.get(talk.key.condition, len(order)))
        )

    def kind_of(self, role: Literal["evaluator", "scorer"]) -> str:
        """Return the job's kind of evaluator or judge, such as `scripted`."""
        return str(job_part(self.state.job, role).get("kind", "llm"))

    @property
    def user_name(self) -> str:
        """What the user is called: simulated only where this program played it. In an imported run
        a person or another system spoke, and a person does with `kind: human`.
        """
        if self.started.source is not None or self.kind_of("evaluator") == "human":
            return "the user"
        return "the simulated user"

    def people_score(self, condition: Condition, trial: int, task: int) -> float | None:
        """Return people's score of a task; None without one."""
        key = TaskKey(ConversationKey(condition, trial), task)
        return reviewed_score(self.people.tasks.get(key, {}))

    def recorded_verdict(self, key: ConversationKey) -> TranscriptScored | None:
        """Return the recorded verdict on a conversation."""
        again = self.judged_again.get(key)
        if again is not None:
            return again.recorded_verdict
        return self.state.conversations[key].verdict

    @property
    def planned_trials(self) -> int:
        """The number of trials that the run was to have."""
        return self.started.trials

    @property
    def added_trials(self) -> int:
        """How many of them `runs resume --rerun` added, because as many had no score."""
        return self.state.added

    @property
    def planned(self) -> list[tuple[Condition, int]]:
        """Every conversation that the run was to have, trial by trial, as its condition and
        trial.
        """
        last = max(self.planned_trials, *self.trials, 1)
        pairs = product(range(1, last + 1), self.started.conditions)
        return [(condition, trial) for trial, condition in pairs]

    @property
    def could_stop(self) -> bool:
        """Whether the run was to stop as soon as its results decided something
        (`--until-decided`).
        """
        return bool(self.started.options.get("until_decided"))

    def criteria_shared(self, trial: int) -> SharedCriteria:
        """Return what both conditions of a trial are scored by."""
        of_case = self._case_key(trial)
        if of_case not in self._criteria_shared:
            found = shared_criteria(self.state.trial_job(trial))
            self._criteria_shared[of_case] = self._alike.setdefault(found, found)
        return self._criteria_shared[of_case]

    def why_not_compared(self, trial: int) -> str:
        """Return why the conditions of a trial have no difference, in a few words; empty if they
        can be compared.
        """
        return why_not_compared(self.state, trial, self.criteria_shared(trial))

    @cached_property
    def brief(self) -> Brief:
        """Who was tested by whom, and on what."""
        return make_brief(self.state, self.started)

    @property
    def ended(self) -> RunEnded | None:
        """The event that ended the run; None before."""
        return self.state.ended

    @property
    def clean(self) -> bool:
        """Whether both conditions are known to have started from the same state."""
        return self.state.clean

    @property
    def cleanness(self) -> str:
        """`clean`, `not clean` or `cleanliness unknown`."""
        return self.state.cleanness

    @property
    def why_not_clean(self) -> str:
        """Why the run is not clean; empty if it is."""
        return self.state.why_not_clean

    @property
    def facts_unread(self) -> str:
        """Why it cannot be told whether the user gave facts; empty if it can in every
        conversation.
        """
        return next(
            (why for talk in self.conversations_with_facts if (why := talk.facts_unread)), ""
        )

    @property
    def conversations_with_facts(self) -> list[ConversationResult]:
        """Those in which the user knows some of the facts."""
        return [
            talk
            for talk in self.conversations
            if self.state.condition(talk.condition).facts != "none"
        ]

    @property
    def mean_needs(self) -> str:
        """What its mean needs: `needs both conditions`; empty if all of the job's conditions were
        run.
        """
        every = scored_conditions(self.state.job)
        if not set(every).issubset(self.conditions):
            return needs_all(len(every))
        return ""

    @property
    def mean_words(self) -> str:
        """What its mean is called: `mean of both`."""
        return f"mean of {of_mean_words(condition_names(self.state.job))}"

    @property
    def contrast(self) -> Contrast | None:
        """The conditions whose difference is the effect of the facts; None if the job has no such
        two.
        """
        return self.state.contrast

    @property
    def only_condition(self) -> Condition | None:
        """The run's only condition; None if it has several, and with them a mean and an uplift."""
        return self.state.only_condition

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The run's conditions, in the order of the job."""
        return self.state.conditions

    @property
    def scored_conditions(self) -> tuple[Condition, ...]:
        """The same without the placebo, which is in no mean and no threshold of all conditions;
        the placebo if it was run alone, since otherwise nothing would have been run.
        """
        return without_placebo(self.conditions) or self.conditions

    def condition_title(self, condition: str) -> str:
        """Return what a condition is called: as the job names it, else `without the facts`."""
        return self.state.condition_title(condition)

    @property
    def target_ms(self) -> float:
        """The job's target for the average response time; 0 if it has none."""
        return rows.target_ms(self.state)

    @cached_property
    def conversations(self) -> tuple[ConversationResult, ...]:
        """Every conversation, trial by trial, in the order of the conditions."""
        return tuple(self._made(talk) for talk in self.talks)

    @property
    def conversations_begun(self) -> list[ConversationResult]:
        """Every conversation, in the order in which they began."""
        return [self._made(talk) for talk in self.state.conversations.values()]

    @property
    def lowest(self) -> ConversationResult | None:
        """The conversation with the lowest score, the first that began of several; None without a
        score. It is none of the placebo's, which is no use of the agent.
        """
        of_interest = self.scored_conditions
        scored = [
            talk
            for talk in self.conversations_begun
            if talk.score is not None and talk.condition in of_interest
        ]
        return min(scored, key=lambda talk: talk.score or 0.0, default=None)

    def place_words(self, talk: ConversationResult) -> str:
        """Return which conversation of the run it is: `with the facts`, or `with the facts, trial
        2` where there are several.
        """
        if len(self.trials) > 1 or talk.case:
            return f"{talk.title}, {talk.trial_words}"
        return talk.title

    def conversation(self, condition: Condition, trial: int) -> ConversationResult | None:
        """Return a conversation; None if it has not begun."""
        talk = self.state.conversation(condition, trial)
        if talk is None:
            return None
        return self._made(talk)

    @property
    def scored_pairs(self) -> list[tuple[ConversationResult, ConversationResult]]:
        """The conversations without and with the facts of each trial that has both scores."""
        if self.contrast is None:
            return []
        without, with_facts = self.contrast
        both = (
            (self.conversation(without, trial), self.conversation(with_facts, trial))
            for trial in self.trials
        )
        return [
            (one, two)
            for one, two in both
            if one and two and one.score is not None and two.score is not None
        ]

    @property
    def shared_means(self) -> dict[Condition, float]:
        """The mean scores on what both conditions share, over the trials that are compared; empty
        without any.
        """
        known: dict[Condition, list[float]] = {}
        for pair in self.scored_pairs:
            values = [talk.shared_score for talk in pair]
            if None not in values:
                for talk, value in zip(pair, values, strict=True):
                    known.setdefault(talk.condition, []).append(cast(float, value))
        return {condition: exact_mean(values) for condition, values in known.items()}

    def conversation_contents(self, trial: int, condition: Condition) -> Contents:
        """Return what a trial is about; all trials of a case are about the same."""
        key = self._case_key(trial), condition
        if key not in self._contents:
            if len(self._contents) >= MOST_CONTENTS:
                self._contents.pop(next(iter(self._contents)), None)  # another thread may have, too
            job = self.state.trial_job(trial)
            self._contents[key] = job_contents(job, self.state.job, condition)
        return self._contents[key]

    def content_digest(self, trial: int, condition: Condition) -> str:
        """Return a hash of what a trial is about."""
        key = self._case_key(trial), condition
        if key not in self._content_digests:
            self._content_digests[key] = self.conversation_contents(trial, condition).digest
        return self._content_digests[key]

    @cached_property
    def job_digest(self) -> str:
        """A hash of what the job says the user knows and asks for, and of what is scored, before
        any case is filled in.
        """
        job = self.state.job
        return " ".join(
            job_contents(job, job, condition).digest for condition in scored_conditions(job)
        )

    def _case_key(self, trial: int) -> Hashable:
        """Return what all trials of a case have in common (`RunState.case_key`)."""
        if trial not in self._case_keys:
            self._case_keys[trial] = self.state.case_key(trial)
        return self._case_keys[trial]

    @cached_property
    def _case_keys(self) -> dict[int, Hashable]:
        """By trial: every figure asks for them for each conversation."""
        return {}

    @cached_property
    def _criteria_shared(self) -> dict[Hashable, SharedCriteria]:
        """By case: every view asks for them several times for each trial."""
        return {}

    @cached_property
    def _contents(self) -> dict[tuple[Hashable, Condition], Contents]:
        return {}

    @cached_property
    def _content_digests(self) -> dict[tuple[Hashable, Condition], str]:
        return {}

    @cached_property
    def _titles(self) -> dict[tuple[Hashable, Condition | None], dict[int, str]]:
        """The titles of tasks by case: every figure asks for them for each conversation."""
        return {}

    @cached_property
    def _alike(self) -> dict[Hashable, Any]:
        """What was found of a case, which most others have in common with it."""
        return {}

    @cached_property
    def _checked_titles(self) -> dict[Condition | None, rows.Titles]:
        """By condition: finding them looks at every conversation."""
        return {}

    @cached_property
    def _results(self) -> dict[ConversationKey, ConversationResult]:
        """The results that were asked for: a score card asks for those of one trial, of perhaps
        thousands.
        """
        return {}

    def _made(self, talk: ConversationState) -> ConversationResult:
        if talk.key not in self._results:
            self._results[talk.key] = ConversationResult(self, talk)
        return self._results[talk.key]

    def conversations_in(self, condition: Condition) -> list[ConversationResult]:
        """Return the conversations of a condition, trial by trial."""
        return [talk for talk in self.conversations if talk.condition == condition]

    def task_titles(
        self, condition: Condition | None = None, trial: int | None = None
    ) -> dict[int, str]:
        """Return what the judge scores, by number from 1: by the job or in a trial; in a condition,
        what counts there.
        """
        if trial is None:
            return rows.task_titles(self.state, trial, condition)
        key = self._case_key(trial), condition
        if key not in self._titles:
            titles = rows.task_titles(self.state, trial, condition)
            self._titles[key] = self._alike.setdefault(tuple(titles.items()), titles)
        return self._titles[key]

    def assertion_titles(
        self, condition: Condition | None = None, trial: int | None = None
    ) -> dict[int, tuple[str, float]]:
        """Return title and weight of the assertions, by index from 0: of the job or of a trial; in
        a condition, of those that count there.
        """
        return rows.assertion_titles(self.state, trial, condition, self.checked_titles(condition))

    def checked_titles(self, condition: Condition | None = None) -> rows.Titles:
        """Return title and weight of the assertions that were checked, in a condition or in all."""
        if condition not in self._checked_titles:
            self._checked_titles[condition] = rows.checked_titles(self.state, condition)
        return self._checked_titles[condition]

    @property
    def has_cases(self) -> bool:
        """Whether the trials are of cases; several users alone are none."""
        return any(case.name for case in self.started.cases) and not self.has_personas_alone

    @cached_property
    def has_personas_alone(self) -> bool:
        """Whether what it records as cases are only the job's personas, without a table of cases:
        who was chosen to ask, not a draw of what is asked.
        """
        personas = self.state.job.get("personas")
        if not isinstance(personas, list):
            return False
        names = {str(each.get("name")) for each in personas if isinstance(each, dict)}
        cases = self.started.cases
        return bool(cases) and all(case.name in names and not case.persona for case in cases)

    def case(self, trial: int) -> Case | None:
        """Return the case of a trial, started or not; None without cases."""
        return self.state.case(trial)

    def trial_words(self, trial: int) -> str:
        """Return how a trial is called: `trial 3`, `case 17`, or `case 17, trial 2`."""
        return self.state.trial_words(trial)

    def case_words(self, trial: int) -> str:
        """Return the name of a trial's case; empty without cases."""
        case = self.case(trial)
        if case:
            return case.words
        return ""


Run = TypeVar("Run", bound=RecordedRun)


def each_conversation(
    runs: Sequence[Run], condition: Condition | None = None
) -> Iterator[tuple[Run, ConversationResult]]:
    """Yield the conversations of one condition, or of both, each with its run, in the order of runs
    and trials.
    """
    for run in runs:
        yield from (
            (run, talk) for talk in run.conversations if condition in (None, talk.condition)
        )


def shared_scoring(runs: Iterable[RecordedRun]) -> Shared | None:
    """Return what both conditions of the runs share of all that is scored; None if that is
    everything.
    """
    by_case: dict[tuple[str, str], SharedCriteria] = {}
    for run in runs:
        for trial in run.trials:
            by_case[run.started.job_name, run.case_words(trial)] = run.criteria_shared(trial)
    return rows.counted_shared(by_case.values())


# What ended a conversation, and why a task has its score


ENDS = {
    "signed_off": "signed off",
    "max_turns": "message limit reached",
    "agent_failed": FAILED["agent"],
    "evaluator_failed": FAILED["evaluator"],
    "timed_out": "timed out",
    "cancelled": "cancelled",
    "unknown": "ended for an unknown reason",
    "not_held": "could not be run",
}


def ending(ended: ConversationEnded) -> str:
    """Return why a conversation ended and whose fault it was."""
    words = ENDS[ended.how]
    if ended.fault != "none":
        words += f", fault: {ended.fault}"
    if ended.detail:
        words += f": {clean_line(ended.detail, 200)}"
    return words


def why_not_asked(task: TaskScored) -> str:
    """Return why the user never asked for a task; empty if the user did, or if that is unknown."""
    if task.kept_by:
        return sentence(NeverAsked(task.kept_by))
    return ""


def reason_of(task: TaskScored) -> str:
    """Return why a task has its score: that it was never asked for, and the judge's reason."""
    return ". ".join(filter(None, (why_not_asked(task), task.reason)))


# What would raise a score, and where points were lost


class Mended(NamedTuple):
    """A conversation as it would be with one thing mended: the gain, without what it is worth, and
    the parts and the number of failed requests that it would lead to.
    """

    gain: Gain
    parts: list[ScorePart]
    failures: int


class Loss(NamedTuple):
    """Why a conversation lost points, and what the judge quotes about it: of a partly done task,
    this may be what was done.
    """

    reason: str
    turn: int | None = None
    """The turn of the quotation; None without one."""
    quoted: str = ""
    message: int | None = None
    """The number of the message that it quotes."""


def gains(talk: ConversationResult) -> list[Gain]:
    """Return the ways to raise a conversation's score, the largest gain first; none without a
    score.
    """
    scored = talk.scored
    if scored is None or scored.score is None:
        return []
    gains_found = []
    for mended in (_assertions, _tasks, _timing, _failures):
        for one in mended(talk, scored):
            better = composite.compose(one.parts, one.failures).score
            if better is not None and better > scored.score:
                gains_found.append(replace(one.gain, by=round(better - scored.score, 2)))
    return sorted(gains_found, key=lambda found: -found.by)


def _assertions(talk: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    """Yield the conversation once for each failed assertion, as it would be if that had passed."""
    checks = talk.checks
    results = [(check.weight, check.status == "passed") for check in checks]
    for place, check in enumerate(checks):
        if check.status == "failed":
            with_it_passed = [*results[:place], (check.weight, True), *results[place + 1 :]]
            part = composite.assertion_part(with_it_passed)
            gain = Gain("assertion", check.index, check.title)
            yield Mended(gain, _with_part(scored, part), scored.failures)


def _tasks(talk: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    if talk.judge_error:
        return
    tasks = list(talk.tasks)
    for place, task in enumerate(tasks):
        best, met = 1.0, None
        if task.points is not None:
            # An item of a rubric that takes points away is best not met.
            met = task.points > 0
            best = float(met)
        better = [*tasks[:place], task.model_copy(update={"score": best}), *tasks[place + 1 :]]
        part = composite.judged_part(better, len(better))
        gain = Gain("task", task.task, task.title, met=met)
        yield Mended(gain, _with_part(scored, part), scored.failures)


def _timing(talk: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    for part in scored.parts:
        if part.name == "timing":
            gain = Gain("timing", 0, "response times", target_s=talk.target_ms / 1000)
            best = part.model_copy(update={"value": 1.0})
            yield Mended(gain, _with_part(scored, best), scored.failures)


def _failures(_: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    if scored.failures:
        gain = Gain("failures", 0, "failed requests", failures=scored.failures)
        yield Mended(gain, list(scored.parts), failures=0)


def _with_part(scored: ConversationScored, part: ScorePart) -> list[ScorePart]:
    """Return the parts of a score with one in place of that of the same name."""
    return [part if old.name == part.name else old for old in scored.parts]


def lost_points(talk: ConversationResult, gains_of_talk: Sequence[Gain]) -> tuple[Loss, ...]:
    """Return why a conversation lost its points: the reasons behind these gains, in their order."""
    losses = []
    for gain in gains_of_talk:
        message, quoted = _quotation(talk, gain)
        reason = sentence(_loss(talk, gain))
        if message is None or not quoted:
            losses.append(Loss(reason))
        else:
            losses.append(Loss(reason, message.turn, quoted, message.message))
    return tuple(losses)


def _loss(talk: ConversationResult, gain: Gain) -> Finding:
    match gain.kind:
        case "task":
            task = _judged(talk, gain)
            return TaskFellShort(gain.title, reason_of(task), task.words)
        case "assertion":
            checks = talk.timelines.get(gain.index, [])
            last = talk.final_checks.get(gain.index) or checks[-1]
            # One that never passed has no turn of its own.
            return AssertionFails(gain.title, rows.decided_in(checks), last.reason)
        case "timing":
            slowest = talk.slowest_answer
            if slowest:
                return SlowAnswers(slowest.turn, slowest.latency_ms)
            return SlowAnswers(None, None)
        case "failures":
            failed = next((failure for failure in talk.request_failures if failure.counted), None)
            return RequestsFailed(talk.failures, failed.error if failed else "")


def _quotation(talk: ConversationResult, gain: Gain) -> tuple[MessageState | None, str]:
    """Return the message and its words that the judge quotes about a task; empty without any."""
    evidence = rows.task_evidence(_judged(talk, gain)) if gain.kind == "task" else None
    message = talk.message(evidence[0]) if evidence is not None else None
    if evidence is None or message is None:
        return None, ""
    return message, shorten(clean_line(evidence[1]), LONGEST_LOSS)


def _judged(talk: ConversationResult, gain: Gain) -> TaskScored:
    return next(task for task in talk.tasks if task.task == gain.index)
