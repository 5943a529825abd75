"""Check every component that the program may need, within a few seconds, and whether the agent and
the models of a run answer. A model server is asked for its list of models (`<base>/models`).
"""

from __future__ import annotations

import asyncio
import os
import platform
import shlex
import shutil
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2

from bioeval_tui import __version__, plugins
from bioeval_tui.base import installation, units
from bioeval_tui.base.addresses import url_problem
from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.files import private_dir
from bioeval_tui.base.hosts import OPENAI_URL, chat_url, host_of
from bioeval_tui.base.peer_limits import MAX_MODEL_LIST
from bioeval_tui.base.proxies import is_loopback, proxy_for, proxy_host
from bioeval_tui.base.settings import RoleSettings, Secret, Settings, env_file_hint
from bioeval_tui.base.text import clean_line, home_relative, join_names, parse_json, plural, shorten
from bioeval_tui.evaluation.engine.interface import RunRequest, spec_of
from bioeval_tui.evaluation.wiring import records
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.endpoints import ModelRole, openai_url
from bioeval_tui.evaluation.wiring.graphs import neo4j_graph
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.prepare import apply_mode
from bioeval_tui.grade.service import Grading
from bioeval_tui.graphs.embedded import EmbeddedGraph, available
from bioeval_tui.peers.models.refusals import hide_keys
from bioeval_tui.record.masking import masked

State = Literal["works", "broken", "absent"]
PROBE_S = 3.0
_NAMED = 5
USUAL_PORTS = {8080: "llama.cpp", 11434: "Ollama", 1234: "LM Studio", 8000: "vLLM"}


@dataclass(frozen=True, slots=True)
class ComponentState:
    """The state of one component: `works`, `broken` (needed, but does not work) or `absent`
    (optional, not set up).
    """

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
    wanted: Sequence[str],
    *,
    headers: Mapping[str, str] | None = None,
    url_from: str = "its address",
    key_from: str = "its key",
    model_from: str = "its model",
) -> ComponentState:
    """Return whether a server lists the `wanted` models; `headers` are sent, too.

    `url_from`, `key_from` and `model_from` say where each is set.
    """
    base = base_url.rstrip("/")
    if problem := url_problem(base):
        return ComponentState(part, "broken", problem, f"change the address ({url_from})")
    try:
        host = _through_proxy(base)
    except UsageError as error:
        return ComponentState(part, "broken", str(error))
    sent = dict(headers or {})
    if key:
        sent = {"Authorization": f"Bearer {key}", **sent}
    path = urlsplit(f"{base}/models").path
    try:
        status, models, error_text = _list_models(base, sent)
    except httpx2.HTTPError as error:
        to_do = f"start the model server, or check the address ({url_from})"
        return ComponentState(part, "broken", f"{host} {unreachable(error)}", to_do)
    if status in (401, 403):
        sentence, to_do = f"{host} asks for a key ({status})", f"set {key_from}"
        if sent:
            sentence, to_do = f"{host} refuses the key ({status})", f"check {key_from}"
        return ComponentState(part, "broken", sentence, to_do)
    if status == 404:
        return _not_there(part, base, sent, path, url_from)
    if status >= 300:
        # LiteLLM's proxy answers 400 to a wrong key, and 500 to none.
        sentence = f"{host} answers {path} with {status}"
        if error_text:
            sentence += f": {shorten(hide_keys(error_text, key), 160)}"
        to_do = f"check the address ({url_from}) and the key ({key_from})"
        return ComponentState(part, "broken", sentence, to_do)
    if models is None:
        to_do = f"check the address ({url_from}): this may be another program than a model server"
        return ComponentState(
            part, "absent", f"{host} answers {path}, but not with a list of models", to_do
        )
    missing = [model for model in wanted if not _has(models, model)]
    if missing:
        to_do = "load a model there"
        if models:
            to_do = f"name a model that it serves ({model_from})"
        return ComponentState(
            part,
            "broken",
            f"{host} does not serve {', '.join(missing)}; it serves {_names(models)}",
            to_do,
        )
    return ComponentState(part, "works", f"{host} serves {', '.join(wanted) or _names(models)}")


