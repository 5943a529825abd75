"""Agent protocols, and plug-ins from entry points: agents, evaluators, judges, graphs, formats of
files, metrics, jobs and rules about agents.

A package declares an entry point in the group `bioeval_tui.agents` (or another of `GROUPS`); its
name is what a job file uses. Listing reads the installed packages' metadata and imports nothing; a
plug-in's code runs only when a job names it. docs/plugins.md has a whole example. This program's
own plug-ins (`bundled`) are registered in the same way; only `PROTOCOLS`, without which it cannot
do, are no plug-ins. docs/agents.md has a table of all agent protocols that this package brings;
`tests/test_recipes.py` compares the two.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from itertools import chain
from pkgutil import resolve_name
from typing import Any, Literal, Protocol, TypeVar, get_args

from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.text import clean_line, join_names

Tells = Literal["pieces", "tool calls", "tool results", "tokens", "state"]
Takes = Literal["history", "texts"]
YES = "✓"
BY_URL = "by URL"
"""The agent's state is read from a URL in the job (`target.objectContextUrl`)."""


@dataclass(frozen=True, slots=True)
class AgentProtocol:
    """One protocol: a line of the table below, or the entry point of a plug-in.

    `maker` returns a new agent for a conversation and is called with `AgentTerms`; as
    `module:function` it is imported only then. `tells` is what such an agent can report, and how;
    `takes` is what it accepts before the greeting. `is_model`: the agent is a model's endpoint, so
    its tokens have a price; `is_function`: it runs in this process or its child and has no URL.
    `keeps_nothing`: every request has the whole conversation, so that nothing is left of one for
    the next. `uses` are the keys of `target` that only some protocols know, and that such an agent
    uses: it is given a key only with `apiKeyEnv`, and the job's headers only with `headers`; None
    says nothing of keys, and gives neither. `begins`: what an agent shows by an answer to `open`,
    for `check --connect`; empty if it is called only with the first message. `any_scheme`: its URL
    need not be http or https.
    """

    name: str
    about: str
    maker: str | Callable[[Any], Any]
    tells: Mapping[Tells, str]
    takes: tuple[Takes, ...] = ()
    is_model: bool = False
    is_function: bool = False
    keeps_nothing: bool = False
    uses: tuple[str, ...] | None = None
    begins: str = ""
    any_scheme: bool = False

    def __post_init__(self) -> None:
        """Raise `ValueError` for what only the first use of it would find."""
        if not isinstance(self.tells, Mapping) or not set(self.tells) <= {*get_args(Tells)}:
            raise ValueError(f"`tells` must have keys of {join_names(get_args(Tells))}")
        if not set(self.takes) <= {*get_args(Takes)}:
            raise ValueError(f"`takes` must have names of {join_names(get_args(Takes))}")

    def load(self) -> Callable[[Any], Any]:
        """Return the maker, imported if it is named."""
        made: Callable[[Any], Any] = (
            resolve_name(self.maker) if isinstance(self.maker, str) else self.maker
        )
        return made

    def has(self, key: str) -> bool:
        """Return whether the protocol states that it uses a key of `target`."""
        return self.uses is not None and key in self.uses


