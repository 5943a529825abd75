"""What a user relies on when a job is run: order, withholding, scores, faults, clean starts,
control.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.evaluation.assertions import Checker
from bioeval_tui.evaluation.conversation import run_job, turns
from bioeval_tui.evaluation.conversation.control import ConversationControl
from bioeval_tui.evaluation.conversation.plan import RunLimits
from bioeval_tui.evaluation.conversation.resume import Earlier
from bioeval_tui.peers.spending import request
from bioeval_tui.protocols import (
    CheckResult,
    Delta,
    EvaluatorView,
    Evidence,
    Generation,
    JudgeView,
    PeerError,
    Reply,
    TaskVerdict,
    Utterance,
    Verdict,
    Violation,
)
from bioeval_tui.record.events import Fault, MessageCompleted, StateObserved, write_event
from bioeval_tui.report.costs import spent
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.result import result_of
from bioeval_tui.report.sentences import counted_words
from bioeval_tui.tui.live import score_card_view
from bioeval_tui.tui.live.score_card_view import why_empty
from tests.documents import document_of
from tests.unit.evaluation.conversation.fakes import (
    SIGNOFF,
    WITHOUT_WAITS,
    FakeAgent,
    FakeEvaluator,
    FakeGraph,
    FakeJudge,
    Stage,
    job,
    known_verdicts,
)
from tests.unit.report.recorded import shown

ASSERTION = {"expression": "true", "name": "holds"}


def broken(status: int = 503, *, retryable: bool = True) -> PeerError:
    return PeerError("agent", f"answered {status}", retryable=retryable, status=status)


async def test_both_conditions_are_run_and_the_mean_is_the_published_one() -> None:
    stage = Stage(job(), judge=FakeJudge(0.5))
    state = await stage.run()
    assert [c.key.condition for c in state.conversations.values()] == ["withheld", "supplied"]
    # timing 1 (weight 1), task 0.5 (weight 2), no assertions: (1 + 1) / 3
    assert state.scores() == {"withheld": 0.67, "supplied": 0.67}
    assert state.ended is not None
    assert state.ended.mean == 0.67
    assert state.ended.status == "completed"


async def test_facts_reach_the_evaluator_only_where_they_are_supplied() -> None:
    stage = Stage(job())
    await stage.run()
    assert [view.facts for view in stage.evaluators["withheld"].views] == [()]
    assert [view.facts for view in stage.evaluators["supplied"].views] == [("I live in Sydney",)]
    assert [view.job.facts for view in stage.judge.views] == [("I live in Sydney",)] * 2


async def test_the_greeting_is_the_same_in_both_conditions_and_sent_first() -> None:
    stage = Stage(job(greetings=["Hello", "Hi", "Yo", "Hey"]))
    await stage.run()
    assert stage.agents["withheld"].received == stage.agents["supplied"].received
    assert len(stage.agents["withheld"].received) == 1


async def test_the_sign_off_is_never_sent_but_text_beside_it_is() -> None:
    stage = Stage(job(), evaluators={"withheld": FakeEvaluator([f"Thank you. {SIGNOFF.upper()}"])})
    state = await stage.run()
    assert stage.agents["withheld"].received == ["Hello", "Thank you."]
    assert stage.agents["supplied"].received == ["Hello"]
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert talk.ended.reason == "signed_off"
    assert [message.role for message in talk.messages] == ["user", "assistant", "user", "assistant"]


async def test_max_turns_limits_the_messages() -> None:
    chatty = {name: FakeEvaluator(["more"] * 50) for name in ("withheld", "supplied")}
    state = await Stage(job(maxTurns=6), evaluators=chatty).run()
    for talk in state.conversations.values():
        assert len(talk.messages) == 6
        assert talk.ended is not None
        assert (talk.ended.reason, talk.ended.fault) == (
            "max_turns",
            "none",
        ), "an agent stalls, a user rambles"
        assert talk.score is not None
        assert talk.score.score is not None, "running out of messages is a result"


@pytest.mark.parametrize(
    ("most", "reason", "fault"), [(4, "max_turns", "none"), (6, "evaluator_failed", "evaluator")]
)
async def test_a_user_of_three_messages_could_have_brought_up_a_task(
    most: int, reason: str, fault: Fault
) -> None:
    rambles = {"withheld": FakeEvaluator(["more"] * 50)}
    parts = {"guard": lambda view, message: []}
    state = await Stage(job(maxTurns=most), evaluators=rambles, parts=parts).run(
        conditions=("withheld",)
    )
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == (reason, fault)


@pytest.mark.parametrize(("limit_s", "answered"), [(29.0, 4), (30.0, 5), (31.0, 5)])
async def test_a_conversation_may_take_an_agent_so_long_in_all_its_answers(
    monkeypatch: pytest.MonkeyPatch, limit_s: float, answered: int
) -> None:
    """Each answer takes 10 s, of which the one to the greeting does not count, as what the user
    takes.
    """
    now = 0.0

    class Slow(FakeAgent):
        def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
            nonlocal now
            now += 10.0
            return super().send(content)

    class Slower(FakeEvaluator):
        def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
            nonlocal now
            now += 1000.0
            return super().speak(view)

    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: now))
    stage = Stage(
        job(maxTurns=50),
        agents={"withheld": Slow()},
        evaluators={"withheld": Slower(["more"] * 50)},
        options={"limits": RunLimits(conversation_s=limit_s)},
    )
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == ("timed_out", "agent")
    assert talk.ended.detail == f"longer than {limit_s:g} s"
    assert len(talk.messages) == 2 * answered


async def test_a_conversation_lasts_without_all_its_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each of four messages it pauses for 100 s; each of three answers takes 10 s."""
    now = 0.0

    class Slow(FakeAgent):
        def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
            nonlocal now
            now += 10.0
            return super().send(content)

    async def pause(control: ConversationControl) -> None:
        nonlocal now
        now += 100.0

    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(turns, "time", clock)
    monkeypatch.setattr(run_job, "time", clock)
    monkeypatch.setattr(ConversationControl, "gate", pause)
    stage = Stage(
        job(), agents={"withheld": Slow()}, evaluators={"withheld": FakeEvaluator(["more"] * 2)}
    )
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (len(talk.messages), talk.ended.duration_ms) == (7, 30_000.0)


async def test_an_odd_max_turns_lets_the_agent_answer_the_last_message_as_published() -> None:
    evaluator = FakeEvaluator(["Remind me", "more"])
    stage = Stage(job(maxTurns=3), evaluators={"withheld": evaluator})
    talk = (await stage.run()).conversation("withheld")
    assert talk is not None
    assert stage.agents["withheld"].received == ["Hello", "Remind me"]
    assert [message.role for message in stage.judge.views[0].transcript] == [
        "user",
        "assistant",
    ] * 2
    assert talk.max_messages == 4
    assert talk.ended is not None
    assert talk.ended.reason == "max_turns"


async def test_a_failed_answer_is_retried_and_counts_as_one_failure() -> None:
    agent = FakeAgent(["hi", broken(), "done"])
    stage = Stage(
        job(), agents={"withheld": agent}, evaluators={"withheld": FakeEvaluator(["do it"])}
    )
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert agent.received == ["Hello", "do it", "do it"]
    assert talk.messages[3].text == "done", "what the failed attempt had streamed is gone"
    assert [failure.counted for failure in talk.messages[3].failures] == [True]
    assert talk.latencies_ms == [
        pytest.approx(250),
        pytest.approx(250),
    ], "latency is the successful attempt's"
    # (1 + 2) / 3 − 0.3
    assert talk.score is not None
    assert talk.score.score == 0.7


