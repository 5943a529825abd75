"""Every key of the program, in one table: bindings, footer, help, the keys dialog and docs/screens.md come from it.

A row says where the key applies. `live/replay` is the part `replay` of the screen `live`; a key of several screens
names them all. The order is that of the footer. A key that people can change has a name, `screen.action`; what one
key of a screen does under different circumstances (pause, go on) has one name: that of the first row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from textual.binding import Binding, BindingType

from bioeval_tui.tui import screens


class Key(NamedTuple):
    """What a key does, and where. Two keys with the same `pair` share one label in the footer."""

    where: str
    keys: str
    action: str
    label: str
    tooltip: str = ""
    shown: bool = True
    pair: str = ""
    name: str = ""


HIDDEN = False
LISTS = "jobs runs benchmarks"
FORMS = "run-a-job review-form"

TABLE: tuple[Key, ...] = (
    # Everywhere
    Key("app", "s", "picture", "screenshot", "Save this screen as an SVG picture", HIDDEN),
    Key("app", "y", "share", "copy", "Copy what is looked at, a table or the screen; or write a picture with its caption"),
    Key("app", "comma", "settings", "settings", "Themes, with a preview, and reading habits", HIDDEN),
    Key("app", "question_mark", "help", "help", "What this screen shows, its keys"),
    Key("app", "ctrl+p", "command_palette", "palette", "Every action by name"),
    Key("app", "q", "leave_app", "quit", "Leave the program"),
    Key("app", "ctrl+q", "leave_app", "quit", "Leave the program", HIDDEN),
    Key("demo", "space", "hold_demo", "pause", "Stop the demo here; once more, it continues"),
    # Home
    Key("home", "tab", "next_list", "next list", "To the next list"),
    # Jobs
    Key("jobs", "r", "run", "run", "Run this job; a dialog asks how", HIDDEN),
    Key("jobs", "ctrl+e", "edit", "edit", "Open the file in $EDITOR, at its first problem"),
    Key("jobs", "A", "runs", "its runs", "All runs of this job"),
    Key("jobs", "tab", "preview", "preview", "Between the table and the text"),
    # Live
    Key("live", "escape", "to_card", "score card", "Back to the score card"),
    Key("live", "escape", "to_grid", "grid", "Back to every conversation at a glance"),
    Key("live/stage", "p", "stop_presenting", "end presentation", "Back to the whole screen; esc does the same",
        name="present"),
    Key("live/operator", "space", "pause", "pause", "Both conversations wait before the next message"),
    Key("live/operator", "space", "resume", "continue", "Continue after a pause"),
    Key("live/operator", "n", "step", "step", "One message, then wait again"),
    Key("live/operator", "t", "take_over", "take over", "You type the user's next message; marked as operator"),
    Key("live/operator", "t", "say", "type", "To the line for the user's message"),
    Key("live/operator", "T", "give_back", "give back", "The evaluator plays the user again"),
    Key("live/conversations", "f", "follow", "follow",
        "Go to the newest message and stay with it, in both conversations"),
    Key("live/replay", "space", "hold", "pause", "The replay waits here"),
    Key("live/replay", "space", "play", "play", "The replay continues"),
    Key("live/replay", "n", "play_step", "step", "To the end of the next message, then wait"),
    Key("live/replay", "b", "play_back", "back", "One message back, then wait"),
    Key("live/replay", "left_square_bracket", "turn(-1)", "turn before", "To the turn before, then wait", pair="turn"),
    Key("live/replay", "right_square_bracket", "turn(1)", "next turn", "To the next turn, then wait", pair="turn"),
    Key("live/replay", "B", "edge(0)", "beginning", "To the beginning of the recording", HIDDEN),
    Key("live/replay", "E", "edge(-1)", "end", "To the end of the recording", HIDDEN),
    Key("live/replay", "less_than_sign", "speed(-1)", "slower", "Slower, down to 0.5×", pair="speed"),
    Key("live/replay", "greater_than_sign", "speed(1)", "faster", "Faster, up to 32×", pair="speed"),
    Key("live/replay", "exclamation_mark", "next_failure", "next failure",
        "To the next assertion that fails, then wait"),
    Key("live/conversations", "left_curly_bracket", "other_trial(-1)", "trial before", "To the trial before",
        pair="trial"),
    Key("live/conversations", "right_curly_bracket", "other_trial(1)", "next trial", "To the next trial", pair="trial"),
    Key("live/conversations", "tab", "switch_condition", "switch", "Act on the other condition"),
    Key("live", "o", "score_card", "score card", "Scores, their parts, and the judge's reasons"),
    Key("live", "r", "again", "run again", "Start the same once more"),
    Key("live/panels", "i", "next_panel", "panel", "Tasks, latency, assertions; enter opens a row"),
    Key("live/stage", "p", "present", "present", "Only the conversation, the score and one chart, for an audience"),
    Key("live/conversations", "f", "stay", "stay", "Stay here, whatever comes in; new conversations, too", HIDDEN),
    Key("live/find", "slash", "find", "find", "Find in all conversations of the run: this trial's first"),
    Key("live/conversations", "e", "events", "events", "Fold or unfold what the agent did between the lines"),
    Key("live/conversations", "w", "waterfall", "waterfall", "When the agent did what in this turn: its spans, along the time"),
    Key("live/conversations", "L", "link", "link", "Scrolling one conversation shows the same turn in the other"),
    Key("live/conversations", "L", "unlink", "unlink", "Each conversation scrolls by itself"),
    Key("live/conversations", "d", "density", "density", "With or without empty lines between turns", HIDDEN),
    Key("live/operator", "X", "cancel", "cancel", "End this conversation"),
    Key("live/operator", "C", "cancel_all", "cancel all", "End the whole run"),
    Key("live", "U", "manner", "user", "How the simulated user speaks, beside people", HIDDEN),
    Key("live", "A", "grid", "all", "Every conversation at a glance, what needs attention first"),
    Key("live", "escape", "leave", "back", "From a panel back to the conversation", HIDDEN),
    # Runs
    Key("runs", "m", "mark", "mark", "Mark this run; two marked runs can be compared"),
    Key("runs", "equals_sign", "compare", "compare", "The second marked run against the first"),
    Key("runs", "u", "undo", "undo delete", "Bring back what was deleted last"),
    Key("runs", "A", "batch", "its batch", "Every run of its batch at a glance"),
    Key("runs", "space", "replay", "replay", "Play it again, at a speed that you choose"),
    Key("runs", "v", "review", "review", "Review its judged tasks, or those of the marked runs"),
    Key("runs", "x", "report", "report", "Write an HTML report of it, or of the marked runs"),
    Key("runs", "D,delete", "delete", "delete", "Move it to the trash; it can be brought back"),
    # Benchmarks
    Key("benchmarks", "P", "prepare", "prepare", "Get the data and split it, so that files can be graded"),
    Key("benchmarks", "g", "grade", "grade", "Grade a file; the result is a medal card"),
    Key("benchmarks", "V", "validate", "validate", "Say everything that is wrong with a file"),
    Key("benchmarks", "tab", "card", "description", "Between the table and the description"),
    # Medals
    Key("medals", "g", "grade_samples", "grade samples", "Grade three submissions that are shipped with the program"),
    Key("medals", "C", "stop", "stop", "Stop grading; what is graded by now stays"),
    Key("medals", "P", "prepare", "prepare", "Get the data of this submission's task, then grade what waits for it"),
    Key("medals", "r", "again", "grade again", "Grade from the start what was stopped"),
    # Lists
    Key(f"{LISTS} medals", "slash", "filter", "filter", "Show rows with these words only"),
    Key(LISTS, "left,h", "sort(-1)", "sort by the column before", "Sort by the column before", pair="sort"),
    Key(LISTS, "right,l", "sort(1)", "sort by the next column", "Sort by the next column", pair="sort"),
    Key("medals", "left", "sort(-1)", "sort by the column before", "Sort by the column before", pair="sort"),
    Key("medals", "right", "sort(1)", "sort by the next column", "Sort by the next column", pair="sort"),
    Key("runs benchmarks medals", "R", "reverse", "reverse", "Sort the other way round"),
    Key("medals", "tab", "group", "by agent", "Totals and medals by agent and domain"),
    Key("medals", "tab", "ungroup", "every row", "Every submission again"),
    Key("medals", "v", "review", "review", "Accept the grading, or mark submissions, of the rows shown"),
    Key("medals", "V", "validate", "validate", "Say everything that is wrong with this file"),
    Key("medals", "c", "columns", "columns", "Choose the columns that are shown"),
    Key("medals", "x", "export", "export", "Write the rows that are shown"),
    Key(f"{LISTS} medals grid", "escape", "back", "back", "Clear the filter, then go back"),
    Key("jobs runs", "w", "exact", "exact times", "When, instead of how long ago"),
    Key("jobs", "R", "reverse", "reverse", "Sort the other way round", HIDDEN),
    # Grid
    Key("grid", "slash", "filter", "filter", "Show cells with these words only"),
    Key("grid", "C", "stop", "stop all", "End every conversation of the batch; none begins any more"),
    # Review
    Key("review", "a", "accept", "accept", "The judge's score, or the grading, is right"),
    Key("review", "S", "override", "override", "Give another score, and say why"),
    Key("review", "S", "score", "score", "Give your score, and say why; then the judge's is shown"),
    Key("review", "S", "mark", "mark", "Mark the submission as valid, invalid or suspicious, and say why"),
    Key("review", "F", "fault", "fault", "Say whose fault the conversation's failure is, and why"),
    Key("review", "N", "note", "note", "Add a note; it changes no score"),
    Key("review", "u", "undo", "undo", "Take back what you gave last; both stay on record"),
    Key("review", "H", "blind(True)", "blind", "Keep the judge's word back until you have given yours"),
    Key("review", "H", "seeing", "show judge", "Show the judge's word at once"),
    Key("review", "O", "to_do", "to do only", "Show only what you have not reviewed"),
    Key("review", "O", "everything", "all", "Show what you have reviewed, too"),
    Key("review", "tab", "pane", "read", "Between the queue and the transcript, or the card"),
    Key("review", "escape", "back", "back", "From the transcript to the queue, then back"),
    # Boxes
    Key("assertion", "left,h", "turn(-1)", "turn before", "The check one turn earlier"),
    Key("assertion", "right,l", "turn(1)", "turn after", "The check one turn later"),
    Key("assertion", "tab", "other", "other condition", "Look at the other condition"),
    Key("waterfall", "left,h", "turn(-1)", "turn before", "The turn before"),
    Key("waterfall", "right,l", "turn(1)", "turn after", "The next turn"),
    Key("waterfall", "tab", "other", "other condition", "Look at the other condition"),
    Key("columns", "escape", "keep", "done", "Back to the table"),
    Key("error-view", "escape", "close", "close", "Back to the card"),
    Key("compare", "O", "differences", "only differences", "Leave out what is the same in both runs"),
    Key("compare", "O", "every_row", "all rows", "Show what is the same, too"),
    Key("share", "y", "first", "copy", "Copy the first of these"),
    Key("passages", "tab", "other", "other run", "Go to the other run"),
    Key("passages", "left_curly_bracket", "other_trial(-1)", "trial before", "To the trial before", pair="trial"),
    Key("passages", "right_curly_bracket", "other_trial(1)", "next trial", "To the next trial", pair="trial"),
    Key("export", "c", "choose('csv')", "CSV", "Comma-separated values, numbers unrounded"),
    Key("export", "m", "choose('md')", "Markdown", "A Markdown table"),
    Key("export", "escape", "close", "close", "Write nothing"),
    Key("help", "c", "change_keys", "change keys", "Choose other keys"),
    Key("help", "question_mark", "close", "close", "Close the help", HIDDEN, name="app.help"),
    Key("keys", "backspace,delete", "reset", "as at first", "Back to the first key"),
    Key("keys", "slash", "filter", "filter", "Show rows with these words only"),
    Key("medal-card", "enter", "explain", "errors", "Why the score is what it is: residuals, classes, groups, attempts"),
    Key("medal-card", "V", "validate", "validate", "Say everything that is wrong with this file"),
    Key("quit", "l", "answer(False)", "leave it running", name="leave"),
    Key("quit", "X", "answer(True)", "stop it", name="stop"),
    Key("quit", "escape", "close", "stay"),
    Key("run-a-job", "enter", "give", "start", "Start the run"),
    Key("run-a-job", "ctrl+t", "test", "test connection",
        "Ask the agent and the models once whether they answer; nothing of the job is sent"),
    Key("review-form", "enter", "give", "give", "Keep this review beside the recording"),
    Key(FORMS, "up", "next(-1)", "line before", "To the line before", pair="next"),
    Key(FORMS, "down", "next(1)", "next line", "To the next line", pair="next"),
    Key("score-card", "escape", "close", "close", "Back to the conversations"),
    Key("score-card", "tab", "other", "other", "Look at the other condition"),
    Key("score-card", "v", "review", "review", "Accept the judge's scores, or give others"),
    Key("score-card", "5", "medals", "medals", "The medal table", name="app.medals"),
    Key("score-card", "r", "again", "run again", "Start the same once more"),
    Key("score-card", "y", "app.share", "copy", "Copy the card, or a picture of the screen with its caption"),
    Key("try-your-own", "enter", "own_jobs", "jobs", "Go to the job files, the samples among them", name="jobs"),
    Key("try-your-own", "r", "watch_again", "watch again", "Show the demo once more", name="again"),
    Key("work", "escape", "close", "stop", "Stop, and go back to the screen below"),
    # A modal screen keeps the application's keys out; these are wanted on every one.
    Key("score-card", "question_mark", "app.help", "help", "What this card shows, its keys"),
    Key("score-card", "q", "app.leave_app", "quit", "Leave the program"),
    Key("dialog", "escape", "close", "close", "Back to the screen below"),
    Key("dialog", "question_mark", "app.help", "help", "What this box shows, its keys", HIDDEN),
    Key("dialog", "s", "app.picture", "screenshot", "Save this screen as an SVG picture", HIDDEN),
    Key("dialog", "y", "app.share", "copy", "Copy the text of this box, or write a picture of the screen", HIDDEN),
    Key("dialog", "ctrl+p", "app.command_palette", "palette", "Every action by name", HIDDEN),
    Key("dialog", "q", "app.leave_app", "quit", "Leave the program", HIDDEN),
    Key("dialog", "ctrl+q", "app.leave_app", "quit", "Leave the program", HIDDEN),
    # Widgets: keys that move about and open, with the focus. They stay.
    Key("~rows", "up,k", "move(-1)", "row up", "One row up", HIDDEN),
    Key("~rows", "down,j", "move(1)", "row down", "One row down", HIDDEN),
    Key("~rows", "pageup,ctrl+b", "page(-1)", "page up", "A page up", HIDDEN),
    Key("~rows", "pagedown,ctrl+f", "page(1)", "page down", "A page down", HIDDEN),
    Key("~rows", "home", "edge(0)", "first row", "To the first row", HIDDEN),
    Key("~rows", "end,G", "edge(1)", "last row", "To the last row", HIDDEN),
    Key("~rows", "enter", "choose", "open", "Open this row"),
    Key("~home-rows", "enter", "choose", "go", "Do what this row says, or open it"),
    Key("~job-rows", "enter", "choose", "run", "Run this job; a dialog asks how"),
    Key("~run-rows", "enter", "choose", "open", "Watch it while it runs, else show how it ended"),
    Key("~benchmark-rows", "enter", "choose", "open", "Description and leaderboard, in full"),
    Key("~medal-rows", "enter", "choose", "card", "Open the card of this submission"),
    Key("~group-rows", "enter", "choose", "submissions", "Show these submissions only"),
    Key("~queue-rows", "enter", "choose", "evidence", "Go to the next passage that the judge quotes"),
    Key("~evidence-rows", "enter", "choose", "evidence", "Go to the message that it is about; esc comes back here"),
    Key("~compared-rows", "enter", "choose", "passages", "What both runs did there, side by side"),
    Key("~share-rows", "enter", "choose", "copy", "Copy this"),
    Key("~share-field", "enter", "submit", "write", "Write the picture, and its caption beside it"),
    Key("~speed-rows", "enter", "choose", "play", "Play the run at this speed"),
    Key("~place-rows", "enter", "choose", "go", "Go to this screen"),
    Key("~key-rows", "enter", "choose", "change", "Give this another key"),
    Key("~column-rows", "enter,space", "choose", "show or hide", "Show or hide this column"),
    Key("~tiles", "enter", "choose", "open", "Open this conversation"),
    Key("~tiles", "left,h", "move(-1)", "left", "The cell before", HIDDEN),
    Key("~tiles", "right,l", "move(1)", "right", "The next cell", HIDDEN),
    Key("~tiles", "up,k", "row(-1)", "up", "A row up", HIDDEN),
    Key("~tiles", "down,j", "row(1)", "down", "A row down", HIDDEN),
    Key("~tiles", "pageup,ctrl+b", "page(-1)", "page up", "A page up", HIDDEN),
    Key("~tiles", "pagedown,ctrl+f", "page(1)", "page down", "A page down", HIDDEN),
    Key("~tiles", "home", "edge(0)", "first", "To the first cell", HIDDEN),
    Key("~tiles", "end,G", "edge(1)", "last", "To the last cell", HIDDEN),
    Key("~source ~card", "k", "scroll_up", "line up", shown=HIDDEN),
    Key("~source ~card", "j", "scroll_down", "line down", shown=HIDDEN),
    Key("~source", "ctrl+f", "page_down", "page down", shown=HIDDEN),
    Key("~source", "ctrl+b", "page_up", "page up", shown=HIDDEN),
    Key("~source", "G", "scroll_end", "to the end", shown=HIDDEN),
    Key("~bar", "left,h", "turn(-1)", "turn back", "To the turn before", HIDDEN),
    Key("~bar", "right,l", "turn(1)", "next turn", "To the next turn", HIDDEN),
    Key("~bar", "home", "edge(0)", "beginning", "To the beginning", HIDDEN),
    Key("~bar", "end", "edge(-1)", "end", "To the end", HIDDEN),
    Key("~transcript", "j", "next_fold(1)", "next detail", "Go to the next line that opens", HIDDEN),
    Key("~transcript", "k", "next_fold(-1)", "previous detail", "Go to the line before that opens", HIDDEN),
    Key("~transcript", "enter", "open", "open", "Open or close the marked line", HIDDEN),
    Key("~transcript", "e", "toggle_events", "events", "Show or hide what the agent did"),
    Key("~transcript", "f", "follow", "follow", "Go to the end and stay there"),
    Key("~choice", "left", "go(-1)", "value before", "The value before", pair="choose"),
    Key("~choice", "right", "go(1)", "next value", "The next value", pair="choose"),
    Key("~choice", "space", "go(1)", "next value", "The next value", HIDDEN),
    Key("~run-field", "enter", "submit", "start", "Start the run"),
    Key("~review-field", "enter", "submit", "give", "Keep this review beside the recording"),
    Key("~path-field", "enter", "submit", "continue", "Take this file"),
)  # fmt: skip

LETTERS: dict[str, tuple[str, str]] = {
    "a": ("accept", "accept"),
    "A": ("everything that belongs to it: conversations, batch, runs", "grid batch runs"),
    "b": ("a message back", "play_back"),
    "B": ("to the beginning", "edge"),
    "c": ("choose columns, or keys", "columns change_keys"),
    "C": ("stop everything that is running", "cancel_all stop"),
    "d": ("density", "density"),
    "D": ("delete", "delete"),
    "e": ("events", "events toggle_events"),
    "E": ("to the end", "edge"),
    "f": ("follow the newest message, or stay", "follow stay"),
    "F": ("fault", "fault"),
    "g": ("grade", "grade grade_samples"),
    "G": ("to the last row", "edge scroll_end"),
    "h": ("left", "sort turn move"),
    "H": ("hide the judge's word, or show it", "blind seeing"),
    "i": ("panels", "next_panel"),
    "j": ("down", "move row scroll_down next_fold"),
    "k": ("up", "move row scroll_up next_fold"),
    "l": ("right", "sort turn move"),
    "L": ("link both conversations, or not", "link unlink"),
    "m": ("mark", "mark"),
    "n": ("step: one message", "step play_step"),
    "N": ("note", "note"),
    "o": ("open the score card", "score_card"),
    "O": ("only what matters now, or all", "to_do everything differences every_row"),
    "p": ("present", "present stop_presenting"),
    "P": ("prepare", "prepare"),
    "q": ("quit", "leave_app"),
    "r": ("run, or run again", "run again watch_again"),
    "R": ("reverse the order", "reverse"),
    "s": ("screenshot", "picture"),
    "S": ("score, or mark, by hand", "override score mark"),
    "t": ("take over, and type", "take_over say"),
    "T": ("give back", "give_back"),
    "u": ("undo", "undo"),
    "U": ("how the simulated user speaks", "manner"),
    "v": ("review", "review"),
    "V": ("validate", "validate"),
    "w": ("when, exactly", "exact waterfall"),
    "x": ("export to a file", "report export"),
    "X": ("cancel this one", "cancel answer"),
    "y": ("copy, or a picture with its caption", "share first"),
}
"""What each letter means, on every screen, and the actions that say so."""
ANSWERS = frozenset({("quit", "l"), ("export", "c"), ("export", "m")})
"""Letters that answer the question of a box."""

MOVING = frozenset(
    {
        *("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter", "escape", "tab"),
        *("shift+tab", "ctrl+c", "ctrl+q", "backspace"),
    }
)
"""Keys that move about, open, close and leave. They are the same everywhere, and stay."""
_ARGUMENTS = {"-1": "previous", "1": "next", "0": "first"}


class KeyPlace(NamedTuple):
    """Something that can be changed: its name, the screen where it applies, its keys at first, what they do."""

    name: str
    screen: str
    keys: tuple[str, ...]
    words: str


class Placed(NamedTuple):
    """A row of the table at one of its places. `name` is empty where the key stays."""

    key: Key
    place: str
    name: str


def table() -> Sequence[Key]:
    """Return every row: the keys that go to screens, then the others."""
    going = [
        Key("app", entry.key, f"go('{entry.mode}')", entry.label, entry.tooltip, entry is screens.SCREENS[0])
        for entry in screens.SCREENS
    ]
    return [*going, *TABLE]


def placed() -> Sequence[Placed]:
    """Return every row at every of its places, with the name under which the key can be changed there."""
    return _placed(screens.SCREENS)


@cache
def _placed(_: tuple[screens.ScreenEntry, ...]) -> Sequence[Placed]:
    names: dict[tuple[str, str], str] = {}
    found = []
    for key in table():
        for place in key.where.split():
            screen = place.partition("/")[0]
            own = f"{screen}.{key.name}" if key.name else _name(screen, key.action)
            first = key.name if "." in key.name else own
            staying = place.startswith("~")
            found.append(Placed(key, place, "" if staying else names.setdefault((screen, key.keys), first)))
    return found


def bindings(place: str) -> list[BindingType]:
    """Return the bindings of a place, for `BINDINGS` of a class."""
    return [
        Binding(
            key.keys,
            key.action,
            key.label,
            show=key.shown,
            tooltip=key.tooltip,
            id=name or None,
            group=Binding.Group(key.pair) if key.pair else None,
        )
        for key, at, name in placed()
        if at == place
    ]


def order() -> dict[tuple[str | None, str], int]:
    """Return the place of every key in the footer, by its name and action."""
    return {(name, key.action): at for at, (key, _, name) in enumerate(placed()) if name}


def places() -> tuple[KeyPlace, ...]:
    """Return everything whose key can be changed: the application's, then each screen's."""
    found: dict[str, KeyPlace] = {}
    for key, place, name in placed():
        owner = place.partition("/")[0]
        keys = tuple(key.keys.split(","))
        if not name.startswith(f"{owner}.") or set(keys) & MOVING:
            continue
        known = found.get(name)
        words = known.words.split(", ") if known else []
        title = "everywhere" if owner == "app" else owner.capitalize().replace("-", " ")
        both = tuple(dict.fromkeys([*(known.keys if known else ()), *keys]))
        found[name] = KeyPlace(name, title, both, ", ".join(dict.fromkeys([*words, key.label])))
    first = ["app", *(entry.mode for entry in screens.SCREENS)]
    owners = {name: name.partition(".")[0] for name in found}

    def rank(name: str) -> tuple[int, str]:
        owner = owners[name]
        return (first.index(owner), "") if owner in first else (len(first), owner)

    return tuple(found[name] for name in sorted(found, key=rank))


def _name(screen: str, action: str) -> str:
    """Return `live.sort_next` for `sort(1)`, and `app.jobs` for `app.go('jobs')`."""
    if action.startswith("app."):
        screen, action = "app", action.removeprefix("app.")
    head, _, rest = action.partition("(")
    words = [_ARGUMENTS.get(word, word) for word in re.findall(r"-?\w+", rest)]
    return f"{screen}." + "_".join(words if head == "go" else [head, *words])
