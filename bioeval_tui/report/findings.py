"""What was found about a run, a batch, a comparison, a gate or a moment of a conversation: data
without words.

`sentences` has a writer for each. Findings name no statistic's method and no grammar: they hold
counts, scores, places and names as they were recorded. Imports nothing that is slow, so that the
live screen can use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, dataclass_transform

from bioeval_tui.record.condition_names import Condition, published_title

if TYPE_CHECKING:
    from bioeval_tui.record.events import KeptBy
    from bioeval_tui.record.score import Needed
    from bioeval_tui.statistics.estimates import Counted
    from bioeval_tui.statistics.intervals import Interval
    from bioeval_tui.statistics.paired_differences import Difference
    from bioeval_tui.statistics.planning import Decision

Outcome = Literal[
    "not_started", "unfinished", "cancelled", "not_run",
    "agent_unreached", "agent_failed", "timed_out", "evaluator_failed", "judge_failed",
    "not_measured",
    "not_clean", "clean_unknown", "own_criteria",
    "facts_help", "facts_hurt", "longer_talk", "no_difference", "perfect", "too_few",
    "facts_not_given", "facts_unread", "no_facts",
    "one_condition",
    "medal", "no_medal", "invalid", "not_graded",
    "winner", "no_winner", "one_model",
]  # fmt: skip
"""The kinds of answer, as JSON has them."""


@dataclass_transform(frozen_default=True)
class _Data:
    """Makes each class below it a dataclass of which type checkers know that it is frozen.

    `dataclass` would compile comparison, hash and text anew for each of the hundred classes, at
    every start.
    """

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, repr=False)(cls)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return repr((type(self).__name__, vars(self)))


class Finding(_Data):
    """What `sentences.sentence` writes: each class below this one has a sentence, and an example in
    its tests.
    """


class ConclusionFinding(Finding):
    """What the answer of a run, a batch, a comparison or a submission rests on."""

    @property
    def outcome(self) -> Outcome:
        """The kind of answer."""
        raise NotImplementedError

    @property
    def attributed(self) -> float | None:
        """The difference that it attributes to the facts, supplied − withheld; None if it
        attributes none.
        """
        return None


class ScoredFinding(ConclusionFinding):
    """Of a run that has scores to show."""


class EffectFinding(ScoredFinding):
    """What the difference of the scores says of the facts, whose part in it a placebo can tell."""

    trials: Trials


# What findings are made of


class Side(_Data):
    """A condition, and what the job calls it."""

    condition: Condition
    title: str


class SideScore(_Data):
    """The score in one condition; None if it could not be measured."""

    side: Side
    score: float | None


class TalkPlace(_Data):
    """A conversation, and the turn at which it stood."""

    side: Side
    trial: str
    """Such as `trial 2` or `case 17`; empty in a run of one trial."""
    turn: int | None
    """None before the first turn."""


class Places(_Data):
    """Where the same happened: in `at`, in the order of the trials, of `held` conversations."""

    at: tuple[TalkPlace, ...]
    held: int


class Breakdown(_Data):
    """The same failure in some conversations; `detail` is of the first."""

    places: Places
    detail: str


class Trials(_Data):
    """The number of trials that a finding rests on, and of those planned."""

    used: int
    planned: int
    cases: int = 0
    """How many cases they are of; 0 of a job without cases."""


class Units(_Data):
    """A count of independent pairs, and what each is of: `trial`, `case` or `job`."""

    count: int
    unit: str


class Shared(_Data):
    """How many tasks (or items of a rubric) and assertions both conditions share, of all that have
    a weight.
    """

    tasks: int
    of_tasks: int
    assertions: int
    of_assertions: int

    @property
    def is_nothing(self) -> bool:
        """Whether each condition has its own criteria only."""
        return not (self.tasks or self.assertions)


class ModelScore(_Data):
    """A model, named so that it differs from the others of its batch, and its mean score of all
    conditions.
    """

    name: str
    score: float
    scores: tuple[SideScore, ...] = ()
    """Its score of each condition."""


# Why a run has no result


class NeverStarted(ConclusionFinding):
    """A run without a first event."""

    outcome: ClassVar[Outcome] = "not_started"


class StillUnfinished(ConclusionFinding):
    """A run that has not ended, or a replay of one that stands before its end."""

    outcome: ClassVar[Outcome] = "unfinished"
    scored: int
    planned: int
    replayed: bool = False

    @property
    def what(self) -> str:
        """What has not ended."""
        return "replay" if self.replayed else "run"


class WasCancelled(ConclusionFinding):
    """A cancelled run; `detail` says by what, if not by its user."""

    outcome: ClassVar[Outcome] = "cancelled"
    detail: str
    scored: int
    planned: int


class CouldNotStart(ConclusionFinding):
    """A run that failed as a whole."""

    outcome: ClassVar[Outcome] = "not_run"
    detail: str


class NothingScored(ConclusionFinding):
    """A conversation that nobody scored."""

    outcome: ClassVar[Outcome] = "not_measured"
    place: TalkPlace


class AgentUnreached(ConclusionFinding):
    """An agent to which no request came through."""

    outcome: ClassVar[Outcome] = "agent_unreached"
    cause: str


class AgentGone(ConclusionFinding):
    """An agent that broke off a conversation, and was not there when it was to be held again."""

    outcome: ClassVar[Outcome] = "agent_failed"
    cause: str


class NoConversation(ConclusionFinding):
    """An agent that was reached, and never answered."""

    outcome: ClassVar[Outcome] = "agent_failed"
    cause: str


class EvaluatorFailures(ConclusionFinding):
    """Conversations spoilt by the simulated user, which left its role or failed."""

    outcome: ClassVar[Outcome] = "evaluator_failed"
    left_role: Breakdown | None
    failed: Breakdown | None


class JudgeFailures(ConclusionFinding):
    """Conversations without a verdict, which are kept."""

    outcome: ClassVar[Outcome] = "judge_failed"
    judge: Breakdown


class NoScoreAnywhere(ConclusionFinding):
    """Several conversations without a score, all for the same reason."""

    outcome: ClassVar[Outcome] = "not_measured"
    cause: str


class NoScoreThere(ConclusionFinding):
    """The conversations of conditions that have no score, and why the first has none."""

    outcome: ClassVar[Outcome] = "not_measured"
    places: Places
    cause: str


class ScoresLost(ScoredFinding):
    """So many conversations without a score, or such, that those with one say little of the agent:
    `why` is what a gate says of it, and `cause` that of the first.
    """

    outcome: ClassVar[Outcome] = "not_measured"
    why: ManyExcluded | NotExcused
    places: Places
    cause: str


class AgentBroke(ScoredFinding):
    """Conversations that the agent ended early."""

    failed: Breakdown | None
    late: Breakdown | None
    penalties: tuple[SideScore, ...]
    """What failed requests took from each score of a run of one trial."""

    @property
    def outcome(self) -> Outcome:
        """A failure before a lack of time."""
        if self.failed:
            return "agent_failed"
        return "timed_out"


# What the facts do


class Gain(Finding):
    """A possible improvement, and by how much it alone would raise the score."""

    kind: Literal["assertion", "task", "timing", "failures"]
    index: int
    """Of an assertion its index from 0, of a task its number from 1; 0 otherwise."""
    title: str
    by: float = 0.0
    met: bool | None = None
    """Of a rubric's item, whether it should be met or not; None of any other task."""
    target_s: float = 0.0
    failures: int = 0


