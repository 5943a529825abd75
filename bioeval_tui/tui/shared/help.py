"""Help for the screen below: what it shows, every key that applies now, and the signs and terms on the
screens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.base import hints
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialogs import Dialog, DialogText
from bioeval_tui.tui.shared.rows_widget import Labelled

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
        "a message of the user and the agent's answer, so a sign-off is none; a job's `maxTurns` counts both as messages",
    ),
    ("elapsed", "the time since the run started"),
    ("playback", "the position and length of a replay, in which long silences are shortened"),
    ("target", "what the job wants the average answer to take (`aspirationalAverage`)"),
    ("fact", "something the simulated user may know; the job lists the facts"),
    ("withheld", "the first condition: the user knows no facts"),
    ("supplied", "the second condition: the user knows the facts and shares them when asked"),
    ("difference", "the score with facts supplied minus the score with facts withheld"),
    (
        "assertion",
        "a check of the agent's state after each turn and at the end; until there is a score, how many hold is shown",
    ),
    (
        "score",
        "points for timing (1), tasks (2) and assertions (4) as a share of 7, minus a penalty for failed requests",
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
        super().__init__()
        self._about_name: str = getattr(about, "NAME", "") or "Keys"
        self._about: str = getattr(about, "ABOUT", "")
        self._keys = help_lines(about)

    @property
    def heading(self) -> str:
        """The screen's name."""
        return self._about_name

    def compose_body(self) -> Iterable[Widget]:
        """What the screen is for, then its keys."""
        column = max(len(label) for label, _ in (*self._keys, *SIGNS, *WORDS))

        def rows(entries: Iterable[tuple[str, str]]) -> list[list[Cell]]:
            return [[Cell(f"{label:>{column}}  ", "busy"), Cell(meaning)] for label, meaning in entries]

        lines = [[Cell(self._about)], []] if self._about else []
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
