"""Runs in a terminal without a screen: progress on stderr; score cards, comparisons and ranks on
stdout, without markup; and the lines printed when a run's screen closes.
"""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bioeval_tui.base import units
from bioeval_tui.base.consoles import finished_table, plain_console, write_lines
from bioeval_tui.base.errors import BioevalError, ExitCode
from bioeval_tui.base.text import clean, plural, shorten
from bioeval_tui.base.units import DASH, latency, number, signed
from bioeval_tui.base.widths import padded
from bioeval_tui.record import events, reviews
from bioeval_tui.record.attachments import file_words, has_contents
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import CANCELLED_AT_START
from bioeval_tui.record.participants import SPEAKERS
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import is_live
from bioeval_tui.record.state import Change, RunState, apply_all
from bioeval_tui.record.tool_calls import injected_words
from bioeval_tui.report import words
from bioeval_tui.report.answer import NEVER_STARTED, Answer, answer_batch
from bioeval_tui.report.answer_labels import WIDTH
from bioeval_tui.report.answer_notes import CUT_OFF, EMPTY
from bioeval_tui.report.beside import BesideEachOther, pair_outcomes
from bioeval_tui.report.comparison import Comparison, ConditionComparison, compare
from bioeval_tui.report.result import RunResult, load_run, result_of
from bioeval_tui.report.run import ENDS, ConversationResult
from bioeval_tui.report.summary import ConditionRanking
from bioeval_tui.report.words import (
    TONE,
    WORDS_TOLD,
    cost_lines,
    summary_lines,
    tag_lines,
    verdict,
)
from bioeval_tui.statistics.estimates import Proportion

NOT_AT_THE_END = "– not checked"
"""Assertions that passed during an invalid conversation say nothing about its outcome."""
STATUS_SIGNS = {"passed": "✓ passed", "failed": "✗ failed", "not_measured": "· not measured"}

Tallies = dict[str, Counter[tuple[Condition, str]]]
"""By title, how many trials of each condition ended with each status."""


def say(console: Console, line: str) -> None:
    """Write one line, cleaned."""
    write_lines(console, clean(line).replace("\n", " ") + "\n")


def text_table(texts: Sequence[str | Text], numbers: Sequence[str | Text]) -> Table:
    """Return a table without lines: columns of texts, which wrap, then of numbers, right-aligned
    and whole.
    """
    table = Table(box=None, pad_edge=False)
    for title in texts:
        table.add_column(title, overflow="fold")
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table


class ProgressLines:
    """Prints one line per event."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, state: RunState, event: events.RunEvent, change: Change) -> None:
        """Print an event for a run without a screen."""
        line = _line(state, event)
        if line is not None:
            name = ""
            if event.condition:
                name = state.condition_title(event.condition)
            width = max(map(cell_len, map(state.condition_title, state.conditions)))
            say(self._console, f"{padded(name, width)}  {line}")


def _line(state: RunState, event: events.RunEvent) -> str | None:
    match event:
        case events.RunStarted():
            who = f"agent {event.agent}, evaluator {event.evaluator}, judge {event.judge}"
            if event.judge == "rules":
                who += ", which find words and read no meaning"
            if event.rehearsal:
                who = f"rehearsal, {who}"
            return f"run {event.run_id}: {event.job_name} ({who})"
        case events.MessageCompleted():
            marked = []
            if event.cut_off:
                marked.append(CUT_OFF)
            files = file_words(event.generation)
            if (
                event.role == "assistant"
                and not event.content.strip()
                and not has_contents(event.generation)
            ):
                marked.append(EMPTY)
            marked += injected_words(event.generation)
            said = " ".join(filter(None, (event.content.strip(), *files)))
            line = f"{SPEAKERS[event.role]}: {shorten(said, 110)}"
            if event.latency_ms is not None:
                line += f"  [{latency(event.latency_ms)}]"
            if marked:
                line += f"  ({', '.join(marked)})"
            return line
        case events.RequestFailed():
            error = shorten(event.error, 160)
            if event.wait_ms is not None:
                error += f"; retrying in {latency(event.wait_ms)}"
            return f"  {event.peer} failed, attempt {event.request_attempt}: {error}"
        case events.FactDisclosed():
            return f"  fact {event.fact} given{event.asked_words}"
        case events.Warned():
            return f"  note: {event.message}"
        case events.EvaluatorViolated():
            return f"  evaluator: {event.rule}: {event.detail} ({event.outcome})"
        case events.ConversationEnded():
            if event.detail:
                return f"  ended: {ENDS[event.how]}: {event.explained}"
            return f"  ended: {ENDS[event.how]}"
        case events.ConversationScored():
            line = f"  score {number(event.score)}"
            if event.reason and not _told_at_the_end(state, event):
                line += f" ({event.reason})"
            return line
        case events.RunEnded(detail=detail) if detail:
            return f"run {event.status}: {detail}"
        case _:
            return None


def _told_at_the_end(state: RunState, event: events.ConversationScored) -> bool:
    """Whether the line before, of the conversation's end, has explained why there is no score."""
    if not event.condition:
        return False
    talk = state.conversation(event.condition, event.trial or 1)
    if talk is None or talk.ended is None or not talk.ended.explained:
        return False
    return talk.ended.explained in event.reason


