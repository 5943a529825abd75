"""Every kind of interval in the corners: few units, scores near the ceiling, clusters, judges that
hardly err.

A cell fails if its coverage is significantly below 93 %, or its median width more than 1.3 times
that of the reference on the same sets, if that covers 93 % itself: Wilson's interval with the
effective number of values (and Student's quantile), Clopper and Pearson's of the reviews alone, or
DeLong's on the logit scale.

NumPy draws the sets of a cell. The intervals are those that the program shows; where only counts
decide, the same counts are asked for once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, sqrt
from statistics import NormalDist, fmean, median

import numpy as np

from bioeval_tui.grade.resampling import CannotResampleError, draws
from bioeval_tui.grading.metrics import METRICS
from bioeval_tui.statistics.estimates import Sample, Tries, estimate, pass_k_interval, proportion
from bioeval_tui.statistics.intervals import Interval, share_interval, t_quantile
from bioeval_tui.statistics.judges import JudgedItem, RatedTwice, corrected_mean, judge_agreement

Ends = tuple[float, float]
Drawn = tuple[Interval | Ends | None, Ends | None]
"""An interval, and that of the reference; None where there is none."""

Draw = Callable[[np.random.Generator, int, int, float, float], Iterator[Drawn]]
"""From a number of sets, of units in each, the truth and a detail of the design."""

LEAST, WIDEST = 0.93, 1.3
UNITS = (3, 5, 10, 30, 100)
TRUTHS = (0.5, 0.9, 0.98, 1.0)
CORRELATIONS = (0.0, 0.2, 0.5)
JUDGE_ERRORS = (0.0, 0.01, 0.05, 0.2)
CURVED = (
    "ROC AUC", "f1_macro", "matthews", "cohen_kappa", "judge's kappa", "corrected score",
    "pass^2, one case",
    "pass^2, harsh judge",
)  # fmt: skip
"""What is no mean: from 30 units on."""

SLOW = ("corrected score", "judge's kappa")
"""What has a fifth of the sets."""

shared = lru_cache(maxsize=2**14)


@dataclass(frozen=True)
class Cell:
    """One design: how often an interval was shown, how often it held the truth, and its width."""

    what: str
    units: int
    truth: float
    detail: str
    draws: int
    shown: int
    held: int
    width: float
    ratio: float | None
    """The width over that of the reference, on the sets that have one; None unless the reference
    holds the truth.
    """

    @property
    def coverage(self) -> float:
        """The share of the shown intervals that hold the truth."""
        return self.held / self.shown if self.shown else float("nan")

    @property
    def fails(self) -> str:
        """`coverage`, `width`, both, or nothing."""
        if not self.shown:
            return ""
        low = self.coverage < LEAST - 1.645 * sqrt(LEAST * (1 - LEAST) / self.shown)
        return " and ".join(["coverage"] * low + ["width"] * ((self.ratio or 0) > WIDEST))

    @property
    def row(self) -> str:
        """The row of the table."""
        start = f"| {self.what} | {self.units} | {self.truth:g} | {self.detail} | {self.draws:,} |"
        if not self.shown:
            return f"{start} none shown | | | |"
        reference = f"{self.ratio:.2f}" if self.ratio is not None else "–"
        return f"{start} {self.coverage:.1%} | {self.width:.3f} | {reference} | {self.fails} |"


def wilson(means: np.ndarray) -> Ends | None:
    """Return Wilson's interval with the effective number of values, from the mean of each unit;
    None where nothing varies.
    """
    mean, size = float(means.mean()), len(means)
    error = float(means.std()) / sqrt(size - 1)
    if error < 1e-12:
        return None
    square = (t_quantile(0.975, size - 1) * error) ** 2 / (mean * (1 - mean))
    middle = (mean + square / 2) / (1 + square)
    half = sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
    return middle - half, middle + half


def share(
    random: np.random.Generator,
    sets: int,
    units: int,
    truth: float,
    correlation: float,
    trials: int = 5,
) -> Iterator[Drawn]:
    """Draw passes of the trials of each case; of one trial without a correlation."""
    spread = 1 / correlation - 1 if correlation else inf
    chances = np.full((sets, units), truth)
    if correlation and truth < 1:
        chances = random.beta(truth * spread, (1 - truth) * spread, (sets, units))
    trials = trials if correlation else 1
    for passes in np.sort(random.binomial(trials, chances)):
        yield _of_passes(tuple(passes.tolist()), trials)


@shared
def _of_passes(passes: tuple[int, ...], trials: int) -> Drawn:
    held = ((str(case), trial < yes) for case, yes in enumerate(passes) for trial in range(trials))
    return proportion(held).interval, wilson(np.array(passes) / trials)


def scores(
    random: np.random.Generator, sets: int, units: int, truth: float, spread: float
) -> Iterator[Drawn]:
    """Draw scores of one job's trials, from a beta distribution: U-shaped with a spread of 1,
    narrow with one of 30.
    """
    values = np.ones((sets, units))
    if truth < 1:
        values = random.beta(truth * spread, (1 - truth) * spread, (sets, units))
    for each in values:
        yield estimate([Sample("job", value) for value in each.tolist()]).interval, wilson(each)


def paired(
    random: np.random.Generator, sets: int, units: int, truth: float, difference: float
) -> Iterator[Drawn]:
    """Draw differences of two passes, of which the second is rarer by `difference`."""
    rarer, first = (random.random((sets, units)) < chance for chance in (truth - difference, truth))
    for values in np.sort(rarer.astype(float) - first):
        yield _of_differences(tuple(values.tolist()))


@shared
def _of_differences(values: tuple[float, ...]) -> Drawn:
    size = len(values)
    half = t_quantile(0.975, size - 1) * float(np.std(values)) / sqrt(size - 1)
    samples, mean = [Sample("job", value) for value in values], fmean(values)
    reference = (mean - half, mean + half) if half else None
    return estimate(samples, (-1.0, 1.0), paired=True).interval, reference


@lru_cache
def _tasks(truth: float, spread: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the logits of ten tasks that pass in `truth` of all conversations, and the effects of
    conversations.
    """
    if truth == 1:
        return (inf,) * 10, (0.0,)
    effects = tuple(spread * NormalDist().inv_cdf((i + 0.5) / 200) for i in range(200))
    low, high = -20.0, 20.0
    tasks: tuple[float, ...] = ()
    for _ in range(40):
        middle = (low + high) / 2
        tasks = tuple(middle + NormalDist().inv_cdf((i + 0.5) / 10) for i in range(10))
        low, high = (low, middle) if fmean(_passes(tasks, effects)) > truth else (middle, high)
    return tasks, effects


