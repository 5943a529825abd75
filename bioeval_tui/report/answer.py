"""The answer of a result: what came out, how sure, why, and what next, found by rules, never by a
model.

A run, a trial, a batch, a comparison and a graded submission each have one. Screens, reports,
headless output and failed tests begin with its lines, and say nothing of it again. What could not
be measured comes before any score; the effect of the facts is stated only if both conditions
started from the same state.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, Self

from bioeval_tui.base.text import clean_line, quotation, shorten
from bioeval_tui.base.units import NO_REASON
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.submissions import UNKNOWN_AGENT
from bioeval_tui.grade.tally import Tally
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.uncertainty import NOT_ASKED
from bioeval_tui.record import score as composite
from bioeval_tui.record.cases import job_part
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.effect import NO_FACTS, NOT_RECORDED
from bioeval_tui.record.events import EndReason
from bioeval_tui.record.run_options import flags_to_repeat, sample_of, tupled
from bioeval_tui.report import findings as of, rows, sentences
from bioeval_tui.report.agents import entries_of, first_agents, means_on_shared_tasks, ranks_basis
from bioeval_tui.report.answer_labels import LABELS, NEXT
from bioeval_tui.report.arranged import facts_kept_by, tools_made_fail
from bioeval_tui.report.findings import ConclusionFinding, Finding, Outcome
from bioeval_tui.report.run import ConversationResult, RecordedRun, lost_points
from bioeval_tui.report.sentences import NextStep
from bioeval_tui.report.summary import (
    ConditionSummary,
    Summary,
    count_planned,
    scored_conditions,
    summarise_runs,
    why_unmeasured,
)
from bioeval_tui.report.users import user_spreads
from bioeval_tui.report.words import sure_words
from bioeval_tui.statistics.estimates import Counted, Sample
from bioeval_tui.statistics.intervals import FEWEST, FEWEST_UNITS
from bioeval_tui.statistics.means import exact_mean
from bioeval_tui.statistics.paired_differences import Difference, difference, differences

AnswerTone = Literal["good", "bad", "unsure", "plain"]
MOST_STEPS = 3
LONGEST_NAME = 40
LONGEST_QUOTED = 84
"""The most characters of an agent's name, and of what somebody said, in the line that says why."""

_TONES: dict[Outcome, AnswerTone] = {
    **dict.fromkeys(("facts_help", "perfect", "medal", "winner"), "good"),
    **dict.fromkeys(("agent_unreached", "agent_failed", "timed_out", "facts_hurt", "invalid"),
        "bad"),
    "longer_talk": "plain",
    **dict.fromkeys(
        ("not_run", "evaluator_failed", "judge_failed", "not_measured", "not_clean",
            "clean_unknown", "facts_unread",
         "too_few", "cancelled", "not_graded"),
        "unsure",
    ),
}  # fmt: skip


