"""The home screen: what to do next, recent runs with their results, and problems
(`home_entries.py`), with the details of the selected row beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import plural
from bioeval_tui.sample.paths import DEMO_JOB, GUESSING, sample_jobs
from bioeval_tui.tui.home_entries import (
    HOW,
    RECENT,
    HomeEntry,
    next_steps,
    problems,
    recent,
    trends,
)
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.review_items import ReviewSource
from bioeval_tui.tui.runs import runs_view
from bioeval_tui.tui.shared.answer_block import step_keys
from bioeval_tui.tui.shared.base import AtRest, RefreshedScreen
from bioeval_tui.tui.shared.cells import (
    Cell,
    Line,
    paint,
)
from bioeval_tui.tui.shared.output import Copied
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.wrapped_lines import DrawnPanel, Labelled

if TYPE_CHECKING:
    from bioeval_tui.evaluation.wiring.doctor import ComponentState
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.tui.job_items import JobItem
    from bioeval_tui.tui.runs.runs_view import RunPreview

REFRESH_S = 2.0
ROOMY = 10
"""Minimum height of the details that have empty lines."""


class HomeList(Vertical):
    """A framed list of entries."""

    DEFAULT_CSS = """
    HomeList {
        height: auto; border: round $line; border-title-color: $quiet; padding: 0 1;
        &:focus-within { border: round $primary; border-title-color: $foreground; }
        & RowList { height: auto; max-height: 5; }
    }
    """

    def __init__(self, title: str, *, id: str) -> None:
        super().__init__(id=id)
        self.border_title = title
        self.rows = RowList("~home-rows", lambda: self.entry is not None and bool(self.entry.does))
        self.entries: Sequence[HomeEntry] = ()

    def compose(self) -> ComposeResult:
        """The rows."""
        yield self.rows

    @property
    def entry(self) -> HomeEntry | None:
        """The entry under the cursor."""
        if self.rows.cursor < len(self.entries):
            return self.entries[self.rows.cursor]
        return None

    def show(self, entries: Sequence[HomeEntry], empty: str) -> None:
        """Show these entries, or `empty`, why there are none, as the only row."""
        self.entries = entries
        self.rows.can_focus = bool(entries)

        def paint_row(index: int, width: int) -> Content:
            if not self.entries:
                return _whole_cells((Cell(empty, "quiet"),), width)
            return _whole_cells(self.entries[index].row, width)

        self.rows.set_rows(max(1, len(entries)), paint_row)


def _whole_cells(row: Sequence[Cell], width: int) -> Content:
    """Return a line without those of its last cells that have no room; the details say them in
    full.

    If that would leave more than half of the line empty, the first of them is cut instead.
    """
    kept = len(row)
    while kept > 1 and _width(row[:kept]) > width:
        kept -= 1
    if _width(row[:kept]) < width // 2:
        kept += 1
    return paint(*row[:kept]).truncate(width, ellipsis=True)


def _width(row: Sequence[Cell]) -> int:
    return cell_len("".join(cell.text for cell in row).rstrip())


class HomeScreen(RefreshedScreen):
    """The first screen."""

    NAME = "Home"
    AUTO_FOCUS = ""
    ABOUT = (
        "What to do next, your newest runs with their results, and problems with this installation."
        " The panel below the lists describes the selected row."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("home")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    DEFAULT_CSS = """
    HomeScreen {
        & #recent RowList { max-height: 8; }
        & #below { height: 1fr; }
        & .home--scores {
            width: 1fr; height: 1fr; padding: 0 1;
            border: round $line; border-title-color: $quiet;
        }
        & #about { width: 1fr; border: round $line; border-title-color: $quiet; padding: 0 2; }
        &.-narrow HomeList RowList { max-height: 3; }
        &.-narrow #recent RowList { max-height: 5; }
        &.-narrow .home--scores, & .home--scores.-none { display: none; }
        &.-short #below { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_rest: AtRest = AtRest(self, self._look)
        self.lists = (
            HomeList("What next", id="next"),
            HomeList("Recent runs", id="recent"),
            HomeList("Problems", id="problems"),
        )
        self._runs: Sequence[CataloguedRun] = ()
        self._jobs: Sequence[JobItem] = ()
        self._findings: Sequence[ComponentState] | None = None
        """What was examined; None until that is done."""
        self._previews: dict[str, RunPreview] = {}
        """The conclusions of ended runs, by id."""
        self._unread: set[str] = set()
        """Runs whose recordings could not be read; opening one shows the reason."""
        self._loaded = False

    def compose_body(self) -> Iterable[Widget]:
        """Three lists; below them the scores over time, and the details of the selected row."""
        yield from self.lists
        with Horizontal(id="below"):
            yield DrawnPanel(classes="home--scores")
            with VerticalScroll(id="about", can_focus=False):
                yield Labelled()

    def on_mount(self) -> None:
        """Load, and refresh regularly."""
        self.query_one(".home--scores", DrawnPanel).draw(self._scores)
        self._draw()
        self.refresh_items()
        self.refresh_every(REFRESH_S)
        self.call_after_paint(self._examine)

    def on_screen_resume(self) -> None:
        """Bring the lists up to date when the screen is shown again."""
        if self._loaded:
            self.refresh_items()

    async def load_items(self) -> None:
        """Load runs and jobs, then the conclusions of the newest runs."""
        services = self.bioeval.services
        try:
            runs = await services.in_thread(lambda: services.run_list.runs())
            jobs = await services.in_thread(lambda: services.job_list.items())
        except (BioevalError, OSError) as error:
            self.tell(f"Could not read runs and jobs: {error}", bad=True)
            return
        if (
            not self._loaded
            or list(map(id, runs)) != list(map(id, self._runs))
            or list(map(id, jobs)) != list(map(id, self._jobs))
        ):
            self._runs, self._jobs, self._loaded = runs, jobs, True
            self._draw()
        for run in runs[:RECENT]:
            # A large run takes seconds, for which one that is opened meanwhile would wait.
            if (
                self.is_in_view
                and run.status != "running"
                and run.run_id not in self._previews
                and run.run_id not in self._unread
            ):
                await self._read(run.run_id)

    async def _read(self, run_id: str) -> None:
        try:
            self._previews[run_id] = await self.bioeval.services.from_runs(
                runs_view.preview, run_id
            )
        except (BioevalError, OSError):
            self._unread.add(run_id)
        else:
            self._draw()

    @work(group="problems")
    async def _examine(self) -> None:
        services = self.bioeval.services
        try:
            findings = await services.in_thread(
                lambda: services.doctor.examine(services.settings, online=False)
            )
            self._findings = [finding for finding in findings if finding.state != "works"]
        except (BioevalError, OSError) as error:
            self._findings = ()
            self.tell(f"Could not check this installation: {error}", bad=True)
        self._draw()

    # Drawing

    @property
    def here(self) -> HomeList:
        """The list with the focus, or the first list."""
        return next((one for one in self.lists if one.rows.has_focus), self.lists[0])

    @property
    def entry(self) -> HomeEntry | None:
        """The entry under its cursor."""
        return self.here.entry

    def _draw(self) -> None:
        if not self.query(HomeList):  # the application is leaving
            return
        now = datetime.now(UTC)
        following, newest, failing = self.lists
        steps: Sequence[HomeEntry] = ()
        notes: list[Cell] = []
        no_runs = reading = "Reading…"
        if self._loaded:
            steps = next_steps(self._runs, self._jobs, self._previews)
            no_runs = "No runs yet"
            notes.append(Cell(plural(len(self._runs), "run"), "quiet"))
            notes.append(Cell(plural(len(self._jobs), "job"), "quiet"))
        following.show(steps, reading)
        newest.show(recent(self._runs, self._previews, now, self.size.width), no_runs)
        listed = problems(self._findings or (), self._jobs, self._runs, self._previews, now)
        failing.show(listed, "None found" if self._findings is not None else "Examining…")
        scores = self.query_one(".home--scores", DrawnPanel)
        scores.set_class(bool(self._runs) and not trends(self._runs, 200, 100, now), "-none")
        scores.border_title = "Scores over time" if self._runs else "How it works"
        scores.refresh()
        live = sum(run.status == "running" for run in self._runs)
        running = Cell(f"● {live} live", "good") if live else Cell("")
        self.title_bar.say((self.NAME,), notes, running)
        if self.focused is None and self._loaded and self.is_current:
            self.lists[0].rows.focus()
        self._look()

    def _scores(self, width: int) -> Content:
        """Draw the jobs' scores over time or, without any runs, how an evaluation works."""
        height = self.query_one(".home--scores", DrawnPanel).size.height
        lines: Sequence[Line] = ([Cell("Reading…", "quiet")],)
        if self._runs:
            lines = trends(self._runs, width, height, datetime.now(UTC))
        elif self._loaded:
            lines = HOW
        return Content("\n").join([_whole_cells(line, width) for line in lines])

    def _look(self) -> None:
        """Show the details of the selected row."""
        entry = self.entry
        about = self.query_one("#about", VerticalScroll)
        title, lines = "", [[Cell("Reading…", "quiet")]]
        if entry is not None:
            title = "Details" if entry.about else "This run"
            lines = list(entry.about)
        about.border_title = title
        if entry is not None and entry.run is not None:
            width = max(20, about.scrollable_content_region.width)
            preview = self._previews.get(entry.run.run_id)
            # In the other lists enter does something else than open this run.
            keys = step_keys(self) if entry.does == "open" else {}
            card = runs_view.card(entry.run, self._runs, datetime.now(UTC), width, preview, keys)
            # Where few lines fit, the list's row stands for the card's first line.
            if about.size.height < ROOMY:
                card = [line for line in card[1:] if line]
            lines += card
        about.query_one(Labelled).show(lines)
        self.refresh_bindings()

    @on(RowList.Highlighted)
    def _moved(self) -> None:
        self.at_rest.moved()

    def on_descendant_focus(self) -> None:
        """Follow the focus."""
        self.at_rest.moved()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.call_after_refresh(self._look)

    def copies(self) -> Sequence[Copied]:
        """The selected row and its details."""
        entry = self.entry
        if entry is None:
            return ()
        return (Copied("this row and its details", lambda: entry.text),)

    def caption(self) -> str:
        """The conclusion of the selected run."""
        entry = self.entry
        if entry is None or entry.run is None or entry.run.run_id not in self._previews:
            return ""
        return self._previews[entry.run.run_id].answer.what

    # Keys

    def action_next_list(self) -> None:
        """Go to the next list that has rows."""
        filled = [one for one in self.lists if one.entries]
        if filled:
            at = filled.index(self.here) if self.here in filled else -1
            filled[(at + 1) % len(filled)].rows.focus()

    @on(RowList.Chosen)
    async def _chosen(self) -> None:
        entry, program = self.entry, self.bioeval
        if entry is None:
            return
        services = program.services
        match entry.does:
            case "sample":
                # the first paint does not need the options of a run
                from bioeval_tui.evaluation.engine.interface import RunRequest

                request = RunRequest(
                    jobs=(sample_jobs() / DEMO_JOB,),
                    models=(GUESSING,),
                    sample_agent=True,
                    mode="rehearsal",
                    graph="embedded",
                )
                program.open_run(partial(services.start_run, request))
            case "own":
                await program.new_job()
            case "open":
                program.open_run(partial(services.open_recording, entry.on[0]))
            case "compare":
                program.compare(*entry.on)
            case "review":
                program.review(ReviewSource(entry.on))
            case "job":
                path, *repeats = entry.on
                await program.show_job(path, repeats=int(repeats[0]) if repeats else 0)
            case "go":
                await program.action_go(entry.on[0])
