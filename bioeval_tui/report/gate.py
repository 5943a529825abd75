"""The gate for CI: thresholds, checked per job and condition, and the exit code.

Exit 1: checked and below. Exit 3: could not be checked; more than 10 % of the conversations
excluded, or any over what came from the agent; or a threshold is met only without what was
excluded: it counts 0, the worst that it can have been. Else an agent could take its own bad
conversations out of the mean, such as by words that make a user or judge fail.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.text import Text
from typing_extensions import TypedDict

from bioeval_tui.base import units
from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.files import write_private
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import listed, plural
from bioeval_tui.record import score
from bioeval_tui.record.condition_names import (
    Condition,
    is_name,
    of_mean_words,
    published_title,
    without_placebo,
)
from bioeval_tui.record.conditions import (
    ConditionConfig,
    named,
    scored_conditions as conditions_of_mean,
)
from bioeval_tui.record.events import CheckStatus, RunStarted
from bioeval_tui.report import findings as of
from bioeval_tui.report.findings import Finding
from bioeval_tui.report.formats.registry import named_format
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult, RecordedRun, each_conversation
from bioeval_tui.report.sentences import sentence
from bioeval_tui.report.summary import (
    count_planned,
    groups,
    held_conditions,
    planned_samples,
    runs_by_job,
    scored_conditions,
    task_tries,
    why_unmeasured,
)
from bioeval_tui.report.users import user_means
from bioeval_tui.report.words import NOT_CHECKED, SIGNS
from bioeval_tui.statistics.estimates import (
    Counted,
    Sample,
    count,
    estimate,
    pass_k,
)
from bioeval_tui.statistics.means import percentile, reaches

NO_PART, NO_TASK = LACKING = ("no such part", "no such task")
"""Why a conversation that counts has no value of a part, or of a task."""
_PART = re.compile(
    r"(?:(?P<condition>[a-z][a-z0-9_]*)\.)?(?P<part>timing|task|assertion)(?:(?<=task)"
    r" ?(?P<task>[1-9][0-9]{0,3}))?"
)
_SLOWER = re.compile(
    r"(?:(?P<condition>[a-z][a-z0-9_]*)\.)?p(?P<percent>[1-9][0-9]?)"
    r":(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)"
    r" ?(?P<unit>ms|s)"
)
_ONE_OF = (
    "one of the job's conditions, such as withheld or supplied, a part (timing, task, assertion), a"
    " task (task2), or one of these in a condition (supplied.task)"
)


@dataclass(frozen=True, slots=True)
class PartRule:
    """A threshold of one part of the score, or of one task by its number, in one condition or in
    each.
    """

    condition: Condition | None
    part: str
    task: int | None
    bar: float

    @property
    def name(self) -> str:
        """What the threshold is of, as the option names it: `task 2`."""
        if self.task is None:
            return self.part
        return f"{self.part} {self.task}"


@dataclass(frozen=True, slots=True)
class SlowRule:
    """The longest time that a percentile of the response times may take, in one condition or in
    each.
    """

    condition: Condition | None
    percent: int
    limit_ms: float

    @property
    def name(self) -> str:
        """What the limit is of: `p95 of response times`."""
        return f"p{self.percent} of response times"


@dataclass(frozen=True, slots=True)
class GateRules:
    """The thresholds.

    `under` has one for `mean` or a condition; `pass_k` has pairs of k and threshold.
    """

    under: dict[str, float] = field(default_factory=dict)
    parts: tuple[PartRule, ...] = ()
    on_assertion: bool = False
    pass_k: tuple[tuple[int, float], ...] = ()
    slower: tuple[SlowRule, ...] = ()

    @property
    def given(self) -> bool:
        """Whether there is any threshold."""
        return bool(self.under or self.parts or self.on_assertion or self.pass_k or self.slower)

    @classmethod
    def parse(
        cls,
        fail_under: Sequence[str] = (),
        *,
        fail_on_assertion: bool = False,
        min_pass_k: Sequence[str] = (),
        fail_slower: Sequence[str] = (),
    ) -> GateRules:
        """Read the options as given: `0.8`, `supplied:0.85,withheld:0.5`, `task2:0.8`,
        `supplied.assertion:1`; `2:0.9,3:0.8`; `p95:2s`, `supplied.p50:800ms`.

        Raises:
            UsageError: an option cannot be parsed; the message says what is expected.
        """
        under: dict[str, float] = {}
        parts: list[PartRule] = []
        for part in _parts(fail_under):
            name, _, number = part.rpartition(":")
            if (of_part := _PART.fullmatch(name.strip())) is not None:
                task = int(of_part["task"]) if of_part["task"] else None
                bar = _bar("--fail-under", part, number)
                parts.append(
                    PartRule(
                        of_part["condition"],
                        of_part["part"],
                        task,
                        bar,
                    )
                )
                continue
            if name not in ("", "mean") and not is_name(name):
                raise UsageError(f"--fail-under {part}: {name!r} is not a condition; use {_ONE_OF}")
            under[name or "mean"] = _bar("--fail-under", part, number)
        wanted = []
        for part in _parts(min_pass_k):
            k, _, number = part.partition(":")
            if not k.strip().isdecimal() or int(k) < 1 or not number:
                raise UsageError(f"--min-pass-k {part}: use K:SHARE, such as 2:0.9")
            wanted.append((int(k), _bar("--min-pass-k", part, number)))
        slower = tuple(map(_slower, _parts(fail_slower)))
        return cls(under, tuple(parts), fail_on_assertion, tuple(wanted), slower)

    def require_conditions(
        self, held: Collection[Condition], of_job: Sequence[ConditionConfig], who: str = "the run"
    ) -> None:
        """Reject a threshold that `who` can never meet: for a condition that is not held or not in
        the job, or for the mean of some.

        Raises:
            UsageError: the message names the threshold and a valid one.
        """
        only = listed(named(of_job, name).title for name in held)
        for rule in self.parts:
            if rule.condition not in (None, *held):
                asked = f"{rule.condition}.{rule.name}:{rule.bar:g}"
                raise UsageError(f"--fail-under {asked}: {who} has {only} only")
        for limit in self.slower:
            if limit.condition not in (None, *held):
                asked = f"{limit.condition}.p{limit.percent}"
                raise UsageError(f"--fail-slower {asked}: {who} has {only} only")
        known = [condition.name for condition in of_job]
        for name, bar in self.under.items():
            if name not in ("mean", *known):
                raise UsageError(
                    f"--fail-under {name}:{bar:g}: {name!r} is not a condition; the job has"
                    f" {listed(known)}"
                )
            of_mean = without_placebo(known)
            every = of_mean_words(known)
            asked = f"{bar:g} asks for the mean of {every}, which needs {every} conditions"
            if name != "mean":
                asked = f"{name}:{bar:g} needs {named(of_job, name).title}"
            is_met = set(of_mean).issubset(held) if name == "mean" else name in held
            if not is_met:
                one = next(iter(held))
                raise UsageError(
                    f"--fail-under {asked}, but {who} has {only} only; give {one}:{bar:g}, or run"
                    f" {every}"
                )

    def require_tasks(self, count: int, job: str) -> None:
        """Reject a threshold of a task that a job with `count` tasks does not have.

        Raises:
            UsageError: the message names the threshold.
        """
        for rule in self.parts:
            if rule.task is not None and rule.task > count:
                asked = ".".join(filter(None, (rule.condition, rule.name)))
                raise UsageError(
                    f"--fail-under {asked}:{rule.bar:g}: {job} has {plural(count, 'task')}"
                )


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One threshold checked for one job (and condition), and what the result rests on."""

    job: str
    model: str | None
    rule: str
    status: CheckStatus
    basis: Finding
    value: float | None = None
    bar: float | None = None
    condition: Condition | None = None
    unit: Literal["", "ms"] = ""
    """`ms` for response times, where `bar` is the most that is allowed; for the rest it is the
    least.
    """
    is_certain: bool = False
    """Whether a failed one fails whatever the conversations that were left out would have had."""

    @property
    def value_words(self) -> str:
        """The value, such as `0.75` or `2.13 s`; a dash if it could not be measured."""
        if self.unit:
            return units.latency(self.value)
        if self.bar is None:
            return units.number(self.value)
        return units.number_near(self.value, self.bar)

    @property
    def bar_words(self) -> str:
        """The threshold, such as `0.8` or `2.00 s`; a dash without one."""
        if self.bar is None:
            return units.DASH
        if self.unit:
            return units.latency(self.bar)
        return f"{self.bar:g}"

    @property
    def words(self) -> str:
        """What the result rests on, in words."""
        return sentence(self.basis)

    def to_dict(self) -> dict[str, Any]:
        """Return the check for JSON."""
        return CHECK.of(self)


