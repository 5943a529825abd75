"""Whole jobs whose agent keeps its graph in a real Neo4j."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bioeval_tui.base.errors import JobError
from bioeval_tui.base.settings import Secret
from bioeval_tui.evaluation.wiring import graphs
from bioeval_tui.graphs.neo4j import Neo4jGraph
from bioeval_tui.sample.agent.service import RunningAgent, run_sample_agent
from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs
from tests.servers import openai_server as srv
from tests.servers.models import StandIns
from tests.servers.whole_runs import (
    CLEARING,
    PUBLISHED_JOB,
    WholeRun,
    hold,
    published_script,
    uplifts,
    with_models,
)

from .server import Server

pytestmark = pytest.mark.real_server

SEEDED_JOB = """
target: {user: ada, chatbot: sample}
aspirationalAverage: 60000
evaluator:
  kind: scripted
  lines:
    - say: Remind me to take warfarin tomorrow at 9
    - say: What medications do I take?
scorer: {kind: rules}
facts: [The user lives in Sydney]
tasks:
  - task: Get a reminder to take warfarin
    rules: [{pattern: "done: i'll remind you"}]
  - task: Hear what medications are known
    rules: [{pattern: "warfarin \\\\| 5 mg"}]
setups:
  - cypher: MATCH (n:DomainNode) DETACH DELETE n
  - cypher: "MERGE (u:DomainNode:User {name: 'ada'}) SET u.timeZone = 'Europe/Berlin'"
seeds:
  - text: Ada lives in Sydney. She takes warfarin 5 mg.
  - conversation: [{content: I take aspirin 81 mg}]
assertions:
  - name: the seeded zone is used, and the setup's is not
    cypher: "MATCH (:User {name: 'ada'})-[:HAS_REMINDER]->(r:Reminder) RETURN r.timeZone"
    expected: Australia/Sydney
  - name: both seeded drugs are kept
    cypher: "MATCH (:User {name: 'ada'})-[:TAKES]->(m:Medication) WITH m.drug AS drug \
ORDER BY drug RETURN collect(drug)"
    expected: [aspirin, warfarin]
    invariant: true
  - name: the reminder is about the drug
    cypher: |
      MATCH (r:Reminder)-[:ABOUT]->(d:Drug)
      RETURN count(*) = 1 AND all(x IN collect(d.name) WHERE x =~ 'warf.*')
    expected: true
  - expression: objectContext.entities.count { it.type == "Medication" } == 2
    invariant: true
"""


@pytest.fixture
async def agent(graph: Neo4jGraph) -> AsyncIterator[RunningAgent]:
    async with run_sample_agent(graph, tokens_per_second=0) as running:
        yield running


def neo4j(server: Server) -> dict[str, Any]:
    return {
        "neo_uri": server.uri,
        "neo_uri_is_set": True,
        "neo_username": server.username,
        "neo_password": Secret(server.password),
    }


async def published(
    text: str, server: Server, agent: RunningAgent, folder: Path, **spec: Any
) -> WholeRun:
    async with srv.OpenAIServer(otherwise=StandIns(published_script())) as models:
        settings = with_models(models.url, **neo4j(server))
        return await hold(
            text, folder, settings=settings, agent_url=agent.url, judge_model="judge-1", **spec
        )


async def test_a_whole_job_with_setups_seeds_and_assertions_runs_on_neo4j(
    server: Server, agent: RunningAgent, tmp_path: Path
) -> None:
    settings = {**neo4j(server), "knowledge_url": agent.url}
    run = await hold(SEEDED_JOB, tmp_path, settings=settings, agent_url=agent.url)
    assert run.state.started is not None
    assert run.state.started.graph == f"Neo4j at {server.uri.removeprefix('bolt://')}"
    assert run.result["clean"], run.result["warnings"]
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    for condition, held in run.result["conditions"].items():
        checks = held["assertions"]
        assert [c["status"] for c in checks] == ["passed"] * 4, checks
        assert [c["observed"] for c in checks[:2]] == ["Australia/Sydney", ["aspirin", "warfarin"]]
        assert [s.error for s in run.of("setup_applied", condition)] == [None, None]
        assert [s.applied for s in run.of("seed_applied", condition)] == [True, True]
        assert [m["content"] for m in held["messages"] if "aspirin 81" in m["content"]] == []
        timeline = [
            c for c in run.of("assertion_checked", condition) if c.index == 0 and not c.final
        ]
        assert [c.status for c in timeline] == [
            "failed",
            "passed",
            "passed",
        ], "the graph is asked after each turn"


async def test_the_readmes_job_on_a_graph_that_keeps_its_data_shows_no_uplift(
    server: Server, agent: RunningAgent, tmp_path: Path
) -> None:
    run = await published(PUBLISHED_JOB, server, agent, tmp_path, order="supplied-first")
    assert not run.result["clean"]
    assert "the conditions did not start from the same state" in " ".join(run.result["warnings"])
    assert "passes before the greeting: CypherAssertion" in " ".join(run.result["warnings"])
    assert uplifts(run) == ("not shown", None)
    withheld = run.result["conditions"]["withheld"]["assertions"]
    assert [check["status"] for check in withheld] == [
        "passed",
        "passed",
    ], "what the other conversation left"


async def test_the_readmes_job_with_a_setup_that_clears_the_graph_shows_its_uplift(
    server: Server, agent: RunningAgent, tmp_path: Path
) -> None:
    run = await published(PUBLISHED_JOB + CLEARING, server, agent, tmp_path, order="supplied-first")
    assert run.result["clean"], run.result["warnings"]
    # timing 1, each task 0.5, both assertions hold only with the time zone: (1 + 2·0.5 + 4·a) / 7
    assert run.state.scores() == {"withheld": 0.29, "supplied": 0.86}
    assert uplifts(run) == ("+0.57", pytest.approx(0.57))


async def test_a_wrong_password_is_reported_before_the_first_message(
    server: Server, agent: RunningAgent, tmp_path: Path
) -> None:
    settings = {**neo4j(server), "neo_password": Secret("hunter2"), "knowledge_url": agent.url}
    run = await hold(SEEDED_JOB, tmp_path, settings=settings, agent_url=agent.url)
    (ended,) = run.of("run_ended")
    assert ended.status == "failed"
    assert "refuses the user name or password" in ended.detail
    assert run.state.conversations == {}
    assert "hunter2" not in run.path.read_text(encoding="utf-8")


UNRESTRICTED = """
target: {user: ada, chatbot: my-agent}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: Hello there}]}
scorer: {kind: rules}
facts: []
tasks: []
setups:
  - cypher: CREATE CONSTRAINT published IF NOT EXISTS FOR (n:Published) REQUIRE n.id IS UNIQUE
  - cypher: "MATCH (n:Published) DELETE n; CREATE (:Published {id: 1, text: 'a; b'});"
  - cypher: 'UNWIND range(2, 4) AS id CALL (id) \
{ CREATE (:Published {id: id}) } IN TRANSACTIONS OF 2 ROWS'
  - cypher: CALL db.awaitIndexes(10)
  - cypher: 'LOAD CSV FROM "CSV" AS row CREATE (:Published {id: toInteger(row[0])})'
