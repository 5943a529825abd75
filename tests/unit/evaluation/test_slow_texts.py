"""A text on which a job's pattern takes too long is nobody's fault: no gate leaves its conversation
out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bioeval_tui.base.text import parse_json
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.offline import RulesJudge, ScriptedEvaluator
from bioeval_tui.peers.seams import EvaluatorView, JudgeView, PeerError
from bioeval_tui.protocols import TranscriptMessage
from bioeval_tui.record.events import EXCUSED

SLOW = "(a|aa)+$"
SAID = (TranscriptMessage(1, "user", "Hi"), TranscriptMessage(2, "assistant", "a" * 4_000 + "b"))


def job() -> EvaluationJob:
    return EvaluationJob.model_validate(
        {
            "target": {"user": "u", "chatbot": "b"},
            "aspirationalAverage": 1000.0,
            "tasks": ({"task": "Ask", "rules": ({"pattern": SLOW},)},),
            "facts": (),
            "evaluator": {"kind": "scripted", "lines": ({"say": "Well", "when": SLOW},)},
        }
    )


async def judged() -> Any:
    return await RulesJudge().score(JudgeView(job(), "supplied", SAID))


async def answered() -> Any:
    return [
        piece
        async for piece in ScriptedEvaluator(job()).speak(
            EvaluatorView(job(), "supplied", 1, (), SAID)
        )
    ]


@pytest.mark.parametrize("ask", [judged, answered])
def test_what_the_agents_text_may_be_behind_is_not_excused(ask: Any) -> None:
    with pytest.raises(PeerError, match="took longer than") as caught:
        asyncio.run(ask())
    assert caught.value.fault == "unclear"
    assert caught.value.fault not in EXCUSED


@pytest.mark.parametrize(
    "data",
    [b'{"id": "s-\xed\xa0\x80"}', '{"id": "s-\\ud800"}'.encode("utf-16"), '{"id": "s-\\uD800"}'],
)
def test_half_a_character_in_any_encoding_is_shown_as_a_picture(data: bytes | str) -> None:
    parse_json(data)["id"].encode()
