"""The block that every result begins with: what came out, how sure, why, and what can be done next,
each with a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from textual.content import Content
from textual.dom import DOMNode

from bioeval_tui.base.widths import padded
from bioeval_tui.report.answer_labels import NEXT, WIDTH
from bioeval_tui.tui.keys import key_name
from bioeval_tui.tui.shared.cells import Cell, Line, Tone
from bioeval_tui.tui.shared.wrapped_lines import Labelled, clipped, hanging

if TYPE_CHECKING:
    from bioeval_tui.report.answer import Answer
    from bioeval_tui.report.findings import StepAction

ACTIONS: Mapping[StepAction, tuple[str, ...]] = {
    "passage": ("evidence", "choose", "replay"),
    "passages": ("choose",),
    "trials": ("again",),
    "edit": ("edit",),
    "edit_file": ("edit",),
    "again": ("again",),
    "grade": ("again",),
    "resume": ("resume",),
    "judge": ("judge",),
    "compare": ("compare",),
    "findings": ("validate",),
    "board": ("explain", "choose"),
    "invalid_file": ("next_invalid",),
    "agents": ("group",),
    "grade_list": ("grade_list",),
}
"""The names of the actions that do a step, on one screen or another."""
MOST_LINES, NARROWEST = 2, 60
"""How many lines each of an answer's may take, unless a screen says otherwise, but where the block
itself is narrower than so many cells.
"""
FIRST = 2
"""What came out, and how sure."""
_TONES: dict[str, Tone] = {"good": "good", "bad": "bad", "unsure": "warn", "plain": "strong"}


def answer_lines(
    answer: Answer, keys: Mapping[StepAction, str] | None = None, *also: tuple[str, str]
) -> list[Line]:
    """Return the lines of an answer, the next steps with their `keys`, and what can `also` be done,
    each a key and words; a step without a key is left out.
    """
    known = keys or {}
    steps: list[Cell] = []
    for step in answer.next:
        if key := known.get(step.action):
            before = f"{step.before}, then " if step.before else ""
            steps += [Cell(before), Cell(key, "busy"), Cell(f" {step.act}  ")]
    for key, words in also:
        steps += [Cell(key, "busy"), Cell(f" {words}  ")]
    tones: dict[str, Tone] = {"WHAT": "strong", "SURE": _TONES[answer.tone]}
    lines: list[Line] = [
        [Cell(padded(label, WIDTH), "quiet"), Cell(text, tones.get(label, "plain"))]
        for label, text in answer.lines
        if label != NEXT
    ]
    if steps:
        lines.append([Cell(padded(NEXT, WIDTH), "quiet"), *steps])
    return lines


class AnswerBlock(Labelled):
    """Shows an answer, with the keys of those next steps that the screen can do; `most` is how many
    lines each of an answer's may take.
    """

    def __init__(self, *, id: str | None = None, most: int = MOST_LINES) -> None:
        super().__init__(id=id)
        self._most = most

    def show_answer(self, answer: Answer, *also: tuple[str, str]) -> None:
        """Show this answer, and what can `also` be done, each a key and words; not if its screen
        was closed meanwhile, where no key applies any more.
        """
        if self.is_attached:
            self.show(answer_lines(answer, step_keys(self), *also))

    def _wrap(self, line: Sequence[Cell], width: int) -> list[Content]:
        """Return a line as few lines: what stands below the answer needs room, too."""
        return _clipped(line, self._most, width)

    def _lines(self, width: int) -> list[Content]:
        """Return the lines; if there is no room for all, what explains the first two takes one
        each: the next step is never what is left out.
        """
        lines, most = super()._lines(width), self.styles.max_height
        if most is None or not most.is_cells or len(lines) <= most.value:
            return lines
        first, explained = self._shown[:FIRST], self._shown[FIRST:]
        short = (_clipped(line, 1, width) for line in explained)
        return [*chain.from_iterable(self._wrap(line, width) for line in first), *chain(*short)]


def _clipped(line: Sequence[Cell], most: int, width: int) -> list[Content]:
    lines = hanging(line, width)
    return lines if width < NARROWEST else clipped(lines, most, width)


def enabled_keys(node: DOMNode) -> dict[str, str]:
    """Return the key of each action that can be done where this widget is."""
    return {
        active.binding.action.partition("(")[0].rpartition(".")[2]: key_name(active.binding.key)
        for active in node.screen.active_bindings.values()
        if active.enabled
    }


def step_keys(node: DOMNode) -> dict[StepAction, str]:
    """Return the key of each step that can be done where this widget is."""
    keys = enabled_keys(node)
    found: dict[StepAction, str] = {}
    for step, actions in ACTIONS.items():
        key = next((keys[action] for action in actions if action in keys), None)
        if key is not None:
            found[step] = key
    return found
