"""Explains the composite score of a run: its parts, the values required for a target, and other
weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text
from typing_extensions import TypedDict

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import plural
from bioeval_tui.base.units import number
from bioeval_tui.record import score as composite
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import ScorePart
from bioeval_tui.record.score import Needed, contributions, needed, reweighted
from bioeval_tui.report.document import ConversationDocument
from bioeval_tui.report.findings import PartNeeded
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult
from bioeval_tui.report.sentences import PARTS, sentence

BAR_WIDTH = 50
_SIGNS = {"timing": "─", "task": "═", "assertion": "━", "penalty": "╌"}
_NAMES = {
    "timing": "timing",
    "task": "task",
    "tasks": "task",
    "assertion": "assertion",
    "assertions": "assertion",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """One conversation's composite: as scored, what would reach the target, and under other
    weights.
    """

    talk: ConversationResult
    needed: tuple[Needed, ...]
    reweighted: composite.Composite | None

    @property
    def reason(self) -> str:
        """A note on the score, or why there is none."""
        if self.talk.is_scored:
            return self.talk.reason
        return "not scored"

    @property
    def failures(self) -> int:
        """The number of failed requests that the score counts."""
        if self.talk.scored:
            return self.talk.scored.failures
        return 0


def parse_weights(text: str) -> dict[str, float]:
    """Read `timing=1,tasks=2,assertions=4`; a part that is not named keeps its weight.

    Raises:
        UsageError: a part is unknown or a weight is not a number from 0.
    """
    weights = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = part.partition("=")
        if name.strip() not in _NAMES:
            raise UsageError(
                f"--weights {part}: {name.strip()!r} is not a part; use timing, tasks or assertions"
            )
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if not 0 <= weight < float("inf"):
            raise UsageError(
                f"--weights {part}: use a number of at least 0, such as {name.strip()}=2"
            )
        weights[_NAMES[name.strip()]] = weight
    return weights


def explain(run: RunResult, target: float, weights: Mapping[str, float]) -> list[Explanation]:
    """Explain every scored conversation of a run, from its recording, without calling a model."""
    explained = []
    for talk in run.conversations:
        failures = talk.scored.failures if talk.scored else 0
        wanted: tuple[Needed, ...] = ()
        other = None
        if talk.parts:
            wanted = needed(talk.parts, failures, target)
            if weights:
                other = reweighted(talk.parts, failures, weights)
        explained.append(Explanation(talk, wanted, other))
    return explained


class PrintedNeeded(TypedDict):
    """What a part would have to be for the target; `needed` is null if no value is enough."""

    now: float | None
    needed: float | None
    best_score: float


class PrintedReweighted(TypedDict):
    """The score under other weights."""

    score: float | None
    weights: dict[str, float]


# A conversation as its result has it, but with the parts as recorded and what would change the
# score.
CONVERSATION = Fields(
    ConversationDocument,
    "condition", "trial", "case", "score", "reason", "penalty", "failures", "parts", "needed",
    "reweighted",
    called="PrintedConversation",
    about="One conversation's score explained.",
    condition=Condition,
    penalty=float,
    parts=list[Annotated[dict[str, Any], Fields(ScorePart)]],
    needed=dict[str, PrintedNeeded],
    reweighted=PrintedReweighted | None,
)  # fmt: skip


class PrintedExplanation(TypedDict):
    """A run's scores explained, as `runs explain --json` prints them."""

    run_id: str
    job: str
    target: float
    conversations: list[Annotated[dict[str, Any], CONVERSATION]]


def explanation_dict(
    run: RunResult, explained: Sequence[Explanation], target: float
) -> PrintedExplanation:
    """Return the explanation for JSON."""
    return {
        "run_id": run.run_id,
        "job": run.brief.job,
        "target": target,
        "conversations": [
            CONVERSATION.of(
                each.talk,
                case=each.talk.case and (each.talk.case.words or None),
                reason=each.reason,
                failures=each.failures,
                parts=[part.model_dump() for part in each.talk.parts],
                needed={
                    item.part: {"now": item.now, "needed": item.value, "best_score": item.best}
                    for item in each.needed
                },
                reweighted=_reweighted(each.reweighted),
            )
            for each in explained
        ],
    }


def _reweighted(found: composite.Composite | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"score": found.score, "weights": {part.name: part.weight for part in found.parts}}


def print_explanation(explained: Sequence[Explanation], target: float, console: Console) -> None:
    """Print each conversation's bar, parts, what would reach the target, and the score with other
    weights.
    """
    for each in explained:
        console.print(
            Text(
                f"{each.talk.title}, {each.talk.trial_words}   {number(each.talk.score)}",
                style="bold",
            )
        )
        if each.talk.parts:
            console.print(Text(f"  {bar_text(each.talk.parts, each.talk.penalty)}"))
        if each.reason:
            console.print(Text(f"  {each.reason}"), soft_wrap=True)
        for part in each.talk.parts:
            console.print(Text(f"  {part_words(part)}"))
        if each.talk.penalty:
            console.print(
                Text(
                    f"  {_SIGNS['penalty'] * 2} penalty −{number(each.talk.penalty)} for"
                    f" {plural(each.failures, 'failure')}"
                )
            )
        for item in each.needed:
            console.print(Text(f"  {needed_words(item, target)}"))
        if each.reweighted is not None:
            weights = ", ".join(
                f"{PARTS[part.name]} ×{part.weight:g}" for part in each.reweighted.parts
            )
            console.print(Text(f"  with {weights}: {number(each.reweighted.score)}"))
        console.print()


def part_words(part: ScorePart) -> str:
    """Return a part with its sign, value, weight and maximum contribution."""
    sign = _SIGNS[part.name] * 2
    if part.left_out:
        return f"{sign} {PARTS[part.name]} left out: {part.reason}"
    if part.value is None:
        return f"{sign} {PARTS[part.name]} not measured: {part.reason}"
    return f"{sign} {PARTS[part.name]} {number(part.value)} ×{part.weight:g}"


def needed_words(item: Needed, target: float) -> str:
    """Return the required value of a part if all others stay the same."""
    return sentence(PartNeeded(item, target))


@dataclass(frozen=True, slots=True)
class BarPiece:
    """A segment of the composite's bar, in percent of its width."""

    name: str
    x: float
    width: float
    words: str


def composite_bar(parts: Sequence[ScorePart], penalty: float) -> tuple[BarPiece, ...]:
    """Return each part's contribution to a composite and, last, the penalty."""
    added = contributions(parts, penalty)
    pieces: list[BarPiece] = []
    at = 0.0
    for part in parts:
        if part.name in added:
            share = added[part.name] * 100
            pieces.append(
                BarPiece(
                    part.name, round(at, 3), round(share, 3), f"{part.name} {number(part.value)}"
                )
            )
            at += share
    if lost := -added["penalty"] * 100:
        pieces.append(
            BarPiece("penalty", round(at - lost, 3), round(lost, 3), f"penalty −{number(penalty)}")
        )
    return tuple(pieces)


def bar_text(parts: Sequence[ScorePart], penalty: float) -> str:
    """Return the composite as one line: a sign for each part, the penalty, and dots up to 1."""
    cells = ["·"] * BAR_WIDTH
    for piece in composite_bar(parts, penalty):
        first, last = (round(x / 100 * BAR_WIDTH) for x in (piece.x, piece.x + piece.width))
        cells[first:last] = [_SIGNS[piece.name]] * (min(last, BAR_WIDTH) - first)
    return "".join(cells)
