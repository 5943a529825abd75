"""A judge whose errors are known from the reviews of one run, and a next run with another share of
passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import fmean

from bioeval_tui.statistics.calibration import CalibratedShare, ReviewedVerdict, calibrated_share
from bioeval_tui.statistics.judges import NotCorrectable

JUDGES = {
    "sound": (0.95, 0.9),
    "lenient": (0.99, 0.6),
    "strict": (0.7, 0.95),
    "poor": (0.75, 0.6),
    "hardly better than chance": (0.7, 0.5),
}
"""Sensitivity and specificity."""
SHIFTS = ((0.5, 0.5), (0.7, 0.3), (0.4, 0.85), (0.6, 0.97), (0.6, 0.05))
"""What people would pass in the reviewed run, and in the next one."""


@dataclass(frozen=True)
class Design:
    """So many reviews, and conversations with so many tasks; those of one resemble each other by
    `alike`, in what is right and in what the judge gets wrong.
    """

    reviews: int
    conversations: int
    tasks: int = 1
    alike: float = 0.0

    @property
    def words(self) -> str:
        """What the table calls it."""
        of = f"{self.reviews} reviews, {self.conversations} conversations"
        if self.tasks > 1:
            of += f" × {self.tasks} tasks, correlated by {self.alike:g}"
        return of


DESIGNS = (
    Design(40, 40),
    Design(100, 100),
    Design(300, 30),
    Design(90, 40, tasks=3, alike=0.3),
    Design(200, 100, tasks=5, alike=0.5),
)


@dataclass(frozen=True)
class Calibrated:
    """The share of next runs whose interval holds what people would pass, of those that have one;
    the share that has none; and the mean width of an interval.
    """

    held: float
    refused: float
    width: float


def coverage(
    runs: int, design: Design, judge: tuple[float, float], shift: tuple[float, float]
) -> Calibrated:
    """Correct so many next runs by the reviews of one run each."""
    random = Random(f"{design} {judge} {shift}")
    tried = [_corrected(random, design, judge, shift) for _ in range(runs)]
    found = [one.interval for one in tried if one is not None]
    if not found:
        return Calibrated(1.0, 1.0, 0.0)
    held = fmean(one.low - 1e-9 <= shift[1] <= one.high + 1e-9 for one in found)
    return Calibrated(held, 1 - len(found) / runs, fmean(one.width for one in found))


def _corrected(
    random: Random, design: Design, judge: tuple[float, float], shift: tuple[float, float]
) -> CalibratedShare | None:
    before, now = shift
    reviewed = [
        ReviewedVerdict(f"c{cluster}", by_judge, by_people)
        for cluster in range(-(-design.reviews // design.tasks))
        for by_judge, by_people in _conversation(random, design, judge, before)
    ][: design.reviews]
    passes = {
        f"n{cluster}": [by_judge for by_judge, _ in _conversation(random, design, judge, now)]
        for cluster in range(design.conversations)
    }
    try:
        return calibrated_share(passes, reviewed)
    except NotCorrectable:
        return None


def _conversation(
    random: Random, design: Design, judge: tuple[float, float], passes: float
) -> list[tuple[bool, bool]]:
    """Return what the judge and people say of each task of one conversation."""
    chances = (passes, *judge)
    # With some probability a task has its conversation's luck, not its own.
    shared = [random.random() for _ in chances]
    said = []
    for _ in range(design.tasks):
        luck = [own if random.random() < sqrt(design.alike) else random.random() for own in shared]
        good, found, refused = (one < chance for one, chance in zip(luck, chances, strict=True))
        said.append((found if good else not refused, good))
    return said
