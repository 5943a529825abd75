"""The score card's rows and sentences, laid out from a run's result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from bioeval_tui.base.text import plural, shorten
from bioeval_tui.base.units import duration, latency, number
from bioeval_tui.base.widths import padded
from bioeval_tui.report import rows as report_rows, words
from bioeval_tui.report.messages import plain
from bioeval_tui.report.run import reason_of, why_not_asked
from bioeval_tui.report.sentences import FAILED, PARTS, shared_words
from bioeval_tui.tui.live import panels
from bioeval_tui.tui.shared.cells import (
    Cell,
    Tone,
    left,
    packed,
    paint,
    score_tone,
    uplift,
    who_and_what,
)

if TYPE_CHECKING:
    from textual.content import Content

    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.reviews import ReviewedScores
    from bioeval_tui.report.answer import Answer
    from bioeval_tui.report.findings import Shared
    from bioeval_tui.report.result import RunResult, TrialResult
    from bioeval_tui.report.run import ConversationResult
    from bioeval_tui.statistics.estimates import Proportion

SIGNS: dict[str, tuple[str, Tone]] = {
    "timing": ("─", "plain"),
    "task": ("═", "busy"),
    "assertion": ("━", "good"),
}
PENALTY_SIGN, REST_SIGN = "╌", "·"


@dataclass(frozen=True, slots=True)
class Share:
    """One part's contribution to the score: `value` · `weight` / sum of the weights, in [0, 1]."""

    name: str
    value: float
    weight: float
    share: float


def shares(conversation: ConversationResult) -> list[Share]:
    """Return what each measured part adds.

    Their sum minus the penalty is the score before floor and rounding.
    """
    known = [
        (part, part.value)
        for part in conversation.parts
        if not part.left_out and part.value is not None
    ]
    total = sum(part.weight for part, _ in known)
    return [
        Share(part.name, value, part.weight, value * part.weight / total) for part, value in known
    ]


def score_bar(conversation: ConversationResult, width: int) -> list[Cell]:
    """Return the stacked bar of a conversation: parts, penalty, and the rest up to 1."""
    if not conversation.is_scored:
        return [Cell(REST_SIGN * width, "quiet")]
    parts = shares(conversation)
    weighted = sum(item.share for item in parts)
    kept = round(max(0.0, weighted - conversation.penalty) * width)
    cells: list[Cell] = []
    at, total = 0, 0.0
    for item in parts:
        total += item.share
        sign, tone = SIGNS[item.name]
        end = min(kept, round(total * width))
        cells.append(Cell(sign * max(0, end - at), tone))
        at = max(at, end)
    filled = max(at, round(weighted * width))
    cells.append(Cell(PENALTY_SIGN * (filled - at), "bad"))
    cells.append(Cell(REST_SIGN * (width - filled), "quiet"))
    return [cell for cell in cells if cell.text]


def legend(conversation: ConversationResult) -> list[list[Cell]]:
    """Return how the score comes about: each part's points of the most it can give, the sum, and
    the penalty.
    """
    if not conversation.is_scored:
        return [[Cell("not scored", "quiet")]]
    entries: list[list[Cell]] = []
    for part in conversation.parts:
        sign, tone = SIGNS[part.name]
        if part.left_out:
            entries.append([Cell(f"{PARTS[part.name]} left out", "quiet")])
        elif part.value is None:
            entries.append([Cell(f"{PARTS[part.name]} not measured", "warn")])
        else:
            points = f"{number(part.value * part.weight)} of {part.weight:g}"
            entries.append([Cell(sign * 2, tone), Cell(f" {PARTS[part.name]} {points}")])
    parts, penalty = shares(conversation), conversation.penalty
    most = sum(share.weight for share in parts)
    if conversation.score is not None and most:
        entries.append(
            [Cell(f"= {number(sum(share.share for share in parts) * most)} of {most:g}", "quiet")]
        )
    if penalty:
        entries.append([Cell(f"− penalty {number(penalty)}", "bad")])
    return entries