def find_local_servers(ports: Sequence[int], in_use: str | None) -> ComponentState:
    """Return the model servers at these ports of this machine, with the lines that use the first.

    `in_use` is the address that the settings name.
    """
    serving: list[tuple[str, list[str]]] = []
    for port in ports:
        base = f"http://127.0.0.1:{port}/v1"
        with suppress(httpx2.HTTPError):
            models = _list_models(base, {})[1]
            if models is not None:
                serving.append((base, models))
    if not serving:
        names = {port: f"{port} ({usual})" for port, usual in USUAL_PORTS.items()}
        looked = ", ".join(names.get(port, str(port)) for port in ports)
        sentence = f"no model server at ports {looked}"
        if len(ports) == 1:
            sentence = f"no model server at port {looked}"
        return ComponentState(
            "local models",
            "absent",
            sentence,
            "`bioeval-tui docs local-models` says how to start one",
        )
    sentence = "; ".join(f"{base} serves {_names(models)}" for base, models in serving)
    used = next(((base, models) for base, models in serving if models), None)
    if used is None or (in_use is not None and in_use.rstrip("/") in {base for base, _ in serving}):
        return ComponentState("local models", "works", sentence)
    name = shlex.quote(clean_line(used[1][0], 100))
    lines = (
        f"export OPENAI_BASE_URL={used[0]} BIOEVAL_EVALUATOR_MODEL={name}"
        f" BIOEVAL_JUDGE_MODEL={name}"
    )
    return ComponentState("local models", "works", sentence, f"to use it: `{lines}`")


def _through_proxy(base: str) -> str:
    """Return the host of a model server, and the proxy that it is called through, if any.

    Raises:
        UsageError: the proxy cannot be used.
    """
    proxy = proxy_for(base)
    if proxy is None:
        return host_of(base)
    return f"{host_of(base)} (through the proxy {proxy_host(proxy)})"


def unreachable(error: Exception) -> str:
    """Return why a host did not answer, as a phrase that follows its name."""
    match error:
        case httpx2.TimeoutException() | TimeoutError():
            return f"does not answer within {PROBE_S:g} s"
        case httpx2.ConnectError():
            return "cannot be reached: nothing listens there, or the network is down"
    return f"does not answer as expected ({type(error).__name__})"


def _not_there(
    part: str, base: str, headers: Mapping[str, str], path: str, url_from: str
) -> ComponentState:
    """Return what a 404 means: a path that lacks `/v1`, or a server without a list."""
    host = _through_proxy(base)
    if not base.endswith("/v1"):
        with suppress(httpx2.HTTPError):
            if _list_models(f"{base}/v1", headers)[1] is not None:
                sentence = (
                    f"{host} has no {path} (404), but {path.removesuffix('/models')}/v1/models"
                )
                return ComponentState(
                    part, "broken", sentence, f"add /v1 to the address ({url_from})"
                )
    sentence = (
        f"{host} answers, but has no list of models at {path} (404), so it is unknown whether it"
        " serves the model"
    )
    return ComponentState(
        part, "absent", sentence, f"check the address, most end in /v1 ({url_from})"
    )


def _list_models(base: str, headers: Mapping[str, str]) -> tuple[int, list[str] | None, str]:
    """Return the status of a server's answer, the models in it, None if there is no list, and its
    error message.

    Raises:
        httpx2.HTTPError: it did not answer.
    """
    until = time.monotonic() + PROBE_S
    with _get(f"{base}/models", headers, proxy_for(base)) as answer:
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
        if isinstance(error, dict):
            return status, None, str(error.get("message") or "")
        return status, None, ""
    listed = data.get("data")
    if not isinstance(listed, list):
        return status, None, ""
    return status, [str(one["id"]) for one in listed if isinstance(one, dict) and one.get("id")], ""


def _get(
    url: str, headers: Mapping[str, str] | None = None, proxy: str | None = None
) -> AbstractContextManager[httpx2.Response]:
    """Return an answer whose body is not yet read."""
    # With `trust_env`, this machine would be asked through a proxy, and passwords read from
    # ~/.netrc.
    return httpx2.stream(
        "GET",
        url,
        headers=headers,
        timeout=PROBE_S,
        proxy=proxy,
        trust_env=False,
        verify=_tls_context(),
    )


