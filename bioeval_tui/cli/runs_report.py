"""`runs show`, `report`, `compare`, `explain`, `export`, `agreement` and `gate`: what recorded runs
say, offline and without API keys; and `plan`: how many cases and trials are needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui import plugins
from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.files import below, folder_below, write_or_print, write_whole
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import keep_exit_code
from bioeval_tui.base.terminal import print_json, print_json_piecewise, say
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.cli.gate_options import THRESHOLDS, add_gate_files, gate_files, with_thresholds
from bioeval_tui.cli.options import (
    AGENT_RULES,
    AGENT_SIDE,
    AS_RECORDED,
    CALIBRATED_BY,
    EXISTING_FILE,
    JSON,
    OUTPUT_FILE,
    OutputFile,
    options,
)
from bioeval_tui.cli.recorded_runs import complete_run
from bioeval_tui.evaluation.conversation.resume import excluded_trials
from bioeval_tui.evaluation.wiring.resuming import rerun_offer
from bioeval_tui.peers.prices import load_prices
from bioeval_tui.record.catalogue import Catalogue, find_recordings
from bioeval_tui.record.conditions import job_conditions
from bioeval_tui.record.runs import overlay_path, recording_path
from bioeval_tui.report import explanation
from bioeval_tui.report.agent_side import with_agent_side
from bioeval_tui.report.agreement import agreement_report, label_tasks, rated_tasks
from bioeval_tui.report.calibration import calibration_offer, require_other_runs
from bioeval_tui.report.comparison import compare as compare_runs
from bioeval_tui.report.correction import corrections
from bioeval_tui.report.document import piecewise_document
from bioeval_tui.report.formats.agreement import agreement_csv, agreement_dict, print_agreement
from bioeval_tui.report.formats.console import (
    print_agent_side,
    print_comparison,
    print_judged_again,
    print_manner,
    print_rankings,
    print_score_card,
)
from bioeval_tui.report.formats.json_parts import json_text
from bioeval_tui.report.formats.registry import (
    TARGET,
    Asked,
    Format,
    choose,
    known,
    names,
    write_runs,
)
from bioeval_tui.report.gate import Gate, GateRules, print_checks, reviewed_runs
from bioeval_tui.report.plans import planned, print_plan
from bioeval_tui.report.result import load_run
from bioeval_tui.report.shown import MOST_CONVERSATIONS
from bioeval_tui.report.summary import ranking_dicts, rankings, summarise_runs
from bioeval_tui.statistics.planning import ASSUMED, VarianceComponents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bioeval_tui.report.result import RunResult


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs show 7f3a --trial 2\n  bioeval-tui runs show 7f3a --json"
    )
)
@click.argument("run_id", shell_complete=complete_run)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object (see `bioeval-tui schema result`).",
)
@AS_RECORDED
@CALIBRATED_BY
@AGENT_SIDE
@AGENT_RULES
@click.option(
    "--trial",
    type=click.IntRange(1),
    help="Show this trial's parts, tasks and assertions [all, by count].",
)
def show(
    run_id: str,
    as_json: bool,
    as_recorded: bool,
    calibrated_by: tuple[str, ...],
    agent_side: bool,
    agent_rules: tuple[str, ...],
    trial: int | None,
) -> int:
    """Show a run's score card. RUN_ID is its id, or the beginning or end of it."""
    settings = Settings.from_environment()
    listed = Catalogue(settings.runs_dir)
    path = listed.find(run_id)
    run = load_run(path, prices=load_prices(settings.data_dir), as_recorded=as_recorded)
    if calibrated_by:
        (run,) = _calibrate([run], calibrated_by, as_recorded)
    elif run.judge_unreviewed and (offer := calibration_offer(run, listed.runs)):
        say(f"note: {offer}", err=True)
    (run,) = _look_at_agents([run], agent_side, agent_rules)
    if trial is not None and as_json:
        raise UsageError("--trial is for the score card; --json has all trials")
    _require_trial(run, trial or 1)
    for problem in run.problems:
        say(f"note: {problem}", err=True)
    # An import has no trials to hold again.
    if run.started.source is None and excluded_trials(run.state):
        offer = rerun_offer(path, None if as_recorded else run.state)
        if offer:
            say(f"note: {offer}", err=True)
    if as_json:
        print_json_piecewise(piecewise_document(run))
        return ExitCode.OK
    console = plain_console()
    print_score_card(run, console, trial)
    print_judged_again(run, console)
    print_agent_side(run, console)
    print_manner(run, console)
    return ExitCode.OK


