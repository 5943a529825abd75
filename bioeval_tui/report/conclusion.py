"""The conclusion of a run in one sentence, made by rules, never by a model.

It is the first line of the score card, the presentation, headless output, reports and failed tests. What could not be
measured comes before any score; the effect of the facts is stated only if both conditions started from the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.record.state import ConversationState, RunState
from bioeval_tui.report import rows, samples
from bioeval_tui.report.gains import gains
from bioeval_tui.report.loading import LoadedRun, from_state
from bioeval_tui.report.numbers import FEWEST, number, signed
from bioeval_tui.report.statistics.differences import Difference, difference, differences
from bioeval_tui.report.statistics.estimates import Sample
from bioeval_tui.report.summary import Summary, summarise_runs
from bioeval_tui.score import contributions, penalty_of
from bioeval_tui.text import clean_line, plural, shorten, upper_first

Outcome = Literal[
    "not_started", "unfinished", "cancelled", "not_run",
    "agent_unreached", "agent_failed", "timed_out", "evaluator_failed", "judge_failed", "not_measured",
    "not_clean", "clean_unknown",
    "facts_help", "facts_hurt", "no_difference", "perfect", "too_few", "facts_not_given", "no_facts", "one_condition",
    "medal", "no_medal", "invalid", "not_graded",
    "winner", "no_winner", "one_model",
]  # fmt: skip
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
_BRIEFS: dict[Outcome, str] = {
    "not_started": "never started", "unfinished": "not ended", "cancelled": "cancelled", "not_run": "could not be started",
    "agent_unreached": "the agent was not reached", "agent_failed": "the agent failed", "timed_out": "ran out of time",
    "evaluator_failed": "the simulated user failed", "judge_failed": "the judge failed", "not_measured": "not measured",
    "not_clean": "not clean: no uplift", "clean_unknown": "no uplift: starting states unknown",
    "facts_help": "facts help", "facts_hurt": "facts hurt", "no_difference": "no clear difference",
    "perfect": "nothing left to gain", "too_few": "too few", "facts_not_given": "no fact was given",
    "no_facts": "no facts to give", "one_condition": "only one condition",
}  # fmt: skip
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_HELPS: dict[bool, Outcome] = {True: "facts_help", False: "facts_hurt"}
LONGEST_DETAIL = 140
LISTED = 4
"""How many models a sentence lists, the best first."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One sentence with a stable code for its kind."""

    outcome: Outcome
    sentence: str

    @property
    def standing(self) -> Standing:
        """Whether the conclusion is good, bad or uncertain."""
        return _STANDINGS.get(self.outcome, "plain")

    @property
    def brief(self) -> str:
        """A run's conclusion in a few words, for a list: `too few to tell`."""
        return _BRIEFS.get(self.outcome, "")


def conclude(state: RunState) -> Conclusion:
    """Return a run's conclusion, or why it has none."""
    run = from_state(state)
    if run is None:
        return Conclusion("not_started", "The run never started, so nothing was measured.")
    found = _of_run(run)
    if not run.started.rehearsal or found.outcome in ("unfinished", "cancelled", "not_run"):
        return found
    return Conclusion(found.outcome, f"Rehearsal: {_lower(found.sentence)}")


def conclude_batch(runs: Sequence[LoadedRun]) -> Conclusion:
    """Return which model of several did best on the same jobs, or that none is distinguishable; of one run its own."""
    if len(runs) == 1:
        return conclude(runs[0].state)
    found = _of_batch(runs)
    if not all(run.started.rehearsal for run in runs):
        return found
    return Conclusion(found.outcome, f"Rehearsal: {_lower(found.sentence)}")


def _of_batch(runs: Sequence[LoadedRun]) -> Conclusion:
    summaries = summarise_runs(runs)
    means = {found.label: mean for found in summaries if (mean := _overall(found)) is not None}
    if not means:
        return Conclusion(
            "not_measured", "No run of this batch could be measured, so nothing can be compared."
        )
    if len(summaries) == 1:
        count = plural(len(runs), "run")
        sentence = f"One agent and model in {count}: {_scores_over_runs(summaries[0])}; there is no other to compare it with."
        return Conclusion("one_model", sentence)
    return _best_of(summaries, means)