def print_score_card(result: RunResult | None, console: Console, trial: int | None = None) -> None:
    """Print the answer, the mean, each conversation's parts, tasks and assertions, and the cost.

    For several trials, prints the figures over all and how many trials passed each task and
    assertion; with `trial`, that trial's parts. `result` is None without a recording.
    """
    if result is None:
        console.print("There is no recording: the run never started, or its file was removed.")
        return
    brief = result.brief
    people = [*result.people_say]
    # What people say of a sample that was drawn counts more than the judge, so it comes first.
    if result.sampled:
        for line in people:
            console.print(Text(line, style="bold"), soft_wrap=True)
    print_answer(result.answer, console)
    console.print(Text(mean_line(result)))
    if result.reviewed_words:
        console.print(Text(f"reviewed: {result.reviewed_words}"), soft_wrap=True)
    parts = [brief.job, brief.agent_words, brief.others_words]
    if brief.rehearsal:
        parts.insert(0, "rehearsal")
    if brief.judge_prompt:
        parts[-1] += f", prompt {brief.judge_prompt}"
    console.print(Text(" · ".join(parts)))
    console.print(Text(f"facts: {brief.facts_words}"), soft_wrap=True)
    if not result.sampled:
        print_lines(people, console)
    if result.no_uplift:
        console.print(Text(result.no_uplift), soft_wrap=True)
    elif result.compared:
        console.print(Text(f"clean: {result.compared}"))
    if brief.graph:
        console.print(Text(f"knowledge graph: {brief.graph}"), soft_wrap=True)
    if brief.fhir:
        console.print(Text(f"FHIR server: {brief.fhir}"), soft_wrap=True)
    several = result.planned_trials > 1
    begun = bool(result.trials)
    if several and trial is None:
        _print_all_trials(result, console)
    if begun and several:
        for about, line in summary_lines(result.summary):
            console.print(Text(f"{about}: {line}"), soft_wrap=True)
    if source := brief.source:
        line = (
            f"imported from {source.file} ({source.format}), origin {source.origin}, licence"
            f" {source.licence}"
        )
        if source.times != "told":
            line += ", times unknown"
        console.print(Text(line), soft_wrap=True)
    if trial is not None or not several:
        _print_trial(result, trial or 1, console)
    if begun and not several:
        tags = chain.from_iterable(map(tag_lines, result.summary.conditions))
        for about, line in (*tags, *cost_lines(result.summary)):
            console.print(Text(f"{about}: {line}"))
    shown = f"run {result.run_id}"
    if several and trial is None:
        shown += (
            f" (`bioeval-tui runs show {result.run_id} --trial 1` shows one of its"
            f" {result.planned_trials} trials)"
        )
    console.print(Text(shown), soft_wrap=True)


