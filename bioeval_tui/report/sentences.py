"""The words of every finding, for screens, reports, the command line and the gate alike: rules make
them, never a model.

`sentence` finds the writer of a finding by its type. A writer takes what was found and counts,
compares and decides nothing but grammar. A finding without a writer, or a writer without an example
in the tests, fails the build.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from math import isfinite
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from bioeval_tui.base.text import (
    both_or_all,
    clean_line,
    join_names,
    listed,
    plural,
    shorten,
    upper_first,
)
from bioeval_tui.base.units import (
    NO_REASON,
    latency,
    number,
    number1,
    number3,
    number_near,
    number_up,
    score_text,
    share,
    signed,
    signless,
)
from bioeval_tui.record.condition_names import (
    PLACEBO_NAME,
    PLACEBO_TITLE,
    PUBLISHED_TITLES,
    of_mean_words,
    published_title,
    without_placebo,
)
from bioeval_tui.record.score import NO_TASKS
from bioeval_tui.report import findings as of
from bioeval_tui.report.findings import Finding, Outcome
from bioeval_tui.statistics.intervals import FEWEST

if TYPE_CHECKING:
    from bioeval_tui.statistics.estimates import Counted, Estimate, LatencySummary
    from bioeval_tui.statistics.intervals import Interval
    from bioeval_tui.statistics.paired_differences import Difference
    from bioeval_tui.statistics.ranks import AgentRank

LONGEST_DETAIL = 140
LONGEST_TITLE = 60
LONGEST_LOSS = 200
LONGEST_CRITERIA = 200
"""The most characters of a peer's text in a sentence, of a title in a caption, and of a lost point.
"""
PARTS = {"timing": "timing", "task": "tasks", "assertion": "assertions"}
"""What readers call the parts of the score."""
DIRECTIONS: dict[str, str] = {
    "better": "better", "worse": "worse", "same": "the same",
    "not distinguishable": "not yet distinguishable",
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
MOST_FAILS = 2
LONGEST_FAIL = 36
FAIL_WIDTHS = (LONGEST_FAIL, 28, 20)
LONGEST_SAYS = 72
"""How many of what fails an answer names, the most characters of each, wide or where there is less
room, and of what somebody says of the turn that decided.
"""
ONE_LINE = 108
"""How many characters of an answer have one line on a screen of 120 columns, and two on one of
80.
"""
LISTED = 4
"""How many models a sentence lists, the best first."""
BRIEFS: dict[Outcome, str] = {
    "not_started": "never started", "unfinished": "not ended", "cancelled": "cancelled",
    "not_run": "could not be started",
    "agent_unreached": "the agent was not reached", "agent_failed": FAILED["agent"],
    "timed_out": "ran out of time",
    "evaluator_failed": FAILED["evaluator"], "judge_failed": FAILED["judge"],
    "not_measured": "not measured",
    "not_clean": "not clean: no difference",
    "clean_unknown": "no difference: starting states unknown",
    "own_criteria": "no difference: own criteria",
    "facts_help": "facts help", "facts_hurt": "facts hurt", "longer_talk": "the longer talk",
    "no_difference": "no clear difference",
    "perfect": "nothing left to gain", "too_few": "too few", "facts_not_given": "no fact was given",
    "facts_unread": "facts in a language that is not read",
    "no_facts": "no facts to give", "one_condition": "only one condition",
}  # fmt: skip
"""A run's answer in a few words, for a list."""
TEXTS: dict[type, str] = {
    of.NeverStarted: "The run never started, so nothing was measured.",
    of.NoRunMeasured: "No run of this batch could be measured, so nothing can be compared.",
    of.SeedNotApplied: "seed {0.number} was not applied: {0.detail}",
    of.SetupFailed: "setup {0.number} failed: {0.error}",
    of.NotScored: "not scored: {0.reason}",
    of.NothingSubmitted: "Nothing was submitted for {0.task}.",
    of.InvalidSubmission: "The submission for {0.task} is invalid: it has no score.",
    of.NotGradedSubmission: "The submission for {0.task} was not graded: the file is not at fault.",
    of.NothingPaired: "Nothing can be concluded: no pair of conversations has both scores.",
    of.RehearsalCompared: "one of the runs is a rehearsal",
    of.RunOfOneCondition: "{0.run} was run in one condition only: {0.title}",
    of.UncleanRun: "{0.run}: {0.cleanness}, {0.why}",
    of.RunUnfinished: "{0.run} did not finish",
    of.NothingRun: "no conversation was run",
    of.ConditionNotRun: "the job was not run {0.title}",
    of.ConversationsPart: "The conversations differ from here. Until now, they were the same, word"
    " for word.",
    of.CouldNotStart: "The run could not be started.",
    of.StillUnfinished: "The {0.what} has not ended: {0:scored} scored.",
    of.WasCancelled: "The run was cancelled{0.detail:bracket} with {0:scored} scored, so it has no"
    " result.",
    of.NothingScored: "{0.place:Conversation} nothing was scored, so the run has no result.",
    of.AgentUnreached: "The agent could not be reached, so nothing was measured.",
    of.AgentGone: "The agent broke off the conversation and was gone, so nothing was measured.",
    of.NoConversation: "No conversation took place, so nothing was measured.",
    of.NoScoreAnywhere: "No conversation has a score.",
    of.TalkDiffers: "not told apart from the longer talk: the user told {0.with_facts:one}"
    " words with the facts and {0.placebo:one} with the placebo, which differ by more than a"
    " quarter",
    of.NoControl: "not told apart from the longer talk: no trial has all three scores",
    of.SameStart: "both conditions started from the same {0.shared:and}",
    of.WasResumed: "the run was interrupted and resumed {0.times:time}",
    of.TrialsAdded: "{0.trials:trial} added by --rerun",
    of.SentAgain: "{0.scores:score} would be lower with the time of requests that were sent"
    " again",
    of.NewerEvents: "events of a newer version are not shown: {0.kinds:comma}",
    of.TrialsChosen: "Shown are the {0.shown:conversation} of the trials that were chosen. All"
    " figures are of all {0.held:count}.",
    of.TimesNotCompared: "timing is not compared: A ran {0.a:conversation} at a time with its"
    " agent, B {0.b}",
    of.TrialsDiffer: "A has {0.a:trial}, B {0.b}: only trials with the same number are paired",
    of.JudgeNotCalibrated: "judge not calibrated: no sample of its verdicts was reviewed",
    of.JudgeOfFamily: "{0.note}",
    of.ManyExcluded: "more than {0.most:share} of the conversations could not be used:"
    " {0.counted:counted}",
    of.HeldAgain: "{0.counted.again:conversation} held again, because the connection to the agent"
    " broke; an agent may break it where it does badly, so no threshold is met: run it again",
    of.RegressionHeldAgain: "cannot tell whether B is worse: {0.again:conversation} of B held"
    " again, because the connection to the agent broke; an agent may break it where it does badly:"
    " run it again",
    of.NoLongerHolds: "No longer true{0.side:side}: {0.title:title}.",
    of.EndsWithoutScore: "This conversation could not be scored: {0.reason:reason}.",
    of.AgentAsks: "The agent asks. This user knows no facts, so the agent has to go on without the"
    " answer.",
}  # fmt: skip
"""The findings whose words need little grammar: `{0.name}` is a field, and `{0.name:short}` a field
as `_FORMS` writes it.
"""
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def sentence(finding: Finding) -> str:
    """Return a finding in words."""
    text = TEXTS.get(type(finding))
    if text is None:
        return write(finding)
    return _WRITER.format(text, finding)


class _FieldWriter(Formatter):
    """Writes the fields of a finding into its text."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a field in its form; a form without a name of its own is a noun, counted."""
        if not format_spec:
            return str(value)
        form = _FORMS.get(format_spec)
        if form is None:
            return plural(value, format_spec)
        return form(value)


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
def _evaluator_failures(finding: of.EvaluatorFailures) -> str:
    did = (("stepped out of its role", finding.left_role), ("failed", finding.failed))
    parts = [
        f"{what} {_places(which.places)} ({_short(which.detail)})" for what, which in did if which
    ]
    count = sum(len(which.places.at) for _, which in did if which)
    about = "that conversation says" if count == 1 else "they say"
    return f"The simulated user {' and '.join(parts)}, so {about} nothing about the agent."


@write.register
def _judge_failures(finding: of.JudgeFailures) -> str:
    failed = finding.judge
    kept = "the conversation is" if len(failed.places.at) == 1 else "the conversations are"
    return (
        f"The judge failed {_places(failed.places, turns=False)} ({_short(failed.detail)}), so"
        f" there is no score; {kept} kept and can be judged again."
    )


@write.register
def _no_score_there(finding: of.NoScoreThere) -> str:
    return f"{upper_first(_places(finding.places, turns=False))}, the agent has no score."


@write.register
def _agent_broke(finding: of.AgentBroke) -> str:
    did = (("the agent failed", finding.failed), ("the conversation ran out of time", finding.late))
    parts = [
        f"{what} {_places(which.places)}{_bracket(which.detail)}" for what, which in did if which
    ]
    text = " and ".join(parts)
    if finding.penalties:
        lost = [
            _spaced(f"by {number(taken.score)}", side_words(taken.side))
            for taken in finding.penalties
        ]
        # Tasks that were not reached any more may have lowered it, too.
        text += f"; the failed requests alone lowered the score {' and '.join(lost)}"
    return text


# What came out of a run, and why


@write.register
def _run_scores(finding: of.RunScores) -> str:
    """Return such as `0.39 → 0.89 with the facts.

    Fails both times: task 2 “A forgotten dose” (0.30, 0.35).`.
    """
    text = _conditions(finding.scores) + _shared_scores(finding)
    if finding.lost:  # first, because the scores that follow are not the run's
        text = f"{_lost(finding.lost, finding.planned)}; the others: {text}"
    if finding.broken:
        text = (
            f"The agent failed in {finding.broken} of {plural(finding.held, 'conversation')}:"
            f" {text}"
        )
    if finding.full is not None:
        text += f", a full score in {finding.full:,} of {plural(finding.held, 'conversation')}"
    if finding.everywhere:
        text += f". Fails {_every_time(finding)}: "
        text += _fails(finding.everywhere, ONE_LINE - len(text))
    elif finding.there and finding.lower is not None:
        there = _spaced("Fails", side_words(finding.lower), _not_elsewhere(finding))
        text += f". {there}: "
        text += _fails(finding.there, ONE_LINE - len(text))
    return f"{text}."