class Passage(NamedTuple):
    """A message of a run."""

    condition: Condition
    trial: int
    message: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out, how sure, why and what next, each in one line, with a stable code for its
    kind.
    """

    finding: ConclusionFinding
    what: str
    sure: str
    why: str = ""
    """The turn or row that decided, quoted, and who says so; empty where nothing was lost."""
    steps: tuple[of.Step, ...] = ()
    """What can be done about it: at most three."""
    decided: of.Gain | None = None
    """The task or assertion of which `why` speaks; None if it speaks of neither."""
    passage: Passage | None = None
    """The message that `why` quotes; None if it quotes none."""
    control: str = ""
    """What of the difference is the facts', and what the longer talk's that they bring; empty of a
    run without a placebo.
    """
    by_user: tuple[of.UserSpread, ...] = ()
    """The results with each of several users, and with each of several personas."""
    facts_kept: tuple[of.FactsKeptBy, ...] = ()
    """What personas did to the facts, over several trials."""
    tools_failed: of.ToolsMadeFail | None = None
    """The tools that the job made fail; None if it made none."""

    @classmethod
    def from_finding(
        cls, finding: ConclusionFinding, why: str = "", steps: tuple[of.Step, ...] = ()
    ) -> Self:
        """Return the answer of which the finding itself says what came out and how sure it is."""
        return cls(finding, sentences.sentence(finding), sentences.sure(finding), why, steps)

    @property
    def outcome(self) -> Outcome:
        """The kind of answer."""
        return self.finding.outcome

    @property
    def attributed(self) -> float | None:
        """The difference that it attributes to the facts; None if it attributes none."""
        return self.finding.attributed

    @property
    def tone(self) -> AnswerTone:
        """Whether it is good, bad or uncertain: what is not sure is not good, however high."""
        tone = _TONES.get(self.outcome, "plain")
        if tone == "good" and self.sure.startswith("no"):
            return "unsure"
        return tone

    @property
    def brief(self) -> str:
        """A run's answer in a few words, for a list: `too few to tell`."""
        return sentences.BRIEFS.get(self.outcome, "")

    @property
    def next(self) -> list[NextStep]:
        """What can be done about it, in words and as commands."""
        return list(map(sentences.step, self.steps))

    @property
    def what_and_why(self) -> str:
        """What came out and why, in one text."""
        return " ".join(filter(None, (self.what, self.why)))

    def step(self, action: of.StepAction) -> of.Step | None:
        """Return the step with this action; None if it is none of what to do next."""
        return next((step for step in self.steps if step.action == action), None)

    def other_ways(self, ways: Iterable[str]) -> list[str]:
        """Return each of these ways out that no next step already names, once and in order."""
        named = [step.words for step in self.next]
        return [way for way in dict.fromkeys(ways) if not any(way in words for words in named)]

    @property
    def users(self) -> str:
        """What comes out with each of several users, and what personas did to the facts, in words;
        empty with one that did nothing.
        """
        spreads = ". ".join(map(sentences.sentence, self.by_user))
        return "; ".join(filter(None, (spreads, *map(sentences.sentence, self.facts_kept))))

    @property
    def tools(self) -> str:
        """Which tools the job made fail, in words; empty if none."""
        if self.tools_failed is None:
            return ""
        return sentences.sentence(self.tools_failed)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Its lines as text, each with its label: `WHAT`, `SURE`, `FACTS` of a run with a placebo,
        `USERS` with several or one that changes facts, `TOOLS` that the job made fail, `WHY` and,
        with commands for a shell, `NEXT`.
        """
        parts = [(label, getattr(self, name)) for label, name in LABELS.items()]
        every = [*parts, (NEXT, sentences.steps_words(self.next))]
        return [(label, text) for label, text in every if text]


NEVER_STARTED = Answer.from_finding(of.NeverStarted())


def how_sure(
    runs: Sequence[RecordedRun],
    finding: of.ConclusionFinding,
    *,
    rehearsal: bool = False,
    by_rules: bool = True,
) -> str:
    """Return how sure an answer is; how many trials were added after the run had its results, since
    whoever adds trials where some went badly chooses; and whose answers may have taken longer than
    their response times say.
    """
    notes: list[Finding] = []
    if added := sum(run.added_trials for run in runs):
        notes.append(of.TrialsAdded(added))
    talks = chain.from_iterable(run.conversations for run in runs)
    if lower := sum(talk.sample.least is not None for talk in talks):
        notes.append(of.SentAgain(lower))
    return sentences.sure(finding, rehearsal=rehearsal, judged_by_rules=by_rules, notes=notes)


def answer_run(run: RecordedRun, summary: Summary) -> Answer:
    """Return a run's answer."""
    counted = count_planned([run])
    finding = (
        _no_result(run)
        or _missing_score(run)
        or _scores_lost(run, counted)
        or _broken_by_agent(run)
        or _facts_finding(run, summary)
    )
    has_scores = isinstance(finding, of.ScoredFinding)
    what = _run_scores(run, summary, counted) if has_scores else finding
    failed = sentences.cause(finding)
    why, decided, passage = failed, None, None
    if not failed:
        decided = _deciding(run.lowest, what)
        why, passage = _why(run, run.lowest, decided)
    is_rehearsal = run.started.rehearsal and run.ended is not None
    return Answer(
        finding,
        sentences.sentence(what),
        how_sure([run], finding, rehearsal=is_rehearsal, by_rules=run.brief.judged_by_rules),
        why,
        _steps(run, finding, bool(why) and not failed),
        decided,
        passage,
        _control(finding, summary),
        by_user=user_spreads(run) if has_scores else (),
        facts_kept=facts_kept_by([run]),
        tools_failed=tools_made_fail([run]),
    )


def answer_trial(run: RecordedRun, trial: int) -> Answer:
    """Return the answer of one of several trials, which cannot say how sure it is."""
    talks = [talk for talk in run.conversations if talk.trial == trial]
    scores = tuple(of.SideScore(_side(run, talk.condition), talk.score) for talk in talks)
    what = of.RunScores(scores, None, (), _fail_everywhere(talks), None, (), 1)
    lowest = min((talk for talk in talks if talk.score is not None), key=_score, default=None)
    finding = of.OneOfTrials(trial, run.started.trials)
    decided = _deciding(lowest, what)
    why, passage = _why(run, lowest, decided)
    steps = (of.Step("passage", (run.run_id,)),) if why else ()
    words, sure = sentences.sentence(what), sentences.sure(finding)
    return Answer(finding, words, sure, why, steps, decided, passage)


def answer_batch(runs: Sequence[RecordedRun]) -> Answer:
    """Return which model of several did best on the same jobs, or that none is distinguishable; of
    one run its own answer.
    """
    if len(runs) == 1:
        return answer_run(runs[0], summarise_runs(runs)[0])
    finding, models = _compare_models(runs)
    what = of.ModelScores(models) if models else finding
    lowest = min(
        (run for run in runs if run.lowest), key=lambda run: _score(run.lowest), default=None
    )
    if lowest is None:
        first = answer_run(runs[0], summarise_runs(runs[:1])[0])
        return Answer(
            finding,
            sentences.sentence(what),
            how_sure(runs, finding),
            first.what,
            first.steps,
            control=_controls(runs),
        )
    name = clean_line(lowest.started.model or lowest.brief.agent_words, LONGEST_NAME)
    why, _ = _why(lowest, lowest.lowest, _deciding(lowest.lowest), name)
    rehearsal = all(run.started.rehearsal for run in runs)
    by_rules = all(run.brief.judged_by_rules for run in runs)
    steps: list[of.Step] = []
    if why:
        steps.append(of.Step("passage", (lowest.run_id,)))
    if len(runs) == 2:
        steps.append(of.Step("compare", tuple(run.run_id for run in runs)))
    if isinstance(finding, of.TooFewForBest) and finding.few.unit == "trial" and not rehearsal:
        more = finding.needed - finding.few.count
        steps.append(of.Step("trials", trials=more, total=finding.needed, each=True))
    return Answer(
        finding,
        sentences.sentence(what),
        how_sure(runs, finding, rehearsal=rehearsal, by_rules=by_rules),
        why,
        tuple(steps),
        control=_controls(runs),
        facts_kept=facts_kept_by(runs),
        tools_failed=tools_made_fail(runs),
    )


