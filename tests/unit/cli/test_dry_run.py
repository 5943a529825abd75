"""`run --dry-run`: the forecast of a batch, before anything is sent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from tests.command import call

JOB = """
target: {user: ada, chatbot: bot, url: "http://127.0.0.1:1"}
aspirationalAverage: 1000
maxTurns: 10
facts: []
tasks: [{task: a}, {task: b}]
scorer: {model: [gpt-4.1, gpt-4.1-mini], repeats: 3}
"""


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for name in ("OPENAI_BASE_URL", "BIOEVAL_AGENT_URL", "BIOEVAL_KNOWLEDGE_URL"):
        monkeypatch.delenv(name, raising=False)


def forecast(folder: Path, text: str = JOB, *options: str) -> tuple[dict[str, Any], str]:
    """Return the forecast of one run, as JSON and as it is printed."""
    path = folder / "job.yml"
    path.write_text(text, encoding="utf-8")
    done = call("run", path, "--dry-run", *options, "--json", catch_exceptions=False)
    (run,) = json.loads(done.stdout)
    return run, call("run", path, "--dry-run", *options).stdout


def test_it_counts_the_most_calls_that_a_run_can_take(tmp_path: Path) -> None:
    run, shown = forecast(tmp_path, JOB, "--repeat", "4")
    assert run["conversations"] == 8
    calls, most = (
        {name: role[key] for name, role in run["roles"].items()} for key in ("calls", "most_calls")
    )
    # 10 messages: the greeting, 4 more of the evaluator, 5 answers; 3 repeats of each judge
    assert calls == {"agent": 8 * 5, "evaluator": 8 * 4, "judge 1": 8 * 3, "judge 2": 8 * 3}
    # Held twice; each request sent 4 times; a message asked for in 4 ways; 2 tasks asked for
    # together, again, and each alone; refused for temperature, the system message, a schema and
    # JSON; the evaluator for stream_options and streaming, too.
    assert most == {
        "agent": 8 * 2 * 5 * 4,
        "evaluator": 8 * 2 * (4 * 4 * 4 + 6),
        "judge 1": 8 * 3 * (4 * 4 + 4),
        "judge 2": 8 * 3 * (4 * 4 + 4),
    }
    assert (run["calls"], run["most_calls"]) == (sum(calls.values()), sum(most.values()))
    assert f"{sum(calls.values())} calls, unknown in total, if nothing is sent twice" in shown
    assert f"at most {sum(most.values()):,} calls, unknown in total" in shown


def test_it_shows_what_the_job_asks_of_each_model(tmp_path: Path) -> None:
    own = "chatbot: bot, protocol: openai, seed: 4, extraBody: {top_k: 3}"
    text = JOB.replace("chatbot: bot", own).replace(
        "repeats: 3", 'repeats: 3, maxTokens: 90, stop: ["\\n"]'
    )
    run, shown = forecast(tmp_path, text)
    assert {name: role["options"] for name, role in run["roles"].items()} == {
        "agent": {"seed": 4, "extraBody": {"top_k": 3}},
        "evaluator": {"temperature": 0.5},
        "judge 1": {"temperature": 0.0, "maxTokens": 90, "stop": ["\n"]},
        "judge 2": {"temperature": 0.0, "maxTokens": 90, "stop": ["\n"]},
    }
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
    ("options", "says"),
    [
        (("--evaluator-model", "gpt-x"),
            "the evaluator's model gpt-x is not used, because a script plays the user"),
        (("--judge-model", "a", "--judge-model", "b"),
            "the judge's model a, b is not used, because a set of rules judges"),
        (("--leaderboard", "own"),
            "the leaderboard is not used, because the job has no medal assertion"),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_named_before_and_in_the_run(
    tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    run, shown = forecast(tmp_path, SCRIPTED, *options)
    assert says in run["warnings"]  # which a run records and shows, too
    assert f"note: {says}" in shown
    run, _ = forecast(tmp_path, SCRIPTED)
    assert says not in run["warnings"]


def test_a_cost_needs_a_price_and_a_total_needs_every_price(tmp_path: Path) -> None:
    run, shown = forecast(tmp_path)
    costs = {name: role["most_cost"] for name, role in run["roles"].items()}
    assert costs["agent"] is None
    assert costs["judge 1"] > costs["judge 2"] > 0
    assert "calls, unknown in total" in shown
    (tmp_path / "prices.yml").write_text("own: {in: 1, out: 1}\n")
    run, shown = forecast(
        tmp_path, JOB.replace("chatbot: bot", "chatbot: bot, protocol: openai, model: own")
    )
    for key, words in (("cost", r"\n\d+ calls"), ("most_cost", r"at most [\d,]+ calls")):
        total = re.search(words + r", \$([\d.]+) in total", shown)
        assert total is not None
        assert float(total[1]) == pytest.approx(
            sum(role[key] for role in run["roles"].values()), rel=0.01
        )


def test_a_cost_limit_needs_every_price(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the price of nobodys; write it into .*prices\.yml"):
        forecast(tmp_path, JOB.replace("gpt-4.1,", "nobodys,"), "--max-cost", "1")


def test_every_host_is_listed_including_that_of_the_knowledge_service(tmp_path: Path) -> None:
    run, shown = forecast(tmp_path, JOB + "seeds: [{text: about the patient}]\n")
    assert run["hosts"] == ["127.0.0.1:1", "api.openai.com", "localhost:8080"]
    assert "transcripts would go to: 127.0.0.1:1, api.openai.com, localhost:8080" in shown
