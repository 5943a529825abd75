"""What the home screen says: what to do next, the recent runs, how scores went, and problems, each
as rows with their details (`HomeEntry`).

`home.py` shows them and does what enter means there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len

from bioeval_tui.base.text import clean_line, home_relative, plural, shorten
from bioeval_tui.base.units import ago, number
from bioeval_tui.base.widths import fitted, padded
from bioeval_tui.record.condition_names import PLACEBO_NAME, published_title
from bioeval_tui.record.participants import SAMPLE_AGENT
from bioeval_tui.record.runs import AGENT_FAILED, NO_SCORE, NOT_MEASURED
from bioeval_tui.report.next_steps import (
    CompareNext,
    RepeatNext,
    ReviewNext,
    RunNext,
    WatchNext,
    next_step,
)
from bioeval_tui.statistics.intervals import FEWEST_UNITS
from bioeval_tui.tui.runs.runs_view import run_status
from bioeval_tui.tui.shared.cells import (
    FEWEST_DRAWN,
    Cell,
    Line,
    Tone,
    bulleted,
    cut,
    joined,
    score_tone,
    spark,
)

if TYPE_CHECKING:
    from bioeval_tui.evaluation.wiring.doctor import ComponentState
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.tui.job_items import JobItem
    from bioeval_tui.tui.runs.runs_view import RunPreview

RECENT, NEXT, PROBLEMS = 12, 5, 8
"""Maximum number of rows in each list."""
LABELS = 42
"""Width of what stands before and after the bars of a condition."""
LONGEST_AGENT = 16
"""The maximum length of an agent's name beside the score of its run, in characters."""
Does = Literal["", "sample", "own", "open", "compare", "review", "job", "go"]
"""What enter does with what `HomeEntry.on` names: runs, or a job and, to run it, how often."""


class HomeEntry(NamedTuple):
    """A row, its details beside the lists, and what enter does."""

    row: tuple[Cell, ...]
    about: tuple[Line, ...] = ()
    does: Does = ""
    on: tuple[str, ...] = ()
    run: CataloguedRun | None = None

    @property
    def text(self) -> str:
        """The row and its details, for copying."""
        lines = [self.row, *self.about]
        return "\n".join("".join(cell.text for cell in line).strip() for line in lines).strip()


def first_steps() -> list[HomeEntry]:
    """Return the three first steps for users without any runs."""
    return [
        _next(
            "Evaluate your own agent",
            "over HTTP, or any chat model",
            "A job is a file that names the agent, the tasks, the facts the user may share and the"
            " assertions to check. Press Enter, and give your agent's address and what a user wants"
            " from it.",
            command="bioeval-tui new job.yml",
            does="own",
            on=(),
        ),
        _next(
            "Start a first run",
            "the sample agent, offline, in about ten seconds",
            "A simulated user asks the sample agent for a medication reminder, twice: first knowing"
            " no facts, then with two facts to share. This agent guesses what it is not told. You"
            " watch both conversations, then see the scores and how they are calculated.",
            "Nothing leaves this machine: a script plays the user, and rules replace the judge"
            " model.",
            command="bioeval-tui demo",
            does="sample",
        ),
        _next(
            "Grade submissions for medals",
            "biomedical machine-learning tasks",
            "Score predictions with the task's own metric and place them on its leaderboard. Press"
            " Enter for the medal table, with three submissions to try.",
            command="bioeval-tui grade submissions.jsonl",
            does="go",
            on=("medals",),
        ),
    ]


HOW: tuple[Line, ...] = (
    [Cell("         ┌──────────── talks ────────────┐", "quiet")],
    [Cell("         │                               ▼", "quiet")],
    [
        Cell("     evaluator", "strong"),
        Cell("                      "),
        Cell("your agent", "strong"),
    ],
    [Cell("   plays a user                     its state, its graph", "quiet")],
    [Cell("         │                               │", "quiet")],
    [Cell("         ▼                               ▼", "quiet")],
    [
        Cell("       judge", "strong"),
        Cell("                        "),
        Cell("assertions", "strong"),
    ],
    [Cell("  scores the tasks              check what it really did", "quiet")],
    [],
    [Cell("Each job runs twice: first the user knows no facts, then")],
    [Cell("the user shares them when asked. Of what is right in")],
    [Cell("both, the difference is what your agent gains by asking.")],
)
"""How an evaluation works, for users without any runs."""


