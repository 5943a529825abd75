"""The words of every finding, for screens, reports, the command line and the gate alike: rules make them, never a model.

`sentence` finds the writer of a finding by its type. A writer takes what was found and counts, compares and decides
nothing but grammar. A finding without a writer, or a writer without an example in the tests, fails the build.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from bioeval_tui.record.conditions import SUPPLIED, WITHHELD
from bioeval_tui.record.names import title_of
from bioeval_tui.report import findings as of
from bioeval_tui.report.findings import Finding, NextFinding, Outcome
from bioeval_tui.statistics.intervals import FEWEST
from bioeval_tui.text import both_or_all, clean_line, join_names, listed, plural, shorten, upper_first
from bioeval_tui.units import latency, number, number3, number_up, share, signed, signless

if TYPE_CHECKING:
    from bioeval_tui.statistics.differences import AgentRank, Difference
    from bioeval_tui.statistics.estimates import Counted, Estimate, LatencySummary
    from bioeval_tui.statistics.intervals import Interval

LONGEST_DETAIL = 140
LONGEST_TITLE = 60
LONGEST_LOSS = 200
LONGEST_CRITERIA = 200
"""The most characters of a peer's text in a sentence, of a title in a caption, and of a lost point."""
PARTS = {"timing": "timing", "task": "tasks", "assertion": "assertions"}
"""What readers call the parts of the score."""
VERDICTS: dict[str, str] = {
    "better": "better", "worse": "worse", "same": "the same", "not distinguishable": "not yet distinguishable",
    "too few": "too few to tell",
}  # fmt: skip
"""What a difference shows."""
FAILED = {
    "agent": "the agent failed",
    "evaluator": "the simulated user failed",
    "judge": "the judge failed",
    "infrastructure": "the measurement failed",
    "unclear": "it is unclear whether the agent failed",
    "program": "this program failed",
}
"""What happened, by whose fault it was."""
LISTED = 4
"""How many models a sentence lists, the best first."""
BRIEFS: dict[Outcome, str] = {
    "not_started": "never started", "unfinished": "not ended", "cancelled": "cancelled", "not_run": "could not be started",
    "agent_unreached": "the agent was not reached", "agent_failed": "the agent failed", "timed_out": "ran out of time",
    "evaluator_failed": "the simulated user failed", "judge_failed": "the judge failed", "not_measured": "not measured",
    "not_clean": "not clean: no difference", "clean_unknown": "no difference: starting states unknown",
    "own_criteria": "no difference: own criteria",
    "facts_help": "facts help", "facts_hurt": "facts hurt", "no_difference": "no clear difference",
    "perfect": "nothing left to gain", "too_few": "too few", "facts_not_given": "no fact was given",
    "facts_unread": "facts in a language that is not read",
    "no_facts": "no facts to give", "one_condition": "only one condition",
}  # fmt: skip
"""A run's conclusion in a few words, for a list."""
TEXTS: dict[type, str] = {
    of.NeverStarted: "The run never started, so nothing was measured.",
    of.NoRunMeasured: "No run of this batch could be measured, so nothing can be compared.",
    of.SeedNotApplied: "seed {0.number} was not applied: {0.detail}",
    of.SetupFailed: "setup {0.number} failed: {0.error}",
    of.NotScored: "not scored: {0.reason}",
    of.NothingSubmitted: "Nothing was submitted for {0.task}.",
    of.NothingPaired: "Nothing can be concluded: no pair of conversations has both scores.",
    of.RehearsalCompared: "one of the runs is a rehearsal",
    of.RunOfOneCondition: "{0.run} was run with {0.title} only",
    of.UncleanRun: "{0.run}: {0.cleanness}, {0.why}",
    of.RunUnfinished: "{0.run} did not finish",
    of.NothingRun: "no conversation was run",
    of.ConditionNotRun: "the job was not run with {0.title}",
    of.ConversationsPart: "The conversations differ from here. Until now, they were the same, word for word.",
    of.StillUnfinished: "The run has not ended: {0:scored} scored.",
    of.WasCancelled: "The run was cancelled{0.detail:bracket} with {0:scored} scored, so it has no result.",
    of.NothingScored: "{0.place:Conversation} nothing was scored, so the run has no result.",
    of.AgentUnreached: "The agent could not be reached, so nothing was measured: {0.cause:short}.",
    of.NoConversation: "No conversation took place, so nothing was measured: {0.cause:short}.",
    of.NoScoreAnywhere: "No conversation has a score: {0.cause:short}.",
    of.NoScoreThere: "{0.place:Conversation} the agent has no score: {0.cause:short}.",
    of.UncleanStart: "{0.scores:Scores}; {0.why:short}, so the difference cannot be attributed to the facts.",
    of.NoPairOfScores: "{0.scores:Scores}; no trial has both scores, so there is no difference.",
    of.SharedNotRecorded: "{0.scores:Scores}, each by its own criteria; the recording lacks verdicts on what both share, so no effect of the facts is claimed.",
    of.NoFactsInJob: "The job has no facts, so both conditions ask the same: {0.scores:scores}{0.trials:over}.",
    of.NoFactGiven: "The user gave the agent no fact, so the facts cannot explain a difference: {0.scores:scores}{0.trials:over}.",
    of.FactsUnread: "{0.why:Clause}, so nothing is said about what the facts change: {0.scores:scores}{0.trials:over}.",
    of.SameStart: "both conditions started from the same {0.shared:and}",
    of.WasResumed: "the run was interrupted and resumed {0.times:time}",
    of.NewerEvents: "events of a newer version are not shown: {0.kinds:comma}",
    of.OneModelOnly: "One agent and model in {0.runs:run}: {0.scores:listed}; there is no other to compare it with.",
    of.OneModelMeasured: "Only {0.model.name} could be measured ({0.model.score:number}), so no model can be called best.",
    of.ModelsUnpaired: "No model can be called best: they were not run on the same jobs and trials ({0.models:models}).",
    of.TooFewForBest: "No model can be called best: {0.few:few} to tell ({0.models:models}); {0.needed} would do.",
    of.ModelsWithinChance: "No model can be called best: the differences cannot be distinguished from chance ({0.models:models}).",
    of.TimesNotCompared: "timing is not compared: A ran {0.a:conversation} at a time with its agent, B {0.b}",
    of.TrialsDiffer: "A has {0.a:trial}, B {0.b}: only trials with the same number are paired",
    of.JudgeNotCalibrated: "judge not calibrated: no sample of its verdicts was reviewed",
    of.ManyExcluded: "more than {0.most:share} of the conversations could not be used: {0.counted:counted}",
    of.HeldAgain: "{0.counted.again:conversation} held again, because the connection to the agent broke; an agent may break it "
    "where it does badly, so no threshold is met: run it again",
    of.NoLongerHolds: "No longer true {0.side:side}: {0.title:title}.",
    of.AgentAsks: "The agent asks. This user knows no facts, so the agent has to go on without the answer.",
}  # fmt: skip
"""The findings whose words need little grammar: `{0.name}` is a field, and `{0.name:short}` a field as `_FORMS` writes it."""
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def sentence(finding: Finding) -> str:
    """Return a finding in words."""
    text = TEXTS.get(type(finding))
    return write(finding) if text is None else _WRITER.format(text, finding)


