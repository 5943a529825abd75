"""The judge's exam: three controls, conversations made from the job that deserve nothing, by the
job's own criteria.

A judge that believes one of them would believe an agent that does nothing. What it gave is
remembered in the data folder, by judge, prompt and criteria, so that a gate does not pay for the
same exam each time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bioeval_tui.base.files import below, private_dir, write_whole
from bioeval_tui.base.text import compact_json
from bioeval_tui.evaluation.conversation.plan import RunPlan
from bioeval_tui.evaluation.conversation.scoring import judge_transcript
from bioeval_tui.jobs.loading import job_snapshot
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.seams import Judge, JudgeView, TranscriptMessage
from bioeval_tui.peers.spending import SpendingBudget, counting
from bioeval_tui.record.cases import question_hash
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import CONTROLS, Control, ControlJudged
from bioeval_tui.record.participants import Role, add_served
from bioeval_tui.record.score import points
from bioeval_tui.statistics.means import exact_mean

FOLDER = "exams"
"""The folder of the data folder with what judges gave in their exams."""
MOST_CONDITIONS = 2
"""Of so many conditions the criteria are asked about: the first with criteria of its own, and
another.
"""
MOST_ASKED = 8
"""So many tasks the user of a control asks for, so that a long rubric makes no long conversation.
"""
MOST_BYTES = 100_000
"""A remembered exam is much shorter."""
NO_TASK_LEFT = "an agent meets every task by saying nothing, so no control can tell"
_HELLO = "Hello. What can I do for you?"
_OFF_TOPIC = (
    "Turn the small screw on the derailleur a quarter turn, and try the gears again.",
    "The museum closes at five on Tuesdays, and the tram stops right in front of it.",
    "Fold the dough twice, and leave it under a cloth.",
)

_SUBJECT = (
    r"(?:(?:the|an?|its?|any|this|every) )?"
    r"(?:agent|assistant|chatbot|bot|model|system|answers?|reply|replies|response|messages?"
    r"|conversation|it|she|he|they)"
)
_RESTRAINT = re.compile(
    rf"^(?:{_SUBJECT} )?(?:(?:also|still|at|all|times) )*"
    r"(?:(?:does|do|did|must|should|may|is|are|was|has|have|can|could|will|would|shall)"
    r" ?(?:not|n['’]?t|never)\b"
    r"|cannot\b|(?:ca|wo)n['’]t\b|(?:not|never|no|nothing|none|nobody|without)\b"
    r"|\w+ (?:no|nothing|none|nobody|neither)\b"
    r"|(?:avoid|refrain|abstain|omit)s?\b|(?:stay|remain)s?\b|at most\b)",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"[.;!?\n]+|,? \bbut\b|\band (?=(?:it|the|then|instead|also)\b)"
    # A verb with what follows it, and not the next of what is listed: "does not diagnose, and
    # refers her to a doctor".
    r"|, and (?=[a-z]+s"
    r" (?:to|the|an?|that|it|its|her|him|them|for|on|at|which|who|what|when|about|with|only)\b)",
    re.IGNORECASE,
)


def silence_meets(criteria: str) -> bool:
    """Return whether each clause of a criterion only says what the agent must not do, so that
    saying nothing meets it.

    It goes by the words (English negations). What the examined judge says about an agent that is
    silent cannot decide this: a judge that believes everything would be excused from every task.
    """
    clauses = [clause.strip(" ,:-–•*\"'“”") for clause in _CLAUSES.split(criteria)]
    clauses = [clause for clause in clauses if clause]
    return bool(clauses) and all(map(_RESTRAINT.match, clauses))


@dataclass(frozen=True, slots=True)
class Exam:
    """What a judge is asked: the controls in each condition, of the tasks with these numbers.

    `why_not` says why there is no exam. `key` identifies it among those that are remembered.
    """

    views: tuple[tuple[Control, JudgeView], ...] = ()
    tasks: Mapping[Condition, tuple[int, ...]] = field(default_factory=dict)
    left_out: tuple[int, ...] = ()
    case: str = ""
    key: str = ""
    why_not: str = ""


def choose_exam(
    jobs: Sequence[tuple[str, EvaluationJob]],
    conditions: Sequence[Condition],
    judge: str,
    host: str,
    prompts: Mapping[str, str],
) -> Exam:
    """Return the exam of a judge at a host, by the criteria of the first of the jobs (each with its
    case's name) that has one.

    `prompts` has the hash of the judge's prompt.
    """
    for case, job in jobs:
        asked = _distinct(job, conditions)
        tasks = {
            condition: numbers for condition in asked if (numbers := _examined(job, condition))
        }
        if tasks:
            return _exam(case, job, asked, tasks, judge, host, prompts)
    return Exam(why_not=NO_TASK_LEFT)


def _exam(
    case: str,
    job: EvaluationJob,
    asked: Sequence[Condition],
    tasks: Mapping[Condition, tuple[int, ...]],
    judge: str,
    host: str,
    prompts: Mapping[str, str],
) -> Exam:
    """Return the exam by the criteria of one job; `tasks` has the numbers of those that are asked
    about.
    """
    # Nothing else is asked, and no other rule of the job keeps a verdict from counting.
    own = job.model_copy(
        update={"scorer": job.scorer.model_copy(update={"evidence": "mark", "user_faults": False})}
    )
    views = tuple(
        (control, JudgeView(own, condition, _transcript(own, control)))
        for condition, control in product(tasks, CONTROLS)
    )
    every = set(chain.from_iterable(map(job.judged_in, asked)))
    left_out = tuple(sorted(every.difference(*tasks.values())))
    snapshot = job_snapshot(own)
    question = [
        [host, list(job.facts), snapshot["scorer"]],
        [[condition, list(numbers)] for condition, numbers in tasks.items()],
        [question_hash(snapshot, condition, prompts, judge) for condition in tasks],
        [
            [control, [[each.role, each.content] for each in view.transcript]]
            for control, view in views
        ],
        [job.judged[number - 1].pass_above for number in sorted(every)],
    ]
    key = hashlib.sha256(compact_json(question).encode()).hexdigest()[:32]
    return Exam(views, tasks, left_out, case, key)


def exam_of_run(plan: RunPlan) -> Exam:
    """Return the exam of the judge of a run."""
    # The judge is asked the same whoever plays the user.
    cases = [
        (case.name, job)
        for case, job in zip(plan.cases, plan.case_jobs, strict=True)
        if case.user == plan.cases[0].user
    ]
    host = str(plan.options.get("judge_host") or "")
    return choose_exam(
        cases or [("", plan.job)], plan.conditions, plan.judge, host, plan.judge_prompt
    )


def _distinct(job: EvaluationJob, conditions: Sequence[Condition]) -> list[Condition]:
    """Return the first condition, and the next whose criteria are others."""
    found: dict[str, Condition] = {}
    for condition in conditions:
        terms = job.condition(condition)
        words = {number: task.criteria(terms) for number, task in job.judged_in(condition).items()}
        if words:
            found.setdefault(repr(words), condition)
    return list(found.values())[:MOST_CONDITIONS]


def _examined(job: EvaluationJob, condition: Condition) -> tuple[int, ...]:
    """Return the tasks that an agent that does nothing fails: neither met by silence, nor undesired
    items of a rubric.
    """
    terms = job.condition(condition)
    undesired = {
        number for number, item in enumerate(job.rubric, start=1) if getattr(item, "points", 1) < 0
    }
    return tuple(
        number
        for number, task in job.judged_in(condition).items()
        if number not in undesired and not silence_meets(task.criteria(terms) or task.task)
    )


def _transcript(job: EvaluationJob, control: Control) -> tuple[TranscriptMessage, ...]:
    """Return a control: the user greets and asks for each task, and the agent does nothing for
    it.
    """
    # The script's own words where there is one: a task is written about the user, not by it.
    said = [line.say for line in job.evaluator.lines] or [
        f"I would like this: {task.task}" for task in job.tasks
    ]
    lines: list[tuple[Role, str]] = [("user", job.greetings[0]), ("assistant", _HELLO)]
    for place, words in enumerate(said[:MOST_ASKED] or ["Please help me."]):
        answer = {"off_topic": _OFF_TOPIC[place % len(_OFF_TOPIC)], "repeats": words, "empty": ""}[
            control
        ]
        lines += [("user", words), ("assistant", answer)]
    return tuple(TranscriptMessage(number, *line) for number, line in enumerate(lines, start=1))


class _Remembered(BaseModel):
    """What is kept of an exam."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    judge: str
    controls: tuple[ControlJudged, ...] = Field(min_length=1)


def remembered(exam: Exam, folder: Path | None) -> Mapping[str, Any] | None:
    """Return the fields of `JudgeExamined` of an earlier exam that asked the same; None if there
    was none.
    """
    if folder is None or not exam.key:
        return None
    path = folder / f"{exam.key}.json"
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    try:
        kept = _Remembered.model_validate(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError, ValidationError):
        return None  # a damaged file is written again
    asked = [(control, view.condition) for control, view in exam.views]
    if [(each.control, each.in_condition) for each in kept.controls] != asked:
        return None
    return {
        **_case_fields(exam),
        "judge": kept.judge,
        "controls": kept.controls,
        "remembered": True,
    }


async def hold_exam(
    exam: Exam,
    judge: Judge,
    limit_s: float,
    budget: SpendingBudget,
    folder: Path | None,
    *,
    anew: bool = False,
) -> Mapping[str, Any]:
    """Ask the judge about the controls, and return the fields of `JudgeExamined`; one that was
    finished is remembered in `folder`, and only held again if it is to be held `anew`.

    Raises:
        LimitReachedError: the budget allows no other request.
    """
    if exam.why_not:
        return {"judge": judge.identity, "why_not": exam.why_not}
    if not anew and (known := remembered(exam, folder)) is not None:
        return known
    with counting(budget) as used:
        controls = await asyncio.gather(
            *(_judged(judge, exam, control, view, limit_s) for control, view in exam.views)
        )
    fields = {
        **_case_fields(exam),
        "judge": add_served(judge.identity, used.served),
        "controls": tuple(controls),
    }
    missing = next((each.error for each in controls if each.score is None), "")
    if missing:
        return {**fields, "why_not": f"a control has no verdict: {missing}"}
    if folder is not None and exam.key:
        kept = _Remembered(judge=fields["judge"], controls=fields["controls"])
        write_whole(
            below(private_dir(folder), f"{exam.key}.json"), kept.model_dump_json(), mode=0o600
        )
    return fields


def _case_fields(exam: Exam) -> dict[str, Any]:
    return {"left_out": exam.left_out, "case": exam.case}


async def _judged(
    judge: Judge, exam: Exam, control: Control, view: JudgeView, limit_s: float
) -> ControlJudged:
    """Return what the judge gives a control, by the formula of the job: a mean of tasks, or a share
    of a rubric's points.
    """
    numbers = exam.tasks[view.condition]
    asked = [view.job.judged[number - 1] for number in numbers]
    mark = exact_mean([task.pass_above for task in asked], [task.weight for task in asked])
    about: dict[str, Any] = {"control": control, "in_condition": view.condition, "pass_mark": mark}
    judged = await judge_transcript(judge, view, limit_s)
    tasks = [task for task in judged.tasks or () if task.task in numbers]
    if not tasks:
        return ControlJudged(
            **about, score=None, error=judged.error, unusable=judged.fault == "judge"
        )
    if view.job.rubric:
        earned, most = points(tasks)
        return ControlJudged(**about, score=earned / most)
    score = exact_mean([task.score for task in tasks], [task.weight for task in tasks])
    return ControlJudged(**about, score=score)
