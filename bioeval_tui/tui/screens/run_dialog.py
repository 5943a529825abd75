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
        & .run--row > .run--label { width: 14; color: $quiet; }
        & .run--row > Input { width: 1fr; height: 1; border: none; padding: 0 1; background: $surface-lighten-1; }
        & .run--row > Input:focus { background: $surface-lighten-2; }
        & #row-url { display: none; }
        &.-url #row-url { display: block; }
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
            yield self._row("agent", Choice(jobs.CHOICES["agent"], form.agent, id="agent"))
            address = RunField(form.url, placeholder="http://127.0.0.1:8081", id="url", compact=True)
            yield self._row("address", address, id="row-url")
            yield self._row("evaluation", Choice(jobs.CHOICES["played"], form.played, id="played"))
            models = RunField(
                form.models, placeholder="the job's own; several, with commas", id="models", compact=True
            )
            yield self._row("models", models)
            repeats = RunField(form.repeats, placeholder="1", id="repeats", compact=True)
            yield self._row("repeats", repeats)
            yield self._row("order", Choice(jobs.CHOICES["order"], form.order, id="order"))
            yield self._row("conditions", Choice(jobs.CHOICES["at_once"], form.at_once, id="at_once"))
            yield Static(id="told", markup=False)

    def _row(self, label: str, field: Widget, *, id: str | None = None) -> Horizontal:
        name = Static(label, classes="run--label", markup=False)
        return Horizontal(name, field, classes="run--row", id=id)

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
        problem = jobs.wrong(form)
        quiet = Cell(jobs.size_words(form), "quiet")
        told = Cell(problem, "bad" if trying else "warn") if problem else quiet
        self.query_one("#told", Static).update(Content("\n").join([paint(told)]))

    def action_next(self, by: int) -> None:
        """Go to another question."""
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
