"""`baseline`: create baseline submissions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click
from typing_extensions import TypedDict

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.cli.grade import ready_shipped, task_registry
from bioeval_tui.cli.options import JSON, TASK, WHERE
from bioeval_tui.grade.baselines import KINDS, BaselineFile, run_baselines


class PrintedBaselines(TypedDict):
    """A task's baselines, and the list to grade them, as `baseline --json` prints them."""

    task_id: str
    jsonl: str
    submissions: list[Annotated[dict[str, Any], Fields(BaselineFile)]]


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui baseline oncology/breast-cancer --kind all --output-dir"
        " baselines\n  bioeval-tui grade baselines/oncology-breast-cancer_baselines.jsonl"
        " --output-dir results"
    )
)
@TASK
@click.option(
    "--kind", type=click.Choice((*KINDS, "all")), default="simple", help="The kind of baseline."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=42,
    help="Random seed, for `random`.",
)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("baseline_submissions"),
    help="The folder for the submissions and their JSONL list.",
)
@WHERE
@JSON
def baseline(
    task_id: str, kind: str, seed: int, output_dir: Path, as_json: bool, **options: Any
) -> int:
    """Create baseline submissions for a task, and a JSONL list to grade them.

    The task is prepared first if that needs no download. TASK is its id, or its bare name if that
    is unique.
    """
    registry = task_registry(options)
    task = registry.get_task(task_id)
    ready_shipped(registry, [task.id])
    kinds = KINDS if kind == "all" else (kind,)
    files, listing = run_baselines(task, kinds, seed=seed, output_dir=output_dir)
    for item in files:
        say(f"{item.kind}: {item.submission_path}", err=True)
    if as_json:
        printed: PrintedBaselines = {
            "task_id": task.id,
            "jsonl": str(listing),
            "submissions": [asdict(item) for item in files],
        }
        print_json(printed)
    else:
        say(str(listing))
    return ExitCode.OK