def _next(
    what: str,
    more: str,
    *about: str,
    command: str = "",
    does: Does,
    on: tuple[str, ...] = (),
    run: CataloguedRun | None = None,
    parts: Iterable[tuple[str, str]] = (),
) -> HomeEntry:
    lines: list[Line] = [[Cell(what, "strong")], []]
    for paragraph in about:
        lines += [[Cell(paragraph)], []]
    if command:
        lines += [[Cell("in a shell: ", "quiet"), Cell(command, "busy")], []]
    lines += bulleted(parts, "quiet")
    row = (Cell("▸ ", "busy"), Cell(what, "strong"), Cell(f"  {more}", "quiet"))
    return HomeEntry(row, tuple(lines), does, on, run)


def next_steps(
    runs: Sequence[CataloguedRun], jobs: Sequence[JobItem], previews: Mapping[str, RunPreview]
) -> list[HomeEntry]:
    """Return suggestions derived from the runs, their conclusions and the jobs, most urgent first.

    Your own agent is suggested first until one has run.
    """
    if not runs:
        return first_steps()
    own = any(run.agent not in ("", SAMPLE_AGENT) and not run.imported for run in runs)
    ended = [run for run in runs if run.status == "completed" and run.measured]
    steps = [_watch(run) for run in runs if run.status == "running"]
    if ended:
        # If the job's newest run failed, more trials are not what comes next.
        is_jobs_newest = ended[0] in last_runs(runs)
        if is_jobs_newest:
            steps += _repeat(ended[0], jobs, previews)
        steps += _compare(ended)
    steps += _review(ended)
    steps += _run_first(jobs)
    yours, _, medals = first_steps()
    if own:
        return [*steps[:NEXT], medals]
    return [yours, *steps[:NEXT], medals]


def _watch(run: CataloguedRun) -> HomeEntry:
    return _next(*next_step(WatchNext(run.job)), does="open", on=(run.run_id,), run=run)


def _repeat(
    newest: CataloguedRun, jobs: Sequence[JobItem], previews: Mapping[str, RunPreview]
) -> list[HomeEntry]:
    """Suggest more trials of the newest run's job, unless they would give the same scores again."""
    job = next((job for job in jobs if job.name == newest.job and job.runnable), None)
    known = previews.get(newest.run_id)
    # The scripts and rules of a rehearsal give the same scores each time, and so may its agent.
    if job is None or known is None or newest.rehearsal or not 0 < known.trials < FEWEST_UNITS:
        return []
    command = f"bioeval-tui run {home_relative(job.path)} --repeat {FEWEST_UNITS}"
    finding = RepeatNext(newest.job, known.trials, FEWEST_UNITS)
    return [
        _next(
            *next_step(finding),
            command=command,
            does="job",
            on=(str(job.path), str(FEWEST_UNITS)),
            run=newest,
        )
    ]


def _compare(ended: Sequence[CataloguedRun]) -> list[HomeEntry]:
    """Suggest to compare the newest run with the one before of the same job, if their scores
    differ.
    """
    newest = ended[0]
    before = next((run for run in ended[1:] if run.job == newest.job), None)
    if before is None or newest.scores == before.scores:
        return []
    agents = (before.agent_words, newest.agent_words)
    if agents[0] == agents[1]:
        agents = ("", "")
    elif before.agent == newest.agent and before.model and newest.model:
        agents = (before.model, newest.model)
    first, second = (shorten(clean_line(name), LONGEST_AGENT) for name in agents)
    finding = CompareNext(newest.job, _score(before), _score(newest), (first, second))
    both = (before.run_id, newest.run_id)
    command = f"bioeval-tui runs compare {' '.join(both)}"
    return [_next(*next_step(finding), command=command, does="compare", on=both, run=newest)]


def _review(ended: Sequence[CataloguedRun]) -> list[HomeEntry]:
    """Suggest to review the newest run with a judge that nobody has reviewed."""
    run = next((run for run in ended if not run.rehearsal and not run.reviewers), None)
    if run is None:
        return []
    command = f"bioeval-tui review {run.run_id}"
    return [
        _next(
            *next_step(ReviewNext(run.job)),
            command=command,
            does="review",
            on=(run.run_id,),
            run=run,
        )
    ]


