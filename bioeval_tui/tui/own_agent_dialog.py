"""The form that makes a job for your own agent: its URL, what a user wants from it, and how to tell
that it was done well. The jobs screen opens it and writes the job.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui import plugins
from bioeval_tui.base.addresses import url_hint
from bioeval_tui.base.text import home_relative, shorten
from bioeval_tui.jobs.template import ASKS_FIRST, Answers, known_script
from bioeval_tui.tui.data.job_list import ENDINGS
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.dialogs import Choice, FormChoice, FormDialog

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

    def __init__(self, path: Path, url: str = Answers().url) -> None:
        """`path` is the file that is suggested, and `url` the address."""
        super().__init__()
        self._path = path
        self._url = url
        self._tasks = 1
        """How many tasks are asked for."""

    def compose_body(self) -> Iterable[Widget]:
        """One line a question, the address first."""
        spoken = {
            one.name: one.name for one in plugins.own_agent_protocols() if not one.is_function
        }
        with Vertical(classes="dialog--body"):
            yield self.line("address", "url", self._url, "where your agent listens")
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
