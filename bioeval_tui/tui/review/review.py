"""Review: judged tasks and graded submissions one by one, beside the transcript with the judge's evidence marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.errors import BioevalError
from bioeval_tui.record.state import ConversationState
from bioeval_tui.tui.live.transcript import Transcript
from bioeval_tui.tui.medals.medal_card_widget import MedalCard
from bioeval_tui.tui.review import review_view
from bioeval_tui.tui.review.review_items import ItemId, ReviewItem, ReviewSource
from bioeval_tui.tui.review.review_keys import REVIEW_KEYS, QueueRows, ReviewKeys
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.labelled_widget import Labelled
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import left, paint, right

OTHERS_S = 2.0
"""How often other people's reviews are looked for."""
WHERE, OUTCOME = 10, 13


class ReviewTranscript(Transcript):
    """A transcript that leaves `f` to the screen: nothing streams in here."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide following."""
        return action != "follow" and super().check_action(action, parameters)


class ReviewScreen(ReviewKeys):
    """Queue, transcript, and what the judge and people say."""

    NAME = "Review"
    ABOUT = (
        "Judged tasks and graded submissions, to be accepted or judged otherwise. Reviews are kept beside the "
        "recording with who, when and why; nothing recorded changes. The latest of each reviewer counts; where "
        "reviewers differ (≠), the score is the mean of theirs. Blind keeps the judge's word back until you gave yours."
    )
    BINDINGS = REVIEW_KEYS
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ReviewScreen {
        & #notice { height: 1fr; content-align: center middle; text-align: center; padding: 0 2; }
        & #trouble { height: auto; max-height: 3; padding: 0 2; color: $text-warning; background: $warning-muted; display: none; }
        & #review { height: 1fr; display: none; layout: horizontal; }
        &.-filled #review { display: block; }
        &.-filled #notice { display: none; }
        & #queue { width: 60; border-right: solid $line; padding: 0 1; }
        & #queue RowList { height: 1fr; }
        & #look { width: 1fr; }
        & ReviewTranscript { height: 1fr; }
        & MedalCard { height: 1fr; display: none; padding: 0 2; scrollbar-gutter: stable; }
        &.-submission MedalCard { display: block; }
        &.-submission ReviewTranscript { display: none; }
        & #said { height: 14; border-top: solid $line; padding: 0 2; }
        &.-narrow #review { layout: vertical; }
        &.-narrow #queue { width: 100%; height: 5; border-right: none; border-bottom: solid $line; }
        &.-narrow #said { height: 8; padding: 0 1; }
        &.-narrow.-submission #said { height: 6; }
    }
    """

    def __init__(self, source: ReviewSource, *, blind: bool = False) -> None:
        super().__init__()
        self._source = source
        self.blind = blind
        self.rows = QueueRows()
        self._loaded = False
        self._failure = ""
        self._shown: ItemId | None = None
        self._marked: list[tuple[int, str]] = []
        self._talk: ConversationState | None = None

    def compose_body(self) -> Iterable[Widget]:
        """Trouble, queue, transcript or card, and what is said of it."""
        yield Static(id="trouble", markup=False)
        yield Static(id="notice", markup=False)
        with Container(id="review"):
            with Vertical(id="queue"):
                yield self.rows
            with Vertical(id="look"):
                yield ReviewTranscript()
                card = MedalCard()
                card.can_focus = True  # to be scrolled by keys
                yield card
                with VerticalScroll(id="said", can_focus=False):
                    yield Labelled()

    def on_mount(self) -> None:
        """Load, and look for other people's reviews now and then."""
        self.blind = self.blind or self.bioeval.services.preferences.get("review.blind") is True
        self.rows.show_blurred_cursor()
        self._show_words()
        self.refresh_items()
        self.refresh_every(OTHERS_S)

    async def load_items(self) -> None:
        """Read the queue again; the cursor stays on its item."""
        try:
            items = await self.bioeval.services.review_queue(self._source)
        except (BioevalError, OSError) as error:
            self._failure = str(error) or type(error).__name__
        else:
            if self._failure or not self._loaded or list(items) != self.items:
                self._failure = ""
                self.take(items)
        self._loaded = True
        self._show_words()

    def take(self, items: Sequence[ReviewItem]) -> None:
        """Show these items."""
        self.items = list(items)
        self.redraw()

    # Drawing

    def redraw(self) -> None:
        """Bring everything into step with the items; the cursor stays on its item, or goes to the one wished for."""
        at = self.wished or (self.looked_at.id if self.looked_at else None)
        self.shown = [item for item in self.items if not self.only_to_do or review_view.to_do(item, self.me)]
        if self.only_to_do and at is not None and at not in {item.id for item in self.shown}:
            # What was just reviewed stays until the reader goes on.
            stays = next((item for item in self.items if item.id == at), None)
            self.shown = [item for item in self.items if item in self.shown or item is stays]
        self.set_class(bool(self.items), "-filled")
        self.rows.set_rows(len(self.shown), self._row)
        place = next((n for n, item in enumerate(self.shown) if item.id == at), None)
        if place is not None and place != self.rows.cursor:
            self.rows.move_to(place)
        self.wished = None
        self.look()
        self._show_words()
        if self.items and self.focused is None and self.is_current:
            self.rows.focus()

    def _row(self, index: int, width: int) -> Content:
        item = self.shown[index]
        many = len({other.subject for other in self.items if other.row is None}) > 1
        number = f"{item.id.task} " if item.id.task else ""
        title = (
            f"{item.subject} · {number}{item.title}" if many and item.row is None else f"{number}{item.title}"
        )
        return Content.assemble(
            left(review_view.sign(item, self.me), 2),
            left(Cell(review_view.where(item), "quiet"), WHERE),
            " ",
            left(Cell(title), width - WHERE - OUTCOME - 4),
            " ",
            right(review_view.outcome(item, self.blind, self.me), OUTCOME),
        )

    def look(self) -> None:
        """Show the item under the cursor."""
        item = self.looked_at
        self.set_class(item is not None and item.row is not None, "-submission")
        if item is not None and item.row is not None:
            self.query_one(MedalCard).show(item.row)
        self._show_transcript(item)
        lines = [] if item is None else [review_view.heading(item), *self.lines_of(item)]
        if item is not None and not review_view.hidden(item, self.blind, self.me):
            self.seen.add(item.id)
        self.query_one(Labelled).show([review_view.labelled(line) for line in lines], review_view.LABEL)
        if item is None or item.id != self._shown:
            self.query_one("#said").scroll_home(animate=False)
        self._shown = item.id if item else None
        self.refresh_bindings()

    def _show_transcript(self, item: ReviewItem | None) -> None:
        """Bind the transcript and mark the evidence, when either is another than before."""
        transcript = self.query_one(ReviewTranscript)
        talk = item.talk if item else None
        if talk is not self._talk or talk is None:
            self._talk = talk
            transcript.show(talk)
        quotes = review_view.quotes(item, self.blind, self.me) if item else []
        if item is None or item.id != self._shown or quotes != self._marked:
            self._marked = quotes
            self.at_quote = 0
            self.call_after_refresh(self._point_out, quotes, item is None or item.id != self._shown)

    def _point_out(self, quotes: Sequence[tuple[int, str]], fresh: bool) -> None:
        transcript = self.query_one(ReviewTranscript)
        transcript.mark_evidence(quotes)
        if fresh and not quotes:
            transcript.scroll_home(animate=False)  # a conversation is read from its beginning

    def _show_words(self) -> None:
        item = self.looked_at
        path = (self.NAME, item.subject) if item else (self.NAME,)
        notes = [Cell(review_view.progress(self.items, self.me), "quiet")] if self.items else []
        if self.blind:
            notes.append(Cell("blind", "warn"))
        if self.only_to_do:
            notes.append(Cell(f"{len(self.shown)} to do", "warn"))
        self.title_bar.say(path, notes, Cell(f"as {self.me}", "quiet"))
        trouble = self.query_one("#trouble", Static)
        trouble.display = bool(self._failure and self.items)
        trouble.update(Content(f"! {self._failure}"))
        self.query_one("#notice", Static).update(Content("\n").join([paint(c) for c in self._notice()]))

    def _notice(self) -> list[Cell]:
        if self._failure:
            return [Cell("! This could not be read", "strong"), Cell(""), Cell(self._failure, "bad")]
        if not self._loaded:
            return [Cell("Reading…", "strong")]
        return [
            Cell("There is nothing to review here", "strong"),
            Cell(""),
            Cell("Tasks of conversations that have ended, and graded submissions, can be reviewed.", "quiet"),
        ]

    @on(RowList.Highlighted)
    def _moved(self, event: RowList.Highlighted) -> None:
        if event.rows is self.rows:
            self.look()
            self._show_words()
