"""The medal card: the place of one submission on its leaderboard, the findings on its file, and
where it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.text import home_relative, plural, terminal_text
from bioeval_tui.base.units import number1
from bioeval_tui.base.widths import padded
from bioeval_tui.grade.explaining.sections import PRIVATE
from bioeval_tui.grade.ledger import ordinal
from bioeval_tui.grade.submissions import UNKNOWN_AGENT
from bioeval_tui.grade.tally import standing_of
from bioeval_tui.grade.uncertainty import NO_MEDAL, percent
from bioeval_tui.grade.validation import Validation
from bioeval_tui.report.answer import Answer, answer_grading, answer_not_graded
from bioeval_tui.tui import review_view
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals import histogram_view, medals_view
from bioeval_tui.tui.medals.medals_view import column_number, medal_cell
from bioeval_tui.tui.shared.answer_block import answer_lines, step_keys
from bioeval_tui.tui.shared.cells import Cell, Line, Tone, packed, paint
from bioeval_tui.tui.shared.dialogs import Dialog, DialogText, Tell, WorkDialog
from bioeval_tui.tui.shared.output import Copied
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.grade.explaining.sections import Section
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.grade.uncertainty import Uncertainty
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.report.findings import StepAction
    from bioeval_tui.tui.grading_items import MedalRow
    from bioeval_tui.tui.shared.program import Program

AROUND = 2
MOST_EARLIER = 3
"""How many earlier gradings a card lists."""
_CHANCES: dict[str, tuple[str, Tone]] = {
    "gold": ("█", "gold"),
    "silver": ("▓", "silver"),
    "bronze": ("▒", "bronze"),
    NO_MEDAL: ("░", "entries"),
}


def head(
    row: MedalRow,
    width: int,
    keys: Mapping[StepAction, str] | None = None,
    findings: Validation | None = None,
) -> list[Line]:
    """Return the medal, the task and the agent, and the answer with the keys of its next steps.

    With `findings`, which the card lists, why a file is invalid is left out.
    """
    medal = medal_cell(row)
    title = row.task_id
    if row.agent != UNKNOWN_AGENT:
        title += f" · {row.agent}"
    name = Cell(title, "strong")
    lines: list[Line] = [[medal], [name]]
    if cell_len(medal.text) + 3 + cell_len(title) <= width:
        lines = [[medal, Cell("   "), name]]
    answer = row_answer(row)
    if findings is not None and findings.findings:
        answer = replace(answer, why="")
    return [*lines, *answer_lines(answer, keys), *_graded_lines(row)]


def row_answer(row: MedalRow) -> Answer:
    """Return a submission's answer."""
    if row.report is None:
        return answer_not_graded(row.task_id, row.not_graded or "")
    return answer_grading(row.report)


def _graded_lines(row: MedalRow) -> list[Line]:
    """Return when the file was graded, and below it what came out when it was graded before."""
    if row.at is None:
        return []
    count = len(row.earlier)
    graded = f"graded {row.at:%Y-%m-%d %H:%M} UTC"
    if count:
        graded += f", {ordinal(count + 1)} time · {count:,} earlier ▾"
    lines: list[Line] = [[Cell(graded, "quiet")]]
    lines += [
        [Cell(f"  {at:%Y-%m-%d %H:%M}  {words}", "quiet")]
        for at, words in row.earlier[:MOST_EARLIER]
    ]
    if count > MOST_EARLIER:
        lines.append([Cell(f"  … and {count - MOST_EARLIER:,} before that", "quiet")])
    return lines


def card(
    row: MedalRow, width: int, height: int, findings: Validation | None = None, again: str = ""
) -> list[Line]:
    """Return the lines below the head for `width` cells; the leaderboard's columns are `height`
    lines high.

    `findings` are those on an invalid file as it is now, and `again` is the key that grades it
    again.
    """
    report = row.report
    if report is None:
        if row.lacks_data:
            return [[Cell("you can prepare its data here", "busy")]]
        return []
    if standing_of(row.report) == "invalid":
        return [*_finding_lines(findings, again), *_file_lines(row)]
    leaderboard: Line = []
    if report.extra is not None and report.extra.leaderboard:
        leaderboard = [Cell(f"leaderboard: {report.extra.leaderboard}", "quiet")]
    return [
        *_warning_lines(report),
        *_standing_lines(report, width),
        *_chance_lines(report.uncertainty, width),
        *_scale_lines(row, report, width, height),
        *_board_lines(row, report),
        [],
        leaderboard,
        *_file_lines(row),
    ]


