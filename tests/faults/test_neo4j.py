"""Neo4j fails during a whole run: absent, gone in mid-run, back again, slow.

A wrong password, a write that the server refuses, a huge result and a server that is killed and
started again are in `tests/integration/neo4j`.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.integration.neo4j.server import Server, require_server

from .peers import Agent, Request, serving
from .program import Outcome, Program

pytestmark = pytest.mark.real_server
ASKS = """
assertions:
  - name: the graph answers
    cypher: "RETURN 1 + 1 AS two"
    expected: 2
    timeline: false
    invariant: true
"""


@dataclass
class Proxy:
    """Stands between the program and Neo4j; `delay_s` holds back what the server sends."""

    host: str
    port: int
    delay_s: float = 0.0
    own_port: int = 0
    _server: asyncio.Server | None = None
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def open(self) -> None:
        """Let connections through, on the same port as before."""
        self._server = await asyncio.start_server(
            self._join, "127.0.0.1", self.own_port, reuse_address=True
        )
        self.own_port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Break every connection and take no further one."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        beyond, to_server = await asyncio.open_connection(self.host, self.port)
        self._writers += [writer, to_server]
        await asyncio.gather(
            self._carry(reader, to_server, 0.0), self._carry(beyond, writer, self.delay_s)
        )

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, delay_s: float
    ) -> None:
        try:
            while data := await source.read(65536):
                if delay_s:
                    await asyncio.sleep(delay_s)
                sink.write(data)
                await sink.drain()
        except (ConnectionError, RuntimeError):
            pass
        finally:
            sink.close()


class Cutting(Agent):
    """Cuts Neo4j off as it answers the first session, and lets it back before the second if
    `returns`.
    """

    proxy: Proxy | None = None
    returns = False

    async def before(self, request: Request) -> None:
        await super().before(request)
        assert self.proxy is not None
        if len(self.asked) == 1 and request.path.endswith("/messages"):
            await self.proxy.cut()
        elif self.returns and request.path.endswith("/messages"):
            await self.proxy.open()
            self.returns = False


@pytest.fixture(scope="module")
def server() -> Server:
    """The Neo4j for tests."""
    return require_server()


def job_that_asks(program: Program) -> Path:
    path = program.job(timeout_s=10)
    path.write_text(path.read_text(encoding="utf-8") + ASKS, encoding="utf-8")
    return path


def run(program: Program, server: Server, uri: str, agent: Agent) -> Outcome:
    program.set("NEO_URI", uri)
    program.set("NEO_USERNAME", server.username)
    program.set("NEO_PASSWORD", server.password)
    arguments = [
        "run",
        str(job_that_asks(program)),
        "--agent-url",
        agent.url,
        "--headless",
        "--json",
    ]
    done = program.call(*arguments, "--fail-under", "withheld:0.5,supplied:0.5")
    assert server.password not in done.out + done.err
    return done


def went_on(done: Outcome) -> bool:
    return [done.ended(c)["reason"] for c in ("withheld", "supplied")] == ["signed_off"] * 2


def not_measured(done: Outcome, condition: str) -> str:
    scored = done.scored(condition)
    assert (scored.get("score"), scored["fault"]) == (None, "infrastructure")
    return str(scored["reason"])


def test_an_unreachable_neo4j_is_reported_before_the_first_message(
    program: Program, server: Server
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        agent = Agent()
        with serving(agent):
            done = run(program, server, f"bolt://127.0.0.1:{port}", agent)
    assert done.code == 3
    assert done.result["status"] == "failed"
    assert f"127.0.0.1:{port} cannot be reached" in done.result["detail"]
    assert agent.sessions == [], "nothing is sent, and paid for, that cannot be measured"


@pytest.mark.parametrize("returns", [False, True], ids=["gone in mid-run", "back again"])
def test_a_neo4j_that_stops_in_mid_run_matters_only_if_it_stays_away(
    returns: bool, program: Program, server: Server
) -> None:
    agent = Cutting()
    host, _, port = server.uri.rpartition("//")[2].rpartition("@")[2].partition(":")
    agent.proxy = Proxy(host, int(port))
    agent.returns = returns
    with serving(agent) as do:
        do(agent.proxy.open())
        done = run(program, server, f"bolt://127.0.0.1:{agent.proxy.own_port}", agent)
        do(agent.proxy.cut())
    assert went_on(done)
    if returns:
        assert [done.scored(c)["score"] for c in ("withheld", "supplied")] == [1.0, 1.0]
        assert done.code == 0
    else:
        assert "127.0.0.1" in not_measured(done, "withheld")
        assert done.code == 3


def test_a_slow_neo4j_changes_no_result(program: Program, server: Server) -> None:
    agent = Agent()
    host, _, port = server.uri.rpartition("//")[2].rpartition("@")[2].partition(":")
    proxy = Proxy(host, int(port), delay_s=0.05)
    with serving(agent) as do:
        do(proxy.open())
        done = run(program, server, f"bolt://127.0.0.1:{proxy.own_port}", agent)
        do(proxy.cut())
    assert went_on(done)
    assert [done.scored(c)["score"] for c in ("withheld", "supplied")] == [1.0, 1.0]
    assert done.code == 0
