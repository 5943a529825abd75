"""Evaluate from Python: `from bioeval_tui import evaluate, evaluate_async, load_run` (docs/python.md).

The engine, the recording and the results are those of the command line: runs appear in `runs list`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, Unpack

from click import ClickException
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic takes typing's own from Python 3.12 on

from bioeval_tui.cli.headless import open_progress
from bioeval_tui.cli.options import request_of
from bioeval_tui.cli.run import run as command
from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.engine.processes import fair_loop
from bioeval_tui.evaluation.engine.spec import Order, RunRequest, spec_of
from bioeval_tui.evaluation.prices import FILE_NAME, load_prices
from bioeval_tui.evaluation.wiring.start import hosts_of, prepare_batch, run_followed, run_prepared
from bioeval_tui.record.catalogue import find_recording
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.record.paths import recording_path
from bioeval_tui.report import result
from bioeval_tui.report.formats.json_report import json_report
from bioeval_tui.report.results import Results as Results
from bioeval_tui.sample.paths import find_job
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line

Job = str | Path
Agent = str | Callable[..., Any]
"""The agent's URL, or the agent itself: a function that is called with each of the user's messages."""

LOOK_S = 0.2
"""Interval of checks whether a run has ended, because an endless wait ignores Ctrl-C on Windows."""

T = TypeVar("T")


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str | Path) else value


def _in_order(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    return tuple(name for name in CONDITIONS if name in conditions)


def _absolute(folders: Sequence[str | Path]) -> tuple[str, ...]:
    return tuple(str(Path(folder).absolute()) for folder in folders)


Number = Annotated[int, Field(ge=1)]
Names = Annotated[Sequence[str], BeforeValidator(_several), AfterValidator(tuple)]
Folders = Annotated[Sequence[str | Path] | str | Path, BeforeValidator(_several), AfterValidator(_absolute)]


class EvaluateOptions(TypedDict, total=False):
    """The options of `bioeval-tui run`. Without a value, the job's own or the default applies."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    models: Names
    """The agent's models: a run with each."""
    trials: Annotated[int, Field(ge=1, le=10_000)]
    """Number of trials of each condition (`--repeat`), for each of the job's cases."""
    cases: str
    """Use only these cases of the job, by row and id: `1-20,case_7`."""
    sample: Number
    """Size of a random sample of the job's cases."""
    cases_file: Annotated[str | Path, AfterValidator(lambda file: str(Path(file).absolute()))]
    """A table of cases (CSV, JSONL, Parquet), instead of the job's own."""
    conditions: Annotated[
        Annotated[Sequence[Condition], Field(min_length=1)] | Condition,
        BeforeValidator(_several),
        AfterValidator(_in_order),
    ]
    """`withheld`, `supplied`, or both."""
    rehearsal: bool
    """Scripted evaluator and rules judge instead of models."""
    evaluator_model: str
    """The evaluator's model, which plays the user."""
    judge_model: Names
    """The judge's model; several are a panel."""
    concurrency: Number
    """Maximum number of concurrent conversations."""
    parallel: bool
    """Run both conditions at the same time; conversations must not affect each other."""
    order: Order
    """Which condition comes first."""
    seed: int
    """Random seed."""
    graph: str
    """`auto`, `embedded`, `neo4j`, `none`, or a plug-in."""
    unrestricted_setups: bool
    """Pass the job's setups to Neo4j unchanged."""
    max_calls: Number
    """Start no more conversations after this many calls."""
    max_cost: Annotated[float, Field(gt=0)]
    """Start no more conversations after this many dollars."""
    requests_per_minute: Annotated[float, Field(gt=0)]
    """Maximum number of requests per minute to the agent, and to the models."""
    otlp: Annotated[int, Field(ge=0, le=65_535)]
    """The port of 127.0.0.1 on which the agent's OpenTelemetry spans are received; 0 chooses a free one."""
    allow_hosts: Names
    """Hosts to which the job's keys and transcripts may be sent."""
    code: Folders
    """Folders from which the job's Python functions may be loaded."""
    submissions: Folders
    """Folders in which medal assertions may look for files."""
    leaderboard: str
    """The leaderboard of medal assertions: `own`, `published` or a file."""
    keep_prompts: bool
    """Whether prompts and retrieved contexts are recorded."""


OPTIONS = TypeAdapter(EvaluateOptions)


def evaluate(
    job: Job | Sequence[Job],
    *,
    agent: Agent | None = None,
    progress: bool = True,
    **options: Unpack[EvaluateOptions],
) -> Results:
    """Run a job's conversations with an agent, with facts withheld and supplied, and return the results.

    Works in scripts, and in notebooks, where an event loop is running: the conversations have their own thread and
    loop. In a program with its own event loop, call `evaluate_async`. Ctrl-C cancels the run and keeps the recording.

    Args:
        job: a YAML file, or the name of a sample; or several.
        agent: the agent's URL, or the agent itself: a function, async or not, that takes the user's message and
            returns or yields the answer. A second parameter `conversation` gives access to more (docs/agents.md). None is the
            job's own agent.
        progress: show progress: in place in a notebook, otherwise one line for each conversation on stderr.
        options: see `EvaluateOptions`.

    Raises:
        BioevalError: the job, the agent or an option is wrong; raised before anything is sent. Failures while
            conversations run don't raise: they are in `Results.not_measured`.
    """
    request = _request(job, agent, options)
    return _in_a_thread(lambda stop: _evaluate(request, stop, progress=progress))