def score_words(conversation: ConversationResult | None) -> str:
    """Return the score with two decimals, or a dash."""
    if conversation is None:
        return number(None)
    return number(conversation.score)


class CardEvidence(NamedTuple):
    """A message to jump to, what the judge quotes from it, and the panel that it belongs to."""

    condition: Condition
    message: int
    quote: str | None
    panel: str | None = None


NOTHING = Cell("")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the card: its number or weight, title, one cell per condition, the difference and
    details.
    """

    mark: str
    label: Cell
    cells: dict[Condition, Cell]
    uplift: Cell = NOTHING
    details: dict[Condition, list[Cell]] = field(default_factory=dict)
    evidence: dict[Condition, CardEvidence] = field(default_factory=dict)
    trial: int | None = None
    """The trial that the row is, on a card of several."""
    worst: dict[Condition, int] = field(default_factory=dict)
    """On a card of several trials, one in which a task scores lowest, or an assertion fails; no
    trial if none does.
    """
    drawn: Callable[[int], Content] | None = None
    """What draws the row for a width, in place of its label; a bar is as long as there is room."""
    folds: bool = False
    """Whether it shows and hides the rows that are seldom needed."""


def brief_cells(result: RunResult, *, brief: bool = False) -> list[list[Cell]]:
    """Return who was tested by whom and the facts, and, unless it is to be `brief`, how much was
    held.
    """
    if brief:
        return who_and_what(result.brief)
    size = [plural(len(result.conversations), "conversation")]
    if result.worked_s is not None:
        size.append(duration(result.worked_s))
    (*agent, others), facts = who_and_what(result.brief)
    return [[*agent, others._replace(text=f"{others.text} · {' · '.join(size)}")], facts]


def brief_text(result: RunResult) -> list[str]:
    """Return the job, what it is about, and the brief, as plain lines."""
    lines = [[Cell(subject(result))], *brief_cells(result)]
    return ["".join(cell.text for cell in line) for line in lines]


def subject(result: RunResult) -> str:
    """Return the job and what it says that it is about; its tasks are rows of the card."""
    return ": ".join(filter(None, (result.brief.job, result.brief.about)))


def condition_to_explain(trial: TrialResult) -> Condition:
    """Return the condition with more to explain: one without a score, otherwise the one with the
    lower score.
    """
    values = {talk.condition: talk.score for talk in trial.held} or dict.fromkeys(trial.conditions)

    def rank(name: Condition) -> float:
        value = values[name]
        if value is None:
            return -1.0
        return value

    return min(values, key=rank)


def is_empty(trial: TrialResult) -> bool:
    """Return whether no conversation began, so that the card has nothing to show but the reason."""
    return not any(talk.has_begun for talk in trial.held)


def why_empty(trial: TrialResult, answer: Answer) -> list[list[Cell]]:
    """Return what the answer does not say of why no conversation began and what to do about it, as
    lines with a label.
    """
    lines = []
    for talk in {talk.reason: talk for talk in trial.held if talk.is_scored}.values():
        if talk.cause.removeprefix("no conversation took place: ") not in answer.what_and_why:
            lines.append([Cell(padded("what went wrong", 17), "quiet"), Cell(talk.cause, "bad")])
        if talk.received:
            lines.append([Cell(padded("it sent", 17), "quiet"), Cell(talk.received)])
    ways = answer.other_ways(chain.from_iterable(talk.ways for talk in trial.held))
    for label, way in zip_longest(["what you can do"], ways):
        if way:
            lines.append([Cell(padded(label or "", 17), "quiet"), Cell(way)])
    return lines


def notes(result: RunResult) -> list[Cell]:
    """Return the caveats on the scores that the answer does not name."""
    cells = []
    if result.user_faults_words:
        cells.append(Cell(result.user_faults_words, "warn"))
    unmeasured: dict[str, list[str]] = {}
    for talk in result.conversations:
        if talk.is_scored and talk.score is None:
            unmeasured.setdefault(talk.reason, []).append(talk.title)
    for reason, names in unmeasured.items():
        cause = reason.removeprefix("not measured: ")
        if cause.removeprefix("evaluator failed: ") not in result.answer.what_and_why:
            listed = " and ".join(dict.fromkeys(names))
            cells.append(Cell(f"{listed}: could not be measured: {cause}", "bad"))
    if result.answer.outcome in ("agent_failed", "timed_out"):  # it says what ended early
        return cells
    early = Counter(
        f"{talk.title} {talk.ended_early}"
        for talk in result.conversations
        if talk.ended_early and not (talk.is_scored and talk.score is None)
    )
    for said, count in early.items():  # of a thousand trials, those that ended alike are one line
        times = f", in {count:,} trials" if count > 1 else ""
        cells.append(Cell(f"{said}{times}", "warn"))
    return cells


def mean(result: RunResult, trial: TrialResult) -> str:
    """Return the mean by the published formula, or a dash if either condition has no score.

    For a single condition, return what is missing, because its score is not a mean.
    """
    return result.mean_needs or number(trial.mean)


def reviewed_words(
    result: RunResult,
    scores_reviewed: ReviewedScores | None,
    said: Sequence[str],
    *,
    wide: bool = True,
) -> list[Cell]:
    """Return what people would say, and the scores after reviews: `ada, 1 of 4 tasks  withheld 0.41
    → 0.55 (reviewed) …`.

    Unless it is `wide`, the scores stand on a line of their own.
    """
    known = scores_reviewed is not None and scores_reviewed.drawn
    cells = []
    if said:
        cells.append(Cell("\n".join(said), "strong" if known else "quiet"))
    if scores_reviewed is None:
        return cells
    scores = "   ".join(result.reviewed_scores_words(scores_reviewed))
    who = (
        f"{shorten(', '.join(scores_reviewed.reviewers), 60)}, {scores_reviewed.tasks} of"
        f" {plural(scores_reviewed.of_tasks, 'task')}"
    )
    if said:
        who = f"\n{who}"
    if scores:
        who += "  " if wide else "\n"
    cells += [Cell(who, "quiet"), Cell(scores, "strong")]
    if scores_reviewed.disputed:
        cells.append(Cell(f"   reviewers differ on {scores_reviewed.disputed}", "warn"))
    return cells


def rows(result: RunResult, trial: TrialResult) -> list[Row]:
    """Return the lines of the card: the score, tasks, assertions, facts, and what else must be
    known.
    """
    both = trial.talks_by_condition
    values = {name: talk.score if talk else None for name, talk in both.items()}
    found = [
        *_score_rows(result, values, trial.uplift, trial.shared, _shared_scores(both)),
        *_task_rows(trial),
        *_assertion_rows(trial),
        _fact_row(both),
        *(Row("  ", Cell(line, "quiet"), {}) for line in trial.facts_kept),
        *_word_rows(trial),
        *(Row("! ", note, {}) for note in notes(result)),
    ]
    adds_up = {name: _adds_up(talk) for name, talk in both.items()}
    found[0].details.update(adds_up)
    if any(talk and talk.failures for talk in both.values()):
        found.append(_failure_row(both))
    return found


def more_rows(result: RunResult, trial: TrialResult) -> list[Row]:
    """Return the lines that are seldom needed: tone, response times, the mean, and how the scores
    add up.
    """
    said = [(result.mean_words, mean(result, trial))]
    if result.planned_trials == 1:
        said += words.cost_lines(result.summary)
    sums: list[Row] = []
    for name, talk in trial.talks_by_condition.items():
        if talk:
            sums += _sum_rows(result, name, talk)
    return [
        *_tone_rows(trial),
        _time_row(result, trial.talks_by_condition),
        *_said_rows(said),
        *sums,
        *_fault_rows(result),
    ]


def _score_rows(
    result: RunResult,
    values: Mapping[Condition, float | None],
    difference: float | None,
    shared: Shared | None,
    on_shared: Mapping[Condition, float | None],
) -> list[Row]:
    """Return the row of the scores, and where the conditions share only some criteria, one of the
    scores on those.
    """
    cells = _scores(values)
    whole = Row("", Cell("score", "strong"), cells, Cell("–", "quiet"))
    if result.only_condition:
        return [whole]
    if not result.clean:
        return [replace(whole, uplift=Cell("not shown", "warn"))]
    if shared is None:
        return [replace(whole, uplift=uplift(difference))]
    if shared.is_nothing:
        return [whole]
    on = Cell(f"on {shared_words(shared)}", "quiet")
    return [
        whole,
        Row("  ", on, _scores(dict.fromkeys(values) | dict(on_shared)), uplift(difference)),
    ]


def _scores(values: Mapping[Condition, float | None]) -> dict[Condition, Cell]:
    return {name: Cell(number(value), score_tone(value)) for name, value in values.items()}


def _shared_scores(
    both: Mapping[Condition, ConversationResult | None],
) -> dict[Condition, float | None]:
    """Return the scores of a trial on what its conditions share."""
    return {name: talk.shared_score for name, talk in both.items() if talk is not None}


def _adds_up(talk: ConversationResult | None) -> list[Cell]:
    """Return how a score comes about, as one line."""
    if talk is None:
        return [Cell("", "quiet")]
    entries = ("".join(cell.text for cell in entry) for entry in legend(talk))
    return [Cell("  ".join(entries), "quiet")]


def _sum_rows(result: RunResult, condition: Condition, talk: ConversationResult) -> list[Row]:
    """Return a condition's stacked bar, and below it the parts that it is made of."""
    name = result.condition_title(condition)

    def bar(width: int) -> Content:
        return paint(*score_bar(talk, width))

    def parts(width: int) -> Content:
        lines = [paint(*entry) for entry in packed(legend(talk), width)]
        return paint("\n").join(lines)

    title = Row("  ", Cell(f"how the score {name} adds up", "quiet"), {})
    said = "".join(cell.text for cell in _adds_up(talk))
    return [
        title,
        Row("  ", Cell(said), {}, drawn=lambda width: paint(bar(width), "\n", parts(width))),
    ]


