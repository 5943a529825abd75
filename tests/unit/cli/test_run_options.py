"""How the options of `run` are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest

from tests.command import group


def command() -> click.Command:
    program, _ = group()
    found = program.get_command(click.Context(program), "run")
    assert found is not None
    return found


def read(*arguments: str) -> dict[str, Any]:
    return command().make_context("run", list(arguments)).params


@pytest.mark.parametrize(
    ("arguments", "printed", "file", "jobs"),
    [
        (["job.yml", "--json"], True, None, ["job.yml"]),
        (["--json", "job.yml"], True, None, ["job.yml"]),
        (["job.yml", "--json", "--repeat", "7"], True, None, ["job.yml"]),
        (["job.yml", "--json", "out.json"], False, "out.json", ["job.yml"]),
        (["--json=out.json", "job.yml"], False, "out.json", ["job.yml"]),
        (["job.yml", "--json", "out.json", "--json"], True, "out.json", ["job.yml"]),
        (["job.yml"], False, None, ["job.yml"]),
    ],
)
def test_json_is_printed_or_written_and_never_takes_a_job_for_its_file(
    arguments: list[str], printed: bool, file: str | None, jobs: list[str]
) -> None:
    found = read(*arguments)
    assert found["as_json"] is printed
    assert found["write_json"] == (Path(file) if file else None)
    assert [str(job) for job in found["jobs"]] == jobs


@pytest.mark.parametrize(
    ("option", "first", "second"),
    [
        ("--repeat", "3", "5"),
        ("--graph", "none", "embedded"),
        ("--max-cost", "1", "2.5"),
        ("--cases", "1-3", "4"),
    ],
)
def test_an_option_with_one_value_never_silently_takes_the_last_of_two(
    option: str, first: str, second: str
) -> None:
    with pytest.raises(
        click.UsageError, match=f"{option} takes one value, and was given several: {first} and"
    ):
        read("job.yml", option, first, option, second)


def test_the_same_value_may_be_given_twice() -> None:
    assert read("job.yml", "--repeat", "3", "--repeat", "3")["trials"] == 3
    assert read("job.yml", "--otlp", "--otlp")["otlp"] == 4318


def test_models_and_thresholds_can_be_repeated() -> None:
    found = read(
        "a.yml",
        "b.yml",
        "--model",
        "x",
        "--model",
        "y",
        "--fail-under",
        "0.8",
        "--fail-under",
        "supplied:0.9",
    )
    assert found["models"] == ("x", "y")
    assert found["fail_under"] == ("0.8", "supplied:0.9")
    assert len(found["jobs"]) == 2


def test_the_help_of_run_lists_every_option_once_in_a_group() -> None:
    context = click.Context(command(), info_name="run", help_option_names=["-h", "--help"])
    shown = context.command.get_help(context)
    options = [
        p
        for p in context.command.get_params(context)
        if isinstance(p, click.Option) and not p.hidden
    ]
    assert 20 < len(options) <= 35, "34, and --help"
    for option in options:
        record = option.get_help_record(context)
        assert record is not None
        assert len(re.findall(rf"^  {re.escape(record[0])}(?:  |$)", shown, re.MULTILINE)) == 1, (
            option.name
        )
