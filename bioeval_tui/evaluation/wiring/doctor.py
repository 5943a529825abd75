"""Check every component that the program may need, within a few seconds, and whether the agent and the models
of a run answer."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from bioeval_tui import __version__, installation, plugins, units
from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation.engine.spec import RunRequest, spec_of
from bioeval_tui.evaluation.graphs.embedded import EmbeddedGraph, available
from bioeval_tui.evaluation.hosts import chat_url, host_of, is_loopback
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.endpoints import ModelRole, openai_url
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.model_servers import (
    PROBE_S,
    Finding as Finding,
    model_finding,
    on_this_machine,
    unreachable,
)
from bioeval_tui.evaluation.wiring.parts import with_mode
from bioeval_tui.grade.service import Grading
from bioeval_tui.record.masking.current import masked
from bioeval_tui.settings import RoleSettings, Secret, Settings, env_file_hint, private_dir
from bioeval_tui.text import clean_line, home_relative


def examine(settings: Settings | None = None, *, online: bool = True) -> list[Finding]:
    """Return one finding for each part; without `online`, only for those that need no other host.

    A failing check is a finding, too.
    """
    settings = settings or Settings.from_environment()
    keyed = settings.openai_api_key is not None
    graph_is_set = settings.neo_uri_is_set or settings.neo_password is not None
    checks: list[tuple[str, Callable[[Settings], Finding], bool]] = [
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
                Finding(part, "broken", clean_line(str(error)), "run again with --debug for the details")
            )
    return masked(findings)


def _plugins(settings: Settings) -> Finding:
    """List the plug-ins of other packages from their metadata, without importing them."""

    def named(found: Callable[[plugins.Group], list[plugins.Plugin]]) -> str:
        return ", ".join(
            f"{plugin.group.removesuffix('s')} {plugin.name} ({plugin.package})"
            for group in plugins.GROUPS
            for plugin in found(group)
        )

    if refused := named(plugins.refused):
        return Finding(
            "plug-ins", "broken", f"not used, because this program has one of that name: {refused}"
        )
    return Finding("plug-ins", "works", named(plugins.of_others) or "none installed")


def _python(settings: Settings) -> Finding:
    said = (
        f"{platform.python_version()} on {platform.system()} {platform.machine()}, bioeval-tui {__version__}"
    )
    return Finding("python", "works", said)


def _installation(settings: Settings) -> Finding:
    """Name the installer of this environment, and required packages that are missing from it."""
    words = {
        "clone": f"a clone in {home_relative(installation.clone() or Path())}, run by uv",
        "uv tool": "a uv tool",
        "pipx": "by pipx",
        "conda": "in a conda environment",
        "uv": "by uv pip",
        "pip": "by pip",
    }
    said = f"{words[installation.kind()]}, in {home_relative(Path(sys.prefix))}"
    absent = installation.missing(installation.required())
    if absent:
        return Finding(
            "installation",
            "broken",
            f"{said}, without {', '.join(absent)}",
            f"`{installation.install_command(absent)}`",
        )
    return Finding("installation", "works", said)


def _terminal(settings: Settings) -> Finding:
    size = shutil.get_terminal_size()
    said = f"{size.columns}×{size.lines}, colours: {_colours()}"
    if not sys.stdout.isatty():
        return Finding(
            "terminal", "absent", "stdout is not a terminal", "use --headless, or run it in a terminal"
        )
    if size.columns < 80 or size.lines < 24:
        return Finding("terminal", "works", said, "80×24 or larger is comfortable")
    return Finding("terminal", "works", said)


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return "off (NO_COLOR)"
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million"
    return "256" if "256" in os.environ.get("TERM", "") else "16"


def _data_folder(settings: Settings) -> Finding:
    shown = home_relative(settings.data_dir)
    try:
        folder = private_dir(settings.data_dir)
        with tempfile.NamedTemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        to_do = "make it writable, or set BIOEVAL_DATA_DIR to another folder"
        return Finding("data folder", "broken", f"{shown}: {error.strerror}", to_do)
    return Finding("data folder", "works", f"{shown}, {units.size(free, 'GB')} free")


def _embedded_graph(settings: Settings) -> Finding:
    why_not = available()
    if why_not is not None:
        to_do = "without it, Cypher assertions are not measured, unless you set NEO_URI to a Neo4j"
        return Finding("embedded graph", "broken", why_not, to_do)

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
        return Finding(
            "embedded graph",
            "broken",
            f"the self-test returned {answer}, not 42",
            f"reinstall it: `{installation.install_command(['graphqlite', 'apsw'])}`",
        )
    return Finding("embedded graph", "works", "self-test passed")


def _environments_agent(settings: Settings) -> Finding:
    host = host_of(settings.agent_url)
    try:
        status_of(settings.agent_url)
    except httpx2.HTTPError as error:
        to_do = "start your agent, or `bioeval-tui agent --port 8081`; set BIOEVAL_AGENT_URL to its URL"
        return Finding("agent", "absent", f"{host} {unreachable(error)}", to_do)
    return Finding("agent", "works", f"{host} answers")


def status_of(url: str, headers: Mapping[str, str] | None = None) -> int:
    """Return the status of a response without reading its body, which may be endless. Raises httpx2's errors."""
    with httpx2.stream("GET", url, headers=headers, timeout=PROBE_S) as answer:
        return answer.status_code