class OneCondition(ScoredFinding):
    """A run of one condition."""

    outcome: ClassVar[Outcome] = "one_condition"
    trials: Trials
    all_equal: bool
    interval: Interval | None


class UncleanStart(ScoredFinding):
    """Conditions that did not, or may not, have started from the same state."""

    why: str
    unknown: bool
    no_state: bool = False
    """Whether it is unknown because there was no state to compare."""

    @property
    def outcome(self) -> Outcome:
        """Whether the states differ, or are unknown."""
        if self.unknown:
            return "clean_unknown"
        return "not_clean"


class NoPairOfScores(ScoredFinding):
    """Scores of which no trial has both."""

    outcome: ClassVar[Outcome] = "not_measured"


class ContrastNotRun(ScoredFinding):
    """Scores without those of a condition of whose difference the effect of the facts is."""

    outcome: ClassVar[Outcome] = "one_condition"
    missing: tuple[Condition, ...]


class NoFactsInJob(ScoredFinding):
    """A job without facts, which asks the same twice."""

    outcome: ClassVar[Outcome] = "no_facts"


class NoFactGiven(ScoredFinding):
    """Facts that the user kept."""

    outcome: ClassVar[Outcome] = "facts_not_given"


class FactsUnread(ScoredFinding):
    """Facts of which the ledger cannot tell whether the user gave one; `why` is a clause that says
    so.
    """

    outcome: ClassVar[Outcome] = "facts_unread"
    why: str


class OneOfTrials(ConclusionFinding):
    """One of several trials, which alone says little."""

    outcome: ClassVar[Outcome] = "one_condition"
    trial: int
    of: int


class NothingToGain(EffectFinding):
    """Full scores in both conditions."""

    outcome: ClassVar[Outcome] = "perfect"
    enough: bool
    """Whether there are enough of them to tell a difference."""

    @property
    def attributed(self) -> float | None:
        """None of too few trials."""
        if self.enough:
            return 0.0
        return None


class NoEffectOfFacts(EffectFinding):
    """The same score in both conditions, in every trial."""

    outcome: ClassVar[Outcome] = "no_difference"
    attributed: ClassVar[float | None] = 0.0