def conclude_grading(report: TaskReport) -> Conclusion:
    """Return the conclusion on one graded submission."""
    about = report.task_id
    if not report.submission_exists:
        return Conclusion("invalid", f"Nothing was submitted for {about}.")
    if not report.valid_submission or report.score is None:
        why = report.extra.error if report.extra and report.extra.error else "no reason was recorded"
        return Conclusion("invalid", f"The submission for {about} is invalid: {_short(why)}.")
    away = report.away_words and f", {report.away_words}"
    place = f", place {report.place_words}" if report.place_words else ""
    if report.medal:
        return Conclusion(
            "medal", f"{report.medal.capitalize()} on {about}: {report.score_words}{place}{away}."
        )
    median = "above the median" if report.above_median else "not above the median"
    return Conclusion("no_medal", f"No medal on {about}: {report.score_words}{place}, {median}{away}.")


# One run


def _of_run(run: LoadedRun) -> Conclusion:
    state, ended = run.state, run.state.ended
    held = sum(1 for talk in state.conversations.values() if talk.score is not None)
    of = f"{held} of {plural(len(run.started.conditions) * run.started.trials, 'conversation')}"
    if ended is None:
        return Conclusion("unfinished", f"The run has not ended: {of} scored.")
    if ended.status == "cancelled":
        why = f" ({_short(ended.detail)})" if ended.detail else ""
        done = sum(1 for talk in state.conversations.values() if talk.score and talk.score.score is not None)
        kept = f"{done} of {plural(len(run.started.conditions) * run.started.trials, 'conversation')}"
        return Conclusion("cancelled", f"The run was cancelled{why} with {kept} scored, so it has no result.")
    if ended.status == "failed":
        return Conclusion(
            "not_run", f"The run could not be started: {_short(ended.detail or 'no reason was recorded')}."
        )
    return _trouble(run) or _agent_trouble(run) or _finding(run)


def _trouble(run: LoadedRun) -> Conclusion | None:
    """Return why a score is missing; None if each condition has at least one."""
    talks = run.talks
    without = [talk for talk in talks if talk.score is None or talk.score.score is None]
    scored = {talk.key.condition for talk in talks if talk not in without}
    if not without or scored >= set(run.started.conditions):
        return None
    talk = next(talk for talk in without if talk.key.condition not in scored)
    where, ended = _where(run, talk), talk.ended
    reason = talk.score.reason if talk.score else "it was not scored"
    if ended is None or talk.score is None:
        return Conclusion(
            "not_measured", f"{upper_first(where)} nothing was scored, so the run has no result."
        )
    # What ended a conversation is no reason for a missing score unless the score says so.
    cause = _short(ended.detail if ended.detail in reason else "") or _short(
        reason
    )  # what to do about it is said below, in full
    if ended.reason == "agent_failed" and not talk.latencies_ms:
        tried = [failure for failure in talk.request_failures if failure.peer == "agent"]
        if tried and all(failure.unreachable for failure in tried):
            return Conclusion(
                "agent_unreached", f"The agent could not be reached, so nothing was measured: {cause}."
            )
        return Conclusion("agent_failed", f"No conversation took place, so nothing was measured: {cause}.")
    if ended.reason == "evaluator_failed":
        alike = [other for other in without if other.ended and other.ended.reason == ended.reason]
        what = " and ".join(
            f"{did} {_places(run, some)} ({_short(some[0].ended.detail or reason)})"
            for did, role in (("stepped out of its role", True), ("failed", False))
            if (some := [other for other in alike if _left_role(other) is role]) and some[0].ended
        )
        about = "that conversation says" if len(alike) == 1 else "they say"
        return Conclusion(
            "evaluator_failed", f"The simulated user {what}, so {about} nothing about the agent."
        )
    if talk.verdict is not None and talk.verdict.error:
        failed = [other for other in without if other.verdict is not None and other.verdict.error]
        again = f"{'the conversation is' if len(failed) == 1 else 'the conversations are'} kept and can be judged again"
        return Conclusion(
            "judge_failed",
            f"The judge failed {_places(run, failed, turns=False)} ({_short(talk.verdict.error)}), so there is no score; {again}.",
        )
    if not scored and len({talk.score.reason for talk in without if talk.score}) == 1 and len(talks) > 1:
        return Conclusion("not_measured", f"No conversation has a score: {cause}.")
    return Conclusion("not_measured", f"{upper_first(where)} the agent has no score: {cause}.")


