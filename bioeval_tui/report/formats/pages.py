"""One run in a document: its summary, its trials and the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bioeval_tui import score
from bioeval_tui.report import view
from bioeval_tui.report.conclusion import Conclusion, conclude
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.manner import RunManner, manners
from bioeval_tui.report.rows import target_ms
from bioeval_tui.report.statistics.samples import FAILED
from bioeval_tui.report.summary import ConditionSummary, Summary, summarise_runs
from bioeval_tui.report.words import compared_words, number, signed, why_no_mean
from bioeval_tui.text import plural


@dataclass(frozen=True, slots=True)
class Page:
    """One run, ready to be written."""

    run: LoadedRun
    summary: Summary
    trials: tuple[view.TrialView, ...]
    mean: float | None
    no_mean: str
    """Why there is no mean, as a sentence; empty if there is one."""
    conclusion: Conclusion
    """The run's conclusion, in one sentence."""
    lead: str
    status: str
    duration_s: float
    target: float
    target_ms: float
    concurrency: str
    warnings: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    manners: tuple[RunManner, ...]

    def anchor(self, condition: str, trial: int, message: int) -> str:
        """Return the id of a message in the document."""
        return view.anchor(self.run.run_id, condition, trial, message)


def page_of(run: LoadedRun, target: float = view.TARGET) -> Page:
    """Lay out a run."""
    summary = summarise_runs([run])[0]
    ended = run.state.ended
    whole = all(found.score.counted.used == found.score.counted.held for found in summary.conditions)
    means: dict[str, float | None] = {found.condition: found.score.mean for found in summary.conditions}
    mean = score.published_mean(means) if whole else None
    return Page(
        run=run,
        summary=summary,
        trials=tuple(view.trial_view(run, trial, target) for trial in run.trials),
        mean=mean,
        no_mean="" if mean is not None else why_no_mean(run.state),
        conclusion=conclude(run.state),
        lead=lead(run, summary),
        status=ended.status if ended else "interrupted",
        duration_s=run.state.seconds() or 0.0,
        target=target,
        target_ms=target_ms(run.state),
        concurrency=concurrency_words(run, summary),
        warnings=tuple(view.warnings(run)),
        versions=tuple(view.versions(run)),
        manners=tuple(manners([run])),
    )


def concurrency_words(run: LoadedRun, summary: Summary) -> str:
    """Return the number of concurrent conversations, which is unknown for an imported run."""
    if run.started.source is not None:
        return "The number of concurrent conversations is unknown"
    return summary.conditions[0].latency.concurrency_words if summary.conditions else ""


def trial_title(run: LoadedRun, trial: int) -> str:
    """Return a trial's heading, with its case if there are several."""
    case = run.state.case(trial)
    return f"Trial {trial}" + (f": case {case.words}, its trial {case.trial}" if case else "")


def title_of(runs: Sequence[LoadedRun]) -> str:
    """Return the document's title."""
    if len(runs) == 1:
        return f"{runs[0].started.job_name}: evaluation report"
    jobs = {run.started.job_name for run in runs}
    return f"{plural(len(runs), 'run')} of {plural(len(jobs), 'job')}"


def lead(run: LoadedRun, summary: Summary) -> str:
    """Return the scores, their difference, and what makes the conditions comparable, in up to three sentences."""
    parts = [_condition_words(condition) for condition in summary.conditions]
    if not parts:
        return "No conversation was run."
    sentence = "; ".join(parts)
    text = sentence[0].upper() + sentence[1:] + "."
    uplift = summary.uplift.mean if summary.uplift else None
    if uplift is not None:
        text += f" {_difference_words(run, uplift)}"
    elif not run.state.clean:
        why = run.state.why_not_clean
        text += f" {why[0].upper()}{why[1:]}: {run.state.cleanness}."
    if compared := compared_words(run.state):
        text += f" The run is clean: {compared}."
    return text


def _difference_words(run: LoadedRun, uplift: float) -> str:
    """Return the difference between the conditions, attributed to the facts only if one was given."""
    given = any(talk.facts for key, talk in run.state.conversations.items() if key.condition == "supplied")
    if given:
        return f"The difference is {signed(uplift)}."
    return f"No fact was given, so the difference of {signed(uplift)} is not due to the facts."


def _condition_words(condition: ConditionSummary) -> str:
    named = condition.title != f"facts {condition.condition}"
    where = f"in “{condition.title}”" if named else f"with the {condition.title}"
    if condition.score.mean is None:
        why = ", ".join(FAILED.get(reason, reason) for reason, _ in condition.score.counted.reasons)
        return f"{where} the agent could not be scored" + (f" ({why})" if why else "")
    passed = sum(tries.successes for tries in condition.tries)
    total = sum(tries.trials for tries in condition.tries)
    one = all(tries.trials == 1 for tries in condition.tries)
    done = f"{passed} of {plural(total, 'task')} done" if one else f"tasks passed {passed} of {total} times"
    tasks = f", {done}" if total else ""
    return f"{where} the agent scored {number(condition.score.mean)}{tasks}"
