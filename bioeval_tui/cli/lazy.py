"""A group whose commands are loaded when they are called: its help comes from a table, and loads none of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Table = Mapping[str, tuple[str, str]]
"""Each command's module in this package, and its line in help; a command with an empty line is not listed."""

Change = Callable[[str, click.Command], click.Command]
"""Adds to a command, given its name, what all commands of its group take."""


class LazyGroup(click.Group):
    """A group of the commands in `table`. `change` sees each before it is called."""

    def __init__(self, *given: Any, table: Table, change: Change | None = None, **more: Any) -> None:
        super().__init__(*given, **more)
        self.table = table
        self.change: Change = change or (lambda _name, command: command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names that help shows."""
        return [name for name, (_, about) in self.table.items() if about]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command's module and return the command; None if there is none of that name."""
        if cmd_name not in self.table:
            return None
        module = import_module(f"bioeval_tui.cli.{self.table[cmd_name][0]}")
        commands: list[click.Command] = module.COMMANDS
        return self.change(cmd_name, next(command for command in commands if command.name == cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list from the table, without loading a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name][1]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what the shell offers, from the table: click would load every command for its line."""
        from click.shell_completion import CompletionItem  # for the tab key alone

        found = [
            CompletionItem(name, help=self.table[name][1])
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command; for a misspelt one, suggest the nearest."""
        name = args[0] if args else ""
        if name and name not in self.table and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.list_commands(ctx), 1)
            hint = f", did you mean {near[0]}?" if near else f"; `{ctx.command_path} --help` lists them"
            raise click.UsageError(f"no such command: {name!r}{hint}")
        return super().resolve_command(ctx, args)
