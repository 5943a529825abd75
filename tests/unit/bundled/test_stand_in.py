"""The stand-in for a model gives the facts that fit a question, and no others."""

from __future__ import annotations

import pytest

from bioeval_tui import plugins
from bioeval_tui.jobs.loading import job_from_data
from bioeval_tui.protocols import EvaluatorView, TranscriptMessage, Utterance

FACTS = (
    "Patient is a 40-year-old woman.",
    "Patient has difficulty falling asleep for the past 6 weeks.",
    "Patient denies thoughts of suicide or death.",
    "Patient has lost 4 kg (8.8 lb) in the last few weeks.",
)
UNTIL = r"answer\W{1,5}[A-D]\b"


async def answer(said: str, facts: tuple[str, ...] = FACTS, **options: str) -> Utterance:
    job = job_from_data(
        {
            "target": {"user": "a", "chatbot": "b"}, "aspirationalAverage": None, "tasks": [],
            "facts": FACTS,
            "evaluator": {"kind": "stand-in", "signoff": "Bye now",
                "options": {"until": UNTIL, **options}},
        }
    )  # fmt: skip
    heard = (TranscriptMessage(1, "user", "Help me"), TranscriptMessage(2, "assistant", said))
    speaking = plugins.load("evaluators", "stand-in")(job).speak(
        EvaluatorView(job, "supplied", 1, facts, heard)
    )
    (found,) = [piece async for piece in speaking]
    assert isinstance(found, Utterance)
    return found


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        *((f"{fact}?", (number,)) for number, fact in enumerate(FACTS, start=1)),
        ("Have you thought of suicide?", (3,)),
        ("Is it difficult to sleep?", (2,)),
        ("Have you lost weight? Do you think of death?", (3, 4)),
        ("Do you own a zebra?", ()),
        ("?!", ()),
        ("", ()),
    ],
)
async def test_it_gives_the_facts_that_fit_the_question(
    said: str, numbers: tuple[int, ...]
) -> None:
    found = await answer(said)
    assert found.facts == numbers
    assert found.content == (" ".join(FACTS[number - 1] for number in numbers) or "I don't know.")
    assert found.no_other_facts


async def test_it_knows_nothing_where_facts_are_withheld() -> None:
    assert (await answer(f"{FACTS[0]}?", (), unknown="No idea.")).content == "No idea."


@pytest.mark.parametrize(
    "said", ["Answer: C", "**Answer**: (c)", "I am sure.\nFinal answer: D, Trazodone"]
)
async def test_it_ends_the_conversation_once_an_option_is_chosen(said: str) -> None:
    assert (await answer(said)).content == "Bye now"


async def test_it_takes_no_other_option() -> None:
    with pytest.raises(ValueError, match=r"evaluator\.options has until and unknown, not when"):
        await answer("Hello?", when="never")