async def test_four_failed_attempts_end_the_conversation_as_the_agents_fault_with_a_score() -> None:
    agent = FakeAgent(["hi", *[broken() for _ in range(4)]])
    state = await Stage(
        job(), agents={"withheld": agent}, evaluators={"withheld": FakeEvaluator(["do it"])}
    ).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == ("agent_failed", "agent")
    assert len(talk.request_failures) == 4
    assert talk.score is not None
    assert talk.score.penalty == 0.5
    assert talk.score.score == 0.5
    other = state.conversation("supplied")
    assert other is not None
    assert other.score is not None
    assert other.score.score == 1.0, "one failing conversation never ends the rest"


async def test_a_judge_that_is_down_ends_the_run_early_and_opens_no_further_sessions() -> None:
    stage = Stage(job(), judge=FakeJudge(PeerError("judge", "judge.example answered 500")))
    state = await stage.run(trials=10)
    assert len(state.conversations) == 3
    assert state.ended is not None
    assert state.ended.status == "cancelled"
    assert state.ended.detail.startswith(
        "3 conversations in a row could not be measured, the last one: "
    )
    assert "judge.example answered 500" in state.ended.detail


@pytest.mark.parametrize("only", [None, "supplied"])
async def test_conversations_without_a_verdict_do_not_hide_that_the_judge_is_down(
    only: str | None,
) -> None:
    spoilt = [PeerError("evaluator", "the model refused", unusable=True) for _ in range(10)]
    tasks = [{"task": "set a reminder", **({"only": only} if only else {})}]
    stage = Stage(
        job(tasks=tasks, assertions=[{"expression": "1 == 1"}]),
        evaluators={} if only else {"withheld": FakeEvaluator([*spoilt])},
        judge=FakeJudge(PeerError("judge", "judge.example answered 500")),
    )
    state = await stage.run(trials=10)
    assert len(stage.judge.views) == 3
    assert state.ended is not None
    assert state.ended.status == "cancelled"


@pytest.mark.parametrize(
    ("failures", "held"),
    [
        ([PeerError("judge", "answered 500")] + [NotMeasuredError("no JSON")] * 9, 5),
        ([NotMeasuredError("no JSON")] * 2 + [PeerError("judge", "answered 500")] * 8, 3),
    ],
    ids=["the newest by the judge", "the newest by the infrastructure"],
)
async def test_the_newest_failure_decides_how_many_in_a_row_are_enough(
    failures: list[Exception], held: int
) -> None:
    class Failing(FakeJudge):
        async def score(self, view: JudgeView) -> Sequence[Verdict]:
            self.value = failures[len(self.views)]
            return await super().score(view)

    state = await Stage(job(), judge=Failing()).run(trials=5)
    assert len(state.conversations) == held
    assert state.ended is not None
    assert state.ended.detail.startswith(f"{held} conversations in a row could not be measured")


async def test_a_judge_that_answers_now_and_then_does_not_end_the_run() -> None:
    class Moody(FakeJudge):
        async def score(self, view: JudgeView) -> Sequence[Verdict]:
            self.value = PeerError("judge", "answered 500") if len(self.views) % 3 else 1.0
            return await super().score(view)

    state = await Stage(job(), judge=Moody()).run(trials=5)
    assert state.ended is not None
    assert state.ended.status == "completed"


@pytest.mark.parametrize(
    ("why", "ended", "counted"),
    [
        ((), ("agent_failed", "agent"), 1),
        (("disagrees",), ("cancelled", "unclear"), 0),
        (("crowded",), ("cancelled", "unclear"), 0),
        (("exhausted",), ("cancelled", "infrastructure"), 0),
        (("exhausted", "crowded", "disagrees"), ("cancelled", "infrastructure"), 0),
    ],
)
async def test_only_what_the_agent_did_counts_against_it(
    why: tuple[str, ...], ended: tuple[str, str], counted: int
) -> None:
    """A machine without free sockets sent nothing, whatever else the failure looks like."""
    failed = PeerError("agent", "no answer", **dict.fromkeys(why, True))
    stage = Stage(
        job(),
        agents={"withheld": FakeAgent(["hi", failed])},
        evaluators={"withheld": FakeEvaluator(["do it"])},
    )
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == ended
    assert talk.failures == counted


def reset() -> PeerError:
    return PeerError(
        "agent", "bot closed the connection before its answer was complete", broken=True
    )


@pytest.mark.parametrize(
    ("answers", "says", "ended", "is_scored"),
    [
        (["hi", reset(), "hi", "done"], ["do it", "do it"], ("signed_off", "none"), True),
        (["hi", reset(), "hi", reset()], ["do it", "do it"], ("agent_failed", "agent"), True),
        (
            ["hi", reset(), "hi", "well", reset()],
            ["do it", "do it", "do it again"],
            ("cancelled", "unclear"),
            False,
        ),
    ],
    ids=["holds", "breaks at the same message", "breaks at another message"],
)
async def test_a_conversation_whose_connection_broke_is_held_again_once(
    answers: list[Any], says: list[str], ended: tuple[str, str], is_scored: bool
) -> None:
    agent = FakeAgent(answers)
    stage = Stage(job(), agents={"withheld": agent}, evaluators={"withheld": FakeEvaluator(says)})
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == ended
    assert talk.score is not None
    assert (talk.score.score is not None) == is_scored
    assert agent.received[:3] == ["Hello", "do it", "Hello"], "from the start, with the same case"
    assert talk.attempt == 2
    (warned,) = [warning for warning in talk.warnings if warning.code == "held_again"]
    assert warned.message.startswith(
        "the connection to the agent broke at message 3, so it was held again: "
    )
    result = result_of(state)
    assert result is not None
    counted = counted_words(result.summary.conditions[0].score.counted)
    assert counted.endswith(", 1 held again because the connection broke"), (
        "it stands beside the mean"
    )
    if not is_scored:
        assert "broke twice, at message 3, then at message 5" in talk.ended.detail


async def test_an_agent_that_dies_in_the_middle_is_not_said_never_to_have_been_there() -> None:
    refused = PeerError("agent", "bot refused the connection", unreachable=True)
    both = ("withheld", "supplied")
    agents = {name: FakeAgent(["hi", reset(), refused]) for name in both}
    evaluators = {name: FakeEvaluator(["do it"]) for name in both}
    state = await Stage(job(), agents=agents, evaluators=evaluators).run()
    result = result_of(state)
    assert result is not None
    assert result.answer.what.startswith("The agent broke off the conversation and was gone")
    assert result.answer.why == (
        "the connection to the agent broke at message 3, and when it was held again: bot refused"
        " the connection"
    )


async def test_a_connection_that_broke_before_the_first_answer_is_made_once_more_too() -> None:
    agent = FakeAgent([reset(), "hi", "done"])
    state = await Stage(
        job(),
        agents={"withheld": agent},
        evaluators={"withheld": FakeEvaluator(["do it", "Over and out"])},
    ).run(conditions=("withheld",))
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.attempt == 2
    assert talk.score is not None
    assert talk.score.score is not None
    assert agent.received[:2] == ["Hello", "Hello"]


async def test_a_broken_connection_is_not_the_agents_failure_if_a_limit_forbids_a_retry() -> None:
    agent = FakeAgent(["hi", reset()])
    begun: list[str] = []

    def may_begin() -> str | None:
        begun.append("")
        return "the limit is reached" if len(begun) > 1 else None

    parts = {"may_begin": may_begin}
    state = await Stage(
        job(),
        agents={"withheld": agent},
        evaluators={"withheld": FakeEvaluator(["do it"])},
        parts=parts,
    ).run(conditions=("withheld",))
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert talk.score is not None
    assert (talk.ended.reason, talk.ended.fault, talk.score.score) == ("cancelled", "none", None)
    assert talk.ended.detail.endswith("; not held again: the limit is reached")
    assert talk.score.reason == f"cancelled: {talk.ended.detail}"
    assert talk.score.cancelled, "so that a resumed run holds it"


