"""`demo --llm` as a user types it, with models behind a real HTTP server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bioeval_tui.jobs.loading import load_job
from tests.forked import completed
from tests.integration.program import environment
from tests.servers.models import StandIns
from tests.servers.openai_server import OpenAIServer

JOB = Path(__file__).parents[3] / "sample_jobs" / "medication_reminder.yml"
KEY = "anything"


async def test_the_demo_with_models_is_not_a_rehearsal(tmp_path: Path) -> None:
    models = StandIns(load_job(JOB).job, score=1.0)
    async with OpenAIServer(otherwise=models) as server:
        done = await asyncio.to_thread(
            completed, "demo", "--llm", "--headless", "--json",
            env={**environment(tmp_path), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert not result["rehearsal"]
    assert {name: held["end_reason"] for name, held in result["conditions"].items()} == {
        "withheld": "signed_off",
        "supplied": "signed_off",
    }
    assert {name: held["score"] for name, held in result["conditions"].items()} == {
        "withheld": 0.57,  # the judge is content; the assertion finds the reminder that was guessed
        "supplied": 1.0,
    }
    judged = sorted("sets no reminder without it" in prompt for prompt in models.judge_prompts)
    assert judged == [False, True], "the criteria of each condition are judged there"
    assert KEY not in done.stdout + done.stderr