CHECK = Fields(
    GateCheck,
    "job",
    "model",
    "rule",
    "status",
    "words",
    "value",
    "bar",
    "condition",
    "unit",
    words=str,
)


class PrintedGate(TypedDict):
    """The gate's result."""

    exit_code: int
    used: int
    held: int
    excluded: dict[str, int]
    notes: list[str]
    checks: list[Annotated[dict[str, Any], CHECK]]


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's result. `counted` is over all planned conversations."""

    exit_code: ExitCode
    checks: tuple[GateCheck, ...]
    counted: Counted
    notes: tuple[str, ...]

    def to_dict(self) -> PrintedGate:
        """Return the result for JSON."""
        return {
            "exit_code": int(self.exit_code),
            "used": self.counted.used,
            "held": self.counted.held,
            "excluded": dict(self.counted.reasons),
            "notes": list(self.notes),
            "checks": [check.to_dict() for check in self.checks],
        }


def evaluate(runs: Sequence[RunResult], rules: GateRules) -> GateResult:
    """Check the runs against the rules, separately for each job, agent and model, so that none
    hides another.
    """
    counted = count_planned(runs)
    checks: list[GateCheck] = []
    for group in groups(runs):
        for job, same in runs_by_job(group).items():
            found = [
                *_score_checks(same, rules),
                *_part_checks(same, rules),
                *_pass_k(same, rules),
                *_slow(same, rules),
            ]
            found += _assertions(same) if rules.on_assertion else ()
            checks += (replace(check, job=job) for check in found)
    unmeasured = why_unmeasured(counted, gated=rules.given)
    notes: list[Finding] = [*unmeasured]
    if checks or len(runs) > 1:  # the card of a single run says it
        notes += _unclean(runs)
    if rules.under or rules.parts or rules.pass_k:  # the others do not rest on verdicts
        notes += [run.examined for run in runs if isinstance(run.examined, of.JudgeNotExamined)]
    people = chain.from_iterable(run.people_say for run in runs if run.sampled)
    code = _exit_code(checks, unmeasured=bool(unmeasured))
    notes += chain.from_iterable(_by_user(run, rules) for run in runs)
    return GateResult(
        code, tuple(checks), counted, tuple(dict.fromkeys([*map(sentence, notes), *people]))
    )


