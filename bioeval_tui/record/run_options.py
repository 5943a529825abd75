"""The options of a run: one class, whose fields the command line, Python programs, recordings and
screens read.

To add an option is to add a field here, with the words of its help, and to use it where it counts.
What a field does not say, its type does: a number with bounds, one of several words, or several
texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from bioeval_tui.record.condition_names import IS_ORDER, Condition

Mode = Literal["job", "rehearsal", "llm"]
Exam = Literal["job", "gate", "off"]
MOST_TRIALS = 10_000
MOST_AT_ONCE = 1_000
MOST_CASES = 10_000
OTLP_PORT = 4318
"""Where exporters of OTLP over HTTP send spans by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What is to be said of an option besides its type and default."""

    help: str
    """What it does, as the command line and the documentation say it; in brackets, what counts
    without it.
    """
    flag: str = ""
    """Its flag of `run`, such as `--max-calls`; empty if the command line has none."""
    group: str = ""
    """The heading below which `run --help` lists it."""
    metavar: str | None = None
    flag_value: Any = None
    """What the flag means without a value."""
    least: int | None = None
    most: int | None = None
    above: float | None = None
    """The bounds of a number: from `least` or above `above`, to `most`."""
    pattern: str | None = None
    """The regular expression of a text."""
    form: str = ""
    """What a text must be to match it, in words."""
    path: Literal["file", "folder"] | None = None
    """Whether it names existing files or folders, which are made absolute."""
    recorded: bool = False
    """Whether the recording has it."""
    resumed: bool = True
    """Whether resuming a run uses what was recorded, and not what is given then."""
    on_screen: bool = False
    """Whether the dialog that starts a run asks for it, so that the command line's value does not
    count there.
    """
    python: bool = True
    """Whether `evaluate` takes it."""


_AGENT, _MODELS, _TALKS, _GRAPH, _LIMITS = (
    "Agent", "User and judge", "Conversations", "Graph and medals", "Limits",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run. None means the value of the job or of the environment."""

    agent_url: Annotated[
        str | None,
        Option(
            help="The agent's URL [BIOEVAL_AGENT_URL, http://localhost:8081].",
            flag="--agent-url", group=_AGENT, recorded=True, on_screen=True, python=False,
        ),
    ] = None  # fmt: skip
    agent_url_is_given: bool = False
    """Whether the user passed the agent's URL, so that it does not come from a job or recording."""
    agent_function: Callable[..., Any] | None = None
    """The agent that a Python program passed, in place of the job's own; it is never written to a
    file.
    """
    sample_agent: Annotated[
        bool,
        Option(
            help="Start the sample agent for these runs, and stop it at their end.",
            recorded=True, on_screen=True, python=False,
        ),
    ] = False  # fmt: skip
    local_model: Annotated[
        bool,
        Option(
            help="Start a small language model as the agent for these runs, and stop it at their"
                 " end.",
            recorded=True, on_screen=True, python=False,
        ),
    ] = False  # fmt: skip
    allow_hosts: Annotated[
        tuple[str, ...],
        Option(
            help="Allow a job to send transcripts and the job's key to this host. Repeatable.",
            flag="--allow-host", group=_AGENT, metavar="HOST",
        ),
    ] = ()  # fmt: skip
    code: Annotated[
        tuple[str, ...],
        Option(
            help="Allow loading the job's Python functions from this folder. Repeatable.",
            flag="--code", group=_AGENT, metavar="DIR", path="folder",
        ),
    ] = ()  # fmt: skip
    otlp: Annotated[
        int | None,
        Option(
            help=f"Receive the agent's OpenTelemetry spans on this port of 127.0.0.1"
                 f" [{OTLP_PORT}]; 0 chooses a free port.",
            flag="--otlp", group=_AGENT, metavar="[PORT]", flag_value=OTLP_PORT, least=0,
            most=65_535,
            recorded=True, on_screen=True,
        ),
    ] = None  # fmt: skip
    mode: Annotated[
        Mode,
        Option(
            help="Use the scripted evaluator and the rules judge instead of models.",
            flag="--rehearsal", group=_MODELS, flag_value="rehearsal",
            recorded=True, resumed=False, on_screen=True, python=False,
        ),
    ] = "job"  # fmt: skip
    """The evaluator and judge: the job's own, the script and rules, or models."""
    evaluator_model: Annotated[
        tuple[str, ...],
        Option(
            help="The evaluator's model, which plays the user; human: you play it"
                 " [BIOEVAL_EVALUATOR_MODEL]. Repeat for several users: each trial is held with"
                 " each.",
            flag="--evaluator-model", group=_MODELS, recorded=True, on_screen=True,
        ),
    ] = ()  # fmt: skip
    judge_model: Annotated[
        tuple[str, ...],
        Option(
            help="The judge's model [BIOEVAL_JUDGE_MODEL]. Repeat for a panel.",
            flag="--judge-model", group=_MODELS, recorded=True, on_screen=True,
        ),
    ] = ()  # fmt: skip
    exam: Annotated[
        Exam,
        Option(
            help="Do not examine the judge. With --fail-under or --min-pass-k, a model as judge is"
                 " first asked about three conversations that deserve nothing, unless the job says"
                 " `scorer.exam`.",
            flag="--no-exam", group=_MODELS, flag_value="off", recorded=True,
        ),
    ] = "job"  # fmt: skip
    """Whether the judge is examined: as the job says, also if it does not say (`gate`), or not at
    all (`off`).
    """
    trials: Annotated[
        int,
        Option(
            help="Number of trials of each condition.",
            flag="--repeat", group=_TALKS, least=1, most=MOST_TRIALS, on_screen=True,
        ),
    ] = 1  # fmt: skip
    until_decided: Annotated[
        str | None,
        Option(
            help="What ends the run before its last trial, once it is decided.",
            recorded=True, resumed=False, on_screen=True, python=False,
        ),
    ] = None  # fmt: skip
    """`difference` (of two models), or a threshold such as `supplied:0.8`.

    `trials` is then the maximum.
    """
    conditions: Annotated[
        tuple[Condition, ...] | None,
        Option(
            help="Run only this condition, such as supplied; repeatable. A run of one has no mean"
                 " and no difference.",
            metavar="NAME", flag="--condition", group=_TALKS, on_screen=True,
        ),
    ] = None  # fmt: skip
    """The names of some of the job's conditions; None for all."""
    control: Annotated[
        bool,
        Option(
            help="Also run the condition placebo: a user without facts that tells as much, and"
                 " nothing to the point. It shows what of a difference is the longer talk's.",
            flag="--control", group=_TALKS, recorded=True,
        ),
    ] = False  # fmt: skip
    """Whether the job's `controls` counts as true."""
    order: Annotated[
        str | None,
        Option(
            help="Which condition comes first: its name with -first, or random.", pattern=IS_ORDER,
            form="random, or a condition's name with -first, such as supplied-first",
            recorded=True, on_screen=True,
        ),
    ] = None  # fmt: skip
    """`random`, or a condition's name with `-first`, such as `supplied-first`."""
    parallel: Annotated[
        bool,
        Option(
            help="Run both conditions at the same time; conversations must not affect each other.",
            recorded=True, on_screen=True,
        ),
    ] = False  # fmt: skip
    cases: Annotated[
        str | None,
        Option(
            help="Use only these cases of the job, by row or id: 1-20,case_7; sample:50 draws so"
                 " many of them at random.",
            flag="--cases", group=_TALKS, metavar="ROWS", recorded=True, resumed=False,
            on_screen=True,
        ),
    ] = None  # fmt: skip
    sample: Annotated[
        int | None,
        Option(
            help="The size of a random sample of cases, drawn with the seed.",
            least=1,
            recorded=True,
            resumed=False,
            on_screen=True,
        ),
    ] = None
    cases_file: Annotated[
        str | None,
        Option(
            help="A table of cases (CSV, JSON, JSONL, Parquet), instead of the job's.",
            flag="--cases-file", group=_TALKS, path="file", recorded=True, resumed=False,
        ),
    ] = None  # fmt: skip
    seed: Annotated[int | None, Option(help="The random seed [the job's].")] = None
    graph: Annotated[
        str,
        Option(
            help="The graph for setups and Cypher assertions: auto, embedded, neo4j, none, or a"
                 " plug-in.",
            flag="--graph", group=_GRAPH, metavar="NAME", recorded=True,
        ),
    ] = "auto"  # fmt: skip
    unrestricted_setups: Annotated[
        bool,
        Option(
            help="Pass the job's setups to Neo4j unchanged, including schema changes, procedures,"
                 " LOAD CSV, several statements.",
            flag="--unrestricted-setups", group=_GRAPH, recorded=True, resumed=False,
        ),
    ] = False  # fmt: skip
    submissions: Annotated[
        tuple[str, ...],
        Option(
            help="Allow medal assertions to read files in this folder, too. Repeatable.",
            flag="--submissions", group=_GRAPH, path="folder", recorded=True,
        ),
    ] = ()  # fmt: skip
    leaderboard: Annotated[
        str | None,
        Option(
            help="The leaderboard for medal assertions; see `bioeval-tui grade --help`.",
            flag="--leaderboard", group=_GRAPH, metavar="own|published|FILE", recorded=True,
        ),
    ] = None  # fmt: skip
    max_calls: Annotated[
        int | None,
        Option(
            help="Stop after this many calls: messages to the agent and requests to models, each"
                 " time that one is sent.",
            flag="--max-calls", group=_LIMITS, least=1,
        ),
    ] = None  # fmt: skip
    max_cost: Annotated[
        float | None,
        Option(help="Stop after this many dollars.", flag="--max-cost", group=_LIMITS, above=0),
    ] = None
    concurrency: Annotated[
        int | None,
        Option(
            help="Maximum number of concurrent conversations [1].",
            flag="--concurrency", group=_LIMITS, least=1, most=MOST_AT_ONCE, recorded=True,
            on_screen=True,
        ),
    ] = None  # fmt: skip
    """None is one, or both conditions of a trial if `parallel`."""
    scheduler: Annotated[
        str | None,
        Option(
            help="Hold the conversations on the workers of a Dask cluster, such as"
                 " tcp://host:8786; headless.",
            flag="--scheduler", group=_LIMITS, metavar="URL",
        ),
    ] = None  # fmt: skip
    requests_per_minute: Annotated[
        float | None,
        Option(
            help="Maximum number of requests per minute to the agent; the same again to all models"
                 " together.",
            above=0, most=10**9, recorded=True,
        ),
    ] = None  # fmt: skip
    keep_prompts: Annotated[
        bool, Option(help="Whether prompts and retrieved contexts are recorded.", recorded=True)
    ] = True
    typing_delay_s: float = 0.0
    """Pause of a scripted evaluator after every few words, in seconds, so that a viewer can read
    along.
    """

    @property
    def starts_agent(self) -> bool:
        """Whether the run itself starts its agent, so that there is no URL, key or other host."""
        return self.sample_agent or self.local_model

    def values(self, wanted: Callable[[Option], bool] | None = None) -> dict[str, Any]:
        """Return the values by name: all of them, or those whose option is wanted."""
        names = [field.name for field in fields(RunOptions)]
        if wanted is not None:
            names = [kind.name for kind in kinds() if wanted(kind.option)]
        return {name: getattr(self, name) for name in names}

    def recorded(self) -> dict[str, Any]:
        """Return the options stored in a recording; `recorded_options` reads them back."""
        return self.values(lambda option: option.recorded)


