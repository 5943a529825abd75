"""The conclusion of a run, of a batch or of a graded submission, found by rules, never by a model.

It is the first line of the score card, the presentation, headless output, reports and failed tests. What could not be
measured comes before any score; the effect of the facts is stated only if both conditions started from the same state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.effect import NO_FACTS, NOT_RECORDED
from bioeval_tui.record.events import EndReason
from bioeval_tui.record.names import Condition
from bioeval_tui.report import findings as of, sentences
from bioeval_tui.report.findings import ConclusionFinding, Outcome
from bioeval_tui.report.run import ConversationResult, RecordedRun
from bioeval_tui.report.summary import Summary, summarise_runs
from bioeval_tui.score import contributions, penalty_of
from bioeval_tui.statistics.differences import Difference, difference, differences
from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.intervals import FEWEST
from bioeval_tui.statistics.means import exact_mean

Standing = Literal["good", "bad", "unsure", "plain"]

_STANDINGS: dict[Outcome, Standing] = {
    **dict.fromkeys(("facts_help", "perfect", "medal", "winner"), "good"),
    **dict.fromkeys(("agent_unreached", "agent_failed", "timed_out", "facts_hurt", "invalid"), "bad"),
    **dict.fromkeys(
        ("not_run", "evaluator_failed", "judge_failed", "not_measured", "not_clean", "clean_unknown", "facts_unread",
         "too_few", "cancelled", "not_graded"),
        "unsure",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What was found, in one sentence with a stable code for its kind."""

    finding: ConclusionFinding
    rehearsal: bool = False
    """Whether all that it rests on is a rehearsal."""

    @property
    def outcome(self) -> Outcome:
        """The kind of conclusion."""
        return self.finding.outcome

    @property
    def attributed(self) -> float | None:
        """The difference that it attributes to the facts; None if it attributes none."""
        return self.finding.attributed

    @property
    def sentence(self) -> str:
        """The conclusion in words."""
        text = sentences.sentence(self.finding)
        return sentences.in_rehearsal(text) if self.rehearsal else text

    @property
    def standing(self) -> Standing:
        """Whether the conclusion is good, bad or uncertain."""
        return _STANDINGS.get(self.outcome, "plain")

    @property
    def brief(self) -> str:
        """A run's conclusion in a few words, for a list: `too few to tell`."""
        return sentences.BRIEFS.get(self.outcome, "")


NEVER_STARTED = Conclusion(of.NeverStarted())


def conclude(run: RecordedRun, summary: Summary) -> Conclusion:
    """Return a run's conclusion, or why it has none."""
    finding = _without_end(run)
    if finding is not None:
        return Conclusion(finding)
    finding = _missing_score(run) or _broken_by_agent(run, summary) or _about_facts(run, summary)
    return Conclusion(finding, run.started.rehearsal)


def conclude_batch(runs: Sequence[RecordedRun]) -> Conclusion:
    """Return which model of several did best on the same jobs, or that none is distinguishable; of one run its own."""
    if len(runs) == 1:
        return conclude(runs[0], summarise_runs(runs)[0])
    return Conclusion(_about_models(runs), all(run.started.rehearsal for run in runs))


def conclude_grading(report: TaskReport) -> Conclusion:
    """Return the conclusion on one graded submission."""
    if not report.submission_exists:
        return Conclusion(of.NothingSubmitted(report.task_id))
    if not report.valid_submission or report.score is None:
        error = (report.extra.error if report.extra else None) or ""
        return Conclusion(of.InvalidSubmission(report.task_id, error))
    return Conclusion(
        of.GradedSubmission(
            report.task_id,
            report.medal or "",
            report.score_words,
            report.place_words,
            report.away_words,
            bool(report.above_median),
            report.rows_note,
            report.doubt_words,
        )
    )


def _without_end(run: RecordedRun) -> ConclusionFinding | None:
    """Return why a run has no result as a whole; None if it was completed."""
    ended, talks = run.ended, run.conversations
    planned = len(run.started.conditions) * run.started.trials
    if ended is None:
        return of.StillUnfinished(sum(talk.is_scored for talk in talks), planned)
    if ended.status == "cancelled":
        return of.WasCancelled(ended.detail, sum(talk.score is not None for talk in talks), planned)
    return of.CouldNotStart(ended.detail) if ended.status == "failed" else None


