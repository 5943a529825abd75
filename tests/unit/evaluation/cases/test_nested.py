"""Tables of nested objects, as JSON and JSON Lines: `new --cases` writes a job that `check` accepts
and that runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.jobs.loading import load_job
from tests.command import call
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import hold
from tests.unit.evaluation.cases.tables import MINIMAL, checked, lines


def case(number: int) -> dict[str, Any]:
    """Return a case in AgentClinic's shape: everything under one key, lists inside."""
    return {
        "OSCE_Examination": {
            "Objective_for_Doctor": f"Assess and diagnose patient {number}.",
            "Patient_Actor": {
                "Demographics": f"{30 + number}-year-old",
                "Symptoms": {"Primary": "double vision", "Secondary": ["weak arms", "no pain"]},
                "Past Medical History": "none",
            },
            "Test_Results": {"Antibodies": {"AChR": "elevated"}},
            "Correct_Diagnosis": "Myasthenia gravis",
        }
    }


ROWS = [case(1), case(2)]
IN_COLUMNS = {"complaint": ["cough", "rash"], "age": [61, 4]}


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.json"])
@pytest.mark.parametrize(
    "text",
    [
        lines(ROWS),
        "\n" + lines(ROWS).replace("\n", "\r\n\r\n"),
        "\ufeff" + lines(ROWS),
        json.dumps(ROWS),
        json.dumps(ROWS, indent=1),
        json.dumps({"data": ROWS}),
        json.dumps({"data": ROWS}, indent=1),
        json.dumps({"data": {"items": ROWS}}),
        json.dumps({"data": {"items": ROWS}}, indent=1),
    ],
    ids=[
        "lines",
        "blank lines",
        "BOM",
        "list",
        "indented list",
        "one list in an object",
        "the same, indented",
        "one list in two objects",
        "in two objects, indented",
    ],
)
def test_json_and_lines_are_told_apart_by_what_is_in_the_file(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    job = tmp_path / "job.yml"
    done = call("new", job, "--cases", tmp_path / name)
    assert done.exit_code == 0, done.output
    assert f"{job}: no problems, 2 cases" in call("check", job).output
    written = job.read_text("utf-8")
    for place in (
        "case.OSCE_Examination.Patient_Actor.Demographics",
        "case.OSCE_Examination.Patient_Actor.Symptoms.Secondary | join(', ')",
        'case.OSCE_Examination.Patient_Actor["Past Medical History"]',
        "case.OSCE_Examination.Test_Results.Antibodies.AChR",
    ):
        assert place in written
    assert load_job(job).job.tasks[0].task == "{{ case.OSCE_Examination.Objective_for_Doctor }}"


async def test_every_place_that_new_names_fills_a_text_and_a_list_becomes_facts(
    tmp_path: Path,
) -> None:
    (tmp_path / "cases.json").write_text(json.dumps(ROWS), encoding="utf-8")
    job = tmp_path / "job.yml"
    call("new", job, "--cases", tmp_path / "cases.json", catch_exceptions=False)
    (named,) = [
        line for line in job.read_text("utf-8").splitlines() if line.startswith("# Every row has ")
    ]
    places = [
        f"case.{place}" for place in named.removeprefix("# Every row has case.").split(", case.")
    ]
    assert len(places) == 7
    text = (
        MINIMAL
        + "cases: cases.json\nevaluator: {kind: scripted, lines: [{say: Hello}]}\nscorer: {kind:"
        " rules}\n"
    )
    text += (
        "tasks: [{task:"
        f" {json.dumps(' / '.join(f'{{{{ {place} }}}}' for place in places[:2] + places[3:]))},"
        " rules: [{pattern: x}]}]\n"
    )
    text += (
        "facts: ['{{ case.OSCE_Examination.Patient_Actor.Symptoms.Secondary }}', '{{"
        " case.OSCE_Examination.Patient_Actor.Symptoms.Secondary[0] }}']\n"
    )
    async with RestAgentServer() as agent:
        held = await hold(text, tmp_path, agent_url=agent.url, graph="none")
    assert held.state.trial_job(2)["facts"] == ["weak arms", "no pain", "weak arms"]
    (task,) = held.state.trial_job(2)["tasks"]
    assert (
        task["task"]
        == "Assess and diagnose patient 2. / 32-year-old / weak arms, no pain / none / elevated /"
        " Myasthenia gravis"
    )


def test_an_object_of_columns_is_a_table(tmp_path: Path) -> None:
    job = (
        "cases: {file: cases.json, id: complaint}\nfacts: []\ntasks: [{task: 'Ask about {{"
        " case.complaint }} at {{ case.age }}'}]\n"
    )
    found = checked(tmp_path, job, json.dumps(IN_COLUMNS), "cases.json")
    assert [each.job.tasks[0].task for each in found.cases] == [
        "Ask about cough at 61",
        "Ask about rash at 4",
    ]


def test_a_single_line_is_a_single_row(tmp_path: Path) -> None:
    row = {"id": "a", "messages": [{"content": "x"}, {"content": "y"}]}
    job = "cases: cases.jsonl\nfacts: []\ntasks: [{task: '{{ case.messages[-1].content }}'}]\n"
    found = checked(tmp_path, job, json.dumps(row) + "\n", "cases.jsonl")
    assert [each.job.tasks[0].task for each in found.cases] == ["y"]


OBJECTS = {"a": {"age": 1, "sex": "f"}, "b": {"age": 2, "sex": "m"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps(OBJECTS),
            ": one object, with objects under a, b; write the rows as a list of objects"),
        (json.dumps({"train": ROWS, "test": ROWS}, indent=1),
            ": one object, with objects under train, test; "),
        (json.dumps({"version": 1, "data": ROWS}, indent=1),
            ": one object, with objects under data; write"),
        (json.dumps([{"a": 1}, 5]), ": row 2: a row must be an object"),
        ("[{\n\"a\": 1},\n{\"a\": }]", ":3:7: not JSON: Expecting value"),
        ('{"a": 1}\n{"a": \n', ":2:6: not JSON: Expecting value"),
        ('{"a": 1\n{"a": 2}\n', ":2:1: not JSON: Expecting ',' delimiter"),
        ("[]", ": the table has no rows"),
        ("5", ": a list of objects, or one object a line, is needed"),
        ("", ": the table has no rows"),
        ("[" * 200 + "]" * 200, ": row 1: nested deeper than 64"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_one_sentence_with_its_place(
    text: str, said: str, tmp_path: Path
) -> None:
    job = "cases: cases.json\nfacts: []\ntasks: [{task: x}]\n"
    (tmp_path / "cases.json").write_text(text, encoding="utf-8")
    found = checked(tmp_path, job)
    (problem,) = [str(each) for each in found.problems if each.severity == "error"]
    assert f"cases.json{said}" in problem


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("case.OSCE_Examination.Patient_Actor",
            "is an object, but text or a number is required; name one of its keys: Demographics, "),
        ("case.OSCE_Examination.Patient_Actor.Symptoms.Secondary",
            "is a list, but text or a number is required; `| join"),
        ("case.OSCE_Examination.Patient_Actor.Symptom", "has no `Symptom`"),
    ],
)  # fmt: skip
def test_a_part_of_a_row_that_is_no_text_says_how_to_name_one(
    place: str, said: str, tmp_path: Path
) -> None:
    job = f"cases: cases.json\nfacts: []\ntasks: [{{task: 'x {{{{ {place} }}}}'}}]\n"
    found = checked(tmp_path, job, json.dumps(ROWS), "cases.json")
    assert said in str(found.errors[0])


def test_new_writes_no_job_for_a_table_without_anything_to_ask(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"a": []}\n{"b": "x"}\n', encoding="utf-8")
    done = call("new", tmp_path / "job.yml", "--cases", tmp_path / "cases.jsonl")
    assert isinstance(done.exception, UsageError)
    assert "cases.jsonl: no text or number is in every row" in str(done.exception)
    assert not (tmp_path / "job.yml").exists()


def test_a_table_of_ids_alone_makes_a_job_that_check_accepts(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a"}\n{"id": "b"}\n', encoding="utf-8")
    job = tmp_path / "job.yml"
    assert call("new", job, "--cases", tmp_path / "cases.jsonl").exit_code == 0
    assert f"{job}: no problems, 2 cases" in call("check", job).output
