"""The options that say how runs are held, each written once: `run`, `demo` and `runs resume` take theirs from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bioeval_tui.cli.task_options import board
from bioeval_tui.evaluate.engine.spec import RunRequest
from bioeval_tui.record.events import CONDITIONS
from bioeval_tui.sample.paths import find_job

OPTIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "models": click.option(
        "--model", "models", multiple=True, help="The agent's model; repeat it for a run with each."
    ),
    "agent_url": click.option(
        "--agent-url", help="Where the agent listens [BIOEVAL_AGENT_URL, http://localhost:8081]."
    ),
    "allow_hosts": click.option(
        "--allow-host",
        "allow_hosts",
        metavar="HOST",
        multiple=True,
        help="Let a job send transcripts, and the key that it names, to this host; repeat it for several.",
    ),
    "code": click.option(
        "--code",
        metavar="DIR",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A folder from which the job's Python functions may be loaded; repeat it for several.",
    ),
    "evaluator_model": click.option(
        "--evaluator-model", help="Who plays the user [BIOEVAL_EVALUATOR_MODEL]."
    ),
    "judge_models": click.option(
        "--judge-model",
        "judge_models",
        multiple=True,
        help="Who judges [BIOEVAL_JUDGE_MODEL]; repeat it for a panel.",
    ),
    "rehearsal": click.option(
        "--rehearsal", is_flag=True, help="Scripted evaluator and rules judge instead of models."
    ),
    "graph": click.option(
        "--graph",
        metavar="NAME",
        default="auto",
        show_default=True,
        help="The graph that Cypher asks: embedded, neo4j, none, or a plug-in.",
    ),
    "unrestricted_setups": click.option(
        "--unrestricted-setups",
        is_flag=True,
        help="Pass the job's setups to Neo4j as they are: schema, procedures, LOAD CSV, several statements.",
    ),
    "condition": click.option(
        "--condition",
        type=click.Choice(["withheld", "supplied", "both"]),
        default="both",
        show_default=True,
        help="Hold one condition only: half the calls, and neither mean nor uplift.",
    ),
    "order": click.option("--order", type=click.Choice(["withheld-first", "supplied-first", "random"])),
    "parallel": click.option(
        "--parallel", is_flag=True, help="Conditions at once; the target must keep conversations apart."
    ),
    "cases": click.option(
        "--cases", metavar="ROWS", help="Of the job's cases only these, by row and id: 1-20,case_7."
    ),
    "sample": click.option(
        "--sample", type=click.IntRange(1), metavar="N", help="So many of the job's cases, drawn with --seed."
    ),
    "cases_file": click.option(
        "--cases-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A table of cases (CSV, JSONL, Parquet) in the place of the job's own.",
    ),
    "seed": click.option("--seed", type=int, help="Seed of everything that is drawn."),
    "repeat": click.option(
        "--repeat", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Trials of each run."
    ),
    "submissions": click.option(
        "--submissions",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A folder in which medal assertions may look for files, outside the job's own; repeat it for several.",
    ),
    "leaderboard": click.option(
        "--leaderboard",
        metavar="own|published|FILE",
        callback=lambda context, parameter, value: board(value),
        help="What medal assertions rank on, see `bioeval-tui grade --help`.",
    ),
    "concurrency": click.option(
        "--concurrency", type=click.IntRange(1, 1000), help="Most conversations at once [1]."
    ),
    "requests_per_minute": click.option(
        "--max-requests-per-minute",
        "requests_per_minute",
        type=click.FloatRange(0, min_open=True),
        help="Most requests a minute to the agent, and as many to the models.",
    ),
    "max_calls": click.option(
        "--max-calls", type=click.IntRange(1), help="No further conversation after so many calls."
    ),
    "max_cost": click.option(
        "--max-cost",
        type=click.FloatRange(0, min_open=True),
        help="No further conversation after so many dollars.",
    ),
    "otlp": click.option(
        "--otlp",
        metavar="[PORT]",
        type=click.IntRange(0, 65_535),
        is_flag=False,
        flag_value=4318,
        help="Receive the agent's OpenTelemetry spans on this port of 127.0.0.1 [4318]; 0 takes a free one.",
    ),
    "no_events": click.option(
        "--no-events", is_flag=True, help="Leave prompts and retrieved contexts out of the recording."
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
    """Return what all of `OPTIONS`, as they were given, ask for."""
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
