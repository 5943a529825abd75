"""Reports as Markdown: for pull requests, job summaries and notes.

Foreign text cannot become markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby

from bioeval_tui.base import units
from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.text import upper_first
from bioeval_tui.record import reviews
from bioeval_tui.record.condition_names import Condition, of_mean_words
from bioeval_tui.record.events import TaskScored
from bioeval_tui.record.masking import masking
from bioeval_tui.record.participants import SPEAKERS
from bioeval_tui.report import words
from bioeval_tui.report.comparison import Comparison, pair_comparison
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.gate import GateResult, GateRules
from bioeval_tui.report.messages import MessageBlock, StyledText, message_blocks
from bioeval_tui.report.result import Graded, RunResult, TrialResult, report_title
from bioeval_tui.report.run import reason_of
from bioeval_tui.report.sentences import counted_words
from bioeval_tui.report.summary import (
    ConditionRanking,
    Summary,
    condition_title,
    held_conditions,
    rankings,
    summarise_runs,
)
from bioeval_tui.report.words import summary_lines, tag_lines

_ESCAPED = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]|~$#!"}
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "<span>@</span>"}
)
_STARTS = re.compile(r"^([-+=](?!\d)|\d+(?=[.)](?:\s|$)))")
_EMPHASIS = {"strong": "**", "em": "*", "s": "~~", "": ""}
_TICKS = re.compile("`+")
_RULES = {"left": "---", "center": ":-:", "right": "--:"}
_CHECKED = {"passed": "●", "failed": "○"}


def escape(text: object) -> str:
    """Return `text` on one line with everything that Markdown or HTML would act on made literal.

    Addresses stay text too: a slash of `//` and the dot after `www` are written as entities. An `@`
    becomes an HTML element, because GitHub links addresses and notifies people even after entities
    and backslashes.
    """
    return _escaped_start(_literal(" ".join(str(text).split())))


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], rules: Iterable[str] = ()
) -> list[str]:
    """Return the lines of a table; the cells are escaped already."""
    return [
        "| " + " | ".join(head) + " |",
        "|" + "|".join(rules or ["---"] * len(head)) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def message_lines(label: str, text: str) -> list[str]:
    """Return the lines of a message: one with its label, or the label and a quotation, so that it
    never looks like two.
    """
    blocks = message_blocks(text)
    lines = list(_lines(blocks))
    if len(lines) < 2 and all(block.name in ("paragraph", "heading") for block in blocks):
        return [" ".join([label, *lines])]
    return [label, "", *(f"> {line}".rstrip() for line in lines)]


def _lines(blocks: Sequence[MessageBlock], *, dense: bool = False) -> Iterator[str]:
    """Yield the lines of blocks, with an empty one between two; none before a list if they are
    `dense`.
    """
    for number, block in enumerate(blocks):
        if number and not (
            dense and (block.name == "list" or (block.name == "numbers" and block.start == 1))
        ):
            yield ""
        yield from _block_lines(block)


def _block_lines(block: MessageBlock) -> Iterator[str]:
    match block.name:
        case "heading":
            yield from _text_lines(
                [replace(text, styles=("strong", *text.styles)) for text in block.texts]
            )
        case "code":
            code = "".join(text.text for text in block.texts)
            fence = _fence(code, 3)
            # No language: GitHub draws pictures of some.
            yield from (fence, *code.split("\n"), fence)
        case "rule":
            yield "***"
        case "quote":
            yield from (f"> {line}".rstrip() for line in _lines(block.blocks))
        case "list" | "numbers":
            for number, item in enumerate(block.blocks, block.start):
                mark = f"{number}. " if block.name == "numbers" else "- "
                start = mark
                for line in _lines(item.blocks, dense=True):
                    yield f"{start}{line}".rstrip()
                    start = " " * len(mark)
        case "table":
            head, *rows = block.blocks
            rules = [_RULES[cell.align] for cell in head.blocks]
            yield from table(_cells(head), map(_cells, rows), rules)
        case _:
            yield from _text_lines(block.texts)


def _cells(row: MessageBlock) -> list[str]:
    return [_styled(cell.texts, in_table=True) for cell in row.blocks]


def _text_lines(texts: Sequence[StyledText]) -> Iterator[str]:
    lines = [_escaped_start(line.strip()) for line in _styled(texts).split("\n") if line.strip()]
    yield from (f"{line}\\" for line in lines[:-1])
    yield from lines[-1:]


def _styled(texts: Sequence[StyledText], *, in_table: bool = False) -> str:
    """Return texts on their lines. Of emphasis within other emphasis, only the outer is kept."""
    found = ""
    for outer, group in groupby(
        texts, lambda text: next((s for s in text.styles if s != "code"), "")
    ):
        inner = "".join(
            _code(text.text, in_table) if "code" in text.styles else _literal(text.text)
            for text in group
        )
        kept, mark = inner.strip(), _EMPHASIS[outer]
        if kept:
            inner = inner.replace(kept, f"{mark}{kept}{mark}", 1)
        found += inner
    return found


def _code(text: str, in_table: bool) -> str:
    ticks = _fence(text, 1)
    if text.startswith("`") or text.endswith("`"):
        text = f" {text} "
    if in_table:
        text = text.replace("|", "\\|")
    return f"{ticks}{text}{ticks}"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(text)), default=0))


def _literal(text: str) -> str:
    return text.translate(_ESCAPED).replace("//", "&#47;/").replace("www.", "www&#46;")


def _escaped_start(line: str) -> str:
    """Return an escaped line so that it does not start a list, nor underlines a heading."""
    return _STARTS.sub(lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", line)


def write_runs(runs: Sequence[RunResult], asked: Asked) -> Iterator[str]:
    """Yield the report of these runs in pieces, one for each trial: no two are in memory."""
    for lines in _parts(runs):
        yield "".join(f"{line}\n" for line in lines)


def _parts(runs: Sequence[RunResult]) -> Iterator[list[str]]:
    """Yield the lines of the report, part by part."""
    if len(runs) > 1:
        yield [f"# {escape(report_title(runs))}", ""]
        summaries = summarise_runs(runs)
        if (comparison := pair_comparison(runs)) is not None:
            yield _compared(comparison)
        else:
            yield from map(_ranks, rankings(summaries))
        yield from map(_overview, summaries)
    for place, run in enumerate(runs):
        if place:
            yield [""]
        yield from _page(run)
    if masking():
        yield [
            "",
            (
                "Names and identifiers that the masking rules found are replaced: masking, not"
                " de-identification."
            ),
        ]


def write_gate(runs: Sequence[RunResult], rules: GateRules, result: GateResult) -> str:
    """Return the short summary for CI: the thresholds, the verdict, and one row for each run."""
    verdict = {0: "Passed", 1: "Below the threshold", 3: "Could not be measured"}.get(
        int(result.exit_code), "Failed"
    )
    if result.exit_code == ExitCode.OK and not rules.given:
        verdict = "No threshold was given"  # an agent that did everything wrong has not passed
    lines = [f"## {verdict}", ""]
    lines += [f"- {escape(note)}" for note in result.notes]
    several = len({check.model for check in result.checks}) > 1
    if result.checks:
        rows = []
        for check in result.checks:
            job = check.job
            if several and check.model:
                job += f" · {check.model}"
            rows.append(
                [
                    words.SIGNS[check.status],
                    escape(job),
                    escape(_condition_words(runs, check.condition)),
                    escape(check.rule),
                    check.bar_words,
                    check.value_words,
                    escape(check.words),
                ]
            )
        lines += ["", *table(["", "job", "condition", "rule", "threshold", "value", ""], rows)]
    lines += ["", f"{escape(counted_words(result.counted))}.", ""]
    rows, answers, conditions = [], [], held_conditions(runs)
    for run in runs:
        held = [run.summary.of(name) for name in conditions]
        scores = [units.number(each.score.mean) if each else units.DASH for each in held]
        job = run.brief.job
        if several and run.brief.model:
            job += f" · {run.brief.model}"
        cost = escape(words.cost_words(run.summary.spent))
        mean = run.mean_needs or units.number(run.mean)
        rows.append([escape(job), *scores, mean, cost, escape(run.run_id)])
        answers.append((job, run.answer.lines))
    titles = [escape(condition_title(runs, name)) for name in conditions]
    head = [
        "job",
        *titles,
        f"mean of {of_mean_words(conditions)}",
        "cost",
        "run",
    ]
    lines += table(head, rows)
    for name, told in answers:
        lines += ["", f"**{escape(name)}**", "", *answer_lines(told)]
    return "\n".join([*lines, ""])


def _condition_words(runs: Sequence[RunResult], condition: Condition | None) -> str:
    """Return the title of a check's condition, or of how many of them its value is a mean."""
    if condition is None:
        return of_mean_words(held_conditions(runs))
    return condition_title(runs, condition)


