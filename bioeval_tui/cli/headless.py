"""Headless runs: the engine in the foreground, progress on stderr, the result on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import ExitCode, RecordingError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import keep_exit_code
from bioeval_tui.base.terminal import print_json, print_json_piecewise
from bioeval_tui.base.text import clean_line, compact_json, plural, shorten
from bioeval_tui.base.units import DASH, number
from bioeval_tui.base.widths import padded
from bioeval_tui.evaluation.conversation.resume import excluded_trials
from bioeval_tui.evaluation.engine.event_loop import drop_batch, run_fairly
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.wiring.cluster import OnCluster, on_cluster
from bioeval_tui.evaluation.wiring.endpoints import sent_to_words
from bioeval_tui.evaluation.wiring.estimate import estimate_batch
from bioeval_tui.evaluation.wiring.resuming import rerun_offer
from bioeval_tui.evaluation.wiring.start import (
    Show,
    conversations_in,
    held_before,
    prepare_batch,
    run_followed,
    run_prepared,
    said_before,
)
from bioeval_tui.peers.prices import Prices, load_prices
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.masking import masked
from bioeval_tui.record.participants import SPEAKERS
from bioeval_tui.record.reading import fold_shown
from bioeval_tui.record.runs import is_large, recording_path
from bioeval_tui.record.state import Change, RunState, lighten
from bioeval_tui.report.answer import answer_batch
from bioeval_tui.report.comparison import are_compared
from bioeval_tui.report.deciding import Decider, make_decider
from bioeval_tui.report.document import piecewise_document
from bioeval_tui.report.formats.console import (
    ProgressLines,
    print_answer,
    print_lines,
    print_rankings,
    print_score_card,
    print_ways,
    say,
)
from bioeval_tui.report.gate import Gate, GateRules, print_checks
from bioeval_tui.report.plans import print_estimates
from bioeval_tui.report.result import RunResult, load_run, result_of
from bioeval_tui.report.summary import condition_title, held_conditions, rankings, summarise_runs
from bioeval_tui.report.words import summary_lines

MANY_CONVERSATIONS = 1_000
"""So many fill enough memory that it is worth the time to free it before the result is made."""


class BatchProgress:
    """Prints progress. With `verbose`, also the agent's tool calls and events."""

    def __init__(
        self,
        console: Console,
        *,
        conversations: int,
        several: bool,
        held: int = 0,
        verbose: bool = False,
    ) -> None:
        """`conversations` is the planned number in total, of which so many are `held` already;
        `several` prints one line for each of them.
        """
        self._console = console
        self._total = conversations
        self._several = several
        self._verbose = verbose
        self._done = held
        self._whole = ProgressLines(console)

    def show(self, state: RunState, event: RunEvent, change: Change) -> None:
        """Print an event if it is one of those that are shown."""
        if isinstance(event, events.ConversationScored):
            self._done += 1
        if not self._several:
            self._whole.show(state, event, change)
        elif (line := self._line(state, event)) is not None:
            say(self._console, line)
        if self._verbose:
            for piece in _generation(event):
                say(self._console, f"{padded(_condition(state, event), 9)}   {piece}")

    def _line(self, state: RunState, event: RunEvent) -> str | None:
        match event:
            case events.ConversationScored():
                score = "not scored" if event.score is None else number(event.score)
                why = f" ({shorten(event.reason, 100)})" if event.reason else ""
                return f"[{self._done} of {self._total}] {_name(state, event)}: {score}{why}"
            case events.Warned():
                return f"{_name(state, event)}: note: {event.message}"
            case events.RunEnded(detail=detail) if detail:
                return f"{_name(state, event)}: run {event.status}: {detail}"
            case _:
                return None


def _name(state: RunState, event: RunEvent) -> str:
    started = state.started
    parts = [started.job_name, state.asked_model or ""] if started else [event.run_id]
    if event.condition:
        parts.append(_condition(state, event))
    if event.trial and started and started.trials > 1:
        parts.append(state.trial_words(event.trial))
    return " · ".join(part for part in parts if part)


def _condition(state: RunState, event: RunEvent) -> str:
    if event.condition:
        return state.condition_title(event.condition)
    return ""


def _generation(event: RunEvent) -> list[str]:
    """Return the agent's tool calls and events for an answer, one per line."""
    if not isinstance(event, events.MessageCompleted | events.CallsTraced):
        return []
    return [clean_line(shorten(compact_json(item), 400)) for item in event.generation]


def open_progress(wanted: bool, hosts: Sequence[str], conversations: int) -> Show:
    """Return a function that shows the events of a batch; first, it prints the `hosts` that receive
    transcripts.
    """
    if not wanted:
        return lambda state, event, change: None
    first = sent_to_words(hosts)
    if _is_notebook():
        return NotebookProgress(first, conversations).show
    console = plain_console(stderr=True)
    console.print(first, soft_wrap=True)
    return BatchProgress(console, conversations=conversations, several=True).show


