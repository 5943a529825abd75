"""A persona's rules and facts where models play the user and judge: who is told what, and what is
counted as the user's fault.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers import openai_server as srv
from tests.servers.whole_runs import WholeRun, hold, with_models

JOB = """
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}
aspirationalAverage: null
evaluator: {kind: llm, model: user-1}
scorer: {kind: llm, model: judge-1, userFaults: true}
facts: [The user lives in Sydney, The dose is 5 mg of warfarin]
tasks: [{task: Get a reminder for warfarin}]
personas: [{name: wary, rules: [You never give a name unless asked twice], facts: FACTS}]
"""
LATE = "{holdsBack: [1], until: asked_twice, wrong: {5 mg: 50 mg}}"
ASKS = "Could you please set a reminder for warfarin?"
SIGNOFF = "So Long, and Thanks for All the Fish"
QUESTIONS = ["Hello, how can I help?", "Where do you live?", "Where do you live?", "Which dose?"]
SAID = [ASKS, "I don't know.", "In Sydney.", "It is 50 mg."]
VERDICT = {"task": 1, "asked": 3, "messages": [4], "reason": "It asked.", "score": 0.9}
Asked = dict[str, list[dict[str, Any]]]


async def held(
    folder: Path,
    said: list[str],
    facts: str = LATE,
    faults: tuple[dict[str, Any], ...] = (),
    questions: list[str] = QUESTIONS,
) -> tuple[WholeRun, Asked]:
    """Hold a conversation of a user who says these messages, and a judge who lists these faults;
    return what each model was asked, too.
    """
    asked: Asked = {"user": [], "judge": [], "faults": []}

    def answer(body: dict[str, Any]) -> srv.Answer:
        messages = body["messages"]
        if body["model"] == "agent-1":
            turn = sum(message["role"] == "assistant" for message in messages)
            return srv.say(questions[turn] if turn < len(questions) else "The reminder is set.")
        if body["model"] == "user-1":
            number = len(asked["user"])
            asked["user"].append(body)
            return srv.say(json.dumps({"message": said[number] if number < len(said) else SIGNOFF}))
        if "List the user's faults" in messages[-1]["content"]:
            asked["faults"].append(body)
            return srv.say(json.dumps({"faults": faults}))
        asked["judge"].append(body)
        return srv.say(json.dumps({"tasks": [VERDICT], "tone": 0.5}))

    async with srv.OpenAIServer(otherwise=answer) as server:
        text = JOB.replace("URL", server.url).replace("FACTS", facts)
        settings = with_models(server.url)
        run = await hold(text, folder, settings=settings, graph="none", conditions=("supplied",))
    return run, asked


def told(body: dict[str, Any]) -> str:
    """Return the instructions of a request."""
    return str(body["messages"][0]["content"])


def only_trial(run: WholeRun) -> dict[str, Any]:
    [trial] = run.result["conditions"]["supplied"]["trials"]
    return trial


async def test_a_user_who_keeps_to_its_persona_makes_no_fault(tmp_path: Path) -> None:
    run, asked = await held(tmp_path, SAID)
    trial = only_trial(run)
    assert [fact["text"] for fact in trial["facts"]] == [
        "The user lives in Sydney",
        "The dose is 50 mg of warfarin",
    ]
    assert trial["user_faults"] == []
    assert (trial["fault"], trial["score"] is None) == ("none", False)
    pages = list(map(told, asked["user"]))
    assert all("You never give a name unless asked twice" in page for page in pages)
    assert [("Sydney" in page, "50 mg" in page, " 5 mg" in page) for page in pages[:4]] == [
        (False, True, False),
        (False, True, False),
        (True, True, False),
        (True, True, False),
    ]
    [judged], [listed] = asked["judge"], asked["faults"]
    assert "- The user lives in Sydney (this user tells it only if asked twice)" in told(judged)
    assert "5 mg of warfarin (this user says “50 mg” instead)" in told(judged)
    assert "broken_rule: it did not keep to one of these rules" in told(listed)
    assert "- The dose is 50 mg of warfarin" in told(listed)
    assert "broken_rule" in json.dumps(listed["response_format"])


async def test_questions_for_something_else_do_not_have_a_fact_told(tmp_path: Path) -> None:
    questions = [QUESTIONS[0], "What is your pulse?", "What is your name?", "Can you say more?"]
    _, asked = await held(tmp_path, [ASKS, *["I don't know."] * 3], questions=questions)
    assert len(asked["user"]) > 3
    assert not any("Sydney" in told(body) for body in asked["user"])


@pytest.mark.parametrize(
    ("facts", "said", "rule"),
    [
        (LATE, [ASKS, "I live in Sydney.", "In Sydney.", "It is 50 mg."], "fact_withheld"),
        ("{holdsBack: [1]}", [ASKS, "No.", "I live in Sydney.", "It is 5 mg."], "fact_withheld"),
        (LATE, [ASKS, "I don't know.", "In Sydney.", "It is 5 mg."], "right_value"),
        (LATE, [ASKS, "I don't know.", "In Sydney.", "It is 70 mg."], "contradiction"),
    ],
)
async def test_a_breach_is_the_users_fault_and_not_the_agents(
    tmp_path: Path, facts: str, said: list[str], rule: str
) -> None:
    run, _ = await held(tmp_path, said, facts)
    trial = only_trial(run)
    assert [fault["kind"] for fault in trial["user_faults"]] == [rule]
    if rule == "fact_withheld":
        assert "held-back fact" in trial["guards"][0]["detail"]
    assert (trial["fault"], trial["failures"]) == ("none", 0)


async def test_the_judge_lists_a_broken_rule_with_the_users_words(tmp_path: Path) -> None:
    faults = (
        {"message": 7, "kind": "broken_rule", "quote": "In Sydney."},
        {"message": 7, "kind": "broken_rule", "quote": "In Perth."},
    )
    run, _ = await held(tmp_path, SAID, faults=faults)
    [fault] = only_trial(run)["user_faults"]
    assert (fault["kind"], fault["found_by"]) == ("broken_rule", "judge-1")
    [scored] = run.of("transcript_scored")
    assert scored.user_faults_refused == 1
