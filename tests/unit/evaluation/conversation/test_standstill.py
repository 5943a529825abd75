"""A suspended process is distinguished from a busy one, and a latency that the program itself
spoilt does not count.
"""

from __future__ import annotations

import time

import pytest

from bioeval_tui.evaluation.conversation.standstill import TICK_S, Gap, Watchdog
from bioeval_tui.record import events
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import result_of
from tests.unit.evaluation.conversation import fakes


class Clocks:
    """Clocks that are set by hand."""

    def __init__(self) -> None:
        self.now, self.busy, self.slept, self.starved = 100.0, 1.0, 0.0, 7.0
        self.watchdog = Watchdog(
            lambda: self.now, lambda: self.busy, lambda: self.slept, lambda: self.starved
        )
        self.watchdog.tick()

    def pass_by(self, seconds: float, busy: float = 0.0) -> None:
        """Let the loop run again after so many seconds more than a tick."""
        self.now += TICK_S + seconds
        self.busy += busy
        self.watchdog.tick()


@pytest.mark.parametrize(
    ("gap_s", "on_processor_s", "suspended_s", "lost_s"),
    [
        (5.0, 0.0, 5.0, 5.0),
        (5.0, 0.4, 5.0, 5.0),
        (5.0, 4.0, 0.0, 5.0),
        (0.6, 0.0, 0.0, 0.0),
        (0.6, 0.5, 0.0, 0.6),
        (0.2, 0.2, 0.0, 0.0),
    ],
    ids=[
        "stopped",
        "stopped and a little work",
        "flooded",
        "a busy machine",
        "blocked",
        "ordinary work",
    ],
)
def test_a_gap_without_processor_time_is_a_suspended_process(
    gap_s: float, on_processor_s: float, suspended_s: float, lost_s: float
) -> None:
    clocks = Clocks()
    clocks.pass_by(gap_s, on_processor_s)
    assert clocks.watchdog.suspension(100.0) == pytest.approx(suspended_s)
    assert clocks.watchdog.lost(100.0, clocks.now) == pytest.approx(lost_s)
    assert clocks.watchdog.stopped(100.0, clocks.now) == pytest.approx(suspended_s)
    assert clocks.watchdog.suspension(clocks.now) == 0.0, "it is over"


@pytest.mark.parametrize(
    ("waited_s", "cause"),
    [
        (0.2, "it was stopped, or the machine was asleep"),
        (1.8, "other work kept this machine busy"),
    ],
)
def test_a_process_that_waits_for_a_processor_was_not_stopped(waited_s: float, cause: str) -> None:
    clocks = Clocks()
    clocks.starved += waited_s
    clocks.pass_by(2.0)
    assert clocks.watchdog.pause_cause(100.0) == cause
    was_stopped = "stopped" in cause
    assert clocks.watchdog.stopped(100.0, clocks.now) == pytest.approx(2.0 * was_stopped)
    assert clocks.watchdog.suspension(100.0) == pytest.approx(2.0), (
        "nobody is to blame for what failed then"
    )


def test_only_the_part_of_a_gap_that_lies_in_a_latency_is_lost_to_it() -> None:
    clocks = Clocks()
    clocks.pass_by(2.0, 2.0)
    assert clocks.watchdog.lost(101.0, 101.5) == pytest.approx(0.5)
    assert clocks.watchdog.lost(103.0, 104.0) == 0.0


def test_a_machine_that_slept_is_suspended_although_its_clock_stood_still() -> None:
    clocks = Clocks()
    clocks.slept += 3600.0
    clocks.pass_by(0.0)
    assert clocks.watchdog.suspension(100.0) == pytest.approx(3600.0)
    assert clocks.watchdog.lost(100.0, clocks.now) == 0.0, "a latency leaves the sleep out"


def test_gaps_of_over_five_seconds_are_listed() -> None:
    clocks = Clocks()
    for gap_s in (4.0, 6.0, 9.0):
        clocks.pass_by(gap_s, gap_s)
    assert [round(gap.length) for gap in clocks.watchdog.long_gaps(100.0)] == [6, 9]


def test_nothing_is_found_before_somebody_watches() -> None:
    assert Watchdog().lost(0.0, time.monotonic()) == 0.0


class Blocked(Watchdog):
    """Says that the loop did not run for the first answers."""

    def __init__(self, answers: int, gaps: tuple[Gap, ...] = ()) -> None:
        super().__init__()
        self._answers, self._long = answers, list(gaps)

    def lost(self, start: float, end: float) -> float:
        """Return half of the latency, or nothing."""
        self._answers -= 1
        return (end - start) / 2 if self._answers >= 0 else 0.0

    def stopped(self, start: float, end: float) -> float:
        """Return the same: it was suspended."""
        return (end - start) / 2

    def long_gaps(self, moment: float) -> list[Gap]:
        """Return what was given."""
        return self._long


def stage(watchdog: Watchdog) -> fakes.Stage:
    """Return a run of two answers."""
    found = fakes.Stage(
        fakes.job(), parts={"watchdog": watchdog}, options={"conditions": ("withheld",)}
    )
    found.evaluators["withheld"] = fakes.FakeEvaluator(["And tomorrow?"])
    return found


async def test_a_latency_in_which_the_program_did_not_run_says_so_and_does_not_count() -> None:
    run = stage(Blocked(1))
    state = await run.run()
    first, second = run_document(result_of(state))["conditions"]["withheld"]["latencies"]
    assert (first["latency_ms"], first["first_token_ms"], round(first["blocked_ms"])) == (
        None,
        None,
        125,
    )
    assert (round(second["latency_ms"]), second["blocked_ms"]) == (250, None)
    (talk,) = state.conversations.values()
    assert talk.score is not None
    assert (talk.score.score, round(talk.score.average_latency_ms or 0)) == (1.0, 250)
    (warned,) = run.sink.of("warned")
    assert "answer 2 took 0.25 s, and this program did not run for 0.12 s of them" in warned.message


async def test_without_a_latency_that_counts_nothing_is_measured_and_nobody_is_to_blame() -> None:
    for tasks in ([{"task": "set a reminder"}], []):
        run = stage(Blocked(2))
        run.job = fakes.job(tasks=tasks)
        (talk,) = (await run.run()).conversations.values()
        assert talk.score is not None
        assert (talk.score.score, talk.score.fault) == (None, "infrastructure")
        assert (
            "timing not measured: this program did not run during the answers" in talk.score.reason
        )


async def test_a_pause_of_this_program_does_not_end_the_run() -> None:
    state = await stage(Blocked(99)).run(trials=5)
    assert [
        talk.score is not None and talk.score.fault for talk in state.conversations.values()
    ] == ["infrastructure"] * 5
    assert state.ended is not None
    assert state.ended.status == "completed"


async def test_a_run_names_what_blocked_it_for_over_five_seconds_in_one_piece() -> None:
    run = stage(Blocked(0, (Gap(101.0, 6.0, False), Gap(120.0, 9.5, True))))
    await run.run()
    (warned,) = run.sink.of("warned")
    assert isinstance(warned, events.Warned)
    assert (
        "did not run for over 5 s in one piece, 2 times, the longest 10 s (it was stopped"
        in warned.message
    )
