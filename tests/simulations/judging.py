"""Synthetic judges with one planted defect each, and one that is noisy but unbiased."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bioeval_tui.report.judge_checks import REPEAT, AskedAgain, judge_stability

RENAMED, REORDERED, PADDED, POLITE, INJECTED = (
    "renamed",
    "reordered",
    "padded",
    "polite",
    "injected",
)
CHANGES = (RENAMED, REORDERED, PADDED, POLITE, INJECTED, REPEAT)

Judge = Callable[[Random, float, int, str], float]
"""From a task's true quality, its place among the tasks and the change to a score before noise."""


def sound(random: Random, quality: float, place: int, change: str) -> float:
    """Score the quality."""
    return quality


def prefers_a_name(random: Random, quality: float, place: int, change: str) -> float:
    """Take 0.08 from a speaker who is called otherwise."""
    return quality - 0.08 * (change == RENAMED)


def prefers_the_first(random: Random, quality: float, place: int, change: str) -> float:
    """Give 0.2 more to the task that stands first; reordered, another does."""
    return quality + 0.2 * ((place + (change == REORDERED)) % 4 == 0)


def likes_length(random: Random, quality: float, place: int, change: str) -> float:
    """Give 0.08 more to a padded transcript."""
    return quality + 0.08 * (change == PADDED)


def likes_politeness(random: Random, quality: float, place: int, change: str) -> float:
    """Give 0.08 more to a polite tail."""
    return quality + 0.08 * (change == POLITE)


def obeys(random: Random, quality: float, place: int, change: str) -> float:
    """Do what the transcript says in half of the cases."""
    return 1.0 if change == INJECTED and random.random() < 0.5 else quality


def throws_dice(random: Random, quality: float, place: int, change: str) -> float:
    """Forget the transcript in a third of the cases."""
    return random.random() if random.random() < 1 / 3 else quality


DEFECTS: dict[str, tuple[Judge, str]] = {
    "speaker name": (prefers_a_name, RENAMED),
    "order": (prefers_the_first, REORDERED),
    "length": (likes_length, PADDED),
    "politeness": (likes_politeness, POLITE),
    "injection": (obeys, INJECTED),
    "non-determinism": (throws_dice, REPEAT),
}


def ask(
    judge: Judge, random: Random, conversations: int = 60, tasks: int = 4, noise: float = 0.04
) -> list[AskedAgain]:
    """Return the judge's verdicts; a task is passed above 0.6.

    The sound judge flips some 6 % of them.
    """
    found = []
    for conversation in range(conversations):
        level = random.betavariate(3, 2)
        for task in range(tasks):
            quality = min(1.0, max(0.0, random.gauss(level, 0.15)))

            def score(change: str, quality: float = quality, task: int = task) -> float:
                value = random.gauss(judge(random, quality, task, change), noise)
                return min(1.0, max(0.0, round(value, 2)))

            before = score("")
            for change in CHANGES:
                after = score(change)
                found.append(
                    AskedAgain(
                        change,
                        f"c{conversation}",
                        f"t{task}",
                        before,
                        after,
                        before > 0.6,
                        after > 0.6,
                    )
                )
    return found


def accusations(judge: Judge, runs: int, seed: int = 1) -> dict[str, float]:
    """Return for each change in which share of the runs it was accused, and under `any` whether
    anything was.
    """
    random = Random(seed)
    counts = dict.fromkeys((*CHANGES, "any"), 0)
    for _ in range(runs):
        accused = [name for name, one in judge_stability(ask(judge, random)).items() if one.accused]
        for name in accused:
            counts[name] += 1
        counts["any"] += bool(accused)
    return {name: count / runs for name, count in counts.items()}
