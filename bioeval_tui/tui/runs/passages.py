"""The passages of two runs that a row of their comparison is about, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.report.result import RunResult
from bioeval_tui.report.rows import first_difference
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import score_card_view
from bioeval_tui.tui.live.conversations_widget import LiveTranscript
from bioeval_tui.tui.shared.base import switch_focus
from bioeval_tui.tui.shared.cells import Cell, paint
from bioeval_tui.tui.shared.dialogs import Dialog

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition


class Passage(Vertical):
    """One run: the row's details, and its conversation at the relevant place."""

    DEFAULT_CSS = """
    Passage {
        width: 1fr; height: 1fr; border: round $line; border-title-color: $foreground;
        &:focus-within { border: round $primary; }
        & > Static { height: auto; max-height: 50%; padding: 0 1; border-bottom: solid $line; }
        & > Transcript { height: 1fr; }
    }
    """

    def __init__(self, name: str, run: RunResult) -> None:
        super().__init__()
        self._called, self.result = name, run
        self.transcript = LiveTranscript()

    def compose(self) -> Iterable[Widget]:
        """Words above the conversation."""
        yield Static(markup=False)
        yield self.transcript

    def show(self, condition: Condition, trial: int, title: str, parting: int | None) -> None:
        """Show a row's details on a conversation, and go to its message; without one, to `parting`,
        where the runs differ.
        """
        where = f"{self.result.trial_words(trial)} · {self.result.condition_title(condition)}"
        self.border_title = Content(f"{self._called} · {self.result.brief.agent_words} · {where}")
        row, talk = _row(self.result, trial, title), self.result.conversation(condition, trial)
        if row is not None:
            value, said = (
                row.cells.get(condition, Cell("–", "quiet")),
                row.details.get(condition, []),
            )
            evidence = row.evidence.get(condition)
        else:
            value, said, evidence = Cell(score_card_view.score_words(talk)), [], None
            if talk is not None and talk.why_lost:
                said = [Cell(loss.reason) for loss in talk.why_lost]
                worst = talk.why_lost[0]
                if at := talk.answer_in(worst.turn):
                    evidence = score_card_view.CardEvidence(condition, at, worst.quoted)
        lines = [paint(value, "  ", *said[:1]), *(paint(cell) for cell in said[1:4])]
        self.query_one(Static).update(Content("\n").join(lines))
        self.transcript.show(self.result.state.conversation(condition, trial))
        self.transcript.mark_parting(parting)
        if evidence is not None:
            self.call_after_refresh(self.transcript.show_message, evidence.message, evidence.quote)
        elif parting is not None:
            self.call_after_refresh(self.transcript.show_message, parting)


def _row(result: RunResult, trial: int, title: str) -> score_card_view.Row | None:
    of = result.trial(trial)
    rows = [*score_card_view.rows(result, of), *score_card_view.more_rows(result, of)]
    return next((row for row in rows if row.label.text == title), None)


class PassagesDialog(Dialog[None]):
    """Both conversations, each scrolled to the passage that a row of the comparison is about."""

    NAME: ClassVar[str] = "Passages"
    ABOUT: ClassVar[str] = (
        "What both runs did where they differ: the judge's reason and the passage it quotes, the"
        " turn in which an assertion reached its final status, the slowest answer."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("passages")
    DEFAULT_CSS = """
    PassagesDialog > .dialog--box {
        width: 100%; max-width: 100%; height: 100%; max-height: 100%; padding: 0 1;
    }
    PassagesDialog #passages { height: 1fr; }
    PassagesDialog.-narrow #passages { layout: vertical; }
    """

    def __init__(
        self,
        runs: tuple[RunResult, RunResult],
        condition: Condition,
        title: str,
        trials: Sequence[tuple[int, int]] = ((1, 1),),
    ) -> None:
        """`trials` are those that are compared, each as both runs number it."""
        super().__init__(f"{runs[0].brief.job}: {title}")
        self._condition = condition
        self._title = title
        self._passages = [Passage(name, run) for name, run in zip("AB", runs, strict=True)]
        self._trials = sorted(trials)

        def cells(both: tuple[int, int]) -> list[Cell | None]:
            sides = zip(self._passages, both, strict=True)
            rows = [_row(passage.result, trial, title) for passage, trial in sides]
            return [row.cells.get(condition) if row else None for row in rows]

        differing = (at for at, both in enumerate(self._trials) if len(set(cells(both))) > 1)
        self._at = next(differing, 0)

    def compose_body(self) -> Iterable[Widget]:
        """A beside B, or above where there is no room."""
        with Horizontal(id="passages"):
            yield from self._passages

    def on_mount(self) -> None:
        """Show the first trial in which they differ."""
        self._passages[0].transcript.focus()
        self._show()

    def _show(self) -> None:
        sides = list(zip(self._passages, self._trials[self._at], strict=True))
        one, other = (
            passage.result.state.conversation(self._condition, trial) for passage, trial in sides
        )
        parting = first_difference(one, other, answers=True)
        for passage, trial in sides:
            passage.show(self._condition, trial, self._title, parting)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A single trial has no other run to switch to."""
        return action != "other_trial" or len(self._trials) > 1

    def action_other_trial(self, by: int) -> None:
        """Switch to another trial that both runs have."""
        self._at = max(0, min(len(self._trials) - 1, self._at + by))
        self._show()

    def action_other(self) -> None:
        """Go to the other run."""
        first, second = (passage.transcript for passage in self._passages)
        switch_focus(second, first)
