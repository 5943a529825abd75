"""The options and arguments that several commands share, each defined once: a run, thresholds,
tasks and runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.run_options import Kind, held_value, kinds
from bioeval_tui.report.formats.registry import known
from bioeval_tui.sample.paths import find_job

if TYPE_CHECKING:
    from bioeval_tui.grade.runs import Runs

MOST = 100


def complete_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the ids that start or end with the typed text, newest first, with their job."""
    typed = incomplete.lower()
    runs = Catalogue(Settings.from_environment().runs_dir).runs()
    return [
        CompletionItem(run.run_id, help=f"{run.job}, {run.status}")
        for run in runs
        if run.run_id.startswith(typed) or run.run_id.endswith(typed)
    ][:MOST]


def find_run(run_id: str, *, least: int = 1) -> tuple[Settings, Path]:
    """Return the settings and the recording of the run with this id, or this beginning or end of
    one.

    `least` is the minimum number of characters.

    Raises:
        UsageError: no run matches, or several do.
    """
    settings = Settings.from_environment()
    return settings, Catalogue(settings.runs_dir).find(run_id, least=least)


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


def options(*several: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return several options as one decorator; help lists them in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(several):
            command = option(command)
        return command

    return add


with_thresholds = options(
    click.option(
        "--fail-under",
        multiple=True,
        metavar="SCORE",
        help=(
            "Exit with 1 below this score: 0.8 (the mean of both conditions), or"
            " supplied:0.85,withheld:0.5; of a part or task: supplied.assertion:1,task2:0.7."
            " --fail-slower p95:2s limits response times."
        ),
    ),
    click.option(
        "--fail-on-assertion", is_flag=True, help="Exit with 1 if an assertion fails at the end."
    ),
    click.option(
        "--min-pass-k",
        multiple=True,
        metavar="K:SHARE",
        help="Exit with 1 if pass^K is below this, such as 2:0.9.",
    ),
    click.option(
        "--fail-slower",
        multiple=True,
        metavar="PERCENTILE:TIME",
        hidden=True,  # named by --fail-under: the help of `run` is long enough
        help=(
            "Exit with 1 if a percentile of the response times is longer, such as p95:2s or"
            " supplied.p50:800ms."
        ),
    ),
)

THRESHOLDS = ("fail_under", "fail_on_assertion", "min_pass_k", "fail_slower")
"""The names of these options as parameters."""


def add_gate_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each format that can contain a gate's result; `gate_files` reads them."""
    each = (
        click.option(
            f"--{kind.name}",
            f"write_{kind.name}",
            metavar="FILE",
            type=OutputFile(path_type=Path),
            help=f"Write {kind.about}.",
        )
        for kind in known("gate")
    )
    return options(*each)(command)


def add_gate_files_and_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options to a `JsonFileCommand`, where `--json` without a file prints the result."""
    command = add_gate_files(command)
    for option in command.__click_params__:  # type: ignore[attr-defined]
        if option.name == "write_json":
            option.opts, option.hidden = ["--write-json"], True
    return command


def gate_files(options: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files to write, by format."""
    asked = {kind.name: options.get(f"write_{kind.name}") for kind in known("gate")}
    return {name: path for name, path in asked.items() if path is not None}


class JsonFileCommand(click.Command):
    """A command whose `--json` may be followed by a file name that ends in .json."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `--json out.json` as a file to write."""
        words = list(args)
        for place, arg in enumerate(args):
            name, _, value = arg.partition("=")
            if name == "--json" and value:
                words[place] = f"--write-json={value}"
            elif arg == "--json" and place + 1 < len(args) and args[place + 1].endswith(".json"):
                words[place] = "--write-json"
        return super().parse_args(ctx, words)


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
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.option("--job", "job_file", type=file, help=about)


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


class GivenOnce(click.Option):
    """An option with one value, which is refused if it is given twice with different ones; click
    itself would silently take the last.
    """

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser keep every value that is given."""
        self.multiple = True
        super().add_to_parser(parser, ctx)
        self.multiple = False

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the value.

        Raises:
            click.UsageError: there are several.
        """
        given = opts.get(self.name or "")
        if not isinstance(given, list):
            return super().consume_value(ctx, opts)
        values = list(dict.fromkeys(given))
        if len(values) > 1:
            shown = " and ".join(clean_line(str(value), 100) for value in values)
            raise click.UsageError(
                f"{self.opts[0]} takes one value, and was given several: {shown}", ctx
            )
        return super().consume_value(ctx, {**opts, str(self.name): values[0]})


def _click_option(kind: Kind) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option of a run as click's, by what its field says."""
    about: dict[str, Any] = {
        "help": kind.option.help,
        "metavar": kind.option.metavar,
        "multiple": kind.is_several,
        "callback": _READ_AS.get(kind.name),
    }
    about |= _click_type(kind) | _flag_default(kind)
    if not kind.is_several and kind.type is not bool and kind.option.flag_value is None:
        about["cls"] = GivenOnce
    return click.option(kind.option.flag, kind.name, **about)


def _click_type(kind: Kind) -> dict[str, Any]:
    """Return how click reads and checks an option's value."""
    option = kind.option
    if option.path is not None:
        is_file = option.path == "file"
        return {
            "type": click.Path(
                exists=True, dir_okay=not is_file, file_okay=is_file, path_type=Path
            ),
            "callback": lambda context, parameter, value: held_value(kind, value),
        }
    if kind.type is bool:
        return {"is_flag": True}
    if kind.type is int:
        return {"type": click.IntRange(option.least, option.most)}
    if kind.type is float:
        return {"type": click.FloatRange(option.above, option.most, min_open=True)}
    return {}


def _flag_default(kind: Kind) -> dict[str, Any]:
    """Return what click takes where the flag has no value, or is not given."""
    flag_value = kind.option.flag_value
    if flag_value is not None:
        # Without the default, which some versions of click would take for the flag's value.
        return {"is_flag": kind.type is not int, "flag_value": flag_value, "show_default": False}
    if kind.is_several or kind.type is bool or kind.default is None:
        return {}
    return {"default": kind.default}


_READ_AS: dict[str, Callable[..., Any]] = {
    "leaderboard": lambda context, parameter, value: board(value),
    "conditions": lambda context, parameter, value: value or None,
}
"""What of an option's text its type cannot read."""
OPTIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "models": click.option(
        "--model", "models", multiple=True, help="The agent's model. Repeat for several runs."
    ),
    **{kind.name: _click_option(kind) for kind in kinds() if kind.option.flag},
}
"""The options of `run`, each from its field in `RunOptions`."""


def group_options(heading: str) -> list[str]:
    """Return the names of the options that `run --help` lists below a heading."""
    return [kind.name for kind in kinds() if kind.option.flag and kind.option.group == heading]


def with_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add these options to a command, in this order."""
    return options(*(OPTIONS[name] for name in names))


def request_of(jobs: Sequence[Path], given: Mapping[str, Any]) -> RunRequest:
    """Return the request that the values of `OPTIONS` describe."""
    return RunRequest(
        jobs=tuple(map(find_job, jobs)),
        agent_url_is_given=given["agent_url"] is not None,
        **{name: given[name] for name in OPTIONS if given[name] is not None},
    )
