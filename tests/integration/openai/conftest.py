"""A model server for each test, and jobs that use it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.protocols import TranscriptMessage
from tests.servers.openai_server import OpenAIServer

FACT = "The user takes the pill at 8:15 pm"


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as running:
        yield running


def make_job(**parts: Any) -> EvaluationJob:
    return EvaluationJob.model_validate(
        {
            "target": {"user": "Ann", "chatbot": "Bot"},
            "aspirationalAverage": 1000.0,
            "tasks": (
                {"task": "Ask for a reminder", "acceptanceCriteria": "CRITERION"},
                {"task": "Ask what it costs"},
            ),
            "facts": (FACT,),
            **parts,
        }
    )


@pytest.fixture
def job() -> EvaluationJob:
    return make_job()


@pytest.fixture
def transcript() -> list[TranscriptMessage]:
    said = (
        "Hi",
        "Hello, how can I help?",
        "Remind me to take my pill",
        "Done: “reminder set”. It costs 3 euros.",
    )
    return [
        TranscriptMessage(i + 1, ("user", "assistant")[i % 2], text) for i, text in enumerate(said)
    ]