async def test_other_4xx_statuses_are_not_retried() -> None:
    agent = FakeAgent(["hi", broken(404, retryable=False)])
    state = await Stage(
        job(), agents={"withheld": agent}, evaluators={"withheld": FakeEvaluator(["x"])}
    ).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert agent.received == ["Hello", "x"]
    assert len(talk.request_failures) == 1


async def test_an_invalid_answer_is_shown_shortened_and_cleaned() -> None:
    page = "<html><title>Sign in\x1b[2J</title>" + "x" * 10_000
    html = PeerError("agent", "answered HTML where JSON was expected", received=page)
    stage = Stage(
        job(),
        agents={"withheld": FakeAgent(["hi", html])},
        evaluators={"withheld": FakeEvaluator(["x"])},
    )
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert talk.ended.reason == "agent_failed"
    assert talk.ended.detail == "answered HTML where JSON was expected"
    assert talk.ended.received == "the page “Sign in␛”"
    assert (
        talk.ended.explained
        == "answered HTML where JSON was expected; it sent: the page “Sign in␛”"
    )
    (failed,) = talk.request_failures
    assert failed.received is not None
    assert failed.received.startswith("<html><title>Sign in␛</title>xxx")
    assert len(failed.received) < 600


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (broken(500), "answered 500; look at the agent's log"),
        (broken(401, retryable=False), "set BIOEVAL_AGENT_API_KEY"),
        (broken(404, retryable=False), "give the agent's address with --agent-url"),
        (
            broken(404, retryable=False),
            "with the protocol rest: if it speaks openai, a2a or ag-ui, say so",
        ),
    ],
)
@pytest.mark.parametrize("where", ["session", "first answer"])
async def test_a_conversation_that_never_took_place_has_no_score(
    error: PeerError, says: str, where: str
) -> None:
    class Closed(FakeAgent):
        async def open(self) -> str:
            if where == "session":
                raise error
            return await super().open()

    agents = {name: Closed([error] * 4) for name in ("withheld", "supplied")}
    stage = Stage(job(assertions=[ASSERTION]), agents=agents)
    state = await stage.run()
    assert state.scores() == {"withheld": None, "supplied": None}
    assert state.ended is not None
    assert not state.ended.measured
    assert stage.judge.views == []
    talk = state.conversation("supplied")
    assert talk is not None
    assert talk.ended is not None
    assert talk.score is not None
    assert (talk.ended.reason, talk.ended.fault) == ("agent_failed", "agent")
    assert talk.score.reason.startswith("no conversation took place: ")
    assert says in talk.score.reason
    assert [check.status for check in talk.final_checks.values()] == ["not_measured"]


async def test_empty_answers_are_counted_in_a_warning() -> None:
    agents = {"withheld": FakeAgent(["", " ", "hi"]), "supplied": FakeAgent()}
    evaluators = {name: FakeEvaluator(["a", "b"]) for name in agents}
    state = await Stage(job(), agents=agents, evaluators=evaluators).run()
    said = [[warned.message for warned in talk.warnings] for talk in state.conversations.values()]
    assert said == [["the agent answered without a word 2 times"], []]
    assert "the agent answered without a word 2 times" in str(
        run_document(result_of(state))["warnings"]
    )


async def test_nobody_is_to_blame_for_calls_that_the_agent_does_not_report() -> None:
    asked = job(assertions=[{"toolCalls": {"mustCall": [{"name": "look"}], "noErrors": True}}])
    state = await Stage(asked, parts={"check": Checker(None)}).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert (
        talk.score.score,
        talk.fault,
        result_of(state).conversation("withheld", 1).excluded,
    ) == (
        None,
        "none",
        "not measured",
    )
    assert "assertion not measured: the agent reported no results of its calls" in talk.score.reason
    assert [check.fault for check in talk.final_checks.values()] == ["none"]


async def test_the_words_of_an_agents_error_stay_whole() -> None:
    said = "column 7; it sent: nothing; expected end of input"
    agents = {
        name: FakeAgent([PeerError("agent", said, status=500)]) for name in ("withheld", "supplied")
    }
    state = await Stage(job(), agents=agents).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.detail, talk.ended.ways) == (said, ("look at the agent's log",))
    held = shown(state)[0].conversations[0]
    assert (held.ways, held.cause) == (
        ("look at the agent's log",),
        f"no conversation took place: {said}",
    )
    answer = result_of(state).answer
    assert said in str(answer.lines)
    assert answer.next[0].words == "look at the agent's log, then run it again"
    assert why_empty(shown(state)[1], answer) == [], "the answer says all of it"


async def test_self_inflicted_429s_are_not_the_agents_failures() -> None:
    agent = FakeAgent([broken(429), "hi"])
    state = await Stage(job(), agents={"withheld": agent}).run(shared_agent=2)
    talk = state.conversation("withheld")
    assert talk is not None
    assert (talk.failures, len(talk.request_failures)) == (0, 1)


async def test_a_judge_that_fails_leaves_the_score_not_measured_and_never_zero() -> None:
    stage = Stage(job(), judge=FakeJudge(NotMeasuredError("the verdict was not JSON")))
    state = await stage.run()
    assert state.ended is not None
    assert state.ended.mean is None
    for talk in state.conversations.values():
        assert talk.score is not None
        assert talk.score.score is None
        assert "the verdict was not JSON" in talk.score.reason
        assert talk.score.fault == "judge"


async def test_an_assertion_that_could_not_be_measured_leaves_the_score_not_measured() -> None:
    stage = Stage(job(assertions=[ASSERTION]), outcomes={"holds": None})
    state = await stage.run()
    assert state.scores() == {"withheld": None, "supplied": None}


@pytest.mark.parametrize(
    ("tasks", "judge", "unchecked", "fault"),
    [
        ([], FakeJudge(), "infrastructure", "infrastructure"),
        (["remind me"], FakeJudge(), "unclear", "unclear"),
        (["remind me"], FakeJudge(NotMeasuredError("no JSON")), "unclear", "unclear"),
        (["remind me"], FakeJudge(NotMeasuredError("no JSON")), "program", "program"),
        (["remind me"], FakeJudge(NotMeasuredError("no JSON")), "infrastructure", "judge"),
        (["remind me"], FakeJudge(NotMeasuredError("no JSON")), "none", "judge"),
    ],
)
async def test_a_missing_verdict_does_not_cover_what_the_agent_may_have_caused(
    tasks: list[str], judge: FakeJudge, unchecked: Fault, fault: Fault
) -> None:
    """A gate allows for a few conversations that a judge took out, and for none that an agent may
    have.
    """

    async def check(assertion: object, view: object) -> CheckResult:
        return CheckResult(None, error="cannot be read", fault=unchecked)

    asked = job(tasks=[{"task": task} for task in tasks], assertions=[ASSERTION])
    state = await Stage(asked, judge=judge, parts={"check": check}).run()
    assert [talk.fault for talk in state.conversations.values()] == [fault, fault]


async def test_an_assertion_without_weight_is_not_why_there_is_no_score() -> None:
    shown = {"expression": "true", "name": "shown", "weight": 0}

    async def check(assertion: Any, view: object) -> CheckResult:
        fault: Fault = "unclear" if assertion.title == "shown" else "infrastructure"
        return CheckResult(None, error=f"{assertion.title} is away", fault=fault)

    asked = job(assertions=[shown, ASSERTION])
    for judge, fault in (
        (FakeJudge(), "infrastructure"),
        (FakeJudge(NotMeasuredError("no JSON")), "judge"),
    ):
        state = await Stage(asked, judge=judge, parts={"check": check}).run()
        talk = state.conversation("withheld")
        assert talk is not None
        assert talk.score is not None
        assert (talk.score.score, talk.score.fault) == (None, fault)
        assert "holds is away" in talk.score.reason
        assert "shown" not in talk.score.reason