def _require_trial(run: RunResult, trial: int) -> None:
    if trial > max(run.planned_trials, *run.trials, 1):
        raise UsageError(
            f"there is no trial {trial}: the run has {plural(run.planned_trials, 'trial')}"
        )


def _add_output(option: str, default: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the options for the format and the output file."""
    listed = plugins.help_line("formats", known("run", "runs"))
    return options(
        click.option(
            option,
            "kind",
            type=click.Choice(names("run", "runs")),
            help=f"The format [by the extension of --output{default}]. {listed}.",
        ),
        click.option(
            "--output",
            type=OutputFile(path_type=Path),
            help="The file or folder to write to [stdout].",
        ),
    )


_TRIALS = re.compile(r"([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?", re.ASCII)


def _trial_ranges(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> tuple[range, ...]:
    """Return the trials that each text means: `7` or `1-50`."""
    return tuple(map(_trial_range, given))


def _trial_range(text: str) -> range:
    found = _TRIALS.fullmatch(text)
    if found is None:
        raise click.BadParameter(
            f"{text!r} is no trial; give one, such as 7, or some, such as 1-50"
        )
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise click.BadParameter(f"{text!r} ends before it begins; give the smaller number first")
    return range(first, last + 1)


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs report 7f3a --output report.html"
        "\n  bioeval-tui runs report 7f3a 91c2 --format md"
    )
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@_add_output("--format", ", else html")
@click.option(
    "--target",
    type=click.FloatRange(0, 1),
    default=TARGET,
    help="The target score; the report shows what would reach it.",
)
@click.option(
    "--trial",
    "trials",
    metavar="N|N-M",
    multiple=True,
    callback=_trial_ranges,
    help=(
        "In HTML, show the conversations of these trials [all; of more than"
        f" {MOST_CONVERSATIONS} conversations, the worst]. Figures stay those of all."
    ),
)
@AS_RECORDED
@CALIBRATED_BY
@AGENT_SIDE
@AGENT_RULES
def report(
    run: tuple[str, ...],
    kind: str | None,
    output: Path | None,
    target: float,
    trials: tuple[range, ...],
    as_recorded: bool,
    calibrated_by: tuple[str, ...],
    agent_side: bool,
    agent_rules: tuple[str, ...],
) -> int:
    """Write a report of one or more runs.

    RUN is a run's id, its beginning or end, or a recording file.
    """
    chosen = choose(output, kind, "run", "runs", default="html")
    if trials and chosen.name != "html":
        raise UsageError(f"--trial is for HTML; {chosen.name} has the conversations of all trials")
    loaded = _load(run, as_recorded)
    for one in loaded:
        _require_trial(one, max((some[-1] for some in trials), default=1))
    runs = _calibrate(loaded, calibrated_by, as_recorded)
    runs = _look_at_agents(runs, agent_side, agent_rules)
    return _write_runs(chosen, runs, Asked(target, output, trials))


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs compare 7f3a 91c2\n  bioeval-tui runs compare 7f3a 91c2"
        " --fail-on-regression\n  bioeval-tui runs compare 7f3a 91c2 b07d"
    )
)
@click.argument("a", shell_complete=complete_run)
@click.argument("b", shell_complete=complete_run)
@click.argument("more", nargs=-1, shell_complete=complete_run)
@click.option("--texts", is_flag=True, help="Show the agent's messages turn by turn.")
@JSON
@click.option(
    "--output", type=OutputFile(path_type=Path, dir_okay=False), help="Write the JSON to this file."
)
@click.option(
    "--fail-on-regression",
    is_flag=True,
    help=(
        "Exit with 1 if B is worse than A beyond chance; with 3 if there are too few trials or"
        " cases to tell (five trials of each are enough)."
    ),
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

    A and B are run ids, their beginnings or ends, or recording files. With MORE runs, ranks their
    agents with intervals instead.
    """
    if more:
        if texts or fail_on_regression:
            raise UsageError("--texts and --fail-on-regression compare two runs")
        return _rank((a, b, *more), as_json, output, as_recorded)
    comparison = compare_runs(*_load((a,), as_recorded), *_load((b,), as_recorded))
    if as_json or output is not None:
        write_or_print(
            choose(output, None, "comparison", default="json").write("comparison", comparison),
            output,
        )
    if not as_json:
        print_comparison(comparison, plain_console(), texts=texts)
    if fail_on_regression:
        if as_json:
            for note in comparison.identity:
                say(f"--fail-on-regression: {note}", err=True)
        # A regression is a finding, so it takes precedence over anything that was not measured.
        if comparison.regressions:
            return ExitCode.BELOW
        if why := comparison.undecided or comparison.incomparable:
            say(f"--fail-on-regression: {why}", err=True)
            return ExitCode.NOT_MEASURED
    return ExitCode.OK


def _rank(names: tuple[str, ...], as_json: bool, output: Path | None, as_recorded: bool) -> int:
    """Print the ranks of the runs' agents."""
    ranked = rankings(summarise_runs(_load(names, as_recorded)))
    if not ranked:
        raise UsageError(
            "nothing to rank: these runs have the same agent, or no condition in common"
        )
    if as_json or output is not None:
        write_or_print(json_text(ranking_dicts(ranked)), output)
    if not as_json:
        print_rankings(ranked, plain_console())
    return ExitCode.OK


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs explain 7f3a --target 0.9"
        "\n  bioeval-tui runs explain 7f3a --weights timing=0,tasks=3"
    )
)
@click.argument("run", shell_complete=complete_run)
@click.option("--target", type=click.FloatRange(0, 1), default=TARGET, help="The target score.")
@click.option(
    "--weights",
    default="",
    show_default=False,
    help="Score again with other weights, such as timing=0,tasks=3,assertions=4.",
)
@JSON
@AS_RECORDED
def explain(run: str, target: float, weights: str, as_json: bool, as_recorded: bool) -> int:
    """Explain a run's scores: the parts, what each would have to be, and other weights. No model is
    called.
    """
    given = explanation.parse_weights(weights)
    loaded = _load((run,), as_recorded)[0]
    explained = explanation.explain(loaded, target, given)
    if as_json:
        data = explanation.explanation_dict(loaded, explained, target)
        print_json(data, indent=2)
    else:
        explanation.print_explanation(explained, target, plain_console())
    return ExitCode.OK


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs export 7f3a --to inspect --output logs"
        "\n  bioeval-tui runs export 7f3a --to csv"
    )
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@_add_output("--to", "")
@AS_RECORDED
def export(run: tuple[str, ...], kind: str | None, output: Path | None, as_recorded: bool) -> int:
    """Export recorded runs for other tools.

    RUN is a run's id, its beginning or end, or a recording file.
    """
    if kind is None and (output is None or output.is_dir()):
        raise UsageError(
            f"give a format: --to {', '.join(names('run', 'runs')[:-1])} or"
            f" {names('run', 'runs')[-1]}"
        )
    runs = _load(run, as_recorded)
    return _write_runs(choose(output, kind, "run", "runs"), runs, Asked(TARGET, output))


