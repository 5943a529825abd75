"""A name in any field of a job, in its keys, or in what its cases, files and conditions are called,
is in no view and no export.
"""

from __future__ import annotations

import io
import json
import types
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pyarrow import parquet
from pydantic import BaseModel, TypeAdapter, ValidationError

from bioeval_tui.base.archives import ZipFile, is_zipfile
from bioeval_tui.base.settings import Settings
from bioeval_tui.jobs.models import EvaluationJob, FhirWrite, JobPart
from bioeval_tui.record.conditions import ConditionConfig
from bioeval_tui.record.masking import use
from bioeval_tui.record.masking.mask import FREE, JOB_KEYS, Mask
from bioeval_tui.record.masking.rules import load_rules
from bioeval_tui.report.formats.registry import names
from bioeval_tui.tui.data.services import AppServices
from tests.command import call
from tests.integration.marked import GOLDEN
from tests.integration.program import run
from tests.integration.test_masking import RUN, report
from tests.integration.test_masking_screens import walk

NAME, NUMBER = "Zebulon", 9434765919
RULES = f"names: [{NAME}]\nidentifiers: ['{NUMBER}']\n"
SHAPES = ("{name} {n}", "X-{name}-{n}", "{name}_{n}", "{name}_{n}:{name}", "{{{{ case.{name} }}}}")
"""Texts with the name; the first that a field allows is its value."""


class Filled:
    """Fills every field of a job's schema with texts that have the name, and every mapping with
    keys that have it.
    """

    def __init__(self) -> None:
        self._numbers = count(1)
        self.fields: list[str] = []
        """The fields that were given a text with the name."""

    def model(self, kind: type[BaseModel]) -> dict[str, Any]:
        """Return the data of a part of a job."""
        data: dict[str, Any] = {}
        for name, field in kind.model_fields.items():
            allowed = (
                Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
            )
            found = [value for value in self.values(field.annotation) if self._fits(allowed, value)]
            alias = field.alias or name
            if found:
                data[alias] = found[0]
                if NAME in json.dumps(found[0]):
                    self.fields.append(f"{kind.__name__}.{alias}")
            elif field.is_required():
                data[alias] = next(
                    value for value in (1000, 1, "", "withheld") if self._fits(allowed, value)
                )
        return data

    def values(self, annotation: Any) -> Iterator[Any]:
        """Yield values of a type, those with the name first."""
        origin, parts = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            for value in self.values(parts[0]):
                if self._fits(annotation, value):
                    yield value
        elif annotation is str:
            number = next(self._numbers)
            yield from (shape.format(name=NAME, n=number) for shape in SHAPES)
        elif annotation is Any:
            yield {f"{NAME} {next(self._numbers)}": [NAME, NUMBER, {NAME: NUMBER}]}
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            data = self.model(annotation)
            if annotation is FhirWrite:  # a deletion, which would be the last one, has no resource
                data["method"] = "PUT"
            yield data
        elif origin in (Union, types.UnionType):
            # The longest first: of a model or a list of them, the list; of a word or any text, the
            # text.
            for part in sorted(
                parts, key=lambda part: (get_origin(part) is not tuple, get_origin(part) is Literal)
            ):
                yield from self.values(part)
        elif origin is tuple:
            kinds = get_args(parts[0])[0] if get_origin(parts[0]) is Annotated else parts[0]
            members = (
                get_args(kinds) if get_origin(kinds) in (Union, types.UnionType) else (parts[0],)
            )
            yield [value for member in members for value in self._first(member)]
        elif origin is dict:
            yield {key: value for key in self._first(parts[0]) for value in self._first(parts[1])}
        elif origin is Literal:
            yield parts[-1]
        elif annotation in (int, float):
            yield from (1, 1000)
        elif annotation is bool:
            yield True

    def _first(self, annotation: Any) -> list[Any]:
        return [value for value in self.values(annotation) if self._fits(annotation, value)][:1]

    def _fits(self, annotation: Any, value: Any) -> bool:
        try:
            TypeAdapter[Any](annotation).validate_json(json.dumps(value))
        except ValidationError:
            return False
        return True


ONE_OF = ("answer", "template", "function", "error")
"""A tool answers in one of these ways."""


def job() -> dict[str, Any]:
    """Return the data of a job with the name wherever a text or a key may stand."""
    filled = Filled()
    # A tool that answers in every way at once is none, so that this field is filled apart.
    target = filled.model(EvaluationJob.model_fields["target"].annotation)  # type: ignore[arg-type]
    tool = {"name": f"lookup_{NAME}", "description": NAME, "parameters": {NAME: {"type": NAME}}}
    ways: dict[str, Any] = {
        "answer": {NAME: NUMBER},
        "template": NAME,
        "function": f"{NAME}:{NAME}",
        "error": NAME,
    }
    target["tools"] = [{**tool, way: ways[way]} for way in ONE_OF]
    data = filled.model(EvaluationJob) | {"target": target}
    calls = {
        "name": f"lookup_{NAME}",
        "arguments": {NAME: NUMBER},
        "where": f'it.args["{NAME}"] == 1',
    }
    limits = {
        "mustCall": [calls],
        "mustNotCall": [calls],
        "calls": [calls],
        "order": [f"lookup_{NAME}"],
    }
    data["assertions"].append({"toolCalls": {"maxCalls": {f"lookup_{NAME}": 0}}})
    data["assertions"].append(
        {"toolCalls": {**limits, "maxCalls": {f"lookup_{NAME}": 1, "user": 2}}}
    )
    validated = EvaluationJob.model_validate_json(json.dumps(data))
    return validated.model_dump(mode="json", by_alias=True)