def _missing_score(run: RecordedRun) -> ConclusionFinding | None:
    """Return why a condition has no score at all; None if each has at least one."""
    unscored = [talk for talk in run.conversations if talk.score is None]
    scored = {talk.condition for talk in run.conversations if talk.score is not None}
    first = next((talk for talk in unscored if talk.condition not in scored), None)
    if first is None:
        return None
    if first.ended is None or not first.is_scored:
        return of.NothingScored(_place(run, first))
    if first.ended.reason == "agent_failed" and not first.answered:
        return _absent_agent(first)
    if first.ended.reason == "evaluator_failed":
        failed = _ended_by(unscored, "evaluator_failed")
        # The user's message was void twice; a mark ends no conversation.
        void = [talk for talk in failed if any(slip.outcome == "not sent" for slip in talk.violations)]
        others = [talk for talk in failed if talk not in void]
        return of.EvaluatorFailures(
            _breakdown(run, void, first.reason), _breakdown(run, others, first.reason)
        )
    if first.judge_error:
        failed = [talk for talk in unscored if talk.judge_error]
        return of.JudgeFailures(of.Breakdown(_places(run, failed), first.judge_error))
    reasons = {talk.reason for talk in unscored if talk.is_scored}
    if not scored and len(reasons) == 1 and len(run.conversations) > 1:
        return of.NoScoreAnywhere(_cause_of(first))
    return of.NoScoreThere(_place(run, first), _cause_of(first))


def _absent_agent(talk: ConversationResult) -> ConclusionFinding:
    """Return whether an agent that never answered was reached."""
    tried = [failure for failure in talk.request_failures if failure.peer == "agent"]
    if tried and all(failure.unreachable for failure in tried):
        return of.AgentUnreached(_cause_of(talk))
    return of.NoConversation(_cause_of(talk))


def _cause_of(talk: ConversationResult) -> str:
    """Return why a conversation has no score. What ended it is no reason unless the score says so."""
    detail = talk.ended.detail if talk.ended else ""
    return detail if detail and detail in talk.reason else talk.reason


def _broken_by_agent(run: RecordedRun, summary: Summary) -> of.AgentBroke | None:
    """Return how the agent ended a conversation early, which explains its score better than any assertion."""
    failed = _breakdown(run, _ended_by(run.conversations, "agent_failed"))
    late = _breakdown(run, _ended_by(run.conversations, "timed_out"))
    if failed is None and late is None:
        return None
    taken: list[of.SideScore] = []
    if run.started.trials == 1:
        lost = (
            (talk, -contributions(talk.parts, talk.penalty)["penalty"])
            for talk in run.conversations
            if talk.is_scored
        )
        taken = [of.SideScore(_side(run, talk.condition), points) for talk, points in lost if points]
    return of.AgentBroke(failed, late, _scores(run, summary), tuple(taken))


# What the facts do


def _about_facts(run: RecordedRun, summary: Summary) -> ConclusionFinding:
    trials, scores, uplift = run.started.trials, _scores(run, summary), summary.uplift
    if run.only_condition:
        return _one_condition(run, summary, run.only_condition)
    if not run.clean:
        return of.UncleanStart(scores, run.why_not_clean, bool(run.state.clean_unknown))
    shared = summary.shared
    if shared is not None and shared.is_nothing:
        return of.NoSharedCriteria(scores, trials, _fails(run))
    if uplift is None or uplift.mean is None:
        is_lost = uplift is not None and NOT_RECORDED in dict(uplift.estimate.counted.reasons)
        return of.SharedNotRecorded(scores) if is_lost else of.NoPairOfScores(scores)
    if not run.state.job.get("facts"):
        return of.NoFactsInJob(scores, trials)
    given = {fact.fact for talk in run.conversations_with_facts for fact in talk.facts}
    if not given and (why := run.facts_unread):
        return of.FactsUnread(scores, trials, why)
    if not given:
        return of.NoFactGiven(scores, trials)
    effect = _effect(run, summary, uplift, given)
    return effect if shared is None else of.PartlySharedCriteria(scores, _fails(run), shared, effect)


