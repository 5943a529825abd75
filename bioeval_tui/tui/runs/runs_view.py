"""The table of runs, and the details of one run with its job's trend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import permutations
from typing import TYPE_CHECKING

from rich.cells import cell_len

from bioeval_tui.base.text import plural, quotation, shorten
from bioeval_tui.base.units import ago, date, number, signed, when
from bioeval_tui.base.widths import fitted
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, of_mean_words, published_title
from bioeval_tui.record.runs import REHEARSAL
from bioeval_tui.statistics.means import average_if_any
from bioeval_tui.tui.shared.answer_block import answer_lines
from bioeval_tui.tui.shared.cells import (
    FEWEST_DRAWN,
    Cell,
    Line,
    Tone,
    score_tone,
    spark,
    uplift,
    who_and_what,
)
from bioeval_tui.tui.shared.list_table import Column, Key, Listing, Sorting, number_key, text_key

if TYPE_CHECKING:
    from bioeval_tui.record.runs import CataloguedRun, Status
    from bioeval_tui.report.answer import Answer
    from bioeval_tui.report.brief import Brief
    from bioeval_tui.report.findings import StepAction
    from bioeval_tui.report.result import RunResult
    from bioeval_tui.report.run import ConversationResult

LAST = 2
"""How many messages of the lowest conversation a preview shows."""
TREND = 40
STARTED = 4
"""The column of the time at which a run began: what the table is sorted by at first."""

COLUMNS: tuple[Column, ...] = (
    Column("job", 0),
    Column("agent", 28, grows=True),
    Column("", 1),
    Column("status", 14),
    Column("started", 11, False, 2),
    Column("without", 8, True, 4),
    Column("with facts", 10, True, 4),
    Column("mean", 5, True),
    Column("on shared", 10, True, 5),
    Column("messages", 8, True, 8),
    Column("fault", 14, False, 6),
)
_TONES: dict[str, Tone] = {
    "●": "good",
    "–": "quiet",
    "!": "bad",
    "◐": "warn",
    "✗": "bad",
    "?": "warn",
}
"""The tones of what `CataloguedRun.status_words` says, by its sign."""

MARK = "◆"


@dataclass(frozen=True, slots=True)
class RunPreview:
    """The result of an ended run, for a preview beside a list."""

    answer: Answer
    lowest: str = ""
    """The conversation that scored lowest, or the last one without any score, such as `with the
    facts, trial 2`; the next two belong to it.
    """
    ways: tuple[str, ...] = ()
    """What else than the answer names can be done about it, if it never took place."""
    last: tuple[tuple[str, str], ...] = ()
    """Its last messages, role and text, if it has no loss to show."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the job calls the conditions."""
    about: Brief | None = None
    """Who was tested by whom, on what."""
    trials: int = 0
    seconds: float | None = None
    """How long a conversation took on average."""
    dollars: float | None = None
    """What a conversation cost on average; None if a part of it is unknown."""


def preview(run: RunResult) -> RunPreview:
    """Return a run's answer, or why nothing was measured."""
    names: dict[str, str] = {name: run.condition_title(name) for name in run.state.all_conditions}
    without_conversation = RunPreview(
        run.answer, names=names, about=run.brief, trials=run.planned_trials
    )
    conversations = run.conversations_begun
    if not conversations:
        return without_conversation
    shown = run.lowest or conversations[-1]
    seconds = [
        talk.ended.duration_ms / 1000
        for talk in conversations
        if talk.ended and talk.ended.duration_ms
    ]
    cost = run.summary.spent.dollars
    return replace(
        without_conversation,
        lowest=run.place_words(shown),
        ways=tuple(run.answer.other_ways(shown.ways)),
        last=() if run.answer.why else _last_messages(shown),
        seconds=average_if_any(seconds),
        # What was spent is the cost of all that began, not only of those with a score.
        dollars=None if cost is None else cost / len(conversations),
    )


def _last_messages(talk: ConversationResult) -> tuple[tuple[str, str], ...]:
    """Return the role and the text of each of the last messages, each on one line; without the
    sign-off, which is never sent to the agent.
    """
    # Only for a preview: the table of runs does not load the report's sentences.
    from bioeval_tui.report.sentences import LONGEST_LOSS

    messages = talk.messages
    if talk.end_reason == "signed_off" and messages and messages[-1].role == "user":
        messages = messages[:-1]
    return tuple(
        (message.role, quotation(message.text, LONGEST_LOSS)) for message in messages[-LAST:]
    )


def run_status(run: CataloguedRun) -> Cell:
    """Return a run's status in its tone; a rehearsal is quiet, as it says little about the
    agent.
    """
    words = run.status_words
    if words == REHEARSAL:
        return Cell(words, "quiet")
    return Cell(words, _TONES.get(words[0], "plain"))


