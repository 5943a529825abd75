"""Queries, paths and setups on HAPI's server."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.base.errors import QueryError
from bioeval_tui.fhir.server import FhirServer
from bioeval_tui.jobs.models import FhirWrite
from bioeval_tui.peers.seams import PeerError

from .conftest import TOKEN

pytestmark = pytest.mark.real_server


def medication(patient: str, number: int, drug: str, status: str = "active") -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": f"{patient}-{number}",
        "status": status,
        "intent": "order",
        "subject": {"reference": f"Patient/{patient}"},
        "medicationCodeableConcept": {"text": drug},
    }


async def put(server: FhirServer, resource: dict[str, Any]) -> None:
    path = f"{resource['resourceType']}/{resource['id']}"
    await server.write(FhirWrite(method="PUT", path=path, resource=resource))


async def values(server: FhirServer, query: str, path: str) -> list[Any]:
    return list((await server.look_up(query, path)).values)


async def test_what_a_setup_writes_is_found_and_what_it_deletes_is_not(server: FhirServer) -> None:
    await put(server, {"resourceType": "Patient", "id": "ada", "name": [{"given": ["Ada"]}]})
    await put(server, medication("ada", 1, "warfarin"))
    await put(server, medication("ada", 2, "aspirin", "stopped"))
    await put(server, medication("bob", 1, "warfarin"))
    active = "MedicationRequest?patient=ada&status=active"
    drugs = "Bundle.entry.resource.medication.text"
    assert await values(server, active, drugs) == ["warfarin"]
    assert await values(
        server, "MedicationRequest/_search?patient=ada", "Bundle.entry.count()"
    ) == [2]
    assert await values(server, "Patient/ada", "Patient.name.given") == ["Ada"]
    assert await values(server, "Patient/ada/_history/1", "id") == ["ada"]
    assert await values(server, "Patient/nobody", "Patient.exists()") == [False]

    await server.write(FhirWrite(method="DELETE", path="MedicationRequest?patient=ada"))
    assert await values(server, active, "entry.count()") == [0]
    assert await values(server, "MedicationRequest?patient=bob", drugs) == ["warfarin"]
    await server.write(FhirWrite(method="DELETE", path="Patient/ada"))
    assert await values(server, "Patient/ada", "Patient.exists()") == [False], "410"
    await server.write(FhirWrite(method="DELETE", path="Patient/ada"))


async def test_all_pages_are_read(server: FhirServer) -> None:
    for number in range(35):
        await put(server, medication("page", number, f"drug {number:02}"))
    found = await values(server, "MedicationRequest?patient=page", "Bundle.entry.resource.id")
    assert len(found) == len(set(found)) == 35
    found = await values(server, "MedicationRequest?patient=page&_count=50", "entry.count()")
    assert found == [35]


async def test_a_created_resource_has_an_id_of_the_server_and_the_same_digest(
    server: FhirServer,
) -> None:
    query = ["Observation?_id=none", "MedicationRequest?patient=new"]
    digests = set()
    for _ in range(2):
        await server.write(FhirWrite(method="DELETE", path="MedicationRequest?patient=new"))
        created = {key: value for key, value in medication("new", 1, "x").items() if key != "id"}
        await server.write(FhirWrite(method="POST", path="MedicationRequest", resource=created))
        seen = await server.snapshot(query)
        assert dict(seen.resources) == {"MedicationRequest": 1}
        digests.add(seen.digest)
    assert len(digests) == 1
    await put(server, medication("new", 2, "y"))
    assert (await server.snapshot(query)).digest not in digests


async def test_the_servers_own_words_are_the_sentence(server: FhirServer) -> None:
    with pytest.raises(QueryError, match=r"no resources of the type Encounter; it has .*Patient"):
        await server.examine(["Encounter?patient=ada"])
    with pytest.raises(PeerError, match="answered Patient/a/Observation with 400: Invalid request"):
        await server.look_up("Patient/a/Observation", "entry.count()")
    wrong = {"resourceType": "Patient", "id": "odd", "gender": "sometimes"}
    with pytest.raises(PeerError, match=r"answered PUT Patient/odd with 4..: HAPI-"):
        await put(server, wrong)


async def test_a_parameter_that_the_server_does_not_know_is_said(server: FhirServer) -> None:
    doubts = await server.examine(["MedicationRequest?patinet=ada", "Patient/ada"])
    assert len(doubts) == 1
    assert "`patinet`" in doubts[0]


async def test_a_token_opens_a_guarded_server(guarded: str) -> None:
    stranger = FhirServer(guarded)
    with pytest.raises(PeerError, match=r"401.*headersEnv.*: the token is missing or wrong"):
        await stranger.look_up("Patient/ada", "count()")
    await stranger.aclose()
    known = FhirServer(guarded, headers={"Authorization": f"Bearer {TOKEN}"}, secrets=[TOKEN])
    assert (await known.look_up("Patient/ada", "exists()")).values == (False,)
    await known.aclose()


async def test_it_is_not_a_base_url(base: str) -> None:
    other = FhirServer(base.removesuffix("/fhir"))
    with pytest.raises(PeerError, match="does not describe itself at /metadata"):
        await other.examine([])
    await other.aclose()
