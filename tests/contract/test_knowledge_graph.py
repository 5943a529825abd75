"""What every knowledge graph does, whatever implements the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bioeval_tui.base.errors import QueryError
from bioeval_tui.graphs.embedded import EmbeddedGraph, available
from bioeval_tui.protocols import KnowledgeGraph, PeerError
from tests.integration.neo4j.server import empty_graph, require_server

ENDLESS = "MATCH (a:N), (b:N), (c:N) WHERE a.i + b.i + c.i < 0 RETURN count(*) AS n"


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[KnowledgeGraph]:
    if reason := available():
        pytest.skip(reason)
    graph = EmbeddedGraph(tmp_path / "folder" / "graph.db")
    yield graph
    await graph.aclose()


@pytest.fixture
async def neo4j() -> AsyncIterator[KnowledgeGraph]:
    async with empty_graph(require_server()) as graph:
        yield graph


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.real_server)])
def graph(request: pytest.FixtureRequest) -> KnowledgeGraph:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("1.0", 1.0),
        ("true", True),
        ("null", None),
        ("'text'", "text"),
        ("'12'", "12"),
        ("'true'", "true"),
        ("'[1]'", "[1]"),
        ("[1, 'a', 2.5, null]", [1, "a", 2.5, None]),
        ("{a: 1, b: [true]}", {"a": 1, "b": [True]}),
        ("9007199254740993", 9007199254740993),
        ("5 / 2", 2),
        ("'a\"b'", 'a"b'),
    ],
)
async def test_values_keep_their_types(
    graph: KnowledgeGraph, expression: str, value: object
) -> None:
    rows = await graph.query(f"RETURN {expression} AS it")
    assert rows.columns == ("it",)
    assert rows.rows == ((value,),)
    assert type(rows.rows[0][0]) is type(value)


async def test_columns_keep_the_order_of_the_query(graph: KnowledgeGraph) -> None:
    rows = await graph.query("UNWIND [2, 1] AS n RETURN n, n * 10 AS tens, 'x' AS a")
    assert rows.columns == ("n", "tens", "a")
    assert rows.rows == ((2, 20, "x"), (1, 10, "x"))


async def test_a_query_without_a_match_has_no_rows(graph: KnowledgeGraph) -> None:
    assert (await graph.query("MATCH (n:Nothing) RETURN n.a AS a")).rows == ()
    assert (await graph.query("MATCH (n:Nothing) RETURN count(n) AS n")).rows == ((0,),)


async def test_what_a_setup_writes_can_be_queried(graph: KnowledgeGraph) -> None:
    await graph.execute(
        "CREATE (:Drug {name: 'warfarin', dose: 5.0})-[:TARGETS {n: 1}]->(:Target {name: 'VKORC1'})"
    )
    rows = await graph.query(
        "MATCH (d:Drug)-[r:TARGETS]->(t) RETURN d.name AS d, d.dose AS dose, type(r) AS kind,"
        " t.name AS t"
    )
    assert rows.rows == (("warfarin", 5.0, "TARGETS", "VKORC1"),)


async def test_parameters_are_never_parsed_as_query_text(graph: KnowledgeGraph) -> None:
    nasty = "it's \"quoted\" \\ '}) DETACH DELETE (n) //\n"
    await graph.execute("CREATE (:Note {text: 'x'})")
    rows = await graph.query(
        "MATCH (n:Note) RETURN $text AS text, n.text = $text AS same", {"text": nasty}
    )
    assert rows.rows == ((nasty, False),)


async def test_a_write_in_a_query_is_refused_and_writes_nothing(graph: KnowledgeGraph) -> None:
    with pytest.raises(QueryError):
        await graph.query("CREATE (n:Sneaked) RETURN n")
    assert (await graph.query("MATCH (n:Sneaked) RETURN count(n) AS n")).rows == ((0,),)


@pytest.mark.parametrize(
    "wrong", ["MATCH (n RETURN n", "RETURN nosuchfunction(1)", "MATCH (n) RETURN missing", ""]
)
async def test_a_query_error_is_reported(graph: KnowledgeGraph, wrong: str) -> None:
    with pytest.raises(QueryError) as raised:
        await graph.query(wrong)
    assert str(raised.value)


async def test_a_setup_error_is_reported(graph: KnowledgeGraph) -> None:
    with pytest.raises(QueryError):
        await graph.execute("CREATE (:Half {n: 1}) CREATE (:Half {n: ")


async def test_a_setup_that_times_out_leaves_nothing_behind(graph: KnowledgeGraph) -> None:
    with pytest.raises(PeerError):
        await graph.execute("UNWIND range(1, 2000000) AS i CREATE (:Half {i: i})", timeout_s=0.3)
    assert (await graph.query("MATCH (n:Half) RETURN count(n) AS n")).rows == ((0,),)


async def test_a_query_that_takes_too_long_is_stopped_and_the_graph_stays_usable(
    graph: KnowledgeGraph,
) -> None:
    await graph.execute("UNWIND range(1, 2000) AS i CREATE (:N {i: i})")
    with pytest.raises(PeerError) as raised:
        await graph.query(ENDLESS, timeout_s=0.2)
    assert raised.value.peer == "graph"
    assert "0.2 s" in str(raised.value)
    assert (await graph.query("RETURN 1 AS one")).rows == ((1,),)


async def test_a_cancelled_query_does_not_delay_the_next(graph: KnowledgeGraph) -> None:
    await graph.execute("UNWIND range(1, 2000) AS i CREATE (:N {i: i})")
    task = asyncio.create_task(graph.query(ENDLESS, timeout_s=60))
    await asyncio.wait({task}, timeout=0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await graph.query("RETURN 1 AS one", timeout_s=10)).rows == ((1,),)


async def test_a_snapshot_counts_nodes_and_detects_other_content(graph: KnowledgeGraph) -> None:
    empty = await graph.snapshot()
    assert empty.labels == {}
    write = "CREATE (:User:Person {name: 'Ada'})-[:TAKES {since: 2020}]->(:Drug {name: 'warfarin'})"
    await graph.execute(write)
    first = await graph.snapshot()
    assert first.labels == {"Drug": 1, "Person": 1, "User": 1}
    assert first.relationships == {"TAKES": 1}
    assert first.digest != empty.digest

    await graph.execute("MATCH (n) DETACH DELETE n")
    assert (await graph.snapshot()).digest == empty.digest
    await graph.execute(write)
    assert (await graph.snapshot()).digest == first.digest, "new ids are no new content"

    await graph.execute("MATCH (d:Drug) SET d.name = 'aspirin'")
    assert (await graph.snapshot()).digest != first.digest
    await graph.execute("MATCH (d:Drug) SET d.name = 'warfarin'")
    await graph.execute("MATCH (:User)-[r:TAKES]->(:Drug) SET r.since = 2021")
    assert (await graph.snapshot()).digest != first.digest


async def test_a_snapshot_detects_a_relationship_between_other_nodes(graph: KnowledgeGraph) -> None:
    nodes = "MERGE (a:N {i: 1}) MERGE (b:N {i: 2}) MERGE (c:N {i: 3})"
    await graph.execute(f"{nodes} CREATE (a)-[:R]->(b)")
    one = await graph.snapshot()
    await graph.execute("MATCH ()-[r:R]->() DELETE r")
    await graph.execute(f"{nodes} CREATE (a)-[:R]->(c)")
    assert (await graph.snapshot()).digest != one.digest


async def test_concurrent_queries_each_get_their_own_answer(graph: KnowledgeGraph) -> None:
    answers = await asyncio.gather(*(graph.query("RETURN $n AS n", {"n": n}) for n in range(20)))
    assert [answer.rows[0][0] for answer in answers] == list(range(20))


async def test_a_closed_graph_is_unavailable(graph: KnowledgeGraph) -> None:
    await graph.query("RETURN 1 AS one")
    await graph.aclose()
    await graph.aclose()
    with pytest.raises(PeerError):
        await graph.query("RETURN 1 AS one")
