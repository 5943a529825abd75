"""What the simulated user may know about a job. This is the only place that withholds facts."""

from __future__ import annotations

from collections.abc import Sequence

from bioeval_tui.evaluation.job.models import EvaluationJob, ScorerConfig
from bioeval_tui.record.names import Condition


def for_evaluator(job: EvaluationJob, facts: Sequence[str], condition: Condition) -> EvaluationJob:
    """Return the job as an evaluator may see it, with the given facts and no others, and the tasks of the condition.

    Acceptance criteria, rules, the rubric, assertions, setups, seeds, the judge's settings, the lines of a script, and the tools,
    instructions, headers and options of the agent, and the names of the conditions could reveal withheld facts, so they are present but empty.
    """
    hidden = {"acceptance_criteria": "", "withheld_criteria": "", "rules": (), "only": None, "weight": 1.0}
    tasks = tuple(task.model_copy(update=hidden) for task in job.tasks if task.applies(condition))
    return job.model_copy(
        update={
            "tasks": tasks,
            "facts": tuple(facts),
            "evaluator": job.evaluator.model_copy(update={"lines": ()}),
            "rubric": (),
            "scorer": ScorerConfig(),
            "target": job.target.model_copy(
                update={
                    "tools": (),
                    "extra_body": {},
                    "stop": (),
                    "options": {},
                    "system_prompt": None,
                    "headers": {},
                }
            ),
            "assertions": (),
            "setups": (),
            "seeds": (),
            "condition_names": None,
        }
    )
