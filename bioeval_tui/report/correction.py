"""Estimates what people would say about all verdicts, from a random sample of reviews.

A sample is stored in the overlay of each of its runs (`ReviewsDrawn`), so that it is clear which
reviews were sampled and which were chosen. Only blind scores of sampled tasks count, in sample
order, up to the first missing one, because skipping hard tasks is a choice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, takewhile
from pathlib import Path
from typing import Literal

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import compact_json, plural
from bioeval_tui.base.units import number, number3
from bioeval_tui.record.events import Drawn, ReviewsDrawn
from bioeval_tui.record.overlay import append_numbered, read_overlay
from bioeval_tui.report.agreement import JudgeId, RatedTask, rated_tasks
from bioeval_tui.report.findings import PeopleWouldSay
from bioeval_tui.report.run import RecordedRun
from bioeval_tui.statistics.judges import (
    CorrectedMean,
    JudgedItem,
    NotCorrectable,
    corrected_mean,
    draw_reviews,
)
from bioeval_tui.statistics.means import average

Strata = Literal["verdict", "condition", "job"]
STRATA: tuple[Strata, ...] = ("verdict", "condition", "job")


@dataclass(frozen=True, slots=True)
class Correction:
    """One judge's mean, and the estimate of what people would say; `refused` is the reason if there
    is none.

    `what` is the mean `score` of the tasks, or the share that `passes`.
    """

    judge: JudgeId
    what: Literal["score", "passes"]
    found: CorrectedMean | None
    refused: str = ""

    @property
    def words(self) -> str:
        """Such as `judge 0.73; people would say 0.66 [0.58, 0.75], from 100 reviews of 2,000`."""
        if self.found is None:
            return f"{self.what}: what people would say is unknown: {self.refused}"
        one = self.found
        return (
            f"{self.what}: judge {number(one.judge)}; people would say {number(one.estimate)}"
            f" [{number(one.interval.low)}, {number(one.interval.high)}], from"
            f" {plural(one.reviews, 'review')} of {one.items:,}"
        )

    @property
    def worth(self) -> str:
        """The gain from ten more reviews, such as `ten more: ±0.085 → ±0.081`; empty if unknown."""
        if self.found is None:
            return ""
        return (
            f"ten more reviews: ±{number3(self.found.interval.width / 2)} →"
            f" ±{number3(self.found.width_after_ten_more / 2)}"
        )


def draw(
    runs: Sequence[RecordedRun], n: int, seed: int, by: str | None = None
) -> list[tuple[Path, Drawn]]:
    """Sample judged tasks for review, store the sample in the runs' overlays, and return it in the
    order to review.

    The same runs and seed give the same draw, which is then not written twice.

    Raises:
        UsageError: nothing was judged, or the strata would cut a conversation or case.
        RecordingError: a recording or overlay cannot be read or written.
    """
    strata = next((name for name in STRATA if name == by), None)
    items = {_name_of(item): item for item in rated_tasks(runs, every=True)[0] if item.judges}
    if not items:
        raise UsageError("these runs have no judged task to sample")
    stratum_of = {name: _stratum(item, strata) for name, item in items.items()}
    cluster_of: dict[str, str] = {}
    for name, item in items.items():
        if cluster_of.setdefault(item.cluster, stratum_of[name]) != stratum_of[name]:
            raise UsageError(
                f"{item.cluster} has tasks of several strata ({strata}), which are not independent;"
                " sample without --strata"
            )
    drawn = draw_reviews(stratum_of, n, seed)
    identity = hashlib.sha256(
        compact_json([n, seed, strata, sorted(stratum_of.items())]).encode()
    ).hexdigest()[:16]
    by_id = {run.path.stem: run.path for run in runs}
    places = {name: place for place, name in enumerate(drawn, start=1)}
    for run_id, path in by_id.items():
        own = [(name, item) for name, item in items.items() if item.run_id == run_id]
        event = ReviewsDrawn(
            run_id=run_id,
            seq=0,
            at=datetime.now(UTC),
            draw=identity,
            seed=seed,
            asked=n,
            strata=strata or "",
            runs=tuple(sorted(by_id)),
            population=len(own),
            items=tuple(
                _as_drawn(item, places[name], stratum_of[name])
                for name, item in own
                if name in places
            ),
        )
        last = last_draw(path)
        if last is None or last.draw != identity:
            append_numbered(path, [event])
    return [
        (by_id[items[name].run_id], _as_drawn(items[name], places[name], stratum_of[name]))
        for name in drawn
    ]


def last_draw(path: Path) -> ReviewsDrawn | None:
    """Return the last draw in a run's overlay; None without any."""
    return next(
        (each for each in reversed(read_overlay(path).events) if isinstance(each, ReviewsDrawn)),
        None,
    )


