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
    """Answers until it is told to fail, and then as it is told."""

    def __init__(self) -> None:
        self.status = 200
        self.words = "\x1b]0;owned\x07[/red] disk <script>full"

    async def handle(self, request: web.Request) -> web.Response:
        if self.status != 200:
            issue = {"severity": "fatal", "code": "exception", "diagnostics": self.words}
            outcome = {"resourceType": "OperationOutcome", "issue": [issue]}
            return web.json_response(outcome, status=self.status)
        if request.path.endswith("/metadata"):
            return web.json_response(
                {"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1"}
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