@lru_cache
def _tls_context() -> ssl.SSLContext:
    """Return what all requests share, because creating one reads hundreds of certificates."""
    return httpx2.create_ssl_context()


def _has(models: Sequence[str], wanted: str) -> bool:
    """Return whether a list has a model: also as Ollama's `:latest`, or below LiteLLM's
    `openai/*`.
    """
    return any(
        wanted == model
        or f"{wanted}:latest" == model
        or (model.endswith("*") and wanted.startswith(model[:-1]))
        for model in models
    )


def _names(models: Sequence[str]) -> str:
    shown = ", ".join(clean_line(model, 60) for model in models[:_NAMED])
    if len(models) > _NAMED:
        return f"{shown} and {plural(len(models) - _NAMED, 'other')}"
    return shown or "none"


def examine(settings: Settings | None = None, *, online: bool = True) -> list[ComponentState]:
    """Return one finding for each part; without `online`, only for those that need no other host.

    A failing check is a finding, too.
    """
    settings = settings or Settings.from_environment()
    keyed = settings.openai_api_key is not None
    graph_is_set = settings.neo_uri_is_set or settings.neo_password is not None
    checks: list[tuple[str, Callable[[Settings], ComponentState], bool]] = [
        # Part, check, whether it asks another host.
        ("python", _python, False),
        ("installation", _installation, False),
        ("terminal", _terminal, False),
        ("data folder", _data_folder, False),
        ("embedded graph", _embedded_graph, False),
        ("agent", _environments_agent, True),
        ("openai endpoint", _openai, keyed or settings.openai_base_url is not None),
        *(
            (f"{role} endpoint", partial(_role, role=role, mine=mine), True)
            for role, mine in (("evaluator", settings.evaluator), ("judge", settings.judge))
            if mine.base_url or mine.api_key or mine.api_type
        ),
        ("local models", _local_models, True),
        ("neo4j", _neo4j, graph_is_set),
        ("grading", _grading, False),
        ("optional extras", _extras, False),
        ("plug-ins", _plugins, False),
    ]
    findings = []
    for part, check, asks in checks:
        if asks and not online:
            continue
        try:
            findings.append(check(settings))
        except (BioevalError, OSError, ImportError, ValueError) as error:
            findings.append(
                ComponentState(
                    part, "broken", clean_line(str(error)), "run again with --debug for the details"
                )
            )
    return masked(findings)


def _plugins(settings: Settings) -> ComponentState:
    """List the plug-ins of other packages from their metadata, without importing them."""

    def named(found: Callable[[plugins.Group], list[plugins.Plugin]]) -> str:
        return join_names(
            [
                f"{plugin.group.removesuffix('s')} {plugin.name} ({plugin.package})"
                for plugin in chain.from_iterable(map(found, plugins.GROUPS))
            ]
        )

    used = named(plugins.other_plugins)
    if refused := named(plugins.refused):
        why = f"not used, because their names are this program's, or no names: {refused}"
        return ComponentState("plug-ins", "broken", f"{used}; {why}" if used else why)
    return ComponentState("plug-ins", "works", used or "none installed")


def _python(settings: Settings) -> ComponentState:
    sentence = (
        f"{platform.python_version()} on {platform.system()} {platform.machine()}, bioeval-tui"
        f" {__version__}"
    )
    return ComponentState("python", "works", sentence)


def _installation(settings: Settings) -> ComponentState:
    """Name the installer of this environment, and required packages that are missing from it."""
    words = {
        "clone": f"a clone in {home_relative(installation.clone() or Path())}, run by uv",
        "uv tool": "a uv tool",
        "pipx": "by pipx",
        "conda": "in a conda environment",
        "uv": "by uv pip",
        "pip": "by pip",
    }
    sentence = f"{words[installation.kind()]}, in {home_relative(Path(sys.prefix))}"
    absent = installation.missing(installation.required())
    if absent:
        return ComponentState(
            "installation",
            "broken",
            f"{sentence}, without {', '.join(absent)}",
            f"`{installation.install_command(absent)}`",
        )
    return ComponentState("installation", "works", sentence)


