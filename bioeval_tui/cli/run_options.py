"""The options of a run, each from its field in `RunOptions`, and the request that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bioeval_tui.base.text import clean_line
from bioeval_tui.cli.options import board, options
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.record.run_options import Kind, held_value, kinds
from bioeval_tui.sample.named import find_job


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