def _by_user(run: RunResult, rules: GateRules) -> Iterator[of.ThresholdWithSome]:
    """Yield each threshold of the score that is met with some of a run's users and not with others.

    Its check is of the mean over them all.
    """
    for name, bar in rules.under.items():
        condition = None if name == "mean" else name
        means = user_means(run, condition)
        known = [(user, mean) for user, mean in means.items() if mean is not None]
        met = tuple((user, mean) for user, mean in known if reaches(mean, bar))
        missed = tuple((user, mean) for user, mean in known if not reaches(mean, bar))
        if met and missed:
            yield of.ThresholdWithSome(name, bar, met, missed)


def _exit_code(checks: Sequence[GateCheck], *, unmeasured: bool) -> ExitCode:
    """Return the exit code. What is below its threshold whatever the rest would have been is a
    finding, which nothing that was not measured can take back.
    """
    statuses = {check.status for check in checks}
    if any(check.is_certain for check in checks if check.status == "failed"):
        return ExitCode.BELOW
    if unmeasured or "not_measured" in statuses:
        return ExitCode.NOT_MEASURED
    if "failed" in statuses:
        return ExitCode.BELOW
    return ExitCode.OK


def _unclean(runs: Sequence[RunResult]) -> Iterator[of.UncleanRun]:
    """Yield the runs that are not known to be clean, by job and, if there are several, by model."""
    several = len({run.started.model for run in runs}) > 1
    for run in runs:
        if not run.clean:
            name = run.brief.job
            if several and run.started.model:
                name += f" · {run.started.model}"
            yield of.UncleanRun(name, run.cleanness, run.why_not_clean)


def _parts(options: Sequence[str]) -> list[str]:
    parts = chain.from_iterable(option.split(",") for option in options)
    return list(filter(None, map(str.strip, parts)))


