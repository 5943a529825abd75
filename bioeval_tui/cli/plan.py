"""`plan`: how many cases and trials are needed."""

from __future__ import annotations

import click

from bioeval_tui.cli.options import JSON, complete_run
from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.evaluation.spending import FILE_NAME, load_prices
from bioeval_tui.record.catalogue import find_recording
from bioeval_tui.report.plans import planned, print_plan
from bioeval_tui.report.result import load_run
from bioeval_tui.report.statistics.planning import ASSUMED, VarianceComponents
from bioeval_tui.settings import Settings
from bioeval_tui.terminal import print_json


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui plan --detect 0.1\n  bioeval-tui plan --detect 0.1 --power 0.9 --from 7f3a --from 91c2"
    "\n  bioeval-tui plan --width 0.1 --from 7f3a"
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
@click.option("--from", "runs", metavar="RUN", multiple=True, shell_complete=complete_run,
              help="Estimate variances, calls, cost and time from this run. Repeat for several runs of one or both agents.")  # fmt: skip
@click.option(
    "--sd-between", type=click.FloatRange(0, 1), help="Assumed standard deviation between cases [0.17]."
)
@click.option(
    "--sd-within",
    type=click.FloatRange(0, 1),
    help="Assumed standard deviation between trials of one case [0.20].",
)
@click.option("--correlation", type=click.FloatRange(-1, 1), default=0.5,
              help="Correlation of the two agents' case means, unless runs of both are given.")  # fmt: skip
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
    power: float,
    runs: tuple[str, ...],
    sd_between: float | None,
    sd_within: float | None,
    correlation: float,
    concurrency: int,
    as_json: bool,
) -> int:
    """Plan how many cases and trials you need to detect a difference, or to get an interval of a given width.

    Also prints calls, cost and time. RUN is a run's id, its beginning or end, or a recording file. No model is called.
    """
    if (detect is None) == (width is None):
        raise UsageError(
            "give --detect 0.1 (a difference between two agents) or --width 0.1 (an interval for one agent)"
        )
    if runs and (sd_between is not None or sd_within is not None):
        raise UsageError("give --from RUN or assumed standard deviations, not both")
    settings = Settings.from_environment()
    prices = load_prices(settings.data_dir / FILE_NAME)
    loaded = [load_run(find_recording(name, settings.runs_dir), prices=prices) for name in runs]
    between = ASSUMED.between if sd_between is None else sd_between**2
    within = ASSUMED.within if sd_within is None else sd_within**2
    made = planned(
        loaded,
        detect=detect,
        width=width,
        power=power,
        assumed=VarianceComponents(between, within),
        correlation=correlation,
        concurrency=concurrency,
    )
    if as_json:
        print_json(made.to_dict(), indent=2)
    else:
        print_plan(made, plain_console())
    return ExitCode.OK


COMMANDS: list[click.Command] = [plan]
