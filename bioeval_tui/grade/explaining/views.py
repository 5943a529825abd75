"""The error views of each kind of prediction: numbers, probabilities, labels and survival times.

`explain.explain` calls the one of a target's kind by `VIEWS`, and `cells.py` does so for a column
of `obs`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bioeval_tui.base.text import clean_line, plural, shorten
from bioeval_tui.grade.explaining.groups import MOST_GROUPS, quantile_groups
from bioeval_tui.grade.explaining.rows import ExplainedRows
from bioeval_tui.grade.explaining.sections import Section, table
from bioeval_tui.grade.metrics import average_ranks, concordance_index

_WORST = 10

_MOST_CLASSES = 12

_BINS = 10

_UNDEFINED = float("nan")


def _number_views(rows: ExplainedRows) -> list[Section]:
    error = rows.guess - rows.true
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    facts = [
        ("mean (bias)", float(error.mean())),
        ("standard deviation", float(error.std())),
        ("mean |error|", float(np.abs(error).mean())),
        *(
            (f"{share:.0%} quantile", float(value))
            for share, value in zip(shares, np.quantile(error, shares), strict=True)
        ),
    ]
    sections = [table(f"residuals of {rows.name}, predicted − true", ("figure", "residual"), facts)]
    if error.max() > error.min():
        counts, edges = np.histogram(error, _BINS)
        bins = [
            (f"{start:.3g} to {stop:.3g}", int(count))
            for start, stop, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
        sections.append(
            table(f"histogram of residuals of {rows.name}", ("residual", "rows"), bins, bar=1)
        )
    by_prediction = [
        (
            f"{rows.guess[at].min():.4g} to {rows.guess[at].max():.4g}",
            len(at), float(error[at].mean()), float(np.abs(error[at]).mean()),
        )
        for at in quantile_groups(rows.guess, 5)
    ]  # fmt: skip
    columns = ("predicted", "rows", "bias", "mean |error|")
    sections.append(table(f"residuals by predicted {rows.name}", columns, by_prediction, bar=3))
    worst = np.argsort(-np.abs(error), kind="stable")[:_WORST]
    listed = [
        (str(rows.ids[at]), float(rows.guess[at]), float(rows.true[at]), float(error[at]))
        for at in worst
    ]
    sections.append(table("worst rows", ("id", "predicted", "true", "residual"), listed, bar=3))
    return sections


def _probability_views(rows: ExplainedRows) -> list[Section]:
    positive = rows.true > 0
    in_unit = bool((rows.guess >= 0).all() and (rows.guess <= 1).all())
    marks = np.unique(np.quantile(rows.guess, np.linspace(0.05, 0.95, 10)))
    candidates = {*map(float, marks)}
    if in_unit:
        candidates.add(0.5)
    thresholds = []
    for threshold in sorted(candidates):
        called = rows.guess >= threshold
        hits, passed = (called & positive).sum(), (~called & ~positive).sum()
        thresholds.append(
            (
                threshold, _share(hits, positive.sum()), _share(passed, (~positive).sum()),
                _share(hits, called.sum()),
            )
        )  # fmt: skip
    best = max(thresholds, key=lambda row: row[1] + row[2])
    columns = ("threshold", "sensitivity", "specificity", "precision")
    note = f"sensitivity + specificity is greatest at {best[0]:.4g}"
    sections = [table(f"thresholds of {rows.name}", columns, thresholds, bar=1, note=note)]
    at = 0.5 if in_unit else best[0]
    called = rows.guess >= at
    confusion = [
        (f"true {word}", int((part & ~called).sum()), int((part & called).sum()))
        for word, part in (("0", ~positive), ("1", positive))
    ]
    sections.append(table(f"confusion at {at:.4g}", ("", "predicted 0", "predicted 1"), confusion))
    if in_unit:
        parts = quantile_groups(rows.guess, _BINS)
        bins = [
            (len(part), float(rows.guess[part].mean()), float(positive[part].mean()))
            for part in parts
        ]
        away = sum(abs(rows.guess[part].sum() - positive[part].sum()) for part in parts) / len(
            rows.guess
        )
        note = f"expected calibration error {away:.4g}"
        heads = ("rows", "mean predicted", "share of 1")
        sections.append(table(f"calibration of {rows.name}", heads, bins, bar=2, note=note))
    wrong = np.argsort(-np.abs(rows.guess - positive), kind="stable")[:_WORST]
    listed = [(str(rows.ids[n]), float(rows.guess[n]), int(positive[n])) for n in wrong]
    sections.append(table("worst rows", ("id", "predicted", "true"), listed))
    return sections


def _label_views(rows: ExplainedRows) -> list[Section]:
    true, guess = (np.asarray(values).astype(str) for values in (rows.true, rows.guess))
    counts = dict(zip(*np.unique(true, return_counts=True), strict=True))
    order = sorted(counts, key=lambda name: (-counts[name], name))
    listed = []
    for name in order[:MOST_GROUPS]:
        rows_of, called = int(counts[name]), (guess == name).sum()
        right = ((true == name) & (guess == name)).sum()
        f1 = float(2 * right / (rows_of + called))
        listed.append(
            (_short_name(name, 40), rows_of, _share(right, rows_of), _share(right, called), f1)
        )
    more = len(order) - MOST_GROUPS
    note = ""
    if more > 0:
        note = f"{plural(more, 'class', 'classes')} more"
    columns = ("class", "rows", "recall", "precision", "F1")
    sections = [table(f"classes of {rows.name}", columns, listed, bar=4, note=note)]
    frequent = order[:_MOST_CLASSES]
    if len(frequent) > 1:
        cells = [
            (
                _short_name(name, 16),
                *(int(((true == name) & (guess == other)).sum()) for other in frequent),
            )
            for name in frequent
        ]
        heads = ("", *(_short_name(name, 16) for name in frequent))
        note = ""
        if len(order) > _MOST_CLASSES:
            note = f"the {_MOST_CLASSES} most frequent classes"
        sections.append(
            table("confusion: true by row, predicted by column", heads, cells, note=note)
        )
    wrong = np.flatnonzero(true != guess)[:_WORST]
    rows_shown = [(str(rows.ids[n]), guess[n], true[n]) for n in wrong]
    sections.append(table("wrong rows, the first ones", ("id", "predicted", "true"), rows_shown))
    return sections


def _survival_views(rows: ExplainedRows) -> list[Section]:
    happened = rows.event > 0
    parts = quantile_groups(rows.guess, 4)
    groups = [
        (
            f"{number} of {len(parts)}", len(at), float(happened[at].mean()),
            float(rows.true[at].mean()),
        )
        for number, at in enumerate(parts, start=1)
    ]  # fmt: skip
    gap = average_ranks(rows.guess) - average_ranks(rows.true)
    seen = gap[happened]
    mean_gap = float(np.abs(seen).mean()) if len(seen) else _UNDEFINED
    facts = [
        ("concordance index", concordance_index(rows.true, rows.guess, rows.event)),
        ("events", int(happened.sum())),
        ("mean gap of ranks among events", mean_gap),
    ]
    columns = ("group", "rows", "events", "mean time")
    note = "group 1 is predicted to live shortest"
    worst = np.flatnonzero(happened)[np.argsort(-np.abs(seen), kind="stable")[:_WORST]]
    listed = [
        (str(rows.ids[n]), float(rows.guess[n]), float(rows.true[n]), float(gap[n])) for n in worst
    ]
    return [
        table(f"ranks of {rows.name}", ("figure", "value"), facts),
        table("what happened, by predicted survival", columns, groups, bar=2, note=note),
        table("events ranked worst", ("id", "predicted", "time", "rank − true rank"), listed),
    ]


VIEWS: dict[str, Callable[[ExplainedRows], list[Section]]] = {
    "number": _number_views,
    "probability": _probability_views,
    "label": _label_views,
    "survival": _survival_views,
}


def no_view(reason: str) -> Section:
    """Return the section of a submission whose errors cannot be shown, with the reason."""
    return Section("no error view", (), (), note=reason)


def _share(part: int, whole: int) -> float:
    if whole:
        return float(part / whole)
    return _UNDEFINED


def _short_name(name: object, width: int) -> str:
    return shorten(clean_line(str(name)), width)
