"""The JSON Schema of job files, for completion and checks in editors."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from pydantic.alias_generators import to_camel

from bioeval_tui.evaluation.job import models
from bioeval_tui.evaluation.job.models import EvaluationJob


def job_schema() -> dict[str, Any]:
    """Return the schema, with the published camelCase keys, each with its description."""
    schema = EvaluationJob.model_json_schema(by_alias=True)
    described = _descriptions()
    for name, part in {"EvaluationJob": schema, **schema.get("$defs", {})}.items():
        for key, value in part.get("properties", {}).items():
            if text := described.get(name, {}).get(key):
                value["description"] = text
    return schema | {"title": "bioeval-tui job"}


def _descriptions() -> dict[str, dict[str, str]]:
    """Return by class and key the text below each field, its own or inherited.

    They are read from the source only here. Pydantic would read them whenever the models are imported, which would slow
    down every command.
    """
    found: dict[str, dict[str, str]] = {}
    for part in ast.parse(inspect.getsource(models)).body:
        if not isinstance(part, ast.ClassDef):
            continue
        own: dict[str, str] = {}
        for base in part.bases:
            own |= found.get(base.id, {}) if isinstance(base, ast.Name) else {}
        for field, text in zip(part.body, part.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match text:
                    case ast.Expr(ast.Constant(str(said))):
                        own[to_camel(field.target.id)] = " ".join(said.split())
        found[part.name] = own
    return found
