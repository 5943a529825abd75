"""Every kind of interval in the corners: few units, scores near the ceiling, clusters, judges that hardly err.

A cell fails if its coverage is significantly below 93 %, or its median width more than 1.3 times that of the reference on
the same sets, if that covers 93 % itself:
Wilson's interval with the effective number of values (and Student's quantile), Clopper and Pearson's of the reviews alone,
or DeLong's on the logit scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, inf, log, sqrt
from random import Random
from statistics import NormalDist, fmean, median, pstdev

import numpy as np

from bioeval_tui.grade.metrics import METRICS, roc_auc
from bioeval_tui.grade.resampling import CannotResampleError, draws
from bioeval_tui.report.statistics.agreement import RatedTwice, judge_agreement
from bioeval_tui.report.statistics.estimates import Sample, Tries, estimate, pass_k_interval, proportion
from bioeval_tui.report.statistics.prediction_powered import JudgedItem, corrected_mean
from bioeval_tui.uncertainty import Interval, share_interval, t_quantile

Ends = tuple[float, float]
Drawn = tuple[Interval | Ends | None, Ends | None]
"""An interval, and that of the reference; None where there is none."""

LEAST, WIDEST = 0.93, 1.3
UNITS = (3, 5, 10, 30, 100)
TRUTHS = (0.5, 0.9, 0.98, 1.0)
CORRELATIONS = (0.0, 0.2, 0.5)
JUDGE_ERRORS = (0.0, 0.01, 0.05, 0.2)
CURVED = (
    "ROC AUC", "f1_macro", "matthews", "cohen_kappa", "judge's kappa", "corrected score", "pass^2, one case",
    "pass^2, harsh judge",
)  # fmt: skip
"""What is no mean: from 30 units on, and slower to draw."""


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
    """The width over that of the reference, on the sets that have one; None unless the reference holds the truth."""

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
        start = f"| {self.what} | {self.units} | {self.truth:g} | {self.detail} |"
        if not self.shown:
            return f"{start} none shown | | | |"
        reference = f"{self.ratio:.2f}" if self.ratio is not None else "–"
        return f"{start} {self.coverage:.1%} | {self.width:.3f} | {reference} | {self.fails} |"


def wilson(groups: Sequence[Sequence[float]]) -> Ends | None:
    """Return Wilson's interval with the effective number of values; None where nothing varies."""
    means = [fmean(group) for group in groups]
    mean, size = fmean(means), len(means)
    error = pstdev(means) / sqrt(size - 1)
    if error < 1e-12:
        return None
    square = (t_quantile(0.975, size - 1) * error) ** 2 / (mean * (1 - mean))
    middle = (mean + square / 2) / (1 + square)
    half = sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
    return middle - half, middle + half


def _cases(random: Random, units: int, truth: float, correlation: float, trials: int) -> list[list[float]]:
    spread = 1 / correlation - 1 if correlation else inf
    found = []
    for _ in range(units):
        chance = truth
        if correlation and truth < 1:
            chance = random.betavariate(truth * spread, (1 - truth) * spread)
        found.append([float(random.random() < chance) for _ in range(trials)])
    return found


def share(random: Random, units: int, truth: float, correlation: float) -> Drawn:
    """Draw passes of five trials of each case; of one without a correlation."""
    trials = 5 if correlation else 1
    groups = _cases(random, units, truth, correlation, trials)
    return _of_passes(tuple(sorted(int(sum(group)) for group in groups)), trials)


@cache
def _of_passes(passes: tuple[int, ...], trials: int) -> Drawn:
    groups = [[1.0] * yes + [0.0] * (trials - yes) for yes in passes]
    found = proportion((str(case), bool(value)) for case, group in enumerate(groups) for value in group)
    return found.interval, wilson(groups)


def scores(random: Random, units: int, truth: float, spread: float) -> Drawn:
    """Draw scores of one job's trials, from a beta distribution: U-shaped with a spread of 1, narrow with one of 30."""
    values = [
        random.betavariate(truth * spread, (1 - truth) * spread) if truth < 1 else 1.0 for _ in range(units)
    ]
    return estimate([Sample("job", value) for value in values]).interval, wilson([[x] for x in values])


