"""Who is to blame for a missing score, and what counts against an agent: each rule at its
threshold, and two at once.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.evaluation.conversation.blame import (
    Blame,
    _received_instead,
    _ways_out,
    blame_for_score,
)
from bioeval_tui.evaluation.conversation.scoring import (
    Held,
    combine_verdicts,
    judge_transcript,
    missing_verdicts,
    score_fields,
    usable_verdicts,
    verdicts_problem,
)
from bioeval_tui.evaluation.conversation.turns import Dialogue
from bioeval_tui.peers.seams import ListedFaults
from bioeval_tui.peers.transcript import SpokenTranscript
from bioeval_tui.protocols import (
    CheckResult,
    Evidence,
    JudgeView,
    PeerError,
    TaskVerdict,
    TranscriptMessage,
    Verdict,
)
from bioeval_tui.record.events import EXCUSED, EndReason, Fault, TaskScored
from tests.unit.evaluation.conversation.fakes import FakeAgent, FakeEvaluator, FakeJudge, Stage, job

FAULTS: tuple[Fault, ...] = (
    "agent",
    "evaluator",
    "judge",
    "infrastructure",
    "unclear",
    "program",
    "none",
)
UNASKED = (TaskScored(task=1, title="t", score=0.0, asked=0, kept_by="user"),)
ASKED = (TaskScored(task=1, title="t", score=0.0, asked=1),)


@pytest.mark.parametrize(
    ("faults", "judged", "who"),
    [
        ([], None, "infrastructure"), ([], ASKED, "infrastructure"), ([], UNASKED, "evaluator"),
        (["none"], None, "none"),
        (["none", "none"], ASKED, "none"), (["none"], UNASKED, "evaluator"),
        (["none", "judge"], None, "judge"),
        (["judge", "infrastructure"], None, "judge"),
        (["infrastructure", "judge"], None, "infrastructure"),
        (["judge", "agent"], None, "agent"),
        (["infrastructure", "none", "unclear", "agent"], None, "unclear"),
        (["judge"], UNASKED, "evaluator"), (["judge", "program"], UNASKED, "program"),
        (["agent"], UNASKED, "agent"),
        (["evaluator"], ASKED, "evaluator"),
    ],
)  # fmt: skip
def test_what_is_not_excused_comes_first_then_an_unasked_task_then_the_first_fault(
    faults: list[Fault], judged: tuple[TaskScored, ...] | None, who: str
) -> None:
    assert blame_for_score(faults, judged) == who


@given(st.lists(st.sampled_from(FAULTS)), st.sampled_from([None, ASKED, UNASKED]))
def test_no_excuse_covers_what_an_agent_may_have_caused(faults: list[Fault], judged: Any) -> None:
    found = blame_for_score(faults, judged)
    assert (found not in EXCUSED and found != "none") == bool({*faults} - EXCUSED - {"none"})
    assert blame_for_score([*faults, "agent"], judged) not in EXCUSED


def fields(
    checks: dict[int, CheckResult],
    tasks: Any = ASKED,
    judge_fault: Fault = "none",
    weights: tuple[float, ...] = (1.0, 1.0),
) -> dict[str, Any]:
    assertions = [
        {"expression": "true", "name": f"a{n}", "weight": weight}
        for n, weight in enumerate(weights)
    ]
    said = SpokenTranscript(job(assertions=assertions), "withheld", 1, None)
    said.messages = [
        TranscriptMessage(1, "user", "Hello"),
        TranscriptMessage(2, "assistant", "Hi", 2000.0),
    ]
    return score_fields(said, tasks, "no verdict" if tasks is None else "", checks, judge_fault)


def missed(fault: Fault = "infrastructure", error: str = "lost") -> CheckResult:
    return CheckResult(None, error=error, fault=fault)


@pytest.mark.parametrize(
    ("checks", "tasks", "judge_fault", "who", "why"),
    [
        ({0: CheckResult(True), 1: CheckResult(False)}, ASKED, "none", "none", ""),
        ({0: missed(), 1: CheckResult(True)}, ASKED, "none", "infrastructure",
            "assertion not measured: lost"),
        ({0: missed("none", "silent"), 1: missed("agent", "gone")}, ASKED, "none", "agent",
            "assertion not measured: gone"),
        ({0: missed("judge", "first"), 1: missed("judge", "second")}, ASKED, "none", "judge",
            "assertion not measured: first"),
        ({0: missed("none", "silent"), 1: missed("none", "still")}, ASKED, "none", "none",
            "assertion not measured: silent"),
        ({0: CheckResult(True)}, None, "judge", "judge", "task not measured: no verdict"),
        ({0: missed("agent")}, None, "judge", "agent",
            "task not measured: no verdict; assertion not measured: lost"),
        ({0: missed("infrastructure")}, None, "judge", "judge",
            "task not measured: no verdict; assertion not measured: lost"),
        ({0: missed("infrastructure")}, UNASKED, "none", "evaluator",
            "task not measured: the user never asked for task 1"),
    ],
)  # fmt: skip
def test_a_missing_score_has_one_who_is_to_blame(
    checks: dict[int, CheckResult], tasks: Any, judge_fault: Fault, who: str, why: str
) -> None:
    found = fields(checks, tasks, judge_fault)
    assert found["fault"] == who
    assert str(found["reason"]).startswith(why)
    assert (found["score"] is None) == bool(why)


def test_an_assertion_without_weight_is_to_blame_for_nothing() -> None:
    found = fields({0: missed("agent"), 1: CheckResult(True)}, weights=(0.0, 1.0))
    assert (found["score"], found["fault"]) == (0.64, "none")  # (0.5 + 2 · 0 + 4 · 1) / 7
    alone = fields({0: missed("agent")}, weights=(0.0, 0.0))
    assert (alone["score"], alone["fault"]) == (0.17, "none")  # 0.5 / 3
    assert fields({1: missed("judge"), 0: missed("agent")}, weights=(0.0, 1.0))["fault"] == "judge"
    assert alone["average_latency_ms"] == 2000.0


# Whether a task was asked for


U, A = "user", "assistant"
BYE = "Goodbye!"


def view(*said: str, turns: int = 12, **changes: Any) -> JudgeView:
    """Return what a judge sees of a conversation, whose messages take turns."""
    messages = [
        TranscriptMessage(n, A if n % 2 == 0 else U, text) for n, text in enumerate(said, start=1)
    ]
    return JudgeView(job(maxTurns=turns, **changes), "withheld", messages)


async def asked(
    seen: JudgeView, named: list[int | None], ended: EndReason = "signed_off", **held: Any
) -> TaskScored:
    """Return the task's score by a panel whose members name these messages."""

    class Panel(FakeJudge):
        async def score(self, view: JudgeView) -> list[Verdict]:
            return [Verdict("j", (TaskVerdict(1, 0.5, asked=one),)) for one in named]

    found = await judge_transcript(
        Panel(), seen, 5.0, Held(**{"job": seen.job, "ended": ended} | held)
    )
    assert found.tasks is not None
    return found.tasks[0]


