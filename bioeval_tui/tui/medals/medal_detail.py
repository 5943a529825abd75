"""The medal card as a dialog, which has more room than below the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from bioeval_tui.report.conclusion import conclude_grading
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.error_view import explain
from bioeval_tui.tui.medals.findings import examine
from bioeval_tui.tui.medals.medal_card_widget import MedalCard
from bioeval_tui.tui.shared.copying import Copied
from bioeval_tui.tui.shared.dialog import Dialog

if TYPE_CHECKING:
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.tui.items import MedalRow


class MedalDetail(Dialog[None]):
    """The details of one submission."""

    NAME: ClassVar[str] = "Medal card"
    ABOUT: ClassVar[str] = "Where the submission stands on the leaderboard, and what the next medal needs."
    BINDINGS: ClassVar[list[BindingType]] = bindings("medal-card")
    DEFAULT_CSS = """
    MedalDetail > .dialog--box { width: 96%; max-width: 100%; max-height: 96%; }
    MedalDetail.-narrow > .dialog--box { width: 100%; max-height: 100%; }
    MedalDetail MedalCard { height: auto; max-height: 100%; padding: 0; }
    MedalDetail.-narrow MedalCard { height: 1fr; }
    """

    def __init__(self, row: MedalRow, reviews: Opinions | None = None) -> None:
        super().__init__()
        self._row = row
        self._reviews = reviews

    def compose_body(self) -> Iterable[Widget]:
        """The card."""
        card = MedalCard(self._row, self._reviews)
        card.can_focus = True  # to be scrolled by keys
        yield card

    def on_mount(self) -> None:
        """Focus the card."""
        self.query_one(MedalCard).focus()

    def copies(self) -> Sequence[Copied]:
        """The submission, numbers unrounded."""
        return (medals_view.copied(self._row),)

    def caption(self) -> str:
        """The conclusion on the submission."""
        return conclude_grading(self._row.report).sentence if self._row.report else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer findings only for an invalid file, and error views only for a scored one."""
        if action == "explain":
            return self._row.report is not None and self._row.report.valid_submission
        return action != "validate" or medals_view.standing(self._row) == "invalid"

    def action_explain(self) -> None:
        """Show why the score is what it is."""
        explain(self.bioeval, self._row)

    def action_validate(self) -> None:
        """List everything that is wrong with the file."""
        examine(self.bioeval, self._row)
