"""The boxes that open over the live screen: an assertion turn by turn, and how the simulated user
speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.text import compact_json, plural
from bioeval_tui.base.widths import padded
from bioeval_tui.record.cases import asserted, asserted_text, assertion_title
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import heads_view
from bioeval_tui.tui.shared.cells import Cell, Tone, paint_lines
from bioeval_tui.tui.shared.dialogs import Dialog, DialogText
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.events import AssertionChecked, StateObserved
    from bioeval_tui.record.state import ConversationState, RunState
    from bioeval_tui.report.manner import RunManner
    from bioeval_tui.report.result import RunResult


Facts = list[tuple[str, list[Cell]]]

_CHANGE_TONES: dict[str, Tone] = {"+": "good", "−": "bad"}
_STATUS = {
    "passed": Cell("✓ passed", "good"),
    "failed": Cell("✗ not true", "bad"),
    "not_measured": Cell("? could not be measured", "warn"),
}


def _definition(state: RunState, trial: int, index: int) -> dict[str, Any]:
    items = state.trial_job(trial).get("assertions") or []
    if index >= len(items):
        return {}
    item = items[index]
    if isinstance(item, dict):
        return item
    return {}


def assertion_heading(state: RunState, trial: int, index: int) -> str:
    """Return the assertion's name and weight."""
    item = _definition(state, trial, index)
    return f"{assertion_title(item, index)}   weight {float(item.get('weight', 1.0)):g}"


def turn_lines(state: RunState, condition: Condition, trial: int, index: int) -> list[int]:
    """Return the turns after which the assertion was checked."""
    conversation = state.conversation(condition, trial)
    if conversation:
        return [check.after_turn for check in conversation.checks.get(index, ())]
    return []


def detail(
    state: RunState, condition: Condition, trial: int, index: int, turn: int | None
) -> Facts:
    """Return labelled lines for the check after `turn`; None means the final check or, before it,
    the newest.
    """
    facts: Facts = [(kind, [Cell(text)]) for kind, text in _question(state, trial, index)]
    conversation, name = state.conversation(condition, trial), state.condition_title(condition)
    check = _check(conversation, index, turn)
    if conversation is None or check is None:
        facts.append((name, [Cell("not checked yet", "quiet")]))
        return facts
    when = "at the end" if check.final else f"after turn {check.after_turn}"
    status = _STATUS[check.status]
    if check.status == "failed" and not check.final:
        status = Cell("· not true", "plain")
    facts.append((name, [status._replace(text=f"{status.text}, {when}")]))
    facts.append(("expected", [Cell(compact_json(check.expected))]))
    facts.append(("observed", [Cell(compact_json(check.observed))]))
    if check.why:
        facts.append(("because", [Cell(check.why)]))
    if check.error:
        facts.append(("error", [Cell(check.error, "bad")]))
    if check.warning:
        facts.append(("warning", [Cell(check.warning, "warn")]))
    if conversation.submissions:
        facts += _submission(conversation, index)
    facts += _change_lines(conversation, check.after_turn)
    return facts


def _question(state: RunState, trial: int, index: int) -> list[tuple[str, str]]:
    return [
        (_LABELS.get(key, key), asserted_text(key, asked))
        for key, asked in asserted(_definition(state, trial, index)).items()
        if key not in _SHOWN_BELOW
    ]


_LABELS = {"toolCalls": "tool calls"}
_SHOWN_BELOW = ("expected", "submission")
"""What an assertion asserts that stands with its check."""


def _check(
    conversation: ConversationState | None, index: int, turn: int | None
) -> AssertionChecked | None:
    if conversation is None:
        return None
    checks = conversation.checks.get(index, [])
    if turn is not None:
        return next((check for check in checks if check.after_turn == turn), None)
    final = conversation.final_checks.get(index)
    if final is None and checks:
        return checks[-1]
    return final


def _submission(conversation: ConversationState, index: int) -> Facts:
    graded = next((item for item in conversation.submissions if item.assertion == index), None)
    if graded is None:
        return []
    if graded.error:
        return [("grading", [Cell(graded.error, "bad")])]
    return [("score", [Cell(str((graded.report or {}).get("score")))])]


def _change_lines(conversation: ConversationState, turn: int) -> Facts:
    """Return what changed in object context, graph and records between the previous turn and this
    one.
    """
    after = _observation(conversation, turn)
    before = _observation(conversation, turn - 1)
    if after is None or before is None:
        return [
            ("changed", [Cell("the state was not observed on both sides of this turn", "quiet")])
        ]
    if after.error or before.error:
        return [("changed", [Cell(f"not observed: {after.error or before.error}", "warn")])]
    facts: Facts = []
    for label, old, new in (
        ("context", before.object_context, after.object_context),
        ("graph", before.graph, after.graph),
        ("records", before.fhir, after.fhir),
    ):
        if not old and not new:
            continue  # there is none
        lines = changes(old, new)
        cells = [Cell(line, _CHANGE_TONES.get(line[:1], "plain")) for line in lines]
        words = f"nothing changed in turn {turn}"
        facts.append((label, cells or [Cell(words, "quiet")]))
    return facts


def _observation(conversation: ConversationState, turn: int) -> StateObserved | None:
    return next(
        (seen for seen in reversed(conversation.observations) if seen.after_turn == turn), None
    )


LABEL = 19
"""Width of the column of labels, in cells."""


