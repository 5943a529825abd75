"""Commands that change what is recorded: resume, rescore, import, delete, prune, and where it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui.cli.completion import complete_run
from bioeval_tui.cli.run_options import with_options
from bioeval_tui.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from bioeval_tui.record.trash import Thrown
    from bioeval_tui.settings import Settings


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs resume 7f3a\n  bioeval-tui runs resume 7f3a --headless --rerun"
)
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@with_options("agent_url", "allow_hosts", "submissions")
@click.option(
    "--job",
    "job_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The job's file [as before]; an imported run needs it.",
)
@click.option("--force", is_flag=True, help="Go on, with the job as recorded, although its file has changed.")
@click.option(
    "--rerun", is_flag=True, help="Add a trial for each that evaluator, judge or infrastructure spoilt."
)
@with_options("max_calls", "max_cost", "unrestricted_setups")
@click.option("--headless", is_flag=True, help="No screen: progress on stderr, the score card on stdout.")
@click.option("--json", "as_json", is_flag=True, help="Headless: print one JSON object.")
def resume(run_id: str, headless: bool, as_json: bool, **options: Any) -> int:
    """Let an interrupted or stopped run go on: hold the conversations that are missing, and only those.

    Finished conversations are neither held nor paid for again. RUN is the id, or the beginning or end of it.
    """
    from bioeval_tui.evaluate.wiring.resume import rerun_offer, resume_spec

    settings, path = _find(run_id)
    spec = resume_spec(path, **options)
    if spec is None:
        click.echo(f"{path.stem}: nothing is missing; `bioeval-tui runs show {path.stem}` shows it", err=True)
        if offer := rerun_offer(path):
            click.echo(offer, err=True)
        return ExitCode.OK
    if headless or as_json or not sys.stdout.isatty():
        from bioeval_tui.cli.headless import run_headless

        return run_headless(spec, settings, as_json=as_json)
    from bioeval_tui.cli.open_screen import show_run

    return show_run(spec, settings, leave_running=True)


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs rescore 7f3a --judge-model gpt-4.1\n  bioeval-tui runs rescore 7f3a 91c2 --rules"
)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option(
    "--judge-model", "--model", "judge_models", multiple=True,
    help="The model that judges; repeat it for a panel [the job's own judge].",
)  # fmt: skip
@click.option(
    "--allow-host", "allow_hosts", metavar="HOST", multiple=True,
    help="Let the recorded job send transcripts and keys to this host.",
)  # fmt: skip
@click.option("--rules", is_flag=True, help="Let the job's rules judge.")
@click.option(
    "--job",
    "job_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The job's file, beside which its prompt is [as before]; an imported run needs it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, old and new scores in each.")
def rescore(
    run_ids: tuple[str, ...],
    judge_models: tuple[str, ...],
    allow_hosts: tuple[str, ...],
    rules: bool,
    job_file: Path | None,
    as_json: bool,
) -> int:
    """Judge recorded transcripts again, without talking to the agent. The recording itself never changes.

    Where people reviewed the scores, it says whether the new verdicts agree better with them.
    """
    import asyncio
    import json

    from bioeval_tui.consoles import plain_console
    from bioeval_tui.evaluate.engine.attach import sender_name
    from bioeval_tui.evaluate.wiring.rescore import Rescorer
    from bioeval_tui.record.masking.current import current
    from bioeval_tui.report.agreement import change, rated_tasks
    from bioeval_tui.report.formats.agreement import change_dict, change_words
    from bioeval_tui.report.formats.console import print_judged_again
    from bioeval_tui.report.judged_again import judged_again_dicts
    from bioeval_tui.report.loading import load_run

    found = [_find(run_id) for run_id in run_ids]
    rescorers = [
        Rescorer(
            path, settings, judge_models=judge_models, allow_hosts=allow_hosts, rules=rules, job_file=job_file
        )
        for settings, path in found
    ]
    hosts = dict.fromkeys(host for rescorer in rescorers for host in rescorer.hosts)
    if hosts:
        click.echo(f"transcripts go to: {', '.join(hosts)}", err=True)
    for sentence in dict.fromkeys(rescorer.judge_sees for rescorer in rescorers if rescorer.judge_sees):
        click.echo(sentence, err=True)
    printed: list[dict[str, Any]] = []
    code = ExitCode.OK
    paths = list(dict.fromkeys(rescorer.path for rescorer in rescorers))
    for rescorer in rescorers:
        judged = asyncio.run(rescorer.judge_again(sender_name()))
        for item in judged:
            for said in (*item.warnings, *([item.error] if item.error else [])):
                click.echo(
                    f"{rescorer.run_id}, facts {item.key.condition}, trial {item.key.trial}: {current().text(said)}",
                    err=True,
                )
        if not judged:
            click.echo(f"{rescorer.run_id}: no conversation that could be judged", err=True)
        if not judged or any(item.error for item in judged):
            code = ExitCode.NOT_MEASURED
        run = load_run(rescorer.path)
        if as_json:
            closer = change_dict(change(rated_tasks([rescorer.path])[0]))
            shown = judged_again_dicts(run.judged_again)
            scores = {
                "scores": run.state.scores(),
                "score": run.state.ended.mean if run.state.ended else None,
            }
            printed.append({"run_id": rescorer.run_id, **scores, "judged_again": shown, "agreement": closer})
        else:
            print_judged_again(run, plain_console())
    if as_json:
        click.echo(json.dumps(printed, indent=2, ensure_ascii=False))
    elif (found_closer := change(rated_tasks(paths)[0])) is not None:
        for line in ("", *change_words(found_closer)):
            click.echo(line)
    return code


@click.command("import", epilog="\b\nExample:\n  bioeval-tui runs import 20261120-195407-7f3a.jsonl")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def import_run(file: Path) -> int:
    """Take in a recording that somebody sent: one file, its texts cleaned, damaged lines reported."""
    from bioeval_tui.record.transfer import import_recording
    from bioeval_tui.settings import Settings, private_dir

    settings = Settings.from_environment()
    done = import_recording(file, private_dir(settings.runs_dir))
    for problem in done.problems:
        click.echo(f"note: {problem}", err=True)
    for note in done.notes:
        click.echo(f"note: {note}", err=True)
    said = "is there now" if done.new else "was there already"
    click.echo(f"{done.run_id} {said}; `bioeval-tui runs show {done.run_id}` shows it", err=True)
    click.echo(done.run_id)
    return ExitCode.OK


@click.command(epilog="\b\nExample:\n  bioeval-tui runs delete 195407-7f3a 201133-91c2")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(run_ids: tuple[str, ...], yes: bool) -> int:
    """Delete runs for good: recording, later scores and log. RUN is the id, or six characters of its beginning or end."""
    paths = [_find(run_id, least=6)[1] for run_id in run_ids]
    return _delete(list(dict.fromkeys(paths)), yes)


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs prune --older-than 90d\n  bioeval-tui runs prune --older-than 2026-01-01 --dry-run"
    "\n  bioeval-tui runs prune --trash"
)
@click.option("--older-than", metavar="AGE", help="An age such as 30d, 12h or 8w, or a date.")
@click.option("--trash", is_flag=True, help="Empty the trash, however new what is in it.")
@click.option("--dry-run", is_flag=True, help="Say which runs, and delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def prune(older_than: str | None, trash: bool, dry_run: bool, yes: bool) -> int:
    """Delete for good: runs that began before a time, and what was moved to the trash before it.

    Runs that go on are kept. --trash alone empties the trash.
    """
    from datetime import UTC, datetime

    from bioeval_tui.record.ages import moment
    from bioeval_tui.record.catalogue import Catalogue, RunFilter
    from bioeval_tui.record.trash import thrown_away
    from bioeval_tui.settings import Settings

    if older_than is None and not trash:
        raise UsageError("say what to delete: --older-than AGE, or --trash")
    settings = Settings.from_environment()
    before = moment(older_than, datetime.now(UTC)) if older_than is not None else None
    found = Catalogue(settings.runs_dir).runs(RunFilter(before=before)) if before else []
    paths = [run.path for run in found if run.status != "running"]
    thrown = thrown_away(settings.data_dir, None if trash else before)
    if dry_run or not (paths or thrown):
        for path in paths:
            click.echo(path.stem)
        for run_id in (run_id for deletion in thrown for run_id in deletion.run_ids):
            click.echo(f"{run_id} (in the trash)")
        click.echo(f"{_counted(paths, thrown)} would be deleted", err=True)
        return ExitCode.OK
    return _delete(paths, yes, thrown)


@click.command("record-to", epilog="\b\nExample:\n  bioeval-tui runs record-to 7f3a /mnt/large/recordings")
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def record_to(run_id: str, folder: Path) -> int:
    """Let a run that goes on be recorded in another FOLDER, as when its disk is full.

    What is recorded so far goes along; a link stays where it was, so that everything finds it as before.
    """
    import asyncio

    from bioeval_tui.evaluate.engine.attach import sender_name
    from bioeval_tui.evaluate.engine.intents import RECORD_TO, send_intent
    from bioeval_tui.record.live import read_live

    path = _find(run_id)[1]
    info = read_live(path)
    if info is None or not info.alive():
        raise UsageError(f"{path.stem} does not go on now; `bioeval-tui runs resume {path.stem}` lets it")
    refused = asyncio.run(send_intent(info, RECORD_TO, text=str(folder.absolute()), sender=sender_name()))
    if refused is not None:
        raise UsageError(refused)
    click.echo(f"{path.stem} is recorded in {folder.absolute()} now", err=True)
    return ExitCode.OK


def _counted(paths: Sequence[Path], thrown: Sequence[Thrown]) -> str:
    from bioeval_tui.text import plural

    in_trash = sum(len(deletion.run_ids) for deletion in thrown)
    return plural(len(paths), "run") + (f" and {in_trash} in the trash" if thrown else "")


def _delete(paths: list[Path], yes: bool, thrown: Sequence[Thrown] = ()) -> int:
    from bioeval_tui.record.transfer import delete_runs
    from bioeval_tui.record.trash import empty
    from bioeval_tui.settings import Settings

    what = _counted(paths, thrown)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"--yes is needed to delete {what} where nobody can be asked")
        shown = ", ".join(path.stem for path in paths[:5]) + (" …" if len(paths) > 5 else "")
        click.confirm(f"Delete {what} for good{f' ({shown})' if shown else ''}?", abort=True, err=True)
    logs_dir = Settings.from_environment().logs_dir
    freed = delete_runs(paths, logs_dir) + empty(thrown, logs_dir)
    for run_id in (*(path.stem for path in paths), *(one for each in thrown for one in each.run_ids)):
        click.echo(run_id)
    click.echo(f"deleted {what}, {freed / 1e6:,.1f} MB", err=True)
    return ExitCode.OK


def _find(run_id: str, *, least: int = 1) -> tuple[Settings, Path]:
    from bioeval_tui.record.catalogue import Catalogue
    from bioeval_tui.settings import Settings

    settings = Settings.from_environment()
    return settings, Catalogue(settings.runs_dir).find(run_id, least=least)


COMMANDS: list[click.Command] = [resume, rescore, import_run, delete, prune, record_to]
