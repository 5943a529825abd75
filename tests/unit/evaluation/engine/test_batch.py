"""Many runs in one engine: limited, independent, and unaffected by a failing one."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import RecordingError, UnavailableError
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.plan import Parts, RunLimits, RunPlan
from bioeval_tui.evaluation.conversation.resume import (
    Resumption,
    find_resumption,
    missing_conversations,
)
from bioeval_tui.evaluation.engine.batch import PreparedRun, run_batch
from bioeval_tui.peers.spending import CallBudget
from bioeval_tui.protocols import CheckResult, PeerError
from bioeval_tui.record import events
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import recording_path
from bioeval_tui.record.state import RunState, apply_all
from tests.unit.evaluation.conversation.fakes import (
    WITHOUT_WAITS,
    FakeAgent,
    FakeEvaluator,
    FakeJudge,
    job,
)

FAST = RunLimits(agent_retries=WITHOUT_WAITS, model_retries=WITHOUT_WAITS)


class Stages:
    """Runs with fake peers that count how many conversations go on at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.going_on = 0
        self.most = 0
        self.order: list[str] = []
        self.agent: Callable[[], FakeAgent] = FakeAgent

    def run(self, number: int = 0, **changes: Any) -> PreparedRun:
        run_id = f"20260101-00000{number}-abcd"
        names = {"agent": "agent", "evaluator": "evaluator", "judge": "judge"}
        plan = {**names, "trials": 1, "shared_agent": 1, "limits": FAST, **changes.pop("plan", {})}
        return PreparedRun(
            RunPlan(run_id, job(), f"job{number}", "job.yml", "0" * 64, seed=1, **plan),
            changes.pop("open_parts", lambda control: self._parts(run_id)),
            **changes,
        )

    @contextlib.asynccontextmanager
    async def _parts(self, run_id: str) -> AsyncIterator[Parts]:
        stages = self

        class Counted(FakeAgent):
            async def open(self) -> str:
                stages.going_on += 1
                stages.most = max(stages.most, stages.going_on)
                stages.order.append(run_id)
                return await super().open()

            async def aclose(self) -> None:
                stages.going_on -= 1

        async def check(*_: Any) -> CheckResult:
            return CheckResult(True)

        def open_agent(condition: str, trial: int) -> FakeAgent:
            template = stages.agent()
            return Counted(template.answers, stall=template.stall)

        yield Parts(
            open_agent,
            lambda condition, trial: FakeEvaluator(["please", "more"]),
            FakeJudge(),
            check,
        )

    def state(self, number: int = 0) -> RunState:
        path = recording_path(self.folder, f"20260101-00000{number}-abcd")
        return apply_all(RunState(), read_recording(path).events)


@pytest.fixture
def stages(tmp_path: Path) -> Stages:
    return Stages(tmp_path)


async def test_runs_are_sequential_unless_concurrency_is_allowed(stages: Stages) -> None:
    ended = await run_batch([stages.run(n) for n in range(3)], stages.folder)
    assert [end.status for end in ended] == ["completed"] * 3
    assert stages.most == 1
    assert stages.order == sorted(stages.order)


async def test_concurrency_limits_the_conversations_in_progress(stages: Stages) -> None:
    runs = [stages.run(n, plan={"trials": 4, "shared_agent": 3}) for n in range(3)]
    await run_batch(runs, stages.folder)
    assert stages.most == 3
    for n in range(3):
        state = stages.state(n)
        assert len(state.conversations) == 8
        assert state.started is not None
        assert state.started.concurrency == 3


async def test_no_more_trials_wait_between_their_conditions_than_conversations_are_held(
    stages: Stages,
) -> None:
    await run_batch([stages.run(plan={"trials": 20, "shared_agent": 2})], stages.folder)
    scored: Counter[int] = Counter()
    begun: set[int] = set()
    most = 0
    for event in read_recording(recording_path(stages.folder, "20260101-000000-abcd")).events:
        if isinstance(event, events.ConversationStarted):
            begun.add(event.trial or 0)
        elif isinstance(event, events.ConversationScored):
            scored[event.trial or 0] += 1
        most = max(most, sum(scored[trial] < 2 for trial in begun))
    assert len(begun) == 20
    assert most <= 2, "the starting states of the others would be in memory meanwhile"


async def test_runs_that_share_a_graph_are_sequential_and_say_so(stages: Stages) -> None:
    async def shared() -> bool:
        return True

    runs = [
        stages.run(n, plan={"trials": 2, "shared_agent": 4}, shares_graph=shared) for n in range(2)
    ]
    await run_batch(runs, stages.folder)
    assert stages.most == 1
    state = stages.state(1)
    assert state.started is not None
    assert state.started.concurrency == 1
    assert any("order: parallel" in warning.message for warning in state.warnings)


