"""A run with several models as its users, from the options to what is counted, resumed, judged
again and compared.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.estimate import estimate_batch
from bioeval_tui.evaluation.wiring.prepare import prepare_run
from bioeval_tui.evaluation.wiring.resuming import prepare_resumed, resume_spec
from bioeval_tui.jobs.loading import job_from_data
from bioeval_tui.record.runs import new_run_ids
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.gate import GateRules, evaluate
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.integration.program import run as program
from tests.servers import openai_server as srv
from tests.servers.models import StandIns
from tests.servers.whole_runs import WholeRun, hold, with_models

JOB = """
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}
aspirationalAverage: null
maxTurns: 4
evaluator: {kind: llm, guards: "off"}
scorer: {kind: rules}
facts: []
tasks:
  - {task: Get a reminder for nine, rules: [{pattern: "set for nine", who: agent}]}
"""
USERS = ("plain", "hurried")


def script(says: str) -> Any:
    return job_from_data(
        {
            "target": {"user": "ada", "chatbot": "bot"},
            "aspirationalAverage": 60000,
            "facts": [],
            "tasks": [{"task": "Get a reminder for nine"}],
            "evaluator": {"kind": "scripted", "lines": [{"say": says}]},
        }
    )


class Models:
    """An agent that sets a reminder only for who names the hour, and two users, one of whom does
    not.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._users = {
            "plain": StandIns(script("Remind me at nine, please.")),
            "hurried": StandIns(script("Remind me!")),
        }

    def __call__(self, body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            said = json.dumps(body["messages"])
            return srv.say("It is set for nine." if "at nine" in said else "When?")
        self.asked.append(body["model"])
        return self._users[body["model"]](body)


async def run(folder: Path, text: str = JOB, **spec: Any) -> tuple[WholeRun, Models]:
    models = Models()
    async with srv.OpenAIServer(otherwise=models) as server:
        job = text.replace("URL", server.url)
        whole = await hold(job, folder, settings=with_models(server.url), **spec)
    return whole, models


async def test_each_trial_is_held_with_each_user(tmp_path: Path) -> None:
    whole, models = await run(tmp_path, evaluator_model=USERS, trials=2)
    assert set(models.asked) == set(USERS)
    loaded = load_run(whole.path)
    found = [(talk.case.user, talk.case.trial, talk.score) for talk in loaded.conversations
             if talk.case and talk.condition == "supplied"]  # fmt: skip
    assert found == [("plain", 1, 1.0), ("hurried", 1, 0.0), ("plain", 2, 1.0), ("hurried", 2, 0.0)]
    assert loaded.started.evaluator == "plain, hurried"
    assert not loaded.has_cases
    assert loaded.brief.cases == 0
    said = "1.00 → 1.00 with plain, 0.00 → 0.00 with hurried: two users; a third may differ"
    assert loaded.answer.users == said
    assert ("USERS", said) in loaded.answer.lines
    assert whole.result["answer"]["users"] == said
    for form in ("md", "html"):
        assert "two users; a third may differ" in document_of(form, loaded)


async def test_a_threshold_that_is_met_with_one_user_only_says_so(tmp_path: Path) -> None:
    whole, _ = await run(tmp_path, evaluator_model=USERS, trials=2)
    gate = evaluate([load_run(whole.path)], GateRules.parse(["supplied:0.4", "withheld:0.8"]))
    assert "supplied: 0.4 is met with plain (1.00), not with hurried (0.00)" in gate.notes
    assert "withheld: 0.8 is met with plain (1.00), not with hurried (0.00)" in gate.notes
    assert [check.status for check in gate.checks] == ["passed", "failed"]


async def test_runs_are_compared_user_by_user(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    both, _ = await run(tmp_path / "one", evaluator_model=USERS, trials=2)
    other, _ = await run(tmp_path / "two", evaluator_model=("hurried", "plain"), trials=2)
    compared = compare(load_run(both.path), load_run(other.path))
    assert all(each.score.mean == 0 for each in compared.conditions)
    (tmp_path / "three").mkdir()
    single, _ = await run(tmp_path / "three", evaluator_model=("hurried",), trials=2)
    compared = compare(load_run(both.path), load_run(single.path))
    assert [len(each.score.estimate.points) for each in compared.conditions] == [2, 2]
    assert all(each.score.mean == 0 for each in compared.conditions)


async def test_a_run_is_judged_again_and_shown_with_its_users(tmp_path: Path) -> None:
    whole, _ = await run(tmp_path, evaluator_model=USERS, trials=2)
    other = tmp_path / "other.yml"
    other.write_text(
        (tmp_path / "job.yml").read_text("utf-8").replace("who: agent", "who: agent, absent: true"),
        "utf-8",
    )
    data = tmp_path / "data"
    name = whole.path.stem
    done = await asyncio.to_thread(
        program, "runs", "rescore", name, "--job", str(other), data_dir=data
    )
    assert done.returncode == 0, done.stderr
    shown = (await asyncio.to_thread(program, "runs", "show", name, data_dir=data)).stdout
    assert "USERS 0.00 → 0.00 with plain, 1.00 → 1.00 with hurried: two users" in shown
    masked = (
        await asyncio.to_thread(
            program, "runs", "show", name, "--redact", str(rules(tmp_path)), data_dir=data
        )
    ).stdout
    assert "hurried" not in masked
    assert "with [MODEL-1]: two users; a third may differ" in masked


def rules(folder: Path) -> Path:
    """Write the rules of a mask that hides a user's model."""
    path = folder / "mask.yml"
    path.write_text("names:\n  - {text: hurried, as: MODEL}\n", encoding="utf-8")
    return path


async def test_a_job_may_list_its_users_and_a_case_is_held_with_each(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("id\na\nb\n", encoding="utf-8")
    text = JOB.replace("kind: llm,", "kind: llm, model: [plain, hurried],")
    whole, _ = await run(tmp_path, text + "cases: {file: cases.csv, id: id}\n")
    loaded = load_run(whole.path)
    assert [loaded.case_words(trial) for trial in loaded.trials] == [
        "a · plain", "a · hurried", "b · plain", "b · hurried",
    ]  # fmt: skip
    assert loaded.brief.cases == 2


async def test_what_a_run_of_two_users_would_call_is_counted_for_each(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    job.write_text(JOB.replace("URL", "http://127.0.0.1:9"), encoding="utf-8")
    settings = Settings(data_dir_override=str(tmp_path), **with_models("http://127.0.0.1:9"))
    what = RunSpec(*new_run_ids(1, settings.runs_dir), str(job))

    def calls(*users: str) -> dict[str, int]:
        spec = EngineSpec(runs=(what,), evaluator_model=users, trials=3)
        (found,) = estimate_batch(spec, settings)
        return {name: role["calls"] for name, role in found["roles"].items()}

    one, two = calls("plain"), calls(*USERS)
    assert two["agent"] == 2 * one["agent"]
    assert two["evaluator 1"] == two["evaluator 2"] == one["evaluator"] > 0
    assert calls("plain", "plain") == one


async def test_a_person_is_never_one_of_several_users(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    job.write_text(JOB.replace("URL", "http://127.0.0.1:9"), encoding="utf-8")
    spec = EngineSpec(runs=(RunSpec("r", str(job)),), evaluator_model=("human", "b"), plays=True)
    with pytest.raises(UsageError, match="give --evaluator-model human alone"):
        prepare_run(spec, spec.runs[0], Settings(data_dir_override=str(tmp_path)))


async def test_a_batch_that_may_stop_early_has_one_user(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    job.write_text(JOB.replace("URL", "http://127.0.0.1:9"), encoding="utf-8")
    spec = EngineSpec(
        runs=(RunSpec("r", str(job)),), evaluator_model=USERS, until_decided="supplied:0.8"
    )
    with pytest.raises(UsageError, match="give one --evaluator-model, or --repeat"):
        prepare_run(spec, spec.runs[0], Settings(data_dir_override=str(tmp_path)))


async def test_a_resumed_run_goes_on_with_the_user_of_each_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = await run(tmp_path, evaluator_model=USERS)
    lines = whole.path.read_text("utf-8").splitlines(keepends=True)
    whole.path.write_text("".join(lines[:-12]), encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    spec = resume_spec(whole.path, force=True)
    assert spec is not None
    assert spec.evaluator_model == USERS
    settings = Settings(data_dir_override=str(tmp_path / "data"), **with_models("http://x:1"))
    plan = prepare_resumed(spec, spec.runs[0], settings).plan
    assert [plan.trial_plan(trial).job.evaluator.model for trial in (1, 2)] == list(USERS)
