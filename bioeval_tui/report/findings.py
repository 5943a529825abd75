"""What was found about a run, a batch, a comparison, a gate or a moment of a conversation: data without words.

`sentences` has a writer for each. Findings name no statistic's method and no grammar: they hold counts, scores, places
and names as they were recorded. Imports nothing that is slow, so that the first screen can use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, dataclass_transform

from bioeval_tui.record.names import Condition, title_of

if TYPE_CHECKING:
    from bioeval_tui.score import Needed
    from bioeval_tui.statistics.differences import Difference
    from bioeval_tui.statistics.estimates import Counted
    from bioeval_tui.statistics.intervals import Interval

Outcome = Literal[
    "not_started", "unfinished", "cancelled", "not_run",
    "agent_unreached", "agent_failed", "timed_out", "evaluator_failed", "judge_failed", "not_measured",
    "not_clean", "clean_unknown", "own_criteria",
    "facts_help", "facts_hurt", "no_difference", "perfect", "too_few", "facts_not_given", "facts_unread", "no_facts",
    "one_condition",
    "medal", "no_medal", "invalid", "not_graded",
    "winner", "no_winner", "one_model",
]  # fmt: skip
"""The kinds of conclusion, as JSON has them."""


@dataclass_transform(frozen_default=True)
class _Data:
    """Makes each class below it a dataclass of which type checkers know that it is frozen.

    `dataclass` would compile comparison, hash and text anew for each of the hundred classes, at every start.
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
    """What `sentences.sentence` writes: each class below this one has a sentence, and an example in its tests."""


class ConclusionFinding(Finding):
    """The conclusion on a run, a batch or a submission."""

    @property
    def outcome(self) -> Outcome:
        """The kind of conclusion."""
        raise NotImplementedError

    @property
    def attributed(self) -> float | None:
        """The difference that it attributes to the facts, supplied − withheld; None if it attributes none."""
        return None


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


class Cause(_Data):
    """A check that fails in every trial of the lower condition and passes in every trial of the other."""

    kind: Literal["assertion", "task"]
    title: str
    lower: Side
    trials: int
    """The trials with both scores."""
    among: bool
    """Whether others have only one score, or none."""


class Shared(_Data):
    """How many tasks (or items of a rubric) and assertions both conditions share, of all that have a weight."""

    tasks: int
    of_tasks: int
    assertions: int
    of_assertions: int

    @property
    def is_nothing(self) -> bool:
        """Whether each condition has its own criteria only."""
        return not (self.tasks or self.assertions)


class Penalty(_Data):
    """The difference that failed requests make between two conditions, and where there are more of them."""

    points: float
    failures: int
    side: Side


class ModelScore(_Data):
    """A model, named so that it differs from the others of its batch, and its mean score."""

    name: str
    score: float


# Why a run has no result


class NeverStarted(ConclusionFinding):
    """A run without a first event."""

    outcome: ClassVar[Outcome] = "not_started"


class StillUnfinished(ConclusionFinding):
    """A run that has not ended."""

    outcome: ClassVar[Outcome] = "unfinished"
    scored: int
    planned: int


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
    """The first conversation whose condition has no score."""

    outcome: ClassVar[Outcome] = "not_measured"
    place: TalkPlace
    cause: str


class AgentBroke(ConclusionFinding):
    """Conversations that the agent ended early, with the scores that they have all the same."""

    failed: Breakdown | None
    late: Breakdown | None
    scores: tuple[SideScore, ...]
    penalties: tuple[SideScore, ...]
    """What failed requests took from each score of a run of one trial."""

    @property
    def outcome(self) -> Outcome:
        """A failure before a lack of time."""
        return "agent_failed" if self.failed else "timed_out"


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


class OneCondition(ConclusionFinding):
    """The score of the only condition of a run."""

    outcome: ClassVar[Outcome] = "one_condition"
    score: SideScore
    trials: Trials
    all_equal: bool
    interval: Interval | None
    best: Gain | None


class UncleanStart(ConclusionFinding):
    """Scores of conditions that did not, or may not, have started from the same state."""

    scores: tuple[SideScore, ...]
    why: str
    unknown: bool

    @property
    def outcome(self) -> Outcome:
        """Whether the states differ, or are unknown."""
        return "clean_unknown" if self.unknown else "not_clean"


class NoPairOfScores(ConclusionFinding):
    """Scores of which no trial has both."""

    outcome: ClassVar[Outcome] = "not_measured"
    scores: tuple[SideScore, ...]


