"""One request to a model with the openai package, streamed or not; every failure is a `PeerError`.

Nothing is retried here, except without options that the server does not know; the caller retries. A
redirect is an error, because following it would send a transcript to a host that nobody named.
Answers are used as raw data: typed objects take as long as everything else, and servers send shapes
that do not fit them.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import httpx2
import openai
from openai import providers

from bioeval_tui.base.credentials import sendable
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.hosts import OPENAI_URL, host_of
from bioeval_tui.base.peer_limits import MAX_MODEL_BYTES
from bioeval_tui.base.proxies import proxy_for
from bioeval_tui.base.settings import Provider
from bioeval_tui.base.text import clean_line
from bioeval_tui.jobs.models import NO_OPTIONS, Api, ModelOptions
from bioeval_tui.jobs.rendering import Templates
from bioeval_tui.peers import spending
from bioeval_tui.peers.arrivals import Arrivals
from bioeval_tui.peers.http import make_client
from bioeval_tui.peers.models.answer import AnswerReader, ChatAnswer, PromptCheck
from bioeval_tui.peers.models.google_credentials import GoogleCredentials
from bioeval_tui.peers.models.refusals import QuotaUsedUp, Refused, refusal
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.peers.sse import drain, read_events
from bioeval_tui.peers.timeouts import Timeouts
from bioeval_tui.record.participants import Peer

MODEL_TIMEOUTS = Timeouts(connect=10.0, whole=120.0)
MOST_CONNECTIONS = 1000
_ACCOUNT = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
_CUSTOM = "OPENAI_CUSTOM_HEADERS"
_END_MARK = re.compile(r"""\s*"?\[?DONE\b""")
"""The data that ends a stream of chat completions; some servers leave the brackets out."""
_FIELD = re.compile(rb"\s*(?:data|event|id|retry)?:")
"""How a stream of events begins, whatever the answer says that it is."""
_PARAMETERS: Mapping[str, Mapping[Api, str]] = {
    "temperature": {"chat": "temperature", "responses": "temperature"},
    "topP": {"chat": "top_p", "responses": "top_p"},
    "maxTokens": {"chat": "max_tokens", "responses": "max_output_tokens"},
    "seed": {"chat": "seed", "responses": "seed"},
    "stop": {"chat": "stop", "responses": "stop"},
    "reasoningEffort": {"chat": "reasoning_effort", "responses": "reasoning"},
}
"""The parameter of each API for each of a job's keys."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a model. `schema` is a JSON Schema for the answer, if the server supports it.

    A job's `TargetConfig` has keys of these names for what the user may write; the tools here are
    in the server's form.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    options: ModelOptions = NO_OPTIONS
    schema: Mapping[str, Any] | None = None
    user: str = ""
    """Sent as `user` if not empty: identifies the conversation for endpoints that keep state."""
    tools: Sequence[Mapping[str, Any]] = ()
    """Functions that may be called: `name`, `description` and `parameters` of each."""
    headers: Mapping[str, str] = field(default_factory=dict)


class ChatModel:
    """A model's endpoint. If the server rejects an option, the request is sent again without it."""

    def __init__(
        self,
        peer: Peer,
        *,
        api_key: str | None,
        base_url: str | None = None,
        provider: Provider = "openai",
        api: Api = "chat",
        account: bool = False,
        timeouts: Timeouts = MODEL_TIMEOUTS,
        arrivals: Arrivals | None = None,
        secrets: Sequence[str] = (),
        stateless: bool = True,
        refused: dict[str, set[str]] | None = None,
    ) -> None:
        """`peer` is blamed for failures.

        Without `base_url`, requests go to OpenAI. Raises `UsageError`.

        With `account`, the environment's OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS
        are sent. `arrivals` measures when the bytes of answers arrive, which must be received one
        after another. `secrets` are in request headers, and are removed from error messages.
        `stateless` as of `make_client`. `refused` is what other clients of the same run have found
        that each model does without.
        """
        self.peer = peer
        self._key = api_key
        self._secrets = [secret for secret in (api_key, *secrets) if secret]
        self._is_keyless = provider == "openai" and not api_key
        self._api = api
        self.templates = Templates()
        """Renders the job's own prompts for this model's callers."""
        self._arrivals = arrivals
        self._stateless = stateless
        self._refused = {} if refused is None else refused
        sendable(f"the API key for {host_of(base_url or OPENAI_URL)}", api_key or "")
        if account:
            _require_account()
        self._make = partial(_client, provider, base_url, api_key, account)
        self._timeouts = timeouts
        self._client: openai.AsyncOpenAI | None = None
        self._url = base_url or provider_url(provider)
        self.host = host_of(self._url)
        self.prompt_check = PromptCheck(peer, self.host)
        self._proxy = proxy_for(self._url)
        if provider != "openai":
            self._make(_unused_client())  # reports missing packages now

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatAnswer, None]:
        """Yield pieces of text as they arrive, if the job lets it stream, and, last, the whole
        answer. Raises `PeerError`.
        """
        async with self._asked(request) as (reader, response):
            kind = response.headers.get("Content-Type", "").lower()
            if "json" in kind or "html" in kind:
                await response.aread()
            is_read = response.is_closed  # as is that of a request that asked not to stream
            if is_read and "event-stream" not in kind and not _FIELD.match(response.content):
                answer = reader.whole(response.content, self._read_completion)
            else:
                events = read_events(response.aiter_bytes())
                make_chunk = ResponseEvents().make_chunk if self._api == "responses" else _unchanged
                ended, is_over = False, True
                async for event in events:
                    if ended := _END_MARK.match(event.data) is not None:
                        is_over = await drain(events)
                        break
                    piece = reader.add(make_chunk(reader.read_event(event)))
                    if piece:
                        yield piece
                reader.close(is_over=is_over)
                answer = reader.streamed(ended=ended)
                if is_read:
                    answer = replace(answer, first_token=None)
        yield answer

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """Return the whole answer. Raises `PeerError`."""
        async with aclosing(self.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ChatAnswer):
                    return piece
        raise AssertionError("a stream ends with its answer")

    async def aclose(self) -> None:
        """Close every connection, and end the process that rendered prompts."""
        await self.templates.aclose()
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    @asynccontextmanager
    async def _asked(
        self, request: ChatRequest
    ) -> AsyncIterator[tuple[AnswerReader, httpx2.Response]]:
        """Send until the server accepts the options; return the answer, already read unless it
        streams.

        `most_refusals` (`conversation/call_counts.py`) says how often it is refused at most.
        """
        refused = self._refused.setdefault(request.model, set())
        tried: dict[str, PeerError] = {}
        while True:
            without = refused | tried.keys()
            streams = request.options.streaming and "stream" not in without
            options = _options(request, without, self._api, stream=streams)
            messages = list(request.messages)
            if "system" in without:
                messages = _drop_system(messages)
            body = {
                "model": request.model,
                "messages": messages,
                "stream": streams,
                **options,
                **request.options.extra_body,
            }
            with spending.request(self.peer, request.messages) as sent:
                try:
                    answer = await self._post(body, request.headers, stream=streams)
                except openai.APIStatusError as error:
                    sent.is_free = True
                    keys = _job_keys(self.peer, request.options)
                    problem = refusal(self.peer, self.host, error, self._key, keys)
                except openai.OpenAIError as error:
                    sent.is_free = True
                    why = f"{self.host} was not called: {clean_line(str(error), 300)}"
                    raise PeerError(self.peer, why) from None
                except PeerError as error:
                    sent.is_free = error.unreachable or error.exhausted
                    self._leave_out(request.model, tried, retried=error.retryable)
                    raise
                else:
                    self._leave_out(request.model, tried)
                    async with self._read(answer, sent, request.model) as reader:
                        yield reader, answer
                    return
            newly = problem.options(body) - without if isinstance(problem, Refused) else set()
            if not newly:
                if isinstance(problem, QuotaUsedUp) and self.peer != "agent":
                    spending.stop(str(problem))
                self._leave_out(request.model, tried, retried=problem.retryable)
                raise problem
            tried |= dict.fromkeys(newly, problem)

    def _leave_out(
        self, model: str, tried: Mapping[str, PeerError], *, retried: bool = True
    ) -> None:
        """Leave options out of later requests to a model, too: where that helped, or the request is
        sent again as it is.

        Otherwise each attempt would be refused as often as the first one.
        """
        refused = self._refused[model]
        # Another request may have met the same rejection in the meantime.
        if not retried:
            return
        for option in tried.keys() - refused:
            refused.add(option)
            if option != "max_tokens":  # the limit has another name from now on
                how = _DONE_WITHOUT.get(option, f"without {option}")
                spending.note(f"the {self.peer}'s model is asked {how}: {tried[option]}")

    @asynccontextmanager
    async def _read(
        self, response: httpx2.Response, sent: spending.Request, asked: str
    ) -> AsyncIterator[AnswerReader]:
        """Yield a reader of the answer; at the end, close the answer, and note in `sent` the tokens
        that it named until then, and which model answered for the one that was `asked`.
        """
        clock = self._arrivals.last if self._arrivals else time.monotonic
        reader = AnswerReader(self.peer, self.host, response.extensions["exchange"].started, clock)
        try:
            yield reader
        finally:
            sent.tokens_in, sent.tokens_out = reader.tokens
            sent.characters = reader.length
            if reader.model:
                spending.note_model(asked, reader.model)
            await response.aclose()

    async def _post(
        self, body: dict[str, Any], headers: Mapping[str, str], *, stream: bool
    ) -> httpx2.Response:
        """Send a request; return its answer, not yet read if it is to stream."""
        path, asked = "/chat/completions", body
        if self._api == "responses":
            path, asked = "/responses", responses_request(body)
        accept = "text/event-stream, application/json" if stream else "application/json"
        options: Any = {"headers": {"Accept": accept}}
        if self._is_keyless:
            options["headers"]["Authorization"] = openai.Omit()
        options["headers"] |= {name.title(): value for name, value in headers.items()}
        try:
            if stream:
                events = await self._open().post(
                    path,
                    cast_to=object,
                    body=asked,
                    options=options,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                )
                return events.response
            return await self._open().post(
                path, cast_to=httpx2.Response, body=asked, options=options
            )
        except openai.APIConnectionError as error:
            # openai before 3.15 wraps whatever a transport raises
            if isinstance(error.__cause__, PeerError):
                raise error.__cause__ from None
            raise

    def _read_completion(self, data: Any) -> Any:
        if self._api == "chat":
            return data
        return chat_completion(data)

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            http = make_client(
                (self._url,),
                self._timeouts,
                peer=self.peer,
                arrivals=self._arrivals,
                connections=MOST_CONNECTIONS,
                proxy=self._proxy,
                most=MAX_MODEL_BYTES,
                stateless=self._stateless,
                secrets=self._secrets,
            )
            self._client = self._make(http)
        return self._client