def _said_rows(lines: Sequence[tuple[str, str]]) -> list[Row]:
    """Return a row for each thing said, with what it is about before the first of those alike."""
    rows, before = [], ""
    for about, said in lines:
        line = said
        if about not in ("", before):
            line = f"{about}: {said}"
        rows.append(Row("  ", Cell(line), {}))
        before = about
    return rows


def _fault_rows(result: RunResult) -> list[Row]:
    """Return a row of the runs' faults, if there are any."""
    if said := faults(result):
        return _said_rows([("", said)])
    return []


BOTH_FAIL = Cell("both fail", "bad")


def _task_rows(trial: TrialResult) -> list[Row]:
    rows = []
    for row in trial.tasks:
        cells, details = {}, {}
        for name, talk in trial.talks_by_condition.items():
            cells[name] = _task_cell(row, name, talk)
            details[name] = _task_detail(row, name, talk)
        evidence: dict[Condition, CardEvidence] = {}
        for condition, task in row.verdicts.items():
            if (quoted := report_rows.task_evidence(task)) is not None:
                evidence[condition] = CardEvidence(condition, *quoted, "tasks")
        judged = list(row.verdicts.values())
        fail = len(judged) > 1 and all(
            one is not None and one.measured and not one.passed for one in judged
        )
        change = BOTH_FAIL if fail else uplift(row.uplift)
        rows.append(Row(f"{row.number} ", Cell(row.title), cells, change, details, evidence))
    return rows


