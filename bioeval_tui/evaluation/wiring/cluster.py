"""`run --scheduler`: the conversations of a batch are held by the workers of a Dask cluster.

`on_cluster` looks, before anything is recorded, whether the run can be distributed and every worker
can hold its conversations. What a worker does is in `cluster_worker.py`, and what the recording
run does with it in `conversation/on_workers.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import platform
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bioeval_tui import __version__
from bioeval_tui.base import clusters
from bioeval_tui.base.credentials import strip_credentials
from bioeval_tui.base.errors import UnavailableError, UsageError
from bioeval_tui.base.hosts import host_of
from bioeval_tui.base.installation import NAME
from bioeval_tui.base.proxies import is_loopback
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.evaluation.conversation.on_workers import (
    LostClusterError,
    LostUnitError,
    Unit,
    Workers,
)
from bioeval_tui.evaluation.engine.batch import PreparedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.cluster_worker import Order, fingerprint, hold_unit, look

LOOK_S = 0.5
GATHER_S = 60.0
"""How long a part may take to arrive once a worker has it, in seconds."""
ALONE_S = 60.0
"""How long a run waits for a worker once the last one has gone, in seconds."""
CANCELLED_S = 5.0
"""How long a cancelled run waits for what its workers have."""


@dataclass(frozen=True, slots=True)
class OnCluster:
    """A batch whose conversations are held elsewhere, and what is said of that before it begins."""

    prepared: list[PreparedRun]
    said: tuple[str, ...] = ()


@contextlib.contextmanager
def on_cluster(spec: EngineSpec, prepared: Sequence[PreparedRun]) -> Iterator[OnCluster]:
    """Give the batch the workers of `spec.scheduler`; without one, leave it as it is.

    Blocks while every worker looks whether it can hold the conversations.

    Raises:
        UsageError: the batch cannot be distributed, or a worker has another version, job or
            setting.
        UnavailableError: the scheduler cannot be used, or a worker does not reach a peer.
    """
    if spec.scheduler is None:
        yield OnCluster([*prepared])
        return
    for run in prepared:
        _require_distributable(spec, run)
    client = clusters.connect(spec.scheduler)
    try:
        threads: dict[str, int] = client.nthreads()
        _require_same_program(client)
        for run in prepared:
            _require_private(spec, run, threads)
        orders = [_order(spec, run) for run in prepared]
        shares = _Shares(spec, prepared, sum(threads.values()))
        orders = [
            replace(order, spec=shares.limit(order.spec, run))
            for order, run in zip(orders, prepared, strict=True)
        ]
        for order in orders:
            _require_ready(client, order)
        places = asyncio.Semaphore(shares.places)
        given = [
            replace(
                run,
                plan=replace(
                    run.plan,
                    shared_agent=shares.places * shares.of(run),
                    hosts=(*run.plan.hosts, _phrase(spec.scheduler, threads)),
                ),
                workers=_DaskWorkers(client, spec.scheduler, order, shares, run, places),
            )
            for order, run in zip(orders, prepared, strict=True)
        ]
        yield OnCluster(given, tuple(_said(spec, shares, threads)))
    finally:
        clusters.close(client)


def _require_distributable(spec: EngineSpec, run: PreparedRun) -> None:
    """Refuse what cannot be held elsewhere. Raises `UsageError`."""
    if spec.resume:
        raise UsageError("a run is resumed on this machine, without --scheduler")
    if spec.starts_agent:
        raise UsageError(
            "--scheduler needs an agent that every worker reaches; one that the run starts itself"
            " is only on this machine"
        )
    if spec.agent_function is not None:
        raise UsageError(
            "--scheduler cannot send a function to the workers; let the job name it"
            " (`target.protocol: python`), in a folder that every worker has (--code)"
        )
    if spec.until_decided is not None:
        raise UsageError(
            "--until-decided decides after each trial, so trials cannot be held by several workers;"
            " leave out --scheduler, or give --repeat"
        )
    if run.otlp is not None:
        raise UsageError(
            "an agent's spans are received on this machine only, so --otlp and `telemetry` cannot"
            " be used with --scheduler"
        )
    if spec.agent_url and strip_credentials(spec.agent_url) != spec.agent_url:
        raise UsageError(
            "the agent's URL has more than an address, which may be secret, and would pass through"
            " the scheduler; set BIOEVAL_AGENT_API_KEY, or what the job names in `headersEnv`, for"
            " each worker"
        )
    if not run.plan.parallel and asyncio.run(_shares_graph(run)):
        raise UsageError(
            "the conversations share one knowledge graph or FHIR server, so they cannot be held by"
            " several workers; use `order: parallel` if the target keeps them apart, --graph none"
            " if no graph is needed, or leave out --scheduler"
        )


async def _shares_graph(run: PreparedRun) -> bool:
    return await run.shares_graph()


def _require_same_program(client: Any) -> None:
    """Raise `UsageError` if a worker has another version of this program or of Python, or lacks the
    program.
    """
    # Functions of the standard library, because ours need not be there.
    programs = client.run(importlib.metadata.version, NAME, on_error="return")
    pythons = client.run(platform.python_version, on_error="return")
    own = platform.python_version_tuple()[:2]
    for worker in sorted(programs):
        version, python = programs[worker], pythons.get(worker)
        if isinstance(version, importlib.metadata.PackageNotFoundError):
            raise UsageError(
                f"worker {clean_line(worker, 100)} has no {NAME}; install version {__version__}"
                " there, with Python " + ".".join(own)
            )
        there = tuple(str(python).split(".")[:2])
        if version != __version__ or there != own:
            raise UsageError(
                f"worker {clean_line(worker, 100)} has {NAME} {clean_line(str(version), 40)} and"
                f" Python {clean_line('.'.join(there), 40)}, and this machine {__version__} and"
                f" {'.'.join(own)}; results may differ, so install the same on both"
            )


def _require_private(spec: EngineSpec, run: PreparedRun, threads: dict[str, int]) -> None:
    """Raise `UsageError` if a sensitive job's transcripts would leave this machine."""
    if not run.plan.job.sensitive:
        return
    for address in (str(spec.scheduler), *threads):
        if not is_loopback(_host(address)):
            raise UsageError(
                "the job is sensitive, but its transcripts would pass through"
                f" {clean_line(_host(address), 100)}; only loopback is allowed"
            )


