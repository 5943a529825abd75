"""The demo: a run at reading pace with captions, its score card, and another agent beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.cells import cell_len
from textual import events, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.base import installation
from bioeval_tui.base.widths import fitted
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.dialogs import Dialog

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.attach import ReplayedRun
    from bioeval_tui.evaluation.engine.interface import Opener
    from bioeval_tui.report.comparison import Comparison
    from bioeval_tui.report.result import RunResult
    from bioeval_tui.tui.data.services import AppServices

Pace = Literal["slow", "normal", "fast"]
PACES: dict[Pace, float] = {"slow": 1.0, "normal": 1.5, "fast": 2.5}
TICK_S = 0.25
CARD_S, BESIDE_S, OWN_S = 13.0, 13.0, 13.0
"""How long each of the last scenes is shown at the slow pace, in seconds."""
COMPARING = "compare-once"
"""The group of the worker that compares both agents behind the score card."""
KEEPS_PLAYING = frozenset({"space", "s", "question_mark"})
"""Keys after which the demo keeps playing; any other key hands control to the viewer."""

SCORE_CARD = "Score card"
"""The card that ends a run.

Dialogs and screens are loaded when they are opened, not before the first paint.
"""

Scene = Literal["run", "card", "beside", "own"]
INTRODUCTIONS = {
    False: (
        "Does an agent do what is right, whether or not its user can answer?",
        "The same user talks to it twice, without the facts and with them; both conversations"
        " are scored.",
    ),
    True: (
        "What does a real language model say to a patient, with the facts and without them?",
        "SmolLM2-135M on this machine answers a script twice; rules, not a model, judge its"
        " answers.",
    ),
}
"""What the sample agent (False) or a local model (True) is asked, and how."""


class TryYourOwn(Dialog[str]):
    """The last scene: how to evaluate your own agent."""

    NAME: ClassVar[str] = "Try your own"
    ABOUT: ClassVar[str] = (
        "The demo has ended. Explore any screen, or evaluate your own agent with these commands."
    )
    HEADING: ClassVar[str] = "Now try your own"
    BINDINGS: ClassVar[list[BindingType]] = bindings("try-your-own")
    DEFAULT_CSS = """
    TryYourOwn > .dialog--box { width: 100%; max-width: 100%; }
    """

    def compose_body(self) -> Iterable[Widget]:
        """The commands."""
        program = installation.command()
        commands = (
            (f"{program} new job.yml", "write a job step by step"),
            (f"{program} run job.yml --agent-url URL", "evaluate your agent with it"),
            (f"{program} grade FILE.jsonl", "grade submissions"),
            (f"{program} demo --show batch", "both agents, five trials"),
            (f"{program} demo --show failure", "see an agent that fails"),
        )
        width = max(cell_len(command) for command, _ in commands)
        lines = [
            Content.assemble((fitted(command, width), "bold"), "   ", (about, "$quiet"))
            for command, about in commands
        ]
        yield Static(Content("\n").join([*lines, Content("")]), markup=False)

    def action_own_jobs(self) -> None:
        """Go to the jobs."""
        self.dismiss("jobs")

    def action_watch_again(self) -> None:
        """Show the demo once more."""
        self.dismiss("again")


class DemoApp(BioevalApp):
    """Shows the run that `start` opens at its pace, then the recording of an `other` agent with the
    same job beside it, if there is one.

    `loop` begins again at the end.

    `local_model`: the agent is a language model on this machine, which the introduction says.
    """

    captions: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        replace(binding, priority=True)  # it has to work over boxes as well
        for binding in bindings("demo")
        if isinstance(binding, Binding)
    ]

    def __init__(
        self,
        services: AppServices,
        start: Opener | str,
        *,
        pace: Pace = "normal",
        loop: bool = False,
        local_model: bool = False,
        other: Path | None = None,
        **options: Any,
    ) -> None:
        super().__init__(services, start, **options)
        self._other = other
        self._comparison: Comparison | None = None
        self.pace = PACES[pace]
        self._repeats = loop
        self._local_model = local_model
        self._directs = True
        self._remaining_s = 0.0
        self.scene: Scene = "run"
        self.held = False

    def introduction(self) -> list[Cell]:
        """Return what the demo is, shown before the first conversation starts."""
        asks, how = INTRODUCTIONS[self._local_model]
        return [Cell(asks, "strong"), Cell(""), Cell(how)]

    @property
    def shown(self) -> ReplayedRun | None:
        """The run that is played; None until it is open."""
        if self.has_live:
            return self.live.link.playback
        return None

    def on_mount(self) -> None:
        """Begin."""
        self.set_interval(TICK_S, self._direct)

    async def on_event(self, event: events.Event) -> None:
        """Hand control to the viewer after a key press or click."""
        taken = isinstance(event, events.Key) and event.key not in KEEPS_PLAYING
        if (taken or isinstance(event, events.MouseDown)) and not self._repeats:
            self._directs = False
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave `space` to inputs, and to the screens once the viewer is in control."""
        if action == "hold_demo":
            return not isinstance(self.focused, Input) and (self._directs or self.scene == "run")
        return super().check_action(action, parameters)

    def action_hold_demo(self) -> None:
        """Pause everything; the second time, continue."""
        self.held = not self.held
        if self.shown is not None:
            self.shown.set_paused(self.held)
        if self.has_live:
            self.live.show_pause()
        if self.scene != "run":
            said = "The demo is paused; space continues." if self.held else "The demo continues."
            self.notify(said, markup=False)

    async def _direct(self) -> None:
        shown = self.shown
        if shown is not None and shown.paused != self.held and self.scene == "run":
            self.held = shown.paused  # a turn was chosen, or a message stepped to
            self.live.show_pause()
        if not self._directs or self.held:
            return
        if self.scene == "run":
            if self._has_run():
                self._begin("card", CARD_S)
                if self._other is not None and self._comparison is None:
                    self._compare_once(self._other)
            return
        if self.scene == "card" and self._is_working(COMPARING):
            return  # it is read
        if self.scene == "own" and not self._repeats:
            return  # the commands stay until somebody presses a key
        self._remaining_s -= TICK_S
        if self._remaining_s <= 0:
            await self._next()

    @work(group=COMPARING)
    async def _compare_once(self, other: Path) -> None:
        """Compare behind the score card, if the run has its scores."""
        state = self.run_state
        if state is not None and state.ended is not None and state.ended.measured:
            run_id = state.ended.run_id

            def compared(ours: RunResult) -> Comparison:
                # the first paint waits for no statistics
                from bioeval_tui.report import (
                    comparison,
                    result,
                )

                return comparison.compare(ours, result.load_run(other))

            self._comparison = await self.services.from_runs(compared, run_id)

    def _is_working(self, group: str) -> bool:
        return any(worker.group == group for worker in self.workers)

    def _has_run(self) -> bool:
        state = self.run_state
        return (
            state is not None
            and state.ended is not None
            and getattr(self.screen, "NAME", "") == SCORE_CARD
        )

    def _begin(self, scene: Scene, seconds: float) -> None:
        self.scene, self._remaining_s = scene, seconds / self.pace

    async def _next(self) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if self.scene == "card" and self._comparison is not None:
            from bioeval_tui.tui.beside import BesideDialog  # a box is loaded when it is opened

            self._begin("beside", BESIDE_S)
            self.push_screen(BesideDialog(self._comparison))
        elif self.scene in ("card", "beside"):
            self._begin("own", OWN_S)
            self.push_screen(TryYourOwn(), self._chosen)
        else:
            self._again()

    def _again(self) -> None:
        self.scene = "run"
        self.run_again()

    async def _chosen(self, what: str | None) -> None:
        if what == "again":
            self._directs = True
            self._again()
        elif what == "jobs":
            await self.action_go("jobs")
