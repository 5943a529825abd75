"""The dialog that asks how to run a job, and says meanwhile what would happen: who takes part, and
what the run would take and cost.

The jobs screen and the screens of runs open it, and carry out the answer with `run_as_asked`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.cells import cell_len
from textual import work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import clean_line, home_relative, plural
from bioeval_tui.base.units import dollars, duration
from bioeval_tui.base.widths import fitted, padded
from bioeval_tui.evaluation.engine.interface import Resolved, RunRequest
from bioeval_tui.report.plans import expected_interval
from bioeval_tui.report.sentences import sentence
from bioeval_tui.statistics.intervals import FEWEST, FEWEST_UNITS
from bioeval_tui.tui.job_items import JobItem
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.run_form import ALL, CHOICES, RunForm, form_choices
from bioeval_tui.tui.runs.runs_view import preview
from bioeval_tui.tui.shared.cells import Cell, Line, paint_lines
from bioeval_tui.tui.shared.dialogs import Choice, FormChoice, FormDialog
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.tui.runs.runs_view import RunPreview
    from bioeval_tui.tui.shared.program import Program

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


def run_as_asked(program: Program, job: JobItem, form: RunForm | None) -> None:
    """Start a run of a job as its dialog was filled in; nothing if that was left."""
    if form is not None:
        program.open_run(partial(program.services.start_run, form.request(job)))


def resolved_lines(lines: Sequence[Resolved]) -> list[Line]:
    """Return a line for each part of a run, with where it was set below one another."""
    width = max((cell_len(line.what) for line in lines if line.source), default=0) + 2
    drawn = []
    for line in lines:
        what = fitted(line.what, width) if line.source else line.what
        label = Cell(padded(line.label, 11), "quiet")
        drawn.append([label, Cell(what), Cell(line.source, "quiet")])
    return drawn


def _trials_line(form: RunForm, job: JobItem) -> list[Resolved]:
    """Return that there are too few trials to tell what the facts change, and how many are needed;
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
            "trials",
            f"{form.trials}: too few to tell what the facts change; at least {FEWEST} are needed",
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
