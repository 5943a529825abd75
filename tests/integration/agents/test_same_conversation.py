"""The same conversation over every protocol gives the same transcript, scores and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from bioeval_tui.formats import paired
from bioeval_tui.peers.http import BoundedTransport
from bioeval_tui.peers.traces import Traces
from tests.servers.one_conversation import PROTOCOLS, served
from tests.servers.whole_runs import WholeRun, hold

JOB: dict[str, Any] = {
    "target": {"user": "ada", "chatbot": "bot"},
    "aspirationalAverage": 60_000,
    "greetings": ["Hello"],
    "tasks": [
        {
            "task": "Get a reminder",
            "rules": [{"pattern": "i'll remind you", "reason": "confirmed it"}],
        }
    ],
    "facts": ["The user lives in Sydney"],
    "evaluator": {
        "kind": "scripted",
        "lines": [
            {"say": "Could you remind me to take 5 mg of warfarin at nine?"},
            {"say": "I live in Sydney.", "when": "time zone do you", "fact": 1},
            {"say": "I would rather not say.", "when": "time zone do you"},
        ],
    },
    "scorer": {"kind": "rules"},
    "assertions": [
        {"expression": 'evaluation.functionCalls.any { it.function == "createReminder" }'},
        {
            "toolCalls": {
                "calls": [
                    "lookUpDrug",
                    "lookUpZone",
                    {"name": "createReminder", "arguments": {"dose": 5}},
                ]
            }
        },
        {
            "toolCalls": {
                "mustCall": ["lookUpDrug"],
                "mustNotCall": [{"name": "createReminder", "arguments": {"dose": 50}}],
                "maxCalls": 3,
                "noErrors": True,
            }
        },
    ],
}


async def held(protocol: str, folder: Path) -> WholeRun:
    async with served(protocol, folder) as (target, options):
        # Otherwise a run is clean by these protocols, and not known to be by the others.
        remembers = {"remembers": True} if target.get("protocol") in ("openai", "ag-ui") else {}
        job = {
            **JOB,
            "target": {**JOB["target"], **target, **remembers},
            "telemetry": {"waitMs": 0},
        }
        return await hold(yaml.safe_dump(job), folder, graph="none", traces=Traces(), **options)


def told(run: WholeRun) -> dict[str, Any]:
    """Return what the run came to, without times and ids."""
    found: dict[str, Any] = {}
    for key, talk in run.state.conversations.items():
        assert talk.score is not None
        found[key.condition] = {
            "transcript": [(m.role, m.text) for m in talk.messages],
            "calls": [
                (
                    m.message,
                    request and request["function"]["name"],
                    request and request["arguments"],
                    result,
                )
                for m in talk.messages
                for request, result in paired(m.generation)
            ],
            "score": talk.score.score,
            "parts": [(part.name, part.value) for part in talk.score.parts],
            "checks": {
                n: (check.status, check.observed, check.error)
                for n, check in talk.final_checks.items()
            },
            "ended": talk.ended and talk.ended.reason,
        }
    return {"conversations": found, "report": without_what_differs(run.result)}


OF_THE_RUN = (
    "run_id",
    "started_at",
    "agent",
    "model",
    "versions",
    "cost",
    "latencies",
    "average_latency_ms",
    "command",
)
"""What the report says of this very run and of the protocol: its time and place, and tokens where
they are told.
"""


def without_what_differs(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_what_differs(item) for key, item in value.items() if key not in OF_THE_RUN
        }
    if isinstance(value, list | tuple):
        return [without_what_differs(item) for item in value if not says_that_we_were_stopped(item)]
    return value


def says_that_we_were_stopped(item: Any) -> bool:
    """Whether this is the warning of a run on a machine that gave this program no time."""
    return isinstance(item, str) and "this program did not run" in item


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    import asyncio

    return told(asyncio.run(held("rest", tmp_path_factory.mktemp("rest"))))


def test_the_compared_conversation_has_tool_calls_and_state(expected: dict[str, Any]) -> None:
    supplied, withheld = (expected["conversations"][side] for side in ("supplied", "withheld"))
    assert [len(side["calls"]) for side in (withheld, supplied)] == [1, 3]
    assert [status for status, _, _ in supplied["checks"].values()] == ["passed"] * 3
    assert [status for status, _, _ in withheld["checks"].values()] == [
        "failed",
        "failed",
        "passed",
    ]
    assert supplied["score"] > withheld["score"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_protocol_records_the_same_conversation(
    protocol: str, tmp_path: Path, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: set[str] = set()
    send = BoundedTransport.handle_async_request

    async def noting(transport: BoundedTransport, request: httpx2.Request) -> httpx2.Response:
        response = await send(transport, request)
        sent.add(request.headers.get("traceparent", ""))
        return response

    monkeypatch.setattr(BoundedTransport, "handle_async_request", noting)
    run = await held(protocol, tmp_path)
    assert told(run) == expected
    if protocol != "python":  # a function finds it in its conversation: test_sdks.py
        given = [
            event.traceparent for event in run.of("message_started") if event.role == "assistant"
        ]
        assert len(set(given)) == len(given)
        assert sent - {""} == set(given), (
            "each message has a trace of its own, and nothing else has one"
        )
    assert any(event.text for event in run.of("message_delta")), "it streams"