class Kind(NamedTuple):
    """An option as the readers of the class see it."""

    name: str
    option: Option
    type: Any
    """What the annotation says, without `Option` and None: a type, `Literal`, or `tuple[…, ...]`.
    """
    default: Any

    @property
    def is_several(self) -> bool:
        """Whether there may be several values."""
        return get_origin(self.type) is tuple


def wanted_words(kind: Kind) -> str:
    """Return what a value of an option is, in words that follow "must be"."""
    if kind.option.form:
        return kind.option.form
    text = "a text"
    if kind.option.path is not None:
        text = f"the path of a {kind.option.path}"
    if kind.is_several:
        return f"{text}, or a list of several"
    if get_origin(kind.type) is Literal:
        *others, last = map(repr, get_args(kind.type))
        return f"{', '.join(others)} or {last}"
    if kind.type is bool:
        return "True or False"
    if kind.type is str:
        return text
    if kind.type is int:
        return f"a whole number{_range(kind)}"
    return f"a number{_range(kind)}"


def _range(kind: Kind) -> str:
    """Return the bounds of a number, in words that follow it."""
    option = kind.option
    if option.above is not None and option.most is not None:
        return f" above {option.above:g} and at most {option.most:,}"
    if option.above is not None:
        return f" above {option.above:g}"
    if option.least is not None and option.most is not None:
        return f" from {option.least:,} to {option.most:,}"
    if option.least is not None:
        return f" of at least {option.least:,}"
    return ""