def corrections(
    runs: Sequence[RecordedRun], items: Sequence[RatedTask], *, drawn: bool = False
) -> list[Correction]:
    """Return for each judge an estimate of what people would say about all of its verdicts in these
    runs.

    `items` are all judged tasks of the runs (`rated_tasks(every=True)`). `drawn`: the labelled
    items are a random sample.

    Raises:
        RecordingError: an overlay cannot be read.
    """
    sample, why = None, ""
    if not drawn:
        sample, why = _shared_sample(runs, items)
    names = dict.fromkeys(chain.from_iterable(item.judges for item in items))
    # A drawn task that a judge has no verdict on is no gap: people did review it.
    counted = _counted(items, sample)
    made = []
    for name in names:
        own = [item for item in items if name in item.judges]
        if not any(item.people for item in own):
            continue
        scored = [(item, item.judges[name]) for item in own]
        reason = why or _stale(own, [name], sample)
        for what in ("score", "passes"):
            try:
                made.append(
                    Correction(name, what, _correct_mean(what, scored, sample, reason, counted))
                )
            except NotCorrectable as problem:
                made.append(Correction(name, what, None, str(problem)))
    return made


def people_say(run: RecordedRun) -> tuple[PeopleWouldSay, ...]:
    """Return what people would say about the verdicts that count in a run: in each condition or,
    with few reviews, in both.

    Raises:
        RecordingError: the overlay cannot be read.
    """
    items = rated_tasks([run], every=True)[0]
    sample, why = _shared_sample([run], items)
    counted = _counted(items, sample)
    known = counted_verdicts([run])
    counts = {item.counts for item, _ in known if item.counts is not None}
    why = why or _stale(items, list(counts), sample)

    def estimated(title: str, some: Sequence[tuple[RatedTask, float]]) -> PeopleWouldSay:
        try:
            one = _correct_mean("score", some, sample, why, counted)
        except NotCorrectable as problem:
            return PeopleWouldSay(title, average(score for _, score in some), refused=str(problem))
        return PeopleWouldSay(title, one.judge, one.estimate, one.interval, one.reviews, one.items)

    conditions = [
        name for name in run.conditions if any(item.condition == name for item, _ in known)
    ]
    each = [
        estimated(
            run.condition_title(name),
            [(item, score) for item, score in known if item.condition == name],
        )
        for name in conditions
    ]
    if len(each) < 2 or all(one.estimate is not None for one in each):
        return tuple(each)
    return (estimated("", known),)


def counted_verdicts(runs: Iterable[RecordedRun]) -> list[tuple[RatedTask, float]]:
    """Return the judged tasks of runs, each with the judge's score that counts."""
    items = rated_tasks(runs, every=True)[0]
    scored = [(item, item.recorded if item.latest is None else item.latest) for item in items]
    return [(item, score) for item, score in scored if score is not None]


def reviewed_sample(runs: Sequence[RecordedRun]) -> list[tuple[RatedTask, float, float]]:
    """Return the reviewed verdicts of the sample that was drawn from these runs: each with the
    judge's score that counts, and people's.

    Raises:
        NotCorrectable: there is no such sample, or it is stale.
        RecordingError: an overlay cannot be read.
    """
    items = rated_tasks(runs, every=True)[0]
    sample, why = _shared_sample(runs, items)
    counts = {item.counts for item in items if item.counts is not None}
    if why := why or _stale(items, list(counts), sample):
        raise NotCorrectable(why)
    counted = _counted(items, sample)
    return [
        (item, score, item.blind_score)
        for item, score in counted_verdicts(runs)
        if item.blind_score is not None and _name_of(item) in counted
    ]


def progress(runs: Sequence[RecordedRun]) -> str:
    """Return the progress of a sample's reviews, in words; once all are given, what people would
    say of everything, and what ten more reviews would change.

    Not before: who knows how far the judge is from people may score the rest accordingly.
    """
    items = rated_tasks(runs, every=True)[0]
    sample = _shared_sample(runs, items)[0]
    counted = _counted(items, sample)
    given = len(counted)
    asked = len(sample.order) if sample else 0
    of_scores = [each for each in corrections(runs, items) if each.what == "score"]
    if given < asked or not of_scores:
        scored = {_name_of(item) for item in items if item.blind_score is not None}
        later = len(scored.intersection(sample.order) - counted) if sample else 0
        words = f"{given} of {asked} drawn are reviewed"
        if later:
            words += f"; {later:,} after the first without a blind score do not count yet"
        return words
    # Each judge has a correction: the one with the most reviews is told.
    best = max(of_scores, key=lambda each: each.found.reviews if each.found else 0)
    if best.found:
        return f"{best.words}; {best.worth}"
    return best.words


@dataclass(frozen=True, slots=True)
class _SharedSample:
    """The sampled tasks by name, in the order of review, and their stratification."""

    order: tuple[str, ...]
    strata: Strata | None
    places: Mapping[str, int]
    """Where in each run's overlay the draw is: later verdicts came after it."""