def listing() -> Listing[CataloguedRun]:
    """Return an empty history, newest first."""
    return Listing(COLUMNS, _KEYS, _words, lambda run: run.run_id, Sorting(STARTED))


def _words(run: CataloguedRun) -> str:
    played = run.model or ""
    if run.rehearsal:
        played = f"rehearsal {played}"
    fault = "no fault" if run.fault == "none" else f"fault {run.fault}"
    return f"{run.job} {run.agent} {run_status(run).text} {fault} {played} {run.run_id}"


_RANK: dict[Status, int] = {
    "running": 0,
    "failed": 1,
    "interrupted": 2,
    "cancelled": 3,
    "completed": 4,
}


def _newest(run: CataloguedRun) -> float:
    return -run.began.timestamp()


_KEYS: dict[str, Callable[[CataloguedRun], Key]] = {
    "job": lambda run: text_key(run.job),
    "agent": lambda run: text_key(run.agent_words),
    "": lambda run: (0, _newest(run), ""),
    "status": lambda run: (_RANK[run.status], _newest(run), ""),
    "started": lambda run: (0, _newest(run), run.run_id),
    "without": lambda run: number_key(run.scores.get("withheld")),
    "with facts": lambda run: number_key(run.scores.get("supplied")),
    "mean": lambda run: number_key(run.score),
    "on shared": lambda run: number_key(run.difference),
    "messages": lambda run: number_key(float(run.messages)),
    "fault": lambda run: text_key("" if run.fault == "none" else run.fault),
}


def row(run: CataloguedRun, now: datetime, *, marked: bool, exact: bool) -> dict[str, Cell]:
    """Return a run's cells by column name.

    `exact` shows day and time instead of how long ago it was.
    """
    return {
        "job": Cell(run.job),
        "agent": Cell(run.agent_words),
        "": Cell(MARK if marked else "", "busy"),
        "status": run_status(run),
        "started": Cell(when(run.began, now, exact=exact), "quiet"),
        "without": _score(run.scores.get("withheld")),
        "with facts": _score(run.scores.get("supplied")),
        "mean": Cell(number(run.score), score_tone(run.score)),
        "on shared": uplift(run.difference),
        "messages": Cell(f"{run.messages:,}", "quiet"),
        "fault": Cell("–", "quiet") if run.fault == "none" else Cell(run.fault, "warn"),
    }


def _score(value: float | None) -> Cell:
    return Cell(number(value), "plain" if value is not None else "quiet")


def trend(runs: Iterable[CataloguedRun], of: CataloguedRun) -> list[CataloguedRun]:
    """Return the ended runs of the same job with the same agent, oldest first.

    Runs of one condition have no mean and are left out.
    """
    ended = [
        run
        for run in runs
        if (run.job, run.agent_words) == (of.job, of.agent_words)
        and run.status != "running"
        and not run.only_condition
    ]
    return sorted(ended, key=lambda run: run.began)


def card(
    run: CataloguedRun,
    runs: Sequence[CataloguedRun],
    now: datetime,
    width: int,
    preview: RunPreview | None = None,
    keys: Mapping[StepAction, str] | None = None,
) -> list[Line]:
    """Return the lines beside the table: the run, its answer if known, with the `keys` of its
    steps, and its job's trend.

    What the answer says, such as the status and the scores of each condition, is not said again.
    """
    began, state = date(run.began, seconds=True), run_status(run)
    agent, status = run.agent_words or "agent not known", f"  {state.text}"
    brief: Brief | None = None
    names: Mapping[str, str] = {}
    concluded: list[Line] = []
    if preview is not None:
        brief, names = preview.about, preview.names
        concluded = [*answer_lines(preview.answer, keys), [], *_preview_lines(preview)]
        status = ""
    if brief is not None:
        agent = brief.topic_words
    lines: list[Line] = [
        [Cell(f"{run.job}  ", "strong"), Cell(agent), Cell(status, state.tone)],
        *concluded,
    ]
    if brief is not None:
        lines += [*who_and_what(brief), []]
    if preview is None:
        lines += _score_lines(run, names)
    else:
        lines += _mean_lines(run)
    lines += [
        [],
        [Cell(f"{began}, {ago(run.began, now)}", "quiet")],
        [Cell(f"run {run.run_id}", "quiet")],
        [Cell(plural(run.messages, "message"))],
        [Cell("no fault", "quiet") if run.fault == "none" else Cell(f"fault: {run.fault}", "warn")],
        [],
    ]
    return lines + trend_lines(trend(runs, run), run, width)


def _preview_lines(preview: RunPreview) -> list[Line]:
    """Return what to do about a conversation that never took place, or the last messages of one
    that lost nothing.
    """
    lines: list[Line] = []
    if preview.ways:
        lines += [[Cell("what you can do", "quiet")], *([Cell(way)] for way in preview.ways), []]
    if preview.last:
        lines.append([Cell(f"the last messages: {preview.lowest}", "quiet")])
        lines += [*(_message(role, text) for role, text in preview.last), []]
    return lines


