"""The options and arguments that several commands share, each defined once: what is printed and
written, tasks and places. Those of a run are in `run_options`, those of a gate in `gate_options`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.runs import Runs


class OutputFile(click.Path):
    """A file to write. `-`, which many programs take for standard output, would otherwise become a
    file of that name.
    """

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path."""
        if str(value) == "-":
            self.fail("- is not the name of a file; /dev/stdout is standard output", param, ctx)
        return super().convert(value, param, ctx)


EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.option(
    "--output", type=OutputFile(path_type=Path, dir_okay=False), help="The file to write [stdout]."
)


def options(*several: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return several options as one decorator; help lists them in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(several):
            command = option(command)
        return command

    return add


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
TASK = click.argument("task_id", metavar="TASK")
JSON_LIST = click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
HEADLESS = click.option(
    "--headless",
    is_flag=True,
    help="Run without a screen: progress on stderr, score card on stdout.",
)
CALIBRATED_BY = click.option(
    "--calibrated-by",
    "calibrated_by",
    metavar="RUN",
    multiple=True,
    help=(
        "Correct the judge's share of passed tasks by the reviews of this run, if judge, prompt and"
        " criteria are the same. Give runs that were sampled together one by one."
    ),
)
AGENT_SIDE = click.option(
    "--agent-side",
    is_flag=True,
    help=(
        "Add a table of what rules find in the agent's words: refuses what it did elsewhere, asks"
        " the same again, says what nobody said, forgets, notices that it is tested. In no score."
    ),
)
AGENT_RULES = click.option(
    "--agent-rules",
    metavar="NAME",
    multiple=True,
    help="Add what this plug-in finds to --agent-side.",
)
AS_RECORDED = click.option(
    "--as-recorded",
    is_flag=True,
    help="Use the recorded verdicts, even if transcripts were judged again.",
)


def add_job_file(about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the option that names a job's file."""
    return click.option("--job", "job_file", type=EXISTING_FILE, help=about)


JOB_FILE = add_job_file(
    "Judge by the criteria, rubric and judge of this job, whose tasks must be the run's, and with"
    " the prompt beside it [as recorded]."
)


WHERE = options(
    click.option(
        "--tasks-dir",
        "tasks_dirs",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help=(
            "A folder of tasks, or a BioML-bench checkout, in addition to the included tasks."
            " Repeatable."
        ),
    ),
    click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="The folder with prepared data, as <folder>/<task>/prepared.",
    ),
)
FOLLOW = click.option(
    "--follow-links",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    callback=lambda context, parameter, value: tuple(value),
    help=(
        "Follow submissions that are links into this folder. Repeatable. Links within a run group"
        " are always followed."
    ),
)
BOARD = click.option(
    "--leaderboard",
    metavar="own|published|FILE",
    callback=lambda context, parameter, value: board(value),
    help=(
        "The leaderboard: the task's own, the included published one, or a CSV file with a column"
        " score [own if it has entries, else published]."
    ),
)


_NOT_KEPT = ("as_json", "output_dir", "resume")
"""What says where a result goes, not how it comes about."""


def options_given(known: Container[str] | None = None) -> tuple[str, ...]:
    """Return the options of the command that is running, as they were typed, for a command that is
    to do the same again.

    Args:
        known: the names of the parameters that the other command has; None for all.
    """
    context = click.get_current_context()
    words: list[str] = []
    for option in context.command.params:
        name = str(option.name)
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not typed or name in _NOT_KEPT:
            continue
        if known is not None and name not in known:
            continue
        value = context.params[name]
        if option.is_flag:
            words.append(option.opts[0])
            continue
        for each in value if option.multiple else (value,):
            words += [option.opts[0], str(each)]
    return tuple(words)


OF_VALIDATE = ("tasks_dirs", "data_dir", "time_limit", "memory_limit")
"""The parameters of `validate` that commands which grade have, too."""


def board(value: str | None) -> str | None:
    """Return the chosen leaderboard: `own`, `published`, the absolute path of a file, or None.

    Raises:
        UsageError: there is no such file.
    """
    if value in (None, "own", "published"):
        return value
    need_file(Path(value), "own, published, or a CSV file with a column score")
    return str(Path(value).absolute())


def need_file(path: Path, what: str) -> None:
    """Check that a file exists, before anything else.

    Raises:
        UsageError: the file does not exist or is a folder.
    """
    shown = clean_line(str(path), 300)
    if not path.exists():
        raise UsageError(f"{shown} does not exist; give {what}")
    if path.is_dir():
        raise UsageError(f"{shown} is a folder; give {what}")


def given_settings(given: Mapping[str, Any]) -> Settings:
    """Return the environment's settings with the values of `WHERE` and `BOARD`."""
    settings = Settings.from_environment()
    data_dir: Path | None = given["data_dir"]
    return replace(
        settings,
        tasks_dirs=given["tasks_dirs"] or settings.tasks_dirs,
        tasks_data_override=data_dir.expanduser().absolute() if data_dir else None,
        leaderboard=given["leaderboard"],
    )


def require_places(places: Iterable[Path]) -> None:
    """Raise `UsageError` for the first place of jobs that does not exist."""
    for place in places:
        if not place.exists():
            raise UsageError(f"{clean_line(str(place))} does not exist; give folders or job files")


def split_runs(
    settings: Settings, places: Sequence[Path]
) -> tuple[Settings, Runs | None, tuple[Path, ...]]:
    """Return the runs of agents in these folders, settings with their tasks and data, and the other
    places.
    """
    if not places:
        return settings, None, ()
    # pydantic and yaml: only if a folder is given
    from bioeval_tui.grade.runs import (
        find_runs,
        is_runs,
    )

    folders = [place for place in places if is_runs(place)]
    if not folders:
        return settings, None, tuple(places)
    runs = find_runs(
        folders, settings.tasks_dirs, settings.tasks_data_override, settings.own_tasks_dir
    )
    changed = replace(settings, tasks_dirs=runs.tasks_dirs, tasks_data_override=runs.data_dir)
    return changed, runs, tuple(place for place in places if place not in folders)
