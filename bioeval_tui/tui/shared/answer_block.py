"""The block that every result begins with: what came out, how sure, why, and what can be done next,
each with a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.dom import DOMNode

from bioeval_tui.tui.keys import key_name
from bioeval_tui.tui.shared.cells import Cell, Line, Tone
from bioeval_tui.tui.shared.wrapped_lines import Labelled, hanging

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
"""How many lines each of an answer's may take, but where the block itself is narrower than so many
cells.
"""
_TONES: dict[str, Tone] = {"good": "good", "bad": "bad", "unsure": "warn", "plain": "strong"}


def answer_lines(
    answer: Answer, keys: Mapping[StepAction, str] | None = None, *also: tuple[str, str]
) -> list[Line]:
    """Return the lines of an answer, the next steps with their `keys`, and what can `also` be done,
    each a key and words; a step without a key is left out.
    """
    known = keys or {}
    steps: list[Cell] = []
    can_do = [(known[step.action], step.words) for step in answer.next if step.action in known]
    for key, words in (*can_do, *also):
        steps += [Cell(key, "busy"), Cell(f" {words}  ")]
    lines: list[Line] = [
        [Cell("WHAT  ", "quiet"), Cell(answer.what, "strong")],
        [Cell("SURE  ", "quiet"), Cell(answer.sure, _TONES[answer.tone])],
    ]
    if answer.control:
        lines.append([Cell("FACTS ", "quiet"), Cell(answer.control)])
    if answer.users:
        lines.append([Cell("USERS ", "quiet"), Cell(answer.users)])
    if answer.tools:
        lines.append([Cell("TOOLS ", "quiet"), Cell(answer.tools)])
    if answer.why:
        lines.append([Cell("WHY   ", "quiet"), Cell(answer.why)])
    if steps:
        lines.append([Cell("NEXT  ", "quiet"), *steps])
    return lines


class AnswerBlock(Labelled):
    """Shows an answer, with the keys of those next steps that the screen can do."""

    def show_answer(self, answer: Answer, *also: tuple[str, str]) -> None:
        """Show this answer, and what can `also` be done, each a key and words; not if its screen
        was closed meanwhile, where no key applies any more.
        """
        if self.is_attached:
            self.show(answer_lines(answer, step_keys(self), *also))

    def _wrap(self, line: Sequence[Cell], width: int) -> list[Content]:
        """Return a line as two at most: what stands below the answer needs room, too."""
        lines = hanging(line, width)
        if len(lines) <= MOST_LINES or width < NARROWEST:
            return lines
        last = lines[MOST_LINES - 1].rstrip()
        return [
            *lines[: MOST_LINES - 1],
            Content.assemble(last, " …").truncate(width, ellipsis=True),
        ]


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
