"""`agent`: serve the sample agent."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from pathlib import Path
from typing import Any

import click
from typing_extensions import TypedDict

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import real
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.cli.terminal import code_of_signal, end_with_stdin
from bioeval_tui.graphs.embedded import EmbeddedGraph, available, graph_id
from bioeval_tui.sample.agent.service import run_sample_agent


class PrintedAgent(TypedDict):
    """Where the sample agent listens, and what its graph is called, as `agent` prints it."""

    url: str
    graph: str


@click.command(epilog="\b\nExample:\n  bioeval-tui agent --port 8081")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8081,
    help="The port; 0 chooses a free one.",
)
@click.option(
    "--graph",
    type=click.Path(path_type=Path),
    help="The file of the embedded graph.  [default: in the data folder]",
)
@click.option(
    "--neo4j", is_flag=True, help="Use Neo4j for the graph (NEO_URI, NEO_USERNAME, NEO_PASSWORD)."
)
@click.option(
    "--chaos",
    "chaos_seed",
    type=int,
    metavar="SEED",
    help="Add random latency and failures, with this seed.",
)
@click.option(
    "--guess",
    "guesses",
    is_flag=True,
    help=(
        "With any model: set reminders in UTC if the user does not say where they live, instead of"
        " setting none."
    ),
)
@click.option(
    "--tokens-per-second",
    type=click.FloatRange(0),
    default=60.0,
    help="Speed of streamed answers; 0 means no delay.",
)
@click.option("--exit-with-stdin", is_flag=True, help="Stop when standard input is closed.")
def agent(graph: Path | None, neo4j: bool, exit_with_stdin: bool, **options: Any) -> int:
    """Serve the sample agent on 127.0.0.1: a small rule-based biomedical assistant.

    With the model `guessing` it guesses, as with --guess: `run JOB --model careful --model
    guessing` compares both. When it is ready, prints a line of JSON with its URL on stdout, and
    instructions on stderr. Ctrl-C stops it.
    """
    if neo4j and graph is not None:
        raise UsageError("give --graph or --neo4j, not both")
    settings = Settings.from_environment()
    # A link that the user names is the user's own.
    file = real(graph.expanduser()) if graph is not None else settings.graph_file
    return asyncio.run(_serve(settings, file, neo4j, exit_with_stdin, options))


async def _serve(
    settings: Settings, file: Path, neo4j: bool, exit_with_stdin: bool, options: dict[str, Any]
) -> int:
    stop = code_of_signal()
    if exit_with_stdin:
        end_with_stdin()
    async with contextlib.AsyncExitStack() as stack:
        graph, name, key = await _open_graph(settings, file, neo4j)
        if graph is not None:
            stack.push_async_callback(graph.aclose)
        try:
            running = await stack.enter_async_context(
                run_sample_agent(graph, graph_id=key, **options)
            )
        except OSError as error:
            raise UsageError(
                f"port {options['port']} on 127.0.0.1 cannot be used: {error.strerror}; --port 0"
                " chooses a free one"
            ) from None
        printed: PrintedAgent = {"url": running.url, "graph": name}
        print_json(printed)
        if not exit_with_stdin:  # started by a person, not by a program that reads the line above
            _say_what_is_served(running.url, name)
        return await stop


def _say_what_is_served(url: str, graph: str) -> None:
    job = "medication_reminder"
    say(f"the sample agent is running at {url}, its graph is {graph}; Ctrl-C stops it", err=True)
    say(f"in another terminal: bioeval-tui run {job} --agent-url {url}", err=True)


async def _open_graph(settings: Settings, file: Path, neo4j: bool) -> tuple[Any, str, str]:
    """Return the graph (None: in memory), how to name it, and its id."""
    if neo4j:
        from bioeval_tui.evaluation.wiring.graphs import neo4j_graph  # only the graph that is used

        server = neo4j_graph(settings)
        return server, server.identity, await server.graph_id()
    if why_not := available():
        say(f"the agent's graph is kept in memory only: {why_not}", err=True)
        return None, "memory", secrets.token_hex(16)
    embedded = EmbeddedGraph(file)
    try:
        await embedded.query("RETURN 1 AS opened")
    except BaseException:
        await embedded.aclose()
        raise
    return embedded, str(embedded.path), graph_id(embedded.path)
