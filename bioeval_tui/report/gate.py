"""The gate for CI: thresholds, checked per job and condition, and the exit code.

Exit 1: checked and below. Exit 3: could not be checked, or more than 10 % of the conversations excluded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bioeval_tui import score
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.report import samples
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.statistics.estimates import Counted, Sample, count, estimate, pass_k
from bioeval_tui.report.summary import by_job, groups

MOST_EXCLUDED = 0.10
Status = Literal["passed", "failed", "not_measured"]


@dataclass(frozen=True, slots=True)
class GateRules:
    """The thresholds. `under` has one for `mean` or a condition; `pass_k` has pairs of k and threshold."""

    under: dict[str, float] = field(default_factory=dict)
    on_assertion: bool = False
    pass_k: tuple[tuple[int, float], ...] = ()

    @classmethod
    def parse(
        cls,
        fail_under: Sequence[str] = (),
        *,
        fail_on_assertion: bool = False,
        min_pass_k: Sequence[str] = (),
    ) -> GateRules:
        """Read the options as given: `0.8`, `supplied:0.85,withheld:0.5`; `2:0.9,3:0.8`.

        Raises:
            UsageError: an option cannot be parsed; the message says what is expected.
        """
        under: dict[str, float] = {}
        for part in _parts(fail_under):
            name, _, number = part.rpartition(":")
            if name not in ("", "mean", *CONDITIONS):
                raise UsageError(
                    f"--fail-under {part}: {name!r} is not a condition; use withheld or supplied"
                )
            under[name or "mean"] = _bar("--fail-under", part, number)
        wanted = []
        for part in _parts(min_pass_k):
            k, _, number = part.partition(":")
            if not k.strip().isdecimal() or int(k) < 1 or not number:
                raise UsageError(f"--min-pass-k {part}: use K:SHARE, such as 2:0.9")
            wanted.append((int(k), _bar("--min-pass-k", part, number)))
        return cls(under, fail_on_assertion, tuple(wanted))

    def require_held(self, held: Collection[Condition], who: str = "the run") -> None:
        """Reject a threshold that the conditions of `who` can never meet: for one that is not run, or for the mean of only one.

        Raises:
            UsageError: the message names the threshold and a valid one.
        """
        only = " and ".join(held)
        for name, bar in self.under.items():
            asked = f"{name}:{bar:g} needs facts {name}"
            if name == "mean":
                asked = f"{bar:g} asks for the mean of both, which {score.NEEDS_BOTH}"
            if name not in held and (name != "mean" or len(held) < len(CONDITIONS)):
                raise UsageError(
                    f"--fail-under {asked}, but {who} has facts {only} only; give {only}:{bar:g}, or run both"
                )


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One threshold checked for one job (and condition)."""

    job: str
    model: str | None
    rule: str
    status: Status
    words: str
    value: float | None = None
    bar: float | None = None
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's result. `counted` is over all planned conversations."""

    exit_code: ExitCode
    checks: tuple[GateCheck, ...]
    counted: Counted
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "exit_code": int(self.exit_code),
            "used": self.counted.used,
            "held": self.counted.held,
            "excluded": dict(self.counted.reasons),
            "notes": list(self.notes),
            "checks": [asdict(check) for check in self.checks],
        }


def evaluate(runs: Sequence[LoadedRun], rules: GateRules) -> GateResult:
    """Check the runs against the rules, separately for each job, agent and model, so that none hides another."""
    planned = [sample for run in runs for sample in _planned(run)]
    counted = count(planned)
    checks: list[GateCheck] = []
    for group in groups(runs):
        for same in by_job(group).values():
            checks += _under(same, rules)
            checks += _pass_k(same, rules)
            if rules.on_assertion:
                checks += _assertions(same)
    notes = []
    code = ExitCode.OK
    if any(check.status == "failed" for check in checks):
        code = ExitCode.BELOW
    if counted.excluded_share > MOST_EXCLUDED or not counted.used:
        code = ExitCode.NOT_MEASURED
        notes.append(
            f"more than 10 % of the conversations could not be used: {counted.words}" if counted.held
            else "no conversation was run"
        )  # fmt: skip
    if any(check.status == "not_measured" for check in checks):
        code = ExitCode.NOT_MEASURED
    several = len({run.started.model for run in runs}) > 1
    for run in runs:
        if not run.state.clean:
            model = f" · {run.started.model}" if several and run.started.model else ""
            notes.append(f"{run.started.job_name}{model}: {run.state.cleanness}, {run.state.why_not_clean}")
    return GateResult(code, tuple(checks), counted, tuple(dict.fromkeys(notes)))