def _lost(lost: int, planned: int) -> str:
    """Return how many conversations have no score: `1 of 20 conversations has no score`."""
    return f"{lost:,} of {plural(planned, 'conversation')} {_has_or_have(lost)} no score"


def _not_elsewhere(finding: of.RunScores) -> str:
    """Return where else it passes: `only` of two conditions. What fails with a placebo is not
    looked at.
    """
    if all(one.side.condition != PLACEBO_NAME for one in finding.scores):
        return "only"
    return "and not with them" if finding.lower == finding.scores[0].side else "and not without"


def _shared_scores(finding: of.RunScores) -> str:
    """Return the scores on what both conditions share, if they do not share everything."""
    if finding.shared is None:
        return ""
    if finding.shared.is_nothing or not finding.on_shared:
        return ", each by its own criteria"
    both = " → ".join(map(number, finding.on_shared))
    scored = [one for one in finding.scores if one.side.condition != PLACEBO_NAME]
    if both == " → ".join(number(one.score) for one in scored):
        return ""  # it would say the same twice
    count = finding.shared.tasks + finding.shared.assertions
    return f"; {both} on the {plural(count, 'criterion', 'criteria')} both share"


def _conditions(scores: Sequence[of.SideScore]) -> str:
    """Return such as `0.39 → 0.89 with the facts`; conditions with names of their own each have
    theirs.
    """
    published = [*PUBLISHED_TITLES.values()]
    if [one.side.title for one in scores[:2]] == published:
        without, with_facts, *controls = (number(one.score) for one in scores)
        words = [without, f"{with_facts} with the facts"]
        if [one.side.title for one in scores[2:]] == [PLACEBO_TITLE]:
            words.append(f"{controls[0]} with a placebo")
        if len(words) == len(scores):
            return _arrows(scores, words)
    return _arrows(
        scores, [f"{number(one.score)} {side_words(one.side)}".rstrip() for one in scores]
    )


def _arrows(scores: Sequence[of.SideScore], words: Sequence[str]) -> str:
    """Return the words of each score, with arrows from one to the next; the placebo's, which
    nothing leads to, stands after a comma.
    """
    text = ""
    for one, word in zip(scores, words, strict=True):
        if text:
            text += ", " if one.side.condition == PLACEBO_NAME else " → "
        text += word
    return text


def _every_time(finding: of.RunScores) -> str:
    count = len(without_placebo(one.side.condition for one in finding.scores))
    if count == 1:
        if finding.times > 1:
            return "every time"
        return "at the end"
    if count == 2:
        return "both times"
    return f"in all {count} conditions"


def _fails(fails: Sequence[of.Fails], room: int) -> str:
    """Return the first of these tasks and assertions, with a task's scores, and how many more there
    are: as many as have room, with titles as long as have room, but always one.
    """
    counts = range(min(MOST_FAILS, len(fails)), 0, -1)
    text = ""
    for count, width in itertools.product(counts, FAIL_WIDTHS):
        named = [_fail(fail, width) for fail in fails[:count]]
        text = _listed_with_more(named, len(fails))
        if len(text) < room:
            break
    return text


def _fail(fail: of.Fails, width: int) -> str:
    words = f"“{_short(fail.title, width)}”"
    if fail.kind == "task":
        # A number alone reads as how many there are.
        words = f"task {fail.number} {words}"
    if fail.scores:
        words += f" ({', '.join(map(number, fail.scores))})"
    return words


def _listed_with_more(named: Sequence[str], count: int) -> str:
    """Return the first names of so many, and how many more there are."""
    more = count - len(named)
    if more > 0:
        return listed([*named, f"{more} more"])
    return listed(named)


@write.register
def _model_scores(finding: of.ModelScores) -> str:
    """Return such as `Mean of both conditions: large 0.95 (0.90 → 1.00 with the facts), small 0.75
    (0.50 → 1.00).`.
    """
    return f"{_mean_words(finding.models)}{_models(finding.models)}."


def _mean_words(models: Sequence[of.ModelScore]) -> str:
    """Return of how many conditions the scores of these models are means; nothing if each has
    one.
    """
    names = dict.fromkeys(one.side.condition for model in models for one in model.scores)
    if len(without_placebo(names)) > 1:
        return f"Mean of {of_mean_words(names)} conditions: "
    return ""


@write.register
def _decided(finding: of.Decided) -> str:
    trial = finding.place.trial
    if trial and finding.lost > 1:
        trial += f", one of {finding.lost} that lost points"
    parts = [finding.agent, trial, side_words(finding.place.side)]
    if finding.place.turn:
        parts.append(f"turn {finding.place.turn}")
    says = _short(finding.says, LONGEST_SAYS if finding.quoted else LONGEST_DETAIL)
    if finding.said_by not in ("clock", "failures"):
        people = "" if finding.reviewed is None else f" (people: {number(finding.reviewed)})"
        says = f"{finding.said_by}{people}: {says}"
    text = ", ".join(filter(None, (*parts, says)))
    if finding.quoted:
        text += f" — “{finding.quoted}”"
    return text


PUT_FILE = "put the file there"
"""What comes before grading a submission whose file is missing."""


class NextStep(NamedTuple):
    """What can be done next: what screens call it, in words, the same in a shell, and what must be
    done before; the last two are empty where there is none.
    """

    action: of.StepAction
    act: str
    command: str
    before: str

    @property
    def words(self) -> str:
        """All of it in words: `start the agent, then run it again`."""
        if self.before:
            return f"{self.before}, then {self.act}"
        return self.act


def steps_words(steps: Sequence[NextStep]) -> str:
    """Return what can be done next in a shell, on one line."""
    return " · ".join(f"{step.words}: `{step.command}`" for step in steps if step.command)


def step(finding: of.Step) -> NextStep:
    """Return what can be done next in words, and as a command."""
    words, command = _STEPS[finding.action]
    trials = plural(finding.trials, "more trial")
    text = words.format(trials=trials, each=" of each" if finding.each else "")
    before = _short(finding.way) if finding.way else ""
    parts: dict[str, tuple[str, ...]] = {
        "{runs}": finding.runs,
        "{submission}": tuple(shlex.quote(clean_line(part, 4096)) for part in finding.submission),
        "{job}": (finding.job,),
    }
    needed = [part for name, part in parts.items() if name in command]
    if not all(part and all(part) for part in needed):
        return NextStep(finding.action, text, "", before)
    joined = {name.strip("{}"): " ".join(part) for name, part in parts.items()}
    command = command.format(total=finding.total, **joined)
    options = [shlex.quote(clean_line(word, 4096)) for word in finding.options]
    return NextStep(finding.action, text, " ".join([command, *options]), before)


_STEPS: dict[of.StepAction, tuple[str, str]] = {
    "passage": ("read the passage", "bioeval-tui runs replay {runs}"),
    "passages": ("read both passages", ""),
    "trials": ("{trials}{each}", "bioeval-tui run {job} --repeat {total}"),
    "edit": ("edit the job", ""),
    "edit_file": ("edit the file", ""),
    "again": ("run it again", "bioeval-tui run {job}"),
    "grade": ("grade it again", "bioeval-tui grade-sample {submission}"),
    "resume": ("resume the run", "bioeval-tui runs resume {runs}"),
    "judge": ("judge again", "bioeval-tui runs rescore {runs}"),
    "compare": ("compare the two", "bioeval-tui runs compare {runs}"),
    "one_job": ("find two runs of one job", "bioeval-tui runs list"),
    "findings": ("list all findings", "bioeval-tui validate {submission}"),
    "name_file": (
        "check the file, then name it in the list",
        "bioeval-tui validate FILE {submission}",
    ),
    "board": ("explain the score", ""),
    "invalid_file": ("go to the invalid file", ""),
    "agents": ("compare the agents", ""),
    "grade_list": ("grade a list of your own", ""),
}


# How sure an answer is


def sure(
    finding: of.ConclusionFinding,
    *,
    rehearsal: bool = False,
    judged_by_rules: bool = True,
    notes: Sequence[of.Finding] = (),
) -> str:
    """Return how sure an answer is: yes or no, why, and what it takes; last, what else there is to
    note of the runs.
    """
    if notes:
        words = sure(finding, rehearsal=rehearsal, judged_by_rules=judged_by_rules)
        return "; ".join([words, *map(sentence, notes)])
    lost = isinstance(finding, of.RunsCompared) and finding.lost
    if rehearsal and takes_models(finding) and not lost:
        more = _enough(finding)
        and_more = f" and at least {more}" if more else ""
        return f"no: only {_REHEARSAL[judged_by_rules]}; it takes models{and_more}"
    words = _how_sure(finding)
    if not rehearsal:
        return words
    return f"no: a rehearsal, and {_YES_OR_NO.sub('', words)}"


def _how_sure(finding: of.ConclusionFinding) -> str:
    """Return how sure an answer is that no rehearsal gave."""
    text = SURE.get(type(finding))
    if text is None:
        return write_sure(finding)
    return _WRITER.format(text, finding)


def _enough(finding: of.ConclusionFinding) -> str:
    """Return how many cases or trials of a job it takes at least; empty if there are enough."""
    match finding:
        case of.TooFewForEffect() if finding.cases is not None:
            return plural(finding.needed, "case")
        case of.TooFewForBest():
            return plural(finding.needed, finding.few.unit)
        case of.RunsCompared() if finding.needed:
            of_trials = all(one.difference.of_trials for one in finding.conditions)
            return plural(finding.needed, "trial" if of_trials else "case")
        case of.ModelsTied() if finding.few is not None:
            return f"{FEWEST} {finding.few.unit}s"
    needed = trials_needed(finding)
    return plural(needed, "trial") if needed else ""


