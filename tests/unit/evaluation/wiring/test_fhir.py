"""A job's FHIR server: what `check` says of its queries, paths and setups, and where it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.wiring import records
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.fhir import paths
from bioeval_tui.jobs.loading import job_from_data

JOB = """target: {user: u, chatbot: c}
aspirationalAverage: 1000
facts: []
tasks: [{task: t}]
fhir: {url: "http://127.0.0.1:8080/fhir"}
"""
QUERY = "MedicationRequest?patient=ada"
WRITE = "{method: PUT, path: Patient/ada, resource: {resourceType: Patient, id: ada}}"


def problems(folder: Path, text: str) -> list[str]:
    path = folder / "job.yml"
    path.write_text(text, encoding="utf-8")
    return [str(problem).removeprefix(f"{path}:") for problem in check_job(path).problems]


def asserting(query: str, path: str) -> str:
    return f'{JOB}assertions:\n  - fhir: "{query}"\n    path: "{path}"\n    expected: 1\n'


def test_a_job_with_a_server_queries_and_setups_is_right(tmp_path: Path) -> None:
    text = asserting(QUERY, "entry.count()") + f"setups:\n  - fhir: {WRITE}\n"
    assert problems(tmp_path, text) == []


WRONG = [
    (asserting("http://e.example/Patient/a", "id"), "7:12: assertions[0].fhir: a path below"),
    (asserting("Patient/../x", "id"), "7:20: assertions[0].fhir: a path does not leave"),
    (
        asserting(QUERY, "entry.resource.where(status = ) "),
        "8:42: assertions[0].path: not FHIRPath",
    ),
    (asserting(QUERY, "entry.cuont()"), "8:18: assertions[0].path: there is no function `cuont`"),
    (
        asserting(QUERY, "entry.where()"),
        "8:18: assertions[0].path: `where` takes 1 argument, not 0",
    ),
    (
        asserting(QUERY, "entry = %foo"),
        "8:20: assertions[0].path: there is no `%foo`: only %context",
    ),
    (
        asserting(QUERY, "Bundel.entry.count()"),
        "8:12: assertions[0].path: the path begins with `Bundel`, and the query gives a Bundle;",
    ),
    (
        asserting("Patient/ada", "Bundle.entry"),
        "8:12: assertions[0].path: the path begins with `Bundle`, and the query gives a Patient;",
    ),
    (asserting(QUERY, "true"), "8:11: assertions[0].path: cannot fail, or never pass: `true`"),
    (
        asserting(QUERY, "entry.count()").replace(
            'fhir: {url: "http://127.0.0.1:8080/fhir"}\n', ""
        ),
        "6:11: assertions[0].fhir: the job names no FHIR server: it needs the key `fhir`",
    ),
    (
        f"{JOB}setups:\n  - fhir: {WRITE.replace('id: ada', 'id: bob')}\n",
        "setups[0].fhir.path: the resource needs `id: ada`",
    ),
    (
        f"{JOB}setups:\n  - fhir: {{method: DELETE, path: Patient}}\n",
        "setups[0].fhir.path: DELETE needs Type/id or Type?name=value",
    ),
    (
        f"{JOB}setups:\n  - fhir: {{method: PUT, path: Patient/ada}}\n",
        "7:11: setups[0].fhir: a `resource` is needed with PUT",
    ),
    (f"{JOB}setups:\n  - fhir: {{metod: PUT}}\n", "did you mean method?"),
    (f"{JOB}setups:\n  - fihr: x\n", "one of the keys `cypher` or `fhir` is needed"),
    (JOB.replace("http://127.0.0.1:8080/fhir", "ftp://x/"), "5:13: fhir.url: not an http or https"),
    (JOB.replace("http://127.0.0.1", "http://u:pw@127.0.0.1"), "5:13: fhir.url: give the base URL"),
    (JOB.replace('/fhir"', '/a/../b"'), "5:13: fhir.url: a base URL has no `.` or `..`"),
    (f"{asserting(QUERY, 'id')}compat: embabel\n", "embabel-agent-eval does not know `fhir`"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_wrong_is_said_with_its_line_and_column(
    text: str, said: str, tmp_path: Path
) -> None:
    found = problems(tmp_path, text)
    assert any(said in problem for problem in found), found
    assert all("\n" not in problem and "pw@" not in problem for problem in found)


def test_an_empty_text_is_one_problem(tmp_path: Path) -> None:
    text = asserting("", "") + (
        "  - expression: ''\nsetups:\n  - cypher: ''\n  - fhir: {method: DELETE, path: ''}\n"
    )
    found = problems(tmp_path, text)
    assert [problem.partition(": ")[2] for problem in found] == [
        "assertions[0].fhir: must not be empty",
        "assertions[0].path: must not be empty",
        "assertions[1].expression: must not be empty",
        "setups[0].cypher: must not be empty",
        "setups[1].fhir.path: must not be empty",
    ]


def test_a_value_of_a_case_stays_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(
        '{"id": "1", "patient": "a&status=x", "drug": "it\'s"}\n'
        '{"id": "2", "patient": "../x", "drug": "y"}\n'
    )
    text = JOB + (
        "cases: cases.jsonl\n"
        "assertions:\n"
        "  - fhir: MedicationRequest?patient={{ case.patient }}\n"
        "    path: entry.resource.where(medication.text = {{ case.drug }}).count()\n"
        "    expected: 1\n"
    )
    path = tmp_path / "job.yml"
    path.write_text(text)
    checked = check_job(path)
    assert checked.problems == ()
    asked: list[Any] = [case.job.assertions[0] for case in checked.cases]
    assert [each.fhir for each in asked] == [
        "MedicationRequest?patient=a%26status%3Dx",
        "MedicationRequest?patient=..%2Fx",
    ]
    assert asked[0].path == r"entry.resource.where(medication.text = 'it\'s').count()"
    path.write_text(text.replace("MedicationRequest?patient={{", "Patient/{{"))
    (problem, *_) = check_job(path).errors
    assert "`a%26status%3Dx` is not a valid id" in problem.message


def test_the_resource_of_a_setup_keeps_the_types_of_a_case(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "1", "patient": "a", "dose": 2.5}\n')
    path = tmp_path / "job.yml"
    path.write_text(
        JOB + "cases: cases.jsonl\n"
        "setups:\n"
        "  - fhir:\n"
        "      method: PUT\n"
        "      path: Observation/{{ case.patient }}\n"
        "      resource: {resourceType: Observation, id: '{{ case.patient }}',"
        " valueQuantity: {value: '{{ case.dose }}'}}\n"
    )
    checked = check_job(path)
    assert checked.problems == ()
    setup: Any = checked.cases[0].job.setups[0]
    assert (setup.fhir.path, setup.fhir.resource["valueQuantity"]["value"]) == (
        "Observation/a",
        2.5,
    )
    path.write_text(path.read_text().replace("id: '{{ case.patient }}'", "id: other"))
    (problem,) = check_job(path).errors
    assert "the resource needs `id: a`" in problem.message


def test_without_the_library_a_job_is_checked_but_for_its_paths_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "missing", lambda packages: packages)
    path = tmp_path / "job.yml"
    path.write_text(asserting(QUERY, "entry..x"), encoding="utf-8")
    checked = check_job(path)
    assert checked.errors == ()
    (warned,) = checked.problems
    assert (warned.field, warned.line) == ("assertions[0].path", 8)
    assert "not checked: FHIRPath needs fhirpathpy: `" in warned.message
    with pytest.raises(UsageError, match="FHIRPath needs fhirpathpy: `"):
        require(checked.required().job)


def job(url: str, **more: Any) -> Any:
    setup = {"fhir": {"method": "DELETE", "path": "Patient/ada"}}
    data = {
        "target": {"user": "u", "chatbot": "c"},
        "aspirationalAverage": None,
        "facts": [],
        "tasks": [{"task": "t"}],
        "setups": [setup],
        "fhir": {"url": url, **more},
    }
    return job_from_data(data)


AGENT = "http://127.0.0.1:8081"


def require(asked: Any, agent: str = AGENT, **spec: Any) -> None:
    records.require_allowed(asked, agent, EngineSpec(runs=(), **spec), Settings())


def test_setups_write_on_this_machine_or_where_the_user_allows_it() -> None:
    require(job("http://127.0.0.1:8080/fhir"))
    require(job("/fhir"))
    require(job("/fhir"), "", sample_agent=True)
    with pytest.raises(
        UsageError, match=r"write to the FHIR server at ehr\.example, another machi"
    ):
        require(job("https://ehr.example/fhir"))
    with pytest.raises(UsageError, match=r"--allow-host agent\.example"):
        require(job("/fhir"), "https://agent.example")
    require(job("https://ehr.example/fhir"), allow_hosts=("ehr.example",))
    reading = job("https://ehr.example/fhir").model_copy(update={"setups": ()})
    require(reading)
    with pytest.raises(UsageError, match="this agent has none"):
        require(job("/fhir"), "")


def test_a_token_goes_only_to_the_host_it_was_given_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = job("http://127.0.0.1:8080/fhir", headersEnv={"Authorization": "Bearer FHIR_TOKEN"})
    with pytest.raises(
        UsageError, match=r"fhir\.headersEnv\.Authorization names FHIR_TOKEN, which"
    ):
        require(asked)
    monkeypatch.setenv("FHIR_TOKEN", "secret-token")
    with pytest.raises(UsageError, match="a host that it does not belong to"):
        require(asked)
    monkeypatch.setenv("FHIR_BASE_URL", "http://127.0.0.1:8080/fhir")
    require(asked)
    monkeypatch.setenv("FHIR_BASE_URL", "http://127.0.0.1:9090/fhir")
    with pytest.raises(UsageError, match="a host that it does not belong to") as refused:
        require(asked)
    assert "secret-token" not in str(refused.value)
    require(asked, allow_hosts=("127.0.0.1:8080",))


def test_what_is_written_to_is_named_before_the_start() -> None:
    asked = job("http://127.0.0.1:8080/fhir")
    told = records.describe(asked, AGENT, starts_agent=False)
    assert told == "127.0.0.1:8080, to which setups write"
    assert records.describe(job("/fhir"), "", starts_agent=True) == (
        "the sample agent, to which setups write"
    )
    reading = asked.model_copy(update={"setups": ()})
    assert records.describe(reading, AGENT, starts_agent=False) == "127.0.0.1:8080"
    assert not records.is_at_agent(asked, AGENT)
    assert records.is_at_agent(job("/fhir"), AGENT)
