"""The conclusion of a run, of a batch or of a graded submission, found by rules, never by a model.

It is the first line of the score card, the presentation, headless output, reports and failed tests. What could not be
measured comes before any score; the effect of the facts is stated only if both conditions started from the same state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.events import EndReason
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.record.state import ConversationState, RunState
from bioeval_tui.report import findings as of
from bioeval_tui.report import rows, sentences
from bioeval_tui.report.findings import ConclusionFinding, Outcome
from bioeval_tui.report.gains import gains
from bioeval_tui.report.loading import LoadedRun, from_state
from bioeval_tui.report.statistics.differences import Difference, difference, differences
from bioeval_tui.report.statistics.estimates import Sample
from bioeval_tui.report.summary import Summary, summarise_runs
from bioeval_tui.score import contributions, penalty_of
from bioeval_tui.uncertainty import FEWEST

Standing = Literal["good", "bad", "unsure", "plain"]

_STANDINGS: dict[Outcome, Standing] = {
    **dict.fromkeys(("facts_help", "perfect", "medal", "winner"), "good"),
    **dict.fromkeys(("agent_unreached", "agent_failed", "timed_out", "facts_hurt", "invalid"), "bad"),
    **dict.fromkeys(
        ("not_run", "evaluator_failed", "judge_failed", "not_measured", "not_clean", "clean_unknown", "too_few", "cancelled",
         "not_graded"),
        "unsure",
    ),
}  # fmt: skip

_EFFECTS = (
    of.NothingToGain | of.NoEffectOfFacts | of.EffectOfFacts | of.EffectWithinChance | of.TooFewForEffect
)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What was found, in one sentence with a stable code for its kind."""

    finding: ConclusionFinding
    rehearsal: bool = False
    """Whether all that it rests on is a rehearsal."""
    own_criteria: bool = False
    """Whether it compares two conditions in which other things are right."""

    @property
    def outcome(self) -> Outcome:
        """The kind of conclusion."""
        return self.finding.outcome

    @property
    def sentence(self) -> str:
        """The conclusion in words."""
        text = sentences.sentence(self.finding)
        if self.own_criteria:
            text = sentences.by_own_criteria(text)
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


def conclude(state: RunState) -> Conclusion:
    """Return a run's conclusion, or why it has none."""
    run = from_state(state)
    if run is None:
        return NEVER_STARTED
    found = _without_end(run)
    if found is not None:
        return Conclusion(found)
    found = _missing_score(run) or _broken_by_agent(run)
    if found is not None:
        return Conclusion(found, run.started.rehearsal)
    about = _about_facts(run)
    own = isinstance(about, _EFFECTS) and rows.has_own_criteria(run.state)
    return Conclusion(about, run.started.rehearsal, own)


def conclude_batch(runs: Sequence[LoadedRun]) -> Conclusion:
    """Return which model of several did best on the same jobs, or that none is distinguishable; of one run its own."""
    if len(runs) == 1:
        return conclude(runs[0].state)
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
            report.rows_words if report.rows_missing else "",
        )
    )


def _without_end(run: LoadedRun) -> ConclusionFinding | None:
    """Return why a run has no result as a whole; None if it was completed."""
    ended, talks = run.state.ended, run.state.conversations.values()
    planned = len(run.started.conditions) * run.started.trials
    if ended is None:
        return of.StillUnfinished(sum(1 for talk in talks if talk.score is not None), planned)
    if ended.status == "cancelled":
        return of.WasCancelled(ended.detail, sum(map(_has_score, talks)), planned)
    return of.CouldNotStart(ended.detail) if ended.status == "failed" else None


def _missing_score(run: LoadedRun) -> ConclusionFinding | None:
    """Return why a condition has no score at all; None if each has at least one."""
    unscored = [talk for talk in run.talks if not _has_score(talk)]
    scored = {talk.key.condition for talk in run.talks if _has_score(talk)}
    first = next((talk for talk in unscored if talk.key.condition not in scored), None)
    if first is None:
        return None
    if first.ended is None or first.score is None:
        return of.NothingScored(_place(run, first))
    if first.ended.reason == "agent_failed" and not (first.latencies_ms or first.blocked_answers):
        return _absent_agent(first)
    if first.ended.reason == "evaluator_failed":
        return _failed_evaluator(run, unscored, first.score.reason)
    if first.verdict is not None and first.verdict.error:
        failed = [talk for talk in unscored if talk.verdict is not None and talk.verdict.error]
        return of.JudgeFailures(of.Breakdown(_places(run, failed), first.verdict.error))
    reasons = {talk.score.reason for talk in unscored if talk.score}
    if not scored and len(reasons) == 1 and len(run.talks) > 1:
        return of.NoScoreAnywhere(_cause_of(first))
    return of.NoScoreThere(_place(run, first), _cause_of(first))