def provider_url(provider: Provider) -> str:
    """Return a provider's default URL, which the package derives from the environment.

    Raises:
        UsageError: the package misses something.
    """
    if provider == "openai":
        return OPENAI_URL
    return str(_client(provider, None, None, False, _unused_client()).base_url)


def _unused_client() -> httpx2.AsyncClient:
    """Return a client for a package that only builds something with it: with `trust_env`, a SOCKS
    proxy is an error.
    """
    return httpx2.AsyncClient(trust_env=False)


def _client(
    provider: Provider,
    base_url: str | None,
    key: str | None,
    account: bool,
    http: httpx2.AsyncClient,
) -> openai.AsyncOpenAI:
    """Return the package's client for a provider. Raises `UsageError` if something is missing."""
    shared: dict[str, Any] = {"http_client": http, "max_retries": 0, "timeout": http.timeout}
    user_agent = {"User-Agent": http.headers["User-Agent"]}
    try:
        if provider == "azure":
            if base_url:
                shared["azure_endpoint"] = base_url
            return openai.AsyncAzureOpenAI(**shared, api_key=key, default_headers=user_agent)
        if provider != "openai":
            given: dict[str, Any] = {}
            if base_url:
                given["base_url"] = base_url
            if provider == "vertex" and not hasattr(providers, "vertex"):
                raise UsageError(
                    f"vertex: needs openai 3.36 or newer; openai {openai.__version__} is installed"
                )
            if provider == "bedrock":
                if key:
                    given["api_key"] = key
                made = providers.bedrock(**given)
            else:
                given["credentials"] = GoogleCredentials()
                made = providers.vertex(**given)
            return openai.AsyncOpenAI(**shared, provider=made, default_headers=user_agent)
    except (openai.OpenAIError, ValueError) as error:
        raise UsageError(f"{provider}: {clean_line(str(error), 300)}") from None
    headers: dict[str, Any] = dict(user_agent)
    if not account:
        for line in os.environ.get(_CUSTOM, "").splitlines():
            headers.setdefault(line.partition(":")[0].strip(), openai.Omit())
    made_client = openai.AsyncOpenAI(
        **shared, base_url=base_url or OPENAI_URL, api_key=key or "none", default_headers=headers
    )
    if not account:
        made_client.organization = made_client.project = None
    return made_client


