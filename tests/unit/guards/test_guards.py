"""Each guard on its own: what it catches, what it lets pass, and what the evaluator is told."""

import pytest

from bioeval_tui.guards import RULES, check
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.protocols import EvaluatorView, TranscriptMessage

JOB = EvaluationJob.model_validate(
    {
        "target": {"user": "Ann", "chatbot": "Bernie"},
        "aspirationalAverage": 1000.0,
        "tasks": (
            {"task": "Ask the chatbot to set a daily reminder to take a pill"},
            {"task": "Ask what the weather is like"},
        ),
        "facts": ("The user takes the pill at 8:15 pm", "The user lives in Zurich"),
        "evaluator": {"signoff": "Over and out", "voice": "You speak like a cheerful sailor of old times"},
    }
)
OPENING = ("Hi", "Hello, what can I do for you?")


def found(message, *said, supplied=False):
    roles = ("user", "assistant")
    transcript = [TranscriptMessage(i + 1, roles[i % 2], text) for i, text in enumerate(said or OPENING)]
    condition = "supplied" if supplied else "withheld"
    violations = check(EvaluatorView(JOB, condition, 1, JOB.facts if supplied else (), transcript), message)
    assert all(violation.rule in RULES and violation.detail and violation.note for violation in violations)
    return [violation.rule for violation in violations]


def test_an_ordinary_message_passes():
    assert found("Could you remind me every day to take my pill?") == []


def test_a_fact_may_be_given_where_it_is_supplied_and_was_asked_for():
    asked = (*OPENING, "Remind me of my pill every day", "At what time?")
    assert found("At 8:15 pm.", *asked, supplied=True) == []
    assert found("At 8:15 pm, and I live in Zurich.", *asked, supplied=True) == ["fact_unasked"]
    assert found("At 8:15 pm.", *asked) == ["fact_withheld"]


def test_an_answer_to_an_earlier_question_is_not_volunteered():
    asked = (*OPENING, "Remind me of my pill", "At what time?", "Why do you need that?", "To set it right.")
    assert found("OK, at 8:15 pm.", *asked, supplied=True) == []


def test_the_end_must_wait_until_every_task_was_brought_up():
    done = (*OPENING, "Remind me of my pill every day", "Done.")
    assert found("Over and out", *done) == ["early_signoff"]
    assert found("Over and out", *done, "And what is the weather like?", "Sunny.") == []
    assert found("What's the weather like? Over and out", *done) == []
    assert found("Thanks, bye!", *done) == ["early_signoff"]


@pytest.mark.parametrize(
    "message",
    [
        "At 7:30",
        "On Friday",
        "In Paris",
        "I take 20 mg",
        "Ask Otto",
        "It is BRCA2",
        "I take ibuprofen",
        "On 4 May",
    ],
)
def test_specifics_that_nobody_gave_are_made_up(message):
    assert found(message) == ["invention"]


def test_what_the_agent_said_may_be_taken_up():
    heard = (*OPENING, "Remind me of my pill", "Shall I use 7:30, on Friday, Paris time, as Otto does?")
    assert found("Yes, half past seven on Friday in Paris, like Otto.", *heard) == []


@pytest.mark.parametrize(
    "message",
    ["Two things, please.", "I have one.", "Give me a second.", "OK, thanks Bernie!", "PLEASE hurry"],
)
def test_small_talk_makes_nothing_up(message):
    assert found(message) == []


@pytest.mark.parametrize(
    "message",
    [
        "How can I help you today?",
        "I've set your reminder.",
        "Bernie: at what time?",
        "Hello, what can I do for you?",
    ],
)
def test_speaking_as_the_assistant_is_a_role_swap(message):
    assert found(message) == ["role_swap"]


@pytest.mark.parametrize(
    "message",
    [
        "<think>hm</think> Hi",
        "My instructions say hello",
        "I speak like a cheerful sailor of old times",
        "*waves* Ahoy",
    ],
)
def test_reasoning_and_prompt_text_are_leaks(message):
    assert found(message) == ["leak"]


def test_saying_the_same_again_is_a_repetition_but_short_words_are_not():
    said = (*OPENING, "Could you remind me to take my pill?", "Sorry?", "yes please", "What?")
    assert found("could you remind me to take my pill", *said) == ["repetition"]
    assert found("Yes please", *said) == []


@pytest.mark.parametrize(
    "message",
    ["", " ", "\n" * 1000, "(" * 20_000, "a " * 50_000, "1" * 50_000, "A-1" * 20_000, "I've set " * 5000],
)
@pytest.mark.timeout(20)
def test_odd_messages_are_checked_in_bounded_time(message):
    assert isinstance(found(message), list)


def test_as_many_requests_as_tasks_are_enough_whatever_their_words():
    done = (*OPENING, "Remind me of my pill every day", "Done.")
    assert found("Over and out", *done) == ["early_signoff"]
    assert found("Over and out", *done, "Will I need an umbrella?", "No.") == []
