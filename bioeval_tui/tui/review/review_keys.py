"""The review screen's keys: what each does, and when it applies."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from bioeval_tui.errors import BioevalError
from bioeval_tui.tui.live.transcript import Transcript
from bioeval_tui.tui.medals.medal_card_widget import MedalCard
from bioeval_tui.tui.review import review_view
from bioeval_tui.tui.review.review_items import Given, ItemId, ReviewItem
from bioeval_tui.tui.shared.base import RefreshedScreen
from bioeval_tui.tui.shared.rows_widget import RowList

REVIEW_KEYS: list[BindingType] = [
    Binding("a", "accept", "accept", tooltip="The judge's score, or the grading, is right"),
    Binding("o", "override", "override", tooltip="Give another score, and say why"),
    Binding("o", "score", "score", tooltip="Give your score, and say why; then the judge's is shown"),
    Binding("o", "mark", "mark", tooltip="Mark the submission as valid, invalid or suspicious, and say why"),
    Binding("f", "fault", "fault", tooltip="Say whose fault the conversation's failure is, and why"),
    Binding("n", "note", "note", tooltip="Add a note; it changes no score"),
    Binding("u", "undo", "undo", tooltip="Take back what you gave last; both stay on record"),
    Binding("b", "blind(True)", "blind", tooltip="Keep the judge's word back until you have given yours"),
    Binding("b", "seeing", "show judge", tooltip="Show the judge's word at once"),
    Binding("t", "to_do", "to do only", tooltip="Show only what you have not reviewed"),
    Binding("t", "everything", "all", tooltip="Show what you have reviewed, too"),
    Binding("tab", "pane", "read", tooltip="Between the queue and the transcript, or the card"),
    Binding("y", "copy", "copy", show=False, tooltip="Copy what is selected, else what is said of this item"),
    Binding("escape", "back", "back", tooltip="From the transcript to the queue, then back"),
]


class QueueRows(RowList):
    """The queue; enter goes from one quotation of the judge's to the next."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "evidence", tooltip="Go to the next passage that the judge quotes")
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only where there is something quoted."""
        screen = self.screen
        if action != "choose":
            return super().check_action(action, parameters)
        return isinstance(screen, ReviewKeys) and bool(screen.quotes)


class ReviewKeys(RefreshedScreen):
    """Actions of the review screen; `ReviewScreen` adds what is seen."""

    rows: QueueRows

    def __init__(self) -> None:
        super().__init__()
        self.items: list[ReviewItem] = []
        self.shown: list[ReviewItem] = []
        self.blind = False
        self.seen: set[ItemId] = set()
        """Where the judge's word was shown: a score given after that is not blind, whatever is hidden by then."""
        self.only_to_do = False
        self.wished: ItemId | None = None
        self.at_quote = 0
        self._given: list[tuple[ItemId, str]] = []
        """What was given in this session and not taken back, newest last."""

    @property
    def me(self) -> str:
        """The reviewer."""
        return self.bioeval.services.reviewer

    @property
    def looked_at(self) -> ReviewItem | None:
        """The item under the cursor, at this very moment."""
        at = self.rows.cursor
        return self.shown[at] if at < len(self.shown) else None

    @property
    def quotes(self) -> list[tuple[int, str]]:
        """The judge's quotations that are marked."""
        return review_view.quotes(self.looked_at, self.blind, self.me) if self.looked_at else []

    def lines_of(self, item: ReviewItem) -> list[review_view.Line]:
        """Return what may be shown of an item now."""
        return review_view.lines(item, self.blind, self.me, seen=item.id in self.seen)

    def redraw(self) -> None:
        """Draw everything."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide what does not apply to the item looked at."""
        item = self.looked_at
        match action:
            case "blind" | "seeing":
                judged = any(item.judged is not None for item in self.items)
                return judged and self.blind == (action == "seeing")
            case "to_do" | "everything":
                return bool(self.items) and self.only_to_do == (action == "everything")
            case "accept" | "override" | "score" | "mark" | "fault" | "note" | "pane" | "copy":
                return item is not None and self._applies(action, item)
            case "undo":
                return bool(self._given) or self._own_last() is not None
        return True

    def _applies(self, action: str, item: ReviewItem) -> bool:
        kept_back = review_view.hidden(item, self.blind, self.me)
        judged = item.judged is not None and item.judged.score is not None
        match action:
            case "accept":
                return item.row is not None or (judged and not kept_back)
            case "override":
                return item.row is None and judged and not kept_back
            case "score":
                return item.row is None and (kept_back or not judged)
            case "mark":
                return item.row is not None
            case "fault":
                return item.id.key is not None
        return True

    def _own_last(self) -> str | None:
        """Return the id of my newest entry on the item looked at."""
        item = self.looked_at
        if item is None:
            return None
        own = [item.opinions.get(self.me), item.faults.get(self.me)]
        own += [note for note in item.notes if note.author == self.me]
        known = [entry for entry in own if entry is not None]
        return max(known, key=lambda entry: entry.seq).review if known else None

    # What a reviewer gives

    def action_accept(self) -> None:
        """Say that the judge, or the grading, is right."""
        item = self.looked_at
        if item is None:
            return
        score = item.judged.score if item.judged else None
        mark = item.graded if item.row is not None else None
        self._give(item, Given("accept", score=score, mark=mark))

    def action_override(self) -> None:
        """Ask for another score and the reason."""
        self._ask("override")

    def action_score(self) -> None:
        """Ask for a score before the judge's is shown."""
        self._ask("override")

    def action_mark(self) -> None:
        """Ask for a mark of the submission and the reason."""
        item = self.looked_at
        self._ask("mark", "valid" if item is not None and item.graded == "invalid" else "invalid")

    def action_fault(self) -> None:
        """Ask whose fault it is."""
        self._ask("fault", self.looked_at.fault if self.looked_at else "none")

    def action_note(self) -> None:
        """Ask for a note."""
        self._ask("note")

    def _ask(self, kind: review_view.Kind, choice: str = "") -> None:
        item = self.looked_at
        if item is None:
            return
        from bioeval_tui.tui.review.review_dialog import ReviewDialog

        about = item.title if kind != "fault" else f"facts {review_view.where(item)}"
        self.app.push_screen(ReviewDialog(kind, about, choice), partial(self._asked, item))

    def _asked(self, item: ReviewItem, form: review_view.Form | None) -> None:
        if form is not None:
            blind = form.kind == "override" and review_view.hidden(item, self.blind, self.me)
            blind = blind and item.id not in self.seen
            self._give(item, review_view.given(form, blind))

    def _give(self, item: ReviewItem, given: Given) -> None:
        self.run_worker(self._keep(item, given), group="review", exit_on_error=False)

    async def _keep(self, item: ReviewItem, given: Given) -> None:
        try:
            entry = await self.bioeval.services.give_review(item, given)
        except (BioevalError, OSError) as error:
            self.tell(f"The review was not kept: {error}", bad=True)
            return
        self._given.append((item.id, entry))
        if given.action in ("accept", "override") and not given.blind:
            # On to the next one; after a blind score the judge's is shown instead.
            at = next((n for n, other in enumerate(self.shown) if other.id == item.id), -1)
            following = review_view.next_to_do([i for i in self.shown if i.id != item.id], at - 1, self.me)
            if following is not None:
                self.wished = [i for i in self.shown if i.id != item.id][following].id
        await self.load_items()
        if all(not review_view.to_do(other, self.me) for other in self.items):
            self.tell(f"Everything here is reviewed. {self.key('undo')} takes the last one back.")

    def action_undo(self) -> None:
        """Take back my newest entry of this session, else the newest of the item looked at."""
        item, entry = self.looked_at, self._own_last()
        if self._given:
            identity, entry = self._given[-1]
            item = next((known for known in self.items if known.id == identity), None)
        if item is not None and entry is not None:
            self.run_worker(self._undo(item, entry), group="review", exit_on_error=False)

    async def _undo(self, item: ReviewItem, entry: str) -> None:
        try:
            await self.bioeval.services.undo_review(item, entry)
        except (BioevalError, OSError) as error:
            self.tell(f"Nothing was taken back: {error}", bad=True)
            return
        self._given = [kept for kept in self._given if kept[1] != entry]
        self.wished = item.id
        await self.load_items()
        self.tell(f"Taken back: {review_view.where(item)}, {item.title}")

    # Looking

    def action_blind(self, on_: bool = True) -> None:
        """Keep the judge's word back."""
        self.blind = on_
        self.bioeval.services.keep("review.blind", on_)
        self.redraw()

    def action_seeing(self) -> None:
        """Show the judge's word."""
        self.action_blind(False)

    def action_to_do(self) -> None:
        """Show only what I have not reviewed."""
        self.only_to_do = True
        self.redraw()

    def action_everything(self) -> None:
        """Show all."""
        self.only_to_do = False
        self.redraw()

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        """Go to the next quotation."""
        quotes = self.quotes
        if quotes:
            self.query_one(Transcript).mark_evidence([*quotes[self.at_quote :], *quotes[: self.at_quote]])
            self.at_quote = (self.at_quote + 1) % len(quotes)

    def action_pane(self) -> None:
        """Go to the transcript (or the card), or back to the queue."""
        item = self.looked_at
        beside = self.query_one(Transcript if item is None or item.row is None else MedalCard)
        (self.rows if beside.has_focus else beside).focus()

    def action_copy(self) -> None:
        """Copy what is selected, else what is said of the item."""
        selected = self.get_selected_text()
        item = self.looked_at
        if selected:
            self.bioeval.copy_text(selected, "what is selected")
        elif item is not None:
            lines = [review_view.heading(item), *self.lines_of(item)]
            self.bioeval.copy_text("\n".join("".join(c.text for c in line) for line in lines), "this item")

    def action_back(self) -> None:
        """From what stands beside the queue to the queue; from there back to where the review was opened."""
        if not self.rows.has_focus:
            self.rows.focus()
        else:
            self.app.pop_screen()
