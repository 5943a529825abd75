"""A person's messages are sent as typed."""

import asyncio

from bioeval_tui.peers.offline import HumanEvaluator
from bioeval_tui.protocols import EvaluatorView, Utterance
from tests.unit.peers.offline.test_scripted_evaluator import job


async def said(evaluator):
    pieces = [piece async for piece in evaluator.speak(EvaluatorView(job(), "withheld", 1, (), ()))]
    assert isinstance(pieces[-1], Utterance)
    return pieces[-1].content


async def test_typed_messages_are_cleaned_and_blank_lines_skipped():
    person = HumanEvaluator()
    for text in ("", "  ", " Hello\x1b[31m there "):
        person.say(text)
    assert await said(person) == "Hello␛ there"


async def test_the_evaluator_waits_for_the_person():
    person = HumanEvaluator()
    speaking = asyncio.create_task(said(person))
    await asyncio.sleep(0)
    assert not speaking.done()
    person.say("Here I am")
    assert await speaking == "Here I am"
