"""The comparison of two runs: conclusions, then conditions, tasks, assertions and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.base.text import plural
from bioeval_tui.base.units import latency, latency_change, number, number3, share, signed
from bioeval_tui.base.widths import fitted
from bioeval_tui.report import sentences
from bioeval_tui.report.comparison import (
    AssertionComparison,
    Change,
    Comparison,
    ConditionComparison,
    ValueComparison,
    compare,
)
from bioeval_tui.statistics.estimates import Proportion
from bioeval_tui.statistics.paired_differences import Difference
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.answer_block import answer_lines, step_keys
from bioeval_tui.tui.shared.cells import Cell, Line, Tone, paint, wrapped
from bioeval_tui.tui.shared.dialogs import Dialog, Tell, WorkDialog
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.report.findings import StepAction, WhyApart
    from bioeval_tui.tui.shared.program import Program


NUMBER = 8
SCORE = "score"
"""The title of the first row of a condition."""
TIMES, FAILURES = "average answer", "failures of the agent"
_ROW_OF_PART = {"timing": TIMES, "penalty": FAILURES}
"""The rows of the score card that explain the parts timing and penalty."""
PLOT, WIDE = 25, 105
"""Width of the plot of differences, and the minimum width at which it is shown."""
DIRECTIONS: dict[str, Cell] = {
    "better": Cell("▲ better", "good"),
    "worse": Cell("▼ worse", "bad"),
    "same": Cell("= same", "quiet"),
    "not distinguishable": Cell(f"· {sentences.DIRECTIONS['not distinguishable']}", "quiet"),
    "not measured": Cell("? not measured", "warn"),
}
CHANGES: dict[Change, str] = {
    "fixed": "fixed",
    "broken": "broken",
    "changed": "◐ changed",
    "same": "= same",
    "not comparable": "? not comparable",
}


class ComparisonRow(NamedTuple):
    """A line of the table; `condition` and `title` name what it compares; empty if it compares
    nothing.
    """

    line: Line
    condition: str = ""
    title: str = ""
    more: tuple[str, ...] = ()
    """The rest of a title that is longer than its column: a line each below the first."""


def head(
    comparison: Comparison, keys: Mapping[StepAction, str], others: Sequence[str] = ()
) -> list[Line]:
    """Return the answer with the `keys` of its steps, which runs are compared, and how they differ
    in setup.

    `others` are lines that say which runs can be compared instead.
    """
    shown = [*answer_lines(comparison.answer, keys), *([Cell(other)] for other in others), []]
    shown += map(_brief_line, comparison.brief_words)
    return [*shown, *([Cell(f"! {note}", "warn")] for note in comparison.other_notes)]


def table(
    comparison: Comparison, width: int, *, only_differences: bool = False
) -> list[ComparisonRow]:
    """Return the rows for `width` cells, the largest changes first; with `only_differences`,
    without unchanged rows.
    """
    reach = _reach(comparison)
    told: list[Cell] = []
    for condition in comparison.compared:
        told += map(_change_cell, condition.assertions)
        told += (_verdict(value.difference) for value in _values(condition))
        told.append(_verdict(condition.latency, is_time=True))
    verdicts = max((cell_len(cell.text) for cell in told), default=0)
    rows = []
    for condition in comparison.compared:
        rows += _condition(condition, width, verdicts, reach, only_differences)
    return rows


def _reach(comparison: Comparison) -> float:
    """Return the range of the plot: the largest difference or end of an interval."""
    reach = 0.1
    for condition in comparison.compared:
        for value in _values(condition):
            ends = (value.change or 0.0, *_interval(value.difference))
            reach = max(reach, *map(abs, ends))
    return reach


def _values(condition: ConditionComparison) -> tuple[ValueComparison, ...]:
    return (condition.whole, *condition.parts, *condition.tasks)


def _interval(difference: Difference | None) -> tuple[float, ...]:
    """Return both ends of a difference's interval; empty without one."""
    if difference is None or not (interval := difference.estimate.interval):
        return ()
    return (interval.low, interval.high)


def _verdict(difference: Difference | None, *, is_time: bool = False) -> Cell:
    """Return the verdict of a row; where there are too few pairs for one, only the direction."""
    if difference is None:
        return DIRECTIONS["not measured"]
    if difference.direction != "too few":
        return DIRECTIONS[difference.direction]
    change = difference.mean or 0.0
    # As many decimals as are shown: a time is in milliseconds, a score has two.
    if not round(change, 0 if is_time else 2):
        return DIRECTIONS["same"]
    higher, lower = ("↑ slower", "↓ faster") if is_time else ("↑ higher", "↓ lower")
    return Cell(higher if change > 0 else lower, "quiet")


