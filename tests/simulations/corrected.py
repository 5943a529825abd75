"""How often the corrected score's interval contains the true value: a published table, and
clustered verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from statistics import fmean

from bioeval_tui.statistics.intervals import share_interval
from bioeval_tui.statistics.judges import JudgedItem, corrected_mean, draw_reviews

TRUE_POSITIVES, FALSE_POSITIVES, FALSE_NEGATIVES, TRUE_NEGATIVES = 15_933, 5_481, 3_871, 4_225
"""gpt-4o-mini's verdicts against physicians', as published."""


@dataclass(frozen=True)
class Coverage:
    """Shares of draws whose 95 % interval holds what people said of everything, and the mean
    width.
    """

    corrected: float
    reviews_only: float
    judge_alone: float
    """The interval of the judge's passes, as if people had given them."""

    width: float
    width_reviews_only: float


def published_table(scale: int = 1) -> list[tuple[float, float]]:
    """Return (judge, people) of every verdict, every `scale`-th of each cell."""
    cells = [
        (1, 1, TRUE_POSITIVES),
        (1, 0, FALSE_POSITIVES),
        (0, 1, FALSE_NEGATIVES),
        (0, 0, TRUE_NEGATIVES),
    ]
    return [(float(j), float(p)) for j, p, n in cells for _ in range(round(n / scale))]


def table_coverage(
    draws: int, reviews: int = 100, scale: int = 1, stratified: bool = False, seed: int = 1
) -> Coverage:
    """Draw `reviews` labels `draws` times; stratified by the judge's verdict if wished."""
    table = published_table(scale)
    unreviewed = [JudgedItem(j, stratum=f"judge {j:.0f}") for j, _ in table]
    truth = fmean(p for _, p in table)
    strata = {str(i): item.stratum if stratified else "" for i, item in enumerate(unreviewed)}
    random = Random(seed)
    alone = share_interval(fmean(j > 0 for j, _ in table), len(table))
    found = []
    for _ in range(draws):
        items = list(unreviewed)
        picked = draw_reviews(strata, reviews, random.randrange(2**31)) if stratified else None
        for place in map(int, picked) if picked else random.sample(range(len(table)), reviews):
            items[place] = replace(items[place], people=table[place][1])
        found.append(corrected_mean(items, "stratified" if stratified else "random"))
    return Coverage(
        fmean(one.interval.low <= truth <= one.interval.high for one in found),
        fmean(one.reviews_only.low <= truth <= one.reviews_only.high for one in found),
        float(alone.low <= truth <= alone.high),
        fmean(one.interval.width for one in found),
        fmean(one.reviews_only.width for one in found),
    )


@dataclass(frozen=True)
class ClusterCoverage:
    """The same with verdicts of one conversation that resemble each other."""

    clustered: float
    as_if_independent: float


def cluster_coverage(
    draws: int,
    conversations: int = 200,
    verdicts: int = 10,
    reviewed: int = 20,
    whole: bool = True,
    seed: int = 1,
) -> ClusterCoverage:
    """Review whole conversations (or as many single verdicts), and look for the mean of all
    conversations there are.

    A conversation has a quality of its own; the judge is too mild, and its errors belong to the
    conversation.
    """
    random = Random(seed)
    truth = 0.5
    hits, naive = 0, 0
    for _ in range(draws):
        items = []
        for conversation in range(conversations):
            quality = random.betavariate(0.8, 0.8)
            mild = random.random() < 0.3
            for _ in range(verdicts):
                people = float(random.random() < quality)
                judge = 1.0 if mild else (people if random.random() < 0.9 else 1 - people)
                items.append(JudgedItem(judge, people, f"c{conversation}"))
        if whole:
            chosen = {f"c{c}" for c in random.sample(range(conversations), reviewed)}
            seen = [item.cluster in chosen for item in items]
        else:
            picked = set(random.sample(range(len(items)), reviewed * verdicts))
            seen = [place in picked for place in range(len(items))]
        said = [item.people if yes else None for item, yes in zip(items, seen, strict=True)]
        one, other = (
            corrected_mean(
                [
                    JudgedItem(item.judge, people, item.cluster * clustered)
                    for item, people in zip(items, said, strict=True)
                ],
                "random",
            ).interval
            for clustered in (True, False)
        )
        hits += one.low <= truth <= one.high
        naive += other.low <= truth <= other.high
    return ClusterCoverage(hits / draws, naive / draws)
