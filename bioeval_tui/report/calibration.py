"""Calibration that travels: how often a judge was right in a run that people reviewed corrects the
same judge in a run that nobody reviewed.

It is the same judge only if its models as served, its server, its settings, its prompt and what it
is asked about each task are the same. Otherwise nothing is corrected, and the sentence names what
changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line, compact_json, listed, shorten
from bioeval_tui.record import reviews
from bioeval_tui.record.cases import judge_settings
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.report.agreement import JudgeId, RatedTask
from bioeval_tui.report.correction import counted_verdicts, people_say, reviewed_sample
from bioeval_tui.report.findings import CalibratedElsewhere
from bioeval_tui.report.reviews import questions
from bioeval_tui.report.run import RecordedRun
from bioeval_tui.statistics.calibration import ReviewedVerdict, calibrated_share
from bioeval_tui.statistics.estimates import grouped
from bioeval_tui.statistics.judges import NotCorrectable

if TYPE_CHECKING:
    from bioeval_tui.record.runs import CataloguedRun

Scored = Sequence[tuple[RatedTask, float]]


def require_other_runs(run: RecordedRun, by: Iterable[RecordedRun]) -> None:
    """Raise a `UsageError` if a run would be corrected by its own reviews in the wrong way."""
    if any(other.run_id == run.run_id for other in by):
        raise UsageError(
            f"{run.path.stem}: a run is not calibrated by itself; name another run, which people"
            " reviewed"
        )
    own = people_say(run) if run.sampled else ()
    if any(one.estimate is not None for one in own):
        raise UsageError(
            f"{run.path.stem} has a reviewed sample of its own, which says more; leave out"
            " --calibrated-by"
        )


def calibration_offer(run: RecordedRun, listed: Callable[[], Sequence[CataloguedRun]]) -> str:
    """Return how to correct a judge that nobody reviewed in this run: by a reviewed run of the same
    job and judge; empty without one.

    It asks the list of runs only, no recording, so it is quick with many runs. Whether prompt and
    criteria are the same is found out by who names the run.
    """
    # The list has no scores of a run whose sample was reviewed: some of its tasks would not do.
    fitting = [
        other.run_id
        for other in listed()
        if other.reviewed is not None
        and not other.reviewed["scores"]
        and other.run_id != run.path.stem
        and other.job == run.started.job_name
        and other.identity.get("judge") == run.started.judge
    ]
    if not fitting:
        return ""
    if len(fitting) == 1:
        return (
            f"people reviewed this judge in run {fitting[0]}: --calibrated-by {fitting[0]} corrects"
            " its share of passed tasks"
        )
    return (
        f"people reviewed this judge in {len(fitting)} runs of this job; name one with"
        f" --calibrated-by, such as {fitting[0]}, the latest"
    )


def calibrated(run: RecordedRun, by: Sequence[RecordedRun]) -> tuple[CalibratedElsewhere, ...]:
    """Return a run's share of passed tasks, corrected by the reviews of other runs: in each
    condition or, with few reviews, in all together. One without an estimate says why there is none.

    Raises:
        RecordingError: an overlay cannot be read.
    """
    names = tuple(other.path.stem for other in by)
    here = counted_verdicts([run])
    try:
        if not here:
            raise NotCorrectable("nothing was judged here")
        _require_same_judge(run, here, by)
        sample = reviewed_sample(by)
    except NotCorrectable as problem:
        return (CalibratedElsewhere("", names, refused=str(problem)),)

    def corrected(title: str, conditions: Sequence[Condition]) -> CalibratedElsewhere:
        passes = grouped(
            (item.cluster, item.passed(score))
            for item, score in here
            if item.condition in conditions
        )
        reviewed = [
            ReviewedVerdict(item.cluster, item.passed(judge), item.passed(people))
            for item, judge, people in sample
            if item.condition in conditions
        ]
        try:
            one = calibrated_share(passes, reviewed)
        except NotCorrectable as problem:
            return CalibratedElsewhere(title, names, refused=str(problem))
        return CalibratedElsewhere(
            title,
            names,
            one.judge,
            one.estimate,
            one.interval,
            one.reviews,
            one.sensitivity,
            one.specificity,
        )

    judged = {item.condition for item, _ in here}
    reviewed_there = {item.condition for item, _, _ in sample}
    conditions = [name for name in run.conditions if name in judged & reviewed_there]
    # A judge may err otherwise where it is asked about something else.
    without = tuple(
        CalibratedElsewhere(
            run.condition_title(name), names, refused="nobody reviewed this condition there"
        )
        for name in run.conditions
        if name in judged - reviewed_there
    )
    each = tuple(corrected(run.condition_title(name), [name]) for name in conditions)
    if len(each) < 2 or all(one.estimate is not None for one in each):
        return (*each, *without)
    together = listed(map(run.condition_title, conditions)) if without else ""
    return (corrected(together, conditions), *without)


def _require_same_judge(run: RecordedRun, here: Scored, by: Sequence[RecordedRun]) -> None:
    """Raise `NotCorrectable` unless judge, prompt and criteria are those of the other runs.

    All that differs is named, the judge first.
    """
    judge, host = _only_judge(run, here), _host(run, here)
    for other in by:
        there = counted_verdicts([other])
        if not there:
            raise NotCorrectable(f"nothing was judged in {other.path.stem}")
        other_judge, other_host = _only_judge(other, there), _host(other, there)
        changed = []
        if judge.judge != other_judge.judge:
            changed.append(f"the judge is another ({other_judge.judge} there, {judge.judge} here)")
        elif settings := _changed_settings(run, other):
            changed.append(f"the judge has other settings ({settings})")
        if host and other_host and host != other_host:
            changed.append(f"the judge's server is another ({other_host} there, {host} here)")
        if judge.prompt != other_judge.prompt:
            changed.append(
                f"the prompt is another ({other_judge.prompt} there, {judge.prompt} here)"
            )
        if changes := _changed_criteria(run, here, other, there):
            changed.append(changes)
        if changed:
            raise NotCorrectable(", and ".join(changed))


def _only_judge(run: RecordedRun, scored: Scored) -> JudgeId:
    """Return the judge of all verdicts that count."""
    judges = sorted({item.counts for item, _ in scored if item.counts is not None})
    if len(judges) != 1:
        names = " and by ".join(f"{judge} ({prompt})" for judge, prompt in judges)
        raise NotCorrectable(f"the verdicts of {run.path.stem} are by {names}")
    return judges[0]


def _host(run: RecordedRun, scored: Scored) -> str:
    """Return where the judge's model was asked, as its exam has it; empty if that is unknown.

    The same name may be another model on another server, such as one with fewer bits.
    """
    if any(item.latest is not None for item, _ in scored):
        return ""  # judged again, maybe elsewhere
    return clean_line(str(run.started.options.get("judge_host") or ""), 100)


def _changed_settings(run: RecordedRun, other: RecordedRun) -> str:
    """Return the settings of the judge that another run has not, or otherwise; empty if none."""
    now, before = (dict(_flat(judge_settings(one.state.job))) for one in (run, other))
    return ", ".join(
        f"{clean_line(name, 60)}: {before.get(name, 'none')} there, {now.get(name, 'none')} here"
        for name in sorted({*now, *before})
        if now.get(name) != before.get(name)
    )


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield each setting with its value in words; one inside another as `extraBody.top_k`."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", shorten(clean_line(compact_json(value)), 60)


def _changed_criteria(run: RecordedRun, here: Scored, other: RecordedRun, there: Scored) -> str:
    """Return how what is judged differs from another run in the conditions that both have; empty if
    it does not.
    """
    now, before = _criteria(run, here), _criteria(other, there)
    for condition in (name for name in now if name in before):
        title = run.condition_title(condition)
        asked, was_asked = now[condition], before[condition]
        differences = []
        if new := len(asked.keys() - was_asked.keys()):
            differences.append(f"{new} of {len(asked)} here {_was(new)} not asked about there")
        if gone := len(was_asked.keys() - asked.keys()):
            differences.append(
                f"{gone} of {len(was_asked)} there {_was(gone)} not asked about here"
            )
        if differences:
            return f"the criteria are others ({title}: {', and '.join(differences)})"
        marks = [(was_asked[each], asked[each]) for each in asked if asked[each] != was_asked[each]]
        if marks:
            old, new_marks = (listed(f"{mark:g}" for mark in sorted(each)) for each in marks[0])
            whose = "a criterion" if len(marks) == 1 else f"{len(marks)} criteria"
            return (
                f"the pass mark of {whose} is another ({title}: above {old} there, above"
                f" {new_marks} here)"
            )
    return ""


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _criteria(run: RecordedRun, scored: Scored) -> dict[Condition, dict[str, set[float]]]:
    """Return the pass marks of each judged task, by condition and the hash of what was asked about
    it.
    """
    found: dict[Condition, dict[str, set[float]]] = {}
    for key, items in grouped((item.key, item) for item, _ in scored).items():
        asked = questions(run.state, key)
        for item in items:
            written = compact_json(asked.get(item.task))
            digest = hashlib.sha256(written.encode()).hexdigest()
            mark = reviews.pass_above(run.state, key.trial, item.task)
            found.setdefault(item.condition, {}).setdefault(digest, set()).add(mark)
    return found