async def test_an_unreachable_evaluator_is_the_infrastructures_fault() -> None:
    away = [PeerError("evaluator", "no route", retryable=True) for _ in range(4)]
    state = await Stage(job(), evaluators={"withheld": FakeEvaluator(away)}).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == ("evaluator_failed", "infrastructure")
    assert talk.score is not None
    assert talk.score.score is None
    assert talk.failures == 0


async def test_a_guard_retries_a_message_once_and_then_ends_the_conversation() -> None:
    def guard(view: object, text: str) -> list[Violation]:
        return (
            [Violation("role swap", "speaks as the agent", "speak as the user")]
            if "BAD" in text
            else []
        )

    evaluators = {
        "withheld": FakeEvaluator(["BAD", "good"]),
        "supplied": FakeEvaluator(["BAD", "BAD"]),
    }
    stage = Stage(job(), evaluators=evaluators, parts={"guard": guard})
    state = await stage.run()
    mended, spoilt = state.conversation("withheld"), state.conversation("supplied")
    assert mended is not None
    assert spoilt is not None
    assert stage.agents["withheld"].received == ["Hello", "good"]
    assert evaluators["withheld"].views[1].note == "speak as the user"
    assert spoilt.ended is not None
    assert (spoilt.ended.reason, spoilt.ended.fault) == ("evaluator_failed", "evaluator")
    assert [event.mended for event in stage.sink.of("evaluator_violated")] == [True, False, False]


async def test_a_message_that_a_guard_marks_is_sent_and_scored() -> None:
    def guard(view: object, text: str) -> list[Violation]:
        return (
            [Violation("invention", "makes up “7”", "say no number", "mark")] if "7" in text else []
        )

    stage = Stage(
        job(), evaluators={"withheld": FakeEvaluator(["A reminder at 7"])}, parts={"guard": guard}
    )
    talk = (await stage.run()).conversation("withheld")
    assert talk is not None
    assert stage.agents["withheld"].received == ["Hello", "A reminder at 7"]
    assert [(event.effect, event.outcome, event.message) for event in talk.violations] == [
        ("mark", "marked", 3)
    ]
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == ("signed_off", "none")
    assert talk.score is not None
    assert talk.score.score is not None


async def test_a_message_that_was_void_twice_is_recorded_as_not_sent() -> None:
    def guard(view: object, text: str) -> list[Violation]:
        return [Violation("leak", "shows reasoning", "say no more")] if "BAD" in text else []

    stage = Stage(
        job(), evaluators={"withheld": FakeEvaluator(["BAD", "BAD"])}, parts={"guard": guard}
    )
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert [(message.text, talk.sent(message)) for message in talk.messages] == [
        ("Hello", True),
        (talk.messages[1].text, True),
        ("BAD", False),
    ]
    assert stage.agents["withheld"].received == ["Hello"]


@pytest.mark.parametrize(
    "said",
    [
        "so long and thanks for all the fish",
        "So Long,\nand Thanks for All the Fish!",
        "**So long, and thanks\n\nfor all the fish.**",
        "“So Long – and Thanks for All the Fish”",
    ],
)
async def test_the_sign_off_is_recognised_without_punctuation_and_over_lines(said: str) -> None:
    stage = Stage(job(), evaluators={"withheld": FakeEvaluator([said])})
    talk = (await stage.run()).conversation("withheld")
    assert talk is not None
    assert stage.agents["withheld"].received == ["Hello"]
    assert talk.ended is not None
    assert talk.ended.reason == "signed_off"
    assert [talk.sent(message) for message in talk.messages] == [True, True, False]
    assert talk.score is not None
    assert talk.score.score == 1.0


async def test_setups_run_before_each_condition() -> None:
    graph = FakeGraph()
    await Stage(job(setups=[{"cypher": "MATCH (n) DETACH DELETE n"}]), graph=graph).run()
    assert graph.executed == ["MATCH (n) DETACH DELETE n"] * 2


async def test_a_failed_setup_is_the_infrastructures_fault_and_the_agent_is_never_called() -> None:
    graph = FakeGraph(fails=PeerError("graph", "gone"))
    stage = Stage(job(setups=[{"cypher": "MATCH (n) DELETE n"}]), graph=graph)
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert talk.ended.fault == "infrastructure"
    assert "setup 1 failed: gone" in talk.ended.detail
    assert all(agent.received == [] for agent in stage.agents.values())


async def test_setups_without_a_graph_are_reported_before_the_first_message() -> None:
    stage = Stage(
        job(setups=[{"cypher": "MATCH (n) DELETE n"}]), parts={"no_graph": "no wheel here"}
    )
    state = await stage.run()
    assert state.scores() == {"withheld": None, "supplied": None}
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert talk.score.reason.endswith("1 setup cannot run: no wheel here")
    assert [agent.received for agent in stage.agents.values()] == [[], []]


async def test_cypher_assertions_without_a_graph_are_reported_before_the_first_message() -> None:
    asks = job(assertions=[{"cypher": "RETURN 1", "expected": 1}])
    stage = Stage(asks)
    talk = (await stage.run()).conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert (
        "1 Cypher assertion cannot be checked: no knowledge graph is configured"
        in talk.score.reason
    )
    assert [agent.received for agent in stage.agents.values()] == [[], []]


async def test_conversations_are_run_when_the_user_chose_no_graph() -> None:
    asks = job(assertions=[{"cypher": "RETURN 1", "expected": 1}])
    stage = Stage(asks, parts={"does_without_graph": True})
    await stage.run()
    assert all(agent.received for agent in stage.agents.values())


@pytest.mark.parametrize(
    "asks",
    [
        {"setups": [{"cypher": "MATCH (n) DELETE n"}]},
        {"assertions": [{"cypher": "RETURN 1", "expected": 1}]},
    ],
)
async def test_a_wrong_graph_password_is_reported_once_before_the_first_message(asks: Any) -> None:
    graph = FakeGraph(away=PeerError("graph", "the password is wrong"))
    stage = Stage(job(**asks), graph=graph)
    with pytest.raises(NotMeasuredError, match="is not available: the password is wrong"):
        await stage.run(trials=3)
    assert stage.agents == {}


async def test_a_graph_that_the_job_does_not_use_may_be_unavailable() -> None:
    stage = Stage(job(), graph=FakeGraph(away=PeerError("graph", "gone")))
    assert (await stage.run()).scores() == {"withheld": 1.0, "supplied": 1.0}


async def test_a_conversation_whose_seed_failed_is_not_measured() -> None:
    class Refusing(FakeAgent):
        async def seed_text(self, text: str) -> None:
            raise PeerError("knowledge", "does not accept texts", status=404)

    agents = {name: Refusing() for name in ("withheld", "supplied")}
    stage = Stage(job(seeds=[{"text": "a paper"}]), agents=agents)
    state = await stage.run()
    assert state.scores() == {"withheld": None, "supplied": None}
    assert all(agent.received == [] for agent in agents.values())
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert talk.score.reason.endswith("seed 1 was rejected: does not accept texts")
    assert [seed.applied for seed in talk.seeds] == [False]


@pytest.mark.parametrize(
    ("context", "calls", "states"), [("none", 0, 0), ("tools", 1, 0), ("all", 1, 2)]
)
async def test_the_judge_sees_as_much_context_as_the_job_allows(
    context: str, calls: int, states: int
) -> None:
    contexts = [{"resources": [{"id": n}], "functions": []} for n in range(3)]
    stage = Stage(
        job(scorer={"context": context}), agents={"withheld": FakeAgent(contexts=contexts)}
    )
    await stage.run()
    view = stage.judge.views[0]
    assert sum(len(message.generation) for message in view.transcript) == calls
    seen = [state for state in (view.state_before, view.state_after) if state is not None]
    assert [state["resources"][0]["id"] for state in seen] == [0, 2][:states]