def _absent_agent(talk: ConversationState) -> ConclusionFinding:
    """Return whether an agent that never answered was reached."""
    tried = [failure for failure in talk.request_failures if failure.peer == "agent"]
    if tried and all(failure.unreachable for failure in tried):
        return of.AgentUnreached(_cause_of(talk))
    return of.NoConversation(_cause_of(talk))


def _failed_evaluator(
    run: LoadedRun, unscored: Sequence[ConversationState], reason: str
) -> of.EvaluatorFailures:
    spoilt = _ended_by(unscored, "evaluator_failed")
    void = [talk for talk in spoilt if _left_role(talk)]
    others = [talk for talk in spoilt if talk not in void]
    return of.EvaluatorFailures(_breakdown(run, void, reason), _breakdown(run, others, reason))


def _left_role(talk: ConversationState) -> bool:
    """Return whether a conversation ended because the user's message was void twice; a mark ends none."""
    return any(violation.outcome == "not sent" for violation in talk.violations)


def _cause_of(talk: ConversationState) -> str:
    """Return why a conversation has no score. What ended it is no reason unless the score says so."""
    reason = talk.score.reason if talk.score else ""
    detail = talk.ended.detail if talk.ended else ""
    return detail if detail and detail in reason else reason


def _broken_by_agent(run: LoadedRun) -> of.AgentBroke | None:
    """Return how the agent ended a conversation early, which explains its score better than any assertion."""
    failed = _breakdown(run, _ended_by(run.talks, "agent_failed"))
    late = _breakdown(run, _ended_by(run.talks, "timed_out"))
    if failed is None and late is None:
        return None
    return of.AgentBroke(failed, late, _scores(run), _penalties(run))


def _penalties(run: LoadedRun) -> tuple[of.SideScore, ...]:
    """Return what failed requests take from the scores; nothing of several trials."""
    if run.started.trials > 1:
        return ()
    found = []
    for talk in run.talks:
        taken = -contributions(talk.score.parts, talk.score.penalty)["penalty"] if talk.score else 0.0
        if taken:
            found.append(of.SideScore(_side(run, talk.key.condition), taken))
    return tuple(found)


# What the facts do


def _about_facts(run: LoadedRun) -> ConclusionFinding:
    state, trials = run.state, run.started.trials
    if state.only_condition:
        return _one_condition(run, state.only_condition)
    scores = _scores(run)
    if not state.clean:
        return of.UncleanStart(scores, state.why_not_clean, bool(state.clean_unknown))
    uplift = summarise_runs([run])[0].uplift
    if uplift is None or uplift.mean is None:
        return of.NoPairOfScores(scores)
    if not state.job.get("facts"):
        return of.NoFactsInJob(scores, trials)
    given = {fact.fact for talk in run.talks if talk.key.condition == "supplied" for fact in talk.facts}
    if not given:
        return of.NoFactGiven(scores, trials)
    return _effect(run, uplift, given)


def _one_condition(run: LoadedRun, only: Condition) -> of.OneCondition:
    score = next(found for found in summarise_runs([run])[0].conditions if found.condition == only).score
    return of.OneCondition(
        of.SideScore(_side(run, only), score.mean),
        of.Trials(len(score.points), run.started.trials),
        score.all_equal,
        score.interval,
        _best_gain(run, only),
    )


def _effect(run: LoadedRun, uplift: Difference, given: Collection[int]) -> ConclusionFinding:
    """Return what knowing the facts changes, as far as the trials with both scores can show it."""
    assert uplift.mean is not None
    trials = of.Trials(len(uplift.estimate.points), run.started.trials)
    listed = () if run.started.cases else enumerate(run.state.job.get("facts") or (), start=1)
    facts = tuple(str(fact) for number, fact in listed if number in given)
    withheld, supplied = _paired_means(run)
    equal, interval = uplift.estimate.all_equal, uplift.estimate.interval
    if withheld.score == supplied.score == 1:
        return of.NothingToGain(facts, trials)
    if uplift.verdict == "too few":
        return _too_few(run, uplift, trials, facts)
    if uplift.verdict == "same":
        assert withheld.score is not None
        return of.NoEffectOfFacts(facts, trials, withheld.score, _best_gain(run, "withheld"))
    if uplift.verdict == "not distinguishable":
        return of.EffectWithinChance(trials, withheld, supplied, equal, interval)
    cause = _cause(run, uplift.mean)
    return of.EffectOfFacts(facts, trials, withheld, supplied, uplift.mean > 0, equal, interval, cause)


