"""How assertions see a transcript: as published, or as version 0.1 did when the job says so."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.evaluation.conversation.transcript import SpokenTranscript
from bioeval_tui.protocols import TranscriptMessage
from tests.unit.evaluation.conversation.fakes import job


def seen(**changes: Any) -> list[tuple[str, int]]:
    transcript = SpokenTranscript(job(**changes), "supplied", 1, None)
    transcript.messages = [
        TranscriptMessage(1, "user", "Hello"),
        TranscriptMessage(2, "assistant", "Hi", 900.4),
        TranscriptMessage(3, "user", "Thanks.", 700.0),
        TranscriptMessage(4, "assistant", "Bye", 300.0),
    ]
    transcript.signoff = TranscriptMessage(3, "user", "Thanks. So Long", 700.0)
    return [(part["content"], part["timeTakenMillis"]) for part in transcript.as_evaluation()["transcript"]]


@pytest.mark.parametrize("changes", [{}, {"compat": "embabel"}])
def test_the_transcript_ends_with_the_sign_off_and_has_the_evaluators_time_as_published(
    changes: dict[str, str],
) -> None:
    wanted = [("Hello", 0), ("Hi", 900), ("Thanks.", 700), ("Bye", 300), ("Thanks. So Long", 700)]
    assert seen(**changes) == wanted


def test_a_job_of_version_0_1_sees_only_sent_messages_and_the_agents_time() -> None:
    assert seen(compat="v0.1") == [("Hello", 0), ("Hi", 900), ("Thanks.", 0), ("Bye", 300)]
