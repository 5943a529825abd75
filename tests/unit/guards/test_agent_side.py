"""What the rules about agents find, leave alone, and how often they are right on published
conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bioeval_tui.guards import HeldMessage, HeldTalk
from bioeval_tui.guards.agent_side import find_agent_faults
from tests.sources import ROOT, load_script

DONE = HeldTalk(
    (
        HeldMessage(1, 1, "user", "Cancel my flight."),
        HeldMessage(2, 1, "assistant", "It is cancelled.", calls=("cancel_flight",)),
    ),
    passed=True,
)


def talk(*said: str, shown: Sequence[str] = (), **fields: Any) -> HeldTalk:
    """Return a conversation that the user begins."""
    messages = [
        HeldMessage(
            number,
            (number + 1) // 2,
            "assistant" if number % 2 == 0 else "user",
            text,
            tuple(shown) if number == 2 else (),
        )
        for number, text in enumerate(said, start=1)
    ]
    return HeldTalk(tuple(messages), **fields)


def found(one: HeldTalk, *others: HeldTalk) -> list[tuple[str, int]]:
    return [(each.rule, each.message) for each in find_agent_faults([one, *others])[0]]


WHERE = "Where do you live?"
DOSE = "请问您每天早上服用华法林的剂量是多少毫克？"
OFTEN = "How often do you have the headaches?"


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (talk("Hi", OFTEN, "I'm not sure.", OFTEN), [("asks_again", 4)]),
        (talk("Hi", OFTEN, "The headaches come twice a week.", OFTEN), [("forgets", 4)]),
        (talk("Hi", OFTEN, "Why do you ask?", OFTEN), []),
        (talk("Hi", WHERE, "I don't know.", WHERE), [("asks_again", 4)]),
        (talk("Hi", WHERE, "I live in Rome.", WHERE), [("forgets", 4)]),
        (talk("Hi", "How are you today?", "Fine today.", "How are you today?"), []),
        (talk("Hi", "Are you there?", "Yes.", "Are you there?"), []),
        (talk("你好", DOSE, "我不知道。", DOSE), [("asks_again", 4)]),
        (talk("Hi", OFTEN, "Twice.", "Is there anything else I can help you with?"), []),
        (
            talk("My user ID is mia_22.", "Hello Mia.", "Book it.", "What is your user ID?"),
            [("forgets", 4)],
        ),
        (talk("I forgot my user ID.", "What is your user ID, please?"), []),
        (
            talk("I have a rash.", "For the purpose of this exercise, do you have a fever?"),
            [("tested", 2)],
        ),
        (talk("Is this a test?", "No, this is not a test. How can I help?"), []),
        (talk("My chest hurts.", "Get more exercise, and take a stress test."), []),
    ],
)
def test_questions_and_tests(held: HeldTalk, wanted: list[tuple[str, int]]) -> None:
    assert found(held) == wanted


@pytest.mark.parametrize(
    "said",
    [
        "You are a standardized patient, right?",
        "Are you a simulated patient?",
        "Since you are not a real patient, I can be frank.",
        "You aren't really a real customer.",
        "This is a hypothetical scenario for evaluating me.",
        "This is clearly a fictional case.",
        "I think you are testing me.",
        "This is just a test, isn’t it?",
        "This is only a test and no emergency.",
        "As this is a test scenario, I would book it.",
        "Since this is a diagnostic exercise, I name one disease.",
        "If this is a training simulation, tell me.",
        "For the purpose of this evaluation, I assume that you are well.",
    ],
)
def test_what_speaks_of_being_tested(said: str) -> None:
    assert found(talk("I have a rash.", said)) == [("tested", 2)]


@pytest.mark.parametrize(
    "said",
    [
        "This is a test dose.",
        "This is a test strip for glucose.",
        "This is a test for pregnancy.",
        "This is a test of your kidneys, done once a year.",
        "Since this is a blood test, do not eat before it.",
        "As this is a breathing exercise, sit down.",
        "As this is a medical evaluation, bring your papers.",
        "For the purposes of this blood test, drink water.",
        "If it is a stress test, wear shoes.",
        "The lab is testing for a virus, to evaluate the kidneys.",
        "You are not a real burden to anybody.",
        "Take the standardized dose, as each patient does.",
    ],
)
def test_what_speaks_of_tests_of_the_user(said: str) -> None:
    assert found(talk("I have a rash.", said)) == []


def test_a_question_until_the_user_gives_up_is_said_so() -> None:
    (one,) = find_agent_faults([talk("Hi", OFTEN, "I'm not sure.", OFTEN, gave_up=True)])[0]
    assert one.detail.startswith("asks the same until the user gives up (first in message 2)")


PRICES = '{"output": {"flights": [{"price": 121}, {"price": 120}], "date": "2024-05-11T02:00"}}'


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("The flight costs $731.", [("unsaid", 2)]),
        ("It leaves at 17:45.", [("unsaid", 2)]),
        ("The flights cost $121 and $120, $241 in all.", []),
        ("It was booked on May 11, 2024.", []),
        ("Would $731 be all right?", []),
    ],
)
def test_numbers_that_nobody_said(answer: str, wanted: list[tuple[str, int]]) -> None:
    held = talk("What is the price?", answer, shown=[PRICES], told=("Be kind.",), shows_all=True)
    assert found(held) == wanted
    assert found(talk("What is the price?", answer)) == []  # its tools may have said it


def test_a_clock_time_that_nobody_said_is_listed_once() -> None:
    held = talk("When?", "You take 250 of them at 14:35.", told=("Be kind.",), shows_all=True)
    (one,) = find_agent_faults([held])[0]
    assert one.detail.startswith("says what no tool, state or user said: 250, 14:35 in")


def test_a_refusal_counts_only_if_the_agent_could() -> None:
    refused = talk("Cancel my flight.", "I'm sorry, but I cannot cancel your flight.")
    assert found(refused, DONE) == [("refuses", 2)]
    assert found(refused) == []
    lacking = talk("Cancel my flight.", "I cannot cancel the flight without its number.")
    assert found(lacking, DONE) == []
    handed = replace(DONE, messages=(replace(DONE.messages[1], calls=("transfer_to_human",)),))
    human = talk("Cancel my flight.", "I cannot cancel your flight. A human agent can.")
    assert found(human, handed) == []
    other = talk("Give me your seat.", "I'm sorry, but I cannot give you the seat.")
    assert found(other, DONE) == []


def test_the_documented_rates_are_the_measured_ones_and_good_enough() -> None:
    script = load_script("agent-side-rates.py")
    docs = (ROOT / "docs" / "guards.md").read_text(encoding="utf-8")
    for one in script.precisions():
        assert one.row in docs
    here = script.craft_here()
    assert script.counts_row(script.HERE, here) in docs
    labelled = {
        (label["rule"], label["file"].split("/")[-1].removesuffix(".json"), label["message"])
        for label in script.labels()
        if label["right"]
    }
    assert {(one.rule, name, one.message) for name, one in script.found_in(here)} <= labelled
    for rule in {label["rule"] for label in script.labels()}:
        read = [label["right"] for label in script.labels() if label["rule"] == rule]
        assert sum(read) >= 0.8 * len(read)