def _too_few(
    run: LoadedRun, uplift: Difference, trials: of.Trials, facts: tuple[str, ...]
) -> of.TooFewForEffect:
    assert uplift.mean is not None
    cases = None if uplift.of_trials else uplift.units
    needed = uplift.needed if cases is not None else FEWEST
    # Repeating a script and rules gives the same scores again, not an interval.
    alike = run.started.rehearsal and uplift.estimate.all_equal and uplift.of_trials
    penalty = _penalty(run) if trials.used == 1 else None
    cause = _cause(run, uplift.mean)
    return of.TooFewForEffect(facts, _scores(run), trials, cases, needed, alike, cause, penalty)


def _paired_means(run: LoadedRun) -> tuple[of.SideScore, of.SideScore]:
    """Return both conditions' means over the trials that have both scores."""
    pairs = [
        [
            talk.score.score if talk and talk.score else None
            for talk in rows.trial_talks(run.state, trial).values()
        ]
        for trial in run.trials
        if rows.has_pair(run, trial)
    ]
    both = zip(*(pair for pair in pairs if None not in pair), strict=True)
    withheld, supplied = (
        of.SideScore(_side(run, condition), fmean(values))
        for condition, values in zip(CONDITIONS, both, strict=True)
    )
    return withheld, supplied


def _cause(run: LoadedRun, by: float) -> of.Cause | None:
    """Return the check with the highest weight that fails in the lower condition and passes in the other, in every trial.

    `by` is the difference that the facts make. None without such a check.
    """
    if run.started.cases or round(by, 2) == 0:
        return None  # the cause in one case does not explain the others
    low, high = CONDITIONS if by > 0 else CONDITIONS[::-1]
    scored = [_scored(rows.trial_talks(run.state, trial)) for trial in run.trials]
    pairs = [(both[low], both[high]) for both in scored if both.keys() == set(CONDITIONS)]
    if not pairs:
        return None
    turned = set.intersection(
        *(_checks(worse, passed=False) & _checks(better, passed=True) for worse, better in pairs)
    )
    among = len(pairs) < run.started.trials
    for gain in gains(run.state, pairs[0][0]):
        if (gain.kind, gain.index) in turned and (gain.kind == "assertion" or gain.kind == "task"):
            return of.Cause(gain.kind, gain.title, low, len(pairs), among)
    return None


def _scored(talks: rows.Talks) -> dict[Condition, ConversationState]:
    return {name: talk for name, talk in talks.items() if talk and _has_score(talk)}


def _checks(talk: ConversationState, *, passed: bool) -> set[tuple[str, int]]:
    """Return the assertions and tasks that passed, or those that failed, as `Gain` numbers them."""
    status = "passed" if passed else "failed"
    found = {("assertion", index) for index, check in talk.final_checks.items() if check.status == status}
    tasks = talk.verdict.tasks if talk.verdict else ()
    return found | {("task", task.task) for task in tasks if task.outcome == status}


def _penalty(run: LoadedRun) -> of.Penalty | None:
    """Return how much of the difference comes from failed requests; None if both conditions had the same number."""
    failures = {
        name: sum(talk.failures for talk in run.talks if talk.key.condition == name) for name in CONDITIONS
    }
    more = max(CONDITIONS, key=lambda name: failures[name])
    low, high = sorted(failures.values())
    if low == high:
        return None
    return of.Penalty(penalty_of(high) - penalty_of(low), high, _side(run, more))


def _best_gain(run: LoadedRun, condition: Condition) -> of.Gain | None:
    """Return what would raise the first conversation's score most; the gains of one case do not apply to the others."""
    if run.started.cases:
        return None
    held = (gains(run.state, talk) for talk in run.talks if talk.key.condition == condition)
    return next((found[0] for found in held if found), None)


# Which model is best


