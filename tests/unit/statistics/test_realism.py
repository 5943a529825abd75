"""The simulated user's manner: independent of names, and different where it should be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bioeval_tui.guards.checks import messages_out_of_role
from bioeval_tui.report.manner import REFERENCES, UserTranscript, realism

PUBLISHED = Path(__file__).parents[2] / "golden" / "published"


def published() -> list[UserTranscript]:
    """Return 25 conversations of GPT-4 as a patient; the vignette's sentences are the facts."""
    rows = [
        json.loads(line)
        for line in (PUBLISHED / "craft-md-25.jsonl").read_text("utf-8").splitlines()
    ]
    return [
        UserTranscript(
            [(message["role"], message["content"]) for message in row["messages"]],
            facts=[fact for fact in re.split(r"(?<=[.!?])\s+", row["vignette"]) if fact.strip()],
            out_of_role=messages_out_of_role(
                [(message["role"], message["content"]) for message in row["messages"]]
            ),
        )
        for row in rows
    ]


def user(*turns: str, facts: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> UserTranscript:
    """Return a conversation in which the user says these."""
    messages = [
        message for turn in turns for message in (("assistant", "And? Maybe."), ("user", turn))
    ]
    return UserTranscript(messages, facts, names, messages_out_of_role(messages))


def test_each_realism_figure_equals_a_calculation_by_hand() -> None:
    talk = user(
        "I have had a cough for three weeks, I think.",
        "I have had a cough at night too. Is it bad?",
        "As an AI, I cannot say.",
        facts=("Cough for three weeks", "Smokes twenty cigarettes a day"),
    )
    found = realism([talk])
    assert found.words_per_turn.value == pytest.approx((10 + 11 + 6) / 3)
    assert found.facts_in_first_answer.value == 0.5
    assert found.questions.value == pytest.approx(1 / 3)
    assert found.hedges.value == pytest.approx(100 / 27)
    # "i have had", "have had a", "had a cough"
    assert found.repetition.value == pytest.approx(3 / 13)
    assert found.out_of_role.value == pytest.approx(1 / 3)
    assert found.words_per_turn.interval is None  # one conversation


@pytest.mark.parametrize(
    ("fact", "said", "told"), [("Pains", "It is a pain.", 1), ("Legs", "It is a leg.", 0)]
)
def test_a_fact_told_with_another_ending_is_told_but_short_words_must_match(
    fact: str, said: str, told: float
) -> None:
    assert realism([user(said, facts=(fact,))]).facts_in_first_answer.value == told


def test_a_patient_model_that_mentions_its_vignette_is_detected() -> None:
    found = realism(published())
    assert found.out_of_role.value is not None
    assert found.out_of_role.interval is not None
    assert found.out_of_role.value > 0.01
    assert found.out_of_role.interval.low > 0
    assert found.questions.value == 0
    human = REFERENCES[0].bands
    assert found.hedges.interval is not None
    assert found.hedges.interval.high < human["hedges"].mean
    assert found.facts_in_first_answer.conversations == 25


@pytest.mark.parametrize(
    "rename",
    [
        lambda role, text: (role, f"Patient: {text}" if role == "user" else f"Dr. Ada: {text}"),
        lambda role, text: (role, f"**Fatima O'Neil**: {text}" if role == "user" else text),
        lambda role, text: ({"user": "user"}.get(role, "physician"), text),
    ],
)
def test_speaker_labels_change_no_figure(rename) -> None:  # type: ignore[no-untyped-def]
    plain = published()
    renamed = [
        UserTranscript(
            [rename(*message) for message in one.messages], one.facts, (), one.out_of_role
        )
        for one in plain
    ]
    assert realism(renamed) == realism(plain)


def test_speaker_names_in_the_text_change_no_figure_when_given() -> None:
    short = user("I am Jo.", "Jo is my name, maybe.", facts=("The name is Jo",), names=("Jo",))
    long_ = user(
        "I am Maria de la Cruz.", "Maria de la Cruz is my name, maybe.",
        facts=("The name is Maria de la Cruz",), names=("Maria de la Cruz",),
    )  # fmt: skip
    assert realism([short]) == realism([long_])


def test_a_time_or_list_at_the_start_is_not_taken_for_a_name() -> None:
    assert realism([user("At 10:30: pain", "Note: one two", "no more")]).words_per_turn.value == 3


def test_intervals_are_by_conversation() -> None:
    talks = [user(*["yes maybe"] * 10) if i % 2 else user(*["word " * 12] * 10) for i in range(10)]
    found = realism(talks).words_per_turn
    assert found.interval is not None
    assert found.interval.high - found.interval.low > 5  # ten conversations, not a hundred turns


def test_an_empty_conversation_is_not_measured() -> None:
    found = realism([UserTranscript([("assistant", "Hello?")]), UserTranscript([("user", "  ")])])
    assert (found.words_per_turn.value, found.out_of_role.interval) == (None, None)
