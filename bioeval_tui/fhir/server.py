"""A FHIR server with patients' records: what it answers becomes resources and one sentence each."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import httpx2

from bioeval_tui.base.errors import InvalidQueryError, QueryError
from bioeval_tui.base.hosts import host_of
from bioeval_tui.base.peer_limits import MAX_EVENT_TEXT
from bioeval_tui.base.proxies import proxy_for
from bioeval_tui.base.text import (
    ExcessiveJsonError,
    clean_line,
    clean_value,
    listed,
    objects,
    parse_json,
)
from bioeval_tui.fhir.paths import Paths
from bioeval_tui.fhir.queries import Query, check_write, parse_query, record_of, resource_path
from bioeval_tui.jobs.models import FhirWrite
from bioeval_tui.peers.failures import REDIRECTED, TRANSPORT_ERRORS, connection_error
from bioeval_tui.peers.http import make_client
from bioeval_tui.peers.retry import may_retry
from bioeval_tui.peers.seams import Found, PeerError, RecordSnapshot
from bioeval_tui.peers.timeouts import Timeouts

MAX_PAGES, MAX_ENTRIES = 100, 5_000
"""Maximum number of pages and of resources that one query may return."""
MAX_BYTES = 10_000_000
"""Maximum number of bytes of all pages of one query."""
MAX_DELETED = 1_000
"""Maximum number of resources that one setup deletes."""
_EXAMINE_S, _SNAPSHOT_S = 20.0, 20.0
_CONNECT_S, _ANSWER_S = 5.0, 30.0
_ABSENT = (404, 410)
"""The statuses with which a server says that there is no such resource, or no longer."""
_JSON = "application/fhir+json"
_OF_STORAGE = ("versionId", "lastUpdated", "source")
"""What of `meta` differs whenever a resource is written."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A server's answer: its status, its resource (None without one, and why), and its size in
    bytes.
    """

    status: int
    resource: dict[str, Any] | None
    size: int
    why_none: str


@dataclass(frozen=True, slots=True)
class _Result:
    """What a query returned: one resource, a Bundle of all pages, or an empty list if there is no
    such resource; `note` has the server's remarks.
    """

    content: dict[str, Any] | list[Any]
    note: str = ""

    @property
    def resources(self) -> Iterator[dict[str, Any]]:
        """The resources in it."""
        if isinstance(self.content, dict) and self.content.get("resourceType") == "Bundle":
            for entry in self.content["entry"]:
                if isinstance(resource := entry.get("resource"), dict):
                    yield resource
        elif isinstance(self.content, dict):
            yield self.content


@dataclass(frozen=True, slots=True)
class _Capabilities:
    """What a server says of itself: its version of FHIR, and the search parameters of each type."""

    version: str
    parameters: Mapping[str, frozenset[str]]


class FhirServer:
    """`PatientRecords` on a server. The first call opens the connection.

    Args:
        base: its base URL, which every request stays below.
        headers: what is sent with each request, to this server only.
        secrets: what of them is masked in answers.
    """

    def __init__(
        self, base: str, *, headers: Mapping[str, str] | None = None, secrets: Collection[str] = ()
    ) -> None:
        self._base = base.rstrip("/")
        self._host = host_of(base)
        self.identity = f"FHIR server at {self._host}{clean_line(urlsplit(self._base).path, 100)}"
        self._headers = {"Accept": _JSON, "Prefer": "handling=strict", **(headers or {})}
        self._secrets = secrets
        self._clients: dict[bool, httpx2.AsyncClient] = {}
        self._paths = Paths()
        self._capabilities: _Capabilities | None = None
        self._asking = asyncio.Lock()
        self._closed = False

    async def examine(self, queries: Sequence[str]) -> tuple[str, ...]:
        """Ask for what the server can do, and each query once; return what may not be meant.

        A server ignores a search parameter that it does not know, and returns everything.

        Raises:
            QueryError: the server has no resources of a query's type, or too many.
            PeerError: it is unreachable, is no FHIR server, or refuses a query.
        """
        doubts: list[str] = []
        async with self._within(_EXAMINE_S):
            able = await self._able()
            for text in dict.fromkeys(queries):
                query = parse_query(text)
                if able.parameters and query.type not in able.parameters:
                    known = listed(sorted(able.parameters)[:20])
                    raise QueryError(
                        f"{self.identity} has no resources of the type {query.type}; it has {known}"
                    )
                doubts += _unknown_parameters(query, able)
                await self._ask(query)
        return tuple(dict.fromkeys(doubts))

    async def look_up(self, query: str, path: str, *, timeout_s: float = 10.0) -> Found:
        """Return what a path finds in what a query returns: a resource, or the Bundle of all pages.

        Raises:
            InvalidQueryError: the query or the path is wrong, whatever the server has.
            QueryError: the path does not fit what it finds, or finds too much.
            PeerError: the server is unreachable, too slow, or answers with an error.
        """
        try:
            asked = parse_query(query)
        except QueryError as error:
            raise InvalidQueryError(f"the query: {error.message}", error.column) from None
        async with self._within(timeout_s):
            version = (await self._able()).version
            result = await self._ask(asked)
            values = await self._paths.evaluate(path, result.content, version)
        return Found(values, result.note)

    async def write(self, setup: FhirWrite, *, timeout_s: float = 30.0) -> None:
        """Write or delete what a setup names; a search is deleted one resource after another, which
        works on servers that delete only single ones, too.

        Raises:
            QueryError: the setup is wrong, or the server refuses it.
            PeerError: the server is unreachable or too slow, or fails.
        """
        place = check_write(setup.method, setup.path, setup.resource)
        async with self._within(timeout_s):
            if setup.method != "DELETE":
                await self._change(setup.method, place.path, setup.resource)
            elif not place.parameters:
                await self._change("DELETE", place.path)
            else:
                for path in await self._found(place):
                    await self._change("DELETE", path)

    async def snapshot(self, queries: Sequence[str]) -> RecordSnapshot:
        """Return how many resources the record has, and a digest of their content.

        The ids that a server gave them do not count, nor when they were written.
        """
        resources: dict[tuple[Any, Any], dict[str, Any]] = {}
        async with self._within(_SNAPSHOT_S):
            for query in record_of(map(parse_query, dict.fromkeys(queries))):
                result = await self._ask(query)
                for resource in result.resources:
                    resources[resource.get("resourceType"), resource.get("id")] = resource
        counts = Counter(str(kind) for kind, _ in resources)
        if len(resources) > 50:
            digest = await asyncio.to_thread(_digest, resources.values())
        else:
            digest = _digest(resources.values())
        return RecordSnapshot(dict(sorted(counts.items())), digest)

    async def aclose(self) -> None:
        """Close every connection. Closing twice is fine."""
        self._closed = True
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()
        await self._paths.aclose()

    @asynccontextmanager
    async def _within(self, timeout_s: float) -> AsyncIterator[None]:
        """Limit the time of what is asked, in seconds."""
        if self._closed:
            raise PeerError("fhir", f"{self.identity} is closed")
        try:
            async with asyncio.timeout(timeout_s):
                yield
        except TimeoutError:
            message = f"{self.identity} did not answer within {timeout_s:g} s"
            raise PeerError("fhir", message, retryable=True) from None

    async def _able(self) -> _Capabilities:
        """Return what the server says that it can do; it is asked once."""
        async with self._asking:
            if self._capabilities is None:
                answer = await self._send("GET", f"{self._base}/metadata")
                if answer.status not in (200, *_ABSENT):
                    self._require_success(answer, "metadata")
                told = answer.resource or {}
                if answer.status != 200 or told.get("resourceType") != "CapabilityStatement":
                    raise PeerError(
                        "fhir",
                        f"{self._host} does not describe itself at {self._shown('metadata')}; is"
                        " `fhir.url` the base URL of a FHIR server?",
                        status=answer.status,
                    )
                self._capabilities = _read_capabilities(told)
        return self._capabilities

    async def _ask(self, query: Query) -> _Result:
        """Return what a query returns, all pages of it."""
        url = f"{self._base}/{query.path}"
        if query.is_form:
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = await self._send("POST", url, content=query.encoded.encode(), headers=form)
        else:
            sent = f"{url}?{query.encoded}" if query.parameters else url
            answer = await self._send("GET", sent)
        if query.is_read and answer.status in _ABSENT:
            return _Result([])
        self._require_success(answer, str(query))
        assert answer.resource is not None
        if query.is_read:
            return _Result(answer.resource)
        return await self._all_pages(query, answer, url)

    async def _all_pages(self, query: Query, first: _Answer, url: str) -> _Result:
        """Return the Bundle of a search with the entries of all its pages.

        Raises:
            QueryError: there are too many.
            PeerError: a page is no Bundle, or is elsewhere.
        """
        entries: list[dict[str, Any]] = []
        notes: list[str] = []
        page, size, seen = first, first.size, {url}
        while True:
            bundle = page.resource or {}
            if bundle.get("resourceType") != "Bundle":
                kind = clean_line(str(bundle.get("resourceType")), 60)
                message = f"{self._host} answered {query} with a {kind}, no Bundle"
                raise PeerError("fhir", message, unusable=True)
            for entry in objects(bundle.get("entry")):
                if _mapping(entry.get("search")).get("mode") == "outcome":
                    notes.append(_outcome_words(entry.get("resource")))
                else:
                    entries.append(entry)
            if len(entries) > MAX_ENTRIES or size > MAX_BYTES or len(seen) > MAX_PAGES:
                raise QueryError(
                    f"the result is larger than {MAX_ENTRIES:,} resources, {MAX_PAGES} pages or"
                    f" {MAX_BYTES:,} bytes: ask for less"
                )
            following = self._next_page(bundle)
            if following is None:
                break
            if following in seen:
                message = f"{self._host} sends the pages of {query} in a circle"
                raise PeerError("fhir", message, unusable=True)
            seen.add(following)
            page = await self._send("GET", following)
            self._require_success(page, f"a page of {query}")
            size += page.size
        whole = {**(first.resource or {}), "entry": entries}
        whole.pop("link", None)
        return _Result(whole, "; ".join(filter(None, dict.fromkeys(notes))))

    def _next_page(self, bundle: Mapping[str, Any]) -> str | None:
        """Return the URL of the next page; None after the last one.

        Raises:
            PeerError: it is not below the base URL: what the headers say is for this server alone.
        """
        links = (link for link in objects(bundle.get("link")) if link.get("relation") == "next")
        link = next((str(link.get("url") or "") for link in links), "")
        if not link:
            return None
        try:
            following = urljoin(f"{self._base}/", link)
            there, here = urlsplit(following), urlsplit(self._base)
            same = (there.scheme, there.hostname, there.port, there.username) == (
                here.scheme, here.hostname, here.port, here.username,
            )  # fmt: skip
        except ValueError:
            message = f"{self._host} names a next page that is no URL"
            raise PeerError("fhir", message, unusable=True) from None
        segments = unquote(there.path).split("/")
        inside = f"{there.path}/".startswith(f"{here.path}/") and not {".", ".."} & set(segments)
        if not (same and inside) or "\\" in following:
            raise PeerError(
                "fhir",
                f"{self._host} names a next page elsewhere, {clean_line(following, 200)}, which is"
                " not asked: only what is below `fhir.url` is",
                unusable=True,
            )
        return following

    async def _found(self, search: Query) -> list[str]:
        """Return the paths of the resources of a type that a search finds."""
        result = await self._ask(search)
        paths = []
        for resource in result.resources:
            if resource.get("resourceType") == search.type:
                paths.append(resource_path(search.type, resource.get("id")))
        if len(paths) > MAX_DELETED:
            raise QueryError(f"{search} finds more than {MAX_DELETED:,} resources: delete less")
        return paths

    async def _change(
        self, method: str, path: str, resource: Mapping[str, Any] | None = None
    ) -> None:
        content = None if resource is None else json.dumps(resource).encode()
        headers = {"Content-Type": _JSON} if content is not None else {}
        answer = await self._send(
            method, f"{self._base}/{path}", content=content, headers=headers, writes=True
        )
        if method == "DELETE" and answer.status in _ABSENT:
            return
        self._require_success(answer, f"{method} {path}", content=False)

    def _require_success(self, answer: _Answer, what: str, *, content: bool = True) -> None:
        """Raise `PeerError`, with the words of the OperationOutcome, unless an answer is a
        success.
        """
        status, words = answer.status, _outcome_words(answer.resource)
        if 200 <= status < 300 and (answer.resource is not None or not content):
            return
        if 200 <= status < 300:
            message = f"{self._host} answered {clean_line(what, 200)} without a resource in JSON"
            raise PeerError("fhir", message + _because(answer.why_none), status=status)
        message = f"{self._host} answered {clean_line(what, 200)} with {status}"
        if 300 <= status < 400:
            message += REDIRECTED
        elif status in (401, 403):
            message += "; `fhir.headersEnv` names the variable with its token"
        raise PeerError(
            "fhir", message + _because(words), status=status, retryable=may_retry(status)
        )

    async def _send(
        self,
        method: str,
        url: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        writes: bool = False,
    ) -> _Answer:
        """Send one request, and read the whole answer.

        Raises:
            PeerError: the server is unreachable or too slow, or sends what is too large.
        """
        try:
            response = await self._client(writes).request(
                method, url, content=content, headers=dict(headers or {})
            )
        except TRANSPORT_ERRORS as error:
            raise connection_error("fhir", self._host, error) from None
        data = response.content
        if len(data) > 100_000:  # the event loop must not wait for a large one
            resource, why_none = await asyncio.to_thread(_read_resource, data)
        else:
            resource, why_none = _read_resource(data)
        return _Answer(response.status_code, resource, len(data), why_none)

    def _client(self, writes: bool) -> httpx2.AsyncClient:
        """Return the client; a request that writes is never sent twice."""
        if writes not in self._clients:
            self._clients[writes] = make_client(
                [self._base],
                Timeouts(_CONNECT_S, _ANSWER_S),
                peer="fhir",
                headers=self._headers,
                proxy=proxy_for(self._base),
                secrets=self._secrets,
                stateless=not writes,
            )
        return self._clients[writes]

    def _shown(self, path: str) -> str:
        return f"{clean_line(urlsplit(self._base).path, 100)}/{path}"


def _read_resource(data: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the resource in an answer, cleaned as every text of a peer; None, and why, if it is
    none that is taken in.
    """
    try:
        told = parse_json(data)
    except ExcessiveJsonError as error:
        return None, f"it is {error}"
    except ValueError:
        return None, "it is something else" if data else "it is empty"
    cleaned = clean_value(told, MAX_EVENT_TEXT)
    if isinstance(cleaned, dict):
        return cleaned, ""
    return None, "it is no object"