def trials_needed(finding: of.ConclusionFinding) -> int:
    """Return how many trials an answer about one run takes at least; 0 if it has enough."""
    match finding:
        case of.TooFewForEffect() if finding.cases is None:
            return finding.needed
        case of.NothingToGain() if not finding.enough:
            return FEWEST
        case of.OneCondition() if finding.trials.used < FEWEST:
            return FEWEST
    return 0


def takes_models(finding: of.ConclusionFinding) -> bool:
    """Return whether a rehearsal is what keeps an answer from being sure."""
    return isinstance(finding, _REPEATABLE)


LET_MODELS_PLAY = "let models play the user and judge (`kind: llm`)"
"""What makes more of a rehearsal."""


def cause(finding: of.ConclusionFinding) -> str:
    """Return why there is no score, or a low one, if no turn of the conversation says it; else
    nothing.
    """
    match finding:
        case of.AgentBroke():
            return sentence(finding)
        case of.CouldNotStart():
            return _short(finding.detail or NO_REASON)
        case (
            of.AgentUnreached()
            | of.AgentGone()
            | of.NoConversation()
            | of.NoScoreAnywhere()
            | of.NoScoreThere()
        ):
            return _short(finding.cause)
        case of.ScoresLost():
            return f"no score {_places(finding.places, turns=False)}: {_short(finding.cause)}"
    return ""


SAY_WHAT_IS_KEPT = (
    "if your agent keeps nothing of one conversation for the next, say `remembers: false` under the"
    " job's `target`"
)
"""What makes a run clean whose agent shows no state."""
_REHEARSAL = {
    True: "a rehearsal: a script speaks and rules judge",
    False: "a rehearsal: no model speaks as the user",
}
"""By whether rules judge."""
_YES_OR_NO = re.compile("^(yes|no|not yet): ")
_REPEATABLE = (
    of.OneCondition, of.EffectFinding,
    of.BestModel, of.ModelsTied, of.TooFewForBest, of.ModelsWithinChance, of.RunsCompared,
)  # fmt: skip
"""Of these, more trials would make one surer, if anything but a script and rules took part."""
_NOTHING = "no: nothing was measured"
SURE: dict[type, str] = {
    of.NeverStarted: _NOTHING,
    of.NothingShared: "no: nothing is the same in both",
    of.StillUnfinished: "not yet: the {0.what} has not ended",
    of.WasCancelled: "no: a cancelled run has no result",
    of.CouldNotStart: _NOTHING,
    of.NothingScored: _NOTHING,
    of.AgentUnreached: _NOTHING,
    of.AgentGone: _NOTHING,
    of.NoConversation: _NOTHING,
    of.EvaluatorFailures: "no: this says nothing about the agent; the simulated user is at fault",
    of.JudgeFailures: "no: there is no verdict; the conversations are kept and can be judged again",
    of.NoScoreAnywhere: _NOTHING,
    of.NoScoreThere: "no: one condition says nothing of the other",
    of.AgentBroke: "yes: the agent failed; a run without failures would tell the rest",
    of.UncleanStart: "no: {0.why:short}, so the difference cannot be attributed to the facts",
    of.NoPairOfScores: "no: no trial has both scores, so there is no difference",
    of.ContrastNotRun: "no: the effect of the facts needs the condition {0.missing:and} as well",
    of.SharedNotRecorded: "no: the recording lacks verdicts on what both share, so no effect of the"
    " facts is claimed",
    of.NoFactsInJob: "no effect to measure: the job has no facts, so both conditions ask the same",
    of.NoFactGiven: "no: the user gave the agent no fact, so the facts cannot explain a difference",
    of.FactsUnread: "no: {0.why:short}, so nothing is said about what the facts change",
    of.NoSharedCriteria: "no: the conditions share no criteria, so no effect of the facts is"
    " claimed",
    of.OneOfTrials: "no: trial {0.trial} of {0.of}; the card of all trials says how sure",
    of.NoRunMeasured: _NOTHING,
    of.OneModelOnly: "no comparison: one agent and model in {0.runs:run}",
    of.OneModelMeasured: "no: only {0.model} could be measured",
    of.ModelsUnpaired: "no: they were not run on the same jobs and trials",
    of.TooFewForBest: "no: {0.few:few} to tell which is best; at least {0.needed} are needed",
    of.ModelsWithinChance: "no: the differences cannot be distinguished from chance",
    of.NothingSubmitted: "yes: there is no file",
    of.InvalidSubmission: "yes: the file breaks the task's rules",
    of.NotGradedSubmission: "no: it may have any score",
}  # fmt: skip
"""How sure the answers with these findings are, where it needs little grammar."""


@singledispatch
def write_sure(finding: object) -> str:
    """Write how sure an answer is, where that needs more than its finding's fields.

    Raises:
        TypeError: this type has no writer.
    """
    raise TypeError(f"nothing says how sure {type(finding).__name__} is")


@write_sure.register
def _scores_lost(finding: of.ScoresLost) -> str:
    why, counted = finding.why, finding.why.counted
    if isinstance(why, of.ManyExcluded):
        return f"no: more than {share(why.most)} of the conversations have no score"
    agents = counted.unexcused > dict(counted.reasons).get("program", 0)
    what = _SENT if agents else "a bug in this program"
    return f"no: {_lost(counted.unexcused, counted.held)} because of {what}"


@write_sure.register
def _one_condition(finding: of.OneCondition) -> str:
    used = finding.trials.used
    if finding.trials.planned == 1:
        return "no: one trial"
    if finding.all_equal:
        return f"the same in each of {used} trials"
    if finding.interval is None:
        return f"no: {plural(used, 'trial')}, too few for an interval"
    about = f"yes, to about ±{number(finding.interval.width / 2)}"
    basis = _interval_and_scope(finding.interval)
    # An interval narrows with the root of what it rests on.
    enough = 4 * (finding.trials.cases or used)
    return f"{about} ({basis}); {enough:,} would halve that"


@write_sure.register
def _nothing_to_gain(finding: of.NothingToGain) -> str:
    if not finding.enough:
        return f"no: {_spelt(finding.trials.used, 'trial')}; nothing was left to gain"
    return f"yes: nothing was left to gain{_basis_words(finding.trials, all_equal=True)}"


@write_sure.register
def _no_effect_of_facts(finding: of.NoEffectOfFacts) -> str:
    return f"yes: the facts change nothing{_basis_words(finding.trials, all_equal=True)}"


@write_sure.register
def _effect_of_facts(finding: of.EffectOfFacts) -> str:
    verb = "help" if finding.by > 0 else "hurt"
    over = _basis_words(finding.trials, finding.interval, all_equal=finding.all_equal)
    if finding.with_talk:
        return f"yes: the facts and their talk {verb}, {signed(finding.by)}{over}"
    return f"yes: the facts {verb}, {signed(finding.by)}{over}"


@write_sure.register
def _effect_of_talk(finding: of.EffectOfTalk) -> str:
    verb = "helps" if finding.by > 0 else "hurts"
    over = _basis_words(finding.trials, finding.interval)
    return f"yes: the talk {verb}, not the facts, {signed(finding.by)}{over}"


@write_sure.register
def _effect_within_chance(finding: of.EffectWithinChance) -> str:
    over = _basis_words(finding.trials, finding.interval)
    return f"no: {signed(finding.by)} cannot be distinguished from chance{over}"


@write_sure.register
def _too_few_for_effect(finding: of.TooFewForEffect) -> str:
    count = finding.trials.used if finding.cases is None else finding.cases
    return (
        f"no: {_few(finding)} {_is_or_are(count)} too few to tell what the facts change;"
        f" at least {finding.needed} are needed"
    )


def _few(finding: of.TooFewForEffect) -> str:
    if finding.cases is not None:
        return plural(finding.cases, "case")
    used, planned = finding.trials.used, finding.trials.planned
    if used == planned:
        return _spelt(used, "trial")
    return f"{_used(finding.trials)} with both scores"


@write_sure.register
def _best_model(finding: of.BestModel) -> str:
    margin = f"{number(finding.margin)} in the mean"
    if finding.other:
        return f"yes: {finding.model} does better than {finding.other}, by {margin}"
    return f"yes: {finding.model} does better than every other model, by at least {margin}"


@write_sure.register
def _models_tied(finding: of.ModelsTied) -> str:
    text = f"no: {listed(finding.tied)} score the same"
    if finding.few:
        text += f"; {_too_few(finding.few)} to tell more"
    return text


@write_sure.register
def _graded_submission(finding: of.GradedSubmission) -> str:
    if finding.doubts:
        return f"no: in doubt: {finding.doubts}"
    return "no interval was computed"


@write_sure.register
def _medal_counts(finding: of.MedalCounts) -> str:
    valid = finding.submissions - sum(
        n for name, n in finding.counts if name in ("invalid", "not_graded")
    )
    if not valid:
        return "no: no submission has a score"
    beware = []
    if finding.doubtful:
        beware.append(f"{plural(finding.doubtful, 'score')} of {valid:,} in doubt")
    if finding.partial:
        partial = f"{finding.partial:,}" if beware else plural(finding.partial, "score")
        beware.append(f"{partial} over a part of the rows")
    enough, basis = _medals_basis(finding)
    if beware:
        return f"no: {'; '.join((*beware, basis))}"
    if finding.basis is not None and len(finding.first) > 1:
        names = [clean_line(name, 20) for name in finding.first[:2]]
        either = _listed_with_more(names, len(finding.first))
        tasks = plural(finding.basis.shared, "shared task")
        return f"no: {either} may each rank first, with 95 % confidence on {tasks}"
    if enough:
        return f"yes: {basis}"
    if finding.basis is not None:
        return f"no: who is better cannot be told: {basis}"
    return f"no: {basis}"


