"""The application: screens as modes, themes, and the few keys that work everywhere."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from textual import work
from textual._context import active_message_pump
from textual.app import ScreenStackError
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.widgets import Input
from textual.worker import WorkerFailed

from bioeval_tui.base.errors import BioevalError, StorageError
from bioeval_tui.base.text import home_relative, listed
from bioeval_tui.record.masking import current, masked, masking
from bioeval_tui.tui import keys
from bioeval_tui.tui.job_items import cannot_run
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live.waiting_view import RUN_IS_OPENED
from bioeval_tui.tui.opening import OPENING, OpeningScreen
from bioeval_tui.tui.shared.base import BaseScreen, is_going
from bioeval_tui.tui.shared.dialogs import Dialog
from bioeval_tui.tui.shared.help_dialogs import HelpScreen, Palette
from bioeval_tui.tui.shared.leave_dialogs import LeaveScreen, QuitScreen
from bioeval_tui.tui.shared.output import (
    Copied,
    Kept,
    MaskedLines,
    Picture,
    SafeLines,
    file_moment,
    screen_text,
    tables,
    write_picture,
    write_text,
)
from bioeval_tui.tui.shared.settings_dialog import SettingsDialog
from bioeval_tui.tui.shared.share_dialog import ShareDialog
from bioeval_tui.tui.shared.terminal_app import TerminalApp
from bioeval_tui.tui.shared.themes import (
    DEFAULT_LIGHT_VARIABLES,
    DEFAULT_VARIABLES,
    FEW_COLOURS_ON_LIGHT,
    THEMES,
    legible,
)

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.interface import Opener, RunRequest
    from bioeval_tui.record.state import RunState
    from bioeval_tui.report.findings import Gain
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.jobs import JobsScreen
    from bioeval_tui.tui.live.live import LiveScreen
    from bioeval_tui.tui.review_items import ReviewSource
    from bioeval_tui.tui.runs.batch_view import Glance
    from bioeval_tui.tui.runs.grid import GridScreen
    from bioeval_tui.tui.runs.runs import RunsScreen
    from bioeval_tui.tui.shared.cells import Cell

OBJECTS_BETWEEN_COLLECTIONS = 10_000
"""Screens create few reference cycles, so the default threshold of 700 would cost more time than it
frees memory.
"""


OnQuit = Literal["cancel", "ask", "leave"]
CANCEL_WAIT_S = 3.0
"""How long quitting waits for a cancelled run to end that was started elsewhere, in seconds."""


class BioevalApp(TerminalApp[None]):
    """The terminal application.

    `start` is what to open first: a request to run, a function that opens a run (a replay, an
    attached run), or the name of a screen. `on_quit` decides what happens to runs in progress when
    the app closes: `cancel` them, `ask`, or `leave` the run that was opened running, and ask for
    those that were started here. `pictures` is where screenshots go, the current folder by default;
    `clock` is monotonic, in seconds. `over_it` opens something over the first screen, once that is
    loaded.
    """

    TITLE = "bioeval-tui"
    READ_ONLY: ClassVar[bool] = False
    """Nothing can be run, changed or written here."""
    captions: ClassVar[bool] = False
    """Whether the live screen shows captions."""
    DEFAULT_MODE = "live"
    # a relative path is taken from a subclass's own folder
    CSS_PATH = Path(__file__).with_name("app.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("app"),
    ]

    def __init__(
        self,
        services: AppServices,
        start: RunRequest | Opener | str,
        *,
        on_quit: OnQuit = "ask",
        theme: str | None = None,
        pictures: Path | None = None,
        clock: Callable[[], float] = monotonic,
        over_it: Callable[[BioevalApp], object] | None = None,
    ) -> None:
        self._screens = {entry.mode: entry for entry in keys.SCREENS}
        self._first = self._screens[start if isinstance(start, str) else "live"]
        # The first paint waits for no screen that takes long to load.
        opens_at_once = self._first.is_light or self._first.is_loaded
        self.DEFAULT_MODE = self._first.mode if opens_at_once else OPENING  # type: ignore[misc]
        self._came_from: str = self._first.mode
        self._going_to: str = self.DEFAULT_MODE
        super().__init__()
        for look in THEMES:
            self.register_theme(look)
        kept = services.preferences.get("theme")
        self.theme = theme or (kept if kept in self.theme_names else "dark")
        self.services = services
        self.drafts: dict[str, dict[str, str]] = {}
        self.clock = clock
        self._on_quit = on_quit
        self._leaving = False
        self._start = start
        self._pictures = pictures
        self._over_it = over_it
        self._kept_boxes: dict[type[HelpScreen | Palette], HelpScreen | Palette] = {}
        for screen in self._screens.values():
            self.add_mode(screen.mode, screen.make)
        self.add_mode(OPENING, self._make_opening)

    @property
    def opener(self) -> Opener | None:
        """Opens the run that the application was started with; None when it was started on another
        screen.
        """
        start = self._start
        if isinstance(start, str):
            return None
        if callable(start):
            return start
        return partial(self.services.start_run, start)

    def on_mount(self) -> None:
        """Apply the theme."""
        self.set_class(self.few_colours or self.no_color, "-few-shades")
        self.set_class(self.few_colours, "-few-colours")
        self.set_class(self.no_color, "-no-colour")
        self.call_after_refresh(self.spare_collector)
        if self.current_mode != OPENING and self._over_it is not None:
            self._over_it(self)

    def spare_collector(self) -> None:
        """Exclude all objects loaded so far from garbage collection until the app ends.

        The screen's longest pauses were full collections that walked modules, style sheets and
        event models: some 90,000 objects that live until the end, 22 to 35 ms each time. Frozen,
        they cost nothing.
        """
        gc.freeze()
        # Painted lines live long: after 20 of the smallest collections, the next one would take 70
        # ms; after 5, it takes 20.
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 5, 80)

    def on_unmount(self) -> None:
        """Unfreeze the objects: the process may outlive the app."""
        gc.unfreeze()

    @property
    def live(self) -> LiveScreen:
        """The live screen, once it has been opened."""
        return cast("LiveScreen", self._screen_stacks["live"][0])

    @property
    def has_live(self) -> bool:
        """Whether the live screen has been opened."""
        return bool(self._screen_stacks.get("live"))

    @property
    def run_state(self) -> RunState | None:
        """The run shown last, for front ends that print something after the app closes."""
        if self.has_live:
            return self.live.state
        return None

    def _make_opening(self) -> OpeningScreen:
        lines: Sequence[Cell] = ()
        if self._first.mode == "live":  # the same as it says first
            lines = self.introduction() or RUN_IS_OPENED
        return OpeningScreen(self._first, lines, self._show_first)

    async def _show_first(self) -> None:
        """Go from the opening to the first screen, unless the user has gone elsewhere."""
        if self.current_mode == OPENING:
            await self._switch(self._first.mode)
            if self._over_it is not None:
                self._over_it(self)

    async def action_go(self, mode: str) -> None:
        """Go to a screen. This one goes on while that is loaded, the first time."""
        if mode in self._screens and not self._screen_stacks.get(mode):
            await asyncio.to_thread(self._screens[mode].load)
            self.call_after_refresh(self.spare_collector)
        await self._switch(mode)

    async def _switch(self, mode: str) -> None:
        if mode == self.current_mode:
            return
        if self.current_mode != OPENING:  # nobody goes back there
            self._came_from = self.current_mode
        self._going_to = mode
        await self.switch_mode(mode)

    def delay_update(self, delay: float = 0.05) -> None:
        """Suspend repainting while a screen is composed for the first time.

        Textual does so at every switch; a screen that was shown before is complete and appears at
        once, as a whole.
        """
        stack = self._screen_stacks.get(self._going_to)
        if stack is None:
            super().delay_update(delay)
        else:
            stack[-1].refresh()
            stack[-1]._dirty_widgets.add(stack[-1])

    async def action_go_back(self) -> None:
        """Go to the screen before this one."""
        await self.action_go(self._came_from)

    async def show_job(self, path: str, *, repeats: int) -> None:
        """Go to a job file in the list of jobs; with `repeats`, open its run dialog with so
        many.
        """
        await self.action_go("jobs")
        cast("JobsScreen", self.screen).show_job(Path(path), repeats=repeats)

    async def new_job(self) -> None:
        """Go to the jobs, and ask for what a new one needs."""
        await self.action_go("jobs")
        cast("JobsScreen", self.screen).action_new_job()

    async def show_runs(self, words: str) -> None:
        """Go to the history, showing only runs in which every word is found."""
        await self.action_go("runs")
        cast("RunsScreen", self.screen).table.search(words)

    def caption(self, state: RunState, trial: int) -> str:
        """Return what a run shows at the moment, or its conclusion, in one sentence."""
        # statistics: the first paint waits for none
        from bioeval_tui.tui.live.captions_view import (
            caption,
        )

        return caption(state, trial)

    def introduction(self) -> list[Cell]:
        """Return an empty introduction; only a demo has one."""
        return []

    @property
    def theme_names(self) -> list[str]:
        """bioeval-tui's themes, then Textual's."""
        own = [look.name for look in THEMES]
        return [
            *own,
            *sorted(name for name in self.available_themes if name not in (*own, *_NOT_OFFERED)),
        ]

    def preferences_changed(self) -> None:
        """Apply changed display settings to the live screen."""
        if self.has_live:
            self.live.conversations.apply_preferences()

    def use_theme(self, name: str) -> None:
        """Change the theme and save it."""
        self.theme = name
        self.services.preferences.keep("theme", name)

    def edit_file(self, path: Path, line: int = 0) -> None:
        """Open a file in the user's editor at a line; the screen waits."""
        # it reads YAML: the first paint waits for none
        from bioeval_tui.tui.shared.editor import edit_outside

        if refused := edit_outside(self, path, line):
            self.notify(refused, severity="error", markup=False)

    @work(group="edit")
    async def edit_job(self, run_id: str, decided: Gain | None) -> None:
        """Open a run's job in the editor, at the task or assertion that decided."""
        from bioeval_tui.tui.shared.editor import deciding_line, job_file

        try:
            path = await self.services.from_runs(job_file, run_id)
            line = await self.services.in_thread(lambda: deciding_line(path, decided))
        except (BioevalError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            self.edit_file(path, line)

    @work(group="again")
    async def repeat_run(
        self, *run_ids: str, total: int = 0, otherwise: Callable[[], None] | None = None
    ) -> None:
        """Ask how to run the job of recorded runs again: their settings and models, and as many
        trials as are needed.

        These are `total`, or what a run's own answer says. `otherwise` is called if it cannot be
        asked: the job is gone, for example.
        """
        # a dialog is loaded when it is opened
        from bioeval_tui.tui import run_dialog, run_form

        try:
            path, form = await self.services.from_runs(run_form.repeated, *run_ids)
            if total:
                form = replace(form, repeats=str(total))
            job = await self.services.in_thread(lambda: self.services.job_list.item(path))
        except (BioevalError, OSError) as error:
            if otherwise is not None:
                otherwise()
            else:
                self.notify(str(error), severity="error", markup=False)
            return
        if why := cannot_run(job):
            self.notify(why, severity="error", markup=False)
            return
        self.push_screen(
            run_dialog.RunDialog(job, form, listed(run_ids)),
            partial(run_dialog.run_as_asked, self, job),
        )

    def run_again(self) -> None:
        """Start the run of the live screen, or its replay, again."""
        self.open_run(self.live.opener)

    def open_run(self, opener: Opener | None) -> None:
        """Show another run on the live screen; dialogs over it are closed."""
        # In the app's own task: a screen that is about to be closed must not wait for it.
        self.call_later(self._open_run, opener)

    def batch_grid(self, batch_id: str) -> GridScreen:
        """Return the grid of every conversation of a batch."""
        from bioeval_tui.tui.runs.grid import GridScreen

        opened = partial(self.open_conversation, batch_id=batch_id)
        return GridScreen(
            partial(self.services.batches.follow, batch_id), opened, batch_id=batch_id
        )

    def review(self, source: ReviewSource, *, blind: bool = False) -> None:
        """Open what is to be reviewed; `blind` hides the judge's scores."""
        from bioeval_tui.tui.review import ReviewScreen  # a screen is loaded when it is opened

        self.push_screen(ReviewScreen(source, blind=blind))

    def compare(self, a: str, b: str) -> None:
        """Compare run B with run A."""
        # a box is loaded when it is opened
        from bioeval_tui.tui.runs.comparison import (
            open_comparison,
        )

        open_comparison(self, a, b)

    def open_conversation(self, glance: Glance, batch_id: str | None) -> None:
        """Show a conversation of a batch on the live screen; from there, `esc` goes back to the
        grid.
        """
        self.call_later(self._open_conversation, glance, batch_id)

    async def _open_conversation(self, glance: Glance, batch_id: str | None) -> None:
        key, state = glance.key, self.run_state
        if state is None or state.started is None or state.started.run_id != key.run_id:
            opener = partial(self.services.open_recording, key.run_id)
            await self._open_run(opener)
        else:
            await self.action_go("live")
            while len(self.screen_stack) > 1:
                self.pop_screen()
        live = self.live
        live.conversations.choose(key.condition, key.trial)
        live.from_grid, live.batch_id = True, batch_id
        live.refresh_keys()

    async def _open_run(self, opener: Opener | None) -> None:
        await self.action_go("live")
        while len(self.screen_stack) > 1:
            self.pop_screen()
        await self.live.open(opener)

    # Keys that work everywhere

    def action_help(self) -> None:
        """Show what the screen is for and every key that applies."""
        self._open_kept(HelpScreen)

    def action_command_palette(self) -> None:
        """Show every action by its name."""
        if not isinstance(self.screen, Palette):
            self._open_kept(Palette)

    def _open_kept(self, kind: type[HelpScreen | Palette]) -> None:
        """Open a box on this screen: the last one of its kind, if a new one would be equal.

        Mounting its widgets again would take longer than drawing them.
        """
        kept = self._kept_boxes.get(kind)
        if kept is not None:
            try:
                self.uninstall_screen(kept)
            except ScreenStackError:  # it is open
                self.push_screen(kind(self.screen))
                return
            if kept.says_the_same(self.screen):
                kept.prepare_again()
            else:
                kept.remove()
                kept = None
        box = self._kept_boxes[kind] = kept or kind(self.screen)
        self.install_screen(box, kind.__name__)
        self.push_screen(box)

    action_screens = action_command_palette
    """A click on the footer's `0…5` shows the screens among the actions."""

    def action_settings(self) -> None:
        """Open the settings."""
        self.push_screen(SettingsDialog())

    def action_picture(self) -> None:
        """Save the screen as an SVG picture."""
        self._save_picture(Picture(self.folder / self._picture_name, ""))

    @property
    def _picture_name(self) -> str:
        return f"bioeval-tui-{self.current_mode}-{file_moment()}.svg"

    def _save_picture(self, picture: Picture) -> None:
        caption = masked(picture.caption)
        and_caption = " and its caption" if caption else ""
        try:
            path = write_picture(
                self.export_screenshot(title=caption or None), picture.path, caption
            )
        except StorageError as error:
            self.notify(f"Could not save the picture: {error}", severity="error", markup=False)
            return
        self.notify(f"Saved {home_relative(path)}{and_caption}", markup=False)

    def action_share(self) -> None:
        """Show what can be copied from this screen, and the dialog for a picture with its
        caption.
        """
        screen = self.screen
        if isinstance(screen, ShareDialog):
            return
        selected = screen.get_selected_text()
        copies, caption = [], ""
        if selected:
            copies.append(Copied("the selected text", lambda: selected))
        if isinstance(screen, BaseScreen | Dialog):
            copies += screen.copies()
            caption = screen.caption() or screen.NAME
        copies += tables(screen)
        copies.append(Copied("this screen, as text", lambda: screen_text(self)))
        if isinstance(screen, Dialog) and not screen.caption() and (below := self._caption_below()):
            caption = f"{screen.NAME}. {below}"
        picture = None
        if not self.READ_ONLY:
            picture = Picture((self._pictures or Path()) / self._picture_name, masked(caption))
        # Masking whole lines would miss a name that a row cuts off.
        copies = [copied._replace(what=masked(copied.what)) for copied in copies]
        self.push_screen(ShareDialog(copies, picture), self._shared)

    def _caption_below(self) -> str:
        """Return what the boxes and the screen below the top one say."""
        for screen in self.screen_stack[-2::-1]:
            if isinstance(screen, Dialog | BaseScreen) and (said := screen.caption()):
                return said
            if not isinstance(screen, Dialog):
                break
        return ""

    def _shared(self, chosen: Copied | Kept | Picture | None) -> None:
        """Copy the selection, or write it or the picture, after the dialog has closed."""
        if isinstance(chosen, Copied):
            self.copy_text(chosen.text(), chosen.what)
        elif isinstance(chosen, Kept):
            self._save_text(chosen.copied)
        elif chosen is not None:
            self._save_picture(chosen)

    def _save_text(self, copied: Copied) -> None:
        try:
            path = write_text(masked(copied.text()), self.folder)
        except StorageError as error:
            self.notify(f"Could not save the text: {error}", severity="error", markup=False)
            return
        self.notify(f"Saved {copied.what} as {home_relative(path)}", markup=False)

    @property
    def folder(self) -> Path:
        """Where pictures and tables are saved."""
        return self._pictures or Path.cwd()

    def notify(self, message: str, **options: Any) -> None:
        """Show a toast, masked: a file's path in it may contain a person's name."""
        super().notify(masked(message), **options)

    def clear_selection(self) -> None:
        """Clear the selected text, if a screen exists.

        Every `Input` calls this when it starts. From Python 3.12 on `App.run` starts tasks eagerly,
        so that the inputs of the first mode start before their screen is on the stack (Textual's
        issue 6444).
        """
        if self.screen_stack:
            super().clear_selection()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a masked text."""
        super().copy_to_clipboard(masked(text))

    def copy_text(self, text: str, what: str) -> None:
        """Ask the terminal to copy a text, and say so in a toast: a terminal does not tell whether
        it did.
        """
        self.copy_to_clipboard(text)
        or_file = "" if self.READ_ONLY else ". If it cannot copy: y, then ^s, writes a file"
        self.notify(f"Sent {what} to the terminal{or_file}", markup=False)

    async def action_interrupt(self) -> None:
        """Copy the selected text; without a selection, ask whether to leave."""
        selected = self.screen.get_selected_text()
        if not selected and isinstance(self.focused, Input):
            selected = self.focused.selected_text
        if selected:
            self.copy_text(selected, "the selected text")
        elif not isinstance(self.screen, QuitScreen):
            await self._ask_to_leave(always=True)

    # Leaving

    @property
    def leaving(self) -> bool:
        """Whether the app is closing."""
        return self._leaving

    @property
    def crash(self) -> BaseException | None:
        """The error that ended the app, if an error in a screen did."""
        error = self._exception
        if isinstance(error, WorkerFailed):
            return error.error
        return error

    def _handle_exception(self, error: Exception) -> None:
        """Close without Textual's traceback on the terminal: the front end reports `crash` in one
        sentence.
        """
        if isinstance(error, NoMatches) and (
            not self._running or is_going(active_message_pump.get(self))
        ):
            # what is being removed, or the program ended while mounting it, looks for children it
            # has not
            return
        super()._handle_exception(error)
        self._exit_renderables.clear()

    async def action_leave_app(self) -> None:
        """Quit: cancel runs in progress, leave them running or ask.

        The second time, quit immediately.
        """
        await self._ask_to_leave(always=False)

    async def _ask_to_leave(self, *, always: bool) -> None:
        """Ask about runs in progress and about drafts, or `always`, then quit."""
        going_on = [*self.services.in_progress(), *self._attached]
        drafts = [*self.drafts]
        if self._leaving:
            self.exit()
        elif isinstance(self.screen, LeaveScreen):
            self.screen.dismiss(True)
        elif going_on and self._on_quit != "cancel":
            self.push_screen(QuitScreen(going_on, drafts), self._cancel_and_exit)
        elif drafts or always:
            self.push_screen(LeaveScreen(drafts), self._left)
        else:
            self._left(True)

    def _left(self, leave: bool | None) -> None:
        """Quit if so answered; runs that are to be cancelled, are."""
        if leave and (self.services.in_progress() or self._attached):
            self._cancel_and_exit(True)
        elif leave:
            self.exit()

    @property
    def _attached(self) -> Sequence[str]:
        """The shown run, if it was started elsewhere, is in progress, and is not to be left
        running.
        """
        if not self.has_live or self._on_quit == "leave":
            return ()
        link = self.live.link
        if (
            not link.is_running
            or link.view is None
            or link.view.run_id in self.services.in_progress()
        ):
            return ()
        return (link.view.run_id,)

    def _cancel_and_exit(self, cancel: bool | None) -> None:
        """Exit, cancelling the runs first if `True`; `None` means to stay."""
        if cancel is None:
            return
        if not cancel:
            self.exit()
            return
        self._leaving = True
        self.notify(
            "Stopping what is in progress. Quit again to leave without waiting.", markup=False
        )
        self._cancel_runs()

    @work(group="leaving")
    async def _cancel_runs(self) -> None:
        try:
            attached = self._attached
            if self.services.in_progress():
                await self.services.stop_runs()
            if attached and self.live.batch_id is not None:
                await self.services.batches.stop(self.live.batch_id)
            elif attached:
                async with asyncio.timeout(CANCEL_WAIT_S):
                    await self.live.link.send("cancel")
                    await self.live.link.wait_for_end()
        except TimeoutError:
            pass
        finally:
            self.exit()

    # Colours

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's variables, legible, also if there are only 16 colours; then lines are
        grey, to differ from black.
        """
        dark = self.current_theme.dark
        variables = legible(super().get_css_variables(), dark=dark)
        if not self.few_colours:
            return variables
        few = variables | {"line": "#808080"}
        if dark:
            return few
        return few | FEW_COLOURS_ON_LIGHT

    @property
    def few_colours(self) -> bool:
        """Whether the terminal has no more than 16 colours."""
        return self.console.color_system == "standard"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the variables that a foreign theme lacks."""
        if self.current_theme.dark:
            return DEFAULT_VARIABLES
        return DEFAULT_LIGHT_VARIABLES

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters and the one that removes control characters."""
        filters = [*super().get_line_filters(), _SAFE_LINES]
        if masking() and (rules := current().rules):
            filters.append(MaskedLines(rules.spans))
        return filters


_NOT_OFFERED = ("textual-ansi", "ansi-dark", "ansi-light")
"""Themes that use only the terminal's colours, and so lack shades for cursors and boxes."""
_SAFE_LINES = SafeLines()
