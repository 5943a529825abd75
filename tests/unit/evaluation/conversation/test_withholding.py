"""An evaluator sees nothing that could contain a withheld fact."""

from bioeval_tui.jobs.models import EvaluationJob
from tests.unit.evaluation.conversation.fakes import FakeGraph, Stage

SECRET = "Zurich"
JOB = EvaluationJob.model_validate(
    {
        "target": {
            "user": "Ann",
            "chatbot": "Bernie",
            "systemPrompt": SECRET,
            "headers": {"X": SECRET},
        },
        "aspirationalAverage": 1000.0,
        "tasks": ({"task": "Ask", "acceptanceCriteria": SECRET, "rules": ({"pattern": SECRET},)},),
        "facts": (SECRET,),
        "evaluator": {"lines": ({"say": SECRET},)},
        "scorer": {"prompt": SECRET},
        "rubric": ({"criterion": SECRET, "points": 1},),
        "seeds": ({"text": SECRET},),
        "setups": ({"cypher": SECRET},),
        "assertions": ({"expression": SECRET},),
        "conditions": (
            {"name": "withheld", "words": "no address", "facts": "none"},
            {"name": "supplied", "words": SECRET[:20]},
        ),
    }
)


SHOWN = {
    "target", "aspirational_average", "tasks", "facts", "evaluator", "max_turns", "greetings",
    "seed", "order", "telemetry",
    "sensitive", "cases", "personas", "compat",
}  # fmt: skip
"""Keys of a job that an evaluator may see; what is withheld below them is withheld in JOB."""


async def seen(condition):
    """Return the job as the evaluator sees it."""
    stage = Stage(JOB, graph=FakeGraph())
    await stage.run()
    return stage.evaluators[condition].views[0].job


async def test_an_unknown_key_of_a_job_is_withheld():
    job = await seen("withheld")
    others = {
        name: field for name, field in EvaluationJob.model_fields.items() if name not in SHOWN
    }
    assert {name: getattr(job, name) for name in others} == {
        name: field.get_default(call_default_factory=True) for name, field in others.items()
    }


async def test_withheld_facts_are_in_no_part_of_what_the_evaluator_sees():
    assert SECRET in JOB.model_dump_json()
    assert SECRET not in (await seen("withheld")).model_dump_json()


async def test_supplied_facts_are_only_in_the_list_of_facts():
    job = await seen("supplied")
    assert job.facts == (SECRET,)
    assert job.model_dump_json().count(SECRET) == 1