class EffectOfFacts(EffectFinding):
    """Different scores in both conditions; `by` is with the facts − without."""

    by: float
    all_equal: bool
    interval: Interval | None
    """Of the difference."""
    with_talk: bool = False
    """Whether a part of it is, or may be, the longer talk's that the facts bring."""

    @property
    def outcome(self) -> Outcome:
        """Whether the facts help or hurt."""
        if self.by > 0:
            return "facts_help"
        return "facts_hurt"

    @property
    def attributed(self) -> float | None:
        """The difference of the two scores; None if a part of it is, or may be, the talk's."""
        if self.with_talk:
            return None
        return self.by


class EffectOfTalk(EffectFinding):
    """Different scores in both conditions, of which the placebo shows that the longer talk makes
    the difference; `by` is with the facts − without.
    """

    outcome: ClassVar[Outcome] = "longer_talk"
    by: float
    interval: Interval | None
    """Of the difference."""


class EffectWithinChance(EffectFinding):
    """Scores whose difference chance alone would often make."""

    outcome: ClassVar[Outcome] = "no_difference"
    by: float
    interval: Interval | None


class TooFewForEffect(EffectFinding):
    """Scores of too few trials or cases for an effect."""

    outcome: ClassVar[Outcome] = "too_few"
    cases: int | None
    """The number of cases, where these count and not the trials."""
    needed: int


class NoSharedCriteria(ScoredFinding):
    """Conditions that are each scored by their own criteria only, so that no effect is claimed."""

    full: bool
    """Whether each has the full score."""

    @property
    def outcome(self) -> Outcome:
        """Whether anything was left to gain."""
        if self.full:
            return "perfect"
        return "own_criteria"


ControlVerdict = Literal[
    "facts", "talk", "both", "facts at least", "talk at least", "nothing", "open", "too few"
]


class FactsOrTalk(Finding):
    """What of a difference is the facts', and what the longer talk's, in the trials with all three
    scores.
    """

    total: Difference
    facts: Difference
    """With the facts − with the placebo."""
    talk: Difference
    """With the placebo − without the facts."""
    used: int
    planned: int

    @property
    def verdict(self) -> ControlVerdict:
        """Which of the two makes the difference, as far as it can be told from chance.

        It is one alone only if the other is less than half as large; else it is one `at least`.
        """
        if "too few" in (self.facts.direction, self.talk.direction):
            return "too few"
        of_facts, of_talk = self.facts.is_beyond_chance, self.talk.is_beyond_chance
        if of_facts and of_talk:
            return "both"
        if of_facts:
            return "facts" if _is_smaller(self.talk, self.facts) else "facts at least"
        if of_talk:
            return "talk" if _is_smaller(self.facts, self.talk) else "talk at least"
        if self.facts.direction == self.talk.direction == "same":
            return "nothing"
        return "open"


def _is_smaller(part: Difference, other: Difference) -> bool:
    """Return whether all of a part's interval, or without one each of its values, is less than
    half as large as the mean of the other.
    """
    ends: tuple[float, ...] = part.estimate.points
    if part.estimate.interval is not None:
        ends = (part.estimate.interval.low, part.estimate.interval.high)
    return 2 * max(map(abs, ends)) < abs(other.mean or 0.0)


class TalkDiffers(Finding):
    """A placebo whose user told more than a quarter more or fewer words than the one with facts:
    means of a conversation.
    """

    with_facts: float
    placebo: float


class NoControl(Finding):
    """A placebo of which no trial has all three scores."""


ControlFinding = FactsOrTalk | TalkDiffers | NoControl
"""What is said of a run with a placebo."""


class ControlsOf(Finding):
    """What is said of each model of a batch that was run with a placebo, by its name."""

    of_models: tuple[tuple[str, ControlFinding], ...]


class SharedNotRecorded(ScoredFinding):
    """Criteria of which the conditions share some, in a recording without the verdicts on these."""

    outcome: ClassVar[Outcome] = "own_criteria"


class EffectBasis(Finding):
    """What the difference between two conditions rests on, if they don't share all criteria."""

    shared: Shared


# What came out, and why: the lines of an answer


class Fails(_Data):
    """A task or assertion that fails in every trial of some conditions, and a task's mean score in
    each.
    """

    kind: Literal["assertion", "task"]
    number: int
    """Of a task, from 1; of an assertion, its index."""
    title: str
    scores: tuple[float, ...]


class RunScores(Finding):
    """What came out of a run: the score of each condition, what both share, and what fails."""

    scores: tuple[SideScore, ...]
    shared: Shared | None
    """What the two conditions that are compared share; None if that is everything."""
    on_shared: tuple[float, ...]
    """Their mean scores on it; empty if that is not known."""
    everywhere: tuple[Fails, ...]
    """What fails in every trial of every condition."""
    lower: Side | None
    """The condition of the two with the lower score."""
    there: tuple[Fails, ...]
    """What fails in every trial of it, and passes in every trial of the other."""
    times: int
    """In how many conversations of a condition."""
    broken: int = 0
    held: int = 0
    """How many conversations the agent ended early, of how many."""
    full: int | None = None
    """How many have a score of 1, in a run of several conversations of one condition."""
    lost: int = 0
    planned: int = 0
    """How many conversations have no score, of how many that were planned."""