def _medals_basis(finding: of.MedalCounts) -> tuple[bool, str]:
    """Return whether a medal table rests on enough tasks, and what it rests on."""
    basis = finding.basis
    if basis is not None:
        return basis.shared >= basis.needed, sentence(basis)
    if finding.tasks >= finding.needed:
        return True, f"over {finding.tasks:,} tasks"
    return False, (
        f"{plural(finding.tasks, 'task')}: too few for an interval of the share of medals, which"
        f" needs {finding.needed}"
    )


# What of a difference is the facts'


@write.register
def _facts_or_talk(finding: of.FactsOrTalk) -> str:
    """Return such as `the facts, not the longer talk: +0.41 (95 % 0.30 to 0.52) of +0.50 (0.41 to
    0.59); the longer talk: +0.09 (−0.02 to 0.20)`.
    """
    total, facts, talk = map(_part, (finding.total, finding.facts, finding.talk))
    share = f"{facts} of {total}"
    trials = ""
    if finding.used < finding.planned:
        trials = f", in {finding.used:,} of {plural(finding.planned, 'trial')}"
    text = _control_verdict(finding)
    match finding.verdict:
        case "facts":
            text += f": {share}; the longer talk: {talk}"
        case "talk":
            text += f": {talk} of {total}; the facts: {facts}"
        case "facts at least":
            text += f": {share}; the longer talk, not yet clear: {talk}"
        case "talk at least":
            text += f": {talk} of {total}; the facts, not yet clear: {facts}"
        case "both" | "open" | "too few":
            text += f": {share} is the facts', {talk} the talk's"
    return text + trials


def _control_verdict(finding: of.ControlFinding) -> str:
    """Return what of a difference is the facts', without figures."""
    if not isinstance(finding, of.FactsOrTalk):
        return "not told apart from the longer talk"
    if finding.verdict == "too few":
        return f"{plural(finding.used, 'trial')} cannot tell the facts from the longer talk"
    return _CONTROL_VERDICTS[finding.verdict]


_CONTROL_VERDICTS: dict[of.ControlVerdict, str] = {
    "facts": "the facts, not the longer talk",
    "talk": "the longer talk, not the facts",
    "both": "both the facts and the longer talk",
    "facts at least": "the facts at least",
    "talk at least": "the longer talk at least",
    "nothing": "neither the facts nor the longer talk changes anything",
    "open": "not yet told apart from the longer talk",
}


@write.register
def _placebo_left_out(finding: of.PlaceboLeftOut) -> str:
    """Return such as `the placebo is not compared: A 0.50, B 1.00`."""
    scores = ", ".join(f"{name} {number(score)}" for name, score in finding.scores)
    if len(finding.scores) == 1:
        scores += ", the other run has none"
    return f"the placebo is not compared: {scores}"


@write.register
def _controls_of(finding: of.ControlsOf) -> str:
    """Return such as `large: the facts, not the longer talk; small: 1 trial cannot tell …`."""
    if len(finding.of_models) == 1:
        return sentence(finding.of_models[0][1])
    shown = [f"{name}: {_control_verdict(each)}" for name, each in finding.of_models[:LISTED]]
    if len(finding.of_models) > LISTED:
        shown.append(f"{len(finding.of_models) - LISTED} more")
    return "; ".join(shown)


def _part(part: Difference) -> str:
    """Return a difference with its interval, if it has one."""
    if part.estimate.interval is None:
        return signed(part.mean)
    return f"{signed(part.mean)} ({interval_words(part.estimate.interval)})"


# What the difference rests on


@write.register
def _effect_basis(finding: of.EffectBasis) -> str:
    if finding.shared.is_nothing:
        return "each condition has its own criteria, so no difference is claimed"
    return f"the difference is of what both conditions share: {shared_words(finding.shared)}"


def shared_words(shared: of.Shared) -> str:
    """Return such as `2 of 3 tasks and 1 of 5 assertions`."""
    counts = (
        (shared.tasks, shared.of_tasks, "task"),
        (shared.assertions, shared.of_assertions, "assertion"),
    )
    return " and ".join(f"{some} of {plural(every, noun)}" for some, every, noun in counts if every)


# A run at a glance


@write.register
def _no_uplift(finding: of.NoUplift) -> str:
    text = f"{finding.cleanness}: {finding.why}"
    if finding.missed:
        text += ", so no difference is shown"
    return text


@write.register
def _no_mean(finding: of.NoMean) -> str:
    if finding.only:
        return f"The mean {needs_all(finding.conditions)}, and this run has {finding.only} only."
    if not finding.ended:
        return "The run has not ended, so there is no mean."
    return "A conversation could not be used, so there is no mean."


@write.register
def _never_asked(finding: of.NeverAsked) -> str:
    why = {
        "user": (
            "The user never asked for it and could have: not measured, the user's fault and not the"
            " agent's"
        ),
        "turns": "The user had not asked for it when the turns were used up",
        "agent": "The user had not asked for it when the agent failed or said goodbye",
    }
    return why[finding.kept_by]


@write.register
def _facts_kept(finding: of.FactsKept) -> str:
    held_back = str(finding.held_back or "none")
    line = f"the user held back {held_back} of {plural(finding.of, 'fact')}"
    if finding.held_back and finding.until == "asked_twice":
        line += " until asked twice"
    if finding.wrong:
        values = [f"“{said}” for “{right}”" for right, said in finding.wrong]
        line += f" and got {finding.wrong_facts} wrong: {', '.join(values)}"
    return f"{line} (persona {finding.persona})"


@write.register
def _facts_kept_by(finding: of.FactsKeptBy) -> str:
    line = f"the user held back {finding.held_back or 'none'} of {plural(finding.of, 'fact')}"
    if finding.wrong:
        line += f" and got {finding.wrong} wrong"
    where = plural(finding.conversations, "conversation")
    return f"{line} in {where} (persona {finding.persona})"


@write.register
def _tools_made_fail(finding: of.ToolsMadeFail) -> str:
    (first, failed, calls), *others = finding.tools
    listed = [f"{clean_line(first, 60)} fail in {failed} of {plural(calls, 'call')}"]
    for tool, of_them, every in others:
        listed.append(f"{clean_line(tool, 60)} in {of_them} of {plural(every, 'call')}")
    return f"the job made {join_names(listed)}"


@write.register
def _user_erred(finding: of.UserErred) -> str:
    kinds = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in finding.kinds)
    text = (
        f"{finding.user} erred in {finding.conversations} of"
        f" {plural(finding.of, 'conversation')}: {kinds}"
    )
    if finding.judged:
        text += f" ({finding.judged} found by the judge)"
    return text


def seen_in(where: Sequence[str], text: str) -> str:
    """Return a warning with the conversation that it is about, or in how many it was seen."""
    if len(where) == 1:
        return f"{where[0]}: {text}"
    return f"{len(where)} conversations: {text}"


# Submissions


_COUNTED = {"none": "no medal", "not_graded": "not graded"}
"""The standings that are no words of their own."""


@write.register
def _write_medal_counts(finding: of.MedalCounts) -> str:
    if not finding.submissions:
        return "Nothing is graded."
    counts = ", ".join(f"{number:,} {_COUNTED.get(name, name)}" for name, number in finding.counts)
    every = "1 submission" if finding.submissions == 1 else f"{finding.submissions:,}"
    parts = [_first_agents(finding), f"{counts} of {every}", _average(finding)]
    if finding.above:
        parts.append(f"{finding.above:,} above the median")
    if finding.beats_human:
        parts.append(f"{finding.beats_human:,} above the human median")
    return f"{'; '.join(filter(None, parts))}."


def _first_agents(finding: of.MedalCounts) -> str:
    """Return which agent ranks first, or where that cannot be told, which has the highest mean
    percentile; empty without percentiles of several agents on the same tasks.
    """
    if finding.basis is None:
        return ""
    agents = plural(finding.basis.agents - len(finding.basis.unranked), "agent")
    if len(finding.first) == 1:
        return f"{clean_line(finding.first[0], 60)} ranks first of {agents}"
    if len(finding.means) < 2:
        return ""
    highest = number1(finding.means[0][1])
    leaders = [clean_line(name, 60) for name, mean in finding.means if number1(mean) == highest]
    names = _listed_with_more(leaders[:LISTED], len(leaders))
    lead = "leads" if len(leaders) == 1 else "lead"
    tasks = plural(finding.basis.shared, "shared task")
    text = f"{names} {lead} {agents} on {tasks}: mean percentile {highest}"
    if following := finding.means[len(leaders) :]:
        name, mean = following[0]
        text += f", then {clean_line(name, 60)} {number1(mean)}"
    return text


def _average(finding: of.MedalCounts) -> str:
    if finding.average is None:
        return finding.over
    text = f"average percentile {number1(finding.average)} {finding.over}".rstrip()
    if finding.others:
        text += f" ({number1(finding.with_zeros)} with {finding.others} as 0)"
    return text


@write.register
def _write_without_score(finding: of.WithoutScore) -> str:
    reason = shorten(clean_line(finding.reason, 2000), LONGEST_LOSS)
    return f"{_whose(finding)}: {finding.kind}: {reason}"


@write.register
def _furthest_from_medal(finding: of.FurthestFromMedal) -> str:
    place = f"percentile {number1(finding.percentile)}"
    how_far = ", ".join(filter(None, (place, finding.away)))
    return f"furthest from a medal: {_whose(finding)}: {how_far}"


def _whose(finding: of.WithoutScore | of.FurthestFromMedal) -> str:
    return clean_line(" by ".join(filter(None, (finding.task, finding.agent))), 160)


@write.register
def _write_graded_submission(finding: of.GradedSubmission) -> str:
    medal = finding.medal.capitalize() or "No medal"
    parts = [finding.score, finding.rows]
    if finding.place:
        parts.append(f"place {finding.place}")
    if not finding.medal:
        parts.append("above the median" if finding.above_median else "not above the median")
    parts.append(finding.away)
    return f"{medal} on {finding.task}: {', '.join(filter(None, parts))}."


