"""Commands that hold conversations: demo, run, watch, and the engine behind them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui.cli.run_options import OPTIONS, request_of, with_options
from bioeval_tui.cli.thresholds import JsonFileCommand, gate_files, with_bars, with_gate_files_and_json
from bioeval_tui.errors import ExitCode, UsageError

if TYPE_CHECKING:
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
@with_options("seed")
def demo(headless: bool, as_json: bool, llm: bool, neo4j: bool, seed: int | None) -> int:
    """Watch it work: the sample agent, evaluated live. Offline, no key, no server to start.

    Without --llm this is a rehearsal: a script plays the user and rules judge the transcript.
    """
    from bioeval_tui.evaluate.engine.spec import RunRequest, spec_of
    from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs
    from bioeval_tui.settings import Settings

    settings = Settings.from_environment()
    request = RunRequest(
        jobs=(sample_jobs() / DEMO_JOB,),
        sample_agent=True,
        mode="llm" if llm else "rehearsal",
        graph="neo4j" if neo4j else "embedded",
        seed=seed,
        typing_delay_s=0.0 if headless or as_json else READING_PACE_S,
    )
    spec = spec_of(request, settings.runs_dir)
    if headless or as_json:
        return _headless(spec, settings, {"as_json": as_json})
    return _on_screen(spec, settings, leave_running=False)


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
@with_options(*OPTIONS)
@click.option("--verbose", is_flag=True, help="Show what the agent did between the lines.")
@click.option("--dry-run", is_flag=True, help="Say what it would take, and send nothing.")
@click.option("--headless", is_flag=True, help="No screen: progress on stderr, the score card on stdout.")
@click.option(
    "--json", "as_json", is_flag=True, help="Headless: print JSON; with a FILE.json, write a report there."
)
@with_bars
@with_gate_files_and_json
def run(jobs: tuple[Path, ...], file: Path | None, **options: Any) -> int:
    """Evaluate an agent: hold a job's conversations, facts withheld and facts supplied, and score them.

    JOB is a YAML file, or the name of a sample (`bioeval-tui samples` lists them). Several jobs or models make a
    batch: a run for each job and model, --repeat trials in each.
    """
    from bioeval_tui.evaluate.engine.spec import spec_of
    from bioeval_tui.settings import Settings

    if jobs and file is not None:
        raise UsageError("give the job once: as an argument or with --file")
    if not jobs and file is None and not Path(DEFAULT_JOB).exists():
        raise UsageError(
            f"no job is given, and {DEFAULT_JOB} does not exist: give a job file, or the name of a sample "
            "such as medication_reminder, or write one with `bioeval-tui new job.yml`"
        )
    settings = Settings.from_environment()
    request = request_of(jobs or (file or Path(DEFAULT_JOB),), options)
    spec = spec_of(request, settings.runs_dir)
    if options["dry_run"]:
        return _dry_run(spec, settings, as_json=options["as_json"])
    if _is_headless(options):
        return _headless(spec, settings, options)
    _name_hosts(spec, settings)
    return _on_screen(spec, settings, leave_running=True, verbose=options["verbose"])


def _is_headless(options: dict[str, Any]) -> bool:
    """A bar or a file for CI is asked of a run that nobody watches; so is one without a terminal."""
    asked = ("headless", "as_json", "fail_under", "fail_on_assertion", "min_pass_k")
    return any(options[name] for name in asked) or bool(gate_files(options)) or not sys.stdout.isatty()


def _name_hosts(spec: EngineSpec, settings: Settings) -> None:
    from dataclasses import replace

    from bioeval_tui.evaluate.wiring.start import hosts_of, judges_see, prepare_batch

    prepared = prepare_batch(replace(spec, plays=True), settings)
    click.echo(f"transcripts go to: {', '.join(hosts_of(prepared))}", err=True)
    for sentence in judges_see(prepared):
        click.echo(sentence, err=True)


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
    gate = Gate(rules, gate_files(options))
    return run_headless(
        spec, settings, as_json=options["as_json"], gate=gate, verbose=options.get("verbose", False)
    )


def _on_screen(spec: EngineSpec, settings: Settings, *, leave_running: bool, verbose: bool = False) -> int:
    from bioeval_tui.cli.open_screen import show_run

    return show_run(spec, settings, leave_running=leave_running, verbose=verbose)


COMMANDS: list[click.Command] = [demo, run, watch, engine]