def _openai(settings: Settings) -> Finding:
    base = openai_url(settings)
    if settings.openai_api_key is None and not is_loopback(host_of(base)):
        to_do = (
            "set OPENAI_API_KEY (and OPENAI_BASE_URL for another server) to evaluate with models"
            + env_file_hint()
        )
        return Finding("openai endpoint", "absent", "OPENAI_API_KEY is not set", to_do)
    roles = {"evaluator": settings.evaluator, "judge": settings.judge}
    named = {role: mine for role, mine in roles.items() if mine.model and not mine.base_url}
    return _models("openai endpoint", base, settings.openai_api_key, "OPENAI", named)


def _role(settings: Settings, role: str, mine: RoleSettings) -> Finding:
    """Check the endpoint that the environment sets for one role."""
    name = f"{role} endpoint"
    if mine.api_type not in (None, "openai"):
        return Finding(name, "works", f"{mine.api_type}, checked when the first run needs it")
    named = {role: mine} if mine.model else {}
    return _models(
        name, mine.base_url or openai_url(settings), mine.api_key, f"BIOEVAL_{role.upper()}", named
    )


def _models(
    name: str, url: str, key: Secret | None, variables: str, named: Mapping[str, RoleSettings]
) -> Finding:
    return model_finding(
        name,
        url,
        key.get_secret_value() if key else None,
        list(dict.fromkeys(str(mine.model) for mine in named.values())),
        url_from=f"{variables}_BASE_URL",
        key_from=f"{variables}_API_KEY",
        model_from=" and ".join(f"BIOEVAL_{role.upper()}_MODEL" for role in named),
    )


def _local_models(settings: Settings) -> Finding:
    return on_this_machine(settings.local_ports, settings.openai_base_url)


def _neo4j(settings: Settings) -> Finding:
    if not settings.neo_uri_is_set and settings.neo_password is None:
        to_do = "set NEO_URI and NEO_PASSWORD to use your agent's graph" + env_file_hint()
        return Finding("neo4j", "absent", "NEO_URI is not set", to_do)
    from bioeval_tui.evaluation.graphs.neo4j import Neo4jGraph  # its driver loads slowly

    async def probe() -> None:
        password = settings.neo_password.get_secret_value() if settings.neo_password else ""
        graph = Neo4jGraph(settings.neo_uri, settings.neo_username, password)
        try:
            await graph.query("RETURN 1", timeout_s=PROBE_S)
        finally:
            await graph.aclose()

    try:
        asyncio.run(probe())
    except BioevalError as error:
        return Finding(
            "neo4j", "broken", clean_line(str(error)), "check NEO_URI, NEO_USERNAME and NEO_PASSWORD"
        )
    return Finding("neo4j", "works", "answers a query")


def _grading(settings: Settings) -> Finding:
    entries = Grading(settings).registry().entries()
    broken = [entry for entry in entries if entry.problem is not None]
    said = f"{len(entries)} tasks" + (f", {len(broken)} of them broken" if broken else "")
    return Finding(
        "grading", "works", said, "`bioeval-tui tasks list` names the broken ones" if broken else ""
    )