def _terminal(settings: Settings) -> ComponentState:
    size = shutil.get_terminal_size()
    sentence = f"{size.columns}×{size.lines}, colours: {_colours()}"
    if not sys.stdout.isatty():
        return ComponentState(
            "terminal",
            "absent",
            "stdout is not a terminal",
            "use --headless, or run it in a terminal",
        )
    if size.columns < 80 or size.lines < 24:
        return ComponentState("terminal", "works", sentence, "80×24 or larger is comfortable")
    return ComponentState("terminal", "works", sentence)


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return "off (NO_COLOR)"
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million"
    if "256" in os.environ.get("TERM", ""):
        return "256"
    return "16"


def _data_folder(settings: Settings) -> ComponentState:
    shown = home_relative(settings.data_dir)
    try:
        folder = private_dir(settings.data_dir)
        with tempfile.NamedTemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        to_do = "make it writable, or set BIOEVAL_DATA_DIR to another folder"
        return ComponentState("data folder", "broken", f"{shown}: {error.strerror}", to_do)
    return ComponentState("data folder", "works", f"{shown}, {units.size(free, 'GB')} free")


def _embedded_graph(settings: Settings) -> ComponentState:
    why_not = available()
    if why_not is not None:
        to_do = "without it, Cypher assertions are not measured, unless you set NEO_URI to a Neo4j"
        return ComponentState("embedded graph", "broken", why_not, to_do)

    async def self_test(folder: str) -> int:
        graph = EmbeddedGraph(Path(folder) / "self-test.db")
        try:
            await graph.execute("CREATE (:Check {n: 41})")
            return int((await graph.query("MATCH (c:Check) RETURN c.n + 1")).rows[0][0])
        finally:
            await graph.aclose()

    with tempfile.TemporaryDirectory() as folder:
        answer = asyncio.run(self_test(folder))
    if answer != 42:
        return ComponentState(
            "embedded graph",
            "broken",
            f"the self-test returned {answer}, not 42",
            f"reinstall it: `{installation.install_command(['graphqlite', 'apsw'])}`",
        )
    return ComponentState("embedded graph", "works", "self-test passed")


def _environments_agent(settings: Settings) -> ComponentState:
    host = host_of(settings.agent_url, name="BIOEVAL_AGENT_URL")
    try:
        fetch_status(settings.agent_url)
    except httpx2.HTTPError as error:
        to_do = (
            "start your agent, or `bioeval-tui agent --port 8081`; set BIOEVAL_AGENT_URL to its URL"
        )
        return ComponentState("agent", "absent", f"{host} {unreachable(error)}", to_do)
    return ComponentState("agent", "works", f"{host} answers")


def fetch_status(url: str) -> int:
    """Return the status of an agent's answer without reading its body, which may be endless.

    Raises httpx2's errors.
    """
    with _get(url) as answer:  # directly, as agents are called in a run
        return answer.status_code


def _openai(settings: Settings) -> ComponentState:
    base = openai_url(settings)
    if settings.openai_api_key is None and not is_loopback(host_of(base)):
        to_do = (
            "set OPENAI_API_KEY (and OPENAI_BASE_URL for another server) to evaluate with models"
            + env_file_hint()
        )
        return ComponentState("openai endpoint", "absent", "OPENAI_API_KEY is not set", to_do)
    roles = {"evaluator": settings.evaluator, "judge": settings.judge}
    named = {role: mine for role, mine in roles.items() if mine.model and not mine.base_url}
    return _models("openai endpoint", base, settings.openai_api_key, "OPENAI", named)


def _role(settings: Settings, role: str, mine: RoleSettings) -> ComponentState:
    """Check the endpoint that the environment sets for one role."""
    name = f"{role} endpoint"
    if mine.api_type not in (None, "openai"):
        return ComponentState(
            name, "works", f"{mine.api_type}, checked when the first run needs it"
        )
    named = {role: mine} if mine.model else {}
    return _models(
        name, mine.base_url or openai_url(settings), mine.api_key, f"BIOEVAL_{role.upper()}", named
    )