TALK = ("Hello", "Hi", "Remind me", "Done", "Thanks", "Sure")


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ([3], 3), ([0], 0), ([None], None), ([2], None), ([99], None), ([None, 3], 3), ([2, 0], 0),
        ([3, 0], 3),  # split evenly, it was
        # of as many, the first message
        ([3, 0, 0], 0), ([3, 5, 0, 0], 3), ([3, 5, 0, 0, 0], 0), ([5, 3], 3),
        ([3, 5, 5], 5), ([3, 3, 5], 3), ([1, 3, 3, 0, 0], 3), ([0, 0, None], 0),
    ],
)  # fmt: skip
async def test_most_verdicts_say_whether_a_task_was_asked_for_and_then_where(
    named: list[int | None], message: int | None
) -> None:
    task = await asked(view(*TALK), named)
    assert task.asked == message
    words = "" if not message else TALK[message - 1]
    assert task.asked_words == words
    assert task.kept_by == ("user" if message == 0 else None)


@pytest.mark.parametrize(
    ("ended", "said", "turns", "kept_by"),
    [
        ("agent_failed", TALK, 12, "agent"), ("timed_out", TALK, 12, "agent"),
        ("max_turns", TALK, 12, "turns"),
        ("max_turns", (*TALK[:5], BYE), 12, "turns"),
        ("agent_failed", (*TALK[:5], BYE), 6, "agent"),
        ("signed_off", TALK, 8, "user"), ("signed_off", TALK, 6, "turns"),
        ("signed_off", (*TALK[:5], BYE), 12, "agent"), ("signed_off", (*TALK[:5], BYE), 6, "agent"),
        ("signed_off", (*TALK[:4], BYE, BYE), 12, "user"),  # the user said it first
        ("signed_off", ("Hello", BYE, "Thanks", "Sure"), 12, "user"),  # it went on to answer
        ("signed_off", (*TALK[:5], BYE, BYE), 12, "agent"),  # a user who is polite says it, too
        ("signed_off", (*TALK[:3], BYE, BYE, BYE), 12, "agent"),  # and the agent again
        ("signed_off", (*TALK[:3], BYE, "Thanks", BYE), 12, "agent"),
        ("signed_off", (*TALK[:3], BYE, BYE, "Sure"), 12, "agent"),
        ("signed_off", (*TALK[:2], BYE, *TALK[3:5], BYE), 12, "agent"),  # they went on after it
        ("signed_off", (*TALK[:5], "This chat has been closed."), 12, "agent"),
        ("signed_off", (*TALK[:5], "So Long, and Thanks for All the Fish"), 12, "agent"),
        ("signed_off", ("Hello",), 12, "user"), ("unknown", TALK, 12, "user"),
    ],
)  # fmt: skip
async def test_what_kept_the_user_from_asking(
    ended: EndReason, said: tuple[str, ...], turns: int, kept_by: str
) -> None:
    assert (await asked(view(*said, turns=turns), [0], ended)).kept_by == kept_by


