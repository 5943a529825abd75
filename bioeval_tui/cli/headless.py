"""Headless runs: the engine in the foreground, progress on stderr, the result on stdout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.cli.progress import BatchProgress
from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import ExitCode, RecordingError
from bioeval_tui.evaluation.engine.loop import run_fairly
from bioeval_tui.evaluation.engine.resume import excluded_trials
from bioeval_tui.evaluation.engine.spec import EngineSpec
from bioeval_tui.evaluation.prices import FILE_NAME, Prices, load_prices
from bioeval_tui.evaluation.wiring.estimate import estimate_batch
from bioeval_tui.evaluation.wiring.resume import rerun_offer
from bioeval_tui.evaluation.wiring.start import (
    hosts_of,
    judges_see,
    prepare_batch,
    run_followed,
    run_prepared,
)
from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.record.outline import fold_file
from bioeval_tui.record.paths import recording_path
from bioeval_tui.record.state import RunState, lighten
from bioeval_tui.report.conclusion import conclude_batch
from bioeval_tui.report.deciding import decider_of
from bioeval_tui.report.document import document_of
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.formats.dry_run import print_estimates
from bioeval_tui.report.formats.ranking_console import print_rankings
from bioeval_tui.report.gate import GateRules
from bioeval_tui.report.gate_run import Gate, print_checks
from bioeval_tui.report.loading import LoadedRun, from_state
from bioeval_tui.report.rankings import rankings
from bioeval_tui.report.result import result_of, results_of
from bioeval_tui.report.samples import condition_title
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.report.summary_words import summary_lines
from bioeval_tui.report.words import ways_out
from bioeval_tui.settings import Settings
from bioeval_tui.streams import keep_exit_code
from bioeval_tui.terminal import print_json, print_json_text
from bioeval_tui.text import clean_line, plural
from bioeval_tui.units import DASH, number


def run_headless(
    spec: EngineSpec,
    settings: Settings,
    *,
    as_json: bool = False,
    verbose: bool = False,
    fail_under: Sequence[str] = (),
    fail_on_assertion: bool = False,
    min_pass_k: Sequence[str] = (),
    files: Mapping[str, Path] | None = None,
) -> int:
    """Run the batch, print its result, check it against the thresholds, and return the exit code.

    `files` maps the formats of the gate's result to the files to write.

    Raises:
        BioevalError: a job, setting or file name is wrong; nothing was sent.
    """
    rules = GateRules.parse(fail_under, fail_on_assertion=fail_on_assertion, min_pass_k=min_pass_k)
    rules.require_held(spec.conditions)
    gate = Gate(rules, files or {})
    gate.check_paths()
    talk = plain_console(stderr=True)
    prepared = prepare_batch(spec, settings)
    if hosts := hosts_of(prepared):
        talk.print(Text(f"transcripts are sent to: {', '.join(hosts)}"), soft_wrap=True)
    for sentence in judges_see(prepared):
        talk.print(Text(sentence), soft_wrap=True)
    interrupted: list[bool] = []
    stopping = decider_of(spec)
    running = run_prepared(
        prepared, spec, settings, on_interrupt=lambda: interrupted.append(True), stopping=stopping
    )
    progress = BatchProgress(
        talk,
        conversations=spec.conversations,
        several=len(spec.runs) * spec.trials > 1 and spec.at_once > 1,
        verbose=verbose,
    )
    try:
        states = run_fairly(run_followed(running, spec, settings, progress.show))
    except RecordingError as error:
        if not interrupted:
            raise
        talk.print(Text(clean_line(str(error), 500)), soft_wrap=True)  # the disk stayed full
        return ExitCode.INTERRUPTED
    prices = load_prices(settings.data_dir / FILE_NAME)
    if len(spec.runs) * spec.trials > 1:  # their conversations were not kept in memory
        paths = [recording_path(settings.runs_dir, run.run_id) for run in spec.runs]
        states, results = _fold_all(paths, prices, as_json=as_json, keep_words=bool(gate.files))
    else:
        results = [_result_text(states[0], prices)] if as_json else []
    loaded = _loaded(spec, settings, states)
    result = gate.check(loaded)
    out = plain_console()
    if not as_json:
        keep_exit_code()  # it is recorded: `runs show` prints it again
    if as_json:
        print_json_text(_one_or_list(results))
    elif len(states) == 1:
        print_score_card(result_of(states[0], prices=prices), out)
    else:
        print_batch(loaded, out)
    if stopping is not None:
        (talk if as_json else out).print(Text(stopping.words), soft_wrap=True)
    print_checks(result, talk if as_json else out)
    _say_how_to_resume(states, talk)
    _say_who_is_missing(states, talk)
    _offer_reruns(states, settings, talk)
    if interrupted:
        return ExitCode.INTERRUPTED
    if len(loaded) < len(states) or any(_stopped(state) for state in states):
        return ExitCode.NOT_MEASURED
    return result.exit_code


def dry_run(spec: EngineSpec, settings: Settings, *, as_json: bool) -> int:
    """Print the batch's calls and cost, send nothing, and return the exit code."""
    found = estimate_batch(spec, settings)
    if as_json:
        print_json([run.to_dict() for run in found], indent=2)
    else:
        print_estimates(found)
    return ExitCode.OK