class ModelScores(Finding):
    """What came out of a batch: the mean score of each model, the best first, and of how many
    conditions.
    """

    models: tuple[ModelScore, ...]


class Failing(Finding):
    """An assertion that fails at the end; `problem` is what kept anyone from looking, of other
    reasons there is no room for.
    """

    title: str
    problem: str = ""


SaidBy = Literal["judge", "rules", "assertion", "clock", "failures"]


class Decided(Finding):
    """The turn that decided, quoted, and who says so of it."""

    place: TalkPlace
    quoted: str
    said_by: SaidBy
    says: str
    agent: str = ""
    """Whose turn it was; empty in a run's own answer."""
    lost: int = 1
    """In how many conversations of its condition points were lost."""
    reviewed: float | None = None
    """The score that people gave the task instead; None without any."""


StepAction = Literal[
    "passage", "passages", "trials", "edit", "edit_file", "again", "grade", "resume", "judge",
    "compare", "one_job",
    "findings", "name_file", "board", "invalid_file", "agents", "grade_list",
]  # fmt: skip
"""What can be done next: read the passage that decided, or both of a comparison; hold more trials;
edit the job, or the file that was handed in; run or grade again; resume; judge again; compare;
compare runs of one job; list all findings; name a file in the list; explain a score; go to an
invalid file; compare agents; grade a list.
"""


class Step(_Data):
    """What can be done next, with these runs or this job; `trials` are how many more, or with
    `each` how many of each run.
    """

    action: StepAction
    runs: tuple[str, ...] = ()
    job: str = ""
    """The job's file or name, for a shell; empty where nothing is to be run."""
    trials: int = 0
    total: int = 0
    """How many trials there are then."""
    each: bool = False
    submission: tuple[str, ...] = ()
    """The file that was handed in and its task, for a shell; empty where there is none."""
    options: tuple[str, ...] = ()
    """The options of the command, for a shell, without which it would do something else."""
    way: str = ""
    """What to do before it, or nothing changes, such as setting a key."""


# A run at a glance


class SameStart(Finding):
    """What both conditions were found to share at the start, such as the graph."""

    shared: tuple[str, ...]


class NoUplift(Finding):
    """A run that is not known to be clean; `missed` says whether it would have an uplift
    otherwise.
    """

    cleanness: str
    why: str
    missed: bool


class NoMean(Finding):
    """A run without the mean of the job's conditions; `only` has the titles of those that it has,
    empty for all.
    """

    only: str
    ended: bool
    conditions: int = 2


class SeedNotApplied(Finding):
    """A seed message that failed, by its number in the job."""

    number: int
    detail: str


class SetupFailed(Finding):
    """A setup that failed, by its number in the job."""

    number: int
    error: str


class NotScored(Finding):
    """A conversation whose score says why there is none."""

    reason: str


class NeverAsked(Finding):
    """A task that the user never asked for, and what kept the user from it."""

    kept_by: KeptBy


class UserErred(Finding):
    """In how many of the conversations the user did something wrong, and how often, by kind."""

    conversations: int
    of: int
    kinds: tuple[tuple[str, int], ...]
    judged: int
    """How many of these only the judge found."""
    user: str = "the simulated user"
    """What the user is called."""


class FactsKept(Finding):
    """What the user's persona did to the facts that it had in a conversation: how many it held
    back, `until` when, and which values it got wrong (right, and what it said).
    """

    persona: str
    held_back: int
    of: int
    until: Literal["never", "asked_twice"] = "never"
    wrong: tuple[tuple[str, str], ...] = ()
    wrong_facts: int = 0
    """In how many facts these values stand."""


class FactsKeptBy(Finding):
    """How many facts a persona held back and got wrong, of all that it had in conversations."""

    persona: str
    held_back: int
    of: int
    wrong: int
    conversations: int


class ToolsMadeFail(Finding):
    """Tools that the job made fail, each with how many of how many calls."""

    tools: tuple[tuple[str, int, int], ...]


class WasResumed(Finding):
    """A run that was interrupted and resumed."""

    times: int


class TrialsAdded(Finding):
    """A run to which trials were added, because as many had no score."""

    trials: int


class SentAgain(Finding):
    """Scores that would be lower if the time of excused requests counted."""

    scores: int


class NewerEvents(Finding):
    """Events that this version does not know."""

    kinds: tuple[str, ...]


# Which model is best


class NoRunMeasured(ConclusionFinding):
    """A batch without a score."""

    outcome: ClassVar[Outcome] = "not_measured"


