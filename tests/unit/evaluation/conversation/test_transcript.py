"""How assertions see a transcript: as published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from bioeval_tui.peers.transcript import SpokenTranscript
from bioeval_tui.protocols import TranscriptMessage
from tests.unit.evaluation.conversation.fakes import job
from tests.unit.peers.traces.spans import span, tool
from tests.unit.peers.traces.test_joined import LONG_S, Recorded


def seen(**changes: Any) -> list[tuple[str, int]]:
    transcript = SpokenTranscript(job(**changes), "supplied", 1, None)
    transcript.messages = [
        TranscriptMessage(1, "user", "Hello"),
        TranscriptMessage(2, "assistant", "Hi", 900.4),
        TranscriptMessage(3, "user", "Thanks.", 700.0),
        TranscriptMessage(4, "assistant", "Bye", 300.0),
    ]
    transcript.signoff = TranscriptMessage(3, "user", "Thanks. So Long", 700.0)
    return [
        (part["content"], part["timeTakenMillis"])
        for part in transcript.as_evaluation()["transcript"]
    ]


@pytest.mark.parametrize("changes", [{}, {"compat": "embabel"}])
def test_the_transcript_ends_with_the_sign_off_and_has_the_evaluators_time_as_published(
    changes: dict[str, str],
) -> None:
    wanted = [("Hello", 0), ("Hi", 900), ("Thanks.", 700), ("Bye", 300), ("Thanks. So Long", 700)]
    assert seen(**changes) == wanted


READS = {"expression": "evaluation.transcript.none { it.objectContext != null }"}


@pytest.mark.parametrize(("assertions", "kept"), [([READS], True), ([], False)])
def test_an_answer_has_the_state_after_it_only_where_an_assertion_reads_it(
    assertions: list[dict[str, str]], kept: bool
) -> None:
    transcript = SpokenTranscript(job(assertions=assertions), "supplied", 1, None)
    states = [{"context": "", "resources": [{"id": str(turn)}]} for turn in range(2)]
    for turn, state in enumerate(states):
        transcript.messages += [
            TranscriptMessage(2 * turn, "user", "Q"),
            TranscriptMessage(2 * turn + 1, "assistant", "A"),
        ]
        transcript.as_evaluation()  # an answer may be read before the agent is observed
        transcript.note_state(state)
    messages = transcript.as_evaluation()["transcript"]
    wanted = [None, states[0], None, states[1]] if kept else [None] * 4
    assert [message.get("objectContext") for message in messages] == wanted


CALL = {"request": {"function": {"name": "look"}, "arguments": {"n": 1}}}


@pytest.mark.parametrize("seed", range(20))
def test_a_transcript_that_grows_is_seen_as_if_it_were_read_whole(seed: int) -> None:
    random, traced = Random(seed), Recorded(LONG_S)
    transcript = SpokenTranscript(job(), "supplied", 1, None)
    transcript.traces = traced.talk if seed % 4 else None
    attempts: list[tuple[int, Any]] = []
    for turn in range(1, 13):
        transcript.messages.append(TranscriptMessage(2 * turn - 1, "user", f"Question {turn}", 5.0))
        for _ in range(random.randint(1, 2)):  # a failed attempt, too
            attempts.append((turn, traced.begin(2 * turn)))
        generation = (CALL, {"output": turn}) if random.random() < 0.4 else ()
        transcript.messages.append(
            TranscriptMessage(2 * turn, "assistant", "A", 9.0, generation=generation)
        )
        for number in range(random.randint(0, 3)):
            came, ids = random.choice(attempts[-6:])
            name = random.choice(["look", "book"])
            spans = [tool(100 * turn + number, name, {"n": came}, "done", parent=99), span(99)]
            traced.come(ids, *spans[random.randint(0, 1) :])
        if random.random() < 0.8:
            assert both(transcript)[0] == both(transcript)[1]
    transcript.signoff = TranscriptMessage(25, "user", "Bye. So Long", 7.0)
    before, _ = both(transcript)
    transcript.settle()
    assert before == both(transcript)[0] == both(transcript)[1]


def both(transcript: SpokenTranscript) -> tuple[Any, Any]:
    """Return what assertions see of a transcript that has been read before, and of one that is read
    for the first time.
    """
    anew = SpokenTranscript(
        transcript.job, transcript.condition, transcript.trial, transcript.model
    )
    seen = transcript.as_evaluation(), transcript.untraced_turns
    anew.messages, anew.traces, anew.signoff = (
        transcript.messages,
        transcript.traces,
        transcript.signoff,
    )
    anew._untraced = transcript._untraced
    return seen, (anew.as_evaluation(), anew.untraced_turns)


class Counted(Mapping[str, Any]):
    """An event that counts how often it is read."""

    def __init__(self, reads: Counter[int], number: int) -> None:
        self._reads, self._number = reads, number

    def __getitem__(self, key: str) -> Any:
        return CALL[key]

    def __iter__(self) -> Iterator[str]:
        self._reads[self._number] += 1
        return iter(CALL)

    def __len__(self) -> int:
        return len(CALL)


@pytest.mark.parametrize("with_spans", [False, True])
def test_each_message_is_read_once_however_often_assertions_are_checked(with_spans: bool) -> None:
    reads: Counter[int] = Counter()
    traced = Recorded(LONG_S)
    transcript = SpokenTranscript(job(), "supplied", 1, None)
    transcript.traces = traced.talk if with_spans else None
    for number in range(1, 101):
        ids = traced.begin(number)
        transcript.messages.append(
            TranscriptMessage(number, "assistant", "A", 9.0, generation=(Counted(reads, number),))
        )
        transcript.as_evaluation()
        traced.come(ids, span(number))
        assert len(transcript.as_evaluation()["functionCalls"]) == number
        assert transcript.untraced_turns == ()
    assert max(reads.values()) <= 2
