"""The form that makes a job for your own agent: its address, what a user wants from it, and what the user knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

from textual import on
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui import plugins
from bioeval_tui.evaluation.job.template import Answers, script_for
from bioeval_tui.text import home_relative
from bioeval_tui.tui.data.job_list import ENDINGS
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.dialogs import Choice, FormChoice, FormDialog

EXAMPLES: dict[str, tuple[str, str, str]] = {
    "reminder": (Answers().task, Answers().criteria, Answers().fact),
    "drug": (
        "Learn whether ibuprofen is safe with their other medicines",
        "Asks which medicines the user takes, and names the risk of bleeding with warfarin",
        "The user takes warfarin",
    ),
    "variant": (
        "Learn how a variant in BRCA1 is classified",
        "Asks which variant it is, and names its classification with a source",
        "The variant is c.68_69del",
    ),
    "own": ("", "", ""),
}
"""Examples to start from: what the user wants, how to tell that it was done well, what the user knows."""
_TITLES = {
    "reminder": "example: a medication reminder",
    "drug": "example: a drug interaction",
    "variant": "example: a gene variant",
    "own": "your own",
}


class NewJob(NamedTuple):
    """A job to write."""

    path: Path
    answers: Answers


class OwnAgentDialog(FormDialog[NewJob]):
    """Asks for an address and three sentences; the result is the job to write."""

    NAME: ClassVar[str] = "Evaluate your own agent"
    HEADING: ClassVar[str] = "Evaluate your own agent"
    ABOUT: ClassVar[str] = (
        "A simulated user asks your agent for something, twice: first it does not know a fact that matters, then "
        "it tells the fact when asked. This writes a job file that you can extend."
    )
    LABEL_WIDTH = 20
    ENTER = "~job-field"
    BINDINGS: ClassVar[list[BindingType]] = bindings("own-agent")

    def __init__(self, path: Path) -> None:
        """`path` is the file that is suggested."""
        super().__init__()
        self._path = path

    def compose_body(self) -> Iterable[Widget]:
        """One line a question, the address first."""
        spoken = {one.name: one.name for one in plugins.own_agent_protocols() if not one.is_function}
        with Vertical(classes="dialog--body"):
            yield self.line("address", "url", Answers().url, "where your agent listens")
            task, criteria, fact = EXAMPLES["reminder"]
            yield self.line("the user wants to", "task", task, "what the user asks your agent for")
            yield self.line(
                "done well if", "criteria", criteria, "how the judge tells; your agent never sees it"
            )
            yield self.line(
                "the user knows", "fact", fact, "what your agent should ask for; empty for nothing"
            )
            yield self.row("start from", FormChoice(_TITLES, "reminder", id="example"))
            yield self.row("it speaks", FormChoice(spoken, Answers().protocol, id="protocol"))
            yield self.line("saved as", "path", home_relative(self._path), "a new file, ending in .yml")
            yield Static(id="hint", markup=False)

    @on(Choice.Changed, "#example")
    def _start_from(self) -> None:
        """Fill in an example."""
        for name, text in zip(("task", "criteria", "fact"), EXAMPLES[self._chosen("example")], strict=True):
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
        )
        return NewJob(path, replace(answers, script=script_for(answers)))

    def hint(self, *, trying: bool) -> Cell:
        """Return what is wrong, or what comes next."""
        if wrong := _wrong(self.job):
            return Cell(wrong, "bad" if trying else "warn")
        return Cell("enter writes the job, and asks how to run it", "quiet")

    def action_give(self) -> None:
        """Close with the job, unless one is wrong."""
        if _wrong(self.job):
            self.tell(trying=True)
        else:
            self.dismiss(self.job)


def _wrong(job: NewJob) -> str:
    """Return what is wrong with the answers; empty if nothing is."""
    answers, parts = job.answers, urlsplit(job.answers.url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return "the address needs http:// or https://, such as http://127.0.0.1:8081"
    if not answers.task:
        return "say what the user wants, such as: learn whether two drugs interact"
    if not answers.criteria:
        return "say how to tell that it was done well; the judge needs it"
    if job.path.suffix not in ENDINGS:
        return "the file's name ends in .yml"
    if job.path.exists():
        return f"{home_relative(job.path)} exists; give another name"
    return "" if job.path.parent.is_dir() else f"{home_relative(job.path.parent)} is not a folder"
