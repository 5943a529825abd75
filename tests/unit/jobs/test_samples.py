"""The sample jobs are valid, and the schema beside them is current."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.evaluation.wiring.check_job import check_job
from tests.command import schema_of

JOBS = Path(__file__).resolve().parents[3] / "sample_jobs"


@pytest.mark.parametrize("path", sorted(JOBS.glob("*.yml")), ids=lambda path: path.stem)
def test_a_sample_job_has_no_problems_and_names_its_schema_for_editors(path: Path) -> None:
    assert check_job(path).problems == ()
    assert path.read_text().startswith("# yaml-language-server: $schema=job.schema.json")


def test_every_key_of_the_schema_has_a_description() -> None:
    schema = schema_of("job")
    parts = {"job": schema, **schema["$defs"]}
    missing = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key, value in part["properties"].items()
        if not value.get("description")
    ]
    assert missing == []


def test_the_schema_file_is_what_the_command_prints() -> None:
    assert json.loads((JOBS / "job.schema.json").read_text()) == schema_of("job")
