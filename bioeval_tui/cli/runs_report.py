"""Commands that write about recorded runs: report, compare, explain, export. They work offline, without keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bioeval_tui.cli.find_run import complete_run
from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.evaluate.prices import FILE_NAME, load_prices
from bioeval_tui.report import explanation
from bioeval_tui.report.comparison import compare as compare_runs
from bioeval_tui.report.files import write_or_print
from bioeval_tui.report.formats.comparison_console import print_comparison
from bioeval_tui.report.formats.ranking_console import print_rankings
from bioeval_tui.report.formats.registry import Asked, Format, choose, holding, names, write_runs
from bioeval_tui.report.loading import find_recording, load_run
from bioeval_tui.report.rankings import ranking_dicts, rankings
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.settings import Settings
from bioeval_tui.terminal import print_json, say

if TYPE_CHECKING:
    from bioeval_tui.report.loading import LoadedRun


TARGET = 0.8
AS_RECORDED = click.option(
    "--as-recorded", is_flag=True, help="Count the recorded verdicts where transcripts were judged again."
)


def _with_output(option: str, default: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add how runs are written: the format, and where."""

    def add(command: Callable[..., int]) -> Callable[..., int]:
        listed = "; ".join(f"{found.name}: {found.about}" for found in holding("run", "runs"))
        for one in (
            click.option(
                "--output",
                type=click.Path(path_type=Path),
                help="Where to write: a file, or a folder in which it gets a name [stdout].",
            ),
            click.option(
                option,
                "kind",
                type=click.Choice(names("run", "runs")),
                help=f"What to write [by the name of --output{default}]. {listed}.",
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
    default=0.8,
    show_default=True,
    help="The score that the report says what would reach it.",
)
@AS_RECORDED
def report(
    run: tuple[str, ...], kind: str | None, output: Path | None, target: float, as_recorded: bool
) -> int:
    """Write a report of one or more runs.

    RUN is a run's id, the beginning or end of it, or a recording's file.
    """
    return _write_runs(choose(output, kind, "run", "runs", default="html"), run, output, target, as_recorded)


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs compare 7f3a 91c2\n  bioeval-tui runs compare 7f3a 91c2 --fail-on-regression\n  bioeval-tui runs compare 7f3a 91c2 b07d"
)
@click.argument("a", shell_complete=complete_run)
@click.argument("b", shell_complete=complete_run)
@click.argument("more", nargs=-1, shell_complete=complete_run)
@click.option("--texts", is_flag=True, help="Show what the agent said, turn by turn.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the JSON here.")
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 when B is worse than A.")
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
    """Compare run B with run A: per task, assertion and turn, side by side, with a plain sentence.

    A and B are ids, the beginning or end of them, or recordings' files. With MORE runs their agents are ranked, with
    intervals, and nothing is compared side by side.
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
        # What got worse is said before what could not be measured: it is a finding, not a gap.
        if found.regressions:
            return ExitCode.BELOW
        if not found.measured:
            return ExitCode.NOT_MEASURED
    return ExitCode.OK


def _rank(names: tuple[str, ...], as_json: bool, output: Path | None, as_recorded: bool) -> int:
    """Print the ranks of the runs' agents."""
    found = rankings(summarise_runs(_load(names, as_recorded)))
    if not found:
        raise UsageError(
            "these runs are of one agent, or hold no condition in common: there is nobody to rank"
        )
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
@click.option("--target", type=click.FloatRange(0, 1), default=0.8, show_default=True)
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

    RUN is a run's id, the beginning or end of it, or a recording's file.
    """
    if kind is None and (output is None or output.is_dir()):
        raise UsageError(
            f"say what to write: --to {', '.join(names('run', 'runs')[:-1])} or {names('run', 'runs')[-1]}"
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