async def test_runs_with_different_starting_states_are_not_clean() -> None:
    contexts = [{"resources": [{"id": "old"}], "functions": []}] + [
        {"resources": [], "functions": []}
    ] * 5
    stage = Stage(job(), agents={"supplied": FakeAgent(contexts=contexts)})
    state = await stage.run()
    assert not state.clean
    assert state.ended is not None
    assert not state.ended.clean


async def test_starting_states_that_cannot_be_seen_are_not_called_clean() -> None:
    agents = {name: FakeAgent(has_context=False) for name in ("withheld", "supplied")}
    state = await Stage(job(), agents=agents).run()
    assert not state.clean
    assert state.cleanness == "cleanliness unknown"
    assert state.ended is not None
    assert (state.ended.clean, state.ended.compared) == (False, ())


async def test_a_run_says_which_parts_of_the_starting_states_were_compared() -> None:
    state = await Stage(job(), graph=FakeGraph()).run()
    assert state.clean
    assert state.ended is not None
    assert state.ended.compared == ("graph", "object context")


async def test_states_that_differ_only_in_their_session_id_are_the_same() -> None:
    class Named(FakeAgent):
        async def open(self) -> str:
            return f"session-{id(self)}"

        async def observe(self) -> dict[str, Any]:
            return {"resources": [{"type": "Session", "id": await self.open()}], "functions": []}

    assert (await Stage(job(), agents={"withheld": Named(), "supplied": Named()}).run()).clean


async def test_conversations_that_share_a_graph_are_never_clean() -> None:
    state = await Stage(job(), graph=FakeGraph()).run(parallel=True)
    assert state.cleanness == "not clean"
    assert "on one knowledge graph" in state.warnings[0].message


async def test_an_assertion_that_holds_at_the_start_is_not_clean_unless_it_is_an_invariant() -> (
    None
):
    beforehand = {**ASSERTION, "expression": "objectContext.resources.isNotEmpty()"}
    state = await Stage(job(assertions=[beforehand])).run()
    assert not state.clean
    assert "no: an assertion passes before the greeting: " in str(result_of(state).answer.lines), (
        "the reason is the recorded one"
    )
    assert (await Stage(job(assertions=[{**ASSERTION, "invariant": True}])).run()).clean


async def test_an_assertion_says_whether_it_held_from_the_start() -> None:
    kinds = [
        {"name": "at the start", "expression": "evaluation.failureCount == 0"},
        {"name": "only later", "expression": "evaluation.transcript.size > 2"},
        {"name": "no more", "expression": "evaluation.transcript.isEmpty()", "invariant": True},
    ]
    stage = Stage(job(assertions=kinds), parts={"check": Checker(None)})
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    found = [(check.title, check.status, check.from_start) for check in talk.final_checks.values()]
    assert found == [
        ("at the start", "passed", True), ("only later", "passed", False),
        ("no more", "failed", False),
    ]  # fmt: skip
    assert state.clean, "invariants, which also hold on nothing"
    assert not any(check.from_start for checks in talk.checks.values() for check in checks)
    result = result_of(state)
    assert result is not None
    file = io.StringIO()
    print_score_card(result, Console(file=file, width=160), 1)
    for text in (file.getvalue(), document_of("md", result), document_of("html", result)):
        assert text.count("held from the start") == 2, "once in each condition"
    document = json.loads(document_of("json", result))["runs"][0]["conditions"]["supplied"]
    assert [check["from_start"] for check in document["trials"][0]["assertions"]] == [
        True,
        False,
        False,
    ]
    card = score_card_view.rows(result, result.trial(1))
    said = {row.label.text: [cell.text for cell in row.details.get("withheld", ())] for row in card}
    assert said["at the start"] == ["held from the start"]


async def test_seeds_are_applied_after_the_session_starts_and_are_not_in_the_transcript() -> None:
    seeds = [
        {"text": "a paper"},
        {"conversation": [{"content": "earlier"}, {"role": "assistant", "content": "x"}]},
    ]
    stage = Stage(job(seeds=seeds))
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert stage.agents["withheld"].texts == ["a paper"]
    assert stage.agents["withheld"].received == ["earlier", "Hello"]
    assert [message.text for message in talk.messages][:1] == ["Hello"]
    assert len(talk.latencies_ms) == 1
    assert [seed.applied for seed in talk.seeds] == [True, False]
    assert any(warning.code == "seed_not_applied" for warning in talk.warnings)


async def test_disclosed_facts_are_recorded_once_with_whether_the_agent_asked() -> None:
    evaluators = {"supplied": FakeEvaluator(["Sydney", "Sydney, as I said"])}
    agents = {"supplied": FakeAgent(["Hi. Where do you live?"])}
    stage = Stage(job(), agents=agents, evaluators=evaluators)
    await stage.run()
    assert [(e.fact, e.turn, e.asked) for e in stage.sink.of("fact_disclosed")] == [(1, 2, True)]


class NamingEvaluator(FakeEvaluator):
    """Says which facts each message gives, counted from 1, in words that nothing finds."""

    def __init__(self, *facts: int) -> None:
        super().__init__(["It is as you think."])
        self.facts = facts

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        async for piece in super().speak(view):
            if isinstance(piece, Utterance) and piece.content != SIGNOFF:
                piece = replace(piece, facts=self.facts)
            yield piece


@pytest.mark.parametrize(("named", "recorded"), [((1,), [1]), ((2,), [2]), ((0, 3), [])])
async def test_the_facts_that_an_evaluator_names_are_the_first_to_the_last(
    named: tuple[int, ...], recorded: list[int]
) -> None:
    evaluators = {"supplied": NamingEvaluator(*named)}
    stage = Stage(job(facts=["Lives in Sydney", "Takes warfarin"]), evaluators=evaluators)
    await stage.run()
    assert [event.fact for event in stage.sink.of("fact_disclosed")] == recorded


async def test_assertions_are_checked_after_each_turn_with_that_turns_state() -> None:
    stage = Stage(job(assertions=[ASSERTION]), evaluators={"withheld": FakeEvaluator(["a", "b"])})
    await stage.run()
    checks = [e for e in stage.sink.of("assertion_checked") if e.condition == "withheld"]
    seen = [(check.after_turn, check.observed, check.final) for check in checks]
    # `observed` is how many messages the check saw; the last is the final one, with the sign-off.
    assert seen == [(1, 2, False), (2, 4, False), (3, 6, False), (3, 7, True)]


async def test_an_assertion_without_a_timeline_is_checked_only_at_the_end() -> None:
    stage = Stage(job(assertions=[ASSERTION, {**ASSERTION, "name": "late", "timeline": False}]))
    await stage.run(conditions=("withheld",))
    checks = stage.sink.of("assertion_checked")
    assert [(c.title, c.final) for c in checks] == [
        ("holds", False),
        ("holds", True),
        ("late", True),
    ]


