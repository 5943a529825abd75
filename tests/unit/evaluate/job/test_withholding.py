"""What may say a withheld fact is in nothing that an evaluator sees."""

from bioeval_tui.evaluate.job.models import EvaluationJob
from bioeval_tui.evaluate.job.withholding import for_evaluator

SECRET = "Zurich"
JOB = EvaluationJob.model_validate(
    {
        "target": {"user": "Ann", "chatbot": "Bernie"},
        "aspirationalAverage": 1000.0,
        "tasks": ({"task": "Ask", "acceptanceCriteria": SECRET, "rules": ({"pattern": SECRET},)},),
        "facts": (SECRET,),
        "evaluator": {"lines": ({"say": SECRET},)},
        "scorer": {"prompt": SECRET},
        "seeds": ({"text": SECRET},),
        "setups": ({"cypher": SECRET},),
        "assertions": ({"expression": SECRET},),
    }
)


def test_without_facts_no_part_of_the_job_says_one():
    assert SECRET in JOB.model_dump_json()
    assert SECRET not in for_evaluator(JOB, ()).model_dump_json()


def test_with_facts_only_they_say_it():
    seen = for_evaluator(JOB, JOB.facts)
    assert seen.facts == (SECRET,)
    assert seen.model_dump_json().count(SECRET) == 1


def test_what_was_withheld_once_stays_as_it_is():
    once = for_evaluator(JOB, ())
    assert for_evaluator(once, ()) == once
