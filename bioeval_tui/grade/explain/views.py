"""Views of one target's rows, by what is predicted: numbers, probabilities, labels, survival."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bioeval_tui.grade.explain.disclosure import Disclosure
from bioeval_tui.grade.explain.groups import MOST_GROUPS, quantile_groups
from bioeval_tui.grade.explain.rows import ExplainedRows
from bioeval_tui.grade.explanation import Section, table
from bioeval_tui.grade.metrics import average_ranks, concordance_index
from bioeval_tui.text import clean_line, plural, shorten

WORST = 10
MOST_CLASSES = 12
_BINS = 10
_NONE = float("nan")


def _of_numbers(rows: ExplainedRows, disclosure: Disclosure) -> list[Section]:
    error = rows.guess - rows.true
    facts = [
        ("mean (bias)", disclosure.figure(error.mean())),
        ("standard deviation", disclosure.figure(error.std())),
        ("mean |error|", disclosure.figure(np.abs(error).mean())),
    ]
    if disclosure.open:
        shares = (0.05, 0.25, 0.5, 0.75, 0.95)
        quantiles = zip(shares, np.quantile(error, shares), strict=True)
        facts += [(f"{share:.0%} quantile", float(value)) for share, value in quantiles]
    sections = [table(f"residuals of {rows.name}, predicted − true", ("figure", "residual"), facts)]
    reach = 2 * error.std()
    low, high = (
        (error.min(), error.max()) if disclosure.open else (error.mean() - reach, error.mean() + reach)
    )
    if high > low and disclosure.enough(len(error)):
        edges = np.linspace(low, high, _BINS + 1)
        counts = np.histogram(np.clip(error, low, high), edges)[0]
        bins = [
            (f"{start:.3g} to {stop:.3g}", disclosure.count(count))
            for start, stop, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
        note = "" if disclosure.open else "the first and the last bin include all rows beyond them"
        sections.append(
            table(f"histogram of residuals of {rows.name}", ("residual", "rows"), bins, bar=1, note=note)
        )
    if disclosure.open or not rows.repeats:
        by_prediction = [
            (
                f"{rows.guess[at].min():.4g} to {rows.guess[at].max():.4g}",
                len(at), disclosure.figure(error[at].mean()), disclosure.figure(np.abs(error[at]).mean()),
            )
            for at in quantile_groups(rows.guess, disclosure.groups(len(error), 5))
            if disclosure.enough(len(at))
        ]  # fmt: skip
        columns = ("predicted", "rows", "bias", "mean |error|")
        sections.append(table(f"residuals by predicted {rows.name}", columns, by_prediction, bar=3))
    if disclosure.open:
        worst = np.argsort(-np.abs(error), kind="stable")[:WORST]
        listed = [
            (str(rows.ids[at]), float(rows.guess[at]), float(rows.true[at]), float(error[at])) for at in worst
        ]
        sections.append(table("worst rows", ("id", "predicted", "true", "residual"), listed, bar=3))
    return sections


def _of_probabilities(rows: ExplainedRows, disclosure: Disclosure) -> list[Section]:
    positive = rows.true > 0
    in_unit = bool((rows.guess >= 0).all() and (rows.guess <= 1).all())
    marks = np.unique(np.quantile(rows.guess, np.linspace(0.05, 0.95, 10)))
    thresholds = []
    for threshold in sorted({*map(float, marks), *([0.5] if in_unit else [])}):
        called = rows.guess >= threshold
        if not disclosure.enough([called.sum(), (~called).sum()]):
            continue
        hits, passed = (called & positive).sum(), (~called & ~positive).sum()
        sensitivity, specificity = (
            disclosure.share(hits, positive.sum()),
            disclosure.share(passed, (~positive).sum()),
        )
        precision = disclosure.share(hits, called.sum(), known=True)
        thresholds.append((threshold, sensitivity, specificity, float(precision)))
    sections = []
    best = max(thresholds, key=lambda row: row[1] + row[2], default=None)
    if best is not None:
        columns = ("threshold", "sensitivity", "specificity", "precision")
        note = f"sensitivity + specificity is greatest at {best[0]:.4g}"
        sections.append(table(f"thresholds of {rows.name}", columns, thresholds, bar=1, note=note))
    at = 0.5 if in_unit else best[0] if best else float(np.median(rows.guess))
    called = rows.guess >= at
    if disclosure.enough([called.sum(), (~called).sum()]):
        confusion = [
            (
                f"true {word}",
                disclosure.count((part & ~called).sum()),
                disclosure.count((part & called).sum()),
            )
            for word, part in (("0", ~positive), ("1", positive))
        ]
        sections.append(table(f"confusion at {at:.4g}", ("", "predicted 0", "predicted 1"), confusion))
    if in_unit:
        parts = [
            part
            for part in quantile_groups(rows.guess, disclosure.groups(len(rows.guess), _BINS))
            if disclosure.enough(len(part))
        ]
        bins = [
            (
                len(part), float(rows.guess[part].mean()),
                disclosure.share(positive[part].sum(), len(part), known=True),
            )
            for part in parts
        ]  # fmt: skip
        away = sum(abs(rows.guess[part].sum() - positive[part].sum()) for part in parts) / max(
            1, sum(map(len, parts))
        )
        note = f"expected calibration error {disclosure.figure(away):.4g}"
        heads = ("rows", "mean predicted", "share of 1")
        sections.append(table(f"calibration of {rows.name}", heads, bins, bar=2, note=note))
    if disclosure.open:
        wrong = np.argsort(-np.abs(rows.guess - positive), kind="stable")[:WORST]
        listed = [(str(rows.ids[n]), float(rows.guess[n]), int(positive[n])) for n in wrong]
        sections.append(table("worst rows", ("id", "predicted", "true"), listed))
    return sections


def _of_labels(rows: ExplainedRows, disclosure: Disclosure) -> list[Section]:
    true, guess = (np.asarray(values).astype(str) for values in (rows.true, rows.guess))
    counts = dict(zip(*np.unique(true, return_counts=True), strict=True))
    order = sorted(
        (name for name, count in counts.items() if disclosure.enough(count)),
        key=lambda name: (-disclosure.count(counts[name]), name),
    )
    listed = []
    for name in order:
        is_true, is_called = true == name, guess == name
        right, called = (is_true & is_called).sum(), is_called.sum()
        recall, precision, f1 = disclosure.share(right, is_true.sum()), _NONE, _NONE
        if called and disclosure.enough(called):
            precision = disclosure.share(right, called, known=True)
            f1 = min(1.0, 2 * disclosure.count(right) / (disclosure.count(is_true.sum()) + called))
        elif called:
            recall = _NONE  # for few predicted rows it would reveal their class
        shown = shorten(clean_line(str(name)), 40)
        listed.append((shown, disclosure.count(is_true.sum()), recall, float(precision), float(f1)))
    hidden = len(counts) - len(order)
    notes = (
        [f"{plural(len(order) - MOST_GROUPS, 'class', 'classes')} more"] if len(order) > MOST_GROUPS else []
    )
    notes += [f"{plural(hidden, 'small class', 'small classes')} not shown"] if hidden else []
    columns: tuple[str, ...] = ("class", "rows", "recall", "precision", "F1")
    sections = [table(f"classes of {rows.name}", columns, listed[:MOST_GROUPS], bar=4, note="; ".join(notes))]
    across = [name for name in order if disclosure.enough((guess == name).sum())][:MOST_CLASSES]
    if len(order) > 1 and across:
        heads = [shorten(clean_line(str(name)), 16) for name in across]
        cells = [
            (
                shorten(clean_line(str(name)), 16),
                *(disclosure.count(((true == name) & (guess == other)).sum()) for other in across),
            )
            for name in order[:MOST_CLASSES]
        ]
        note = f"the {MOST_CLASSES} most frequent classes" if len(order) > MOST_CLASSES else ""
        sections.append(table("confusion: true by row, predicted by column", ("", *heads), cells, note=note))
    if disclosure.open:
        wrong = np.flatnonzero(true != guess)[:WORST]
        rows_shown = [(str(rows.ids[n]), guess[n], true[n]) for n in wrong]
        sections.append(table("wrong rows, the first ones", ("id", "predicted", "true"), rows_shown))
    return sections


def _of_survival(rows: ExplainedRows, disclosure: Disclosure) -> list[Section]:
    happened = rows.event > 0
    parts = quantile_groups(rows.guess, disclosure.groups(len(rows.guess), 4))
    groups = [
        (
            f"{number} of {len(parts)}", len(at), disclosure.share(happened[at].sum(), len(at), known=True),
            disclosure.figure(rows.true[at].mean()),
        )
        for number, at in enumerate(parts, start=1)
        if disclosure.enough(len(at))
    ]  # fmt: skip
    gap = average_ranks(rows.guess) - average_ranks(rows.true)
    seen = gap[happened]
    enough = len(seen) > 0 and disclosure.enough(len(seen))
    facts = [
        ("concordance index", concordance_index(rows.true, rows.guess, rows.event)),
        ("events", disclosure.count(happened.sum())),
        ("mean gap of ranks among events", disclosure.figure(np.abs(seen).mean()) if enough else _NONE),
    ]
    columns = ("group", "rows", "events", "mean time")
    note = "group 1 is predicted to live shortest"
    sections = [
        table(f"ranks of {rows.name}", ("figure", "value"), facts),
        table("what happened, by predicted survival", columns, groups, bar=2, note=note),
    ]
    if disclosure.open:
        worst = np.flatnonzero(happened)[np.argsort(-np.abs(seen), kind="stable")[:WORST]]
        listed = [(str(rows.ids[n]), float(rows.guess[n]), float(rows.true[n]), float(gap[n])) for n in worst]
        sections.append(table("events ranked worst", ("id", "predicted", "time", "rank − true rank"), listed))
    return sections


VIEWS: dict[str, Callable[[ExplainedRows, Disclosure], list[Section]]] = {
    "number": _of_numbers,
    "probability": _of_probabilities,
    "label": _of_labels,
    "survival": _of_survival,
}
