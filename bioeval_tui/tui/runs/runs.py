"""The runs screen: filter, sort, mark, compare, open, replay, report, delete and restore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import home_relative, plural
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live.replay_bar import ReplayDialog
from bioeval_tui.tui.review_items import ReviewSource
from bioeval_tui.tui.runs import runs_view
from bioeval_tui.tui.shared.answer_block import step_keys
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.list_screen import ListScreen
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.tui.runs.runs_view import RunPreview


class RunsScreen(ListScreen["CataloguedRun"]):
    """Every recorded run, including those in progress elsewhere."""

    NAME = "Runs"
    ABOUT = (
        "Recorded runs, newest first. ● live marks runs in progress, here or in another terminal."
        " The mean is that of both conditions, as in the published formula."
    )
    LEAST = 20
    SIDE = 56
    ON_ONE = frozenset({"mark", "replay", "review", "report", "delete", "exact", "again", "edit"})
    NEEDS_ROWS = ListScreen.NEEDS_ROWS | ON_ONE
    BINDINGS: ClassVar[list[BindingType]] = bindings("runs")
    DEFAULT_CSS = """
    RunsScreen {
        & #side { padding: 0 2; }
    }
    """

    def __init__(self) -> None:
        super().__init__(runs_view.listing(), RowList("~run-rows"))
        self.marked: list[str] = []
        self._deleted: list[str] = []
        """The runs deleted from here, newest last."""
        self._previews: dict[str, RunPreview] = {}
        """The conclusions of ended runs that were selected, by id."""

    def compose_side(self) -> Iterable[Widget]:
        """The run, and its job's trend."""
        with VerticalScroll(can_focus=False):
            yield Labelled(id="run-card")

    async def load(self) -> Sequence[CataloguedRun]:
        """Return the runs; unmark those that no longer exist."""
        services = self.bioeval.services
        runs = await services.in_thread(lambda: services.run_list.runs())
        if self.marked:
            present = {run.run_id for run in runs}
            self.marked = [run_id for run_id in self.marked if run_id in present]
        return runs

    def cells(self, item: CataloguedRun) -> Mapping[str, Cell | Content]:
        """Return a run's cells."""
        return runs_view.row(
            item, datetime.now(UTC), marked=item.run_id in self.marked, exact=self.exact
        )

    def notes(self) -> list[Cell]:
        """The numbers of runs, live runs and marked runs."""
        items = self.listing.items
        live = sum(1 for run in items if run.status == "running")
        notes = [Cell(plural(len(items), "run"), "quiet")]
        if live:
            notes.append(Cell(f"● {live:,} live", "good"))
        if self.marked:
            marked = f"{runs_view.MARK} {len(self.marked)} marked"
            if len(self.marked) == 1:
                marked += "; mark another to compare"
            notes.append(Cell(marked, "warn"))
        return notes

    def empty(self) -> list[Cell]:
        """Explain how to start a first run, where that is possible."""
        if self.bioeval.READ_ONLY:
            return [Cell("No runs yet", "strong")]
        jobs = self.key("go('jobs')")
        return [
            Cell("No runs yet", "strong"),
            Cell(""),
            Cell(f"{jobs}  opens the jobs; press Enter on one to run it.", "quiet"),
            Cell("bioeval-tui demo runs a first job, offline.", "quiet"),
        ]

    def look(self, item: CataloguedRun | None) -> None:
        """Show the run."""
        card = self.query_one("#run-card", Labelled)
        if item is None:
            card.show(())
            return
        preview = self._previews.get(item.run_id)
        keys = step_keys(self)
        now = datetime.now(UTC)
        card.show(runs_view.card(item, self.listing.items, now, card.size.width, preview, keys))
        if preview is None and item.status != "running" and self.is_in_view:
            self._preview(item.run_id)

    @work(group="preview", exclusive=True)
    async def _preview(self, run_id: str) -> None:
        """Read the run's conclusion, and show it if the run is still selected."""
        try:
            self._previews[run_id] = await self.bioeval.services.from_runs(
                runs_view.preview, run_id
            )
        except (BioevalError, OSError):
            return  # opening the run says what is wrong with its recording
        if self.looked_at is not None and self.looked_at.run_id == run_id:
            self.look(self.looked_at)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Comparing needs two marked runs, restoring needs deleted runs, deleting needs an ended
        run.
        """
        match action:
            case "compare":
                return len(self.marked) >= 2
            case "undo":
                return bool(self._deleted)
            case "batch":
                return self.looked_at is not None and self.looked_at.batch_id is not None
            case "replay" | "review" | "report" | "delete" | "again" | "edit":
                run = self.looked_at
                of_marked = bool(self.marked) and action in ("review", "report")
                return run is not None and (run.status != "running" or of_marked)
        return super().check_action(action, parameters)

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        if (run := self.looked_at) is not None:
            self.bioeval.open_run(partial(self.bioeval.services.open_recording, run.run_id))

    def action_mark(self) -> None:
        """Mark or unmark the run, and go to the next one."""
        run = self.looked_at
        if run is None:
            return
        if run.run_id in self.marked:
            self.marked.remove(run.run_id)
        else:
            self.marked.append(run.run_id)
        self.redraw()
        self.table.rows.action_move(1)

    def _chosen_ids(self) -> list[str]:
        """Return the marked runs, or the selected one."""
        if self.marked:
            return list(self.marked)
        if self.looked_at is None:
            return []
        return [self.looked_at.run_id]

    def action_compare(self) -> None:
        """Compare the two marked runs; the older one is A. Of more, say what ranks them."""
        if len(self.marked) > 2:
            ids = " ".join(self.marked)
            self.tell(f"Two runs are compared here; `bioeval-tui runs compare {ids}` ranks several")
            return
        began = {run.run_id: run.began for run in self.listing.items}
        a, b = sorted(self.marked, key=lambda run_id: began.get(run_id, datetime.now(UTC)))
        self.bioeval.compare(a, b)

    def action_batch(self) -> None:
        """Show the batch of this run."""
        if (run := self.looked_at) is not None and run.batch_id is not None:
            self.app.push_screen(self.bioeval.batch_grid(run.batch_id))

    def action_replay(self) -> None:
        """Ask for the speed, then play."""
        run = self.looked_at
        if run is None:
            return
        speed = self.bioeval.services.preferences.get("runs.speed")
        last = float(speed) if isinstance(speed, int | float) else 1.0
        self.app.push_screen(ReplayDialog(run.job, last), partial(self._replay, run.run_id))

    def _replay(self, run_id: str, speed: float | None) -> None:
        if speed is not None:
            self.keep("speed", speed)
            self.bioeval.open_run(
                partial(self.bioeval.services.open_recording, run_id, speed=speed)
            )

    def action_edit(self) -> None:
        """Open the job of this run in the editor, at the task or assertion that decided."""
        if (run := self.looked_at) is not None:
            preview = self._previews.get(run.run_id)
            self.bioeval.edit_job(run.run_id, preview.answer.decided if preview else None)

    def action_again(self) -> None:
        """Ask how to run the job of this run again."""
        if (run := self.looked_at) is not None:
            self.bioeval.repeat_run(run.run_id)

    def action_review(self) -> None:
        """Review the marked runs, or this one."""
        self.bioeval.review(ReviewSource(tuple(self._chosen_ids())))

    @work(group="report")
    async def action_report(self) -> None:
        """Write the report in the background; a toast names the file."""
        services, run_ids = self.bioeval.services, self._chosen_ids()
        try:
            path = await services.in_thread(lambda: services.run_list.write_report(run_ids))
        except (BioevalError, OSError) as error:
            self.tell(f"Could not write the report: {error}", bad=True)
        else:
            self.tell(f"Wrote {home_relative(path)}")

    @work(group="delete")
    async def action_delete(self) -> None:
        """Move this run to the trash. Marks are ignored: they are for comparing."""
        if (run := self.looked_at) is None:
            return
        services = self.bioeval.services
        try:
            await services.in_thread(lambda: services.run_list.delete([run.run_id]))
        except (BioevalError, OSError) as error:
            self.tell(f"Could not delete: {error}", bad=True)
            return
        self._deleted.append(run.run_id)
        self.tell(f"Moved 1 run to the trash; in Runs, {self.key('undo')} restores it")
        self.refresh_items()
        self.refresh_bindings()

    @work(group="delete")
    async def action_undo(self) -> None:
        """Restore the most recently deleted runs."""
        services = self.bioeval.services
        try:
            count = await services.in_thread(lambda: services.run_list.undo())
        except (BioevalError, OSError) as error:
            self.tell(f"Could not restore: {error}", bad=True)
            return
        restored = self._deleted.pop()
        if count:
            self.table.select(restored)
            self.tell(f"Restored {plural(count, 'run')}")
        else:
            self.tell("Nothing to restore")
        self.refresh_items()
        self.refresh_bindings()

    def item_name(self, item: CataloguedRun) -> tuple[str, str]:
        """A run's id."""
        return "the run's id", item.run_id

    def caption(self) -> str:
        """The conclusion of the selected run."""
        run = self.looked_at
        if run is None or (preview := self._previews.get(run.run_id)) is None:
            return ""
        return preview.answer.what
