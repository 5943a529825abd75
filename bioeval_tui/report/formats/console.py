"""A run in a terminal without a screen: progress on stderr, the score card on stdout."""

from __future__ import annotations

from collections import Counter, defaultdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bioeval_tui import score as composite
from bioeval_tui.consoles import write_lines
from bioeval_tui.record import events
from bioeval_tui.record.names import CONDITIONS, SPEAKERS, Condition
from bioeval_tui.record.state import Change, ConversationState, RunState
from bioeval_tui.report.conclusion import conclude
from bioeval_tui.report.judged_again import words
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.manner import manners
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.report.summary_words import cost_lines, summary_lines, tag_lines
from bioeval_tui.report.view import graph_words
from bioeval_tui.report.words import (
    CUT_OFF,
    DASH,
    EMPTY,
    ENDS,
    TONE,
    UNPROVED,
    compared_words,
    number,
    verdict,
    who,
    why_no_score,
)
from bioeval_tui.text import clean, plural, shorten

NOT_AT_THE_END = "– not checked"
"""Assertions that passed during an invalid conversation say nothing about its outcome."""
STATUS_SIGNS = {"passed": "✓ passed", "failed": "✗ failed", "not_measured": "· not measured"}

Tallies = dict[str, Counter[tuple[Condition, str]]]
"""By title, how many trials of each condition ended with each status."""


def say(console: Console, line: str) -> None:
    """Write one line, cleaned."""
    write_lines(console, clean(line).replace("\n", " ") + "\n")