def _left_role(talk: ConversationState) -> bool:
    """Return whether a conversation ended because the user's message was void twice; a mark ends none."""
    return any(violation.outcome == "not sent" for violation in talk.violations)


def _agent_trouble(run: LoadedRun) -> Conclusion | None:
    """Return how the agent ended a conversation early, which explains its score better than any assertion."""
    broken = [talk for talk in run.talks if talk.ended and talk.ended.reason in ("agent_failed", "timed_out")]
    if not broken:
        return None
    failed = [talk for talk in broken if talk.ended and talk.ended.reason == "agent_failed"]
    late = [talk for talk in broken if talk not in failed]
    said = [f"the agent failed {_places(run, failed)}{_why(failed)}"] if failed else []
    said += [f"the conversation ran out of time {_places(run, late)}{_why(late)}"] if late else []
    return Conclusion(
        "agent_failed" if failed else "timed_out",
        f"{upper_first(' and '.join(said))}: {_scores(run)}{_lost(run)}.",
    )


def _why(talks: Sequence[ConversationState]) -> str:
    cause = talks[0].ended.detail if talks[0].ended else ""
    return f" ({_short(cause)})" if cause else ""


def _finding(run: LoadedRun) -> Conclusion:
    state, summary = run.state, summarise_runs([run])[0]
    if state.only_condition:
        return _one_condition(run)
    if not state.clean:
        code: Outcome = "clean_unknown" if state.clean_unknown else "not_clean"
        return Conclusion(
            code,
            f"{upper_first(_scores(run))}; {_short(state.why_not_clean)}, so the difference cannot be attributed to the facts.",
        )
    uplift = summary.uplift
    if uplift is None or uplift.mean is None:
        return Conclusion(
            "not_measured",
            f"{upper_first(_scores(run))}; no trial has both scores, so there is no difference.",
        )
    if not state.job.get("facts"):
        return Conclusion(
            "no_facts", f"The job has no facts, so both conditions ask the same: {_scores(run)}{_over(run)}."
        )
    given = {fact.fact for talk in run.talks if talk.key.condition == "supplied" for fact in talk.facts}
    if not given:
        return Conclusion(
            "facts_not_given",
            f"The user gave the agent no fact, so the facts cannot explain a difference: {_scores(run)}{_over(run)}.",
        )
    return _difference(run, uplift, len(given))


