"""Evaluate from Python: `from bioeval_tui import evaluate, evaluate_async, load_run`
(docs/python.md), which return `Results`.

The engine, the recording and the results are those of the command line: runs appear in `runs list`.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache, cached_property
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from click import ClickException
from pydantic import TypeAdapter, ValidationError

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import NO_REASON, number
from bioeval_tui.base.widths import padded
from bioeval_tui.cli.headless import open_progress
from bioeval_tui.cli.options import board
from bioeval_tui.cli.run import run as command
from bioeval_tui.cli.run_options import request_of
from bioeval_tui.evaluation.engine.event_loop import fair_loop
from bioeval_tui.evaluation.engine.interface import RunRequest, spec_of
from bioeval_tui.evaluation.wiring.cluster import on_cluster
from bioeval_tui.evaluation.wiring.start import (
    batch_hosts,
    conversations_in,
    prepare_batch,
    run_followed,
    run_prepared,
)
from bioeval_tui.peers.prices import load_prices
from bioeval_tui.record.catalogue import find_recording
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import checked_type
from bioeval_tui.record.run_options import Kind, Option, held_value, kinds, tupled, wanted_words
from bioeval_tui.record.runs import recording_path
from bioeval_tui.report import result
from bioeval_tui.report.answer import Answer, answer_batch
from bioeval_tui.report.answer_labels import WIDTH
from bioeval_tui.report.document import run_document
from bioeval_tui.report.findings import Outcome, Shared
from bioeval_tui.report.formats.json_report import json_report
from bioeval_tui.report.frames import TableName, table_rows, to_arrow, to_frame
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.sentences import effect_words, spread_words
from bioeval_tui.report.summary import ConditionSummary, Summary, held_conditions, summarise_runs
from bioeval_tui.sample.named import find_job
from bioeval_tui.statistics.paired_differences import Difference, Direction

if TYPE_CHECKING:
    import pandas
    import pyarrow


Job = str | Path
Agent = str | Callable[..., Any]
"""The agent's URL, or the agent itself: a function that is called with each of the user's messages.
"""

LOOK_S = 0.2
"""Interval of checks whether a run has ended, because an endless wait ignores Ctrl-C on Windows."""

T = TypeVar("T")


@cache
def _python_options() -> dict[str, TypeAdapter[Any]]:
    """Return what checks each option that `evaluate` takes, by its field in `RunOptions`."""
    return {name: TypeAdapter(checked_type(kind)) for name, kind in _python_kinds().items()}


@cache
def _python_kinds() -> dict[str, Kind]:
    taken = (*(kind for kind in kinds() if kind.option.python), *_OF_PYTHON)
    return {kind.name: kind for kind in taken}


_OF_PYTHON = (
    Kind("models", Option(help="The agent's models."), tuple[str, ...], ()),
    Kind("rehearsal", Option(help="Use the script and the rules judge."), bool, False),
)
"""What `evaluate` takes besides, or in other words: the agent's models, and models replaced by a
script and rules.
"""


def evaluate(
    job: Job | Sequence[Job],
    *,
    agent: Agent | None = None,
    progress: bool = True,
    **options: Any,
) -> Results:
    """Run a job's conversations with an agent, without the facts and with them, and return the
    results.

    Works in scripts, and in notebooks, where an event loop is running: the conversations have their
    own thread and loop. In a program with its own event loop, call `evaluate_async`. Ctrl-C cancels
    the run and keeps the recording.

    Args:
        job: a YAML file, or the name of a sample; or several.
        agent: the agent's URL, or the agent itself: a function, async or not, that takes the user's
            message and returns or yields the answer. A second parameter `conversation` gives access
            to more (docs/agents.md). None is the job's own agent.
        progress: show progress: in place in a notebook, otherwise one line for each conversation on
            stderr.
        options: the fields of `RunOptions` that docs/python.md lists, such as `trials=5`; `models`,
            and `rehearsal`.

    Raises:
        BioevalError: the job, the agent or an option is wrong; raised before anything is sent.
            Failures while conversations run don't raise: they are in `Results.not_measured`.
    """
    request = _request(job, agent, options)
    return _run_threaded(lambda stop: _evaluate(request, stop, progress=progress))


async def evaluate_async(
    job: Job | Sequence[Job],
    *,
    agent: Agent | None = None,
    progress: bool = True,
    **options: Any,
) -> Results:
    """Like `evaluate`, but in the running event loop, which an async agent then shares.

    Cancelling the task cancels the run.

    Raises:
        BioevalError: as `evaluate`.
        asyncio.CancelledError: the task was cancelled; the recording is complete up to there.
    """
    stop = asyncio.Event()
    running = asyncio.ensure_future(
        _evaluate(_request(job, agent, options), stop, progress=progress)
    )
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
    if not isinstance(run, str | Path):
        raise UsageError(
            "run: give a run's id, the beginning or end of one, or the path of its recording, not"
            f" {clean_line(repr(run), 100)}"
        )
    settings = Settings.from_environment()
    path = find_recording(str(run), settings.runs_dir)
    return _loaded([path], settings, as_recorded=as_recorded)


def report_of_run(arguments: Sequence[str], agent: Callable[..., Any]) -> dict[str, Any]:
    """Do what `bioeval-tui run` does with these arguments, but with this agent; return the content
    of `--json FILE`.

    Raises:
        BioevalError: what is wrong, before anything is sent.
    """
    _require_message(agent)
    try:
        given = command.make_context("run", [*arguments]).params
    except ClickException as error:
        raise UsageError(error.format_message()) from None
    request = replace(request_of(given["jobs"], given), agent_function=agent)
    return {
        **json_report(_run_threaded(lambda stop: _evaluate(request, stop, progress=False)).loaded)
    }


def _loaded(paths: Sequence[Path], settings: Settings, *, as_recorded: bool = False) -> Results:
    prices = load_prices(settings.data_dir)
    return Results(
        tuple(
            result.load_run(path, prices=prices, as_recorded=as_recorded, whole=True)
            for path in paths
        )
    )


async def _evaluate(request: RunRequest, stop: asyncio.Event, *, progress: bool) -> Results:
    settings = Settings.from_environment()
    spec = spec_of(request, settings.runs_dir)
    prepared = prepare_batch(spec, settings)
    with contextlib.ExitStack() as opened:
        opening = on_cluster(spec, prepared)
        # It waits for the cluster, and the loop may be the caller's.
        cluster = await asyncio.to_thread(opened.enter_context, opening)
        prepared = cluster.prepared
        show = open_progress(progress, batch_hosts(prepared), conversations_in(prepared))
        await run_followed(run_prepared(prepared, spec, settings, stop=stop), spec, settings, show)
    paths = [recording_path(settings.runs_dir, run.run_id) for run in spec.runs]
    return _loaded([path for path in paths if path.exists()], settings)


def _run_threaded(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Run to the end in a thread with a loop of its own; an interrupt sets the event, and is raised
    at the end.
    """
    stop, context, loops = (
        asyncio.Event(),
        contextvars.copy_context(),
        Future[asyncio.AbstractEventLoop](),
    )

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


