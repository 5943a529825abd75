"""The score card of a trial: both conversations' scores, the reasons, and what would raise them;
and the card of all trials of a run (`RunCard`), from which those of its trials are opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on, work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import plural, shorten
from bioeval_tui.base.units import number, signed
from bioeval_tui.base.widths import padded
from bioeval_tui.report.brief import make_brief
from bioeval_tui.report.result import RunResult, result_of, reviewed
from bioeval_tui.report.sentences import sentence
from bioeval_tui.report.since import changes_since_run, previous_run
from bioeval_tui.tui.data.large_runs import LargeRun
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import heads_view, score_card_view, waiting_view
from bioeval_tui.tui.live.panels import names_head, wrapped_row
from bioeval_tui.tui.live.score_card_view import CardEvidence
from bioeval_tui.tui.review_items import ReviewSource
from bioeval_tui.tui.shared.answer_block import AnswerBlock
from bioeval_tui.tui.shared.cells import (
    Cell,
    Line,
    left,
    paint,
    paint_lines,
    right,
    spread,
    who_and_what,
)
from bioeval_tui.tui.shared.dialogs import Dialog
from bioeval_tui.tui.shared.output import Copied
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.wrapped_lines import DrawnPanel, Labelled, title_lines

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.state import RunState
    from bioeval_tui.report.result import TrialResult

SHOWN, BAR = 5, 6
"""Number of gains, and width of their bars."""
COLUMN, ROOMY_COLUMN, MOST_LINES = 11, 20, 3
"""Maximum widths of a column, in which a longer name of a condition wraps; maximum height of a row
with values.
"""
LEAST_ROWS, ROOMY_ROWS = 36, 45
"""Minimum heights of the terminal for blank lines, and for a card that is as high as it needs."""
MORE, RUN_MORE = (
    "more ▸  response times, how the score adds up",
    "more ▸  intervals, pass^k, response times, cost",
)
LESS = "less ▾"


class GainsPanel(DrawnPanel):
    """The largest gains with bars; on a single line only the largest gain."""

    def show(self, result: RunResult, trial: TrialResult, condition: Condition) -> None:
        """Show a conversation."""
        self.draw(lambda width: self._lines(result, trial, condition, width))

    def _lines(
        self, result: RunResult, trial: TrialResult, condition: Condition, width: int
    ) -> Content:
        talk = trial.talks_by_condition.get(condition)
        gains = talk.gains if talk else ()
        height = self.size.height
        if height == 1:
            what, by = "–", ""
            if gains:
                what, by = sentence(gains[0]), signed(gains[0].by)
            line = Content.assemble(("raises it most  ", "$quiet"), what)
            return spread(line, paint(Cell(by, "good")), width)
        heading = f"what raises the score {result.condition_title(condition)} most"
        lines = [paint(Cell(heading, "quiet"))]
        shown, room = gains[:SHOWN], max(1, width - 8 - BAR)
        needed = 1 + sum(len(title_lines(sentence(gain), room, width)) for gain in shown)
        for gain in shown:
            bar = Cell("█" * max(1, round(gain.by / gains[0].by * BAR)), "warn")
            cells = [right(Cell(signed(gain.by), "good"), 7), Content(" "), left(bar, BAR)]
            most = height if needed <= height else 1
            lines.append(wrapped_row(Content(""), sentence(gain), cells, width, most))
        if not gains:
            perfect = talk is not None and talk.score == 1
            said = "nothing was left to gain" if perfect else "unknown without a score"
            lines.append(paint(Cell(said, "quiet")))
        return Content("\n").join(lines)


def _fold_row(words: str) -> score_card_view.Row:
    """Return the row that shows and hides what is seldom needed."""
    return score_card_view.Row("", Cell(words, "quiet"), {}, folds=True)


def drawn_row(row: score_card_view.Row, cells: Sequence[Content], width: int) -> Content:
    """Return a row of the card; one without values has all of the width, and as many lines as its
    words need.
    """
    if row.drawn is not None:
        drawn = row.drawn(max(1, width - cell_len(row.mark))).split("\n")
        return Content("\n").join([Content.assemble(row.mark, line) for line in drawn])
    if not row.cells:
        return wrapped_row(Content(row.mark), row.label, (), width, len(row.label.text))
    return wrapped_row(Content(row.mark), row.label, cells, width, MOST_LINES)


class Selection(NamedTuple):
    """A position on the card."""

    row: int
    condition: Condition


class ScoreCard(Dialog[CardEvidence]):
    """Opened over the live screen; enter goes to the evidence of the selected row and condition."""

    NAME = "Score card"
    ABOUT = (
        "What came out, then a table: the score, the tasks and the assertions without the facts and"
        " with them, and what the facts changed. Press Enter on a row to see the evidence, and ."
        " for response times, intervals and cost."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("score-card")
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-short"),
        (LEAST_ROWS, "-middle"),
        (ROOMY_ROWS, "-tall"),
    ]
    DEFAULT_CSS = """
    ScoreCard {
        & > .dialog--box { width: 100%; max-width: 160; height: auto; max-height: 100%; }
        & .dialog--heading { margin: 0; height: auto; max-height: 2; }
        & #brief { max-height: 4; }
        & #answer { margin-top: 1; }
        & #since { height: auto; max-height: 2; display: none; color: $quiet; }
        & #reviewed { height: auto; display: none; }
        & .card--head { height: auto; }
        & #columns { height: auto; margin-top: 1; }
        & #table { width: 3fr; height: auto; }
        & #table RowList { height: auto; max-height: 24; }
        & GainsPanel { width: 2fr; height: 15; padding-left: 3; }
        & #details { height: auto; max-height: 6; margin-top: 1; border-top: solid $line; }
        &.-narrow, &.-short, &.-middle {
            & > .dialog--box { height: 100%; max-height: 100%; padding: 0 2; }
            & #columns { height: 1fr; }
            & #table { height: 100%; }
            & #table RowList { height: 1fr; max-height: 100%; }
            & GainsPanel { max-height: 100%; }
        }
        &.-narrow, &.-short {
            & .dialog--heading, & KeysFooter { margin: 0; }
            & #answer { margin: 0; max-height: 8; }
            & #columns { min-height: 5; margin: 0; }
            & #details { margin-top: 0; }
        }
        &.-narrow {
            & > .dialog--box { padding: 0 1; }
            & #columns { layout: vertical; }
            & #table { width: 100%; height: 1fr; }
            & GainsPanel { width: 100%; height: 1; padding-left: 0; }
        }
        &.-narrow.-short {
            & .dialog--heading, & #brief { max-height: 1; }
            & #details { max-height: 4; }
        }
        & #why { margin: 1 0; }
        &.-empty {
            & > .dialog--box { height: auto; padding: 1 2 0 2; }
            & #columns, & #details { display: none; }
        }
    }
    """

    def __init__(
        self,
        result: RunResult,
        trial: int,
        looked_at: Selection | None = None,
        overall: RunCard | None = None,
    ) -> None:
        """`looked_at` is the row and condition to select first; by default, the condition with the
        lower score.

        `overall` is the card of all trials from which this one was opened; of that card, itself.
        """
        self._trial = result.trial(trial)
        self._answer = result.answer if overall is self else result.answer_in(trial)
        heading = score_card_view.subject(result)
        if self._trial.name:
            heading += f" · here: {self._trial.name}"
        super().__init__(heading)
        self._result = result
        self._overall = overall
        self._both = self._trial.talks_by_condition
        self._is_empty = score_card_view.is_empty(self._trial)
        self._more = False
        self._rows = self._build_rows()
        self._widths: list[int] = []
        self._list, self._side = RowList("~evidence-rows", lambda: self.opens), GainsPanel()
        if looked_at is None:
            self._condition = score_card_view.condition_to_explain(self._trial)
            self._list.cursor = self._first_row()
        else:
            self._condition, self._list.cursor = looked_at.condition, looked_at.row

    def _first_row(self) -> int:
        """Return the first row below the scores that lost something; without one, the first that
        has a reason to show.
        """
        marked = [at for at, row in enumerate(self._rows) if row.mark.strip()]
        lost = [at for at in marked if self._has_lost(self._rows[at])]
        return next(iter([*lost, *marked]), 0)

    def _has_lost(self, row: score_card_view.Row) -> bool:
        cell = row.cells.get(self._condition)
        return cell is not None and cell.text.startswith(("✗", "◐"))

    def _build_rows(self) -> list[score_card_view.Row]:
        """Return the rows, and those that are seldom needed if they are wanted."""
        rows = score_card_view.rows(self._result, self._trial)
        if not self._more:
            return [*rows, _fold_row(MORE)]
        more = score_card_view.more_rows(self._result, self._trial)
        return [*rows, _fold_row(LESS), *more]

    @property
    def looked_at(self) -> Selection:
        """The row under the cursor, and the condition."""
        return Selection(self._list.cursor, self._condition)

    def compose_body(self) -> Iterable[Widget]:
        """Scores, bars, rows, details."""
        brief = Labelled(id="brief")
        brief.show(score_card_view.brief_cells(self._result, brief=not self._wide))
        yield brief
        block = AnswerBlock(id="answer")
        self.call_after_refresh(block.show_answer, self._answer)
        yield block
        yield Static(id="since", markup=False)
        if self._is_empty and (said := score_card_view.why_empty(self._trial, self._answer)):
            why = Labelled(id="why")
            why.show(said)
            yield why
        yield Static(id="reviewed", markup=False)
        with Horizontal(id="columns"):
            with Vertical(id="table"):
                yield DrawnPanel(classes="card--head")
                yield self._list
            yield self._side
        yield Static(id="details", markup=False)

    def on_mount(self) -> None:
        """Draw the card, and put the cursor on the first row."""
        self.set_class(self._is_empty, "-empty")
        self._list.show_blurred_cursor()
        self._set_rows()
        self.query_one(".card--head", DrawnPanel).draw(self._head)
        self._list.focus()
        self._show_condition()
        if self._answer is self._result.answer:
            self._show_difference(self._result.run_id)

    @property
    def _wide(self) -> bool:
        return self.app.size.width >= 120

    @property
    def _roomy(self) -> bool:
        return self._wide and self.app.size.height >= LEAST_ROWS

    @property
    def _names(self) -> list[str]:
        """The headings of the columns."""
        names = [self._result.condition_title(name) for name in self._both]
        if len(names) > 1:
            names.append("change")
        return names

    @property
    def _column(self) -> int:
        """The maximum width of a column."""
        return COLUMN

    @property
    def _columns(self) -> list[int]:
        """The columns' widths: as narrow as their cells and headings allow."""
        widths = []
        for at, name in enumerate(self._names):
            texts = [line.plain.rstrip() for line in Content(name).wrap(self._column - 1)]
            texts += [self._cells(row)[at].text for row in self._rows]
            widths.append(min(self._column, 2 + max(map(cell_len, texts))))
        return widths

    def _cells(self, row: score_card_view.Row) -> list[Cell]:
        """Return a row's cells: one for each condition, and the difference if there are two."""
        cells = [row.cells.get(name, Cell("–", "quiet")) for name in self._both]
        if len(cells) > 1:
            return [*cells, row.uplift]
        return cells

    def _set_rows(self) -> None:
        """Give each row as many lines as its title needs."""
        columns = self._widths = self._columns

        def painted(index: int, width: int) -> Content:
            row = self._rows[index]
            cells = [
                right(cell, room) for cell, room in zip(self._cells(row), columns, strict=True)
            ]
            return drawn_row(row, cells, width)

        def height(index: int, width: int) -> int:
            row = self._rows[index]
            # Wrapping thousands of trials to find that each is one line would take a second.
            room = width - cell_len(row.mark) - sum(columns)
            if row.cells and row.drawn is None and cell_len(row.label.text) <= room:
                return 1
            return painted(index, width).plain.count("\n") + 1

        def heights(width: int) -> list[int]:
            return [height(index, width) for index in range(len(self._rows))]

        self._list.set_rows(len(self._rows), painted, lines=heights)

    def _head(self, width: int) -> Content:
        at = list(self._both).index(self._condition)
        columns = self._widths
        start = sum(columns[:at])
        return Content("\n").join(
            [
                right(line.stylize("bold $foreground", start, start + columns[at]), width)
                for line in names_head(self._names, columns)
            ]
        )

    def _show_condition(self) -> None:
        self.query_one(".card--head", DrawnPanel).refresh()
        self._show_side()
        self._show_details(self._list.cursor)

    def _show_side(self) -> None:
        """Draw what stands beside the rows: what would raise the condition's score."""
        self._side.show(self._result, self._trial, self._condition)

    def _show_details(self, index: int) -> None:
        row = self._rows[index]
        self.refresh_bindings()
        if not row.cells:  # it says all
            self.query_one("#details", Static).update("")
            return
        lines = row.details.get(self._condition) or [Cell("no further details", "quiet")]
        name = Content.styled(f"{self._result.condition_title(self._condition)}  ", "$quiet")
        if self._roomy:  # its row may have cut it
            name = Content.assemble((f"{row.mark}{row.label.text}".strip() + "\n", "bold"), name)
        body = paint_lines(line._replace(text=shorten(line.text, 400)) for line in lines[:5])
        self.query_one("#details", Static).update(Content.assemble(name, body))

    @on(RowList.Highlighted)
    def _moved(self, event: RowList.Highlighted) -> None:
        self._show_details(event.index)

    @property
    def evidence(self) -> CardEvidence | None:
        """The target of enter: the first quotation of the selected row and condition."""
        return self._rows[self._list.cursor].evidence.get(self._condition)

    @property
    def opens(self) -> bool:
        """Whether enter does something on the selected row."""
        return self.evidence is not None or self._rows[self._list.cursor].folds

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A run in progress cannot be run again; a single condition or trial cannot be switched;
        nothing has no review.
        """
        if action == "other_trial":
            return self._overall is not None
        if action == "again":
            return self._result.has_ended
        if action in ("review", "other", "more") and self._is_empty:
            return False
        return action != "other" or len(self._both) > 1

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        if self._rows[self._list.cursor].folds:
            self.action_more()
        elif self.evidence is not None:
            self.dismiss(self.evidence)

    def action_more(self) -> None:
        """Show or hide the rows that are seldom needed, and go to the line above them."""
        self._more = not self._more
        self._rows = self._build_rows()
        self._set_rows()
        self._list.move_to(next(at for at, row in enumerate(self._rows) if row.folds))
        self.query_one(".card--head", DrawnPanel).refresh()
        self._show_details(self._list.cursor)

    def action_other(self) -> None:
        """Switch to the other condition."""
        self._condition = heads_view.other_condition(self._trial.conditions, self._condition)
        self._show_condition()

    def action_other_trial(self, by: int) -> None:
        """Go to the card of the previous or next trial; before the first stands that of all
        trials.
        """
        if (overall := self._overall) is None:
            return
        cards = [None, *self._result.trials]
        here = cards.index(None if self is overall else self._trial.trial)
        there = max(0, min(len(cards) - 1, here + by))
        if there != here and self is not overall:
            self.dismiss(None)
        if there != here and (trial := cards[there]) is not None:
            overall.open_trial(trial, self._condition)

    def copies(self) -> Sequence[Copied]:
        """The whole card."""
        return (
            Copied("the score card", lambda: score_card_view.card_text(self._result, self._trial)),
        )

    def caption(self) -> str:
        """What came out."""
        return self._answer.what

    def action_review(self) -> None:
        """Review the run; the card stays open below."""
        self.bioeval.review(ReviewSource((self._result.run_id,)))

    def on_screen_resume(self) -> None:
        """Show the scores after reviews, now and whenever the card is shown again."""
        self._show_reviewed(self._result.run_id)

    @work(group="reviewed")
    async def _show_reviewed(self, run_id: str) -> None:
        try:
            scores, said = await self.bioeval.services.from_runs(reviewed, run_id)
        except (BioevalError, OSError):
            return  # the card stands as it was recorded; the review screen says what is wrong
        words = score_card_view.reviewed_words(self._result, scores, said, wide=self._wide)
        # none, if the card was closed meanwhile
        for line in self.query("#reviewed").results(Static):
            line.display = bool(words)
            line.update(paint(*words))
            if scores is not None and scores.drawn:  # what people would say is the headline
                above = self.query_one("#answer")
                assert isinstance(above.parent, Widget)
                above.parent.move_child(line, before=above)

    def action_again(self) -> None:
        """Ask how to run the job again; without its file, start the same run once more."""
        self.bioeval.repeat_run(self._result.run_id, otherwise=self.bioeval.run_again)

    def action_edit(self) -> None:
        """Open the job in the editor, at the task or assertion that decided."""
        self.bioeval.edit_job(self._result.run_id, self._answer.decided)

    @work(group="since")
    async def _show_difference(self, run_id: str) -> None:
        """Say what changed since the last run of the job."""
        if not self._result.measured:
            return  # there is nothing to compare
        services = self.bioeval.services
        try:
            runs = await services.in_thread(lambda: services.run_list.runs())
            before = previous_run(runs, run_id)
            words = await services.from_runs(changes_since_run, before, run_id) if before else ""
        except (BioevalError, OSError):
            return  # only this line is missing
        for line in self.query("#since").results(Static):  # none, if the card was closed meanwhile
            line.display = bool(words)
            line.update(Content(words))


class RunCard(ScoreCard):
    """The card of several trials: means, shares and statistics over all of them, then each trial,
    which enter opens.
    """

    ABOUT = (
        "What came out over all trials, then a table: the mean scores, and in how many trials each"
        " task and assertion was passed. Press Enter on a trial to see its own card, → to go from"
        " one to the next, . for statistics."
    )
    DEFAULT_CSS = """
    RunCard {
        & > .dialog--box { height: 100%; }
        & #columns { height: 1fr; }
        & #table { width: 100%; max-width: 132; height: 100%; }
        & #table RowList { height: 1fr; max-height: 100%; }
        & GainsPanel { display: none; }
    }
    """

    def __init__(
        self,
        result: RunResult,
        looked_at: Selection | None = None,
        rows: Sequence[score_card_view.Row] | None = None,
    ) -> None:
        """`rows` are those of `run_rows`, if they are known."""
        self._run_rows = list(score_card_view.run_rows(result) if rows is None else rows)
        super().__init__(result, result.trials[0], looked_at, self)
        self.heading = (
            f"{score_card_view.subject(result)} · {plural(result.planned_trials, 'trial')}"
        )

    def _build_rows(self) -> list[score_card_view.Row]:
        rows = self._run_rows
        if not self._more:
            return [*rows, _fold_row(RUN_MORE)]
        return [*rows, _fold_row(LESS), *score_card_view.run_more_rows(self._result)]

    @property
    def _column(self) -> int:
        if self._wide:
            return ROOMY_COLUMN
        return COLUMN

    def _show_side(self) -> None:
        """Show nothing: what is known over all trials are rows, which scroll."""

    @property
    def _chosen_trial(self) -> int | None:
        """The trial that the row is, or the one in which its task or assertion does worst."""
        row = self._rows[self._list.cursor]
        if row.trial is not None:
            return row.trial
        return row.worst.get(self._condition)

    @property
    def opens(self) -> bool:
        """Whether a trial, or the line that shows more, is selected."""
        return self._chosen_trial is not None or self._rows[self._list.cursor].folds

    @on(RowList.Chosen)
    def _trial_chosen(self) -> None:
        if (trial := self._chosen_trial) is not None:
            self.open_trial(trial)

    def open_trial(self, trial: int, condition: Condition | None = None) -> None:
        """Open the card of a trial over this one, whose cursor goes to it."""
        self._list.move_to(next(at for at, row in enumerate(self._rows) if row.trial == trial))
        looked_at = Selection(0, condition) if condition else None
        self.app.push_screen(ScoreCard(self._result, trial, looked_at, self), self._trial_closed)

    def _trial_closed(self, evidence: CardEvidence | None) -> None:
        if evidence is not None:
            self.dismiss(evidence)

    def copies(self) -> Sequence[Copied]:
        """The whole card."""
        return (Copied("the score card", lambda: score_card_view.card_text(self._result)),)


def make_card(
    state: RunState,
    trial: int,
    looked_at: Selection | None = None,
    *,
    is_replayed: bool = False,
) -> ScoreCard | None:
    """Return the card of a run as far as it is known, over all trials where there are several; None
    before it starts.
    """
    result = result_of(state, is_replayed=is_replayed)
    if result is None:
        return None
    several = result.planned_trials > 1 and result.trials
    if several:
        return RunCard(result, looked_at)
    return ScoreCard(result, trial, looked_at)


PROGRESS_S = 0.2
"""How often it says how many conversations were read, in seconds."""


class CardFigures(NamedTuple):
    """All that the card of a run with many conversations needs, worked out."""

    result: RunResult
    rows: list[score_card_view.Row]

    @classmethod
    def of(cls, result: RunResult) -> CardFigures:
        """Work them out, which takes seconds."""
        assert result.answer  # it is kept in the result, as is the summary
        result.trial(result.trials[0])
        return cls(result, score_card_view.run_rows(result))


class CardToCome(Dialog[CardFigures]):
    """Stands where the card of a run with many conversations will, until its figures are worked
    out: what is known of it, and how much of it was read.

    The result is the figures, or None if the dialog was closed.
    """

    NAME = "Score card"
    ABOUT = (
        "What is known of a large run while it is read. Its score card follows in this place; esc"
        " shows the conversations without it."
    )
    DEFAULT_CSS = """
    CardToCome {
        & > .dialog--box { width: 100%; max-width: 160; height: 100%; max-height: 100%; }
        & .dialog--heading { margin: 0; height: auto; max-height: 2; }
        & #brief { max-height: 4; }
        & #known { height: auto; margin-top: 1; }
        &.-narrow > .dialog--box { padding: 0 1; }
    }
    """

    def __init__(self, run: LargeRun | RunState) -> None:
        self._run = run
        begun = run.begun if isinstance(run, LargeRun) else run
        assert begun.started is not None
        self._begun = begun
        self._brief = make_brief(begun, begun.started)
        subject = ": ".join(filter(None, (self._brief.job, self._brief.about)))
        super().__init__(f"{subject} · {plural(begun.started.trials, 'trial')}")
        self._is_read = not isinstance(run, LargeRun)
        self._figures: CardFigures | None = None

    def compose_body(self) -> Iterable[Widget]:
        """What is known."""
        brief = Labelled(id="brief")
        # The facts, which cases have, are not known yet.
        brief.show(who_and_what(self._brief)[:1])
        yield brief
        yield Labelled(id="known")

    def on_mount(self) -> None:
        """Begin."""
        self._show_known()
        self.set_interval(PROGRESS_S, self._show_known)
        self._work_out()

    def _show_known(self) -> None:
        lines: list[Line] = []
        if isinstance(self._run, LargeRun):
            scores = self._run.scores
            titles = list(map(self._begun.condition_title, scores))
            width = max(map(cell_len, titles), default=0) + 2
            for title, score in zip(titles, scores.values(), strict=True):
                lines.append([Cell(padded(title, width), "quiet"), Cell(number(score), "strong")])
            lines.append([])
        lines.append([Cell(self._progress, "busy")])
        self.query_one("#known", Labelled).show(lines)

    @property
    def _progress(self) -> str:
        if self._is_read or not isinstance(self._run, LargeRun):
            return "Working out the figures…"
        (said,) = waiting_view.reading(self._run.conversations_read, self._run.conversations)
        return said.text

    @work(group="figures")
    async def _work_out(self) -> None:
        run = self._run
        try:
            result = await run.read() if isinstance(run, LargeRun) else result_of(run)
        except (BioevalError, OSError) as error:
            self.app.notify(str(error), severity="error", markup=False)
            self.dismiss(None)
            return
        assert result is not None  # an ended run has begun
        self._is_read = True
        self._show_known()
        in_thread = self.bioeval.services.in_thread
        self._figures = await in_thread(lambda: CardFigures.of(result))
        self._hand_over()

    def on_screen_resume(self) -> None:
        """Give way to the card once no box is open above."""
        self._hand_over()

    def _hand_over(self) -> None:
        if self._figures is not None and self.app.screen is self:
            self.dismiss(self._figures)
