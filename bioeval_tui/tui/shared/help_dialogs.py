"""What can be done on the screen below: the help explains its keys, signs and words, and the
command palette runs its actions. Both list the keys that apply there (`keys_footer.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType
from textual.command import (
    CommandInput,
    CommandList,
    CommandPalette,
    SimpleCommand,
    SimpleProvider,
)
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.base.widths import padded
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell, Line
from bioeval_tui.tui.shared.dialogs import Behind, Dialog, DialogText
from bioeval_tui.tui.shared.keys_footer import hints
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from typing import Self

    from rich.console import RenderableType
    from textual.app import App
    from textual.dom import DOMNode
    from textual.geometry import Region, Size

    from bioeval_tui.tui.shared.program import Program


class HelpScreen(Dialog[None]):
    """The keys of the screen that was open when help was asked for."""

    NAME: ClassVar[str] = "Help"
    ABOUT: ClassVar[str] = "What the screen shows, its keys, and what signs and terms mean."
    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__(getattr(about, "NAME", "") or "Keys")
        self._about: str = getattr(about, "ABOUT", "")
        self._keys = help_lines(about)
        self._looks = _looks(about)
        self._is_styled = True

    async def on_event(self, event: events.Event) -> None:
        """Keep the styles that the widgets have: Textual would compute each of them again."""
        if isinstance(event, events.ScreenResume) and self._is_styled:
            event.refresh_styles, self._is_styled = False, False
        if isinstance(event, events.ScreenSuspend):
            self._looks = _looks(self)  # theme and size may have changed while it was open
        await super().on_event(event)

    def says_the_same(self, about: Screen[Any]) -> bool:
        """Whether a new help about this screen would be equal to this one."""
        keys = help_lines(about)
        heading = getattr(about, "NAME", "") or "Keys"
        says = (heading, getattr(about, "ABOUT", ""), keys, _looks(about))
        return says == (self.heading, self._about, self._keys, self._looks)

    def prepare_again(self) -> None:
        """Begin at the first line, over the screen as it is now."""
        self._is_styled = True
        self.forget_behind()
        for text in self.query(DialogText):
            text.scroll_to(y=0, animate=False, immediate=True)

    def compose_body(self) -> Iterable[Widget]:
        """What the screen is for, then its keys."""
        column = max(cell_len(label) for label, _ in (*self._keys, *SIGNS, *WORDS))

        def rows(entries: Iterable[tuple[str, str]]) -> list[list[Cell]]:
            return [
                [Cell(f"{padded(label, column, 'right')}  ", "busy"), Cell(meaning)]
                for label, meaning in entries
            ]

        lines: list[Line] = []
        if self._about:
            lines += [[Cell(self._about)], []]
        lines += rows(self._keys)
        for title, entries in (("Signs", SIGNS), ("Words", WORDS)):
            lines += [[], [Cell(title, "strong")], *rows(entries)]
        with DialogText():
            text = Labelled()
            text.show(lines)
            yield text


def _looks(screen: Screen[Any]) -> tuple[Size, str]:
    """Return what a box on this screen is laid out for: the size and the theme."""
    return screen.app.size, screen.app.theme


def help_lines(screen: Screen[Any]) -> list[tuple[str, str]]:
    """Return every key that applies on `screen` with what it does, shown in the footer or not."""
    return [
        (hint.key, hint.tooltip or hint.words)
        for hint in hints(screen, hidden=True)
        if hint.action.removeprefix("app.") != "help"
    ]


SIGNS: tuple[tuple[str, str], ...] = (
    ("✓ ✗", "passed; failed"),
    ("· ?", "not yet true; could not be measured"),
    ("● ◌ ‖", "in progress; queued; paused"),
    ("■", "ended, with any result"),
    ("▌ ┃", "the user's message; the agent's message"),
    ("▸2 ms", "time to the first text of an answer, beside its total time"),
    ("0.5 s…", "how long the pending message has taken; without … the whole time of an answer"),
    ("─ ━ │", "an answer's time: until the first text, while streaming, and the target"),
    ("◆", "the user gave a fact; in Runs, a marked run"),
    ("∿", "a span that the agent reported through OpenTelemetry, and its duration"),
    ("ƒ ← ⚙", "the agent called a function; its result; setup and the agent's prompts"),
    ("↻", "a request was retried"),
    ("3×", "the weight of an assertion"),
)
WORDS: tuple[tuple[str, str], ...] = (
    (
        "turn",
        (
            "a message of the user and the agent's answer, so a sign-off is none; a job's"
            " `maxTurns` counts both as messages"
        ),
    ),
    ("elapsed", "the time since the run started"),
    ("playback", "the position and length of a replay, in which long silences are shortened"),
    ("target", "what the job wants the average answer to take (`aspirationalAverage`)"),
    ("fact", "something the simulated user may know; the job lists the facts"),
    (
        "without the facts",
        "the first condition, `withheld` in files and options: the user knows no facts",
    ),
    (
        "with the facts",
        (
            "the second condition, `supplied` in files: the user knows the facts and shares them"
            " when asked"
        ),
    ),
    (
        "difference",
        "the score with the facts minus that without them, on what both conditions share",
    ),
    (
        "assertion",
        (
            "a check of the agent's state after each turn and at the end; until there is a score,"
            " how many hold is shown"
        ),
    ),
    (
        "score",
        (
            "points for timing (1), tasks (2) and assertions (4) as a share of 7, minus a penalty"
            " for failed requests"
        ),
    ),
    ("mean of both", "the mean of both conditions' scores, which the published formula reports"),
    ("tone", "the judge's rating of the agent's tone; not part of any score"),
    ("evaluator", "plays the user: a model, a script or a person"),
    ("sign-off", "the words with which the user ends a conversation"),
    ("judge", "reads the transcript and scores the tasks: models or rules"),
    ("rehearsal", "a script plays the user and rules replace the judge, so neither asks a model"),
    ("clean", "both conditions started from the same state, so they can be compared"),
    ("percentile", "the share of a leaderboard's entries that a submission beats"),
    ("digest", "a fingerprint of the agent's state, which shows whether it changed"),
)


class Palette(CommandPalette):
    """Textual's palette, which shows its input at once, before the list: every action that a key
    has on the screen below, except moving, and the themes.
    """

    def __init__(self, about: Screen[Any]) -> None:
        self._behind = Behind()  # Textual refreshes a screen while it is made
        self._is_styled = True
        self._looks = _looks(about)
        self._actions = [*_actions(about)]
        app = cast("Program", about.app)
        commands: list[Any] = [action.command(about.app) for action in self._actions]
        for name in app.theme_names:
            use = partial(app.use_theme, name)
            commands.append(SimpleCommand(f"Theme: {name}", use, "Change the colours"))
        self._length = len(commands)
        # Textual takes these, too, although it names only classes.
        providers: list[Any] = [SimpleProvider(about, commands)]
        super().__init__(providers=providers, classes="-ready")

    async def on_event(self, event: events.Event) -> None:
        """Keep the styles that the widgets have: Textual would compute each of them again. While
        closed, let no cursor blink.
        """
        if isinstance(event, events.ScreenResume) and self._is_styled:
            event.refresh_styles, self._is_styled = False, False
        if isinstance(event, events.ScreenSuspend):
            self._looks = _looks(self)
            if not self.is_active:
                self.set_focus(None)
        await super().on_event(event)

    def says_the_same(self, about: Screen[Any]) -> bool:
        """Whether a new palette on this screen would be equal to this one."""
        typed = any(line.value for line in self.query(CommandInput))
        whole = all(entries.option_count == self._length for entries in self.query(CommandList))
        if typed or not whole or _looks(about) != self._looks:
            return False
        return [*_actions(about)] == self._actions

    def prepare_again(self) -> None:
        """Begin at the first entry, over the screen as it is now."""
        self._is_styled = True
        self._behind = Behind()
        self.refresh()
        for entries in self.query(CommandList):
            entries.highlighted = 0
            entries.scroll_to(y=0, animate=False, immediate=True)

    def render(self) -> RenderableType:
        """Draw the screen behind the box."""
        return self._behind.substitute(super().render())

    def refresh(self, *regions: Region, **more: bool) -> Self:
        """Draw again; with regions, the screen behind, too."""
        self._behind.changed(regions)
        return super().refresh(*regions, **more)


class Action(NamedTuple):
    """An entry of the palette, and what it runs."""

    words: str
    help: str
    action: str
    node: DOMNode | None

    def command(self, app: App[Any]) -> SimpleCommand:
        """Return the entry as Textual's palette takes it."""
        return SimpleCommand(self.words, partial(app.run_action, self.action, self.node), self.help)


def _actions(screen: Screen[Any]) -> Iterator[Action]:
    listed = {"palette", ""}
    for hint in hints(screen, hidden=True):
        if hint.words not in listed and not hint.moves:
            listed.add(hint.words)
            words = hint.words.capitalize()
            told = "" if hint.tooltip == words else hint.tooltip
            yield Action(f"{words}  ({hint.key})", told, hint.action, hint.node)