async def test_a_published_job_scores_a_task_that_was_never_asked_for() -> None:
    assert (await asked(view(*TALK, compat="embabel"), [0])).kept_by is None
    assert (await asked(view(*TALK, turns=6, compat="embabel"), [0])).kept_by == "turns"


async def test_a_log_of_another_program_has_no_limit_and_no_script_of_ours() -> None:
    lines = {"evaluator": {"kind": "scripted", "lines": [{"say": "Remind me", "task": 1}]}}
    assert (await asked(view(*TALK, turns=6), [0], job=None)).kept_by == "user"
    assert (await asked(view(*TALK, **lines), [0], job=None)).asked == 0
    assert (await asked(view(*TALK, **lines), [0])).asked == 3, (
        "the script knows better than a judge"
    )


@pytest.mark.parametrize(
    ("say", "message"),
    [("Remind me", 3), ("  Remind\n me ", 3), ("remind me", 0), ("Thanks", 5), ("Hello", 1)],
)
async def test_a_script_asks_where_it_says_its_line(say: str, message: int) -> None:
    lines = {
        "evaluator": {"kind": "scripted", "lines": [{"say": say, "task": 1}, {"say": "Other"}]}
    }
    assert (await asked(view(*TALK, **lines), [5])).asked == message
    untold = {"evaluator": {"kind": "scripted", "lines": [{"say": "Other"}]}}
    assert (await asked(view(*TALK, **untold), [5])).asked == 5, "no line of it asks for the task"


async def test_a_person_who_took_over_says_what_no_script_does() -> None:
    lines = {"evaluator": {"kind": "scripted", "lines": [{"say": "Remind me", "task": 1}]}}
    seen = view(*TALK, **lines)
    seen.transcript[4] = TranscriptMessage(5, U, "Thanks", operator=True)  # type: ignore[index]
    assert (await asked(seen, [5])).asked == 5


async def test_an_earlier_conversation_may_have_asked() -> None:
    seeds = [{"conversation": [{"role": "user", "content": "Remind me"}]}]
    assert (await asked(view(*TALK, seeds=seeds), [0])).asked is None
    assert (await asked(view(*TALK, seeds=seeds), [3])).asked == 3
    assert (await asked(view(*TALK, seeds=[{"text": "x"}]), [0])).asked == 0


class Listing(FakeJudge):
    """A judge that lists the user's faults, in a request of its own."""

    more: tuple[int | None, int | None] = (5, 3)

    async def score(self, view: JudgeView) -> list[Verdict]:
        return [Verdict("j", (TaskVerdict(1, 0.5),), tokens_in=10)]

    async def user_faults(self, view: JudgeView) -> ListedFaults:
        return ListedFaults(refused=2, tokens_in=self.more[0], tokens_out=self.more[1])


