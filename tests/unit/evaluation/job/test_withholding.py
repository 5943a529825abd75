"""An evaluator sees nothing that could contain a withheld fact."""

from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.job.withholding import for_evaluator

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


def test_an_unknown_key_of_a_job_is_withheld():
    seen = for_evaluator(JOB, (), "withheld")
    others = {name: field for name, field in EvaluationJob.model_fields.items() if name not in SHOWN}
    assert {name: getattr(seen, name) for name in others} == {
        name: field.get_default(call_default_factory=True) for name, field in others.items()
    }


def test_withheld_facts_are_in_no_part_of_what_the_evaluator_sees():
    assert SECRET in JOB.model_dump_json()
    assert SECRET not in for_evaluator(JOB, (), "withheld").model_dump_json()


def test_supplied_facts_are_only_in_the_list_of_facts():
    seen = for_evaluator(JOB, JOB.facts, "supplied")
    assert seen.facts == (SECRET,)
    assert seen.model_dump_json().count(SECRET) == 1


def test_withholding_twice_changes_nothing():
    once = for_evaluator(JOB, (), "withheld")
    assert for_evaluator(once, (), "withheld") == once
