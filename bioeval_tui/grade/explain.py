"""Error views of one submission: where it is right and wrong, and for whom.

Regression: residuals and the worst rows. Classification: confusion, each class, thresholds, calibration. Survival: what
happened to those predicted to live longest. Every kind: scores for groups of rows. ProteinGym: each split and fold.
h5ad: cell types or gene groups.

Answers that a task keeps private are not shown: neither truths nor errors of single rows, nor figures of fewer than
`FEWEST_IN_GROUP` of them, unless `show_answers` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.errors import InputError, InvalidSubmissionError
from bioeval_tui.grade.explanation import Section, table
from bioeval_tui.grade.files.tables import read_frame
from bioeval_tui.grade.metrics import (
    average_ranks,
    concordance_index,
    roc_auc,
    spearman,
)
from bioeval_tui.grade.scorers import CodeScorer, CsvScorer
from bioeval_tui.text import clean_line, plural, shorten

if TYPE_CHECKING:
    import pandas as pd

    from bioeval_tui.grade.grade import TaskGrading

FEWEST_IN_GROUP = 5
WORST = 10
MOST_CLASSES = 12
MOST_GROUPS = 30
_BINS = 10
HIDDEN = "the task keeps its answers private; --show-answers shows them, and the ledger notes it"


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedRows:
    """One target's rows: ids, truth and prediction, shape (rows,), aligned. `kind` is that of a metric."""

    kind: str
    ids: Any
    true: Any
    guess: Any
    name: str
    event: Any = None
    score: Callable[[Any], float] | None = None
    """The score of the rows at these positions."""


def explain(
    ready: TaskGrading, path: Path, *, by: str | None = None, show_answers: bool = False
) -> list[Section]:
    """Return the error views of a valid submission.

    Args:
        ready: the task, ready to grade.
        path: the submission.
        by: a column of the answers or of a public table of the task: each of its groups has a score.
        show_answers: show single rows' truths and small groups as well.

    Raises:
        InputError: there is no column `by`.
        InvalidSubmissionError: the file is not valid.
    """
    scorer: Any = ready.scorer
    open_ = show_answers or ready.task.answers.is_relative_to(ready.task.public_dir)
    if path.suffix.lower() == ".h5ad":
        if isinstance(scorer, CodeScorer):
            return [_nothing("its grader is code that reads h5ad files itself")]
        return _of_h5ad(scorer, path, by, open_)
    targets = _declared(scorer, path) if isinstance(scorer, CsvScorer) else _of_code(scorer, path)
    if not targets:
        return [
            _nothing("its grader is code, and no column of the submission stands beside one of the answers")
        ]
    sections: list[Section] = []
    for rows in targets:
        sections += _VIEWS[rows.kind](rows, open_)
    if (ready.task.data_source or {}).get("type") == "proteingym-dms":
        sections += _folds(ready, targets)
    if by is not None:
        groups = _groups(ready, scorer, targets[0].ids, by)
        sections += [_by_group(rows, groups, by, open_) for rows in targets]
    return sections


def _nothing(reason: str) -> Section:
    return Section("no error view", (), (), note=reason)


# Where rows come from ----------------------------------------------------------------------------------


def _declared(scorer: CsvScorer, path: Path) -> list[ExplainedRows]:
    spec, found = scorer.spec, []
    guesses = scorer.predictions(path)
    for name, truth, guess in zip(spec.targets, scorer.truths, guesses, strict=True):
        kind = spec.metric.kind
        event = scorer.event if kind == "survival" else None

        def score(at: Any, truth: Any = truth, guess: Any = guess, event: Any = event) -> float:
            more = () if event is None else (event[at],)
            if spec.metric.kind == "label":
                codes = np.unique(np.concatenate([truth, np.asarray(guess, object)]), return_inverse=True)[1]
                return float(spec.metric.function(codes[: len(truth)][at], codes[len(truth) :][at]))
            return float(spec.metric.function(truth[at], guess[at], *more))

        found.append(ExplainedRows(kind, scorer.ids.to_numpy(), truth, np.asarray(guess), name, event, score))
    return found


