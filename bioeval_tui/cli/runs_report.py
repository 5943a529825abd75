"""Commands that write about recorded runs: report, compare, explain, export. They work offline, without keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bioeval_tui.cli.completion import complete_run
from bioeval_tui.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from bioeval_tui.report.loading import LoadedRun


AS_RECORDED = click.option(
    "--as-recorded", is_flag=True, help="Count the recorded verdicts where transcripts were judged again."
)


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs report 7f3a --output report.html"
    "\n  bioeval-tui runs report 7f3a 91c2 --format md"
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["html", "md", "json"]),
    help="What to write [by the name of --output, else html].",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to write [stdout].")
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
    """Write a report of one or more runs: one self-contained HTML file, Markdown, or JSON.

    RUN is a run's id, the beginning or end of it, or a recording's file.
    """
    kind = kind or _kind_by_name(output)
    runs = _load(run, as_recorded)
    if kind == "html":
        from bioeval_tui.report.formats.html import html_report

        text = html_report(runs, target=target)
    elif kind == "md":
        from bioeval_tui.report.formats.markdown import markdown_report

        text = markdown_report(runs, target=target)
    else:
        from bioeval_tui.report.formats.json_report import json_report

        text = json.dumps(json_report(runs), indent=2, ensure_ascii=False) + "\n"
    _write(text, output)
    return ExitCode.OK


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs compare 7f3a 91c2\n  bioeval-tui runs compare 7f3a 91c2 --fail-on-regression"
)
@click.argument("a", shell_complete=complete_run)
@click.argument("b", shell_complete=complete_run)
@click.option("--texts", is_flag=True, help="Show what the agent said, turn by turn.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the JSON here.")
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 when B is worse than A.")
@AS_RECORDED
def compare(
    a: str,
    b: str,
    texts: bool,
    as_json: bool,
    output: Path | None,
    fail_on_regression: bool,
    as_recorded: bool,
) -> int:
    """Compare run B with run A: per task, assertion and turn, side by side, with a plain sentence.

    A and B are ids, the beginning or end of them, or recordings' files.
    """
    from bioeval_tui.report.comparison import compare as compare_runs

    found = compare_runs(*_load((a, b), as_recorded))
    if as_json or output is not None:
        from bioeval_tui.report.formats.json_report import comparison_dict

        _write(json.dumps(comparison_dict(found), indent=2, ensure_ascii=False) + "\n", output)
    if not as_json:
        from bioeval_tui.consoles import plain_console
        from bioeval_tui.report.formats.comparison_console import print_comparison

        print_comparison(found, plain_console(), texts=texts)
    if fail_on_regression:
        # What got worse is said before what could not be measured: it is a finding, not a gap.
        if found.regressions:
            return ExitCode.BELOW
        if not found.measured:
            return ExitCode.NOT_MEASURED
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
    from bioeval_tui.report import explanation

    given = explanation.parse_weights(weights)
    loaded = _load((run,), as_recorded)[0]
    found = explanation.explain(loaded, target, given)
    if as_json:
        data = explanation.explanation_dict(loaded, found, target)
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        from bioeval_tui.consoles import plain_console

        explanation.print_explanation(found, target, plain_console())
    return ExitCode.OK


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs export 7f3a --to inspect --output log.json"
    "\n  bioeval-tui runs export 7f3a --to csv"
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@click.option(
    "--to",
    "kind",
    type=click.Choice(["inspect", "openai-jsonl", "csv"]),
    required=True,
    help="A log for Inspect, messages as JSON Lines, or turns as CSV.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to write [stdout].")
@AS_RECORDED
def export(run: tuple[str, ...], kind: str, output: Path | None, as_recorded: bool) -> int:
    """Export recorded runs for other tools.

    RUN is a run's id, the beginning or end of it, or a recording's file.
    """
    if kind == "inspect" and len(run) > 1:
        raise UsageError("an Inspect log holds one run: export each run to a file of its own")
    runs = _load(run, as_recorded)
    if kind == "inspect":
        from bioeval_tui.report.formats.inspect_log import inspect_log

        text = inspect_log(runs[0])
    elif kind == "csv":
        from bioeval_tui.report.formats.tables import turns_csv

        text = turns_csv(runs)
    else:
        from bioeval_tui.report.formats.tables import openai_lines

        text = openai_lines(runs)
    _write(text, output)
    return ExitCode.OK


def _load(names: tuple[str, ...], as_recorded: bool) -> list[LoadedRun]:
    from bioeval_tui.evaluate.prices import FILE_NAME, load_prices
    from bioeval_tui.report.loading import find_recording, load_run
    from bioeval_tui.settings import Settings

    settings = Settings.from_environment()
    prices = load_prices(settings.data_dir / FILE_NAME)
    paths = [find_recording(name, settings.runs_dir) for name in names]
    runs = [load_run(path, prices=prices, as_recorded=as_recorded) for path in paths]
    for loaded in runs:
        for problem in loaded.problems:
            click.echo(f"note: {problem}", err=True)
    return runs


def _kind_by_name(output: Path | None) -> str:
    kinds = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}
    if output is None:
        return "html"
    if output.suffix not in kinds:
        raise UsageError(f"{output}: end the name in .html, .md or .json, or give --format")
    return kinds[output.suffix]


def _write(text: str, output: Path | None) -> None:
    from bioeval_tui.report.files import write_or_print

    write_or_print(text, output)


COMMANDS: list[click.Command] = [report, compare, explain, export]
