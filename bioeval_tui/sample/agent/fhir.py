"""The agent's records as a small FHIR R4 server, at /fhir: each user is a Patient, each drug on a
user's list an active MedicationRequest.

What is written here the agent knows in its next answer, and what a user tells it is found here. A
Patient needs no more than to be named, so each id is one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from bioeval_tui.base.text import clean_line, clean_value
from bioeval_tui.sample.agent.records import Medication, Records

_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")
_REQUEST = "MedicationRequest"
_JSON = "application/fhir+json"
BODY_S = 30.0
_SEARCHABLE: dict[str, tuple[str, ...]] = {
    _REQUEST: ("patient", "subject", "status"),
    "Patient": (),
}


class _Refused(Exception):
    """A request that is answered with an OperationOutcome."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class FhirEndpoint:
    """The routes below /fhir. `records` is where the agent keeps its records."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._known: dict[str, None] = {}
        """The patients that were written here: the records know only those with a drug."""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        routes = [
            web.get("/fhir/metadata", self._answering(self.describe)),
            web.get("/fhir/{type}", self._answering(self.search)),
            web.post("/fhir/{type}/_search", self._answering(self.search)),
            web.get("/fhir/{type}/{id}", self._answering(self.read)),
            web.put("/fhir/{type}/{id}", self._answering(self.write)),
            web.delete("/fhir/{type}/{id}", self._answering(self.delete)),
        ]
        return routes

    async def describe(self, request: web.Request) -> dict[str, Any]:
        """GET metadata: what this server can do."""
        kinds = [
            {
                "type": kind,
                "interaction": [
                    {"code": code} for code in ("read", "search-type", "update", "delete")
                ],
                "searchParam": [{"name": name, "type": "token"} for name in names],
            }
            for kind, names in _SEARCHABLE.items()
        ]
        return {
            "resourceType": "CapabilityStatement",
            "status": "active",
            "kind": "instance",
            "fhirVersion": "4.0.1",
            "format": ["json"],
            "rest": [{"mode": "server", "resource": kinds}],
        }

    async def search(self, request: web.Request) -> dict[str, Any]:
        """GET or POST a search for the drugs of one patient.

        Raises:
            _Refused: another type, another parameter, or no patient.
        """
        kind = _kind(request)
        if kind != _REQUEST:
            raise _Refused(400, f"{kind} cannot be searched here: read it by its id")
        asked: Mapping[str, Any] = request.query
        if request.method == "POST":
            asked = await request.post()
        unknown = [name for name in asked if name not in _SEARCHABLE[_REQUEST]]
        if unknown:
            raise _Refused(400, f"the search parameter {clean_line(unknown[0], 60)} is not known")
        patient = str(asked.get("patient") or asked.get("subject") or "").removeprefix("Patient/")
        if not patient:
            raise _Refused(400, "a search needs the parameter patient")
        found = await self._requests(patient)
        if asked.get("status") not in (None, "active"):
            found = []
        entries = [{"resource": each, "search": {"mode": "match"}} for each in found]
        return {
            "resourceType": "Bundle", "type": "searchset", "total": len(found), "entry": entries,
        }  # fmt: skip

    async def read(self, request: web.Request) -> dict[str, Any]:
        """GET a patient, or one of a patient's drugs.

        Raises:
            _Refused: there is none.
        """
        kind, key = _kind(request), _key(request)
        if kind == "Patient":
            if key in self._known or await self._records.medications(key):
                return {"resourceType": "Patient", "id": key}
        else:
            patient = key.partition(".")[0]
            for each in await self._requests(patient):
                if each["id"] == key:
                    return each
        raise _Refused(404, f"{kind}/{key} is not known")

    async def write(self, request: web.Request) -> dict[str, Any]:
        """PUT a patient or a drug of a patient's list.

        Raises:
            _Refused: the resource is not of the path, or none that the agent can keep.
        """
        kind, key, resource = _kind(request), _key(request), await _body(request)
        if resource.get("resourceType") != kind or resource.get("id") != key:
            raise _Refused(400, f"the resource must be {kind}/{key}, as the path says")
        if kind == "Patient":
            self._known[key] = None
            return {"resourceType": "Patient", "id": key}
        if resource.get("status") != "active":
            raise _Refused(422, "only active medication requests are kept: delete others")
        subject = resource.get("subject")
        reference = subject.get("reference") if isinstance(subject, dict) else None
        patient = str(reference or "").removeprefix("Patient/")
        concept = resource.get("medicationCodeableConcept")
        drug = concept.get("text") if isinstance(concept, dict) else None
        if not _ID.fullmatch(patient) or not isinstance(drug, str) or not drug:
            raise _Refused(422, "subject.reference and medicationCodeableConcept.text are needed")
        medication = Medication(f"{patient}-{drug}", drug, _dose(resource))
        if key != _request_id(patient, medication):
            raise _Refused(422, f"its id here is {_request_id(patient, medication)}")
        await self._records.put_medication(patient, medication)
        self._known[patient] = None
        return _request(patient, medication)

    async def delete(self, request: web.Request) -> None:
        """DELETE a patient with all drugs and reminders, or one drug.

        What is not there is deleted, too.
        """
        kind, key = _kind(request), _key(request)
        patient = key.partition(".")[0]
        for each in await self._records.medications(patient):
            if kind == "Patient" or _request_id(patient, each) == key:
                await self._records.remove_medication(patient, each.drug)
        if kind == "Patient":
            self._known.pop(key, None)
            await self._records.delete_reminders(key)

    async def _requests(self, patient: str) -> list[dict[str, Any]]:
        return [_request(patient, each) for each in await self._records.medications(patient)]

    def _answering(
        self, handler: Callable[[web.Request], Awaitable[dict[str, Any] | None]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Return a handler that answers with a resource, or an OperationOutcome."""

        async def answer(request: web.Request) -> web.Response:
            status = 200
            try:
                resource = await handler(request)
            except _Refused as refused:
                status = refused.status
                issue = {"severity": "error", "code": "processing", "diagnostics": str(refused)}
                resource = {"resourceType": "OperationOutcome", "issue": [issue]}
            if resource is None:
                return web.Response(status=204)
            return web.Response(
                text=json.dumps(resource, ensure_ascii=False), status=status, content_type=_JSON
            )

        return answer