def _passes(tasks: Sequence[float], effects: Sequence[float]) -> list[float]:
    return [fmean(1 / (1 + exp(-task - effect)) for effect in effects) for task in tasks]


def pass_k(k: int) -> Draw:
    """Return how conversations are drawn in which the same ten tasks are judged, with an effect of
    the conversation.
    """

    def draw(
        random: np.random.Generator, sets: int, units: int, truth: float, spread: float
    ) -> Iterator[Drawn]:
        tasks = np.array(_tasks(truth, spread)[0])
        for _ in range(sets):
            effects = random.normal(0, spread, (units, 1))
            yield _of_conversations(
                random.random((units, 10)) < 1 / (1 + np.exp(-tasks - effects)), k
            )

    return draw


def harsh(k: int) -> Draw:
    """Return how conversations are drawn of which a share of 1 − `truth` fails all ten tasks, as of
    a harsh judge.
    """

    def draw(
        random: np.random.Generator, sets: int, units: int, truth: float, item: float
    ) -> Iterator[Drawn]:
        for _ in range(sets):
            good = random.random((units, 1)) < truth
            yield _of_conversations(good & (random.random((units, 10)) < item), k)

    return draw


def _of_conversations(passed: np.ndarray, k: int) -> Drawn:
    """Return the interval of a table of conversations and tasks, in whatever order they come."""
    ordered = passed[np.lexsort(passed.T)]
    return _of_table(tuple(map(tuple, ordered.T.tolist())), k)


@shared
def _of_table(tasks: tuple[tuple[bool, ...], ...], k: int) -> Drawn:
    tries = [Tries(str(task), dict(enumerate(passed)), "case") for task, passed in enumerate(tasks)]
    return pass_k_interval(tries, k), None