def _one_condition(run: RecordedRun, summary: Summary, only: Condition) -> of.OneCondition:
    score = next(summarised for summarised in summary.conditions if summarised.condition == only).score
    return of.OneCondition(
        of.SideScore(_side(run, only), score.mean),
        of.Trials(len(score.points), run.started.trials),
        score.all_equal,
        score.interval,
        _best_gain(run, only),
    )


def _effect(
    run: RecordedRun, summary: Summary, uplift: Difference, given: Collection[int]
) -> of.EffectFinding:
    """Return what knowing the facts changes, as far as the trials with both scores can show it."""
    assert uplift.mean is not None
    cases = uplift.estimate.clusters if run.started.cases else 0
    trials = of.Trials(len(uplift.estimate.points), run.started.trials, cases)
    listed = () if run.started.cases else enumerate(run.state.job.get("facts") or (), start=1)
    facts = tuple(str(fact) for number, fact in listed if number in given)
    equal, interval = uplift.estimate.all_equal, uplift.estimate.interval
    pairs = [pair for pair in _scored_pairs(run) if run.why_not_compared(pair[0].trial) != NO_FACTS]
    if all(one.score == two.score == 1 for one, two in pairs):
        return of.NoEffectOfFacts(facts, trials, 1.0, None, perfect=True)
    without, with_facts = _paired_means(run)
    if uplift.verdict == "too few":
        return _too_few(run, summary, uplift, trials, facts)
    if uplift.verdict == "same":
        assert without.score is not None
        return of.NoEffectOfFacts(facts, trials, without.score, _best_gain(run, without.side.condition))
    if uplift.verdict == "not distinguishable":
        return of.EffectWithinChance(trials, without, with_facts, equal, interval)
    cause = _cause(run, uplift.mean)
    return of.EffectOfFacts(trials, without, with_facts, equal, interval, facts, uplift.mean > 0, cause)


def _too_few(
    run: RecordedRun, summary: Summary, uplift: Difference, trials: of.Trials, facts: tuple[str, ...]
) -> of.TooFewForEffect:
    assert uplift.mean is not None
    cases = None if uplift.of_trials else uplift.units
    needed = uplift.needed if cases is not None else FEWEST
    penalty = _penalty(run) if trials.used == 1 else None
    cause = _cause(run, uplift.mean)
    return of.TooFewForEffect(facts, _scores(run, summary), trials, cases, needed, cause, penalty)


def _paired_means(run: RecordedRun) -> tuple[of.SideScore, of.SideScore]:
    """Return both conditions' means, of what they share, over the trials that have both scores."""
    pairs = [(one.shared_sample.value, two.shared_sample.value) for one, two in _compared_pairs(run)]
    known = [(one, two) for one, two in pairs if one is not None and two is not None]
    assert run.contrast is not None  # otherwise there are no pairs
    without, with_facts = (
        of.SideScore(_side(run, condition), exact_mean(values))
        for condition, values in zip(run.contrast, zip(*known, strict=True), strict=True)
    )
    return without, with_facts


def _cause(run: RecordedRun, by: float) -> of.Cause | None:
    """Return the check with the highest weight that fails in the lower condition and passes in the other, in every trial.

    `by` is the difference that the facts make. None without such a check.
    """
    pairs = _compared_pairs(run)
    if run.started.cases or round(by, 2) == 0 or not pairs:
        return None  # the cause in one case does not explain the others
    if by < 0:
        pairs = [(worse, better) for better, worse in pairs]
    turned = set.intersection(
        *(_checks(worse, passed=False) & _checks(better, passed=True) for worse, better in pairs)
    )
    return _first_cause(run, [worse for worse, _ in pairs], turned & _shared_checks(run))


def _fails(run: RecordedRun) -> of.Cause | None:
    """Return the check with the highest weight that fails in every trial of the condition with the lower score, by whichever criteria.

    None without such a check, and where each case has its own.
    """
    pairs = _scored_pairs(run)
    if run.started.cases or not pairs:
        return None
    low = min(zip(*pairs, strict=True), key=lambda talks: exact_mean([talk.score or 0.0 for talk in talks]))
    return _first_cause(run, low, set.intersection(*(_checks(talk, passed=False) for talk in low)))


