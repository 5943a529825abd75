"""Every screen and every key of the program, in two tables: bindings, footer, help and
docs/screens.md come from them.

To add a screen, write its file, and add its line to `SCREENS`. A row of `TABLE` says where a key
applies: `live/replay` is the part `replay` of the screen `live`; a key of several screens names
them all. `~` starts the name of a widget, whose keys only move and open. The order is that of the
footer. `KeyOwners` lets keys of a widget apply wherever the focus is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple
from unicodedata import lookup

from textual.actions import parse
from textual.binding import Binding, BindingsMap, BindingType
from textual.dom import DOMNode
from textual.keys import _get_unicode_name_from_key, key_to_character
from textual.screen import Screen
from textual.widget import Widget


class ScreenEntry(NamedTuple):
    """A screen with a key: its name, key, label, tooltip, and its class as `module:Class`.

    The first paint may wait for one that `is_light`.
    """

    mode: str
    key: str
    label: str
    tooltip: str
    where: str
    is_light: bool = False

    @property
    def title(self) -> str:
        """The name in the screen's title, before it is loaded."""
        return self.mode.capitalize()

    @property
    def is_loaded(self) -> bool:
        """Whether the screen's module is loaded, or is being loaded."""
        return self.where.partition(":")[0] in sys.modules

    def load(self) -> type[Screen[Any]]:
        """Load the screen's module, which may take half a second, and return its class."""
        module, _, name = self.where.partition(":")
        screen: type[Screen[Any]] = getattr(import_module(module), name)
        return screen

    def make(self) -> Screen[Any]:
        """Return the screen."""
        return self.load()()


SCREENS: tuple[ScreenEntry, ...] = (
    ScreenEntry(
        "home",
        "0",
        "home",
        "Go to your newest runs and what to do next",
        "bioeval_tui.tui.home:HomeScreen",
        is_light=True,
    ),
    ScreenEntry("jobs", "1", "jobs", "Go to the job files", "bioeval_tui.tui.jobs:JobsScreen"),
    ScreenEntry(
        "live",
        "2",
        "live run",
        "Go to the run you are watching",
        "bioeval_tui.tui.live.live:LiveScreen",
    ),
    ScreenEntry(
        "runs", "3", "runs", "Go to the recorded runs", "bioeval_tui.tui.runs.runs:RunsScreen"
    ),
    ScreenEntry(
        "benchmarks",
        "4",
        "benchmarks",
        "Go to the machine-learning tasks",
        "bioeval_tui.tui.benchmarks:BenchmarksScreen",
    ),
    ScreenEntry(
        "medals",
        "5",
        "medal table",
        "Go to the graded submissions",
        "bioeval_tui.tui.medals.medals:MedalsScreen",
    ),
)


class Key(NamedTuple):
    """What a key does, and where. Two keys with the same `pair` share one label in the footer."""

    where: str
    keys: str
    action: str
    label: str
    tooltip: str = ""
    shown: bool = True
    pair: str = ""


HIDDEN = False
LISTS = "jobs runs benchmarks"
FORMS = "run-a-job review-form own-agent"
LINES = f"{FORMS} settings share"
TEXTS = "~source ~card ~text"