async def test_a_failing_run_does_not_end_the_others(stages: Stages) -> None:
    @contextlib.asynccontextmanager
    async def away(control: Control) -> AsyncIterator[Parts]:
        raise UnavailableError("the graph is away")
        yield

    ended = await run_batch([stages.run(0, open_parts=away), stages.run(1)], stages.folder)
    assert [end.status for end in ended] == ["failed", "completed"]
    assert "the graph is away" in ended[0].detail


async def test_an_existing_recording_is_never_overwritten_and_the_other_runs_continue(
    stages: Stages,
) -> None:
    recording_path(stages.folder, "20260101-000000-abcd").write_bytes(b"something\n")
    with pytest.raises(RecordingError, match="not overwritten"):
        await run_batch([stages.run(0), stages.run(1)], stages.folder)
    assert stages.state(1).ended is not None


async def test_after_max_calls_no_call_is_made_and_the_run_can_be_resumed(stages: Stages) -> None:
    (ended,) = await run_batch(
        [stages.run(plan={"trials": 3})], stages.folder, budget=CallBudget(max_calls=4)
    )
    assert ended.status == "cancelled"
    assert "calls made" in ended.detail
    state = stages.state()
    called = [event for event in _events(stages) if isinstance(event, events.MessageStarted)]
    assert sum(event.role == "assistant" for event in called) == 4
    assert len(missing_conversations(state)) == 5, "the second conversation was under way"

    resumed = stages.run(plan={"trials": 3}, resume=lambda: find_resumption(stages.state()))
    (ended,) = await run_batch([resumed], stages.folder)
    assert ended.status == "completed"
    assert stages.state().resumed == 1
    assert ended.scores == {
        "withheld": pytest.approx(0.95, abs=0.1),
        "supplied": pytest.approx(0.95, abs=0.1),
    }
    whole = _events(stages)
    begun = [(e.condition, e.trial) for e in whole if isinstance(e, events.ConversationStarted)]
    assert (len(begun), len(set(begun))) == (7, 6), "finished conversations are not held again"
    assert [event.seq for event in whole] == list(range(1, len(whole) + 1))


def _events(stages: Stages) -> list[events.RunEvent]:
    return list(read_recording(recording_path(stages.folder, "20260101-000000-abcd")).events)