def corrected(
    random: np.random.Generator,
    sets: int,
    reviews: int,
    truth: float,
    errors: float,
    items: int = 300,
) -> Iterator[Drawn]:
    """Review some of the verdicts of a judge that errs in a share of them."""
    people = random.random((sets, items)) < truth
    judge = people != (random.random((sets, items)) < errors)
    for said, judged in zip(people, judge, strict=True):
        pairs = np.bincount(2 * judged[:reviews] + said[:reviews], minlength=4)
        yield _of_reviews(tuple(pairs.tolist()), int(judged[reviews:].sum()), items)


@shared
def _of_reviews(reviewed: tuple[int, ...], passed: int, items: int) -> Drawn:
    """Return the interval of so many reviewed pairs of judge and people (00, 01, 10, 11), and of
    passes that nobody reviewed.
    """
    reviews = sum(reviewed)
    if reviews < 30:
        return None, None
    judged = [
        JudgedItem(float(pair > 1), float(pair % 2))
        for pair, n in enumerate(reviewed)
        for _ in range(n)
    ]
    judged += [JudgedItem(float(place < passed)) for place in range(items - reviews)]
    reference = share_interval((reviewed[1] + reviewed[3]) / reviews, reviews)
    return corrected_mean(judged, "random").interval, (reference.low, reference.high)


def _graded(name: str, true: np.ndarray, guess: np.ndarray) -> Ends | None:
    try:
        return draws(METRICS[name], [(true, guess)]).ends
    except CannotResampleError:
        return None


def auc(
    random: np.random.Generator, sets: int, rows: int, truth: float, positive: float
) -> Iterator[Drawn]:
    """Draw normal scores of two classes."""
    true = (np.arange(rows) < max(2, round(positive * rows))).astype(float)
    apart = NormalDist().inv_cdf(min(truth, 1 - 1e-12)) * sqrt(2)
    for _ in range(sets):
        guess = true * apart + random.normal(size=rows)
        higher, lower = guess[true > 0], guess[true == 0]
        area, reference = METRICS["roc_auc"].function(true, guess), None
        if 0 < area < 1 and min(len(higher), len(lower)) > 1:
            won, lost = ((higher[:, None] > lower).mean(axis=axis) for axis in (1, 0))
            error = sqrt(won.var(ddof=1) / len(higher) + lost.var(ddof=1) / len(lower))
            middle, half = log(area / (1 - area)), 1.96 * error / (area * (1 - area))
            reference = 1 / (1 + exp(-middle + half)), 1 / (1 + exp(-middle - half))
        yield _graded("roc_auc", true, guess), reference


def labels(name: str) -> Draw:
    """Return how labels are drawn; `truth` is the accuracy, from which the metric's own truth
    follows.
    """

    def draw(
        random: np.random.Generator, sets: int, rows: int, truth: float, rare: float
    ) -> Iterator[Drawn]:
        for counts in random.multinomial(rows, _label_shares(truth, rare), sets):
            yield _of_labels(name, tuple(counts.tolist()))

    return draw


@shared
def _of_labels(name: str, counts: tuple[int, ...]) -> Drawn:
    true, guess = (np.repeat(side, counts) for side in ((0, 0, 1, 1), (0, 1, 0, 1)))
    reference = None
    if name == "accuracy":
        exact = share_interval(float(np.mean(true == guess)), len(true))
        reference = (exact.low, exact.high)
    return _graded(name, true, guess), reference


def _label_shares(accuracy: float, rare: float) -> tuple[float, ...]:
    """Return the shares of (true, guess) 00, 01, 10 and 11."""
    return (
        (1 - rare) * accuracy,
        (1 - rare) * (1 - accuracy),
        rare * (1 - accuracy),
        rare * accuracy,
    )


def label_truth(name: str, accuracy: float, rare: float) -> float:
    """Return a metric of endless rows of two classes, of which one has a share of `rare`."""
    counts = [round(each * 10**6) for each in _label_shares(accuracy, rare)]
    return float(
        METRICS[name].function(np.repeat((0, 0, 1, 1), counts), np.repeat((0, 1, 0, 1), counts))
    )


def kappa(
    random: np.random.Generator, sets: int, conversations: int, truth: float, errors: float
) -> Iterator[Drawn]:
    """Draw three verdicts per conversation, passes and fails alike; the judge errs in a share of
    them.
    """
    for _ in range(sets):
        sloppy = random.random((conversations, 1)) < 0.5
        people = random.random((conversations, 3)) < 0.5
        judge = people != (random.random((conversations, 3)) < 2 * errors * sloppy)
        units = [
            RatedTwice(str(talk), float(judged), judged, float(said), said)
            for talk, pairs in enumerate(zip(judge.tolist(), people.tolist(), strict=True))
            for judged, said in zip(*pairs, strict=True)
        ]
        yield judge_agreement(units).kappa.interval, None