def _of_code(scorer: CodeScorer, path: Path) -> list[ExplainedRows]:
    """Pair the columns of a grader with code by their names: the ids, then every column that both tables have."""
    submission, answers = scorer.frames(path)
    if not hasattr(answers, "columns"):
        return []
    ids = next(
        (name for name in answers.columns if name in submission.columns and answers[name].is_unique), None
    )
    if ids is None or not set(answers[ids]) <= set(submission[ids]) or not submission[ids].is_unique:
        return []
    aligned = submission.set_index(ids).loc[answers[ids]]
    names = [name for name in answers.columns if name != ids and name in aligned.columns]
    pairs = [(str(name), answers[name], aligned[name]) for name in names]
    left = [name for name in answers.columns if name != ids]
    if not pairs and len(left) == 1:  # ProteinGym: several predictions of one truth
        pairs = [(str(name), answers[left[0]], aligned[name]) for name in aligned.columns]
    found = []
    for name, truth, guess in pairs[:6]:
        if truth.isna().any() or guess.isna().any():
            continue
        if truth.dtype.kind in "iufb" and guess.dtype.kind in "iufb":
            values, guesses = truth.to_numpy(np.float64), guess.to_numpy(np.float64)
            kind = (
                "probability"
                if set(np.unique(values)) == {0.0, 1.0} and guess.dtype.kind == "f"
                else "number"
            )
            function: Any = roc_auc if kind == "probability" else spearman

            def score(
                at: Any, values: Any = values, guesses: Any = guesses, function: Any = function
            ) -> float:
                return float(function(values[at], guesses[at]))

            found.append(ExplainedRows(kind, answers[ids].to_numpy(), values, guesses, name, score=score))
        else:
            texts, others = truth.astype(str).to_numpy(object), guess.astype(str).to_numpy(object)

            def share(at: Any, texts: Any = texts, others: Any = others) -> float:
                return float(np.mean(texts[at] == others[at]))

            found.append(ExplainedRows("label", answers[ids].to_numpy(), texts, others, name, score=share))
    return found


# Views -------------------------------------------------------------------------------------------------


