"""The dialog for running a job; it remembers the answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.errors import BioevalError
from bioeval_tui.report.plans import expected_interval
from bioeval_tui.report.sentences import sentence
from bioeval_tui.text import plural
from bioeval_tui.tui.items import JobItem
from bioeval_tui.tui.jobs import jobs_view
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs.runs_view import preview
from bioeval_tui.tui.shared.cells import Cell, paint
from bioeval_tui.tui.shared.dialogs import Choice, FormChoice, FormDialog, FormField
from bioeval_tui.uncertainty import FEWEST_UNITS
from bioeval_tui.units import dollars, duration

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.spec import RunRequest
    from bioeval_tui.report.previews import RunPreview


SIGNS = {"works": Cell("✓", "good"), "absent": Cell("!", "warn"), "broken": Cell("✗", "bad")}
"""The sign of what testing the connections found."""
MORE = {"no": "hidden: order, concurrency, spans", "yes": "shown: order, concurrency, spans"}


class RunField(FormField):
    """An input line; enter starts the run."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~run-field")


class RunDialog(FormDialog[jobs_view.RunForm]):
    """Asks how to run a job; questions that do not apply are hidden."""

    NAME: ClassVar[str] = "Run a job"
    ABOUT: ClassVar[str] = (
        "A run covers both conditions, facts withheld and facts supplied, or only one of them. Each repeat "
        "adds a trial; each model is a run of its own."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("run-a-job")
    DEFAULT_CSS = """
    RunDialog {
        & #row-url, & #row-evaluator, & #row-judge { display: none; }
        &.-url #row-url { display: block; }
        &.-models #row-evaluator, &.-models #row-judge { display: block; }
        & #row-order, & #row-at_once, & #row-concurrency, & #row-spans { display: none; }
        &.-more #row-order, &.-more #row-at_once, &.-more #row-concurrency, &.-more #row-spans { display: block; }
        &.-single #row-order { display: none; }
        & #told { height: auto; color: $quiet; }
        &.-narrow #hint { margin-top: 0; }
        & #answers { height: auto; max-height: 4; }
    }
    """

    def __init__(self, job: JobItem, form: jobs_view.RunForm) -> None:
        super().__init__()
        self._job = job
        self._form = form
        self._earlier: RunPreview | None = None
        """The newest measured run of the job, once it was read: what a conversation takes."""
        self._no_key: dict[tuple[str, str], str] = {}
        """Why a model cannot be asked, by the choices that decide which ones the run needs; only what was found out."""

    @property
    def heading(self) -> str:
        """The job."""
        return f"Run {self._job.name}"

    def compose_body(self) -> Iterable[Widget]:
        """One line per question."""
        form = self._form
        with Vertical(classes="dialog--body"):
            yield self._choice("agent", "agent", form.agent)
            yield self._line("address", "url", form.url, "where the agent listens, with http:// or https://")
            yield self._line(
                "agent's models", "models", form.models, "from the job; separate several with commas"
            )
            yield self._choice("evaluation", "played", form.played)
            yield self._line(
                "evaluator", "evaluator", form.evaluator, "model; default: from the job or the settings"
            )
            yield self._line("judge", "judge", form.judge, "model; separate several with commas for a panel")
            yield self._line("repeats", "repeats", form.repeats, "1")
            yield self._choice("conditions", "conditions", form.conditions)
            if self._job.cases:
                yield self._line("cases", "cases", form.cases, "all; rows and ids such as 1-20,case_7")
                yield self._line("sample", "sample", form.sample, "all; how many to draw at random")
            if self._job.needs_code:
                yield self._line("code", "code", form.code, "folder with the job's Python functions")
            yield self.row("more", Choice(MORE, "yes" if form.has_more else "no", id="more"))
            yield self._choice("order", "order", form.order)
            yield self._choice("both conditions", "at_once", form.at_once)
            yield self._line(
                "conversations", "concurrency", form.concurrency, "1; how many may run at the same time"
            )
            yield self._choice("spans", "spans", form.spans)
            yield Static(id="hint", markup=False)
            yield Static(id="told", markup=False)
            yield Static(id="answers", markup=False)

    def _choice(self, label: str, name: str, value: str) -> Horizontal:
        return self.row(label, FormChoice(jobs_view.CHOICES[name], value, id=name))

    def _line(self, label: str, name: str, value: str, hint: str) -> Horizontal:
        return self.row(label, RunField(value, placeholder=hint, id=name, compact=True))

    @property
    def form(self) -> jobs_view.RunForm:
        """The form as filled in so far."""
        choices = {choice.id: choice.value for choice in self.query(Choice) if choice.id != "more"}
        typed = {field.id: field.value for field in self.query(Input)}
        return jobs_view.RunForm(**cast("dict[str, Any]", {**choices, **typed}))

    def hint(self, *, trying: bool) -> Cell:
        """Return the size of the run or the form's problem, and show the questions that apply."""
        form = self.form
        self.set_class(form.agent == "url", "-url")
        self.set_class(form.played == "job", "-models")
        self.set_class(form.conditions != "both", "-single")
        self.set_class(self.query_one("#more", Choice).value == "yes", "-more")
        problem = jobs_view.wrong(form, needs_code=self._job.needs_code)
        return (
            Cell(problem, "bad" if trying else "warn")
            if problem
            else Cell(jobs_view.size_words(form, self._job.cases), "quiet")
        )

    def on_mount(self) -> None:
        """Read what a conversation of this job took."""
        self._read_earlier()

    @work(group="earlier")
    async def _read_earlier(self) -> None:
        services = self.bioeval.services
        try:
            runs = await services.runs()
            # A run without a score broke off early: it tells nothing about the length of a conversation.
            ended = (run for run in runs if run.job == self._job.name and run.status == "completed")
            last = next((run for run in ended if run.measured), None)
            self._earlier = await services.from_runs(preview, last.run_id) if last is not None else None
        except (BioevalError, OSError):
            return  # only the estimate is missing
        self.tell()

    def tell(self, *, trying: bool = False) -> None:
        """Say what the run gives, takes and costs, too."""
        super().tell(trying=trying)
        form = self.form
        lines = [Cell(estimate_words(form, self._earlier, self._job.cases))]
        if (form.agent, form.played) not in self._no_key:
            self._find_key(form)
        elif why := self._no_key[form.agent, form.played]:
            lines.insert(0, Cell(f"! {why}", "warn"))
        self.query_one("#told", Static).update(
            Content("\n").join([paint(line) for line in lines if line.text])
        )

    @work(group="key")
    async def _find_key(self, form: jobs_view.RunForm) -> None:
        """Find out whether the run's models have their keys."""
        if jobs_view.wrong(form, needs_code=self._job.needs_code):
            return
        self._no_key[form.agent, form.played] = ""
        try:
            found = await self.bioeval.services.why_no_key(jobs_view.request(self._job, form))
        except (BioevalError, OSError):
            return  # the run will say what is wrong
        self._no_key[form.agent, form.played] = found
        self.tell()

    def action_test(self) -> None:
        """Ask the agent and the models once whether they answer."""
        if jobs_view.wrong(self.form, needs_code=self._job.needs_code):
            self.tell(trying=True)
            return
        self._say_answers([Cell("◌ testing…", "busy")])
        request = jobs_view.request(self._job, self.form)
        self._test(request)

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
        self.query_one("#answers", Static).update(Content("\n").join([paint(line) for line in lines]))

    def action_give(self) -> None:
        """Close with the form, unless something in it is wrong."""
        if jobs_view.wrong(self.form, needs_code=self._job.needs_code):
            self.tell(trying=True)
        else:
            self.dismiss(self.form)


def estimate_words(form: jobs_view.RunForm, earlier: RunPreview | None, cases: int = 0) -> str:
    """Return the interval to expect from the form's repeats and, from the job's newest measured run, their time and cost."""
    if form.trials is None or cases:
        return ""
    alike = form.agent == "sample" and form.played == "rehearsal"
    words = (
        "the sample agent gives the same answers in every trial of a rehearsal"
        if alike
        else sentence(expected_interval(form.trials))
    )
    if earlier is None or earlier.seconds is None:
        return words
    runs = max(1, len(form.model_names)) * len(form.held)
    told = [
        f"{plural(one, 'trial')} {_took(earlier, one * runs)}"
        for one in dict.fromkeys((form.trials, max(FEWEST_UNITS, form.trials)))
    ]
    return f"{words}\njudging by the last measured run: {', '.join(told)}"


def _took(earlier: RunPreview, conversations: int) -> str:
    cost = "" if not earlier.dollars else f" and {dollars(earlier.dollars * conversations)}"
    return f"about {duration((earlier.seconds or 0.0) * conversations)}{cost}"
