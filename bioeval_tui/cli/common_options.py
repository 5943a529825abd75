"""The options that every command accepts (`--env-file`, `--plain`), and that every command accepts which shows recorded
data (`--redact`)."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bioeval_tui.streams import PLAIN


def with_env_file(command: click.Command) -> click.Command:
    """Add a hidden `--env-file` and `--plain` to a command, or to all commands of a group."""
    if not any(parameter.name == "env_file" for parameter in command.params):
        command.params += [env_file_option(hidden=True), plain_option(hidden=True)]
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


def plain_option(*, hidden: bool = False) -> click.Option:
    """Return the option; it sets the variable that every output asks."""
    return click.Option(
        ["--plain"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        hidden=hidden,
        callback=_use_plain,
        help="Print lines of text, without screens, boxes or signs, for screen readers and logs (BIOEVAL_PLAIN=1).",
    )


def _use_plain(context: click.Context, parameter: click.Parameter, plain: bool) -> None:
    if plain and not context.resilient_parsing:
        os.environ[PLAIN] = "1"


def _read(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None or context.resilient_parsing:
        return
    from bioeval_tui.settings import read_env_file  # --help does not need it

    read_env_file(path)


COMMANDS_THAT_SHOW = frozenset(
    {
        "app",
        "demo",
        "guards",
        "judge-test",
        "medals",
        "new",
        "review",
        "run",
        "runs",
        "serve",
        "serve-tab",
        "tui",
        "watch",
    }
)


def with_redact(command: click.Command) -> click.Command:
    """Add `--redact` to a command, or to all commands of a group."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            with_redact(one)
    elif not any(parameter.name == "redact" for parameter in command.params):
        command.params.append(_option())
    return command


def _option() -> click.Option:
    return click.Option(
        ["--redact"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="RULES.yml",
        expose_value=False,
        callback=_use_rules,
        help="Mask names and identifiers in all output.",
    )


def _use_rules(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    # Needed only for masking.
    from bioeval_tui.record.masking.current import use
    from bioeval_tui.record.masking.mask import Mask
    from bioeval_tui.record.masking.rules import load_rules
    from bioeval_tui.settings import Settings

    use(Mask(load_rules(path, Settings.from_environment().data_dir)), path)
