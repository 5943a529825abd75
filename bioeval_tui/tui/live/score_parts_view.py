"""The parts of the composite score, as bars that add up to the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bioeval_tui.tui.shared.cells_view import Cell, Tone, score

if TYPE_CHECKING:
    from bioeval_tui.report.result import ConversationResult

SIGNS: dict[str, tuple[str, Tone]] = {
    "timing": ("─", "plain"),
    "task": ("═", "busy"),
    "assertion": ("━", "good"),
}
WORDS = {"timing": "timing", "task": "tasks", "assertion": "assertions"}
PENALTY_SIGN, REST_SIGN = "╌", "·"


@dataclass(frozen=True, slots=True)
class Share:
    """One part's contribution to the score: `value` · `weight` / sum of the weights, in [0, 1]."""

    name: str
    value: float
    weight: float
    share: float


def shares(conversation: ConversationResult) -> list[Share]:
    """Return what each measured part adds. Their sum minus the penalty is the score before floor and rounding."""
    known = [
        (part, part.value) for part in conversation.parts if not part.left_out and part.value is not None
    ]
    total = sum(part.weight for part, _ in known)
    return [Share(part.name, value, part.weight, value * part.weight / total) for part, value in known]


def score_bar(conversation: ConversationResult, width: int) -> list[Cell]:
    """Return the stacked bar of a conversation: parts, penalty, and the rest up to 1."""
    if not conversation.is_scored:
        return [Cell(REST_SIGN * width, "quiet")]
    found = shares(conversation)
    weighted = sum(item.share for item in found)
    kept = round(max(0.0, weighted - conversation.penalty) * width)
    cells: list[Cell] = []
    at, total = 0, 0.0
    for item in found:
        total += item.share
        sign, tone = SIGNS[item.name]
        end = min(kept, round(total * width))
        cells.append(Cell(sign * max(0, end - at), tone))
        at = max(at, end)
    filled = max(at, round(weighted * width))
    cells.append(Cell(PENALTY_SIGN * (filled - at), "bad"))
    cells.append(Cell(REST_SIGN * (width - filled), "quiet"))
    return [cell for cell in cells if cell.text]


def legend(conversation: ConversationResult) -> list[Cell]:
    """Show how the score comes about: each part's points of the most it can give, the penalty, and the sum."""
    if not conversation.is_scored:
        return [Cell("not scored", "quiet")]
    cells: list[Cell] = []
    for part in conversation.parts:
        sign, tone = SIGNS[part.name]
        if part.left_out:
            cells.append(Cell(f"{WORDS[part.name]} left out", "quiet"))
        elif part.value is None:
            cells.append(Cell(f"{WORDS[part.name]} not measured", "warn"))
        else:
            points = f"{part.value * part.weight:.2f} of {part.weight:g}"
            cells += [Cell(sign * 2, tone), Cell(f" {WORDS[part.name]} {points}")]
        cells.append(Cell("  "))
    found, penalty = shares(conversation), conversation.penalty
    most = sum(share.weight for share in found)
    if conversation.score is not None and most:
        cells.append(Cell(f"= {sum(share.share for share in found) * most:.2f} of {most:g}", "quiet"))
    if penalty:
        cells.append(Cell(f"  − penalty {penalty:.2f}", "bad"))
    return cells


def score_words(conversation: ConversationResult | None) -> str:
    """Return the score with two decimals, or a dash."""
    return score(conversation.score if conversation else None)
