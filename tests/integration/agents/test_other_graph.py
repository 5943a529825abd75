"""Setups and Cypher assertions are never measured on another graph than the agent's."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from rich.console import Console

from bioeval_tui.evaluation.wiring import graphs
from bioeval_tui.evaluation.wiring.graphs import ComparedGraph
from bioeval_tui.evaluation.wiring.resuming import rerun_offer
from bioeval_tui.graphs.embedded import EmbeddedGraph, graph_id
from bioeval_tui.peers.seams import wrap_plugin
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.result import load_run
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import WholeRun, hold

pytest.importorskip("graphqlite")
JOB = """
target: {user: ada, chatbot: bot, url: "URL"}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: "Please make a note."}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Have a note made, rules: [{pattern: made a note}]}]
assertions:
  - {cypher: "MATCH (n:Note) RETURN count(n)", expected: 0, invariant: true}
"""
OTHER = "0123456789abcdef" * 2


class Telling(RestAgentServer):
    """Says which graph it uses, by the number of messages that it has answered; with None,
    nothing.
    """

    says: Any = staticmethod(lambda messages: None)
    asked: int = 0

    def routes(self, app: web.Application) -> None:
        super().routes(app)
        app.router.add_get("/api/v1/about", self._about)

    async def _about(self, request: web.Request) -> web.Response:
        self.asked += 1
        said = self.says(self.messages)
        return web.json_response({"name": "bot"} if said is None else {"graphId": said})


async def run(agent: Telling, folder: Path, job: str = JOB, **spec: Any) -> WholeRun:
    async with agent:
        return await hold(job.replace("URL", agent.url), folder, **spec)


def ours(folder: Path) -> str:
    """Return the id of the run's embedded graph."""
    path = folder / "data" / "graph.db"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    return graph_id(path)


@pytest.mark.parametrize("choice", ["auto", "embedded"])
@pytest.mark.parametrize("setups", ["", 'setups: [{cypher: "MATCH (n) DETACH DELETE n"}]\n'])
async def test_nothing_is_sent_to_an_agent_that_uses_another_graph(
    choice: str, setups: str, tmp_path: Path
) -> None:
    agent = Telling()
    agent.says = lambda messages: OTHER
    whole = await run(agent, tmp_path, JOB + setups, graph=choice)
    assert whole.state.scores() == {"withheld": None, "supplied": None}
    assert (agent.sessions, agent.messages, whole.of("setup_applied")) == (0, 0, [])
    for ended in whole.of("conversation_ended"):
        assert ended.fault == "unclear", "only the agent says so"
        assert (
            "another knowledge graph than the run's embedded graph; start `bioeval-tui agent`"
            in ended.detail
        )
        assert str(tmp_path / "data" / "graph.db") in ended.detail


@pytest.mark.parametrize("choice", ["auto", "embedded"])
async def test_an_agent_that_uses_the_runs_graph_is_measured(choice: str, tmp_path: Path) -> None:
    agent = Telling()
    mine = ours(tmp_path)
    agent.says = lambda messages: mine
    whole = await run(agent, tmp_path, graph=choice)
    assert whole.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert [started.agents_graph for started in whole.of("conversation_started")] == [
        "same",
        "same",
    ]
    assert "unknown" not in dict(load_run(whole.path).versions).get("knowledge graph", "")


async def test_an_agent_that_is_started_again_with_another_graph_is_noticed(tmp_path: Path) -> None:
    agent = Telling()
    mine = ours(tmp_path)
    agent.says = lambda messages: mine if messages < 2 else OTHER
    whole = await run(agent, tmp_path, graph="embedded")
    assert whole.state.scores() == {"withheld": None, "supplied": None}
    (checked,) = [check for check in whole.of("assertion_checked", "withheld") if check.final]
    assert checked.status == "not_measured"
    assert "another knowledge graph" in checked.error
    assert agent.sessions == 1, "the second conversation is not begun"


async def test_a_report_notes_that_the_agent_does_not_say_which_graph_it_uses(
    tmp_path: Path,
) -> None:
    agent = Telling()
    whole = await run(agent, tmp_path, graph="embedded")
    assert whole.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    loaded = load_run(whole.path)
    assert "unknown whether it is the agent's" in dict(loaded.versions)["knowledge graph"]
    card = Console(file=StringIO(), width=200)
    print_score_card(loaded, card)
    assert (
        "knowledge graph: embedded graph (unknown whether it is the agent's" in card.file.getvalue()
    )  # type: ignore[attr-defined]
    assert whole.of("warned") == []
    assert agent.asked == 1, "it is not asked again"


async def test_without_a_graph_no_advice_is_given_that_cannot_help(tmp_path: Path) -> None:
    agent = Telling()
    agent.says = lambda messages: OTHER
    whole = await run(agent, tmp_path, graph="none")
    assert agent.messages == 4
    check, _ = [check for check in whole.of("assertion_checked") if check.final]
    assert check.error == "the run is without a knowledge graph; leave out --graph none"
    assert rerun_offer(whole.path) == ""


class Bare:
    """A plug-in's graph."""

    identity = "their graph"

    async def query(self, *_: object) -> None: ...

    execute = snapshot = aclose = query


class Named(Bare):
    """One that has an id."""

    async def graph_id(self) -> str:
        return "number 7"


async def test_a_plug_ins_graph_is_compared_if_it_tells_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def says(agent_url: str) -> str:
        return agent_url

    monkeypatch.setattr(graphs, "agents_graph_id", says)
    named, bare = (wrap_plugin("graph", "theirs", make) for make in (Named, Bare))
    assert await ComparedGraph(named, "number 7").other() == ""
    other = await ComparedGraph(named, OTHER).other()
    assert other is not None
    assert other.endswith("the run's their graph; set BIOEVAL_GRAPH_URI to the agent's graph")
    assert await ComparedGraph(bare, OTHER).other() is None
    file = EmbeddedGraph(tmp_path / "graph.db")
    assert await ComparedGraph(file, await file.graph_id()).other() == ""
    await file.aclose()
