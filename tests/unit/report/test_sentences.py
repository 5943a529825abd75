"""Every finding has its sentence, and every sentence an example here; findings hold no words, and
sentences no rules.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from bioeval_tui.record.events import KeptBy
from bioeval_tui.record.score import Needed
from bioeval_tui.report import findings as of, next_steps, sentences
from bioeval_tui.report.findings import ConclusionFinding, Finding
from bioeval_tui.report.next_steps import NextFinding, next_step
from bioeval_tui.report.sentences import interval_words, sentence, sure
from bioeval_tui.statistics.estimates import Counted, Sample, estimate, summarise
from bioeval_tui.statistics.intervals import Interval
from bioeval_tui.statistics.paired_differences import Difference, difference, differences
from bioeval_tui.statistics.planning import Decision
from bioeval_tui.statistics.ranks import AgentRank

WITHOUT, WITH = of.Side("withheld", "without the facts"), of.Side("supplied", "with the facts")
NAMED = of.Side("supplied", "has the card")
LOW, HIGH = of.SideScore(WITHOUT, 0.44), of.SideScore(WITH, 1.0)
SCORES = (LOW, HIGH)
FIRST, SECOND = of.TalkPlace(WITHOUT, "trial 1", 3), of.TalkPlace(WITH, "trial 2", None)
ONE, BOTH = (
    of.Places((of.TalkPlace(WITHOUT, "", 3),), 2),
    of.Places((of.TalkPlace(WITHOUT, "", 3), of.TalkPlace(WITH, "", 3)), 2),
)
SOME = of.Places((FIRST, SECOND), 6)
SINGLE, FIVE = of.Trials(1, 1), of.Trials(5, 5)
SPAN = Interval(-0.1, 0.3, "this job only, 5 trials")
COUNTS = of.MedalCounts(
    (("gold", 1), ("none", 1), ("invalid", 1), ("not_graded", 1)), 4, 2, 1, 71.5, "",
    35.75,
    "2 without a score", 3, 10, 1, 1, of.AgentRanksBasis(3, 10, (), 2),
)  # fmt: skip
ALONE = of.MedalCounts(
    (("none", 1),),
    1,
    0,
    0,
    None,
    "percentile unknown for all 1 valid",
    None,
    "",
    1,
    10,
    0,
    0,
    None,
)
GAIN = of.Gain("assertion", 0, "a reminder exists", 0.57)
DOSE = of.Fails("task", 2, "A forgotten dose", (0.3, 0.35))
EXISTS = of.Fails("assertion", 0, "a reminder exists", ())
MODELS = (of.ModelScore("large", 0.8), of.ModelScore("small", 0.3))
FIVE_MODELS = (*MODELS, *(of.ModelScore(name, 0.2) for name in "abc"))
USED = Counted(9, 10, (("judge", 1),))
SOME_SHARED = of.Shared(2, 3, 1, 5)


def of_values(*values: float) -> list[Sample]:
    return [Sample("job", value) for value in values]


def paired(*pairs: tuple[float, float]) -> Difference:
    return difference(differences([(Sample("job", one), Sample("job", two)) for one, two in pairs]))


def compared(side: of.Side, difference: Difference, a: int, b: int) -> of.ConditionCompared:
    return of.ConditionCompared(side, difference, a, b)


SAME, LEVEL = paired((0.5, 0.5)), paired((0.5, 0.5), (0.5, 0.5))
UP = paired((0.4, 0.6), (0.4, 0.6), (0.4, 0.6))
FELL = paired(*((0.9, value) for value in (0.1, 0.2, 0.1, 0.15, 0.1, 0.2) * 2))
FEW_FELL = paired(*((0.9, value) for value in (0.1, 0.2, 0.1, 0.15, 0.1, 0.2)))

NO_PART = paired(*((0.5, 0.5),) * 6)
SOME_PART = paired(*((0.5, value) for value in (0.9, 0.8, 0.9, 0.85, 0.9, 0.8) * 2))
CHANCE = paired(*((0.5, value) for value in (0.9, 0.1, 0.9, 0.1, 0.5, 0.6)))
WIDE = paired(*((0.5, value) for value in (1.0, 0.0, 1.0, 0.0, 1.0) * 2))
ALL_PART = paired(*((0.3, value) for value in (0.9, 0.8, 0.9, 0.85, 0.9, 0.8)))
ONE_PART = paired((0.3, 0.9))
PLACEBO = of.SideScore(of.Side("placebo", "with a placebo"), 0.5)

EXAMPLES: list[tuple[Finding, str]] = [
    (of.TalkDiffers(40.0, 20.5),
        "not told apart from the longer talk: the user told 40.0 words with the facts and 20.5 "
        "with the placebo, which differ by more than a quarter"),
    (of.NoControl(), "not told apart from the longer talk: no trial has all three scores"),
    (of.FactsOrTalk(SOME_PART, SOME_PART, NO_PART, 6, 6),
        "the facts, not the longer talk: +0.36 (0.33 to 0.39) of +0.36 (0.33 to 0.39); the longer "
        "talk: ±0.00"),
    (of.FactsOrTalk(SOME_PART, NO_PART, SOME_PART, 6, 8),
        "the longer talk, not the facts: +0.36 (0.33 to 0.39) of +0.36 (0.33 to 0.39); the facts: "
        "±0.00, in 6 of 8 trials"),
    (of.FactsOrTalk(ALL_PART, SOME_PART, ALL_PART, 6, 6),
        "both the facts and the longer talk: +0.36 (0.33 to 0.39) of +0.56 is the facts', +0.56 "
        "the talk's"),
    (of.FactsOrTalk(WIDE, SOME_PART, WIDE, 12, 12),
        "the facts at least: +0.36 (0.33 to 0.39) of +0.10 (−0.27 to 0.47); the longer talk, "
        "not yet clear: +0.10 (−0.27 to 0.47)"),
    (of.FactsOrTalk(WIDE, WIDE, SOME_PART, 12, 12),
        "the longer talk at least: +0.36 (0.33 to 0.39) of +0.10 (−0.27 to 0.47); the facts, "
        "not yet clear: +0.10 (−0.27 to 0.47)"),
    (of.FactsOrTalk(NO_PART, NO_PART, NO_PART, 6, 6),
        "neither the facts nor the longer talk changes anything"),
    (of.FactsOrTalk(CHANCE, CHANCE, NO_PART, 6, 6),
        "not yet told apart from the longer talk: +0.02 of +0.02 is the facts', ±0.00 the talk's"),
    (of.FactsOrTalk(ONE_PART, ONE_PART, paired((0.3, 0.3)), 1, 1),
        "1 trial cannot tell the facts from the longer talk: +0.60 of +0.60 is the facts', ±0.00 "
        "the talk's"),
    (of.RunScores((LOW, HIGH, PLACEBO), None, (), (), WITHOUT, (EXISTS,), 1),
        "0.44 → 1.00 with the facts, 0.50 with a placebo. Fails without the facts and not with "
        "them: “a reminder exists”."),
    (of.RunScores((LOW, HIGH, PLACEBO), None, (), (), WITH, (EXISTS,), 1),
        "0.44 → 1.00 with the facts, 0.50 with a placebo. Fails with the facts and not without: "
        "“a reminder exists”."),
    (of.NeverStarted(), "The run never started, so nothing was measured."),
    (of.StillUnfinished(1, 2), "The run has not ended: 1 of 2 conversations scored."),
    (of.StillUnfinished(1, 2, True), "The replay has not ended: 1 of 2 conversations scored."),
    (of.WasCancelled("", 1, 2),
        "The run was cancelled with 1 of 2 conversations scored, so it has no result."),
    (of.WasCancelled("the budget is spent", 0, 1),
        "The run was cancelled (the budget is spent) with 0 of 1 conversation scored, so it has "
        "no result."),
    (of.CouldNotStart(""), "The run could not be started."),
    (of.NothingScored(FIRST),
        "In the conversation without the facts of trial 1 nothing was scored, so the run has no "
        "result."),
    (of.AgentUnreached("connection refused."),
        "The agent could not be reached, so nothing was measured."),
    (of.AgentGone("503"), "The agent broke off the conversation and was gone, so nothing was "
        "measured."),
    (of.NoConversation("503"), "No conversation took place, so nothing was measured."),
    (of.EvaluatorFailures(of.Breakdown(ONE, "leak: x"), None),
     "The simulated user stepped out of its role at turn 3 in the conversation without the facts "
     "(leak: x), so that conversation says nothing about the agent."),
    (of.EvaluatorFailures(of.Breakdown(ONE, "leak: x"), of.Breakdown(SOME, "cut off")),
     "The simulated user stepped out of its role at turn 3 in the conversation without the facts "
     "(leak: x) and failed in 2 of 6 conversations, "
     "first at turn 3 in the conversation without the facts of trial 1 (cut off), so they say "
     "nothing about the agent."),
    (of.JudgeFailures(of.Breakdown(BOTH, "away")),
     "The judge failed in both conversations (away), so there is no score; the conversations are "
     "kept and can be judged again."),
    (of.NoScoreThere(of.Places((FIRST,) * 2_000, 4_000), "away"),
        "In 2,000 of 4,000 conversations, first in the conversation without the facts of trial 1, "
        "the agent has no score."),
    (of.NoScoreAnywhere("assertion not measured"), "No conversation has a score."),
    (of.NoScoreThere(of.Places((of.TalkPlace(NAMED, "", 1),), 2), "away"),
        "In the conversation “has the card”, the agent has no score."),
    (of.AgentBroke(of.Breakdown(BOTH, "500"), None, (of.SideScore(WITH, 0.5),)),
     "the agent failed at turn 3 in both conversations (500); the failed requests alone "
     "lowered the score by 0.50 "
     "with the facts"),
    (of.AgentBroke(None, of.Breakdown(of.Places((FIRST, SECOND), 2), ""), ()),
     "the conversation ran out of time at turn 3 in the conversation without the facts of trial 1 "
     "and before the first turn in the conversation "
     "with the facts of trial 2"),
    (of.RunScores(SCORES, None, (), (), None, (), 1), "0.44 → 1.00 with the facts."),
    (of.RunScores(SCORES, SOME_SHARED, (0.5, 0.9), (DOSE,), WITHOUT, (EXISTS,), 3),
     "0.44 → 1.00 with the facts; 0.50 → 0.90 on the 3 criteria both share. Fails "
     "both times: task 2 “A forgotten dose” (0.30, 0.35)."),
    (of.RunScores(SCORES, None, (), (), None, (), 1, 1, 2),
        "The agent failed in 1 of 2 conversations: 0.44 → 1.00 with the facts."),
    (of.RunScores(SCORES, SOME_SHARED, (0.5, 0.9), (), None, (), 9, held=18, lost=1, planned=20),
     "1 of 20 conversations has no score; the others: 0.44 → 1.00 with the facts; 0.50 → 0.90 on "
     "the 3 criteria both share."),
    (of.RunScores(SCORES, None, (), (), None, (), 9, held=18, lost=2, planned=20),
        "2 of 20 conversations have no score; the others: 0.44 → 1.00 with the facts."),
    (of.RunScores(SCORES, SOME_SHARED, (0.44, 1.0), (), None, (), 1),
        "0.44 → 1.00 with the facts."),
    (of.RunScores(SCORES, of.Shared(0, 1, 0, 0), (), (DOSE, EXISTS, EXISTS), None, (), 3),
     "0.44 → 1.00 with the facts, each by its own criteria. Fails both times: task 2 “A forgotten "
     "dose” (0.30, 0.35) and 2 more."),
    (of.RunScores(SCORES, None, (), (EXISTS, EXISTS, EXISTS), None, (), 3),
     "0.44 → 1.00 with the facts. Fails both times: “a reminder exists”, “a reminder exists” and 1 "
     "more."),
    (of.RunScores(SCORES, None, (), (), WITHOUT, (EXISTS,), 3),
     "0.44 → 1.00 with the facts. Fails without the facts only: “a reminder exists”."),
    (of.RunScores((LOW, of.SideScore(NAMED, None), HIGH), None, (), (EXISTS,), None, (), 1),
     "0.44 without the facts → – in “has the card” → 1.00 with the facts. Fails in all 3 "
     "conditions: “a reminder exists”."),
    (of.RunScores((LOW,), None, (), (EXISTS,), None, (), 1),
        "0.44 without the facts. Fails at the end: “a reminder exists”."),
    (of.RunScores((LOW,), None, (), (EXISTS,), None, (), 2),
        "0.44 without the facts. Fails every time: “a reminder exists”."),
    (of.RunScores(
        (of.SideScore(of.Side("supplied", ""), 0.5),), None, (), (), None, (), 2, 0, 4, 2),
        "0.50, a full score in 2 of 4 conversations."),
    (of.ModelScores(FIVE_MODELS[:4]), "large 0.80, small 0.30, a 0.20, b 0.20."),
    (of.ModelScores(FIVE_MODELS), "large 0.80, small 0.30, a 0.20, b 0.20, 1 more."),
    (
        of.ModelScores((of.ModelScore("large", 0.72, SCORES),
                of.ModelScore("small", 0.72, SCORES))),
        "Mean of both conditions: large 0.72 (0.44 → 1.00 with the facts), small 0.72 (0.44 → "
        "1.00).",
    ),
    (of.RunScores((LOW, of.SideScore(NAMED, 0.5), PLACEBO), None, (), (), None, (), 1),
        "0.44 without the facts → 0.50 in “has the card”, 0.50 with a placebo."),
    (of.ModelScores((of.ModelScore("large", 0.72, (LOW, HIGH, PLACEBO)),
            of.ModelScore("small", 0.72, (LOW, HIGH, PLACEBO)))),
        "Mean of both conditions: large 0.72 (0.44 → 1.00 with the facts, 0.50 with a placebo), "
        "small 0.72 (0.44 → 1.00, 0.50)."),
    (of.RunScores((LOW, HIGH, PLACEBO), SOME_SHARED, (0.44, 1.0), (), None, (), 1),
        "0.44 → 1.00 with the facts, 0.50 with a placebo."),
    (of.ModelScores((of.ModelScore("large", 0.72, (LOW, HIGH, PLACEBO)),)),
        "Mean of both conditions: large 0.72 (0.44 → 1.00 with the facts, 0.50 with a placebo)."),
    (of.ModelScores((of.ModelScore("large", 1.0, (HIGH, PLACEBO)),)),
        "large 1.00 (1.00 with the facts, 0.50 with a placebo)."),
    (of.ControlsOf((("large", of.FactsOrTalk(SOME_PART, SOME_PART, NO_PART, 6, 6)),
            ("small", of.FactsOrTalk(ONE_PART, ONE_PART, NO_PART, 1, 1)), ("a", of.NoControl()),
            ("b", of.NoControl()), ("c", of.NoControl()))),
        "large: the facts, not the longer talk; small: 1 trial cannot tell the facts from the "
        "longer talk; a: not told apart from the longer talk; b: not told apart from the longer "
        "talk; 1 more"),
    (of.ControlsOf((("large", of.NoControl()),)),
        "not told apart from the longer talk: no trial has all three scores"),
    (of.Failing("a reminder exists"), "“a reminder exists” fails"),
    (of.Failing("a reminder exists", "bot answered something that is not JSON"),
        "“a reminder exists” fails: bot answered something that is not JSON"),
    (of.Decided(of.TalkPlace(WITHOUT, "", 5), "Take two.", "judge", "says never two at once"),
     "without the facts, turn 5, judge: says never two at once — “Take two.”"),
    (of.Decided(of.TalkPlace(WITHOUT, "trial 2", None), "", "clock", "slow answers", agent="small"),
     "small, trial 2, without the facts, slow answers"),
    (of.Decided(of.TalkPlace(of.Side("supplied", ""), "case 0", 2), "", "judge", "no", lost=116),
     "case 0, one of 116 that lost points, turn 2, judge: no"),
    (of.Decided(of.TalkPlace(WITHOUT, "", 5), "", "rules", "not met", reviewed=1.0),
     "without the facts, turn 5, rules (people: 1.00): not met"),
    (of.EffectBasis(of.Shared(2, 3, 0, 0)),
        "the difference is of what both conditions share: 2 of 3 tasks"),
    (of.EffectBasis(of.Shared(0, 1, 0, 2)),
        "each condition has its own criteria, so no difference is claimed"),
    (of.SameStart(("graph", "object context")),
        "both conditions started from the same graph and object context"),
    (of.NoUplift("not clean", "the graph differs", True),
        "not clean: the graph differs, so no difference is shown"),
    (of.NoUplift("cleanliness unknown", "no graph", False), "cleanliness unknown: no graph"),
    (of.NoMean("without the facts", True),
        "The mean needs both conditions, and this run has without the facts only."),
    (of.NoMean("a and b", True, 3),
        "The mean needs all 3 conditions, and this run has a and b only."),
    (of.NoMean("", False), "The run has not ended, so there is no mean."),
    (of.NoMean("", True), "A conversation could not be used, so there is no mean."),
    (of.SeedNotApplied(1, "gone"), "seed 1 was not applied: gone"),
    (of.SetupFailed(1, "gone"), "setup 1 failed: gone"),
    (of.NotScored("away"), "not scored: away"),
    (
        of.NeverAsked("user"),
        "The user never asked for it and could have: not measured, the user's fault and not the "
        "agent's",
    ),
    (of.NeverAsked("turns"), "The user had not asked for it when the turns were used up"),
    (of.NeverAsked("agent"), "The user had not asked for it when the agent failed or said goodbye"),
    (of.UserErred(1, 3, (("non_answer", 1),), 0, "the user"),
     "the user erred in 1 of 3 conversations: non answer 1"),
    (of.UserErred(2, 20, (("non_answer", 3), ("gave_up", 1)), 1),
        "the simulated user erred in 2 of 20 conversations: non answer 3, gave up 1 (1 found by "
        "the judge)"),
    (of.FactsKept("forgetful", 1, 2), "the user held back 1 of 2 facts (persona forgetful)"),
    (of.FactsKept("wary", 2, 2, "asked_twice"),
        "the user held back 2 of 2 facts until asked twice (persona wary)"),
    (of.FactsKept("confused", 0, 1, "never", (("5 mg", "50 mg"),), 1),
        "the user held back none of 1 fact and got 1 wrong: “50 mg” for “5 mg” (persona confused)"),
    (of.FactsKeptBy("forgetful", 3, 8, 2, 4),
        "the user held back 3 of 8 facts and got 2 wrong in 4 conversations (persona forgetful)"),
    (of.FactsKeptBy("wary", 0, 1, 0, 1),
        "the user held back none of 1 fact in 1 conversation (persona wary)"),
    (of.ToolsMadeFail((("lookUp", 3, 6), ("save", 1, 1))),
        "the job made lookUp fail in 3 of 6 calls, save in 1 of 1 call"),
    (of.WorstShown(200, 10_020, "7f3a"),
        "Shown are the 200 conversations that went worst, those in which the judge failed a task"
        " first; 9,820 are left out. `bioeval-tui runs report 7f3a --trial 1-50 --output page.html`"
        " makes a page of the trials that you name. All figures are of all 10,020."),
    (of.TrialsChosen(100, 10_020),
        "Shown are the 100 conversations of the trials that were chosen. All figures are of all"
        " 10,020."),
    (of.WasResumed(1), "the run was interrupted and resumed 1 time"),
    (of.TrialsAdded(1), "1 trial added by --rerun"),
    (of.SentAgain(1), "1 score would be lower with the time of requests that were sent again"),
    (of.NewerEvents(("a", "b")), "events of a newer version are not shown: a, b"),
    (of.NoRunMeasured(), "No run of this batch could be measured, so nothing can be compared."),
    (of.NothingSubmitted("t"), "Nothing was submitted for t."),
    (of.InvalidSubmission("t"), "The submission for t is invalid: it has no score."),
    (of.GradedSubmission("t", "gold", "auc 0.99", "1 of 9", "0.1 better than gold needs", True),
        "Gold on t: auc 0.99, place 1 of 9, 0.1 better than gold needs."),
    (of.GradedSubmission("t", "gold", "rho 1", "1 of 12", "", True, "scored on 2 of 2,000 rows"),
        "Gold on t: rho 1, scored on 2 of 2,000 rows, place 1 of 12."),
    (of.GradedSubmission("t", "", "auc 0.2", "", "", False),
        "No medal on t: auc 0.2, not above the median."),
    (of.NotGradedSubmission("t"), "The submission for t was not graded: the file is not at fault."),
    (COUNTS,
     "1 gold, 1 no medal, 1 invalid, 1 not graded of 4; average percentile 71.5 (35.8 with 2 "
     "without a score as 0); 2 above the median; 1 above the human median."),
    (replace(COUNTS, over="over 2 of 3 valid", others=""),
     "1 gold, 1 no medal, 1 invalid, 1 not graded of 4; average percentile 71.5 over 2 of 3 "
     "valid; 2 above the median; 1 above the human median."),
    (replace(ALONE, basis=of.AgentRanksBasis(10, 10, ("eve",), 4), first=("ada",)),
     "ada ranks first of 3 agents; 1 no medal of 1 submission; percentile unknown for all 1 "
     "valid."),
    (replace(ALONE, basis=of.AgentRanksBasis(10, 10, ("eve",), 4), first=("ada", "bob"),
             means=(("bob", 71.5), ("ada", 60.0), ("max", 3.0))),
     "bob leads 3 agents on 10 shared tasks: mean percentile 71.5, then ada 60.0; 1 no medal of 1 "
     "submission; percentile unknown for all 1 valid."),
    (replace(ALONE, basis=of.AgentRanksBasis(1, 10, (), 2), means=(("ada", 71.54), ("bob", 71.5))),
     "ada and bob lead 2 agents on 1 shared task: mean percentile 71.5; 1 no medal of 1 "
     "submission; percentile unknown for all 1 valid."),
    (ALONE, "1 no medal of 1 submission; percentile unknown for all 1 valid."),
    (replace(ALONE, counts=(), submissions=0, over=""), "Nothing is graded."),
    (of.WithoutScore("invalid", "t", "ada", "7 ids are missing"),
        "t by ada: invalid: 7 ids are missing"),
    (of.FurthestFromMedal("t", "", 12.34, "0.1 short of bronze"),
        "furthest from a medal: t: percentile 12.3, 0.1 short of bronze"),
    (GAIN, "assertion “a reminder exists”"),
    (of.Gain("task", 1, "remind me"), "task “remind me” to 1.0"),
    (of.Gain("task", 1, "remind me", met=True), "“remind me” met"),
    (of.Gain("task", 1, "remind me", met=False), "“remind me” not met"),
    (of.Gain("timing", 0, "response times", target_s=1.5), "answers within 1.50 s on average"),
    (of.Gain("failures", 0, "failed requests", failures=2), "no failures (now 2)"),
    (of.TaskFellShort("remind me", "", "0.20"), "“remind me”: 0.20, no reason is recorded"),
    (of.AssertionFails("a reminder exists", 2, "none was found"),
        "“a reminder exists” fails since turn 2: none was found"),
    (of.SlowAnswers(2, 2400.0), "slow answers: the slowest, in turn 2, took 2.40 s"),
    (of.SlowAnswers(None, None), "slow answers"),
    (of.RequestsFailed(2, "503"), "2 failed requests: 503"),
    (of.RunsCompared((compared(WITHOUT, UP, 0, 3), compared(WITH, UP, 0, 3)), False, 5),
     "B scored higher: in 3 of 3 pairs without the facts (+0.20), in 3 of 3 pairs with the facts "
     "(+0.20)."),
    (of.RunsCompared((compared(WITHOUT, UP, 0, 3), compared(WITH, SAME, 0, 0)), False, 5),
     "B scored higher: in 3 of 3 pairs without the facts (+0.20); the same with the facts."),
    (of.RunsCompared((compared(WITHOUT, UP, 0, 3), compared(WITH, FELL, 12, 0)), False, 5,
            ("careful", "guessing"), True),
     "Neither scored higher throughout: A (careful) in 12 of 12 pairs with the facts (+0.76); B "
     "(guessing) in 3 of 3 pairs "
     "without the facts (+0.20), on what both jobs share."),
    (of.RunsCompared((compared(WITHOUT, paired((0.5, 0.6)), 0, 1),), False, 5),
        "B scored higher: without the facts (+0.10)."),
    (of.NothingApart(()), "no part of the score differs"),
    (of.NothingApart(("a", "b", "c")),
        "no part of the score differs; in both fails “a”, “b” and 1 more"),
    (of.MedalLimits(0.9, 0.95, 0.99, 0.8, 14),
        "by the leaderboard, bronze begins at 0.9, silver at 0.95, gold at 0.99; the median of its "
        "14 entries is 0.8"),
    (of.MedalLimits(3, 2, 1, 4.5, None),
        "by the leaderboard, bronze begins at 3, silver at 2, gold at 1; the median is 4.5"),
    (of.NothingShared("dose", "reminder"),
        "A and B are not compared: their jobs share no task (A dose, B reminder)."),
    (of.NothingShared("dose", "dose"),
        "A and B are not compared: both are runs of dose, but of other tasks, facts or cases."),
    (of.RunsCompared((compared(WITH, FELL, 12, 0),), True, 0),
        "A scored higher: in 12 of 12 pairs with the facts (+0.76)."),
    (of.RunsCompared((compared(WITH, FELL, 9, 3),), False, 0),
        "A scored higher, but not beyond chance: in 9 of 12 pairs, lower in 3, with the facts "
        "(+0.76)."),
    (of.RunsCompared((compared(WITHOUT, SAME, 0, 0),), False, 5),
        "A and B score the same in the only pair without the facts."),
    (of.RunsCompared((compared(WITHOUT, LEVEL, 0, 0),), False, 5),
        "A and B score the same over 2 pairs without the facts."),
    (of.RunsCompared((compared(WITHOUT, paired(), 0, 0),), False, 0),
        "The runs cannot be compared: no pair of conversations has both scores."),
    (of.WhyApart(WITH, "assertion", -0.4, "a reminder exists", "broken"),
        "with the facts, A's assertions +0.40: “a reminder exists”: only A passes"),
    (of.WhyApart(WITH, "penalty", -0.4, "", ""), "with the facts, B's penalty −0.40"),
    (of.WhyApart(WITH, "penalty", -0.4, "", "6 of 11 requests failed in B", else_equal=True),
     "with the facts, B's penalty −0.40: 6 of 11 requests failed in B; tasks and assertions are "
     "equal"),
    (of.ChecksCorrected("without the facts", 3, ((of.Checked("task", "remind me"), 0.0004),)),
     "Without the facts: of 3 tasks and assertions, corrected for looking at all (Holm), "
     "significantly different: task “remind me” (p < 0.001)."),
    (of.ChecksCorrected("without the facts", 3, ()),
        "Without the facts: of 3 tasks and assertions, corrected for looking at all (Holm), none "
        "is significantly different."),
    (of.FellBeyondChance("without the facts", of.Checked("part", "task"), FELL),
     "without the facts: the score from tasks fell, −0.76, 95 % interval −0.79 to −0.73: worse (p "
     "< 0.001)"),
    (of.FellBeyondChance("without the facts", of.Checked("score"), FELL),
     "without the facts: the score fell, −0.76, 95 % interval −0.79 to −0.73: worse (p < 0.001)"),
    (of.RegressionUndecided(of.Units(2, "trial"), 5, True),
     "cannot tell whether B is worse: 2 trials that both runs scored may differ by chance alone; "
     "at least 5 trials of each run (--repeat 5) are needed"),
    (of.RegressionHeldAgain(2), "cannot tell whether B is worse: 2 conversations of B held again,"
        " because the connection to the agent broke; an agent may break it where it does badly: run"
        " it again"),
    (of.RegressionHidden("without the facts", 1, FELL),
     "cannot tell whether B is worse: without the facts, 1 conversation of B without a score; as 0,"
     " −0.76, 95 % interval −0.79 to −0.73: worse (p < 0.001)"),
    (of.NothingPaired(), "Nothing can be concluded: no pair of conversations has both scores."),
    (of.PairsWithoutInterval(1),
        "One pair shows what happened, not what to expect: 5 trials of each run could tell a large "
        "difference."),
    (of.PairsWithinChance(of.Units(4, "case"), 7),
        "4 cases cannot tell a difference from chance: at least 7 are needed."),
    (of.UnseenDifference(0.43, 0.1, 35, False),
     "A difference in up to 43 % of trials could have been missed; 35 trials of each run without "
     "one would leave less than 10 %."),
    (of.UnseenDifference(0.09, 0.1, None, True),
        "A difference in up to 9 % of trials could have been missed."),
    (of.OpenDifference(SPAN, 1200, 0.05, 0.8, True),
        "A difference from −0.10 to 0.30 remains possible; about 1,200 cases would show one of "
        "0.05 (80 % power)."),
    (of.OpenDifference(None, None, 0.0, 0.8, False), "The difference may be chance."),
    (of.OpenDifference(SPAN, None, 0.0, 0.8, False),
        "A difference from −0.10 to 0.30 remains possible."),
    (of.TimesNotCompared(4, 1),
        "timing is not compared: A ran 4 conversations at a time with its agent, B 1"),
    (of.JobsDiffer((("tasks[0].weight", "none", "2"),), 3),
     "the job files differ (tasks[0].weight: A none, B 2; and 3 more)"),
    (of.JobsDiffer((("about", "", "a b"),), 0),
        "the job files differ (about: A nothing, B “a b”)"),
    (of.JobsDiffer((), 0), "the job files differ (only in layout or comments)"),
    (
        of.IdentityDiffers((("judge", "a", "b"), ("agent's model", "", "m"))),
        "the runs differ in more than their results (judge: A a, B b; agent's model: A none, B m)",
    ),
    (of.RehearsalCompared(), "one of the runs is a rehearsal"),
    (of.TimingLeftOut(True),
     "scores here leave out the timing part on both sides, because the targets for response times "
     "differ"),
    (of.PeopleWouldSay("without the facts", 0.75, 0.58, SPAN, 30, 1200),
     "without the facts: tasks: people would say 0.58 [−0.10, 0.30] (30 of 1,200 verdicts "
     "reviewed; the judge said 0.75)"),
    (of.PeopleWouldSay("", 0.75, refused="3 reviews are too few: at least 30 are needed"),
     "what people would say about the tasks is unknown: 3 reviews are too few: at least 30 are "
     "needed"),
    (of.CalibratedElsewhere("with the facts", ("R",), 0.78, 0.71, SPAN, 40, 0.9, 0.8),
     "with the facts: tasks passed: the judge's 0.78, corrected by the 40 reviews of run R: 0.71 "
     "[−0.10, 0.30]; not reviewed here"),
    (of.CalibratedElsewhere("", ("R", "S"), refused="the prompt is another"),
     "not corrected by the reviews of runs R and S: the prompt is another"),
    (of.CalibratedElsewhere("with the facts", ("R",), refused="nobody reviewed it"),
     "with the facts: not corrected by the reviews of run R: nobody reviewed it"),
    (of.CalibratedElsewhere("", ("R",), 0.78, 0.71, SPAN, 40, 0.9, 0.8),
     "tasks passed: the judge's 0.78, corrected by the 40 reviews of run R: 0.71 [−0.10, 0.30]; "
     "not reviewed here"),
    (of.AgentSideLooked(0, 1, 2, 2, True), "the agent's side: nothing found in 1 message"),
    (of.AgentSideLooked(0, 1200, 2, 0, False),
     "the agent's side: nothing found in 1,200 messages; `unsaid` was not looked for: the "
     "recording has neither the agent's prompt nor what its tools or state said"),
    (of.AgentSideLooked(3, 30, 2, 0, True),
     "the agent's side: something found in 3 of 30 messages; `unsaid` was not looked for: the "
     "recording does not have the agent's prompt"),
    (of.AgentSideLooked(0, 30, 2, 2, False),
     "the agent's side: nothing found in 30 messages; `unsaid` was not looked for: the recording "
     "does not have what the agent's tools or state said"),
    (of.AgentSideLooked(0, 30, 2, 1, True),
     "the agent's side: nothing found in 30 messages; `unsaid` was not looked for in 1 of 2 "
     "conversations, whose prompt of the agent is not recorded"),
    (of.JudgeNotCalibrated(), "judge not calibrated: no sample of its verdicts was reviewed"),
    (of.JudgeOnSentinels((), 12),
        "this judge gets nothing wrong about 12 conversations with known verdicts beyond chance"),
    (of.JudgeOnSentinels((("lenient", 0.35), ("strict", 0.4), ("drifting", -0.5), ("changed", 0.1),
                ("inventing", 0.25)), 12),
     "on 12 conversations with known verdicts, this judge is too lenient (scores what is not met "
     "0.35, right is 0), "
     "is too strict (what is met lacks 0.40, right is 0), drifts (−0.50 from its first to its last "
     "calls), "
     "has changed (+0.10 since the earlier test), invents quotations (in 25 % of the "
     "conversations)"),
    (of.JudgeOfFamily("the judge a is of the same model family as the agent (b): so"),
     "the judge a is of the same model family as the agent (b): so"),
    (of.JudgeNotExamined(), "judge not examined: it was asked about no control"),
    (of.JudgeNotExamined("a control has no verdict: refused"),
        "judge not examined: a control has no verdict: refused"),
    (of.JudgeExam(3, 0.25), "judge examined: it believes none of 3 controls (at most 0.25)"),
    (of.JudgeExam(6, 0.0, remembered=True, left_out=1),
     "judge examined in an earlier run: it believes none of 6 controls (at most 0.00; 1 task that "
     "silence meets left out)"),
    (of.JudgeExam(3, 1.0, "the judge believes a control: so"), "the judge believes a control: so"),
    (of.UserSpread("user", (of.UserScore("A", (0.78,), None, ""),
                            of.UserScore("B", (0.5,), None, "")), None, is_effect=False),
     "0.78 with A, 0.50 with B: two users; a third may differ"),
    (of.UserSpread("persona", (of.UserScore("hurried", (0.2, 0.78), 0.58, "better"),
                               of.UserScore("plain", (0.25, None), None, "not measured")),
                   None, is_effect=True),
     "0.20 → 0.78 with hurried, 0.25 → – with plain: two personas; a third may differ; the facts "
     "help with hurried, nothing is shown with plain"),
    (of.UserSpread("user", tuple(of.UserScore(name, (0.2, 0.8), 0.6, shows) for name, shows in
                                 zip("ABCDE", ["better"] * 4 + ["worse"], strict=True)),
                   Interval(0.5, 0.7), is_effect=True),
     "0.20 → 0.80 with A, 0.20 → 0.80 with B, 0.20 → 0.80 with C, 0.20 → 0.80 with D, 0.20 → 0.80 "
     "with E: five users; a sixth may differ; the effect of the facts with other users like "
     f"these: {interval_words(Interval(0.5, 0.7))} (95 % interval); the facts help with A, B, C "
     "and D, the facts hurt with E"),
    (of.UserSpread("user", tuple(of.UserScore(name, (0.5,), None, "") for name in "ABCDEFG"),
                   Interval(0.4, 0.6), is_effect=False),
     ", ".join(f"0.50 with {name}" for name in "ABCDEFG") + ": seven users; another may differ; "
     f"the score with other users like these: {interval_words(Interval(0.4, 0.6))} "
     "(95 % interval)"),
    (of.ThresholdWithSome("supplied", 0.6, (("A", 0.78),), (("B", 0.5),)),
     "supplied: 0.6 is met with A (0.78), not with B (0.50)"),
    (of.SimulatedUsers("without the facts", FELL),
     "without the facts: simulated users score the agent 0.76 lower than a person (12 trials, 95 % "
     f"interval {interval_words(FELL.estimate.interval)})"),
    (of.SimulatedUsers("without the facts", SAME),
     "without the facts: scores with simulated users lie ±0.00 from a person's (1 trial, too few "
     "for an interval): too few to tell"),
    (of.SimulatedUsers("without the facts", difference([])),
     "without the facts: no conversation that simulated users held was also held by a person"),
    (of.NothingCompared(()),
     "cannot tell whether B is worse: no score is of the same in both runs"),
    (of.CasesOfOneRun("B", 1, ("c4",)), "1 case is only in B and not compared: c4"),
    (of.CasesOfOneRun("A", 12, ("c1", "c2")),
        "12 cases are only in A and not compared: c1, c2 and 10 more"),
    (of.ContentsDiffer(("c1", "c2"), 2, 10, (("facts[0]", "x", "y"),), False),
     "2 of 10 cases have other contents in B than in A, and they are not compared: c1, c2 (the "
     "first: facts[0]: A x, B y)"),
    (of.ContentsDiffer(("c1",), 1, 10, (("facts[0]", "x", "y"),), True),
     "1 of 10 cases has other contents in B than in A, and only what is the same in them is "
     "compared: c1 (the first: facts[0]: A x, B y)"),
    (of.ContentsDiffer((), 1, 1, (("facts[0]", "x", "y"),), False),
     "what the user knows, or what is scored, is not the same in both runs: nothing is compared "
     "(facts[0]: A x, B y)"),
    (of.ContentsDiffer((), 1, 1, (("tasks[1].task", "none", "y"),), True),
     "what the user knows, or what is scored, is not the same in both runs: "
     "only tasks and assertions that are the same are compared (tasks[1].task: A none, B y)"),
    (of.TrialsDiffer(5, 1), "A has 5 trials, B 1: only trials with the same number are paired"),
    (of.VerdictsReplaced(1, 2, False, ("j",), "A"),
        "A: 1 of 2 conversations judged again: the recorded verdicts count, the later ones are "
        "shown beside them"),
    (of.VerdictsReplaced(2, 2, True, ("j", "k")),
        "2 of 2 conversations judged again: the latest verdict of each counts (j, k), the recorded "
        "ones are shown beside them"),
    (of.VerdictsReplaced(2, 2, True, ("j",), "", "new.yml"),
        "2 of 2 conversations judged again by the criteria of new.yml: the latest verdict of each "
        "counts (j), the recorded ones are shown beside them"),
    (of.VerdictsReplaced(1, 2, False, ("j",), "", "new.yml", waits=True),
        "1 of 2 conversations judged again by the criteria of new.yml: the verdicts before them "
        "count until all that can be judged are; the same command goes on"),
    (of.CriteriaChanged(2, "", "Names vitamin K", "new.yml"),
        "task 2: recorded nothing, in new.yml “Names vitamin K”"),
    (of.CriteriaChanged(2, "Names bleeding", "Names vitamin K", "new.yml"),
        "task 2: recorded “Names bleeding”, in new.yml “Names vitamin K”"),
    (of.AssertionChanged("with the facts, trial 1", "a reminder exists", "failed", "passed",
            "new.yml"),
     "with the facts, trial 1, “a reminder exists”: recorded failed, in new.yml passed"),
    (of.AssertionChanged("with the facts, trial 1", "a reminder exists", "", "not_measured",
            "new.yml", "it asks the graph"),
     "with the facts, trial 1, “a reminder exists”: recorded not asked, in new.yml not measured "
     "(it asks the graph)"),
    (of.RunOfOneCondition("A", "without the facts"),
        "A was run in one condition only: without the facts"),
    (of.PlaceboLeftOut((("A", 0.5), ("B", None))), "the placebo is not compared: A 0.50, B –"),
    (of.PlaceboLeftOut((("B", 1.0),)),
        "the placebo is not compared: B 1.00, the other run has none"),
    (of.UncleanRun("A", "not clean", "the graph differs"), "A: not clean, the graph differs"),
    (of.RunUnfinished("B"), "B did not finish"),
    (of.ManyExcluded(USED, 0.1),
        "more than 10 % of the conversations could not be used: 9 of 10 used (the judge failed in "
        "1)"),
    (
        of.NotExcused(Counted(7, 10, (("program", 2), ("unclear", 1)), unexcused=3)),
        "1 conversation left out because of what the agent sent, or did not send; 2 conversations "
        "left out because of a bug in "
        "this program: please report it; no gate passes over that, however few they are",
    ),
    (
        of.HeldAgain(Counted(9, 9, (), again=2)),
        "2 conversations held again, because the connection to the agent broke; an agent may break "
        "it where it does badly, so "
        "no threshold is met: run it again",
    ),
    (of.NothingRun(), "no conversation was run"),
    (
        of.ScoreBasis((("withheld",
                    Counted(1, 2, (("judge", 1),), causes=(("judge", "it gave no verdict"),))),)),
        "1 of 2 used (the judge failed in 1: it gave no verdict)",
    ),
    (of.ScoreBasis((("withheld", USED),)), "9 of 10 used (the judge failed in 1)"),
    (of.ScoreBasis((("withheld", USED),), needed=2),
        "needs both conditions; without the facts 9 of 10 used (the judge failed in 1)"),
    (of.ScoreBasis((("withheld", USED), ("supplied", USED)), needed=2),
        "without the facts 9 of 10 used (the judge failed in 1); with the facts 9 of 10 used (the "
        "judge failed in 1)"),
    (of.ConditionNotRun("supplied"), "the job was not run with the facts"),
    (of.ScoreBasis((("withheld", USED),), lowest=(0.899, 0.9)),
        "9 of 10 used (the judge failed in 1); 0.899 with the excluded as 0, so it may not be met"),
    (of.ScoreBasis((("withheld", USED),), lowest=(0.899, 0.9), sent_again=True),
        "9 of 10 used (the judge failed in 1); 0.899 with the excluded as 0 and the time of"
        " requests that were sent again, so it may not be met: use a lower --concurrency"),
    (of.PassShareBasis(3, 2, 5, True), "over 3 tasks"),
    (of.PassShareBasis(3, 2, 1, False), "2 trials are needed, there are 1"),
    (of.TimesBasis(95, 40, 0), "of 40 answers"),
    (of.TimesBasis(95, 19, 2),
        "of 19 answers, so few that p95 is the longest; 2 failed requests left out"),
    (of.TimesBasis(50, 0, 1), "no answer"),
    (of.TimesBasis(50, 9, 0, 2100.0),
        "of 9 answers; 2.10 s with the time of failed requests, so it may not be met"),
    (of.TimesBasis(50, 9, 1, float("inf")),
        "of 9 answers; 1 failed request left out; answers that never came would be the longest, so"
        " it may not be met"),
    (of.PassShareBasis(0, 2, 0, False), "the job has no tasks"),
    (of.AssertionMissed("trial 1", ""), "trial 1: failed"),
    (of.StopDecision(0, 1, None, "undecided", 0.5, ("supplied",), ("a",), ()),
     "undecided: no round could be measured; 1 round left out, since a conversation could not be "
     "measured"),
    (of.StopDecision(3, 0, SPAN, "undecided", 0.5, ("withheld", "supplied"), ("a", "b"), ()),
     "undecided after 3 rounds: the mean of both conditions over 2 jobs lies in [−0.10, 0.30], "
     "valid at every look"),
    (of.StopDecision(3, 0, SPAN, "below", 0.5, ("supplied",), ("a",), ()),
     "decided after 3 rounds: with the facts of a is below 0.5; it lies in [−0.10, 0.30], valid at "
     "every look"),
    (of.StopDecision(3, 0, SPAN, "above", 0.0, ("supplied",), ("a",), ("large", "small")),
     "decided after 3 rounds: large is better than small; large − small, with the facts of a, lies "
     "in [−0.10, 0.30], valid at every look"),
    (of.RanksBasis(4, 0, 10),
        "4 common cases: too few for ranks that hold on other cases, 10 are needed"),
    (of.RanksBasis(40, 2, 10),
        "with 95 % confidence, all true ranks are in these intervals; 40 common cases; 2 that not "
        "all agents have are left out"),
    (of.AgentRanksBasis(9, 10), "ranks need 10 tasks that all agents have; there are 9"),
    (of.AgentRanksBasis(0, 10, ("ada", "bob"), 2),
        "no ranks: percentiles on leaderboards are unknown for all valid submissions"),
    (of.AgentRanksBasis(9, 10, ("bob",), 3),
        "ranks need 10 tasks that all other agents have; there are 9; no rank for bob: no "
        "percentile is known"),
    (of.AgentRanksBasis(40, 10),
        "ranks on 40 tasks that all agents have, with 95 % confidence in all of them together"),
    (of.BehindNext(paired()), ""),
    (of.BehindNext(paired((0.5, 0.5))), "±0.0 percentiles on 1 shared task: too few to tell"),
    (of.BehindNext(FEW_FELL), "−0.8 percentiles on 6 shared tasks: worse"),
    (of.BehindNext(FELL), "−0.8 percentiles on 12 shared tasks, 95 % interval −0.8 to −0.7: worse"),
    (of.MannerBasis(1, 1, 5, "MTS", "CC BY", "visits", 200),
     "1 conversation is too few to tell whether this user is like people; 5 would give intervals. "
     "people: MTS (CC BY), visits; mean and the middle "
     "90 % of 200 conversations; English phrases"),
    (of.MannerBasis(5, 5, 5, "MTS", "CC BY", "visits", 200),
        "people: MTS (CC BY), visits; mean and the middle 90 % of 200 conversations; English "
        "phrases"),
    (of.MannerBasis(400, 10_020, 5, "MTS", "CC BY", "visits", 200),
        "measured in 400 of 10,020 conversations. people: MTS (CC BY), visits; mean and the "
        "middle 90 % of 200 conversations; English phrases"),
    (of.PartNeeded(Needed("task", 0.5, None, 0.7), 0.8),
        "tasks alone cannot reach 0.80: even 1.00 gives 0.70"),
    (of.PartNeeded(Needed("task", 0.5, 0.3, 0.9), 0.8),
        "tasks could fall from 0.50 to 0.30 and still reach 0.80"),
    (of.PartNeeded(Needed("task", 0.5, 0.721, 0.9), 0.8),
        "to reach 0.80, tasks would have to rise from 0.50 to 0.73"),
    (of.IntervalExpected(5, 5, 0.25, 0.2),
        "5 trials give an interval of about ±0.25, if trials vary by 0.20"),
    (of.IntervalExpected(1, 5, 0.25, 0.2),
        "1 trial: no interval; 5 give an interval of about ±0.25, if trials vary by 0.20"),
    (of.Beginning(1, 2, True, 2, False),
        "Conversation 1 of 2: the user knows no facts, and cannot answer when the agent asks."),
    (of.Beginning(1, 2, True, 1, True),
     "Conversation 1 of 2: a script plays the user and does not name the medicine; the agent is a "
     "real language model."),
    (of.Beginning(2, 2, False, 2, False),
        "Conversation 2 of 2: the same user again, who now knows 2 facts and shares them when "
        "asked."),
    (of.Beginning(2, 2, False, 1, True),
     "Conversation 2 of 2: a script plays the user and names the medicine this time; the agent is "
     "a real language model."),
    (of.NoLongerHolds(WITHOUT, "none"), "No longer true without the facts: “none”."),
    (of.RequestJustFailed("agent", "503"),
        "A request to the agent failed (503); failures of the agent lower its score."),
    (of.NowTrue("a reminder exists", 2),
        "Now true: “a reminder exists” and 2 more. This is checked in the agent's state, not in "
        "its answers."),
    (of.FactJustGiven(1, True), "The user gives fact 1 because the agent asked."),
    (of.FactJustGiven(2, False), "The user gives fact 2 without being asked."),
    (of.ConversationsPart(),
     "The conversations differ from here. Until now, they were the same, word for word."),
    (of.AgentAsks(),
     "The agent asks. This user knows no facts, so the agent has to go on without the answer."),
    (of.AwaitsVerdict(WITHOUT, True),
        "The conversation without the facts has ended. Rules judge it, and every assertion is "
        "checked once more."),
    (of.AwaitsVerdict(WITH, False),
        "The conversation with the facts has ended. The judge reads it, and every assertion is "
        "checked once more."),
    (of.EndsWithoutScore("the judge was away"),
        "This conversation could not be scored: the judge was away."),
    (of.EndsWithScore(LOW, 4, 3, "a reminder exists"),
        "Without the facts the agent scores 0.44: 3 of 4 assertions do not hold, such as “a "
        "reminder exists”."),
    (of.EndsWithScore(LOW, 4, 1, "a reminder exists"),
        "Without the facts the agent scores 0.44: “a reminder exists” does not hold."),
    (of.EndsWithScore(HIGH, 4, 0, ""),
        "With the facts the agent scores 1.00: all 4 assertions hold."),
    (of.EndsWithScore(HIGH, 2, 0, "none is set"),
        "With the facts the agent scores 1.00: both assertions hold, such as “none is set”."),
    (of.EndsWithScore(HIGH, 1, 0, "none is set"),
        "With the facts the agent scores 1.00: “none is set” holds."),
    (of.EndsWithScore(HIGH, 0, 0, ""),
        "With the facts the agent scores 1.00: it had no assertions."),
]  # fmt: skip

ESTIMATES: list[tuple[Callable[[Any], str], object, str]] = [
    (sentences.interval_words, SPAN, "−0.10 to 0.30"),
    (sentences.spread_words, estimate([]), "no value"),
    (sentences.spread_words, estimate(of_values(0.5)), "one value, no interval"),
    (sentences.spread_words, estimate(of_values(0.5, 0.6)),
        "2 values: 0.50, 0.60; range 0.50 to 0.60, too few for an interval"),
    (sentences.spread_words,
        estimate([Sample(job, value) for job in "ab" for value in (0.4, 0.6) * 500]),
        "2,000 values: 0.40, 0.60, 0.40, 0.60, 0.40, …; range 0.40 to 0.60; 2 jobs are too few for "
        "an interval"),
    (sentences.difference_words,
        difference(differences([(Sample(job, 0.4), Sample(job, value))
                                for job in "ab" for value in (0.4, 0.6) * 500])),
        "+0.10, 2,000 pairs of 2 jobs from ±0.00 to +0.20: too few to tell"),
    (sentences.spread_words, estimate(of_values(*[0.5] * 5)),
        "all 5 values are equal, too few for an interval"),
    (sentences.spread_words, estimate(of_values(*(0.4, 0.5, 0.6, 0.5, 0.4) * 2)),
        "95 % interval 0.42 to 0.54, this job only, 10 trials"),
    (sentences.counted_words, Counted(4, 4, again=2),
        "4 of 4 used, 2 held again because the connection broke"),
    (sentences.counted_words, Counted(2, 4, (("judge", 1), ("not run", 1))),
        "2 of 4 used (the judge failed in 1, 1 not run)"),
    (sentences.difference_words, paired(), "not measured (0 of 0 used)"),
    (sentences.difference_words, paired((0.5, 0.5)), "±0.00 in one pair: too few to tell"),
    (sentences.difference_words, paired((0.4, 0.6), (0.4, 0.6)),
        "+0.20 in each of 2 pairs: too few to tell"),
    (sentences.difference_words, paired((0.4, 0.5), (0.4, 0.7)),
        "+0.20, 2 pairs from +0.10 to +0.30: too few to tell"),
    (sentences.difference_words, FELL, "−0.76, 95 % interval −0.79 to −0.73: worse"),
    (sentences.difference_words, replace(FELL, p=0.06),
        "−0.76, 95 % interval −0.79 to −0.73: not yet distinguishable (p 0.060)"),
    (sentences.p_words, 0.0004, "< 0.001"),
    (sentences.p_words, 0.05, "0.050"),
    (sentences.rank_words, AgentRank("a", 0.5, 1, 1, 1), "rank 1"),
    (sentences.rank_words, AgentRank("a", 0.5, 2, 2, 7), "rank 2–7"),
    (sentences.concurrency_words, summarise([], [], [1]), "1 conversation at a time"),
    (sentences.concurrency_words, summarise([], [], [4, 2]), "2 and 4 conversations at a time"),
    (sentences.concurrency_words, summarise([], [], []), "concurrency unknown"),
    (partial(sentences.effect_words, shared=None), SAME, "±0.00 in one pair: too few to tell"),
    (partial(sentences.effect_words, shared=SOME_SHARED), SAME,
     "±0.00 in one pair: too few to tell; the difference is of what both conditions share: 2 of 3 "
     "tasks and 1 of 5 assertions"),
    (partial(sentences.effect_words, shared=SOME_SHARED), paired(), "not measured (0 of 0 used)"),
    (partial(sentences.effect_words, shared=of.Shared(0, 1, 0, 0)), paired(),
        "each condition has its own criteria, so no difference is claimed"),
    (partial(sentences.seen_in, ["without the facts, trial 1"]), "gone",
        "without the facts, trial 1: gone"),
    (partial(sentences.seen_in, ["a", "b"]), "gone", "2 conversations: gone"),
    (partial(sentences.under, "without the facts"), "One pair shows",
        "Without the facts: one pair shows"),
]  # fmt: skip

SURE: list[tuple[ConclusionFinding, str]] = [
    (of.NeverStarted(), "no: nothing was measured"),
    (of.StillUnfinished(1, 2), "not yet: the run has not ended"),
    (of.StillUnfinished(1, 2, True), "not yet: the replay has not ended"),
    (of.WasCancelled("", 1, 2), "no: a cancelled run has no result"),
    (of.CouldNotStart(""), "no: nothing was measured"),
    (of.NothingScored(FIRST), "no: nothing was measured"),
    (of.AgentUnreached("refused"), "no: nothing was measured"),
    (of.AgentGone("503"), "no: nothing was measured"),
    (of.NoConversation("503"), "no: nothing was measured"),
    (of.EvaluatorFailures(of.Breakdown(ONE, "x"), None),
        "no: this says nothing about the agent; the simulated user is at fault"),
    (of.JudgeFailures(of.Breakdown(BOTH, "away")),
        "no: there is no verdict; the conversations are kept and can be judged again"),
    (of.NoScoreAnywhere("x"), "no: nothing was measured"),
    (of.ScoresLost(of.NotExcused(Counted(9, 10, unexcused=1)), of.Places((FIRST,), 10), "400"),
        "no: 1 of 10 conversations has no score because of what the agent sent, or did not send"),
    (of.ScoresLost(of.NotExcused(Counted(8, 10, (("program", 2),), unexcused=2)),
        of.Places((FIRST,), 10), "400"),
        "no: 2 of 10 conversations have no score because of a bug in this program"),
    (of.ScoresLost(of.ManyExcluded(Counted(5, 10), 0.1), of.Places((FIRST,), 10), "away"),
        "no: more than 10 % of the conversations have no score"),
    (of.NoScoreThere(of.Places((FIRST,), 10), "x"), "no: one condition says nothing of the other"),
    (of.AgentBroke(of.Breakdown(BOTH, "500"), None, ()),
        "yes: the agent failed; a run without failures would tell the rest"),
    (of.OneCondition(SINGLE, False, None), "no: one trial"),
    (of.OneCondition(FIVE, True, SPAN), "the same in each of 5 trials"),
    (of.OneCondition(of.Trials(2, 2), False, None), "no: 2 trials, too few for an interval"),
    (of.OneCondition(FIVE, False, SPAN),
     "yes, to about ±0.20 (95 % interval −0.10 to 0.30, this job only, 5 trials); 20 would "
     "halve that"),
    (of.OneCondition(of.Trials(200, 4, 50), False, SPAN),
     "yes, to about ±0.20 (95 % interval −0.10 to 0.30, this job only, 5 trials); 200 would "
     "halve that"),
    (of.EffectOfFacts(of.Trials(10_020, 10_020, 2_004), 0.22, False, None),
     "yes: the facts help, +0.22 over 10,020 trials of 2,004 cases"),
    (of.OneOfTrials(2, 3), "no: trial 2 of 3; the card of all trials says how sure"),
    (of.UncleanStart("the graph differs", False),
        "no: the graph differs, so the difference cannot be attributed to the facts"),
    (of.ContrastNotRun(("withheld",)),
        "no: the effect of the facts needs the condition withheld as well"),
    (of.NoPairOfScores(), "no: no trial has both scores, so there is no difference"),
    (of.NoFactsInJob(),
     "no effect to measure: the job has no facts, so both conditions ask the same"),
    (of.NoFactGiven(),
     "no: the user gave the agent no fact, so the facts cannot explain a difference"),
    (of.FactsUnread("it cannot be told"),
        "no: it cannot be told, so nothing is said about what the facts change"),
    (of.NothingToGain(SINGLE, False), "no: one trial; nothing was left to gain"),
    (of.NothingToGain(FIVE, True), "yes: nothing was left to gain in each of 5 trials"),
    (of.NoEffectOfFacts(of.Trials(5, 6)), "yes: the facts change nothing in each of 5 of 6 trials"),
    (of.EffectOfFacts(FIVE, 0.56, True, None), "yes: the facts help, +0.56 in each of 5 trials"),
    (of.EffectOfFacts(FIVE, -0.2, False, SPAN),
        "yes: the facts hurt, −0.20 over 5 trials (95 % interval of the difference −0.10 to 0.30)"),
    (of.EffectOfFacts(FIVE, 0.56, False, SPAN, with_talk=True),
        "yes: the facts and their talk help, +0.56 over 5 trials (95 % interval of the difference "
        "−0.10 to 0.30)"),
    (of.EffectOfTalk(FIVE, 0.56, SPAN),
        "yes: the talk helps, not the facts, +0.56 over 5 trials (95 % interval of the difference "
        "−0.10 to 0.30)"),
    (of.EffectWithinChance(FIVE, 0.1, SPAN),
        "no: +0.10 cannot be distinguished from chance over 5 trials (95 % interval of the "
        "difference −0.10 to 0.30)"),
    (of.EffectWithinChance(of.Trials(50, 50, 50), 0.1, None),
        "no: +0.10 cannot be distinguished from chance over 50 cases"),
    (of.EffectWithinChance(of.Trials(36, 36, 12), 0.1, None),
        "no: +0.10 cannot be distinguished from chance over 36 trials of 12 cases"),
    (of.EffectWithinChance(of.Trials(1, 5), 0.1, None),
        "no: +0.10 cannot be distinguished from chance (the only one of 5 trials with both "
        "scores)"),
    (of.TooFewForEffect(SINGLE, None, 5),
        "no: one trial is too few to tell what the facts change; at least 5 are needed"),
    (of.TooFewForEffect(of.Trials(2, 2), None, 5),
        "no: two trials are too few to tell what the facts change; at least 5 are needed"),
    (of.TooFewForEffect(of.Trials(2, 5), None, 5),
        "no: 2 of 5 trials with both scores are too few to tell what the facts change; at least 5"
        " are needed"),
    (of.TooFewForEffect(of.Trials(13, 13), None, 20),
        "no: 13 trials are too few to tell what the facts change; at least 20 are needed"),
    (of.TooFewForEffect(of.Trials(8, 8), 4, 7),
        "no: 4 cases are too few to tell what the facts change; at least 7 are needed"),
    (of.NoSharedCriteria(False),
        "no: the conditions share no criteria, so no effect of the facts is claimed"),
    (of.SharedNotRecorded(),
     "no: the recording lacks verdicts on what both share, so no effect of the facts is claimed"),
    (of.NoRunMeasured(), "no: nothing was measured"),
    (of.OneModelOnly(2), "no comparison: one agent and model in 2 runs"),
    (of.OneModelMeasured("large"), "no: only large could be measured"),
    (of.ModelsUnpaired(), "no: they were not run on the same jobs and trials"),
    (of.BestModel("large", "small", 0.5), "yes: large does better than small, by 0.50 in the mean"),
    (of.BestModel("large", "", 0.5),
        "yes: large does better than every other model, by at least 0.50 in the mean"),
    (of.ModelsTied(("large", "small"), of.Units(1, "trial")),
        "no: large and small score the same; 1 trial is too few to tell more"),
    (of.ModelsTied(("large", "small"), None), "no: large and small score the same"),
    (of.TooFewForBest(of.Units(3, "case"), 7),
        "no: 3 cases are too few to tell which is best; at least 7 are needed"),
    (of.ModelsWithinChance(), "no: the differences cannot be distinguished from chance"),
    (of.RunsCompared((compared(WITH, FELL, 12, 0),), False, 0, lost=3),
        "no: B − A −0.76, 95 % interval −0.79 to −0.73: worse; not with the 3 missing scores "
        "as 0"),
    (of.RunsCompared((compared(WITHOUT, UP, 0, 3), compared(WITH, SAME, 0, 0)), False, 5),
     "no: without the facts, B − A +0.20 in each of 3 pairs: too few to tell; at least 5 are"
     " needed"),
    (of.RunsCompared((compared(WITH, FELL, 12, 0),), True, 0),
        "yes: B − A −0.76, 95 % interval −0.79 to −0.73: worse"),
    (of.RunsCompared((compared(WITHOUT, paired(), 0, 0),), False, 0),
        "no: nothing was measured in both"),
    (of.RunsCompared((compared(WITH, FELL, 12, 0),), False, 0),
        "no: B − A −0.76, 95 % interval −0.79 to −0.73: worse; four times as many pairs would "
        "halve the interval"),
    (of.NothingShared("dose", "reminder"), "no: nothing is the same in both"),
    (of.NothingSubmitted("t"), "yes: there is no file"),
    (of.InvalidSubmission("t"), "yes: the file breaks the task's rules"),
    (of.NotGradedSubmission("t"), "no: it may have any score"),
    (COUNTS, "no: 1 score of 2 in doubt; 1 over a part of the rows; ranks need 10 tasks that all "
     "agents have; there are 3"),
    (replace(COUNTS, doubtful=0),
     "no: 1 score over a part of the rows; ranks need 10 tasks that all agents have; there are 3"),
    (replace(COUNTS, doubtful=0, partial=0), "no: who is better cannot be told: ranks need 10 "
     "tasks that all agents have; there are 3"),
    (replace(COUNTS, doubtful=0, partial=0, basis=of.AgentRanksBasis(40, 10, (), 3),
             first=("ada", "bob")),
     "no: ada and bob may each rank first, with 95 % confidence on 40 shared tasks"),
    (ALONE, "no: 1 task: too few for an interval of the share of medals, which needs 10"),
    (replace(COUNTS, doubtful=0, partial=0, basis=of.AgentRanksBasis(40, 10, (), 2)),
     "yes: ranks on 40 tasks that all agents have, with 95 % confidence in all of them together"),
    (replace(ALONE, tasks=12), "yes: over 12 tasks"),
    (replace(ALONE, counts=(("invalid", 1),)), "no: no submission has a score"),
    (of.GradedSubmission("t", "", "auc 0.2", "", "", False), "no interval was computed"),
    (of.GradedSubmission("t", "gold", "auc 1", "", "", True,
            doubts="it takes columns by their place"),
     "no: in doubt: it takes columns by their place"),
]  # fmt: skip

DO: list[tuple[of.Step, str, str]] = [
    (of.Step("passage", ("R",)), "read the passage", "bioeval-tui runs replay R"),
    (
        of.Step("trials", job="job.yml", trials=2, total=5),
        "2 more trials",
        "bioeval-tui run job.yml --repeat 5",
    ),
    (of.Step("trials", trials=2, total=5, each=True), "2 more trials of each", ""),
    (of.Step("trials", trials=1, total=5, each=True), "1 more trial of each", ""),
    (of.Step("compare", ("R", "S")), "compare the two", "bioeval-tui runs compare R S"),
    (of.Step("edit"), "edit the job", ""),
    (
        of.Step("grade", submission=("a b.csv", "t/a"), options=("--data-dir", "my data")),
        "grade it again",
        "bioeval-tui grade-sample 'a b.csv' t/a --data-dir 'my data'",
    ),
    (
        of.Step("again", job="job.yml", way="start the agent"),
        "start the agent, then run it again",
        "bioeval-tui run job.yml",
    ),
]

STEPS: list[tuple[NextFinding, str, str, str]] = [
    (next_steps.WatchNext("job"), "Watch job", "in progress", "Follow the run live."),
    (next_steps.RepeatNext("job", 1, 5), "Run job with 5 trials", "its last run had 1",
        "1 trial cannot show how much of a score is chance. 5 give"),
    (next_steps.CompareNext("job", 0.2, None), "Compare the last two runs of job", "0.20 → –",
        "Compare tasks, assertions and response times"),
    (next_steps.CompareNext("job", 0.2, 0.4, ("careful", "careless")),
        "Compare the last two runs of job", "careful 0.20 → careless 0.40",
        "Compare tasks, assertions and response times"),
    (next_steps.ReviewNext("job"), "Review the judge of job", "not reviewed yet",
        "Read each judged task"),
    (next_steps.RunNext("job", "~/job.yml", 2, 1, 0), "Run job", "never run yet",
        "~/job.yml: 2 tasks, 1 fact, 0 assertions. A dialog"),
    (next_steps.RunNext("job", "", 1, 0, 1), "Run job", "never run yet",
        "A sample: 1 task, 0 facts, 1 assertion. A dialog"),
]  # fmt: skip


CAUSES: list[tuple[ConclusionFinding, str]] = [
    (
        of.ScoresLost(of.ManyExcluded(Counted(5, 10), 0.1), of.Places((FIRST, SECOND), 10), "away"),
        "no score in 2 of 10 conversations, first in the conversation without the facts of trial "
        "1: away",
    ),
    (of.CouldNotStart(""), "no reason was recorded"),
    (of.AgentUnreached("connection refused."), "connection refused"),
    (of.AgentGone("it broke at message 3."), "it broke at message 3"),
    (of.NoScoreAnywhere("assertion not measured"), "assertion not measured"),
    (of.AgentBroke(None, None, ()), ""),
    (of.NoRunMeasured(), ""),
]


@pytest.mark.parametrize(("found", "words"), EXAMPLES)
def test_a_finding_has_its_sentence(found: Finding, words: str) -> None:
    assert sentence(found) == words


def untitled(value: Any) -> Any:
    """Return a finding of a run that has one condition, which has no words."""
    if isinstance(value, of.Side):
        return replace(value, title="")
    if isinstance(value, tuple):
        return tuple(map(untitled, value))
    if is_dataclass(value) and not isinstance(value, type):
        shown = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        return replace(value, **{name: untitled(each) for name, each in shown.items()})
    return value


@pytest.mark.parametrize("found", [found for found, _ in EXAMPLES])
def test_a_condition_without_words_leaves_no_gap_in_a_sentence(found: Finding) -> None:
    text = sentence(untitled(found))
    assert not re.search(r"  | [,.:;)]|\( |^ | $", text), text


@pytest.mark.parametrize(("found", "words"), SURE)
def test_an_answer_says_how_sure_it_is(found: ConclusionFinding, words: str) -> None:
    assert sure(found) == words
    said = sure(found, rehearsal=True)
    why = re.sub("^(yes|no|not yet): ", "", words)
    reason = "no: only a rehearsal: a script speaks and rules judge; it takes models"
    enough = {" and at least 5 trials", " and at least 20 trials", " and at least 7 cases", ""}
    assert said in {f"no: a rehearsal, and {why}", *(f"{reason}{more}" for more in enough)}
    if "too few" in words and said.startswith(reason):
        assert said != reason


def test_how_sure_an_answer_is_has_one_line_on_a_screen_of_120_columns() -> None:
    for found, _ in SURE:
        assert len(sure(found)) <= sentences.ONE_LINE, found
        if not isinstance(found, of.MedalCounts):  # files are never graded in a rehearsal
            assert len(sure(found, rehearsal=True)) <= sentences.ONE_LINE, found
        notes = (of.TrialsAdded(2), of.SentAgain(3))
        assert sure(found, notes=notes).endswith("; 2 trials added by --rerun; 3 scores would be"
            " lower with the time of requests that were sent again"), found  # fmt: skip


@pytest.mark.parametrize(("found", "words", "command"), DO)
def test_what_can_be_done_next_has_words_and_a_command(
    found: of.Step, words: str, command: str
) -> None:
    done = sentences.step(found)
    assert (done.words, done.command) == (words, command)
    told = sentences.steps_words([done, done])
    assert told == (f"{words}: `{command}` · {words}: `{command}`" if command else "")


@pytest.mark.parametrize(("write", "found", "words"), ESTIMATES)
def test_an_estimate_has_its_words(write: Callable[[Any], str], found: object, words: str) -> None:
    assert write(found) == words


@pytest.mark.parametrize(("found", "what", "more", "about"), STEPS)
def test_a_next_step_has_its_texts(found: NextFinding, what: str, more: str, about: str) -> None:
    step = next_step(found)
    assert (step.what, step.more) == (what, more)
    assert step.about.startswith(about)


def test_every_finding_has_a_writer_and_an_example() -> None:
    written = {*sentences.write.registry, *sentences.TEXTS} - {object}
    assert len(written) == len(sentences.write.registry) - 1 + len(sentences.TEXTS), (
        "a finding is written twice"
    )
    answers = _kinds(ConclusionFinding)
    silent = answers - written
    assert _kinds(Finding) - silent == written, (
        "a finding without a sentence, or a sentence without a finding"
    )
    of_models = {of.OneModelOnly, of.OneModelMeasured, of.ModelsUnpaired, of.BestModel,
        of.ModelsTied,
                 of.TooFewForBest, of.ModelsWithinChance}  # fmt: skip
    shown = _kinds(of.ScoredFinding) | of_models | {of.OneOfTrials}
    assert silent == shown - {of.AgentBroke}, (
        "an answer that says neither what came out nor why nothing did"
    )
    assert {type(found) for found, _ in SURE} == answers, (
        "an answer that does not say how sure it is"
    )
    sure_written = {*sentences.write_sure.registry, *sentences.SURE} - {object}
    assert sure_written == answers
    assert {type(found) for found, _ in EXAMPLES} == written, "a sentence without an example"
    assert {type(found) for found, *_ in STEPS} == set(get_args(NextFinding)), (
        "a next step without an example"
    )


@pytest.mark.parametrize(("finding", "words"), CAUSES)
def test_a_cause_that_no_turn_says_is_the_answers_reason(
    finding: ConclusionFinding, words: str
) -> None:
    assert sentences.cause(finding) == words


@pytest.mark.parametrize("module", [sentences, next_steps])
def test_every_part_of_every_sentence_is_written_by_an_example(module: ModuleType) -> None:
    """Each line of the writers runs: a branch that no example takes could say anything."""
    tree, ran = _tree(module), _lines_run(module)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    statements = {
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Return | ast.Assign | ast.AugAssign)
    }
    assert sorted(statements - ran) == []


def test_every_type_of_data_belongs_to_a_finding() -> None:
    """A dataclass that is no finding, and in no field of one, is one that was forgotten."""
    pending: list[Any] = [*_kinds(Finding), of.Step]
    used: set[type] = set()
    names = {
        **vars(of),
        "Interval": Interval,
        "Difference": Difference,
        "Counted": Counted,
        "Needed": Needed,
        "KeptBy": KeptBy,
        "Decision": Decision,
    }
    while pending:
        one = pending.pop()
        pending += get_args(one)
        if isinstance(one, type) and is_dataclass(one) and one not in used:
            used.add(one)
            pending += get_type_hints(one, names).values() if one.__module__ == of.__name__ else ()
    known = {one for one in vars(of).values() if isinstance(one, type) and is_dataclass(one)}
    assert {one for one in known - used if not one.__subclasses__()} == set()


def test_findings_hold_no_words_and_sentences_no_rules() -> None:
    package = Path(of.__file__ or "").parents[1]
    for file in ("report/findings.py", "report/answer.py", "tui/live/captions_view.py"):
        tree = ast.parse((package / file).read_text(encoding="utf-8"))
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        assert texts == [], f"{file} writes words at line {texts[0].lineno}; sentences.py does"
    imported = {
        name.name
        for node in _tree(sentences).body
        if isinstance(node, ast.ImportFrom) and "statistics" in str(node.module)
        for name in node.names
    }
    assert imported == {"FEWEST"}, "a number to name, and nothing that works one out"


def _kinds(above: type) -> set[type]:
    """Return every class below one that has none below itself."""
    below = above.__subclasses__()
    return set[type]().union(*map(_kinds, below)) if below else {above}


def _tree(module: ModuleType) -> ast.Module:
    assert module.__file__
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


def _lines_run(module: ModuleType) -> set[int]:
    """Return the lines of a module that the examples execute."""
    ran: set[int] = set()

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            ran.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for found, _ in EXAMPLES:
            sentence(found)
        for found, _ in SURE:
            sure(found)
            sure(found, rehearsal=True)
            sure(found, rehearsal=True, judged_by_rules=False)
            sure(found, notes=(of.TrialsAdded(1),))
        for found, _ in CAUSES:
            sentences.cause(found)
        for step, *_ in STEPS:
            next_step(step)
        for step, *_ in DO:
            sentences.steps_words([sentences.step(step)])
        for write, estimated, _ in ESTIMATES:
            write(estimated)
    finally:
        sys.settrace(before)
    return ran
