"""The jobs screen: preview, problems and latest scores of job files; edit and run them.

The preview is a view of a text with its problems (`SourceView`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from bioeval_tui.base.errors import BioevalError, Problem
from bioeval_tui.base.text import home_relative, plural
from bioeval_tui.base.units import number, when
from bioeval_tui.base.widths import padded
from bioeval_tui.sample.paths import plugin_jobs, sample_jobs
from bioeval_tui.tui.items import JobItem, cannot_run
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.base import switch_focus
from bioeval_tui.tui.shared.cells import Cell, bulleted, paint, spark
from bioeval_tui.tui.shared.list_screen import ListScreen
from bioeval_tui.tui.shared.list_table import Column, Key, Listing, number_key
from bioeval_tui.tui.shared.rows_widget import Labelled, RowList, title_lines

if TYPE_CHECKING:
    from bioeval_tui.tui.job_dialogs import NewJob


MAX_LINES = 5_000
"""Maximum number of lines in a preview; the rest is only counted."""

_KEY = re.compile(r"^(\s*(?:- +)*)([\w.$/-]+|\"[^\"]*\"|'[^']*')(:)(?=\s|$)(.*)$")
_BLOCK = re.compile(r":\s*[|>][-+0-9]*\s*(?:#.*)?$|^\s*-\s+[|>][-+0-9]*\s*$")
_SPACES = re.compile(r"^ *")


class SourceRow(NamedTuple):
    """One line on screen: the number of the file's line where it begins, and its cells."""

    number: int | None
    cells: tuple[Cell, ...]
    kind: Literal["text", "error", "warning"] = "text"


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its problems."""

    text: str
    problems: tuple[Problem, ...] = ()

    def rows(self, width: int) -> list[SourceRow]:
        """Return the rows for `width` cells beside the numbers; long lines continue in the next
        row.
        """
        by_line: dict[int, list[Problem]] = defaultdict(list)
        for problem in self.problems:
            by_line[problem.line].append(problem)
        shown: list[SourceRow] = []

        def add_problems(at: int) -> None:
            for problem in by_line.pop(at, ()):
                shown.extend(_problem_rows(problem, width))

        add_problems(0)
        lines = self.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        for at, (line, block) in enumerate(_blocks(lines[:MAX_LINES]), 1):
            shown += _text_rows(at, line, width, block)
            add_problems(at)
        if len(lines) > MAX_LINES:
            shown.append(
                SourceRow(None, (Cell(f"… {len(lines) - MAX_LINES:,} more lines", "quiet"),))
            )
        for at in sorted(by_line):
            add_problems(at)
        return shown

    @property
    def first_problem(self) -> Problem | None:
        """The problem to show first: the first error, otherwise the first warning."""
        errors = [problem for problem in self.problems if problem.severity == "error"]
        return min(errors or self.problems, key=lambda problem: problem.line, default=None)


def _blocks(lines: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each line with whether it is text of a block scalar, in which a colon is only a
    colon.
    """
    blocks = []
    inside: int | None = None
    for line in lines:
        spaces = len(_SPACES.match(line).group())  # type: ignore[union-attr]
        if inside is not None and line.strip() and spaces <= inside:
            inside = None
        blocks.append((line, inside is not None))
        if inside is None and _BLOCK.search(line):
            inside = spaces
    return blocks


