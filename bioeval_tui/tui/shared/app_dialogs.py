"""The dialogs that every screen has: the command palette, help, settings, what can be copied or
saved, and the questions before the program is left: with drafts, or with a run in progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from rich.cells import cell_len
from textual import on
from textual.binding import BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.types import IgnoreReturnCallbackType
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.base.text import home_relative
from bioeval_tui.base.widths import padded
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.base import hints
from bioeval_tui.tui.shared.cells import Cell, Line, Tone, paint
from bioeval_tui.tui.shared.dialogs import Behind, Choice, Dialog, DialogText, FormDialog
from bioeval_tui.tui.shared.output import Copied, Kept, Picture
from bioeval_tui.tui.shared.rows_widget import Labelled, RowList

if TYPE_CHECKING:
    from typing import Self

    from rich.console import RenderableType
    from textual.geometry import Region

    from bioeval_tui.tui.shared.program import Program


class Action(NamedTuple):
    """An entry of the palette."""

    words: str
    help: str
    run: IgnoreReturnCallbackType


class Actions(Provider):
    """Every action that a key has on the screen below, except moving, and the themes."""

    async def discover(self) -> Hits:
        """Return every action, before anything is typed."""
        for action in self._actions():
            yield DiscoveryHit(action.words, action.run, help=action.help)

    async def search(self, query: str) -> Hits:
        """Return the actions whose words match."""
        matcher = self.matcher(query)
        for action in self._actions():
            rank = matcher.match(action.words)
            if rank > 0:
                yield Hit(rank, matcher.highlight(action.words), action.run, help=action.help)

    def _actions(self) -> Iterator[Action]:
        listed = {"palette", ""}
        for hint in hints(self.screen, hidden=True):
            if hint.words not in listed and not hint.moves:
                listed.add(hint.words)
                words = hint.words.capitalize()
                run = partial(self.app.run_action, hint.action, hint.node)
                yield Action(
                    f"{words}  ({hint.key})", "" if hint.tooltip == words else hint.tooltip, run
                )
        app = cast("Program", self.app)
        for name in app.theme_names:
            yield Action(f"Theme: {name}", "Change the colours", partial(self._use, name))

    def _use(self, name: str) -> None:
        cast("Program", self.app).use_theme(name)


class Palette(CommandPalette):
    """Textual's palette, which shows its input at once, before the list."""

    def __init__(self) -> None:
        self._behind = Behind()  # Textual refreshes a screen while it is made
        super().__init__(providers={Actions}, classes="-ready")

    def render(self) -> RenderableType:
        """Draw the screen behind the box."""
        return self._behind.substitute(super().render())

    def refresh(self, *regions: Region, **more: bool) -> Self:
        """Draw again; with regions, the screen behind, too."""
        self._behind.changed(regions)
        return super().refresh(*regions, **more)


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


class HelpScreen(Dialog[None]):
    """The keys of the screen that was open when help was asked for."""

    NAME: ClassVar[str] = "Help"
    ABOUT: ClassVar[str] = "What the screen shows, its keys, and what signs and terms mean."
    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__(getattr(about, "NAME", "") or "Keys")
        self._about: str = getattr(about, "ABOUT", "")
        self._keys = help_lines(about)

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


def help_lines(screen: Screen[Any]) -> list[tuple[str, str]]:
    """Return every key that applies on `screen` with what it does, shown in the footer or not."""
    return [
        (hint.key, hint.tooltip or hint.words)
        for hint in hints(screen, hidden=True)
        if hint.action.removeprefix("app.") != "help"
    ]


YES_NO = {"yes": "yes", "no": "no"}
READING: tuple[tuple[str, str, bool], ...] = (
    ("live.follow", "follow the newest message", True),
    ("live.events", "show tool calls and events", True),
    ("live.linked", "scroll conversations together", True),
    ("live.dense", "dense, without empty lines", False),
)
"""Display settings of the live screen: the preference, its label and its default."""