class OneModelOnly(ConclusionFinding):
    """The only agent and model of several runs."""

    outcome: ClassVar[Outcome] = "one_model"
    runs: int


class OneModelMeasured(ConclusionFinding):
    """The only model of several that has scores."""

    outcome: ClassVar[Outcome] = "no_winner"
    model: str


class ModelsUnpaired(ConclusionFinding):
    """Models that were not run on the same jobs and trials."""

    outcome: ClassVar[Outcome] = "no_winner"


class BestModel(ConclusionFinding):
    """A model that beats every other by at least `margin`; `other` is the only other, empty of
    several.
    """

    outcome: ClassVar[Outcome] = "winner"
    model: str
    other: str
    margin: float


class ModelsTied(ConclusionFinding):
    """Models that score the same in every pair."""

    outcome: ClassVar[Outcome] = "no_winner"
    tied: tuple[str, ...]
    few: Units | None
    """The fewest pairs of two of them, if these are too few for an interval."""


class TooFewForBest(ConclusionFinding):
    """Models with too few pairs to tell them apart."""

    outcome: ClassVar[Outcome] = "no_winner"
    few: Units
    needed: int


class ModelsWithinChance(ConclusionFinding):
    """Models whose differences chance alone would often make."""

    outcome: ClassVar[Outcome] = "no_winner"


# Submissions


class NothingSubmitted(ConclusionFinding):
    """A task without a submission."""

    outcome: ClassVar[Outcome] = "invalid"
    task: str


class InvalidSubmission(ConclusionFinding):
    """A submission that cannot be scored."""

    outcome: ClassVar[Outcome] = "invalid"
    task: str


class GradedSubmission(ConclusionFinding):
    """A submission's score, place and distance to the next medal as its report gives them, and its
    medal, if any.

    `rows` says on how many rows it was scored, if not on all; `doubts` why the score may not be
    what it deserves.
    """

    task: str
    medal: str
    score: str
    place: str
    away: str
    above_median: bool
    rows: str = ""
    doubts: str = ""

    @property
    def outcome(self) -> Outcome:
        """Whether there is a medal."""
        if self.medal:
            return "medal"
        return "no_medal"


class MedalLimits(Finding):
    """The scores that reach each medal, the leaderboard's median, and how many entries it has, if
    known.
    """

    bronze: float
    silver: float
    gold: float
    median: float
    entries: int | None


class NotGradedSubmission(ConclusionFinding):
    """A submission that was not graded, through no fault of its file."""

    outcome: ClassVar[Outcome] = "not_graded"
    task: str


class WithoutScore(Finding):
    """The first submission of a table that has no score: which kind, whose it is, and why."""

    kind: Literal["invalid", "not graded"]
    task: str
    agent: str
    reason: str


class FurthestFromMedal(Finding):
    """The submission of a table with the lowest percentile without a medal, and how far the next
    one is.
    """

    task: str
    agent: str
    percentile: float
    away: str


