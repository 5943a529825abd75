"""`runs compare --fail-on-regression` on real runs: the same agent twice, and one that got
worse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bioeval_tui.statistics.intervals import FEWEST
from tests.integration.program import run, sample_agent
from tests.integration.test_first_light import JOBS


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A data folder with a job for the sample agent and one for an agent that sets no reminder; the
    first agent's URL.
    """
    folder = tmp_path_factory.mktemp("gate")
    job = yaml.safe_load((JOBS / "medication_reminder.yml").read_text("utf-8"))
    del job["setups"]
    job["assertions"] = [check for check in job["assertions"] if "cypher" not in check]
    (folder / "job.yml").write_text(yaml.safe_dump(job))
    job["target"] |= {"protocol": "python", "function": "forgetful:answer"}
    (folder / "worse.yml").write_text(yaml.safe_dump(job))
    (folder / "forgetful.py").write_text(
        "def answer(message):\n    return 'I have set no reminder.'\n"
    )
    with sample_agent(folder, "--tokens-per-second", "0") as url:
        yield folder, url


def evaluate(place: tuple[Path, str], job: str, *options: str) -> str:
    """Run the job; return the run's id."""
    folder, url = place
    at = ("--code", str(folder)) if job == "worse" else ("--agent-url", url)
    given = ("--rehearsal", "--headless", "--graph", "none", "--json")
    done = run("run", str(folder / f"{job}.yml"), *given, *at, *options, data_dir=folder)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return str(result["run_id"])


def test_a_new_job_and_the_examples_for_ci_ask_for_enough_trials(tmp_path: Path) -> None:
    job, page = tmp_path / "job.yml", Path(__file__).parents[2] / "docs" / "ci.md"
    assert run("new", str(job), "--yes", data_dir=tmp_path).returncode == 0
    for text in (job.read_text("utf-8"), page.read_text("utf-8")):
        asked = re.findall(r"\brepeat[ =](\d+)", text)
        assert asked
        assert all(int(trials) >= FEWEST for trials in asked)


def test_one_trial_of_the_same_agent_cannot_show_a_regression(place: tuple[Path, str]) -> None:
    first, second = evaluate(place, "job"), evaluate(place, "job")
    done = run("runs", "compare", first, second, "--fail-on-regression", data_dir=place[0])
    assert done.returncode == 3
    assert "cannot tell whether B is worse: 1 trial that both runs scored" in done.stderr
    assert "at least 5 trials of each run (--repeat 5) are needed" in done.stderr


@pytest.mark.long
def test_five_trials_tell_the_same_agent_from_a_worse_one(place: tuple[Path, str]) -> None:
    first, second = evaluate(place, "job", "--repeat", "5"), evaluate(place, "job", "--repeat", "5")
    same = run("runs", "compare", first, second, "--fail-on-regression", data_dir=place[0])
    assert (same.returncode, same.stderr) == (0, "")
    worse = evaluate(place, "worse", "--repeat", "5")
    fell = run("runs", "compare", first, worse, "--fail-on-regression", data_dir=place[0])
    assert fell.returncode == 1
    assert "the score fell" in fell.stdout
    # Every trial scores the same, which five pairs show, but not beyond all doubt.
    assert "in each of 5 pairs: worse (p 0.0" in fell.stdout
    assert "< 0.001" not in fell.stdout
