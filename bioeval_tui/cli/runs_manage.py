"""`runs import`, `delete`, `prune` and `record-to`: the files of recorded runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bioeval_tui import plugins
from bioeval_tui.base import units
from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import say
from bioeval_tui.base.text import plural
from bioeval_tui.cli.options import add_job_file
from bioeval_tui.cli.recorded_runs import complete_run, find_run
from bioeval_tui.evaluation.conversation.intents import RECORD_TO, send_intent
from bioeval_tui.evaluation.engine.attach import sender_name
from bioeval_tui.jobs.loading import job_snapshot, load_job
from bioeval_tui.record.catalogue import Catalogue, RunFilter, parse_time
from bioeval_tui.record.deleting import delete_runs, deletions, empty_trash
from bioeval_tui.record.importing import formats
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.record.importing.writing import ImportOptions
from bioeval_tui.record.runs import read_live

if TYPE_CHECKING:
    from bioeval_tui.record.deleting import Deletion


@click.command(
    "import",
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs import 20261120-195407-7f3a.jsonl\n  bioeval-tui runs"
        " import gpt-4o-airline.json --licence MIT\n  bioeval-tui runs import run1.json run2.json"
        " run3.json\n  bioeval-tui runs import craft-md/results/gpt4_1106\n  bioeval-tui runs"
        " import transcripts.jsonl --job triage.yml"
    ),
)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--format", "kind", type=click.Choice(formats.names()),
    help="Its format [by content]. "
    + plugins.help_line("importers", formats.known()) + ".",
)  # fmt: skip
@add_job_file(
    "Use this job's tasks and judge instead of the file's scores; then run `runs rescore`."
)
@click.option(
    "--licence",
    default="",
    show_default=False,
    help="The file's licence, if the file does not name one [unknown].",
)
@click.option(
    "--origin",
    default="",
    show_default=False,
    help="Where the file comes from: a URL, a paper [unknown].",
)
def import_run(
    files: tuple[Path, ...], kind: str | None, job_file: Path | None, licence: str, origin: str
) -> int:
    """Import a recording, or another tool's conversations, as one run.

    Several FILEs of another tool become one run, too: each holds a trial of the same cases.
    CRAFT-MD's results are a folder. Texts are cleaned, and missing information stays unknown. Files
    may have any size.
    """
    settings = Settings.from_environment()
    job = job_snapshot(load_job(job_file).job) if job_file is not None else None
    options = ImportOptions(licence, origin, job)
    done = import_file(files[0], settings.runs_dir, kind=kind, options=options, more=files[1:])
    for problem in done.problems:
        say(f"note: {problem}", err=True)
    for note in done.notes:
        say(f"note: {note}", err=True)
    state = "imported" if done.new else "already imported"
    say(f"{state}: {done.run_id}; show it with `bioeval-tui runs show {done.run_id}`", err=True)
    say(done.run_id)
    return ExitCode.OK


@click.command(epilog="\b\nExample:\n  bioeval-tui runs delete 195407-7f3a 201133-91c2")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def delete(run_ids: tuple[str, ...], yes: bool) -> int:
    """Permanently delete runs: recording, later scores and log. RUN is an id, or six characters of
    its start or end.
    """
    paths = [find_run(run_id, least=6)[1] for run_id in run_ids]
    return _delete(list(dict.fromkeys(paths)), yes)


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs prune --older-than 90d\n  bioeval-tui runs prune"
        " --older-than 2026-01-01 --dry-run\n  bioeval-tui runs prune --trash"
    )
)
@click.option("--older-than", metavar="AGE", help="An age such as 30d, 12h or 8w, or a date.")
@click.option("--trash", is_flag=True, help="Empty the trash, whatever its age.")
@click.option("--dry-run", is_flag=True, help="List the runs, and delete nothing.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def prune(older_than: str | None, trash: bool, dry_run: bool, yes: bool) -> int:
    """Permanently delete runs that were started, or moved to the trash, before a time.

    Runs in progress are kept. --trash alone empties the trash.
    """
    if older_than is None and not trash:
        raise UsageError("give --older-than AGE or --trash")
    settings = Settings.from_environment()
    before = parse_time(older_than, datetime.now(UTC)) if older_than is not None else None
    runs = Catalogue(settings.runs_dir).runs(RunFilter(before=before)) if before else []
    paths = [run.path for run in runs if run.status != "running"]
    trashed = deletions(settings.trash_dir, None if trash else before)
    if dry_run or not (paths or trashed):
        for path in paths:
            say(path.stem)
        for run_id in chain.from_iterable(deletion.run_ids for deletion in trashed):
            say(f"{run_id} (in the trash)")
        say(f"{_counted(paths, trashed)} would be deleted", err=True)
        return ExitCode.OK
    return _delete(paths, yes, trashed)


def _counted(paths: Sequence[Path], trashed: Sequence[Deletion]) -> str:
    in_trash = sum(len(deletion.run_ids) for deletion in trashed)
    counted = plural(len(paths), "run")
    if trashed:
        counted += f" and {in_trash} in the trash"
    return counted


def _delete(paths: list[Path], yes: bool, trashed: Sequence[Deletion] = ()) -> int:
    what = _counted(paths, trashed)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                f"cannot ask for confirmation without a terminal; pass --yes to delete {what}"
            )
        asked = f"Permanently delete {what}"
        if paths:
            shown = ", ".join(path.stem for path in paths[:5])
            if len(paths) > 5:
                shown += " …"
            asked += f" ({shown})"
        click.confirm(f"{asked}?", abort=True, err=True)
    logs_dir = Settings.from_environment().logs_dir
    freed = delete_runs(paths, logs_dir) + empty_trash(trashed, logs_dir)
    for run_id in chain((path.stem for path in paths), *(each.run_ids for each in trashed)):
        say(run_id)
    say(f"deleted {what}, {units.size(freed, decimals=1)}", err=True)
    return ExitCode.OK


@click.command(
    "record-to", epilog="\b\nExample:\n  bioeval-tui runs record-to 7f3a /mnt/large/recordings"
)
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def record_to(run_id: str, folder: Path) -> int:
    """Move the recording of a run in progress to FOLDER, for example because its disk is full.

    A link stays in its place, so that all commands still find it.
    """
    path = find_run(run_id)[1]
    info = read_live(path)
    if info is None or not info.alive():
        raise UsageError(
            f"{path.stem} is not running; `bioeval-tui runs resume {path.stem}` resumes it"
        )
    refused = asyncio.run(
        send_intent(info, RECORD_TO, text=str(folder.absolute()), sender=sender_name())
    )
    if refused is not None:
        raise UsageError(refused)
    say(f"{path.stem} is now recorded in {folder.absolute()}", err=True)
    return ExitCode.OK
