"""The table of job files, and the form of the run dialog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from bioeval_tui.evaluation.engine.spec import OTLP_PORT, RunRequest
from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.sample.paths import plugin_jobs, sample_jobs
from bioeval_tui.text import plural
from bioeval_tui.tui.items import JobItem
from bioeval_tui.tui.shared.cells import Cell, score, spark
from bioeval_tui.tui.shared.list_table import Column, Key, Listing, number_key
from bioeval_tui.units import when

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition

SPARK = 12
MOST_REPEATS = 1000
MOST_CASES = 10_000

COLUMNS: tuple[Column, ...] = (
    Column("job", 0),
    Column("check", 12),
    Column("tasks", 5, True, 2),
    Column("facts", 5, True, 4),
    Column("asserts", 7, True, 3),
    Column("last runs", SPARK, False, 1),
    Column("score", 6, True),
    Column("last run", 11, False, 5),
)


def listing() -> Listing[JobItem]:
    """Return an empty table of jobs, sorted by name."""
    return Listing(
        COLUMNS, _keys, lambda job: f"{job.name} {job.path} {check(job).text}", lambda job: job.path
    )


def _keys(job: JobItem) -> tuple[Key, ...]:
    last = job.scores[-1] if job.scores else None
    warnings = len(job.problems) - len(job.errors)
    when = job.last_run.timestamp() if job.last_run else None
    return (
        (int(_is_shipped(job)), 0.0, job.name.lower()),  # your own before the samples
        (0, -len(job.errors) * 1000.0 - warnings, job.name.lower()),
        number_key(job.tasks),
        number_key(job.facts),
        number_key(job.assertions),
        number_key(float(job.runs)),
        number_key(last),
        number_key(when),
    )


def check(job: JobItem) -> Cell:
    """Return the result of the check in a few words; jobs that are included in the program are samples."""
    if not job.checked:
        return Cell("… checking", "quiet")
    if job.needs_code:
        return Cell("! needs code", "warn")
    if job.errors:
        return Cell(f"✗ {plural(len(job.errors), 'error')}", "bad")
    if job.problems:
        return Cell(f"! {plural(len(job.problems), 'warning')}", "warn")
    return Cell("✓ sample" if job.sample else "✓ ready", "good")


def _is_shipped(job: JobItem) -> bool:
    """Return whether a job comes with the program, also one that the sample agent cannot run."""
    return job.sample or job.path in plugin_jobs() or job.path.parent.resolve() == sample_jobs().resolve()


def row(job: JobItem, now: datetime, *, exact: bool = False) -> dict[str, Cell]:
    """Return a job's cells by column name. `exact` shows when it ran last instead of how long ago."""
    last = job.scores[-1] if job.scores else None
    return {
        "job": Cell(job.name, "plain" if job.runnable else "quiet"),
        "check": check(job),
        "tasks": _count(job.tasks),
        "facts": _count(job.facts),
        "asserts": _count(job.assertions),
        "last runs": Cell(spark(job.scores, SPARK), "busy") if job.scores else _none_yet(job),
        "score": Cell(score(last), "strong" if last is not None else "quiet"),
        "last run": Cell(when(job.last_run, now, exact=exact) if job.last_run else "–", "quiet"),
    }


def _none_yet(job: JobItem) -> Cell:
    return Cell("no mean yet" if job.runs else "no run yet", "quiet")


def _count(number: int | None) -> Cell:
    return Cell("–", "quiet") if number is None else Cell(f"{number:,}")


def facts_line(job: JobItem, now: datetime, *, exact: bool = False) -> list[Cell]:
    """Return the line above a job's text: its contents, and when it ran last."""
    if job.tasks is None or job.facts is None or job.assertions is None:
        return [check(job)]
    counts = ", ".join(
        (plural(job.tasks, "task"), plural(job.facts, "fact"), plural(job.assertions, "assertion"))
    )
    ran = f"   last run {when(job.last_run, now, exact=exact)}" if job.last_run else ""
    return [check(job), Cell(f"   {counts}"), Cell(ran, "quiet")]


Played = Literal["job", "rehearsal"]