def test_the_walk_fills_every_field_that_can_have_a_text() -> None:
    filled = Filled()
    filled.model(EvaluationJob)
    kinds = [JobPart, ConditionConfig, *JobPart.__subclasses__()]
    for kind in kinds:
        kinds += [each for each in kind.__subclasses__() if each not in kinds]
    of_texts = {
        f"{kind.__name__}.{field.alias or name}"
        for kind in kinds
        for name, field in kind.model_fields.items()
        if _may_have_name(field.annotation)
    }
    unreached = {name for name in of_texts if name not in filled.fields}
    # Bases, whose fields are those of their kinds, and what `job` fills apart.
    bases = (
        "ModelOptions.",
        "ModelEndpoint.",
        "AssertionPart.",
        "ToolConfig.",
        "TargetConfig.tools",
    )
    # Names of conditions are keys, which other fields repeat.
    keys = {name for name in unreached if name.endswith(".only")} | {
        "ConditionConfig.name",
        "EvaluationJob.order",
    }
    assert {name for name in unreached - keys if not name.startswith(bases)} == set()


def _may_have_name(annotation: Any) -> bool:
    if annotation is str or annotation is Any:
        return True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return any(_may_have_name(field.annotation) for field in annotation.model_fields.values())
    if get_origin(annotation) is Literal:
        return False
    return any(map(_may_have_name, get_args(annotation)))


