"""Summaries of many conversations, of one run or of a whole batch, sorted by what needs
attention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from bioeval_tui.base.text import file_title, plural, terminal_text
from bioeval_tui.base.units import duration, latency_short, number
from bioeval_tui.base.widths import fitted
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, published_title
from bioeval_tui.record.effect import shared_criteria, trial_difference
from bioeval_tui.report import rows
from bioeval_tui.report.brief import Brief, make_brief
from bioeval_tui.report.sentences import rank_words
from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.intervals import FEWEST_UNITS
from bioeval_tui.statistics.ranks import rank as ranking_of
from bioeval_tui.tui.live import heads_view
from bioeval_tui.tui.shared.cells import FEWEST_DRAWN, Cell, Tone, cut, fitted_condition, spark

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.state import ConversationState, RunState


CELL_WIDTH, CELL_HEIGHT = 38, 4
MOST_LATENCIES = CELL_WIDTH
NO_SCORE = Cell("–", "quiet")
_NOT_MEASURED = frozenset({"evaluator_failed", "timed_out", "cancelled"})


class Rank(IntEnum):
    """How urgently a conversation needs attention: lower is more urgent."""

    NOT_MEASURED = 0
    AGENT_FAILED = 1
    WAITING = 2
    SLOW = 3
    RUNNING = 4
    QUEUED = 5
    DONE = 6


_WORDS: dict[Rank, tuple[str, str]] = {
    Rank.NOT_MEASURED: ("!", "not measured"),
    Rank.AGENT_FAILED: ("✗", "agent failed"),
    Rank.WAITING: ("‖", "waiting"),
    Rank.SLOW: ("◷", "slow"),
    Rank.RUNNING: ("●", "in progress"),
    Rank.QUEUED: ("◌", "queued"),
    Rank.DONE: ("■", "done"),
}


_TONES: dict[Rank, Tone] = {
    Rank.NOT_MEASURED: "bad",
    Rank.AGENT_FAILED: "bad",
    Rank.WAITING: "warn",
    Rank.SLOW: "warn",
}


def briefs(glances: Iterable[Glance], facts_of: Container[str] | None = None) -> list[list[Cell]]:
    """Return the agents and who tested them, then what each job is about with its facts: a line
    each.

    `facts_of` limits facts to these jobs.
    """
    known = [(glance.job, glance.brief) for glance in glances if glance.brief is not None]
    if not known:
        return []
    agents = list(dict.fromkeys(brief.agent for _, brief in known))
    label = "agents  " if len(agents) > 1 else "agent  "
    others = known[0][1].others_words
    lines = [[Cell(label, "quiet"), Cell(" and ".join(agents)), Cell(f"   {others}", "quiet")]]
    for job, brief in dict(known).items():
        line = [Cell(f"{job}  ", "strong"), Cell(brief.topic_words)]
        if facts_of is None or job in facts_of:
            line.append(Cell(f"   facts {brief.facts_words}", "quiet"))
        lines.append(line)
    return lines


class GlanceKey(NamedTuple):
    """Identifies a conversation of a run."""

    run_id: str
    condition: Condition
    trial: int


@dataclass(frozen=True, slots=True)
class Glance:
    """One conversation in a few values. `since` is when the pending answer was requested."""

    key: GlanceKey
    rank: Rank
    state: Cell
    score: Cell = NO_SCORE
    value: float | None = None
    job: str = ""
    model: str = ""
    latencies_ms: tuple[float, ...] = ()
    slow_ms: float = 0.0
    since: datetime | None = None
    tasks: tuple[tuple[str, float], ...] = ()
    """The judge's score of each task, by its title."""
    difference: float | None = None
    """Supplied − withheld of its trial; None if they are not compared, or not yet."""
    has_own_criteria: bool = False
    """Whether something of its trial is scored in one condition only, or otherwise."""
    cluster: str = ""
    """The trial's case, by which statistics are clustered; empty if the job has none."""
    case: str = ""
    """The trial's case and persona; empty if the job has none."""
    case_trial: int = 1
    """The number of the trial among those of its case."""
    named: str = ""
    """What the job calls the condition, once the run has started."""
    brief: Brief | None = None
    """What the run is about; None until it has started."""
    place: int = 0
    """The place of its condition among those of the job."""

    @property
    def condition(self) -> str:
        """What the condition is called: `without the facts`, or as the job names it."""
        return self.named or published_title(self.key.condition)

    def sample(self, value: float | None) -> Sample:
        """Return a value of this conversation as statistics take it."""
        return Sample(self.job, value, case=self.cluster)

    @property
    def trial(self) -> str:
        """The trial's name: `trial 3`, `17`, `17, trial 2`."""
        if not self.case:
            return f"trial {self.key.trial}"
        if self.case_trial > 1:
            return f"{self.case}, trial {self.case_trial}"
        return self.case

    def ranked(self, now: datetime | None) -> Rank:
        """Return how urgently it needs attention now: a pending answer may have become slow
        since.
        """
        if self.rank is not Rank.RUNNING or now is None or self.since is None:
            return self.rank
        if self.waited_ms(now) > self.slow_ms:
            return Rank.SLOW
        return self.rank

    def waited_ms(self, now: datetime) -> float:
        """Return for how long the answer has been awaited."""
        if self.since:
            return max(0.0, (now - self.since).total_seconds() * 1000)
        return 0.0

    @property
    def words(self) -> str:
        """The text that the filter searches."""
        sign, word = _WORDS[self.rank]
        return (
            f"{self.job} {self.model} {self.key.condition} {self.condition} {self.trial}"
            f" {self.state.text} {sign} {word}".lower()
        )