class NoFactsInJob(ConclusionFinding):
    """A job without facts, which asks the same twice."""

    outcome: ClassVar[Outcome] = "no_facts"
    scores: tuple[SideScore, ...]
    trials: int


class NoFactGiven(ConclusionFinding):
    """Facts that the user kept."""

    outcome: ClassVar[Outcome] = "facts_not_given"
    scores: tuple[SideScore, ...]
    trials: int


class FactsUnread(ConclusionFinding):
    """Facts of which the ledger cannot tell whether the user gave one; `why` is a clause that says so."""

    outcome: ClassVar[Outcome] = "facts_unread"
    scores: tuple[SideScore, ...]
    trials: int
    why: str


class NoEffectOfFacts(ConclusionFinding):
    """The same score in both conditions, in every trial."""

    facts: tuple[str, ...]
    """The facts that the user gave; empty where each case has its own, here and below."""
    trials: Trials
    score: float
    best: Gain | None
    perfect: bool = False
    """Whether each conversation has the full score by all of its own criteria, so that nothing was left to gain."""
    attributed: ClassVar[float | None] = 0.0

    @property
    def outcome(self) -> Outcome:
        """Whether there was anything to gain."""
        return "perfect" if self.perfect else "no_difference"


class BothScores(ConclusionFinding):
    """Scores in both conditions, and how sure their difference is."""

    trials: Trials
    withheld: SideScore
    supplied: SideScore
    all_equal: bool
    interval: Interval | None


class EffectOfFacts(BothScores):
    """Different scores in both conditions."""

    facts: tuple[str, ...]
    helps: bool
    cause: Cause | None

    @property
    def outcome(self) -> Outcome:
        """Whether the facts help or hurt."""
        return "facts_help" if self.helps else "facts_hurt"

    @property
    def attributed(self) -> float | None:
        """The difference of the two scores."""
        if self.supplied.score is None or self.withheld.score is None:
            return None
        return self.supplied.score - self.withheld.score


class EffectWithinChance(BothScores):
    """Scores whose difference chance alone would often make."""

    outcome: ClassVar[Outcome] = "no_difference"


class TooFewForEffect(ConclusionFinding):
    """Scores of too few trials or cases for an effect."""

    outcome: ClassVar[Outcome] = "too_few"
    facts: tuple[str, ...]
    scores: tuple[SideScore, ...]
    trials: Trials
    cases: int | None
    """The number of cases, where these count and not the trials."""
    needed: int
    cause: Cause | None
    penalty: Penalty | None = None
    """Of a single trial; None if failed requests make no difference."""


class NoSharedCriteria(ConclusionFinding):
    """Scores of conditions that are each scored by their own criteria only, so that no effect is claimed."""

    scores: tuple[SideScore, ...]
    trials: int
    fails: Cause | None
    """What fails in the lower condition."""

    @property
    def outcome(self) -> Outcome:
        """Whether anything was left to gain."""
        return "perfect" if all(one.score == 1 for one in self.scores) else "own_criteria"


class SharedNotRecorded(ConclusionFinding):
    """Scores by criteria of which the conditions share some, in a recording without the verdicts on these."""

    outcome: ClassVar[Outcome] = "own_criteria"
    scores: tuple[SideScore, ...]


class PartlySharedCriteria(ConclusionFinding):
    """Scores by criteria of which the conditions share some, and the effect of the facts on what they share."""

    scores: tuple[SideScore, ...]
    fails: Cause | None
    """What fails in the lower condition, shared or not."""
    shared: Shared
    effect: EffectFinding

    @property
    def outcome(self) -> Outcome:
        """That of the effect."""
        return self.effect.outcome


EffectFinding = NoEffectOfFacts | EffectOfFacts | EffectWithinChance | TooFewForEffect
"""What knowing the facts changes."""


class EffectBasis(Finding):
    """What the difference between two conditions rests on, if they don't share all criteria."""

    shared: Shared


# A run at a glance


class ConditionLead(_Data):
    """A condition's score, or why it has none, and how often its tasks were passed."""

    score: SideScore
    excluded: tuple[str, ...]
    """Whose faults kept conversations from being scored."""
    passed: int
    tasks: int
    once: bool
    """Whether each task was tried once, so that `passed` counts tasks."""


