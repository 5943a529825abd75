"""The options of runs, each defined once for `run`, `demo`, `judge-test` and `runs resume`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bioeval_tui.cli.task_options import board
from bioeval_tui.evaluation.engine.spec import OTLP_PORT, RunRequest
from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.sample.paths import find_job

OPTIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "models": click.option(
        "--model", "models", multiple=True, help="The agent's model. Repeat for several runs."
    ),
    "agent_url": click.option(
        "--agent-url", help="The agent's URL [BIOEVAL_AGENT_URL, http://localhost:8081]."
    ),
    "allow_hosts": click.option(
        "--allow-host",
        "allow_hosts",
        metavar="HOST",
        multiple=True,
        help="Allow a job to send transcripts and the job's key to this host. Repeatable.",
    ),
    "code": click.option(
        "--code",
        metavar="DIR",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Allow loading the job's Python functions from this folder. Repeatable.",
    ),
    "evaluator_model": click.option(
        "--evaluator-model", help="The evaluator's model, which plays the user [BIOEVAL_EVALUATOR_MODEL]."
    ),
    "judge_models": click.option(
        "--judge-model",
        "judge_models",
        multiple=True,
        help="The judge's model [BIOEVAL_JUDGE_MODEL]. Repeat for a panel.",
    ),
    "rehearsal": click.option(
        "--rehearsal", is_flag=True, help="Use the scripted evaluator and the rules judge instead of models."
    ),
    "graph": click.option(
        "--graph",
        metavar="NAME",
        default="auto",
        show_default=True,
        help="The graph for setups and Cypher assertions: auto, embedded, neo4j, none, or a plug-in.",
    ),
    "unrestricted_setups": click.option(
        "--unrestricted-setups",
        is_flag=True,
        help="Pass the job's setups to Neo4j unchanged, including schema changes, procedures, LOAD CSV, several statements.",
    ),
    "condition": click.option(
        "--condition",
        type=click.Choice(["withheld", "supplied", "both"]),
        default="both",
        show_default=True,
        help="Run one condition only: half the calls, but no mean of both conditions and no uplift.",
    ),
    "order": click.option(
        "--order",
        type=click.Choice(["withheld-first", "supplied-first", "random"]),
        help="The order of the two conditions [the job's, else withheld-first].",
    ),
    "parallel": click.option(
        "--parallel",
        is_flag=True,
        help="Run both conditions at the same time; conversations must not affect each other.",
    ),
    "cases": click.option(
        "--cases", metavar="ROWS", help="Use only these cases of the job, by row or id: 1-20,case_7."
    ),
    "sample": click.option(
        "--sample",
        type=click.IntRange(1),
        metavar="N",
        help="Use a random sample of N cases of the job (see --seed).",
    ),
    "cases_file": click.option(
        "--cases-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A table of cases (CSV, JSONL, Parquet), instead of the job's.",
    ),
    "seed": click.option("--seed", type=int, help="Random seed."),
    "repeat": click.option(
        "--repeat",
        type=click.IntRange(1, 10_000),
        default=1,
        show_default=True,
        help="Number of trials of each condition.",
    ),
    "submissions": click.option(
        "--submissions",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Allow medal assertions to read files in this folder, too. Repeatable.",
    ),
    "leaderboard": click.option(
        "--leaderboard",
        metavar="own|published|FILE",
        callback=lambda context, parameter, value: board(value),
        help="The leaderboard for medal assertions; see `bioeval-tui grade --help`.",
    ),
    "concurrency": click.option(
        "--concurrency", type=click.IntRange(1, 1000), help="Maximum number of concurrent conversations [1]."
    ),
    "requests_per_minute": click.option(
        "--max-requests-per-minute",
        "requests_per_minute",
        type=click.FloatRange(0, min_open=True),
        help="Maximum number of requests per minute to the agent; the same again to all models together.",
    ),
    "max_calls": click.option("--max-calls", type=click.IntRange(1), help="Stop after this many calls."),
    "max_cost": click.option(
        "--max-cost",
        type=click.FloatRange(0, min_open=True),
        help="Stop after this many dollars.",
    ),
    "otlp": click.option(
        "--otlp",
        metavar="[PORT]",
        type=click.IntRange(0, 65_535),
        is_flag=False,
        flag_value=OTLP_PORT,
        help=f"Receive the agent's OpenTelemetry spans on this port of 127.0.0.1 [{OTLP_PORT}]; 0 chooses a free port.",
    ),
    "no_events": click.option(
        "--no-events", is_flag=True, help="Don't record the agent's prompts, retrieved contexts and outputs."
    ),
}


def with_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add these options to a command, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            command = OPTIONS[name](command)
        return command

    return add


def request_of(jobs: Sequence[Path], given: Mapping[str, Any]) -> RunRequest:
    """Return the request that the values of `OPTIONS` describe."""
    same = ("models", "agent_url", "allow_hosts", "evaluator_model", "graph", "unrestricted_setups", "order", "parallel", "seed", "concurrency",
            "requests_per_minute", "max_calls", "max_cost", "leaderboard", "otlp", "cases", "sample")  # fmt: skip
    return RunRequest(
        jobs=tuple(map(find_job, jobs)),
        agent_url_is_given=given["agent_url"] is not None,
        mode="rehearsal" if given["rehearsal"] else "job",
        judge_model=given["judge_models"] or None,
        conditions=tuple(name for name in CONDITIONS if given["condition"] in (name, "both")),
        trials=given["repeat"],
        submissions=tuple(str(folder.absolute()) for folder in given["submissions"]),
        code=tuple(str(folder.absolute()) for folder in given["code"]),
        keep_prompts=not given["no_events"],
        cases_file=str(given["cases_file"].absolute()) if given["cases_file"] else None,
        **{name: given[name] for name in same},
    )