def forest(difference: Difference | None, reach: float, width: int) -> Line:
    """Return a difference on a scale around 0: `●`, with `├─┤` for its interval where there is
    one.
    """
    middle = width // 2
    cells = [" "] * width
    cells[middle] = "│"
    if difference is None or difference.mean is None:
        return [Cell("".join(cells), "quiet")]

    def place(at: float) -> int:
        return max(0, min(width - 1, middle + round(at / reach * middle)))

    if interval := _interval(difference):
        low, high = map(place, interval)
        cells[low : high + 1] = "─" * (high + 1 - low)
        if low <= middle <= high:
            cells[middle] = "┼"
        cells[low], cells[high] = "├", "┤"
    cells[place(difference.mean)] = "●"
    return [Cell("".join(cells), _verdict(difference).tone)]


def _brief_line(line: str) -> Line:
    """Return a line of the brief; `A`, `B` and `facts` are labels, below which the rest wraps."""
    label, gap, rest = line.partition("  ")
    if not gap or label not in ("A", "B", "facts", "A facts", "B facts"):
        return [Cell(line, "strong")]
    return [Cell(f"{label}  ", "strong" if len(label) == 1 else "quiet"), Cell(rest)]


def _condition(
    condition: ConditionComparison, width: int, verdicts: int, reach: float, only_differences: bool
) -> list[ComparisonRow]:
    plot = PLOT if width >= WIDE else 0
    label = max(16, min(56, width - 3 * NUMBER - 5 - verdicts - plot))
    heading = (
        fitted("A", NUMBER, "right")
        + fitted("B", NUMBER, "right")
        + fitted("B − A", NUMBER + 1, "right")
    )
    scale = ""
    if plot:
        half = (plot - 2) // 2
        scale = f"  {fitted('A better', half)}0{fitted('B better', half, 'right')}"
    name = fitted(condition.title.upper(), label)

    def row(title: str, line: Line) -> ComparisonRow:
        shown, *numbers = line
        first, *more = wrapped(shown.text, label - 1)
        return ComparisonRow(
            [shown._replace(text=fitted(first, label)), *numbers],
            condition.condition,
            title,
            tuple(more),
        )

    tasks = sorted(condition.tasks, key=lambda task: -abs(task.change or 0.0))
    checks = sorted(condition.assertions, key=lambda check: check.change == "same")
    evidence = {
        **_ROW_OF_PART,
        "task": next((task.title for task in tasks), ""),
        "assertion": next((check.title for check in checks), ""),
    }
    rows = [
        (_moved(part), row(evidence.get(part.name, ""), _value(part, reach, plot, is_part=True)))
        for part in condition.parts
    ]
    if any(one.failed for one in condition.requests):
        counts = [one.failed for one in condition.requests]
        rows.append((counts[0] != counts[1], row(FAILURES, _failures(counts, plot))))
    rows += [(_moved(task), row(task.title, _value(task, reach, plot))) for task in tasks]
    rows += [(check.change != "same", row(check.title, _check(check, plot))) for check in checks]
    rows.sort(key=lambda changed: not changed[0])
    shown = [one for changed, one in rows if changed or not only_differences]
    if condition.latency is not None:
        shown.append(row(TIMES, _time(condition.latency, condition.averages_ms, plot)))
    if only_differences and (same := sum(not changed for changed, _ in rows)):
        shown.append(ComparisonRow([Cell(f"{plural(same, 'row')} without a difference", "quiet")]))
    return [
        ComparisonRow([Cell(name, "strong"), Cell(heading + scale, "quiet")]),
        row(SCORE, _value(condition.whole, reach, plot, "strong")),
        *shown,
        ComparisonRow([]),
    ]


def _row_title(most: WhyApart) -> str:
    """Return the title of the row that shows what sets two runs apart most."""
    return most.title or _ROW_OF_PART.get(most.part, "")


def _moved(value: ValueComparison) -> bool:
    """Return whether a row shows a difference, also one of which only the mean is 0."""
    return bool(round(value.change or 0.0, 2)) or len(set(_interval(value.difference))) > 1