def _read_capabilities(statement: Mapping[str, Any]) -> _Capabilities:
    parameters: dict[str, frozenset[str]] = {}
    for rest in objects(statement.get("rest")):
        for kind in objects(rest.get("resource")):
            names = (str(each.get("name")) for each in objects(kind.get("searchParam")))
            parameters[str(kind.get("type"))] = frozenset(names)
    return _Capabilities(str(statement.get("fhirVersion") or ""), parameters)


def _unknown_parameters(query: Query, able: _Capabilities) -> Iterator[str]:
    """Yield a sentence for each search parameter that the server does not list."""
    known = able.parameters.get(query.type) or frozenset()
    for name, _ in query.parameters:
        bare = name.partition(":")[0].partition(".")[0]
        if known and not bare.startswith("_") and bare not in known:
            yield (
                f"the FHIR server does not list the search parameter `{clean_line(bare, 60)}` of"
                f" {query.type}, so it may ignore it; it lists {listed(sorted(known)[:20])}"
            )


def _outcome_words(resource: Any) -> str:
    """Return what an OperationOutcome says, as the rest of a sentence; empty for anything else."""
    if not isinstance(resource, dict) or resource.get("resourceType") != "OperationOutcome":
        return ""
    words = []
    for issue in objects(resource.get("issue"))[:3]:
        told = _mapping(issue.get("details")).get("text") or issue.get("diagnostics")
        words.append(clean_line(str(told or issue.get("code") or ""), 300).strip().rstrip("."))
    return "; ".join(filter(None, dict.fromkeys(words)))


def _because(words: str) -> str:
    return f": {words}" if words else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _digest(resources: Iterable[Mapping[str, Any]]) -> str:
    """Return a digest of resources in any order, without what storing them adds."""
    contents = []
    for resource in resources:
        content = {key: value for key, value in resource.items() if key != "id"}
        meta = _mapping(resource.get("meta"))
        content["meta"] = {key: meta[key] for key in meta if key not in _OF_STORAGE}
        contents.append(json.dumps(content, sort_keys=True))
    return hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()
