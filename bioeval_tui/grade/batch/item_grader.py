"""A worker's tasks: grade a file, examine it, or check its task.

`worker_protocol` defines the answers.

Only workers import this module: it brings the libraries that graders use.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pyarrow.csv

from bioeval_tui.base.errors import InputError, NotMeasuredError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.batch.worker_launch import WORKER_PYTHON
from bioeval_tui.grade.batch.worker_protocol import Wire
from bioeval_tui.grade.biomlbench import install
from bioeval_tui.grade.explaining.explain import explain, scores_so_far
from bioeval_tui.grade.explaining.sections import Section
from bioeval_tui.grade.grade import NOTHING_HANDED_IN, TaskGrading, explained, failure
from bioeval_tui.grade.intervals import measure_uncertainty
from bioeval_tui.grade.ledger import NAME, Ledger, file_hash
from bioeval_tui.grade.outcome_json import outcome_to_dict, problem_to_dict
from bioeval_tui.grade.outcomes import NotGraded, NotGradedError, Outcome
from bioeval_tui.grade.score_numbers import score_that_reaches
from bioeval_tui.grade.submissions import agent_in
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.tasks.registry import Registry
from bioeval_tui.grade.tasks.task_code import MissingPackageError
from bioeval_tui.grade.uncertainty import Uncertainty

INTERVALS = ("interval", "interval-code")
"""Kinds of items that ask for a score's uncertainty; the second may call a grader with code."""


LIBRARIES = ("anndata", "h5py", "polaris", "scipy.sparse", "scipy.stats", "sklearn.metrics")
"""Slow to import, so the template loads them once if a task names them.

Importing them starts no thread.
"""