def _require_account() -> None:
    """Raise `UsageError` unless the package can send what the environment says of the account."""
    for name in _ACCOUNT:
        sendable(name, os.environ.get(name, "").strip())
    for line in filter(str.strip, os.environ.get(_CUSTOM, "").splitlines()):
        if ":" not in sendable(_CUSTOM, line.strip()):
            raise UsageError(f"{_CUSTOM}: each line must be NAME: value")


def parameters(options: ModelOptions, api: Api) -> dict[str, Any]:
    """Return what a job asks of a model as parameters of an API, without its `extraBody`."""
    given = options.given_options()
    asked = {names[api]: given[key] for key, names in _PARAMETERS.items() if key in given}
    if effort := asked.get("reasoning"):
        asked["reasoning"] = {"effort": effort}
    return asked


_DONE_WITHOUT = {
    "stream": "not to stream",
    "system": (
        "with its instructions in the first message of the user, because it has no system role"
    ),
}
"""How a request does without what a server refuses; of anything else, it is left out."""


def _drop_system(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return messages with the system's at the beginning of the user's first one, for models
    without such a role.
    """
    instructions = "\n\n".join(
        str(each["content"]) for each in messages if each["role"] == "system"
    )
    others = [each for each in messages if each["role"] != "system"]
    if not others or others[0]["role"] != "user":
        return [{"role": "user", "content": instructions}, *others]
    first = {**others[0], "content": f"{instructions}\n\n{others[0]['content']}"}
    return [first, *others[1:]]


def _options(request: ChatRequest, refused: set[str], api: Api, *, stream: bool) -> dict[str, Any]:
    """Return the optional parameters, without those that the server has rejected so far."""
    options = parameters(request.options, api)
    if "temperature" in refused:
        options.pop("temperature", None)
    if "max_tokens" in refused and "max_tokens" in options:
        options["max_completion_tokens"] = options.pop("max_tokens")
    if request.user:
        options["user"] = request.user
    if request.tools:
        options["tools"] = [{"type": "function", "function": dict(tool)} for tool in request.tools]
    if stream and api == "chat" and "stream_options" not in refused:
        options["stream_options"] = {"include_usage": True}
    if request.schema is not None:
        if "json_schema" not in refused:
            schema = {"name": "answer", "strict": True, "schema": dict(request.schema)}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif "json_object" not in refused:
            options["response_format"] = {"type": "json_object"}
    return options


def _job_keys(peer: Peer, options: ModelOptions) -> dict[str, str]:
    """Return the parameters that a job asks for, in all their names, with the job's key of each."""
    part = {"evaluator": "evaluator", "judge": "scorer"}.get(peer, "target")
    given = options.given_options()
    keys: dict[str, str] = {}
    for key, names in _PARAMETERS.items():
        if key in given:
            keys |= dict.fromkeys(names.values(), key)
    if options.max_tokens is not None:
        keys["max_completion_tokens"] = "maxTokens"
    keys |= {name: f"extraBody.{name}" for name in options.extra_body}
    return {name: f"{part}.{key}" for name, key in keys.items()}


_FINISH: dict[str, str] = {"max_output_tokens": "length", "content_filter": "content_filter"}
_ELSEWHERE = ("messages", "response_format", "stream_options", "tools")
"""Parameters of chat completions that have another name or shape here."""


def _flat_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool as the Responses API takes it, with the function's keys in the tool itself."""
    function = tool.get("function")
    if isinstance(function, Mapping):
        return {"type": "function", **function}
    return tool


def responses_request(body: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion's request for the Responses API; it asks the provider to store
    nothing.
    """
    asked: dict[str, Any] = {"store": False}
    asked |= {name: value for name, value in body.items() if name not in _ELSEWHERE}
    if shape := body.get("response_format"):
        asked["text"] = {"format": {"type": shape["type"], **shape.get("json_schema", {})}}
    if tools := body.get("tools"):
        asked["tools"] = [_flat_tool(tool) for tool in tools]
    return {**asked, "input": list(_items(body["messages"]))}


def _items(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield messages as items of the Responses API, where tool calls and their results are separate
    items.
    """
    for message in messages:
        if message["role"] == "tool":
            yield {
                "type": "function_call_output",
                "call_id": message["tool_call_id"],
                "output": message["content"],
            }
            continue
        if message.get("content") or not message.get("tool_calls"):
            yield {
                "type": "message",
                "role": message["role"],
                "content": message.get("content") or "",
            }
        for call in message.get("tool_calls") or ():
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _unchanged(data: Any) -> Any:
    return data


class ResponseEvents:
    """Reads the events of one streamed response of the Responses API."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        """The items that are complete: some gateways leave them out of the response at the end."""

    def make_chunk(self, event: Any) -> Any:
        """Return an event as a chunk of a chat completion."""
        kind = event.get("type") if isinstance(event, Mapping) else None
        match kind:
            case "response.output_text.delta":
                return {"choices": [{"delta": {"content": event.get("delta")}}]}
            case "response.refusal.delta":
                return {"choices": [{"delta": {"refusal": event.get("delta")}}]}
            case "response.output_item.done":
                self._items.append(event.get("item"))
            case "response.completed" | "response.incomplete" | "response.failed":
                response = event.get("response")
                if isinstance(response, Mapping) and not response.get("output"):
                    response = {**response, "output": self._items}
                return chat_completion(response)
            case "error":
                return {"error": event}
        # without a type it is no event of this API; reading it says so
        return {} if kind else event


def chat_completion(response: Any) -> Any:
    """Return a whole response as a chat completion; unknown items stay unchanged."""
    if not isinstance(response, Mapping) or not isinstance(response.get("output"), list):
        return response
    items = _objects(response["output"])
    contents = [item.get("content") for item in items if item.get("type") == "message"]
    parts = list(chain.from_iterable(map(_objects, contents)))
    message = {
        "content": "".join(str(part.get("text") or "") for part in parts),
        "refusal": "".join(str(part.get("refusal") or "") for part in parts),
        "tool_calls": [
            {"id": item.get("call_id"), "function": item}
            for item in items
            if item.get("type") == "function_call"
        ],
        "items": [item for item in items if item.get("type") not in ("message", "function_call")],
    }
    reason = _object(response.get("incomplete_details")).get("reason")
    usage = _object(response.get("usage"))
    return {
        "choices": [{"message": message, "finish_reason": _FINISH.get(str(reason), "stop")}],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
        },
        "model": response.get("model"),
        "error": response.get("error"),
    }


def _object(value: Any) -> Mapping[str, Any]:
    """Return an object of an answer; an empty one for anything else."""
    if isinstance(value, Mapping):
        return value
    return {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list of an answer; empty for anything else."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, Mapping)]
    return []
