"""How two compared runs differ besides their results: jobs, judges, prompts, trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bioeval_tui.report import findings as of
from bioeval_tui.report.findings import RunNote
from bioeval_tui.report.judged_again import verdicts_replaced
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.rows import target_ms
from bioeval_tui.text import clean_line

_LISTED, _LONGEST = 3, 40
"""How many differences between two jobs a note lists, and the most characters of each path and value."""


def times_not_compared(a: LoadedRun, b: LoadedRun) -> of.TimesNotCompared | None:
    """Return why response times of the two runs are not compared; None if they are."""
    one, two = a.started.concurrency, b.started.concurrency
    return None if one == two else of.TimesNotCompared(one, two)


def targets_differ(a: LoadedRun, b: LoadedRun) -> bool:
    """Return whether the runs score the same response times differently, so that their timing parts are not comparable."""
    return target_ms(a.state) != target_ms(b.state)


def run_notes(a: LoadedRun, b: LoadedRun) -> tuple[RunNote, ...]:
    """Return what differs between the runs besides their results, and what is missing from either."""
    return (*_setup_notes(a, b), *_notes_on("A", a, b), *_notes_on("B", b, a), *_trial_notes(a, b))


def _setup_notes(a: LoadedRun, b: LoadedRun) -> Iterator[RunNote]:
    one, two = a.started, b.started
    if one.job_sha256 != two.job_sha256:
        yield _jobs_differ(one.job, two.job)
    if a.state.judge != b.state.judge:
        yield of.PeersDiffer("judge", a.state.judge, b.state.judge)
    if a.state.evaluator != b.state.evaluator:
        yield of.PeersDiffer("evaluator", a.state.evaluator, b.state.evaluator)
    if one.prompts != two.prompts:
        yield of.PromptsDiffer()
    if one.rehearsal != two.rehearsal:
        yield of.RehearsalCompared()
    if times_not_compared(a, b) or targets_differ(a, b):
        yield of.TimingLeftOut(targets_differ(a, b))


def _notes_on(name: str, run: LoadedRun, other: LoadedRun) -> Iterator[RunNote]:
    if again := verdicts_replaced(run.judged_again, len(run.state.conversations), run=name):
        yield again
    only = run.state.only_condition
    if only and set(run.started.conditions) != set(other.started.conditions):
        yield of.RunOfOneCondition(name, run.state.condition_title(only))
    if not run.state.clean:
        yield of.UncleanRun(name, run.state.cleanness, run.state.why_not_clean)
    if run.state.ended is None or run.state.ended.status != "completed":
        yield of.RunUnfinished(name)


def _trial_notes(a: LoadedRun, b: LoadedRun) -> Iterator[RunNote]:
    if len(a.trials) != len(b.trials):
        yield of.TrialsDiffer(len(a.trials), len(b.trials))


def _jobs_differ(a: Mapping[str, Any], b: Mapping[str, Any]) -> of.JobsDiffer:
    one, two = _leaves(a), _leaves(b)
    changed = [path for path in dict.fromkeys((*one, *two)) if one.get(path) != two.get(path)]
    listed = tuple(
        (clean_line(path, _LONGEST), _leaf_text(one.get(path)), _leaf_text(two.get(path)))
        for path in changed[:_LISTED]
    )
    return of.JobsDiffer(listed, len(changed) - len(listed))


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return every text, number and truth value in a job, by its path."""
    if isinstance(value, Mapping):
        parts = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{at}]", item) for at, item in enumerate(value)]
    else:
        return {} if value is None else {path: value}
    return {at: leaf for name, item in parts for at, leaf in _leaves(item, name).items()}


def _leaf_text(value: Any) -> str:
    return "none" if value is None else clean_line(str(value), _LONGEST)
