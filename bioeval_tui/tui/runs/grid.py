"""The grid: every conversation of a batch, or of a run with several trials, below a summary.

The summary has the progress, each model's scores with intervals, and a heat map by job or task.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import plural, quotation
from bioeval_tui.base.units import number
from bioeval_tui.report.answer import LONGEST_QUOTED, Answer, answer_batch
from bioeval_tui.report.result import RunResult
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs import batch_view
from bioeval_tui.tui.runs.batch_view import Glance
from bioeval_tui.tui.runs.board_view import NO_MODEL, board
from bioeval_tui.tui.runs.standings import OVER
from bioeval_tui.tui.runs.tile_grid_widget import Lines, TileGrid
from bioeval_tui.tui.shared.answer_block import AnswerBlock
from bioeval_tui.tui.shared.base import BaseScreen, unreadable
from bioeval_tui.tui.shared.cells import (
    Cell,
    Line,
    paint_lines,
)
from bioeval_tui.tui.shared.line_widgets import FilterLine
from bioeval_tui.tui.shared.output import Copied
from bioeval_tui.tui.shared.wrapped_lines import Labelled, hanging

MOST_ABOUT = 6
"""Number of lines for what all jobs are about; if they need more, only the selected one's facts, or
only it, are shown.
"""
LOOK_S = 0.25
"""Waiting times grow, and the order may change, even without new events."""

Source = Callable[[], AsyncIterator[Sequence[Glance]]]
"""Yields all conversations whenever one has changed, until all have ended."""


class GridScreen(BaseScreen):
    """Tiles sorted by what needs attention; calls `opened` with the chosen one."""

    NAME = "Grid"
    AUTO_FOCUS = ""
    ABOUT = (
        "Every conversation at once: its state, turn, latencies and score. Failed, waiting and "
        "slow conversations come first. Finished ones come last, lowest score first."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("grid")
    DEFAULT_CSS = """
    GridScreen {
        & TileGrid { height: 1fr; padding: 0 1; display: none; }
        & #about { max-height: 6; margin: 1 2 0 2; }
        &.-normal #about { max-height: 7; margin: 0 2; }
        &.-short #about { display: none; }
        & #answer { padding: 1 2 0 2; display: none; }
        & #why { max-height: 6; padding: 0 2; }
        &.-normal #answer { padding: 0 2; }
        &.-normal #why { max-height: 3; }
        &.-short #why { display: none; }
        & #board { height: auto; padding: 1 2; display: none; }
        & #here { height: auto; max-height: 4; padding: 0 2; color: $quiet; display: none; }
        &.-normal #here { max-height: 3; }
        &.-filled #here { display: block; }
        &.-short #here { display: none; }
        &.-filled #board { display: block; }
        &.-normal #board { padding: 0 2; }
        &.-short #board { display: none; }
        &.-filled TileGrid { display: block; }
    }
    """

    def __init__(
        self,
        source: Source,
        opened: Callable[[Glance], None],
        *,
        batch_id: str | None = None,
        now: Callable[[], datetime | None] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__()
        self._source = source
        self._opened = opened
        self._now = now
        self.batch_id = batch_id
        self.grid = TileGrid()
        self.glances: Sequence[Glance] = ()
        self.shown: list[Glance] = []
        self._several = False
        self._filter = ""
        self._loaded = self._source_over = False
        self._began: tuple[float, int] | None = None
        """When the grid was opened, and how many conversations had ended by then."""
        self._failure = ""
        self.leads_up = False
        """Whether going back leaves the run shown below it, too."""
        self._ranked: Sequence[Glance] | None = None
        self._standings = ""
        self._answer: Answer | None = None
        self._lost: list[list[Cell]] = []
        """Where each model lost most, and why, once all conversations have ended."""

    @property
    def ended(self) -> bool:
        """Whether every conversation has ended."""
        return self._loaded and self._source_over

    @property
    def _run_ids(self) -> list[str]:
        """The runs of the batch, in the order of their conversations."""
        return list(dict.fromkeys(glance.key.run_id for glance in self.glances))

    def compose_body(self) -> Iterable[Widget]:
        """The grid, and a line for the filter."""
        yield Static(id="notice", markup=False)
        yield Labelled(id="about")
        yield AnswerBlock(id="answer")
        yield Labelled(id="why")
        yield Static(id="board", markup=False)
        yield self.grid
        yield Static(id="here", markup=False)
        yield FilterLine("job, model, condition or state", self._search, self.grid.focus)

    def on_mount(self) -> None:
        """Draw, and follow the batch."""
        self._draw()
        self._follow()
        self.set_interval(LOOK_S, self._tick)

    def on_resize(self) -> None:
        """Lay out the board and the tiles for the new size, also once nothing changes any more."""
        self.call_after_refresh(self._draw)

    def on_screen_resume(self) -> None:
        """Focus the tiles."""
        if self.glances:
            self.grid.focus()

    @work(group="grid")
    async def _follow(self) -> None:
        try:
            async for glances in self._source():
                self._loaded = True
                self.glances = glances
                self._several = len({(glance.job, glance.model) for glance in glances}) > 1
                self._draw()
        except (BioevalError, OSError) as error:
            self._failure = str(error) or type(error).__name__
        self._loaded = self._source_over = True
        self._draw()
        await self._conclude()

    async def _conclude(self) -> None:
        """Show which model did best, or that none can be called best, once all conversations have
        ended.
        """
        run_ids = self._run_ids
        if not run_ids or batch_view.is_running(self.glances):
            return
        try:
            answer, self._lost = await self.bioeval.services.from_runs(conclude, *run_ids)
        except (BioevalError, OSError) as error:
            self.tell(f"Could not read the recordings to compare the models: {error}", bad=True)
            return
        self._answer = answer
        self.refresh_bindings()
        self._show_lost()
        for block in self.query(AnswerBlock):  # none, if the screen was left meanwhile
            block.show_answer(answer)
            block.display = True

    def _show_lost(self) -> None:
        """Say why each model lost most; where there are few lines, without what the judge
        quotes.
        """
        lost = self._lost
        if not self.has_class("-tall"):
            lost = [line[:2] for line in lost]
        for why in self.query("#why").results(Labelled):
            why.show(lost)

    def _remaining_s(self) -> float | None:
        """Estimate the time left from the conversations that ended since the grid was opened."""
        ended = sum(glance.rank in OVER for glance in self.glances)
        now = self.bioeval.clock()
        if self._began is None:
            self._began = (now, ended)
        began, before = self._began
        if ended <= before or now <= began:
            return None
        return (now - began) / (ended - before) * (len(self.glances) - ended)

    def _tick(self) -> None:
        if self.is_in_view and batch_view.is_running(self.glances):
            self._draw()

    # Drawing

    def _draw(self) -> None:
        now = self._now()
        self.shown = batch_view.arrange(self.glances, now, self._filter)
        shown, several = self.shown, self._several
        runs = {glance.key.run_id: glance for glance in self.glances}.values()

        def lines(index: int, width: int) -> Lines:
            return batch_view.tile_lines(shown[index], now, several, width, runs)

        filled = bool(self.glances)
        self.set_class(filled, "-filled")
        lines_above: list[Line] = []
        if filled:
            height = self.size.height // (2 if self.has_class("-tall") else 4)
            lines_above = board(self.glances, self.size.width - 4, height, self._remaining_s())
        self.query_one("#board", Static).update(paint_lines(lines_above))
        self._show_lost()
        self.grid.show([glance.key for glance in shown], lines)
        self._show_selected()
        if filled and self.focused is None and self.is_active:
            self.grid.focus()
        self._show_words(now)

    @on(TileGrid.Moved)
    def _show_selected(self) -> None:
        """Say in full which conversation is selected, and what its tasks score."""
        here = self.shown[self.grid.cursor :][:1]
        lines = []
        for one in here:
            lines += [batch_view.whole_name(one), batch_view.task_scores(one)]
        self.query_one("#here", Static).update(Content("\n".join(lines)))
        self.query_one("#about", Labelled).show(self._describe(here))

    def _describe(self, here: Sequence[Glance]) -> list[list[Cell]]:
        """Return what the jobs are about: of all with their facts, with only the facts of the one
        that is selected, or only that one, as there is room.
        """
        every = batch_view.briefs(self.glances)
        for about in (every, batch_view.briefs(self.glances, [glance.job for glance in here])):
            if sum(len(hanging(line, self.size.width - 4)) for line in about) <= MOST_ABOUT:
                return about
        return [*every[:1], *batch_view.briefs(here)[1:]]

    def _show_words(self, now: datetime | None) -> None:
        runs = len({glance.key.run_id for glance in self.glances})
        name = plural(runs, "run")
        if self.batch_id:
            name = f"batch of {name}"
        if len({glance.job for glance in self.glances}) == 1:
            job = self.glances[0].job
            name = f"{job} · {name}" if runs > 1 else job
        on = batch_view.is_running(self.glances)
        path, notes = [self.NAME], []
        if self.glances:
            path.append(name)
            notes = batch_view.counts(self.glances, now, words=self.wide or not on)
        if self._filter:
            notes.insert(0, Cell(f"{len(self.shown):,} shown: “{self._filter}”", "warn"))
        if not on and self._ranked is not self.glances:
            self._ranked, self._standings = self.glances, batch_view.standings(self.glances)
        if not on and self._standings:
            notes.append(Cell(self._standings))
        state = Cell("◌ READING", "quiet")
        if self._failure:
            state = Cell("! stopped", "bad")
        elif on:
            state = Cell("● LIVE", "good")
        elif self._loaded:
            state = Cell("■ ENDED")
        self.title_bar.say(path, notes, state)
        lines = [Cell("Reading the recordings…", "strong")]
        if self._failure:
            lines = unreadable(self._failure)
        elif self._loaded:
            lines = [
                Cell("No conversations yet", "strong"),
                Cell(""),
                Cell("esc goes back", "quiet"),
            ]
        self.show_notice(lines)
        self.refresh_keys()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Filtering needs conversations; stopping needs a batch in progress."""
        if action == "filter":
            return bool(self.glances)
        if action == "stop":
            return self.batch_id is not None and batch_view.is_running(self.glances)
        if action == "compare":
            return self._answer is not None and self._answer.step("compare") is not None
        if action == "again":
            return self._answer is not None
        return True

    @on(TileGrid.Chosen)
    def _chosen(self, event: TileGrid.Chosen) -> None:
        glance = self.shown[event.index]
        if glance.rank is batch_view.Rank.QUEUED:
            self.tell("This conversation has not started yet.")
        else:
            self.dismiss(None)
            self._opened(glance)

    def action_compare(self) -> None:
        """Compare the two runs of the batch."""
        if self._answer is not None and (step := self._answer.step("compare")) is not None:
            self.bioeval.compare(*step.runs)

    def action_again(self) -> None:
        """Ask how to run the job again with the models of the batch."""
        total = 0
        if self._answer is not None and (trials := self._answer.step("trials")) is not None:
            total = trials.total
        self.bioeval.repeat_run(*self._run_ids, total=total)

    @work(group="stop")
    async def action_stop(self) -> None:
        """End the batch."""
        if self.batch_id is not None:
            refused = await self.bioeval.services.batches.stop(self.batch_id)
            self.tell(
                refused
                or "Stopping the batch: conversations in progress are cancelled,"
                " and no more will start.",
                bad=bool(refused),
            )

    def copies(self) -> Sequence[Copied]:
        """The selected cell, and every cell."""
        shown, at = self.shown, self.grid.cursor
        if not shown:
            return ()
        return (
            Copied(
                "this conversation, separated by tabs", lambda: batch_view.glance_text(shown[at])
            ),
            Copied(
                f"every conversation shown ({len(shown):,})",
                lambda: "\n".join(map(batch_view.glance_text, shown)),
            ),
        )

    def caption(self) -> str:
        """Which model did best, once that is known."""
        if self._answer:
            return self._answer.what
        return ""

    def action_filter(self) -> None:
        """Open the line for the filter."""
        self.query_one(FilterLine).open(self._filter)

    def _search(self, text: str) -> str:
        self._filter = text
        self._draw()
        return plural(len(self.shown), "conversation")

    async def action_back(self) -> None:
        """Clear the filter; without one, go back."""
        if self._filter:
            self.query_one(FilterLine).drop()
        else:
            self.dismiss(None)
            if self.leads_up:
                await self.bioeval.action_go_back()


