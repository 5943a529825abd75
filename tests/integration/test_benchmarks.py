"""Published clinical benchmarks, run from the command line with agents over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.sample.paths import find_job
from tests.integration.program import run
from tests.servers.rest_agent import RestAgentServer
from tests.sources import ROOT

SCRIPT = ROOT / "benchmarks" / "mediq.py"
WITHOUT_FACTS = {
    "id": 9999, "question": "Which statement on the predictive value is correct?", "context": [], "facts": [],
    "options": {"A": "It rises", "B": "It falls", "C": "It stays", "D": "None"}, "answer": "It rises", "answer_idx": "A",
}  # fmt: skip
ONE_SENTENCE = {
    **WITHOUT_FACTS, "id": 9998, "context": ["A 60-year-old painter has chest pain."], "facts": ["1. Patient is 60."],
}  # fmt: skip


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """A table of six cases, two of which have no pair of conditions."""
    listed = find_job(Path("mediq")).with_name("mediq.jsonl").read_text("utf-8").splitlines()[:4]
    table = tmp_path / "cases.jsonl"
    table.write_text("\n".join([*listed, json.dumps(WITHOUT_FACTS), json.dumps(ONE_SENTENCE)]), "utf-8")
    return table


@contextmanager
def expert(name: str, cases: Path) -> Iterator[str]:
    """Serve a scripted expert; gives its URL."""
    command = [sys.executable, SCRIPT, cases, "--serve", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def held(url: str, cases: Path, data_dir: Path, *options: str) -> dict[str, Any]:
    """Return the result of a run of MediQ."""
    given = ("--agent-url", url, "--cases-file", str(cases), "--graph", "none", "--headless", "--json")
    done = run("run", "mediq", *given, *options, data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def right(result: dict[str, Any], condition: str) -> int:
    return sum(trial["tasks"][0]["passed"] for trial in result["conditions"][condition]["trials"])


@pytest.mark.parametrize("name", ["asks", "first", "guesses"])
def test_the_counts_of_scripted_experts_come_out_as_the_table_says(
    name: str, cases: Path, tmp_path: Path
) -> None:
    counted = subprocess.check_output(
        [sys.executable, SCRIPT.with_name("mediq_expected.py"), cases], text=True
    )
    expected = json.loads(counted)[name]
    with expert(name, cases) as url:
        result = held(url, cases, tmp_path)
    assert {condition: right(result, condition) for condition in ("withheld", "supplied")} == {
        condition: expected[condition] for condition in ("withheld", "supplied")
    }
    asking = {condition: each["asking"] for condition, each in result["conditions"].items()}
    assert asking["supplied"]["questions"] == asking["withheld"]["questions"] == expected["questions"]
    assert (asking["withheld"]["obtained"], asking["supplied"]["obtained"]) == (0, expected["facts"])
    assert result["evaluator"] == "stand-in for a model (TF-IDF)"
    assert result["rehearsal"] is True
    assert result["clean"] is True
    shown = run("runs", "show", result["run_id"], data_dir=tmp_path).stdout
    assert f"{expected['facts']} of {asking['supplied']['facts']} facts obtained by asking" in " ".join(
        shown.split()
    )
    if name == "asks":
        assert "4 cases are too few to tell" in shown
        summary = json.loads(
            run("runs", "report", result["run_id"], "--format", "json", data_dir=tmp_path).stdout
        )
        uplift = summary["summary"][0]["uplift"]
        assert (uplift["mean"], uplift["used"], uplift["excluded"]) == (1.0, 4, {"no facts to withhold": 2})


async def test_an_agent_that_chooses_nothing_abstains(cases: Path, tmp_path: Path) -> None:
    async with RestAgentServer(answer_s=0) as agent:
        result = await asyncio.to_thread(
            held, agent.url, cases, tmp_path, "--cases", "1", "--condition", "withheld"
        )
    (trial,) = result["conditions"]["withheld"]["trials"]
    assert (trial["score"], trial["end_reason"]) == (0.0, "max_turns")
    (check,) = trial["assertions"]
    assert (check["title"], check["weight"]) == ("an option was chosen (else it abstained)", 0)
    assert check["status"] == "failed"