async def test_a_slow_observation_is_reported_and_the_conversation_continues() -> None:
    class SlowToSee(FakeAgent):
        async def observe(self) -> dict[str, object] | None:
            if len(self.received) == 2:
                await asyncio.Event().wait()
            return {"resources": []}

    limits = RunLimits(agent_retries=WITHOUT_WAITS, observe_s=0.5)
    evaluators = {"withheld": FakeEvaluator(["one", "two"])}
    stage = Stage(
        job(assertions=[CONTEXT_ASSERTION]), agents={"withheld": SlowToSee()}, evaluators=evaluators
    )
    state = await stage.run(conditions=("withheld",), limits=limits)
    talk = state.conversation("withheld")
    assert talk is not None
    assert [m.text for m in talk.messages if m.role == "user"] == ["Hello", "one", "two", SIGNOFF]
    assert [seen.error for seen in talk.observations if seen.after_turn == 2] == [
        "not observed within 0.5 s"
    ]
    assert [(c.after_turn, c.status) for c in talk.checks[0]] == [
        (1, "passed"), (2, "not_measured"), (3, "passed"),
    ]  # fmt: skip
    assert talk.latencies_ms == [pytest.approx(250)] * 3, "looking is in no latency"
    order = [
        (e.kind, e.after_turn if isinstance(e, StateObserved) else e.turn)
        for e in stage.sink.events
        if isinstance(e, StateObserved) or (isinstance(e, MessageCompleted) and e.role == "user")
    ]
    assert order.index(("state_observed", 2)) < order.index(("message_completed", 3)), (
        "and ends before the next turn"
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("no such thing"), "a bug in this program: RuntimeError: no such thing"),
        (MemoryError(), "no memory is left for this program"),
        (
            RuntimeError("can't start new thread"),
            (
                "this program cannot start another thread or process: memory, or their number, is"
                " limited"
            ),
        ),
    ],
)
async def test_an_error_while_a_turn_is_observed_is_not_passed_over(
    error: Exception, said: str
) -> None:
    class Broken(FakeAgent):
        async def observe(self) -> dict[str, object] | None:
            if len(self.received) == 2:
                raise error
            return {"resources": []}

    evaluators = {"withheld": FakeEvaluator(["one", "two"])}
    stage = Stage(
        job(assertions=[CONTEXT_ASSERTION]), agents={"withheld": Broken()}, evaluators=evaluators
    )
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert talk.ended.detail.startswith(said)
    assert talk.ended.fault == ("program" if "a bug" in said else "infrastructure")


async def test_parallel_runs_both_conditions_at_once() -> None:
    both = asyncio.Barrier(2)

    class Meeting(FakeAgent):
        async def open(self) -> str:
            async with asyncio.timeout(30):
                await both.wait()
            return await super().open()

    agents: dict[str, FakeAgent] = {"withheld": Meeting(), "supplied": Meeting()}
    state = await Stage(job(), agents=agents).run(parallel=True, shared_agent=2)
    assert state.scores() == {"withheld": 1.0, "supplied": 1.0}


async def test_a_random_order_is_drawn_for_each_trial_from_the_seed() -> None:
    async def orders(seed: int) -> list[str | None]:
        stage = Stage(job(), options={"seed": seed})
        await stage.run(random_order=True, trials=6)
        started = stage.sink.of("conversation_started")
        return [event.condition for event in started[::2]]

    first = await orders(1)
    assert set(first) == {"withheld", "supplied"}
    assert await orders(1) == first


async def test_every_message_is_in_the_file_before_the_next_one_is_sent_to_the_agent() -> None:
    class Careful(FakeAgent):
        async def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
            unsafe = stage.sink.events[stage.sink.safe :]
            assert not [event for event in unsafe if event.kind == "message_completed"]
            async for piece in super().send(content):
                yield piece

    stage = Stage(
        job(),
        evaluators={"withheld": FakeEvaluator(["a", "b"])},
        agents={"withheld": Careful(), "supplied": Careful()},
    )
    state = await stage.run()
    assert stage.agents["withheld"].received == ["Hello", "a", "b"]
    assert state.scores() == {"withheld": 1.0, "supplied": 1.0}


async def test_pause_stops_before_the_next_turn_and_step_runs_one() -> None:
    stage = Stage(job(), evaluators={"withheld": FakeEvaluator(["one", "two"])})
    stage.control.act("pause", "withheld")
    running = asyncio.create_task(stage.run())
    agent = await _until(lambda: stage.agents.get("withheld"))
    await _until(lambda: len(stage.sink.of("state_observed")) >= 1)
    assert agent.received == [], "not even the greeting goes out"
    stage.control.act("step", "withheld")
    await _until(lambda: len(stage.sink.of("state_observed")) >= 2)
    assert agent.received == ["Hello"]
    stage.control.act("step", "withheld")
    await _until(lambda: len(stage.sink.of("state_observed")) >= 3)
    assert agent.received == ["Hello", "one"]
    stage.control.act("resume", "withheld")
    await running
    assert agent.received == ["Hello", "one", "two"]


async def test_after_taking_over_messages_are_marked_until_you_give_back() -> None:
    stage = Stage(job(), evaluators={"withheld": FakeEvaluator(["scripted"])})
    stage.control.act("take_over", "withheld")
    running = asyncio.create_task(stage.run())
    assert stage.control.act("say", "withheld", "from a person") is None
    await _until(lambda: "from a person" in (stage.agents.get("withheld") or FakeAgent()).received)
    stage.control.act("give_back", "withheld")
    state = await running
    talk = state.conversation("withheld")
    assert talk is not None
    assert [m.text for m in talk.messages if m.operator] == ["from a person"]
    assert stage.agents["withheld"].received == ["Hello", "from a person", "scripted"]
    assert state.cleanness == "not clean"
    assert "a person took over" in str(result_of(state).answer.lines)
    assert result_of(state).answer.attributed is None


async def test_cancelling_one_condition_closes_its_agent_and_keeps_the_other_running() -> None:
    stalled = FakeAgent(stall=asyncio.Event())
    stage = Stage(job(), agents={"withheld": stalled})
    running = asyncio.create_task(stage.run())
    await _until(lambda: stalled.received)
    assert stage.control.act("cancel", "withheld") is None
    state = await running
    talk, other = state.conversation("withheld"), state.conversation("supplied")
    assert talk is not None
    assert other is not None
    assert talk.ended is not None
    assert talk.ended.reason == "cancelled"
    assert stalled.closed
    assert other.score is not None
    assert other.score.score == 1.0
    assert state.ended is not None
    assert (state.ended.status, state.ended.mean) == ("cancelled", None)


async def test_commands_that_do_not_apply_are_refused_with_one_sentence() -> None:
    control = Stage(job()).control
    assert control.act("explode") is not None
    assert control.act("say", "withheld", "x") == "take over first, then say"
    assert control.act("take_over") == "take_over needs a condition"


async def test_every_event_is_numbered_in_order() -> None:
    stage = Stage(job())
    await stage.run()
    assert [event.seq for event in stage.sink.events] == list(range(1, len(stage.sink.events) + 1))


async def test_cancelling_during_an_observation_ends_the_conversation() -> None:
    looking = asyncio.Event()

    class SlowToSee(FakeAgent):
        async def observe(self) -> dict[str, object] | None:
            if self.received:
                looking.set()
                await asyncio.Event().wait()
            return {"resources": []}

    agent = SlowToSee()
    stage = Stage(
        job(), agents={"withheld": agent}, evaluators={"withheld": FakeEvaluator(["one", "two"])}
    )
    running = asyncio.create_task(stage.run(conditions=("withheld",)))
    await looking.wait()
    await _until(lambda: stage.evaluators["withheld"].views)
    assert stage.control.act("cancel", "withheld") is None
    state = await running
    assert agent.received == ["Hello"]
    assert agent.closed
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert talk.ended.reason == "cancelled"
    assert state.ended is not None
    assert state.ended.status == "cancelled"


