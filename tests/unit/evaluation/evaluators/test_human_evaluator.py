"""A person's messages are sent as typed, and ending the conversation is the sign-off."""

import asyncio

from bioeval_tui.evaluation.offline import HumanEvaluator, TypedLines
from bioeval_tui.protocols import EvaluatorView, Utterance
from tests.unit.evaluation.evaluators.test_scripted_evaluator import job


async def said(evaluator):
    pieces = [piece async for piece in evaluator.speak(EvaluatorView(job(), "withheld", 1, (), ()))]
    assert isinstance(pieces[-1], Utterance)
    return pieces[-1].content


async def test_typed_messages_are_cleaned_and_blank_lines_skipped():
    lines = TypedLines()
    for text in ("", "  ", " Hello\x1b[31m there "):
        lines.say(text)
    assert await said(HumanEvaluator(job(), lines)) == "Hello␛ there"


async def test_ending_the_conversation_sends_the_sign_off():
    lines = TypedLines()
    lines.end()
    assert await said(HumanEvaluator(job(), lines)) == job().evaluator.signoff


async def test_the_evaluator_waits_for_the_person_and_says_so():
    lines = TypedLines()
    speaking = asyncio.create_task(said(HumanEvaluator(job(), lines)))
    await lines.waiting_for.wait()
    assert not speaking.done()
    lines.say("Here I am")
    assert await speaking == "Here I am"
    assert not lines.waiting_for.is_set()
