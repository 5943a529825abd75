"""`runs resume` and `runs rescore`: run what is missing, and judge transcripts again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click
from typing_extensions import TypedDict

from bioeval_tui.cli.options import HEADLESS, JOB_FILE, complete_run, find_run, with_options
from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import ExitCode
from bioeval_tui.evaluation.engine.attach import sender_name
from bioeval_tui.evaluation.wiring.rescore import Rescorer
from bioeval_tui.evaluation.wiring.resume import rerun_offer, resume_spec
from bioeval_tui.record.masking import current
from bioeval_tui.report.agreement import change, rated_tasks
from bioeval_tui.report.formats.agreement import PrintedChange, change_dict, change_words
from bioeval_tui.report.formats.console import print_judged_again
from bioeval_tui.report.result import load_run
from bioeval_tui.report.reviews import PrintedJudging, judged_again_dicts
from bioeval_tui.streams import has_screen
from bioeval_tui.terminal import print_json, say


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs resume 7f3a\n  bioeval-tui runs resume 7f3a --headless --rerun"
)
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@with_options("agent_url", "allow_hosts", "submissions", "code")
@click.option(
    "--job",
    "job_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The job file [as recorded]. Required for an imported run.",
)
@click.option("--force", is_flag=True, help="Resume with the job as recorded, even if its file has changed.")
@click.option(
    "--rerun",
    is_flag=True,
    help="Add a trial for each one that failed because of the evaluator, the judge or the infrastructure.",
)
@with_options("max_calls", "max_cost", "unrestricted_setups")
@HEADLESS
@click.option("--json", "as_json", is_flag=True, help="Headless: print one JSON object.")
def resume(run_id: str, headless: bool, as_json: bool, **options: Any) -> int:
    """Resume an interrupted or stopped run: run only the missing conversations.

    Finished conversations are not repeated; where some could not be measured, the command that makes up for them is
    shown. RUN is a run's id, or its beginning or end.
    """
    settings, path = find_run(run_id)
    spec = resume_spec(path, **options)
    if spec is None:
        complete = f"{path.stem}: already complete; show it with `bioeval-tui runs show {path.stem}`"
        say(rerun_offer(path) or complete, err=True)
        return ExitCode.OK
    if headless or as_json or not has_screen():
        from bioeval_tui.cli.headless import run_headless  # the screen does not need it

        return run_headless(spec, settings, as_json=as_json)
    from bioeval_tui.cli.show_run import announce, show_run  # a headless run does not need it

    announce(spec, settings)
    return show_run(spec, settings, leave_running=True)


class PrintedRescored(TypedDict):
    """A run that was judged again: its scores now, every verdict, and the change of the agreement with people."""

    run_id: str
    scores: dict[str, float | None]
    score: float | None
    judged_again: list[PrintedJudging]
    agreement: PrintedChange | None


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs rescore 7f3a --judge-model gpt-4.1\n  bioeval-tui runs rescore 7f3a 91c2 --rules"
)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option(
    "--judge-model", "--model", "judge_models", multiple=True,
    help="The judge's model [the job's judge]. Repeat for a panel.",
)  # fmt: skip
@click.option(
    "--allow-host", "allow_hosts", metavar="HOST", multiple=True,
    help="Allow the recorded job to send transcripts and its key to this host. Repeatable.",
)  # fmt: skip
@click.option("--rules", is_flag=True, help="Use the job's rules judge.")
@JOB_FILE
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects with old and new scores.")
def rescore(
    run_ids: tuple[str, ...],
    judge_models: tuple[str, ...],
    allow_hosts: tuple[str, ...],
    rules: bool,
    job_file: Path | None,
    as_json: bool,
) -> int:
    """Judge recorded transcripts again, without calling the agent. The recording does not change.

    If people reviewed the scores, also prints whether the new verdicts agree better with them.
    """
    runs = [find_run(run_id) for run_id in run_ids]
    rescorers = [
        Rescorer(
            path, settings, judge_models=judge_models, allow_hosts=allow_hosts, rules=rules, job_file=job_file
        )
        for settings, path in runs
    ]
    hosts = dict.fromkeys(host for rescorer in rescorers for host in rescorer.hosts)
    if hosts:
        say(f"transcripts are sent to: {', '.join(hosts)}", err=True)
    for sentence in dict.fromkeys(rescorer.judge_sees for rescorer in rescorers if rescorer.judge_sees):
        say(sentence, err=True)
    printed: list[PrintedRescored] = []
    code = ExitCode.OK
    paths = list(dict.fromkeys(rescorer.path for rescorer in rescorers))
    for rescorer in rescorers:
        judged = asyncio.run(rescorer.judge_again(sender_name()))
        for item in judged:
            for warning in (*item.warnings, *([item.error] if item.error else [])):
                say(
                    f"{rescorer.run_id}, facts {item.key.condition}, trial {item.key.trial}: {current().text(warning)}",
                    err=True,
                )
        if not judged:
            say(f"{rescorer.run_id}: has no conversation that can be judged", err=True)
        if not judged or any(item.error for item in judged):
            code = ExitCode.NOT_MEASURED
        run = load_run(rescorer.path)
        if as_json:
            closer = change_dict(change(rated_tasks([run])[0]))
            shown = judged_again_dicts(run.judged_again)
            printed.append(
                {
                    "run_id": rescorer.run_id,
                    "scores": run.scores,
                    "score": run.mean,
                    "judged_again": shown,
                    "agreement": closer,
                }
            )
        else:
            print_judged_again(run, plain_console())
    if as_json:
        print_json(printed, indent=2)
    elif (found_closer := change(rated_tasks(map(load_run, paths))[0])) is not None:
        for line in ("", *change_words(found_closer)):
            say(line)
    return code


COMMANDS: list[click.Command] = [resume, rescore]