def _task_cell(
    row: report_rows.TaskRow, condition: Condition, talk: ConversationResult | None
) -> Cell:
    if (task := row.verdicts[condition]) is not None:
        return panels.verdict_cell(task)
    if not row.counts_in(condition):
        return Cell("–", "quiet")
    if talk is None or not talk.ending:
        return Cell("·", "quiet")
    if talk.end_reason == "cancelled":
        return Cell("–", "quiet")
    return Cell("? –", "warn")


def _task_detail(
    row: report_rows.TaskRow, condition: Condition, talk: ConversationResult | None
) -> list[Cell]:
    task = row.verdicts[condition]
    if task is None and not row.counts_in(condition):
        return [Cell(words.NOT_HERE, "quiet")]
    if task is None and talk is not None and talk.judge_error:
        return [Cell(f"could not be measured: {talk.judge_error}", "warn")]
    if task is None:
        return [Cell("not judged", "warn")]
    lines = [Cell(task.reason or "the judge gave no reason")]
    if why := why_not_asked(task):
        lines.insert(0, Cell(why, "warn"))
    if task.unproved:
        lines.insert(0, Cell(f"unproved: {words.UNPROVED}", "warn"))
    if task.spread:
        lines.append(Cell(f"the verdicts differ by {number(task.spread)}", "quiet"))
    turns: Mapping[int, int] = {}
    if talk is not None:
        turns = talk.turns
        lines += [Cell(f"! {warning}", "warn") for warning in talk.checks_missing]
    for item in task.evidence:
        quoted = f"“{plain(item.quote)}”"
        if item.message and (turn := turns.get(item.message)):
            lines.append(Cell(f"{quoted}  turn {turn}", "quiet"))
        else:
            lines.append(Cell(f"{quoted}  not found in the transcript", "warn"))
    if task.asked and not why:
        asked_in = turns.get(task.asked)
        lines.append(Cell(f"asked for in turn {asked_in}: “{plain(task.asked_words)}”", "quiet"))
    return lines


