"""A whole run in this process: job check, wiring, real clients over real HTTP, and the
recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.base.files import private_dir
from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.engine.batch import run_batch
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.prepare import prepare_run
from bioeval_tui.jobs.loading import job_from_data
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.spending import CallBudget
from bioeval_tui.peers.traces import Traces
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import new_run_ids, recording_path
from bioeval_tui.record.state import RunState
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import load_run

PUBLISHED_JOB = """
# The example of embabel-agent-eval's README: its keys, their order and kinds, its two assertions;
# other words.
evaluator:
  name: Socrates
  voice: "You speak like a friendly, relaxed human"
  signoff: "So Long, and Thanks for All the Fish"
  temperature: 0.5

target:
  user: test-user
  chatbot: my-agent

aspirationalAverage: 3000  # milliseconds

greetings:
  - Hello
  - Hi
  - Hey

tasks:
  - type: task
    task: "Get a reminder to stretch for tomorrow morning at nine"
    acceptanceCriteria: "The reminder exists, with the right day and hour"
  - type: question
    task: "Ask which city is the capital of France"
    acceptanceCriteria: "The answer is Paris"

facts:
  - "The user's timezone is Australia/Sydney"
  - "The user likes a formal tone"

assertions:
  - expression: "objectContext.resources.size == 1"
    weight: 2
  - cypher: "MATCH (r:Reminder) RETURN count(r) AS count"
    expected: 1
    weight: 3
"""
CLEARING = 'setups:\n  - cypher: "MATCH (n:DomainNode) DETACH DELETE n"\n'


def published_script() -> EvaluationJob:
    """Return how a stand-in plays the user of `PUBLISHED_JOB`."""
    return job_from_data(
        {
            "target": {"user": "test-user", "chatbot": "my-agent"},
            "aspirationalAverage": 3000,
            "tasks": [{"task": "reminder"}, {"task": "capital"}],
            "facts": ["The user's timezone is Australia/Sydney"],
            "evaluator": {
                "kind": "scripted",
                "lines": [
                    {"say": "Could you remind me to stretch tomorrow at 9?"},
                    {"when": "time zone", "say": "It is Australia/Sydney.", "fact": 1},
                    {"when": "time zone", "say": "I would rather not say."},
                    {"say": "Which city is the capital of France?"},
                ],
            },
        }
    )


@dataclass(frozen=True)
class WholeRun:
    """What a run left behind. `result` is what `--json` prints."""

    path: Path
    events: list[RunEvent]
    state: RunState
    result: dict[str, Any]

    def of(self, kind: str, condition: str | None = None) -> list[Any]:
        """Return the events of a kind, of one condition where it is named."""
        return [e for e in self.events if e.kind == kind and condition in (None, e.condition)]


async def hold(
    text: str,
    folder: Path,
    *,
    settings: dict[str, Any] | None = None,
    traces: Traces | None = None,
    **spec: Any,
) -> WholeRun:
    """Write the job into `folder`, run it with these settings and options, and read what was
    recorded.
    """
    job = folder / "job.yml"
    job.write_text(text, encoding="utf-8")
    chosen = Settings(data_dir_override=str(folder / "data"), **(settings or {}))
    private_dir(chosen.runs_dir)
    what = RunSpec(*new_run_ids(1, chosen.runs_dir), str(job))
    asked = EngineSpec(runs=(what,), **{"seed": 7, **spec})
    prepared = prepare_run(asked, what, chosen)
    budget = CallBudget(asked.max_calls, asked.max_cost)
    await run_batch(
        [prepared],
        chosen.runs_dir,
        budget=budget,
        longest_pause_s=chosen.longest_wait_s,
        traces=traces,
    )
    path = recording_path(chosen.runs_dir, what.run_id)
    run = load_run(path)
    return WholeRun(path, list(read_recording(path).events), run.state, run_document(run))


def with_models(url: str, **more: Any) -> dict[str, Any]:
    """Return the settings under which a local server stands in for all models."""
    return {"openai_api_key": Secret("k"), "openai_base_url": url, **more}


def uplifts(run: WholeRun) -> tuple[str, float | None]:
    """Return the uplift as the score card shows it, and as a report gives it."""
    from bioeval_tui.tui.live.score_card_view import rows

    result = load_run(run.path)
    found = result.summary.uplift
    shown = rows(result, result.trial(1))[0].uplift.text
    return shown, found.mean if found else None
