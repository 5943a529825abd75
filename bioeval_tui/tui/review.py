"""The review screen: judged tasks and graded submissions beside the transcript, with the judge's
evidence marked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on, work
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import upper_first
from bioeval_tui.base.widths import told_apart
from bioeval_tui.record.masking import NO_REVIEWS, masking
from bioeval_tui.record.state import ConversationState
from bioeval_tui.tui import review_view
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live.transcript import Transcript
from bioeval_tui.tui.medals.medal_card import MedalCard
from bioeval_tui.tui.review_items import ItemId, NewReview, ReviewItem, ReviewSource
from bioeval_tui.tui.review_view import ReviewDialog
from bioeval_tui.tui.shared.base import RefreshedScreen, switch_focus, unreadable
from bioeval_tui.tui.shared.cells import Cell, Line, brief_head, left, right, who_and_what, wrapped
from bioeval_tui.tui.shared.output import Copied
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.tui.data.reviews import ReviewDesk

REVIEWING = ("accept", "give", "override", "score", "mark", "fault", "note", "undo")
"""The actions that record a review."""
OTHERS_S = 2.0
"""Interval of checks for other people's reviews."""
LEAST_WHERE = 10
"""How many cells the first column may have in any case; where there is room, two fifths of the
list.
"""


@dataclass(eq=False, slots=True)
class _Change:
    """A review, or the undoing of one, that is to be saved or was saved in this session."""

    item: ReviewItem
    author: str
    given: NewReview | None = None
    undone: _Change | None = None
    """What this undoes; then nothing is given."""
    entry: str = ""
    """The id of the saved entry; empty before."""
    failure: str = ""

    @property
    def decides(self) -> bool:
        """Whether the item is reviewed or to do again after it: not after a note or a fault."""
        given = self.undone.given if self.undone is not None else self.given
        return given is None or given.action in ("accept", "override")


class _Changes:
    """What is to be saved, in the order in which it was given."""

    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk
        self._waiting: deque[_Change] = deque()
        self._one_at_a_time = Lock()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def append(self, change: _Change) -> None:
        """Let a change be saved after the others."""
        self._waiting.append(change)

    def save(self) -> list[_Change]:
        """Save all, also what comes meanwhile; return what was saved or could not be.

        Called in a thread, which goes on if the screen is closed: no review is lost by it.
        """
        done: list[_Change] = []
        with self._one_at_a_time:
            while self._waiting:
                change = self._waiting.popleft()
                try:
                    self._save(change)
                except (BioevalError, OSError) as error:
                    change.failure = str(error) or type(error).__name__
                done.append(change)
        return done

    def _save(self, change: _Change) -> None:
        if change.given is not None:
            change.entry = self._desk.give(change.item, change.given, change.author)
        elif change.undone is not None and change.undone.entry:
            # Without an entry it was not saved, which the user was told.
            self._desk.undo(change.item, change.undone.entry, change.author)


class ReviewTranscript(Transcript):
    """A transcript without following: nothing streams in here."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide following."""
        return action != "follow" and super().check_action(action, parameters)


class QueueRows(RowList):
    """The queue; enter goes from one quotation of the judge's to the next."""

    def on_resize(self) -> None:
        """Wrap the titles for the new width; the list has none before it is laid out."""
        if isinstance(self.screen, ReviewScreen):
            self.screen.set_rows()


