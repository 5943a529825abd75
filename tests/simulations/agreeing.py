"""Whether the intervals of kappa, alpha, sensitivity and pass^k contain the true value, with
clustered verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import fmean

from bioeval_tui.statistics.estimates import Tries, pass_k_interval
from bioeval_tui.statistics.judges import RatedTwice, judge_agreement


def rated(conversations: int, random: Random, verdicts: int = 5) -> list[RatedTwice]:
    """Return verdicts on scores of thirds; the judge is sloppy in some conversations and careful in
    others.
    """
    found = []
    for conversation in range(conversations):
        quality, sloppy = random.random(), random.choice((0.05, 0.35))
        for _ in range(verdicts):
            people = round(3 * min(1.0, max(0.0, random.gauss(quality, 0.25)))) / 3
            judge = round(3 * random.random()) / 3 if random.random() < sloppy else people
            found.append(RatedTwice(f"c{conversation}", judge, judge > 0.5, people, people > 0.5))
    return found


def agreement_coverage(
    draws: int, conversations: int = 60, everything: int = 20_000, seed: int = 1
) -> dict[str, float]:
    """Return the share of draws in which each interval holds the value of `everything`
    conversations.
    """
    random = Random(seed)
    names = ("sensitivity", "specificity", "kappa", "kappa_quadratic", "alpha")
    whole = judge_agreement(rated(everything, random))
    hits = dict.fromkeys(names, 0)
    for _ in range(draws):
        found = judge_agreement(rated(conversations, random))
        for name in names:
            truth, interval = getattr(whole, name).value, getattr(found, name).interval
            hits[name] += interval.low <= truth <= interval.high
    return {name: hit / draws for name, hit in hits.items()}


def pass_k_coverage(
    draws: int, chances: Sequence[float], k: int, tasks: int = 50, trials: int = 4, seed: int = 1
) -> float:
    """Return the share of draws whose interval of pass^k holds the truth, for tasks that succeed by
    these chances.
    """
    random = Random(seed)
    truth = fmean(chance**k for chance in chances)
    hits = 0
    for _ in range(draws):
        drawn = [random.choice(chances) for _ in range(tasks)]
        tries = [
            Tries(str(task), {trial: random.random() < chance for trial in range(trials)})
            for task, chance in enumerate(drawn)
        ]
        interval = pass_k_interval(tries, k)
        hits += interval is not None and interval.low <= truth <= interval.high
    return hits / draws
