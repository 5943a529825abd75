"""What the placebo's user says: as many words as a fact's answer, and the user with facts beside
it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bioeval_tui.evaluation.wiring.placebo import draw_placebo
from bioeval_tui.guards.checks import check
from bioeval_tui.guards.placebo import find_shared_word
from bioeval_tui.jobs.loading import job_from_data
from bioeval_tui.languages.segments import word_count
from bioeval_tui.peers.models.prompting import evaluator_context, find_prompt, render_prompt
from bioeval_tui.peers.placebo import Placebo, YokedEvaluator, shipped_texts
from bioeval_tui.peers.seams import Delta, EvaluatorView, TranscriptMessage, Utterance

JOB = job_from_data(
    {
        "target": {"user": "ada", "chatbot": "bot"},
        "aspirationalAverage": None,
        "tasks": [{"task": "Get a reminder for warfarin"}],
        "facts": ["The user lives in Sydney", "The dose is 5 mg"],
        "controls": True,
    }
)


def view(*said: str, placebo: tuple[str, ...] = ()) -> EvaluatorView:
    roles = ("user", "assistant")
    transcript = [TranscriptMessage(i + 1, roles[i % 2], text) for i, text in enumerate(said)]
    return EvaluatorView(JOB, "placebo", 1, (), transcript, placebo=placebo)


def test_the_shipped_texts_are_of_all_lengths_and_break_no_rule() -> None:
    texts = shipped_texts()
    assert len(set(texts)) == len(texts) >= 40
    assert {word_count(text) for text in texts} >= set(range(2, 18))
    for text in texts:
        said = f"I don't know. {text}"
        found = check(view("Hello", "Where do you live?", placebo=(text,)), said)
        assert found == [], (text, found)


@pytest.mark.parametrize("words", [*range(6, 30), 40, 80, 150])
def test_an_answer_is_as_long_as_the_one_with_a_fact(words: int) -> None:
    for seed in range(5):
        answer = Placebo(shipped_texts(), str(seed)).answer(" ".join(["fact"] * words), [])
        assert abs(word_count(answer) - words) <= 1, answer


def test_nothing_is_said_twice_before_all_was_said() -> None:
    placebo, used = Placebo(("One lamp.", "Two lamps."), "1"), list[str]()
    said = [placebo.answer("a b c d e", used) for _ in range(3)]
    assert sorted(used[:2]) == ["One lamp.", "Two lamps."]
    assert said[2].removeprefix("I don't know. ") in used[:2]


class WithFacts:
    """A user with the facts, who says its lines in turn."""

    identity = "lines"

    def __init__(self) -> None:
        self.views: list[EvaluatorView] = []

    async def speak(self, seen: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        self.views.append(seen)
        said = [m.content for m in seen.transcript if m.role == "user"]
        line = "I live in Sydney" if "I live in Sydney" not in said else "Thank you"
        yield Delta(line)
        yield Utterance(line, facts=(1,) if line != "Thank you" else ())

    async def aclose(self) -> None:
        """Nothing to close."""


async def test_the_user_with_facts_believes_that_it_said_what_it_meant() -> None:
    with_facts = WithFacts()
    placebo = Placebo(("The lamp is on.",), "1")
    user = YokedEvaluator(
        with_facts, JOB.facts, "supplied", placebo, lambda _, said: bool(said.facts)
    )
    pieces = [piece async for piece in user.speak(view("Hello", "Where do you live?"))]
    assert pieces == [Utterance("I don't know. The lamp is on.")]
    assert (with_facts.views[0].facts, with_facts.views[0].condition) == (JOB.facts, "supplied")
    heard = view("Hello", "Where do you live?", pieces[0].content, "I see.")
    after = [piece async for piece in user.speak(heard)]
    assert after == [Delta("Thank you"), Utterance("Thank you")]
    assert with_facts.views[1].transcript[2].content == "I live in Sydney"


def test_texts_stand_in_for_the_facts_and_share_no_word_with_the_job() -> None:
    texts = draw_placebo(JOB, seed=7, trial=1).texts(JOB.facts)
    assert len(texts) == len(JOB.facts)
    assert texts == draw_placebo(JOB, seed=7, trial=1).texts(JOB.facts)
    everything = [draw_placebo(JOB, 7, trial).texts(JOB.facts) for trial in range(20)]
    assert len(set(everything)) > 5


async def test_a_model_is_told_its_texts_and_no_fact() -> None:
    prompt = find_prompt("eval/socrates", None)
    told = view("Hello", "Where do you live?", placebo=("The lamp is on.", "A fox came by."))

    async def rendered(of: EvaluatorView) -> str:
        context = evaluator_context(of)
        assert context["condition"] == "withheld"
        no_templates: Any = None
        return await render_prompt(prompt, context, no_templates)

    text, without = await rendered(told), await rendered(view("Hello", "Where do you live?"))
    assert "- The lamp is on.\n- A fox came by.\n" in text
    assert "word for word" in text
    assert "Sydney" not in text + without
    assert "on your mind" not in without
    assert "Never bring up yourself what you know." in without


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        ("I don't know. The lamp is on.", []),
        ("No idea, sorry. The lamp is on.", []),
        ("Could you remind me of my warfarin, please?", []),
        ("My grandmother always cooked wonderful pancakes.", ["off_placebo"]),
        ("I don't know, but the ferry terminal opens early.", []),
        ("I live in Sydney.", ["fact_withheld"]),
        ("The lamp is on. Our ferry terminal opens early nowadays.", ["off_placebo"]),
    ],
)
def test_the_placebos_user_keeps_to_its_texts(message: str, rules: list[str]) -> None:
    seen = view("Hello", "Where do you live?", placebo=("The lamp is on.", "A fox came by."))
    assert [found.rule for found in check(seen, message)] == rules


@pytest.mark.parametrize(
    ("one", "many"),
    [("cat", "cats"), ("bus", "buses"), ("box", "boxes"), ("fly", "flies"), ("rose", "roses"),
        ("eye", "eyes"), ("dish", "dishes"), ("reminder", "reminders"), ("city", "cities")],
)  # fmt: skip
def test_a_text_with_the_plural_of_a_jobs_word_has_to_do_with_it(one: str, many: str) -> None:
    for text, task in ((many, one), (one, many)):
        found = find_shared_word(f"My neighbour has two {text}", {"tasks[0].task": f"Get a {task}"})
        assert found == (text, "tasks[0].task")


@pytest.mark.parametrize(("text", "task"), [("bus", "bull"), ("news", "new"), ("lens", "Len")])
def test_a_word_that_only_ends_like_a_plural_is_none(text: str, task: str) -> None:
    assert find_shared_word(f"My neighbour has a {text}", {"task": f"Get a {task} tram"}) is None