def _bar(option: str, part: str, number: str) -> float:
    try:
        bar = float(number)
    except ValueError:
        raise UsageError(f"{option} {part}: {number!r} is not a number from 0 to 1") from None
    if not 0 <= bar <= 1:
        raise UsageError(f"{option} {part}: a threshold is between 0 and 1")
    return bar


def _slower(part: str) -> SlowRule:
    """Read a limit such as `p95:2s`."""
    match = _SLOWER.fullmatch(part)
    if match is None or not float(match["number"]):
        raise UsageError(
            f"--fail-slower {part}: use a percentile from p1 to p99 and a time in s or ms, such as"
            " p95:2s or supplied.p50:800ms"
        )
    limit_ms = float(match["number"]) * (1000 if match["unit"] == "s" else 1)
    return SlowRule(match["condition"], int(match["percent"]), limit_ms)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The value of which there is a threshold, over the conversations that count; and the least and
    the most that it can be, whatever the score of those that were left out would have been.
    """

    value: float | None
    lowest: float | None
    highest: float | None
    sent_again: bool = False
    """Whether `lowest` also counts the time of requests that were sent again."""


def _bounds(samples: Sequence[Sample]) -> _Bounds:
    found = estimate(samples)
    lowest = estimate([replace(one, value=one.lowest) for one in samples]).with_excluded_as_zero
    all_right = [replace(one, value=1.0) if one.value is None else one for one in samples]
    return _Bounds(found.mean, lowest, estimate(all_right).mean, _any_sent_again(samples))


def _any_sent_again(samples: Iterable[Sample]) -> bool:
    return any(one.least is not None for one in samples)


def _score_checks(runs: list[RecordedRun], rules: GateRules) -> list[GateCheck]:
    first = runs[0].started
    samples = {
        condition: [*chain.from_iterable(planned_samples(run, condition) for run in runs)]
        for condition in held_conditions(runs)
    }
    of_job, checks = conditions_of_mean(runs[0].state.job), []
    for name, bar in rules.under.items():
        if name == "mean":
            counted = tuple((each, count(samples[each])) for each in without_placebo(samples))
            basis = of.ScoreBasis(counted, len(of_job))
            rule = f"mean of {of_mean_words(of_job)}"
            checks.append(_check(first, rule, _bounds_of_mean(samples, of_job), bar, basis))
        elif name in samples:
            own = samples[name]
            basis = of.ScoreBasis(((name, count(own)),))
            checks.append(_check(first, "score", _bounds(own), bar, basis, condition=name))
        else:
            not_run = of.ConditionNotRun(name)
            job, model = first.job_name, first.model
            checks.append(GateCheck(job, model, "score", "not_measured", not_run, bar=bar))
    return checks


def _bounds_of_mean(
    samples: Mapping[Condition, Sequence[Sample]], of_job: Sequence[Condition]
) -> _Bounds:
    """Return the bounds of the mean over the job's conditions, each None if a condition has no
    score.
    """

    def mean(left_out: float | None, *, lowest: bool = False) -> float | None:
        values = {
            condition: [
                left_out if one.value is None else one.lowest if lowest else one.value
                for one in own
            ]
            for condition, own in samples.items()
        }
        known = {name: [one for one in own if one is not None] for name, own in values.items()}
        return score.mean_of_conditions(known, of_job)

    sent_again = _any_sent_again(chain.from_iterable(samples.values()))
    return _Bounds(mean(None), mean(0.0, lowest=True), mean(1.0), sent_again)


def _part_checks(runs: list[RecordedRun], rules: GateRules) -> list[GateCheck]:
    """Check thresholds of parts and of single tasks, in each condition by itself."""
    first = runs[0].started
    checks = []
    for rule in rules.parts:
        asked = _asked(runs, rule)
        counts = [name for name in asked if _has(runs, rule, name)]
        for condition in counts or asked:
            samples: list[Sample] = []
            for run in runs:
                places = [place for place in run.planned if place[0] == condition]
                samples += [_part_sample(run, run.conversation(*place), rule) for place in places]
            basis = of.ScoreBasis(((condition, count(samples)),))
            # What a conversation that counts never had was not lost.
            had = [one for one in samples if one.value is not None or one.reason not in LACKING]
            bounds = _bounds(had)
            checks.append(_check(first, rule.name, bounds, rule.bar, basis, condition=condition))
    return checks


def _asked(runs: Sequence[RecordedRun], rule: PartRule | SlowRule) -> tuple[Condition, ...]:
    """Return the conditions that a threshold is for: the placebo if it is named, or run alone."""
    if rule.condition is None:
        return scored_conditions(runs)
    return tuple(name for name in held_conditions(runs) if name == rule.condition)


def _has(runs: Sequence[RecordedRun], rule: PartRule, condition: Condition) -> bool:
    """Return whether runs of one job have this task, or anything in this part, in a condition."""
    if rule.task is not None:
        return rule.task in runs[0].task_titles(condition)
    every = chain.from_iterable(talk.parts for _, talk in each_conversation(runs, condition))
    parts = [part for part in every if part.name == rule.part]
    return not parts or any(not part.left_out for part in parts)


def _part_sample(run: RecordedRun, talk: ConversationResult | None, rule: PartRule) -> Sample:
    """Return the value of a part, or of a task, in a conversation."""
    job = run.brief.job
    if talk is None or not talk.is_scored:
        return Sample(job, None, "not run")
    if rule.task is not None:
        return talk.task_sample(rule.task) or Sample(job, None, NO_TASK)
    part = next((part for part in talk.parts if part.name == rule.part), None)
    value = least = None
    if part is not None and not talk.excluded:
        value = part.value
        if rule.part == "timing" and talk.least is not None:
            longest_ms = talk.latencies_with_waits_ms(excused=True)
            least = score.timing_part(talk.target_ms, longest_ms).value
    return replace(talk.sample, value=value, reason=talk.excluded or NO_PART, least=least)


def _pass_k(runs: list[RecordedRun], rules: GateRules) -> list[GateCheck]:
    first = runs[0].started
    checks = []
    for k, bar in rules.pass_k:
        for condition in scored_conditions(runs):
            tries = task_tries(runs, condition)
            result = pass_k(tries, k)
            most = min((task.trials for task in tries), default=0)
            value, tasks = result.value, result.tasks
            if result.undefined or value is None:
                value, tasks = None, len(tries)
            lowest, highest = (
                pass_k(task_tries(runs, condition, left_out=passed), k).value
                for passed in (False, True)
            )
            places = [
                (run, place) for run in runs for place in run.planned if place[0] == condition
            ]
            if any(run.conversation(*place) is None for run, place in places):
                highest = None  # trials that were never held might have raised it
            basis = of.PassShareBasis(tasks, k, most, value is not None)
            bounds = _Bounds(value, lowest, highest)
            checks.append(_check(first, f"pass^{k}", bounds, bar, basis, condition=condition))
    return checks


def _slow(runs: list[RecordedRun], rules: GateRules) -> list[GateCheck]:
    """Check the response times of all conversations, also of those that are left out: what a user
    or judge did wrong makes no answer faster.
    """
    first = runs[0].started
    checks = []
    for rule in rules.slower:
        for condition in _asked(runs, rule):
            talks = [talk for _, talk in each_conversation(runs, condition)]
            times = list(chain.from_iterable(talk.latencies_ms for talk in talks))
            value = percentile(times, rule.percent / 100)
            with_waits = [*chain.from_iterable(talk.latencies_with_waits_ms() for talk in talks)]
            longest = percentile(with_waits, rule.percent / 100)
            basis = of.TimesBasis(rule.percent, len(times), sum(talk.failures for talk in talks))
            status: CheckStatus = "not_measured"
            if value is not None and value > rule.limit_ms:
                status = "failed"
            elif longest is not None and longest > rule.limit_ms:
                basis = replace(basis, longest_ms=longest)
            elif value is not None:
                status = "passed"
            checks.append(
                GateCheck(
                    first.job_name,
                    first.model,
                    rule.name,
                    status,
                    basis,
                    value,
                    rule.limit_ms,
                    condition,
                    "ms",
                )
            )
    return checks


def _assertions(runs: list[RecordedRun]) -> Iterator[GateCheck]:
    """Yield a check of each assertion that does not hold at the end of a conversation, or of which
    that is not known: one of weight 0 that could not be checked, or all, if there is no score.
    """
    for run, talk in each_conversation(runs):
        if talk.condition not in run.scored_conditions:
            continue
        if not run.assertion_titles(talk.condition, talk.trial):
            continue
        if talk.score is None:
            yield _missed(run, talk, "all assertions", "not_measured", talk.cause)
            continue
        for check in talk.final_checks.values():
            rule = f"assertion “{check.title}”"
            if check.status == "failed":
                yield _missed(run, talk, rule, check.status, check.reason)
            elif check.status == "not_measured":
                why = check.error or NOT_CHECKED
                yield _missed(run, talk, rule, check.status, why)


def _missed(
    run: RecordedRun, talk: ConversationResult, rule: str, status: CheckStatus, why: str
) -> GateCheck:
    basis = of.AssertionMissed(talk.trial_words, why)
    return GateCheck(
        run.brief.job,
        run.started.model,
        rule,
        status,
        basis,
        condition=talk.condition,
        is_certain=status == "failed",
    )


def _check(
    first: RunStarted,
    rule: str,
    bounds: _Bounds,
    bar: float,
    basis: of.ScoreBasis | of.PassShareBasis,
    *,
    condition: Condition | None = None,
) -> GateCheck:
    """Return a threshold's check: it is met if the value reaches it, and so does the least that it
    can be.
    """
    status, lowest = _status(bounds.value, bar), bounds.lowest
    if status == "passed" and lowest is not None and not reaches(lowest, bar):
        status, basis = "not_measured", replace(basis, lowest=(lowest, bar))
        if isinstance(basis, of.ScoreBasis):
            basis = replace(basis, sent_again=bounds.sent_again)
    elif status == "passed" and _has_unexcused(basis):
        status = "not_measured"
    is_certain = _status(bounds.highest, bar) == "failed"
    job, model = first.job_name, first.model
    return GateCheck(
        job, model, rule, status, basis, bounds.value, bar, condition, is_certain=is_certain
    )


def _has_unexcused(basis: of.ScoreBasis | of.PassShareBasis) -> bool:
    if isinstance(basis, of.PassShareBasis):
        return False
    return any(counted.unexcused for _, counted in basis.counted)


def _status(value: float | None, bar: float) -> CheckStatus:
    if value is None:
        return "not_measured"
    if reaches(value, bar):
        return "passed"
    return "failed"


@dataclass(frozen=True, slots=True)
class Gate:
    """The thresholds, and the files for the result."""

    rules: GateRules = field(default_factory=GateRules)
    files: Mapping[str, Path] = field(default_factory=dict)
    """Where to write, by the format's name."""

    def check_paths(self) -> None:
        """Raise `UsageError` early for a file that cannot be written."""
        for path in self.files.values():
            if not path.absolute().parent.is_dir():
                raise UsageError(f"{path}: the folder {path.absolute().parent} does not exist")
            if path.is_dir():
                raise UsageError(f"{path} is a folder; give the name of a file")

    def check(self, runs: Sequence[RunResult], notes: tuple[str, ...] = ()) -> GateResult:
        """Check the runs and write the files; `notes` are added to the gate's own notes.

        Raises:
            UsageError: a file cannot be written.
        """
        result = evaluate(runs, self.rules)
        result = replace(result, notes=(*notes, *result.notes))
        for name, path in self.files.items():
            write_private(path, named_format(name).write("gate", runs, self.rules, result))
        return result


def reviewed_runs(runs: Sequence[RunResult]) -> tuple[list[RunResult], tuple[str, ...]]:
    """Return the runs with people's scores if there are reviews, and a note on each run's changed
    mean.
    """
    notes = tuple(
        f"{run.run_id}: {run.reviewed_words or 'no reviews, the judge’s scores count'}"
        for run in runs
    )
    return [run.apply_reviews() for run in runs], notes


def print_checks(result: GateResult, console: Console) -> None:
    """Print a line for each threshold, and the notes."""
    several = len({check.model for check in result.checks}) > 1
    for check in result.checks:
        where = [check.job]
        if several and check.model:
            where.append(check.model)
        if check.condition:
            where.append(published_title(check.condition))
        found = check.rule
        if check.bar is not None:
            limit = "limit" if check.unit else "threshold"
            found += f" {check.value_words}, the {limit} is {check.bar_words}"
        console.print(
            Text(f"{SIGNS[check.status]} {' · '.join(where)}: {found} ({check.words})"),
            soft_wrap=True,
        )
    for note in result.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)