def _print_trial(result: RunResult, trial: int, console: Console) -> None:
    if result.planned_trials > 1:
        title = f"\ntrial {trial} of {result.planned_trials}"
        if case := result.case_words(trial):
            title += f": case {case}"
        console.print(Text(title, style="bold"))
    talks = result.trial(trial).held
    reasons = {talk.why_no_score for talk in talks if talk.score is None}
    if result.answer.outcome == "agent_unreached" and result.planned_trials == 1:
        ways = chain.from_iterable(talk.ways for talk in talks)
        print_ways(result.answer.other_ways(ways), console)  # the answer says why
    elif (
        len(talks) > 1
        and len(reasons) == 1
        and all(talk.is_scored and talk.score is None for talk in talks)
    ):
        console.print(Text(f"both conditions: no score: {reasons.pop()}"), soft_wrap=True)
    else:
        for talk in talks:
            _print_parts(talk, console)
    _print_tasks(result, talks, console)
    _print_assertions(talks, console)
    for line in result.trial(trial).facts_kept:
        console.print(Text(line), soft_wrap=True)
    if told := result.trial(trial).words_told:
        each = zip(result.trial(trial).titles, told, strict=True)
        line = ", ".join(f"{number} {title}" for title, number in each)
        console.print(Text(f"{WORDS_TOLD}: {line}"), soft_wrap=True)


def _print_all_trials(result: RunResult, console: Console) -> None:
    """Print why conversations have no score, and how many trials passed each task and each
    assertion.
    """
    tasks: Tallies = defaultdict(Counter)
    checks: Tallies = defaultdict(Counter)
    outcomes: Counter[tuple[int, str, Condition, str]] = Counter()
    for name in result.conditions:
        title = result.condition_title(name)
        talks = [talk for talk in result.conversations if talk.condition == name]
        whys = Counter(talk.why_no_score for talk in talks if talk.is_scored and talk.score is None)
        for why, count in whys.items():
            line = f"{title}: no score in {plural(count, 'trial')}: {why}"
            console.print(Text(line), soft_wrap=True)
        verdicts = chain.from_iterable(talk.tasks for talk in talks)
        outcomes.update((task.task, task.title, name, task.outcome) for task in verdicts)
        for check in chain.from_iterable(talk.checks for talk in talks):
            status = check.status if check.final else ""
            checks[f"{check.weight:g}× {check.title}"][name, status] += 1
    for task, times in sorted(outcomes.items(), key=lambda one: one[0][0]):
        place, title, name, outcome = task
        tasks[f"{place} {title}"][name, outcome] += times
    for kind, tallies in (("task", tasks), ("assertion", checks)):
        names = (escape(result.condition_title(name)) for name in result.conditions)
        table = Table(kind, *names, box=None, pad_edge=False)
        for title, tally in tallies.items():
            # A title of one trial alone belongs to its case, of which there may be thousands.
            if tally.total() > len(result.conditions) or not result.has_cases:
                table.add_row(
                    Text(title), *(Text(_tally(tally, name)) for name in result.conditions)
                )
        if table.row_count:
            console.print(table)


def _tally(tally: Counter[tuple[Condition, str]], condition: Condition) -> str:
    """Return how often a task or assertion failed, or that it always passed: `✗ failed in 2 of
    3`.
    """
    total = sum(count for (name, _), count in tally.items() if name == condition)
    counts = [
        f"{sign} in {count} of {total}"
        for status, sign in (*STATUS_SIGNS.items(), ("", NOT_AT_THE_END))
        if (count := tally[condition, status]) and (status != "passed" or count == total)
    ]
    return ", ".join(counts) or DASH