TABLE: tuple[Key, ...] = (
    # Everywhere
    Key("app", "s", "picture", "screenshot", "Save this screen as an SVG picture", HIDDEN),
    Key("app", "y", "share", "copy",
        "Copy the selected row, the table or the screen, or save a picture with its caption",
        HIDDEN),
    Key("app", "comma", "settings", "settings", "Change the theme and display settings", HIDDEN),
    Key("app", "question_mark", "help", "help", "Show what this screen is for, and its keys"),
    Key("app", "ctrl+p", "command_palette", "palette", "Find any action by name"),
    Key("app", "q", "leave_app", "quit", "Leave the program"),
    Key("app", "ctrl+q", "leave_app", "quit", "Leave the program", HIDDEN),
    Key("demo", "space", "hold_demo", "pause", "Pause or continue the demo"),
    # Home
    Key("home", "tab", "next_list", "next list", "Go to the next list"),
    # Jobs
    Key("jobs", "r", "run", "run", "Run this job; a dialog lets you choose how", HIDDEN),
    Key("jobs", "plus", "new_job", "new", "Make a job for your own agent"),
    Key("jobs", "e", "edit", "edit", "Open the file in $EDITOR at its first problem"),
    Key("jobs", "A", "runs", "its runs", "Show all runs of this job"),
    Key("jobs", "tab", "preview", "preview", "Switch between the table and the text"),
    # Live
    Key("live", "escape", "to_card", "score card", "Go back to the score card"),
    Key("live", "escape", "to_grid", "grid", "Go back to the grid of all conversations"),
    Key("live/stage", "p", "stop_presenting", "end presentation",
        "Go back to the full screen; esc does the same"),
    Key("live/operator", "space", "pause", "pause",
        "Pause both conversations before the next message"),
    Key("live/operator", "space", "resume", "continue", "Continue both conversations"),
    Key("live/operator", "n", "step", "step", "Let one message through, then pause again"),
    Key("live/operator", "t", "take_over", "take over",
        "Type the user's next messages yourself; they are marked as operator"),
    Key("live/operator", "t", "say", "type", "Go to the input for the user's message"),
    Key("live/operator", "T", "give_back", "give back", "Let the evaluator play the user again"),
    Key("live/conversations", "f", "follow", "follow",
        "Follow the newest message in both conversations"),
    Key("live/replay", "space", "hold", "pause", "Pause the replay"),
    Key("live/replay", "space", "play", "play", "Continue the replay"),
    Key("live/replay", "n", "play_step", "step", "Play the next message, then pause"),
    Key("live/replay", "b", "play_back", "back", "Go back one message and pause"),
    Key("live/replay", "left_square_bracket", "turn(-1)", "previous turn",
        "Go to the previous turn and pause", pair="turn"),
    Key("live/replay", "right_square_bracket", "turn(1)", "next turn",
        "Go to the next turn and pause", pair="turn"),
    Key("live/replay", "B", "edge(0)", "start", "Go to the start of the recording", HIDDEN),
    Key("live/replay", "E", "edge(-1)", "end", "Go to the end of the recording", HIDDEN),
    Key("live/replay", "less_than_sign", "speed(-1)", "slower", "Play slower, down to 0.5×",
        pair="speed"),
    Key("live/replay", "greater_than_sign", "speed(1)", "faster", "Play faster, up to 32×",
        pair="speed"),
    Key("live/replay", "exclamation_mark", "next_failure", "next failure",
        "Go to the next failed assertion and pause"),
    Key("live/conversations", "left_curly_bracket", "other_trial(-1)", "previous trial",
        "Go to the previous trial",
        pair="trial"),
    Key("live/conversations", "right_curly_bracket", "other_trial(1)", "next trial",
        "Go to the next trial", pair="trial"),
    Key("live/conversations", "tab", "switch_condition", "switch", "Switch to the other condition"),
    Key("live", "o", "score_card", "score card",
        "Show the scores, their parts and the judge's reasons"),
    Key("live", "r", "again", "run again", "Run the same job again"),
    Key("live/panels", "i", "next_panel", "panels",
        "Open tasks, latency and assertions as panels, and go to the next; enter opens a row"),
    Key("live/stage", "p", "present", "present",
        "Show only the conversation and what came out, for an audience"),
    Key("live/conversations", "f", "stay", "stay", "Stop following new messages and conversations",
        HIDDEN),
    Key("live/find", "slash", "find", "find",
        "Find text in all conversations of the run, this trial first"),
    Key("live/conversations", "e", "events", "events",
        "Show or hide the agent's tool calls and events"),
    Key("live/conversations", "w", "waterfall", "waterfall",
        "Show the agent's spans of this turn on a time axis"),
    Key("live/conversations", "L", "link", "link", "Scroll both conversations together, by turn"),
    Key("live/conversations", "L", "unlink", "unlink", "Scroll each conversation separately"),
    Key("live/conversations", "d", "density", "density", "Show or hide empty lines between turns",
        HIDDEN),
    Key("live/operator", "X", "cancel", "cancel", "Cancel this conversation"),
    Key("live/operator", "C", "cancel_all", "cancel all", "Cancel the whole run"),
    Key("live", "U", "manner", "user", "Compare how the user speaks with people", HIDDEN),
    Key("live", "A", "grid", "all", "Show all conversations, those that need attention first"),
    Key("live", "escape", "leave", "back",
        "Go from a panel to the conversation, or to the screen before", HIDDEN),
    Key("live", "w", "no_spans", "waterfall", "Say why there is no waterfall", HIDDEN),
    # Runs
    Key("runs", "m", "mark", "mark", "Mark this run; two marked runs can be compared"),
    Key("runs", "equals_sign", "compare", "compare", "Compare the two marked runs"),
    Key("runs", "u", "undo", "undo delete", "Restore the runs deleted last"),
    Key("runs", "A", "batch", "its batch", "Show all conversations of its batch"),
    Key("runs", "space", "replay", "replay", "Replay this run at a speed that you choose"),
    Key("runs", "e", "edit", "edit the job",
        "Open the job in $EDITOR at the task or assertion that decided"),
    Key("runs", "r", "again", "run again",
        "Run the job again with these settings; a dialog lets you change them"),
    Key("runs", "v", "review", "review", "Review the judged tasks of this run or the marked runs"),
    Key("runs", "x", "report", "report", "Write an HTML report of this run or the marked runs"),
    Key("runs", "D,delete", "delete", "delete", "Move this run to the trash; you can restore it"),
    # Benchmarks
    Key("benchmarks", "P", "prepare", "prepare",
        "Download and split the task's data so that you can grade files"),
    Key("benchmarks", "M", "grade", "grade", "Grade a file and show its medal card"),
    Key("benchmarks", "V", "validate", "validate", "List every problem with a file"),
    Key("benchmarks", "tab", "card", "description", "Switch between the table and the description"),
    # Medals
    Key("medals", "M", "grade_samples", "grade samples", "Grade the three sample submissions"),
    Key("medals", "C", "stop", "stop", "Stop grading; finished results are kept"),
    Key("medals", "P", "prepare", "prepare",
        "Prepare this submission's task, then grade what is waiting for it"),
    Key("medals medal-card", "r", "again", "grade again",
        "Grade this file again; after a stop, all from the start"),
    Key("medals medal-card", "ctrl+e", "edit", "edit",
        "Open this file in $EDITOR at its first finding with a line"),
    Key("medals", "exclamation_mark", "next_invalid", "next invalid",
        "Go to the next invalid file"),
    Key("medals", "plus", "grade_list", "grade a list",
        "Grade the submissions of a list of your own"),
    # Lists
    Key(f"{LISTS} medals", "slash", "filter", "filter", "Show only rows with this text"),
    Key(LISTS, "left,h", "sort(-1)", "sort by the previous column", "Sort by the previous column",
        pair="sort"),
    Key(LISTS, "right,l", "sort(1)", "sort by the next column", "Sort by the next column",
        pair="sort"),
    Key("medals/submissions", "left", "sort(-1)", "sort by the previous column",
        "Sort by the previous column", pair="sort"),
    Key("medals/submissions", "right", "sort(1)", "sort by the next column",
        "Sort by the next column", pair="sort"),
    Key("runs benchmarks medals/submissions", "R", "reverse", "reverse", "Reverse the order"),
    Key("medals", "tab", "group", "by agent", "Show totals and medals by agent and domain"),
    Key("medals", "tab", "ungroup", "every row", "Show every submission again"),
    Key("medals", "v", "review", "review", "Accept or mark the submissions shown"),
    Key("medals", "V", "validate", "validate", "List every problem with this file"),
    Key("medals", "x", "export", "export", "Export the rows shown"),
    Key(f"{LISTS} medals grid", "escape", "back", "back", "Clear the filter, then go back"),
    Key("jobs runs", "w", "exact", "exact times", "Switch between exact and relative times"),
    Key("jobs", "R", "reverse", "reverse", "Reverse the order", HIDDEN),
    # Grid
    Key("grid", "slash", "filter", "filter", "Show only cells with this text"),
    Key("grid", "equals_sign", "compare", "compare", "Compare the two runs of the batch"),
    Key("grid", "r", "again", "run again",
        "Run the job again with these models; a dialog lets you change how"),
    Key("grid", "C", "stop", "stop all",
        "Cancel every conversation of the batch and start no more"),
    # Review
    Key("review", "a", "accept", "accept", "Accept the judge's score or the grading"),
    Key("review", "0", "give(0.0)", "not met", "Give the score 0 and go on", pair="not met or met"),
    Key("review", "1", "give(1.0)", "met", "Give the score 1 and go on; 2 to 9 give 0.2 to 0.9",
        pair="not met or met"),
    *(Key("review", str(tenths), f"give({tenths / 10})", f"0.{tenths}",
            f"Give the score 0.{tenths} and go on", HIDDEN)
      for tenths in range(2, 10)),
    Key("review", "S", "override", "override", "Give another score, with a reason if you like"),
    Key("review", "S", "score", "score", "Give your score, with a reason if you like"),
    Key("review", "S", "mark", "mark",
        "Mark the submission as valid, invalid or suspicious and say why"),
    Key("review", "F", "fault", "fault",
        "Say who is at fault for the failed conversation, and why"),
    Key("review", "N", "note", "note", "Add a note; it changes no score"),
    Key("review", "u", "undo", "undo", "Undo your last review; both stay on record"),
    Key("review", "H", "blind(True)", "blind", "Hide the judge's score until you have given yours"),
    Key("review", "H", "seeing", "show judge", "Show the judge's score from the start"),
    Key("review", "O", "to_do", "to do only", "Show only what you have not reviewed"),
    Key("review", "O", "everything", "all", "Show what you have reviewed as well"),
    Key("review", "tab", "pane", "read", "Switch between the queue and the transcript or card"),
    Key("review", "escape", "back", "back", "Go from the transcript to the queue, then back"),
    # Boxes
    Key("assertion", "left,h", "turn(-1)", "previous turn", "Show the check one turn earlier",
        pair="turn"),
    Key("assertion", "right,l", "turn(1)", "next turn", "Show the check one turn later",
        pair="turn"),
    Key("assertion", "tab", "other", "other condition", "Show the other condition"),
    Key("waterfall", "left,h", "turn(-1)", "previous turn", "Show the previous turn", pair="turn"),
    Key("waterfall", "right,l", "turn(1)", "next turn", "Show the next turn", pair="turn"),
    Key("waterfall", "tab", "other", "other condition", "Show the other condition"),
    Key("error-view", "escape", "close", "close", "Go back to the card"),
    Key("error-view", "A", "answers", "show private answers",
        "Show the views of private answers; the ledger records it"),
    Key("compare", "r", "again", "run again",
        "Run the job again with both models; a dialog lets you change how"),
    Key("compare", "O", "differences", "only differences",
        "Hide rows that are the same in both runs"),
    Key("compare", "O", "every_row", "all rows", "Show rows that are the same as well"),
    Key("share", "y", "first", "copy", "Copy the first row"),
    Key("share", "ctrl+s", "to_file", "to a file",
        "Write the selected row to a text file in the current folder"),
    Key("passages", "tab", "other", "other run", "Go to the other run"),
    Key("passages", "left_curly_bracket", "other_trial(-1)", "previous trial",
        "Go to the previous trial", pair="trial"),
    Key("passages", "right_curly_bracket", "other_trial(1)", "next trial", "Go to the next trial",
        pair="trial"),
    Key("export", "c", "choose('csv')", "CSV",
        "Export comma-separated values with unrounded numbers"),
    Key("export", "m", "choose('md')", "Markdown", "Export a Markdown table"),
    Key("export", "escape", "close", "close", "Close without exporting"),
    Key("help", "question_mark", "close", "close", "Close the help", HIDDEN),
    Key("medal-card", "enter", "explain", "explain the score",
        "Explain the score: residuals, classes, groups, attempts"),
    Key("medal-card", "V", "validate", "validate", "List every problem with this file"),
    Key("leave", "enter", "leave", "leave", "Leave the program"),
    Key("leave", "escape", "close", "stay", "Stay in the program"),
    Key("quit", "l", "answer(False)", "leave it running"),
    Key("quit", "X", "answer(True)", "stop it"),
    Key("quit", "escape", "close", "stay"),
    Key("run-a-job", "enter", "give", "start", "Start the run"),
    Key("run-a-job", "ctrl+t", "test", "test connection",
        "Check that the agent and the models answer; nothing from the job is sent"),
    Key("own-agent", "ctrl+n", "another_task", "another task",
        "Ask for one more thing that the user wants"),
    Key("own-agent", "enter", "give", "write the job", "Write the job file, and ask how to run it"),
    Key("review-form", "enter", "give", "save", "Save this review beside the recording"),
    Key(FORMS, "ctrl+r", "start_over", "start over", "Fill in the form as it was before you typed",
        HIDDEN),
    Key(LINES, "up", "next(-1)", "previous line", "Go to the previous line", pair="next"),
    Key(LINES, "down", "next(1)", "next line", "Go to the next line", pair="next"),
    Key("score-card", "escape", "close", "close", "Go back to the conversations"),
    Key("score-card", "left,h,left_curly_bracket", "other_trial(-1)", "previous trial",
        "Go to the previous trial; before the first stand all of them", pair="trial"),
    Key("score-card", "right,l,right_curly_bracket", "other_trial(1)", "next trial",
        "Go to the next trial", pair="trial"),
    Key("score-card", "tab", "other", "condition", "Show the other condition"),
    Key("score-card", "full_stop", "more", "more",
        "Show or hide response times, intervals, pass^k, cost, how the score adds up"),
    Key("score-card", "v", "review", "review", "Accept the judge's scores or give others"),
    Key("score-card", "e", "edit", "edit the job",
        "Open the job in $EDITOR at the task or assertion that decided"),
    Key("score-card", "r", "again", "run again",
        "Run the job again with these settings; a dialog lets you change them"),
    Key("score-card", "y", "app.share", "copy",
        "Copy the card, or save a picture of the screen with its caption",
        HIDDEN),
    Key("beside", "enter", "whole", "compare in detail",
        "Compare the two runs part by part, and read what both did"),
    Key("try-your-own", "enter", "own_jobs", "jobs", "Go to the jobs, including the samples"),
    Key("try-your-own", "r", "watch_again", "watch again", "Watch the demo again"),
    Key("work", "escape", "close", "stop", "Stop and go back"),
    # A modal screen does not pass keys on to the application; these are needed on each of them.
    Key("score-card", "question_mark", "app.help", "help",
        "Show what this card is for, and its keys"),
    Key("score-card", "q", "app.leave_app", "quit", "Leave the program"),
    Key("dialog", "escape", "close", "close", "Go back"),
    Key("dialog", "question_mark", "app.help", "help", "Show what this dialog is for, and its keys",
        HIDDEN),
    Key("dialog", "s", "app.picture", "screenshot", "Save this screen as an SVG picture", HIDDEN),
    Key("dialog", "y", "app.share", "copy",
        "Copy the text of this dialog, or save a picture of the screen", HIDDEN),
    Key("dialog", "ctrl+p", "app.command_palette", "palette", "Find any action by name", HIDDEN),
    Key("dialog", "q", "app.leave_app", "quit", "Leave the program", HIDDEN),
    Key("dialog", "ctrl+q", "app.leave_app", "quit", "Leave the program", HIDDEN),
    # Widgets: keys that navigate and open, for the focused widget.
    Key("~rows", "up,k", "move(-1)", "row up", "Move up one row", HIDDEN),
    Key("~rows", "down,j", "move(1)", "row down", "Move down one row", HIDDEN),
    Key("~rows", "pageup,ctrl+b", "page(-1)", "page up", "Move up one page", HIDDEN),
    Key("~rows", "pagedown,ctrl+f", "page(1)", "page down", "Move down one page", HIDDEN),
    Key("~rows", "home,g", "edge(0)", "first row", "Go to the first row", HIDDEN),
    Key("~rows", "end,G", "edge(1)", "last row", "Go to the last row", HIDDEN),
    Key("~rows", "enter", "choose", "open", "Open this row"),
    Key("~home-rows", "enter", "choose", "go", "Do or open what this row describes"),
    Key("~job-rows", "enter", "choose", "run", "Run this job; a dialog lets you choose how"),
    Key("~run-rows", "enter", "choose", "open", "Watch the run, or show how it ended"),
    Key("~benchmark-rows", "enter", "choose", "open", "Show the full description and leaderboard"),
    Key("~medal-rows", "enter", "choose", "explain",
        "Open the card of this submission, which explains its score"),
    Key("~group-rows", "enter", "choose", "submissions", "Show only these submissions"),
    Key("~queue-rows", "enter", "choose", "evidence",
        "Go to the next passage that the judge quotes"),
    Key("~evidence-rows", "enter", "choose", "passage",
        "Go to the message it refers to; esc comes back here"),
    Key("~compared-rows", "enter", "choose", "passages", "Show what both runs did, side by side"),
    Key("~share-rows", "enter", "choose", "copy", "Copy this"),
    Key("~share-field", "enter", "submit", "write", "Save the picture and its caption"),
    Key("~speed-rows", "enter", "choose", "play", "Play the run at this speed"),
    Key("~tiles", "enter", "choose", "open", "Open this conversation"),
    Key("~tiles", "left,h", "move(-1)", "left", "Go to the previous cell", HIDDEN),
    Key("~tiles", "right,l", "move(1)", "right", "Go to the next cell", HIDDEN),
    Key("~tiles", "up,k", "row(-1)", "up", "Move up one row", HIDDEN),
    Key("~tiles", "down,j", "row(1)", "down", "Move down one row", HIDDEN),
    Key("~tiles", "pageup,ctrl+b", "page(-1)", "page up", "Move up one page", HIDDEN),
    Key("~tiles", "pagedown,ctrl+f", "page(1)", "page down", "Move down one page", HIDDEN),
    Key("~tiles", "home,g", "edge(0)", "first", "Go to the first cell", HIDDEN),
    Key("~tiles", "end,G", "edge(1)", "last", "Go to the last cell", HIDDEN),
    Key(TEXTS, "k", "scroll_up", "line up", shown=HIDDEN),
    Key(TEXTS, "j", "scroll_down", "line down", shown=HIDDEN),
    Key(TEXTS, "ctrl+f", "page_down", "page down", shown=HIDDEN),
    Key(TEXTS, "ctrl+b", "page_up", "page up", shown=HIDDEN),
    Key(f"{TEXTS} ~transcript", "g", "scroll_home", "to the start", shown=HIDDEN),
    Key(f"{TEXTS} ~transcript", "G", "scroll_end", "to the end", shown=HIDDEN),
    Key("~bar", "left,h", "turn(-1)", "previous turn", "Go to the previous turn", HIDDEN),
    Key("~bar", "right,l", "turn(1)", "next turn", "Go to the next turn", HIDDEN),
    Key("~bar", "home,g", "edge(0)", "start", "Go to the start", HIDDEN),
    Key("~bar", "end,G", "edge(-1)", "end", "Go to the end", HIDDEN),
    Key("~transcript", "j", "next_fold(1)", "next detail", "Go to the next expandable line",
        HIDDEN),
    Key("~transcript", "k", "next_fold(-1)", "previous detail",
        "Go to the previous expandable line", HIDDEN),
    Key("~transcript", "enter", "open", "open", "Expand or collapse the selected line", HIDDEN),
    Key("~transcript", "e", "toggle_events", "events",
        "Show or hide the agent's tool calls and events"),
    Key("~transcript", "f", "follow", "follow", "Follow the newest message"),
    Key("~choice", "left", "go(-1)", "previous value", "Choose the previous value", pair="choose"),
    Key("~choice", "right", "go(1)", "next value", "Choose the next value", pair="choose"),
    Key("~choice", "space", "go(1)", "next value", "Choose the next value", HIDDEN),
    Key("~run-field", "enter", "submit", "start", "Start the run"),
    Key("~job-field", "enter", "submit", "write the job",
        "Write the job file, and ask how to run it"),
    Key("~review-field", "enter", "submit", "save", "Save this review beside the recording"),
    Key("~path-field", "enter", "submit", "continue", "Continue with this file"),
)  # fmt: skip


