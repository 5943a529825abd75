"""The medal table: graded submissions as they arrive, and the card of the selected one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.errors import BioevalError, StorageError
from bioeval_tui.base.files import write_numbered
from bioeval_tui.base.text import home_relative, plural
from bioeval_tui.grade.validation import Validation
from bioeval_tui.record.masking import masked
from bioeval_tui.report.formats.registry import Format
from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.export_dialog import ExportDialog
from bioeval_tui.tui.medals.medal_card import (
    MedalCard,
    MedalDetail,
    examine,
    explain,
    first_line,
    has_findings,
    mendable,
    row_answer,
)
from bioeval_tui.tui.medals.tables import Agents, GradedFeed, Submissions
from bioeval_tui.tui.review_items import ReviewSource
from bioeval_tui.tui.shared.answer_block import AnswerBlock, answer_lines
from bioeval_tui.tui.shared.base import AtRest, BaseScreen
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.dialogs import PathDialog, Tell, WorkDialog
from bioeval_tui.tui.shared.editor import edit_outside
from bioeval_tui.tui.shared.line_widgets import FilterLine
from bioeval_tui.tui.shared.output import Copied, file_moment
from bioeval_tui.tui.shared.rows_widget import RowList

if TYPE_CHECKING:
    from bioeval_tui.report.findings import StepAction
    from bioeval_tui.tui.medals.medals_view import Entry, MedalTable

LOW, FEW_ROWS = 30, 4
"""Below so many lines, and with more than so many rows, the card is opened by a key."""
MOST_LINES = 4
"""How many lines each of the answer's may take: at 80 columns, which agent leads and which medals
there are takes four.
"""
MANY = 1000
"""With more rows than this, the answer waits until all have arrived: it is found from all of them.
"""
MOST_REVIEWED = 1000
"""Maximum number of rows in one review queue."""


class MedalsScreen(BaseScreen):
    """Submissions, their medals and their places."""

    NAME = "Medals"
    ABOUT = (
        "Graded submissions: medal, score, percentile on the leaderboard, and what the next medal"
        " needs. Invalid means that the file is at fault; not graded means that it is not."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("medals")
    DEFAULT_CSS = """
    MedalsScreen {
        & #body { height: 1fr; display: none; }
        & #table { height: 50%; }
        & MedalCard { height: 1fr; border-top: solid $line; }
        & #answer { padding: 0 2; display: none; max-height: 50%; }
        &.-filled #body, &.-filled #answer { display: block; }
        &.-grouped MedalCard, &.-low MedalCard { display: none; }
        &.-grouped #table, &.-low #table { height: 1fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_rest: AtRest = AtRest(self, self._rests)
        self.submissions = Submissions()
        self.agents = Agents()
        self.agents.display = False
        self.feed = GradedFeed(self, self.submissions, self._all_taken)
        self.findings: dict[int, tuple[MedalRow, Validation]] = {}
        """What is wrong with the file of each invalid row that was looked at, by the row's
        identity.
        """
        self._examined: MedalRow | None = None
        """The row whose file was last read, or is being read."""
        self.key_owners.add(self.submissions, self.submissions.KEYS)

    @property
    def table(self) -> MedalTable:
        """The submissions, sorted and filtered."""
        return self.submissions.listing

    @property
    def looked_at(self) -> Entry | None:
        """The selected submission."""
        return self.submissions.looked_at

    @property
    def grouped(self) -> bool:
        """Whether the totals by agent are shown."""
        return self.agents.display

    def compose_body(self) -> Iterable[Widget]:
        """The answer, table, card."""
        yield Static(id="trouble", markup=False)
        yield Static(id="notice", markup=False)
        yield AnswerBlock(id="answer", most=MOST_LINES)
        with Vertical(id="body"):
            with Vertical(id="table"):
                yield self.submissions
                yield self.agents
            yield MedalCard()
        yield FilterLine("task, agent or medal", self.submissions.search, self.focus_rows)

    def on_mount(self) -> None:
        """Restore sorting and columns, and start reading rows."""
        self.submissions.restore()
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
        """Grade the selected file again; where grading was stopped, everything from the start."""
        if self.feed.is_stopped:
            self.feed.start_again()
            self.submissions.redraw()
            self.refresh_bindings()
        else:
            self.grade_again()

    def grade_again(self) -> None:
        """Grade the selected file again.

        The row shows the new grading, and below it the one before.
        """
        if self.looked_at is None:
            return
        row, services = self.looked_at.row, self.bioeval.services

        async def regrade(tell: Tell) -> MedalRow:
            return await services.in_worker(lambda: services.grade_again(row))

        def done(fresh: MedalRow | None) -> None:
            if fresh is not None:
                self.submissions.rows.user_moved = True  # the cursor goes where the row is now
                self.submissions.put({id(row): fresh})
                self.refresh_bindings()
                self.submissions.read_intervals()

        self.app.push_screen(WorkDialog(f"Grading {row.file} again", regrade), done)

    def action_edit(self) -> None:
        """Edit the selected file."""
        self.edit_file()

    def edit_file(self) -> None:
        """Open the selected file in the user's editor, where its first finding with a line is; then
        look for findings again.
        """
        if self.looked_at is None or self.looked_at.row.path is None:
            return
        row, path = self.looked_at.row, self.looked_at.row.path
        found, self._examined = self.findings.pop(id(row), None), None
        line = 0
        if found is not None:
            line = first_line(found[1].findings)
        if refused := edit_outside(self.app, path, line):
            self.tell(refused, bad=True)
        self.show_card()

    def action_next_invalid(self) -> None:
        """Go to the next invalid file, from the last one to the first."""
        visible = self.table.visible
        at = self.submissions.rows.cursor
        order = [*range(at + 1, len(visible)), *range(at + 1)]
        place = next((one for one in order if visible[one].standing == "invalid"), None)
        if place is not None:
            self.submissions.rows.user_moved = True
            self.submissions.rows.move_to(place)
            self.focus_rows()

    def action_grade_list(self) -> None:
        """Ask for a list of submissions and grade it."""
        hint = (
            "JSONL with task_id and submission_path on each line. x exports the table; "
            "bioeval-tui grade LIST --output-dir DIR writes reports."
        )
        last = self.bioeval.services.preferences.get("medals.list")
        dialog = PathDialog(
            "Grade a list of submissions", hint, last if isinstance(last, str) else ""
        )
        self.app.push_screen(dialog, self._grade_list)

    def _grade_list(self, file: str | None) -> None:
        if file is None:
            return
        services, path = self.bioeval.services, Path(file).expanduser().absolute()
        services.preferences.keep("medals.list", file)
        self.feed.start(lambda: services.benchmarks.graded_list(path))
        self.refresh_bindings()

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
        self._fit_card()
        self.show_card()
        self._fit_table()
        self.show_answer()
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
        found = self._row_findings(row)
        self.query_one(MedalCard).show(row, self.submissions.opinions, found)
        if row is None or row.path is None or found is not None or not has_findings(row):
            return
        if row is not self._examined:  # a second look would begin anew, and end the first
            self._examined = row
            self._read_findings(row)

    def _row_findings(self, row: MedalRow | None) -> Validation | None:
        found = self.findings.get(id(row))
        if found is None:
            return None
        return found[1]

    @work(group="findings", exclusive=True)
    async def _read_findings(self, row: MedalRow) -> None:
        """List everything that is wrong with an invalid file, in the background: its report names
        only the first.
        """
        services = self.bioeval.services
        try:
            found = await services.in_worker(
                lambda: services.benchmarks.examine(row.task_id, str(row.path or row.file))
            )
        except (BioevalError, OSError) as error:
            found = Validation("not_graded", (str(error),))
        self.findings[id(row)] = row, found
        self.show_card()

    def _show_words(self) -> None:
        path = [self.NAME]
        if self.grouped:
            path.append("by agent")
        self.title_bar.say(path, self._counts(), self.feed.state)
        unread = "; ".join(self.bioeval.services.unread)
        self.show_trouble((self.feed.failure and f"Grading stopped: {self.feed.failure}") or unread)
        self.query_one("#notice", Static).update(self._notice())

    def _counts(self) -> list[Cell]:
        """Return how many submissions of how many agents there are, and how many are shown."""
        if not self.table.entries:
            return []
        notes = [Cell(plural(len(self.table.entries), "report"), "quiet")]
        if self.table.agents:
            notes.append(Cell(plural(len(self.table.agents), "agent"), "quiet"))
        if self.feed.samples:
            notes.insert(0, Cell("shipped samples", "warn"))
        return notes + self.submissions.filter_notes()

    def _notice(self) -> Content:
        looked = [("\n\n" + "\n".join(self.bioeval.services.looked), "$quiet")]
        if not self.feed.is_done:
            return Content.assemble(("Waiting for the first graded submission…", "bold"), *looked)
        if self.feed.is_stopped:
            return Content.styled(
                "Grading was stopped before the first submission was done", "bold"
            )
        return Content.assemble(
            ("Nothing is graded yet\n\n", "bold"),
            (
                (
                    f"{self.key('grade_samples')}  grade three sample submissions, to see what this"
                    " looks like\n\n"
                ),
                "$text-accent",
            ),
            (f"{self.key('grade_list')}  grade a list of your own\n\n", "$text-accent"),
            ("bioeval-tui grade SUBMISSIONS.jsonl --output-dir DIR grades files;\n", "$quiet"),
            ("bioeval-tui medals REPORT.json shows earlier results.", "$quiet"),
            *looked,
        )

    def _fit_table(self) -> None:
        """Leave the card what a table of few rows does not need."""
        most = None if self.grouped else len(self.table.visible) + 1
        self.query_one("#table").styles.max_height = most

    def show_answer(self) -> None:
        """Show what all submissions came to; what is to be done with the selected one stands on its
        card.
        """
        count = len(self.table.entries)
        if not count or (count > MANY and not self.feed.is_done):
            return
        if self.feed.reading is not None:
            return  # what some of the reports came to would look final
        steps: dict[StepAction, str] = {
            "invalid_file": self.key("next_invalid"),
            "grade_list": self.key("grade_list"),
        }
        if not self.grouped:
            steps["agents"] = self.key("group")
        keys = {step: key for step, key in steps.items() if key}
        answer = self.table.answer
        if self.has_class("-low"):
            # Little room for rows: what is to be mended stands on its row.
            answer = replace(answer, why="")
        self.query_one("#answer", AnswerBlock).show(answer_lines(answer, keys))

    def on_resize(self) -> None:
        """Fit the card and the answer to another size."""
        self._fit_card()
        self.call_after_refresh(self.show_answer)

    def _fit_card(self) -> None:
        """A low terminal has room for the answer and many rows, but then for no card."""
        self.set_class(self.size.height < LOW and len(self.table.visible) > FEW_ROWS, "-low")

    # Keys

    def focus_rows(self) -> None:
        """Focus the visible rows."""
        if self.grouped:
            self.agents.rows.focus()
        else:
            self.submissions.rows.focus()

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
            case "again" if self.feed.is_stopped:
                return True
            case "again" | "edit":
                return entry is not None and self.feed.is_done and mendable(entry.row, action)
            case "next_invalid":
                return not self.grouped and any(
                    one.standing == "invalid" for one in self.table.visible
                )
            case "grade_list":
                return self.feed.is_done
            case "grade_samples":
                return self.feed.is_done and not (
                    self.table.entries or self.feed.is_stopped or self.feed.failure
                )
            case "review":
                return entry is not None and entry.row.folder is not None
            case "validate":
                return entry is not None and has_findings(entry.row)
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
            found = self._row_findings(entry.row)
            self.app.push_screen(MedalDetail(entry.row, self.submissions.opinions, found, self))
        elif report.valid_submission:  # the card is whole below the table: what it does not show
            explain(self.bioeval, entry.row)
        elif has_findings(entry.row):
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
        """Show the totals by agent if `grouped`, otherwise every submission."""
        self.set_class(grouped, "-grouped")
        self.submissions.display, self.agents.display = not grouped, grouped
        if grouped:
            self.agents.draw(self.table.visible)
            self.agents.rank(self.table.visible)
        self._fit_table()
        self.show_answer()
        self._show_words()
        self.refresh_bindings()
        self.call_after_refresh(self.focus_rows)

    # Filter

    def action_filter(self) -> None:
        """Open the line for the filter."""
        self.query_one(FilterLine).open(self.table.filter)
        self.call_after_refresh(self.table.read_words)

    # Export

    def copies(self) -> Sequence[Copied]:
        """The row under the cursor and all rows that are shown, numbers unrounded; by agent, as
        they are shown.
        """
        entry, shown = self.looked_at, self.table.visible
        if self.grouped or entry is None:
            return ()
        rows, marks = [one.row for one in shown], self.submissions.marks
        return (
            Copied(
                "this submission, separated by tabs",
                lambda: medals_view.rows_tabbed([entry.row], marks),
            ),
            Copied(
                f"the submissions shown ({len(shown):,}), separated by tabs",
                lambda: medals_view.rows_tabbed(rows, marks),
            ),
        )

    def caption(self) -> str:
        """The conclusion on the selected submission."""
        if self.grouped or self.looked_at is None:
            if self.table.entries:
                return self.table.answer.what
            return ""
        return row_answer(self.looked_at.row).what

    def action_export(self) -> None:
        """Ask for the format, then write the rows that are shown."""
        folder = self.bioeval.folder
        self.app.push_screen(ExportDialog(len(self.table.visible), folder), self._export)

    def _export(self, chosen: Format | None) -> None:
        if chosen is None:
            return
        rows, folder = [entry.row for entry in self.table.visible], self.bioeval.folder
        try:
            where = masked(self.bioeval.services.settings.where_words)
            text = medals_view.rows_document(rows, self.submissions.marks, chosen, where)
            name = f"bioeval-tui-medals-{file_moment()}"
            path = write_numbered(folder, name, chosen.endings[0], text)
        except StorageError as error:
            self.tell(f"Could not write the table: {error}", bad=True)
            return
        self.tell(f"Saved {plural(len(self.table.visible), 'row')} in {home_relative(path)}")

    def action_review(self) -> None:
        """Review the rows that are shown, from the one under the cursor on."""
        at = self.submissions.rows.cursor
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
            e.row
            for e in self.table.entries
            if e.row.task_id == task_id and e.standing == "not_graded"
        ]

        async def prepare(tell: Tell) -> dict[int, MedalRow]:
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

        self.app.push_screen(WorkDialog(f"Preparing {task_id}", prepare), self._prepared)

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