def run_glances(state: RunState, *, gone: bool = False) -> list[Glance]:
    """Return a summary of every conversation of a run, including queued ones; `gone` means that its
    engine has stopped.
    """
    started = state.started
    if started is None:
        return []
    over = gone or state.ended is not None
    # Once for all: it looks at every conversation, and there may be thousands.
    brief = make_brief(state, started)
    glances = []
    for trial in range(1, started.trials + 1):
        for condition in state.conditions:
            conversation = state.conversation(condition, trial)
            key = GlanceKey(started.run_id, condition, trial)
            if conversation is not None:
                glance = _glance(state, conversation, key, gone)
            elif over:
                glance = _not_run(state, key)
            else:
                glance = _empty_glance(state, key, Rank.QUEUED, Cell("◌ queued", "quiet"))
            glances.append(_add_names(state, glance, brief))
    return glances


def planned(
    run_id: str,
    job_path: str,
    model: str | None,
    trials: int,
    conditions: Sequence[Condition] = PUBLISHED_NAMES,
) -> list[Glance]:
    """Return glances at the conversations of a run that has not started."""
    to_come = Cell("◌ queued", "quiet")
    job = file_title(job_path)
    model_words = terminal_text(model or "", 80)
    glances = []
    for trial in range(1, trials + 1):
        for place, condition in enumerate(conditions):
            key = GlanceKey(run_id, condition, trial)
            glances.append(
                Glance(key, Rank.QUEUED, to_come, job=job, model=model_words, place=place)
            )
    return glances


def _empty_glance(state: RunState, key: GlanceKey, rank: Rank, words: Cell) -> Glance:
    started = state.started
    assert started is not None
    return Glance(key, rank, words, job=started.job_name, model=state.asked_model or "")


def _add_names(state: RunState, glance: Glance, brief: Brief) -> Glance:
    case, named = state.case(glance.key.trial), state.condition_title(glance.key.condition)
    place = 0
    if glance.key.condition in state.conditions:
        place = state.conditions.index(glance.key.condition)
    glance = replace(glance, named=named, brief=brief, place=place)
    if case is None:
        return glance
    words = terminal_text(case.words, 120)
    return replace(glance, cluster=case.name, case=words, case_trial=case.trial)


def _not_run(state: RunState, key: GlanceKey) -> Glance:
    said = "– not run"
    if state.ended is None:
        said += ": engine stopped"
    elif state.ended.detail:
        said += f": {state.ended.detail}"
    return _empty_glance(state, key, Rank.NOT_MEASURED, Cell(said, "warn"))


def _glance(state: RunState, conversation: ConversationState, key: GlanceKey, gone: bool) -> Glance:
    started = state.started
    assert started is not None
    head = heads_view.head(state, key.condition, key.trial, None)
    latencies = conversation.latencies_ms
    target = rows.target_ms(state)
    slow = 2 * target if target > 0 else 60_000.0
    rank = _rank(state, conversation, gone)
    if rank is Rank.RUNNING and latencies and latencies[-1] > slow:
        rank = Rank.SLOW
    since = None
    if rank >= Rank.SLOW and conversation.messages:
        newest = conversation.messages[-1]
        if newest.role == "assistant" and not newest.done:
            since = newest.started_at
    shown = _short_state(state, conversation, head.state)
    if gone and conversation.ended is None:
        shown = Cell("! engine stopped", "bad")
    score, value = NO_SCORE, None
    if conversation.score:
        score, value = head.score, conversation.score.score
    judged = conversation.verdict.tasks if conversation.verdict else ()
    return Glance(
        key,
        rank,
        shown,
        score,
        value,
        started.job_name,
        state.asked_model or "",
        tuple(latencies),
        slow,
        since,
        tuple((task.title, task.score) for task in judged if task.measured),
        trial_difference(state, key.trial),
        not shared_criteria(state.trial_job(key.trial)).is_everything,
    )