class MedalCounts(ConclusionFinding):
    """What the submissions of a medal table came to: how many have which standing, best first,
    without those that none has.

    `above` and `beats_human` are how many are above the median, and above the human one. `average`
    is the mean percentile (0 to 100) of those that `over` names, empty if they are all the valid
    ones; `with_zeros` counts the `others` as 0. `basis` is what ranks of agents rest on; None with
    one agent, or none that is known. `first` are the agents that may rank first, if any are ranked.
    `means` are the agents' mean percentiles on the tasks that all of them have, the highest first.
    """

    counts: tuple[tuple[str, int], ...]
    submissions: int
    above: int
    beats_human: int
    average: float | None
    over: str
    with_zeros: float | None
    others: str
    tasks: int
    needed: int
    doubtful: int
    partial: int
    basis: AgentRanksBasis | None
    first: tuple[str, ...] = ()
    means: tuple[tuple[str, float], ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Whether there is any medal; without one, any score, any file that is at fault."""
        names = [name for name, _ in self.counts]
        if any(name in ("gold", "silver", "bronze") for name in names):
            return "medal"
        if "none" in names:
            return "no_medal"
        if "invalid" in names:
            return "invalid"
        return "not_graded"


# Where a conversation lost points


class TaskFellShort(Finding):
    """A task without a full score; `judged` is its score as the judge gave it."""

    title: str
    reason: str
    judged: str


class AssertionFails(Finding):
    """An assertion that fails at the end; `since` is the turn after which it did, None if it never
    passed.
    """

    title: str
    since: int | None
    reason: str


class SlowAnswers(Finding):
    """Answers slower than the job's target; `turn` is that of the slowest, None without any."""

    turn: int | None
    latency_ms: float | None


class RequestsFailed(Finding):
    """Failed requests that count, with the error of the first."""

    count: int
    error: str


# Two runs


class ConditionCompared(_Data):
    """Run B against run A in a condition: the difference of the scores, in how many pairs each is
    higher, and by how much.
    """

    side: Side
    difference: Difference
    a_higher: int
    b_higher: int


class RunsCompared(ConclusionFinding):
    """Which of two runs scored higher, in each condition that both have; `sure` is whether that is
    beyond chance.
    """

    conditions: tuple[ConditionCompared, ...]
    sure: bool
    needed: int
    """How many pairs would tell; 0 if there are enough."""
    names: tuple[str, str] = ("", "")
    """What tells A's agent from B's; empty if the same agent was tested."""
    in_part: bool = False
    """Whether their jobs share only a part, which is what is compared."""
    lost: int = 0
    """How many conversations without a score would change what can be said, if they count 0."""

    @property
    def outcome(self) -> Outcome:
        """Whether one is better beyond chance."""
        if self.sure:
            return "winner"
        return "no_winner"


class NothingShared(ConclusionFinding):
    """Two runs of jobs that share no task, or of which one has no case or condition of the other:
    nothing is compared.
    """

    a: str
    b: str
    """The names of their jobs."""

    @property
    def outcome(self) -> Outcome:
        """None is better."""
        return "no_winner"


class WhyApart(Finding):
    """What sets two runs apart most: a part of the score, and the task or assertion that changed
    most in it.
    """

    side: Side
    part: str
    by: float
    title: str
    """Of the task or assertion; empty without one."""
    words: str
    """What became of it, or how many requests failed in each."""
    else_equal: bool = False
    """Whether every task and assertion came out the same in both."""


class NothingApart(Finding):
    """Two runs of which no part of the score differs, and the assertions that always fail in
    both.
    """

    failing: tuple[str, ...]


class ChecksCorrected(Finding):
    """Tasks and assertions looked at together: those that differ significantly, with their
    p-values.
    """

    title: str
    tested: int
    different: tuple[tuple[Checked, float], ...]


class Checked(_Data):
    """What a difference is of: the score, one of its parts, a task or an assertion."""

    kind: Literal["score", "part", "task", "assertion"]
    title: str = ""


class FellBeyondChance(Finding):
    """What is worse in run B beyond chance."""

    condition: str
    checked: Checked
    found: Difference


class RegressionUndecided(Finding):
    """Too few pairs to tell whether run B is worse.

    `of_trials` says that trials count, not cases.
    """

    few: Units
    needed: int
    of_trials: bool


class RegressionHidden(Finding):
    """Conversations of B without a score, over which B is worse than A if they count 0."""

    condition: str
    lost: int
    lowest: Difference


class RegressionHeldAgain(Finding):
    """Conversations of B that were held again: its agent had a second try at them."""

    again: int


class NothingPaired(Finding):
    """Two runs without a pair of scores."""


class PairsWithoutInterval(Finding):
    """Pairs that are too few for an interval."""

    pairs: int


class PairsWithinChance(Finding):
    """Pairs that are too few to tell a difference from chance."""

    few: Units
    needed: int


class UnseenDifference(Finding):
    """No pair differs: the share of trials in which one could have been missed, and how many would
    leave little.
    """

    share: float
    rare: float
    enough: int | None
    """The pairs that would leave less than `rare`; None if there are as many."""
    of_cases: bool


class OpenDifference(Finding):
    """A difference that chance may make, its interval, and how many trials or cases would show an
    effect.
    """

    interval: Interval | None
    needed: int | None
    effect: float
    power: float
    of_cases: bool


class TimesNotCompared(Finding):
    """Runs with different concurrency."""

    a: int
    b: int


class JobsDiffer(Finding):
    """Values of the job that differ, by path, and the number of those that are not listed."""

    changed: tuple[tuple[str, str, str], ...]
    more: int


class IdentityDiffers(Finding):
    """Runs of different agents, judges, programs or days: what differs, as A and B have it."""

    changed: tuple[tuple[str, str, str], ...]


class RehearsalCompared(Finding):
    """Runs of which one is a rehearsal."""


class TimingLeftOut(Finding):
    """Scores that are compared without their timing part."""

    targets_differ: bool


class TrialsDiffer(Finding):
    """Runs with different numbers of trials."""

    a: int
    b: int


class NothingCompared(Finding):
    """Two runs without anything that both scored; `why` are sentences on what they do not share."""

    why: tuple[str, ...]


class CasesOfOneRun(Finding):
    """Cases that only run A or B has, by the first of their names."""

    run: str
    count: int
    named: tuple[str, ...]


class ContentsDiffer(Finding):
    """Cases of one name with other contents in B; without any `named`, the job's trials.

    `changed` are values that differ in the first, by path. `in_part`: what is the same in them is
    compared.
    """

    named: tuple[str, ...]
    count: int
    of: int
    changed: tuple[tuple[str, str, str], ...]
    in_part: bool


class PeopleWouldSay(Finding):
    """What people would say about all of a judge's verdicts, estimated from a random sample of
    blind reviews.

    `title` is the condition, or empty of both together. `refused` says why there is no estimate.
    """

    title: str
    judge: float
    estimate: float | None = None
    interval: Interval | None = None
    reviews: int = 0
    verdicts: int = 0
    refused: str = ""


class CalibratedElsewhere(Finding):
    """The judge's share of passed tasks, and what people would pass by how often the judge was
    right in `runs`, where people reviewed it.

    `title` is the condition, or empty of all together. `refused` says why there is no estimate,
    which then is None.
    """

    title: str
    runs: tuple[str, ...]
    judge: float | None = None
    estimate: float | None = None
    interval: Interval | None = None
    reviews: int = 0
    sensitivity: float | None = None
    specificity: float | None = None
    refused: str = ""


class AgentSideLooked(Finding):
    """In how many of the agent's messages its rules found something.

    `told`: in how many of the conversations the recording has the agent's prompt; `shown`: whether
    it has what the tools or the state said. Numbers from nowhere are looked for where it has both.
    """

    found: int
    messages: int
    conversations: int
    told: int
    shown: bool


class JudgeNotCalibrated(Finding):
    """A model's verdicts, of which people reviewed no random sample."""


JudgeFault = Literal["lenient", "strict", "drifting", "changed", "inventing"]
"""What a judge gets wrong about conversations with known verdicts."""


class JudgeOnSentinels(Finding):
    """What a judge gets wrong about so many conversations with known verdicts, and by how much."""

    faults: tuple[tuple[JudgeFault, float], ...]
    sentinels: int


class JudgeOfFamily(Finding):
    """A judge of the agent's or the simulated user's model family; `note` is the sentence that is
    also said before a run.
    """

    note: str


class JudgeNotExamined(Finding):
    """A judge that gave the verdicts, and was not asked about controls, or not about all; `why`
    says why, if it is known.
    """

    why: str = ""


class JudgeExam(Finding):
    """What a judge gave so many controls: at most `best`.

    `refusal` says which it believed, so that its verdicts do not count.
    """

    controls: int
    best: float
    refusal: str = ""
    remembered: bool = False
    left_out: int = 0
    """How many tasks an agent meets by saying nothing."""


class UserScore(_Data):
    """The results with one of several users: the score in each condition of the run (None without
    one), and the effect of the facts.
    """

    user: str
    scores: tuple[float | None, ...]
    effect: float | None
    """None where conditions are not compared, or no trial has both scores."""
    shows: str
    """What its own trials show of it, as `Difference.direction`; empty without any."""


class UserSpread(Finding):
    """The results with each of several users (models), or personas."""

    kind: Literal["user", "persona"]
    users: tuple[UserScore, ...]
    interval: Interval | None
    """For other users like these; None for fewer than five, and for personas."""
    is_effect: bool
    """Whether the interval is of the effect of the facts, else of the score."""


class ThresholdWithSome(Finding):
    """A threshold that is met with some of several users, and not with others; each with its
    score.
    """

    rule: str
    bar: float
    met: tuple[tuple[str, float], ...]
    missed: tuple[tuple[str, float], ...]


class SimulatedUsers(Finding):
    """How far the scores with simulated users lie from those of the same cases with a person as
    user.
    """

    title: str
    difference: Difference
    """Simulated − person."""


class VerdictsReplaced(Finding):
    """Conversations that were judged again, and whether the latest verdicts count; `run` is A or B,
    or empty.

    `job` is the job file whose criteria were used instead of the recorded ones; a judging by these
    that is not complete `waits`, and the verdicts before it count.
    """

    conversations: int
    held: int
    counts: bool
    judges: tuple[str, ...]
    run: str = ""
    job: str = ""
    waits: bool = False


class CriteriaChanged(Finding):
    """A task that was judged again by other criteria: the recorded ones, and those of a job
    file.
    """

    task: int
    recorded: str
    given: str
    job: str


class AssertionChanged(Finding):
    """An assertion whose outcome changed when it was checked again by the job file `job`; `where`
    is its conversation.

    An outcome is empty where the assertion is not among those of the recorded job, or of the other.
    """

    where: str
    title: str
    recorded: Literal["passed", "failed", "not_measured", ""]
    given: Literal["passed", "failed", "not_measured", ""]
    job: str
    why: str = ""


class RunOfOneCondition(Finding):
    """Run A or B, of which the other has both conditions."""

    run: str
    title: str


class PlaceboLeftOut(Finding):
    """Runs with a placebo, which a comparison leaves out: each one's name and mean score of it."""

    scores: tuple[tuple[str, float | None], ...]


class UncleanRun(Finding):
    """A run that is not known to be clean; `run` is A or B, or its job and model."""

    run: str
    cleanness: str
    why: str


class RunUnfinished(Finding):
    """Run A or B, which did not finish."""

    run: str


# The gate, the stop rule, ranks and plans


class ManyExcluded(Finding):
    """Too many conversations that could not be used."""

    counted: Counted
    most: float


class NotExcused(Finding):
    """Conversations that were left out, although the agent or a defect of this program may be
    behind it.
    """

    counted: Counted


class HeldAgain(Finding):
    """Conversations that were held again, whose agent may have broken the connection when it went
    badly.
    """

    counted: Counted


class NothingRun(Finding):
    """A gate without a conversation."""


class ScoreBasis(Finding):
    """What a gate's score rests on: the conversations of each condition; `needed` are those of a
    mean.
    """

    counted: tuple[tuple[Condition, Counted], ...]
    needed: int = 0
    lowest: tuple[float, float] | None = None
    """The score if each conversation that was left out counts 0, and the threshold, where only the
    score without these is not below it.
    """
    sent_again: bool = False
    """Whether `lowest` also counts the time of requests that were sent again."""


class ConditionNotRun(Finding):
    """A condition that the job was not run in."""

    condition: str

    @property
    def title(self) -> str:
        """What the condition is called."""
        return published_title(self.condition)


class PassShareBasis(Finding):
    """What pass^k rests on: so many tasks, with `most` trials where `k` are needed."""

    tasks: int
    k: int
    most: int
    measured: bool
    lowest: tuple[float, float] | None = None
    """As of `ScoreBasis`: if each trial that was left out counts as failed."""


class TimesBasis(Finding):
    """What a percentile of response times rests on; failed requests have none."""

    percent: int
    answers: int
    failures: int
    longest_ms: float | None = None
    """The percentile with the time of failed requests, where only that without it keeps to the
    limit; infinite where no answer came.
    """


class AssertionMissed(Finding):
    """An assertion that does not hold at the end of a conversation."""

    trial: str
    reason: str


class StopDecision(Finding):
    """Whether a batch is decided, after how many rounds, and in which interval its subject lies."""

    rounds: int
    left_out: int
    interval: Interval | None
    """None without a round."""
    decision: Decision
    bar: float
    conditions: tuple[Condition, ...]
    jobs: tuple[str, ...]
    models: tuple[str, ...]
    """The two that are compared, first − second; empty where a score is compared with `bar`."""


class RanksBasis(Finding):
    """What ranks rest on: the common cases of all agents, and those that not all have."""

    cases: int
    left_out: int
    needed: int


class AgentRanksBasis(Finding):
    """What the ranks of agents over tasks rest on: the tasks that all of them have.

    `unranked` of so many `agents` have no percentile that is known, and so no rank.
    """

    shared: int
    needed: int
    unranked: tuple[str, ...] = ()
    agents: int = 0


class BehindNext(Finding):
    """How far an agent is behind the next better one, in percentiles."""

    behind: Difference


class MannerBasis(Finding):
    """What the way in which a simulated user speaks is compared with: measured in so many of the
    conversations that were `held`; `needed` would give intervals.
    """

    conversations: int
    held: int
    needed: int
    people: str
    licence: str
    about: str
    of_people: int


class WorstShown(Finding):
    """Of the conversations of a run that were `held`, a page shows those that went worst."""

    shown: int
    held: int
    run_id: str


class TrialsChosen(Finding):
    """Of the conversations of a run that were `held`, a page shows those of chosen trials."""

    shown: int
    held: int


class PartNeeded(Finding):
    """The value that a part of a score would need to reach `target`, else as it was."""

    part: Needed
    target: float


class IntervalExpected(Finding):
    """The width of the interval to be expected of so many trials, `needed` at least."""

    trials: int
    needed: int
    half: float
    deviation: float


# A moment of a conversation


class Beginning(Finding):
    """The beginning of a conversation: which of how many, and what the user knows."""

    number: int
    of: int
    withheld: bool
    facts: int
    scripted_model: bool
    """Whether a script talks to a language model on this machine."""


class NoLongerHolds(Finding):
    """An assertion that has just stopped to hold."""

    side: Side
    title: str


class RequestJustFailed(Finding):
    """A request to a peer that failed."""

    peer: str
    error: str


class NowTrue(Finding):
    """An assertion that has just become true, and how many others have."""

    title: str
    more: int


class FactJustGiven(Finding):
    """A fact that the user gave; `asked` is None if it is not known whether the agent asked."""

    fact: int
    asked: bool | None


class ConversationsPart(Finding):
    """The first message that differs between the conditions."""


class AgentAsks(Finding):
    """A question to a user who knows no facts."""


class AwaitsVerdict(Finding):
    """A conversation that has ended and has no score yet."""

    side: Side
    by_rules: bool
    """Whether rules judge, not a model."""


class EndsWithoutScore(Finding):
    """A conversation that could not be scored."""

    reason: str


class EndsWithScore(Finding):
    """A conversation's score, and how many assertions do not hold; `first` is the first of these,
    or of all if all hold.
    """

    score: SideScore
    assertions: int
    fails: int
    first: str