def _is_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel, so that IPython's display is visible in a
    notebook.
    """
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


class NotebookProgress:
    """One line below the cell, which is updated with each message."""

    def __init__(self, first: str, conversations: int) -> None:
        self._total, self._done = conversations, 0
        display: Any = sys.modules[
            "IPython"
        ].display  # a notebook has it; this program does not need it
        self._line = display.display(_plain(first), raw=True, display_id=True)

    def show(self, state: RunState, event: RunEvent, change: Change) -> None:
        """Receive one event."""
        self._done += isinstance(event, events.ConversationScored)
        if (
            not isinstance(event, events.ConversationScored | events.MessageCompleted)
            or state.started is None
        ):
            return
        where = [
            state.started.job_name,
            state.asked_model,
            state.condition_title(event.condition or ""),
        ]
        if state.started.trials > 1:
            where.append(f"trial {event.trial}")
        message = ""
        if isinstance(event, events.MessageCompleted):
            message = f": {SPEAKERS[event.role]}: {event.content}"
        now = (
            f"{self._done} of {plural(self._total, 'conversation')} ·"
            f" {' · '.join(filter(None, where))}{message}"
        )
        self._line.update(_plain(now), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": shorten(clean_line(text, 300), 160)}


def run_headless(
    spec: EngineSpec,
    settings: Settings,
    *,
    as_json: bool = False,
    verbose: bool = False,
    files: Mapping[str, Path] | None = None,
    **thresholds: Any,
) -> int:
    """Run the batch, print its result, check it against the thresholds, and return the exit code.

    `thresholds` are the arguments of `GateRules.parse`. `files` maps the formats of the gate's
    result to the files to write.

    Raises:
        BioevalError: a job, setting or file name is wrong; nothing was sent.
    """
    rules = GateRules.parse(**thresholds)
    # An agent's function may change the working folder.
    gate = Gate(rules, {name: path.absolute() for name, path in (files or {}).items()})
    gate.check_paths()
    talk = plain_console(stderr=True)
    held = _hold(spec, settings, rules, talk, verbose=verbose)
    if held is None:
        return ExitCode.INTERRUPTED
    if held.conversations > MANY_CONVERSATIONS:  # it takes 0.2 s
        drop_batch()
    code = _show_outcome(spec, settings, gate, held, talk, as_json=as_json)
    if held.interrupted:
        return ExitCode.INTERRUPTED
    return code


@dataclass(frozen=True, slots=True)
class _Held:
    """What is left of a batch whose conversations were held, besides its recordings."""

    interrupted: bool
    conversations: int
    several_trials: bool
    stopping: Decider | None


def _hold(
    spec: EngineSpec, settings: Settings, rules: GateRules, talk: Console, *, verbose: bool
) -> _Held | None:
    """Hold the conversations of a batch, whose jobs and cases are dropped before its result is
    made; None if it was interrupted, and its recordings could not be written.

    Raises:
        BioevalError: a job or setting is wrong; nothing was sent.
    """
    prepared = prepare_batch(spec, settings)
    for run in prepared:
        rules.require_conditions(run.plan.conditions, run.plan.job.held_in)
        # a rubric that comes from the cases is not known yet
        if run.plan.job.judged or not run.plan.job.rubric:
            rules.require_tasks(len(run.plan.job.judged), run.plan.job_name)
    with on_cluster(spec, prepared) as cluster:
        return _hold_checked(cluster, spec, settings, talk, verbose=verbose)


def _hold_checked(
    cluster: OnCluster, spec: EngineSpec, settings: Settings, talk: Console, *, verbose: bool
) -> _Held | None:
    prepared = cluster.prepared
    print_lines([*said_before(prepared), *cluster.said], talk)
    several_trials = sum(run.plan.trials for run in prepared) > 1
    progress = BatchProgress(
        talk,
        conversations=conversations_in(prepared),
        held=held_before(prepared),
        several=several_trials and min(run.plan.shared_agent for run in prepared) > 1,
        verbose=verbose,
    )
    interrupted: list[bool] = []
    stopping = make_decider(spec, prepared)
    running = run_prepared(
        prepared, spec, settings, on_interrupt=lambda: interrupted.append(True), stopping=stopping
    )
    try:
        run_fairly(run_followed(running, spec, settings, progress.show))
    except RecordingError as error:
        if not interrupted:
            raise
        talk.print(Text(clean_line(str(error), 500)), soft_wrap=True)  # the disk stayed full
        return None
    return _Held(bool(interrupted), conversations_in(prepared), several_trials, stopping)


def _show_outcome(
    spec: EngineSpec,
    settings: Settings,
    gate: Gate,
    held: _Held,
    talk: Console,
    *,
    as_json: bool,
) -> int:
    """Print the result, whether it passes, and on `talk` what the user can do; return the exit
    code.
    """
    prices = load_prices(settings.data_dir)
    paths = [recording_path(settings.runs_dir, run.run_id) for run in spec.runs]
    if as_json:
        # What was said is on the card of a run of one trial.
        keep_words = not held.several_trials or bool(gate.files)
        results = _results(paths, prices, keep_words=keep_words)
        found = _print_results(results, one=len(paths) == 1)
    else:
        # As `runs show` reads them: with the words that an answer quotes.
        found = [load_run(path, prices=prices) if path.exists() else None for path in paths]
    states = [RunState() if run is None else run.state for run in found]
    runs = [run for run in found if run is not None]
    checked = gate.check(runs)
    out = talk if as_json else plain_console()
    if not as_json:
        keep_exit_code()  # it is recorded: `runs show` prints it again
        if len(found) == 1:
            print_score_card(found[0], out)
        else:
            print_batch(runs, out)
    if held.stopping is not None:
        out.print(Text(held.stopping.words), soft_wrap=True)
    print_checks(checked, out)
    _say_how_to_resume(states, talk)
    _say_what_helps(runs, talk, card=not as_json and len(states) == 1)
    _offer_reruns(states, settings, talk)
    if len(runs) < len(states) or any(_stopped(state) for state in states):
        return ExitCode.NOT_MEASURED
    return checked.exit_code


def dry_run(spec: EngineSpec, settings: Settings, *, as_json: bool) -> int:
    """Print the batch's calls and cost, send nothing, and return the exit code."""
    estimates = masked(estimate_batch(spec, settings))
    if as_json:
        print_json(estimates, indent=2)
    else:
        print_estimates(estimates)
    return ExitCode.OK