class RunLead(Finding):
    """The scores of a run and their difference, and whether it means anything."""

    conditions: tuple[ConditionLead, ...]
    uplift: float | None
    facts_given: bool
    cleanness: str
    why_not_clean: str
    """Empty of a clean run."""
    same_start: SameStart | None
    facts_unread: bool = False
    """Whether it cannot be told if a fact was given."""
    shared: Shared | None = None
    """What the difference rests on, if not on everything."""


class SameStart(Finding):
    """What both conditions were found to share at the start, such as the graph."""

    shared: tuple[str, ...]


class NoUplift(Finding):
    """A run that is not known to be clean; `missed` says whether it would have an uplift otherwise."""

    cleanness: str
    why: str
    missed: bool


class NoMean(Finding):
    """A run without the mean of the job's conditions; `only` has the titles of those that it has, empty for all."""

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

    kept_by: Literal["user", "turns", "agent"]


class UserErred(Finding):
    """In how many of the conversations the simulated user did something wrong, and how often, by kind."""

    conversations: int
    of: int
    kinds: tuple[tuple[str, int], ...]
    judged: int
    """How many of these only the judge found."""


class WasResumed(Finding):
    """A run that was interrupted and resumed."""

    times: int


class NewerEvents(Finding):
    """Events that this version does not know."""

    kinds: tuple[str, ...]


# Which model is best


class NoRunMeasured(ConclusionFinding):
    """A batch without a score."""

    outcome: ClassVar[Outcome] = "not_measured"


class OneModelOnly(ConclusionFinding):
    """The scores of the only agent and model of several runs."""

    outcome: ClassVar[Outcome] = "one_model"
    runs: int
    scores: tuple[SideScore, ...]


class OneModelMeasured(ConclusionFinding):
    """The only model of several that has scores."""

    outcome: ClassVar[Outcome] = "no_winner"
    model: ModelScore


class ModelsUnpaired(ConclusionFinding):
    """Models that were not run on the same jobs and trials, the best mean first."""

    outcome: ClassVar[Outcome] = "no_winner"
    models: tuple[ModelScore, ...]


class BestModel(ConclusionFinding):
    """Models of which the first beats every other by at least `margin`."""

    outcome: ClassVar[Outcome] = "winner"
    models: tuple[ModelScore, ...]
    margin: float


class ModelsTied(ConclusionFinding):
    """Models of which the `tied` first ones score the same in every pair."""

    outcome: ClassVar[Outcome] = "no_winner"
    models: tuple[ModelScore, ...]
    tied: tuple[str, ...]
    few: Units | None
    """The fewest pairs of two of them, if these are too few for an interval."""


class TooFewForBest(ConclusionFinding):
    """Models with too few pairs to tell them apart."""

    outcome: ClassVar[Outcome] = "no_winner"
    models: tuple[ModelScore, ...]
    few: Units
    needed: int


class ModelsWithinChance(ConclusionFinding):
    """Models whose differences chance alone would often make."""

    outcome: ClassVar[Outcome] = "no_winner"
    models: tuple[ModelScore, ...]


# Submissions


class NothingSubmitted(ConclusionFinding):
    """A task without a submission."""

    outcome: ClassVar[Outcome] = "invalid"
    task: str


class InvalidSubmission(ConclusionFinding):
    """A submission that cannot be scored."""

    outcome: ClassVar[Outcome] = "invalid"
    task: str
    error: str


class GradedSubmission(ConclusionFinding):
    """A submission's score, place and distance to the next medal as its report gives them, and its medal, if any.

    `rows` says on how many rows it was scored, if not on all; `doubts` why the score may not be what it deserves.
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
        return "medal" if self.medal else "no_medal"


# Where a conversation lost points


class TaskFellShort(Finding):
    """A task without a full score; `judged` is its score as the judge gave it."""

    title: str
    reason: str
    judged: str


class AssertionFails(Finding):
    """An assertion that fails at the end; `since` is the turn after which it did, None if it never passed."""

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


class TasksCompared(Finding):
    """How many tasks of a condition score higher or lower in run B, and what each part adds to its score."""

    title: str
    tasks: int
    better: int
    worse: int
    overall: Difference
    moved: tuple[tuple[str, float], ...]
    """The parts that changed, with their differences."""


class ChecksCorrected(Finding):
    """Tasks and assertions looked at together: those that differ significantly, with their p-values."""

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
    """Too few pairs to tell whether run B is worse. `of_trials` says that trials count, not cases."""

    few: Units
    needed: int
    of_trials: bool


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
    """No pair differs: the share of trials in which one could have been missed, and how many would leave little."""

    share: float
    rare: float
    enough: int | None
    """The pairs that would leave less than `rare`; None if there are as many."""
    of_cases: bool


class OpenDifference(Finding):
    """A difference that chance may make, its interval, and how many trials or cases would show an effect."""

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

    `changed` are values that differ in the first, by path. `in_part`: what is the same in them is compared.
    """

    named: tuple[str, ...]
    count: int
    of: int
    changed: tuple[tuple[str, str, str], ...]
    in_part: bool