def _tone_rows(trial: TrialResult) -> list[Row]:
    """Return the row of the judge's tone; none if no judge gave one."""
    if not trial.tones:
        return []
    cells = {
        name: Cell(number(tone), "quiet")
        for name, tone in zip(trial.conditions, trial.tones, strict=True)
    }
    about = [Cell("The judge's rating of the agent's tone. It is not part of the score.", "quiet")]
    return [
        Row("  ", Cell("tone (not in score)", "quiet"), cells, details=dict.fromkeys(cells, about))
    ]


def _assertion_rows(trial: TrialResult) -> list[Row]:
    rows = []
    both = trial.talks_by_condition
    for row in trial.assertions:
        cells: dict[Condition, Cell] = {}
        details: dict[Condition, list[Cell]] = {}
        for condition in both:
            cells[condition] = panels.final_mark(row.finals[condition]) or Cell("–", "quiet")
            details[condition] = [_assertion_detail(row, condition)]
        decided = {c: report_rows.decided_in(row.timelines[c]) for c in both}
        elsewhere = max(filter(None, decided.values()), default=None)
        evidence = {c: _turn_evidence(talk, decided[c] or elsewhere) for c, talk in both.items()}
        shown = {c: found_at for c, found_at in evidence.items() if found_at is not None}
        finals = list(row.finals.values())
        fail = len(finals) > 1 and all(
            check is not None and check.status == "failed" for check in finals
        )
        change = BOTH_FAIL if fail else NOTHING
        rows.append(Row(f"{row.weight:g}× ", Cell(row.title), cells, change, details, shown))
    return rows


def _turn_evidence(talk: ConversationResult | None, turn: int | None) -> CardEvidence | None:
    """Return the agent's message of the turn that decided an assertion, here or else in the other
    condition.

    An assertion that nothing decided leads to the agent's last message.
    """
    if talk is None or not talk.answers:
        return None
    return CardEvidence(
        talk.condition, talk.answer_in(turn) or talk.answers[-1].message, None, "assertions"
    )


def _assertion_detail(row: report_rows.AssertionRow, condition: Condition) -> Cell:
    """Return how a condition's final check ended or, before it, the newest one."""
    last = row.finals[condition] or next(reversed(row.timelines[condition]), None)
    if last is None and row.outcome(condition) == "elsewhere":
        return Cell(words.NOT_HERE, "quiet")
    if last is None:
        return Cell("not checked", "quiet")
    if last.error:
        return Cell(last.error, "bad")
    if last.status == "not_measured":
        return Cell("could not be measured", "warn")
    if last.status == "failed" and last.why:
        return Cell(f"not true at the end: {last.why}", "bad")
    if last.status == "failed":
        return Cell("not true at the end", "bad")
    if last.from_start:
        return Cell(words.FROM_START, "quiet")
    since = None
    for check in reversed(row.timelines[condition]):
        if check.status != "passed":
            break
        since = check.after_turn
    if since:
        return Cell(f"true since turn {since}", "good")
    return Cell("true at the end", "good")


