"""The jobs screen: a table of the job files, and beside it the text of the selected one
(`source_view.py`), with its problems. From here jobs are made (`own_agent_dialog.py`), edited, and
run (`run_dialog.py`).

Below the screen stands what its table shows of a job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.files import real
from bioeval_tui.base.text import home_relative, plural
from bioeval_tui.base.units import number, when
from bioeval_tui.jobs.template import usual_answers
from bioeval_tui.sample.named import plugin_jobs
from bioeval_tui.sample.paths import sample_jobs
from bioeval_tui.tui.job_items import JobItem, cannot_run
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.base import switch_focus
from bioeval_tui.tui.shared.cells import Cell, bulleted, spark
from bioeval_tui.tui.shared.list_screen import ListScreen
from bioeval_tui.tui.shared.list_table import Column, Key, Listing, number_key
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.wrapped_lines import Labelled
from bioeval_tui.tui.source_view import SourceView

if TYPE_CHECKING:
    from bioeval_tui.tui.own_agent_dialog import NewJob

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
        super().__init__(_job_table(), RowList("~job-rows"))
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
        return _job_cells(item, datetime.now(UTC), exact=self.exact)

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
            _facts_line(item, datetime.now(UTC), exact=self.exact),
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
        from bioeval_tui.tui.own_agent_dialog import OwnAgentDialog

        services = self.bioeval.services
        url = usual_answers(services.settings).url
        self.app.push_screen(OwnAgentDialog(services.job_list.new_path(), url), self._write_job)

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
        # a dialog is loaded when it is opened
        from bioeval_tui.tui import run_dialog, run_form

        form = run_form.RunForm.remembered(job, self.bioeval.services.preferences, repeats)
        self.app.push_screen(
            run_dialog.RunDialog(job, form), partial(run_dialog.run_as_asked, self.bioeval, job)
        )


def _job_table() -> Listing[JobItem]:
    """Return an empty table of jobs, sorted by name."""
    return Listing(
        COLUMNS,
        _KEYS,
        lambda job: f"{job.name} {job.path} {_check_cell(job).text}",
        lambda job: job.path,
    )


SPARK = 12

COLUMNS: tuple[Column, ...] = (
    Column("job", 0),
    Column("check", 12),
    Column("tasks", 5, True, 2),
    Column("facts", 5, True, 4),
    Column("assertions", 10, True, 3),
    Column("last runs", SPARK, False, 1),
    Column("score", 6, True),
    Column("last run", 11, False, 5),
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
    "assertions": lambda job: number_key(job.assertions),
    "last runs": lambda job: number_key(float(job.runs)),
    "score": lambda job: number_key(job.last_score),
    "last run": lambda job: number_key(job.last_run.timestamp() if job.last_run else None),
}


def _is_shipped(job: JobItem) -> bool:
    """Return whether a job comes with the program, also one that the sample agent cannot run."""
    return job.sample or job.path in plugin_jobs() or real(job.path.parent) == real(sample_jobs())


def _job_cells(job: JobItem, now: datetime, *, exact: bool) -> dict[str, Cell]:
    """Return a job's cells by column name.

    `exact` shows when it ran last instead of how long ago.
    """
    last = job.last_score
    return {
        "job": Cell(job.name, "plain" if job.runnable else "quiet"),
        "check": _check_cell(job),
        "tasks": _count(job.tasks),
        "facts": _count(job.facts),
        "assertions": _count(job.assertions),
        "last runs": _newest_scores(job),
        "score": Cell(number(last), "strong" if last is not None else "quiet"),
        "last run": Cell(when(job.last_run, now, exact=exact) if job.last_run else "–", "quiet"),
    }


def _check_cell(job: JobItem) -> Cell:
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


def _facts_line(job: JobItem, now: datetime, *, exact: bool) -> list[Cell]:
    """Return the line above a job's text: its contents, and when it ran last."""
    if job.tasks is None or job.facts is None or job.assertions is None:
        return [_check_cell(job)]
    counts = ", ".join(
        (plural(job.tasks, "task"), plural(job.facts, "fact"), plural(job.assertions, "assertion"))
    )
    line = [_check_cell(job), Cell(f"   {counts}")]
    if job.last_run:
        line.append(Cell(f"   last run {when(job.last_run, now, exact=exact)}", "quiet"))
    return line