def _request(
    job: Job | Sequence[Job], agent: Agent | None, options: Mapping[str, Any]
) -> RunRequest:
    """Return the validated request.

    Raises:
        UsageError: a name or a value is wrong.
    """
    jobs = [job] if isinstance(job, str | Path) else job
    if not isinstance(jobs, Sequence) or not jobs:
        raise _not_a_job(job)
    for one in jobs:
        if not isinstance(one, str | Path):
            raise _not_a_job(one)
    given = {name: _checked(name, value) for name, value in options.items() if value is not None}
    if given.pop("rehearsal", False):
        given["mode"] = "rehearsal"
    if callable(agent):
        _require_message(agent)
        given["agent_function"] = agent
    elif isinstance(agent, str):
        given |= {"agent_url": agent, "agent_url_is_given": True}
    elif agent is not None:
        raise UsageError(
            f"agent: give a URL or a function, not a value of type {type(agent).__name__}"
        )
    return RunRequest(jobs=tuple(find_job(Path(one)) for one in jobs), **given)


def _not_a_job(given: object) -> UsageError:
    return UsageError(
        "job: give a YAML file or the name of a sample, or a list of several, not"
        f" {clean_line(repr(given), 100)}"
    )


def _checked(name: str, value: Any) -> Any:
    """Return an option's value as `RunOptions` holds it.

    Raises:
        UsageError: there is no such option, or it is not such a value.
    """
    known = _python_options()
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise UsageError(f"there is no option {clean_line(name, 40)}: {hint}")
    kind = _python_kinds()[name]
    # pydantic would take True for the number 1
    is_of_other_type = isinstance(value, bool) and kind.type is not bool
    try:
        checked = known[name].validate_python(None if is_of_other_type else held_value(kind, value))
    except ValidationError:
        wanted = wanted_words(kind)
        raise UsageError(clean_line(f"{name}: must be {wanted}, not {value!r}", 300)) from None
    if name == "leaderboard":
        return board(checked)
    if kind.option.path is not None:
        _require_there(kind, tupled(checked))
    return checked