def answer_grading(
    report: TaskReport, options: Sequence[str] = (), options_of_validate: Sequence[str] = ()
) -> Answer:
    """Return the answer of one graded submission.

    Args:
        report: its report.
        options: the options that it was graded with; without them it might get another medal.
        options_of_validate: those of them that `validate` has.
    """
    board = of.Step("board")
    named = _submission_named(report)
    again = of.Step("grade", submission=named, options=tuple(options))
    if not report.submission_exists:
        why = shorten(clean_line(report.why_invalid), sentences.LONGEST_LOSS) if named else ""
        put = replace(again, way=sentences.PUT_FILE)
        return Answer.from_finding(
            of.NothingSubmitted(report.task_id), why, (put,) if named else ()
        )
    mend = (of.Step("edit_file"), again)
    if not report.valid_submission or report.score is None:
        why = shorten(clean_line(report.why_invalid), sentences.LONGEST_LOSS)
        findings = of.Step("findings", submission=named, options=tuple(options_of_validate))
        return Answer.from_finding(of.InvalidSubmission(report.task_id), why, (findings, *mend))
    graded = of.GradedSubmission(
        report.task_id,
        report.medal or "",
        report.score_words,
        report.place_words,
        report.away_words,
        bool(report.above_median),
        report.rows_note,
        report.doubt_words,
    )
    limits = of.MedalLimits(
        **report.medal_scores,
        median=report.median_threshold,
        entries=report.leaderboard_size,
    )
    if report.uncertainty is not None and report.uncertainty.why_not == NOT_ASKED:
        mend = (of.Step("edit_file"), replace(again, options=_with_all_intervals(options)))
    answer = Answer.from_finding(graded, sentences.sentence(limits), (board, *mend))
    if not graded.doubts and (sure := sure_words(report)):
        return replace(answer, sure=sure)
    return answer