def _value(
    value: ValueComparison,
    reach: float,
    plot: int,
    tone: Tone = "plain",
    *,
    is_part: bool = False,
) -> Line:
    # A part is a small share of the score.
    digits, written = (3, number3) if is_part else (2, number)
    change = "–" if value.change is None else signed(value.change, digits)
    means = (side.mean if side else None for side in (value.a, value.b))
    line = [
        Cell(value.title, tone),
        Cell("".join(fitted(written(mean), NUMBER, "right") for mean in means), tone),
        Cell(fitted(change, NUMBER + 1, "right") + "  ", tone),
    ]
    if plot:
        line += [*forest(value.difference, reach, plot - 2), Cell("  ")]
    return [*line, _verdict(value.difference)]


def _failures(counts: Sequence[int], plot: int) -> Line:
    """Return how many requests to the agent failed in each run."""
    change = counts[1] - counts[0]
    moved = "= same"
    if change > 0:
        moved = "↑ more"
    elif change < 0:
        moved = "↓ fewer"
    return [
        Cell("failed requests"),
        Cell("".join(fitted(f"{count:,}", NUMBER, "right") for count in counts)),
        Cell(fitted(signed(float(change), 0), NUMBER + 1, "right") + " " * (plot + 2)),
        Cell(moved, "quiet"),
    ]


def _check(check: AssertionComparison, plot: int) -> Line:
    weight = f"{check.weight:g}× "
    return [
        Cell(weight + check.title),
        _share_cell(check.a),
        _share_cell(check.b),
        Cell(" " * (NUMBER + 3 + plot)),
        _change_cell(check),
    ]


def _change_cell(check: AssertionComparison) -> Cell:
    """Return what became of an assertion, in colour only if chance alone would rarely do it."""
    said, difference = CHANGES[check.change], check.difference
    higher = difference is not None and (difference.mean or 0.0) > 0
    if difference is not None and difference.is_beyond_chance:
        said = said.removeprefix("◐ ")
        if higher:
            return Cell(f"▲ {said}", "good")
        return Cell(f"▼ {said}", "bad")
    if check.change in ("fixed", "broken"):
        arrow = "↑" if higher else "↓"
        said = f"{arrow} {said}"
    return Cell(said, "quiet")


def _share_cell(proportion: Proportion | None) -> Cell:
    """Return `✓` or `✗` for one trial, the share of trials for several."""
    if proportion is None or (held := proportion.share) is None:
        return Cell(fitted("–", NUMBER, "right"), "quiet")
    if held == 1.0:
        return Cell(fitted("✓", NUMBER, "right"), "good")
    if held == 0.0:
        return Cell(fitted("✗", NUMBER, "right"), "bad")
    return Cell(fitted(share(held), NUMBER, "right"), "warn")


def _time(
    difference: Difference, averages_ms: tuple[float | None, float | None], plot: int
) -> Line:
    change = "–" if difference.mean is None else latency_change(difference.mean)
    both = "".join(fitted(latency(each), NUMBER, "right") for each in averages_ms)
    return [
        Cell(TIMES),
        Cell(both + fitted(change, NUMBER + 1, "right") + " " * (plot + 2)),
        _verdict(difference, is_time=True),
    ]


def open_comparison(program: Program, a: str, b: str) -> None:
    """Read both recordings, then show the comparison of run B with run A."""

    async def work(tell: Tell) -> tuple[Comparison, list[str]]:
        services = program.services
        comparison = await services.from_runs(compare, a, b)
        if comparison.compared:
            return comparison, []
        runs = await services.in_thread(lambda: services.run_list.runs())
        return comparison, comparable_runs((a, b), runs)

    def show(found: tuple[Comparison, list[str]] | None) -> None:
        if found is not None:
            program.push_screen(CompareDialog(*found))

    program.push_screen(WorkDialog("Reading both recordings", work), show)


def comparable_runs(run_ids: Sequence[str], runs: Sequence[CataloguedRun]) -> list[str]:
    """Return which run of its own job each of two runs can be compared with: the newest other one
    that was measured.
    """
    lines = []
    for name, run_id in zip("AB", run_ids, strict=True):
        own = next((run for run in runs if run.run_id == run_id), None)
        others = [
            run
            for run in runs
            if own and run.job == own.job and run.run_id != run_id and run.measured
        ]
        if own is not None and others:
            newest = max(others, key=lambda run: run.began)
            lines.append(
                f"{name} can be compared with run {newest.run_id} of {own.job}"
                f" ({newest.agent_words})"
            )
        elif own is not None:
            lines.append(f"{name} is the only run of {own.job} with a score to compare")
    return lines