class PeopleWouldSay(Finding):
    """What people would say about all of a judge's verdicts, estimated from a random sample of blind reviews.

    `title` is the condition, or empty of both together. `refused` says why there is no estimate.
    """

    title: str
    judge: float
    estimate: float | None = None
    interval: Interval | None = None
    reviews: int = 0
    verdicts: int = 0
    refused: str = ""


class JudgeNotCalibrated(Finding):
    """A model's verdicts, of which people reviewed no random sample."""


JudgeFault = Literal["lenient", "strict", "drifting", "changed", "inventing"]
"""What a judge gets wrong about conversations with known verdicts."""


class JudgeOnSentinels(Finding):
    """What a judge gets wrong about so many conversations with known verdicts, and by how much."""

    faults: tuple[tuple[JudgeFault, float], ...]
    sentinels: int


class SimulatedUsers(Finding):
    """How far the scores with simulated users lie from those of the same cases with a person as user."""

    title: str
    difference: Difference
    """Simulated − person."""


class VerdictsReplaced(Finding):
    """Conversations that were judged again, and whether the latest verdicts count; `run` is A or B, or empty.

    `job` is the job file whose criteria were used instead of the recorded ones; a judging by these that is not complete
    `waits`, and the verdicts before it count.
    """

    conversations: int
    held: int
    counts: bool
    judges: tuple[str, ...]
    run: str = ""
    job: str = ""
    waits: bool = False


class CriteriaChanged(Finding):
    """A task that was judged again by other criteria: the recorded ones, and those of a job file."""

    task: int
    recorded: str
    given: str
    job: str


class RunOfOneCondition(Finding):
    """Run A or B, of which the other has both conditions."""

    run: str
    title: str


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
    """Conversations that were left out, although the agent or a defect of this program may be behind it."""

    counted: Counted


class HeldAgain(Finding):
    """Conversations that were held again, whose agent may have broken the connection when it went badly."""

    counted: Counted


class NothingRun(Finding):
    """A gate without a conversation."""


class ScoreBasis(Finding):
    """What a gate's score rests on: the conversations of each condition; `needed` are those of a mean."""

    counted: tuple[tuple[Condition, Counted], ...]
    needed: int = 0


class ConditionNotRun(Finding):
    """A condition that the job was not run in."""

    condition: str

    @property
    def title(self) -> str:
        """What the condition is called."""
        return title_of(self.condition)


class PassShareBasis(Finding):
    """What pass^k rests on: so many tasks, with `most` trials where `k` are needed."""

    tasks: int
    k: int
    most: int
    measured: bool


class TimesBasis(Finding):
    """What a percentile of response times rests on; failed requests have none."""

    percent: int
    answers: int
    failures: int


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
    decision: Literal["undecided", "above", "below"]
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
    """What the way in which a simulated user speaks is compared with; `needed` conversations would give intervals."""

    conversations: int
    needed: int
    people: str
    licence: str
    about: str
    of_people: int


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
    """A conversation's score, and how many assertions do not hold; `first` is the first of these, or of all if all hold."""

    score: SideScore
    assertions: int
    fails: int
    first: str


# What to do next


class WatchNext(_Data):
    """A run in progress."""

    job: str


class RepeatNext(_Data):
    """A job whose last run had too few trials for an interval."""

    job: str
    trials: int
    needed: int


class CompareNext(_Data):
    """A job whose last two runs have different scores."""

    job: str
    before: float | None
    after: float | None


class ReviewNext(_Data):
    """A job whose judge nobody has reviewed."""

    job: str


class RunNext(_Data):
    """A job that was never run; `path` is empty of a sample. Of its row in a list, it holds what the sentence says."""

    job: str
    path: str
    tasks: int
    facts: int
    assertions: int


NextFinding = WatchNext | RepeatNext | CompareNext | ReviewNext | RunNext
"""What to do next, which has several texts: `sentences.next_step` writes them."""
