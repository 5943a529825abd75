"""Scores with a placebo whose facts, longer talk, or both have a known effect."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

from bioeval_tui.report.control import ThreeValues, Words, tell_apart
from bioeval_tui.report.findings import FactsOrTalk
from bioeval_tui.statistics.estimates import Sample

ALIKE = Words(10.0, 20.0, 20.0)
"""The words told: as many with the placebo as with the facts."""
EFFECTS = {
    "facts only": (0.3, 0.0),
    "longer talk only": (0.0, 0.3),
    "both": (0.2, 0.2),
    "neither": (0.0, 0.0),
}
"""What the facts and the longer talk add to the score, or to the chance of passing."""


@dataclass(frozen=True)
class Design:
    """How a run is made: so many trials, perhaps of cases in turn, with a score of 0.3 on average
    without the facts; 0 or 1 if `passes`. A case is easy or hard by up to `spread`, and in each
    condition by up to `shared` for all of its trials.
    """

    trials: int
    passes: bool = False
    cases: int = 0
    spread: float = 0.1
    shared: float = 0.0

    @property
    def words(self) -> str:
        """What the table calls it."""
        of = f"{self.trials} trials"
        if self.cases:
            of = f"{self.cases} cases × {self.trials // self.cases}"
        return f"{of}, {'pass or fail' if self.passes else 'scores'}"


DESIGNS = tuple(
    design
    for passes in (False, True)
    for design in (
        Design(10, passes),
        Design(20, passes),
        Design(30, passes, cases=30),
        Design(36, passes, cases=12, shared=0.05),
    )
)


@dataclass(frozen=True)
class Told:
    """Shares of runs whose intervals hold the truth, and what was said of the rest."""

    facts: float
    talk: float
    total: float
    verdicts: Counter[str]


def coverage(runs: int, design: Design, effect: tuple[float, float]) -> Told:
    """Tell so many runs apart."""
    random = Random(f"{design} {effect}")
    held, verdicts = Counter[str](), Counter[str]()
    for _ in range(runs):
        found = _told_apart(random, design, effect)
        verdicts[found.verdict] += 1
        for name, part, true in (
            ("facts", found.facts, effect[0]),
            ("talk", found.talk, effect[1]),
            ("total", found.total, sum(effect)),
        ):
            interval = part.estimate.interval
            assert interval is not None
            held[name] += interval.low - 1e-9 <= true <= interval.high + 1e-9
    return Told(held["facts"] / runs, held["talk"] / runs, held["total"] / runs, verdicts)


def _told_apart(random: Random, design: Design, effect: tuple[float, float]) -> FactsOrTalk:
    facts, talk = effect
    count = design.cases or 1
    easy = [random.uniform(-design.spread, design.spread) for _ in range(count)]

    def side(mean: float) -> list[Sample]:
        mood = [each + random.uniform(-design.shared, design.shared) for each in easy]
        if not design.cases:
            mood = [0.0]
        return [
            Sample(
                "job",
                _score(random, mean + mood[trial % len(mood)], design),
                case=f"case {trial % design.cases}" if design.cases else "",
            )
            for trial in range(design.trials)
        ]

    sides = zip(side(0.3), side(0.3 + facts + talk), side(0.3 + talk), strict=True)
    control = tell_apart([ThreeValues(*three, ALIKE) for three in sides], design.trials)
    assert isinstance(control.finding, FactsOrTalk)
    return control.finding


def _score(random: Random, mean: float, design: Design) -> float:
    if design.passes:
        return float(random.random() < mean)
    return round(min(1.0, max(0.0, random.gauss(mean, 0.1))), 2)
