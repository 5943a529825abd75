"""The forecast of a batch, before anything is sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.engine.spec import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.estimate import PrintedEstimate, estimate_batch, total_cost
from bioeval_tui.evaluation.wiring.parts import prepare_run
from bioeval_tui.report.formats.plan_console import print_estimates
from bioeval_tui.settings import Secret, Settings

JOB = """
target: {user: ada, chatbot: bot, url: "http://127.0.0.1:1"}
aspirationalAverage: 1000
maxTurns: 10
facts: []
tasks: [{task: a}, {task: b}]
scorer: {model: [gpt-4.1, gpt-4.1-mini], repeats: 3}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(openai_api_key=Secret("k"), data_dir_override=str(tmp_path))


def estimates(tmp_path: Path, settings: Settings, text: str = JOB, **spec: object) -> list[PrintedEstimate]:
    path = tmp_path / "job.yml"
    path.write_text(text, encoding="utf-8")
    runs = (RunSpec("20260101-000000-abcd", str(path)),)
    return estimate_batch(EngineSpec(runs=runs, **spec), settings)  # type: ignore[arg-type]


def test_a_dry_run_counts_the_most_calls_that_a_run_can_take(tmp_path: Path, settings: Settings) -> None:
    (run,) = estimates(tmp_path, settings, trials=4)
    assert run["conversations"] == 8
    calls = {name: role["most_calls"] for name, role in run["roles"].items()}
    # 10 messages: the greeting, 4 more of the evaluator (each mended once), 5 answers; 3 repeats, each asked twice
    assert calls == {"agent": 8 * 5, "evaluator": 8 * 4 * 2, "judge 1": 8 * 6, "judge 2": 8 * 6}


def test_a_dry_run_shows_what_the_job_asks_of_each_model(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "chatbot: bot, protocol: openai, seed: 4, extraBody: {top_k: 3}"
    text = JOB.replace("chatbot: bot", own).replace("repeats: 3", 'repeats: 3, maxTokens: 90, stop: ["\\n"]')
    found = estimates(tmp_path, settings, text)
    assert {name: role["options"] for name, role in found[0]["roles"].items()} == {
        "agent": {"seed": 4, "extraBody": {"top_k": 3}},
        "evaluator": {"temperature": 0.5},
        "judge 1": {"temperature": 0.0, "maxTokens": 90, "stop": ["\n"]},
        "judge 2": {"temperature": 0.0, "maxTokens": 90, "stop": ["\n"]},
    }
    print_estimates(found)
    shown = capsys.readouterr().out
    assert 'options (agent): seed 4, extraBody {"top_k": 3}\n' in shown
    assert 'options (judge 1): temperature 0.0, maxTokens 90, stop ["\\n"]\n' in shown


SCRIPTED = """
target: {user: u, chatbot: c}
aspirationalAverage: 1000
facts: []
evaluator: {kind: scripted, lines: [{say: hello}]}
scorer: {kind: rules}
tasks: [{task: t, rules: [{pattern: x}]}]
"""


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"evaluator_model": "gpt-x"}, "the evaluator's model gpt-x is not used, because a script plays the user"),
        ({"judge_model": ("a", "b")}, "the judge's model a, b is not used, because a set of rules judges"),
        ({"leaderboard": "own"}, "the leaderboard is not used, because the job has no medal assertion"),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_named_before_and_in_the_run(
    tmp_path: Path,
    settings: Settings,
    option: dict[str, object],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (run,) = estimates(tmp_path, settings, SCRIPTED, **option)
    assert says in run["warnings"]  # which a run records and shows, too
    print_estimates([run])
    assert f"note: {says}" in capsys.readouterr().out
    (run,) = estimates(tmp_path, settings, SCRIPTED)
    assert says not in run["warnings"]


def test_a_cost_needs_a_price_and_a_total_needs_every_price(tmp_path: Path, settings: Settings) -> None:
    (run,) = estimates(tmp_path, settings)
    costs = {name: role["most_cost"] for name, role in run["roles"].items()}
    assert costs["agent"] is None
    assert costs["judge 1"] is not None
    assert costs["judge 2"] is not None
    assert costs["judge 1"] > costs["judge 2"] > 0
    assert total_cost([run]) is None
    (tmp_path / "prices.yml").write_text("own: {in: 1, out: 1}\n")
    (openai,) = estimates(
        tmp_path, settings, JOB.replace("chatbot: bot", "chatbot: bot, protocol: openai, model: own")
    )
    assert total_cost([openai]) == pytest.approx(
        sum(role["most_cost"] or 0 for role in openai["roles"].values())
    )


def test_keys_of_the_job_set_what_the_options_leave_to_it(tmp_path: Path, settings: Settings) -> None:
    keys = JOB.replace("target: {", "target: {recordEvents: false, maxRequestsPerMinute: 30, ")
    own, other = tmp_path / "own.yml", tmp_path / "other.yml"
    own.write_text(keys + "order: parallel\n", encoding="utf-8")
    other.write_text(
        JOB.replace("target: {", "target: {maxRequestsPerMinute: 90, ") + "order: parallel\n",
        encoding="utf-8",
    )
    first, second = RunSpec("20260101-000000-abcd", str(own)), RunSpec("20260101-000000-abce", str(other))
    spec = EngineSpec(runs=(first, second))
    runs = [prepare_run(spec, each, settings) for each in spec.runs]
    assert [(run.plan.parallel, run.keep_prompts) for run in runs] == [(True, False), (True, True)]
    assert runs[0].plan.options["requests_per_minute"] == 30
    assert [(run.plan.shared_agent, run.requests_per_minute) for run in runs] == [(2, 30), (2, 90)]
    given = replace(spec, order="random", requests_per_minute=120.0)
    run = prepare_run(given, first, settings)
    assert (run.plan.parallel, run.plan.random_order, run.requests_per_minute) == (False, True, 120)


def test_a_cost_limit_needs_every_price(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(UsageError, match=r"the price of nobodys; write it into .*prices\.yml"):
        estimates(tmp_path, settings, JOB.replace("gpt-4.1,", "nobodys,"), max_cost=1.0)


def test_every_host_is_listed_including_that_of_the_knowledge_service(
    tmp_path: Path, settings: Settings
) -> None:
    (run,) = estimates(tmp_path, settings, JOB + "seeds: [{text: about the patient}]\n")
    assert run["hosts"] == ["127.0.0.1:1", "api.openai.com", "localhost:8080"]


def test_the_options_of_a_run_are_recorded_without_credentials(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "job.yml"
    path.write_text(JOB, encoding="utf-8")
    spec = EngineSpec(runs=(), agent_url="http://user:secret@127.0.0.1:5/base?key=secret", concurrency=3)
    plan = prepare_run(spec, RunSpec("20260101-000000-abcd", str(path)), settings).plan
    assert plan.options["agent_url"] == "http://127.0.0.1:5/base"
    assert plan.options["concurrency"] == plan.shared_agent == 3
    assert plan.options["judge_model"] == ["gpt-4.1", "gpt-4.1-mini"]
    assert "secret" not in str(plan.options)
