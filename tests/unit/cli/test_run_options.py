"""How the options of `run` are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.cli.run import run


def read(*arguments: str) -> dict[str, Any]:
    return run.make_context("run", list(arguments)).params


@pytest.mark.parametrize(
    ("arguments", "printed", "file", "jobs"),
    [
        (["job.yml", "--json"], True, None, ["job.yml"]),
        (["--json", "job.yml"], True, None, ["job.yml"]),
        (["job.yml", "--json", "--seed", "7"], True, None, ["job.yml"]),
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
