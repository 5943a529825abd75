"""Many conversations at once, some with a failing peer: nothing lost, nothing left open, memory
flat.

    uv run python -m benchmarks.soak    # 2,000 conversations, 200 at once, 5 % with a fault
    uv run python -m benchmarks.soak --conversations 60 --at-once 20

Agent and models are in a process of their own (`tests/faults/peers.py`); this one is a headless
run, with its tasks, threads, files, sockets and child processes counted before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.faults import peers
from tests.faults.program import JOB, left_open, left_since
from tests.integration.program import events_of

SEED = 7
AGENT_FAULTS: dict[str, tuple[peers.Fault, int | None]] = {
    "reset": (peers.reset, None),
    "silent": (peers.silent, None),
    "drip": (peers.drip, None),
    "500": (peers.status(500), None),
    "500 once": (peers.status(500), 1),
    "429 once": (peers.status(429, "Retry-After: 0\r\n"), 1),
    "no JSON": (peers.says(b"<html>"), None),
    "another session": (peers.instead(sessionId="s0"), None),
}
MODEL_FAULTS: dict[str, tuple[peers.Fault, int | None]] = {
    "reset": (peers.reset, None),
    "silent": (peers.silent, None),
    "500": (peers.status(500), None),
    "500 once": (peers.status(500), 1),
    "no JSON": (peers.says(b"<html>"), None),
}
MOST_GROWTH_MB = 10
SLOW = ("silent", "drip")
"""Faults that end with a peer's time limit, and so by the clock."""
SPOILT = ("500 once", "429 once")
"""Faults that a conversation survives."""


def _other(
    faults: dict[str, tuple[peers.Fault, int | None]], without: Collection[str]
) -> dict[str, Any]:
    return {kind: fault for kind, fault in faults.items() if kind not in without}


@dataclass
class _Drawn:
    """Which sessions meet which fault: drawn with the seed, by the session's number."""

    share: float
    faults: dict[str, tuple[peers.Fault, int | None]]
    name: str
    met: Counter[str] = field(default_factory=Counter)
    whom: dict[str, str] = field(default_factory=dict)

    def fault_for(self, session: str) -> peers.Fault | None:
        """Return the fault that this request of a session meets, None for none."""
        drawn = random.Random(f"{SEED}/{self.name}/{session}")
        if drawn.random() >= self.share:
            return None
        kind = drawn.choice(sorted(self.faults))
        fault, times = self.faults[kind]
        self.met[session] += 1
        if times is not None and self.met[session] > times:
            return None
        self.whom[session] = kind
        return fault


class SoakAgent(peers.Agent):
    """Fails in some of its sessions."""

    def __init__(self, share: float, without: Collection[str]) -> None:
        super().__init__()
        self.drawn = _Drawn(share, _other(AGENT_FAULTS, without), "agent")

    def fault_of(self, request: peers.Request) -> peers.Fault | None:
        """Draw whether this message meets a fault."""
        self.received.clear()
        if not request.path.endswith("/messages"):
            return None
        return self.drawn.fault_for(request.body["sessionId"])


class SoakModels(peers.Models):
    """Fails in some conversations, known by the session in what the agent said."""

    def __init__(self, share: float, without: Collection[str]) -> None:
        super().__init__()
        self.drawn = _Drawn(share, _other(MODEL_FAULTS, without), "models")

    def fault_of(self, request: peers.Request) -> peers.Fault | None:
        """Draw whether this request meets a fault."""
        self.received.clear()
        found = peers.SESSION.search(peers.prompt_of(request))
        return self.drawn.fault_for(found[1]) if found else None


def serve(share: float, without: Collection[str]) -> None:
    """Be the peers: print where they are; when stdin ends, print which sessions met what."""
    agent, models = SoakAgent(share / 2, without), SoakModels(share, without)
    with peers.serving(agent, models):
        print(json.dumps({"agent": agent.url, "models": models.url}), flush=True)
        sys.stdin.read()
    print(
        json.dumps(
            {
                "agent": agent.drawn.whom,
                "models": models.drawn.whom,
                "sessions": len(agent.sessions),
            }
        )
    )


