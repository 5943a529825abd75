"""The command line, called in the process of the test."""

from __future__ import annotations

import functools
import json
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import click
from click.testing import CliRunner, Result

from bioeval_tui.cli.main import app


def call(*arguments: object, width: int | None = None, **options: Any) -> Result:
    """Call a command; its exit code is the result's `return_value`, what it raises the result's
    `exception`.

    It prints as into a pipe, whose lines have no end, or as into a terminal of this width.
    """
    with patch("bioeval_tui.base.consoles.UNBOUND", width) if width else nullcontext():
        return CliRunner().invoke(app, [*map(str, arguments)], standalone_mode=False, **options)


def group(*names: str) -> tuple[click.Group, list[str]]:
    """Return a group of commands, the whole program's without a name, and the commands that its
    help lists.
    """
    found: click.Command | None = app
    for name in names:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name)
    assert isinstance(found, click.Group)
    return found, found.list_commands(click.Context(found))


@functools.cache
def schema_of(name: str) -> Any:
    """Return what `schema` prints for one name."""
    return json.loads(call("schema", name, catch_exceptions=False).stdout)
