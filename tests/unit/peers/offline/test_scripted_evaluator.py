"""A script is followed exactly, wherever the conversation starts."""

import pytest

from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.offline import ScriptedEvaluator
from bioeval_tui.protocols import Delta, EvaluatorView, PeerError, TranscriptMessage, Utterance

LINES = [
    {"say": "Please remind me to take my pill."},
    {"say": "At 8:15 pm.", "when": "what time|when should", "fact": 1},
    {"say": "I am not sure, pick one.", "when": "what time|when should"},
    {"say": "And a glass of water with it."},
]


def job(lines=LINES, **evaluator):
    return EvaluationJob.model_validate(
        {
            "target": {"user": "u", "chatbot": "c"},
            "aspirationalAverage": 1000.0,
            "tasks": (),
            "facts": ("The reminder is at 8:15 pm",),
            "evaluator": {"kind": "scripted", "lines": tuple(lines), **evaluator},
        }
    )


def view(*said, facts=()):
    roles = ("user", "assistant")
    transcript = [TranscriptMessage(i + 1, roles[i % 2], text) for i, text in enumerate(said)]
    return EvaluatorView(job(), "supplied" if facts else "withheld", 1, tuple(facts), transcript)


async def heard(evaluator, seen):
    *deltas, last = [piece async for piece in evaluator.speak(seen)]
    assert all(isinstance(delta, Delta) for delta in deltas)
    assert isinstance(last, Utterance)
    assert "".join(delta.text for delta in deltas) == last.content
    return last


async def test_script_lines_without_a_condition_are_sent_in_order():
    first = await heard(ScriptedEvaluator(job()), view("Hi", "Hello, how can I help?"))
    assert first.content == LINES[0]["say"]
    second = await heard(ScriptedEvaluator(job()), view("Hi", "Hello", LINES[0]["say"], "Done."))
    assert second.content == LINES[3]["say"]


async def test_a_script_tells_a_fact_when_asked_and_only_where_supplied():
    asked = ("Hi", "Hello", LINES[0]["say"], "At WHAT TIME?")
    supplied = await heard(
        ScriptedEvaluator(job()), view(*asked, facts=("The reminder is at 8:15 pm",))
    )
    assert (supplied.content, supplied.facts) == ("At 8:15 pm.", (1,))
    withheld = await heard(ScriptedEvaluator(job()), view(*asked))
    assert (withheld.content, withheld.facts) == ("I am not sure, pick one.", ())


async def test_a_script_signs_off_after_its_last_line():
    said = ("Hi", "Hello", LINES[0]["say"], "Done.", LINES[3]["say"], "Noted.")
    assert (await heard(ScriptedEvaluator(job()), view(*said))).content == job().evaluator.signoff


async def test_a_line_that_is_in_the_script_twice_is_sent_twice():
    twice = job([{"say": "Again."}, {"say": "Again."}])
    assert (
        await heard(ScriptedEvaluator(twice), view("Hi", "?", "Again.", "?"))
    ).content == "Again."
    done = view("Hi", "?", "Again.", "?", "Again.", "?")
    assert (await heard(ScriptedEvaluator(twice), done)).content == twice.evaluator.signoff


async def test_the_same_conversation_gives_the_same_line():
    evaluator = ScriptedEvaluator(job())
    seen = view("Hi", "Hello")
    assert (await heard(evaluator, seen)).content == (await heard(evaluator, seen)).content


@pytest.mark.parametrize(
    ("when", "says"),
    [("(unclosed", "cannot be read"), (r"(a|aa)+$", "took longer than")],
    ids=["bad", "slow"],
)
async def test_a_pattern_that_fails_is_the_evaluators_fault(when, says):
    evaluator = ScriptedEvaluator(job([{"say": "x", "when": when}]))
    with pytest.raises(PeerError, match=says) as caught:
        await heard(evaluator, view("Hi", "a" * 60 + "!"))
    assert caught.value.peer == "evaluator"
    assert not caught.value.retryable
