"""`bioeval-tui schema` describes everything that commands print as JSON: no key is missing there,
and none is invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from bioeval_tui.record.overlay import append_reviews
from tests.command import call, group, schema_of
from tests.forked import completed
from tests.integration.program import environment, sample_agent, started
from tests.unit.report.recorded import Recorded, import_scores, reviewed, scoring

TASK = "oncology/breast-cancer"
ONE, TWO, THREE = (f"20260102-030405-{end}" for end in ("aaaa", "bbbb", "cccc"))
BROKEN_JOB = "target: {user: ada}\nasks: 1\n"
LINE = {
    "id": "a",
    "messages": [{"role": "user", "content": "As an AI language model, I cannot be a patient."}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs, reviews, reports, a job with mistakes and a transcript."""
    found = tmp_path_factory.mktemp("outputs")
    runs = found / "data" / "runs"
    runs.mkdir(parents=True)
    for name, model in ((ONE, "small"), (TWO, "large"), (THREE, "huge")):
        made = Recorded(
            [scoring(0.4), scoring(0.6)],
            [scoring(0.9), scoring(1.0)],
            run_id=name,
            started={"model": model},
        )
        made.write(runs)
    given = {"run_id": ONE, "task": 1, "before": 0.4, "judge": "judge"}
    reviews = [reviewed(1, after=0.8, **given), reviewed(2, "eve", after=0.2, blind=True, **given)]
    append_reviews(runs / f"{ONE}.jsonl", reviews)
    import_scores(found / "data", "ten", [(0.5, 0.25)] * 10)
    (found / "broken.yml").write_text(BROKEN_JOB)
    (found / "lines.jsonl").write_text(json.dumps(LINE) + "\n")
    with sample_agent(found / "data", "--tokens-per-second", "0") as url:
        options = (
            "--rehearsal",
            "--headless",
            "--json",
            "report.json",
            "--fail-under",
            "0.1",
            "--repeat",
            "2",
        )
        said(found, "run", "medication_reminder", "--agent-url", url, *options)
    (found / "seed").write_bytes(b"0123456789abcdef")
    (found / "grade.json").write_text(
        said(found, "grade", "submissions", "--output-dir", "graded", "--json")
    )
    return found


def said(folder: Path, *arguments: str) -> str:
    """Return what a command prints; it may exit with 0 to 3, but says no traceback."""
    ran = completed(*arguments, env=environment(folder / "data"), cwd=folder)
    assert ran.returncode in (0, 1, 2, 3), ran.stderr
    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.stdout, ran.stderr
    return ran.stdout


def closed(schema: Any) -> Any:
    """Return a schema that allows no key that it does not name, unless it says so itself."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    return (
        {"additionalProperties": False, **found}
        if isinstance(found.get("properties"), dict)
        else found
    )


def check(name: str, printed: str) -> None:
    """Check what was printed against the schema of that name."""
    jsonschema.Draft202012Validator(closed(schema_of(name))).validate(json.loads(printed))


PRINTED = {
    "baseline": ("baseline", TASK, "--json"),
    "check": ("check", "broken.yml", "--json"),
    "doctor": ("doctor", "--json"),
    "grade-sample": ("grade-sample", "careful", TASK, "--intervals", "all", "--explain", "--json"),
    "ledger-verify": ("ledger", "verify", "--json"),
    "medals": ("medals", "graded", "--json"),
    "medals-agents": ("medals", "graded", "--agents", "--json"),
    "plan": ("plan", "--detect", "0.1", "--from", ONE, "--json"),
    "runs-show": ("runs", "show", ONE, "--json"),
    "run-dry-run": ("run", "medication_reminder", "--dry-run", "--json"),
    "runs-agreement": ("runs", "agreement", "--json"),
    "runs-compare": ("runs", "compare", ONE, TWO, "--json"),
    "runs-compare-several": ("runs", "compare", ONE, TWO, THREE, "--json"),
    "runs-explain": ("runs", "explain", ONE, "--weights", "timing=0", "--json"),
    "runs-list": ("runs", "list", "--json"),
    "samples": ("samples", "--json"),
    "tasks-list": ("tasks", "list", "--json"),
    "tasks-prepare": ("tasks", "prepare", TASK, "--json"),
    "tasks-show": ("tasks", "show", TASK, "--json"),
    "tasks-split": (
        "tasks",
        "split",
        TASK,
        "--seed-file",
        "seed",
        "--output-dir",
        "parts",
        "--json",
    ),
    "validate": ("validate", "broken", TASK, "--json"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_command_prints_is_what_its_schema_says(name: str, folder: Path) -> None:
    check(name, said(folder, *PRINTED[name]))


def test_what_grade_prints_is_what_its_schema_says(folder: Path) -> None:
    check("grade", (folder / "grade.json").read_text())


def test_what_runs_print_and_write_is_what_the_schemas_say(folder: Path) -> None:
    report = (folder / "report.json").read_text()
    check("report", report)
    run = json.loads(report)["runs"][0]["run_id"]
    shown = said(folder, "runs", "show", run, "--json")
    for name, printed in (("result", shown), ("run", shown), ("run", f"[{shown}]")):
        check(name, printed)
    check("runs-rescore", said(folder, "runs", "rescore", run, "--rules", "--json"))
    check("judge-test", said(folder, "judge-test", run, "--rules", "--json"))
    check("result", said(folder, "runs", "show", run, "--json"))
    check("assert", said(folder, "assert", "1 == 1", "--context", run))


def test_each_line_of_guards_is_what_the_schema_says(folder: Path) -> None:
    for line in said(folder, "guards", "lines.jsonl", "--json").splitlines():
        check("guards", line)


def test_the_sample_agents_first_line_is_what_the_schema_says(tmp_path: Path) -> None:
    with started("agent", "--port", "0", data_dir=tmp_path) as process:
        assert process.stdout is not None
        check("agent", process.stdout.readline())


def test_every_option_json_has_a_schema() -> None:
    for name in _with_json(group()[0], ()):
        assert schema_of(name)


def _with_json(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _with_json(inner, (*path, name))
    elif any("--json" in each.opts for each in command.params):
        yield "-".join(path)


def test_every_schema_is_a_schema_with_a_name_and_a_version(tmp_path: Path) -> None:
    assert call("schema", "--output-dir", tmp_path / "all").return_value == 0
    written = sorted((tmp_path / "all").iterdir())
    assert len(written) > len(PRINTED)
    for path in written:
        found = json.loads(path.read_text("utf-8"))
        jsonschema.Draft202012Validator.check_schema(found)
        name = found["$id"].removeprefix("urn:bioeval-tui:schema:").removesuffix(":1")
        assert found == schema_of(name)
        assert path.name == f"{name}.schema.json"


def test_a_schema_is_named_as_its_command_is(tmp_path: Path) -> None:
    ran = completed("schema", "runs", "list", env=environment(tmp_path))
    assert json.loads(ran.stdout) == schema_of("runs-list")
    wrong = completed("schema", "runs", "lst", env=environment(tmp_path))
    assert (wrong.returncode, wrong.stderr.count("runs-list")) == (2, 1)