def _first_cause(
    run: RecordedRun, low: Sequence[ConversationResult], among: Collection[tuple[str, int]]
) -> of.Cause | None:
    """Return the check of these, all of which fail in the conversations `low`, that costs the first one most."""
    some_left_out = len(low) < run.started.trials
    for gain in low[0].gains:
        if (gain.kind, gain.index) in among and (gain.kind == "assertion" or gain.kind == "task"):
            side = _side(run, low[0].condition)
            return of.Cause(gain.kind, gain.title, side, len(low), some_left_out)
    return None


def _shared_checks(run: RecordedRun) -> set[tuple[str, int]]:
    """Return the assertions and tasks that both conditions share in every trial, as `Gain` numbers them."""
    shared = [run.shared_in(trial) for trial in run.trials]
    tasks = frozenset.intersection(*(criteria.tasks.numbers for criteria in shared))
    assertions = frozenset.intersection(*(criteria.assertions.numbers for criteria in shared))
    return {*(("task", number) for number in tasks), *(("assertion", index) for index in assertions)}


def _compared_pairs(run: RecordedRun) -> list[tuple[ConversationResult, ConversationResult]]:
    """Return those of the pairs with both scores whose conditions can be compared."""
    return [pair for pair in _scored_pairs(run) if not run.why_not_compared(pair[0].trial)]


def _scored_pairs(run: RecordedRun) -> list[tuple[ConversationResult, ConversationResult]]:
    """Return the conversations without and with the facts of each trial that has both scores."""
    if run.contrast is None:
        return []
    without, with_facts = run.contrast
    both = ((run.conversation(without, trial), run.conversation(with_facts, trial)) for trial in run.trials)
    return [
        (one, two) for one, two in both if one and two and one.score is not None and two.score is not None
    ]


def _checks(talk: ConversationResult, *, passed: bool) -> set[tuple[str, int]]:
    """Return the assertions and tasks that passed, or those that failed, as `Gain` numbers them."""
    status = "passed" if passed else "failed"
    checks = {("assertion", index) for index, check in talk.final_checks.items() if check.status == status}
    return checks | {("task", task.task) for task in talk.tasks if task.outcome == status}


def _penalty(run: RecordedRun) -> of.Penalty | None:
    """Return how much of the difference comes from failed requests; None if both conditions had the same number."""
    assert run.contrast is not None  # otherwise there is no difference
    failures = {name: sum(talk.failures for talk in run.conversations_in(name)) for name in run.contrast}
    more = max(run.contrast, key=lambda name: failures[name])
    low, high = sorted(failures.values())
    if low == high:
        return None
    return of.Penalty(penalty_of(high) - penalty_of(low), high, _side(run, more))


def _best_gain(run: RecordedRun, condition: Condition) -> of.Gain | None:
    """Return what would raise the first conversation's score most; the gains of one case do not apply to the others."""
    if run.started.cases:
        return None
    return next((talk.gains[0] for talk in run.conversations_in(condition) if talk.gains), None)


# Which model is best


def _about_models(runs: Sequence[RecordedRun]) -> ConclusionFinding:
    summaries = summarise_runs(runs)
    means = {each.label: mean for each in summaries if (mean := _overall(each)) is not None}
    if not means:
        return of.NoRunMeasured()
    if len(summaries) == 1:
        scores = [
            of.SideScore(of.Side(each.condition, each.title), each.score.mean)
            for each in summaries[0].conditions
        ]
        return of.OneModelOnly(len(runs), tuple(scores))
    names = _distinguished([each.label for each in summaries])
    ranked = sorted((each for each in summaries if each.label in means), key=lambda each: -means[each.label])
    models = tuple(of.ModelScore(names[each.label], means[each.label]) for each in ranked)
    if len(ranked) == 1:
        return of.OneModelMeasured(models[0])
    return _best_of(models, [_apart(other, ranked[0]) for other in ranked[1:]])


