"""What commands share: the group that loads a command's module when the command is called, with its
help from a table; the options that every command accepts (`--env-file`, `--plain`), or every one
that shows recorded data (`--redact`).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui.base.streams import PLAIN

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


Table = Mapping[str, tuple[str, str]]
"""The module and help text of each command. A command with an empty help text is hidden."""

Change = Callable[[str, click.Command], click.Command]
"""Adds the options that all commands of a group share, given a command's name."""


class LazyGroup(click.Group):
    """A group of the commands in `table`. `change` is applied to a command when it is loaded."""

    def __init__(
        self,
        *given: Any,
        table: Table,
        change: Change | None = None,
        suggested: Sequence[str] = (),
        **more: Any,
    ) -> None:
        """`suggested` are groups whose commands are suggested, too: `runs replay` for `replay`."""
        super().__init__(*given, **more)
        self.table = table
        self.suggested = suggested
        self.change: Change = change or (lambda _name, command: command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names that help lists."""
        return [name for name, (_, about) in self.table.items() if about]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command's module and return the command; None if the name is unknown."""
        if cmd_name not in self.table:
            return None
        module = import_module(f"bioeval_tui.cli.{self.table[cmd_name][0]}")
        commands = (each for each in vars(module).values() if isinstance(each, click.Command))
        return self.change(
            cmd_name, next(command for command in commands if command.name == cmd_name)
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name][1]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return completions from the table; click itself would load every command."""
        from click.shell_completion import CompletionItem  # needed only for completion

        items = [
            CompletionItem(name, help=self.table[name][1])
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, Any, list[str]]:
        """Find the command; suggest the closest name for a misspelt one.

        Raises:
            UsageError: there is no such command.
        """
        name = args[0] if args else ""
        if name and name not in self.table and not name.startswith("-"):
            groups = {group: self.get_command(ctx, group) for group in self.suggested}
            places: dict[str, str] = {}
            for group, found in groups.items():
                if isinstance(found, click.Group):
                    places |= {inner: f"{group} {inner}" for inner in found.list_commands(ctx)}
            places |= {command: command for command in self.list_commands(ctx)}
            near = difflib.get_close_matches(name, places, 1)
            hint = f"; `{ctx.command_path} --help` lists them"
            if near:
                hint = f", did you mean {places[near[0]]}?"
            raise click.UsageError(f"no such command: {name!r}{hint}")
        return super().resolve_command(ctx, args)


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
        help=(
            "Print lines of text, without screens, boxes or signs, for screen readers and logs"
            " (BIOEVAL_PLAIN=1)."
        ),
    )


def _use_plain(context: click.Context, parameter: click.Parameter, plain: bool) -> None:
    if plain and not context.resilient_parsing:
        os.environ[PLAIN] = "1"


def _read(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None or context.resilient_parsing:
        return
    from bioeval_tui.base.settings import read_env_file  # --help does not need it

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
        "scores",
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
    from bioeval_tui.base.settings import Settings
    from bioeval_tui.record.masking import use
    from bioeval_tui.record.masking.mask import Mask
    from bioeval_tui.record.masking.rules import load_rules

    use(Mask(load_rules(path, Settings.from_environment().data_dir)), path)