def _shared_sample(
    runs: Sequence[RecordedRun], items: Sequence[RatedTask]
) -> tuple[_SharedSample | None, str]:
    """Return the draw that the runs share, or why they share none."""
    draws = [last_draw(run.path) for run in runs]
    known = [each for each in draws if each is not None]
    if not known:
        return (
            None,
            (
                "the reviews are not a random sample; draw one with `bioeval-tui review RUN"
                " --sample 100`"
            ),
        )
    same = len({each.draw for each in known}) == 1 and len(known) == len(draws)
    if not same or set(known[0].runs) != {run.path.stem for run in runs}:
        named = " ".join(known[0].runs)
        return None, f"the reviews were drawn from these runs together: {named}; name exactly these"
    if sum(bool(item.judges) for item in items) != sum(each.population for each in known):
        return None, "the runs' verdicts have changed since the reviews were drawn; draw again"
    places: dict[str, int] = {}
    for each in known:
        for item in each.items:
            places[_task_name(each.run_id, item)] = item.place
    strata = next((name for name in STRATA if name == known[0].strata), None)
    drawn_at = {each.run_id: each.seq for each in known}
    return _SharedSample(tuple(sorted(places, key=places.__getitem__)), strata, drawn_at), ""


def _stale(
    items: Iterable[RatedTask], judges: Sequence[JudgeId], sample: _SharedSample | None
) -> str:
    """Return why the sample calibrates none of these judges: they are several, or came after it;
    empty if it does.

    Who saw the reviews may choose a judge, or change its prompt, until it fits just these.
    """
    if sample is None or not judges:
        return ""
    names = " and by ".join(sorted(f"{judge} ({prompt})" for judge, prompt in judges))
    if len(judges) > 1:
        return (
            f"stale: the verdicts are by {names}; judge all again with `bioeval-tui runs rescore`,"
            " then draw again"
        )
    at = [(item.judged_at.get(judges[0]), sample.places[item.run_id]) for item in items]
    if all(judged > draw for judged, draw in at if judged is not None):
        return (
            f"stale: the reviews were drawn before {names} judged; draw again, with another --seed"
        )
    return ""


def _correct_mean(
    what: Literal["score", "passes"],
    scored: Sequence[tuple[RatedTask, float]],
    sample: _SharedSample | None,
    why_not: str,
    counted: Container[str],
) -> CorrectedMean:
    """Return the correction of a judge's mean by people's reviews.

    Args:
        what: whether the mean is of scores, or of passes (1 or 0).
        scored: every task with the judge's score.
        sample: the one that people were asked to review; None without one, when every review
            counts.
        why_not: why nothing can be corrected; empty if it can.
        counted: the names of the drawn tasks whose reviews count.

    Raises:
        NotCorrectable: `why_not` says so, or the reviews do not allow it.
    """
    if why_not:
        raise NotCorrectable(why_not)
    judged = []
    for item, score in scored:
        by_judge, by_people, stratum = score, None, ""
        if sample is not None:
            stratum = _stratum(item, sample.strata)
            # Of a sample, only reviews by people who did not see the verdict count.
            if _name_of(item) in counted:
                by_people = item.blind_score
        elif item.people:
            by_people = item.people_score
        if what == "passes":
            by_judge = float(item.passed(by_judge))
            if by_people is not None:
                by_people = float(item.passed(by_people))
        judged.append(JudgedItem(by_judge, by_people, item.cluster, stratum))
    return corrected_mean(
        judged, "stratified" if sample is not None and sample.strata else "random"
    )


def _counted(items: Iterable[RatedTask], sample: _SharedSample | None) -> set[str]:
    """Return the drawn tasks whose blind scores count: in the drawn order, up to the first that has
    none.
    """
    if sample is None:
        return set()
    reviewed = {_name_of(item) for item in items if item.blind_score is not None}
    return set(takewhile(reviewed.__contains__, sample.order))


def _stratum(item: RatedTask, strata: Strata | None) -> str:
    """Return an item's stratum; its name contains the kind of stratification, so that different
    kinds never share one.
    """
    match strata:
        case "verdict":
            score = next(iter(item.judges.values()))
            outcome = "passed" if item.passed(score) else "failed"
            return f"verdict {outcome}"
        case "condition":
            return f"condition {item.condition}"
        case "job":
            return f"job {item.job}"
        case _:
            return ""


def _name_of(item: RatedTask) -> str:
    return _task_name(item.run_id, item)


def _task_name(run_id: str, item: RatedTask | Drawn) -> str:
    return f"{run_id} {item.condition} {item.trial} {item.task}"


def _as_drawn(item: RatedTask, place: int, stratum: str) -> Drawn:
    return Drawn(
        condition=item.condition, trial=item.trial, task=item.task, place=place, stratum=stratum
    )
