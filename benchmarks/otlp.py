"""5,000 spans a second, received while both conditions are on screen: none lost, and the screen not
late.

    uv run python benchmarks/otlp.py                    # five runs; two minutes
    uv run python benchmarks/otlp.py --rate 10000 --runs 1

The program runs in a pseudo-terminal of 160×45 (`bioeval-tui run … --otlp`, `order: parallel`), its
engine and the agent are processes of their own. While the agent answers, it sends spans by
OTLP/HTTP (protobuf, gzip, 512 at a time, as the SDKs do) at the given rate over both conversations
together. Compared are the ids that it sent, by answer, with those in the recording; measured is how
late a task that wants to run every 10 ms runs in the screen's event loop, and the processor time of
the screen, while spans come, beside the same with 100 spans a second.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import aiohttp
from aiohttp import web
from live import HERE, Figures, run_on_screen, seconds
from measure import RUNS, percentile
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

BATCH = 512
FEW = 100.0
"""Spans a second beside which the rate is measured: what the screen costs anyway."""
ANSWER_S = 1.5
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "lookUp",
    "gen_ai.tool.call.arguments": '{"drug": "warfarin", "dose": 5}',
    "gen_ai.tool.call.result": "take with food",
    "gen_ai.provider.name": "benchmark",
}
ONE_TOOL_IN = 100
"""Of so many spans one is a tool call; the others are queries, as instrumented libraries tell them.
"""
QUERY = {
    "db.system.name": "neo4j",
    "db.namespace": "drugs",
    "db.operation.name": "MATCH",
    "db.query.text": (
        "MATCH (d:Drug {name: $name})-[:INTERACTS_WITH]-(o:Drug) RETURN o.name LIMIT 20"
    ),
    "server.address": "graph.example.org",
}


def request_of(trace_id: bytes, parent: bytes, first: int, count: int, *, root: bool) -> bytes:
    """Return a packed request with so many spans, numbered from `first`; with `root` the last
    answers the request.
    """
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "benchmark"
    spans = resource.scope_spans.add().spans
    now = time.time_ns()
    above = (1).to_bytes(8, "big")
    for number in range(first, first + count):
        is_root = root and number == first + count - 1
        span = spans.add(
            trace_id=trace_id, span_id=above if is_root else number.to_bytes(8, "big"),
            parent_span_id=parent if is_root else above, name="execute_tool lookUp",
            start_time_unix_nano=now - 10**6, end_time_unix_nano=now,
        )  # fmt: skip
        for key, value in (TOOL if number % ONE_TOOL_IN == 2 and not is_root else QUERY).items():
            span.attributes.add(key=key).value.string_value = value
    return gzip.compress(request.SerializeToString(), 1)


class Agent:
    """Answers after `ANSWER_S`, and sends spans meanwhile."""

    def __init__(self, endpoint: str, rate: float) -> None:
        self.endpoint = endpoint
        self.rate = rate
        self.sent: dict[str, int] = {}
        """How many spans of each trace were accepted."""

    async def serve(self) -> None:
        """Print the address, and serve until stdin closes."""
        app = web.Application()
        app.router.add_put("/api/v1/chat/sessions", self.session)
        app.router.add_put("/api/v1/chat/messages", self.message)
        app.router.add_get("/sent", self.told)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with aiohttp.ClientSession() as self.client:
            print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
            await asyncio.to_thread(sys.stdin.read)
        await runner.cleanup()

    async def session(self, request: web.Request) -> web.Response:
        """PUT sessions."""
        return web.json_response({"sessionId": f"s{time.time_ns()}"})

    async def told(self, request: web.Request) -> web.Response:
        """GET sent."""
        return web.json_response(self.sent)

    async def message(self, request: web.Request) -> web.Response:
        """PUT messages."""
        body = await request.json()
        _, trace, parent, _ = request.headers["traceparent"].split("-")
        began, number, whole = time.perf_counter(), 2, int(self.rate * ANSWER_S)
        while number < whole + 2:
            count = min(BATCH, whole + 2 - number)
            is_last = number + count == whole + 2
            packed = request_of(
                bytes.fromhex(trace), bytes.fromhex(parent), number, count, root=is_last
            )
            await self.send(packed, trace, count)
            number += count
            await asyncio.sleep(max(0.0, began + (number - 2) / self.rate - time.perf_counter()))
        said = {"content": "I looked it up.", "role": "assistant"}
        return web.json_response({"sessionId": body["sessionId"], "message": said, "events": []})

    async def send(self, packed: bytes, trace: str, count: int) -> None:
        """Send a request; count what was accepted."""
        headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        async with self.client.post(
            f"{self.endpoint}/v1/traces", data=packed, headers=headers
        ) as answer:
            told = ExportTraceServiceResponse.FromString(await answer.read())
            if answer.status == 200:
                self.sent[trace] = (
                    self.sent.get(trace, 0) + count - told.partial_success.rejected_spans
                )


@contextmanager
def agent(endpoint: str, rate: float) -> Iterator[str]:
    """Run the agent; give its address."""
    command = [sys.executable, __file__, "--agent", endpoint, "--rate", str(rate)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


def free_port() -> int:
    """Return a port that was free a moment ago: the agent has to know it before the program takes
    it.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def once(rate: float, turns: int) -> Figures:
    """Hold both conditions; return what was lost, how late the screen was, and the processor
    time.
    """
    port = free_port()
    program = [sys.executable, str(HERE / "live.py"), "--inside"]
    with tempfile.NamedTemporaryFile() as file, agent(f"http://127.0.0.1:{port}", rate / 2) as url:
        options = ("--otlp", str(port))
        with (
            run_on_screen(
                url, turns, program, *options, order="parallel", BENCH_TICKS=file.name
            ) as (
                _,
                events,
            ),
            urllib.request.urlopen(f"{url}/sent") as given,
        ):
            sent: dict[str, int] = json.load(given)
        ticks = json.load(file)
    came = [event for event in events if event["kind"] == "spans_received"]
    kept: dict[str, set[str]] = {}
    strays = 0
    traces = {
        (e["condition"], e["message"]): e["traceparent"].split("-")[1]
        for e in events
        if e["kind"] == "message_started" and "traceparent" in e
    }
    for event in came:
        for span in event["spans"]:
            kept.setdefault(span["trace_id"], set()).add(span["span_id"])
            strays += span["trace_id"] != traces[event["condition"], event["message"]]
    lost = sum(sent.values()) - sum(map(len, kept.values()))
    begin, end = seconds(came[0]), seconds(came[-1])
    ticks = [tick for tick in ticks if begin <= tick[0] <= end]
    used = (ticks[-1][2] - ticks[0][2]) / (ticks[-1][0] - ticks[0][0])
    rates = spans_a_second(came)
    late = sum(len(event["spans"]) for event in came if event.get("late"))
    total = float(sum(sent.values()))
    return {
        "lost": [float(lost)], "strays": [float(strays)], "late": [float(late)], "total": [total],
        "rate": rates, "lag": [tick[1] * 1000 for tick in ticks], "cpu": [100 * used],
        "own": [max(0.0, now[1] - (now[3] - before[3])) * 1000 for before, now in pairwise(ticks)],
    }  # fmt: skip