def _message(role: str, text: str) -> Line:
    speaker = "▌ user   " if role == "user" else "┃ agent  "
    said = Cell(text) if text.strip() else Cell("no answer", "warn")
    return [Cell(speaker, "quiet"), said]


def _mean_lines(run: CataloguedRun) -> list[Line]:
    """Return the mean and what reviewers say, which no answer says."""
    if run.only_condition or run.score is None:
        return _reviewed_line(run, 0)
    width = len("mean") + 2
    return [_mean_line(run, width), *_reviewed_line(run, width)]


def _mean_line(run: CataloguedRun, width: int) -> Line:
    return [
        Cell(fitted("mean", width), "quiet"),
        Cell(number(run.score), "strong"),
        Cell(f"  of {of_mean_words(run.scores or PUBLISHED_NAMES)}", "quiet"),
    ]


def _score_lines(run: CataloguedRun, names: Mapping[str, str]) -> list[Line]:
    """Return the scores by condition, and the mean and difference, which need both."""
    shown = tuple(names or run.scores)
    if not names and run.scores.keys() <= set(PUBLISHED_NAMES):
        shown = PUBLISHED_NAMES
    labels = [names.get(condition, published_title(condition)) for condition in shown]
    width = max(map(cell_len, (*labels, "difference"))) + 2

    def value(condition: str, label: str) -> Line:
        if condition not in run.scores and run.scores:
            return [Cell(fitted(label, width) + "not run", "quiet")]
        return [
            Cell(fitted(label, width), "quiet"),
            Cell(number(run.scores.get(condition)), "strong"),
        ]

    lines = [value(condition, label) for condition, label in zip(shown, labels, strict=True)]
    if run.only_condition:
        lines += [
            *_reviewed_line(run, width),
            [Cell("mean and difference need both conditions", "quiet")],
        ]
        return lines
    return [
        *lines,
        _mean_line(run, width),
        *_reviewed_line(run, width),
        [
            Cell(fitted("difference", width), "quiet"),
            uplift(run.difference),
            Cell(f"  {_difference_words(run)}", "quiet"),
        ],
    ]


def _difference_words(run: CataloguedRun) -> str:
    """Return what a run's difference is of, or why it has none."""
    if not run.clean:
        return "not shown: not clean"
    if None in run.scores.values():
        return "with the facts"
    if run.difference is None:
        return "none is claimed"
    scores = [value for value in run.scores.values() if value is not None]
    is_of_everything = any(
        abs(run.difference - (b - a)) < 0.005 for a, b in permutations(scores, 2)
    )
    if is_of_everything:
        return "with the facts"
    return "with the facts, on what both conditions share"


def _reviewed_line(run: CataloguedRun, width: int) -> list[Line]:
    if not run.reviewers:
        return []
    who = shorten(", ".join(run.reviewers), 18)
    # Loads the events, which the first paint of the home screen should not wait for.
    from bioeval_tui.record import reviews

    shown = "reviewed by"
    if run.reviewed and not run.only_condition and (after := run.reviewed["score"]) is not None:
        shown = reviews.words(run.score, after)
    return [[Cell(" " * width + f"{shown} ", "strong"), Cell(who, "quiet")]]


def trend_lines(history: Sequence[CataloguedRun], run: CataloguedRun, width: int) -> list[Line]:
    """Return a job's means, oldest first, from three on, and how this one compares with the one
    before.
    """
    if not history:
        both = " with both conditions" if run.only_condition else ""
        return [[Cell(f"no run of this job with this agent{both} has ended yet", "quiet")]]
    shown = list(history)[-max(1, min(TREND, width)) :]
    bars = spark([one.score for one in shown], len(shown))
    at = next((n for n, one in enumerate(shown) if one.run_id == run.run_id), None)

    known = [one.score for one in history if one.score is not None]
    lines: list[Line] = []
    if len(known) >= FEWEST_DRAWN:
        title = f"means of {plural(len(history), 'run')} of this job and agent, 0 to 1"
        lines += [
            [Cell(title, "quiet")],
            [Cell(bars, "busy")],
        ]
        if at is not None:
            lines.append([Cell(" " * at + "▲", "strong")])
        best, worst = max(known), min(known)
        lines.append(
            [Cell(f"best {number(best)}   worst {number(worst)}   last {number(known[-1])}")]
        )
    before = _previous(history, run)
    if before is not None and before.score is not None and run.score is not None:
        lines.append([Cell(f"{signed(run.score - before.score)} since the previous run")])
        if other := run.differences(before):
            lines.append([Cell(f"which differs in {', '.join(other)}", "warn")])
    return lines


def _previous(history: Sequence[CataloguedRun], run: CataloguedRun) -> CataloguedRun | None:
    earlier = [one for one in history if one.began < run.began and one.score is not None]
    if earlier:
        return earlier[-1]
    return None
