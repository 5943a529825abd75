"""Whole jobs whose agent keeps patients' records on a real FHIR server."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers.whole_runs import WholeRun, hold

pytestmark = pytest.mark.real_server

JOB = """
target: {user: ada, chatbot: sample, protocol: python}
aspirationalAverage: 60000
evaluator:
  kind: scripted
  lines:
    - {say: Please note that I take warfarin}
    - {say: And aspirin}
scorer: {kind: rules}
facts: []
tasks:
  - task: Have two drugs noted
    rules: [{pattern: noted}]
fhir: {url: BASE}
setups:
  - fhir: {method: DELETE, path: "MedicationRequest?patient=ada"}
  - fhir: {method: PUT, path: Patient/ada, resource: {resourceType: Patient, id: ada}}
assertions:
  - name: warfarin is in the record
    fhir: MedicationRequest?patient=ada&status=active
    path: Bundle.entry.resource.where(medicationCodeableConcept.text = 'warfarin').count()
    expected: 1
  - name: both, in any order
    fhir: MedicationRequest/_search?patient=ada
    path: Bundle.entry.resource.medication.text.count()
    expected: 2
  - name: the patient is still there
    fhir: Patient/ada
    path: Patient.id
    expected: ada
    invariant: true
"""


def noting(base: str) -> Callable[[str], str]:
    """Return an agent that writes each drug it is told of to the server."""

    def agent(message: str) -> str:
        drug = next((name for name in ("warfarin", "aspirin") if name in message), "")
        if not drug:
            return "Hello"
        resource = {
            "resourceType": "MedicationRequest",
            "status": "active",
            "intent": "order",
            "subject": {"reference": "Patient/ada"},
            "medicationCodeableConcept": {"text": drug},
        }
        request = urllib.request.Request(
            f"{base}/MedicationRequest",
            json.dumps(resource).encode(),
            {"Content-Type": "application/fhir+json"},
        )
        with urllib.request.urlopen(request):
            return f"{drug} is noted"

    return agent


async def held(base: str, folder: Path, agent: Callable[[str], str], **spec: Any) -> WholeRun:
    text = JOB.replace("BASE", base)
    return await hold(text, folder, agent_function=agent, **spec)


async def test_a_whole_job_with_setups_and_assertions_runs_on_a_fhir_server(
    base: str, tmp_path: Path
) -> None:
    run = await held(base, tmp_path, noting(base))
    started = run.state.started
    assert started is not None
    assert started.fhir == f"{base.split('/')[2]}, to which setups write"
    assert run.result["clean"], run.result["warnings"]
    for condition, conversation in run.result["conditions"].items():
        checks = conversation["assertions"]
        assert [check["status"] for check in checks] == ["passed"] * 3, checks
        assert [check["observed"] for check in checks] == [1, 2, "ada"]
        assert [setup.error for setup in run.of("setup_applied", condition)] == [None, None]
        timeline = [
            check.status
            for check in run.of("assertion_checked", condition)
            if check.index == 1 and not check.final
        ]
        assert timeline == ["failed", "failed", "passed"]
        seen = [state.fhir["resources"] for state in run.of("state_observed", condition)]
        assert seen[0] == {"Patient": 1}
        assert seen[-1] == {"MedicationRequest": 2, "Patient": 1}


async def test_without_setups_the_second_start_differs_and_says_so(
    base: str, tmp_path: Path
) -> None:
    (tmp_path / "first").mkdir()
    await held(base, tmp_path / "first", noting(base))
    text = JOB.replace("BASE", base)
    begin, _, rest = text.partition("setups:")
    text = begin + "assertions:" + rest.partition("assertions:")[2]
    run = await hold(text, tmp_path, agent_function=noting(base))
    assert not run.result["clean"]
    assert any("the patients' records differ" in line for line in run.result["warnings"])


async def test_an_agent_that_notes_nothing_fails_and_is_told_what_was_found(
    base: str, tmp_path: Path
) -> None:
    run = await held(base, tmp_path, lambda message: "noted")
    checks = run.result["conditions"]["withheld"]["assertions"]
    assert [check["status"] for check in checks] == ["failed", "failed", "passed"]
    assert checks[1]["why"] == "the path found 0, expected 2"


async def test_a_server_that_is_away_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    asked = []
    run = await held(
        "http://127.0.0.1:9/fhir", tmp_path, lambda message: asked.append(message) or ""
    )
    assert asked == []
    assert "the FHIR server, which the job's setups or assertions use, is not available" in (
        run.state.ended.detail if run.state.ended else ""
    )