class SettingsDialog(Dialog[None]):
    """The theme and display settings. Arrows change a value."""

    NAME: ClassVar[str] = "Settings"
    ABOUT: ClassVar[str] = "Theme and display settings. Changes take effect at once and are saved."
    HEADING: ClassVar[str] = "Settings"
    BINDINGS: ClassVar[list[BindingType]] = bindings("settings")
    LABEL_WIDTH = 30
    DEFAULT_CSS = """
    SettingsDialog {
        & > .dialog--box { width: 64; border: round $line; }
        & #sample { height: 6; margin-top: 1; border: round $line; padding: 0 1; }
    }
    """

    def compose_body(self) -> Iterable[Widget]:
        """A line each, and a sample of the theme's colours."""
        kept = self.bioeval.services.preferences
        with Vertical(classes="dialog--body"):
            names = {name: name for name in self.bioeval.theme_names}
            yield self.row("theme", Choice(names, self.app.theme, id="theme"))
            for name, question, usual in READING:
                value = "yes" if bool(kept.get(name, usual)) else "no"
                yield self.row(question, Choice(YES_NO, value, id=name.replace(".", "-")))
            yield Static(id="sample", markup=False)

    def on_mount(self) -> None:
        """Show the sample, and begin at the theme."""
        self._show_sample()
        self.query(Choice).first().focus()

    def _show_sample(self) -> None:
        lines = (
            Content.assemble(("▌user", "bold $text-accent"), "   Could you remind me at 9?"),
            Content.assemble(
                ("┃agent", "bold $text-primary"),
                "  Which time zone are you in?   ",
                ("0.9 s", "$quiet"),
            ),
            paint(
                Cell("✓ passed", "good"),
                "   ",
                Cell("! warning", "warn"),
                "   ",
                Cell("✗ failed", "bad"),
            ),
            paint(
                Cell("● gold", "gold"),
                "   ",
                Cell("◐ silver", "silver"),
                "   ",
                Cell("◔ bronze", "bronze"),
            ),
        )
        self.query_one("#sample", Static).update(Content("\n").join(lines))

    @on(Choice.Changed)
    def _changed(self, event: Choice.Changed) -> None:
        if event.choice.id == "theme":
            self.bioeval.use_theme(event.choice.value)
            self._show_sample()
            return
        name = next(name for name, _, _ in READING if name.replace(".", "-") == event.choice.id)
        self.bioeval.services.preferences.keep(name, event.choice.value == "yes")
        self.bioeval.preferences_changed()


