"""How two compared runs differ besides their results: jobs, judges, prompts, trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bioeval_tui.report import judged_again
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.rows import target_ms
from bioeval_tui.text import clean_line, plural

_LISTED, _LONGEST = 3, 40
"""How many differences between two jobs a note lists, and the most characters of each path and value."""


def timing_refused(a: LoadedRun, b: LoadedRun) -> str:
    """Return why response times of the two runs are not compared; empty if they are."""
    one, two = a.started.concurrency, b.started.concurrency
    if one == two:
        return ""
    held = f"A ran {plural(one, 'conversation')} at a time with its agent, B {two}"
    return f"timing is not compared: {held}"


def targets_differ(a: LoadedRun, b: LoadedRun) -> bool:
    """Return whether the runs score the same response times differently, so that their timing parts are not comparable."""
    return target_ms(a.state) != target_ms(b.state)


def difference_notes(a: LoadedRun, b: LoadedRun) -> list[str]:
    """Return what differs between the runs besides their results, and what is missing from either."""
    one, two = a.started, b.started
    notes = []
    if one.job_sha256 != two.job_sha256:
        told = _job_differences(one.job, two.job) or "only in layout or comments"
        notes.append(f"the job files differ ({told}): tasks and assertions are matched by their titles")
    if a.state.judge != b.state.judge:
        notes.append(f"the judges differ: A {a.state.judge}; B {b.state.judge}")
    if a.state.evaluator != b.state.evaluator:
        notes.append(f"the evaluators differ: A {a.state.evaluator}; B {b.state.evaluator}")
    if one.prompts != two.prompts:
        notes.append("the prompts differ")
    if one.rehearsal != two.rehearsal:
        notes.append("one of the runs is a rehearsal")
    if timing_refused(a, b) or targets_differ(a, b):
        why = ", because the targets for response times differ" if targets_differ(a, b) else ""
        notes.append(f"scores here leave out the timing part on both sides{why}")
    for name, run in (("A", a), ("B", b)):
        if run.judged_again:
            notes.append(f"{name}: {judged_again.words(run.judged_again, len(run.state.conversations))}")
        only = run.state.only_condition
        if only and set(one.conditions) != set(two.conditions):
            notes.append(f"{name} was run with {run.state.condition_title(only)} only")
        if not run.state.clean:
            notes.append(f"{name}, {run.state.cleanness}: {run.state.why_not_clean}")
        if run.state.ended is None or run.state.ended.status != "completed":
            notes.append(f"{name} did not finish")
    if len(a.trials) != len(b.trials):
        notes.append(
            f"A has {plural(len(a.trials), 'trial')}, B {len(b.trials)}: only trials with the same number are paired"
        )
    return notes


def _job_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """Return such as `aspirationalAverage: A 1500, B 300; tasks[0].weight: A none, B 2; and 3 more`."""
    one, two = _leaves(a), _leaves(b)
    changed = [
        path for path in (*one, *(path for path in two if path not in one)) if one.get(path) != two.get(path)
    ]
    listed = [
        f"{clean_line(path, _LONGEST)}: A {_leaf_words(one.get(path))}, B {_leaf_words(two.get(path))}"
        for path in changed[:_LISTED]
    ]
    rest = len(changed) - len(listed)
    return "; ".join([*listed, *([f"and {rest} more"] if rest else [])])


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return every text, number and truth value in a job, by its path."""
    if isinstance(value, Mapping):
        parts = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{at}]", item) for at, item in enumerate(value)]
    else:
        return {} if value is None else {path: value}
    return {at: leaf for name, item in parts for at, leaf in _leaves(item, name).items()}


def _leaf_words(value: Any) -> str:
    return "none" if value is None else clean_line(str(value), _LONGEST)
