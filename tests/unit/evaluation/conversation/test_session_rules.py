"""Whose session a conversation is in: each rule at its threshold, and two at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bioeval_tui.evaluation.conversation.sessions import OverheardAgent, Session, Sessions
from bioeval_tui.protocols import Reply
from tests.unit.evaluation.conversation.fakes import FakeAgent

NUTS = "I am allergic to nuts"
Said = tuple[str, str]


class Talk(Session):
    """A conversation that keeps what its run is told."""

    def __init__(
        self, shared: Sessions, title: str = "this one", *, parallel: bool = False
    ) -> None:
        self.warned: list[str] = []
        super().__init__(
            "run", title, "agent", shared, lambda _, why: self.warned.append(why), parallel=parallel
        )

    def hears(
        self, *sent: str, history: Sequence[tuple[str, str]], answer: str = "ok"
    ) -> list[str]:
        """Send these messages, and take one answer; return what was told."""
        for content in sent:
            self.sends(content)
        self.answered(Reply(answer, 0.0, 1.0, history=history))  # type: ignore[arg-type]
        return self.warned


@pytest.mark.parametrize(("length", "found"), [(19, 0), (20, 1), (21, 1)])
def test_an_answer_of_another_conversation_counts_from_twenty_characters(
    length: int, found: int
) -> None:
    shared, said = Sessions(), "y" * length
    history = [("assistant", said), ("user", "Hello")]
    Talk(shared, "the first").hears("Hello", history=history, answer=said)
    told = Talk(shared).hears("Hello", history=history)
    assert len(told) == found
    assert all("but in the first" in one for one in told)


@pytest.mark.parametrize(
    ("theirs", "found"), [("abcdefghij", 0), ("abcdefuvwx", 0), ("abcdeuvwxy", 1)]
)
def test_a_message_that_is_six_tenths_the_sent_one_is_it(theirs: str, found: int) -> None:
    assert len(Talk(Sessions()).hears("abcdefghij", history=[("user", theirs)])) == found


@pytest.mark.parametrize(("between", "found"), [(397, 1), (398, 1), (399, 0)])
def test_the_last_four_hundred_messages_of_a_history_are_compared(between: int, found: int) -> None:
    history = [("user", NUTS), *[("assistant", "ok")] * between, ("user", "Hello")]
    assert len(Talk(Sessions()).hears("Hello", history=history)) == found


@pytest.mark.parametrize(("notes", "found"), [(50, 0), (51, 0), (52, 1)])
def test_so_many_notes_of_the_agent_may_follow_a_message(notes: int, found: int) -> None:
    """Twice as many messages as were sent, and fifty more, are compared."""
    history = [("user", "Hello"), *(("user", f"row {n}") for n in range(notes))]
    assert len(Talk(Sessions()).hears("Hello", history=history)) == found


@pytest.mark.parametrize(
    ("sent", "times", "found"), [(1, 1, 0), (1, 2, 1), (2, 1, 0), (2, 2, 0), (2, 3, 1)]
)
def test_a_message_may_be_noted_once_for_each_attempt(sent: int, times: int, found: int) -> None:
    told = Talk(Sessions()).hears(*["Hello"] * sent, history=[("user", "Hello")] * times)
    assert len(told) == found


@pytest.mark.parametrize(
    ("is_open", "parallel", "mixed"),
    [
        (True, False, (True, True)), (True, True, (True, True)),
        (False, True, (False, True)), (False, False, (False, False)),
    ],
)  # fmt: skip
def test_conversations_in_one_session_are_mixed_if_they_are_held_at_once(
    is_open: bool, parallel: bool, mixed: tuple[bool, bool]
) -> None:
    shared = Sessions()
    first, second = Talk(shared, "the first"), Talk(shared, parallel=parallel)
    first.named("s")
    first.named("s")  # each answer says it
    if not is_open:
        first.end()
    second.named("s")
    assert (bool(first.mixed), bool(second.mixed)) == mixed
    assert (len(first.warned), len(second.warned)) == (0, 1)


EARLIER = [("user", "What may I eat?"), ("assistant", "Anything, I think")]
"""An earlier conversation that a job gives the agent as history."""


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ([*EARLIER, ("user", "Hello")], 0),
        ([("user", "Hello")], 0),
        # what was said before the earlier conversation is of another one, as before a message
        ([("user", NUTS), *EARLIER, ("user", "Hello")], 1),
        ([("user", "I see a dentist"), ("user", NUTS), *EARLIER, ("user", "Hello")], 1),
        # a text of the job for its knowledge service may be anywhere
        ([("user", "Nuts are seeds"), *EARLIER, ("user", "Hello")], 0),
        ([*EARLIER, ("user", "Nuts are seeds"), ("user", "Hello")], 0),
    ],
)
async def test_a_conversation_begins_with_the_earlier_one_that_the_agent_keeps(
    history: list[Said], found: int
) -> None:
    talk = Talk(Sessions())
    agent = OverheardAgent(FakeAgent(history_is_kept=True), talk)
    await agent.seed_text("Nuts are seeds")
    for role, content in EARLIER:
        await agent.seed_history(role, content)  # type: ignore[arg-type]
    assert len(talk.hears("Hello", history=history)) == found