def _text_rows(number: int, line: str, width: int, block: bool) -> list[SourceRow]:
    line = line.replace("\t", "    ")
    if cell_len(line) <= width:
        return [SourceRow(number, _coloured(line, block))]
    spaces = len(_SPACES.match(line).group())  # type: ignore[union-attr]
    indent = min(spaces + 2, width // 2)
    first, *rest = title_lines(line, width, width - indent)
    return [
        SourceRow(number, _coloured(first, block)),
        *(SourceRow(None, (Cell(" " * indent + part),)) for part in rest),
    ]


def _coloured(line: str, block: bool) -> tuple[Cell, ...]:
    """Return a YAML line with its key and comment in different tones; unknown syntax stays
    plain.
    """
    if block:
        return (Cell(line),)
    if line.lstrip().startswith("#"):
        return (Cell(line, "quiet"),)
    match = _KEY.match(line)
    if match is None:
        return (Cell(line),)
    start, key, colon, rest = match.groups()
    return (Cell(start, "quiet"), Cell(key, "busy"), Cell(colon, "quiet"), Cell(rest))


def _problem_rows(problem: Problem, width: int) -> list[SourceRow]:
    kind, sign, tone = "error", "✗", "bad"
    if problem.severity == "warning":
        kind, sign, tone = "warning", "!", "warn"
    said = problem.message
    if problem.field:
        said = f"{problem.field}: {said}"
    if problem.line and problem.column:
        said = f"{problem.line}:{problem.column}  {said}"
    first, *rest = title_lines(f"{sign} {said}", max(8, width), max(8, width) - 2)
    lines = [first, *(f"  {part}" for part in rest)]
    return [SourceRow(None, (Cell(line, tone),), kind) for line in lines]  # type: ignore[arg-type]


class SourceView(ScrollView, can_focus=True):
    """Shows one text at a time and keeps its position when the file changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"source--error", "source--warning"}
    DEFAULT_CSS = """
    SourceView {
        background: transparent;
        overflow-x: hidden;
        padding: 0 1;
        scrollbar-gutter: stable;
        & > .source--error { background: $error-muted; }
        & > .source--warning { background: $warning-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~source")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: object = None
        self._source = Source("")
        self._lines: list[SourceRow] = []
        self._for_width = -1
        self._gutter = 3

    def show(self, name: object, text: str, problems: Sequence[Problem]) -> None:
        """Show a text; another `name` begins at its top, or at its first problem."""
        source = Source(text, tuple(problems))
        if source == self._source and name == self._shown:
            return
        other = name != self._shown
        self._source, self._shown = source, name
        self._for_width = -1
        self._lay_out()
        if other:
            self.scroll_to(y=self._first_place(), animate=False, immediate=True)

    def _first_place(self) -> int:
        """Return the row to start at: a few above the first problem, else the top."""
        problem = self._source.first_problem
        if problem is None or not problem.line:
            return 0
        at = next((y for y, row in enumerate(self._lines) if row.number == problem.line), 0)
        if at >= self.size.height - 2:
            return max(0, at - 3)
        return 0

    def on_resize(self) -> None:
        """Wrap the lines again."""
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0 or width == self._for_width:
            return
        self._for_width = width
        self._gutter = len(str(self._source.text.count("\n") + 1)) + 2
        self._lines = self._source.rows(max(8, width - self._gutter))
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        row = self._lines[at]
        number = "" if row.number is None else str(row.number)
        line = Content.assemble(
            paint(Cell(f"{padded(number, self._gutter - 2, 'right')}  ", "quiet")),
            paint(*row.cells),
        )
        style = self.visual_style
        if row.kind != "text":
            style = style + self.get_visual_style(f"source--{row.kind}")
        return Visual.to_strips(self, line.truncate(width, pad=True), width, 1, style, pad=True)[0]


SPARK = 12

COLUMNS: tuple[Column, ...] = (
    Column("job", 0),
    Column("check", 12),
    Column("tasks", 5, True, 2),
    Column("facts", 5, True, 4),
    Column("asserts", 7, True, 3),
    Column("last runs", SPARK, False, 1),
    Column("score", 6, True),
    Column("last run", 11, False, 5),
)


def listing() -> Listing[JobItem]:
    """Return an empty table of jobs, sorted by name."""
    return Listing(
        COLUMNS, _KEYS, lambda job: f"{job.name} {job.path} {check(job).text}", lambda job: job.path
    )


def _problems_key(job: JobItem) -> Key:
    warnings = len(job.problems) - len(job.errors)
    return (0, -len(job.errors) * 1000.0 - warnings, job.name.lower())


_KEYS: dict[str, Callable[[JobItem], Key]] = {
    # your own before the samples
    "job": lambda job: (int(_is_shipped(job)), 0.0, job.name.lower()),
    "check": _problems_key,
    "tasks": lambda job: number_key(job.tasks),
    "facts": lambda job: number_key(job.facts),
    "asserts": lambda job: number_key(job.assertions),
    "last runs": lambda job: number_key(float(job.runs)),
    "score": lambda job: number_key(job.last_score),
    "last run": lambda job: number_key(job.last_run.timestamp() if job.last_run else None),
}


def check(job: JobItem) -> Cell:
    """Return the result of the check in a few words; jobs that are included in the program are
    samples.
    """
    if not job.checked:
        return Cell("… checking", "quiet")
    if job.needs_code:
        return Cell("! needs code", "warn")
    if job.errors:
        return Cell(f"✗ {plural(len(job.errors), 'error')}", "bad")
    if job.problems:
        return Cell(f"! {plural(len(job.problems), 'warning')}", "warn")
    if job.sample:
        return Cell("✓ sample", "good")
    return Cell("✓ ready", "good")


def _is_shipped(job: JobItem) -> bool:
    """Return whether a job comes with the program, also one that the sample agent cannot run."""
    return (
        job.sample
        or job.path in plugin_jobs()
        or job.path.parent.resolve() == sample_jobs().resolve()
    )


def row(job: JobItem, now: datetime, *, exact: bool = False) -> dict[str, Cell]:
    """Return a job's cells by column name.

    `exact` shows when it ran last instead of how long ago.
    """
    last = job.last_score
    return {
        "job": Cell(job.name, "plain" if job.runnable else "quiet"),
        "check": check(job),
        "tasks": _count(job.tasks),
        "facts": _count(job.facts),
        "asserts": _count(job.assertions),
        "last runs": _newest_scores(job),
        "score": Cell(number(last), "strong" if last is not None else "quiet"),
        "last run": Cell(when(job.last_run, now, exact=exact) if job.last_run else "–", "quiet"),
    }


def _newest_scores(job: JobItem) -> Cell:
    if job.scores:
        return Cell(spark(job.scores, SPARK), "busy")
    if job.runs:
        return Cell("no mean yet", "quiet")
    return Cell("no run yet", "quiet")


def _count(number: int | None) -> Cell:
    if number is None:
        return Cell("–", "quiet")
    return Cell(f"{number:,}")


def facts_line(job: JobItem, now: datetime, *, exact: bool = False) -> list[Cell]:
    """Return the line above a job's text: its contents, and when it ran last."""
    if job.tasks is None or job.facts is None or job.assertions is None:
        return [check(job)]
    counts = ", ".join(
        (plural(job.tasks, "task"), plural(job.facts, "fact"), plural(job.assertions, "assertion"))
    )
    line = [check(job), Cell(f"   {counts}")]
    if job.last_run:
        line.append(Cell(f"   last run {when(job.last_run, now, exact=exact)}", "quiet"))
    return line


SOON_S = 0.05
"""When files that are not checked yet are asked for again, in seconds: `data/job_list.py` checks
new ones for `BUDGET_S` at a time.
"""


class JobsScreen(ListScreen[JobItem]):
    """Job files on the left, the text of the selected one on the right."""

    NAME = "Jobs"
    ABOUT = (
        "Evaluation jobs; files that change are reloaded. A job names the agent, the tasks, the"
        " facts the user may share and the assertions to check."
    )
    LEAST = 22
    SIDE = 60
    NEEDS_ROWS = ListScreen.NEEDS_ROWS | {"run", "edit", "runs", "preview", "exact"}
    BINDINGS: ClassVar[list[BindingType]] = bindings("jobs")
    DEFAULT_CSS = """
    JobsScreen {
        & #side { layout: vertical; }
        & #job-head { max-height: 80%; padding: 0 2; }
    }
    """

    def __init__(self) -> None:
        super().__init__(listing(), RowList("~job-rows"))
        self._to_run: tuple[Path | None, int] = None, 1
        """The job to run as soon as it is listed, and how often."""

    def compose_side(self) -> Iterable[Widget]:
        """A summary of the file, and its text."""
        yield Labelled(id="job-head")
        yield SourceView(id="source")

    async def load(self) -> Sequence[JobItem]:
        """Return the current job files; reload at once if some are not checked yet."""
        services = self.bioeval.services
        jobs = await services.in_thread(lambda: services.job_list.items())
        if not all(job.checked for job in jobs):
            self.set_timer(SOON_S, self.refresh_items)
        return jobs

    def cells(self, item: JobItem) -> Mapping[str, Cell | Content]:
        """Return a job's cells."""
        return row(item, datetime.now(UTC), exact=self.exact)

    def notes(self) -> list[Cell]:
        """The numbers of jobs and of jobs that cannot run."""
        items = self.listing.items
        broken = sum(1 for item in items if item.checked and not (item.runnable or item.needs_code))
        notes = [Cell(plural(len(items), "job"), "quiet")]
        if broken:
            notes.append(Cell(f"{broken:,} cannot run", "warn"))
        return notes

    def state(self) -> Cell:
        """Show that the folders are watched."""
        if self.loaded and not self.failure:
            return Cell("● watching", "quiet")
        return Cell("")

    def empty(self) -> list[Cell]:
        """Explain how to add a job."""
        places = (("go('runs')", "runs"), ("go('benchmarks')", "benchmarks"), ("help", "help"))
        others = "     ".join(f"{self.key(action)}  {words}" for action, words in places)
        return [
            Cell("No job files found", "strong"),
            Cell(""),
            Cell("bioeval-tui app FOLDER shows the jobs of a folder;", "quiet"),
            Cell("bioeval-tui demo runs the sample job;", "quiet"),
            Cell(f"{self.key('new_job')}  makes a job for your own agent.", "quiet"),
            Cell(""),
            Cell(others, "quiet"),
        ]

    def look(self, item: JobItem | None) -> None:
        """Show the file."""
        if item is None:
            return
        head = [
            facts_line(item, datetime.now(UTC), exact=self.exact),
            *bulleted(item.about),
            [Cell(home_relative(item.path), "quiet")],
        ]
        self.query_one("#job-head", Labelled).show(head)
        self.query_one(SourceView).show(item.path, item.text, item.problems)

    # Keys

    def action_preview(self) -> None:
        """Go from the table to the text, or back."""
        source = self.query_one(SourceView)
        if source.display:
            switch_focus(self.table.rows, source)
        else:
            self.table.rows.focus()

    def item_name(self, item: JobItem) -> tuple[str, str]:
        """A job's path."""
        return "the path", str(item.path)

    def show_job(self, path: Path, *, repeats: int) -> None:
        """Put the cursor on a job; with `repeats`, open its run dialog with so many once it is
        listed.
        """
        self.table.select(path)
        if repeats:
            self._to_run = path, repeats
            self._run_wished()

    def _run_wished(self) -> None:
        path, repeats = self._to_run
        if path is not None and self.looked_at is not None and self.looked_at.path == path:
            self._to_run = None, 1
            self.action_run(repeats)

    def redraw(self) -> None:
        """Draw; open the run dialog of the job it was requested for, once that is loaded."""
        super().redraw()
        self._run_wished()

    def action_new_job(self) -> None:
        """Ask for an agent and what a user wants from it; write the job, then ask how to run it."""
        # a dialog is loaded when it is opened
        from bioeval_tui.tui.job_dialogs import (
            OwnAgentDialog,
        )

        self.app.push_screen(
            OwnAgentDialog(self.bioeval.services.job_list.new_path()), self._write_job
        )

    def _write_job(self, job: NewJob | None) -> None:
        if job is not None:
            self.run_worker(self._save_job(job), group="new-job")

    async def _save_job(self, job: NewJob) -> None:
        services = self.bioeval.services
        try:
            path = await services.in_thread(lambda: services.job_list.write(*job))
        except (BioevalError, OSError) as error:
            self.tell(f"The job could not be written: {error}", bad=True)
            return
        self.tell(f"{home_relative(path)} was written")
        self.show_job(path, repeats=1)
        self.refresh_items()

    async def action_runs(self) -> None:
        """Show the runs of this job."""
        if (job := self.looked_at) is not None:
            await self.bioeval.show_runs(job.name)

    def action_edit(self) -> None:
        """Open the file in the user's editor; the screen waits."""
        job = self.looked_at
        if job is None:
            return
        self.bioeval.edit_file(job.path, min((problem.line for problem in job.errors), default=0))
        self.refresh_items()

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        self.action_run()

    def action_run(self, repeats: int = 1) -> None:
        """Ask how, then run."""
        job = self.looked_at
        if job is None:
            return
        if not job.checked:
            self.tell(f"{job.name} is still being checked")
            return
        if why := cannot_run(job):
            self.tell(f"{why}; {self.key('edit')} edits it there", bad=True)
            return
        from bioeval_tui.tui.job_dialogs import (  # a dialog is loaded when it is opened
            RunDialog,
            RunForm,
            run_as_asked,
        )

        form = RunForm.remembered(job, self.bioeval.services.preferences, repeats)
        self.app.push_screen(RunDialog(job, form), partial(run_as_asked, self.bioeval, job))
