"""The side panel of a presentation: scores in large digits, what came out and why, and each task's
and assertion's mark.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from bioeval_tui.base.units import number
from bioeval_tui.report import rows
from bioeval_tui.report.brief import make_brief
from bioeval_tui.tui.live import heads_view, panels
from bioeval_tui.tui.live.panels import wrapped_row
from bioeval_tui.tui.shared.answer_block import AnswerBlock, enabled_keys
from bioeval_tui.tui.shared.cells import Cell, left, right, score_tone
from bioeval_tui.tui.shared.line_widgets import BigNumber
from bioeval_tui.tui.shared.wrapped_lines import DrawnPanel, hanging

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.state import RunState
    from bioeval_tui.report.answer import Passage
    from bioeval_tui.tui.live.feed import Watched

STAGE_CSS = """
LiveScreen.-presenting {
    & PanelDeck, & #banner { display: none; }
    &.-running PanelDeck { display: none; }
    &.-running #tabs { display: block; }
    & Stage { display: block; }
    & ConversationFrame { display: none; padding: 1 2; border: none; }
    & ConversationFrame.-active { display: block; border: none; }
    &.-wide { layout: horizontal; }
    &.-wide Conversations { width: 1fr; }
    &.-wide #frames { padding: 1 3; }
    &.-wide Stage { width: 45%; height: 1fr; padding: 1 2 1 3; border-left: solid $line; }
    &.-wide Stage, &.-ended Stage { overflow-y: auto; scrollbar-gutter: stable; }
    & Stage > * { margin-right: 1; }
    &.-wide ReplayControls { dock: bottom; margin-bottom: 1; }
    &.-narrow Stage { height: auto; padding: 0 1 0 2; border-top: solid $line; }
    &.-narrow #stage-assertions { display: none; }
    &.-narrow.-ended Conversations { display: none; }
    &.-narrow.-ended Stage { height: 1fr; border: none; }
    &.-narrow.-ended #stage-assertions { display: block; }
}
"""
"""The live screen while it presents."""


MOST_ASSERTIONS, STAGE_WIDTH, ROOMY = 8, 39, 45
"""How many assertions are shown, the width until it is known, and the height that has room for
figures beside the conclusion.
"""


class StageScore(Vertical):
    """One condition's score in large figures."""

    DEFAULT_CSS = """
    StageScore {
        height: auto; width: 1fr;
        & > BigNumber { width: auto; height: 3; text-style: bold; }
        &.-active > BigNumber { color: $text-accent; }
        &.-good > BigNumber { color: $text-success; }
        &.-warn > BigNumber { color: $text-warning; }
        &.-bad > BigNumber { color: $text-error; }
    }
    """

    def __init__(self, condition: Condition) -> None:
        super().__init__(id=f"stage-{condition}")
        self.condition = condition
        self._title, self._digits, self._note = DrawnPanel(), BigNumber(""), DrawnPanel()

    def compose(self) -> ComposeResult:
        """The condition, its score, and its state."""
        yield self._title
        yield self._digits
        yield self._note

    def show(self, state: RunState, trial: int, active: bool) -> None:
        """Draw from the run."""
        conversation = state.conversation(self.condition, trial)
        value, note = None, "–"
        if conversation is not None:
            note = heads_view.score_cell(conversation).text
            if conversation.score is not None:
                value, note = conversation.score.score, "score"
        self.set_class(active, "-active")
        for tone in ("good", "warn", "bad"):
            self.set_class(score_tone(value) == tone, f"-{tone}")
        name = state.condition_title(self.condition)
        title = Cell(f" {name}", "quiet")
        if active:
            title = Cell(f"▌{name}", "strong")
        self._title.draw(partial(left, title))
        self._digits.update("-" if value is None else number(value))
        self._note.draw(partial(left, Cell(f" {note}", "quiet")))