_AGENTS = "bioeval_tui.peers.agents."
PROTOCOLS: tuple[AgentProtocol, ...] = (
    AgentProtocol(
        "rest", "the embabel-agent-eval API", _AGENTS + "rest:RestAgent",
        tells={"pieces": YES, "tool calls": YES, "tool results": YES, "state": YES},
        takes=("texts",),
        uses=("model", "knowledgeUrl", "headers", "headersEnv", "streaming", "apiKeyEnv"),
        begins="opened a session",
    ),
    AgentProtocol(
        "openai", "chat completions or the Responses API", _AGENTS + "openai_chat:OpenAIChatAgent",
        tells={"pieces": YES, "tool calls": YES, "tool results": "of `target.tools`", "tokens": YES,
            "state": BY_URL},
        takes=("history",), is_model=True, keeps_nothing=True,
        uses=("model", "api", "objectContextUrl", "systemPrompt", "extraBody", "tools", "headers",
            "headersEnv", "streaming",
              "apiKeyEnv", "temperature", "topP", "maxTokens", "seed", "stop", "reasoningEffort"),
    ),
    AgentProtocol(
        "python", "a function in Python", _AGENTS + "python_function:PythonAgent",
        tells={"pieces": YES, "tool calls": YES, "tool results": YES, "tokens": YES, "state": YES},
        takes=("history",),
        is_function=True,
        uses=("model", "function", "python", "objectContextUrl", "options"),
    ),
)  # fmt: skip
"""Every protocol that is no plug-in, in the order of the documentation."""


Group = Literal[
    "agents", "evaluators", "judges", "graphs", "formats", "importers", "metrics", "jobs",
    "agent_rules",
]  # fmt: skip
GROUPS: tuple[Group, ...] = get_args(Group)
BUILT_IN: Mapping[Group, tuple[str, ...]] = {
    "agents": tuple(sorted(protocol.name for protocol in PROTOCOLS)),
    "evaluators": ("human", "llm", "scripted"),
    "judges": ("llm", "rules"),
    "graphs": ("embedded", "neo4j"),
    "formats": ("csv", "html", "json", "junit", "md", "openai-jsonl", "parquet"),
    "importers": ("bioeval-tui", "openai-jsonl", "transcripts"),
    "metrics": (),
    "jobs": (),
    "agent_rules": ("asks_again", "forgets", "refuses", "tested", "unsaid"),
}
"""Names that a plug-in cannot use, besides those of the bundled ones; grading looks among its own
metrics first.
"""
BUNDLED = "bioeval_tui.bundled."
"""Where this package's own plug-ins are.

Asking for a distribution's name would parse its metadata, at every start.
"""
MAX_NAME = 60
"""Maximum number of characters of a plug-in's name, which lists and sentences contain."""
Described = TypeVar("Described")


# What plug-ins take and return is in peers/seams.py and jobs/models.py, and is not imported here: a
# metric's plug-in should not wait for them. `wrap_plugin` there puts its name on what it raises.


class MakeAgent(Protocol):
    """The simple entry point in `bioeval_tui.agents`, called once for each conversation; the other
    one is an `AgentProtocol`.
    """

    def __call__(self, *, target: Any, url: str, model: str) -> Any: ...


MakeEvaluator = Callable[[Any], Any]
MakeJudge = Callable[[Any], Any]
MakeGraph = Callable[[str], Any]
"""Called with the value of `BIOEVAL_GRAPH_URI`; empty if it is not set."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plug-in, known from metadata alone. `package` is the distribution with its version."""

    group: Group
    name: str
    target: str
    package: str


def installed(group: Group) -> tuple[Plugin, ...]:
    """Return the plug-ins of a group by name, the bundled ones too, without importing any."""
    return tuple(_plugin(group, entry) for _, entry in sorted(_entries(group).items()))


def names(group: Group) -> list[str]:
    """Return the names that a job can use, without importing anything."""
    return sorted({*BUILT_IN[group], *_entries(group)})


def bundled(group: Group) -> list[str]:
    """Return the names of this package's own plug-ins of a group, without importing any."""
    return [name for name, entry in sorted(_entries(group).items()) if _is_bundled(entry)]


def other_plugins(group: Group) -> list[Plugin]:
    """Return other packages' plug-ins of a group, without importing any."""
    return [
        _plugin(group, entry)
        for _, entry in sorted(_entries(group).items())
        if not _is_bundled(entry)
    ]


def refused(group: Group) -> list[Plugin]:
    """Return other packages' plug-ins whose name is taken or no name, so that they are not used."""
    others = (one for one in _found(group, tuple(sys.path)) if not _is_bundled(one))
    return [
        _plugin(group, one) for one in others if is_own(group, one.name) or not _is_name(one.name)
    ]