class _FieldWriter(Formatter):
    """Writes the fields of a finding into its text."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a field in its form; a form without a name of its own is a noun, counted."""
        if not format_spec:
            return str(value)
        form = _FORMS.get(format_spec)
        return plural(value, format_spec) if form is None else form(value)


_WRITER = _FieldWriter()


@singledispatch
def write(finding: object) -> str:
    """Write a finding whose words need more than its fields.

    Raises:
        TypeError: this type has no writer.
    """
    raise TypeError(f"no sentence for {type(finding).__name__}")


# Why a run has no result


@write.register
def _(finding: of.CouldNotStart) -> str:
    return f"The run could not be started: {_short(finding.detail or 'no reason was recorded')}."


@write.register
def _(finding: of.EvaluatorFailures) -> str:
    did = (("stepped out of its role", finding.left_role), ("failed", finding.failed))
    parts = [f"{what} {_places(which.places)} ({_short(which.detail)})" for what, which in did if which]
    count = sum(len(which.places.at) for _, which in did if which)
    about = "that conversation says" if count == 1 else "they say"
    return f"The simulated user {' and '.join(parts)}, so {about} nothing about the agent."


@write.register
def _(finding: of.JudgeFailures) -> str:
    failed = finding.judge
    kept = "the conversation is" if len(failed.places.at) == 1 else "the conversations are"
    return (
        f"The judge failed {_places(failed.places, turns=False)} ({_short(failed.detail)}), so there is no score; "
        f"{kept} kept and can be judged again."
    )


@write.register
def _(finding: of.AgentBroke) -> str:
    did = (("the agent failed", finding.failed), ("the conversation ran out of time", finding.late))
    parts = [f"{what} {_places(which.places)}{_bracket(which.detail)}" for what, which in did if which]
    lost = [f"by {number(taken.score)} {in_side(taken.side)}" for taken in finding.penalties]
    lowered = f"; failed requests lowered this {' and '.join(lost)}" if lost else ""
    return f"{upper_first(' and '.join(parts))}: {_scores(finding.scores)}{lowered}."


# What the facts do


@write.register
def _(finding: of.OneCondition) -> str:
    where = upper_first(in_side(finding.score.side))
    says = f"{where}, the only condition that was run, the agent scores {number(finding.score.score)}"
    if finding.trials.planned == 1:
        best = "nothing was left to gain" if finding.score.score == 1 else _largest_gain(finding.best)
        return f"{says} (one trial){f': {best}' if best else ''}."
    used = finding.trials.used
    if finding.all_equal:
        return f"{says} in each of {used} trials."
    if finding.interval is None:
        return f"{says} over {plural(used, 'trial')}, too few for an interval."
    return f"{says} over {used} trials (95 % interval {interval_words(finding.interval)}, {finding.interval.scope})."


@write.register
def _(finding: of.NoEffectOfFacts) -> str:
    each = _over(finding.trials, all_equal=True)
    if finding.perfect:
        return f"The agent scores 1.00 whether or not it can learn {_that(finding.facts)}{each}: nothing was left to gain."
    best = f"; {_largest_gain(finding.best)}" if finding.best else ""
    return f"Knowing {_that(finding.facts)} made no difference: the agent scores {number(finding.score)} either way{each}{best}."


@write.register
def _(finding: of.EffectOfFacts) -> str:
    verb, because = "lifts" if finding.helps else "lowers", ""
    if finding.cause:
        because = f": {_because(finding.cause, 'it' if len(finding.facts) == 1 else 'them')}"
    return f"Knowing {_that(finding.facts)} {verb} the agent {_span(finding)}{because}."


@write.register
def _(finding: of.EffectWithinChance) -> str:
    return f"The effect of the facts cannot be distinguished from chance: {_span(finding)}."


@write.register
def _(finding: of.TooFewForEffect) -> str:
    because = f"; {_because(finding.cause, 'them')}" if finding.cause else ""
    lost = f"; {_penalty(finding.penalty)}" if finding.penalty else ""
    return (
        f"{_scores_first(finding.scores)}; {_are_too_few(finding)} to tell what knowing {_that(finding.facts)} changes "
        f"({finding.needed} would do){because}{lost}."
    )


def _are_too_few(finding: of.TooFewForEffect) -> str:
    one = finding.cases == 1 or (finding.cases is None and finding.trials.used == 1)
    return f"{_few(finding)} {'is' if one else 'are'} too few"


def _few(finding: of.TooFewForEffect) -> str:
    if finding.cases is not None:
        return plural(finding.cases, "case")
    used, planned = finding.trials.used, finding.trials.planned
    return _spelt(used, "trial") if used == planned else f"{_used(finding.trials)} with both scores"


@write.register
def _(finding: of.NoSharedCriteria) -> str:
    own = f"{_scores_first(finding.scores)}{_over_all(finding.trials)}{_by_own_criteria(finding.fails)}"
    return f"{own}; the conditions share none, so no effect of the facts is claimed."


@write.register
def _(finding: of.PartlySharedCriteria) -> str:
    own = f"{_scores_first(finding.scores)}{_by_own_criteria(finding.fails)}"
    return f"{own}; on what both share, {shared_words(finding.shared)}, {_effect(finding.effect)}."


def _by_own_criteria(fails: of.Cause | None) -> str:
    """Return how scores of conditions with their own criteria came about: what fails in the lower one, if anything does."""
    return ", each by its own criteria" + (f": {_because(fails, 'them')}" if fails else "")