def conclude(*runs: RunResult) -> tuple[Answer, list[list[Cell]]]:
    """Return which model of several did best, and why each model's lowest conversation lost points.

    Of one run, it is the run's own answer; of a single model, each job's lowest conversation is
    explained. The lowest of all is the answer's reason, so it is not explained again.
    """
    answer = answer_batch(runs)
    by_model = len({run.state.asked_model for run in runs}) > 1
    lowest: dict[str, tuple[float, RunResult]] = {}
    for run in runs:
        if run.lowest is None or run.lowest.score is None:
            continue
        name = (run.state.asked_model if by_model else run.brief.job) or NO_MODEL
        if run.lowest.score < lowest.get(name, (1.0, run))[0]:
            lowest[name] = run.lowest.score, run
    lines = []
    from_lowest = sorted(lowest.items(), key=lambda one: one[1][0])
    if answer.why:
        del from_lowest[:1]
    for name, (value, run) in from_lowest:
        assert run.lowest is not None
        place = run.place_words(run.lowest)
        where = f"{run.brief.job}, {place}" if by_model else place
        start = Cell(f"{name} lost most in {where} ({number(value)}):", "quiet")
        for loss in run.lowest.why_lost[:1]:
            line = [start, Cell(f" {loss.reason}")]
            if loss.quoted:
                said = quotation(loss.quoted, LONGEST_QUOTED)
                line.append(Cell(f"   turn {loss.turn}: “{said}”", "quiet"))
            lines.append(line)
    return answer, lines
