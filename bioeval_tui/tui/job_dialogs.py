"""The dialogs of the jobs: the form that makes a job for your own agent, and how to run one, which
remembers the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast

from rich.cells import cell_len
from textual import on, work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui import plugins
from bioeval_tui.base.addresses import url_hint
from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.text import both_or_all, clean_line, home_relative, listed, plural, shorten
from bioeval_tui.base.units import dollars, duration
from bioeval_tui.base.widths import fitted, padded
from bioeval_tui.evaluation.engine.interface import Resolved, RunRequest
from bioeval_tui.jobs.template import ASKS_FIRST, Answers, known_script
from bioeval_tui.record.names import PUBLISHED_TITLES
from bioeval_tui.record.run_options import OTLP_PORT, recorded_options
from bioeval_tui.report.plans import expected_interval
from bioeval_tui.report.sentences import sentence
from bioeval_tui.statistics.intervals import FEWEST, FEWEST_UNITS
from bioeval_tui.tui.data.job_list import ENDINGS
from bioeval_tui.tui.items import JobItem
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs.runs_view import preview
from bioeval_tui.tui.shared.cells import Cell, Line, paint_lines
from bioeval_tui.tui.shared.dialogs import Choice, FormChoice, FormDialog
from bioeval_tui.tui.shared.editor import job_file
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.report.result import RunResult
    from bioeval_tui.tui.data.services import Preferences
    from bioeval_tui.tui.runs.runs_view import RunPreview
    from bioeval_tui.tui.shared.program import Program


EXAMPLES: dict[str, tuple[str, str, str, str]] = {
    "reminder": (Answers().task, Answers().criteria, Answers().fact, Answers().withheld),
    "drug": (
        "Learn whether ibuprofen is safe with their other medicines",
        "Asks which medicines the user takes, and names the risk of bleeding with warfarin",
        "The user takes warfarin",
        "Asks which medicines the user takes, and calls nothing safe without knowing them",
    ),
    "variant": (
        "Learn how a variant in BRCA1 is classified",
        "Asks which variant it is, and names its classification with a source",
        "The variant is c.68_69del",
        "Asks which variant it is, and classifies none without knowing it",
    ),
    "own": ("", "", "", ASKS_FIRST),
}
"""Examples to start from: what the user wants, how to tell that it was done well, what the user
knows, and what is right if not.
"""
_TITLES = {
    "reminder": "example: a medication reminder",
    "drug": "example: a drug interaction",
    "variant": "example: a gene variant",
    "own": "your own",
}


MOST_TASKS = 5
"""The most tasks that the form asks for; the file may have more."""


class NewJob(NamedTuple):
    """A job to write."""

    path: Path
    answers: Answers


class OwnAgentDialog(FormDialog[NewJob]):
    """Asks for an address and a few sentences; the result is the job to write.

    Lines of further tasks are hidden at first.
    """

    NAME: ClassVar[str] = "Evaluate your own agent"
    HEADING: ClassVar[str] = "Evaluate your own agent"
    ABOUT: ClassVar[str] = (
        "A simulated user asks your agent for something, twice: first it does not know a fact that"
        " matters, then it tells the fact when asked. This writes a job file that you can extend."
    )
    LABEL_WIDTH = 20
    ENTER = "~job-field"
    BINDINGS: ClassVar[list[BindingType]] = bindings("own-agent")
    DEFAULT_CSS = """
    OwnAgentDialog .dialog--body { overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    def __init__(self, path: Path) -> None:
        """`path` is the file that is suggested."""
        super().__init__()
        self._path = path
        self._tasks = 1
        """How many tasks are asked for."""

    def compose_body(self) -> Iterable[Widget]:
        """One line a question, the address first."""
        spoken = {
            one.name: one.name for one in plugins.own_agent_protocols() if not one.is_function
        }
        with Vertical(classes="dialog--body"):
            yield self.line("address", "url", Answers().url, "where your agent listens")
            task, criteria, fact, withheld = EXAMPLES["reminder"]
            yield self.line("the user wants to", "task", task, "what the user asks your agent for")
            yield self.line(
                "done well if",
                "criteria",
                criteria,
                "how the judge tells; your agent never sees it",
            )
            yield self.line(
                "the user knows", "fact", fact, "what your agent should ask for; empty for nothing"
            )
            yield self.line(
                "else done well if",
                "withheld",
                withheld,
                "the judge's criterion then; empty for the same",
            )
            for number in range(2, MOST_TASKS + 1):
                yield self.line(
                    f"{number}. the user wants to",
                    f"task-{number}",
                    "",
                    "what else the user asks for",
                )
                yield self.line("   done well if", f"criteria-{number}", "", "how the judge tells")
            yield self.row("start from", FormChoice(_TITLES, "reminder", id="example"))
            yield self.row("it speaks", FormChoice(spoken, Answers().protocol, id="protocol"))
            yield self.line(
                "saved as", "path", home_relative(self._path), "a new file, ending in .yml"
            )
            yield Static(id="hint", markup=False)

    def action_another_task(self) -> None:
        """Ask for one more task."""
        if self._tasks < MOST_TASKS:
            self._tasks += 1
            self.tell()
            self.query_one(f"#task-{self._tasks}", Input).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The form has room for some tasks."""
        return action != "another_task" or self._tasks < MOST_TASKS

    @on(Input.Changed, "#task")
    def _own_task(self, event: Input.Changed) -> None:
        """Give up the example's criterion for an agent that is not told, which speaks of its
        task.
        """
        withheld = self.query_one("#withheld", Input)
        of_examples = {task: own for task, _, _, own in EXAMPLES.values()}
        if event.value not in of_examples and withheld.value in of_examples.values():
            withheld.value = ASKS_FIRST

    @on(Choice.Changed, "#example")
    def _fill_example(self) -> None:
        """Fill in an example."""
        fields = ("task", "criteria", "fact", "withheld")
        for name, text in zip(fields, EXAMPLES[self._chosen("example")], strict=True):
            self.query_one(f"#{name}", Input).value = text

    def _chosen(self, name: str) -> str:
        return self.query_one(f"#{name}", Choice).value

    @property
    def job(self) -> NewJob:
        """The form as filled in so far."""
        typed = {field.id or "": field.value.strip() for field in self.query(Input)}
        path = Path(typed["path"]).expanduser()
        answers = Answers(
            url=typed["url"],
            protocol=self._chosen("protocol"),
            task=typed["task"],
            criteria=typed["criteria"],
            fact=typed["fact"],
            withheld=typed["withheld"],
            further=tuple(
                (task, typed[f"criteria-{number}"])
                for number in range(2, MOST_TASKS + 1)
                if (task := typed[f"task-{number}"])
            ),
        )
        return NewJob(path, replace(answers, script=known_script(answers)))

    def hint(self, *, trying: bool) -> Cell:
        """Return what is wrong, or what comes next, and show as many tasks as were asked for or
        written.
        """
        for number in range(2, MOST_TASKS + 1):
            names = (f"task-{number}", f"criteria-{number}")
            if any(self.query_one(f"#{name}", Input).value for name in names):
                self._tasks = max(self._tasks, number)
            for name in names:
                self.query_one(f"#row-{name}").display = number <= self._tasks
        if wrong := _wrong(self.job):
            return Cell(wrong, "bad" if trying else "warn")
        answers = self.job.answers
        example = next(
            (one for one in EXAMPLES.values() if answers.fact and one[2] == answers.fact), None
        )
        if example is not None and example[0] != answers.task:
            return Cell(
                "what the user knows is still the example's: change that line, or empty it", "warn"
            )
        return Cell("enter writes the job, and asks how to run it", "quiet")

    def action_give(self) -> None:
        """Close with the job, unless one is wrong."""
        if _wrong(self.job):
            self.tell(trying=True)
            self.query_one("#hint").scroll_visible(animate=False)
        else:
            self.dismiss(self.job)


def _wrong(job: NewJob) -> str:
    """Return what is wrong with the answers; empty if nothing is."""
    answers = job.answers
    if hint := url_hint(answers.url):
        return f"address: {hint}"
    if not answers.task:
        return "say what the user wants, such as: learn whether two drugs interact"
    if not answers.criteria:
        return "say how to tell that it was done well; the judge needs it"
    if task := next((task for task, criteria in answers.further if not criteria), ""):
        return f"say how to tell that “{shorten(task, 40)}” was done well; the judge needs it"
    if job.path.suffix not in ENDINGS:
        return "the file's name ends in .yml"
    if job.path.exists():
        return f"{home_relative(job.path)} exists; give another name"
    if job.path.parent.is_dir():
        return ""
    return f"{home_relative(job.path.parent)} is not a folder"


MOST_REPEATS = 1000
MOST_CASES = 10_000

Played = Literal["job", "rehearsal"]


ALL = "all"
"""The choice of all conditions of a job."""


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
    def from_saved(
        cls, kept: Any, conditions: Mapping[Condition, str] = PUBLISHED_TITLES
    ) -> RunForm:
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
        return _number(self.repeats)

    def condition_names(self, job: JobItem) -> tuple[Condition, ...]:
        """Return the conditions of a run of a job with this form."""
        if self.conditions == ALL:
            return tuple(job.conditions)
        return (self.conditions,)

    @property
    def most_at_once(self) -> int | None:
        """The maximum number of concurrent conversations; None if empty or not a number."""
        return _number(self.concurrency)

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
            return f"trials: give a whole number from 1 to {MOST_REPEATS:,}"
        if self.concurrency.strip() and self.most_at_once is None:
            return f"conversations: give a whole number from 1 to {MOST_REPEATS:,}, or nothing"
        if self.sample.strip() and self.sample_size is None:
            return f"sample: give a whole number from 1 to {MOST_CASES:,}, or nothing"
        if self.played == "job" and len(_names(self.evaluator)) > 1:
            return "evaluator: give one model; the agent's models have their own field"
        return ""

    def size_words(self, job: JobItem) -> str:
        """Return the size of a run of this form: `2 models × 50 cases × 2 conditions × 3 trials:
        600 conversations`.
        """
        models, trials, cases = max(1, len(self.model_names)), self.trials, job.cases
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
        parts.append(plural(conditions, "condition"))
        if trials > 1:
            parts.append(plural(trials, "trial"))
        total = ""
        if not is_choice:
            total = f": {plural(models * max(1, cases) * conditions * trials, 'conversation')}"
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
            evaluator, judges = self.evaluator.strip() or None, self.judge_names
            request = replace(request, evaluator_model=evaluator, judge_model=judges)
        if job.cases:
            request = replace(request, cases=self.cases.strip() or None, sample=self.sample_size)
        if job.needs_code:
            folder = Path(self.code.strip()).expanduser().absolute()
            request = replace(request, code=(str(folder),))
        return request


def repeated(*runs: RunResult) -> tuple[Path, RunForm]:
    """Return the job file of one or more runs, and the form that runs it again with their models.

    There are as many trials as the first run's answer says would do. What came from the job is left
    to it: it may have been edited since.

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
        repeats=str(max(1, started.trials // max(1, len(run.state.cases)))),
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
    if before.sample_agent:
        form = replace(form, agent="sample")
    if started.model and started.model != _part_value(job, "target", "model"):
        form = replace(form, models=started.model)
    if before.evaluator_model and before.evaluator_model != _part_value(job, "evaluator", "model"):
        form = replace(form, evaluator=before.evaluator_model)
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


def _number(text: str, most: int = MOST_REPEATS) -> int | None:
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= most:
        return int(text)
    return None


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


SIGNS = {"works": Cell("✓", "good"), "absent": Cell("!", "warn"), "broken": Cell("✗", "bad")}
"""The sign of what testing the connections found."""
PAUSE_S = 0.2
"""How long nothing is typed before what would happen is prepared anew, in seconds."""
REMEMBERED = 50
"""Number of jobs whose last form is kept."""
MORE = {"no": "hidden: order, concurrency, spans", "yes": "shown: order, concurrency, spans"}


class RunDialog(FormDialog[RunForm]):
    """Asks how to run a job; questions that do not apply are hidden."""

    NAME: ClassVar[str] = "Run a job"
    ABOUT: ClassVar[str] = (
        "A run covers both conditions, without the facts and with them, or only one of them: that"
        " is a trial. Each model is a run of its own."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("run-a-job")
    ENTER = "~run-field"
    DEFAULT_CSS = """
    RunDialog {
        & #row-url, & #row-evaluator, & #row-judge { display: none; }
        &.-url #row-url { display: block; }
        &.-models #row-evaluator, &.-models #row-judge { display: block; }
        & #row-order, & #row-at_once, & #row-concurrency, & #row-spans { display: none; }
        &.-more #row-order, &.-more #row-at_once { display: block; }
        &.-more #row-concurrency, &.-more #row-spans { display: block; }
        &.-single #row-order { display: none; }
        & .dialog--body { overflow-y: auto; scrollbar-size-vertical: 1; }
        & #told { height: auto; color: $quiet; }
        & #resolved { margin-bottom: 1; }
        &.-narrow #resolved { margin-bottom: 0; }
        &.-narrow #hint { margin-top: 0; }
        & #answers { height: auto; max-height: 4; }
    }
    """

    def __init__(self, job: JobItem, form: RunForm, again: str = "") -> None:
        """`form` is how it is filled in at first; `again` is the run that it repeats, whose
        settings no draft replaces.
        """
        super().__init__(f"Run {job.name}")
        self._job = job
        self._begins_as = form
        self._again = again
        self._earlier: RunPreview | None = None
        """The newest measured run of the job, once it was read: what a conversation takes."""
        self._resolved_for: RunForm | None = None
        """The form of which it was last asked what would happen."""
        self._no_key: dict[tuple[str, str], str] = {}
        """Why a model cannot be asked, by the choices that decide which ones the run needs; only
        what was found out.
        """

    def compose_body(self) -> Iterable[Widget]:
        """One line per question."""
        form = self._begins_as
        with Vertical(classes="dialog--body"):
            yield Labelled(id="resolved")
            yield self.row("agent", FormChoice(self._agents, form.agent, id="agent"))
            yield self.line(
                "address", "url", form.url, "where the agent listens, with http:// or https://"
            )
            yield self.line(
                "agent's models",
                "models",
                form.models,
                "from the job; separate several with commas",
                ", ",
            )
            yield self._choice("evaluation", "played", form.played)
            yield self.line(
                "evaluator",
                "evaluator",
                form.evaluator,
                "model; default: from the job or the settings",
            )
            yield self.line(
                "judge",
                "judge",
                form.judge,
                "model; separate several with commas for a panel",
                ", ",
            )
            yield self.line("trials", "repeats", form.repeats, "1")
            yield self._choice("conditions", "conditions", form.conditions)
            if self._job.cases:
                yield self.line(
                    "cases", "cases", form.cases, "all; rows and ids such as 1-20,case_7", ","
                )
                yield self.line("sample", "sample", form.sample, "all; how many to draw at random")
            if self._job.needs_code:
                yield self.line("code", "code", form.code, "folder with the job's Python functions")
            yield self.row("more", Choice(MORE, "yes" if form.has_more else "no", id="more"))
            yield self._choice("order", "order", form.order)
            yield self._choice("both conditions", "at_once", form.at_once)
            yield self.line(
                "conversations",
                "concurrency",
                form.concurrency,
                "1; how many may run at the same time",
            )
            yield self._choice("spans", "spans", form.spans)
            yield Static(id="hint", markup=False)
            yield Static(id="told", markup=False)
            yield Static(id="answers", markup=False)

    @property
    def _agents(self) -> dict[str, str]:
        """The choices of the agent, the job's own with its address."""
        if not self._job.agent_url:
            return CHOICES["agent"]
        address = clean_line(self._job.agent_url, 60)
        return {**CHOICES["agent"], "job": f"{address}, from {clean_line(self._job.path.name, 40)}"}

    @property
    def draft_name(self) -> str:
        """Jobs in different folders may have the same name."""
        name = f"{self.NAME}: {home_relative(self._job.path)}"
        if self._again:
            return f"{name}, run {self._again} again"
        return name

    def _choice(self, label: str, name: str, value: str) -> Horizontal:
        return self.row(label, FormChoice(form_choices(self._job.conditions)[name], value, id=name))

    def _remember(self, form: dict[str, str]) -> None:
        preferences, path = self.bioeval.services.preferences, str(self._job.path)
        by_job = preferences.get("run.by_job")
        kept: dict[str, Any] = dict(by_job) if isinstance(by_job, Mapping) else {}
        kept.pop(path, None)
        kept[path] = form
        preferences.keep("run.by_job", dict(list(kept.items())[-REMEMBERED:]))
        # other jobs have other cases
        preferences.keep("run.last", {**form, "cases": "", "sample": ""})

    @property
    def form(self) -> RunForm:
        """The form as filled in so far."""
        choices = {choice.id: choice.value for choice in self.query(Choice) if choice.id != "more"}
        typed = {field.id: field.value for field in self.query(Input)}
        return RunForm(**cast("dict[str, Any]", {**choices, **typed}))

    def hint(self, *, trying: bool) -> Cell:
        """Return the size of the run or the form's problem, and show the questions that apply."""
        form = self.form
        self.set_class(form.agent == "url", "-url")
        self.set_class(form.played == "job", "-models")
        self.set_class(form.conditions != ALL, "-single")
        self.set_class(self.query_one("#more", Choice).value == "yes", "-more")
        if problem := form.problem(needs_code=self._job.needs_code):
            return Cell(problem, "bad" if trying else "warn")
        return Cell(form.size_words(self._job), "quiet")

    @property
    def _problem(self) -> str:
        return self.form.problem(needs_code=self._job.needs_code)

    def on_mount(self) -> None:
        """Read what a conversation of this job took."""
        self._read_earlier()

    @work(group="earlier")
    async def _read_earlier(self) -> None:
        """Read the newest completed run of this job with a score, for the estimate of this run's
        length and cost, and tell it.
        """
        services = self.bioeval.services
        try:
            # With a lambda, the list of runs is imported in the thread, too.
            runs = await services.in_thread(lambda: services.run_list.runs())
            # A run without a score broke off early: it tells nothing about the length of a
            # conversation.
            ended = (run for run in runs if run.job == self._job.name and run.status == "completed")
            last = next((run for run in ended if run.measured), None)
            if last is not None:
                self._earlier = await services.from_runs(preview, last.run_id)
        except (BioevalError, OSError):
            return  # only the estimate is missing
        self.tell()

    def tell(self, *, trying: bool = False) -> None:
        """Say what the run gives, takes and costs, too."""
        super().tell(trying=trying)
        form = self.form
        if form != self._resolved_for:
            wait_s = 0.0 if self._resolved_for is None else PAUSE_S
            self._resolved_for = form
            self._resolve(form, wait_s)
        lines = [Cell(estimate_words(form, self._earlier, self._job))]
        if (form.agent, form.played) not in self._no_key:
            self._find_key(form)
        elif why := self._no_key[form.agent, form.played]:
            lines.insert(0, Cell(f"! {why}", "warn"))
        self.query_one("#told", Static).update(paint_lines(line for line in lines if line.text))

    @work(group="resolve")
    async def _resolve(self, form: RunForm, wait_s: float) -> None:
        """Show what would happen, resolved; a form that was typed on meanwhile is not prepared."""
        if form.problem(needs_code=self._job.needs_code):
            self.query_one("#resolved", Labelled).show(())  # what stood there was of another form
            return
        await asyncio.sleep(wait_s)
        if form != self._resolved_for:
            return
        try:
            lines = await self.bioeval.services.will_happen(form.request(self._job))
        except (BioevalError, OSError):
            return  # the run will say what is wrong
        if form != self._resolved_for:
            return
        # none, if the dialog was closed meanwhile
        for shown in self.query("#resolved").results(Labelled):
            shown.show(resolved_lines([*lines, *_trials_line(form, self._job)]))
        for name, label in (("evaluator", "user"), ("judge", "judge")):
            model = next((line.model for line in lines if line.label == label), "")
            for field in self.query(f"#{name}").results(Input):
                if model and not field.value:
                    field.placeholder = model

    @work(group="key")
    async def _find_key(self, form: RunForm) -> None:
        """Find out whether the run's models have their keys."""
        if form.problem(needs_code=self._job.needs_code):
            return
        self._no_key[form.agent, form.played] = ""
        try:
            why = await self.bioeval.services.why_no_key(form.request(self._job))
        except (BioevalError, OSError):
            return  # the run will say what is wrong
        self._no_key[form.agent, form.played] = why
        self.tell()

    def action_test(self) -> None:
        """Ask the agent and the models once whether they answer."""
        if self._problem:
            self.tell(trying=True)
            return
        self._say_answers([Cell("◌ testing…", "busy")])
        self._test(self.form.request(self._job))

    @work(group="connections", exclusive=True)
    async def _test(self, request: RunRequest) -> None:
        try:
            findings = await self.bioeval.services.connections(request)
        except (BioevalError, OSError) as error:
            self._say_answers([Cell(f"✗ {error}", "bad")])
            return
        self._say_answers(
            [
                Cell(
                    f"{SIGNS[finding.state].text} {finding.part}: {finding.said}",
                    SIGNS[finding.state].tone,
                )
                for finding in findings
            ]
        )

    def _say_answers(self, lines: list[Cell]) -> None:
        self.query_one("#answers", Static).update(paint_lines(lines))

    def action_give(self) -> None:
        """Close with the form, unless something in it is wrong."""
        if self._problem:
            self.tell(trying=True)
            self.query_one("#hint").scroll_visible(animate=False)
            return
        form = self.form
        self._remember(form.to_dict())
        self.dismiss(form)


def resolved_lines(lines: Sequence[Resolved]) -> list[Line]:
    """Return a line for each part of a run, with where it was set below one another."""
    width = max((cell_len(line.what) for line in lines if line.source), default=0) + 2
    drawn = []
    for line in lines:
        what = fitted(line.what, width) if line.source else line.what
        label = Cell(padded(line.label, 11), "quiet")
        drawn.append([label, Cell(what), Cell(line.source, "quiet")])
    return drawn


def run_as_asked(program: Program, job: JobItem, form: RunForm | None) -> None:
    """Start a run of a job as its dialog was filled in; nothing if that was left."""
    if form is not None:
        program.open_run(partial(program.services.start_run, form.request(job)))


def _trials_line(form: RunForm, job: JobItem) -> list[Resolved]:
    """Return that there are too few trials to tell what the facts change, and how many would do;
    nothing if there are enough.
    """
    is_sure = form.agent == "sample" and form.played == "rehearsal"  # every trial is the same
    if (
        is_sure
        or job.cases
        or form.trials is None
        or form.trials >= FEWEST
        or form.conditions != ALL
    ):
        return []
    return [
        Resolved(
            "trials", f"{form.trials}: too few to tell what the facts change; {FEWEST} would do"
        )
    ]


def estimate_words(form: RunForm, earlier: RunPreview | None, job: JobItem) -> str:
    """Return the interval to expect from the form's trials and, from the job's newest measured run,
    their time and cost.
    """
    if form.trials is None or job.cases:
        return ""
    words = "the sample agent gives the same answers in every trial of a rehearsal"
    if form.agent != "sample" or form.played != "rehearsal":
        words = sentence(expected_interval(form.trials))
    if earlier is None or earlier.seconds is None:
        return words
    runs = max(1, len(form.model_names)) * len(form.condition_names(job))
    told = [
        f"{plural(one, 'trial')} {_time_and_cost(earlier, one * runs)}"
        for one in dict.fromkeys((form.trials, max(FEWEST_UNITS, form.trials)))
    ]
    return f"{words}\njudging by the last measured run: {', '.join(told)}"


def _time_and_cost(earlier: RunPreview, conversations: int) -> str:
    time = f"about {duration((earlier.seconds or 0.0) * conversations)}"
    if not earlier.dollars:
        return time
    return f"{time} and {dollars(earlier.dollars * conversations)}"
