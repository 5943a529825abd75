"""The score card's rows and sentences, from a RunState alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui import score as composite
from bioeval_tui.report import rows as report_rows
from bioeval_tui.report import words
from bioeval_tui.report.conclusion import conclude
from bioeval_tui.report.message_blocks import plain
from bioeval_tui.text import plural, shorten
from bioeval_tui.tui.live import heads_view, panels_view
from bioeval_tui.tui.live.score_parts_view import score_words
from bioeval_tui.tui.shared.cells_view import Cell, Tone, duration, score, score_tone, seconds, uplift

if TYPE_CHECKING:
    from bioeval_tui.record.events import AssertionChecked, Fault, TaskScored
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.reviews import ReviewedScores
    from bioeval_tui.record.state import ConversationState, RunState


class CardEvidence(NamedTuple):
    """A message to jump to, what the judge quotes from it, and the panel that it belongs to."""

    condition: Condition
    message: int
    quote: str | None
    panel: str | None = None


NOTHING = Cell("")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the card: its number or weight, title, one cell per condition, the difference and details."""

    mark: str
    label: Cell
    cells: dict[Condition, Cell]
    uplift: Cell = NOTHING
    details: dict[Condition, list[Cell]] = field(default_factory=dict)
    evidence: dict[Condition, CardEvidence] = field(default_factory=dict)


def subject(state: RunState) -> str:
    """Return what was evaluated, in one line."""
    started = state.started
    if started is None:
        return ""
    held = len(state.conversations)
    parts = [started.job_name, started.agent]
    if started.model and not started.rehearsal:
        parts.append(started.model)
    parts.append(plural(held, "conversation"))
    seconds = heads_view.run_seconds(state)
    if seconds is not None:
        parts.append(duration(seconds))
    return " · ".join(parts)


_TONES: dict[str, Tone] = {"good": "good", "bad": "bad", "unsure": "warn", "plain": "strong"}


def conclusion(state: RunState) -> Cell:
    """Return the run's conclusion in one sentence."""
    found = conclude(state)
    return Cell(found.sentence, _TONES[found.standing])


def tone(conversation: ConversationState | None) -> Tone:
    """Return the tone of a conversation's score."""
    return score_tone(conversation.score.score if conversation and conversation.score else None)


def to_explain(both: report_rows.Talks) -> Condition:
    """Return the condition with more to explain: one without a score, otherwise the one with the lower score."""
    held = {name: conversation for name, conversation in both.items() if conversation is not None} or both
    values = {
        name: conversation.score.score if conversation and conversation.score else None
        for name, conversation in held.items()
    }
    return min(values, key=lambda name: -1.0 if values[name] is None else values[name] or 0.0)


def is_empty(both: report_rows.Talks) -> bool:
    """Return whether no conversation began, so that the card has nothing to show but the reason."""
    return not any(talk and (talk.messages or (talk.score and talk.score.parts)) for talk in both.values())


def why_empty(both: report_rows.Talks) -> list[list[Cell]]:
    """Return why no conversation began and what to do about it, as lines with a label."""
    found = {talk.score.reason: talk for talk in both.values() if talk and talk.score}
    lines = []
    for talk in found.values():
        cause, ways = words.cause(talk), words.ways_out(talk)
        came = talk.ended.received if talk.ended is not None else ""
        lines.append([Cell("what went wrong  ", "quiet"), Cell(cause, "bad")])
        lines += [[Cell("it sent          ", "quiet"), Cell(came)]] if came else []
        for label, way in zip_longest(["what you can do"], ways):
            lines += [[Cell(f"{label or '':<15}  ", "quiet"), Cell(way)]] if way else []
    return lines


