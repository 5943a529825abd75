"""The view model of a report on a run, independent of the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.events import RunStarted, SubmissionGraded
from bioeval_tui.record.names import Condition
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.report import judged_again, rows
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.statistics.explained import Needed, needed
from bioeval_tui.report.words import answer_notes
from bioeval_tui.text import clean_line, plural

TARGET = 0.8
"""The default target score."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """What the judge quoted from a message, as evidence for a task."""

    text: str
    task: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened at a message."""

    kind: Literal["fact", "failure", "violation", "operator", "check", "unsent"]
    words: str


@dataclass(frozen=True, slots=True)
class Said:
    """One message as the report shows it."""

    anchor: str
    message: MessageState
    text: str
    """Empty for a sign-off that was not sent: its words are agreed between programs."""
    quotations: tuple[Quotation, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the messages of each condition, side by side."""

    number: int
    sides: tuple[tuple[Said, ...], ...]


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact of the job, and how it was given in each condition."""

    number: int
    text: str
    given: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graded:
    """A graded submission of one condition; `error` when it could not be graded."""

    title: str
    report: TaskReport | None
    error: str


@dataclass(frozen=True, slots=True)
class TrialView:
    """One trial: its conversations in the order of `conditions`, and everything laid out by row."""

    trial: int
    conditions: tuple[Condition, ...]
    titles: tuple[str, ...]
    """What the job calls them, else `facts withheld` and `facts supplied`."""
    talks: tuple[ConversationState | None, ...]
    uplift: float | None
    tasks: tuple[rows.TaskRow, ...]
    tones: tuple[float | None, ...]
    """The judge's rating of the agent's tone, 0 to 1, which is not part of any score; empty without one."""
    assertions: tuple[rows.AssertionRow, ...]
    facts: tuple[FactRow, ...]
    medals: tuple[Graded, ...]
    turns: tuple[Turn, ...]
    needed: tuple[tuple[Needed, ...], ...]

    @property
    def held(self) -> list[ConversationState]:
        """The conversations that were started."""
        return [talk for talk in self.talks if talk is not None]


def trial_view(run: LoadedRun, trial: int, target: float = TARGET) -> TrialView:
    """Lay out one trial of a run."""
    conditions = rows.conditions(run.state)
    talks = tuple(rows.talks(run.state, trial).values())
    return TrialView(
        trial=trial,
        conditions=conditions,
        titles=tuple(map(run.state.condition_title, conditions)),
        talks=talks,
        uplift=rows.composite_uplift(run.state, trial),
        tasks=tuple(rows.task_rows(run.state, trial)),
        tones=_tones(talks),
        assertions=tuple(rows.assertion_rows(run.state, trial)),
        facts=tuple(_fact_rows(run, trial, talks)),
        medals=tuple(_medals(run, talks)),
        turns=tuple(_turns(run, trial, conditions, talks)),
        needed=tuple(_needed(talk, target) for talk in talks),
    )


def _needed(talk: ConversationState | None, target: float) -> tuple[Needed, ...]:
    if talk is None or talk.score is None or talk.score.score is None or talk.score.score >= target:
        return ()
    return needed(talk.score.parts, talk.score.failures, target)


Talks = Sequence[ConversationState | None]


def _tones(talks: Talks) -> tuple[float | None, ...]:
    found = tuple(talk.verdict.tone if talk and talk.verdict else None for talk in talks)
    return found if any(tone is not None for tone in found) else ()


def _fact_rows(run: LoadedRun, trial: int, talks: Talks) -> list[FactRow]:
    found_rows = []
    for number, text in enumerate(run.state.job_of(trial).get("facts") or [], start=1):
        given = []
        for talk in talks:
            found = [fact for fact in talk.facts if fact.fact == number] if talk else []
            words = [f"turn {fact.turn}, {'asked' if fact.asked else 'not asked'}" for fact in found]
            given.append("; ".join(words) or "–")
        found_rows.append(FactRow(number, str(text), tuple(given)))
    return found_rows


def _medals(run: LoadedRun, talks: Talks) -> list[Graded]:
    return [
        _medal(run.state.condition_title(talk.key.condition), graded)
        for talk in talks
        if talk is not None
        for graded in talk.submissions
    ]


def _medal(title: str, graded: SubmissionGraded) -> Graded:
    if graded.report is None:
        return Graded(title, None, graded.error or "not graded")
    try:
        return Graded(title, TaskReport.from_dict(graded.report), graded.error or "")
    except (ValueError, TypeError) as error:
        return Graded(title, None, f"the report cannot be read: {error}")


def _turns(run: LoadedRun, trial: int, conditions: Sequence[Condition], talks: Talks) -> list[Turn]:
    numbers = sorted({m.turn for talk in talks if talk for m in talk.messages})
    return [
        Turn(
            number,
            tuple(
                tuple(_said(run, talk, trial, m) for m in talk.messages if m.turn == number) if talk else ()
                for talk in talks
            ),
        )
        for number in numbers
    ]


def anchor(run_id: str, condition: str, trial: int, message: int) -> str:
    """Return the id of a message in the document."""
    return f"r{run_id}-{condition}-{trial}-m{message}"


def _said(run: LoadedRun, talk: ConversationState, trial: int, message: MessageState) -> Said:
    notes = [
        Note("failure", f"attempt {f.request_attempt} failed: {clean_line(f.error, 200)}")
        for f in message.failures
    ]
    notes += [
        Note("fact", f"fact {fact.fact} given, {'asked' if fact.asked else 'not asked'}")
        for fact in message.facts
    ]
    notes += [
        Note("violation", f"{slip.rule.replace('_', ' ')}: {slip.detail} ({slip.outcome})")
        for slip in message.violations
    ]
    unsent = message.role == "user" and talk.ended is not None and not talk.sent(message)
    if unsent:
        notes.insert(0, Note("unsent", "the sign-off, not sent" if message.done else "not sent"))
    if message.operator:
        notes.append(Note("operator", "typed by a person"))
    notes += [Note("failure", note) for note in answer_notes(message)]
    if message.waited_ms >= 50:
        notes.append(Note("failure", f"waited {message.waited_ms / 1000:.2f} s besides"))
    if message.role == "assistant":
        notes += _new_checks(talk, message.turn)
    where = anchor(run.run_id, talk.key.condition, trial, message.message)
    text = "" if unsent and message.done else message.text
    return Said(where, message, text, _quotations(talk, message), tuple(notes))


def _new_checks(talk: ConversationState, turn: int) -> list[Note]:
    """Return which assertions changed with this turn."""
    notes = []
    for checks in talk.checks.values():
        before = next((c.status for c in reversed(checks) if c.after_turn < turn), None)
        now = next((c for c in checks if c.after_turn == turn), None)
        if now is None or before is None or now.status == before:
            continue  # what passes from the start says nothing about this turn
        words = {"passed": "now holds", "failed": "no longer holds", "not_measured": "could not be measured"}
        notes.append(Note("check", f"“{now.title}” {words[now.status]}"))
    return notes


def _quotations(talk: ConversationState, message: MessageState) -> tuple[Quotation, ...]:
    return tuple(
        Quotation(item.quote, task.task)
        for task in (talk.verdict.tasks if talk.verdict else ())
        for item in task.evidence
        if item.message == message.message
    )


def versions(run: LoadedRun) -> list[tuple[str, str]]:
    """Return labels and values that are needed to understand and repeat the run."""
    started = run.started
    listed: list[tuple[str, Any]] = [
        ("run", started.run_id),
        ("batch", started.batch_id),
        *_provenance(started),
        ("program", f"bioeval-tui {started.program_version}"),
        ("recording schema", started.schema_version),
        ("agent", started.agent),
        ("model", run.state.agent_model),
        ("evaluator", run.state.evaluator),
        ("judge", run.state.judge),
        ("knowledge graph", graph_words(run)),
        ("hosts that received transcripts", ", ".join(started.hosts)),
        ("seed", None if started.source else started.seed),
        (
            "concurrency",
            None if started.source else f"{plural(started.concurrency, 'conversation')} at a time",
        ),
        ("git revision", started.git_revision),
        *((f"prompt {name}", digest) for name, digest in sorted(started.prompts.items())),
    ]
    return [(label, str(value)) for label, value in listed if value not in (None, "")]


def graph_words(run: LoadedRun) -> str | None:
    """Return the name of the graph, with a note if the agent did not say that it uses this one."""
    unknown = any(talk.agents_graph == "unknown" for talk in run.state.conversations.values())
    note = " (unknown whether it is the agent's, which does not say which graph it uses)" if unknown else ""
    return (run.started.graph or "") + note if run.started.graph or unknown else None


def _provenance(started: RunStarted) -> list[tuple[str, Any]]:
    """Return the origin of a run: its time and job, or the imported file."""
    source, at = started.source, f"{started.at:%Y-%m-%d %H:%M:%S} UTC"
    if source is None:
        return [("recorded", at), ("job file", f"{started.job_path}, SHA-256 {started.job_sha256}")]
    return [
        ("recorded", at if source.times == "told" else "unknown"),
        ("imported from", f"{source.file} ({source.format}), SHA-256 {source.sha256}"),
        ("origin", source.origin),
        ("licence", source.licence),
    ]


def warnings(run: LoadedRun) -> list[str]:
    """Return the warnings, once each; the same warning of several conversations is one line."""
    found = [warning.message for warning in run.state.warnings]
    if run.judged_again:
        found.append(judged_again.words(run.judged_again, len(run.state.conversations)))
    shared: dict[str, list[str]] = {}
    for talk in run.talks:
        for line in dict.fromkeys(_troubles(talk)):
            shared.setdefault(line, []).append(
                f"{run.state.condition_title(talk.key.condition)}, {talk.trial_words}"
            )
    for line, where in shared.items():
        found.append(f"{where[0] if len(where) == 1 else f'{len(where)} conversations'}: {line}")
    found += [f"{problem}" for problem in run.problems]
    if run.state.resumed:
        found.append(f"the run was interrupted and resumed {plural(run.state.resumed, 'time')}")
    if run.state.unknown:
        kinds = ", ".join(sorted({event.kind for event in run.state.unknown}))
        found.append(f"events of a newer version are not shown: {kinds}")
    return list(dict.fromkeys(found))


def _troubles(talk: ConversationState) -> list[str]:
    lines = [warning.message for warning in talk.warnings]
    lines += [f"seed {s.index + 1} was not applied: {s.detail}" for s in talk.seeds if not s.applied]
    lines += [f"setup {s.index + 1} failed: {s.error}" for s in talk.setups if s.error]
    if talk.score is not None and talk.score.score is None and talk.score.reason:
        lines.append(f"not scored: {talk.score.reason}")
    return lines