def _require_there(kind: Kind, paths: Iterable[str]) -> None:
    is_folder = kind.option.path == "folder"
    for path in map(Path, paths):
        if not (path.is_dir() if is_folder else path.is_file()):
            raise UsageError(
                f"{kind.name}: there is no {kind.option.path} {clean_line(str(path), 300)}"
            )


def _require_message(agent: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(agent)
    except (TypeError, ValueError):
        return  # written in C: calling it says what is wrong
    known = {"conversation": None} if "conversation" in signature.parameters else {}
    try:
        signature.bind("message", **known)
    except TypeError as error:
        raise UsageError(
            "the agent must have one parameter for the user's message, and may have"
            f" `conversation`: {error}"
        ) from None


@dataclass(frozen=True, slots=True)
class FactsDifference(Difference):
    """Supplied − withheld, paired by trial, on what both conditions share."""

    shared: Shared | None = None
    """How many tasks and assertions that is; None if the conditions share everything that is
    scored.
    """

    @property
    def verdict(self) -> Direction:
        """What can be said of it, as in JSON: `better`, `worse`, `same`, `not distinguishable`,
        `too few` or `not measured`.
        """
        return self.direction

    @property
    def words(self) -> str:
        """The difference with its interval, its verdict and what it rests on, in words."""
        return effect_words(self, self.shared)


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """Something that has no value: `what` is `score`, `task 2` or `assertion 1`, numbered as in the
    job.
    """

    run_id: str
    condition: Condition
    trial: int
    what: str
    why: str


@dataclass(frozen=True)
class Results:
    """The results of one or several runs. A run is one job with one agent and model.

    Scores are in [0, 1]. None means that something was not measured, never 0; `not_measured` says
    why.
    """

    loaded: tuple[RunResult, ...]

    @property
    def runs(self) -> tuple[Results, ...]:
        """Each run by itself."""
        return tuple(Results((run,)) for run in self.loaded)

    @property
    def run_id(self) -> str:
        """The run's id, which `bioeval-tui runs show` and `load_run` take.

        Raises `UsageError` if there are several.
        """
        return self._only().run_id

    @property
    def answer(self) -> Answer:
        """What came out (`what`), how `sure`, `why` and what `next`, found by rules in the
        recording, never by a model.
        """
        return answer_batch(self.loaded)

    @property
    def outcome(self) -> Outcome:
        """The stable code for the kind of `answer`."""
        return self.answer.outcome

    @property
    def score(self) -> float | None:
        """The run's mean of both conditions, as published.

        Raises `UsageError` if there are several runs.
        """
        return self._only().mean

    @property
    def scores(self) -> dict[Condition, float | None]:
        """The mean of each condition over the trials that have a score; `conditions` has its
        interval.
        """
        return {name: condition.score.mean for name, condition in self.conditions.items()}

    @property
    def conditions(self) -> dict[Condition, ConditionSummary]:
        """Each condition: score with its interval, tasks, assertions, pass^k and response times
        over all trials.

        Raises `UsageError` if there are several agents or models, which are never pooled.
        """
        return {condition.condition: condition for condition in self._summary().conditions}

    @property
    def difference(self) -> FactsDifference | None:
        """Supplied − withheld, paired by trial, with its interval and verdict; None if only one
        condition was run.

        It is made of what both conditions are scored by; without anything of that kind, its mean is
        None. Raises `UsageError` if there are several agents or models.
        """
        summary = self._summary()
        found = summary.uplift
        if found is None:
            return None
        same = {each.name: getattr(found, each.name) for each in fields(found)}
        return FactsDifference(**same, shared=summary.shared)

    @property
    def not_measured(self) -> tuple[NotMeasured, ...]:
        """Every score, task and assertion without a value, with the reason; empty if all were
        measured.
        """
        return tuple(self._missing())

    def to_frame(self, table: TableName = "conversations") -> pandas.DataFrame:
        """Return `conversations`, `tasks`, `assertions`, `turns` or `tools` as a data frame of
        pandas.

        Raises:
            UsageError: the table does not exist.
            NotMeasuredError: pandas is not installed; the message has the command that installs it.
        """
        return to_frame(self.loaded, table)

    def to_arrow(self, table: TableName = "conversations") -> pyarrow.Table:
        """Return the same tables for Arrow; as `to_frame`, but needs pyarrow."""
        return to_arrow(self.loaded, table)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result of the run; `bioeval-tui schema result` describes it.

        Raises `UsageError` if there are several.
        """
        return run_document(self._only())

    def __await__(self) -> Generator[None, None, Results]:
        """Return itself, so that `await evaluate(…)` works in a notebook."""
        yield from ()
        return self

    def __str__(self) -> str:
        return "\n".join(f"{padded(label, WIDTH)}{text}" for label, text in self.answer.lines)

    def __repr__(self) -> str:
        return f"<Results {' '.join(run.run_id for run in self.loaded)}: {self.answer.what}>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        rows = [_html_row("th", ["agent", *self._conditions, "difference"])]
        for summary in self._summaries:
            rows.append(_html_row("td", [summary.label, *self._score_cells(summary)]))
        commands = [
            f"<code>bioeval-tui runs show {escape(run.run_id)}</code>" for run in self.loaded
        ]
        return (
            f"<p><b>{escape(self.answer.what)}</b> {escape(self.answer.sure)}</p>"
            f"<table>{''.join(rows)}</table><p>{' '.join(commands)}</p>"
        )

    @property
    def _conditions(self) -> list[Condition]:
        return held_conditions([*chain.from_iterable(each.runs for each in self._summaries)])

    def _score_cells(self, summary: Summary) -> Iterator[str]:
        for name in self._conditions:
            condition = summary.of(name)
            if condition is None:
                yield "not run"
            else:
                yield f"{number(condition.score.mean)} ({spread_words(condition.score)})"
        yield summary.uplift_words or "not run"

    def _only(self) -> RunResult:
        if len(self.loaded) != 1:
            raise UsageError(
                f"there are {len(self.loaded)} runs; take one of them, such as .runs[0]"
            )
        return self.loaded[0]

    @cached_property
    def _summaries(self) -> list[Summary]:
        return summarise_runs(self.loaded)

    def _summary(self) -> Summary:
        if len(self._summaries) != 1:
            labels = ", ".join(summary.label for summary in self._summaries)
            raise UsageError(f"agents and models are never pooled ({labels}); take one of .runs")
        return self._summaries[0]

    def _missing(self) -> Iterator[NotMeasured]:
        for run in self.loaded:
            for condition, trial in run.planned:
                talk = run.conversation(condition, trial)
                if talk is None or talk.score is None:
                    reason = talk.why_no_score if talk else run.detail or "it was not run"
                    yield NotMeasured(run.run_id, condition, trial, "score", reason)
        for row in table_rows(self.loaded, "tasks"):
            if row.get("score") is None:
                yield _missing_row(row, f"task {row['task']}", row["not_measured"])
        for row in table_rows(self.loaded, "assertions"):
            if row["status"] == "not_measured":
                yield _missing_row(row, f"assertion {row['assertion']}", row["why"] or NO_REASON)


def _missing_row(row: Any, what: str, why: str) -> NotMeasured:
    return NotMeasured(row["run_id"], row["condition"], row["trial"], what, why)


def _html_row(tag: str, cells: Any) -> str:
    written = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{written}</tr>"