def _with_all_intervals(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options with `--intervals all` in place of another choice."""
    kept = list(options)
    if "--intervals" in kept:
        at = kept.index("--intervals")
        del kept[at : at + 2]
    return (*kept, "--intervals", "all")


def _submission_named(report: TaskReport | NotGraded) -> tuple[str, ...]:
    """Return a submission's file and task as `grade-sample` takes them; empty without a file."""
    if not report.submission_path:
        return ()
    return report.submission_path, report.task_id


def answer_not_graded(task_id: str, reason: str) -> Answer:
    """Return the answer of a submission that was not graded, through no fault of its file."""
    why = shorten(clean_line(reason or NO_REASON), sentences.LONGEST_LOSS)
    return Answer.from_finding(of.NotGradedSubmission(task_id), why, (of.Step("grade"),))


def answer_medals(
    results: Sequence[TaskReport | NotGraded], options_of_validate: Sequence[str] = ()
) -> Answer:
    """Return the answer of a medal table: its medals, over how many tasks, what is first to be
    mended, and what next, with the options that `validate` needs to find the task.
    """
    reports = [one for one in results if isinstance(one, TaskReport)]
    failed = [one for one in results if isinstance(one, NotGraded)]
    tally = Tally.of(reports, len(failed))
    entries = entries_of(reports, failed)
    agents = {entry.agent for entry in entries}
    known = [one for one in failed if not one.has_unknown_task]
    finding = of.MedalCounts(
        tuple((name, number) for name, number in tally.by.items() if number),
        tally.submissions,
        tally.above_median,
        tally.beats_human,
        tally.percentile,
        tally.percentile_words if len(tally.percentiles) < tally.valid else "",
        tally.percentile_with_zeros,
        tally.others_words,
        len({*(one.task_id for one in reports), *(one.task_id for one in known)}),
        FEWEST_UNITS,
        tally.in_doubt,
        tally.partial,
        ranks_basis(entries) if len(agents) > 1 else None,
        first_agents(entries),
        means_on_shared_tasks(entries) if len(agents) > 1 else (),
    )
    mend, steps = _first_to_mend(reports, failed, tuple(options_of_validate))
    if len(agents) > 1:
        steps = [*steps, of.Step("agents")]
    steps = [*steps, of.Step("grade_list")][:MOST_STEPS]
    why = ""
    if mend is not None:
        why = sentences.sentence(mend)
    return Answer.from_finding(finding, why, tuple(steps))


def _first_invalid(reports: Sequence[TaskReport]) -> TaskReport | None:
    """Return the first invalid submission whose file is there; without one, the first whose file
    is missing, or that names none.
    """
    invalid = (one for one in reports if not one.valid_submission)
    return min(
        invalid, key=lambda one: (not one.submission_exists, not one.submission_path), default=None
    )


def _mend_step(invalid: TaskReport, options: tuple[str, ...]) -> of.Step:
    named = _submission_named(invalid)
    if not named:
        return of.Step("name_file", submission=(invalid.task_id,), options=options)
    if not invalid.submission_exists:
        return of.Step("grade", submission=named, options=options, way=sentences.PUT_FILE)
    return of.Step("findings", submission=named, options=options)


def _first_to_mend(
    reports: Sequence[TaskReport], failed: Sequence[NotGraded], options: tuple[str, ...]
) -> tuple[Finding | None, list[of.Step]]:
    """Return the first invalid file; without one, what was not graded, or is furthest from a
    medal; and what to do about it.
    """
    if invalid := _first_invalid(reports):
        reason = invalid.why_invalid
        lost = of.WithoutScore("invalid", invalid.task_id, _known(invalid.agent), reason)
        return lost, [of.Step("invalid_file"), _mend_step(invalid, options)]
    if failed:
        one = failed[0]
        lost = of.WithoutScore("not graded", one.task_id, one.known_agent or "", one.reason)
        return lost, [of.Step("grade", submission=_submission_named(one), options=options)]
    without = [
        one for one in reports if one.medal is None and one.leaderboard_percentile is not None
    ]
    if not without:
        return None, []
    last = min(without, key=lambda one: one.leaderboard_percentile or 0.0)
    furthest = of.FurthestFromMedal(
        last.task_id, _known(last.agent), last.leaderboard_percentile or 0.0, last.away_words
    )
    return furthest, [of.Step("grade", submission=_submission_named(last), options=options)]


def _known(agent: str) -> str:
    if agent == UNKNOWN_AGENT:
        return ""
    return agent


def _no_result(run: RecordedRun) -> ConclusionFinding | None:
    """Return why a run has no result as a whole; None if it was completed."""
    ended, talks = run.ended, run.conversations
    planned = len(run.started.conditions) * run.started.trials
    if ended is None:
        scored = sum(talk.is_scored for talk in talks)
        return of.StillUnfinished(scored, planned, run.is_replayed)
    if ended.status == "cancelled":
        return of.WasCancelled(ended.detail, sum(talk.score is not None for talk in talks), planned)
    if ended.status == "failed":
        return of.CouldNotStart(ended.detail)
    return None


def _missing_score(run: RecordedRun) -> ConclusionFinding | None:
    """Return why a condition has no score at all; None if each has at least one."""
    talks = _scored_talks(run)
    unscored = [talk for talk in talks if talk.score is None]
    scored = {talk.condition for talk in talks if talk.score is not None}
    first = next((talk for talk in unscored if talk.condition not in scored), None)
    if first is None:
        return None
    if first.ended is None or not first.is_scored:
        return of.NothingScored(_place(run, first))
    if first.ended.reason == "agent_failed" and not first.answered:
        # The agent answered in the other condition: that nothing was measured would be wrong.
        return _no_score_there(run, first) if scored else _absent_agent(first)
    if first.ended.reason == "evaluator_failed":
        failed = _ended(unscored, "evaluator_failed")
        # The user's message was void twice; a mark ends no conversation.
        void = [
            talk for talk in failed if any(slip.outcome == "not sent" for slip in talk.violations)
        ]
        others = [talk for talk in failed if talk not in void]
        return of.EvaluatorFailures(
            _breakdown(run, void, first.reason), _breakdown(run, others, first.reason)
        )
    if first.judge_error:
        failed = [talk for talk in unscored if talk.judge_error]
        return of.JudgeFailures(of.Breakdown(_places(run, failed), first.judge_error))
    reasons = {talk.reason for talk in unscored if talk.is_scored}
    if not scored and len(reasons) == 1 and len(talks) > 1:
        return of.NoScoreAnywhere(_why_unscored(first))
    return _no_score_there(run, first)


def _scores_lost(run: RecordedRun, counted: Counted) -> of.ScoresLost | None:
    """Return that so many conversations have no score, or such, that no gate would pass over it;
    None if a gate might. Who imports the scores of others has those that there are.
    """
    if run.started.source is not None:
        return None
    lost = [talk for talk in _scored_talks(run) if talk.score is None]
    for why in reversed(why_unmeasured(counted, gated=False)):
        if lost and isinstance(why, of.ManyExcluded | of.NotExcused):
            return of.ScoresLost(why, _places(run, lost), _why_unscored(lost[0]))
    return None


def _scored_talks(run: RecordedRun) -> list[ConversationResult]:
    """Return the conversations of which the answer is: all but the placebo's."""
    return [talk for talk in run.conversations if talk.condition in run.scored_conditions]


def _no_score_there(run: RecordedRun, first: ConversationResult) -> of.NoScoreThere:
    scored = {talk.condition for talk in _scored_talks(run) if talk.score is not None}
    talks = [talk for talk in _scored_talks(run) if talk.condition not in scored]
    return of.NoScoreThere(_places(run, talks), _why_unscored(first))


def _absent_agent(talk: ConversationResult) -> ConclusionFinding:
    """Return whether an agent that never answered was reached, or was there before."""
    if talk.sample.again:
        return of.AgentGone(_why_unscored(talk))
    tried = [failure for failure in talk.request_failures if failure.peer == "agent"]
    if tried and all(failure.unreachable for failure in tried):
        return of.AgentUnreached(_why_unscored(talk))
    return of.NoConversation(_why_unscored(talk))


def _why_unscored(talk: ConversationResult) -> str:
    """Return why a conversation has no score.

    What ended it is no reason unless the score says so.
    """
    detail = _ending_detail(talk)
    if detail and detail in talk.reason:
        return detail
    return talk.reason


def _ending_detail(talk: ConversationResult) -> str:
    if talk.ended is None:
        return ""
    return talk.ended.detail


def _broken_by_agent(run: RecordedRun) -> of.AgentBroke | None:
    """Return how the agent ended a conversation early, which explains its score better than any
    assertion.
    """
    failed = _breakdown(run, _ended(run.conversations, "agent_failed"))
    late = _breakdown(run, _ended(run.conversations, "timed_out"))
    if failed is None and late is None:
        return None
    taken: list[of.SideScore] = []
    if run.started.trials == 1:
        lost = (
            (talk, -composite.contributions(talk.parts, talk.penalty)["penalty"])
            for talk in run.conversations
            if talk.is_scored
        )
        taken = [
            of.SideScore(_side(run, talk.condition), points) for talk, points in lost if points
        ]
    return of.AgentBroke(failed, late, tuple(taken))


# What the facts do


def _facts_finding(run: RecordedRun, summary: Summary) -> ConclusionFinding:
    uplift = summary.uplift
    if run.only_condition:
        return _one_condition(run, summary, run.only_condition)
    if not run.clean:
        state = run.state
        return of.UncleanStart(state.why_not_clean, state.clean_unknown, state.nothing_observed)
    if summary.shared is not None and summary.shared.is_nothing:
        return of.NoSharedCriteria(all(score == 1 for score in _means(summary).values()))
    if uplift is None or uplift.mean is None:
        is_lost = uplift is not None and NOT_RECORDED in dict(uplift.estimate.counted.reasons)
        if is_lost:
            return of.SharedNotRecorded()
        missing = tuple(name for name in run.contrast or () if name not in run.conditions)
        if missing:
            return of.ContrastNotRun(missing)
        return of.NoPairOfScores()
    if run.started.source is not None:
        # an import says in which condition the facts were known, not which they are
        return _effect(run, summary, uplift)
    if not run.state.job.get("facts"):
        return of.NoFactsInJob()
    given = any(talk.facts for talk in run.conversations_with_facts)
    if not given and (why := run.facts_unread):
        return of.FactsUnread(why)
    if given:
        return _effect(run, summary, uplift)
    return of.NoFactGiven()


def _one_condition(run: RecordedRun, summary: Summary, only: Condition) -> of.OneCondition:
    score = next(
        summarised for summarised in summary.conditions if summarised.condition == only
    ).score
    trials = of.Trials(len(score.points), run.started.trials, score.cases)
    return of.OneCondition(trials, score.all_equal, score.interval)


def _effect(run: RecordedRun, summary: Summary, uplift: Difference) -> ConclusionFinding:
    """Return what knowing the facts changes, as far as the trials with both scores can show it."""
    assert uplift.mean is not None
    trials = of.Trials(len(uplift.estimate.points), run.started.trials, uplift.estimate.cases)
    equal, interval = uplift.estimate.all_equal, uplift.estimate.interval
    pairs = [pair for pair in run.scored_pairs if run.why_not_compared(pair[0].trial) != NO_FACTS]
    control = _facts_or_talk(summary)
    if control is not None and control.verdict == "talk" and uplift.is_beyond_chance:
        return of.EffectOfTalk(trials, uplift.mean, interval)
    if all(one.score == two.score == 1 for one, two in pairs):
        return of.NothingToGain(trials, uplift.direction != "too few")
    match uplift.direction:
        case "too few" if uplift.of_trials:
            return of.TooFewForEffect(trials, None, FEWEST)
        case "too few":
            return of.TooFewForEffect(trials, uplift.units, uplift.needed)
        case "same":
            return of.NoEffectOfFacts(trials)
        case "not distinguishable":
            return of.EffectWithinChance(trials, uplift.mean, interval)
    with_talk = summary.control is not None and (control is None or control.verdict != "facts")
    return of.EffectOfFacts(trials, uplift.mean, equal, interval, with_talk)


def _facts_or_talk(summary: Summary) -> of.FactsOrTalk | None:
    """Return what of the difference is the facts'; None without a placebo, or if it cannot be
    told.
    """
    if summary.control is None or not isinstance(summary.control.finding, of.FactsOrTalk):
        return None
    return summary.control.finding


def _control(finding: ConclusionFinding, summary: Summary) -> str:
    """Return what a placebo tells of the difference, if there is one to speak of."""
    if summary.control is None or not isinstance(finding, of.EffectFinding):
        return ""
    return sentences.sentence(summary.control.finding)


def _controls(runs: Sequence[RecordedRun]) -> str:
    """Return what a placebo tells of each model of a batch; empty if none was run with one."""
    summaries = summarise_runs(runs)
    names = _distinguished([each.label for each in summaries])
    found = [
        (names[each.label], each.control.finding) for each in summaries if each.control is not None
    ]
    if not found:
        return ""
    return sentences.sentence(of.ControlsOf(tuple(found)))


# What came out


def _run_scores(run: RecordedRun, summary: Summary, counted: Counted) -> of.RunScores:
    """Return the scores of a run, what both conditions share of them, and what fails in every
    trial.
    """
    means = _means(summary)
    scores = tuple(of.SideScore(_side(run, name), means.get(name)) for name in run.conditions)
    scored = [talk for talk in _scored_talks(run) if talk.score is not None]
    broken = len(_ended(run.conversations, "agent_failed"))
    everywhere: tuple[of.Fails, ...] = ()
    lower, there = _fail_in_lower(run)
    if broken:
        there = ()  # what was not reached any more is no finding of its own
    elif not run.has_cases:
        everywhere = _fail_everywhere(
            scored, [each for each in summary.conditions if not each.is_placebo]
        )
    times = max((len(run.conversations_in(name)) for name in run.conditions), default=0)
    on_shared: tuple[float, ...] = ()
    if summary.shared is not None:
        on_shared = tuple(run.shared_means.values())
    held = len(run.conversations)
    full = None
    if len(scores) == 1 and held > 1:
        full = sum(talk.score == 1 for talk in scored)
    return of.RunScores(
        scores, summary.shared, on_shared, everywhere, lower, there, times, broken, held, full,
        counted.excluded, counted.held,
    )  # fmt: skip


def _means(summary: Summary) -> dict[Condition, float | None]:
    return {condition.condition: condition.score.mean for condition in summary.conditions}


def _fail_everywhere(
    talks: Sequence[ConversationResult],
    conditions: Sequence[ConditionSummary] = (),
) -> tuple[of.Fails, ...]:
    """Return the tasks, then the assertions, that fail in each of these conversations, with the
    tasks' scores.
    """
    if not talks:
        return ()
    failed = set.intersection(*map(_failed_checks, talks))
    return _named(talks[0], failed, _task_scores(talks, conditions))


def _fail_in_lower(run: RecordedRun) -> tuple[of.Side | None, tuple[of.Fails, ...]]:
    """Return what fails in every trial of the condition with the lower score, and never in the
    other, and that condition.
    """
    pairs = run.scored_pairs
    if run.has_cases or not pairs:
        return None, ()  # what fails in one case does not explain the others
    without, with_facts = zip(*pairs, strict=True)
    low, high = sorted(
        (without, with_facts), key=lambda talks: exact_mean([_score(talk) for talk in talks])
    )
    if [_score(talk) for talk in low] == [_score(talk) for talk in high]:
        return None, ()
    failed = set.intersection(*map(_failed_checks, low))
    for talk in high:
        failed -= _failed_checks(talk)
    return _side(run, low[0].condition), _named(low[0], failed, {})


def _named(
    talk: ConversationResult,
    among: Collection[tuple[str, int]],
    scores: dict[int, tuple[float, ...]],
) -> tuple[of.Fails, ...]:
    tasks = [
        of.Fails("task", task.task, task.title, scores.get(task.task, ()))
        for task in talk.tasks
        if ("task", task.task) in among
    ]
    assertions = [
        of.Fails("assertion", index, check.title, ())
        for index, check in sorted(talk.final_checks.items(), key=lambda item: -item[1].weight)
        if ("assertion", index) in among
    ]
    return (*tasks, *assertions)


def _task_scores(
    talks: Sequence[ConversationResult], conditions: Sequence[ConditionSummary]
) -> dict[int, tuple[float, ...]]:
    """Return each task's score in each condition: the mean of a run, or that of the only
    conversation.
    """
    scores: dict[int, list[float]] = {}
    if conditions:
        for condition in conditions:
            for task in condition.tasks:
                if task.score.mean is not None:
                    scores.setdefault(task.number, []).append(task.score.mean)
    else:
        for talk in talks:
            for scored in talk.tasks:
                scores.setdefault(scored.task, []).append(scored.score)
    return {number: tuple(values) for number, values in scores.items()}


def _failed_checks(talk: ConversationResult) -> set[tuple[str, int]]:
    """Return the assertions and tasks that failed, as `Gain` numbers them."""
    assertions = {
        ("assertion", index)
        for index, check in talk.final_checks.items()
        if check.status == "failed"
    }
    return assertions | {("task", task.task) for task in talk.tasks if task.outcome == "failed"}


def _score(talk: ConversationResult | None) -> float:
    if talk is not None and talk.score is not None:
        return talk.score
    return 0.0


# Why


def _deciding(talk: ConversationResult | None, what: Finding | None = None) -> of.Gain | None:
    """Return what cost a conversation most, of what the answer names if it names any; None if it
    lost nothing.

    Of an assertion that was never met, nothing tells where: a failed task that quotes what the
    agent said says more.
    """
    if talk is None or not talk.gains:
        return None
    named: set[tuple[str, int]] = set()
    if isinstance(what, of.RunScores):
        named = {(fail.kind, fail.number) for fail in (*what.everywhere, *what.there)}
    most = next((gain for gain in talk.gains if (gain.kind, gain.index) in named), talk.gains[0])
    if most.kind != "assertion" or _problem(talk, most) or _answer_that_decided(talk, most):
        return most
    tasks = (gain for gain in talk.gains if gain.kind == "task")
    return next((gain for gain in tasks if _shows_why(talk, gain)), most)


def _problem(talk: ConversationResult, gain: of.Gain) -> str:
    """Return what kept anyone from looking at what an assertion asks for; empty if nothing did."""
    check = talk.final_checks.get(gain.index)
    if check is None:
        return ""
    return check.error or ""


def _shows_why(talk: ConversationResult, gain: of.Gain) -> bool:
    """Return whether a task that was not met at all quotes the agent; of one that was met in part,
    the quotation may be what is right.
    """
    task = talk.task(gain.index)
    message = talk.message(lost_points(talk, [gain])[0].message or 0)
    not_met = task is not None and task.score == 0
    return not_met and message is not None and message.role == "assistant"


def _answer_that_decided(talk: ConversationResult, gain: of.Gain) -> int | None:
    """Return the number of the agent's message after which an assertion fails; None if it was never
    met, where no message says why.
    """
    if _problem(talk, gain):
        return None
    return talk.answer_in(rows.decided_in(talk.timelines.get(gain.index, [])))


def _why(
    run: RecordedRun, talk: ConversationResult | None, gain: of.Gain | None, agent: str = ""
) -> tuple[str, Passage | None]:
    """Return what cost a conversation most, with what was said in the turn that decided, and where
    that was said; empty if it lost nothing.
    """
    if talk is None or gain is None:
        return "", None
    loss = lost_points(talk, [gain])[0]
    number, quoted, says, by = loss.message, loss.quoted, loss.reason, _BY[gain.kind]
    reviewed: float | None = None
    if gain.kind == "task":
        reviewed = run.people_score(talk.condition, talk.trial, gain.index)
        if run.kind_of("scorer") == "rules":
            by = "rules"
    elif gain.kind == "assertion":
        says = sentences.sentence(of.Failing(gain.title, _problem(talk, gain)))
        number = _answer_that_decided(talk, gain)
    message, turn, passage = talk.message(number or 0), loss.turn, None
    if message is not None:
        turn = message.turn
        passage = Passage(talk.condition, talk.trial, message.message)
        if gain.kind == "assertion":
            quoted = message.text
    place = of.TalkPlace(_side(run, talk.condition), _trial_words(run, talk), turn)
    alike = run.conversations_in(talk.condition)
    lost = sum(one.score is not None and one.score < 1 for one in alike)
    quoted = quotation(quoted, LONGEST_QUOTED)
    decided = of.Decided(place, quoted, by, says, agent, lost, reviewed)
    return sentences.sentence(decided), passage


_BY: dict[str, of.SaidBy] = {
    "task": "judge", "assertion": "assertion", "timing": "clock", "failures": "failures",
}  # fmt: skip


# What next


def _steps(run: RecordedRun, finding: ConclusionFinding, has_passage: bool) -> tuple[of.Step, ...]:
    """Return what can be done about a run's answer, the most useful first."""
    this = (run.run_id,)
    has_scores = isinstance(finding, of.ScoredFinding)
    steps: list[of.Step] = []
    if isinstance(finding, of.WasCancelled | of.StillUnfinished):
        steps.append(of.Step("resume", this))
    if isinstance(finding, of.JudgeFailures):
        steps.append(of.Step("judge", this))
    if has_passage:
        steps.append(of.Step("passage", this))
    needed = 0 if run.has_cases else sentences.trials_needed(finding)
    imported = run.started.source is not None
    if run.started.rehearsal and sentences.takes_models(finding):
        # Another trial of a rehearsal says the same again.
        if run.started.job_path:
            enough = {"trials": needed} if needed > run.planned_trials else {}
            again = _job_again(run, mode="job", **enough)
            steps.append(of.Step("again", job=again, way=sentences.LET_MODELS_PLAY))
    elif isinstance(finding, _MAY_TAKE_TRIALS) and needed and not imported:
        more = needed - finding.trials.used
        again = _job_again(run, trials=None)
        steps.append(of.Step("trials", job=again, trials=more, total=needed))
    elif imported and not has_scores:
        steps.append(of.Step("judge", this))  # nobody can hold these conversations again
    elif isinstance(finding, of.AgentBroke | of.ScoresLost) or not has_scores:
        ways = chain.from_iterable(talk.ways for talk in run.conversations)
        steps.append(of.Step("again", job=_job_again(run), way=next(ways, "")))
    elif isinstance(finding, of.UncleanStart) and finding.no_state:
        way = sentences.SAY_WHAT_IS_KEPT
        steps.append(of.Step("again", job=_job_again(run), way=way))
    if run.started.job_path:
        steps.append(of.Step("edit"))
    return tuple(steps[:MOST_STEPS])


_MAY_TAKE_TRIALS = (of.TooFewForEffect, of.NothingToGain, of.OneCondition)


def _job_again(run: RecordedRun, **other: Any) -> str:
    """Return the job's file and the options with which `run` does the same again, but for `other`
    options; one that is None is left out. Empty if only what held it can start the agent.
    """
    started = run.started
    own_agent = started.options.get("agent_function") or started.options.get("local_model")
    if own_agent or started.had_sample_agent:
        return ""
    asked = _asked_again(run) | other
    words = [started.job_path or started.job_name]
    # What the job says itself is left out: an option would hide what it says later.
    if started.asked_model and started.asked_model != _said(run, "target", "model"):
        words += ["--model", started.asked_model]
    words += flags_to_repeat(asked)
    if _said(run, "target", "function"):
        words += ["--code", "DIR"]  # the folder is not recorded: whoever runs code names it himself
    return " ".join(shlex.quote(clean_line(word, 4096)) for word in words)


def _asked_again(run: RecordedRun) -> dict[str, Any]:
    """Return the run's options by name, without those that its job says itself."""
    started = run.started
    asked = dict(started.options)
    if _said(run, "target", "function") or asked.get("agent_url") == _said(run, "target", "url"):
        asked["agent_url"] = None
    for name, part in (("evaluator_model", "evaluator"), ("judge_model", "scorer")):
        said = _said(run, part, "model")
        if said and tupled(asked.get(name) or ()) == tupled(said):
            asked[name] = None
    # A trial of a job with cases is one of a case: the option says how often each is held.
    planned = run.planned_trials - run.added_trials
    asked["trials"] = max(1, planned // max(1, len(started.cases)))
    if set(started.conditions) < set(run.state.all_conditions):
        asked["conditions"] = list(started.conditions)
    rows = (asked.get("cases"), asked.get("sample") and sample_of(asked["sample"]))
    asked["cases"] = ",".join(filter(None, rows))
    return asked


def _said(run: RecordedRun, part: str, key: str) -> Any:
    """Return what a part of the recorded job says, such as its agent's address; None if nothing."""
    return job_part(run.started.job, part).get(key)


# Which model is best


def _compare_models(
    runs: Sequence[RecordedRun],
) -> tuple[ConclusionFinding, tuple[of.ModelScore, ...]]:
    """Return what can be said of the models of a batch, and their mean scores, the best first."""
    summaries = summarise_runs(runs)
    means = {each.label: mean for each in summaries if (mean := _overall(each)) is not None}
    names = _distinguished([each.label for each in summaries])
    ranked = sorted(
        (each for each in summaries if each.label in means), key=lambda each: -means[each.label]
    )
    models = tuple(
        of.ModelScore(names[each.label], means[each.label], _scores_by_condition(each))
        for each in ranked
    )
    if not models:
        return of.NoRunMeasured(), ()
    if len(summaries) == 1:
        return of.OneModelOnly(len(runs)), models
    if len(models) == 1:
        return of.OneModelMeasured(models[0].name), models
    return _best_finding(models, [_apart(other, ranked[0]) for other in ranked[1:]]), models


def _best_finding(
    models: Sequence[of.ModelScore], apart: Sequence[Difference]
) -> ConclusionFinding:
    """Return what the differences of the first model from the others can show; one for each of the
    others.
    """
    if any(difference.mean is None for difference in apart):
        return of.ModelsUnpaired()
    close = [
        (other, difference)
        for other, difference in zip(models[1:], apart, strict=True)
        if difference.direction != "better"
    ]
    best = models[0].name
    if not close:
        margin = min(difference.mean or 0.0 for difference in apart)
        only_other = models[1].name if len(models) == 2 else ""
        return of.BestModel(best, only_other, margin)
    if all(_is_level(difference) for _, difference in close):
        fewest = _fewest(difference for _, difference in close)
        few = of.Units(fewest.units, fewest.unit) if fewest.units < FEWEST else None
        return of.ModelsTied((best, *(other.name for other, _ in close)), few)
    uncertain = [difference for difference in apart if difference.direction == "too few"]
    if uncertain:
        least = _fewest(uncertain)
        return of.TooFewForBest(of.Units(least.units, least.unit), least.needed)
    return of.ModelsWithinChance()


def _is_level(difference: Difference) -> bool:
    """Return whether no pair differs in the decimals that are shown."""
    return not any(round(point, 2) for point in difference.estimate.points)


def _fewest(differences: Iterable[Difference]) -> Difference:
    return min(differences, key=lambda one: one.units)


def _distinguished(labels: Sequence[str]) -> dict[str, str]:
    """Return labels without the beginning that all share: `small` and `large` of one agent."""
    parts = [label.split(" · ") for label in labels]
    while len({own[0] for own in parts}) == 1 and all(len(own) > 1 for own in parts):
        parts = [own[1:] for own in parts]
    return {
        label: " · ".join(own).removeprefix("asked for ")
        for label, own in zip(labels, parts, strict=True)
    }


def _apart(other: Summary, best: Summary) -> Difference:
    """Return best − other, paired by what they were about and trial; the conditions of a trial are
    averaged, since they are one test of the agent.
    """
    before, after = _trial_samples(other), _trial_samples(best)
    keys = sorted(before.keys() | after.keys())
    return difference(differences([(before.get(key), after.get(key)) for key in keys]))


def _trial_samples(summary: Summary) -> dict[tuple[str, int, int], Sample | None]:
    """Return the mean score of each trial, by what it was about, its number, and how many times
    the summary had it before: a job may be run twice, and have another name for another agent.
    """
    samples: dict[tuple[str, int, int], Sample | None] = {}
    seen = Counter[tuple[str, int]]()
    for run in summary.runs:
        for trial in run.trials:
            talks = [run.conversation(name, trial) for name in run.scored_conditions]
            about = " ".join(talk.common_content for talk in talks if talk is not None)
            samples[about, trial, seen[about, trial]] = _mean_sample(talks)
            seen[about, trial] += 1
    return samples


def _mean_sample(talks: Sequence[ConversationResult | None]) -> Sample | None:
    """Return the mean score of a trial's conditions; without a value if one of them has none."""
    known = [talk.sample for talk in talks if talk is not None]
    missing = next((sample for sample in known if sample.value is None), None)
    if missing is not None or len(known) < len(talks) or not known:
        return missing
    values = [sample.value for sample in known if sample.value is not None]
    return replace(known[0], value=exact_mean(values))


def _scores_by_condition(summary: Summary) -> tuple[of.SideScore, ...]:
    return tuple(
        of.SideScore(of.Side(each.condition, each.title), each.score.mean)
        for each in summary.conditions
    )


def _overall(summary: Summary) -> float | None:
    counting = scored_conditions(summary.runs)
    return composite.mean_of(
        each.score.mean for each in summary.conditions if each.condition in counting
    )


# Parts of findings


def _ended(talks: Iterable[ConversationResult], reason: EndReason) -> list[ConversationResult]:
    return [talk for talk in talks if talk.ended and talk.ended.reason == reason]


def _side(run: RecordedRun, condition: Condition) -> of.Side:
    """Return a condition, without a title where it is the only one and no user knows any fact: it
    would name facts that there are not.
    """
    if len(run.conditions) == 1 and not run.brief.has_facts:
        return of.Side(condition, "")
    return of.Side(condition, run.condition_title(condition))


def _place(run: RecordedRun, talk: ConversationResult) -> of.TalkPlace:
    turn = talk.messages[-1].turn if talk.messages else None
    return of.TalkPlace(_side(run, talk.condition), _trial_words(run, talk), turn)


def _trial_words(run: RecordedRun, talk: ConversationResult) -> str:
    """Return which trial a conversation belongs to; nothing where there is only one."""
    if run.started.trials > 1:
        return talk.trial_words
    return ""


def _places(run: RecordedRun, talks: Iterable[ConversationResult]) -> of.Places:
    return of.Places(tuple(_place(run, talk) for talk in talks), len(run.conversations))


def _breakdown(
    run: RecordedRun, talks: Sequence[ConversationResult], otherwise: str = ""
) -> of.Breakdown | None:
    """Return where and why these conversations failed; None without any."""
    if not talks:
        return None
    return of.Breakdown(_places(run, talks), _ending_detail(talks[0]) or otherwise)