async def test_cancelling_while_the_user_thinks_does_not_wait_for_an_observation() -> None:
    thinking = asyncio.Event()

    class NeverSees(FakeAgent):
        async def observe(self) -> dict[str, object] | None:
            if self.received:
                await asyncio.Event().wait()
            return {"resources": []}

    class NeverSpeaks(FakeEvaluator):
        async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
            thinking.set()
            await asyncio.Event().wait()
            yield Utterance("never said")

    agent = NeverSees()
    stage = Stage(job(), agents={"withheld": agent}, evaluators={"withheld": NeverSpeaks()})
    limits = RunLimits(observe_s=60.0)
    running = asyncio.create_task(stage.run(conditions=("withheld",), limits=limits))
    await thinking.wait()
    assert stage.control.act("cancel", "withheld") is None
    async with asyncio.timeout(5):
        state = await running
    assert agent.closed
    assert state.ended is not None
    assert state.ended.status == "cancelled"


async def test_cancelling_the_whole_run_leaves_no_task_running() -> None:
    stalled = FakeAgent(stall=asyncio.Event())
    stage = Stage(job(), agents={"withheld": stalled})
    before = asyncio.all_tasks()
    running = asyncio.create_task(stage.run())
    await _until(lambda: stalled.received)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stalled.closed
    assert asyncio.all_tasks() <= before


async def test_an_agent_that_fails_to_close_does_not_end_the_run() -> None:
    class Stubborn(FakeAgent):
        async def aclose(self) -> None:
            raise RuntimeError("no")

    state = await Stage(job(), agents={"withheld": Stubborn()}).run()
    assert state.scores() == {"withheld": 1.0, "supplied": 1.0}


async def test_an_agent_that_cannot_be_created_loses_only_its_conversation() -> None:
    def open_evaluator(condition: str, trial: int) -> FakeEvaluator:
        if condition == "withheld":
            raise RuntimeError("no such thing")
        return FakeEvaluator()

    state = await Stage(job(), parts={"open_evaluator": open_evaluator}).run()
    assert state.scores() == {"withheld": None, "supplied": 1.0}