@cache
def kinds() -> tuple[Kind, ...]:
    """Return what every field with an `Option` is, in their order."""
    hints = get_type_hints(RunOptions, include_extras=True)
    return tuple(_kinds(hints))


def _kinds(hints: Mapping[str, Any]) -> Iterator[Kind]:
    for field in fields(RunOptions):
        kind, *about = (
            get_args(hints[field.name]) if get_origin(hints[field.name]) is Annotated else (None,)
        )
        option = next((one for one in about if isinstance(one, Option)), None)
        if option is None:
            continue
        if get_origin(kind) in (Union, UnionType):
            (kind,) = (one for one in get_args(kind) if one is not type(None))
        yield Kind(field.name, option, kind, field.default)


def recorded_options(recorded: Mapping[str, Any]) -> RunOptions:
    """Return a run's options from its recording; unknown ones have their defaults."""
    known: dict[str, Any] = {}
    for kind in kinds():
        value = recorded.get(kind.name)
        if kind.option.recorded and kind.option.resumed and value is not None:
            known[kind.name] = tupled(value) if kind.is_several else value
    return RunOptions(**known)


_REPEATED = (
    "agent_url", "otlp", "mode", "evaluator_model", "judge_model", "exam",
    "trials", "conditions", "control", "cases", "cases_file",
    "graph", "leaderboard", "concurrency",
)  # fmt: skip
"""The options that say who talks, about what and how often, judges and keeps the state: without
them it is another run. What allows a job more than others is not among them, nor what stops a run:
whoever runs it again says so himself.
"""