class ReviewScreen(RefreshedScreen):
    """Queue, transcript, and the scores of the judge and reviewers."""

    NAME = "Review"
    ABOUT = (
        "Accept or override judged tasks and graded submissions. Reviews are saved beside the"
        " recording with the reviewer, time and reason; the recording itself does not change. Each"
        " reviewer's latest review counts; where reviewers differ (≠), the score is their mean."
        " Blind hides the judge's score until you have given yours."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("review")
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ReviewScreen {
        & #review { height: 1fr; display: none; layout: horizontal; }
        &.-filled #review { display: block; }
        & #brief { max-height: 5; padding: 0 2; display: none; }
        &.-narrow #brief { max-height: 3; padding: 0 1; }
        &.-short #brief { max-height: 1; }
        & #queue { width: 60; border-right: solid $line; padding: 0 1; }
        & #queue RowList { height: 1fr; }
        & #heads { height: 1; }
        &.-short #heads { display: none; }
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

    def __init__(self, source: ReviewSource, *, blind: bool) -> None:
        super().__init__()
        self._source = source
        self.blind = blind
        self.items: list[ReviewItem] = []
        self.shown: list[ReviewItem] = []
        self._prefixes: dict[str, str] = {}
        """What tells the items of several runs apart, by run."""
        self.seen: set[ItemId] = set()
        """Items whose judge's score was shown: a score given after that is not blind, even if it is
        hidden again.
        """
        self.only_to_do = False
        self.wished: ItemId | None = None
        self.at_quote = 0
        self._given: list[_Change] = []
        """The reviews of this session that were not undone, newest last."""
        self._changes = _Changes(self.bioeval.services.review_desk)
        self._unread: list[_Change] = []
        """Changes that the items do not show yet: saved or not, nothing waits for them."""
        self._saving = False
        self._ended_at: ItemId | None = None
        """The item whose review was the last one to give: a key that comes after it is not meant
        for it.
        """
        self.rows = QueueRows("~queue-rows", lambda: bool(self.quotes))
        self._agents: dict[str, str] = {}
        """How the agents of submissions are shown."""
        self._where = self._outcome = 0
        """The widths of the first and of the last column, in cells."""
        self._loaded = False
        self._failure = ""
        self._shown: ItemId | None = None
        self._marked: list[tuple[int, str]] = []
        self._conversation: ConversationState | None = None

    @property
    def me(self) -> str:
        """The reviewer."""
        return self.bioeval.services.reviewer

    @property
    def looked_at(self) -> ReviewItem | None:
        """The item under the cursor now."""
        at = self.rows.cursor
        if at < len(self.shown):
            return self.shown[at]
        return None

    @property
    def quotes(self) -> list[tuple[int, str]]:
        """The judge's quotations that are marked."""
        if self.looked_at:
            return review_view.quotes(self.looked_at, self.blind, self.me)
        return []

    def item_lines(self, item: ReviewItem) -> list[Line]:
        """Return the lines of an item that may be shown now."""
        return review_view.lines(item, self.blind, self.me, seen=item.id in self.seen)

    def compose_body(self) -> Iterable[Widget]:
        """Problems, queue, transcript or card, and its reviews."""
        yield Static(id="trouble", markup=False)
        yield Static(id="notice", markup=False)
        yield Labelled(id="brief")
        with Container(id="review"):
            with Vertical(id="queue"):
                yield Static(id="heads", markup=False)
                yield self.rows
            with Vertical(id="look"):
                yield ReviewTranscript()
                card = MedalCard()
                card.can_focus = True  # to be scrolled by keys
                yield card
                with VerticalScroll(id="said", can_focus=False):
                    yield Labelled()

    def on_mount(self) -> None:
        """Load the queue, and check for other people's reviews regularly."""
        self.blind = self.blind or self.bioeval.services.preferences.get("review.blind") is True
        self.rows.show_blurred_cursor()
        self._show_words()
        self.refresh_items()
        self.refresh_every(OTHERS_S)
        if masking():
            self.tell(upper_first(f"{NO_REVIEWS}."))

    async def load_items(self) -> None:
        """Read the queue again; the cursor stays on its item."""
        services = self.bioeval.services
        try:
            items = await services.in_thread(lambda: services.review_desk.queue(self._source))
        except (BioevalError, OSError) as error:
            self._failure = str(error) or type(error).__name__
        else:
            if not self._loaded and self.wished is None:
                first = review_view.next_to_do(items, -1, self.me)
                # Not on one that is scored: the next key would change that score.
                self.wished = None if first is None else items[first].id
            if self._failure or not self._loaded or list(items) != self.items:
                self._failure = ""
                self.take(items)
        self._loaded = True
        self._show_words()

    def take(self, items: Sequence[ReviewItem]) -> None:
        """Show these items."""
        self.items = list(items)
        self._prefixes = review_view.prefixes(self.items)
        self.redraw()

    # Drawing

    def redraw(self) -> None:
        """Refresh everything from the items; the cursor stays on its item, or goes to the requested
        one.
        """
        at = self.wished
        if at is None and self.looked_at is not None:
            at = self.looked_at.id
        self.shown = [
            item
            for item in self.items
            if not self.only_to_do or review_view.is_to_do(item, self.me)
        ]
        if self.only_to_do and at is not None and at not in {item.id for item in self.shown}:
            # The item that was just reviewed stays until the user moves on.
            stays = next((item for item in self.items if item.id == at), None)
            self.shown = [item for item in self.items if item in self.shown or item is stays]
        self.set_class(bool(self.items), "-filled")
        outcomes = (review_view.outcome(item, self.blind, self.me).text for item in self.shown)
        self._outcome = max(map(cell_len, (*outcomes, review_view.heads(self.shown)[2])))
        self.set_rows()
        place = next((n for n, item in enumerate(self.shown) if item.id == at), None)
        if place is not None and place != self.rows.cursor:
            self.rows.move_to(place)
        self.wished = None
        self.look()
        self._show_words()
        if self.items and self.focused is None and self.is_current:
            self.rows.focus()

    def set_rows(self) -> None:
        """Give each row as many lines as its title needs, and the columns their heads."""
        width = self.rows.scrollable_content_region.width
        longest = max((cell_len(review_view.where(item)) for item in self.shown), default=0)
        self._where = min(longest, max(LEAST_WHERE, width * 2 // 5))
        agents = [review_view.where(item) for item in self.shown if item.id.key is None]
        self._agents = told_apart(agents, self._where)
        lines: int | list[int] = 1
        heads = Content("")
        if width:
            lines = [len(self._title(item, width)) for item in self.shown]
            trial, task, score = (Cell(head, "quiet") for head in review_view.heads(self.shown))
            heads = self._columns(Cell(""), trial, task, score, width)
        self.rows.set_rows(len(self.shown), self._row, lines=lines)
        self.query_one("#heads", Static).update(heads)

    def _title(self, item: ReviewItem, width: int) -> list[str]:
        prefix = self._prefixes.get(item.id.place, "")
        title = f"{prefix}{review_view.task_number(item)}{item.title}"
        return wrapped(title, max(20, width - self._where - self._outcome - 4))

    def _row(self, index: int, width: int) -> Content:
        item = self.shown[index]
        title, *more = self._title(item, width)
        where = review_view.where(item, self._where)
        line = self._columns(
            review_view.sign(item, self.me),
            Cell(self._agents.get(where, where), "quiet"),
            Cell(title),
            review_view.outcome(item, self.blind, self.me),
            width,
        )
        return Content("\n").join(
            [line, *(Content(" " * (self._where + 3) + part) for part in more)]
        )

    def _columns(self, sign: Cell, where: Cell, title: Cell, outcome: Cell, width: int) -> Content:
        room = width - self._where - self._outcome - 4
        parts = (
            left(sign, 2),
            left(where, self._where),
            " ",
            left(title, room),
            " ",
            right(outcome, self._outcome),
        )
        return Content.assemble(*parts)

    def look(self) -> None:
        """Show the item under the cursor."""
        item = self.looked_at
        self.set_class(item is not None and item.row is not None, "-submission")
        if item is not None and item.row is not None:
            self.query_one(MedalCard).show(item.row)
        self._show_transcript(item)
        brief, at, lines = None, None, []
        if item is not None:
            brief, at = item.brief, item.id
            lines = [*review_view.heading(item, self.blind), *self.item_lines(item)]
        head = self.query_one("#brief", Labelled)
        head.display = brief is not None
        if brief is not None:
            head.show(brief_head(brief) if self.has_class("-tall") else who_and_what(brief))
        if item is not None and not review_view.is_hidden(item, self.blind, self.me):
            self.seen.add(item.id)
        self.query_one("#said Labelled", Labelled).show(lines)
        if at is None or at != self._shown:
            self.query_one("#said").scroll_home(animate=False)
        self._shown = at
        self.refresh_bindings()

    def _show_transcript(self, item: ReviewItem | None) -> None:
        """Bind the transcript and mark the evidence, when either is another than before."""
        transcript = self.query_one(ReviewTranscript)
        conversation, quotes = None, []
        if item is not None:
            conversation = item.conversation
            quotes = review_view.quotes(item, self.blind, self.me)
            hidden = review_view.is_hidden(item, self.blind, self.me)
            if transcript.shows_checks == hidden:
                transcript.set_choices(show_checks=not hidden)
        is_other = item is None or item.id != self._shown
        if conversation is not self._conversation or conversation is None:
            self._conversation = conversation
            transcript.show(conversation)
        if is_other or quotes != self._marked:
            self._marked = quotes
            self.at_quote = 0
            self.call_after_refresh(self._point_out, quotes, is_other)

    def _point_out(self, quotes: Sequence[tuple[int, str]], fresh: bool) -> None:
        transcript = self.query_one(ReviewTranscript)
        transcript.mark_evidence(quotes)
        if fresh and not quotes:
            transcript.scroll_home(animate=False)  # a conversation is read from its beginning

    def _show_words(self) -> None:
        item = self.looked_at
        path, notes, failure = [self.NAME], [], ""
        if item is not None and self.wide:
            path.append(item.subject)  # elsewhere, it would take the place of the progress
        if self.items:
            failure = self._failure
            notes.append(Cell(review_view.progress(self.items, self.me), "quiet"))
        if self.blind:
            notes.append(Cell("blind", "warn"))
        if self.only_to_do:
            notes.append(Cell(f"{len(self.shown)} to do", "warn"))
        as_whom = f"as {self.me}" if self.me else ""  # read-only: nobody reviews
        self.title_bar.say(path, notes, Cell(as_whom, "quiet"))
        self.show_trouble(failure)
        self.show_notice(self._notice())

    def _notice(self) -> list[Cell]:
        if self._failure:
            return unreadable(self._failure)
        if not self._loaded:
            return [Cell("Reading…", "strong")]
        return [
            Cell("Nothing to review", "strong"),
            Cell(""),
            Cell(
                "You can review the tasks of conversations that have ended, and graded"
                " submissions.",
                "quiet",
            ),
        ]

    @on(RowList.Highlighted)
    def _moved(self, event: RowList.Highlighted) -> None:
        if event.rows is self.rows:
            if self.looked_at is not None and self.looked_at.id != self._ended_at:
                self._ended_at = None
            self.look()
            self._show_words()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide actions that do not apply to the selected item."""
        item = self.looked_at
        if action in REVIEWING and masking():
            return False
        match action:
            case "blind" | "seeing":
                judged = any(item.judged is not None for item in self.items)
                return judged and self.blind == (action == "seeing")
            case "to_do" | "everything":
                return bool(self.items) and self.only_to_do == (action == "everything")
            case "accept" | "give" | "override" | "score" | "mark" | "fault" | "note" | "pane":
                if action == "give" and not self._loaded:
                    return self._source.drawn  # not a key of another screen
                return item is not None and self._applies(action, item)
            case "undo":
                return bool(self._given) or self._own_last() is not None
        return True

    def _applies(self, action: str, item: ReviewItem) -> bool:
        kept_back = review_view.is_hidden(item, self.blind, self.me)
        judged = item.judged is not None and item.judged.score is not None
        match action:
            case "accept":
                comes = any(change.item.id == item.id for change in self._unread)
                return item.row is not None or (judged and (comes or not kept_back))
            case "override":
                return item.row is None and judged and not kept_back
            case "score":
                return item.row is None and (kept_back or not judged)
            case "give":
                return bool(item.sample)  # elsewhere, digits go to the other screens
            case "mark":
                return item.row is not None
            case "fault":
                return item.id.key is not None
        return True

    def _own_last(self) -> str | None:
        """Return the id of my newest entry on the selected item."""
        item = self.looked_at
        if item is None:
            return None
        own = [item.opinions.get(self.me), item.faults.get(self.me)]
        own += [note for note in item.notes if note.author == self.me]
        undone = {change.undone.entry for change in self._unread if change.undone is not None}
        known = [entry for entry in own if entry is not None and entry.review not in undone]
        if known:
            return max(known, key=lambda entry: entry.seq).review
        return None

    # What a reviewer gives
    #
    # A key acts at once on what the keys before it left, and saving comes later: nothing that is
    # typed while a review is saved and the queue read again is lost or counts for another item.

    def action_accept(self) -> None:
        """Accept the judge's score or the grading."""
        item = self._taken()
        if item is None:
            return
        if review_view.is_hidden(item, self.blind, self.me):
            self.tell("Not taken: the judge's score was not on screen yet.", bad=True)
            return
        score = item.judged.score if item.judged else None
        mark = item.graded if item.row is not None else None
        self._give(item, NewReview("accept", score=score, mark=mark))

    def action_give(self, score: float) -> None:
        """Give a score with one key."""
        item = self._taken()
        if item is not None:
            self._score(item, review_view.ReviewForm("override", score=str(score)))

    def on_paste(self) -> None:
        """Say that a paste gives no scores."""
        self.tell("Not taken: what is pasted gives no scores. Type the keys.", bad=True)

    def _taken(self) -> ReviewItem | None:
        """Return the item that a key without a question is for; None, and say so, if it is not
        meant for any.
        """
        item = self.looked_at
        if item is None:
            self.tell("Not taken: the tasks are still being read.", bad=True)
            return None
        if item.id == self._ended_at:
            self.tell(
                f"Not taken: everything is reviewed. {self.key('undo')} undoes the last review; to"
                f" change this one, press {self.key('override') or self.key('mark')}.",
                bad=True,
            )
            return None
        return item

    def action_override(self) -> None:
        """Ask for another score and the reason."""
        self._ask("override")

    action_score = action_override
    """Before the judge's score is shown, the key is labelled so."""

    def action_mark(self) -> None:
        """Ask for a mark of the submission and the reason."""
        item = self.looked_at
        if item is not None and item.graded == "invalid":
            self._ask("mark", "valid")
        else:
            self._ask("mark", "invalid")

    def action_fault(self) -> None:
        """Ask who is at fault."""
        if self.looked_at is not None:
            self._ask("fault", self.looked_at.fault)

    def action_note(self) -> None:
        """Ask for a note."""
        self._ask("note")

    def _ask(self, kind: review_view.Kind, choice: str = "") -> None:
        item = self.looked_at
        if item is None:
            return
        about = item.title if kind != "fault" else review_view.where(item)
        self.app.push_screen(ReviewDialog(kind, about, choice), partial(self._asked, item))

    def _asked(self, item: ReviewItem, form: review_view.ReviewForm | None) -> None:
        if form is not None:
            self._score(item, form)

    def _score(self, item: ReviewItem, form: review_view.ReviewForm) -> None:
        blind = form.kind == "override" and review_view.is_hidden(item, self.blind, self.me)
        self._give(item, form.review(blind and item.id not in self.seen))

    def _give(self, item: ReviewItem, given: NewReview) -> None:
        change = _Change(item, self.me, given)
        self._given.append(change)
        self._note(change)
        if given.action in ("accept", "override"):
            self._go_on(item, shows_judge=given.blind and not item.sample)
        self._save_noted()

    def _go_on(self, item: ReviewItem, *, shows_judge: bool) -> None:
        """Go to the next item that is to do, unless the judge's score of this one is shown first:
        after a blind score outside of a sample.
        """
        following = self._next_to_do(item)
        if following is None:
            self._ended_at = item.id
        elif not shows_judge:
            self.rows.move_to(following)

    def _next_to_do(self, item: ReviewItem) -> int | None:
        """Return the row of the next item that I have not reviewed, after this one; None if all
        are.
        """
        ids = [other.id for other in self.shown]
        at = ids.index(item.id) if item.id in ids else -1
        order: Iterable[int] = (*range(at + 1, len(self.shown)), *range(at))
        return next((row for row in order if self._is_to_do(self.shown[row])), None)

    def _is_to_do(self, item: ReviewItem) -> bool:
        for change in reversed(self._unread):
            if change.item.id == item.id and change.decides:
                return change.undone is not None
        return review_view.is_to_do(item, self.me)

    def action_undo(self) -> None:
        """Undo my newest entry of this session, else my newest on the selected item."""
        if self._given:
            undone = self._given.pop()
        else:
            item, entry = self.looked_at, self._own_last()
            if item is None or entry is None:
                return
            undone = _Change(item, self.me, entry=entry)
        item = next((known for known in self.items if known.id == undone.item.id), undone.item)
        self._ended_at = None
        self._note(_Change(item, self.me, undone=undone))
        self._go_to(item.id)
        self._save_noted()

    def _go_to(self, wished: ItemId) -> None:
        for row, item in enumerate(self.shown):
            if item.id == wished:
                self.rows.move_to(row)
                return
        self.wished = wished  # not shown now, since it was reviewed

    def _note(self, change: _Change) -> None:
        self._changes.append(change)
        self._unread.append(change)

    def _save_noted(self) -> None:
        """Save what was noted. The cursor has moved before: a review that cannot be saved takes it
        back to its item.
        """
        if not self._saving:
            self._saving = True
            self._save()

    @work(group="review")
    async def _save(self) -> None:
        try:
            while self._changes:
                done = await self.bioeval.services.in_thread(self._changes.save)
                for change in done:
                    if change.failure:
                        self._take_back(change)
                await self.load_items()
                self._unread = [change for change in self._unread if change not in done]
                self._tell_done(done)
        finally:
            self._saving = False

    def _take_back(self, change: _Change) -> None:
        """Say that a change could not be saved, and go back to its item."""
        what = "undo" if change.undone is not None else "save"
        where = f"{review_view.where(change.item)}, {change.item.title}"
        self.tell(f"Could not {what} the review of {where}: {change.failure}", bad=True)
        if change.undone is not None:
            self._given.append(change.undone)
        elif change in self._given:
            self._given.remove(change)
        self._ended_at = None
        if not self._changes:
            self._go_to(change.item.id)

    def _tell_done(self, done: Sequence[_Change]) -> None:
        """Say what was undone and, after the last review, that nothing is left."""
        kept = [change for change in done if not change.failure]
        for change in kept:
            if change.undone is not None:
                self.tell(f"Undone: {review_view.where(change.item)}, {change.item.title}")
        given = any(change.undone is None for change in kept)
        if given and not any(map(self._is_to_do, self.items)):
            self.tell(f"Everything is reviewed. {self.key('undo')} undoes the last review.")

    def on_unmount(self) -> None:
        """Save what was given just before the screen was closed."""
        self._changes.save()

    # Looking

    def action_blind(self, on_: bool = True) -> None:
        """Hide the judge's score."""
        self.blind = on_
        self.bioeval.services.preferences.keep("review.blind", on_)
        self.redraw()

    def action_seeing(self) -> None:
        """Show the judge's score."""
        self.action_blind(False)

    def action_to_do(self) -> None:
        """Show only the items that I have not reviewed."""
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
            self.query_one(Transcript).mark_evidence(
                [*quotes[self.at_quote :], *quotes[: self.at_quote]]
            )
            self.at_quote = (self.at_quote + 1) % len(quotes)

    def action_pane(self) -> None:
        """Go to the transcript (or the card), or back to the queue."""
        item = self.looked_at
        beside = self.query_one(Transcript if item is None or item.row is None else MedalCard)
        switch_focus(self.rows, beside)

    def copies(self) -> Sequence[Copied]:
        """The item's details."""
        item = self.looked_at
        if item is None:
            return ()
        lines = [*review_view.heading(item, self.blind), *self.item_lines(item)]
        return (
            Copied("this item", lambda: "\n".join("".join(c.text for c in line) for line in lines)),
        )

    def action_back(self) -> None:
        """Go from the transcript or card to the queue; from there, back to where the review was
        opened.
        """
        if not self.rows.has_focus:
            self.rows.focus()
        else:
            self.app.pop_screen()