def _models(
    name: str, url: str, key: Secret | None, variables: str, named: Mapping[str, RoleSettings]
) -> ComponentState:
    return model_finding(
        name,
        url,
        key.get_secret_value() if key else None,
        list(dict.fromkeys(str(mine.model) for mine in named.values())),
        url_from=f"{variables}_BASE_URL",
        key_from=f"{variables}_API_KEY",
        model_from=" and ".join(f"BIOEVAL_{role.upper()}_MODEL" for role in named),
    )


def _local_models(settings: Settings) -> ComponentState:
    return find_local_servers(settings.local_ports, settings.openai_base_url)


def _neo4j(settings: Settings) -> ComponentState:
    if not settings.neo_uri_is_set and settings.neo_password is None:
        to_do = "set NEO_URI and NEO_PASSWORD to use your agent's graph" + env_file_hint()
        return ComponentState("neo4j", "absent", "NEO_URI is not set", to_do)

    async def probe() -> None:
        graph = neo4j_graph(settings)
        try:
            await graph.query("RETURN 1", timeout_s=PROBE_S)
        finally:
            await graph.aclose()

    try:
        asyncio.run(probe())
    except BioevalError as error:
        return ComponentState(
            "neo4j",
            "broken",
            clean_line(str(error)),
            "check NEO_URI, NEO_USERNAME and NEO_PASSWORD",
        )
    return ComponentState("neo4j", "works", "answers a query")


def _grading(settings: Settings) -> ComponentState:
    entries = Grading(settings).registry().entries()
    broken = [entry for entry in entries if entry.problem is not None]
    sentence, to_do = plural(len(entries), "task"), ""
    if broken:
        sentence += f", {len(broken)} of them broken"
        to_do = "`bioeval-tui tasks list` names the broken ones"
    return ComponentState("grading", "works", sentence, to_do)


EXTRAS = {
    "distributed": ("runs and grading on a Dask cluster", ["distributed"]),
    "fhir": ("assertions on a FHIR server", ["fhirpathpy"]),
    "graders": ("packages that two published graders need", ["levenshtein", "pycocotools"]),
    "kaggle": ("tasks from Kaggle", ["kaggle"]),
}


def _extras(settings: Settings) -> ComponentState:
    absent = {
        name: gone
        for name, (_, packages) in EXTRAS.items()
        if (gone := installation.missing(packages))
    }
    present = [name for name in EXTRAS if name not in absent]
    wanted = [f"{name} ({EXTRAS[name][0]})" for name in absent]
    sentence = (
        f"installed: {', '.join(present) or 'none'}; not installed: {', '.join(wanted) or 'none'}"
    )
    commands = [f"`{installation.install_command(gone, name)}`" for name, gone in absent.items()]
    return ComponentState(
        "optional extras", "works" if present else "absent", sentence, " · ".join(commands)
    )


def connections(request: RunRequest, settings: Settings) -> list[ComponentState]:
    """Return a finding for the agent, for each model and for the FHIR server of the request's first
    run.
    """
    try:
        makers = first_makers(request, settings)
    except BioevalError as error:
        return masked([ComponentState("job", "broken", str(error))])
    models = (_model(makers, role) for role in _model_roles(makers))
    return masked([_agent(makers), *models, *_fhir(makers)])


def why_no_key(request: RunRequest, settings: Settings) -> str:
    """Return why the request's first run cannot be held, such as a missing key or script, in a
    sentence; empty if it can.

    Nobody is asked. What is wrong with the job itself is left to its check.
    """
    with suppress(BioevalError):
        try:
            makers = first_makers(request, settings)
            for role in _model_roles(makers):
                makers.endpoint(role)
            at, as_set = (
                host_of(OPENAI_URL),
                not (makers.spec.starts_agent or request.agent_url_is_given),
            )
            if (
                as_set
                and makers.agent_key() is None
                and makers.pays_agent
                and host_of(makers.agent_url) == at
            ):
                return f"OPENAI_API_KEY is not set, and the agent is a model of {at}"
        except UsageError as error:
            return masked(clean_line(str(error), 1000))
    return ""


def first_makers(request: RunRequest, settings: Settings) -> Makers:
    """Return what makes the parts of a request's first run. Raises `BioevalError`."""
    spec = spec_of(request, settings.runs_dir)
    loaded = check_job(request.jobs[0], code=tuple(map(Path, spec.code))).required()
    return Makers(
        apply_mode(loaded.job, spec), loaded.path.parent, spec, spec.runs[0].model, settings
    )