def _effect(finding: of.EffectFinding) -> str:
    """Return what the facts change, without naming them, as the end of a sentence."""
    match finding:
        case of.NoEffectOfFacts(trials=trials, score=score, perfect=perfect):
            either = f"{number(score)} either way{_over(trials, all_equal=True)}"
            if perfect:
                return f"it scores {either}: nothing was left to gain"
            return f"the facts made no difference: {either}"
        case of.EffectOfFacts():
            verb, because = "lift" if finding.helps else "lower", ""
            if finding.cause:
                because = f": {_because(finding.cause, 'them')}"
            return f"the facts {verb} the agent {_span(finding)}{because}"
        case of.EffectWithinChance():
            return f"the effect of the facts cannot be distinguished from chance: {_span(finding)}"
        case of.TooFewForEffect(penalty=penalty):
            lost = f"; {_penalty(penalty)}" if penalty else ""
            return f"{_are_too_few(finding)} to tell what the facts change ({finding.needed} would do){lost}"


def _span(finding: of.BothScores) -> str:
    """Return such as `from 0.43 to 1.00 in each of 5 trials`."""
    over = _over(finding.trials, finding.interval, all_equal=finding.all_equal)
    return f"{_from_to(finding.withheld, finding.supplied)}{over}"


@write.register
def _(finding: of.EffectBasis) -> str:
    if finding.shared.is_nothing:
        return "each condition has its own criteria, so no difference is claimed"
    return f"the difference is of what both conditions share: {shared_words(finding.shared)}"


def shared_words(shared: of.Shared) -> str:
    """Return such as `2 of 3 tasks and 1 of 5 assertions`."""
    counts = ((shared.tasks, shared.of_tasks, "task"), (shared.assertions, shared.of_assertions, "assertion"))
    return " and ".join(f"{some} of {plural(every, noun)}" for some, every, noun in counts if every)


# A run at a glance


@write.register
def _(finding: of.RunLead) -> str:
    if not finding.conditions:
        return "No conversation was run."
    text = f"{upper_first('; '.join(map(_condition, finding.conditions)))}."
    if finding.shared is not None and finding.shared.is_nothing:
        text += " Each condition has its own criteria, so no difference is claimed."
    elif finding.uplift is not None and (finding.facts_given or finding.facts_unread):
        shared = f" on what both share: {shared_words(finding.shared)}" if finding.shared else ""
        text += f" The difference is {signed(finding.uplift)}{shared}."
    elif finding.uplift is not None:
        text += f" No fact was given, so the difference of {signed(finding.uplift)} is not due to the facts."
    elif finding.why_not_clean:
        text += f" {upper_first(finding.why_not_clean)}: {finding.cleanness}."
    return f"{text} The run is clean: {sentence(finding.same_start)}." if finding.same_start else text


def _condition(finding: of.ConditionLead) -> str:
    where = in_side(finding.score.side)
    if finding.score.score is None:
        why = ", ".join(FAILED.get(reason, reason) for reason in finding.excluded)
        return f"{where} the agent could not be scored{f' ({why})' if why else ''}"
    done = f"tasks passed {finding.passed} of {finding.tasks} times"
    if finding.once:
        done = f"{finding.passed} of {plural(finding.tasks, 'task')} done"
    return f"{where} the agent scored {number(finding.score.score)}{f', {done}' if finding.tasks else ''}"


@write.register
def _(finding: of.NoUplift) -> str:
    return f"{finding.cleanness}: {finding.why}{', so no difference is shown' if finding.missed else ''}"


@write.register
def _(finding: of.NoMean) -> str:
    if finding.only:
        return f"The mean {needs_all(finding.conditions)}, and this run has {finding.only} only."
    if not finding.ended:
        return "The run has not ended, so there is no mean."
    return "A conversation could not be used, so there is no mean."


@write.register
def _(finding: of.NeverAsked) -> str:
    why = {
        "user": "The user never asked for it and could have: not measured, the user's fault and not the agent's",
        "turns": "The user had not asked for it when the turns were used up",
        "agent": "The user had not asked for it when the agent failed or said goodbye",
    }
    return why[finding.kept_by]


@write.register
def _(finding: of.UserErred) -> str:
    kinds = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in finding.kinds)
    judged = f" ({finding.judged} found by the judge)" if finding.judged else ""
    return f"the simulated user erred in {finding.conversations} of {plural(finding.of, 'conversation')}: {kinds}{judged}"


def seen_in(where: Sequence[str], text: str) -> str:
    """Return a warning with the conversation that it is about, or in how many it was seen."""
    return f"{where[0] if len(where) == 1 else f'{len(where)} conversations'}: {text}"


# Which model is best


@write.register
def _(finding: of.BestModel) -> str:
    best, second = finding.models[:2]
    than, by = (second.name, "by") if len(finding.models) == 2 else ("every other model", "by at least")
    return f"{best.name} does better than {than}, {by} {number(finding.margin)} ({_models(finding.models)})."


@write.register
def _(finding: of.ModelsTied) -> str:
    all_tied = len(finding.tied) == len(finding.models)
    scores = number(finding.models[0].score) if all_tied else _models(finding.models)
    few = f"; {_too_few(finding.few)} to tell more" if finding.few else ""
    return f"No model can be called best: {' and '.join(finding.tied)} score the same ({scores}){few}."


# Submissions


@write.register
def _(finding: of.InvalidSubmission) -> str:
    why = _short(finding.error or "no reason was recorded")
    return f"The submission for {finding.task} is invalid: {why}."


@write.register
def _(finding: of.GradedSubmission) -> str:
    medal = finding.medal.capitalize() if finding.medal else "No medal"
    median = "above the median" if finding.above_median else "not above the median"
    place = f"place {finding.place}" if finding.place else ""
    parts = (finding.score, finding.rows, place, "" if finding.medal else median, finding.away)
    doubts = f" In doubt: {finding.doubts}." if finding.doubts else ""
    return f"{medal} on {finding.task}: {', '.join(filter(None, parts))}.{doubts}"


# Where a conversation lost points


@write.register
def _(finding: of.Gain) -> str:
    match finding.kind:
        case "assertion":
            return f"assertion “{finding.title}”"
        case "task" if finding.met is None:
            return f"task “{finding.title}” to 1.0"
        case "task":
            return f"“{finding.title}” {'met' if finding.met else 'not met'}"
        case "timing":
            return f"answers within {latency(finding.target_s * 1000)} on average"
        case "failures":
            return f"no failures (now {finding.failures})"


