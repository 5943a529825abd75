"""Commands that hold conversations: demo, run, watch, and the engine behind them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui.cli.thresholds import with_bars
from bioeval_tui.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bioeval_tui.evaluate.engine.spec import EngineSpec
    from bioeval_tui.settings import Settings

READING_PACE_S = 0.08
"""The demo's script types at about this pace, a few words at a time, so that a person can follow."""

DEFAULT_JOB = "data/eval/agent.yml"


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui demo\n  bioeval-tui demo --headless --json\n  OPENAI_API_KEY=… bioeval-tui demo --llm"
)
@click.option("--headless", is_flag=True, help="No screen: progress on stderr, the score card on stdout.")
@click.option("--json", "as_json", is_flag=True, help="With --headless: print one JSON object.")
@click.option("--llm", is_flag=True, help="Evaluator and judge are models (needs OPENAI_API_KEY).")
@click.option("--neo4j", is_flag=True, help="Keep the agent's graph in Neo4j (NEO_URI, NEO_PASSWORD).")
@click.option("--seed", type=int, help="Seed of everything that is drawn.")
def demo(headless: bool, as_json: bool, llm: bool, neo4j: bool, seed: int | None) -> int:
    """Watch it work: the sample agent, evaluated live. Offline, no key, no server to start.

    Without --llm this is a rehearsal: a script plays the user and rules judge the transcript.
    """
    from bioeval_tui.evaluate.engine.spec import EngineSpec, RunSpec
    from bioeval_tui.record.paths import new_run_id
    from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs
    from bioeval_tui.settings import Settings

    settings = Settings.from_environment()
    spec = EngineSpec(
        runs=(RunSpec(new_run_id(), str(sample_jobs() / DEMO_JOB)),),
        sample_agent=True,
        mode="llm" if llm else "rehearsal",
        graph="neo4j" if neo4j else "embedded",
        seed=seed,
        typing_delay_s=0.0 if headless or as_json else READING_PACE_S,
    )
    if headless or as_json:
        return _headless(spec, settings, {"as_json": as_json})
    return _on_screen(spec, settings, leave_running=False)


class JsonFileCommand(click.Command):
    """A command whose `--json` may be followed by the name of a file that ends in .json."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `--json out.json` as the file to write, and a bare `--json` as before."""
        found = list(args)
        for place, arg in enumerate(args):
            name, _, value = arg.partition("=")
            if name == "--json" and value:
                found[place] = f"--json-file={value}"
            elif arg == "--json" and place + 1 < len(args) and args[place + 1].endswith(".json"):
                found[place] = "--json-file"
        return super().parse_args(ctx, found)