def _file_lines(row: MedalRow) -> list[Line]:
    """Return the submission's file; nothing without one, which would look like the working
    folder.
    """
    if not row.file:
        return []
    return [[Cell(home_relative(Path(row.file)), "quiet")]]


def _finding_lines(found: Validation | None, again: str) -> list[Line]:
    """Return everything that is wrong with a file that was invalid when it was graded, as it is
    now.
    """
    if found is None:
        return []
    if found.status == "valid":
        words = "✓ the file is valid now"
        if again:
            words += f": {again} grades it again"
        return [[Cell(words, "good")], []]
    lines: list[Line] = [[Cell(plural(len(found.findings), "finding"), "strong")]]
    return [*lines, *([Cell("· "), Cell(sentence)] for sentence in found.findings), []]


def _warning_lines(report: TaskReport) -> list[Line]:
    extra = report.extra
    if extra is None:
        return []
    said = {doubt.sentence for doubt in report.doubts}  # in the head
    warnings = [warning for warning in extra.warnings if warning not in said]
    if extra.self_trained_leaderboard and not any(
        "self-trained" in warning for warning in warnings
    ):
        warnings.append("leaderboard of models trained for bioeval-tui, not of people")
    if not warnings:
        return []
    return [*([Cell(f"! {warning}", "warn")] for warning in warnings), []]


def _standing_lines(report: TaskReport, width: int) -> list[Line]:
    better = "lower is better" if report.is_lower_better else "higher is better"
    facts = [
        Cell(report.rows_words, "warn" if report.rows_missing else "plain"),
        Cell(better, "quiet"),
    ]
    if not report.place_words:
        facts.append(Cell("place not known"))
    if report.leaderboard_percentile is not None:
        facts.append(Cell(f"percentile {number1(report.leaderboard_percentile)}"))
    lines = packed([[fact] for fact in facts if fact.text], width, " · ")
    lines += _attempt_lines(report)
    if report.beats_human is not None:
        words = "above the human median" if report.beats_human else "not above the human median"
        if report.human_percentile is not None:
            words += f", human percentile {number1(report.human_percentile)}"
        lines.append([Cell(words)])
    return [*lines, []]


def _attempt_lines(report: TaskReport) -> list[Line]:
    looks = report.looks
    if looks is None or (looks.of_agent or looks.all) < 2:
        return []
    return [[Cell(f"{looks.words}: the best of many is partly luck", "warn")]]


def _chance_lines(uncertainty: Uncertainty | None, width: int) -> list[Line]:
    """Return the chance of each medal as the parts of one bar, named in figures below it."""
    if uncertainty is None or not uncertainty.medals:
        return []
    bar: Line = []
    figures: list[Line] = []
    done, at = 0.0, 0
    for name, share in uncertainty.medals:
        sign, tone = _CHANCES[name]
        done += share
        bar.append(Cell(sign * (round(done * width) - at), tone))
        at = round(done * width)
        figures.append([Cell(f"{sign} {name} {percent(share)}", tone)])
    head: Line = [Cell(uncertainty.chance_words, "quiet")]
    return [head, bar, *packed(figures, width), []]


def _scale_lines(row: MedalRow, report: TaskReport, width: int, height: int) -> list[Line]:
    if report.score is None:
        return []
    marks = {"median": report.median_threshold, **report.medal_scores}
    if row.human is not None:
        marks["human"] = row.human
    histogram = histogram_view.histogram(
        row.leaderboard, marks, lower_is_better=report.is_lower_better, own=report.score
    )
    return [*histogram_view.lines(histogram, width, height), []]


def _board_lines(row: MedalRow, report: TaskReport) -> list[Line]:
    """Return the entries around the place that the score would take."""
    if report.extra is None or report.extra.leaderboard_position is None:
        return []
    if not row.leaderboard or report.score is None:
        return []
    board, place = row.leaderboard, report.extra.leaderboard_position
    width = len(f"#{len(board):,}")

    def entry(rank: str, score: float, mark: str = " ", tone: Tone = "quiet") -> Cell:
        return Cell(f"{mark} {padded(rank, width, 'right')}  {column_number(score)}", tone)

    lines: list[Line] = [[Cell("leaderboard around it", "quiet")]]
    first = max(1, place - AROUND)
    if first > 1:
        lines.append([entry("#1", board[0])])
    if first > 2:
        lines.append([Cell(f"  {padded('…', width, 'right')}", "quiet")])
    lines += [[entry(f"#{rank:,}", board[rank - 1])] for rank in range(first, place)]
    which = " this one"
    if report.note:
        which += f", {report.note}"
    lines.append([entry(f"#{place:,}", report.score, "▶", "strong"), Cell(which, "quiet")])
    # Below the place that the score would take, each entry is one place further down.
    last = min(len(board), place + AROUND - 1)
    lines += [[entry(f"#{rank + 1:,}", board[rank - 1])] for rank in range(place, last + 1)]
    return lines