def print_other_run(run: Path, other: Path) -> None:
    """Print what came out of two recordings of the same job, why, and how sure that is."""
    console, second = plain_console(), load_run(other)
    console.print()
    console.print(
        Text(f"beside it, recorded: {second.brief.agent_words}", style="bold"), soft_wrap=True
    )
    found = compare(load_run(run), second)
    print_answer(replace(found.answer, why=""), console)  # it follows with both answers in full
    _print_pair(pair_outcomes(found), console)


def _print_pair(pair: BesideEachOther, console: Console) -> None:
    table = text_table([""], [*map(Text, pair.conditions)])
    for name, values in pair.scores:
        table.add_row(Text(name), *map(number, values))
    console.print(table)
    if pair.assertion:
        console.print(Text(f"differs: {pair.condition}, “{pair.assertion}”"), soft_wrap=True)
        console.print(Text(f"the user: “{pair.user}”"), soft_wrap=True)
        for said in pair.said:
            passed = "passed" if said.passed else "failed"
            console.print(
                Text(f"{said.agent}, turn {said.turn}, {passed}: “{said.words}”"), soft_wrap=True
            )


def print_answer(answer: Answer, console: Console) -> None:
    """Print what came out, how sure, why and what next: a label and a text on each line."""
    for label, text in answer.lines:
        console.print(Text.assemble((padded(label, WIDTH), "dim"), text), soft_wrap=True)


def mean_line(result: RunResult) -> str:
    """Return the mean of the job's conditions, or what it needs."""
    return f"{result.mean_words} {result.mean_needs or number(result.mean)}"


def _print_parts(talk: ConversationResult, console: Console) -> None:
    if talk.score is None:
        console.print(Text(f"{talk.title}: no score: {talk.why_no_score}"))
    if not talk.parts:
        return
    parts = []
    for part in talk.parts:
        value = "left out" if part.left_out else number(part.value)
        parts.append(f"{part.name} {value} ×{part.weight:g}")
    parts.append(f"− penalty {number(talk.penalty)}")
    if talk.average_ms is not None:
        parts.append(f"average {latency(talk.average_ms)}")
    if talk.reason and talk.score is not None:
        parts.append(talk.reason)
    console.print(Text(f"{talk.title}: {'   '.join(parts)}"))


def _print_tasks(result: RunResult, talks: Sequence[ConversationResult], console: Console) -> None:
    table = Table("task", *(escape(talk.title) for talk in talks), box=None, pad_edge=False)
    rows: dict[str, list[str]] = {}
    tasks: list[tuple[events.TaskScored, int]] = []
    for place, talk in enumerate(talks):
        tasks += [(task, place) for task in talk.tasks]
    for task, place in sorted(tasks, key=lambda one: one[0].task):
        row = rows.setdefault(f"{task.task} {task.title}", ["–"] * len(talks))
        row[place] = verdict(task)
        people = result.people_score(talks[place].condition, talks[place].trial, task.task)
        if people is not None:
            row[place] = f"{words.SIGNS[task.outcome]} {reviews.words(task.score, people)}"
    if any(talk.tone is not None for talk in talks):
        rows[TONE] = [number(talk.tone) for talk in talks]
    for title, cells in rows.items():
        table.add_row(Text(title), *map(Text, cells))
    if rows:
        console.print(table)


