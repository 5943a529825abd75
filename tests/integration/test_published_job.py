"""The job of the published README with the sample agent, real HTTP, and a local server for the
models.
"""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from bioeval_tui.graphs.embedded import EmbeddedGraph, available
from bioeval_tui.jobs.models import EvaluationJob, ScorerConfig
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.result import load_run
from bioeval_tui.sample.agent.service import run_sample_agent
from tests.servers import openai_server as srv
from tests.servers.models import StandIns
from tests.servers.whole_runs import (
    CLEARING,
    PUBLISHED_JOB,
    WholeRun,
    hold,
    published_script,
    uplifts,
    with_models,
)

DOCS = Path(__file__).parents[2] / "docs" / "evaluate-your-agent.md"
pytestmark = pytest.mark.skipif(bool(available()), reason=str(available()))


@asynccontextmanager
async def sample_agent(folder: Path) -> AsyncIterator[dict[str, Any]]:
    """Serve the sample agent on the embedded graph of the run's data folder; give the run's
    options.
    """
    graph = EmbeddedGraph(folder / "data" / "graph.db")
    (folder / "data").mkdir()
    try:
        async with run_sample_agent(graph, tokens_per_second=0) as running:
            yield {"agent_url": running.url, "graph": "embedded", "judge_model": "judge-1"}
    finally:
        await graph.aclose()


async def published(folder: Path, text: str, models: StandIns, **spec: Any) -> WholeRun:
    async with srv.OpenAIServer(otherwise=models) as server, sample_agent(folder) as options:
        return await hold(text, folder, settings=with_models(server.url), **options, **spec)


def statuses(run: WholeRun, condition: str) -> list[str]:
    return [check["status"] for check in run.result["conditions"][condition]["assertions"]]


async def test_the_published_job_runs_unchanged_though_models_rate_limit_or_answer_nonsense(
    tmp_path: Path,
) -> None:
    models = StandIns(
        published_script(),
        evaluator_first=[srv.status(429, "slow down", retry_after="0")],
        judge_first=[srv.say("They did well, I would say.")],
    )
    run = await published(tmp_path, PUBLISHED_JOB, models)
    # timing 1, each task 0.5, both assertions hold only with the time zone: (1 + 2·0.5 + 4·a) / 7
    assert run.state.scores() == {"withheld": 0.29, "supplied": 0.86}
    assert statuses(run, "supplied") == ["passed", "passed"]
    assert statuses(run, "withheld") == ["failed", "failed"]
    assert run.result["clean"], run.result["warnings"]
    assert uplifts(run) == ("+0.57", pytest.approx(0.57))
    (failed,) = run.of("request_failed")
    assert (failed.peer, failed.status, failed.counted) == ("evaluator", 429, False)
    assert len(models.judge_prompts) == 3, "the malformed verdict was asked for again"
    card = Console(file=io.StringIO(), width=100)
    print_score_card(load_run(run.path), card)
    printed = card.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"tone \(not in the score\) +0.75 +0.75", printed)
    assert {delta.message % 2 for delta in run.of("message_delta") if delta.text} == {0, 1}, (
        "both sides stream"
    )


async def test_a_score_from_models_that_refuse_is_not_measured_and_never_zero(
    tmp_path: Path,
) -> None:
    models = StandIns(
        published_script(),
        evaluator_first=[srv.refuse("I play nobody.")],
        judge_first=[srv.refuse("I judge nobody.")] * 3,
    )
    run = await published(tmp_path, PUBLISHED_JOB, models)
    assert run.state.scores() == {"withheld": None, "supplied": None}
    withheld, supplied = run.of("conversation_scored")
    assert "the model refused: I play nobody." in withheld.reason
    assert "the model refused: I judge nobody." in supplied.reason
    assert (withheld.fault, supplied.fault) == ("unclear", "unclear")
    assert run.result["score"] is None


async def test_the_published_job_on_a_graph_that_keeps_its_data_shows_no_uplift(
    tmp_path: Path,
) -> None:
    run = await published(
        tmp_path, PUBLISHED_JOB, StandIns(published_script()), order="supplied-first"
    )
    assert not run.result["clean"]
    assert statuses(run, "withheld") == ["passed", "passed"], "what the other conversation left"
    assert uplifts(run) == ("not shown", None)


async def test_the_published_job_with_a_setup_that_clears_the_graph_is_clean(
    tmp_path: Path,
) -> None:
    run = await published(
        tmp_path, PUBLISHED_JOB + CLEARING, StandIns(published_script()), order="supplied-first"
    )
    assert run.result["clean"], run.result["warnings"]
    assert run.state.scores() == {"withheld": 0.29, "supplied": 0.86}
    assert uplifts(run)[0] == "+0.57"


async def test_the_job_of_the_evaluate_your_agent_page_runs_as_a_rehearsal(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    job, *others = map(yaml.safe_load, blocks)
    offline = next(other for other in others if {"scorer", "assertions"} <= set(other))
    judged = next(other for other in others if set(other) == {"scorer"})
    EvaluationJob.model_validate(job, strict=False)
    assert ScorerConfig.model_validate(judged["scorer"]).api == "responses"
    async with sample_agent(tmp_path) as options:
        run = await hold(yaml.safe_dump({**job, **offline}), tmp_path, **options)
    assert run.result["clean"], run.result["warnings"]
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}, "the sample agent asks first"
    assert run.result["rehearsal"]
