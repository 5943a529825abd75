"""How a run is to be held, as the run dialog asks for it (`run_dialog.py`): read from what was
remembered or from an earlier run, and made into a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bioeval_tui.base.addresses import url_hint
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import both_or_all, listed, plural
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.peers.offline import HUMAN
from bioeval_tui.record.run_options import (
    MOST_AT_ONCE,
    MOST_CASES,
    MOST_TRIALS,
    OTLP_PORT,
    recorded_options,
)
from bioeval_tui.tui.job_items import JobItem
from bioeval_tui.tui.shared.editor import job_file

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.report.result import RunResult
    from bioeval_tui.tui.data.services import Preferences

Played = Literal["job", "rehearsal"]

ALL = "all"
"""The choice of all conditions of a job."""

CHOICES: dict[str, dict[str, str]] = {
    "agent": {
        "job": "as set in the job or the settings",
        "sample": "the sample agent, started for this run",
        "url": "at this address",
    },
    "played": {
        "job": "as set in the job",
        "rehearsal": "rehearsal: scripted user, rules as judge, no model",
    },
    "at_once": {
        "no": "one after the other",
        "yes": "at the same time; the agent must keep sessions apart",
    },
    "spans": {
        "job": "as set in the job",
        "yes": f"receive the agent's OpenTelemetry spans on port {OTLP_PORT}",
    },
}
"""The label of each choice of the form that is the same for every job."""


def form_choices(titles: Mapping[Condition, str]) -> dict[str, dict[str, str]]:
    """Return the label of each choice of the form for a job with these conditions."""
    every = both_or_all(len(titles))
    return {
        **CHOICES,
        "conditions": {
            ALL: f"{every}: {listed(titles.values())}",
            **{name: f"{title} only: no mean, no difference" for name, title in titles.items()},
        },
        "order": {
            "job": "as set in the job",
            **{f"{name}-first": f"{title} first" for name, title in titles.items()},
            "random": "random for each trial",
        },
    }


@dataclass(frozen=True, slots=True)
class RunForm:
    """The contents of the run dialog's form, as typed and as saved."""

    agent: Literal["sample", "job", "url"] = "job"
    url: str = ""
    models: str = ""
    played: Played = "job"
    repeats: str = "1"
    order: str = "job"
    """`job`, `random`, or a condition with `-first`."""
    at_once: Literal["no", "yes"] = "no"
    evaluator: str = ""
    judge: str = ""
    concurrency: str = ""
    conditions: str = ALL
    """The only condition to run, or `ALL`."""
    cases: str = ""
    sample: str = ""
    spans: Literal["job", "yes"] = "job"
    code: str = ""

    @classmethod
    def from_saved(cls, kept: Any, conditions: Mapping[Condition, str]) -> RunForm:
        """Return the saved form for a job with these conditions; invalid values keep their
        default.
        """
        if not isinstance(kept, Mapping):
            return cls()
        values, choices = {}, form_choices(conditions)
        for field in fields(cls):
            value = kept.get(field.name)
            allowed = choices.get(field.name)
            if isinstance(value, str) and (allowed is None or value in allowed):
                values[field.name] = value
        return cls(**values)  # type: ignore[arg-type]

    @classmethod
    def remembered(cls, job: JobItem, kept: Preferences, repeats: int) -> RunForm:
        """Return the form as it was given for this job or, if it never was, for the last one."""
        by_job = kept.get("run.by_job")
        given = by_job.get(str(job.path)) if isinstance(by_job, Mapping) else None
        if given is None:
            if job.sample:
                return cls(agent="sample", played="rehearsal", repeats=str(repeats))
            given = kept.get("run.last")
        form = cls.from_saved(given, job.conditions)
        # How many conversations a run has is asked each time: enter, enter must not start a batch.
        return replace(form, models="", repeats=str(repeats))

    def to_dict(self) -> dict[str, str]:
        """Return the form for saving."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models named, without repetition."""
        return _names(self.models)

    @property
    def judge_names(self) -> tuple[str, ...]:
        """The judges named, without repetition; several are a panel."""
        return _names(self.judge)

    @property
    def trials(self) -> int | None:
        """The number of trials; None when that is not a number from 1 to 1,000."""
        return _number(self.repeats, MOST_TRIALS)

    def condition_names(self, job: JobItem) -> tuple[Condition, ...]:
        """Return the conditions of a run of a job with this form."""
        if self.conditions == ALL:
            return tuple(job.conditions)
        return (self.conditions,)

    @property
    def most_at_once(self) -> int | None:
        """The maximum number of concurrent conversations; None if empty or not a number."""
        return _number(self.concurrency, MOST_AT_ONCE)

    @property
    def user_names(self) -> tuple[str, ...]:
        """The models that play the user, with each of which each trial is held; none if the job or
        the environment names them.
        """
        if self.played == "job":
            return _names(self.evaluator)
        return ()

    @property
    def has_more(self) -> bool:
        """Whether any of the questions that are folded at first has an answer."""
        return (self.order, self.at_once, self.concurrency, self.spans) != ("job", "no", "", "job")

    @property
    def sample_size(self) -> int | None:
        """The size of the random sample of cases; None if empty or not a number."""
        return _number(self.sample, MOST_CASES)

    def problem(self, *, needs_code: bool = False) -> str:
        """Return the first error in one sentence; empty if it is valid."""
        if needs_code and not Path(self.code.strip() or "/nowhere").expanduser().is_dir():
            return "code: give the folder with the job's Python functions"
        if self.agent == "url" and (hint := url_hint(self.url.strip())):
            return f"address: {hint}"
        if self.trials is None:
            return f"trials: give a whole number from 1 to {MOST_TRIALS:,}"
        if self.concurrency.strip() and self.most_at_once is None:
            return f"conversations: give a whole number from 1 to {MOST_AT_ONCE:,}, or nothing"
        if self.sample.strip() and self.sample_size is None:
            return f"sample: give a whole number from 1 to {MOST_CASES:,}, or nothing"
        users = self.user_names
        if len(users) > 1 and HUMAN in users:
            return "evaluator: a person plays the user of a whole run; give human alone"
        return ""

    def size_words(self, job: JobItem) -> str:
        """Return the size of a run of this form: `2 models × 50 cases × 2 conditions × 3 trials:
        600 conversations`.
        """
        models, trials, cases = max(1, len(self.model_names)), self.trials, job.cases
        users = max(1, len(self.user_names))
        if trials is None:
            return ""
        conditions = len(self.condition_names(job))
        is_choice = bool(cases and (self.cases.strip() or self.sample_size))
        parts = []
        if models > 1:
            parts.append(plural(models, "model"))
        if is_choice:
            parts.append("the chosen cases")
        elif cases:
            parts.append(plural(cases, "case"))
        if users > 1:
            parts.append(plural(users, "user"))
        parts.append(plural(conditions, "condition"))
        if trials > 1:
            parts.append(plural(trials, "trial"))
        total = ""
        if not is_choice:
            count = models * max(1, cases) * users * conditions * trials
            total = f": {plural(count, 'conversation')}"
        at_most = ""
        if self.most_at_once:
            at_most = f", at most {self.most_at_once} at once"
            if self.most_at_once > 1 and self.at_once == "no":
                at_most += "; those that share a knowledge graph run one after another"
        return f"{' × '.join(parts)}{total}{at_most}"

    def request(self, job: JobItem) -> RunRequest:
        """Return the request for the engine; `problem` must have returned an empty string."""
        request = RunRequest(
            jobs=(job.path,),
            models=self.model_names,
            mode=self.played,
            sample_agent=self.agent == "sample",
            trials=self.trials or 1,
            conditions=self.condition_names(job),
            order=None if self.order == "job" or self.conditions != ALL else self.order,
            parallel=self.at_once == "yes",
            concurrency=self.most_at_once,
            otlp=OTLP_PORT if self.spans == "yes" else None,
        )
        # What was typed stays in a field that other choices hide, where it must not count.
        if self.agent == "url":
            url = self.url.strip().rstrip("/")
            request = replace(request, agent_url=url, agent_url_is_given=True)
        if self.played == "job":
            request = replace(
                request, evaluator_model=self.user_names, judge_model=self.judge_names
            )
        if job.cases:
            request = replace(request, cases=self.cases.strip() or None, sample=self.sample_size)
        if job.needs_code:
            folder = Path(self.code.strip()).expanduser().absolute()
            request = replace(request, code=(str(folder),))
        return request