Both = Mapping["Condition", "ConversationResult | None"]


def _time_row(result: RunResult, both: Both) -> Row:
    target = result.target_ms
    cells: dict[Condition, Cell] = {}
    details: dict[Condition, list[Cell]] = {}
    evidence: dict[Condition, CardEvidence] = {}
    for condition, talk in both.items():
        if talk is None or talk.latency.average_ms is None:
            cells[condition] = Cell("–", "quiet")
            continue
        times = talk.latency
        late = 0 < target < (times.average_ms or 0.0)
        cells[condition] = Cell(latency(times.average_ms), "warn" if late else "plain")
        said = f"p90 {latency(times.p90_ms)}, longest {latency(times.max_ms)}"
        if times.first_token_ms is not None:
            said += f", median first token {latency(times.first_token_ms)}"
        details[condition] = [Cell(f"{said}; target {latency(target)} on average")]
        if talk.slowest_answer is not None:
            evidence[condition] = CardEvidence(
                condition, talk.slowest_answer.message, None, "latency"
            )
    return Row("  ", Cell("average answer", "quiet"), cells, details=details, evidence=evidence)


def _failure_row(both: Both) -> Row:
    cells: dict[Condition, Cell] = {}
    details: dict[Condition, list[Cell]] = {}
    evidence: dict[Condition, CardEvidence] = {}
    for condition, talk in both.items():
        cells[condition] = Cell("–", "quiet")
        details[condition] = [Cell("no request failed", "quiet")]
        if talk is None:
            continue
        cells[condition] = Cell(str(talk.failures), "bad" if talk.failures else "quiet")
        failures = talk.request_failures
        if not failures:
            continue
        alike = Counter((f.error, f.peer) for f in failures)
        details[condition] = [
            Cell(f"{error} ({peer}, {plural(count, 'time')})")
            for (error, peer), count in alike.items()
        ]
        if at := [f.message for f in failures if f.message]:
            evidence[condition] = CardEvidence(condition, at[0], None)
    return Row(
        "  ", Cell("failures of the agent", "quiet"), cells, details=details, evidence=evidence
    )


def _fact_row(both: Both) -> Row:
    cells: dict[Condition, Cell] = {}
    details: dict[Condition, list[Cell]] = {}
    evidence: dict[Condition, CardEvidence] = {}
    for condition, talk in both.items():
        given, why = "–", "the user knew no facts here"
        facts = talk.facts if talk else ()
        if talk is not None and talk.facts_known:
            given = f"{len(facts)} of {talk.facts_known}"
            why = f"the user knew {plural(talk.facts_known, 'fact')} and gave none"
            if talk.facts_unread:
                why = talk.facts_unread
        if talk is not None and talk.facts_unread and not facts:
            given = "not known"
        cells[condition] = Cell(given, "quiet")
        details[condition] = [Cell(why, "quiet")]
        if facts:
            details[condition] = [
                Cell(f"fact {f.fact} in turn {f.turn}{f.asked_words}: {f.text}") for f in facts
            ]
            evidence[condition] = CardEvidence(condition, facts[0].message, None)
    return Row(
        "  ", Cell("facts that the user gave", "quiet"), cells, details=details, evidence=evidence
    )


def _word_rows(trial: TrialResult) -> list[Row]:
    """Return the row of the words that the user told, in a run with a placebo."""
    if not trial.words_told:
        return []
    cells = {
        name: Cell(told, "quiet")
        for name, told in zip(trial.conditions, trial.words_told, strict=True)
    }
    return [Row("  ", Cell(words.WORDS_TOLD, "quiet"), cells)]


# Several trials