def _host(address: str) -> str:
    """Return the host of a scheduler's or worker's address, such as `tcp://10.0.0.5:4000`."""
    if address.startswith("inproc://"):
        return "127.0.0.1"  # a thread of this process
    return host_of(address if "://" in address else f"tcp://{address}", any_scheme=True)


def _phrase(scheduler: str, threads: dict[str, int]) -> str:
    named = sorted({str(urlsplit(f"//{_host(address)}").hostname) for address in threads})
    where = named[0] if len(named) == 1 else f"{len(named)} machines"
    return f"the Dask scheduler {_host(scheduler)} and its workers on {where}"


class _Shares:
    """How the limits of a batch are divided among its workers."""

    def __init__(self, spec: EngineSpec, prepared: Sequence[PreparedRun], threads: int) -> None:
        self._asked = spec.concurrency
        self.places = min(threads, spec.concurrency or threads)
        """The number of units that are held at once."""
        rates = [run.requests_per_minute for run in prepared if run.requests_per_minute]
        self.per_minute = min(rates) / self.places if rates else None
        self.small = spec.max_calls is not None or spec.max_cost is not None

    def of(self, run: PreparedRun) -> int:
        """Return how many conversations of a run a worker holds at once."""
        if self._asked is None:
            return run.plan.shared_agent  # both conditions of a trial, if they are parallel
        return self._asked // self.places

    def limit(self, spec: EngineSpec, run: PreparedRun) -> EngineSpec:
        """Return a worker's options, with its share of each limit."""
        return replace(spec, concurrency=self.of(run), requests_per_minute=self.per_minute)


def _order(spec: EngineSpec, run: PreparedRun) -> Order:
    """Return what a worker is told of a run: what this environment decided, and no key."""
    plan, token = run.plan, secrets.token_hex(8)
    mine = next(one for one in spec.runs if one.run_id == plan.run_id)
    known = plan.options
    told = replace(
        spec,
        runs=(RunSpec(mine.run_id, str(Path(mine.job_path).absolute()), mine.model),),
        scheduler=None,
        seed=plan.seed,
        agent_url=known["agent_url"] or None,
        evaluator_model=tuple(known["evaluator_model"] or spec.evaluator_model),
        judge_model=tuple(known["judge_model"] or spec.judge_model),
        # They are the batch's; a worker is told what is left of them with each unit.
        max_calls=None,
        max_cost=None,
    )
    return Order(
        token=token,
        spec=told,
        same=fingerprint(plan),
        rates=run.rates,
        max_calls=spec.max_calls,
        max_cost=spec.max_cost,
        cancelled=f"{NAME} {plan.run_id} {token}",
    )