def is_own(group: Group, name: str) -> bool:
    """Return whether this package brings what has this name, built in or bundled."""
    entry = _entries(group).get(name)
    return name in BUILT_IN[group] or (entry is not None and _is_bundled(entry))


def require(group: Group, name: str) -> None:
    """Raise `UsageError` with the known names unless there is a plug-in of that name.

    Imports nothing.
    """
    if name not in _entries(group):
        raise UsageError(no_such(group, name))


def load(group: Group, name: str) -> Any:
    """Import a plug-in and return the object of its entry point.

    Raises `UsageError` if the name is unknown (the message lists the known ones), or if it cannot
    be imported.
    """
    entry = _entries(group).get(name)
    if entry is None:
        raise UsageError(no_such(group, name))
    try:
        with redirect_stdout(sys.stderr):  # stdout is for data
            return entry.load()
    # Whatever a stranger's module does when imported, also if it is a script that ends.
    except (Exception, SystemExit) as problem:
        plugin = _plugin(group, entry)
        why = clean_line(f"{type(problem).__name__}: {problem}", 300)
        raise UsageError(
            f"the plug-in {plugin.name} of {plugin.package} cannot be loaded: {why}"
        ) from problem


def load_description(kind: type[Described], group: Group, name: str) -> Described:
    """Import a plug-in whose entry point is a description of that kind, and return it with the
    entry point's name.

    Raises:
        UsageError: there is no such plug-in, it cannot be imported, or it is something else.
    """
    plugin = load(group, name)
    if not isinstance(plugin, kind):
        shown = clean_line(type(plugin).__name__, 80)
        raise UsageError(
            f"the {group.removesuffix('s')} plug-in {clean_line(name, 100)} is no {kind.__name__},"
            f" but of the type {shown}"
        )
    return replace(plugin, name=name)  # type: ignore[type-var]


def sorted_descriptions(kind: type[Described], group: Group, own: Iterable[Any]) -> list[Described]:
    """Return what a table and the bundled plug-ins describe, by their `place`."""
    described = (*own, *(load_description(kind, group, name) for name in bundled(group)))
    return sorted(described, key=lambda one: int(one.place))


def find(kind: type[Described], group: Group, own: Iterable[Any], name: str) -> Described:
    """Return what is described with that name: in a table, or by a plug-in.

    Raises:
        UsageError: there is no such plug-in, or it cannot be used.
    """
    return next((one for one in own if one.name == name), None) or load_description(
        kind, group, name
    )


def call(group: Group, name: str, function: str | Callable[..., Any], *given: Any) -> Any:
    """Call a function of a plug-in with what is given, and return its result.

    The function is imported if it is named as `module:function`.

    Raises:
        UsageError: it failed, and is another package's.
    """
    with blamed(group, name):
        callee = resolve_name(function) if isinstance(function, str) else function
        return callee(*given)


def help_line(group: Group, own: Iterable[Any]) -> str:
    """Return a line for help: what each of this program's is, and the packages of the others."""
    others = (f"{one.name}: a plug-in of {one.package}" for one in other_plugins(group))
    return join_names([*(f"{one.name}: {one.about}" for one in own), *others], "; ")


def usable(kind: type[Described], group: Group) -> Iterator[Described]:
    """Yield the descriptions of other packages' plug-ins; who names one that cannot be used is told
    why.
    """
    for plugin in other_plugins(group):
        with suppress(UsageError):
            yield load_description(kind, group, plugin.name)