HEADS: dict[str, Cell] = {
    "valid": Cell("✓ valid: it would be graded", "good"),
    "invalid": Cell("✗ invalid: the file's fault", "bad"),
    "not_graded": Cell("? could not be checked", "warn"),
}


def examine(app: Program, row: MedalRow, then: Callable[[], object] | None = None) -> None:
    """Check the file of a submission, then show everything that is wrong with it, and call
    `then`.
    """

    async def work(tell: Tell) -> Validation:
        file = str(row.path or row.file)
        return await app.services.in_worker(
            lambda: app.services.benchmarks.examine(row.task_id, file)
        )

    def show(found: Validation | None) -> None:
        if found is not None:
            app.push_screen(FindingsDialog(row.task_id, row.file, found))
            if then is not None:
                then()

    app.push_screen(WorkDialog(f"Checking {row.file}", work), show)


class FindingsDialog(Dialog[None]):
    """One line per finding."""

    NAME: ClassVar[str] = "Validation"
    ABOUT: ClassVar[str] = "Every problem with the file, not only the first."

    def __init__(self, task_id: str, file: str, validation: Validation) -> None:
        super().__init__(f"Validated for {task_id}")
        self._file = file
        self._found = validation

    def compose_body(self) -> Iterable[Widget]:
        """What validation says, then the findings."""
        validation = self._found
        head = HEADS[validation.status]
        if validation.is_only_for_grader:
            head = Cell(f"! {validation.words}", "warn")
        lines = [paint(head), paint(Cell(self._file, "quiet")), Content("")]
        if validation.findings:
            lines.append(paint(Cell(plural(len(validation.findings), "finding"), "strong")))
        lines += [paint(Cell(f"· {sentence}")) for sentence in validation.findings]
        with DialogText():
            yield Static(Content("\n").join(lines), markup=False)


def explain(app: Program, row: MedalRow, *, show_answers: bool = False) -> None:
    """Analyse a valid submission, then show its error views."""

    async def work(tell: Tell) -> Sequence[Section]:
        return await app.services.explain(row, show_answers=show_answers)

    def show(found: Sequence[Section] | None) -> None:
        if found is not None:
            app.push_screen(ErrorView(row, found))

    app.push_screen(WorkDialog(f"Analysing {row.file}", work), show)


