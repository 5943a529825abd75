"""The home screen: what to do next, recent runs with their results, and problems."""

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

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation.engine.spec import RunRequest
from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs
from bioeval_tui.text import plural
from bioeval_tui.tui.home import home_view
from bioeval_tui.tui.home.home_view import HomeEntry
from bioeval_tui.tui.items import ReviewSource
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs import runs_view
from bioeval_tui.tui.shared.base import AtRest, RefreshedScreen
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.copying import Copied
from bioeval_tui.tui.shared.rows_widget import DrawnPanel, Labelled, RowList
from bioeval_tui.tui.shared.tones import paint

if TYPE_CHECKING:
    from bioeval_tui.evaluation.wiring.doctor import Finding
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.report.previews import RunPreview
    from bioeval_tui.tui.items import JobItem

REFRESH_S = 2.0
ROOMY = 10
"""Minimum height of the details that have empty lines."""


class HomeRows(RowList):
    """The rows of a list; enter does what the row describes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~home-rows")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Some problems have no action."""
        screen = self.screen
        if action == "choose" and isinstance(screen, HomeScreen) and screen.entry is not None:
            return bool(screen.entry.does)
        return super().check_action(action, parameters)


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
        self.rows = HomeRows()
        self.entries: Sequence[HomeEntry] = ()

    def compose(self) -> ComposeResult:
        """The rows."""
        yield self.rows

    def show(self, entries: Sequence[HomeEntry], empty: str) -> None:
        """Show these entries, or why the list is empty."""
        self.entries = entries
        self.rows.can_focus = bool(entries)

        def painted(at: int, width: int) -> Content:
            row = self.entries[at].row if self.entries else (Cell(empty, "quiet"),)
            return _whole_cells(row, width)

        self.rows.set_rows(max(1, len(entries)), painted)


def _whole_cells(row: Sequence[Cell], width: int) -> Content:
    """Return a line without those of its last cells that have no room; the details say them in full."""
    while len(row) > 1 and cell_len("".join(cell.text for cell in row).rstrip()) > width:
        row = row[:-1]
    return paint(*row).truncate(width, ellipsis=True)


class HomeScreen(RefreshedScreen):
    """The first screen."""

    NAME = "Home"
    AUTO_FOCUS = ""
    ABOUT = (
        "What to do next, your newest runs with their results, and problems with this installation. The panel"
        " below the lists describes the selected row."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("home")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    DEFAULT_CSS = """
    HomeScreen {
        & #recent RowList { max-height: 8; }
        & #below { height: 1fr; }
        & .home--scores { width: 1fr; height: 1fr; border: round $line; border-title-color: $quiet; padding: 0 1; }
        & #about { width: 1fr; border: round $line; border-title-color: $quiet; padding: 0 2; }
        &.-narrow HomeList RowList { max-height: 3; }
        &.-narrow #recent RowList { max-height: 5; }
        &.-narrow .home--scores { display: none; }
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
        self._findings: Sequence[Finding] | None = None
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
        self.after_paint(self._examine)

    def on_screen_resume(self) -> None:
        """Bring the lists up to date when the screen is shown again."""
        if self._loaded:
            self.refresh_items()

    async def load_items(self) -> None:
        """Load runs and jobs, then the conclusions of the newest runs."""
        services = self.bioeval.services
        try:
            runs, jobs = await services.runs(), await services.jobs()
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
        for run in runs[: home_view.RECENT]:
            if (
                run.status != "running"
                and run.run_id not in self._previews
                and run.run_id not in self._unread
            ):
                await self._read(run.run_id)

    async def _read(self, run_id: str) -> None:
        try:
            self._previews[run_id] = await self.bioeval.services.from_runs(runs_view.preview, run_id)
        except (BioevalError, OSError):
            self._unread.add(run_id)
        else:
            self._draw()

    @work(group="problems")
    async def _examine(self) -> None:
        try:
            self._findings = await self.bioeval.services.problems()
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
        """The entry under the cursor."""
        section = self.here
        return section.entries[section.rows.cursor] if section.rows.cursor < len(section.entries) else None

    def _draw(self) -> None:
        if not self.query(HomeList):  # the application is leaving
            return
        now = datetime.now(UTC)
        following, recent, problems = self.lists
        reading = "Reading…"
        following.show(
            home_view.next_steps(self._runs, self._jobs, self._previews) if self._loaded else (), reading
        )
        recent.show(
            home_view.recent(self._runs, self._previews, now, self.size.width),
            "No runs yet" if self._loaded else reading,
        )
        listed = home_view.problems(self._findings or (), self._jobs, self._runs, self._previews, now)
        problems.show(listed, "None found" if self._findings is not None else "Examining…")
        scores = self.query_one(".home--scores", DrawnPanel)
        scores.border_title = "Scores over time" if self._runs else "How it works"
        scores.refresh()
        live = sum(run.status == "running" for run in self._runs)
        notes = [Cell(plural(len(self._runs), "run"), "quiet"), Cell(plural(len(self._jobs), "job"), "quiet")]
        self.title_bar.say(
            (self.NAME,), notes if self._loaded else (), Cell(f"● {live} live", "good") if live else Cell("")
        )
        if self.focused is None and self._loaded and self.is_current:
            self.lists[0].rows.focus()
        self._look()

    def _scores(self, width: int) -> Content:
        """Draw the jobs' scores over time or, without any runs, how an evaluation works."""
        height = self.query_one(".home--scores", DrawnPanel).size.height
        how = home_view.HOW if self._loaded else ([Cell("Reading…", "quiet")],)
        lines = home_view.trends(self._runs, width, height, datetime.now(UTC)) if self._runs else how
        return Content("\n").join([_whole_cells(line, width) for line in lines])

    def _look(self) -> None:
        """Show the details of the selected row."""
        entry = self.entry
        about = self.query_one("#about", VerticalScroll)
        about.border_title = "" if entry is None else "Details" if entry.about else "This run"
        lines = [[Cell("Reading…", "quiet")]] if entry is None else list(entry.about)
        if entry is not None and entry.run is not None:
            width = max(20, about.scrollable_content_region.width)
            preview = self._previews.get(entry.run.run_id)
            card = runs_view.card(entry.run, self._runs, datetime.now(UTC), width, preview)
            # Where few lines fit, the list's row stands for the card's first line.
            lines += card if about.size.height >= ROOMY else [line for line in card[1:] if line]
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
        return (Copied("this row and its details", lambda: entry.text),) if entry is not None else ()

    def caption(self) -> str:
        """The conclusion of the selected run."""
        run = self.entry.run if self.entry is not None else None
        preview = self._previews.get(run.run_id) if run is not None else None
        return preview.sentence if preview else ""

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
                request = RunRequest(
                    jobs=(sample_jobs() / DEMO_JOB,), sample_agent=True, mode="rehearsal", graph="embedded"
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
