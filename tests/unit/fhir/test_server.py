"""What a FHIR server answers becomes resources, or one sentence; no other host is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bioeval_tui.base.errors import QueryError
from bioeval_tui.fhir import server as module
from bioeval_tui.fhir.server import FhirServer
from bioeval_tui.jobs.models import FhirWrite
from bioeval_tui.peers.seams import PeerError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
CAPABLE: dict[str, Any] = {
    "resourceType": "CapabilityStatement",
    "fhirVersion": "4.0.1",
    "rest": [
        {
            "resource": [
                {"type": "Patient"},
                {"type": "Observation", "searchParam": [{"name": "patient"}, {"name": "code"}]},
            ]
        }
    ],
}
OUTCOME = {
    "resourceType": "OperationOutcome",
    "issue": [
        {"severity": "error", "code": "invalid", "diagnostics": "no \x1b[31mcode\u202e here."}
    ],
}


def answer(resource: Any, status: int = 200, **headers: str) -> web.Response:
    text = resource if isinstance(resource, str) else json.dumps(resource)
    return web.Response(
        text=text, status=status, content_type="application/fhir+json", headers=headers
    )


def bundle(*resources: dict[str, Any], following: str = "") -> dict[str, Any]:
    links = [{"relation": "next", "url": following}] if following else []
    entries = [{"resource": each, "search": {"mode": "match"}} for each in resources]
    return {"resourceType": "Bundle", "type": "searchset", "entry": entries, "link": links}


def observation(key: int | str) -> dict[str, Any]:
    return {"resourceType": "Observation", "id": str(key), "meta": {"versionId": "1"}}


class Fake:
    """A server whose answer to everything but `metadata` is given; it notes what it was asked."""

    def __init__(self) -> None:
        self.answer: Handler | None = None
        self.capable: Any = CAPABLE
        self.asked: list[str] = []
        self.headers: list[Any] = []
        self.bodies: list[str] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/fhir/metadata":
            return answer(self.capable)
        self.asked.append(f"{request.method} {request.raw_path}")
        self.headers.append(request.headers)
        self.bodies.append(await request.text())
        assert self.answer is not None
        return await self.answer(request)

    def always(self, resource: Any, status: int = 200, **headers: str) -> None:
        async def same(request: web.Request) -> web.StreamResponse:
            return answer(resource, status, **headers)

        self.answer = same


@pytest.fixture
async def fake() -> AsyncIterator[Fake]:
    one = Fake()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", one.handle)
    async with TestServer(app) as running:
        one.url = f"http://127.0.0.1:{running.port}/fhir"
        yield one


@pytest.fixture
async def server(fake: Fake) -> AsyncIterator[FhirServer]:
    one = FhirServer(
        f"{fake.url}/",
        headers={"Authorization": "Bearer tok-1234567890"},
        secrets=["tok-1234567890"],
    )
    yield one
    await one.aclose()


async def test_a_resource_that_is_not_there_is_nothing_and_no_error(
    fake: Fake, server: FhirServer
) -> None:
    for status in (404, 410):
        fake.always(OUTCOME, status)
        found = await server.look_up("Patient/ada", "Patient.exists()")
        assert found.values == (False,)
    fake.always(OUTCOME, 404)
    with pytest.raises(PeerError, match=r"with 404: no .*code.* here"):
        await server.look_up("Observation?code=1", "count()")


async def test_all_pages_of_a_search_are_one_bundle_and_remarks_are_a_note(
    fake: Fake, server: FhirServer
) -> None:
    async def pages(request: web.Request) -> web.StreamResponse:
        number = int(request.query.get("page", 0))
        following = f"{fake.url}?page={number + 1}" if number < 2 else ""
        page = bundle(observation(number), following=following)
        page["entry"].append({"resource": OUTCOME, "search": {"mode": "outcome"}})
        return answer(page)

    fake.answer = pages
    found = await server.look_up("Observation?code=a|b", "Bundle.entry.resource.id")
    assert found.values == ("0", "1", "2")
    assert "code" in found.note
    assert "\x1b" not in found.note
    assert fake.asked == [
        "GET /fhir/Observation?code=a%7Cb",
        "GET /fhir?page=1",
        "GET /fhir?page=2",
    ]


@pytest.mark.parametrize(
    "link",
    [
        "http://evil.example/fhir?page=2",
        "https://127.0.0.1/fhir?page=2",
        "//evil.example/fhir",
        "{base}x?page=2",
        "{base}/../admin",
        "{base}/%2e%2e/admin",
        "/admin",
        "http://[",
        "{base}\\..\\admin",
    ],
)
async def test_a_page_elsewhere_is_not_asked(link: str, fake: Fake, server: FhirServer) -> None:
    fake.always(bundle(observation(1), following=link.replace("{base}", fake.url)))
    with pytest.raises(PeerError, match="names a next page"):
        await server.look_up("Observation?code=1", "count()")
    assert len(fake.asked) == 1


async def test_a_redirect_is_not_followed(fake: Fake, server: FhirServer) -> None:
    fake.always("", 302, Location="http://evil.example/")
    with pytest.raises(PeerError, match="302, a redirect, which is not followed"):
        await server.look_up("Patient/ada", "count()")
    with pytest.raises(PeerError, match="302, a redirect, which is not followed"):
        await server.write(FhirWrite(method="DELETE", path="Patient/ada"))


async def test_pages_without_an_end_are_left(
    fake: Fake, server: FhirServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.always(bundle(observation(1), following=f"{fake.url}?page=1"))
    with pytest.raises(PeerError, match="in a circle"):
        await server.look_up("Observation?code=1", "count()")

    async def endless(request: web.Request) -> web.StreamResponse:
        number = int(request.query.get("page", 0))
        return answer(bundle(observation(number), following=f"{fake.url}?page={number + 1}"))

    fake.answer = endless
    monkeypatch.setattr(module, "MAX_PAGES", 5)
    with pytest.raises(QueryError, match="larger than"):
        await server.look_up("Observation?code=1", "count()")
    assert len(fake.asked) < 12
    fake.always(bundle(*map(observation, range(20))))
    monkeypatch.setattr(module, "MAX_ENTRIES", 10)
    with pytest.raises(QueryError, match="ask for less"):
        await server.look_up("Observation?code=1", "count()")


BAD = [
    ("not JSON", 200, "without a resource in JSON"),
    ("[1]", 200, "without a resource in JSON"),
    ("[" * 1000, 200, "without a resource in JSON"),
    ('{"resourceType": "Patient"}', 200, "with a Patient, no Bundle"),
    ('{"resourceType": "Bundle", "entry": [1, null, {"resource": 5}], "link": 7}', 200, ""),
    (json.dumps(OUTCOME), 500, "with 500: no .*code.* here"),
    (json.dumps(OUTCOME), 400, "with 400: no .*code.* here"),
    ("<html>", 503, "with 503$"),
    (json.dumps(OUTCOME), 401, "headersEnv"),
    ("x" * 6_000_000, 200, "more than 5,000,000 bytes"),
]


@pytest.mark.parametrize(("body", "status", "why"), BAD)
async def test_whatever_a_server_answers_becomes_one_sentence(
    body: str, status: int, why: str, fake: Fake, server: FhirServer
) -> None:
    fake.always(body, status)
    if not why:
        assert (await server.look_up("Observation?code=1", "Bundle.entry.count()")).values == (1,)
        return
    with pytest.raises(PeerError, match=why) as failed:
        await server.look_up("Observation?code=1", "count()")
    assert "\x1b" not in str(failed.value)
    assert "\n" not in str(failed.value)
    assert failed.value.peer == "fhir"


async def test_a_deep_answer_is_refused(fake: Fake, server: FhirServer) -> None:
    fake.always('{"a":' * 90 + "1" + "}" * 90)
    with pytest.raises(PeerError, match=r"without a resource in JSON: .*nested"):
        await server.look_up("Patient/ada", "count()")


async def test_a_token_is_sent_to_this_server_and_hidden_in_what_it_quotes(
    fake: Fake, server: FhirServer
) -> None:
    outcome = {**OUTCOME, "issue": [{"diagnostics": "bad token tok-1234567890"}]}
    fake.always(outcome, 403)
    with pytest.raises(PeerError) as failed:
        await server.look_up("Patient/ada", "count()")
    assert "tok-1234567890" not in str(failed.value)
    assert fake.headers[0]["Authorization"] == "Bearer tok-1234567890"
    assert fake.headers[0]["Prefer"] == "handling=strict"


async def test_a_form_posts_its_parameters(fake: Fake, server: FhirServer) -> None:
    fake.always(bundle())
    await server.look_up("Observation/_search?patient=ada&code=1 2", "entry.count()")
    assert fake.asked == ["POST /fhir/Observation/_search"]
    assert fake.bodies == ["patient=ada&code=1%202"]


async def test_the_server_is_examined_before_anything_is_asked_of_the_agent(
    fake: Fake, server: FhirServer
) -> None:
    fake.always(bundle())
    doubts = await server.examine(["Observation?patinet=ada&_count=2&code:exact=1"])
    assert len(doubts) == 1
    assert "does not list the search parameter `patinet`" in doubts[0]
    with pytest.raises(QueryError, match="no resources of the type Medication;"):
        await server.examine(["Medication?code=1"])
    fake.always(OUTCOME, 400)
    with pytest.raises(PeerError, match="with 400"):
        await server.examine(["Observation?code=1"])


async def test_what_is_no_fhir_server_is_said_to_be_none(fake: Fake, server: FhirServer) -> None:
    fake.capable = {"resourceType": "Patient"}
    with pytest.raises(PeerError, match="does not describe itself at /fhir/metadata"):
        await server.examine([])
    away = FhirServer("http://127.0.0.1:9/fhir")
    with pytest.raises(PeerError, match="refused the connection"):
        await away.examine([])
    await away.aclose()
    with pytest.raises(PeerError, match="is closed"):
        await away.examine([])


async def test_a_silent_server_is_given_up(fake: Fake, server: FhirServer) -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return answer({})

    fake.answer = silent
    with pytest.raises(PeerError, match=r"did not answer within 0\.2 s"):
        await server.look_up("Patient/ada", "count()", timeout_s=0.2)


async def test_a_search_is_deleted_one_resource_after_another(
    fake: Fake, server: FhirServer
) -> None:
    async def some(request: web.Request) -> web.StreamResponse:
        if request.method == "DELETE":
            return web.Response(status=204)
        other = {"resourceType": "Patient", "id": "ada"}
        return answer(bundle(observation(1), observation("b.2"), other))

    fake.answer = some
    await server.write(FhirWrite(method="DELETE", path="Observation?patient=ada"))
    assert fake.asked[1:] == ["DELETE /fhir/Observation/1", "DELETE /fhir/Observation/b.2"]
    fake.always(bundle(observation("../Patient/ada")))
    with pytest.raises(QueryError, match="an invalid id"):
        await server.write(FhirWrite(method="DELETE", path="Observation?patient=ada"))
    assert fake.asked[3:] == ["GET /fhir/Observation?patient=ada"]


async def test_the_digest_of_a_record_is_of_its_content(fake: Fake, server: FhirServer) -> None:
    async def digest(*resources: dict[str, Any]) -> str:
        fake.always(bundle(*resources))
        return (await server.snapshot(["Observation?patient=ada&code=1"])).digest

    first = await digest({**observation(1), "status": "final"}, observation(2))
    again = {**observation(7), "meta": {"versionId": "9", "lastUpdated": "2026"}}
    assert await digest(again, {**observation(8), "status": "final"}) == first
    assert await digest({**observation(1), "status": "amended"}, observation(2)) != first
    assert set(fake.asked) == {"GET /fhir/Observation?patient=ada"}
    fake.always(bundle(observation(1)))
    seen = await server.snapshot(["Observation?patient=ada"])
    assert dict(seen.resources) == {"Observation": 1}