def notes(state: RunState) -> list[Cell]:
    """Return the caveats on the scores."""
    found: list[Cell] = []
    started = state.started
    if started is not None and started.rehearsal:
        played = words.who(state.evaluator, "evaluator")
        found.append(Cell(f"rehearsal: {played}, {words.who(state.judge, 'judge')}", "warn"))
    if not state.clean:
        no_uplift = "" if state.only_condition else ", so no uplift is shown"
        found.append(Cell(f"{state.cleanness}: {state.why_not_clean}{no_uplift}", "warn"))
    unmeasured: dict[str, list[str]] = {}
    for conversation in state.conversations.values():
        if conversation.score is not None and conversation.score.score is None:
            unmeasured.setdefault(conversation.score.reason, []).append(
                state.condition_name(conversation.key.condition)
            )
    for reason, names in unmeasured.items():
        listed = " and ".join(dict.fromkeys(names))
        found.append(Cell(f"{listed} could not be measured: {reason.removeprefix('not measured: ')}", "bad"))
    for conversation in state.conversations.values():
        if conversation.score is not None and conversation.score.score is None:
            continue
        if conversation.ended is not None and conversation.ended.reason not in (
            "signed_off",
            "max_turns",
            "unknown",
        ):
            reason = conversation.ended.reason.replace("_", " ")
            fault = "" if conversation.ended.fault == "none" else f", fault of the {conversation.ended.fault}"
            detail = f": {conversation.ended.explained}" if conversation.ended.detail else ""
            name = state.condition_name(conversation.key.condition)
            found.append(Cell(f"{name} ended early ({reason}{fault}){detail}", "warn"))
    return found


def headline(state: RunState, trial: int) -> list[tuple[str, str]]:
    """Return the conditions' scores, by name, as text."""
    both = report_rows.talks(state, trial)
    return [
        (state.condition_name(condition), score_words(conversation))
        for condition, conversation in both.items()
    ]


def mean(state: RunState, trial: int) -> str:
    """Return the mean by the published formula, or a dash if either condition has no score.

    For a single condition, return what is missing, because its score is not a mean.
    """
    if state.only_condition:
        return composite.NEEDS_BOTH
    found = {
        c: conversation.score.score if conversation and conversation.score else None
        for c, conversation in report_rows.talks(state, trial).items()
    }
    return score(composite.published_mean(found))


def reviewed_words(state: RunState, found: ReviewedScores, *, wide: bool = True) -> list[Cell]:
    """Return the run's scores after reviews: `ada, 1 of 4 tasks  withheld 0.41 → 0.55 (reviewed) …`.

    Unless it is `wide`, the scores stand on a line of their own.
    """
    scores = "   ".join(found.told(state))
    who = f"{shorten(', '.join(found.reviewers), 60)}, {found.tasks} of {found.of_tasks} tasks"
    cells = [Cell(f"{who}  " if wide else f"{who}\n", "quiet"), Cell(scores, "strong")]
    if found.disputed:
        cells.append(Cell(f"   reviewers differ on {found.disputed}", "warn"))
    return cells


def total_uplift(state: RunState, trial: int) -> Cell:
    """Return supplied − withheld of the composite, or why it is missing."""
    if state.only_condition:
        return Cell(composite.NEEDS_BOTH, "quiet")
    if not state.clean:
        return Cell(f"not shown: {state.cleanness}", "warn")
    return uplift(report_rows.composite_uplift(state, trial))


def rows(state: RunState, trial: int) -> list[Row]:
    """Return the lines of the card: tasks, tone, assertions, response times, failures, facts."""
    both = report_rows.talks(state, trial)
    return [
        *_task_rows(state, trial, both),
        *_tone_rows(both),
        *_assertion_rows(state, trial, both),
        _time_row(state, trial, both),
        _failure_row(both),
        _fact_row(both),
    ]


def _task_rows(state: RunState, trial: int, both: report_rows.Talks) -> list[Row]:
    found = []
    for row in report_rows.task_rows(state, trial):
        cells = {c: panels_view.task_cell(row, c, conversation) for c, conversation in both.items()}
        details = {c: _task_detail(conversation, row.verdicts[c]) for c, conversation in both.items()}
        evidence: dict[Condition, CardEvidence] = {}
        for condition, task in row.verdicts.items():
            if (quoted := report_rows.task_evidence(task)) is not None:
                evidence[condition] = CardEvidence(condition, *quoted, "tasks")
        found.append(Row(f"{row.number} ", Cell(row.title), cells, uplift(row.uplift), details, evidence))
    return found