def run_rows(result: RunResult) -> list[Row]:
    """Return the lines of a card of several trials: the score, tasks and assertions over all of
    them, then each trial.
    """
    summary = result.summary
    difference = summary.uplift.mean if summary.uplift else None
    return [
        *_score_rows(result, result.scores, difference, summary.shared, result.shared_means),
        *_task_shares(result),
        *_assertion_shares(result),
        *(Row("! ", note, {}) for note in notes(result)),
        *(_trial_row(result, trial) for trial in result.trials),
    ]


def run_more_rows(result: RunResult) -> list[Row]:
    """Return what is known over all trials: the scores' spread and intervals, pass^k, response
    times, cost.
    """
    # The trials' own rows and the tasks' shares say how many were passed one after another.
    repeated = {words.rounds_words(one) for one in result.summary.conditions}
    known = [
        (about, said) for about, said in words.summary_lines(result.summary) if said not in repeated
    ]
    return [
        *(_spread_row(result, name) for name in result.conditions),
        *_said_rows([(result.mean_words, number(result.mean)), *known]),
        *_fault_rows(result),
    ]


def _spread_row(result: RunResult, condition: Condition) -> Row:
    name = result.condition_title(condition)
    longest = max(cell_len(result.condition_title(one)) for one in result.conditions)

    def drawn(width: int) -> Content:
        start = paint(left(Cell(name, "quiet"), longest), Cell("  0 ", "quiet"))
        return paint(start, *score_dots(result, condition, max(1, width - start.cell_length - 2)))

    summary = result.summary.of(condition)
    values = ", ".join(map(number, summary.score.points)) if summary else ""
    return Row("  ", Cell(f"{name}: each trial's score: {values}"), {}, drawn=drawn)


def _task_shares(result: RunResult) -> list[Row]:
    gains = {each.title: each.difference.mean for each in result.summary.task_uplifts}
    rows: dict[tuple[int, str], Row] = {}
    for held in result.summary.conditions:
        for task in held.tasks:
            # A task of one trial alone belongs to its case, of which there may be thousands.
            if task.passed.total > 1 or not result.has_cases:
                row = rows.setdefault(
                    (task.number, task.title),
                    Row(f"{task.number} ", Cell(task.title), {}, uplift(gains.get(task.title))),
                )
                row.cells[held.condition] = _share(task.passed)
                trial, lowest = _where_lowest(result, held.condition, task.title)
                row.details[held.condition] = [
                    Cell(f"mean score {number(task.score.mean)}{lowest}")
                ]
                if trial is not None:
                    row.worst[held.condition] = trial
    return [_or_both_fail(rows[key]) for key in sorted(rows)]


def _or_both_fail(row: Row) -> Row:
    """Return a row of shares; one that no trial passed in any condition says so in place of a
    difference.
    """
    fail = len(row.cells) > 1 and all(cell.text.startswith("✗") for cell in row.cells.values())
    if fail:
        return replace(row, uplift=BOTH_FAIL)
    return row


def _where_lowest(result: RunResult, condition: Condition, title: str) -> tuple[int | None, str]:
    """Return the trial in which a task scores lowest, and what the judge says of it there, to be
    appended to a line; None and no words if it always scores 1.
    """
    lost = []
    for talk in result.conversations_in(condition):
        for task in talk.tasks:
            if task.title == title and task.measured and task.score < 1:
                lost.append((task, talk))
    if not lost:
        return None, ""
    lowest, there = min(lost, key=lambda one: one[0].score)
    said = f"; {there.trial_words}: {reason_of(lowest)}"
    if evidence := report_rows.task_evidence(lowest):
        message, quoted = evidence
        said += f"  “{plain(quoted)}”  turn {there.turns.get(message)}"
    return there.trial, said


def _first_failed(result: RunResult, condition: Condition, index: int) -> int | None:
    """Return the first trial at whose end an assertion fails; None if it fails in none."""
    failed = (
        talk.trial
        for talk in result.conversations_in(condition)
        if (check := talk.final_checks.get(index)) is not None and check.status == "failed"
    )
    return next(failed, None)