class ProgressLines:
    """Prints one line per event."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, state: RunState, event: events.RunEvent, change: Change) -> None:
        """Print an event for a run without a screen."""
        line = _line(state, event)
        if line is not None:
            name = state.condition_name(event.condition) if event.condition else ""
            width = max(map(len, map(state.condition_name, CONDITIONS)))
            say(self._console, f"{name:<{width}}  {line}")


def _line(state: RunState, event: events.RunEvent) -> str | None:
    match event:
        case events.RunStarted():
            kind = "rehearsal, " if event.rehearsal else ""
            who = f"agent {event.agent}, evaluator {event.evaluator}, judge {event.judge}"
            return f"run {event.run_id}: {event.job_name} ({kind}{who})"
        case events.MessageCompleted():
            time = f"  [{event.latency_ms / 1000:.2f} s]" if event.latency_ms is not None else ""
            marked = [CUT_OFF] if event.cut_off else []
            if event.role == "assistant" and not event.content.strip():
                marked.append(EMPTY)
            notes = f"  ({', '.join(marked)})" if marked else ""
            return f"{SPEAKERS[event.role]}: {shorten(event.content, 110)}{time}{notes}"
        case events.RequestFailed():
            again = f"; retrying in {event.wait_ms / 1000:.1f} s" if event.wait_ms is not None else ""
            return (
                f"  {event.peer} failed, attempt {event.request_attempt}: {shorten(event.error, 160)}{again}"
            )
        case events.FactDisclosed():
            return f"  fact {event.fact} given, {'asked' if event.asked else 'not asked'}"
        case events.Warned():
            return f"  note: {event.message}"
        case events.EvaluatorViolated():
            return f"  evaluator: {event.rule}: {event.detail} ({event.outcome})"
        case events.ConversationEnded():
            return f"  ended: {ENDS[event.how]}" + (f": {event.explained}" if event.detail else "")
        case events.ConversationScored():
            talk = state.conversation(event.condition, event.trial or 1) if event.condition else None
            told = talk is not None and talk.ended is not None and talk.ended.explained  # in the line before
            why = "" if told and told in event.reason else event.reason
            return f"  score {number(event.score)}" + (f" ({why})" if why else "")
        case events.RunEnded(detail=detail) if detail:
            return f"run {event.status}: {detail}"
        case _:
            return None


def print_score_card(run: LoadedRun | None, console: Console, trial: int | None = None) -> None:
    """Print the conclusion, both conditions' scores, their mean, their parts, tasks and assertions, and the cost.

    For several trials, prints the figures over all and how many trials passed each task and assertion; with `trial`,
    that trial's parts. `run` is None if it never started.
    """
    if run is None:
        console.print("The run never started.", markup=False)
        return
    state, started = run.state, run.started
    console.print(Text(conclude(state).sentence, style="bold"), soft_wrap=True)
    console.print(Text(score_line(state)))
    rehearsal = "rehearsal · " if started.rehearsal else ""
    console.print(
        Text(
            f"{rehearsal}{started.job_name} · "
            f"{' · '.join(filter(None, (started.agent, state.agent_model if state.served_model else None)))} · "
            f"{who(state.evaluator, 'evaluator')} · {who(state.judge, 'judge')}"
            + (f", prompt {state.judge_prompt}" if state.judge_prompt else "")
        )
    )
    if not state.clean:
        no_uplift = "" if state.only_condition else ", no uplift is shown"
        console.print(Text(f"{state.cleanness}: {state.why_not_clean}{no_uplift}"))
    elif compared := compared_words(state):
        console.print(Text(f"clean: {compared}"))
    if graph := graph_words(run):
        console.print(Text(f"knowledge graph: {graph}"), soft_wrap=True)
    several = started.trials > 1
    summary = summarise_runs([run])[0] if state.conversations else None
    if several and trial is None:
        _print_all_trials(state, started, console)
    for about, said in summary_lines(summary) if summary and several else ():
        console.print(Text(f"{about}: {said}"), soft_wrap=True)
    if source := started.source:
        times = "" if source.times == "told" else ", times unknown"
        said = f"imported from {source.file} ({source.format}), origin {source.origin}, licence {source.licence}{times}"
        console.print(Text(said), soft_wrap=True)
    if trial is not None or not several:
        _print_trial(state, started, trial or 1, console)
    if summary and not several:
        tags = (line for condition in summary.conditions for line in tag_lines(condition))
        for about, said in (*tags, *cost_lines(summary)):
            console.print(Text(f"{about}: {said}"))
    shown = f"run {started.run_id}"
    if several and trial is None:
        shown += (
            f" (`bioeval-tui runs show {started.run_id} --trial 1` shows one of its {started.trials} trials)"
        )
    console.print(Text(shown), soft_wrap=True)


def _print_trial(state: RunState, started: events.RunStarted, trial: int, console: Console) -> None:
    if started.trials > 1:
        case = f": case {found.words}" if (found := state.case(trial)) else ""
        console.print(Text(f"\ntrial {trial} of {started.trials}{case}", style="bold"))
    talks = [talk for name in started.conditions if (talk := state.conversation(name, trial)) is not None]
    reasons = {why_no_score(talk) for talk in talks if talk.score is None or talk.score.score is None}
    if (
        len(talks) > 1
        and len(reasons) == 1
        and all(talk.score and talk.score.score is None for talk in talks)
    ):
        console.print(Text(f"both conditions: no score: {reasons.pop()}"), soft_wrap=True)
    else:
        for talk in talks:
            _print_parts(state.condition_title(talk.key.condition), talk, console)
    names = [state.condition_name(talk.key.condition) for talk in talks]
    _print_tasks(names, talks, console)
    _print_assertions(names, talks, console)


def _print_all_trials(state: RunState, started: events.RunStarted, console: Console) -> None:
    """Print why conversations have no score, and how many trials passed each task and each assertion."""
    sides = {
        name: [t for t in state.conversations.values() if t.key.condition == name]
        for name in started.conditions
    }
    tasks: Tallies = defaultdict(Counter)
    checks: Tallies = defaultdict(Counter)
    for name, talks in sides.items():
        whys = Counter(why_no_score(talk) for talk in talks if talk.score and talk.score.score is None)
        for why, count in whys.items():
            line = f"{state.condition_title(name)}: no score in {plural(count, 'trial')}: {why}"
            console.print(Text(line), soft_wrap=True)
        verdicts = [task for talk in talks if talk.verdict for task in talk.verdict.tasks]
        if unproved := sum(task.unproved for task in verdicts):
            line = f"{state.condition_title(name)}: {unproved} of {plural(len(verdicts), 'verdict')} unproved: {UNPROVED}"
            console.print(Text(line), soft_wrap=True)
        for talk in talks:
            for task in talk.verdict.tasks if talk.verdict else ():
                status = "passed" if task.passed else "failed"
                tasks[f"{task.task} {task.title}"][name, status] += 1
            for check in talk.latest_checks():
                status = check.status if check.final else ""
                checks[f"{check.weight:g}× {check.title}"][name, status] += 1
    for kind, tallies in (("task", tasks), ("assertion", checks)):
        table = Table(kind, *(escape(state.condition_name(name)) for name in sides), box=None, pad_edge=False)
        for title, found in tallies.items():
            # A title of one trial alone belongs to its case, of which there may be thousands.
            if found.total() > len(sides) or not started.cases:
                table.add_row(Text(shorten(title, 70)), *(Text(_tally(found, name)) for name in sides))
        if table.row_count:
            console.print(table)


def _tally(found: Counter[tuple[Condition, str]], condition: Condition) -> str:
    """Return how often a task or assertion failed, or that it always passed: `✗ failed in 2 of 3`."""
    held = sum(count for (name, _), count in found.items() if name == condition)
    told = [
        f"{sign} in {count} of {held}"
        for status, sign in (*STATUS_SIGNS.items(), ("", NOT_AT_THE_END))
        if (count := found[condition, status]) and (status != "passed" or count == held)
    ]
    return ", ".join(told) or DASH


def score_line(state: RunState) -> str:
    """Return both conditions' scores, then their mean, on one line; of one condition its score."""
    scores = state.scores()
    heads = [f"{state.condition_name(condition)} {number(score)}" for condition, score in scores.items()]
    mean = number(state.ended.mean if state.ended else None)
    if state.only_condition:
        mean = composite.NEEDS_BOTH
    return "   ".join([*heads, f"mean of both {mean}"])


