"""The knowledge graph of a run: the user's Neo4j, the sample agent's embedded graph, or a
plug-in's.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Protocol

from bioeval_tui import plugins
from bioeval_tui.base.addresses import NEO4J, url_problem
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import private_dir
from bioeval_tui.base.hosts import host_of
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line, parse_json
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.peers.seams import KnowledgeGraph, PeerError, Wrapped, wrap_plugin

if TYPE_CHECKING:
    from bioeval_tui.graphs.neo4j import Neo4jGraph

ABOUT_S, MAX_ABOUT = 2.0, 100_000
"""Timeout in seconds, and maximum bytes, of an agent's description of itself."""
CHOICES = ("auto", "embedded", "neo4j", "none")


class IdentifiedGraph(KnowledgeGraph, Protocol):
    """A graph with an id that the agent which uses it can report."""

    async def graph_id(self) -> str:
        """Return the id; empty if it is not known."""
        ...


def require_name(name: str) -> None:
    """Raise `UsageError`, naming the others, unless `name` is a choice or a plug-in.

    Imports no plug-in.
    """
    if name not in CHOICES:
        plugins.require("graphs", name)


async def open_graph(
    spec: EngineSpec, settings: Settings, agent_url: str
) -> tuple[IdentifiedGraph | None, str]:
    """Return the graph, or None with one sentence saying why Cypher is not measured.

    `auto` takes Neo4j when NEO_URI or NEO_PASSWORD is set, and the embedded graph only for the
    sample agent, which says which graph it uses: querying our own empty graph about another agent
    would measure nothing.
    """
    choice = await _choose(spec, settings, agent_url)
    if spec.graph == "none":
        return None, "the run is without a knowledge graph; leave out --graph none"
    if choice == "none":
        return (
            None,
            "no knowledge graph is configured; set NEO_URI and NEO_PASSWORD to the agent's Neo4j",
        )
    if choice == "neo4j":
        return neo4j_graph(settings, unrestricted=spec.unrestricted_setups), ""
    if choice != "embedded":
        make: plugins.MakeGraph = plugins.load("graphs", choice)
        uri = settings.graph_uri.get_secret_value() if settings.graph_uri else ""
        return wrap_plugin("graph", choice, lambda: make(uri)), ""

    from bioeval_tui.graphs.embedded import (  # the engine alone opens graphs
        EmbeddedGraph,
        available,
    )

    why_not = available()
    if why_not:
        return None, why_not
    private_dir(settings.data_dir)
    return EmbeddedGraph(settings.graph_file), ""


def neo4j_graph(settings: Settings, *, unrestricted: bool = False) -> Neo4jGraph:
    """Return the Neo4j of the settings; `unrestricted` as setups are."""
    from bioeval_tui.graphs.neo4j import Neo4jGraph  # its driver loads slowly

    password = settings.neo_password.get_secret_value() if settings.neo_password else ""
    return Neo4jGraph(settings.neo_uri, settings.neo_username, password, unrestricted=unrestricted)


async def require_reachable(spec: EngineSpec, settings: Settings) -> None:
    """Check the sample agent's Neo4j first, because its error is clearer than that of an agent that
    does not start.

    Raises:
        PeerError: it cannot be reached, or refuses the password.
    """
    if await _choose(spec, settings, "") == "neo4j":
        graph, _ = await open_graph(spec, settings, "")
        assert graph is not None
        try:
            await graph.query("RETURN 1 AS reached", timeout_s=5.0)
        finally:
            await graph.aclose()


def describe(spec: EngineSpec, settings: Settings) -> str | None:
    """Return the name of the graph before it is opened.

    Raises:
        UsageError: NEO_URI is not a Neo4j URI.
    """
    if spec.graph == "neo4j" or (spec.graph == "auto" and _neo4j_is_set(settings)):
        if problem := url_problem(settings.neo_uri, NEO4J):
            raise UsageError(f"NEO_URI: {problem}")
        return f"Neo4j at {host_of(settings.neo_uri, any_scheme=True)}"
    if spec.graph not in CHOICES:
        return clean_line(spec.graph, 100)
    if spec.graph == "embedded" or spec.sample_agent:
        return "embedded graph"
    return None


