"""A FHIR server that fails while a job runs: what it cannot answer is not measured, nor is it the
agent's fault, unless the agent itself answers for the records.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bioeval_tui.evaluation.wiring import records
from tests.command import call
from tests.servers.whole_runs import WholeRun, hold

JOB = """
target: {user: ada, chatbot: sample, protocol: python}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: Please note it}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Have it noted, rules: [{pattern: noted}]}]
fhir: {url: BASE}
assertions:
  - {fhir: "Patient/ada", path: PATH, expected: true}
"""


class Failing:
    """Answers until it is told to fail, and then as it is told; `describes` is whether it always
    says what it can do.
    """

    def __init__(self) -> None:
        self.status = 200
        self.describes = False
        self.types: list[str] = []
        self.words = "\x1b]0;owned\x07[/red] disk <script>full"

    async def handle(self, request: web.Request) -> web.Response:
        is_metadata = request.path.endswith("/metadata")
        if self.status != 200 and not (is_metadata and self.describes):
            issue = {"severity": "fatal", "code": "exception", "diagnostics": self.words}
            outcome = {"resourceType": "OperationOutcome", "issue": [issue]}
            return web.json_response(outcome, status=self.status)
        if is_metadata:
            able = [{"type": kind} for kind in self.types]
            return web.json_response(
                {
                    "resourceType": "CapabilityStatement",
                    "fhirVersion": "4.0.1",
                    "rest": [{"resource": able}],
                }
            )
        return web.json_response({"resourceType": "Patient", "id": "ada"})


@pytest.fixture
async def failing() -> AsyncIterator[tuple[Failing, str]]:
    one = Failing()
    app = web.Application()
    app.router.add_get("/{rest:.*}", one.handle)
    async with TestServer(app) as running:
        yield one, f"http://127.0.0.1:{running.port}/fhir"


async def held(
    failing: tuple[Failing, str], folder: Path, path: str = "Patient.exists()", later: int = 503
) -> WholeRun:
    server, url = failing

    def agent(message: str) -> str:
        if "note it" in message:
            server.status = later
        return "noted"

    text = JOB.replace("BASE", url).replace("PATH", f'"{path}"')
    return await hold(text, folder, agent_function=agent, conditions=("withheld",))


def final(run: WholeRun) -> Any:
    (check,) = (one for one in run.of("assertion_checked", "withheld") if one.final)
    return check


def why_not_started(run: WholeRun) -> str:
    (ended,) = run.of("run_ended")
    return str(ended.detail)


async def test_a_server_that_fails_later_is_not_the_agents_fault(
    failing: tuple[Failing, str], tmp_path: Path
) -> None:
    run = await held(failing, tmp_path)
    check = final(run)
    assert (check.status, check.fault) == ("not_measured", "infrastructure")
    assert "answered Patient/ada with 503: " in check.error
    assert "disk" in check.error
    assert not {"\x1b", "\x07", "\n"} & set(check.error)
    assert run.state.scores() == {"withheld": None}


async def test_it_is_unclear_whose_fault_it_is_if_the_agent_serves_the_records(
    failing: tuple[Failing, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "is_at_agent", lambda job, agent_url: True)
    assert final(await held(failing, tmp_path)).fault == "unclear"


async def test_a_path_that_no_record_could_fit_is_not_measured_and_nobodys_fault(
    failing: tuple[Failing, str], tmp_path: Path
) -> None:
    run = await held(failing, tmp_path, path="Patient.where(1 + 'a' = 2).exists()", later=200)
    check = final(run)
    assert (check.status, check.fault) == ("not_measured", "none")
    assert check.error.startswith("the path cannot be evaluated, whatever the query returns: a ")
    assert run.state.scores() == {"withheld": None}


async def test_a_path_that_what_was_found_does_not_fit_is_failed(
    failing: tuple[Failing, str], tmp_path: Path
) -> None:
    check = final(await held(failing, tmp_path, path="Patient.id > 1", later=200))
    assert check.status == "failed"
    assert check.error.startswith("the path cannot be evaluated on what the query returned: a ")


@pytest.mark.parametrize(("status", "describes"), [(500, False), (400, True), (500, True)])
async def test_a_server_that_answers_with_an_error_at_the_start_is_not_called_unavailable(
    status: int, describes: bool, failing: tuple[Failing, str], tmp_path: Path
) -> None:
    server, _ = failing
    server.status, server.describes = status, describes
    why = why_not_started(await held(failing, tmp_path))
    assert why.startswith(
        "the FHIR server, which the job's setups or assertions use, answered with an error: 127."
    )
    assert f" with {status}: " in why


async def test_nor_is_one_without_the_type_that_is_asked_for(
    failing: tuple[Failing, str], tmp_path: Path
) -> None:
    server, _ = failing
    server.types = ["Observation"]
    why = why_not_started(await held(failing, tmp_path))
    assert "assertions use, does not answer as the job needs it: FHIR server at 127." in why
    assert "has no resources of the type Patient; it has Observation" in why


async def test_one_that_gives_no_answer_is_called_unavailable(tmp_path: Path) -> None:
    why = why_not_started(await held((Failing(), "http://127.0.0.1:9/fhir"), tmp_path))
    assert "assertions use, is not available: 127.0.0.1:9 refused the connection" in why


def test_without_an_agent_that_serves_the_records_the_first_words_say_how_to_start_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    asked = ("medication_record", "--rehearsal", "--headless", "--agent-url", "http://127.0.0.1:1")
    ran = call("run", *asked)
    assert ran.return_value == 3
    assert "refused the connection; start the agent, or give its address" in ran.stderr
    assert "refused the connection; start the agent" in ran.stdout