@pytest.mark.parametrize(
    ("changes", "more", "tokens", "refused"),
    [
        ({"scorer": {"userFaults": True}}, (5, 3), (15, 3), 2),
        ({"scorer": {"userFaults": True}}, (None, None), (10, None), 2),
        ({"scorer": {"userFaults": False}}, (5, 3), (10, None), 0), ({}, (5, 3), (10, None), 0),
        ({"scorer": {"userFaults": True},
                "evaluator": {"kind": "scripted", "lines": [{"say": "x"}]}}, (5, 3), (10, None), 0),
    ],
)  # fmt: skip
async def test_the_tokens_of_a_list_of_faults_are_added_if_it_is_asked_for(
    changes: dict[str, Any],
    more: tuple[int | None, int | None],
    tokens: tuple[int | None, int | None],
    refused: int,
) -> None:
    judge = Listing()
    judge.more = more
    found = await judge_transcript(judge, view(*TALK, **changes), 5.0)
    assert (found.fields["tokens_in"], found.fields["tokens_out"]) == tokens
    assert found.fields["user_faults_refused"] == refused


# What several verdicts say together


def verdict(*scores: float, **more: Any) -> Verdict:
    return Verdict(
        "j",
        tuple(TaskVerdict(n, score, f"because {score}") for n, score in enumerate(scores, 1)),
        **more,
    )


@pytest.mark.parametrize(
    ("scores", "middle", "reason", "spread"),
    [
        ([0.4], 0.4, "because 0.4", 0.0), ([0.1, 0.3], 0.2, "because 0.1", 0.2),
        ([0.9, 0.1, 0.3], 0.3, "because 0.3", 0.8),
        ([0.3, 0.1], 0.2, "because 0.3", 0.2), ([1.0, 0.0, 0.5, 0.6], 0.55, "because 0.5", 1.0),
    ],
)  # fmt: skip
def test_the_median_counts_with_the_nearest_reason(
    scores: list[float], middle: float, reason: str, spread: float
) -> None:
    (found,) = combine_verdicts(job(), [verdict(score) for score in scores], [])
    assert (found.score, found.reason, found.spread) == (pytest.approx(middle), reason, spread)


@pytest.mark.parametrize(("score", "passed"), [(0.59, False), (0.6, False), (0.61, True)])
def test_a_task_is_passed_above_its_threshold(score: float, passed: bool) -> None:
    (found,) = combine_verdicts(job(tasks=[{"task": "t", "passAbove": 0.6}]), [verdict(score)], [])
    assert found.passed == passed


@pytest.mark.parametrize(
    ("points", "score", "passed", "earned"),
    [(5, 0.5, False, 0), (5, 0.51, True, 5), (-5, 0.5, True, 0), (-5, 0.51, False, -5)],
)
def test_an_item_of_a_rubric_is_met_above_a_half_and_one_below_0_is_passed_if_it_is_not(
    points: float, score: float, passed: bool, earned: float
) -> None:
    rubric = [{"criterion": "It greets", "points": points}, {"criterion": "It helps", "points": 3}]
    first, second = combine_verdicts(job(tasks=[], rubric=rubric), [verdict(score, 1.0)], [])
    assert (first.passed, first.earned, first.points) == (passed, earned, points)
    assert (second.passed, second.points) == (True, 3)


@pytest.mark.parametrize(
    ("verdicts", "problem"),
    [
        ([], "the judge gave no verdict"), ([verdict(0.0)], None), ([verdict(1.0)], None),
        ([verdict(1.000001)], "a score is not between 0 and 1"),
        ([verdict(-0.000001)], "a score is not between 0 and 1"),
        ([verdict(0.5), verdict(1.1)], "a score is not between 0 and 1"),
        ([verdict(float("nan"))], "a score is not between 0 and 1"),
        ([verdict()], "the judge scored tasks [], the job has [1]"),
        ([verdict(0.5, 0.5)], "the judge scored tasks [1, 2], the job has [1]"),
        ([Verdict("j", (TaskVerdict(1, 0.5), TaskVerdict(1, 0.5)))],
            "the judge scored tasks [1, 1], the job has [1]"),
    ],
)  # fmt: skip
def test_a_verdict_scores_every_task_once_from_0_to_1(
    verdicts: list[Verdict], problem: str | None
) -> None:
    assert verdicts_problem(job(), verdicts, "withheld") == problem