def _require_ready(client: Any, order: Order) -> None:
    """Raise `UnavailableError` if a worker cannot hold the conversations of a run."""
    answers: dict[str, Any] = client.run(look, order, on_error="return")
    for worker in sorted(answers):
        found = answers[worker]
        if isinstance(found, list) and not found:
            continue
        what = found[0] if isinstance(found, list) else f"{type(found).__name__}: {found}"
        raise UnavailableError(
            f"worker {clean_line(worker, 100)} cannot hold the conversations:"
            f" {clean_line(str(what), 600)} (files must be at the same paths on every machine, and"
            " keys in each worker's environment)"
        )


def _said(spec: EngineSpec, shares: _Shares, threads: dict[str, int]) -> Iterator[str]:
    count = plural(len(threads), "worker")
    units = plural(shares.places, "unit of conversations", "units of conversations")
    yield (
        f"{count} of {clean_line(str(spec.scheduler), 100)} hold {units} at once; all of them reach"
        " the agent and the models, with keys of their own environment"
    )
    if shares.small:
        yield (
            "calls and cost are counted when a unit comes back, so the limit can be exceeded by"
            f" what {units} cost{'s' if shares.places == 1 else ''}; what a worker spent that died"
            " is not known"
        )
    if shares.per_minute:
        yield f"each unit may send {shares.per_minute:g} requests a minute, its share of the limit"


class _DaskWorkers(Workers):
    """The workers of a Dask cluster, for one run."""

    def __init__(
        self,
        client: Any,
        scheduler: str,
        order: Order,
        shares: _Shares,
        run: PreparedRun,
        places: asyncio.Semaphore,
    ) -> None:
        self._client = client
        self._scheduler = clean_line(scheduler, 100)
        self._order = order
        self._semaphore = places
        self._cancelled = False
        self.places = shares.places
        self.share = shares.of(run)
        self.small = shares.small

    def place(self) -> AbstractAsyncContextManager[object]:
        """Return what is entered while a unit is held."""
        return self._semaphore

    async def hold(self, unit: Unit) -> bytes:
        """Return what a worker gave back for a unit.

        Raises:
            LostUnitError: the cluster gave up on it.
            LostClusterError: the cluster is gone, or has no worker any more.
        """
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        future = self._client.submit(hold_unit, self._order, unit, pure=False)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
        try:
            await self._wait(done)
            if future.status == "finished":
                part: bytes = await asyncio.to_thread(future.result, GATHER_S)
                return part
            error = future.exception() if future.status == "error" else None
        except TimeoutError:
            raise LostUnitError("a worker did not hand over what it has") from None
        finally:
            future.release()
        why = f"{type(error).__name__}: {error}" if error else f"its unit was {future.status}"
        raise LostUnitError(clean_line(f"{self._scheduler} gave up on it: {why}", 400))

    async def _wait(self, done: asyncio.Event) -> None:
        """Wait until a unit is done. Raises `LostClusterError` if it cannot be any more."""
        alone_s = cancelled_s = 0.0
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), LOOK_S)
                return
            cancelled_s += LOOK_S * self._cancelled
            if cancelled_s > CANCELLED_S:
                raise LostClusterError("cancelled before the workers gave back what they had")
            if self._client.status != "running":
                raise LostClusterError(f"the Dask scheduler {self._scheduler} is gone")
            known = self._client.scheduler_info()["workers"]
            alone_s = alone_s + LOOK_S if not known else 0.0
            if alone_s > ALONE_S:
                raise LostClusterError(f"{self._scheduler} has had no worker for {ALONE_S:g} s")

    def cancel(self) -> None:
        """Let the workers cancel what they hold, and give back what they have."""
        if not self._cancelled:
            self._cancelled = True
            # In a thread of its own, because a scheduler that does not answer must not keep the
            # run from ending.
            threading.Thread(target=self._tell_workers, name="cancel", daemon=True).start()

    def _tell_workers(self) -> None:
        event = clusters.load_distributed().Event(self._order.cancelled, client=self._client)
        with contextlib.suppress(OSError, TimeoutError, RuntimeError, ValueError):
            event.set()
