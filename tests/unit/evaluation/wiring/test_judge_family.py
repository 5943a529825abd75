"""A judge of the agent's or the simulated user's model family is noted before a run, and in every
view of its result, by one sentence.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.prepare import prepare_run
from bioeval_tui.evaluation.wiring.resuming import prepare_resumed, resume_spec
from bioeval_tui.record.model_families import FAMILIES, family_note
from tests.command import call
from tests.unit.record.test_versions import GOLDEN

JOB = """
target: {{user: u, chatbot: c, protocol: {protocol}}}
aspirationalAverage: 1000
tasks: [{{task: t}}]
facts: []
scorer: {{model: gpt-4.1-mini}}
evaluator: {{model: claude-opus-4-5}}
"""


@pytest.mark.parametrize(
    ("protocol", "model", "warned"),
    [
        ("rest", None, False),  # what it runs, it alone knows
        ("rest", "gpt-4.1-mini", True),
        ("rest", "openai/GPT-4.1-2025-04-14", True),
        ("rest", "another", False),
        ("openai", None, True),  # asked for by its name, here the default
    ],
)
def test_the_note_on_a_judge_of_the_agents_family_needs_a_known_model(
    tmp_path: Path, protocol: str, model: str | None, warned: bool
) -> None:
    job = tmp_path / "job.yml"
    job.write_text(JOB.format(protocol=protocol), encoding="utf-8")
    run = RunSpec("20260101-000000-abcd", str(job), model)
    settings = Settings(openai_api_key=Secret("k"))
    prepared = prepare_run(EngineSpec((run,), agent_url="http://127.0.0.1:1"), run, settings)
    assert ("as the agent (" in prepared.plan.judge_family) is warned
    assert not any("family" in warning for warning in prepared.warnings)


@pytest.mark.parametrize(("model", "warned"), [("gpt-4.1-mini", False), ("another", True)])
def test_a_resumed_run_was_asked_for_no_model_if_only_the_usual_one_is_recorded(
    tmp_path: Path, model: str, warned: bool
) -> None:
    text = (GOLDEN / "version-1.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(text[0])
    first["job"]["scorer"] = {"kind": "llm", "model": model}
    first["model"] = model
    first["agent"], first["prompts"], first["options"] = (
        "127.0.0.1:1",
        {},
        {"agent_url": "http://127.0.0.1:1"},
    )
    settings = Settings(openai_api_key=Secret("k"), data_dir_override=str(tmp_path))
    settings.runs_dir.mkdir()
    path = settings.runs_dir / f"{first['run_id']}.jsonl"
    path.write_text("\n".join([json.dumps(first), *text[1:50]]) + "\n", encoding="utf-8")
    spec = resume_spec(path)
    assert spec is not None
    prepared = prepare_resumed(replace(spec, force=True), spec.runs[0], settings)
    assert ("as the agent (" in prepared.plan.judge_family) is warned
    assert not any("family" in warning for warning in prepared.warnings)


TELLS = "models tend to favour what their own family writes"


@pytest.mark.parametrize(
    ("judge", "other"),
    [
        ("gpt-4.1", "gpt-4.1-mini"),
        ("gpt-4.1", "openai/gpt-4.1-2025-04-14"),
        ("o3-mini", "azure/gpt-5-chat"),
        ("ft:gpt-4.1-mini:our-group::abc", "chatgpt-4o-latest"),
        ("claude-opus-4-5", "us.anthropic.claude-3-5-sonnet-20240620-v1:0"),
        ("llama3.2:3b", "meta-llama/Llama-3.1-8B-Instruct"),
        ("ollama/llama3.2", "us.meta.llama3-1-8b-instruct-v1:0"),
        ("deepseek-r1-distill-qwen-7b", "qwen2.5-7b-instruct"),
        ("deepseek-r1-distill-qwen-7b", "deepseek-chat"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-flash"),
        ("mixtral-8x7b", "BioMistral-7B"),
        ("our-model", "Our-Model"),
    ],
)
def test_names_of_one_family(judge: str, other: str) -> None:
    said = f"the judge {judge} is of the same model family as the agent ({other}): {TELLS}"
    assert family_note(judge, other, "") == said
    assert family_note(other, judge, "") != ""


@pytest.mark.parametrize(
    ("judge", "other"),
    [
        ("gpt-4.1", "claude-opus-4-5"),
        ("ollama/qwen2.5", "llama3.2"),
        ("openai/llama-3.1", "gpt-4.1"),
        ("gpt-j-6b", "gpt-4.1"),
        ("our-model", "our-model-2"),
        ("o11-large", "o1"),
        ("gemma-3", "gemini-2.5-pro"),
        ("gpt-4.1", ""),
        ("", "gpt-4.1"),
    ],
)
def test_names_of_different_families(judge: str, other: str) -> None:
    assert family_note(judge, other, "") == family_note(judge, "", other) == ""


def test_what_a_server_calls_a_model_counts_as_what_was_asked_for() -> None:
    said = family_note(
        "asked for large, served gpt-4.1-2025-04-14; ours × 3 (one criterion a request)",
        "asked for agent, served gpt-4.1-nano and ours",
        "gpt-4o",
    )
    assert said == (
        "the judge gpt-4.1-2025-04-14 is of the same model family as the agent (gpt-4.1-nano) and"
        " the simulated user (gpt-4o); the judge ours is of the same model family as the agent"
        f" (ours): {TELLS}"
    )


@pytest.mark.parametrize(
    ("evaluator", "settings", "noted"),
    [
        ("{kind: llm, model: gpt-4.1}", {}, True),
        ("{kind: llm, model: claude-opus-4-5}", {}, False),
        ("{kind: llm}", {}, True),  # the usual model
        ("{kind: llm}", {"BIOEVAL_EVALUATOR_MODEL": "claude-opus-4-5"}, False),
        ("{kind: scripted, lines: [{say: Hello}]}", {}, False),
    ],
)
def test_check_and_the_forecast_note_it_before_a_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    evaluator: str,
    settings: dict[str, str],
    noted: bool,
) -> None:
    for name, value in (
        {"OPENAI_API_KEY": "k", "BIOEVAL_DATA_DIR": str(tmp_path)} | settings
    ).items():
        monkeypatch.setenv(name, value)
    job = tmp_path / "job.yml"
    text = JOB.format(protocol="rest").replace("{model: claude-opus-4-5}", evaluator)
    job.write_text(text, encoding="utf-8")
    checked = call("check", job)
    assert (TELLS in checked.stdout) is noted
    assert "no problems" in checked.stdout
    forecast = call("run", job, "--agent-url", "http://127.0.0.1:1", "--dry-run")
    assert forecast.stdout.count(TELLS) == noted
    agent = call(
        "run", job, "--agent-url", "http://127.0.0.1:1", "--model", "gpt-5", "--dry-run", "--json"
    )
    (estimate,) = json.loads(agent.stdout)
    assert "as the agent (gpt-5)" in estimate["judge_family"]


def test_the_docs_name_every_family() -> None:
    page = (Path(__file__).parents[4] / "docs" / "evaluate-your-agent.md").read_text("utf-8")
    listed = page.partition("The program knows the names of")[2].partition(", also those")[0]
    assert re.findall(r"[A-Z]\w+", listed) == [*FAMILIES]