def _kind(request: web.Request) -> str:
    kind = request.match_info["type"]
    if kind not in _SEARCHABLE:
        known = " and ".join(_SEARCHABLE)
        raise _Refused(404, f"{clean_line(kind, 60)} is not kept here: {known} are")
    return kind


def _key(request: web.Request) -> str:
    key = request.match_info["id"]
    if not _ID.fullmatch(key):
        raise _Refused(400, "an id has letters, digits, - and . (at most 64)")
    return key


async def _body(request: web.Request) -> dict[str, Any]:
    # A page of a browser can send a form or plain text to this machine, but no other type.
    if request.content_type not in (_JSON, "application/json"):
        raise _Refused(415, f"send the resource as {_JSON}")
    try:
        async with asyncio.timeout(BODY_S):
            body = await request.json()
    except TimeoutError:
        raise _Refused(408, f"the body did not arrive within {BODY_S:g} s") from None
    except (ValueError, RecursionError):
        raise _Refused(400, "the body is not JSON") from None
    if not isinstance(body, dict):
        raise _Refused(400, "the body is not a resource")
    cleaned: dict[str, Any] = clean_value(body)
    return cleaned


def _dose(resource: Mapping[str, Any]) -> str:
    listed = resource.get("dosageInstruction")
    first = listed[0] if isinstance(listed, list) and listed else None
    text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) else ""


def _request_id(patient: str, medication: Medication) -> str:
    """Return the id of a drug on a patient's list: ids here name the patient before the dot."""
    drug = re.sub(r"[^A-Za-z0-9-]+", "-", medication.drug)
    return f"{patient}.{drug}"[:64]


def _request(patient: str, medication: Medication) -> dict[str, Any]:
    request: dict[str, Any] = {
        "resourceType": _REQUEST,
        "id": _request_id(patient, medication),
        "status": "active",
        "intent": "order",
        "subject": {"reference": f"Patient/{patient}"},
        "medicationCodeableConcept": {"text": medication.drug},
    }
    if medication.dose:
        request["dosageInstruction"] = [{"text": medication.dose}]
    return request
