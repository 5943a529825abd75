"""Asks how a job is to be run; remembers the answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, cast

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.tui.items import JobItem
from bioeval_tui.tui.screens.dialog import Dialog
from bioeval_tui.tui.tones import paint
from bioeval_tui.tui.view import jobs
from bioeval_tui.tui.view.cells import Cell
from bioeval_tui.tui.widgets.choice import Choice


class RunField(Input):
    """A line to type in; enter starts the run from here, too."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "start", tooltip="Start the run")]


class RunDialog(Dialog[jobs.Form]):
    """The result is the form, or None when it was closed."""

    NAME: ClassVar[str] = "Run a job"
    ABOUT: ClassVar[str] = (
        "Every run holds both conditions: facts withheld and facts supplied. "
        "Repeats hold both again; each model is a run of its own."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "start", "start", tooltip="Start the run"),
        Binding("down", "next(1)", "next", key_display="↑ ↓", tooltip="The next question"),
        Binding("up", "next(-1)", "question before", show=False, tooltip="The question before"),
    ]
    DEFAULT_CSS = """
    RunDialog {
        & .dialog--body { height: auto; }
        & .run--row { height: 1; }
        & .run--row > .run--label { width: 16; color: $quiet; }
        & .run--row > Input { width: 1fr; height: 1; border: none; padding: 0 1; background: $surface-lighten-1; }
        & .run--row > Input:focus { background: $block-cursor-blurred-background; }
        & #row-url, & #row-evaluator, & #row-judge { display: none; }
        &.-url #row-url { display: block; }
        &.-models #row-evaluator, &.-models #row-judge { display: block; }
        & #told { height: auto; margin-top: 1; }
        &.-narrow #told { margin-top: 0; }
        &.-wide .run--row { margin-bottom: 1; }
    }
    """

    def __init__(self, job: JobItem, form: jobs.Form) -> None:
        super().__init__()
        self._job = job
        self._form = form

    @property
    def heading(self) -> str:
        """The job."""
        return f"Run {self._job.name}"

    def compose_body(self) -> Iterable[Widget]:
        """One line a question."""
        form = self._form
        with Vertical(classes="dialog--body"):
            yield self._choice("agent", "agent", form.agent)
            yield self._line("address", "url", form.url, "http://127.0.0.1:8081")
            yield self._line("agent's models", "models", form.models, "the job's own; several, with commas")
            yield self._choice("evaluation", "played", form.played)
            yield self._line(
                "evaluator", "evaluator", form.evaluator, "model; the job's or the setting's own"
            )
            yield self._line("judge", "judge", form.judge, "model; several are a panel, with commas")
            yield self._line("repeats", "repeats", form.repeats, "1")
            yield self._line("at once", "concurrency", form.concurrency, "1; so many conversations at most")
            yield self._choice("order", "order", form.order)
            yield self._choice("conditions", "at_once", form.at_once)
            yield Static(id="told", markup=False)

    def _choice(self, label: str, name: str, value: str) -> Horizontal:
        return self._row(label, name, Choice(jobs.CHOICES[name], value, id=name))

    def _line(self, label: str, name: str, value: str, hint: str) -> Horizontal:
        return self._row(label, name, RunField(value, placeholder=hint, id=name, compact=True))

    def _row(self, label: str, name: str, field: Widget) -> Horizontal:
        words = Static(label, classes="run--label", markup=False)
        return Horizontal(words, field, classes="run--row", id=f"row-{name}")

    def on_mount(self) -> None:
        """Begin at the first question."""
        self._tell()
        self.query_one("#agent").focus()

    @property
    def form(self) -> jobs.Form:
        """The form as it stands."""
        choices = {choice.id: choice.value for choice in self.query(Choice)}
        typed = {field.id: field.value for field in self.query(Input)}
        return jobs.Form(**cast("dict[str, Any]", {**choices, **typed}))

    @on(Choice.Changed)
    @on(Input.Changed)
    def _changed(self) -> None:
        self._tell()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        # Not a binding with priority: that would overtake letters still on their way to the line.
        event.stop()
        self.action_start()

    def _tell(self, *, trying: bool = False) -> None:
        form = self.form
        self.set_class(form.agent == "url", "-url")
        self.set_class(form.played == "job", "-models")
        problem = jobs.wrong(form)
        quiet = Cell(jobs.size_words(form), "quiet")
        told = Cell(problem, "bad" if trying else "warn") if problem else quiet
        self.query_one("#told", Static).update(Content("\n").join([paint(told)]))

    def action_next(self, by: int) -> None:
        """Go to another question."""
        # Textual skips what is hidden: the address, and models that a rehearsal does not ask.
        if by > 0:
            self.focus_next("Choice, Input")
        else:
            self.focus_previous("Choice, Input")

    def action_start(self) -> None:
        """Close with the form, unless something in it is wrong."""
        if jobs.wrong(self.form):
            self._tell(trying=True)
        else:
            self.dismiss(self.form)
