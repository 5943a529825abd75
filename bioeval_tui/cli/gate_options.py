"""The options of a gate: its thresholds, and the files that its result is written to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from bioeval_tui.cli.options import OutputFile, options
from bioeval_tui.report.formats.registry import known

with_thresholds = options(
    click.option(
        "--fail-under",
        multiple=True,
        metavar="SCORE",
        help=(
            "Exit with 1 below this score: 0.8 (the mean of both conditions), or"
            " supplied:0.85,withheld:0.5; of a part or task: supplied.assertion:1,task2:0.7."
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