class ErrorView(Dialog[None]):
    """Tables with bars, one below the other."""

    NAME: ClassVar[str] = "Error view"
    ABOUT: ClassVar[str] = (
        "Where the submission is right and where it is wrong. Private answers are shown only if you"
        " ask for them."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("error-view")

    def __init__(self, row: MedalRow, sections: Sequence[Section]) -> None:
        super().__init__(f"{row.task_id} · {row.agent}")
        self._row = row
        self._sections = sections

    def compose_body(self) -> Iterable[Widget]:
        """Every section: its title, its table, its note."""
        lines: list[Content] = []
        for section in self._sections:
            title, *rest = section.lines()
            lines += [
                paint(Cell(terminal_text(title, 200), "strong")),
                *(paint(Cell(terminal_text(line, 400))) for line in rest),
            ]
            lines.append(Content(""))
        body = DialogText(Static(Content("\n").join(lines), markup=False))
        body.can_focus = True
        yield body

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer private answers only where they are kept back."""
        return action != "answers" or PRIVATE in self._sections

    def action_answers(self) -> None:
        """Show the views of private answers."""
        self.dismiss()
        explain(self.bioeval, self._row, show_answers=True)

    def on_mount(self) -> None:
        """Let keys scroll the tables."""
        self.query_one(DialogText).focus()


class MedalCard(VerticalScroll, can_focus=False):
    """Shows one row at a time."""

    DEFAULT_CSS = """
    MedalCard { padding: 0 2; & > Labelled { padding-right: 1; } }
    """

    def __init__(
        self,
        row: MedalRow | None = None,
        reviews: Opinions | None = None,
        findings: Validation | None = None,
    ) -> None:
        super().__init__()
        self._row = row
        self._reviews: Opinions = reviews or {}
        self._findings = findings
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """One text."""
        yield Labelled()

    def on_mount(self) -> None:
        """Draw again when the scrollbar comes or goes: it takes of the width that the scale is
        drawn for.
        """
        self.watch(self, "show_vertical_scrollbar", self._draw_soon)

    def _draw_soon(self) -> None:
        self.call_after_refresh(self._draw)

    def show(
        self,
        row: MedalRow | None,
        reviews: Opinions | None = None,
        findings: Validation | None = None,
    ) -> None:
        """Show another row, its reviews, and what is wrong with its file."""
        self._row = row
        self._reviews = reviews or {}
        self._findings = findings
        self._draw()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width - 1  # as `Labelled` has, beside the scrollbar
        if not self.is_mounted or width < 1:
            return
        keys = step_keys(self)
        now = (self._row, width, self._reviews, self._findings, keys)
        if self._drawn == now:
            return
        self._drawn = now
        lines: list[list[Cell]] = []
        if self._row is not None:
            lines += [*head(self._row, width, keys, self._findings), []]
            lines += review_view.mark_lines(self._reviews)
            height = self.app.size.height // 6 - 1
            lines += card(self._row, width, height, self._findings, keys.get("grade", ""))
        self.query_one(Labelled).show(lines)


class MedalDetail(Dialog[None]):
    """The details of one submission."""

    NAME: ClassVar[str] = "Medal card"
    ABOUT: ClassVar[str] = (
        "Where the submission stands on the leaderboard, and what the next medal needs."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("medal-card")
    DEFAULT_CSS = """
    MedalDetail > .dialog--box { width: 96%; max-width: 100%; max-height: 96%; }
    MedalDetail.-narrow > .dialog--box { width: 100%; max-height: 100%; }
    MedalDetail MedalCard { height: auto; max-height: 100%; padding: 0; }
    MedalDetail.-narrow MedalCard { height: 1fr; }
    """

    def __init__(
        self,
        row: MedalRow,
        reviews: Opinions | None = None,
        findings: Validation | None = None,
        mend: Mender | None = None,
    ) -> None:
        """With `mend`, the screen below edits the file and grades it again."""
        super().__init__()
        self._row = row
        self._reviews = reviews
        self._findings = findings
        self._mend = mend

    def compose_body(self) -> Iterable[Widget]:
        """The card."""
        card = MedalCard(self._row, self._reviews, self._findings)
        card.can_focus = True  # to be scrolled by keys
        yield card

    def on_mount(self) -> None:
        """Focus the card."""
        self.query_one(MedalCard).focus()

    def copies(self) -> Sequence[Copied]:
        """The submission, numbers unrounded."""
        marks = {id(self._row): self._reviews or {}}
        return (
            Copied(
                "this submission, separated by tabs",
                lambda: medals_view.rows_tabbed([self._row], marks),
            ),
        )

    def caption(self) -> str:
        """What came out of the submission."""
        return row_answer(self._row).what

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer findings only for an invalid file, and error views only for a scored one."""
        if action == "explain":
            return self._row.report is not None and self._row.report.valid_submission
        if action in ("again", "edit"):
            return self._mend is not None and mendable(self._row, action)
        return action != "validate" or has_findings(self._row)

    def action_explain(self) -> None:
        """Show why the score is what it is."""
        explain(self.bioeval, self._row)

    def action_validate(self) -> None:
        """List everything that is wrong with the file."""
        examine(self.bioeval, self._row)

    def action_again(self) -> None:
        """Close the card and grade the file again."""
        if self._mend is not None:
            self.dismiss()
            self._mend.grade_again()

    def action_edit(self) -> None:
        """Edit the file, and close the card, which shows it as it was."""
        if self._mend is not None:
            self.dismiss()
            self._mend.edit_file()


_LINE = re.compile(r"\bline (\d+)")


def first_line(findings: Sequence[str]) -> int:
    """Return the first line of the file that findings name; 0 if they name none."""
    return min(map(int, _LINE.findall("\n".join(findings))), default=0)


class Mender(Protocol):
    """Edits the file of the selected submission, and grades it again."""

    def edit_file(self) -> None:
        """Open the file in the user's editor."""

    def grade_again(self) -> None:
        """Grade the file again."""


def has_findings(row: MedalRow) -> bool:
    """Return whether there is a file with something wrong: a run that left none is invalid, too."""
    return bool(row.file) and standing_of(row.report) == "invalid"


def mendable(row: MedalRow, action: str) -> bool:
    """Return whether a row's file can be graded again, or with the action `edit` be edited as
    text.
    """
    return row.path is not None and (action != "edit" or row.path.suffix.lower() != ".h5ad")
