"""Reports as Markdown: for pull requests, job summaries and notes. Foreign text cannot become markup."""

from __future__ import annotations

from collections.abc import Sequence

from bioeval_tui import score as composite
from bioeval_tui.record import reviews
from bioeval_tui.record.events import TaskScored
from bioeval_tui.record.masking.current import masking
from bioeval_tui.record.names import CONDITIONS, SPEAKERS, Condition
from bioeval_tui.report import words
from bioeval_tui.report.formats.markdown_text import escape, message_lines, table
from bioeval_tui.report.formats.pages import Page, page_of, title_of, trial_title
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.gate import GateResult, GateRules
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.rankings import ConditionRanking, rankings
from bioeval_tui.report.summary import Summary, summarise_runs
from bioeval_tui.report.summary_words import summary_lines, tag_lines
from bioeval_tui.report.view import TARGET, TrialView

_SIGNS = {"passed": "✓", "failed": "✗", "not_measured": "?"}


def markdown_report(runs: Sequence[LoadedRun], *, target: float = TARGET) -> str:
    """Return the report of these runs."""
    lines: list[str] = []
    if len(runs) > 1:
        lines += [f"# {escape(title_of(runs))}", ""]
        summaries = summarise_runs(runs)
        for ranking in rankings(summaries):
            lines += _ranks(ranking)
        for summary in summaries:
            lines += _overview(summary)
    for run in runs:
        lines += _page(page_of(run, target))
    if masking():
        lines += [
            "Names and identifiers that the masking rules found are replaced: masking, not de-identification.",
            "",
        ]
    return "\n".join(lines)


def write_runs(runs: Sequence[LoadedRun], asked: Asked) -> str:
    """Return the report, with the signature of the table of formats."""
    return markdown_report(runs, target=asked.target)


def write_gate(runs: Sequence[LoadedRun], rules: GateRules, result: GateResult) -> str:
    """Return the short summary, with the signature of the table of formats."""
    return gate_markdown(result, runs)


def gate_markdown(result: GateResult, runs: Sequence[LoadedRun]) -> str:
    """Return the short summary for CI: the thresholds, the verdict, and one row for each run."""
    verdict = {0: "Passed", 1: "Below the threshold", 3: "Could not be measured"}.get(
        int(result.exit_code), "Failed"
    )
    lines = [f"## {verdict}", ""]
    lines += [f"- {escape(note)}" for note in result.notes]
    several = len({check.model for check in result.checks}) > 1
    if result.checks:
        rows = [
            [
                _SIGNS[check.status],
                escape(f"{check.job} · {check.model}" if several and check.model else check.job),
                check.condition or "both",
                escape(check.rule),
                words.DASH if check.bar is None else f"{check.bar:g}",
                words.number(check.value),
                escape(check.words),
            ]
            for check in result.checks
        ]
        lines += ["", *table(["", "job", "facts", "rule", "bar", "value", ""], rows)]
    lines += ["", f"{escape(result.counted.words)}.", ""]
    rows, sentences = [], []
    for run in runs:
        page = page_of(run)
        conditions = [
            words.number(found.score.mean) if (found := page.summary.of(name)) else words.DASH
            for name in CONDITIONS
        ]
        job = " · ".join(filter(None, (run.started.job_name, run.state.agent_model if several else None)))
        cost = escape(words.cost_words(page.summary.spent))
        mean = composite.NEEDS_BOTH if run.state.only_condition else words.number(page.mean)
        rows.append([escape(job), *conditions, mean, cost, escape(run.run_id)])
        sentences.append((job, page.conclusion.sentence))
    head = ["job", "facts withheld", "facts supplied", "mean of both", "cost", "run"]
    lines += table(head, rows)
    lines += ["", *(f"- {escape(name)}: {escape(sentence)}" for name, sentence in sentences)]
    return "\n".join([*lines, ""])


def _ranks(found: ConditionRanking) -> list[str]:
    rows = [[escape(name), mean, escape(ranks)] for name, mean, ranks in found.rows]
    head = ["agent", escape(found.title), "rank"]
    return ["## Ranks", "", *table(head, rows), "", f"{escape(found.note)}.", ""]