@dataclass
class Soak:
    """What a soak found."""

    conversations: int
    at_once: int
    seconds: float
    ended: dict[str, int]
    faulty: int
    before: dict[str, int]
    """How many threads, files, sockets and child processes there were."""
    after: dict[str, int]
    left_behind: dict[str, int]
    tasks_left: int
    memory_mb: list[float]
    wrong: list[str]

    @property
    def held(self) -> bool:
        """Whether nothing is wrong, nothing was left, and memory stayed flat."""
        return not (
            self.wrong
            or self.left_behind
            or self.tasks_left
            or self.memory_growth_mb > MOST_GROWTH_MB
        )

    @property
    def memory_growth_mb(self) -> float:
        """How much memory grew from after the first hundred (with everything at once) to the end,
        in MB.
        """
        first = self.memory_mb[min(100, len(self.memory_mb) // 4) :]
        few = max(1, len(first) // 10)
        return statistics.median(first[-few:]) - statistics.median(first[:few])


@contextlib.contextmanager
def peers_beside(
    share: float, without: Sequence[str]
) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Serve the peers in another process; gives where they are, and, after the end, what they
    did.
    """
    done: dict[str, Any] = {}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.soak", "--serve", str(share), "--without", *without],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline()), done
    finally:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, f"the peers ended with {process.returncode}"
        done.update(json.loads(out))


def soak(
    conversations: int,
    at_once: int,
    share: float,
    data_dir: Path,
    timeout_s: float = 2.0,
    without: Sequence[str] = (),
) -> Soak:
    """Hold the conversations in this process; half of them with models, half with script and rules.

    A peer has `timeout_s` for an answer, and no fault of `without`.
    """
    trials = conversations // 4
    os.environ.update(
        BIOEVAL_DATA_DIR=str(data_dir),
        OPENAI_API_KEY="sk-soak",
        BIOEVAL_MODEL_TIMEOUT_S=str(timeout_s),
    )
    jobs = []
    # The models first: what they import belongs to the first hundred.
    for kind, judge in (("llm", "llm"), ("scripted", "rules")):
        jobs.append(data_dir / f"{kind}.yml")
        jobs[-1].write_text(
            JOB.format(timeout_ms=timeout_s * 1000, evaluator=kind, judge=judge)
            + "order: parallel\n",
            encoding="utf-8",
        )
    with peers_beside(share, without) as (urls, done):
        os.environ["OPENAI_BASE_URL"] = f"{urls['models']}/v1"
        before = left_open()
        began = time.monotonic()
        tasks, memory, said = _run(
            ["run", *map(str, jobs), "--agent-url", urls["agent"], "--graph", "none", "--headless",
             "--repeat", str(trials), "--concurrency", str(at_once)]
        )  # fmt: skip
        took = time.monotonic() - began
        left = left_since(before)
        after = left_open()
    events = [event for path in sorted(data_dir.glob("runs/*.jsonl")) for event in events_of(path)]
    return Soak(
        conversations=trials * 4,
        at_once=at_once,
        seconds=took,
        ended=dict(Counter(e["reason"] for e in events if e["kind"] == "conversation_ended")),
        faulty=len({*done["agent"], *done["models"]}),
        before=_by_kind(before),
        after=_by_kind(after),
        left_behind=dict(left),
        tasks_left=tasks,
        memory_mb=memory,
        wrong=[*_wrong(events, trials, done), *said],
    )


def _by_kind(held: Counter[str]) -> dict[str, int]:
    kinds = dict.fromkeys(("thread", "file", "socket", "process"), 0)
    for what, count in held.items():
        kinds[what.partition(" ")[0]] += count
    return kinds


def _run(arguments: list[str]) -> tuple[int, list[float], list[str]]:
    """Run the command line here; return the tasks that were left, memory after each conversation,
    and complaints.
    """
    from bioeval_tui.cli import headless, main as cli
    from bioeval_tui.record import events

    memory: list[float] = []
    left: list[int] = []
    show, run = headless.BatchProgress.show, asyncio.run

    def counted(self: Any, state: Any, event: Any, change: Any) -> None:
        show(self, state, event, change)
        if isinstance(event, events.ConversationScored):
            memory.append(rss_mb())

    def watched(main: Any) -> Any:
        async def whole() -> Any:
            found = await main
            await asyncio.sleep(0)
            left.append(len(asyncio.all_tasks()) - 1)
            return found

        return run(whole())

    errors = io.StringIO()
    headless.BatchProgress.show = counted  # type: ignore[method-assign]
    asyncio.run = watched  # type: ignore[assignment]
    argv, sys.argv = sys.argv, ["bioeval-tui", *arguments]
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            cli.main()
    except SystemExit:
        pass
    finally:
        sys.argv = argv
        headless.BatchProgress.show, asyncio.run = show, run  # type: ignore[method-assign]
    said = [
        line for line in errors.getvalue().splitlines() if "Traceback" in line or "defect" in line
    ]
    return sum(left), memory, said


def _wrong(events: list[dict[str, Any]], trials: int, done: dict[str, Any]) -> list[str]:
    """Return what must not be: conversations lost, twice or without a reason, faults at the wrong
    door.
    """
    found = []
    runs = {event["run_id"] for event in events}
    expected = {
        (r, c, t) for r in runs for c in ("withheld", "supplied") for t in range(1, trials + 1)
    }
    if len(runs) != 2:
        found.append(f"{len(runs)} runs instead of 2")
    for kind in ("conversation_ended", "conversation_scored"):
        held = Counter(
            (e["run_id"], e["condition"], e["trial"]) for e in events if e["kind"] == kind
        )
        found += [f"{kind}: lost: {key}" for key in expected - held.keys()]
        found += [f"{kind}: twice: {key}" for key, times in held.items() if times > 1]
    sessions = {
        (e["run_id"], e["condition"], e["trial"]): e["session_id"]
        for e in events
        if e["kind"] == "conversation_started"
    }
    if len(set(sessions.values())) != len(expected):
        found.append(f"{len(set(sessions.values()))} sessions for {len(expected)} conversations")
    for event in events:
        if event["kind"] != "conversation_scored":
            continue
        key = (event["run_id"], event["condition"], event["trial"])
        if key not in sessions:
            found.append(f"{key}: never began: {event['reason']}")
            continue
        session = sessions[key]
        kinds = {done[peer][session] for peer in ("agent", "models") if session in done[peer]}
        if not kinds - set(SPOILT) and event.get("score") is None:
            found.append(f"{session}: no score without a fault: {event['reason']}")
        if session not in done["agent"] and event["failures"]:
            found.append(f"{session}: {event['failures']} failures without a fault of the agent")
    for run_id in runs:
        numbers = [event["seq"] for event in events if event["run_id"] == run_id]
        if numbers != [*range(1, len(numbers) + 1)]:
            found.append(f"{run_id}: events are missing or twice")
    return found


def rss_mb() -> float:
    """Return this process's resident memory in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    """Run a soak and print what it found; 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--faults", type=float, default=0.05)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--without", nargs="*", default=(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve, options.without)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found = soak(options.conversations, options.at_once, options.faults, Path(folder))
    memory = found.memory_mb
    told = {
        **asdict(found),
        "memory_mb": {
            "after 100": memory[min(100, len(memory) - 1)],
            "highest": max(memory),
            "at the end": memory[-1],
            "growth after 100": found.memory_growth_mb,
        },
    }
    print(json.dumps(told, indent=None if options.json else 2))
    return 0 if found.held else 1


if __name__ == "__main__":
    sys.exit(main())