def _print_assertions(talks: Sequence[ConversationResult], console: Console) -> None:
    table = Table("assertion", *(escape(talk.title) for talk in talks), box=None, pad_edge=False)
    rows: dict[str, list[str]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for place, talk in enumerate(talks):
        for check in talk.checks:
            row = rows.setdefault(f"{check.weight:g}× {check.title}", ["–"] * len(talks))
            if check.from_start:
                row[place] = f"{STATUS_SIGNS[check.status][0]} {words.FROM_START}"
            elif check.final:
                row[place] = STATUS_SIGNS[check.status]
            else:
                row[place] = NOT_AT_THE_END
            # The reason for no score stands above.
            if check.final and check.reason and check.reason != talk.reason:
                what = f"{STATUS_SIGNS[check.status][0]} {check.title}"
                reasons.setdefault((what, check.reason), []).append(talk.title)
    for title, cells in rows.items():
        table.add_row(Text(title), *map(Text, cells))
    if rows:
        console.print(table)
    for (what, reason), conditions in reasons.items():
        console.print(Text(f"{what}, {' and '.join(conditions)}: {shorten(reason, 300)}"))


def print_manner(result: RunResult, console: Console) -> None:
    """Print how the user speaks, compared with people."""
    for manner in result.manners:
        talks = plural(manner.conversations, "conversation")
        console.print(Text(f"\n{manner.user}, {manner.title}, {talks}", style="bold"))
        table = Table("", box=None, pad_edge=False)
        table.add_column(Text(manner.column), justify="right")
        table.add_column("people", justify="right")
        table.add_column("")
        for row in manner.rows:
            table.add_row(row.label, Text(row.found), row.people, row.unlike_words)
        console.print(table)
        console.print(Text(manner.note), soft_wrap=True)


def print_agent_side(result: RunResult, console: Console) -> None:
    """Print what rules found about the agent, as a table; nothing if nobody asked."""
    if result.agent_side_words:
        console.print(Text(f"\n{result.agent_side_words}"), soft_wrap=True)
    if not result.agent_side:
        return
    console.print(Text("\nagent's side (in no score)", style="bold"))
    table = Table("where", "rule", "", box=None, pad_edge=False)
    for row in result.agent_side:
        table.add_row(Text(row.where), Text(row.rule), Text(row.detail))
    console.print(table)


def print_judged_again(result: RunResult, console: Console) -> None:
    """Print a table for each conversation that was judged again: tasks as rows, each verdict as a
    column.
    """
    for again in result.judged_again.values():
        titles = ["task"]
        for row in again.rows:
            when = "as recorded"
            if row.at:
                when = f"{row.at[:16].replace('T', ' ')} {row.author}"
            if row.counts:
                when += " (counts)"
            about = (
                when,
                row.judge,
                row.prompt_words,
                row.job_words,
                f"asked {row.asked_words}",
            )
            titles.append("\n".join(about))
        # With another rubric, an item has the number of another task.
        judged = chain.from_iterable(row.verdict.tasks for row in again.rows)
        tasks = dict.fromkeys((task.task, task.title) for task in judged)
        rows = []
        for task, title in sorted(tasks, key=lambda one: one[0]):
            found = [
                next(
                    (
                        each
                        for each in row.verdict.tasks
                        if (each.task, each.title) == (task, title)
                    ),
                    None,
                )
                for row in again.rows
            ]
            cells = (DASH if each is None else verdict(each) for each in found)
            rows.append([f"{task} {title}", *cells])
        rows.append(["score", *(number(row.score) for row in again.rows)])
        _print_verdicts(f"\njudged again: {again.where}", titles, rows, console)
    print_lines([*result.changed_criteria, *result.changed_assertions], console)
    if result.judged_again:
        console.print(Text(result.judged_again_words), soft_wrap=True)


def _print_verdicts(
    heading: str, titles: Sequence[str], rows: Sequence[Sequence[str]], console: Console
) -> None:
    """Print the verdicts on a conversation; the last row is bold."""
    finished = finished_table(console, titles, rows)
    if finished is not None:
        write_lines(console, f"{heading}\n{finished}")
        return
    console.print(Text(heading, style="bold"))
    table = Table(titles[0], box=None, pad_edge=False)
    for title in titles[1:]:
        table.add_column(Text(title), justify="right")
    for row in rows[:-1]:
        table.add_row(*map(Text, row))
    table.add_row(*(Text(cell, style="bold") for cell in rows[-1]))
    console.print(table)


def say_goodbye(paths: Sequence[Path], engine: int | None) -> ExitCode:
    """Print each run's scores, id and how to replay it; return the exit code.

    `engine` is the engine's exit code, None while it runs: it may not have begun a recording yet.
    0: scored, or left running. 3: ended without a score, or never started. 130: cancelled from the
    screen.
    """
    found = [_one(path) for path in paths if path.exists()]
    if not found and engine is None:
        print_lines([_CONTINUES, *_what_next(paths[0].stem, ExitCode.OK, True)], plain_console())
        return ExitCode.OK
    if not found and engine == -signal.SIGTERM:
        print_lines(["the run was stopped before it began; nothing was recorded"], plain_console())
        return ExitCode.INTERRUPTED
    return max(found, default=ExitCode.NOT_MEASURED)


def _one(path: Path) -> ExitCode:
    try:
        result = result_of(apply_all(RunState(), read_recording(path).events), path)
    except BioevalError:
        return ExitCode.NOT_MEASURED  # the screen has said what is wrong with the recording
    live = is_live(path)
    code = ExitCode.OK if live else _exit_code(result)
    lines = [*_how_it_ended(result, code, live=live), *_what_next(path.stem, code, live)]
    print_lines(lines, plain_console())
    return code


def print_answer_of(paths: Sequence[Path], advice: str) -> None:
    """Print the answer of recorded runs, and what to do next."""
    print_answer(answer_batch([load_run(path) for path in paths]), plain_console())
    print_lines([advice], plain_console())


def print_lines(lines: Iterable[str], console: Console) -> None:
    """Print each line whole, however wide the terminal is."""
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def print_ways(ways: Iterable[str], console: Console) -> None:
    """Print what the user can do."""
    print_lines((f"what you can do: {way}" for way in ways), console)


def _exit_code(result: RunResult | None) -> ExitCode:
    if result is None:
        return ExitCode.NOT_MEASURED
    if result.measured:
        return ExitCode.OK
    # A spent budget cancels with a reason, a person on the screen without one.
    by_hand = result.status == "cancelled" and result.detail in ("", CANCELLED_AT_START)
    if by_hand:
        return ExitCode.INTERRUPTED
    return ExitCode.NOT_MEASURED


def _how_it_ended(result: RunResult | None, code: ExitCode, *, live: bool) -> list[str]:
    if live:
        return [_CONTINUES]
    if code == ExitCode.INTERRUPTED:
        return ["the run was interrupted; its engine and its servers have stopped"]
    if result is None:
        return [NEVER_STARTED.what]
    lines = [
        *(padded(label, WIDTH) + text for label, text in result.answer.lines),
        mean_line(result),
    ]
    if code == ExitCode.NOT_MEASURED:
        reasons = (
            talk.why_no_score
            for talk in result.conversations
            if talk.is_scored and talk.score is None
        )
        lines += [f"no score: {reason}" for reason in dict.fromkeys(reasons)]
    return lines


def _what_next(run_id: str, code: ExitCode, live: bool) -> list[str]:
    if live:
        return [f"attach to it: bioeval-tui watch {run_id}"]
    lines = [f"replay it: bioeval-tui runs replay {run_id}"]
    if code != ExitCode.OK:
        if code == ExitCode.INTERRUPTED:
            lines.append(f"continue it: bioeval-tui runs resume {run_id}")
        lines.append(f"exit code {int(code)}: {_MEANS[code]}")
    return lines


_CONTINUES = "the run continues in the background"
_MEANS = {ExitCode.NOT_MEASURED: "could not be measured", ExitCode.INTERRUPTED: "interrupted"}


def print_comparison(found: Comparison, console: Console, *, texts: bool = False) -> None:
    """Print the answer first, then tasks, assertions and turns; `texts` shows the agent's
    messages.
    """
    print_answer(found.answer, console)
    print_lines(found.brief_words, console)
    print_lines(found.told, console)
    for side in found.compared:
        console.print()
        _print_condition(side, console, texts)
    if found.regressions:
        console.print()
        console.print("--fail-on-regression counts:", markup=False)
        print_lines((f"  {line}" for line in found.regressions), console)


def _print_condition(side: ConditionComparison, console: Console, texts: bool) -> None:
    table = text_table([Text(side.title)], ["A", "B", "difference"])
    table.add_row(
        "score", units.number(side.a.mean), units.number(side.b.mean), units.signed(side.score.mean)
    )
    for part in side.parts:
        table.add_row(
            f"  {part.title}",
            *map(units.number3, part.means),
            units.DASH if part.change is None else signed(part.change, 3),
        )
    if any(one.failed for one in side.requests):
        failed_a, failed_b = (one.failed for one in side.requests)
        counts = (f"{one.failed} of {one.sent}" for one in side.requests)
        table.add_row("failed requests", *counts, f"{failed_b - failed_a:+d}".replace("-", "−"))
    for task in side.tasks:
        table.add_row(
            Text(f"task: {task.title}"),
            units.number(task.a.mean) if task.a else "not in A",
            units.number(task.b.mean) if task.b else "not in B",
            units.signed(task.change),
        )
    for check in side.assertions:
        change = "" if check.change == "same" else check.change
        table.add_row(
            Text(f"assertion: {check.title}"),
            _passed_words(check.a, "A"),
            _passed_words(check.b, "B"),
            change,
        )
    if side.latency is not None and side.latency.mean is not None:
        a_ms, b_ms = map(units.latency, side.averages_ms)
        moved = units.latency_change(side.latency.mean)
        if round(side.latency.mean):
            how = "faster" if side.latency.mean < 0 else "slower"
            moved = f"{units.latency(abs(side.latency.mean))} {how}"
        table.add_row("average answer", a_ms, b_ms, moved)
    _add_cost(table, side)
    console.print(table)
    _print_turns(side, console, texts)


def _add_cost(table: Table, side: ConditionComparison) -> None:
    table.add_row("cost", words.cost_short(side.cost_a), words.cost_short(side.cost_b), "")
    for peer in ("agent", "evaluator", "judge"):
        cells = [words.peer_tokens(cost.of(peer)) for cost in (side.cost_a, side.cost_b)]
        if any(cells):
            table.add_row(f"tokens: {peer}", *(cell or units.DASH for cell in cells), "")


def _print_turns(side: ConditionComparison, console: Console, texts: bool) -> None:
    if not (texts or side.turns.have_times):
        return  # nothing but dashes, as of imported files without times
    table = text_table([], ["trial", "turn", "A", "B", "difference"])
    if texts:
        table.add_column("agent in A", ratio=1, overflow="fold")
        table.add_column("agent in B", ratio=1, overflow="fold")
    for turn in side.turns:
        change = turn.difference_ms
        cells = [
            str(turn.trial),
            str(turn.turn),
            units.latency(turn.a_ms),
            units.latency(turn.b_ms),
            units.latency_change(change),
        ]
        agents = [
            Text(" / ".join(m.text for m in messages if m.role == "assistant"))
            for messages in (turn.a, turn.b)
        ]
        if texts:
            table.add_row(*cells, *agents)
        else:
            table.add_row(*cells)
    if side.turns:
        console.print(table)


def _passed_words(found: Proportion | None, name: str) -> str:
    if found is None:
        return f"not in {name}"
    if found.total == 1:
        if found.successes:
            return "✓"
        return "✗"
    if found.total:
        return f"{found.successes} of {found.total}"
    return units.DASH


def print_rankings(found: Sequence[ConditionRanking], console: Console) -> None:
    """Print a table for each condition, the best mean first, and the basis of the ranks."""
    for one in found:
        table = Table(box=None, pad_edge=False)
        table.add_column(Text(one.title), overflow="fold")
        table.add_column("mean", justify="right")
        if one.enough:
            table.add_column("rank", no_wrap=True)
        for name, *figures in one.rows:
            if not one.enough:
                figures = figures[:1]  # without the ranks
            table.add_row(Text(name), *figures)
        console.print(table)
        console.print(Text(one.note), soft_wrap=True)
