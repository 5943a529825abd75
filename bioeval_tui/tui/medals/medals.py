"""The medal table: graded submissions as they arrive, and the card of the selected one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.errors import StorageError
from bioeval_tui.files import write_beside
from bioeval_tui.report.answer import answer_grading
from bioeval_tui.report.formats.registry import Format
from bioeval_tui.text import home_relative, plural
from bioeval_tui.tui.items import MedalRow, ReviewSource
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.medal_card import MedalCard, MedalDetail, examine, explain
from bioeval_tui.tui.medals.tables import Agents, GradedFeed, Submissions
from bioeval_tui.tui.shared.base import AtRest, BaseScreen
from bioeval_tui.tui.shared.cells import Cell, paint
from bioeval_tui.tui.shared.dialogs import ExportDialog, Tell, WorkDialog
from bioeval_tui.tui.shared.line_widgets import FilterLine
from bioeval_tui.tui.shared.output import Copied
from bioeval_tui.tui.shared.rows_widget import DrawnPanel, RowList

if TYPE_CHECKING:
    from bioeval_tui.tui.medals.medals_view import Entry, MedalTable

MOST_REVIEWED = 1000
"""Maximum number of rows in one review queue."""


class MedalsScreen(BaseScreen):
    """Submissions, their medals and their places."""

    NAME = "Medals"
    ABOUT = (
        "Graded submissions: medal, score, percentile on the leaderboard, and what the next medal needs. "
        "Invalid means that the file is at fault; not graded means that it is not."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("medals")
    DEFAULT_CSS = """
    MedalsScreen {
        & #body { height: 1fr; display: none; }
        & #table { height: 50%; }
        & MedalCard { height: 1fr; border-top: solid $line; }
        & #totals { height: 3; padding: 0 2; border-top: solid $line; display: none; }
        &.-filled #body, &.-filled #totals { display: block; }
        &.-grouped MedalCard, &.-short MedalCard { display: none; }
        &.-grouped #table, &.-short #table { height: 1fr; }
        &.-short #totals { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_rest: AtRest = AtRest(self, self._rests)
        self.submissions = Submissions()
        self.agents = Agents()
        self.agents.display = False
        self.feed = GradedFeed(self, self.submissions, self._all_taken)
        self.key_owners.add(self.submissions, self.submissions.KEYS)

    @property
    def table(self) -> MedalTable:
        """The submissions, sorted and filtered."""
        return self.submissions.table

    @property
    def looked_at(self) -> Entry | None:
        """The selected submission."""
        return self.submissions.looked_at

    @property
    def grouped(self) -> bool:
        """Whether the totals by agent are shown."""
        return self.agents.display

    def compose_body(self) -> Iterable[Widget]:
        """Table, card, totals."""
        yield Static(id="trouble", markup=False)
        yield Static(id="notice", markup=False)
        with Vertical(id="body"):
            with Vertical(id="table"):
                yield self.submissions
                yield self.agents
            yield MedalCard()
        totals = DrawnPanel()
        totals.id = "totals"
        yield totals
        yield FilterLine("task, agent or medal", self._search, self.focus_rows)

    def on_mount(self) -> None:
        """Restore sorting and columns, and start reading rows."""
        self.submissions.restore()
        self.query_one("#totals", DrawnPanel).draw(self._totals)
        if self.bioeval.services.has_submissions:
            self.feed.start()
        else:
            self.feed.finish()
        self.submissions.redraw()

    # Grading

    def action_grade_samples(self) -> None:
        """Grade the sample submissions."""
        self.feed.samples = True
        self._start()

    def action_again(self) -> None:
        """Grade again from the start."""
        self.submissions.clear()
        self._start()

    def _start(self) -> None:
        self.feed.start()
        self.submissions.redraw()
        self.refresh_bindings()

    def action_stop(self) -> None:
        """Stop grading; finished results are kept."""
        self.feed.stop()

    def _all_taken(self) -> None:
        self.refresh_bindings()
        self.submissions.read_marks()
        self.submissions.read_intervals()

    # Drawing

    @on(Submissions.Changed)
    def _changed(self) -> None:
        """Draw what depends on the rows."""
        filled = bool(self.table.entries)
        if filled != self.has_class("-filled"):
            self.set_class(filled, "-filled")
            self.refresh_bindings()
        if self.grouped:
            self.agents.draw(self.table.visible)
        self.show_card()
        self._fit_table()
        self._fit_totals()
        self._show_words()
        if filled and self.focused is None:
            self.focus_rows()

    def on_screen_resume(self) -> None:
        """Show the reviews, now and whenever the table is shown again."""
        if self.table.entries:
            self.submissions.read_marks()

    def show_card(self) -> None:
        """Show the card of the selected row."""
        row = self.looked_at.row if self.looked_at else None
        self.query_one(MedalCard).show(row, self.submissions.opinions)

    def _show_words(self) -> None:
        count = len(self.table.entries)
        shown = len(self.table.visible)
        notes = [
            *([Cell("shipped samples", "warn")] if self.feed.samples else []),
            Cell(plural(count, "report"), "quiet"),
            Cell(plural(len(self.table.agents), "agent"), "quiet"),
        ]
        if self.table.filter:
            notes.append(Cell(f"{shown:,} shown: “{self.table.filter}”", "warn"))
        self.title_bar.say(
            (self.NAME, "by agent") if self.grouped else (self.NAME,), notes if count else (), self.feed.state
        )
        unread = "; ".join(self.bioeval.services.unread)
        self.show_trouble((self.feed.failure and f"Grading stopped: {self.feed.failure}") or unread)
        self.query_one("#notice", Static).update(self._notice())

    def _notice(self) -> Content:
        looked = [("\n\n" + "\n".join(self.bioeval.services.looked), "$quiet")]
        if not self.feed.is_done:
            return Content.assemble(("Waiting for the first graded submission…", "bold"), *looked)
        if self.feed.is_stopped:
            return Content.styled("Grading was stopped before the first submission was done", "bold")
        return Content.assemble(
            ("Nothing is graded yet\n\n", "bold"),
            (
                f"{self.key('grade_samples')}  grade three sample submissions, to see what this looks like\n\n",
                "$text-accent",
            ),
            ("bioeval-tui grade SUBMISSIONS.jsonl --output-dir DIR grades files;\n", "$quiet"),
            ("bioeval-tui medals REPORT.json shows earlier results.", "$quiet"),
            *looked,
        )

    def on_resize(self) -> None:
        """Another width, other lines."""
        self.call_after_refresh(self._fit_totals)

    def _fit_table(self) -> None:
        """Leave the card what a table of few rows does not need."""
        self.query_one("#table").styles.max_height = None if self.grouped else len(self.table.visible) + 1

    def _fit_totals(self) -> None:
        totals = self.query_one("#totals", DrawnPanel)
        totals.styles.height = len(medals_view.totals_lines(self.table.tally, self.size.width - 4)) + 1
        totals.refresh()

    def _totals(self, width: int) -> Content:
        lines = medals_view.totals_lines(self.table.tally, width)
        return Content("\n").join([paint(*line).truncate(width, ellipsis=True) for line in lines])

    # Keys

    def focus_rows(self) -> None:
        """Focus the visible rows."""
        (self.agents if self.grouped else self.submissions).rows.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Filtering needs rows; findings need a faulty file."""
        entry = None if self.grouped else self.looked_at
        match action:
            case "filter" | "export":
                return bool(self.table.entries)
            case "group":
                return bool(self.table.entries) and not self.grouped
            case "ungroup":
                return self.grouped
            case "stop":
                return self.feed.is_grading
            case "again":
                return self.feed.is_stopped
            case "grade_samples":
                return self.feed.is_done and not (
                    self.table.entries or self.feed.is_stopped or self.feed.failure
                )
            case "review":
                return entry is not None and entry.row.folder is not None
            case "validate":
                return entry is not None and entry.standing == "invalid"
            case "prepare":
                return entry is not None and self.feed.is_done and entry.row.lacks_data
        return True

    # Looking around

    @on(RowList.Highlighted)
    def _moved(self, event: RowList.Highlighted) -> None:
        if event.rows is self.submissions.rows:
            self.at_rest.moved()

    def _rests(self) -> None:
        self.show_card()
        self.refresh_bindings()

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        entry, card = self.looked_at, self.query_one(MedalCard)
        if entry is None:
            return
        report = entry.row.report
        if not card.size or card.max_scroll_y or report is None:
            self.app.push_screen(MedalDetail(entry.row, self.submissions.opinions))
        elif report.valid_submission:  # the card is whole below the table: what it does not show
            explain(self.bioeval, entry.row)
        else:
            examine(self.bioeval, entry.row)

    @on(Agents.Opened)
    def _opened(self, event: Agents.Opened) -> None:
        self._group(False)
        self.submissions.search(event.group.words)

    def action_group(self) -> None:
        """Show the totals by agent."""
        self._group(True)

    def action_ungroup(self) -> None:
        """Show every submission."""
        self._group(False)

    def _group(self, grouped: bool) -> None:
        self.set_class(grouped, "-grouped")
        self.submissions.display, self.agents.display = not grouped, grouped
        if grouped:
            self.agents.draw(self.table.visible)
            self.agents.rank(self.table.visible)
        self._fit_table()
        self._show_words()
        self.refresh_bindings()
        self.call_after_refresh(self.focus_rows)

    # Filter

    def action_filter(self) -> None:
        """Open the line for the filter."""
        self.query_one(FilterLine).open(self.table.filter)
        self.call_after_refresh(self.table.read_words)

    def _search(self, text: str) -> str:
        self.submissions.search(text)
        return plural(len(self.table.visible), "row")

    # Export

    def copies(self) -> Sequence[Copied]:
        """The row under the cursor and all rows that are shown, numbers unrounded; by agent, as they are shown."""
        entry, shown = self.looked_at, self.table.visible
        if self.grouped or entry is None:
            return ()
        rows, marks = [one.row for one in shown], self.submissions.marks
        return (
            Copied("this submission, separated by tabs", lambda: medals_view.as_tabs([entry.row], marks)),
            Copied(
                f"the submissions shown ({len(shown):,}), separated by tabs",
                lambda: medals_view.as_tabs(rows, marks),
            ),
        )

    def caption(self) -> str:
        """The conclusion on the selected submission."""
        report = self.looked_at.row.report if self.looked_at and not self.grouped else None
        return answer_grading(report).what if report else ""

    def action_export(self) -> None:
        """Ask for the format, then write the rows that are shown."""
        folder = self.bioeval.folder
        self.app.push_screen(ExportDialog(len(self.table.visible), folder), self._export)

    def _export(self, chosen: Format | None) -> None:
        if chosen is None:
            return
        rows, folder = [entry.row for entry in self.table.visible], self.bioeval.folder
        try:
            text = medals_view.as_document(rows, self.submissions.marks, chosen)
            name = f"bioeval-tui-medals-{datetime.now():%Y-%m-%d-%H%M%S}"
            path = write_beside(folder, name, chosen.endings[0], text)
        except StorageError as error:
            self.tell(f"Could not write the table: {error}", bad=True)
            return
        self.tell(f"Saved {plural(len(self.table.visible), 'row')} in {home_relative(path)}")

    def action_review(self) -> None:
        """Review the rows that are shown, from the one under the cursor on."""
        at = self.table.place_of(self.looked_at)
        entries = [*self.table.visible[at:], *self.table.visible[:at]][:MOST_REVIEWED]
        rows = tuple(entry.row for entry in entries if entry.row.folder is not None)
        self.bioeval.review(ReviewSource(rows=rows))

    def action_validate(self) -> None:
        """Show everything that is wrong with this row's file."""
        if self.looked_at is not None:
            examine(self.bioeval, self.looked_at.row)

    def action_prepare(self) -> None:
        """Prepare the task of this row, showing progress, then grade its submissions."""
        if self.looked_at is None:
            return
        task_id, services = self.looked_at.row.task_id, self.bioeval.services
        waiting = [
            e.row for e in self.table.entries if e.row.task_id == task_id and e.standing == "not_graded"
        ]

        async def work(tell: Tell) -> dict[int, MedalRow]:
            async with aclosing(services.benchmarks.prepare(task_id)) as steps:
                async for sentence in steps:
                    tell(sentence)
            tell(f"grading {plural(len(waiting), 'submission')}")
            graded: dict[int, MedalRow] = {}
            for row in waiting:
                if row.path is not None:
                    grade = partial(services.benchmarks.grade, task_id, str(row.path))
                    graded[id(row)] = await services.in_worker(grade)
            return graded

        self.app.push_screen(WorkDialog(f"Preparing {task_id}", work), self._prepared)

    def _prepared(self, graded: dict[int, MedalRow] | None) -> None:
        """Replace the rows that could not be graded before by the graded ones."""
        if graded:
            self.submissions.put(graded)
            self.refresh_bindings()
            self.submissions.read_intervals()

    async def action_back(self) -> None:
        """Clear the filter, then go from agents to submissions, then back."""
        if self.table.filter:
            self.query_one(FilterLine).drop()
        elif self.grouped:
            self._group(False)
        else:
            await self.bioeval.action_go_back()