class Placed(NamedTuple):
    """A row of the table at one of its places."""

    key: Key
    place: str


def table() -> Sequence[Key]:
    """Return every row: the keys that go to screens, then the others."""
    going = [
        Key(
            "app", entry.key, f"go('{entry.mode}')", entry.label, entry.tooltip, entry is SCREENS[0]
        )
        for entry in SCREENS
    ]
    # The card covers the live screen when a run ends, and leaving it must work as everywhere.
    going += [
        Key("score-card", entry.key, f"app.go('{entry.mode}')", entry.label, entry.tooltip, HIDDEN)
        for entry in SCREENS
    ]
    return [*going, *TABLE]


def placed() -> Sequence[Placed]:
    """Return every row at every of its places."""
    return _placed(SCREENS)


@cache
def _placed(_: tuple[ScreenEntry, ...]) -> Sequence[Placed]:
    return [Placed(key, place) for key in table() for place in key.where.split()]


def bindings(place: str) -> list[BindingType]:
    """Return the bindings of a place, for `BINDINGS` of a class; each has its place as its id, but
    for widgets' keys.
    """
    return [
        Binding(
            key.keys,
            key.action,
            key.label,
            show=key.shown,
            tooltip=key.tooltip,
            id=None if place.startswith("~") else place,
            group=Binding.Group(key.pair) if key.pair else None,
        )
        for key, at in placed()
        if at == place
    ]


