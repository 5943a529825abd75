"""The gate in CI: the examples in docs/ci.md and the pytest plugin run as printed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.forked import stand_in
from tests.integration.program import environment, sample_agent
from tests.servers.rest_agent import RestAgentServer

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
EXAMPLES: list[Any] = [
    yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)
]
GITHUB, (ACTION,), GITLAB = EXAMPLES


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with its jobs in `eval`."""
    (tmp_path / "eval").mkdir()
    for name in ("medication_reminder", "drug_interaction"):
        shutil.copy(ROOT / "sample_jobs" / f"{name}.yml", tmp_path / "eval")
    return tmp_path


STARTED = f'#!/bin/sh\nexec "{sys.executable}" -P -m bioeval_tui "$@"\n'
"""The program on the path."""


def run_script(
    script: str, checkout: Path, data_dir: str, program_text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script as CI does, every line counting, the program on the path; end what it left
    behind.
    """
    script = script.replace("agent --port", "agent --tokens-per-second 0 --port").replace(
        "8081", str(free_port())
    )
    tools = checkout / "bin"
    tools.mkdir()
    program = tools / "bioeval-tui"
    program.write_text(program_text or stand_in())
    program.chmod(0o755)
    variables = {
        **environment(checkout),
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "BIOEVAL_DATA_DIR": str(checkout / data_dir),
        "GITHUB_STEP_SUMMARY": str(checkout / "step_summary.md"),
        "GITHUB_OUTPUT": str(checkout / "outputs.txt"),
        "GITHUB_ACTION_PATH": str(ROOT),
    }
    process = subprocess.Popen(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=checkout, env=variables, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    return subprocess.CompletedProcess([], process.returncode, output, "")


def check_files(checkout: Path) -> None:
    suites = ET.parse(checkout / "out.xml").getroot()
    assert int(suites.attrib["tests"]) > 0
    assert json.loads((checkout / "out.json").read_text(encoding="utf-8"))["gate"]["exit_code"] == 0
    assert "## Passed" in (checkout / "summary.md").read_text(encoding="utf-8")


def test_the_documented_github_workflow_runs(checkout: Path) -> None:
    job = GITHUB["jobs"]["evaluate"]
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    script = "\n".join(steps[name] for name in ("Start the agent", "Evaluate", "Summary"))
    done = run_script(script, checkout, job["env"]["BIOEVAL_DATA_DIR"])
    assert done.returncode == 0, done.stdout
    check_files(checkout)
    assert "## Passed" in (checkout / "step_summary.md").read_text(encoding="utf-8")
    artifact = next(step for step in job["steps"] if "upload-artifact" in str(step.get("uses")))
    for path in artifact["with"]["path"].split():
        assert (checkout / path).exists(), path


THE_ACTION: Any = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, str] = {
    step["name"]: step["run"] for step in THE_ACTION["runs"]["steps"] if "run" in step
}


def outputs_of(checkout: Path) -> dict[str, str]:
    return dict(
        line.split("=")
        for line in (checkout / "outputs.txt").read_text(encoding="utf-8").splitlines()
    )


def test_the_github_actions_script_runs(checkout: Path) -> None:
    action, steps = THE_ACTION, STEPS
    (env,) = [step["env"] for step in action["runs"]["steps"] if step.get("name") == "Evaluate"]
    assert "BIOEVAL_DATA_DIR" not in (ROOT / "action.yml").read_text(encoding="utf-8"), (
        "it is the agent's, too"
    )
    assert set(env) == {"REPORTS", "JOBS", "AGENT_URL", "OPTIONS"}
    (checkout / "eval" / "drug_interaction.yml").rename(checkout / "eval" / "drug interaction.yml")
    shutil.copytree(checkout / "eval", checkout / "more jobs")
    start = next(
        step["run"]
        for step in GITHUB["jobs"]["evaluate"]["steps"]
        if "agent" in step.get("name", "")
    )
    assert set(ACTION["with"]) <= set(action["inputs"])
    given = {name.replace("-", "_").upper(): value for name, value in ACTION["with"].items()}
    given |= {"REPORTS": "the reports", "JOBS": f"{given['JOBS']}\nmore jobs/drug interaction.yml"}
    given["OPTIONS"] += ' --md "a summary.md"'  # the last one counts
    exported = "\n".join(f"export {name}='{value}'" for name, value in given.items())
    for module in ("json", "os", "pathlib", "shutil", "hashlib", "pip", "sitecustomize"):
        spying = (
            "import sys; sys.stderr.write('imported from the workspace\\n'); raise SystemExit(9)\n"
        )
        (checkout / f"{module}.py").write_text(spying)
    done = run_script(
        "\n".join(
            (
                steps["Look for downloads"],
                start,
                exported,
                f"(\n{steps['Evaluate']}\n)",
                steps["Summary"],
            )
        ),
        checkout,
        "evaluation",
        STARTED,
    )
    assert done.returncode == 0, done.stdout
    assert "imported from the workspace" not in done.stdout
    reports = checkout / "the reports"
    check_files(reports)
    assert len(list((reports / "runs").glob("*.jsonl"))) == 3
    told = outputs_of(checkout)
    assert len(told["key"].rpartition("-")[2]) == 64, "the hash of what it installs"
    runs = json.loads((reports / "out.json").read_text(encoding="utf-8"))["runs"]
    assert float(told["score"]) == pytest.approx(sum(run["score"] for run in runs) / 3, abs=1e-4)
    assert told["difference"] == "0.0", "five trials with full scores"
    assert told["report"] == "the reports/summary.md"
    assert "## Passed" in (checkout / "step_summary.md").read_text(encoding="utf-8")


async def test_the_action_publishes_no_difference_where_the_program_attributes_none(
    checkout: Path,
) -> None:
    """The agent asks nothing, so the user gives no fact; the scores of both conditions are
    known.
    """
    job = {
        "target": {"user": "u", "chatbot": "b"},
        "aspirationalAverage": 1000,
        "evaluator": {"kind": "scripted", "lines": [{"say": "Please note it."}]},
        "scorer": {"kind": "rules"},
        "tasks": [{"task": "Note it", "rules": [{"pattern": "note", "who": "agent"}]}],
        "facts": ["The user lives in Sydney"],
    }
    (checkout / "job.yml").write_text(json.dumps(job))
    given = {"REPORTS": str(checkout), "JOBS": "job.yml", "OPTIONS": "--graph none"}
    async with RestAgentServer() as agent:
        given |= {"AGENT_URL": agent.url}
        exported = "\n".join(f"export {name}='{value}'" for name, value in given.items())
        await asyncio.to_thread(
            run_script, f"{exported}\n{STEPS['Evaluate']}", checkout, "evaluation"
        )
    (run,) = json.loads((checkout / "out.json").read_text(encoding="utf-8"))["runs"]
    assert None not in [run["conditions"][name]["score"] for name in ("withheld", "supplied")]
    assert (run["answer"]["outcome"], run["answer"]["attributed"]) == ("facts_not_given", None)
    told = outputs_of(checkout)
    assert (told["score"], told["difference"]) == (f"{run['score']}", "")


def test_the_documented_gitlab_pipeline_runs(checkout: Path) -> None:
    job = GITLAB["evaluate"]
    done = run_script("\n".join(job["script"]), checkout, job["variables"]["BIOEVAL_DATA_DIR"])
    assert done.returncode == 0, done.stdout
    check_files(checkout)
    for path in [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]:
        assert (checkout / path).exists(), path


def test_an_evaluation_can_be_a_pytest_test(tmp_path: Path) -> None:
    shutil.copy(ROOT / "sample_jobs" / "medication_reminder.yml", tmp_path / "job.yml")
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    with sample_agent(tmp_path, "--tokens-per-second", "0", "--guess") as url:
        (tmp_path / "test_agent.py").write_text(
            examples[0].replace("http://127.0.0.1:8081", url)
            + f"""

def test_gone(bioeval):
    bioeval.run("nothing.yml")


def test_none_answers(bioeval):
    bioeval.run("job.yml", agent_url="http://127.0.0.1:9").assert_score(0.5)


def test_withheld(bioeval):
    bioeval.run("job.yml", agent_url="{url}").assert_assertions(condition="withheld")
""",
            encoding="utf-8",
        )
        # test_working_folder.py has the plug-in start the program itself.
        program = tmp_path / "bioeval-tui"
        program.write_text(stand_in())
        program.chmod(0o755)
        (tmp_path / "conftest.py").write_text(
            "from bioeval_tui import pytest_plugin\n"
            f"vars(pytest_plugin)['program_command'] = lambda *words: [{str(program)!r}, *words]\n"
        )
        (tmp_path / "pytest.ini").write_text(
            "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
        )
        # Where this program is installed without its metadata, the plug-in is named by hand.
        known = any(entry.name == "bioeval" for entry in entry_points(group="pytest11"))
        loaded = [] if known else ["-p", "bioeval_tui.pytest_plugin"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:cov",
                *loaded],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
            env={**environment(tmp_path), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    said = done.stdout
    assert "2 passed" not in said, "the first example's bar is above what the rehearsal reaches"
    assert (
        "test_it_sets_the_reminder_when_it_knows_the_facts" not in said.partition("FAILURES")[2]
    ), said
    assert "the mean of both conditions scored 0.75, the threshold is 0.8" in said
    assert "could not run (exit 2)" in said
    assert "nothing.yml" in said
    assert "the score could not be measured" in said
    assert "without the facts: no reminder is set without a time zone (failed)" in said
    assert "Traceback" not in said
    assert "4 failed, 1 passed" in said
