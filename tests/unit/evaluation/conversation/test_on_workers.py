"""What workers give back is checked, recorded once, and asked for again where it cannot be used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest

from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.on_workers import (
    ONLY_CANCELS,
    LostClusterError,
    LostUnitError,
    Part,
    RunOnWorkers,
    Unit,
)
from bioeval_tui.evaluation.conversation.plan import Emitter, Parts, RunPlan
from bioeval_tui.evaluation.conversation.run_job import started_fields
from bioeval_tui.peers.spending import CallBudget, Rates, RunBudget, Spent
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent, with_fields, write_event
from bioeval_tui.record.state import RunState, apply_all
from tests.unit.evaluation.conversation import fakes

TRIALS = 4
DEADLY = 3
"""The trial with which something is wrong."""
Change = Callable[[list[RunEvent]], list[RunEvent]]


@dataclass
class FakeWorkers:
    """Give back what was recorded of their units; of the deadly trial, `bad` times what `spoil`
    makes of it.
    """

    recorded: list[RunEvent]
    spoil: Callable[[bytes], bytes] = lambda part: part
    bad: int = 0
    places: int = 2
    share: int = 1
    small: bool = False
    given: list[tuple[int, ...]] = field(default_factory=list)
    cancelled: bool = False

    def __post_init__(self) -> None:
        self.semaphore = asyncio.Semaphore(self.places)

    def place(self) -> AbstractAsyncContextManager[object]:
        return self.semaphore

    async def hold(self, unit: Unit) -> bytes:
        self.given.append(unit.trials)
        await asyncio.sleep(0)
        part = part_of(self.recorded, unit.trials)
        if DEADLY in unit.trials and self.bad:
            self.bad -= 1
            return self.spoil(part)
        return part

    def cancel(self) -> None:
        self.cancelled = True


def part_of(recorded: list[RunEvent], trials: tuple[int, ...]) -> bytes:
    lines = b"".join(write_event(event) for event in recorded if event.trial in trials)
    return Part(lines, Spent({"agent": 3}, 0.5), 9.0).write()


def changed(change: Change) -> Callable[[bytes], bytes]:
    """Return what gives a part back with other events."""

    def spoil(part: bytes) -> bytes:
        head, *lines = part.splitlines(keepends=True)
        told = [events.read_event(line) for line in lines]
        return head + b"".join(map(write_event, change(told)))

    return spoil


def without_score(told: list[RunEvent]) -> list[RunEvent]:
    return [event for event in told if not isinstance(event, events.ConversationScored)]


def of_trial(number: int) -> Change:
    return lambda told: [with_fields(event, trial=number) for event in told]


def and_the_end(told: list[RunEvent]) -> list[RunEvent]:
    where = {"run_id": told[0].run_id, "seq": 9, "at": told[0].at}
    return [*told, events.RunEnded(**where, status="completed")]


@pytest.fixture
async def recorded() -> list[RunEvent]:
    """The events of a run that one process held."""
    stage = fakes.Stage(fakes.job())
    await stage.run(trials=TRIALS)
    return stage.sink.events


async def run(workers: FakeWorkers, budget: CallBudget | None = None) -> RunState:
    """Return the state of a run whose conversations the workers hold."""
    stage, sink = fakes.Stage(fakes.job()), fakes.ListSink()
    plan = RunPlan(
        "20260101-000000-abcd", stage.job, "job", "job.yml", "0" * 64, seed=1, trials=TRIALS,
        shared_agent=workers.places,
    )  # fmt: skip
    whole = RunBudget(budget or CallBudget(), Rates())

    def nobody(*_: Any) -> Any:
        raise AssertionError("a conversation is held here")

    parts = Parts(
        nobody, nobody, stage.judge, stage.check, budget=whole, may_begin=whole.whole.stop_reason
    )
    emitter, control = Emitter(plan.run_id, sink), Control()
    emitter.emit(events.RunStarted, **started_fields(plan))
    await RunOnWorkers(plan, parts, emitter, control, workers).run()
    assert control.act("pause") == ONLY_CANCELS
    assert [event.seq for event in sink.events] == list(range(1, len(sink.events) + 1))
    return apply_all(RunState(), sink.events)


def held(state: RunState) -> list[tuple[int, str]]:
    return sorted((key.trial, key.condition) for key in state.conversations)


WHOLE = [(trial, name) for trial in range(1, TRIALS + 1) for name in ("supplied", "withheld")]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda part: b"", "something else than a part"),
        (lambda part: "no bytes", "something else than a part"),
        (lambda part: part.replace(b'"cost": 0.5', b'"cost": -9'), "something else than a part"),
        (lambda part: Part(failed="no such file").write(), "no such file"),
        (lambda part: part[:-20], "a damaged part"),
        (lambda part: part + part.partition(b"\n")[2], "a conversation twice"),
        (changed(without_score), "without all of its conversations"),
        (changed(of_trial(1)), "not its unit's: .* of trial 1"),
        (changed(and_the_end), "not its unit's: run_ended"),
        (lambda part: part.replace(b"20260101-0", b"20260101-1"), "not its unit's"),
    ],
)  # fmt: skip
async def test_a_part_that_is_not_its_units_is_asked_for_again(
    recorded: list[RunEvent], spoil: Any, said: str
) -> None:
    once = FakeWorkers(recorded, spoil, bad=1)
    state = await run(once)
    assert held(state) == WHOLE
    assert state.ended is not None
    assert state.ended.status == "completed"
    assert sum(DEADLY in trials for trials in once.given) == 2

    always = FakeWorkers(recorded, spoil, bad=99)
    state = await run(always)
    assert held(state) == [key for key in WHOLE if key[0] != DEADLY]
    assert state.ended is not None
    assert state.ended.status == "cancelled"
    assert f"the cluster gave up on trial {DEADLY}: " in state.ended.detail
    assert re.search(said, state.ended.detail)


async def test_what_parts_cost_ends_the_run_for_all_workers(recorded: list[RunEvent]) -> None:
    workers = FakeWorkers(recorded, places=1)
    state = await run(workers, CallBudget(max_cost=1.0))
    assert workers.given == [(1,), (2,)]
    assert state.ended is not None
    assert "about $1.00 spent, the limit is $1" in state.ended.detail


async def test_a_session_that_two_workers_were_given_is_noticed(recorded: list[RunEvent]) -> None:
    shared = [
        with_fields(event, session_id="one")
        if isinstance(event, events.ConversationStarted) and event.condition == "withheld"
        else event
        for event in recorded
    ]
    state = await run(FakeWorkers(shared))
    assert not state.clean
    assert "the agent has one session, “one”" in state.why_not_clean


@pytest.mark.parametrize("error", [LostUnitError("no luck"), LostClusterError("it is gone")])
async def test_what_is_lost_for_good_leaves_a_run_to_resume(
    recorded: list[RunEvent], error: Exception
) -> None:
    class Dying(FakeWorkers):
        async def hold(self, unit: Unit) -> bytes:
            if unit.trials != (1,):
                raise error
            return await super().hold(unit)

    state = await run(Dying(recorded))
    assert held(state) == WHOLE[:2]
    assert state.ended is not None
    assert state.ended.status == "cancelled"
    assert str(error) in state.ended.detail
