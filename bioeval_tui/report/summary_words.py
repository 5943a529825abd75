"""Summaries of repeated runs as lines for terminals and Markdown, by condition."""

from __future__ import annotations

from bioeval_tui import units
from bioeval_tui.report import words
from bioeval_tui.report.sentences import concurrency_words, counted_words, difference_words, spread_words
from bioeval_tui.report.statistics.estimates import Estimate
from bioeval_tui.report.statistics.latency import LatencySummary
from bioeval_tui.report.summary import ConditionSummary, Summary
from bioeval_tui.text import plural


def summary_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return lines as (label, value)."""
    found: list[tuple[str, str]] = []
    for condition in summary.conditions:
        about = condition.title
        found += [
            (about, _estimate(condition.score)),
            (about, f"pass^k over tasks {words.pass_words(condition.pass_k)}"),
            *tag_lines(condition),
            (about, f"{_times(summary, condition)}; {plural(condition.failures, 'failure')}"),
        ]
    found += cost_lines(summary)
    if summary.uplift is not None and summary.uplift.mean is not None:
        found.append(("uplift from the facts", difference_words(summary.uplift)))
        found += [
            (f"uplift of “{uplift.title}”", difference_words(uplift.difference))
            for uplift in summary.task_uplifts
            if uplift.difference.mean is not None
        ]
    return found


def tag_lines(condition: ConditionSummary) -> list[tuple[str, str]]:
    """Return a line for each tag of the rubric's items, as `summary_lines` does."""
    return [(condition.title, f"rubric, {tag.tag}: {_estimate(tag.score)}") for tag in condition.tags]


def cost_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the tokens and the cost of all conversations, as `summary_lines` does."""
    return [("tokens", words.token_words(summary.spent)), ("cost", words.cost_words(summary.spent))]


def _times(summary: Summary, condition: ConditionSummary) -> str:
    if condition.latency.p50_ms is None and all(run.started.source for run in summary.runs):
        return "response times unknown"
    return latency_words(condition.latency)


def latency_words(found: LatencySummary) -> str:
    """Return response times on one line, with the concurrency under which they were measured."""
    times = (
        ("median", found.p50_ms), ("p90", found.p90_ms), ("p95", found.p95_ms), ("longest", found.max_ms),
        ("median first token", found.first_token_ms),
    )  # fmt: skip
    listed = ", ".join(f"{name} {units.latency(value)}" for name, value in times)
    return f"response time {listed} ({concurrency_words(found)})"


def _estimate(score: Estimate) -> str:
    error = "" if score.standard_error is None else f", standard error {units.number3(score.standard_error)}"
    beside = score.with_excluded_as_zero
    zeros = f"; {units.number(beside)} with the excluded as 0" if score.counted.excluded else ""
    return f"{units.number(score.mean)} ({spread_words(score)}; {counted_words(score.counted)}{error}{zeros})"