EXTRAS = {
    "distributed": ("grading on a Dask cluster", ["distributed"]),
    "graders": ("packages that two published graders need", ["levenshtein", "pycocotools"]),
    "kaggle": ("tasks from Kaggle", ["kaggle"]),
}


def _extras(settings: Settings) -> Finding:
    absent = {
        name: gone for name, (_, packages) in EXTRAS.items() if (gone := installation.missing(packages))
    }
    present = [name for name in EXTRAS if name not in absent]
    wanted = [f"{name} ({EXTRAS[name][0]})" for name in absent]
    said = f"installed: {', '.join(present) or 'none'}; not installed: {', '.join(wanted) or 'none'}"
    commands = [f"`{installation.install_command(gone, name)}`" for name, gone in absent.items()]
    return Finding("optional extras", "works" if present else "absent", said, " · ".join(commands))


def connections(request: RunRequest, settings: Settings) -> list[Finding]:
    """Return a finding for the agent and for each model of the request's first run."""
    spec = spec_of(request, settings.runs_dir)
    try:
        loaded = check_job(request.jobs[0], code=tuple(map(Path, spec.code))).required()
        job = with_mode(loaded.job, spec)
    except BioevalError as error:
        return masked([Finding("job", "broken", str(error))])
    makers = Makers(job, loaded.path.parent, spec, spec.runs[0].model, settings)
    wanted: list[ModelRole] = ["evaluator"] if job.evaluator.kind == "llm" else []
    wanted += ["judge"] if makers.judge_models() else []
    return masked([_agent(makers), *(_model(makers, role) for role in wanted)])


def _agent(makers: Makers) -> Finding:
    if makers.spec.sample_agent:
        return Finding("agent", "works", "the sample agent is started with the run")
    if not makers.agent_url:
        return Finding("agent", "works", "a function in Python, which is called in the run")
    try:
        if makers.pays_agent:
            return _agents_model(makers)
        if not (begins := makers.begins):
            return _asked("agent", makers.agent_url)
        asyncio.run(_opened(makers))
    except BioevalError as error:
        return Finding("agent", "broken", clean_line(str(error)))
    except TimeoutError as error:
        return Finding("agent", "broken", f"{host_of(makers.agent_url)} {unreachable(error)}")
    return Finding("agent", "works", f"{host_of(makers.agent_url)} {begins}")


async def _opened(makers: Makers) -> None:
    agent = makers.agent("withheld", 1)
    try:
        async with asyncio.timeout(PROBE_S):
            await agent.open()
    finally:
        await agent.aclose()


def _model(makers: Makers, role: ModelRole) -> Finding:
    try:
        where = makers.endpoint(role)
    except BioevalError as error:
        return Finding(role, "broken", clean_line(str(error)))
    if where.base_url is None or where.provider != "openai":
        return Finding(role, "works", f"{where.provider}, asked when the run needs it")
    variable = f"BIOEVAL_{role.upper()}"
    part = "scorer" if role == "judge" else role
    return model_finding(
        role,
        where.base_url,
        where.api_key,
        makers.judge_models() if role == "judge" else [makers.evaluator_model()],
        url_from=f"{part}.url in the job, {variable}_BASE_URL or OPENAI_BASE_URL",
        key_from=f"{variable}_API_KEY, OPENAI_API_KEY, or {part}.apiKeyEnv in the job",
        model_from=f"{part}.model in the job, --{role}-model or {variable}_MODEL",
    )


def _agents_model(makers: Makers) -> Finding:
    if (provider := makers.settings.agent_api_type or "openai") != "openai":
        return Finding("agent", "works", f"{provider}, asked when the run needs it")
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


def _asked(name: str, url: str) -> Finding:
    """Return whether a URL is there; it may refuse GET."""
    host = host_of(url)
    try:
        status = status_of(url)
    except httpx2.HTTPError as error:
        return Finding(name, "broken", f"{host} {unreachable(error)}")
    if status == 404:
        return Finding(name, "absent", f"{host} answers, but not {urlsplit(url).path or '/'} ({status})")
    return Finding(name, "works", f"{host} answers ({status})")