def _compared(comparison: Comparison) -> list[str]:
    told = _paragraphs(comparison.told)
    return [
        "## Compared",
        "",
        *answer_lines(comparison.answer.lines),
        "",
        *told,
        *(f"- {escape(line)}" for line in comparison.brief_words),
        "",
    ]


def _ranks(ranking: ConditionRanking) -> list[str]:
    rows = [[escape(name), mean, escape(ranks)] for name, mean, ranks in ranking.rows]
    title, head = "## Ranks", ["agent", escape(ranking.title), "rank"]
    if not ranking.enough:
        title, head, rows = "## Means", head[:-1], [row[:-1] for row in rows]
    return [
        title,
        "",
        *table(head, rows),
        "",
        f"{escape(ranking.note)}.",
        "",
    ]


def answer_lines(lines: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines of an answer as a list, each with its label."""
    return [f"- **{label}** {escape(text)}" for label, text in lines]


def _overview(summary: Summary) -> list[str]:
    lines = [f"- {escape(about)}: {escape(words)}" for about, words in summary_lines(summary)]
    return [f"## {escape(summary.label)}", "", *lines, ""]


def _paragraphs(texts: Iterable[str], mark: str = "") -> list[str]:
    """Return the lines of a paragraph for each text, with a mark of emphasis around it."""
    lines = []
    for text in texts:
        lines += [f"{mark}{escape(text)}{mark}", ""]
    return lines


def _page(page: RunResult) -> Iterator[list[str]]:
    """Yield the lines about a run: those of all its trials, of each trial, and of the run."""
    is_single = len(page.trials) == 1
    yield _head(page)
    for number in page.trials:
        trial = page.trial(number)
        if is_single:
            yield _trial(page, trial, "##")
        else:
            yield [f"## {escape(trial.heading)}", "", *_trial(page, trial, "###")]
    yield (
        _agent_side(page)
        + _manner(page)
        + _times(page)
        + _costs(page)
        + _judged_again(page)
        + _reviews(page)
    )
    yield ["## About this run", ""]
    yield [f"- {escape(label)}: {escape(value)}" for label, value in page.versions]


def _head(page: RunResult) -> list[str]:
    people = list(map(upper_first, page.people_say))
    lines = [f"# {escape(page.brief.job)}", ""]
    if page.brief.about:
        lines += [escape(page.brief.about), ""]
    lines += [
        f"Agent: {escape(page.brief.agent_words)} · {escape(page.brief.others_words)}",
        "",
        f"Facts: {escape(page.brief.facts_words)}",
        "",
    ]
    if page.sampled:  # what people would say stands first, if it is an estimate
        lines += _paragraphs(people, mark="**")
    lines += [
        *answer_lines(page.answer.lines),
        "",
        f"{upper_first(page.mean_words)}: **{units.number(page.mean)}**",
        "",
    ]
    if page.why_no_mean:
        lines += [escape(page.why_no_mean), ""]
    if not page.sampled:
        lines += _paragraphs(people)
    if page.reviewed_words:
        lines += [f"Reviewed: {escape(page.reviewed_words)}", ""]
    if page.compared:
        lines += [f"Clean: {escape(page.compared)}.", ""]
    if page.warnings:
        lines += [*(f"- {escape(line)}" for line in page.warnings), ""]
    if len(page.trials) > 1:
        lines += _overview(page.summary)
    elif tagged := list(chain.from_iterable(map(tag_lines, page.summary.conditions))):
        lines += [*(f"- {escape(about)}: {escape(words)}" for about, words in tagged), ""]
    return lines


def _trial(page: RunResult, trial: TrialResult, level: str) -> list[str]:
    lines: list[str] = []
    if trial.tasks:
        lines += [f"{level} Tasks", "", *_tasks(page, trial), ""]
    if trial.assertions:
        lines += [f"{level} Assertions", "", *_assertions(page, trial), ""]
    if trial.facts:
        rows = [[f"{fact.number}. {escape(fact.text)}", *fact.given] for fact in trial.facts]
        if trial.words_told:
            rows.append([f"*{words.WORDS_TOLD}*", *trial.words_told])
        lines += [
            f"{level} Facts ledger",
            "",
            *table(["fact", *map(escape, trial.titles)], rows),
            "",
        ]
        if trial.facts_kept:
            lines += [*(f"- {escape(line)}" for line in trial.facts_kept), ""]
    if trial.medals:
        lines += [f"{level} Graded submissions", "", *map(_graded, trial.medals), ""]
    return lines + _conversations(trial, level)


def _tasks(page: RunResult, trial: TrialResult) -> list[str]:
    rows = []
    for task in trial.tasks:
        cells = []
        for condition, verdict in task.verdicts.items():
            if verdict is None and not task.counts_in(condition):
                cells.append(words.FINAL["elsewhere"])
            else:
                people = _people(page, condition, trial.trial, task.number, verdict)
                cells.append(_verdict(verdict) + people)
        rows.append([escape(task.title), *cells, units.signed(task.uplift)])
    if trial.tones:
        rows.append([f"*{words.TONE}*", *map(units.number, trial.tones), ""])
    head = ["task", *map(escape, trial.titles), "difference"]
    if len(trial.titles) == 1:  # there is nothing to compare
        return table(head[:-1], [row[:-1] for row in rows])
    return table(head, rows)


def _assertions(page: RunResult, trial: TrialResult) -> list[str]:
    rows, reasons = [], []
    for assertion in trial.assertions:
        cells = []
        for condition, checks in assertion.timelines.items():
            turns = "".join(_CHECKED.get(check.status, "?") for check in checks)
            cells.append(f"{turns} {words.final(assertion, condition)}".strip())
            final = assertion.finals[condition]
            if final and final.reason:
                where = escape(page.condition_title(condition))
                reasons.append(f"- {escape(assertion.title)}, {where}: {escape(final.reason)}")
        rows.append([escape(assertion.title), f"{assertion.weight:g}×", *cells])
    lines = table(["assertion", "weight", *map(escape, trial.titles)], rows)
    if reasons:
        return [*lines, "", *reasons]
    return lines


def _graded(card: Graded) -> str:
    if card.report is None:
        return f"- {escape(card.title)}: not graded: {escape(card.error)}"
    medal = f"{words.medal_word(card.report)}, {words.standing(card.report)}"
    return f"- {escape(card.title)}: {escape(card.report.task_id)}: {escape(medal)}"


def _verdict(verdict: TaskScored | None) -> str:
    if verdict is None:
        return units.DASH
    return f"{words.verdict(verdict)} {escape(reason_of(verdict))}"


def _people(
    page: RunResult, condition: Condition, trial: int, task: int, verdict: TaskScored | None
) -> str:
    score = page.people_score(condition, trial, task)
    if score is None:
        return ""
    return f" **{reviews.words(verdict.score if verdict else None, score)}**"


def _conversations(trial: TrialResult, level: str) -> list[str]:
    lines: list[str] = []
    for place, title in enumerate(trial.titles):
        talk = trial.conversations[place]
        if talk is None:
            continue
        lines += [
            f"{level} Conversation, {escape(title)}",
            "",
            escape(talk.ending or "not ended"),
            "",
        ]
        for turn in trial.turns:
            for message in turn.sides[place]:
                label = f"**{SPEAKERS[message.role]}**"
                if message.latency_ms is not None:
                    label += f" ({units.latency(message.latency_ms)})"
                for note in message.notes:
                    if note.kind == "unsent":
                        label += f" ({note.words})"
                label += ":"
                lines += [*message_lines(label, message.text), ""]
                lines += [
                    f"*{escape(note.words)}*\n" for note in message.notes if note.kind != "unsent"
                ]
    return lines


def _agent_side(page: RunResult) -> list[str]:
    if not page.agent_side_words:
        return []
    said = ["## Agent's side", "", f"{escape(upper_first(page.agent_side_words))}.", ""]
    if not page.agent_side:
        return said
    rows = [[escape(row.where), row.rule, escape(row.detail)] for row in page.agent_side]
    return [
        *said,
        "Found by rules in the agent's words; no score contains it.",
        "",
        *table(["where", "rule", ""], rows),
        "",
    ]


def _manner(page: RunResult) -> list[str]:
    lines: list[str] = []
    for manner in page.manners:
        rows = [
            [
                row.label,
                escape(row.found),
                escape(row.people),
                row.unlike_words,
            ]
            for row in manner.rows
        ]
        head = ["", escape(manner.column), "people", ""]
        lines += [
            f"## {upper_first(manner.user)}, {escape(manner.title)}",
            "",
            *table(head, rows),
            "",
            f"{escape(manner.note)}.",
            "",
        ]
    return lines


def _times(page: RunResult) -> list[str]:
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
        rows.append([escape(condition.title), *map(units.latency, values), str(condition.failures)])
    head = ["", "average", "median", "p90", "p95", "longest", "median first token", "failures"]
    return ["## Response times", "", f"{page.concurrency}.", "", *table(head, rows), ""]


def _costs(page: RunResult) -> list[str]:
    rows = []
    for condition in page.summary.conditions:
        for peer in condition.spent.peers:
            counts = (words.tokens(count, peer) for count in (peer.tokens_in, peer.tokens_out))
            rows.append(
                [escape(condition.title), peer.peer, *counts, escape(words.peer_dollars(peer))]
            )
        rows.append(
            [escape(condition.title), "together", "", "", escape(words.cost_words(condition.spent))]
        )
    why = escape(words.why_unknown(page.summary.spent))
    head = ["", "", "tokens in", "tokens out", "cost"]
    lines = ["## Tokens and cost", "", *table(head, rows), ""]
    if why:
        lines += [f"{why}.", ""]
    return lines


def _judged_again(page: RunResult) -> list[str]:
    """Return the section on later verdicts, and what their criteria changed; empty without any."""
    if not page.judged_again:
        return []
    rows = []
    for again in page.judged_again.values():
        rows += [
            [
                again.where,
                escape(row.judge),
                escape(row.prompt_words),
                escape(row.author or "as recorded"),
                escape(row.at),
                escape(row.job_words),
                escape(row.asked_words),
                escape(row.task_words),
                units.number(row.score),
                "counts" if row.counts else "",
            ]
            for row in again.rows
        ]
    head = [
        "conversation",
        "judge",
        "prompt",
        "by whom",
        "when",
        "criteria",
        "asked",
        "tasks",
        "score",
        "",
    ]
    lines = ["## Judged again", "", *table(head, rows), ""]
    changed = [f"- {escape(line)}" for line in (*page.changed_criteria, *page.changed_assertions)]
    if changed:
        lines += [*changed, ""]
    return lines


def _reviews(page: RunResult) -> list[str]:
    if not page.reviews:
        return []
    rows = [
        [escape(r.author), escape(r.at), escape(r.about), escape(r.kind), units.number(r.before),
         units.number(r.after), escape(r.why)]
        for r in page.reviews
    ]  # fmt: skip
    head = ["who", "when", "about", "what", "before", "after", "why"]
    return ["## Reviews and later scores", "", *table(head, rows), ""]
