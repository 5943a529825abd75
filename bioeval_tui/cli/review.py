"""`review`: open the review screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import has_screen, is_plain
from bioeval_tui.base.terminal import say
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import number
from bioeval_tui.cli.app import run_app
from bioeval_tui.cli.recorded_runs import complete_run
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.record.catalogue import find_recording, find_recordings
from bioeval_tui.report.correction import draw
from bioeval_tui.report.result import load_run
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.review_items import ReviewSource


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui review 7f3a 91c2 --blind\n  bioeval-tui review results/ --as"
        " ada\n  bioeval-tui review 7f3a --sample 100 --seed 7"
    )
)
@click.argument(
    "what", metavar="RUN|REPORT...", nargs=-1, required=True, shell_complete=complete_run
)
@click.option("--blind", is_flag=True, help="Hide the judge's scores until you have entered yours.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Review a random sample of N judged tasks, blind.",
)
@click.option("--seed", type=int, default=1, help="Random seed of the sample.")
@click.option(
    "--strata",
    type=click.Choice(["verdict", "condition", "job"]),
    help="Sample in proportion to this.",
)
@click.option(
    "--as", "name", default="", show_default=False, help="Your name as a reviewer [user@host]."
)
def review(
    what: tuple[str, ...], blind: bool, sample: int | None, seed: int, strata: str | None, name: str
) -> int:
    """Review judged tasks and graded submissions: accept or change scores, set the fault, add
    notes, undo.

    RUN is a run's id, its beginning or end, or a recording file; REPORT is a grading report or a
    folder of them. Reviews are stored beside the recording or report, which never change. Works
    offline, without API keys.

    With --sample you review a random sample in random order, so that `runs agreement` can estimate
    what people would say about all verdicts. Without a terminal, this prints the sample.
    """
    settings = Settings.from_environment()
    if sample is None and is_plain():
        return _print(settings, what)
    if sample is None:
        return _show(settings, what, reviewer=name, blind=blind)
    paths = find_recordings(what, settings.runs_dir)
    drawn = draw([load_run(path) for path in paths], sample, seed, strata)
    if not has_screen():
        for path, item in drawn:
            say(f"{path.stem} {item.condition} {item.trial} {item.task}")
        return ExitCode.OK
    return _show(settings, [path.stem for path in paths], reviewer=name, blind=True, drawn=True)


def _print(settings: Settings, what: Sequence[str]) -> int:
    """Print every verdict of runs with what people have said about it, a line each."""
    console = plain_console()
    for text in what:
        result = load_run(find_recording(text, settings.runs_dir))
        console.print(
            f"{result.brief.job} · {result.brief.agent_words} · facts: {result.brief.facts_words}"
        )
        for talk in result.conversations:
            for task in talk.tasks:
                console.print(
                    f"{result.place_words(talk)} · task {task.task} {task.title}: {task.words}."
                    f" {task.reason}"
                )
        for one in result.reviews:
            moved = f"{number(one.before)} → {number(one.after)}"
            console.print(f"{one.about} · reviewed by {one.author}: {moved}. {one.why}".rstrip())
    return ExitCode.OK


def _show(
    settings: Settings,
    what: Sequence[str],
    *,
    reviewer: str = "",
    blind: bool = False,
    drawn: bool = False,
) -> int:
    """Open the review screen on runs (ids or recordings) and grading reports (files or folders).

    With `drawn` it shows only the sample.

    Raises:
        UsageError: an argument is neither a run nor a report, or there is no terminal.
    """
    need_terminal("`bioeval-tui runs show RUN` prints the verdicts")

    reports = [text for text in what if Path(text).is_dir() or text.endswith(".json")]
    runs = [text for text in what if text not in reports]
    for text in runs:
        find_recording(text, settings.runs_dir)
    services = AppServices(settings, reviewer=clean_line(reviewer, 80))
    source = ReviewSource(tuple(runs), reports=tuple(map(Path, reports)), drawn=drawn)
    run_app(
        BioevalApp(
            services, "runs", on_quit="leave", over_it=lambda app: app.review(source, blind=blind)
        )
    )
    return ExitCode.OK