def _about_models(runs: Sequence[LoadedRun]) -> ConclusionFinding:
    summaries = summarise_runs(runs)
    means = {found.label: mean for found in summaries if (mean := _overall(found)) is not None}
    if not means:
        return of.NoRunMeasured()
    if len(summaries) == 1:
        scores = [
            of.SideScore(of.Side(found.condition, found.title), found.score.mean)
            for found in summaries[0].conditions
        ]
        return of.OneModelOnly(len(runs), tuple(scores))
    names = _distinguished([found.label for found in summaries])
    ranked = sorted(
        (found for found in summaries if found.label in means), key=lambda found: -means[found.label]
    )
    models = tuple(of.ModelScore(names[found.label], means[found.label]) for found in ranked)
    if len(ranked) == 1:
        return of.OneModelMeasured(models[0])
    return _best_of(models, [_apart(other, ranked[0]) for other in ranked[1:]])


def _best_of(models: tuple[of.ModelScore, ...], apart: Sequence[Difference]) -> ConclusionFinding:
    """Return what the differences of the first model from the others can show; one for each of the others."""
    if any(found.mean is None for found in apart):
        return of.ModelsUnpaired(models)
    close = [
        (other, found) for other, found in zip(models[1:], apart, strict=True) if found.verdict != "better"
    ]
    if not close:
        return of.BestModel(models, min(found.mean or 0.0 for found in apart))
    if not any(round(point, 2) for _, found in close for point in found.estimate.points):
        fewest = _fewest(found for _, found in close)
        few = of.Units(fewest.units, fewest.unit) if fewest.units < FEWEST else None
        return of.ModelsTied(models, (models[0].name, *(other.name for other, _ in close)), few)
    uncertain = [found for found in apart if found.verdict == "too few"]
    if uncertain:
        least = _fewest(uncertain)
        return of.TooFewForBest(models, of.Units(least.units, least.unit), least.needed)
    return of.ModelsWithinChance(models)


def _fewest(found: Iterable[Difference]) -> Difference:
    return min(found, key=lambda one: one.units)


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
            for run in found.runs
            for trial in run.trials
        }
        for found in (other, best)
    ]
    keys = sorted(sides[0].keys() | sides[1].keys())
    pairs: list[tuple[Sample | None, Sample | None]] = [
        (sides[0].get(key), sides[1].get(key)) for key in keys
    ]
    return difference(differences(pairs))


def _trial_sample(run: LoadedRun, trial: int) -> Sample | None:
    """Return the mean score of a trial's conditions; without a value if one of them has none."""
    held = [rows.score_sample(run, run.state.conversation(c, trial)) for c in run.started.conditions]
    known = [sample for sample in held if sample is not None]
    missing = next((sample for sample in known if sample.value is None), None)
    if missing is not None or len(known) < len(held) or not known:
        return missing
    return replace(known[0], value=fmean(sample.value for sample in known if sample.value is not None))


def _overall(summary: Summary) -> float | None:
    means = [found.score.mean for found in summary.conditions]
    known = [mean for mean in means if mean is not None]
    return sum(known) / len(known) if known and len(known) == len(means) else None


# Parts of findings


def _has_score(talk: ConversationState) -> bool:
    return talk.score is not None and talk.score.score is not None


def _ended_by(talks: Iterable[ConversationState], reason: EndReason) -> list[ConversationState]:
    return [talk for talk in talks if talk.ended and talk.ended.reason == reason]


def _side(run: LoadedRun, condition: Condition) -> of.Side:
    return of.Side(condition, run.state.condition_title(condition))


def _scores(run: LoadedRun) -> tuple[of.SideScore, ...]:
    """Return the mean score of each condition."""
    means = {found.condition: found.score.mean for found in summarise_runs([run])[0].conditions}
    return tuple(of.SideScore(_side(run, name), means.get(name)) for name in rows.run_conditions(run.state))


def _place(run: LoadedRun, talk: ConversationState) -> of.Place:
    trial = talk.trial_words if run.started.trials > 1 else ""
    turn = talk.messages[-1].turn if talk.messages else None
    return of.Place(_side(run, talk.key.condition), trial, turn)


def _places(run: LoadedRun, talks: Iterable[ConversationState]) -> of.Places:
    return of.Places(tuple(_place(run, talk) for talk in talks), len(run.state.conversations))


def _breakdown(
    run: LoadedRun, talks: Sequence[ConversationState], otherwise: str = ""
) -> of.Breakdown | None:
    """Return where and why these conversations failed; None without any."""
    if not talks:
        return None
    detail = talks[0].ended.detail if talks[0].ended else ""
    return of.Breakdown(_places(run, talks), detail or otherwise)