@click.command(
    cls=JsonFileCommand,
    epilog=(
        "\b\nExamples:\n  bioeval-tui run job.yml --agent-url http://127.0.0.1:8081"
        "\n  bioeval-tui run job.yml --headless --fail-under supplied:0.85,withheld:0.5 --junit out.xml"
        "\n  bioeval-tui run a.yml b.yml --repeat 5 --model small --model large --concurrency 4 --headless"
        "\n  bioeval-tui run medication_reminder --rehearsal --agent-url http://127.0.0.1:8081"
        "\n  bioeval-tui run --file data/eval/agent.yml --model gpt-4.1-mini --verbose"
    ),
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--file", "file", type=click.Path(path_type=Path), help=f"The job file [{DEFAULT_JOB}].")
@click.option("--model", "models", multiple=True, help="The agent's model; repeat it for a run with each.")
@click.option("--verbose", is_flag=True, help="Show what the agent did between the lines.")
@click.option("--agent-url", help="Where the agent listens [BIOEVAL_AGENT_URL, http://localhost:8081].")
@click.option("--evaluator-model", help="Who plays the user [BIOEVAL_EVALUATOR_MODEL].")
@click.option(
    "--judge-model",
    "judge_models",
    multiple=True,
    help="Who judges [BIOEVAL_JUDGE_MODEL]; repeat it for a panel.",
)
@click.option("--rehearsal", is_flag=True, help="Scripted evaluator and rules judge instead of models.")
@click.option(
    "--graph",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="The graph that Cypher asks: embedded, neo4j, none, or a plug-in.",
)
@click.option(
    "--condition",
    type=click.Choice(["withheld", "supplied", "both"]),
    default="both",
    show_default=True,
    help="Hold one condition only: half the calls, and neither mean nor uplift.",
)
@click.option("--order", type=click.Choice(["withheld-first", "supplied-first", "random"]))
@click.option(
    "--parallel", is_flag=True, help="Conditions at once; the target must keep conversations apart."
)
@click.option("--seed", type=int, help="Seed of everything that is drawn.")
@click.option(
    "--repeat", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Trials of each run."
)
@click.option(
    "--submissions",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder in which medal assertions may look for files, outside the job's own; repeat it for several.",
)
@click.option("--concurrency", type=click.IntRange(1, 1000), help="Most conversations at once [1].")
@click.option(
    "--max-requests-per-minute",
    "requests_per_minute",
    type=click.FloatRange(0, min_open=True),
    help="Most requests a minute to the agent, and as many to the models.",
)
@click.option("--max-calls", type=click.IntRange(1), help="No further conversation after so many calls.")
@click.option(
    "--max-cost",
    type=click.FloatRange(0, min_open=True),
    help="No further conversation after so many dollars.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would take, and send nothing.")
@click.option("--no-events", is_flag=True, help="Leave prompts and retrieved contexts out of the recording.")
@click.option("--headless", is_flag=True, help="No screen: progress on stderr, the score card on stdout.")
@click.option(
    "--json", "as_json", is_flag=True, help="Headless: print JSON; with a FILE.json, write a report there."
)
@click.option("--json-file", hidden=True, type=click.Path(path_type=Path))
@with_bars
@click.option("--junit", type=click.Path(path_type=Path), help="Headless: write JUnit XML.")
@click.option("--md", "markdown", type=click.Path(path_type=Path), help="Headless: write a Markdown summary.")
def run(jobs: tuple[Path, ...], file: Path | None, **options: Any) -> int:
    """Evaluate an agent: hold a job's conversations, facts withheld and facts supplied, and score them.

    JOB is a YAML file, or the name of a sample (`bioeval-tui samples` lists them). Several jobs or models make a
    batch: a run for each job and model, --repeat trials in each.
    """
    from bioeval_tui.settings import Settings

    if jobs and file is not None:
        raise UsageError("give the job once: as an argument or with --file")
    if not jobs and file is None and not Path(DEFAULT_JOB).exists():
        raise UsageError(
            f"no job is given, and {DEFAULT_JOB} does not exist: give a job file, or the name of a sample "
            "such as medication_reminder, or write one with `bioeval-tui new job.yml`"
        )
    settings = Settings.from_environment()
    spec = _spec(jobs or (file or Path(DEFAULT_JOB),), settings, options)
    if options["dry_run"]:
        return _dry_run(spec, settings, as_json=options["as_json"])
    if _is_headless(options):
        return _headless(spec, settings, options)
    _name_hosts(spec, settings)
    return _on_screen(spec, settings, leave_running=True, verbose=options["verbose"])


def _spec(jobs: Sequence[Path], settings: Settings, options: dict[str, Any]) -> EngineSpec:
    from bioeval_tui.evaluate.engine.spec import EngineSpec, RunSpec
    from bioeval_tui.record.events import CONDITIONS
    from bioeval_tui.record.paths import new_run_ids
    from bioeval_tui.sample.paths import find_job

    wanted = [(str(find_job(job)), model) for job in jobs for model in options["models"] or (None,)]
    ids = new_run_ids(len(wanted), settings.runs_dir)
    return EngineSpec(
        runs=tuple(RunSpec(run_id, *what) for run_id, what in zip(ids, wanted, strict=True)),
        batch_id=ids[0] if len(ids) > 1 else None,
        agent_url=options["agent_url"],
        submissions=tuple(str(folder.absolute()) for folder in options["submissions"]),
        mode="rehearsal" if options["rehearsal"] else "job",
        evaluator_model=options["evaluator_model"],
        judge_model=options["judge_models"] or None,
        order=options["order"],
        conditions=tuple(name for name in CONDITIONS if options["condition"] in (name, "both")),
        parallel=options["parallel"],
        graph=options["graph"],
        seed=options["seed"],
        trials=options["repeat"],
        concurrency=options["concurrency"],
        requests_per_minute=options["requests_per_minute"],
        max_calls=options["max_calls"],
        max_cost=options["max_cost"],
        keep_prompts=not options["no_events"],
    )


def _is_headless(options: dict[str, Any]) -> bool:
    """A bar or a file for CI is asked of a run that nobody watches; so is one without a terminal."""
    asked = (
        "headless",
        "as_json",
        "json_file",
        "fail_under",
        "fail_on_assertion",
        "min_pass_k",
        "junit",
        "markdown",
    )
    return any(options[name] for name in asked) or not sys.stdout.isatty()


def _name_hosts(spec: EngineSpec, settings: Settings) -> None:
    from dataclasses import replace

    from bioeval_tui.evaluate.wiring.start import hosts_of, prepare_batch

    prepared = prepare_batch(replace(spec, plays=True), settings)
    click.echo(f"transcripts go to: {', '.join(hosts_of(prepared))}", err=True)


def _dry_run(spec: EngineSpec, settings: Settings, *, as_json: bool) -> int:
    import json

    from bioeval_tui.evaluate.wiring.estimate import estimate_batch
    from bioeval_tui.report.formats.dry_run import print_estimates

    found = estimate_batch(spec, settings)
    if as_json:
        click.echo(json.dumps([run.to_dict() for run in found], indent=2, ensure_ascii=False))
    else:
        print_estimates(found)
    return ExitCode.OK


@click.command(epilog="\b\nExample:\n  bioeval-tui watch 7f3a")
@click.argument("run_id")
def watch(run_id: str) -> int:
    """Attach this terminal to a run that goes on elsewhere: see it, pause it, cancel it.

    RUN_ID is the id or the beginning or end of it; `bioeval-tui runs list` shows them.
    """
    from bioeval_tui.cli.open_screen import show_recording
    from bioeval_tui.record.catalogue import Catalogue
    from bioeval_tui.settings import Settings

    settings = Settings.from_environment()
    return show_recording(settings, Catalogue(settings.runs_dir).find(run_id))


@click.command(hidden=True)
@click.argument("spec", type=click.Path(exists=True, path_type=Path))
def engine(spec: Path) -> int:
    """Run the engine process (started by the program itself)."""
    from bioeval_tui.evaluate.wiring.start import run_spec_file
    from bioeval_tui.settings import Settings

    ended = run_spec_file(spec, Settings.from_environment())
    return ExitCode.OK if all(end.status == "completed" for end in ended) else ExitCode.NOT_MEASURED


def _headless(spec: EngineSpec, settings: Settings, options: dict[str, Any]) -> int:
    from bioeval_tui.cli.headless import run_headless
    from bioeval_tui.report.gate import GateRules
    from bioeval_tui.report.gate_run import Gate

    rules = GateRules.parse(
        options.get("fail_under", ()),
        fail_on_assertion=options.get("fail_on_assertion", False),
        min_pass_k=options.get("min_pass_k", ()),
    )
    rules.require_held(spec.conditions)
    gate = Gate(rules, options.get("junit"), options.get("json_file"), options.get("markdown"))
    return run_headless(
        spec, settings, as_json=options["as_json"], gate=gate, verbose=options.get("verbose", False)
    )


def _on_screen(spec: EngineSpec, settings: Settings, *, leave_running: bool, verbose: bool = False) -> int:
    from bioeval_tui.cli.open_screen import show_run

    return show_run(spec, settings, leave_running=leave_running, verbose=verbose)


COMMANDS: list[click.Command] = [demo, run, watch, engine]