@dataclass(frozen=True, slots=True)
class RunForm:
    """The contents of the run dialog's form, as typed and as saved."""

    agent: Literal["sample", "job", "url"] = "job"
    url: str = ""
    models: str = ""
    played: Played = "job"
    repeats: str = "1"
    order: Literal["job", "withheld-first", "supplied-first", "random"] = "job"
    at_once: Literal["no", "yes"] = "no"
    evaluator: str = ""
    judge: str = ""
    concurrency: str = ""
    conditions: Literal["both", "withheld", "supplied"] = "both"
    cases: str = ""
    sample: str = ""
    spans: Literal["job", "yes"] = "job"
    code: str = ""

    @classmethod
    def remembered(cls, kept: Any) -> RunForm:
        """Return the saved form; invalid values keep their default."""
        if not isinstance(kept, Mapping):
            return cls()
        values = {}
        for field in fields(cls):
            value = kept.get(field.name)
            allowed = CHOICES.get(field.name)
            if isinstance(value, str) and (allowed is None or value in allowed):
                values[field.name] = value
        return cls(**values)  # type: ignore[arg-type]

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
        """The number of repeats; None when that is not a number from 1 to 1,000."""
        return _number(self.repeats)

    @property
    def held(self) -> tuple[Condition, ...]:
        """The conditions of a run of this form."""
        return CONDITIONS if self.conditions == "both" else (self.conditions,)

    @property
    def at_most(self) -> int | None:
        """The maximum number of concurrent conversations; None if empty or not a number."""
        return _number(self.concurrency)

    @property
    def has_more(self) -> bool:
        """Whether any of the questions that are folded at first has an answer."""
        return (self.order, self.at_once, self.concurrency, self.spans) != ("job", "no", "", "job")

    @property
    def drawn(self) -> int | None:
        """The size of the random sample of cases; None if empty or not a number."""
        return _number(self.sample, MOST_CASES)


def _names(text: str) -> tuple[str, ...]:
    parts = (part.strip() for part in text.replace(";", ",").split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _number(text: str, most: int = MOST_REPEATS) -> int | None:
    text = text.strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    return number if 1 <= number <= most else None


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
    "conditions": {
        "both": "both: facts withheld and facts supplied",
        "withheld": "facts withheld only: no mean, no difference",
        "supplied": "facts supplied only: no mean, no difference",
    },
    "order": {
        "job": "as set in the job",
        "withheld-first": "facts withheld first",
        "supplied-first": "facts supplied first",
        "random": "random for each trial",
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
"""The label of each choice of the form."""


def wrong(form: RunForm, *, needs_code: bool = False) -> str:
    """Return the first error of the form in one sentence; empty if it is valid."""
    if needs_code and not Path(form.code.strip() or "/nowhere").expanduser().is_dir():
        return "code: give the folder with the job's Python functions"
    if form.agent == "url":
        parts = urlsplit(form.url.strip()) if form.url.isprintable() else urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return "address: give one such as http://127.0.0.1:8081"
    if form.trials is None:
        return f"repeats: give a whole number from 1 to {MOST_REPEATS:,}"
    if form.concurrency.strip() and form.at_most is None:
        return f"conversations: give a whole number from 1 to {MOST_REPEATS:,}, or nothing"
    if form.sample.strip() and form.drawn is None:
        return f"sample: give a whole number from 1 to {MOST_CASES:,}, or nothing"
    if form.played == "job" and len(_names(form.evaluator)) > 1:
        return "evaluator: give one model; the agent's models have their own field"
    return ""


def size_words(form: RunForm, cases: int = 0) -> str:
    """Return the size of a run of this form: `2 models × 50 cases × 2 conditions × 3 repeats: 600 conversations`."""
    models, trials = max(1, len(form.model_names)), form.trials
    if trials is None:
        return ""
    held = len(form.held)
    is_choice = bool(cases and (form.cases.strip() or form.drawn))
    parts = [plural(models, "model")] if models > 1 else []
    parts += ["the chosen cases" if is_choice else plural(cases, "case")] if cases else []
    parts += [plural(held, "condition"), *([plural(trials, "repeat")] if trials > 1 else [])]
    total = "" if is_choice else f": {plural(models * max(1, cases) * held * trials, 'conversation')}"
    at_most = f", at most {form.at_most} at once" if form.at_most else ""
    if form.at_most and form.at_most > 1 and form.at_once == "no":
        at_most += "; those that share a knowledge graph run one after another"
    return f"{' × '.join(parts)}{total}{at_most}"


def request(job: JobItem, form: RunForm) -> RunRequest:
    """Return the request for the engine; `wrong` must have returned an empty string."""
    return RunRequest(
        jobs=(job.path,),
        agent_url=form.url.strip().rstrip("/") if form.agent == "url" else None,
        agent_url_is_given=form.agent == "url",
        models=form.model_names,
        evaluator_model=form.evaluator.strip() or None if form.played == "job" else None,
        judge_model=(form.judge_names or None) if form.played == "job" else None,
        mode=form.played,
        sample_agent=form.agent == "sample",
        trials=form.trials or 1,
        conditions=form.held,
        order=None if form.order == "job" or form.conditions != "both" else form.order,
        parallel=form.at_once == "yes",
        concurrency=form.at_most,
        cases=(form.cases.strip() or None) if job.cases else None,
        sample=form.drawn if job.cases else None,
        otlp=OTLP_PORT if form.spans == "yes" else None,
        code=(str(Path(form.code.strip()).expanduser().absolute()),) if job.needs_code else (),
    )
