"""Criteria in other words that mean the same, for `judge-test`: a judge's verdicts should not
depend on which it reads.

The words are those of another job file (`given_words`), or the judge's own (`LLMJudge.reword`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import plural
from bioeval_tui.jobs.models import EvaluationJob, JobTask, RubricItem
from bioeval_tui.peers.seams import JudgeView
from bioeval_tui.record.conditions import ConditionConfig

Words = Mapping[str, str]
"""Other words by a criterion's own."""


def criteria_texts(view: JudgeView) -> list[str]:
    """Return the criteria that a judge is shown of a conversation: those of each task, the task
    itself where it has none, or each item of the rubric.
    """
    return list(_shown(view).values())


def given_words(job: EvaluationJob, given: EvaluationJob) -> Words:
    """Return the criteria that a given job says in other words than `job`, number by number.

    Raises:
        UsageError: the jobs have not as many tasks, or items of their rubrics.
    """
    count = len(job.judged)
    if len(given.judged) != count or bool(given.rubric) != bool(job.rubric):
        raise UsageError(
            f"the job with other words must have the same {plural(count, 'task')}, or items of the"
            f" rubric, as the run; it has {len(given.judged)}"
        )
    words: dict[str, str] = {}
    for own, other in zip(job.judged, given.judged, strict=True):
        for mine, theirs in zip(_texts(own), _texts(other), strict=True):
            if mine and theirs and mine != theirs:
                words[mine] = theirs
    return words


def say_otherwise(view: JudgeView, words: Words) -> JudgeView:
    """Return a view whose criteria are said in these words, as far as there are any."""
    job = view.job
    terms = job.condition(view.condition)
    tasks = tuple(_task_otherwise(task, terms, words) for task in job.tasks)
    rubric = tuple(
        item.model_copy(update={"criterion": words.get(item.criterion, item.criterion)})
        if isinstance(item, RubricItem)
        else item
        for item in job.rubric
    )
    return replace(view, job=job.model_copy(update={"tasks": tasks, "rubric": rubric}))


def said_otherwise(view: JudgeView, words: Words) -> frozenset[int]:
    """Return the numbers of the tasks whose criteria have other words."""
    return frozenset(number for number, text in _shown(view).items() if text in words)


def _shown(view: JudgeView) -> dict[int, str]:
    terms = view.job.condition(view.condition)
    return {
        number: task.criteria(terms) or task.task
        for number, task in view.job.judged_in(view.condition).items()
    }


def _texts(task: JobTask) -> Iterator[str]:
    """Yield what a judge may be shown as the criteria of a task, and empty texts for the rest."""
    yield task.acceptance_criteria
    yield task.withheld_criteria
    yield "" if task.acceptance_criteria else task.task


def _task_otherwise(task: JobTask, terms: ConditionConfig, words: Words) -> JobTask:
    update: dict[str, str] = {}
    for key in ("acceptance_criteria", "withheld_criteria"):
        if (text := getattr(task, key)) in words:
            update[key] = words[text]
    if not task.criteria(terms) and task.task in words:
        update["task"] = words[task.task]
    return task.model_copy(update=update)
