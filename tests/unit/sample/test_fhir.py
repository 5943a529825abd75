"""The sample agent's records as FHIR."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.evaluation.wiring.doctor import connections
from bioeval_tui.fhir.server import FhirServer
from bioeval_tui.jobs.models import FhirWrite
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.sample.agent.service import RunningAgent, run_sample_agent
from bioeval_tui.sample.paths import sample_jobs
from tests.servers.whole_runs import hold

JOB = sample_jobs() / "medication_record.yml"


@pytest.fixture
async def agent() -> AsyncIterator[RunningAgent]:
    async with run_sample_agent(tokens_per_second=0) as running:
        yield running


@pytest.fixture
async def server(agent: RunningAgent) -> AsyncIterator[FhirServer]:
    one = FhirServer(f"{agent.url}/fhir")
    yield one
    await one.aclose()


def medication(drug: str, **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": f"mary.{drug}",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/mary"},
        "medicationCodeableConcept": {"text": drug},
        "dosageInstruction": [{"text": "5 mg"}],
        **more,
    }


async def test_what_is_written_there_the_agent_knows_and_what_it_is_told_is_found(
    agent: RunningAgent, server: FhirServer
) -> None:
    written = medication("metformin")
    await server.write(
        FhirWrite(method="PUT", path="MedicationRequest/mary.metformin", resource=written)
    )
    async with ClientSession() as client:
        body = {"user": "mary", "chatbot": "sample"}
        async with client.put(f"{agent.url}/api/v1/chat/sessions", json=body) as answer:
            session = (await answer.json())["sessionId"]
        for said in ("I take warfarin 5 mg", "What medications am I taking?"):
            message = {"sessionId": session, "message": {"role": "user", "content": said}}
            async with client.put(f"{agent.url}/api/v1/chat/messages", json=message) as answer:
                heard = (await answer.json())["message"]["content"]
    assert "metformin | 5 mg" in heard
    query = "MedicationRequest?patient=mary&status=active"
    found = await server.look_up(query, "Bundle.entry.resource.medication.text")
    assert found.values == ("metformin", "warfarin")
    again = await server.look_up("MedicationRequest/mary.metformin", "%context")
    assert again.values == (written,)
    assert (await server.look_up("Patient/mary", "id")).values == ("mary",)
    await server.write(FhirWrite(method="DELETE", path="MedicationRequest/mary.warfarin"))
    assert (await server.look_up(query, "entry.count()")).values == (1,)
    await server.write(FhirWrite(method="DELETE", path="Patient/mary"))
    assert (await server.look_up("Patient/mary", "exists()")).values == (False,)


@pytest.mark.parametrize(
    ("resource", "why"),
    [
        (medication("x", status="stopped"), "only active"),
        (medication("x", subject={}), "subject.reference and"),
        (medication("x", medicationCodeableConcept=[]), "subject.reference and"),
        (medication("x", subject={"reference": "Patient/bob"}), "its id here is bob.x"),
    ],
)
async def test_what_the_agent_cannot_keep_is_refused(
    resource: dict[str, Any], why: str, server: FhirServer
) -> None:
    with pytest.raises(PeerError, match=f"with 422: {why}"):
        await server.write(
            FhirWrite(method="PUT", path="MedicationRequest/mary.x", resource=resource)
        )


async def test_only_what_is_kept_can_be_asked(server: FhirServer) -> None:
    with pytest.raises(QueryError, match="no resources of the type Observation"):
        await server.examine(["Observation?patient=mary"])
    with pytest.raises(PeerError, match="a search needs the parameter patient"):
        await server.examine(["MedicationRequest?status=active"])
    assert await server.examine(["MedicationRequest/_search?patient=mary"]) == ()


async def test_a_page_of_a_browser_cannot_write(agent: RunningAgent) -> None:
    url = f"{agent.url}/fhir/MedicationRequest/mary.x"
    async with (
        ClientSession() as client,
        client.put(url, data="{}", headers={"Content-Type": "text/plain"}) as answer,
    ):
        assert answer.status == 415


async def test_doctor_asks_only_what_the_server_of_a_job_can_do(
    agent: RunningAgent, tmp_path: Path
) -> None:
    request = RunRequest(jobs=(JOB,), agent_url=agent.url)
    settings = Settings(data_dir_override=str(tmp_path))
    *_, found = await asyncio.to_thread(connections, request, settings)
    assert (found.part, found.state) == ("fhir", "works")
    away = JOB.read_text().replace("url: /fhir", "url: http://127.0.0.1:9/fhir")
    (tmp_path / "job.yml").write_text(away)
    request = RunRequest(jobs=(tmp_path / "job.yml",), agent_url=agent.url)
    *_, found = await asyncio.to_thread(connections, request, settings)
    assert (found.part, found.state) == ("fhir", "broken")


async def test_the_sample_job_runs_offline_with_the_same_start(
    agent: RunningAgent, tmp_path: Path
) -> None:
    run = await hold(JOB.read_text(), tmp_path, agent_url=agent.url, graph="none")
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert run.result["clean"], run.result["warnings"]
