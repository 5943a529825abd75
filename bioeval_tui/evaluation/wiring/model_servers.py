"""Asks a model server for its list of models (`<base>/models`), and says in one sentence what is wrong with it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2

from bioeval_tui.evaluation.hosts import host_of, is_loopback
from bioeval_tui.evaluation.models.errors import hidden
from bioeval_tui.peer_limits import MAX_MODEL_LIST
from bioeval_tui.text import clean_line, parse_json, plural, shorten

State = Literal["works", "broken", "absent"]
PROBE_S = 3.0
_NAMED = 5
USUAL_PORTS = {8080: "llama.cpp", 11434: "Ollama", 1234: "LM Studio", 8000: "vLLM"}


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one component: `works`, `broken` (needed, but does not work) or `absent` (optional, not set up)."""

    part: str
    state: State
    said: str
    to_do: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


def model_finding(
    part: str,
    base_url: str,
    key: str | None,
    wanted: Sequence[str] = (),
    *,
    headers: Mapping[str, str] | None = None,
    url_from: str = "its address",
    key_from: str = "its key",
    model_from: str = "its model",
) -> Finding:
    """Return whether a server lists the `wanted` models; `headers` are sent, too. `url_from`, `key_from` and `model_from` say where each is set."""
    base, host = base_url.rstrip("/"), host_of(base_url)
    sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
    path = urlsplit(f"{base}/models").path
    try:
        status, models, error_text = _listed(base, sent)
    except httpx2.HTTPError as error:
        to_do = f"start the model server, or check the address ({url_from})"
        return Finding(part, "broken", f"{host} {unreachable(error)}", to_do)
    if status in (401, 403):
        said = f"{host} refuses the key ({status})" if sent else f"{host} asks for a key ({status})"
        return Finding(part, "broken", said, f"{'check' if sent else 'set'} {key_from}")
    if status == 404:
        return _not_there(part, base, sent, path, url_from)
    if status >= 300:
        # LiteLLM's proxy answers 400 to a wrong key, and 500 to none.
        why = f": {shorten(hidden(error_text, key), 160)}" if error_text else ""
        to_do = f"check the address ({url_from}) and the key ({key_from})"
        return Finding(part, "broken", f"{host} answers {path} with {status}{why}", to_do)
    if models is None:
        to_do = f"check the address ({url_from}): this may be another program than a model server"
        return Finding(part, "absent", f"{host} answers {path}, but not with a list of models", to_do)
    missing = [model for model in wanted if not _has(models, model)]
    if missing:
        to_do = f"name a model that it serves ({model_from})" if models else "load a model there"
        return Finding(
            part, "broken", f"{host} does not serve {', '.join(missing)}; it serves {_names(models)}", to_do
        )
    return Finding(part, "works", f"{host} serves {', '.join(wanted) or _names(models)}")


def on_this_machine(ports: Sequence[int], in_use: str | None) -> Finding:
    """Return the model servers at these ports of this machine, with the lines that use the first.

    `in_use` is the address that the settings name.
    """
    found: list[tuple[str, list[str]]] = []
    for port in ports:
        base = f"http://127.0.0.1:{port}/v1"
        with suppress(httpx2.HTTPError):
            models = _listed(base, {})[1]
            if models is not None:
                found.append((base, models))
    if not found:
        looked = ", ".join(
            f"{port} ({USUAL_PORTS[port]})" if port in USUAL_PORTS else str(port) for port in ports
        )
        said = f"no model server at {'port' if len(ports) == 1 else 'ports'} {looked}"
        return Finding(
            "local models", "absent", said, "`bioeval-tui docs local-models` says how to start one"
        )
    said = "; ".join(f"{base} serves {_names(models)}" for base, models in found)
    used = next(((base, models) for base, models in found if models), None)
    if used is None or (in_use is not None and in_use.rstrip("/") in {base for base, _ in found}):
        return Finding("local models", "works", said)
    name = shlex.quote(clean_line(used[1][0], 100))
    lines = f"export OPENAI_BASE_URL={used[0]} BIOEVAL_EVALUATOR_MODEL={name} BIOEVAL_JUDGE_MODEL={name}"
    return Finding("local models", "works", said, f"to use it: `{lines}`")


def unreachable(error: Exception) -> str:
    """Return why a host did not answer, as a phrase that follows its name."""
    match error:
        case httpx2.TimeoutException() | TimeoutError():
            return f"does not answer within {PROBE_S:g} s"
        case httpx2.ConnectError():
            return "cannot be reached: nothing listens there, or the network is down"
    return f"does not answer as expected ({type(error).__name__})"


def _not_there(part: str, base: str, headers: Mapping[str, str], path: str, url_from: str) -> Finding:
    """Return what a 404 means: a path that lacks `/v1`, or a server without a list."""
    host = host_of(base)
    if not base.endswith("/v1"):
        with suppress(httpx2.HTTPError):
            if _listed(f"{base}/v1", headers)[1] is not None:
                said = f"{host} has no {path} (404), but {path.removesuffix('/models')}/v1/models"
                return Finding(part, "broken", said, f"add /v1 to the address ({url_from})")
    said = f"{host} answers, but has no list of models at {path} (404), so it is unknown whether it serves the model"
    return Finding(part, "absent", said, f"check the address, most end in /v1 ({url_from})")


def _listed(base: str, headers: Mapping[str, str]) -> tuple[int, list[str] | None, str]:
    """Return the status of a server's answer, the models in it, None if there is no list, and its error message.

    Raises:
        httpx2.HTTPError: it did not answer.
    """
    # A proxy of the environment is not asked for this machine.
    direct, until = is_loopback(host_of(base)), time.monotonic() + PROBE_S
    with httpx2.stream(
        "GET", f"{base}/models", headers=headers, timeout=PROBE_S, trust_env=not direct
    ) as answer:
        status, body = answer.status_code, b""
        for block in answer.iter_bytes():
            body += block
            if len(body) > MAX_MODEL_LIST:
                return status, None, ""
            if time.monotonic() > until:
                raise httpx2.ReadTimeout("the body has no end")
    try:
        data = parse_json(body)
    except ValueError:
        return status, None, ""
    if not isinstance(data, dict):
        return status, None, ""
    if status != 200:
        error = data.get("error")
        return status, None, str(error.get("message") or "") if isinstance(error, dict) else ""
    listed = data.get("data")
    if not isinstance(listed, list):
        return status, None, ""
    return status, [str(one["id"]) for one in listed if isinstance(one, dict) and one.get("id")], ""


def _has(models: Sequence[str], wanted: str) -> bool:
    """Return whether a list has a model: also as Ollama's `:latest`, or below LiteLLM's `openai/*`."""
    return any(
        wanted == model
        or f"{wanted}:latest" == model
        or (model.endswith("*") and wanted.startswith(model[:-1]))
        for model in models
    )


def _names(models: Sequence[str]) -> str:
    shown = ", ".join(clean_line(model, 60) for model in models[:_NAMED])
    more = f" and {plural(len(models) - _NAMED, 'other')}" if len(models) > _NAMED else ""
    return f"{shown}{more}" or "none"
