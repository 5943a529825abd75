"""Everything that a server charges for is counted: its own count of tokens is compared with what is
reported.
"""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from rich.console import Console

from bioeval_tui.formats import RunResult
from bioeval_tui.jobs.loading import job_from_data
from bioeval_tui.peers.prices import FILE_NAME, load_prices
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.console import print_comparison
from bioeval_tui.report.result import load_run
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.report.words import cost_words, token_words
from tests.documents import document_of
from tests.servers import openai_server as srv
from tests.servers.models import StandIns
from tests.servers.whole_runs import WholeRun, hold, with_models

JOB = """
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}
aspirationalAverage: 60000
maxTurns: 8
evaluator: {kind: llm, model: user-1}
scorer: {kind: llm, model: judge-1}
facts: []
tasks: [{task: Get a reminder for nine}]
"""
SCRIPT = {
    "target": {"user": "ada", "chatbot": "bot"},
    "aspirationalAverage": 60000,
    "facts": [],
    "tasks": [{"task": "Get a reminder for nine"}],
    "evaluator": {"kind": "scripted", "lines": [{"say": "Remind me at nine, please."}]},
}
DOLLARS = 1000
"""The price of a million tokens of each model."""
ANSWERS = {
    "void": srv.say("As an AI language model, I cannot set reminders for myself."),
    "cut-off": srv.say("Could you remind me of", finish="length"),
    "refused": srv.refuse("I would rather not."),
    "empty": srv.say(""),
    "only-thought": srv.say("<think>What would Ada say?</think>"),
    "prose": srv.say("Well done."),
    "hello": srv.say("Hello."),
    "breaks-off": srv.breaks_off("Could you"),
    "request": srv.say("Remind me at nine, please."),
    "garbage": srv.raw("nothing"),
    "failed": srv.status(500),
    "rejected": srv.status(400, "No."),
    "not-allowed": srv.status(401),
    "option-refused": srv.refuse_option("temperature"),
}
ROLES = {"user-1": "evaluator", "judge-1": "judge", "agent-1": "agent"}


class Till:
    """Models that count what they charge for: each answer, but no error status."""

    def __init__(self, **first: list[srv.Answer]) -> None:
        """`first` are the first answers of each role; then all keep to the script."""
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self._first = first
        self._others = StandIns(job_from_data(SCRIPT))

    def __call__(self, body: dict[str, Any]) -> srv.Answer:
        role = ROLES[body["model"]]
        self.asked[role] += 1
        first = self._first.get(role)
        given = (
            first.pop(0) if first else srv.say("Done.") if role == "agent" else self._others(body)
        )

        async def answer(
            server: srv.OpenAIServer, request: web.Request, body: dict[str, Any]
        ) -> web.StreamResponse:
            self.answered[role] += 1
            response = await given(server, request, body)
            self.answered[role] -= response.status != 200
            return response

        return answer

    def tokens(self, role: str) -> tuple[int, int]:
        """Return what a role's answers used."""
        number = self.answered[role]
        return srv.USAGE["prompt_tokens"] * number, srv.USAGE["completion_tokens"] * number

    @property
    def dollars(self) -> float:
        """What all answers cost."""
        return self.answered.total() * srv.USAGE["total_tokens"] * DOLLARS / 1e6


A_CALL = srv.USAGE["total_tokens"] * DOLLARS / 1e6


async def run(
    till: Till, folder: Path, *, job: str = JOB, **spec: Any
) -> tuple[WholeRun, RunResult]:
    """Run the job with these models, and return it as it was recorded and as reports load it."""
    prices = folder / "data" / FILE_NAME
    prices.parent.mkdir(mode=0o700, exist_ok=True)
    prices.write_text("".join(f"{model}: {{in: {DOLLARS}, out: {DOLLARS}}}\n" for model in ROLES))
    async with srv.OpenAIServer(otherwise=till) as server:
        whole = await hold(
            job.replace("URL", server.url), folder, settings=with_models(server.url), **spec
        )
    return whole, load_run(whole.path, prices=load_prices(prices.parent))


def reported(loaded: RunResult, role: str) -> tuple[int | None, int | None]:
    """Return a role's tokens as the printed result has them."""
    peer = run_document(loaded)["cost"]["peers"][role]
    return peer["tokens_in"], peer["tokens_out"]


@pytest.mark.parametrize(
    ("role", "first"),
    [
        ("evaluator", "void"),
        ("evaluator", "void void"),
        ("evaluator", "cut-off"),
        ("evaluator", "refused"),
        ("evaluator", "empty only-thought"),
        ("evaluator", "failed option-refused"),
        ("judge", "prose"),
        ("judge", "prose prose"),
        ("judge", "cut-off cut-off"),
        ("judge", "failed prose rejected"),
        ("agent", "cut-off"),
        ("agent", "hello empty"),
    ],
)
async def test_tokens_and_cost_are_those_that_the_server_counts(
    role: str, first: str, tmp_path: Path
) -> None:
    till = Till(**{role: [ANSWERS[name] for name in first.split()]})
    _, loaded = await run(till, tmp_path, trials=2)
    for one in till.answered:
        assert reported(loaded, one) == till.tokens(one), one
    cost = run_document(loaded)["cost"]
    assert cost["dollars"] == pytest.approx(till.dollars)
    assert json.loads(document_of("json", loaded))["runs"][0]["cost"] == cost