def _difference(run: LoadedRun, uplift: Difference, given: int) -> Conclusion:
    withheld, supplied = _paired_means(run)
    assert uplift.mean is not None
    knowing = "Knowing the facts of each case" if run.started.cases else f"Knowing {_count(given, 'fact')}"
    named = [f" {where}" if (where := _in(run, name)).startswith("in ") else "" for name in CONDITIONS]
    span = f"from {number(withheld)}{named[0]} to {number(supplied)}{named[1]}"
    helps = uplift.mean > 0
    verb, code = ("lifts" if helps else "lowers"), _HELPS[helps]
    because = f": {cause}" if (cause := _cause(run, uplift.mean, "them" if given > 1 else "it")) else ""
    trials, planned = len(uplift.estimate.points), run.started.trials
    used = f"{trials} of {planned} trials" if trials < planned else f"{trials} trials"
    alone = "one trial" if planned == 1 else f"the only one of {planned} trials with both scores"
    if trials == 1:
        if round(uplift.mean, 2) == 0:
            if withheld == 1:
                return Conclusion(
                    "perfect",
                    f"The agent scores 1.00 with and without the facts ({alone}): nothing is left to gain.",
                )
            return Conclusion(
                "no_difference",
                f"{knowing} makes no difference ({alone}): the agent scores {number(withheld)} either way{_fails(run)}.",
            )
        return Conclusion(code, f"{knowing} {verb} the agent {span} ({alone}){because}{_penalty(run)}.")
    if uplift.verdict == "too few":
        few = _count(trials, "trial") if trials == planned else f"{used} with both scores"
        few = few if uplift.of_trials else plural(uplift.units, "case")
        # Repeating a script and rules gives the same scores again, not an interval.
        alike = run.started.rehearsal and uplift.estimate.all_equal and uplift.of_trials
        enough = f"{FEWEST} would give an interval" if uplift.of_trials else f"{uplift.needed} would do"
        advice = "in a rehearsal, more would score the same" if alike else enough
        return Conclusion(
            "too_few",
            f"{upper_first(_scores(run))}; {few} are too few to tell what difference the facts make ({advice})"
            f"{f'; {cause}' if (cause := _cause(run, uplift.mean, 'them')) else ''}.",
        )
    interval = uplift.estimate.interval
    over = f" over {used}"
    if uplift.estimate.all_equal:
        over = f" in each of {used}"
    elif interval is not None:
        over += f" (95 % interval of the difference {interval.words})"
    if uplift.verdict == "same" or withheld == supplied == 1:
        if withheld == 1:
            return Conclusion(
                "perfect",
                f"The agent scores 1.00 with and without the facts in each of {used}: nothing is left to gain.",
            )
        return Conclusion(
            "no_difference",
            f"{knowing} makes no difference: the agent scores {number(withheld)} either way in each of {used}{_fails(run)}.",
        )
    if uplift.verdict == "not distinguishable":
        return Conclusion(
            "no_difference", f"The effect of the facts cannot be distinguished from chance: {span}{over}."
        )
    return Conclusion(code, f"{knowing} {verb} the agent {span}{over}{because}.")


def _paired_means(run: LoadedRun) -> tuple[float, float]:
    """Return both conditions' means over the trials that have both scores."""
    pairs = [
        [talk.score.score if talk and talk.score else None for talk in rows.talks(run.state, trial).values()]
        for trial in run.trials
    ]
    withheld, supplied = zip(*(pair for pair in pairs if None not in pair), strict=True)
    return fmean(withheld), fmean(supplied)


def _one_condition(run: LoadedRun) -> Conclusion:
    only = run.state.only_condition
    assert only is not None
    score = next(found for found in summarise_runs([run])[0].conditions if found.condition == only).score
    where, used = upper_first(_in(run, only)), len(score.points)
    says = f"{where}, the only condition that was run, the agent scores {number(score.mean)}"
    if run.started.trials == 1:
        best = "nothing is left to gain" if score.mean == 1 else _most_to_gain(run, only)
        return Conclusion("one_condition", f"{says} (one trial){f': {best}' if best else ''}.")
    if score.all_equal:
        sure = f"in each of {used} trials"
    elif score.interval is not None:
        sure = f"over {used} trials (95 % interval {score.interval.words}, {score.interval.scope})"
    else:
        sure = f"over {plural(used, 'trial')}, too few for an interval"
    return Conclusion("one_condition", f"{says} {sure}.")


def _cause(run: LoadedRun, by: float, them: str) -> str:
    """Return the check with the highest weight that fails in the lower condition and passes in the other, in every trial.

    `by` is the difference that the facts make, and `them` what the sentence calls them. Empty without such a check.
    """
    if run.started.cases or round(by, 2) == 0:
        return ""  # the cause in one case does not explain the others
    low, high = CONDITIONS if by > 0 else CONDITIONS[::-1]
    pairs = [
        (both[low], both[high])
        for trial in run.trials
        if (both := _scored(rows.talks(run.state, trial))).keys() == set(CONDITIONS)
    ]
    if not pairs:
        return ""
    turned = set.intersection(
        *(_checks(worse, passed=False) & _checks(better, passed=True) for worse, better in pairs)
    )
    there = f"without {them}" if by > 0 else f"with {them}"
    among = " with both scores" if len(pairs) < run.started.trials else ""
    for gain in gains(run.state, pairs[0][0]):
        if (gain.kind, gain.index) not in turned:
            continue
        title = f"“{_short(gain.title, 70)}”"
        if gain.kind == "assertion":
            return f"{there} {title} fails" + (f" in every trial{among}" if len(pairs) > 1 else "")
        return f"{there} the task {title} is not done" + (f" in any trial{among}" if len(pairs) > 1 else "")
    return ""