class ItemGrader:
    """Grades in one process; keeps the last task loaded."""

    def __init__(self, setup: dict[str, Any]) -> None:
        roots = [Path(item) for item in setup["tasks_dirs"]]
        self.registry = Registry(roots, Path(setup["data_dir"]), setup["leaderboard"])
        self._ledger = Ledger(Path(setup["own_folder"]) / NAME)
        self._ready: tuple[str, TaskGrading] | None = None
        self._pandas_of_program: str | None = setup.get("pandas")
        self._time_limit_s: float | None = setup.get("time_limit_s")
        install(self.registry.tasks_dirs, self.registry)
        pyarrow.set_cpu_count(1)
        pyarrow.set_io_thread_count(1)
        # What libraries load on first use is not to count as the grader's memory, and every worker
        # would load it.
        pandas.read_csv(io.BytesIO(b"a\n0.5\n")).merge(pandas.DataFrame({"a": [0.0]}), on="a")
        pyarrow.table({"a": [0.5]}).to_pandas(use_threads=False)

    def get_ready(self, task_id: str) -> None:
        """Load what every worker would load again: configs, the ledger, libraries.

        None of the task's code runs.
        """
        with contextlib.suppress(Exception):  # the worker reports it
            folder = self.registry.get_task(task_id).folder
            self._ledger.history("", None)
            text = (folder / "config.yaml").read_text("utf-8")
            text += "".join(
                file.read_text("utf-8") for file in folder.glob("*.py") if file.stem != "prepare"
            )
            for name in LIBRARIES:
                if name in text or (name == "h5py" and "h5ad" in text):
                    with contextlib.suppress(Exception):  # the next one may be there
                        module = importlib.import_module(name)
                        if name == "sklearn.metrics":
                            module.mean_absolute_error([0.0], [0.0])  # loads 20 more modules

    def grade(self, item: Wire) -> Outcome:
        """Grade one file; anything that the grader does, except ending the process, becomes an
        outcome.
        """
        shown = item.shown or ""
        try:
            ready = self._task(item.task_id)
            file = None if item.absolute is None else Path(item.absolute)
            outcome = ready.grade(
                file, item.shown, handed_in=True, agent=item.agent, refused=item.refused
            )
            # Validating shows no score.
            if item.kind == "grade" and isinstance(outcome, TaskReport):
                return self._counted(ready, file, outcome)
            return outcome
        except (InputError, NotGradedError) as error:
            return NotGraded(item.task_id, shown, str(error), final=True, agent=item.agent)
        except SystemExit as error:
            reason = f"the grader ended the program (sys.exit with {error.code!r:.60})"
        except MemoryError:
            reason = "out of memory while grading"
        except BaseException as error:
            # a grader may raise anything; only this submission is not graded
            reason = failure(error, item.task_id)
        return NotGraded(item.task_id, shown, reason, agent=item.agent)

    def _counted(self, ready: TaskGrading, file: Path | None, report: TaskReport) -> TaskReport:
        """Add a scored file to the ledger, and to its report how many there are."""
        assert file is not None
        assert report.extra is not None
        assert report.score is not None
        try:
            agent = report.extra.agent
            looks = self._ledger.look(
                ready.task.id, file_hash(file), ready.answers_hash, agent, float(report.score)
            )
        except OSError as error:
            reason = f"this look at the answers is not in the ledger: {clean_line(str(error), 200)}"
            return replace(
                report, extra=replace(report.extra, warnings=(*report.extra.warnings, reason))
            )
        return replace(
            report, extra=replace(report.extra, looks=looks.all, agent_looks=looks.of_agent)
        )

    def answer(self, item: Wire) -> dict[str, Any]:
        """Return the answer for one item: its outcome, and the additions for its kind."""
        if item.kind == "check":
            return {"check": self._check(item.task_id)}
        if item.kind.startswith("explain:"):
            sections = self._explanation(item, json.loads(item.kind.partition(":")[2]))
            return {"explanation": [section.to_dict() for section in sections]}
        if item.kind in INTERVALS:
            return {"uncertainty": self._uncertainty(item).to_dict()}
        if item.kind == "diagnose":
            return outcome_to_dict(self._diagnose(item))
        outcome = self.grade(item)
        answer = outcome_to_dict(outcome)
        if item.kind == "examine" and item.absolute is not None:
            with contextlib.suppress(Exception):
                ready = self._task(item.task_id)
                findings = ready.examine(Path(item.absolute))
                if isinstance(outcome, TaskReport):
                    findings += ready.file_warnings(outcome)
                answer = {"findings": [problem_to_dict(each) for each in findings], **answer}
        return answer

    def _explanation(self, item: Wire, options: dict[str, Any]) -> list[Section]:
        try:
            if item.absolute is None:
                return [Section("no error view", (), (), note=NOTHING_HANDED_IN)]
            ready, file = self._task(item.task_id), Path(item.absolute)
            agent = item.agent or agent_in(item.shown or "")
            if options["show_answers"]:
                self._ledger.note_shown(ready.task.id, ready.answers_hash, file_hash(file), agent)
            sections = explain(ready, file, by=options["by"], show_answers=options["show_answers"])
            scores = self._ledger.history(ready.answers_hash, agent)
        except BaseException as error:  # as in `grade`
            return [Section("no error view", (), (), note=failure(error, item.task_id))]
        marks, lower = ready.board.rank(None), ready.board.is_lower_better
        medals = [
            ("gold", score_that_reaches(marks.gold_threshold, lower)),
            ("silver", score_that_reaches(marks.silver_threshold, lower)),
            ("bronze", score_that_reaches(marks.bronze_threshold, lower)),
        ]
        if len(scores) > 1:
            sections.append(scores_so_far(scores, lower, medals, agent))
        return sections

    def _uncertainty(self, item: Wire) -> Uncertainty:
        try:
            if item.absolute is None:
                return Uncertainty(why_not=NOTHING_HANDED_IN)
            ready, call_code = self._task(item.task_id), item.kind == "interval-code"
            return measure_uncertainty(ready, Path(item.absolute), call_code=call_code)
        except BaseException as error:  # as in `grade`
            return Uncertainty(why_not=failure(error, item.task_id))

    def _diagnose(self, item: Wire) -> Outcome:
        reason = "the doctor found nothing wrong with the file"
        try:
            if item.absolute is not None:
                ready = self._task(item.task_id)
                return ready.diagnose(Path(item.absolute), item.shown or "", item.agent, reason)
        except Exception as error:  # readers of untrusted files may raise anything
            reason = str(error)
        return NotGraded(item.task_id, item.shown or "", reason, agent=item.agent)

    def _check(self, task_id: str) -> dict[str, Any]:
        """Load the grader and, where the task is prepared, grade the sample submission or else the
        answers.
        """
        checked: dict[str, Any] = {
            "problem": None,
            "warnings": [],
            "scored": None,
            "elsewhere": False,
        }
        try:
            task = self.registry.get_task(task_id)
            _ = task.grader.grade_fn
            checked["warnings"] = list(task.warnings)
            if unready := task.why_not_prepared():
                if task.answers.is_file():  # without answers, nobody has begun to prepare it
                    checked["warnings"].append(unready)
                return checked
            ready = self._task(task_id)
            proof = ready.proof
            if ready.undefined is not None:
                raise NotMeasuredError(ready.undefined)
            if proof.scored is None and proof.failed is not None:
                raise proof.failed
            if proof.scored is None and proof.refused:
                checked["warnings"].append(proof.refused)
            checked["scored"] = proof.scored
        except BaseException as error:
            # code of a task may raise anything, which is what is asked about
            explanation = explained(error, task_id)
            checked["problem"] = failure(explanation, task_id)
            checked["elsewhere"] = isinstance(explanation, MissingPackageError)
        return checked

    def _task(self, task_id: str) -> TaskGrading:
        if self._ready is not None and self._ready[0] == task_id:
            return self._ready[1]
        ready = TaskGrading(self.registry.get_task(task_id))
        ready.time_limit_s = self._time_limit_s
        if self._pandas_of_program is not None:
            self._note_other_python(ready)
        self._ready = task_id, ready
        return ready

    def _note_other_python(self, ready: TaskGrading) -> None:
        ready.environment += f" of {WORKER_PYTHON}"
        if pandas.__version__ != self._pandas_of_program:
            ready.warnings.append(
                f"graded with pandas {pandas.__version__} ({WORKER_PYTHON}), while this program has"
                f" {self._pandas_of_program}: text and missing values may be read differently"
            )
