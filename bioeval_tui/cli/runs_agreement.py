"""`runs agreement` and `runs gate`: people's reviews, and thresholds for recorded runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bioeval_tui.cli.find_run import complete_run
from bioeval_tui.cli.thresholds import gate_files, with_gate_files, with_thresholds
from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.paths import overlay_path, recording_path
from bioeval_tui.report.agreement import agreement_report, rated_tasks
from bioeval_tui.report.correction import corrections
from bioeval_tui.report.files import write_private
from bioeval_tui.report.formats.agreement import agreement_csv, agreement_dict, print_agreement
from bioeval_tui.report.gate import GateRules
from bioeval_tui.report.gate_run import Gate, print_checks, with_people
from bioeval_tui.report.labels import with_labels
from bioeval_tui.report.loading import find_recording, load_run
from bioeval_tui.settings import Settings
from bioeval_tui.streams import keep_exit_code
from bioeval_tui.terminal import print_document, say

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs agreement 7f3a 91c2"
    "\n  bioeval-tui runs agreement --blind --csv --output calibration.csv"
)
@click.argument("run", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@click.option("--judge", default="", help="Only judges whose name contains this.")
@click.option("--blind", is_flag=True, help="Use only blind reviews.")
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV file of people's labels to use instead of reviews, with a column `case` or `trial` and one for the label.",
)
@click.option(
    "--column", default="", help="The column with the labels [people_score, label, score or passed]."
)
@click.option(
    "--labels-drawn",
    is_flag=True,
    help="The labelled items are a random sample, so corrected scores can be estimated from them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with a row for each task and judge.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="The file to write [stdout].")
def agreement(
    run: tuple[str, ...],
    judge: str,
    blind: bool,
    labels: Path | None,
    column: str,
    labels_drawn: bool,
    as_json: bool,
    as_csv: bool,
    output: Path | None,
) -> int:
    """Compare judges with the people who reviewed their scores, and people with each other.

    For each judge model and prompt version, prints Cohen's kappa (pass or fail), weighted kappa (tenths),
    Krippendorff's alpha, sensitivity, specificity and the mean absolute difference, with intervals, and the largest
    differences. With reviews of a random sample, also estimates what people would say about all verdicts. RUN is a run's
    id, its beginning or end, or a recording file; without RUN, all runs with reviews.
    """
    if as_json and as_csv:
        raise UsageError("give --json or --csv, not both")

    if labels is None and (column or labels_drawn):
        raise UsageError("--column and --labels-drawn need --labels FILE")
    if labels is not None and not run:
        raise UsageError("--labels needs the runs that were labelled: name them")
    paths = _paths(run)
    items, problems = rated_tasks(paths, blind=blind, every=True)
    if labels is not None:
        items = with_labels(items, labels, column)
    if not any(item.people for item in items):
        what = "blind reviews" if blind else "reviews"
        say(f"no {what} yet; add some with `bioeval-tui review RUN`", err=True)
        return ExitCode.NOT_MEASURED
    report = agreement_report(items, problems, judge=judge)
    corrected = corrections(paths, items, drawn=labels_drawn)
    corrected = [each for each in corrected if judge.lower() in each.judge.judge.lower()]
    if judge and not report.judges:
        raise UsageError(f"no judge of these tasks has a name that contains {judge!r}")
    as_csv = as_csv or (output is not None and output.suffix == ".csv")
    if as_csv or as_json or output is not None:
        text = (
            agreement_csv(report)
            if as_csv
            else json.dumps(agreement_dict(report, corrected), indent=2, ensure_ascii=False)
        )
        if output is None:
            print_document(text if as_csv else f"{text}\n")
        else:
            write_private(output, text if as_csv else f"{text}\n")
            say(f"wrote {output}", err=True)
    else:
        print_agreement(report, plain_console(), corrected)
    return ExitCode.OK


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs gate 7f3a --fail-under 0.8 --reviewed"
    "\n  bioeval-tui runs gate 7f3a 91c2 --min-pass-k 2:0.9 --junit out.xml"
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@with_thresholds
@click.option("--reviewed", is_flag=True, help="Use people's scores where there are reviews.")
@with_gate_files
def gate(
    run: tuple[str, ...],
    fail_under: tuple[str, ...],
    fail_on_assertion: bool,
    min_pass_k: tuple[str, ...],
    reviewed: bool,
    **files: Path | None,
) -> int:
    """Check recorded runs against thresholds, as `run --headless` does, and exit with 0, 1 (below) or 3 (not measured).

    Uses the judge's scores; with --reviewed, people's scores where there are reviews. RUN is a run's id, its beginning
    or end, or a recording file.
    """
    rules = GateRules.parse(fail_under, fail_on_assertion=fail_on_assertion, min_pass_k=min_pass_k)
    if not (rules.under or rules.pass_k or rules.on_assertion):
        raise UsageError("give a threshold: --fail-under, --fail-on-assertion or --min-pass-k")
    thresholds = Gate(rules, gate_files(files))
    thresholds.check_paths()
    runs = [load_run(path) for path in _paths(run)]
    for one in runs:
        rules.require_held(one.started.conditions, one.run_id)
    notes: tuple[str, ...] = ()
    if reviewed:
        runs, notes = with_people(runs)
    result = thresholds.check(runs, notes)
    keep_exit_code()  # the runs are in their files
    print_checks(result, plain_console())
    return result.exit_code


def _paths(names: Sequence[str]) -> list[Path]:
    runs_dir = Settings.from_environment().runs_dir
    if names:
        return list(dict.fromkeys(find_recording(name, runs_dir) for name in names))

    every = (recording_path(runs_dir, run_id) for run_id in Catalogue(runs_dir).ids())
    return [path for path in every if overlay_path(path).is_file()]


COMMANDS: list[click.Command] = [agreement, gate]
