"""Hostile texts in every free text of events, jobs, runs, tasks and reports.

Nothing is cleaned on the way, as if a hole in the ingestion had let everything through.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from batches import glances
from fakes import FakeServices, FakeView
from history import benchmarks, compared, details, history, jobs
from medal_rows import sample_rows
from pydantic import BaseModel
from review_queue import task_queue
from run_script import scripted_run

from bioeval_tui.grade.validation import Validation
from bioeval_tui.grading import TaskReport
from bioeval_tui.record.state import RunState, apply_all

Value = TypeVar("Value")
CLIPBOARD = "\x1b]52;c;SE9TVElMRQ==\x07"
CORPUS = (
    f"\x1b[2J\x1b[31mred\x1b[0m {CLIPBOARD}\x9b2J\x9d52;c;aGk=\x9c \x1bP1$r0m\x1b\\"
    " \x1b]8;;http://evil.example\x07x\x1b]8;;\x07",
    "[@click=app.leave_app]press me[/] [/INST] [/foo] [b + [link=http://evil.example]x[/link]",
    "\u202eabc\u202c\u2066x\u2069 zero\u200bwidth so\u00adft \u200f9 \u061c5 \ufeff\u2028line",
    "a" + "\u0301" * 3_000,
    "[" * 2_000,
    "w" * 20_000,
    "👨‍👩‍👧‍👦 漢字 \t\r\n\x00\x07\x08",
)
_KEPT = frozenset({"run_id", "session_id", "task_id", "job_sha256"})


def poisoned(value: Value, text: str) -> Value:
    """Return the value with `text` in every field that may hold any text."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        changed = {
            name: _poisoned(getattr(value, name), fields[name].annotation, name, text)
            for name in fields
            if name not in ("condition", "conditions")  # whose names are checked when they are read
        }
        return value.model_copy(update=changed)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value), localns={"TaskReport": TaskReport})
        changed = {
            field.name: _poisoned(getattr(value, field.name), hints[field.name], field.name, text)
            for field in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **changed)
    return value


def _poisoned(value: Any, annotation: Any, name: str, text: str) -> Any:
    if isinstance(value, str):
        free = annotation is str or str in get_args(annotation)
        return text if free and name not in _KEPT else value
    if isinstance(value, Path):
        return Path("/tmp") / text.replace("\x00", "").replace("/", "")[:200]
    if hasattr(value, "_fields"):  # a key
        return value
    if isinstance(value, list | tuple) and get_origin(annotation) in (list, tuple, None):
        inner = (get_args(annotation) or (str,))[0]
        return type(value)(_poisoned(item, inner, "", text) for item in value)
    if name == "job":
        return _job(value, text)
    if isinstance(value, dict):
        return {key: _poisoned(item, str, "", text) for key, item in value.items()}
    return poisoned(value, text)


def _job(job: dict[str, Any], text: str) -> dict[str, Any]:
    tasks = [{"task": text, "acceptanceCriteria": text} for _ in job["tasks"]]
    assertions = [{**assertion, "name": text} for assertion in job["assertions"]]
    return {**job, "tasks": tasks, "facts": [text, text], "assertions": assertions}


def hostile_services(text: str, hold_at: int | None = None) -> FakeServices:
    """Return services all of whose texts are `text`."""
    view = FakeView([poisoned(event, text) for event in scripted_run()], hold_at=hold_at)
    rows = [dataclasses.replace(poisoned(row, text), task_id=text) for row in sample_rows()]
    services = FakeServices(view, rows)
    services.job_items = [poisoned(job, text) for job in jobs()]
    services.history = [
        run._replace(job=text, model=text, fault=text, batch_id="b", identity={"agent": text})
        for run in history()
    ]
    services.tasks = [poisoned(task, text) for task in benchmarks()]
    services.details = {name: poisoned(detail, text) for name, detail in details().items()}
    services.comparison = compared(lambda event: poisoned(event, text))
    services.examined = Validation("invalid", (text, text))
    services.glances = [[poisoned(glance, text) for glance in glances()]]
    said = [poisoned(event, text) for event in scripted_run()]
    services.review_items = task_queue(said)
    services.reviewed_state = apply_all(RunState(), said)
    return services