@write.register
def _medal_limits(finding: of.MedalLimits) -> str:
    bronze, silver, gold, median = map(
        score_text, (finding.bronze, finding.silver, finding.gold, finding.median)
    )
    of_what = "the median"
    if finding.entries:
        of_what += f" of its {plural(finding.entries, 'entry', 'entries')}"
    return (
        f"by the leaderboard, bronze begins at {bronze}, silver at {silver}, gold at {gold};"
        f" {of_what} is {median}"
    )


# Where a conversation lost points


@write.register
def _gain(finding: of.Gain) -> str:
    match finding.kind:
        case "assertion":
            return f"assertion “{finding.title}”"
        case "task" if finding.met is None:
            return f"task “{finding.title}” to 1.0"
        case "task" if finding.met:
            return f"“{finding.title}” met"
        case "task":
            return f"“{finding.title}” not met"
        case "timing":
            return f"answers within {latency(finding.target_s * 1000)} on average"
        case "failures":
            return f"no failures (now {finding.failures})"


@write.register
def _task_fell_short(finding: of.TaskFellShort) -> str:
    reason = finding.reason or f"{finding.judged}, no reason is recorded"
    return _loss(f"“{finding.title}”: {reason}")


@write.register
def _failing(finding: of.Failing) -> str:
    if not finding.problem:
        return f"{_title(finding.title)} fails"
    title = shorten(finding.title, LONGEST_FAIL)
    return f"“{title}” fails: {shorten(clean_line(finding.problem), LONGEST_SAYS)}"


@write.register
def _assertion_fails(finding: of.AssertionFails) -> str:
    text = f"“{finding.title}” fails"
    if finding.since:
        text += f" since turn {finding.since}"
    return _loss(_with_lead(text, finding.reason))


@write.register
def _slow_answers(finding: of.SlowAnswers) -> str:
    if finding.turn is None:
        return "slow answers"
    return f"slow answers: the slowest, in turn {finding.turn}, took {latency(finding.latency_ms)}"


@write.register
def _requests_failed(finding: of.RequestsFailed) -> str:
    return _loss(_with_lead(plural(finding.count, "failed request"), finding.error))


def _with_lead(lead: str, text: str) -> str:
    """Return a text after what leads to it, either of which may be empty."""
    return ": ".join(filter(None, (lead, text)))


def _loss(text: str) -> str:
    return shorten(clean_line(text), LONGEST_LOSS)


# Two runs


@write.register
def _runs_compared(finding: of.RunsCompared) -> str:
    """Return such as `A scored higher: in 3 of 3 pairs without the facts (+0.39), in 2 of 3 with
    the facts (+0.10).`.
    """
    measured = [one for one in finding.conditions if one.difference.mean is not None]
    if not measured:
        return "The runs cannot be compared: no pair of conversations has both scores."
    called = {run: _run_name(run, name) for run, name in zip("AB", finding.names, strict=True)}
    same = [side_words(one.side) for one in measured if not _higher(one)]
    higher = {
        run: ", ".join(map(_lead, some)) for run in "AB" if (some := _where_higher(run, measured))
    }
    if not higher:
        both = " and ".join(called.values())
        text = _spaced(f"{both} score the same", _pairs_compared(measured[0]), listed(same))
    elif len(higher) == 1:
        run, leads = next(iter(higher.items()))
        text = f"{called[run]} scored higher: {leads}"
        if not finding.sure and not finding.needed:
            text = f"{called[run]} scored higher, but not beyond chance: {leads}"
    else:
        parts = [f"{called[run]} {leads}" for run, leads in higher.items()]
        text = f"Neither scored higher throughout: {'; '.join(parts)}"
    if higher and same:
        text += _spaced("; the same", listed(same))
    if finding.in_part:
        text += ", on what both jobs share"
    return f"{text}."


def _run_name(run: str, name: str) -> str:
    if name:
        return f"{run} ({name})"
    return run


def _where_higher(run: str, measured: Sequence[of.ConditionCompared]) -> list[of.ConditionCompared]:
    return [one for one in measured if _higher(one) == run]


def _higher(one: of.ConditionCompared) -> str:
    mean = round(one.difference.mean or 0.0, 2)
    if mean > 0:
        return "B"
    if mean < 0:
        return "A"
    return ""


def _pairs_compared(one: of.ConditionCompared) -> str:
    pairs = len(one.difference.estimate.points)
    if pairs == 1:
        return "in the only pair"
    return f"over {pairs} pairs"


def _lead(one: of.ConditionCompared) -> str:
    """Return in how many pairs of a condition the higher run was higher, and by how much."""
    pairs, mean = len(one.difference.estimate.points), one.difference.mean or 0.0
    text = _spaced(side_words(one.side), f"({signed(abs(mean))})")
    if pairs == 1:
        return text
    higher, lower = max(one.a_higher, one.b_higher), min(one.a_higher, one.b_higher)
    if lower:
        return f"in {higher} of {pairs} pairs, lower in {lower}, {text}"
    return f"in {higher} of {pairs} pairs {text}"


@write.register
def _nothing_shared(finding: of.NothingShared) -> str:
    if finding.a == finding.b:
        return (
            f"A and B are not compared: both are runs of {finding.a}, but of other tasks, facts or"
            " cases."
        )
    return f"A and B are not compared: their jobs share no task (A {finding.a}, B {finding.b})."


@write_sure.register
def _write_sure_runs_compared(finding: of.RunsCompared) -> str:
    measured = [one for one in finding.conditions if one.difference.mean is not None]
    if not measured:
        return "no: nothing was measured in both"
    first = max(measured, key=lambda one: abs(one.difference.mean or 0.0))
    words = f"B − A {difference_words(first.difference)}"
    if len(measured) > 1:
        words = f"{side_words(first.side)}, {words}"
    if finding.sure:
        return f"yes: {words}"
    if finding.lost:
        words += f"; not with the {plural(finding.lost, 'missing score')} as 0"
    elif finding.needed:
        words += f"; at least {finding.needed} are needed"
    elif first.difference.estimate.interval is not None:
        words += "; four times as many pairs would halve the interval"
    return f"no: {words}"


@write.register
def _why_apart(finding: of.WhyApart) -> str:
    part = PARTS.get(finding.part, finding.part)
    better, worse = "BA" if finding.by > 0 else "AB"
    points = f"{better}'s {part} {signed(abs(finding.by))}"
    if finding.part == "penalty":
        points = f"{worse}'s {part} {signed(-abs(finding.by))}"
    passes = {
        "fixed": "only B passes",
        "broken": "only A passes",
        "changed": f"{better} passes more often",
    }
    parts = [", ".join(filter(None, (side_words(finding.side), points)))]
    if finding.title:
        parts.append(f"“{_short(finding.title)}”")
    parts.append(passes.get(finding.words, finding.words))
    text = ": ".join(filter(None, parts))
    if finding.else_equal:
        text += "; tasks and assertions are equal"
    return text


@write.register
def _nothing_apart(finding: of.NothingApart) -> str:
    text = "no part of the score differs"
    if finding.failing:
        text += f"; in both fails {_named(finding.failing)}"
    return text


def _named(titles: Sequence[str]) -> str:
    """Return the first titles, and how many more there are."""
    named = [f"“{_short(title, LONGEST_FAIL)}”" for title in titles[:MOST_FAILS]]
    return _listed_with_more(named, len(titles))


@write.register
def _checks_corrected(finding: of.ChecksCorrected) -> str:
    parts = ", ".join(f"{_checked(what)}{_p(p)}" for what, p in finding.different)
    what = "none is significantly different"
    if parts:
        what = f"significantly different: {parts}"
    return (
        f"{upper_first(finding.title)}: of {finding.tested} tasks and assertions, corrected for"
        f" looking at all (Holm), {what}."
    )


@write.register
def _fell_beyond_chance(finding: of.FellBeyondChance) -> str:
    return (
        f"{finding.condition}: {_checked(finding.checked)} fell,"
        f" {difference_words(finding.found)}{_p(finding.found.p)}"
    )


@write.register
def _regression_undecided(finding: of.RegressionUndecided) -> str:
    needed, few = finding.needed, finding.few
    enough = f"{needed} cases"
    if finding.of_trials:
        enough = f"{needed} trials of each run (--repeat {needed})"
    pairs = f"{plural(few.count, few.unit)} that both runs scored"
    return (
        f"cannot tell whether B is worse: {pairs} may differ by chance alone; at least {enough} are"
        " needed"
    )


@write.register
def _regression_hidden(finding: of.RegressionHidden) -> str:
    talks = plural(finding.lost, "conversation")
    return (
        f"cannot tell whether B is worse: {finding.condition}, {talks} of B without a score; as 0,"
        f" {difference_words(finding.lowest)}{_p(finding.lowest.p)}"
    )


@write.register
def _pairs_without_interval(finding: of.PairsWithoutInterval) -> str:
    seen = "One pair shows" if finding.pairs == 1 else f"{finding.pairs} pairs show"
    return (
        f"{seen} what happened, not what to expect: {FEWEST} trials of each run could tell a large"
        " difference."
    )


@write.register
def _pairs_within_chance(finding: of.PairsWithinChance) -> str:
    few = plural(finding.few.count, finding.few.unit)
    return f"{few} cannot tell a difference from chance: at least {finding.needed} are needed."


@write.register
def _unseen_difference(finding: of.UnseenDifference) -> str:
    more = ""
    if finding.enough is not None:
        units = _units(of_cases=finding.of_cases)
        more = f"; {finding.enough} {units} without one would leave less than {share(finding.rare)}"
    return f"A difference in up to {share(finding.share)} of trials could have been missed{more}."


@write.register
def _open_difference(finding: of.OpenDifference) -> str:
    more = ""
    if finding.needed is not None:
        units, power = _units(of_cases=finding.of_cases), share(finding.power)
        more = (
            f"; about {finding.needed:,} {units} would show one of {finding.effect:g} ({power}"
            " power)"
        )
    if finding.interval is None:
        return f"The difference may be chance{more}."
    return f"A difference from {interval_words(finding.interval)} remains possible{more}."