@write.register
def _(finding: of.TaskFellShort) -> str:
    return _loss(f"“{finding.title}”: {finding.reason or f'the judge scored it {finding.judged}'}")


@write.register
def _(finding: of.AssertionFails) -> str:
    since = f" since turn {finding.since}" if finding.since else ""
    reason = f": {finding.reason}" if finding.reason else ""
    return _loss(f"“{finding.title}” fails{since}{reason}")


@write.register
def _(finding: of.SlowAnswers) -> str:
    if finding.turn is None:
        return "slow answers"
    return f"slow answers: the slowest, in turn {finding.turn}, took {latency(finding.latency_ms)}"


@write.register
def _(finding: of.RequestsFailed) -> str:
    return _loss(plural(finding.count, "failed request") + (f": {finding.error}" if finding.error else ""))


def _loss(text: str) -> str:
    return shorten(clean_line(text), LONGEST_LOSS)


# Two runs


@write.register
def _(finding: of.TasksCompared) -> str:
    moved = [f"{PARTS.get(part, part)} {signed(change)}" for part, change in finding.moved]
    by_part = f" By part: {', '.join(moved)}." if moved else ""
    return f"{upper_first(finding.title)}: {_tasks(finding)}; overall {difference_words(finding.overall)}.{by_part}"


def _tasks(finding: of.TasksCompared) -> str:
    if not finding.tasks:
        return "no task can be compared"
    if not finding.better and not finding.worse:
        return f"B scores the same on {plural(finding.tasks, 'task')}"
    lower = f" and lower on {finding.worse}" if finding.worse else ""
    return f"B scores higher on {finding.better} of {plural(finding.tasks, 'task')}{lower}"


@write.register
def _(finding: of.ChecksCorrected) -> str:
    parts = ", ".join(f"{_checked(what)}{_p(p)}" for what, p in finding.different)
    what = f"significantly different: {parts}" if parts else "none is significantly different"
    return f"{upper_first(finding.title)}: of {finding.tested} tasks and assertions, corrected for looking at all (Holm), {what}."


@write.register
def _(finding: of.FellBeyondChance) -> str:
    return f"{finding.condition}: {_checked(finding.checked)} fell, {difference_words(finding.found)}{_p(finding.found.p)}"


@write.register
def _(finding: of.RegressionUndecided) -> str:
    needed, few = finding.needed, finding.few
    enough = f"{needed} trials of each run (--repeat {needed})" if finding.of_trials else f"{needed} cases"
    pairs = f"{plural(few.count, few.unit)} that both runs scored"
    return f"cannot tell whether B is worse: {pairs} may differ by chance alone; {enough} would do"


@write.register
def _(finding: of.PairsWithoutInterval) -> str:
    seen = "One pair shows" if finding.pairs == 1 else f"{finding.pairs} pairs show"
    return f"{seen} what happened, not what to expect: {FEWEST} trials of each run could tell a large difference."


@write.register
def _(finding: of.PairsWithinChance) -> str:
    few = plural(finding.few.count, finding.few.unit)
    return f"{few} cannot tell a difference from chance: {finding.needed} would do."


@write.register
def _(finding: of.UnseenDifference) -> str:
    more = ""
    if finding.enough is not None:
        units = _units(of_cases=finding.of_cases)
        more = f"; {finding.enough} {units} without one would leave less than {share(finding.rare)}"
    return f"A difference in up to {share(finding.share)} of trials could have been missed{more}."


@write.register
def _(finding: of.OpenDifference) -> str:
    more = ""
    if finding.needed is not None:
        units, power = _units(of_cases=finding.of_cases), share(finding.power)
        more = f"; about {finding.needed:,} {units} would show one of {finding.effect:g} ({power} power)"
    if finding.interval is None:
        return f"The difference may be chance{more}."
    return f"A difference from {interval_words(finding.interval)} remains possible{more}."


@write.register
def _(finding: of.JobsDiffer) -> str:
    listed = [f"{path}: A {a}, B {b}" for path, a, b in finding.changed]
    if finding.more:
        listed.append(f"and {finding.more} more")
    changes = "; ".join(listed) or "only in layout or comments"
    return f"the job files differ ({changes}): tasks and assertions are matched by their titles"


@write.register
def _(finding: of.NothingCompared) -> str:
    return "; ".join(["cannot tell whether B is worse: no score is of the same in both runs", *finding.why])


@write.register
def _(finding: of.CasesOfOneRun) -> str:
    cases = f"{plural(finding.count, 'case')} {'is' if finding.count == 1 else 'are'}"
    return f"{cases} only in {finding.run} and not compared: {_first_of(finding.named, finding.count)}"


def _first_of(named: Sequence[str], count: int) -> str:
    """Return the first names of so many."""
    more = f" and {count - len(named)} more" if count > len(named) else ""
    return f"{', '.join(named)}{more}"


@write.register
def _(finding: of.ContentsDiffer) -> str:
    changes = "; ".join(f"{path}: A {a}, B {b}" for path, a, b in finding.changed)
    what = "only what is the same in them is compared" if finding.in_part else "they are not compared"
    if not finding.named:
        what = (
            "only tasks and assertions that are the same are compared"
            if finding.in_part
            else "nothing is compared"
        )
        return f"what the user knows, or what is scored, is not the same in both runs: {what} ({changes})"
    has = f"{finding.count} of {plural(finding.of, 'case')} {'has' if finding.count == 1 else 'have'}"
    names = _first_of(finding.named, finding.count)
    return f"{has} other contents in B than in A, and {what}: {names} (the first: {changes})"


@write.register
def _(finding: of.IdentityDiffers) -> str:
    listed = "; ".join(f"{what}: A {a or 'none'}, B {b or 'none'}" for what, a, b in finding.changed)
    return f"the runs differ in more than their results ({listed})"


@write.register
def _(finding: of.TimingLeftOut) -> str:
    why = ", because the targets for response times differ" if finding.targets_differ else ""
    return f"scores here leave out the timing part on both sides{why}"