def _best_of(models: tuple[of.ModelScore, ...], apart: Sequence[Difference]) -> ConclusionFinding:
    """Return what the differences of the first model from the others can show; one for each of the others."""
    if any(difference.mean is None for difference in apart):
        return of.ModelsUnpaired(models)
    close = [
        (other, difference)
        for other, difference in zip(models[1:], apart, strict=True)
        if difference.verdict != "better"
    ]
    if not close:
        return of.BestModel(models, min(difference.mean or 0.0 for difference in apart))
    if not any(round(point, 2) for _, difference in close for point in difference.estimate.points):
        fewest = _fewest(difference for _, difference in close)
        few = of.Units(fewest.units, fewest.unit) if fewest.units < FEWEST else None
        return of.ModelsTied(models, (models[0].name, *(other.name for other, _ in close)), few)
    uncertain = [difference for difference in apart if difference.verdict == "too few"]
    if uncertain:
        least = _fewest(uncertain)
        return of.TooFewForBest(models, of.Units(least.units, least.unit), least.needed)
    return of.ModelsWithinChance(models)


def _fewest(differences: Iterable[Difference]) -> Difference:
    return min(differences, key=lambda one: one.units)


def _distinguished(labels: Sequence[str]) -> dict[str, str]:
    """Return labels without the beginning that all share: `small` and `large` of one agent."""
    parts = [label.split(" · ") for label in labels]
    while len({own[0] for own in parts}) == 1 and all(len(own) > 1 for own in parts):
        parts = [own[1:] for own in parts]
    return {
        label: " · ".join(own).removeprefix("asked for ") for label, own in zip(labels, parts, strict=True)
    }


def _apart(other: Summary, best: Summary) -> Difference:
    """Return best − other, paired by job and trial; the conditions of a trial are averaged, since they are one test of the agent."""
    sides = [
        {
            (run.started.job_name, trial): _trial_sample(run, trial)
            for run in summary.runs
            for trial in run.trials
        }
        for summary in (other, best)
    ]
    keys = sorted(sides[0].keys() | sides[1].keys())
    pairs: list[tuple[Sample | None, Sample | None]] = [
        (sides[0].get(key), sides[1].get(key)) for key in keys
    ]
    return difference(differences(pairs))


def _trial_sample(run: RecordedRun, trial: int) -> Sample | None:
    """Return the mean score of a trial's conditions; without a value if one of them has none."""
    talks = [run.conversation(name, trial) for name in run.started.conditions]
    known = [talk.sample for talk in talks if talk is not None]
    missing = next((sample for sample in known if sample.value is None), None)
    if missing is not None or len(known) < len(talks) or not known:
        return missing
    values = [sample.value for sample in known if sample.value is not None]
    return replace(known[0], value=exact_mean(values))


def _overall(summary: Summary) -> float | None:
    means = [condition.score.mean for condition in summary.conditions]
    known = [mean for mean in means if mean is not None]
    return exact_mean(known) if known and len(known) == len(means) else None


# Parts of findings


def _ended_by(talks: Iterable[ConversationResult], reason: EndReason) -> list[ConversationResult]:
    return [talk for talk in talks if talk.ended and talk.ended.reason == reason]


def _side(run: RecordedRun, condition: Condition) -> of.Side:
    return of.Side(condition, run.condition_title(condition))


def _scores(run: RecordedRun, summary: Summary) -> tuple[of.SideScore, ...]:
    """Return the mean score of each condition."""
    means = {condition.condition: condition.score.mean for condition in summary.conditions}
    return tuple(of.SideScore(_side(run, name), means.get(name)) for name in run.conditions)


def _place(run: RecordedRun, talk: ConversationResult) -> of.TalkPlace:
    trial = talk.trial_words if run.started.trials > 1 else ""
    turn = talk.messages[-1].turn if talk.messages else None
    return of.TalkPlace(_side(run, talk.condition), trial, turn)


def _places(run: RecordedRun, talks: Iterable[ConversationResult]) -> of.Places:
    return of.Places(tuple(_place(run, talk) for talk in talks), len(run.conversations))


def _breakdown(
    run: RecordedRun, talks: Sequence[ConversationResult], otherwise: str = ""
) -> of.Breakdown | None:
    """Return where and why these conversations failed; None without any."""
    if not talks:
        return None
    detail = talks[0].ended.detail if talks[0].ended else ""
    return of.Breakdown(_places(run, talks), detail or otherwise)