def _short_state(state: RunState, conversation: ConversationState, whole: Cell) -> Cell:
    """Return the state as short text for a cell; for conversations in progress, the message
    number.
    """
    if conversation.ended is not None or state.ended is not None or not conversation.messages:
        return whole
    return heads_view.short_state(state, conversation.key.condition, conversation.key.trial)


def _rank(state: RunState, conversation: ConversationState, gone: bool) -> Rank:
    if conversation.ended is not None:
        if conversation.ended.reason in _NOT_MEASURED or (
            conversation.phase == "ended" and conversation.score is None
        ):
            return Rank.NOT_MEASURED
        if conversation.score is not None and conversation.score.score is None:
            return Rank.NOT_MEASURED
        if (
            conversation.score is None
            and conversation.phase == "judging"
            and state.ended is None
            and not gone
        ):
            return Rank.RUNNING  # the judge reads it
        if conversation.ended.reason == "agent_failed":
            return Rank.AGENT_FAILED
        return Rank.DONE
    if state.ended is not None or gone:
        return Rank.NOT_MEASURED
    condition = conversation.key.condition
    if condition in state.paused or heads_view.operator_has(state, condition):
        return Rank.WAITING
    return Rank.RUNNING


def arrange(glances: Iterable[Glance], now: datetime | None, words: str = "") -> list[Glance]:
    """Return the conversations to show, in order: failed, waiting and slow ones first, finished
    ones last, lowest score first.
    """
    wanted = words.lower().split()
    kept = [
        glance for glance in glances if not wanted or all(word in glance.words for word in wanted)
    ]

    def place(glance: Glance) -> tuple[int, float, str, int, int]:
        rank, key = glance.ranked(now), glance.key
        value = 0.0
        if rank is Rank.DONE and glance.value is not None:
            value = glance.value
        return rank, value, key.run_id, key.trial, glance.place

    return sorted(kept, key=place)


def counts(glances: Sequence[Glance], now: datetime | None, *, words: bool = True) -> list[Cell]:
    """Return the number of conversations in each state, for the title; without `words`, only signs
    and numbers.
    """
    counted = Counter(glance.ranked(now) for glance in glances)
    cells = []
    if words:
        cells.append(Cell(plural(len(glances), "conversation"), "quiet"))
    for rank, (sign, word) in _WORDS.items():
        if counted[rank]:
            said = f"{sign} {counted[rank]:,}"
            if words:
                said += f" {word}"
            cells.append(Cell(said, _TONES.get(rank, "quiet")))
    return cells


def standings(glances: Sequence[Glance]) -> str:
    """Return the models' ranks with intervals, the condition with the facts first; empty where they
    cannot be ranked.

    Models are compared on the jobs and cases that all of them ran; trials of the same case are
    averaged.
    """
    found_ranks = []
    for condition in reversed(glance_conditions(glances)):
        scores: dict[str, dict[str, list[float]]] = {}
        for glance in glances:
            if glance.key.condition == condition and glance.value is not None and glance.model:
                scores.setdefault(glance.model, {}).setdefault(
                    f"{glance.job} {glance.case}", []
                ).append(glance.value)
        if len(scores) < 2:
            continue
        ranking = ranking_of(scores)
        if ranking is not None and ranking.cases >= FEWEST_UNITS:
            ranks = ", ".join(f"{one.name} {rank_words(one)}" for one in ranking.ranks)
            found_ranks.append(f"{condition_name(glances, condition)}: {ranks}")
    return "; ".join(found_ranks)


def is_running(glances: Iterable[Glance]) -> bool:
    """Whether any conversation is queued or in progress."""
    return any(Rank.WAITING <= glance.rank <= Rank.QUEUED for glance in glances)


