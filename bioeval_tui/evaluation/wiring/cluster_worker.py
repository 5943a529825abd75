"""What the workers of a Dask cluster do for a run with `--scheduler`: look whether they can hold
its conversations, and hold units of them.

A worker prepares the run as the command does, from the same files at the same paths and with the
keys of its own environment; `fingerprint` shows whether it came to the same. Nothing secret is in
an `Order`, which passes through the scheduler.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bioeval_tui.base.clusters import load_distributed
from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.hosts import host_of
from bioeval_tui.base.proxies import proxy_for, proxy_host
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.evaluation.conversation.on_workers import Part, Unit
from bioeval_tui.evaluation.conversation.plan import RunPlan
from bioeval_tui.evaluation.conversation.run_job import started_fields
from bioeval_tui.evaluation.engine.batch import PreparedRun, hold_part
from bioeval_tui.evaluation.engine.event_loop import fair_loop
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.prepare import open_anew, prepare_run
from bioeval_tui.peers.spending import CallBudget, Rates

REACH_S = 5.0
LOOK_S = 1.0
"""How often a worker asks whether the run was cancelled."""
MOST_REMEMBERED = 8
SAME = (
    "agent", "evaluator", "judge", "graph", "fhir", "hosts", "model", "seed", "trials",
    "conditions", "rehearsal", "job_sha256", "job", "prompts", "cases",
)  # fmt: skip
"""What of `RunStarted` must be the same on every machine, the easiest to understand first."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is told of a run, without credentials.

    `spec` has this run alone, with what the environment of the command decided about its agent and
    models. `cancelled` is the name of the event that is set when it is cancelled.
    """

    token: str
    spec: EngineSpec
    same: dict[str, str]
    rates: Rates
    max_calls: int | None
    max_cost: float | None
    cancelled: str


def fingerprint(plan: RunPlan) -> dict[str, str]:
    """Return what must be the same on every machine, by name, long values as a hash."""
    fields = started_fields(plan)
    return {name: _digest(fields[name]) for name in SAME}


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=_as_json)
    if len(text) <= 200:
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _as_json(value: Any) -> Any:
    return value.model_dump(mode="json")


def look(order: Order) -> list[str]:
    """Return why this worker cannot hold the run's conversations, as sentences; empty if it can."""
    try:
        run = _prepared(order)
        return [*_differences(order, run.plan), *_unreachable(order, run)]
    except BioevalError as error:
        return [clean_line(str(error), 600)]


def _differences(order: Order, plan: RunPlan) -> Iterator[str]:
    """Yield a sentence for the first difference: it often causes the others."""
    own = fingerprint(plan)
    name = next((name for name in SAME if own[name] != order.same.get(name)), None)
    if name is not None:
        there, here = shorten(order.same.get(name, ""), 100), shorten(own[name], 100)
        yield f"it would hold another run: {name} is {here} there, and {there} here"


def _unreachable(order: Order, run: PreparedRun) -> Iterator[str]:
    """Yield a sentence for each peer that does not answer a connection."""
    makers = Makers(
        run.plan.job, _job_dir(order), order.spec, order.spec.runs[0].model, _settings()
    )
    for name, url in makers.called_urls():
        host = host_of(url)
        try:
            _connect(url)
        except OSError as error:
            why = clean_line(str(error), 100)
            yield (
                f"it does not reach the {name} at {host} ({why}); the agent and the models are"
                " called from each worker"
            )


def _connect(url: str) -> None:
    """Connect to the host of a URL, or to its proxy, and leave again. Raises `OSError`."""
    parts = urlsplit(url)
    place = (parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443))
    if proxy := proxy_for(url):
        at = urlsplit(f"//{proxy_host(proxy)}")
        place = (at.hostname or "", at.port or _PORTS[urlsplit(proxy).scheme])
    with socket.create_connection(place, timeout=REACH_S):
        pass


def hold_unit(order: Order, unit: Unit) -> bytes:
    """Hold a unit's conversations; return its part, which says why if it could not begin.

    Our own errors are not raised: another version of the program could not read them.
    """
    _stop_profiling()
    try:
        run = _prepared(order)
        if differs := next(_differences(order, run.plan), ""):
            raise UsageError(differs)
        with asyncio.Runner(loop_factory=fair_loop) as runner:
            part = runner.run(_hold(order, unit, run))
    except BioevalError as error:
        part = Part(failed=clean_line(str(error), 600))
    return part.write()


def _stop_profiling() -> None:
    """Stop Dask's profiler in this worker.

    It looks at the frames of all threads a hundred times a second. Python 3.11 before 3.11.9 can
    stop forever at that while a thread begins (python/cpython#106883), and each message to an agent
    in Python begins one.
    """
    worker = load_distributed().get_worker()
    profiler = worker.periodic_callbacks.get("profile")
    if profiler is not None:
        worker.loop.add_callback(profiler.stop)


async def _hold(order: Order, unit: Unit, run: PreparedRun) -> Part:
    stop = asyncio.Event()
    budget = CallBudget(order.max_calls, order.max_cost)
    budget.calls.update(unit.spent.calls)
    budget.cost = unit.spent.cost
    settings = _settings()
    asking = asyncio.create_task(_stop_when_cancelled(order.cancelled, stop))
    try:
        return await hold_part(
            open_anew(run, order.spec, _job_dir(order), settings),
            unit,
            stop=stop,
            budget=budget,
            longest_pause_s=settings.longest_wait_s,
        )
    finally:
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking


async def _stop_when_cancelled(name: str, stop: asyncio.Event) -> None:
    """Set `stop` when the run was cancelled, as far as the scheduler can be asked."""
    distributed = load_distributed()
    event = distributed.Event(name, client=distributed.get_client())
    while not stop.is_set():
        await asyncio.sleep(LOOK_S)
        with contextlib.suppress(OSError, TimeoutError, RuntimeError, ValueError):
            if await asyncio.to_thread(event.is_set):
                stop.set()


_known: OrderedDict[str, PreparedRun] = OrderedDict()
_preparing = threading.Lock()


def _prepared(order: Order) -> PreparedRun:
    """Return the prepared run, which is remembered: a table of cases can take long to read.

    Raises:
        BioevalError: it cannot be prepared here.
    """
    # A worker's threads would load the job's Python functions at the same time.
    with _preparing:
        run = _known.get(order.token)
        if run is None:
            _note_code(order.spec)
            run = prepare_run(order.spec, order.spec.runs[0], _settings())
            _note_code(order.spec)
            run = replace(run, rates=order.rates)
            _known[order.token] = run
            while len(_known) > MOST_REMEMBERED:
                _known.popitem(last=False)
        return run


_code: dict[str, tuple[int, int]] = {}
"""When the files of the loaded modules were changed, and their sizes."""


def _note_code(spec: EngineSpec) -> None:
    """Note the files of the modules that were loaded from the folders of `--code`.

    Raises:
        UsageError: one was changed since, and this worker would go on with what it has loaded.
    """
    folders = [Path(folder) for folder in spec.code]
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not file or not any(Path(file).is_relative_to(folder) for folder in folders):
            continue
        with contextlib.suppress(OSError):
            found = Path(file).stat()
            now = (found.st_mtime_ns, found.st_size)
            if _code.setdefault(file, now) != now:
                raise UsageError(
                    f"{file} was changed after this worker had loaded it; restart the workers"
                )


def _settings() -> Settings:
    return Settings.from_environment()


def _job_dir(order: Order) -> Path:
    return Path(order.spec.runs[0].job_path).parent