async def evaluate_async(
    job: Job | Sequence[Job],
    *,
    agent: Agent | None = None,
    progress: bool = True,
    **options: Unpack[EvaluateOptions],
) -> Results:
    """Like `evaluate`, but in the running event loop, which an async agent then shares. Cancelling the task cancels the run.

    Raises:
        BioevalError: as `evaluate`.
        asyncio.CancelledError: the task was cancelled; the recording is complete up to there.
    """
    stop = asyncio.Event()
    running = asyncio.ensure_future(_evaluate(_request(job, agent, options), stop, progress=progress))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({running})
        raise


def load_run(run: str | Path, *, as_recorded: bool = False) -> Results:
    """Return a recorded or imported run, by its id, the beginning or end of its id, or its file.

    If transcripts were judged again, the latest verdicts count, unless `as_recorded`.

    Raises:
        UsageError: no run matches, or several do.
        RecordingError: the recording cannot be read.
    """
    settings = Settings.from_environment()
    path = find_recording(str(run), settings.runs_dir)
    return _loaded([path], settings, as_recorded=as_recorded)


def report_of_run(arguments: Sequence[str], agent: Callable[..., Any]) -> dict[str, Any]:
    """Do what `bioeval-tui run` does with these arguments, but with this agent; return the content of `--json FILE`.

    Raises:
        BioevalError: what is wrong, before anything is sent.
    """
    _require_message(agent)
    try:
        given = command.make_context("run", [*arguments]).params
    except ClickException as error:
        raise UsageError(error.format_message()) from None
    request = replace(request_of(given["jobs"], given), agent_function=agent)
    return {**json_report(_in_a_thread(lambda stop: _evaluate(request, stop, progress=False)).loaded)}


def _loaded(paths: Sequence[Path], settings: Settings, *, as_recorded: bool = False) -> Results:
    prices = load_prices(settings.data_dir / FILE_NAME)
    return Results(tuple(result.load_run(path, prices=prices, as_recorded=as_recorded) for path in paths))


async def _evaluate(request: RunRequest, stop: asyncio.Event, *, progress: bool) -> Results:
    settings = Settings.from_environment()
    spec = spec_of(request, settings.runs_dir)
    prepared = prepare_batch(spec, settings)
    show = open_progress(progress, hosts_of(prepared), spec.conversations)
    await run_followed(run_prepared(prepared, spec, settings, stop=stop), spec, settings, show)
    paths = [recording_path(settings.runs_dir, run.run_id) for run in spec.runs]
    return _loaded([path for path in paths if path.exists()], settings)


def _in_a_thread(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Run to the end in a thread with a loop of its own; an interrupt sets the event, and is raised at the end."""
    stop, context, loops = asyncio.Event(), contextvars.copy_context(), Future[asyncio.AbstractEventLoop]()

    def run() -> T:
        with asyncio.Runner(loop_factory=fair_loop) as runner:
            loops.set_result(runner.get_loop())
            return runner.run(main(stop), context=context)

    with ThreadPoolExecutor(1, "bioeval-tui") as threads:
        running = threads.submit(run)
        try:
            while not wait({running}, LOOK_S).done:
                pass
        except KeyboardInterrupt:
            loops.result().call_soon_threadsafe(stop.set)
            wait({running})
            raise
        return running.result()


def _request(job: Job | Sequence[Job], agent: Agent | None, options: EvaluateOptions) -> RunRequest:
    """Return the validated request.

    Raises:
        UsageError: a name or a value is wrong.
    """
    jobs = [job] if isinstance(job, str | Path) else list(job)
    if not jobs:
        raise UsageError("job: give a YAML file or the name of a sample, or several")
    try:
        checked = OPTIONS.validate_python(
            {name: value for name, value in options.items() if value is not None}
        )
    except ValidationError as error:
        raise UsageError(_what_is_wrong(error)) from None
    given: dict[str, Any] = {**checked}
    if given.pop("rehearsal", False):
        given["mode"] = "rehearsal"
    if callable(agent):
        _require_message(agent)
        given["agent_function"] = agent
    elif isinstance(agent, str):
        given |= {"agent_url": agent, "agent_url_is_given": True}
    elif agent is not None:
        raise UsageError(f"agent: give a URL or a function, not a value of type {type(agent).__name__}")
    return RunRequest(jobs=tuple(find_job(Path(one)) for one in jobs), **given)


def _what_is_wrong(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name, known = clean_line(str(first["loc"][0]), 40), list(EvaluateOptions.__annotations__)
    if first["type"] == "extra_forbidden":
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        return f"there is no option {name}: {hint}"
    said = first["msg"]
    return clean_line(f"{name}: {said[:1].lower()}{said[1:]}, not {first['input']!r}", 300)


def _require_message(agent: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(agent)
    except (TypeError, ValueError):
        return  # written in C: calling it says what is wrong
    told = {"conversation": None} if "conversation" in signature.parameters else {}
    try:
        signature.bind("message", **told)
    except TypeError as error:
        raise UsageError(
            f"the agent must have one parameter for the user's message, and may have `conversation`: {error}"
        ) from None
