"""A plug-in's evaluator is created with what it may know, and nothing else."""

from pathlib import Path

import pytest

from bioeval_tui import plugins
from bioeval_tui.evaluation.engine.spec import EngineSpec
from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.settings import Settings

JOB = EvaluationJob.model_validate(
    {
        "target": {
            "user": "Ann",
            "chatbot": "Bernie",
            "protocol": "openai",
            "systemPrompt": "INSTRUCTION",
            "headers": {"X": "HEADER"},
        },
        "aspirationalAverage": 1000.0,
        "tasks": ({"task": "Ask", "acceptanceCriteria": "CRITERION"},),
        "facts": ("FACT",),
        "setups": ({"cypher": "SETUP"},),
        "evaluator": {"kind": "theirs", "lines": ({"say": "LINE", "fact": 1},)},
    }
)


@pytest.mark.parametrize(("condition", "facts"), [("withheld", ()), ("supplied", ("FACT",))])
def test_a_plugin_gets_only_the_facts_of_its_condition(monkeypatch, tmp_path: Path, condition, facts):
    given = []

    class Theirs:
        identity = "theirs"

        def __init__(self, job):
            given.append(job)

    monkeypatch.setattr(plugins, "load", lambda group, name: Theirs)
    makers = Makers(JOB, tmp_path, EngineSpec(()), None, Settings())
    makers.evaluator(condition, 1)
    (job,) = given
    assert job.facts == facts
    told = job.model_dump_json()
    assert not any(word in told for word in ("CRITERION", "SETUP", "LINE", "INSTRUCTION", "HEADER"))
