"""In every sample job whose facts are withheld, asking beats guessing, for a reason that the score
names.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from bioeval_tui.sample.agent.service import run_sample_agent
from bioeval_tui.sample.paths import sample_jobs
from tests.servers.whole_runs import hold

REASONS = {
    "medication_reminder": "waited for the time zone before setting a reminder",
    "drug_interaction": "waited for the other drugs before calling it safe",
    "cohort_question": "waited for the age limit before counting anybody",
    "variant_triage": "waited for the exact variant before classifying one",
}


@pytest.mark.long
@pytest.mark.parametrize("name", REASONS)
async def test_a_careful_agent_beats_one_that_guesses(name: str, tmp_path: Path) -> None:
    scores, reasons = {}, {}
    for guesses in (False, True):
        folder = tmp_path / str(guesses)
        folder.mkdir()
        async with run_sample_agent(guesses=guesses, tokens_per_second=0) as running:
            job = yaml.safe_load((sample_jobs() / f"{name}.yml").read_text(encoding="utf-8"))
            job.pop("setups", None)  # here is no graph
            job["assertions"] = [one for one in job["assertions"] if "cypher" not in one]
            text = yaml.safe_dump(job)
            done = await hold(text, folder, agent_url=running.url, graph="none", mode="rehearsal")
        judged = done.of("transcript_scored", "withheld")[0].tasks[0]
        scores[guesses], reasons[guesses] = judged.score, judged.reason
        with_facts = done.of("transcript_scored", "supplied")[0].tasks[0]
        assert with_facts.score == 1
    assert scores[False] == 1
    assert scores[True] < 0.5
    assert f"No points for “{REASONS[name]}”" in reasons[True]
    assert f"No points for “{REASONS[name]}”" not in reasons[False]


def test_a_reason_reads_well_after_missing() -> None:
    for path in sample_jobs().glob("*.yml"):
        job = yaml.safe_load(path.read_text(encoding="utf-8"))
        reasons = [rule["reason"] for task in job["tasks"] for rule in task.get("rules", ())]
        negated = [
            reason
            for reason in reasons
            if re.search(r"\b(not|no|none|nobody|never|without)\b", reason)
        ]
        assert negated == [], path.name
