"""How often the interval for other users like these contains the truth: a few drawn models play the
user in the trials of the same cases.
"""

from __future__ import annotations

from random import Random

from bioeval_tui.report.findings import UserScore
from bioeval_tui.report.users import interval_of_users

MANY = 20_000
"""Users from which the true mean effect is counted."""


def user_coverage(
    runs: int, users: int, *, level: float, spread: float, trials: int = 20, seed: int = 1
) -> float:
    """Return the share of runs whose interval contains the mean over all such users.

    Each user's probability of a pass is drawn from a beta distribution with the mean `level`; with
    a `spread` of 1 it is U-shaped, and narrow with one of 30.
    """
    random = Random(seed)
    covered = 0
    for _ in range(runs):
        chances = [random.betavariate(level * spread, (1 - level) * spread) for _ in range(users)]
        scores = tuple(
            UserScore(str(number), (_mean(random, chance, trials),), None, "")
            for number, chance in enumerate(chances)
        )
        interval = interval_of_users(scores, is_effect=False)
        assert interval is not None
        covered += interval.low <= level <= interval.high
    return covered / runs


def effect_coverage(
    runs: int, users: int, *, effect: float, between: float, trials: int = 20, seed: int = 1
) -> float:
    """Return the same of the effect of the facts, which differs between users by `between`."""
    random = Random(seed)
    covered, truth = 0, _true_effect(effect, between)
    for _ in range(runs):
        scores = []
        for number in range(users):
            # A chance ends at 0 and 1, which moves the mean effect: `_true_effect` counts it.
            own = min(1.0, max(0.0, 0.3 + random.gauss(effect, between)))
            supplied, withheld = (_mean(random, chance, trials) for chance in (own, 0.3))
            scores.append(UserScore(str(number), (withheld, supplied), supplied - withheld, ""))
        interval = interval_of_users(tuple(scores), is_effect=True)
        assert interval is not None
        covered += interval.low <= truth <= interval.high
    return covered / runs


def _true_effect(effect: float, between: float) -> float:
    random = Random(0)
    drawn = [min(1.0, max(0.0, 0.3 + random.gauss(effect, between))) for _ in range(MANY)]
    return sum(drawn) / len(drawn) - 0.3


def _mean(random: Random, chance: float, trials: int) -> float:
    return sum(random.random() < chance for _ in range(trials)) / trials