class CompareDialog(Dialog[None]):
    """Shows a finished comparison; enter shows the passages of both runs that a row compares."""

    NAME: ClassVar[str] = "Compare two runs"
    ABOUT: ClassVar[str] = (
        "Run B compared with run A, by condition. Differences are paired by trial. An interval"
        " needs at least five pairs, and a difference in response times needs runs of equal"
        " concurrency. Press Enter to see what both runs did."
    )
    HEADING: ClassVar[str] = "B compared with A"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    DEFAULT_CSS = """
    CompareDialog > .dialog--box { width: 96%; max-width: 150; height: 90%; }
    CompareDialog #head { height: auto; max-height: 50%; }
    CompareDialog RowList { height: 1fr; margin-top: 1; }
    CompareDialog.-alone #head { height: 1fr; max-height: 100%; }
    CompareDialog.-alone RowList { display: none; }
    CompareDialog.-narrow > .dialog--box { width: 100%; height: 100%; }
    """

    def __init__(self, comparison: Comparison, others: Sequence[str] = ()) -> None:
        super().__init__()
        self._comparison = comparison
        self._others = others
        self._only_differences = False
        self._table: list[ComparisonRow] = []
        self._list = RowList("~compared-rows", lambda: bool(self.here.title and self._trials))

    def compose_body(self) -> Iterable[Widget]:
        """How the runs differ in setup, the conclusions, and the table."""
        with VerticalScroll(id="head"):
            yield Labelled()
        yield self._list

    def on_mount(self) -> None:
        """Focus the table or, where nothing is compared, what says why."""
        self.set_class(not self._comparison.compared, "-alone")
        if self._comparison.compared:
            self._list.focus()
        else:
            self.query_one("#head").focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._draw()
        self._list.move_to(self._first_row())

    def _first_row(self) -> int:
        """Return the row of which the answer says why, whose passages it offers; else the first."""
        most = self._comparison.most_apart
        titled = [at for at, row in enumerate(self._table) if row.title]
        for at in titled:
            row = self._table[at]
            if most and row.condition == most.side.condition and row.title == _row_title(most):
                return at
        return titled[0] if titled else 0

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.call_after_refresh(self._draw)

    @property
    def here(self) -> ComparisonRow:
        """The row under the cursor."""
        at = self._list.cursor
        if at < len(self._table):
            return self._table[at]
        return ComparisonRow([])

    @property
    def _trials(self) -> tuple[tuple[int, int], ...]:
        """The trials that the row under the cursor compares; none if the runs are about different
        things.
        """
        conditions = self._comparison.conditions
        return next((one.trials for one in conditions if one.condition == self.here.condition), ())

    def caption(self) -> str:
        """The conclusions."""
        return self._comparison.answer.what

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One key toggles between differences and all rows."""
        if action in ("differences", "every_row"):
            return bool(self._comparison.compared) and self._only_differences == (
                action == "every_row"
            )
        return True

    def action_again(self) -> None:
        """Ask how to run the job of both runs again, with as many trials as are needed."""
        trials, runs = (
            self._comparison.answer.step("trials"),
            (self._comparison.a, self._comparison.b),
        )
        self.dismiss(None)
        self.bioeval.repeat_run(*(run.run_id for run in runs), total=trials.total if trials else 0)

    def action_differences(self) -> None:
        """Hide rows that are the same."""
        self._show(only_differences=True)

    def action_every_row(self) -> None:
        """Show rows that are the same."""
        self._show(only_differences=False)

    def _show(self, *, only_differences: bool) -> None:
        self._only_differences = only_differences
        self._draw()
        self.refresh_bindings()

    def _draw(self) -> None:
        width = self._list.scrollable_content_region.width
        if not self._comparison.compared:
            self.query_one("#head Labelled", Labelled).show(
                head(self._comparison, step_keys(self), self._others)
            )
        elif width > 0:
            self._table = table(self._comparison, width, only_differences=self._only_differences)
            self._list.set_rows(
                len(self._table), self._row, lines=[1 + len(row.more) for row in self._table]
            )
            self.query_one("#head Labelled", Labelled).show(
                head(self._comparison, step_keys(self), self._others)
            )

    def _row(self, at: int, width: int) -> Content:
        row = self._table[at]
        return Content("\n").join([paint(*row.line), *map(Content, row.more)])

    @on(RowList.Highlighted)
    def _moved(self) -> None:
        self.refresh_bindings()

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        # Transcripts are slow to load and not needed for the table.
        from bioeval_tui.tui.runs.passages import PassagesDialog

        a, b, here = self._comparison.a, self._comparison.b, self.here
        self.app.push_screen(PassagesDialog((a, b), here.condition, here.title, self._trials))