assertions:
  - {cypher: "MATCH (n:Published) RETURN count(n)", expected: 6, invariant: true}
"""


async def test_unrestricted_setups_are_run_as_published(
    server: Server, agent: RunningAgent, graph: Neo4jGraph, tmp_path: Path
) -> None:
    async def csv(request: web.Request) -> web.Response:
        return web.Response(text="5\n6\n")

    app = web.Application()
    app.router.add_get("/rows.csv", csv)
    async with TestServer(app) as files:
        text = UNRESTRICTED.replace('CSV"', f'{files.make_url("/rows.csv")}"')
        with pytest.raises(JobError, match="--unrestricted-setups") as refused:
            await hold(text, tmp_path, settings=neo4j(server), agent_url=agent.url)
        assert len(refused.value.problems) == 5, "each says how it could run"
        assert all("--unrestricted-setups" in problem.message for problem in refused.value.problems)
        run = await hold(
            text, tmp_path, settings=neo4j(server), agent_url=agent.url, unrestricted_setups=True
        )
    assert [setup.error for setup in run.of("setup_applied")] == [None] * 10
    assert [check["status"] for check in run.result["conditions"]["supplied"]["assertions"]] == [
        "passed"
    ]
    owner = Neo4jGraph(server.uri, server.username, server.password, unrestricted=True)
    await owner.execute("DROP CONSTRAINT published; MATCH (n:Published) DELETE n")
    await owner.aclose()


async def test_a_demo_without_its_neo4j_says_why(server: Server, tmp_path: Path) -> None:
    text = (sample_jobs() / DEMO_JOB).read_text(encoding="utf-8")
    settings = {**neo4j(server), "neo_password": Secret("hunter2")}
    run = await hold(
        text, tmp_path, settings=settings, sample_agent=True, graph="neo4j", mode="rehearsal"
    )
    assert run.result["status"] == "failed"
    assert run.result["detail"].endswith("set NEO_USERNAME and NEO_PASSWORD to its own")


async def test_the_demo_runs_on_neo4j_with_its_agent_in_another_process(
    server: Server, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = graphs.sample_agent_arguments
    at_once = ["--tokens-per-second", "0"]  # the demo's agent talks at a pace to read along
    monkeypatch.setattr(graphs, "sample_agent_arguments", lambda *given: [*told(*given), *at_once])
    monkeypatch.setenv("NEO_URI", server.uri)
    monkeypatch.setenv("NEO_USERNAME", server.username)
    monkeypatch.setenv("NEO_PASSWORD", server.password)
    text = (sample_jobs() / DEMO_JOB).read_text(encoding="utf-8")
    run = await hold(
        text, tmp_path, settings=neo4j(server), sample_agent=True, graph="neo4j", mode="rehearsal"
    )
    assert run.result["clean"], run.result["warnings"]
    checks = run.result["conditions"]["supplied"]["assertions"]
    assert [check["status"] for check in checks] == ["passed"] * 4, checks
    rows = await graph.query("MATCH (r:Reminder) RETURN r.timeZone AS zone")
    assert rows.rows == (("Australia/Sydney",),), "the agent's process kept it there"
    assert not (tmp_path / "data" / "graph.db").exists()