def _task_detail(conversation: ConversationState | None, task: TaskScored | None) -> list[Cell]:
    if task is None:
        why = conversation.verdict.error if conversation and conversation.verdict else None
        return [Cell(f"could not be measured: {why}" if why else "not judged", "warn")]
    lines = [Cell(task.reason or "the judge gave no reason")]
    if task.unproved:
        lines.insert(0, Cell(f"unproved: {words.UNPROVED}", "warn"))
    if task.spread:
        lines.append(Cell(f"the verdicts differ by {task.spread:.2f}", "quiet"))
    missing = (
        [warned for warned in conversation.warnings if warned.code == "verdict_missing"]
        if conversation
        else []
    )
    lines += [Cell(f"! {warned.message}", "warn") for warned in missing]
    for item in task.evidence:
        quoted = conversation.message(item.message) if conversation and item.message else None
        where = f"turn {quoted.turn}" if quoted else "not found in the transcript"
        lines.append(Cell(f"“{plain(item.quote)}”  {where}", "quiet" if quoted else "warn"))
    return lines


def _tone_rows(both: report_rows.Talks) -> list[Row]:
    """Return the row of the judge's tone; none if no judge gave one."""
    values = {
        c: conversation.verdict.tone if conversation and conversation.verdict else None
        for c, conversation in both.items()
    }
    if all(tone is None for tone in values.values()):
        return []
    cells = {c: Cell(score(tone), "quiet") for c, tone in values.items()}
    about = [Cell("The judge's rating of the agent's tone. It is not part of the score.", "quiet")]
    return [Row("  ", Cell("tone (not in score)", "quiet"), cells, details=dict.fromkeys(both, about))]


def _assertion_rows(state: RunState, trial: int, both: report_rows.Talks) -> list[Row]:
    found = []
    for row in report_rows.assertion_rows(state, trial):
        cells: dict[Condition, Cell] = {}
        details: dict[Condition, list[Cell]] = {}
        for condition in both:
            check = row.finals[condition] or next(reversed(row.timelines[condition]), None)
            cells[condition] = panels_view.final_mark(row.finals[condition]) or Cell("–", "quiet")
            said = Cell("not checked", "quiet")
            if check is not None:
                said = Cell(check.error, "bad") if check.error else _since(row, condition, check)
            details[condition] = [said]
        decided = {c: report_rows.decided_in(row.timelines[c]) for c in both}
        elsewhere = max(filter(None, decided.values()), default=None)
        evidence = {c: _turn_of(talk, decided[c] or elsewhere) for c, talk in both.items()}
        shown = {c: found_at for c, found_at in evidence.items() if found_at is not None}
        found.append(Row(f"{row.weight:g}× ", Cell(row.title), cells, details=details, evidence=shown))
    return found


def _turn_of(conversation: ConversationState | None, turn: int | None) -> CardEvidence | None:
    """Return the agent's message of the turn that decided an assertion, here or else in the other condition.

    An assertion that nothing decided leads to the agent's last message.
    """
    answers = [m for m in conversation.messages if m.role == "assistant"] if conversation else []
    if conversation is None or not answers:
        return None
    at = report_rows.answer_in(conversation, turn) or answers[-1]
    return CardEvidence(conversation.key.condition, at.message, None, "assertions")


def _since(row: report_rows.AssertionRow, condition: Condition, last: AssertionChecked) -> Cell:
    if last.status == "not_measured":
        return Cell("could not be measured", "warn")
    if last.status == "failed":
        return Cell(f"not true at the end: {last.why}" if last.why else "not true at the end", "bad")
    since = None
    for check in reversed(row.timelines[condition]):
        if check.status != "passed":
            break
        since = check.after_turn
    return Cell(f"true since turn {since}" if since else "true at the end", "good")