@write.register
def _(finding: of.PeopleWouldSay) -> str:
    where = f"{finding.title}: " if finding.title else ""
    if finding.estimate is None or finding.interval is None:
        return f"{where}what people would say about the tasks is unknown: {finding.refused}"
    span = f"[{number(finding.interval.low)}, {number(finding.interval.high)}]"
    of_all = f"{finding.reviews} of {finding.verdicts:,} verdicts reviewed"
    return f"{where}tasks: people would say {number(finding.estimate)} {span} ({of_all}; the judge said {number(finding.judge)})"


@write.register
def _(finding: of.JudgeOnSentinels) -> str:
    count = plural(
        finding.sentinels, "conversation with a known verdict", "conversations with known verdicts"
    )
    if not finding.faults:
        return f"this judge gets nothing wrong about {count} beyond chance"
    patterns = {
        "lenient": "is too lenient (scores what is not met {}, right is 0)",
        "strict": "is too strict (what is met lacks {}, right is 0)",
        "drifting": "drifts ({} from its first to its last calls)",
        "changed": "has changed ({} since the earlier test)",
        "inventing": "invents quotations (in {} of the conversations)",
    }
    shown = {"lenient": number, "strict": number, "drifting": signed, "changed": signed, "inventing": share}
    faults = [patterns[fault].format(shown[fault](size)) for fault, size in finding.faults]
    return f"on {count}, this judge {', '.join(faults)}"


@write.register
def _(finding: of.SimulatedUsers) -> str:
    apart, interval = finding.difference.mean, finding.difference.estimate.interval
    if apart is None:
        return f"{finding.title}: no conversation that simulated users held was also held by a person"
    both = plural(finding.difference.units, finding.difference.unit)
    spread = f", 95 % interval {interval_words(interval)}" if interval else ", too few for an interval"
    if finding.difference.verdict in ("better", "worse"):
        more = "higher" if apart > 0 else "lower"
        return f"{finding.title}: simulated users score the agent {number(abs(apart))} {more} than a person ({both}{spread})"
    end = VERDICTS[finding.difference.verdict]
    return f"{finding.title}: scores with simulated users lie {signed(apart)} from a person's ({both}{spread}): {end}"


@write.register
def _(finding: of.VerdictsReplaced) -> str:
    run = f"{finding.run}: " if finding.run else ""
    what = f"{run}{finding.conversations} of {plural(finding.held, 'conversation')} judged again"
    what += f" by the criteria of {clean_line(finding.job, 80)}" if finding.job else ""
    if finding.waits:
        return f"{what}: the verdicts before them count until all that can be judged are; the same command goes on"
    if not finding.counts:
        return f"{what}: the recorded verdicts count, the later ones are shown beside them"
    judges = ", ".join(finding.judges)
    return f"{what}: the latest verdict of each counts ({judges}), the recorded ones are shown beside them"


@write.register
def _(finding: of.CriteriaChanged) -> str:
    recorded, given = (
        f"“{shorten(clean_line(words), LONGEST_CRITERIA)}”" if words else "nothing"
        for words in (finding.recorded, finding.given)
    )
    return f"task {finding.task}: recorded {recorded}, in {clean_line(finding.job, 80)} {given}"


# The gate, the stop rule, ranks and plans


@write.register
def _(finding: of.ScoreBasis) -> str:
    if not finding.needed:
        return "; ".join(counted_with_causes(counted) for _, counted in finding.counted)
    listed = "; ".join(
        f"{condition} {counted_with_causes(counted)}" for condition, counted in finding.counted
    )
    return f"{needs_all(finding.needed)}; {listed}" if len(finding.counted) < finding.needed else listed


def needs_all(conditions: int) -> str:
    """Return the text in place of the mean and the difference, if not all of the job's conditions were run."""
    return f"needs {both_or_all(conditions)} conditions"


@write.register
def _(finding: of.NotExcused) -> str:
    ours = dict(finding.counted.reasons).get("program", 0)
    theirs = finding.counted.unexcused - ours
    by_agent = (
        f"{plural(theirs, 'conversation')} because of what the agent sent, or did not send" if theirs else ""
    )
    by_bug = (
        f"{plural(ours, 'conversation')} because of a bug in this program: please report it" if ours else ""
    )
    left_out = "; ".join(filter(None, (by_agent, by_bug)))
    return f"left out: {left_out}; no gate passes over that, however few they are"


@write.register
def _(finding: of.PassShareBasis) -> str:
    if finding.measured:
        return f"over {finding.tasks} tasks"
    if not finding.tasks:
        return "the job has no tasks"
    return f"{finding.k} trials are needed, there are {finding.most}"


@write.register
def _(finding: of.TimesBasis) -> str:
    if not finding.answers:
        return "no answer in a conversation that counts"
    scope = f"of {plural(finding.answers, 'answer')} in conversations that count"
    if finding.answers * (100 - finding.percent) < 100:
        scope += f", so few that p{finding.percent} is the longest"
    failed = plural(finding.failures, "failed request")
    return f"{scope}; {failed} left out" if finding.failures else scope


@write.register
def _(finding: of.AssertionMissed) -> str:
    return f"{finding.trial}: {finding.reason or 'failed'}"


@write.register
def _(finding: of.StopDecision) -> str:
    left = f"; {plural(finding.left_out, 'round')} left out, since a conversation could not be measured"
    tail = left if finding.left_out else ""
    if finding.interval is None:
        return f"undecided: no round could be measured{tail}"
    rounds, subject = plural(finding.rounds, "round"), _subject(finding)
    low, high = signless(finding.interval.low), signless(finding.interval.high)
    width = f"[{low}, {high}], valid at every look"
    if finding.decision == "undecided":
        return f"undecided after {rounds}: {subject} lies in {width}{tail}"
    if finding.models:
        better, worse = finding.models if finding.decision == "above" else finding.models[::-1]
        return f"decided after {rounds}: {better} is better than {worse}; {subject} lies in {width}{tail}"
    return (
        f"decided after {rounds}: {subject} is {finding.decision} {finding.bar:g}; it lies in {width}{tail}"
    )


def _subject(finding: of.StopDecision) -> str:
    over = f" over {plural(len(finding.jobs), 'job')}" if len(finding.jobs) > 1 else f" of {finding.jobs[0]}"
    facts = title_of(finding.conditions[0])
    if finding.models:
        first, second = finding.models
        return f"{first} − {second}, {facts}{over},"
    count = len(finding.conditions)
    return f"{f'the mean of {both_or_all(count)} conditions' if count > 1 else facts}{over}"


