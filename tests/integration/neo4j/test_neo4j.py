"""What only a real Neo4j can show."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.base.errors import QueryError
from bioeval_tui.graphs.neo4j import Neo4jGraph
from bioeval_tui.protocols import Agent, PeerError, Reply
from bioeval_tui.sample.agent.service import run_sample_agent
from tests.servers.agents import rest_agent

from .server import REQUIRED, Server, call_script

pytestmark = pytest.mark.real_server


async def test_a_wrong_password_is_refused_at_once_and_not_shown(server: Server) -> None:
    graph = Neo4jGraph(server.uri, server.username, "hunter2")
    with pytest.raises(PeerError, match="refuses the user name or password") as raised:
        await graph.query("RETURN 1 AS one")
    await graph.aclose()
    assert not raised.value.retryable
    assert "hunter2" not in str(raised.value)


async def test_neo4j_refuses_a_write_that_passed_the_check(
    graph: Neo4jGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bioeval_tui.graphs.neo4j.check_read_only", lambda *_, **__: None)
    with pytest.raises(QueryError, match="writes"):
        await graph.query("CREATE (n:Sneaked) RETURN n")
    assert (await graph.snapshot()).labels == {}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("date('2026-11-21')", "2026-11-21"),
        ("datetime('2026-11-21T09:00:00+11:00')", "2026-11-21T09:00:00.000000000+11:00"),
        ("duration('P1D')", "P1D"),
        ("point({x: 1, y: 2})", {"srid": 7203, "coordinates": [1.0, 2.0]}),
        ("1.0 / 0.0", "inf"),
    ],
)
async def test_values_without_a_json_type_become_text(
    graph: Neo4jGraph, expression: str, value: object
) -> None:
    assert (await graph.query(f"RETURN {expression} AS it")).rows == ((value,),)


async def test_nodes_relationships_and_paths_are_objects(graph: Neo4jGraph) -> None:
    await graph.execute(
        "CREATE (:Drug {name: 'warfarin'})-[:TARGETS {n: 1}]->(:Target {name: 'VKORC1'})"
    )
    rows = await graph.query("MATCH p = (d:Drug)-[r]->(t) RETURN d, r, p")
    node, relationship, path = rows.rows[0]
    assert (node["labels"], node["properties"]) == (["Drug"], {"name": "warfarin"})
    assert (relationship["type"], relationship["properties"]) == ("TARGETS", {"n": 1})
    assert relationship["startNode"] == node["id"]
    assert [n["labels"] for n in path["nodes"]] == [["Drug"], ["Target"]]


async def test_a_result_that_is_too_large_is_refused(graph: Neo4jGraph) -> None:
    with pytest.raises(QueryError, match="10,000 rows"):
        await graph.query("UNWIND range(1, 1000000) AS i RETURN i")
    with pytest.raises(QueryError, match="larger than"):
        await graph.query(
            "UNWIND range(1, 10) AS i RETURN reduce(s = 'x', j IN range(1, 20) | s + s) AS big"
        )
    assert (await graph.query("RETURN 1 AS one")).rows == ((1,),)


async def test_a_syntax_error_names_its_column(graph: Neo4jGraph) -> None:
    with pytest.raises(QueryError) as raised:
        await graph.query("MATCH (n)\nRETURN nope")
    assert raised.value.column == len("MATCH (n)\nRETURN ") + 1
    assert "nope" in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_the_sample_agent_can_keep_its_graph_in_neo4j(graph: Neo4jGraph) -> None:
    async with run_sample_agent(graph, tokens_per_second=0) as running:
        agent = rest_agent(running.url, user="ada", chatbot="sample", model="none")
        await agent.open()
        start = await graph.snapshot()
        await say(agent, "Remind me to take warfarin tomorrow at 9 in Sydney, 5 mg")
        await say(agent, "I take aspirin 81 mg")
        rows = await graph.query(
            "MATCH (u:User {name: 'ada'})-[:HAS_REMINDER]->(r:Reminder)-[:ABOUT]->(d:Drug) "
            "RETURN d.name AS drug, r.timeZone AS zone"
        )
        assert rows.rows == (("warfarin", "Australia/Sydney"),)
        assert (await graph.snapshot()).digest != start.digest
        await graph.execute("MATCH (n:DomainNode) DETACH DELETE n")
        assert (await graph.snapshot()).digest == start.digest
        await agent.aclose()


@pytest.mark.timeout(400)
async def test_a_server_that_was_killed_and_restarted_is_used_again() -> None:
    if not REQUIRED and call_script("status", own=True) is None:
        pytest.skip("no Neo4j for tests runs: `scripts/neo4j-for-tests start` brings one up")
    own = call_script("start", "--name", "killed", "--fresh", own=True)
    if own is None:
        (pytest.fail if REQUIRED else pytest.skip)("a second Neo4j cannot be started here")
    assert own is not None
    graph = Neo4jGraph(own.uri, own.username, own.password)
    try:
        async with run_sample_agent(graph, tokens_per_second=0) as running:
            agent = rest_agent(running.url, user="ada", chatbot="sample", model="none")
            await agent.open()
            await say(agent, "I take warfarin 5 mg")
            call_script("stop", "--name", "killed", "--kill", own=True)
            with pytest.raises(PeerError) as raised:
                await say(agent, "What medications do I take?")
            assert (raised.value.status, raised.value.retryable) == (503, True)
            with pytest.raises(PeerError, match="cannot be reached") as away:
                await graph.query("RETURN 1 AS one")
            assert away.value.retryable

            back = call_script(
                "start", "--name", "killed", "--port", own.uri.rpartition(":")[2], own=True
            )
            assert back == own
            reply = await say(agent, "What medications do I take?")
            assert "| warfarin | 5 mg |" in reply.content
            await agent.aclose()
    finally:
        await graph.aclose()
        call_script("stop", "--name", "killed", own=True)


async def say(agent: Agent, text: str) -> Reply:
    pieces: list[Any] = [piece async for piece in agent.send(text)]
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


async def test_the_id_of_a_database_is_the_same_for_everybody_and_unknown_without_access(
    server: Server, graph: Neo4jGraph
) -> None:
    other = Neo4jGraph(server.uri, server.username, server.password)
    wrong = Neo4jGraph(server.uri, server.username, "wrong")
    try:
        assert len(await graph.graph_id()) > 20
        assert await other.graph_id() == await graph.graph_id()
        assert await wrong.graph_id() == ""
    finally:
        await other.aclose()
        await wrong.aclose()