def _print_parts(title: str, talk: ConversationState, console: Console) -> None:
    if talk.score is None or talk.score.score is None:
        console.print(Text(f"{title}: no score: {why_no_score(talk)}"))
    if talk.score is None or not talk.score.parts:
        return
    parts = "   ".join(
        f"{part.name} {'left out' if part.left_out else number(part.value)} ×{part.weight:g}"
        for part in talk.score.parts
    )
    average = talk.score.average_latency_ms
    time = f"   average {average / 1000:.2f} s" if average is not None else ""
    why = f"   {talk.score.reason}" if talk.score.reason and talk.score.score is not None else ""
    console.print(Text(f"{title}: {parts}   − penalty {talk.score.penalty:.2f}{time}{why}"))


def _print_tasks(names: list[str], talks: list[ConversationState], console: Console) -> None:
    table = Table("task", *map(escape, names), box=None, pad_edge=False)
    rows: dict[str, list[str]] = {}
    for place, talk in enumerate(talks):
        for task in talk.verdict.tasks if talk.verdict else ():
            row = rows.setdefault(f"{task.task} {task.title}", ["–"] * len(talks))
            row[place] = verdict(task)
    tones = [talk.verdict.tone if talk.verdict else None for talk in talks]
    if any(tone is not None for tone in tones):
        rows[TONE] = [number(tone) for tone in tones]
    for title, cells in rows.items():
        table.add_row(Text(shorten(title, 70)), *map(Text, cells))
    if rows:
        console.print(table)


def _print_assertions(names: list[str], talks: list[ConversationState], console: Console) -> None:
    table = Table("assertion", *map(escape, names), box=None, pad_edge=False)
    rows: dict[str, list[str]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for place, talk in enumerate(talks):
        told = talk.score.reason if talk.score else ""  # above, as the reason for no score
        for check in talk.latest_checks():
            row = rows.setdefault(f"{check.weight:g}× {check.title}", ["–"] * len(talks))
            row[place] = STATUS_SIGNS[check.status] if check.final else NOT_AT_THE_END
            if check.final and check.reason and check.reason != told:
                what = f"{STATUS_SIGNS[check.status][0]} {shorten(check.title, 70)}"
                reasons.setdefault((what, check.reason), []).append(names[place])
    for title, cells in rows.items():
        table.add_row(Text(shorten(title, 70)), *map(Text, cells))
    if rows:
        console.print(table)
    for (what, reason), held in reasons.items():
        console.print(Text(f"{what}, {' and '.join(held)}: {shorten(reason, 300)}"))


def print_manner(run: LoadedRun, console: Console) -> None:
    """Print how the simulated user speaks, compared with people."""
    for found in manners([run]):
        talks = plural(found.conversations, "conversation")
        console.print(Text(f"\nthe simulated user, {found.title}, {talks}", style="bold"))
        table = Table("", box=None, pad_edge=False)
        table.add_column(Text(found.column), justify="right")
        table.add_column("people", justify="right")
        table.add_column("")
        for row in found.rows:
            table.add_row(row.label, Text(row.found), row.people, "unlike these people" if row.unlike else "")
        console.print(table)
        console.print(Text(found.note), soft_wrap=True)


def print_judged_again(run: LoadedRun, console: Console) -> None:
    """Print a table for each conversation that was judged again: tasks as rows, each verdict as a column."""
    for again in run.judged_again.values():
        console.print(Text(f"\njudged again: {again.where}", style="bold"))
        table = Table("task", box=None, pad_edge=False)
        for row in again.rows:
            when = f"{row.at[:16].replace('T', ' ')} {row.author}" if row.at else "as recorded"
            counts = " (counts)" if row.counts else ""
            table.add_column(Text(f"{when}{counts}\n{row.judge}\n{row.prompt_words}"), justify="right")
        titles = {task.task: task.title for row in again.rows for task in row.tasks}
        for task, title in titles.items():
            found = [next((each for each in row.tasks if each.task == task), None) for row in again.rows]
            cells = (DASH if each is None else verdict(each) for each in found)
            table.add_row(Text(shorten(f"{task} {title}", 60)), *map(Text, cells))
        scores = (Text(number(row.score), style="bold") for row in again.rows)
        table.add_row(Text("score", style="bold"), *scores)
        console.print(table)
    if run.judged_again:
        console.print(Text(words(run.judged_again, len(run.state.conversations))), soft_wrap=True)