@write.register
def _jobs_differ(finding: of.JobsDiffer) -> str:
    listed = list(map(_changed, finding.changed))
    if finding.more:
        listed.append(f"and {finding.more} more")
    changes = "; ".join(listed) or "only in layout or comments"
    return f"the job files differ ({changes})"


def _changed(change: tuple[str, str, str]) -> str:
    """Return a value as A and B have it; texts of several words are quoted, or `A A patient` would
    be read as one.
    """
    path, a, b = change
    one, two = (f"“{value}”" if " " in value else value or "nothing" for value in (a, b))
    return f"{path}: A {one}, B {two}"


@write.register
def _nothing_compared(finding: of.NothingCompared) -> str:
    return "; ".join(
        ["cannot tell whether B is worse: no score is of the same in both runs", *finding.why]
    )


@write.register
def _cases_of_one_run(finding: of.CasesOfOneRun) -> str:
    cases = f"{plural(finding.count, 'case')} {_is_or_are(finding.count)}"
    names = _first_names(finding.named, finding.count)
    return f"{cases} only in {finding.run} and not compared: {names}"


def _first_names(named: Sequence[str], count: int) -> str:
    """Return the first names of so many."""
    names = ", ".join(named)
    if count > len(named):
        names += f" and {count - len(named)} more"
    return names


@write.register
def _contents_differ(finding: of.ContentsDiffer) -> str:
    changes = "; ".join(map(_changed, finding.changed))
    if not finding.named:
        what = "nothing is compared"
        if finding.in_part:
            what = "only tasks and assertions that are the same are compared"
        return (
            f"what the user knows, or what is scored, is not the same in both runs: {what}"
            f" ({changes})"
        )
    what = "they are not compared"
    if finding.in_part:
        what = "only what is the same in them is compared"
    cases = f"{finding.count} of {plural(finding.of, 'case')} {_has_or_have(finding.count)}"
    names = _first_names(finding.named, finding.count)
    return f"{cases} other contents in B than in A, and {what}: {names} (the first: {changes})"


@write.register
def _identity_differs(finding: of.IdentityDiffers) -> str:
    listed = "; ".join(_changed((what, a or "none", b or "none")) for what, a, b in finding.changed)
    return f"the runs differ in more than their results ({listed})"


@write.register
def _timing_left_out(finding: of.TimingLeftOut) -> str:
    text = "scores here leave out the timing part on both sides"
    if finding.targets_differ:
        text += ", because the targets for response times differ"
    return text


@write.register
def _people_would_say(finding: of.PeopleWouldSay) -> str:
    if finding.estimate is None or finding.interval is None:
        text = f"what people would say about the tasks is unknown: {finding.refused}"
        return _with_lead(finding.title, text)
    of_all = f"{finding.reviews} of {plural(finding.verdicts, 'verdict')} reviewed"
    text = (
        f"tasks: people would say {number(finding.estimate)} {_span(finding.interval)} ({of_all};"
        f" the judge said {number(finding.judge)})"
    )
    return _with_lead(finding.title, text)


def _span(interval: Interval) -> str:
    return f"[{number(interval.low)}, {number(interval.high)}]"


@write.register
def _calibrated_elsewhere(finding: of.CalibratedElsewhere) -> str:
    runs = " and ".join(finding.runs)
    name = f"run {runs}" if len(finding.runs) == 1 else f"runs {runs}"
    if finding.estimate is None or finding.interval is None or finding.judge is None:
        text = f"not corrected by the reviews of {name}: {finding.refused}"
        return _with_lead(finding.title, text)
    text = (
        f"tasks passed: the judge's {number(finding.judge)}, corrected by the"
        f" {plural(finding.reviews, 'review')} of {name}: {number(finding.estimate)}"
        f" {_span(finding.interval)}; not reviewed here"
    )
    return _with_lead(finding.title, text)


@write.register
def _agent_side_looked(finding: of.AgentSideLooked) -> str:
    messages = plural(finding.messages, "message")
    text = f"the agent's side: nothing found in {messages}"
    if finding.found:
        text = f"the agent's side: something found in {finding.found:,} of {messages}"
    if finding.told and finding.shown:
        without = finding.conversations - finding.told
        if not without:
            return text
        return (
            f"{text}; `unsaid` was not looked for in {without:,} of"
            f" {plural(finding.conversations, 'conversation')}, whose prompt of the agent is not"
            " recorded"
        )
    lacks = "has neither the agent's prompt nor what its tools or state said"
    if finding.told:
        lacks = "does not have what the agent's tools or state said"
    elif finding.shown:
        lacks = "does not have the agent's prompt"
    return f"{text}; `unsaid` was not looked for: the recording {lacks}"


@write.register
def _judge_on_sentinels(finding: of.JudgeOnSentinels) -> str:
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
    shown = {
        "lenient": number,
        "strict": number,
        "drifting": signed,
        "changed": signed,
        "inventing": share,
    }
    faults = [patterns[fault].format(shown[fault](size)) for fault, size in finding.faults]
    return f"on {count}, this judge {', '.join(faults)}"


@write.register
def _judge_not_examined(finding: of.JudgeNotExamined) -> str:
    return f"judge not examined: {finding.why or 'it was asked about no control'}"


@write.register
def _judge_exam(finding: of.JudgeExam) -> str:
    if finding.refusal:
        return finding.refusal
    examined = "judge examined"
    if finding.remembered:
        examined += " in an earlier run"
    basis = f"at most {number(finding.best)}"
    if finding.left_out:
        basis += f"; {plural(finding.left_out, 'task')} that silence meets left out"
    controls = plural(finding.controls, "control")
    return f"{examined}: it believes none of {controls} ({basis})"


@write.register
def _user_spread(finding: of.UserSpread) -> str:
    """Return such as `0.20 → 0.78 with A, 0.25 → 0.50 with B: two users; a third may differ`."""
    users, count = finding.users, len(finding.users)
    shown = [f"{' → '.join(map(number, one.scores))} with {_short(one.user)}" for one in users]
    text = f"{', '.join(shown)}: {_spelt(count, finding.kind)}; {_another(count)} may differ"
    if finding.interval is not None:
        of_what = "the effect of the facts" if finding.is_effect else "the score"
        text += (
            f"; {of_what} with other users like these: {interval_words(finding.interval)}"
            " (95 % interval)"
        )
    if apart := _shown_with_some(users):
        text += f"; {apart}"
    return text


def _another(count: int) -> str:
    if count < len(_ORDINALS):
        return f"a {_ORDINALS[count]}"
    return "another"


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


def _shown_with_some(users: Sequence[of.UserScore]) -> str:
    """Return with which users the facts help or hurt, if that is not the same with all of them;
    empty if it is, or with none.
    """
    by_verdict: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for one in users:
        verdict = one.shows if one.shows in by_verdict else ""
        by_verdict[verdict].append(_short(one.user))
    if sum(map(bool, by_verdict.values())) < 2:
        return ""
    said = (("the facts help with", "better"), ("the facts hurt with", "worse"),
            ("nothing is shown with", ""))  # fmt: skip
    return ", ".join(f"{words} {listed(by_verdict[key])}" for words, key in said if by_verdict[key])


@write.register
def _threshold_with_some(finding: of.ThresholdWithSome) -> str:
    met, missed = (
        listed([f"{_short(user)} ({number(value)})" for user, value in users])
        for users in (finding.met, finding.missed)
    )
    return f"{finding.rule}: {finding.bar:g} is met with {met}, not with {missed}"


@write.register
def _simulated_users(finding: of.SimulatedUsers) -> str:
    apart, interval = finding.difference.mean, finding.difference.estimate.interval
    if apart is None:
        return (
            f"{finding.title}: no conversation that simulated users held was also held by a person"
        )
    spread = "too few for an interval"
    if interval is not None:
        spread = f"95 % interval {interval_words(interval)}"
    basis = f"{plural(finding.difference.units, finding.difference.unit)}, {spread}"
    if finding.difference.is_beyond_chance:
        more = "higher" if apart > 0 else "lower"
        return (
            f"{finding.title}: simulated users score the agent {number(abs(apart))} {more} than a"
            f" person ({basis})"
        )
    end = DIRECTIONS[finding.difference.direction]
    return (
        f"{finding.title}: scores with simulated users lie {signed(apart)} from a person's"
        f" ({basis}): {end}"
    )


@write.register
def _verdicts_replaced(finding: of.VerdictsReplaced) -> str:
    what = f"{finding.conversations} of {plural(finding.held, 'conversation')} judged again"
    if finding.run:
        what = f"{finding.run}: {what}"
    if finding.job:
        what += f" by the criteria of {clean_line(finding.job, 80)}"
    if finding.waits:
        return (
            f"{what}: the verdicts before them count until all that can be judged are; the same"
            " command goes on"
        )
    if not finding.counts:
        return f"{what}: the recorded verdicts count, the later ones are shown beside them"
    judges = ", ".join(finding.judges)
    return (
        f"{what}: the latest verdict of each counts ({judges}), the recorded ones are shown beside"
        " them"
    )


@write.register
def _criteria_changed(finding: of.CriteriaChanged) -> str:
    recorded, given = map(_criteria, (finding.recorded, finding.given))
    return f"task {finding.task}: recorded {recorded}, in {clean_line(finding.job, 80)} {given}"


def _criteria(words: str) -> str:
    if not words:
        return "nothing"
    return f"“{shorten(clean_line(words), LONGEST_CRITERIA)}”"


@write.register
def _assertion_changed(finding: of.AssertionChanged) -> str:
    recorded, given = (
        words.replace("_", " ") or "not asked" for words in (finding.recorded, finding.given)
    )
    title = shorten(clean_line(finding.title), LONGEST_CRITERIA)
    text = (
        f"{finding.where}, “{title}”: recorded {recorded}, in {clean_line(finding.job, 80)} {given}"
    )
    if finding.why:
        text += f" ({shorten(clean_line(finding.why), LONGEST_CRITERIA)})"
    return text


# The gate, the stop rule, ranks and plans