@write.register
def _(finding: of.RanksBasis) -> str:
    cases = plural(finding.cases, "common case")
    if finding.cases < finding.needed:
        return f"{cases}: too few for ranks that hold on other cases, {finding.needed} are needed"
    left = f"; {finding.left_out} that not all agents have are left out" if finding.left_out else ""
    return f"with 95 % confidence, all true ranks are in these intervals; {cases}{left}"


@write.register
def _(finding: of.AgentRanksBasis) -> str:
    if finding.unranked and len(finding.unranked) == finding.agents:
        return "no ranks: percentiles on leaderboards are unknown for all valid submissions"
    of = "all agents have"
    rest = ""
    if finding.unranked:
        of = "all other agents have"
        rest = f"; no rank for {join_names(finding.unranked)}: no percentile is known"
    if finding.shared < finding.needed:
        return f"ranks need {finding.needed} tasks that {of}; there are {finding.shared}{rest}"
    return f"ranks on {finding.shared:,} tasks that {of}, with 95 % confidence in all of them together{rest}"


@write.register
def _(finding: of.BehindNext) -> str:
    mean, interval, pairs = (
        finding.behind.mean,
        finding.behind.estimate.interval,
        len(finding.behind.estimate.points),
    )
    if mean is None:
        return ""
    verdict = finding.behind.verdict
    shown = f"{signed(mean, 1)} percentiles on {pairs:,} shared task{'' if pairs == 1 else 's'}"
    if interval is None:
        return f"{shown}: {VERDICTS[verdict]}"
    low, high = signed(interval.low, 1), signed(interval.high, 1)
    return f"{shown}, 95 % interval {low} to {high}: {VERDICTS[verdict]}"


@write.register
def _(finding: of.MannerBasis) -> str:
    few = ""
    if finding.conversations < finding.needed:
        few = (
            f"{_too_few(of.Units(finding.conversations, 'conversation'))} to tell whether this user is like people; "
            f"{finding.needed} would give intervals. "
        )
    return (
        f"{few}people: {finding.people} ({finding.licence}), {finding.about}; mean and the middle 90 % of "
        f"{finding.of_people} conversations; English phrases"
    )


@write.register
def _(finding: of.PartNeeded) -> str:
    part, target = finding.part, number(finding.target)
    name = PARTS[part.part]
    if part.value is None:
        return f"{name} alone cannot reach {target}: even 1.00 gives {number(part.best)}"
    now, wanted = number(part.now), number_up(part.value)
    if part.value <= part.now:
        return f"{name} could fall from {now} to {wanted} and still reach {target}"
    return f"to reach {target}, {name} would have to rise from {now} to {wanted}"


@write.register
def _(finding: of.IntervalExpected) -> str:
    about = f"an interval of about ±{number(finding.half)}, if trials vary by {number(finding.deviation)}"
    if finding.trials >= finding.needed:
        return f"{finding.trials} trials give {about}"
    return f"{plural(finding.trials, 'trial')}: no interval; {finding.needed} give {about}"


# A moment of a conversation


@write.register
def _(finding: of.Beginning) -> str:
    return f"Conversation {finding.number} of {finding.of}: {_knows(finding)}."


def _knows(finding: of.Beginning) -> str:
    if finding.scripted_model:
        words = "does not name the medicine" if finding.withheld else "names the medicine this time"
        return f"a script plays the user and {words}; the agent is a real language model"
    if finding.withheld:
        return "the user knows no facts, and cannot answer when the agent asks"
    return f"the same user again, who now knows {plural(finding.facts, 'fact')} and shares them when asked"


@write.register
def _(finding: of.RequestJustFailed) -> str:
    error = shorten(finding.error, LONGEST_TITLE)
    return f"A request to the {finding.peer} failed ({error}); failures of the agent lower its score."


@write.register
def _(finding: of.NowTrue) -> str:
    more = f" and {finding.more} more" if finding.more else ""
    return (
        f"Now true: {_title(finding.title)}{more}. This is checked in the agent's state, not in its answers."
    )


@write.register
def _(finding: of.FactJustGiven) -> str:
    why = {True: " because the agent asked", False: " without being asked", None: ""}[finding.asked]
    return f"The user gives fact {finding.fact}{why}."


@write.register
def _(finding: of.AwaitsVerdict) -> str:
    reads = "Rules judge" if finding.by_rules else "The judge reads"
    where = in_side(finding.side)
    return f"The conversation {where} has ended. {reads} it, and every assertion is checked once more."


@write.register
def _(finding: of.EndsWithoutScore) -> str:
    return f"This conversation could not be scored: {shorten(finding.reason, 120)}."


@write.register
def _(finding: of.EndsWithScore) -> str:
    where = upper_first(in_side(finding.score.side))
    return f"{where} the agent scores {number(finding.score.score)}: {_holds(finding)}."


def _holds(finding: of.EndsWithScore) -> str:
    if not finding.assertions:
        return "it had no assertions"
    count, first = plural(finding.assertions, "assertion"), _title(finding.first)
    if not finding.fails:
        return f"all {count} hold, such as {first}" if finding.first else f"all {count} hold"
    if finding.fails == 1:
        return f"{first} does not hold"
    return f"{finding.fails} of {count} do not hold, such as {first}"


# What to do next


class StepWords(NamedTuple):
    """A suggestion: what to do, a few words beside it, and what it is good for."""

    what: str
    more: str
    about: str


def next_step(finding: NextFinding) -> StepWords:
    """Return a suggestion in words."""
    match finding:
        case of.WatchNext(job):
            return StepWords(f"Watch {job}", "in progress", "Follow the run live.")
        case of.RepeatNext(job, trials, needed):
            return StepWords(
                f"Run {job} with {needed} trials",
                f"its last run had {trials}",
                f"{plural(trials, 'trial')} cannot show how much of a score is chance. {needed} give a "
                "95 % interval for each score, and for what the facts add.",
            )
        case of.CompareNext(job, before, after):
            return StepWords(
                f"Compare the last two runs of {job}",
                f"{number(before)} → {number(after)}",
                "Compare tasks, assertions and response times, see which differences are statistically "
                "supported, and read the passages behind each of them side by side.",
            )
        case of.ReviewNext(job):
            return StepWords(
                f"Review the judge of {job}",
                "not reviewed yet",
                "Read each judged task with the passages that the judge quotes, then accept the score, or "
                "give another and say why.",
            )
        case of.RunNext(job, path, tasks, facts, assertions):
            has = ", ".join((plural(tasks, "task"), plural(facts, "fact"), plural(assertions, "assertion")))
            return StepWords(
                f"Run {job}",
                "never run yet",
                f"{path or 'A sample'}: {has}. A dialog lets you choose how to run it.",
            )


