"""What may say a withheld fact is in nothing that an evaluator sees."""

from bioeval_tui.evaluate.job.models import EvaluationJob
from bioeval_tui.evaluate.job.withholding import for_evaluator

SECRET = "Zurich"
JOB = EvaluationJob.model_validate(
    {
        "target": {"user": "Ann", "chatbot": "Bernie", "systemPrompt": SECRET, "headers": {"X": SECRET}},
        "aspirationalAverage": 1000.0,
        "tasks": ({"task": "Ask", "acceptanceCriteria": SECRET, "rules": ({"pattern": SECRET},)},),
        "facts": (SECRET,),
        "evaluator": {"lines": ({"say": SECRET},)},
        "scorer": {"prompt": SECRET},
        "rubric": ({"criterion": SECRET, "points": 1},),
        "seeds": ({"text": SECRET},),
        "setups": ({"cypher": SECRET},),
        "assertions": ({"expression": SECRET},),
        "conditionNames": {"withheld": "no address", "supplied": f"is in {SECRET}"},
    }
)


SHOWN = {
    "target", "aspirational_average", "tasks", "facts", "evaluator", "max_turns", "greetings", "seed", "order", "telemetry",
    "sensitive", "cases", "personas", "compat",
}  # fmt: skip
"""Keys of a job that an evaluator may see; what is withheld below them is withheld in JOB."""


def test_a_key_of_the_job_is_withheld_until_it_is_known_to_say_nothing():
    seen = for_evaluator(JOB, ())
    others = {name: field for name, field in EvaluationJob.model_fields.items() if name not in SHOWN}
    assert {name: getattr(seen, name) for name in others} == {
        name: field.get_default(call_default_factory=True) for name, field in others.items()
    }


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