@write.register
def _score_basis(finding: of.ScoreBasis) -> str:
    if not finding.needed:
        listed = "; ".join(counted_with_causes(counted) for _, counted in finding.counted)
        return f"{listed}{_lowest(finding.lowest, sent_again=finding.sent_again)}"
    listed = "; ".join(
        f"{published_title(condition)} {counted_with_causes(counted)}"
        for condition, counted in finding.counted
    )
    if len(finding.counted) < finding.needed:
        return f"{needs_all(finding.needed)}; {listed}"
    return f"{listed}{_lowest(finding.lowest, sent_again=finding.sent_again)}"


def _lowest(lowest: tuple[float, float] | None, *, sent_again: bool = False) -> str:
    """Return what a score is if what was left out counts 0, to be appended; empty without one."""
    if lowest is None:
        return ""
    if sent_again:
        return (
            f"; {number_near(*lowest)} with the excluded as 0 and the time of requests that"
            " were sent again, so it may not be met: use a lower --concurrency"
        )
    return f"; {number_near(*lowest)} with the excluded as 0, so it may not be met"


def needs_all(conditions: int) -> str:
    """Return the text in place of the mean and the difference, if not all of the job's conditions
    were run.
    """
    return f"needs {both_or_all(conditions)} conditions"


_SENT = "what the agent sent, or did not send"


@write.register
def _not_excused(finding: of.NotExcused) -> str:
    ours = dict(finding.counted.reasons).get("program", 0)
    theirs = finding.counted.unexcused - ours
    causes = (
        (theirs, _SENT),
        (ours, "a bug in this program: please report it"),
    )
    left_out = "; ".join(
        f"{plural(count, 'conversation')} left out because of {what}"
        for count, what in causes
        if count
    )
    return f"{left_out}; no gate passes over that, however few they are"


@write.register
def _pass_share_basis(finding: of.PassShareBasis) -> str:
    if finding.measured:
        return f"over {plural(finding.tasks, 'task')}{_lowest(finding.lowest)}"
    if not finding.tasks:
        return NO_TASKS
    return f"{finding.k} trials are needed, there are {finding.most}"


@write.register
def _times_basis(finding: of.TimesBasis) -> str:
    if not finding.answers:
        return "no answer"
    scope = f"of {plural(finding.answers, 'answer')}"
    if finding.answers * (100 - finding.percent) < 100:
        scope += f", so few that p{finding.percent} is the longest"
    failed = plural(finding.failures, "failed request")
    if finding.failures:
        scope = f"{scope}; {failed} left out"
    if finding.longest_ms is None:
        return scope
    if not isfinite(finding.longest_ms):
        return f"{scope}; answers that never came would be the longest, so it may not be met"
    longest = latency(finding.longest_ms)
    return f"{scope}; {longest} with the time of failed requests, so it may not be met"


@write.register
def _assertion_missed(finding: of.AssertionMissed) -> str:
    return f"{finding.trial}: {finding.reason or 'failed'}"


@write.register
def _stop_decision(finding: of.StopDecision) -> str:
    text = _decision(finding)
    if finding.left_out:
        rounds = plural(finding.left_out, "round")
        text += f"; {rounds} left out, since a conversation could not be measured"
    return text


def _decision(finding: of.StopDecision) -> str:
    if finding.interval is None:
        return "undecided: no round could be measured"
    rounds, subject = plural(finding.rounds, "round"), _subject(finding)
    low, high = signless(finding.interval.low), signless(finding.interval.high)
    width = f"[{low}, {high}], valid at every look"
    if finding.decision == "undecided":
        return f"undecided after {rounds}: {subject} lies in {width}"
    if finding.models:
        better, worse = finding.models if finding.decision == "above" else finding.models[::-1]
        return f"decided after {rounds}: {better} is better than {worse}; {subject} lies in {width}"
    return (
        f"decided after {rounds}: {subject} is {finding.decision} {finding.bar:g}; it lies in"
        f" {width}"
    )


def _subject(finding: of.StopDecision) -> str:
    where = f"of {finding.jobs[0]}"
    if len(finding.jobs) > 1:
        where = f"over {plural(len(finding.jobs), 'job')}"
    facts = published_title(finding.conditions[0])
    if finding.models:
        first, second = finding.models
        return f"{first} − {second}, {facts} {where},"
    count = len(finding.conditions)
    if count > 1:
        return f"the mean of {of_mean_words(finding.conditions)} conditions {where}"
    return f"{facts} {where}"


@write.register
def _ranks_basis(finding: of.RanksBasis) -> str:
    cases = plural(finding.cases, "common case")
    if finding.cases < finding.needed:
        return f"{cases}: too few for ranks that hold on other cases, {finding.needed} are needed"
    text = f"with 95 % confidence, all true ranks are in these intervals; {cases}"
    if finding.left_out:
        text += f"; {finding.left_out} that not all agents have are left out"
    return text


@write.register
def _agent_ranks_basis(finding: of.AgentRanksBasis) -> str:
    if finding.unranked and len(finding.unranked) == finding.agents:
        return "no ranks: percentiles on leaderboards are unknown for all valid submissions"
    of = "all agents have"
    rest = ""
    if finding.unranked:
        of = "all other agents have"
        rest = f"; no rank for {join_names(finding.unranked)}: no percentile is known"
    if finding.shared < finding.needed:
        there_are = f"there {_is_or_are(finding.shared)} {finding.shared}"
        return f"ranks need {finding.needed} tasks that {of}; {there_are}{rest}"
    return (
        f"ranks on {finding.shared:,} tasks that {of}, with 95 % confidence in all of them"
        f" together{rest}"
    )


@write.register
def _behind_next(finding: of.BehindNext) -> str:
    mean, interval, pairs = (
        finding.behind.mean,
        finding.behind.estimate.interval,
        len(finding.behind.estimate.points),
    )
    if mean is None:
        return ""
    verdict = finding.behind.direction
    shown = f"{signed(mean, 1)} percentiles on {plural(pairs, 'shared task')}"
    if interval is None:
        return f"{shown}: {DIRECTIONS[verdict]}"
    low, high = signed(interval.low, 1), signed(interval.high, 1)
    return f"{shown}, 95 % interval {low} to {high}: {DIRECTIONS[verdict]}"


@write.register
def _manner_basis(finding: of.MannerBasis) -> str:
    parts = []
    if finding.conversations < finding.held:
        held = plural(finding.held, "conversation")
        parts.append(f"measured in {finding.conversations:,} of {held}")
    if finding.conversations < finding.needed:
        parts.append(
            f"{_too_few(of.Units(finding.conversations, 'conversation'))} to tell whether this user"
            f" is like people; {finding.needed} would give intervals"
        )
    parts.append(
        f"people: {finding.people} ({finding.licence}), {finding.about}; mean and the middle"
        f" 90 % of {finding.of_people} conversations; English phrases"
    )
    return ". ".join(parts)


@write.register
def _worst_shown(finding: of.WorstShown) -> str:
    command = f"bioeval-tui runs report {finding.run_id} --trial 1-50 --output page.html"
    shown, left = plural(finding.shown, "conversation"), finding.held - finding.shown
    return (
        f"Shown are the {shown} that went worst, those in which the judge failed a task first;"
        f" {left:,} {_is_or_are(left)} left out. `{command}` makes a page of the trials that you"
        f" name. All figures are of all {finding.held:,}."
    )


@write.register
def _part_needed(finding: of.PartNeeded) -> str:
    part, target = finding.part, number(finding.target)
    name = PARTS[part.part]
    if part.value is None:
        return f"{name} alone cannot reach {target}: even 1.00 gives {number(part.best)}"
    now, wanted = number(part.now), number_up(part.value)
    if part.value <= part.now:
        return f"{name} could fall from {now} to {wanted} and still reach {target}"
    return f"to reach {target}, {name} would have to rise from {now} to {wanted}"


@write.register
def _interval_expected(finding: of.IntervalExpected) -> str:
    about = (
        f"an interval of about ±{number(finding.half)}, if trials vary by"
        f" {number(finding.deviation)}"
    )
    if finding.trials >= finding.needed:
        return f"{finding.trials} trials give {about}"
    return f"{plural(finding.trials, 'trial')}: no interval; {finding.needed} give {about}"


# A moment of a conversation


@write.register
def _beginning(finding: of.Beginning) -> str:
    return f"Conversation {finding.number} of {finding.of}: {_knows(finding)}."


def _knows(finding: of.Beginning) -> str:
    if finding.scripted_model:
        words = "names the medicine this time"
        if finding.withheld:
            words = "does not name the medicine"
        return f"a script plays the user and {words}; the agent is a real language model"
    if finding.withheld:
        return "the user knows no facts, and cannot answer when the agent asks"
    return (
        f"the same user again, who now knows {plural(finding.facts, 'fact')} and shares them when"
        " asked"
    )


@write.register
def _request_just_failed(finding: of.RequestJustFailed) -> str:
    error = shorten(finding.error, LONGEST_TITLE)
    return (
        f"A request to the {finding.peer} failed ({error}); failures of the agent lower its score."
    )


@write.register
def _now_true(finding: of.NowTrue) -> str:
    what = _title(finding.title)
    if finding.more:
        what += f" and {finding.more} more"
    return f"Now true: {what}. This is checked in the agent's state, not in its answers."


@write.register
def _fact_just_given(finding: of.FactJustGiven) -> str:
    why = {True: " because the agent asked", False: " without being asked", None: ""}[finding.asked]
    return f"The user gives fact {finding.fact}{why}."


@write.register
def _awaits_verdict(finding: of.AwaitsVerdict) -> str:
    reads = "Rules judge" if finding.by_rules else "The judge reads"
    ended = _spaced("The conversation", side_words(finding.side), "has ended")
    return f"{ended}. {reads} it, and every assertion is checked once more."


@write.register
def _ends_with_score(finding: of.EndsWithScore) -> str:
    scores = f"the agent scores {number(finding.score.score)}: {_holds(finding)}."
    return upper_first(_spaced(side_words(finding.score.side), scores))


