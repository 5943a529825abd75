"""What changed since the last run of the same job, in one line, from the comparison of the two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.base.units import date, number
from bioeval_tui.report.comparison import (
    Comparison,
    ConditionComparison,
    compare,
    distinct_names,
)

if TYPE_CHECKING:
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.report.result import RunResult

MOST_NAMED, LONGEST_NAMED = 2, 40
"""The most tasks or assertions that are named for each change, and the most characters of each."""


def previous_run(runs: Iterable[CataloguedRun], run_id: str) -> str | None:
    """Return the last measured run of the job of a run before it: one of the same agent and model
    if there is one. None without any, or if the run is not listed.
    """
    listed = list(runs)
    this = next((run for run in listed if run.run_id == run_id), None)
    if this is None:
        return None
    before = [
        run for run in listed if run.job == this.job and run.measured and run.began < this.began
    ]
    # Another agent fixes and breaks nothing: what changed since then is no change.
    alike = [run for run in before if _who(run) == _who(this)]
    if before:
        return max(alike or before, key=lambda run: run.began).run_id
    return None


def _who(run: CataloguedRun) -> tuple[str, str, str | None]:
    """Return what tells the agent of a run from others."""
    return run.agent, run.chatbot, run.model


def changes_since_run(before: RunResult, run: RunResult) -> str:
    """Return what changed from one run to another of its job: the scores by condition, and what was
    fixed or broken. An earlier run of another agent or model is called by its name.
    """
    found = compare(before, run)
    since = _last_run(before, run)
    if not found.measured:
        return f"{since}: not comparable; {found.incomparable}"
    moved = [side for side in found.conditions if number(side.a.mean) != number(side.b.mean)]
    changes = [*map(_score, moved), *_task_change(found), *_check_changes(found)]
    return f"{since}: {', '.join(changes) or 'the same scores'}"


def _last_run(before: RunResult, run: RunResult) -> str:
    when = date(before.started_at)
    other, _ = distinct_names(before, run)
    if not other and before.started.chatbot != run.started.chatbot:
        other = before.started.chatbot
    if not other:
        return f"since the last run of this job ({when})"
    return f"since the last run of this job, which was of another agent or model, {other} ({when})"


def _score(side: ConditionComparison) -> str:
    return f"{side.title} {number(side.a.mean)} → {number(side.b.mean)}"


def _task_change(found: Comparison) -> Iterator[str]:
    """Yield the task that changed most."""
    tasks = chain.from_iterable(side.tasks for side in found.conditions)
    moved = [task for task in tasks if round(task.change or 0.0, 2)]
    if moved:
        most = max(moved, key=lambda task: abs(task.change or 0.0))
        before, now = map(number, most.means)
        yield f"{_named((most.title,))} {before} → {now}"


def _check_changes(found: Comparison) -> Iterator[str]:
    checks = list(chain.from_iterable(side.assertions for side in found.conditions))
    for change in ("fixed", "broken"):
        titles = dict.fromkeys(check.title for check in checks if check.change == change)
        if titles:
            yield f"{change}: {_named(tuple(titles))}"


def _named(titles: Sequence[str]) -> str:
    words = ", ".join(
        f"“{shorten(clean_line(title), LONGEST_NAMED)}”" for title in titles[:MOST_NAMED]
    )
    more = len(titles) - MOST_NAMED
    if more > 0:
        return f"{words} and {more} more"
    return words
