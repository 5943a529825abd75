"""The composite taken apart for the score card: bars that add up to the score, and what would raise it most.

Everything is computed with `score`, the same formula that scored the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bioeval_tui import score as composite
from bioeval_tui.tui.shared.cells_view import Cell, Tone, score, signed

if TYPE_CHECKING:
    from bioeval_tui.record.events import ScorePart
    from bioeval_tui.record.state import ConversationState, RunState

SIGNS: dict[str, tuple[str, Tone]] = {
    "timing": ("─", "plain"),
    "task": ("═", "busy"),
    "assertion": ("━", "good"),
}
WORDS = {"timing": "timing", "task": "tasks", "assertion": "assertions"}
PENALTY_SIGN, REST_SIGN = "╌", "·"


@dataclass(frozen=True, slots=True)
class Share:
    """What one part adds to the score: `value` · `weight` / sum of the weights, in [0, 1]."""

    name: str
    value: float
    weight: float
    share: float


def shares(talk: ConversationState) -> list[Share]:
    """Return what each measured part adds. Their sum minus the penalty is the score before floor and rounding."""
    if talk.score is None:
        return []
    known = [(part, part.value) for part in talk.score.parts if not part.left_out and part.value is not None]
    total = sum(part.weight for part, _ in known)
    return [Share(part.name, value, part.weight, value * part.weight / total) for part, value in known]


def score_bar(talk: ConversationState, width: int) -> list[Cell]:
    """Return the stacked bar of a conversation: parts, what the penalty took away, and what is missing to 1."""
    if talk.score is None:
        return [Cell(REST_SIGN * width, "quiet")]
    found = shares(talk)
    weighted = sum(item.share for item in found)
    kept = round(max(0.0, weighted - talk.score.penalty) * width)
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


def legend(talk: ConversationState) -> list[Cell]:
    """Return the parts in words: sign, name, value and weight; what was left out; the penalty."""
    if talk.score is None:
        return [Cell("not scored", "quiet")]
    cells: list[Cell] = []
    for part in talk.score.parts:
        sign, tone = SIGNS[part.name]
        if part.left_out:
            cells.append(Cell(f"{WORDS[part.name]} left out", "quiet"))
        elif part.value is None:
            cells.append(Cell(f"{WORDS[part.name]} not measured", "warn"))
        else:
            cells += [Cell(sign * 2, tone), Cell(f" {WORDS[part.name]} {part.value:.2f} ×{part.weight:g}")]
        cells.append(Cell("  "))
    cells.append(Cell(f"− penalty {talk.score.penalty:.2f}", "bad" if talk.score.penalty else "quiet"))
    return cells


@dataclass(frozen=True, slots=True)
class Gain:
    """Something that could be better, and by how much the score would rise."""

    what: str
    by: float

    @property
    def words(self) -> str:
        """The gain with its sign."""
        return signed(self.by)


def gains(state: RunState, talk: ConversationState) -> list[Gain]:
    """Return what would raise a conversation's score, most first, each alone and everything else as it was."""
    scored = talk.score
    if scored is None or scored.score is None:
        return []
    found: list[Gain] = []

    def weigh(what: str, parts: list[ScorePart], failures: int) -> None:
        better = composite.compose(parts, failures).score
        if better is not None and scored.score is not None and better > scored.score:
            found.append(Gain(what, round(better - scored.score, 2)))

    def instead(name: str, part: ScorePart) -> list[ScorePart]:
        return [part if old.name == name else old for old in scored.parts]

    results = [(c.weight, c.status == "passed") for c in talk.latest_checks()]
    for number, check in enumerate(talk.latest_checks()):
        if check.status == "failed":
            mended = [*results[:number], (check.weight, True), *results[number + 1 :]]
            weigh(
                f"assertion “{check.title}”",
                instead("assertion", composite.assertion_part(mended)),
                scored.failures,
            )
    tasks = list(talk.verdict.tasks) if talk.verdict and not talk.verdict.error else []
    for number, task in enumerate(tasks):
        values = [1.0 if other == number else item.score for other, item in enumerate(tasks)]
        weigh(
            f"task “{task.title}” to 1.0",
            instead("task", composite.task_part(values, len(values))),
            scored.failures,
        )
    perfect = [part.model_copy(update={"value": 1.0}) for part in scored.parts if part.name == "timing"]
    target = state.job.get("aspirationalAverage", 0)
    if perfect:
        weigh(
            f"answers within {target / 1000:.1f} s on average", instead("timing", perfect[0]), scored.failures
        )
    if scored.failures:
        weigh(f"no failures (now {scored.failures})", list(scored.parts), 0)
    return sorted(found, key=lambda gain: -gain.by)


def score_words(talk: ConversationState | None) -> str:
    """Return the score with two decimals, a dash when there is none."""
    return score(talk.score.score if talk and talk.score else None)