def _model_roles(makers: Makers) -> list[ModelRole]:
    """Return who of the evaluator and the judge is a model."""
    wanted: list[ModelRole] = []
    if makers.job.evaluator.kind == "llm":
        wanted.append("evaluator")
    if makers.judge_models():
        wanted.append("judge")
    return wanted


def _fhir(makers: Makers) -> Iterator[ComponentState]:
    """Yield a finding for the FHIR server, which is asked only what it can do, if the job names
    one.
    """
    spec, job = makers.spec, makers.job
    if job.fhir is None or (spec.starts_agent and job.fhir.url.startswith("/")):
        return

    async def probe() -> str:
        server = records.open_server(job, makers.agent_url, spec, makers.settings)
        assert server is not None
        try:
            await server.examine([])
        finally:
            await server.aclose()
        return server.identity

    try:
        yield ComponentState("fhir", "works", f"{asyncio.run(probe())} describes itself")
    except BioevalError as error:
        yield ComponentState("fhir", "broken", clean_line(str(error)))


def _agent(makers: Makers) -> ComponentState:
    if makers.spec.sample_agent:
        return ComponentState("agent", "works", "the sample agent is started with the run")
    if not makers.agent_url:
        return ComponentState("agent", "works", "a function in Python, which is called in the run")
    try:
        if makers.pays_agent:
            return _agents_model(makers)
        if not (begins := makers.begins):
            return _ask_url("agent", makers.agent_url)
        asyncio.run(_open_agent(makers))
    except BioevalError as error:
        return ComponentState("agent", "broken", clean_line(str(error)))
    except TimeoutError as error:
        return ComponentState(
            "agent", "broken", f"{host_of(makers.agent_url)} {unreachable(error)}"
        )
    return ComponentState("agent", "works", f"{host_of(makers.agent_url)} {begins}")


async def _open_agent(makers: Makers) -> None:
    agent = makers.agent(makers.job.held_in[0].name, 1)
    try:
        async with asyncio.timeout(PROBE_S):
            await agent.open()
    finally:
        await agent.aclose()


def _model(makers: Makers, role: ModelRole) -> ComponentState:
    try:
        where = makers.endpoint(role)
    except BioevalError as error:
        return ComponentState(role, "broken", clean_line(str(error)))
    if where.base_url is None or where.provider != "openai":
        return ComponentState(role, "works", f"{where.provider}, asked when the run needs it")
    variable = f"BIOEVAL_{role.upper()}"
    part = "scorer" if role == "judge" else role
    return model_finding(
        role,
        where.base_url,
        where.api_key,
        makers.judge_models() if role == "judge" else makers.evaluator_models(),
        url_from=f"{part}.url in the job, {variable}_BASE_URL or OPENAI_BASE_URL",
        key_from=f"{variable}_API_KEY, OPENAI_API_KEY, or {part}.apiKeyEnv in the job",
        model_from=f"{part}.model in the job, --{role}-model or {variable}_MODEL",
    )


def _agents_model(makers: Makers) -> ComponentState:
    if (provider := makers.settings.agent_api_type or "openai") != "openai":
        return ComponentState("agent", "works", f"{provider}, asked when the run needs it")
    return model_finding(
        "agent",
        chat_url(makers.agent_url),
        makers.agent_key(),
        [makers.model],
        headers=makers.agent_headers()[0],
        url_from="target.url in the job, --agent-url or BIOEVAL_AGENT_URL",
        key_from="BIOEVAL_AGENT_API_KEY, or target.apiKeyEnv in the job",
        model_from="target.model in the job, or --model",
    )


def _ask_url(name: str, url: str) -> ComponentState:
    """Return whether a URL is there; it may refuse GET."""
    host = host_of(url)
    try:
        status = fetch_status(url)
    except httpx2.HTTPError as error:
        return ComponentState(name, "broken", f"{host} {unreachable(error)}")
    if status == 404:
        return ComponentState(
            name, "absent", f"{host} answers, but not {urlsplit(url).path or '/'} ({status})"
        )
    return ComponentState(name, "works", f"{host} answers ({status})")