# Estimates


def interval_words(finding: Interval) -> str:
    """Return such as `0.61 to 0.83`."""
    return f"{signless(finding.low)} to {signless(finding.high)}"


def spread_words(finding: Estimate) -> str:
    """Return the interval with its scope, or the points and their range when there are too few for one."""
    interval, points = finding.interval, finding.points
    if interval is not None:
        return f"95 % interval {interval_words(interval)}, {interval.scope}"
    if not points:
        return "no value"
    if len(points) == 1:
        return "one value, no interval"
    if finding.all_equal:
        return f"all {len(points)} values are equal, too few for an interval"
    listed = ", ".join(signless(point) for point in points[:FEWEST]) + ", …" * (len(points) > FEWEST)
    spread = f"range {signless(min(points))} to {signless(max(points))}"
    return f"{len(points)} values: {listed}; {spread}, too few for an interval"


def counted_words(finding: Counted) -> str:
    """Return such as `9 of 10 used (the judge failed in 1), 2 held again because the connection broke`."""
    why = ", ".join(_left_out(reason, count) for reason, count in finding.reasons)
    again = f", {finding.again} held again because the connection broke" if finding.again else ""
    return f"{finding.used} of {finding.held} used{f' ({why})' if why else ''}{again}"


def counted_with_causes(finding: Counted) -> str:
    """Return the same with what happened: `9 of 10 used (the judge failed in 1: it gave no verdict within 60 s)`."""
    causes = dict(finding.causes)
    listed = [
        _left_out(reason, count) + (f": {causes[reason]}" if reason in causes else "")
        for reason, count in finding.reasons
    ]
    return counted_words(replace(finding, reasons=())) + (f" ({'; '.join(listed)})" if listed else "")


def _left_out(reason: str, count: int) -> str:
    return f"{FAILED[reason]} in {count}" if reason in FAILED else f"{count} {reason}"


def difference_words(finding: Difference) -> str:
    """Return such as `+0.07, 95 % interval −0.01 to 0.15: not yet distinguishable`."""
    if finding.mean is None:
        return f"not measured ({counted_words(finding.estimate.counted)})"
    mean, end = signed(finding.mean), VERDICTS[finding.verdict]
    points, interval = finding.estimate.points, finding.estimate.interval
    if len(points) == 1:
        return f"{mean} in one pair: {end}"
    low, high = signed(min(points)), signed(max(points))
    if low == high and (interval is None or finding.estimate.all_equal):
        return f"{mean} in each of {len(points)} pairs: {end}"
    if interval is None:
        return f"{mean}, {len(points)} pairs from {low} to {high}: {end}"
    return f"{mean}, 95 % interval {interval_words(interval)}: {end}{_p(finding.p) if finding.beyond_interval else ''}"


def effect_words(finding: Difference, shared: of.Shared | None) -> str:
    """Return the difference between the conditions in the same words, and what it rests on if not on everything."""
    words = difference_words(finding)
    if shared is None or (finding.mean is None and not shared.is_nothing):
        return words
    basis = sentence(of.EffectBasis(shared))
    return basis if shared.is_nothing else f"{words}; {basis}"


def p_words(p: float) -> str:
    """Return three decimals, or `< 0.001`."""
    return "< 0.001" if p < 0.001 else number3(p)


def rank_words(finding: AgentRank) -> str:
    """Return such as `rank 2–7`, or `rank 1`."""
    return f"rank {finding.best}" if finding.best == finding.worst else f"rank {finding.best}–{finding.worst}"


def concurrency_words(finding: LatencySummary) -> str:
    """Return such as `1 conversation at a time`."""
    listed = " and ".join(str(number) for number in finding.concurrency)
    plain = finding.concurrency == (1,)
    return f"{listed} conversation{'' if plain else 's'} at a time" if listed else "concurrency unknown"


# Parts of sentences


def in_rehearsal(text: str) -> str:
    """Return a sentence that says first that it is about a rehearsal; names of agents and models keep their capital."""
    return f"Rehearsal: {lower_first(text)}"


def lower_first(text: str) -> str:
    """Return a sentence in the form used after a colon."""
    first = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if first.isalpha() and first.capitalize() == first else text


def under(title: str, text: str) -> str:
    """Return a sentence under a title, such as `Facts withheld: one pair shows …`."""
    return f"{upper_first(title)}: {text[:1].lower()}{text[1:]}"


def in_side(side: of.Side) -> str:
    """Return `without the facts`, or the condition by the name that the job gives it: `in “knows nothing”`."""
    published = {WITHHELD.title: "without the facts", SUPPLIED.title: "with the facts"}
    return published.get(side.title, f"in “{side.title}”")


def _scores(scores: Sequence[of.SideScore]) -> str:
    """Return such as `the agent scores 0.44 without the facts and 1.00 with the facts`."""
    return f"the agent scores {_listed(scores)}"


def _scores_first(scores: Sequence[of.SideScore]) -> str:
    return upper_first(_scores(scores))


def _listed(scores: Sequence[of.SideScore]) -> str:
    return listed(f"{number(one.score)} {in_side(one.side)}" for one in scores)


def _from_to(without: of.SideScore, with_facts: of.SideScore) -> str:
    """Return such as `from 0.43 to 1.00`, with the conditions if the job names them."""
    ends = []
    for word, one in (("from", without), ("to", with_facts)):
        where = in_side(one.side)
        ends.append(f"{word} {number(one.score)}{f' {where}' if where.startswith('in ') else ''}")
    return " ".join(ends)


def _models(models: Sequence[of.ModelScore]) -> str:
    listed = ", ".join(f"{one.name} {number(one.score)}" for one in models[:LISTED])
    return listed + (f", {len(models) - LISTED} more" if len(models) > LISTED else "")


MOST_FACTS, LONGEST_FACTS = 3, 110
"""How many facts a sentence names, and in how many characters."""
LEAST_SENTENCE = 4
"""Minimum number of words of a sentence; `A penicillin allergy` is none."""
_USER = "that the user "
_SUBJECT = re.compile(r"(the|an?|s?he|they|his|her|their) ", re.IGNORECASE)
_BRACKETS = re.compile(r"\([^()]*\)")