def _run_first(jobs: Sequence[JobItem]) -> list[HomeEntry]:
    """Suggest to run the first job that was never run."""
    job = next((job for job in jobs if job.runnable and not job.runs), None)
    if job is None:
        return []
    path = "" if job.sample else home_relative(job.path)
    finding = RunNext(job.name, path, job.tasks or 0, job.facts or 0, job.assertions or 0)
    return [_next(*next_step(finding), does="job", on=(str(job.path), "1"), parts=job.about)]


def last_runs(runs: Iterable[CataloguedRun]) -> list[CataloguedRun]:
    """Return the newest ended run of each job."""
    by_job: dict[str, CataloguedRun] = {}
    for run in runs:
        if run.status != "running":
            by_job.setdefault(run.job, run)
    return list(by_job.values())


FRAME = 5
"""Cells beside the rows: the frame, a space on each side, and the scrollbar."""


def recent(
    runs: Sequence[CataloguedRun], previews: Mapping[str, RunPreview], now: datetime, width: int
) -> list[HomeEntry]:
    """Return the newest runs; `previews` are their conclusions by id, as far as known.

    Agents' names get a third of `width`, the screen's. A longer one and a job's very long name are
    cut where no room would be left for what came out.
    """
    shown = runs[:RECENT]
    jobs = min(24, max((cell_len(run.job) for run in shown), default=0))
    agents = min(max(32, width // 3), max((cell_len(run.agent_words) for run in shown), default=0))
    entries = []
    for run in shown:
        state = run_status(run)
        known = previews.get(run.run_id)
        outcome = [state]
        if known is not None and known.answer.brief:
            tone: Tone = "bad" if state.tone == "bad" else "plain"
            outcome = [
                Cell(known.answer.brief, tone),
                Cell(f", {plural(known.trials, 'trial')}"),
            ]
        start = _scores(run)
        end = [*outcome, Cell(f"  {ago(run.began, now)}", "quiet")]
        room = width - FRAME - 4 - sum(cell_len(cell.text) for cell in (*start, *end))
        agent = run.agent_words
        if cell_len(agent) + jobs > room:
            agent = cut(agent, agents)
        job = cut(run.job, max(jobs, room - max(agents, cell_len(agent))))
        names = [Cell(padded(job, jobs) + "  "), Cell(padded(agent, agents) + "  ", "quiet")]
        row = [*start, *names, *end]
        entries.append(HomeEntry(tuple(row), does="open", on=(run.run_id,), run=run))
    return entries


def _scores(run: CataloguedRun) -> tuple[Cell, ...]:
    """Return `0.47 → 1.00`, the conditions' scores, or the score of the only one; that with a
    placebo, to which nothing leads, stands after a comma.
    """
    values = list(run.scores.values()) or [None, None]
    cells = [Cell(fitted(number(value), 4, "right"), score_tone(value)) for value in values]
    if len(cells) == 1:
        return cells[0], Cell(" " * 9)  # as wide as the arrow and the second score
    first, *others = cells
    row = [first]
    for name, cell in zip([*run.scores][1:] or [""], others, strict=True):
        row += [Cell(", " if name == PLACEBO_NAME else " → ", "quiet"), cell]
    return *row, Cell("  ")


def _score(run: CataloguedRun) -> float | None:
    """Return the mean, or the score of the only condition."""
    only = run.only_condition
    if only:
        return run.scores[only]
    return run.score


def trends(runs: Iterable[CataloguedRun], width: int, height: int, now: datetime) -> list[Line]:
    """Return the scores of each agent in each job by condition, oldest first, as bars with their
    newest and best value.

    What ran last is first; jobs with fewer than three scores are left out.
    """
    alike: dict[tuple[str, str], list[CataloguedRun]] = {}
    for run in runs:
        if run.status != "running":
            alike.setdefault((run.job, run.agent_words), []).append(run)
    lines: list[Line] = []
    for (job, agent), newest_first in alike.items():
        shown = newest_first[: max(1, (width - LABELS) // 2)][::-1]
        names = dict.fromkeys(chain.from_iterable(run.scores for run in newest_first))
        rows = [
            row for name in names if (row := _trend(name, [run.scores.get(name) for run in shown]))
        ]
        if not rows or len(lines) + len(rows) + 1 > height:
            continue
        first = f", the first {ago(shown[0].began, now)}"
        scored = next(
            run for run in newest_first if any(value is not None for value in run.scores.values())
        )
        if scored is not newest_first[0]:
            first = f", the last score {ago(scored.began, now)}"
        lines += [
            [
                Cell(f"{job}  ", "strong"),
                Cell(agent),
                Cell(f"  {plural(len(shown), 'run')}", "quiet"),
                Cell(first, "quiet"),
            ],
            *rows,
        ]
        if len(lines) < height:
            lines.append([])
    return lines


def _trend(name: str, values: Sequence[float | None]) -> Line:
    """Return the bars of a condition, `·` for a run without a score; nothing for fewer than three
    scores.
    """
    known = [value for value in values if value is not None]
    if len(known) < FEWEST_DRAWN:
        return []
    bars = joined((f"{spark([value], 1)} ", score_tone(value)) for value in values)
    said = f" {number(known[-1])}, best {number(max(known))}"
    title = published_title(name)
    return [Cell("  " + padded(f"{title} ", 18), "quiet"), *bars, Cell(said, "quiet")]


INTERRUPTED = (
    "Its engine stopped before the run ended. The recording is kept, and you can resume the run"
    " from there."
)


def problems(
    findings: Iterable[ComponentState],
    jobs: Iterable[JobItem],
    runs: Sequence[CataloguedRun],
    previews: Mapping[str, RunPreview],
    now: datetime,
) -> list[HomeEntry]:
    """Return the problems: parts of the installation, jobs that cannot run or whose last run
    failed, interrupted runs; hints last.
    """
    entries = []
    for finding in findings:
        broken = finding.state == "broken"
        if broken or finding.part == "openai endpoint":
            about: list[Line] = [[Cell(finding.part, "strong")], [Cell(finding.said)]]
            if finding.to_do:
                about.append([Cell(finding.to_do, "busy")])
            about += [[], [Cell("bioeval-tui doctor examines every part.", "quiet")]]
            sign = Cell("✗ ", "bad") if broken else Cell("– ", "quiet")
            entries.append(HomeEntry((sign, Cell(f"{finding.part}: {finding.said}")), tuple(about)))
    for job in jobs:
        if job.checked and job.errors and not job.needs_code:
            about = [[Cell(home_relative(job.path), "strong")], []]
            for error in job.errors:
                field = error.field and f"{error.field}: "
                at = Cell(f"{error.line}: ", "quiet")
                about.append([at, Cell(field, "busy"), Cell(error.message)])
            row = (
                Cell("✗ ", "bad"),
                Cell(f"{job.name} cannot run: {plural(len(job.errors), 'error')}"),
            )
            entries.append(HomeEntry(row, tuple(about), "job", (str(job.path),)))
    for run in last_runs(runs[:RECENT]):
        state, known = run_status(run), previews.get(run.run_id)
        if state.text in (AGENT_FAILED, NO_SCORE, NOT_MEASURED):
            said = (known and known.answer.brief) or state.text.partition(" ")[2]
            row = (Cell("✗ ", "bad"), Cell(f"{run.job}: {said}, {ago(run.began, now)}"))
            entries.append(HomeEntry(row, does="open", on=(run.run_id,), run=run))
    for run in runs[:RECENT]:
        if run.status == "interrupted":
            about = [
                [Cell(f"{run.job}, {ago(run.began, now)}", "strong")],
                [],
                [Cell(INTERRUPTED)],
                [],
                [
                    Cell("in a shell: ", "quiet"),
                    Cell(f"bioeval-tui runs resume {run.run_id}", "busy"),
                ],
            ]
            row = (Cell("◐ ", "warn"), Cell(f"{run.job} was interrupted {ago(run.began, now)}"))
            entries.append(HomeEntry(row, tuple(about), "open", (run.run_id,)))
    return sorted(entries, key=lambda entry: entry.row[0].tone == "quiet")[:PROBLEMS]
