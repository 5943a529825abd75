"""Gates and arrows on pairs of runs whose agents are the same, or differ by a known drop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from bioeval_tui.formats import RunResult
from bioeval_tui.report.comparison import Comparison, compare
from bioeval_tui.statistics.paired_differences import Difference
from tests.unit.report.recorded import Recorded, Talk


@dataclass(frozen=True)
class Design:
    """How both runs are made: each has both conditions, with three tasks, three assertions and its
    times.

    Tasks score 0.7 on average: 0 or 1 if `passes`, else with a standard deviation of 0.1. With
    cases the trials are of them in turn. A case is easy or hard by up to `spread` for both runs,
    and in each run by up to `shared` for all of its trials.
    """

    trials: int
    passes: bool = False
    cases: int = 0
    spread: float = 0.0
    shared: float = 0.0

    @property
    def words(self) -> str:
        """What the table calls it."""
        of = (
            f"{self.cases} cases × {self.trials // self.cases}"
            if self.cases
            else f"{self.trials} trials"
        )
        alike = ", trials of a case alike" if self.shared else ""
        return f"{of}{alike}, {'pass or fail' if self.passes else 'scores'}"


DESIGNS = (
    *(Design(trials, passes) for trials in (1, 3, 5, 6, 8, 10, 20) for passes in (False, True)),
    *(Design(7 * 2, passes, 7, 0.2) for passes in (False, True)),
    *(Design(9 * 2, passes, 9, 0.2) for passes in (False, True)),
    *(Design(12 * 3, passes, 12, 0.2, 0.2) for passes in (False, True)),
    *(Design(30, passes, 30, 0.2) for passes in (False, True)),
)


def compared(random: Random, design: Design, drop: float = 0.0) -> Comparison:
    """Return two runs, of which B scores `drop` less in every task, compared."""
    easy = [random.uniform(-design.spread, design.spread) for _ in range(design.cases or 1)]

    def score(mean: float) -> float:
        if design.passes:
            return float(random.random() < mean)
        return round(min(1.0, max(0.0, random.gauss(mean, 0.1))), 2)

    def run(mean: float) -> RunResult:
        mood = [each + random.uniform(-design.shared, design.shared) for each in easy]
        sides = (
            [
                _talk(random, [score(mean + mood[trial % len(mood)]) for _ in range(3)])
                for trial in range(design.trials)
            ]
            for _ in range(2)
        )
        return Recorded(*sides, cases=design.cases).loaded()

    return compare(run(0.7), run(0.7 - drop))


def _talk(random: Random, tasks: list[float]) -> Talk:
    holds = tuple(random.random() < 0.8 for _ in range(3))
    return Talk(tasks=tasks, holds=holds, latencies_ms=(round(random.lognormvariate(6.2, 0.4), 1),))


@dataclass(frozen=True)
class Alarms:
    """Shares of pairs of runs: in which the gate finds a regression, a comparison has an arrow,
    facts have an effect.
    """

    gate: float
    arrows: float
    uplift: float


def alarms(pairs: int, design: Design, drop: float = 0.0) -> Alarms:
    """Compare so many pairs of runs.

    The effect of facts is that on the score or a task of run A, which has none.
    """
    random = Random(f"{design}")
    gate = arrows = uplift = 0
    for _ in range(pairs):
        found = compared(random, design, drop)
        gate += bool(found.regressions)
        arrows += any(one.is_beyond_chance for one in _shown(found))
        facts = found.a.summary
        tested = [facts.uplift, *(task.difference for task in facts.task_uplifts)]
        uplift += any(one.is_beyond_chance for one in tested if one is not None)
    return Alarms(gate / pairs, arrows / pairs, uplift / pairs)


def _shown(found: Comparison) -> Iterator[Difference]:
    for one in found.conditions:
        rows = (one.whole, *one.parts, *one.tasks, *one.assertions)
        yield from (
            each for each in (*(row.difference for row in rows), one.latency) if each is not None
        )
