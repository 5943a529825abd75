"""What a turn records, and what ends a conversation: each rule at its edge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from bioeval_tui.evaluation.conversation.plan import RunLimits
from bioeval_tui.evaluation.conversation.standstill import MOST_OF_A_LATENCY
from bioeval_tui.peers import traces
from bioeval_tui.protocols import (
    Delta,
    EvaluatorView,
    PeerError,
    Reply,
    Utterance,
    Violation,
)
from tests.unit.evaluation.conversation.fakes import (
    SIGNOFF,
    WITHOUT_WAITS,
    FakeAgent,
    FakeEvaluator,
    Stage,
    job,
)


@dataclass
class ExactAgent(FakeAgent):
    """Sends one reply after another, each as it was given."""

    replies: list[Reply] = field(default_factory=list)

    async def send(self, content: str) -> AsyncIterator[Any]:
        self.received.append(content)
        yield self.replies.pop(0)


@dataclass
class ExactEvaluator(FakeEvaluator):
    """Speaks one utterance after another, then signs off."""

    utterances: list[Utterance] = field(default_factory=list)

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        self.views.append(view)
        yield self.utterances.pop(0) if self.utterances else Utterance(SIGNOFF)


async def held(
    agent: FakeAgent | None = None, evaluator: FakeEvaluator | None = None, **more: Any
) -> Stage:
    """Hold one conversation without the facts, or with a `condition` another one."""
    changes, options = more.pop("job", {}), more.pop("options", {})
    condition = more.pop("condition", "withheld")
    stage = Stage(
        job(**changes),
        agents={condition: agent or FakeAgent()},
        evaluators={condition: evaluator or FakeEvaluator()},
        **more,
    )
    await stage.run(conditions=(condition,), **options)
    return stage


def answers(stage: Stage) -> list[Any]:
    return [each for each in stage.sink.of("message_completed") if each.role == "assistant"]


async def test_a_session_is_recorded_where_an_answer_tells_another_one() -> None:
    told = [Reply("a", 1.0, 2.0, session=name) for name in ("", "one", "one", "two", "")]
    stage = await held(ExactAgent(replies=told), FakeEvaluator(["more"] * 4))
    assert [each.session_id for each in answers(stage)] == [None, "one", None, "two", None]


async def test_the_times_of_an_answer_are_in_milliseconds() -> None:
    replies = [
        Reply("a", started=1000.0, ended=1000.5, first_token=1000.25),
        Reply("b", started=1001.0, ended=1001.125),
    ]
    stage = await held(ExactAgent(replies=replies), FakeEvaluator(["more"]))
    assert [(each.latency_ms, each.first_token_ms) for each in answers(stage)] == [
        (500.0, 250.0),
        (125.0, None),
    ]


@pytest.mark.parametrize(("early_s", "least", "most"), [(60.0, 0.0, 0.0), (-60.0, 59e3, 61e3)])
async def test_an_answer_waited_from_when_it_was_asked_for(
    early_s: float, least: float, most: float
) -> None:
    class Asked(FakeAgent):
        async def send(self, content: str) -> AsyncIterator[Any]:
            async for each in super().send(content):
                if not isinstance(each, Reply):
                    continue
                yield Reply(each.content, each.started - early_s, each.ended - early_s)

    (answer,) = answers(await held(Asked()))
    assert least <= answer.waited_ms <= most


@pytest.mark.parametrize(
    ("blocked_s", "stopped_s", "runs_here", "counts", "warned"),
    [
        (0.0, 0.0, False, True, 0),
        (MOST_OF_A_LATENCY, MOST_OF_A_LATENCY, False, True, 0),
        (0.2001, 0.2001, False, False, 1),
        (0.9, 0.2, False, True, 1),
        (0.9, 0.9, True, True, 1),
    ],
    ids=[
        "it ran",
        "for a fifth",
        "suspended for more",
        "busy, as an agent's events can make it",
        "an agent's function stood still in it",
    ],
)
async def test_a_latency_counts_if_this_program_was_suspended_for_a_fifth_of_it_at_most(
    blocked_s: float, stopped_s: float, runs_here: bool, counts: bool, warned: int
) -> None:
    watchdog = SimpleNamespace(
        lost=lambda start, end: blocked_s,
        stopped=lambda start, end: stopped_s,
        suspension=lambda at: stopped_s,
        pause_cause=lambda at: "busy",
        long_gaps=lambda at: [],
    )
    agent = ExactAgent(replies=[Reply("a", started=1000.0, ended=1001.0)])
    agent.runs_here = runs_here  # type: ignore[attr-defined]
    stage = await held(agent, parts={"watchdog": watchdog})
    (answer,) = answers(stage)
    assert (answer.latency_ms, answer.blocked_ms) == (
        (1000.0, None) if counts else (None, 1000 * stopped_s)
    )
    said = [each.message for each in stage.sink.of("warned") if each.code == "blocked"]
    assert len(said) == warned
    assert all(each.startswith("answer 2 took 1.00 s") for each in said)
    assert all(each.endswith("its latency counts") == counts for each in said)


@pytest.mark.parametrize("runs_here", [False, True])
async def test_a_failure_while_this_process_stood_still_counts_if_the_agent_runs_in_it(
    runs_here: bool,
) -> None:
    watchdog = SimpleNamespace(
        lost=lambda start, end: 0.0,
        suspension=lambda at: 5.0,
        pause_cause=lambda at: "it was stopped",
        long_gaps=lambda at: [],
    )
    agent = FakeAgent([PeerError("agent", "away", retryable=True)])
    agent.runs_here = runs_here  # type: ignore[attr-defined]
    stage = await held(agent, parts={"watchdog": watchdog})
    (failed,) = stage.sink.of("request_failed")
    assert failed.counted == runs_here


@pytest.mark.parametrize(
    ("most", "reason", "sent"),
    [(2, "max_turns", 1), (4, "max_turns", 2), (6, "signed_off", 3), (8, "signed_off", 3)],
)
async def test_a_conversation_has_so_many_messages_at_most(
    most: int, reason: str, sent: int
) -> None:
    agent = FakeAgent()
    stage = await held(agent, FakeEvaluator(["one", f"two {SIGNOFF}"]), job={"maxTurns": most})
    (end,) = stage.sink.of("conversation_ended")
    assert (end.reason, end.fault, len(agent.received)) == (reason, "none", sent)
    if reason == "max_turns":
        assert end.detail == f"{most} messages without a sign-off"


async def test_only_the_time_of_answers_after_the_first_counts_towards_the_limit() -> None:
    agent = FakeAgent()
    limits = RunLimits(agent_retries=WITHOUT_WAITS, model_retries=WITHOUT_WAITS, conversation_s=0.0)
    stage = await held(agent, FakeEvaluator(["one", "two"]), options={"limits": limits})
    (end,) = stage.sink.of("conversation_ended")
    assert (end.reason, end.fault, end.detail) == ("timed_out", "agent", "longer than 0 s")
    assert agent.received == ["Hello", "one"]


FACTS = ["I live in Sydney", "I am 40", "I smoke"]


@pytest.mark.parametrize(
    ("told", "given"),
    [
        # what the evaluator says it gave: of its facts, from 1
        (Utterance("x", facts=(1,), no_other_facts=True), [1]),
        (Utterance("x", facts=(3, 1), no_other_facts=True), [1, 3]),
        (Utterance("x", facts=(0, 4, -1), no_other_facts=True), []),
        # what the ledger finds beside it, unless those are all
        (Utterance("I am 40", facts=(1,)), [1, 2]),
        (Utterance("I smoke"), [3]),
        (Utterance("I am 40", facts=(1,), no_other_facts=True), [1]),
    ],
)
async def test_facts_are_counted_from_1_and_each_once(told: Utterance, given: list[int]) -> None:
    stage = await held(
        evaluator=ExactEvaluator(utterances=[told, told]),
        condition="supplied",
        job={"facts": FACTS},
    )
    disclosed = stage.sink.of("fact_disclosed")
    assert [(each.fact, each.text, each.message, each.turn) for each in disclosed] == [
        (number, FACTS[number - 1], 3, 2) for number in given
    ]


async def test_a_message_that_was_cut_is_named_by_its_number() -> None:
    cut = Utterance("so", cut="repeats itself")
    stage = await held(evaluator=ExactEvaluator(utterances=[Utterance("whole"), cut]))
    assert [each.message for each in stage.sink.of("warned") if each.code == "message_cut"] == [
        "only the beginning of the user's message 5 is used: what the model wrote repeats itself"
    ]


@pytest.mark.parametrize(
    ("said", "sent"),
    [([SIGNOFF], []), ([f"thanks {SIGNOFF}"], ["thanks"]), (["Goodbye.", "Bye!"], ["Goodbye."])],
)
async def test_only_what_comes_before_the_sign_off_is_sent(
    said: list[str], sent: list[str]
) -> None:
    agent = FakeAgent()
    stage = await held(agent, FakeEvaluator([*said]))
    assert agent.received == ["Hello", *sent]
    users = [each for each in stage.sink.of("message_completed") if each.role == "user"]
    assert [each.signs_off for each in users] == [False] * len(said) + [True]
    assert [(each.message, each.turn) for each in users] == [(1, 1), (3, 2), (5, 3)][: len(users)]
    (end,) = stage.sink.of("conversation_ended")
    assert end.reason == "signed_off"


@pytest.mark.parametrize(("is_model", "requests"), [(False, 3), (True, 0)])
async def test_the_requests_of_a_model_are_counted_where_they_are_sent(
    is_model: bool, requests: int
) -> None:
    begun: list[str] = []

    class Counting(SimpleNamespace):
        def begin(self, who: str) -> None:
            begun.append(who)

        def __getattr__(self, name: str) -> Any:
            return lambda *given, **more: None

    await held(
        evaluator=FakeEvaluator(["one", "two"]),
        options={"agent_is_model": is_model},
        parts={"budget": Counting()},
    )
    assert begun.count("agent") == requests


def void(note: str, detail: str = "d") -> Violation:
    return Violation("leak", detail, note=note, effect="void")


@pytest.mark.parametrize(
    ("kind", "paid"), [("llm", True), ("scripted", False), ("human", False), ("other", True)]
)
async def test_a_void_message_is_asked_for_again_once_with_the_first_reason(
    kind: str, paid: bool
) -> None:
    evaluator = ExactEvaluator(
        utterances=[Utterance("bad", 3, 4), Utterance("good", 5, 6), Utterance("also bad", 7, 8)]
    )
    found = {
        "bad": [void("not so"), void("nor so"), Violation("long", "d", "", effect="mark")],
        "good": [Violation("odd", "d", "", effect="mark")],
    }
    stage = Stage(
        job(evaluator={"kind": "llm"}),
        evaluators={"withheld": evaluator},
        parts={"guard": lambda view, message: found.get(message, [])},
    )
    stage.job = stage.job.model_copy(
        update={"evaluator": stage.job.evaluator.model_copy(update={"kind": kind})}
    )
    await stage.run(conditions=("withheld",))
    assert [view.note for view in evaluator.views] == ["", "not so", "", ""]
    seen = stage.sink.of("evaluator_violated")
    assert [(each.rule, each.content, each.mended, each.message) for each in seen] == [
        ("leak", "bad", True, 3),
        ("leak", "bad", True, 3),
        ("odd", "good", False, 3),
    ]
    unused = [each for each in stage.sink.of("answers_unused") if each.peer == "evaluator"]
    assert [(each.tokens_in, each.tokens_out, each.message) for each in unused] == (
        [(3, 4, 3)] if paid else []
    )


async def test_a_user_who_leaves_its_role_twice_in_a_row_fails_with_the_second_reason() -> None:
    evaluator = ExactEvaluator(utterances=[Utterance("bad"), Utterance("worse")])
    found = {"bad": [void("not so", "first")], "worse": [void("n", "second"), void("n", "third")]}
    stage = await held(
        evaluator=evaluator, parts={"guard": lambda view, message: found.get(message, [])}
    )
    (end,) = stage.sink.of("conversation_ended")
    assert (end.reason, end.fault, end.detail) == ("evaluator_failed", "evaluator", "leak: second")
    seen = stage.sink.of("evaluator_violated")
    assert [(each.detail, each.mended) for each in seen] == [("first", False), ("second", False)]


async def test_an_unusable_message_is_asked_for_again_once_if_the_evaluator_says_so() -> None:
    def unusable(again: str = "") -> PeerError:
        return PeerError("evaluator", "no use", unusable=True, again=again)

    mended = FakeEvaluator([unusable("shorter"), "fine"])
    stage = await held(evaluator=mended)
    assert [view.note for view in mended.views] == ["", "shorter", ""]
    assert stage.sink.of("conversation_ended")[0].reason == "signed_off"
    for says in ([unusable()], [unusable("shorter"), unusable("shorter")]):
        evaluator = FakeEvaluator([*says, "fine"])
        stage = await held(evaluator=evaluator)
        assert stage.sink.of("conversation_ended")[0].reason == "evaluator_failed"
        assert len(evaluator.views) == len(says)


@pytest.mark.parametrize(
    ("shared", "crowded", "speaks"),
    [(1, True, False), (2, True, True), (2, False, False)],
)
async def test_an_evaluator_waits_for_its_turn_where_others_of_ours_ask_too(
    shared: int, crowded: bool, speaks: bool
) -> None:
    evaluator = FakeEvaluator(
        [PeerError("evaluator", "busy", crowded=crowded, retryable=crowded)] * 6 + ["hello"]
    )
    stage = await held(evaluator=evaluator, options={"shared_agent": shared})
    (end,) = stage.sink.of("conversation_ended")
    assert (end.reason == "signed_off") == speaks
    assert not any(each.counted for each in stage.sink.of("request_failed"))


async def test_whether_the_agent_asked_is_looked_up_for_each_fact() -> None:
    told = Utterance("x", facts=(2, 3), no_other_facts=True)
    stage = await held(
        FakeAgent(["How old are you?"]),
        ExactEvaluator(utterances=[told]),
        condition="supplied",
        job={"facts": FACTS},
    )
    assert [each.asked for each in stage.sink.of("fact_disclosed")] == [True, False]


async def test_a_message_says_how_long_it_was_thought_about() -> None:
    class Slow(FakeEvaluator):
        async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
            await asyncio.sleep(0.05)
            yield Utterance(SIGNOFF)

    users = [
        each
        for each in (await held(evaluator=Slow())).sink.of("message_completed")
        if each.role == "user"
    ]
    assert users[0].thought_ms is None, "nobody thought about the greeting"
    assert 40 <= users[1].thought_ms < 10_000


def trace_of(number: int) -> str:
    return f"00-{number:032x}-{number:016x}-01"


class Traces:
    """Gives each request its trace, and receives no span."""

    told_anything = True

    def conversation(self, emit: Any, spans_s: float) -> Traces:
        return self

    def begin(self, number: int) -> str:
        return trace_of(number)

    def answered(self) -> None:
        pass

    async def settle(self) -> str:
        return "spans of 2 answers are missing"

    def release(self) -> None:
        pass

    def close(self) -> int:
        return 0

    def calls(self, message: int, known: Any) -> list[Any]:
        return []

    def changed(self) -> list[int]:
        return []

    def incomplete(self) -> list[int]:
        return []


@pytest.mark.parametrize("traced", [True, False])
async def test_an_agent_sends_the_trace_of_its_request(traced: bool) -> None:
    sent: list[str] = []

    class Sending(FakeAgent):
        async def send(self, content: str) -> AsyncIterator[Any]:
            sent.append(traces.current.get())
            async for each in super().send(content):
                yield each

    stage = await held(
        Sending(), FakeEvaluator(["more"]), parts={"traces": Traces()} if traced else {}
    )
    assert sent == ([trace_of(2), trace_of(4)] if traced else ["", ""])
    started = [each for each in stage.sink.of("message_started") if each.role == "assistant"]
    assert [each.traceparent or "" for each in started] == sent
    missing = [each.message for each in stage.sink.of("warned") if each.code == "spans"]
    assert missing == ["spans of 2 answers are missing"] * traced
