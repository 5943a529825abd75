"""Grade a list of submissions: in this process, in a pool of workers, or on a cluster; then their intervals
and explanations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.errors import InputError
from bioeval_tui.files import write_whole
from bioeval_tui.grade.batch.feeding import Backend, BatchItem, Result
from bioeval_tui.grade.batch.output import BatchOutput, BatchResult
from bioeval_tui.grade.batch.submissions import SubmissionList, read_submissions
from bioeval_tui.grade.explanation import Section
from bioeval_tui.grade.outcomes import NotGraded, NotGradedError, Outcome, outcome_to_dict, to_text
from bioeval_tui.grade.paths import why_not_followed
from bioeval_tui.grade.task_report import TaskReport, Uncertainty
from bioeval_tui.grade.tasks.registry import Registry, registry as DEFAULT_REGISTRY

if TYPE_CHECKING:
    from bioeval_tui.grade.grade import TaskGrading


def explanations(
    reports: Sequence[TaskReport],
    backend: Backend,
    *,
    by: str | None = None,
    show_answers: bool = False,
) -> Iterator[tuple[int, tuple[Section, ...]]]:
    """Yield the position of each valid report with its error views, in any order; see `explain.explain`.

    Without views, one section says why.
    """
    kind = "explain:" + json.dumps({"by": by, "show_answers": show_answers})
    items = [
        BatchItem(
            number,
            report.task_id,
            report.submission_path,
            kind,
            agent=report.extra.agent if report.extra else None,
        )
        for number, report in enumerate(reports)
        if report.valid_submission and report.submission_path
    ]
    for number, text in backend.stream(items) if items else ():
        answer = json.loads(text)
        if "explanation" in answer:
            yield number, tuple(Section.from_dict(section) for section in answer["explanation"])
        else:
            yield number, (Section("no error view", (), (), note=answer["not_graded"]["reason"]),)


def uncertainties(
    reports: Sequence[TaskReport], backend: Backend, *, call_code: bool = False
) -> Iterator[tuple[int, Uncertainty]]:
    """Yield the position of each valid report with its score's uncertainty, in any order.

    Args:
        reports: of submissions whose files are where the reports say.
        backend: a pool or a cluster.
        call_code: also call graders with code on resampled rows.
    """
    kind = "interval-code" if call_code else "interval"
    items = [
        BatchItem(number, report.task_id, report.submission_path, kind)
        for number, report in enumerate(reports)
        if report.valid_submission and report.submission_path
    ]
    for number, text in backend.stream(items) if items else ():
        answer = json.loads(text)
        if "uncertainty" in answer:
            yield number, Uncertainty.from_dict(answer["uncertainty"])
        else:
            yield number, Uncertainty(why_not=answer["not_graded"]["reason"])


def rewrite(
    result: BatchResult, change: Callable[[list[TaskReport]], Iterator[tuple[int, TaskReport]]]
) -> None:
    """Rewrite the reports of a finished batch with the results of `change`.

    An interruption during `change` leaves the reports unchanged.

    Raises:
        StorageError: the disk is full; each file is complete, either old or new.
    """
    whole: dict[str, Any] = json.loads(result.report_path.read_bytes())
    values = whole["task_reports"]
    changed = {
        number: report.to_dict() for number, report in change([TaskReport.from_dict(item) for item in values])
    }
    for number, value in changed.items():
        text = json.dumps(value, indent=2, ensure_ascii=False)
        write_whole(result.individual_dir / result.names[number], text + "\n", sync=False)
        values[number] = value
    lines = [f"  {json.dumps(key)}: {_rows(value)}" for key, value in whole.items()]
    write_whole(result.report_path, "{\n" + ",\n".join(lines) + "\n}\n")


def _rows(value: Any) -> str:
    """Return a value as JSON, a list with a line for each of its items."""
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    listed = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in value)
    return f"[\n    {listed}\n  ]" if listed else "[]"


@dataclass(slots=True)
class GradingProgress:
    """The progress of a batch. `resumed` of the `done` submissions were graded before."""

    total: int
    done: int = 0
    resumed: int = 0
    invalid: int = 0
    not_graded: int = 0


def grade_batch(
    submissions: Path | SubmissionList,
    output_dir: Path,
    backend: Backend,
    *,
    resume: bool = False,
    on_progress: Callable[[GradingProgress], None] = lambda progress: None,
) -> BatchResult:
    """Grade a submissions JSONL, or the list read from one, and write its reports to `output_dir`.

    Every finished report survives an interruption; `resume` continues from there.

    Raises:
        InputError: the list is wrong or the folder cannot be written.
        UsageError: `resume`, but the list has changed.
        NotMeasuredError: no grading worker can be started.
    """
    listed = read_submissions(submissions) if isinstance(submissions, Path) else submissions
    with BatchOutput(output_dir, listed, resume=resume) as output:
        done = output.finished
        progress = GradingProgress(len(listed.submissions), done, done)
        on_progress(progress)
        items = [
            BatchItem(item.number, item.task_id, item.path, agent=item.agent, follow=listed.follow)
            for item in output.remaining()
        ]
        for number, text in backend.stream(items) if items else ():
            kind = output.add(number, text)
            progress.done += 1
            progress.invalid += kind == "invalid"
            progress.not_graded += kind == "not_graded"
            on_progress(progress)
        return output.finish()


class InProcess:
    """Grades in this process, one submission after another, as the published program does."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._ready: dict[str, TaskGrading] = {}

    def stream(self, items: Sequence[BatchItem]) -> Iterator[Result]:
        """Grade in order; submissions that were not graded are tried again at the end."""
        again = []
        for item in items:
            outcome = self._grade(item)
            if isinstance(outcome, NotGraded) and not (outcome.final or outcome.elsewhere):
                again.append(item)
            else:
                yield item.number, to_text(outcome_to_dict(outcome))
        for item in again:
            self._ready.pop(item.task_id, None)
            outcome = self._grade(item)
            if isinstance(outcome, NotGraded):
                outcome = replace(outcome, attempts=2)
            yield item.number, to_text(outcome_to_dict(outcome))

    def _grade(self, item: BatchItem) -> Outcome:
        try:
            ready = self._ready.get(item.task_id)
            if ready is None:
                from bioeval_tui.grade.grade import TaskGrading  # pandas: in this process it is seldom used

                ready = TaskGrading(self._registry.get_task(item.task_id))
                self._ready[item.task_id] = ready
        except (InputError, NotGradedError) as error:
            return NotGraded(item.task_id, item.path or "", str(error), final=True, agent=item.agent)
        file = None if item.path is None else Path(item.path)
        refused = None
        if file is not None and item.follow is not None:
            refused = why_not_followed(file, item.follow)
        return ready.grade(file, item.path, handed_in=True, agent=item.agent, refused=refused)


def grade_jsonl(
    path_to_submissions: Path, output_dir: Path, registry: Registry = DEFAULT_REGISTRY
) -> tuple[Path, Path]:
    """Grade a submissions JSONL in this process; return the grading report and the folder of single reports.

    A submission that cannot be graded never ends the batch: it is listed under `not_graded`.

    Raises:
        InputError: the list is wrong or the folder cannot be written.
    """
    result = grade_batch(Path(path_to_submissions), Path(output_dir), InProcess(registry))
    return result.report_path, result.individual_dir