def paired(random: Random, units: int, truth: float, difference: float) -> Drawn:
    """Draw differences of two passes, of which the second is rarer by `difference`."""
    values = [
        float(random.random() < truth - difference) - float(random.random() < truth) for _ in range(units)
    ]
    return _of_differences(tuple(sorted(values)))


@cache
def _of_differences(values: tuple[float, ...]) -> Drawn:
    error = pstdev(values) / sqrt(len(values) - 1)
    samples = [Sample("job", value) for value in values]
    half, mean = t_quantile(0.975, len(values) - 1) * error, fmean(values)
    reference = (mean - half, mean + half) if error else None
    return estimate(samples, (-1.0, 1.0), paired=True).interval, reference


@lru_cache
def _tasks(truth: float, spread: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the logits of ten tasks that pass in `truth` of all conversations, and the effects of conversations."""
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


def pass_k(k: int) -> Callable[[Random, int, float, float], Drawn]:
    """Return how conversations are drawn in which the same ten tasks are judged, with an effect of the conversation."""

    def draw(random: Random, units: int, truth: float, spread: float) -> Drawn:
        tasks, _ = _tasks(truth, spread)
        passed: list[dict[int, bool]] = [{} for _ in tasks]
        for talk in range(units):
            effect = random.gauss(0, spread)
            for task, logit in zip(passed, tasks, strict=True):
                task[talk] = random.random() < 1 / (1 + exp(-logit - effect))
        return pass_k_interval([Tries(str(i), held, "case") for i, held in enumerate(passed)], k), None

    return draw


def harsh(k: int) -> Callable[[Random, int, float, float], Drawn]:
    """Return how conversations are drawn of which a share of 1 − `truth` fails all ten tasks, as of a harsh judge."""

    def draw(random: Random, units: int, truth: float, item: float) -> Drawn:
        passed: list[dict[int, bool]] = [{} for _ in range(10)]
        for talk in range(units):
            good = random.random() < truth
            for task in passed:
                task[talk] = good and random.random() < item
        return pass_k_interval([Tries(str(i), held, "case") for i, held in enumerate(passed)], k), None

    return draw


def corrected(random: Random, reviews: int, truth: float, errors: float, items: int = 300) -> Drawn:
    """Review some of the verdicts of a judge that errs in a share of them."""
    people = [random.random() < truth for _ in range(items)]
    judged = [
        JudgedItem(float(said != (random.random() < errors)), float(said) if place < reviews else None)
        for place, said in enumerate(people)
    ]
    if reviews < 30:
        return None, None
    reference = share_interval(fmean(people[:reviews]), reviews)
    return corrected_mean(judged, "random").interval, (reference.low, reference.high)


def _graded(name: str, true: np.ndarray, guess: np.ndarray) -> tuple[float, float] | None:
    try:
        return draws(METRICS[name], [(true, guess)]).ends
    except CannotResampleError:
        return None


def auc(random: Random, rows: int, truth: float, positive: float) -> Drawn:
    """Draw normal scores of two classes."""
    numpy = np.random.default_rng(random.randrange(2**32))
    true = (np.arange(rows) < max(2, round(positive * rows))).astype(float)
    apart = NormalDist().inv_cdf(min(truth, 1 - 1e-12)) * sqrt(2)
    guess = true * apart + numpy.normal(size=rows)
    higher, lower = guess[true > 0], guess[true == 0]
    area, reference = roc_auc(true, guess), None
    if 0 < area < 1 and min(len(higher), len(lower)) > 1:
        won, lost = ((higher[:, None] > lower).mean(axis=axis) for axis in (1, 0))
        error = sqrt(won.var(ddof=1) / len(higher) + lost.var(ddof=1) / len(lower))
        middle, half = log(area / (1 - area)), 1.96 * error / (area * (1 - area))
        reference = 1 / (1 + exp(-middle + half)), 1 / (1 + exp(-middle - half))
    return _graded("roc_auc", true, guess), reference


def labels(name: str) -> Callable[[Random, int, float, float], Drawn]:
    """Return how labels are drawn; `truth` is the accuracy, from which the metric's own truth follows."""

    def draw(random: Random, rows: int, truth: float, rare: float) -> Drawn:
        numpy = np.random.default_rng(random.randrange(2**32))
        true = (numpy.random(rows) < rare).astype(int)
        guess = np.where(numpy.random(rows) < truth, true, 1 - true)
        ends = _graded(name, true, guess)
        reference = None
        if name == "accuracy":
            exact = share_interval(float(np.mean(true == guess)), rows)
            reference = (exact.low, exact.high)
        return ends, reference

    return draw


def label_truth(name: str, accuracy: float, rare: float) -> float:
    """Return a metric of endless rows of two classes, of which one has a share of `rare`."""
    cells = [(0, 0, (1 - rare) * accuracy), (0, 1, (1 - rare) * (1 - accuracy)), (1, 1, rare * accuracy),
             (1, 0, rare * (1 - accuracy))]  # fmt: skip
    counts = [round(share * 10**6) for _, _, share in cells]
    true, guess = (np.repeat([cell[side] for cell in cells], counts) for side in (0, 1))
    return float(METRICS[name].function(true, guess))


def kappa(random: Random, conversations: int, truth: float, errors: float) -> Drawn:
    """Draw three verdicts per conversation, passes and fails alike; the judge errs in a share of them."""
    units = []
    for talk in range(conversations):
        sloppy = random.random() < 0.5
        for _ in range(3):
            people = random.random() < 0.5
            judge = people != (random.random() < 2 * errors * sloppy)
            units.append(RatedTwice(str(talk), float(judge), judge, float(people), people))
    return judge_agreement(units).kappa.interval, None


def cells(count: int, seed: int, only: str = "", most: int = UNITS[-1]) -> Iterator[Cell]:
    """Simulate every cell with `count` draws (a twentieth for corrected scores and kappa, a fifth for `CURVED`); `only` limits them to one kind, `most` to few units."""
    kinds: list[tuple[str, Callable[[Random, int, float, float], Drawn], str, Sequence[float], Sequence[float]]] = [
        ("share of passes", share, "correlation {:g}", TRUTHS, CORRELATIONS),
        ("mean of scores", scores, "beta, spread {:g}", TRUTHS, (1.0, 3.0, 30.0)),
        ("paired difference", paired, "true difference −{:g}", TRUTHS[:3], (0.0, 0.1)),
        ("pass^1, one case", pass_k(1), "ten tasks, conversations vary by {:g}", TRUTHS, (1.0, 2.0)),
        ("pass^2, one case", pass_k(2), "ten tasks, conversations vary by {:g}", TRUTHS, (1.0, 2.0)),
        ("pass^1, harsh judge", harsh(1), "ten tasks pass in {:.0%} of the good conversations", TRUTHS[1:3], (0.95, 1.0)),
        ("pass^2, harsh judge", harsh(2), "ten tasks pass in {:.0%} of the good conversations", TRUTHS[1:3], (0.95, 1.0)),
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
        dear = 20 if what in ("corrected score", "judge's kappa") else 5 if what in CURVED else 1
        some = max(min(10, count), count // dear)
        for units in (each for each in UNITS if each <= most):
            for truth in truths:
                for detail in details:
                    random = Random(f"{seed} {what} {units} {truth} {detail}")
                    value = _truth(what, truth, detail)
                    yield _cell(what, units, value, words.format(detail), some,
                                lambda: draw(random, units, truth, detail))  # noqa: B023  # fmt: skip


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


def _cell(what: str, units: int, truth: float, detail: str, count: int, draw: Callable[[], Drawn]) -> Cell:
    widths, both, held, reference_held = [], [], 0, 0
    for _ in range(count):
        found, reference = draw()
        if found is None:
            continue
        low, high = (found.low, found.high) if isinstance(found, Interval) else found
        held += low - 1e-9 <= truth <= high + 1e-9
        widths.append(high - low)
        if reference is not None:
            both.append((high - low, reference[1] - reference[0]))
        # One that does not vary has no reference, and would hold the truth only if it were known.
        reference_held += reference is not None and reference[0] - 1e-9 <= truth <= reference[1] + 1e-9
    valid = 2 * len(both) > len(widths) and reference_held >= LEAST * len(both)
    ratio = median(x for x, _ in both) / median(y for _, y in both) if valid else None
    return Cell(what, units, truth, detail, count, len(widths), held, median(widths or [0.0]), ratio)