def _overview(summary: Summary) -> list[str]:
    lines = [f"- {escape(about)}: {escape(found)}" for about, found in summary_lines(summary)]
    return [f"## {escape(summary.label)}", "", *lines, ""]


def _page(page: Page) -> list[str]:
    started = page.run.started
    heads = [f"{escape(c.title)} **{words.number(c.score.mean)}**" for c in page.summary.conditions]
    lines = [
        f"# {escape(started.job_name)}",
        "",
        f"**{escape(page.conclusion.sentence)}**",
        "",
        " · ".join([*heads, f"mean of both **{words.number(page.mean)}**"]),
        "",
        *([escape(page.no_mean), ""] if page.no_mean else []),
        *([f"Reviewed: {escape(line)}", ""] if (line := words.reviewed_words(page.run)) else []),
        escape(page.lead),
        "",
    ]
    if started.rehearsal:
        who = (
            f"{words.who(page.run.state.evaluator, 'evaluator')}, {words.who(page.run.state.judge, 'judge')}"
        )
        lines += [f"This is a rehearsal: {escape(who)}.", ""]
    lines += [f"- {escape(line)}" for line in page.warnings]
    lines += [""] if page.warnings else []
    if len(page.trials) > 1:
        lines += _overview(page.summary)
    elif tagged := [line for condition in page.summary.conditions for line in tag_lines(condition)]:
        lines += [*(f"- {escape(about)}: {escape(found)}" for about, found in tagged), ""]
    for trial in page.trials:
        if len(page.trials) > 1:
            lines += [f"## {escape(trial_title(page.run, trial.trial))}", ""]
        lines += _trial(page.run, trial, "###" if len(page.trials) > 1 else "##")
    lines += _manner(page) + _times(page) + _costs(page) + _judged_again(page) + _reviews(page)
    lines += ["## About this run", ""]
    lines += [f"- {escape(label)}: {escape(value)}" for label, value in page.versions]
    return [*lines, ""]


def _trial(run: LoadedRun, trial: TrialView, level: str) -> list[str]:
    heads = [escape(title) for title in trial.titles]
    lines: list[str] = []
    if trial.tasks:
        rows = []
        for task in trial.tasks:
            cells = [
                f"{_verdict(v)}{_people(run, condition, trial.trial, task.number, v)}"
                for condition, v in task.verdicts.items()
            ]
            rows.append([escape(task.title), *cells, words.signed(task.uplift)])
        if trial.tones:
            rows.append([f"*{words.TONE}*", *map(words.number, trial.tones), ""])
        head = ["task", *heads, "uplift"]
        if len(heads) == 1:  # there is nothing to compare
            head, rows = head[:-1], [row[:-1] for row in rows]
        lines += [f"{level} Tasks", "", *table(head, rows), ""]
    if trial.assertions:
        rows, reasons = [], []
        for assertion in trial.assertions:
            cells = []
            for condition, checks in assertion.timelines.items():
                final = assertion.finals[condition]
                turns = "".join({"passed": "●", "failed": "○"}.get(check.status, "?") for check in checks)
                cells.append(f"{turns} {words.FINAL[final.status if final else '']}".strip())
                if final and final.reason:
                    where = escape(run.state.condition_title(condition))
                    reasons.append(f"- {escape(assertion.title)}, {where}: {escape(final.reason)}")
            rows.append([escape(assertion.title), f"{assertion.weight:g}×", *cells])
        lines += [f"{level} Assertions", "", *table(["assertion", "weight", *heads], rows), ""]
        lines += [*reasons, ""] if reasons else []
    if trial.facts:
        rows = [[f"{f.number}. {escape(f.text)}", *f.given] for f in trial.facts]
        lines += [f"{level} Facts ledger", "", *table(["fact", *heads], rows), ""]
    if trial.medals:
        lines += [f"{level} Graded submissions", ""]
        for card in trial.medals:
            if card.report is None:
                lines.append(f"- {escape(card.title)}: not graded: {escape(card.error)}")
            else:
                said = f"{words.medal_word(card.report)}, {words.standing(card.report)}"
                lines.append(f"- {escape(card.title)}: {escape(card.report.task_id)}: {escape(said)}")
        lines.append("")
    return lines + _conversations(trial, level)