def _assertion_shares(result: RunResult) -> list[Row]:
    rows: dict[tuple[int, str], Row] = {}
    for held in result.summary.conditions:
        for check in held.assertions:
            if check.held.total > 1 or not result.has_cases:
                key = (check.index, check.title)
                row = rows.setdefault(key, Row(f"{check.weight:g}× ", Cell(check.title), {}))
                row.cells[held.condition] = _share(check.held)
                failed = _first_failed(result, held.condition, check.index)
                if failed is not None:
                    row.worst[held.condition] = failed
                if check.not_measured:
                    lost = f"could not be measured in {plural(check.not_measured, 'trial')}"
                    row.details[held.condition] = [Cell(lost, "warn")]
    return [_or_both_fail(rows[key]) for key in sorted(rows)]


def _share(proportion: Proportion) -> Cell:
    if not proportion.total:
        return Cell("–", "quiet")
    words = f"{proportion.successes}/{proportion.total}"
    if proportion.successes == proportion.total:
        return Cell(f"✓ {words}", "good")
    if proportion.successes:
        return Cell(f"◐ {words}", "warn")
    return Cell(f"✗ {words}", "bad")


def _trial_row(result: RunResult, trial: int) -> Row:
    """Return the row of a trial, of its scores alone: a `TrialResult` has all texts of its
    conversations, which would have to be read for each of perhaps thousands of rows.
    """
    cells, details = {}, {}
    for name in result.conditions:
        talk = result.conversation(name, trial)
        cells[name] = Cell(score_words(talk), score_tone(talk.score if talk else None))
        details[name] = [Cell("enter opens this trial's card", "quiet")]
    # On some criteria alone, the difference is not that of the scores beside it.
    change = Cell("–", "quiet")
    if result.trial_shared(trial) is None:
        change = uplift(result.trial_uplift(trial))
    return Row("  ", Cell(result.trial_name(trial)), cells, change, details, trial=trial)


def _dot(count: int) -> str:
    """Return the sign for so many equal scores, in one cell."""
    if count == 1:
        return "●"
    if count < 10:
        return str(count)
    return "█"


def score_dots(result: RunResult, condition: Condition, width: int) -> list[Cell]:
    """Return a condition's scores as dots on a line from 0 to 1; `●` for one trial, a digit for
    several alike.
    """
    summary = result.summary.of(condition)
    values = summary.score.points if summary else ()
    places = Counter(round(value * (width - 1)) for value in values)
    cells = []
    for at in range(width):
        count = places[at]
        if not count:
            cells.append(Cell("·", "quiet"))
        else:
            cells.append(Cell(_dot(count), "busy"))
    return [*cells, Cell(" 1", "quiet")]


def faults(result: RunResult) -> str:
    """Return in how many conversations each broke down, as the recording says; empty if none
    did.
    """
    counts = Counter[str | None](talk.fault for talk in result.conversations)
    listed = [f"{peer} {counts[peer]}" for peer in FAILED if counts[peer]]
    if listed:
        return f"broke down, by conversation: {' · '.join(listed)}"
    return ""


def card_text(result: RunResult, trial: TrialResult | None = None) -> str:
    """Return the card, of a trial or of all of them, as plain lines, values separated by tabs."""
    names, answer = result.conditions, result.answer
    if trial is not None:
        names, answer = trial.conditions, result.answer_in(trial.trial)
    lines = [*(f"{label}\t{text}" for label, text in answer.lines), *brief_text(result)]
    if trial is None:
        shown = [*run_rows(result), *run_more_rows(result)]
    elif is_empty(trial):
        return "\n".join(lines)
    else:
        shown = [*rows(result, trial), *more_rows(result, trial)]
    compared = len(names) > 1
    heads = ["", *(result.condition_title(name) for name in names)]
    if compared:
        heads.append("change")
    lines.append("\t".join(heads))
    for row in shown:
        cells = [row.cells.get(name, Cell("–")).text for name in names if row.cells]
        if compared:
            cells.append(row.uplift.text)
        lines.append("\t".join([f"{row.mark}{row.label.text}".strip(), *cells]).rstrip())
    return "\n".join(lines)