def _time_row(state: RunState, trial: int, both: report_rows.Talks) -> Row:
    target = report_rows.target_ms(state)
    cells: dict[Condition, Cell] = {}
    details: dict[Condition, list[Cell]] = {}
    for condition in both:
        times = report_rows.latency(state, condition, trial)
        if times.average_ms is None:
            cells[condition] = Cell("–", "quiet")
            continue
        late = 0 < target < times.average_ms
        cells[condition] = Cell(seconds(times.average_ms), "warn" if late else "plain")
        said = f"p90 {seconds(times.p90_ms)}, longest {seconds(times.max_ms)}"
        first = times.first_token_ms
        token = "" if first is None else f", median first token {seconds(first)}"
        details[condition] = [Cell(f"{said}{token}; target {target / 1000:.1f} s on average")]
    slowest = {c: report_rows.slowest(conversation) for c, conversation in both.items() if conversation}
    evidence = {
        c: CardEvidence(c, answer.message, None, "latency") for c, answer in slowest.items() if answer
    }
    return Row("  ", Cell("average answer", "quiet"), cells, details=details, evidence=evidence)


def _failure_row(both: report_rows.Talks) -> Row:
    cells = {
        c: Cell(
            str(conversation.failures) if conversation else "–",
            "bad" if conversation and conversation.failures else "quiet",
        )
        for c, conversation in both.items()
    }
    details = {
        c: [
            Cell(f"{f.error} ({f.peer}, attempt {f.request_attempt})")
            for f in (conversation.request_failures if conversation else ())
        ]
        or [Cell("no request failed", "quiet")]
        for c, conversation in both.items()
    }
    evidence = {
        c: CardEvidence(c, failed[0], None)
        for c, conversation in both.items()
        if (
            failed := [
                f.message for f in (conversation.request_failures if conversation else ()) if f.message
            ]
        )
    }
    return Row("  ", Cell("failures of the agent", "quiet"), cells, details=details, evidence=evidence)


def _fact_row(both: report_rows.Talks) -> Row:
    cells = {
        c: Cell(str(len(conversation.facts)) if conversation else "–", "quiet")
        for c, conversation in both.items()
    }
    details = {
        c: [
            Cell(f"fact {f.fact} in turn {f.turn}, {'asked' if f.asked else 'not asked'}: {f.text}")
            for f in (conversation.facts if conversation else ())
        ]
        or [Cell("no facts were given", "quiet")]
        for c, conversation in both.items()
    }
    evidence = {
        c: CardEvidence(c, conversation.facts[0].message, None)
        for c, conversation in both.items()
        if conversation and conversation.facts
    }
    return Row("  ", Cell("facts given", "quiet"), cells, details=details, evidence=evidence)


def faults(state: RunState) -> str:
    """Return in how many conversations each was at fault, as the recording says: agent, evaluator, judge, infrastructure."""
    found = Counter(conversation.fault for conversation in state.conversations.values())
    peers: tuple[Fault, ...] = ("agent", "evaluator", "judge", "infrastructure")
    return "fault by conversation: " + " · ".join(f"{peer} {found[peer]}" for peer in peers)


def as_text(state: RunState, trial: int) -> str:
    """Return the card as plain lines, values separated by tabs."""
    both = list(report_rows.talks(state, trial))
    compared = len(both) > 1
    lines = [conclusion(state).text, subject(state), *(note.text for note in notes(state))]
    if is_empty(report_rows.talks(state, trial)):
        return "\n".join(lines)
    lines += [f"{name}\t{value}" for name, value in headline(state, trial)]
    lines += [
        f"mean of both\t{mean(state, trial)}",
        f"uplift by facts\t{total_uplift(state, trial).text}",
        "\t".join(["", *map(state.condition_name, both), *(["uplift"] if compared else [])]),
    ]
    for row in rows(state, trial):
        cells = [row.cells[name].text if name in row.cells else "–" for name in both]
        gain = [row.uplift.text] if compared else []
        lines.append("\t".join([f"{row.mark}{row.label.text}".strip(), *cells, *gain]))
    lines.append(faults(state))
    return "\n".join(lines)