@contextmanager
def blamed(group: Group, name: str) -> Iterator[None]:
    """Turn an exception in another package's plug-in into one sentence that names it.

    An importer's `OSError` is let through: who asked for the import says which file cannot be read.

    Raises:
        UsageError: the plug-in failed.
    """
    try:
        yield
    except BioevalError:
        raise
    except (Exception, SystemExit) as problem:  # whatever a stranger's code does
        cannot_be_read = group == "importers" and isinstance(problem, OSError)
        if cannot_be_read or is_own(group, name):
            raise
        why = clean_line(f"{type(problem).__name__}: {problem}", 300)
        raise UsageError(
            f"the {group.removesuffix('s')} plug-in {clean_line(name, 100)} failed: {why}"
        ) from problem


def agent_protocol(name: str) -> AgentProtocol | None:
    """Return the agent protocol of that name; None if there is none. A plug-in is imported.

    A plug-in that is a callable with `target`, `url` and `model` becomes a protocol of which
    nothing is known.

    Raises:
        UsageError: the plug-in cannot be imported, or is neither.
    """
    built_in = next((protocol for protocol in PROTOCOLS if protocol.name == name), None)
    if built_in is not None or name not in _entries("agents"):
        return built_in
    plugin = load("agents", name)
    if isinstance(plugin, AgentProtocol):
        return replace(plugin, name=name)
    make: MakeAgent = _callable(name, plugin)
    return AgentProtocol(
        name,
        "a plug-in",
        lambda terms: make(target=terms.target, url=terms.url, model=terms.model),
        tells={},
        takes=("history", "texts"),
        any_scheme=True,
    )


def own_agent_protocols() -> tuple[AgentProtocol, ...]:
    """Return the protocols that this package brings; only they are imported."""
    loaded = map(agent_protocol, bundled("agents"))
    return (*PROTOCOLS, *(protocol for protocol in loaded if protocol is not None))


def _callable(name: str, plugin: Any) -> Any:
    if not callable(plugin):
        kind = clean_line(type(plugin).__name__, 80)
        raise UsageError(
            f"the agent plug-in {clean_line(name, 100)} is neither an AgentProtocol nor a callable,"
            f" but of the type {kind}"
        )
    return plugin


def _entries(group: Group) -> Mapping[str, EntryPoint]:
    return _named_entries(group, tuple(sys.path))


@lru_cache(maxsize=16)
def _named_entries(group: Group, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """Return the entry points by name: first those of this package, whose names nobody can take."""
    entries: dict[str, EntryPoint] = {}
    for entry in sorted(_found(group, path), key=_is_bundled, reverse=True):
        if entry.name not in BUILT_IN[group] and _is_name(entry.name):
            entries.setdefault(entry.name, entry)
    return entries


def _found(group: Group, path: tuple[str, ...]) -> EntryPoints:
    return _all_entries(path).select(group=f"bioeval_tui.{group}")


@lru_cache(maxsize=2)
def _all_entries(path: tuple[str, ...]) -> EntryPoints:
    """Return the entry points of all our groups: to find those of one, all metadata is read,
    too.
    """
    found = entry_points()  # before Python 3.12, groups; both can select
    ours = (found.select(group=f"bioeval_tui.{group}") for group in BUILT_IN)
    return EntryPoints(chain.from_iterable(ours))


def _is_bundled(entry: EntryPoint) -> bool:
    return entry.value.startswith(BUNDLED)


def _is_name(name: str) -> bool:
    return len(name) <= MAX_NAME and name.isprintable()


def _plugin(group: Group, entry: EntryPoint) -> Plugin:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    return Plugin(
        group,
        clean_line(entry.name, MAX_NAME),
        clean_line(entry.value, 200),
        clean_line(package, 100),
    )


def no_such(group: Group, name: str, kind: str = "") -> str:
    """Return that there is no plug-in of that name, and which there are. `kind` says what it is."""
    shown = clean_line(name, 100)
    known = names(group)
    kind = kind or group.removesuffix("s")
    if not known:
        return (
            f"there is no {kind} `{shown}`, and no plug-in of the group bioeval_tui.{group} is"
            " installed"
        )
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"there is no {kind} `{shown}`{hint}; known are: {join_names(known)}"