class Unseeable(FakeAgent):
    """Refuses its object context from the n-th request on."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    async def observe(self) -> dict[str, object] | None:
        self.left -= 1
        if self.left < 0:
            raise broken(503)
        return {"resources": []}


class NeverSeeable(Unseeable):
    """Refuses its object context from the first request on."""

    def __init__(self) -> None:
        super().__init__(0)


CONTEXT_ASSERTION = {"expression": "objectContext != null", "name": "context"}


async def test_a_final_state_that_the_agent_no_longer_gives_fails_the_assertions_that_need_it() -> (
    None
):
    stage = Stage(job(assertions=[CONTEXT_ASSERTION]), agents={"withheld": Unseeable(2)})
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert talk.score.score is not None, (
        "else an agent could take a bad conversation out of the mean"
    )
    assert talk.final_checks[0].status == "failed"
    assert talk.failures == 0, (
        "looking at the state is ours, and no failed request of the conversation"
    )


async def test_a_state_that_was_never_readable_leaves_assertions_not_measured() -> None:
    stage = Stage(job(assertions=[CONTEXT_ASSERTION]), agents={"withheld": NeverSeeable()})
    state = await stage.run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert (talk.score.score, talk.score.fault) == (None, "unclear")
    assert talk.final_checks[0].status == "not_measured"


async def test_reading_the_final_state_is_retried_once() -> None:
    class Hiccup(FakeAgent):
        asked = 0

        async def observe(self) -> dict[str, object] | None:
            self.asked += 1
            if self.asked == 3:
                raise broken(503)
            return {"resources": []}

    state = await Stage(job(assertions=[CONTEXT_ASSERTION]), agents={"withheld": Hiccup()}).run()
    assert state.scores()["withheld"] == 1.0


async def test_a_starting_state_that_could_not_be_read_is_not_clean() -> None:
    state = await Stage(job(), agents={"withheld": Unseeable(0)}).run()
    assert not state.clean


@pytest.mark.parametrize("score", [float("nan"), 1.7, -0.1, float("inf")])
async def test_a_score_out_of_range_is_not_measured(score: float) -> None:
    state = await Stage(job(), judge=FakeJudge(score)).run()
    for talk in state.conversations.values():
        assert talk.score is not None
        assert (talk.score.score, talk.score.fault) == (None, "judge")


async def test_a_verdict_that_misses_a_task_is_not_measured() -> None:
    class Forgetful(FakeJudge):
        async def score(self, view: object) -> list[Verdict]:
            return [Verdict("j", (TaskVerdict(1, 1.0),))]

    state = await Stage(job(tasks=[{"task": "a"}, {"task": "b"}]), judge=Forgetful()).run()
    assert state.scores() == {"withheld": None, "supplied": None}


async def test_a_panel_member_without_a_verdict_is_reported_and_the_others_count() -> None:
    class Panel(FakeJudge):
        async def score(self, view: JudgeView) -> list[Verdict]:
            scores = [Verdict(str(value), (TaskVerdict(1, value),)) for value in (0.2, 0.6)]
            return [*scores, Verdict("c", (), error="c: 127.0.0.1 answered 503")]

    stage = Stage(job(), judge=Panel())
    state = await stage.run(conditions=("withheld",))
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.verdict is not None
    assert [(task.score, task.spread) for task in talk.verdict.tasks] == [(0.4, pytest.approx(0.4))]
    assert [verdict["judge"] for verdict in talk.verdict.verdicts] == ["0.2", "0.6"]
    (warning,) = talk.warnings
    assert warning.code == "verdict_missing"
    assert (
        warning.message
        == "one of the 3 verdicts is missing, so the median is of the others: c: 127.0.0.1"
        " answered 503"
    )


async def test_an_evaluators_broken_stream_is_not_the_agents_fault() -> None:
    class Broken(FakeEvaluator):
        async def speak(self, view: object):  # type: ignore[no-untyped-def]
            yield Delta("half a")

    state = await Stage(job(), evaluators={"withheld": Broken()}).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.ended is not None
    assert (talk.ended.reason, talk.ended.fault) == ("evaluator_failed", "infrastructure")
    assert talk.failures == 0


async def test_judge_and_assertions_never_see_the_sign_off() -> None:
    seen: list[list[str]] = []

    class Reading(FakeJudge):
        async def score(self, view: JudgeView) -> Sequence[Verdict]:
            seen.append([message.content for message in view.transcript])
            return await super().score(view)

    stage = Stage(
        job(), judge=Reading(), evaluators={"withheld": FakeEvaluator([f"Bye. {SIGNOFF}"])}
    )
    await stage.run()
    assert seen == [["Hello", "ok", "Bye.", "ok"], ["Hello", "ok"]]


async def test_the_evaluator_never_sees_criteria_rules_or_withheld_facts() -> None:
    whole = job(tasks=[{"task": "a", "acceptanceCriteria": "secret", "rules": [{"pattern": "x"}]}])
    stage = Stage(whole)
    await stage.run()
    for condition, facts in (("withheld", ()), ("supplied", ("I live in Sydney",))):
        (view,) = stage.evaluators[condition].views
        assert view.job.facts == facts
        assert (view.job.tasks[0].acceptance_criteria, view.job.tasks[0].rules) == ("", ())


async def test_text_from_plugins_is_cleaned_before_it_is_recorded() -> None:
    class Loud(FakeJudge):
        async def score(self, view: JudgeView) -> Sequence[Verdict]:
            task = TaskVerdict(1, 1.0, "why\x1b]52;c;x\x07", (Evidence("\x1b[31mred"),))
            return [Verdict("judge\x1b[2J", (task,))]

    evaluators = {"withheld": FakeEvaluator(["say \x1b[31m\u202e this"])}
    stage = Stage(job(), judge=Loud(), evaluators=evaluators)
    await stage.run()
    recorded = b"".join(write_event(event) for event in stage.sink.events)
    assert b"\\u001b" not in recorded
    assert "\u202e".encode() not in recorded


async def _until(ready):  # type: ignore[no-untyped-def]
    """Give the loop turns until `ready` gives something. The clock only bounds the wait."""
    async with asyncio.timeout(30):
        while not (found := ready()):  # noqa: ASYNC110 - any state may be asked about
            await asyncio.sleep(0)
        return found


async def test_a_verdict_with_an_invented_quotation_is_marked_with_a_warning() -> None:
    state = await Stage(job(), judge=FakeJudge(1.0, quote="I have booked a flight to Mars")).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.verdict is not None
    assert [task.fabricated for task in talk.verdict.tasks] == [("I have booked a flight to Mars",)]
    assert talk.score is not None
    assert talk.score.score is not None, "it counts unless the job refuses it"
    (warned,) = [warning for warning in talk.warnings if warning.code == "unproved"]
    assert "the verdict on task 1 is unproved" in warned.message


async def test_a_job_can_reject_verdicts_with_invented_quotations() -> None:
    strict = job(scorer={"kind": "rules", "evidence": "require"})
    state = await Stage(strict, judge=FakeJudge(1.0, quote="I have booked a flight to Mars")).run()
    talk = state.conversation("withheld")
    assert talk is not None
    assert talk.verdict is not None
    assert "unproved" in (talk.verdict.error or "")
    assert talk.score is not None
    assert (talk.score.score, talk.score.fault) == (None, "judge")


async def test_a_difference_between_starting_states_is_named_with_a_fix() -> None:
    contexts = [{"resources": [{"id": "a", "kind": "plan"}], "functions": []}] * 9
    other = [{"resources": [{"id": "b", "kind": "plan"}], "functions": []}] * 9
    stage = Stage(
        job(),
        agents={"withheld": FakeAgent(contexts=contexts), "supplied": FakeAgent(contexts=other)},
    )
    said = " ".join(warning.message for warning in (await stage.run()).warnings)
    assert "the agent's object context differs at `resources[0].id`" in said
    assert "a setup" not in said, "no setup can change what the agent gives each session"


@pytest.mark.parametrize(
    ("count", "more"), [(2, ""), (3, ""), (4, " and 1 more place"), (5, " and 2 more places")]
)
async def test_three_differences_between_starting_states_are_listed_and_others_counted(
    count: int, more: str
) -> None:
    one, other = (
        {"resources": [{"id": f"{who}{at}"} for at in range(count)], "functions": []}
        for who in "ab"
    )
    stage = Stage(
        job(),
        agents={
            "withheld": FakeAgent(contexts=[one] * 9),
            "supplied": FakeAgent(contexts=[other] * 9),
        },
    )
    said = " ".join(warning.message for warning in (await stage.run()).warnings)
    where = ", ".join(f"`resources[{at}].id`" for at in range(min(count, 3)))
    assert f"the agent's object context differs at {where}{more}: it must not" in said


class DriftingJudge(FakeJudge):
    """Knows every sentinel's verdicts, but scores 0 once it has judged a conversation of the
    run.
    """

    drifted = False

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        met = known_verdicts(view)
        if met is None:
            self.drifted = True
            return await super().score(view)
        tasks = (
            TaskVerdict(n, float(right and not self.drifted)) for n, right in enumerate(met, 1)
        )
        return [Verdict("fake judge", tuple(tasks))]


async def test_sentinels_show_that_a_judge_drifts_while_a_run_goes_on() -> None:
    """It knows all of them at first, and gives 0 at the end; a job that does not ask has none."""
    for wanted, told in (
        (True, "this judge drifts (−0.50 from its first to its last calls)"),
        (False, ""),
    ):
        stage = Stage(job(scorer={"kind": "llm", "sentinels": wanted}))
        stage.judge = DriftingJudge()
        result = result_of(await stage.run())
        assert result is not None
        assert [one.after for one in result.state.sentinels] == ([False, True] if wanted else [])
        assert any(told in line for line in result.people_say)
        assert any("known verdicts" in line for line in result.people_say) is wanted
        assert result.talks[0].score is not None


async def test_a_resumed_run_that_had_begun_a_conversation_asks_about_no_sentinels_before() -> None:
    """One that was begun and not finished counts: the judge was asked before it."""
    for attempts, asked in (({}, [False, True]), ({("withheld", 1): 1}, [True])):
        stage = Stage(job(scorer={"kind": "llm", "sentinels": True}))
        stage.judge, stage.earlier = DriftingJudge(), Earlier({}, attempts)
        assert [one.after for one in (await stage.run()).sentinels] == asked


Tokens = tuple[int | None, int | None]
COUNTED: Tokens = (100, 10)
SILENT: Tokens = (None, None)


class AskingJudge(FakeJudge):
    """Asks a model as often as there are `answers`, with their tokens, for each conversation."""

    def __init__(self, answers: Sequence[Tokens], value: float | Exception) -> None:
        super().__init__(value)
        self.answers = answers

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        for tokens_in, tokens_out in self.answers:
            with request("judge", []) as sent:
                sent.tokens_in, sent.tokens_out = tokens_in, tokens_out
        return await super().score(view)


@pytest.mark.parametrize("value", [1.0, PeerError("judge", "no verdict")])
@pytest.mark.parametrize(
    ("answers", "tokens", "uncounted"),
    [
        ([COUNTED], 100, 0),
        ([COUNTED, COUNTED], 200, 0),
        ([SILENT], None, 1),
        ([COUNTED, SILENT], 100, 1),
        ([SILENT, COUNTED, SILENT], 100, 2),
    ],
)
async def test_a_judges_answers_without_a_count_are_not_free(
    answers: Sequence[Tokens], tokens: int | None, uncounted: int, value: float | Exception
) -> None:
    stage = Stage(job(), judge=AskingJudge(answers, value))
    result = result_of(await stage.run(conditions=("withheld",)))
    assert result is not None
    judge = spent([result]).peers[2]
    assert (judge.peer, judge.tokens_in, judge.uncounted) == ("judge", tokens, uncounted)


@pytest.mark.parametrize("waits", [False, True])
async def test_what_was_asked_before_a_cancellation_is_paid_for(waits: bool) -> None:
    """The judge got an answer, and is cancelled while it waits for the next one."""
    asked = asyncio.Event()

    class Waiting(AskingJudge):
        async def score(self, view: JudgeView) -> Sequence[Verdict]:
            verdicts = await super().score(view)
            asked.set()
            if waits:
                await asyncio.Event().wait()
            return verdicts

    stage = Stage(job(), judge=Waiting([COUNTED, SILENT], 1.0))
    running = asyncio.create_task(stage.run(conditions=("withheld",)))
    await asked.wait()
    if waits:
        assert stage.control.act("cancel", "withheld") is None
    result = result_of(await running)
    assert result is not None
    judge = spent([result]).peers[2]
    assert (judge.tokens_in, judge.tokens_out, judge.uncounted) == (100, 10, 1)


@pytest.mark.parametrize(
    ("answer", "said", "reason"),
    [
        (PeerError("agent", "no sockets", exhausted=True), "more", "not measured: no sockets"),
        (PeerError("agent", "too many", crowded=True), "more", "not measured: too many"),
        (
            "fine",
            PeerError("evaluator", "no model"),
            "evaluator failed: no model",
        ),
        ("fine", PeerError("evaluator", "rubbish", unusable=True), "evaluator failed: rubbish"),
    ],
)
async def test_why_a_conversation_has_no_score_begins_with_how_it_ended(
    answer: str | PeerError, said: str | PeerError, reason: str
) -> None:
    stage = Stage(
        job(),
        agents={"withheld": FakeAgent(["hi", answer])},
        evaluators={"withheld": FakeEvaluator(["do it", said])},
    )
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert (talk.score.score, talk.score.reason) == (None, reason)