class ShareDialog(FormDialog[Copied | Kept | Picture]):
    """Returns what to copy or to write, or the picture's path; None if it was closed."""

    NAME: ClassVar[str] = "Copy or share"
    HEADING: ClassVar[str] = "Copy to the clipboard"
    ABOUT: ClassVar[str] = (
        "Enter sends the selected row to the terminal, which copies it if it may; y again sends the"
        " first. Whether it did, no program can find out: ctrl+s writes the row to a text file"
        " instead. Below, save a picture of the screen, with its caption in a text file beside it."
    )
    LABEL_WIDTH = 10
    ENTER = "~share-field"
    BINDINGS: ClassVar[list[BindingType]] = bindings("share")
    DEFAULT_CSS = """
    ShareDialog > .dialog--box { width: 84; }
    ShareDialog RowList { height: auto; max-height: 8; margin-bottom: 1; }
    """

    def __init__(self, copies: Sequence[Copied], picture: Picture | None) -> None:
        """Offer to copy `copies`, and to write `picture` unless it is None."""
        super().__init__()
        self._copies = copies
        self._picture = picture
        self._rows = RowList("~share-rows")

    def compose_body(self) -> Iterable[Widget]:
        """What can be copied, then file and caption of the picture."""
        yield self._rows
        if self._picture is not None:
            yield self.line("picture", "path", home_relative(self._picture.path))
            yield self.line("caption", "caption", self._picture.caption)
        yield Static(id="hint", markup=False)

    @property
    def draft_name(self) -> str:
        """Only a caption of the same is a draft."""
        if self._picture is None:
            return f"{self.NAME}: "
        return f"{self.NAME}: {self._picture.caption}"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Write no file where nothing may be written."""
        return action != "to_file" or not self.bioeval.READ_ONLY

    def action_to_file(self) -> None:
        """Write the selected row to a file."""
        self.dismiss(Kept(self._copies[self._rows.cursor]))

    def first_field(self) -> Widget:
        """Start at the list of what can be copied."""
        self._rows.set_rows(len(self._copies), lambda at, _: paint(Cell(self._copies[at].what)))
        return self._rows

    def hint(self, *, trying: bool) -> Cell:
        """Show the caption's path, or what is wrong with the file name."""
        if self._picture is None:
            return Cell("")
        path = Path(self.query_one("#path", Input).value).expanduser()
        wrong: Tone = "bad" if trying else "warn"
        if path.suffix.lower() != ".svg":
            return Cell("picture: give a file name that ends in .svg", wrong)
        if not path.absolute().parent.is_dir():
            folder = home_relative(path.absolute().parent)
            return Cell(f"picture: there is no folder {folder}", wrong)
        return Cell(
            f"enter here saves both, the caption as {path.with_suffix('.txt').name}", "quiet"
        )

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        self.dismiss(self._copies[event.index])

    def action_first(self) -> None:
        """Copy the selected row."""
        self.dismiss(self._copies[0])

    def action_give(self) -> None:
        """Write the picture, unless its name is wrong."""
        if self.hint(trying=True).tone == "bad":
            self.tell(trying=True)
            return
        path, caption = (self.query_one(f"#{name}", Input).value for name in ("path", "caption"))
        self.dismiss(Picture(Path(path).expanduser(), caption.strip()))


class LeaveScreen(Dialog[bool]):
    """True to leave the program, None to stay. `drafts` says what was typed and not used."""

    NAME: ClassVar[str] = "Leave"
    HEADING: ClassVar[str] = "Leave bioeval-tui?"
    BINDINGS: ClassVar[list[BindingType]] = bindings("leave")
    DEFAULT_CSS = """
    LeaveScreen > .dialog--box { width: 64; border: round $line; }
    """

    def __init__(self, drafts: Sequence[str]) -> None:
        super().__init__()
        self._drafts = drafts

    def compose_body(self) -> Iterable[Widget]:
        """Say what would be lost."""
        yield Static(
            Content("\n".join(drafts_words(self._drafts)) or "Nothing is lost."), markup=False
        )

    def action_leave(self) -> None:
        """Close with the answer."""
        self.dismiss(True)


def drafts_words(drafts: Sequence[str]) -> list[str]:
    """Return a line for each draft, which leaving would lose."""
    return [f"! {name}: what you typed is not used yet, and would be lost." for name in drafts]


class QuitScreen(Dialog[bool]):
    """True to stop the runs, False to leave them running, None to stay.

    The id of a run that is being started is "".
    """

    NAME: ClassVar[str] = "Quit"
    HEADING: ClassVar[str] = "A run is in progress"
    BINDINGS: ClassVar[list[BindingType]] = bindings("quit")

    def __init__(self, run_ids: Sequence[str], drafts: Sequence[str] = ()) -> None:
        super().__init__()
        self._run_ids = run_ids
        self._drafts = drafts

    def compose_body(self) -> Iterable[Widget]:
        """Explain each answer."""
        again, several = "bioeval-tui runs list names it", ""
        if len(self._run_ids) == 1 and self._run_ids[0]:  # one that is being started has no id yet
            again = f"bioeval-tui watch {self._run_ids[0]} shows it again"
        elif len(self._run_ids) > 1:
            several = f"There are {len(self._run_ids)}; the answer is for all.\n"
        yield Static(
            Content(
                f"{several}The engine runs by itself. Left alone, it continues and is recorded;\n"
                f"{again}.\n"
                "Stopped, it keeps what was said so far.\n" + "\n".join(drafts_words(self._drafts))
            ),
            markup=False,
        )

    def action_answer(self, stop: bool) -> None:
        """Close with the answer."""
        self.dismiss(stop)