def _parts(options: Sequence[str]) -> list[str]:
    return [part.strip() for option in options for part in option.split(",") if part.strip()]


def _bar(option: str, part: str, number: str) -> float:
    try:
        bar = float(number)
    except ValueError:
        raise UsageError(f"{option} {part}: {number!r} is not a number from 0 to 1") from None
    if not 0 <= bar <= 1:
        raise UsageError(f"{option} {part}: a threshold is between 0 and 1")
    return bar


def _planned(run: LoadedRun, only: Condition | None = None) -> list[Sample]:
    """All planned conversations of the run; one that never started is excluded as `not run`."""
    job = run.started.job_name
    return [
        samples.score_sample(run, run.state.conversation(condition, trial)) or Sample(job, None, "not run")
        for trial in range(1, max(run.started.trials, *run.trials, 1) + 1)
        for condition in run.started.conditions
        if only in (None, condition)
    ]


def _under(runs: list[LoadedRun], rules: GateRules) -> list[GateCheck]:
    first = runs[0].started
    conditions = samples.conditions(runs)
    values = {
        condition: estimate([sample for run in runs for sample in _planned(run, condition)])
        for condition in conditions
    }
    found = []
    for name, bar in rules.under.items():
        if name == "mean":
            means = [values[condition].mean for condition in CONDITIONS if condition in values]
            known = [mean for mean in means if mean is not None]
            value = sum(known) / len(known) if len(known) == len(CONDITIONS) else None
            # One conversation a condition: exactly the published number, rounding and all.
            if value is not None and all(values[c].counted.used == 1 for c in conditions):
                value = score.mean_of(known)
            counted = "; ".join(f"{c} {values[c].counted.words}" for c in conditions)
            if len(conditions) < len(CONDITIONS):
                counted = f"{score.NEEDS_BOTH}; {counted}"
            found.append(_check(first, "mean of both", value, bar, counted))
        elif name in values:
            condition = name
            estimated = values[condition]
            found.append(
                _check(first, "score", estimated.mean, bar, estimated.counted.words, condition=condition)
            )
        else:
            found.append(_check(first, "score", None, bar, f"the job was not run with facts {name}"))
    return found


def _pass_k(runs: list[LoadedRun], rules: GateRules) -> list[GateCheck]:
    first = runs[0].started
    found = []
    for k, bar in rules.pass_k:
        for condition in samples.conditions(runs):
            tries = samples.task_tries(runs, condition)
            result = pass_k(tries, k)
            most = min((task.trials for task in tries), default=0)
            value = None if result.undefined else result.value
            why = f"{k} trials are needed, there are {most}" if tries else "the job has no tasks"
            words = f"over {result.tasks} tasks" if value is not None else why
            found.append(_check(first, f"pass^{k}", value, bar, words, condition=condition))
    return found


def _assertions(runs: list[LoadedRun]) -> list[GateCheck]:
    found = []
    for run in runs:
        for talk in run.talks:
            for check in talk.final_checks.values():
                if check.status == "passed" or (talk.score is None or talk.score.score is None):
                    continue
                found.append(
                    GateCheck(
                        run.started.job_name,
                        run.started.model,
                        f"assertion “{check.title}”",
                        "failed",
                        f"{talk.trial_words}: {check.reason or 'failed'}",
                        condition=talk.key.condition,
                    )
                )
    return found


def _check(
    first: Any,
    rule: str,
    value: float | None,
    bar: float,
    words: str,
    *,
    condition: Condition | None = None,
) -> GateCheck:
    status: Status = "not_measured" if value is None else "passed" if value >= bar - 1e-12 else "failed"
    return GateCheck(first.job_name, first.model, rule, status, words, value, bar, condition)