def _of_numbers(rows: ExplainedRows, open_: bool) -> list[Section]:
    error = rows.guess - rows.true
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    facts = [("mean (bias)", float(error.mean())), ("standard deviation", float(error.std()))]
    facts += [
        (f"{share:.0%} quantile", float(value))
        for share, value in zip(shares, np.quantile(error, shares), strict=True)
    ]
    sections = [table(f"residuals of {rows.name}, predicted − true", ("figure", "residual"), facts)]
    # The outermost values would be single rows' errors: the ends are open.
    low, high = np.quantile(error, (0.02, 0.98)) if not open_ else (error.min(), error.max())
    if high > low:
        edges = np.linspace(low, high, _BINS + 1)
        counts = np.histogram(np.clip(error, low, high), edges)[0]
        bins = [
            (f"{start:.3g} to {stop:.3g}", int(count))
            for start, stop, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
        note = "" if open_ else "the first and the last hold all rows beyond them"
        sections.append(
            table(f"histogram of residuals of {rows.name}", ("residual", "rows"), bins, bar=1, note=note)
        )
    parts = _quantile_groups(rows.guess, 5)
    by_prediction = [
        (
            f"{rows.guess[at].min():.4g} to {rows.guess[at].max():.4g}",
            len(at), float(error[at].mean()), float(np.abs(error[at]).mean()),
        )
        for at in parts
        if open_ or len(at) >= FEWEST_IN_GROUP
    ]  # fmt: skip
    sections.append(
        table(
            f"residuals by predicted {rows.name}",
            ("predicted", "rows", "bias", "mean |error|"),
            by_prediction,
            bar=3,
        )
    )
    worst = np.argsort(-np.abs(error), kind="stable")[:WORST]
    if open_:
        listed = [
            (str(rows.ids[at]), float(rows.guess[at]), float(rows.true[at]), float(error[at])) for at in worst
        ]
        sections.append(table("worst rows", ("id", "predicted", "true", "residual"), listed, bar=3))
    else:
        # Neither sizes nor order: each would tell an answer.
        listed_ids = sorted((str(rows.ids[at]), float(rows.guess[at])) for at in worst)
        sections.append(table("worst rows, by id", ("id", "predicted"), listed_ids, note=HIDDEN))
    return sections


def _of_probabilities(rows: ExplainedRows, open_: bool) -> list[Section]:
    positive = rows.true > 0
    in_unit = bool((rows.guess >= 0).all() and (rows.guess <= 1).all())
    thresholds = np.unique(np.quantile(rows.guess, np.linspace(0.05, 0.95, 10)))
    table_rows: list[tuple[Any, ...]] = []
    for threshold in [*([0.5] if in_unit else []), *thresholds]:
        called = rows.guess >= threshold
        hits, alarms = int((called & positive).sum()), int((called & ~positive).sum())
        sensitivity, specificity = hits / max(1, positive.sum()), 1 - alarms / max(1, (~positive).sum())
        precision = hits / called.sum() if called.any() else float("nan")
        table_rows.append((float(threshold), float(sensitivity), float(specificity), float(precision)))
    best = max(table_rows, key=lambda row: row[1] + row[2])
    sections = [
        table(
            f"thresholds of {rows.name}", ("threshold", "sensitivity", "specificity", "precision"),
            sorted(set(table_rows)), bar=1,
            note=f"sensitivity + specificity is greatest at {best[0]:.4g}",
        )
    ]  # fmt: skip
    at = 0.5 if in_unit else best[0]
    called = rows.guess >= at
    confusion = [
        (f"true {word}", int((part & ~called).sum()), int((part & called).sum()))
        for word, part in (("0", ~positive), ("1", positive))
    ]
    sections.append(table(f"confusion at {at:.4g}", ("", "predicted 0", "predicted 1"), confusion))
    if in_unit:
        parts = [
            part for part in _quantile_groups(rows.guess, _BINS) if open_ or len(part) >= FEWEST_IN_GROUP
        ]
        bins = [(len(part), float(rows.guess[part].mean()), float(positive[part].mean())) for part in parts]
        away = sum(count * abs(said - seen) for count, said, seen in bins) / max(
            1, sum(row[0] for row in bins)
        )
        sections.append(
            table(
                f"calibration of {rows.name}", ("rows", "mean predicted", "share of 1"), bins, bar=2,
                note=f"expected calibration error {away:.4f}",
            )
        )  # fmt: skip
    if open_:
        wrong = np.argsort(-np.abs(rows.guess - positive), kind="stable")[:WORST]
        listed = [(str(rows.ids[n]), float(rows.guess[n]), int(positive[n])) for n in wrong]
        sections.append(table("worst rows", ("id", "predicted", "true"), listed))
    return sections


def _of_labels(rows: ExplainedRows, open_: bool) -> list[Section]:
    true, guess = (np.asarray(values).astype(str) for values in (rows.true, rows.guess))
    names, counts = np.unique(true, return_counts=True)
    order = names[np.argsort(-counts, kind="stable")]
    shown = [shorten(clean_line(str(name)), 16) for name in order[:MOST_CLASSES]]
    listed = []
    for name, shown_name in zip(order, [shorten(clean_line(str(name)), 40) for name in order], strict=True):
        is_true, is_called = true == name, guess == name
        right = int((is_true & is_called).sum())
        recall, precision = (
            right / is_true.sum(),
            right / is_called.sum() if is_called.any() else float("nan"),
        )
        f1 = 2 * right / (is_true.sum() + is_called.sum())
        listed.append((shown_name, int(is_true.sum()), float(recall), float(precision), float(f1)))
    more = f"{plural(len(order) - MOST_GROUPS, 'class', 'classes')} more" if len(order) > MOST_GROUPS else ""
    sections = [
        table(f"classes of {rows.name}", ("class", "rows", "recall", "precision", "F1"), listed[:MOST_GROUPS], bar=4, note=more)
    ]  # fmt: skip
    if len(order) > 1:
        cells = [
            (line, *(int(((true == name) & (guess == other)).sum()) for other in order[:MOST_CLASSES]))
            for line, name in zip(shown, order, strict=False)
        ]
        note = f"the {MOST_CLASSES} most frequent classes" if len(order) > MOST_CLASSES else ""
        sections.append(table("confusion: true by row, predicted by column", ("", *shown), cells, note=note))
    if open_:
        wrong = np.flatnonzero(true != guess)[:WORST]
        rows_shown = [(str(rows.ids[n]), guess[n], true[n]) for n in wrong]
        sections.append(table("wrong rows, the first ones", ("id", "predicted", "true"), rows_shown))
    return sections


def _of_survival(rows: ExplainedRows, open_: bool) -> list[Section]:
    happened = rows.event > 0
    quarters = []
    for number, at in enumerate(_quantile_groups(rows.guess, 4), start=1):
        if open_ or len(at) >= FEWEST_IN_GROUP:
            quarters.append(
                (f"{number} of 4", len(at), float(happened[at].mean()), float(np.median(rows.true[at])))
            )
    gap = average_ranks(rows.guess) - average_ranks(rows.true)
    seen = gap[happened]
    facts = [
        ("concordance index", concordance_index(rows.true, rows.guess, rows.event)),
        ("events", int(happened.sum())),
        ("mean gap of ranks among events", float(np.abs(seen).mean()) if len(seen) else float("nan")),
    ]
    sections = [
        table(f"ranks of {rows.name}", ("figure", "value"), facts),
        table(
            "what happened, by predicted survival", ("quarter", "rows", "events", "median time"), quarters, bar=2,
            note="1 of 4 is predicted to live shortest",
        ),
    ]  # fmt: skip
    if open_:
        worst = np.flatnonzero(happened)[np.argsort(-np.abs(seen), kind="stable")[:WORST]]
        listed = [(str(rows.ids[n]), float(rows.guess[n]), float(rows.true[n]), float(gap[n])) for n in worst]
        sections.append(table("events ranked worst", ("id", "predicted", "time", "rank − true rank"), listed))
    return sections


_VIEWS: dict[str, Callable[[ExplainedRows, bool], list[Section]]] = {
    "number": _of_numbers,
    "probability": _of_probabilities,
    "label": _of_labels,
    "survival": _of_survival,
}


def _quantile_groups(values: Any, count: int) -> list[Any]:
    """Return the positions of the rows in up to `count` groups of nearly equal size, by value, equal values together."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="left")
    return [np.flatnonzero(place == number) for number in np.unique(place)]


# Groups ------------------------------------------------------------------------------------------------


def _groups(ready: TaskGrading, scorer: Any, ids: Any, by: str) -> Any:
    """Return the group of each row as text, from a column of the answers or of a public CSV of the task."""
    public = sorted(ready.task.public_dir.glob("*.csv")) if ready.task.public_dir.is_dir() else []
    tables = [ready.task.answers, *public] if ready.task.answers.suffix == ".csv" else public
    known: list[str] = []
    for path in tables:
        try:
            frame = read_frame(path)
        except (InvalidSubmissionError, OSError):
            continue
        named = [
            name
            for name in frame.columns
            if frame[name].is_unique and set(map(str, ids)) <= set(map(str, frame[name]))
        ]
        if not named:
            continue
        known += [str(name) for name in frame.columns if name != named[0]]
        if by in frame.columns:
            column = frame.set_index(frame[named[0]].astype(str))[by].loc[[str(one) for one in ids]]
            return _group_names(column)
    listed = ", ".join(clean_line(name, 40) for name in dict.fromkeys(known)) or "none"
    raise InputError(
        f"no table of {ready.task.id} has a column `{clean_line(by, 60)}` for these rows; there are {listed}"
    )


def _group_names(column: pd.Series) -> Any:
    """Return a column's values as groups: numbers of many values in quarters."""
    if column.dtype.kind == "f" or (column.dtype.kind in "iu" and column.nunique() > MOST_GROUPS):
        values = column.to_numpy(np.float64)
        names = np.full(len(values), "no value", dtype=object)
        known = np.flatnonzero(np.isfinite(values))
        for at in _quantile_groups(values[known], 4):
            part = known[at]
            names[part] = f"{values[part].min():.4g} to {values[part].max():.4g}"
        return names
    return column.astype(str).to_numpy(object)


def _by_group(rows: ExplainedRows, groups: Any, by: str, open_: bool) -> Section:
    assert rows.score is not None
    listed, small = [], 0
    for name in dict.fromkeys(sorted(groups)):
        at = np.flatnonzero(groups == name)
        if len(at) < FEWEST_IN_GROUP and not open_:
            small += 1
            continue
        try:
            score = rows.score(at)
        except (ValueError, ZeroDivisionError, FloatingPointError):
            score = float("nan")
        listed.append((shorten(clean_line(str(name)), 40), len(at), score))
    notes = [f"{plural(small, 'group')} of fewer than {FEWEST_IN_GROUP} rows not shown"] if small else []
    if len(listed) > MOST_GROUPS:
        notes.append(f"{len(listed) - MOST_GROUPS:,} more groups")
    return table(
        f"score of {rows.name} by {clean_line(by, 40)}", ("group", "rows", "score"), listed[:MOST_GROUPS], bar=2,
        note="; ".join(notes),
    )  # fmt: skip


def _folds(ready: TaskGrading, targets: Sequence[ExplainedRows]) -> list[Section]:
    """Return Spearman's rho of ProteinGym's splits and of the folds of each, where the public data says which they are."""
    splits = [(rows.name, len(rows.true), float(spearman(rows.true, rows.guess))) for rows in targets]
    sections = [table("Spearman's rho of each split", ("split", "rows", "score"), splits, bar=2)]
    for rows in targets:
        try:
            folds = _groups(ready, None, rows.ids, rows.name)
        except InputError:
            continue
        sections.append(_by_group(rows, folds, f"fold of {rows.name}", False))
    return sections


def _of_h5ad(scorer: Any, path: Path, by: str | None, open_: bool) -> list[Section]:
    """Return an h5ad submission's views: of its column of `obs`, or errors by groups of cells and of genes."""
    import anndata  # for single-cell tasks alone

    values = scorer.values(path)
    cells = scorer.true.cells.to_numpy()
    if scorer.kind == "obs":
        truth = np.asarray(
            scorer.true.values.astype(str) if scorer.spec.metric.kind == "label" else scorer.true.values
        )
        rows = ExplainedRows(scorer.spec.metric.kind, cells, truth, np.asarray(values), scorer.key)
        return _VIEWS[rows.kind](rows, open_)
    if scorer.spec.metric.name not in ("mean_absolute_error", "mse", "rmse"):
        return [_nothing("errors by cell are shown for sums of errors alone")]
    losses = scorer.cell_losses(values)
    shares = np.quantile(losses, (0.05, 0.25, 0.5, 0.75, 0.95))
    named = zip(("5 %", "25 %", "50 %", "75 %", "95 %"), map(float, shares), strict=True)
    error = "absolute error" if scorer.spec.metric.name == "mean_absolute_error" else "squared error"
    sections = [table(f"mean {error} of cells, quantiles", ("cells", error), list(named), bar=1)]
    answers = anndata.read_h5ad(scorer.path, backed="r")
    columns = [name for name in answers.obs.columns if 1 < answers.obs[name].nunique() <= MOST_GROUPS]
    genes = [name for name in answers.var.columns if 1 < answers.var[name].nunique() <= MOST_GROUPS]
    if by is not None and by not in [*answers.obs.columns, *answers.var.columns]:
        known = (
            ", ".join(
                shorten(clean_line(str(name)), 40) for name in [*answers.obs.columns, *answers.var.columns]
            )
            or "none"
        )
        raise InputError(
            f"the answers have no column `{clean_line(by, 60)}` of cells or genes; there are {known}"
        )
    for name in columns if by is None else [by] if by in answers.obs.columns else []:
        groups = _group_names(answers.obs[name].loc[cells])
        sections.append(
            _means(losses, groups, f"mean {error} by {shorten(clean_line(str(name)), 40)}", "cells", open_)
        )
    wanted = genes if by is None else [by] if by in answers.var.columns else []
    if wanted and scorer.true.genes is not None:
        by_gene = _gene_losses(scorer, values)
        for name in wanted:
            groups = _group_names(answers.var[name].loc[scorer.true.genes])
            sections.append(
                _means(
                    by_gene, groups, f"mean {error} by {shorten(clean_line(str(name)), 40)}", "genes", open_
                )
            )
    return sections


def _gene_losses(scorer: Any, values: Any) -> Any:
    difference = scorer.true.values - values
    if scorer.spec.metric.name == "mean_absolute_error":
        return np.asarray(abs(difference).mean(axis=0)).reshape(-1)
    squares = difference.multiply(difference) if hasattr(difference, "multiply") else difference**2
    return np.asarray(squares.mean(axis=0)).reshape(-1)


def _means(losses: Any, groups: Any, title: str, unit: str, open_: bool) -> Section:
    listed = [
        (
            shorten(clean_line(str(name)), 40),
            int((groups == name).sum()),
            float(losses[groups == name].mean()),
        )
        for name in dict.fromkeys(sorted(map(str, groups)))
        if open_ or (groups == name).sum() >= FEWEST_IN_GROUP
    ]
    return table(title, ("group", unit, "error"), listed, bar=2)


def attempts(
    scores: Sequence[float], lower_is_better: bool, marks: Sequence[tuple[str, float]], agent: str | None
) -> Section:
    """Return an agent's scores for one task in the order of its attempts, the best so far, and where medals begin."""
    best, rows = None, []
    for number, score in enumerate(scores, start=1):
        if best is None or (score < best if lower_is_better else score > best):
            best = score
        rows.append((number, float(score), float(best)))
    note = ", ".join(f"{name} begins at {mark:.5g}" for name, mark in marks)
    whose = f" of {clean_line(agent, 60)}" if agent else ""
    return table(
        f"score by attempt{whose}", ("attempt", "score", "best so far"), rows[-MOST_GROUPS:], bar=1, note=note
    )