def _verdict(verdict: TaskScored | None) -> str:
    if verdict is None:
        return words.DASH
    return f"{words.verdict(verdict)} {escape(verdict.reason)}"


def _people(run: LoadedRun, condition: Condition, trial: int, task: int, verdict: TaskScored | None) -> str:
    score = run.people_score(condition, trial, task)
    return "" if score is None else f" **{reviews.words(verdict.score if verdict else None, score)}**"


def _conversations(trial: TrialView, level: str) -> list[str]:
    lines: list[str] = []
    for place, title in enumerate(trial.titles):
        talk = trial.talks[place]
        if talk is None:
            continue
        ended = words.ending(talk.ended) if talk.ended else "not ended"
        lines += [f"{level} Conversation, {escape(title)}", "", escape(ended), ""]
        for turn in trial.turns:
            for said in turn.sides[place]:
                message = said.message
                time = f" ({words.seconds(message.latency_ms)})" if message.latency_ms is not None else ""
                unsent = "".join(f" ({note.words})" for note in said.notes if note.kind == "unsent")
                label = f"**{SPEAKERS[message.role]}**{time}{unsent}:"
                lines += [*message_lines(label, said.text), ""]
                lines += [f"*{escape(note.words)}*\n" for note in said.notes if note.kind != "unsent"]
    return lines


def _manner(page: Page) -> list[str]:
    lines: list[str] = []
    for found in page.manners:
        rows = [
            [row.label, escape(row.found), escape(row.people), "unlike these people" if row.unlike else ""]
            for row in found.rows
        ]
        head = ["", escape(found.column), "people", ""]
        lines += [
            f"## The simulated user, {escape(found.title)}",
            "",
            *table(head, rows),
            "",
            f"{escape(found.note)}.",
            "",
        ]
    return lines


def _times(page: Page) -> list[str]:
    rows = []
    for condition in page.summary.conditions:
        times = condition.latency
        values = (
            times.average_ms,
            times.p50_ms,
            times.p90_ms,
            times.p95_ms,
            times.max_ms,
            times.first_token_ms,
        )
        rows.append([escape(condition.title), *map(words.seconds, values), str(condition.failures)])
    head = ["", "average", "median", "p90", "p95", "longest", "median first token", "failures"]
    return ["## Response times", "", f"{page.concurrency}.", "", *table(head, rows), ""]


def _costs(page: Page) -> list[str]:
    rows = []
    for condition in page.summary.conditions:
        for peer in condition.spent.peers:
            counts = (words.tokens(count, peer) for count in (peer.tokens_in, peer.tokens_out))
            rows.append([escape(condition.title), peer.peer, *counts, escape(words.peer_dollars(peer))])
        rows.append([escape(condition.title), "together", "", "", escape(words.cost_words(condition.spent))])
    why = escape(words.why_unknown(page.summary.spent))
    head = ["", "", "tokens in", "tokens out", "cost"]
    return ["## Tokens and cost", "", *table(head, rows), "", *([f"{why}.", ""] if why else [])]


def _judged_again(page: Page) -> list[str]:
    if not page.run.judged_again:
        return []
    rows = [
        [again.where, escape(row.judge), escape(row.prompt_words), escape(row.author or "as recorded"),
         escape(row.at), escape(row.task_words), words.number(row.score), "counts" if row.counts else ""]
        for again in page.run.judged_again.values()
        for row in again.rows
    ]  # fmt: skip
    head = ["conversation", "judge", "prompt", "by whom", "when", "tasks", "score", ""]
    return ["## Judged again", "", *table(head, rows), ""]


def _reviews(page: Page) -> list[str]:
    if not page.run.reviews:
        return []
    rows = [
        [escape(r.author), escape(r.at), escape(r.about), escape(r.kind), words.number(r.before),
         words.number(r.after), escape(r.why)]
        for r in page.run.reviews
    ]  # fmt: skip
    head = ["who", "when", "about", "what", "before", "after", "why"]
    return ["## Reviews and later scores", "", *table(head, rows), ""]
