"""`runs report`, `runs compare`, `runs explain` and `runs export`. They work offline, without API keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bioeval_tui.cli.find_run import complete_run
from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.evaluation.prices import FILE_NAME, load_prices
from bioeval_tui.report import explanation
from bioeval_tui.report.comparison import compare as compare_runs
from bioeval_tui.report.files import write_or_print
from bioeval_tui.report.formats.comparison_console import print_comparison
from bioeval_tui.report.formats.ranking_console import print_rankings
from bioeval_tui.report.formats.registry import TARGET, Asked, Format, choose, holding, names, write_runs
from bioeval_tui.report.loading import find_recording, load_run
from bioeval_tui.report.rankings import ranking_dicts, rankings
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.settings import Settings
from bioeval_tui.terminal import print_json, say

if TYPE_CHECKING:
    from bioeval_tui.report.loading import LoadedRun


AS_RECORDED = click.option(
    "--as-recorded", is_flag=True, help="Use the recorded verdicts, even if transcripts were judged again."
)


def _with_output(option: str, default: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the options for the format and the output file."""

    def add(command: Callable[..., int]) -> Callable[..., int]:
        listed = "; ".join(f"{found.name}: {found.about}" for found in holding("run", "runs"))
        for one in (
            click.option(
                "--output",
                type=click.Path(path_type=Path),
                help="The file or folder to write to [stdout].",
            ),
            click.option(
                option,
                "kind",
                type=click.Choice(names("run", "runs")),
                help=f"The format [by the extension of --output{default}]. {listed}.",
            ),
        ):
            command = one(command)
        return command

    return add


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs report 7f3a --output report.html"
    "\n  bioeval-tui runs report 7f3a 91c2 --format md"
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@_with_output("--format", ", else html")
@click.option(
    "--target",
    type=click.FloatRange(0, 1),
    default=TARGET,
    show_default=True,
    help="The target score; the report shows what would reach it.",
)
@AS_RECORDED
def report(
    run: tuple[str, ...], kind: str | None, output: Path | None, target: float, as_recorded: bool
) -> int:
    """Write a report of one or more runs.

    RUN is a run's id, its beginning or end, or a recording file.
    """
    return _write_runs(choose(output, kind, "run", "runs", default="html"), run, output, target, as_recorded)


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs compare 7f3a 91c2\n  bioeval-tui runs compare 7f3a 91c2 --fail-on-regression\n  bioeval-tui runs compare 7f3a 91c2 b07d"
)
@click.argument("a", shell_complete=complete_run)
@click.argument("b", shell_complete=complete_run)
@click.argument("more", nargs=-1, shell_complete=complete_run)
@click.option("--texts", is_flag=True, help="Show the agent's messages turn by turn.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the JSON to this file."
)
@click.option(
    "--fail-on-regression",
    is_flag=True,
    help="Exit with 1 if B is worse than A beyond chance; with 3 if there are too few trials or cases to tell (five trials of each are enough).",
)
@AS_RECORDED
def compare(
    a: str,
    b: str,
    more: tuple[str, ...],
    texts: bool,
    as_json: bool,
    output: Path | None,
    fail_on_regression: bool,
    as_recorded: bool,
) -> int:
    """Compare run B with run A by task, assertion and turn, and give a conclusion.

    A and B are run ids, their beginnings or ends, or recording files. With MORE runs, ranks their agents with intervals
    instead.
    """
    if more:
        if texts or fail_on_regression:
            raise UsageError("--texts and --fail-on-regression compare two runs")
        return _rank((a, b, *more), as_json, output, as_recorded)
    found = compare_runs(*_load((a, b), as_recorded))
    if as_json or output is not None:
        write_or_print(choose(output, None, "comparison", default="json").write("comparison", found), output)
    if not as_json:
        print_comparison(found, plain_console(), texts=texts)
    if fail_on_regression:
        # A regression is a finding, so it takes precedence over anything that was not measured.
        if found.regressions:
            return ExitCode.BELOW
        if found.undecided:
            say(f"--fail-on-regression: {found.undecided}", err=True)
        if found.undecided or not found.measured:
            return ExitCode.NOT_MEASURED
    return ExitCode.OK


def _rank(names: tuple[str, ...], as_json: bool, output: Path | None, as_recorded: bool) -> int:
    """Print the ranks of the runs' agents."""
    found = rankings(summarise_runs(_load(names, as_recorded)))
    if not found:
        raise UsageError("nothing to rank: these runs have the same agent, or no condition in common")
    if as_json or output is not None:
        write_or_print(json.dumps(ranking_dicts(found), indent=2, ensure_ascii=False) + "\n", output)
    if not as_json:
        print_rankings(found, plain_console())
    return ExitCode.OK


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs explain 7f3a --target 0.9"
    "\n  bioeval-tui runs explain 7f3a --weights timing=0,tasks=3"
)
@click.argument("run", shell_complete=complete_run)
@click.option(
    "--target", type=click.FloatRange(0, 1), default=TARGET, show_default=True, help="The target score."
)
@click.option(
    "--weights", default="", help="Score again with other weights, such as timing=0,tasks=3,assertions=4."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@AS_RECORDED
def explain(run: str, target: float, weights: str, as_json: bool, as_recorded: bool) -> int:
    """Explain a run's scores: the parts, what each would have to be, and other weights. No model is called."""
    given = explanation.parse_weights(weights)
    loaded = _load((run,), as_recorded)[0]
    found = explanation.explain(loaded, target, given)
    if as_json:
        data = explanation.explanation_dict(loaded, found, target)
        print_json(data, indent=2)
    else:
        explanation.print_explanation(found, target, plain_console())
    return ExitCode.OK


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs export 7f3a --to inspect --output logs"
    "\n  bioeval-tui runs export 7f3a --to csv"
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@_with_output("--to", "")
@AS_RECORDED
def export(run: tuple[str, ...], kind: str | None, output: Path | None, as_recorded: bool) -> int:
    """Export recorded runs for other tools.

    RUN is a run's id, its beginning or end, or a recording file.
    """
    if kind is None and (output is None or output.is_dir()):
        raise UsageError(
            f"give a format: --to {', '.join(names('run', 'runs')[:-1])} or {names('run', 'runs')[-1]}"
        )
    return _write_runs(choose(output, kind, "run", "runs"), run, output, TARGET, as_recorded)


def _write_runs(
    chosen: Format, run: tuple[str, ...], output: Path | None, target: float, as_recorded: bool
) -> int:
    runs = _load(run, as_recorded)
    if output is not None and output.is_dir():
        output = output / chosen.file_name(runs[0])
    write_or_print(write_runs(chosen, runs, Asked(target, output)), output)
    if output is not None and (note := chosen.note_on(output)):
        say(f"note: {note}", err=True)
    return ExitCode.OK


def _load(names: tuple[str, ...], as_recorded: bool) -> list[LoadedRun]:
    settings = Settings.from_environment()
    prices = load_prices(settings.data_dir / FILE_NAME)
    paths = [find_recording(name, settings.runs_dir) for name in names]
    runs = [load_run(path, prices=prices, as_recorded=as_recorded) for path in paths]
    for loaded in runs:
        for problem in loaded.problems:
            say(f"note: {problem}", err=True)
    return runs


COMMANDS: list[click.Command] = [report, compare, explain, export]