def cells(count: int, seed: int, only: str = "", most: int = UNITS[-1]) -> Iterator[Cell]:
    """Simulate every cell with `count` sets (a fifth of what is `SLOW`); `only` limits them to one
    kind, `most` to few units.
    """
    kinds: list[tuple[str, Draw, str, Sequence[float], Sequence[float]]] = [
        ("share of passes", share, "correlation {:g}", TRUTHS, CORRELATIONS),
        ("mean of scores", scores, "beta, spread {:g}", TRUTHS, (1.0, 3.0, 30.0)),
        ("paired difference", paired, "true difference −{:g}", TRUTHS[:3], (0.0, 0.1)),
        ("pass^1, one case", pass_k(1), "ten tasks, conversations vary by {:g}", TRUTHS,
            (1.0, 2.0)),
        ("pass^2, one case", pass_k(2), "ten tasks, conversations vary by {:g}", TRUTHS,
            (1.0, 2.0)),
        ("pass^1, harsh judge", harsh(1), "ten tasks pass in {:.0%} of the good conversations",
            TRUTHS[1:3], (0.95, 1.0)),
        ("pass^2, harsh judge", harsh(2), "ten tasks pass in {:.0%} of the good conversations",
            TRUTHS[1:3], (0.95, 1.0)),
        ("corrected score", corrected, "judge errs in {:.0%}", TRUTHS, JUDGE_ERRORS),
        ("ROC AUC", auc, "{:.0%} positive", TRUTHS[:3], (0.5, 0.1)),
        *((name, labels(name), "rare class {:.0%}", TRUTHS[1:], (0.5, 0.2))
          for name in ("accuracy", "f1_macro", "matthews", "cohen_kappa")),
        ("f1_macro", labels("f1_macro"), "rare class {:.0%}", TRUTHS[1:3], (0.1, 0.05)),
        ("judge's kappa", kappa, "errs in {:.0%}", (0.0,), (0.01, 0.05, 0.2)),
    ]  # fmt: skip
    for what, draw, words, truths, details in kinds:
        if only not in ("", what):
            continue
        some = max(min(10, count), count // 5) if what in SLOW else count
        for units in (each for each in UNITS if each <= most):
            for truth in truths:
                for detail in details:
                    random = np.random.default_rng(
                        list(f"{seed} {what} {units} {truth} {detail}".encode())
                    )
                    yield cell_of(
                        (what, units, _truth(what, truth, detail), words.format(detail)),
                        draw(random, some, units, truth, detail),
                    )


def _truth(what: str, truth: float, detail: float) -> float:
    if what == "paired difference":
        return -detail
    if what == "pass^2, one case":
        return fmean(chance**2 for chance in _passes(*_tasks(truth, detail)))
    if what.endswith("harsh judge"):
        return (truth * detail) ** int(what[5])
    if what == "judge's kappa":
        return 1 - 2 * detail
    return label_truth(what, truth, detail) if what in METRICS and what != "roc_auc" else truth


def cell_of(names: tuple[str, int, float, str], drawn: Iterator[Drawn]) -> Cell:
    """Return what came of the sets of a design, which is named by kind, units, truth and detail."""
    truth, widths, both, sets, held, reference_held = names[2], [], [], 0, 0, 0
    for found, reference in drawn:
        sets += 1
        if found is None:
            continue
        low, high = (found.low, found.high) if isinstance(found, Interval) else found
        held += low - 1e-9 <= truth <= high + 1e-9
        widths.append(high - low)
        if reference is not None:
            both.append((high - low, reference[1] - reference[0]))
        # One that does not vary has no reference, and would hold the truth only if it were known.
        reference_held += (
            reference is not None and reference[0] - 1e-9 <= truth <= reference[1] + 1e-9
        )
    valid = 2 * len(both) > len(widths) and reference_held >= LEAST * len(both)
    ratio = median(x for x, _ in both) / median(y for _, y in both) if valid else None
    return Cell(*names, sets, len(widths), held, median(widths or [0.0]), ratio)