def test_members_of_a_panel_without_a_verdict_do_not_count() -> None:
    panel = [verdict(0.5), Verdict("j", (), error="away")]
    assert usable_verdicts(panel) == panel[:1]
    assert missing_verdicts(panel) == [
        "one of the 2 verdicts is missing, so the median is of the others: away"
    ]


@pytest.mark.parametrize(
    ("message", "quote", "found"),
    [
        (4, "Done", 4),
        (2, "Done", 4),
        (2, "Hi", 2),
        (None, "Hi", 2),
        (4, "Nowhere", None),
        (6, "too", 6),
        (None, "Hello", 6),
        (1, "Hello", 1),
    ],
)
def test_a_quotation_is_found_where_the_judge_says_or_else_first(
    message: int | None, quote: str, found: int | None
) -> None:
    said = [
        TranscriptMessage(n, A if n % 2 == 0 else U, text)
        for n, text in enumerate((*TALK[:5], "So Hello too"), 1)
    ]
    given = Verdict("j", (TaskVerdict(1, 0.5, evidence=(Evidence(quote, message),)),))
    (task,) = combine_verdicts(job(), [given], said)
    assert [each.message for each in task.evidence] == [found]


# What a failed request means


def dialogue(*, shared: int = 1, answers: int = 1) -> Dialogue:
    """Return a dialogue with this many answers so far, while so many conversations share the
    agent.
    """
    one = Dialogue.__new__(Dialogue)
    one.blame = Blame("rest", shared)
    one.parts = type("P", (), {"watchdog": type("W", (), {"suspension": lambda self, at: 0.0})()})()
    one.transcript = SpokenTranscript(job(), "withheld", 1, None)
    one.transcript.messages = [
        TranscriptMessage(n, A if n % 2 == 0 else U, "x") for n in range(1, 2 * answers + 2)
    ]
    one._asked_at = 0.0
    return one


def failed(peer: Any = "agent", **more: Any) -> PeerError:
    return PeerError(peer, "it failed", **more)


@pytest.mark.parametrize(
    ("error", "shared", "reason", "fault", "counted", "waits"),
    [
        (failed(), 1, "agent_failed", "agent", True, False),
        (failed(status=401), 1, "agent_failed", "agent", True, False),
        (failed(unusable=True), 1, "agent_failed", "agent", True, False),
        (failed(status=429), 1, "agent_failed", "agent", True, False),
        (failed(status=429), 2, "cancelled", "unclear", False, True),
        (failed(status=428), 2, "agent_failed", "agent", True, False),
        (failed(crowded=True), 1, "cancelled", "unclear", False, False),
        (failed(crowded=True), 2, "cancelled", "unclear", False, True),
        (failed(exhausted=True), 1, "cancelled", "infrastructure", False, True),
        (failed(exhausted=True, status=429), 2, "cancelled", "infrastructure", False, True),
        (failed(disagrees=True), 1, "cancelled", "unclear", False, False),
        (failed(broken=True), 1, "agent_failed", "agent", True, False),
        (failed("evaluator"), 1, "evaluator_failed", "infrastructure", False, False),
        (failed("evaluator", status=429), 2, "evaluator_failed", "infrastructure", False, False),
        (failed("evaluator", crowded=True), 2, "evaluator_failed", "infrastructure", False, False),
        (failed("evaluator", exhausted=True), 1, "evaluator_failed", "infrastructure", False,
            False),
        (failed("evaluator", disagrees=True), 1, "evaluator_failed", "infrastructure", False,
            False),
        (failed("evaluator", unusable=True), 1, "evaluator_failed", "evaluator", False, False),
        (failed("evaluator", over_content=True), 1, "evaluator_failed", "unclear", False, False),
    ],
)  # fmt: skip
def test_only_what_the_agent_did_by_itself_counts_against_it(
    error: PeerError, shared: int, reason: str, fault: str, counted: bool, waits: bool
) -> None:
    one = dialogue(shared=shared)
    outcome = one.ended_by(error)
    assert (outcome.reason, outcome.fault) == (reason, fault)
    assert outcome.broken_at == (3 if error.broken else 0)
    assert one._counts_against_agent(error) == counted
    assert one.transcript.failures == counted
    assert one.blame.deserves_patience(error) == waits