def repeated(*runs: RunResult) -> tuple[Path, RunForm]:
    """Return the job file of one or more runs, and the form that runs it again with their models.

    There are as many trials as the first run's answer says are needed. What came from the job is
    left to it: it may have been edited since.

    Raises:
        UsageError: the file is not there, the agent was started by the command line, or the runs
            differ in more than their model.
    """
    forms = [_run_form(run) for run in runs]
    path, form = forms[0]
    if any(
        (other, replace(own, models=form.models, repeats=form.repeats)) != forms[0]
        for other, own in forms
    ):
        raise UsageError(
            "these runs differ in more than their model; press r on the score card of each to run"
            " it again"
        )
    models = ", ".join(dict.fromkeys(own.models for _, own in forms if own.models))
    return path, replace(form, models=models)


def _run_form(run: RunResult) -> tuple[Path, RunForm]:
    path, started = job_file(run), run.started
    before, job = recorded_options(started.options), run.state.job
    if before.local_model or started.options.get("agent_function"):
        raise UsageError(f"run {run.run_id} had an agent that only its own command can start")
    every = tuple(run.state.all_conditions)
    form = RunForm(
        repeats=str(max(1, started.trials // max(1, len(started.cases)))),
        order=before.order or "job",
        at_once="yes" if before.parallel else "no",
        concurrency=str(before.concurrency or ""),
        cases=before.cases or "",
        sample=str(before.sample or ""),
        spans="job" if before.otlp is None else "yes",
    )
    # What the job says itself is left out: an answer in the form would hide what it says later.
    if before.agent_url and before.agent_url != _part_value(job, "target", "url"):
        form = replace(form, agent="url", url=before.agent_url)
    if started.had_sample_agent:
        form = replace(form, agent="sample")
    if started.model and started.model != _part_value(job, "target", "model"):
        form = replace(form, models=started.model)
    users = before.evaluator_model
    if users and users != _several(_part_value(job, "evaluator", "model")):
        form = replace(form, evaluator=", ".join(users))
    if before.judge_model != _several(_part_value(job, "scorer", "model")):
        form = replace(form, judge=", ".join(before.judge_model))
    if started.options.get("mode") == "rehearsal":
        form = replace(form, played="rehearsal")
    if more := [step.total for step in run.answer.steps if step.action == "trials"]:
        form = replace(form, repeats=str(more[0]))
    if len(started.conditions) == 1 and len(every) != 1:
        form = replace(form, conditions=started.conditions[0])
    return path, form


def _part_value(job: Mapping[str, Any], part: str, key: str) -> Any:
    """Return a value of a recorded job's part, such as its agent's address; None if it has none."""
    values = job.get(part)
    if isinstance(values, Mapping):
        return values.get(key)
    return None


def _several(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(value or ())


def _names(text: str) -> tuple[str, ...]:
    parts = (part.strip() for part in text.replace(";", ",").split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _number(text: str, most: int) -> int | None:
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= most:
        return int(text)
    return None
