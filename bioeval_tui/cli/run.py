"""`run`: run jobs, on the screen or headlessly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import has_screen
from bioeval_tui.cli.gate_options import (
    THRESHOLDS,
    JsonFileCommand,
    add_gate_files_and_json,
    gate_files,
    with_thresholds,
)
from bioeval_tui.cli.options import HEADLESS
from bioeval_tui.cli.run_options import OPTIONS, group_options, request_of, with_options
from bioeval_tui.cli.terminal import end_with_stdin
from bioeval_tui.evaluation.engine.interface import RunRequest, spec_of

DEFAULT_JOB = "data/eval/agent.yml"
GROUPS = {
    "Agent": ("models", *group_options("Agent")),
    "User and judge": group_options("User and judge"),
    "Conversations": (*group_options("Conversations"), "until_decided"),
    "Graph and medals": group_options("Graph and medals"),
    "Limits": ("dry_run", *group_options("Limits")),
    "Pass or fail": ("fail_under", "fail_on_assertion", "min_pass_k"),
    "Output": ("headless", "verbose", "as_json", "write_md", "write_junit", "redact"),
}  # fmt: skip
"""The options of `run`, as its help lists them."""


class RunCommand(JsonFileCommand):
    """Lists its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group."""
        options = {
            found.name: found for found in self.get_params(ctx) if isinstance(found, click.Option)
        }
        grouped = [
            (heading, [options.pop(name) for name in names if name in options])
            for heading, names in GROUPS.items()
        ]
        for heading, listed in (*grouped, ("General", list(options.values()))):
            with formatter.section(heading):
                records = (option.get_help_record(ctx) for option in listed)
                formatter.write_dl([record for record in records if record is not None])


@click.command(
    cls=RunCommand,
    epilog=(
        "\b\nExamples:\n  bioeval-tui run job.yml --agent-url http://127.0.0.1:8081\n  bioeval-tui"
        " run job.yml --headless --fail-under supplied:0.85,withheld:0.5 --junit out.xml\n "
        " bioeval-tui run a.yml b.yml --repeat 5 --model small --model large --concurrency 4"
        " --headless\n  bioeval-tui run a.yml b.yml --model small --model large --until-decided"
        " --max-cost 5\n  bioeval-tui run medication_reminder --rehearsal --agent-url"
        " http://127.0.0.1:8081"
    ),
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1, type=click.Path(path_type=Path))
@with_options(*OPTIONS)
@click.option(
    "--until-decided", is_flag=True,
    help="Stop once it is clear whether the threshold is met, or which of two models is better; "
    "--repeat is the maximum number of trials [200].",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Show the agent's tool calls and events.")
@click.option(
    "--dry-run", is_flag=True, help="Print the number of calls and their cost, and send nothing."
)
@HEADLESS
@click.option(
    "--exit-with-stdin",
    is_flag=True,
    hidden=True,
    help="Headless: cancel the run when standard input is closed.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Headless: print JSON, or, as --json FILE.json, write it to that file.",
)
@with_thresholds
@add_gate_files_and_json
def run(jobs: tuple[Path, ...], **options: Any) -> int:
    """Evaluate an agent: run a job's conversations without the facts and with them, and score them.

    JOB is a YAML file [data/eval/agent.yml], or the name of a sample (see `bioeval-tui samples`).
    Several jobs or models form a batch: one run for each job and model, with --repeat trials.
    """
    if not jobs and not Path(DEFAULT_JOB).exists():
        raise UsageError(
            f"no job given, and {DEFAULT_JOB} does not exist: give a job file or the name of a"
            " sample, such as medication_reminder, or create one with `bioeval-tui new job.yml`"
        )
    settings = Settings.from_environment()
    request = request_of(jobs or (Path(DEFAULT_JOB),), options)
    if options["until_decided"]:
        request = _until_decided(request, options["fail_under"])
    if (options["fail_under"] or options["min_pass_k"]) and request.exam == "job":
        request = replace(request, exam="gate")
    spec = spec_of(request, settings.runs_dir)
    if options["dry_run"] or _is_headless(options):
        # help, usage errors and the screen don't need it
        from bioeval_tui.cli.headless import (
            dry_run,
            run_headless,
        )

        if options["dry_run"]:
            return dry_run(spec, settings, as_json=options["as_json"])
        if options["exit_with_stdin"]:
            end_with_stdin()
        asked = {name: options[name] for name in ("as_json", "verbose", *THRESHOLDS)}
        return run_headless(spec, settings, files=gate_files(options), **asked)
    from bioeval_tui.cli.show_run import announce, show_run  # a headless run does not need it

    announce(spec, settings)
    return show_run(spec, settings)


MOST_ROUNDS = 200
"""The maximum number of trials with --until-decided, unless --repeat is given."""


def _until_decided(request: RunRequest, fail_under: tuple[str, ...]) -> RunRequest:
    """Return the request with the question to decide: one threshold, or which of two models is
    better.
    """
    from bioeval_tui.report.gate import GateRules  # --help does not need it

    under = GateRules.parse(fail_under).under
    if len(under) > 1 or bool(under) == (len(request.models) == 2):
        raise UsageError(
            "--until-decided needs one threshold (--fail-under supplied:0.8) or two models (--model"
            " A --model B)"
        )
    until = next((f"{name}:{bar:g}" for name, bar in under.items()), "difference")
    return replace(
        request, until_decided=until, trials=request.trials if request.trials > 1 else MOST_ROUNDS
    )


def _is_headless(options: dict[str, Any]) -> bool:
    """Whether to run headlessly: thresholds, files for CI and a cluster imply it, and so does the
    lack of a terminal.
    """
    return (
        any(options[name] for name in ("headless", "scheduler", "as_json", *THRESHOLDS))
        or bool(gate_files(options))
        or not has_screen()
    )
