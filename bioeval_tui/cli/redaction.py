"""`--redact RULES.yml`: the option of every command that shows or writes recorded data."""

from __future__ import annotations

from pathlib import Path

import click

COMMANDS_THAT_SHOW = frozenset(
    {
        "app",
        "demo",
        "guards",
        "judge-test",
        "medals",
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
    from bioeval_tui.record.masking.rules_file import load_rules
    from bioeval_tui.settings import Settings

    use(Mask(load_rules(path, Settings.from_environment().data_dir)), path)


COMMANDS: list[click.Command] = []
