"""`--env-file FILE`: read settings from a file. Every command accepts it."""

from __future__ import annotations

from pathlib import Path

import click


def with_env_file(command: click.Command) -> click.Command:
    """Add a hidden `--env-file` to a command, or to all commands of a group."""
    if not any(parameter.name == "env_file" for parameter in command.params):
        command.params.append(env_file_option(hidden=True))
    if isinstance(command, click.Group):
        for one in command.commands.values():
            with_env_file(one)
    return command


def env_file_option(*, hidden: bool = False) -> click.Option:
    """Return the option. It is processed first, because other options read settings."""
    return click.Option(
        ["--env-file"],
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        metavar="FILE",
        expose_value=False,
        is_eager=True,
        hidden=hidden,
        callback=_read,
        help="Read unset variables from FILE, such as .env. No .env is read by default.",
    )


def _read(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None or context.resilient_parsing:
        return
    from bioeval_tui.settings import read_env_file  # --help does not need it

    read_env_file(path)