def _calibrate(runs: list[RunResult], names: tuple[str, ...], as_recorded: bool) -> list[RunResult]:
    """Return runs whose judge is corrected by the reviews of the runs of these names, if any."""
    if not names:
        return runs
    # A copy of a recording in another folder is the same run, too.
    by = tuple({run.run_id: run for run in _load(names, as_recorded)}.values())
    for run in runs:
        require_other_runs(run, by)
    return [replace(run, calibrated_by=by) for run in runs]


def _look_at_agents(
    runs: list[RunResult], is_asked: bool, names: tuple[str, ...]
) -> list[RunResult]:
    """Return runs with what rules find about their agents, if that is asked for."""
    if not is_asked and not names:
        return runs
    return [with_agent_side(run, names) for run in runs]


def _write_runs(chosen: Format, runs: Sequence[RunResult], asked: Asked) -> int:
    output = asked.output
    if output is not None and _is_folder(chosen, output):
        folder = folder_below(output)
        output = below(folder, chosen.file_name(runs[0]))  # a run of another may have any id
        document = write_runs(chosen, runs, replace(asked, output=output))
        write_whole(output, document, mode=0o600)
        say(f"wrote {clean_line(str(output), 300)}", err=True)
    else:
        write_or_print(write_runs(chosen, runs, asked), output)
    if output is not None and (note := chosen.name_warning(output)):
        say(f"note: {note}", err=True)
    return ExitCode.OK