def _checks(state: RunState, trial: int, width: int, wide: bool) -> Content:
    """Return a line for each task with its mark in each condition; if `wide`, the brief above and
    the first assertions below.
    """
    names = [state.condition_title(condition) for condition in state.conditions]
    columns = [panels.column_width(names)] * len(names)
    head = [
        Content.assemble(" " * (width - sum(columns)), line)
        for line in panels.names_head(names, columns)
    ]
    talks = rows.trial_talks(state, trial)
    lines: list[Content] = []
    if state.started is not None and wide:
        brief = make_brief(state, state.started, trial)
        about = [
            [Cell(brief.topic_words, "strong")],
            [Cell("agent  ", "quiet"), Cell(brief.agent_words)],
        ]
        facts = [Cell("facts  ", "quiet"), Cell(brief.facts_words)]
        for line in (*about, facts):
            lines += hanging(line, width)
    listed = [
        (Cell(row.title), [panels.task_cell(row, name, talk) for name, talk in talks.items()])
        for row in rows.task_rows(state, trial)
    ]
    checked = [
        (Cell(row.title, "quiet"), [panels.latest_mark(row, name) for name in talks])
        for row in rows.assertion_rows(state, trial)[:MOST_ASSERTIONS]
    ]
    shown = listed
    if wide:
        shown = [*listed, *checked]
    if shown:
        if lines:
            lines.append(Content(""))
        lines += head
    for title, marks in shown:
        cells = [right(mark, column) for mark, column in zip(marks, columns, strict=True)]
        lines.append(wrapped_row(Content(""), title, cells, width, 2))
    return Content("\n").join(lines)


class Stage(Vertical):
    """Scores, the answer and marks, and the keys that begin and end a presentation.

    Posts `Changed` when a presentation begins or ends, and `Concluded` once its run has ended.
    """

    KEYS: ClassVar[str] = "live/stage"
    DEFAULT_CSS = """
    Stage {
        display: none;
        & > Horizontal { height: auto; }
        & > #stage-answer { padding-top: 1; display: none; }
        & > #stage-assertions { height: auto; padding-top: 1; }
    }
    """

    class Changed(Message):
        """A presentation started or ended."""

    class Concluded(Message):
        """The run that is presented has ended: `passage` is what the answer quotes."""

        def __init__(self, passage: Passage) -> None:
            super().__init__()
            self.passage = passage

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched
        self._scores: list[StageScore] = []
        self._answer = AnswerBlock(id="stage-answer")
        self._assertions = Static(id="stage-assertions", markup=False)
        self._concluded = False

    def compose(self) -> ComposeResult:
        """Lay out both."""
        yield Horizontal()
        yield self._answer
        yield self._assertions

    def show(self) -> None:
        """Refresh the scores and marks and, once the run has ended, what came out and why."""
        watched = self.watched
        state, active = watched.state, watched.condition
        wide, ended = self.screen.has_class("-wide"), state is not None and state.ended is not None
        self.screen.set_class(ended, "-ended")
        if state is None or not watched.presenting:
            self._concluded = False
            return
        held = state.conditions
        if tuple(score.condition for score in self._scores) != held:
            self._scores = [StageScore(condition) for condition in held]
            self.run_worker(self._mount_scores(), exclusive=True)
            return
        for score in self._scores:
            # At the end, where there is little room, the conclusion says the scores.
            score.display = not ended or (wide and self.screen.size.height >= ROOMY)
            score.show(state, watched.trial, score.condition == active)
        room = self._assertions.scrollable_content_region.width or STAGE_WIDTH
        self._assertions.update(_checks(state, watched.trial, room, wide))
        self._answer.display = ended
        if ended:
            self._show_answer(state)
        else:
            self._concluded = False

    def _show_answer(self, state: RunState) -> None:
        """Show what came out, and once, the passage that decided."""
        # Statistics, for which the first paint does not wait.
        from bioeval_tui.report.result import result_of

        result = result_of(state)
        if result is None:
            return
        key = enabled_keys(self).get("stop_presenting")
        full_screen = [(key, "end presentation")] if key else []
        self._answer.show_answer(result.answer, *full_screen)
        passage = result.answer.passage
        if passage is not None and not self._concluded:
            self._concluded = True
            self.post_message(self.Concluded(passage))

    async def _mount_scores(self) -> None:
        room = self.query_one(Horizontal)
        await room.remove_children()
        await room.mount_all(self._scores)
        self.show()

    def on_resize(self) -> None:
        """Lay out the marks for the new width."""
        self.show()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A run that has not started cannot be presented."""
        if action not in ("present", "stop_presenting"):
            return True
        return self.watched.has_begun and self.watched.presenting == (action == "stop_presenting")

    def action_present(self) -> None:
        """Show only the conversation, and what came out."""
        self._present(True)

    def action_stop_presenting(self) -> None:
        """Show the whole screen again."""
        self._present(False)

    def _present(self, presenting: bool) -> None:
        self.watched.presenting = presenting
        self.post_message(self.Changed())
