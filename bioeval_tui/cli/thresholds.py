"""The options that say what must hold: the same for a run that is held now and for recorded ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--fail-under",
        multiple=True,
        metavar="BAR",
        help="Exit 1 below: 0.8 (the mean of both conditions), or supplied:0.85,withheld:0.5.",
    ),
    click.option(
        "--fail-on-assertion", is_flag=True, help="Exit 1 when an assertion does not hold at the end."
    ),
    click.option(
        "--min-pass-k", multiple=True, metavar="K:BAR", help="Exit 1 when pass^K is below, such as 2:0.9."
    ),
)


def with_bars(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `fail_under`, `fail_on_assertion` and `min_pass_k` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