def test_the_mask_knows_the_keys_of_a_job_and_which_of_its_parts_are_free() -> None:
    keys: set[str] = set()
    free: set[str] = set()
    for schema in EvaluationJob.model_json_schema(by_alias=True)["$defs"].values():
        for name, field in schema.get("properties", {}).items():
            keys.add(name)
            written = json.dumps(field)
            is_free = (
                '"additionalProperties": {' in written or '"additionalProperties": true' in written
            )
            free |= (
                {name}
                if is_free or not {"$ref", "type", "anyOf", "oneOf", "enum"} & field.keys()
                else set()
            )
    keys |= EvaluationJob.model_json_schema(by_alias=True)["properties"].keys()
    assert keys == JOB_KEYS, "name a new key here, or it is masked where a rule lists it"
    assert free <= FREE, "a field with content of any kind"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a run of such a job: its case, persona, conditions, files and folders have
    the name, too.
    """
    folder = tmp_path_factory.mktemp("jobs")
    runs = folder / "data" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    rows = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    whole = job()
    named = {"name": f"case of {NAME}", "persona": f"persona {NAME}"}
    kept = ("tasks", "facts")
    rows[0] |= {
        "job": whole,
        "job_name": f"job of {NAME}",
        "job_path": f"/home/{NAME}/job-{NAME}.yml",
        "cases": [{**named, "parts": {key: whole[key] for key in whole if key not in kept}}],
        "options": {
            "agent_url": f"http://{NAME}.example",
            "judge_model": [f"judge {NAME}"],
            "submissions": [f"/data/{NAME}"],
            "job_file": f"/home/{NAME}/job.yml",
            NAME: NAME,
        },
        "prompts": {f"prompts/{NAME}": "0" * 64},
        "hosts": [f"{NAME}.example"],
        "graph": f"graph of {NAME}",
        "source": {
            "format": "symptomcheck", "file": f"{NAME}.json", "sha256": "0" * 64, "licence": NAME,
            "origin": NAME,
            "times": "told", "record": {NAME: {NAME: NUMBER}},
        },
    }  # fmt: skip
    for row in rows:
        if row["kind"] == "conversation_started":
            row["case"] = {
                **named,
                "trial": 1,
                "tasks": [{"task": NAME, NAME: NAME}],
                "facts": [NAME],
            }
        if row["kind"] == "conversation_scored":
            row["given"] = {NAME: NUMBER, "by": {NAME: 1}}
        if row["kind"] == "state_observed":
            row |= {
                "graph": {"labels": {NAME: 3}, "relationships": {NAME: 1}, "digest": "0"},
                "digests": {NAME: NAME},
            }
        if row["kind"] == "assertion_checked":
            row["status"] = "failed"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (runs / f"{RUN}.jsonl").write_text(text, "utf-8")
    (folder / "rules.yml").write_text(RULES, "utf-8")
    (folder / "plain.yml").write_text("names: [Somebody Else]\n", "utf-8")
    (folder / "jobs").mkdir()
    return folder


COMMANDS: dict[str, tuple[str, ...]] = {
    **{
        f"export {name}": ("runs", "export", RUN, "--to", name, "--output", "{out}")
        for name in names("runs")
    },
    **{
        f"report {name}": ("runs", "report", RUN, "--format", name, "--output", "{out}")
        for name in names("runs")
        if name not in ("csv", "parquet")
    },
    "report of two": ("runs", "report", RUN, RUN, "--format", "html"),
    "compare": ("runs", "compare", RUN, RUN, "--texts"),
    "compare json": ("runs", "compare", RUN, RUN, "--json"),
    "explain": ("runs", "explain", RUN),
    "explain json": ("runs", "explain", RUN, "--json"),
    "show": ("runs", "show", RUN),
    "show json": ("runs", "show", RUN, "--json"),
    "list": ("runs", "list"),
    "list json": ("runs", "list", "--json"),
    "gate": ("runs", "gate", RUN, "--fail-under", "0.1"),
    "new --from": ("new", "{out}", "--from", RUN, "--force"),
}


def read(file: Path) -> str:
    """Return everything that can be read in an exported file, its name included."""
    if is_zipfile(file):
        with ZipFile(file) as archive:
            return "\n".join(
                [
                    file.name,
                    *archive.namelist(),
                    *(archive.read(n).decode() for n in archive.namelist()),
                ]
            )
    data = file.read_bytes()
    if data[:4] == b"PAR1":
        table = parquet.read_table(io.BytesIO(data))
        return f"{file.name} {table.to_pylist()} {table.schema.metadata}"
    return file.name + data.decode("utf-8")


def outputs(folder: Path, out: Path, rules: Path) -> dict[str, str]:
    """Return what each command says, on both streams and into files."""
    found = {}
    for name, arguments in COMMANDS.items():
        place = out / name.replace(" ", "-") / "of-it"
        place.parent.mkdir(parents=True)
        given = [argument.format(out=place) for argument in arguments]
        done = call(*given, "--redact", rules)
        use(Mask())
        assert done.exit_code in (0, 1, 3), (name, done.exception, done.output)
        files = [
            file
            for file in place.parent.rglob("*")
            if file.is_file() and not file.name.endswith("schema.json")
        ]
        found[name] = done.stdout + done.stderr + "".join(map(read, files))
    return found


def leaks(text: str) -> list[str]:
    """Return the lines that have the name or the number."""
    return [
        line for line in text.splitlines() if NAME.lower() in line.lower() or str(NUMBER) in line
    ]


def test_no_view_and_no_export_has_the_name(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(recorded / "data"))
    masked = outputs(recorded, tmp_path / "masked", recorded / "rules.yml")
    assert {name: leaks(text)[:3] for name, text in masked.items() if leaks(text)} == {}
    # Shows that the test can fail: with rules for somebody else, nearly all of them have it.
    plain = outputs(recorded, tmp_path / "plain", recorded / "plain.yml")
    assert {name for name, text in plain.items() if not leaks(text)} <= {
        "export csv",
        "export parquet",
    }


@pytest.mark.parametrize(
    "how", [("--table",), ("--json",), *(("--format", each) for each in names("medals"))]
)
def test_no_medal_table_has_the_name_of_a_tasks_folder(
    how: tuple[str, ...], recorded: Path, tmp_path: Path
) -> None:
    graded = replace(
        report(), task_id=f"{NAME}/{NAME}-cohort", submission_path=f"/{NAME}/{NAME}.csv"
    )
    (tmp_path / "reports.json").write_text(json.dumps(graded.to_dict()), "utf-8")
    shown = {}
    for rules in ("rules.yml", "plain.yml"):
        done = call(
            "medals",
            tmp_path / "reports.json",
            *how,
            "--redact",
            recorded / rules,
            catch_exceptions=False,
        )
        use(Mask())
        shown[rules] = done.stdout.replace(str(tmp_path), "")
    assert leaks(shown["rules.yml"]) == []
    assert leaks(shown["plain.yml"])


async def test_no_screen_has_the_name(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    services = AppServices(
        Settings(data_dir_override=str(recorded / "data")), job_places=[recorded / "jobs"]
    )
    use(Mask(load_rules(recorded / "rules.yml", recorded)))
    try:
        found = await walk(services, (140, 40), tmp_path, far=True)
    finally:
        services.close()
    assert {
        screen: leaks("\n".join(seen))[:3]
        for screen, seen in found.items()
        if leaks("\n".join(seen))
    } == {}


def test_a_traceback_names_no_listed_person(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text("names: [Zorvath]\n", encoding="utf-8")
    asked = ("run", "Zorvath_none.yml", "--redact", str(rules), "--headless")
    for debug in ((), ("--debug",)):
        done = run(*debug, *asked, data_dir=tmp_path / "data")
        assert done.returncode == 2
        assert "_none.yml: does not exist" in done.stderr
        assert "Zorvath" not in done.stderr + done.stdout