def _scored(talks: rows.Talks) -> dict[Condition, ConversationState]:
    return {
        name: talk for name, talk in talks.items() if talk and talk.score and talk.score.score is not None
    }


def _checks(talk: ConversationState, *, passed: bool) -> set[tuple[str, int]]:
    """Return the assertions and tasks that passed, or those that failed, as `Gain` numbers them."""
    status = "passed" if passed else "failed"
    found = {("assertion", index) for index, check in talk.final_checks.items() if check.status == status}
    tasks = talk.verdict.tasks if talk.verdict else ()
    return found | {("task", task.task) for task in tasks if task.passed is passed}


def _penalty(run: LoadedRun) -> str:
    """Return how much of the difference comes from failed requests; empty if both conditions had the same number."""
    both = [sum(talk.failures for talk in run.talks if talk.key.condition == name) for name in CONDITIONS]
    if both[0] == both[1]:
        return ""
    low, high = (penalty_of(failures) for failures in sorted(both))
    where = _in(run, CONDITIONS[0] if both[0] > both[1] else CONDITIONS[1])
    return f"; {high - low:.2f} of it is the penalty for {plural(max(both), 'failed request')} {where}"


def _lost(run: LoadedRun) -> str:
    """Return what failed requests take from the scores; empty if they take nothing, or if there are several trials."""
    if run.started.trials > 1:
        return ""
    lost = [
        f"by {taken:.2f} {_in(run, talk.key.condition)}"
        for talk in run.talks
        if talk.score and (taken := -contributions(talk.score.parts, talk.score.penalty)["penalty"])
    ]
    return f"; failed requests lowered this {' and '.join(lost)}" if lost else ""


def _fails(run: LoadedRun) -> str:
    """Return what would raise the first conversation's score most, and is missing from both."""
    best = _most_to_gain(run, "withheld")
    return f"; {best}" if best else ""


def _most_to_gain(run: LoadedRun, condition: str) -> str:
    if run.started.cases:
        return ""  # the gains of one case do not apply to the others
    for talk in run.talks:
        found = gains(run.state, talk) if talk.key.condition == condition else []
        if found:
            return f"the largest gain would come from {_short(found[0].what, 90)} ({signed(found[0].by)})"
    return ""


# Several models


def _best_of(summaries: Sequence[Summary], means: dict[str, float]) -> Conclusion:
    measured = [found for found in summaries if found.label in means]
    ranked = sorted(measured, key=lambda found: -means[found.label])
    best, others = ranked[0], ranked[1:]
    names = _distinguished([found.label for found in summaries])
    listed = ", ".join(f"{names[found.label]} {number(means[found.label])}" for found in ranked[:LISTED])
    listed += f", {len(ranked) - LISTED} more" if len(ranked) > LISTED else ""
    if not others:
        return Conclusion(
            "no_winner",
            f"Only {names[best.label]} could be measured ({number(means[best.label])}), so no model can be called best.",
        )
    apart = [_apart(other, best) for other in others]
    if any(found.mean is None for found in apart):
        return Conclusion(
            "no_winner",
            f"No model can be called best: they were not run on the same jobs and trials ({listed}).",
        )
    if all(found.verdict == "better" for found in apart):
        than = names[others[0].label] if len(others) == 1 else "every other model"
        margin = min(found.mean or 0.0 for found in apart)
        by = "by" if len(others) == 1 else "by at least"
        return Conclusion(
            "winner", f"{names[best.label]} does better than {than}, {by} {number(margin)} ({listed})."
        )
    close = [(other, found) for other, found in zip(others, apart, strict=True) if found.verdict != "better"]
    if not any(round(point, 2) for _, found in close for point in found.estimate.points):
        alike = " and ".join(names[found.label] for found in (best, *(other for other, _ in close)))
        scores = number(means[best.label]) if len(close) == len(others) else listed
        fewest = min((found for _, found in close), key=lambda found: found.units)
        few = (
            f"; {plural(fewest.units, fewest.unit)} {'is' if fewest.units == 1 else 'are'} too few to tell more"
            if fewest.units < FEWEST
            else ""
        )
        return Conclusion(
            "no_winner", f"No model can be called best: {alike} score the same ({scores}){few}."
        )
    few_pairs = [found for found in apart if found.verdict == "too few"]
    if few_pairs:
        least = min(few_pairs, key=lambda found: found.units)
        return Conclusion(
            "no_winner",
            f"No model can be called best: {plural(least.units, least.unit)} {'is' if least.units == 1 else 'are'} too few to tell ({listed}); {least.needed} would do.",
        )
    return Conclusion(
        "no_winner",
        f"No model can be called best: the differences cannot be distinguished from chance ({listed}).",
    )


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
    held = [samples.score_sample(run, run.state.conversation(c, trial)) for c in run.started.conditions]
    known = [sample for sample in held if sample is not None]
    missing = next((sample for sample in known if sample.value is None), None)
    if missing is not None or len(known) < len(held) or not known:
        return missing
    return replace(known[0], value=fmean(sample.value for sample in known if sample.value is not None))


