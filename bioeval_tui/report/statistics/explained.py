"""Explains the composite: the required value of each part, and the score with other weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bioeval_tui import score
from bioeval_tui.record.events import ScorePart


@dataclass(frozen=True, slots=True)
class Needed:
    """The value that one part would need to reach the target, everything else as it was.

    `value` is None when the part cannot do it alone: even 1.0 gives only `best`.
    """

    part: str
    now: float
    value: float | None
    best: float


def needed(parts: Sequence[ScorePart], failures: int, target: float) -> tuple[Needed, ...]:
    """Return the value that each measured part would need so that the composite reaches `target`.

    Empty if the composite could not be measured. If the target is already reached, return the value that
    the part could fall to, at least 0.
    """
    if score.compose(parts, failures).score is None:
        return ()
    # A part without weight reaches nothing; only a foreign recording has one that is not left out.
    present = [part for part in parts if not part.left_out and part.value is not None and part.weight > 0]
    weight = sum(part.weight for part in present)
    found = []
    for part in present:
        assert part.value is not None
        others = sum(other.weight * (other.value or 0.0) for other in present if other is not part)
        wanted = (weight * (target + score.penalty_of(failures)) - others) / part.weight
        perfect = [part.model_copy(update={"value": 1.0}) if other is part else other for other in parts]
        best = score.compose(perfect, failures).score
        assert best is not None
        within = wanted <= 1.0 + 1e-12
        found.append(Needed(part.name, part.value, min(1.0, max(0.0, wanted)) if within else None, best))
    return tuple(found)


def reweighted(parts: Sequence[ScorePart], failures: int, weights: Mapping[str, float]) -> score.Composite:
    """Return the composite of the same parts under other weights; a weight of 0 leaves the part out."""
    changed = []
    for part in parts:
        weight = weights.get(part.name, part.weight)
        update: dict[str, object] = {"weight": weight}
        if weight == 0:
            update |= {"left_out": True, "reason": f"{part.name} has the weight 0"}
        changed.append(part.model_copy(update=update))
    return score.compose(changed, failures)