@pytest.mark.parametrize(
    ("peer", "answers", "never_held"),
    [("agent", 0, True), ("agent", 1, False), ("evaluator", 0, False)],
)
def test_a_conversation_without_an_answer_was_never_held(
    peer: str, answers: int, never_held: bool
) -> None:
    outcome = dialogue(answers=answers).ended_by(failed(peer))
    assert outcome.never_held == never_held
    assert bool(outcome.ways) == never_held


@pytest.mark.parametrize(
    ("error", "protocol", "says"),
    [
        (failed(status=401), "rest", "set BIOEVAL_AGENT_API_KEY"),
        (failed(status=403), "rest", "set BIOEVAL_AGENT_API_KEY"),
        (failed(status=402), "rest", "look at the agent's log"),
        (failed(unreachable=True), "rest", "start the agent"),
        (failed(unreachable=True, status=401), "rest", "set BIOEVAL_AGENT_API_KEY"),
        (failed(status=404), "rest", "give the agent's address with --agent-url"),
        (failed(status=501), "rest", "give the agent's address"),
        (failed(status=500), "rest", "look at the agent's log"),
        (failed(status=499, received=" <p>"), "rest", "give the agent's address"),
        (failed(status=500, received="<p>"), "rest", "look at the agent's log"),
        (failed(received="<p>"), "rest", "give the agent's address"),
        (failed(status=501, received="<p>"), "rest", "give the agent's address"),
        (failed(unusable=True), "rest", "give the agent's address"),
        (failed(unusable=True), "openai", "look at the agent's log"),
        (failed(), "rest", "look at the agent's log"),
        (failed(status=404, received="<!doctype html><p>"), "rest",
            "no agent seems to answer there: give"),
    ],
)  # fmt: skip
def test_who_reads_only_this_learns_what_to_do(error: PeerError, protocol: str, says: str) -> None:
    ways = _ways_out(error, protocol)
    assert ways[0].startswith(says), ways
    if "address" in ways[0] and "start" not in ways[0]:
        assert (", without /api/v1" in ways[0]) == (protocol == "rest")
        assert "protocol rest" in ways[1]
        assert "speaks rest" not in ways[1]


@pytest.mark.parametrize(
    ("received", "said"),
    [("", ""), ("it failed", ""), ("failed", ""), ("something else", "something else"),
        ("<!doctype html><title>Nginx</title>", "the page “Nginx”"),
     ("<!doctype html><p>", "HTML")],
)  # fmt: skip
def test_what_came_instead_is_said_unless_the_error_says_it(received: str, said: str) -> None:
    assert _received_instead(failed(received=received)) == said


@pytest.mark.parametrize(
    ("said", "most", "nothing", "reason"),
    [(1, 12, True, "evaluator_failed"), (1, 12, False, "signed_off"),
        (2, 12, True, "evaluator_failed"), (9, 4, True, "max_turns"),
     (9, 6, True, "evaluator_failed"), (9, 6, False, "max_turns")],
)  # fmt: skip
async def test_a_user_who_had_turns_and_brought_up_nothing_failed(
    said: int, most: int, nothing: bool, reason: str
) -> None:
    stage = Stage(
        job(maxTurns=most),
        evaluators={"withheld": FakeEvaluator(["more" if nothing else "a reminder"] * said)},
        agents={"withheld": FakeAgent()},
        parts={"guard": lambda view, message: []},
    )
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert talk.ended.reason == reason


@pytest.mark.parametrize("condition", ["withheld", "supplied"])
@pytest.mark.parametrize(
    ("says", "user"),
    [
        (["This chat is now closed. Goodbye!"], []),
        (["This chat is now closed. Goodbye!"], ["Goodbye. SIGNOFF"]),
        (["Hello", "Goodbye!"], ["more"]),
        (["Goodbye!"] * 3, ["Goodbye!"] * 2),
    ],
    ids=["to the greeting", "twice", "later", "until no turn is left"],
)
async def test_a_user_on_whom_the_agent_hung_up_did_not_fail(
    condition: str, says: list[str], user: list[str]
) -> None:
    described = job(maxTurns=6)
    lines = [line.replace("SIGNOFF", described.evaluator.signoff) for line in user]
    stage = Stage(
        described,
        evaluators={condition: FakeEvaluator(lines)},
        agents={condition: FakeAgent([*says])},
        parts={"guard": lambda view, message: []},
    )
    talk = (await stage.run(conditions=(condition,))).conversation(condition)
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) in (("signed_off", "none"), ("max_turns", "none"))