async def test_self_inflicted_429s_are_waited_for_and_cost_the_agent_nothing(
    stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bioeval_tui.evaluation.engine.pace.FIRST_PAUSE_S", 0.0)

    def busy() -> FakeAgent:
        refused = [
            PeerError("agent", "slow down", retryable=True, status=429, retry_after_s=0.0)
        ] * 9
        return FakeAgent([*refused, "at last"])

    stages.agent = busy
    runs = [stages.run(plan={"trials": 2, "shared_agent": 2})]
    (ended,) = await run_batch(runs, stages.folder)
    assert ended.status == "completed"
    for talk in stages.state().conversations.values():
        assert len(talk.request_failures) == 9, "recorded"
        assert talk.failures == 0, "not counted"
        assert talk.score is not None
        assert talk.score.score is not None
    assert any(warning.code == "slowed" for warning in stages.state().warnings)


async def test_a_429_without_concurrency_is_the_agents_failure(stages: Stages) -> None:
    stages.agent = lambda: FakeAgent([PeerError("agent", "no", retryable=True, status=429)] * 9)
    await run_batch([stages.run()], stages.folder)
    for talk in stages.state().conversations.values():
        assert talk.failures == 4
        assert talk.ended is not None
        assert talk.ended.reason == "agent_failed"


async def test_stopping_a_batch_cancels_runs_in_progress_and_starts_no_more(stages: Stages) -> None:
    stop = asyncio.Event()

    def stalled() -> FakeAgent:
        stop.set()
        return FakeAgent(stall=asyncio.Event())

    stages.agent = stalled
    ended = await run_batch([stages.run(n) for n in range(2)], stages.folder, stop=stop)
    assert [end.status for end in ended] == ["cancelled"]
    assert not recording_path(stages.folder, "20260101-000001-abcd").exists()
    assert missing_conversations(stages.state()) == [("withheld", 1), ("supplied", 1)]


@pytest.mark.parametrize("where", ["agent and graph are opened", "the graph is asked first"])
async def test_a_run_that_waits_before_its_first_conversation_can_be_cancelled(
    stages: Stages, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = asyncio.Event()
    closed: list[str] = []

    async def silent(*_: object) -> None:
        stop.set()
        await asyncio.Event().wait()

    @contextlib.asynccontextmanager
    async def opening(control: Control) -> AsyncIterator[Parts]:
        try:
            if where == "agent and graph are opened":
                await silent()
            async with stages._parts("r") as parts:
                yield parts
        finally:
            closed.append("parts")

    monkeypatch.setattr("bioeval_tui.evaluation.conversation.run_job.preflight", silent)
    async with asyncio.timeout(60):
        (ended,) = await run_batch([stages.run(open_parts=opening)], stages.folder, stop=stop)
    assert ended.status == "cancelled"
    assert closed == ["parts"]
    assert stages.order == [], "no conversation began"
    assert missing_conversations(stages.state()) == [("withheld", 1), ("supplied", 1)]


async def test_a_full_disk_is_reported_and_the_run_continues_when_there_is_space(
    stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = 2

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            nonlocal refusals
            if refusals:
                refusals -= 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(data)

    monkeypatch.setattr("bioeval_tui.record.recorder.RETRY_S", 0.001)
    monkeypatch.setattr("bioeval_tui.record.recorder.io.FileIO", Full)
    (ended,) = await run_batch([stages.run()], stages.folder)
    assert ended.status == "completed"
    said = " ".join(warning.message for warning in stages.state().warnings)
    assert "No space left on device" in said


async def test_a_run_cut_off_anywhere_resumes_to_the_same_conversations(stages: Stages) -> None:
    plan = {"trials": 2}
    (whole,) = await run_batch([stages.run(plan=plan)], stages.folder)
    path = recording_path(stages.folder, whole.run_id)
    undisturbed = path.read_bytes()
    expected = said(stages.state())
    first_line = undisturbed.index(b"\n") + 1
    for cut in random.Random(7).sample(range(first_line, len(undisturbed)), 20):
        path.write_bytes(undisturbed[:cut])
        state = stages.state()
        owed = missing_conversations(state)
        resumed = stages.run(plan=plan, resume=lambda: find_resumption(stages.state()))
        (ended,) = await run_batch([resumed], stages.folder)
        assert (ended.status, ended.scores) == (whole.status, whole.scores), cut
        assert said(stages.state()) == expected, cut
        recording = read_recording(path)
        assert recording.problems == (), cut
        again = [
            (e.condition, e.trial)
            for e in recording.events
            if isinstance(e, events.ConversationStarted)
        ]
        assert all(again.count(key) == 1 for key in again if key not in owed), cut


def said(state: RunState) -> dict[object, list[str]]:
    return {
        key: [message.text for message in talk.messages]
        for key, talk in state.conversations.items()
    }


async def test_a_bug_in_one_conversation_does_not_end_the_others(stages: Stages) -> None:
    made: list[FakeAgent] = []

    def first_is_broken() -> FakeAgent:
        made.append(FakeAgent())
        if len(made) == 1:
            made[0].answers = [RuntimeError("no such thing")]  # type: ignore[list-item]
        return made[-1]

    stages.agent = first_is_broken
    (ended,) = await run_batch([stages.run(plan={"trials": 2})], stages.folder)
    scored = [talk.score for talk in stages.state().conversations.values()]
    assert [score.score is None for score in scored if score] == [True, False, False, False]
    assert scored[0] is not None
    assert scored[0].fault == "program"
    assert "a bug in this program" in scored[0].reason
    assert ended.scores["supplied"] is not None


async def test_a_resumed_run_reads_the_recording_after_locking_it(stages: Stages) -> None:
    fcntl = pytest.importorskip("fcntl")
    plan = {"trials": 2}
    (whole,) = await run_batch([stages.run(plan=plan)], stages.folder)
    path = recording_path(stages.folder, whole.run_id)
    finished = path.read_bytes()
    path.write_bytes(finished[: len(finished) // 3])

    def read() -> Resumption:
        with pytest.raises(BlockingIOError), path.open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        return find_resumption(stages.state())

    resumed = stages.run(plan=plan, resume=read)
    path.write_bytes(finished)  # another program was quicker
    with pytest.raises(RecordingError, match="already complete"):
        await run_batch([resumed], stages.folder)
    assert path.read_bytes() == finished
    with path.open("rb") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody holds it any more


async def test_trials_that_another_program_added_meanwhile_are_kept(stages: Stages) -> None:
    await run_batch([stages.run(plan={"trials": 3})], stages.folder)
    state = stages.state()
    path = recording_path(stages.folder, "20260101-000000-abcd")
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"conversation_scored"' in line)
    path.write_bytes(b"".join(lines[:last]))
    resumed = stages.run(plan={"trials": 1}, resume=lambda: find_resumption(stages.state()))
    (ended,) = await run_batch([resumed], stages.folder)
    assert (ended.status, missing_conversations(stages.state())) == ("completed", [])
    assert ended.scores == pytest.approx(state.ended.scores if state.ended else {})


async def test_resuming_a_run_that_only_lacks_its_end_calls_nobody(stages: Stages) -> None:
    (whole,) = await run_batch([stages.run()], stages.folder)
    path = recording_path(stages.folder, whole.run_id)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))

    def nobody(control: Control) -> Any:
        raise AssertionError("asked")

    resumed = stages.run(open_parts=nobody, resume=lambda: find_resumption(stages.state()))
    (ended,) = await run_batch([resumed], stages.folder)
    assert (ended.status, ended.scores, ended.mean) == ("completed", whole.scores, whole.mean)
    assert [event.kind for event in read_recording(path).events][-2:] == [
        "run_resumed",
        "run_ended",
    ]


@pytest.mark.parametrize("when", ["full from the start", "full in the middle"])
async def test_a_run_that_waits_for_the_disk_can_be_cancelled(
    stages: Stages, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 0 if when == "full from the start" else 2
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            nonlocal room
            if not room:
                loop.call_soon_threadsafe(stop.set)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            room -= 1
            return super().write(data)

    monkeypatch.setattr("bioeval_tui.record.recorder.RETRY_S", 0.001)
    monkeypatch.setattr("bioeval_tui.evaluation.engine.batch.DISK_S", 0.01)
    monkeypatch.setattr("bioeval_tui.record.recorder.io.FileIO", Full)
    async with asyncio.timeout(60):
        with pytest.raises(
            RecordingError, match=r"No space left.*runs resume 20260101-000000-abcd"
        ):
            await run_batch([stages.run()], stages.folder, stop=stop)
    assert not [*stages.folder.glob("*.live")]


class AfterRounds:
    """Decides after so many trials of all runs."""

    def __init__(self, rounds: int, runs: int) -> None:
        self._left = rounds * runs * 2
        self.words = f"decided after {rounds} rounds"

    def take(self, event: events.RunEvent) -> None:
        self._left -= isinstance(event, events.ConversationScored)

    @property
    def decided(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize("at_once", [1, 4])
async def test_a_batch_stops_after_the_same_trials_once_it_is_decided(
    stages: Stages, at_once: int
) -> None:
    runs = [stages.run(n, plan={"trials": 9, "shared_agent": at_once}) for n in range(3)]
    ended = await run_batch(runs, stages.folder, stopping=AfterRounds(2, 3))
    assert [(end.status, end.trials) for end in ended] == [("completed", 2)] * 3
    assert all(None not in end.scores.values() for end in ended)
    for n in range(3):
        state = stages.state(n)
        assert len(state.conversations) == 4
        assert state.started is not None
        assert state.started.trials == 2
        assert "decided after 2 rounds" in [warning.message for warning in state.warnings]
        assert not missing_conversations(state, state.started.trials)


async def test_a_batch_whose_runs_share_a_graph_is_decided_one_conversation_at_a_time(
    stages: Stages,
) -> None:
    async def shared() -> bool:
        return True

    plan = {"trials": 9, "shared_agent": 4}
    runs = [stages.run(n, plan=plan, shares_graph=shared) for n in range(2)]
    ended = await run_batch(runs, stages.folder, stopping=AfterRounds(2, 2))
    assert [(end.status, end.trials) for end in ended] == [("completed", 2)] * 2
    assert stages.most == 1
    assert any("order: parallel" in warning.message for warning in stages.state(1).warnings)


async def test_a_failed_run_does_not_block_the_decision(stages: Stages) -> None:
    @contextlib.asynccontextmanager
    async def broken(control: Control) -> AsyncIterator[Parts]:
        raise UnavailableError("no graph")
        yield

    runs = [stages.run(0, plan={"trials": 3}), stages.run(1, open_parts=broken, plan={"trials": 3})]
    ended = await run_batch(runs, stages.folder, stopping=AfterRounds(9, 2))
    assert [end.status for end in ended] == ["completed", "failed"]
    assert len(stages.state(0).conversations) == 6


@pytest.mark.parametrize("trials", [3, 4])
async def test_a_whole_run_that_is_resumed_with_more_trials_holds_them(
    stages: Stages, trials: int
) -> None:
    await run_batch([stages.run(plan={"trials": 2})], stages.folder)
    resumed = stages.run(plan={"trials": trials}, resume=lambda: find_resumption(stages.state()))
    (ended,) = await run_batch([resumed], stages.folder)
    held = [(key.condition, key.trial) for key in stages.state().conversations]
    numbers = range(1, trials + 1)
    assert sorted(held) == [(name, n) for name in ("supplied", "withheld") for n in numbers]
    assert (ended.status, missing_conversations(stages.state(), trials)) == ("completed", [])