def flags_to_repeat(asked: Mapping[str, Any]) -> list[str]:
    """Return the flags with which `run` does again what these options say, such as those of a
    recording.
    """
    flags: list[str] = []
    for kind in kinds():
        value, flag_value = asked.get(kind.name), kind.option.flag_value
        if kind.name not in _REPEATED or value in (None, "", kind.default, (), []):
            continue
        if kind.type is bool or (flag_value is not None and kind.type is not int):
            flags += [kind.option.flag] if value in (True, flag_value) else []
            continue
        values = value if isinstance(value, list | tuple) else [value]
        for one in values:
            flags += [kind.option.flag, str(one)]
    return flags


SAMPLE = "sample:"
"""Before the size of a random sample, among the rows that are chosen."""


def sample_of(size: int) -> str:
    """Return how `--cases` asks for a random sample of this size."""
    return f"{SAMPLE}{size}"


def tupled(value: Any) -> Any:
    """Return one value, or a list of them, as a tuple."""
    if isinstance(value, str | Path):
        return (value,)
    return tuple(value)


def held_value(kind: Kind, value: Any) -> Any:
    """Return a given value as `RunOptions` holds it: several as a tuple, a path as its text, of
    files and folders absolute.

    What is no text, path or sequence is returned as it is, for whoever checks the type.
    """
    if kind.is_several and isinstance(value, str | Path | Sequence):
        return tuple(_text(kind, one) for one in tupled(value))
    return _text(kind, value)


def _text(kind: Kind, value: Any) -> Any:
    if not isinstance(value, str | Path):
        return value
    if kind.option.path is not None:
        return str(Path(value).absolute())
    if isinstance(value, Path):
        return str(value)
    return value