def _that(facts: Sequence[str]) -> str:
    """Return facts as a clause: `that the user lives in Sydney and takes 5 mg of warfarin`."""
    if not facts:
        return "the facts of each case"
    clauses, named = list(map(_clause, facts)), list[str]()
    for at, clause in enumerate(clauses[:MOST_FACTS]):
        about_user = at and clause.startswith(_USER) and clauses[at - 1].startswith(_USER)
        words = clause.removeprefix(_USER) if about_user else clause
        if named and len(", ".join([*named, words])) > LONGEST_FACTS:
            break
        named.append(words)
    if left := len(facts) - len(named):
        named.append(plural(left, "more fact"))
    return listed(named)


def _clause(fact: str) -> str:
    """Return a fact as `that …`, without what is in brackets; quoted if it is no sentence."""
    text = " ".join(_BRACKETS.sub("", fact).split()).rstrip(" .")
    is_sentence = _SUBJECT.match(text) and len(text.split()) >= LEAST_SENTENCE
    return f"that {lower_first(_short(text, 80))}" if is_sentence else f"“{_short(text, 60)}”"


def _because(cause: of.Cause, them: str) -> str:
    """Return such as `without them “a reminder exists” fails in every trial`."""
    title = f"“{_short(cause.title, 70)}”"
    there = {WITHHELD.name: f"without {them}", SUPPLIED.name: f"with {them}"}.get(
        cause.lower.condition, in_side(cause.lower)
    )
    among = " with both scores" if cause.among else ""
    several = cause.trials > 1
    if cause.kind == "assertion":
        return f"{there} {title} fails" + (f" in every trial{among}" if several else "")
    return f"{there} the task {title} is not done" + (f" in any trial{among}" if several else "")


def _penalty(finding: of.Penalty) -> str:
    requests = f"{plural(finding.failures, 'failed request')} {in_side(finding.side)}"
    return f"{number(finding.points)} of the difference is the penalty for {requests}"


def _largest_gain(best: of.Gain | None) -> str:
    if best is None:
        return ""
    return f"the largest gain would come from {_short(sentence(best), 90)} ({signed(best.by)})"


def _over(trials: of.Trials, interval: Interval | None = None, *, all_equal: bool = False) -> str:
    """Return what a difference rests on: ` (one trial)`, ` in each of 5 trials`, or ` over 5 trials` with its interval."""
    if trials.used == 1:
        only = f"the only one of {trials.planned} trials with both scores"
        return f" ({'one trial' if trials.planned == 1 else only})"
    if all_equal:
        return f" in each of {_used(trials)}"
    around = f" (95 % interval of the difference {interval_words(interval)})" if interval is not None else ""
    return f" over {_used(trials)}{around}"


def _over_all(trials: int) -> str:
    return " (one trial)" if trials == 1 else f" over {trials} trials"


def _used(trials: of.Trials) -> str:
    """Return such as `4 of 5 trials`, `36 trials of 12 cases`, or `50 cases` of one trial each."""
    if trials.used == trials.planned == trials.cases:
        return f"{trials.cases} cases"
    used = f"{trials.used} of {trials.planned}" if trials.used < trials.planned else str(trials.used)
    return f"{used} trials" + (f" of {plural(trials.cases, 'case')}" if trials.cases else "")


def _too_few(few: of.Units) -> str:
    return f"{plural(few.count, few.unit)} {'is' if few.count == 1 else 'are'} too few"


def _conversation(place: of.TalkPlace) -> str:
    """Return such as `in the conversation with the facts of trial 2`."""
    trial = f" of {place.trial}" if place.trial else ""
    return f"in the conversation {in_side(place.side).removeprefix('in ')}{trial}"


def _places(places: of.Places, *, turns: bool = True) -> str:
    """Return where something happened: in one conversation, in both, or in how many, and first in which."""
    shown = [f"{f'{_turn(place)} ' if turns else ''}{_conversation(place)}" for place in places.at]
    if len(shown) == 1:
        return shown[0]
    if len(shown) == places.held == 2:
        moments = {_turn(place) if turns else "" for place in places.at}
        return f"{moments.pop()} in both conversations".lstrip() if len(moments) == 1 else " and ".join(shown)
    return f"in {len(shown)} of {places.held} conversations, first {shown[0]}"


def _turn(place: of.TalkPlace) -> str:
    return "before the first turn" if place.turn is None else f"at turn {place.turn}"


def _checked(what: of.Checked) -> str:
    match what.kind:
        case "score":
            return "the score"
        case "part":
            return f"the score {part_title(what.title)}"
        case kind:
            return f"{kind} “{what.title}”"


def part_title(name: str) -> str:
    """Return how a part of the score is called in a comparison, such as `from timing`."""
    return f"from {PARTS.get(name, name)}"


def _units(*, of_cases: bool) -> str:
    return "cases" if of_cases else "trials of each run"


def _share(scored: int, planned: int) -> str:
    return f"{scored} of {plural(planned, 'conversation')}"


def _spelt(count: int, noun: str) -> str:
    if count >= len(_COUNTS):
        return plural(count, noun)
    return f"{_COUNTS[count]} {noun}{'' if count == 1 else 's'}"


def _bracket(detail: str) -> str:
    return f" ({_short(detail)})" if detail else ""


def _p(p: float | None) -> str:
    return "" if p is None else f" (p {p_words(p)})"


def _title(title: str) -> str:
    return f"“{shorten(title, LONGEST_TITLE)}”"


def _short(text: str, width: int = LONGEST_DETAIL) -> str:
    return shorten(clean_line(text), width).rstrip(".")


_FORMS: dict[str, Callable[[Any], str]] = {
    "and": " and ".join,
    "bracket": _bracket,
    "comma": ", ".join,
    "Conversation": lambda place: upper_first(_conversation(place)),
    "counted": counted_words,
    "few": _too_few,
    "listed": _listed,
    "models": _models,
    "number": number,
    "over": _over_all,
    "scored": lambda found: _share(found.scored, found.planned),
    "scores": _scores,
    "Clause": lambda clause: upper_first(_short(clause)),
    "Scores": _scores_first,
    "share": share,
    "short": _short,
    "side": in_side,
    "title": _title,
}
"""How the texts of `TEXTS` write a field."""