def tile_lines(
    glance: Glance, now: datetime | None, several: bool, width: int, beside: Iterable[Glance] = ()
) -> tuple[tuple[Cell, ...], ...]:
    """Return a cell's three lines for `width` characters: name and score, state, latencies.

    With `several` runs the name says job and model, and the state which conversation of the run it
    is. Names that do not fit are cut so that they differ from those `beside`.
    """
    key, slow = glance.key, glance.ranked(now) is Rank.SLOW
    room = width - cell_len(glance.score.text) - 2
    name, which = _conversation(glance, room), ""
    if several:
        name = run_name(glance, room, beside)
        short = f"{fitted_condition(glance.condition, width // 3)} {key.trial}"
        if glance.case:
            short = _conversation(glance, width // 2 + 4)
        which = f"{short}  "
    gap = max(2, width - cell_len(name) - cell_len(glance.score.text))
    first = (Cell(name, "strong"), Cell(" " * gap), glance.score)
    waited = ""
    if now is not None and glance.since:
        waited = f" · {duration(glance.waited_ms(now) / 1000)}"
    room = max(1, width - cell_len(which) - cell_len(waited))
    state_text = glance.state.text
    if cell_len(state_text) > room:  # how many messages it took is the first thing to go
        state_text = cut(state_text.partition(" · ")[0], room)
    state = Cell(state_text + waited, "warn" if slow else glance.state.tone)
    newest_ms = glance.latencies_ms[-MOST_LATENCIES:]
    most = max([glance.slow_ms, *newest_ms, 1.0])
    newest = Cell("", "quiet")
    # If the wait is what is slow, it stands beside the state.
    if glance.latencies_ms and (now is None or glance.waited_ms(now) <= glance.slow_ms):
        newest = Cell(latency_short(glance.latencies_ms[-1]), "quiet")
    if slow:
        newest = Cell(f"◷ slow  {newest.text}".rstrip(), "warn")
    room = max(1, width - cell_len(newest.text) - 1)
    drawn = ""
    if len(newest_ms) >= FEWEST_DRAWN:
        drawn = spark(newest_ms, room, 0.0, most)
    bars = fitted(drawn, room) + " "
    return (
        first,
        (Cell(which, "quiet"), state),
        (Cell(bars, "busy"), newest),
    )


def _conversation(glance: Glance, room: int) -> str:
    """Return which conversation of its run it is: the condition with the trial, or the case, which
    is cut where it must be.
    """
    if not glance.case:
        condition = fitted_condition(glance.condition, room - cell_len(glance.trial) - 3)
        return f"{condition} · {glance.trial}"
    condition = fitted_condition(glance.condition, room // 2)
    return f"{cut(glance.trial, max(1, room - cell_len(condition) - 3))} · {condition}"


def glance_conditions(glances: Iterable[Glance]) -> list[Condition]:
    """Return the conditions of the conversations, in their order in a trial."""
    return list(
        dict.fromkeys(glance.key.condition for glance in sorted(glances, key=lambda one: one.place))
    )


def condition_name(glances: Iterable[Glance], condition: Condition) -> str:
    """Return what all jobs call a condition; its own name if theirs differ."""
    names = {glance.condition for glance in glances if glance.key.condition == condition}
    if len(names) == 1:
        return names.pop()
    return published_title(condition)


def run_name(glance: Glance, room: int, beside: Iterable[Glance]) -> str:
    """Return job and model (of a single job, only the model), each cut where both do not fit, but
    not like those `beside`.
    """
    job, model = glance.job, glance.model
    if not model:
        return cut(job, max(1, room))
    jobs, models = {job: None}, {model: None}
    for other in beside:
        jobs[other.job] = models[other.model] = None
    if len(jobs) == 1 and len(models) > 1:
        return distinct(list(models), max(1, room))[model]
    if cell_len(job) + cell_len(model) + 3 > room:
        half = max(1, (room - 3) // 2)
        model = distinct(list(models), max(half, room - 3 - cell_len(job)))[model]
        job = distinct(list(jobs), max(1, room - 3 - cell_len(model)))[job]
    return f"{job} · {model}"


def whole_name(glance: Glance) -> str:
    """Return which conversation it is, without a cut."""
    parts = (glance.job, glance.model, glance.condition, glance.trial, f"run {glance.key.run_id}")
    return " · ".join(filter(None, parts))


def task_scores(glance: Glance) -> str:
    """Return the score of each task, which says why the conversation scores as it does."""
    return " · ".join(f"{number(value)} {title}" for title, value in glance.tasks)


def distinct(names: Sequence[str], width: int) -> dict[str, str]:
    """Return names cut to a width so that different ones stay different, where any cut does
    that.
    """
    common = next(
        (at for at, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0
    )
    cuts: tuple[Callable[[str], str], ...] = (
        lambda name: cut(name, max(1, width)),
        lambda name: name if cell_len(name) <= width else f"…{_last_cells(name, width - 1)}",
        lambda name: name if cell_len(name) <= width else cut(f"…{name[common:]}", max(1, width)),
    )
    shortened = [{name: cut(name) for name in names} for cut in cuts]
    return next(
        (cut for cut in shortened if len(set(cut.values())) == len(set(names))), shortened[0]
    )


def _last_cells(name: str, width: int) -> str:
    """Return the end of a name that is at most so many cells wide."""
    return next((name[at:] for at in range(len(name)) if cell_len(name[at:]) <= width), "")


def glance_text(glance: Glance) -> str:
    """Return a conversation as one line of text, for copying."""
    parts = [glance.job, glance.model, glance.condition, glance.trial, glance.state.text]
    return "\t".join([glance.key.run_id, *parts, number(glance.value)])