def _overall(summary: Summary) -> float | None:
    means = [found.score.mean for found in summary.conditions]
    known = [mean for mean in means if mean is not None]
    return sum(known) / len(known) if known and len(known) == len(means) else None


def _scores_over_runs(summary: Summary) -> str:
    return " and ".join(
        f"{number(found.score.mean)} {in_condition(found.title, found.condition)}"
        for found in summary.conditions
    )


# Words


def _scores(run: LoadedRun) -> str:
    """Return such as `the agent scores 0.44 without the facts and 1.00 with the facts`."""
    listed = [f"{number(_mean(run, name))} {_in(run, name)}" for name in rows.conditions(run.state)]
    return f"the agent scores {' and '.join(listed)}"


def _in(run: LoadedRun, condition: Condition) -> str:
    return in_condition(run.state.condition_title(condition), condition)


def in_condition(title: str, condition: Condition) -> str:
    """Return `without the facts`, or the condition by the name that the job gives it: `in “knows nothing”`."""
    if title == f"facts {condition}":
        return "without the facts" if condition == "withheld" else "with the facts"
    return f"in “{title}”"


def _mean(run: LoadedRun, condition: str) -> float | None:
    found = next((c for c in summarise_runs([run])[0].conditions if c.condition == condition), None)
    return found.score.mean if found else None


def _where(run: LoadedRun, talk: ConversationState) -> str:
    trial = f" of {talk.trial_words}" if run.started.trials > 1 else ""
    return f"in the conversation {_in(run, talk.key.condition).removeprefix('in ')}{trial}"


def _places(run: LoadedRun, talks: Sequence[ConversationState], *, turns: bool = True) -> str:
    """Return where something happened: in one conversation, in both, or in how many, and first in which."""
    first, count = talks[0], len(run.state.conversations)
    at = f"{_turn(first)} " if turns else ""
    if len(talks) == 1:
        return f"{at}{_where(run, first)}"
    if len(talks) == count == 2 and len({_turn(talk) for talk in talks} if turns else {""}) == 1:
        return f"{at}in both conversations"
    if len(talks) == 2 and count == 2:
        return " and ".join(f"{_turn(talk)} {_where(run, talk)}" for talk in talks)
    return f"in {len(talks)} of {count} conversations, first {at}{_where(run, first)}"


def _turn(talk: ConversationState) -> str:
    return f"at turn {talk.messages[-1].turn}" if talk.messages else "before the first turn"


def _over(run: LoadedRun) -> str:
    return " (one trial)" if run.started.trials == 1 else f" over {run.started.trials} trials"


def _count(count: int, noun: str) -> str:
    return (
        f"{_COUNTS[count]} {noun}{'' if count == 1 else 's'}" if count < len(_COUNTS) else plural(count, noun)
    )


def _short(text: str, width: int = LONGEST_DETAIL) -> str:
    return shorten(clean_line(text), width).rstrip(".")


def _lower(text: str) -> str:
    """Return a sentence in the form used after a colon; names of agents and models are unchanged."""
    first = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if first.isalpha() and first.capitalize() == first else text