def _is_folder(chosen: Format, output: Path) -> bool:
    """Return whether to write below `output`: a folder, or what can only be one for a format with
    names of its own.

    Raises:
        UsageError: the format's readers refuse a file of this name.
    """
    if output.is_dir() or not chosen.name_of:
        return output.is_dir()
    if output.suffix or output.exists():
        if chosen.name_warning(output) and output.suffix.lower() not in chosen.endings:
            raise UsageError(
                f"{clean_line(str(output), 300)}: {chosen.name_warning(output)}; or give a folder"
            )
        return False
    return True


def _load(names: tuple[str, ...], as_recorded: bool) -> list[RunResult]:
    """Return the runs of these names, each once."""
    settings = Settings.from_environment()
    prices = load_prices(settings.data_dir)
    paths = find_recordings(names, settings.runs_dir)
    runs = [load_run(path, prices=prices, as_recorded=as_recorded) for path in paths]
    for loaded in runs:
        for problem in loaded.problems:
            say(f"note: {problem}", err=True)
    return runs


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs agreement 7f3a 91c2"
        "\n  bioeval-tui runs agreement --blind --csv --output calibration.csv"
    )
)
@click.argument("run", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@click.option(
    "--judge", default="", show_default=False, help="Only judges whose name contains this."
)
@click.option("--blind", is_flag=True, help="Use only blind reviews.")
@click.option(
    "--labels",
    type=EXISTING_FILE,
    help=(
        "A CSV file of people's labels to use instead of reviews, with a column `case` or `trial`"
        " and one for the label."
    ),
)
@click.option(
    "--column",
    default="",
    show_default=False,
    help="The column with the labels [people_score, label, score or passed].",
)
@click.option(
    "--labels-drawn",
    is_flag=True,
    help="The labelled items are a random sample, so corrected scores can be estimated from them.",
)
@JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with a row for each task and judge.")
@OUTPUT_FILE
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

    For each judge model and prompt version, prints Cohen's kappa (pass or fail), weighted kappa
    (tenths), Krippendorff's alpha, sensitivity, specificity and the mean absolute difference, with
    intervals, and the largest differences. With reviews of a random sample, also estimates what
    people would say about all verdicts. RUN is a run's id, its beginning or end, or a recording
    file; without RUN, all runs with reviews.
    """
    if as_json and as_csv:
        raise UsageError("give --json or --csv, not both")

    if labels is None and (column or labels_drawn):
        raise UsageError("--column and --labels-drawn need --labels FILE")
    if labels is not None and not run:
        raise UsageError("--labels needs the runs that were labelled: name them")
    runs = [load_run(path) for path in _paths(run)]
    items, problems = rated_tasks(runs, blind=blind, every=True)
    if labels is not None:
        items = label_tasks(items, labels, column)
    if not any(item.people for item in items):
        what = "blind reviews" if blind else "reviews"
        say(f"no {what} yet; add some with `bioeval-tui review RUN`", err=True)
        return ExitCode.NOT_MEASURED
    report = agreement_report(items, problems, judge=judge)
    corrected = corrections(runs, items, drawn=labels_drawn)
    corrected = [each for each in corrected if judge.lower() in each.judge.judge.lower()]
    if judge and not report.judges:
        raise UsageError(f"no judge of these tasks has a name that contains {judge!r}")
    as_csv = as_csv or (output is not None and output.suffix == ".csv")
    if as_csv or as_json or output is not None:
        text = json_text(agreement_dict(report, corrected))
        write_or_print(agreement_csv(report) if as_csv else text, output)
    else:
        print_agreement(report, plain_console(), corrected)
    return ExitCode.OK


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs gate 7f3a --fail-under 0.8 --reviewed"
        "\n  bioeval-tui runs gate 7f3a 91c2 --min-pass-k 2:0.9 --junit out.xml"
    )
)
@click.argument("run", nargs=-1, required=True, shell_complete=complete_run)
@with_thresholds
@click.option("--reviewed", is_flag=True, help="Use people's scores where there are reviews.")
@add_gate_files
def gate(run: tuple[str, ...], reviewed: bool, **options: Any) -> int:
    """Check recorded runs against thresholds, as `run --headless` does, and exit with 0, 1 (below)
    or 3 (not measured).

    Uses the judge's scores; with --reviewed, people's scores where there are reviews. RUN is a
    run's id, its beginning or end, or a recording file.
    """
    rules = GateRules.parse(**{name: options[name] for name in THRESHOLDS})
    if not rules.given:
        raise UsageError(
            "give a threshold: --fail-under, --fail-on-assertion, --min-pass-k or --fail-slower"
        )
    thresholds = Gate(rules, gate_files(options))
    thresholds.check_paths()
    runs = [load_run(path) for path in _paths(run)]
    for one in runs:
        rules.require_conditions(one.conditions, job_conditions(one.state.job), one.run_id)
    notes: tuple[str, ...] = ()
    if reviewed:
        runs, notes = reviewed_runs(runs)
    result = thresholds.check(runs, notes)
    keep_exit_code()  # the runs are in their files
    print_checks(result, plain_console())
    return result.exit_code


def _paths(names: Sequence[str]) -> list[Path]:
    runs_dir = Settings.from_environment().runs_dir
    if names:
        return find_recordings(names, runs_dir)

    every = (recording_path(runs_dir, run_id) for run_id in Catalogue(runs_dir).ids())
    return [path for path in every if overlay_path(path).is_file()]


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui plan --detect 0.1\n  bioeval-tui plan --detect 0.1 --power"
        " 0.9 --from 7f3a --from 91c2\n  bioeval-tui plan --width 0.1 --from 7f3a"
    )
)
@click.option(
    "--detect",
    type=click.FloatRange(0, 1, min_open=True),
    help="The difference between two agents' scores to detect.",
)
@click.option(
    "--width",
    type=click.FloatRange(0, 1, min_open=True),
    help="The maximum width of the confidence interval of one agent's mean.",
)
@click.option("--power", type=click.FloatRange(0.05, 1, min_open=True, max_open=True), default=0.8,
              help="The probability of detecting a difference of that size.")  # fmt: skip
@click.option(
    "--from",
    "runs",
    metavar="RUN",
    multiple=True,
    shell_complete=complete_run,
    help=(
        "Estimate variances, calls, cost and time from this run. Repeat for several runs of one or"
        " both agents."
    ),
)
@click.option(
    "--sd-between",
    type=click.FloatRange(0, 1),
    help="Assumed standard deviation between cases [0.17].",
)
@click.option(
    "--sd-within",
    type=click.FloatRange(0, 1),
    help="Assumed standard deviation between trials of one case [0.20].",
)
@click.option(
    "--correlation",
    type=click.FloatRange(-1, 1),
    default=0.5,
    help="Correlation of the two agents' case means, unless runs of both are given.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=1,
    help="Concurrent conversations, to estimate the hours.",
)
@JSON
def plan(
    detect: float | None,
    width: float | None,
    runs: tuple[str, ...],
    sd_between: float | None,
    sd_within: float | None,
    as_json: bool,
    **design: Any,
) -> int:
    """Plan how many cases and trials you need to detect a difference, or to get an interval of a
    given width.

    Also prints calls, cost and time. RUN is a run's id, its beginning or end, or a recording file.
    No model is called.
    """
    if (detect is None) == (width is None):
        raise UsageError(
            "give --detect 0.1 (a difference between two agents) or --width 0.1 (an interval for"
            " one agent)"
        )
    if runs and (sd_between is not None or sd_within is not None):
        raise UsageError("give --from RUN or assumed standard deviations, not both")
    settings = Settings.from_environment()
    prices = load_prices(settings.data_dir)
    paths = find_recordings(runs, settings.runs_dir)
    loaded = [load_run(path, prices=prices) for path in paths]
    between = ASSUMED.between if sd_between is None else sd_between**2
    within = ASSUMED.within if sd_within is None else sd_within**2
    assumed = VarianceComponents(between, within)
    made = planned(loaded, detect=detect, width=width, assumed=assumed, **design)
    if as_json:
        print_json(made.to_dict(), indent=2)
    else:
        print_plan(made, plain_console())
    return ExitCode.OK