def _results(
    paths: Sequence[Path], prices: Prices, *, keep_words: bool
) -> Iterator[RunResult | None]:
    """Yield the result of each run; unless `keep_words`, drop its messages when the next one is
    asked for. Those of a large one are never all in memory.
    """
    for path in paths:
        if is_large(path):
            yield load_run(path, prices=prices)
            continue
        state = fold_shown(path)
        yield result_of(state, path, prices)
        if not keep_words:
            for conversation in state.conversations.values():
                lighten(conversation)


def _print_results(results: Iterable[RunResult | None], *, one: bool) -> list[RunResult | None]:
    """Print `one` result, or a list of several, each while its words are in memory; return them."""
    found: list[RunResult | None] = []

    def documents() -> Iterator[dict[str, Any]]:
        for run in results:
            yield piecewise_document(run)
            found.append(run)

    if one:
        for document in documents():
            print_json_piecewise(document)
    else:
        print_json_piecewise(documents())
    return found


def print_batch(runs: Sequence[RunResult], console: Console) -> None:
    """Print the answer, one row for each run, then the means of each agent and model by
    condition.
    """
    if runs:
        print_answer(answer_batch(runs), console)
    table = Table(box=None, pad_edge=False)
    table.add_column("run", no_wrap=True, min_width=20)
    models = [run.brief.model for run in runs]
    table.add_column("job")
    if any(models):
        table.add_column("model")
    names = held_conditions(runs)
    for title in (*(condition_title(runs, name) for name in names), "scored"):
        table.add_column(Text(title), justify="right")
    for run, model in zip(runs, models, strict=True):
        conditions = [run.summary.of(name) for name in names]
        used = sum(condition.score.counted.used for condition in run.summary.conditions)
        named = (run.brief.job, model or "") if any(models) else (run.brief.job,)
        cells = [
            run.run_id,
            *named,
            *(number(condition.score.mean) if condition else DASH for condition in conditions),
            f"{used} of {len(run.conditions) * run.planned_trials}",
        ]
        table.add_row(*map(Text, cells))
    console.print(table)
    summaries = summarise_runs(runs)
    if not are_compared(runs):
        print_rankings(rankings(summaries), console)
    for summary in summaries:
        for about, line in summary_lines(summary):
            console.print(Text(f"{summary.label} · {about}: {line}"), soft_wrap=True)


def _stopped(state: RunState) -> bool:
    return state.ended is None or state.ended.status != "completed"


def _say_how_to_resume(states: Sequence[RunState], console: Console) -> None:
    stopped = [state.started.run_id for state in states if state.started and _stopped(state)]
    if stopped:
        what = plural(len(stopped), "run")
        first = f"`bioeval-tui runs resume {stopped[0]}`"
        more = "" if len(stopped) == 1 else " (and the others)"
        console.print(Text(f"{what} not finished; continue with {first}{more}"))


def _offer_reruns(states: Sequence[RunState], settings: Settings, console: Console) -> None:
    for state in states:
        if state.started is not None and not _stopped(state) and excluded_trials(state):
            path = recording_path(settings.runs_dir, state.started.run_id)
            offer = rerun_offer(path, state)
            if offer:
                console.print(Text(offer))


def _say_what_helps(runs: Sequence[RunResult], console: Console, *, card: bool) -> None:
    """Say what you can do if no conversation took place, unless a `card` with its answer has."""
    ways: list[str] = []
    for run in runs:
        found = chain.from_iterable(talk.ways for talk in run.conversations_begun)
        if not card:
            ways += found
        elif run.planned_trials > 1 or run.answer.outcome != "agent_unreached":
            ways += run.answer.other_ways(found)
    print_ways(dict.fromkeys(ways), console)