def set_keys(widget: Widget, place: str) -> None:
    """Give one widget the keys of a place, instead of those that its class has for them."""
    widget._bindings.key_to_bindings |= BindingsMap(bindings(place)).key_to_bindings


def order() -> dict[tuple[str | None, str], int]:
    """Return the position of every key in the footer, by its place and action."""
    return {(place, key.action): at for at, (key, place) in enumerate(placed())}


class KeyOwners:
    """Widgets of a screen whose keys apply wherever the focus is: each owns its actions, not the
    screen.

    Textual asks the focused widget, its ancestors, the screen and the app for a key; `chain` adds
    the owners before the screen. `add` takes a widget and its place in the table of keys.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._bindings: dict[Widget, BindingsMap] = {}

    def __contains__(self, node: object) -> bool:
        return node in self._bindings

    def add(self, owner: Widget, place: str) -> None:
        """Let the keys of `place` apply on the screen; their actions are the owner's."""
        self._bindings[owner] = BindingsMap(bindings(place))

    def binding_of(self, action: str) -> Binding | None:
        """Return the binding of an action, of the owner that was added first if several have it;
        None if no owner has it.
        """
        for owned in self._bindings.values():
            for _, binding in owned:
                if binding.action == action:
                    return binding
        return None

    def chain(self, chain: list[tuple[DOMNode, BindingsMap]]) -> list[tuple[DOMNode, BindingsMap]]:
        """Return Textual's chain of bindings with the owners' before the screen's, but for keys
        that are typed.
        """
        focused = self._screen.focused
        own: list[tuple[DOMNode, BindingsMap]] = []
        for owner, bound in self._bindings.items():
            left = bound.copy()
            for key in bound.key_to_bindings:
                if focused is not None and focused.check_consume_key(key, key_to_character(key)):
                    del left.key_to_bindings[key]
            own.append((owner, left))
        at = next(at for at, (node, _) in enumerate(chain) if node is self._screen)
        return [*chain[:at], *own, *chain[at:]]

    def applying(self) -> tuple[bool, ...]:
        """Return for each key of the owners whether it applies now."""
        return tuple(
            owner.check_action(*parse(binding.action)[1:]) is True
            for owner, own in self._bindings.items()
            for _, binding in own
        )


_NAMES = {
    "question_mark": "?",
    "ctrl+p": "^p",
    "slash": "/",
    "escape": "esc",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "equals_sign": "=",
    "plus": "+",
    "enter": "enter",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "backspace": "⌫",
}


def key_name(key: str) -> str:
    """Return a binding's key as people write it: `{` for `left_curly_bracket`, `^p` for
    `ctrl+p`.
    """
    if key in _NAMES:
        return _NAMES[key]
    *modifiers, last = key.split("+")
    with suppress(KeyError):
        character = lookup(_get_unicode_name_from_key(last).replace("_", " "))
        if character.isprintable() and character != " ":
            last = character  # space and tab are words
    if modifiers == ["ctrl"]:
        return "^" + last
    return "+".join([*modifiers, last])