def spans_a_second(came: list[dict[str, Any]]) -> list[float]:
    """Return how many spans came in each whole second in which any did."""
    found: dict[int, int] = {}
    for event in came:
        found[int(seconds(event))] = found.get(int(seconds(event)), 0) + len(event["spans"])
    return [float(count) for count in found.values()]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rate", type=float, default=5_000, help="spans a second, over both conversations"
    )
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--agent", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.agent:
        asyncio.run(Agent(options.agent, options.rate).serve())
        return
    slow, runs = [], []
    for _ in range(options.runs):
        slow.append(once(FEW, options.turns))
        runs.append(once(options.rate, options.turns))
    total, lost, strays, late = (
        sum(run[name][0] for run in runs) for name in ("total", "lost", "strays", "late")
    )
    print(
        f"{total:,.0f} spans accepted: {lost:.0f} lost, {strays:.0f} at another answer, {late:.0f}"
        " late"
    )
    print(f"spans in the busiest second       {max(max(run['rate']) for run in runs):,.0f}")
    for what, some in ((f"at {options.rate:,.0f} spans/s", runs), (f"at {FEW:,.0f} spans/s", slow)):
        p50, p95, own = (
            statistics.median(percentile(run[name], share) for run in some)
            for name, share in (("lag", 0.5), ("lag", 0.95), ("own", 0.95))
        )
        cpu = statistics.median(run["cpu"][0] for run in some)
        print(
            f"{what:18} lag of the screen p50 {p50:.1f} ms, p95 {p95:.1f} ms; CPU {cpu:.0f} % of a"
            " core"
        )
        print(
            f"{'':18} p95 without the time that other processes kept it from a core: {own:.1f} ms"
        )


if __name__ == "__main__":
    main()