def _holds(finding: of.EndsWithScore) -> str:
    if not finding.assertions:
        return "it had no assertions"
    count, first = plural(finding.assertions, "assertion"), _title(finding.first)
    if not finding.fails and finding.assertions == 1:
        return f"{first} holds" if finding.first else "its assertion holds"
    if not finding.fails:
        which = "both assertions" if finding.assertions == 2 else f"all {count}"
        return f"{which} hold, such as {first}" if finding.first else f"{which} hold"
    if finding.fails == 1:
        return f"{first} does not hold"
    return f"{finding.fails} of {count} do not hold, such as {first}"


# Estimates


def interval_words(finding: Interval) -> str:
    """Return such as `0.61 to 0.83`."""
    return f"{signless(finding.low)} to {signless(finding.high)}"


def _interval_and_scope(interval: Interval) -> str:
    return f"95 % interval {interval_words(interval)}, {interval.scope}"


def spread_words(finding: Estimate) -> str:
    """Return the interval with its scope, or the points and their range when there are too few for
    one.
    """
    interval, points = finding.interval, finding.points
    if interval is not None:
        return _interval_and_scope(interval)
    if not points:
        return "no value"
    if len(points) == 1:
        return "one value, no interval"
    if finding.all_equal:
        return f"all {len(points)} values are equal, too few for an interval"
    shown = list(map(signless, points[:FEWEST]))
    if len(points) > FEWEST:
        shown.append("…")
    spread = f"range {signless(min(points))} to {signless(max(points))}"
    few = ", too few for an interval"
    if 1 < finding.clusters < len(points):  # thousands of trials may be of two jobs
        few = f"; {plural(finding.clusters, finding.unit)} are too few for an interval"
    return f"{len(points):,} values: {', '.join(shown)}; {spread}{few}"


def counted_words(finding: Counted) -> str:
    """Return such as `9 of 10 used (the judge failed in 1), 2 held again because the connection
    broke`.
    """
    text = f"{finding.used} of {finding.held} used"
    if finding.reasons:
        why = (_left_out(reason, count) for reason, count in finding.reasons)
        text += f" ({', '.join(why)})"
    if finding.again:
        text += f", {finding.again} held again because the connection broke"
    return text


def counted_with_causes(finding: Counted) -> str:
    """Return the same with what happened: `9 of 10 used (the judge failed in 1: it gave no verdict
    within 60 s)`.
    """
    causes = dict(finding.causes)
    why = "; ".join(
        _with_lead(_left_out(reason, count), causes.get(reason, ""))
        for reason, count in finding.reasons
    )
    text = counted_words(replace(finding, reasons=()))
    if why:
        text += f" ({why})"
    return text


def _left_out(reason: str, count: int) -> str:
    if reason in FAILED:
        return f"{FAILED[reason]} in {count}"
    return f"{count} {reason}"


def difference_words(finding: Difference) -> str:
    """Return such as `+0.07, 95 % interval −0.01 to 0.15: not yet distinguishable`."""
    if finding.mean is None:
        return f"not measured ({counted_words(finding.estimate.counted)})"
    mean, end = signed(finding.mean), DIRECTIONS[finding.direction]
    points, interval = finding.estimate.points, finding.estimate.interval
    if len(points) == 1:
        return f"{mean} in one pair: {end}"
    low, high = signed(min(points)), signed(max(points))
    if low == high and (interval is None or finding.estimate.all_equal):
        return f"{mean} in each of {len(points):,} pairs: {end}"
    if interval is None:
        pairs, of = f"{len(points):,} pairs", finding.estimate
        if 1 < of.clusters < len(points):
            pairs += f" of {plural(of.clusters, of.unit)}"
        return f"{mean}, {pairs} from {low} to {high}: {end}"
    text = f"{mean}, 95 % interval {interval_words(interval)}: {end}"
    if finding.beyond_interval:
        text += _p(finding.p)
    return text


def effect_words(finding: Difference, shared: of.Shared | None) -> str:
    """Return the difference between the conditions in the same words, and what it rests on if not
    on everything.
    """
    words = difference_words(finding)
    if shared is None or (finding.mean is None and not shared.is_nothing):
        return words
    basis = sentence(of.EffectBasis(shared))
    if shared.is_nothing:
        return basis
    return f"{words}; {basis}"


def p_words(p: float) -> str:
    """Return three decimals, or `< 0.001`."""
    if p < 0.001:
        return "< 0.001"
    return number3(p)


def rank_words(finding: AgentRank) -> str:
    """Return such as `rank 2–7`, or `rank 1`."""
    if finding.best == finding.worst:
        return f"rank {finding.best}"
    return f"rank {finding.best}–{finding.worst}"


def concurrency_words(finding: LatencySummary) -> str:
    """Return such as `1 conversation at a time`."""
    if not finding.concurrency:
        return "concurrency unknown"
    if finding.concurrency == (1,):
        return "1 conversation at a time"
    return f"{' and '.join(map(str, finding.concurrency))} conversations at a time"


# Parts of sentences


def under(title: str, text: str) -> str:
    """Return a sentence under a title, such as `Without the facts: one pair shows …`."""
    return f"{upper_first(title)}: {text[:1].lower()}{text[1:]}"


def side_words(side: of.Side) -> str:
    """Return `without the facts`, or the condition by the name that the job gives it: `in “knows
    nothing”`; nothing where there is no condition to speak of.
    """
    if not side.title:
        return ""
    if side.title in (*PUBLISHED_TITLES.values(), PLACEBO_TITLE):
        return side.title
    return f"in “{side.title}”"


def _models(models: Sequence[of.ModelScore]) -> str:
    shown = [_model(model, at == 0) for at, model in enumerate(models[:LISTED])]
    if len(models) > LISTED:
        shown.append(f"{len(models) - LISTED} more")
    return ", ".join(shown)


def _model(model: of.ModelScore, is_first: bool) -> str:
    """Return a model with its scores; only with the first of several it is said which score is
    which.
    """
    if len(model.scores) < 2:
        return f"{model.name} {number(model.score)}"
    scores = _arrows(model.scores, [number(one.score) for one in model.scores])
    if is_first:
        scores = _conditions(model.scores)
    return f"{model.name} {number(model.score)} ({scores})"


def _basis_words(
    trials: of.Trials, interval: Interval | None = None, *, all_equal: bool = False
) -> str:
    """Return what a difference rests on: ` in each of 5 trials`, or ` over 5 trials` with its
    interval.
    """
    if trials.used == 1:
        return f" (the only one of {trials.planned} trials with both scores)"
    if all_equal:
        return f" in each of {_used(trials)}"
    text = f" over {_used(trials)}"
    if interval is not None:
        text += f" (95 % interval of the difference {interval_words(interval)})"
    return text


def _used(trials: of.Trials) -> str:
    """Return such as `4 of 5 trials`, `36 trials of 12 cases`, or `50 cases` of one trial each."""
    if trials.used == trials.planned == trials.cases:
        return f"{trials.cases:,} cases"
    text = f"{trials.used:,} trials"
    if trials.used < trials.planned:
        text = f"{trials.used:,} of {trials.planned:,} trials"
    if trials.cases:
        text += f" of {plural(trials.cases, 'case')}"
    return text


def _too_few(few: of.Units) -> str:
    return f"{plural(few.count, few.unit)} {_is_or_are(few.count)} too few"


def _is_or_are(count: int) -> str:
    if count == 1:
        return "is"
    return "are"


def _has_or_have(count: int) -> str:
    if count == 1:
        return "has"
    return "have"


def _spaced(*parts: str) -> str:
    """Return words with a space between them, such as those of a side, which may be none."""
    return " ".join(filter(None, parts))


def _conversation(place: of.TalkPlace) -> str:
    """Return such as `in the conversation with the facts of trial 2`."""
    text = _spaced("in the conversation", side_words(place.side).removeprefix("in "))
    if place.trial:
        text += f" of {place.trial}"
    return text


def _places(places: of.Places, *, turns: bool = True) -> str:
    """Return where something happened: in one conversation, in both, or in how many, and first in
    which.
    """
    shown = list(map(_conversation, places.at))
    moments: list[str] = []
    if turns:
        moments = list(map(_turn, places.at))
        shown = [f"{moment} {talk}" for moment, talk in zip(moments, shown, strict=True)]
    if len(shown) == 1:
        return shown[0]
    if len(shown) == places.held == 2:
        if len(set(moments)) < 2:
            return " ".join((*moments[:1], "in both conversations"))
        return " and ".join(shown)
    return f"in {len(shown):,} of {places.held:,} conversations, first {shown[0]}"


def _turn(place: of.TalkPlace) -> str:
    if place.turn is None:
        return "before the first turn"
    return f"at turn {place.turn}"


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
    if of_cases:
        return "cases"
    return "trials of each run"


def _spelt(count: int, noun: str) -> str:
    if count >= len(_COUNTS):
        return plural(count, noun)
    if count == 1:
        return f"one {noun}"
    return f"{_COUNTS[count]} {noun}s"


def _bracket(detail: str) -> str:
    if detail:
        return f" ({_short(detail)})"
    return ""


def _p(p: float | None) -> str:
    return "" if p is None else f" (p {p_words(p)})"


def _title(title: str) -> str:
    return f"“{shorten(title, LONGEST_TITLE)}”"


def _short(text: str, width: int = LONGEST_DETAIL) -> str:
    return shorten(clean_line(text), width).rstrip(".")


_FORMS: dict[str, Callable[[Any], str]] = {
    "and": listed,
    "bracket": _bracket,
    "comma": ", ".join,
    "count": "{:,}".format,
    "Conversation": lambda place: upper_first(_conversation(place)),
    "counted": counted_words,
    "few": _too_few,
    "one": number1,
    "reason": lambda reason: shorten(reason, 120),
    "scored": lambda found: f"{found.scored} of {plural(found.planned, 'conversation')}",
    "share": share,
    "short": _short,
    "side": lambda side: side_words(side) and f" {side_words(side)}",
    "title": _title,
}
"""How the texts of `TEXTS` write a field."""