def is_embedded(settings: Settings, spec: EngineSpec | None = None) -> bool:
    """Return whether Cypher would run on the embedded graph, judging only by the settings."""
    if spec is None:
        return not _neo4j_is_set(settings)
    return spec.graph == "embedded" or (
        spec.graph == "auto" and spec.sample_agent and not _neo4j_is_set(settings)
    )


def sample_agent_arguments(spec: EngineSpec, settings: Settings) -> list[str]:
    """Return the options that make the sample agent use the same graph."""
    if spec.graph == "neo4j" or (spec.graph == "auto" and _neo4j_is_set(settings)):
        return ["--neo4j"]
    return ["--graph", str(settings.graph_file)]


async def _choose(spec: EngineSpec, settings: Settings, agent_url: str) -> str:
    if spec.graph != "auto":
        return spec.graph
    if _neo4j_is_set(settings):
        return "neo4j"
    if spec.sample_agent or await agents_graph_id(agent_url):
        return "embedded"
    return "none"


def _neo4j_is_set(settings: Settings) -> bool:
    return settings.neo_uri_is_set or settings.neo_password is not None


class ComparedGraph:
    """Compares the graph that an agent says it uses (`graphId` of GET `/api/v1/about`) with the one
    that is queried.
    """

    def __init__(self, graph: IdentifiedGraph, agent_url: str) -> None:
        self._graph = graph
        self._agent_url = agent_url
        self._compared = self._silent = False

    async def other(self) -> str | None:
        """Return why the agent's graph is another one, with the ways out; empty if it is this one,
        None if unknown.
        """
        if self._silent:
            return None
        theirs = await agents_graph_id(self._agent_url)
        ours = await self._graph.graph_id() if theirs else ""
        self._compared = self._compared or bool(theirs and ours)
        self._silent = theirs is not None and not self._compared  # it need not be asked again
        if not (theirs and ours):
            return None
        if theirs == ours:
            return ""
        return (
            "the agent says that it uses another knowledge graph than the run's"
            f" {self._graph.identity}; {self._way_out()}"
        )

    def _way_out(self) -> str:
        from bioeval_tui.graphs.embedded import EmbeddedGraph  # as above

        if isinstance(self._graph, Wrapped):
            return "set BIOEVAL_GRAPH_URI to the agent's graph"
        if isinstance(self._graph, EmbeddedGraph):
            path = clean_line(shlex.quote(str(self._graph.path)))
            return (
                "start `bioeval-tui agent` with the BIOEVAL_DATA_DIR of this run, or with --graph"
                f" {path}; if the agent's graph is in Neo4j, set NEO_URI and NEO_PASSWORD"
            )
        return (
            "set NEO_URI and NEO_PASSWORD to the agent's Neo4j; `bioeval-tui agent` needs --neo4j"
            " to use it"
        )


async def agents_graph_id(agent_url: str) -> str | None:
    """Return the id of the graph that an agent says it uses; empty if it says none, None if it did
    not answer.
    """
    # Only in the engine, because the process that starts it has a screen to paint.
    from bioeval_tui.peers import failures, http, timeouts

    if not agent_url:
        return ""
    try:
        limits = timeouts.Timeouts(ABOUT_S, ABOUT_S)
        async with http.make_client([agent_url], limits, most=MAX_ABOUT) as asking:
            answer = await asking.get(f"{agent_url}/api/v1/about")
            told = parse_json(answer.content) if answer.status_code == 200 else None
    except PeerError as error:
        if error.unreachable:
            return None
        return ""
    except (*failures.TRANSPORT_ERRORS, ValueError):  # it answers with something else
        return ""
    if not isinstance(told, dict):
        return ""
    claimed = told.get("graphId")
    if isinstance(claimed, str):
        return clean_line(claimed)
    return ""


async def is_shared(spec: EngineSpec, settings: Settings, agent_url: str) -> bool:
    """Return whether the run's conversations would share one knowledge graph."""
    return spec.sample_agent or await _choose(spec, settings, agent_url) != "none"