def _fold_all(
    paths: Sequence[Path], prices: Prices, *, as_json: bool, keep_words: bool
) -> tuple[list[RunState], list[str]]:
    """Return the state of each run, and its result if `as_json`; `keep_words` keeps all messages in memory."""
    states: list[RunState] = []
    results: list[str] = []
    for path in paths:
        state = fold_file(path, light=not (keep_words or as_json))
        if as_json:
            results.append(_result_text(state, prices))
        if not keep_words:
            for conversation in state.conversations.values():
                lighten(conversation)
        states.append(state)
    return states, results


def _result_text(state: RunState, prices: Prices) -> str:
    return json.dumps(document_of(state, from_state(state, prices=prices)), indent=2, ensure_ascii=False)


def _one_or_list(results: Sequence[str]) -> str:
    """Return a single JSON object, or a list of several."""
    return (
        results[0] if len(results) == 1 else "[\n" + ",\n".join(indent(one, "  ") for one in results) + "\n]"
    )


def print_batch(runs: Sequence[LoadedRun], console: Console) -> None:
    """Print the conclusion, one row for each run, then the means of each agent and model by condition."""
    if runs:
        console.print(Text(conclude_batch(runs).sentence, style="bold"), soft_wrap=True)
    results = results_of(runs)
    table = Table(box=None, pad_edge=False)
    table.add_column("run", no_wrap=True, min_width=20)
    models = [result.brief.model for result in results]
    for title in ("job", *(("model",) if any(models) else ())):
        table.add_column(title)
    for title in (*(condition_title(runs, name).removeprefix("facts ") for name in CONDITIONS), "scored"):
        table.add_column(Text(title), justify="right")
    for result, model in zip(results, models, strict=True):
        held = [result.summary.of(name) for name in CONDITIONS]
        used = sum(found.score.counted.used for found in result.summary.conditions)
        named = (result.brief.job, *((model or "",) if any(models) else ()))
        cells = [
            result.run_id,
            *named,
            *(number(found.score.mean) if found else DASH for found in held),
            f"{used} of {len(result.conditions) * result.planned_trials}",
        ]
        table.add_row(*map(Text, cells))
    console.print(table)
    summaries = summarise_runs(runs)
    print_rankings(rankings(summaries), console)
    for summary in summaries:
        for about, said in summary_lines(summary):
            console.print(Text(f"{summary.label} · {about}: {said}"), soft_wrap=True)


def _loaded(spec: EngineSpec, settings: Settings, states: Sequence[RunState]) -> list[LoadedRun]:
    prices = load_prices(settings.data_dir / FILE_NAME)
    found = [
        from_state(state, recording_path(settings.runs_dir, run.run_id), prices)
        for run, state in zip(spec.runs, states, strict=True)
    ]
    return [run for run in found if run is not None]


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
            offer = rerun_offer(recording_path(settings.runs_dir, state.started.run_id))
            if offer:
                console.print(Text(offer))


def _say_who_is_missing(states: Sequence[RunState], console: Console) -> None:
    held = [conversation for state in states for conversation in state.conversations.values()]
    failures = [failure for talk in held for failure in talk.request_failures if failure.peer == "agent"]
    away = bool(failures) and all(failure.unreachable for failure in failures)
    if away and not any(conversation.messages for conversation in held):
        words = (
            "the agent could not be reached: start it, and set its URL with --agent-url or BIOEVAL_AGENT_URL"
        )
        console.print(Text(f"{words}; `bioeval-tui agent` serves the sample agent"))
        return
    for way in dict.fromkeys(way for talk in held for way in ways_out(talk)):
        console.print(Text(f"what you can do: {way}"), soft_wrap=True)