class AssertionDetail(Dialog[None]):
    """Opened from the timeline; arrows switch turns, `tab` switches the condition."""

    NAME: ClassVar[str] = "Assertion"
    ABOUT: ClassVar[str] = (
        "What was checked, expected and observed after a turn, and what that turn changed."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("assertion")
    DEFAULT_CSS = """
    AssertionDetail.-narrow > .dialog--box { height: 100%; }
    AssertionDetail.-narrow .dialog--body { height: 1fr; }
    """

    def __init__(self, state: RunState, trial: int, index: int, condition: Condition) -> None:
        super().__init__(assertion_heading(state, trial, index))
        self._state = state
        self._trial = trial
        self._index = index
        self._condition = condition
        self._turn: int | None = None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a second condition there is nothing to switch to."""
        return action != "other" or self._state.only_condition is None

    def compose_body(self) -> Iterable[Widget]:
        """One text, scrollable."""
        with DialogText():
            yield Labelled(id="detail")

    def on_mount(self) -> None:
        """Show the newest check."""
        self._show()

    def action_turn(self, by: int) -> None:
        """Go to another turn."""
        turns = turn_lines(self._state, self._condition, self._trial, self._index)
        if not turns:
            return
        at = turns.index(self._turn) if self._turn in turns else len(turns) - 1
        self._turn = turns[max(0, min(len(turns) - 1, at + by))]
        self._show()

    def action_other(self) -> None:
        """Go to the other condition."""
        self._condition = heads_view.other_condition(self._state.conditions, self._condition)
        self._turn = None
        self._show()

    def _show(self) -> None:
        facts = detail(self._state, self._condition, self._trial, self._index, self._turn)
        lines: list[list[Cell]] = []
        for label, cells in facts:
            names = (label, *[""] * len(cells))
            lines += [
                [Cell(padded(name, LABEL), "quiet"), cell]
                for name, cell in zip(names, cells, strict=False)
            ]
            lines.append([])
        self.query_one("#detail", Labelled).show(lines)


# What changed in the agent's state

LONGEST = 40


def changes(before: Any, after: Any, path: str = "") -> list[str]:
    """Return lines `+ path: value`, `− path: value`, `~ path: old → new` for two JSON-like values.

    Items of a list that have an `id` are matched by it, others by their place. At most `LONGEST`
    lines.
    """
    lines: list[str] = []
    _compare(before, after, path, lines)
    if len(lines) > LONGEST:
        lines[LONGEST:] = [f"… and {plural(len(lines) - LONGEST, 'more change')}"]
    return lines


def _compare(before: Any, after: Any, path: str, lines: list[str]) -> None:
    if before == after:
        return
    old, new = _mapping(before), _mapping(after)
    if old is None or new is None:
        lines.append(f"~ {path}: {_short(before)} → {_short(after)}")
        return
    for key in [*old, *(key for key in new if key not in old)]:
        inner = f"{path}.{key}" if path else str(key)
        if key not in new:
            lines.append(f"− {inner}: {_short(old[key])}")
        elif key not in old:
            lines.append(f"+ {inner}: {_short(new[key])}")
        else:
            _compare(old[key], new[key], inner, lines)


def _mapping(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return {
            (item["id"] if isinstance(item, dict) and item.get("id") is not None else number): item
            for number, item in enumerate(value)
        }
    return None


def _short(value: Any) -> str:
    text = compact_json(value)
    if len(text) <= 160:
        return text
    return text[:159] + "…"


STATISTIC, VALUE = 32, 28
"""Widths of the columns of statistics and of their values, in cells."""


class MannerDialog(Dialog[None]):
    """Statistics by condition, beside those of people who played patients."""

    NAME: ClassVar[str] = "How the user speaks"
    ABOUT: ClassVar[str] = (
        "Counted from the user's messages, without a model. A value is marked when its 95"
        " % interval lies outside the range of the middle 90 % of conversations with people: the"
        " user is then unlike these people."
    )

    def __init__(self, run: RunResult | None) -> None:
        self._user = run.user_name if run is not None else "the user"
        super().__init__(f"How {self._user} speaks")
        self._found = run.manners if run is not None else ()
        self._scripted = run is not None and run.kind_of("evaluator") == "scripted"

    def compose_body(self) -> Iterable[Widget]:
        """The table."""
        with DialogText():
            yield Static(
                paint_lines(manner_lines(self._found, self._user, self._scripted)),
                markup=False,
            )


def manner_lines(
    manners: Sequence[RunManner], user: str, scripted: bool = False
) -> list[list[Cell]]:
    """Return a row for each statistic and condition, with the values of people beside it."""
    if scripted:
        return [[Cell("Not measured: a script plays the user, and says the job's lines.", "quiet")]]
    if not manners:
        return [[Cell(f"no messages from {user} yet", "quiet")]]
    lines: list[list[Cell]] = []
    for one in manners:
        conversations = plural(one.conversations, "conversation")
        interval = any(row.measure.interval for row in one.rows)
        value = "value (95 % interval)" if interval else "value"
        heads = padded(value, VALUE) + "people (middle 90 %)"
        lines.append(
            [
                Cell(padded(f"{one.title}, {conversations}", STATISTIC), "strong"),
                Cell(heads, "quiet"),
            ]
        )
        for row in one.rows:
            found = Cell(padded(row.found, VALUE))
            if row.unlike:
                found = Cell(padded(f"{row.found} !", VALUE), "warn")
            lines.append(
                [Cell(padded(row.label, STATISTIC)), found, Cell(row.people, "quiet")],
            )
        lines.append([])
    if any(row.unlike for row in chain.from_iterable(one.rows for one in manners)):
        lines.append(
            [Cell("! unlike these people: the whole interval is outside their middle 90 %", "warn")]
        )
    return [*lines, [Cell(manners[0].note, "quiet")]]
