"""The JSON Schema of job files: editors complete and check with it."""

from __future__ import annotations

from typing import Any

from bioeval_tui.evaluate.job.models import EvaluationJob


def job_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12), with the published camelCase keys."""
    schema = EvaluationJob.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "bioeval-tui job"}