async def test_a_request_that_may_have_been_charged_makes_the_cost_unknown(tmp_path: Path) -> None:
    till = Till(evaluator=[ANSWERS["breaks-off"]], judge=[ANSWERS["garbage"]])
    _, loaded = await run(till, tmp_path)
    cost = run_document(loaded)["cost"]
    assert cost["dollars"] is None
    assert cost["peers"]["evaluator"]["why_unknown"] == "no token count in 1 of 3 answers"
    assert cost["peers"]["judge"] == {
        "tokens_in": None, "tokens_out": None, "uncounted": 1, "dollars": None, "known_dollars": 0,
        "why_unknown": "no token count in 1 of 1 answer",
    }  # fmt: skip
    known = (till.answered["agent"] + 2) * A_CALL
    assert cost["known_dollars"] == pytest.approx(known)
    assert cost_words_of(loaded) == f"at least ${known:.4f}; the judge's is unknown"
    page = document_of("md", loaded)
    assert "| with the facts | evaluator | 22 | 14 | \\$0.0360 |" in page
    assert "| without the facts | evaluator | unknown | unknown | unknown |" in page


async def test_a_message_that_this_program_cuts_off_makes_tokens_and_cost_lower_bounds(
    tmp_path: Path,
) -> None:
    endless = srv.endless(
        b"data: " + json.dumps(srv.chunk({"content": "and so on "})).encode() + b"\n\n"
    )
    till = Till(evaluator=[endless])
    _, loaded = await run(till, tmp_path)
    (unused,) = [each for talk in loaded.talks for each in talk.unused]
    assert (unused.peer, unused.answers, unused.uncounted) == ("evaluator", 1, 1)
    spent = summarise_runs([loaded])[0].spent
    counted = (till.answered["evaluator"] - 1) * srv.USAGE["prompt_tokens"]
    assert f"evaluator at least {counted} in, " in token_words(spent)
    assert cost_words(spent) == f"at least ${spent.known:.4f}"
    assert spent.known == pytest.approx((till.answered.total() - 1) * A_CALL)
    assert run_document(loaded)["cost"]["peers"]["evaluator"]["uncounted"] == 1
    side = compare(loaded, loaded)
    shown = StringIO()
    print_comparison(side, Console(file=shown, width=160))
    assert "at least 22 in, 14 out" in shown.getvalue()


async def test_nothing_is_charged_for_refused_requests(tmp_path: Path) -> None:
    _, loaded = await run(Till(evaluator=[ANSWERS["not-allowed"]] * 2), tmp_path)
    cost = run_document(loaded)["cost"]
    assert cost["peers"]["evaluator"]["dollars"] == cost["peers"]["judge"]["dollars"] == 0


@pytest.mark.parametrize(
    ("role", "first"), [("evaluator", "void request"), ("judge", "prose"), ("agent", "empty")]
)
@pytest.mark.parametrize("at_once", [1, 4])
async def test_a_limit_is_exceeded_by_the_calls_under_way_at_most(
    at_once: int, role: str, first: str, tmp_path: Path
) -> None:
    most = 20 * A_CALL
    till = Till(**{role: [ANSWERS[name] for name in first.split()] * 50})
    whole, loaded = await run(till, tmp_path, trials=20, max_cost=most, concurrency=at_once)
    assert most <= till.dollars + 1e-9
    assert till.dollars < most + at_once * A_CALL
    assert whole.state.ended is not None
    assert whole.state.ended.status == "cancelled"
    assert f"the limit is ${most:g}" in whole.state.ended.detail
    assert run_document(loaded)["cost"]["dollars"] == pytest.approx(till.dollars)
    assert cost_words_of(loaded) == f"${till.dollars:.4f}"


async def test_a_limit_of_calls_counts_every_request(tmp_path: Path) -> None:
    till = Till(evaluator=[ANSWERS["void"]] * 3, judge=[ANSWERS["failed"], ANSWERS["prose"]])
    whole, _ = await run(till, tmp_path, trials=9, max_calls=17)
    assert till.asked.total() == 17
    assert whole.state.ended is not None
    assert whole.state.ended.detail == "the limit is reached: 17 calls made, the limit is 17"


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("role", ["evaluator", "judge"])
async def test_a_quota_that_is_used_up_ends_the_batch_at_once(
    role: str, at_once: int, tmp_path: Path
) -> None:
    none_left = srv.status(
        429, "You exceeded your current quota.", error={"code": "insufficient_quota"}
    )
    good = [ANSWERS["request"]] if role == "evaluator" else []
    till = Till(**{role: [*good, *[none_left] * 100]})
    whole, _ = await run(till, tmp_path, trials=9, concurrency=at_once)
    ended = whole.state.ended
    assert ended is not None
    assert ended.status == "cancelled"
    assert ended.detail.startswith(f"the quota of the {role}'s model at 127.0.0.1")
    assert ended.detail.endswith(" is used up (429): You exceeded your current quota.")
    assert till.asked[role] - len(good) <= at_once, "no request is sent again"
    assert len(whole.state.conversations) <= at_once, "no further session is opened"
    assert all(talk.score and talk.score.cancelled for talk in whole.state.conversations.values())


def cost_words_of(loaded: RunResult) -> str:
    """Return the cost as a report prints it."""
    return cost_words(summarise_runs([loaded])[0].spent)
